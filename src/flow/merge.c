/*
 * Merge of feeds by (ts, feed id): a loser tree over runs. The winner hands out all its rows that
 * come before the runner-up's head at once, long runs without copying.
 *
 * Runs are found by looking at each row, not by bisection: a feed whose time goes back somewhere
 * would otherwise come out in an order that depends on the batch size.
 *
 * Invariant between calls: tree[1 ..] hold the losers and tree[0] the winner of all heads, except
 * that feed `stale` (if any) has no row left of its batch and is to be pulled first. Rows at the
 * feed's `pos` and beyond have not been handed out.
 */
#include <string.h>

#include "base/search.h"
#include "flow/order.h"
#include "flow/pipe.h"

enum {
	MERGE_ROOM = 262144, /* rows of all feeds' batches together, at most: 16 MiB */
	MERGE_CACHED = 16384, /* rows of all batches that stay in a core's cache */
	MERGE_GOOD = 64, /* rows of a batch from which on longer ones are no faster */
	MERGE_LEAST = 2, /* rows of a batch of one of very many feeds */
	MERGE_LEND = 48, /* runs from here on are handed out where they are */
	/*
	 * A feed that has just begun to win gives rows one by one: among interleaved feeds that costs less than to
	 * find out how many could follow.
	 */
	MERGE_STREAK = 3,
	MERGE_ENDED = 1u << 31,
};
static const uint32_t no_feed = UINT32_MAX;

struct merge_head {
	struct feed_reader *reader;
	struct spur_event *rows;
	uint8_t *marks; /* of the rows; NULL: they have none */
	size_t pos, n;
	/* Of windows only: */
	int64_t *keys; /* of the batch's rows: the latest time up to each */
	size_t keys_cap;
	int64_t latest; /* key of the last row read */
	size_t safe; /* rows before this one belong to the window */
};

/* Order of a head: the time, then the feed's place; ended feeds are last. */
struct merge_key {
	int64_t ts;
	uint32_t place; /* index of the head, with MERGE_ENDED */
};

struct merge {
	struct merge_head *heads;
	struct merge_key *
		tree; /* [0]: the winner; [1 .. count): losers; the leaf of head i is at count + i */
	uint32_t count;
	uint32_t stale;
	bool primed;
	bool out_ended;
	struct spur_event *out;
	uint8_t *out_marks; /* NULL: rows have no marks */
	struct order order; /* of windows */
	bool windows;
	struct filter_run *run; /* of a filter that needs the merged order */
};

/* As one wide comparison: branches on the order of interleaved feeds are never predicted. */
static inline __int128 key_wide(struct merge_key k)
{
	return (__int128)((unsigned __int128)k.ts << 32 | k.place);
}

static inline bool key_less(struct merge_key a, struct merge_key b)
{
	return key_wide(a) < key_wide(b);
}

/* Feeds that the filter lets in. */
static size_t merge_select(struct spur_trace *t, struct filter *filter, struct merge *m,
			   uint32_t rows)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nfeeds; i++) {
		if (filter && filter_skips_feed(filter, t->feeds[i]))
			continue;
		if (m && !(m->heads[n].reader = feed_reader_new(t, t->feeds[i], filter, rows)))
			return SIZE_MAX;
		n++;
	}
	return n;
}

static uint32_t merge_batch(size_t count)
{
	size_t cached = count ? MERGE_CACHED / count : BATCH_ROWS,
	       room = count ? MERGE_ROOM / count : BATCH_ROWS;

	cached = cached > BATCH_ROWS ? BATCH_ROWS : cached < MERGE_GOOD ? MERGE_GOOD : cached;
	room = room > MERGE_LEAST ? room : MERGE_LEAST;
	return (uint32_t)(cached < room ? cached : room);
}

struct merge *merge_new(struct spur_trace *t, struct filter *filter)
{
	size_t count = merge_select(t, filter, NULL, 0);
	struct merge *m = mem_alloc(sizeof(*m));

