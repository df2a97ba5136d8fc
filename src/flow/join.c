/*
 * A joined trace is a trace of a format of its own, whose feeds are those of its parts. See join.h.
 *
 * What a part declares while opening is declared again here; classes and tracks that it finds later
 * are when a row first has them. Both directions of such a number are kept in tables of pages, so
 * that rows are translated without locks or look-ups by name.
 */
#include "flow/join.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/map64.h"
#include "base/os.h"
#include "flow/args.h"
#include "flow/join_map.h"
#include "flow/join_name.h"
#include "flow/open.h"
#include "flow/pipe.h"
#include "format/format.h"
#include "model/args.h"

enum {
	JOIN_PAGE = 4096, /* numbers of a page of a table */
	JOIN_PAGES = 4096,
	JOIN_MAX = 4096, /* parts */
	JOIN_DEPTH = 64, /* of tracks below tracks */
	JOIN_ID_STEP = 1 << 22, /* above all process ids of Linux */
	JOIN_ID_TRIES = 64, /* steps; then ids are hashed */
};
static_assert(JOIN_PAGE == (int)TRACE_CLASS_PAGE && JOIN_PAGES == (int)TRACE_CLASS_PAGES &&
		      JOIN_PAGE == (int)TRACE_TRACK_PAGE && JOIN_PAGES == (int)TRACE_TRACK_PAGES,
	      "a table has room for all classes and tracks");

/* Numbers to numbers; 0: not there yet. Entries never change once they are there. */
struct join_table {
	uint64_t *pages[JOIN_PAGES]; /* of JOIN_PAGE entries; atomic */
};

struct join_part {
	struct spur_trace *trace;
	struct clock_map map; /* of its times to the joined trace's */
	uint32_t number, first_stream;
	uint32_t first_origin;
	/* The part's number to 1 + the joined trace's; 0: not there yet. Under the lock. */
	uint32_t *origins;
	size_t origins_cap;
	uint32_t first_top; /* the first of its top tracks; SPUR_NONE: none yet */
	struct join_table classes, tracks; /* the part's number to 1 + the joined trace's */
	struct map64 ids; /* with distinct_ids: the part's process or thread id to the joined one */
	/* Of one that observes: its track to the index + 1 of a list, and back from those in it */
	struct map64 observed, observers;
};

/* A track that has its ids from a time on, in a list of those with the same ids. */
struct join_known {
	uint32_t track;
	uint32_t next; /* index + 1 */
	int64_t since;
};

/*
 * Where a number of the joined trace comes from: the part in the upper half, 1 + its own number in
 * the lower one.
 */
struct join {
	struct join_part *parts;
	size_t n;
	struct join_table classes, tracks;
	struct map64 ids; /* with distinct_ids: all that are used */
	struct map64 threads; /* hash of the ids of a track to 1 + the part that has it first */
	bool observes; /* one of the parts does */
	struct map64 known_by_ids; /* hash of the ids of a track to the index + 1 of a list */
	struct join_known *known;
	size_t nknown, known_cap;
	bool *doubles; /* by track: see join_track_is_double() */
	size_t doubles_cap;
};

struct join_feed {
	struct join_part *part;
	struct feed *feed;
};

static uint64_t table_get(const struct join_table *t, uint32_t i)
{
	const uint64_t *page = i / JOIN_PAGE < JOIN_PAGES
				       ? __atomic_load_n(&t->pages[i / JOIN_PAGE], __ATOMIC_ACQUIRE)
				       : NULL;

	return page ? __atomic_load_n(&page[i % JOIN_PAGE], __ATOMIC_ACQUIRE) : 0;
}

/* Called with the joined trace's lock held. */
static bool table_put(struct join_table *t, uint32_t i, uint64_t value)
{
	uint64_t *page;

	if (i / JOIN_PAGE >= JOIN_PAGES)
		return false;
	page = t->pages[i / JOIN_PAGE];
	if (!page) {
		page = mem_array(JOIN_PAGE, sizeof(*page));
		if (!page)
			return false;
		__atomic_store_n(&t->pages[i / JOIN_PAGE], page, __ATOMIC_RELEASE);
	}
	assert(!page[i % JOIN_PAGE]);
	__atomic_store_n(&page[i % JOIN_PAGE], value, __ATOMIC_RELEASE);
	return true;
}

