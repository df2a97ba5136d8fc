/*
 * otlp: OpenTelemetry's protocol as lines of JSON, as its file exporter writes it and the
 * collector's otlpjsonfile receiver reads it: each line is an ExportTraceServiceRequest with one
 * span. Spans nest by parentSpanId; what happens inside a span is an event of it.
 *
 * Ids are hashes of what they stand for, so that the same trace has the same ids. A trace id stands
 * for a process.
 *
 * All rows come by time, since the ends of async spans may be on other threads than their begins.
 * Until a span ends, its begin is kept, and the text of its events up to EVENTS bytes for all open
 * spans of a track. An event beyond that, or outside any span, is a span without a length.
 */
#include "base/fnv.h"
#include "base/map64.h"
#include "base/text.h"
#include "flow/join.h"
#include "format/format.h"
#include "format/writer.h"
#include "model/args.h"

enum {
	EVENTS = 64 << 10, /* bytes of the events of a track's open spans */
	ASYNCS = 1 << 18, /* async spans that are open at a time */
	LIMIT = 1 << 27,
	NESTING = 32, /* of arguments */
	KIND_INTERNAL = 1, /* Span.SpanKind */
};

enum reason {
	LOST_EPOCH = LOSS_OWN,
	LOST_TIME,
	LOST_UNSIGNED,
	LOST_TEXT,
	LOST_PAYLOAD,
	LOST_ASYNC,
	LOST_ASYNC_OPEN
};
static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED, "the time of day is unknown: times are those of the trace's clock" },
	{ LOSS_DEGRADED, "the format has no times before 1970: written at its start" },
	{ LOSS_DEGRADED, "the format has no numbers beyond 2^63 - 1: written as text" },
	{ LOSS_DEGRADED, "texts are UTF-8: other bytes are written as \\xNN" },
	{ LOSS_DEGRADED, "arguments are damaged: written as far as they can be read" },
	{ LOSS_DEGRADED, "an async event has no counterpart: written as a span without a length" },
	{ LOSS_DEGRADED, "an async span is open when the data ends: ended there" },
};

/* An open span. */
struct open_span {
	struct spur_event begin;
	uint64_t id;
	size_t events; /* where its events begin in the text of the track */
};

struct thread {
	uint64_t trace[2]; /* trace id */
	struct open_span *spans;
	size_t n, cap;
	struct out events; /* of all open spans: those of the innermost one are the last */
	uint64_t count; /* spans so far */
};

struct async {
	struct spur_event begin;
	uint32_t process;
	uint32_t next; /* open one with the same hash, or free one; + 1 */
	uint64_t id, parent;
};

struct otlp {
	struct write *write;
	struct spur_trace *trace;
	uint32_t off_cpu; /* string id */
	struct arena threads; /* in scratch memory */
	struct map64 by_track; /* track to struct thread */
	struct mem_spare spare; /* arrays `spans` of threads without open spans */
	struct out spare_events; /* the buffer of the text of one of these */
	struct map64 by_hash; /* hash of an async span to its number + 1 */
	struct async *asyncs;
	size_t nasyncs, asyncs_cap;
	uint32_t free_async; /* + 1 */
	int64_t last; /* time of the latest row */
	struct out safe; /* of a text that is not UTF-8 */
	struct spur_args args, end_args;
};

/* --- texts --- */

static void text_out(struct otlp *p, const char *s, size_t len, unsigned kind, struct out *o)
{
	if (out_json_plain(o, s, len))
		return;
	if (utf8_all_valid(s, len)) {
		out_json(o, s, len);
		return;
	}
	loss_add(&p->write->loss, LOST_TEXT, kind);
	out_clear(&p->safe);
	out_safe(&p->safe, s, len);
	out_json(o, p->safe.buf, p->safe.len);
	o->error = o->error ? o->error : p->safe.error;
}

static void string_out(struct otlp *p, uint32_t string, unsigned kind, struct out *o)
{
	size_t len;
	const char *s = trace_string(p->trace, string, &len);

	text_out(p, s, len, kind, o);
}

