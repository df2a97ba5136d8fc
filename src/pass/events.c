/*
 * events: how many events there are of each name, kind, category, thread, CPU, stream, or of each
 * combination of these; when the first and the last of them came, and how often they came in
 * between. Every row that passes the filter counts once: BEGIN and END of a call are two events.
 * Looks at no arguments.
 *
 * Each worker has a table of its own, whose groups are found by numbers: of (first key, second
 * key), of (that number, third key), and so on. Strings, threads and streams are compared by their
 * ids.
 */
#include <stdio.h>
#include <string.h>

#include "base/map64.h"
#include "pass/events.h"
#include "render/cell.h"
#include "render/table.h"

enum key { KEY_NAME, KEY_KIND, KEY_CAT, KEY_THREAD, KEY_CPU, KEY_STREAM, KEYS };

enum { GROUPS_MAX = 1 << 22 };

struct group {
	uint32_t keys[KEYS]; /* by enum key; those that are not asked for are 0 */
	uint64_t events;
	int64_t first, last; /* ts */
};

/* Groups by their keys. */
struct group_table {
	struct group *groups;
	size_t n, cap;
	struct map64 numbers[KEYS]; /* (number so far, next key) -> number, from 1 on */
	size_t recent; /* the group used last */
	uint64_t beyond; /* events of more than GROUPS_MAX groups */
};

struct events {
	struct pass_env *env;
	int by[KEYS];
	size_t nby;
	struct table table;
	struct group_table all;
	char head[128];
	char fields[256];
};

struct worker {
	const struct events *events;
	struct group_table table;
	uint32_t *threads; /* track -> its thread + 1 */
	size_t threads_cap;
};

enum column {
	COL_EVENTS,
	COL_RATE,
	COL_FIRST,
	COL_LAST,
	COL_NAME,
	COL_KIND,
	COL_CAT,
	COL_PID,
	COL_TID,
	COL_THREAD,
	COL_CPU,
	COL_STREAM,
};

static const struct table_column columns[] = {
	[COL_EVENTS] = { "events", TABLE_COUNT },
	[COL_RATE] = { "rate", TABLE_MEAN },
	[COL_FIRST] = { "first", TABLE_WHEN },
	[COL_LAST] = { "last", TABLE_WHEN },
	[COL_NAME] = { "name", TABLE_TEXT },
	[COL_KIND] = { "kind", TABLE_TEXT },
	[COL_CAT] = { "cat", TABLE_TEXT },
	[COL_PID] = { "pid", TABLE_ID },
	[COL_TID] = { "tid", TABLE_ID },
	[COL_THREAD] = { "thread", TABLE_TEXT },
	[COL_CPU] = { "cpu", TABLE_ID },
	[COL_STREAM] = { "stream", TABLE_TEXT },
	{ 0 },
};

/* --by's words, and the columns that each stands for. */
static const char *const by_words[] = { "name", "kind", "cat", "thread", "cpu", "stream", NULL };
static const char *const by_columns[KEYS] = { "name", "kind",	"cat", "pid,tid,thread",
					      "cpu",  "stream" };

/* --- groups --- */

static bool group_has(const struct group *g, const uint32_t *keys)
{
	return memcmp(g->keys, keys, sizeof(g->keys)) == 0;
}

/* NULL: out of memory, or `beyond` says that there are too many. */
static struct group *group_find(struct group_table *t, const struct events *e, const uint32_t *keys,
				bool *failed)
{
	uint64_t number = 0;

	if (t->recent < t->n && group_has(&t->groups[t->recent], keys))
		return &t->groups[t->recent];
	for (size_t i = 0; i < e->nby; i++) {
		struct map64 *m = &t->numbers[i];
		struct map64_slot *slot = map64_find(m, number << 32 | keys[e->by[i]]);

		if (!slot && m->count >= GROUPS_MAX)
			return NULL;
		if (!slot && !(slot = map64_put(m, number << 32 | keys[e->by[i]]))) {
			*failed = true;
			return NULL;
		}
		if (!slot->value)
			slot->value = m->count;
		number = slot->value;
	}
	if (!mem_grow((void **)&t->groups, &t->cap, number, sizeof(*t->groups), GROUPS_MAX)) {
		*failed = true;
		return NULL;
	}
	if (number > t->n) {
		t->n = number;
		memcpy(t->groups[number - 1].keys, keys, sizeof(t->groups[0].keys));
	}
	t->recent = number - 1;
	return &t->groups[number - 1];
}

