/*
 * Joins uftrace directories by moving their records: tasks, sessions, maps and symbols of all parts
 * are put together, ids and names that mean different things are kept apart. Parts whose records
 * cannot stand beside each other (other byte orders, specifications of arguments, files of the
 * kernel) are not joined; they are merged by their rows then.
 */
#include <stdlib.h>

#include "base/err.h"
#include "format/uftrace/joining.h"

enum {
	ID_STEP = 1 << 22, /* as for other formats (docs/merging.md) */
	ID_TRIES = 256,
	PARTS_MAX = 1024,
	MAX_RECORD_FILES = 1 << 22,
};

/* --- what the parts have in common --- */

static bool has_specs(const struct uftrace_info *i)
{
	return i->argspec.p || i->retspec.p || i->argauto.p || i->retauto.p || i->enumauto.p ||
	       i->auto_args;
}

/* The first part whose records may have arguments, or the first one. */
static const struct uftrace_info *specs_of(const struct joining *j)
{
	for (size_t i = 0; i < j->count; i++)
		if (has_specs(&j->parts[i].u->d.info))
			return &j->parts[i].u->d.info;
	return &j->parts[0].u->d.info;
}

static bool same_specs(const struct uftrace_info *a, const struct uftrace_info *b)
{
	return same_text(a->argspec, b->argspec) && same_text(a->retspec, b->retspec) &&
	       same_text(a->argauto, b->argauto) && same_text(a->retauto, b->retauto) &&
	       same_text(a->enumauto, b->enumauto) && a->auto_args == b->auto_args;
}

/* Returns true if records of both mean the same to a reader of either. */
static bool same_kind(const struct uftrace *a, const struct uftrace *b)
{
	static const uint64_t alike =
		1u << UFTRACE_SYM_REL_ADDR | 1u << UFTRACE_ESTIMATE_RETURN | 1u << UFTRACE_SYM_SIZE;
	const struct uftrace_info *x = &a->d.info, *y = &b->d.info;

	return x->big_endian == y->big_endian && x->is64 == y->is64 &&
	       !((x->features ^ y->features) & alike) && same_text(x->arch, y->arch) &&
	       same_text(x->pattern_type, y->pattern_type) && a->qemu == b->qemu &&
	       a->shallow == b->shallow && same_text(a->d.default_opts, b->d.default_opts);
}

static bool times_fit(const struct join_part *p)
{
	for (size_t i = 0; p->k.shift && i < p->u->nfiles; i++) {
		struct uftrace_file *f = &p->u->files[i];
		int64_t moved;

		if (text_is(copying_unpacked(uftrace_file_name(p->u, f)), "extern.dat"))
			return false;
		if (f->cpu == SPUR_NO_CPU &&
		    (__builtin_add_overflow((int64_t)copying_first_time(p->u, f), p->k.shift,
					    &moved) ||
		     moved < 0))
			return false;
	}
	return true;
}

static bool has_file(const struct uftrace *u, const char *name)
{
	for (size_t i = 0; i < u->nfiles; i++)
		if (text_is(copying_unpacked(uftrace_file_name(u, &u->files[i])), name))
			return true;
	return false;
}

/* The only session of a trace has records of all tasks; beside others, those of listed tasks. */
static bool sessions_fit(const struct join_part *p)
{
	const struct uftrace_data *d = &p->u->d;

	for (size_t i = 0; d->nsessions == 1 && i < p->u->t->nfeeds; i++) {
		const struct uftrace_feed uf = uftrace_feed_at(p->u, i);
		const uint64_t time = uftrace_has_dat(&uf) ? copying_first_time(p->u, uf.file) : 0;

		if (time && !uftrace_session_at(d, uf.tid, time))
			return false;
	}
	return true;
}

