/* See innermost.h. */
#include "flow/innermost.h"

#include <assert.h>

#include "base/map64.h"
#include "base/mem.h"

enum { FRAMES_MAX = 1 << 24, SHALLOW = INNERMOST_NEAR / 2, SPARE = 64 };

/*
 * INVARIANT: top[c] - 1 is the topmost frame of class c, or top[c] is 0 if none is open; below[i]
 * is the same for the frames below frame i and the class of frame i.
 */
struct innermost {
	struct map64 top;
	size_t live; /* classes with an open frame */
	uint32_t *below;
	size_t cap;
};

void innermost_free(struct innermost **index)
{
	struct innermost *x = *index;

	if (!x)
		return;
	map64_free(&x->top);
	mem_free(x->below);
	mem_free(x);
	*index = NULL;
}

/* Forgets the classes that are not open any more. */
static bool index_purge(struct innermost *x)
{
	const struct map64_slot *from;
	struct map64 kept = { 0 };
	size_t i = 0;

	while ((from = map64_next(&x->top, &i))) {
		struct map64_slot *to;

		if (!from->value)
			continue;
		to = map64_put(&kept, from->key);
		if (!to) {
			map64_free(&kept);
			return false;
		}
		to->value = from->value;
	}
	map64_free(&x->top);
	x->top = kept;
	return true;
}

bool innermost_push(struct innermost *x, size_t i, uint32_t cls)
{
	struct map64_slot *slot;

	if (!cls)
		return true;
	if (!mem_grow((void **)&x->below, &x->cap, i + 1, sizeof(*x->below), FRAMES_MAX))
		return false;
	if (x->top.count > 2 * x->live + SPARE && !index_purge(x))
		return false;
	slot = map64_put(&x->top, cls);
	if (!slot)
		return false;
	assert(slot->value <= i);
	x->live += !slot->value;
	x->below[i] = (uint32_t)slot->value;
	slot->value = i + 1;
	return true;
}

void innermost_pop(struct innermost **index, size_t i, uint32_t cls)
{
	struct innermost *x = *index;
	struct map64_slot *slot = cls ? map64_find(&x->top, cls) : NULL;

	if (i <= SHALLOW) {
		innermost_free(index);
	} else if (slot) {
		assert(slot->value == i + 1 && i < x->cap && x->live);
		slot->value = x->below[i];
		x->live -= !slot->value;
	}
}

static struct innermost *index_new(const struct frame_list *list)
{
	struct innermost *x = mem_alloc(sizeof(*x));

	for (size_t i = 0; x && i < list->n; i++)
		if (!innermost_push(x, i, list->cls(list->frames, i)))
			innermost_free(&x);
	return x;
}

/* Among the frames `from` and above. */
static size_t search(const struct frame_list *list, uint32_t cls, size_t from)
{
	for (size_t i = list->n; i > from; i--)
		if (list->cls(list->frames, i - 1) == cls)
			return i;
	return 0;
}

size_t innermost_find(struct innermost **index, const struct frame_list *list, uint32_t cls)
{
	const size_t near = list->n > INNERMOST_NEAR ? list->n - INNERMOST_NEAR : 0;
	const struct map64_slot *slot;
	size_t found;

	if (!cls)
		return 0;
	if (!*index) {
		found = search(list, cls, near);
		if (found || !near)
			return found;
		*index = index_new(list);
	}
	if (!*index)
		return search(list, cls, 0);
	slot = map64_find(&(*index)->top, cls);
	return slot ? (size_t)slot->value : 0;
}
