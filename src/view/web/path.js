/** The critical path of a call of a store in the page, as src/view/critical.c finds it. */

import { RUNNABLE, RUNNING, STATE_NAMES } from "./why.js";

/** @typedef {import("./store.js").Item} Item */
/** @typedef {import("./types.js").Segment} Segment */
/** @typedef {import("./types.js").SpanRef} SpanRef */
/** @typedef {import("./why.js").Threads} Threads */

/** As the server has them. */
const SEGMENTS = 1000, WAITS = 64, STEPS = 10000;

/** @typedef {{track: number, waker: number, from: number, to: number}} Wake A thread that was blocked from `from` on, until another one woke it. */

class Path {
	/** @param {Threads} threads @param {number} begin of the call @param {(i: Item) => SpanRef} ref */
	constructor(threads, begin, ref) {
		this.threads = threads;
		this.begin = begin;
		this.ref = ref;
		/** From the last one back. @type {Segment[]} */
		this.segments = [];
		/** @type {Wake[]} */
		this.wakes = [];
		/** Threads that are blocked, until the path is back at the begin of that. @type {Wake[]} */
		this.waits = [];
	}

	/** @param {number} track @param {Segment["state"]} state @param {number} from @param {number} to */
	add(track, state, from, to) {
		if (from >= to || this.segments.length >= SEGMENTS) return null;
		const s = /** @type {Segment} */ ({ track, state, ts: from, dur: to - from, holder: -1, held: 0, at: this.at(track, from, to) });
		this.segments.push(s);
		return s;
	}

	/** @param {number} track @param {number} from @param {number} to */
	at(track, from, to) {
		const i = this.threads.innermost(track, from, to);
		return i && this.ref(i);
	}

	/** What was known last of a thread before `t`. @param {number} lane @param {number} t */
	before(lane, t) {
		const { s } = this.threads, number = s.seek(lane, t - 1), doing = this.threads.doing(lane, number);
		/* One that ends at t - 1 or earlier, or that contains it. */
		if (doing && doing.start < t) return { number, doing };
		const last = number > 0 ? this.threads.doing(lane, number - 1) : null;
		return last && { number: number - 1, doing: last };
	}

	/**
	 * One step back on a thread from `t`, not beyond `limit`: the thread that the path goes on with, and from where.
	 * @param {number} track @param {number} t @param {number} limit
	 */
	step(track, t, limit) {
		const { threads } = this, lane = threads.s.states.get(track), known = lane === undefined ? null : this.before(lane, t);
		if (lane === undefined || !known) {
			this.add(track, "unknown", limit, t);
			return { track, t: limit };
		}
		const { doing, number } = known;
		/* Nothing is known from its end on. */
		if (doing.end < t) {
			const end = Math.max(doing.end, limit);
			this.add(track, "unknown", end, t);
			return { track, t: end };
		}
		const at = Math.max(doing.start, limit);
		if (doing.state === RUNNING || doing.state === RUNNABLE) {
			const s = this.add(track, STATE_NAMES[doing.state], at, t);
			if (s && doing.state === RUNNABLE) {
				const { track: holder, ns } = threads.holder(lane, number, at, t);
				Object.assign(s, { holder, held: ns });
			}
			return { track, t: at };
		}
		const next = doing.end === t ? threads.doing(lane, number + 1) : null;
		const waker = next && next.start === t && next.state === RUNNABLE && !next.preempted ? next.waker : -1;
		if (waker < 0 || waker === track || this.waits.length === WAITS || this.wakes.length === SEGMENTS) {
			this.add(track, "blocked", at, t);
			return { track, t: at };
		}
		const wake = { track, waker, from: at, to: t };
		this.wakes.push(wake);
		this.waits.push(wake);
		return { track: waker, t };
	}

	/** Walks back from `t` on a thread. Returns true if the begin of the call was not reached. @param {number} track @param {number} t */
	walk(track, t) {
		for (let at = { track, t }, steps = 0; ; t = at.t) {
			if (t <= this.begin || this.segments.length >= SEGMENTS || steps++ >= STEPS) return t > this.begin;
			const wait = this.waits[this.waits.length - 1], limit = wait ? wait.from : this.begin;
			if (wait && t <= limit) {
				this.waits.pop();
				at.track = wait.track;
			} else {
				at = this.step(at.track, t, limit);
			}
		}
	}
}

/**
 * @param {Threads} threads @param {Item} of @param {(i: Item) => SpanRef} ref
 * @returns {import("./types.js").Critical}
 */
export function critical(threads, of, ref) {
	const path = new Path(threads, of.start, ref), cut = path.walk(threads.s.lanes[of.lane].track, of.start + of.dur);
	return { segments: path.segments.reverse(), cut,
		/* What the waker was in when it woke the other one. */
		wakes: path.wakes.reverse().map((w) => ({ track: w.track, waker: w.waker, ts: w.from, dur: w.to - w.from, at: path.at(w.waker, w.to - 1, w.to) })) };
}
