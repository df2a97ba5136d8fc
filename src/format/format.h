/*
 * A format is one file that ends in one `const struct spur_format`; the Makefile makes the table of
 * all from the file names (src/format/NAME.c defines spur_format_NAME). Formats include nothing of
 * each other.
 */
#ifndef SPUR_FORMAT_FORMAT_H
#define SPUR_FORMAT_FORMAT_H

#include "base/out.h"
#include "base/source.h"
#include "model/symbol/sites.h"
#include "model/trace.h"

enum { PROBE_BYTES = 65536 }; /* of a file's beginning */

/* What probe() may look at. */
struct probe {
	const char *path;
	bool is_dir; /* then head is empty: look for files below path */
	const uint8_t *head; /* the first bytes, up to PROBE_BYTES */
	size_t len;
};

/* A program as one process ran it, from exec() on. */
struct format_session {
	const char *name; /* of its program's file */
	size_t len; /* of the name */
	int64_t pid;
};

struct spur_format {
	const char *name; /* "uftrace" */
	const char *title; /* one line for `spur formats` */
	const char *reads; /* what of it, in short */
	/*
	 * 0 (not mine) to 100 (certain), by content alone. The best score wins; a tie is an error
	 * that names both.
	 */
	int (*probe)(const struct probe *p);
	/*
	 * NULL-ended beginnings of paths that name no file: open() goes there itself. NULL: none.
	 */
	const char *const *urls;
	bool counts_discarded; /* traces say how many events their producer lost: struct feed */
	bool follows_dirs; /* open() obeys options.follow for a directory too */
	/*
	 * The files of a directory that are the traces of one run, into `*paths` (in the arena):
	 * each is opened alone, and all are read as one trace. Fails if they do not belong
	 * together. NULL: open() takes the directory.
	 */
	enum spur_status (*members)(const char *dir, struct arena *a, const char *const **paths,
				    size_t *count, struct spur_error *err);
	/*
	 * Called with all traces that are to be read as one open and no rows read, if all are of
	 * the format: leaves out what several of them have. `run`: they are the members of a run,
	 * else the user named them. Returns false if out of memory. NULL: they have nothing in
	 * common.
	 */
	bool (*relate)(struct spur_trace *const *members, size_t count, bool run);
	/*
	 * Declares streams, tracks, feeds, clock, info. Damage goes to t->diag; fails only where
	 * nothing can be read. `src` is the open file, or NULL for a directory or an URL; it
	 * belongs to the trace and lives until close.
	 */
	enum spur_status (*open)(struct spur_trace *t, struct source *src, struct spur_error *err);
	/*
	 * Fills the batch (cap rows at most) with the feed's next rows. SPUR_OK: at least one row;
	 * SPUR_END: no more; SPUR_FAIL: memory. On a pipe: returns what is there; waits only while
	 * there is none. Different feeds may be read by different threads at once.
	 */
	enum spur_status (*next)(struct spur_trace *t, struct feed *f, struct batch *b);
	/*
	 * Arguments of an event of this trace. NULL: the class's plan over the payload.
	 * Thread-safe.
	 */
	enum spur_status (*args)(struct spur_trace *t, const struct spur_event *ev,
				 struct spur_args *args);
	/*
	 * The stack of a SAMPLE row: class ids (trace_add_class(), none is 0), root first, the leaf
	 * last; `cap` of them at most into `cls`. Returns how many there are, which may be more; 0:
	 * the row has none. Then the row's `dur` is time spent in the leaf itself, its `id` the
	 * number of calls that are summed in it (0: one). NULL: no row has. Asked once or twice a
	 * row, so without locks or look-ups by name. Thread-safe.
	 */
	size_t (*stack)(struct spur_trace *t, const struct spur_event *ev, uint32_t *cls,
			size_t cap);
	/*
	 * Calls `each` with the numbers that an event carries beside what it says itself
	 * (performance counters in contexts), by their names. Events of trace->has_samples only.
	 * Returns false if `each` did. NULL: no event carries any.
	 */
	bool (*samples)(struct spur_trace *t, const struct spur_event *ev,
			struct spur_args *scratch,
			bool (*each)(void *self, const struct spur_value *value), void *self);
	/* The raw record's fields, for `spur dump`. Thread-safe. */
	enum spur_status (*fields)(struct spur_trace *t, const struct spur_event *ev,
				   struct spur_args *args);
	/*
	 * Fills *place, which is as the row says (format_place()), with what the row cannot hold:
	 * lengths of 4 GiB and more, bits, the bytes, the origin. NULL: the bytes cannot be had.
	 * Thread-safe.
	 */
	void (*place)(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place);
	/*
	 * The raw times of the row's record in ticks of its origin's clock: its begin, and its end
	 * if it is a SPAN (else the same). Returns false if the record has none. NULL: no record
	 * has. Thread-safe.
	 */
	bool (*ticks)(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2]);
	/*
	 * Makes the schema of a class in the trace's arena; called once a class, with t->lock held.
	 * Returns NULL if out of memory. NULL: the class's plans say all (schema_of_class()).
	 */
	const struct spur_schema *(*schema)(struct spur_trace *t, const struct event_class *cls);
	/*
	 * The producer's own words for the event's payload, appended to a memory buffer; false: it
	 * has none. NULL: none ever. Thread-safe.
	 */
	bool (*text)(struct spur_trace *t, const struct spur_event *ev, struct out *o);
	/*
	 * Writes the description of its records that the trace carries: as it stands, or
	 * (`compiled`) how it is decoded. NULL: traces carry none.
	 */
	void (*metadata)(struct spur_trace *t, bool compiled, struct out *o);
	/*
	 * The time of the latest row, where that can be had without reading everything; false: it
	 * cannot. NULL: never. Called before rows are read.
	 */
	bool (*last)(struct spur_trace *t, int64_t *ts);
	/*
	 * Returns true if the base name of a program or library of the trace, as far as they are
	 * known once it is open, begins with `word`. NULL: functions of this format belong to no
	 * program.
	 */
	bool (*has_module)(const struct spur_trace *t, struct text word);
	/*
	 * The number, from 1 on, of the session that a track's thread belongs to at a time; 0:
	 * unknown. It stays that before *until. NULL: the format has no sessions. Thread-safe.
	 */
	uint32_t (*session_at)(const struct spur_trace *t, const struct spur_track *track,
			       int64_t ts, int64_t *until);
	/* The session of that number. Returns false if there is none. NULL with session_at. */
	bool (*session)(const struct spur_trace *t, uint32_t number, struct format_session *s);
	/*
	 * The trace that the format's own tool reads if none is named: a path below the current
	 * directory, or NULL. NULL: it reads none.
	 */
	const char *(*default_path)(void);
	/* Maps of instrumented places in programs. NULL: there are none. */
	const struct site_reader *sites;
	void (*close)(struct spur_trace *t);
};

/* The place of a row's record: spur_format.place over what the row says. */
struct spur_place format_place(struct spur_trace *t, const struct spur_event *ev);

/*
 * The schema of a class: that of spur_format.schema, or else what its plans say. Made at the first
 * call and kept until the trace is closed; that of a format whose records describe themselves grows
 * while they are read. Returns NULL if out of memory or if there is no class of that id.
 * Thread-safe.
 */
const struct spur_schema *format_schema(struct spur_trace *t, uint32_t cls);

/* NULL-ended; generated. */
extern const struct spur_format *const spur_formats[];
/* By name, or NULL. */
const struct spur_format *format_find(const char *name);
/* The format that takes such a path; NULL: it is a file's, or a directory's. */
const struct spur_format *format_of_url(const char *path);
/* The format of a file or directory by the best score; NULL with `err` set. */
const struct spur_format *format_probe(const struct probe *p, struct spur_error *err);

#endif
