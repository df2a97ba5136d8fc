/**
 * A store (docs/formats/store.md) in memory: its lanes, blocks and items, for a page that has no
 * server. What each function does is what the one of the same name does in src/store.
 *
 * Times are ns after the page's zero, as numbers; ids and values of counters are 64 bits wide.
 */

import { C, readColumns, values, wide } from "./block.js";

/** @typedef {import("./block.js").Column} Column */

/** Marks of an item. */
export const SPAN = 1, OPEN = 2, NO_END = 4, LAST = 16;
/** Kinds of rows (enum spur_kind). */
export const BEGIN = 0, END = 1, KIND_SPAN = 2, FLOW_BEGIN = 8, FLOW_STEP = 9, FLOW_END = 10, SWITCH = 12;
/** Flags of rows: the depth is the recorded one; a SWITCH whose thread gets a CPU, or was preempted. */
export const DEPTH = 1, IN = 16, PREEMPTED = 32;
export const FAN = 16;
/** Kinds of lanes: spans, counters of integers (of doubles: 3), states of a thread. */
export const SPANS = 0, I64 = 1, U64 = 2, STATES = 4;

const VERSION = 6, ORDER = 0x01020304, LABEL_IDS = 1;
const SECTIONS = 128, NODES = 0, LANES = 1, LABELS = 2;
/**
 * @typedef {object} LaneInfo The nodes of its `nblocks` blocks stand from `first` on.
 * @property {number} kind
 * @property {number} track
 * @property {number} depth
 * @property {number} feed
 * @property {number} items
 * @property {number} first
 * @property {number} nblocks
 *
 * @typedef {object} Block
 * @property {number} node
 * @property {number} n
 * @property {number} number of its first item
 * @property {(Column | null)[]} columns
 * @property {boolean} labelIds
 * @property {Float64Array} start
 * @property {Float64Array} end
 * @property {Float64Array} label
 * @property {Float64Array} marks with the kind below
 * @property {Float64Array} nargs
 *
 * @typedef {object} Item
 * @property {number} lane
 * @property {number} number
 * @property {number} start
 * @property {number} dur
 * @property {number} label
 * @property {number} kind
 * @property {number} marks
 * @property {Block} block
 * @property {number} i its place in the block
 */

export class Store {
	/** @param {ArrayBuffer} buffer @param {number} offset where the store begins @param {bigint} zero */
	constructor(buffer, offset, zero) {
		this.view = new DataView(buffer, offset);
		this.zero = zero;
		if (this.view.getUint32(8, true) !== ORDER || this.view.getUint32(12, true) !== VERSION) {
			throw new Error("the data of this page is of another version than its program");
		}
		/** When the last span or event ends, and enum store_fact. */
		this.last = this.time(64);
		this.facts = this.view.getUint32(72, true);
		const [labels, size] = this.section(LABELS);
		this.labels = labels;
		this.nlabels = size / 56;
		/** @type {Map<number, Block>} */
		this.blocks = new Map();
		const [at, nodes] = this.section(NODES), n = nodes / 64, { view } = this;
		this.nodes = at;
		this.start = new Float64Array(n);
		this.end = new Float64Array(n);
		this.bestDur = new Float64Array(n);
		this.number = new Float64Array(n);
		this.best = new Uint32Array(n);
		this.offCpu = new Uint32Array(n);
		this.count = new Uint16Array(n);
		for (let i = 0, o = at; i < n; i++, o += 64) {
			this.start[i] = this.time(o);
			this.end[i] = this.time(o + 8);
			this.bestDur[i] = this.u64(o + 32);
			this.best[i] = view.getUint32(o + 40, true);
			this.offCpu[i] = view.getUint32(o + 44, true);
			this.number[i] = this.u64(o + 48);
			this.count[i] = view.getUint16(o + 56, true);
		}
		/** @type {LaneInfo[]} */
		this.lanes = [];
		/** The span lanes of each track, by depth. @type {Map<number, number[]>} */
		this.ofTrack = new Map();
		/** The lane of each track's states. @type {Map<number, number>} */
		this.states = new Map();
		/** The lanes of each counter, by the first one. @type {Map<number, number[]>} */
		this.series = new Map();
		/** The first lane of each counter. @type {Map<string, number>} */
		this.keys = new Map();
		this.readLanes(...this.section(LANES));
	}

	/** @param {number} o */
	u64(o) { return Number(this.view.getBigUint64(o, true)); }

	/** @param {number} o */
	time(o) { return Number(this.view.getBigInt64(o, true) - this.zero); }

