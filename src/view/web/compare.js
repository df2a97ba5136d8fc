/** A second trace beside the first one, out of a page that is one file: before and after. */

import { Beside } from "./beside.js";
import { element, table } from "./dom.js";
import { inside, unpack } from "./inside.js";
import { shownLabels, shownMeta } from "./shown.js";
import { count, duration, minus, plus } from "./time.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./types.js").Sum} Sum */
/** @typedef {import("./types.js").Ns} Ns */

/** Asks for the file. @param {App} app */
export function openBeside(app) {
	document.getElementById("second")?.remove();
	const input = element("input", { type: "file", id: "second", accept: ".html,text/html", hidden: true, "aria-label": "A page of a second trace" });
	document.body.append(input);
	input.addEventListener("change", async () => {
		const file = input.files?.[0];
		if (!file) return;
		try {
			await addBeside(app, await file.text());
		} catch (e) {
			app.say(`${file.name}: ${/** @type {Error} */ (e).message}`);
		}
	});
	input.click();
}

/** Shows the trace of a page beside the one that is shown. @param {App} app @param {string} html */
export async function addBeside(app, html) {
	const data = new DOMParser().parseFromString(html, "text/html").getElementById("data");
	if (!data?.dataset.coding) throw new Error("expected a page that `spur convert --to html` wrote");
	const first = app.source instanceof Beside ? app.source.a : app.source, meta = await first.meta();
	if (!meta.done || meta.growing) throw new Error("the trace is still being read: compare it when it is complete");
	const second = inside(await unpack(data.textContent ?? "", data.dataset.coding));
	app.source = new Beside(first, second, { a: meta, b: await second.meta(), labels: [await first.labels(0), await second.labels(0)] });
	app.labels = shownLabels(await app.source.labels(0));
	await changed(app);
	app.recolour();
	app.state.top = 0;
	app.showAll();
	app.panel.open("functions", true);
}

/** The numbers of what is shown have changed. @param {App} app */
async function changed(app) {
	app.tiles.source = app.source;
	app.tiles.clear();
	app.counters.pieces.clear();
	app.meta = shownMeta(await app.source.meta());
	app.state.range = null;
	app.pick(null);
	await app.overview.load();
	app.relayout();
	app.status();
}

/**
 * Moves the second trace so that the span that was picked last in it begins with the one that was picked last in the first one; without
 * one of them, so that both traces begin together.
 * @param {App} app
 */
export async function align(app) {
	const { source } = app;
	if (!(source instanceof Beside)) {
		app.say("There is no second trace to align.");
		return;
	}
	const [a, b] = app.chosen, moved = source.offset;
	source.offset = a && b ? moved + a.ts - b.ts : 0;
	if (b) b.ts += source.offset - moved;
	await changed(app);
	app.say(a && b ? "Both spans begin at the same time." : "Both traces begin at the same time.");
}

/** What functions take in the first and in the second trace. @param {App} app @param {Sum[]} sums @param {{sort: number, down: boolean}} order */
export function difference(app, sums, order) {
	const split = /** @type {Beside} */ (app.source).label, none = { calls: /** @type {Ns} */ (0), total: /** @type {Ns} */ (0), self: /** @type {Ns} */ (0) };
	/** @type {Map<string, {name: string, a: typeof none, b: typeof none}>} */
	const rows = new Map();
	for (const s of sums) {
		const name = app.labels[s.label]?.name ?? "?";
		let r = rows.get(name);
		if (!r) rows.set(name, r = { name, a: { ...none }, b: { ...none } });
		const side = s.label < split ? r.a : r.b;
		side.calls = plus(side.calls, s.calls);
		side.total = plus(side.total, s.total);
		side.self = plus(side.self, s.self);
	}
	/** @typedef {{name: string, a: typeof none, b: typeof none}} Row */
	const column = (/** @type {string} */ name, /** @type {(r: Row) => Ns} */ value, /** @type {(n: Ns) => string} */ text) =>
		({ name, value, text: (/** @type {Row} */ r) => text(value(r)), number: true });
	const signed = (/** @type {Ns} */ n) => (n < 0 ? `−${duration(-n)}` : n ? `+${duration(n)}` : "0");
	return table([{ name: "function", text: (/** @type {Row} */ r) => r.name },
		column("change of self", (r) => minus(r.b.self, r.a.self), signed), column("self before", (r) => r.a.self, duration), column("self after", (r) => r.b.self, duration),
		column("change of total", (r) => minus(r.b.total, r.a.total), signed), column("total before", (r) => r.a.total, duration),
		column("total after", (r) => r.b.total, duration), column("calls before", (r) => r.a.calls, count), column("calls after", (r) => r.b.calls, count)],
	[...rows.values()], order);
}
