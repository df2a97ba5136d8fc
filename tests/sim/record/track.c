/*
 * Memory of the simulated machine that can be set back: a log of the words that change, and hashes
 * of how memory and files differ from what they were at the beginning.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

struct change {
	char *p; /* of a word */
	uint64_t was;
};

static struct change *changes;
static size_t cap;
static bool on;
static struct track_point now;
static uint64_t first; /* of all words at the beginning */

static uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 32) * UINT64_C(0xD6E8FEB86659FD93);
	v = (v ^ v >> 32) * UINT64_C(0xD6E8FEB86659FD93);
	return v ^ v >> 32;
}

/* Adds the word to its hash, or takes it out. */
static void word_flip(const char *p)
{
	const size_t i = sim_word(p);
	const uint64_t h = mix(sim_load_word(p) + mix(i + 1));

	if (disk_is_shown(p))
		now.disk ^= h;
	else
		now.memory ^= h;
}

static char *word_of(const void *p)
{
	return (char *)((uintptr_t)p & ~(uintptr_t)(SIM_WORD - 1));
}

static void change_note(char *p)
{
	if (now.log == cap) {
		cap = cap ? 2 * cap : 1 << 16;
		changes = realloc(changes, cap * sizeof(*changes));
		if (!changes)
			abort();
	}
	changes[now.log++] = (struct change){ p, sim_load_word(p) };
}

void track_before(const void *p, size_t size)
{
	const char *const end = (const char *)p + size;

	for (char *w = word_of(p); on && w < end; w += SIM_WORD) {
		change_note(w);
		word_flip(w);
	}
}

void track_after(const void *p, size_t size)
{
	const char *const end = (const char *)p + size;

	for (const char *w = word_of(p); on && w < end; w += SIM_WORD)
		word_flip(w);
}

static void flip(const char *p, size_t size)
{
	for (size_t i = 0; i + SIM_WORD <= size; i += SIM_WORD)
		word_flip(p + i);
}

/* A hash of all words. */
static uint64_t whole(void)
{
	const struct track_point before = now;
	uint64_t hash;

	now = (struct track_point){ 0, 0, 0 };
	sim_each_memory(flip);
	hash = now.memory ^ now.disk;
	now = before;
	return hash;
}

bool track_is_right(void)
{
	return (whole() ^ first) == (now.memory ^ now.disk);
}

void track_begin(void)
{
	now = (struct track_point){ 0, 0, 0 };
	first = whole();
	on = true;
}

struct track_point track_now(void)
{
	return now;
}

void track_back(const struct track_point *point)
{
	while (now.log > point->log) {
		const struct change *const c = &changes[--now.log];

		sim_store_word(c->p, c->was);
	}
	now = *point;
}

void track_end(void)
{
	on = false;
}

uint64_t track_hash(uint64_t hash, const void *p, size_t size)
{
	const char *c = p;
	uint64_t v;

	for (; size >= SIM_WORD; c += SIM_WORD, size -= SIM_WORD) {
		hash = (hash ^ sim_load_word(c)) * UINT64_C(0x9E3779B97F4A7C15);
		hash ^= hash >> 29;
	}
	v = size;
	memcpy(&v, c, size);
	return mix(hash ^ v);
}
