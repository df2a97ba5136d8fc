/*
 * What same-format copies need of a packet: its place, raw times, and the clock that they are of.
 */
#include "format/heph/reader.h"

/*
 * SPEC heph/origin: nothing says who wrote a trace, so an origin is a segment: of another epoch,
 * hence of another clock than the first one's.
 */
bool heph_origin_add(struct heph *h, size_t segment)
{
	struct spur_trace *const t = h->trace;
	uint32_t origin;

	pthread_mutex_lock(&t->lock);
	origin = trace_add_origin(t, (struct spur_origin){
					     .provider = SPUR_NONE,
					     .track = SPUR_NONE,
					     .byte_order = 'b',
					     .clock_shared = !h->segments[segment].shift,
					     .hz = 1000000000,
				     });
	pthread_mutex_unlock(&t->lock);
	assert(origin == segment || origin == SPUR_NONE);
	return origin != SPUR_NONE;
}

/* The place of a LOST row is empty: nothing in the data stands for it. */
void heph_place(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place)
{
	const struct heph *h = t->state;

	if (h->stored)
		pthread_mutex_lock(&t->lock);
	place->origin = (uint32_t)(heph_segment_at(h, ev->off) - h->segments);
	if (h->stored)
		pthread_mutex_unlock(&t->lock);
	place->raw = ev->len ? h->walk.base + ev->off : NULL;
}

bool heph_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2])
{
	const struct heph *h = t->state;
	struct heph_times times;

	if (ev->len < h->walk.head || be32(h->walk.base + ev->off) != heph_event_magic)
		return false;
	times = heph_times(h, h->walk.base + ev->off);
	ticks[0] = times.start;
	ticks[1] = times.end;
	return true;
}
