/** The critical path of the picked call: a table in the panel, and a path over the tracks. */

import { element, table } from "./dom.js";
import { threadName } from "./states.js";
import { duration } from "./time.js";
import { STRIP } from "./tracks.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./types.js").Segment} Segment */
/** @typedef {import("./types.js").SpanRef} SpanRef */
/** @typedef {import("./types.js").Critical} Critical */

/** Dashes of the path: the colour is not the only sign. @type {Record<string, number[]>} */
const DASHES = { running: [], runnable: [6, 3], blocked: [2, 3], unknown: [1, 5] };

/** Why the path is where it is. @param {App} app @param {Critical} path @param {Segment} s */
function because(app, path, s) {
	const end = s.ts + s.dur;
	const wake = path.wakes.find((w) => w.waker === s.track && w.ts + w.dur === end);
	if (s.state === "runnable" && s.holder >= 0) return `CPU held by ${threadName(app, s.holder)} for ${duration(s.held)}`;
	if (!wake) return s.state === "unknown" ? "the data does not tell" : "";
	return `wakes ${threadName(app, wake.track)}, blocked for ${duration(wake.dur)}${wake.at ? `, in ${app.labels[wake.at.label]?.name ?? "?"}` : ""}`;
}

/** Asks for the path of a span, keeps it for the picture, and makes a table of it. @param {App} app @param {SpanRef} span @returns {Promise<(Node | string)[]>} */
export async function criticalTable(app, span) {
	const path = await app.source.critical(span);
	if (!path.segments.some((s) => s.state !== "unknown")) return [];
	app.path = { of: span, path };
	app.redraw();
	/** @type {Record<string, number>} */
	const sums = {};
	for (const s of path.segments) sums[s.state] = (sums[s.state] ?? 0) + s.dur;
	const text = Object.entries(sums).map(([state, ns]) => `${state} ${duration(ns)}`).join(", ");
	return [element("h3", {}, "Critical path"),
		element("p", { class: "range" }, `${text}${path.cut ? "; too long: its begin is left out" : ""}`),
		table([
			{ name: "begin", text: (s) => duration(s.ts), value: (s) => s.ts, number: true },
			{ name: "duration", text: (s) => duration(s.dur), value: (s) => s.dur, number: true },
			{ name: "thread", text: (s) => threadName(app, s.track) },
			{ name: "state", text: (s) => s.state },
			{ name: "in", text: (s) => (s.at ? app.labels[s.at.label]?.name ?? "?" : "") },
			{ name: "because", text: (s) => because(app, path, s) }],
		path.segments, { sort: 0, down: false }, (/** @type {Segment} */ s) => app.show(s.ts - s.dur / 2, s.ts + s.dur * 1.5))];
}

/** Draws the path of the picked span, if it is known. @param {CanvasRenderingContext2D} g @param {App} app */
export function drawPath(g, app) {
	const { state, layout, path } = app, { view } = state;
	if (!path || path.of !== state.picked) return;
	const x = (/** @type {number} */ t) => Math.max(-10, Math.min(1e5, (t - view.start) / view.nspp));
	const y = (/** @type {number} */ track) => {
		const row = layout.byTrack.get(track);
		return row ? row.y + row.spansAt - STRIP / 2 - state.top : null;
	};
	/** @type {{x: number, y: number} | null} */
	let last = null;
	g.save();
	g.strokeStyle = app.theme().arrow;
	for (const s of path.path.segments) {
		const at = y(s.track);
		if (at === null) { last = null; continue; }
		g.beginPath();
		g.lineWidth = 1;
		g.setLineDash([]);
		if (last && last.y !== at) {
			g.moveTo(last.x, last.y);
			g.lineTo(x(s.ts), at);
			g.stroke();
			g.beginPath();
		}
		g.lineWidth = 4;
		g.setLineDash(DASHES[s.state] ?? []);
		g.moveTo(x(s.ts), at);
		g.lineTo(x(s.ts + s.dur), at);
		g.stroke();
		last = { x: x(s.ts + s.dur), y: at };
	}
	g.restore();
}
