/*
 * firefox: the processed profile of Firefox's profiler (version 48), which profiler.firefox.com
 * opens. Each track is a thread. The time between two events of a thread is a sample of the stack
 * that is open, with its length as weight; spans are interval markers, other events instant ones.
 *
 * A thread's tables are columns, so its events are walked once for each column.
 */
#include "base/key_index.h"
#include "export/profile/timeline.h"
#include "format/format.h"
#include "format/writer.h"

enum { STACKS = 1 << 20, LIMIT = 1 << 28, NS_OF_MS = 1000000 };

enum reason { LOST_ARGS = LOSS_OWN, LOST_PATH };
static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED, "arguments are not written" },
	{ LOSS_DEGRADED, "too many different stacks in the thread: counted for the caller" },
};

enum what { CLOSES, OPENS, HAPPENS };

struct record {
	int64_t at; /* ns, from write.zero */
	uint32_t name, cls; /* cls: 0: time off the CPU */
	uint8_t what; /* enum what */
};

/* The columns that depend on events. */
enum column {
	COUNT, /* none: makes the tables and counts */
	SAMPLE_STACK,
	SAMPLE_TIME,
	SAMPLE_WEIGHT,
	MARKER_NAME,
	MARKER_START,
	MARKER_END,
	MARKER_PHASE,
	MARKER_CATEGORY,
	MARKER_DATA,
};

/* A list of 32-bit numbers. */
struct list {
	uint32_t *items;
	size_t n, cap;
};

/* An open span. */
struct open_span {
	uint32_t stack;
	uint32_t name; /* index of the string */
	int64_t begin;
};

struct firefox {
	struct write *write;
	struct spur_trace *trace;
	struct timelines timelines;
	uint32_t off_cpu;
	/* Of the thread that is being written: */
	struct map64 strings, funcs; /* to index + 1 */
	struct key_index stacks; /* by prefix and function */
	struct list string_ids, func_names, func_files, func_lines; /* by index */
	struct list stack_prefixes, stack_funcs; /* prefixes are indices + 1 */
	struct open_span *open;
	size_t nopen, open_cap;
	enum column column;
	bool failed; /* out of memory */
	int64_t last; /* time of the previous event */
	uint64_t samples, markers; /* of the column so far */
};

/* --- rows --- */

struct firefox_lane {
	struct firefox *f;
	struct timeline_lane timelines;
};

static bool record_add(struct firefox_lane *l, const struct spur_event *row, struct record r)
{
	struct timeline *t = timeline_get(&l->timelines, row->track);

	if (__builtin_sub_overflow(row->ts, l->f->write->zero, &r.at))
		r.at = row->ts;
	if (!t)
		return false;
	if (t->first > r.at)
		t->first = r.at;
	return timeline_add(&l->timelines, t, r.at, &r, sizeof(r));
}

static bool firefox_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct firefox_lane *l = lane;
	const bool off_cpu = row->kind == SPUR_SWITCH, opens = off_cpu || row->kind == SPUR_BEGIN;

	(void)o;
	if (row->nargs && l->f->write->wants_args(l->f->write, row->cls))
		loss_add(&l->f->write->loss, LOST_ARGS, row->kind);
	return record_add(l, row,
			  (struct record){ .name = off_cpu ? l->f->off_cpu : row->name,
					   .cls = off_cpu ? 0 : row->cls,
					   .what = opens ? OPENS : HAPPENS });
}

static bool firefox_end(void *lane, const struct spur_event *row, const struct write_end *end,
			struct out *o)
{
	(void)o;
	(void)end;
	return record_add(lane, row, (struct record){ .what = CLOSES });
}

static void *firefox_lane(void *self, uint32_t track)
{
	struct firefox_lane *l = mem_alloc(sizeof(*l));

	(void)track;
	if (!l)
		return NULL;
	l->f = self;
	l->timelines.all = &l->f->timelines;
	return l;
}

static void firefox_lane_close(void *lane)
{
	struct firefox_lane *l = lane;

	timeline_lane_free(&l->timelines);
	mem_free(l);
}

/* --- tables --- */

static void list_add(struct firefox *f, struct list *l, uint32_t v)
{
	if (!mem_grow((void **)&l->items, &l->cap, l->n + 1, sizeof(v), LIMIT))
		f->failed = true;
	else
		l->items[l->n++] = v;
}

/* The index of a key, which *is_new says is to be added. */
static uint32_t index_of(struct firefox *f, struct map64 *m, uint64_t key, size_t next,
			 bool *is_new)
{
	struct map64_slot *slot = map64_put(m, key);

	*is_new = slot && !slot->value;
	if (*is_new)
		slot->value = next + 1;
	f->failed |= !slot;
	return slot ? (uint32_t)slot->value - 1 : 0;
}

