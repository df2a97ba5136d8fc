/* Formats made of the aggregated call tree: folded stacks for flame graphs, graphviz, mermaid. */
#include <stdlib.h>

#include "pass/uftrace/dump.h"
#include "pass/uftrace/tree.h"

enum { SAMPLES_PER_SECOND = 1000000, SECOND = 1000000000, NUMBER = 24 };

struct forest {
	struct style *s;
	struct tree tree;
	struct tree_place *places; /* by task */
	size_t places_cap;
	uint32_t ids;
	uint64_t sample; /* ns; 0: calls are counted */
	bool samples;
	uint32_t schedule, preempted; /* string ids */
	unsigned mode;
};

static struct tree_place *place_of(struct forest *f, const struct style_task *t)
{
	size_t i = (size_t)(t - f->s->tasks);

	if (i >= f->places_cap &&
	    !mem_grow((void **)&f->places, &f->places_cap, f->s->ntasks, sizeof(*f->places), SIZE_MAX / sizeof(*f->places)))
		return NULL;
	/* A task that has left the root by the top comes back to it. */
	if (!f->places[i].tree || f->places[i].node == TREE_NONE)
		f->places[i] = (struct tree_place){ .tree = &f->tree, .lost = f->places[i].lost };
	return &f->places[i];
}

/*
 * Time of a child that is less than a sample goes to its parent. Before the tree takes the exit.
 */
static void adjust_parent(struct forest *f, const struct tree_place *p, struct style_task *t)
{
	struct style_frame *fr = style_frame_get(f->s, t, t->count);
	uint32_t parent = p->tree->nodes[p->node].parent;

	if (!f->samples || !f->sample || parent == TREE_NONE || !fr)
		return;
	p->tree->nodes[parent].child -= fr->total;
	p->tree->nodes[parent].child += fr->total / f->sample * f->sample;
}

static bool take(void *self, struct style_task *t, const struct spur_event *row, uint64_t addr)
{
	struct forest *f = self;
	struct tree_place *p = place_of(f, t);
	bool sched = style_is_sched(row);
	uint32_t name = !sched ? row->name : row->flags & SPUR_F_PREEMPTED ? f->preempted : f->schedule;

	if (!p)
		return false;
	if (sched && (row->flags & SPUR_F_OUT) && (row->flags & SPUR_F_PREEMPTED))
		return true;
	if (row->kind == SPUR_BEGIN || (sched && (row->flags & SPUR_F_OUT)))
		return tree_entry(f->s, p, t, name, sched ? 0 : row->cls, &f->ids) >= 0;
	if (row->kind != SPUR_END_SPAN && !sched)
		return true;
	adjust_parent(f, p, t);
	tree_exit(f->s, p, t, addr);
	return true;
}

static bool take_rows(void *self, struct spur_event *rows, size_t n)
{
	return dump_walk_rows(self, rows, n);
}

static void out_name(const struct forest *f, struct out *o, uint32_t id)
{
	size_t len;
	const char *name = spur_string(f->s->trace, id, &len);

	style_string(o, name, len, f->mode);
}

/* Builds the tree, and gives it to `print`. */
static enum spur_status grow(struct pass_env *env, struct forest *f, uint32_t root,
			     void (*print)(const struct forest *f, struct pass_env *env))
{
	struct dump_walk w = { .s = f->s, .record = take, .self = f };
	enum spur_status st = SPUR_OK;

	f->schedule = trace_intern(env->trace, "linux:schedule");
	f->preempted = trace_intern(env->trace, "linux:schedule (pre-empted)");
	f->mode = dump_mode(env);
	if (!tree_open(&f->tree, root) || pipe_run_merged(env->trace, &env->pipe, take_rows, &w) == SPUR_FAIL || w.failed ||
	    !dump_walk_end(&w))
		st = err_nomem(env->err);
	else
		print(f, env);
	tree_close(&f->tree);
	mem_free(f->places);
	return st;
}

/* --- flame-graph --- */

static void out_stack(const struct forest *f, struct out *o, uint32_t node)
{
	const struct tree *t = &f->tree;
	uint32_t *path;
	size_t n = 0, k;

	for (uint32_t i = node; i; i = t->nodes[i].parent)
		n++;
	path = mem_array(n, sizeof(*path));
	if (!path)
		return;
	k = n;
	for (uint32_t i = node; i; i = t->nodes[i].parent)
		path[--k] = t->nodes[i].name;
	for (k = 0; k < n; k++) {
		if (k)
			out_char(o, ';');
		out_name(f, o, path[k]);
	}
	mem_free(path);
}

static void print_flame(const struct forest *f, struct pass_env *env)
{
	for (uint32_t i = tree_next(&f->tree, 0); i != TREE_NONE; i = tree_next(&f->tree, i)) {
		const struct tree_node *n = &f->tree.nodes[i];
		uint64_t samples = n->calls;

		if (samples && f->sample)
			samples = (n->time - n->child) / f->sample;
		if (!samples)
			continue;
		out_stack(f, env->out, i);
		out_printf(env->out, " %llu\n", (unsigned long long)samples);
	}
}

