/*
 * The order of rows or lines of several sorted sequences. They are merged in pairs without branches
 * on their times: no CPU can predict which of two interleaved sequences comes next.
 *
 * A member is one word: its time, counted from the earliest one, above the number of its sequence.
 * So words compare as members do, and which member of its sequence a word stands for is told by how
 * many of that sequence came before it.
 */
#ifndef SPUR_FLOW_ORDER_H
#define SPUR_FLOW_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ORDER_SHIFT = 6, /* bits of a sequence's number */
	ORDER_WINDOW = 1 << ORDER_SHIFT, /* sequences at most */
};

/* Times of one order are less than this far apart. */
static const uint64_t order_span = (uint64_t)1 << 57;

/*
 * A sorted sequence. INVARIANT: the word before it is 0, the word behind it is UINT64_MAX, and its
 * own words lie between.
 */
struct order_list {
	uint64_t *words;
	size_t n;
};

/* Zero-initialised; its memory is used again. */
struct order {
	uint64_t *rooms[2]; /* made in turns; the sequences to be sorted fill the first */
	size_t cap; /* words of each */
	const uint64_t *words; /* in order, after order_sort() */
	size_t n, next; /* `next` is the caller's */
	size_t filled; /* words of the first room */
};

/* Makes an empty order with room for `members` members. Returns false if out of memory. */
bool order_begin(struct order *o, size_t members);
/*
 * Adds the sequence `number`, behind those of lower numbers. Its times do not go back, and lie in
 * [base, base + order_span).
 */
struct order_list order_add(struct order *o, const int64_t *times, size_t n, int64_t base,
			    uint32_t number);
/* Sorts them; at equal times sequences of lower numbers are first. */
void order_sort(struct order *o, struct order_list *leaves, uint32_t n);
void order_free(struct order *o);

/* The sequence of a word. */
static inline uint32_t order_number(uint64_t word)
{
	return (uint32_t)word & (ORDER_WINDOW - 1);
}

#endif
