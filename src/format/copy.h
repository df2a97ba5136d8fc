/*
 * Copies: records of a trace, written to a new trace of the same format as they are stored, with
 * the tables that they need. An undamaged trace that is copied whole gives the same bytes; of a
 * damaged one, all that can be read is written as a clean trace. What is chosen, joined or
 * rejected is decided above (flow/cut.h); how records are moved is the format's
 * (spur_format.copy).
 */
#ifndef SPUR_FORMAT_COPY_H
#define SPUR_FORMAT_COPY_H

#include "base/out.h"
#include "base/outdir.h"
#include "format/loss.h"
#include "model/kept.h"
#include "model/trace.h"

/* One of the traces that a copy is made of. */
struct copy_part {
	struct spur_trace *trace;
	const struct kept *kept; /* the rows to keep, by stream and offset; NULL: all */
	/*
	 * No kept row begins before `from` or after `until`, ns on the trace's clock, so that
	 * packets outside need not be read. INT64_MIN and INT64_MAX: unknown.
	 */
	int64_t from, until;
	int64_t shift; /* ns to add to all times, which joins the parts' clocks; 0 for the first */
	uint32_t stream; /* the number that the trace's first stream has in `kept` */
	uint32_t input; /* the one of the traces to be joined that it is, or is a file of */
};

/* The reasons of a copy's losses (struct loss_table). */
enum copy_loss {
	COPY_DAMAGED, /* a record cannot be read */
	COPY_UNPLACED, /* a kept row has no record of its own */
	COPY_REASONS
};

struct copy {
	const struct copy_part *parts; /* one; several if the format joins (`spur merge`) */
	size_t count;
	bool one_run; /* the parts are the files of one directory: spur_format.copies_runs */
	bool sorted; /* write records in the order of time, as far as the format has an order */
	/*
	 * Write what the format prescribes where the producer wrote something else, and rebuild
	 * what is missing. Otherwise only damage is left out.
	 */
	bool repair;
	struct out *out; /* the output file; unused if the output is a directory */
	struct outdir *dir; /* the output directory, or NULL */
	/* Lines of text for the user, one for each thing that was repaired or left out. */
	struct out *notes;
	volatile const int *stop; /* not NULL: end early if it is set; the output is dropped */
	struct spur_error *err; /* set if the copy fails for another reason than lack of memory */
	/* Set by the copy: */
	uint64_t records; /* written, without those of tables */
	uint64_t bytes_lost; /* of the input that is neither in the output nor unselected */
	/* Something of the input is damaged, and is left out or was written anew. */
	bool damaged;
};

#endif
