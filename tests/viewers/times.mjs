/*
 * How the page asks for times that are no doubles: times.mjs WEB. WEB has the page's modules; their requests go nowhere.
 * Prints as JSON whether 63 bits hold the length of the longest trace as the page knows it, requests for all of that trace, and what a tile
 * and a curve behind all times have.
 */
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const web = process.argv[2], dir = mkdtempSync(path.join(tmpdir(), "spur-times-")), asked = [];

try {
	for (const name of readdirSync(web)) if (name.endsWith(".js")) copyFileSync(path.join(web, name), path.join(dir, name));
	writeFileSync(path.join(dir, "package.json"), '{"type":"module"}');
	const { readMeta, remote } = await import(path.join(dir, "remote.js")), source = remote("token");
	globalThis.fetch = async (url) => {
		asked.push(url);
		return { ok: true, json: async () => [], text: async () => "[]" };
	};
	const { length } = readMeta({ length: 9223372036854775807, series: [], tracks: [] }), all = { from: 0, to: length + 1, tracks: null };
	await source.sums(all);
	await source.calls(all, -1);
	await source.counters(all);
	await source.span({ track: 1, depth: 0 }, 2 ** 62, 2 ** 63);
	await source.sums({ from: 2 ** 53 - 1, to: 2 ** 60 + 2 ** 10, tracks: null });
	/* A trace from 2^62 on to the latest time there is: the tile in which its length would be begins behind that. */
	globalThis.fetch = async () => ({ ok: true, json: async () => ({ start: String(2n ** 62n), length: 2 ** 62, series: [], tracks: [] }) });
	const late = await source.meta();
	globalThis.fetch = async () => { throw new Error("a tile behind all times was asked for"); };
	const tile = await source.tiles(50, late.length / 2 ** 60, [{ track: 1, depth: 0 }, { track: 1, depth: 1 }]), curve = await source.counter(50, 4, 0);
	console.log(JSON.stringify({ held: length < 2 ** 63, asked, beyond: [[...new Uint32Array(tile.data)], curve.length, curve.every(Number.isNaN)] }));
} finally {
	rmSync(dir, { recursive: true });
}
