/*
 * chrome: the trace as Chrome's trace event JSON ("JSON object format"), which Perfetto,
 * chrome://tracing and speedscope open. Calls become B and E in time order, spans X, counters C,
 * async b n e, flows s t f, time off the CPU a slice, all else instants; processes and threads get
 * their names. Times are microseconds with three decimals, exact to the ns. Viewers keep them as
 * doubles, which are not: dates since 1970 would be rounded to 250 ns and short calls be lost, so
 * such times count from the first event.
 *
 * Calls are paired: ends that the data lacks are written, ends without a begin are not (viewers
 * close the wrong slice by them). What is open when the data ends, ends with it (ends.h): viewers
 * would draw it on to the end of everything, other recordings included. An E has the name of its B:
 * speedscope ends no slice without it.
 *
 * Text is made per feed in parallel; what a line has of its class and track is made once. Events of
 * a thread are in time order; those of several threads take turns in chunks, which the format
 * allows.
 */
#include "flow/join.h"
#include "flow/lines.h"
#include "flow/pair.h"
#include "pass/fold/ends.h"
#include "pass/pass.h"
#include "render/frag.h"
#include "render/loss.h"
#include "render/value.h"
#include "render/when.h"

enum {
	LINE_ROOM = 256, /* of a line, beside its fragments and arguments */
	NAME_MAX_LEN = 1 << 16, /* longer fragments are written apart */
	CHUNK = 512, /* rows of a feed that stay together */
	REST_TEXT = 1 << 20, /* of the ends that the data lacks, at once */
	ODD_TID = 0x40000000, /* of tracks that are no threads, plus their number */
};

/* frag.user of a class: USE_ARGS, and the length of its name's part times NAME_LEN. */
enum use { USE_ARGS = 1, NAME_LEN = 2 };

enum reason { LOST_ORPHAN, LOST_KIND, LOST_SERIES, LOST_PAYLOAD, REASONS };
static const struct loss_reason reasons[REASONS] = {
	[LOST_ORPHAN] = { LOSS_DROPPED, "an end whose begin is not in the data" },
	[LOST_KIND] = { LOSS_DEGRADED, "the format has no such kind: written as an instant event" },
	[LOST_SERIES] = { LOSS_DEGRADED,
			  "a counter's series are numbers: values that are none are left out" },
	[LOST_PAYLOAD] = { LOSS_DEGRADED,
			   "arguments are damaged: written as far as they can be read" },
};

static const char off_cpu[] = ",\"name\":\"off CPU\"";

struct chrome {
	struct pass_env *env;
	struct spur_trace *trace;
	int64_t zero; /* subtracted from all times */
	struct frag_table *classes, *tracks;
	struct values values;
	struct loss_table loss;
	uint64_t rows; /* atomic */
};

/* One feed being written. */
struct chrome_lane {
	struct chrome *chrome;
	struct number times, durs;
	struct spur_args args;
	uint32_t track; /* the feed's main one, which has .. */
	const struct frag *track_text; /* NULL: not known yet */
	struct pair_stack stack;
	struct pair rest; /* stacks of other tracks */
	struct ends ends;
	int64_t last; /* time of the latest row */
	size_t closed; /* stacks of `rest` that have been emptied since the feed ended */
	bool more; /* slices are open yet */
	struct out held; /* text of a chunk that was begun */
	uint32_t chunk; /* rows of it */
	int64_t chunk_ts; /* of its first row */
};

/* The process that a track belongs to; 0 where it has none. */
static int64_t track_pid(const struct spur_trace *t, const struct spur_track *k)
{
	for (unsigned i = 0; k && i < 64; i++) {
		if (k->pid != -1)
			return k->pid;
		k = spur_track(t, k->parent);
	}
	return 0;
}

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
	const struct spur_track *k = spur_track(c->trace, id);

	out_printf(o, ",\"pid\":%llu,\"tid\":%llu", (unsigned long long)track_pid(c->trace, k),
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
	const char *s = spur_string(c->trace, name, &len);

	out_str(o, ",\"name\":");
	out_json(o, s, len);
}

/* Name and category. Returns the length of the name's part. */
static size_t class_text(const struct chrome *c, const struct spur_event *row, struct out *o)
{
	const size_t begin = o->len;
	size_t len, name_len;
	const char *s = spur_string(c->trace, row->cat, &len);

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
	struct filter *filter = c->env->filter;

	f->user = (uint32_t)class_text(c, row, o) * NAME_LEN;
	f->key = class_key(row);
	if (!c->env->opt->no_args &&
	    !(filter && (filter_marks(filter, row->cls) & FILTER_MARK_NOARGS)))
		f->user |= USE_ARGS;
}

