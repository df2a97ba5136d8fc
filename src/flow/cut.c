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

		/* A row that the reader made is kept where something in the data tells it. */
		if ((row->flags & SPUR_F_IMPLIED) && !row->len)
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

/* Returns true if the trace is a directory whose files are parts of one copy. */
static bool is_run(const struct spur_trace *t)
{
	return t->nparts && t->one_run && t->parts[0].trace->format->copies_runs;
}

const struct spur_format *cut_format(const struct spur_trace *t)
{
	return is_run(t) ? t->parts[0].trace->format : t->format;
}

bool cut_is_dir(const struct spur_trace *t)
{
	return is_run(t) || (t->format->copies_to_dir && t->format->copies_to_dir(t));
}

/* Adds the parts that an input of a join consists of, or counts them (`to` is NULL). */
static size_t input_parts(struct spur_trace *t, int64_t shift, uint32_t input, struct copy_part *to)
{
	const size_t n = is_run(t) ? t->nparts : 1;
	uint32_t stream = 0;

	for (size_t i = 0; to && i < n; i++) {
		struct spur_trace *const part = is_run(t) ? t->parts[i].trace : t;

		to[i] = (struct copy_part){ .trace = part,
					    .from = INT64_MIN,
					    .until = INT64_MAX,
					    .shift = shift,
					    .stream = stream,
					    .input = input };
		stream += (uint32_t)part->nstreams;
	}
	return n;
}

struct copy_part *cut_parts(struct spur_trace *t, size_t *count)
{
	const bool joins = t->nparts && !is_run(t);
	const size_t inputs = joins ? t->nparts : 1;
	struct copy_part *parts = NULL;

	/* First to count them, then to make them. */
	for (int pass = 0; pass < 2 && (!pass || parts); pass++) {
		size_t n = 0;

		for (size_t i = 0; i < inputs; i++)
			n += input_parts(joins ? t->parts[i].trace : t,
					 joins ? t->parts[i].map.shift : 0, (uint32_t)i,
					 parts ? parts + n : NULL);
		*count = n;
		if (!pass)
			parts = mem_array(n, sizeof(*parts));
	}
	return parts;
}

bool cut_joins(const struct cut *c, struct spur_trace *t)
{
	const struct spur_format *format = t->nparts ? cut_format(t->parts[0].trace) : NULL;
	struct copy copy = { .count = 0 };
	struct copy_part *parts;
	bool good = format && !is_run(t) && format->copy && format->joins && !c->pipe.filter &&
		    !c->pipe.limit;

	for (size_t i = 0; good && i < t->nparts; i++)
		good = cut_format(t->parts[i].trace) == format && !t->parts[i].map.drift;
	parts = good ? cut_parts(t, &copy.count) : NULL;
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
	copy->damaged |= copy->bytes_lost != 0;
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
static enum spur_status parts_copy(struct cut *c, struct spur_trace *t,
				   const struct copy_part *parts, size_t count)
{
	enum spur_status st;

	c->copy = (struct copy){ .parts = parts,
				 .count = count,
				 .one_run = is_run(t),
				 .sorted = c->sorted,
				 .repair = c->repair,
				 .out = c->out,
				 .dir = c->dir,
				 .notes = c->notes,
				 .stop = c->pipe.stop,
				 .err = &c->error };
	st = cut_copy(parts->trace->format, &c->copy);
	c->copy.parts = NULL;
	return st;
}

/* Copies a trace that joins several. */
static enum spur_status join_copy(struct cut *c, struct spur_trace *t)
{
	size_t count;
	struct copy_part *const parts = cut_parts(t, &count);
	const enum spur_status st = parts ? parts_copy(c, t, parts, count) : err_nomem(&c->error);

	mem_free(parts);
	return st;
}

enum spur_status cut_run(struct cut *c, struct spur_trace *t)
{
	struct copy_part part = { .from = INT64_MIN, .until = INT64_MAX }, *parts;
	struct kept *kept = NULL;
	enum spur_status st = SPUR_OK;
	size_t count;

	if (cut_joins(c, t))
		return join_copy(c, t);
	t->want_places = true;
	if (!cut_format(t)->copy)
		return err_set(
			&c->error, SPUR_ERR_USAGE,
			"traces of the format %s cannot be copied; spur convert writes other "
			"formats",
			t->format->name);
	parts = cut_parts(t, &count);
	if (!parts || ((c->pipe.filter || c->pipe.limit) && !select_rows(c, t, &part, &kept)))
		st = err_nomem(&c->error);
	for (size_t i = 0; parts && i < count; i++) {
		parts[i].kept = kept;
		parts[i].from = part.from;
		parts[i].until = part.until;
	}
	c->none = kept && !kept_count(kept);
	if (st != SPUR_FAIL && !c->none)
		st = parts_copy(c, t, parts, count);
	mem_free(parts);
	kept_free(kept);
	return st;
}
