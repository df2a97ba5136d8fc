/*
 * Merge of feeds by (ts, feed id), by the merge core. Runs of rows that are long are handed out
 * where they are.
 *
 * Invariant between calls: feed `stale` (if any) has no row left of its batch and is to be pulled
 * first. Rows at an input's `pos` and beyond have not been handed out.
 */
#include "flow/merge_core.h"
#include "flow/pipe.h"

enum {
	MERGE_ROOM = 262144, /* rows of all feeds' batches together, at most: 16 MiB */
	MERGE_CACHED = 16384, /* rows of all batches that stay in a core's cache */
	MERGE_GOOD = 64, /* rows of a batch from which on longer ones are no faster */
	MERGE_LEAST = 2, /* rows of a batch of one of very many feeds */
	MERGE_LEND = 48, /* runs from here on are handed out where they are */
	/*
	 * A feed that has just begun to win gives rows one by one: among interleaved feeds that
	 * costs less than to find out how many could follow.
	 */
	MERGE_STREAK = 3,
};
static const uint32_t no_feed = UINT32_MAX;

/* There may be one for each of a million threads. The rows are the items of the core's input. */
struct merge_head {
	struct feed *feed; /* that has not begun; else NULL */
	union {
		int64_t begins; /* of a feed that has not begun: its item in the tree */
		struct feed_reader *reader; /* of one that has; NULL: it has ended */
	};
};

struct merge {
	struct merge_core core;
	struct spur_trace *trace;
	struct filter *filter; /* NULL: none */
	struct merge_head *heads; /* by input of the core */
	size_t nheads;
	uint8_t **marks; /* of the inputs' rows; NULL: rows have no marks */
	uint32_t batch; /* rows of a feed that are read at once */
	uint32_t stale;
	bool primed;
	bool out_ended;
	struct spur_event *out;
	uint8_t *out_marks; /* NULL: rows have no marks */
	struct filter_run *run; /* of a filter that needs the merged order */
};

/* Feeds that the filter lets in. */
static size_t merge_select(struct spur_trace *t, struct filter *filter, struct merge *m)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nfeeds; i++) {
		if (filter && filter_skips_feed(filter, t->feeds[i]))
			continue;
		if (m)
			m->heads[n].feed = t->feeds[i];
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
	size_t count = merge_select(t, filter, NULL);
	struct merge *m = mem_alloc(sizeof(*m));

	if (!m)
		return NULL;
	m->stale = no_feed;
	m->trace = t;
	m->filter = filter;
	m->batch = merge_batch(count);
	m->nheads = count;
	m->heads = mem_table_alloc(count, sizeof(*m->heads));
	m->out = mem_array(BATCH_ROWS, sizeof(*m->out));
	if (!m->heads || !m->out || count > UINT32_MAX ||
	    !merge_core_init(&m->core, (uint32_t)count, sizeof(*m->out)))
		goto fail;
	if (filter && filter_keeps_unseen(filter)) {
		m->out_marks = mem_array(BATCH_ROWS, 1);
		m->marks = mem_table_alloc(count, sizeof(*m->marks));
		if (!m->out_marks || !m->marks)
			goto fail;
	}
	if (filter && filter_is_global(filter) && !(m->run = filter_run_new(filter, FILTER_MERGED)))
		goto fail;
	merge_select(t, filter, m);
	return m;
fail:
	merge_free(m);
	return NULL;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; m->heads && i < m->core.count; i++)
		if (!m->heads[i].feed)
			feed_reader_free(m->heads[i].reader);
	merge_core_free(&m->core);
	filter_run_free(m->run);
	mem_table_free(m->heads, m->nheads, sizeof(*m->heads));
	mem_table_free(m->marks, m->nheads, sizeof(*m->marks));
	mem_free(m->out);
	mem_free(m->out_marks);
	mem_free(m);
}

static bool merge_is_over(const struct merge *m, uint32_t i)
{
	return !m->heads[i].feed && !m->heads[i].reader;
}

/* The next rows of a feed, which may begin with them; at its end its memory is freed. */
static enum spur_status merge_pull(struct merge *m, uint32_t i)
{
	struct merge_head *h = &m->heads[i];
	struct marked_rows rows;
	enum spur_status st;

	assert(m->core.inputs[i].pos == m->core.inputs[i].n);
	if (h->feed) {
		h->reader = feed_reader_new(m->trace, h->feed, m->filter, m->batch);
		h->feed = NULL;
		if (!h->reader)
			return SPUR_FAIL;
	}
	st = feed_reader_marked(h->reader, &rows);
	if (st == SPUR_FAIL)
		return SPUR_FAIL;
	if (st == SPUR_END) {
		rows.n = 0;
		feed_reader_free(h->reader);
		h->reader = NULL;
	}
	if (m->marks)
		m->marks[i] = rows.marks;
	return merge_core_give(&m->core, i, rows.rows, rows.n) ? SPUR_OK : SPUR_FAIL;
}

/* INVARIANT: the items of a feed that has begun are its reader's rows, which may be changed. */
static inline struct spur_event *input_rows(const struct merge_input *in)
{
	return (struct spur_event *)(uintptr_t)in->items;
}

/* The rows of a feed that were not handed out yet, up to before `end`. */
static struct marked_rows merge_rows(const struct merge *m, uint32_t i, size_t end)
{
	const struct merge_input *in = &m->core.inputs[i];
	uint8_t *marks = m->marks ? m->marks[i] : NULL;

	assert(in->pos <= end && end <= in->n);
	return marked_from((struct marked_rows){ input_rows(in), marks, end }, in->pos);
}

