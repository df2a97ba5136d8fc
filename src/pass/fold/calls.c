/*
 * The report's inner loop. BEGIN and END rows that fit the stack as it is are counted in place;
 * everything else (a new track, lost records, time off the CPU) takes one step of the slow path,
 * which is the definition of what the fast one does.
 *
 * The loop is made twice. Where a feed's tracks take turns, counters of open calls are in tables by
 * track and class (parked.h) while both are few; else each is in the stat of its class, which
 * changes hands when another track calls the function.
 */
#include "pass/fold/calls.h"

#include "flow/fit.h"
#include "flow/walk.h"
#include "format/format.h"
#include "pass/fold/lend.h"
#include "pass/fold/segment.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum { KEY_LIMIT = 1 << 28 };

/* The track at hand in registers. */
struct view {
	struct fit fit;
	struct pair_stack *stack;
	struct call_stat *stats; /* NULL: out of memory */
	size_t nstats;
	/*
	 * With calls.tables: open calls of the track by head, and heads by key. INVARIANT: both
	 * have what belongs to keys below `nopens`, which is not above `nstats`.
	 */
	uint32_t *opens;
	const uint32_t *heads;
	size_t nopens;
	int64_t until; /* the key's */
	uint32_t track, key;
};

static bool stat_room(struct calls *w, uint32_t key)
{
	const size_t before = w->nstats;

	if (key < before)
		return true;
	if (!mem_table_grow((void **)&w->stats, &w->nstats, (size_t)key + 1, sizeof(*w->stats),
			    KEY_LIMIT))
		return false;
	for (size_t i = before; i < w->nstats; i++)
		w->stats[i].track = SPUR_NONE;
	return true;
}

/* What nested calls of the key are recursion of. */
static uint32_t key_head(const struct calls *w, uint32_t key)
{
	return w->by == CALLS_BY_FUNCTION && key != CALLS_OFF_CPU ? trace_class(w->trace, key)->head
								  : key;
}

static void find_session(struct calls *w, const struct spur_event *row)
{
	const struct spur_format *format = w->trace->format;
	const struct spur_track *k = trace_track(w->trace, row->track);

	w->key_until = INT64_MAX;
	if (!format->session_at)
		w->key_now = trace_process_of(w->trace, row->track) + 1;
	else
		w->key_now = k ? format->session_at(w->trace, k, row->ts, &w->key_until) : 0;
}

struct calls_session calls_session(const struct spur_trace *t, uint32_t key)
{
	const struct spur_track *k = t->format->session ? NULL : trace_track(t, key - 1);
	struct calls_session s = { .name = "", .pid = -1 };
	struct format_session own;

	if (t->format->session && t->format->session(t, key, &own)) {
		s = (struct calls_session){ .name = own.name, .len = own.len, .pid = own.pid };
	} else if (k) {
		s.name = trace_string(t, k->name, &s.len);
		s.pid = k->pid;
	}
	return s;
}

static uint32_t row_key(struct calls *w, const struct spur_event *row)
{
	if (w->by == CALLS_BY_FUNCTION)
		return row->cls;
	if (w->key_track != row->track || row->ts >= w->key_until) {
		w->key_track = row->track;
		w->key_now = row->track + 1;
		w->key_until = INT64_MAX;
		if (w->by == CALLS_BY_SESSION)
			find_session(w, row);
	}
	return w->key_now;
}

/* Gives the key the counter of its head's open calls on the track; the one in use is parked. */
static __attribute__((noinline)) bool stat_retrack(struct calls *w, uint32_t key, uint32_t track)
{
	struct call_stat *st = &w->stats[key], *from;
	const uint32_t head = key_head(w, key);

	if (st->track == track)
		return true;
	if (head >= w->nholders && !mem_grow((void **)&w->holders, &w->nholders, (size_t)head + 1,
					     sizeof(*w->holders), KEY_LIMIT))
		return false;
	from = w->holders[head] ? &w->stats[w->holders[head] - 1] : st;
	if (from->open && !parked_put(&w->parked, from->track, head, from->open))
		return false;
	from->open = 0;
	from->track = SPUR_NONE;
	st->open = parked_take(&w->parked, track, head);
	st->track = track;
	w->holders[head] = key + 1;
	return true;
}

