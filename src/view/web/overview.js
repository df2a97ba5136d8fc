/** The whole trace in one strip, with its damage and lost events; and the axis of times. */

import { step, tick } from "./time.js";

/** @typedef {import("./app.js").App} App */

export class Overview {
	/** @param {HTMLCanvasElement} canvas @param {App} app */
	constructor(canvas, app) {
		this.canvas = canvas;
		this.app = app;
		this.g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
		/** How busy each part is, 0 to 255. @type {Uint8Array} */
		this.busy = new Uint8Array(0);
		/** Begins of spans that a search found. @type {number[]} */
		this.hits = [];
	}

	async load() {
		this.busy = await this.app.source.overview();
	}

	get width() {
		return Math.max(1, this.canvas.clientWidth);
	}

	/** The time at a place of the strip. @param {number} x */
	time(x) {
		return (x / this.width) * this.app.meta.length;
	}

	/** The mark near a place of the strip. @param {number} x */
	mark(x) {
		const { marks, length } = this.app.meta;
		let best = null, near = 5;
		for (const m of marks) {
			if (m.ts === null) continue;
			const d = Math.abs((m.ts / length) * this.width - x);
			if (d < near) { best = m; near = d; }
		}
		return best;
	}

	draw() {
		const { g, app } = this, scale = window.devicePixelRatio || 1, W = this.width, H = this.canvas.clientHeight;
		this.canvas.width = Math.round(W * scale);
		this.canvas.height = Math.round(H * scale);
		g.setTransform(scale, 0, 0, scale, 0, 0);
		const theme = app.theme(), { length, marks } = app.meta, { view } = app.state;
		g.fillStyle = theme.backCss;
		g.fillRect(0, 0, W, H);
		g.fillStyle = theme.series;
		const n = this.busy.length;
		for (let i = 0; i < n; i++) {
			const h = (this.busy[i] / 255) * (H - 4);
			if (h) g.fillRect((i / n) * W, H - h, W / n + 0.5, h);
		}
		g.fillStyle = theme.found;
		for (const t of this.hits) g.fillRect((t / length) * W, 0, 1, H);
		for (const m of marks) {
			g.fillStyle = m.kind === "damage" ? theme.damage : theme.lost;
			if (m.ts !== null) g.fillRect((m.ts / length) * W - 1, 0, 2, 8);
		}
		const x0 = (view.start / length) * W, x1 = ((view.start + app.picture.width * view.nspp) / length) * W;
		g.fillStyle = theme.shade;
		g.fillRect(0, 0, x0, H);
		g.fillRect(x1, 0, W - x1, H);
		g.strokeStyle = theme.accentCss;
		g.strokeRect(x0 + 0.5, 0.5, Math.max(2, x1 - x0) - 1, H - 1);
	}
}

/**
 * Draws the axis: marks at round times, notes, and the ruler.
 * @param {HTMLCanvasElement} canvas @param {App} app
 */
export function drawAxis(canvas, app) {
	const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
	const scale = window.devicePixelRatio || 1, W = canvas.clientWidth, H = canvas.clientHeight;
	canvas.width = Math.round(W * scale);
	canvas.height = Math.round(H * scale);
	g.setTransform(scale, 0, 0, scale, 0, 0);
	const theme = app.theme(), { view, notes } = app.state;
	g.fillStyle = theme.panelCss;
	g.fillRect(0, 0, W, H);
	g.font = "11px system-ui, sans-serif";
	g.textBaseline = "middle";
	const distance = step(view.nspp, 90);
	for (let t = Math.ceil(view.start / distance) * distance; t < view.start + W * view.nspp; t += distance) {
		const x = (t - view.start) / view.nspp;
		g.fillStyle = theme.line;
		g.fillRect(x, 0, 1, H);
		g.fillStyle = theme.text;
		const text = tick(t, distance);
		if (x + 4 + g.measureText(text).width <= W) g.fillText(text, x + 4, H / 2);
	}
	for (const n of notes) {
		const x = (n.from - view.start) / view.nspp, w = Math.max(2, (n.to - n.from) / view.nspp);
		g.fillStyle = theme.accentCss;
		g.fillRect(x, H - 5, w, 5);
		if (n.text) {
			const text = n.text.slice(0, 40), room = g.measureText(text).width;
			g.fillStyle = theme.panelCss;
			g.fillRect(x, 0, room + 8, H - 5);
			g.fillStyle = theme.accentCss;
			g.fillText(text, x + 4, H / 2 - 2);
		}
	}
}
