/*
 * Rows become items. The call-stack machine (flow/pair.h) says which rows are spans; an open span
 * follows the finished items of its lane, in the place where it will be. See grow.h.
 */
#include "flow/args.h"
#include "format/format.h"
#include "store/grow.h"

enum { CLASSES_MAX = 1 << 28 };

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* --- items --- */

/* SPEC store/ties: how many items of the track have ended at the time of a row that begins one. */
static inline uint32_t ties_at(const struct growing_track *t, int64_t ts)
{
	return unlikely(t->tie == ts) ? t->ties : 0;
}

static inline void ties_end(struct growing_track *t, int64_t ts)
{
	t->ties = unlikely(t->tie == ts) ? t->ties + 1 : 1;
	t->tie = ts;
}

/* SPEC store/arguments */
static void slot_end_row(struct slot *s, const struct spur_event *row)
{
	s->rare.end_label = row->cls - s->label;
	if (!row->nargs)
		return;
	s->rare.end_off = row->off - s->off;
	s->rare.end_id = row->id - s->rare.id;
	s->rare.end_stream = row->stream - s->rare.stream;
	s->rare.end_len = row->len;
	s->rare.end_nargs = row->nargs;
}

const struct spur_args *worker_args(struct store_worker *k, const struct spur_event *row)
{
	if (k->given)
		return k->given;
	return args_decode(writer_trace(k->writer), row, &k->args) == SPUR_FAIL ? NULL : &k->args;
}

/* --- counters --- */

/* The bits of a number, by the rules of `spur counters`; false: `v` is none. */
static bool value_bits(const struct spur_value *v, enum store_lane_kind *kind, uint64_t *bits)
{
	switch (v->type) {
	case SPUR_I64:
		*kind = STORE_I64;
		break;
	case SPUR_U64:
	case SPUR_BOOL:
		*kind = STORE_U64;
		break;
	case SPUR_F64:
		*kind = STORE_F64;
		break;
	default:
		return false;
	}
	*bits = v->u;
	return true;
}

static bool counter_add(struct store_worker *k, const struct spur_event *row,
			const struct series *key, uint64_t bits, bool again)
{
	struct growing_lane *l = lane_of_series(k, key);
	struct slot *s;

	if (!l)
		return false;
	if (!l->cap) {
		if (!mem_grow((void **)&k->counters, &k->counters_cap, k->ncounters + 1,
			      sizeof(struct growing_lane *), SIZE_MAX / 16))
			return false;
		k->counters[k->ncounters++] = l;
	}
	if (!lane_room(k, l))
		return false;
	s = lane_open(l);
	slot_begin(s, row, 0, again ? STORE_AGAIN : 0, 0);
	slot_plain_end(s, 0, 0, 0);
	s->rare.value = bits;
	lane_close(l);
	k->events += !again;
	return true;
}

/* SPEC store/counters: adds the numbers of a COUNTER row. `*any`: it has some. */
static bool counter_row(struct store_worker *k, const struct spur_event *row, bool *any)
{
	struct series key = { .track = row->track, .label = row->cls, .id = row->id };
	const struct spur_args *args;
	uint64_t bits;

	*any = false;
	if (!row->nargs)
		return true;
	args = worker_args(k, row);
	for (size_t i = 0; args && i < args->count; i++) {
		const struct spur_value *v = &args->items[i];

		if (!value_bits(v, &key.kind, &bits))
			continue;
		key.arg = v->name;
		if (!counter_add(k, row, &key, bits, *any))
			return false;
		*any = true;
	}
	return args;
}

/* --- rows --- */

