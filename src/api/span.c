/*
 * Pairing: rows in, spans out. The call-stack machine (flow/pair.h) decides what ends what, as in
 * all analyses; here each frame that ends becomes a span.
 */
#include "api/api.h"
#include "base/map64.h"
#include "flow/ends.h"
#include "flow/walk.h"

enum { SPANS_MOST = 1 << 28 };

/* What a frame does not hold, at the frame's place. */
struct opened {
	uint64_t id; /* 0: its BEGIN is not in the data */
	uint32_t name, cat;
};

/* Of a track, in pair_stack.user. */
struct opened_list {
	struct opened *items;
	size_t cap;
	struct map64 heads; /* head of classes -> its frames on the stack */
};

struct spur_pairing {
	struct spur_trace *trace;
	struct pair pair;
	struct ends ends;
	struct spur_span *spans; /* of the latest call */
	size_t n, cap;
	uint64_t last_id;
	uint32_t low, high; /* tracks with rows since the last end; low > high: none */
	bool ending;
	bool failed; /* out of memory: spans are missing */
};

static void opened_free(struct pair_stack *s)
{
	struct opened_list *list = s->user;

	if (list) {
		mem_free(list->items);
		map64_free(&list->heads);
	}
	mem_free(list);
	s->user = NULL;
}

/* The class that calls inside calls of the same function share; 0: time off the CPU. */
static uint32_t frame_head(const struct spur_pairing *p, const struct pair_frame *f)
{
	return f->flags & PAIR_SCHED || !f->cls ? 0 : trace_class(p->trace, f->cls)->head;
}

/* Notes the row whose frame is on top. Returns false if out of memory. */
static bool opened_note(struct spur_pairing *p, struct pair_stack *s, const struct spur_event *row)
{
	struct opened_list *list = s->user;
	struct map64_slot *slot;

	if (!list)
		s->user = list = mem_alloc(sizeof(*list));
	if (!list || !mem_grow((void **)&list->items, &list->cap, s->n, sizeof(*list->items),
			       PAIR_DEPTH))
		return false;
	slot = map64_put(&list->heads, frame_head(p, &s->frames[s->n - 1]));
	if (!slot)
		return false;
	slot->value++;
	list->items[s->n - 1] =
		(struct opened){ .id = ++p->last_id, .name = row->name, .cat = row->cat };
	return true;
}

/* A frame was popped. Returns true if others of its function are still open. */
static bool opened_forget(const struct spur_pairing *p, const struct opened_list *list,
			  const struct pair_frame *f)
{
	struct map64_slot *slot = map64_find(&list->heads, frame_head(p, f));

	assert(slot && slot->value);
	return --slot->value > 0;
}

static struct spur_span *span_add(struct spur_pairing *p)
{
	if (!mem_grow((void **)&p->spans, &p->cap, p->n + 1, sizeof(*p->spans), SPANS_MOST))
		return NULL;
	p->spans[p->n] = (struct spur_span){ 0 };
	return &p->spans[p->n++];
}

static int64_t clamp(uint64_t length)
{
	return length > INT64_MAX ? INT64_MAX : (int64_t)length;
}

/*
 * Returns the number of the innermost frame's span, or 0 if no frame is open or the data lacks its
 * BEGIN.
 */
static uint64_t innermost_id(const struct pair_stack *s)
{
	const struct opened_list *list = s->user;

	if (!s->n || (s->frames[s->n - 1].flags & PAIR_MISSING))
		return 0;
	return list->items[s->n - 1].id;
}

static uint32_t span_flags(const struct spur_pairing *p, const struct pair_frame *f,
			   struct walk_end e)
{
	uint32_t flags = f->flags & PAIR_SCHED ? SPUR_SPAN_OFF_CPU : 0;

	if (e.unfinished)
		flags |= p->ending ? SPUR_SPAN_OPEN : SPUR_SPAN_IMPLIED;
	return e.uncounted ? flags | SPUR_SPAN_NO_END : flags;
}

/* A frame was popped. Returns false if out of memory. */
static bool frame_end(struct spur_pairing *p, struct pair_stack *s, uint32_t track,
		      const struct pair_frame *f, struct walk_end e)
{
	const struct opened_list *list = s->user;
	const uint64_t length = walk_length(f, e.ts);
	struct spur_span *span;
	bool recursive;

	walk_credit(s, f, e.ts);
	if (f->flags & PAIR_MISSING)
		return true;
	span = span_add(p);
	if (!span)
		return false;
	assert(list && s->n < list->cap);
	recursive = opened_forget(p, list, f);
	*span = (struct spur_span){ .begin = f->ts,
				    .end = e.ts,
				    .id = list->items[s->n].id,
				    .parent = innermost_id(s),
				    .track = track,
				    .cls = f->cls,
				    .name = list->items[s->n].name,
				    .cat = list->items[s->n].cat,
				    .depth = (uint32_t)s->calls,
				    .flags = span_flags(p, f, e) |
					     (recursive ? SPUR_SPAN_RECURSIVE : 0u) };
	if (!e.uncounted) {
		span->dur = clamp(length);
		span->self = clamp(walk_self(f, length));
	}
	return true;
}

/* An END without BEGIN. */
static bool lone_end(struct spur_pairing *p, const struct pair_stack *s,
		     const struct spur_event *row)
{
	struct spur_span *span = span_add(p);

	if (!span)
		return false;
	*span = (struct spur_span){ .begin = row->ts,
				    .end = row->ts,
				    .parent = innermost_id(s),
				    .track = row->track,
				    .cls = row->cls,
				    .name = row->name,
				    .cat = row->cat,
				    .depth = (uint32_t)s->calls,
				    .flags = SPUR_SPAN_NO_BEGIN };
	return true;
}

