/** The panel below the picture: details of a span, and sums of a range. */

import { difference } from "./compare.js";
import { byId, copyButton, element, table } from "./dom.js";
import { criticalTable } from "./critical.js";
import { details } from "./details.js";
import { drawFlame } from "./flame.js";
import { exactNumber } from "./counters.js";
import { noteList } from "./notes.js";
import { alone, namesApart } from "./shown.js";
import { count, duration, exact, known, some } from "./time.js";
import { trackName } from "./types.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./beside.js").Beside} Beside */
/** @typedef {import("./types.js").Range} Range */
/** @typedef {import("./types.js").Sum} Sum */
/** @typedef {import("./types.js").Ns} Ns */
/** @typedef {import("./types.js").CounterSum} CounterSum */
/** @typedef {import("./types.js").SpanRef} SpanRef */

export const TABS = /** @type {const} */ ([["details", "Details"], ["functions", "Functions"], ["flame", "Flame"],
	["calls", "Calls"], ["counters", "Counters"], ["why", "Why"], ["trace", "Trace"]]);

/** Tabs whose tables are of a range. */
const OF_RANGES = new Set(["functions", "flame", "calls", "counters"]);
/** What calls are grouped by, and what prints the same; empty: no command groups calls so. */
const PIVOTS = /** @type {const} */ (["function", "module", "thread", "process"]);
const HEADINGS = { function: "report", module: "", thread: "report --by task", process: "" };
/** How long the picture stays before its tables are made. */
const REST_MS = 250;
/** How long an answer may take before the panel says that it waits. */
const WAIT_MS = 200;

export class Panel {
	/** @param {HTMLElement} box @param {App} app */
	constructor(box, app) {
		this.box = box;
		this.app = app;
		this.body = byId("tabbody");
		/** How often it was filled: answers to older questions are dropped. */
		this.turn = 0;
		/** The function whose longest calls are listed; -1: those of all. */
		this.callsOf = -1;
		/** The tab whose content is shown. */
		this.filled = "";
		this.orders = { functions: { sort: 1, down: true }, calls: { sort: 1, down: true }, counters: { sort: 0, down: false } };
		/** The range that the tables show, and what makes them anew. */
		this.shown = "";
		this.rest = 0;
		/** What calls are grouped by. @type {"function" | import("./types.js").Pivot} */
		this.pivot = "function";
		byId("tabs").append(...TABS.map(([id, name]) => element("button", { type: "button", role: "tab", id: `tab-${id}`,
			"aria-controls": "tabbody", click: () => this.open(id, true) }, name)));
	}

	/** @param {string} tab @param {boolean} [show] also if the panel is closed */
	open(tab, show = false) {
		this.app.state.tab = tab;
		this.callsOf = -1;
		if (show || this.box.hidden) this.toggle(true);
		this.update();
	}

	/** @param {boolean} [shown] */
	toggle(shown = this.box.hidden) {
		if (this.box.hidden === !shown) return;
		this.box.hidden = !shown;
		this.app.picture.resize();
		this.app.redraw();
	}

	/** The range of the tables: what is chosen, else what the screen shows. @returns {Range} */
	range() {
		const { state, picture, meta } = this.app;
		if (state.range) return state.range;
		const from = Math.max(0, state.view.start);
		return { from, to: Math.min(meta.length + 1, state.view.start + picture.width * state.view.nspp), tracks: null };
	}

	/** The picture was drawn: tables of what the screen shows are made anew once it rests elsewhere. */
	moved() {
		const { state } = this.app;
		if (state.range || this.box.hidden || !OF_RANGES.has(state.tab)) return;
		const { from, to } = this.range(), shown = `${from} ${to}`;
		if (shown === this.shown) return;
		this.shown = shown;
		clearTimeout(this.rest);
		this.rest = setTimeout(() => this.update(), REST_MS);
	}

	async update() {
		const { tab } = this.app.state, turn = ++this.turn;
		if (OF_RANGES.has(tab)) {
			const { from, to } = this.range();
			this.shown = `${from} ${to}`;
			clearTimeout(this.rest);
		}
		for (const [id] of TABS) byId(`tab-${id}`).setAttribute("aria-selected", String(id === tab));
		if (this.box.hidden) return;
		/* What another tab has must not be taken for the answer. */
		const waits = tab === this.filled ? 0 : window.setTimeout(() => this.fill(turn, "", [element("p", { role: "status" }, "Waiting for the answer")]), WAIT_MS);
		try {
			this.fill(turn, tab, await this.content(tab));
		} catch (e) {
			this.fill(turn, tab, [element("p", { role: "alert" }, String(/** @type {Error} */ (e).message))]);
		} finally {
			clearTimeout(waits);
		}
	}

