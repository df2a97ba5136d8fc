/* See states.h; and the request for what a thread does at a time. */
#include "view/states.h"

enum { DEPTH_MOST = 4096 };

/* Returns the name of a state in answers. */
static const char *state_name(enum store_thread_state s)
{
	return s == STORE_RUNNING ? "running" : s == STORE_RUNNABLE ? "runnable" : "blocked";
}

bool view_innermost(const struct view *v, uint32_t track, int64_t from, int64_t to,
		    struct view_item *out)
{
	bool found = false;

	for (uint32_t depth = 0; depth < DEPTH_MOST; depth++) {
		const uint32_t lane = store_lane_at(v->store, track, depth);
		struct view_item i;

		if (lane == SPUR_NONE ||
		    !view_item(v, lane, store_seek(v->store, lane, from), &i) ||
		    i.item.start > from || i.item.start + i.item.dur < to ||
		    !(i.item.marks & STORE_SPAN) || view_is_off_cpu(&i.item))
			return found;
		*out = i;
		found = true;
	}
	return found;
}

/* ns that a lane of states has a CPU in a time. */
static int64_t held(const struct view *v, uint32_t lane, uint16_t cpu, int64_t from, int64_t to)
{
	struct store_item i;
	int64_t ns = 0;

	for (uint64_t n = store_seek(v->store, lane, from);
	     store_item(v->store, lane, n, &i) && i.start < to; n++) {
		const int64_t a = i.start > from ? i.start : from;
		const int64_t b = i.start + i.dur < to ? i.start + i.dur : to;

		if (i.label == STORE_RUNNING && i.cpu == cpu && b > a)
			ns += b - a;
	}
	return ns;
}

/* Returns the CPU that a runnable thread runs on next; SPUR_NO_CPU if that is not known. */
static uint16_t next_cpu(const struct view *v, uint32_t lane, uint64_t number)
{
	struct store_doing next;

	return store_doing(v->store, lane, number + 1, &next) && next.state == STORE_RUNNING
		       ? next.cpu
		       : SPUR_NO_CPU;
}

uint32_t view_holder(const struct view *v, uint32_t lane, uint64_t number, int64_t from, int64_t to,
		     int64_t *ns)
{
	const uint32_t lanes = store_facts(v->store).lanes;
	const uint16_t cpu = next_cpu(v, lane, number);
	uint32_t best = SPUR_NONE;
	struct store_lane of, info;

	*ns = 0;
	if (cpu == SPUR_NO_CPU || !store_lane(v->store, lane, &of))
		return SPUR_NONE;
	for (uint32_t l = 0; l < lanes; l++) {
		int64_t own;

		if (!store_lane(v->store, l, &info) || info.kind != STORE_STATES ||
		    !store_same_trace(v->store, of.track, info.track))
			continue;
		own = held(v, l, cpu, from, to);
		if (own > *ns) {
			*ns = own;
			best = info.track;
		}
	}
	return best;
}

/* Writes a track as a number, -1: none. */
static void put_track(struct out *o, const char *name, uint32_t track)
{
	out_printf(o, ",\"%s\":%lld", name, track == SPUR_NONE ? -1 : (long long)track);
}

bool view_state(struct view *v, const struct view_request *r, struct view_answer *a)
{
	struct out *const o = &a->out;
	int64_t track, t, ns = 0;
	struct store_doing d;
	uint32_t lane, holder = SPUR_NONE;
	uint64_t n;

	if (!view_number(r, "track", 0, UINT32_MAX - 1, -1, &track) || track < 0 ||
	    !view_number(r, "t", 0, INT64_MAX, -1, &t) || t < 0)
		return view_refuse(a, 400, "expected track and t");
	t = view_zero(v) > INT64_MAX - t ? INT64_MAX : view_zero(v) + t;
	lane = store_states(v->store, (uint32_t)track);
	n = lane == SPUR_NONE ? UINT64_MAX : store_doing_at(v->store, lane, t);
	if (n == UINT64_MAX || !store_doing(v->store, lane, n, &d)) {
		out_str(o, "null");
		return !o->error;
	}
	if (d.state == STORE_RUNNABLE)
		holder = view_holder(v, lane, n, d.start, d.end, &ns);
	out_printf(o,
		   "{\"state\":\"%s\",\"preempted\":%s,\"last\":%s,\"ts\":%lld,\"dur\":%lld,"
		   "\"cpu\":%d",
		   state_name(d.state), d.preempted ? "true" : "false", d.last ? "true" : "false",
		   (long long)(d.start - view_zero(v)), (long long)(d.end - d.start),
		   d.cpu == SPUR_NO_CPU ? -1 : d.cpu);
	put_track(o, "waker", d.waker);
	put_track(o, "holder", holder);
	out_printf(o, ",\"held\":%lld}", (long long)ns);
	return !o->error;
}
