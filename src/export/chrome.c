/*
 * chrome: Chrome's trace event JSON ("JSON object format"), which Perfetto, chrome://tracing and
 * speedscope open. Calls become B and E in time order, spans X, counters C, async b n e, flows s t
 * f, time off the CPU a slice, all else instants; processes and threads get their names. Times are
 * microseconds with three decimals, exact to the ns. Viewers keep them as doubles, which are not:
 * dates since 1970 would be rounded to 250 ns and short calls be lost, so such times count from the
 * first event.
 *
 * The core nests and ends all slices: viewers close the wrong slice by an end without a begin, and
 * would draw one without an end on to the end of everything, other recordings included. An E has
 * the name of its B: speedscope ends no slice without it.
 *
 * What a line has of its class and track is made once. Events of a thread are in time order; those
 * of several threads take turns in pieces, which the format allows.
 */
#include "flow/args.h"
#include "flow/join.h"
#include "format/format.h"
#include "format/writer.h"
#include "model/args.h"
#include "render/frag.h"
#include "render/value.h"

enum {
	LINE_ROOM = 256, /* of a line, beside its fragments and arguments */
	NAME_MAX_LEN = 1 << 16, /* longer fragments are written apart */
	PIECE = 512, /* rows of a feed that stay together */
	ODD_TID = 0x40000000, /* of tracks that are no threads, plus their number */
};

/* frag.user of a class: USE_ARGS, and the length of its name's part times NAME_LEN. */
enum use { USE_ARGS = 1, NAME_LEN = 2 };

enum reason { LOST_SERIES = LOSS_OWN, LOST_PAYLOAD };
static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED, "a counter's series are numbers: values that are none are left out" },
	{ LOSS_DEGRADED, "arguments are damaged: written as far as they can be read" },
};

static const char off_cpu[] = ",\"name\":\"off CPU\"";

struct chrome {
	struct write *write;
	struct spur_trace *trace;
	struct frag_table *classes, *tracks;
	struct value_writer values;
	uint32_t named; /* tracks whose names are written */
};

/* One feed being written. */
struct chrome_lane {
	struct chrome *chrome;
	struct number times, durs;
	struct spur_args args;
	struct frag_user classes, tracks;
};

static int64_t track_tid(const struct spur_trace *t, const struct spur_track *k, uint32_t id)
{
	if ((k && k->kind == SPUR_TRACK_LANE) || join_track_is_double(t, id))
		return (int64_t)ODD_TID + id;
	if (k && k->kind == SPUR_TRACK_PROCESS && k->tid == -1 && k->pid != -1)
		return k->pid;
	return k && k->tid != -1 ? k->tid : (int64_t)ODD_TID + id;
}

static void track_text(const struct chrome *c, uint32_t id, struct out *o)
{
	const struct spur_track *k = write_track(c->write, id);
	const int64_t pid = write_pid_of(c->write, id);

	out_printf(o, ",\"pid\":%llu,\"tid\":%llu", pid == -1 ? 0 : (unsigned long long)pid,
		   (unsigned long long)track_tid(c->trace, k, id));
}

static void make_track(const void *self, const struct spur_event *row, struct frag *f,
		       struct out *o)
{
	(void)f;
	track_text(self, row->track, o);
}

static void name_text(const struct chrome *c, uint32_t name, struct out *o)
{
	size_t len;
	const char *s = trace_string(c->trace, name, &len);

	out_str(o, ",\"name\":");
	out_json(o, s, len);
}

/* Name and category. Returns the length of the name's part. */
static size_t class_text(const struct chrome *c, const struct spur_event *row, struct out *o)
{
	const size_t begin = o->len;
	size_t len, name_len;
	const char *s = trace_string(c->trace, row->cat, &len);

	name_text(c, row->name, o);
	name_len = o->len - begin;
	if (len) {
		out_str(o, ",\"cat\":");
		out_json(o, s, len);
	}
	return name_len;
}

static uint64_t class_key(const struct spur_event *row)
{
	return (uint64_t)row->name << 32 | row->cat;
}

static void make_class(const void *self, const struct spur_event *row, struct frag *f,
		       struct out *o)
{
	const struct chrome *c = self;

	f->user = (uint32_t)class_text(c, row, o) * NAME_LEN;
	f->key = class_key(row);
	if (c->write->wants_args(c->write, row->cls))
		f->user |= USE_ARGS;
}

