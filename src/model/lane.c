/* What is open on each track and its lanes. See lane.h. */
#include "model/lane.h"

#include <stdio.h>

enum {
	TRACKS_MAX = 1 << 28,
	DEPTH_MAX = 1 << 28,
	FEW = 3, /* open spans that need no array of their own */
};

#define OPEN INT64_MAX /* the end of a BEGIN whose END has not come */
#define DONE INT64_MIN /* it has come, but spans above it are still open */

/*
 * INVARIANT: `top` is the end of what was opened last, ends[n - 1], or OPEN where n is 0 (all fits). A span ends no
 * later than what lies below it, unless that is DONE or a BEGIN lies between.
 */
struct lane {
	int64_t top;
	size_t n, cap; /* cap 0: they are in `few` */
	int64_t *ends;
	int64_t few[FEW];
	uint32_t track;
};

struct lane_set {
	struct lane own;
	struct lane *more; /* the others */
	size_t nmore, more_cap;
	size_t *begins; /* of own.ends: which are BEGINs that are open */
	size_t nbegins, begins_cap;
};

struct lanes {
	struct spur_trace *trace;
	struct lane_set **sets; /* by track; NULL: nothing was ever there */
	size_t cap;
	uint64_t moved;
};

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
		for (size_t k = 0; k < s->nmore; k++)
			mem_free(s->more[k].ends);
		mem_free(s->own.ends);
		mem_free(s->more);
		mem_free(s->begins);
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
	s->own.track = track;
	s->own.top = OPEN;
	l->sets[track] = s;
	return s;
}

static inline struct lane_set *set_of(struct lanes *l, uint32_t track)
{
	struct lane_set *s = track < l->cap ? l->sets[track] : NULL;

	return __builtin_expect(s != NULL, 1) ? s : set_new(l, track);
}

static inline int64_t *lane_ends(struct lane *k)
{
	return k->cap ? k->ends : k->few;
}

static bool lane_push(struct lane *k, int64_t end)
{
	const bool few = !k->cap;

	if (__builtin_expect(k->n >= (few ? FEW : k->cap), 0)) {
		if (!mem_grow((void **)&k->ends, &k->cap, k->n + 1, sizeof(*k->ends), DEPTH_MAX))
			return false;
		if (few)
			memcpy(k->ends, k->few, sizeof(k->few));
	}
	lane_ends(k)[k->n++] = end;
	k->top = end;
	return true;
}

/* Takes off what has ended at `ts`. */
static inline void lane_settle(struct lane *k, int64_t ts)
{
	const int64_t *ends = lane_ends(k);

	while (k->n && ends[k->n - 1] <= ts && ends[k->n - 1] != OPEN)
		k->n--;
	k->top = k->n ? ends[k->n - 1] : OPEN;
}

static inline bool lane_fits(struct lane *k, int64_t ts, int64_t end)
{
	if (k->top <= ts)
		lane_settle(k, ts);
	return k->top >= end;
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
	struct spur_track track;
	struct lane *k;

	if (!mem_grow((void **)&s->more, &s->more_cap, s->nmore + 1, sizeof(*s->more), LANES - 1))
		return NULL;
	k = &s->more[s->nmore];
	*k = (struct lane){ .top = OPEN };
	pthread_mutex_lock(&t->lock);
	track = t->tracks[s->own.track];
	track.parent = s->own.track;
	track.name = lane_name(t, track.name, s->nmore + 2);
	k->track = track.name ? trace_add_track(t, track) : SPUR_NONE;
	pthread_mutex_unlock(&t->lock);
	if (k->track == SPUR_NONE)
		return NULL;
	s->nmore++;
	return k;
}

static uint32_t span_beside(struct lanes *l, struct lane_set *s, int64_t ts, int64_t end)
{
	struct lane *k = NULL;

	l->moved++;
	for (size_t i = 0; i < s->nmore; i++)
		if (lane_fits(&s->more[i], ts, end)) {
			k = &s->more[i];
			break;
		}
	if (!k)
		k = s->nmore < LANES - 1 ? lane_new(l, s) : &s->more[s->nmore - 1];
	return k && lane_push(k, end) ? k->track : SPUR_NONE;
}

uint32_t lanes_span(struct lanes *l, uint32_t track, int64_t ts, int64_t dur)
{
	struct lane_set *s = set_of(l, track);
	int64_t end;

	if (!s)
		return SPUR_NONE;
	/* One that ends at the end of time, or past it, looks like a BEGIN, and may. */
	if (dur < 0 || __builtin_add_overflow(ts, dur, &end))
		end = dur < 0 ? ts : OPEN;
	if (__builtin_expect(!lane_fits(&s->own, ts, end), 0))
		return span_beside(l, s, ts, end);
	return lane_push(&s->own, end) ? track : SPUR_NONE;
}

bool lanes_begin(struct lanes *l, uint32_t track)
{
	struct lane_set *s = set_of(l, track);

	if (!s || !mem_grow((void **)&s->begins, &s->begins_cap, s->nbegins + 1, sizeof(*s->begins),
			    DEPTH_MAX))
		return false;
	if (!lane_push(&s->own, OPEN))
		return false;
	s->begins[s->nbegins++] = s->own.n - 1;
	return true;
}

void lanes_end(struct lanes *l, uint32_t track)
{
	struct lane_set *s = set_of(l, track);
	size_t at;

	if (!s || !s->nbegins)
		return;
	at = s->begins[--s->nbegins];
	lane_ends(&s->own)[at] = DONE;
	if (at + 1 == s->own.n)
		s->own.top = DONE;
}

uint64_t lanes_moved(const struct lanes *l)
{
	return l->moved;
}