/* One letter of the format for the kind. */
static const char phases[SPUR_KINDS] = {
	[SPUR_BEGIN] = 'B',	    [SPUR_SPAN] = 'X',
	[SPUR_INSTANT] = 'i',	    [SPUR_COUNTER] = 'C',   [SPUR_ASYNC_BEGIN] = 'b',
	[SPUR_ASYNC_INSTANT] = 'n', [SPUR_ASYNC_END] = 'e', [SPUR_FLOW_BEGIN] = 's',
	[SPUR_FLOW_STEP] = 't',	    [SPUR_FLOW_END] = 'f',  [SPUR_LOG] = 'i',
	[SPUR_SWITCH] = 'B',	    [SPUR_WAKEUP] = 'i',    [SPUR_SAMPLE] = 'i',
	[SPUR_OBJECT] = 'i',	    [SPUR_BLOB] = 'i',	    [SPUR_LOST] = 'i',
	[SPUR_NATIVE] = 'i',
};

static bool kind_fits(unsigned kind)
{
	return kind <= SPUR_FLOW_END || kind == SPUR_SWITCH;
}

/* The start of every line: comma, phase, time, thread. */
static inline char *put_head(char *w, struct chrome_lane *l, char phase, int64_t ts,
			     const struct frag *track)
{
	int64_t t;

	if (__builtin_sub_overflow(ts, l->chrome->zero, &t))
		t = ts;
	memcpy(w, ",\n{\"ph\":\"?\",\"ts\":", 17);
	w[9] = phase;
	w = put_us(w + 17, &l->times, t);
	return put_frag(w, track);
}

/* The feed's own track is looked up once. */
static inline const struct frag *lane_track(struct chrome_lane *l, const struct spur_event *row)
{
	const struct frag *f = l->track_text;

	if (f && row->track == l->track)
		return f;
	f = frag_get(l->chrome->tracks, row->track, row);
	if (row->track == l->track)
		l->track_text = f;
	return f;
}

static void args_out(struct chrome_lane *l, const struct spur_event *row, struct out *o)
{
	struct chrome *c = l->chrome;
	enum spur_status st = spur_args(c->trace, row, &l->args);

	if (st == SPUR_FAIL)
		args_reset(&l->args);
	if (st != SPUR_OK)
		loss_add(&c->loss, LOST_PAYLOAD, row->kind);
	if (!l->args.count)
		return;
	out_str(o, ",\"args\":");
	args_json(&c->values, &l->args, row->kind == SPUR_END_SPAN, o);
}

/*
 * Ends the slice of a frame at the time of the row. The name is that of its begin, the first part of
 * the class's text where all rows of the class have one name. Returns false if out of memory.
 */
static inline bool end_begin(struct chrome_lane *l, const struct spur_event *row,
			     const struct pair_frame *f, struct out *o)
{
	const struct frag *track = lane_track(l, row),
			  *cls = frag_seen(l->chrome->classes, f->cls);
	char *w = out_room(o, LINE_ROOM), *const from = w;

	if (!track || !w)
		return false;
	w = put_head(w, l, 'E', row->ts, track);
	if (f->flags & PAIR_SCHED)
		w = put_literal(w, off_cpu);
	o->len += (size_t)(w - from);
	if (f->flags & PAIR_SCHED)
		return true;
	if (cls && cls->key >> 32 == f->user)
		out_bytes(o, cls->p, cls->user / NAME_LEN);
	else
		name_text(l->chrome, (uint32_t)f->user, o);
	return true;
}

/* An end that has no values of its own, as the row is not that of the frame or has none. */
static inline bool end_out(struct chrome_lane *l, const struct spur_event *row,
			   const struct pair_frame *f, struct out *o)
{
	const bool good = end_begin(l, row, f, o);

	out_char(o, '}');
	return good;
}

/* An end with what the row says. */
static bool end_args_out(struct chrome_lane *l, const struct spur_event *row,
			 const struct pair_frame *f, struct out *o)
{
	const struct frag *cls = frag_get(l->chrome->classes, row->cls, row);
	const bool good = cls && end_begin(l, row, f, o);

	if (good && row->kind == SPUR_END_SPAN && (cls->user & USE_ARGS))
		args_out(l, row, o);
	out_char(o, '}');
	return good;
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

	if (!row->nargs || spur_args(c->trace, row, &l->args) == SPUR_FAIL)
		args_reset(&l->args);
	out_str(o, ",\"args\":{");
	for (size_t i = 0; i < l->args.count; i++) {
		const struct spur_value *v = &l->args.items[i];
		size_t len;
		const char *name = spur_string(c->trace, v->name, &len);

		if (!value_is_number(v))
			continue;
		out_str(o, shown++ ? "," : "");
		out_json(o, len ? name : "value", len ? len : 5);
		out_char(o, ':');
		value_json(&c->values, v, o);
	}
	out_char(o, '}');
	if (shown < l->args.count || !shown)
		loss_add(&c->loss, LOST_SERIES, row->kind);
}

