/* What a range has: sums by function, a flame graph, the longest calls. */
#include <string.h>

#include "base/mem.h"
#include "view/flame.h"

static struct store_lanes lanes_of(const struct view_range *r)
{
	return (struct store_lanes){ .lanes = r->lanes, .n = r->nlanes };
}

/* --- sums --- */

/* Returns true if a node of the same label is above this one: a recursive call. */
static bool is_recursive(const struct view_flame *f, uint32_t id)
{
	for (uint32_t up = f->nodes[id].parent; up; up = f->nodes[up].parent)
		if (f->nodes[up].label == f->nodes[id].label)
			return true;
	return false;
}

/* Adds up nodes by label: recursive calls are in the time of the outermost one. */
static void add_nodes(const struct view_flame *f, struct store_sum *sums, uint32_t nlabels)
{
	for (uint32_t i = 1; i < f->n; i++) {
		const struct view_node *const n = &f->nodes[i];
		struct store_sum *s;

		if (n->label >= nlabels)
			continue;
		s = &sums[n->label];
		/* The shortest and the longest one are told of those that ended, if any did. */
		if (!s->calls || (n->ended && s->open == s->calls)) {
			s->least = (uint64_t)n->least;
			s->most = (uint64_t)n->most;
		} else if (n->ended || s->open == s->calls) {
			s->least = (uint64_t)n->least < s->least ? (uint64_t)n->least : s->least;
			s->most = (uint64_t)n->most > s->most ? (uint64_t)n->most : s->most;
		}
		s->calls += n->calls;
		s->open += n->calls - n->ended;
		s->unfinished += n->unfinished;
		s->sum += (uint64_t)n->total;
		s->open_sum += (uint64_t)n->open_sum;
		s->self += (uint64_t)n->self;
		if (!is_recursive(f, i))
			s->total += (uint64_t)n->total;
	}
}

/* Sums call by call: for lanes that are out of order, and for modules. */
static bool sums_by_path(const struct view *v, const struct view_range *range,
			 enum view_flame_by by, struct store_sum *sums, uint32_t nlabels)
{
	uint64_t *const ends = mem_array((size_t)nlabels + 1, sizeof(*ends));
	struct view_flame f;
	bool good;

	if (!ends)
		return false;
	good = view_flame_make(&f, v, range, by, ends);
	if (good)
		add_nodes(&f, sums, nlabels);
	for (uint32_t i = 0; good && i < nlabels; i++)
		sums[i].unfinished += ends[i];
	view_flame_free(&f);
	mem_free(ends);
	return good;
}

uint64_t view_sum_average(const struct store_sum *s)
{
	const uint64_t ended = s->calls - s->open;

	if (!s->calls)
		return 0;
	return ended ? (s->sum - s->open_sum) / ended : s->sum / s->calls;
}

static void put_sum(struct out *o, uint32_t label, const struct store_sum *s, bool first)
{
	out_printf(o,
		   "%s{\"label\":%u,\"calls\":%llu,\"total\":%llu,\"self\":%llu,"
		   "\"avg\":%llu,\"min\":%llu,\"max\":%llu,\"unfinished\":%llu}",
		   first ? "" : ",", label, (unsigned long long)s->calls,
		   (unsigned long long)s->total, (unsigned long long)s->self,
		   (unsigned long long)view_sum_average(s),
		   (unsigned long long)(s->calls ? s->least : 0), (unsigned long long)s->most,
		   (unsigned long long)s->unfinished);
}

struct store_sum *view_sums_make(const struct view *v, const struct view_range *range, uint32_t *n)
{
	const struct store_facts f = store_facts(v->store);
	struct store_sum *const sums = mem_array((size_t)f.labels + 1, sizeof(*sums));
	bool good;

	*n = f.labels;
	if (f.facts & (STORE_LAPS | STORE_BACK))
		good = sums && sums_by_path(v, range, VIEW_BY_FUNCTION, sums, f.labels);
	else
		good = sums && store_sums(v->store,
					  &(struct store_range){ .lanes = lanes_of(range),
								 .from = range->from,
								 .to = range->to },
					  sums, f.labels ? f.labels : 1);
	if (good)
		return sums;
	mem_free(sums);
	return NULL;
}

