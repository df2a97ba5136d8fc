/*
 * diff as `uftrace report --diff` prints it: functions by name, the change of each column. Not its
 * colors. Unlike uftrace it applies the filter to both traces.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "pass/diff.h"
#include "style/uftrace/diff/order.h"
#include "style/uftrace/report/report.h"

enum { DIFF_COLUMNS = REPORT_SELF_STDV + 1, NAME_LINE = 20 };
enum { CHANGE_WIDTH = 11, FULL_WIDTH = 32, FULL_TIME_WIDTH = 35, COUNT_WIDTH = 9 };

/* Widths depend on the policy: see width_of(). */
static const struct style_field columns[DIFF_COLUMNS] = {
	[REPORT_TOTAL] = { .name = "total", .header = "Total time" },
	[REPORT_TOTAL_AVG] = { .name = "total-avg", .header = "Total avg" },
	[REPORT_TOTAL_MIN] = { .name = "total-min", .header = "Total min" },
	[REPORT_TOTAL_MAX] = { .name = "total-max", .header = "Total max" },
	[REPORT_SELF] = { .name = "self", .header = "Self time" },
	[REPORT_SELF_AVG] = { .name = "self-avg", .header = "Self avg" },
	[REPORT_SELF_MIN] = { .name = "self-min", .header = "Self min" },
	[REPORT_SELF_MAX] = { .name = "self-max", .header = "Self max" },
	[REPORT_CALL] = { .name = "call", .header = "Calls" },
	[REPORT_SIZE] = { .name = "size", .header = "Size" },
	[REPORT_TOTAL_STDV] = { .name = "total-stdv", .header = "Total stdv" },
	[REPORT_SELF_STDV] = { .name = "self-stdv", .header = "Self stdv" },
};

static const uint8_t plain_columns[] = { REPORT_TOTAL, REPORT_SELF, REPORT_CALL };
static const uint8_t total_columns[] = { REPORT_TOTAL_AVG, REPORT_TOTAL_MIN, REPORT_TOTAL_MAX,
					 REPORT_TOTAL_STDV };
static const uint8_t self_columns[] = { REPORT_SELF_AVG, REPORT_SELF_MIN, REPORT_SELF_MAX,
					REPORT_SELF_STDV };

/* What is shown of a function in one trace. */
struct values {
	uint64_t of[REPORT_SIZE + 1]; /* by enum report_column: ns, calls, bytes */
	double stdv[2];
};

struct line {
	const char *name; /* in the arena, as is `place` */
	size_t len;
	const char *place; /* " [file:line]" or "" */
	struct values values;
};

struct side {
	struct line *lines; /* by name */
	size_t n, cap;
	const char *cmdline;
};

/* Of a function that the trace lacks. */
static const struct values nowhere;

/* A function of either trace, and its values in both. */
struct couple {
	const struct line *line; /* of the base if it has it */
	const struct values *of[2];
};

/* What is kept between the traces. */
struct diff {
	struct arena arena;
	struct side sides[2];
	struct style_fields fields;
	uint8_t keys[REPORT_KEYS];
	size_t nkeys;
	bool absolute, percent, full, by_base;
	/* While it is shown: */
	struct couple *pairs;
	uint32_t n;
	struct out *o;
	unsigned mode;
};

/* --- options */

static bool begins(struct text word, const char *with)
{
	return text_starts(word, with);
}

/* SPEC uftrace/diff-policy: beginnings of words; "no-" does not turn "full" off */
static void read_policy(struct diff *d, const char *policy)
{
	struct text rest = text_of(policy ? policy : ""), word;

	d->absolute = true;
	while (text_split(&rest, ',', &word)) {
		const bool on = !text_skip(&word, "no-");

		if (begins(word, "abs"))
			d->absolute = on;
		else if (begins(word, "percent"))
			d->percent = on;
		else if (begins(word, "full"))
			d->full = true;
		else if (begins(word, "compact"))
			d->full = false;
	}
}

static bool read_options(struct diff *d, const struct pass_env *env)
{
	const struct render_options *opt = env->opt;
	const struct uftrace_options *own = uftrace_options(env);
	const char *average = opt->fields      ? NULL
			      : own->avg_total ? "total"
			      : own->avg_self  ? "self"
					       : NULL;
	const uint8_t *defaults = !average	   ? plain_columns
				  : own->avg_total ? total_columns
						   : self_columns;
	const size_t n = average ? sizeof(total_columns) : sizeof(plain_columns);
	const char *column = own->sort_column;

	read_policy(d, own->diff_policy);
	d->by_base = column && strcmp(column, "2") != 0;
	if (opt->form != FORM_TEXT) {
		err_set(env->err, SPUR_ERR_USAGE, "--style=uftrace: expected text, found %s",
			opt->form == FORM_CSV ? "--csv" : "JSON");
		return false;
	}
	return style_fields_parse(&d->fields, columns, DIFF_COLUMNS, opt->fields, defaults, n,
				  env->err) &&
	       report_keys(d->keys, &d->nkeys,
			   opt->sort ? opt->sort
			   : average ? "avg"
				     : "total",
			   average, false, env->err);
}

