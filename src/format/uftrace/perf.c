/* perf-cpuN.dat: thread switches, names, forks and exits, given to the index of per-CPU records. */
#include "format/uftrace/perfring.h"
#include "format/uftrace/reader.h"
#include "model/args.h"

static int side_kind(const struct perf_record *r)
{
	switch (r->type) {
	case PERF_SWITCH:
		return SIDE_SWITCH;
	case PERF_COMM:
		return SIDE_COMM;
	case PERF_FORK:
		return SIDE_FORK;
	case PERF_EXIT:
		return SIDE_EXIT;
	default:
		return -1;
	}
}

static uint8_t side_flags(const struct perf_record *r)
{
	if (r->type != PERF_SWITCH || !(r->misc & PERF_SWITCH_OUT))
		return 0;
	return r->misc & PERF_SWITCH_PREEMPTED ? SIDE_OUT | SIDE_PREEMPTED : SIDE_OUT;
}

static bool read_cpu(struct uftrace *u, uint16_t index)
{
	const struct uftrace_file *file = &u->files[index];
	const char *name = u->t->streams[file->stream].path;
	struct perf_record r;
	struct perfring ring;

	perfring_init(&ring, file->source, u->swap, name, &u->t->diag);
	while (perfring_next(&ring, &r)) {
		struct uftrace_side s = {
			.time = r.time,
			.off = r.off,
			.len = r.len,
			.file = index,
			.tid = r.tid,
			.flags = side_flags(&r),
		};

		if (r.type == PERF_LOST)
			diag_add(&u->t->diag, DIAG_WARN, "uftrace/perf-lost", name, r.off, 0,
				 "the kernel lost %llu perf records here",
				 (unsigned long long)r.lost);
		if (side_kind(&r) < 0)
			continue;
		s.what = (uint8_t)side_kind(&r);
		if (!uftrace_add_side(u, &s))
			return false;
	}
	return true;
}

bool uftrace_read_perf(struct uftrace *u)
{
	return uftrace_each_cpu(u, "perf-cpu", read_cpu);
}

static bool open_record(const struct uftrace *u, const struct spur_event *ev, struct perf_record *r)
{
	const uint8_t *p = uftrace_raw(u->t, ev);

	return p && perf_decode(p, ev->len, u->swap, r);
}

enum spur_status uftrace_perf_args(struct uftrace *u, const struct spur_event *ev,
				   struct spur_args *args)
{
	struct perf_record r;

	if (!open_record(u, ev, &r))
		return SPUR_WARN;
	if (r.type == PERF_COMM)
		args_string(args, u->names.comm, r.comm.p, r.comm.len);
	if (r.type == PERF_FORK || r.type == PERF_EXIT) {
		args_i64(args, u->names.pid, r.pid);
		args_i64(args, u->names.ppid, r.ppid);
	}
	return SPUR_OK;
}

enum spur_status uftrace_perf_fields(struct uftrace *u, const struct spur_event *ev,
				     struct spur_args *args)
{
	struct perf_record r;

	if (!open_record(u, ev, &r))
		return SPUR_WARN;
	args_literal(args, u->names.type,
		     r.type == PERF_COMM   ? "COMM"
		     : r.type == PERF_FORK ? "FORK"
		     : r.type == PERF_EXIT ? "EXIT"
					   : "SWITCH");
	args_u64(args, u->names.misc, r.misc, SPUR_SHOW_HEX);
	args_u64(args, u->names.size, r.len, SPUR_SHOW_PLAIN);
	args_i64(args, u->names.pid, r.pid);
	args_i64(args, u->names.tid, r.tid);
	args_u64(args, u->names.time, r.time, SPUR_SHOW_PLAIN);
	if (r.type == PERF_COMM)
		args_string(args, u->names.comm, r.comm.p, r.comm.len);
	return SPUR_OK;
}