	if (!m)
		return NULL;
	m->count = (uint32_t)count;
	m->windows = count <= ORDER_WINDOW;
	m->stale = no_feed;
	m->heads = mem_array(count, sizeof(*m->heads));
	for (size_t i = 0; m->heads && i < count; i++)
		m->heads[i].latest = INT64_MIN;
	m->tree = mem_array(count + 1, sizeof(*m->tree));
	m->out = mem_array(BATCH_ROWS, sizeof(*m->out));
	if (filter && filter_keeps_unseen(filter) && !(m->out_marks = mem_array(BATCH_ROWS, 1)))
		goto fail;
	if (!m->heads || !m->tree || !m->out)
		goto fail;
	if (filter && filter_is_global(filter) && !(m->run = filter_run_new(filter, FILTER_MERGED)))
		goto fail;
	if (count < MERGE_ENDED && merge_select(t, filter, m, merge_batch(count)) == count)
		return m;
fail:
	merge_free(m);
	return NULL;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; m->heads && i < m->count; i++) {
		feed_reader_free(m->heads[i].reader);
		mem_free(m->heads[i].keys);
	}
	order_free(&m->order);
	filter_run_free(m->run);
	mem_free(m->heads);
	mem_free(m->tree);
	mem_free(m->out);
	mem_free(m->out_marks);
	mem_free(m);
}

/* The next rows of a feed; at its end its memory is given back. */
static enum spur_status merge_pull(struct merge_head *h)
{
	struct marked_rows m;
	enum spur_status st = feed_reader_marked(h->reader, &m);

	h->rows = m.rows;
	h->marks = m.marks;
	h->n = m.n;
	h->pos = 0;
	if (st == SPUR_END) {
		h->n = 0;
		feed_reader_free(h->reader);
		h->reader = NULL;
	}
	return st == SPUR_FAIL ? SPUR_FAIL : SPUR_OK;
}

static struct merge_key merge_key(const struct merge *m, uint32_t i)
{
	const struct merge_head *h = &m->heads[i];

	if (h->pos == h->n)
		return (struct merge_key){ .ts = INT64_MAX, .place = i | MERGE_ENDED };
	return (struct merge_key){ .ts = h->rows[h->pos].ts, .place = i };
}

/* Head i changed: plays its matches again up to the root. */
static void merge_replay(struct merge *m, uint32_t i)
{
	struct merge_key key = merge_key(m, i);

	for (uint32_t node = (i + m->count) / 2; node; node /= 2) {
		struct merge_key other = m->tree[node];
		bool loses = key_less(other, key);
		int64_t ts_mask = -(int64_t)loses & (key.ts ^ other.ts);
		uint32_t place_mask = -(uint32_t)loses & (key.place ^ other.place);

		m->tree[node] = (struct merge_key){ .ts = other.ts ^ ts_mask,
						    .place = other.place ^ place_mask };
		key.ts ^= ts_mask;
		key.place ^= place_mask;
	}
	m->tree[0] = key;
}

/* The winner of the node's subtree; sets the losers in it. Depth is log2 of the feeds. */
static struct merge_key merge_build(struct merge *m, uint32_t node)
{
	struct merge_key a, b;
	bool first;

	if (node >= m->count)
		return merge_key(m, node - m->count);
	a = merge_build(m, 2 * node);
	b = merge_build(m, 2 * node + 1);
	first = key_less(a, b);
	m->tree[node] = first ? b : a;
	return first ? a : b;
}

static enum spur_status merge_prime(struct merge *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (!m->heads[i].n && m->heads[i].reader && merge_pull(&m->heads[i]) == SPUR_FAIL)
			return SPUR_FAIL;
	m->tree[0] = merge_build(m, 1);
	m->primed = true;
	return SPUR_OK;
}

/* The best of the losers on the winner's path: the runner-up of all. */
static struct merge_key merge_second(const struct merge *m, uint32_t winner)
{
	struct merge_key best = { .ts = INT64_MAX, .place = UINT32_MAX };

	for (uint32_t node = (winner + m->count) / 2; node; node /= 2)
		if (key_less(m->tree[node], best))
			best = m->tree[node];
	return best;
}

