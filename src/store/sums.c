/*
 * Sums by label. Where 256 blocks of a lane lie in the range, their stored sums are added. Each
 * column of another block that lies in the range is added as a whole: what a span
 * spends in itself, and how many spans of its head are around it, are columns of their own. Only
 * the spans at the ends of the range are looked at one by one. See store.h.
 */
#include <stdlib.h>

#include "base/map64.h"
#include "base/mem.h"
#include "store/parts.h"

/* A span lane of the range. */
struct sum_lane {
	uint32_t lane, track, depth;
	/* The span that goes on when the range ends, if `cut`: */
	bool cut, outermost;
	bool whole; /* a SPAN: counts as long as it is */
	bool off_cpu, outside;
	uint32_t label;
	int64_t start, dur;
	uint64_t less; /* ns of it that are not in the range */
	int64_t spans; /* of a track's first lane: when the last of its SPANs ends */
};

/* A span of the track at hand that goes on when the range begins. */
struct around {
	uint32_t head, index; /* by depth */
};

/* By label, of blocks that are added as a whole. */
struct quick {
	uint64_t calls, sum, child, inner;
	uint64_t least; /* ~ns, so that zeroed memory means that none is known */
	uint64_t most;
};

struct sums {
	const struct store *store;
	struct store_range range;
	struct store_sum *sums; /* by label */
	uint32_t nlabels;
	/* More than there are labels: a block's labels are less than what their bits could be. */
	struct quick *quick;
	uint64_t nquick;
	struct sum_lane *lanes; /* by track and depth */
	size_t nlanes;
	struct around *around; /* of the track, by head and index */
	int64_t *ends; /* of `around`, by index */
	size_t naround, around_cap, ends_cap;
	const struct sum_lane *track; /* the track at hand: its first lane */
	bool told_known;
	int64_t told; /* see depth_told() */
};

/* --- lanes --- */

