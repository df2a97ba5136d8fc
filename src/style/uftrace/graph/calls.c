/* The call graph of each session, or from one function. */
#include <stdlib.h>

#include "style/uftrace/graph/graph.h"
#include "style/uftrace/text/args.h"

enum call_column {
	CALL_TOTAL,
	CALL_SELF,
	CALL_ADDR,
	CALL_TOTAL_AVG,
	CALL_TOTAL_MAX,
	CALL_TOTAL_MIN,
	CALL_SELF_AVG,
	CALL_SELF_MAX,
	CALL_SELF_MIN,
	CALL_COLUMNS
};

static const struct style_field call_columns[CALL_COLUMNS] = {
	[CALL_TOTAL] = { "total-time", "total", "TOTAL TIME", TIME_WIDTH },
	[CALL_SELF] = { "self-time", "self", " SELF TIME", TIME_WIDTH },
	[CALL_ADDR] = { "address", "addr", "   ADDRESS  ", 12 },
	[CALL_TOTAL_AVG] = { "total-avg", NULL, " TOTAL AVG", TIME_WIDTH },
	[CALL_TOTAL_MAX] = { "total-max", NULL, " TOTAL MAX", TIME_WIDTH },
	[CALL_TOTAL_MIN] = { "total-min", NULL, " TOTAL MIN", TIME_WIDTH },
	[CALL_SELF_AVG] = { "self-avg", NULL, "  SELF AVG", TIME_WIDTH },
	[CALL_SELF_MAX] = { "self-max", NULL, "  SELF MAX", TIME_WIDTH },
	[CALL_SELF_MIN] = { "self-min", NULL, "  SELF MIN", TIME_WIDTH },
};

static const uint8_t default_columns[] = { CALL_TOTAL };

enum {
	MAX_FRAMES = 1 << 22, /* of all backtraces */
	MAX_LEVELS = 1024, /* of lines in front of a name: further ones are not drawn */
	RECENT_SESSIONS = 64,
};

#define NO_BACKTRACE UINT32_MAX

/* How the root function was reached. */
struct backtrace {
	struct backtrace_frame {
		uint64_t addr;
		uint32_t cls;
	} * frames;
	size_t n;
	uint32_t next; /* of equal hash; NO_BACKTRACE */
	uint32_t hits;
	uint64_t time;
};

struct session_graph {
	const struct uftrace_session *session; /* NULL: of another format */
	struct tree tree;
	struct backtrace *backtraces;
	size_t n, cap;
};

struct task_place {
	struct tree_place place;
	struct session_graph *graph;
	uint32_t enabled; /* nested calls of the root function */
	uint32_t backtrace; /* of the outermost */
	uint32_t base; /* functions open around the root node, itself included */
	bool lossy; /* records are missing: its place is checked against their depth */
	bool lost; /* the last was the notice of a loss */
};

/* The session that a task was last found in, for a range of times. */
struct recent_session {
	int64_t tid;
	uint64_t from, until;
	struct session_graph *graph; /* NULL: none */
};

struct graph {
	struct style *s;
	struct session_graph *graphs; /* in the order of printing */
	size_t n;
	struct map64 index; /* session to 1 + graph */
	struct map64 hashes; /* of graph and backtrace, to 1 + its newest */
	size_t nframes; /* of all backtraces */
	bool cut; /* backtraces are missing */
	struct task_place *places; /* by task */
	size_t places_cap;
	struct recent_session recent[RECENT_SESSIONS]; /* by the task's index */
	struct style_fields fields;
	const char *root; /* NULL: the whole program */
	uint32_t root_name; /* its string id */
	uint32_t ids;
	uint32_t schedule, preempted;
	uint64_t before; /* time of the last record */
	unsigned mode;
};

/* --- lines --- */

bool graph_indent_grow(struct graph_indent *in, size_t depth)
{
	return mem_grow((void **)&in->mask, &in->cap, depth + 1, 1, SIZE_MAX / 2);
}

