/*
 * The rows of a trace of very many threads: many.mjs WEB. WEB has the page's modules. Prints as JSON how many there are, as of two traces
 * beside each other too; how often the parents of tracks are looked at when the same tracks are laid out again; and the first tracks
 * in another order, of a filter, and with a folded one.
 */
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const web = process.argv[2], dir = mkdtempSync(path.join(tmpdir(), "spur-many-")), N = 300000;
let looks = 0;

class Track {
	constructor(id, parent, kind, tid) {
		Object.assign(this, { id, order: id, kind, name: "", pid: "1", tid, depth: 1, spans: 1, states: false, above: parent });
	}

	get parent() {
		looks++;
		return this.above;
	}
}

try {
	for (const name of readdirSync(web)) if (name.endsWith(".js")) copyFileSync(path.join(web, name), path.join(dir, name));
	writeFileSync(path.join(dir, "package.json"), '{"type":"module"}');
	const { Layout } = await import(path.join(dir, "tracks.js")), { Beside } = await import(path.join(dir, "beside.js"));
	const tracks = [new Track(0, -1, "process", "")];
	while (tracks.length <= N) tracks.push(new Track(tracks.length, 0, "thread", String(tracks.length)));
	const layout = new Layout(), state = { filter: "", pins: [3], order: [], folded: new Set(), hidden: new Set([2]), top: 0 };
	const first = (/** @type {object} */ more) => {
		layout.update(tracks, [], { ...state, ...more });
		return layout.rows.slice(0, 4).map((r) => r.track.id);
	};
	const out = { plain: first({}), rows: layout.rows.length, height: layout.height };
	looks = 0;
	layout.update(tracks, [], state);
	out.looks = looks;
	out.order = first({ order: [0, 9, 7] });
	out.filter = first({ filter: String(N) });
	out.folded = first({ folded: new Set([0]) });
	const meta = { name: "t", length: 1, spans: N, rows: N, labels: 0, marks: [], facts: [], tracks, series: [] };
	out.beside = (await new Beside({}, {}, { a: meta, b: meta, labels: [[], []] }).meta()).tracks.length;
	console.log(JSON.stringify(out));
} finally {
	rmSync(dir, { recursive: true });
}
