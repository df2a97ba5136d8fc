/** Calls of a range of a store in the page by the path that led to them, as src/view/flame.c walks over them. */

import { BACK, depthTold, endsWith, GAPS, LAPS, lasts, UNCOUNTED } from "./ends.js";
import { END, KIND_SPAN, LAST, NO_END, OPEN, SPAN, SWITCH } from "./store.js";
import { addStacks } from "./stacks.js";
import { plus } from "./time.js";

/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./store.js").Item} Item */
/** @typedef {import("./types.js").Range} Range */
/** @typedef {import("./types.js").Ns} Ns */
/** @typedef {import("./types.js").PathNode} PathNode */

/**
 * @typedef {object} Level A lane while its track is walked.
 * @property {number} lane
 * @property {number} next
 * @property {number} node of the call that is open
 * @property {boolean} open a call of the range is open
 * @property {boolean} isSpan it ends by itself
 * @property {number} start of it
 * @property {number} end of it
 * @property {number} child ns of the calls right inside it
 * @property {number} until what begins before that is inside the open call
 * @property {number} limit no call in it is open longer: the end of the innermost one that is no SPAN
 * @property {number} around the same of calls that began before the range
 * @property {number} up number of the level of the call around it, + 1; 0: none
 * @property {Item | null} item that of `next`
 * @property {boolean} has `item` is up to date
 */

export class Tree {
	/**
	 * @param {Store} s @param {Range} range @param {number[]} heads the label that each label is shown as
	 * @param {Map<number, number>} parents the track above each one
	 */
	constructor(s, range, heads, parents) {
		this.s = s;
		this.range = range;
		this.heads = heads;
		this.parents = parents;
		this.lasts = lasts(s, range, parents);
		/** ENDs in the range of calls that do not begin in it, by label. @type {Map<number, number>} */
		this.ends = new Map();
		/** @type {PathNode[]} */
		this.nodes = [];
		/** @type {Map<string, number>} */
		this.ids = new Map();
		/** Whose calls all those of the track at hand are; 0: it depends on labels. */
		this.key = 0;
		/** When rows tell of calls around those of the track at hand; NaN: not found yet. */
		this.told = NaN;
		/** Only sums are wanted: of recursive calls, those right inside each other are one node. */
		this.summing = false;
		this.clear();
	}

	/** Leaves the root alone. */
	clear() {
		this.nodes = [];
		this.ids.clear();
		this.add(-1, 0);
	}

	/** What stands for a label as that of a node. Time off the CPU is no call. @param {number} label */
	head(label) {
		return this.key && label ? this.key : this.heads[label] ?? label;
	}

	/** @param {number} label @param {number} parent */
	add(label, parent) {
		this.nodes.push({ label, parent, children: [], calls: 0, sampled: 0, ended: 0, unfinished: 0, total: 0, self: 0, openSum: 0, least: 0, most: 0 });
		return this.nodes.length - 1;
	}

	/** @param {number} parent @param {number} label */
	child(parent, label) {
		const { nodes } = this;
		if (this.summing && nodes[parent].label === label && nodes[nodes[parent].parent].label === label) return parent;
		const key = `${parent}/${label}`;
		let id = this.ids.get(key);
		if (id === undefined) {
			id = this.add(label, parent);
			this.ids.set(key, id);
			this.nodes[parent].children.push(id);
		}
		return id;
	}

	/** @param {number} track */
	walkTrack(track) {
		const { s, range } = this;
		addStacks(this, track);
		/** @type {Level[]} */
		const levels = [];
		for (let lane; (lane = s.laneAt(track, levels.length)) >= 0;) {
			levels.push({ lane, next: 0, node: 0, open: false, isSpan: false, start: 0, end: 0, child: 0, until: 0, limit: 0, around: 0, up: 0, item: null, has: false });
		}
		if (!levels.length) return;
		this.told = NaN;
		this.openAround(levels);
		const last = Math.max(this.spansEnd(levels), this.lasts.get(endsWith(s, levels[0].lane, this.parents)) ?? -Infinity);
		if (s.facts & GAPS) this.walkGaps(levels, last);
		/* From the deepest one up, so that each level's calls come in their order. */
		else for (let d = levels.length - 1; d >= 0; d--) {
			const up = d ? levels[d - 1] : null;
			this.walk(levels, d, up && up.until < range.to ? up.until + 1 : range.to, last);
		}
	}

