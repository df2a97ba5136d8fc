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
	    !mem_grow((void **)&k->head, &k->head_cap, need, sizeof(*k->head), SINK_CLASSES) ||
	    (k->addrs && !mem_grow((void **)&k->addrs->of, &k->addrs->cap, need,
				   sizeof(*k->addrs->of), SINK_CLASSES)))
		return false;
	for (; k->nclasses < need; k->nclasses++) {
		const struct event_class *c = trace_class(t, (uint32_t)k->nclasses);

		/* The first class of a head is the head itself. */
		assert(!c || c->head <= k->nclasses);
		k->head[k->nclasses] = (uint16_t)(k->addrs ? k->nclasses : c ? c->head : 0);
	}
	return true;
}

bool sink_takes(struct call_sink *k, const struct spur_trace *t, uint32_t cls, uint64_t addr)
{
	struct sink_addrs *const a = k->addrs;
	struct map64_slot *slot;

	if (!sink_room(k, t, cls))
		return false;
	if (!a || a->of[cls])
		return !a || a->of[cls] == addr;
	slot = addr && a->admits(a->self, cls) ? map64_put(&a->classes, addr) : NULL;
	if (!slot || (slot->value && slot->value != cls))
		return false;
	slot->value = cls;
	a->of[cls] = addr;
	return true;
}

/* Notes what a call has left on its level. */
static inline void left_note(struct sink_addrs *a, const struct sink_call *c, uint64_t inside)
{
	const uint64_t length = c->length;

	a->low = c->depth < a->low ? c->depth : a->low;
	a->high = c->depth >= a->high ? c->depth + 1u : a->high;
	a->left[c->depth] = (struct sink_left){
		.length = length,
		.child = inside < length ? inside : length,
		.cls = c->cls,
		.low = a->low,
	};
}

static inline __attribute__((always_inline)) void settle(struct call_sink *k, size_t n, bool addrs)
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
		if (addrs)
			left_note(k->addrs, c, inside);
	}
}

void sink_settle(struct call_sink *k, size_t n)
{
	if (k->addrs)
		settle(k, n, true);
	else
		settle(k, n, false);
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
	if (k->addrs) {
		mem_free(k->addrs->of);
		map64_free(&k->addrs->classes);
		mem_free(k->addrs);
	}
	mem_free(k->sums);
	mem_free(k->open);
	mem_free(k->head);
	mem_free(k);
}
