/* What a range has: sums by function, a flame graph, the longest calls. */
#include <string.h>

#include "base/mem.h"
#include "view/flame.h"

static struct store_lanes lanes_of(const struct view_range *r)
{
	return (struct store_lanes){ .lanes = r->lanes, .n = r->nlanes };
}

/* --- sums --- */

/* Sums by what nodes have as labels. */
struct path_sums {
	struct store_sum *sums;
	uint32_t *open; /* nodes of the label above the node at hand, and it */
	uint32_t n;
};

/* Adds a node. Recursive calls are in the time of the outermost one. */
static void add_node(const struct view_node *n, struct store_sum *s, bool outermost)
{
	const uint64_t calls = s->calls - s->sampled;

	/* The shortest and the longest one are told of those that ended, if any did. */
	if (n->calls == n->sampled) {
		/* None has a duration of its own. */
	} else if (!calls || (n->ended && s->open == calls)) {
		s->least = (uint64_t)n->least;
		s->most = (uint64_t)n->most;
	} else if (n->ended || s->open == calls) {
		s->least = (uint64_t)n->least < s->least ? (uint64_t)n->least : s->least;
		s->most = (uint64_t)n->most > s->most ? (uint64_t)n->most : s->most;
	}
	s->calls += n->calls;
	s->sampled += n->sampled;
	s->open += n->calls - n->sampled - n->ended;
	s->unfinished += n->unfinished;
	s->sum += n->total;
	s->open_sum += n->open_sum;
	s->self += n->self;
	if (outermost)
		s->total += n->total;
}

static void enter_node(const struct path_sums *p, const struct view_node *n)
{
	if (n->label < p->n)
		add_node(n, &p->sums[n->label], !p->open[n->label]++);
}

static void leave_node(const struct path_sums *p, const struct view_node *n)
{
	if (n->label < p->n)
		p->open[n->label]--;
}

/* Adds up the nodes of a tree, depth first. */
static void add_nodes(void *self, const struct view_flame *f)
{
	const struct view_node *const nodes = f->nodes;

	for (uint32_t id = nodes[0].first; id;) {
		enter_node(self, &nodes[id]);
		if (nodes[id].first) {
			id = nodes[id].first;
			continue;
		}
		while (id && !nodes[id].next) {
			leave_node(self, &nodes[id]);
			id = nodes[id].parent;
		}
		if (id)
			leave_node(self, &nodes[id]);
		id = nodes[id].next;
	}
}

/* Sums call by call: for lanes that are out of order, what is no function, stacks of samples. */
static bool sums_by_path(const struct view *v, const struct view_range *range,
			 enum view_flame_by by, struct path_sums *p, bool *full)
{
	const size_t n = (size_t)p->n + 1;
	uint64_t *const ends = mem_array(n, sizeof(*ends));
	const struct view_flame_sums to = {
		.ends = ends, .nends = p->n, .take = add_nodes, .self = p
	};
	struct view_flame f = { 0 };
	bool good;

	p->open = mem_array(n, sizeof(*p->open));
	good = ends && p->open && view_flame_make(&f, v, range, by, &to);
	for (uint32_t i = 0; good && i < p->n; i++)
		p->sums[i].unfinished += ends[i];
	*full = f.full;
	view_flame_free(&f);
	mem_free(p->open);
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

bool view_sum_has_single(const struct store_sum *s)
{
	return s->calls > s->sampled || !(s->calls || s->sum);
}

/* Writes the numbers of a sum, after the name of what was summed; null: not known. */
static void put_sum(struct out *o, const struct store_sum *s)
{
	out_printf(o, ",\"calls\":%llu,\"total\":%llu,\"self\":%llu,\"avg\":",
		   (unsigned long long)s->calls, (unsigned long long)s->total,
		   (unsigned long long)s->self);
	if (s->calls || !s->sum)
		out_printf(o, "%llu", (unsigned long long)view_sum_average(s));
	else
		out_str(o, "null");
	if (view_sum_has_single(s))
		out_printf(o, ",\"min\":%llu,\"max\":%llu",
			   (unsigned long long)(s->calls ? s->least : 0),
			   (unsigned long long)s->most);
	else
		out_str(o, ",\"min\":null,\"max\":null");
	out_printf(o, ",\"unfinished\":%llu}", (unsigned long long)s->unfinished);
}

/*
 * Sums by function; by module, in the places of the modules' first labels; by thread or process, in
 * the places of their tracks + 1. Sets *full if the calls have too many paths. Free with
 * mem_free(). Returns NULL if that is so, or if out of memory.
 */
static struct store_sum *sums_make(const struct view *v, const struct view_range *range,
				   enum view_flame_by by, uint32_t *n, bool *full)
{
	const struct store_facts f = store_facts(v->store);
	struct path_sums p = { 0 };
	bool good;

