/*
 * A format is a file src/format/NAME.c that defines `const struct spur_format spur_format_NAME`;
 * the Makefile makes the table of formats from the file names. Formats do not include each other's
 * headers.
 */
#ifndef SPUR_FORMAT_FORMAT_H
#define SPUR_FORMAT_FORMAT_H

#include "base/out.h"
#include "base/source.h"
#include "format/copy.h"
#include "model/layout.h"
#include "model/symbol/sites.h"
#include "model/trace.h"

enum { PROBE_BYTES = 65536 }; /* of a file's beginning */

/* The input of probe(). */
struct probe {
	const char *path;
	bool is_dir; /* `head` is then empty; probe() looks for files below `path` */
	const uint8_t *head; /* the first bytes, up to PROBE_BYTES */
	size_t len;
};

/* A program as one process ran it, from exec() on. */
struct format_session {
	const char *name; /* of its program's file */
	size_t len; /* of the name */
	int64_t pid;
};

/* What spur_format.recover is for. */
enum format_recovers {
	RECOVERS_FILE, /* files, in place */
	/*
	 * Directories, which it completes by what is in shared memory, in place or in another
	 * directory. The latter is put in order by a copy (`repair` in struct copy).
	 */
	RECOVERS_DIR,
	/*
	 * The same, but not in place: without `to` it only counts what is there, and `memory` NULL
	 * is the directory itself.
	 */
	RECOVERS_COPY,
};

/* What spur_format.recover is to do, and what it did. */
struct format_recovery {
	/* Set by the caller. */
	bool force; /* also while the process runs */
	/* What is complete is not read, as its process may still be cutting its end off. */
	bool brief;
	bool remove; /* remove the shared memory that was read when its data is stored */
	const char *memory; /* the directory with left-over shared memory; NULL: the system's */
	/*
	 * A new directory that gets the files that change, and links to all others, so that the
	 * recording itself stays as it is; NULL: it is changed in place. Of directories only.
	 */
	const char *to;
	/* Results. */
	bool runs; /* its process still runs; without `force` nothing was changed */
	bool complete; /* it was complete before */
	int64_t pid;
	uint64_t closed; /* parts that the program had left open */
	uint64_t dropped; /* bytes at the end that were never used */
	uint64_t lost; /* events that the recording lacks, as far as it says */
	/* Of directories: of left-over buffers. */
	uint64_t buffers, added; /* that had something new; bytes that were added */
	uint64_t threads; /* or streams that they are of */
	uint64_t bad, bad_bytes; /* buffers that cannot be read, and their bytes */
};

/* What spur_format.snapshot did. */
struct format_snapshot {
	uint64_t since; /* set by the caller: ns of CLOCK_MONOTONIC; older parts may be left out */
	bool runs; /* its process still runs */
	int64_t pid;
	uint64_t bytes; /* of the copy */
};