void graph_indent_out(const struct graph_indent *in, size_t depth, bool branch, struct out *o)
{
	size_t last = SIZE_MAX;

	depth = depth < MAX_LEVELS ? depth : MAX_LEVELS;
	for (size_t i = 0; i < depth; i++)
		if (branch && in->mask[i])
			last = i;
	for (size_t i = 0; i < depth; i++) {
		if (!branch || (last != SIZE_MAX && i < last))
			out_str(o, in->mask[i] ? " | " : "   ");
		else
			out_str(o, i == last ? " +-" : "---");
	}
}

void graph_header_out(const struct style_fields *f, const struct style_field *table,
		      const char *last, struct out *o)
{
	for (size_t i = 0; i < f->count; i++) {
		out_str(o, i ? "  " : "# ");
		out_str(o, table[f->ids[i]].header);
	}
	if (f->count)
		out_printf(o, "   %s", last);
}

void graph_empty_out(const struct style_fields *f, const struct style_field *table, struct out *o)
{
	for (size_t i = 0; i < f->count; i++)
		out_pad(o, ' ', (size_t)table[f->ids[i]].width + 2);
	if (f->count)
		out_str(o, " : ");
}

/* --- sessions --- */

/* By process, then by time, then by their places in task.txt, the last first. */
static int session_order(const void *x, const void *y)
{
	const struct uftrace_session *a = *(const struct uftrace_session *const *)x;
	const struct uftrace_session *b = *(const struct uftrace_session *const *)y;

	if (a->pid != b->pid)
		return a->pid > b->pid ? -1 : 1;
	if (a->time != b->time)
		return a->time > b->time ? -1 : 1;
	return (a < b) - (a > b);
}

static bool add_graph(struct graph *g, const struct uftrace_session *session)
{
	struct text name =
		g->root ? text_of(g->root)
			: style_base_name(session ? session->exename : text_of(g->s->trace->path));
	struct session_graph *sg = &g->graphs[g->n++];
	struct map64_slot *slot =
		session ? map64_put(&g->index, (uint64_t)(session - g->s->data->sessions)) : NULL;

	if (slot)
		slot->value = g->n;
	sg->session = session;
	return tree_open(&sg->tree, trace_intern_n(g->s->trace, name.p, name.len)) &&
	       (slot || !session);
}

static bool add_graphs(struct graph *g)
{
	const struct uftrace_data *d = g->s->data;
	size_t n = d && d->nsessions ? d->nsessions : 1;
	const struct uftrace_session **order = mem_array(n, sizeof(*order));
	bool good = order != NULL;

	g->graphs = mem_array(n, sizeof(*g->graphs));
	good = good && g->graphs;
	for (size_t i = 0; good && d && i < d->nsessions; i++)
		order[i] = &d->sessions[i];
	if (good && d && d->nsessions)
		qsort(order, n, sizeof(*order), session_order);
	for (size_t i = 0; good && i < n; i++)
		good = add_graph(g, order[i]);
	mem_free(order);
	return good;
}

/* INVARIANT: a task that is remembered is in this session at all times of the range. */
static struct session_graph *graph_at(struct graph *g, const struct style_task *t, uint64_t time,
				      bool kernel)
{
	const struct uftrace_data *d = g->s->data;
	struct recent_session *const r = &g->recent[(size_t)(t - g->s->tasks) % RECENT_SESSIONS];
	const struct uftrace_session *s;
	const struct map64_slot *slot;

	if (!d || !d->nsessions)
		return &g->graphs[0];
	if (r->graph && r->tid == t->tid && time >= r->from && time < r->until)
		return r->graph;
	r->tid = t->tid;
	s = uftrace_session_span(d, t->tid, time, &r->from, &r->until);
	slot = s ? map64_find(&g->index, (uint64_t)(s - d->sessions)) : NULL;
	r->graph = slot ? &g->graphs[slot->value - 1] : NULL;
	if (s || !kernel)
		return r->graph;
	slot = map64_find(&g->index, 0);
	return slot ? &g->graphs[slot->value - 1] : NULL;
}

/* --- backtraces of the root function --- */

static bool same_frames(const struct backtrace *b, const struct backtrace_frame *frames, size_t n)
{
	size_t i = 0;

	while (b->n == n && i < n && b->frames[i].addr == frames[i].addr)
		i++;
	return b->n == n && i == n;
}

