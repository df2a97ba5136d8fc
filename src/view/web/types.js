/**
 * The shapes that the modules of the page share. Times are nanoseconds after the begin of the
 * trace, as numbers: exact up to 2^53, which is 104 days. Absolute times are strings.
 *
 * @typedef {object} Track A thread, process, processor, counter or other timeline.
 * @property {number} id
 * @property {number} parent its id, -1: none
 * @property {string} kind "process", "thread", "cpu", "async" and so on
 * @property {string} name
 * @property {string} pid empty: none
 * @property {string} tid empty: none
 * @property {number} depth lanes that it has: spans are in lanes 0 to depth - 1
 * @property {number} spans
 * @property {boolean} states whether it has a strip of thread states
 * @property {string} [trace] which one it is of, of several traces that are read as one
 *
 * @typedef {object} Series The values of one counter.
 * @property {number} id
 * @property {number} track
 * @property {string} name
 * @property {number} least NaN if no value is a number
 * @property {number} most
 *
 * @typedef {object} Mark Where something is wrong with the trace, or events were lost.
 * @property {number | null} ts null: the time is not known
 * @property {number} dur 0: not known
 * @property {number} track of lost events; -1: none
 * @property {"damage" | "lost" | "note"} kind
 * @property {string} text
 *
 * @typedef {object} Meta
 * @property {string} name of the trace
 * @property {string} format
 * @property {string} command what prints the same in a shell: "spur report TRACE"
 * @property {string} start in ns, as the trace has it
 * @property {number} length from the first to the last event
 * @property {boolean} done false: the store is still being built
 * @property {string} error why it cannot be completed; empty: nothing is wrong
 * @property {boolean} growing the trace itself is still being written
 * @property {number} generation changes whenever what was sent may be incomplete
 * @property {number} spans
 * @property {number} rows
 * @property {number} labels how many there are
 * @property {Track[]} tracks
 * @property {Series[]} series
 * @property {Mark[]} marks
 * @property {[string, string][]} facts what is known of the trace
 * @property {Meta} [second] of a second trace that is shown below the first one
 * @property {number} [base] ns from the trace's first event to the time 0 of the page; missing: 0
 *
 * @typedef {object} Label What spans of one class are called.
 * @property {string} name
 * @property {string} [raw] the name without escapes, where it has some as it is shown
 * @property {string} module empty: unknown
 * @property {string} category
 *
 * @typedef {object} Lane A row of spans that do not overlap; depth -1: the states of the thread.
 * @property {number} track
 * @property {number} depth
 *
 * @typedef {object} SpanRef
 * @property {number} track
 * @property {number} depth
 * @property {number} ts
 * @property {number} dur
 * @property {number} label
 * @property {number} [number] in its lane: others may begin and end when it does
 *
 * @typedef {object} SpanDetail
 * @property {SpanRef} span
 * @property {string} time absolute
 * @property {string} length its exact duration in ns
 * @property {number} self ns not in the spans that it calls
 * @property {boolean} unfinished
 * @property {string} source "file:line"; empty: unknown
 * @property {string} place "FILE:0xOFFSET" of the record
 * @property {string} command prints the span in a shell
 * @property {[string, string][]} args
 * @property {boolean} [changed] the trace is not what it was, so its arguments are not known any more
 * @property {SpanRef[]} parents from the outermost to the caller
 * @property {SpanRef[]} children the longest ones, at most 100
 * @property {number} calls how many children there are
 * @property {SpanRef | null} previous in its lane
 * @property {SpanRef | null} next in its lane
 *
 * @typedef {number | bigint} Whole An exact whole number: above 2^53 a bigint.
 *
 * @typedef {Whole} Ns An exact number of ns.
 *
 * @typedef {"module" | "thread" | "process"} Pivot What sums are by that are not by function.
 *
 * @typedef {object} Sum
 * @property {number} label of the function, or one of the module; -1: of a thread or process
 * @property {number} [track] of the thread or process
 * @property {Whole} calls
 * @property {Ns} total
 * @property {Ns} self
 * @property {Ns | null} avg null: not known; stacks of samples add to sums alone
 * @property {Ns | null} min
 * @property {Ns | null} max
 * @property {number} unfinished begins and ends that are not in the range or the data
 *
 * @typedef {object} CounterSum What a counter had in a range: exact numbers as text, "nan", "inf", or empty.
 * @property {number} series
 * @property {number} samples
 * @property {string} min
 * @property {string} max
 * @property {string} mean
 * @property {string} last
 *
 * @typedef {object} FlameNode
 * @property {number} label -1: the root, or what is left out
 * @property {Whole} calls
 * @property {Ns} total
 * @property {Ns} self
 * @property {FlameNode[]} children
 *
 * @typedef {object} PathNode Calls by the path that led to them.
 * @property {number} label -1: the root
 * @property {number} parent
 * @property {number[]} children
 * @property {Whole} calls
 * @property {Whole} sampled of them, known from stacks of samples alone
 * @property {number} ended of the others
 * @property {number} unfinished the data or the range lacks the end
 * @property {Ns} total
 * @property {Ns} self
 * @property {Ns} openSum of calls that did not end
 * @property {number} least
 * @property {number} most
 *
 * @typedef {object} Begins What begins in a time in a lane.
 * @property {number} count
 * @property {SpanRef | null} longest null: only events without a duration do
 *
 * @typedef {object} Flow An arrow from one span to another.
 * @property {SpanRef} from
 * @property {SpanRef} to
 * @property {string} kind
 *
 * @typedef {object} Range
 * @property {number} from
 * @property {number} to
 * @property {number[] | null} tracks null: all
 *
 * @typedef {object} Found
 * @property {SpanRef | null} hit
 * @property {number} total
 * @property {boolean} partial whether the search stopped at its limit
 * @property {number[]} [marks] begins of what was found, at most one in each part of the overview
 *
 * @typedef {object} Why What a call waited for.
 * @property {number} running
 * @property {number} runnable
 * @property {number} blocked
 * @property {number} unknown what the thread did then, the data does not tell
 * @property {number} self
 * @property {{text: string, ns: number, ts?: number, at: SpanRef | null}[]} parts from the longest
 *
 * @typedef {object} Doing What a thread does at a time.
 * @property {"running" | "runnable" | "blocked"} state
 * @property {boolean} preempted runnable since it lost its CPU
 * @property {boolean} last the data does not tell when it ends
 * @property {number} ts
 * @property {number} dur
 * @property {number} cpu -1: unknown
 * @property {number} waker track, -1: unknown
 * @property {number} holder of the CPU that it waits for: track, -1: unknown
 * @property {number} held ns
 *
 * @typedef {object} Segment A part of a critical path.
 * @property {number} track
 * @property {"running" | "runnable" | "blocked" | "unknown"} state
 * @property {number} ts
 * @property {number} dur
 * @property {number} holder of the CPU, while it is runnable: track, -1: unknown
 * @property {number} held ns
 * @property {SpanRef | null} at the innermost call around all of it
 *
 * @typedef {object} Critical
 * @property {Segment[]} segments one after the other
 * @property {{track: number, waker: number, ts: number, dur: number, at: SpanRef | null}[]} wakes who was blocked from `ts` on,
 *           and who ended that, in which call
 * @property {boolean} cut it is too long: its begin is left out
 *
 * @typedef {object} Source Where the page gets its data from: a server, or the page itself.
 * @property {() => Promise<Meta>} meta
 * @property {(from: number) => Promise<Label[]>} labels
 * @property {(z: number, i: number, lanes: Lane[]) => Promise<{data: ArrayBuffer, partial: boolean}>} tiles
 * @property {(z: number, i: number, series: number) => Promise<Float64Array>} counter
 * @property {(lane: Lane, t: number, dur?: number, number?: number) => Promise<SpanDetail>} span `dur` and `number` choose among those that begin at t
 * @property {(range: Range, by?: Pivot) => Promise<Sum[]>} sums
 * @property {(range: Range) => Promise<FlameNode>} flame
 * @property {(range: Range, label: number) => Promise<SpanRef[]>} calls
 * @property {(range: Range) => Promise<CounterSum[]>} counters of all tracks
 * @property {(query: string, from: SpanRef | null, back: boolean) => Promise<Found>} find
 * @property {(lane: Lane, from: number, to: number) => Promise<Begins>} begins
 * @property {(span: SpanRef) => Promise<Flow[]>} flows
 * @property {(span: SpanRef) => Promise<Why>} why
 * @property {(span: SpanRef) => Promise<Critical>} critical
 * @property {(track: number, t: number) => Promise<Doing | null>} state
 * @property {() => Promise<Uint8Array>} overview how busy each of 1,024 parts of the trace is
 */

import { alone } from "./shown.js";

/**
 * What a track is called: threads of one name have numbers, and of several traces each tells which one it is of.
 * @param {Track | undefined} t @param {boolean} [below] it stands below a track that tells the trace
 */
export function trackName(t, below = false) {
	if (!t) return "";
	const id = t.tid || (t.kind === "process" ? t.pid : ""), name = t.name || t.kind;
	/* Some readers name tracks by their number. */
	const text = id && !` ${name}`.endsWith(` ${id}`) ? `${alone(name)} ${id}` : name;
	return t.trace && !below ? `${alone(t.trace)}: ${text}` : text;
}
