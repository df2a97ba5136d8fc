/** Marks with text in time. */

import { element } from "./dom.js";
import { duration } from "./time.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./state.js").Note} Note */

/** A time is that of a note up to so many pixels from it. */
const NEAR_PX = 4;

/** Where a note goes: the range, the picked span, or the time under the pointer, near which there may be one. @param {App} app */
function place(app) {
	const { range, picked, view, notes } = app.state;
	const same = (/** @type {number} */ from, /** @type {number} */ to) => notes.find((n) => n.from === from && n.to === to);
	if (range) return { from: range.from, to: range.to, old: same(range.from, range.to) };
	if (picked) return { from: picked.ts, to: picked.ts + picked.dur, old: same(picked.ts, picked.ts + picked.dur) };
	const t = Math.round(view.start + (app.pointer ?? app.picture.width / 2) * view.nspp);
	return { from: t, to: t, old: notes.find((n) => n.from === n.to && Math.abs(n.from - t) <= NEAR_PX * view.nspp) };
}

/** @param {App} app */
function changed(app) {
	if (app.state.tab === "trace") app.panel.update();
	app.redraw();
}

/** @param {App} app @param {Note} note */
function remove(app, note) {
	app.state.notes = app.state.notes.filter((n) => n !== note);
	changed(app);
}

/** A mark without text; a second one at the same place takes it away. @param {App} app */
export function addNote(app) {
	const { from, to, old } = place(app);
	if (old) { remove(app, old); return; }
	app.state.notes.push({ from, to, text: "" });
	changed(app);
}

/** @param {App} app */
export function rangeNote(app) {
	const { from, to, old } = place(app), text = window.prompt("Note:", old?.text ?? "");
	if (text === null) return;
	if (old) old.text = text;
	else app.state.notes.push({ from, to, text });
	changed(app);
}

/** All notes in the order of time: each goes there, and can be removed. @param {App} app @returns {Node[]} */
export function noteList(app) {
	const notes = app.state.notes.slice().sort((a, b) => a.from - b.from || a.to - b.to);
	if (!notes.length) return [];
	const show = (/** @type {Note} */ n) => {
		const around = Math.max(n.to - n.from, app.state.view.nspp * app.picture.width * 0.5, 100);
		app.show((n.from + n.to) / 2 - around, (n.from + n.to) / 2 + around);
	};
	return [element("h3", {}, "Notes"), element("ul", {}, ...notes.map((n) => {
		const when = n.to > n.from ? `${duration(n.from)}, ${duration(n.to - n.from)} long` : duration(n.from);
		return element("li", {}, element("button", { type: "button", click: () => show(n) }, n.text ? `${n.text} (${when})` : `Mark at ${when}`), " ",
			element("button", { type: "button", title: "Remove the note", "aria-label": `Remove the note at ${when}`, click: () => remove(app, n) }, "×"));
	}))];
}
