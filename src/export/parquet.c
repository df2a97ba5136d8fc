/*
 * parquet: a directory of four Parquet files: events, spans, arguments and tracks. Events have
 * every row of the trace, numbered by time; spans refer to the events that begin and end them,
 * arguments to the event that has them.
 */
#include "export/parquet/table.h"
#include "format/format.h"
#include "format/writer.h"
#include "model/args.h"
#include "render/value.h"

enum { LIMIT = 1 << 27 };

enum reason { LOST_PAYLOAD = LOSS_OWN, LOST_TEXT };
static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED, "arguments are damaged: written as far as they can be read" },
	{ LOSS_DEGRADED, "texts are UTF-8: other bytes are written as \\xNN" },
};

enum file { EVENTS, SPANS, ARGUMENTS, TRACKS, FILES };
static const char *const file_names[FILES] = { "events.parquet", "spans.parquet",
					       "arguments.parquet", "tracks.parquet" };

enum {
	EVENT_NUMBER,
	EVENT_TIME,
	EVENT_DURATION,
	EVENT_KIND,
	EVENT_NAME,
	EVENT_CATEGORY,
	EVENT_TRACK,
	EVENT_CPU,
	EVENT_ID,
	EVENT_FLAGS,
	EVENT_COLUMNS,
};
static const struct column_def event_columns[EVENT_COLUMNS] = {
	[EVENT_NUMBER] = { "event", COLUMN_INT, false },
	[EVENT_TIME] = { "ts", COLUMN_TIME, false },
	[EVENT_DURATION] = { "dur", COLUMN_INT, true },
	[EVENT_KIND] = { "kind", COLUMN_NAME, false },
	[EVENT_NAME] = { "name", COLUMN_NAME, false },
	[EVENT_CATEGORY] = { "category", COLUMN_NAME, true },
	[EVENT_TRACK] = { "track", COLUMN_INT, false },
	[EVENT_CPU] = { "cpu", COLUMN_INT, true },
	[EVENT_ID] = { "id", COLUMN_UINT, true },
	[EVENT_FLAGS] = { "flags", COLUMN_INT, false },
};

enum {
	SPAN_EVENT,
	SPAN_END,
	SPAN_PARENT,
	SPAN_TIME,
	SPAN_DURATION,
	SPAN_NAME,
	SPAN_CATEGORY,
	SPAN_TRACK,
	SPAN_DEPTH,
	SPAN_UNFINISHED,
	SPAN_COLUMNS,
};
static const struct column_def span_columns[SPAN_COLUMNS] = {
	[SPAN_EVENT] = { "event", COLUMN_INT, false },
	[SPAN_END] = { "end_event", COLUMN_INT, true },
	[SPAN_PARENT] = { "parent", COLUMN_INT, true },
	[SPAN_TIME] = { "ts", COLUMN_TIME, false },
	[SPAN_DURATION] = { "dur", COLUMN_INT, false },
	[SPAN_NAME] = { "name", COLUMN_NAME, false },
	[SPAN_CATEGORY] = { "category", COLUMN_NAME, true },
	[SPAN_TRACK] = { "track", COLUMN_INT, false },
	[SPAN_DEPTH] = { "depth", COLUMN_INT, false },
	[SPAN_UNFINISHED] = { "unfinished", COLUMN_INT, false },
};

enum {
	ARG_EVENT,
	ARG_NAME,
	ARG_TYPE,
	ARG_INT,
	ARG_UINT,
	ARG_DOUBLE,
	ARG_TEXT,
	ARG_BYTES,
	ARG_COLUMNS,
};
static const struct column_def arg_columns[ARG_COLUMNS] = {
	[ARG_EVENT] = { "event", COLUMN_INT, false },
	[ARG_NAME] = { "name", COLUMN_NAME, false },
	[ARG_TYPE] = { "type", COLUMN_NAME, false },
	[ARG_INT] = { "int", COLUMN_INT, true },
	[ARG_UINT] = { "uint", COLUMN_UINT, true },
	[ARG_DOUBLE] = { "double", COLUMN_DOUBLE, true },
	[ARG_TEXT] = { "text", COLUMN_TEXT, true },
	[ARG_BYTES] = { "bytes", COLUMN_BYTES, true },
};

