/*
 * The innermost open frame of a class, for ENDs that name what they close but not how deep it lies.
 * The topmost frames are searched first. If the class is not among them, an index of the whole
 * stack is made, which every push and pop keeps up to date until the stack is shallow again. So
 * each row costs constant time on average, whatever rows come, and a stack that never needs the
 * index pays one comparison for it.
 *
 * The memory of an index is bounded by the frames of its stack.
 */
#ifndef SPUR_FLOW_INNERMOST_H
#define SPUR_FLOW_INNERMOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INNERMOST_NEAR = 64 }; /* frames that are looked at one by one */

/* A stack as its owner keeps it, the topmost frame last. */
struct frame_list {
	const void *frames;
	size_t n;
	/* The class of frame `i`; 0 where no END closes it. */
	uint32_t (*cls)(const void *frames, size_t i);
};

struct innermost;

/*
 * Returns the number + 1 of the innermost frame of the class (not 0), or 0 if none is open. May
 * make *index, which is NULL before; if out of memory it searches instead.
 */
size_t innermost_find(struct innermost **index, const struct frame_list *list, uint32_t cls);
/* Notes frame `i` of that class (0: none), new on top. Returns false if out of memory. */
bool innermost_push(struct innermost *x, size_t i, uint32_t cls);
/* Forgets the topmost frame, which has the number `i` and that class (0: none). */
void innermost_pop(struct innermost **index, size_t i, uint32_t cls);
void innermost_free(struct innermost **index);

#endif
