/** The page's own data as its source: a store, and what is known of its trace beside it. */

import { Holds } from "./holds.js";
import { critical } from "./path.js";
import { flame, sumsByPath, sumsByTrack } from "./pathsums.js";
import { allThat, countAndMark, isExpression, leastDuration, longest, matching, next, nextOf } from "./query.js";
import { readMeta } from "./remote.js";
import { FLOW_BEGIN, FLOW_END, FLOW_STEP, OPEN, SPAN, Store } from "./store.js";
import { OFF_CPU } from "./tiles.js";
import { sums } from "./totals.js";
import { counters } from "./values.js";
import { curve, tile } from "./walk.js";
import { parseWhere } from "./where.js";
import { isOff, Threads } from "./why.js";

/** @typedef {import("./store.js").Item} Item */
/** @typedef {import("./types.js").Range} Range */
/** @typedef {import("./types.js").SpanRef} SpanRef */

/** Items that are looked at for one of a given duration, in each direction. */
const SAME = 1000;
/** As the server has them. */
const PARENTS = 1000, CHILDREN = 100, CALLS = 100, ARROWS = 500, STEPS = 2000000;

/** Lines of text, of which some items have one. */
class Lines {
	/** @param {Uint8Array} has a bit for each item @param {Uint8Array} text */
	constructor(has, text) {
		this.has = has;
		this.text = text;
		/** How many lines are before each byte of `has`, and where each line begins. @type {Uint32Array | null} */
		this.before = null;
		this.begins = new Uint32Array(0);
	}

	/** @param {number} i @returns {string | null} null: the item has no line */
	line(i) {
		if (!(this.has[i >> 3] >> (i & 7) & 1)) return null;
		if (!this.before) this.before = this.index();
		let n = this.before[i >> 3];
		for (let k = i & ~7; k < i; k++) n += this.has[k >> 3] >> (k & 7) & 1;
		return new TextDecoder().decode(this.text.subarray(this.begins[n], this.begins[n + 1] - 1));
	}

	index() {
		const { has, text } = this, before = new Uint32Array(has.length);
		let n = 0;
		for (let b = 0; b < has.length; b++) {
			before[b] = n;
			for (let bits = has[b]; bits; bits &= bits - 1) n++;
		}
		this.begins = new Uint32Array(n + 1);
		for (let i = 0, at = 0; i < n; i++) {
			at = text.indexOf(10, at) + 1;
			this.begins[i + 1] = at;
		}
		return before;
	}
}