/* Notes the heads of keys up to this one. Returns false if out of memory. */
static bool heads_note(struct calls *w, uint32_t key)
{
	if (key < w->nheads)
		return true;
	if (!mem_grow((void **)&w->heads, &w->heads_cap, (size_t)key + 1, sizeof(*w->heads),
		      PARKED_KEYS))
		return false;
	for (; w->nheads <= key; w->nheads++) {
		w->heads[w->nheads] = key_head(w, (uint32_t)w->nheads);
		/* So a table that has room for a key has room for its head. */
		assert(w->heads[w->nheads] <= w->nheads);
	}
	return true;
}

/*
 * Returns the counter of open calls of the key's head on the track, or NULL if out of memory. Valid
 * until the next call. The key has a stat. What has no room in a table ends w->tables.
 */
static uint32_t *open_at(struct calls *w, uint32_t key, uint32_t track)
{
	if (w->tables) {
		if (!parked_room(&w->parked, track, key))
			return NULL;
		w->tables = !w->parked.full;
	}
	if (w->tables)
		return heads_note(w, key) ? parked_at(&w->parked, track, w->heads[key]) : NULL;
	return stat_retrack(w, key, track) ? &w->stats[key].open : NULL;
}

/* Adds to the durations numbered `*spread`, which is 0 before the first. */
static bool stat_spread(struct calls *w, uint32_t *spread, uint64_t length)
{
	if (!*spread) {
		if (!mem_table_grow((void **)&w->spreads, &w->spreads_cap, w->nspreads + 1,
				    sizeof(*w->spreads), KEY_LIMIT))
			return false;
		w->spreads[w->nspreads].exact = w->want & CALLS_EXACT;
		*spread = (uint32_t)++w->nspreads;
	}
	return spread_add(&w->spreads[*spread - 1], length);
}

static void stat_unfinished(struct call_stat *st)
{
	st->unfinished += st->unfinished != UINT32_MAX;
}

/* A call is open when the data ends. */
static bool open_add(struct calls *w, uint32_t key, uint64_t length)
{
	struct call_open *o;

	if (!mem_grow((void **)&w->opens, &w->nopens, (size_t)key + 1, sizeof(*w->opens),
		      KEY_LIMIT))
		return false;
	o = &w->opens[key];
	o->sum += length;
	o->calls++;
	o->most = length > o->most ? length : o->most;
	o->least = ~length > o->least ? ~length : o->least;
	return !(w->want & CALLS_SPREAD) || stat_spread(w, &o->spread, length);
}

/* A frame was popped: its call is over. */
static bool call_end(struct calls *w, struct pair_stack *s, uint32_t track,
		     const struct pair_frame *f, struct walk_end e)
{
	uint64_t length = walk_length(f, e.ts);
	uint32_t key = (uint32_t)f->user, *open;
	struct call_stat *st;

	walk_credit(s, f, e.ts);
	if (unlikely(w->segment) && !s->n)
		segment_credit(s, length);
	if ((f->flags & PAIR_MISSING) || ((f->flags & PAIR_SCHED) && w->by != CALLS_BY_FUNCTION))
		return true;
	open = open_at(w, key, track);
	if (!open)
		return false;
	st = &w->stats[key];
	if (e.unfinished)
		stat_unfinished(st);
	--*open;
	if (e.uncounted)
		return true;
	st->sum += length;
	st->self += walk_self(f, length);
	st->calls++;
	if (*open)
		st->inner += length;
	if (e.unfinished && w->ending)
		return open_add(w, key, length);
	st->most = length > st->most ? length : st->most;
	st->least = ~length > st->least ? ~length : st->least;
	return !(w->want & CALLS_SPREAD) || stat_spread(w, &st->spread, length);
}

static bool call_begin(struct calls *w, struct pair_stack *s, const struct spur_event *row,
		       uint32_t key)
{
	struct pair_frame *f = walk_push(s, row);
	uint32_t *open;

	if (!f)
		return false;
	if (f->flags & PAIR_SCHED) {
		key = CALLS_OFF_CPU;
		if (w->by != CALLS_BY_FUNCTION)
			return true;
	}
	f->user = key;
	open = stat_room(w, key) ? open_at(w, key, row->track) : NULL;
	if (!open)
		return false;
	++*open;
	return true;
}

