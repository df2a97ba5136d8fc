/* The two graphs of the uftrace style. */
#ifndef SPUR_STYLE_UFTRACE_GRAPH_GRAPH_H
#define SPUR_STYLE_UFTRACE_GRAPH_GRAPH_H

#include "pass/graph.h"
#include "style/uftrace/text/text.h"
#include "style/uftrace/graph/tree.h"
#include "style/uftrace/text/walk.h"

/* Which levels of the tree still have something below: what the lines are drawn from. */
struct graph_indent {
	bool *mask;
	size_t cap;
	size_t depth;
};

/* Room for one level more than `depth`. Returns false if out of memory. */
bool graph_indent_grow(struct graph_indent *in, size_t depth);
/* The lines in front of a node (`branch`: one leads to it) or of nothing. */
void graph_indent_out(const struct graph_indent *in, size_t depth, bool branch, struct out *o);
/* "# A  B   LAST" */
void graph_header_out(const struct style_fields *f, const struct style_field *table,
		      const char *last, struct out *o);
void graph_empty_out(const struct style_fields *f, const struct style_field *table, struct out *o);

enum spur_status graph_calls(struct pass_env *env, struct style *s);
enum spur_status graph_tasks(struct pass_env *env, struct style *s);

#endif