/** The data of a page. @param {string} text base64 @param {string} coding gzip, or else none @returns {Promise<ArrayBuffer>} */
export async function unpack(text, coding) {
	const chars = atob(text.trim()), bytes = new Uint8Array(chars.length);
	for (let i = 0; i < chars.length; i++) bytes[i] = chars.charCodeAt(i);
	if (coding !== "gzip") return bytes.buffer;
	if (!("DecompressionStream" in globalThis)) {
		throw new Error("This browser cannot unpack the page's data (it has no DecompressionStream). " +
			"Use a newer one, or write the page with --set compression=none.");
	}
	return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/**
 * What the page brings along: store, facts as JSON, bits and texts of arguments, bits and texts of
 * places, overview. Behind them stand their begins and ends, and their number.
 * @param {ArrayBuffer} data
 */
export function readParts(data) {
	const view = new DataView(data), n = view.getUint32(data.byteLength - 4, true), table = data.byteLength - 8 - 16 * n;
	const part = (/** @type {number} */ i) => {
		const from = Number(view.getBigUint64(table + 16 * i, true));
		return new Uint8Array(data, from, Number(view.getBigUint64(table + 16 * i + 8, true)) - from);
	};
	const json = JSON.parse(new TextDecoder().decode(part(1)));
	return { store: part(0), meta: { ...json.meta, base: json.base }, labels: json.labels, sources: json.sources, streams: json.streams, stacks: json.stacks,
		args: new Lines(part(2), part(3)), places: new Lines(part(4), part(5)), overview: part(6) };
}

/** @param {ArrayBuffer} data @returns {import("./types.js").Source} */
export function inside(data) {
	const { store: bytes, meta: raw, labels, sources, streams, stacks, args, places, overview } = readParts(data);
	const meta = readMeta(raw), zero = BigInt(meta.start), s = new Store(data, bytes.byteOffset, zero);
	/** The number of each lane's first item among all. @type {number[]} */
	const firsts = [];
	s.lanes.reduce((n, l, i) => { firsts[i] = n; return n + l.items; }, 0);
	const heads = labels.map((/** @type {{head: number}} */ l) => l.head);
	const modules = moduleHeads(labels);
	const threads = new Threads(s, meta.tracks, labels);
	const parents = new Map(meta.tracks.map((t) => [t.id, t.parent])), processes = new Set(meta.tracks.filter((t) => t.kind === "process").map((t) => t.id));
	/** The process that a track is of, or the track itself. @param {number} track */
	const processOf = (track) => {
		let up = track;
		for (let n = 0; up !== -1 && !processes.has(up) && n < 64; n++) up = parents.get(up) ?? -1;
		return processes.has(up) ? up : track;
	};
	const tids = new Map(meta.tracks.map((t) => [t.id, t.tid]));

	/** Time off the CPU has label 0. @param {Item} i */
	const labelOf = (i) => (isOff(i) ? 0 : i.label);
	/** @param {Item} i @returns {SpanRef} */
	const ref = (i) => ({ track: s.lanes[i.lane].track, depth: s.lanes[i.lane].depth, ts: i.start, dur: i.dur, label: labelOf(i), number: i.number });
	const refOf = (/** @type {import("./query.js").Place} */ p) => ref(/** @type {Item} */ (s.item(p.lane, p.number)));

	/**
	 * The item at a time, or the one nearest to it; of those that begin then `dur` chooses, and `own`, a number in the lane.
	 * @param {number} track @param {number} depth @param {number} time @param {number} [dur] @param {number} [own]
	 */
	const itemAt = (track, depth, time, dur, own) => {
		const lane = s.laneAt(track, depth), t = Math.round(time);
		if (lane < 0) throw new Error(`track ${track} has no spans at depth ${depth}`);
		const far = (/** @type {Item} */ i) => (t < i.start ? i.start - t : Math.max(0, t - i.start - i.dur));
		const exact = own === undefined ? null : s.item(lane, own);
		if (exact?.start === t && (dur === undefined || exact.dur === Math.round(dur))) return exact;
		const number = s.seek(lane, t), item = s.item(lane, number), before = s.item(lane, number - 1);
		if (!item && !before) throw new Error("no span is there");
		const found = item && !(before && far(item) && far(before) < far(item)) ? item : /** @type {Item} */ (before);
		if (dur === undefined || found.start !== t) return found;
		const at = found === item ? number : number - 1;
		for (let n = Math.max(0, at - SAME); n < at + SAME; n++) {
			const i = s.item(lane, n);
			if (!i || (n >= at && i.start !== t)) break;
			if (i.start === t && i.dur === Math.round(dur)) return i;
		}
		return found;
	};

	const itemOf = (/** @type {SpanRef} */ r) => itemAt(r.track, r.depth, r.ts, r.dur, r.number);

	/** @param {Item} of */
	const children = (of) => {
		const { track, depth } = s.lanes[of.lane], lane = s.laneAt(track, depth + 1), end = of.start + of.dur;
		/** @type {Item[]} */
		const found = [];
		for (let k = lane < 0 ? -1 : s.seek(lane, of.start), c; lane >= 0 && (c = s.item(lane, k)); k++) {
			if (c.start > end || (c.start === end && c.dur)) break;
			if (c.start >= of.start && c.marks & SPAN) found.push(c);
		}
		return found;
	};

	/** @param {Item} i @returns {import("./types.js").SpanDetail} */
	const detail = (i) => {
		const n = firsts[i.lane] + i.number, below = children(i), { track } = s.lanes[i.lane];
		/** @type {SpanRef[]} */
		const callers = [];
		for (let up = s.parent(i); up && callers.length < PARENTS; up = s.parent(up)) callers.unshift(ref(up));
		const previous = s.item(i.lane, i.number - 1), following = s.item(i.lane, i.number + 1), tid = tids.get(track), base = meta.base ?? 0;
		return { span: ref(i), time: `${BigInt(i.start) + zero} ns`, length: `${BigInt(i.dur)}`, self: s.self(i), unfinished: (i.marks & OPEN) !== 0,
			source: sources[labelOf(i)] ?? "", place: places.line(n) ?? s.place(i, streams), changed: false,
			args: JSON.parse(args.line(n) ?? "[]").map((/** @type {any[]} */ a) => [a[0], a[1]]), parents: callers,
			calls: below.length,
			children: below.sort((a, b) => b.dur - a.dur || a.number - b.number).slice(0, CHILDREN).map(ref),
			previous: previous && ref(previous), next: following && ref(following),
			command: `${meta.command.replace("COMMAND", "cat")} --from ${i.start + base}ns --until ${i.start + i.dur + base + 1}ns` +
				(tid ? ` --tid ${tid}` : "") };
	};

	const isFlow = (/** @type {Item} */ i) => i.kind === FLOW_BEGIN || i.kind === FLOW_STEP || i.kind === FLOW_END;
	/** The event before or behind a flow event in its flow. @param {Item} from @param {boolean} back @param {{n: number}} steps */
	const flowStep = (from, back, steps) => {
		const { name, category } = labels[from.label], id = s.id(from);
		const same = Uint8Array.from(labels, (/** @type {import("./types.js").Label} */ l) => (l.name === name && l.category === category ? 1 : 0));
		let at = /** @type {import("./query.js").Place | null} */ (from);
		while (at && steps.n++ < STEPS) {
			at = next(s, { labels: same, least: 0, lanes: null, from: -Infinity, to: Infinity }, at, back);
			const item = at && s.item(at.lane, at.number);
			if (!item || !isFlow(item) || s.id(item) !== id) continue;
			/* A flow that has ended may begin again with the same id. */
			return item.kind === (back ? FLOW_END : FLOW_BEGIN) ? null : item;
		}
		return null;
	};

	const flows = async (/** @type {SpanRef} */ span) => {
		const of = itemOf(span), lane = s.laneAt(span.track, span.depth + 1), steps = { n: 0 };
		/** @type {import("./types.js").Flow[]} */
		const out = [];
		const add = (/** @type {Item} */ a, /** @type {Item} */ b) =>
			out.push({ from: ref(s.parent(a) ?? a), to: ref(s.parent(b) ?? b), kind: labels[a.label].name });
		for (let k = lane < 0 ? 0 : s.seek(lane, of.start), e; lane >= 0 && out.length < ARROWS && steps.n < STEPS &&
			(e = s.item(lane, k)) && e.start <= of.start + of.dur; k++, steps.n++) {
			if (!isFlow(e) || e.start < of.start) continue;
			const before = e.kind === FLOW_BEGIN ? null : flowStep(e, true, steps);
			if (before) add(before, e);
			const after = e.kind === FLOW_END ? null : flowStep(e, false, steps);
			if (after) add(e, after);
		}
		return out;
	};

	/** What expressions compare of an item's arguments. @param {Item} i @returns {import("./holds.js").Arg[]} */
	const argsOf = (i) => JSON.parse(args.line(firsts[i.lane] + i.number) ?? "[]").map((/** @type {any[]} */ a) => ({ key: a[3] || a[0], end: a[4] === 1,
		value: a.length > 2 ? a[2] : { n: a[1] } }));
	/** What an expression found last. @type {{text: string, hits: import("./query.js").Place[]}} */
	let kept = { text: "", hits: [] };
	/** @param {string} text @param {SpanRef | null} from @param {boolean} back @returns {import("./types.js").Found} */
	const findWhere = (text, from, back) => {
		if (kept.text !== text) {
			const root = parseWhere(text, { moment: (ns) => zero - BigInt(meta.base ?? 0) + ns, categories: labels.some((/** @type {import("./types.js").Label} */ l) => l.category) });
			const test = new Holds(root, { s, labels, tracks: meta.tracks, marks: meta.marks, stacks, zero, args: argsOf });
			kept = { text, hits: allThat(s, (i) => test.holds(i)) };
		}
		const { hits } = kept, after = from && itemOf(from), record = after && s.place(after, streams);
		const hit = nextOf(hits, after, back, (p) => s.place(/** @type {Item} */ (s.item(p.lane, p.number)), streams) === record);
		const step = Math.floor(Math.min(hits.length, 100000) / 1024) + 1;
		return { hit: hit && refOf(hit), total: hits.length, partial: false, marks: hits.filter((_, i) => i % step === 0).map((p) => p.start) };
	};

	/** @param {string} text @param {SpanRef | null} from @param {boolean} back @returns {Promise<import("./types.js").Found>} */
	const find = async (text, from, back) => {
		if (!text) throw new Error("expected something to find");
		const least = leastDuration(text), regex = text.length > 2 && text.startsWith("/") && text.endsWith("/");
		if (!regex && least < 0 && isExpression(text)) return findWhere(text, from, back);
		const query = { labels: least > 0 && !regex ? null : matching(text, labels), least: regex ? 0 : Math.max(0, least), lanes: null,
			from: -Infinity, to: Infinity };
		const after = from && itemOf(from);
		const hit = next(s, query, after, back) ?? (after && next(s, query, null, back));
		return { hit: hit && refOf(hit), partial: false, ...countAndMark(s, query, meta.length) };
	};

	const calls = async (/** @type {Range} */ range, /** @type {number} */ label) => {
		const lanes = range.tracks ? range.tracks.flatMap((t) => s.ofTrack.get(t) ?? []) : null;
		const same = label <= 0 ? null : Uint8Array.from(heads, (h, i) => (i && (i === label || h === label) ? 1 : 0));
		return longest(s, { labels: same, off: !label, least: 0, ended: true, lanes, from: Math.round(range.from), to: Math.round(range.to) }, CALLS)
			.map((p) => ref(/** @type {Item} */ (s.item(p.lane, p.number))));
	};
	/** The number of the first item of a lane that begins at `t` or later. @param {number} lane @param {number} t */
	const firstFrom = (lane, t) => {
		let n = s.seek(lane, t);
		for (let i; (i = s.item(lane, n)) && i.start < t;) n++;
		return n;
	};
	const begins = async (/** @type {import("./types.js").Lane} */ { track, depth }, /** @type {number} */ t0, /** @type {number} */ t1) => {
		const lane = s.laneAt(track, depth), from = Math.max(0, Math.round(t0)), to = Math.max(0, Math.round(t1));
		const [place] = longest(s, { labels: null, least: 0, lanes: [lane], from, to }, 1);
		return { count: firstFrom(lane, to) - firstFrom(lane, from), longest: place ? ref(/** @type {Item} */ (s.item(place.lane, place.number))) : null };
	};
	const rounded = (/** @type {Range} */ r) => ({ from: Math.round(r.from), to: Math.round(r.to), tracks: r.tracks });

	return {
		meta: async () => meta,
		labels: async (from) => labels.slice(from),
		tiles: async (z, i, lanes) => ({ data: tileOf(s, z, i, lanes), partial: false }),
		counter: async (z, i, series) => curve(s, series, i * 1024 * 2 ** z, z),
		span: async (lane, t, dur, number) => detail(itemAt(lane.track, lane.depth, t, dur, number)),
		sums: async (range, by) => (by === "module" ? sumsByPath(s, rounded(range), modules, parents)
			: by ? sumsByTrack(s, rounded(range), heads, parents, by === "process" ? processOf : (t) => t)
				: sums(s, rounded(range), heads, parents)),
		counters: async (range) => counters(s, rounded(range)),
		flame: async (range) => flame(s, rounded(range), heads, parents),
		begins, calls, find, flows,
		why: async (span) => threads.why(itemOf(span), ref),
		critical: async (span) => critical(threads, itemOf(span), ref),
		state: async (track, t) => threads.state(track, Math.max(0, Math.round(t))),
		overview: async () => overview,
	};
}

/**
 * The first label of each label's module. Time off the CPU, label 0, is of no module.
 * @param {import("./types.js").Label[]} labels
 */
function moduleHeads(labels) {
	/** @type {Map<string, number>} */
	const firsts = new Map();
	return labels.map(({ module }, i) => {
		if (i && !firsts.has(module)) firsts.set(module, i);
		return i && (firsts.get(module) ?? i);
	});
}

/** A tile as the server sends it. @param {Store} s @param {number} z @param {number} i @param {import("./types.js").Lane[]} lanes */
function tileOf(s, z, i, lanes) {
	/** @type {number[]} */
	const rects = [];
	const counts = lanes.map(({ track, depth }) => {
		const lane = depth < 0 ? s.states.get(track) ?? -1 : s.laneAt(track, depth), before = rects.length;
		if (lane >= 0) tile(s, lane, i * 1024 * 2 ** z, z, rects);
		return (rects.length - before) / 3;
	});
	const data = new ArrayBuffer(8 + 4 * lanes.length + (rects.length / 3) * 8), view = new DataView(data);
	[1, lanes.length, ...counts].forEach((n, k) => view.setUint32(4 * k, n, true));
	for (let r = 0, o = 8 + 4 * lanes.length; r < rects.length; r += 3, o += 8) {
		view.setUint16(o, rects[r], true);
		view.setUint16(o + 2, rects[r + 1], true);
		view.setUint32(o + 4, rects[r + 2] & OFF_CPU ? rects[r + 2] & 255 : rects[r + 2], true);
	}
	return data;
}