/* One letter of the format for the kind. */
static const char phases[SPUR_KINDS] = {
	[SPUR_BEGIN] = 'B',	[SPUR_SPAN] = 'X',	  [SPUR_INSTANT] = 'i',
	[SPUR_COUNTER] = 'C',	[SPUR_ASYNC_BEGIN] = 'b', [SPUR_ASYNC_INSTANT] = 'n',
	[SPUR_ASYNC_END] = 'e', [SPUR_FLOW_BEGIN] = 's',  [SPUR_FLOW_STEP] = 't',
	[SPUR_FLOW_END] = 'f',	[SPUR_LOG] = 'i',	  [SPUR_SWITCH] = 'B',
	[SPUR_WAKEUP] = 'i',	[SPUR_SAMPLE] = 'i',	  [SPUR_OBJECT] = 'i',
	[SPUR_BLOB] = 'i',	[SPUR_LOST] = 'i',	  [SPUR_NATIVE] = 'i',
};

/* The start of every line: comma, phase, time, thread. */
static inline char *put_head(char *w, struct chrome_lane *l, char phase, int64_t ts,
			     const struct frag *track)
{
	int64_t t;

	if (__builtin_sub_overflow(ts, l->chrome->write->zero, &t))
		t = ts;
	memcpy(w, ",\n{\"ph\":\"?\",\"ts\":", 17);
	w[9] = phase;
	w = put_us(w + 17, &l->times, t);
	return put_frag(w, track);
}

static inline const struct frag *lane_track(struct chrome_lane *l, const struct spur_event *row)
{
	return frag_of(l->chrome->tracks, row->track, row, &l->tracks);
}

static void args_out(struct chrome_lane *l, const struct spur_event *row, struct out *o)
{
	struct chrome *c = l->chrome;
	enum spur_status st = c->write->args(c->write, row, &l->args);

	if (st == SPUR_FAIL)
		args_reset(&l->args);
	if (st != SPUR_OK)
		loss_add(&c->write->loss, LOST_PAYLOAD, row->kind);
	if (!l->args.count)
		return;
	out_str(o, ",\"args\":");
	args_json(&c->values, &l->args, row->kind == SPUR_END_SPAN, o);
}

/*
 * The name of a slice that ends: that of its begin, the first part of the class's text if all rows
 * have one name. Requires LINE_ROOM / 2 bytes of room at `w`, which is the end of `o`.
 */
static inline void end_name(struct chrome_lane *l, const struct write_end *end, char *w,
			    struct out *o)
{
	const struct frag *cls = frag_seen(l->chrome->classes, end->cls);
	const size_t len = cls ? cls->user / NAME_LEN : 0;

	if (__builtin_expect(!cls || cls->key >> 32 != end->name, 0))
		name_text(l->chrome, end->name, o);
	else if (len <= FRAG_PIECE)
		out_to(o, put_piece(w, cls, len));
	else
		out_bytes(o, cls->p, len);
}

static bool chrome_end(void *lane, const struct spur_event *row, const struct write_end *end,
		       struct out *o)
{
	struct chrome_lane *l = lane;
	const struct frag *track = lane_track(l, row), *cls = NULL;
	const bool has_args = row->nargs && !end->implied && row->kind == SPUR_END_SPAN;
	char *w = out_room(o, LINE_ROOM), *const from = w;

	if (has_args)
		cls = frag_get(l->chrome->classes, row->cls, row, &l->classes);
	if (!track || !w || (has_args && !cls))
		return false;
	w = put_head(w, l, 'E', row->ts, track);
	if (end->off_cpu)
		w = put_literal(w, off_cpu);
	o->len += (size_t)(w - from);
	if (!end->off_cpu)
		end_name(l, end, w, o);
	if (has_args && (cls->user & USE_ARGS))
		args_out(l, row, o);
	out_char(o, '}');
	return true;
}

static bool value_is_number(const struct spur_value *v)
{
	return v->type == SPUR_I64 || v->type == SPUR_U64 ||
	       (v->type == SPUR_F64 && v->f - v->f == 0);
}

