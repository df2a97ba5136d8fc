/*
 * What writers need of a row: the place and ticks of its record, and the schema of its class.
 *
 * The ticks of a function record are a sum that begins with its buffer. A cursor for each thread
 * reads the thread's records once more, a row at a time, as far as the row that is asked for.
 */
#include "format/xray/fdr.h"

#include "base/mem.h"
#include "base/spool.h"
#include "model/class.h"
#include "model/schema.h"

/* --- place --- */

void xray_place(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place)
{
	place->raw = xray_raw(t->state, ev);
}

/* --- ticks --- */

/* Reads a thread's buffers on its own. */
struct cursor {
	struct xray_thread thread;
	struct xray_feed xf;
	struct feed feed;
	struct spur_event row; /* the last one */
	const struct xray_range *of; /* whose buffers it reads */
};

struct xray_cursors {
	pthread_mutex_t lock;
	struct cursor **list; /* by range; NULL: not needed yet */
	struct cursor *last; /* the one that was needed last, or NULL */
	struct spool spool; /* of the cursors, since there may be very many threads */
	struct spool_seq seq;
};

static void cursor_close(struct cursor *c)
{
	xray_held_free(c->xf.held);
	mem_free(c->xf.forked);
	diag_free(&c->feed.diag);
}

void xray_cursors_close(struct xray *x)
{
	struct xray_cursors *all = x->cursors;

	if (!all)
		return;
	for (size_t i = 0; i < x->nranges; i++)
		if (all->list[i])
			cursor_close(all->list[i]);
	pthread_mutex_destroy(&all->lock);
	spool_free(&all->spool);
	mem_free(all->list);
	mem_free(all);
	x->cursors = NULL;
}

/* The trace's cursors, made at the first call. Returns NULL if out of memory. */
static struct xray_cursors *cursors_get(struct xray *x)
{
	struct xray_cursors *all = __atomic_load_n(&x->cursors, __ATOMIC_ACQUIRE);

	if (all)
		return all;
	pthread_mutex_lock(&x->t->lock);
	all = x->cursors;
	if (!all) {
		all = mem_alloc(sizeof(*all));
		if (all)
			all->list = mem_array(x->nranges, sizeof(struct cursor *));
		if (all && (!all->list || pthread_mutex_init(&all->lock, NULL) != 0)) {
			mem_free(all->list);
			mem_free(all);
			all = NULL;
		}
		if (all)
			spool_init(&all->spool);
		__atomic_store_n(&x->cursors, all, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&x->t->lock);
	return all;
}

/* To the first record of a buffer of the thread, with nothing known of what is before. */
static void cursor_seek(struct cursor *c, const struct xray *x, size_t buffer)
{
	struct xray_held *held = c->xf.held;
	struct spur_event *forked = c->xf.forked;
	const size_t cap = c->xf.forked_cap;

	assert(buffer >= c->of->first && buffer < c->of->last);
	c->thread = xray_range_thread(x, c->of);
	c->thread.before = buffer > c->of->first;
	c->xf = (struct xray_feed){ .thread = &c->thread,
				    .sought = true,
				    .next = buffer,
				    .last = c->of->last,
				    .stop = c->of->last,
				    .held = held,
				    .forked = forked,
				    .forked_cap = cap };
	/* Rows in ticks. */
	ticks_init(&c->xf.ticks, x->hz, true);
}

static struct cursor *cursor_new(struct xray *x, struct xray_cursors *all,
				 const struct xray_range *range)
{
	struct cursor *c;

	if (range->first == range->last)
		return NULL;
	c = (struct cursor *)spool_room(&all->spool, &all->seq, sizeof(*c));
	if (!c)
		return NULL;
	spool_add(&all->seq, sizeof(*c));
	*c = (struct cursor){ .of = range };
	diag_init(&c->feed.diag);
	c->feed.state = &c->xf;
	cursor_seek(c, x, range->first);
	all->list[range - x->ranges] = c;
	return c;
}

/* The thread's cursor. Returns NULL if it has no buffers, or if out of memory. */
static struct cursor *cursor_of(struct xray *x, struct xray_cursors *all, uint32_t track)
{
	const struct xray_range *range;