static int lane_order(const void *a, const void *b)
{
	const struct sum_lane *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

static void lane_add(struct sums *k, uint32_t id)
{
	struct store_lane l;

	if (!store_lane(k->store, id, &l) || l.kind != STORE_SPANS || !l.items)
		return;
	k->lanes[k->nlanes++] = (struct sum_lane){ .lane = id, .track = l.track, .depth = l.depth };
}

static bool lanes_find(struct sums *k)
{
	const struct store_lanes *want = &k->range.lanes;
	const size_t n = want->lanes ? want->n : store_lane_count(k->store);

	k->lanes = mem_array(n + 1, sizeof(*k->lanes));
	if (!k->lanes)
		return false;
	for (size_t i = 0; i < n; i++)
		lane_add(k, want->lanes ? want->lanes[i] : (uint32_t)i);
	qsort(k->lanes, k->nlanes, sizeof(*k->lanes), lane_order);
	return true;
}

/* How many lanes of a track there are from `first` on. */
static size_t track_lanes(const struct sums *k, size_t first)
{
	size_t n = 1;

	while (first + n < k->nlanes && k->lanes[first + n].track == k->lanes[first].track)
		n++;
	return n;
}

/* --- items of a block --- */

struct spans {
	uint32_t n;
	int64_t start[STORE_BLOCK], end[STORE_BLOCK];
	uint64_t label[STORE_BLOCK], marks[STORE_BLOCK], self[STORE_BLOCK], inner[STORE_BLOCK];
	uint64_t end_label[STORE_BLOCK];
};

static bool spans_read(const struct store *s, const struct store_node *n, struct spans *x)
{
	uint64_t v[STORE_BLOCK];
	struct block b;
	uint32_t k = 0;

	x->n = 0;
	if (!store_block(s, n, &b, STORE_SELF))
		return false;
	x->n = n->n;
	column_all(&b.cols[STORE_START], n->n, v);
	for (uint32_t i = 0; i < n->n; i++)
		x->start[i] = (int64_t)((uint64_t)n->start + v[i]);
	column_all(&b.cols[STORE_DUR], n->n, x->self);
	for (uint32_t i = 0; i < n->n; i++)
		x->end[i] = time_after(x->start[i], x->self[i]);
	for (uint32_t i = 0; i < n->n; i++)
		if (b.outer[i / 64] >> i % 64 & 1)
			x->self[i] = column_get(&b.cols[STORE_SELF], k++);
	column_all(&b.cols[STORE_LABEL], n->n, x->label);
	column_all(&b.cols[STORE_MARKS], n->n, x->marks);
	column_all(&b.cols[STORE_INNER], n->n, x->inner);
	column_all(&b.cols[STORE_END_LABEL], n->n, x->end_label);
	return true;
}

static bool is_span(const struct spans *x, uint32_t i)
{
	return x->marks[i] >> MARKS_SHIFT & STORE_SPAN;
}

static unsigned kind_of(const struct spans *x, uint32_t i)
{
	return (unsigned)(x->marks[i] & KIND_MASK);
}

/*
 * Reads the last item of a lane that begins before `t`, as the only one of *x. Returns false if
 * all begin later.
 */
static bool last_before(const struct store *s, uint32_t lane, int64_t t, struct spans *x)
{
	const uint64_t at = store_block_from(s, lane, t, store_nodes(s, lane, 0));
	const struct store_node *n;
	uint32_t low = 0, high;
	struct block b;
	uint64_t run;

	x->n = 0;
	if (!at)
		return false;
	n = store_run(s, lane, 0, at - 1, &run);
	if (!store_block(s, n, &b, STORE_INNER))
		return false;
	for (high = n->n; low < high;) {
		const uint32_t m = low + (high - low) / 2;

		if ((int64_t)((uint64_t)n->start + column_get(&b.cols[STORE_START], m)) < t)
			low = m + 1;
		else
			high = m;
	}
	if (!low--)
		return false;
	x->n = 1;
	x->start[0] = (int64_t)((uint64_t)n->start + column_get(&b.cols[STORE_START], low));
	x->end[0] = time_after(x->start[0], column_get(&b.cols[STORE_DUR], low));
	x->label[0] = column_get(&b.cols[STORE_LABEL], low);
	x->marks[0] = column_get(&b.cols[STORE_MARKS], low);
	x->inner[0] = column_get(&b.cols[STORE_INNER], low);
	x->end_label[0] = column_get(&b.cols[STORE_END_LABEL], low);
	return true;
}

/* --- what is open when the range begins --- */

static int around_order(const void *a, const void *b)
{
	const struct around *x = a, *y = b;

	if (x->head != y->head)
		return x->head < y->head ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static uint32_t head_of(const struct sums *k, uint64_t label)
{
	struct store_label l;

	if (label < k->nlabels && store_label(k->store, (uint32_t)label, &l))
		return l.head;
	return 0;
}

/*
 * Adds the span of a lane that goes on when the range begins, or that is a SPAN inside which
 * another may go on. Returns false if the lane has no such span that began at `since` or later;
 * `since` becomes its begin.
 */
static bool around_add(struct sums *k, const struct sum_lane *l, struct spans *x, int64_t *since,
		       bool *good)
{
	struct around *a;
	uint32_t label;

	if (!last_before(k->store, l->lane, k->range.from, x) || !is_span(x, 0) ||
	    x->start[0] < *since ||
	    (x->end[0] < k->range.from &&
	     (kind_of(x, 0) != SPUR_SPAN || store_facts(k->store).facts & STORE_GAPS)))
		return false;
	label = (uint32_t)(x->label[0] + x->end_label[0]);
	if (!(x->marks[0] >> MARKS_SHIFT & STORE_NO_END) && store_before(x->end[0], k->range.to) &&
	    kind_of(x, 0) != SPUR_SWITCH && label < k->nlabels)
		k->sums[label].unfinished++;
	*good = mem_grow((void **)&k->around, &k->around_cap, k->naround + 1, sizeof(*k->around),
			 SIZE_MAX / 64) &&
		mem_grow((void **)&k->ends, &k->ends_cap, k->naround + 1, sizeof(*k->ends),
			 SIZE_MAX / 64);
	if (!*good)
		return false;
	a = &k->around[k->naround];
	*a = (struct around){ .index = (uint32_t)k->naround };
	a->head = kind_of(x, 0) == SPUR_SWITCH ? 0 : head_of(k, x->label[0]);
	k->ends[k->naround++] = x->end[0];
	*since = x->start[0];
	return true;
}

/* Finds what is open on a track when the range begins. Returns false if out of memory. */
static bool around_find(struct sums *k, const struct sum_lane *lanes, size_t n, struct spans *x)
{
	const bool gaps = store_facts(k->store).facts & STORE_GAPS;
	int64_t since = INT64_MIN;
	bool good = true;
	uint64_t run;

	k->naround = 0;
	for (size_t i = 0; good && i < n; i++)
		if (store_run(k->store, lanes[i].lane, 0, 0, &run)->start >= k->range.from ||
		    !around_add(k, &lanes[i], x, &since, &good))
			if (!gaps)
				break;
	while (k->naround && k->ends[k->naround - 1] < k->range.from)
		k->naround--;
	/* A SPAN stays open while something inside it does. */
	for (size_t i = k->naround; i-- > 1;)
		if (k->ends[i - 1] < k->ends[i])
			k->ends[i - 1] = k->ends[i];
	if (k->naround)
		qsort(k->around, k->naround, sizeof(*k->around), around_order);
	return good;
}

/* How many of `around` come before a head and index. */
static size_t around_rank(const struct sums *k, uint32_t head, uint32_t index)
{
	const struct around want = { .head = head, .index = index };
	size_t low = 0, high = k->naround;

	while (low < high) {
		const size_t m = low + (high - low) / 2;

		if (around_order(&k->around[m], &want) < 0)
			low = m + 1;
		else
			high = m;
	}
	return low;
}

/* How many of `around` are open at a time: they end from the innermost one out. */
static size_t around_open(const struct sums *k, int64_t start)
{
	size_t low = 0, high = k->naround;

	while (low < high) {
		const size_t m = low + (high - low) / 2;

		if (k->ends[m] > start)
			low = m + 1;
		else
			high = m;
	}
	return low;
}

/* How many spans of a label's head that began before the range are around a span. */
static uint64_t around_count(const struct sums *k, uint64_t label, int64_t start)
{
	const uint32_t head = head_of(k, label);

	return around_rank(k, head, (uint32_t)around_open(k, start)) - around_rank(k, head, 0);
}

int64_t store_depth_told(const struct store *s, uint32_t lane, int64_t from, int64_t told)
{
	struct store_lane l;
	struct store_item i;

	if (!store_lane(s, lane, &l) || !l.depth)
		return told;
	for (uint64_t n = store_seek(s, lane, from); store_item(s, lane, n, &i) && i.start < told;
	     n++)
		if (i.start >= from && i.kind == SPUR_BEGIN && (i.flags & SPUR_F_DEPTH))
			return i.start;
	return told;
}

/* The same of all lanes of the track. */
static int64_t depth_told(const struct sums *k, const struct sum_lane *track)
{
	int64_t told = INT64_MAX;

	for (const struct sum_lane *l = track; l < k->lanes + k->nlanes && l->track == track->track;
	     l++)
		told = store_depth_told(k->store, l->lane, k->range.from, told);
	return told;
}

/*
 * Time off the CPU counts inside calls only. Returns true if all around this one began before the
 * range, and the rows of the range do not tell of them.
 */
static bool is_outside(struct sums *k, const struct sum_lane *l, const struct spans *x, uint32_t i)
{
	if (!k->naround || kind_of(x, i) != SPUR_SWITCH || around_open(k, x->start[i]) < l->depth)
		return false;
	if (!k->told_known)
		k->told = depth_told(k, k->track);
	k->told_known = true;
	return x->start[i] < k->told;
}

/* --- adding --- */

static void call_add(struct store_sum *s, uint64_t dur, uint64_t self, bool outermost)
{
	s->calls++;
	s->sum += dur;
	s->total += outermost ? dur : 0;
	s->self += self;
	s->least = dur < s->least ? dur : s->least;
	s->most = dur > s->most ? dur : s->most;
}

/* Adds a call that is open when the range or the data ends. */
static void open_add(struct store_sum *s, uint64_t dur, uint64_t self, bool outermost)
{
	s->calls++;
	s->total += outermost ? dur : 0;
	s->self += self;
	s->open_least = !s->open || dur < s->open_least ? dur : s->open_least;
	s->open_most = dur > s->open_most ? dur : s->open_most;
	s->sum += dur;
	s->open_sum += dur;
	s->open++;
}

/* Returns true if a call of `inner` ones of its head is inside one that began in the range. */
static bool is_inner(const struct sums *k, uint64_t inner, uint64_t label, int64_t start)
{
	return inner && !(k->naround && inner == around_count(k, label, start));
}

static bool is_outermost(const struct sums *k, const struct spans *x, uint32_t i)
{
	return !is_inner(k, x->inner[i], x->label[i], x->start[i]);
}

/* The sum of an item's label; NULL if there is no such label. */
static struct store_sum *sum_of(const struct sums *k, const struct spans *x, uint32_t i)
{
	if (x->label[i] >= k->nlabels) {
		store_set_damaged(k->store);
		return NULL;
	}
	return &k->sums[is_span(x, i) && kind_of(x, i) == SPUR_SWITCH ? 0 : x->label[i]];
}

/* Adds the items of a block that begin in the range, but for the one that is cut. */
static void block_part(struct sums *k, const struct spans *x, const struct sum_lane *l)
{
	for (uint32_t i = 0; i < x->n; i++) {
		const unsigned marks = (unsigned)(x->marks[i] >> MARKS_SHIFT);
		const uint64_t dur = (uint64_t)x->end[i] - (uint64_t)x->start[i];
		struct store_sum *s;

		if (x->start[i] < k->range.from || !store_before(x->start[i], k->range.to))
			continue;
		s = sum_of(k, x, i);
		if (!s || (l->cut && !store_before(x->end[i], k->range.to)))
			continue;
		if (!(marks & STORE_SPAN)) {
			s->unfinished += kind_of(x, i) == SPUR_END_SPAN;
			continue;
		}
		if (is_outside(k, l, x, i))
			continue;
		s->unfinished += (marks & STORE_OPEN) != 0;
		if (marks & STORE_UNCOUNTED)
			continue;
		if (marks & STORE_LAST)
			open_add(s, dur, x->self[i], is_outermost(k, x, i));
		else
			call_add(s, dur, x->self[i], is_outermost(k, x, i));
	}
}

/* Returns true if all items of a block are calls that have ended. */
static bool is_plain(const struct block *b)
{
	const struct column *m = &b->cols[STORE_MARKS];
	const unsigned bad = STORE_OPEN | STORE_LAST | STORE_UNCOUNTED;

	return !m->width && (m->base >> MARKS_SHIFT & STORE_SPAN) &&
	       !(m->base >> MARKS_SHIFT & bad) && (m->base & KIND_MASK) != SPUR_SWITCH;
}

/* Takes the recursive calls of a block out of the totals. */
static void block_inner(struct sums *k, const struct store_node *n, const struct block *b)
{
	for (uint32_t i = 0; i < n->n; i++) {
		const uint64_t inner = column_get(&b->cols[STORE_INNER], i),
			       label = column_get(&b->cols[STORE_LABEL], i);

		if (inner &&
		    is_inner(k, inner, label,
			     (int64_t)((uint64_t)n->start + column_get(&b->cols[STORE_START], i))))
			k->quick[label].inner += column_get(&b->cols[STORE_DUR], i);
	}
}

/* Adds a block that lies in the range as a whole. Returns false if that is not possible. */
static bool block_whole(struct sums *k, const struct store_node *n)
{
	const struct column *l, *d;
	struct block b;
	uint32_t j = 0;

	if (!store_block(k->store, n, &b, STORE_SELF) || !is_plain(&b))
		return false;
	l = &b.cols[STORE_LABEL];
	d = &b.cols[STORE_DUR];
	if (l->width > 32 || l->base + (l->mask << l->shift) >= k->nquick)
		return false;
	for (uint32_t i = 0; i < n->n; i++) {
		const uint64_t dur = column_get(d, i);
		struct quick *q = &k->quick[column_get(l, i)];

		q->calls++;
		q->sum += dur;
		if (~dur > q->least)
			q->least = ~dur;
		if (dur > q->most)
			q->most = dur;
	}
	if (b.cols[STORE_INNER].width || b.cols[STORE_INNER].base)
		block_inner(k, n, &b);
	for (uint32_t w = 0; w < STORE_BLOCK / 64; w++)
		for (uint64_t bits = b.outer[w]; bits; bits &= bits - 1) {
			const uint32_t i = 64 * w + (uint32_t)__builtin_ctzll(bits);

			k->quick[column_get(l, i)].child +=
				column_get(d, i) - column_get(&b.cols[STORE_SELF], j++);
		}
	return true;
}

/* Adds what block_whole() has added up. */
static void quick_end(struct sums *k)
{
	for (uint32_t i = 0; i < k->nquick; i++) {
		const struct quick *q = &k->quick[i];
		struct store_sum *s = &k->sums[i];

		if (!q->calls)
			continue;
		if (i >= k->nlabels) {
			store_set_damaged(k->store);
			continue;
		}
		s->calls += q->calls;
		s->sum += q->sum;
		s->total += q->sum - q->inner;
		s->self += q->sum - q->child;
		s->least = ~q->least < s->least ? ~q->least : s->least;
		s->most = q->most > s->most ? q->most : s->most;
	}
}

/*
 * SPEC store/lane-sums: returns true if sums of blocks from `start` on are those of the range: none
 * of their spans is a recursive call of one that began before the range, or time off the CPU that
 * does not count.
 */
static bool sums_are_those(const struct sums *k, const struct sum_lane *l, int64_t start,
			   const struct store_label_sum *sums, uint32_t n)
{
	/* INVARIANT: what is open when the range begins only becomes less. */
	const bool outside = k->naround && around_open(k, start) >= l->depth;

	for (uint32_t i = 0; i < n; i++) {
		if (sums[i].label >= k->nlabels) {
			store_set_damaged(k->store);
			return false;
		}
		if ((outside && !sums[i].label) ||
		    (sums[i].inner && k->naround && around_count(k, sums[i].label, start)))
			return false;
	}
	return true;
}

/*
 * Adds the 256 blocks of a lane from block `at` on by their sums. Returns false if they have none
 * that can be used, or do not lie in the range.
 */
static bool sums_whole(struct sums *k, const struct sum_lane *l, uint64_t at)
{
	const struct store_label_sum *sums;
	const struct store_node *node;
	uint64_t run;
	uint32_t n;

	if (at % STORE_SUMS_BLOCKS ||
	    at / STORE_SUMS_BLOCKS >= store_nodes(k->store, l->lane, STORE_SUMS_LEVEL))
		return false;
	node = store_run(k->store, l->lane, STORE_SUMS_LEVEL, at / STORE_SUMS_BLOCKS, &run);
	if (node->start < k->range.from || !store_before(node->end, k->range.to))
		return false;
	sums = store_node_sums(k->store, node, &n);
	if (!sums || !sums_are_those(k, l, node->start, sums, n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct quick *q = &k->quick[sums[i].label];

		q->calls += sums[i].calls;
		q->sum += sums[i].sum;
		q->child += sums[i].child;
		q->inner += sums[i].inner;
		if (~sums[i].least > q->least)
			q->least = ~sums[i].least;
		if (sums[i].most > q->most)
			q->most = sums[i].most;
	}
	return true;
}

static void lane_sum(struct sums *k, const struct sum_lane *l, struct spans *x)
{
	const uint64_t blocks = store_nodes(k->store, l->lane, 0);
	uint64_t at = store_block_from(k->store, l->lane, k->range.from, blocks), run;

	for (at -= at != 0; at < blocks; at++) {
		const struct store_node *n = store_run(k->store, l->lane, 0, at, &run);

		if (!store_before(n->start, k->range.to))
			break;
		if (n->end < k->range.from)
			continue;
		if (sums_whole(k, l, at)) {
			at += STORE_SUMS_BLOCKS - 1;
			continue;
		}
		if (n->start >= k->range.from && store_before(n->end, k->range.to) &&
		    block_whole(k, n))
			continue;
		if (spans_read(k->store, n, x))
			block_part(k, x, l);
	}
}

/* --- what is open when the range ends --- */

/* ns of the spans of a lane that begin from `from` to before `to`. */
static uint64_t lane_busy(const struct sums *k, uint32_t lane, int64_t from, int64_t to,
			  struct spans *x)
{
	const uint64_t blocks = store_nodes(k->store, lane, 0);
	uint64_t at = store_block_from(k->store, lane, from, blocks), run, busy = 0;

	for (at -= at != 0; at < blocks; at++) {
		const struct store_node *n = store_run(k->store, lane, 0, at, &run);

		if (n->start >= to)
			break;
		if (n->start >= from && n->end < to) {
			busy += n->busy;
			continue;
		}
		if (!spans_read(k->store, n, x))
			continue;
		for (uint32_t i = 0; i < x->n; i++)
			if (x->start[i] >= from && x->start[i] < to)
				busy += (uint64_t)x->end[i] - (uint64_t)x->start[i];
	}
	return busy;
}

/*
 * Finds the span of a lane that goes on when the range ends. `*spans` rises to the last end of the
 * lane's SPANs.
 */
static void cut_find(struct sums *k, struct sum_lane *l, int64_t *spans, struct spans *x)
{
	if (!last_before(k->store, l->lane, k->range.to, x) || !is_span(x, 0) ||
	    x->start[0] < k->range.from || x->label[0] >= k->nlabels)
		return;
	if (kind_of(x, 0) == SPUR_SPAN && x->end[0] > *spans)
		*spans = x->end[0];
	if (store_before(x->end[0], k->range.to))
		return;
	l->cut = true;
	l->start = x->start[0];
	l->dur = time_between(x->start[0], x->end[0]);
	l->whole = kind_of(x, 0) == SPUR_SPAN;
	l->off_cpu = kind_of(x, 0) == SPUR_SWITCH;
	l->outside = is_outside(k, l, x, 0);
	l->outermost = is_outermost(k, x, 0);
	l->label = (uint32_t)x->label[0];
}

/* Adds what is cut on a track, whose data ends at `last`: the innermost first. */
static void cuts_add(struct sums *k, struct sum_lane *lanes, size_t n, int64_t last,
		     struct spans *x)
{
	last = lanes->spans > last ? lanes->spans : last;
	for (size_t i = n; i--;) {
		struct sum_lane *l = &lanes[i], *in = i + 1 < n ? &lanes[i + 1] : NULL;
		struct store_sum *s = &k->sums[l->off_cpu ? 0 : l->label];
		const int64_t whole = l->dur;
		uint64_t child = 0;

		if (!l->cut)
			continue;
		if (!l->whole)
			l->dur = last > l->start ? time_between(l->start, last) : 0;
		l->less = (uint64_t)(whole - l->dur);
		if (in && in->depth == l->depth + 1)
			child = lane_busy(k, in->lane, l->start, k->range.to, x) -
				(in->cut && in->start >= l->start ? in->less : 0);
		s->unfinished += !l->whole && !l->outside;
		if (l->off_cpu)
			continue;
		child = child < (uint64_t)l->dur ? child : (uint64_t)l->dur;
		if (l->whole)
			call_add(s, (uint64_t)l->dur, (uint64_t)l->dur - child, l->outermost);
		else
			open_add(s, (uint64_t)l->dur, (uint64_t)l->dur - child, l->outermost);
	}
}

/* The time of the last row of a lane before `to`; INT64_MIN if it has no item before it. */
static int64_t lane_last(const struct store *s, uint32_t lane, int64_t to, struct spans *x)
{
	if (!last_before(s, lane, to, x))
		return INT64_MIN;
	/* A SPAN has no row at its end. */
	return is_span(x, 0) && kind_of(x, 0) != SPUR_SPAN && x->end[0] < to ? x->end[0]
									     : x->start[0];
}

/* SPEC store/ends: calls that are cut end with the last row of what their lane was read with. */
static bool lasts_find(const struct sums *k, struct map64 *lasts, struct spans *x)
{
	const uint32_t n = store_lane_count(k->store), tracks = store_facts(k->store).tracks;
	bool *wanted = mem_array((size_t)tracks + 1, sizeof(*wanted));
	bool good = wanted;

	for (size_t i = 0; good && i < k->nlanes; i++)
		if (k->lanes[i].track < tracks)
			wanted[k->lanes[i].track] = true;
	for (uint32_t i = 0; good && i < n; i++) {
		struct map64_slot *slot;
		struct store_lane l;
		uint64_t last;

		if (!store_lane(k->store, i, &l) || !l.items || l.track >= tracks ||
		    (k->range.lanes.lanes && !wanted[l.track]))
			continue;
		/* So that 0 is before all times. */
		last = (uint64_t)lane_last(k->store, i, k->range.to, x) ^ (uint64_t)1 << 63;
		slot = map64_put(lasts, store_ends_with(k->store, i));
		good = slot;
		if (slot && last > slot->value)
			slot->value = last;
	}
	mem_free(wanted);
	return good;
}

struct store_lasts {
	const struct store *store;
	struct map64 lasts; /* by store_ends_with() */
};

struct store_lasts *store_lasts_new(const struct store *s, const struct store_range *range)
{
	struct sums k = { .store = s, .range = *range };
	struct store_lasts *l = mem_alloc(sizeof(*l));
	struct spans *x = mem_alloc(sizeof(*x));
	const bool good = l && x && lanes_find(&k) && lasts_find(&k, &l->lasts, x);

	if (l)
		l->store = s;
	mem_free(k.lanes);
	mem_free(x);
	if (good)
		return l;
	store_lasts_free(l);
	return NULL;
}

int64_t store_lasts_of(const struct store_lasts *l, uint32_t lane)
{
	const struct map64_slot *slot = map64_find(&l->lasts, store_ends_with(l->store, lane));

	return slot ? (int64_t)(slot->value ^ (uint64_t)1 << 63) : INT64_MIN;
}

void store_lasts_free(struct store_lasts *l)
{
	if (l)
		map64_free(&l->lasts);
	mem_free(l);
}

static bool cuts_sum(struct sums *k, struct spans *x)
{
	struct store_lasts *lasts = store_lasts_new(k->store, &k->range);
	bool good;

	for (size_t i = 0, n; lasts && i < k->nlanes; i += n) {
		n = track_lanes(k, i);
		cuts_add(k, &k->lanes[i], n, store_lasts_of(lasts, k->lanes[i].lane), x);
	}
	good = lasts;
	store_lasts_free(lasts);
	return good;
}

/* --- all --- */

static bool track_sum(struct sums *k, size_t first, size_t n, bool *cut, struct spans *x)
{
	struct sum_lane *lanes = &k->lanes[first];
	int64_t spans = INT64_MIN;

	k->track = lanes;
	k->told_known = false;
	if (!around_find(k, lanes, n, x))
		return false;
	for (size_t i = 0; i < n && !store_before(store_facts(k->store).end, k->range.to); i++) {
		cut_find(k, &lanes[i], &spans, x);
		*cut |= lanes[i].cut;
	}
	lanes->spans = spans;
	for (size_t i = 0; i < n; i++)
		lane_sum(k, &lanes[i], x);
	return true;
}

/* Adds the sum of a label to that of its head. */
static void head_add(struct store_sum *to, struct store_sum *from)
{
	to->calls += from->calls;
	to->unfinished += from->unfinished;
	to->sum += from->sum;
	to->open_sum += from->open_sum;
	to->total += from->total;
	to->self += from->self;
	to->least = from->least < to->least ? from->least : to->least;
	to->most = from->most > to->most ? from->most : to->most;
	if (from->open && (!to->open || from->open_least < to->open_least))
		to->open_least = from->open_least;
	to->open_most = from->open_most > to->open_most ? from->open_most : to->open_most;
	to->open += from->open;
	*from = (struct store_sum){ .least = UINT64_MAX };
}

static void sums_end(struct sums *k)
{
	for (uint32_t i = 1; i < k->nlabels; i++) {
		const uint32_t head = head_of(k, i);

		if (head != i && head < k->nlabels)
			head_add(&k->sums[head], &k->sums[i]);
	}
	for (uint32_t i = 0; i < k->nlabels; i++) {
		struct store_sum *s = &k->sums[i];

		if (s->open == s->calls) {
			s->least = s->open_least;
			s->most = s->open_most;
		}
	}
}

bool store_sums(const struct store *s, const struct store_range *range, struct store_sum *sums,
		uint32_t nlabels)
{
	struct sums k = { .store = s, .range = *range, .sums = sums, .nlabels = nlabels };
	struct spans *x = mem_alloc(sizeof(*x));
	bool good, cut = false;

	k.nquick = 4 * (uint64_t)nlabels;
	k.quick = mem_array(k.nquick, sizeof(*k.quick));
	good = x && k.quick && nlabels && lanes_find(&k);
	for (uint32_t i = 0; i < nlabels; i++)
		sums[i] = (struct store_sum){ .least = UINT64_MAX };
	for (size_t i = 0, n; good && i < k.nlanes; i += n) {
		n = track_lanes(&k, i);
		good = track_sum(&k, i, n, &cut, x);
	}
	if (good && cut)
		good = cuts_sum(&k, x);
	if (good) {
		quick_end(&k);
		sums_end(&k);
	}
	mem_free(k.quick);
	mem_free(k.lanes);
	mem_free(k.around);
	mem_free(k.ends);
	mem_free(x);
	return good;
}
