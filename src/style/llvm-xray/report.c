/*
 * Report as `llvm-xray account` prints it, text or CSV: per function the number, spread and sum of
 * its calls' durations in seconds. Reads all call rows; of rows in ticks the seconds come out to
 * the last digit as llvm-xray's. As with its options -d and -k: an exit ends the calls inside it
 * too, and nothing ends the reading. Unlike it threads have stacks of their own and rows come by
 * time, whatever the order of the file.
 */
#include <stdlib.h>

#include "pass/fold/calls.h"
#include "pass/report.h"
#include "render/cell.h"
#include "style/llvm-xray/name/name.h"
#include "style/llvm-xray/options.h"

enum column {
	COL_ID,
	COL_COUNT,
	COL_MIN,
	COL_MED,
	COL_P90,
	COL_P99,
	COL_MAX,
	COL_SUM,
	COL_FUNC,
	COLUMNS
};

static const char *const column_names[] = { "funcid", "count", "min", "med",  "90p",
					    "99p",    "max",   "sum", "func", NULL };

enum { NUMBERS = COL_FUNC - COL_MIN };

/* A function. */
struct line {
	uint64_t id, count;
	uint64_t ticks[NUMBERS]; /* COL_MIN .. COL_SUM */
	const struct event_class *cls;
	char *name; /* as shown */
	size_t name_len;
};

struct account {
	struct pass_env *env;
	struct arena names;
	struct out scratch;
	double hz; /* ticks a second; 1: not known, ticks are shown */
	int sort[COLUMNS];
	size_t nsort;
	struct line *lines;
	size_t n, cap;
};

static enum spur_status account_options(struct account *a)
{
	const struct render_options *opt = a->env->opt;
	const struct report_options *own = report_options(a->env);
	const struct clock_info *clock = &a->env->trace->clock;
	struct spur_error *err = a->env->err;

	if ((own->by && strcmp(own->by, "function") != 0) || own->task)
		return err_set(err, SPUR_ERR_USAGE,
			       "--style=llvm-xray: expected a report by function, found one by %s",
			       own->task ? "task" : own->by);
	if (opt->form != FORM_TEXT && opt->form != FORM_CSV)
		return err_set(err, SPUR_ERR_USAGE,
			       "--style=llvm-xray: expected text or --csv, found JSON");
	if (opt->fields)
		return err_set(err, SPUR_ERR_USAGE,
			       "--style=llvm-xray: its columns are fixed, found --fields");
	a->hz = !clock->hz ? 1 : clock->ticks ? (double)clock->hz : 1e9;
	return cell_list(opt->sort ? opt->sort : "funcid", column_names, "--sort", a->sort, COLUMNS,
			 &a->nsort, err);
}

/* --- lines */

static bool line_name(struct account *a, struct line *l)
{
	struct out *o = &a->scratch;

	out_clear(o);
	llvm_xray_name(o, a->env, l->cls, l->id);
	l->name = arena_strdup(&a->names, o->buf ? o->buf : "", o->len);
	l->name_len = o->len;
	return l->name && !o->error;
}

/*
 * SPEC xray/account-ranks: of n durations in order those at n/2, floor(n * 0.9) and floor(n *
 * 0.99), from 0, with n as a floating-point number
 */
static void line_ranks(struct line *l, struct spread *s)
{
	const double n = (double)l->count;

	l->ticks[COL_MED - COL_MIN] = spread_at(s, l->count / 2);
	l->ticks[COL_P90 - COL_MIN] = spread_at(s, (uint64_t)(n * 0.9));
	l->ticks[COL_P99 - COL_MIN] = spread_at(s, (uint64_t)(n * 0.99));
}

/* One class of all workers. */
struct sums {
	struct spread spread;
	uint64_t least, most, id; /* least, id: ~ */
};

/*
 * SPEC xray/account-calls: every call that ends counts in full, inside a call of the same function
 * too; what the end of the data leaves open does not
 */
static bool sums_take(struct sums *to, struct calls *w, uint32_t cls)
{
	const struct call_stat *s = cls < w->nstats ? &w->stats[cls] : NULL;

	if (cls < w->nids && w->ids[cls] > to->id)
		to->id = w->ids[cls];
	if (!s || !s->spread)
		return true;
	to->least = s->least > to->least ? s->least : to->least;
	to->most = s->most > to->most ? s->most : to->most;
	if (to->spread.count)
		return spread_join(&to->spread, &w->spreads[s->spread - 1]);
	to->spread = w->spreads[s->spread - 1];
	w->spreads[s->spread - 1] = (struct spread){ 0 };
	return true;
}