enum {
	TRACK_NUMBER,
	TRACK_PARENT,
	TRACK_KIND,
	TRACK_NAME,
	TRACK_PID,
	TRACK_TID,
	TRACK_CPU,
	TRACK_COLUMNS,
};
static const struct column_def track_columns[TRACK_COLUMNS] = {
	[TRACK_NUMBER] = { "track", COLUMN_INT, false },
	[TRACK_PARENT] = { "parent", COLUMN_INT, true },
	[TRACK_KIND] = { "kind", COLUMN_NAME, false },
	[TRACK_NAME] = { "name", COLUMN_NAME, true },
	[TRACK_PID] = { "pid", COLUMN_UINT, true },
	[TRACK_TID] = { "tid", COLUMN_UINT, true },
	[TRACK_CPU] = { "cpu", COLUMN_INT, true },
};

static const struct {
	const struct column_def *defs;
	size_t n;
} columns[FILES] = { { event_columns, EVENT_COLUMNS },
		     { span_columns, SPAN_COLUMNS },
		     { arg_columns, ARG_COLUMNS },
		     { track_columns, TRACK_COLUMNS } };

static const char *const type_names[] = {
	[SPUR_NULL] = "null",	[SPUR_I64] = "i64",	    [SPUR_U64] = "u64",
	[SPUR_F64] = "f64",	[SPUR_BOOL] = "bool",	    [SPUR_STRING] = "string",
	[SPUR_BYTES] = "bytes", [SPUR_POINTER] = "pointer", [SPUR_KOID] = "koid",
	[SPUR_ENUM] = "enum",	[SPUR_STRUCT] = "struct",   [SPUR_ARRAY] = "array",
};
static const char *const track_kinds[] = { "process", "thread", "cpu",	    "async",
					   "counter", "other",	"provider", "lane" };
enum {
	TYPES = sizeof(type_names) / sizeof(type_names[0]),
	TRACK_KINDS = sizeof(track_kinds) / sizeof(track_kinds[0]),
};

/* An open span. */
struct open_span {
	uint64_t event;
	uint32_t cat;
};

struct stack {
	struct open_span *spans;
	size_t n, cap;
};

struct parquet {
	struct write *write;
	struct spur_trace *trace;
	struct table tables[FILES];
	size_t opened; /* files */
	uint64_t events;
	struct arena arena; /* of struct stack, in scratch memory */
	struct map64 stacks; /* track to struct stack */
	struct mem_spare spare; /* arrays `spans` of tracks without open spans */
	struct map64 numbers; /* track to its number + 1, in the order in which events name them */
	uint32_t *tracks;
	size_t ntracks, tracks_cap;
	uint32_t kinds[SPUR_KINDS], types[TYPES], track_kinds[TRACK_KINDS]; /* string ids */
	struct value_writer values;
	struct out text; /* of a structure or an array */
	struct spur_args args;
};

static uint64_t time_of(const struct parquet *p, int64_t ts)
{
	const struct clock_info *c = &p->trace->clock;

	return c->epoch_known ? (uint64_t)ts + (uint64_t)c->epoch_ns
			      : (uint64_t)ts - (uint64_t)p->write->zero;
}

static void optional(struct table *t, size_t column, bool has, uint64_t v)
{
	if (has)
		table_number(t, column, v);
	else
		table_null(t, column);
}

static void optional_name(struct table *t, size_t column, uint32_t string)
{
	if (string)
		table_name(t, column, string);
	else
		table_null(t, column);
}

