/* See spool.h. */
#include "base/spool.h"

#include <assert.h>

#include "base/mem.h"

enum {
	BLOCK_LEAST =
		256, /* bytes of a sequence's first block; each further one is twice as large */
	BLOCK_MOST = 64 << 10,
	REGION_FIRST = 256 << 10,
	REGION_SECOND = 2 << 20,
	REGION = 32 << 20, /* large enough for a temporary file: see scratch_alloc() */
};

static_assert(SPOOL_ROOM + sizeof(struct spool_block) <= BLOCK_MOST, "a piece fits into a block");

struct spool_region {
	struct spool_region *next;
	size_t size;
};

void spool_init(struct spool *s)
{
	*s = (struct spool){ 0 };
	pthread_mutex_init(&s->lock, NULL);
}

void spool_free(struct spool *s)
{
	while (s->regions) {
		struct spool_region *r = s->regions;

		s->regions = r->next;
		scratch_free(r, r->size);
	}
	pthread_mutex_destroy(&s->lock);
}

/* Called with s->lock held. Returns NULL if out of memory. */
static struct spool_block *block_make(struct spool *s, size_t size)
{
	struct spool_region *r = s->regions;
	struct spool_block *b;

	assert(size <= REGION_FIRST / 2 && size % sizeof(*b) == 0);
	if (!r || r->size - s->used < size) {
		const size_t room = !r ? REGION_FIRST : !r->next ? REGION_SECOND : REGION;
		struct spool_region *more = scratch_alloc(room);

		if (!more)
			return NULL;
		more->next = r;
		more->size = room;
		s->regions = r = more;
		s->used = sizeof(*r);
	}
	b = (struct spool_block *)((char *)r + s->used);
	s->used += size;
	return b;
}

char *spool_grow(struct spool *s, struct spool_seq *q, size_t n)
{
	size_t size = q->last ? 2 * (q->last->cap + sizeof(*q->last)) : BLOCK_LEAST;
	struct spool_block *b;

	assert(n <= SPOOL_ROOM);
	while (size < n + sizeof(*b))
		size *= 2;
	size = size < BLOCK_MOST ? size : BLOCK_MOST;
	pthread_mutex_lock(&s->lock);
	b = block_make(s, size);
	pthread_mutex_unlock(&s->lock);
	if (!b)
		return NULL;
	b->cap = (uint32_t)(size - sizeof(*b));
	if (q->last) {
		q->len += q->last->len;
		q->last->next = b;
	} else {
		q->first = b;
	}
	q->last = b;
	return (char *)(b + 1);
}

bool spool_bytes(struct spool *s, struct spool_seq *q, const void *p, size_t n)
{
	const char *from = p;

	while (n) {
		struct spool_block *b = q->last;
		size_t part = b && b->len < b->cap ? b->cap - b->len : n;
		char *to;

		part = part < n ? part : n;
		part = part < SPOOL_ROOM ? part : SPOOL_ROOM;
		to = spool_room(s, q, part);
		if (!to)
			return false;
		memcpy(to, from, part);
		spool_add(q, part);
		from += part;
		n -= part;
	}
	return true;
}
