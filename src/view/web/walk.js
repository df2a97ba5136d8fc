/** Pictures of lanes of a store in the page, as src/store/tile.c makes them. */

import { FAN, I64, OPEN, SPAN, SPANS, STATES, SWITCH, U64 } from "./store.js";
import { CUT_LEFT, CUT_RIGHT, HAS_ARGS, INSTANT, MERGED, OFF_CPU, SUB, TILE, UNFINISHED } from "./tiles.js";

/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./store.js").Block} Block */

const LEVELS = 12;

/**
 * Goes over the nodes of a lane: those of the highest level, then of each what the level above does
 * not cover, until `walk` returns false.
 * @param {Store} s @param {number} lane
 * @param {(level: number, i: number, end: number) => boolean} walk
 */
function overNodes(s, lane, walk) {
	for (let level = LEVELS - 1, at = 0; level >= 0; level--, at *= FAN) {
		const { count } = s.level(lane, level);
		if (at < count && !walk(level, at, count)) return;
		at = Math.max(at, count);
	}
}

/** The rectangles of a lane in the tile from `t0` on. */
class Drawing {
	/** @param {Store} s @param {number} lane @param {number} t0 @param {number} z @param {number[]} out x0, x1, label << 8 | flags of each */
	constructor(s, lane, t0, z, out) {
		this.s = s;
		this.lane = lane;
		this.t0 = t0;
		this.step = 2 ** z;
		this.t1 = t0 + TILE * this.step;
		this.out = out;
		this.pixel = -1;
		this.best = 0;
		this.small = [0, 0, 0];
		/** The flag of time off the CPU, which states do not have. */
		this.off = s.lanes[lane].kind === SPANS ? OFF_CPU : 0;
	}

	/** @param {number} t */
	x(t) {
		if (t <= this.t0) return 0;
		return t >= this.t1 ? TILE * SUB : Math.floor(((t - this.t0) * SUB) / this.step);
	}

	flush() {
		if (this.pixel >= 0) this.out.push(...this.small);
		this.pixel = -1;
	}

	/** @param {number} start @param {number} end @param {number} word @param {number} dur */
	add(start, end, word, dur) {
		const x0 = this.x(start), x1 = this.x(end), pixel = Math.floor(x0 / SUB);
		if (pixel !== this.pixel) {
			this.flush();
			this.pixel = pixel;
			this.best = dur;
			this.small = [x0, x1, word];
			return;
		}
		if (x1 > this.small[1]) this.small[1] = x1;
		if (dur > this.best) this.small[2] = word;
		this.small[2] = (this.small[2] | MERGED) >>> 0;
		this.best = Math.max(this.best, dur);
	}

	/** @param {Block} b @param {number} i @param {number} end */
	items(b, i, end) {
		for (; i < end; i++) {
			const start = b.start[i], last = b.end[i], dur = last - start;
			if (start >= this.t1) return false;
			if (last < this.t0 || (last === this.t0 && start < this.t0)) continue;
			const marks = b.marks[i] >> 5;
			const flags = (start < this.t0 ? CUT_LEFT : 0) | (last > this.t1 ? CUT_RIGHT : 0) | (marks & OPEN ? UNFINISHED : 0) |
				(b.nargs[i] ? HAS_ARGS : 0) | (!(marks & SPAN) ? INSTANT : (b.marks[i] & 31) === SWITCH ? this.off : 0);
			const word = (b.label[i] << 8 | flags) >>> 0;
			if (dur < this.step) {
				this.add(start, last, word, dur);
				continue;
			}
			this.flush();
			this.out.push(this.x(start), this.x(last), word);
		}
		return true;
	}

	/** @param {number} node */
	block(node) {
		const b = this.s.block(node), m = Math.ceil(b.n / FAN);
		if (m < 2) return this.items(b, 0, b.n);
		const l = this.s.level1(b);
		for (let j = 0; j < m; j++) {
			const start = l.start[j], end = l.end[j];
			if (start >= this.t1) return false;
			if (end < this.t0) continue;
			/* The last node may have one item, of which more is known. */
			if (j * FAN + 1 < b.n && end - start < this.step && start >= this.t0) {
				this.add(start, end, (l.label[j] << 8 | MERGED) >>> 0, l.dur[j]);
			} else if (!this.items(b, j * FAN, Math.min((j + 1) * FAN, b.n))) {
				return false;
			}
		}
		return true;
	}