/* The number of a track, whose parents get lower ones. Returns UINT64_MAX if out of memory. */
static uint64_t track_number(struct parquet *p, uint32_t track)
{
	const struct map64_slot *seen = map64_find(&p->numbers, track);
	uint32_t chain[WRITE_PARENTS];
	size_t n = 0;

	if (seen)
		return seen->value - 1;
	while (n < WRITE_PARENTS && track != SPUR_NONE && !map64_find(&p->numbers, track)) {
		chain[n++] = track;
		track = trace_track(p->trace, track)->parent;
	}
	while (n--) {
		struct map64_slot *slot = map64_put(&p->numbers, chain[n]);

		if (!slot || !mem_table_grow((void **)&p->tracks, &p->tracks_cap, p->ntracks + 1,
					     sizeof(*p->tracks), LIMIT))
			return UINT64_MAX;
		p->tracks[p->ntracks++] = chain[n];
		slot->value = p->ntracks;
	}
	return p->ntracks - 1;
}

/* --- arguments --- */

static void value_columns(struct parquet *p, const struct spur_value *v, unsigned kind)
{
	struct table *t = &p->tables[ARGUMENTS];
	const unsigned type = v->type;
	const bool is_list = type == SPUR_STRUCT || type == SPUR_ARRAY;
	bool good = true;

	optional(t, ARG_INT, type == SPUR_I64 || type == SPUR_ENUM, (uint64_t)v->i);
	optional(t, ARG_UINT,
		 type == SPUR_U64 || type == SPUR_BOOL || type == SPUR_POINTER || type == SPUR_KOID,
		 v->u);
	if (type == SPUR_F64)
		table_double(t, ARG_DOUBLE, v->f);
	else
		table_null(t, ARG_DOUBLE);
	if (is_list) {
		out_clear(&p->text);
		value_json(&p->values, v, &p->text);
		t->failed |= p->text.error != 0;
		good = table_text(t, ARG_TEXT, p->text.buf, p->text.len);
	} else if (type == SPUR_STRING) {
		good = table_text(t, ARG_TEXT, v->text, v->count);
	} else if (v->label && type != SPUR_BYTES && type != SPUR_NULL) {
		good = table_text(t, ARG_TEXT, v->label, strlen(v->label));
	} else {
		table_null(t, ARG_TEXT);
	}
	if (type == SPUR_BYTES)
		table_text(t, ARG_BYTES, v->text, v->count);
	else
		table_null(t, ARG_BYTES);
	if (!good)
		loss_add(&p->write->loss, LOST_TEXT, kind);
}

/* Returns false if out of memory. */
static bool args_out(struct parquet *p, const struct spur_event *row)
{
	struct table *t = &p->tables[ARGUMENTS];
	const struct write *w = p->write;
	enum spur_status st;

	if (!row->nargs || !w->wants_args(w, row->cls))
		return true;
	st = w->args(w, row, &p->args);
	if (st == SPUR_FAIL)
		return false;
	if (st == SPUR_WARN)
		loss_add(&p->write->loss, LOST_PAYLOAD, row->kind);
	for (size_t i = 0; i < p->args.count; i++) {
		const struct spur_value *v = &p->args.items[i];

		table_number(t, ARG_EVENT, p->events);
		table_name(t, ARG_NAME, v->name);
		table_name(t, ARG_TYPE, p->types[v->type]);
		value_columns(p, v, row->kind);
		table_row(t);
	}
	return !t->failed;
}

/* --- events and spans --- */

/* Returns false if out of memory. */
static bool event_out(struct parquet *p, const struct spur_event *row)
{
	struct table *t = &p->tables[EVENTS];
	const uint64_t track = track_number(p, row->track);

	table_number(t, EVENT_NUMBER, p->events);
	table_number(t, EVENT_TIME, time_of(p, row->ts));
	optional(t, EVENT_DURATION, row->kind == SPUR_SPAN || row->kind == SPUR_SAMPLE,
		 (uint64_t)row->dur);
	table_name(t, EVENT_KIND, p->kinds[row->kind]);
	table_name(t, EVENT_NAME, row->name);
	optional_name(t, EVENT_CATEGORY, row->cat);
	table_number(t, EVENT_TRACK, track);
	optional(t, EVENT_CPU, row->cpu != SPUR_NO_CPU, row->cpu);
	optional(t, EVENT_ID, row_has_id(row), row->id);
	table_number(t, EVENT_FLAGS, row->flags);
	table_row(t);
	return track != UINT64_MAX && !t->failed && args_out(p, row);
}

