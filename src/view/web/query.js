/** Finding items of a store in the page, as src/store/find.c and src/view/find.c do. */

import { KIND_SPAN, OPEN, SPAN, SPANS, SWITCH } from "./store.js";

/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./types.js").Label} Label */

/**
 * @typedef {object} Query What an item must be.
 * @property {Uint8Array | null} labels 1 for each label that is wanted; null: all
 * @property {boolean} [off] true: only time off the CPU; false: no time off the CPU
 * @property {number} least ns that it lasts at least; 0: events too
 * @property {boolean} [ended] its end is in the data before `to`; that of a complete span, anywhere
 * @property {number[] | null} lanes null: all
 * @property {number} from it begins from `from` to before `to`
 * @property {number} to
 *
 * @typedef {{lane: number, number: number, start: number, dur: number}} Place
 */

/**
 * Calls `take` with the wanted items of a lane, in their order, or backwards, until it returns true.
 * @param {Store} s @param {Query} q @param {number} lane @param {boolean} back
 * @param {(p: Place, marks: number) => boolean | void} take
 */
function overLane(s, q, lane, back, take) {
	const l = s.lanes[lane];
	if (l.kind !== SPANS) return;
	const first = Math.max(0, s.blockFrom(lane, q.from) - 1);
	let last = l.nblocks;
	if (q.to !== Infinity) last = s.blockFrom(lane, q.to);
	for (let k = 0; k < last - first; k++) {
		const node = l.first + (back ? last - 1 - k : first + k);
		if (q.least > 0 && s.bestDur[node] < q.least) continue;
		const b = s.block(node);
		for (let j = 0; j < b.n; j++) {
			const i = back ? b.n - 1 - j : j, start = b.start[i], dur = b.end[i] - start, marks = b.marks[i] >> 5;
			if (start < q.from || start >= q.to || (q.labels && !q.labels[b.label[i]])) continue;
			if (q.least > 0 && (!(marks & SPAN) || dur < q.least)) continue;
			if (q.ended && (!(marks & SPAN) || marks & OPEN || ((b.marks[i] & 31) !== KIND_SPAN && b.end[i] >= q.to))) continue;
			if (q.off !== undefined && q.off !== (Boolean(marks & SPAN) && (b.marks[i] & 31) === SWITCH)) continue;
			if (take({ lane, number: b.number + i, start, dur }, marks)) return;
		}
	}
}

/** @param {Store} s @param {Query} q */
function lanesOf(s, q) {
	return q.lanes ?? s.lanes.keys();
}

/** @param {Place} a @param {Place} b */
function precedes(a, b) {
	if (a.start !== b.start) return a.start < b.start;
	return a.lane !== b.lane ? a.lane < b.lane : a.number < b.number;
}

/**
 * How many items there are, and the first one in each of 1,024 parts of the trace.
 * @param {Store} s @param {Query} q @param {number} length of the trace
 */
export function countAndMark(s, q, length) {
	const parts = 1024, step = Math.floor(Math.max(1, length) / parts) + 1, first = new Float64Array(parts).fill(NaN);
	let total = 0;
	for (const lane of lanesOf(s, q)) {
		overLane(s, q, lane, false, (p) => {
			const part = Math.max(0, Math.min(parts - 1, Math.floor(p.start / step)));
			total++;
			if (!(first[part] <= p.start)) first[part] = p.start;
		});
	}
	return { total, marks: [...first].filter((t) => !Number.isNaN(t)) };
}

/**
 * The first item by start, lane and number behind `after` (null: of all); with `back` the last one
 * before it. Null: none is left.
 * @param {Store} s @param {Query} q @param {Place | null} after @param {boolean} back
 */
export function next(s, q, after, back) {
	const near = { ...q };
	let best = /** @type {Place | null} */ (null);
	if (after && !back) near.from = Math.max(near.from, after.start);
	if (after && back) near.to = Math.min(near.to, after.start + 1);
	for (const lane of lanesOf(s, q)) {
		if (best && !back) near.to = best.start + 1;
		if (best && back) near.from = best.start;
		overLane(s, near, lane, back, (p) => {
			if (after && !(back ? precedes(p, after) : precedes(after, p))) return false;
			if (!best || (back ? precedes(best, p) : precedes(p, best))) best = p;
			return true;
		});
	}
	return best;
}

