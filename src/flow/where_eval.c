/* Expressions over classes and events: see where.h. */
#include <string.h>

#include "base/mem.h"
#include "flow/where.h"
#include "format/format.h"

enum { HEX_MAX = 256, COPY = 512 };

/* --- comparing --- */

static bool order_holds(enum where_op op, int order)
{
	switch (op) {
	case WHERE_EQ:
		return order == 0;
	case WHERE_NE:
		return order != 0;
	case WHERE_LT:
		return order < 0;
	case WHERE_LE:
		return order <= 0;
	case WHERE_GT:
		return order > 0;
	case WHERE_GE:
		return order >= 0;
	default:
		return false;
	}
}

/*
 * Long doubles hold all integers of 64 bits and all doubles exactly. NaN differs from everything.
 */
static bool reals_hold(enum where_op op, long double a, long double b)
{
	if (a != a || b != b)
		return op == WHERE_NE;
	return order_holds(op, (a > b) - (a < b));
}

static bool number_holds(const struct where_leaf *l, __int128 v)
{
	if (l->type == WHERE_INT)
		return order_holds(l->op, (v > l->number) - (v < l->number));
	if (l->type == WHERE_FLOAT)
		return reals_hold(l->op, (long double)v, l->real);
	return l->type == WHERE_NULL && l->op == WHERE_NE;
}

/*
 * Floats of 32 bits are shown with as few digits as tell them from other floats: what is typed is
 * rounded as they are.
 */
static bool real_holds(const struct where_leaf *l, const struct spur_value *v)
{
	const bool few = v->size == 4;

	if (l->type == WHERE_INT)
		return reals_hold(l->op, v->f,
				  few ? (float)l->number : (long double)l->number);
	if (l->type == WHERE_FLOAT)
		return reals_hold(l->op, v->f, few ? (float)l->real : l->real);
	return l->type == WHERE_NULL && l->op == WHERE_NE;
}

/* Text that need not end in a NUL, against the pattern. Without memory it does not match. */
static bool pattern_holds(const struct pattern *p, const char *s, size_t len)
{
	char few[COPY], *copy = len < sizeof(few) ? few : mem_alloc(len + 1);
	bool holds;

	if (!copy)
		return false;
	if (len)
		memcpy(copy, s, len);
	copy[len] = '\0';
	holds = pattern_match(p, copy);
	if (copy != few)
		mem_free(copy);
	return holds;
}

static bool text_holds(const struct where_leaf *l, const char *s, size_t len)
{
	const size_t least = len < l->text.len ? len : l->text.len;
	int order;

	if (l->type != WHERE_TEXT)
		return l->type == WHERE_NULL && l->op == WHERE_NE;
	if (l->op == WHERE_MATCH)
		return pattern_holds(l->pattern, s, len);
	order = least ? memcmp(s, l->text.p, least) : 0;
	return order_holds(l->op, order ? order : (len > l->text.len) - (len < l->text.len));
}

/* A string of the trace: equal ones have equal ids. */
static bool string_holds(const struct spur_trace *t, const struct where_leaf *l, uint32_t id)
{
	const char *s;
	size_t len;

	if (l->op == WHERE_EQ || l->op == WHERE_NE)
		return (id == l->id) == (l->op == WHERE_EQ);
	s = trace_string(t, id, &len);
	return text_holds(l, s, len);
}

/* --- arguments --- */

/* Bytes are the hexadecimal text that JSON has of them. */
static bool bytes_hold(const struct where_leaf *l, const struct spur_value *v)
{
	static const char digits[] = "0123456789abcdef";
	char hex[2 * HEX_MAX];

	if (v->count > HEX_MAX)
		return false;
	for (uint32_t i = 0; i < v->count; i++) {
		hex[2 * i] = digits[(unsigned char)v->text[i] >> 4];
		hex[2 * i + 1] = digits[v->text[i] & 15];
	}
	return text_holds(l, hex, 2 * (size_t)v->count);
}