/* Returns NULL if out of memory. */
static struct stack *stack_of(struct parquet *p, uint32_t track)
{
	struct map64_slot *slot = map64_put(&p->stacks, track);

	if (slot && !slot->value)
		slot->value = (uintptr_t)arena_alloc(&p->arena, sizeof(struct stack));
	return slot ? (struct stack *)(uintptr_t)slot->value : NULL;
}

/* A span. `s`: the spans around it. */
struct span {
	const struct stack *s;
	uint64_t event, end; /* end: UINT64_MAX: none */
	int64_t begin;
	uint64_t dur;
	uint32_t name, cat, track;
	bool unfinished;
};

static bool span_out(struct parquet *p, const struct span *s)
{
	struct table *t = &p->tables[SPANS];
	const size_t depth = s->s->n;

	table_number(t, SPAN_EVENT, s->event);
	optional(t, SPAN_END, s->end != UINT64_MAX, s->end);
	optional(t, SPAN_PARENT, depth, depth ? s->s->spans[depth - 1].event : 0);
	table_number(t, SPAN_TIME, time_of(p, s->begin));
	table_number(t, SPAN_DURATION, s->dur);
	table_name(t, SPAN_NAME, s->name);
	optional_name(t, SPAN_CATEGORY, s->cat);
	table_number(t, SPAN_TRACK, track_number(p, s->track));
	table_number(t, SPAN_DEPTH, depth);
	table_number(t, SPAN_UNFINISHED, s->unfinished);
	table_row(t);
	return !t->failed;
}

static bool parquet_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct parquet *p = lane;
	struct stack *s = stack_of(p, row->track);
	bool good = s && event_out(p, row);

	(void)o;
	if (good && row->kind == SPUR_BEGIN) {
		if (!s->spans)
			mem_spare_take(&p->spare, (void **)&s->spans, &s->cap);
		/* Of very many tracks most have few open spans. */
		good = mem_grow((void **)&s->spans, &s->cap, s->n + 1, sizeof(*s->spans),
				s->cap ? LIMIT : 4);
		if (good)
			s->spans[s->n++] = (struct open_span){ p->events, row->cat };
	} else if (good && row->kind == SPUR_SPAN) {
		const struct span span = { .s = s,
					   .event = p->events,
					   .end = UINT64_MAX,
					   .begin = row->ts,
					   .dur = row->dur > 0 ? (uint64_t)row->dur : 0,
					   .name = row->name,
					   .cat = row->cat,
					   .track = row->track };

		good = span_out(p, &span);
	}
	p->events++;
	return good;
}

static bool parquet_end(void *lane, const struct spur_event *row, const struct write_end *end,
			struct out *o)
{
	struct parquet *p = lane;
	struct stack *s = stack_of(p, row->track);
	struct span span = { .s = s,
			     .end = end->implied ? UINT64_MAX : p->events,
			     .begin = end->begin,
			     .dur = row->ts > end->begin ? (uint64_t)row->ts - (uint64_t)end->begin
							 : 0,
			     .name = end->name,
			     .track = row->track,
			     .unfinished = end->unfinished };

	(void)o;
	if (!s || !s->n)
		return s;
	s->n--;
	span.event = s->spans[s->n].event;
	span.cat = s->spans[s->n].cat;
	if (!s->n)
		mem_spare_put(&p->spare, (void **)&s->spans, &s->cap);
	if (!span_out(p, &span) || (!end->implied && !event_out(p, row)))
		return false;
	p->events += !end->implied;
	return true;
}

/* --- the writer --- */

