/* Random recordings in small uftrace directories (uftrace_dir.h). */
#ifndef TESTS_UNIT_UFTRACE_RANDOM_H
#define TESTS_UNIT_UFTRACE_RANDOM_H

#include "unit/uftrace_dir.h"

enum { RECORDS = 4000 };

static uint64_t random_state = 88172645463325252;

static inline uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static inline uint64_t below(uint64_t n)
{
	return (next_random() >> 20) % n;
}

/* A thread's calls; of each `odd` records about one is no ordinary one; 0: none. */
static inline void put_random(const char *name, unsigned odd, unsigned deep)
{
	static const uint64_t functions[] = { MAIN, WORK, LEAF, FREE };
	uint64_t addrs[2048], t = 1000;
	unsigned depth = 0;

	for (unsigned i = 0; i < RECORDS; i++) {
		const bool enter = !depth || (depth < deep && below(2));

		t += below(200) ? below(20) : below(5000);
		if (enter)
			addrs[depth] = functions[below(4)] + 4;
		switch (odd ? below(4 * odd) : 4) {
		case 0:
			rec(t, LOST, 0, 1 + below(9));
			break;
		case 1: /* out of order */
			rec(t - below(t), ENTRY, depth, LEAF);
			break;
		case 2: /* of another depth: an EXIT is missing */
			if (depth < 2)
				break;
			rec(t, EXIT, depth - 2, addrs[depth - 2]);
			depth -= 2;
			continue;
		case 3: /* without its magic */
			raw_uint(t, 8);
			raw_uint(next_random() & ~(uint64_t)0x38, 8);
			break;
		default:
			break;
		}
		if (enter)
			rec(t, ENTRY, depth, addrs[depth]);
		else
			rec(t, EXIT, depth - 1, addrs[depth - 1]);
		depth += enter ? 1 : -1u;
	}
	dat_write(name);
}

#endif
