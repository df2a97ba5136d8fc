/*
 * A writer is a file that defines one `const struct spur_writer`: src/export/NAME.c, or
 * src/format/NAME/write.c for a format that is read too. The Makefile makes the table of writers
 * from the file names.
 *
 * The core (flow/convert.h) owns reading, filtering, pairing and losses, and pushes rows. A *lane*
 * is the writer's state of one feed: lanes are written in parallel, each by one thread at a time,
 * and their text is merged by time in pieces of `piece` rows. If feeds cannot be read separately
 * there is one lane for all.
 *
 * The rows of a lane are nested: on each track, ends come in the reverse order of their begins; the
 * core adds ends that the data lacks (write_end.implied), counts ends without a begin as lost and
 * leaves them out, and ends spans that are open when the data ends. A SWITCH row that leaves the
 * CPU begins time off the CPU, one that gets it ends that time.
 */
#ifndef SPUR_FORMAT_WRITER_H
#define SPUR_FORMAT_WRITER_H

#include "base/out.h"
#include "format/loss.h"
#include "model/trace.h"

/* How a target carries a kind of event. */
enum write_fit { WRITE_DROPPED, WRITE_DEGRADED, WRITE_WHOLE };

/* The first reasons of every loss table; those of the writer follow, from LOSS_OWN on. */
enum { LOSS_ORPHAN, LOSS_KIND_DROPPED, LOSS_KIND_DEGRADED, LOSS_OWN };

/* One conversion, as the writer sees it. */
struct write {
	struct spur_trace *trace;
	const struct spur_writer *writer;
	struct out *out; /* the output file */
	int64_t zero; /* the writer subtracts it from all times */
	struct loss_table loss;
	/* Returns true if arguments of the class's events are wanted. Thread-safe. */
	bool (*wants_args)(const struct write *w, uint32_t cls);
	void *user; /* private to the core */
};

/* The end of a span at the time of a row. */
struct write_end {
	uint32_t cls; /* of its begin */
	uint32_t name; /* of its begin, string id */
	bool off_cpu; /* the span is time off the CPU: cls and name are unused */
	bool implied; /* the row is not the span's own end, so its arguments are not the span's */
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
	/* The writer takes rows that get a CPU without an earlier row that left one */
	bool lone_switches;
	uint32_t piece; /* number of rows of a lane that stay together in the output */
	/*
	 * Makes the state of one output and writes what precedes the events. Returns NULL if out
	 * of memory.
	 */
	void *(*open)(struct write *w);
	/*
	 * Makes the state of a lane whose rows are mostly of `track` (SPUR_NONE: any track).
	 * Returns NULL if out of memory.
	 */
	void *(*lane)(void *self, uint32_t track);
	/* Writes a row other than an end. Returns false if out of memory. */
	bool (*row)(void *lane, const struct spur_event *row, struct out *o);
	/*
	 * Writes the end of the innermost open span of row->track at row->ts. Returns false if out
	 * of memory.
	 */
	bool (*end)(void *lane, const struct spur_event *row, const struct write_end *end,
		    struct out *o);
	void (*lane_close)(void *lane);
	/* Writes what follows the events. All tracks and classes are known by then. */
	void (*finish)(void *self);
	void (*close)(void *self);
};

/* NULL-ended; generated. */
extern const struct spur_writer *const spur_writers[];
/* By name, or NULL. */
const struct spur_writer *writer_find(const char *name);
/* The writer that the ending of a file's name means, or NULL. */
const struct spur_writer *writer_of_path(const char *path);

#endif
