/* Classes to functions. See group.h. */
#include "pass/fold/group.h"

#include "render/cell.h"

enum { GROUP_LIMIT = 1 << 25 };

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

static uint32_t group_add(struct groups *g, uint64_t key, const struct event_class *c)
{
	struct map64_slot *slot = map64_put(&g->by_key, key), *same;

	if (!slot ||
	    !mem_grow((void **)&g->items, &g->cap, g->n + 1, sizeof(*g->items), GROUP_LIMIT))
		return GROUP_NONE;
	if (!slot->value) {
		same = map64_put(&g->by_name, c ? c->name : UINT64_MAX);
		if (!same)
			return GROUP_NONE;
		g->items[g->n] = group_make(g->trace, c);
		slot->value = ++g->n;
		if (same->value)
			g->items[g->n - 1].shared_name = g->items[same->value - 1].shared_name =
				true;
		else
			same->value = g->n;
	}
	return (uint32_t)slot->value - 1;
}

bool group_stands_before(const struct event_class *a, const struct event_class *b)
{
	if (a->addr != b->addr)
		return a->addr < b->addr;
	return a->size != b->size ? a->size > b->size : a->line < b->line;
}

uint32_t groups_put(struct groups *g, uint32_t cls)
{
	const struct event_class *c;
	struct group *p;
	uint32_t id;

	if (cls < g->of_cap && g->of[cls])
		return g->of[cls] - 1;
	if (!mem_grow((void **)&g->of, &g->of_cap, (size_t)cls + 1, sizeof(*g->of), GROUP_LIMIT))
		return GROUP_NONE;
	c = cls ? trace_class(g->trace, cls) : NULL;
	id = group_add(g, c ? c->head : GROUP_OFF_CPU, c);
	if (id == GROUP_NONE)
		return id;
	p = &g->items[id];
	if (c && group_stands_before(c, p->cls))
		p->cls = c;
	g->of[cls] = id + 1;
	return id;
}

void groups_free(struct groups *g)
{
	mem_free(g->items);
	mem_free(g->of);
	map64_free(&g->by_key);
	map64_free(&g->by_name);
	*g = (struct groups){ 0 };
}

static int bytes_order(const char *a, size_t na, const char *b, size_t nb)
{
	int c = memcmp(a, b, na < nb ? na : nb);

	return c ? c : (na > nb) - (na < nb);
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

bool group_is(const struct groups *g, const struct group *p, const char *name)
{
	if (strcmp(p->name, name) == 0)
		return true;
	return p->cls && (strcmp(trace_string(g->trace, p->cls->simple, NULL), name) == 0 ||
			  strcmp(trace_string(g->trace, p->cls->raw, NULL), name) == 0);
}
