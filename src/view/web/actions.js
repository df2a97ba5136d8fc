/** Everything that can be done, with its keys: the one list that keys, buttons and help come from. */

import { MODES } from "./colours.js";
import { align, openBeside } from "./compare.js";
import { exportState, importState } from "./files.js";
import { startRuler } from "./input.js";
import { addNote, rangeNote } from "./notes.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./search.js").Search} Search */

/**
 * @typedef {object} Action
 * @property {string[]} keys as KeyboardEvent.key, with "Shift+", "Ctrl+" before it
 * @property {string} text
 * @property {string} group
 * @property {() => void} run
 */

/** @param {App} app @param {Search} search @param {() => void} help @returns {Action[]} */
export function actions(app, search, help) {
	const { state, gutter, panel } = app;
	const middle = () => app.picture.width / 2;
	const fit = () => {
		const s = state.picked, r = state.range;
		if (s) app.show(s.ts - s.dur * 0.05 - 1, s.ts + s.dur * 1.05 + 1);
		else if (r) app.show(r.from, r.to);
	};
	const neighbour = (/** @type {(d: import("./types.js").SpanDetail) => import("./types.js").SpanRef | null | undefined} */ which) => () => {
		const d = app.found;
		const to = d && state.picked && d.span.ts === state.picked.ts && d.span.depth === state.picked.depth ? which(d) : null;
		if (to) app.pick(to, true);
	};
	const flow = (/** @type {boolean} */ on) => () => {
		const s = state.picked;
		const same = (/** @type {import("./types.js").SpanRef} */ a) => s && a.track === s.track && a.ts === s.ts && a.depth === s.depth;
		const f = app.arrows.find((x) => same(on ? x.from : x.to));
		if (f) app.pick(on ? f.to : f.from, true);
		else if (!s) app.say("No span is picked.");
		else app.say(on ? "No flow begins at this span." : "No flow ends at this span.");
	};
	const tab = (/** @type {string} */ id) => () => panel.open(id, true);
	/** @type {[string, string[], string, () => void][]} */
	const list = [
		["Move", ["w"], "Zoom in", () => app.zoom(app.pointer ?? middle(), 0.7)],
		["Move", ["s"], "Zoom out", () => app.zoom(app.pointer ?? middle(), 1 / 0.7)],
		["Move", ["a"], "Pan to the left", () => app.pan(-app.picture.width * 0.1)],
		["Move", ["d"], "Pan to the right", () => app.pan(app.picture.width * 0.1)],
		["Move", ["0"], "Show the whole trace", () => app.showAll()],
		["Move", ["End"], "Follow the end of a trace that is being written, or stop following it", () => app.follow.toggle()],
		["Move", ["Backspace"], "Go back to the view before", () => { if (state.back()) app.redraw(); }],
		["Move", ["PageDown"], "Scroll down", () => app.scroll(app.picture.height * 0.8)],
		["Move", ["PageUp"], "Scroll up", () => app.scroll(-app.picture.height * 0.8)],
		["Spans", ["f"], "Fit the picked span, or the range, to the screen", fit],
		["Spans", ["Shift+f"], "Show all calls of the picked function", () => {
			const label = state.picked && app.labels[state.picked.label];
			if (label) search.set(label.raw ?? label.name);
			app.showAll();
		}],
		["Spans", ["ArrowLeft"], "Pick the span before it", neighbour((d) => d.previous)],
		["Spans", ["ArrowRight"], "Pick the span after it", neighbour((d) => d.next)],
		["Spans", ["ArrowUp"], "Pick its caller", neighbour((d) => d.parents[d.parents.length - 1])],
		["Spans", ["ArrowDown"], "Pick its longest callee", neighbour((d) => d.children[0])],
		["Spans", ["]"], "Follow the flow from this span", flow(true)],
		["Spans", ["["], "Go back along the flow to this span", flow(false)],
		["Spans", ["Escape"], "Drop the picked span, the range and the ruler", () => { state.range = null; app.overlay.ruler = null; app.pick(null); }],
		["Ranges", ["r"], "Choose what the screen shows as the range", () => {
			state.range = { ...panel.range() };
			panel.open("functions", true);
			app.redraw();
		}],
		["Ranges", ["1"], "Details", tab("details")], ["Ranges", ["2"], "Functions of the range", tab("functions")],
		["Ranges", ["3"], "Flame graph of the range", tab("flame")], ["Ranges", ["4"], "Longest calls of the range", tab("calls")],
		["Ranges", ["5"], "Counters", tab("counters")], ["Ranges", ["6"], "Why the picked call took so long", tab("why")],
		["Ranges", ["7"], "Your notes, what is known of the trace, its damage and losses", tab("trace")],
		["Ranges", ["`"], "Open or close the panel", () => panel.toggle()],
		["Find", ["/", "Ctrl+f"], "Find", () => search.open()],
		["Find", ["n"], "Find the next one", () => search.next(false)],
		["Find", ["Shift+n"], "Find the one before", () => search.next(true)],
		["Tracks", ["j"], "Go to the next track", () => gutter.step(1)], ["Tracks", ["k"], "Go to the track before", () => gutter.step(-1)],
		["Tracks", ["Enter"], "Fold or unfold the track", () => gutter.current >= 0 && gutter.fold(gutter.current)],
		["Tracks", ["p"], "Pin the track to the top, or unpin it", () => gutter.current >= 0 && gutter.pin(gutter.current)],
		["Tracks", ["h"], "Hide the track", () => gutter.current >= 0 && gutter.hide(gutter.current)],
		["Tracks", ["Shift+h"], "Show hidden tracks", () => gutter.showHidden()],
		["Tracks", ["Shift+j"], "Move the track down", () => gutter.move(1)], ["Tracks", ["Shift+k"], "Move the track up", () => gutter.move(-1)],
		["Tracks", ["g"], "Filter tracks by name or number", () => document.getElementById("filter")?.focus()],
		["Notes", ["m"], "Mark the picked span, the range or the pointer's time, or remove the mark there", () => addNote(app)],
		["Notes", ["Shift+m"], "Write a note at the range, the span or the time", () => rangeNote(app)],
		["Notes", ["t"], "Measure from the pointer's time, or the left edge, to where the pointer goes; stop measuring", () => {
			if (app.overlay.ruler) app.overlay.ruler = null;
			else startRuler(app);
			app.redraw();
		}],
		["Notes", ["e"], "Save the state as a file", () => exportState(app)], ["Notes", ["o"], "Open a saved state", () => importState(app, search)],
		["Compare", ["x"], "Show a second trace below, out of a page that is one file", () => openBeside(app)],
		["Compare", ["="], "Align both traces by the spans picked last in each, or by their begins", () => { align(app).catch((e) => app.failed(e)); }],
		["Looks", ["c"], "Colour by name, module or duration", () => {
			state.colours = MODES[(MODES.indexOf(state.colours) + 1) % MODES.length];
			app.say(`Colours by ${state.colours}`);
			app.recolour();
		}],
		["Looks", ["l"], "Dark or light", () => {
			state.theme = app.theme().name === "dark" ? "light" : "dark";
			app.recolour();
		}],
		["Looks", ["?"], "Show all keys", help],
	];
	return list.map(([group, keys, text, run]) => ({ group, keys, text, run }));
}