static bool line_add(struct account *a, struct sums *s, uint32_t cls)
{
	struct line *l;

	if (!mem_grow((void **)&a->lines, &a->cap, a->n + 1, sizeof(*a->lines), SIZE_MAX / 2))
		return false;
	l = &a->lines[a->n++];
	l->id = ~s->id;
	l->count = s->spread.count;
	l->cls = trace_class(a->env->trace, cls);
	l->ticks[0] = ~s->least;
	l->ticks[COL_MAX - COL_MIN] = s->most;
	l->ticks[COL_SUM - COL_MIN] = s->spread.sum;
	line_ranks(l, &s->spread);
	return line_name(a, l);
}

static bool account_class(struct account *a, struct calls *workers, unsigned n, uint32_t cls)
{
	struct sums s = { 0 };
	bool ok = true;

	for (unsigned i = 0; i < n && ok; i++)
		ok = sums_take(&s, &workers[i], cls);
	if (ok && s.spread.count)
		ok = line_add(a, &s, cls);
	spread_free(&s.spread);
	return ok;
}

static enum spur_status account_join(struct account *a, struct calls *workers, unsigned n,
				     uint64_t *rows)
{
	size_t classes = 0;

	for (unsigned i = 0; i < n; i++) {
		*rows += workers[i].rows;
		classes = workers[i].nstats > classes ? workers[i].nstats : classes;
	}
	for (uint32_t cls = CALLS_OFF_CPU + 1; cls < classes; cls++)
		if (!account_class(a, workers, n, cls))
			return err_nomem(a->env->err);
	return SPUR_OK;
}

/*
 * --- order: all rise, -NAME falls; ties by function id, then by all that is shown. Class ids
 * depend on which thread came first, so lines that compare as equal must look the same.
 */

