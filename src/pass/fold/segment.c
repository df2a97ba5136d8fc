/* See segment.h. */
#include "pass/fold/segment.h"

#include "pass/fold/lend.h"

enum { FRAMES_MAX = 1 << 16 /* that are open between two parts; more are odd */ };

void *segment_new(const void *worker, const struct feed *f, bool first)
{
	const struct calls *of = worker;
	struct calls *w = mem_alloc(sizeof(*w));

	if (!w)
		return NULL;
	*w = (struct calls){ .trace = of->trace, .by = of->by, .want = of->want };
	if (!first)
		w->segment = mem_alloc(sizeof(*w->segment));
	if (calls_begin(w, f) && (first || w->segment))
		return w;
	segment_free(w);
	return NULL;
}

void segment_free(void *part)
{
	struct calls *w = part;

	if (w->segment) {
		mem_free(w->segment->ends);
		mem_free(w->segment->outers);
		mem_free(w->segment);
	}
	calls_free(w, 1);
}

/* The calls around that of a BEGIN or END row with a depth, and that of an END itself. */
static uint32_t calls_before(const struct spur_event *row)
{
	return row->depth + (row->kind == SPUR_END_SPAN ? 1u : 0);
}

bool segment_begin(struct calls *w, const struct spur_event *row)
{
	struct segment *g = w->segment;
	struct pair_stack *s;

	g->begun = true;
	g->by_depth = row->flags & SPUR_F_DEPTH;
	if (!g->by_depth)
		return true;
	g->odd = row->kind > SPUR_END_SPAN || row->depth == UINT16_MAX;
	g->base = g->odd ? 0 : calls_before(row);
	if (!g->base)
		return true;
	s = pair_stack(&w->pair, row->track);
	return s && pair_fill(s, g->base, row->ts);
}

/* Notes what the calls of a head took so far that are in no other call of it. */
static bool outers_add(struct calls *w, uint32_t cls)
{
	struct segment *g = w->segment;
	const uint32_t head = calls_head(w, cls);

	for (uint32_t key = 1; key < w->nstats; key++) {
		const struct call_stat *st = &w->stats[key];

		if (st->sum == st->inner || calls_head(w, key) != head)
			continue;
		if (!mem_grow((void **)&g->outers, &g->outers_cap, g->nouters + 1,
			      sizeof(*g->outers), SIZE_MAX / 2))
			return false;
		g->outers[g->nouters++] = (struct segment_outer){ .end = g->nends,
								  .key = key,
								  .ns = st->sum - st->inner };
	}
	return true;
}

/* The frame of the innermost call before the part, or what stands for it; NULL: no call came. */
static struct pair_frame *ground_of(const struct segment *g, const struct pair_stack *s)
{
	return s->frames ? s->frames + g->base - 1 : NULL;
}

static bool end_add(struct calls *w, struct pair_stack *s, const struct spur_event *row)
{
	struct segment *g = w->segment;
	struct pair_frame *ground = ground_of(g, s);

	/* What the reader summed belongs to the calls before this END, too. */
	if (!calls_settle(w) || !outers_add(w, row->cls) ||
	    !mem_grow((void **)&g->ends, &g->ends_cap, g->nends + 1, sizeof(*g->ends),
		      SEGMENT_ENDS))
		return false;
	g->ends[g->nends++] = (struct segment_end){ .ts = row->ts,
						    .child = ground ? ground->child : 0,
						    .cls = row->cls,
						    .flags = row->flags };
	if (ground)
		ground->child = 0;
	if (g->base) {
		assert(s->n == g->base && s->n == s->calls);
		pair_pop(s);
		g->base--;
	}
	return true;
}

/* The same for rows with depths. */
static enum segment_row take_by_depth(struct calls *w, struct pair_stack *s,
				      const struct spur_event *row)
{
	struct segment *g = w->segment;

	if (row->kind == SPUR_SWITCH && !row_ends_thread(row))
		return SEGMENT_OWN;
	g->odd = row->kind > SPUR_END_SPAN || !(row->flags & SPUR_F_DEPTH) ||
		 calls_before(row) != s->calls;
	if (g->odd)
		return SEGMENT_TAKEN;
	if (row->kind == SPUR_BEGIN || s->calls > g->base)
		return SEGMENT_OWN;
	/* No call ends while its thread is off the CPU. */
	g->odd = g->nends == SEGMENT_ENDS || w->nstats > SEGMENT_KEYS || s->n > s->calls || !s->n;
	return g->odd || end_add(w, s, row) ? SEGMENT_TAKEN : SEGMENT_FAIL;
}

enum segment_row segment_take(struct calls *w, struct pair_stack *s, const struct spur_event *row)
{
	struct segment *g = w->segment;