/* SPEC store/events: adds an item without duration to the lane below the frames that are open. */
static bool event_add(struct store_worker *k, struct growing_track *t, size_t depth,
		      const struct spur_event *row)
{
	struct growing_lane *l;
	struct slot *s;
	bool done = false;

	if (row->kind == SPUR_COUNTER && (!counter_row(k, row, &done) || done))
		return done;
	l = lane_at(k, row->track, depth);
	if (!l || !lane_room(k, l))
		return false;
	s = lane_open(l);
	slot_begin(s, row, ties_at(t, row->ts), 0, 0);
	slot_plain_end(s, 0, 0, 0);
	if (row->flags & SPUR_F_DEPTH)
		s->rare.end_len = row->depth;
	if (row->kind == SPUR_SAMPLE && !lists_stack(k, row))
		return false;
	if (row_is_listed(row) && !lists_row(k, row, growing_items(l) + l->n, depth))
		return false;
	lane_close(l);
	k->events++;
	/* It ends where it begins, but no row that comes later tells so: no tie. */
	return true;
}

/* --- recursion --- */

/* Counts the calls of another track from now on. Returns false if out of memory. */
static bool calls_retrack(struct store_worker *k, struct open_calls *o, uint32_t track)
{
	const uint64_t head = o->head - 1;
	struct map64_slot *slot;

	if (o->open) {
		slot = map64_put(&k->parked, (uint64_t)(o->track - 1) << 32 | head);
		if (!slot)
			return false;
		slot->value = o->open;
	}
	slot = map64_find(&k->parked, (uint64_t)track << 32 | head);
	o->open = slot ? (uint32_t)slot->value : 0;
	o->track = track + 1;
	if (slot)
		slot->value = 0;
	return true;
}

/* Returns the counter of a class's head, for the track; NULL if out of memory. */
static struct open_calls *calls_of(struct store_worker *k, uint32_t track, uint32_t cls)
{
	uint32_t head;

	if (cls >= k->ncalls && !mem_grow((void **)&k->calls, &k->ncalls, (size_t)cls + 1,
					  sizeof(*k->calls), CLASSES_MAX))
		return NULL;
	if (!k->calls[cls].head)
		k->calls[cls].head =
			(cls ? trace_class(writer_trace(k->writer), cls)->head : 0) + 1;
	head = k->calls[cls].head - 1;
	if (head != cls)
		return calls_of(k, track, head);
	return k->calls[cls].track == track + 1 || calls_retrack(k, &k->calls[cls], track)
		       ? &k->calls[cls]
		       : NULL;
}

/* SPEC store/inner: `*inner` calls of the class's head are open on the track when one begins. */
static bool calls_push(struct store_worker *k, uint32_t track, uint32_t cls, uint32_t *inner)
{
	struct open_calls *o = calls_of(k, track, cls);

	*inner = o ? o->open++ : 0;
	return o;
}

static bool calls_pop(struct store_worker *k, uint32_t track, uint32_t cls)
{
	struct open_calls *o = calls_of(k, track, cls);

	if (o)
		o->open--;
	return o;
}

/* The counter of a class if it is at hand, for the quick path; NULL: it is not. */
static inline struct open_calls *calls_at_hand(const struct store_worker *k, uint32_t track,
					       uint32_t cls)
{
	struct open_calls *o;

	if (unlikely(cls >= k->ncalls))
		return NULL;
	o = &k->calls[cls];
	return likely(o->head == cls + 1 && o->track == track + 1) ? o : NULL;
}

/* --- spans --- */

/*
 * SPEC store/spans: a frame was popped. Its item ends at `end.ts`, which is seen at `now`; `row` is
 * the END that popped it, or NULL.
 */
