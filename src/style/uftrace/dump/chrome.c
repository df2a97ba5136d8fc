/* Chrome's trace event format in uftrace's wording. */
#include "flow/args.h"
#include "flow/open.h"
#include "style/uftrace/dump/dump.h"

enum { LINE_ROOM = 160 };

/* `marks` of a row for render(). */
enum chrome_flag { CHROME_FIRST = 1, CHROME_COMM = 2 };

struct chrome {
	struct style *s;
	struct style_walk walk;
	struct pass_env *env;
	struct render_rows *rows; /* of this call of stage */
	uint64_t offset; /* ns to add: the records' clock to UTC */
	bool any;
	uint32_t schedule;
};

static bool add_row(struct chrome *c, const struct spur_event *row, uint32_t flags, unsigned kind)
{
	struct shown_row *e = render_add(c->rows);

	if (!e)
		return false;
	e->row = *row;
	e->marks = flags | (c->any ? 0 : CHROME_FIRST);
	e->row.kind = (uint8_t)kind;
	c->any = true;
	return true;
}

static bool take(void *self, struct style_task *t, const struct spur_event *row)
{
	struct chrome *c = self;
	struct spur_event sched;

	(void)t;
	if (row->kind == SPUR_BEGIN || row->kind == SPUR_END_SPAN)
		return add_row(c, row, 0, row->kind);
	if (row->kind == SPUR_OBJECT && row->id == UFTRACE_EV_TASK_NAME)
		return add_row(c, row, CHROME_COMM, SPUR_OBJECT);
	if (!style_is_sched(row) || ((row->flags & SPUR_F_OUT) && (row->flags & SPUR_F_PREEMPTED)))
		return true;
	sched = *row;
	sched.name = c->schedule;
	sched.nargs = 0;
	return add_row(c, &sched, 0, row->flags & SPUR_F_OUT ? SPUR_BEGIN : SPUR_END_SPAN);
}

static bool read_end(void *self, struct style_task *t, const struct style_frame *f, uint64_t time)
{
	struct chrome *c = self;
	struct spur_event row = {
		.kind = SPUR_END_SPAN, .track = t->track, .ts = (int64_t)time, .cls = f->cls
	};

	if (f->hidden || (c->walk.filter && filter_ended_off(c->walk.filter)))
		return true;
	if (style_id_is_sched(f->addr))
		row.name = trace_intern(c->s->trace,
					f->addr == UFTRACE_EV_SCHED_OUT ? "<30d42>" : "<30d47>");
	else if (f->cls)
		row.name = trace_class(c->s->trace, f->cls)->name;
	return add_row(c, &row, 0, SPUR_END_SPAN);
}

static bool stage(void *self, struct marked_rows rows, struct render_rows *out)
{
	struct chrome *c = self;

	c->rows = out;
	return rows.n ? style_walk_rows(&c->walk, rows) : style_walk_end(&c->walk);
}

static void out_escaped(struct out *o, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		style_json_byte(o, s[i]);
}

static void out_name(const struct chrome *c, struct out *o, uint32_t id)
{
	size_t len, plain = 0;
	const char *s = trace_string(c->s->trace, id, &len);

	while (plain < len && s[plain] >= ' ' && s[plain] < 127 && s[plain] != '"' &&
	       s[plain] != '\\')
		plain++;
	out_bytes(o, s, plain);
	out_escaped(o, s + plain, len - plain);
}

/* "NAME" of a metadata record. */
static void out_meta(struct out *o, int64_t pid, int64_t tid, const char *what, const char *name,
		     size_t len, bool number)
{
	out_printf(o, "{\"ts\":0,\"ph\":\"M\",\"pid\":%lld,", (long long)pid);
	if (tid != pid)
		out_printf(o, "\"tid\":%lld,", (long long)tid);
	out_printf(o, "\"name\":\"%s\",\"args\":{\"name\":\"", what);
	if (number)
		out_printf(o, "[%lld] ", (long long)tid);
	out_escaped(o, name, len);
	out_str(o, "\"}}");
}

