/* Events that an expression holds for. */
#ifndef SPUR_VIEW_FIND_H
#define SPUR_VIEW_FIND_H

#include "view/view.h"

struct view_hit {
	int64_t ts;
	uint64_t off; /* of the record in its stream */
	uint32_t stream;
};

/* In the order of time. */
struct view_hits {
	const struct view_hit *hits;
	size_t n;
	uint64_t total; /* more than n: the first n are kept */
};

/*
 * Finds the events for which an expression of --where holds (flow/where.h), by reading the trace
 * once more. Keeps what it finds for the next request with the same query. The caller holds
 * v->finding as long as it uses the hits. Returns false, with the
 * error set, if the expression is wrong (SPUR_ERR_USAGE), the trace cannot be read twice, or out of
 * memory.
 */
bool view_where(struct view *v, const char *query, struct view_hits *out, struct spur_error *err);
/*
 * Finds the item of the first hit behind `after` (NULL: from the beginning), or with `back` of the
 * last one before it. Returns false if nothing is left.
 */
bool view_hit_next(const struct view *v, const struct view_hits *hits,
		   const struct store_place *after, bool back, struct store_place *out);

struct view_search {
	bool found;
	struct store_place place; /* of the item */
	uint64_t total; /* items that are found in all */
	bool partial; /* there may be more: the store grows, or not all hits are kept */
};
/*
 * Finds an item by text in its name, /REGEX/, dur>TIME, or an expression of --where: the first one
 * behind `after` (NULL: of all), or with `back` the last one before it; behind the last one comes
 * the first one again. Any thread may call it. Returns false, with the error set, if the query is
 * wrong (SPUR_ERR_USAGE), the trace cannot be read again for an expression, or out of memory.
 */
bool view_search(struct view *v, const char *query, const struct store_place *after, bool back,
		 struct view_search *out, struct spur_error *err);

#endif
