/** What lies over the picture: the picked span, the range, notes, arrows, the ruler. */

import { drawPath } from "./critical.js";
import { duration } from "./time.js";
import { LANE } from "./tracks.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./types.js").SpanRef} SpanRef */

export class Overlay {
	/** @param {HTMLCanvasElement} canvas @param {App} app */
	constructor(canvas, app) {
		this.canvas = canvas;
		this.app = app;
		this.g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
		/** While the ruler is held: its ends. @type {[number, number] | null} */
		this.ruler = null;
	}

	/** The place of a span on the screen, or null where its track is not shown. @param {SpanRef} s */
	place(s) {
		const { layout, state } = this.app, row = layout.byTrack.get(s.track);
		if (!row || s.depth >= row.depth) return null;
		const { view } = state, y = row.y + row.spansAt + s.depth * LANE - state.top;
		return { x: (s.ts - view.start) / view.nspp, y, w: s.dur / view.nspp };
	}

	draw() {
		const { g, app, canvas } = this, scale = window.devicePixelRatio || 1;
		const W = canvas.clientWidth, H = canvas.clientHeight, theme = app.theme(), { state } = app;
		canvas.width = Math.round(W * scale);
		canvas.height = Math.round(H * scale);
		g.setTransform(scale, 0, 0, scale, 0, 0);
		g.clearRect(0, 0, W, H);
		const x = (/** @type {number} */ t) => (t - state.view.start) / state.view.nspp;
		if (state.range) {
			g.fillStyle = theme.shade;
			g.fillRect(0, 0, x(state.range.from), H);
			g.fillRect(x(state.range.to), 0, W, H);
			this.tracksOfRange(W, theme);
		}
		for (const n of state.notes) {
			g.fillStyle = theme.accentCss;
			g.fillRect(x(n.from), 0, 1, H);
			if (n.to > n.from) g.fillRect(x(n.to), 0, 1, H);
		}
		if (state.picked) this.frame(state.picked, theme);
		for (const f of app.arrows) this.arrow(f.from, f.to, theme);
		drawPath(g, app);
		if (this.ruler) this.drawRuler(this.ruler, H, theme);
	}

	/** Tracks that the range leaves out are shaded. @param {number} W @param {ReturnType<App["theme"]>} theme */
	tracksOfRange(W, theme) {
		const { layout, state } = this.app, tracks = state.range?.tracks;
		if (!tracks) return;
		const chosen = new Set(tracks);
		this.g.fillStyle = theme.shade;
		for (let i = layout.at(state.top); i < layout.rows.length; i++) {
			const row = layout.rows[i], y = row.y - state.top;
			if (y > this.canvas.clientHeight) break;
			if (!chosen.has(row.track.id)) this.g.fillRect(0, y, W, row.height);
		}
	}

	/** @param {SpanRef} s @param {ReturnType<App["theme"]>} theme */
	frame(s, theme) {
		const p = this.place(s);
		if (!p) return;
		this.g.strokeStyle = theme.accentCss;
		this.g.lineWidth = 2;
		this.g.strokeRect(Math.max(p.x, -4), p.y, Math.min(Math.max(p.w, 3), 1e5), LANE - 1);
	}

	/** @param {SpanRef} from @param {SpanRef} to @param {ReturnType<App["theme"]>} theme */
	arrow(from, to, theme) {
		const a = this.place(from), b = this.place(to), { g } = this;
		if (!a || !b) return;
		const x0 = a.x + a.w, y0 = a.y + LANE / 2, x1 = b.x, y1 = b.y + LANE / 2;
		const bend = Math.max(20, Math.min(120, Math.abs(x1 - x0) / 2));
		g.strokeStyle = theme.arrow;
		g.lineWidth = 1.5;
		g.beginPath();
		g.moveTo(x0, y0);
		g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
		g.stroke();
		g.fillStyle = theme.arrow;
		g.beginPath();
		g.moveTo(x1, y1);
		g.lineTo(x1 - 7, y1 - 4);
		g.lineTo(x1 - 7, y1 + 4);
		g.fill();
	}

	/** @param {[number, number]} ends @param {number} H @param {ReturnType<App["theme"]>} theme */
	drawRuler(ends, H, theme) {
		const { g } = this, { view } = this.app.state;
		const [a, b] = ends.map((t) => (t - view.start) / view.nspp);
		g.fillStyle = theme.accentCss;
		g.fillRect(a, 0, 1, H);
		g.fillRect(b, 0, 1, H);
		g.fillRect(Math.min(a, b), H / 2, Math.abs(b - a), 1);
		const text = duration(Math.abs(ends[1] - ends[0]));
		g.font = "13px system-ui, sans-serif";
		const w = g.measureText(text).width;
		g.fillStyle = theme.panelCss;
		g.fillRect((a + b) / 2 - w / 2 - 6, H / 2 - 12, w + 12, 24);
		g.fillStyle = theme.text;
		g.fillText(text, (a + b) / 2 - w / 2, H / 2 + 4);
	}
}
