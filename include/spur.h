/*
 * Spur: read program traces of several formats as one stream of events.
 *
 *	struct spur_options opt = SPUR_OPTIONS(.threads = 4);
 *	const struct spur_event *rows;
 *	struct spur_trace *t;
 *	struct spur_error err;
 *	enum spur_status st;
 *	size_t n;
 *
 *	if (spur_open(&t, "uftrace.data", &opt, &err) == SPUR_FAIL)
 *		... err.message says file, expected, found
 *	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
 *		for (size_t i = 0; i < n; i++)
 *			... rows[i].ts, spur_string(t, rows[i].name, NULL)
 *	if (st == SPUR_FAIL && spur_last_error(t, &err))
 *		... out of memory: events are missing
 *	spur_close(t);
 *
 * The library never prints and never exits. Damage never ends reading: it is located, counted and
 * kept (spur_damage()), and the rest is read.
 *
 * Each declaration says in its comment what it returns, how long the result lives and what threads
 * may do:
 *
 *   "One thread at a time"	no other call on the same trace may run at the same time.
 *   "Any thread"		may be called while other threads read feeds of the trace
 *				(spur_feed_next()) or make such calls themselves.
 *
 * Different traces are independent of each other. A call whose arguments are invalid (NULL where an
 * object is needed, a feed that is closed, a row of another trace) changes nothing and fails: it
 * returns SPUR_FAIL with SPUR_ERR_USAGE, or what its comment says for an unknown id. In a library
 * that was built with SPUR_ABORT_ON_MISUSE and without NDEBUG, as sanitizer builds are, it aborts
 * with a message instead.
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
	SPUR_WARN, /* done, but a part is missing */
	SPUR_FAIL, /* not done: see the error */
};

enum spur_error_code {
	SPUR_ERR_NONE,
	SPUR_ERR_USAGE, /* the caller's arguments are invalid */
	SPUR_ERR_MEMORY,
	SPUR_ERR_IO, /* the system failed to read or write */
	SPUR_ERR_FORMAT, /* unknown or unreadable format */
	SPUR_ERR_LIMIT, /* a stated limit is exceeded */
};

