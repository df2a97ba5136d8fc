/*
 * Rows that are held back for a moment, so that those that come a little later than they should can
 * be put in order: spans that are stored when they end come after the spans within them.
 */
#ifndef SPUR_VIEW_WINDOW_H
#define SPUR_VIEW_WINDOW_H

#include "model/event.h"
#include "model/trace.h"

enum {
	WINDOW_MS = 500, /* how long a row is held back */
	WINDOW_ROWS = 65536, /* how many are, at most: the earliest goes first */
};

/* A row on its way, with those arguments that a store needs: numbers. */
struct window_row {
	struct spur_event row;
	struct spur_value *values; /* NULL: none; window_take() hands them over (mem_free()) */
	uint32_t nvalues;
	uint64_t place; /* among rows that came */
	int64_t came; /* ms */
};

/* Zero-initialise; free with window_free(). */
struct window {
	struct window_row *heap; /* the earliest first */
	size_t n, cap;
	uint64_t places;
};

/*
 * Adds a row that comes at `now`, and copies of the numbers among its arguments (NULL: none).
 * Returns false if out of memory.
 */
bool window_add(struct window *w, const struct spur_event *row, const struct spur_args *args,
		int64_t now);
/*
 * Takes the earliest row if it was held back long enough, or if there are too many. Returns false
 * if there is no such row. `now`: INT64_MAX takes any.
 */
bool window_take(struct window *w, int64_t now, struct window_row *out);
/* Returns the time of the earliest row that is held back; INT64_MAX if no row is. */
int64_t window_first(const struct window *w);
void window_free(struct window *w);

#endif
