/*
 * Spur: read program traces of several formats as one stream of events.
 *
 *	enum spur_status st;
 *	struct spur_error err;
 *	struct spur_trace *t;
 *	const struct spur_event *rows;
 *	size_t n;
 *
 *	if (spur_open(&t, "uftrace.data", NULL, &err) == SPUR_FAIL)
 *		... err.message says file, expected, found
 *	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
 *		for (size_t i = 0; i < n; i++)
 *			... rows[i].ts, spur_string(t, rows[i].name, NULL)
 *	if (st == SPUR_FAIL)
 *		... out of memory: events are missing
 *	spur_close(t);
 *
 * The library never prints and never exits. A trace is used by one thread at a time. Damage never ends reading: it
 * is located, counted and kept (spur_damage()), and the rest is read.
 *
 * Lifetimes: strings, tracks, streams, classes live until spur_close(); rows until the next spur_next(); a
 * spur_args is the caller's.
 */
#ifndef SPUR_H
#define SPUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPUR_VERSION "0.1.0"

enum spur_status {
	SPUR_OK,
	SPUR_END, /* no more data */
	SPUR_MORE, /* more bytes may come later (a pipe still open) */
	SPUR_WARN, /* done, with something to tell */
	SPUR_FAIL, /* not done: see the error */
};

enum spur_error_code {
	SPUR_ERR_NONE,
	SPUR_ERR_USAGE, /* the caller's arguments are off */
	SPUR_ERR_MEMORY,
	SPUR_ERR_IO, /* the system failed to read or write */
	SPUR_ERR_FORMAT, /* unknown or unreadable format */
	SPUR_ERR_LIMIT, /* a stated limit is passed */
};

struct spur_error {
	enum spur_error_code code;
	char message[500]; /* one line, no newline: FILE: what was expected, what was found */
};

/* What happened. The names are those of docs/jsonl.md. */
enum spur_kind {
	SPUR_BEGIN, /* a span opens on its track */
	/*
	 * An open span closes ("END"): with SPUR_F_DEPTH the one at that depth, with SPUR_F_ANY the innermost,
	 * else the innermost of the row's class. Spans inside it are implied to end too. If none of its class is open,
	 * the span began before the track's data did, so all open spans lie inside it; not with SPUR_F_GAP.
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
	 * Where a thread was, or a sum of such: dur is time spent in the function on top of the stack, id the number of
	 * its calls (0: one), the argument "stack" the names, root first.
	 */
	SPUR_SAMPLE,
	SPUR_OBJECT, /* a thread, process or object is named, made or ended */
	SPUR_BLOB,
	SPUR_LOST, /* the producer says that it lost events here; id is their number (0: unknown) */
	SPUR_NATIVE, /* a record without common meaning: off/len keep it */
	SPUR_KINDS
};

enum spur_flag {
	SPUR_F_DEPTH = 1, /* depth comes from the record (modulo nothing), not from counting */
	SPUR_F_IMPLIED = 2, /* made by the reader or the pairing: an END that the data lacks */
	SPUR_F_ORPHAN = 4, /* END without BEGIN, or BEGIN without END */
	SPUR_F_OUT = 8, /* SWITCH: leaves the CPU */
	SPUR_F_IN = 16, /* SWITCH: gets the CPU */
	SPUR_F_PREEMPTED = 32, /* SWITCH out, against its will */
	SPUR_F_RETIMED = 64, /* ts is a neighbour's: the record has none or an impossible one */
	SPUR_F_UNRELIABLE = 128, /* the producer is known to write wrong values here */
	SPUR_F_GAP = 256, /* END: rows are missing before it, and its BEGIN may be one of them */
	SPUR_F_ESTIMATED = 512, /* ts was invented by the producer */
	SPUR_F_BACK = 1024, /* time went back against the record before in its stream */
	SPUR_F_TAIL = 2048, /* END: by a jump to the next function; BEGIN: entered by such a jump */
	SPUR_F_ANY = 4096, /* END: of the innermost open span, whatever its class */
	/* SWITCH out, INSTANT: the thread ends with it, and what is open on its track is over. */
	SPUR_F_EXIT = 8192,
};

#define SPUR_NO_CPU 0xFFFFu

/*
 * One event: 64 bytes. What a format does not say is 0 (cpu: SPUR_NO_CPU). Every row has a class (cls != 0): rows of
 * equal name and origin share it, so that per-class tables replace string look-ups.
 */
