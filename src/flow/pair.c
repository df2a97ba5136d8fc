/* Growth of the call-stack machine; the rest is inline in pair.h. */
#include "flow/pair.h"

bool pair_grow_tracks(struct pair *p, uint32_t track)
{
	return mem_grow((void **)&p->stacks, &p->cap, (size_t)track + 1, sizeof(*p->stacks), PAIR_TRACKS);
}

bool pair_grow_frames(struct pair_stack *s, size_t need)
{
	return mem_grow((void **)&s->frames, &s->cap, need, sizeof(*s->frames), PAIR_DEPTH);
}

bool pair_fill(struct pair_stack *s, size_t depth, int64_t ts)
{
	if (!pair_grow_frames(s, depth + (s->n - s->calls)))
		return false;
	while (s->calls < depth) {
		s->frames[s->n++] = (struct pair_frame){ .ts = ts, .flags = PAIR_MISSING };
		s->calls++;
	}
	return true;
}

void pair_free(struct pair *p)
{
	for (size_t i = 0; i < p->cap; i++)
		mem_free(p->stacks[i].frames);
	mem_free(p->stacks);
	*p = (struct pair){ 0 };
}
