/**
 * The picture of tracks. A lane is a row of pixels, filled in memory and scaled to its height at
 * once: some twenty times faster than a rectangle for each span, and needs no graphics hardware.
 */

import { stateColour, STATES } from "./colours.js";
import { alone } from "./shown.js";
import { drawLosses, drawStates } from "./states.js";
import { duration, some } from "./time.js";
import { CUT_LEFT, CUT_RIGHT, HAS_ARGS, INSTANT, MERGED, OFF_CPU, SUB, TILE, UNFINISHED } from "./tiles.js";
import { LANE, SERIES, STRIP } from "./tracks.js";

/** @typedef {import("./types.js").Lane} Lane */
/** @typedef {import("./tracks.js").Row} Row */
/** @typedef {import("./tiles.js").Tile} Tile */
/** @typedef {import("./app.js").App} App */

/** A span wide enough for its name, with edges in pixels. */
/** @typedef {{x: number, w: number, y: number, label: number, flags: number}} Wide */

const LEAST_TEXT = 28;

export class Picture {
	/** @param {HTMLCanvasElement} canvas @param {App} app */
	constructor(canvas, app) {
		this.canvas = canvas;
		this.app = app;
		this.g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
		this.off = new OffscreenCanvas(1, 1);
		this.og = /** @type {OffscreenCanvasRenderingContext2D} */ (this.off.getContext("2d", { alpha: false }));
		this.strip = new ImageData(1, 1);
		this.pixels = new Uint32Array(this.strip.data.buffer);
		this.scale = 1;
		this.width = 1;
		this.height = 1;
		this.rects = 0;
		/** @type {Wide[]} */
		this.wide = [];
		/** The last one of each lane, by its place. @type {Map<number, Wide>} */
		this.last = new Map();
		/** @type {Map<string, number>} widths of names */
		/** States of threads that do not run. @type {import("./states.js").Strip[]} */
		this.strips = [];
		this.widths = new Map();
	}

	resize() {
		this.scale = window.devicePixelRatio || 1;
		this.width = Math.max(1, this.canvas.clientWidth);
		this.height = Math.max(1, this.canvas.clientHeight);
		this.canvas.width = Math.round(this.width * this.scale);
		this.canvas.height = Math.round(this.height * this.scale);
		const lanes = Math.ceil(this.height / STRIP) + 2;
		this.off = new OffscreenCanvas(this.canvas.width, lanes);
		this.og = /** @type {OffscreenCanvasRenderingContext2D} */ (this.off.getContext("2d", { alpha: false }));
		this.strip = this.og.createImageData(this.canvas.width, lanes);
		this.pixels = new Uint32Array(this.strip.data.buffer);
	}

	/** The lanes on the screen, with their places, in order of tracks and depths. */
	lanes() {
		const { layout, state } = this.app;
		/** @type {{lane: Lane, y: number, h: number}[]} */
		const out = [];
		for (let i = layout.at(state.top); i < layout.rows.length; i++) {
			const row = layout.rows[i], y = row.y - state.top;
			if (y >= this.height) break;
			if (row.track.states) out.push({ lane: { track: row.track.id, depth: -1 }, y, h: STRIP });
			const first = Math.max(0, Math.floor((-y - row.spansAt) / LANE));
			const last = Math.min(row.depth, Math.ceil((this.height - y - row.spansAt) / LANE));
			for (let d = first; d < last; d++) {
				out.push({ lane: { track: row.track.id, depth: d }, y: y + row.spansAt + d * LANE, h: LANE });
			}
		}
		return out;
	}

	draw() {
		const { g, app, scale } = this;
		const theme = app.theme();
		const lanes = this.lanes();
		this.rects = 0;
		this.wide = [];
		this.strips = [];
		this.last.clear();
		this.pixels.fill(theme.back, 0, Math.min(lanes.length, this.strip.height) * this.canvas.width);
		this.fill(lanes.slice(0, this.strip.height));
		g.setTransform(1, 0, 0, 1, 0, 0);
		g.fillStyle = theme.backCss;
		g.fillRect(0, 0, this.canvas.width, this.canvas.height);
		this.og.putImageData(this.strip, 0, 0, 0, 0, this.canvas.width, Math.min(lanes.length, this.strip.height));
		g.imageSmoothingEnabled = false;
		for (let k = 0; k < lanes.length && k < this.strip.height;) {
			let n = 1;
			while (k + n < lanes.length && lanes[k + n].h === lanes[k].h &&
				lanes[k + n].y === lanes[k].y + n * lanes[k].h) n++;
			const y = Math.round(lanes[k].y * scale), to = Math.round((lanes[k].y + n * lanes[k].h) * scale);
			g.drawImage(this.off, 0, k, this.canvas.width, n, 0, y, this.canvas.width, to - y);
			k += n;
		}
		g.setTransform(scale, 0, 0, scale, 0, 0);
		g.fillStyle = theme.backCss;
		for (const l of lanes) g.fillRect(0, l.y + l.h - 1, this.width, 1);
		drawStates(g, this.strips, theme.backCss);
		this.texts(theme);
		drawLosses(g, app, this.width);
		this.rowsAround(theme);
	}

