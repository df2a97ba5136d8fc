/* Expressions of --where over the whole trace: it is read once more, with commands' filter. */
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "flow/open.h"
#include "flow/pipe.h"
#include "view/find.h"

enum { HITS_MOST = 100000 };

struct view_found {
	char *query;
	struct view_hit *hits;
	size_t n, cap;
	uint64_t total;
	uint64_t rows; /* of the store when the trace was read */
};

/* Returns true if a row begins something that the page can go to. */
static bool is_shown(const struct spur_event *row)
{
	return row->kind != SPUR_END_SPAN && row->kind != SPUR_COUNTER &&
	       !(row->kind == SPUR_SWITCH && row->flags & SPUR_F_IN);
}

static bool where_rows(void *self, struct spur_event *rows, size_t n)
{
	struct view_found *const f = self;

	for (size_t i = 0; i < n; i++) {
		if (!is_shown(&rows[i]))
			continue;
		f->total++;
		if (f->n == HITS_MOST)
			continue;
		if (!mem_grow((void **)&f->hits, &f->cap, f->n + 1, sizeof(*f->hits), HITS_MOST))
			return false;
		f->hits[f->n++] = (struct view_hit){ .ts = rows[i].ts,
						     .off = rows[i].off,
						     .stream = rows[i].stream };
	}
	return true;
}

static void found_free(struct view_found *f)
{
	mem_free(f->query);
	mem_free(f->hits);
	*f = (struct view_found){ 0 };
}

/* Returns true if the trace was being written when it was opened. */
static bool is_growing(const struct spur_trace *t)
{
	return t->live || t->options.follow;
}

/*
 * Opens the trace once more. One that is being written is read as far as it goes by now. Returns
 * SPUR_WARN if its bytes are gone once they were read.
 */
static enum spur_status open_again(const struct view *v, struct spur_trace **t,
				   struct spur_error *err)
{
	struct spur_options options = v->trace->options;
	struct stat st;

	if (!is_growing(v->trace) || v->trace->unnamed || strcmp(v->trace->path, "-") == 0 ||
	    os_stat(v->trace->path, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return trace_open_again(t, v->trace, err);
	options.follow = false;
	return trace_open(t, v->trace->path, &options, NULL, err);
}

static bool where_read(struct view *v, struct view_found *f, struct spur_error *err)
{
	const struct filter_item item = { .what = FILTER_WHERE, .text = f->query };
	const struct filter_spec spec = { .items = &item, .nitems = 1 };
	struct pipe_options pipe = { .stop = v->stop };
	struct spur_trace *t = NULL;
	enum spur_status st;
	int64_t first;

	if (view_trace_changed(v)) {
		err_set(err, SPUR_ERR_USAGE,
			"the trace has changed since it was read: end the viewer and start it "
			"again");
		return false;
	}
	f->rows = store_facts(v->store).rows;
	st = open_again(v, &t, err);
	if (st == SPUR_WARN)
		err_set(err, SPUR_ERR_USAGE,
			"expressions need a trace that can be read twice; this one is a pipe or a "
			"live session");
	if (st != SPUR_OK)
		return false;
	st = trace_start(t, &first);
	if (st != SPUR_FAIL)
		st = filter_new(&pipe.filter, t, &spec, err);
	if (st != SPUR_FAIL && pipe_run_merged(t, &pipe, where_rows, f) == SPUR_FAIL)
		st = err_set(err, SPUR_ERR_MEMORY, "out of memory");
	filter_free(pipe.filter);
	trace_close(t);
	return st != SPUR_FAIL;
}

/* Returns true if the trace has grown since it was read. */
static bool is_old(const struct view *v, const struct view_found *f)
{
	return is_growing(v->trace) && store_facts(v->store).rows != f->rows;
}

bool view_where(struct view *v, const char *query, struct view_hits *out, struct spur_error *err)
{
	struct view_found *f;
	bool good = true;

	*out = (struct view_hits){ 0 };
	if (!v->found)
		v->found = mem_alloc(sizeof(*v->found));
	f = v->found;
	if (f && (!f->query || strcmp(f->query, query) || is_old(v, f))) {
		const size_t len = strlen(query);

		found_free(f);
		f->query = mem_alloc(len + 1);
		if (f->query)
			memcpy(f->query, query, len);
		good = f->query && where_read(v, f, err);
		if (!good)
			found_free(f);
	}
	if (!f || (!good && !err->code)) {
		err_set(err, SPUR_ERR_MEMORY, "out of memory");
		good = false;
	}
	if (good)
		*out = (struct view_hits){ .hits = f->hits, .n = f->n, .total = f->total };
	return good;
}

void view_found_free(struct view *v)
{
	if (v->found)
		found_free(v->found);
	mem_free(v->found);
	v->found = NULL;
	view_counted_free(v);
}

/* The item of a hit: of those that begin at its time the one with its record. */
static bool hit_place(const struct view *v, const struct view_hit *h, struct store_place *out)
{
	const struct store_query q = { .from = h->ts,
				       .to = h->ts == INT64_MAX ? h->ts : h->ts + 1 };
	const struct store_place *after = NULL;
	struct store_place p;
	struct spur_event row;

	while (store_next(v->store, &q, after, false, &p) == SPUR_OK) {
		*out = p;
		if (store_row(v->store, p.lane, p.number, false, &row) && row.off == h->off &&
		    row.stream == h->stream)
			return true;
		after = out;
	}
	return false;
}

bool view_hit_next(const struct view *v, const struct view_hits *hits,
		   const struct store_place *after, bool back, struct store_place *out)
{
	struct spur_event row = { 0 };
	size_t at = 0, end = hits->n;
	bool same = false;

	/* The first hit that does not begin before `after`. */
	while (after && at < end) {
		const size_t m = at + (end - at) / 2;

		if (hits->hits[m].ts < after->start)
			at = m + 1;
		else
			end = m;
	}
	if (after && !store_row(v->store, after->lane, after->number, false, &row))
		row.stream = SPUR_NONE;
	for (size_t i = at; after && i < hits->n && hits->hits[i].ts == after->start; i++)
		if (hits->hits[i].off == row.off && hits->hits[i].stream == row.stream) {
			at = i;
			same = true;
			break;
		}
	if (!back) {
		for (size_t i = at + same; i < hits->n; i++)
			if (hit_place(v, &hits->hits[i], out))
				return true;
		return false;
	}
	for (size_t i = after ? at : hits->n; i-- > 0;)
		if (hit_place(v, &hits->hits[i], out))
			return true;
	return false;
}