/* How many of the head's rows come before `limit`; the first one does. */
static size_t merge_run(const struct merge_head *h, uint32_t place, struct merge_key limit)
{
	const struct spur_event *p = h->rows + h->pos, *end = h->rows + h->n;
	int64_t last; /* the last time that still comes before */

	if (limit.place & MERGE_ENDED)
		return h->n - h->pos;
	last = place < limit.place ? limit.ts : limit.ts - 1;
	for (p++; end - p >= 4; p += 4)
		if ((p[0].ts > last) | (p[1].ts > last) | (p[2].ts > last) | (p[3].ts > last))
			break;
	while (p < end && p->ts <= last)
		p++;
	return (size_t)(p - (h->rows + h->pos));
}

/*
 * Rows in time order, before a filter that needs it. Stops where a feed must be pulled: on a pipe
 * that may wait.
 */
static enum spur_status merge_step(struct merge *m, struct marked_rows *out)
{
	size_t filled = 0;
	unsigned streak = MERGE_STREAK; /* rows that one feed gave in a row, one by one */
	uint32_t before = no_feed;

	if (!m->primed && merge_prime(m) == SPUR_FAIL)
		return SPUR_FAIL;
	if (m->stale != no_feed) {
		if (merge_pull(&m->heads[m->stale]) == SPUR_FAIL)
			return SPUR_FAIL;
		merge_replay(m, m->stale);
		m->stale = no_feed;
	}
	*out = (struct marked_rows){ .rows = m->out, .marks = m->out_marks };
	while (filled < BATCH_ROWS && !(m->tree[0].place & MERGE_ENDED)) {
		uint32_t w = m->tree[0].place;
		struct merge_head *h = &m->heads[w];
		bool alone = streak < MERGE_STREAK;
		size_t run = alone ? 1 : merge_run(h, w, merge_second(m, w));
		bool lend = !filled && run >= MERGE_LEND;

		assert(h->pos + run <= h->n);
		if (run == 1) {
			m->out[filled] = h->rows[h->pos];
		} else if (lend) {
			*out = marked_from((struct marked_rows){ h->rows, h->marks, h->n }, h->pos);
		} else {
			run = run > BATCH_ROWS - filled ? BATCH_ROWS - filled : run;
			memcpy(m->out + filled, h->rows + h->pos, run * sizeof(*m->out));
		}
		if (m->out_marks && !lend)
			memcpy(m->out_marks + filled, h->marks + h->pos, run);
		streak = w == before ? streak + 1 : 0;
		before = w;
		filled += run;
		h->pos += run;
		if (h->pos == h->n)
			m->stale = w;
		else
			merge_replay(m, w);
		if (lend || m->stale != no_feed)
			break;
	}
	out->n = filled;
	return filled ? SPUR_OK : SPUR_END;
}

/* --- windows --- */

static enum spur_status window_pull(struct merge_head *h)
{
	int64_t latest = h->latest;

	if (merge_pull(h) == SPUR_FAIL)
		return SPUR_FAIL;
	if (h->n > 1u << ORDER_SHIFT ||
	    !mem_grow((void **)&h->keys, &h->keys_cap, h->n, sizeof(*h->keys), SIZE_MAX / 16))
		return SPUR_FAIL;
	for (size_t i = 0; i < h->n; i++) {
		latest = h->rows[i].ts > latest ? h->rows[i].ts : latest;
		h->keys[i] = latest;
	}
	h->latest = latest;
	return SPUR_OK;
}

/* The first place at or behind pos whose key is not before `limit` (with `equal`: is behind it). */
static size_t window_end(const struct merge_head *h, int64_t limit, bool equal)
{
	size_t lo;

	bisect(lo, h->pos, h->n, h->keys[lo] < limit || (equal && h->keys[lo] == limit));
	return lo;
}

/*
 * Fills empty heads and bounds the window: sets each head's `safe`. *active gets the heads that
 * have rows in it, in feed order;
 * returns their number, 0 at the end.
 */
static enum spur_status window_open(struct merge *m, uint32_t *active, uint32_t *nactive)
{
	uint32_t first = no_feed; /* the earliest end; of equal ones the lowest feed */
	int64_t limit = 0;