/* Why a call failed. */
struct spur_error {
	enum spur_error_code code;
	char message[500]; /* one line, no newline: FILE: what was expected, what was found */
	/*
	 * The input that the error is about: a path as it was given or found. Of a filter's text "where",
	 * "name", "from" or "to". Empty if none applies; of a longer path the end.
	 */
	char stream[256];
	/* Of the place in it, bytes from 0; of a filter's text, the character. UINT64_MAX: none applies. */
	uint64_t offset;
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

/* Which form of the names of C++ and Rust functions rows and classes have. */
enum spur_demangle {
	SPUR_DEMANGLE_NAME, /* with template arguments, without parameters */
	SPUR_DEMANGLE_SIMPLE, /* without template arguments either, as uftrace's simple form */
	SPUR_DEMANGLE_FULL,
	SPUR_DEMANGLE_NONE, /* as in the data */
	SPUR_DEMANGLE_FORMS
};

/*
 * How a trace is opened. Initialise with SPUR_OPTIONS() or spur_options_default(), which set `size`; what
 * is not set is 0: the default. Strings and arrays are copied by the call that opens the trace.
 */
struct spur_options {
	/*
	 * sizeof(struct spur_options) of the caller, so that programs work with later libraries: members that the
	 * caller does not know are 0. Of a caller that knows more than the library these must be 0.
	 */
	size_t size;
	const char *format; /* a format's name; NULL: by content */
	size_t read_size; /* 0: map files; else read in pieces of this many bytes */
	/* most bytes that a packed file may unpack to; 0: 256 MiB, or 256 times its own size if that is more */
	uint64_t max_unpacked;
	unsigned threads; /* use at most this many threads; 0: all CPUs */
	enum spur_demangle demangle;
	/*
	 * Look for source lines of functions in the binaries' debug information too if the trace has none and
	 * the binaries are found (slow).
	 */
	bool source_lines;
	/*
	 * Look for the library that defines the function of each library call (uftrace; reads the symbols of all
	 * libraries of the process).
	 */
	bool call_libraries;
	/* directories with binaries or separate debug files, ':' between; NULL: where the trace says */
	const char *symbol_dirs;
	/*
	 * Programs and libraries that hold the names of a trace's functions, NULL-ended; NULL: looked for beside the
	 * trace. "N=PATH": those of object N.
	 */
	const char *const *binaries;
	bool raw_time; /* ts and dur are ticks of the trace's clock instead of ns */
	/*
	 * Rows in the order in which their records are stored in the stream, with bookkeeping records (tables,
	 * markers) as NATIVE rows; else by time, and without them.
	 */
	bool as_stored;
	/*
	 * Bookkeeping records too, as NATIVE rows, while rows come by time: each has the time of the
	 * record before it in its stream (where records stand in any order: the latest before it).
	 */
	bool bookkeeping;
	/*
	 * All tracks are known before the first row, in an order that does not depend on threads; for a format
	 * that finds them in its records (CTF) the trace is read once more.
	 */
	bool all_tracks;
	bool no_spans; /* events are instants whatever their names say (CTF) */
	int64_t clock_offset_ns; /* added to the origin that the trace states for its clocks (CTF) */
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
	 * Several traces opened as one: treat their clocks as one clock, whatever their names and epochs.
	 */
	bool same_clock;
	/*
	 * As soon as it is not 0 (a signal handler may set it) no input is waited for any more: the input ends there.
	 * It must outlive the trace. NULL: none.
	 */
	const volatile int *stop;
	const struct spur_filter *filter; /* as by spur_set_filter(); NULL: all rows */
};

/*
 * Initialises options in C, and in C++ from C++20 on, with the members that are given:
 *
 *	struct spur_options opt = SPUR_OPTIONS(.threads = 4, .read_size = 4096);
 */
#define SPUR_OPTIONS(...) { .size = sizeof(struct spur_options), __VA_ARGS__ }

/* Returns options that are all default, for any C++ and for what sets members later. Any thread. */
static inline struct spur_options spur_options_default(void)
{
#ifdef __cplusplus
	struct spur_options opt = {};
#else
	struct spur_options opt = { 0 };
#endif

	opt.size = sizeof(opt);
	return opt;
}

struct spur_trace;

/* --- traces --- */

/*
 * Opens a file, a directory, "-" (standard input), or a session of a relay daemon
 * (net://HOST[:PORT]/host/NAME/SESSION). `opt` and `err` may be NULL.
 *
 * Returns: SPUR_OK; SPUR_FAIL with *out NULL and `err` set.
 * Lifetime: the trace is the caller's until spur_close(); path and options are copied.
 * Threads: any thread.
 */
enum spur_status spur_open(struct spur_trace **out, const char *path,
			   const struct spur_options *opt, struct spur_error *err);
/*
 * Opens `count` traces, of any formats, as one: rows of all by time, on the first trace's clock.
 * Streams and tracks of each stay apart; spur_format_name() is "joined". Clocks are related by
 * their epochs, or by being the same clock; if they cannot be related the call fails with
 * SPUR_ERR_USAGE (see spur_options.same_clock). A trace that is still being written cannot be joined.
 *
 * Returns: as spur_open().
 * Lifetime: as spur_open().
 * Threads: any thread.
 */
enum spur_status spur_open_several(struct spur_trace **out, const char *const *paths, size_t count,
				   const struct spur_options *opt, struct spur_error *err);
/*
 * Opens a trace of one file from `size` bytes in memory. `name` is the path that messages show; other
 * files of the trace, such as a program's symbols, are looked for beside it. NULL or "-": the bytes
 * are all there is. Cannot be followed (spur_options.follow).
 *
 * Returns: as spur_open().
 * Lifetime: `data` must stay valid and unchanged until spur_close(); name and options are copied.
 * Threads: any thread.
 */
enum spur_status spur_open_memory(struct spur_trace **out, const char *name, const void *data,
				  size_t size, const struct spur_options *opt,
				  struct spur_error *err);
/*
 * Opens a trace of one file from a descriptor of a file, pipe or socket, from where the descriptor stands.
 * `name` as for spur_open_memory(). Cannot be followed.
 *
 * Returns: as spur_open().
 * Lifetime: the descriptor stays the caller's, who may close it at once; its position moves if it is
 * not a regular file. Name and options are copied.
 * Threads: any thread.
 */
enum spur_status spur_open_fd(struct spur_trace **out, int fd, const char *name,
			      const struct spur_options *opt, struct spur_error *err);
/*
 * Closes a trace and frees all that belongs to it, feeds that are open included. NULL: does nothing.
 *
 * Returns: nothing.
 * Lifetime: everything that calls on the trace returned ends here.
 * Threads: one thread at a time.
 */
void spur_close(struct spur_trace *t);

/*
 * Reads the next events of all streams, merged by time. Waits if the input is a pipe that is still
 * open. A trace is read either by this call or by feeds (spur_feed_open()).
 *
 * Returns: SPUR_OK with at least one row; SPUR_END with none; SPUR_FAIL with none if out of memory,
 * as does every later call; other traces are not affected.
 * Lifetime: the rows are valid until the next call on the trace's rows or spur_close().
 * Threads: one thread at a time.
 */
enum spur_status spur_next(struct spur_trace *t, const struct spur_event **rows, size_t *count);
/*
 * Copies the error of the latest call on the trace that returned SPUR_FAIL, whichever thread called.
 *
 * Returns: true; false with code SPUR_ERR_NONE if no call has failed.
 * Lifetime: the copy is the caller's.
 * Threads: any thread.
 */
bool spur_last_error(const struct spur_trace *t, struct spur_error *err);

/*
 * The name of the trace's format, such as "uftrace", as spur_options.format takes it; "joined" of several.
 *
 * Returns: a name, "" if t is NULL.
 * Lifetime: static.
 * Threads: any thread.
 */
const char *spur_format_name(const struct spur_trace *t);
/*
 * The version of the format that the trace states, such as "4" or "2.0".
 *
 * Returns: text, "" if the trace states none.
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const char *spur_format_version(const struct spur_trace *t);
/*
 * The byte order of the trace's records.
 *
 * Returns: "little", "big" or "mixed"; "" if none is known.
 * Lifetime: static.
 * Threads: any thread.
 */
const char *spur_byte_order(const struct spur_trace *t);

/* --- strings --- */

/*
 * The text of a string id; `len` (may be NULL) gets its length, as it may hold any bytes.
 *
 * Returns: NUL-ended text, "" for unknown ids.
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const char *spur_string(const struct spur_trace *t, uint32_t id, size_t *len);
/*
 * The name of a kind: "BEGIN", "END", ...
 *
 * Returns: the name; "" of a number that is no enum spur_kind.
 * Lifetime: static.
 * Threads: any thread.
 */
const char *spur_kind_name(unsigned kind);

/* --- arguments --- */

/*
 * Decodes the arguments of an event of this trace. What `args` held before is replaced, its memory is
 * used again; `args` must be zero-initialised before its first use.
 *
 * Returns: SPUR_OK; SPUR_WARN if damaged arguments are missing; SPUR_FAIL if out of memory.
 * Lifetime: the values are valid until `args` is filled again or freed, and not after spur_close().
 * Threads: any thread, each with its own `args`.
 */
enum spur_status spur_args(struct spur_trace *t, const struct spur_event *ev,
			   struct spur_args *args);
/*
 * Frees what spur_args() stored and empties `args`. NULL: does nothing.
 *
 * Returns: nothing.
 * Lifetime: the values end here; `args` may be filled again.
 * Threads: any thread, each with its own `args`.
 */
void spur_args_free(struct spur_args *args);

/* --- raw records --- */

/*
 * Finds the raw record of an event of this trace.
 *
 * Returns: SPUR_OK; SPUR_FAIL, with *place zero, if out of memory.
 * Lifetime: the bytes are valid until spur_close().
 * Threads: any thread.
 */
enum spur_status spur_place(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_place *place);
/*
 * The raw times of an event's record, in ticks of its origin's clock: begin and end of a SPAN, else
 * the same number twice.
 *
 * Returns: true; false, with both 0, if the record has no raw time.
 * Threads: any thread.
 */
bool spur_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2]);

