/* Classes to functions. See group.h. */
#include "pass/fold/group.h"

#include <assert.h>

#include "render/cell.h"

enum { GROUP_LIMIT = 1 << 25 };

/* In `of`: the class was asked for; a head has its group's number as soon as one of its classes. */
#define ASKED (UINT32_C(1) << 31)

struct group group_make(const struct spur_trace *t, const struct event_class *c)
{
	struct group p = { .name = "(off CPU)", .name_len = 9, .module = "", .cat = "", .cls = c };

	if (!c)
		return p;
	p.name = trace_string(t, c->name, &p.name_len);
	if (!(c->flags & CLASS_LIBRARY))
		p.module = trace_string(t, c->module, &p.module_len);
	if (c->flags & CLASS_CATEGORY)
		p.cat = trace_string(t, c->cat, &p.cat_len);
	return p;
}

bool group_stands_before(const struct event_class *a, const struct event_class *b)
{
	if (a->addr != b->addr)
		return a->addr < b->addr;
	return a->size != b->size ? a->size > b->size : a->line < b->line;
}

/* Adds a group of the class; GROUP_NONE: out of memory. */
static uint32_t group_add(struct groups *g, uint32_t cls, uint32_t name)
{
	if (!mem_grow((void **)&g->cls, &g->cap, g->n + 1, sizeof(*g->cls), GROUP_LIMIT) ||
	    !mem_grow((void **)&g->named, &g->named_cap, (size_t)name + 1, 1, SIZE_MAX / 2))
		return GROUP_NONE;
	if (cls && g->named[name] < 2)
		g->named[name]++;
	g->cls[g->n] = cls;
	return (uint32_t)g->n++;
}

uint32_t groups_put(struct groups *g, uint32_t cls)
{
	const struct event_class *c;
	uint32_t head, id;

	assert(!g->items);
	if (cls < g->of_cap && g->of[cls] & ASKED)
		return (g->of[cls] & ~ASKED) - 1;
	c = cls ? trace_class(g->trace, cls) : NULL;
	head = c ? c->head : cls;
	if (!mem_grow((void **)&g->of, &g->of_cap, (size_t)(cls > head ? cls : head) + 1,
		      sizeof(*g->of), GROUP_LIMIT))
		return GROUP_NONE;
	id = g->of[head] ? (g->of[head] & ~ASKED) - 1 : group_add(g, cls, c ? c->name : 0);
	if (id == GROUP_NONE)
		return id;
	if (c && group_stands_before(c, trace_class(g->trace, g->cls[id])))
		g->cls[id] = cls;
	g->of[head] = g->of[head] ? g->of[head] : id + 1;
	g->of[cls] = (id + 1) | ASKED;
	return id;
}

struct group group_at(const struct groups *g, uint32_t id)
{
	const struct event_class *c;
	struct group p;

	assert(id < g->n);
	if (g->items)
		return g->items[id];
	c = g->cls[id] ? trace_class(g->trace, g->cls[id]) : NULL;
	p = group_make(g->trace, c);
	p.shared_name = c && g->named[c->name] > 1;
	return p;
}

void groups_free(struct groups *g)
{
	mem_free(g->items);
	mem_free(g->cls);
	mem_free(g->of);
	mem_free(g->named);
	*g = (struct groups){ 0 };
}

static int bytes_order(const char *a, size_t na, const char *b, size_t nb)
{
	int c = memcmp(a, b, na < nb ? na : nb);

	return c ? c : (na > nb) - (na < nb);
}

static int class_name_order(const struct spur_trace *t, const struct event_class *a,
			    const struct event_class *b)
{
	size_t na, nb;
	const char *x, *y;

	if (a->name == b->name)
		return 0;
	x = trace_string(t, a->name, &na);
	y = trace_string(t, b->name, &nb);
	return bytes_order(x, na, y, nb);
}

int group_order(const struct group *a, const struct group *b)
{
	int c = bytes_order(a->name, a->name_len, b->name, b->name_len);

	if (!c)
		c = bytes_order(a->module, a->module_len, b->module, b->module_len);
	return c ? c : bytes_order(a->cat, a->cat_len, b->cat, b->cat_len);
}

void out_group(struct out *o, const struct group *g)
{
	out_bytes(o, g->name, g->name_len);
	if (g->shared_name && g->module_len) {
		out_str(o, " [");
		out_str(o, cell_basename(g->module));
		out_char(o, ']');
	}
	if (g->shared_name && g->cat_len) {
		out_str(o, " [");
		out_bytes(o, g->cat, g->cat_len);
		out_char(o, ']');
	}
}

void out_group_at(struct out *o, const struct groups *g, uint32_t id)
{
	const struct event_class *c =
		!g->items && g->cls[id] ? trace_class(g->trace, g->cls[id]) : NULL;
	struct group p;
	size_t len;

	if (c && g->named[c->name] < 2) {
		const char *name = trace_string(g->trace, c->name, &len);

		out_bytes(o, name, len);
		return;
	}
	p = group_at(g, id);
	out_group(o, &p);
}

int groups_order(const struct groups *g, uint32_t a, uint32_t b)
{
	struct group x, y;

	/* Names decide, but for few. */
	if (!g->items && g->cls[a] && g->cls[b]) {
		const int c = class_name_order(g->trace, trace_class(g->trace, g->cls[a]),
					       trace_class(g->trace, g->cls[b]));

		if (c || a == b)
			return c;
	}
	x = group_at(g, a);
	y = group_at(g, b);
	return group_order(&x, &y);
}

bool group_is(const struct groups *g, uint32_t id, const char *name)
{
	const struct group p = group_at(g, id);

	if (strcmp(p.name, name) == 0)
		return true;
	return p.cls && (strcmp(trace_string(g->trace, p.cls->simple, NULL), name) == 0 ||
			 strcmp(trace_string(g->trace, p.cls->raw, NULL), name) == 0);
}
