/**
 * Two sources as one: the tracks of the second stand below those of the first, with numbers of their own, and its times are shifted.
 * Spans, ranges and searches go to the source that they are of.
 */

import { plus } from "./time.js";
import { CUT_LEFT, CUT_RIGHT, SUB, TILE } from "./tiles.js";

/** @typedef {import("./types.js").Source} Source */
/** @typedef {import("./types.js").Meta} Meta */
/** @typedef {import("./types.js").SpanRef} SpanRef */
/** @typedef {import("./types.js").Range} Range */
/** @typedef {import("./types.js").Lane} Lane */
/** @typedef {import("./types.js").FlameNode} FlameNode */

const WIDE = TILE * SUB;

export class Beside {
	/**
	 * @param {Source} a @param {Source} b
	 * @param {{a: Meta, b: Meta, labels: import("./types.js").Label[][]}} of what both have; they must be complete
	 */
	constructor(a, b, of) {
		this.a = a;
		this.b = b;
		this.of = of;
		/** ns that the second one is moved to the right. */
		this.offset = 0;
		/** Labels, tracks and series of the second one have these added to their numbers. */
		this.label = of.labels[0].length;
		this.heads = of.a.tracks.reduce((most, t) => Math.max(most, t.id), -1) + 1;
		this.track = this.heads + 2;
		this.series = of.a.series.reduce((most, s) => Math.max(most, s.id), -1) + 1;
	}

	/** Which one a track is of: 0 or 1. @param {number} track */
	side(track) {
		return track >= this.track ? 1 : 0;
	}

	/** @returns {Promise<Meta>} */
	async meta() {
		const { a, b } = this.of, above = (/** @type {number} */ id, /** @type {Meta} */ m) => ({ id, parent: -1, kind: "trace", name: ending(m.name), pid: "",
			tid: "", depth: 0, spans: m.spans, states: false });
		const moved = (/** @type {number} */ parent) => (parent < 0 ? this.heads + 1 : parent + this.track);
		return { ...a, name: `${a.name} | ${b.name}`, length: Math.max(a.length, b.length + this.offset), second: b,
			spans: a.spans + b.spans, rows: a.rows + b.rows, labels: a.labels + b.labels, marks: [...a.marks, ...b.marks.map((m) => ({ ...m,
				ts: m.ts === null ? null : m.ts + this.offset }))], facts: [...a.facts, ...b.facts],
			tracks: [above(this.heads, a), ...a.tracks.map((t) => ({ ...t, parent: t.parent < 0 ? this.heads : t.parent })),
				above(this.heads + 1, b), ...b.tracks.map((t) => ({ ...t, id: t.id + this.track, parent: moved(t.parent) }))],
			series: [...a.series, ...b.series.map((s) => ({ ...s, id: s.id + this.series, track: s.track + this.track }))] };
	}

	/** @param {number} from */
	async labels(from) {
		return [...this.of.labels[0], ...this.of.labels[1]].slice(from);
	}

	/** A span of the second one as one of both. @param {SpanRef} s @returns {SpanRef} */
	out(s) {
		return { track: s.track + this.track, depth: s.depth, ts: s.ts + this.offset, dur: s.dur, label: s.label + this.label, number: s.number };
	}

	/** @template {Lane} T @param {T} s @returns {T} */
	in(s) {
		const ts = "ts" in s ? { ts: Math.max(0, Number(s.ts) - this.offset) } : {};
		return { ...s, track: s.track - this.track, ...ts };
	}

	/** A range of the first or the second one; null: it has none of its tracks. @param {Range} r @param {0 | 1} side @returns {Range | null} */
	range(r, side) {
		const by = side ? this.offset : 0, tracks = r.tracks && r.tracks.filter((t) => this.side(t) === side &&
			t !== this.heads && t !== this.heads + 1).map((t) => (side ? t - this.track : t));
		if (tracks && !tracks.length) return null;
		return { from: Math.max(0, r.from - by), to: Math.max(0, r.to - by), tracks };
	}

	/** The answers of both to a range. @template T @param {Range} r @param {(s: Source, r: Range) => Promise<T>} ask @returns {Promise<[T | null, T | null]>} */
	async both(r, ask) {
		const a = this.range(r, 0), b = this.range(r, 1);
		return [a && await ask(this.a, a), b && await ask(this.b, b)];
	}

	/** @param {number} z @param {number} i @param {Lane[]} lanes */
	async tiles(z, i, lanes) {
		const first = lanes.filter((l) => !this.side(l.track)), rest = lanes.filter((l) => this.side(l.track)).map((l) => this.in(l));
		const a = first.length ? await this.a.tiles(z, i, first) : null, b = rest.length ? await this.moved(z, i, rest) : [];
		/** @type {BlobPart[]} */
		const parts = [];
		const head = [1, lanes.length];
		if (a) {
			head.push(...new Uint32Array(a.data, 8, first.length));
			parts.push(new Uint8Array(a.data, 8 + 4 * first.length));
		}
		for (const [n, rects] of b.entries()) {
			/* The labels of states are the states. */
			const more = rest[n].depth < 0 ? 0 : this.label, data = new DataView(new ArrayBuffer(8 * rects.length));
			rects.forEach((r, k) => {
				data.setUint16(8 * k, r.x0, true);
				data.setUint16(8 * k + 2, r.x1, true);
				data.setUint32(8 * k + 4, (r.word & 255 | (((r.word >>> 8) + more) << 8)) >>> 0, true);
			});
			head.push(rects.length);
			parts.push(new Uint8Array(data.buffer));
		}
		return { data: await new Blob([new Uint32Array(head), ...parts]).arrayBuffer(), partial: a?.partial ?? false };
	}

