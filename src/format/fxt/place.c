/*
 * What same-format copies need of a record: its place, raw times, and provider. Nothing is kept
 * for a record: the provider at an offset is looked up in the list of provider sections.
 */
#include "format/fxt/reader.h"

/* --- origins --- */

/*
 * SPEC fxt/origin: number and name of the provider, and the clock of its first initialization
 * record, or that of the provider before all others. With several clocks it shares none.
 */
static struct spur_origin origin_of(const struct fxt *x, const struct fxt_provider *p)
{
	const struct fxt_provider *const clock = p->told_hz ? p : x->providers[0];
	const uint64_t hz = clock->told_hz ? clock->told_hz : 1000000000;

	return (struct spur_origin){
		.name = p->name,
		.provider = p->number ? p->id : SPUR_NONE,
		.track = p->track,
		.byte_order = x->swap == order_swaps(true) ? 'b' : 'l',
		.clock_shared = hz == x->clock.hz && clock->told_base == x->clock.base &&
				!clock->told_others,
		.hz = clock->told_hz,
	};
}

bool fxt_origin_add(struct fxt *x, const struct fxt_provider *p)
{
	struct spur_trace *t = x->t;
	bool good;

	pthread_mutex_lock(&t->lock);
	/* Rows are read while later ones are added. */
	good = (x->ordered || trace_reserve_origins(t, FXT_PROVIDERS)) &&
	       trace_add_origin(t, origin_of(x, p)) == p->number;
	pthread_mutex_unlock(&t->lock);
	return good;
}

void fxt_origin_update(struct fxt *x, const struct fxt_provider *p)
{
	struct spur_trace *t = x->t;

	if (p->number >= t->norigins)
		return;
	pthread_mutex_lock(&t->lock);
	t->origins[p->number] = origin_of(x, p);
	pthread_mutex_unlock(&t->lock);
}

/* --- records --- */

/* Bytes of the record at an offset; 0 if it is not there: a mapped file may have been cut since. */
static uint64_t record_size(const struct fxt *x, uint64_t off)
{
	const uint64_t left = off < x->src->size ? x->src->size - off : 0;
	const uint64_t size =
		left < FXT_WORD ? 0 : fxt_words(load64(x->src->data + off, x->swap)) * FXT_WORD;

	return size <= left ? size : 0;
}

/*
 * SPEC fxt/origin: a provider event is its provider's, whoever speaks; all other records are the
 * speaker's
 */
static const struct fxt_provider *record_provider(const struct fxt *x, uint64_t off)
{
	const uint64_t head = load64(x->src->data + off, x->swap);
	const struct map64_slot *slot = NULL;

	if (fxt_type(head) == FXT_METADATA &&
	    fxt_get(head, FXT_F_METADATA_TYPE) == FXT_PROVIDER_EVENT)
		slot = map64_find(&x->by_id, fxt_get(head, FXT_F_METADATA_PROVIDER));
	return slot && slot->value ? x->providers[slot->value - 1] : fxt_provider_at(x, off);
}

void fxt_record_place(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place)
{
	struct fxt *x = t->state;
	const uint64_t size = record_size(x, ev->off);

	if (!size)
		return;
	place->len = size;
	place->bits = 8 * size;
	place->raw = x->src->data + ev->off;
	if (!x->ordered)
		pthread_mutex_lock(&x->lock);
	place->origin = record_provider(x, ev->off)->number;
	if (!x->ordered)
		pthread_mutex_unlock(&x->lock);
}

bool fxt_record_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2])
{
	const struct fxt *x = t->state;
	const uint64_t size = record_size(x, ev->off);
	struct fxt_shape s;

	if (!size || (ev->flags & SPUR_F_RETIMED))
		return false;
	fxt_shape_of(&s, x->src->data + ev->off, size, x->swap);
	if (!s.timed)
		return false;
	ticks[0] = s.ticks;
	ticks[1] = ev->kind == SPUR_SPAN ? s.value : s.ticks;
	return true;
}