static bool read_row(struct spur_pairing *p, const struct spur_event *row)
{
	struct pair_stack *s = pair_stack(&p->pair, row->track);
	const struct pair_frame *f;
	struct walk_end e;

	if (!s)
		return false;
	p->low = row->track < p->low ? row->track : p->low;
	p->high = row->track > p->high ? row->track : p->high;
	while ((f = walk_due(s, row, &e)))
		if (!frame_end(p, s, row->track, f, e))
			return false;
	if (walk_opens(s, row))
		return walk_push(s, row) && opened_note(p, s, row);
	f = walk_match(s, row);
	if (f)
		return frame_end(p, s, row->track, f, (struct walk_end){ .ts = row->ts });
	return row->kind != SPUR_END_SPAN || lone_end(p, s, row);
}

static bool read_rows(struct spur_pairing *p, const struct spur_event *rows, size_t n)
{
	if (n && !ends_rows(&p->ends, rows, n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (walk_takes(&rows[i]) && !read_row(p, &rows[i]))
			return false;
	return true;
}

static bool end_track(struct spur_pairing *p, uint32_t track)
{
	struct pair_stack *s = pair_at(&p->pair, track);
	const struct pair_frame *f;
	struct walk_end e;

	while (s && (f = walk_rest(s, ends_of(&p->ends, track), &e)))
		if (!frame_end(p, s, track, f, e))
			return false;
	if (s)
		opened_free(s);
	return true;
}

static bool end_tracks(struct spur_pairing *p)
{
	bool good = true;

	p->ending = true;
	for (size_t track = p->low; good && track <= p->high; track++)
		good = end_track(p, (uint32_t)track);
	p->ending = false;
	if (good)
		pair_clear(&p->pair);
	p->low = UINT32_MAX;
	p->high = 0;
	ends_begin(&p->ends, p->trace);
	return good;
}

enum spur_status spur_pairing_new(struct spur_pairing **out, struct spur_trace *t,
				  struct spur_error *err)
{
	uint64_t *charged;

	if (out)
		*out = NULL;
	if (!out || !t)
		return api_misuse(t, err, "spur_pairing_new: expected %s, found NULL",
				  out ? "a trace" : "a place for the pairing");
	charged = mem_charge(&t->mem_failures);
	*out = mem_alloc(sizeof(**out));
	mem_charge(charged);
	if (!*out)
		return api_no_memory(t, err);
	(*out)->trace = t;
	(*out)->low = UINT32_MAX;
	ends_begin(&(*out)->ends, t);
	return SPUR_OK;
}

/* Empties what the caller gets. Returns false if an argument is not given. */
static bool begin_call(const char *call, struct spur_pairing *p, const struct spur_span **spans,
		       size_t *count)
{
	const struct spur_trace *t = p ? p->trace : NULL;

	if (!api_given(NULL, call, p, "a pairing") ||
	    !api_given(t, call, spans, "a place for spans") ||
	    !api_given(t, call, count, "a place for the number of spans"))
		return false;
	*spans = NULL;
	*count = 0;
	p->n = 0;
	return true;
}

static enum spur_status end_call(struct spur_pairing *p, bool good, const struct spur_span **spans,
				 size_t *count)
{
	p->failed |= !good;
	if (p->failed)
		return api_no_memory(p->trace, NULL);
	*spans = p->n ? p->spans : NULL;
	*count = p->n;
	return SPUR_OK;
}

enum spur_status spur_pairing_rows(struct spur_pairing *p, const struct spur_event *rows, size_t n,
				   const struct spur_span **spans, size_t *count)
{
	static const char call[] = "spur_pairing_rows";
	uint64_t *charged;
	size_t tracks, classes;
	bool good;

	if (!begin_call(call, p, spans, count) || (n && !api_given(p->trace, call, rows, "rows")))
		return SPUR_FAIL;
	tracks = trace_track_count(p->trace);
	classes = trace_class_count(p->trace);
	for (size_t i = 0; i < n; i++)
		if ((rows[i].track >= tracks || rows[i].cls >= classes) && walk_takes(&rows[i]))
			return api_misuse(p->trace, NULL,
					  "%s: row %zu: expected one of this trace, "
					  "found track %u, class %u",
					  call, i, rows[i].track, rows[i].cls);
	charged = mem_charge(&p->trace->mem_failures);
	good = !p->failed && read_rows(p, rows, n);
	mem_charge(charged);
	return end_call(p, good, spans, count);
}

enum spur_status spur_pairing_end(struct spur_pairing *p, const struct spur_span **spans,
				  size_t *count)
{
	uint64_t *charged;
	bool good;

	if (!begin_call("spur_pairing_end", p, spans, count))
		return SPUR_FAIL;
	charged = mem_charge(&p->trace->mem_failures);
	good = !p->failed && end_tracks(p);
	mem_charge(charged);
	return end_call(p, good, spans, count);
}

void spur_pairing_free(struct spur_pairing *p)
{
	if (!p)
		return;
	for (struct pair_stack *s = p->pair.used; s; s = s->next)
		opened_free(s);
	pair_free(&p->pair);
	ends_free(&p->ends);
	mem_free(p->spans);
	mem_free(p);
}
