/** Whether expressions hold for items of a store in the page, as src/flow/where_eval.c tells of rows. */

import { bytesOf } from "./query.js";
import { BEGIN, END, IN, KIND_SPAN, SWITCH } from "./store.js";
import { isOff } from "./why.js";

/** @typedef {import("./where.js").Leaf} Leaf */
/** @typedef {import("./where.js").Node} Node */
/** @typedef {import("./store.js").Item} Item */
/** @typedef {import("./types.js").Track} Track */

const SAMPLE = 14, LOST = 17, NO_CPU = 65535, DEPTH = 64;

/**
 * A value of an argument (src/view/typed.h).
 * @typedef {null | string | {n: string, l?: string} | {f: number | string, s: number} | {b: string | null} | {m: [string, Value][]} | {a: Value[]}} Value
 * @typedef {{key: string, value: Value, end: boolean}} Arg
 */

/** @param {string} op @param {number} order */
function ordered(op, order) {
	switch (op) {
	case "==": return order === 0;
	case "!=": return order !== 0;
	case "<": return order < 0;
	case "<=": return order <= 0;
	case ">": return order > 0;
	default: return op === ">=" && order >= 0;
	}
}

/** NaN differs from everything. @param {Leaf} l @param {bigint | number} v @param {bigint | number} c */
function numbers(l, v, c) {
	if (Number.isNaN(v) || Number.isNaN(c)) return l.op === "!=";
	return ordered(l.op, v < c ? -1 : v > c ? 1 : 0);
}

/** @param {Leaf} l @param {bigint} v */
function numberHolds(l, v) {
	if (typeof l.value === "bigint" || typeof l.value === "number") return numbers(l, v, l.value);
	return l.value === null && l.op === "!=";
}

/** @param {Leaf} l @param {number} v @param {number} size of the float: one of 32 bits is compared with what is rounded as it is */
function realHolds(l, v, size) {
	const { value } = l;
	if (typeof value === "bigint" || typeof value === "number") return numbers(l, v, size === 4 ? Math.fround(Number(value)) : value);
	return value === null && l.op === "!=";
}

/** @param {Leaf} l @param {string} v its bytes */
function textHolds(l, v) {
	const { value } = l;
	if (value instanceof RegExp) return value.test(v.replace(/\0[^]*$/, ""));
	if (typeof value === "string") return ordered(l.op, v < value ? -1 : v > value ? 1 : 0);
	return value === null && l.op === "!=";
}

/** @param {Leaf} l @param {Value} v */
function scalarHolds(l, v) {
	if (v === null) return l.value === null && l.op === "==";
	if (typeof v === "string") return textHolds(l, bytesOf(v));
	if ("b" in v) return v.b !== null && textHolds(l, v.b);
	if ("f" in v) return realHolds(l, Number(v.f), v.s);
	if (!("n" in v)) return false;
	const text = typeof l.value === "string" || l.value instanceof RegExp;
	return text ? v.l !== undefined && textHolds(l, bytesOf(v.l)) : numberHolds(l, BigInt(v.n));
}

/** The number of an array's item that a step is, or -1. @param {string | undefined} step */
function index(step) {
	return step !== undefined && /^\d+$/.test(step) && Number(step) < 2 ** 32 - 1 ? Number(step) : -1;
}

/** Whether one of the values that the steps from `at` on lead to holds. @param {Leaf} l @param {number} at @param {Value} v @param {number} depth @returns {boolean} */
function valueHolds(l, at, v, depth) {
	const step = l.path[at];
	if (depth > DEPTH) return false;
	if (v !== null && typeof v === "object" && "m" in v && step !== undefined) {
		return v.m.some(([name, x], i) => (name ? bytesOf(name) === step : step === `arg${i + 1}`) && valueHolds(l, at + 1, x, depth + 1));
	}
	if (v !== null && typeof v === "object" && "a" in v) {
		const i = index(step);
		return i >= 0 ? i < v.a.length && valueHolds(l, at + 1, v.a[i], depth + 1) : v.a.some((x) => valueHolds(l, at, x, depth + 1));
	}
	return step === undefined && scalarHolds(l, v);
}

/** Several arguments of one name are an array. @param {Leaf} l @param {Arg[]} args */
function argsHold(l, args) {
	const i = index(l.path[1]), same = args.filter((a) => bytesOf(a.key) === l.path[0]);
	if (i >= 0 && same.length > 1) return i < same.length && valueHolds(l, 2, same[i].value, 0);
	return same.some((a) => valueHolds(l, 1, a.value, 0));
}

