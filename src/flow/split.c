/*
 * See split.h. One pass over the rows, merged by time, notes the records of each part
 * (model/kept.h); then the format copies part after part.
 */
#include "flow/split.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/intern.h"
#include "base/map64.h"
#include "flow/cut.h"

enum { LABEL_LEN = 64, NAME_LEN = 128 };

struct part {
	struct kept *kept;
	uint64_t key; /* the track, or the number of the part */
	int64_t from, until; /* times of its first and last row */
};

struct run {
	struct split *split;
	struct spur_trace *trace;
	struct part *parts;
	size_t count, cap;
	struct map64 by_key; /* key -> index of the part + 1 */
	uint64_t rows, bytes; /* so far */
	uint64_t last; /* the key of the latest row's part */
	int64_t start; /* time of the first row */
	bool too_many, failed;
	struct intern *names; /* of parts that were written */
};

/* The key of the part that a row belongs to. */
static uint64_t key_of(const struct run *r, const struct spur_event *row)
{
	const uint64_t each = r->split->each;

	switch (r->split->by) {
	case SPLIT_THREAD:
		return trace_thread_of(r->trace, row->track);
	case SPLIT_PROCESS:
		return trace_process_of(r->trace, row->track);
	case SPLIT_TIME:
		return row->ts > r->start ? ((uint64_t)row->ts - (uint64_t)r->start) / each : 0;
	case SPLIT_COUNT:
		return r->rows / each;
	case SPLIT_SIZE:
		return r->bytes / each;
	}
	return 0;
}

/* Returns the part of a key, which is made if it is new, or NULL. */
static struct part *part_of(struct run *r, uint64_t key)
{
	struct map64_slot *slot = map64_put(&r->by_key, key);
	struct part *p;

	if (!slot)
		return NULL;
	if (slot->value)
		return &r->parts[slot->value - 1];
	r->too_many = r->count == SPLIT_PARTS;
	if (r->too_many ||
	    !mem_grow((void **)&r->parts, &r->cap, r->count + 1, sizeof(*r->parts), SPLIT_PARTS))
		return NULL;
	p = &r->parts[r->count];
	*p = (struct part){ .kept = kept_new(), .key = key, .from = INT64_MAX, .until = INT64_MIN };
	if (!p->kept)
		return NULL;
	slot->value = ++r->count;
	return p;
}

/*
 * The rows of one record, such as a switch of threads, stay in one part, unless parts are threads
 * or processes: then each has the record. Returns the part, or NULL if there are too many.
 */
static struct part *part_next(struct run *r, const struct spur_event *row, uint64_t key,
			      uint64_t last)
{
	const bool follows = r->split->by != SPLIT_THREAD && r->split->by != SPLIT_PROCESS;
	const struct map64_slot *slot =
		follows && r->rows && key != last ? map64_find(&r->by_key, last) : NULL;
	struct part *before = slot && slot->value ? &r->parts[slot->value - 1] : NULL;

	if (before && kept_has(before->kept, row->stream, row->off))
		return before;
	return part_of(r, key);
}

/*
 * A row that the reader made, which something in the data tells if it has a length: it belongs to
 * its part, but makes none. Returns false if out of memory.
 */
static bool implied_keep(struct run *r, const struct spur_event *row)
{
	const struct map64_slot *slot =
		row->len && r->rows ? map64_find(&r->by_key, key_of(r, row)) : NULL;

	return !slot || !slot->value ||
	       kept_add(r->parts[slot->value - 1].kept, row->stream, row->off);
}

static bool split_rows(void *self, struct spur_event *rows, size_t n)
{
	struct run *r = self;
	struct part *p = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct spur_event *row = &rows[i];
		uint64_t key;

		if (row->flags & SPUR_F_IMPLIED) {
			if (!implied_keep(r, row)) {
				r->failed = true;
				return false;
			}
			continue;
		}
		r->start = r->rows ? r->start : row->ts;
		key = key_of(r, row);
		if (!p || key != p->key)
			p = part_next(r, row, key, r->last);
		if (!p || !kept_add(p->kept, row->stream, row->off)) {
			r->failed = true;
			return false;
		}
		r->last = p->key;
		p->from = row->ts < p->from ? row->ts : p->from;
		p->until = row->ts > p->until ? row->ts : p->until;
		r->rows++;
		r->bytes += row->len;
	}
	return true;
}

