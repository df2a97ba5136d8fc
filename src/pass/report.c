/*
 * report: where the time went, one line per function, thread or session. Reads all call rows
 * (BEGIN, END, SPAN) and SWITCH as time off the CPU; looks at no arguments and no other events.
 *
 * total  ns from begin to end; of recursive calls only the outermost counts
 * self   the same less the calls made inside
 * avg min max p50 p90 p99 stdev   of single calls, recursive ones too; percentiles as spread.h says.
 *      Calls that are open when the data ends count here only for what has no other call: how
 *      long they last is unknown.
 *
 * Sampled stacks (SAMPLE rows) add to total, self, calls and avg.
 */
#include <stdlib.h>

#include "base/text.h"
#include "pass/fold/calls.h"
#include "pass/fold/group.h"
#include "pass/pass.h"
#include "pass/report.h"
#include "render/cell.h"

enum column {
	COL_TOTAL,
	COL_SELF,
	COL_CALLS,
	COL_AVG,
	COL_MIN,
	COL_MAX,
	COL_P50,
	COL_P90,
	COL_P99,
	COL_STDEV,
	COL_SHARE,
	COL_UNFINISHED,
	COL_MODULE,
	COL_CATEGORY,
	COL_SIZE,
	COL_LOCATION,
	COL_TID,
	COL_PID,
	COL_FUNCTION,
	COL_TASK,
	COL_SESSION,
	COLUMNS
};

enum column_kind { KIND_TIME, KIND_COUNT, KIND_SHARE, KIND_ID, KIND_TEXT };

static const char *const column_names[] = { "total", "self",	   "calls",    "avg",  "min",
					    "max",   "p50",	   "p90",      "p99",  "stdev",
					    "share", "unfinished", "module",   "category", "size",
					    "location", "tid", "pid", "function", "task",
					    "session", NULL };

static const uint8_t column_kinds[COLUMNS] = {
	[COL_CALLS] = KIND_COUNT, [COL_SHARE] = KIND_SHARE, [COL_UNFINISHED] = KIND_COUNT,
	[COL_MODULE] = KIND_TEXT, [COL_CATEGORY] = KIND_TEXT, [COL_SIZE] = KIND_COUNT,  [COL_LOCATION] = KIND_TEXT,
	[COL_TID] = KIND_ID,	  [COL_PID] = KIND_ID,	    [COL_FUNCTION] = KIND_TEXT,
	[COL_TASK] = KIND_TEXT,	  [COL_SESSION] = KIND_TEXT
};

/* What is shown where --fields does not say; by `by`, and of functions where categories tell them apart. */
static const char *const text_columns[] = { "total,self,calls,avg,max,function",
					    "total,self,calls,tid,task",
					    "total,self,calls,pid,session",
					    "total,self,calls,avg,max,category,function" };
static const char *const data_columns[] = {
	"function,module,calls,total,self,avg,min,max,unfinished",
	"task,tid,pid,calls,total,self,avg,min,max,unfinished",
	"session,pid,calls,total,self,avg,min,max,unfinished",
	"function,module,category,calls,total,self,avg,min,max,unfinished"
};
enum { BY_FUNCTION_AND_CATEGORY = CALLS_BY_SESSION + 1 };

struct entry {
	struct call_stat stat;
	struct spread *spread; /* owned; NULL: none */
	/* Of the calls that are open when the data ends; none where no other call is known (entry_settle()). */
	struct call_open open;
	struct spread *open_spread;
	struct group group; /* task, session: only name and name_len are set */
	int64_t tid, pid;
};

struct report {
	struct pass_env *env;
	enum calls_by by;
	int columns[COLUMNS], sort[COLUMNS]; /* sort: ~column where reversed */
	size_t ncolumns, nsort;
	bool has_module, has_category; /* a column shows it */
	bool categories; /* a function has one */
	struct groups groups;
	struct entry *entries;
	size_t n, cap;
	uint64_t self, unfinished; /* sums of all */
};