/**
 * All items that pass a test, by start, lane and number.
 * @param {Store} s @param {(i: import("./store.js").Item) => boolean} test @returns {Place[]}
 */
export function allThat(s, test) {
	/** @type {Place[]} */
	const out = [];
	s.lanes.forEach(({ kind, first, nblocks }, lane) => {
		for (let node = first; kind === SPANS && node < first + nblocks; node++) {
			const b = s.block(node);
			for (let k = 0; k < b.n; k++) {
				const i = s.itemOf(lane, b, k);
				if (test(i)) out.push({ lane, number: i.number, start: i.start, dur: i.dur });
			}
		}
	});
	return out.sort((a, b) => a.start - b.start || a.lane - b.lane || a.number - b.number);
}

/**
 * Of places in order the first one behind `after`, or the last one before it; behind the last one comes the first one again.
 * @param {Place[]} places @param {Place | null} after @param {boolean} back @param {(p: Place) => boolean} is whether it has the record of `after`
 */
export function nextOf(places, after, back, is) {
	let low = 0, high = places.length;
	while (after && low < high) {
		const m = (low + high) >> 1;
		if (places[m].start < after.start) low = m + 1; else high = m;
	}
	const last = places.length - 1;
	let same = low;
	while (after && places[same]?.start === after.start && !is(places[same])) same++;
	if (after && places[same]?.start === after.start) low = same + (back ? 0 : 1);
	const at = !after ? (back ? last : 0) : back ? low - 1 : low;
	return places[at < 0 ? last : at > last ? 0 : at] ?? null;
}

/**
 * The longest spans, the longest first; of those of equal duration the first by start, lane and number.
 * @param {Store} s @param {Query} query @param {number} most
 */
export function longest(s, query, most) {
	const q = { ...query };
	/** @type {Place[]} */
	let kept = [];
	const cut = () => {
		kept.sort((a, b) => (a.dur !== b.dur ? b.dur - a.dur : precedes(a, b) ? -1 : 1));
		kept = kept.slice(0, most);
		if (kept.length === most) q.least = Math.max(q.least, kept[most - 1].dur);
	};
	for (const lane of lanesOf(s, q)) {
		overLane(s, q, lane, false, (p, marks) => {
			if (!(marks & SPAN)) return;
			kept.push(p);
			if (kept.length >= 16 * most) cut();
		});
	}
	cut();
	return kept;
}

/**
 * The bytes of a text in UTF-8 as characters 0 to 255, as the server sees it. A lone surrogate stands for a byte that was no UTF-8.
 * @param {string} s
 */
export function bytesOf(s) {
	if (/^[\0-\x7f]*$/.test(s)) return s;
	return s.split(/([\udc80-\udcff])/u).map((p, i) => (i % 2 ? String.fromCharCode(p.charCodeAt(0) & 255)
		: Array.from(new TextEncoder().encode(p), (b) => String.fromCharCode(b)).join(""))).join("");
}

/** @param {string} s */
function lower(s) {
	return s.replace(/[A-Z]+/g, (c) => c.toLowerCase());
}

const CLASSES = { alpha: "a-zA-Z", digit: "0-9", alnum: "a-zA-Z0-9", upper: "A-Z", lower: "a-z", space: "\\t-\\r ", blank: " \\t",
	punct: "!-\\/:-@\\[-`{-~", print: " -~", graph: "!-~", cntrl: "\\0-\\x1f\\x7f", xdigit: "0-9a-fA-F" };
const ESCAPES = { "<": "\\b(?=\\w)", ">": "\\b(?<=\\w)", "`": "^", "'": "$" };

/** A bracket expression of POSIX, `[` at `at`, and where it ends. @param {string} s @param {number} at */
function bracket(s, at) {
	let out = "[", i = at + 1;
	if (s[i] === "^") {
		out += "^";
		i++;
	}
	for (let first = true; i < s.length && (s[i] !== "]" || first); first = false) {
		const named = /^\[:([a-z]+):\]/.exec(s.slice(i)), one = /^\[([.=])(.)\1\]/.exec(s.slice(i));
		if (named) {
			const known = CLASSES[/** @type {keyof typeof CLASSES} */ (named[1])];
			if (!known) throw new Error(`unknown class of characters [:${named[1]}:]`);
			out += known;
			i += named[0].length;
			continue;
		}
		const c = one ? one[2] : s[i];
		out += "\\[]^".includes(c) ? `\\${c}` : c;
		i += one ? one[0].length : 1;
	}
	if (i >= s.length) throw new Error("a bracket [ has no end");
	return { text: `${out}]`, end: i + 1 };
}

