/*
 * async: report --kind=async and --kind=flow. Asynchronous spans by category and name: how many,
 * how long, and how many lack their begin or end. Flows the same way, or by the steps they are made
 * of (--by=step), or by the threads that they lead from and to (--by=path).
 *
 * Rows are read merged by time, because an operation may end on another thread than it began on. An
 * END belongs to the innermost open span of its process, category, id and name, else of its
 * process, category and id. A step or END of a flow belongs to the latest flow of its process, id,
 * category and name, else of its process and id, else of its id.
 *
 * SPEC fxt/async-pairs; SPEC fxt/flow-pairs
 */
#include <stdio.h>
#include <string.h>

#include "base/map64.h"
#include "pass/async.h"
#include "pass/fold/lengths.h"
#include "pass/fold/opens.h"
#include "render/cell.h"
#include "render/table.h"

enum { ROWS_MAX = 1 << 22 };

enum by { BY_NAME, BY_STEP, BY_PATH };

/* What the rows of the table differ in. */
enum key { KEY_CAT, KEY_NAME, KEY_FROM, KEY_TO, KEYS };

/* From and to: kinds of events with BY_STEP, tracks of threads with BY_PATH, else 0. */
struct async_row {
	uint32_t keys[KEYS];
	struct lengths lengths;
	uint64_t steps; /* of the flows that are counted */
	uint64_t no_begin, no_end;
};

struct async {
	struct pass_env *env;
	struct table table;
	enum by by;
	bool flows;
	char head[64];
	struct async_row *rows;
	size_t n, cap;
	struct map64 numbers[KEYS - 1]; /* (number so far, next key) -> number, from 1 on */
	struct opens opens;
	uint32_t *processes, *threads; /* track -> track of its process, of its thread, + 1 */
	size_t processes_cap, threads_cap;
	uint64_t no_begin, no_end, renamed; /* sums of all */
	uint64_t beyond; /* events of more than ROWS_MAX rows */
	uint64_t events; /* of the kinds that are asked for */
	bool failed; /* out of memory */
};

enum column {
	COL_COUNT,
	COL_TOTAL,
	COL_AVG,
	COL_MIN,
	COL_MAX,
	COL_P50,
	COL_P90,
	COL_P99,
	COL_STDEV,
	COL_STEPS,
	COL_NO_BEGIN,
	COL_NO_END,
	COL_CATEGORY,
	COL_NAME,
	COL_STEP,
	COL_FROM_PID,
	COL_FROM_TID,
	COL_FROM,
	COL_TO_PID,
	COL_TO_TID,
	COL_TO,
};

static const struct table_column columns[] = {
	[COL_COUNT] = { "count", TABLE_COUNT },
	[COL_TOTAL] = { "total", TABLE_TIME },
	[COL_AVG] = { "avg", TABLE_TIME },
	[COL_MIN] = { "min", TABLE_TIME },
	[COL_MAX] = { "max", TABLE_TIME },
	[COL_P50] = { "p50", TABLE_TIME },
	[COL_P90] = { "p90", TABLE_TIME },
	[COL_P99] = { "p99", TABLE_TIME },
	[COL_STDEV] = { "stdev", TABLE_TIME },
	[COL_STEPS] = { "steps", TABLE_COUNT },
	[COL_NO_BEGIN] = { "no_begin", TABLE_COUNT },
	[COL_NO_END] = { "no_end", TABLE_COUNT },
	[COL_CATEGORY] = { "category", TABLE_TEXT },
	[COL_NAME] = { "name", TABLE_TEXT },
	[COL_STEP] = { "step", TABLE_TEXT },
	[COL_FROM_PID] = { "from_pid", TABLE_ID },
	[COL_FROM_TID] = { "from_tid", TABLE_ID },
	[COL_FROM] = { "from", TABLE_TEXT },
	[COL_TO_PID] = { "to_pid", TABLE_ID },
	[COL_TO_TID] = { "to_tid", TABLE_ID },
	[COL_TO] = { "to", TABLE_TEXT },
	{ 0 },
};

/* What is shown if --fields does not say: of spans, then of flows by enum by. */
static const char *const text_columns[] = {
	"count,total,avg,min,p50,p90,p99,max,no_begin,no_end,category,name",
	"count,avg,min,p50,p90,p99,max,steps,no_begin,no_end,category,name",
	"count,avg,min,p50,p90,p99,max,step,category,name",
	"count,avg,min,p50,p90,p99,max,from_tid,from,to_tid,to,category,name",
};
static const char *const data_columns[] = {
	"category,name,count,total,avg,min,max,p50,p90,p99,stdev,no_begin,no_end",
	"category,name,count,total,avg,min,max,p50,p90,p99,stdev,steps,no_begin,no_end",
	"category,name,step,count,total,avg,min,max,p50,p90,p99,stdev",
	("category,name,from_pid,from_tid,from,to_pid,to_tid,to,count,total,avg,min,max,p50,p90,"
	 "p99,stdev"),
};

