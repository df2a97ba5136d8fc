/* Arrows: the flow events in a span, and those that they lead to or come from. */
#include <string.h>

#include "base/mem.h"
#include "view/view.h"

enum {
	ARROWS_MOST = 500,
	STEPS_MOST = 2000000, /* flow events that a request looks at */
};

static bool is_flow(const struct store_item *i)
{
	return i->kind == SPUR_FLOW_BEGIN || i->kind == SPUR_FLOW_STEP || i->kind == SPUR_FLOW_END;
}

/* The labels with the name and category of a label: a flow's events may be of several classes. */
static uint64_t *same_name(const struct view *v, uint32_t label, size_t *nlabels)
{
	struct store_label of, l;
	uint64_t *bits;

	*nlabels = store_facts(v->store).labels;
	bits = mem_array(*nlabels / 64 + 1, sizeof(*bits));
	if (!bits || !store_label(v->store, label, &of))
		return bits;
	for (uint32_t i = 0; i < *nlabels; i++)
		if (store_label(v->store, i, &l) && l.name.len == of.name.len &&
		    l.cat.len == of.cat.len && !memcmp(l.name.p, of.name.p, of.name.len) &&
		    !memcmp(l.cat.p, of.cat.p, of.cat.len))
			bits[i / 64] |= UINT64_C(1) << i % 64;
	return bits;
}

/*
 * Finds the event before (`back`) or behind a flow event in its flow, in a store that grows.
 * Returns false if it is the first or the last one, or if the search was given up.
 */
static bool flow_search(const struct view *v, const struct view_item *from, bool back,
			struct view_item *out, unsigned *steps)
{
	struct store_query q = { .from = back ? INT64_MIN : from->item.start,
				 .to = back && from->item.start < INT64_MAX ? from->item.start + 1
									    : INT64_MAX };
	struct store_place at = { .lane = from->lane,
				  .number = from->number,
				  .start = from->item.start };
	uint64_t *const bits = same_name(v, from->item.label, &q.nlabels);
	bool found = false;

	q.labels = bits;
	while (bits && !found && (*steps)++ < STEPS_MOST &&
	       store_next(v->store, &q, &at, back, &at) == SPUR_OK) {
		if (!view_item(v, at.lane, at.number, out) || !is_flow(&out->item) ||
		    out->item.id != from->item.id)
			continue;
		/* A flow that has ended may begin again with the same id. */
		if (out->item.kind == (back ? SPUR_FLOW_END : SPUR_FLOW_BEGIN))
			break;
		found = true;
	}
	mem_free(bits);
	return found;
}

/* The same in any store. */
static bool flow_step(const struct view *v, const struct view_item *from, bool back,
		      struct view_item *out, unsigned *steps)
{
	struct store_place at;

	if (!store_has_flows(v->store))
		return flow_search(v, from, back, out, steps);
	return store_flow_step(v->store, from->lane, from->number, back, &at) &&
	       view_item(v, at.lane, at.number, out);
}

/* The span that an event is in; the event itself if it is in none. */
static struct view_item span_around(const struct view *v, const struct view_item *i)
{
	const uint64_t up = i->info.depth ? store_parent(v->store, i->lane, i->number) : UINT64_MAX;
	const uint32_t lane = i->info.depth
				      ? store_lane_at(v->store, i->info.track, i->info.depth - 1)
				      : SPUR_NONE;
	struct view_item span;

	return up != UINT64_MAX && lane != SPUR_NONE && view_item(v, lane, up, &span) ? span : *i;
}

static void put_arrow(const struct view *v, const struct view_item *from,
		      const struct view_item *to, struct out *o, unsigned *n)
{
	const struct view_item a = span_around(v, from), b = span_around(v, to);
	struct store_label l;

	store_label(v->store, from->item.label, &l);
	out_str(o, (*n)++ ? ",{\"from\":" : "{\"from\":");
	view_put_span(v, &a, o);
	out_str(o, ",\"to\":");
	view_put_span(v, &b, o);
	out_str(o, ",\"kind\":");
	view_text(o, l.name);
	out_char(o, '}');
}

/* The flow events right inside the span, and the ones next to them in their flows. */
static void flows_in(const struct view *v, const struct view_item *span, uint32_t lane,
		     struct out *o)
{
	const int64_t end = span->item.start + span->item.dur;
	unsigned arrows = 0, steps = 0;
	struct view_item e, other;

	for (uint64_t k = store_seek(v->store, lane, span->item.start);
	     arrows < ARROWS_MOST && steps < STEPS_MOST && view_item(v, lane, k, &e) &&
	     e.item.start <= end;
	     k++, steps++) {
		if (!is_flow(&e.item) || e.item.start < span->item.start)
			continue;
		if (e.item.kind != SPUR_FLOW_BEGIN && flow_step(v, &e, true, &other, &steps))
			put_arrow(v, &other, &e, o, &arrows);
		if (e.item.kind != SPUR_FLOW_END && flow_step(v, &e, false, &other, &steps))
			put_arrow(v, &e, &other, o, &arrows);
	}
}

bool view_flows(struct view *v, const struct view_request *r, struct view_answer *a)
{
	struct view_item span;
	uint32_t lane;

	if (!view_item_of(v, r, &span, a))
		return false;
	lane = store_lane_at(v->store, span.info.track, span.info.depth + 1);
	out_char(&a->out, '[');
	if (lane != SPUR_NONE)
		flows_in(v, &span, lane, &a->out);
	out_char(&a->out, ']');
	return !a->out.error;
}