	/** Fills the row of pixels of each lane. @param {{lane: Lane, y: number, h: number}[]} lanes */
	fill(lanes) {
		const { view } = this.app.state;
		const z = Math.max(0, Math.min(50, Math.floor(Math.log2(view.nspp / this.scale))));
		const step = 2 ** z, wide = TILE * step, length = this.app.meta.length;
		const first = Math.max(0, Math.floor(view.start / wide));
		const last = Math.min(Math.floor(length / wide), Math.floor((view.start + this.width * view.nspp) / wide));
		const want = lanes.map((l) => l.lane);
		/** Lanes with something in them; 1: not known yet. */
		const full = new Uint8Array(lanes.length);
		for (let i = first; i <= last; i++) {
			this.app.tiles.get(z, i, want).forEach((t, k) => {
				full[k] |= t.n || !t.ready ? 1 : 0;
				if (t.n) this.fillTile(t, (i * wide - view.start) / view.nspp * this.scale, step / view.nspp * this.scale / SUB, k, lanes[k]);
			});
		}
		this.app.layout.fit(want, full);
	}

	/**
	 * @param {Tile} t @param {number} x0 left edge, in pixels of the screen
	 * @param {number} per pixels a step @param {number} k row of pixels
	 * @param {{lane: Lane, y: number, h: number}} at
	 */
	fillTile(t, x0, per, k, at) {
		const W = this.canvas.width, row = k * W, { palette, state } = this.app;
		const byLabel = palette.mode !== "duration", screen = this.width * state.view.nspp;
		const states = at.lane.depth < 0;
		for (let n = 0; n < t.n; n++) {
			let a = x0 + t.x[4 * n] * per, b = x0 + t.x[4 * n + 1] * per;
			if (b < 0) continue;
			if (a >= W) break;
			const word = t.word[2 * n + 1], label = word >>> 8;
			this.rects++;
			if (a < 0) a = 0;
			if (b > W) b = W;
			const p = a | 0;
			let q = Math.max(p + 1, b | 0);
			if (q - p > 6 && !(word & CUT_RIGHT)) q--;
			const colour = states ? stateColour(label, palette.dark) : byLabel ? palette.pixels[label] ?? 0xff808080
				: palette.at(label, (b - a) / this.scale * state.view.nspp, screen);
			this.pixels.fill(colour, row + p, row + q);
			if (b - a > LEAST_TEXT * this.scale || word & (INSTANT | UNFINISHED | OFF_CPU) || (states && label)) {
				this.addWide(a / this.scale, (b - a) / this.scale, at.y, label, word & 255, states);
			}
		}
	}

	/** Joins the parts of a span that tiles cut. @type {(x: number, w: number, y: number, label: number, flags: number, states: boolean) => void} */
	addWide(x, w, y, label, flags, states) {
		if (states) { if (label) this.strips.push({ x, w, y, label }); return; }
		const last = this.last.get(y);
		if (last && flags & CUT_LEFT && last.flags & CUT_RIGHT && last.label === label &&
			Math.abs(last.x + last.w - x) < 1.5) {
			last.w += w;
			last.flags = (last.flags & ~CUT_RIGHT) | (flags & (CUT_RIGHT | UNFINISHED));
			return;
		}
		const wide = { x, w, y, label, flags };
		this.wide.push(wide);
		this.last.set(y, wide);
	}

	/** @param {string} s */
	textWidth(s) {
		let w = this.widths.get(s);
		if (w === undefined) {
			w = this.g.measureText(s).width;
			if (this.widths.size > 50000) this.widths.clear();
			this.widths.set(s, w);
		}
		return w;
	}