static enum column_kind column_kind(int column)
{
	return column_kinds[column];
}

static bool column_spreads(int column)
{
	return column >= COL_P50 && column <= COL_STDEV;
}

/* The column is about single calls. */
static bool column_is_single(int column)
{
	return column == COL_MIN || column == COL_MAX || column_spreads(column);
}

static enum spur_status read_options(struct report *r)
{
	const struct render_options *opt = r->env->opt;
	const struct report_options *own = report_options(r->env);
	const char *by = own->by ? own->by : "function";
	const char *fields;
	enum spur_status st;

	if (strcmp(by, "function") == 0)
		r->by = own->task ? CALLS_BY_TASK : CALLS_BY_FUNCTION;
	else if (strcmp(by, "task") == 0)
		r->by = CALLS_BY_TASK;
	else if (strcmp(by, "session") == 0)
		r->by = CALLS_BY_SESSION;
	else
		return err_set(r->env->err, SPUR_ERR_USAGE,
			       "--by: expected function, task or session, found \"%s\"", by);
	fields = (opt->form == FORM_TEXT ? text_columns :
					   data_columns)[r->categories ? BY_FUNCTION_AND_CATEGORY : r->by];
	st = cell_list(opt->fields ? opt->fields : fields, column_names, "--fields", r->columns,
		       COLUMNS, &r->ncolumns, r->env->err);
	if (st == SPUR_OK)
		st = cell_list(opt->sort ? opt->sort : "total", column_names, "--sort", r->sort,
			       COLUMNS, &r->nsort, r->env->err);
	for (size_t i = 0; i < r->ncolumns; i++) {
		if (r->columns[i] < 0)
			r->columns[i] = ~r->columns[i];
		r->has_module |= r->columns[i] == COL_MODULE;
		r->has_category |= r->columns[i] == COL_CATEGORY;
	}
	return st;
}

static bool report_wants_spread(const struct report *r)
{
	bool want = false;

	for (size_t i = 0; i < r->ncolumns; i++)
		want |= column_spreads(r->columns[i]);
	for (size_t i = 0; i < r->nsort; i++)
		want |= column_spreads(r->sort[i] < 0 ? ~r->sort[i] : r->sort[i]);
	return want;
}

/* The entry that the workers' key belongs to; NULL: out of memory. */
static struct entry *report_entry(struct report *r, uint32_t key)
{
	uint32_t id = r->by == CALLS_BY_FUNCTION ? groups_put(&r->groups, key) : key;

	if (id == GROUP_NONE || !mem_grow((void **)&r->entries, &r->cap, (size_t)id + 1,
					  sizeof(*r->entries), SIZE_MAX / 2))
		return NULL;
	r->n = id >= r->n ? (size_t)id + 1 : r->n;
	return &r->entries[id];
}

/* Joins `from` into the spread at `into`, made if there is none. Returns false if out of memory. */
static bool spread_take(struct spread **into, const struct spread *from)
{
	if (!*into)
		*into = mem_alloc(sizeof(**into));
	return *into && spread_join(*into, from);
}

static void spread_drop(struct spread *s)
{
	if (s)
		spread_free(s);
	mem_free(s);
}

static uint64_t entry_percentile(const struct entry *e, unsigned percent)
{
	return e->spread ? spread_percentile(e->spread, percent) : 0;
}

static bool open_join(struct entry *e, const struct calls *w, const struct call_open *from)
{
	struct call_open *to = &e->open;

	to->sum += from->sum;
	to->calls += from->calls;
	to->least = from->least > to->least ? from->least : to->least;
	to->most = from->most > to->most ? from->most : to->most;
	return !from->spread || spread_take(&e->open_spread, &w->spreads[from->spread - 1]);
}