/* What a part is, without the ending of its name. */
static void part_label(const struct run *r, size_t number, char name[LABEL_LEN])
{
	const struct part *p = &r->parts[number];
	const struct spur_track *k;
	int64_t pid;

	if (r->split->by != SPLIT_THREAD && r->split->by != SPLIT_PROCESS) {
		snprintf(name, LABEL_LEN, "part-%05" PRIu64, p->key);
		return;
	}
	k = p->key == SPUR_NONE ? NULL : trace_track(r->trace, (uint32_t)p->key);
	pid = k ? trace_pid_of(r->trace, (uint32_t)p->key) : -1;
	if (!k || (pid == -1 && k->tid == -1))
		snprintf(name, LABEL_LEN, "other-%zu", number);
	else if (r->split->by == SPLIT_PROCESS || k->tid == -1)
		snprintf(name, LABEL_LEN, "process-%" PRIu64, (uint64_t)pid);
	else if (pid == -1)
		snprintf(name, LABEL_LEN, "thread-%" PRIu64, (uint64_t)k->tid);
	else
		snprintf(name, LABEL_LEN, "thread-%" PRIu64 "-%" PRIu64, (uint64_t)pid,
			 (uint64_t)k->tid);
}

/*
 * The name of a part's file or directory. The number of the part tells parts of equal ids apart.
 * Returns false if out of memory.
 */
static bool part_name(const struct run *r, size_t number, char name[NAME_LEN])
{
	const char *ending = r->split->ending;
	char label[LABEL_LEN];

	part_label(r, number, label);
	snprintf(name, NAME_LEN, "%s%s", label, ending);
	if (intern_find(r->names, name, strlen(name)) != INTERN_NONE)
		snprintf(name, NAME_LEN, "%s-%zu%s", label, number, ending);
	return intern_put(r->names, name, strlen(name)) != INTERN_NONE;
}

static void losses_add(struct split *split, const struct copy *c)
{
	split->bytes_lost += c->bytes_lost;
	split->damaged |= c->damaged;
}

/* Copies a part to a directory below the output. */
static enum spur_status copy_dir(const struct copy *part, struct outdir *dir, const char *name,
				 struct split *split)
{
	struct outdir below;
	struct copy c = *part;
	enum spur_status st = outdir_below(&below, dir, name, c.err);

	c.dir = &below;
	if (st != SPUR_FAIL)
		st = cut_copy(c.parts->trace->format, &c);
	outdir_leave(&below, dir);
	losses_add(split, &c);
	return st;
}

static enum spur_status copy_file(const struct copy *part, struct outdir *dir, const char *name,
				  struct split *split)
{
	struct out o;
	struct copy c = *part;
	enum spur_status st = outdir_create(dir, name, &o, c.err), end;

	c.out = &o;
	if (st == SPUR_FAIL)
		return st;
	st = cut_copy(c.parts->trace->format, &c);
	end = outdir_finish(dir, name, &o, st == SPUR_FAIL ? NULL : c.err);
	losses_add(split, &c);
	return end == SPUR_FAIL ? end : st;
}

static enum spur_status part_copy(struct run *r, size_t number)
{
	struct part *p = &r->parts[number];
	struct copy c = { .notes = r->split->notes,
			  .stop = r->split->pipe.stop,
			  .err = &r->split->error };
	struct copy_part *const from = cut_parts(r->trace, &c.count);
	char name[NAME_LEN];
	enum spur_status st = SPUR_FAIL;

	for (size_t i = 0; from && i < c.count; i++) {
		from[i].kept = p->kept;
		from[i].from = p->from;
		from[i].until = p->until;
	}
	c.parts = from;
	c.one_run = cut_format(r->trace) != r->trace->format;
	if (from && part_name(r, number, name))
		st = cut_is_dir(r->trace) ? copy_dir(&c, r->split->dir, name, r->split)
					  : copy_file(&c, r->split->dir, name, r->split);
	mem_free(from);
	kept_free(p->kept);
	p->kept = NULL;
	return st;
}

static void run_free(struct run *r)
{
	for (size_t i = 0; i < r->count; i++)
		kept_free(r->parts[i].kept);
	mem_free(r->parts);
	map64_free(&r->by_key);
	if (r->names)
		intern_free(r->names);
}

/* Parts are copied in the order in which they begin. */
static enum spur_status parts_copy(struct run *r)
{
	const volatile int *stop = r->split->pipe.stop;
	enum spur_status st = SPUR_OK;

	for (size_t i = 0; st != SPUR_FAIL && i < r->count && !(stop && *stop); i++)
		st = part_copy(r, i);
	return st;
}

enum spur_status split_run(struct split *s, struct spur_trace *t)
{
	struct run r = { .split = s, .trace = t, .names = intern_new() };
	enum spur_status st = SPUR_FAIL;

	assert(s->each && s->dir);
	t->want_places = true;
	if (!cut_format(t)->copy)
		err_set(&s->error, SPUR_ERR_USAGE, "traces of the format %s cannot be split",
			t->format->name);
	else if (r.names && pipe_run_merged(t, &s->pipe, split_rows, &r) != SPUR_FAIL && !r.failed)
		st = parts_copy(&r);
	if (r.too_many)
		err_set(&s->error, SPUR_ERR_USAGE,
			"expected at most %d parts, found more; choose larger ones", SPLIT_PARTS);
	if (st == SPUR_FAIL && !s->error.code)
		err_nomem(&s->error);
	s->count = r.count;
	run_free(&r);
	return st == SPUR_OK && !s->count ? SPUR_WARN : st;
}