/* --- classes --- */

/* What a class is (spur_class.flags). */
enum spur_class_flag {
	SPUR_CLASS_FUNCTION = 1,
	SPUR_CLASS_KERNEL = 2, /* of the operating system's kernel */
	SPUR_CLASS_LIBRARY = 4, /* a call into a library */
	SPUR_CLASS_EVENT = 8, /* not a function */
	SPUR_CLASS_UNKNOWN = 16, /* an address without a symbol */
	SPUR_CLASS_SCHED = 32, /* time off the CPU */
};

/* What events of one name and origin share. Texts are string ids; 0: unknown. */
struct spur_class {
	uint32_t name; /* as rows have it, in the form of spur_options.demangle */
	uint32_t raw_name; /* as in the data */
	uint32_t cat;
	uint32_t module; /* path of the program or library */
	uint32_t library; /* of a library call: path of the library that defines the function */
	uint32_t file, line; /* source location; line is a number, 0: unknown */
	uint32_t flags; /* enum spur_class_flag */
	/*
	 * The class that stands for all classes that look the same in a table, such as overloads without
	 * their parameters; of most classes its own id.
	 */
	uint32_t head;
	uint64_t addr; /* of the symbol in its module; or the number of a function or event in the data */
	uint64_t size; /* bytes of code; 0: unknown */
};

