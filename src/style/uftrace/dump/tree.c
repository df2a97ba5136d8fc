/* Formats made of the aggregated call tree: folded stacks for flame graphs, graphviz, mermaid. */
#include "style/uftrace/dump/dump.h"
#include "style/uftrace/graph/tree.h"

enum { SAMPLES = 1000000, SECOND = 1000000000 };

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

	if (i >= f->places_cap && !mem_grow((void **)&f->places, &f->places_cap, f->s->ntasks,
					    sizeof(*f->places), SIZE_MAX / sizeof(*f->places)))
		return NULL;
	/* A task that has left the root by the top comes back to it. */
	if (!f->places[i].tree || f->places[i].node == TREE_NONE)
		f->places[i] = (struct tree_place){ .tree = &f->tree, .lost = f->places[i].lost };
	return &f->places[i];
}

/* A function ends. Of its time, what is less than a sample goes to its parent. */
static void leave(struct forest *f, struct tree_place *p, struct style_task *t, uint64_t addr)
{
	const struct style_frame *fr = style_frame_get(f->s, t, t->count);
	uint32_t parent = p->tree->nodes[p->node].parent;

	if (!tree_exit(f->s, p, t, addr) || !f->samples || !f->sample || parent == TREE_NONE || !fr)
		return;
	p->tree->nodes[parent].child -= fr->total;
	p->tree->nodes[parent].child += fr->total / f->sample * f->sample;
}

static bool take(void *self, struct style_task *t, const struct spur_event *row)
{
	struct forest *f = self;
	struct tree_place *p = place_of(f, t);
	bool sched = style_is_sched(row);
	uint32_t name = !sched				? row->name
			: row->flags & SPUR_F_PREEMPTED ? f->preempted
							: f->schedule;

	if (!p)
		return false;
	if (sched && (row->flags & SPUR_F_OUT) && (row->flags & SPUR_F_PREEMPTED))
		return true;
	if (row->kind == SPUR_BEGIN || (sched && (row->flags & SPUR_F_OUT)))
		return tree_entry(f->s, p, t, name, sched ? 0 : row->cls, &f->ids) >= 0;
	if (row->kind != SPUR_END_SPAN && !sched)
		return true;
	leave(f, p, t, sched ? row->id : style_addr(row));
	return true;
}

static bool read_end(void *self, struct style_task *t, const struct style_frame *fr, uint64_t time)
{
	struct forest *f = self;
	struct tree_place *p = fr->hidden ? NULL : place_of(f, t);

	(void)time;
	if (!p)
		return fr->hidden;
	leave(f, p, t, fr->addr);
	return true;
}

static void out_name(const struct forest *f, struct out *o, uint32_t id)
{
	size_t len;
	const char *name = trace_string(f->s->trace, id, &len);

	style_string(o, name, len, f->mode);
}

/* Builds the tree, and gives it to `print`. */
static enum spur_status grow(struct pass_env *env, struct forest *f, uint32_t root,
			     bool (*print)(const struct forest *f, struct pass_env *env))
{
	struct style_walk w = {
		.s = f->s,
		.record = take,
		.end = read_end,
		.self = f,
		.by_own_time = true,
		.filter = env->filter,
	};
	enum spur_status st;

	f->schedule = trace_intern(env->trace, "linux:schedule");
	f->preempted = trace_intern(env->trace, "linux:schedule (pre-empted)");
	f->mode = dump_mode(env);
	if (!tree_open(&f->tree, root) ||
	    pipe_run_marked(env->trace, &env->pipe, style_walk_rows, &w) == SPUR_FAIL || w.failed ||
	    !style_walk_end(&w) || !print(f, env))
		st = err_nomem(env->err);
	else
		st = f->s->started ? SPUR_OK : SPUR_WARN;
	tree_report_cut(&f->tree, env);
	tree_close(&f->tree);
	mem_free(f->places);
	return st;
}

/* --- flame-graph --- */

static bool print_flame(const struct forest *f, struct pass_env *env)
{
	struct out path; /* of the node; it begins with that of its parent */
	size_t *ends = NULL, cap = 0; /* of the paths, by depth */
	bool good = true;

	out_to_memory(&path);
	for (uint32_t i = tree_next(&f->tree, 0); i != TREE_NONE && good;
	     i = tree_next(&f->tree, i)) {
		const struct tree_node *n = &f->tree.nodes[i];
		uint64_t samples = n->calls;

		good = mem_grow((void **)&ends, &cap, n->depth + 1, sizeof(*ends),
				SIZE_MAX / sizeof(*ends));
		if (!good)
			break;
		out_cut(&path, ends[n->depth - 1]);
		if (n->depth > 1)
			out_char(&path, ';');
		out_name(f, &path, n->name);
		ends[n->depth] = path.len;
		if (samples && f->sample)
			samples = (n->time - n->child) / f->sample;
		if (samples && !path.error) {
			out_bytes(env->out, path.buf, path.len);
			out_printf(env->out, " %llu\n", (unsigned long long)samples);
		}
	}
	good = good && !path.error;
	mem_free(ends);
	out_free(&path);
	return good;
}

