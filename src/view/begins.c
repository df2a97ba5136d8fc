/* How many items begin in a time, and which of them is the longest: what a pixel stands for. */
#include "view/view.h"

/* Returns the number of the first item of a lane that is not before `t` (store_before()). */
static uint64_t first_from(const struct view *v, uint32_t lane, int64_t t)
{
	uint64_t n = store_seek(v->store, lane, t);
	struct store_item i;

	while (store_item(v->store, lane, n, &i) && store_before(i.start, t))
		n++;
	return n;
}

bool view_begins(struct view *v, const struct view_request *r, struct view_answer *a)
{
	const int64_t zero = view_zero(v);
	int64_t track, depth, from, to;
	struct store_query q = { .which = STORE_ANY_ITEM };
	struct store_call longest;
	struct view_item i;
	uint32_t lane;
	uint64_t first;
	size_t n = 0;

	if (!view_number(r, "track", 0, UINT32_MAX - 1, -1, &track) || track < 0 ||
	    !view_number(r, "depth", 0, UINT32_MAX - 1, -1, &depth) || depth < 0 ||
	    !view_number(r, "from", 0, INT64_MAX, -1, &from) || from < 0 ||
	    !view_number(r, "to", from, INT64_MAX, -1, &to) || to < 0)
		return view_refuse(a, 400, "expected track, depth, from and to");
	lane = store_lane_at(v->store, (uint32_t)track, (uint32_t)depth);
	if (lane == SPUR_NONE)
		return view_refuse(a, 404, "track %lld has no spans at depth %lld",
				   (long long)track, (long long)depth);
	q.lanes = (struct store_lanes){ .lanes = &lane, .n = 1 };
	q.from = zero > INT64_MAX - from ? INT64_MAX : zero + from;
	q.to = zero > INT64_MAX - to ? INT64_MAX : zero + to;
	if (!store_longest(v->store, &q, &longest, 1, &n))
		return false;
	first = q.from < INT64_MAX ? first_from(v, lane, q.from)
				   : store_seek(v->store, lane, q.from);
	out_printf(&a->out, "{\"count\":%llu,\"longest\":",
		   (unsigned long long)(first_from(v, lane, q.to) - first));
	if (n && view_item(v, lane, longest.place.number, &i))
		view_put_span(v, &i, &a->out);
	else
		out_str(&a->out, "null");
	out_char(&a->out, '}');
	return !a->out.error;
}
