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
 *			... out of memory: events are missing
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
	 * The input that the error is about: its path as given or found; for a filter, the name of
	 * its text ("where", "name", "from" or "to"). Empty if no input applies. If the path is too
	 * long, its last part.
	 */
	char stream[256];
	/*
	 * Offset in that input in bytes; in a filter's text, in characters. UINT64_MAX: no place
	 */
	uint64_t offset;
};

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

/* Arguments. */
enum spur_type {
	SPUR_NULL, /* a null string or pointer */
	SPUR_I64,
	SPUR_U64,
	SPUR_F64,
	SPUR_BOOL,
	SPUR_STRING, /* `count` bytes at text, of any values */
	SPUR_BYTES,
	SPUR_POINTER, /* u; label: the symbol's name if known */
	SPUR_KOID, /* u: kernel object id; label: the object's name if known */
	SPUR_ENUM, /* i; label: the value's names, joined by | */
	SPUR_STRUCT, /* items that have names */
	SPUR_ARRAY, /* items without names */
};

/* How text output shows a number; JSON always has the plain value. */
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
	uint8_t size; /* bytes in the record, 0 if not applicable, 255 if more */
	uint8_t unreliable; /* the producer is known to write wrong values here */
	uint32_t name; /* string id; 0: no name */
	uint32_t count; /* STRUCT, ARRAY: number of items; STRING, BYTES: length in bytes */
	/*
	 * The label of an ENUM, POINTER, KOID or opaque BYTES; of an F64, the digits of a number
	 * that a double cannot hold exactly. NULL: no label.
	 */
	const char *label;
	union {
		int64_t i;
		uint64_t u; /* BOOL too */
		double f;
		const char *text; /* STRING, BYTES: owned by the trace or the spur_args */
		const struct spur_value *items; /* STRUCT, ARRAY: owned by the spur_args */
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
	SPUR_TRACK_PROVIDER, /* one of several producers */
	SPUR_TRACK_LANE, /* spans of its parent that overlap others */
};

#define SPUR_NONE UINT32_MAX /* no track, no stream */

struct spur_track {
	uint32_t parent; /* SPUR_NONE: a top-level track */
	uint32_t name; /* string id */
	enum spur_track_kind kind;
	int64_t pid, tid; /* the bits of an unsigned id; -1: not applicable */
	int32_t cpu; /* -1: not applicable */
};

struct spur_stream {
	const char *path; /* of its file, relative to the trace's own path; not always UTF-8 */
	uint64_t size; /* bytes; 0 while a pipe is open */
	uint32_t origin; /* of its records, unless spur_place names another */
};

/*
 * The producer of a stream, or of a part of a stream that several producers share, and how it
 * writes records.
 */
struct spur_origin {
	uint32_t name; /* string id of the producer's name; 0: no name */
	uint32_t provider; /* its number in the trace; SPUR_NONE: no number */
	uint32_t track; /* of kind SPUR_TRACK_PROVIDER; SPUR_NONE: no such track */
	char byte_order; /* 'l': little endian, 'b': big endian, 0: unknown */
	bool clock_shared; /* its ticks are those of spur_clock() */
	uint64_t hz; /* ticks per second of its clock; 0: unknown, a tick counts as a ns */
};

/*
 * The place of an event's raw record. The bytes belong to the trace and stay valid until
 * spur_close(). If several records make one event (a span of two), this is the place of the row's
 * own record.
 */
struct spur_place {
	uint32_t stream;
	uint32_t origin;
	uint64_t off; /* offset of the record's first byte in the stream */
	uint64_t len; /* in bytes, including those shared with neighbouring records */
	uint64_t bits; /* length in bits; 8 * len if records begin and end at bytes */
	uint8_t first_bit; /* first bit in the first byte, 0 to 7, in the stream's bit order */
	const uint8_t *raw; /* the `len` bytes; NULL: not available */
};

/*
 * The name of an enumeration's values from `low` to `high`. If the enumeration is unsigned, these
 * are the bits of unsigned integers.
 */
struct spur_label {
	int64_t low, high;
	const char *name;
};