/*
 * Where it is known when a feed begins, that time stands for its first row until it wins: only
 * feeds that are read at once have memory.
 */
static enum spur_status merge_prime(struct merge *m)
{
	for (uint32_t i = 0; i < m->core.count; i++) {
		struct merge_head *h = &m->heads[i];

		if (m->core.inputs[i].n || merge_is_over(m, i))
			continue;
		if (h->feed && feed_begins(m->trace, h->feed, &h->begins))
			merge_core_give(&m->core, i, &h->begins, 1);
		else if (merge_pull(m, i) == SPUR_FAIL)
			return SPUR_FAIL;
	}
	merge_core_build(&m->core);
	m->primed = true;
	return SPUR_OK;
}

/* Sees to it that the tree can be asked. */
static enum spur_status merge_ready(struct merge *m)
{
	if (!m->primed)
		return merge_prime(m);
	if (m->stale == no_feed)
		return SPUR_OK;
	if (merge_pull(m, m->stale) == SPUR_FAIL)
		return SPUR_FAIL;
	merge_core_replay(&m->core, m->stale, sizeof(struct spur_event));
	m->stale = no_feed;
	return SPUR_OK;
}

/*
 * Rows in time order, before a filter that needs it. Stops where a feed must be pulled: on a pipe
 * that may wait.
 */
static enum spur_status merge_step(struct merge *m, struct marked_rows *out)
{
	struct merge_core *c = &m->core;
	size_t filled = 0;
	unsigned streak = MERGE_STREAK; /* rows that one feed gave in a row, one by one */
	uint32_t before = no_feed;

	if (merge_ready(m) == SPUR_FAIL)
		return SPUR_FAIL;
	*out = (struct marked_rows){ .rows = m->out, .marks = m->out_marks };
	while (filled < BATCH_ROWS && !(merge_core_first(c) & MERGE_ENDED)) {
		uint32_t w = merge_core_first(c);
		struct merge_input *in = &c->inputs[w];
		const struct merge_head *h = &m->heads[w];
		bool alone = streak < MERGE_STREAK;
		size_t run;
		bool lend;

		if (__builtin_expect(h->feed != NULL, 0)) {
			in->pos = in->n;
			if (merge_pull(m, w) == SPUR_FAIL)
				return SPUR_FAIL;
			merge_core_replay(c, w, sizeof(*m->out));
			continue;
		}
		run = alone ? 1 : merge_core_run(c, w, sizeof(*m->out));
		lend = !filled && run >= MERGE_LEND;

		assert(in->pos + run <= in->n);
		if (run == 1) {
			m->out[filled] = input_rows(in)[in->pos];
		} else if (lend) {
			*out = merge_rows(m, w, in->n);
		} else {
			run = run > BATCH_ROWS - filled ? BATCH_ROWS - filled : run;
			memcpy(m->out + filled, input_rows(in) + in->pos, run * sizeof(*m->out));
		}
		if (m->out_marks && !lend)
			memcpy(m->out_marks + filled, m->marks[w] + in->pos, run);
		streak = w == before ? streak + 1 : 0;
		before = w;
		filled += run;
		in->pos += (uint32_t)run;
		if (in->pos == in->n)
			m->stale = w;
		else
			merge_core_replay(c, w, sizeof(*m->out));
		if (lend || m->stale != no_feed)
			break;
	}
	out->n = filled;
	return filled ? SPUR_OK : SPUR_END;
}

/* --- windows --- */

/* Puts the rows of the next window in order. Rows of one feed alone are handed out as they are. */
static enum spur_status window_next(struct merge *m, struct marked_rows *out)
{
	struct merge_core *c = &m->core;
	uint32_t active[ORDER_WINDOW], n;

	for (uint32_t i = 0; i < c->count; i++)
		if (c->inputs[i].pos == c->inputs[i].n && !merge_is_over(m, i) &&
		    merge_pull(m, i) == SPUR_FAIL)
			return SPUR_FAIL;
	n = merge_core_window(c, active);
	if (!n)
		return SPUR_END;
	if (n > 1)
		return merge_core_sort(c, active, n) ? SPUR_OK : SPUR_FAIL;
	assert(c->windows[active[0]].safe <= c->inputs[active[0]].n);
	*out = merge_rows(m, active[0], c->windows[active[0]].safe);
	c->inputs[active[0]].pos = (uint32_t)c->windows[active[0]].safe;
	return SPUR_OK;
}

/* Up to a batch of rows in time order: of the order that is left, else of a new window. */
static enum spur_status window_step(struct merge *m, struct marked_rows *out)
{
	struct merge_input *const inputs = m->core.inputs;
	struct order *o = &m->core.order;
	const uint64_t *words;
	size_t n;

	*out = (struct marked_rows){ 0 };
	if (o->next == o->n) {
		const enum spur_status st = window_next(m, out);

		if (st != SPUR_OK || out->n)
			return st;
	}
	assert(o->next < o->n);
	n = o->n - o->next < BATCH_ROWS ? o->n - o->next : BATCH_ROWS;
	*out = (struct marked_rows){ .rows = m->out, .marks = m->out_marks, .n = n };
	words = o->words + o->next;
	for (size_t i = 0; i < n; i++) {
		const uint32_t number = order_number(words[i]);
		struct merge_input *in = &inputs[number];

		out->rows[i] = input_rows(in)[in->pos];
		if (out->marks)
			out->marks[i] = m->marks[number][in->pos];
		in->pos++;
	}
	o->next += n;
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
		if (!m->core.count || m->out_ended)
			return SPUR_END;
		st = m->core.windows ? window_step(m, &in) : merge_step(m, &in);
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