/* SPEC uftrace/sample-time: a microsecond, tenfold until the recording has no more than a million of them */
static uint64_t sample_time(const struct style *s)
{
	char text[NUMBER] = "";
	uint64_t total, sample = 1000;
	struct text elapsed;

	if (!s->data || !(s->data->info.bits >> UFTRACE_RECORD_DATE & 1))
		return 0;
	elapsed = s->data->info.elapsed;
	memcpy(text, elapsed.p, elapsed.len < NUMBER - 1 ? elapsed.len : NUMBER - 1);
	total = (uint64_t)(strtod(text, NULL) * 1e9);
	while (sample * SAMPLES_PER_SECOND < total && sample < SECOND)
		sample *= 10;
	return sample;
}

enum spur_status dump_flame(struct pass_env *env, struct style *s)
{
	struct forest f = { .s = s, .samples = true };

	f.sample = env->opt->sample_ns > 0 ? (uint64_t)env->opt->sample_ns : sample_time(s);
	return grow(env, &f, 0, print_flame);
}

/* --- graphviz --- */

static void print_graphviz(const struct forest *f, struct pass_env *env)
{
	for (uint32_t i = tree_next(&f->tree, 0); i != TREE_NONE; i = tree_next(&f->tree, i)) {
		const struct tree_node *n = &f->tree.nodes[i];

		if (!n->calls)
			continue;
		out_str(env->out, "    \"");
		out_name(f, env->out, f->tree.nodes[n->parent].name);
		out_str(env->out, "\" -> \"");
		out_name(f, env->out, n->name);
		out_printf(env->out, "\" [xlabel = \"%u\"]\n", n->calls);
	}
	out_str(env->out, "}\n");
}

static struct text base_name(struct text path)
{
	ptrdiff_t slash = text_rfind(path, '/');

	return text_make(path.p + slash + 1, path.len - (size_t)(slash + 1));
}

static uint32_t exe_name(struct pass_env *env, const struct style *s)
{
	struct text name = s->data ? base_name(s->data->info.exename) : text_of(env->trace->path);

	return trace_intern_n(env->trace, name.p, name.len);
}

enum spur_status dump_graphviz(struct pass_env *env, struct style *s)
{
	struct forest f = { .s = s, .mode = dump_mode(env) };
	uint32_t exe = exe_name(env, s);
	struct out *o = env->out;

	if (s->data) {
		const struct uftrace_info *i = &s->data->info;

		out_str(o, "# version\":\"uftrace ");
		style_string(o, i->uftrace_version.p, i->uftrace_version.len, f.mode);
		out_str(o, "\"\n");
		if (i->bits >> UFTRACE_CMDLINE & 1) {
			out_str(o, "# command_line \"");
			style_string(o, i->cmdline.p, i->cmdline.len, f.mode);
			out_str(o, "\"\n");
		}
	}
	out_str(o, "\ndigraph \"");
	out_name(&f, o, exe);
	out_str(o, "\" { \n");
	return grow(env, &f, exe, print_graphviz);
}

/* --- mermaid --- */

static uint32_t depth_of(const struct tree *t, uint32_t node)
{
	uint32_t depth = 0;

	for (; node; node = t->nodes[node].parent)
		depth++;
	return depth;
}

/* A page that draws the chart; not uftrace's own page, which is under another licence. */
static void print_mermaid(const struct forest *f, struct pass_env *env)
{
	struct out *o = env->out;
	size_t len;
	const char *name = spur_string(env->trace, f->tree.nodes[0].name, &len);

	out_str(o, "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Calls of ");
	style_string(o, name, len, ARGS_SAFE);
	out_str(o, "</title>\n<pre class=\"mermaid\">\nflowchart TB\n");
	for (uint32_t i = tree_next(&f->tree, 0); i != TREE_NONE; i = tree_next(&f->tree, i)) {
		const struct tree_node *n = &f->tree.nodes[i], *up = &f->tree.nodes[n->parent];
		uint32_t depth = depth_of(&f->tree, i);

		out_printf(o, "  %u_%u[\"", depth - 1, up->id);
		out_name(f, o, up->name);
		out_printf(o, "\"] -->|%u| %u_%u[\"", n->calls, depth, n->id);
		out_name(f, o, n->name);
		out_str(o, "\"];\n");
	}
	out_str(o, "</pre>\n<script type=\"module\">\n"
		   "import mermaid from \"https://cdn.jsdelivr.net/npm/mermaid@11/dist/mermaid.esm.min.mjs\";\n"
		   "mermaid.initialize({ maxTextSize: 1e8, maxEdges: 1e6 });\n</script>\n");
}

enum spur_status dump_mermaid(struct pass_env *env, struct style *s)
{
	struct forest f = { .s = s };

	return grow(env, &f, exe_name(env, s), print_mermaid);
}
