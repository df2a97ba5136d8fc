/** Flame graphs of a range of a store in the page, as src/view/flame.c makes them. */

import { KIND_SPAN, OPEN, SPAN, SWITCH } from "./store.js";
import { minus, over, plus } from "./time.js";

/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./store.js").Item} Item */
/** @typedef {import("./types.js").Range} Range */
/** @typedef {import("./types.js").Ns} Ns */

/** Nodes of a flame graph that are shown, about. */
const SHOWN = 5000;

/**
 * Calls by the path that led to them.
 * @typedef {object} PathNode
 * @property {number} label -1: the root
 * @property {number} parent
 * @property {number[]} children
 * @property {number} calls
 * @property {number} ended
 * @property {Ns} total
 * @property {Ns} self
 * @property {Ns} openSum of calls that did not end
 * @property {number} least
 * @property {number} most
 *
 * @typedef {object} Level A lane while its track is walked.
 * @property {number} lane
 * @property {number} next
 * @property {number} node of the call that is open
 * @property {number} end of it
 * @property {Item | null} item that of `next`
 * @property {boolean} has `item` is up to date
 */

class Tree {
	/** @param {Store} s @param {Range} range @param {number[]} heads the label that each label is shown as */
	constructor(s, range, heads) {
		this.s = s;
		this.range = range;
		this.heads = heads;
		/** @type {PathNode[]} */
		this.nodes = [];
		/** @type {Map<string, number>} */
		this.ids = new Map();
		this.add(-1, 0);
	}

	/** @param {number} label @param {number} parent */
	add(label, parent) {
		this.nodes.push({ label, parent, children: [], calls: 0, ended: 0, total: 0, self: 0, openSum: 0, least: 0, most: 0 });
		return this.nodes.length - 1;
	}

	/** @param {number} parent @param {number} label */
	child(parent, label) {
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
		/** @type {Level[]} */
		const levels = [];
		for (let lane; (lane = s.laneAt(track, levels.length)) >= 0;) {
			const next = s.seek(lane, range.from), item = s.item(lane, next);
			levels.push({ lane, next, node: 0, item, has: true,
				end: item && item.start < range.from ? item.start + item.dur : range.from });
		}
		const last = this.lastRow(levels);
		/* From the deepest one up, so that each level's calls come in their order. */
		for (let d = levels.length - 1; d >= 0; d--) {
			this.walk(levels, d, d ? Math.min(levels[d - 1].end, range.to) : range.to, last);
		}
	}

	/** The time of a track's last row in the range. @param {Level[]} levels */
	lastRow(levels) {
		const { s, range: { to } } = this;
		let last = -Infinity;
		for (const { lane } of levels) {
			const number = s.seek(lane, to);
			let item = s.item(lane, number);
			if (!item || item.start >= to) item = s.item(lane, number - 1);
			if (!item) continue;
			last = Math.max(last, item.start);
			const end = item.start + item.dur;
			if (item.kind !== KIND_SPAN && end < to) last = Math.max(last, end);
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
			l.next++;
			l.has = false;
		}
	}

	/** Whether the next item of a level is in the call that is open above. @param {Item} item @param {Level} up */
	inParent(item, up) {
		return item.start !== up.end ? item.start < up.end : this.s.parent(item)?.number === up.next - 1;
	}

	/** @param {Level[]} levels @param {number} base outermost level @param {number} until @param {number} last */
	walk(levels, base, until, last) {
		const { range: { to } } = this;
		for (let d = base; ;) {
			const up = d > base ? levels[d - 1] : null, l = levels[d], item = this.next(l, until);
			if (!item || (up && !this.inParent(item, up))) {
				if (!up) return;
				d--;
				continue;
			}
			const end = item.start + item.dur, whole = item.kind === KIND_SPAN || end < to;
			l.node = this.child(up ? up.node : 0, item.kind === SWITCH ? 0 : this.heads[item.label] ?? item.label);
			l.end = whole ? end : Math.max(last, item.start);
			this.addCall(l.node, up ? up.node : 0, l.end - item.start, !(item.marks & OPEN) && whole);
			l.next++;
			l.has = false;
			if (d + 1 < levels.length) d++;
		}
	}