	/** The last item of a level that begins before the range. @param {Level} l */
	before(l) {
		const { s, range: { from } } = this;
		/** @type {Item | null} */
		let before = null;
		l.next = s.seek(l.lane, from);
		while ((l.item = s.item(l.lane, l.next)) && l.item.start < from) {
			before = l.item;
			l.next++;
		}
		l.has = true;
		return before ?? (l.next ? s.item(l.lane, l.next - 1) : null);
	}

	/** @param {number} label */
	addEnd(label) {
		const head = this.head(label);
		this.ends.set(head, (this.ends.get(head) ?? 0) + 1);
	}

	/**
	 * Finds the calls that go on when the range begins, from the outermost one in: those of the range that are in them are
	 * outermost ones. A SPAN that is over stays open while a call in it goes on.
	 * @param {Level[]} levels
	 */
	openAround(levels) {
		const { s, range: { from, to } } = this, gaps = (s.facts & GAPS) !== 0;
		let limit = Infinity, around = -Infinity, inside = true;
		for (const l of levels) {
			const i = this.before(l);
			l.until = i ? Math.min(i.start + i.dur, limit) : from;
			if (i && inside && i.marks & SPAN && i.start >= around && (l.until >= from || (i.kind === KIND_SPAN && !gaps))) {
				around = i.start;
				if (i.kind !== KIND_SPAN) limit = l.until;
				if (i.kind !== KIND_SPAN && i.kind !== SWITCH && l.until >= from && l.until < to && !(i.marks & NO_END)) this.addEnd(s.endLabel(i));
			} else {
				l.until = from;
				inside = gaps;
			}
			l.limit = l.around = limit;
		}
	}

	/**
	 * When the last SPAN of the levels ends: calls that are open when the data ends last as long. Of SPANs that overlap, that need not
	 * be the last one. @param {Level[]} levels
	 */
	spansEnd(levels) {
		const { s, range: { from, to } } = this, all = s.facts & (LAPS | BACK);
		let last = -Infinity;
		for (const l of levels) {
			for (let n = all ? l.next : Math.max(0, s.seek(l.lane, to) - 1), i; (i = s.item(l.lane, n)) && i.start < to; n++) {
				if (i.start >= from && i.kind === KIND_SPAN) last = Math.max(last, i.start + i.dur);
			}
		}
		return last;
	}

	/** Moves to the next span that begins before `until`; null at the end. @param {Level} l @param {number} until */
	next(l, until) {
		for (;;) {
			if (!l.has) {
				const b = l.item?.block, i = b ? l.next - b.number : -1;
				l.item = b && i >= 0 && i < b.n ? this.s.itemOf(l.lane, b, i) : this.s.item(l.lane, l.next);
			}
			l.has = true;
			if (!l.item || l.item.start >= until) return null;
			if (l.item.marks & SPAN && l.item.start >= this.range.from) return l.item;
			if (l.item.kind === END && l.item.start >= this.range.from) this.addEnd(l.item.label);
			l.next++;
			l.has = false;
		}
	}

	/**
	 * SPEC store/ties: whether the next item of a level is in the call that is open above. Where the next call begins when that one
	 * ends, items of that time may be in either. @param {Item} item @param {Level} up
	 */
	inParent(item, up) {
		const { s } = this;
		if (item.start !== up.until) return item.start < up.until;
		for (let n = up.next, i; (i = s.item(up.lane, n)) && i.start <= up.until; n++) {
			if (i.marks & SPAN) return i.start === up.until && s.ties(item) < s.ties(i);
		}
		return true;
	}

	/**
	 * Time off the CPU counts if a row in the range ends it. If all calls around it began before the range, rows must tell of them.
	 * @param {Level[]} levels @param {Item} item @param {boolean} inside a call that begins in the range @param {boolean} ended
	 */
	offCounts(levels, item, inside, ended) {
		if (!inside && Number.isNaN(this.told)) this.told = depthTold(this.s, levels.map((l) => l.lane), this.range.from);
		if (!inside && item.start < this.told) return false;
		if (ended && !(item.marks & UNCOUNTED)) return true;
		this.addEnd(0);
		return false;
	}