static void table_free(struct join_table *t)
{
	for (size_t i = 0; i < JOIN_PAGES; i++)
		mem_free(t->pages[i]);
}

static uint64_t home_of(const struct join_part *p, uint32_t own)
{
	return (uint64_t)p->number << 32 | ((uint64_t)own + 1);
}

/* --- classes and tracks --- */

/* Called with t->lock held. Returns 0 if out of memory or classes. */
static uint32_t class_add(struct spur_trace *t, struct join_part *p, uint32_t own)
{
	struct join *j = t->state;
	uint32_t id = (uint32_t)table_get(&p->classes, own);
	struct class_more more;
	struct event_class c;
	uint64_t *home;

	if (id)
		return id - 1;
	c = *trace_class(p->trace, own);
	home = arena_alloc(&t->arena, sizeof(*home));
	if (!home)
		return 0;
	*home = home_of(p, own);
	c.schema = NULL;
	more = class_more(&c);
	more.extra = home;
	c.more = &more;
	id = trace_add_class_locked(t, &c);
	/* The way back first: a reader that finds the number may ask for it at once. */
	if (!id || !table_put(&j->classes, id, home_of(p, own)) ||
	    !table_put(&p->classes, own, (uint64_t)id + 1))
		return 0;
	return id;
}

static uint32_t class_of(struct spur_trace *t, struct join_part *p, uint32_t own)
{
	uint32_t id = (uint32_t)table_get(&p->classes, own);

	if (id)
		return id - 1;
	pthread_mutex_lock(&t->lock);
	id = class_add(t, p, own);
	pthread_mutex_unlock(&t->lock);
	return id;
}

static uint64_t track_ids(const struct spur_trace *t, uint32_t id)
{
	const struct spur_track *k = trace_track(t, id);
	const uint64_t kind = trace_track_kind(t, id) == SPUR_TRACK_PROCESS;

	return hash64((uint64_t)k->pid) ^ hash64(((uint64_t)k->tid << 1 | kind) + 1);
}

/* Called with t->lock held. */
static bool track_note_double(struct spur_trace *t, const struct join_part *p, uint32_t id)
{
	struct join *j = t->state;
	const struct spur_track *k = trace_track(t, id);
	struct map64_slot *slot;

	if (!mem_grow((void **)&j->doubles, &j->doubles_cap, (size_t)id + 1, sizeof(*j->doubles),
		      (size_t)JOIN_PAGE * JOIN_PAGES))
		return false;
	if (k->tid == -1 && k->pid == -1)
		return true;
	slot = map64_put(&j->threads, track_ids(t, id));
	if (!slot)
		return false;
	if (!slot->value)
		slot->value = (uint64_t)p->number + 1;
	j->doubles[id] = slot->value != (uint64_t)p->number + 1;
	return true;
}

/*
 * Gives a process or thread id of a part one that no other part has. Process and thread ids share
 * their numbers. Called with t->lock held. Returns false if out of memory.
 */
static bool id_make_distinct(struct join *j, struct join_part *p, int64_t *id)
{
	struct map64_slot *of_part, *used;
	uint64_t next = (uint64_t)*id;

	if (*id == -1)
		return true;
	of_part = map64_find(&p->ids, (uint64_t)*id);
	if (of_part) {
		*id = (int64_t)of_part->value;
		return true;
	}
	for (unsigned i = 1; next == UINT64_MAX || map64_find(&j->ids, next); i++)
		next = i <= JOIN_ID_TRIES ? (uint64_t)*id + (uint64_t)i * JOIN_ID_STEP
					  : hash64((uint64_t)*id + i) & INT32_MAX;
	used = map64_put(&j->ids, next);
	of_part = used ? map64_put(&p->ids, (uint64_t)*id) : NULL;
	if (!of_part)
		return false;
	of_part->value = next;
	*id = (int64_t)next;
	return true;
}

/* --- tracks that are observed by another part --- */

/* Notes a track as one that may be observed. Called with t->lock held. */
static bool known_add(struct spur_trace *t, const struct join_part *p, uint32_t own, uint32_t id)
{
	struct join *j = t->state;
	const int64_t *const since = p->trace->track_since;
	struct map64_slot *slot;

	if (!j->observes || !since || own >= p->trace->ntracks_open)
		return true;
	slot = map64_put(&j->known_by_ids, track_ids(t, id));
	if (!slot || !mem_grow((void **)&j->known, &j->known_cap, j->nknown + 1, sizeof(*j->known),
			       UINT32_MAX))
		return false;
	j->known[j->nknown] = (struct join_known){ .track = id,
						   .next = (uint32_t)slot->value,
						   .since = clock_map_ts(&p->map, since[own]) };
	slot->value = ++j->nknown;
	return true;
}

