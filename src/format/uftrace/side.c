/*
 * Per-CPU files are read once, while opening, into an index sorted by (task, time): so each task's
 * feed brings its own switches and kernel calls, and feeds stay independent. The index is scratch
 * memory: paged out when large.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"
#include "format/uftrace/reader.h"
#include "model/args.h"

enum { SIDE_START = 1024 };

bool uftrace_add_side(struct uftrace *u, const struct uftrace_side *s)
{
	if (s->time > INT64_MAX) {
		diag_add(&u->t->diag, DIAG_DAMAGE, "uftrace/bad-time",
			 uftrace_file_name(u, &u->files[s->file]).p, s->off,
			 s->what == SIDE_KERNEL_LOST ? 0 : s->len,
			 "record: expected a time below 2^63 ns, found %llu",
			 (unsigned long long)s->time);
		return true;
	}
	if ((u->nsides + 1) * sizeof(*s) > u->side_bytes) {
		size_t bytes = u->side_bytes ? u->side_bytes * 2 : SIDE_START * sizeof(*s);
		struct uftrace_side *bigger = scratch_alloc(bytes);

		if (!bigger)
			return false;
		if (u->nsides)
			memcpy(bigger, u->sides, u->nsides * sizeof(*s));
		scratch_free(u->sides, u->side_bytes);
		u->sides = bigger;
		u->side_bytes = bytes;
	}
	u->sides[u->nsides++] = *s;
	return true;
}

/* At equal times kernel records come before perf's, then the order is the files'. */
static int side_order(const void *a, const void *b)
{
	const struct uftrace_side *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if ((x->what >= SIDE_KERNEL_LOST) != (y->what >= SIDE_KERNEL_LOST))
		return x->what >= SIDE_KERNEL_LOST ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->what - y->what;
}

void uftrace_sort_sides(struct uftrace *u)
{
	if (u->nsides)
		qsort(u->sides, u->nsides, sizeof(*u->sides), side_order);
}

