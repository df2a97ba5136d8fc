/*
 * counters: the series of numbers in COUNTER rows and in the contexts of other events, a line each,
 * or every sample (--values). A series is what one process (--by=track: one track) says under one
 * name, id and argument name.
 * Numbers are integers, floats and booleans at the top level of the arguments; what is nested, and
 * text, is no sample. A number in a context has its own name and no argument's.
 *
 * All integers are exact: sums have 128 bits. The mean of integers is exact where it is whole, else
 * the nearest double; floats are summed with compensation in long double. NaN is counted apart and
 * has no part in min, max and mean. Rows are read merged by time, so that the last value is the
 * last one of all threads.
 */

#include "base/map64.h"
#include "flow/args.h"
#include "pass/counters.h"
#include "render/numbers.h"

enum { SERIES_MAX = 1 << 20 };

struct series {
	uint32_t track; /* of the process, or the track itself */
	uint32_t name, argument; /* string ids */
	uint64_t id;
	struct numbers samples;
	struct table_value last;
	int64_t start, end;
	const char *label; /* --values: the text in front of the value; NULL: not made yet */
	size_t label_len;
};

/* What a row's samples have in common. */
struct group {
	uint32_t track, name;
	uint64_t id;
	uint64_t number; /* 0: none */
};

struct counters {
	struct pass_env *env;
	bool by_track;
	struct table table;
	struct series *series;
	size_t n, cap;
	/* (track, name), id, both of these, (them, argument): numbers from 1 on. */
	struct map64 names, ids, groups, arguments;
	struct group last;
	uint32_t *owners; /* track -> track of its process + 1 */
	size_t owners_cap;
	struct spur_args args;
	struct arena arena;
	const struct spur_event *row; /* at hand */
	uint64_t rows, shown;
	uint64_t bare; /* rows without a number */
	uint64_t beyond; /* samples of more series than SERIES_MAX */
	bool failed; /* out of memory */
};

enum column {
	COL_SAMPLES,
	COL_NAN,
	COL_MIN,
	COL_MAX,
	COL_MEAN,
	COL_LAST,
	COL_START,
	COL_END,
	COL_PID,
	COL_TID,
	COL_PROCESS,
	COL_NAME,
	COL_ID,
	COL_ARGUMENT,
	COL_SERIES,
};

static const struct table_column columns[] = {
	[COL_SAMPLES] = { "samples", TABLE_COUNT },
	[COL_NAN] = { "nan", TABLE_COUNT },
	[COL_MIN] = { "min", TABLE_NUMBER },
	[COL_MAX] = { "max", TABLE_NUMBER },
	[COL_MEAN] = { "mean", TABLE_MEAN },
	[COL_LAST] = { "last", TABLE_NUMBER },
	[COL_START] = { "start", TABLE_WHEN },
	[COL_END] = { "end", TABLE_WHEN },
	[COL_PID] = { "pid", TABLE_ID },
	[COL_TID] = { "tid", TABLE_ID },
	[COL_PROCESS] = { "process", TABLE_TEXT },
	[COL_NAME] = { "name", TABLE_TEXT },
	[COL_ID] = { "id", TABLE_ID },
	[COL_ARGUMENT] = { "argument", TABLE_TEXT },
	[COL_SERIES] = { "series", TABLE_TEXT },
	{ 0 },
};

/* --- whose it is --- */

static bool owner_of(struct counters *c, uint32_t track, uint32_t *owner)
{
	*owner = track;
	if (c->by_track || track >= trace_track_count(c->env->trace))
		return true;
	if (track >= c->owners_cap && !mem_grow((void **)&c->owners, &c->owners_cap,
						(size_t)track + 1, sizeof(*c->owners), UINT32_MAX))
		return false;
	if (!c->owners[track])
		c->owners[track] = trace_process_of(c->env->trace, track) + 1;
	*owner = c->owners[track] - 1;
	return true;
}

/*
 * The number of a key, from 1 on; 0: out of memory, or there are too many (then `beyond` is
 * counted).
 */