/* --- rows of the table --- */

/* The row with these keys. NULL: out of memory, or there are too many, which `beyond` counts. */
static struct async_row *row_find(struct async *a, const uint32_t *keys)
{
	uint64_t number = keys[0];

	for (size_t i = 1; i < KEYS; i++) {
		struct map64 *m = &a->numbers[i - 1];
		struct map64_slot *slot = map64_find(m, number << 32 | keys[i]);

		if (!slot && m->count >= ROWS_MAX) {
			a->beyond++;
			return NULL;
		}
		if (!slot && !(slot = map64_put(m, number << 32 | keys[i]))) {
			a->failed = true;
			return NULL;
		}
		if (!slot->value)
			slot->value = m->count;
		number = slot->value;
	}
	if (!mem_grow((void **)&a->rows, &a->cap, number, sizeof(*a->rows), ROWS_MAX)) {
		a->failed = true;
		return NULL;
	}
	if (number > a->n) {
		a->n = number;
		memcpy(a->rows[number - 1].keys, keys, sizeof(a->rows[0].keys));
	}
	return &a->rows[number - 1];
}

/* The row of the operations of a name. */
static struct async_row *row_of_name(struct async *a, const struct open_key *key)
{
	const uint32_t keys[KEYS] = { [KEY_CAT] = key->parts[OPEN_CAT],
				      [KEY_NAME] = key->parts[OPEN_NAME] };

	return row_find(a, keys);
}

static void length_add(struct async *a, struct async_row *row, int64_t from, int64_t to)
{
	const uint64_t ns = to > from ? (uint64_t)to - (uint64_t)from : 0;

	a->failed |= row && !lengths_add(&row->lengths, ns);
}

/* --- events --- */

/* What a track leads to, by a table of it; the track itself if out of memory. */
static uint32_t track_owner(struct async *a, uint32_t **owners, size_t *cap, uint32_t track,
			    uint32_t (*owner)(const struct spur_trace *t, uint32_t track))
{
	if (track >= *cap && !mem_grow((void **)owners, cap, (size_t)track + 1, sizeof(**owners),
				       UINT32_MAX)) {
		a->failed = true;
		return track;
	}
	if (!(*owners)[track])
		(*owners)[track] = owner(a->env->trace, track) + 1;
	return (*owners)[track] - 1;
}

/* The thread of a track, or the track itself if it belongs to none. */
static uint32_t thread_or_track(const struct spur_trace *t, uint32_t track)
{
	const uint32_t thread = trace_thread_of(t, track);

	return thread == SPUR_NONE ? track : thread;
}

static void operation_begins(struct async *a, const struct spur_event *ev,
			     const struct open_key *key, uint32_t thread)
{
	struct open *o = opens_add(&a->opens, key);

	if (!o) {
		a->failed = true;
		return;
	}
	o->begin = o->last = ev->ts;
	o->thread = thread;
}

/* The part of a flow from its latest event to this one. */
static void flow_part(struct async *a, const struct open *o, const struct spur_event *ev,
		      uint32_t thread)
{
	uint32_t keys[KEYS] = { [KEY_CAT] = o->key.parts[OPEN_CAT],
				[KEY_NAME] = o->key.parts[OPEN_NAME] };

	if (a->by == BY_NAME)
		return;
	keys[KEY_FROM] = a->by == BY_PATH ? o->thread : o->steps ? SPUR_FLOW_STEP : SPUR_FLOW_BEGIN;
	keys[KEY_TO] = a->by == BY_PATH ? thread : ev->kind;
	length_add(a, row_find(a, keys), o->last, ev->ts);
}

static void operation_ends(struct async *a, const struct spur_event *ev, struct open *o)
{
	struct async_row *row = a->by == BY_NAME ? row_of_name(a, &o->key) : NULL;

	length_add(a, row, o->begin, ev->ts);
	if (row)
		row->steps += o->steps;
	a->renamed += !a->flows && o->key.parts[OPEN_NAME] != ev->name;
	opens_remove(&a->opens, o);
}

