/* Which task started which, and how long each ran. */
#include "style/uftrace/graph/graph.h"
#include "style/uftrace/text/args.h"

enum task_column { TASK_TOTAL, TASK_SELF, TASK_TID, TASK_COLUMNS };

static const struct style_field task_columns[TASK_COLUMNS] = {
	[TASK_TOTAL] = { "total-time", "total", "TOTAL TIME", TIME_WIDTH },
	[TASK_SELF] = { "self-time", "self", " SELF TIME", TIME_WIDTH },
	[TASK_TID] = { "tid", NULL, "   TID   ", TID_WIDTH + 2 },
};

static const uint8_t default_columns[] = { TASK_TOTAL, TASK_SELF, TASK_TID };

enum { MAX_TASKS = 1 << 24, COMM = 15 /* bytes of a task's name */ };

#define NO_TASK UINT32_MAX

/* A task of task.txt. */
struct member {
	int64_t tid, pid;
	uint32_t parent, first, last, next; /* NO_TASK; children that are shown */
	bool shown; /* it, or one below it, ran long enough */
	bool later; /* its parent has children after it */
	bool has_children;
	uint32_t comm;
	uint64_t run, idle;
};

struct family {
	struct style *s;
	struct member *members; /* in the order of their first lines */
	size_t n, cap;
	struct map64 index; /* tid to 1 + member */
	struct style_fields fields;
	unsigned mode;
};

static uint32_t member_of(const struct family *f, int64_t tid)
{
	const struct map64_slot *slot = map64_find(&f->index, (uint64_t)tid);

	return slot ? (uint32_t)slot->value - 1 : NO_TASK;
}

static bool add_member(struct family *f, int64_t tid, int64_t pid, int64_t parent, uint32_t comm)
{
	struct map64_slot *slot = map64_put(&f->index, (uint64_t)tid);

	if (!slot || slot->value)
		return slot != NULL;
	if (!mem_grow((void **)&f->members, &f->cap, f->n + 1, sizeof(*f->members), MAX_TASKS))
		return false;
	f->members[f->n++] = (struct member){
		.tid = tid,
		.pid = pid,
		.comm = comm,
		.parent = member_of(f, parent),
		.first = NO_TASK,
		.last = NO_TASK,
		.next = NO_TASK,
	};
	slot = map64_put(&f->index, (uint64_t)tid);
	if (!slot)
		return false;
	slot->value = f->n;
	return true;
}

/* Parents come before their children. */
static void link_members(struct family *f, uint64_t min_ns)
{
	for (size_t k = f->n; k-- > 0;) {
		struct member *m = &f->members[k],
			      *up = m->parent == NO_TASK ? NULL : &f->members[m->parent];

		m->shown = m->shown || m->run >= min_ns;
		if (!up)
			continue;
		m->later = up->has_children;
		up->has_children = true;
		if (!m->shown)
			continue;
		up->shown = true;
		m->next = up->first;
		up->first = (uint32_t)k;
		if (up->last == NO_TASK)
			up->last = (uint32_t)k;
	}
}

/* Of a task without records: what its session's program is called. */
static uint32_t image_name(const struct family *f, const struct uftrace_line *l)
{
	const struct uftrace_session *s = uftrace_session_at(f->s->data, l->tid, l->time);
	struct text name = style_base_name(s ? s->exename : text_make("", 0));

	return trace_intern_n(f->s->trace, name.p, name.len < COMM ? name.len : COMM);
}

static bool add_members(struct family *f)
{
	const struct uftrace_data *d = f->s->data;
	struct uftrace_lines lines = d ? d->lines : (struct uftrace_lines){ 0 };
	struct uftrace_line l;

	while (d && uftrace_next_line(&lines, &l)) {
		const struct style_task *t = style_task_by_tid(f->s, l.tid);
		bool fork = l.kind == UFTRACE_LINE_FORK;

		if (!fork && l.kind != UFTRACE_LINE_TASK)
			continue;
		if (!add_member(f, l.tid, fork ? l.tid : l.pid, l.pid,
				t ? t->comm : image_name(f, &l)))
			return false;
	}
	for (size_t i = 0; i < f->s->ntasks && (!d || !d->nlines); i++)
		if (!add_member(f, f->s->tasks[i].tid, f->s->tasks[i].pid, f->s->tasks[i].pid,
				f->s->tasks[i].comm))
			return false;
	return true;
}

static bool take(void *self, struct style_task *t, const struct spur_event *row)
{
	(void)self;
	if (!t->first)
		t->first = (uint64_t)row->ts;
	t->shown_time = (uint64_t)row->ts;
	if (!style_is_sched(row))
		return true;
	if (row->flags & SPUR_F_IN)
		t->idle += t->stamp ? (uint64_t)row->ts - t->stamp : 0;
	t->stamp = row->flags & SPUR_F_IN ? 0 : (uint64_t)row->ts;
	return true;
}

static void set_times(struct family *f)
{
	for (size_t i = 0; i < f->n; i++) {
		struct member *m = &f->members[i];
		const struct style_task *t = style_task_by_tid(f->s, m->tid);

		if (!t)
			continue;
		m->comm = t->comm;
		m->idle = t->idle + (t->stamp ? t->shown_time - t->stamp : 0);
		m->run = t->shown_time - t->first;
	}
}

/* --- printing --- */