	/** Where a section begins, and its size. @param {number} id @returns {[number, number]} */
	section(id) { return [this.u64(SECTIONS + 24 * id), this.u64(SECTIONS + 24 * id + 8)]; }

	/** @param {number} at @param {number} bytes */
	readLanes(at, bytes) {
		for (let o = at; o < at + bytes; o += 64) {
			const { view } = this, kind = view.getUint32(o, true), track = view.getUint32(o + 4, true), depth = view.getUint32(o + 8, true);
			let lanes = this.ofTrack.get(track);
			if (kind === SPANS && !lanes) this.ofTrack.set(track, lanes = []);
			if (kind === SPANS && lanes) lanes[depth] = this.lanes.length;
			if (kind === STATES) this.states.set(track, this.lanes.length);
			if (kind !== SPANS && kind !== STATES) this.addCounter(this.lanes.length,
				[track, view.getUint32(o + 12, true), view.getUint32(o + 16, true), view.getBigUint64(o + 24, true)].join());
			this.lanes.push({ kind, track, depth, feed: view.getUint32(o + 20, true), items: this.u64(o + 32), first: this.u64(o + 48), nblocks: this.u64(o + 56) });
		}
	}

	/** A counter has a lane for each type of number that its samples have. @param {number} lane @param {string} key what names the counter */
	addCounter(lane, key) {
		const first = this.keys.get(key) ?? lane;
		this.keys.set(key, first);
		this.series.set(first, [...(this.series.get(first) ?? []), lane]);
	}

	/** The lane of a track at a depth; -1 if the track has no such lane. @param {number} track @param {number} depth */
	laneAt(track, depth) {
		return this.ofTrack.get(track)?.[depth] ?? -1;
	}

	/** The nodes of a level of a lane: the first one, and how many. @param {number} lane @param {number} level */
	level(lane, level) {
		let { first, nblocks: count } = this.lanes[lane];
		for (let k = 0; k < level; k++) {
			first += count;
			count = Math.floor(count / FAN);
		}
		return { first, count };
	}

	/** @param {number} node @returns {Block} */
	block(node) {
		const b = this.blocks.get(node) ?? this.readBlock(node);
		this.blocks.set(node, b);
		return b;
	}

	/** SPEC store/block @param {number} node @returns {Block} */
	readBlock(node) {
		const { view } = this, at = this.u64(this.nodes + 64 * node + 16), n = this.count[node];
		const columns = readColumns(view, at, n, Math.ceil(n / FAN)), first = this.start[node];
		const start = values(view, columns[C.START], n), end = values(view, columns[C.DUR], n);
		for (let i = 0; i < n; i++) {
			start[i] += first;
			end[i] += start[i];
		}
		return { node, n, number: this.number[node], columns, labelIds: (view.getUint16(at + 6, true) & LABEL_IDS) !== 0,
			start, end, label: values(view, columns[C.LABEL], n), marks: values(view, columns[C.MARKS], n),
			nargs: values(view, columns[C.NARGS], n) };
	}

	/** Of a block of more than 16 items: what each 16 of them have in common. @param {Block} b */
	level1(b) {
		const n = Math.ceil(b.n / FAN), first = this.start[b.node];
		const start = values(this.view, b.columns[C.N_START], n), end = values(this.view, b.columns[C.N_END], n);
		return { start: start.map((t) => t + first), end: end.map((t) => t + first),
			label: values(this.view, b.columns[C.N_LABEL], n), dur: values(this.view, b.columns[C.N_DUR], n) };
	}

	/** The value of a counter, as its bits. @param {Block} b @param {number} i */
	value(b, i) { return wide(this.view, b.columns[C.VALUE], i); }

	/** Where the row that begins an item is: its stream, and its place in it. @param {Item} item @returns {[number, number]} */
	at(item) {
		const [stream, off] = [C.STREAM, C.OFF].map((c) => Number(wide(this.view, item.block.columns[c], item.i)));
		return [stream, off];
	}

	/** The flags of the row that begins an item. @param {Item} item */
	flags(item) { return Number(wide(this.view, item.block.columns[C.FLAGS], item.i)); }

	/** The CPU of an item, 65535: not known. @param {Item} item */
	cpu(item) { return Number(wide(this.view, item.block.columns[C.CPU], item.i)); }

	/** SPEC store/ties: how many items of its track end at its start before it begins. @param {Item} item */
	ties(item) { return Number(wide(this.view, item.block.columns[C.TIES], item.i)); }