/* The tracks that events name, and those above them. */
static void tracks_out(struct parquet *p)
{
	struct table *t = &p->tables[TRACKS];

	for (size_t i = 0; i < p->ntracks; i++) {
		const struct spur_track *k = write_track(p->write, p->tracks[i]);

		table_number(t, TRACK_NUMBER, i);
		optional(t, TRACK_PARENT, k->parent != SPUR_NONE,
			 k->parent != SPUR_NONE ? track_number(p, k->parent) : 0);
		table_name(t, TRACK_KIND, p->track_kinds[k->kind]);
		optional_name(t, TRACK_NAME, k->name);
		optional(t, TRACK_PID, k->pid != -1, (uint64_t)k->pid);
		optional(t, TRACK_TID, k->tid != -1, (uint64_t)k->tid);
		optional(t, TRACK_CPU, k->cpu != -1, (uint64_t)(int64_t)k->cpu);
		table_row(t);
	}
}

static bool parquet_finish(void *self)
{
	struct parquet *p = self;
	bool good = true;

	tracks_out(p);
	for (size_t i = 0; i < FILES; i++)
		good = table_end(&p->tables[i]) && good;
	for (; good && p->opened; p->opened--)
		good = outdir_finish(p->write->dir, file_names[p->opened - 1],
				     &p->tables[p->opened - 1].file, &p->write->error) != SPUR_FAIL;
	return good;
}

static void parquet_close(void *self)
{
	struct parquet *p = self;
	struct map64_slot *slot;
	struct spur_error ignored;
	size_t at = 0;

	for (; p->opened; p->opened--)
		outdir_finish(p->write->dir, file_names[p->opened - 1],
			      &p->tables[p->opened - 1].file, &ignored);
	for (size_t i = 0; i < FILES; i++)
		table_free(&p->tables[i]);
	while ((slot = map64_next(&p->stacks, &at))) {
		struct stack *s = (struct stack *)(uintptr_t)slot->value;

		if (s)
			mem_free(s->spans);
	}
	arena_free(&p->arena);
	mem_spare_free(&p->spare);
	map64_free(&p->stacks);
	map64_free(&p->numbers);
	mem_table_free(p->tracks, p->tracks_cap, sizeof(*p->tracks));
	value_writer_close(&p->values);
	out_free(&p->text);
	spur_args_free(&p->args);
	mem_free(p);
}

/* Returns false if out of memory. */
static bool words_intern(struct parquet *p)
{
	bool good = true;

	for (unsigned i = 0; i < SPUR_KINDS; i++)
		good &= (p->kinds[i] = trace_intern(p->trace, spur_kind_name(i))) != 0;
	for (unsigned i = 0; i < TYPES; i++)
		good &= (p->types[i] = trace_intern(p->trace, type_names[i])) != 0;
	for (unsigned i = 0; i < TRACK_KINDS; i++)
		good &= (p->track_kinds[i] = trace_intern(p->trace, track_kinds[i])) != 0;
	return good;
}

static void *parquet_open(struct write *w)
{
	struct parquet *p = mem_alloc(sizeof(*p));
	bool good;

	if (!p)
		return NULL;
	p->write = w;
	p->trace = w->trace;
	arena_init_scratch(&p->arena);
	out_to_memory(&p->text);
	good = value_writer_open(&p->values, p->trace, VALUE_JSON) && words_intern(p);
	while (good && p->opened < FILES) {
		struct table *t = &p->tables[p->opened];

		good = outdir_create(w->dir, file_names[p->opened], &t->file, &w->error) !=
		       SPUR_FAIL;
		if (good)
			table_begin(t, p->trace, columns[p->opened].defs, columns[p->opened].n);
		p->opened += good;
	}
	if (good)
		return p;
	parquet_close(p);
	return NULL;
}

static const char *const endings[] = { "parquet", NULL };

const struct spur_writer spur_writer_parquet = {
	.name = "parquet",
	.title = "directory of Parquet files: events, spans, arguments and tracks",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_NATIVE, WRITE_WHOLE) },
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	.spans = WRITE_SPANS_STORED,
	.switches = WRITE_SWITCHES_ROWS,
	.takes_orphans = true,
	.merged = true,
	.is_dir = true,
	.piece = 1,
	.open = parquet_open,
	.row = parquet_row,
	.end = parquet_end,
	.finish = parquet_finish,
	.close = parquet_close,
};
