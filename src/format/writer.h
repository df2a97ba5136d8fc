/*
 * A writer is one file that ends in one `const struct spur_writer`: src/export/NAME.c, or
 * src/format/NAME/write.c for a format that is read too. The Makefile makes the table of all from
 * the file names.
 *
 * The core (flow/convert.h) owns reading, filtering, pairing and losses, and pushes rows. A *lane*
 * is the writer's state of one feed: lanes are written in parallel, each by one thread at a time,
 * and their text is joined by time in pieces of `piece` rows. If feeds cannot be read apart there
 * is one lane for all.
 *
 * What a lane gets is nested: on each track, ends come in the reverse order of their begins, ends
 * that the data lacks are made (write_end.implied), ends without a begin are counted as lost and
 * left out, and what is open when the data ends ends with it. A row that gets a CPU ends the time
 * off the CPU, one that leaves it begins that.
 */
#ifndef SPUR_FORMAT_WRITER_H
#define SPUR_FORMAT_WRITER_H

#include "base/out.h"
#include "format/loss.h"
#include "model/trace.h"

/* How a target carries a kind of event. */
enum write_fit { WRITE_DROPPED, WRITE_DEGRADED, WRITE_WHOLE };

/* The first reasons of all loss tables; a writer's own follow, from LOSS_OWN on. */
enum { LOSS_ORPHAN, LOSS_KIND_DROPPED, LOSS_KIND_DEGRADED, LOSS_OWN };

/* One conversion: the core's side, as the writer sees it. */
struct write {
	struct spur_trace *trace;
	const struct spur_writer *writer;
	struct out *out; /* the output file */
	int64_t zero; /* the writer subtracts it from all times */
	struct loss_table loss;
	/* Returns true if arguments of the class's events are wanted. Thread-safe. */
	bool (*wants_args)(const struct write *w, uint32_t cls);
	void *user; /* the core's */
};

/* The end of a span, at the time of a row. */
struct write_end {
	uint32_t cls; /* of its begin */
	uint32_t name; /* of its begin, string id */
	bool off_cpu; /* it is time off the CPU: cls and name say nothing */
	bool implied; /* the row is not its end: arguments of the row are not the span's */
};

struct spur_writer {
	const char *name; /* "chrome" */
	const char *title; /* one line for help and lists */
	const char *const *endings; /* NULL-ended: file names that mean this target, "json" */
	uint8_t fits[SPUR_KINDS]; /* enum write_fit */
	const char *dropped, *degraded; /* why kinds are, for the loss table; NULL: none is */
	const struct loss_reason *reasons; /* its own, from LOSS_OWN on */
	size_t nreasons;
	/*
	 * Times up to this many ns from zero are exact in the target; larger ones count from the
	 * first event instead, unless the user chose otherwise. 0: all are.
	 */
	int64_t exact_ns;
	bool lone_switches; /* wants rows that get a CPU though the data has none that left one */
	uint32_t piece; /* rows of a lane that stay together in the output */
	/*
	 * Makes the state of one output and writes what stands in front of the events. Returns NULL
	 * if out of memory.
	 */
	void *(*open)(struct write *w);
	/*
	 * The state of a lane whose rows are mostly of `track` (SPUR_NONE: of any). Returns NULL if
	 * out of memory.
	 */
	void *(*lane)(void *self, uint32_t track);
	/* Writes a row that is no end. Returns false if out of memory. */
	bool (*row)(void *lane, const struct spur_event *row, struct out *o);
	/*
	 * Writes the end of the innermost open span of row->track at row->ts. Returns false if out
	 * of memory.
	 */
	bool (*end)(void *lane, const struct spur_event *row, const struct write_end *end,
		    struct out *o);
	void (*lane_close)(void *lane);
	/* Writes what stands behind the events. Tracks and classes are complete now. */
	void (*finish)(void *self);
	void (*close)(void *self);
};

/* NULL-ended; generated. */
extern const struct spur_writer *const spur_writers[];
/* By name, or NULL. */
const struct spur_writer *writer_find(const char *name);

#endif