/*
 * One more than the largest class id so far; ids begin with 1. Grows while rows are read.
 *
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_class_count(const struct spur_trace *t);
/*
 * Copies what is known of a class (spur_event.cls).
 *
 * Returns: true; false, with *out zero, for unknown ids.
 * Lifetime: the copy is the caller's.
 * Threads: any thread.
 */
bool spur_class(const struct spur_trace *t, uint32_t id, struct spur_class *out);
/*
 * The names, types and sizes of the arguments that events of a class have. Made at the first call;
 * that of a format whose records describe themselves is complete after SPUR_END.
 *
 * Returns: the schema; NULL for unknown ids, or if out of memory (spur_last_error()).
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const struct spur_schema *spur_schema(struct spur_trace *t, uint32_t id);

/* --- tracks, streams, origins --- */

/*
 * The number of tracks; ids are below it. Grows while rows are read.
 *
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_track_count(const struct spur_trace *t);
/*
 * The track of an id (spur_event.track).
 *
 * Returns: the track, NULL for unknown ids.
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const struct spur_track *spur_track(const struct spur_trace *t, uint32_t id);
/*
 * The number of streams; ids are below it. Grows while a trace that is still being written is read.
 *
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_stream_count(const struct spur_trace *t);
/*
 * The stream of an id (spur_event.stream).
 *
 * Returns: the stream, NULL for unknown ids.
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const struct spur_stream *spur_stream(const struct spur_trace *t, uint32_t id);
/*
 * The number of origins; ids are below it.
 *
 * Returns: a number, 0 if t is NULL or if the format has none.
 * Threads: one thread at a time while rows of a live trace are read, else any thread.
 */
size_t spur_origin_count(const struct spur_trace *t);
/*
 * Copies the origin of an id (spur_stream.origin, spur_place.origin).
 *
 * Returns: true; false, with *out zero, for unknown ids.
 * Lifetime: the copy is the caller's.
 * Threads: as spur_origin_count().
 */
bool spur_origin(const struct spur_trace *t, uint32_t id, struct spur_origin *out);

/* --- clock and facts --- */