static bool report_add(struct report *r, const struct calls *w, uint32_t key)
{
	const struct call_stat *from = &w->stats[key];
	struct entry *e = report_entry(r, key);
	struct call_stat *to;

	if (!e)
		return false;
	to = &e->stat;
	to->sum += from->sum;
	to->inner += from->inner;
	to->self += from->self;
	to->calls += from->calls;
	to->least = from->least > to->least ? from->least : to->least;
	to->most = from->most > to->most ? from->most : to->most;
	if (__builtin_add_overflow(to->unfinished, from->unfinished, &to->unfinished))
		to->unfinished = UINT32_MAX;
	r->self += from->self;
	r->unfinished += from->unfinished;
	if (from->spread && !spread_take(&e->spread, &w->spreads[from->spread - 1]))
		return false;
	return key >= w->nopens || open_join(e, w, &w->opens[key]);
}

/* Where no call has ended, what is known of the open ones is better than nothing. */
static void entry_settle(struct entry *e)
{
	if (e->open.calls != e->stat.calls)
		return;
	e->stat.least = e->open.least;
	e->stat.most = e->open.most;
	spread_drop(e->spread);
	e->spread = e->open_spread;
	e->open = (struct call_open){ 0 };
	e->open_spread = NULL;
}

/* Names, once all groups are known; then entries without calls go. */
static void report_name(struct report *r)
{
	const struct spur_trace *t = r->env->trace;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		struct entry *e = &r->entries[i];

		entry_settle(e);
		e->tid = e->pid = -1;
		if (r->by == CALLS_BY_FUNCTION) {
			e->group = i < r->groups.n ? r->groups.items[i]
						   : (struct group){ .name = "", .module = "", .cat = "" };
		} else if (r->by == CALLS_BY_TASK) {
			const struct spur_track *k = trace_track(t, (uint32_t)i - 1);

			e->group = (struct group){ .name = "", .module = "", .cat = "" };
			if (k) {
				e->group.name = trace_string(t, k->name, &e->group.name_len);
				e->tid = k->tid;
				e->pid = k->pid;
			}
		} else {
			struct calls_session s = calls_session(t, (uint32_t)i);

			e->group =
				(struct group){ .name = s.name, .name_len = s.len, .module = "", .cat = "" };
			e->pid = s.pid;
		}
		if (!e->stat.calls && !e->stat.unfinished && !e->stat.sum) {
			spread_drop(e->spread);
			spread_drop(e->open_spread);
			continue;
		}
		r->categories |= e->group.cat_len > 0;
		r->entries[n++] = *e;
	}
	r->n = n;
}

static uint64_t entry_number(const struct report *r, struct entry *e, int column)
{
	const struct call_stat *s = &e->stat;

	switch (column) {
	case COL_TOTAL:
		return s->sum - s->inner;
	case COL_SELF:
		return s->self;
	case COL_CALLS:
		return s->calls;
	case COL_AVG:
		return s->calls > e->open.calls
			       ? (s->sum - e->open.sum) / (s->calls - e->open.calls)
			       : 0;
	case COL_MIN:
		return s->least ? ~s->least : 0;
	case COL_MAX:
		return s->most;
	case COL_P50:
		return entry_percentile(e, 50);
	case COL_P90:
		return entry_percentile(e, 90);
	case COL_P99:
		return entry_percentile(e, 99);
	case COL_STDEV:
		return e->spread ? spread_deviation(e->spread) : 0;
	case COL_SHARE:
		return r->self ? (uint64_t)((unsigned __int128)s->self * 1000 / r->self) : 0;
	case COL_UNFINISHED:
		return s->unfinished;
	case COL_SIZE:
		return e->group.cls ? e->group.cls->size : 0;
	case COL_TID:
		return (uint64_t)e->tid;
	case COL_PID:
		return (uint64_t)e->pid;
	default:
		return 0;
	}
}