static uint64_t number_of(struct counters *c, struct map64 *m, uint64_t key)
{
	struct map64_slot *slot = map64_find(m, key);

	if (slot)
		return slot->value;
	if (m->count >= SERIES_MAX) {
		c->beyond++;
		return 0;
	}
	slot = map64_put(m, key);
	c->failed |= !slot;
	if (slot)
		slot->value = m->count;
	return slot ? slot->value : 0;
}

/* Whose samples the row has. Returns false if out of memory. */
static bool group_find(struct counters *c, const struct spur_event *row)
{
	struct group g = { .name = row->name, .id = row->id };
	uint64_t name, id;

	if (!owner_of(c, row->track, &g.track))
		return false;
	if (c->last.number && c->last.track == g.track && c->last.name == g.name &&
	    c->last.id == g.id)
		return true;
	name = number_of(c, &c->names, (uint64_t)g.track << 32 | g.name);
	id = name ? number_of(c, &c->ids, g.id) : 0;
	g.number = id ? number_of(c, &c->groups, name << 32 | id) : 0;
	c->last = g;
	return !c->failed;
}

/* NULL: out of memory, or there are too many. */
static struct series *series_find(struct counters *c, uint32_t argument)
{
	const struct group *g = &c->last;
	uint64_t number = number_of(c, &c->arguments, g->number << 32 | argument);
	struct series *s;

	if (!number)
		return NULL;
	if (number > c->n) {
		if (!mem_grow((void **)&c->series, &c->cap, number, sizeof(*c->series),
			      SERIES_MAX)) {
			c->failed = true;
			return NULL;
		}
		c->n = number;
	}
	s = &c->series[number - 1];
	s->track = g->track;
	s->name = g->name;
	s->id = g->id;
	s->argument = argument;
	return s;
}

static void series_add(struct series *s, struct table_value v, int64_t ts)
{
	s->start = s->samples.count ? s->start : ts;
	s->end = ts;
	s->last = v;
	numbers_add(&s->samples, v);
}

/* --- the rows --- */

/* False: it is no number. */
static bool value_of(const struct spur_value *v, struct table_value *out)
{
	switch (v->type) {
	case SPUR_I64:
		*out = table_i64(v->i);
		return true;
	case SPUR_U64:
	case SPUR_BOOL:
		*out = table_u64(v->u);
		return true;
	case SPUR_F64:
		*out = table_f64(v->f);
		return true;
	default:
		return false;
	}
}

static void series_text(const struct counters *c, const struct series *s, struct out *o)
{
	size_t len;
	const char *p = trace_string(c->env->trace, s->name, &len);

	out_bytes(o, p, len);
	if (s->id) {
		out_char(o, '#');
		out_u64(o, s->id);
	}
	p = trace_string(c->env->trace, s->argument, &len);
	if (len) {
		out_char(o, '.');
		out_bytes(o, p, len);
	}
}

static void json_id(struct out *o, const char *name, int64_t id)
{
	out_printf(o, ",\"%s\":", name);
	if (id != -1)
		out_u64(o, (uint64_t)id);
	else
		out_str(o, "null");
}

static void json_text(const struct counters *c, struct out *o, const char *name, uint32_t id)
{
	size_t len;
	const char *p = trace_string(c->env->trace, id, &len);

	out_printf(o, ",\"%s\":", name);
	out_json(o, p, len);
}

/* Between the time and the value of a sample: made once a series. */
static bool label_make(struct counters *c, struct series *s)
{
	const struct spur_track *k = trace_track(c->env->trace, s->track);
	struct out text, quoted;

	out_to_memory(&text);
	out_to_memory(&quoted);
	if (c->env->opt->form == FORM_JSONL) {
		json_id(&quoted, "pid", k ? k->pid : -1);
		if (c->by_track)
			json_id(&quoted, "tid", k ? k->tid : -1);
		json_text(c, &quoted, "name", s->name);
		out_printf(&quoted, ",\"id\":%llu", (unsigned long long)s->id);
		json_text(c, &quoted, "argument", s->argument);
	} else {
		if (k && k->pid != -1)
			out_printf(&text, "%llu/", (unsigned long long)k->pid);
		if (k && k->tid != -1 && c->by_track)
			out_printf(&text, "%llu/", (unsigned long long)k->tid);
		series_text(c, s, &text);
		out_csv(&quoted, text.buf, text.len);
	}
	s->label =
		quoted.error || text.error ? NULL : arena_strdup(&c->arena, quoted.buf, quoted.len);
	s->label_len = quoted.len;
	out_free(&text);
	out_free(&quoted);
	return s->label;
}

