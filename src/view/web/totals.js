/** Sums by function of a range of a store in the page, counted as src/store/sums.c and `spur report` count. */

import { BACK, depthTold, endsWith, GAPS, LAPS, lastBefore, lasts, STACKS, UNCOUNTED } from "./ends.js";
import { sumsByPath } from "./pathsums.js";
import { END, KIND_SPAN, LAST, NO_END, OPEN, SPAN, SPANS, SWITCH } from "./store.js";
import { minus, over, plus } from "./time.js";

/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./store.js").Item} Item */
/** @typedef {import("./types.js").Range} Range */
/** @typedef {import("./types.js").Ns} Ns */

/**
 * @typedef {object} LaneSum A span lane of the range.
 * @property {number} lane
 * @property {number} depth
 * @property {Cut | null} cut the span that goes on when the range ends
 *
 * @typedef {{item: Item, outermost: boolean, outside: boolean, dur: number, less: number}} Cut
 *
 * @typedef {object} Total What the calls of a label add up to, in ns.
 * @property {number} calls
 * @property {Ns} sum of all calls
 * @property {Ns} total without calls inside another call of the function
 * @property {Ns} self
 * @property {number} least of calls that end in the range
 * @property {number} most
 * @property {number} unfinished
 * @property {number} open calls that do not end in the range
 * @property {Ns} openSum
 * @property {number} openLeast
 * @property {number} openMost
 */

class Totals {
	/** @param {Store} s @param {Range} range @param {number[]} heads */
	constructor(s, range, heads) {
		this.s = s;
		this.range = range;
		this.heads = heads;
		this.totals = heads.map(() => /** @type {Total} */ ({ calls: 0, sum: 0, total: 0, self: 0, least: Infinity, most: 0, unfinished: 0,
			open: 0, openSum: 0, openLeast: Infinity, openMost: 0 }));
		/** Spans of the track at hand that go on when the range begins: heads and ends. @type {number[]} */
		this.around = [];
		/** @type {number[]} */
		this.ends = [];
		/** @type {LaneSum[]} */
		this.lanes = [];
		this.told = NaN;
		/** When the last of the track's SPANs ends. */
		this.spans = -Infinity;
	}

	/** Finds what is open on the track when the range begins. */
	findAround() {
		const { s, range: { from, to } } = this, gaps = (s.facts & GAPS) !== 0;
		this.around = [];
		this.ends = [];
		for (const { lane } of this.lanes) {
			const x = s.start[s.lanes[lane].first] < from ? lastBefore(s, lane, from) : null;
			if (!x || !(x.marks & SPAN) || x.start + x.dur < from) {
				if (gaps) continue;
				break;
			}
			const end = x.start + x.dur, label = s.endLabel(x);
			if (!(x.marks & NO_END) && end < to && x.kind !== SWITCH && label < this.totals.length) this.totals[label].unfinished++;
			this.around.push(x.kind === SWITCH ? 0 : this.heads[x.label] ?? 0);
			this.ends.push(end);
		}
	}

	/** How many of `around` are open at a time: they end from the innermost one out. @param {number} t */
	openAround(t) {
		let low = 0, high = this.ends.length;
		while (low < high) {
			const m = (low + high) >> 1;
			if (this.ends[m] > t) low = m + 1; else high = m;
		}
		return low;
	}

	/** Whether a call is inside one of its head that began in the range. @param {Item} x @param {number} inner */
	isInner(x, inner) {
		if (!inner || !this.around.length) return inner > 0;
		const head = this.heads[x.label] ?? 0;
		return inner !== this.around.slice(0, this.openAround(x.start)).filter((h) => h === head).length;
	}

	/** Time off the CPU counts inside calls only, of which the rows of the range tell. @param {LaneSum} l @param {Item} x */
	isOutside(l, x) {
		if (!this.around.length || x.kind !== SWITCH || this.openAround(x.start) < l.depth) return false;
		if (Number.isNaN(this.told)) this.told = depthTold(this.s, this.lanes.map((k) => k.lane), this.range.from);
		return x.start < this.told;
	}

	/** @param {Item} x */
	totalOf(x) {
		return this.totals[x.kind === SWITCH && x.marks & SPAN ? 0 : x.label];
	}

	/** @param {Total} t @param {number} dur @param {number} self @param {boolean} outermost @param {boolean} open */
	add(t, dur, self, outermost, open) {
		t.calls++;
		t.sum = plus(t.sum, dur);
		t.self = plus(t.self, self);
		if (outermost) t.total = plus(t.total, dur);
		if (open) {
			t.open++;
			t.openSum = plus(t.openSum, dur);
			t.openLeast = Math.min(t.openLeast, dur);
			t.openMost = Math.max(t.openMost, dur);
		} else {
			t.least = Math.min(t.least, dur);
			t.most = Math.max(t.most, dur);
		}
	}

	/** Finds the span that goes on when the range ends. @param {LaneSum} l */
	findCut(l) {
		const { from, to } = this.range, x = lastBefore(this.s, l.lane, to);
		if (!x || !(x.marks & SPAN) || x.start < from || x.label >= this.totals.length) return;
		if (x.kind === KIND_SPAN) this.spans = Math.max(this.spans, x.start + x.dur);
		if (x.start + x.dur < to) return;
		const { inner } = this.s.sumColumns(x.block);
		l.cut = { item: x, outermost: !this.isInner(x, inner[x.i]), outside: this.isOutside(l, x), dur: x.dur, less: 0 };
	}