	/** Which of the second one's tiles a tile is made of, and how far its left edge is in the first of them. @param {number} z @param {number} i */
	pieces(z, i) {
		const wide = TILE * 2 ** z, begin = i * wide - this.offset, j = Math.floor(begin / wide);
		return { j, in: begin - j * wide };
	}

	/** The rectangles of the second one's lanes in a tile. @param {number} z @param {number} i @param {Lane[]} lanes */
	async moved(z, i, lanes) {
		const p = this.pieces(z, i), by = Math.floor((p.in * SUB) / 2 ** z), none = lanes.map(() => /** @type {Rect[]} */ ([]));
		const left = p.j < 0 ? none : rectsOf((await this.b.tiles(z, p.j, lanes)).data, lanes.length);
		const right = !by || p.j + 1 < 0 ? none : rectsOf((await this.b.tiles(z, p.j + 1, lanes)).data, lanes.length);
		return lanes.map((_, k) => {
			const out = left[k].filter((r) => r.x1 >= by && (r.x0 >= by || r.x1 > by)).map((r) => ({ x0: Math.max(0, r.x0 - by), x1: r.x1 - by,
				word: r.x0 < by ? (r.word | CUT_LEFT) >>> 0 : r.word }));
			for (const r of right[k]) {
				const x0 = r.x0 + WIDE - by, x1 = Math.min(WIDE, r.x1 + WIDE - by), last = out[out.length - 1];
				if (x0 >= WIDE) break;
				const word = r.x1 + WIDE - by > WIDE ? (r.word | CUT_RIGHT) >>> 0 : r.word;
				/* A span that goes on from one piece to the next is one rectangle. */
				if (last && r.word & CUT_LEFT && last.word & CUT_RIGHT && last.word >>> 8 === r.word >>> 8) {
					last.x1 = x1;
					last.word = ((last.word & ~CUT_RIGHT) | (word & CUT_RIGHT)) >>> 0;
				} else {
					out.push({ x0, x1, word });
				}
			}
			return out;
		});
	}

	/** @param {number} z @param {number} i @param {number} series */
	async counter(z, i, series) {
		if (series < this.series) return this.a.counter(z, i, series);
		const p = this.pieces(z, i), by = Math.floor(p.in / 2 ** z), empty = new Float64Array(3 * TILE).fill(NaN), id = series - this.series;
		const left = p.j < 0 ? empty : await this.b.counter(z, p.j, id);
		const right = !by || p.j + 1 < 0 ? empty : await this.b.counter(z, p.j + 1, id);
		const out = new Float64Array(3 * TILE);
		out.set(left.subarray(3 * by));
		out.set(right.subarray(0, 3 * by), 3 * (TILE - by));
		/* The value from before the tile's begin. */
		for (let k = by; k >= 0 && Number.isNaN(out[2]); k--) out.fill(left[3 * k + 2], 0, 3);
		return out;
	}

	/** @param {Lane} lane @param {number} t @param {number} [dur] @param {number} [number] */
	async span(lane, t, dur, number) {
		if (!this.side(lane.track)) return this.a.span(lane, t, dur, number);
		const d = await this.b.span(this.in(lane), Math.max(0, t - this.offset), dur, number), out = (/** @type {SpanRef} */ s) => this.out(s);
		return { ...d, span: out(d.span), parents: d.parents.map(out), children: d.children.map(out), previous: d.previous && out(d.previous),
			next: d.next && out(d.next) };
	}

	/** @param {Lane} lane @param {number} from @param {number} to */
	async begins(lane, from, to) {
		if (!this.side(lane.track)) return this.a.begins(lane, from, to);
		const { count, longest } = await this.b.begins(this.in(lane), Math.max(0, from - this.offset), Math.max(0, to - this.offset));
		return { count, longest: longest && this.out(longest) };
	}

	/** @param {Range} range @param {import("./types.js").Pivot} [by] */
	async sums(range, by) {
		const [a, b] = await this.both(range, (s, r) => s.sums(r, by));
		return [...a ?? [], ...(b ?? []).map((s) => ({ ...s, label: s.label + this.label }))];
	}

	/** @param {Range} range */
	async counters(range) {
		const [a, b] = await this.both(range, (s, r) => s.counters(r));
		return [...a ?? [], ...(b ?? []).map((c) => ({ ...c, series: c.series + this.series }))];
	}