/* Takes over `frames` where it is new. Returns false if out of memory. */
static bool add_backtrace(struct graph *g, struct task_place *p, struct backtrace_frame **frames,
			  size_t n, uint64_t hash)
{
	struct session_graph *sg = p->graph;
	struct map64_slot *slot = map64_put(&g->hashes, hash);
	uint32_t k = slot && slot->value ? (uint32_t)slot->value - 1 : NO_BACKTRACE;

	if (!slot)
		return false;
	while (k != NO_BACKTRACE && (k >= sg->n || !same_frames(&sg->backtraces[k], *frames, n)))
		k = k < sg->n ? sg->backtraces[k].next : NO_BACKTRACE;
	if (k == NO_BACKTRACE && g->nframes + n > MAX_FRAMES) {
		g->cut = true;
		return true;
	}
	if (k == NO_BACKTRACE) {
		if (!mem_grow((void **)&sg->backtraces, &sg->cap, sg->n + 1,
			      sizeof(*sg->backtraces), MAX_FRAMES))
			return false;
		k = (uint32_t)sg->n++;
		sg->backtraces[k] = (struct backtrace){ .frames = *frames, .n = n };
		sg->backtraces[k].next = slot->value ? (uint32_t)slot->value - 1 : NO_BACKTRACE;
		slot->value = k + 1;
		g->nframes += n;
		*frames = NULL;
	}
	sg->backtraces[k].hits++;
	p->backtrace = k;
	return true;
}

static bool save_backtrace(struct graph *g, struct task_place *p, struct style_task *t)
{
	size_t n = t->count > 0 ? (size_t)t->count : 0;
	struct backtrace_frame *frames =
		n && n <= MAX_FRAMES ? mem_array(n, sizeof(*frames)) : NULL;
	uint64_t hash = (uint64_t)(p->graph - g->graphs) << 32 | n;
	bool good;

	g->cut = g->cut || n > MAX_FRAMES;
	if (!frames)
		return !n || n > MAX_FRAMES;
	for (size_t i = 0; i < n; i++) {
		const struct style_frame *f = style_frame_get(g->s, t, (int32_t)i);

		if (f)
			frames[i] = (struct backtrace_frame){ .addr = f->addr, .cls = f->cls };
		hash = hash64(hash ^ frames[i].addr);
	}
	good = add_backtrace(g, p, &frames, n, hash);
	mem_free(frames);
	return good;
}

/* `open`: functions with the one that starts it. */
static bool start_graph(struct graph *g, struct task_place *p, struct style_task *t, uint64_t addr,
			uint32_t open)
{
	if (p->enabled++)
		return true;
	p->backtrace = NO_BACKTRACE;
	if (g->root && !save_backtrace(g, p, t))
		return false;
	p->base = g->root ? open : 0;
	p->place.node = p->place.below = 0;
	p->place.at = p->place.tree;
	p->graph->tree.nodes[0].addr = addr;
	p->graph->tree.nodes[0].calls++;
	return true;
}

static void end_graph(struct graph *g, struct task_place *p, struct style_task *t)
{
	const struct style_frame *f = style_frame_get(g->s, t, t->count);

	if (!p->enabled || --p->enabled)
		return;
	if (p->backtrace != NO_BACKTRACE && f)
		p->graph->backtraces[p->backtrace].time += f->total;
	p->backtrace = NO_BACKTRACE;
	p->place.lost = false;
}

/* --- rows --- */

static struct task_place *place_of(struct graph *g, struct style_task *t, uint64_t time,
				   bool kernel, uint64_t addr)
{
	size_t i = (size_t)(t - g->s->tasks);
	struct task_place *p;
	struct session_graph *sg;

	if (i >= g->places_cap && !mem_grow((void **)&g->places, &g->places_cap, g->s->ntasks,
					    sizeof(*g->places), SIZE_MAX / sizeof(*g->places)))
		return NULL;
	p = &g->places[i];
	sg = graph_at(g, t, time, kernel);
	if (!p->graph)
		p->place.node = TREE_NONE;
	else if (p->graph != sg)
		p->place.fresh = true;
	p->graph = sg;
	p->place.tree = sg ? &sg->tree : NULL;
	if (sg && !g->root && p->place.node == TREE_NONE && !start_graph(g, p, t, addr, 0))
		return NULL;
	return p;
}