	/** Adds the items of a lane that begin in the range, but for the one that is cut. @param {LaneSum} l */
	sumLane(l) {
		const { s, range: { from, to } } = this, { first, nblocks } = s.lanes[l.lane];
		for (let at = Math.max(0, s.blockFrom(l.lane, from) - 1); at < nblocks && s.start[first + at] < to; at++) {
			if (s.end[first + at] < from) continue;
			const b = s.block(first + at), { inner, self } = s.sumColumns(b);
			for (let i = 0; i < b.n; i++) {
				if (b.start[i] < from || b.start[i] >= to || (l.cut && b.end[i] >= to)) continue;
				const x = s.itemOf(l.lane, b, i), t = this.totalOf(x);
				if (!(x.marks & SPAN)) {
					if (x.kind === END) t.unfinished++;
				} else if (!this.isOutside(l, x)) {
					if (x.marks & OPEN) t.unfinished++;
					if (!(x.marks & UNCOUNTED)) this.add(t, x.dur, self[i], !this.isInner(x, inner[i]), (x.marks & LAST) !== 0);
				}
			}
		}
	}

	/** ns of the spans of a lane that begin from `from` to before `to`. @param {number} lane @param {number} from @param {number} to */
	busy(lane, from, to) {
		const { s } = this;
		let busy = 0;
		for (let n = s.seek(lane, from), i; (i = s.item(lane, n)) && i.start < to; n++) if (i.start >= from) busy += i.dur;
		return busy;
	}

	/** Adds what is cut on the track, whose data ends at `last`: the innermost first. @param {number} last */
	addCuts(last) {
		const end = Math.max(last, this.spans), { to } = this.range;
		for (let i = this.lanes.length - 1; i >= 0; i--) {
			const l = this.lanes[i], { cut } = l, within = this.lanes[i + 1];
			if (!cut) continue;
			const x = cut.item, whole = x.kind === KIND_SPAN, t = this.totalOf(x);
			if (!whole) cut.dur = Math.max(0, end - x.start);
			cut.less = x.dur - cut.dur;
			let child = 0;
			if (within && within.depth === l.depth + 1) {
				child = this.busy(within.lane, x.start, to) - (within.cut && within.cut.item.start >= x.start ? within.cut.less : 0);
			}
			if (!whole && !cut.outside) t.unfinished++;
			if (x.kind !== SWITCH) this.add(t, cut.dur, cut.dur - Math.min(child, cut.dur), cut.outermost, !whole);
		}
	}
}

/** @param {Total[]} totals @param {number[]} heads @returns {import("./types.js").Sum[]} */
function made(totals, heads) {
	totals.forEach((from, i) => {
		const to = totals[heads[i]];
		if (!i || heads[i] === i || !to) return;
		for (const key of /** @type {const} */ (["calls", "unfinished", "open"])) {
			to[key] += from[key];
			from[key] = 0;
		}
		for (const key of /** @type {const} */ (["sum", "total", "self", "openSum"])) {
			to[key] = plus(to[key], from[key]);
			from[key] = 0;
		}
		to.least = Math.min(to.least, from.least);
		to.most = Math.max(to.most, from.most);
		to.openLeast = Math.min(to.openLeast, from.openLeast);
		to.openMost = Math.max(to.openMost, from.openMost);
	});
	return totals.map((t, label) => {
		const ended = t.calls - t.open, avg = ended ? over(minus(t.sum, t.openSum), ended) : t.calls ? over(t.sum, t.calls) : 0;
		return { label, calls: t.calls, total: t.total, self: t.self, avg, min: !t.calls ? 0 : ended ? t.least : t.openLeast,
			max: ended ? t.most : t.openMost, unfinished: t.unfinished };
	}).filter((t) => t.calls || t.unfinished);
}

/** @param {Store} s @param {Range} range @param {number[]} heads @param {Map<number, number>} parents the track above each one */
export function sums(s, range, heads, parents) {
	if (s.facts & (LAPS | BACK | STACKS)) return sumsByPath(s, range, heads, parents);
	const k = new Totals(s, range, heads), tracks = new Set(range.tracks ?? s.ofTrack.keys());
	/** @type {{lanes: LaneSum[], spans: number}[]} */
	const cuts = [];
	for (const track of [...tracks].sort((a, b) => a - b)) {
		k.lanes = (s.ofTrack.get(track) ?? []).filter((lane) => s.lanes[lane].kind === SPANS && s.lanes[lane].items)
			.map((lane) => ({ lane, depth: s.lanes[lane].depth, cut: null }));
		k.told = NaN;
		k.spans = -Infinity;
		if (!k.lanes.length) continue;
		k.findAround();
		if (range.to <= s.last) for (const l of k.lanes) k.findCut(l);
		for (const l of k.lanes) k.sumLane(l);
		if (k.lanes.some((l) => l.cut)) cuts.push({ lanes: k.lanes, spans: k.spans });
	}
	const ends = cuts.length ? lasts(s, range, parents) : new Map();
	for (const c of cuts) {
		k.lanes = c.lanes;
		k.spans = c.spans;
		k.addCuts(ends.get(endsWith(s, c.lanes[0].lane, parents)) ?? -Infinity);
	}
	return made(k.totals, heads);
}
