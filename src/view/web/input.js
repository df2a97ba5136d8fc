/** Keys, mouse, wheel and touch. */

import { byId } from "./dom.js";
import { hover, rectAt } from "./hover.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./actions.js").Action} Action */
/** @typedef {import("./types.js").SpanRef} SpanRef */

/** How long a finger stays where it is until that picks. */
const LONG_PRESS_MS = 500;

/** What a key event is called in the list of actions. @param {KeyboardEvent} e */
function keyName(e) {
	const letter = e.key.length === 1 && /[a-z]/i.test(e.key);
	const key = letter ? e.key.toLowerCase() : e.key;
	const shift = e.shiftKey && (letter || e.key.length > 1) ? "Shift+" : "";
	return `${e.ctrlKey || e.metaKey ? "Ctrl+" : ""}${shift}${key}`;
}

/** @param {App} app @param {Action[]} list */
export function listen(app, list) {
	keys(app, list);
	mouse(app);
	overviewMouse(app);
	wheel(app);
	touch(app);
	new ResizeObserver(() => { app.picture.resize(); app.redraw(); }).observe(byId("stage"));
	window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.recolour());
}

/** @param {App} app @param {Action[]} list */
function keys(app, list) {
	const byKey = new Map(list.flatMap((a) => a.keys.map((k) => /** @type {[string, Action]} */ ([k, a]))));
	/** Keys that are held: moving goes on at every frame. @type {Set<string>} */
	const held = new Set();
	const speed = { w: 0, s: 0, a: -1, d: 1 };
	let last = 0;
	const go = (/** @type {number} */ now) => {
		if (!held.size) return;
		/* A frame may have begun before the key that is handled in it. */
		const dt = Math.min(50, Math.max(0, now - last)) / 1000, fast = held.has("shift") ? 3 : 1;
		last = Math.max(last, now);
		if (held.has("w") !== held.has("s")) {
			app.zoom(app.pointer ?? app.picture.width / 2, 1.5 ** ((held.has("w") ? -4 : 4) * dt * fast));
		}
		const by = (held.has("a") ? speed.a : 0) + (held.has("d") ? speed.d : 0);
		if (by) app.pan(by * app.picture.width * 1.5 * dt * fast);
		requestAnimationFrame(go);
	};
	window.addEventListener("keydown", (e) => {
		const target = /** @type {HTMLElement} */ (e.target);
		if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || document.querySelector("dialog[open]") || e.altKey) return;
		if (target.tagName === "BUTTON" && (e.key === "Enter" || e.key === " ")) return;
		const name = keyName(e), move = name.replace("Shift+", "");
		if (e.key === "t" && !e.ctrlKey) {
			if (!e.repeat) startRuler(app);
			return;
		}
		if (["w", "s", "a", "d"].includes(move)) {
			if (e.repeat) return;
			byKey.get(move)?.run();
			if (!held.size) { last = performance.now(); requestAnimationFrame(go); }
			held.add(move);
			if (e.shiftKey) held.add("shift");
			return;
		}
		const action = byKey.get(name);
		if (!action) return;
		e.preventDefault();
		action.run();
	});
	window.addEventListener("keyup", (e) => {
		held.delete(e.key.toLowerCase());
		if (held.size === 1 && held.has("shift")) held.clear();
		if (e.key === "t") { app.overlay.ruler = null; app.redraw(); }
	});
	window.addEventListener("blur", () => held.clear());
}

/** The ruler reaches from where T was pressed to the pointer. @param {App} app */
export function startRuler(app) {
	const { view } = app.state, t = view.start + (app.pointer ?? 0) * view.nspp;
	app.overlay.ruler = [t, t];
	app.redraw();
}

/** @param {App} app */
function mouse(app) {
	const top = /** @type {HTMLCanvasElement} */ (byId("overlay")), tip = byId("tip");
	/** @type {{x: number, y: number, pan: boolean, start: number, top: number, moved: boolean} | null} */
	let drag = null;
	const time = (/** @type {number} */ x) => app.state.view.start + x * app.state.view.nspp;
	top.addEventListener("pointerdown", (e) => {
		if (e.pointerType === "touch") return;
		drag = { x: e.offsetX, y: e.offsetY, pan: e.altKey || e.button === 1, start: app.state.view.start, top: app.state.top, moved: false };
		top.setPointerCapture(e.pointerId);
		e.preventDefault();
	});
	top.addEventListener("pointermove", (e) => {
		app.pointer = e.offsetX;
		if (app.overlay.ruler) { app.overlay.ruler[1] = time(e.offsetX); app.redraw(); }
		if (!drag) { hover(app, tip, e); return; }
		if (!drag.moved && Math.abs(e.offsetX - drag.x) + Math.abs(e.offsetY - drag.y) < 4) return;
		drag.moved = true;
		tip.hidden = true;
		if (drag.pan) {
			app.follow.stop();
			app.state.view.start = app.clamp(drag.start - (e.offsetX - drag.x) * app.state.view.nspp, app.state.view.nspp);
			app.state.top = Math.max(0, drag.top - (e.offsetY - drag.y));
		} else {
			app.state.range = rangeOf(app, drag.x, drag.y, e.offsetX, e.offsetY);
		}
		app.redraw();
	});
	top.addEventListener("pointerup", (e) => {
		if (!drag) return;
		if (!drag.moved && !drag.pan) pickAt(app, e.offsetX, e.offsetY);
		else if (!drag.pan) app.panel.open(["flame", "calls", "counters"].includes(app.state.tab) ? app.state.tab : "functions", true);
		drag = null;
	});
	top.addEventListener("pointerleave", () => { tip.hidden = true; app.pointer = null; });
	top.addEventListener("dblclick", (e) => {
		const r = rectAt(app, e.offsetX, e.offsetY);
		if (r && app.state.picked) app.show(app.state.picked.ts - app.state.picked.dur * 0.1, app.state.picked.ts + app.state.picked.dur * 1.1);
	});
}