/*
 * Where records are missing, a task's place is what their depth and name say. False: the end of a
 * function whose begin is not known.
 */
static bool find_place(const struct graph *g, struct task_place *p, const struct spur_event *row,
		       uint32_t depth, bool opens)
{
	const struct tree *t = p->place.at ? p->place.at : p->place.tree;
	uint32_t node = p->place.node, level = depth + !opens;

	if (node == TREE_NONE || p->place.fresh)
		return true;
	if (row->kind == SPUR_SWITCH)
		return opens || t->nodes[node].name == g->schedule ||
		       t->nodes[node].name == g->preempted;
	while (node && t->nodes[node].depth + p->base > level) {
		node = t->nodes[node].parent;
		p->place.below = 0;
	}
	p->place.node = node;
	if (t->nodes[node].depth + p->base <= level)
		return opens || t->nodes[node].name == row->name;
	/* The root function has ended. */
	p->place.node = TREE_NONE;
	p->enabled = 0;
	return false;
}

/* One record, or the invented end of a function. */
static bool add_record(struct graph *g, struct style_task *t, const struct spur_event *row,
		       uint64_t time, uint64_t addr)
{
	const struct event_class *c = row->cls ? trace_class(g->s->trace, row->cls) : NULL;
	struct task_place *p = place_of(g, t, time, c && (c->flags & CLASS_KERNEL), addr);
	bool sched = style_is_sched(row),
	     opens = row->kind == SPUR_BEGIN || (sched && (row->flags & SPUR_F_OUT));
	uint32_t name = !sched				? row->name
			: row->flags & SPUR_F_PREEMPTED ? g->preempted
							: g->schedule;
	uint32_t depth = row->flags & SPUR_F_DEPTH ? row->depth
			 : t->count > opens	   ? (uint32_t)t->count - opens
						   : 0;

	if (!p || !p->graph)
		return p != NULL;
	if (p->enabled && (!p->lossy || find_place(g, p, row, depth, opens))) {
		if (opens &&
		    tree_entry(g->s, &p->place, t, name, sched ? 0 : row->cls, &g->ids) < 0)
			return false;
		if (!opens)
			tree_exit(g->s, &p->place, t, addr);
	}
	if (!g->root || sched || row->name != g->root_name)
		return true;
	if (opens)
		return start_graph(g, p, t, addr, depth + 1);
	end_graph(g, p, t);
	return true;
}

/* The end of an open function. */
static bool add_end(struct graph *g, struct style_task *t, const struct style_frame *f,
		    uint64_t time)
{
	struct spur_event row = { .kind = SPUR_END_SPAN, .cls = f->cls };

	if (f->cls && g->s->given->no_libcall &&
	    (trace_class(g->s->trace, f->cls)->flags & CLASS_LIBRARY))
		return true;
	if (f->cls)
		row.name = trace_class(g->s->trace, f->cls)->name;
	return add_record(g, t, &row, time, f->addr);
}

/*
 * The kernel's functions that were open are over, and those until the return to user space do not
 * count.
 */
static bool read_lost(struct graph *g, struct style_task *t, const struct spur_event *row,
		      uint64_t time)
{
	bool kernel = style_source_of(g->s, row) == FROM_KERNEL;
	struct task_place *p;

	if (g->s->data && !t->user_count)
		return true;
	while (kernel && t->count >= t->user_count && t->count >= 0) {
		const struct style_frame *f = style_frame_get(g->s, t, t->count);

		if (f && f->valid && !f->hidden && !add_end(g, t, f, time))
			return false;
		t->count--;
	}
	p = place_of(g, t, time, true, 0);
	if (p) {
		p->place.lost = kernel;
		p->lost = !kernel;
		p->lossy = p->lossy || !kernel;
	}
	return p != NULL;
}

/* After a loss the next function's depth says how many are open; schedule events say nothing. */
static void read_before(void *self, struct style_task *t, const struct spur_event *row)
{
	const struct graph *g = self;
	size_t i = (size_t)(t - g->s->tasks);
	bool call = row->kind == SPUR_BEGIN || row->kind == SPUR_END_SPAN;

	if (i >= g->places_cap || !g->places[i].lost)
		return;
	t->lost_seen = false;
	if (!call || !(row->flags & SPUR_F_DEPTH))
		return;
	g->places[i].lost = false;
	t->count = t->user_count = row->depth + (row->kind == SPUR_END_SPAN);
}

