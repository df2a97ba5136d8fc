/** Marks with text in time. */

/** @typedef {import("./app.js").App} App */

/** Where a note goes: the range, the picked span, or the time under the pointer. @param {App} app */
function place(app) {
	const { range, picked, view } = app.state;
	if (range) return { from: range.from, to: range.to };
	if (picked) return { from: picked.ts, to: picked.ts + picked.dur };
	const t = view.start + (app.pointer ?? app.picture.width / 2) * view.nspp;
	return { from: t, to: t };
}

/** A mark without text; a second one at the same place takes it away. @param {App} app */
export function addNote(app) {
	const at = place(app), { notes } = app.state;
	const old = notes.findIndex((n) => n.from === at.from && n.to === at.to);
	if (old >= 0) notes.splice(old, 1);
	else notes.push({ ...at, text: "" });
	app.redraw();
}

/** @param {App} app */
export function rangeNote(app) {
	const at = place(app), { notes } = app.state;
	const old = notes.find((n) => n.from === at.from && n.to === at.to);
	const text = window.prompt("Note:", old?.text ?? "");
	if (text === null) return;
	if (old) old.text = text;
	else notes.push({ ...at, text });
	app.redraw();
}
