/* Why a call took so long: what it called, and when its thread had no CPU. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "view/states.h"

enum { PARTS_MOST = 20, ITEMS_MOST = 5000000 };

struct why {
	const struct view *view;
	struct view_item span;
	uint32_t states; /* lane of the thread's states; SPUR_NONE: spans tell when it had no CPU */
	int64_t preempted, waited; /* ns without a CPU */
	struct view_item parts[PARTS_MOST]; /* the longest ones */
	size_t n;
	uint64_t items;
};

static void keep_part(struct why *w, const struct view_item *i)
{
	size_t at = w->n;

	while (at && w->parts[at - 1].item.dur < i->item.dur)
		at--;
	if (at == PARTS_MOST)
		return;
	if (w->n < PARTS_MOST)
		w->n++;
	memmove(w->parts + at + 1, w->parts + at, (w->n - at - 1) * sizeof(*w->parts));
	w->parts[at] = *i;
}

/* Adds what is in the span on one lane below it. Returns false if there is no such lane. */
static bool add_lane(struct why *w, uint32_t depth)
{
	const uint32_t lane = store_lane_at(w->view->store, w->span.info.track, depth);
	const int64_t begin = w->span.item.start, end = begin + w->span.item.dur;
	struct view_item i;

	if (lane == SPUR_NONE)
		return false;
	for (uint64_t k = store_seek(w->view->store, lane, begin);
	     w->items++ < ITEMS_MOST && view_item(w->view, lane, k, &i) && i.item.start < end;
	     k++) {
		const int64_t past = i.item.start + i.item.dur - end;
		const int64_t in = i.item.dur - (past > 0 ? past : 0);
		const bool off = view_is_off_cpu(&i.item);

		if (i.item.start < begin || !(i.item.marks & STORE_SPAN))
			continue;
		if (off) {
			if (i.item.flags & SPUR_F_PREEMPTED)
				w->preempted += in;
			else
				w->waited += in;
		}
		if (off ? w->states == SPUR_NONE : depth == w->span.info.depth + 1)
			keep_part(w, &i);
	}
	return true;
}

/* A time of the thread without a CPU. */
struct wait {
	struct store_doing doing;
	int64_t from, to;
	uint64_t number;
};

struct waits {
	struct wait longest[PARTS_MOST];
	size_t n;
	int64_t ns[STORE_BLOCKED + 1]; /* by state */
};

static void keep_wait(struct waits *w, const struct wait *x)
{
	size_t at = w->n;

	while (at && w->longest[at - 1].to - w->longest[at - 1].from < x->to - x->from)
		at--;
	if (at == PARTS_MOST)
		return;
	if (w->n < PARTS_MOST)
		w->n++;
	memmove(w->longest + at + 1, w->longest + at, (w->n - at - 1) * sizeof(*w->longest));
	w->longest[at] = *x;
}

/* Adds what a lane of states tells of a time. */
static void add_states(const struct view *v, uint32_t lane, int64_t begin, int64_t end,
		       struct waits *w)
{
	struct wait x;

	for (x.number = store_seek(v->store, lane, begin);
	     store_doing(v->store, lane, x.number, &x.doing) && x.doing.start < end; x.number++) {
		x.from = x.doing.start > begin ? x.doing.start : begin;
		x.to = x.doing.end < end ? x.doing.end : end;
		if (x.to <= x.from)
			continue;
		w->ns[x.doing.state] += x.to - x.from;
		if (x.doing.state != STORE_RUNNING)
			keep_wait(w, &x);
	}
}

/* " by THREAD in FUNCTION", as far as that is known. */
static void add_who(const struct view *v, const char *by, uint32_t track, int64_t t, struct out *o)
{
	struct view_item i;
	struct store_track k;
	struct store_label l;

	if (track == SPUR_NONE || !store_track(v->store, track, &k))
		return;
	out_str(o, by);
	if (k.trace.len) {
		out_bytes(o, k.trace.p, k.trace.len);
		out_str(o, ": ");
	}
	out_bytes(o, k.name.p, k.name.len);
	if (k.tid >= 0)
		out_printf(o, "%s%lld", k.name.len ? " " : "", (long long)k.tid);
	if (view_innermost(v, track, t - 1, t, &i) && view_label(v, i.item.label, &l)) {
		out_str(o, " in ");
		out_bytes(o, l.name.p, l.name.len);
	}
}

