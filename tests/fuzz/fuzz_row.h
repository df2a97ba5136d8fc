/* What fuzzers of readers check rows with: invariants that stop the run, sums of what was read. */
#ifndef SPUR_TESTS_FUZZ_ROW_H
#define SPUR_TESTS_FUZZ_ROW_H

#include <spur.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile size_t sink; /* so that nothing is optimised away */
static struct spur_event current; /* for the message */

static inline void broken(const char *what)
{
	fprintf(stderr,
		"invariant broken: %s; last row: %s in stream %u at %llu, ts %lld, dur %lld, track "
		"%u, cls %u, flags %u\n",
		what, spur_kind_name(current.kind), current.stream, (unsigned long long)current.off,
		(long long)current.ts, (long long)current.dur, current.track, current.cls,
		current.flags);
	abort();
}

#define require(what) ((what) ? (void)0 : broken(#what))

/* Reads all that values point to. */
static inline size_t touch(const struct spur_value *v, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].type == SPUR_STRUCT || v[i].type == SPUR_ARRAY)
			sum += touch(v[i].items, v[i].count);
		else if (v[i].type == SPUR_STRING || v[i].type == SPUR_BYTES)
			for (size_t k = 0; k < v[i].count; k++)
				sum += (unsigned char)v[i].text[k];
		sum += v[i].label ? strlen(v[i].label) : 0;
	}
	return sum;
}

static inline uint64_t fuzz_hash(uint64_t h, const void *p, size_t n)
{
	const unsigned char *b = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 0x100000001B3u;
	return h;
}

static inline uint64_t fuzz_hash_values(uint64_t h, const struct spur_value *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		h = fuzz_hash(h, &v[i].type, 1);
		if (v[i].type == SPUR_STRUCT || v[i].type == SPUR_ARRAY)
			h = fuzz_hash_values(h, v[i].items, v[i].count);
		else if (v[i].type == SPUR_STRING || v[i].type == SPUR_BYTES)
			h = fuzz_hash(h, v[i].text, v[i].count);
		else
			h = fuzz_hash(h, &v[i].u, 8);
	}
	return h;
}

/* The messages about an input of `size` bytes, in any order. */
static inline uint64_t fuzz_hash_damage(struct spur_trace *t, uint64_t size)
{
	struct spur_damage d;
	uint64_t sum = 0;

	for (size_t i = 0; i < spur_damage_count(t); i++) {
		require(spur_damage(t, i, &d) && d.count && d.code && d.file && d.first);
		require(d.bytes_lost <= size);
		sum += fuzz_hash(d.count ^ d.bytes_lost << 20 ^ d.first_offset << 40, d.code,
				 strlen(d.code));
		sum += fuzz_hash(0, d.first, strlen(d.first));
	}
	return sum;
}

#endif
