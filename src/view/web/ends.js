/** When the data of lanes of a store in the page ends, as src/store/sums.c finds it. */

import { BEGIN, DEPTH, KIND_SPAN, SPAN } from "./store.js";

/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./store.js").Item} Item */
/** @typedef {import("./types.js").Range} Range */

/** Facts of a store: calls around others are missing; spans overlap; times go back; samples have stacks; several recordings. */
export const GAPS = 32, LAPS = 16, BACK = 4, STACKS = 2;
const APART = 64, TRACKS_APART = 256;
/** Mark of time off the CPU that no row tells the end of. */
export const UNCOUNTED = 32;

/**
 * When the first call that begins at `from` or later tells by its recorded depth that there are others around it.
 * @param {Store} s @param {number[]} lanes of a track @param {number} from
 */
export function depthTold(s, lanes, from) {
	let told = Infinity;
	for (const lane of lanes) {
		for (let n = s.seek(lane, from), i; s.lanes[lane].depth && (i = s.item(lane, n)) && i.start < told; n++) {
			if (i.start >= from && i.kind === BEGIN && s.flags(i) & DEPTH) told = i.start;
		}
	}
	return told;
}

/** The last item of a lane that begins before `t`. @param {Store} s @param {number} lane @param {number} t @returns {Item | null} */
export function lastBefore(s, lane, t) {
	const at = s.blockFrom(lane, t) - 1;
	if (at < 0) return null;
	const b = s.block(s.lanes[lane].first + at);
	let i = b.n - 1;
	while (i >= 0 && b.start[i] >= t) i--;
	return i < 0 ? null : s.item(lane, b.number + i);
}

/** What the end of a lane's data is known by: its feed, and its recording if there are several. @param {Store} s @param {number} lane @param {Map<number, number>} parents */
export function endsWith(s, lane, parents) {
	let { track } = s.lanes[lane];
	if (s.facts & TRACKS_APART) return `${track}/${s.lanes[lane].feed}`;
	if (!(s.facts & APART)) return `${s.lanes[lane].feed}`;
	for (let i = 0, up; i < 64 && (up = parents.get(track) ?? -1) !== -1; i++) track = up;
	return `${track}/${s.lanes[lane].feed}`;
}

/** The time of the last row of each recording or feed in the range. @param {Store} s @param {Range} range @param {Map<number, number>} parents */
export function lasts(s, range, parents) {
	const tracks = range.tracks && new Set(range.tracks);
	/** @type {Map<string, number>} */
	const out = new Map();
	s.lanes.forEach((l, lane) => {
		const x = l.items && (!tracks || tracks.has(l.track)) ? lastBefore(s, lane, range.to) : null;
		if (!x) return;
		/* A SPAN has no row at its end. */
		const end = x.start + x.dur, t = x.marks & SPAN && x.kind !== KIND_SPAN && end < range.to ? end : x.start;
		const key = endsWith(s, lane, parents);
		out.set(key, Math.max(out.get(key) ?? -Infinity, t));
	});
	return out;
}
