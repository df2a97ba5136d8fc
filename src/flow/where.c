/* The tree of an expression: see where.h. */
#include "flow/where.h"

#include <string.h>

#include "base/mem.h"

void where_init(struct where *w, struct spur_trace *t)
{
	*w = (struct where){ .trace = t, .root = UINT32_MAX, .longest = INT64_MIN };
	w->base = (struct moment_base){ .trace = t, .numbers = MOMENT_TS };
	arena_init(&w->arena);
	w->retval = trace_intern(t, "retval");
}

void where_free(struct where *w)
{
	for (size_t i = 0; i < w->nleaves; i++)
		pattern_free(w->leaves[i].pattern);
	mem_free(w->leaves);
	mem_free(w->nodes);
	arena_free(&w->arena);
}

enum spur_status where_node(struct where *w, struct where_node n, uint32_t *out,
			    struct spur_error *err)
{
	if (w->nnodes >= WHERE_NODES)
		return err_set(err, SPUR_ERR_USAGE,
			       "--where: expected at most %d comparisons and operators",
			       WHERE_NODES);
	if (!mem_grow((void **)&w->nodes, &w->nodes_cap, w->nnodes + 1, sizeof(*w->nodes),
		      WHERE_NODES))
		return err_nomem(err);
	*out = (uint32_t)w->nnodes;
	w->nodes[w->nnodes++] = n;
	return SPUR_OK;
}

enum spur_status where_leaf(struct where *w, struct where_leaf l, uint32_t *out,
			    struct spur_error *err)
{
	if (w->nleaves < WHERE_NODES &&
	    !mem_grow((void **)&w->leaves, &w->leaves_cap, w->nleaves + 1, sizeof(*w->leaves),
		      WHERE_NODES)) {
		pattern_free(l.pattern);
		return err_nomem(err);
	}
	if (w->nleaves >= WHERE_NODES) {
		pattern_free(l.pattern);
		return where_node(w, (struct where_node){ 0 }, out, err);
	}
	w->leaves[w->nleaves] = l;
	w->uses_args |= l.field == WHERE_ARG;
	w->uses_calls |= l.field == WHERE_ARG || l.field == WHERE_DUR || l.field == WHERE_DEPTH_OF;
	if (l.field == WHERE_DUR && l.number > w->longest)
		w->longest = l.number < INT64_MAX ? (int64_t)l.number : INT64_MAX;
	return where_node(w, (struct where_node){ WHERE_LEAF, (uint32_t)w->nleaves++, 0 }, out,
			  err);
}

enum spur_status where_require(struct where *w, uint32_t node, struct spur_error *err)
{
	if (w->root == UINT32_MAX) {
		w->root = node;
		return SPUR_OK;
	}
	return where_node(w, (struct where_node){ WHERE_AND, w->root, node }, &w->root, err);
}

enum spur_status where_add_name(struct where *w, enum where_field field, struct text source,
				struct pattern *p, uint32_t *any, struct spur_error *err)
{
	const struct where_leaf l = { .field = field,
				      .op = WHERE_MATCH,
				      .type = WHERE_TEXT,
				      .pattern = p,
				      .source = source,
				      .is_name = true };
	uint32_t node;

	if (where_leaf(w, l, &node, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (*any == UINT32_MAX) {
		*any = node;
		return SPUR_OK;
	}
	return where_node(w, (struct where_node){ WHERE_OR, *any, node }, any, err);
}
