/*
 * The order of rows or lines of several sorted sequences, made in pairs without branches that the
 * data decides: whose is
 * next among interleaved sequences cannot be predicted.
 */
#ifndef SPUR_FLOW_ORDER_H
#define SPUR_FLOW_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ORDER_WINDOW = 64, /* sequences at most */
	ORDER_SHIFT = 24, /* a member: number of its sequence << ORDER_SHIFT | place in it */
	ORDER_MASK = (1 << ORDER_SHIFT) - 1,
};

/* A sorted sequence. */
struct order_list {
	int64_t *keys;
	uint32_t *members;
	size_t n;
};

/* Zero-initialised; its memory is used again. */
struct order {
	struct order_list lists[2]; /* made in turns; the sequences to be sorted fill the first */
	size_t cap;
	const uint32_t *members; /* in order, after order_sort() */
	size_t n, next; /* `next` is the caller's */
	size_t filled; /* of lists[0] */
};

/* Makes an empty order with room for `members` members. Returns false if out of memory. */
bool order_begin(struct order *o, size_t members);
/*
 * A sequence behind those that are there: the keys, and the members `number` << ORDER_SHIFT | from
 * and on.
 */
struct order_list order_add(struct order *o, const int64_t *keys, size_t n, uint32_t number,
			    size_t from);
/* Sorts them; at equal keys earlier sequences are first. */
void order_sort(struct order *o, struct order_list *leaves, uint32_t n);
void order_free(struct order *o);

#endif
