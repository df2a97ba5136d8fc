/** The page as a whole: its data, its state, and what is drawn when. */

import { Beside } from "./beside.js";
import { Counters } from "./counters.js";
import { Palette } from "./colours.js";
import { byId } from "./dom.js";
import { Follow } from "./follow.js";
import { Gutter } from "./gutter.js";
import { Overlay } from "./overlay.js";
import { drawAxis, Overview } from "./overview.js";
import { Panel } from "./panel.js";
import { Picture } from "./draw.js";
import { shownLabels } from "./shown.js";
import { makeHash, State } from "./state.js";
import { some } from "./time.js";
import { Tiles } from "./tiles.js";
import { THEMES } from "./themes.js";
import { Layout } from "./tracks.js";

/** @typedef {import("./types.js").Source} Source */
/** @typedef {import("./types.js").Meta} Meta */
/** @typedef {import("./types.js").Label} Label */
/** @typedef {import("./types.js").SpanRef} SpanRef */
/** @typedef {import("./types.js").Flow} Flow */

export class App {
	/** @param {Source} source @param {Meta} meta @param {string} token */
	constructor(source, meta, token) {
		this.source = source;
		this.meta = meta;
		this.token = token;
		/** @type {Label[]} */
		this.labels = [];
		this.state = new State();
		this.palette = new Palette();
		this.layout = new Layout();
		/** Arrows of the picked span. @type {Flow[]} */
		this.arrows = [];
		this.tiles = new Tiles(source, (error) => (error ? this.failed(error) : this.redraw()));
		this.counters = new Counters(this);
		this.picture = new Picture(/** @type {HTMLCanvasElement} */ (byId("picture")), this);
		this.overlay = new Overlay(/** @type {HTMLCanvasElement} */ (byId("overlay")), this);
		this.overview = new Overview(/** @type {HTMLCanvasElement} */ (byId("overview")), this);
		this.gutter = new Gutter(byId("gutter"), this);
		this.panel = new Panel(byId("panel"), this);
		this.follow = new Follow(this);
		this.drawing = false;
		this.saving = 0;
		this.frames = /** @type {number[]} */ ([]);
		/** The spans that were picked last in each trace. @type {(SpanRef | null)[]} */
		this.chosen = [null, null];
	}

	theme() {
		const dark = this.state.theme ? this.state.theme === "dark"
			: window.matchMedia("(prefers-color-scheme: dark)").matches;
		return THEMES[dark ? "dark" : "light"];
	}

	/** The theme, the colours and their fading have changed. */
	recolour() {
		const theme = this.theme();
		document.documentElement.dataset.theme = theme.name;
		this.palette.dark = theme.name === "dark";
		this.palette.mode = this.state.colours;
		this.palette.update(this.labels);
		this.redraw();
	}

	/**
	 * Tracks were added, folded, moved, hidden or filtered; `refit`: they only need more or fewer lanes. The one at the top of the
	 * screen stays there. @param {boolean} [refit]
	 */
	relayout(refit = false) {
		const anchor = this.layout.rows[this.layout.at(this.state.top)];
		const in_ = anchor ? this.state.top - anchor.y : 0;
		if (refit) this.layout.refit();
		else this.layout.update(this.meta.tracks, this.meta.series, this.state);
		const now = anchor && this.layout.byTrack.get(anchor.track.id);
		if (now) this.state.top = now.y + Math.min(in_, now.height);
		this.state.top = Math.max(0, Math.min(this.state.top, this.layout.height - 40));
		this.redraw();
	}

	redraw() {
		if (this.drawing) return;
		this.drawing = true;
		requestAnimationFrame(() => {
			this.drawing = false;
			this.drawNow();
		});
	}

	drawNow() {
		const begin = performance.now();
		this.picture.draw();
		this.panel.moved();
		for (let n = 0; n < 8 && this.layout.outdated; n++) {
			this.relayout(true);
			this.picture.draw();
		}
		this.overlay.draw();
		this.overview.draw();
		drawAxis(/** @type {HTMLCanvasElement} */ (byId("axis")), this);
		this.gutter.draw();
		this.frames.push(performance.now() - begin);
		if (this.frames.length > 1000) this.frames.splice(0, 500);
		this.keep();
	}

	/** Keeps the state in the address a moment after the last change. */
	keep() {
		clearTimeout(this.saving);
		this.saving = window.setTimeout(() => {
			const hash = makeHash(this.token, this.state.save());
			if (hash.length < 60000) history.replaceState(null, "", hash);
		}, 300);
	}

	/** Shows a time range. @param {number} from @param {number} to @param {boolean} [keep] the view that is left */
	show(from, to, keep = true) {
		if (keep) {
			this.state.leave();
			this.follow.stop();
		}
		const least = 20 / this.picture.width, length = Math.max(1, this.meta.length);
		const nspp = Math.min(Math.max((to - from) / this.picture.width, least), (length * 1.5) / this.picture.width);
		const middle = (from + to) / 2, half = (nspp * this.picture.width) / 2;
		this.state.view = { start: this.clamp(middle - half, nspp), nspp };
		this.redraw();
	}

	showAll() {
		this.show(-this.meta.length * 0.005, this.meta.length * 1.005);
	}