static bool scalar_holds(const struct where_leaf *l, const struct spur_value *v)
{
	switch ((enum spur_type)v->type) {
	case SPUR_NULL:
		return l->type == WHERE_NULL && l->op == WHERE_EQ;
	case SPUR_F64:
		return real_holds(l, v);
	case SPUR_STRING:
		return text_holds(l, v->text, v->count);
	case SPUR_BYTES:
		return bytes_hold(l, v);
	case SPUR_ENUM:
	case SPUR_I64:
		if (l->type == WHERE_TEXT)
			return v->label && v->type == SPUR_ENUM &&
			       text_holds(l, v->label, strlen(v->label));
		return number_holds(l, v->i);
	case SPUR_POINTER:
	case SPUR_KOID:
		if (l->type == WHERE_TEXT)
			return v->label && text_holds(l, v->label, strlen(v->label));
		return number_holds(l, v->u);
	case SPUR_U64:
	case SPUR_BOOL:
		return l->type != WHERE_TEXT && number_holds(l, v->u);
	default:
		return false;
	}
}

static bool step_is(const struct where_step *s, const struct spur_value *v, size_t i)
{
	return v->name ? v->name == s->name : s->place && s->place == i + 1;
}

/* The values that the steps from `at` on lead to; an array stands for each of its items. */
static bool value_holds(const struct where_leaf *l, size_t at, const struct spur_value *v,
			bool *found, unsigned depth)
{
	const bool wants = at < l->nsteps;

	if (depth > WHERE_DEPTH)
		return false;
	if (v->type == SPUR_STRUCT && wants) {
		for (uint32_t i = 0; i < v->count; i++)
			if (step_is(&l->steps[at], &v->items[i], i) &&
			    value_holds(l, at + 1, &v->items[i], found, depth + 1))
				return true;
		return false;
	}
	if (v->type == SPUR_ARRAY) {
		const bool indexed = wants && l->steps[at].index != UINT32_MAX;

		for (uint32_t i = 0; i < v->count; i++)
			if ((!indexed || i == l->steps[at].index) &&
			    value_holds(l, at + indexed, &v->items[i], found, depth + 1))
				return true;
		return false;
	}
	if (wants)
		return false;
	*found = true;
	return scalar_holds(l, v);
}

static bool arg_is(const struct where_leaf *l, const struct spur_args *args, size_t i,
		   uint32_t retval)
{
	const struct spur_value *v = &args->items[i];

	return retval && !v->name && args->count == 1 ? l->steps[0].name == retval
						      : step_is(&l->steps[0], v, i);
}

/* Several arguments of one name are an array, as in JSON. */
static bool args_hold(const struct where_leaf *l, const struct spur_args *args, uint32_t retval,
		      bool *found)
{
	const bool indexed = l->nsteps > 1 && l->steps[1].index != UINT32_MAX;
	size_t same = 0, seen = 0;

	for (size_t i = 0; args && indexed && i < args->count; i++)
		same += arg_is(l, args, i, retval);
	for (size_t i = 0; args && i < args->count; i++) {
		if (!arg_is(l, args, i, retval))
			continue;
		if (same > 1 && seen++ != l->steps[1].index)
			continue;
		if (value_holds(l, same > 1 ? 2 : 1, &args->items[i], found, 0))
			return true;
	}
	return false;
}

/* --- leaves --- */

static void note(bool *flag)
{
	if (!__atomic_load_n(flag, __ATOMIC_RELAXED))
		__atomic_store_n(flag, true, __ATOMIC_RELAXED);
}

static enum where_truth truth(bool b)
{
	return b ? WHERE_TRUE : WHERE_FALSE;
}

static bool module_holds(const struct spur_trace *t, const struct where_leaf *l,
			 const struct event_class *c)
{
	const char *path, *slash;
	size_t len;

	if (!c->module)
		return false;
	path = trace_string(t, c->module, &len);
	slash = strrchr(path, '/');
	if (l->op == WHERE_NE)
		return c->module != l->id && !(slash && text_is(l->text, slash + 1));
	return string_holds(t, l, c->module) ||
	       (l->op == WHERE_EQ && slash && text_is(l->text, slash + 1));
}

