/*
 * Replay in uftrace's own layout: for scripts that read it. Not its colours, nor its HTML. Lines
 * are made in time order (uftrace/replay_stage.c) and worded on all cores (uftrace/replay_text.c).
 */
#include <stdio.h>

#include "style/uftrace/replay/replay.h"

static const uint8_t plain_columns[] = { COLUMN_DURATION, COLUMN_TID };
static const uint8_t ranged_columns[] = { COLUMN_TIME, COLUMN_DURATION, COLUMN_TID };
static const uint8_t elapsed_columns[] = { COLUMN_ELAPSED, COLUMN_DURATION, COLUMN_TID };

/* SPEC uftrace/range-column: a time range adds a column for the kind of time it is given in */
static bool choose_columns(struct replay *r, const struct render_options *opt,
			   struct spur_error *err)
{
	const uint8_t *defaults = plain_columns;
	size_t n = sizeof(plain_columns);
	bool good;

	if (r->s.given->range && *r->s.given->range) {
		bool elapsed = strchr(r->s.given->range, '.') == NULL;

		defaults = elapsed ? elapsed_columns : ranged_columns;
		n = sizeof(ranged_columns);
	}
	good = style_fields_parse(&r->fields, replay_columns, COLUMNS, opt->fields, defaults, n,
				  err);
	if (good && !opt->fields && n == sizeof(ranged_columns))
		memcpy(r->fields.ids, defaults, n);
	for (size_t i = 0; i < r->fields.count; i++)
		r->cells = r->cells || r->fields.ids[i] > COLUMN_TID;
	r->quick_columns =
		r->fields.count == 2 && r->fields.has[COLUMN_DURATION] && r->fields.has[COLUMN_TID];
	r->wordy = r->own->lines.srcline || r->own->lines.libname;
	r->quick = !r->cells && !r->filter && !r->s.own->column_view && !r->own->task_newline &&
		   !r->own->no_merge && r->s.data;
	return good;
}

static bool make_tids(struct replay *r)
{
	size_t n = trace_track_count(r->s.trace);

	r->tids = scratch_alloc((n + 1) * sizeof(*r->tids));
	if (!r->tids)
		return false;
	r->ntids = n;
	for (size_t i = 0; i < n; i++)
		r->tids[i].len = (uint8_t)snprintf(
			r->tids[i].text, sizeof(r->tids[i].text), " [%*lld] | ", TID_WIDTH,
			(long long)trace_track(r->s.trace, (uint32_t)i)->tid % 1000000000000000);
	return true;
}

static void out_header(const struct replay *r, const struct pass_env *env)
{
	struct out *o = env->out;

	if (replay_options(env)->lines.flat) {
		if (r->fields.count)
			out_char(o, '\n');
		return;
	}
	for (size_t i = 0; i < r->fields.count; i++) {
		out_char(o, i ? ' ' : '#');
		out_str(o, replay_columns[r->fields.ids[i]].header);
	}
	if (!r->fields.count)
		return;
	out_str(o, "   FUNCTION");
	if (replay_options(env)->lines.srcline)
		out_str(o, " [SOURCE]");
	out_char(o, '\n');
}

/* What is open for good reason is not worth a word: one schedule event, or the exit system call. */
static bool task_ended(struct style *s, struct style_task *t)
{
	const struct style_frame *f = t->count ? style_frame_get(s, t, 0) : NULL;
	const char *name;

	if (!f)
		return true;
	if (t->count == 1 &&
	    (f->addr == UFTRACE_EV_SCHED_OUT || f->addr == UFTRACE_EV_SCHED_OUT_PREEMPT))
		return true;
	if (t->user_count || !f->cls || !(trace_class(s->trace, f->cls)->flags & CLASS_KERNEL))
		return false;
	name = trace_string(s->trace, trace_class(s->trace, f->cls)->simple, NULL);
	return strstr(name, "sys_exit") || strcmp(name, "do_syscall_64") == 0 ||
	       strcmp(name, "x64_sys_call") == 0;
}