/* --- reading */

static struct values values_of(const struct report_node *n)
{
	return (struct values){ .of = { [REPORT_TOTAL] = n->total.sum,
					[REPORT_TOTAL_AVG] = n->total.avg,
					[REPORT_TOTAL_MIN] = n->total.min,
					[REPORT_TOTAL_MAX] = n->total.max,
					[REPORT_SELF] = n->self.sum,
					[REPORT_SELF_AVG] = n->self.avg,
					[REPORT_SELF_MIN] = n->self.min,
					[REPORT_SELF_MAX] = n->self.max,
					[REPORT_CALL] = n->calls,
					[REPORT_SIZE] = n->size },
				.stdv = { n->total.stdv, n->self.stdv } };
}

static const char *place_of(struct arena *a, const struct report *r, const struct report_node *n)
{
	const struct spur_trace *t = r->s->trace;
	const struct event_class *c = n->cls && r->s->own->srcline ? trace_class(t, n->cls) : NULL;

	if (!c || !c->file || (c->flags & (CLASS_LIBRARY | CLASS_KERNEL)))
		return "";
	return arena_printf(a, " [%s:%u]", trace_string(t, c->file, NULL), c->line);
}

static int line_order(const void *x, const void *y)
{
	return strcmp(((const struct line *)x)->name, ((const struct line *)y)->name);
}

/* Copies what is shown, as the trace will be closed. Returns false if out of memory. */
static bool side_copy(struct diff *d, struct side *side, const struct report *r)
{
	const struct uftrace_data *data = r->s->data;
	const struct text cmdline = data ? data->info.cmdline : text_of("");

	side->cmdline = arena_strdup(&d->arena, cmdline.p ? cmdline.p : "", cmdline.len);
	side->lines = mem_array(r->n, sizeof(*side->lines));
	if (!side->cmdline || !side->lines)
		return false;
	for (size_t i = 0; i < r->n; i++) {
		struct line *l = &side->lines[side->n++];
		const char *name = trace_string(r->s->trace, r->nodes[i].name, &l->len);

		l->name = arena_strdup(&d->arena, name, l->len);
		l->place = place_of(&d->arena, r, &r->nodes[i]);
		l->values = values_of(&r->nodes[i]);
		if (!l->name || !l->place)
			return false;
	}
	qsort(side->lines, side->n, sizeof(*side->lines), line_order);
	return true;
}

static enum spur_status diff_read(struct diff *d, struct pass_env *env)
{
	struct uftrace_options own = *uftrace_options(env);
	struct report r = { 0 };
	struct style s;
	bool good = style_open(&s, env);

	/* SPEC uftrace/diff-events: the second trace is read as with --event-full, --kernel-full */
	own.event_full |= env->input > 0;
	own.kernel_full |= env->input > 0;
	s.own = &own;
	r.s = &s;
	good = good && report_collect(&r, env) && side_copy(d, &d->sides[env->input], &r);
	report_close(&r);
	style_close(&s);
	return !good ? err_nomem(env->err) : d->sides[env->input].n ? SPUR_OK : SPUR_WARN;
}

static enum spur_status diff_run(struct pass_env *env)
{
	struct diff *d = env->kept;

	if (uftrace_options(env)->avg_total && uftrace_options(env)->avg_self)
		return err_set(env->err, SPUR_ERR_USAGE,
			       "--avg-total and --avg-self exclude each other");
	if (!d) {
		d = env->kept = mem_alloc(sizeof(*d));
		if (!d)
			return err_nomem(env->err);
		arena_init(&d->arena);
		if (!read_options(d, env))
			return SPUR_FAIL;
	}
	return diff_read(d, env);
}

/* --- order */

static double double_of(const struct values *v, unsigned key)
{
	assert(key < DIFF_COLUMNS);
	return key == REPORT_TOTAL_STDV	 ? v->stdv[0]
	       : key == REPORT_SELF_STDV ? v->stdv[1]
					 : (double)v->of[key];
}

static int64_t change_of(const struct couple *p, unsigned key)
{
	if (key > REPORT_SIZE)
		return (int64_t)(double_of(p->of[1], key) - double_of(p->of[0], key));
	/* SPEC uftrace/diff-size: of 32 bits, so that what became smaller changed by nearly 2^32 */
	if (key == REPORT_SIZE)
		return (uint32_t)(p->of[1]->of[key] - p->of[0]->of[key]);
	return (int64_t)(p->of[1]->of[key] - p->of[0]->of[key]);
}