/*
 * The place of a task for which all that may be unusual is as usual: add_record() would do nothing
 * but move it in the tree. NULL: it may do more.
 */
static inline struct task_place *plain_place(const struct graph *g, const struct style_task *t,
					     uint64_t time)
{
	const size_t i = (size_t)(t - g->s->tasks);
	const struct recent_session *const r = &g->recent[i % RECENT_SESSIONS];
	struct task_place *p;

	if (i >= g->places_cap || g->root || !r->graph)
		return NULL;
	p = &g->places[i];
	return r->graph == p->graph && r->tid == t->tid && time >= r->from && time < r->until &&
			       p->enabled && !p->lossy && tree_is_plain(&p->place)
		       ? p
		       : NULL;
}

/* Takes most calls. Returns false, having done nothing, for others. */
static inline bool take_call(const struct graph *g, const struct style_task *t,
			     const struct spur_event *row)
{
	struct task_place *const p = plain_place(g, t, (uint64_t)row->ts);

	if (!p || t->count < (row->kind == SPUR_BEGIN) || (size_t)t->count >= t->cap)
		return false;
	return row->kind == SPUR_BEGIN ? tree_enter(&p->place, row->name)
				       : tree_leave(&p->place, &t->frames[t->count]);
}

static bool take(void *self, struct style_task *t, const struct spur_event *row)
{
	struct graph *g = self;
	uint64_t before = g->before;

	if (row->kind <= SPUR_END_SPAN && take_call(g, t, row)) {
		g->before = (uint64_t)row->ts;
		return true;
	}
	if (row->kind == SPUR_LOST)
		return read_lost(g, t, row, before);
	g->before = (uint64_t)row->ts;
	if (style_is_sched(row))
		return add_record(g, t, row, (uint64_t)row->ts, row->id);
	return style_type_of(row) == TYPE_EVENT ||
	       add_record(g, t, row, (uint64_t)row->ts, style_addr(row));
}

static bool read_end(void *self, struct style_task *t, const struct style_frame *f, uint64_t time)
{
	return add_end(self, t, f, time);
}

/* The program's time is that of its outermost functions. */
static void sum_roots(struct graph *g)
{
	for (size_t i = 0; i < g->n && !g->root; i++) {
		struct tree *t = &g->graphs[i].tree;

		for (uint32_t k = t->nodes[0].first; k != TREE_NONE; k = t->nodes[k].next) {
			t->nodes[0].time += t->nodes[k].time;
			t->nodes[0].child += t->nodes[k].time;
		}
		t->nodes[0].total_min = t->nodes[0].total_max = t->nodes[0].time;
	}
}

/* --- printing --- */

static void out_cell(enum call_column c, const struct tree_node *n, struct out *o)
{
	char hex[16];
	size_t len;

	switch (c) {
	case CALL_TOTAL:
		out_time_unit(o, n->time);
		break;
	case CALL_SELF:
		out_time_unit(o, n->time - n->child);
		break;
	case CALL_ADDR:
		len = (size_t)(put_hex(hex, n->addr & 0xffffffffffff) - hex);
		out_pad(o, ' ', len < 12 ? 12 - len : 0);
		out_bytes(o, hex, len);
		break;
	case CALL_TOTAL_AVG:
		out_time_unit(o, n->calls ? n->time / n->calls : 0);
		break;
	case CALL_TOTAL_MAX:
		out_time_unit(o, n->total_max);
		break;
	case CALL_TOTAL_MIN:
		out_time_unit(o, n->total_min);
		break;
	case CALL_SELF_AVG:
		out_time_unit(o, n->calls ? (n->time - n->child) / n->calls : 0);
		break;
	case CALL_SELF_MAX:
		out_time_unit(o, n->self_max);
		break;
	default:
		out_time_unit(o, n->self_min);
	}
}