static int by_cpu(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

struct cpu_files {
	uint16_t *cpus; /* ascending */
	size_t count, cap;
};

static bool list_cpus(struct uftrace *u, const char *prefix, struct cpu_files *out)
{
	DIR *d = os_opendir(u->dir);
	const struct dirent *e;
	bool ok = true;

	while (d && ok && (e = os_readdir(d)) != NULL) {
		struct text t = text_of(e->d_name);
		uint64_t n;

		/*
		 * SPEC uftrace/cpu-files: the CPU is in the name; the order of names says nothing
		 * (cpu10 < cpu2)
		 */
		if (!text_skip(&t, prefix) || !text_u64(&t, 10, &n) || n >= SPUR_NO_CPU)
			continue;
		if (!text_is(t, ".dat") && !text_is(t, ".dat.gz") && !text_is(t, ".dat.zst"))
			continue;
		ok = mem_grow((void **)&out->cpus, &out->cap, out->count + 1, sizeof(*out->cpus),
			      SPUR_NO_CPU);
		if (ok)
			out->cpus[out->count++] = (uint16_t)n;
	}
	if (d)
		os_closedir(d);
	if (out->count)
		qsort(out->cpus, out->count, sizeof(*out->cpus), by_cpu);
	return ok;
}

bool uftrace_has_cpus(struct uftrace *u, const char *prefix)
{
	struct cpu_files cpus = { 0 };
	bool any = list_cpus(u, prefix, &cpus) && cpus.count;

	mem_free(cpus.cpus);
	return any;
}

bool uftrace_each_cpu(struct uftrace *u, const char *prefix,
		      bool (*read)(struct uftrace *u, uint16_t index))
{
	struct cpu_files cpus = { 0 };
	bool ok = list_cpus(u, prefix, &cpus);

	for (size_t i = 0; ok && i < cpus.count && u->nfiles < UINT16_MAX; i++) {
		char name[40];
		struct uftrace_file *f;

		snprintf(name, sizeof(name), "%s%u.dat", prefix, cpus.cpus[i]);
		f = uftrace_add_file(u, name, cpus.cpus[i]);
		ok = f != NULL;
		if (ok && uftrace_open_file(u, f, &u->t->diag))
			ok = read(u, (uint16_t)(u->nfiles - 1));
	}
	mem_free(cpus.cpus);
	return ok;
}

/* The event that a perf record is, as the format numbers them. */
static uint64_t perf_event_id(const struct uftrace_side *s)
{
	switch ((enum uftrace_side_kind)s->what) {
	case SIDE_COMM:
		return UFTRACE_EV_TASK_NAME;
	case SIDE_FORK:
		return UFTRACE_EV_TASK_NEW;
	case SIDE_EXIT:
		return UFTRACE_EV_TASK_EXIT;
	default:
		break;
	}
	if (!(s->flags & SIDE_OUT))
		return UFTRACE_EV_SCHED_IN;
	return s->flags & SIDE_PREEMPTED ? UFTRACE_EV_SCHED_OUT_PREEMPT : UFTRACE_EV_SCHED_OUT;
}

static unsigned switch_flags(const struct uftrace_side *s)
{
	if (s->what != SIDE_SWITCH)
		return 0;
	if (!(s->flags & SIDE_OUT))
		return SPUR_F_IN;
	return SPUR_F_OUT | (s->flags & SIDE_PREEMPTED ? SPUR_F_PREEMPTED : 0);
}

/* SPEC uftrace/bookkeeping: a perf record that is no task's */
static enum spur_status other_row(struct uftrace *u, struct spur_event *row)
{
	row->cls = uftrace_perf_class(u);
	if (!row->cls)
		return SPUR_FAIL;
	row->name = trace_class(u->t, row->cls)->name;
	row->cat = trace_class(u->t, row->cls)->cat;
	row->kind = SPUR_NATIVE;
	row->flags = SPUR_F_RETIMED;
	return SPUR_OK;
}

enum spur_status uftrace_side_row(struct uftrace *u, struct feed *f, struct uftrace_feed *uf,
				  const struct uftrace_side *s, struct spur_event *row)
{
	const struct uftrace_file *file = &u->files[s->file];
	const struct event_class *c;
	uint32_t cls;

	*row = (struct spur_event){
		.ts = (int64_t)s->time,
		.off = s->off,
		.len = s->len,
		.track = f->track,
		.stream = s->file,
		.cpu = file->cpu,
		.depth = (uint16_t)(uf->depth < UINT16_MAX ? uf->depth : UINT16_MAX),
	};
	if (s->what >= SIDE_KERNEL_LOST)
		return uftrace_kernel_row(u, f, s, row);
	if (s->what == SIDE_PERF_OTHER)
		return other_row(u, row);
	cls = uftrace_event_class(u, perf_event_id(s));
	if (!cls)
		return SPUR_FAIL;
	c = trace_class(u->t, cls);
	row->id = perf_event_id(s);
	row->name = c->name;
	row->cat = c->cat;
	row->cls = cls;
	row->kind = s->what == SIDE_SWITCH ? SPUR_SWITCH : SPUR_OBJECT;
	row->nargs = s->what == SIDE_COMM ? 1 : s->what == SIDE_SWITCH ? 0 : 2;
	row->flags = (uint16_t)switch_flags(s);
	return SPUR_OK;
}

static bool is_perf(const struct uftrace *u, const struct spur_event *ev)
{
	return text_starts(uftrace_file_name(u, &u->files[ev->stream]), "perf-");
}

enum spur_status uftrace_side_args(struct uftrace *u, const struct spur_event *ev,
				   struct spur_args *args)
{
	return is_perf(u, ev) ? uftrace_perf_args(u, ev, args) : uftrace_kernel_args(u, ev, args);
}

enum spur_status uftrace_side_fields(struct uftrace *u, const struct spur_event *ev,
				     struct spur_args *args)
{
	return is_perf(u, ev) ? uftrace_perf_fields(u, ev, args)
			      : uftrace_kernel_fields(u, ev, args);
}