static int compare_double(double a, double b)
{
	return a == b ? 0 : a > b ? 1 : -1;
}

/* SPEC uftrace/diff-order: different changes of equal magnitude are in no order */
static int compare_change(const struct diff *d, int64_t a, int64_t b)
{
	if (a == b)
		return 0;
	if (d->absolute) {
		a = a > 0 ? a : -a;
		b = b > 0 ? b : -b;
	}
	return a > b ? 1 : -1;
}

static double percent_of(const struct couple *p, unsigned key)
{
	const double base = double_of(p->of[0], key);

	return base != 0 ? 100.0 * (double)change_of(p, key) / base : 0;
}

static int compare_percent(const struct diff *d, double a, double b)
{
	if (a == b)
		return 0;
	if (d->absolute) {
		a = a > 0 ? a : -a;
		b = b > 0 ? b : -b;
	}
	return a > b ? 1 : -1;
}

static int compare_pairs(const void *self, uint32_t old, uint32_t new)
{
	const struct diff *d = self;
	const struct couple *a = &d->pairs[old], *b = &d->pairs[new];
	int c = 0;

	for (size_t i = 0; i < d->nkeys && !c; i++) {
		const unsigned key = d->keys[i];

		if (key == KEY_NAME)
			c = strcmp(b->line->name, a->line->name);
		else if (d->by_base)
			c = compare_double(double_of(a->of[0], key), double_of(b->of[0], key));
		else if (d->percent)
			c = compare_percent(d, percent_of(a, key), percent_of(b, key));
		else
			c = compare_change(d, change_of(a, key), change_of(b, key));
	}
	return c;
}

/* --- text */

/* Right-aligned in 11 columns. SPEC uftrace/diff-sign: of a longer time it is "-" */
static void out_time_change(struct out *o, uint64_t base, uint64_t pair)
{
	char text[24], *end, *p = text;

	if (base == pair) {
		out_printf(o, "%11s", "0 us");
		return;
	}
	end = put_time_unit(text, pair - base);
	while (*p == ' ')
		p++;
	out_pad(o, ' ', (size_t)(p - text));
	out_char(o, (int64_t)(pair - base) > 0 ? '-' : '+');
	out_bytes(o, p, (size_t)(end - p));
}

static double limited(double v)
{
	return v > 999.99 ? 999.99 : v < -999.99 ? -999.99 : v;
}

static void out_percent(struct out *o, uint64_t base, uint64_t pair)
{
	if (!base || !pair)
		out_printf(o, "%7s ", "N/A");
	else
		out_printf(o, "%+7.2f%%",
			   limited(100.0 * (double)(int64_t)(pair - base) / (double)base));
}

static void out_count_change(struct out *o, uint64_t base, uint64_t pair)
{
	if (base == pair)
		out_printf(o, "%9s", "+0");
	else
		out_printf(o, "%+9lld", (long long)(pair - base));
}

static void out_time_or_dash(struct out *o, uint64_t ns)
{
	if (ns)
		out_time_unit(o, ns);
	else
		out_printf(o, "%10s", "-");
}

static void out_time_cell(const struct diff *d, uint64_t base, uint64_t pair)
{
	struct out *o = d->o;

	if (d->full) {
		out_time_or_dash(o, base);
		out_str(o, "  ");
		out_time_or_dash(o, pair);
		out_str(o, "  ");
	} else if (d->percent) {
		out_str(o, "   ");
	}
	if (d->percent)
		out_percent(o, base, pair);
	else
		out_time_change(o, base, pair);
}

static void out_cell(const struct diff *d, const struct couple *p, unsigned c)
{
	const double a = double_of(p->of[0], c), b = double_of(p->of[1], c);
	struct out *o = d->o;

	if (c > REPORT_SIZE) {
		if (d->full)
			out_printf(o, "%9.2f%% %9.2f%%", a, b);
		out_printf(o, " %+7.2f%%pt", limited(b - a));
	} else if (c == REPORT_CALL || c == REPORT_SIZE) {
		if (d->full)
			out_printf(o, " %9llu  %9llu", (unsigned long long)p->of[0]->of[c],
				   (unsigned long long)p->of[1]->of[c]);
		out_str(o, "  ");
		out_count_change(o, p->of[0]->of[c], p->of[1]->of[c]);
	} else {
		out_time_cell(d, p->of[0]->of[c], p->of[1]->of[c]);
	}
}

