/* See fit.h: the parts of the quick path that do not run for every row. */
#include "flow/fit.h"

/* No row has a CPU in its masked bits. */
void fit_close(struct fit *v)
{
	v->begin = row_rest(0, 0, 1, 0);
}

struct fit fit_load(const struct pair_stack *s, const struct spur_event *row)
{
	const bool depth = row->flags & SPUR_F_DEPTH;
	const size_t cap = depth && s->cap > UINT16_MAX ? UINT16_MAX : s->cap;
	struct fit v = {
		.begin = row_rest(SPUR_BEGIN, depth ? SPUR_F_DEPTH : 0, 0, depth ? s->n : 0),
		.mask = row_rest(UINT8_MAX, SPUR_F_DEPTH, 0, depth ? UINT16_MAX : 0),
		.level = row_rest(0, 0, 0, depth),
	};

	assert(s->calls <= s->n && s->n <= s->cap);
	if (s->cap) {
		v.next = s->frames + s->n;
		v.limit = s->frames + cap;
	}
	if (!s->cap || s->index || (depth && s->n >= UINT16_MAX))
		fit_close(&v);
	return v;
}

void fit_store(struct pair_stack *s, const struct pair_frame *next)
{
	const size_t n = s->cap ? (size_t)(next - s->frames) : 0;

	assert(n <= s->cap && (n == s->n || !s->index));
	s->calls += n - s->n;
	s->n = n;
}