	if (g->odd)
		return SEGMENT_TAKEN;
	if (g->by_depth)
		return take_by_depth(w, s, row);
	if (row->kind == SPUR_BEGIN && !(row->flags & SPUR_F_DEPTH) && !row_ends_thread(row))
		return SEGMENT_OWN;
	if (pair_is_by_class(row) && !row_ends_thread(row) && (!s->n || pair_has(s, row->cls))) {
		if (s->n)
			return SEGMENT_OWN;
		g->odd = g->nends == SEGMENT_ENDS || w->nstats > SEGMENT_KEYS;
		return g->odd || end_add(w, s, row) ? SEGMENT_TAKEN : SEGMENT_FAIL;
	}
	g->odd = true;
	return SEGMENT_TAKEN;
}

/* The stack of the only track that the rows so far were of; NULL: there was none, or several. */
static struct pair_stack *only_stack(const struct calls *w)
{
	return w->low == w->high ? pair_at(&w->pair, w->low) : NULL;
}

/* The first `base` frames are those of calls before the part. */
static bool is_plain_stack(const struct pair_stack *s, uint32_t base)
{
	assert(base <= s->n);
	if (s->index || s->spans.any || s->calls != s->n || s->n > FRAMES_MAX)
		return false;
	for (uint32_t i = base; i < s->n; i++)
		if (s->frames[i].flags)
			return false;
	return true;
}

/* Whether the noted ENDs end the innermost calls, one after the other. */
static bool segment_fits(const struct calls *w, const struct calls *part)
{
	const struct pair_stack *s = only_stack(w), *p = only_stack(part);
	const struct segment *g = part->segment;

	if (g->odd || !s || !p || w->low != part->low || !is_plain_stack(s, 0) ||
	    !is_plain_stack(p, g->base) || part->samples || ends_are_apart(&w->ends) ||
	    (g->by_depth ? g->base + g->nends != s->n : g->nends > s->n))
		return false;
	for (size_t i = 0; i < g->nends; i++)
		if (s->frames[s->n - 1 - i].cls != g->ends[i].cls)
			return false;
	return true;
}

/* Counts the open calls by head. Returns false if out of memory. */
static bool heads_count(const struct calls *w, const struct pair_stack *s, struct map64 *heads)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct map64_slot *slot = map64_put(heads, calls_head(w, s->frames[i].cls));

		if (!slot)
			return false;
		slot->value++;
	}
	return true;
}

/* Applies the noted ENDs to the calls before the part, and counts what was recursion in these. */
static bool ends_apply(struct calls *w, struct calls *part, struct map64 *heads)
{
	const struct segment *g = part->segment;
	struct pair_stack *s = only_stack(w);
	size_t outer = 0;

	for (size_t i = 0; i < g->nends; i++) {
		const struct segment_end *e = &g->ends[i];
		const struct spur_event row = { .ts = e->ts,
						.track = w->low,
						.cls = e->cls,
						.kind = SPUR_END_SPAN,
						.flags = e->flags,
						.depth = (uint16_t)(s->n - 1) };
		struct pair_frame *top = &s->frames[s->n - 1];
		const bool last = !--map64_find(heads, calls_head(w, e->cls))->value;

		top->child = (int64_t)((uint64_t)top->child + (uint64_t)e->child);
		if (!calls_step(w, &row))
			return false;
		for (; outer < g->nouters && g->outers[outer].end == i; outer++)
			if (last)
				part->stats[g->outers[outer].key].inner += g->outers[outer].ns;
	}
	for (uint32_t key = 1; key < part->nstats; key++) {
		const struct map64_slot *slot =
			part->stats[key].sum ? map64_find(heads, calls_head(w, key)) : NULL;

		if (slot && slot->value)
			part->stats[key].inner = part->stats[key].sum;
	}
	return true;
}

/* Puts the calls that are open at the part's end on those that were open before it. */
static bool frames_move(struct calls *w, struct calls *part)
{
	struct pair_stack *s = only_stack(w), *p = only_stack(part);
	const struct pair_frame *ground = ground_of(part->segment, p);
	struct pair_frame *top;

	if (!pair_grow_frames(s, (size_t)s->n + p->n + 1))
		return false;
	top = s->frames + s->n - 1; /* the ground if there is no frame */
	if (ground)
		top->child = (int64_t)((uint64_t)top->child + (uint64_t)ground->child);
	for (uint32_t i = part->segment->base; i < p->n; i++) {
		s->frames[s->n++] = p->frames[i];
		s->calls++;
		if (!calls_open(w, (uint32_t)p->frames[i].user, w->low))
			return false;
	}
	return true;
}

bool segment_join(void *first, void *other, bool *fits)
{
	struct calls *w = first, *part = other;
	struct map64 heads = { 0 };
	bool good;

	if (!calls_take_back(w) || !calls_take_back(part) || !gather_flush(&w->gather) ||
	    !gather_flush(&part->gather) || !calls_settle(part))
		return false;
	*fits = segment_fits(w, part);
	if (!*fits)
		return true;
	good = heads_count(w, only_stack(w), &heads) && ends_apply(w, part, &heads) &&
	       frames_move(w, part) && calls_move(w, part);
	w->ends.last = part->ends.last;
	map64_free(&heads);
	return good;
}

bool segment_end_feed(void *worker, void *first)
{
	return calls_end(first) && calls_settle(first) && calls_move(worker, first);
}