static void out_node(const struct graph *g, const struct session_graph *sg, uint32_t k,
		     const struct graph_indent *in, size_t indent, struct out *o)
{
	const struct tree_node *n = &sg->tree.nodes[k];
	const struct event_class *c = n->cls ? trace_class(g->s->trace, n->cls) : NULL;
	bool branch = k ? sg->tree.nodes[n->parent].edges > 1 : n->edges > 1;
	size_t len;
	const char *name = trace_string(g->s->trace, n->name, &len);

	for (size_t i = 0; i < g->fields.count; i++) {
		out_str(o, "  ");
		out_cell(g->fields.ids[i], n, o);
	}
	if (g->fields.count)
		out_str(o, " : ");
	graph_indent_out(in, indent, branch, o);
	out_printf(o, "(%u) ", k || g->root ? n->calls : 1);
	style_string(o, name, len, g->mode);
	if (k && g->s->own->srcline && c && c->file && !(c->flags & (CLASS_LIBRARY | CLASS_KERNEL)))
		out_printf(o, " [%s:%u]", trace_string(g->s->trace, c->file, NULL), c->line);
	out_char(o, '\n');
}

/* `indent` of each open node of the path from the root is kept: the walk goes by links. */
struct graph_walk {
	struct graph_indent in;
	uint32_t *indents; /* by level */
	size_t cap, level;
};

static bool walk_enter(const struct graph *g, const struct session_graph *sg, struct graph_walk *w,
		       uint32_t k, size_t indent, struct out *o)
{
	const struct tree_node *n = &sg->tree.nodes[k];

	if (!mem_grow((void **)&w->indents, &w->cap, w->level + 1, sizeof(*w->indents),
		      UINT32_MAX) ||
	    !graph_indent_grow(&w->in, indent + 1))
		return false;
	w->indents[w->level] = (uint32_t)indent;
	out_node(g, sg, k, &w->in, indent, o);
	if (n->edges > 1)
		w->in.mask[indent] = true;
	/* The last of several ends their line. */
	if (k && sg->tree.nodes[n->parent].edges > 1 && indent && n->next == TREE_NONE)
		w->in.mask[indent - 1] = false;
	return true;
}

static size_t indent_below(const struct session_graph *sg, const struct graph_walk *w, uint32_t k)
{
	return w->indents[w->level] + (sg->tree.nodes[k].edges > 1);
}

static bool out_nodes(const struct graph *g, const struct session_graph *sg, struct graph_walk *w,
		      struct out *o)
{
	const struct tree *t = &sg->tree;
	uint32_t k = 0;

	if (!walk_enter(g, sg, w, 0, 0, o))
		return false;
	for (;;) {
		if (t->nodes[k].first != TREE_NONE) {
			size_t indent = indent_below(sg, w, k);

			k = t->nodes[k].first;
			w->level++;
			if (!walk_enter(g, sg, w, k, indent, o))
				return false;
			continue;
		}
		for (;; w->level--) {
			w->in.mask[w->indents[w->level]] = false;
			if (!k)
				return true;
			if (t->nodes[k].next != TREE_NONE)
				break;
			k = t->nodes[k].parent;
		}
		graph_empty_out(&g->fields, call_columns, o);
		graph_indent_out(&w->in, w->indents[w->level], false, o);
		out_char(o, '\n');
		k = t->nodes[k].next;
		if (!walk_enter(g, sg, w, k, w->indents[w->level], o))
			return false;
	}
}

/* The newest first. */
static void out_backtraces(const struct graph *g, const struct session_graph *sg, struct out *o)
{
	out_str(o, "=============== BACKTRACE ===============\n");
	for (size_t i = sg->n; i-- > 0;) {
		const struct backtrace *b = &sg->backtraces[i];

		out_printf(o, " backtrace #%zu: hit %u, time ", sg->n - 1 - i, b->hits);
		out_time_unit(o, b->time);
		out_char(o, '\n');
		for (size_t k = 0; k < b->n; k++) {
			const struct event_class *c =
				b->frames[k].cls ? trace_class(g->s->trace, b->frames[k].cls)
						 : NULL;
			unsigned long long addr = (unsigned long long)b->frames[k].addr;
			size_t len = 0;
			const char *name = c && !(c->flags & CLASS_SCHED)
						   ? trace_string(g->s->trace, c->name, &len)
						   : NULL;

			out_printf(o, "   [%zu] ", k);
			if (name)
				style_string(o, name, len, g->mode);
			else
				out_printf(o, "<%llx>", addr);
			out_printf(o, addr ? " (0x%llx)\n" : " (%llu)\n", addr);
		}
		out_char(o, '\n');
	}
}

