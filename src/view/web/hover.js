/** What is below the pointer, and the tooltip that tells it. */

import { byId } from "./dom.js";
import { hoverText, mergedText, stateName } from "./draw.js";
import { StateTip } from "./states.js";
import { INSTANT, MERGED, SUB, TILE } from "./tiles.js";
import { duration } from "./time.js";

/** @typedef {import("./app.js").App} App */

/**
 * The rectangle of the picture at a place, as the tiles have it.
 * @param {App} app @param {number} x @param {number} y
 */
export function rectAt(app, x, y) {
	const { state, layout, picture } = app, at = layout.pick(y + state.top);
	if (!at?.lane) return null;
	const { view } = state, z = Math.max(0, Math.min(50, Math.floor(Math.log2(view.nspp / picture.scale))));
	const t = view.start + x * view.nspp, step = 2 ** z, i = Math.floor(t / (TILE * step));
	if (i < 0) return null;
	const tile = app.tiles.get(z, i, [at.lane])[0], place = (t - i * TILE * step) / step * SUB;
	const slack = 2 * view.nspp / step * SUB;
	let best = -1, near = slack;
	for (let k = 0; k < tile.n; k++) {
		const a = tile.x[4 * k], b = Math.max(tile.x[4 * k + 1], a + 1);
		const d = place < a ? a - place : place > b ? place - b : 0;
		if (d < near) { near = d; best = k; }
	}
	if (best < 0) return null;
	const word = tile.word[2 * best + 1];
	const ns = (tile.x[4 * best + 1] - tile.x[4 * best]) / SUB * step;
	const middle = i * TILE * step + (tile.x[4 * best] + tile.x[4 * best + 1]) / 2 / SUB * step;
	const pixel = (i * TILE + Math.floor(tile.x[4 * best] / SUB)) * step;
	return { pixel: [pixel, pixel + step], lane: at.lane, label: word >>> 8, flags: word & 255, ns, t: word & INSTANT ? middle : Math.min(Math.max(t, middle - ns / 2), middle + ns / 2) };
}

/** Completes the tooltip of what is narrower than a pixel when the server has answered. */
class MergedTip {
	constructor() {
		this.turn = 0;
		this.last = { key: "", text: "" };
	}

	/** @param {App} app @param {HTMLElement} tip @param {NonNullable<ReturnType<typeof rectAt>>} r */
	async show(app, tip, { lane, pixel: [from, to] }) {
		const turn = ++this.turn, key = `${lane.track}/${lane.depth}/${from}/${to}`;
		if (this.last.key !== key) {
			const found = await app.source.begins(lane, from, to);
			if (turn !== this.turn || tip.hidden) return;
			/* While a trace is read, there may be more soon. */
			this.last = { key: app.meta.done ? key : "", text: mergedText(found, app.labels) };
		}
		tip.textContent = this.last.text;
	}

	/** The pointer is elsewhere. */
	leave() {
		this.turn++;
	}
}

const stateTip = new StateTip(), mergedTip = new MergedTip();

/** @param {App} app @param {HTMLElement} tip @param {PointerEvent} e */
export function hover(app, tip, e) {
	const r = rectAt(app, e.offsetX, e.offsetY);
	tip.hidden = !r;
	stateTip.leave();
	mergedTip.leave();
	if (!r) return;
	tip.textContent = r.lane.depth < 0 ? `${stateName(r.label)}, ${duration(r.ns)}`
		: hoverText(app.labels[r.label]?.name ?? "?", r.ns, r.flags);
	if (r.lane.depth < 0) stateTip.show(app, tip, r.lane.track, r.t).catch((e) => app.failed(e));
	else if (r.flags & MERGED) mergedTip.show(app, tip, r).catch((e) => app.failed(e));
	place(tip, e.offsetX, e.offsetY);
}

/** Puts the tooltip beside the pointer, on the side that has room for any text. @param {HTMLElement} tip @param {number} x @param {number} y */
function place(tip, x, y) {
	const { width, height } = byId("stage").getBoundingClientRect(), left = x < width / 2, above = y > height - 60;
	tip.style.left = left ? `${x + 14}px` : "auto";
	tip.style.right = left ? "auto" : `${width - x + 8}px`;
	tip.style.top = above ? "auto" : `${y + 18}px`;
	tip.style.bottom = above ? `${height - y + 8}px` : "auto";
}