static bool span_end(struct store_worker *k, struct growing_track *t, struct pair_stack *s,
		     const struct pair_frame *f, struct walk_end end, int64_t now,
		     const struct spur_event *row)
{
	const bool missing = f->flags & PAIR_MISSING, sched = f->flags & PAIR_SCHED;
	struct growing_lane *l;
	struct slot *item;
	unsigned marks = 0;

	walk_credit(s, f, end.ts);
	if (!missing && !sched && !calls_pop(k, s->track, f->cls))
		return false;
	if (missing) {
		k->facts |= STORE_GAPS;
		return true;
	}
	l = t->lanes[s->n];
	item = lane_open(l);
	slot_plain_end(item, walk_length(f, end.ts), (uint64_t)f->child, row ? row->flags : 0);
	if (row)
		slot_end_row(item, row);
	else
		marks = STORE_NO_END;
	if (!row && end.unfinished)
		marks |= now == INT64_MAX ? STORE_OPEN | STORE_LAST : STORE_OPEN;
	if (end.uncounted)
		marks |= STORE_UNCOUNTED;
	item->rare.marks |= (uint16_t)(marks << MARKS_SHIFT);
	lane_close(l);
	k->spans++;
	if (end.ts > now)
		k->facts |= STORE_LAPS;
	k->last = end.ts > k->last ? end.ts : k->last;
	ties_end(t, end.ts < now ? end.ts : now);
	return true;
}

/* Ends SPANs that are over, for a row that is no call. */
static bool spans_past(struct store_worker *k, struct growing_track *t, struct pair_stack *s,
		       int64_t ts)
{
	while (s->n && (s->frames[s->n - 1].flags & PAIR_SPAN) && s->frames[s->n - 1].end <= ts) {
		const struct pair_frame *f = pair_pop(s);

		if (!span_end(k, t, s, f, (struct walk_end){ .ts = f->end }, ts, NULL))
			return false;
	}
	return true;
}

/* The slow path: any row. */
static bool row_step(struct store_worker *k, struct growing_track *t, const struct spur_event *row)
{
	struct pair_stack *s = pair_stack(&k->pair, row->track);
	const struct pair_frame *f;
	struct growing_lane *l;
	struct walk_end e;
	uint32_t inner = 0;

	if (!s)
		return false;
	if (row_is_of_states(row) && !states_row(k, t, row))
		return false;
	if (!walk_takes(row))
		return spans_past(k, t, s, row->ts) && event_add(k, t, s->n, row);
	while ((f = walk_due(s, row, &e)))
		if (!span_end(k, t, s, f, e, row->ts, NULL))
			return false;
	if (walk_opens(s, row)) {
		if (!walk_push(s, row))
			return false;
		l = lane_at(k, row->track, s->n - 1);
		if (!l || !lane_room(k, l) ||
		    (row->kind != SPUR_SWITCH && !calls_push(k, row->track, row->cls, &inner)))
			return false;
		slot_begin(lane_open(l), row, ties_at(t, row->ts), STORE_SPAN, inner);
		return true;
	}
	f = walk_match(s, row);
	if (f)
		return span_end(k, t, s, f, (struct walk_end){ .ts = row->ts }, row->ts, row);
	return event_add(k, t, s->n, row);
}

/* Returns what is kept of a track, made if needed; NULL if out of memory. */
static struct growing_track *track_at(struct store_worker *k, uint32_t id)
{
	struct growing_track *t;

	if (id >= k->ntracks && !mem_grow((void **)&k->tracks, &k->ntracks, (size_t)id + 1,
					  sizeof(struct growing_track *), PAIR_TRACKS))
		return NULL;
	t = k->tracks[id];
	if (!t) {
		t = k->tracks[id] = slabs_alloc(&k->slabs, sizeof(*t));
		if (!t)
			return NULL;
		t->last = t->tie = INT64_MIN;
	}
	if (t->touched)
		return t;
	if (!mem_grow((void **)&k->touched, &k->touched_cap, k->ntouched + 1, sizeof(*k->touched),
		      PAIR_TRACKS))
		return NULL;
	k->touched[k->ntouched++] = id;
	t->touched = true;
	return t;
}

static void view_store(struct store_worker *k)
{
	struct rows_view *v = &k->view;

	if (v->track)
		fit_store(k->pair.stacks[v->id], v->fit.next);
	v->track = NULL;
}