/* One argument, as far as all events of a class have it in common. */
struct spur_field {
	uint32_t name; /* string id; 0: no name */
	/*
	 * enum spur_type; SPUR_NULL: it differs from event to event. Values of an ENUM that have no
	 * name may come as I64 or U64, by its sign.
	 */
	uint8_t type;
	uint8_t show; /* enum spur_show */
	bool optional; /* some events lack it or have a NULL instead */
	bool is_signed; /* of an ENUM: its integer is signed */
	bool is_flags; /* of an ENUM: its labels name bits, from number `low` to number `high` */
	uint32_t bits; /* size of a number in the record; 0: varies or unknown */
	uint32_t count; /* Length of an ARRAY, size of a STRING or BYTES, if fixed; 0: varies */
	uint32_t nitems; /* number of `items` */
	const struct spur_field *items; /* STRUCT: the fields; ARRAY: the element */
	uint32_t nlabels;
	const struct spur_label *labels; /* ENUM */
};

/*
 * The arguments of a class's events. If `open` is set, the records describe themselves, and the
 * schema has the arguments of those read so far.
 */
struct spur_schema {
	const struct spur_field *begin; /* of rows of all kinds but END */
	const struct spur_field *end; /* of END rows */
	uint32_t nbegin, nend;
	bool open; /* events may have other arguments as well */
};

/* One kind of damage or loss, in one file. */
struct spur_damage {
	const char *code; /* e.g. "uftrace/torn-record" */
	const char *file;
	uint64_t count;
	uint64_t first_offset; /* UINT64_MAX: none applies */
	uint64_t bytes_lost;
	const char *first; /* "record: expected X, found Y" */
	bool is_damage; /* false: a note or warning; the file itself is not damaged */
};

/* The form in which rows and classes have the names of C++ and Rust functions. */
enum spur_demangle {
	SPUR_DEMANGLE_NAME, /* with template arguments, without parameters */
	SPUR_DEMANGLE_SIMPLE, /* without template arguments either, as uftrace's simple form */
	SPUR_DEMANGLE_FULL,
	SPUR_DEMANGLE_NONE, /* as in the data */
	SPUR_DEMANGLE_FORMS
};

/*
 * How a trace is opened. Initialise with SPUR_OPTIONS() or spur_options_default(), which set `size`
 * and leave the other members 0, the default. The call that opens the trace copies strings and
 * arrays.
 */
