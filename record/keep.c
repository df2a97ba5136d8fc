/*
 * Snapshots of rings, as core.h says. What asks for one may be a hook or a signal handler, so all
 * state is a word, which changes as a whole: the number of the snapshot that was asked for last,
 * and, until that is kept, the time at which it is.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

/* The low bits of the word; the time in the others counts in steps of that many ticks. */
static const uint64_t NUMBER = 255;

static uint64_t word;
static uint64_t again; /* the latest time that was asked for while a snapshot went on; 0: none */
static uint64_t after; /* ticks */
static uint32_t allowed;

_Static_assert(CORE_KEEPS_MOST < 255, "a number has 8 bits");

void core_keep_allow(uint32_t most, uint64_t ticks)
{
	after = ticks;
	seam_store32(&allowed, most < CORE_KEEPS_MOST ? most : CORE_KEEPS_MOST);
}

void core_keep_reset(void)
{
	seam_store(&word, 0);
	seam_store(&again, 0);
}

/* What is asked for while a snapshot goes on is the next one's if that one ends too early. */
static void again_raise(uint64_t until)
{
	uint64_t seen = seam_load(&again);

	while (seen < until && !seam_cas(&again, seen, until))
		seen = seam_load(&again);
}

uint32_t core_keep(uint64_t ticks)
{
	const uint64_t until = (ticks + after) | NUMBER;

	for (;;) {
		const uint64_t w = seam_load(&word), number = w & NUMBER;

		if (w > NUMBER && ticks < w - number) {
			if (number < seam_load32(&allowed))
				again_raise(until);
			return (uint32_t)number;
		}
		if (number >= seam_load32(&allowed))
			return 0;
		/* One that has ended meanwhile is kept by this too. */
		if (seam_cas(&word, w, until - NUMBER + number + 1))
			return (uint32_t)number + 1;
	}
}

struct core_keeping core_keep_look(uint64_t ticks)
{
	for (;;) {
		const uint64_t w = seam_load(&word), number = w & NUMBER;
		const uint64_t next = seam_load(&again);
		uint64_t to = number;

		if (w <= NUMBER)
			return (struct core_keeping){ (uint32_t)number, 0 };
		if (ticks < w - number)
			return (struct core_keeping){ (uint32_t)number - 1, (uint32_t)number };
		if (next > w && number < seam_load32(&allowed))
			to = next - NUMBER + number + 1;
		seam_cas(&word, w, to);
	}
}