/* The track of a list at a time: the latest one, or if all are later, the earliest. */
static uint32_t known_at(const struct join *j, uint32_t list, int64_t ts)
{
	const struct join_known *best = &j->known[list - 1];

	for (const struct join_known *k = best; k->next;) {
		k = &j->known[k->next - 1];
		if (best->since > ts ? k->since < best->since
				     : k->since <= ts && k->since > best->since)
			best = k;
	}
	return best->track;
}

/*
 * A track of a part that observes: that of another part with its ids, if there is one. Called with
 * t->lock held. Returns false if out of memory.
 */
static bool observed_find(struct spur_trace *t, struct join_part *p, uint32_t own, uint32_t *id)
{
	struct join *j = t->state;
	const enum spur_track_kind kind = trace_track_kind(p->trace, own);
	const struct map64_slot *slot = NULL;
	struct map64_slot *to;

	*id = SPUR_NONE;
	if (j->observes && p->trace->observes &&
	    (kind == SPUR_TRACK_THREAD || kind == SPUR_TRACK_PROCESS))
		slot = map64_find(&j->known_by_ids, track_ids(p->trace, own));
	if (!slot)
		return true;
	to = map64_put(&p->observed, own);
	if (!to)
		return false;
	to->value = slot->value;
	for (uint64_t list = slot->value; list; list = j->known[list - 1].next) {
		to = map64_put(&p->observers, j->known[list - 1].track);
		if (!to)
			return false;
		to->value = (uint64_t)own + 1;
	}
	*id = j->known[slot->value - 1].track;
	t->tracks_shared = true;
	return table_put(&p->tracks, own, (uint64_t)*id + 1);
}

/* Called with t->lock held. Parents are declared before their children. */
static uint32_t track_add_one(struct spur_trace *t, struct join_part *p, uint32_t own)
{
	struct join *j = t->state;
	struct spur_track k = *trace_track(p->trace, own);
	uint32_t id;

	if (!observed_find(t, p, own, &id))
		return SPUR_NONE;
	if (id != SPUR_NONE) {
		if (k.parent == SPUR_NONE && p->first_top == SPUR_NONE)
			p->first_top = id;
		return id;
	}
	if (k.parent != SPUR_NONE)
		k.parent = (uint32_t)table_get(&p->tracks, k.parent) - 1;
	if (t->options.distinct_ids && !t->one_run &&
	    (!id_make_distinct(j, p, &k.pid) || !id_make_distinct(j, p, &k.tid)))
		return SPUR_NONE;
	id = trace_add_track(t, k);
	if (id == SPUR_NONE || !track_note_double(t, p, id) || !known_add(t, p, own, id) ||
	    !table_put(&j->tracks, id, home_of(p, own)) ||
	    !table_put(&p->tracks, own, (uint64_t)id + 1))
		return SPUR_NONE;
	if (k.parent == SPUR_NONE && p->first_top == SPUR_NONE)
		p->first_top = id;
	return id;
}

/* Called with t->lock held. Returns SPUR_NONE if out of memory or tracks. */
static uint32_t track_add(struct spur_trace *t, struct join_part *p, uint32_t own)
{
	uint32_t up[JOIN_DEPTH], id = SPUR_NONE;
	int n = 0;

	while (n < JOIN_DEPTH && own != SPUR_NONE && !table_get(&p->tracks, own)) {
		up[n++] = own;
		own = trace_track(p->trace, own)->parent;
	}
	if (!n)
		return (uint32_t)table_get(&p->tracks, own) - 1;
	while (n) {
		id = track_add_one(t, p, up[--n]);
		if (id == SPUR_NONE)
			break;
	}
	return id;
}

static uint32_t track_of(struct spur_trace *t, struct join_part *p, uint32_t own)
{
	uint32_t id = (uint32_t)table_get(&p->tracks, own);

	if (id)
		return id - 1;
	pthread_mutex_lock(&t->lock);
	id = track_add(t, p, own);
	pthread_mutex_unlock(&t->lock);
	return id;
}