struct spur_event {
	int64_t ts; /* ns on the trace's own clock */
	int64_t dur; /* ns: of a SPAN, a SAMPLE; of an END where pairing ran; else 0 */
	/*
	 * Async, flow or counter id; code address or number of a function; number of LOST events. Of a
	 * BLOB: its number if it is whole by itself, 0 if it is a piece of the blob of its name.
	 */
	uint64_t id;
	uint64_t off; /* of the raw record in its stream, bytes */
	uint32_t len; /* of the raw record with its payload, bytes */
	uint32_t track;
	uint32_t stream;
	uint32_t cat; /* string id */
	uint32_t name; /* string id */
	uint32_t cls;
	uint8_t kind; /* enum spur_kind */
	uint8_t nargs; /* arguments, 255 for more; spur_args() gets them */
	uint16_t flags; /* enum spur_flag */
	uint16_t cpu;
	uint16_t depth; /* open spans outside this one, on its track; 65535 for more */
};

/* Arguments. */
enum spur_type {
	SPUR_NULL, /* a null string or pointer */
	SPUR_I64,
	SPUR_U64,
	SPUR_F64,
	SPUR_BOOL,
	SPUR_STRING, /* text.p, text.len; any bytes */
	SPUR_BYTES,
	SPUR_POINTER, /* u; label: the symbol's name where one is known */
	SPUR_KOID, /* u: kernel object id; label: the object's name where one is known */
	SPUR_ENUM, /* i; label: names of the value, joined by | */
	SPUR_STRUCT, /* items with names */
	SPUR_ARRAY, /* items without */
};

/* How a number is shown by text output; JSON always gets the plain value. */
enum spur_show {
	SPUR_SHOW_PLAIN, /* decimal */
	SPUR_SHOW_AUTO, /* decimal when small, hexadecimal when large */
	SPUR_SHOW_HEX,
	SPUR_SHOW_OCTAL,
	SPUR_SHOW_CHAR,
	SPUR_SHOW_BINARY,
};

struct spur_value {
	uint8_t type; /* enum spur_type */
	uint8_t show; /* enum spur_show */
	uint8_t size; /* bytes in the record, 0 where that says nothing (255: more) */
	uint8_t unreliable; /* the producer is known to write wrong values here */
	uint32_t name; /* string id; 0: no name */
	uint32_t count; /* STRUCT, ARRAY: number of items; STRING, BYTES: length in bytes */
	const char *
		label; /* of an ENUM, POINTER, KOID or opaque BYTES; of an F64, the digits of a number that a double
			* cannot hold (`f` is the nearest). NULL: none. In the trace or the spur_args */
	union {
		int64_t i;
		uint64_t u; /* BOOL too */
		double f;
		const char *text; /* STRING, BYTES: in the trace's data, or in the spur_args */
		const struct spur_value *items; /* STRUCT, ARRAY: in the spur_args */
	};
};

/* Arguments of one event. Zero-initialise, reuse for many events, free with spur_args_free(). */
struct spur_args {
	const struct spur_value *items;
	size_t count;
	struct spur_args_store *store; /* internal */
};

enum spur_track_kind {
	SPUR_TRACK_PROCESS,
	SPUR_TRACK_THREAD,
	SPUR_TRACK_CPU,
	SPUR_TRACK_ASYNC,
	SPUR_TRACK_COUNTER,
	SPUR_TRACK_OTHER,
	SPUR_TRACK_PROVIDER, /* a producer whose records stand beside those of others in one trace */
	SPUR_TRACK_LANE, /* beside its parent, for the parent's spans that overlap others without nesting */
};

#define SPUR_NONE UINT32_MAX /* no track, no stream */

struct spur_track {
	uint32_t parent; /* SPUR_NONE at the top */
	uint32_t name; /* string id */
	enum spur_track_kind kind;
	int64_t pid, tid; /* the bits of an unsigned id; -1 where there is none */
	int32_t cpu; /* -1 where there is none */
};

struct spur_stream {
	const char *path; /* of its file, below the trace's own path; UTF-8 not guaranteed */
	uint64_t size; /* bytes; 0 while a pipe is open */
	uint32_t origin; /* of its records, unless spur_place says otherwise */
};