struct spur_format {
	const char *name; /* "uftrace" */
	const char *title; /* one line for `spur formats` */
	const char *reads; /* short text: which parts and versions are supported */
	/*
	 * Returns a score from 0 (another format) to 100 (certain), by content alone. The best
	 * score wins; a tie is an error that names both formats.
	 */
	int (*probe)(const struct probe *p);
	/*
	 * NULL-terminated prefixes of paths that are not files and that open() handles itself.
	 * NULL: no such paths.
	 */
	const char *const *urls;
	/*
	 * Rules for functions leave those without a symbol alone, as the format's own tool does;
	 * in other formats they match the names that such functions are shown by.
	 */
	bool rules_need_symbols;
	bool counts_discarded; /* traces record how many events were lost (struct feed) */
	bool follows_dirs; /* open() supports options.follow for directories too */
	/*
	 * Lists the files of a directory that are the traces of one run in `*paths` (in the arena):
	 * each is opened separately, and all are joined. Fails if they do not belong together.
	 * NULL: open() takes the directory.
	 */
	enum spur_status (*members)(const char *dir, struct arena *a, const char *const **paths,
				    size_t *count, struct spur_error *err);
	/*
	 * Called if all traces to be joined are of this format, after all are open and before rows
	 * are read: suppresses records that several of them contain. `run`: they are the members of
	 * a run; else the user named them. Returns false if out of memory. NULL: traces never
	 * contain the same records.
	 */
	bool (*relate)(struct spur_trace *const *members, size_t count, bool run);
	/*
	 * Adds what the directory of a run says, and its members do not, to t->info. Members' own
	 * info is shown beside it. Returns false if out of memory. NULL: a directory says nothing.
	 */
	bool (*run_info)(struct spur_trace *t, const char *dir);
	/*
	 * Declares streams, tracks, feeds, clock and info. Reports damage to t->diag; fails only if
	 * nothing can be read. `src` is the open file, or NULL for a directory or a URL; it belongs
	 * to the trace and lives until close.
	 */
	enum spur_status (*open)(struct spur_trace *t, struct source *src, struct spur_error *err);
	/*
	 * Fills the batch with at most `cap` next rows of the feed. Returns SPUR_OK with at least
	 * one row, or with some summed or counted (batch.sink, batch.tally), SPUR_END at the end,
	 * or SPUR_FAIL if out of memory. On a pipe it returns the rows that have arrived and waits
	 * only if there are no rows. Different threads may read different feeds at once.
	 */
	enum spur_status (*next)(struct spur_trace *t, struct feed *f, struct batch *b);
	bool sums_calls; /* next() may sum calls into a batch's sink */
	bool counts_rows; /* next() may count rows into a batch's tally */
	/* Makes next() return the feed's first row again. NULL: the format cannot. */
	void (*rewind)(struct spur_trace *t, struct feed *f);
	/*
	 * Divides a feed, of which at most some rows were read ahead, into parts that follow each
	 * other and can be read by different threads at once: the feed itself is part 0, and ends
	 * from now on where part 1 begins. A part has `bytes` bytes or more. Returns the number of
	 * parts, 1 if the feed cannot be divided for this use. Called once for a feed. NULL: no
	 * feed can be divided.
	 */
	uint32_t (*divide)(struct spur_trace *t, struct feed *f, uint64_t bytes,
			   enum parts_use use);
	/*
	 * Makes the state of *part, by which next() reads a part of a feed, from 1 on. Its rows
	 * have no flags that depend on the part before it, unless that part is given, read to its
	 * end. Returns false if out of memory. Free with part_close(). Thread-safe.
	 */
	bool (*part_open)(struct spur_trace *t, const struct feed *f, uint32_t number,
			  const struct feed *before, struct feed *part);
	/*
	 * Returns true if the rows of a part are those that follow the part before it, which was
	 * read to its end; else the part must be opened again, with `before`.
	 */
	bool (*part_follows)(const struct feed *before, const struct feed *part);
	void (*part_close)(struct feed *part);
	/*
	 * The time of the first row of a feed of which nothing has been read, or an earlier one, if
	 * that is known without reading rows: then a merge of very many feeds need not begin with
	 * the feed before that time. Returns false if it is not known. NULL: it never is.
	 */
	bool (*begins)(struct spur_trace *t, const struct feed *f, int64_t *ts);
	/*
	 * Decodes the arguments of an event. NULL: the class's plan is run over the payload.
	 * Thread-safe.
	 */
	enum spur_status (*args)(struct spur_trace *t, const struct spur_event *ev,
				 struct spur_args *args);
	/*
	 * Returns true if all arguments of the event can be decoded, as the bounds that the reader
	 * checked prove; *n gets their number. `args` is the one that args() decodes the other
	 * events of the feed into. NULL: nothing is proven. Thread-safe.
	 */
	bool (*args_proven)(struct spur_trace *t, const struct spur_event *ev,
			    const struct spur_args *args, uint32_t *n);
	/* How events are read from their bytes. NULL: only by args(). */
	const struct byte_source *bytes;
	/*
	 * Writes the stack of a SAMPLE row to `cls`: at most `cap` class ids (none is 0), from the
	 * root to the leaf. Returns the number of frames, which may be larger; 0: the row has no
	 * stack. The row's `dur` is the time spent in the leaf itself, its `id` the number of calls
	 * summed in it (0: one). NULL: no row has a stack. Called once or twice for each row, so it
	 * must not lock or look up names. Thread-safe.
	 */
	size_t (*stack)(struct spur_trace *t, const struct spur_event *ev, uint32_t *cls,
			size_t cap);
	/*
	 * Calls `each` with the name and value of each number that an event carries besides its own
	 * arguments (performance counters in contexts). Requires trace->has_samples. Returns false
	 * if `each` did. NULL: no event carries such numbers.
	 */
	bool (*samples)(struct spur_trace *t, const struct spur_event *ev,
			struct spur_args *scratch,
			bool (*each)(void *self, const struct spur_value *value), void *self);
	/* Decodes the raw record's fields, for `spur dump`. Thread-safe. */
	enum spur_status (*fields)(struct spur_trace *t, const struct spur_event *ev,
				   struct spur_args *args);
	/*
	 * Returns the layout of the record, which lives as long as the trace, if fields() gives
	 * just what the layout says; *raw gets the record's bytes. Returns NULL if the fields have
	 * to be decoded. NULL: always. Thread-safe.
	 */
	const struct record_layout *(*layout)(struct spur_trace *t, const struct spur_event *ev,
					      const uint8_t **raw);
	/*
	 * Adds to *place, which format_place() has filled from the row, what the row cannot hold:
	 * lengths of 4 GiB and more, bits, the bytes, the origin. NULL: the bytes are not
	 * available. Thread-safe.
	 */
	void (*place)(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place);
	/*
	 * Gets the raw times of the row's record in ticks of its origin's clock: its begin, and its
	 * end if it is a SPAN (else the same). Returns false if the record has no time. NULL: no
	 * record has one. Thread-safe.
	 */
	bool (*ticks)(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2]);
	/*
	 * Makes the schema of a class in the trace's arena. Called once for each class, with
	 * t->lock held. Returns NULL if out of memory. NULL: the schema is made from the class's
	 * plans (schema_of_class()).
	 */
	const struct spur_schema *(*schema)(struct spur_trace *t, const struct event_class *cls);
	/*
	 * Appends the producer's own text for the event's payload to a memory buffer. Returns false
	 * if there is no such text. NULL: no event has one. Thread-safe.
	 */
	bool (*text)(struct spur_trace *t, const struct spur_event *ev, struct out *o);
	/*
	 * Writes the description of its records that the trace contains, as stored or (`compiled`)
	 * as the reader decodes it. NULL: traces contain no description.
	 */
	void (*metadata)(struct spur_trace *t, bool compiled, struct out *o);
	/*
	 * Gets the time of the latest row. Returns false if that would take reading everything.
	 * NULL: it always would. Called before rows are read.
	 */
	bool (*last)(struct spur_trace *t, int64_t *ts);
	/*
	 * Returns true if the base name of a program or library that is known once the trace is
	 * open begins with `word`. NULL: functions of this format belong to no program.
	 */
	bool (*has_module)(const struct spur_trace *t, struct text word);
	/*
	 * Returns the number, from 1, of the session that a track's thread belongs to at a time,
	 * which is valid before *until; 0: unknown. NULL: the format has no sessions. Thread-safe.
	 */
	uint32_t (*session_at)(const struct spur_trace *t, const struct spur_track *track,
			       int64_t ts, int64_t *until);
	/*
	 * Gets the session of that number. Returns false if the number is unknown. NULL if
	 * session_at is.
	 */
	bool (*session)(const struct spur_trace *t, uint32_t number, struct format_session *s);
	/*
	 * Returns the trace that the format's own tool reads by default, a path below the current
	 * directory, or NULL if it is missing. NULL: the tool has no default.
	 */
	const char *(*default_path)(void);
	/*
	 * Writes records to a new trace of the same format (format/copy.h). Returns SPUR_FAIL if
	 * out of memory, or with copy->err set. Failures to write to copy->out are in its `error`.
	 * NULL: traces cannot be copied.
	 */
	enum spur_status (*copy)(struct copy *copy);
	/*
	 * Returns true if the parts of such a copy can be joined by moving their records, with the
	 * ids of each part apart from those of the others, unless they are of one recording. NULL:
	 * a copy has one part.
	 */
	bool (*joins)(const struct copy *copy);
	/* Returns true if the copy of such a trace is a directory. NULL: it is a file. */
	bool (*copies_to_dir)(const struct spur_trace *t);
	/* The copy of a directory (`members`) is one too; its files are parts of one copy. */
	bool copies_runs;
	/*
	 * Completes what is there of a program that was killed; its events stay the same, and what
	 * is complete is not changed. NULL: such traces need nothing.
	 */
	enum spur_status (*recover)(const char *path, struct format_recovery *r,
				    struct spur_error *err);
	enum format_recovers recovers;
	/*
	 * Copies a file as it is now into the new file `fd`, while its process may go on writing.
	 * NULL: such files are not written in place.
	 */
	enum spur_status (*snapshot)(const char *path, int fd, struct format_snapshot *r,
				     struct spur_error *err);
	/* Reads maps of instrumented places in programs. NULL: programs have no such maps. */
	const struct site_reader *sites;
	void (*close)(struct spur_trace *t);
};

/* Returns the place of a row's record: what the row itself has, completed by spur_format.place. */
struct spur_place format_place(struct spur_trace *t, const struct spur_event *ev);

/*
 * Returns the schema of a class, from spur_format.schema or the class's plans. The first call makes
 * it; it lives until the trace is closed, and grows while records that describe themselves are
 * read. Returns NULL if out of memory or if the id is unknown. Thread-safe.
 */
const struct spur_schema *format_schema(struct spur_trace *t, uint32_t cls);

/* NULL-terminated; generated by the Makefile. */
extern const struct spur_format *const spur_formats[];
/* Returns the format of that name, or NULL. */
const struct spur_format *format_find(const char *name);
/* Returns the format that handles such a path, or NULL if it is that of a file or directory. */
const struct spur_format *format_of_url(const char *path);
/* Returns the format with the best score for a file or directory, or NULL with `err` set. */
const struct spur_format *format_probe(const struct probe *p, struct spur_error *err);

#endif
