/* See cut.h. Each worker notes records in a set of its own; the sets are joined at the end. */
#include "flow/cut.h"

#include <assert.h>

#include "base/err.h"

struct worker {
	struct kept *kept;
	int64_t from, until; /* times of the first and the last row */
};

static bool worker_rows(void *worker, struct spur_event *rows, size_t n)
{
	struct worker *w = worker;

	for (size_t i = 0; i < n; i++) {
		const struct spur_event *row = &rows[i];

		if (row->flags & SPUR_F_IMPLIED)
			continue;
		w->from = row->ts < w->from ? row->ts : w->from;
		w->until = row->ts > w->until ? row->ts : w->until;
		if (!kept_add(w->kept, row->stream, row->off))
			return false;
	}
	return true;
}

static void workers_free(struct worker *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		kept_free(w[i].kept);
	mem_free(w);
}

/* Joins the sets of all workers in that of the first one. Returns false if out of memory. */
static bool workers_join(struct worker *w, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		w->from = w[i].from < w->from ? w[i].from : w->from;
		w->until = w[i].until > w->until ? w[i].until : w->until;
		if (!kept_join(w->kept, w[i].kept))
			return false;
		kept_free(w[i].kept);
		w[i].kept = NULL;
	}
	return true;
}

/* Notes the records of the rows that pass the filter. Returns false if out of memory. */
static bool select_rows(const struct cut *c, struct spur_trace *t, struct copy_part *part,
			struct kept **kept)
{
	static const struct pipe_fold fold = { .rows = worker_rows };
	const unsigned n = pipe_workers(t, &c->pipe);
	struct worker *w = mem_array(n, sizeof(*w));
	void **states = mem_array(n, sizeof(*states));
	bool good = w && states;

	assert(n);
	for (unsigned i = 0; good && i < n; i++) {
		w[i] = (struct worker){ kept_new(), INT64_MAX, INT64_MIN };
		states[i] = &w[i];
		good = w[i].kept != NULL;
	}
	good = good && pipe_run_feeds(t, &c->pipe, &fold, states) != SPUR_FAIL &&
	       workers_join(w, n);
	if (good) {
		*kept = w->kept;
		w->kept = NULL;
		part->kept = *kept;
		part->from = w->from;
		part->until = w->until;
	}
	if (w)
		workers_free(w, n);
	mem_free(states);
	return good;
}

/* The parts of a copy of several traces. Returns NULL if out of memory. */
static struct copy_part *parts_make(const struct spur_trace *t)
{
	struct copy_part *parts = mem_array(t->nparts, sizeof(*parts));

	for (size_t i = 0; parts && i < t->nparts; i++)
		parts[i] = (struct copy_part){ .trace = t->parts[i].trace,
					       .from = INT64_MIN,
					       .until = INT64_MAX,
					       .shift = t->parts[i].map.shift };
	return parts;
}

bool cut_joins(const struct cut *c, const struct spur_trace *t)
{
	const struct spur_format *format = t->nparts ? t->parts[0].trace->format : NULL;
	struct copy copy = { .count = t->nparts };
	struct copy_part *parts;
	bool good = format && format->copy && format->joins && !c->pipe.filter && !c->pipe.limit;

	for (size_t i = 0; good && i < t->nparts; i++)
		good = t->parts[i].trace->format == format && !t->parts[i].map.drift;
	parts = good ? parts_make(t) : NULL;
	copy.parts = parts;
	good = parts && format->joins(&copy);
	mem_free(parts);
	return good;
}

enum spur_status cut_copy(const struct spur_format *format, struct copy *copy)
{
	struct out *notes = copy->notes, lines;
	enum spur_status st;

	out_to_memory(&lines);
	copy->notes = &lines;
	st = format->copy(copy);
	copy->notes = notes;
	for (size_t at = 0; notes && at < lines.len;) {
		const char *end = memchr(lines.buf + at, '\n', lines.len - at);
		const size_t next = end ? (size_t)(end - lines.buf) + 1 : lines.len;

		out_str(notes, "spur: ");
		out_bytes(notes, lines.buf + at, next - at);
		at = next;
	}
	/* An error of the output is reported when that is closed. */
	if (st == SPUR_FAIL && !copy->err->code && copy->out && copy->out->error)
		st = SPUR_OK;
	else if (st == SPUR_FAIL && !copy->err->code)
		err_nomem(copy->err);
	out_free(&lines);
	return st;
}

/* Copies what was chosen. */
static enum spur_status parts_copy(struct cut *c, const struct spur_format *format,
				   const struct copy_part *parts, size_t count)
{
	enum spur_status st;

	c->copy = (struct copy){ .parts = parts,
				 .count = count,
				 .sorted = c->sorted,
				 .repair = c->repair,
				 .out = c->out,
				 .dir = c->dir,
				 .notes = c->notes,
				 .stop = c->pipe.stop,
				 .err = &c->error };
	st = cut_copy(format, &c->copy);
	c->copy.parts = NULL;
	return st;
}

enum spur_status cut_run(struct cut *c, struct spur_trace *t)
{
	struct copy_part part = { .trace = t, .from = INT64_MIN, .until = INT64_MAX };
	struct copy_part *joined = NULL;
	struct kept *kept = NULL;
	enum spur_status st = SPUR_OK;

	if (cut_joins(c, t)) {
		joined = parts_make(t);
		st = joined ? parts_copy(c, t->parts[0].trace->format, joined, t->nparts)
			    : err_nomem(&c->error);
		mem_free(joined);
		return st;
	}
	t->want_places = true;
	if (!t->format->copy)
		return err_set(
			&c->error, SPUR_ERR_USAGE,
			"traces of the format %s cannot be copied; spur convert writes other "
			"formats",
			t->format->name);
	if ((c->pipe.filter || c->pipe.limit) && !select_rows(c, t, &part, &kept))
		st = err_nomem(&c->error);
	c->none = kept && !kept_count(kept);
	if (st != SPUR_FAIL && !c->none)
		st = parts_copy(c, t->format, &part, 1);
	kept_free(kept);
	return st;
}