	p.n = by == VIEW_BY_THREAD || by == VIEW_BY_PROCESS ? f.tracks + 1 : f.labels;
	p.sums = mem_array((size_t)p.n + 1, sizeof(*p.sums));
	*n = p.n;
	*full = false;
	if (by != VIEW_BY_FUNCTION || f.facts & (STORE_LAPS | STORE_BACK | STORE_STACKS))
		good = p.sums && sums_by_path(v, range, by, &p, full);
	else
		good = p.sums && store_sums(v->store,
					    &(struct store_range){ .lanes = lanes_of(range),
								   .from = range->from,
								   .to = range->to },
					    p.sums, p.n ? p.n : 1);
	if (good)
		return p.sums;
	mem_free(p.sums);
	return NULL;
}

struct store_sum *view_sums_make(const struct view *v, const struct view_range *range, uint32_t *n)
{
	bool full;

	return sums_make(v, range, VIEW_BY_FUNCTION, n, &full);
}

/* Reads what sums are by. Returns false, with the answer a refusal, if it is something else. */
static bool read_by(const struct view_request *r, enum view_flame_by *out, struct view_answer *a)
{
	static const char *const words[] = { "function", "module", "thread", "process" };
	const char *const by = view_arg(r, "by");

	*out = VIEW_BY_FUNCTION;
	for (unsigned i = 0; by && i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(by, words[i])) {
			*out = (enum view_flame_by)i;
			return true;
		}
	return !by || view_refuse(a, 400, "expected by=function, module, thread or process");
}

bool view_sums(struct view *v, const struct view_request *r, struct view_answer *a)
{
	struct view_range range;
	enum view_flame_by by;
	struct store_sum *sums;
	bool of_tracks, first = true, full, good;
	uint32_t n;

	if (!read_by(r, &by, a) || !view_range(v, r, &range, a))
		return false;
	of_tracks = by == VIEW_BY_THREAD || by == VIEW_BY_PROCESS;
	sums = sums_make(v, &range, by, &n, &full);
	out_char(&a->out, '[');
	/* Of tracks, time off the CPU is no sum. */
	for (uint32_t i = of_tracks; sums && i < n; i++) {
		if (!sums[i].calls && !sums[i].sum && !sums[i].unfinished)
			continue;
		out_str(&a->out, first ? "{" : ",{");
		if (of_tracks)
			out_printf(&a->out, "\"label\":-1,\"track\":%u", i - 1);
		else
			out_printf(&a->out, "\"label\":%u", i);
		put_sum(&a->out, &sums[i]);
		first = false;
	}
	out_char(&a->out, ']');
	good = sums && !a->out.error;
	if (full)
		view_flame_refuse(a);
	view_range_free(&range);
	mem_free(sums);
	return good;
}

/* --- the longest calls --- */

bool view_calls_make(const struct view *v, const struct view_range *range, int64_t label,
		     struct view_item *out, size_t *count)
{
	const uint32_t nlabels = store_facts(v->store).labels;
	struct store_call calls[VIEW_CALLS_MOST];
	struct store_query q = { .which = label ? STORE_NO_OFF_CPU : STORE_ONLY_OFF_CPU,
				 .ended = true,
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
	good = (label <= 0 || bits) && store_longest(v->store, &q, calls, VIEW_CALLS_MOST, &n);
	*count = 0;
	for (size_t i = 0; good && i < n; i++)
		*count += view_item(v, calls[i].place.lane, calls[i].place.number, &out[*count]);
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
