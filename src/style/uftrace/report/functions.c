/* Calls, total and self times by function name. */
#include <assert.h>
#include <math.h>

#include "style/uftrace/report/report.h"

enum { TIME_CELL = 18, COUNT_CELL = 9, MASK_CELL = 8 };

static const struct style_field columns[REPORT_COLUMNS] = {
	[REPORT_TOTAL] = { "total", NULL, "Total time", TIME_WIDTH },
	[REPORT_TOTAL_AVG] = { "total-avg", NULL, "Total avg", TIME_WIDTH },
	[REPORT_TOTAL_MIN] = { "total-min", NULL, "Total min", TIME_WIDTH },
	[REPORT_TOTAL_MAX] = { "total-max", NULL, "Total max", TIME_WIDTH },
	[REPORT_SELF] = { "self", NULL, "Self time", TIME_WIDTH },
	[REPORT_SELF_AVG] = { "self-avg", NULL, "Self avg", TIME_WIDTH },
	[REPORT_SELF_MIN] = { "self-min", NULL, "Self min", TIME_WIDTH },
	[REPORT_SELF_MAX] = { "self-max", NULL, "Self max", TIME_WIDTH },
	[REPORT_CALL] = { "call", NULL, "Calls", 10 },
	[REPORT_SIZE] = { "size", NULL, "Size", 10 },
	[REPORT_TOTAL_STDV] = { "total-stdv", NULL, "Total stdv", 10 },
	[REPORT_SELF_STDV] = { "self-stdv", NULL, "Self stdv", 10 },
	[REPORT_TOTAL_MIN_TS] = { "total-min-ts", NULL, "Total min ts", TIME_CELL },
	[REPORT_TOTAL_MAX_TS] = { "total-max-ts", NULL, "Total max ts", TIME_CELL },
	[REPORT_SELF_MIN_TS] = { "self-min-ts", NULL, "Self min ts", TIME_CELL },
	[REPORT_SELF_MAX_TS] = { "self-max-ts", NULL, "Self max ts", TIME_CELL },
	[REPORT_CPU_COUNT] = { "cpu-count", NULL, "CPU Count", COUNT_CELL },
	[REPORT_CPU_MASK] = { "cpu-mask", NULL, "CPU MASK", MASK_CELL },
	[REPORT_CPU_LIST] = { "cpu-list", NULL, "CPU LIST", MASK_CELL },
};

static const uint8_t plain_columns[] = { REPORT_TOTAL, REPORT_SELF, REPORT_CALL };
static const uint8_t total_columns[] = { REPORT_TOTAL_AVG, REPORT_TOTAL_MIN, REPORT_TOTAL_MAX,
					 REPORT_TOTAL_STDV };
static const uint8_t self_columns[] = { REPORT_SELF_AVG, REPORT_SELF_MIN, REPORT_SELF_MAX,
					REPORT_SELF_STDV };

/* --- rows --- */

struct report_node *report_named(struct report *r, uint32_t name, uint32_t cls)
{
	struct report_node *n = report_node(r, name);

	if (n) {
		n->name = name;
		n->cls = cls;
	}
	return n;
}

static bool add_named(struct report_collector *c, struct style_task *t, uint32_t name, uint32_t cls,
		      uint64_t time)
{
	struct report_node *n = report_named(c->r, name, cls);

	if (!n)
		return false;
	report_add(c->r, n, t, time);
	return true;
}

/* A frame by what it recorded. */
static bool add_frame(struct report_collector *c, struct style_task *t,
		      const struct style_frame *fr, uint64_t time)
{
	char text[24];
	uint32_t name;

	if (style_id_is_sched(fr->addr))
		return add_named(
			c, t, fr->addr == UFTRACE_EV_SCHED_OUT_PREEMPT ? c->preempted : c->schedule,
			0, time);
	t->func = fr->cls;
	if (fr->cls)
		return add_named(c, t, trace_class(c->r->s->trace, fr->cls)->name, fr->cls, time);
	text[0] = '<';
	*put_hex(text + 1, fr->addr) = '\0';
	name = trace_intern(c->r->s->trace, strcat(text, ">"));
	return name && add_named(c, t, name, 0, time);
}

/* Learns the node of a class. Returns NULL if out of memory. */
static struct report_node *class_node(struct report_collector *c, const struct spur_event *row)
{
	struct report_node *n = report_node(c->r, row->name);

	if (!n || !mem_table_grow((void **)&c->nodes, &c->nodes_cap, (size_t)row->cls + 1,
				  sizeof(*c->nodes), UINT32_MAX))
		return NULL;
	c->nodes[row->cls] = (uint32_t)(n - c->r->nodes) + 1;
	n->name = row->name;
	return n;
}

/* A call ends. All rows of a class have its name. */
static bool add_call(struct report_collector *c, struct style_task *t, const struct spur_event *row)
{
	const uint32_t cls = row->cls;
	struct report_node *n = cls < c->nodes_cap && c->nodes[cls]
					? &c->r->nodes[c->nodes[cls] - 1]
					: class_node(c, row);

	if (!n)
		return false;
	assert(n->name == row->name);
	n->cls = cls;
	t->func = cls;
	report_add(c->r, n, t, (uint64_t)row->ts);
	return true;
}

