/** The server of `spur view` as the source of the page's data. */

import { TILE } from "./tiles.js";
import { parseExact } from "./time.js";

/** @typedef {import("./types.js").Lane} Lane */
/** @typedef {import("./types.js").Range} Range */
/** @typedef {import("./types.js").SpanRef} SpanRef */
/** @typedef {import("./types.js").Source} Source */

/** What the server answered if it did not answer with data. */
export class Refused extends Error {
	/** @param {number} status @param {string} text */
	constructor(status, text) {
		super(text || `the server answered ${status}`);
		this.status = status;
	}
}

/**
 * The lanes of a request: runs of depths of each track, as `5:0-7,9:0-3`; `5:s` are states.
 * @param {Lane[]} lanes in order of tracks and depths
 */
export function laneList(lanes) {
	/** @type {string[]} */
	const out = [];
	for (let i = 0; i < lanes.length;) {
		const { track, depth } = lanes[i];
		let n = 1;
		if (depth < 0) {
			out.push(`${track}:s`);
		} else {
			while (i + n < lanes.length && lanes[i + n].track === track && lanes[i + n].depth === depth + n) n++;
			out.push(`${track}:${depth}-${depth + n - 1}`);
		}
		i += n;
	}
	return out.join(",");
}

/** The latest time that a request may have: the greatest number below 2^63. */
const LATEST = 2 ** 63 - 1024;

/** A time of a request, with all its digits. @param {number} t */
const timeText = (t) => String(BigInt(Math.min(Math.round(t), LATEST)));

/** The end of a range: one at the latest time has no end. @param {number} t */
const endText = (t) => (t >= LATEST ? String(2n ** 63n - 1n) : timeText(t));

/** @param {Range} r */
function rangeQuery(r) {
	return `from=${timeText(r.from)}&to=${endText(r.to)}` + (r.tracks ? `&tracks=${r.tracks.join(",")}` : "");
}

/** @param {SpanRef} s */
function spanQuery(s) {
	return `track=${s.track}&depth=${s.depth}&t=${timeText(s.ts)}&dur=${timeText(s.dur)}` + (s.number === undefined ? "" : `&number=${s.number}`);
}

/** Puts tracks in their order, and names of counters together. @param {any} meta @returns {import("./types.js").Meta} */
export function readMeta(meta) {
	meta.length = Math.min(meta.length, LATEST);
	const wide = /** @type {Record<string, number>} */ ({ nan: NaN, inf: Infinity, "-inf": -Infinity });
	for (const s of meta.series) {
		s.least = wide[s.least] ?? s.least;
		s.most = wide[s.most] ?? s.most;
	}
	for (const s of meta.series) if (s.arg) s.name = s.name ? `${s.name} ${s.arg}` : s.arg;
	meta.tracks.sort((/** @type {{order: number}} */ a, /** @type {{order: number}} */ b) => a.order - b.order);
	return meta;
}

/**
 * @param {string} token
 * @returns {Source}
 */
export function remote(token) {
	/** @param {string} path */
	const get = async (path) => {
		let r;
		try {
			r = await fetch(`/api/${path}`, { headers: { "X-Spur-Token": token } });
		} catch {
			throw new Refused(0, "The viewer does not answer: it has ended, or the connection to its machine is lost.");
		}
		if (!r.ok) throw new Refused(r.status, await r.text());
		return r;
	};
	/** @param {string} path */
	const json = async (path) => (await get(path)).json();
	let start = 0n;
	/** Whether a tile begins behind all times: where the trace ends with them, its rounded length may reach there. @param {number} z @param {number} i */
	const isBeyond = (z, i) => start + BigInt(i) * (BigInt(TILE) << BigInt(z)) >= 2n ** 63n;
	return {
		meta: async () => {
			const meta = await json("meta");
			start = BigInt(meta.start);
			return readMeta(meta);
		},
		labels: (from) => json(`labels?from=${from}`),
		tiles: async (z, i, lanes) => {
			if (isBeyond(z, i)) return { data: new Uint32Array([1, lanes.length, ...lanes.map(() => 0)]).buffer, partial: false };
			const r = await get(`tiles?z=${z}&i=${i}&lanes=${laneList(lanes)}`);
			return { data: await r.arrayBuffer(), partial: r.headers.has("X-Spur-Partial") };
		},
		counter: async (z, i, series) => (isBeyond(z, i) ? new Float64Array(3 * TILE).fill(NaN)
			: new Float64Array(await (await get(`counter?z=${z}&i=${i}&series=${series}`)).arrayBuffer())),
		span: (lane, t, dur, number) => json(`span?track=${lane.track}&depth=${lane.depth}&t=${timeText(t)}` +
			(dur === undefined ? "" : `&dur=${timeText(dur)}`) + (number === undefined ? "" : `&number=${number}`)),
		begins: (lane, from, to) => json(`begins?track=${lane.track}&depth=${lane.depth}&from=${timeText(Math.max(0, from))}&to=${endText(Math.max(0, to))}`),
		sums: async (range, by) => parseExact(await (await get(`sums?${rangeQuery(range)}${by ? `&by=${by}` : ""}`)).text()),
		flame: async (range) => parseExact(await (await get(`flame?${rangeQuery(range)}`)).text()),
		calls: (range, label) => json(`calls?${rangeQuery(range)}${label < 0 ? "" : `&label=${label}`}`),
		counters: (range) => json(`counters?from=${timeText(range.from)}&to=${endText(range.to)}`),
		find: (query, from, back) => json(`find?q=${encodeURIComponent(query)}` +
			(from ? `&${spanQuery(from)}` : "") + (back ? "&back=1" : "")),
		flows: (span) => json(`flows?${spanQuery(span)}`),
		why: (span) => json(`why?${spanQuery(span)}`),
		critical: (span) => json(`critical?${spanQuery(span)}`),
		state: (track, t) => json(`state?track=${track}&t=${Math.max(0, Math.round(t))}`),
		overview: async () => new Uint8Array(await (await get("overview")).arrayBuffer()),
	};
}