static bool parts_fit(const struct joining *j)
{
	const struct uftrace_info *specs = specs_of(j);
	size_t externs = 0;

	for (size_t i = 0; i < j->count; i++) {
		const struct join_part *p = &j->parts[i];

		externs += has_file(p->u, "extern.dat");
		if (!copying_info_valid(p->u) || !p->u->d.nsessions || p->u->kernel ||
		    !same_kind(p->u, j->parts[0].u) || !times_fit(p) || !sessions_fit(p) ||
		    externs > 1 || (has_specs(&p->u->d.info) && !same_specs(&p->u->d.info, specs)))
			return false;
	}
	return true;
}

/* --- ids --- */

bool join_id(struct joining *j, struct join_part *p, int64_t id, int64_t *joined)
{
	struct map64_slot *of_part, *used;
	int64_t next = id;

	*joined = id;
	if (id <= 0)
		return true;
	p = p->twin;
	of_part = map64_find(&p->ids, (uint64_t)id);
	if (of_part) {
		*joined = (int64_t)of_part->value;
		return true;
	}
	for (int i = 1; map64_find(&j->used, (uint64_t)next); i++) {
		next = id + (int64_t)i * ID_STEP;
		if (i > ID_TRIES || next > INT32_MAX)
			return false;
	}
	used = map64_put(&j->used, (uint64_t)next);
	of_part = used ? map64_put(&p->ids, (uint64_t)id) : NULL;
	j->failed |= !of_part;
	if (!of_part)
		return false;
	of_part->value = (uint64_t)next;
	p->k.notes[NOTE_RENUMBERED] += next != id;
	*joined = next;
	return true;
}

/* Gives ids to the processes and threads that a part traced, in front of all others. */
static bool ids_of_part(struct joining *j, struct join_part *p)
{
	struct uftrace_lines lines = p->u->d.lines;
	struct uftrace_line l;
	int64_t id;

	while (uftrace_next_line(&lines, &l))
		if (!join_id(j, p, l.tid, &id) || !join_id(j, p, l.pid, &id))
			return false;
	for (size_t i = 0; i < p->u->t->nfeeds; i++) {
		const struct uftrace_feed uf = uftrace_feed_at(p->u, i);

		if (uftrace_has_dat(&uf) && !join_id(j, p, uf.tid, &id))
			return false;
	}
	return true;
}

/* --- files with records --- */

static bool records_add(struct joining *j, struct join_records r)
{
	if (!mem_grow((void **)&j->records, &j->records_cap, j->nrecords + 1, sizeof(r),
		      MAX_RECORD_FILES)) {
		j->failed = true;
		return false;
	}
	j->records[j->nrecords++] = r;
	return true;
}

static bool records_of_part(struct joining *j, size_t part)
{
	struct join_part *p = &j->parts[part];

	for (size_t i = 0; i < p->u->t->nfeeds; i++) {
		const struct uftrace_feed uf = uftrace_feed_at(p->u, i);
		struct join_records r = { .own = uf.tid, .part = part, .file = uf.file };

		if (!uftrace_has_dat(&uf))
			continue;
		if (!join_id(j, p, uf.tid, &r.number) || !records_add(j, r))
			return false;
		j->calls |= p->u->t->streams[uftrace_file_stream(p->u, uf.file)].size != 0;
	}
	for (size_t i = 0; i < p->u->nfiles; i++) {
		struct uftrace_file *f = &p->u->files[i];

		if (text_starts(uftrace_file_name(p->u, f), "perf-") &&
		    !records_add(j, (struct join_records){ .number = f->cpu,
							   .own = f->cpu,
							   .part = part,
							   .file = f,
							   .perf = true }))
			return false;
	}
	return true;
}

static int by_output(const void *a, const void *b)
{
	const struct join_records *x = a, *y = b;

	if (x->perf != y->perf)
		return x->perf - y->perf;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->part < y->part ? -1 : x->part > y->part;
}

/* --- the whole --- */