	/** Enters the next call of level `d`. @param {Level[]} levels @param {number} d @param {Item} item @param {Level | null} up the open one around it @param {number} last */
	enter(levels, d, item, up, last) {
		const { range: { to } } = this, l = levels[d];
		const end = item.start + item.dur, whole = item.kind === KIND_SPAN || end < to;
		const limit = up ? up.limit : d ? levels[d - 1].around : Infinity, ended = !(item.marks & LAST) && whole, isSpan = item.kind === KIND_SPAN;
		const off = item.kind === SWITCH, open = !off || this.offCounts(levels, item, Boolean(up), ended);
		const node = open ? this.child(up ? up.node : 0, off ? 0 : this.head(item.label)) : 0;
		Object.assign(l, { node, open, isSpan, start: item.start, end: whole ? end : Math.max(last, item.start), child: 0,
			until: Math.min(end, limit) });
		/* A SPAN does not end what is in it. */
		l.limit = isSpan ? limit : l.until;
		if (open) this.addCall(l.node, up ? up.node : 0, l.end - item.start, ended, !ended || (item.marks & OPEN) !== 0);
		/* Of what outlasts a SPAN, the part inside. */
		if (up) up.child += Math.max(0, (up.isSpan ? Math.min(l.end, up.end) : l.end) - l.start);
		l.next++;
		l.has = false;
	}

	/**
	 * Adds the calls of levels of which some lack calls around those of deeper ones: a call is in the innermost one that is open.
	 * @param {Level[]} levels @param {number} last
	 */
	walkGaps(levels, last) {
		for (let up = 0; ;) {
			const around = up ? levels[up - 1] : null;
			let d = -1;
			for (let e = up; e < levels.length; e++) {
				const i = this.next(levels[e], this.range.to), first = d < 0 ? null : levels[d].item;
				if (i && (!around || this.inParent(i, around)) &&
					(!first || i.start < first.start || (i.start === first.start && this.s.ties(i) < this.s.ties(first)))) d = e;
			}
			if (d >= 0) {
				this.enter(levels, d, /** @type {Item} */ (levels[d].item), around, last);
				levels[d].up = up;
				if (levels[d].open) up = d + 1;
			} else {
				if (!around) return;
				this.leave(around);
				({ up } = around);
			}
		}
	}

	/** @param {Level[]} levels @param {number} base outermost level @param {number} until @param {number} last */
	walk(levels, base, until, last) {
		for (let d = base; ;) {
			const up = d > base ? levels[d - 1] : null, l = levels[d];
			this.leave(l);
			const item = this.next(l, until);
			if (!item || (d && !this.inParent(item, levels[d - 1]))) {
				if (!up) return;
				d--;
				continue;
			}
			this.enter(levels, d, item, up, last);
			if (l.open && d + 1 < levels.length) d++;
		}
	}

	/** Leaves the open call of a level: calls right inside it may have gone on longer than it. @param {Level} l */
	leave(l) {
		if (l.open && l.child < l.end - l.start) this.nodes[l.node].self = plus(this.nodes[l.node].self, l.end - l.start - l.child);
		l.open = false;
	}

	/** Adds a call to its node; the time in itself is added when it is left. @param {number} id @param {number} parent @param {number} dur @param {boolean} ended @param {boolean} unfinished */
	addCall(id, parent, dur, ended, unfinished) {
		const n = this.nodes[id];
		n.total = plus(n.total, dur);
		n.calls++;
		if (unfinished) n.unfinished++;
		if (!ended) n.openSum = plus(n.openSum, dur);
		if (ended && !n.ended++) n.least = n.most = dur;
		if (ended || !n.ended) {
			n.least = n.calls === 1 || dur < n.least ? dur : n.least;
			n.most = Math.max(n.most, dur);
		}
		if (!parent) this.nodes[0].total = plus(this.nodes[0].total, dur);
	}
}
