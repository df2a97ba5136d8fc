/*
 * See kept.h. A stream is a tree of three levels: a table of groups, a group of chunks, and a chunk
 * that has a bit for each of CHUNK offsets. Groups and chunks are in scratch memory, and exist only
 * where records are kept, so that many sets of a large trace may exist at once.
 */
#include "model/kept.h"

#include <assert.h>

#include "base/mem.h"
#include "base/pool.h"
#include "base/spool.h"

enum {
	CHUNK = 4096, /* offsets */
	CHUNK_WORDS = CHUNK / 64,
	GROUP = 1024, /* chunks */
	STREAMS_MAX = 1 << 26,
};

static const uint64_t groups_max = (uint64_t)1 << 30; /* of a stream */

struct group {
	uint64_t *chunks[GROUP];
};

struct stream {
	struct group **groups;
	size_t cap;
};

struct kept {
	struct stream *streams;
	size_t cap;
	uint64_t count;
	struct spool spool; /* of groups and chunks */
	struct spool_seq seq;
};

static_assert(sizeof(struct group) <= SPOOL_ROOM, "a group is one piece of the spool");

struct kept *kept_new(void)
{
	struct kept *k = mem_alloc(sizeof(*k));

	if (k)
		spool_init(&k->spool);
	return k;
}

void kept_free(struct kept *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->cap; i++)
		pool_array_free(k->streams[i].groups, k->streams[i].cap, sizeof(struct group *));
	mem_table_free(k->streams, k->cap, sizeof(*k->streams));
	spool_free(&k->spool);
	mem_free(k);
}

/* Returns zeroed scratch memory, or NULL if out of memory. */
static void *kept_room(struct kept *k, size_t size)
{
	char *p = spool_room(&k->spool, &k->seq, size);

	if (p)
		spool_add(&k->seq, size);
	return p;
}

/* Returns the chunk of an offset, which is made if it is missing, or NULL if out of memory. */
static uint64_t *chunk_put(struct kept *k, uint32_t stream, uint64_t number)
{
	struct stream *s;
	struct group **g;
	uint64_t **chunk;

	if (number / GROUP >= groups_max ||
	    !mem_table_grow((void **)&k->streams, &k->cap, (size_t)stream + 1, sizeof(*k->streams),
			    STREAMS_MAX))
		return NULL;
	s = &k->streams[stream];
	if (!pool_grow((void **)&s->groups, &s->cap, (size_t)(number / GROUP) + 1,
		       sizeof(*s->groups), (size_t)groups_max))
		return NULL;
	g = &s->groups[number / GROUP];
	if (!*g)
		*g = kept_room(k, sizeof(**g));
	if (!*g)
		return NULL;
	chunk = &(*g)->chunks[number % GROUP];
	if (!*chunk)
		*chunk = kept_room(k, CHUNK / 8);
	return *chunk;
}

static const struct group *group_find(const struct kept *k, uint32_t stream, uint64_t number)
{
	const struct stream *s = stream < k->cap ? &k->streams[stream] : NULL;

	return s && number < s->cap ? s->groups[number] : NULL;
}

bool kept_add(struct kept *k, uint32_t stream, uint64_t off)
{
	uint64_t *chunk = chunk_put(k, stream, off / CHUNK);
	const uint64_t bit = (uint64_t)1 << (off % 64);
	uint64_t *word;

	if (!chunk)
		return false;
	word = &chunk[off % CHUNK / 64];
	k->count += !(*word & bit);
	*word |= bit;
	return true;
}

/* Adds all records of a group of another set. Returns false if out of memory. */
static bool group_join(struct kept *k, uint32_t stream, uint64_t number, const struct group *from)
{
	for (unsigned i = 0; i < GROUP; i++) {
		const uint64_t *add = from->chunks[i];
		uint64_t *chunk = add ? chunk_put(k, stream, number * GROUP + i) : NULL;

		if (add && !chunk)
			return false;
		for (size_t w = 0; add && w < CHUNK_WORDS; w++) {
			k->count += (uint64_t)__builtin_popcountll(add[w] & ~chunk[w]);
			chunk[w] |= add[w];
		}
	}
	return true;
}

bool kept_join(struct kept *k, const struct kept *from)
{
	for (size_t i = 0; i < from->cap; i++)
		for (size_t j = 0; j < from->streams[i].cap; j++)
			if (from->streams[i].groups[j] &&
			    !group_join(k, (uint32_t)i, j, from->streams[i].groups[j]))
				return false;
	return true;
}

bool kept_has(const struct kept *k, uint32_t stream, uint64_t off)
{
	const struct group *g = group_find(k, stream, off / CHUNK / GROUP);
	const uint64_t *chunk = g ? g->chunks[off / CHUNK % GROUP] : NULL;

	return chunk && chunk[off % CHUNK / 64] >> (off % 64) & 1;
}

uint64_t kept_next(const struct kept *k, uint32_t stream, uint64_t off)
{
	const struct stream *s = stream < k->cap ? &k->streams[stream] : NULL;
	const uint64_t end = s ? (uint64_t)s->cap * GROUP * CHUNK : 0;

	for (uint64_t at = off; at < end;) {
		const struct group *g = s->groups[at / CHUNK / GROUP];
		const uint64_t *chunk = g ? g->chunks[at / CHUNK % GROUP] : NULL;
		const uint64_t step = !g ? (uint64_t)GROUP * CHUNK : !chunk ? CHUNK : 64;
		const uint64_t bits = chunk ? chunk[at % CHUNK / 64] >> (at % 64) : 0;

		if (bits)
			return at + (uint64_t)__builtin_ctzll(bits);
		at = (at / step + 1) * step;
	}
	return UINT64_MAX;
}

uint64_t kept_count(const struct kept *k)
{
	return k->count;
}
