/*
 * What signals have interrupted: a thread that runs a handler will go on where the system has saved
 * it on its stack, which must not be inside code that is about to change either. See attach.h.
 */
#include <string.h>
#include <sys/user.h>

#include "base/os.h"
#include "recorder/attach.h"

enum {
	PAGE = 4096,
	WINDOW = 8 * PAGE, /* bytes that are read at once, if all can be read */
	KNOWN_MOST = 8 << 20, /* bytes of a stack that are looked at, .. */
	UNKNOWN_MOST = 256 << 10, /* .. and of one that was mapped a moment ago */
	STACKS_MOST = 8, /* of one thread: handlers may have stacks of their own */
};

/* Words of the registers that the system saves, in this order. */
enum { SAVED_SP, SAVED_PC, SAVED_FLAGS, SAVED_SEGMENTS, SAVED_WORDS };

/* Nothing else on a stack looks like this: flags, and the segments of a 64-bit program. */
static bool is_saved(const uint64_t *w)
{
	const uint64_t always = 2, known = 0x3FFFFF, code = 0x33, stack = UINT64_C(0x2B) << 48;

	return (w[SAVED_FLAGS] & always) && w[SAVED_FLAGS] <= known &&
	       (w[SAVED_SEGMENTS] == code || w[SAVED_SEGMENTS] == (code | stack));
}

struct look {
	const struct target *target;
	const struct attach_range *ranges;
	size_t n;
};

/*
 * Moves a saved place behind the range that it is in: that is where it would come to, as there are
 * only instructions in between that do nothing. Returns false if there are others.
 */
static bool saved_move(const struct look *l, uint64_t place, uint64_t pc)
{
	const struct attach_range *const r = attach_range_at(l->ranges, l->n, pc);
	const uint8_t nop = 0x90;
	uint8_t bytes[ATTACH_SIZE];
	size_t size;

	if (!r)
		return true;
	size = (size_t)(r->end - pc);
	if (size > sizeof(bytes) || !target_read(l->target, pc, bytes, size))
		return false;
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != nop)
			return false;
	return target_write(l->target, place, &r->end, sizeof(r->end));
}

/* Looks at a stack from `sp` on. *other: the place on another stack that was interrupted, or 0. */
static bool stack_look(const struct look *l, uint64_t sp, uint64_t *other)
{
	const struct target_map *const map = target_map_at(l->target, sp);
	const uint64_t begin = sp / sizeof(sp) * sizeof(sp);
	const uint64_t most = map ? KNOWN_MOST : UNKNOWN_MOST;
	const uint64_t end = map && map->end - begin < most ? map->end : begin + most;
	uint64_t words[WINDOW / sizeof(uint64_t)], next;

	*other = 0;
	for (uint64_t at = begin; at < end; at = next) {
		uint64_t size = end - at < sizeof(words) ? end - at : sizeof(words);

		if (!target_read(l->target, at, words, size)) {
			size = PAGE - at % PAGE;
			if (!target_read(l->target, at, words, size))
				return true;
		}
		for (size_t i = 0; i + SAVED_WORDS <= size / sizeof(*words); i++) {
			if (!is_saved(words + i))
				continue;
			if (!saved_move(l, at + (i + SAVED_PC) * sizeof(*words),
					words[i + SAVED_PC]))
				return false;
			if (words[i + SAVED_SP] < begin || words[i + SAVED_SP] >= end)
				*other = words[i + SAVED_SP];
		}
		/* One may cross the border of two windows. */
		next = at + size;
		if (next < end && size > SAVED_WORDS * sizeof(*words))
			next -= (SAVED_WORDS - 1) * sizeof(*words);
	}
	return true;
}

bool tracees_saved_step_out(struct tracees *s, const struct attach_range *ranges, size_t n)
{
	const struct look l = { s->target, ranges, n };
	struct user_regs_struct r;

	for (size_t i = 0; n && i < s->count; i++) {
		uint64_t sp;

		if (os_ptrace(PTRACE_GETREGS, s->list[i].tid, 0, (uintptr_t)&r) != 0)
			continue;
		sp = r.rsp;
		for (unsigned k = 0; sp && k < STACKS_MOST; k++)
			if (!stack_look(&l, sp, &sp))
				return false;
	}
	return true;
}