	/** @param {Range} range @returns {Promise<FlameNode>} */
	async flame(range) {
		const [a, b] = await this.both(range, (s, r) => s.flame(r));
		const moved = (/** @type {FlameNode} */ n) => {
			if (n.label >= 0) n.label += this.label;
			n.children.forEach(moved);
		};
		b?.children.forEach(moved);
		return { label: -1, calls: plus(a?.calls ?? 0, b?.calls ?? 0), total: plus(a?.total ?? 0, b?.total ?? 0), self: 0,
			children: [...a?.children ?? [], ...b?.children ?? []] };
	}

	/** @param {Range} range @param {number} label */
	async calls(range, label) {
		const [a, b] = await this.both(range, async (s, r) => (label < 0 || (s === this.b) === label >= this.label
			? s.calls(r, s === this.b && label >= 0 ? label - this.label : label) : []));
		return [...a ?? [], ...(b ?? []).map((s) => this.out(s))].sort((x, y) => y.dur - x.dur).slice(0, 100);
	}

	/**
	 * What is found in the first one comes before what is found in the second one.
	 * @param {string} query @param {SpanRef | null} from @param {boolean} back
	 */
	async find(query, from, back) {
		const side = from ? this.side(from.track) : back ? 1 : 0, own = from && (side ? this.in(from) : from);
		const found = [await this.a.find(query, side ? null : own, back), await this.b.find(query, side ? own : null, back)];
		const { hit } = found[side], other = found[1 - side].hit;
		/* Behind the last one comes the first one again: then the other one's turn has come. */
		const before = (/** @type {number} */ x, /** @type {number} */ y) => (back ? x >= y : x <= y);
		const over = !hit || (own !== null && before(hit.ts, own.ts) && (hit.ts !== own.ts ||
			(hit.track === own.track && hit.depth === own.depth && before(hit.number ?? 0, own.number ?? 0))));
		const at = over && other ? 1 - side : side, best = found[at].hit;
		return { hit: best && at ? this.out(best) : best, total: found[0].total + found[1].total, partial: found[0].partial || found[1].partial,
			marks: [...found[0].marks ?? [], ...(found[1].marks ?? []).map((t) => t + this.offset)] };
	}

	/** @param {SpanRef} span */
	async flows(span) {
		if (!this.side(span.track)) return this.a.flows(span);
		return (await this.b.flows(this.in(span))).map((f) => ({ ...f, from: this.out(f.from), to: this.out(f.to) }));
	}

	/** @param {SpanRef} span */
	async why(span) {
		if (!this.side(span.track)) return this.a.why(span);
		const w = await this.b.why(this.in(span));
		return { ...w, parts: w.parts.map((p) => ({ ...p, at: p.at && this.out(p.at), ts: p.ts === undefined ? p.ts : p.ts + this.offset })) };
	}

	/** @param {SpanRef} span @returns {Promise<import("./types.js").Critical>} */
	async critical(span) {
		const side = this.side(span.track), p = await (side ? this.b : this.a).critical(side ? this.in(span) : span);
		if (!side) return p;
		const track = (/** @type {number} */ t) => (t < 0 ? t : t + this.track), at = (/** @type {SpanRef | null} */ s) => s && this.out(s);
		return { cut: p.cut, segments: p.segments.map((s) => ({ ...s, track: track(s.track), ts: s.ts + this.offset, holder: track(s.holder), at: at(s.at) })),
			wakes: p.wakes.map((w) => ({ ...w, track: track(w.track), waker: track(w.waker), ts: w.ts + this.offset, at: at(w.at) })) };
	}

	/** @param {number} track @param {number} t */
	async state(track, t) {
		if (!this.side(track)) return this.a.state(track, t);
		const d = await this.b.state(track - this.track, t - this.offset), out = (/** @type {number} */ id) => (id < 0 ? id : id + this.track);
		return d && { ...d, ts: d.ts + this.offset, waker: out(d.waker), holder: out(d.holder) };
	}

	async overview() {
		const { length } = await this.meta(), parts = [await this.a.overview(), await this.b.overview()];
		const at = (/** @type {0 | 1} */ side, /** @type {number} */ t) => {
			const busy = parts[side], of = Math.max(1, side ? this.of.b.length : this.of.a.length);
			return t >= 0 && t < of ? busy[Math.floor((t / of) * busy.length)] : 0;
		};
		return Uint8Array.from(parts[0], (_, k) => {
			const t = (k / parts[0].length) * length;
			return Math.max(at(0, t), at(1, t - this.offset));
		});
	}
}

/** The end of a path, in which two traces differ most. @param {string} path */
function ending(path) {
	return path.length > 28 ? `…${path.slice(-27)}` : path;
}

/** @typedef {{x0: number, x1: number, word: number}} Rect */

/** The rectangles of each lane of a tile. @param {ArrayBuffer} data @param {number} lanes */
function rectsOf(data, lanes) {
	const head = new Uint32Array(data, 0, 2 + lanes), view = new DataView(data);
	let o = head.byteLength;
	return Array.from({ length: lanes }, (_, k) => Array.from({ length: head[2 + k] }, () => {
		o += 8;
		return { x0: view.getUint16(o - 8, true), x1: view.getUint16(o - 6, true), word: view.getUint32(o - 4, true) };
	}));
}
