/* Events: the rows of a trace. Included by <spur.h>. */
#ifndef SPUR_EVENT_H
#define SPUR_EVENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What happened. The names are those of docs/jsonl.md. */
enum spur_kind {
	SPUR_BEGIN, /* a span opens on its track */
	/*
	 * An open span ends ("END"): the one at the row's depth if SPUR_F_DEPTH is set, the
	 * innermost one if SPUR_F_ANY is set, else the innermost one of the row's class. Spans
	 * inside it end with it. If no span of the class is open, the span began before the track's
	 * data did, so all open spans lie inside it and end too, unless SPUR_F_GAP is set.
	 */
	SPUR_END_SPAN,
	SPUR_SPAN, /* a whole span: ts and dur */
	SPUR_INSTANT,
	SPUR_COUNTER,
	SPUR_ASYNC_BEGIN,
	SPUR_ASYNC_INSTANT,
	SPUR_ASYNC_END,
	SPUR_FLOW_BEGIN,
	SPUR_FLOW_STEP,
	SPUR_FLOW_END,
	SPUR_LOG,
	SPUR_SWITCH, /* a thread leaves (SPUR_F_OUT) or gets (SPUR_F_IN) a CPU */
	SPUR_WAKEUP,
	/*
	 * A call stack, or a sum of equal ones: dur is the time spent in the function on top of the
	 * stack, id the number of its calls (0: one); the argument "stack" has the names, root
	 * first.
	 */
	SPUR_SAMPLE,
	SPUR_OBJECT, /* a thread, process or object is named, made or ended */
	SPUR_BLOB,
	SPUR_LOST, /* the producer lost events here; id is their number (0: unknown) */
	SPUR_NATIVE, /* a record without a meaning common to formats; off and len locate it */
	SPUR_KINDS
};

enum spur_flag {
	SPUR_F_DEPTH = 1, /* depth is the recorded one, not counted */
	SPUR_F_IMPLIED = 2, /* an END that the data lacks, added by the reader or the pairing */
	SPUR_F_ORPHAN = 4, /* END without BEGIN, or BEGIN without END */
	SPUR_F_OUT = 8, /* SWITCH: leaves the CPU */
	SPUR_F_IN = 16, /* SWITCH: gets the CPU */
	SPUR_F_PREEMPTED = 32, /* SWITCH out: the thread was preempted */
	SPUR_F_RETIMED = 64, /* ts is a neighbour's: the record's own is missing or invalid */
	SPUR_F_UNRELIABLE = 128, /* the producer is known to write wrong values here */
	SPUR_F_GAP = 256, /* END: rows are missing before it, and its BEGIN may be one of them */
	SPUR_F_ESTIMATED = 512, /* ts was invented by the producer */
	SPUR_F_BACK = 1024, /* ts is before that of the previous record in its stream */
	SPUR_F_TAIL = 2048, /* END: by a tail call; BEGIN: entered by a tail call */
	SPUR_F_ANY = 4096, /* END: of the innermost open span, whatever its class */
	/* SWITCH out, INSTANT: the thread ends, and with it all spans open on its track */
	SPUR_F_EXIT = 8192,
};

#define SPUR_NO_CPU 0xFFFFu

/*
 * One event: 64 bytes. A member that the format does not provide is 0 (cpu: SPUR_NO_CPU). Every row
 * has a class (cls != 0), which rows of equal name and origin share, so tables indexed by class
 * replace string look-ups.
 */
struct spur_event {
	int64_t ts; /* ns on the trace's own clock */
	int64_t dur; /* ns, of a SPAN or SAMPLE, and of an END after pairing; else 0 */
	/*
	 * Async, flow or counter id; code address or number of a function; number of LOST events.
	 * Of a BLOB: its number if this row has all of it, 0 if the row has a piece of the blob
	 * with its name.
	 */
	uint64_t id;
	uint64_t off; /* offset of the raw record in its stream, in bytes */
	uint32_t len; /* size of the raw record with its payload, in bytes */
	uint32_t track;
	uint32_t stream;
	uint32_t cat; /* string id */
	uint32_t name; /* string id */
	uint32_t cls;
	uint8_t kind; /* enum spur_kind */
	uint8_t nargs; /* number of arguments, 255 if more; spur_args() decodes them */
	uint16_t flags; /* enum spur_flag */
	uint16_t cpu;
	uint16_t depth; /* number of spans open around this one on its track, 65535 if more */
};

/*
 * The name of a kind: "BEGIN", "END", ...
 * Returns: the name; "" if the number is no enum spur_kind.
 * Lifetime: static.
 * Threads: any thread.
 */
const char *spur_kind_name(unsigned kind);

#ifdef __cplusplus
}
#endif
#endif
