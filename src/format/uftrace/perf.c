/* perf-cpuN.dat: raw records of the kernel's perf ring: thread switches, names, forks and exits. */
#include <stdio.h>

#include "base/cursor.h"
#include "format/uftrace/reader.h"
#include "model/args.h"

enum {
	PERF_LOST = 2,
	PERF_COMM = 3,
	PERF_EXIT = 4,
	PERF_FORK = 7,
	PERF_SWITCH = 14,
	PERF_TYPES = 32, /* no type is as high */
	PERF_HEAD = 8,
	PERF_TRAILER = 16, /* u32 pid, u32 tid, u64 time behind every record */
	PERF_MAX = 4096, /* bytes of a record of these kinds */
	MISC_SWITCH_OUT = 0x2000,
	MISC_PREEMPTED = 0x4000,
};

struct perf_record {
	uint32_t type, misc, size;
	int64_t tid;
	uint64_t time;
};

/* SPEC uftrace/perf-record: u32 type, u16 misc, u16 size; the last 16 bytes are pid, tid, time */
static bool perf_decode(const uint8_t *p, uint64_t left, bool swap, struct perf_record *r)
{
	if (left < PERF_HEAD)
		return false;
	r->type = load32(p, swap);
	r->misc = load16(p + 4, swap);
	r->size = load16(p + 6, swap);
	if (r->size < PERF_HEAD + PERF_TRAILER || r->size > left || r->size > PERF_MAX || r->size % 8 ||
	    !r->type || r->type >= PERF_TYPES)
		return false;
	r->tid = (int32_t)load32(p + r->size - 12, swap);
	r->time = load64(p + r->size - 8, swap);
	/* A task's own record speaks of the task in its body; the trailer tells who was running. */
	if (r->type == PERF_COMM && r->size >= PERF_HEAD + 8 + PERF_TRAILER)
		r->tid = (int32_t)load32(p + PERF_HEAD + 4, swap);
	else if ((r->type == PERF_FORK || r->type == PERF_EXIT) && r->size >= PERF_HEAD + 24 + PERF_TRAILER) {
		r->tid = (int32_t)load32(p + PERF_HEAD + 8, swap);
		r->time = load64(p + PERF_HEAD + 16, swap);
	}
	return true;
}

/* The next place with two records in a row (or one that ends the file). */
static uint64_t perf_resync(const struct source *s, uint64_t from, bool swap)
{
	struct perf_record r;

	for (uint64_t off = from; off + PERF_HEAD <= s->size; off += 8) {
		if (!perf_decode(s->data + off, s->size - off, swap, &r))
			continue;
		if (off + r.size == s->size || perf_decode(s->data + off + r.size, s->size - off - r.size, swap, &r))
			return off;
	}
	return s->size;
}

static int side_kind(const struct perf_record *r)
{
	switch (r->type) {
	case PERF_SWITCH: return SIDE_SWITCH;
	case PERF_COMM: return SIDE_COMM;
	case PERF_FORK: return SIDE_FORK;
	case PERF_EXIT: return SIDE_EXIT;
	default: return -1;
	}
}

static bool perf_read(struct uftrace *u, uint16_t index)
{
	struct uftrace_file *file = &u->files[index];
	const char *name = u->t->streams[file->stream].path;
	const struct source *s = file->source;
	struct perf_record r;
	uint64_t off = 0;

	while (off < s->size) {
		if (!perf_decode(s->data + off, s->size - off, u->swap, &r)) {
			uint64_t next = perf_resync(s, off + 8, u->swap);

			diag_add(&u->t->diag, DIAG_DAMAGE, "uftrace/bad-perf-record", name, off,
				 (next < s->size ? next : s->size) - off,
				 "perf record: expected a type below %d and a size that fits the %llu bytes left, found type %u, size %u",
				 PERF_TYPES, (unsigned long long)(s->size - off), r.type, r.size);
			off = next;
			continue;
		}
		if (r.type == PERF_LOST)
			diag_add(&u->t->diag, DIAG_WARN, "uftrace/perf-lost", name, off, 0,
				 "the kernel lost perf records here");
		if (side_kind(&r) >= 0 && !uftrace_add_side(u, &(struct uftrace_side){
				.time = r.time, .off = off, .len = r.size, .file = index, .tid = r.tid,
				.what = (uint8_t)side_kind(&r),
				.flags = (uint8_t)((r.misc & MISC_SWITCH_OUT ? SIDE_OUT : 0) |
						   (r.misc & MISC_PREEMPTED ? SIDE_PREEMPTED : 0)) }))
			return false;
		off += r.size;
	}
	return true;
}