static void put_wait(const struct view *v, uint32_t lane, const struct wait *x, struct out *o)
{
	struct store_doing next;
	struct out text;
	int64_t ns;

	out_to_memory(&text);
	if (x->doing.state == STORE_RUNNABLE) {
		out_str(&text, x->doing.preempted ? "preempted" : "woken");
		if (!x->doing.preempted)
			add_who(v, " by ", x->doing.waker, x->doing.start, &text);
		add_who(v, ", CPU held by ",
			view_holder(v, lane, x->number, x->from, x->to, &ns), x->to, &text);
	} else {
		out_str(&text, "blocked");
		if (x->to == x->doing.end && store_doing(v->store, lane, x->number + 1, &next) &&
		    next.start == x->to && next.state == STORE_RUNNABLE)
			add_who(v, " until woken by ", next.waker, x->to, &text);
	}
	out_json(o, text.buf ? text.buf : "", text.len);
	out_free(&text);
}

static void put_parts(const struct why *w, bool first, struct out *o)
{
	struct store_label l;

	for (size_t i = 0; i < w->n; i++) {
		const struct view_item *const part = &w->parts[i];

		out_str(o, first ? "{\"text\":" : ",{\"text\":");
		first = false;
		view_label(w->view, part->item.label, &l);
		if (view_is_off_cpu(&part->item) && part->item.flags & SPUR_F_PREEMPTED)
			out_str(o, "\"preempted\"");
		else
			view_text(o, l.name);
		out_printf(o, ",\"ns\":%lld,\"at\":", (long long)part->item.dur);
		view_put_span(w->view, part, o);
		out_char(o, '}');
	}
}

/* Writes how long the thread was in each state, the rest as not known, and the call's own time. */
static void put_times(const struct why *w, const int64_t *ns, struct out *o)
{
	const int64_t known = ns[STORE_RUNNING] + ns[STORE_RUNNABLE] + ns[STORE_BLOCKED];

	out_printf(o, "{\"running\":%lld,\"runnable\":%lld,\"blocked\":%lld,\"unknown\":%lld,",
		   (long long)ns[STORE_RUNNING], (long long)ns[STORE_RUNNABLE],
		   (long long)ns[STORE_BLOCKED], (long long)(w->span.item.dur - known));
	out_printf(o, "\"self\":%lld,\"parts\":[",
		   (long long)store_self(w->view->store, w->span.lane, w->span.number));
}

/* By time off the CPU: if there is any, the thread had a CPU otherwise. */
static void put_off_cpu(const struct why *w, struct out *o)
{
	const int64_t off = w->preempted + w->waited;
	const int64_t ns[] = { [STORE_RUNNING] = off ? w->span.item.dur - off : 0,
			       [STORE_RUNNABLE] = w->preempted,
			       [STORE_BLOCKED] = w->waited };

	put_times(w, ns, o);
	put_parts(w, true, o);
	out_str(o, "]}");
}

/* By the states of the thread, and what it called. */
static void put_states(const struct why *w, struct out *o)
{
	const int64_t begin = w->span.item.start, end = begin + w->span.item.dur;
	struct waits waits = { .n = 0 };

	add_states(w->view, w->states, begin, end, &waits);
	put_times(w, waits.ns, o);
	for (size_t i = 0; i < waits.n; i++) {
		out_str(o, i ? ",{\"text\":" : "{\"text\":");
		put_wait(w->view, w->states, &waits.longest[i], o);
		out_printf(o, ",\"ns\":%lld,\"ts\":%lld,\"at\":null}",
			   (long long)(waits.longest[i].to - waits.longest[i].from),
			   (long long)(waits.longest[i].from - view_zero(w->view)));
	}
	put_parts(w, !waits.n, o);
	out_str(o, "]}");
}

bool view_why(struct view *v, const struct view_request *r, struct view_answer *a)
{
	struct why *const w = mem_alloc(sizeof(*w));
	struct out *const o = &a->out;
	bool good = false;

	if (!w)
		return false;
	w->view = v;
	if (view_item_of(v, r, &w->span, a)) {
		w->states = store_states(v->store, w->span.info.track);
		for (uint32_t d = w->span.info.depth + 1; add_lane(w, d); d++)
			continue;
		if (w->states != SPUR_NONE) {
			put_states(w, o);
		} else {
			put_off_cpu(w, o);
		}
		good = !o->error;
	}
	mem_free(w);
	return good;
}