/* --name: the name as shown, the short one, or the one in the data. */
static bool any_name_holds(const struct spur_trace *t, const struct where_leaf *l, uint32_t name,
			   const struct event_class *c)
{
	return pattern_match(l->pattern, trace_string(t, name, NULL)) ||
	       (c->simple && pattern_match(l->pattern, trace_string(t, c->simple, NULL))) ||
	       (c->raw && pattern_match(l->pattern, trace_string(t, c->raw, NULL)));
}

static bool named_holds(const struct spur_trace *t, const struct where_leaf *l, uint32_t name,
			uint32_t cat, const struct event_class *c)
{
	switch (l->field) {
	case WHERE_NAME:
		return string_holds(t, l, name);
	case WHERE_CAT:
		return string_holds(t, l, cat);
	case WHERE_MODULE:
		return module_holds(t, l, c);
	default:
		return any_name_holds(t, l, name, c);
	}
}

static bool leaf_is_named(const struct where_leaf *l)
{
	return l->field == WHERE_NAME || l->field == WHERE_CAT || l->field == WHERE_MODULE ||
	       l->field == WHERE_ANY_NAME;
}

/* The same ids as output shows: those of the row's own track. */
static bool id_holds(const struct where_leaf *l, int64_t id)
{
	return id != -1 && number_holds(l, (uint64_t)id);
}

static bool track_holds(const struct spur_trace *t, const struct where_leaf *l, uint32_t id)
{
	const struct spur_track *own = trace_track(t, id), *thread;

	if (l->field != WHERE_THREAD)
		return own && id_holds(l, l->field == WHERE_PID ? own->pid : own->tid);
	thread = trace_track(t, trace_thread_of(t, id));
	return thread && string_holds(t, l, thread->name);
}

static enum where_truth dur_holds(const struct where_leaf *l, const struct where_event *e)
{
	if (e->has_dur == WHERE_NO_DUR)
		return WHERE_FALSE;
	if (e->has_dur == WHERE_DUR_KNOWN)
		return truth(number_holds(l, e->dur));
	if (e->dur <= l->number)
		return (l->op == WHERE_GE && e->dur == l->number) ? WHERE_TRUE : WHERE_OPEN;
	return truth(l->op == WHERE_GT || l->op == WHERE_GE || l->op == WHERE_NE);
}

static enum where_truth arg_holds(const struct where *w, struct where_leaf *l, size_t leaf,
				  const struct where_event *e)
{
	const bool is_end = e->row->kind == SPUR_END_SPAN && !e->end_args;
	bool found = false, holds;

	if (e->args_open)
		return WHERE_OPEN;
	holds = args_hold(l, e->args, is_end ? w->retval : 0, &found) ||
		args_hold(l, e->end_args, w->retval, &found);
	if (found)
		note(&l->found);
	if (holds)
		return WHERE_TRUE;
	if (e->end_open && (leaf >= WHERE_CACHED || (e->class->at_end >> leaf & 1)))
		return WHERE_OPEN;
	return WHERE_FALSE;
}

static enum where_truth leaf_look(struct where *w, size_t leaf, const struct where_event *e)
{
	struct where_leaf *l = &w->leaves[leaf];
	const bool own = leaf < WHERE_CACHED && (e->class->known >> leaf & 1) &&
			 (l->field == WHERE_ARG ||
			  (e->name == e->class->name && e->cat == e->class->cat));

	if (own)
		return truth(e->class->truth >> leaf & 1);
	switch (l->field) {
	case WHERE_TS:
		return truth(number_holds(l, e->row->ts));
	case WHERE_DUR:
		return dur_holds(l, e);
	case WHERE_CPU:
		return truth(e->row->cpu != SPUR_NO_CPU && number_holds(l, e->row->cpu));
	case WHERE_DEPTH_OF:
		return truth(number_holds(l, e->depth));
	case WHERE_KIND:
		return truth((l->number >> e->row->kind & 1) == (l->op != WHERE_NE));
	case WHERE_PID:
	case WHERE_TID:
	case WHERE_THREAD:
		return truth(track_holds(w->trace, l, e->row->track));
	case WHERE_ARG:
		return arg_holds(w, l, leaf, e);
	default:
		return truth(named_holds(w->trace, l, e->name, e->cat, e->cls));
	}
}