/* Who wrote records, and how: of a stream, or of a part of it where several producers share the stream. */
struct spur_origin {
	uint32_t name; /* string id of the producer's name; 0: none */
	uint32_t provider; /* its number in the trace; SPUR_NONE: it has none */
	uint32_t track; /* of kind SPUR_TRACK_PROVIDER; SPUR_NONE: none */
	char byte_order; /* 'l': little endian, 'b': big endian, 0: unknown */
	bool clock_shared; /* its ticks are those of spur_clock() */
	uint64_t hz; /* ticks per second of its clock; 0: unknown, a tick counts as a ns */
};

/*
 * The place of an event's raw record. The bytes belong to the trace and stay valid until spur_close(). Where several
 * records make one event (a span of two), it is that of the row's own record.
 */
struct spur_place {
	uint32_t stream;
	uint32_t origin;
	uint64_t off; /* of the record's first byte in the stream */
	uint64_t len; /* bytes, those that it shares with its neighbours included */
	uint64_t bits; /* of the record; 8 * len where records begin and end with bytes */
	uint8_t first_bit; /* of the first byte, 0 to 7, counted as the stream's bit order does */
	const uint8_t *raw; /* the `len` bytes; NULL: they cannot be had */
};

/* A name of an enumeration's values from `low` to `high`; if they are unsigned, the bits of an unsigned integer. */
struct spur_label {
	int64_t low, high;
	const char *name;
};

/* One argument, as all events of a class have it. */
struct spur_field {
	uint32_t name; /* string id; 0: no name */
	/*
	 * enum spur_type; SPUR_NULL: it differs from event to event. Values of an ENUM without a
	 * name may come as I64 or U64, whichever it is.
	 */
	uint8_t type;
	uint8_t show; /* enum spur_show */
	bool optional; /* some events lack it, or have a NULL in its place */
	bool is_signed; /* of an ENUM: its integer is signed */
	bool is_flags; /* of an ENUM: its labels name bits, from number `low` to number `high` */
	uint32_t bits; /* of a number in the record; 0: that varies, or is unknown */
	uint32_t count; /* ARRAY of fixed length, STRING or BYTES of fixed size: that number; 0: it varies */
	uint32_t nitems; /* STRUCT: its fields; ARRAY: 1; else 0 */
	const struct spur_field *items; /* STRUCT: the fields; ARRAY: the element */
	uint32_t nlabels;
	const struct spur_label *labels; /* ENUM */
};

/*
 * The arguments of a class's events. A format whose records describe themselves knows what the records read so far
 * had; `open` says so.
 */
struct spur_schema {
	const struct spur_field *begin; /* of BEGIN rows, and of all kinds but END */
	const struct spur_field *end; /* of END rows */
	uint32_t nbegin, nend;
	bool open; /* events may have other arguments as well */
};

/* One kind of damage or loss, in one file. */
struct spur_damage {
	const char *code; /* e.g. "uftrace/torn-record" */
	const char *file;
	uint64_t count;
	uint64_t first_offset; /* UINT64_MAX where none applies */
	uint64_t bytes_lost;
	const char *first; /* "record: expected X, found Y" */
	bool is_damage; /* false: a note or warning; nothing in the file is wrong */
};

