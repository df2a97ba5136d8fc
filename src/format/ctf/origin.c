/*
 * SPEC ctf/origins: a stream's records are of its stream class: byte order of the trace (of CTF 2:
 * of the heads, else of the events), clock of the class, `tracer_name` of the environment, else
 * `hostname`. Equal ticks of one origin are equal times.
 */
#include "format/ctf/origin.h"

enum { LITTLE = 1, BIG = 2 };

/* Byte orders of the fields of a class: a set of LITTLE and BIG. */
static unsigned order_of(const struct ctf_field *f)
{
	unsigned seen = 0;

	if (!f)
		return 0;
	if (f->kind <= CTF_FLOAT && f->size > 1)
		seen = f->big_endian ? BIG : LITTLE;
	for (uint32_t i = 0; i < f->nmembers; i++)
		seen |= order_of(f->members[i].field);
	return seen | order_of(f->element);
}

static unsigned head_orders(const struct ctf_stream_class *s)
{
	return order_of(s->packet_context) | order_of(s->event_header);
}

/* The orders of the first event class that has any. */
static unsigned event_orders(const struct ctf_stream_class *s)
{
	unsigned seen = 0;

	for (size_t i = 0; i < s->nevents && !seen; i++)
		seen = order_of(s->events[i]->payload);
	return seen;
}

/*
 * CTF 2 has no order of the trace: that of the heads of packets and events, else of what events
 * have.
 */
const char *ctf_byte_order(const struct ctf_meta *m)
{
	static const char *const names[] = { "little", "little", "big", "mixed" };
	unsigned seen = order_of(m->packet_header);

	if (m->generation != CTF_2)
		return m->big_endian ? "big" : "little";
	for (size_t i = 0; i < m->nstreams; i++)
		seen |= head_orders(m->streams[i]);
	for (size_t i = 0; i < m->nstreams && !seen; i++)
		seen = event_orders(m->streams[i]);
	assert(seen <= (LITTLE | BIG));
	return names[seen];
}

static char class_order(const struct ctf_meta *m, const struct ctf_stream_class *s)
{
	unsigned seen = order_of(m->packet_header) | head_orders(s);

	if (m->generation != CTF_2)
		return m->big_endian ? 'b' : 'l';
	if (!seen)
		seen = event_orders(s);
	return seen == (LITTLE | BIG) ? '\0' : seen == BIG ? 'b' : 'l';
}

static const char *producer_name(const struct ctf_meta *m)
{
	static const char *const keys[] = { "tracer_name", "hostname" };

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < m->nenv; i++)
			if (m->env[i].is_text && strcmp(m->env[i].key, keys[k]) == 0)
				return m->env[i].text;
	return NULL;
}

/*
 * Whether equal values of the two clocks (NULL: none) are equal times of rows. Where metadata grows
 * (`grow`), each version has the clocks of the one before once more.
 */
static bool same_ticks(const struct ctf_clock *a, const struct ctf_clock *b, bool grow)
{
	return a == b || (a && b && a->hz == b->hz && a->offset == b->offset &&
			  a->offset_seconds == b->offset_seconds &&
			  (grow || ctf_same_origin(a, b)));
}

static bool same_origin(const struct spur_origin *a, const struct spur_origin *b)
{
	return a->name == b->name && a->byte_order == b->byte_order && a->hz == b->hz;
}

/* Returns the number of the new origin, SPUR_NONE if out of memory. */
static uint32_t origin_add(struct ctf *c, struct spur_origin origin, const struct ctf_clock *clock)
{
	const size_t n = c->t->norigins;

	if (!mem_grow((void **)&c->origin_clocks, &c->origin_clocks_cap, n + 1,
		      sizeof(*c->origin_clocks), SIZE_MAX))
		return SPUR_NONE;
	c->origin_clocks[n] = clock;
	return trace_add_origin(c->t, origin);
}

bool ctf_class_origin(struct ctf *c, const struct ctf_trace *tr, struct ctf_class *k)
{
	const struct ctf_clock *clock = k->class->clock;
	const char *name = producer_name(tr->meta);
	const struct spur_origin origin = {
		.name = name ? trace_intern(c->t, name) : 0,
		.provider = SPUR_NONE,
		.track = SPUR_NONE,
		.byte_order = class_order(tr->meta, k->class),
		.clock_shared = clock && same_ticks(clock, c->first_clock, false),
		.hz = clock ? clock->hz : 0,
	};

	for (k->origin = 0; k->origin < c->t->norigins; k->origin++)
		if (same_origin(&c->t->origins[k->origin], &origin) &&
		    same_ticks(c->origin_clocks[k->origin], clock, c->grow != NULL))
			return true;
	/*
	 * Of metadata that changes without end, what is beyond the room that does not move is like
	 * the first.
	 */
	k->origin = c->grow && c->t->norigins == CTF_MAX_ORIGINS ? 0 :
								   origin_add(c, origin, clock);
	if (k->origin != SPUR_NONE)
		return true;
	k->origin = 0;
	return false;
}

void ctf_stream_origin(struct ctf *c, const struct ctf_file *f)
{
	const struct ctf_trace *tr = &c->traces[f->trace];

	assert(f->class < tr->meta->nstreams || !tr->meta->nstreams);
	if (f->class < tr->meta->nstreams)
		c->t->streams[f->stream].origin = tr->classes[f->class].origin;
}
