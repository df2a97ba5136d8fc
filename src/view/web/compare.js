/** A second trace beside the first one, out of a page that is one file: before and after. */

import { Beside } from "./beside.js";
import { element, table } from "./dom.js";
import { inside, unpack } from "./inside.js";
import { lastPart, nameApart, shownLabels, shownMeta } from "./shown.js";
import { count, duration, minus } from "./time.js";

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
	app.say(!a || !b ? "Both traces begin at the same time." : source.offset >= 0 ? "Both spans begin at the same time."
		: "Both spans begin at the same time. What the second trace has before the first one begins is neither shown nor summed up.");
}

/** @typedef {{label: import("./types.js").Label, of: Sum}} Mate A function of one trace. */
/** @typedef {{name: string, a: Sum, b: Sum}} Row */

const NONE = /** @type {Sum} */ ({ label: -1, calls: 0, total: 0, self: 0 });

/** What tells functions of one name apart. @param {import("./types.js").Label} l */
const kindOf = (l) => `${lastPart(l.module)}\0${l.category}`;

/**
 * Pairs functions of one name as `spur diff` does: first those that agree in module and category, then what is left if that is one on
 * each side.
 * @param {string} name @param {[Mate[], Mate[]]} sides @returns {Row[]}
 */
function pairs(name, sides) {
	/** @type {[Mate | null, Mate | null][]} */
	const found = [], [before, after] = sides.map((s) => s.sort((x, y) => (x.label.module < y.label.module ? -1 : x.label.module > y.label.module ? 1 : 0)));
	const left = before.filter((m) => {
		const at = after.findIndex((x) => kindOf(x.label) === kindOf(m.label));
		if (at >= 0) found.push([m, after.splice(at, 1)[0]]);
		return at < 0;
	});
	if (left.length === 1 && after.length === 1) found.push([left[0], after[0]]);
	else found.push(...left.map((m) => /** @type {[Mate, null]} */ ([m, null])), ...after.map((m) => /** @type {[null, Mate]} */ ([null, m])));
	return found.map(([a, b]) => ({ name: found.length > 1 ? nameApart(name, /** @type {Mate} */ (b ?? a).label) : name, a: a?.of ?? NONE, b: b?.of ?? NONE }));
}

/** The functions of both traces. @param {App} app @param {Sum[]} sums @returns {Row[]} */
export function paired(app, sums) {
	const split = /** @type {Beside} */ (app.source).label;
	/** @type {Map<string, [Mate[], Mate[]]>} */
	const named = new Map();
	for (const of of sums) {
		const label = app.labels[of.label] ?? { name: "?", module: "", category: "" }, sides = named.get(label.name) ?? [[], []];
		named.set(label.name, sides);
		sides[of.label < split ? 0 : 1].push({ label, of });
	}
	return [...named].flatMap(([name, sides]) => pairs(name, sides));
}

/** What functions take in the first and in the second trace. @param {App} app @param {Sum[]} sums @param {{sort: number, down: boolean}} order */
export function difference(app, sums, order) {
	const column = (/** @type {string} */ name, /** @type {(r: Row) => Ns} */ value, /** @type {(n: Ns) => string} */ text) =>
		({ name, value, text: (/** @type {Row} */ r) => text(value(r)), number: true });
	const signed = (/** @type {Ns} */ n) => (n < 0 ? `−${duration(-n)}` : n ? `+${duration(n)}` : "0");
	return table([{ name: "function", text: (/** @type {Row} */ r) => r.name },
		column("change of self", (r) => minus(r.b.self, r.a.self), signed), column("self before", (r) => r.a.self, duration), column("self after", (r) => r.b.self, duration),
		column("change of total", (r) => minus(r.b.total, r.a.total), signed), column("total before", (r) => r.a.total, duration),
		column("total after", (r) => r.b.total, duration), column("calls before", (r) => r.a.calls, count), column("calls after", (r) => r.b.calls, count)],
	paired(app, sums), order);
}