	/** @param {number} id @param {number} parent @param {number} dur @param {boolean} ended */
	addCall(id, parent, dur, ended) {
		const n = this.nodes[id];
		n.total = plus(n.total, dur);
		n.self = plus(n.self, dur);
		n.calls++;
		if (!ended) n.openSum = plus(n.openSum, dur);
		if (ended && !n.ended++) n.least = n.most = dur;
		if (ended || !n.ended) {
			n.least = n.calls === 1 || dur < n.least ? dur : n.least;
			n.most = Math.max(n.most, dur);
		}
		const up = this.nodes[parent];
		if (parent) up.self = minus(up.self, dur);
		else up.total = plus(up.total, dur);
	}
}

/** @param {Store} s @param {Range} range @param {number[]} heads */
function treeOf(s, range, heads) {
	const tree = new Tree(s, range, heads), tracks = range.tracks ? new Set(range.tracks) : s.ofTrack.keys();
	for (const track of [...tracks].sort((a, b) => a - b)) tree.walkTrack(track);
	return tree.nodes;
}

/** @param {Store} s @param {Range} range @param {number[]} heads @returns {import("./types.js").FlameNode} */
export function flame(s, range, heads) {
	const nodes = treeOf(s, range, heads);
	const least = nodes.length <= SHOWN ? 0 : plus(nodes.map((n) => n.total).sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))[SHOWN], 1);
	const shown = nodes.map((n) => ({ label: n.label, calls: n.calls, total: n.total, self: n.self,
		children: /** @type {import("./types.js").FlameNode[]} */ ([]) }));
	nodes.forEach((n, id) => {
		let calls = 0, total = /** @type {Ns} */ (0);
		for (const c of n.children) {
			if (nodes[c].total >= least) {
				shown[id].children.push(shown[c]);
			} else {
				calls += nodes[c].calls;
				total = plus(total, nodes[c].total);
			}
		}
		if (calls) shown[id].children.push({ label: -2, calls, total, self: 0, children: [] });
	});
	return shown[0];
}

/**
 * Sums call by call: for lanes that are out of order, and for modules.
 * @param {Store} s @param {Range} range @param {number[]} heads @returns {import("./types.js").Sum[]}
 */
export function sumsByPath(s, range, heads) {
	const nodes = treeOf(s, range, heads);
	/** @type {Map<number, {calls: number, open: number, sum: Ns, openSum: Ns, total: Ns, self: Ns, least: number, most: number}>} */
	const out = new Map();
	for (const n of nodes.slice(1)) {
		let k = out.get(n.label);
		if (!k) out.set(n.label, k = { calls: 0, open: 0, sum: 0, openSum: 0, total: 0, self: 0, least: 0, most: 0 });
		/* The shortest and the longest one are told of those that ended, if any did. */
		if (!k.calls || (n.ended && k.open === k.calls)) {
			k.least = n.least;
			k.most = n.most;
		} else if (n.ended || k.open === k.calls) {
			k.least = Math.min(k.least, n.least);
			k.most = Math.max(k.most, n.most);
		}
		k.calls += n.calls;
		k.open += n.calls - n.ended;
		k.sum = plus(k.sum, n.total);
		k.openSum = plus(k.openSum, n.openSum);
		k.self = plus(k.self, n.self);
		let up = n.parent;
		while (up && nodes[up].label !== n.label) up = nodes[up].parent;
		if (!up) k.total = plus(k.total, n.total);
	}
	return [...out].sort((a, b) => a[0] - b[0]).map(([label, k]) => ({ label, calls: k.calls, total: k.total, self: k.self,
		avg: k.calls > k.open ? over(minus(k.sum, k.openSum), k.calls - k.open) : over(k.sum, k.calls), min: k.least, max: k.most, unfinished: k.open }));
}