static bool view_load(struct store_worker *k, const struct spur_event *row)
{
	struct rows_view *v = &k->view;
	struct growing_track *t = track_at(k, row->track);
	struct pair_stack *s;

	if (!t)
		return false;
	s = pair_stack(&k->pair, row->track);
	if (!s || (!s->cap && !pair_grow_frames(s, 1)))
		return false;
	*v = (struct rows_view){
		.fit = fit_load(s, row), .track = t, .frames = s->frames, .id = row->track
	};
	return true;
}

/* Makes the buffer of a lane (NULL: none) as small as may be. `open`: it has an open item. */
static bool buffer_flush(struct store_worker *k, struct growing_lane *l, bool open)
{
	struct slot rest;

	if (!l || !l->cap)
		return true;
	if (!lane_flush(k, l))
		return false;
	rest = l->buf[0];
	lane_drop_buffer(k, l);
	if (!open)
		return true;
	if (!lane_room(k, l))
		return false;
	l->buf[0] = rest;
	return true;
}

/* Makes the buffers of all lanes as small as may be, when together they are too large. */
static bool buffers_flush(struct store_worker *k)
{
	for (size_t i = 0; i < k->ncounters; i++) {
		if (!lane_flush(k, k->counters[i]))
			return false;
		lane_drop_buffer(k, k->counters[i]);
	}
	k->ncounters = 0;
	for (size_t i = 0; i < k->ntouched; i++) {
		struct growing_track *t = k->tracks[k->touched[i]];
		const struct pair_stack *s = pair_at(&k->pair, k->touched[i]);
		const size_t open = s ? s->n : 0;

		for (size_t d = 0; d < t->nlanes; d++)
			if (!buffer_flush(k, t->lanes[d], d < open))
				return false;
		if (!buffer_flush(k, t->states, true))
			return false;
	}
	k->buffered_least = k->buffered;
	return true;
}

/* Begins the span of a BEGIN that fits; false: the slow path must. */
static inline __attribute__((always_inline)) bool
fast_begin(struct store_worker *k, struct rows_view *v, const struct spur_event *row)
{
	struct growing_track *t = v->track;
	const size_t depth = (size_t)(v->fit.next - v->frames);
	struct open_calls *calls = calls_at_hand(k, v->id, row->cls);
	struct growing_lane *l;

	if (unlikely(!fit_has_room(&v->fit) || depth >= t->nlanes || !calls))
		return false;
	l = t->lanes[depth];
	if (unlikely(!l || l->n >= l->cap))
		return false;
	fit_push(&v->fit, row, 0);
	slot_begin(&l->buf[l->n], row, ties_at(t, row->ts), STORE_SPAN, calls->open++);
	return true;
}

/* Ends the topmost span by an END that fits; false: the slow path must. */
static inline __attribute__((always_inline)) bool
fast_end(struct store_worker *k, struct rows_view *v, const struct spur_event *row)
{
	const struct pair_frame *f = v->fit.next - 1;
	struct open_calls *calls = calls_at_hand(k, v->id, row->cls);
	struct growing_lane *l;
	struct slot *s;
	uint64_t length;

	if (unlikely(!fit_matches(&v->fit, row) || !calls))
		return false;
	calls->open--;
	length = walk_length(f, row->ts);
	fit_pop(&v->fit, length);
	l = v->track->lanes[v->fit.next - v->frames];
	s = lane_open(l);
	slot_plain_end(s, length, (uint64_t)f->child, row->flags);
	if (row->nargs)
		slot_end_row(s, row);
	lane_close(l);
	ties_end(v->track, row->ts);
	return true;
}