/*
 * A sample's time is its leaf's own, and part of a call of each function on the stack; where a
 * function is there more than once the inner calls lie in the outer one.
 */
static bool sample_step(struct calls *w, const struct spur_event *row)
{
	struct sample *k = &w->sample;
	uint32_t key = 0, head;

	if (!sample_read(k, w->trace, row))
		return false;
	if (!k->n)
		return true;
	w->samples++;
	for (size_t i = w->by == CALLS_BY_FUNCTION ? 0 : k->n - 1; i < k->n; i++) {
		key = w->by == CALLS_BY_FUNCTION ? k->cls[i] : row_key(w, row);
		head = key_head(w, key);
		if (!stat_room(w, key) || !mem_grow((void **)&w->seen, &w->nseen, (size_t)head + 1,
						    sizeof(*w->seen), KEY_LIMIT))
			return false;
		w->stats[key].sum += k->self;
		w->stats[key].inner += w->seen[head] == w->samples ? k->self : 0;
		w->seen[head] = w->samples;
	}
	w->stats[key].self += k->self;
	w->stats[key].calls += k->calls;
	return true;
}

/* The slow path: any row, in full. */
__attribute__((noinline)) bool calls_step(struct calls *w, const struct spur_event *row)
{
	struct pair_stack *s = pair_stack(&w->pair, row->track);
	const struct pair_frame *f;
	struct spur_event inner;
	struct walk_end e;
	uint32_t key;

	if (row->kind == SPUR_SAMPLE)
		return sample_step(w, row);
	if (!s)
		return false;
	if (unlikely(w->segment)) {
		const enum segment_row took = segment_take(w, s, row);

		if (took != SEGMENT_OWN)
			return took == SEGMENT_TAKEN;
	}
	/* Calls that an outer END implies ended have no end of their own. */
	if ((w->want & CALLS_ENDED) && pair_is_by_class(row)) {
		inner = *row;
		inner.flags |= SPUR_F_GAP;
		row = &inner;
	}
	while ((f = walk_due(s, row, &e)))
		if (!call_end(w, s, row->track, f, e))
			return false;
	key = row_key(w, row);
	if (walk_opens(s, row))
		return call_begin(w, s, row, key);
	f = walk_match(s, row);
	if (f)
		return call_end(w, s, row->track, f, (struct walk_end){ .ts = row->ts });
	if (row->kind != SPUR_END_SPAN)
		return true;
	if (!stat_room(w, key))
		return false;
	stat_unfinished(&w->stats[key]);
	return true;
}

/* Ends the SPANs that are over on all tracks. Returns false if out of memory. */
static __attribute__((noinline)) bool spans_over(struct calls *w, int64_t now)
{
	const struct pair_frame *f;
	struct walk_end e;

	if (w->trace->options.as_stored)
		return true;
	for (struct pair_stack *s = w->pair.used; s; s = s->next)
		while ((f = walk_over(s, now, &e)))
			if (!call_end(w, s, s->track, f, e))
				return false;
	return parked_trim(&w->parked);
}

static __attribute__((noinline)) struct view view_make(struct calls *w,
						       const struct spur_event *row)
{
	struct pair_stack *s = pair_at(&w->pair, row->track);
	struct view v = { .track = row->track };

	if (unlikely(!s) && (!pair_is_full(&w->pair) || spans_over(w, row->ts)))
		s = pair_stack_make(&w->pair, row->track);
	if (!s || (!s->cap && !pair_grow_frames(s, 1)) || !stat_room(w, 0))
		return v;
	v.key = w->by == CALLS_BY_FUNCTION ? 0 : row_key(w, row);
	v.until = w->key_until;
	v.fit = fit_load(s, row);
	v.stack = s;
	v.stats = w->stats;
	v.nstats = w->nstats;
	if (w->tables && row->track < w->parked.ntables) {
		const struct parked_table *k = &w->parked.tables[row->track];

		v.opens = k->n;
		v.heads = w->heads;
		v.nopens = k->len < w->nheads ? k->len : w->nheads;
		v.nopens = v.nopens < w->nstats ? v.nopens : w->nstats;
	}
	w->low = row->track < w->low ? row->track : w->low;
	w->high = row->track > w->high ? row->track : w->high;
	return v;
}