static enum where_truth leaf_holds(struct where *w, size_t leaf, const struct where_event *e)
{
	const enum where_truth t = leaf_look(w, leaf, e);

	if (t != WHERE_OPEN)
		note(&w->leaves[leaf].asked);
	if (t == WHERE_TRUE)
		note(&w->leaves[leaf].held);
	return t;
}

/* --- trees --- */

static enum where_truth node_holds(struct where *w, uint32_t node, const struct where_event *e)
{
	const struct where_node *n = &w->nodes[node];
	enum where_truth a, b, decides;

	if (n->kind == WHERE_LEAF)
		return leaf_holds(w, n->a, e);
	a = node_holds(w, n->a, e);
	if (n->kind == WHERE_NOT)
		return a == WHERE_OPEN ? a : truth(a == WHERE_FALSE);
	decides = truth(n->kind == WHERE_OR);
	if (a == decides)
		return a;
	b = node_holds(w, n->b, e);
	if (b == decides)
		return b;
	return a == WHERE_OPEN ? a : b;
}

enum where_truth where_holds(struct where *w, const struct where_event *e)
{
	return node_holds(w, w->root, e);
}

/* --- classes --- */

/* One of the plan's values may be meant. */
static bool plan_has(const struct where *w, const struct plan *p, const struct where_leaf *l,
		     bool is_end)
{
	for (uint32_t i = 0; p && i < p->count; i++) {
		const struct spur_value v = { .name = p->ops[i].name };

		if (step_is(l->steps, &v, i) ||
		    (is_end && !v.name && p->count == 1 && l->steps[0].name == w->retval))
			return true;
	}
	return false;
}

static enum where_truth class_node(const struct where *w, const struct where_class *c,
				   uint32_t node)
{
	const struct where_node *n = &w->nodes[node];
	enum where_truth a, b, decides;

	if (n->kind == WHERE_LEAF)
		return n->a < WHERE_CACHED && (c->known >> n->a & 1)
			       ? truth(c->truth >> n->a & 1)
			       : WHERE_OPEN;
	a = class_node(w, c, n->a);
	if (n->kind == WHERE_NOT)
		return a == WHERE_OPEN ? a : truth(a == WHERE_FALSE);
	b = class_node(w, c, n->b);
	decides = truth(n->kind == WHERE_OR);
	if (a == decides || b == decides)
		return decides;
	return a == WHERE_OPEN ? a : b;
}

/* Arguments come from the classes' plans alone. */
static bool uses_plans(const struct spur_trace *t)
{
	for (size_t i = 0; i < t->nparts; i++)
		if (!uses_plans(t->parts[i].trace))
			return false;
	return t->nparts || !t->format || !t->format->args;
}

void where_class(struct where *w, const struct event_class *c, struct where_class *out)
{
	const bool planned = uses_plans(w->trace);

	*out = (struct where_class){ .name = c->name, .cat = c->cat };
	for (size_t i = 0; i < w->nleaves && i < WHERE_CACHED; i++) {
		struct where_leaf *l = &w->leaves[i];
		const uint64_t bit = (uint64_t)1 << i;
		bool known = leaf_is_named(l), holds = false;

		if (known) {
			holds = named_holds(w->trace, l, c->name, c->cat, c);
		} else if (l->field == WHERE_ARG) {
			const bool at_end = !planned || plan_has(w, class_plan(c, true), l, true);

			out->at_end |= at_end ? bit : 0;
			known = planned && !at_end && !plan_has(w, class_plan(c, false), l, false);
		}
		out->known |= known ? bit : 0;
		out->truth |= holds ? bit : 0;
		if (known)
			note(&l->asked);
		if (holds)
			note(&l->held);
	}
	out->all = class_node(w, out, w->root);
}