bool store_worker_rows(struct store_worker *k, const struct spur_event *row, size_t n)
{
	const struct spur_event *end = row + n;
	struct rows_view *v = &k->view;
	uint64_t bits, ended = 0;

	for (; row < end; row++) {
		if (unlikely(!v->track || row->track != v->id)) {
			view_store(k);
			if (!view_load(k, row))
				return false;
		}
		v->track->last = row->ts;
		bits = fit_bits(&v->fit, row);
		if (bits == v->fit.begin) {
			if (likely(fast_begin(k, v, row)))
				continue;
		} else if (likely(fit_is_end(&v->fit, bits))) {
			if (likely(fast_end(k, v, row))) {
				ended++;
				continue;
			}
		}
		view_store(k);
		if (!row_step(k, track_at(k, row->track), row))
			return false;
		/* Flushing again frees nothing that open items need, as of a deep stack. */
		if (unlikely(k->buffered > BUFFERED_MAX + k->buffered_least) && !buffers_flush(k))
			return false;
	}
	view_store(k);
	k->spans += ended;
	return true;
}

bool store_worker_row(struct store_worker *k, const struct spur_event *row,
		      const struct spur_args *args)
{
	bool good;

	k->given = args;
	good = store_worker_order(k, row, 1) && store_worker_rows(k, row, 1);
	k->given = NULL;
	return good;
}

bool store_worker_pass(struct store_worker *k, uint32_t track, int64_t now)
{
	struct growing_track *const t = track_at(k, track);
	struct pair_stack *const s = pair_at(&k->pair, track);

	return t && (!s || spans_past(k, t, s, now));
}

/* --- feeds --- */

bool store_worker_begin(struct store_worker *k, const struct feed *f)
{
	ends_begin(&k->ends, writer_trace(k->writer));
	k->feed = f ? f->id : 0;
	k->feed_row = INT64_MIN;
	k->late = false;
	if (writer_trace(k->writer)->tracks_shared)
		k->facts |= STORE_SHARED;
	return true;
}

bool store_worker_order(struct store_worker *k, const struct spur_event *rows, size_t n)
{
	int64_t first = k->first, last = k->last_row, before = k->feed_row;
	bool back = false;

	for (size_t i = 0; i < n; i++) {
		first = rows[i].ts < first ? rows[i].ts : first;
		last = rows[i].ts > last ? rows[i].ts : last;
		back |= rows[i].ts < before;
		before = rows[i].ts;
	}
	k->feed_row = before;
	k->facts |= back ? STORE_BACK : 0;
	k->first = first;
	k->last_row = last;
	k->last = last > k->last ? last : k->last;
	k->rows += n;
	return ends_rows(&k->ends, rows, n);
}

/* Ends what is open on a track when its feed ends. */
static bool track_end(struct store_worker *k, uint32_t id)
{
	struct growing_track *t = k->tracks[id];
	struct pair_stack *s = pair_at(&k->pair, id);
	const struct pair_frame *f;
	struct walk_end e;
	int64_t last = ends_of(&k->ends, id);

	/* The last row of all may be a late one of another thread. */
	if (k->late && t->last > last)
		last = t->last;
	while (s && (f = walk_rest(s, last, &e)))
		if (!span_end(k, t, s, f, e, INT64_MAX, NULL))
			return false;
	for (size_t d = 0; d < t->nlanes; d++) {
		if (!t->lanes[d])
			continue;
		if (!lane_flush(k, t->lanes[d]))
			return false;
		lane_sums_drop(k, t->lanes[d]);
		lane_drop_buffer(k, t->lanes[d]);
	}
	t->touched = false;
	return states_end(k, t, last);
}

bool store_worker_end(struct store_worker *k)
{
	for (size_t i = 0; i < k->ntouched; i++)
		if (!track_end(k, k->touched[i]))
			return false;
	for (size_t i = 0; i < k->ncounters; i++) {
		if (!lane_flush(k, k->counters[i]))
			return false;
		lane_drop_buffer(k, k->counters[i]);
	}
	k->ntouched = k->ncounters = 0;
	pair_clear(&k->pair);
	map64_free(&k->parked);
	return worker_write(k);
}

void store_worker_late(struct store_worker *k)
{
	k->late = true;
}

bool store_worker_flush(struct store_worker *k)
{
	return buffers_flush(k) && worker_write(k);
}