/* A step or END. */
static void operation_goes_on(struct async *a, const struct spur_event *ev,
			      const struct open_key *key, uint32_t thread)
{
	const bool ends = ev->kind == SPUR_ASYNC_END || ev->kind == SPUR_FLOW_END;
	struct open *o = opens_find(&a->opens, key);
	struct async_row *row;

	if (!o) {
		a->no_begin++;
		row = a->by == BY_NAME ? row_of_name(a, key) : NULL;
		if (row)
			row->no_begin++;
		return;
	}
	if (a->flows)
		flow_part(a, o, ev, thread);
	if (ends) {
		operation_ends(a, ev, o);
		return;
	}
	o->steps += o->steps < UINT32_MAX;
	o->last = ev->ts;
	o->thread = thread;
}

static bool async_events(void *self, struct spur_event *rows, size_t n)
{
	struct async *a = self;
	const unsigned first = a->flows ? SPUR_FLOW_BEGIN : SPUR_ASYNC_BEGIN;

	for (size_t i = 0; i < n; i++) {
		const struct spur_event *ev = &rows[i];
		struct open_key key = { .id = ev->id };
		uint32_t thread;

		if (ev->kind < first || ev->kind > first + 2 || ev->kind == SPUR_ASYNC_INSTANT)
			continue;
		a->events++;
		key.parts[OPEN_PROCESS] = track_owner(a, &a->processes, &a->processes_cap,
						      ev->track, trace_process_of);
		key.parts[OPEN_CAT] = ev->cat;
		key.parts[OPEN_NAME] = ev->name;
		thread = a->by != BY_PATH ? 0
					  : track_owner(a, &a->threads, &a->threads_cap, ev->track,
							thread_or_track);
		if (ev->kind == first)
			operation_begins(a, ev, &key, thread);
		else
			operation_goes_on(a, ev, &key, thread);
		if (a->failed)
			return false;
	}
	return true;
}

/* Operations that are open when the data ends. */
static void async_rest(struct async *a)
{
	for (size_t i = 0; i < a->opens.n && !a->failed; i++) {
		const struct open *o = &a->opens.items[i];
		struct async_row *row;

		if (!o->used)
			continue;
		a->no_end++;
		row = a->by == BY_NAME ? row_of_name(a, &o->key) : NULL;
		if (row)
			row->no_end++;
	}
}

/* --- output --- */

static struct table_value thread_id(const struct async *a, uint32_t track, bool pid)
{
	const struct spur_track *k = a->by == BY_PATH ? trace_track(a->env->trace, track) : NULL;

	return table_id(!k ? -1 : pid ? k->pid : k->tid);
}

static struct table_value length_value(const struct lengths *l, enum column column)
{
	if (column == COL_COUNT || column == COL_TOTAL)
		return table_u64(column == COL_COUNT ? l->count : l->total);
	if (!l->count)
		return (struct table_value){ 0 };
	switch (column) {
	case COL_AVG:
		return table_u64(l->total / l->count);
	case COL_MIN:
		return table_u64(l->least);
	case COL_MAX:
		return table_u64(l->most);
	case COL_STDEV:
		return table_u64(lengths_deviation(l));
	default:
		return table_u64(lengths_percentile(l, column == COL_P50   ? 50
						       : column == COL_P90 ? 90
									   : 99));
	}
}

static struct table_value cell_value(const void *self, const void *row, int column)
{
	const struct async *a = self;
	const struct async_row *r = row;

	switch ((enum column)column) {
	case COL_STEPS:
	case COL_NO_BEGIN:
	case COL_NO_END:
		if (a->by != BY_NAME || (column == COL_STEPS && !a->flows))
			return (struct table_value){ 0 };
		return table_u64(column == COL_STEPS	  ? r->steps
				 : column == COL_NO_BEGIN ? r->no_begin
							  : r->no_end);
	case COL_FROM_PID:
	case COL_FROM_TID:
		return thread_id(a, r->keys[KEY_FROM], column == COL_FROM_PID);
	case COL_TO_PID:
	case COL_TO_TID:
		return thread_id(a, r->keys[KEY_TO], column == COL_TO_PID);
	default:
		return length_value(&r->lengths, (enum column)column);
	}
}

static const char *step_word(uint32_t kind)
{
	return kind == SPUR_FLOW_BEGIN ? "begin" : kind == SPUR_FLOW_STEP ? "step" : "end";
}

static void cell_text(const void *self, const void *row, int column, struct out *o)
{
	const struct async *a = self;
	const struct async_row *r = row;
	const uint32_t end = r->keys[column == COL_FROM ? KEY_FROM : KEY_TO];
	const struct spur_track *k = a->by == BY_PATH ? trace_track(a->env->trace, end) : NULL;
	const char *p;
	size_t len;

	if (column == COL_STEP) {
		if (a->by == BY_STEP)
			out_printf(o, "%s -> %s", step_word(r->keys[KEY_FROM]),
				   step_word(r->keys[KEY_TO]));
		return;
	}
	p = trace_string(a->env->trace,
			column == COL_CATEGORY ? r->keys[KEY_CAT]
			: column == COL_NAME   ? r->keys[KEY_NAME]
			: k		       ? k->name
					       : 0,
			&len);
	out_bytes(o, p, len);
}