	if (all->last && all->last->of->track == track)
		return all->last;
	range = xray_range_of(x, track);
	if (!range)
		return NULL;
	all->last = all->list[range - x->ranges];
	if (!all->last)
		all->last = cursor_new(x, all, range);
	return all->last;
}

/* The thread's next row. Returns false at its end, or if out of memory. */
static bool cursor_next(struct cursor *c, struct xray *x)
{
	struct batch b = { .rows = &c->row, .cap = 1 };

	return xray_fdr_next(x, &c->feed, &b) == SPUR_OK;
}

/*
 * Reads on to the row of a record, at most to the end of buffer `last`. Returns false if it does
 * not come. Calls that a fork left open begin again with the place of their first beginning; they
 * are not the row looked for.
 */
static bool cursor_reach(struct cursor *c, struct xray *x, const struct spur_event *ev, size_t last)
{
	while (cursor_next(c, x)) {
		const bool forked = c->row.kind == SPUR_BEGIN && (c->row.flags & SPUR_F_RETIMED) &&
				    !(c->row.flags & SPUR_F_BACK);

		if (c->row.off == ev->off && c->row.kind == ev->kind && !forked)
			return true;
		if (c->xf.next > last + 1)
			return false;
	}
	return false;
}

/* Returns the thread's buffer that holds the byte, or one past the last buffer. */
static size_t buffer_of(const struct xray *x, const struct cursor *c, uint64_t off)
{
	const struct xray_buffer *list = x->list.items;
	size_t i = c->of->first;

	/* Most often it is the one being read, or the next. */
	if (c->xf.next > i && off >= list[c->xf.next - 1].off && off < list[c->xf.next - 1].end)
		return c->xf.next - 1;
	if (c->xf.next < c->of->last && off >= list[c->xf.next].off && off < list[c->xf.next].end)
		return c->xf.next;
	while (i < c->of->last && (off < list[i].off || off >= list[i].end))
		i++;
	return i;
}

/* The row has the time of these ticks, as far as its time tells. */
static bool ticks_fit(const struct xray *x, const struct spur_event *ev, uint64_t ticks)
{
	struct ticks k;

	if (ev->flags & SPUR_F_BACK)
		return true;
	ticks_init(&k, x->hz, x->t->clock.ticks || !x->hz);
	return ticks_ns(&k, ticks) == ev->ts;
}

/*
 * SPEC xray/raw-ticks: a buffer of version 2 or later says when it began; versions 2 and 3 need the
 * thread's buffer before too, for what they count twice. After damage, and in version 1, all of
 * the thread's records may matter.
 */
static bool cursor_ticks(struct cursor *c, struct xray *x, const struct spur_event *ev,
			 uint64_t *ticks)
{
	const size_t at = buffer_of(x, c, ev->off);
	const bool ahead = c->xf.open && c->xf.next == at + 1 && c->xf.pos <= ev->off;
	size_t from = x->version == 1 ? c->of->first : at;

	if (at == c->of->last)
		return false;
	if ((x->version == 2 || x->version == 3) && from > c->of->first)
		from--;
	if (!ahead && !(c->xf.next == at && !c->xf.open && at > c->of->first))
		cursor_seek(c, x, from);
	if (cursor_reach(c, x, ev, at) && ticks_fit(x, ev, c->thread.base)) {
		*ticks = c->thread.base;
		return true;
	}
	cursor_seek(c, x, c->of->first);
	*ticks = cursor_reach(c, x, ev, at) ? c->thread.base : UINT64_MAX;
	return *ticks != UINT64_MAX && ticks_fit(x, ev, *ticks);
}

/*
 * By the row's time alone, if ticks are not shorter than a ns: the least number that is not before
 * it. Returns false if several ticks have that time, or the row's time is not its record's.
 */
static bool ticks_of_time(const struct xray *x, const struct spur_event *ev, uint64_t *ticks)
{
	const unsigned __int128 ns_hz = 1000000000;
	const uint64_t ts = (uint64_t)ev->ts;

	if ((ev->flags & SPUR_F_BACK) || x->hz > ns_hz || ev->ts < 0 || ev->ts == INT64_MAX) {
		*ticks = ts;
		return x->t->clock.ticks && !(ev->flags & SPUR_F_BACK);
	}
	*ticks = x->t->clock.ticks || !x->hz
			 ? ts
			 : (uint64_t)(((unsigned __int128)ts * x->hz + ns_hz - 1) / ns_hz);
	return true;
}

/* SPEC xray/raw-ticks: such a row has none. */
static bool time_is_estimated(const struct spur_event *ev)
{
	return (ev->flags & (SPUR_F_RETIMED | SPUR_F_BACK)) == SPUR_F_RETIMED;
}

/* Of a record whose ticks are a sum with those before. */
static bool summed_ticks(struct xray *x, const struct spur_event *ev, uint64_t *ticks)
{
	struct xray_cursors *all;
	struct cursor *c;
	bool found;

	if (time_is_estimated(ev))
		return false;
	if (ticks_of_time(x, ev, ticks))
		return true;
	if (x->stored)
		return false;
	all = cursors_get(x);
	if (!all)
		return false;
	pthread_mutex_lock(&all->lock);
	c = cursor_of(x, all, ev->track);
	found = c && cursor_ticks(c, x, ev, ticks);
	pthread_mutex_unlock(&all->lock);
	return found;
}

static bool fdr_ticks(struct xray *x, const struct spur_event *ev, const uint8_t *p,
		      uint64_t *ticks)
{
	const int kind = xray_meta(x, p);

	if (kind < 0)
		return ev->len >= XRAY_FUNCTION && summed_ticks(x, ev, ticks);
	if (ev->len < XRAY_METADATA)
		return false;
	switch (kind) {
	case META_NEW_CPU:
		*ticks = load64(p + XRAY_CPU_AT_TICKS, x->swap);
		return true;
	case META_TSC_WRAP:
		*ticks = load64(p + XRAY_META_AT_DATA, x->swap);
		return true;
	case META_CUSTOM:
	case META_TYPED:
		if (ev->kind != SPUR_INSTANT || time_is_estimated(ev))
			return false;
		*ticks = load64(p + XRAY_EVENT_AT_TICKS, x->swap);
		return x->version < 5 || summed_ticks(x, ev, ticks);
	default:
		return false;
	}
}

bool xray_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2])
{
	struct xray *x = t->state;
	const uint8_t *p = xray_raw(x, ev);
	bool found = false;

	if (!p || ev->cls == x->own[XRAY_CLASS_HEADER] || ev->cls == x->own[XRAY_CLASS_REPEATED])
		return false;
	if (x->mode == XRAY_FDR) {
		found = fdr_ticks(x, ev, p, &ticks[0]);
	} else if (x->mode == XRAY_BASIC && ev->kind != SPUR_NATIVE) {
		ticks[0] = load64(p + XRAY_BASIC_AT_TICKS, x->swap);
		found = true;
	}
	ticks[1] = ticks[0];
	return found;
}