	*nactive = 0;
	for (uint32_t i = 0; i < m->count; i++) {
		struct merge_head *h = &m->heads[i];

		if (h->pos == h->n && h->reader && window_pull(h) == SPUR_FAIL)
			return SPUR_FAIL;
		if (h->pos < h->n && (first == no_feed || h->keys[h->n - 1] < limit)) {
			first = i;
			limit = h->keys[h->n - 1];
		}
	}
	for (uint32_t i = 0; i < m->count && first != no_feed; i++) {
		struct merge_head *h = &m->heads[i];

		h->safe = h->pos == h->n ? h->pos
			  : i == first	 ? h->n
					 : window_end(h, limit, i < first);
		if (h->safe > h->pos)
			active[(*nactive)++] = i;
	}
	return SPUR_OK;
}

/* Merges the active heads' windows into m->order. */
static bool window_sort(struct merge *m, const uint32_t *active, uint32_t nactive)
{
	struct order_list leaves[ORDER_WINDOW];
	size_t total = 0;

	for (uint32_t k = 0; k < nactive; k++)
		total += m->heads[active[k]].safe - m->heads[active[k]].pos;
	if (!order_begin(&m->order, total))
		return false;
	for (uint32_t k = 0; k < nactive; k++) {
		const struct merge_head *h = &m->heads[active[k]];

		leaves[k] =
			order_add(&m->order, h->keys + h->pos, h->safe - h->pos, active[k], h->pos);
	}
	order_sort(&m->order, leaves, nactive);
	return true;
}

/* Up to a batch of rows in time order: of the order that is left, else of a new window. */
static enum spur_status window_step(struct merge *m, struct marked_rows *out)
{
	uint32_t active[ORDER_WINDOW], nactive;
	size_t n;

	*out = (struct marked_rows){ 0 };
	if (m->order.next == m->order.n) {
		if (window_open(m, active, &nactive) == SPUR_FAIL)
			return SPUR_FAIL;
		if (!nactive)
			return SPUR_END;
		if (nactive == 1) {
			struct merge_head *h = &m->heads[active[0]];

			*out = marked_from((struct marked_rows){ h->rows, h->marks, h->safe },
					   h->pos);
			h->pos = h->safe;
			return SPUR_OK;
		}
		if (!window_sort(m, active, nactive))
			return SPUR_FAIL;
		for (uint32_t k = 0; k < nactive; k++)
			m->heads[active[k]].pos = m->heads[active[k]].safe;
	}
	n = m->order.n - m->order.next < BATCH_ROWS ? m->order.n - m->order.next : BATCH_ROWS;
	*out = (struct marked_rows){ .rows = m->out, .marks = m->out_marks, .n = n };
	for (size_t i = 0; i < n; i++) {
		uint32_t row = m->order.members[m->order.next + i];

		m->out[i] = m->heads[row >> ORDER_SHIFT].rows[row & ORDER_MASK];
		if (m->out_marks)
			m->out_marks[i] = m->heads[row >> ORDER_SHIFT].marks[row & ORDER_MASK];
	}
	m->order.next += n;
	return SPUR_OK;
}

enum spur_status merge_marked(struct merge *m, struct marked_rows *out)
{
	*out = (struct marked_rows){ 0 };
	while (!out->n) {
		enum spur_status st;
		struct marked_rows in = { 0 };

		if (m->run && filter_rest(m->run, out))
			return SPUR_OK;
		if (!m->count || m->out_ended)
			return SPUR_END;
		st = m->windows ? window_step(m, &in) : merge_step(m, &in);
		if (st == SPUR_FAIL || (!m->run && st == SPUR_END))
			return st;
		m->out_ended = st == SPUR_END;
		*out = in;
		if (m->run && filter_rows(m->run, in, out) == SPUR_FAIL)
			return SPUR_FAIL;
	}
	return SPUR_OK;
}

enum spur_status merge_next(struct merge *m, struct spur_event **rows, size_t *n)
{
	struct marked_rows out;
	const enum spur_status st = merge_marked(m, &out);

	*rows = out.rows;
	*n = out.n;
	return st;
}