	/** Shows an answer, unless there was another question since. @param {number} turn @param {string} tab @param {(Node | string)[]} content */
	fill(turn, tab, content) {
		if (turn !== this.turn) return;
		this.filled = tab;
		this.body.replaceChildren(...content);
	}

	/** @param {string} tab @returns {Promise<(Node | string)[]>} */
	async content(tab) {
		switch (tab) {
		case "functions": return this.functions();
		case "flame": return this.flame();
		case "calls": return this.calls(this.callsOf);
		case "counters": return this.counters();
		case "why": return this.why();
		case "trace": return this.trace();
		default: return details(this.app);
		}
	}

	/** What is summed up, and the command that prints the same. @param {string} command empty: none does @param {Range} r */
	heading(command, r) {
		const { app } = this, chosen = Boolean(app.state.range), base = app.meta.base ?? 0;
		const { second } = app.meta, same = second && !/** @type {Beside} */ (app.source).offset && (second.base ?? 0) === base;
		const both = same && command === "diff" && !r.tracks;
		const traces = second?.command.replace("spur COMMAND", "") ?? "";
		const tids = threads(app, r);
		const text = !command || (second && !both) || tids === null ? "" : `${app.meta.command.replace("COMMAND", command)}${traces} --from ${exact(r.from + base)} --until ${exact(r.to + base)}${tids}`;
		return element("p", { class: "range" }, chosen ? "Chosen range: " : "What the screen shows: ",
			`${duration(r.to - r.from)}${r.tracks ? `, ${some(r.tracks.length, "track")}` : ""}. `,
			...(text ? [element("code", {}, text), copyButton(text)] : []));
	}

	async functions() {
		const range = this.range(), { second, tracks } = this.app.meta, { labels } = this.app;
		const by = second || this.pivot === "function" ? undefined : this.pivot;
		const sums = await this.app.source.sums(range, by);
		if (second) return [this.heading("diff", range), difference(this.app, sums, this.orders.functions)];
		const names = new Map(by === "thread" || by === "process" ? tracks.map((t) => [t.id, trackName(t)]) : []);
		const functions = namesApart(sums.filter(() => !by).map((s) => s.label), labels);
		const name = (/** @type {Sum} */ s) => (s.track !== undefined ? names.get(s.track) ?? "" :
			by && s.label ? labels[s.label]?.module || "unknown" : functions.get(s.label) ?? "?");
		const rows = sums.map((s) => ({ s, key: name(s) }));
		/* What is not known comes before 0. */
		const ns = (/** @type {string} */ head, /** @type {(s: Sum) => Ns | null} */ f) =>
			({ name: head, text: (/** @type {{s: Sum}} */ r) => known(f(r.s)), value: (/** @type {{s: Sum}} */ r) => f(r.s) ?? -1, number: true });
		const pivot = element("select", { "aria-label": "Group by", change: (e) => { this.pivot = e.target.value; this.update(); } },
			...PIVOTS.map((p) => element("option", { value: p, selected: p === this.pivot }, p)));
		return [this.heading(HEADINGS[this.pivot], range), element("label", {}, "by ", pivot),
			table([{ name: this.pivot, text: (r) => r.key },
				ns("total", (s) => s.total), ns("self", (s) => s.self),
				{ name: "calls", text: (r) => count(r.s.calls), value: (r) => r.s.calls, number: true },
				ns("average", (s) => s.avg), ns("min", (s) => s.min), ns("max", (s) => s.max),
				...(by === "module" ? [] : [{ name: "unfinished", text: (/** @type {{s: Sum}} */ r) => count(r.s.unfinished),
					value: (/** @type {{s: Sum}} */ r) => r.s.unfinished, number: true }])],
			rows, this.orders.functions, by ? undefined : (r) => this.showCalls(r.s.label))];
	}

	/** The longest calls of one function. @param {number} label */
	showCalls(label) {
		this.app.state.tab = "calls";
		this.callsOf = label;
		this.update();
	}

	async flame() {
		const range = this.range(), root = await this.app.source.flame(range);
		const canvas = element("canvas", { class: "flame", tabindex: "0", role: "img", "aria-label": "Flame graph of the range" });
		requestAnimationFrame(() => drawFlame(canvas, this.app, root));
		return [this.heading("flame", range), element("div", { class: "flames" }, canvas)];
	}