static bool read_lost(struct report_collector *c, struct style_task *t, uint64_t time)
{
	for (; t->count >= t->user_count && t->count >= 0; t->count--) {
		struct style_frame *fr = style_frame_get(c->r->s, t, t->count);

		if (fr && fr->valid && !fr->hidden && !add_frame(c, t, fr, time))
			return false;
	}
	return true;
}

static bool take(void *self, struct style_task *t, const struct spur_event *row)
{
	struct report_collector *c = self;
	const struct style_frame *fr;
	uint64_t time = (uint64_t)row->ts;

	switch (style_type_of(row)) {
	case TYPE_ENTRY:
		return true;
	case TYPE_LOST:
		return read_lost(c, t, time);
	case TYPE_EVENT:
		if (row->cpu != SPUR_NO_CPU)
			t->cpu = row->cpu;
		if (!style_is_sched(row) || !(row->flags & SPUR_F_IN))
			return true;
		fr = style_frame_get(c->r->s, t, t->count);
		if (!fr || !style_id_is_sched(fr->addr))
			return true;
		return add_named(c, t,
				 fr->addr == UFTRACE_EV_SCHED_OUT ? c->schedule : c->preempted, 0,
				 time);
	default:
		return add_call(c, t, row);
	}
}

static bool read_end(void *self, struct style_task *t, const struct style_frame *fr, uint64_t time)
{
	return add_frame(self, t, fr, time);
}

/* --- averages --- */

static void finish_times(struct report_times *x, uint64_t calls)
{
	double variance;

	x->avg = (x->sum + x->nested) / calls;
	variance = (double)((x->squares + x->nested_squares) / calls);
	variance -= (double)(x->avg * x->avg);
	x->stdv = sqrt(variance / (double)calls) * 100 / (double)x->avg;
}

static void finish(struct report *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->nodes[i].calls) {
			finish_times(&r->nodes[i].total, r->nodes[i].calls);
			finish_times(&r->nodes[i].self, r->nodes[i].calls);
		}
}

/* --- printing --- */

static uint64_t number_of(const struct report_node *n, unsigned c)
{
	switch (c) {
	case REPORT_TOTAL:
		return n->total.sum;
	case REPORT_TOTAL_AVG:
		return n->total.avg;
	case REPORT_TOTAL_MIN:
		return n->total.min;
	case REPORT_TOTAL_MAX:
		return n->total.max;
	case REPORT_SELF:
		return n->self.sum;
	case REPORT_SELF_AVG:
		return n->self.avg;
	case REPORT_SELF_MIN:
		return n->self.min;
	case REPORT_SELF_MAX:
		return n->self.max;
	case REPORT_CALL:
		return n->calls;
	case REPORT_SIZE:
		return n->size;
	case REPORT_TOTAL_MIN_TS:
		return n->total.min_ts;
	case REPORT_TOTAL_MAX_TS:
		return n->total.max_ts;
	case REPORT_SELF_MIN_TS:
		return n->self.min_ts;
	case REPORT_SELF_MAX_TS:
		return n->self.max_ts;
	case REPORT_CPU_COUNT:
		return (uint64_t)__builtin_popcountll(n->cpus);
	default:
		return n->cpus;
	}
}

static void out_middle(struct out *o, const char *text, size_t width)
{
	size_t len = strlen(text), left = len < width ? (width - len) / 2 : 0;

	out_pad(o, ' ', left);
	out_str(o, text);
	out_pad(o, ' ', len + left < width ? width - len - left : 0);
}

static void out_cell(struct out *o, const struct report_node *n, unsigned c)
{
	uint64_t v = number_of(n, c);
	char text[CPU_LIST];

	switch (c) {
	case REPORT_CALL:
	case REPORT_SIZE:
		out_printf(o, "%10llu", (unsigned long long)v);
		break;
	case REPORT_TOTAL_STDV:
		out_printf(o, "%9.2f%%", n->total.stdv);
		break;
	case REPORT_SELF_STDV:
		out_printf(o, "%9.2f%%", n->self.stdv);
		break;
	case REPORT_TOTAL_MIN_TS:
	case REPORT_TOTAL_MAX_TS:
	case REPORT_SELF_MIN_TS:
	case REPORT_SELF_MAX_TS:
		out_printf(o, "%8llu.%09llu", (unsigned long long)v / 1000000000,
			   (unsigned long long)v % 1000000000);
		break;
	case REPORT_CPU_COUNT:
		*put_u64(text, v) = '\0';
		out_middle(o, text, COUNT_CELL);
		break;
	case REPORT_CPU_MASK:
		out_printf(o, "%08llx", (unsigned long long)v);
		break;
	case REPORT_CPU_LIST:
		*put_cpu_list(text, v) = '\0';
		out_middle(o, text, MASK_CELL);
		break;
	default:
		out_time_unit(o, v);
	}
}