/* The bytes of a text column, as they are. */
static void entry_text(const struct report *r, const struct entry *e, int column, struct out *o)
{
	const struct event_class *c = e->group.cls;

	if (column == COL_MODULE) {
		out_bytes(o, e->group.module, e->group.module_len);
	} else if (column == COL_CATEGORY) {
		out_bytes(o, e->group.cat, e->group.cat_len);
	} else if (column == COL_LOCATION) {
		size_t len;
		const char *file = trace_string(r->env->trace, c ? c->file : 0, &len);

		out_bytes(o, file, len);
		if (len && c->line) {
			out_char(o, ':');
			out_u64(o, c->line);
		}
	} else if (r->env->opt->form == FORM_TEXT && !r->has_module && !r->has_category) {
		out_group(o, &e->group);
	} else {
		out_bytes(o, e->group.name, e->group.name_len);
	}
}

static int location_order(const struct report *r, const struct event_class *a,
			  const struct event_class *b)
{
	const struct spur_trace *t = r->env->trace;
	uint32_t x = a ? a->line : 0, y = b ? b->line : 0;
	int c = strcmp(trace_string(t, a ? a->file : 0, NULL),
		       trace_string(t, b ? b->file : 0, NULL));

	return c ? c : (x > y) - (x < y);
}

static int entry_order_by(const struct report *r, struct entry *a, struct entry *b, int column)
{
	uint64_t x, y;

	if (column == COL_LOCATION)
		return location_order(r, a->group.cls, b->group.cls);
	if (column_kind(column) == KIND_TEXT)
		return column == COL_MODULE	? strcmp(a->group.module, b->group.module)
		       : column == COL_CATEGORY ? strcmp(a->group.cat, b->group.cat)
						: group_order(&a->group, &b->group);
	x = entry_number(r, a, column);
	y = entry_number(r, b, column);
	if (column_kind(column) == KIND_ID)
		return (x + 1 > y + 1) - (x + 1 < y + 1); /* none (-1) first */
	return (x < y) - (x > y);
}

/* Numbers fall, names and ids rise; ties by name, module, thread. */
static int entry_order(const void *a, const void *b, void *report)
{
	const struct report *r = report;
	struct entry *const *x = a, *const *y = b;
	int c = 0;

	for (size_t i = 0; i < r->nsort && !c; i++) {
		int column = r->sort[i];

		c = column < 0 ? -entry_order_by(r, *x, *y, ~column)
			       : entry_order_by(r, *x, *y, column);
	}
	if (!c)
		c = group_order(&(*x)->group, &(*y)->group);
	if (!c)
		c = entry_order_by(r, *x, *y, COL_PID);
	return c ? c : entry_order_by(r, *x, *y, COL_TID);
}

/* Samples tell sums, no single calls: columns about these stay empty. */
static bool cell_is_known(const struct entry *e, int column, uint64_t v)
{
	const struct call_stat *s = &e->stat;

	if (column_kind(column) == KIND_ID)
		return v != UINT64_MAX;
	if (column == COL_AVG)
		return s->calls || !s->sum;
	return !column_is_single(column) || s->least || !(s->calls || s->sum);
}

static void out_share(struct out *o, uint64_t tenths)
{
	out_u64(o, tenths / 10);
	out_char(o, '.');
	out_u64(o, tenths % 10);
}

/* The cell as text tables show it, without padding. */
static void cell_plain(const struct report *r, struct entry *e, int column, struct out *o)
{
	enum column_kind kind = column_kind(column);
	uint64_t v = kind == KIND_TEXT ? 0 : entry_number(r, e, column);

	if (kind == KIND_TEXT) {
		entry_text(r, e, column, o);
	} else if (!cell_is_known(e, column, v)) {
		return;
	} else if (kind == KIND_TIME && !r->env->opt->raw) {
		out_time(o, v);
	} else if (kind == KIND_SHARE) {
		out_share(o, v);
		out_str(o, " %");
	} else {
		out_u64(o, v);
	}
}

