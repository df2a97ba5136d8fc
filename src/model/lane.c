/* What is open on each track and its lanes. See lane.h. */
#include "model/lane.h"

#include <stdio.h>

enum {
	TRACKS_MAX = 1 << 28,
	DEPTH_MAX = 1 << 28,
	FEW = 2, /* open spans, and one, that need no array of their own */
};

#define OPEN INT64_MAX /* the end of a BEGIN whose END has not come */
#define DONE INT64_MIN /* it has come, but spans above it are still open */

/*
 * INVARIANT: ends[0] is OPEN, and stands for the empty lane; ends[1 .. n] are what is open, the
 * last opened last. A span ends no later than what lies below it, unless that is DONE or a BEGIN
 * lies between.
 */
struct lane {
	int64_t *ends; /* `few` while that is enough */
	size_t n, cap; /* cap: of ends */
	int64_t few[FEW];
	uint32_t track;
};

/* What few tracks need. */
struct lane_more {
	struct lane **more; /* the lanes beside the track */
	size_t nmore, more_cap;
	size_t *begins; /* of own.ends: which are BEGINs that are open */
	size_t nbegins, begins_cap;
};

struct lane_set {
	struct lane own;
	struct lane_more *rest; /* NULL: not needed yet */
};

struct lanes {
	struct spur_trace *trace;
	struct lane_set **sets; /* by track; NULL: nothing was ever there */
	size_t cap;
	size_t made; /* lanes */
	uint64_t moved;
};

static void lane_init(struct lane *k, uint32_t track)
{
	k->track = track;
	k->ends = k->few;
	k->ends[0] = OPEN;
	k->cap = FEW;
}

static void lane_free(struct lane *k)
{
	if (k->ends != k->few)
		mem_free(k->ends);
}

struct lanes *lanes_new(struct spur_trace *t)
{
	struct lanes *l = mem_alloc(sizeof(*l));

	if (l)
		l->trace = t;
	return l;
}

void lanes_free(struct lanes *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->cap; i++) {
		struct lane_set *s = l->sets[i];

		if (!s)
			continue;
		for (size_t k = 0; s->rest && k < s->rest->nmore; k++) {
			lane_free(s->rest->more[k]);
			mem_free(s->rest->more[k]);
		}
		if (s->rest) {
			mem_free(s->rest->more);
			mem_free(s->rest->begins);
		}
		mem_free(s->rest);
		lane_free(&s->own);
		mem_free(s);
	}
	mem_free(l->sets);
	mem_free(l);
}

static struct lane_set *set_new(struct lanes *l, uint32_t track)
{
	struct lane_set *s;

	if (!mem_grow((void **)&l->sets, &l->cap, (size_t)track + 1, sizeof(struct lane_set *),
		      TRACKS_MAX))
		return NULL;
	s = mem_alloc(sizeof(*s));
	if (!s)
		return NULL;
	lane_init(&s->own, track);
	l->sets[track] = s;
	return s;
}

static struct lane_set *set_of(struct lanes *l, uint32_t track)
{
	struct lane_set *s = track < l->cap ? l->sets[track] : NULL;

	return s ? s : set_new(l, track);
}

/* Returns NULL if out of memory. */
static struct lane_more *rest_of(struct lane_set *s)
{
	if (!s->rest)
		s->rest = mem_alloc(sizeof(*s->rest));
	return s->rest;
}

static bool lane_grow(struct lane *k)
{
	const size_t cap = 2 * k->cap;
	int64_t *more = cap <= DEPTH_MAX ? mem_array(cap, sizeof(*more)) : NULL;

	if (!more)
		return false;
	assert(k->n < k->cap && k->ends[0] == OPEN);
	memcpy(more, k->ends, (k->n + 1) * sizeof(*more));
	lane_free(k);
	k->ends = more;
	k->cap = cap;
	return true;
}

static bool lane_push(struct lane *k, int64_t end)
{
	if (__builtin_expect(k->n + 1 == k->cap, 0) && !lane_grow(k))
		return false;
	k->ends[++k->n] = end;
	return true;
}

/*
 * Takes off what has ended at `ts` (BEGINs never have), and says whether a span up to `end` fits.
 */
static bool lane_fits(struct lane *k, int64_t ts, int64_t end)
{
	const int64_t now = ts - (ts == OPEN);
	size_t n = k->n;

	while (k->ends[n] <= now)
		n--;
	k->n = n;
	return k->ends[n] >= end;
}

/* "NAME (2)" */
static uint32_t lane_name(struct spur_trace *t, uint32_t name, size_t number)
{
	size_t len;
	const char *text = intern_text(t->strings, name, &len);
	char *copy = mem_alloc(len + 32);
	uint32_t id = 0;

	if (copy) {
		memcpy(copy, text, len);
		len += (size_t)snprintf(copy + len, 32, " (%zu)", number);
		id = trace_intern_n(t, copy, len);
	}
	mem_free(copy);
	return id;
}

