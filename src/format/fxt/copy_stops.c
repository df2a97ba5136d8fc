/* Where walks over a trace that is copied several times may begin. See copying.h. */
#include "base/search.h"
#include "format/fxt/copying.h"

static uint64_t stop_end(const struct fxt_stop *s)
{
	return s->walk.off + s->walk.size;
}

bool fxt_copy_stop(struct fxt_copying *k, const struct fxt_walk *w)
{
	struct fxt_walked *d = k->x->walked;
	const uint64_t last = d->nstops ? stop_end(&d->stops[d->nstops - 1]) : 0;

	if (w->off + w->size < last + FXT_STOP_BYTES)
		return true;
	if (!fxt_scratch_grow((void **)&d->stops, &d->stops_cap, d->nstops + 1, sizeof(*d->stops)))
		return false;
	d->stops[d->nstops] = (struct fxt_stop){ .walk = *w, .highest = k->highest };
	d->stops[d->nstops++].walk.clock = NULL;
	return true;
}

/* Nothing is known of what the records in between have changed. */
static void tables_forget(struct fxt_copying *k)
{
	for (size_t i = 0; i < k->nproviders; i++) {
		struct fxt_copied *p = &k->providers[i];

		if (p->string_told)
			memset(p->string_told + 1, false, FXT_STRINGS - 1);
		if (p->thread_told)
			memset(p->thread_told, false, FXT_THREADS);
	}
	k->settled = 0;
	k->quick = k->quick && !k->x->walked->fallback;
}

void fxt_copy_skip(struct fxt_copying *k, struct fxt_walk *w, uint64_t next)
{
	const struct fxt_walked *d = k->x->walked;
	const uint64_t at = w->off + w->size;
	size_t i;

	if (next < at || next - at < FXT_STOP_BYTES || !d->nstops ||
	    stop_end(&d->stops[d->nstops - 1]) <= at)
		return;
	bisect(i, 0, d->nstops, stop_end(&d->stops[i]) <= next);
	if (!i || stop_end(&d->stops[i - 1]) <= at)
		return;
	*w = d->stops[i - 1].walk;
	k->highest = d->stops[i - 1].highest;
	tables_forget(k);
}

void fxt_walked_free(struct fxt_walked *d)
{
	if (!d)
		return;
	scratch_free(d->inits, d->inits_cap * sizeof(*d->inits));
	scratch_free(d->stops, d->stops_cap * sizeof(*d->stops));
	mem_free(d);
}
