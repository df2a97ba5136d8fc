/** The names of tracks at the left: fold, pin, hide, move. */

import { element } from "./dom.js";
import { count } from "./time.js";
import { trackName } from "./types.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./tracks.js").Row} Row */

export class Gutter {
	/** @param {HTMLElement} box @param {App} app */
	constructor(box, app) {
		this.box = box;
		this.app = app;
		/** The row that keys act on. */
		this.current = -1;
		/** @type {Map<number, HTMLElement>} elements of rows on the screen, by track */
		this.shown = new Map();
		/** @type {import("./tracks.js").Row[] | null} */
		this.rows = null;
		/** @type {number | null} */
		this.dragged = null;
	}

	draw() {
		const { layout, state, picture } = this.app;
		const old = this.shown, keep = this.rows === layout.rows;
		this.shown = new Map();
		for (let i = layout.at(state.top); i < layout.rows.length; i++) {
			const row = layout.rows[i], y = row.y - state.top;
			if (y >= picture.height) break;
			const id = row.track.id;
			const e = (keep && old.get(id)) || this.make(row);
			e.style.top = `${y}px`;
			e.style.height = `${row.height}px`;
			e.classList.toggle("current", id === this.current);
			e.setAttribute("aria-selected", String(id === this.current));
			this.shown.set(id, e);
		}
		if (keep) for (const [id, e] of old) if (!this.shown.has(id)) e.remove();
		if (!keep) this.box.replaceChildren();
		/* In the order in which they are seen, which is that of the Tab key too. */
		let at = this.box.firstChild;
		for (const e of this.shown.values()) {
			if (e === at) at = at.nextSibling;
			else this.box.insertBefore(e, at);
		}
		this.rows = layout.rows;
	}

	/** @param {Row} row */
	make(row) {
		const { app } = this, t = row.track;
		const button = (/** @type {string} */ sign, /** @type {string} */ label, /** @type {() => void} */ run) =>
			element("button", { type: "button", title: label, "aria-label": `${label}: ${t.name}`,
				click: (e) => { e.stopPropagation(); run(); } }, sign);
		const folds = row.group || t.depth > 1 || row.series.length;
		const fold = folds ? button(row.folded ? "▸" : "▾", row.folded ? "Unfold" : "Fold", () => this.fold(t.id)) : element("span", { class: "leaf" });
		const e = element("div", { class: `track level${Math.min(row.level, 4)}${row.pinned ? " pinned" : ""}`,
			role: "treeitem", "aria-label": trackName(t, row.level > 0), "aria-level": String(row.level + 1), "aria-expanded": folds ? String(!row.folded) : false, tabindex: "0", draggable: "true",
			title: `${t.trace ? `${t.trace}: ` : ""}${t.name}\n${t.kind}${t.pid ? `, process ${t.pid}` : ""}${t.tid ? `, thread ${t.tid}` : ""}` +
				`\n${count(t.spans)} spans`,
			click: () => this.choose(t.id),
			dragstart: () => { this.dragged = t.id; },
			dragover: (/** @type {DragEvent} */ ev) => ev.preventDefault(),
			drop: () => this.drop(t.id) },
		fold, element("span", { class: "name" }, trackName(t, row.level > 0)),
		element("span", { class: "tools" },
			button("⇱", row.pinned ? "Unpin" : "Pin to the top", () => this.pin(t.id)),
			button("×", "Hide", () => this.hide(t.id))));
		e.addEventListener("keydown", (ev) => { if (ev.key === "Enter") { this.choose(t.id); this.fold(t.id); ev.stopPropagation(); } });
		return e;
	}

	/** @param {number} id */
	choose(id) {
		this.current = id;
		this.app.redraw();
	}

	/** @param {number} id */
	fold(id) {
		const { folded } = this.app.state;
		if (!folded.delete(id)) folded.add(id);
		this.app.relayout();
	}

	/** @param {number} id */
	pin(id) {
		const { state } = this.app;
		state.pins = state.pins.includes(id) ? state.pins.filter((x) => x !== id) : [...state.pins, id];
		this.app.relayout();
	}

	/** @param {number} id */
	hide(id) {
		this.app.state.hidden.add(id);
		this.app.relayout();
		this.app.say("One more track is hidden. Shift+H shows all of them.");
	}

	showHidden() {
		this.app.state.hidden.clear();
		this.app.relayout();
	}

	/** A track was dropped on another one: it goes before it. @param {number} onto */
	drop(onto) {
		const { app } = this, id = this.dragged;
		this.dragged = null;
		if (id === null || id === onto) return;
		if (app.state.pins.includes(id) && app.state.pins.includes(onto)) {
			const rest = app.state.pins.filter((x) => x !== id);
			rest.splice(rest.indexOf(onto), 0, id);
			app.state.pins = rest;
		} else {
			const order = app.layout.rows.filter((r) => !r.pinned).map((r) => r.track.id).filter((x) => x !== id);
			order.splice(order.indexOf(onto), 0, id);
			app.state.order = order;
		}
		app.relayout();
	}

	/** Moves the current track up or down among those on the same level. @param {number} by */
	move(by) {
		const { layout } = this.app, rows = layout.rows.filter((r) => !r.pinned);
		const at = rows.findIndex((r) => r.track.id === this.current);
		if (at < 0) return;
		const parent = rows[at].track.parent;
		let to = at + by;
		while (rows[to] && rows[to].track.parent !== parent) to += by;
		if (!rows[to]) return;
		const ids = rows.map((r) => r.track.id);
		[ids[at], ids[to]] = [ids[to], ids[at]];
		this.app.state.order = ids;
		this.app.relayout();
	}

	/** Makes the next or the previous track the current one. @param {number} by */
	step(by) {
		const { layout } = this.app, at = layout.rows.findIndex((r) => r.track.id === this.current);
		const row = layout.rows[Math.max(0, Math.min(layout.rows.length - 1, at < 0 ? 0 : at + by))];
		if (!row) return;
		this.choose(row.track.id);
		const y = row.y - this.app.state.top;
		if (y < 0 || y + row.height > this.app.picture.height) this.app.scroll(y - this.app.picture.height / 3);
	}
}