static bool sample_out(struct counters *c, struct series *s, struct table_value v, int64_t ts)
{
	struct out *o = c->env->out;
	const bool json = c->env->opt->form == FORM_JSONL;

	if (!s->label && !label_make(c, s))
		return false;
	c->shown++;
	out_str(o, json ? "{\"ts\":" : "");
	out_i64(o, ts);
	out_str(o, json ? "" : ",");
	out_bytes(o, s->label, s->label_len);
	out_str(o, json ? ",\"value\":" : ",");
	table_value_out(o, v, json);
	out_str(o, json ? "}\n" : "\n");
	return true;
}

static bool is_enough(const struct counters *c)
{
	const uint64_t limit = counters_options(c->env)->values ? c->env->opt->limit : 0;

	return c->env->out->error || (limit && c->shown >= limit);
}

/* A number of the group at hand. Returns false if out of memory. */
static bool sample_add(struct counters *c, uint32_t argument, struct table_value v, int64_t ts)
{
	struct series *s = series_find(c, argument);

	if (c->failed)
		return false;
	if (s && counters_options(c->env)->values && !sample_out(c, s, v, ts))
		return false;
	if (s)
		series_add(s, v, ts);
	return true;
}

static bool row_add(struct counters *c, const struct spur_event *row)
{
	bool any = false;

	c->rows++;
	if (trace_args(c->env->trace, row, &c->args) == SPUR_FAIL)
		return false;
	for (size_t i = 0; i < c->args.count && !is_enough(c); i++) {
		struct table_value v;

		if (!value_of(&c->args.items[i], &v))
			continue;
		if (!any && !group_find(c, row))
			return false;
		any = true;
		if (!c->last.number)
			break;
		if (!sample_add(c, c->args.items[i].name, v, row->ts))
			return false;
	}
	c->bare += !any;
	return true;
}

/* Adds a number in the context of the current row. Returns false if out of memory. */
static bool context_add(void *self, const struct spur_value *value)
{
	struct counters *c = self;
	struct spur_event row = { .track = c->row->track, .name = value->name };
	struct table_value v;

	if (!value_of(value, &v) || is_enough(c))
		return true;
	c->rows++;
	return group_find(c, &row) && (!c->last.number || sample_add(c, 0, v, c->row->ts));
}

static bool contexts_add(struct counters *c, const struct spur_event *row)
{
	struct spur_trace *t = c->env->trace;

	c->row = row;
	return !t->has_samples || t->format->samples(t, row, &c->args, context_add, c);
}

static bool counter_rows(void *self, struct spur_event *rows, size_t n)
{
	struct counters *c = self;

	for (size_t i = 0; i < n && !is_enough(c); i++)
		if (!contexts_add(c, &rows[i]) ||
		    (rows[i].kind == SPUR_COUNTER && !row_add(c, &rows[i]))) {
			c->failed = true;
			return false;
		}
	if (counters_options(c->env)->values && pipe_is_live(c->env->trace))
		out_flush(c->env->out);
	return !is_enough(c);
}

/* --- the table --- */

static struct table_value cell_value(const void *self, const void *row, int column)
{
	const struct counters *c = self;
	const struct series *s = row;
	const struct spur_track *k = trace_track(c->env->trace, s->track);

	switch ((enum column)column) {
	case COL_SAMPLES:
		return table_u64(s->samples.count);
	case COL_NAN:
		return table_u64(s->samples.nan);
	case COL_MIN:
		return s->samples.least;
	case COL_MAX:
		return s->samples.most;
	case COL_MEAN:
		return numbers_mean(&s->samples);
	case COL_LAST:
		return s->last;
	case COL_START:
		return table_i64(s->start);
	case COL_END:
		return table_i64(s->end);
	case COL_PID:
		return table_id(k ? k->pid : -1);
	case COL_TID:
		return table_id(k ? k->tid : -1);
	case COL_ID:
		return s->id ? table_u64(s->id) : (struct table_value){ 0 };
	default:
		return (struct table_value){ 0 };
	}
}