/* The clock of a trace. */
struct spur_clock {
	const char *name; /* "monotonic", ...; "unknown" */
	const char *derived; /* how the name is known, a sentence */
	uint64_t hz; /* ticks per second in the records; 0: unknown, a tick counts as a ns */
	bool ticks; /* spur_event.ts and .dur are ticks (spur_options.raw_time), not ns */
	bool own_zero; /* times count from a zero of the trace's own, not from that of the named clock */
	bool epoch_known;
	int64_t epoch_ns; /* add to ts (in ns) for ns since 1970-01-01 UTC */
	int64_t epoch_error_ns; /* how far off that may be */
};

/*
 * Copies what is known of the trace's clock.
 *
 * Returns: true; false, with *out zero, if t is NULL.
 * Lifetime: the copy is the caller's, its texts are valid until spur_close().
 * Threads: any thread.
 */
bool spur_clock(const struct spur_trace *t, struct spur_clock *out);

/* A fact that a trace states about itself, as `spur info` shows it. */
struct spur_info {
	const char *key; /* lower-case words with blanks between */
	const char *value; /* NUL-ended; may hold any bytes */
	size_t len; /* of the value */
};

/*
 * The number of facts, known once the trace is open.
 *
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_info_count(const struct spur_trace *t);
/*
 * The fact of a number below spur_info_count(), in the order of the trace.
 *
 * Returns: true; false, with *out zero, for unknown numbers.
 * Lifetime: texts are valid until spur_close().
 * Threads: any thread.
 */
bool spur_info(const struct spur_trace *t, size_t i, struct spur_info *out);

/* --- damage --- */

/*
 * The number of kinds of damage, losses and notes so far; complete after SPUR_END. The list is made
 * anew at each call.
 *
 * Returns: a number, 0 if t is NULL.
 * Lifetime: the list is valid until the next call of spur_damage_count() or spur_close().
 * Threads: one thread at a time.
 */
size_t spur_damage_count(struct spur_trace *t);
/*
 * Item `i` of the list that spur_damage_count() made.
 *
 * Returns: true; false for numbers beyond the list.
 * Lifetime: texts live as long as the list.
 * Threads: one thread at a time.
 */
bool spur_damage(struct spur_trace *t, size_t i, struct spur_damage *out);

/* --- filter --- */

/* How names are compared. */
enum spur_match {
	SPUR_MATCH_REGEX, /* extended regular expressions; a name without special characters is exact */
	SPUR_MATCH_GLOB,
	SPUR_MATCH_EXACT,
	SPUR_MATCH_FORMS
};

/*
 * Which rows are read; all conditions that are set must hold. Initialise with SPUR_FILTER() or
 * spur_filter_default(). docs/selecting.md describes the texts.
 */
struct spur_filter {
	size_t size; /* sizeof(struct spur_filter), as spur_options.size */
	const char *where; /* an expression, such as "dur > 1ms && name =~ 'read'"; NULL: none */
	const char *const *names; /* NULL-ended patterns: events of any of these names; NULL: all */
	enum spur_match match; /* how `names` are compared */
	/*
	 * Points in time from and before which rows pass, as --from and --to take them ("1.5s" counts from the
	 * first event, "@5ms" is on the trace's own clock); NULL: no limit. Formats that can seek do.
	 */
	const char *from, *to;
	/* Rows with begin <= ts < end, in the unit of rows; both 0: no limit. */
	int64_t begin, end;
	/*
	 * Calls at least that long, in ns; 0: all. SPUR_MIN_DUR_OF_TRACE: the threshold below which the
	 * trace itself advises analyses to leave calls out, which `spur report` uses.
	 */
	int64_t min_dur;
};

#define SPUR_MIN_DUR_OF_TRACE INT64_C(-1)

/* As SPUR_OPTIONS(). */
#define SPUR_FILTER(...) { .size = sizeof(struct spur_filter), __VA_ARGS__ }

/* Returns a filter that all rows pass, as spur_options_default(). Any thread. */
static inline struct spur_filter spur_filter_default(void)
{
#ifdef __cplusplus
	struct spur_filter filter = {};
#else
	struct spur_filter filter = { 0 };
#endif

	filter.size = sizeof(filter);
	return filter;
}

