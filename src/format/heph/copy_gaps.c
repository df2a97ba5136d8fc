/* See copy.h. The rules of counters are those of track.c. */
#include <stdlib.h>

#include "base/search.h"
#include "format/heph/copy.h"

enum { GAPS_MAX = 1 << 28, STREAMS_MAX = 1 << 24, STOPS_MAX = 1 << 20 };

/* A pass over the counters. */
struct counting {
	const struct heph *h;
	struct heph_gaps *gaps;
	struct heph_tracks tracks; /* no tracks: streams and the number of open gaps */
	const struct heph_segment *segment;
};

struct heph_walk heph_walk_again(const struct heph *h)
{
	struct heph_walk w;

	heph_walk_init(&w, h->walk.src);
	w.head = h->walk.head;
	return w;
}

static bool gap_is_lost(void *self, const struct heph_stream *s, const struct heph_gap *g)
{
	struct counting *c = self;

	(void)s;
	if (!mem_grow((void **)&c->gaps->items, &c->gaps->cap, c->gaps->n + 1,
		      sizeof(*c->gaps->items), GAPS_MAX))
		return false;
	c->gaps->items[c->gaps->n++] =
		(struct heph_missing){ .off = g->off, .count = g->count, .ts = g->ts };
	return true;
}

/* Returns NULL if out of memory. */
static struct heph_stream *stream_of(struct counting *c, uint32_t id)
{
	struct heph_tracks *k = &c->tracks;
	struct map64_slot *slot = map64_put(&k->by_id, (uint64_t)k->segment << 32 | id);
	struct heph_stream *s;

	if (slot && slot->value)
		return k->streams[slot->value - 1];
	if (!slot || !mem_grow((void **)&k->streams, &k->streams_cap, k->nstreams + 1, sizeof(s),
			       STREAMS_MAX))
		return NULL;
	s = mem_alloc(sizeof(*s));
	if (!s)
		return NULL;
	s->id = id;
	k->streams[k->nstreams++] = s;
	slot->value = k->nstreams;
	return s;
}

/* Returns false if out of memory. */
static bool event_count(struct counting *c, const struct heph_packet *k)
{
	const struct heph_losses losses = { .lost = gap_is_lost, .self = c };
	const struct heph_gap event = { .off = heph_off(c->h, k->p),
					.ts = heph_span(c->segment, heph_times(c->h, k->p)).ts };
	struct heph_stream *s = stream_of(c, heph_stream_id(k->p));
	enum heph_counter what;

	if (!s)
		return false;
	if (heph_counter_of(k->p) != s->next)
		return heph_counter_odd(&c->tracks, s, heph_counter_of(k->p), event, &losses,
					&what);
	s->next++;
	return true;
}

/* Counters begin anew with each segment. Returns false if out of memory. */
static bool segment_count(struct counting *c, uint64_t off)
{
	const struct heph_losses losses = { .lost = gap_is_lost, .self = c };
	const struct heph_segment *segment = heph_segment_at(c->h, off);

	if (segment == c->segment)
		return true;
	c->segment = segment;
	if (!heph_counters_end(&c->tracks, &losses))
		return false;
	heph_tracks_segment(&c->tracks, (uint32_t)(segment - c->h->segments));
	return true;
}

static int by_offset(const void *a, const void *b)
{
	const struct heph_missing *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

/* Returns false if out of memory. */
static bool stop_note(struct heph_gaps *gaps, uint64_t off)
{
	if (gaps->nstops == STOPS_MAX) {
		gaps->tiled = false;
		return true;
	}
	if (!mem_grow((void **)&gaps->stops, &gaps->stops_cap, gaps->nstops + 1,
		      sizeof(*gaps->stops), STOPS_MAX))
		return false;
	gaps->stops[gaps->nstops++] = off;
	return true;
}

/* Returns false if out of memory. */
static bool gaps_find(const struct heph *h, struct heph_gaps *gaps)
{
	struct counting c = { .h = h, .gaps = gaps, .segment = h->segments };
	const struct heph_losses losses = { .lost = gap_is_lost, .self = &c };
	struct heph_walk w = heph_walk_again(h);
	struct heph_packet k = { .meta = false };
	const uint8_t *end = w.base;
	bool good = true;

	gaps->tiled = true;
	while (good && heph_walk_next(&w, &k) == HEPH_PACKET) {
		gaps->tiled &= k.p == end;
		end = k.p + k.size;
		good = k.meta ? segment_count(&c, heph_off(h, k.p)) : event_count(&c, &k);
		if (good && (k.meta || heph_event_naming(h, k.p, k.size)))
			good = stop_note(gaps, heph_off(h, k.p));
		k.meta = false;
	}
	gaps->tiled &= end == w.end;
	good = good && heph_counters_end(&c.tracks, &losses);
	heph_tracks_free(&c.tracks);
	if (gaps->n)
		qsort(gaps->items, gaps->n, sizeof(*gaps->items), by_offset);
	return good;
}

const struct heph_gaps *heph_gaps_find(struct heph *h)
{
	struct heph_gaps *gaps = h->gaps ? h->gaps : mem_alloc(sizeof(*gaps));

	if (gaps && !h->gaps && !gaps_find(h, gaps)) {
		heph_gaps_free(gaps);
		return NULL;
	}
	h->gaps = gaps;
	return gaps;
}

uint64_t heph_gaps_next(const struct heph_gaps *gaps, uint64_t off)
{
	uint64_t next = UINT64_MAX;
	size_t i;

	bisect(i, 0, gaps->nstops, gaps->stops[i] < off);
	if (i < gaps->nstops)
		next = gaps->stops[i];
	bisect(i, 0, gaps->n, gaps->items[i].off < off);
	return i < gaps->n && gaps->items[i].off < next ? gaps->items[i].off : next;
}

const struct heph_missing *heph_gap_at(const struct heph_gaps *gaps, uint64_t off)
{
	size_t i;

	bisect(i, 0, gaps->n, gaps->items[i].off < off);
	return i < gaps->n && gaps->items[i].off == off ? &gaps->items[i] : NULL;
}

void heph_gaps_free(struct heph_gaps *gaps)
{
	if (!gaps)
		return;
	mem_free(gaps->items);
	mem_free(gaps->stops);
	mem_free(gaps);
}
