/* Times of events as text, by --time. */
#ifndef SPUR_RENDER_WHEN_H
#define SPUR_RENDER_WHEN_H

#include "render/options.h"

struct when {
	enum time_form how; /* TIME_ABS only where the epoch is known, else it becomes seconds of
			       the trace's clock */
	bool dates;
	int64_t zero; /* subtracted from ts */
};

enum spur_status when_init(struct when *w, struct spur_trace *t, enum time_form how,
			   struct spur_error *err);

enum { WHEN_ROOM = 48 };
/*
 * REL: seconds from the first event, 0.000001234. ABS: 2025-11-21T13:08:00.123456789Z, or seconds
 * of the clock. RAW: ns. At least `width` columns, right-aligned. Returns the end; room: the larger
 * of width and WHEN_ROOM.
 */
char *put_when(char *p, const struct when *w, int64_t ts, unsigned width);
/* Returns the usual width of times of the kind, in columns. */
unsigned when_width(const struct when *w);

#endif
