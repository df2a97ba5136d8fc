/* Growth and far matches of the call-stack machine; the rest is inline in pair.h. */
#include "flow/pair.h"

#include <assert.h>

bool pair_grow_tracks(struct pair *p, uint32_t track)
{
	return mem_grow((void **)&p->stacks, &p->cap, (size_t)track + 1, sizeof(*p->stacks),
			PAIR_TRACKS);
}

bool pair_grow_frames(struct pair_stack *s, size_t need)
{
	struct pair_frame *ground = s->frames ? s->frames - 1 : NULL;
	size_t cap = s->frames ? s->cap + 1 : 0;

	if (!mem_grow((void **)&ground, &cap, need + 1, sizeof(*ground), PAIR_DEPTH + 1))
		return false;
	ground->cls = UINT32_MAX;
	s->frames = ground + 1;
	s->cap = cap - 1;
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
		mem_free(s->frames - 1);
	innermost_free(&s->index);
	*s = (struct pair_stack){ 0 };
}

void pair_free(struct pair *p)
{
	for (size_t i = 0; i < p->cap; i++)
		pair_stack_free(&p->stacks[i]);
	mem_free(p->stacks);
	*p = (struct pair){ 0 };
}