/* Sums by module, in the places of the modules' first labels. Free with mem_free(). */
static struct store_sum *module_sums(const struct view *v, const struct view_range *range,
				     uint32_t *n)
{
	struct store_sum *const sums =
		mem_array((size_t)store_facts(v->store).labels + 1, sizeof(*sums));

	*n = store_facts(v->store).labels;
	if (sums && sums_by_path(v, range, VIEW_BY_MODULE, sums, *n))
		return sums;
	mem_free(sums);
	return NULL;
}

bool view_sums(struct view *v, const struct view_request *r, struct view_answer *a)
{
	const char *const by = view_arg(r, "by");
	struct view_range range;
	struct store_sum *sums;
	bool first = true, good;
	uint32_t n;

	if (by && strcmp(by, "module") != 0)
		return view_refuse(a, 400, "expected by=module");
	if (!view_range(v, r, &range, a))
		return false;
	sums = by ? module_sums(v, &range, &n) : view_sums_make(v, &range, &n);
	out_char(&a->out, '[');
	for (uint32_t i = 0; sums && i < n; i++)
		if (sums[i].calls || sums[i].unfinished) {
			put_sum(&a->out, i, &sums[i], first);
			first = false;
		}
	out_char(&a->out, ']');
	good = sums && !a->out.error;
	view_range_free(&range);
	mem_free(sums);
	return good;
}

/* --- the longest calls --- */

/* Returns true if a call ended in the range, as `spur top` asks of those that it lists. */
static bool has_end(const struct store_item *i, int64_t to)
{
	return !(i->marks & STORE_OPEN) && (i->kind == SPUR_SPAN || i->start + i->dur < to);
}

bool view_calls_make(const struct view *v, const struct view_range *range, int64_t label,
		     struct view_item *out, size_t *count)
{
	const uint32_t nlabels = store_facts(v->store).labels;
	struct store_call calls[4 * VIEW_CALLS_MOST];
	struct store_query q = { .which = label ? STORE_NO_OFF_CPU : STORE_ONLY_OFF_CPU,
				 .least = 1,
				 .lanes = lanes_of(range),
				 .from = range->from,
				 .to = range->to };
	uint64_t *bits = NULL;
	size_t n = 0;
	bool good;

	if (label > 0) {
		struct store_label l;

		bits = mem_array(nlabels / 64 + 1, sizeof(*bits));
		for (uint32_t i = 0; bits && i < nlabels; i++)
			if (store_label(v->store, i, &l) && (i == label || l.head == label))
				bits[i / 64] |= UINT64_C(1) << i % 64;
		q.labels = bits;
		q.nlabels = nlabels;
	}
	good = (label <= 0 || bits) && store_longest(v->store, &q, calls, 4 * VIEW_CALLS_MOST, &n);
	*count = 0;
	for (size_t i = 0; good && i < n && *count < VIEW_CALLS_MOST; i++) {
		struct view_item *const to = &out[*count];

		if (view_item(v, calls[i].place.lane, calls[i].place.number, to) &&
		    has_end(&to->item, range->to))
			(*count)++;
	}
	mem_free(bits);
	return good;
}

bool view_calls(struct view *v, const struct view_request *r, struct view_answer *a)
{
	struct view_item *const calls = mem_array(VIEW_CALLS_MOST, sizeof(*calls));
	struct view_range range;
	int64_t label;
	size_t n = 0;
	bool good;

	if (!calls)
		return false;
	good = view_number(r, "label", 0, UINT32_MAX, -1, &label) ||
	       view_refuse(a, 400, "expected label as a number");
	if (good && view_range(v, r, &range, a)) {
		good = view_calls_make(v, &range, label, calls, &n);
		view_range_free(&range);
		out_char(&a->out, '[');
		for (size_t i = 0; good && i < n; i++) {
			if (i)
				out_char(&a->out, ',');
			view_put_span(v, &calls[i], &a->out);
		}
		out_char(&a->out, ']');
		good = good && !a->out.error;
	} else {
		good = false;
	}
	mem_free(calls);
	return good;
}
