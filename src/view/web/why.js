/** What threads of a store in the page do, and why a call took so long: as src/view/states.c and why.c tell. */

import { LAST, PREEMPTED, SPAN, SWITCH } from "./store.js";

/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./store.js").Item} Item */
/** @typedef {import("./types.js").Track} Track */

export const RUNNING = 0, RUNNABLE = 1;
export const STATE_NAMES = /** @type {const} */ (["running", "runnable", "blocked"]);
const BLOCKED = 2, NO_CPU = 0xffff, PARTS = 20;

/**
 * @typedef {object} Doing What a thread does from `start` to before `end`.
 * @property {0 | 1 | 2} state
 * @property {boolean} preempted
 * @property {boolean} last it lasts until the data ends
 * @property {number} start
 * @property {number} end
 * @property {number} cpu NO_CPU: not known
 * @property {number} waker the track that woke it; -1: not known
 *
 * @typedef {{doing: Doing, from: number, to: number, number: number}} Wait
 */

/** Keeps the longest ones, the first of those that are equal. @template T @param {T[]} list @param {T} x @param {(x: T) => number} length */
function keep(list, x, length) {
	let at = list.length;
	while (at && length(list[at - 1]) < length(x)) at--;
	list.splice(at, 0, x);
	list.length = Math.min(list.length, PARTS);
}

/** @param {Item} i */
export function isOff(i) {
	return i.kind === SWITCH && (i.marks & SPAN) !== 0;
}

export class Threads {
	/** @param {Store} s @param {Track[]} tracks @param {import("./types.js").Label[]} labels */
	constructor(s, tracks, labels) {
		this.s = s;
		this.tracks = new Map(tracks.slice().sort((a, b) => a.id - b.id).map((t) => [t.id, t]));
		this.labels = labels;
	}

	/** The item of a lane of states at a time. @param {number | undefined} lane @param {number} t */
	at(lane, t) {
		const i = lane === undefined ? null : this.s.item(lane, this.s.seek(lane, t));
		return i && i.start <= t ? i : null;
	}

	/** Whether a track is of the trace that another one is of, of several that are read as one. @param {number} a @param {number} b */
	sameTrace(a, b) {
		return this.tracks.get(a)?.trace === this.tracks.get(b)?.trace;
	}

	/** The track of a thread id in the trace of a track: the one that runs at `t`, else the first. @param {number} of @param {bigint} id @param {number} t */
	trackOf(of, id, t) {
		const tid = String(BigInt.asIntN(64, id));
		let found = -1;
		for (const track of this.tracks.values()) {
			if (track.kind !== "thread" || track.tid !== tid || !this.sameTrace(of, track.id)) continue;
			if (found < 0) found = track.id;
			if (this.at(this.s.states.get(track.id), t)?.label === RUNNING) return track.id;
		}
		return found;
	}

	/** The track that has a CPU at a time, in the trace of a track; -1 if that is not known. @param {number} of @param {number} cpu @param {number} t */
	onCpu(of, cpu, t) {
		for (const [track, lane] of this.s.states) {
			const i = this.at(lane, t);
			if (i && i.label === RUNNING && this.s.cpu(i) === cpu && this.sameTrace(of, track)) return track;
		}
		return -1;
	}

	/** @param {number} lane @param {number} number @returns {Doing | null} */
	doing(lane, number) {
		const { s } = this, i = s.item(lane, number);
		if (!i || i.label > BLOCKED) return null;
		const preempted = i.label === RUNNABLE && i.kind === SWITCH, woken = i.label === RUNNABLE && !preempted;
		const id = woken ? s.id(i) : 0n, cpu = s.cpu(i), of = s.lanes[lane].track;
		return { state: /** @type {0 | 1 | 2} */ (i.label), preempted, last: (i.marks & LAST) !== 0, start: i.start, end: i.start + i.dur, cpu: woken ? NO_CPU : cpu,
			waker: !woken ? -1 : id ? this.trackOf(of, id - 1n, i.start) : cpu !== NO_CPU ? this.onCpu(of, cpu, i.start) : -1 };
	}

	/** The innermost call of a track that goes on from `from` to `to`. @param {number} track @param {number} from @param {number} to */
	innermost(track, from, to) {
		/** @type {Item | null} */
		let found = null;
		for (let depth = 0, lane; (lane = this.s.laneAt(track, depth)) >= 0; depth++) {
			const i = this.s.item(lane, this.s.seek(lane, from));
			if (!i || i.start > from || i.start + i.dur < to || !(i.marks & SPAN) || isOff(i)) break;
			found = i;
		}
		return found;
	}