static int width_of(const struct diff *d, unsigned c)
{
	const bool time = c < REPORT_CALL;

	return !d->full ? CHANGE_WIDTH : time && !d->percent ? FULL_TIME_WIDTH : FULL_WIDTH;
}

static void out_heading(const struct diff *d, bool srcline)
{
	const struct style_fields *f = &d->fields;
	struct out *o = d->o;

	if (!f->count)
		return;
	for (size_t i = 0; i < f->count; i++) {
		const unsigned c = f->ids[i];
		char text[40];

		/* SPEC uftrace/diff-heading: the longest self time is headed as the shortest */
		snprintf(text, sizeof(text), d->full ? "%s (diff)" : "%s",
			 columns[d->full && c == REPORT_SELF_MAX ? REPORT_SELF_MIN : c].header);
		out_printf(o, "   %*s", width_of(d, c), text);
	}
	out_printf(o, "   Function%s\n", srcline ? " [Source]" : "");
	for (size_t i = 0; i < f->count; i++) {
		out_str(o, "   ");
		out_pad(o, '=', (size_t)width_of(d, f->ids[i]));
	}
	out_str(o, "   ");
	out_pad(o, '=', NAME_LINE);
	out_char(o, '\n');
}

static void out_pair(const struct diff *d, const struct couple *p)
{
	for (size_t i = 0; i < d->fields.count; i++) {
		out_str(d->o, "   ");
		out_cell(d, p, d->fields.ids[i]);
	}
	out_str(d->o, "   ");
	style_string(d->o, p->line->name, p->line->len, d->mode);
	if (p->of[0] != &nowhere)
		out_str(d->o, p->line->place);
	out_char(d->o, '\n');
}

/* --- both */

/* Functions of the base by name, then those of the other alone. Returns false if out of memory. */
static bool pair_lines(struct diff *d)
{
	const struct side *a = &d->sides[0], *b = &d->sides[1];
	bool *taken = mem_array(b->n, sizeof(*taken));

	d->pairs = mem_array(a->n + b->n, sizeof(*d->pairs));
	for (size_t i = 0, k = 0; i < a->n && taken && d->pairs; i++) {
		struct couple *p = &d->pairs[d->n++];
		int c = 1;

		while (k < b->n && (c = strcmp(b->lines[k].name, a->lines[i].name)) < 0)
			k++;
		*p = (struct couple){ &a->lines[i], { &a->lines[i].values, &nowhere } };
		if (k < b->n && c == 0) {
			taken[k] = true;
			p->of[1] = &b->lines[k].values;
		}
	}
	for (size_t k = 0; k < b->n && taken && d->pairs; k++)
		if (!taken[k])
			d->pairs[d->n++] =
				(struct couple){ &b->lines[k], { &nowhere, &b->lines[k].values } };
	mem_free(taken);
	return taken && d->pairs;
}

static enum spur_status diff_show(struct pass_env *env)
{
	struct diff *d = env->kept;
	uint32_t *order = NULL;
	bool good = pair_lines(d);

	d->o = env->out;
	d->mode = env->opt->width ? ARGS_SAFE : 0;
	if (good) {
		order = mem_array(d->n, sizeof(*order));
		good = order && order_by_tree(order, d->n, compare_pairs, d);
	}
	if (good) {
		out_str(d->o, "#\n# uftrace diff\n");
		for (int i = 0; i < 2; i++) {
			out_printf(d->o, "#  [%d] %s: ", i, i ? "diff" : "base");
			out_str(d->o, env->paths[i]);
			out_str(d->o, "\t(from ");
			out_str(d->o, d->sides[i].cmdline);
			out_str(d->o, ")\n");
		}
		out_str(d->o, "#\n");
		out_heading(d, uftrace_options(env)->srcline);
		for (uint32_t i = 0; i < d->n; i++)
			out_pair(d, &d->pairs[order[i]]);
	}
	mem_free(order);
	return good ? SPUR_OK : err_nomem(env->err);
}

static void diff_drop(void *kept)
{
	struct diff *d = kept;

	if (!d)
		return;
	mem_free(d->sides[0].lines);
	mem_free(d->sides[1].lines);
	mem_free(d->pairs);
	arena_free(&d->arena);
	mem_free(d);
}

static void diff_prepare(const struct pass_env *env, struct spur_options *open)
{
	open->source_lines |= uftrace_options(env)->srcline;
}

const struct spur_pass spur_pass_uftrace_diff = {
	.name = "diff.uftrace",
	.analysis = true,
	.options_size = sizeof(struct diff_options),
	.style_options_size = sizeof(struct uftrace_options),
	.bare_times = true,
	.simple_names = true,
	.focus_hides_sched = true,
	.prepare = diff_prepare,
	.run = diff_run,
	.show = diff_show,
	.drop = diff_drop,
};