static void text_widths(const struct report *r, struct entry **order, size_t n, struct out *scratch,
			size_t *widths)
{
	for (size_t c = 0; c < r->ncolumns; c++) {
		widths[c] = strlen(column_names[r->columns[c]]);
		for (size_t i = 0; i < n; i++) {
			size_t w;

			out_clear(scratch);
			cell_plain(r, order[i], r->columns[c], scratch);
			w = cell_width(scratch->buf, scratch->len);
			widths[c] = w > widths[c] ? w : widths[c];
		}
	}
}

/* One cell: numbers to the right, text to the left; the last one is cut at the terminal's edge. */
static void text_cell(const struct report *r, size_t c, const char *p, size_t len, size_t width,
		      size_t *at)
{
	struct out *o = r->env->out;
	bool last = c + 1 == r->ncolumns, left = column_kind(r->columns[c]) == KIND_TEXT;
	size_t edge = r->env->opt->width, own = cell_width(p, len);

	if (c)
		out_str(o, "  ");
	*at += c ? 2 : 0;
	if (!left)
		out_pad(o, ' ', width > own ? width - own : 0);
	if (left && last)
		out_cell(o, p, len, edge > *at + 20 ? edge - *at : edge ? 20 : 0, 0);
	else
		out_cell(o, p, len, 0, left ? width : 0);
	*at += width;
}

static void text_notes(const struct report *r, size_t shown)
{
	struct out *o = r->env->out;

	if (shown < r->n)
		out_printf(o, "\n%zu more lines are not shown.\n", r->n - shown);
	for (size_t i = 0; i < r->ncolumns; i++)
		if (r->columns[i] == COL_UNFINISHED)
			return;
	if (r->unfinished)
		out_printf(o,
			   "\nOf %llu calls the trace lacks the begin or the end "
			   "(--fields=unfinished shows which).\n",
			   (unsigned long long)r->unfinished);
}

static void report_text(const struct report *r, struct entry **order, size_t n)
{
	struct out *o = r->env->out, scratch;
	size_t widths[COLUMNS], at = 0;

	out_to_memory(&scratch);
	text_widths(r, order, n, &scratch, widths);
	if (r->env->opt->color)
		out_str(o, "\033[1m");
	for (size_t c = 0; c < r->ncolumns; c++)
		text_cell(r, c, column_names[r->columns[c]], strlen(column_names[r->columns[c]]),
			  widths[c], &at);
	out_str(o, r->env->opt->color ? "\033[0m\n" : "\n");
	for (size_t i = 0; i < n; i++) {
		at = 0;
		for (size_t c = 0; c < r->ncolumns; c++) {
			out_clear(&scratch);
			cell_plain(r, order[i], r->columns[c], &scratch);
			text_cell(r, c, scratch.buf, scratch.len, widths[c], &at);
		}
		out_char(o, '\n');
	}
	text_notes(r, n);
	if (scratch.error)
		o->error = scratch.error;
	out_free(&scratch);
}

/* The value for machines: ns, counts, whole text. */
static void cell_data(const struct report *r, struct entry *e, int column, struct out *scratch,
		      bool json)
{
	struct out *o = r->env->out;
	enum column_kind kind = column_kind(column);
	uint64_t v = kind == KIND_TEXT ? 0 : entry_number(r, e, column);

	if (kind == KIND_TEXT) {
		out_clear(scratch);
		entry_text(r, e, column, scratch);
		(json ? out_json : out_csv)(o, scratch->buf, scratch->len);
	} else if (kind == KIND_SHARE) {
		out_share(o, v);
	} else if (cell_is_known(e, column, v)) {
		out_u64(o, v);
	} else if (json) {
		out_str(o, "null");
	}
}