/*
 * SPEC uftrace/sample-time: a microsecond, tenfold until the recording has no more than a million
 * of them, but a second at most
 */
static uint64_t sample_time(const struct style *s)
{
	uint64_t total = 0, sample = 1000;
	struct text elapsed;

	if (!s->data || !(s->data->info.bits >> UFTRACE_RECORD_DATE & 1))
		return 0;
	elapsed = s->data->info.elapsed;
	text_seconds(&elapsed, &total);
	while (sample * SAMPLES < total && sample < SECOND)
		sample *= 10;
	return sample;
}

enum spur_status dump_flame(struct pass_env *env, struct style *s)
{
	const int64_t sample = dump_options(env)->sample_ns;
	struct forest f = { .s = s, .samples = true };

	f.sample = sample > 0 ? (uint64_t)sample : sample_time(s);
	return grow(env, &f, 0, print_flame);
}

/* --- graphviz --- */

static void out_quoted(const struct forest *f, struct out *o, uint32_t id)
{
	size_t len;
	const char *name = trace_string(f->s->trace, id, &len);

	out_char(o, '"');
	for (size_t i = 0; i < len; i++) {
		if (name[i] == '"')
			out_char(o, '\\');
		style_string(o, &name[i], 1, f->mode);
	}
	out_char(o, '"');
}

static bool print_graphviz(const struct forest *f, struct pass_env *env)
{
	for (uint32_t i = tree_next(&f->tree, 0); i != TREE_NONE; i = tree_next(&f->tree, i)) {
		const struct tree_node *n = &f->tree.nodes[i];

		out_str(env->out, "    ");
		out_quoted(f, env->out, f->tree.nodes[n->parent].name);
		out_str(env->out, " -> ");
		out_quoted(f, env->out, n->name);
		out_printf(env->out, " [xlabel = \"%u\"]\n", n->calls);
	}
	out_str(env->out, "}\n");
	return true;
}

/* Of the program; of the trace where none is known. */
static uint32_t exe_name(struct pass_env *env, const struct style *s)
{
	struct text name = text_of(env->trace->path);

	if (s->data && s->data->info.exename.len)
		name = s->data->info.exename;
	else if (s->data && s->data->nsessions)
		name = s->data->sessions[0].exename;
	name = style_base_name(name);
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
	out_str(o, "\ndigraph ");
	out_quoted(&f, o, exe);
	out_str(o, " { \n");
	return grow(env, &f, exe, print_graphviz);
}

/* --- mermaid --- */

/*
 * A label's text: what means something to mermaid or to HTML as a mermaid entity, so that nothing
 * is left to escape.
 */
static void out_label(const struct forest *f, struct out *o, uint32_t id)
{
	static const struct {
		char c;
		const char *entity;
	} entities[] = { { '"', "#quot;" },
			 { '<', "#lt;" },
			 { '>', "#gt;" },
			 { '&', "#amp;" },
			 { '#', "#35;" } };
	size_t len, k;
	const char *name = trace_string(f->s->trace, id, &len);

	for (size_t i = 0; i < len; i++) {
		for (k = 0; k < sizeof(entities) / sizeof(entities[0]) && entities[k].c != name[i];
		     k++)
			;
		if (k < sizeof(entities) / sizeof(entities[0]))
			out_str(o, entities[k].entity);
		else if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
			out_printf(o, "\\x%02x", (unsigned char)name[i]);
		else
			out_char(o, name[i]);
	}
}

/* A page that draws the chart; not uftrace's own page, which is under another licence. */
static bool print_mermaid(const struct forest *f, struct pass_env *env)
{
	struct out *o = env->out;

	out_str(o, "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Function call graph</title>\n"
		   "<pre class=\"mermaid\">\nflowchart TB\n");
	for (uint32_t i = tree_next(&f->tree, 0); i != TREE_NONE; i = tree_next(&f->tree, i)) {
		const struct tree_node *n = &f->tree.nodes[i], *up = &f->tree.nodes[n->parent];

		out_printf(o, "  %u_%u[\"", n->depth - 1, up->id);
		out_label(f, o, up->name);
		out_printf(o, "\"] -->|%u| %u_%u[\"", n->calls, n->depth, n->id);
		out_label(f, o, n->name);
		out_str(o, "\"];\n");
	}
	out_str(o, "</pre>\n<script type=\"module\">\n"
		   "import mermaid from "
		   "\"https://cdn.jsdelivr.net/npm/mermaid@11/dist/mermaid.esm.min.mjs\";\n"
		   "mermaid.initialize({ maxTextSize: 1e8, maxEdges: 1e6 });\n</script>\n");
	return true;
}

enum spur_status dump_mermaid(struct pass_env *env, struct style *s)
{
	struct forest f = { .s = s };

	return grow(env, &f, exe_name(env, s), print_mermaid);
}