static void cell_text(const void *self, const void *row, int column, struct out *o)
{
	const struct counters *c = self;
	const struct series *s = row;
	const struct spur_track *k = trace_track(c->env->trace, s->track);
	const uint32_t id = column == COL_PROCESS ? (k ? k->name : 0)
			    : column == COL_NAME  ? s->name
						  : s->argument;
	size_t len;
	const char *p = trace_string(c->env->trace, id, &len);

	if (column == COL_SERIES)
		series_text(c, s, o);
	else
		out_bytes(o, p, len);
}

static enum spur_status read_options(struct counters *c)
{
	const struct render_options *opt = c->env->opt;
	const struct counters_options *own = counters_options(c->env);
	const char *by = own->by ? own->by : "process";

	c->by_track = strcmp(by, "track") == 0;
	if (!c->by_track && strcmp(by, "process") != 0)
		return err_set(c->env->err, SPUR_ERR_USAGE,
			       "--by: expected process or track, found \"%s\"", by);
	if (own->values && opt->form == FORM_JSON)
		return err_set(c->env->err, SPUR_ERR_USAGE,
			       "--values: expected --csv or --jsonl with it, found --json");
	c->table =
		(struct table){ .env = pass_render(c->env),
				.name = "counters",
				.columns = columns,
				.value = cell_value,
				.text = cell_text,
				.self = c,
				.head = c->by_track ? ",\"by\":\"track\"" : ",\"by\":\"process\"" };
	return table_options(&c->table,
			     opt->form == FORM_TEXT ? "samples,min,max,mean,last,pid,series"
			     : c->by_track ? "pid,tid,process,name,id,argument,samples,nan,min,max,"
					     "mean,last,start,end"
					   : "pid,process,name,id,argument,samples,nan,min,max,"
					     "mean,last,start,end",
			     c->by_track ? "pid,tid,name,id,argument" : "pid,name,id,argument");
}

static void counters_notes(const struct counters *c)
{
	struct out *o = c->env->notes;

	if (o && c->bare)
		out_printf(o, "spur: note: counter events without a number: %llu\n",
			   (unsigned long long)c->bare);
	if (o && c->beyond)
		out_printf(o, "spur: warning: samples of more than %d series, not counted: %llu\n",
			   SERIES_MAX, (unsigned long long)c->beyond);
}

static enum spur_status counters_read(struct counters *c)
{
	struct pass_env *env = c->env;
	enum spur_status st = read_options(c);

	if (st != SPUR_OK)
		return st;
	if (when_init(&c->table.when, env->trace,
		      env->opt->form == FORM_TEXT ? env->opt->time : TIME_RAW, env->err) != SPUR_OK)
		return SPUR_FAIL;
	if (counters_options(env)->values && env->opt->form != FORM_JSONL && !env->opt->continued)
		out_str(env->out, "time,series,value\n");
	if (pipe_run_merged(env->trace, &env->pipe, counter_rows, c) == SPUR_FAIL || c->failed)
		return err_nomem(env->err);
	counters_notes(c);
	if (counters_options(env)->values) {
		env->shown = env->opt->limit ? c->shown : 0;
		return SPUR_OK;
	}
	return table_write(&c->table, c->series, c->n, sizeof(*c->series));
}

static enum spur_status counters_run(struct pass_env *env)
{
	struct counters c = { .env = env };
	enum spur_status st;

	arena_init(&c.arena);
	st = counters_read(&c);
	if (st == SPUR_OK && !c.rows && !(env->pipe.stop && *env->pipe.stop))
		st = SPUR_WARN;
	mem_free(c.series);
	mem_free(c.owners);
	map64_free(&c.names);
	map64_free(&c.ids);
	map64_free(&c.groups);
	map64_free(&c.arguments);
	spur_args_free(&c.args);
	arena_free(&c.arena);
	return st;
}

const struct spur_pass spur_pass_counters = {
	.name = "counters",
	.no_spans = true,
	.limits_rows = true,
	.options_size = sizeof(struct counters_options),
	.run = counters_run,
};