	/**
	 * The thread of the same trace that had the CPU for which a runnable thread waits for the longest part of a time.
	 * @param {number} lane @param {number} number @param {number} from @param {number} to
	 */
	holder(lane, number, from, to) {
		const cpu = this.nextCpu(lane, number), waits = this.s.lanes[lane].track;
		let track = -1, most = 0;
		if (cpu === NO_CPU) return { track, ns: 0 };
		for (const [of, states] of this.s.states) {
			if (!this.sameTrace(waits, of)) continue;
			let ns = 0;
			for (let n = this.s.seek(states, from), i; (i = this.s.item(states, n)) && i.start < to; n++) {
				const time = Math.min(i.start + i.dur, to) - Math.max(i.start, from);
				if (i.label === RUNNING && this.s.cpu(i) === cpu && time > 0) ns += time;
			}
			if (ns > most) [track, most] = [of, ns];
		}
		return { track, ns: most };
	}

	/** The CPU that a runnable thread waits for: the one that it runs on next. @param {number} lane @param {number} number */
	nextCpu(lane, number) {
		const next = this.doing(lane, number + 1);
		return next?.state === RUNNING ? next.cpu : NO_CPU;
	}

	/** " by THREAD in FUNCTION", as far as that is known. @param {string} by @param {number} track @param {number} t */
	who(by, track, t) {
		const k = this.tracks.get(track);
		if (!k) return "";
		const call = this.innermost(track, t - 1, t), tid = k.tid ? `${k.name ? " " : ""}${k.tid}` : "";
		return `${by}${k.trace ? `${k.trace}: ` : ""}${k.name}${tid}${call ? ` in ${this.labels[call.label].name}` : ""}`;
	}

	/** @param {number} lane @param {Wait} x */
	waitText(lane, x) {
		const { doing, from, to } = x;
		if (doing.state === RUNNABLE) {
			return (doing.preempted ? "preempted" : `woken${this.who(" by ", doing.waker, doing.start)}`) +
				this.who(", CPU held by ", this.holder(lane, x.number, from, to).track, to);
		}
		const next = to === doing.end ? this.doing(lane, x.number + 1) : null;
		return `blocked${next && next.start === to && next.state === RUNNABLE ? this.who(" until woken by ", next.waker, to) : ""}`;
	}

	/**
	 * What a call waited for.
	 * @param {Item} of @param {(i: Item) => import("./types.js").SpanRef} ref @returns {import("./types.js").Why}
	 */
	why(of, ref) {
		const { s, labels } = this, { track, depth } = s.lanes[of.lane], end = of.start + of.dur, off = [0, 0];
		const states = s.states.get(track), self = s.self(of);
		/** @type {Item[]} */
		const parts = [];
		for (let d = depth + 1, lane; (lane = s.laneAt(track, d)) >= 0; d++) {
			for (let k = s.seek(lane, of.start), i; (i = s.item(lane, k)) && i.start < end; k++) {
				if (i.start < of.start || !(i.marks & SPAN)) continue;
				if (isOff(i)) off[s.flags(i) & PREEMPTED ? 0 : 1] += Math.min(i.dur, end - i.start);
				if (isOff(i) ? states === undefined : d === depth + 1) keep(parts, i, (x) => x.dur);
			}
		}
		const shown = (/** @type {Item} */ i) => ({ ns: i.dur, at: ref(i),
			text: !isOff(i) ? labels[i.label].name : s.flags(i) & PREEMPTED ? "preempted" : labels[0].name });
		if (states === undefined) {
			const waited = off[0] + off[1];
			return { running: waited && of.dur - waited, runnable: off[0], blocked: off[1], unknown: waited ? 0 : of.dur, self, parts: parts.map(shown) };
		}
		const ns = [0, 0, 0];
		/** @type {Wait[]} */
		const waits = [];
		for (let number = s.seek(states, of.start), doing; (doing = this.doing(states, number)) && doing.start < end; number++) {
			const from = Math.max(doing.start, of.start), to = Math.min(doing.end, end);
			if (to <= from) continue;
			ns[doing.state] += to - from;
			if (doing.state !== RUNNING) keep(waits, { doing, from, to, number }, (w) => w.to - w.from);
		}
		return { running: ns[RUNNING], runnable: ns[RUNNABLE], blocked: ns[BLOCKED], unknown: of.dur - ns[RUNNING] - ns[RUNNABLE] - ns[BLOCKED], self,
			parts: [...waits.map((w) => ({ text: this.waitText(states, w), ns: w.to - w.from, ts: w.from, at: null })), ...parts.map(shown)] };
	}

	/** What a thread does at a time; null: that is not known. @param {number} track @param {number} t @returns {import("./types.js").Doing | null} */
	state(track, t) {
		const lane = this.s.states.get(track), i = this.at(lane, t), d = i && this.doing(i.lane, i.number);
		if (!i || !d) return null;
		const held = d.state === RUNNABLE ? this.holder(i.lane, i.number, d.start, d.end) : { track: -1, ns: 0 };
		return { state: STATE_NAMES[d.state], preempted: d.preempted, last: d.last, ts: d.start, dur: d.end - d.start, cpu: d.cpu === NO_CPU ? -1 : d.cpu,
			waker: d.waker, holder: held.track, held: held.ns };
	}
}
