/* Growth and far matches of the call-stack machine; the rest is inline in pair.h. */
#include "flow/pair.h"

#include <assert.h>

#include "base/pool.h"

enum {
	STACKS_FIRST = 1024, /* number of stacks among which empty ones are not searched for */
	FRAMES_KEPT = 64, /* of a stack without a track */
};

/* Moves the stack that *at points to from its list to the spare ones. */
static void stack_take_back(struct pair *p, struct pair_stack **at)
{
	struct pair_stack *s = *at;

	*at = s->next;
	p->stacks[s->track] = NULL;
	p->nused--;
	innermost_free(&s->index);
	if (s->cap > FRAMES_KEPT)
		pair_stack_free(s);
	*s = (struct pair_stack){ .frames = s->frames, .cap = s->cap, .next = p->spare };
	p->spare = s;
}

void pair_clear(struct pair *p)
{
	while (p->used)
		stack_take_back(p, &p->used);
	assert(!p->nused);
	p->full = 0;
}

/* Takes the empty stacks back. A search costs no more than the stacks that were made since. */
static void empty_take_back(struct pair *p)
{
	struct pair_stack **at = &p->used;

	while (*at) {
		const struct pair_stack *s = *at;

		if (s->n || s->spans.any || s->index || s->user)
			at = &(*at)->next;
		else
			stack_take_back(p, at);
	}
	p->full = 2 * p->nused + STACKS_FIRST;
}

struct pair_stack *pair_stack_make(struct pair *p, uint32_t track)
{
	struct pair_stack *s;

	if (!mem_table_grow((void **)&p->stacks, &p->cap, (size_t)track + 1, sizeof(*p->stacks),
			    PAIR_TRACKS))
		return NULL;
	if (pair_is_full(p))
		empty_take_back(p);
	s = p->spare;
	if (s)
		p->spare = s->next;
	else
		s = pool_alloc(sizeof(*s));
	if (!s)
		return NULL;
	/* The frames are used again, and the ground's time of what was inside begins anew. */
	if (s->frames)
		s->frames[-1].child = 0;
	s->track = track;
	s->next = p->used;
	p->used = s;
	p->nused++;
	p->stacks[track] = s;
	return s;
}

bool pair_grow_frames(struct pair_stack *s, size_t need)
{
	struct pair_frame *ground = s->frames ? s->frames - 1 : NULL;
	size_t cap = s->frames ? s->cap + 1 : 0;

	if (!pool_grow((void **)&ground, &cap, need + 1, sizeof(*ground), PAIR_DEPTH + 1))
		return false;
	ground->cls = UINT32_MAX;
	s->frames = ground + 1;
	s->cap = (uint32_t)cap - 1;
	assert(s->calls <= s->n && s->n < s->cap);
	return true;
}

bool pair_fill(struct pair_stack *s, size_t depth, int64_t ts)
{
	if (!pair_grow_frames(s, depth + (s->n - s->calls)))
		return false;
	assert(s->n == s->calls);
	while (s->calls < depth) {
		s->frames[s->n++] = (struct pair_frame){ .ts = ts, .flags = PAIR_MISSING };
		s->calls++;
	}
	return true;
}

static uint32_t frame_class(const void *frames, size_t i)
{
	const struct pair_frame *f = (const struct pair_frame *)frames + i;

	return f->flags ? 0 : f->cls;
}

bool pair_has(struct pair_stack *s, uint32_t cls)
{
	const struct frame_list list = { s->frames, s->n, frame_class };

	return s->n && innermost_find(&s->index, &list, cls);
}

size_t pair_search(struct pair_stack *s, const struct spur_event *row)
{
	const struct frame_list list = { s->frames, s->n, frame_class };
	const size_t found = innermost_find(&s->index, &list, row->cls);

	if (found)
		return s->n - found;
	/* Even an END that ends no call shows that the thread is on a CPU. */
	return pair_is_outer(row, &s->spans) ? s->n : s->n - s->calls;
}

void pair_stack_free(struct pair_stack *s)
{
	if (s->frames)
		pool_array_free(s->frames - 1, (size_t)s->cap + 1, sizeof(*s->frames));
	innermost_free(&s->index);
	*s = (struct pair_stack){ 0 };
}

void pair_free(struct pair *p)
{
	pair_clear(p);
	for (struct pair_stack *s = p->spare, *next; s; s = next) {
		next = s->next;
		pair_stack_free(s);
		pool_free(s, sizeof(*s));
	}
	mem_table_free(p->stacks, p->cap, sizeof(*p->stacks));
	*p = (struct pair){ 0 };
}
