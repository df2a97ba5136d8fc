/** The strips of what threads do: shapes beside their colours, and what the tooltip tells. */

import { duration } from "./time.js";
import { STRIP } from "./tracks.js";
import { trackName } from "./types.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./types.js").Doing} Doing */
/** @typedef {{x: number, w: number, y: number, label: number}} Strip */

/** How high a state is drawn: running fills the strip, runnable half of it, blocked is a line. */
const HEIGHTS = [STRIP - 1, 4, 2];

/** Takes away what is above the states, so that their heights tell them apart. @param {CanvasRenderingContext2D} g @param {Strip[]} strips @param {string} back */
export function drawStates(g, strips, back) {
	g.fillStyle = back;
	for (const s of strips) {
		const h = HEIGHTS[s.label] ?? STRIP - 1;
		g.fillRect(s.x, s.y, s.w, STRIP - 1 - h);
	}
}

/** @param {App} app @param {number} id */
export function threadName(app, id) {
	return trackName(app.meta.tracks.find((t) => t.id === id)) || "a thread";
}

/** What a thread does, in words. @param {App} app @param {Doing} d */
export function stateText(app, d) {
	const cpu = d.cpu >= 0 ? ` on CPU ${d.cpu}` : "";
	let text = `${d.state}${d.state === "running" ? cpu : ""}, ${duration(d.dur)}`;
	if (d.last) text += " until the end of the data";
	if (d.preempted) text += `, lost CPU ${d.cpu}`;
	if (d.waker >= 0) text += `, woken by ${threadName(app, d.waker)}`;
	if (d.holder >= 0) text += `, CPU held by ${threadName(app, d.holder)} for ${duration(d.held)}`;
	return text;
}

/** Completes the tooltip of a state when the server has answered. */
export class StateTip {
	constructor() {
		this.turn = 0;
		/** @type {{track: number, from: number, to: number, text: string} | null} */
		this.last = null;
	}

	/** @param {App} app @param {HTMLElement} tip @param {number} track @param {number} t */
	async show(app, tip, track, t) {
		const { last } = this, turn = ++this.turn;
		if (last && last.track === track && t >= last.from && t < last.to) { tip.textContent = last.text; return; }
		const d = await app.source.state(track, t);
		if (!d || turn !== this.turn || tip.hidden) return;
		this.last = { track, from: d.ts, to: d.ts + d.dur, text: stateText(app, d) };
		tip.textContent = this.last.text;
	}

	/** The pointer is elsewhere. */
	leave() {
		this.turn++;
	}
}

/** Where events were lost, tracks are hatched. @param {CanvasRenderingContext2D} g @param {App} app @param {number} width */
export function drawLosses(g, app, width) {
	const { layout, state, meta } = app, { view } = state;
	for (const m of meta.marks) {
		const row = m.ts === null || m.kind !== "lost" ? undefined : layout.byTrack.get(m.track);
		if (!row || m.ts === null) continue;
		const x = (m.ts - view.start) / view.nspp, w = Math.max(4, m.dur / view.nspp);
		if (x > width || x + w < 0) continue;
		const from = Math.max(0, x), to = Math.min(width, x + w), y = row.y - state.top;
		g.save();
		g.beginPath();
		g.rect(from, y, to - from, row.height - 1);
		g.clip();
		g.strokeStyle = app.theme().lost;
		g.beginPath();
		for (let a = from - row.height - (from % 6); a < to; a += 6) {
			g.moveTo(a, y + row.height);
			g.lineTo(a + row.height, y);
		}
		g.stroke();
		g.restore();
	}
}
