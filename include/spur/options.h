/* Options: how a trace is opened. Included by <spur.h>. */
#ifndef SPUR_OPTIONS_H
#define SPUR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spur_filter;

/* A time to add to all times of one of several traces that are opened as one. */
struct spur_offset {
	size_t trace; /* its number, from 1 on: the clock of trace 0 is that of all */
	int64_t ns;
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
	/*
	 * When several traces are opened as one: `noffsets` times that are added to what relates
	 * the clocks otherwise. Those of one trace add up. Clocks that nothing else relates are
	 * then taken to be the same clock, with these offsets.
	 */
	const struct spur_offset *offsets;
	size_t noffsets;
	/*
	 * When several traces are opened as one: relates clocks by events, whatever the traces say
	 * of them. NULL-terminated; each is "[N:]A=B": the first event named A in the first trace
	 * and the first one named B in trace N (counted from 1; default: 2) happened at the same
	 * moment. One pair gives the offset; several give offset and drift by least squares. Or
	 * "[N:]auto": the events whose names both traces have are matched (without N: for all
	 * traces); opening fails if no match is certain. Reads the traces once or twice more, so
	 * they cannot be pipes. NULL: none.
	 */
	const char *const *align;
	/*
	 * When several traces are opened as one: processes and threads whose ids an earlier trace
	 * has get others, so that a process or thread is known by its ids alone: the own id plus
	 * 4,194,304 (above all ids of Linux), or more where that is taken. false: tracks keep their
	 * ids
	 */
	bool distinct_ids;
	/*
	 * Reads the descriptions in a trace (CTF's metadata) piece by piece, leaves out those that
	 * are damaged, and tells them as damage. false: a trace whose description cannot be read
	 * is not opened
	 */
	bool salvage;
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

#ifdef __cplusplus
}
#endif
#endif