/*
 * Called with t->lock held. A part that declares no origin has one all the same: that of its clock
 * and byte order. Returns SPUR_NONE if out of memory.
 */
static uint32_t origin_add(struct spur_trace *t, struct join_part *p, uint32_t own)
{
	const struct spur_trace *part = p->trace;
	struct spur_origin o = { .provider = SPUR_NONE,
				 .track = SPUR_NONE,
				 .byte_order = strcmp(part->byte_order, "little") == 0 ? 'l'
					       : strcmp(part->byte_order, "big") == 0  ? 'b'
										       : 0,
				 .clock_shared = true,
				 .hz = part->clock.hz };
	uint32_t id;

	if (own < p->origins_cap && p->origins[own])
		return p->origins[own] - 1;
	if (own < __atomic_load_n(&part->norigins, __ATOMIC_ACQUIRE))
		o = part->origins[own];
	/* The joined trace's clock is that of the first part. */
	o.clock_shared &= p->number == 0;
	if (o.track != SPUR_NONE)
		o.track = track_add(t, p, o.track);
	if (!mem_grow((void **)&p->origins, &p->origins_cap, (size_t)own + 1, sizeof(*p->origins),
		      UINT32_MAX))
		return SPUR_NONE;
	id = trace_add_origin(t, o);
	p->origins[own] = id + 1;
	return id;
}

/* Returns the part's first origin if out of memory. */
static uint32_t origin_of(struct spur_trace *t, struct join_part *p, uint32_t own)
{
	uint32_t id;

	pthread_mutex_lock(&t->lock);
	id = origin_add(t, p, own);
	pthread_mutex_unlock(&t->lock);
	return id == SPUR_NONE ? p->first_origin : id;
}

bool join_track_is_double(const struct spur_trace *t, uint32_t track)
{
	struct spur_trace *mutable = (struct spur_trace *)(uintptr_t)t;
	const struct join *j = t->state;
	bool is = false;

	if (!t->nparts)
		return false;
	pthread_mutex_lock(&mutable->lock);
	is = track < j->doubles_cap && j->doubles[track];
	pthread_mutex_unlock(&mutable->lock);
	return is;
}

uint32_t join_part_of(const struct spur_trace *t, uint32_t track)
{
	const struct join *j = t->state;
	const uint64_t home = t->nparts > 1 && !t->one_run ? table_get(&j->tracks, track) : 0;

	return home ? (uint32_t)(home >> 32) : SPUR_NONE;
}

uint32_t join_part_name(const struct spur_trace *t, uint32_t track)
{
	const uint32_t part = join_part_of(t, track);

	return part == SPUR_NONE ? 0 : t->parts[part].name;
}

uint32_t join_recording(const struct spur_trace *t, uint32_t top)
{
	struct spur_trace *mutable = (struct spur_trace *)(uintptr_t)t;
	const struct join *j = t->state;
	const struct join_part *p;

	if (!t->nparts)
		return top;
	p = &j->parts[table_get(&j->tracks, top) >> 32];
	if (p->trace->tops_apart)
		return top;
	pthread_mutex_lock(&mutable->lock);
	top = p->first_top;
	pthread_mutex_unlock(&mutable->lock);
	return top;
}

/* --- rows --- */

/* Moves a row to the joined trace's clock. Rates seldom differ, so that a sum mostly does. */
static inline void row_time_to_joined(const struct clock_map *m, struct spur_event *row)
{
	int64_t sum;

	if (__builtin_expect(!m->drift && !__builtin_add_overflow(row->ts, m->shift, &sum), 1)) {
		row->ts = sum;
		return;
	}
	row->dur = clock_map_dur(m, row->ts, row->dur);
	row->ts = clock_map_ts(m, row->ts);
}

/*
 * The way back. INVARIANT: exact unless a drift below 0 has given two times of the part the same
 * place: then it is the earlier one.
 */
static void row_time_to_part(const struct clock_map *m, struct spur_event *row)
{
	const int64_t ts = clock_map_back(m, row->ts);
	int64_t end;

	if (m->drift && row->dur && !__builtin_add_overflow(row->ts, row->dur, &end))
		row->dur = clock_map_back(m, end) - ts;
	row->ts = ts;
}