static void out_columns(const struct family *f, const struct member *m, struct out *o)
{
	for (size_t i = 0; i < f->fields.count; i++) {
		out_str(o, "  ");
		switch ((enum task_column)f->fields.ids[i]) {
		case TASK_TOTAL:
			out_time_unit(o, m->run);
			break;
		case TASK_SELF:
			out_time_unit(o, m->run - m->idle);
			break;
		default:
			out_printf(o, "[%*lld]", TID_WIDTH, (long long)m->tid);
		}
	}
	if (f->fields.count)
		out_str(o, " : ");
}

/*
 * Tasks after their parents, with a blank line before and after those that are processes.
 * `indents` and `blank` are kept per member: the walk goes up and down by the links.
 */
struct family_walk {
	struct family *f;
	struct graph_indent in;
	uint32_t *indents; /* by member */
	bool blank;
	struct out *o;
};

static bool out_member(struct family_walk *w, uint32_t k)
{
	const struct member *m = &w->f->members[k];
	size_t len, indent = w->indents[k];
	const char *name = trace_string(w->f->s->trace, m->comm, &len);

	if (!graph_indent_grow(&w->in, indent + 2))
		return false;
	out_columns(w->f, m, w->o);
	graph_indent_out(&w->in, indent, true, w->o);
	style_string(w->o, name, len, w->f->mode);
	out_char(w->o, '\n');
	return true;
}

static void out_blank(struct family_walk *w, size_t indent)
{
	graph_empty_out(&w->f->fields, task_columns, w->o);
	graph_indent_out(&w->in, indent, false, w->o);
	out_char(w->o, '\n');
	w->blank = false;
}

/* The first child of a member that is being printed: its place, and the lines before it. */
static bool enter_child(struct family_walk *w, uint32_t k, uint32_t child)
{
	const struct member *m = &w->f->members[k], *c = &w->f->members[child];
	size_t indent = w->indents[k];

	if (!graph_indent_grow(&w->in, indent + 3))
		return false;
	w->in.mask[indent++] = true;
	if (c->pid != m->pid) {
		w->blank = true;
		indent++;
	}
	w->indents[child] = (uint32_t)indent;
	if (w->blank)
		out_blank(w, indent);
	return out_member(w, child);
}

static void open_member(struct family_walk *w, uint32_t k)
{
	const struct member *m = &w->f->members[k];
	const struct member *up = m->parent == NO_TASK ? NULL : &w->f->members[m->parent];
	size_t at = w->indents[k];

	/* The last child ends its parent's line. */
	if (!up || up->last != k || !at)
		return;
	at -= m->pid != up->pid ? 2 : 1;
	w->in.mask[at] = false;
}

/*
 * Up from a member without more children to the next that has a sibling; NO_TASK: the root is
 * done.
 */
static uint32_t leave_member(struct family_walk *w, uint32_t k, uint32_t root)
{
	while (k != root) {
		const struct member *m = &w->f->members[k], *up = &w->f->members[m->parent];

		if (m->first != NO_TASK)
			w->in.mask[w->indents[k]] = false;
		else
			w->blank = false;
		if (m->later && m->pid != up->pid)
			w->blank = true;
		if (m->next != NO_TASK)
			return m->next;
		k = m->parent;
	}
	return NO_TASK;
}

static bool out_members(struct family_walk *w, uint32_t root)
{
	uint32_t k = root;

	if (!out_member(w, root))
		return false;
	while (k != NO_TASK) {
		uint32_t next = w->f->members[k].first;

		if (next != NO_TASK) {
			open_member(w, k);
			w->blank = false;
		} else {
			next = leave_member(w, k, root);
		}
		if (next == NO_TASK)
			break;
		if (!enter_child(w, w->f->members[next].parent, next))
			return false;
		k = next;
	}
	return true;
}

static enum spur_status out_family(struct family *f, struct pass_env *env, uint64_t min_ns)
{
	struct family_walk w = { .f = f, .o = env->out };
	bool good;

	out_str(env->out, "========== TASK GRAPH ==========\n");
	graph_header_out(&f->fields, task_columns, "TASK NAME", env->out);
	if (f->fields.count)
		out_char(env->out, '\n');
	w.indents = mem_array(f->n + 1, sizeof(*w.indents));
	good = w.indents && graph_indent_grow(&w.in, 2) &&
	       (!f->n || f->members[0].run < min_ns || out_members(&w, 0));
	out_char(env->out, '\n');
	mem_free(w.indents);
	mem_free(w.in.mask);
	return good ? SPUR_OK : err_nomem(env->err);
}

enum spur_status graph_tasks(struct pass_env *env, struct style *s)
{
	struct family f = { .s = s, .mode = env->opt->width ? ARGS_SAFE : 0 };
	struct style_walk w = { .s = s, .record = take, .self = &f };
	enum spur_status st = SPUR_FAIL;
	uint64_t min_ns = env->filter ? (uint64_t)filter_keep_brief(env->filter) : 0;

	if (!style_fields_parse(&f.fields, task_columns, TASK_COLUMNS, env->opt->fields,
				default_columns, sizeof(default_columns), env->err))
		return SPUR_FAIL;
	if (!add_members(&f) ||
	    pipe_run_marked(env->trace, &env->pipe, style_walk_rows, &w) == SPUR_FAIL || w.failed) {
		err_nomem(env->err);
	} else {
		set_times(&f);
		link_members(&f, min_ns);
		st = out_family(&f, env, min_ns);
	}
	mem_free(f.members);
	map64_free(&f.index);
	return st;
}