export class Holds {
	/**
	 * @param {Node} root
	 * @param {{s: import("./store.js").Store, labels: import("./types.js").Label[], tracks: Track[],
	 *         marks: import("./types.js").Mark[], stacks: boolean, zero: bigint, args: (i: Item) => Arg[]}} of
	 */
	constructor(root, of) {
		this.root = root;
		this.of = of;
		this.tracks = new Map(of.tracks.map((t) => [t.id, t]));
		/** What labels say, by comparison. @type {Map<Leaf, Map<number, boolean>>} */
		this.known = new Map();
	}

	/** @param {Item} i */
	holds(i) {
		return i.kind !== END && !(i.kind === SWITCH && this.of.s.flags(i) & IN) && this.node(this.root, i);
	}

	/** @param {Node} n @param {Item} i @returns {boolean} */
	node(n, i) {
		if ("leaf" in n) return this.leaf(n.leaf, i);
		if ("not" in n) return !this.node(n.not, i);
		return "and" in n ? this.node(n.and[0], i) && this.node(n.and[1], i) : this.node(n.or[0], i) || this.node(n.or[1], i);
	}

	/** @param {Leaf} l @param {Item} i @returns {boolean} */
	leaf(l, i) {
		const { s, zero } = this.of, { track } = s.lanes[i.lane];
		switch (l.field) {
		case "ts": return numberHolds(l, BigInt(i.start) + zero);
		case "dur": return this.durHolds(l, i);
		case "cpu": return s.cpu(i) !== NO_CPU && numberHolds(l, BigInt(s.cpu(i)));
		case "depth": return numberHolds(l, BigInt(this.depth(i)));
		case "kind": return /** @type {Set<number>} */ (l.value).has(i.kind) === (l.op !== "!=");
		case "pid": case "tid": return this.idHolds(l, this.tracks.get(track)?.[l.field] ?? "");
		case "thread": return this.threadHolds(l, track);
		case "arg": {
			const args = this.of.args(i);
			/* What ends time off the CPU is an event of its own. */
			return argsHold(l, args.filter((a) => !a.end)) || (!isOff(i) && argsHold(l, args.filter((a) => a.end)));
		}
		default: return this.labelHolds(l, i.label);
		}
	}

	/** How many calls are open around an item: time off the CPU is none. @param {Item} i */
	depth(i) {
		const { s } = this.of, { depth } = s.lanes[i.lane], up = depth ? s.parent(i) : null;
		return up && isOff(up) ? depth - 1 : depth;
	}

	/** @param {Leaf} l @param {Item} i */
	durHolds(l, i) {
		const { s, marks, stacks } = this.of, { track } = s.lanes[i.lane];
		if (i.kind === BEGIN || i.kind === KIND_SPAN) return numberHolds(l, BigInt(i.dur));
		if (i.kind === SAMPLE && stacks) throw new Error("expected a field other than dur: a page does not keep the durations of samples");
		const mark = i.kind === LOST && marks.find((m) => m.kind === "lost" && m.ts === i.start && m.track === track);
		return Boolean(mark && mark.dur > 0 && numberHolds(l, BigInt(mark.dur)));
	}

	/** @param {Leaf} l @param {string} id */
	idHolds(l, id) {
		return id !== "" && numberHolds(l, BigInt.asUintN(64, BigInt(id)));
	}

	/** @param {Leaf} l @param {number} track */
	threadHolds(l, track) {
		let t = this.tracks.get(track);
		for (let n = 0; t && t.kind !== "thread" && n < 64; n++) t = this.tracks.get(t.parent);
		return t?.kind === "thread" && textHolds(l, bytesOf(t.name));
	}

	/** @param {Leaf} l @param {number} label */
	labelHolds(l, label) {
		let known = this.known.get(l);
		if (!known) this.known.set(l, known = new Map());
		let holds = known.get(label);
		if (holds === undefined) known.set(label, holds = this.labelTest(l, label));
		return holds;
	}

	/** @param {Leaf} l @param {number} label */
	labelTest(l, label) {
		const { name, category, module } = this.of.labels[label];
		if (l.field !== "module") return textHolds(l, bytesOf(l.field === "name" ? name : category));
		const path = bytesOf(module), last = /\/([^/]*)$/.exec(path)?.[1];
		if (!path) return false;
		if (l.op === "!=") return path !== l.value && last !== l.value;
		return textHolds(l, path) || (l.op === "==" && last === l.value);
	}
}
