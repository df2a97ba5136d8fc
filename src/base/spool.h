/*
 * Spool: many sequences of bytes that grow at the same time and are read one after the other at
 * the end, such as one per thread of a trace. The bytes are in scratch memory (base/mem.h), so that
 * private memory does not grow with them; a sequence itself takes 32 bytes.
 */
#ifndef SPUR_BASE_SPOOL_H
#define SPUR_BASE_SPOOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A sequence is read block by block, from its `first` on. */
struct spool_block {
	struct spool_block *next; /* of its sequence */
	uint32_t len, cap; /* of the bytes behind this head */
};

/* One sequence. Zero-initialize; it lives as long as its spool. One thread at a time writes it. */
struct spool_seq {
	struct spool_block *first, *last;
	uint64_t len; /* bytes in all blocks but the last one */
};

enum { SPOOL_ROOM = 32 << 10 /* largest piece of contiguous bytes */ };

struct spool {
	pthread_mutex_t lock;
	struct spool_region *regions; /* the newest one first */
	size_t used; /* bytes of the newest one */
};

void spool_init(struct spool *s);
void spool_free(struct spool *s);
/* Slow path of spool_room(). */
char *spool_grow(struct spool *s, struct spool_seq *q, size_t n);

/*
 * Returns room for `n` more contiguous bytes (n <= SPOOL_ROOM), or NULL if out of memory. The
 * caller adds the bytes that it wrote with spool_add(). Different threads may write different
 * sequences.
 */
static inline char *spool_room(struct spool *s, struct spool_seq *q, size_t n)
{
	struct spool_block *b = q->last;

	if (__builtin_expect(!b || b->cap - b->len < n, 0))
		return spool_grow(s, q, n);
	return (char *)(b + 1) + b->len;
}

/* Adds `n` bytes that were written to the room. */
static inline void spool_add(struct spool_seq *q, size_t n)
{
	q->last->len += (uint32_t)n;
}

static inline uint64_t spool_len(const struct spool_seq *q)
{
	return q->last ? q->len + q->last->len : 0;
}

/* Appends any number of bytes. Returns false if out of memory. */
bool spool_bytes(struct spool *s, struct spool_seq *q, const void *p, size_t n);

#endif