static uint32_t string_of(struct firefox *f, uint32_t id)
{
	bool is_new;
	const uint32_t i = index_of(f, &f->strings, id, f->string_ids.n, &is_new);

	if (is_new)
		list_add(f, &f->string_ids, id);
	return i;
}

static uint32_t func_of(struct firefox *f, const struct record *r)
{
	bool is_new;
	const uint32_t i =
		index_of(f, &f->funcs, (uint64_t)r->name << 32 | r->cls, f->func_names.n, &is_new);
	const struct event_class *c = r->cls ? trace_class(f->trace, r->cls) : NULL;

	if (is_new) {
		list_add(f, &f->func_names, string_of(f, r->name));
		list_add(f, &f->func_files, c && c->file ? string_of(f, c->file) + 1 : 0);
		list_add(f, &f->func_lines, c ? c->line : 0);
	}
	return i;
}

static uint64_t stack_key(const void *firefox, uint32_t number)
{
	const struct firefox *f = firefox;

	return (uint64_t)f->stack_prefixes.items[number] << 32 | f->stack_funcs.items[number];
}

/* The stack of a function that is called on another; prefix: index + 1, or 0. */
static uint32_t stack_of(struct firefox *f, uint32_t prefix, const struct record *r)
{
	const uint32_t func = func_of(f, r), next = (uint32_t)f->stack_funcs.n;
	const uint32_t i = key_index_find(&f->stacks, (uint64_t)prefix << 32 | func, stack_key, f);

	if (i != KEY_INDEX_NONE)
		return i;
	if (next >= STACKS && prefix) {
		if (f->column == COUNT)
			loss_add(&f->write->loss, LOST_PATH, SPUR_BEGIN);
		return prefix - 1;
	}
	list_add(f, &f->stack_prefixes, prefix);
	list_add(f, &f->stack_funcs, func);
	if (!f->failed)
		f->failed = !key_index_add(&f->stacks, next, stack_key, f);
	return next;
}

/* --- columns --- */

/* Milliseconds, exact to the ns. */
static void ms_out(struct out *o, int64_t ns)
{
	const uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	char *w = out_room(o, 32);

	if (!w)
		return;
	if (ns < 0)
		*w++ = '-';
	w = put_u64(w, v / NS_OF_MS);
	*w++ = '.';
	out_to(o, put_u64_0(w, v % NS_OF_MS, 6));
}

/* The time since the previous event is one of the innermost span. */
static void sample_out(struct firefox *f, int64_t at)
{
	struct out *o = f->write->out;

	if (!f->nopen || at <= f->last)
		return;
	if (f->column >= SAMPLE_STACK && f->column <= SAMPLE_WEIGHT && f->samples)
		out_char(o, ',');
	f->samples++;
	if (f->column == SAMPLE_STACK)
		out_u64(o, f->open[f->nopen - 1].stack);
	else if (f->column == SAMPLE_TIME)
		ms_out(o, f->last);
	else if (f->column == SAMPLE_WEIGHT)
		ms_out(o, at - f->last);
}

static void marker_out(struct firefox *f, uint32_t name, int64_t begin, int64_t end, bool interval)
{
	struct out *o = f->write->out;

	if (f->column >= MARKER_NAME && f->markers)
		out_char(o, ',');
	f->markers++;
	if (f->column == MARKER_NAME)
		out_u64(o, name);
	else if (f->column == MARKER_START)
		ms_out(o, begin);
	else if (f->column == MARKER_END && interval)
		ms_out(o, end);
	else if (f->column == MARKER_END || f->column == MARKER_DATA)
		out_str(o, "null");
	else if (f->column == MARKER_PHASE || f->column == MARKER_CATEGORY)
		out_char(o, f->column == MARKER_PHASE && interval ? '1' : '0');
}

static bool each_record(void *self, const void *record)
{
	struct firefox *f = self;
	const struct record *r = record;
	const uint32_t name = r->what == CLOSES ? 0 : string_of(f, r->name);
	struct open_span *span;

	sample_out(f, r->at);
	if (r->what == HAPPENS) {
		marker_out(f, name, r->at, r->at, false);
	} else if (r->what == CLOSES && f->nopen) {
		span = &f->open[--f->nopen];
		marker_out(f, span->name, span->begin, r->at, true);
	} else if (r->what == OPENS) {
		if (!mem_grow((void **)&f->open, &f->open_cap, f->nopen + 1, sizeof(*f->open),
			      LIMIT))
			return false;
		span = &f->open[f->nopen];
		*span = (struct open_span){
			stack_of(f, f->nopen ? f->open[f->nopen - 1].stack + 1 : 0, r), name, r->at
		};
		f->nopen++;
	}
	f->last = r->at > f->last ? r->at : f->last;
	return !f->failed && !f->write->out->error;
}