static void report_data(const struct report *r, struct entry **order, size_t n)
{
	bool json = r->env->opt->form != FORM_CSV, lines = r->env->opt->form == FORM_JSONL;
	struct out *o = r->env->out, scratch;
	static const char *const bys[] = { "function", "task", "session" };

	out_to_memory(&scratch);
	if (json && !lines) {
		out_json_head(o, "report");
		out_printf(o, ",\"by\":\"%s\",\"rows\":[", bys[r->by]);
	}
	for (size_t c = 0; !json && c < r->ncolumns; c++)
		out_printf(o, "%s%s", c ? "," : "", column_names[r->columns[c]]);
	if (!json)
		out_char(o, '\n');
	for (size_t i = 0; i < n; i++) {
		if (json)
			out_str(o, lines ? "{" : i ? ",\n{" : "\n{");
		for (size_t c = 0; c < r->ncolumns; c++) {
			if (c)
				out_char(o, ',');
			if (json)
				out_printf(o, "\"%s\":", column_names[r->columns[c]]);
			cell_data(r, order[i], r->columns[c], &scratch, json);
		}
		out_str(o, !json ? "\n" : lines ? "}\n" : "}");
	}
	if (json && !lines)
		out_str(o, "\n]}\n");
	if (scratch.error)
		o->error = scratch.error;
	out_free(&scratch);
}

static enum spur_status report_show(struct report *r)
{
	struct entry **order = mem_array(r->n, sizeof(struct entry *));
	size_t n = r->n;

	if (!order)
		return err_nomem(r->env->err);
	for (size_t i = 0; i < r->n; i++)
		order[i] = &r->entries[i];
	qsort_r(order, r->n, sizeof(struct entry *), entry_order, r);
	if (r->env->opt->limit && r->env->opt->limit < n)
		n = (size_t)r->env->opt->limit;
	if (r->env->opt->form == FORM_TEXT)
		report_text(r, order, n);
	else
		report_data(r, order, n);
	mem_free(order);
	return SPUR_OK;
}

static enum spur_status report_join(struct report *r, const struct calls *workers, unsigned n,
				    uint64_t *rows)
{
	for (unsigned i = 0; i < n; i++) {
		*rows += workers[i].rows;
		for (size_t key = 0; key < workers[i].nstats; key++) {
			const struct call_stat *s = &workers[i].stats[key];

			if ((s->calls || s->unfinished || s->sum) &&
			    !report_add(r, &workers[i], (uint32_t)key))
				return err_nomem(r->env->err);
		}
	}
	report_name(r);
	return SPUR_OK;
}

static enum spur_status report_run(struct pass_env *env)
{
	struct report r = { .env = env, .groups = { .trace = env->trace } };
	struct calls *workers = NULL;
	uint64_t rows = 0;
	unsigned n = 0;
	enum spur_status st = read_options(&r);

	if (st == SPUR_OK)
		st = calls_run(env, r.by, report_wants_spread(&r) ? CALLS_SPREAD : 0, &workers, &n);
	if (st == SPUR_OK)
		st = report_join(&r, workers, n, &rows);
	calls_free(workers, n);
	if (st == SPUR_OK && rows && !r.n)
		pass_note_no_calls(env, rows);
	/* Only now is it known whether there are categories. */
	if (st == SPUR_OK && r.categories)
		st = read_options(&r);
	if (st == SPUR_OK)
		st = report_show(&r);
	for (size_t i = 0; i < r.n; i++) {
		spread_drop(r.entries[i].spread);
		spread_drop(r.entries[i].open_spread);
	}
	mem_free(r.entries);
	groups_free(&r.groups);
	return st == SPUR_OK && (!rows || (env->filter && !r.n)) ? SPUR_WARN : st;
}

static void report_prepare(const struct pass_env *env, struct spur_options *open)
{
	open->source_lines |= env->opt->fields && strstr(env->opt->fields, "location");
}

const struct spur_pass spur_pass_report = {
	.name = "report",
	.analysis = true,
	.options_size = sizeof(struct report_options),
	.prepare = report_prepare,
	.run = report_run,
};
