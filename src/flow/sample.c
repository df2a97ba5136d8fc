/* See sample.h. */
#include "flow/sample.h"

enum { FIRST_ROOM = 64 };

bool sample_read(struct sample *s, struct spur_trace *t, const struct spur_event *row)
{
	size_t n = 0;

	s->n = 0;
	if (!t->format->stack)
		return true;
	if (!mem_grow((void **)&s->cls, &s->cap, FIRST_ROOM, sizeof(*s->cls), SAMPLE_DEPTH))
		return false;
	n = t->format->stack(t, row, s->cls, s->cap);
	n = n < SAMPLE_DEPTH ? n : SAMPLE_DEPTH;
	if (n > s->cap) {
		size_t again;

		if (!mem_grow((void **)&s->cls, &s->cap, n, sizeof(*s->cls), SAMPLE_DEPTH))
			return false;
		again = t->format->stack(t, row, s->cls, n);
		n = again < n ? again : n;
	}
	s->n = n;
	s->calls = row->id ? row->id : 1;
	s->self = row->dur > 0 ? (uint64_t)row->dur : 0;
	return true;
}

void sample_free(struct sample *s)
{
	mem_free(s->cls);
	*s = (struct sample){ 0 };
}