struct spur_options {
	const char *format; /* a format's name; NULL: by content */
	size_t read_size; /* 0: map files; else read in pieces of this many bytes */
	/* most bytes that a packed file may unpack to; 0: 256 MiB, or 256 times its own size if that is more */
	uint64_t max_unpacked;
	unsigned threads; /* 0: all processors */
	/*
	 * Names of C++ and Rust functions. 0: without parameters; 1: without template arguments either, as uftrace's
	 * simple form; 2: full; 3: as in the data
	 */
	int demangle;
	/*
	 * Look for source lines of functions in the binaries' debug information too, where the trace
	 * has none and the binaries are here (slow).
	 */
	bool source_lines;
	/*
	 * Look for the library that defines the function of each library call (uftrace; reads the symbols of all
	 * libraries of the process)
	 */
	bool call_libraries;
	/*
	 * directories with binaries or separate debug files, ':' between; NULL: where the trace
	 * says
	 */
	const char *symbol_dirs;
	/*
	 * Programs and libraries that hold the names of a trace's functions, NULL-ended; NULL: looked for beside the
	 * trace. "N=PATH": those of object N.
	 */
	const char *const *binaries;
	bool raw_time; /* ts and dur are ticks of the trace's clock instead of ns */
	/*
	 * Rows in the order in which their records stand in the stream, with those that only keep the books (tables,
	 * markers); else by time, and without them.
	 */
	bool as_stored;
	/*
	 * Bookkeeping records too, as NATIVE rows, while rows come by time: each has the time of the
	 * record before it in its stream (where records stand in any order: the latest before it).
	 */
	bool bookkeeping;
	/*
	 * All tracks are there before the first row, in the same order whatever the threads do; where a format finds
	 * them in its records (CTF), that costs a reading.
	 */
	bool all_tracks;
	bool no_spans; /* events are instants whatever their names say (CTF) */
	int64_t clock_offset_ns; /* added to what the trace says of where its clocks begin (CTF) */
	const char *key_file; /* holds the key of encrypted packets (CTF); NULL: none */
	/*
	 * The input is still being written: at the end of a file wait for more, until `stop`, or until it is cut,
	 * replaced or removed, which is damage or a warning. Rows come in the order of the stream. Packed files are
	 * refused, and directories of formats that cannot follow them.
	 */
	bool follow;
	/*
	 * A relay daemon (net://HOST) may be opened without one of its sessions: then their list is the trace's info.
	 */
	bool sessions;
	/*
	 * Several traces opened as one: take their clocks to be one, whatever they are named and
	 * without asking for their epochs.
	 */
	bool same_clock;
	/*
	 * Where it becomes true (a signal handler may set it) no input is waited for any more: all of it ends there. It
	 * must outlive the trace. NULL: none.
	 */
	const volatile int *stop;
};

struct spur_trace;

/*
 * Opens a file, a directory, "-", or a session of a relay daemon (net://HOST[:PORT]/host/NAME/SESSION). `opt` and `err`
 * may be NULL; NULL for another is SPUR_ERR_USAGE. On SPUR_FAIL *out is NULL.
 */
enum spur_status spur_open(struct spur_trace **out, const char *path,
			   const struct spur_options *opt, struct spur_error *err);
/*
 * Opens `count` traces, of any formats, as one: rows of all by time, on the first trace's clock.
 * Streams and tracks of each stay apart; spur_format_name() is "joined". Clocks are related by
 * their epochs, or by being the same clock; SPUR_FAIL with SPUR_ERR_USAGE where they cannot be (see
 * spur_options.same_clock). What is still being written cannot be joined. `paths` may be freed
 * after the call.
 */
enum spur_status spur_open_several(struct spur_trace **out, const char *const *paths, size_t count,
				   const struct spur_options *opt, struct spur_error *err);
void spur_close(struct spur_trace *t);

/*
 * The next events of all streams, merged by time: SPUR_OK with at least one row, SPUR_END, or SPUR_FAIL (out of memory;
 * every later call fails too, other traces are not affected). Waits where the input is a pipe.
 */
enum spur_status spur_next(struct spur_trace *t, const struct spur_event **rows, size_t *count);

/* Decodes an event's arguments. SPUR_WARN: damaged ones are missing. SPUR_FAIL: memory. */
enum spur_status spur_args(struct spur_trace *t, const struct spur_event *ev,
			   struct spur_args *args);
void spur_args_free(struct spur_args *args); /* NULL: does nothing, as spur_close() */

/* NUL-ended text of a string id; "" for unknown ids. `len` may be NULL. */
const char *spur_string(const struct spur_trace *t, uint32_t id, size_t *len);
const char *spur_kind_name(unsigned kind); /* "BEGIN", "END", ... */
const char *spur_format_name(const struct spur_trace *t);

size_t spur_track_count(const struct spur_trace *t);
const struct spur_track *spur_track(const struct spur_trace *t,
				    uint32_t id); /* NULL for unknown ids */
size_t spur_stream_count(const struct spur_trace *t);
const struct spur_stream *spur_stream(const struct spur_trace *t, uint32_t id);

/* Damage, losses and notes so far; complete after SPUR_END. Valid until the next call on the trace. */
size_t spur_damage_count(struct spur_trace *t);
bool spur_damage(struct spur_trace *t, size_t i, struct spur_damage *out);

const char *spur_version(void);

#ifdef __cplusplus
}
#endif
#endif