/* The series of a counter. */
static void series_out(struct chrome_lane *l, const struct spur_event *row, struct out *o)
{
	struct chrome *c = l->chrome;
	size_t shown = 0;

	if (!row->nargs || c->write->args(c->write, row, &l->args) == SPUR_FAIL)
		args_reset(&l->args);
	out_str(o, ",\"args\":{");
	for (size_t i = 0; i < l->args.count; i++) {
		const struct spur_value *v = &l->args.items[i];
		size_t len;
		const char *name = trace_string(c->trace, v->name, &len);

		if (!value_is_number(v))
			continue;
		out_str(o, shown++ ? "," : "");
		out_json(o, len ? name : "value", len ? len : 5);
		out_char(o, ':');
		value_json(&c->values, v, o);
	}
	out_char(o, '}');
	if (shown < l->args.count || !shown)
		loss_add(&c->write->loss, LOST_SERIES, row->kind);
}

/* Flows and counters. */
static void id_out(const struct spur_event *row, struct out *o)
{
	out_str(o, ",\"id\":\"0x");
	out_hex(o, row->id);
	out_str(o, row->kind == SPUR_FLOW_END ? "\",\"bp\":\"e\"" : "\"");
}

/*
 * Ids of async events are those of their process; a plain "id" would join those of all processes.
 */
static void async_id_out(const struct spur_event *row, struct out *o)
{
	out_str(o, ",\"id2\":{\"local\":\"0x");
	out_hex(o, row->id);
	out_str(o, "\"}");
}

/*
 * Name and id make a counter. An id that only says which class the row is of (uftrace) adds nothing
 * to the name.
 */
static void counter_id_out(const struct chrome *c, const struct spur_event *row, struct out *o)
{
	if (row->id && trace_class(c->trace, row->cls)->addr != row->id)
		id_out(row, o);
}

/* Time off the CPU: a slice name. */
static void switch_out(const struct spur_event *row, struct out *o)
{
	out_str(o, off_cpu);
	out_str(o, ",\"cat\":\"sched\",\"args\":{\"preempted\":");
	out_str(o, row->flags & SPUR_F_PREEMPTED ? "true" : "false");
	if (row->cpu != SPUR_NO_CPU) {
		out_str(o, ",\"cpu\":");
		out_u64(o, row->cpu);
	}
	out_char(o, '}');
}

static void dur_out(const struct spur_event *row, struct out *o)
{
	char *w;

	out_str(o, ",\"dur\":");
	w = out_room(o, LINE_ROOM);
	if (w)
		o->len += (size_t)(put_us_slow(w, row->dur) - w);
}

/* What comes between the thread and the closing brace. */
static void body_out(struct chrome_lane *l, const struct spur_event *row, const struct frag *name,
		     struct out *o)
{
	if (row->kind == SPUR_SWITCH) {
		switch_out(row, o);
		return;
	}
	if (name->key == class_key(row))
		out_bytes(o, name->p, name->len);
	else
		class_text(l->chrome, row, o);
	if (row->kind == SPUR_SPAN)
		dur_out(row, o);
	else if (row->kind >= SPUR_ASYNC_BEGIN && row->kind <= SPUR_ASYNC_END)
		async_id_out(row, o);
	else if (row->kind >= SPUR_FLOW_BEGIN && row->kind <= SPUR_FLOW_END)
		id_out(row, o);
	else if (row->kind >= SPUR_INSTANT && row->kind != SPUR_COUNTER)
		out_str(o, ",\"s\":\"t\"");
	if (row->kind == SPUR_COUNTER) {
		counter_id_out(l->chrome, row, o);
		series_out(l, row, o);
	} else if (row->kind == SPUR_LOST && (row->id || !row->nargs)) {
		out_printf(o, ",\"args\":{\"lost\":%llu}", (unsigned long long)row->id);
	} else if (row->nargs && (name->user & USE_ARGS)) {
		args_out(l, row, o);
	}
}

static bool chrome_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct chrome_lane *l = lane;
	const struct frag *name = frag_get(l->chrome->classes, row->cls, row, &l->classes),
			  *track = lane_track(l, row);
	char *w, *from;
	size_t room;

	if (!name || !track)
		return false;
	room = LINE_ROOM + (name->len < NAME_MAX_LEN ? name->len : 0);
	w = from = out_room(o, room);
	if (!w)
		return false;
	w = put_head(w, l, phases[row->kind], row->ts, track);
	if ((row->kind == SPUR_BEGIN || row->kind == SPUR_SPAN) && name->key == class_key(row) &&
	    room > LINE_ROOM) {
		w = put_frag(w, name);
		if (row->kind == SPUR_SPAN)
			w = put_us(put_literal(w, ",\"dur\":"), &l->durs, row->dur);
		o->len += (size_t)(w - from);
		if (row->nargs && (name->user & USE_ARGS))
			args_out(l, row, o);
	} else {
		o->len += (size_t)(w - from);
		body_out(l, row, name, o);
	}
	out_char(o, '}');
	return true;
}