bool uftrace_read_perf(struct uftrace *u)
{
	struct cpu_files cpus = { 0 };
	bool ok = uftrace_list_cpus(u, "perf-cpu", &cpus);

	for (size_t i = 0; ok && i < cpus.count; i++) {
		char name[40];
		struct uftrace_file *f;

		snprintf(name, sizeof(name), "perf-cpu%u.dat", cpus.cpus[i]);
		f = uftrace_add_file(u, name, cpus.cpus[i]);
		if (!f || u->nfiles > UINT16_MAX)
			ok = f == NULL ? false : ok;
		else if (uftrace_open_file(u, f, &u->t->diag)) {
			source_need(f->source, UINT64_MAX);
			ok = perf_read(u, (uint16_t)(u->nfiles - 1));
		}
	}
	mem_free(cpus.cpus);
	return ok;
}

static void args_perf_comm(struct uftrace *u, const uint8_t *p, uint32_t len, struct spur_args *args)
{
	const char *comm = (const char *)p + PERF_HEAD + 8;

	if (len > PERF_HEAD + 8 + PERF_TRAILER)
		args_string(args, trace_intern(u->t, "comm"), comm, strnlen(comm, len - PERF_HEAD - 8 - PERF_TRAILER));
}

enum spur_status uftrace_perf_args(struct uftrace *u, const struct spur_event *ev, struct spur_args *args)
{
	const uint8_t *p = uftrace_raw(u->t, ev);

	if (!p || ev->len < PERF_HEAD + 24)
		return SPUR_OK;
	if (ev->id == UFTRACE_EV_TASK_NAME)
		args_perf_comm(u, p, ev->len, args);
	else if (ev->id == UFTRACE_EV_TASK_NEW || ev->id == UFTRACE_EV_TASK_EXIT) {
		args_i64(args, trace_intern(u->t, "pid"), (int32_t)load32(p + PERF_HEAD, u->swap));
		args_i64(args, trace_intern(u->t, "ppid"), (int32_t)load32(p + PERF_HEAD + 4, u->swap));
	}
	return SPUR_OK;
}

enum spur_status uftrace_perf_fields(struct uftrace *u, const struct spur_event *ev, struct spur_args *args)
{
	static const char *const types[PERF_TYPES] = {
		[PERF_COMM] = "COMM", [PERF_EXIT] = "EXIT", [PERF_FORK] = "FORK", [PERF_SWITCH] = "SWITCH",
	};
	const uint8_t *p = uftrace_raw(u->t, ev);
	struct perf_record r;

	if (!p || !perf_decode(p, ev->len, u->swap, &r))
		return SPUR_WARN;
	args_string(args, trace_intern(u->t, "type"), types[r.type], strlen(types[r.type]));
	args_u64(args, trace_intern(u->t, "misc"), r.misc, SPUR_SHOW_HEX);
	args_u64(args, trace_intern(u->t, "size"), r.size, SPUR_SHOW_PLAIN);
	args_i64(args, trace_intern(u->t, "pid"), (int32_t)load32(p + r.size - PERF_TRAILER, u->swap));
	args_i64(args, trace_intern(u->t, "tid"), r.tid);
	args_u64(args, trace_intern(u->t, "time"), r.time, SPUR_SHOW_PLAIN);
	if (r.type == PERF_COMM)
		args_perf_comm(u, p, ev->len, args);
	return SPUR_OK;
}