/* Writes `"key":[values],` of a column; of COUNT nothing. */
static void column_out(struct firefox *f, const struct timeline *t, enum column column,
		       const char *key)
{
	struct out *o = f->write->out;

	f->column = column;
	f->nopen = 0;
	f->last = t->first;
	f->samples = f->markers = 0;
	if (column != COUNT)
		out_printf(o, "\"%s\":[", key);
	if (!timeline_walk(t, sizeof(struct record), each_record, f) && !o->error)
		f->failed = true;
	if (column != COUNT)
		out_str(o, "],");
}

/* A list as a column; `base` is subtracted, and less than it is null. */
static void list_out(const struct firefox *f, const char *key, const struct list *l, uint32_t base)
{
	struct out *o = f->write->out;

	out_printf(o, "\"%s\":[", key);
	for (size_t i = 0; i < l->n && !o->error; i++) {
		if (i)
			out_char(o, ',');
		if (l->items[i] < base)
			out_str(o, "null");
		else
			out_u64(o, l->items[i] - base);
	}
	out_str(o, "],");
}

/* A column of `n` equal values. */
static void same_out(const struct firefox *f, const char *key, const char *value, size_t n)
{
	struct out *o = f->write->out;

	out_printf(o, "\"%s\":[", key);
	for (size_t i = 0; i < n && !o->error; i++) {
		out_str(o, i ? "," : "");
		out_str(o, value);
	}
	out_str(o, "],");
}

static void numbers_out(const struct firefox *f, const char *key, size_t n)
{
	struct out *o = f->write->out;

	out_printf(o, "\"%s\":[", key);
	for (size_t i = 0; i < n && !o->error; i++) {
		out_str(o, i ? "," : "");
		out_u64(o, i);
	}
	out_str(o, "],");
}

/* --- a thread --- */

static void tables_out(const struct firefox *f)
{
	const size_t funcs = f->func_names.n, stacks = f->stack_funcs.n;
	struct out *o = f->write->out;

	/* A function has one frame, of its number. */
	out_str(o, "\"stackTable\":{");
	list_out(f, "frame", &f->stack_funcs, 0);
	list_out(f, "prefix", &f->stack_prefixes, 1);
	same_out(f, "category", "0", stacks);
	same_out(f, "subcategory", "0", stacks);
	out_printf(o, "\"length\":%zu},\n\"frameTable\":{", stacks);
	same_out(f, "address", "-1", funcs);
	same_out(f, "inlineDepth", "0", funcs);
	same_out(f, "category", "0", funcs);
	same_out(f, "subcategory", "0", funcs);
	numbers_out(f, "func", funcs);
	same_out(f, "nativeSymbol", "null", funcs);
	same_out(f, "innerWindowID", "0", funcs);
	same_out(f, "implementation", "null", funcs);
	list_out(f, "line", &f->func_lines, 1);
	same_out(f, "column", "null", funcs);
	out_printf(o, "\"length\":%zu},\n\"funcTable\":{", funcs);
	same_out(f, "isJS", "false", funcs);
	same_out(f, "relevantForJS", "false", funcs);
	list_out(f, "name", &f->func_names, 0);
	same_out(f, "resource", "-1", funcs);
	list_out(f, "fileName", &f->func_files, 1);
	list_out(f, "lineNumber", &f->func_lines, 1);
	same_out(f, "columnNumber", "null", funcs);
	out_printf(
		o,
		"\"length\":%zu},\n"
		"\"resourceTable\":{\"lib\":[],\"name\":[],\"host\":[],\"type\":[],\"length\":0},\n"
		"\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
		"\"functionSize\":[],\"length\":0},\n\"stringArray\":[",
		funcs);
	for (size_t i = 0; i < f->string_ids.n && !o->error; i++) {
		size_t len;
		const char *text = trace_string(f->trace, f->string_ids.items[i], &len);

		out_str(o, i ? "," : "");
		out_json(o, text, len);
	}
	out_char(o, ']');
}

static void thread_head_out(const struct firefox *f, const struct timeline *t)
{
	const struct spur_track *k = write_track(f->write, t->track);
	const int64_t pid = write_pid_of(f->write, t->track);
	struct out *o = f->write->out, name;

	out_to_memory(&name);
	timeline_name(f->write, t->track, &name);
	out_str(o, "{\"processType\":\"default\",\"processStartupTime\":0,"
		   "\"processShutdownTime\":null,\"registerTime\":");
	ms_out(o, t->first);
	out_str(o, ",\"unregisterTime\":null,\"pausedRanges\":[],\"name\":");
	out_json(o, name.buf ? name.buf : "", name.len);
	out_printf(o, ",\"isMainThread\":%s,\"pid\":\"%llu\",\"tid\":%llu,\n",
		   k->tid == pid ? "true" : "false", pid == -1 ? 0 : (unsigned long long)pid,
		   k->tid == -1 ? t->track : (unsigned long long)k->tid);
	out_free(&name);
}