/* --- schemas --- */

static struct spur_field number(const struct xray *x, enum xray_name name, enum spur_type type,
				uint32_t bits)
{
	return (struct spur_field){ .name = x->names[name],
				    .type = (uint8_t)type,
				    .is_signed = type == SPUR_I64,
				    .bits = bits };
}

/* SPEC xray/schema: a stack with its sums */
static bool schema_of_stack(struct xray *x, struct spur_schema *s)
{
	struct spur_field *element = arena_alloc(&x->t->arena, sizeof(*element));
	struct spur_field *f = element ? schema_fields(&x->t->arena, s, 3) : NULL;

	if (!f)
		return false;
	*element = (struct spur_field){ .type = SPUR_STRING };
	f[0] = number(x, NAME_CALLS, SPUR_U64, 64);
	f[1] = number(x, NAME_TICKS, SPUR_I64, 64);
	f[2] = (struct spur_field){
		.name = x->names[NAME_STACK], .type = SPUR_ARRAY, .nitems = 1, .items = element
	};
	return true;
}

/* SPEC xray/schema: whether a function has arguments, and how many, only its calls tell */
static bool schema_of_function(struct xray *x, struct spur_schema *s)
{
	struct spur_field *f = schema_fields(&x->t->arena, s, 1);

	if (!f)
		return false;
	f[0] = number(x, NAME_ARG1, SPUR_U64, 64);
	f[0].show = SPUR_SHOW_AUTO;
	f[0].optional = true;
	s->open = true;
	return true;
}

/*
 * SPEC xray/schema: a payload is text in one event and bytes in another; a typed event has its type
 * before it
 */
static bool schema_of_event(struct xray *x, struct spur_schema *s, bool typed)
{
	struct spur_field *f = schema_fields(&x->t->arena, s, typed ? 2 : 1);

	if (!f)
		return false;
	if (typed)
		f[0] = number(x, NAME_TYPE, SPUR_U64, 16);
	f[typed] = (struct spur_field){ .name = x->names[NAME_DATA],
					.type = SPUR_NULL,
					.optional = true };
	return true;
}

static bool is_builtin(const struct xray *x, const struct event_class *cls)
{
	for (size_t i = 0; i < XRAY_CLASSES; i++)
		if (i != XRAY_CLASS_OTHERS && trace_class(x->t, x->own[i]) == cls)
			return true;
	return false;
}

const struct spur_schema *xray_schema(struct spur_trace *t, const struct event_class *cls)
{
	struct xray *x = t->state;
	struct spur_schema *s = arena_alloc(&t->arena, sizeof(*s));
	bool good = s != NULL;

	if (!good)
		return NULL;
	*s = (struct spur_schema){ 0 };
	if (cls == trace_class(t, x->own[XRAY_CLASS_META + META_CUSTOM]))
		good = schema_of_event(x, s, false);
	else if (is_builtin(x, cls))
		good = true;
	else if (cls->flags & CLASS_EVENT)
		good = schema_of_event(x, s, true);
	else if (x->mode == XRAY_PROFILE)
		good = schema_of_stack(x, s);
	else
		good = schema_of_function(x, s);
	return good ? s : NULL;
}
