/*
 * Blocks: up to 256 items of a lane in columns of one bit width each. One load reads any value. The
 * layout is drawn in wire.h.
 */
#ifndef SPUR_STORE_BLOCK_H
#define SPUR_STORE_BLOCK_H

#include "base/bits.h"
#include "base/fnv.h"
#include "store/store.h"
#include "store/wire.h"

struct column {
	const uint8_t *at;
	uint64_t base, mask;
	uint32_t width, shift;
};

struct block {
	uint32_t n;
	bool label_ids;
	struct column cols[STORE_COLUMNS]; /* those up to the wanted one */
	/* STORE_SELF has a value for each bit: of the items with spans inside them. */
	uint64_t outer[STORE_BLOCK / 64];
};

/* Returns value `i` of a column. */
static inline uint64_t column_get(const struct column *c, uint32_t i)
{
	const size_t bit = (size_t)i * c->width;
	uint64_t v;

	memcpy(&v, c->at + bit / 8, sizeof(v));
	return c->base + ((v >> bit % 8 & c->mask) << c->shift);
}

/* Reads the first `n` values of a column. */
static inline void column_all(const struct column *c, uint32_t n, uint64_t *to)
{
	if (!c->width) {
		for (uint32_t i = 0; i < n; i++)
			to[i] = c->base;
		return;
	}
	for (uint32_t i = 0, bit = 0; i < n; i++, bit += c->width) {
		uint64_t v;

		memcpy(&v, c->at + bit / 8, sizeof(v));
		to[i] = c->base + ((v >> bit % 8 & c->mask) << c->shift);
	}
}

/*
 * Reads the heads of the columns from 0 to `last` of a block of `size` bytes with `n` items.
 * Returns false if they do not lie within it.
 */
bool block_read(struct block *b, const uint8_t *p, uint32_t size, uint32_t n,
		enum store_column last);

/* Returns the time `dur` ns after `start`, or the last there is: a store may say anything. */
static inline int64_t time_after(int64_t start, uint64_t dur)
{
	return dur > (uint64_t)INT64_MAX - (uint64_t)start ? INT64_MAX
							   : (int64_t)((uint64_t)start + dur);
}

/* Returns the ns between two times, INT64_MAX at most. */
static inline int64_t time_between(int64_t start, int64_t end)
{
	const uint64_t ns = (uint64_t)end - (uint64_t)start;

	return ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
}

/* The sum of a block or section. */
static inline uint32_t store_sum_of(const void *p, size_t size)
{
	enum { WORDS = 4 };
	const uint64_t k = 0x9E3779B97F4A7C15u;
	uint64_t h[WORDS] = { k, k << 1, k << 2, size }, rest = fnv_basis;
	const uint8_t *b = p;
	size_t i = 0;

	for (; i + sizeof(h) <= size; i += sizeof(h))
		for (unsigned j = 0; j < WORDS; j++) {
			h[j] = (h[j] ^ load64(b + i + 8 * j, false)) * k;
			h[j] ^= h[j] >> 31;
		}
	rest = fnv_bytes(rest, b + i, size - i);
	for (unsigned j = 0; j < WORDS; j++) {
		rest = (rest ^ h[j]) * k;
		rest ^= rest >> 29;
	}
	return (uint32_t)(rest ^ rest >> 32);
}

#endif
