/* See lend.h. */
#include "pass/fold/lend.h"

#include <assert.h>

#include "pass/fold/segment.h"

/* Opens the stack's frames in the sink. Returns false if one of them is not for it. */
static bool frames_lend(struct calls *w, const struct pair_stack *s)
{
	struct call_sink *const k = w->sink;
	const uint32_t base = w->segment ? w->segment->base : 0;
	int64_t before = INT64_MIN;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct pair_frame *f = &s->frames[i];

		/* No record ends the frames of calls before the part: they have no class. */
		if ((f->flags && i >= base) || f->ts < before || !sink_room(k, w->trace, f->cls)) {
			sink_clear(k);
			return false;
		}
		before = f->ts;
		sink_push(k, f->cls, f->ts, f->child);
	}
	return true;
}

struct call_sink *calls_lend(void *worker)
{
	struct calls *w = worker;
	const struct pair_stack *s;

	if (w->lent)
		return w->sink;
	if (w->by != CALLS_BY_FUNCTION || w->want || w->feed_track == SPUR_NONE || w->gather.n)
		return NULL;
	if (!w->sink && !(w->sink = mem_alloc(sizeof(*w->sink))))
		return NULL;
	s = pair_at(&w->pair, w->feed_track);
	if (s && (s->index || s->n > SINK_DEPTH || !frames_lend(w, s)))
		return NULL;
	w->lent = true;
	return w->sink;
}

/* The frames of calls that have ended in the sink, and those of calls that began in it. */
static bool frames_take_back(struct calls *w, struct pair_stack *s)
{
	const struct call_sink *const k = w->sink;
	uint32_t i;

	for (i = 0; i < s->n && i < k->depth; i++) {
		struct pair_frame *f = &s->frames[i];

		if (f->cls != k->cls[i] || f->ts != (int64_t)k->ts[i])
			break;
		f->child = (int64_t)k->child[i + 1];
	}
	while (s->n > i)
		if (!calls_close(w, pair_pop(s)->cls, w->feed_track))
			return false;
	for (; i < k->depth; i++) {
		const struct spur_event row = { .kind = SPUR_BEGIN,
						.ts = (int64_t)k->ts[i],
						.cls = k->cls[i],
						.track = w->feed_track };
		struct pair_frame *f = pair_push(s, &row);

		if (!f || !calls_open(w, row.cls, row.track))
			return false;
		f->user = row.cls;
		f->child = (int64_t)k->child[i + 1];
	}
	return true;
}

bool calls_take_back(struct calls *w)
{
	struct call_sink *const k = w->sink;
	struct pair_stack *s;
	bool good = true;

	if (!w->lent)
		return true;
	w->lent = false;
	if (k->rows) {
		const struct spur_event last = { .ts = k->last, .track = w->feed_track };

		s = pair_stack(&w->pair, w->feed_track);
		good = s && frames_take_back(w, s) && ends_rows(&w->ends, &last, 1);
		w->low = w->feed_track < w->low ? w->feed_track : w->low;
		w->high = w->feed_track > w->high ? w->feed_track : w->high;
		w->rows += k->rows;
		k->rows = 0;
	}
	sink_clear(k);
	return good;
}

bool calls_settle(struct calls *w)
{
	struct call_sink *const k = w->sink;

	assert(!w->lent);
	for (uint32_t cls = 0; k && cls < k->nclasses; cls++) {
		struct sink_sum *const add = &k->sums[cls];
		struct call_stat *st;

		if (!add->calls)
			continue;
		st = calls_stat(w, cls);
		if (!st)
			return false;
		st->sum += add->sum;
		st->inner += add->inner;
		st->self += add->self;
		st->calls += add->calls;
		st->least = add->least > st->least ? add->least : st->least;
		st->most = add->most > st->most ? add->most : st->most;
		*add = (struct sink_sum){ 0 };
	}
	return true;
}