/* Field by field, so that the compiler keeps the caller's view in registers. */
static inline __attribute__((always_inline)) bool view_load(struct view *v, struct calls *w,
							    const struct spur_event *row)
{
	const struct view new = view_make(w, row);

	v->fit.next = new.fit.next;
	v->fit.limit = new.fit.limit;
	v->fit.begin = new.fit.begin;
	v->fit.mask = new.fit.mask;
	v->fit.level = new.fit.level;
	v->stack = new.stack;
	v->stats = new.stats;
	v->nstats = new.nstats;
	v->opens = new.opens;
	v->heads = new.heads;
	v->nopens = new.nopens;
	v->until = new.until;
	v->track = new.track;
	v->key = new.key;
	return v->stats;
}

static inline __attribute__((always_inline)) void view_store(const struct view *v)
{
	fit_store(v->stack, v->fit.next);
}

/*
 * Finds the counter of open calls of the key's head; false: the slow path must. `tables`, here and
 * below: w->tables when the rows came, as a constant. Without it, the key has a stat.
 */
static inline __attribute__((always_inline)) bool
view_open(struct calls *w, const struct view *v, uint32_t key, bool tables, uint32_t **open)
{
	struct call_stat *const st = &v->stats[key];

	if (tables) {
		if (unlikely(key >= v->nopens))
			return false;
		*open = &v->opens[v->heads[key]];
		return true;
	}
	if (unlikely(st->track != v->track) && !stat_retrack(w, key, v->track))
		return false;
	*open = &st->open;
	return true;
}

/* Counts a BEGIN that fits; false: the slow path must. */
static inline __attribute__((always_inline)) bool fast_begin(struct calls *w, struct view *v,
							     const struct spur_event *row,
							     bool by_function, bool tables)
{
	const uint32_t key = by_function ? row->cls : v->key;
	uint32_t *open;

	if (unlikely(!fit_has_room(&v->fit) || (!tables && key >= v->nstats) ||
		     (!by_function && row->ts >= v->until)))
		return false;
	if (!view_open(w, v, key, tables, &open))
		return false;
	++*open;
	fit_push(&v->fit, row, key);
	return true;
}

/*
 * Counts an END that fits, if it is of the topmost frame; false: the slow path must. `*spent` is
 * how long the call of `*key` lasted.
 */
static inline __attribute__((always_inline)) bool fast_end(struct calls *w, struct view *v,
							   const struct spur_event *row,
							   uint32_t *key, uint64_t *spent,
							   bool by_function, bool tables)
{
	const struct pair_frame *f = v->fit.next - 1;
	struct call_stat *st;
	uint32_t *open;
	uint64_t length;

	if (unlikely(!fit_matches(&v->fit, row)))
		return false;
	*key = by_function ? row->cls : (uint32_t)f->user;
	if (!view_open(w, v, *key, tables, &open))
		return false;
	st = &v->stats[*key];
	*spent = length = walk_length(f, row->ts);
	st->sum += length;
	st->self += walk_self(f, length);
	st->calls++;
	if (unlikely(length > st->most))
		st->most = length;
	if (unlikely(~length > st->least))
		st->least = ~length;
	if (unlikely(--*open))
		st->inner += length;
	fit_pop(&v->fit, length);
	return true;
}

/*
 * Counts a call that is over, inside `open` others of the function. Returns false with nothing
 * counted if out of memory.
 */
static inline __attribute__((always_inline)) bool fast_count(struct calls *w, struct call_stat *st,
							     uint64_t length, uint64_t self,
							     uint32_t open, bool spread)
{
	if (spread && !stat_spread(w, &st->spread, length))
		return false;
	st->sum += length;
	st->self += self;
	st->calls++;
	if (unlikely(length > st->most))
		st->most = length;
	if (unlikely(~length > st->least))
		st->least = ~length;
	if (unlikely(open))
		st->inner += length;
	return true;
}

