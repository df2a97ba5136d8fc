/*
 * A writer is a file that defines one `const struct spur_writer`: src/export/NAME.c, or
 * src/format/NAME/write.c for a format that is read too. The Makefile makes the table of writers
 * from the file names.
 *
 * The core (flow/convert.h) owns reading, filtering, pairing and losses, and pushes rows. A *lane*
 * is the writer's state of one feed: lanes are written in parallel, each by one thread at a time,
 * and their output is merged by time in pieces of `piece` rows. If feeds cannot be read separately,
 * or if the writer wants all rows merged by time, there is one lane for all. Either way the rows of
 * a track are all in one lane, in the order of time.
 *
 * The rows of a lane are nested: on each track, ends come in the reverse order of their begins. The
 * core adds ends that the data lacks (write_end.implied), ends spans that are open when the data of
 * their feed ends (write_end.unfinished; flow/ends.h), also if all feeds are in one lane, and
 * leaves out and counts ends without a begin. `spans` chooses whether spans come as begins and
 * ends, as whole spans, or both.
 */
#ifndef SPUR_FORMAT_WRITER_H
#define SPUR_FORMAT_WRITER_H

#include "base/out.h"
#include "base/outdir.h"
#include "format/loss.h"
#include "model/args.h"
#include "model/trace.h"

/* How a target carries a kind of event. */
enum write_fit { WRITE_DROPPED, WRITE_DEGRADED, WRITE_WHOLE };

/*
 * Initializer of the kinds from `first` to `last` in spur_writer.fits, in the order of enum
 * spur_kind.
 */
#define WRITE_FITS(first, last, fit) [(first)...(last)] = (fit)

/* The first reasons of every loss table; those of the writer follow, from LOSS_OWN on. */
enum { LOSS_ORPHAN, LOSS_KIND_DROPPED, LOSS_KIND_DEGRADED, LOSS_OPEN, LOSS_OVERLAP, LOSS_OWN };

/* What a writer gets of spans. */
enum write_spans {
	WRITE_SPANS_STORED, /* begins and ends by row() and end(), SPAN rows by row() */
	WRITE_SPANS_SPLIT, /* begins and ends only: SPAN rows come as BEGIN rows and ends */
	WRITE_SPANS_WHOLE, /* whole spans only, by span(), each at its end */
};

/* What a writer gets of SWITCH rows. */
enum write_switches {
	/* A row that leaves the CPU begins a span of time off the CPU, one that gets it ends it. */
	WRITE_SWITCHES_PAIRED,
	WRITE_SWITCHES_LONE, /* as that; rows that get a CPU and end nothing come by row() */
	WRITE_SWITCHES_ROWS, /* all by row() */
};

/* A setting of a writer, given by the user as NAME=VALUE. */
struct write_setting {
	const char *name;
	const char *const *values; /* NULL-terminated; NULL: any text */
	const char *help; /* one line: what it does, and the default */
};

struct pipe_options; /* flow/pipe.h */

/* One conversion, as the writer sees it. */
struct write {
	struct spur_trace *trace;
	const struct spur_writer *writer;
	/*
	 * The writer's `fits`; open() may set those of this conversion, if what the target carries
	 * depends on the source.
	 */
	const uint8_t *fits;
	struct out *out; /* the output file; unused if the output is a directory */
	struct outdir *dir; /* the output directory, or NULL */
	/*
	 * The file beside the output (spur_writer.side), or NULL: the writer has none, or the
	 * output is no new file
	 */
	struct out *side;
	int64_t zero; /* the writer subtracts it from all times */
	struct loss_table loss;
	/*
	 * Names, ids and arguments are replaced (flow/mask.h): rows, classes, args() and
	 * write_track() have what takes their place. The writer leaves out what it would take from
	 * elsewhere: raw records, stacks and texts of the source's format, its paths.
	 */
	bool masked;
	/* Returns what takes the place of a track; NULL: tracks are not replaced */
	const struct spur_track *(*track)(const struct write *w, uint32_t id);
	const char *settings; /* NAME=VALUE,..., checked by the core; see write_setting() */
	/* Set by a writer whose callback fails for another reason than lack of memory. */
	struct spur_error error;
	/* Returns true if arguments of the class's events are wanted. Thread-safe. */
	bool (*wants_args)(const struct write *w, uint32_t cls);
	/*
	 * Decodes the arguments of a row; gives none if they are not wanted. Returns SPUR_OK,
	 * SPUR_WARN if they are damaged and less was decoded, or SPUR_FAIL if out of memory.
	 * Thread-safe if `args` is the caller's own.
	 */
	enum spur_status (*args)(const struct write *w, const struct spur_event *row,
				 struct spur_args *args);
	/*
	 * As spur_format.stack(), of the classes that rows have. Returns 0 if out of memory.
	 * Thread-safe.
	 */
	size_t (*stack)(const struct write *w, const struct spur_event *row, uint32_t *cls,
			size_t cap);
	void *user; /* private to the core */
};

enum { WRITE_PARENTS = 64 /* levels of tracks, see trace_pid_of() */ };

/* Returns a track as it is to be written, or NULL if it does not exist. */
static inline const struct spur_track *write_track(const struct write *w, uint32_t id)
{
	return w->track ? w->track(w, id) : trace_track(w->trace, id);
}

/*
 * Returns the process id of the track, or of the nearest track above it that has one, as it is to
 * be written; -1 if none has.
 */
static inline int64_t write_pid_of(const struct write *w, uint32_t track)
{
	const struct spur_track *k = write_track(w, track);

	for (int i = 0; k && k->pid == -1 && i < WRITE_PARENTS; i++)
		k = write_track(w, k->parent);
	return k ? k->pid : -1;
}

