/*
 * The innermost open frame of a class, for ENDs that say what they close but not how deep it lies.
 * Any stack of frames can ask: it looks at the topmost frames first; where that finds nothing an
 * index of the whole stack is made, which every push and pop keeps up to date until the stack is
 * shallow again. So whatever rows come, each costs constant time on average, and stacks that never
 * need the index pay one comparison for it.
 *
 * Memory of an index: bounded by the frames of its stack.
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
 * Returns 1 + the number of the innermost frame of the class, or 0 if none is open. Makes *index
 * (NULL before) when needed; if out of memory it searches the list.
 */
size_t innermost_find(struct innermost **index, const struct frame_list *list, uint32_t cls);
/*
 * Registers frame `i` of that class (0: no class) as the topmost one. Returns false if out of
 * memory.
 */
bool innermost_push(struct innermost *x, size_t i, uint32_t cls);
/* The topmost frame, of number `i` and that class (0: none), goes. */
void innermost_pop(struct innermost **index, size_t i, uint32_t cls);
void innermost_free(struct innermost **index);

#endif
