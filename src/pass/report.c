/*
 * report: where the time went, one line per function, thread or session. Reads all call rows
 * (BEGIN, END, SPAN) and SWITCH as time off the CPU; looks at no arguments and no other events.
 *
 * total  ns from begin to end; of recursive calls only the outermost counts
 * self   the same less the calls made inside
 * avg min max p50 p90 p99 stdev   of single calls, recursive ones too; percentiles: see spread.h.
 *      Calls that are open when the data ends, whose duration is unknown, count here only if a
 *      function has no others.
 *
 * Sampled stacks (SAMPLE rows) add to total, self, calls and avg.
 */
#include <stdlib.h>

#include "base/text.h"
#include "pass/fold/group.h"
#include "pass/fold/sums.h"
#include "pass/pass.h"
#include "pass/report.h"
#include "render/table.h"

#define COLUMN_ID(id, ...) COL_##id,
enum column { REPORT_COLUMNS(COLUMN_ID, COLUMN_ID, COLUMN_ID) };

#define COLUMN_NUMBER(id, word, kind, spreads, value) [COL_##id] = { word, TABLE_##kind },
#define COLUMN_TEXT(id, word, write, order) [COL_##id] = { word, TABLE_TEXT },
static const struct table_column columns[] = {
	REPORT_COLUMNS(COLUMN_NUMBER, COLUMN_TEXT, COLUMN_TEXT){ 0 },
};

/* The value is one of the distribution of single calls. */
#define COLUMN_SPREADS(id, word, kind, spreads, value) [COL_##id] = (spreads),
#define COLUMN_NO_SPREAD(id, word, write, order) [COL_##id] = false,
static const bool column_spreads[] = { REPORT_COLUMNS(COLUMN_SPREADS, COLUMN_NO_SPREAD,
						      COLUMN_NO_SPREAD) };

/* Rows that are equal by --sort. */
static const int ties[] = { COL_FUNCTION, COL_PID, COL_TID, -1 };

/* The columns without --fields: by `by`, and for functions that their categories tell apart. */
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

/* A line; made when it is asked for, of its key. */
struct entry {
	const struct report *report;
	uint32_t key;
	struct call_sum sum; /* see entry_sum() */
	struct group group; /* task, session: only name and name_len are set */
	int64_t tid, pid;
};

struct report {
	struct pass_env *env;
	enum calls_by by;
	struct table table;
	bool name_alone; /* no other column tells functions of one name apart */
	bool categories; /* a function has one */
	struct calls *calls; /* of all workers */
	unsigned workers;
	uint32_t *keys; /* of the lines */
	size_t n;
	uint32_t *cls; /* by function, by key: the class that stands for it */
	uint8_t *named; /* by string id: lines of that name, 2 at most */
	uint64_t rows, self, unfinished; /* sums of all */
};

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
	fields = (opt->form == FORM_TEXT
			  ? text_columns
			  : data_columns)[r->categories ? BY_FUNCTION_AND_CATEGORY : r->by];
	st = table_options(&r->table, fields, "total");
	r->name_alone = opt->form == FORM_TEXT && !table_shows(&r->table, COL_MODULE) &&
			!table_shows(&r->table, COL_CATEGORY);
	return st;
}

static bool report_wants_spread(const struct report *r)
{
	for (int i = 0; columns[i].name; i++)
		if (column_spreads[i] && (table_shows(&r->table, i) || table_sorts(&r->table, i)))
			return true;
	return false;
}

static bool has_calls(const struct call_stat *s)
{
	return s->calls || s->unfinished || s->sum;
}

static const struct event_class *key_class(const struct report *r, uint32_t key)
{
	return r->by == CALLS_BY_FUNCTION && key ? trace_class(r->env->trace, r->cls[key]) : NULL;
}

/* Finds the class that stands for each function of a worker. */
static void find_classes(struct report *r, const struct calls *w)
{
	const struct spur_trace *t = r->env->trace;

	for (uint32_t key = 1; key < w->nstats; key++) {
		const struct event_class *c;
		uint32_t *cls;

		if (!has_calls(&w->stats[key]))
			continue;
		c = trace_class(t, key);
		cls = &r->cls[c->head];
		if (!*cls || group_stands_before(c, trace_class(t, *cls)))
			*cls = key;
	}
}