/* Adds events to their group. False: out of memory. */
static bool group_add(struct group_table *t, const struct events *e, const struct group *from)
{
	bool failed = false;
	struct group *g = group_find(t, e, from->keys, &failed);

	if (!g) {
		t->beyond += from->events;
		return !failed;
	}
	if (!g->events || from->first < g->first)
		g->first = from->first;
	if (!g->events || from->last > g->last)
		g->last = from->last;
	g->events += from->events;
	return true;
}

static void table_free(struct group_table *t)
{
	for (size_t i = 0; i < KEYS; i++)
		map64_free(&t->numbers[i]);
	mem_free(t->groups);
}

/* --- the rows --- */

/* The row's thread, or its track where that belongs to none. False: out of memory. */
static bool thread_of(struct worker *w, uint32_t track, uint32_t *thread)
{
	if (track >= w->threads_cap &&
	    !mem_grow((void **)&w->threads, &w->threads_cap, (size_t)track + 1,
		      sizeof(*w->threads), UINT32_MAX))
		return false;
	if (!w->threads[track]) {
		const uint32_t found = trace_thread_of(w->events->env->trace, track);

		w->threads[track] = (found == SPUR_NONE ? track : found) + 1;
	}
	*thread = w->threads[track] - 1;
	return true;
}

static bool keys_of(struct worker *w, const struct spur_event *row, uint32_t *keys)
{
	for (size_t i = 0; i < w->events->nby; i++)
		switch ((enum key)w->events->by[i]) {
		case KEY_NAME:
			keys[KEY_NAME] = row->name;
			break;
		case KEY_KIND:
			keys[KEY_KIND] = row->kind;
			break;
		case KEY_CAT:
			keys[KEY_CAT] = row->cat;
			break;
		case KEY_THREAD:
			if (!thread_of(w, row->track, &keys[KEY_THREAD]))
				return false;
			break;
		case KEY_CPU:
			keys[KEY_CPU] = row->cpu;
			break;
		default:
			keys[KEY_STREAM] = row->stream;
		}
	return true;
}

static bool event_rows(void *self, struct spur_event *rows, size_t n)
{
	struct worker *w = self;

	for (size_t i = 0; i < n; i++) {
		struct group one = { .events = 1, .first = rows[i].ts, .last = rows[i].ts };

		if (!keys_of(w, &rows[i], one.keys) || !group_add(&w->table, w->events, &one))
			return false;
	}
	return true;
}

/* --- the table --- */

/* Events a second from the first to the last: none for a single one, or for all at one time. */
static struct table_value group_rate(const struct group *g)
{
	const uint64_t ns = (uint64_t)g->last - (uint64_t)g->first;

	if (g->events < 2 || !ns)
		return (struct table_value){ 0 };
	return table_f64((double)((long double)(g->events - 1) * 1e9L / (long double)ns));
}

static struct table_value cell_value(const void *self, const void *row, int column)
{
	const struct events *e = self;
	const struct group *g = row;
	const struct spur_track *k = trace_track(e->env->trace, g->keys[KEY_THREAD]);

	switch ((enum column)column) {
	case COL_EVENTS:
		return table_u64(g->events);
	case COL_RATE:
		return group_rate(g);
	case COL_FIRST:
		return table_i64(g->first);
	case COL_LAST:
		return table_i64(g->last);
	case COL_PID:
		return table_id(k ? k->pid : -1);
	case COL_TID:
		return table_id(k ? k->tid : -1);
	case COL_CPU:
		return table_id(g->keys[KEY_CPU] == SPUR_NO_CPU ? -1 : (int64_t)g->keys[KEY_CPU]);
	default:
		return (struct table_value){ 0 };
	}
}

static void cell_text(const void *self, const void *row, int column, struct out *o)
{
	const struct events *e = self;
	const struct spur_trace *t = e->env->trace;
	const struct group *g = row;
	const struct spur_track *k = trace_track(t, g->keys[KEY_THREAD]);
	const struct spur_stream *s = trace_stream(t, g->keys[KEY_STREAM]);
	size_t len = 0;
	const char *p;

	if (column == COL_KIND) {
		out_str(o, spur_kind_name(g->keys[KEY_KIND]));
	} else if (column == COL_STREAM) {
		out_str(o, s ? s->path : "");
	} else {
		p = trace_string(t,
				column == COL_NAME     ? g->keys[KEY_NAME]
				: column == COL_CAT    ? g->keys[KEY_CAT]
				: k		       ? k->name
						       : 0,
				&len);
		out_bytes(o, p, len);
	}
}

