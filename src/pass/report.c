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

struct entry {
	struct call_sum sum;
	struct group group; /* task, session: only name and name_len are set */
	int64_t tid, pid;
};

struct report {
	struct pass_env *env;
	enum calls_by by;
	struct table table;
	bool name_alone; /* no other column tells functions of one name apart */
	bool categories; /* a function has one */
	struct groups groups;
	struct entry *entries;
	size_t n, cap;
	uint64_t self, unfinished; /* sums of all */
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

/* Returns the entry of the workers' key; NULL if out of memory. */
static struct entry *report_entry(struct report *r, uint32_t key)
{
	uint32_t id = r->by == CALLS_BY_FUNCTION ? groups_put(&r->groups, key) : key;

	if (id == GROUP_NONE || !mem_grow((void **)&r->entries, &r->cap, (size_t)id + 1,
					  sizeof(*r->entries), SIZE_MAX / 2))
		return NULL;
	r->n = id >= r->n ? (size_t)id + 1 : r->n;
	return &r->entries[id];
}

static bool report_add(struct report *r, const struct calls *w, uint32_t key)
{
	const struct call_stat *from = &w->stats[key];
	struct entry *e = report_entry(r, key);

	if (!e)
		return false;
	r->self += from->self;
	r->unfinished += from->unfinished;
	return call_sum_add(&e->sum, w, key);
}

/* Names entries, once all groups are known, and removes those without calls. */
static void report_name(struct report *r)
{
	const struct spur_trace *t = r->env->trace;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		struct entry *e = &r->entries[i];

		call_sum_settle(&e->sum);
		e->tid = e->pid = -1;
		if (r->by == CALLS_BY_FUNCTION) {
			e->group = i < r->groups.n
					   ? r->groups.items[i]
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

			e->group = (struct group){
				.name = s.name, .name_len = s.len, .module = "", .cat = ""
			};
			e->pid = s.pid;
		}
		if (call_sum_is_empty(&e->sum)) {
			call_sum_free(&e->sum);
			continue;
		}
		r->categories |= e->group.cat_len > 0;
		r->entries[n++] = *e;
	}
	r->n = n;
}

/* --- columns --- */

#define NO_CASE(...)

/* Of the self time of all entries. */
static struct table_value entry_share(const struct report *r, const struct entry *e)
{
	return table_u64(r->self ? (uint64_t)((unsigned __int128)e->sum.stat.self * 1000 / r->self)
				 : 0);
}

static struct table_value cell_value(const void *self, const void *row, int column)
{
	const struct report *r = self;
	const struct entry *e = row;
	const struct call_stat *s = &e->sum.stat;

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
	const struct entry *e = row;

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
	const struct group *a = &((const struct entry *)x)->group;
	const struct group *b = &((const struct entry *)y)->group;

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
	st = table_write(&r->table, r->entries, r->n, sizeof(*r->entries));
	if (st == SPUR_OK && r->env->opt->form == FORM_TEXT && r->unfinished &&
	    !table_shows(&r->table, COL_UNFINISHED))
		out_printf(r->env->out,
			   "\nOf %llu calls the trace lacks the begin or the end "
			   "(--fields=unfinished shows which).\n",
			   (unsigned long long)r->unfinished);
	return st;
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
		st = calls_run(env, r.by, report_wants_spread(&r) ? CALLS_SPREAD : 0, &workers, &n);
	if (st == SPUR_OK)
		st = report_join(&r, workers, n, &rows);
	calls_free(workers, n);
	if (st == SPUR_OK && rows && !r.n)
		pass_note_no_calls(env, rows);
	/* Categories, which select the default columns, are known only now. */
	if (st == SPUR_OK && r.categories)
		st = read_options(&r);
	if (st == SPUR_OK)
		st = report_show(&r);
	for (size_t i = 0; i < r.n; i++)
		call_sum_free(&r.entries[i].sum);
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