static bool row_to_joined(struct spur_trace *t, struct join_part *p, struct spur_event *row)
{
	row_time_to_joined(&p->map, row);
	if (row->stream != SPUR_NONE)
		row->stream += p->first_stream;
	if (row->track != SPUR_NONE) {
		const struct map64_slot *const list = map64_find(&p->observed, row->track);

		row->track = list ? known_at(t->state, (uint32_t)list->value, row->ts)
				  : track_of(t, p, row->track);
		if (row->track == SPUR_NONE)
			return false;
	}
	row->cls = class_of(t, p, row->cls);
	return row->cls != 0;
}

/* The row as its part gave it; the part. NULL where the row is none of this trace's. */
static struct join_part *row_to_part(const struct spur_trace *t, const struct spur_event *row,
				     struct spur_event *own)
{
	const struct join *j = t->state;
	const uint64_t home = table_get(&j->classes, row->cls);
	struct join_part *p = home ? &j->parts[home >> 32] : NULL;

	if (!p)
		return NULL;
	*own = *row;
	own->cls = (uint32_t)home - 1;
	row_time_to_part(&p->map, own);
	if (row->stream != SPUR_NONE)
		own->stream = row->stream - p->first_stream;
	if (row->track != SPUR_NONE) {
		const struct map64_slot *const of = map64_find(&p->observers, row->track);

		own->track = (uint32_t)(of ? of->value : table_get(&j->tracks, row->track)) - 1;
	}
	return p;
}

static enum spur_status joined_next(struct spur_trace *t, struct feed *f, struct batch *b)
{
	struct join_feed *jf = f->state;
	struct feed *own = jf->feed;
	enum spur_status st = feed_next(jf->part->trace, own, b);

	for (uint32_t i = 0; st == SPUR_OK && i < b->count; i++)
		if (!row_to_joined(t, jf->part, &b->rows[i]))
			return SPUR_FAIL;
	return st;
}

static bool joined_begins(struct spur_trace *t, const struct feed *f, int64_t *ts)
{
	const struct join_feed *jf = f->state;

	(void)t;
	if (!feed_begins(jf->part->trace, jf->feed, ts))
		return false;
	*ts = clock_map_ts(&jf->part->map, *ts);
	return true;
}

static enum spur_status joined_args(struct spur_trace *t, const struct spur_event *ev,
				    struct spur_args *args)
{
	struct spur_event own;
	const struct join_part *p = row_to_part(t, ev, &own);

	return p ? args_decode(p->trace, &own, args) : SPUR_OK;
}

static size_t joined_stack(struct spur_trace *t, const struct spur_event *ev, uint32_t *cls,
			   size_t cap)
{
	struct spur_event own;
	struct join_part *p = row_to_part(t, ev, &own);
	size_t n = p && p->trace->format->stack ? p->trace->format->stack(p->trace, &own, cls, cap)
						: 0;

	for (size_t i = 0; i < n && i < cap; i++)
		cls[i] = cls[i] ? class_of(t, p, cls[i]) : 0;
	return n;
}

static enum spur_status joined_fields(struct spur_trace *t, const struct spur_event *ev,
				      struct spur_args *args)
{
	struct spur_event own;
	const struct join_part *p = row_to_part(t, ev, &own);

	if (!p || !p->trace->format->fields) {
		args_reset(args);
		return SPUR_OK;
	}
	return p->trace->format->fields(p->trace, &own, args);
}

static bool joined_samples(struct spur_trace *t, const struct spur_event *ev,
			   struct spur_args *scratch,
			   bool (*each)(void *self, const struct spur_value *value), void *self)
{
	struct spur_event own;
	const struct join_part *p = row_to_part(t, ev, &own);

	return !p || !p->trace->has_samples ||
	       p->trace->format->samples(p->trace, &own, scratch, each, self);
}

/* The part's place: its streams and origins follow those of earlier parts. */
static void joined_place(struct spur_trace *t, const struct spur_event *ev,
			 struct spur_place *place)
{
	struct spur_event own;
	struct join_part *p = row_to_part(t, ev, &own);

	if (!p)
		return;
	*place = format_place(p->trace, &own);
	if (place->stream != SPUR_NONE)
		place->stream += p->first_stream;
	place->origin = origin_of(t, p, place->origin);
}

