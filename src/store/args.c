/* Rows of a trace by their items, for arguments. See store.h. */
#include "flow/pipe.h"
#include "store/parts.h"
#include "store/store.h"

static bool is_same(const struct spur_event *a, const struct spur_event *b)
{
	return a->ts == b->ts && a->kind == b->kind && a->nargs == b->nargs &&
	       (!a->nargs || (a->stream == b->stream && a->off == b->off));
}

/*
 * Looks in one feed, up to the row's time if rows are in order of their times. Returns SPUR_OK if
 * it has the row.
 */
static enum spur_status find_in_feed(struct spur_trace *t, struct feed *f, bool in_order,
				     const struct spur_event *want, struct spur_event *row)
{
	struct feed_reader *r = feed_reader_new(t, f, NULL, BATCH_ROWS);
	enum spur_status st = r ? SPUR_OK : SPUR_FAIL;
	struct spur_event *rows;
	bool found = false;
	size_t n;

	while (st == SPUR_OK && !found) {
		st = feed_reader_next(r, &rows, &n);
		for (size_t i = 0; st == SPUR_OK && i < n && !found; i++) {
			found = is_same(&rows[i], want);
			if (found)
				*row = rows[i];
			if (in_order && rows[i].ts > want->ts)
				st = SPUR_END;
		}
	}
	feed_reader_free(r);
	return st == SPUR_FAIL ? SPUR_FAIL : found ? SPUR_OK : SPUR_END;
}

struct joined_search {
	const struct spur_event *want;
	struct spur_event *row;
	bool found;
};

static bool joined_rows(void *self, struct spur_event *rows, size_t n)
{
	struct joined_search *const s = self;

	for (size_t i = 0; i < n && !s->found && rows[i].ts <= s->want->ts; i++) {
		s->found = is_same(&rows[i], s->want);
		if (s->found)
			*s->row = rows[i];
	}
	return !s->found && n && rows[n - 1].ts <= s->want->ts;
}

/* The same for a joined trace, which has no feeds of its own. */
static enum spur_status find_joined(struct spur_trace *t, const struct spur_event *want,
				    struct spur_event *row)
{
	struct joined_search s = { want, row, false };
	const enum spur_status st =
		pipe_run_merged(t, &(struct pipe_options){ .threads = 1 }, joined_rows, &s);

	return st == SPUR_FAIL ? SPUR_FAIL : s.found ? SPUR_OK : SPUR_END;
}

enum spur_status store_find_row(const struct store *s, uint32_t lane, uint64_t number, bool end,
				struct spur_trace *t, struct spur_event *row)
{
	const struct store_facts f = store_facts(s);
	/* What a trace says wrong of its times may hide the row from a reader that seeks. */
	const bool in_order = f.done && !(f.facts & STORE_NOTED);
	enum spur_status st = SPUR_END;
	struct spur_event want;
	uint32_t feed;

	if (!store_row(s, lane, number, end, &want))
		return SPUR_END;
	feed = s->writer ? growing_lane(s->writer, lane)->feed : s->lanes[lane].feed;
	if (in_order)
		trace_want(t, want.ts, want.ts < INT64_MAX ? want.ts + 1 : INT64_MAX);
	if (t->nparts)
		return find_joined(t, &want, row);
	if (!t->tracks_shared)
		return feed >= t->nfeeds
			       ? SPUR_END
			       : find_in_feed(t, t->feeds[feed], in_order, &want, row);
	for (size_t i = 0; i < t->nfeeds && st == SPUR_END; i++)
		st = find_in_feed(t, t->feeds[i], in_order, &want, row);
	return st;
}
