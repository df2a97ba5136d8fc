/* What a writer cannot carry: counted by kind of event and reason, told at the end. */
#ifndef SPUR_RENDER_LOSS_H
#define SPUR_RENDER_LOSS_H

#include <spur.h>

#include "base/out.h"

enum loss_what { LOSS_DROPPED, LOSS_DEGRADED, LOSS_TRUNCATED };
enum { LOSS_REASONS = 16 };

struct loss_reason {
	enum loss_what what;
	const char *why;
};

struct loss_table {
	const struct loss_reason *reasons; /* the writer's, LOSS_REASONS at most */
	size_t count;
	uint64_t events[LOSS_REASONS][SPUR_KINDS];
};

/* Any thread. */
static inline void loss_add(struct loss_table *t, unsigned reason, unsigned kind)
{
	__atomic_fetch_add(&t->events[reason][kind < SPUR_KINDS ? kind : SPUR_NATIVE], 1,
			   __ATOMIC_RELAXED);
}

uint64_t loss_sum(const struct loss_table *t);
/* A table for people, nothing where nothing is lost; or one JSON object in any case. */
void loss_text(const struct loss_table *t, const char *format, struct out *o);
void loss_json(const struct loss_table *t, const char *format, struct out *o);

#endif