/* False: no memory. */
static bool out_graph(const struct graph *g, const struct session_graph *sg, struct out *o,
		      bool *any)
{
	const struct tree_node *root = &sg->tree.nodes[0];
	struct graph_walk w = { 0 };
	size_t len;
	const char *name = trace_string(g->s->trace, root->name, &len);
	bool good = true;

	if (!sg->n && !root->time && !root->edges)
		return true;
	*any = true;
	out_str(o, "# Function Call Graph for '");
	style_string(o, name, len, g->mode);
	out_printf(o, "' (session: %.*s)\n",
		   sg->session ? (int)(sg->session->sid.len < 16 ? sg->session->sid.len : 16) : 0,
		   sg->session ? sg->session->sid.p : "");
	if (sg->n)
		out_backtraces(g, sg, o);
	if (!root->time && !root->edges)
		return true;
	out_str(o, "========== FUNCTION CALL GRAPH ==========\n");
	graph_header_out(&g->fields, call_columns, "FUNCTION", o);
	if (g->fields.count)
		out_str(o, g->s->own->srcline ? " [SOURCE]\n" : "\n");
	good = out_nodes(g, sg, &w, o);
	out_char(o, '\n');
	mem_free(w.indents);
	mem_free(w.in.mask);
	return good;
}

static enum spur_status out_graphs(const struct graph *g, struct pass_env *env)
{
	bool any = false;

	for (size_t i = 0; i < g->n; i++)
		if (!out_graph(g, &g->graphs[i], env->out, &any))
			return err_nomem(env->err);
	if (any)
		return SPUR_OK;
	out_printf(env->out, "uftrace: cannot find graph for '%s'\n", g->root ? g->root : "_start");
	if (env->filter && !env->given->range)
		out_str(env->out, "\t please check your filter settings.\n");
	return SPUR_WARN;
}

static void report_cut(const struct graph *g, struct pass_env *env)
{
	for (size_t i = 0; i < g->n; i++)
		tree_report_cut(&g->graphs[i].tree, env);
	if (g->cut && env->notes)
		out_str(env->notes,
			"too many different backtraces: the further ones are left out\n");
}

enum spur_status graph_calls(struct pass_env *env, struct style *s)
{
	const char *root = graph_options(env)->root;
	struct graph g = {
		.s = s,
		.root = root,
		.mode = env->opt->width ? ARGS_SAFE : 0,
		.root_name = root ? trace_intern(env->trace, root) : 0,
		.schedule = trace_intern(env->trace, "linux:schedule"),
		.preempted = trace_intern(env->trace, "linux:schedule (pre-empted)"),
	};
	struct style_walk w = {
		.s = s,
		.before = read_before,
		.record = take,
		.end = read_end,
		.self = &g,
		.filter = env->filter,
	};
	enum spur_status st = SPUR_FAIL;

	if (!style_fields_parse(&g.fields, call_columns, CALL_COLUMNS, env->opt->fields,
				default_columns, sizeof(default_columns), env->err))
		return SPUR_FAIL;
	if (!add_graphs(&g) ||
	    pipe_run_marked(env->trace, &env->pipe, style_walk_rows, &w) == SPUR_FAIL || w.failed ||
	    !style_walk_end(&w)) {
		err_nomem(env->err);
	} else {
		sum_roots(&g);
		st = out_graphs(&g, env);
		report_cut(&g, env);
	}
	for (size_t i = 0; i < g.n; i++) {
		tree_close(&g.graphs[i].tree);
		for (size_t k = 0; k < g.graphs[i].n; k++)
			mem_free(g.graphs[i].backtraces[k].frames);
		mem_free(g.graphs[i].backtraces);
	}
	mem_free(g.graphs);
	mem_free(g.places);
	map64_free(&g.index);
	map64_free(&g.hashes);
	return st;
}