/*
 * Ends the SPANs on top that are over when a row comes at `ts`, as walk_due() does. Returns false
 * if out of memory; the slow path goes on with those that are left.
 */
static inline __attribute__((always_inline)) bool fast_due(struct calls *w, struct view *v,
							   int64_t ts, bool spread, bool tables)
{
	struct pair_frame *f = v->fit.next - 1;

	if (!(f->flags & PAIR_SPAN) || f->end > ts)
		return true;
	for (; (f->flags & PAIR_SPAN) && f->end <= ts; f--) {
		struct call_stat *st = &v->stats[(uint32_t)f->user];
		const uint64_t length = walk_length(f, f->end);
		const bool outlasts = (f[-1].flags & PAIR_SPAN) && f->end > f[-1].end;
		uint32_t *open;

		if (!view_open(w, v, (uint32_t)f->user, tables, &open) ||
		    !fast_count(w, st, length, walk_self(f, length), *open - 1, spread))
			return false;
		--*open;
		f[-1].child = (int64_t)((uint64_t)f[-1].child +
					(outlasts ? walk_length(f, f[-1].end) : length));
		v->fit.next = f;
	}
	if (v->stack->spans.end <= ts)
		v->stack->spans.any = false;
	return true;
}

/*
 * Counts a SPAN that lies in what is on top: at once if the track's next row (`next`; NULL: not
 * known) comes when it is over, else by a frame. Returns false if the slow path must.
 */
static inline __attribute__((always_inline)) bool
fast_span(struct calls *w, struct view *v, const struct spur_event *row,
	  const struct spur_event *next, bool by_function, bool spread, bool tables)
{
	const uint32_t key = by_function ? row->cls : v->key;
	struct pair_frame *f;
	uint32_t *open;
	int64_t end;

	if (unlikely(row->dur < 0 || (row->flags & SPUR_F_DEPTH) ||
		     v->fit.begin != row_rest(SPUR_BEGIN, 0, 0, 0) || key >= v->nstats ||
		     (!by_function && row->ts >= v->until) ||
		     __builtin_add_overflow(row->ts, row->dur, &end)) ||
	    !fast_due(w, v, row->ts, spread, tables))
		return false;
	f = v->fit.next;
	if (unlikely(f == v->fit.limit || (f[-1].flags & PAIR_SCHED) ||
		     ((f[-1].flags & PAIR_SPAN) && f[-1].end < end)))
		return false;
	if (!view_open(w, v, key, tables, &open))
		return false;
	if (next && next->track == v->track && next->ts >= end) {
		const uint64_t length = (uint64_t)row->dur;

		if (!fast_count(w, &v->stats[key], length, length, *open, spread))
			return false;
		f[-1].child = (int64_t)((uint64_t)f[-1].child + length);
		return true;
	}
	++*open;
	*f = (struct pair_frame){
		.ts = row->ts, .end = end, .cls = row->cls, .flags = PAIR_SPAN, .user = key
	};
	v->fit.next++;
	pair_span(&v->stack->spans, row);
	return true;
}

static inline __attribute__((always_inline)) bool calls_rows_by(struct calls *w,
								const struct spur_event *row,
								size_t n, bool by_function,
								bool spread, bool tables)
{
	const struct spur_event *end = row + n;
	uint64_t bits, spent = 0;
	uint32_t key = 0;
	struct view v;

	if (!view_load(&v, w, row))
		return false;
	for (; row < end; row++) {
		if (unlikely(row->track != v.track)) {
			view_store(&v);
			if (!view_load(&v, w, row))
				return false;
		}
		bits = fit_bits(&v.fit, row);
		if (bits == v.fit.begin) {
			if (likely(fast_begin(w, &v, row, by_function, tables)))
				continue;
		} else if (likely(fit_is_end(&v.fit, bits))) {
			if (likely(fast_end(w, &v, row, &key, &spent, by_function, tables))) {
				if (spread && !stat_spread(w, &w->stats[key].spread, spent))
					return false;
				continue;
			}
		}
		if (row->kind == SPUR_SPAN &&
		    likely(fast_span(w, &v, row, row + 1 < end ? row + 1 : NULL, by_function,
				     spread, tables)))
			continue;
		if (!walk_takes(row) && row->kind != SPUR_SAMPLE)
			continue;
		view_store(&v);
		if (!calls_step(w, row) || !view_load(&v, w, row))
			return false;
	}
	view_store(&v);
	return true;
}