/* Ticks are those of the part's clock, which the origin of the row's place describes. */
static bool joined_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2])
{
	struct spur_event own;
	const struct join_part *p = row_to_part(t, ev, &own);

	if (!p || !p->trace->format->ticks)
		return false;
	if (p->trace->format->ticks(p->trace, &own, ticks))
		return true;
	/* The other time that has the row's place; see row_time_to_part(). */
	own.ts++;
	return p->map.drift < 0 && clock_map_ts(&p->map, own.ts) == ev->ts &&
	       p->trace->format->ticks(p->trace, &own, ticks);
}

/* Strings are shared, so that a part's schema is the joined trace's. Called with t->lock held. */
static const struct spur_schema *joined_schema(struct spur_trace *t, const struct event_class *cls)
{
	const struct join *j = t->state;
	const uint64_t *home = class_more(cls).extra;

	assert(home && *home >> 32 < j->n);
	return format_schema(j->parts[*home >> 32].trace, (uint32_t)*home - 1);
}

static bool joined_text(struct spur_trace *t, const struct spur_event *ev, struct out *o)
{
	struct spur_event own;
	const struct join_part *p = row_to_part(t, ev, &own);

	return p && p->trace->format->text && p->trace->format->text(p->trace, &own, o);
}

/* Only where all parts know theirs without being read. */
static bool joined_last(struct spur_trace *t, int64_t *ts)
{
	const struct join *j = t->state;

	*ts = INT64_MIN;
	for (size_t i = 0; i < j->n; i++) {
		struct spur_trace *part = j->parts[i].trace;
		int64_t last;

		if (!part->format->last || !part->format->last(part, &last))
			return false;
		last = clock_map_ts(&j->parts[i].map, last);
		*ts = last > *ts ? last : *ts;
	}
	return true;
}

static void joined_close(struct spur_trace *t)
{
	struct join *j = t->state;

	for (size_t i = 0; i < j->n; i++) {
		table_free(&j->parts[i].classes);
		table_free(&j->parts[i].tracks);
		mem_free(j->parts[i].origins);
		map64_free(&j->parts[i].ids);
		map64_free(&j->parts[i].observed);
		map64_free(&j->parts[i].observers);
		trace_close(j->parts[i].trace);
	}
	t->nparts = 0;
	table_free(&j->classes);
	table_free(&j->tracks);
	map64_free(&j->threads);
	map64_free(&j->ids);
	map64_free(&j->known_by_ids);
	mem_free(j->known);
	mem_free(j->doubles);
	mem_free(j->parts);
	mem_free(j);
	t->state = NULL;
}

static bool joined_has_module(const struct spur_trace *t, struct text word)
{
	const struct join *j = t->state;

	for (size_t i = 0; i < j->n; i++) {
		const struct spur_trace *part = j->parts[i].trace;

		if (part->format->has_module && part->format->has_module(part, word))
			return true;
	}
	return false;
}

/* Not in the table of formats: no file is of it. */
static const struct spur_format joined_format = {
	.name = "joined",
	.title = "several traces read as one",
	.next = joined_next,
	.begins = joined_begins,
	.args = joined_args,
	.stack = joined_stack,
	.fields = joined_fields,
	.samples = joined_samples,
	.place = joined_place,
	.ticks = joined_ticks,
	.schema = joined_schema,
	.text = joined_text,
	.last = joined_last,
	.has_module = joined_has_module,
	.close = joined_close,
};

/* --- opening --- */

static enum spur_status open_parts(struct spur_trace *t, struct join *j, const char *const *paths,
				   size_t n, struct spur_error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct join_part *p = &j->parts[i];

		p->number = (uint32_t)i;
		p->first_top = SPUR_NONE;
		if (trace_open(&p->trace, paths[i], &t->options, t->strings, err) == SPUR_FAIL)
			return SPUR_FAIL;
		j->n = i + 1;
		t->parts[i].trace = p->trace;
		if (p->trace->live)
			return err_set(err, SPUR_ERR_USAGE,
				       "%s: expected a trace that is complete, found one that is "
				       "still being written: it can only be read alone",
				       paths[i]);
	}
	return SPUR_OK;
}

/*
 * The origins that a part has so far; for those to come room is made, so that they move no other.
 */