static void id_out(uint64_t id, struct out *o)
{
	out_printf(o, "%016llx", (unsigned long long)id);
}

/* Times are decimal numbers in quotes, as all 64-bit numbers of protobuf's JSON. */
static void time_out(struct otlp *p, const char *key, int64_t ts, unsigned kind, struct out *o)
{
	const struct clock_info *c = &p->trace->clock;
	int64_t t;

	if (c->epoch_known ? __builtin_add_overflow(ts, c->epoch_ns, &t)
			   : __builtin_sub_overflow(ts, p->write->zero, &t))
		t = -1;
	if (t < 0) {
		loss_add(&p->write->loss, LOST_TIME, kind);
		t = 0;
	}
	out_str(o, key);
	out_i64(o, t);
	out_char(o, '"');
}

/* --- attributes --- */

/* A list of attributes: `n` counts them. */
static void key_out(struct otlp *p, const char *key, size_t len, unsigned kind, size_t *n,
		    struct out *o)
{
	out_str(o, (*n)++ ? ",{\"key\":" : "{\"key\":");
	text_out(p, key, len, kind, o);
	out_str(o, ",\"value\":");
}

static void attribute_int(struct otlp *p, const char *key, int64_t v, size_t *n, struct out *o)
{
	key_out(p, key, strlen(key), 0, n, o);
	out_str(o, "{\"intValue\":\"");
	out_i64(o, v);
	out_str(o, "\"}}");
}

static void attribute_string(struct otlp *p, const char *key, uint32_t string, unsigned kind,
			     size_t *n, struct out *o)
{
	if (!string)
		return;
	key_out(p, key, strlen(key), kind, n, o);
	out_str(o, "{\"stringValue\":");
	string_out(p, string, kind, o);
	out_str(o, "}}");
}

static void attribute_word(struct otlp *p, const char *key, const char *value, size_t *n,
			   struct out *o)
{
	key_out(p, key, strlen(key), 0, n, o);
	out_printf(o, "{\"stringValue\":\"%s\"}}", value);
}

static void base64_out(const struct spur_value *v, struct out *o)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *s = (const uint8_t *)v->text;

	for (uint32_t i = 0; i < v->count; i += 3) {
		const uint32_t left = v->count - i;
		const uint32_t bits = (uint32_t)s[i] << 16 |
				      (left > 1 ? (uint32_t)s[i + 1] << 8 : 0) |
				      (left > 2 ? s[i + 2] : 0);
		const char four[4] = { digits[bits >> 18], digits[bits >> 12 & 63],
				       left > 1 ? digits[bits >> 6 & 63] : '=',
				       left > 2 ? digits[bits & 63] : '=' };

		out_bytes(o, four, sizeof(four));
	}
}

