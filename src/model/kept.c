/* See kept.h. A stream has a table of chunks; a chunk has a bit for each of CHUNK offsets. */
#include "model/kept.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/spool.h"

enum {
	CHUNK = 4096, /* offsets */
	CHUNK_WORDS = CHUNK / 64,
	STREAMS_MAX = 1 << 26,
};

static const uint64_t chunks_max = (uint64_t)1 << 40; /* of a stream */

struct stream {
	uint64_t **chunks;
	size_t cap;
};

struct kept {
	struct stream *streams;
	size_t cap;
	uint64_t count;
	struct spool spool; /* of the chunks */
	struct spool_seq seq;
};

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
		mem_free(k->streams[i].chunks);
	mem_free(k->streams);
	spool_free(&k->spool);
	mem_free(k);
}

/* Returns the chunk of an offset, which is made if it is missing, or NULL if out of memory. */
static uint64_t *chunk_put(struct kept *k, uint32_t stream, uint64_t number)
{
	struct stream *s;
	uint64_t *chunk;

	if (number >= chunks_max || !mem_grow((void **)&k->streams, &k->cap, (size_t)stream + 1,
					      sizeof(*k->streams), STREAMS_MAX))
		return NULL;
	s = &k->streams[stream];
	if (!mem_grow((void **)&s->chunks, &s->cap, (size_t)number + 1, sizeof(*s->chunks),
		      (size_t)chunks_max))
		return NULL;
	if (s->chunks[number])
		return s->chunks[number];
	chunk = (uint64_t *)spool_room(&k->spool, &k->seq, CHUNK / 8);
	if (chunk)
		spool_add(&k->seq, CHUNK / 8);
	s->chunks[number] = chunk;
	return chunk;
}

static const uint64_t *chunk_find(const struct kept *k, uint32_t stream, uint64_t number)
{
	const struct stream *s = stream < k->cap ? &k->streams[stream] : NULL;

	return s && number < s->cap ? s->chunks[number] : NULL;
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

bool kept_join(struct kept *k, const struct kept *from)
{
	for (size_t i = 0; i < from->cap; i++) {
		for (size_t j = 0; j < from->streams[i].cap; j++) {
			const uint64_t *add = from->streams[i].chunks[j];
			uint64_t *chunk = add ? chunk_put(k, (uint32_t)i, j) : NULL;

			if (add && !chunk)
				return false;
			for (size_t w = 0; add && w < CHUNK_WORDS; w++) {
				k->count += (uint64_t)__builtin_popcountll(add[w] & ~chunk[w]);
				chunk[w] |= add[w];
			}
		}
	}
	return true;
}

bool kept_has(const struct kept *k, uint32_t stream, uint64_t off)
{
	const uint64_t *chunk = chunk_find(k, stream, off / CHUNK);

	return chunk && chunk[off % CHUNK / 64] >> (off % 64) & 1;
}

uint64_t kept_next(const struct kept *k, uint32_t stream, uint64_t off)
{
	const struct stream *s = stream < k->cap ? &k->streams[stream] : NULL;
	uint64_t bits;

	for (uint64_t at = off; s && at / CHUNK < s->cap;) {
		const uint64_t *chunk = s->chunks[at / CHUNK];

		if (!chunk) {
			at = (at / CHUNK + 1) * CHUNK;
			continue;
		}
		bits = chunk[at % CHUNK / 64] >> (at % 64);
		if (bits)
			return at + (uint64_t)__builtin_ctzll(bits);
		at = (at / 64 + 1) * 64;
	}
	return UINT64_MAX;
}

uint64_t kept_count(const struct kept *k)
{
	return k->count;
}