static bool declare_origins(struct spur_trace *t, struct join_part *p)
{
	const size_t n = p->trace->norigins ? p->trace->norigins : 1,
		     cap = p->trace->origins_cap > n ? p->trace->origins_cap : n;

	if (!trace_reserve_origins(t, t->norigins + cap))
		return false;
	p->first_origin = (uint32_t)t->norigins;
	for (size_t i = 0; i < n; i++)
		if (origin_add(t, p, (uint32_t)i) == SPUR_NONE)
			return false;
	return true;
}

static bool declare_streams(struct spur_trace *t, struct join_part *p)
{
	const char *path = p->trace->path;
	struct stat st;
	const bool is_dir = os_stat(path, &st) == 0 && S_ISDIR(st.st_mode);

	p->first_stream = (uint32_t)t->nstreams;
	for (size_t i = 0; i < p->trace->nstreams; i++) {
		const struct spur_stream *s = &p->trace->streams[i];
		const char *name = is_dir && s->path[0] != '/'
					   ? arena_printf(&t->arena, "%s/%s", path, s->path)
					   : path;

		if (!name || trace_add_stream(t, name, s->size) == SPUR_NONE)
			return false;
		t->streams[p->first_stream + i].origin = p->origins[s->origin] - 1;
	}
	return true;
}

static bool declare_feeds(struct spur_trace *t, struct join_part *p)
{
	for (size_t i = 0; i < p->trace->nfeeds; i++) {
		struct feed *own = p->trace->feeds[i], *f;
		struct join_feed *jf = arena_alloc(&t->arena, sizeof(*jf));
		const uint32_t track =
			own->track == SPUR_NONE ? SPUR_NONE : track_add(t, p, own->track);

		if (!jf || (track == SPUR_NONE && own->track != SPUR_NONE))
			return false;
		*jf = (struct join_feed){ .part = p, .feed = own };
		f = trace_add_feed(t, track, jf);
		if (!f)
			return false;
		f->size = own->size;
		f->stream = own->stream == SPUR_NONE ? SPUR_NONE : own->stream + p->first_stream;
	}
	return true;
}

/* Says how the clock of a part is related to the first one's. Returns false if out of memory. */
static bool declare_relation(struct spur_trace *t, uint32_t number)
{
	const char *key = arena_printf(&t->arena, "clock %u", number + 1);
	struct out o;
	bool good;

	out_to_memory(&o);
	join_clock_text(&t->parts[number], &o);
	good = key && !o.error && trace_add_info(t, key, "%.*s", (int)o.len, o.buf);
	out_free(&o);
	return good;
}

static bool declare_info(struct spur_trace *t, const struct join_part *p)
{
	const struct spur_trace *part = p->trace;
	const char *key = arena_printf(&t->arena, "trace %u", p->number + 1);
	const char *version = part->version ? part->version : "";

	return key &&
	       trace_add_info(t, key, "%s: %s%s%s, clock %s%s, moved by %lld ns", part->path,
			      part->format->name, version[0] ? " " : "", version, part->clock.name,
			      part->clock.epoch_known ? " with an epoch" : "",
			      (long long)p->map.shift) &&
	       (!p->number || t->one_run || declare_relation(t, p->number));
}

static bool declare_part(struct spur_trace *t, struct join_part *p)
{
	const struct spur_trace *part = p->trace;

	for (uint32_t i = 0; i < part->ntracks; i++)
		if (!table_get(&p->tracks, i) && track_add(t, p, i) == SPUR_NONE)
			return false;
	return declare_origins(t, p) && declare_streams(t, p) && declare_feeds(t, p);
}

static void declare_trace(struct spur_trace *t, const struct join *j)
{
	t->clock = j->parts[0].trace->clock;
	t->clock.derived = "the first trace's; the others' times are moved to it";
	t->byte_order = j->parts[0].trace->byte_order;
	t->default_min_ns = j->parts[0].trace->default_min_ns;
	for (size_t i = 0; i < j->n; i++) {
		struct spur_trace *part = j->parts[i].trace;

		t->tracks_shared |= part->tracks_shared;
		t->has_samples |= part->has_samples;
		if (part->default_min_ns < t->default_min_ns)
			t->default_min_ns = part->default_min_ns;
		if (strcmp(part->byte_order, t->byte_order) != 0)
			t->byte_order = "mixed";
		/* Rows of pipes are passed on as they come. */
		t->live |= pipe_is_live(part);
	}
	/* What is open when a trace ends ends with it, though another may go on. */
	t->tops_apart = true;
	t->nparts = j->n;
}