/* Notes an id, of which `id` has all bits inverted. */
static inline bool id_note(struct calls *w, size_t cls, uint64_t id)
{
	if (unlikely(cls >= w->nids) &&
	    !mem_grow((void **)&w->ids, &w->nids, cls + 1, sizeof(*w->ids), KEY_LIMIT))
		return false;
	if (w->ids[cls] < id)
		w->ids[cls] = id;
	return true;
}

static bool calls_ids(struct calls *w, const struct spur_event *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((rows[i].kind == SPUR_BEGIN || rows[i].kind == SPUR_SPAN) &&
		    !id_note(w, rows[i].cls, ~rows[i].id))
			return false;
	return true;
}

/* With w->tables. */
static __attribute__((noinline)) bool calls_take_tables(struct calls *w,
							const struct spur_event *rows, size_t n)
{
	if (w->want & CALLS_SPREAD)
		return calls_rows_by(w, rows, n, w->by == CALLS_BY_FUNCTION, true, true);
	if (w->by == CALLS_BY_FUNCTION)
		return calls_rows_by(w, rows, n, true, false, true);
	return calls_rows_by(w, rows, n, false, false, true);
}

static bool calls_take(void *worker, const struct spur_event *rows, size_t n)
{
	struct calls *w = worker;

	if (w->tables)
		return calls_take_tables(w, rows, n);
	if (w->want & CALLS_SPREAD)
		return calls_rows_by(w, rows, n, w->by == CALLS_BY_FUNCTION, true, false);
	if (w->by == CALLS_BY_FUNCTION)
		return calls_rows_by(w, rows, n, true, false, false);
	return calls_rows_by(w, rows, n, false, false, false);
}

/*
 * Counters go from stats to tables, for as long as these have room. Returns false if out of memory.
 */
static bool tables_begin(struct calls *w)
{
	for (size_t head = 0; head < w->nholders; head++) {
		struct call_stat *st = w->holders[head] ? &w->stats[w->holders[head] - 1] : NULL;

		if (!st)
			continue;
		if (st->open && !parked_put(&w->parked, st->track, (uint32_t)head, st->open))
			return false;
		st->open = 0;
		st->track = SPUR_NONE;
		w->holders[head] = 0;
	}
	/* There may be no room for one. */
	w->tables = !w->parked.full;
	return true;
}

static bool calls_rows(void *worker, struct spur_event *rows, size_t n)
{
	struct calls *w = worker;

	if (unlikely(w->lent) && !calls_take_back(w))
		return false;
	if (unlikely(w->segment)) {
		if (!w->segment->begun && !segment_begin(w, rows))
			return false;
		if (w->segment->odd)
			return true;
	}
	if ((w->want & CALLS_IDS) && !calls_ids(w, rows, n))
		return false;
	w->rows += n;
	w->gather.cheap = w->tables;
	if (!ends_rows(&w->ends, rows, n) || !gather_add(&w->gather, rows, n))
		return false;
	return w->tables || w->parked.full || !w->gather.turns || (w->want & CALLS_NO_TABLES) ||
	       tables_begin(w);
}

static bool calls_feed_begin(void *worker, const struct feed *f)
{
	struct calls *w = worker;

	w->feed_track = f ? f->track : SPUR_NONE;
	w->gather.take = calls_take;
	w->gather.self = w;
	w->gather.turns = false;
	w->tables = false;
	w->low = UINT32_MAX;
	w->high = 0;
	ends_begin(&w->ends, w->trace);
	w->ending = false;
	w->key_track = SPUR_NONE;
	return !(w->want & CALLS_TABLES) || tables_begin(w);
}