	/** The label of the row that ends it. @param {Item} item */
	endLabel({ block: { columns }, i, label }) { return Number(BigInt.asUintN(32, wide(this.view, columns[C.END_LABEL], i) + BigInt(label))); }

	/** SPEC store/sparse: ns of each item without those inside it; how many of its head are around it. @param {Block} b */
	sumColumns(b) {
		const outer = values(this.view, b.columns[C.OUTER], b.n), inner = values(this.view, b.columns[C.INNER], b.n);
		const own = values(this.view, b.columns[C.SELF], outer.reduce((n, o) => n + o, 0));
		let next = 0;
		return { inner, self: outer.map((o, i) => (o ? own[next++] : b.end[i] - b.start[i])) };
	}

	/** Where that row's record is. @param {Item} item @param {string[]} streams their paths */
	place({ block: { columns }, i }, streams) {
		return `${streams[Number(wide(this.view, columns[C.STREAM], i))]}:0x${wide(this.view, columns[C.OFF], i).toString(16)}`;
	}

	/** SPEC store/label-ids @param {Item} item @returns {bigint} */
	id(item) {
		if (!item.block.labelIds) return wide(this.view, item.block.columns[C.ID], item.i);
		return item.label < this.nlabels ? this.view.getBigUint64(this.labels + 56 * item.label + 40, true) : 0n;
	}

	/** @param {number} lane @param {number} number @returns {Item | null} null: there is no such item */
	item(lane, number) {
		const l = this.lanes[lane];
		if (!l || number < 0 || number >= l.items) return null;
		let low = l.first, high = l.first + l.nblocks;
		while (low < high) {
			const m = (low + high) >> 1;
			if (this.number[m] + this.count[m] <= number) low = m + 1; else high = m;
		}
		const block = this.block(low);
		return this.itemOf(lane, block, number - block.number);
	}

	/** @param {number} lane @param {Block} block @param {number} i @returns {Item} */
	itemOf(lane, block, i) {
		return { lane, number: block.number + i, start: block.start[i], dur: block.end[i] - block.start[i], label: block.label[i],
			kind: block.marks[i] & 31, marks: block.marks[i] >> 5, block, i };
	}

	/** The first block of a lane that begins at `t` or later, as its place in the lane. @param {number} lane @param {number} t */
	blockFrom(lane, t) {
		const { first, nblocks } = this.lanes[lane];
		let low = 0, high = nblocks;
		while (low < high) {
			const m = (low + high) >> 1;
			if (this.start[first + m] < t) low = m + 1; else high = m;
		}
		return low;
	}

	/** The first item that ends after `t` or begins at `t` or later. @param {number} lane @param {number} t */
	seek(lane, t) {
		const l = this.lanes[lane];
		let at = this.blockFrom(lane, t), found = at < l.nblocks ? this.number[l.first + at] : l.items;
		while (at--) {
			const node = l.first + at;
			let i = this.count[node];
			/* What begins and ends at `t` counts: a block that ends there may have it. */
			if (this.end[node] < t && found === this.number[node] + i) return found;
			const b = this.block(node);
			while (i && (b.start[i - 1] >= t || b.end[i - 1] > t)) found = b.number + --i;
			if (i) return found;
		}
		return found;
	}

	/** The item in the lane above in which an item lies, or null. @param {Item} item @returns {Item | null} */
	parent(item) {
		const { track, depth } = this.lanes[item.lane], above = depth ? this.laneAt(track, depth - 1) : -1;
		if (above < 0) return null;
		const begun = (/** @type {Item} */ up) => up.marks & SPAN && (up.start < item.start || this.ties(up) <= this.ties(item));
		let i = this.seek(above, item.start), up = this.item(above, i);
		for (; up && up.start <= item.start; up = this.item(above, ++i)) {
			if (begun(up) && up.start + up.dur > item.start) return up;
		}
		while (i--) {
			up = this.item(above, i);
			if (!up || up.start + up.dur < item.start) break;
			if (begun(up)) return up;
		}
		return null;
	}

	/** Its duration without that of its children. @param {Item} item */
	self(item) {
		if (!(item.marks & SPAN)) return 0;
		const { track, depth } = this.lanes[item.lane], below = this.laneAt(track, depth + 1), end = item.start + item.dur;
		let self = item.dur;
		if (below < 0) return self;
		for (let i = this.seek(below, item.start), c; self > 0 && (c = this.item(below, i)) && c.start < end; i++) {
			if (c.marks & SPAN && c.start >= item.start) self -= Math.min(c.dur, end - c.start);
		}
		return Math.max(0, self);
	}
}