static void out_place(const struct report *r, const struct report_node *n)
{
	const struct event_class *c =
		n->cls && r->s->own->srcline ? trace_class(r->s->trace, n->cls) : NULL;

	if (c && c->file && !(c->flags & (CLASS_LIBRARY | CLASS_KERNEL)))
		out_printf(r->o, " [%s:%u]", trace_string(r->s->trace, c->file, NULL), c->line);
}

static void out_csv_table(const struct report *r, const struct report_node *const *order)
{
	size_t len;
	const char *name;

	out_char(r->o, '#');
	for (size_t i = 0; i < r->fields.count; i++)
		out_printf(r->o, "%s,", columns[r->fields.ids[i]].header);
	out_str(r->o, "Function\n");
	for (size_t k = 0; k < r->n; k++) {
		for (size_t i = 0; i < r->fields.count; i++) {
			unsigned c = r->fields.ids[i];

			if (c == REPORT_TOTAL_STDV || c == REPORT_SELF_STDV)
				out_printf(r->o, "%.2f,",
					   c == REPORT_SELF_STDV ? order[k]->self.stdv
								 : order[k]->total.stdv);
			else
				out_printf(r->o, "%llu,",
					   (unsigned long long)number_of(order[k], c));
		}
		name = trace_string(r->s->trace, order[k]->name, &len);
		out_csv(r->o, name, len);
		out_char(r->o, '\n');
	}
}

static void out_table(const struct report *r, const struct report_node *const *order)
{
	size_t len;
	const char *name;

	report_head(r, columns, "Function", r->s->own->srcline ? " [Source]" : "");
	for (size_t k = 0; k < r->n; k++) {
		for (size_t i = 0; i < r->fields.count; i++) {
			out_str(r->o, "  ");
			out_cell(r->o, order[k], r->fields.ids[i]);
		}
		name = trace_string(r->s->trace, order[k]->name, &len);
		out_str(r->o, "  ");
		style_string(r->o, name, len, r->mode);
		out_place(r, order[k]);
		out_char(r->o, '\n');
	}
}

/* --- all --- */

static bool is_sum(unsigned column)
{
	return column == REPORT_TOTAL || column == REPORT_SELF || column == REPORT_CALL ||
	       column == KEY_NAME;
}

/* Returns true if no other columns are shown or sorted by than those of sums. */
static bool shows_sums_only(const struct report *r)
{
	for (size_t i = 0; i < r->fields.count; i++)
		if (!is_sum(r->fields.ids[i]))
			return false;
	for (size_t i = 0; i < r->nkeys; i++)
		if (!is_sum(r->keys[i]))
			return false;
	return true;
}

static bool choose(struct report *r, struct pass_env *env, uint8_t *keys)
{
	const struct render_options *opt = env->opt;
	const struct uftrace_options *own = uftrace_options(env);
	const char *average = opt->fields      ? NULL
			      : own->avg_total ? "total"
			      : own->avg_self  ? "self"
					       : NULL;
	const char *sort = opt->sort ? opt->sort : average ? "avg" : "total";
	const uint8_t *defaults = !average	   ? plain_columns
				  : own->avg_total ? total_columns
						   : self_columns;
	size_t n = average ? sizeof(total_columns) : sizeof(plain_columns);

	r->keys = keys;
	return style_fields_parse(&r->fields, columns, REPORT_COLUMNS, opt->fields, defaults, n,
				  env->err) &&
	       report_keys(keys, &r->nkeys, sort, average, false, env->err);
}

bool report_collect(struct report *r, struct pass_env *env)
{
	struct report_collector c = {
		.r = r,
		.walk = { .s = r->s,
			  .record = take,
			  .end = read_end,
			  .self = &c,
			  .filter = env->filter,
			  .ends_only = true },
		.schedule = trace_intern(env->trace, "linux:schedule"),
		.preempted = trace_intern(env->trace, "linux:schedule (pre-empted)"),
	};
	bool done = false;
	bool good = c.schedule && c.preempted && report_by_task(&c, env, &done);

	if (good && !done)
		good = pipe_run_marked(env->trace, &env->pipe, style_walk_rows, &c.walk) !=
		       SPUR_FAIL;
	good = good && !c.walk.failed && style_walk_end(&c.walk);
	mem_table_free(c.nodes, c.nodes_cap, sizeof(*c.nodes));
	if (good && !r->sums_only)
		finish(r);
	return good;
}

enum spur_status report_functions(struct pass_env *env, struct style *s)
{
	struct report r = { .s = s, .o = env->out, .mode = env->opt->width ? ARGS_SAFE : 0 };
	const struct report_node **order = NULL;
	uint8_t keys[REPORT_KEYS];
	enum spur_status st;

	if (!choose(&r, env, keys))
		return SPUR_FAIL;
	r.sums_only = shows_sums_only(&r);
	if (report_collect(&r, env))
		order = report_sort(&r);
	if (order && env->opt->form == FORM_CSV)
		out_csv_table(&r, order);
	else if (order)
		out_table(&r, order);
	st = !order ? err_nomem(env->err) : r.n ? SPUR_OK : SPUR_WARN;
	mem_free(order);
	report_close(&r);
	return st;
}