static struct lane *lane_new(struct lanes *l, struct lane_set *s)
{
	struct spur_trace *t = l->trace;
	struct lane_more *rest = rest_of(s);
	struct spur_track track;
	struct lane *k;

	if (!rest || !mem_grow((void **)&rest->more, &rest->more_cap, rest->nmore + 1, sizeof(k),
			       LANES - 1))
		return NULL;
	k = mem_alloc(sizeof(*k));
	if (!k)
		return NULL;
	assert(rest->nmore < LANES - 1 && l->made < LANES_ALL);
	rest->more[rest->nmore] = k;
	pthread_mutex_lock(&t->lock);
	track = t->tracks[s->own.track / TRACE_TRACK_PAGE][s->own.track % TRACE_TRACK_PAGE];
	track.parent = s->own.track;
	track.kind = SPUR_TRACK_LANE;
	track.name = lane_name(t, track.name, rest->nmore + 2);
	lane_init(k, track.name ? trace_add_track(t, track) : SPUR_NONE);
	pthread_mutex_unlock(&t->lock);
	rest->nmore++;
	l->made++;
	return k->track == SPUR_NONE ? NULL : k;
}

static uint32_t span_beside(struct lanes *l, struct lane_set *s, int64_t ts, int64_t end)
{
	struct lane_more *rest = rest_of(s);
	struct lane *k = NULL;

	if (!rest)
		return SPUR_NONE;
	l->moved++;
	for (size_t i = 0; i < rest->nmore && !k; i++)
		k = lane_fits(rest->more[i], ts, end) ? rest->more[i] : NULL;
	if (!k && rest->nmore < LANES - 1 && l->made < LANES_ALL)
		k = lane_new(l, s);
	else if (!k)
		k = rest->nmore ? rest->more[rest->nmore - 1] : &s->own;
	return k && lane_push(k, end) ? k->track : SPUR_NONE;
}

static __attribute__((noinline)) uint32_t span_slow(struct lanes *l, uint32_t track, int64_t ts,
						    int64_t dur)
{
	struct lane_set *s = set_of(l, track);
	int64_t end;

	if (!s)
		return SPUR_NONE;
	/* One that ends at the end of time, or past it, looks like a BEGIN, and may. */
	if (dur < 0 || __builtin_add_overflow(ts, dur, &end))
		end = dur < 0 ? ts : OPEN;
	if (!lane_fits(&s->own, ts, end))
		return span_beside(l, s, ts, end);
	return lane_push(&s->own, end) ? track : SPUR_NONE;
}

uint32_t lanes_span(struct lanes *l, uint32_t track, int64_t ts, int64_t dur)
{
	struct lane_set *s;
	int64_t *ends, end;
	size_t n;

	if (__builtin_expect(track >= l->cap || !(s = l->sets[track]) || dur < 0 || ts == OPEN ||
				     __builtin_add_overflow(ts, dur, &end),
			     0))
		return span_slow(l, track, ts, dur);
	ends = s->own.ends;
	/* Without BEGINs all have ended if the first one has: most spans need not wait for `n`. */
	if (ends[1] <= ts && !s->rest) {
		ends[1] = end;
		s->own.n = 1;
		return track;
	}
	n = s->own.n;
	/* Most often few have ended, and how many cannot be predicted: two without a branch. */
	n -= ends[n] <= ts;
	n -= ends[n] <= ts;
	while (__builtin_expect(ends[n] <= ts, 0))
		n--;
	if (__builtin_expect(ends[n] < end || n + 1 == s->own.cap, 0))
		return span_slow(l, track, ts, dur);
	ends[n + 1] = end;
	s->own.n = n + 1;
	return track;
}

bool lanes_begin(struct lanes *l, uint32_t track)
{
	struct lane_set *s = set_of(l, track);
	struct lane_more *rest = s ? rest_of(s) : NULL;

	if (!rest || !mem_grow((void **)&rest->begins, &rest->begins_cap, rest->nbegins + 1,
			       sizeof(*rest->begins), DEPTH_MAX))
		return false;
	if (!lane_push(&s->own, OPEN))
		return false;
	rest->begins[rest->nbegins++] = s->own.n;
	return true;
}

void lanes_end(struct lanes *l, uint32_t track)
{
	struct lane_set *s = set_of(l, track);
	size_t at;

	if (!s || !s->rest || !s->rest->nbegins)
		return;
	at = s->rest->begins[--s->rest->nbegins];
	/* A BEGIN that is open has not been taken off. */
	assert(at && at <= s->own.n && s->own.ends[at] == OPEN);
	s->own.ends[at] = DONE;
	s->own.n -= at == s->own.n;
}

uint64_t lanes_moved(const struct lanes *l)
{
	return l->moved;
}