/*
 * From now on spur_next() and feeds give only rows that pass. To be called before rows are read; a
 * later call replaces the filter. NULL: all rows pass.
 *
 * Returns: SPUR_OK; SPUR_FAIL, with the filter before unchanged, if the filter is invalid (`err`, which may
 * be NULL, names the text and the place in it), if rows have been read, or if out of memory.
 * Lifetime: the filter's texts are copied.
 * Threads: one thread at a time.
 */
enum spur_status spur_set_filter(struct spur_trace *t, const struct spur_filter *filter,
				 struct spur_error *err);

/* --- feeds: reading on several threads --- */

/* A part of a trace that can be read on its own: in most formats the rows of one thread. */
struct spur_feed;

/* What is known of a feed before it is read. */
struct spur_feed_info {
	uint32_t track; /* its main track; SPUR_NONE: none */
	uint32_t stream; /* all rows of this stream are in the feed, in stream order; SPUR_NONE: no such stream */
	uint64_t size; /* bytes of its data, about; 0: unknown. Start large feeds first */
};

/*
 * The number of feeds, known once the trace is open.
 *
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_feed_count(const struct spur_trace *t);
/*
 * Copies what is known of a feed.
 *
 * Returns: true; false, with *out zero, for unknown numbers.
 * Lifetime: the copy is the caller's.
 * Threads: any thread.
 */
bool spur_feed_info(const struct spur_trace *t, size_t number, struct spur_feed_info *out);
/*
 * Whether rows of one track may come from several feeds (CTF, where streams are those of CPUs). If so
 * only the order of spur_next() has the rows of a track by time; what needs no such order may read
 * feeds all the same.
 *
 * Returns: true or false.
 * Lifetime: does not change while the trace is open.
 * Threads: any thread.
 */
bool spur_tracks_shared(const struct spur_trace *t);
/*
 * Opens feed `number` for reading, once in the life of a trace. Rows of all feeds together are those of
 * spur_next(), which can no longer be called.
 *
 * Returns: SPUR_OK; SPUR_FAIL, with *out NULL and `err` (may be NULL) set, if the feed was opened before,
 * if spur_next() was called, if the filter needs the rows of all feeds by time, or if out of memory.
 * Lifetime: the feed is valid until spur_close(), and can be read until spur_feed_close().
 * Threads: any thread.
 */
enum spur_status spur_feed_open(struct spur_feed **out, struct spur_trace *t, size_t number,
				struct spur_error *err);
/*
 * Reads the feed's next rows, in time order but for rows with SPUR_F_BACK.
 *
 * Returns: as spur_next().
 * Lifetime: the rows are valid until the next call on the feed.
 * Threads: one thread at a time for each feed; different feeds at the same time.
 */
enum spur_status spur_feed_next(struct spur_feed *f, const struct spur_event **rows, size_t *count);
/*
 * Ends reading a feed and frees its buffers. NULL: does nothing.
 *
 * Returns: nothing.
 * Lifetime: the feed's rows end here.
 * Threads: as spur_feed_next().
 */
void spur_feed_close(struct spur_feed *f);

/* --- spans: pairing of begins and ends --- */

enum spur_span_flag {
	SPUR_SPAN_IMPLIED = 1, /* the data lacks its end; `end` is when another row showed that it was over */
	SPUR_SPAN_OPEN = 2, /* it was open when the data ended; `end` is the time of the last row */
	SPUR_SPAN_NO_BEGIN = 4, /* an END without BEGIN: only name, class, track and `end` are known */
	SPUR_SPAN_OFF_CPU = 8, /* no call: the thread was off the CPU inside the span around it */
	SPUR_SPAN_NO_END = 16, /* with OFF_CPU: nothing says when the thread ran again; dur and self are 0 */
};