/*
 * Returns the value that the user gave to a setting, with its length, or NULL if the user gave
 * none.
 */
const char *write_setting(const struct write *w, const char *name, size_t *len);
/* Returns true if the user gave the setting that value. */
bool write_setting_is(const struct write *w, const char *name, const char *value);

/* The end of a span at the time of a row. */
struct write_end {
	uint32_t cls; /* of its begin */
	uint32_t name; /* of its begin, string id */
	bool off_cpu; /* the span is time off the CPU: cls and name are unused */
	bool implied; /* the row is not the span's own end, so its arguments are not the span's */
	bool unfinished; /* the data ends before the span does; implied too */
	bool whole; /* of a SPAN row that was split: the end is exact, but has no arguments */
	int64_t begin; /* the time of its begin, ns on the trace's clock */
};

struct spur_writer {
	const char *name; /* "chrome" */
	const char *title; /* one line for help and lists */
	/* NULL-terminated: file name extensions of this target, such as "json" */
	const char *const *endings;
	uint8_t fits[SPUR_KINDS]; /* enum write_fit */
	/* Why kinds are dropped or degraded, for the loss table; NULL: no kind is */
	const char *dropped, *degraded;
	const struct loss_reason *reasons; /* the writer's own reasons, from LOSS_OWN on */
	size_t nreasons;
	/*
	 * Times up to this many ns from zero are exact in the target; if a trace has larger ones,
	 * times count from the first event, unless the user chose otherwise. 0: all times are
	 * exact.
	 */
	int64_t exact_ns;
	uint8_t spans; /* enum write_spans */
	uint8_t switches; /* enum write_switches */
	bool takes_orphans; /* ends without a begin come by row(), as END rows */
	bool takes_open; /* spans that are open when the data ends stay open */
	bool merged; /* all rows come by time, in one lane */
	bool source_lines; /* wants classes as spur_options.source_lines gives them */
	/*
	 * Times before zero cannot be written: if the trace has some, times count from its first
	 * event, unless the user chose otherwise.
	 */
	bool no_negative;
	bool is_dir; /* the output is a directory, write.dir */
	/* With is_dir: an output whose name has this ending is a file all the same; NULL: none */
	const char *file_ending;
	const struct write_setting *settings; /* ended by one without a name; NULL: none */
	/*
	 * Returns the ending that the name of a second file has, which is written beside the output
	 * (write.side), by write.settings alone; or NULL: no such file. NULL: there never is one. A
	 * file without a byte is dropped.
	 */
	const char *(*side)(const struct write *w);
	/*
	 * Number of rows of a lane that stay together in the output. 0: lanes write nothing to
	 * `o`, but keep what they need until finish() (base/spool.h).
	 */
	uint32_t piece;
	/*
	 * Makes the state of one output and writes what precedes the events. Returns NULL if out
	 * of memory.
	 */
	void *(*open)(struct write *w);
	/*
	 * Makes the state of a lane whose rows are mostly of `track` (SPUR_NONE: any track).
	 * Returns NULL if out of memory. NULL: the state of the output is that of its lanes.
	 */
	void *(*lane)(void *self, uint32_t track);
	/*
	 * Writes a row other than those that end() and span() get. Returns false if out of memory.
	 */
	bool (*row)(void *lane, const struct spur_event *row, struct out *o);
	/*
	 * Writes the end of the innermost open span of row->track at row->ts. Returns false if out
	 * of memory.
	 */
	bool (*end)(void *lane, const struct spur_event *row, const struct write_end *end,
		    struct out *o);
	/*
	 * With WRITE_SPANS_WHOLE, instead of end(): writes a span. `row` is its BEGIN or SPAN row,
	 * or the SWITCH row that left the CPU, with the length in `dur`; `last` is the END row,
	 * whose arguments are the span's too, or NULL if the span has none. Returns false if out of
	 * memory.
	 */
	bool (*span)(void *lane, const struct spur_event *row, const struct spur_event *last,
		     const struct write_end *end, struct out *o);
	void (*lane_close)(void *lane); /* NULL: as with `lane` */
	/*
	 * Instead of all of these: reads the trace itself and writes all events, sets *rows to how
	 * many they were. NULL: the core pushes rows. Returns false as finish() does.
	 */
	bool (*read)(void *self, const struct pipe_options *pipe, uint64_t *rows);
	/*
	 * Writes what follows the events. All tracks and classes are known by then. Not called if
	 * the conversion failed. Returns false if out of memory, or with write.error set.
	 */
	bool (*finish)(void *self);
	void (*close)(void *self);
};

/* NULL-ended; generated. */
extern const struct spur_writer *const spur_writers[];
/* By name, or NULL. */
const struct spur_writer *writer_find(const char *name);
/* Returns the writer with the longest ending that the file's name has, or NULL. */
const struct spur_writer *writer_of_path(const char *path);
/* Returns true if the writer's output of that name is a directory; NULL: standard output. */
bool writer_to_dir(const struct spur_writer *w, const char *path);
/*
 * Returns the ending of the file beside the output that the writer writes with these settings, or
 * NULL.
 */
const char *writer_side(const struct spur_writer *w, const char *settings);
/*
 * Checks settings, NAME=VALUE joined by commas, against those that the writer has. Returns
 * SPUR_FAIL with the error set if one is unknown.
 */
enum spur_status writer_check(const struct spur_writer *w, const char *settings,
			      struct spur_error *err);

#endif
