/** Stacks of SAMPLE rows of a store in the page: calls that others made and added up. */

import { plus } from "./time.js";

/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./sums.js").Tree} Tree */
/** @typedef {import("./types.js").Ns} Ns */
/** @typedef {import("./types.js").Whole} Whole */

const STACKS = 11, FRAMES = 12, STACK = 40;

/**
 * @typedef {object} Stack
 * @property {number} ts
 * @property {Ns} self of its leaf
 * @property {Whole} calls of its leaf
 * @property {number[]} labels from the root to the leaf
 */

/** The stacks of a track, in the order of times. @param {Store} s @param {number} track @returns {Generator<Stack>} */
function* stacksOf(s, track) {
	const { view } = s, [at, bytes] = s.section(STACKS), [frames] = s.section(FRAMES), n = bytes / STACK;
	const trackOf = (/** @type {number} */ i) => view.getUint32(at + STACK * i + 36, true);
	let low = 0, high = n;
	while (low < high) {
		const m = (low + high) >> 1;
		if (trackOf(m) < track) low = m + 1; else high = m;
	}
	for (let i = low; i < n && trackOf(i) === track; i++) {
		const o = at + STACK * i, first = frames + 4 * s.u64(o + 24);
		yield { ts: s.time(o), self: plus(0, view.getBigUint64(o + 8, true)), calls: plus(0, view.getBigUint64(o + 16, true)),
			labels: Array.from({ length: view.getUint32(o + 32, true) }, (_, k) => view.getUint32(first + 4 * k, true)) };
	}
}

/** Adds the stacks of a track's samples to a tree of calls, as add_stacks() of src/view/flame.c does. @param {Tree} tree @param {number} track */
export function addStacks(tree, track) {
	const { nodes, key, range: { from, to } } = tree;
	for (const k of stacksOf(tree.s, track)) {
		if (k.ts < from || k.ts >= to) continue;
		let node = 0;
		for (const label of key ? k.labels.slice(-1) : k.labels) {
			node = tree.child(node, tree.head(label));
			nodes[node].total = plus(nodes[node].total, k.self);
		}
		nodes[0].total = plus(nodes[0].total, k.self);
		nodes[node].self = plus(nodes[node].self, k.self);
		nodes[node].calls = plus(nodes[node].calls, k.calls);
		nodes[node].sampled = plus(nodes[node].sampled, k.calls);
	}
}
