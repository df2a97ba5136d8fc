/* Running and waiting time by task. */
#include "style/uftrace/report/report.h"

enum task_column { TASK_TOTAL, TASK_SELF, TASK_TID, TASK_FUNC, TASK_COLUMNS };

static const struct style_field columns[TASK_COLUMNS] = {
	[TASK_TOTAL] = { "total", NULL, "Total time", TIME_WIDTH },
	[TASK_SELF] = { "self", NULL, "Self time", TIME_WIDTH },
	[TASK_TID] = { "tid", NULL, "TID", TID_WIDTH },
	[TASK_FUNC] = { "func", NULL, "Num funcs", 10 },
};

static const uint8_t default_columns[] = { TASK_TOTAL, TASK_SELF, TASK_TID, TASK_FUNC };

static bool add_task(struct report *r, struct style_task *t, uint64_t time)
{
	struct report_node *n = report_node(r, (uint64_t)t->tid);

	if (!n)
		return false;
	n->tid = t->tid;
	report_add(r, n, t, time);
	return true;
}

/* SPEC uftrace/task-idle: from SWITCH out, if not against the task's will, to SWITCH in */
static bool take(void *self, struct style_task *t, const struct spur_event *row)
{
	enum style_type type = style_type_of(row);

	if (type == TYPE_ENTRY || type == TYPE_LOST)
		return true;
	t->shown_time = (uint64_t)row->ts;
	if (type == TYPE_EVENT) {
		if (!style_is_sched(row))
			return true;
		if (row->flags & SPUR_F_OUT) {
			if (!(row->flags & SPUR_F_PREEMPTED))
				t->stamp = (uint64_t)row->ts;
			return true;
		}
		if (t->stamp)
			t->idle += (uint64_t)row->ts - t->stamp;
		t->stamp = 0;
	}
	return add_task(self, t, (uint64_t)row->ts);
}

static bool read_end(void *self, struct style_task *t, const struct style_frame *f, uint64_t time)
{
	(void)f;
	return add_task(self, t, time);
}

/* Total is the self time of all functions; self is the part of it that was not waiting. */
static void adjust(struct report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct report_node *n = &r->nodes[i];
		const struct style_task *t = style_task_by_tid(r->s, n->tid);

		n->total = n->self;
		n->self = (struct report_times){ .sum = n->total.sum - (t ? t->idle : 0) };
		n->comm = t ? t->comm : 0;
	}
}

static void out_tasks(const struct report *r, const struct report_node *const *order)
{
	report_head(r, columns, "Task name", "");
	for (size_t k = 0; k < r->n; k++) {
		const struct report_node *n = order[k];
		size_t len;
		const char *name = trace_string(r->s->trace, n->comm, &len);

		for (size_t i = 0; i < r->fields.count; i++) {
			out_str(r->o, "  ");
			switch ((enum task_column)r->fields.ids[i]) {
			case TASK_TOTAL:
				out_time_unit(r->o, n->total.sum);
				break;
			case TASK_SELF:
				out_time_unit(r->o, n->self.sum);
				break;
			case TASK_TID:
				out_printf(r->o, "%*lld", TID_WIDTH, (long long)n->tid);
				break;
			default:
				out_printf(r->o, "%10llu", (unsigned long long)n->calls);
			}
		}
		out_str(r->o, "  ");
		style_string(r->o, name, len, r->mode);
		out_pad(r->o, ' ', len < 16 ? 16 - len : 0);
		out_char(r->o, '\n');
	}
}

enum spur_status report_tasks(struct pass_env *env, struct style *s)
{
	struct report r = { .s = s, .o = env->out, .mode = env->opt->width ? ARGS_SAFE : 0 };
	struct style_walk w = { .s = s,
				.record = take,
				.end = read_end,
				.self = &r,
				.filter = env->filter,
				.by_own_time = true,
				.plain = true };
	const struct report_node **order = NULL;
	uint8_t keys[REPORT_KEYS];
	enum spur_status st;

	r.keys = keys;
	if (!style_fields_parse(&r.fields, columns, TASK_COLUMNS, env->opt->fields, default_columns,
				sizeof(default_columns), env->err) ||
	    !report_keys(keys, &r.nkeys, env->opt->sort ? env->opt->sort : "total", NULL, true,
			 env->err))
		return SPUR_FAIL;
	for (size_t i = 0; i < s->ntasks && s->data; i++) {
		const struct uftrace_task *k = uftrace_task(s->data, s->tasks[i].tid);

		s->tasks[i].stamp = k ? k->time : 0;
	}
	if (pipe_run_marked(env->trace, &env->pipe, style_walk_rows, &w) != SPUR_FAIL &&
	    !w.failed && style_walk_end(&w)) {
		adjust(&r);
		order = report_sort(&r);
	}
	if (order)
		out_tasks(&r, order);
	st = !order ? err_nomem(env->err) : r.n ? SPUR_OK : SPUR_WARN;
	mem_free(order);
	report_close(&r);
	return st;
}