/* A span or call from begin to end. Times are in the unit of rows. */
struct spur_span {
	int64_t begin, end;
	int64_t dur; /* end - begin; 0 if time ran backwards */
	int64_t self; /* of that, time in no span inside and not off the CPU */
	uint64_t id; /* from 1, in the order of begins; 0 with SPUR_SPAN_NO_BEGIN */
	uint64_t parent; /* id of the span around it on its track; 0: none, or its begin is not in the data */
	uint32_t track;
	uint32_t cls;
	uint32_t name; /* string id */
	uint32_t cat; /* string id */
	uint32_t depth; /* open spans around it on its track */
	uint32_t flags; /* enum spur_span_flag */
};

/* Pairs rows of one trace: of all rows in the order of spur_next(), or of one feed after the other. */
struct spur_pairing;

/*
 * Makes a pairing. Rows of several threads need one each.
 *
 * Returns: SPUR_OK; SPUR_FAIL, with *out NULL and `err` (may be NULL) set, if out of memory.
 * Lifetime: the pairing is the caller's until spur_pairing_free(), which must come before spur_close().
 * Threads: any thread.
 */
enum spur_status spur_pairing_new(struct spur_pairing **out, struct spur_trace *t,
				  struct spur_error *err);
/*
 * Takes rows in time order (those that are no BEGIN, END, SPAN or SWITCH are skipped) and gives the spans that
 * ended with them, in the order of their ends on each track. A SPAN row ends when a later row of its track
 * shows that its time is over, or with spur_pairing_end().
 *
 * Returns: SPUR_OK, maybe with no span; SPUR_FAIL if out of memory: spans are missing from then on.
 * Lifetime: the spans are valid until the next call on the pairing.
 * Threads: one thread at a time for each pairing.
 */
enum spur_status spur_pairing_rows(struct spur_pairing *p, const struct spur_event *rows, size_t n,
				   const struct spur_span **spans, size_t *count);
/*
 * Ends what is still open, to be called after the last row (of all, or of a feed). The pairing may then
 * take rows of another feed.
 *
 * Returns: as spur_pairing_rows().
 * Lifetime: as spur_pairing_rows().
 * Threads: as spur_pairing_rows().
 */
enum spur_status spur_pairing_end(struct spur_pairing *p, const struct spur_span **spans,
				  size_t *count);
/*
 * Frees a pairing. NULL: does nothing.
 *
 * Returns: nothing.
 * Lifetime: the pairing and its spans end here.
 * Threads: one thread at a time for each pairing.
 */
void spur_pairing_free(struct spur_pairing *p);

/* --- percentiles --- */

/*
 * How durations are spread: exact for up to 64 of them, beyond that off by 1/128 (0.8 %) at most, in
 * bounded memory. `spur report` has the same numbers.
 */
struct spur_spread;

/*
 * Makes an empty spread.
 *
 * Returns: the spread, NULL if out of memory.
 * Lifetime: the caller's until spur_spread_free().
 * Threads: any thread.
 */
struct spur_spread *spur_spread_new(void);
/*
 * Adds a duration.
 *
 * Returns: SPUR_OK; SPUR_FAIL if out of memory: durations are missing from then on.
 * Threads: one thread at a time for each spread.
 */
enum spur_status spur_spread_add(struct spur_spread *s, uint64_t duration);
/*
 * The number of durations that were added.
 *
 * Returns: a number, 0 if s is NULL.
 * Threads: one thread at a time for each spread.
 */
uint64_t spur_spread_count(const struct spur_spread *s);
/*
 * The duration at or below which `percent` (0 to 100) of all are, by nearest rank. More may be added later.
 *
 * Returns: the duration; 0 of an empty spread, or if out of memory.
 * Threads: one thread at a time for each spread.
 */
uint64_t spur_spread_percentile(struct spur_spread *s, unsigned percent);
/*
 * Frees a spread. NULL: does nothing.
 *
 * Returns: nothing.
 * Lifetime: the spread ends here.
 * Threads: one thread at a time for each spread.
 */
void spur_spread_free(struct spur_spread *s);

/* --- library --- */

/*
 * The version of the library at run time; SPUR_VERSION is that of the header.
 *
 * Returns: text such as "0.1.0".
 * Lifetime: static.
 * Threads: any thread.
 */
const char *spur_version(void);

#ifdef __cplusplus
}
#endif
#endif