/* A frame that nothing ends was popped: its call does not count. */
static bool call_drop(struct calls *w, uint32_t track, const struct pair_frame *f)
{
	const uint32_t key = (uint32_t)f->user;
	uint32_t *open;

	if ((f->flags & PAIR_MISSING) || ((f->flags & PAIR_SCHED) && w->by != CALLS_BY_FUNCTION))
		return true;
	open = open_at(w, key, track);
	if (!open)
		return false;
	--*open;
	stat_unfinished(&w->stats[key]);
	return true;
}

struct call_stat *calls_stat(struct calls *w, uint32_t key)
{
	return stat_room(w, key) ? &w->stats[key] : NULL;
}

bool calls_begin(struct calls *w, const struct feed *f)
{
	return calls_feed_begin(w, f);
}

uint32_t calls_head(const struct calls *w, uint32_t key)
{
	return key_head(w, key);
}

bool calls_open(struct calls *w, uint32_t key, uint32_t track)
{
	uint32_t *const open = stat_room(w, key) ? open_at(w, key, track) : NULL;

	if (!open)
		return false;
	++*open;
	return true;
}

bool calls_close(struct calls *w, uint32_t key, uint32_t track)
{
	uint32_t *const open = open_at(w, key, track);

	if (!open)
		return false;
	--*open;
	return true;
}

/* Calls that are open when the feed ends last until its last row, unless CALLS_ENDED. */
static bool calls_feed_end(void *worker, const struct feed *f)
{
	struct calls *w = worker;
	struct walk_end e;

	(void)f;
	if (!calls_take_back(w) || !gather_flush(&w->gather))
		return false;
	w->ending = true;
	for (size_t track = w->low; track <= w->high && track < w->pair.cap; track++) {
		struct pair_stack *s = pair_at(&w->pair, track);
		const struct pair_frame *frame;

		while (s && (frame = walk_rest(s, ends_of(&w->ends, (uint32_t)track), &e)))
			if (!(e.unfinished && (w->want & CALLS_ENDED)
				      ? call_drop(w, (uint32_t)track, frame)
				      : call_end(w, s, (uint32_t)track, frame, e)))
				return false;
	}
	pair_clear(&w->pair);
	parked_free(&w->parked);
	return true;
}

bool calls_end(struct calls *w)
{
	return calls_feed_end(w, NULL);
}

/* Frees what is needed only while feeds are read. */
static void reading_free(struct calls *w)
{
	ends_free(&w->ends);
	sample_free(&w->sample);
	pair_free(&w->pair);
	gather_free(&w->gather);
	parked_free(&w->parked);
	sink_free(w->sink);
	mem_free(w->holders);
	mem_free(w->heads);
	mem_free(w->seen);
	w->sink = NULL;
	w->holders = w->heads = NULL;
	w->seen = NULL;
	w->nholders = w->nheads = w->heads_cap = w->nseen = 0;
}

static void sums_free(struct calls *w)
{
	for (size_t k = 0; k < w->nspreads; k++)
		spread_free(&w->spreads[k]);
	mem_table_free(w->spreads, w->spreads_cap, sizeof(*w->spreads));
	mem_table_free(w->stats, w->nstats, sizeof(*w->stats));
	mem_free(w->opens);
	w->spreads = NULL;
	w->stats = NULL;
	w->opens = NULL;
	w->nspreads = w->spreads_cap = w->nstats = w->nopens = 0;
}

void calls_free(struct calls *workers, unsigned n)
{
	for (unsigned i = 0; workers && i < n; i++) {
		reading_free(&workers[i]);
		sums_free(&workers[i]);
		mem_free(workers[i].ids);
	}
	mem_free(workers);
}

/* Adds the durations numbered `from` of a worker to those numbered *to of `w`. */
static bool spread_move(struct calls *w, uint32_t *to, struct calls *worker, uint32_t from)
{
	struct spread *s = from ? &worker->spreads[from - 1] : NULL;

	if (!s)
		return true;
	if (*to)
		return spread_join(&w->spreads[*to - 1], s);
	if (w == worker) {
		*to = from;
		return true;
	}
	if (!mem_table_grow((void **)&w->spreads, &w->spreads_cap, w->nspreads + 1,
			    sizeof(*w->spreads), KEY_LIMIT))
		return false;
	w->spreads[w->nspreads] = *s;
	*s = (struct spread){ 0 };
	*to = (uint32_t)++w->nspreads;
	return true;
}