	/** The longest beginning of a name that fits. @param {string} s @param {number} room */
	fit(s, room) {
		const w = this.textWidth(s);
		if (w <= room) return s;
		const n = Math.floor((s.length * room) / w) - 1;
		return n > 1 ? `${s.slice(0, n)}…` : "";
	}

	/** @param {ReturnType<App["theme"]>} theme */
	texts(theme) {
		const { g } = this;
		g.font = "11px system-ui, sans-serif";
		g.textBaseline = "middle";
		for (const w of this.wide) {
			if (w.flags & INSTANT) this.instant(w, theme);
			if (w.flags & UNFINISHED) this.torn(w, theme);
			if (w.flags & OFF_CPU) this.hatch(w, theme);
			if (w.w <= LEAST_TEXT || w.flags & MERGED) continue;
			const name = this.app.labels[w.label]?.name ?? "";
			const text = this.fit(name, w.w - 6);
			g.fillStyle = theme.onSpan;
			if (text) g.fillText(text, Math.max(w.x, 0) + 3, w.y + LANE / 2);
			if (w.flags & HAS_ARGS && w.w > 60) g.fillRect(w.x + w.w - 5, w.y + LANE - 6, 3, 3);
		}
	}

	/** A mark for an event without a duration. @param {Wide} w @param {ReturnType<App["theme"]>} theme */
	instant(w, theme) {
		this.g.fillStyle = theme.instant;
		this.g.beginPath();
		this.g.moveTo(w.x - 3, w.y + 1);
		this.g.lineTo(w.x + 4, w.y + 1);
		this.g.lineTo(w.x + 0.5, w.y + 8);
		this.g.fill();
	}

	/** A call that never returned has a torn edge. @param {Wide} w @param {ReturnType<App["theme"]>} theme */
	torn(w, theme) {
		const x = w.x + w.w;
		this.g.fillStyle = theme.backCss;
		this.g.beginPath();
		this.g.moveTo(x + 1, w.y);
		for (let i = 0; i < 4; i++) this.g.lineTo(x - (i % 2 ? 0 : 4), w.y + (i + 0.5) * (LANE / 4));
		this.g.lineTo(x + 1, w.y + LANE);
		this.g.fill();
	}

	/** Time off the CPU is hatched. @param {Wide} w @param {ReturnType<App["theme"]>} theme */
	hatch(w, theme) {
		const { g } = this, from = Math.max(0, w.x), to = Math.min(this.width, w.x + w.w);
		if (to - from < 3) return;
		g.save();
		g.beginPath();
		g.rect(from, w.y, to - from, LANE - 1);
		g.clip();
		g.strokeStyle = theme.shade;
		g.lineWidth = 2;
		g.beginPath();
		for (let x = from - LANE - (from % 8); x < to; x += 8) {
			g.moveTo(x, w.y + LANE);
			g.lineTo(x + LANE, w.y);
		}
		g.stroke();
		g.restore();
	}

	/** Counters, lines between tracks, the picked span, notes. @param {ReturnType<App["theme"]>} theme */
	rowsAround(theme) {
		const { g, app } = this, { state, layout } = app;
		for (let i = layout.at(state.top); i < layout.rows.length; i++) {
			const row = layout.rows[i], y = row.y - state.top;
			if (y >= this.height) break;
			g.fillStyle = row.pinned && !layout.rows[i + 1]?.pinned ? theme.accent : theme.line;
			g.fillRect(0, y + row.height - 1, this.width, 1);
			row.series.forEach((s, k) => {
				app.counters.draw(g, s, y + row.seriesAt + k * SERIES, SERIES - 4, theme);
			});
		}
	}
}

/** The word for a state of a thread. @param {number} label */
export function stateName(label) {
	return STATES[label] ?? "unknown";
}

/** What the tooltip says of what begins in one pixel. @param {import("./types.js").Begins} b @param {import("./types.js").Label[]} labels */
export function mergedText({ count: n, longest }, labels) {
	if (!longest) return some(n, "event");
	const text = `${alone(labels[longest.label]?.name ?? "?")} ${duration(longest.dur)}`;
	return n > 1 ? `${some(n, "span")}, longest ${text}` : text;
}

/** What the tooltip of a rectangle says. @param {string} name @param {number} ns @param {number} flags */
export function hoverText(name, ns, flags) {
	if (flags & INSTANT) return name;
	return flags & MERGED ? `${alone(name)} and others, ${duration(ns)} together` : `${alone(name)}, ${duration(ns)}`;
}