static void out_comm(const struct chrome *c, struct out *o, const struct spur_event *row,
		     struct spur_args *scratch)
{
	const struct spur_track *k = trace_track(c->s->trace, row->track);
	const struct spur_value *v;

	if (!k || !style_get_args(c->s->trace, o, row, scratch) || !scratch->count)
		return;
	v = &scratch->items[0];
	if (v->type != SPUR_STRING)
		return;
	out_str(o, ",\n");
	if (k->pid == k->tid) {
		out_meta(o, k->tid, k->tid, "process_name", v->text, v->count, false);
		out_str(o, ",\n");
	}
	out_meta(o, k->pid, k->tid, "thread_name", v->text, v->count, k->pid != k->tid);
}

static void out_args(const struct chrome *c, struct out *o, const struct spur_event *row,
		     struct spur_args *scratch)
{
	const struct event_class *cls = row->cls ? trace_class(c->s->trace, row->cls) : NULL;
	bool place = uftrace_options(c->env)->srcline && cls && cls->file &&
		     !(cls->flags & (CLASS_LIBRARY | CLASS_KERNEL));
	bool args = row->nargs && !c->env->opt->no_args;

	if (!place && !args)
		return;
	out_str(o, ",\"args\":{");
	if (place)
		out_printf(o, "\"srcline\":\"%s:%u\"%s", trace_string(c->s->trace, cls->file, NULL),
			   cls->line, args ? "," : "");
	if (args) {
		out_str(o, row->kind == SPUR_BEGIN ? "\"arguments\":\"" : "\"retval\":\"");
		style_args(c->s->trace, o, row,
			   ARGS_JSON | (row->kind == SPUR_BEGIN ? ARGS_PAREN : 0), scratch);
		out_char(o, '"');
	}
	out_char(o, '}');
}

static void out_call(const struct chrome *c, struct out *o, const struct shown_row *line,
		     struct spur_args *scratch)
{
	const struct spur_event *row = &line->row;
	const struct spur_track *k = trace_track(c->s->trace, row->track);
	uint64_t ts = (uint64_t)row->ts + c->offset;
	char *p = out_room(o, LINE_ROOM);

	if (!p || !k)
		return;
	if (!(line->marks & CHROME_FIRST))
		p = put_text(p, ",\n", 2);
	p = put_text(p, "{\"ts\":", 6);
	p = put_u64(p, ts / 1000);
	*p++ = '.';
	p = put_u64_0(p, ts % 1000, 3);
	p = put_text(
		p,
		row->kind == SPUR_BEGIN ? ",\"ph\":\"B\",\"pid\":" : ",\"ph\":\"E\",\"pid\":", 16);
	p = put_i64(p, k->pid);
	if (k->pid != k->tid) {
		p = put_text(p, ",\"tid\":", 7);
		p = put_i64(p, k->tid);
	}
	p = put_text(p, ",\"name\":\"", 9);
	out_to(o, p);
	out_name(c, o, row->name);
	out_char(o, '"');
	if (row->nargs || uftrace_options(c->env)->srcline)
		out_args(c, o, row, scratch);
	out_char(o, '}');
}

static void render(const void *self, const struct shown_row *rows, size_t n, struct out *o,
		   struct spur_args *scratch)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].marks & CHROME_COMM)
			out_comm(self, o, &rows[i].row, scratch);
		else
			out_call(self, o, &rows[i], scratch);
}

static bool read_name(struct style *s, struct spur_trace *t, const struct spur_event *row)
{
	const struct spur_track *track;
	const struct spur_value *v;
	struct style_task *k;

	if (row->kind != SPUR_OBJECT || row->id != UFTRACE_EV_TASK_NAME)
		return true;
	track = trace_track(t, row->track);
	k = track ? style_task_by_tid(s, track->tid) : NULL;
	if (!k)
		return true;
	if (trace_args(t, row, &s->args) == SPUR_FAIL)
		return false;
	v = s->args.items;
	if (!s->args.count || v->type != SPUR_STRING)
		return true;
	k->comm = trace_intern_n(s->trace, v->text, v->count);
	return k->comm || !v->count;
}