/**
 * The expression of ECMAScript that a POSIX extended one with GNU's additions is.
 * @param {string} s
 */
export function posix(s) {
	let out = "", atom = -1, repeated = false;
	/** @type {number[]} */
	const groups = [];
	for (let i = 0; i < s.length;) {
		const c = s[i], times = /^([*+?]|\{\d*,?\d*\})/.exec(s.slice(i));
		if (times && times[0] !== "{}" && times[0] !== "{,}" && atom >= 0) {
			/* What is repeated may be repeated again; ECMAScript would read `a+?` in another way. */
			if (repeated) out = `${out.slice(0, atom)}(?:${out.slice(atom)})`;
			out += times[0].replace("{,", "{0,");
			repeated = true;
			i += times[0].length;
			continue;
		}
		let text = c, used = 1, start = out.length;
		if (c === "\\") {
			const e = s[i + 1];
			if (e === undefined) throw new Error("a backslash at the end");
			text = ESCAPES[/** @type {keyof typeof ESCAPES} */ (e)] ?? (/[wWsSbB1-9]/.test(e) ? `\\${e}` : /\w/.test(e) ? e : `\\${e}`);
			used = 2;
		} else if (c === "[") {
			const b = bracket(s, i);
			text = b.text;
			used = b.end - i;
		} else if (c === "(") {
			groups.push(start);
		} else if (c === ")" && groups.length) {
			start = groups.pop() ?? start;
		} else if ("{}])*+?/".includes(c)) {
			text = `\\${c}`;
		}
		out += text;
		atom = c === "(" || c === "|" || c === "^" ? -1 : start;
		repeated = false;
		i += used;
	}
	return new RegExp(out, "s");
}

/** `dur>TIME` and `dur>=TIME`: the least duration in ns, or -1. @param {string} query */
export function leastDuration(query) {
	const m = /^\s*dur\s*>(=?)\s*(\d+)(?:\.(\d+))?(ns|us|ms|s|m|h|)\s*$/.exec(query);
	if (!m) return -1;
	const unit = { ns: 1n, us: 1000n, ms: 1000000n, s: 1000000000n, m: 60000000000n, h: 3600000000000n, "": 0n }[m[4]] ?? 0n;
	const fraction = BigInt((m[3] ?? "").slice(0, 18).padEnd(18, "0"));
	if (!unit && (BigInt(m[2]) || fraction)) return -1;
	const ns = Number(BigInt(m[2]) * unit + (fraction * unit) / 10n ** 18n);
	return m[1] ? ns : ns + 1;
}

/** Whether a query is an expression of --where. @param {string} query */
export function isExpression(query) {
	return /[=<>]/.test(query) && /^\s*(!|\(|(ts|dur|name|cat|pid|tid|cpu|depth|kind|thread|module|arg)([ .=<>!]|$))/.test(query);
}

/** Whether names match a text, or /REGEX/; throws if that is wrong. @param {string} query @returns {(name: string) => boolean} */
function nameMatch(query) {
	const bytes = bytesOf(query);
	if (bytes.length >= 3 && bytes.startsWith("/") && bytes.endsWith("/")) {
		const re = posix(bytes.slice(1, -1));
		/* As in C, a name ends at a NUL here. */
		return (name) => re.test(bytesOf(name).replace(/\0[^]*$/, ""));
	}
	const want = lower(bytes);
	return (name) => lower(bytesOf(name)).includes(want);
}

/** Whether names match what is to be found; null: it is not about names alone. @param {string} query @returns {((label: Label) => boolean) | null} */
export function nameTest(query) {
	if (!query || leastDuration(query) >= 0 || isExpression(query)) return null;
	try {
		const test = nameMatch(query);
		return (l) => test(l.raw ?? l.name);
	} catch {
		return null;
	}
}

/**
 * The labels whose names match a text, or /REGEX/.
 * @param {string} query @param {Label[]} labels
 */
export function matching(query, labels) {
	const test = nameMatch(query);
	/* Label 0 is that of nothing. */
	return Uint8Array.from(labels, (l, i) => (i && test(l.name) ? 1 : 0));
}