	/** The longest calls, of one function or of all. @param {number} label */
	async calls(label) {
		const range = this.range(), { labels, meta } = this.app;
		const spans = await this.app.source.calls(range, label);
		const tracks = new Map(meta.tracks.map((t) => [t.id, trackName(t)]));
		const of = label < 0 ? [] : [element("h3", {}, labels[label]?.name ?? "?")];
		return [this.heading(label < 0 ? "top" : "", range), ...of, table([
			{ name: "function", text: (s) => labels[s.label]?.name ?? "?" },
			{ name: "duration", text: (s) => duration(s.dur), value: (s) => s.dur, number: true },
			{ name: "begin", text: (s) => duration(s.ts), value: (s) => s.ts, number: true },
			{ name: "track", text: (s) => tracks.get(s.track) ?? "" }],
		spans, this.orders.calls, (/** @type {SpanRef} */ s) => this.app.pick(s, true))];
	}

	async counters() {
		const { app } = this, { meta } = app, range = this.range();
		if (!meta.series.length) return [element("p", {}, "The trace has no counters.")];
		const sums = await app.source.counters(range);
		const series = new Map(meta.series.map((s) => [s.id, s]));
		const track = (/** @type {CounterSum} */ c) => series.get(c.series)?.track ?? -1;
		const rows = sums.filter((c) => !range.tracks || range.tracks.includes(track(c)));
		const column = (/** @type {"min" | "max" | "mean" | "last"} */ name) => ({ name, number: true,
			text: (/** @type {CounterSum} */ c) => exactNumber(c[name]), value: (/** @type {CounterSum} */ c) => Number(c[name]) });
		return [this.heading("counters --by track", range), table([
			{ name: "counter", text: (c) => series.get(c.series)?.name ?? "?" },
			{ name: "track", text: (c) => trackName(meta.tracks.find((t) => t.id === track(c))) },
			{ name: "samples", text: (c) => count(c.samples), value: (c) => c.samples, number: true },
			column("min"), column("max"), column("mean"), column("last")], rows, this.orders.counters)];
	}

	async why() {
		const { picked } = this.app.state;
		if (!picked) return [element("p", {}, "Pick a call to see what it waited for.")];
		const w = await this.app.source.why(picked);
		const line = (/** @type {string} */ what, /** @type {number} */ ns) =>
			element("tr", {}, element("td", {}, what), element("td", { class: "n" }, duration(ns)));
		const states = w.running + w.runnable + w.blocked > 0 ? element("table", {}, line("running", w.running), line("runnable, waiting for a CPU", w.runnable),
			line("blocked", w.blocked), ...(w.unknown ? [line("not known", w.unknown)] : []))
			: element("p", {}, "The trace does not tell when the thread had a CPU.");
		return [states,
			element("ul", {}, ...w.parts.map((p) => element("li", {}, p.at
				? element("button", { type: "button", click: () => p.at && this.app.pick(p.at, true) }, alone(p.text)) : alone(p.text),
			` ${duration(p.ns)}`))),
			...await criticalTable(this.app, picked)];
	}

	async trace() {
		const { meta } = this.app;
		return [...noteList(this.app), element("table", {}, ...meta.facts.map(([k, v]) => element("tr", {}, element("td", {}, k), element("td", {}, v)))),
			element("ul", {}, ...meta.marks.map((m) => element("li", { class: m.kind }, m.ts === null ? m.text
				: element("button", { type: "button", click: () => this.app.show(Number(m.ts) - 1e6, Number(m.ts) + 1e6) }, m.text))))];
	}
}

/** The option that chooses the threads of a range; null: none does, as threads are not all that is chosen, or others have their ids. @param {App} app @param {Range} r */
function threads(app, r) {
	if (!r.tracks) return "";
	const { tracks, series } = app.meta, chosen = new Set(r.tracks), counted = new Set(series.map((s) => s.track));
	const tids = new Set(tracks.filter((t) => chosen.has(t.id)).map((t) => t.tid));
	const differs = tracks.some((t) => (t.spans || counted.has(t.id)) && chosen.has(t.id) !== Boolean(t.tid && tids.has(t.tid)));
	tids.delete("");
	return differs || !tids.size ? null : ` --tid ${[...tids].join(",")}`;
}