struct spur_options {
	/*
	 * The caller's sizeof(struct spur_options), so that programs keep working with later
	 * libraries: members that the caller does not know are 0. Members that the library does not
	 * know must be 0.
	 */
	size_t size;
	const char *format; /* a format's name; NULL: detected from the content */
	size_t read_size; /* 0: map files into memory; else read this many bytes at a time */
	/*
	 * Maximum unpacked size of a packed file in bytes; 0: 256 MiB, or 256 times the packed size
	 * if that is more.
	 */
	uint64_t max_unpacked;
	unsigned threads; /* use at most this many threads; 0: all CPUs */
	enum spur_demangle demangle;
	/*
	 * If the trace has no source lines of functions, look for them in the debug information of
	 * the binaries (slow).
	 */
	bool source_lines;
	/*
	 * Look for the library that defines the function of each library call (uftrace; reads the
	 * symbols of all libraries of the process).
	 */
	bool call_libraries;
	/*
	 * Directories with binaries or separate debug files, separated by ':'; NULL: those that the
	 * trace names.
	 */
	const char *symbol_dirs;
	/*
	 * Programs and libraries that hold the names of a trace's functions, NULL-terminated;
	 * "N=PATH": that of object N. NULL: look for them beside the trace.
	 */
	const char *const *binaries;
	bool raw_time; /* ts and dur are ticks of the trace's clock instead of ns */
	/*
	 * Give rows in the order in which their records are stored in the stream, with bookkeeping
	 * records (tables, markers) as NATIVE rows; else by time, without those records.
	 */
	bool as_stored;
	/*
	 * Give bookkeeping records as NATIVE rows while rows come by time. Each has the time of the
	 * previous record in its stream, or the latest time so far if records are not stored by
	 * time.
	 */
	bool bookkeeping;
	/*
	 * Find all tracks before the first row, in an order that does not depend on threads. A
	 * format that finds tracks in its records (CTF) reads the trace twice for this.
	 */
	bool all_tracks;
	bool no_spans; /* treat all events as instants, whatever their names (CTF) */
	/* Added to the origin that the trace states for its clocks (CTF) */
	int64_t clock_offset_ns;
	const char *key_file; /* holds the key of encrypted packets (CTF); NULL: none */
	/*
	 * The input is still being written: at the end of a file wait for more, until `stop`, or
	 * until the file is cut, replaced or removed, which is reported as damage or a warning.
	 * Rows come in stored order. Opening fails for packed files, and for directories of formats
	 * that cannot follow them.
	 */
	bool follow;
	/*
	 * Allow a relay daemon (net://HOST) to be opened without naming a session: the trace then
	 * has no rows, and its facts (spur_info()) list the sessions.
	 */
	bool sessions;
	/* When several traces are opened as one, treat their clocks as the same clock. */
	bool same_clock;
	/*
	 * Once this is not 0 (a signal handler may set it), the library stops waiting for input and
	 * treats what it has read as all of the input. Must outlive the trace. NULL: nothing stops
	 * the wait.
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

/* Returns default options, for any version of C++ and for setting members later. Any thread. */
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
 * Returns: SPUR_OK; SPUR_FAIL with *out NULL and `err` set.
 * Lifetime: the trace is the caller's until spur_close(); path and options are copied.
 * Threads: any thread.
 */
enum spur_status spur_open(struct spur_trace **out, const char *path,
			   const struct spur_options *opt, struct spur_error *err);
/*
 * Opens `count` traces, of any formats, as one whose rows come by time, on the first trace's clock.
 * Each keeps its own streams and tracks; spur_format_name() is "joined". The call relates clocks by
 * their epochs or because they are the same clock, else fails with SPUR_ERR_USAGE (see
 * spur_options.same_clock). A trace that is still being written cannot be joined.
 * Returns: as spur_open().
 * Lifetime: as spur_open().
 * Threads: any thread.
 */
enum spur_status spur_open_several(struct spur_trace **out, const char *const *paths, size_t count,
				   const struct spur_options *opt, struct spur_error *err);
/*
 * Opens a trace of one file from `size` bytes in memory. `name` is the path that messages show;
 * other files of the trace, such as a program's symbols, are looked for beside it, unless it is
 * NULL or "-". The trace cannot be followed (spur_options.follow).
 * Returns: as spur_open().
 * Lifetime: `data` must stay valid and unchanged until spur_close(); name and options are copied.
 * Threads: any thread.
 */
enum spur_status spur_open_memory(struct spur_trace **out, const char *name, const void *data,
				  size_t size, const struct spur_options *opt,
				  struct spur_error *err);
/*
 * Opens a trace of one file from the current position of a descriptor of a file, pipe or socket.
 * `name` is as for spur_open_memory(). The trace cannot be followed.
 * Returns: as spur_open().
 * Lifetime: the caller keeps the descriptor and may close it at once; its position moves if it is
 * not a regular file. Name and options are copied.
 * Threads: any thread.
 */
enum spur_status spur_open_fd(struct spur_trace **out, int fd, const char *name,
			      const struct spur_options *opt, struct spur_error *err);
/*
 * Closes a trace and frees everything that belongs to it, including open feeds. NULL: does
 * nothing.
 * Returns: nothing.
 * Lifetime: everything that calls on the trace returned becomes invalid.
 * Threads: one thread at a time.
 */
void spur_close(struct spur_trace *t);

/*
 * Reads the next events of all streams, merged by time. Waits for more if the input is a pipe that
 * is still open. A trace is read either by this call or by feeds (spur_feed_open()).
 * Returns: SPUR_OK with at least one row; SPUR_END with none; SPUR_FAIL with none if out of memory,
 * as every later call then does. Other traces are not affected.
 * Lifetime: the rows are valid until the next call on the trace's rows or spur_close().
 * Threads: one thread at a time.
 */
enum spur_status spur_next(struct spur_trace *t, const struct spur_event **rows, size_t *count);
/*
 * Copies the error of the latest call on the trace that returned SPUR_FAIL, whichever thread
 * called.
 * Returns: true; false with code SPUR_ERR_NONE if no call has failed.
 * Lifetime: the copy is the caller's.
 * Threads: any thread.
 */
bool spur_last_error(const struct spur_trace *t, struct spur_error *err);

/*
 * The name of the trace's format, such as "uftrace", as spur_options.format takes it; "joined" for
 * traces opened as one.
 * Returns: a name, "" if t is NULL.
 * Lifetime: static.
 * Threads: any thread.
 */
const char *spur_format_name(const struct spur_trace *t);
/*
 * The version of the format that the trace states, such as "4" or "2.0".
 * Returns: text, "" if the trace states none.
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const char *spur_format_version(const struct spur_trace *t);
/*
 * The byte order of the trace's records.
 * Returns: "little", "big" or "mixed"; "" if none is known.
 * Lifetime: static.
 * Threads: any thread.
 */
const char *spur_byte_order(const struct spur_trace *t);

/* --- strings --- */

/*
 * The text of a string id; `len` (may be NULL) gets its length, as it may hold any bytes.
 * Returns: NUL-ended text, "" for unknown ids.
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const char *spur_string(const struct spur_trace *t, uint32_t id, size_t *len);
/*
 * The name of a kind: "BEGIN", "END", ...
 * Returns: the name; "" if the number is no enum spur_kind.
 * Lifetime: static.
 * Threads: any thread.
 */
const char *spur_kind_name(unsigned kind);

/* --- arguments --- */

/*
 * Decodes the arguments of an event of this trace. Replaces what `args` held before and reuses its
 * memory; `args` must be zero-initialised before its first use.
 * Returns: SPUR_OK; SPUR_WARN if damaged arguments are missing; SPUR_FAIL if out of memory.
 * Lifetime: the values are valid until `args` is filled again or freed, and not after spur_close().
 * Threads: any thread, each with its own `args`.
 */
enum spur_status spur_args(struct spur_trace *t, const struct spur_event *ev,
			   struct spur_args *args);
/*
 * Frees what spur_args() stored and empties `args`. NULL: does nothing.
 * Returns: nothing.
 * Lifetime: the values end here; `args` may be filled again.
 * Threads: any thread, each with its own `args`.
 */
void spur_args_free(struct spur_args *args);

/* --- raw records --- */

/*
 * Finds the raw record of an event of this trace.
 * Returns: SPUR_OK; SPUR_FAIL, with *place zero, if out of memory.
 * Lifetime: the bytes are valid until spur_close().
 * Threads: any thread.
 */
enum spur_status spur_place(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_place *place);
/*
 * The raw times of an event's record, in ticks of its origin's clock: begin and end of a SPAN, else
 * the same number twice.
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

/* The properties that events of one name and origin share. Texts are string ids; 0: unknown. */
struct spur_class {
	uint32_t name; /* as in rows, in the form of spur_options.demangle */
	uint32_t raw_name; /* as in the data */
	uint32_t cat;
	uint32_t module; /* path of the program or library */
	uint32_t library; /* of a library call: path of the library that defines the function */
	uint32_t file, line; /* source location; line is a number, 0: unknown */
	uint32_t flags; /* enum spur_class_flag */
	/*
	 * The class that represents all classes that look the same in a table, such as overloads
	 * shown without their parameters; of most classes the class's own id.
	 */
	uint32_t head;
	/* Address of the symbol in its module, or number of the function or event in the data */
	uint64_t addr;
	uint64_t size; /* bytes of code; 0: unknown */
};

/*
 * One more than the largest class id so far; ids begin with 1. Grows while rows are read.
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_class_count(const struct spur_trace *t);
/*
 * Copies the properties of a class (spur_event.cls).
 * Returns: true; false, with *out zero, for unknown ids.
 * Lifetime: the copy is the caller's.
 * Threads: any thread.
 */
bool spur_class(const struct spur_trace *t, uint32_t id, struct spur_class *out);
/*
 * The names, types and sizes of the arguments that events of a class have. The first call makes the
 * schema; if the format's records describe themselves, it is complete after SPUR_END.
 * Returns: the schema; NULL for unknown ids, or if out of memory (spur_last_error()).
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const struct spur_schema *spur_schema(struct spur_trace *t, uint32_t id);

/* --- tracks, streams, origins --- */

/*
 * The number of tracks; ids are below it. Grows while rows are read.
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_track_count(const struct spur_trace *t);
/*
 * The track of an id (spur_event.track).
 * Returns: the track, NULL for unknown ids.
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const struct spur_track *spur_track(const struct spur_trace *t, uint32_t id);
/*
 * The number of streams; ids are below it. Grows while a trace that is still being written is read.
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_stream_count(const struct spur_trace *t);
/*
 * The stream of an id (spur_event.stream).
 * Returns: the stream, NULL for unknown ids.
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const struct spur_stream *spur_stream(const struct spur_trace *t, uint32_t id);
/*
 * The number of origins; ids are below it.
 * Returns: a number, 0 if t is NULL or if the format has none.
 * Threads: one thread at a time while rows of a live trace are read, else any thread.
 */
size_t spur_origin_count(const struct spur_trace *t);
/*
 * Copies the origin of an id (spur_stream.origin, spur_place.origin).
 * Returns: true; false, with *out zero, for unknown ids.
 * Lifetime: the copy is the caller's.
 * Threads: as spur_origin_count().
 */
bool spur_origin(const struct spur_trace *t, uint32_t id, struct spur_origin *out);

/* --- clock and facts --- */

/* The clock of a trace. */
struct spur_clock {
	const char *name; /* "monotonic", ...; "unknown" */
	const char *derived; /* how the name is known, as a sentence */
	uint64_t hz; /* ticks per second in the records; 0: unknown, a tick counts as a ns */
	bool ticks; /* spur_event.ts and .dur are ticks (spur_options.raw_time), not ns */
	/* Times count from a zero of the trace's own, not from that of the named clock */
	bool own_zero;
	bool epoch_known;
	int64_t epoch_ns; /* add to ts (in ns) for ns since 1970-01-01 UTC */
	int64_t epoch_error_ns; /* maximum error of epoch_ns */
};

/*
 * Copies the properties of the trace's clock.
 * Returns: true; false, with *out zero, if t is NULL.
 * Lifetime: the copy is the caller's; its texts are valid until spur_close().
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
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_info_count(const struct spur_trace *t);
/*
 * The fact of a number below spur_info_count(), in the order of the trace.
 * Returns: true; false, with *out zero, for unknown numbers.
 * Lifetime: texts are valid until spur_close().
 * Threads: any thread.
 */
bool spur_info(const struct spur_trace *t, size_t i, struct spur_info *out);

/* --- damage --- */

/*
 * The number of kinds of damage, loss and notes so far; complete after SPUR_END. Each call makes
 * the list anew.
 * Returns: a number, 0 if t is NULL.
 * Lifetime: the list is valid until the next call of spur_damage_count() or spur_close().
 * Threads: one thread at a time.
 */
size_t spur_damage_count(struct spur_trace *t);
/*
 * Item `i` of the list that spur_damage_count() made.
 * Returns: true; false for numbers beyond the list.
 * Lifetime: texts live as long as the list.
 * Threads: one thread at a time.
 */
bool spur_damage(struct spur_trace *t, size_t i, struct spur_damage *out);

/* --- filter --- */

/* How names are compared. */
enum spur_match {
	/* Extended regular expressions; a name without special characters is exact */
	SPUR_MATCH_REGEX,
	SPUR_MATCH_GLOB,
	SPUR_MATCH_EXACT,
	SPUR_MATCH_FORMS
};

/*
 * Selects the rows to read; all conditions that are set must hold. Initialise with SPUR_FILTER() or
 * spur_filter_default(). docs/selecting.md describes the texts.
 */
struct spur_filter {
	size_t size; /* sizeof(struct spur_filter), as spur_options.size */
	/* An expression, such as "dur > 1ms && name =~ 'read'"; NULL: no condition */
	const char *where;
	/* NULL-terminated patterns: events with any of these names; NULL: all */
	const char *const *names;
	enum spur_match match; /* how `names` are compared */
	/*
	 * Rows pass from time `from` to before time `to`, written as for --from and --to ("1.5s"
	 * counts from the first event, "@5ms" is on the trace's own clock); NULL: no limit. Formats
	 * that can seek skip the rest.
	 */
	const char *from, *to;
	/* Rows with begin <= ts < end, in the unit of rows; both 0: no limit. */
	int64_t begin, end;
	/*
	 * Minimum duration of calls in ns; 0: all. SPUR_MIN_DUR_OF_TRACE: the threshold below which
	 * the trace itself asks analyses to leave calls out, which `spur report` uses.
	 */
	int64_t min_dur;
};

#define SPUR_MIN_DUR_OF_TRACE INT64_C(-1)

/* As SPUR_OPTIONS(). */
#define SPUR_FILTER(...) { .size = sizeof(struct spur_filter), __VA_ARGS__ }

/* Returns a filter that all rows pass, for any version of C++. Any thread. */
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
 * Makes spur_next() and feeds give only rows that pass the filter. Must be called before rows are
 * read; a later call replaces the filter. NULL: all rows pass.
 * Returns: SPUR_OK; SPUR_FAIL, with the previous filter unchanged, if the filter is invalid (`err`,
 * which may be NULL, names the text and the place in it), if rows have been read, or if out of
 * memory.
 * Lifetime: the filter's texts are copied.
 * Threads: one thread at a time.
 */
enum spur_status spur_set_filter(struct spur_trace *t, const struct spur_filter *filter,
				 struct spur_error *err);

/* --- feeds: reading on several threads --- */

/* A part of a trace that can be read separately: in most formats the rows of one thread. */
struct spur_feed;

/* The properties of a feed that are known before it is read. */
struct spur_feed_info {
	uint32_t track; /* its main track; SPUR_NONE: no main track */
	/* All rows of this stream are in the feed, in stored order; SPUR_NONE: no such stream */
	uint32_t stream;
	uint64_t size; /* approximate bytes of its data; 0: unknown. Start large feeds first */
};

/*
 * The number of feeds, known once the trace is open.
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_feed_count(const struct spur_trace *t);
/*
 * Copies the properties of a feed.
 * Returns: true; false, with *out zero, for unknown numbers.
 * Lifetime: the copy is the caller's.
 * Threads: any thread.
 */
bool spur_feed_info(const struct spur_trace *t, size_t number, struct spur_feed_info *out);
/*
 * Whether rows of one track may come from several feeds (CTF, where each stream is that of a CPU).
 * If so, only spur_next() gives the rows of a track by time; a program that does not need that
 * order may still read feeds.
 * Returns: true or false.
 * Lifetime: does not change while the trace is open.
 * Threads: any thread.
 */
bool spur_tracks_shared(const struct spur_trace *t);
/*
 * Opens feed `number` for reading, which is possible once for each feed. All feeds together have
 * the rows of spur_next(), which can no longer be called.
 * Returns: SPUR_OK; SPUR_FAIL, with *out NULL and `err` (may be NULL) set, if the feed was opened
 * before, if spur_next() was called, if the filter needs the rows of all feeds by time, or if out
 * of memory.
 * Lifetime: the feed is valid until spur_close(), and can be read until spur_feed_close().
 * Threads: any thread.
 */
enum spur_status spur_feed_open(struct spur_feed **out, struct spur_trace *t, size_t number,
				struct spur_error *err);
/*
 * Reads the feed's next rows, which are in time order except for rows with SPUR_F_BACK.
 * Returns: as spur_next().
 * Lifetime: the rows are valid until the next call on the feed.
 * Threads: one thread at a time for each feed; different feeds at the same time.
 */
enum spur_status spur_feed_next(struct spur_feed *f, const struct spur_event **rows, size_t *count);
/*
 * Ends reading a feed and frees its buffers. NULL: does nothing.
 * Returns: nothing.
 * Lifetime: the feed's rows become invalid.
 * Threads: as spur_feed_next().
 */
void spur_feed_close(struct spur_feed *f);

/* --- spans: pairing of begins and ends --- */

enum spur_span_flag {
	/* The data lacks its end; `end` is the time of the row that showed it was over */
	SPUR_SPAN_IMPLIED = 1,
	SPUR_SPAN_OPEN = 2, /* it was open when the data ended; `end` is the time of the last row */
	/* An END without a BEGIN: only name, class, track and `end` are known */
	SPUR_SPAN_NO_BEGIN = 4,
	SPUR_SPAN_OFF_CPU = 8, /* not a call: the thread was off the CPU in the span around it */
	/* With OFF_CPU: the data lacks the time when the thread ran again; dur and self are 0 */
	SPUR_SPAN_NO_END = 16,
};

/* A span or call from begin to end. Times are in the unit of rows. */
struct spur_span {
	int64_t begin, end;
	int64_t dur; /* end - begin; 0 if time ran backwards */
	int64_t self; /* the part of dur outside inner spans and on the CPU */
	uint64_t id; /* from 1, in the order of begins; 0 with SPUR_SPAN_NO_BEGIN */
	/* id of the span around it on its track; 0: none, or its begin is missing */
	uint64_t parent;
	uint32_t track;
	uint32_t cls;
	uint32_t name; /* string id */
	uint32_t cat; /* string id */
	uint32_t depth; /* number of spans open around it on its track */
	uint32_t flags; /* enum spur_span_flag */
};

/*
 * Pairs begins and ends of one trace: of all rows in the order of spur_next(), or of one feed after
 * another.
 */
struct spur_pairing;

/*
 * Makes a pairing. A program that reads feeds on several threads needs one for each thread.
 * Returns: SPUR_OK; SPUR_FAIL, with *out NULL and `err` (may be NULL) set, if out of memory.
 * Lifetime: the pairing is the caller's until spur_pairing_free(), which must come before
 * spur_close().
 * Threads: any thread.
 */
enum spur_status spur_pairing_new(struct spur_pairing **out, struct spur_trace *t,
				  struct spur_error *err);
/*
 * Takes rows in time order (skipping all but BEGIN, END, SPAN and SWITCH rows) and gives the spans
 * that ended with them, by end on each track. A SPAN row ends at the first later row of its track
 * beyond its end, or at spur_pairing_end().
 * Returns: SPUR_OK, perhaps with no span; SPUR_FAIL if out of memory: spans are missing from then
 * on.
 * Lifetime: the spans are valid until the next call on the pairing.
 * Threads: one thread at a time for each pairing.
 */
enum spur_status spur_pairing_rows(struct spur_pairing *p, const struct spur_event *rows, size_t n,
				   const struct spur_span **spans, size_t *count);
/*
 * Ends all open spans. Must be called after the last row (of all feeds, or of one feed). The
 * pairing may then take rows of another feed.
 * Returns: as spur_pairing_rows().
 * Lifetime: as spur_pairing_rows().
 * Threads: as spur_pairing_rows().
 */
enum spur_status spur_pairing_end(struct spur_pairing *p, const struct spur_span **spans,
				  size_t *count);
/*
 * Frees a pairing. NULL: does nothing.
 * Returns: nothing.
 * Lifetime: the pairing and its spans become invalid.
 * Threads: one thread at a time for each pairing.
 */
void spur_pairing_free(struct spur_pairing *p);

/* --- percentiles --- */

/*
 * A distribution of durations: exact for up to 64 of them, beyond that with an error of at most
 * 1/128 (0.8 %), in bounded memory. `spur report` shows the same percentiles.
 */
struct spur_spread;

/*
 * Makes an empty spread.
 * Returns: the spread, NULL if out of memory.
 * Lifetime: the caller's until spur_spread_free().
 * Threads: any thread.
 */
struct spur_spread *spur_spread_new(void);
/*
 * Adds a duration.
 * Returns: SPUR_OK; SPUR_FAIL if out of memory: durations are missing from then on.
 * Threads: one thread at a time for each spread.
 */
enum spur_status spur_spread_add(struct spur_spread *s, uint64_t duration);
/*
 * The number of durations added so far.
 * Returns: a number, 0 if s is NULL.
 * Threads: one thread at a time for each spread.
 */
uint64_t spur_spread_count(const struct spur_spread *s);
/*
 * The duration at or below which `percent` (0 to 100) percent of all durations are, by nearest
 * rank. More durations may be added later.
 * Returns: the duration; 0 if the spread is empty, or if out of memory.
 * Threads: one thread at a time for each spread.
 */
uint64_t spur_spread_percentile(struct spur_spread *s, unsigned percent);
/*
 * Frees a spread. NULL: does nothing.
 * Returns: nothing.
 * Lifetime: the spread becomes invalid.
 * Threads: one thread at a time for each spread.
 */
void spur_spread_free(struct spur_spread *s);

/* --- library --- */

/*
 * The version of the library at run time. SPUR_VERSION is the version of the header.
 * Returns: text such as "0.1.0".
 * Lifetime: static.
 * Threads: any thread.
 */
const char *spur_version(void);

#ifdef __cplusplus
}
#endif
#endif