/* Returns true if a task has the same first record in both, so that they overlap. */
static bool begin_alike(const struct join_part *a, const struct join_part *b)
{
	for (size_t i = 0, n = 0; i < a->u->t->nfeeds && n < b->u->t->nfeeds;) {
		const struct uftrace_feed x = uftrace_feed_at(a->u, i),
					  y = uftrace_feed_at(b->u, n);
		uint64_t time;

		if (x.tid != y.tid || x.is_extern || !x.file || !y.file) {
			i += x.tid <= y.tid;
			n += y.tid <= x.tid;
			continue;
		}
		time = copying_first_time(a->u, x.file);
		if (time && time == copying_first_time(b->u, y.file))
			return true;
		i++;
		n++;
	}
	return false;
}

/*
 * SPEC uftrace/join-same: parts of one recording, as `cut` and `split` make them, have the same
 * `info` and task.txt. They have different records, else they are kept apart.
 */
static void find_twin(struct joining *j, struct join_part *p)
{
	for (struct join_part *q = j->parts; q < p && p->twin == p; q++)
		if (q->twin == q && q->k.shift == p->k.shift && same_text(q->info, p->info) &&
		    same_text(q->tasks, p->tasks))
			p->twin = q;
	for (struct join_part *q = p->twin; q < p; q++)
		if (q->twin == p->twin && begin_alike(q, p))
			p->twin = p;
}

static void joining_free(struct joining *j)
{
	for (size_t i = 0; j->parts && i < j->count; i++)
		map64_free(&j->parts[i].ids);
	mem_free(j->parts);
	map64_free(&j->used);
	map64_free(&j->by_name);
	map64_free(&j->events);
	mem_free(j->files);
	mem_free(j->event_lines);
	mem_free(j->records);
	arena_free(&j->arena);
}

static bool parts_open(struct joining *j, const struct copy *copy)
{
	for (size_t i = 0; i < copy->count; i++)
		if (!uftrace_is_dir(copy->parts[i].trace))
			return false;
	if (copy->count > PARTS_MAX)
		return false;
	j->parts = mem_array(copy->count, sizeof(*j->parts));
	j->failed = !j->parts;
	j->count = j->parts ? copy->count : 0;
	for (size_t i = 0; i < j->count; i++) {
		struct join_part *p = &j->parts[i];

		p->u = copy->parts[i].trace->state;
		p->k = (struct copying){ .copy = j->copy,
					 .u = p->u,
					 .shift = copy->parts[i].shift };
		p->twin = p;
		if (!uftrace_slurp(p->u, "info", &p->info) ||
		    !uftrace_slurp(p->u, "task.txt", &p->tasks))
			return false;
	}
	return j->parts;
}

/* Returns false if the parts cannot be joined, or with j->failed set. */
static bool joining_plan(struct joining *j, const struct copy *copy)
{
	bool good;

	arena_init(&j->arena);
	good = parts_open(j, copy) && parts_fit(j);
	for (size_t i = 0; good && i < j->count; i++) {
		find_twin(j, &j->parts[i]);
		good = ids_of_part(j, &j->parts[i]);
	}
	for (size_t i = 0; good && i < j->count; i++)
		good = records_of_part(j, i);
	if (good && j->nrecords)
		qsort(j->records, j->nrecords, sizeof(*j->records), by_output);
	return good && join_plan_files(j);
}

bool uftrace_joins(const struct copy *copy)
{
	struct joining j = { .copy = NULL };
	const bool good = joining_plan(&j, copy);

	joining_free(&j);
	return good;
}

enum spur_status uftrace_join(struct copy *copy)
{
	struct joining j = { .copy = copy };
	bool good = joining_plan(&j, copy);

	if (!good && !j.failed)
		err_set(copy->err, SPUR_ERR_USAGE, "these uftrace directories cannot be joined");
	good = good && join_write_records(&j) && join_write_files(&j);
	for (size_t i = 1; good && i < j.count; i++)
		for (size_t n = 0; n < COPYING_NOTES; n++)
			j.parts[0].k.notes[n] += j.parts[i].k.notes[n];
	if (good)
		copying_notes_out(&j.parts[0].k);
	joining_free(&j);
	return good ? SPUR_OK : SPUR_FAIL;
}