/* Column lists: text has the keys on the right, data on the left. */
static void fields_make(struct events *e)
{
	static const char numbers[] = "events,rate,first,last";
	const bool text = e->env->opt->form == FORM_TEXT;
	size_t n = 0, h = 0;

	if (text)
		n += (size_t)snprintf(e->fields, sizeof(e->fields), "%s,", numbers);
	h += (size_t)snprintf(e->head, sizeof(e->head), ",\"by\":[");
	for (size_t i = 0; i < e->nby; i++) {
		n += (size_t)snprintf(e->fields + n, sizeof(e->fields) - n, "%s%s", i ? "," : "",
				      by_columns[e->by[i]]);
		h += (size_t)snprintf(e->head + h, sizeof(e->head) - h, "%s\"%s\"", i ? "," : "",
				      by_words[e->by[i]]);
	}
	snprintf(e->head + h, sizeof(e->head) - h, "]");
	if (!text)
		snprintf(e->fields + n, sizeof(e->fields) - n, ",%s", numbers);
}

static enum spur_status read_options(struct events *e)
{
	const struct events_options *own = events_options(e->env);
	bool given[KEYS] = { false };
	size_t n = 0;

	if (cell_list(own->by ? own->by : "name", by_words, "--by", e->by, KEYS, &e->nby,
		      e->env->err) == SPUR_FAIL)
		return SPUR_FAIL;
	for (size_t i = 0; i < e->nby; i++) {
		const int key = e->by[i] < 0 ? ~e->by[i] : e->by[i];

		if (!given[key])
			e->by[n++] = key;
		given[key] = true;
	}
	e->nby = n;
	fields_make(e);
	e->table = (struct table){ .env = pass_render(e->env),
				   .name = "events",
				   .columns = columns,
				   .value = cell_value,
				   .text = cell_text,
				   .self = e,
				   .head = e->head };
	return table_options(&e->table, e->fields, "events");
}

static enum spur_status events_read(struct events *e)
{
	static const struct pipe_fold fold = { .rows = event_rows };
	struct pass_env *env = e->env;
	struct pipe_options pipe = env->pipe;
	const unsigned n = pipe_workers(env->trace, &pipe);
	struct worker *workers = mem_array(n, sizeof(*workers));
	void **states = mem_array(n, sizeof(*states));
	bool good = workers && states;

	pipe.any_order = true;
	for (unsigned i = 0; good && i < n; i++) {
		workers[i].events = e;
		states[i] = &workers[i];
	}
	good = good && pipe_run_feeds(env->trace, &pipe, &fold, states) == SPUR_OK;
	for (unsigned i = 0; workers && i < n; i++) {
		struct group_table *t = &workers[i].table;

		if (!i) {
			e->all = *t;
			*t = (struct group_table){ 0 };
		}
		for (size_t k = 0; good && k < t->n; k++)
			good = group_add(&e->all, e, &t->groups[k]);
		e->all.beyond += t->beyond;
		table_free(t);
		mem_free(workers[i].threads);
	}
	mem_free(workers);
	mem_free(states);
	return good ? SPUR_OK : err_nomem(env->err);
}

static enum spur_status events_show(struct events *e)
{
	struct pass_env *env = e->env;
	enum spur_status st;

	if (env->notes && e->all.beyond)
		out_printf(env->notes,
			   "spur: warning: events of more than %d groups, not counted: %llu\n",
			   GROUPS_MAX, (unsigned long long)e->all.beyond);
	st = table_write(&e->table, e->all.groups, e->all.n, sizeof(*e->all.groups));
	if (st == SPUR_OK && !e->all.n && !(env->pipe.stop && *env->pipe.stop))
		return SPUR_WARN;
	return st;
}

static enum spur_status events_run(struct pass_env *env)
{
	struct events e = { .env = env };
	enum spur_status st = read_options(&e);

	if (st == SPUR_OK)
		st = when_init(&e.table.when, env->trace,
			       env->opt->form == FORM_TEXT ? env->opt->time : TIME_RAW, env->err);
	if (st == SPUR_OK)
		st = events_read(&e);
	if (st == SPUR_OK)
		st = events_show(&e);
	table_free(&e.all);
	return st;
}

const struct spur_pass spur_pass_events = {
	.name = "events",
	.options_size = sizeof(struct events_options),
	.run = events_run,
};
