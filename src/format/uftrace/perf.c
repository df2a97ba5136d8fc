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

/* SPEC uftrace/book-time: bookkeeping records before the first other one of a file get its time. */
static void time_first(struct uftrace *u, size_t first)
{
	size_t other = first;

	while (other < u->nsides && u->sides[other].what == SIDE_PERF_OTHER)
		other++;
	for (size_t i = first; i < other && other < u->nsides; i++)
		u->sides[i].time = u->sides[other].time;
}

static bool read_cpu(struct uftrace *u, uint16_t index)
{
	const size_t first = u->nsides;
	uint64_t before = 0;
	const struct uftrace_file *file = &u->files[index];
	const char *name = uftrace_file_name(u, file).p;
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
		if (side_kind(&r) >= 0) {
			s.what = (uint8_t)side_kind(&r);
			before = s.time;
		} else if (u->t->options.bookkeeping) {
			s.what = SIDE_PERF_OTHER;
			s.tid = uftrace_no_task;
			s.time = before;
		} else {
			continue;
		}
		if (!uftrace_add_side(u, &s))
			return false;
	}
	time_first(u, first);
	return true;
}

bool uftrace_read_perf(struct uftrace *u)
{
	return uftrace_each_cpu(u, "perf-cpu", read_cpu);
}

static bool open_record(const struct uftrace *u, const struct spur_event *ev, struct perf_record *r)
{
	const uint8_t *p = uftrace_raw(u, ev);

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

/* NULL: unknown. */
static const char *type_name(uint32_t type)
{
	switch (type) {
	case PERF_COMM:
		return "COMM";
	case PERF_FORK:
		return "FORK";
	case PERF_EXIT:
		return "EXIT";
	case PERF_SWITCH:
		return "SWITCH";
	case PERF_LOST:
		return "LOST";
	default:
		return NULL;
	}
}

enum spur_status uftrace_perf_fields(struct uftrace *u, const struct spur_event *ev,
				     struct spur_args *args)
{
	struct perf_record r;

	if (!open_record(u, ev, &r))
		return SPUR_WARN;
	if (type_name(r.type))
		args_literal(args, u->names.type, type_name(r.type));
	else
		args_u64(args, u->names.type, r.type, SPUR_SHOW_PLAIN);
	args_u64(args, u->names.misc, r.misc, SPUR_SHOW_HEX);
	args_u64(args, u->names.size, r.len, SPUR_SHOW_PLAIN);
	args_i64(args, u->names.pid, r.pid);
	args_i64(args, u->names.tid, r.tid);
	args_u64(args, u->names.time, r.time, SPUR_SHOW_PLAIN);
	if (r.type == PERF_COMM)
		args_string(args, u->names.comm, r.comm.p, r.comm.len);
	if (r.type == PERF_LOST)
		args_u64(args, u->names.lost, r.lost, SPUR_SHOW_PLAIN);
	return SPUR_OK;
}