static int u64_order(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

static int line_order_by(const struct line *x, const struct line *y, int column)
{
	if (column == COL_ID)
		return u64_order(x->id, y->id);
	if (column == COL_COUNT)
		return u64_order(x->count, y->count);
	if (column == COL_FUNC)
		return strcmp(x->name, y->name);
	return u64_order(x->ticks[column - COL_MIN], y->ticks[column - COL_MIN]);
}

/* Where a function is defined; no file: not known. */
struct place {
	const char *file;
	uint32_t line, column;
};

static struct place line_place(const struct account *a, const struct line *l)
{
	const struct class_more *more = l->cls->more;
	const struct line_row *row = more && more->row.file ? &more->row : NULL;

	return (struct place){
		.file = trace_string(a->env->trace, row ? row->file : l->cls->file, NULL),
		.line = row ? row->line : l->cls->line,
		.column = row ? row->column : 0,
	};
}

static int place_order(struct place x, struct place y)
{
	int c = strcmp(x.file, y.file);

	if (!c)
		c = u64_order(x.line, y.line);
	return c ? c : u64_order(x.column, y.column);
}

static int line_order(const void *x, const void *y, void *account)
{
	const struct account *a = account;
	int c = 0;

	for (size_t i = 0; i < a->nsort && !c; i++)
		c = a->sort[i] < 0 ? line_order_by(y, x, ~a->sort[i])
				   : line_order_by(x, y, a->sort[i]);
	if (!c)
		c = line_order_by(x, y, COL_ID);
	for (int column = COL_FUNC; !c && column > COL_ID; column--)
		c = line_order_by(x, y, column);
	return c ? c : place_order(line_place(a, x), line_place(a, y));
}

/* --- text */

/*
 * SPEC xray/account-seconds: ticks over frequency, both as floating-point numbers; ticks where that
 * is 0
 */
static double line_seconds(const struct account *a, const struct line *l, int column)
{
	return (double)l->ticks[column - COL_MIN] / a->hz;
}

/* SPEC xray/account-line: FILE:LINE:COLUMN, without directories */
static void out_place(const struct account *a, const struct line *l, struct out *o)
{
	const struct place at = line_place(a, l);

	if (llvm_xray_naming(l->cls) == NAME_NUMBER) {
		out_str(o, "(unknown)");
	} else if (!*at.file) {
		out_str(o, "<invalid>:0:0");
	} else {
		out_str(o, cell_basename(at.file));
		out_printf(o, ":%u:%u", at.line, at.column);
	}
}

/* SPEC xray/account-text */
static void line_text(struct account *a, const struct line *l)
{
	struct out *o = a->env->out;

	out_printf(o, "%9llu %10llu [", (unsigned long long)l->id, (unsigned long long)l->count);
	for (int c = COL_MIN; c <= COL_MAX; c++)
		out_printf(o, "%s%9.6f", c > COL_MIN ? ", " : "", line_seconds(a, l, c));
	out_printf(o, "] %9.6f  ", line_seconds(a, l, COL_SUM));
	out_clear(&a->scratch);
	out_place(a, l, &a->scratch);
	out_safe(o, a->scratch.buf, a->scratch.len);
	out_str(o, ": ");
	out_safe(o, l->name, l->name_len);
	out_char(o, '\n');
}

/* In quotes always. */
static void out_quoted(struct out *o, const char *s, size_t len)
{
	out_char(o, '"');
	for (size_t i = 0; i < len; i++)
		out_bytes(o, s[i] == '"' ? "\"\"" : &s[i], s[i] == '"' ? 2 : 1);
	out_char(o, '"');
}

/* SPEC xray/account-csv */
static void line_csv(struct account *a, const struct line *l)
{
	struct out *o = a->env->out;

	out_printf(o, "%llu,%llu,", (unsigned long long)l->id, (unsigned long long)l->count);
	for (int c = COL_MIN; c <= COL_SUM; c++)
		out_printf(o, "%.6e,", line_seconds(a, l, c));
	out_clear(&a->scratch);
	out_place(a, l, &a->scratch);
	out_quoted(o, a->scratch.buf, a->scratch.len);
	out_char(o, ',');
	out_quoted(o, l->name, l->name_len);
	out_char(o, '\n');
}

static void account_show(struct account *a)
{
	const struct render_options *opt = a->env->opt;
	const size_t n = opt->limit && opt->limit < a->n ? (size_t)opt->limit : a->n;
	struct out *o = a->env->out;

	if (a->n)
		qsort_r(a->lines, a->n, sizeof(*a->lines), line_order, a);
	if (opt->form == FORM_CSV)
		out_str(o, "funcid,count,min,median,90%ile,99%ile,max,sum,debug,function\n");
	else
		out_printf(o,
			   "Functions with latencies: %zu\n%9s %10s [%9s, %9s, %9s, %9s, %9s] %9s  "
			   "%-12s\n",
			   a->n, "funcid", "count", "min", "med", "90p", "99p", "max", "sum",
			   "function");
	for (size_t i = 0; i < n; i++)
		(opt->form == FORM_CSV ? line_csv : line_text)(a, &a->lines[i]);
	if (a->scratch.error)
		o->error = a->scratch.error;
}

static enum spur_status account_run(struct pass_env *env)
{
	const unsigned want = CALLS_SPREAD | CALLS_EXACT | CALLS_IDS | CALLS_ENDED;
	struct account a = { .env = env };
	struct calls *workers = NULL;
	uint64_t rows = 0;
	unsigned n = 0;
	enum spur_status st;

	arena_init(&a.names);
	out_to_memory(&a.scratch);
	st = account_options(&a);
	if (st == SPUR_OK)
		st = calls_run(env, CALLS_BY_FUNCTION, want, &workers, &n);
	if (st == SPUR_OK)
		st = account_join(&a, workers, n, &rows);
	calls_free(workers, n);
	if (st == SPUR_OK)
		account_show(&a);
	mem_free(a.lines);
	arena_free(&a.names);
	out_free(&a.scratch);
	return st == SPUR_OK && !rows ? SPUR_WARN : st;
}

const struct spur_pass spur_pass_llvm_xray_report = {
	.name = "report.llvm-xray",
	.analysis = true,
	.source_lines = true,
	.unit = UNIT_TICKS,
	.options_size = sizeof(struct report_options),
	.style_options_size = sizeof(struct llvm_xray_options),
	.run = account_run,
};