/*
 * Lets the format leave out what several traces of it have, whether they were opened as one run or
 * by their names. Returns false if out of memory.
 */
static bool relate_members(const struct spur_trace *t, const struct join *j)
{
	const struct spur_format *format = j->parts[0].trace->format;
	struct spur_trace **members = mem_array(j->n, sizeof(struct spur_trace *));
	bool good = members != NULL;

	for (size_t i = 0; good && i < j->n; i++) {
		members[i] = j->parts[i].trace;
		if (members[i]->format != format)
			format = NULL;
		if (!format)
			break;
	}
	if (good && format && format->relate)
		good = format->relate(members, j->n, t->one_run);
	mem_free(members);
	return good;
}

static enum spur_status join_parts(struct spur_trace *t, const char *const *paths, size_t n,
				   struct spur_error *err)
{
	struct join *j = mem_alloc(sizeof(*j));

	if (!j)
		return err_nomem(err);
	t->format = &joined_format;
	t->state = j;
	if (n > 1 && !t->one_run)
		t->path = arena_printf(&t->arena, "%s and %zu more", paths[0], n - 1);
	j->parts = mem_array(n, sizeof(*j->parts));
	t->parts = arena_alloc(&t->arena, n * sizeof(*t->parts));
	if (!j->parts || !t->parts || !t->path)
		return err_nomem(err);
	if (open_parts(t, j, paths, n, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!t->one_run && !join_name_parts(t, paths, n))
		return err_nomem(err);
	/* Before the clocks are related: that may read rows. */
	if (!relate_members(t, j))
		return err_nomem(err);
	if (join_clocks(t, n, err) == SPUR_FAIL)
		return SPUR_FAIL;
	for (size_t i = 0; i < n; i++)
		j->parts[i].map = t->parts[i].map;
	for (size_t i = 0; i < n; i++)
		if (!declare_info(t, &j->parts[i]))
			return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		j->observes |= t->one_run && j->parts[i].trace->observes;
	/* What is observed first. */
	for (size_t i = 0; i < 2 * n; i++)
		if (j->parts[i % n].trace->observes == (i >= n) &&
		    !declare_part(t, &j->parts[i % n]))
			return err_nomem(err);
	declare_trace(t, j);
	t->ntracks_open = t->ntracks;
	return trace_short_of_memory(t) ? err_nomem(err) : SPUR_OK;
}

enum spur_status join_open(struct spur_trace **out, const char *const *paths, size_t n,
			   const struct spur_options *opt, struct spur_error *err)
{
	struct spur_trace *t;
	uint64_t *charged;
	enum spur_status st;

	*out = NULL;
	if (!n || n > JOIN_MAX)
		return err_set(err, SPUR_ERR_USAGE, "expected 1 to %d traces, found %zu",
			       (int)JOIN_MAX, n);
	if (opt && opt->follow)
		return err_set(err, SPUR_ERR_USAGE, "expected one trace to follow, found %zu", n);
	t = trace_new(paths[0], opt);
	if (!t)
		return err_nomem(err);
	charged = mem_charge(&t->mem_failures);
	st = join_parts(t, paths, n, err);
	mem_charge(charged);
	if (st == SPUR_FAIL)
		trace_close(t);
	else
		*out = t;
	return st;
}

enum spur_status join_open_run(struct spur_trace **out, const struct spur_trace *dir,
			       struct intern *strings, struct spur_error *err)
{
	struct spur_trace *t = trace_new(dir->path, &dir->options);
	const char *const *paths;
	uint64_t *charged;
	enum spur_status st;
	size_t n;

	*out = NULL;
	if (!t)
		return err_nomem(err);
	t->one_run = true;
	if (strings)
		trace_share_strings(t, strings);
	charged = mem_charge(&t->mem_failures);
	st = dir->format->members(dir->path, &t->arena, &paths, &n, err);
	if (st != SPUR_FAIL)
		st = join_parts(t, paths, n, err);
	if (st != SPUR_FAIL && dir->format->run_info && !dir->format->run_info(t, dir->path))
		st = err_nomem(err);
	mem_charge(charged);
	if (st == SPUR_FAIL)
		trace_close(t);
	else
		*out = t;
	return st;
}
