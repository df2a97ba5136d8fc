/* See sink.h. */
#include "model/sink.h"

#include "base/mem.h"

bool sink_room(struct call_sink *k, const struct spur_trace *t, uint32_t cls)
{
	const size_t need = (size_t)cls + 1;

	if (cls < k->nclasses)
		return true;
	if (need > SINK_CLASSES ||
	    !mem_grow((void **)&k->sums, &k->sums_cap, need, sizeof(*k->sums), SINK_CLASSES) ||
	    !mem_grow((void **)&k->open, &k->open_cap, need, sizeof(*k->open), SINK_CLASSES) ||
	    !mem_grow((void **)&k->head, &k->head_cap, need, sizeof(*k->head), SINK_CLASSES))
		return false;
	for (; k->nclasses < need; k->nclasses++) {
		const struct event_class *c = trace_class(t, (uint32_t)k->nclasses);

		/* The first class of a head is the head itself. */
		assert(!c || c->head <= k->nclasses);
		k->head[k->nclasses] = (uint16_t)(c ? c->head : 0);
	}
	return true;
}

void sink_settle(struct call_sink *k, size_t n)
{
	uint64_t *const child = k->child;
	struct sink_sum *const sums = k->sums;

	for (const struct sink_call *c = k->ended; c < k->ended + n; c++) {
		struct sink_sum *const s = &sums[c->cls];
		const uint64_t length = c->length, inside = child[c->depth + 1];

		child[c->depth + 1] = 0;
		child[c->depth] += length;
		s->sum += length;
		s->self += inside < length ? length - inside : 0;
		s->calls++;
		if (__builtin_expect(length > s->most, 0))
			s->most = length;
		if (__builtin_expect(~length > s->least, 0))
			s->least = ~length;
		if (__builtin_expect(c->nested, 0))
			s->inner += length;
	}
}

void sink_push(struct call_sink *k, uint32_t cls, int64_t ts, int64_t child)
{
	assert(k->depth < SINK_DEPTH && cls < k->nclasses);
	k->ts[k->depth] = (uint64_t)ts;
	k->cls[k->depth] = cls;
	k->child[++k->depth] = (uint64_t)child;
	k->open[k->head[cls]]++;
}

void sink_clear(struct call_sink *k)
{
	while (k->depth) {
		k->child[k->depth] = 0;
		k->open[k->head[k->cls[--k->depth]]]--;
	}
	k->child[0] = 0;
}

void sink_free(struct call_sink *k)
{
	if (!k)
		return;
	mem_free(k->sums);
	mem_free(k->open);
	mem_free(k->head);
	mem_free(k);
}