	/** @param {number} level @param {number} i @param {number} end @returns {boolean} */
	nodes(level, i, end) {
		const { s } = this, { first } = s.level(this.lane, level);
		for (let n = first + i; i < end; i++, n++) {
			if (s.start[n] >= this.t1) return false;
			if (s.end[n] < this.t0) continue;
			if ((level || s.count[n] > 1) && s.end[n] - s.start[n] < this.step && s.start[n] >= this.t0) {
				this.add(s.start[n], s.end[n], (s.best[n] << 8 | MERGED | (s.offCpu[n] ? this.off : 0)) >>> 0, s.bestDur[n]);
			} else if (!(level ? this.nodes(level - 1, i * FAN, (i + 1) * FAN) : this.block(n))) {
				return false;
			}
		}
		return true;
	}
}

/**
 * Appends the rectangles of a span lane: left edge, right edge, label << 8 | flags.
 * @param {Store} s @param {number} lane @param {number} t0 @param {number} z @param {number[]} out
 */
export function tile(s, lane, t0, z, out) {
	const d = new Drawing(s, lane, t0, z, out);
	if (s.lanes[lane].kind !== SPANS && s.lanes[lane].kind !== STATES) return;
	overNodes(s, lane, (level, i, end) => d.nodes(level, i, end));
	d.flush();
}

/** A value of a counter as a number. @param {number} kind @param {bigint} bits */
export function valueOf(kind, bits) {
	if (kind === I64) return Number(BigInt.asIntN(64, bits));
	if (kind === U64) return Number(bits);
	const view = new DataView(new ArrayBuffer(8));
	view.setBigUint64(0, bits);
	return view.getFloat64(0);
}

/**
 * The value of the last sample before a time, whichever lane of a counter has it.
 * @param {Store} s @param {number[]} lanes @param {number} t
 */
function valueBefore(s, lanes, t) {
	let value = NaN, start = -Infinity, at = [0, 0];
	for (const lane of lanes) {
		const item = s.item(lane, s.seek(lane, t) - 1);
		if (!item || item.start < start) continue;
		const place = s.at(item);
		if (item.start === start && place[0] === at[0] && place[1] < at[1]) continue;
		value = valueOf(s.lanes[lane].kind, s.value(item.block, item.i));
		start = item.start;
		at = place;
	}
	return value;
}

/**
 * Least, greatest and last value of each pixel of a tile of a counter; NaN for a pixel without samples.
 * @param {Store} s @param {number} series @param {number} t0 @param {number} z
 */
export function curve(s, series, t0, z) {
	const out = new Float64Array(3 * TILE).fill(NaN), step = 2 ** z, t1 = t0 + TILE * step, lanes = s.series.get(series) ?? [];
	/* The first lane that has samples in the pixel, from 1 on. */
	const has = new Uint8Array(TILE);
	let before = false;
	const pixel = (/** @type {number} */ t) => Math.floor((t - t0) / step);
	const add = (/** @type {number} */ k, /** @type {number} */ t, /** @type {number} */ least, /** @type {number} */ most, /** @type {number} */ last) => {
		before ||= t < t0;
		if (t < t0) return;
		const p = pixel(t), o = 3 * p;
		out[o] = has[p] ? extreme(out[o], least, Math.min) : least;
		out[o + 1] = has[p] ? extreme(out[o + 1], most, Math.max) : most;
		out[o + 2] = has[p] && has[p] <= k ? valueBefore(s, lanes, t0 + (p + 1) * step) : last;
		if (!has[p] || has[p] > k) has[p] = k + 1;
	};
	lanes.forEach((lane, k) => {
		const { kind } = s.lanes[lane];
		const block = (/** @type {number} */ node) => {
			const b = s.block(node);
			for (let i = 0; i < b.n; i++) {
				if (b.start[i] >= t1) return false;
				const v = valueOf(kind, s.value(b, i));
				add(k, b.start[i], v, v, v);
			}
			return true;
		};
		const walk = (/** @type {number} */ level, /** @type {number} */ i, /** @type {number} */ end) => {
			for (let n = s.level(lane, level).first + i; i < end; i++, n++) {
				const from = s.start[n], to = s.end[n], o = s.nodes + 64 * n;
				if (from >= t1) return false;
				if (to < t0 || (from >= t0 && to < t1 && pixel(from) === pixel(to))) {
					const [least, most, last] = [24, 32, 40].map((at) => valueOf(kind, s.view.getBigUint64(o + at, true)));
					add(k, from, least, most, last);
				} else if (!(level ? walk(level - 1, i * FAN, (i + 1) * FAN) : block(n))) {
					return false;
				}
			}
			return true;
		};
		overNodes(s, lane, walk);
	});
	if (before && !has[0]) out.fill(valueBefore(s, lanes, t0), 0, 3);
	return out;
}

/** @param {number} a @param {number} b @param {(a: number, b: number) => number} which */
function extreme(a, b, which) {
	return Number.isNaN(a) ? b : Number.isNaN(b) ? a : which(a, b);
}