/* Joins what the workers have, and lists the lines. Returns false if out of memory. */
static bool report_join(struct report *r)
{
	const struct spur_trace *t = r->env->trace;
	struct calls *w = r->calls;

	if (r->by == CALLS_BY_FUNCTION) {
		r->cls = mem_array(trace_class_count(t), sizeof(*r->cls));
		r->named = mem_alloc(intern_count(t->strings));
		if (!r->cls || !r->named)
			return false;
	}
	for (unsigned i = 0; i < r->workers; i++) {
		r->rows += w[i].rows;
		if (r->by == CALLS_BY_FUNCTION)
			find_classes(r, &w[i]);
	}
	if (!calls_join(w, r->workers))
		return false;
	for (size_t key = 0; key < w->nstats; key++)
		r->n += has_calls(&w->stats[key]);
	r->keys = mem_array(r->n, sizeof(*r->keys));
	r->n = 0;
	for (uint32_t key = 0; r->keys && key < w->nstats; key++) {
		const struct event_class *c;

		if (!has_calls(&w->stats[key]))
			continue;
		r->keys[r->n++] = key;
		r->self += w->stats[key].self;
		r->unfinished += w->stats[key].unfinished;
		c = key_class(r, key);
		if (!c)
			continue;
		if (r->named[c->name] < 2)
			r->named[c->name]++;
		r->categories |= (c->flags & CLASS_CATEGORY) && group_make(t, c).cat_len;
	}
	return r->keys != NULL;
}

/* The texts of a line. */
static struct group key_group(const struct report *r, uint32_t key)
{
	const struct spur_trace *t = r->env->trace;
	struct group g = { .name = "", .module = "", .cat = "" };

	if (r->by == CALLS_BY_FUNCTION) {
		const struct event_class *c = key_class(r, key);

		g = group_make(t, c);
		g.shared_name = c && r->named[c->name] > 1;
	} else if (r->by == CALLS_BY_TASK) {
		const struct spur_track *k = trace_track(t, key - 1);

		if (k)
			g.name = trace_string(t, k->name, &g.name_len);
	} else {
		const struct calls_session s = calls_session(t, key);

		g.name = s.name;
		g.name_len = s.len;
	}
	return g;
}

/* The numbers of a line; of the group its class only is set. */
static struct entry key_entry(const struct report *r, uint32_t key)
{
	const struct spur_track *k =
		r->by == CALLS_BY_TASK ? trace_track(r->env->trace, key - 1) : NULL;
	struct entry e;

	e.report = r;
	e.key = key;
	e.group.cls = key_class(r, key);
	e.tid = e.pid = -1;
	if (k) {
		e.tid = k->tid;
		e.pid = k->pid;
	} else if (r->by == CALLS_BY_SESSION) {
		e.pid = calls_session(r->env->trace, key).pid;
	}
	return e;
}

/* --- columns --- */

#define NO_CASE(...)

/* What columns of single calls need; the others go by the sums that were collected. */
static const struct call_sum *entry_sum(struct entry *e)
{
	e->sum = call_sum_of(e->report->calls, e->key);
	return &e->sum;
}

static struct table_value entry_least(struct entry *e)
{
	const struct call_sum *sum = entry_sum(e);

	return call_sum_single(sum, sum->stat.least ? ~sum->stat.least : 0);
}

static struct table_value entry_most(struct entry *e)
{
	const struct call_sum *sum = entry_sum(e);

	return call_sum_single(sum, sum->stat.most);
}

/* Of the self time of all entries. */
static struct table_value entry_share(const struct report *r, const struct call_stat *s)
{
	return table_u64(r->self ? (uint64_t)((unsigned __int128)s->self * 1000 / r->self) : 0);
}

static struct table_value cell_value(const void *self, const void *row, int column)
{
	const struct report *r = self;
	struct entry entry = key_entry(r, *(const uint32_t *)row), *e = &entry;
	const struct call_stat *s = &r->calls->stats[e->key];

#define CASE_VALUE(id, word, kind, spreads, value) \
	case COL_##id:                             \
		return value;
	switch (column) {
		REPORT_COLUMNS(CASE_VALUE, NO_CASE, NO_CASE)
	default:
		return (struct table_value){ 0 };
	}
}

