/*
 * Counts what a target cannot carry, by kind of event and reason. The core counts the kinds that
 * the writer declares (writer.h) and ends without a begin; the writer adds losses that only it can
 * see, such as payloads.
 */
#ifndef SPUR_FORMAT_LOSS_H
#define SPUR_FORMAT_LOSS_H

#include <spur.h>

#include "base/out.h"

enum loss_what { LOSS_DROPPED, LOSS_DEGRADED, LOSS_TRUNCATED };
enum { LOSS_REASONS = 24 };

struct loss_reason {
	enum loss_what what;
	const char *why; /* shown to users: what is written instead, or why nothing is */
};

struct loss_table {
	const struct loss_reason *reasons; /* LOSS_REASONS at most */
	size_t count;
	uint64_t events[LOSS_REASONS][SPUR_KINDS];
};

/* Count `n` events, or one, of `kind`. Thread-safe. */
static inline void loss_add_n(struct loss_table *t, unsigned reason, unsigned kind, uint64_t n)
{
	__atomic_fetch_add(&t->events[reason][kind < SPUR_KINDS ? kind : SPUR_NATIVE], n,
			   __ATOMIC_RELAXED);
}

static inline void loss_add(struct loss_table *t, unsigned reason, unsigned kind)
{
	loss_add_n(t, reason, kind, 1);
}

uint64_t loss_sum(const struct loss_table *t);
/*
 * loss_text() writes a table, or nothing if nothing is lost; loss_json() always writes one JSON
 * object.
 */
void loss_text(const struct loss_table *t, const char *format, struct out *o);
void loss_json(const struct loss_table *t, const char *format, struct out *o);

#endif