/** The range between two places: their times, and the tracks from one to the other. @type {(app: App, x0: number, y0: number, x1: number, y1: number) => import("./types.js").Range} */
function rangeOf(app, x0, y0, x1, y1) {
	const { view, top } = app.state, { layout, meta } = app;
	const t = [x0, x1].map((x) => Math.round(Math.max(0, Math.min(meta.length + 1, view.start + x * view.nspp)))).sort((a, b) => a - b);
	const first = layout.at(Math.min(y0, y1) + top), last = layout.at(Math.max(y0, y1) + top);
	const rows = layout.rows.slice(first, last + 1);
	const all = Math.abs(y1 - y0) < 8 || rows.length === layout.rows.length;
	/** @type {Set<number>} */
	const ids = new Set();
	for (const r of rows) ids.add(r.track.id);
	return { from: t[0], to: Math.max(t[1], t[0] + 1), tracks: all ? null : [...ids] };
}

/** @param {App} app @param {number} x @param {number} y */
export async function pickAt(app, x, y) {
	const r = rectAt(app, x, y);
	if (!r || r.lane.depth < 0) { app.pick(null); return; }
	try {
		const d = await app.source.span(r.lane, r.t);
		app.found = d;
		app.pick(d.span);
	} catch (e) {
		app.failed(/** @type {Error} */ (e));
	}
}

/** Drag on the axis or the overview: zoom to the range; click: go there. @param {App} app */
function overviewMouse(app) {
	for (const id of ["overview", "axis"]) {
		const canvas = /** @type {HTMLCanvasElement} */ (byId(id));
		const time = (/** @type {number} */ x) => (id === "axis" ? app.state.view.start + x * app.state.view.nspp : app.overview.time(x));
		let from = NaN;
		canvas.addEventListener("pointerdown", (e) => { from = e.offsetX; canvas.setPointerCapture(e.pointerId); });
		canvas.addEventListener("pointerup", (e) => {
			const moved = Math.abs(e.offsetX - from) > 3, [a, b] = [time(from), time(e.offsetX)].sort((x, y) => x - y);
			const mark = id === "overview" && !moved ? app.overview.mark(e.offsetX) : null;
			if (moved) app.show(a, b);
			else if (mark) { app.show(Number(mark.ts) - 1e6, Number(mark.ts) + 1e6); app.say(mark.text); }
			else if (id === "overview") {
				const half = app.picture.width * app.state.view.nspp / 2;
				app.show(a - half, a + half);
			}
			from = NaN;
		});
		canvas.addEventListener("pointermove", (e) => {
			const mark = id === "overview" ? app.overview.mark(e.offsetX) : null;
			canvas.title = mark ? mark.text : "";
		});
	}
}

/** @param {App} app */
function wheel(app) {
	byId("stage").addEventListener("wheel", (e) => {
		e.preventDefault();
		const unit = e.deltaMode === 1 ? 16 : 1;
		if (e.ctrlKey || e.metaKey) app.zoom(e.offsetX, 1.002 ** (e.deltaY * unit));
		else if (e.shiftKey) app.pan((e.deltaY || e.deltaX) * unit);
		else {
			if (e.deltaX) app.pan(e.deltaX * unit);
			if (e.deltaY) app.scroll(e.deltaY * unit);
		}
	}, { passive: false });
}

/** One finger moves, two zoom. @param {App} app */
function touch(app) {
	const top = byId("overlay");
	/** @type {Map<number, {x: number, y: number}>} */
	const fingers = new Map();
	top.addEventListener("pointerdown", (e) => { if (e.pointerType === "touch") fingers.set(e.pointerId, { x: e.offsetX, y: e.offsetY }); });
	top.addEventListener("pointermove", (e) => {
		const was = fingers.get(e.pointerId);
		if (!was) return;
		const other = [...fingers].find(([id]) => id !== e.pointerId)?.[1];
		if (other) {
			const a = Math.max(8, Math.abs(was.x - other.x)), b = Math.max(8, Math.abs(e.offsetX - other.x));
			app.zoom((e.offsetX + other.x) / 2, a / b);
		} else {
			app.pan(was.x - e.offsetX);
			app.scroll(was.y - e.offsetY);
		}
		fingers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
	});
	/* A finger that does not move picks: when it is lifted, or after a while. */
	let tap = { x: NaN, y: NaN }, wait = 0;
	const near = (/** @type {PointerEvent} */ e) => Math.hypot(e.offsetX - tap.x, e.offsetY - tap.y) < 8;
	const pick = () => {
		if (!Number.isNaN(tap.x) && fingers.size === 1) pickAt(app, tap.x, tap.y);
		tap = { x: NaN, y: NaN };
	};
	top.addEventListener("pointerdown", (e) => {
		if (e.pointerType !== "touch") return;
		tap = { x: fingers.size > 1 ? NaN : e.offsetX, y: e.offsetY };
		window.clearTimeout(wait);
		wait = window.setTimeout(pick, LONG_PRESS_MS);
	});
	top.addEventListener("pointermove", (e) => { if (e.pointerType === "touch" && !near(e)) tap = { x: NaN, y: NaN }; });
	top.addEventListener("pointerup", (e) => { if (e.pointerType === "touch" && near(e)) pick(); });
	top.addEventListener("contextmenu", (e) => { if (fingers.size) e.preventDefault(); });
	for (const end of ["pointerup", "pointercancel"]) {
		top.addEventListener(end, (e) => {
			fingers.delete(/** @type {PointerEvent} */ (e).pointerId);
			window.clearTimeout(wait);
		});
	}
}