static void out_location(const struct report *r, const struct entry *e, struct out *o)
{
	const struct event_class *c = e->group.cls;
	size_t len;
	const char *file = trace_string(r->env->trace, c ? c->file : 0, &len);

	out_bytes(o, file, len);
	if (len && c->line) {
		out_char(o, ':');
		out_u64(o, c->line);
	}
}

static void out_name(const struct report *r, const struct entry *e, struct out *o)
{
	if (r->name_alone)
		out_group(o, &e->group);
	else
		out_bytes(o, e->group.name, e->group.name_len);
}

static void cell_text(const void *self, const void *row, int column, struct out *o)
{
	const struct report *r = self;
	struct entry entry;
	const struct entry *e = &entry;

	/* The texts need nothing else. */
	entry.group = key_group(r, *(const uint32_t *)row);

#define CASE_TEXT(id, word, write, order) \
	case COL_##id:                    \
		write;                    \
		break;
	switch (column) {
		REPORT_COLUMNS(NO_CASE, CASE_TEXT, CASE_TEXT)
	default:
		break;
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

static int cell_order(const void *self, const void *x, const void *y, int column)
{
	const struct report *r = self;
	const struct group own = key_group(r, *(const uint32_t *)x), *a = &own;
	const struct group other = key_group(r, *(const uint32_t *)y), *b = &other;

#define CASE_ORDER(id, word, write, order) \
	case COL_##id:                     \
		return order;
	switch (column) {
		REPORT_COLUMNS(NO_CASE, CASE_ORDER, CASE_ORDER)
	default:
		return 0;
	}
}

/* --- the whole --- */

static enum spur_status report_show(struct report *r)
{
	static const char *const heads[] = { ",\"by\":\"function\"", ",\"by\":\"task\"",
					     ",\"by\":\"session\"" };
	enum spur_status st;

	r->table.head = heads[r->by];
	st = table_write(&r->table, r->keys, r->n, sizeof(*r->keys));
	if (st == SPUR_OK && r->env->opt->form == FORM_TEXT && r->unfinished &&
	    !table_shows(&r->table, COL_UNFINISHED))
		out_printf(r->env->out,
			   "\nOf %llu calls the trace lacks the begin or the end "
			   "(--fields=unfinished shows which).\n",
			   (unsigned long long)r->unfinished);
	return st;
}

static enum spur_status report_run(struct pass_env *env)
{
	struct report r = { .env = env };
	enum spur_status st;

	r.table = (struct table){ .env = pass_render(env),
				  .name = "report",
				  .columns = columns,
				  .value = cell_value,
				  .text = cell_text,
				  .text_order = cell_order,
				  .ties = ties,
				  .self = &r };
	st = read_options(&r);
	if (st == SPUR_OK)
		st = calls_run(env, r.by, report_wants_spread(&r) ? CALLS_SPREAD : 0, &r.calls,
			       &r.workers);
	if (st == SPUR_OK && !report_join(&r))
		st = err_nomem(env->err);
	if (st == SPUR_OK && r.rows && !r.n)
		pass_note_no_calls(env, r.rows);
	/* Categories, which select the default columns, are known only now. */
	if (st == SPUR_OK && r.categories)
		st = read_options(&r);
	if (st == SPUR_OK)
		st = report_show(&r);
	calls_free(r.calls, r.workers);
	mem_free(r.keys);
	mem_free(r.cls);
	mem_free(r.named);
	return st == SPUR_OK && (!r.rows || (env->filter && !r.n)) ? SPUR_WARN : st;
}

static void report_prepare(const struct pass_env *env, struct spur_options *open)
{
	open->source_lines |= env->opt->fields && strstr(env->opt->fields, "location");
}

static enum pass_store report_takes_store(const struct pass_env *env)
{
	const struct report_options *own = report_options(env);

	if (own->by && strcmp(own->by, "session") == 0)
		return PASS_NO_STORE;
	return own->task || (own->by && strcmp(own->by, "task") == 0) ? PASS_STORE_NAMES
								      : PASS_STORE;
}

const struct spur_pass spur_pass_report = {
	.takes_store = report_takes_store,
	.name = "report",
	.analysis = true,
	.options_size = sizeof(struct report_options),
	.prepare = report_prepare,
	.run = report_run,
};