static void thread_out(struct firefox *f, const struct timeline *t)
{
	struct out *o = f->write->out;

	thread_head_out(f, t);
	column_out(f, t, COUNT, NULL);
	out_str(o, "\"samples\":{");
	column_out(f, t, SAMPLE_STACK, "stack");
	column_out(f, t, SAMPLE_TIME, "time");
	column_out(f, t, SAMPLE_WEIGHT, "weight");
	out_printf(o, "\"weightType\":\"tracing-ms\",\"length\":%llu},\n\"markers\":{",
		   (unsigned long long)f->samples);
	column_out(f, t, MARKER_NAME, "name");
	column_out(f, t, MARKER_START, "startTime");
	column_out(f, t, MARKER_END, "endTime");
	column_out(f, t, MARKER_PHASE, "phase");
	column_out(f, t, MARKER_CATEGORY, "category");
	column_out(f, t, MARKER_DATA, "data");
	out_printf(o, "\"length\":%llu},\n", (unsigned long long)f->markers);
	tables_out(f);
	out_char(o, '}');
}

/* Frees what a thread needs, or keeps it for the next one. */
static void thread_clear(struct firefox *f)
{
	map64_free(&f->strings);
	map64_free(&f->funcs);
	key_index_free(&f->stacks);
	f->strings = f->funcs = (struct map64){ .cap = 0 };
	f->string_ids.n = f->func_names.n = f->func_files.n = f->func_lines.n = 0;
	f->stack_prefixes.n = f->stack_funcs.n = 0;
}

static void meta_out(const struct firefox *f)
{
	const struct clock_info *c = &f->trace->clock;
	struct out *o = f->write->out;
	int64_t start = 0;

	if (c->epoch_known && __builtin_add_overflow(c->epoch_ns, f->write->zero, &start))
		start = 0;
	out_str(o, "{\"meta\":{\"interval\":1,\"startTime\":");
	ms_out(o, start);
	out_printf(o,
		   ",\"abi\":\"\",\"misc\":\"\",\"oscpu\":\"\",\"platform\":\"\",\"processType\":0,"
		   "\"extensions\":{\"id\":[],\"name\":[],\"baseURL\":[],\"length\":0},"
		   "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":"
		   "[\"Other\"]}],\"product\":\"spur %s\",\"stackwalk\":0,\"toolkit\":\"\","
		   "\"version\":29,\"preprocessedProfileVersion\":48,\"symbolicated\":true,"
		   "\"markerSchema\":[]},\n\"libs\":[],\"pages\":[],\"threads\":[\n",
		   spur_version());
}

static bool firefox_finish(void *self)
{
	struct firefox *f = self;
	struct out *o = f->write->out;

	if (!timelines_sort(&f->timelines, f->trace))
		return false;
	meta_out(f);
	for (size_t i = 0; i < f->timelines.n && !f->failed && !o->error; i++) {
		out_str(o, i ? ",\n" : "");
		thread_out(f, f->timelines.items[i]);
		thread_clear(f);
	}
	out_str(o, "\n]}\n");
	return !f->failed;
}

static void firefox_close(void *self)
{
	struct firefox *f = self;

	thread_clear(f);
	mem_free(f->string_ids.items);
	mem_free(f->func_names.items);
	mem_free(f->func_files.items);
	mem_free(f->func_lines.items);
	mem_free(f->stack_prefixes.items);
	mem_free(f->stack_funcs.items);
	mem_free(f->open);
	timelines_free(&f->timelines);
	mem_free(f);
}

static void *firefox_open(struct write *w)
{
	struct firefox *f = mem_alloc(sizeof(*f));

	if (!f)
		return NULL;
	f->write = w;
	f->trace = w->trace;
	timelines_init(&f->timelines);
	f->off_cpu = trace_intern(f->trace, "(off CPU)");
	if (f->off_cpu)
		return f;
	firefox_close(f);
	return NULL;
}

static const char *const endings[] = { "firefox.json", NULL };

const struct spur_writer spur_writer_firefox = {
	.name = "firefox",
	.title = "Firefox's processed profile, which profiler.firefox.com opens",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_INSTANT, WRITE_WHOLE),
		  WRITE_FITS(SPUR_COUNTER, SPUR_NATIVE, WRITE_DEGRADED) },
	.degraded = "written as a marker; time off the CPU as a span",
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	/* Times are doubles in ms; below, they tell nanoseconds apart. */
	.exact_ns = ((int64_t)1 << 32) * NS_OF_MS,
	.spans = WRITE_SPANS_SPLIT,
	.open = firefox_open,
	.lane = firefox_lane,
	.row = firefox_row,
	.end = firefox_end,
	.lane_close = firefox_lane_close,
	.finish = firefox_finish,
	.close = firefox_close,
};
