/** Sums and flame graphs of a range of a store in the page, call by call, as src/view/sums.c and flame.c make them. */

import { Tree } from "./sums.js";
import { minus, over, plus } from "./time.js";

/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./types.js").PathNode} PathNode */
/** @typedef {import("./types.js").Range} Range */
/** @typedef {import("./types.js").Ns} Ns */
/** @typedef {import("./types.js").Whole} Whole */
/** @typedef {{calls: Whole, open: number, unfinished: number, sum: Ns, openSum: Ns, total: Ns, self: Ns, least: number, most: number, sampled: Whole}} Total */

/** Nodes of a flame graph that are shown, about. */
const SHOWN = 5000;

class Totals {
	constructor() {
		/** By what nodes have as labels. @type {Map<number, Total>} */
		this.of = new Map();
		/** Nodes of the label above the node at hand, and it. @type {Map<number, number>} */
		this.open = new Map();
	}

	/** @param {number} label */
	total(label) {
		let k = this.of.get(label);
		if (!k) this.of.set(label, k = { calls: 0, open: 0, unfinished: 0, sum: 0, openSum: 0, total: 0, self: 0, least: 0, most: 0, sampled: 0 });
		return k;
	}

	/** Recursive calls are in the time of the outermost one. @param {PathNode} n @param {boolean} outermost */
	add(n, outermost) {
		const k = this.total(n.label), calls = minus(k.calls, k.sampled);
		/* The shortest and the longest one are told of those that ended, if any did. Samples have no durations of their own. */
		if (n.calls > n.sampled && (!calls || (n.ended && k.open === calls))) {
			k.least = n.least;
			k.most = n.most;
		} else if (n.calls > n.sampled && (n.ended || k.open === calls)) {
			k.least = Math.min(k.least, n.least);
			k.most = Math.max(k.most, n.most);
		}
		k.calls = plus(k.calls, n.calls);
		k.sampled = plus(k.sampled, n.sampled);
		k.open += Number(minus(n.calls, n.sampled)) - n.ended;
		k.unfinished += n.unfinished;
		k.sum = plus(k.sum, n.total);
		k.openSum = plus(k.openSum, n.openSum);
		k.self = plus(k.self, n.self);
		if (outermost) k.total = plus(k.total, n.total);
	}

	/** Adds up the nodes of a tree, depth first; ~id: the node is left. @param {PathNode[]} nodes */
	addTree(nodes) {
		const todo = nodes[0].children.slice();
		while (todo.length) {
			const id = /** @type {number} */ (todo.pop()), n = nodes[id < 0 ? ~id : id], open = this.open.get(n.label) ?? 0;
			this.open.set(n.label, id < 0 ? open - 1 : open + 1);
			if (id < 0) continue;
			this.add(n, !open);
			todo.push(~id);
			for (const c of n.children) todo.push(c);
		}
	}
}

/** The tracks of a range, each once. @param {Store} s @param {Range} range */
function tracksOf(s, range) {
	return [...(range.tracks ? new Set(range.tracks) : s.ofTrack.keys())].sort((a, b) => a - b);
}

/**
 * Sums call by call: for lanes that are out of order, what is no function, and stacks of samples. The labels of the sums are those of nodes.
 * @param {Store} s @param {Range} range @param {number[]} heads @param {Map<number, number>} parents the track above each one
 * @param {(track: number) => number} [key] by thread or process: whose calls those of a track are
 * @returns {import("./types.js").Sum[]}
 */
export function sumsByPath(s, range, heads, parents, key) {
	const tree = new Tree(s, range, heads, parents), totals = new Totals();
	tree.summing = true;
	for (const track of tracksOf(s, range)) {
		tree.key = key ? key(track) : 0;
		tree.walkTrack(track);
		totals.addTree(tree.nodes);
		tree.clear();
	}
	for (const [label, n] of tree.ends) totals.total(label).unfinished += n;
	return [...totals.of].sort((a, b) => a[0] - b[0]).map(([label, k]) => ({ label, calls: k.calls, total: k.total, self: k.self,
		avg: k.calls > k.open ? over(minus(k.sum, k.openSum), minus(k.calls, k.open)) : k.calls ? over(k.sum, k.calls) : k.sum ? null : 0,
		...(k.calls > k.sampled || !(k.calls || k.sum) ? { min: k.least, max: k.most } : { min: null, max: null }), unfinished: k.unfinished }));
}

/**
 * Sums by thread, or by process: by the number of a track.
 * @param {Store} s @param {Range} range @param {number[]} heads @param {Map<number, number>} parents
 * @param {(track: number) => number} of the track that the calls of a track are those of
 * @returns {import("./types.js").Sum[]}
 */
export function sumsByTrack(s, range, heads, parents, of) {
	return sumsByPath(s, range, heads, parents, (track) => of(track) + 1).filter((k) => k.label).map((k) => ({ ...k, label: -1, track: k.label - 1 }));
}

/** @param {Store} s @param {Range} range @param {number[]} heads @param {Map<number, number>} parents @returns {import("./types.js").FlameNode} */
export function flame(s, range, heads, parents) {
	const tree = new Tree(s, range, heads, parents), { nodes } = tree;
	for (const track of tracksOf(s, range)) tree.walkTrack(track);
	const least = nodes.length <= SHOWN ? 0 : plus(nodes.map((n) => n.total).sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))[SHOWN], 1);
	const shown = nodes.map((n) => ({ label: n.label, calls: n.calls, total: n.total, self: n.self,
		children: /** @type {import("./types.js").FlameNode[]} */ ([]) }));
	nodes.forEach((n, id) => {
		let calls = /** @type {Whole} */ (0), total = /** @type {Ns} */ (0);
		for (const c of n.children) {
			if (nodes[c].total >= least) {
				shown[id].children.push(shown[c]);
			} else {
				calls = plus(calls, nodes[c].calls);
				total = plus(total, nodes[c].total);
			}
		}
		if (calls || total) shown[id].children.push({ label: -2, calls, total, self: 0, children: [] });
	});
	return shown[0];
}