static bool copy_names(struct style *s, struct spur_trace *t)
{
	enum spur_status st = SPUR_OK;

	for (size_t i = 0; i < t->nfeeds && st != SPUR_FAIL; i++) {
		struct feed_reader *r = feed_reader_new(t, t->feeds[i], NULL, BATCH_ROWS);
		struct spur_event *rows;
		size_t n;

		st = r ? SPUR_OK : SPUR_FAIL;
		while (st == SPUR_OK) {
			st = feed_reader_next(r, &rows, &n);
			for (size_t j = 0; st == SPUR_OK && j < n; j++)
				st = read_name(s, t, &rows[j]) ? SPUR_OK : SPUR_FAIL;
		}
		feed_reader_free(r);
	}
	return st != SPUR_FAIL;
}

/*
 * The names that tasks have in the end stand in the head. They come from the per-CPU files: read
 * ahead, by a second trace. Returns false if out of memory.
 */
static bool read_names(struct style *s)
{
	struct spur_error err = { 0 };
	struct spur_trace *t;
	bool good;

	if (!s->data || !(s->data->info.features >> UFTRACE_PERF_EVENT & 1))
		return true;
	if (trace_open(&t, s->trace->path, &s->trace->options, NULL, &err) == SPUR_FAIL)
		return err.code != SPUR_ERR_MEMORY;
	good = copy_names(s, t);
	trace_close(t);
	return good;
}

static void out_header(const struct chrome *c, struct out *o)
{
	out_str(o, "{\"traceEvents\":[\n");
	for (size_t i = 0; i < c->s->ntasks; i++) {
		const struct style_task *t = &c->s->tasks[i];
		size_t len;
		const char *name = trace_string(c->s->trace, t->comm, &len);

		if (t->hidden)
			continue;
		out_meta(o, t->tid, t->tid, "process_name", name, len, true);
		out_str(o, ",\n");
		out_meta(o, t->tid, t->tid, "thread_name", name, len, true);
		out_str(o, ",\n");
	}
}

static void out_footer(const struct chrome *c, struct out *o)
{
	const struct uftrace_info *i;

	out_str(o, "\n], \"displayTimeUnit\": \"ns\"");
	if (!c->s->data || !c->s->data->info.have) {
		out_str(o, " }\n");
		return;
	}
	i = &c->s->data->info;
	out_str(o, ", \"metadata\": {\n\"version\":\"uftrace ");
	out_escaped(o, i->uftrace_version.p, i->uftrace_version.len);
	out_str(o, "\",\n\"recorded_time\":\"");
	out_escaped(o, i->record_date.p, i->record_date.len);
	out_str(o, "\",\n");
	if (i->bits >> UFTRACE_CMDLINE & 1) {
		out_str(o, "\"command_line\":\"");
		out_bytes(o, i->cmdline.p, i->cmdline.len);
		out_str(o, "\"\n");
	}
	out_str(o, "} }\n");
}

enum spur_status dump_chrome(struct pass_env *env, struct style *s)
{
	static const struct pipe_render lines = { .stage = stage, .render = render };
	struct chrome c = { .s = s,
			    .env = env,
			    .schedule = trace_intern(env->trace, "linux:schedule") };
	struct text offset = s->data ? s->data->info.utc_offset : text_make("", 0);
	int64_t seconds;

	c.walk = (struct style_walk){ .s = s,
				      .record = take,
				      .end = read_end,
				      .self = &c,
				      .filter = env->filter,
				      .by_own_time = true };
	if (text_i64(&offset, &seconds))
		c.offset = (uint64_t)seconds * 1000000000;
	if (!c.schedule || !read_names(s))
		return err_nomem(env->err);
	out_header(&c, env->out);
	if (pipe_run_render(env->trace, &env->pipe, &lines, &c, env->out) == SPUR_FAIL ||
	    c.walk.failed)
		return err_nomem(env->err);
	out_footer(&c, env->out);
	return SPUR_OK;
}