static enum spur_status read_options(struct async *a)
{
	static const char *const words[] = { "name", "step", "path" };
	const struct render_options *opt = a->env->opt;
	const struct async_options *own = async_options(a->env);
	const char *by = own->by ? own->by : words[0];
	size_t which;

	a->flows = own->kind && strcmp(own->kind, "flow") == 0;
	while ((a->flows ? a->by <= BY_PATH : a->by == BY_NAME) && strcmp(by, words[a->by]) != 0)
		a->by++;
	if (a->by > (a->flows ? BY_PATH : BY_NAME))
		return err_set(a->env->err, SPUR_ERR_USAGE, "--by: expected %s, found \"%s\"",
			       a->flows ? "name, step or path" : "name", by);
	which = a->flows ? 1 + (size_t)a->by : 0;
	snprintf(a->head, sizeof(a->head), ",\"kind\":\"%s\",\"by\":\"%s\"",
		 a->flows ? "flow" : "async", words[a->by]);
	a->table = (struct table){ .env = pass_render(a->env),
				   .name = "report",
				   .columns = columns,
				   .value = cell_value,
				   .text = cell_text,
				   .self = a,
				   .head = a->head };
	return table_options(&a->table,
			     opt->form == FORM_TEXT ? text_columns[which] : data_columns[which],
			     a->by == BY_PATH ? "count" : "total");
}

static enum spur_status async_read(struct async *a)
{
	static const uint8_t exact = 1 << OPEN_PROCESS | 1 << OPEN_CAT | 1 << OPEN_NAME;
	const uint8_t masks[OPENS_LEVELS] = { exact,
					      a->flows ? 1 << OPEN_PROCESS
						       : 1 << OPEN_PROCESS | 1 << OPEN_CAT,
					      0 };
	enum spur_status st;

	opens_init(&a->opens, masks, a->flows ? 3 : 2);
	st = pipe_run_merged(a->env->trace, &a->env->pipe, async_events, a);
	if (st != SPUR_FAIL && !a->failed)
		async_rest(a);
	return st == SPUR_FAIL || a->failed ? err_nomem(a->env->err) : SPUR_OK;
}

/* What the table does not say: that its times leave out operations, and which ENDs are guesses. */
static void async_notes(const struct async *a)
{
	const char *what = a->flows ? "flows" : "spans";
	struct out *o = a->env->out;

	if (a->env->notes && a->beyond)
		out_printf(a->env->notes,
			   "spur: warning: events of more than %d rows, not counted: %llu\n",
			   ROWS_MAX, (unsigned long long)a->beyond);
	if (a->env->notes && a->renamed)
		out_printf(a->env->notes,
			   "spur: note: spans that end under another name than they began, "
			   "counted under the first: %llu\n",
			   (unsigned long long)a->renamed);
	if (a->env->opt->form != FORM_TEXT)
		return;
	if (a->no_begin || a->no_end)
		out_char(o, '\n');
	if (a->no_begin)
		out_printf(o, "%s of %s that do not begin in the trace: %llu\n",
			   a->flows ? "Steps and ends" : "Ends", what,
			   (unsigned long long)a->no_begin);
	if (a->no_end)
		out_printf(o, "Unfinished %s, whose durations are not counted: %llu\n", what,
			   (unsigned long long)a->no_end);
}

static enum spur_status async_run(struct pass_env *env)
{
	struct async a = { .env = env };
	enum spur_status st = read_options(&a);

	if (st == SPUR_OK)
		st = async_read(&a);
	if (st == SPUR_OK)
		st = table_write(&a.table, a.rows, a.n, sizeof(*a.rows));
	if (st == SPUR_OK)
		async_notes(&a);
	for (size_t i = 0; i < a.n; i++)
		lengths_free(&a.rows[i].lengths);
	for (size_t i = 0; i < KEYS - 1; i++)
		map64_free(&a.numbers[i]);
	opens_free(&a.opens);
	mem_free(a.rows);
	mem_free(a.processes);
	mem_free(a.threads);
	return st == SPUR_OK && !a.events && !(env->pipe.stop && *env->pipe.stop) ? SPUR_WARN : st;
}

const struct spur_pass spur_pass_async = {
	.name = "async",
	.options_size = sizeof(struct async_options),
	.run = async_run,
};
