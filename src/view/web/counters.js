/** Counters: the least, greatest and last value in each pixel, drawn as a filled line. */

import { alone } from "./shown.js";
import { count } from "./time.js";
import { TILE } from "./tiles.js";

/** @typedef {import("./types.js").Series} Series */
/** @typedef {import("./app.js").App} App */

/** Values of a tile: least, greatest and last of each pixel; NaN where there are none. */
/** @typedef {{data: Float64Array | null, partial: boolean}} Piece */

const MOST = 2000;

export class Counters {
	/** @param {App} app */
	constructor(app) {
		this.app = app;
		/** @type {Map<string, Piece>} */
		this.pieces = new Map();
	}

	/** What was fetched while the trace was still growing is asked for again. */
	stale() {
		for (const [key, p] of this.pieces) if (p.partial) this.pieces.delete(key);
	}

	/** @param {number} z @param {number} i @param {number} series */
	piece(z, i, series) {
		const key = `${z}/${i}/${series}`;
		let p = this.pieces.get(key);
		if (!p) {
			if (this.pieces.size > MOST) this.pieces.clear();
			p = { data: null, partial: !this.app.meta.done };
			this.pieces.set(key, p);
			this.fetch(p, z, i, series);
		}
		return p.data;
	}

	/** @param {Piece} p @param {number} z @param {number} i @param {number} series */
	async fetch(p, z, i, series) {
		try {
			p.data = await this.app.source.counter(z, i, series);
			this.app.redraw();
		} catch (e) {
			this.app.failed(/** @type {Error} */ (e));
		}
	}

	/**
	 * @param {CanvasRenderingContext2D} g @param {Series} s
	 * @param {number} y @param {number} h @param {ReturnType<App["theme"]>} theme
	 */
	draw(g, s, y, h, theme) {
		const { view } = this.app.state, width = this.app.picture.width;
		const z = Math.max(0, Math.min(50, Math.floor(Math.log2(view.nspp)))), step = 2 ** z, wide = TILE * step;
		const least = Math.max(-Number.MAX_VALUE, Math.min(0, s.least || 0)), most = Math.min(Number.MAX_VALUE, Math.max(0, s.most || 0)) || (least < 0 ? 0 : 1);
		/* Halves, as the greatest and the least number may be further apart than any number. */
		const place = (/** @type {number} */ v) => y + h - ((Math.max(least, Math.min(v, most)) / 2 - least / 2) / (most / 2 - least / 2)) * h;
		const first = Math.max(0, Math.floor(view.start / wide));
		const last = Math.floor(Math.min(this.app.meta.length, view.start + width * view.nspp) / wide);
		g.fillStyle = theme.series;
		let value = NaN, from = 0;
		const until = (/** @type {number} */ x) => {
			if (!Number.isNaN(value) && x > from) bar(g, from, place(value), x - from, place(0));
		};
		for (let i = first; i <= last; i++) {
			const data = this.piece(z, i, s.id);
			if (!data) continue;
			for (let px = 0; px < TILE; px++) {
				if (Number.isNaN(data[3 * px + 2])) continue;
				const x = (i * wide + px * step - view.start) / view.nspp;
				until(Math.max(x, 0));
				if (x > width) break;
				g.fillRect(x, place(data[3 * px + 1]), Math.max(1, step / view.nspp), place(data[3 * px]) - place(data[3 * px + 1]) + 1);
				value = data[3 * px + 2];
				from = Math.max(0, x);
			}
		}
		until(Math.min(width, (this.app.meta.length - view.start) / view.nspp));
		g.fillStyle = theme.text;
		g.fillText(`${alone(s.name)}  ${Number.isNaN(s.least) ? "no numbers" : `${number(s.least)} to ${number(s.most)}`}`, 4, y + 7);
	}
}

/**
 * From a value to zero, at least a pixel high, so that a value near zero is seen.
 * @param {CanvasRenderingContext2D} g @param {number} x @param {number} y @param {number} w @param {number} zero
 */
function bar(g, x, y, w, zero) {
	if (Math.abs(zero - y) >= 1) g.fillRect(x, Math.min(y, zero), w, Math.abs(zero - y));
	else g.fillRect(x, y > zero ? y : y - 1, w, 1);
}

/** An exact number that came as text. @param {string} text */
export function exactNumber(text) {
	return /^-?\d+$/.test(text) ? text.replace(/\B(?=(\d{3})+$)/g, ",") : text && Number.isFinite(Number(text)) ? number(Number(text)) : text;
}

/** A value as text: whole numbers that are exact with their thousands apart, others with six digits. @param {number} v */
export function number(v) {
	if (!Number.isFinite(v)) return Number.isNaN(v) ? "nan" : v > 0 ? "inf" : "-inf";
	return Number.isSafeInteger(v) ? count(v) : Math.abs(v) >= 1e15 ? v.toExponential(5) : String(Number(v.toPrecision(6)));
}
