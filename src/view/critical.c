/*
 * The critical path of a call: what its thread did until the call ended, and where it was blocked,
 * what the thread did that woke it, and so on back to the begin of the call. The segments follow
 * each other without gaps, so their times add up to that of the call.
 */
#include "base/mem.h"
#include "view/states.h"

enum { SEGMENTS_MOST = 1000, WAITS_DEEP = 64, STEPS_MOST = 10000 };

enum path_state { PATH_RUNNING, PATH_RUNNABLE, PATH_BLOCKED, PATH_UNKNOWN };

struct segment {
	uint32_t track;
	enum path_state state;
	int64_t from, to;
	uint32_t holder; /* runnable: who had the CPU, for `held` ns; SPUR_NONE: not known */
	int64_t held;
};

/* A thread that was blocked from `from` on, until another one woke it at `to`. */
struct wake {
	uint32_t track, waker;
	int64_t from, to;
};

struct path {
	const struct view *view;
	int64_t begin; /* of the call */
	struct segment segments[SEGMENTS_MOST]; /* from the last one back */
	struct wake wakes[SEGMENTS_MOST];
	size_t n, nwakes;
	/* Threads that are blocked, until the path is back at the begin of that. */
	struct wake waits[WAITS_DEEP];
	size_t depth;
	bool cut; /* too long: the begin is not reached */
};

static void segment_add(struct path *p, uint32_t track, enum path_state state, int64_t from,
			int64_t to)
{
	if (from < to && p->n < SEGMENTS_MOST)
		p->segments[p->n++] = (struct segment){
			.track = track, .state = state, .from = from, .to = to, .holder = SPUR_NONE
		};
}

/* What was known last of a thread before `t`. */
static bool doing_before(const struct path *p, uint32_t lane, int64_t t, struct store_doing *d,
			 uint64_t *number)
{
	uint64_t n = lane == SPUR_NONE ? 0 : store_seek(p->view->store, lane, t - 1);

	if (lane == SPUR_NONE)
		return false;
	/* One that ends at t - 1 or earlier, or that contains it. */
	if (!store_doing(p->view->store, lane, n, d) || d->start >= t) {
		if (!n-- || !store_doing(p->view->store, lane, n, d))
			return false;
	}
	*number = n;
	return true;
}

/* Who woke a thread that was blocked until `t`; SPUR_NONE if that is not known. */
static uint32_t waker_at(const struct path *p, uint32_t lane, uint64_t number, int64_t t)
{
	struct store_doing next;

	return store_doing(p->view->store, lane, number + 1, &next) && next.start == t &&
			       next.state == STORE_RUNNABLE && !next.preempted
		       ? next.waker
		       : SPUR_NONE;
}

/*
 * One step back on a thread from `t`, not beyond `limit`. Returns the thread that the path goes on
 * with, and sets *at to where.
 */
static uint32_t path_step(struct path *p, uint32_t track, int64_t t, int64_t limit, int64_t *at)
{
	const uint32_t lane = store_states(p->view->store, track);
	struct store_doing d;
	uint64_t number = 0;
	struct segment *s;
	uint32_t waker;

	*at = limit;
	if (!doing_before(p, lane, t, &d, &number)) {
		segment_add(p, track, PATH_UNKNOWN, limit, t);
		return track;
	}
	if (d.end < t) {
		/* Nothing is known from there on. */
		*at = d.end > limit ? d.end : limit;
		segment_add(p, track, PATH_UNKNOWN, *at, t);
		return track;
	}
	*at = d.start > limit ? d.start : limit;
	if (d.state == STORE_RUNNING) {
		segment_add(p, track, PATH_RUNNING, *at, t);
		return track;
	}
	if (d.state == STORE_RUNNABLE) {
		segment_add(p, track, PATH_RUNNABLE, *at, t);
		s = p->n ? &p->segments[p->n - 1] : NULL;
		if (s && s->from == *at)
			s->holder = view_holder(p->view, lane, number, s->from, s->to, &s->held);
		return track;
	}
	waker = d.end == t ? waker_at(p, lane, number, t) : SPUR_NONE;
	if (waker == SPUR_NONE || waker == track || p->depth == WAITS_DEEP ||
	    p->nwakes == SEGMENTS_MOST) {
		segment_add(p, track, PATH_BLOCKED, *at, t);
		return track;
	}
	p->wakes[p->nwakes++] = p->waits[p->depth++] =
		(struct wake){ .track = track, .waker = waker, .from = *at, .to = t };
	*at = t;
	return waker;
}

static void path_walk(struct path *p, uint32_t track, int64_t t)
{
	unsigned steps = 0;

	while (t > p->begin && p->n < SEGMENTS_MOST && steps++ < STEPS_MOST) {
		const int64_t limit = p->depth ? p->waits[p->depth - 1].from : p->begin;

		if (t <= limit) {
			track = p->waits[--p->depth].track;
			continue;
		}
		track = path_step(p, track, t, limit, &t);
	}
	p->cut = t > p->begin;
}

/* --- answer --- */

static void put_at(const struct path *p, uint32_t track, int64_t from, int64_t to, struct out *o)
{
	struct view_item i;

	if (view_innermost(p->view, track, from, to, &i))
		view_put_span(p->view, &i, o);
	else
		out_str(o, "null");
}

static void put_segment(const struct path *p, const struct segment *s, struct out *o)
{
	static const char *const names[] = { "running", "runnable", "blocked", "unknown" };

	out_printf(o, "{\"track\":%u,\"state\":\"%s\",\"ts\":%lld,\"dur\":%lld,\"holder\":%lld,",
		   s->track, names[s->state], (long long)(s->from - view_zero(p->view)),
		   (long long)(s->to - s->from),
		   s->holder == SPUR_NONE ? -1 : (long long)s->holder);
	out_printf(o, "\"held\":%lld,\"at\":", (long long)s->held);
	put_at(p, s->track, s->from, s->to, o);
	out_char(o, '}');
}

static void put_wake(const struct path *p, const struct wake *w, struct out *o)
{
	out_printf(o, "{\"track\":%u,\"waker\":%u,\"ts\":%lld,\"dur\":%lld,\"at\":", w->track,
		   w->waker, (long long)(w->from - view_zero(p->view)),
		   (long long)(w->to - w->from));
	/* What the waker was in when it woke the other one. */
	put_at(p, w->waker, w->to - 1, w->to, o);
	out_char(o, '}');
}

bool view_critical(struct view *v, const struct view_request *r, struct view_answer *a)
{
	struct path *const p = mem_alloc(sizeof(*p));
	struct out *const o = &a->out;
	struct view_item span;
	bool good = false;

	if (!p)
		return false;
	if (view_item_of(v, r, &span, a)) {
		p->view = v;
		p->begin = span.item.start;
		path_walk(p, span.info.track, span.item.start + span.item.dur);
		out_str(o, "{\"segments\":[");
		for (size_t i = p->n; i--;) {
			put_segment(p, &p->segments[i], o);
			out_str(o, i ? "," : "");
		}
		out_str(o, "],\"wakes\":[");
		for (size_t i = p->nwakes; i--;) {
			put_wake(p, &p->wakes[i], o);
			out_str(o, i ? "," : "");
		}
		out_printf(o, "],\"cut\":%s}", p->cut ? "true" : "false");
		good = !o->error;
	}
	mem_free(p);
	return good;
}