/* Frames at the bottom that nothing is known of. */
static int32_t unknown_frames(struct style *s, struct style_task *t)
{
	int32_t k = 0;

	for (; k < t->count; k++) {
		const struct style_frame *f = style_frame_get(s, t, k);

		if (f && f->addr)
			break;
	}
	return k;
}

static void out_open_frames(struct replay *r, struct style_task *t, int32_t from, struct out *o)
{
	for (int32_t i = t->count - 1; i >= from; i--) {
		const struct style_frame *f = style_frame_get(&r->s, t, i);

		if (!f)
			continue;
		out_printf(o, "[%d] ", i - from);
		if (style_id_is_sched(f->addr))
			out_str(o, f->addr == UFTRACE_EV_SCHED_OUT_PREEMPT
					   ? "linux:schedule (pre-empted)"
					   : "linux:schedule");
		else if (f->cls)
			style_string(
				o,
				trace_string(r->s.trace, trace_class(r->s.trace, f->cls)->name,
					    NULL),
				strlen(trace_string(r->s.trace,
						   trace_class(r->s.trace, f->cls)->name, NULL)),
				r->mode);
		else
			out_printf(o, "<%llx>", (unsigned long long)f->addr);
		out_char(o, '\n');
	}
	out_char(o, '\n');
}

static void out_remaining(struct replay *r, struct out *o)
{
	bool any = false;

	for (size_t i = 0; i < r->s.ntasks; i++) {
		struct style_task *t = &r->s.tasks[i];
		int32_t from = unknown_frames(&r->s, t);

		if (t->hidden || from == t->count || task_ended(&r->s, t))
			continue;
		if (!any)
			out_str(o, "\nuftrace stopped tracing with remaining functions\n"
				   "================================================\n");
		any = true;
		out_printf(o, "task: %lld\n", (long long)t->tid);
		out_open_frames(r, t, from, o);
	}
}

static enum spur_status replay_lines(struct replay *r, struct pass_env *env)
{
	const bool flat = replay_options(env)->lines.flat;
	const struct pipe_render lines = {
		.stage = flat ? replay_flat_stage : replay_stage,
		.render = flat ? replay_flat_render : replay_render,
	};

	const size_t before = env->out->len;
	size_t head;

	out_header(r, env);
	head = env->out->len;
	if (pipe_run_render(r->s.trace, &env->pipe, &lines, r, env->out) == SPUR_FAIL || r->failed)
		return err_nomem(env->err);
	/* Without any record uftrace leaves out the heading, but not the end of its line. */
	if (!r->s.started && !flat && env->out->len == head && head > before) {
		out_cut(env->out, before);
		out_char(env->out, '\n');
	}
	out_remaining(r, env->out);
	return r->shown ? SPUR_OK : SPUR_WARN;
}

static enum spur_status replay_run(struct pass_env *env)
{
	struct replay r = { .own = replay_options(env),
			    .filter = env->filter,
			    .prev_tid = -1,
			    .mode = env->opt->width ? ARGS_SAFE : 0 };
	enum spur_status st = SPUR_FAIL;

	arena_init(&r.arena);
	if (!style_open(&r.s, env) || !make_tids(&r))
		st = err_nomem(env->err);
	else if (choose_columns(&r, env->opt, env->err))
		st = replay_lines(&r, env);
	scratch_free(r.tids, (r.ntids + 1) * sizeof(*r.tids));
	for (size_t i = 0; i < TRACE_CLASS_PAGES; i++)
		mem_free(r.names[i]);
	arena_free(&r.arena);
	style_close(&r.s);
	return st;
}

static void replay_prepare(const struct pass_env *env, struct spur_options *open)
{
	open->call_libraries = replay_options(env)->lines.libname;
	open->source_lines |= replay_options(env)->lines.srcline;
}

const struct spur_pass spur_pass_uftrace_replay = {
	.name = "replay.uftrace",
	.limits_rows = true,
	.analysis = true,
	.tracks = true,
	.options_size = sizeof(struct replay_options),
	.style_options_size = sizeof(struct uftrace_options),
	.bare_times = true,
	.simple_names = true,
	.focus_hides_sched = true,
	.limits_input = true,
	.prepare = replay_prepare,
	.run = replay_run,
};
