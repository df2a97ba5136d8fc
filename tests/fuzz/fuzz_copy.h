/* What fuzzers of copies share: copies in memory, and that they are clean. */
#ifndef SPUR_TESTS_FUZZ_COPY_H
#define SPUR_TESTS_FUZZ_COPY_H

#include "format/copy.h"
#include "format/format.h"
#include "fuzz_row.h"

/* Copies the kept records, all if NULL. Returns false if memory failed. */
static inline bool write_copy(struct spur_trace *t, const struct kept *kept, bool sorted,
			      bool repair, struct out *o)
{
	struct copy_part part = { .trace = t, .kept = kept, .from = INT64_MIN, .until = INT64_MAX };
	struct spur_error err = { 0 };
	struct copy c = { .parts = &part,
			  .count = 1,
			  .sorted = sorted,
			  .repair = repair,
			  .out = o,
			  .err = &err };
	struct out notes;
	enum spur_status st;

	out_to_memory(o);
	out_to_memory(&notes);
	c.notes = &notes;
	st = t->format->copy(&c);
	out_free(&notes);
	require(c.bytes_lost <= t->source->size);
	return st != SPUR_FAIL && !o->error;
}

/* Nothing in the trace is damaged. */
static inline void check_clean(struct spur_trace *t)
{
	struct spur_damage d;

	for (size_t i = 0; i < spur_damage_count(t); i++)
		if (spur_damage(t, i, &d) && d.is_damage) {
			fprintf(stderr, "%s\n", d.first);
			require(!d.is_damage);
		}
}

#endif