	/** The left edge nearest to `start` that leaves the trace on the screen. @param {number} start @param {number} nspp */
	clamp(start, nspp) {
		const wide = this.picture.width * nspp;
		return Math.max(-wide * 0.5, Math.min(start, this.meta.length - wide * 0.5));
	}

	/** Zooms around a pixel. @param {number} x @param {number} factor below 1: nearer */
	zoom(x, factor) {
		const { view } = this.state, at = view.start + x * view.nspp;
		const most = Math.max(1, this.meta.length * 1.5) / this.picture.width;
		const nspp = Math.min(Math.max(view.nspp * factor, 20 / this.picture.width), most);
		this.state.view = { start: this.clamp(at - x * nspp, nspp), nspp };
		this.redraw();
	}

	/** @param {number} px to the right */
	pan(px) {
		const { view } = this.state;
		this.follow.stop();
		view.start = this.clamp(view.start + px * view.nspp, view.nspp);
		this.redraw();
	}

	/** @param {number} px down */
	scroll(px) {
		const most = Math.max(0, this.layout.height - this.picture.height / 2);
		this.state.top = Math.max(0, Math.min(most, this.state.top + px));
		this.redraw();
	}

	/** Picks a span and shows its details; `move` brings it to the screen. @param {SpanRef | null} span @param {boolean} [move] */
	pick(span, move = false) {
		this.state.picked = span;
		this.arrows = [];
		if (span) this.chosen[this.source instanceof Beside ? this.source.side(span.track) : 0] = { ...span };
		if (span && move) this.bring(span);
		if (span) {
			this.panel.open("details");
			this.source.flows(span).then((flows) => {
				if (this.state.picked === span) {
					this.arrows = flows;
					this.redraw();
				}
			}, (e) => this.failed(e));
		}
		this.panel.update();
		this.redraw();
	}

	/** Moves the picture so that a span can be seen. @param {SpanRef} s */
	bring(s) {
		const { view } = this.state, wide = this.picture.width * view.nspp;
		for (let id = s.track, n = 0; n < 64; n++) {
			const t = this.meta.tracks.find((x) => x.id === id);
			if (!t) break;
			this.state.folded.delete(t.id);
			this.state.hidden.delete(t.id);
			id = t.parent;
		}
		this.relayout();
		const outside = s.ts + s.dur < view.start || s.ts > view.start + wide;
		if (outside || s.dur < view.nspp * 2 || s.dur > wide * 4) {
			const around = Math.max(s.dur * 3, 100);
			this.show(s.ts + s.dur / 2 - around / 2, s.ts + s.dur / 2 + around / 2);
		}
		let place = this.overlay.place(s);
		if (!place) {
			this.layout.need.set(s.track, s.depth + 2);
			this.relayout();
		}
		place ??= this.overlay.place(s);
		if (place && (place.y < 0 || place.y > this.picture.height - 20)) this.scroll(place.y - this.picture.height / 2);
	}

	/** Takes over a newer state of a trace or store that is growing. @param {Meta} meta */
	async grow(meta) {
		const whole = this.state.view.nspp * this.picture.width >= this.meta.length;
		const earlier = Number(BigInt(this.meta.start) - BigInt(meta.start));
		const changed = meta.generation !== this.meta.generation || meta.done !== this.meta.done ||
			meta.error !== this.meta.error || earlier !== 0;
		this.meta = meta;
		if (earlier) {
			this.state.shift(earlier);
			this.path = null;
		}
		if (this.labels.length < meta.labels) {
			this.labels = this.labels.concat(shownLabels(await this.source.labels(this.labels.length)));
			this.recolour();
		}
		if (!changed) return;
		this.tiles.stale();
		this.counters.stale();
		await this.overview.load();
		this.relayout();
		this.follow.advance(whole);
		this.status();
	}

	status() {
		const { meta } = this;
		byId("name").textContent = meta.name;
		byId("status").textContent = meta.error ? `incomplete, ${some(meta.spans, "span")}: ${meta.error}`
			: meta.growing ? `${this.follow.on ? "live" : "live, not followed"}: ${some(meta.spans, "span")}` : meta.done ? `${some(meta.spans, "span")}, ${some(meta.tracks.length, "track")}`
				: `reading: ${some(meta.spans, "span")} so far`;
		this.follow.label();
		const damage = meta.marks.length;
		byId("marks").textContent = damage ? some(damage, "remark") : "";
		byId("marks").hidden = !damage;
	}

	/** @param {Error} e */
	failed(e) {
		this.say(`${e.message || e}`);
	}

	/** Says something for some seconds. @param {string} text */
	say(text) {
		const box = byId("message");
		box.textContent = text;
		box.hidden = false;
		clearTimeout(this.telling);
		this.telling = window.setTimeout(() => { box.hidden = true; }, 6000);
	}

	/** @type {number | undefined} */
	telling = undefined;

	/** Where the pointer is in the picture, in pixels from the left. @type {number | null} */
	pointer = null;

	/** The critical path that was asked for last. @type {{of: SpanRef, path: import("./types.js").Critical} | null} */
	path = null;

	/** What is known of the picked span. @type {import("./types.js").SpanDetail | null} */
	found = null;
}
