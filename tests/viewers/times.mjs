/*
 * How the page asks for times that are no doubles: times.mjs WEB. WEB has the page's modules; their requests go nowhere.
 * Prints as JSON whether 63 bits hold the length of the longest trace as the page knows it, and requests for all of that trace.
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
	console.log(JSON.stringify({ held: length < 2 ** 63, asked }));
} finally {
	rmSync(dir, { recursive: true });
}