static bool open_move(struct calls *w, uint32_t to, struct calls *worker, uint32_t from)
{
	struct call_open *o, add;

	if (from >= worker->nopens)
		return true;
	add = worker->opens[from];
	worker->opens[from] = (struct call_open){ 0 };
	if (!mem_grow((void **)&w->opens, &w->nopens, (size_t)to + 1, sizeof(*w->opens), KEY_LIMIT))
		return false;
	o = &w->opens[to];
	o->sum += add.sum;
	o->calls += add.calls;
	o->least = add.least > o->least ? add.least : o->least;
	o->most = add.most > o->most ? add.most : o->most;
	return spread_move(w, &o->spread, worker, add.spread);
}

static bool stat_is_empty(const struct call_stat *s)
{
	return !s->calls && !s->unfinished && !s->sum;
}

/* Moves a worker's sums of the key `from`, which become empty, to those of `to` of `w`. */
static bool stat_move(struct calls *w, uint32_t to, struct calls *worker, uint32_t from)
{
	const struct call_stat add = worker->stats[from];
	struct call_stat *st;

	if (!stat_room(w, to))
		return false;
	worker->stats[from] = (struct call_stat){ .track = SPUR_NONE };
	st = &w->stats[to];
	st->sum += add.sum;
	st->inner += add.inner;
	st->self += add.self;
	st->calls += add.calls;
	st->least = add.least > st->least ? add.least : st->least;
	st->most = add.most > st->most ? add.most : st->most;
	if (__builtin_add_overflow(st->unfinished, add.unfinished, &st->unfinished))
		st->unfinished = UINT32_MAX;
	return spread_move(w, &st->spread, worker, add.spread) && open_move(w, to, worker, from);
}

bool calls_move(struct calls *w, struct calls *from)
{
	w->rows += from->rows;
	for (uint32_t key = 0; key < from->nstats; key++)
		if (!stat_is_empty(&from->stats[key]) && !stat_move(w, key, from, key))
			return false;
	for (size_t cls = 0; cls < from->nids; cls++)
		if (from->ids[cls] && !id_note(w, cls, from->ids[cls]))
			return false;
	return true;
}

bool calls_join(struct calls *workers, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct calls *w = &workers[i];

		reading_free(w);
		for (uint32_t key = 0; key < w->nstats; key++)
			if (!stat_is_empty(&w->stats[key]) && (i || key_head(w, key) != key) &&
			    !stat_move(workers, key_head(w, key), w, key))
				return false;
		if (i)
			sums_free(w);
	}
	return true;
}

enum spur_status calls_run(struct pass_env *env, enum calls_by by, unsigned want,
			   struct calls **workers, unsigned *n)
{
	static const struct pipe_fold fold = { .feed_begin = calls_feed_begin,
					       .rows = calls_rows,
					       .feed_end = calls_feed_end,
					       .sink = calls_lend,
					       .part_new = segment_new,
					       .part_join = segment_join,
					       .part_end = segment_end_feed,
					       .part_free = segment_free };
	struct pipe_options opt = env->pipe;
	enum spur_status st;
	void **states;

	if (by == CALLS_BY_FUNCTION)
		opt.parts = PIPE_PARTS_CALLS;
	*n = pipe_workers(env->trace, &opt);
	*workers = mem_array(*n, sizeof(**workers));
	states = mem_array(*n, sizeof(*states));
	if (!*workers || !states) {
		mem_free(states);
		return err_nomem(env->err);
	}
	for (unsigned i = 0; i < *n; i++) {
		(*workers)[i] = (struct calls){ .trace = env->trace, .by = by, .want = want };
		states[i] = &(*workers)[i];
	}
	st = pipe_run_feeds(env->trace, &opt, &fold, states);
	mem_free(states);
	for (unsigned i = 0; i < *n && st != SPUR_FAIL; i++)
		st = calls_settle(&(*workers)[i]) ? st : SPUR_FAIL;
	return st == SPUR_FAIL ? err_nomem(env->err) : SPUR_OK;
}