static void *chrome_lane(void *self, uint32_t track)
{
	struct chrome_lane *l = mem_alloc(sizeof(*l));

	if (!l)
		return NULL;
	(void)track;
	l->chrome = self;
	number_init(&l->times);
	number_init(&l->durs);
	return l;
}

static void chrome_lane_close(void *lane)
{
	struct chrome_lane *l = lane;

	spur_args_free(&l->args);
	frag_user_free(&l->classes);
	frag_user_free(&l->tracks);
	mem_free(l);
}

static void name_line(const struct chrome *c, uint32_t id, const char *what, const char *name,
		      size_t len)
{
	struct out *o = c->write->out;

	out_str(o, ",\n{\"ph\":\"M\"");
	track_text(c, id, o);
	out_printf(o, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	out_json(o, name, len);
	out_str(o, "}}");
}

/* Names of the processes and threads that are new since the last call. */
static void names_out(struct chrome *c)
{
	const uint32_t n = (uint32_t)trace_track_count(c->trace);

	for (uint32_t i = c->named; i < n; i++) {
		const struct spur_track *k = write_track(c->write, i);
		size_t len;
		const char *name = trace_string(c->trace, k->name, &len);

		if (len)
			name_line(c, i,
				  trace_track_kind(c->trace, i) == SPUR_TRACK_PROCESS
					  ? "process_name"
					  : "thread_name",
				  name, len);
	}
	c->named = n;
}

static void tail_out(const struct chrome *c)
{
	const struct spur_trace *t = c->trace;
	const char *clock = t->clock.name ? t->clock.name : "unknown";
	struct out *o = c->write->out;

	out_str(o, "\n],\"otherData\":{\"format\":");
	out_json(o, t->format->name, strlen(t->format->name));
	out_str(o, ",\"clock\":");
	out_json(o, clock, strlen(clock));
	if (t->clock.epoch_known)
		out_printf(o, ",\"epoch_ns\":\"%lld\"", (long long)t->clock.epoch_ns);
	out_printf(o, ",\"start_ns\":\"%lld\",\"writer\":\"spur %s\"}}\n",
		   (long long)c->write->zero, spur_version());
}

static void chrome_close(void *self)
{
	struct chrome *c = self;

	value_writer_close(&c->values);
	frag_free(c->classes);
	frag_free(c->tracks);
	mem_free(c);
}

static void *chrome_open(struct write *w)
{
	struct chrome *c = mem_alloc(sizeof(*c));

	if (!c)
		return NULL;
	c->write = w;
	c->trace = w->trace;
	c->classes = frag_new(make_class, c);
	c->tracks = frag_new(make_track, c);
	if (!value_writer_open(&c->values, c->trace, VALUE_JSON) || !c->classes || !c->tracks) {
		chrome_close(c);
		return NULL;
	}
	/* A line that says nothing, so that all others have a comma in front. */
	out_str(w->out,
		"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
		"{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_sort_index\",\"args\":{"
		"\"sort_index\":0}}");
	names_out(c);
	return c;
}

static bool chrome_finish(void *self)
{
	/* Tracks may be found while rows are read. */
	names_out(self);
	tail_out(self);
	return true;
}

static const char *const endings[] = { "json", NULL };

const struct spur_writer spur_writer_chrome = {
	.name = "chrome",
	.title = "Chrome's trace JSON, which Perfetto, chrome://tracing and speedscope open",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_FLOW_END, WRITE_WHOLE), [SPUR_LOG] = WRITE_DEGRADED,
		  [SPUR_SWITCH] = WRITE_WHOLE,
		  WRITE_FITS(SPUR_WAKEUP, SPUR_NATIVE, WRITE_DEGRADED) },
	.degraded = "the format has no such kind: written as an instant event",
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	/* Below, doubles tell nanoseconds apart in microseconds: 2^42 us, 51 days. */
	.exact_ns = ((int64_t)1 << 42) * 1000,
	.piece = PIECE,
	.open = chrome_open,
	.lane = chrome_lane,
	.row = chrome_row,
	.end = chrome_end,
	.lane_close = chrome_lane_close,
	.finish = chrome_finish,
	.close = chrome_close,
};