/* Flows and counters. */
static void id_out(const struct spur_event *row, struct out *o)
{
	out_str(o, ",\"id\":\"0x");
	out_hex(o, row->id);
	out_str(o, row->kind == SPUR_FLOW_END ? "\",\"bp\":\"e\"" : "\"");
}

/* Ids of async events are those of their process; a plain "id" would join those of all processes. */
static void async_id_out(const struct spur_event *row, struct out *o)
{
	out_str(o, ",\"id2\":{\"local\":\"0x");
	out_hex(o, row->id);
	out_str(o, "\"}");
}

/* Name and id make a counter. An id that only says which class the row is of (uftrace) adds nothing to the name. */
static void counter_id_out(const struct chrome *c, const struct spur_event *row, struct out *o)
{
	if (row->id && trace_class(c->trace, row->cls)->addr != row->id)
		id_out(row, o);
}

/* Time off the CPU: a slice of its own name. */
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

/* Any line but the end of a slice. Returns false if out of memory. */
static bool row_out(struct chrome_lane *l, const struct spur_event *row, struct out *o)
{
	const struct frag *name = frag_get(l->chrome->classes, row->cls, row),
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

/* The topmost slice is over when the row comes, whatever the row says. */
static bool slice_is_due(struct pair_stack *s, const struct spur_event *row)
{
	if (row->kind == SPUR_SWITCH && (row->flags & SPUR_F_OUT))
		return s->n && (s->frames[s->n - 1].flags & PAIR_SCHED);
	return pair_excess(s, row);
}

/* A call that lies on the stack as it is, or the return of the topmost one: what most rows are. */
static inline bool slice_fits(struct pair_stack *s, const struct spur_event *row)
{
	const size_t n = s->n;
	struct pair_frame *f;

	if (n != s->calls || s->index || n == s->cap)
		return false;
	f = s->frames + n;
	if (row->kind == SPUR_BEGIN) {
		if ((row->flags & SPUR_F_DEPTH) && row->depth != n)
			return false;
		*f = (struct pair_frame){ .cls = row->cls, .user = row->name };
		s->n = s->calls = n + 1;
		return true;
	}
	if (row->kind != SPUR_END_SPAN || f[-1].flags || f[-1].cls != row->cls ||
	    ((row->flags & SPUR_F_DEPTH) && row->depth + 1u != n))
		return false;
	s->n = s->calls = n - 1;
	return true;
}

/* The thread ends, and its slices with it. Returns false if out of memory. */
static bool exit_out(struct chrome_lane *l, const struct spur_event *row, struct out *o)
{
	struct pair_stack *s =
		row->track == l->track ? &l->stack : pair_stack(&l->rest, row->track);

	const struct pair_frame *f;

	if (!s)
		return false;
	while (s->n) {
		f = pair_pop(s);
		if (!(f->flags & PAIR_MISSING) && !end_out(l, row, f, o))
			return false;
	}
	return row->kind == SPUR_SWITCH || row_out(l, row, o);
}

/* A row that opens or closes a slice. */
static bool slice_out(struct chrome_lane *l, const struct spur_event *row, struct out *o)
{
	struct pair_stack *s =
		row->track == l->track ? &l->stack : pair_stack(&l->rest, row->track);
	struct pair_frame *f;

	if (!s)
		return false;
	if (slice_fits(s, row))
		return row->kind == SPUR_BEGIN ? row_out(l, row, o)
		       : row->nargs	       ? end_args_out(l, row, &s->frames[s->n], o)
					       : end_out(l, row, &s->frames[s->n], o);
	while (slice_is_due(s, row)) {
		f = pair_pop(s);
		if (!(f->flags & PAIR_MISSING) && !end_out(l, row, f, o))
			return false;
	}
	if (row->kind == SPUR_BEGIN || (row->kind == SPUR_SWITCH && (row->flags & SPUR_F_OUT))) {
		f = pair_push(s, row);
		if (f)
			f->user = row->name;
		return f && row_out(l, row, o);
	}
	if (!pair_match(s, row)) {
		loss_add(&l->chrome->loss, LOST_ORPHAN, row->kind);
		return true;
	}
	f = pair_pop(s);
	return row->nargs ? end_args_out(l, row, f, o) : end_out(l, row, f, o);
}

/* A SPAN is a slice of its own, but its END rows must know of it (see flow/pair.h). */
static bool span_note(struct chrome_lane *l, const struct spur_event *row)
{
	struct pair_stack *s =
		row->track == l->track ? &l->stack : pair_stack(&l->rest, row->track);

	if (s)
		pair_span(&s->spans, row);
	return s;
}

static void *chrome_open(void *self, const struct feed *f)
{
	struct chrome_lane *l = mem_alloc(sizeof(*l));

	if (!l)
		return NULL;
	l->chrome = self;
	l->track = f ? f->track : SPUR_NONE;
	l->last = INT64_MIN;
	ends_begin(&l->ends, l->chrome->trace);
	pair_init(&l->rest);
	out_to_memory(&l->held);
	number_init(&l->times);
	number_init(&l->durs);
	return l;
}

static bool chrome_row(struct chrome_lane *l, const struct spur_event *row, struct out *o)
{
	if (row_ends_thread(row))
		return exit_out(l, row, o);
	if (kind_is_call(row->kind) || row->kind == SPUR_SWITCH)
		return slice_out(l, row, o);
	if (!kind_fits(row->kind))
		loss_add(&l->chrome->loss, LOST_KIND, row->kind);
	return (row->kind != SPUR_SPAN || span_note(l, row)) && row_out(l, row, o);
}

/* Ends what is open on a track when the data ends. Returns false if out of memory. */
static bool stack_rest(struct chrome_lane *l, struct pair_stack *s, uint32_t track, struct out *o)
{
	struct spur_event row = { .kind = SPUR_END_SPAN, .track = track, .ts = l->last };
	const struct pair_frame *f;

	if (l->chrome->trace->tops_apart)
		row.ts = ends_of(&l->ends, track);
	/* A slice that is open around a SPAN lasts as long as that one. */
	if (s->spans.any && s->spans.end > row.ts)
		row.ts = s->spans.end;
	while (s->n && o->len <= REST_TEXT) {
		f = pair_pop(s);
		if (!(f->flags & PAIR_MISSING) && !end_out(l, &row, f, o))
			return false;
	}
	return true;
}

/* The feed is over. A run that was told to stop knows nothing of ends. */
static bool chrome_end(struct chrome_lane *l, struct lines *out)
{
	const volatile int *stop = l->chrome->env->pipe.stop;
	struct out *o = &out->text;
	bool good = true;

	if (!(stop && *stop)) {
		good = stack_rest(l, &l->stack, l->track, o);
		while (good && o->len <= REST_TEXT && l->closed < l->rest.cap) {
			good = stack_rest(l, &l->rest.stacks[l->closed], (uint32_t)l->closed, o);
			l->closed += !l->rest.stacks[l->closed].n;
		}
		l->more = l->stack.n || l->closed < l->rest.cap;
	}
	return good && (!o->len || lines_mark(out, l->chunk ? l->chunk_ts : l->last, l->track));
}

/*
 * A chunk of rows is one line to the merge. Where a chunk ends depends on the rows alone: what is
 * begun when the rows are used up goes on with the next ones.
 */
static bool chrome_rows(void *lane, struct spur_event *rows, size_t n, struct lines *out)
{
	struct chrome_lane *l = lane;
	struct out *o = &out->text;
	size_t begun = o->len;

	out_bytes(o, l->held.buf, l->held.len);
	out_clear(&l->held);
	for (size_t i = 0; i < n; i++) {
		if (!l->chunk++)
			l->chunk_ts = rows[i].ts;
		l->last = rows[i].ts > l->last ? rows[i].ts : l->last;
		if (!chrome_row(l, &rows[i], o))
			return false;
		if (l->chunk < CHUNK)
			continue;
		if (!lines_mark(out, l->chunk_ts, rows[i].track))
			return false;
		l->chunk = 0;
		begun = o->len;
	}
	if (!n)
		return chrome_end(l, out);
	__atomic_fetch_add(&l->chrome->rows, n, __ATOMIC_RELAXED);
	if (o->len > begun)
		out_bytes(&l->held, o->buf + begun, o->len - begun);
	o->len = begun;
	return !l->held.error && ends_rows(&l->ends, rows, n);
}

static bool chrome_rest(const void *lane)
{
	return ((const struct chrome_lane *)lane)->more;
}

static void chrome_close(void *lane)
{
	struct chrome_lane *l = lane;

	spur_args_free(&l->args);
	pair_stack_free(&l->stack);
	pair_free(&l->rest);
	ends_free(&l->ends);
	out_free(&l->held);
	mem_free(l);
}

static void name_line(const struct chrome *c, uint32_t id, const char *what, const char *name,
		      size_t len)
{
	struct out *o = c->env->out;

	out_str(o, ",\n{\"ph\":\"M\"");
	track_text(c, id, o);
	out_printf(o, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	out_json(o, name, len);
	out_str(o, "}}");
}

/* Names of processes and threads from a track on; returns how many tracks there are. */
static uint32_t names_out(const struct chrome *c, uint32_t from)
{
	const uint32_t n = (uint32_t)spur_track_count(c->trace);

	for (uint32_t i = from; i < n; i++) {
		const struct spur_track *k = spur_track(c->trace, i);
		size_t len;
		const char *name = spur_string(c->trace, k->name, &len);

		if (len)
			name_line(c, i,
				  trace_track_kind(c->trace, i) == SPUR_TRACK_PROCESS ? "process_name" :
											"thread_name",
				  name, len);
	}
	return n;
}

static void tail_out(const struct chrome *c)
{
	const struct spur_trace *t = c->trace;
	const char *clock = t->clock.name ? t->clock.name : "unknown";
	struct out *o = c->env->out;

	out_str(o, "\n],\"otherData\":{\"format\":");
	out_json(o, t->format->name, strlen(t->format->name));
	out_str(o, ",\"clock\":");
	out_json(o, clock, strlen(clock));
	if (t->clock.epoch_known)
		out_printf(o, ",\"epoch_ns\":\"%lld\"", (long long)t->clock.epoch_ns);
	out_printf(o, ",\"start_ns\":\"%lld\",\"writer\":\"spur %s\"}}\n", (long long)c->zero,
		   spur_version());
}

/* Below, doubles tell nanoseconds apart in microseconds: 2^42 us, 51 days. */
static const int64_t exact_ns = ((int64_t)1 << 42) * 1000;

static enum spur_status choose_zero(struct chrome *c)
{
	const enum pass_time time = c->env->opt->time;
	int64_t start;

	if (time != TIME_REL && time != TIME_EXACT)
		return SPUR_OK;
	if (trace_start(c->trace, &start) == SPUR_FAIL)
		return SPUR_FAIL;
	if (time == TIME_REL || start > exact_ns || start < -exact_ns)
		c->zero = start;
	return SPUR_OK;
}

static enum spur_status chrome_write(struct chrome *c)
{
	static const struct pipe_lines lines = { .open = chrome_open,
						 .rows = chrome_rows,
						 .rest = chrome_rest,
						 .close = chrome_close };
	struct pass_env *env = c->env;
	struct pipe_options pipe = env->pipe;
	uint32_t named;

	pipe.limit = env->opt->limit;
	if (!c->classes || !c->tracks)
		return err_nomem(env->err);
	/* A line that says nothing, so that all others have a comma in front. */
	out_str(env->out,
		"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
		"{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_sort_index\",\"args\":{"
		"\"sort_index\":0}}");
	named = names_out(c, 0);
	/* May read rows, and find tracks in them. */
	if (choose_zero(c) == SPUR_FAIL)
		return err_nomem(env->err);
	if (pipe_run_lines(env->trace, &pipe, &lines, c, env->out) == SPUR_FAIL)
		return err_nomem(env->err);
	/* Tracks may come to light while rows are read. */
	names_out(c, named);
	tail_out(c);
	env->lost = loss_sum(&c->loss);
	if (env->notes && env->opt->form == FORM_JSON)
		loss_json(&c->loss, "chrome", env->notes);
	else if (env->notes)
		loss_text(&c->loss, "chrome", env->notes);
	return !c->rows && env->filter && !(pipe.stop && *pipe.stop) ? SPUR_WARN : SPUR_OK;
}

static enum spur_status chrome_run(struct pass_env *env)
{
	struct chrome c = { .env = env,
			    .trace = env->trace,
			    .loss = { .reasons = reasons, .count = REASONS } };
	enum spur_status st;

	c.classes = frag_new(make_class, &c);
	c.tracks = frag_new(make_track, &c);
	st = values_open(&c.values, c.trace, VALUE_JSON) ? chrome_write(&c) : err_nomem(env->err);
	values_close(&c.values);
	frag_free(c.classes);
	frag_free(c.tracks);
	return st;
}

const struct spur_pass spur_pass_chrome = {
	.name = "chrome",
	.limits_rows = true,
	.tracks = true,
	.run = chrome_run,
};