static void double_out(double v, struct out *o)
{
	out_str(o, "\"doubleValue\":");
	if (v != v)
		out_str(o, "\"NaN\"");
	else if (v - v != 0)
		out_str(o, v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
	else
		out_json_double(o, v, false);
}

static void unsigned_out(struct otlp *p, uint64_t v, unsigned kind, struct out *o)
{
	const bool fits = v <= INT64_MAX;

	if (!fits)
		loss_add(&p->write->loss, LOST_UNSIGNED, kind);
	out_str(o, fits ? "\"intValue\":\"" : "\"stringValue\":\"");
	out_u64(o, v);
	out_char(o, '"');
}

/* The member of an AnyValue that a value other than a list has; null has none. */
static void scalar_out(struct otlp *p, const struct spur_value *v, unsigned kind, struct out *o)
{
	switch ((enum spur_type)v->type) {
	case SPUR_I64:
		out_printf(o, "\"intValue\":\"%lld\"", (long long)v->i);
		break;
	case SPUR_U64:
	case SPUR_POINTER:
	case SPUR_KOID:
		unsigned_out(p, v->u, kind, o);
		break;
	case SPUR_F64:
		double_out(v->f, o);
		break;
	case SPUR_BOOL:
		out_str(o, v->u ? "\"boolValue\":true" : "\"boolValue\":false");
		break;
	case SPUR_ENUM:
		if (!v->label) {
			out_printf(o, "\"intValue\":\"%lld\"", (long long)v->i);
			break;
		}
		out_str(o, "\"stringValue\":");
		text_out(p, v->label, strlen(v->label), kind, o);
		break;
	case SPUR_STRING:
		out_str(o, "\"stringValue\":");
		text_out(p, v->text, v->count, kind, o);
		break;
	case SPUR_BYTES:
		out_str(o, "\"bytesValue\":\"");
		base64_out(v, o);
		out_char(o, '"');
		break;
	case SPUR_NULL:
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		break;
	}
}

static void value_out(struct otlp *p, const struct spur_value *v, unsigned kind, unsigned depth,
		      struct out *o)
{
	const bool is_struct = v->type == SPUR_STRUCT, is_array = v->type == SPUR_ARRAY;
	size_t n = 0;

	out_char(o, '{');
	if ((is_struct || is_array) && depth < NESTING) {
		out_str(o, is_struct ? "\"kvlistValue\":{\"values\":["
				     : "\"arrayValue\":{\"values\":[");
		for (uint32_t i = 0; i < v->count; i++) {
			size_t len;
			const char *name = trace_string(p->trace, v->items[i].name, &len);

			if (is_struct)
				key_out(p, name, len, kind, &n, o);
			else if (i)
				out_char(o, ',');
			value_out(p, &v->items[i], kind, depth + 1, o);
			if (is_struct)
				out_char(o, '}');
		}
		out_str(o, "]}");
	} else {
		scalar_out(p, v, kind, o);
	}
	out_char(o, '}');
}

/* Reads the arguments of a row. Returns false if out of memory. */
static bool args_read(struct otlp *p, const struct spur_event *row, struct spur_args *args)
{
	const struct write *w = p->write;
	enum spur_status st;

	args_reset(args);
	if (!row->nargs || !w->wants_args(w, row->cls))
		return true;
	st = w->args(w, row, args);
	if (st == SPUR_WARN)
		loss_add(&p->write->loss, LOST_PAYLOAD, row->kind);
	return st != SPUR_FAIL;
}

static bool has_name(const struct spur_args *args, uint32_t name)
{
	for (size_t i = 0; i < args->count; i++)
		if (args->items[i].name == name)
			return true;
	return false;
}

/*
 * Arguments as attributes. Those whose name an argument of `before` (may be NULL) has are named
 * end.NAME.
 */
static void args_out(struct otlp *p, const struct spur_args *args, const struct spur_args *before,
		     unsigned kind, size_t *n, struct out *o)
{
	for (size_t i = 0; i < args->count; i++) {
		const struct spur_value *v = &args->items[i];
		char own[40];
		size_t len;
		const char *name = trace_string(p->trace, v->name, &len);

		if (!len) {
			len = (size_t)(put_u64(own + 3, i + 1) - own);
			name = memcpy(own, "arg", 3);
		}
		out_str(o, (*n)++ ? ",{\"key\":" : "{\"key\":");
		if (before && has_name(before, v->name)) {
			out_clear(&p->safe);
			out_str(&p->safe, "end.");
			out_safe(&p->safe, name, len);
			out_json(o, p->safe.buf, p->safe.len);
		} else {
			text_out(p, name, len, kind, o);
		}
		out_str(o, ",\"value\":");
		value_out(p, v, kind, 0, o);
		out_char(o, '}');
	}
}

/* What rows have beside arguments. */
static void members_out(struct otlp *p, const struct spur_event *row, size_t *n, struct out *o)
{
	const bool has_id = row->kind >= SPUR_ASYNC_BEGIN && row->kind <= SPUR_FLOW_END;

	attribute_string(p, "spur.category", row->cat, row->kind, n, o);
	if (row->cpu != SPUR_NO_CPU)
		attribute_int(p, "cpu.logical_number", row->cpu, n, o);
	if (has_id || row->kind == SPUR_LOST) {
		key_out(p, "spur.id", 7, row->kind, n, o);
		out_char(o, '{');
		unsigned_out(p, row->id, row->kind, o);
		out_str(o, "}}");
	}
}

/* --- threads and processes --- */

static uint64_t name_hash(const struct otlp *p, uint64_t h, uint32_t string)
{
	size_t len;
	const char *s = trace_string(p->trace, string, &len);

	return fnv_bytes(fnv_u64(h, len), s, len);
}

/* The second half of a trace id is the hash of the process, the first one that of the half. */
static void trace_id(const struct otlp *p, uint32_t track, uint64_t id[2])
{
	const uint32_t process = trace_process_of(p->trace, track);
	const struct spur_track *k = write_track(p->write, process);
	const uint64_t pid = (uint64_t)write_pid_of(p->write, track);
	uint64_t h = fnv_u64(fnv_basis, pid);

	if (k)
		h = name_hash(p, h, k->name);
	if (join_track_is_double(p->trace, process))
		h = fnv_u64(h, process);
	id[1] = h | 1; /* not all zero */
	id[0] = fnv_u64(h, pid);
}

/* Returns NULL if out of memory. */
static struct thread *thread_of(struct otlp *p, uint32_t track)
{
	struct map64_slot *slot = map64_put(&p->by_track, track);
	struct thread *t;

	if (!slot)
		return NULL;
	t = (struct thread *)(uintptr_t)slot->value;
	if (t)
		return t;
	t = arena_alloc(&p->threads, sizeof(*t));
	if (!t)
		return NULL;
	out_to_memory(&t->events);
	trace_id(p, track, t->trace);
	slot->value = (uintptr_t)t;
	return t;
}

/* The id of a span that begins with the row. */
static uint64_t span_id(const struct otlp *p, struct thread *t, const struct spur_event *row)
{
	const struct spur_track *k = write_track(p->write, row->track);
	const uint64_t words[] = { t->trace[1], (uint64_t)k->tid,  k->kind,
				   t->count++,	(uint64_t)row->ts, row->off };
	uint64_t h = fnv_basis;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		h = fnv_u64(h, words[i]);
	return name_hash(p, name_hash(p, h, k->name), row->name) | 1;
}

/* The line up to the span: of the process and of who wrote it. */
static void resource_out(struct otlp *p, uint32_t track, struct out *o)
{
	const uint32_t process = trace_process_of(p->trace, track);
	const struct spur_track *k = write_track(p->write, process);
	const int64_t pid = write_pid_of(p->write, track);
	size_t n = 0;

	out_str(o, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
	if (k)
		attribute_string(p, "service.name", k->name, SPUR_BEGIN, &n, o);
	if (pid != -1)
		attribute_int(p, "process.pid", pid, &n, o);
	out_printf(o,
		   "]},\"scopeSpans\":[{\"scope\":{\"name\":\"spur\","
		   "\"version\":\"%s\"},\"spans\":[",
		   spur_version());
}

static void thread_out(struct otlp *p, uint32_t track, size_t *n, struct out *o)
{
	const uint32_t thread = trace_thread_of(p->trace, track);
	const struct spur_track *k = write_track(p->write, thread == SPUR_NONE ? track : thread);

	if (k->tid != -1)
		attribute_int(p, "thread.id", k->tid, n, o);
	attribute_string(p, "thread.name", k->name, SPUR_BEGIN, n, o);
}

/* --- spans --- */

/* A span that is written. */
struct span {
	const struct spur_event *begin, *last; /* last: its end, if that has arguments */
	uint64_t id, parent; /* parent: 0: none */
	uint64_t trace[2];
	uint32_t name;
	int64_t end;
	const char *events; /* text of its events */
	size_t events_len;
	const char *kind; /* of an event that is a span, or NULL */
	bool unfinished;
};

/* Returns false if out of memory. */
static bool attributes_out(struct otlp *p, const struct span *s, struct out *o)
{
	const struct spur_event *row = s->begin;
	const struct event_class *c = trace_class(p->trace, row->cls);
	size_t n = 0;

	thread_out(p, row->track, &n, o);
	if (s->kind)
		attribute_word(p, "spur.kind", s->kind, &n, o);
	if (s->unfinished)
		attribute_word(p, "spur.end", "unfinished", &n, o);
	members_out(p, row, &n, o);
	if (row->kind == SPUR_BEGIN && c->file) {
		attribute_string(p, "code.file.path", c->file, row->kind, &n, o);
		if (c->line)
			attribute_int(p, "code.line.number", c->line, &n, o);
	}
	if (!args_read(p, row, &p->args))
		return false;
	args_out(p, &p->args, NULL, row->kind, &n, o);
	if (!s->last)
		return true;
	if (!args_read(p, s->last, &p->end_args))
		return false;
	args_out(p, &p->end_args, &p->args, s->last->kind, &n, o);
	return true;
}

/* Returns false if out of memory. */
static bool span_out(struct otlp *p, const struct span *s, struct out *o)
{
	const unsigned kind = s->begin->kind;
	bool good;

	if (!p->trace->clock.epoch_known)
		loss_add(&p->write->loss, LOST_EPOCH, kind);
	resource_out(p, s->begin->track, o);
	out_str(o, "{\"traceId\":\"");
	id_out(s->trace[0], o);
	id_out(s->trace[1], o);
	out_str(o, "\",\"spanId\":\"");
	id_out(s->id, o);
	if (s->parent) {
		out_str(o, "\",\"parentSpanId\":\"");
		id_out(s->parent, o);
	}
	out_str(o, "\",\"name\":");
	string_out(p, s->name, kind, o);
	out_printf(o, ",\"kind\":%d", KIND_INTERNAL);
	time_out(p, ",\"startTimeUnixNano\":\"", s->begin->ts, kind, o);
	time_out(p, ",\"endTimeUnixNano\":\"", s->end > s->begin->ts ? s->end : s->begin->ts, kind,
		 o);
	out_str(o, ",\"attributes\":[");
	good = attributes_out(p, s, o);
	out_char(o, ']');
	if (s->events_len) {
		out_str(o, ",\"events\":[");
		out_bytes(o, s->events, s->events_len);
		out_char(o, ']');
	}
	out_str(o, ",\"status\":{}}]}]}]}\n");
	return good;
}

static bool begin(struct otlp *p, struct thread *t, const struct spur_event *row)
{
	if (!t->spans)
		mem_spare_take(&p->spare, (void **)&t->spans, &t->cap);
	/* Of very many threads most have few open spans. */
	if (!mem_grow((void **)&t->spans, &t->cap, t->n + 1, sizeof(*t->spans),
		      t->cap < MEM_FEW ? t->n + 1 : LIMIT))
		return false;
	t->spans[t->n++] = (struct open_span){ .begin = *row,
					       .id = span_id(p, t, row),
					       .events = t->events.len };
	return true;
}

/* An event that is a span without a length. Returns false if out of memory. */
static bool point_out(struct otlp *p, struct thread *t, const struct spur_event *row, int64_t end,
		      struct out *o)
{
	const struct span s = { .begin = row,
				.id = span_id(p, t, row),
				.parent = t->n ? t->spans[t->n - 1].id : 0,
				.trace = { t->trace[0], t->trace[1] },
				.name = row->name,
				.end = end,
				.kind = spur_kind_name(row->kind) };

	return span_out(p, &s, o);
}

/* An event of the innermost open span of its track. Returns false if out of memory. */
static bool event_out(struct otlp *p, struct thread *t, const struct spur_event *row, struct out *o)
{
	struct out *text = &t->events;
	int64_t end;
	size_t n = 0;

	if (__builtin_add_overflow(row->ts, row->dur, &end))
		end = row->ts;
	if (!t->n || text->len >= EVENTS)
		return point_out(p, t, row, end, o);
	if (!args_read(p, row, &p->args))
		return false;
	if (!text->buf) {
		*text = p->spare_events;
		out_to_memory(&p->spare_events);
	}
	out_str(text, text->len > t->spans[t->n - 1].events ? "," : "");
	time_out(p, "{\"timeUnixNano\":\"", row->ts, row->kind, text);
	out_str(text, ",\"name\":");
	string_out(p, row->name, row->kind, text);
	out_str(text, ",\"attributes\":[");
	attribute_word(p, "spur.kind", spur_kind_name(row->kind), &n, text);
	members_out(p, row, &n, text);
	args_out(p, &p->args, NULL, row->kind, &n, text);
	out_str(text, "]}");
	return !text->error;
}

/* --- async spans --- */

static uint64_t async_hash(const struct spur_event *row, uint32_t process)
{
	return hash64(hash64(row->id ^ hash64(process)) ^ ((uint64_t)row->name << 32 | row->cat));
}

static bool async_is(const struct async *a, const struct spur_event *row, uint32_t process)
{
	return a->begin.id == row->id && a->begin.name == row->name && a->begin.cat == row->cat &&
	       a->process == process;
}

static bool async_begin(struct otlp *p, struct thread *t, const struct spur_event *row,
			struct out *o)
{
	const uint32_t process = trace_process_of(p->trace, row->track);
	struct map64_slot *slot = map64_put(&p->by_hash, async_hash(row, process));
	uint32_t at = p->free_async;

	if (!slot)
		return false;
	if (!at && p->nasyncs == ASYNCS) {
		loss_add(&p->write->loss, LOST_ASYNC, row->kind);
		return point_out(p, t, row, row->ts, o);
	}
	if (at)
		p->free_async = p->asyncs[at - 1].next;
	else if (!mem_grow((void **)&p->asyncs, &p->asyncs_cap, p->nasyncs + 1, sizeof(*p->asyncs),
			   ASYNCS))
		return false;
	else
		at = (uint32_t)++p->nasyncs;
	p->asyncs[at - 1] = (struct async){ .begin = *row,
					    .process = process,
					    .next = (uint32_t)slot->value,
					    .id = span_id(p, t, row),
					    .parent = t->n ? t->spans[t->n - 1].id : 0 };
	slot->value = at;
	return true;
}

/* Writes an async span. Returns false if out of memory. */
static bool async_out(struct otlp *p, const struct async *a, const struct spur_event *last,
		      int64_t end, struct out *o)
{
	struct span s = { .begin = &a->begin,
			  .last = last,
			  .id = a->id,
			  .parent = a->parent,
			  .name = a->begin.name,
			  .end = end,
			  .kind = "ASYNC",
			  .unfinished = !last };

	trace_id(p, a->begin.track, s.trace);
	return span_out(p, &s, o);
}

static bool async_end(struct otlp *p, struct thread *t, const struct spur_event *row, struct out *o)
{
	const uint32_t process = trace_process_of(p->trace, row->track);
	struct map64_slot *slot = map64_find(&p->by_hash, async_hash(row, process));
	const uint32_t at = slot ? (uint32_t)slot->value : 0;
	struct async a;

	if (!at || !async_is(&p->asyncs[at - 1], row, process)) {
		loss_add(&p->write->loss, LOST_ASYNC, row->kind);
		return point_out(p, t, row, row->ts, o);
	}
	a = p->asyncs[at - 1];
	slot->value = a.next;
	p->asyncs[at - 1] = (struct async){ .next = p->free_async };
	p->free_async = at;
	return async_out(p, &a, row, row->ts, o);
}

/* Those that are open when the data ends. */
static bool otlp_finish(void *self)
{
	struct otlp *p = self;
	bool good = true;

	for (size_t i = 0; good && i < p->nasyncs; i++) {
		if (p->asyncs[i].begin.kind != SPUR_ASYNC_BEGIN)
			continue;
		loss_add(&p->write->loss, LOST_ASYNC_OPEN, SPUR_ASYNC_BEGIN);
		good = async_out(p, &p->asyncs[i], NULL, p->last, p->write->out);
	}
	return good;
}

/* --- the writer --- */

static bool otlp_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct otlp *p = lane;
	struct thread *t = thread_of(p, row->track);

	p->last = row->ts > p->last ? row->ts : p->last;
	if (!t)
		return false;
	switch ((enum spur_kind)row->kind) {
	case SPUR_BEGIN:
	case SPUR_SWITCH:
		return begin(p, t, row);
	case SPUR_ASYNC_BEGIN:
		return async_begin(p, t, row, o);
	case SPUR_ASYNC_END:
		return async_end(p, t, row, o);
	default:
		return event_out(p, t, row, o);
	}
}

/* No span of the thread is open: what open spans need is kept for other threads. */
static void spans_over(struct otlp *p, struct thread *t)
{
	mem_spare_put(&p->spare, (void **)&t->spans, &t->cap);
	if (!t->events.buf)
		return;
	out_free(&p->spare_events);
	p->spare_events = t->events;
	out_clear(&p->spare_events);
	out_to_memory(&t->events);
}

static bool otlp_end(void *lane, const struct spur_event *row, const struct write_end *end,
		     struct out *o)
{
	struct otlp *p = lane;
	struct thread *t = thread_of(p, row->track);
	const struct open_span *top;
	struct span s;
	bool good;

	p->last = row->ts > p->last ? row->ts : p->last;
	if (!t || !t->n)
		return t;
	top = &t->spans[--t->n];
	s = (struct span){ .begin = &top->begin,
			   .last = end->implied || end->whole || row->kind != SPUR_END_SPAN ? NULL
											    : row,
			   .id = top->id,
			   .parent = t->n ? t->spans[t->n - 1].id : 0,
			   .trace = { t->trace[0], t->trace[1] },
			   .name = end->off_cpu ? p->off_cpu : top->begin.name,
			   .end = row->ts,
			   .events = t->events.buf ? t->events.buf + top->events : NULL,
			   .events_len = t->events.len - top->events,
			   .unfinished = end->unfinished };
	t->events.len = top->events;
	good = span_out(p, &s, o);
	if (!t->n)
		spans_over(p, t);
	return good;
}

static void otlp_close(void *self)
{
	struct otlp *p = self;
	struct map64_slot *slot;
	size_t at = 0;

	while ((slot = map64_next(&p->by_track, &at))) {
		struct thread *t = (struct thread *)(uintptr_t)slot->value;

		if (t) {
			mem_free(t->spans);
			out_free(&t->events);
		}
	}
	arena_free(&p->threads);
	mem_spare_free(&p->spare);
	map64_free(&p->by_track);
	map64_free(&p->by_hash);
	mem_free(p->asyncs);
	out_free(&p->safe);
	out_free(&p->spare_events);
	spur_args_free(&p->args);
	spur_args_free(&p->end_args);
	mem_free(p);
}

static void *otlp_open(struct write *w)
{
	struct otlp *p = mem_alloc(sizeof(*p));

	if (!p)
		return NULL;
	p->write = w;
	p->trace = w->trace;
	p->last = INT64_MIN;
	arena_init_scratch(&p->threads);
	out_to_memory(&p->safe);
	out_to_memory(&p->spare_events);
	p->off_cpu = trace_intern(p->trace, "(off CPU)");
	if (p->off_cpu)
		return p;
	otlp_close(p);
	return NULL;
}

static const char *const endings[] = { "otlp.jsonl", "otlp", NULL };

const struct spur_writer spur_writer_otlp = {
	.name = "otlp",
	.title = "OpenTelemetry's OTLP as JSON lines, a request with one span each",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_INSTANT, WRITE_WHOLE),
		  [SPUR_COUNTER] = WRITE_DEGRADED, [SPUR_ASYNC_BEGIN] = WRITE_WHOLE,
		  [SPUR_ASYNC_INSTANT] = WRITE_DEGRADED, [SPUR_ASYNC_END] = WRITE_WHOLE,
		  WRITE_FITS(SPUR_FLOW_BEGIN, SPUR_FLOW_END, WRITE_DEGRADED),
		  WRITE_FITS(SPUR_LOG, SPUR_SWITCH, WRITE_WHOLE),
		  WRITE_FITS(SPUR_WAKEUP, SPUR_NATIVE, WRITE_DEGRADED) },
	.degraded = "the format has no such kind: written as an event of the span around it",
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	.spans = WRITE_SPANS_SPLIT,
	.merged = true,
	.piece = 1,
	.open = otlp_open,
	.row = otlp_row,
	.end = otlp_end,
	.finish = otlp_finish,
	.close = otlp_close,
};
