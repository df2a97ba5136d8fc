/*
 * perfetto: the Perfetto trace format, which ui.perfetto.dev and trace_processor open. Calls and
 * spans become slices of TrackEvent, counters counter tracks, flows flow ids of instant events,
 * async events slices on a track for each id, switches and wake-ups of known CPUs scheduler events,
 * logs Android log entries, all else instant events.
 *
 * Each lane is a packet sequence of its own with its own interned names, so that lanes are written
 * in parallel. Interned ids are numbered as they are needed in a lane, and ids of async and counter
 * tracks are hashes of what they stand for: the same trace gives the same bytes whatever the number
 * of threads.
 *
 * Times are those of the trace's clock, in ns. If its epoch is known, a clock snapshot relates it
 * to the time of day.
 */
#include "base/fnv.h"
#include "export/perfetto/pb.h"
#include "flow/args.h"
#include "flow/join.h"
#include "format/format.h"
#include "format/writer.h"
#include "model/args.h"

enum {
	PIECE = 512, /* rows of a feed that stay together */
	TEXT_MAX = 16 << 20, /* bytes of one text, so that a message's length fits */
	SEQUENCE_HEAD = 1, /* of descriptors; lanes follow */
	NESTING = 32, /* of arguments */
};

enum reason {
	LOST_BYTES = LOSS_OWN,
	LOST_TEXT,
	LOST_PAYLOAD,
	LOST_SERIES,
	LOST_TIME,
	LOST_DIGITS,
	LOST_UTF8
};
static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED, "the format has no type for bytes: written in hexadecimal" },
	{ LOSS_TRUNCATED, "a text is longer than 16 MiB" },
	{ LOSS_DEGRADED, "arguments are damaged: written as far as they can be read" },
	{ LOSS_DEGRADED, "values of counters are numbers: others are left out" },
	{ LOSS_DEGRADED, "the format has no times before its zero: written at zero" },
	{ LOSS_DEGRADED, "counters of 2^63 and more are doubles: written with 53 binary digits" },
	{ LOSS_DEGRADED, "texts are UTF-8: other bytes are written as \\xNN" },
};

struct perfetto {
	struct write *write;
	struct spur_trace *trace;
	struct out text; /* of a message before the events or after them */
	uint32_t off_cpu; /* the name of such slices */
	uint32_t described; /* tracks that have their descriptors */
};

struct perfetto_lane {
	struct perfetto *p;
	/* Fields that all packets but the first have in common: sequence and flags. */
	char common[2 * PB_ROOM];
	size_t common_len;
	uint32_t sequence;
	bool begun; /* the first packet was written */
	/* field << 32 | string id -> interned id << 1, and 1 if the text is not UTF-8 */
	struct map64 iids;
	uint64_t last_iid;
	struct map64 hashes; /* string id -> hash of its text, for ids of tracks */
	struct map64 counters; /* uuids of counter tracks that have their descriptors */
	struct map64 off; /* tracks whose time off the CPU is a slice */
	struct out interned; /* entries for the packet that is being written */
	struct spur_args args;
};

/*
 * The hash of a string, which does not depend on its id; made once a lane. Returns 0 if out of
 * memory.
 */
static uint64_t hash_of(struct perfetto_lane *l, uint32_t string)
{
	struct map64_slot *slot = map64_put(&l->hashes, string);
	const char *s;
	size_t len;

	if (!slot)
		return 0;
	if (!slot->value) {
		s = trace_string(l->p->trace, string, &len);
		slot->value = fnv_bytes(fnv_basis, s, len) | 1;
	}
	return slot->value;
}

enum side { SIDE_ASYNC, SIDE_COUNTER };

/*
 * The id of a track that the trace does not declare: not 0, and apart from those of declared
 * tracks, which are their numbers + 1. Returns 0 if out of memory.
 */
static uint64_t side_uuid(struct perfetto_lane *l, enum side side, const struct spur_event *row,
			  uint32_t process, uint32_t part)
{
	const uint64_t name = hash_of(l, row->name), of = hash_of(l, part);
	const uint64_t words[] = { side, process, row->id, name, of };
	uint64_t h = fnv_basis;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		h = fnv_u64(h, words[i]);
	return name && of ? h | (uint64_t)1 << 63 : 0;
}

static uint64_t track_uuid(uint32_t track)
{
	return (uint64_t)track + 1;
}

static uint64_t time_of(const struct perfetto *p, int64_t ts, unsigned kind)
{
	int64_t t;

	if (!__builtin_sub_overflow(ts, p->write->zero, &t) && t >= 0)
		return (uint64_t)t;
	loss_add(&p->write->loss, LOST_TIME, kind);
	return 0;
}

/* Ids of processes and threads are 32 bits with a sign. */
static bool id_fits(int64_t id)
{
	return id >= 0 && id <= INT32_MAX;
}

/* --- tracks --- */

static void text_out(struct out *o, unsigned field, const struct spur_trace *t, uint32_t string)
{
	size_t len;
	const char *s = trace_string(t, string, &len);

	if (len)
		pb_text(o, field, s, len, TEXT_MAX);
}

static void process_out(const struct perfetto *p, const struct spur_track *k, struct out *o)
{
	const size_t at = pb_open(o, TRACK_PROCESS);

	pb_number(o, PROCESS_PID, (uint64_t)k->pid);
	text_out(o, PROCESS_NAME, p->trace, k->name);
	pb_close(o, at);
}

static void thread_out(const struct perfetto *p, const struct spur_track *k, int64_t pid,
		       struct out *o)
{
	const size_t at = pb_open(o, TRACK_THREAD);

	pb_number(o, THREAD_PID, (uint64_t)pid);
	pb_number(o, THREAD_TID, (uint64_t)k->tid);
	text_out(o, THREAD_NAME, p->trace, k->name);
	pb_close(o, at);
}

/* Tracks that the format knows no ids for are children of what they stand beside, by their name. */
static void track_out(const struct perfetto *p, uint32_t id, struct out *o)
{
	const struct spur_track *k = write_track(p->write, id);
	const bool is_double = join_track_is_double(p->trace, id);
	const int64_t pid = write_pid_of(p->write, id);
	const size_t at = pb_open(o, PACKET_TRACK_DESCRIPTOR);

	pb_number(o, TRACK_UUID, track_uuid(id));
	if (k->parent != SPUR_NONE)
		pb_number(o, TRACK_PARENT_UUID, track_uuid(k->parent));
	if (k->kind == SPUR_TRACK_PROCESS && id_fits(k->pid) && !is_double)
		process_out(p, k, o);
	else if (k->kind == SPUR_TRACK_THREAD && id_fits(k->tid) && id_fits(pid) && !is_double)
		thread_out(p, k, pid, o);
	else
		text_out(o, TRACK_NAME, p->trace, k->name);
	pb_close(o, at);
}

/* Descriptors of the tracks that are new since the last call. */
static void tracks_out(struct perfetto *p)
{
	const uint32_t n = (uint32_t)trace_track_count(p->trace);

	for (; p->described < n; p->described++) {
		const size_t at = pb_open(&p->text, TRACE_PACKET);

		pb_number(&p->text, PACKET_SEQUENCE_ID, SEQUENCE_HEAD);
		track_out(p, p->described, &p->text);
		pb_close(&p->text, at);
		out_bytes(p->write->out, p->text.buf, p->text.len);
		out_clear(&p->text);
	}
}

static void clock_out(struct out *o, uint64_t id, uint64_t time)
{
	const size_t at = pb_open(o, SNAPSHOT_CLOCK);

	pb_number(o, CLOCK_ID, id);
	pb_number(o, CLOCK_TIMESTAMP, time);
	pb_close(o, at);
}

/* The zero of the times and the time of day then. */
static void snapshot_out(struct perfetto *p)
{
	const struct clock_info *c = &p->trace->clock;
	int64_t epoch;
	size_t packet, at;

	if (!c->epoch_known || __builtin_add_overflow(c->epoch_ns, p->write->zero, &epoch) ||
	    epoch < 0)
		return;
	packet = pb_open(&p->text, TRACE_PACKET);
	pb_number(&p->text, PACKET_SEQUENCE_ID, SEQUENCE_HEAD);
	at = pb_open(&p->text, PACKET_CLOCK_SNAPSHOT);
	clock_out(&p->text, CLOCK_BOOTTIME_ID, 0);
	clock_out(&p->text, CLOCK_REALTIME_ID, (uint64_t)epoch);
	pb_close(&p->text, at);
	pb_close(&p->text, packet);
	out_bytes(p->write->out, p->text.buf, p->text.len);
	out_clear(&p->text);
}

/* --- interned names --- */

/* Declares a text in the lane's sequence: the value of its slot becomes not 0. */
static void iid_new(struct perfetto_lane *l, unsigned field, uint32_t string,
		    struct map64_slot *slot)
{
	size_t len;
	const char *s = trace_string(l->p->trace, string, &len);
	const size_t at = pb_open(&l->interned, field);

	slot->value = ++l->last_iid << 1;
	pb_number(&l->interned, INTERNED_IID, l->last_iid);
	slot->value |= !pb_text(&l->interned, INTERNED_TEXT, s, len, TEXT_MAX);
	pb_close(&l->interned, at);
}

/* What iid_of() does for texts that are new or not UTF-8. */
static uint64_t iid_slow(struct perfetto_lane *l, unsigned field, uint32_t string, unsigned kind)
{
	struct map64_slot *slot = map64_put(&l->iids, (uint64_t)field << 32 | string);

	if (!slot)
		return 0;
	if (!slot->value)
		iid_new(l, field, string, slot);
	if (slot->value & 1)
		loss_add(&l->p->write->loss, LOST_UTF8, kind);
	return slot->value >> 1;
}

/* The id of a text in the lane's sequence, declared if it is new; 0 if out of memory. */
static inline uint64_t iid_of(struct perfetto_lane *l, unsigned field, uint32_t string,
			      unsigned kind)
{
	const struct map64_slot *slot = map64_find(&l->iids, (uint64_t)field << 32 | string);

	return __builtin_expect(slot && slot->value && !(slot->value & 1), 1)
		       ? slot->value >> 1
		       : iid_slow(l, field, string, kind);
}

/* A text of an event of that kind. */
static void event_text_out(struct perfetto_lane *l, unsigned field, const char *s, size_t len,
			   unsigned kind, struct out *o)
{
	if (len > TEXT_MAX)
		loss_add(&l->p->write->loss, LOST_TEXT, kind);
	if (!pb_text(o, field, s, len, TEXT_MAX))
		loss_add(&l->p->write->loss, LOST_UTF8, kind);
}

/* --- packets --- */

/* Makes the fields that all packets have, the first one with another flag. */
static void common_make(struct perfetto_lane *l, unsigned flags)
{
	char *w = put_number(l->common, PACKET_SEQUENCE_ID, l->sequence);

	w = put_number(w, PACKET_SEQUENCE_FLAGS, flags);
	l->common_len = (size_t)(w - l->common);
	assert(l->common_len <= PB_ROOM);
}

static inline size_t packet_open(struct perfetto_lane *l, uint64_t time, struct out *o)
{
	char *w = out_room(o, 3 * PB_ROOM), *from;

	if (!w)
		return o->len;
	from = w = put_open(w, TRACE_PACKET);
	w = put_number(w, PACKET_TIMESTAMP, time);
	memcpy(w, l->common, PB_ROOM);
	out_to(o, w + l->common_len);
	if (__builtin_expect(!l->begun, 0))
		common_make(l, SEQUENCE_NEEDS_STATE);
	l->begun = true;
	return (size_t)(from - o->buf);
}

/* Returns false if out of memory. */
static bool packet_close(struct perfetto_lane *l, size_t at, struct out *o)
{
	if (l->interned.len) {
		const size_t len = l->interned.len;

		pb_bytes(o, PACKET_INTERNED_DATA, l->interned.buf, len);
		out_clear(&l->interned);
	}
	pb_close(o, at);
	return !o->error && !l->interned.error;
}

/* --- arguments --- */

static void hex_out(struct out *o, const struct spur_value *v)
{
	static const char digits[] = "0123456789abcdef";
	const uint32_t n = v->count < TEXT_MAX / 2 ? v->count : TEXT_MAX / 2;
	char *w = out_room(o, PB_ROOM);

	if (!w)
		return;
	out_to(o, put_varint(put_varint(w, ANNOTATION_STRING << 3 | PB_BYTES), 2 * (uint64_t)n));
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t b = (uint8_t)v->text[i];
		const char pair[2] = { digits[b >> 4], digits[b & 15] };

		out_bytes(o, pair, sizeof(pair));
	}
}

static void scalar_out(struct perfetto_lane *l, const struct spur_value *v, unsigned kind,
		       struct out *o)
{
	uint64_t bits;

	switch ((enum spur_type)v->type) {
	case SPUR_I64:
		pb_number(o, ANNOTATION_INT, (uint64_t)v->i);
		break;
	case SPUR_KOID:
	case SPUR_U64:
		pb_number(o, ANNOTATION_UINT, v->u);
		break;
	case SPUR_BOOL:
		pb_number(o, ANNOTATION_BOOL, v->u != 0);
		break;
	case SPUR_POINTER:
		pb_number(o, ANNOTATION_POINTER, v->u);
		break;
	case SPUR_F64:
		memcpy(&bits, &v->f, sizeof(bits));
		pb_fixed64(o, ANNOTATION_DOUBLE, bits);
		break;
	case SPUR_ENUM:
		if (v->label)
			event_text_out(l, ANNOTATION_STRING, v->label, strlen(v->label), kind, o);
		else
			pb_number(o, ANNOTATION_INT, (uint64_t)v->i);
		break;
	case SPUR_STRING:
		event_text_out(l, ANNOTATION_STRING, v->text, v->count, kind, o);
		break;
	case SPUR_BYTES:
		loss_add(&l->p->write->loss, LOST_BYTES, kind);
		hex_out(o, v);
		break;
	case SPUR_NULL:
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		pb_bytes(o, ANNOTATION_JSON, "null", 4);
		break;
	}
}

/* One argument, or an item of one. Returns false if out of memory. */
static bool value_out(struct perfetto_lane *l, const struct spur_value *v, unsigned field,
		      unsigned kind, unsigned depth, struct out *o)
{
	const uint64_t iid = v->name ? iid_of(l, INTERNED_ANNOTATION, v->name, kind) : 0;
	const bool is_list = v->type == SPUR_STRUCT || v->type == SPUR_ARRAY;
	bool good = iid || !v->name;
	char *w = out_room(o, 2 * PB_ROOM);
	size_t at;

	if (!w)
		return false;
	w = put_open(w, field);
	at = (size_t)(w - o->buf);
	out_to(o, iid ? put_number(w, ANNOTATION_NAME_IID, iid) : w);
	if (!is_list || depth == NESTING)
		scalar_out(l, v, kind, o);
	for (uint32_t i = 0; is_list && depth < NESTING && good && i < v->count; i++)
		good = value_out(l, &v->items[i],
				 v->type == SPUR_STRUCT ? ANNOTATION_DICT : ANNOTATION_ARRAY, kind,
				 depth + 1, o);
	pb_close(o, at);
	return good;
}

/* Returns false if out of memory. */
static bool args_out(struct perfetto_lane *l, const struct spur_event *row, struct out *o)
{
	const struct write *w = l->p->write;
	enum spur_status st;
	bool good = true;

	if (!row->nargs || !w->wants_args(w, row->cls))
		return true;
	st = l->p->write->args(l->p->write, row, &l->args);
	if (st == SPUR_FAIL)
		return false;
	if (st == SPUR_WARN)
		loss_add(&l->p->write->loss, LOST_PAYLOAD, row->kind);
	for (size_t i = 0; good && i < l->args.count; i++)
		good = value_out(l, &l->args.items[i], EVENT_ANNOTATION, row->kind, 0, o);
	return good;
}

/* --- events --- */

/* A track event up to its arguments. */
static inline size_t event_open(unsigned type, uint64_t uuid, struct out *o)
{
	char *w = out_room(o, 3 * PB_ROOM), *from;

	if (!w)
		return o->len;
	from = w = put_open(w, PACKET_TRACK_EVENT);
	w = put_number(w, EVENT_TYPE, type);
	out_to(o, put_number(w, EVENT_TRACK_UUID, uuid));
	return (size_t)(from - o->buf);
}

static bool names_out(struct perfetto_lane *l, const struct spur_event *row, struct out *o)
{
	const uint64_t name = iid_of(l, INTERNED_NAME, row->name, row->kind),
		       cat = row->cat ? iid_of(l, INTERNED_CATEGORY, row->cat, row->kind) : 0;

	char *w = out_room(o, 2 * PB_ROOM);

	if (!w)
		return false;
	w = put_number(w, EVENT_NAME_IID, name);
	out_to(o, cat ? put_number(w, EVENT_CATEGORY_IID, cat) : w);
	return name && (cat || !row->cat);
}

/* An event with its names and arguments. */
static bool event_out(struct perfetto_lane *l, const struct spur_event *row, unsigned type,
		      uint64_t uuid, struct out *o)
{
	const size_t packet = packet_open(l, time_of(l->p, row->ts, row->kind), o),
		     at = event_open(type, uuid, o);
	const bool good = names_out(l, row, o) && args_out(l, row, o);

	if (row->kind == SPUR_FLOW_BEGIN || row->kind == SPUR_FLOW_STEP)
		pb_fixed64(o, EVENT_FLOW_ID, row->id);
	else if (row->kind == SPUR_FLOW_END)
		pb_fixed64(o, EVENT_TERMINATING_FLOW_ID, row->id);
	pb_close(o, at);
	return packet_close(l, packet, o) && good;
}

/* The end of the innermost slice of a track. */
static bool slice_end(struct perfetto_lane *l, const struct spur_event *row, int64_t ts,
		      uint64_t uuid, bool with_args, struct out *o)
{
	const size_t packet = packet_open(l, time_of(l->p, ts, row->kind), o),
		     at = event_open(TYPE_SLICE_END, uuid, o);
	const bool good = !with_args || args_out(l, row, o);

	pb_close(o, at);
	return packet_close(l, packet, o) && good;
}

static bool span_out(struct perfetto_lane *l, const struct spur_event *row, struct out *o)
{
	int64_t end;

	if (__builtin_add_overflow(row->ts, row->dur < 0 ? 0 : row->dur, &end))
		end = INT64_MAX;
	return event_out(l, row, TYPE_SLICE_BEGIN, track_uuid(row->track), o) &&
	       slice_end(l, row, end, track_uuid(row->track), false, o);
}

static void side_track_out(struct perfetto_lane *l, const struct spur_event *row, uint64_t uuid,
			   uint32_t parent, uint32_t name, bool counter, struct out *o)
{
	const size_t packet = packet_open(l, time_of(l->p, row->ts, row->kind), o),
		     at = pb_open(o, PACKET_TRACK_DESCRIPTOR);

	pb_number(o, TRACK_UUID, uuid);
	if (parent != SPUR_NONE)
		pb_number(o, TRACK_PARENT_UUID, track_uuid(parent));
	text_out(o, TRACK_NAME, l->p->trace, name);
	if (counter)
		pb_close(o, pb_open(o, TRACK_COUNTER));
	pb_close(o, at);
	packet_close(l, packet, o);
}

/* Async events of one category, name and id in a process are one track. */
static bool async_out(struct perfetto_lane *l, const struct spur_event *row, struct out *o)
{
	const uint32_t process = trace_process_of(l->p->trace, row->track);
	const uint64_t uuid = side_uuid(l, SIDE_ASYNC, row, process, row->cat);

	if (!uuid)
		return false;
	if (row->kind == SPUR_ASYNC_END)
		return slice_end(l, row, row->ts, uuid, true, o);
	side_track_out(l, row, uuid, process, row->name, false, o);
	return event_out(l, row, row->kind == SPUR_ASYNC_BEGIN ? TYPE_SLICE_BEGIN : TYPE_INSTANT,
			 uuid, o);
}

static bool value_is_number(const struct spur_value *v)
{
	return v->type == SPUR_I64 || v->type == SPUR_U64 || v->type == SPUR_F64;
}

/* The name of a series' track: the counter's, and the series' where it has several. */
static bool series_track_out(struct perfetto_lane *l, const struct spur_event *row,
			     const struct spur_value *v, uint64_t uuid, uint32_t process,
			     struct out *o)
{
	struct spur_trace *t = l->p->trace;
	struct out text;
	const char *s;
	size_t len;
	uint32_t name = row->name;

	if (v->name && l->args.count > 1) {
		out_to_memory(&text);
		s = trace_string(t, row->name, &len);
		out_bytes(&text, s, len);
		out_char(&text, ':');
		s = trace_string(t, v->name, &len);
		out_bytes(&text, s, len);
		name = text.error ? SPUR_NONE : trace_intern_n(t, text.buf, text.len);
		out_free(&text);
	}
	if (name == SPUR_NONE)
		return false;
	side_track_out(l, row, uuid, process, name, true, o);
	return true;
}

/* One series of a counter. Returns false if out of memory. */
static bool series_out(struct perfetto_lane *l, const struct spur_event *row,
		       const struct spur_value *v, struct out *o)
{
	const uint32_t process = trace_process_of(l->p->trace, row->track);
	const uint64_t uuid = side_uuid(l, SIDE_COUNTER, row, process, v->name);
	struct map64_slot *slot = uuid ? map64_put(&l->counters, uuid) : NULL;
	size_t packet, at;
	uint64_t bits;

	if (!slot)
		return false;
	if (!slot->value && !series_track_out(l, row, v, uuid, process, o))
		return false;
	slot->value = 1;
	packet = packet_open(l, time_of(l->p, row->ts, row->kind), o);
	at = event_open(TYPE_COUNTER, uuid, o);
	if (v->type == SPUR_F64 || (v->type == SPUR_U64 && v->u > INT64_MAX)) {
		const double d = v->type == SPUR_F64 ? v->f : (double)v->u;

		/* 2^64 itself is beyond what can be compared. */
		if (v->type == SPUR_U64 && (d >= 0x1p64 || (uint64_t)d != v->u))
			loss_add(&l->p->write->loss, LOST_DIGITS, row->kind);
		memcpy(&bits, &d, sizeof(bits));
		pb_fixed64(o, EVENT_DOUBLE_COUNTER_VALUE, bits);
	} else {
		pb_number(o, EVENT_COUNTER_VALUE, v->u);
	}
	pb_close(o, at);
	return packet_close(l, packet, o);
}

static bool counter_out(struct perfetto_lane *l, const struct spur_event *row, struct out *o)
{
	bool whole = true, good = true;

	if (!row->nargs)
		args_reset(&l->args);
	else if (l->p->write->args(l->p->write, row, &l->args) == SPUR_FAIL)
		return false;
	for (size_t i = 0; good && i < l->args.count; i++) {
		const struct spur_value *v = &l->args.items[i];

		whole &= value_is_number(v);
		good = !value_is_number(v) || series_out(l, row, v, o);
	}
	if (!whole || !l->args.count)
		loss_add(&l->p->write->loss, LOST_SERIES, row->kind);
	return good;
}

/* --- the scheduler, logs --- */

/* The thread of a row as the scheduler's events name it; -1: they cannot. */
static int64_t sched_tid(const struct perfetto *p, const struct spur_event *row)
{
	const uint32_t thread = trace_thread_of(p->trace, row->track);
	const struct spur_track *k = write_track(p->write, thread);

	return k && row->cpu != SPUR_NO_CPU && k->tid > 0 && id_fits(k->tid) ? k->tid : -1;
}

static void switch_fields(const struct perfetto *p, const struct spur_event *row, int64_t tid,
			  struct out *o)
{
	const bool out = row->flags & SPUR_F_OUT;
	const struct spur_track *k = write_track(p->write, trace_thread_of(p->trace, row->track));
	const size_t at = pb_open(o, FTRACE_SWITCH);

	text_out(o, out ? SWITCH_PREV_COMM : SWITCH_NEXT_COMM, p->trace, k->name);
	pb_number(o, SWITCH_PREV_PID, out ? (uint64_t)tid : 0);
	pb_number(o, SWITCH_PREV_PRIO, PRIO_NORMAL);
	pb_number(o, SWITCH_PREV_STATE,
		  row->flags & SPUR_F_PREEMPTED || !out ? STATE_RUNNABLE : STATE_SLEEPING);
	pb_number(o, SWITCH_NEXT_PID, out ? 0 : (uint64_t)tid);
	pb_number(o, SWITCH_NEXT_PRIO, PRIO_NORMAL);
	pb_close(o, at);
}

static void wakeup_fields(const struct perfetto *p, const struct spur_event *row, int64_t tid,
			  struct out *o)
{
	const struct spur_track *k = write_track(p->write, trace_thread_of(p->trace, row->track));
	const size_t at = pb_open(o, FTRACE_WAKEUP);

	text_out(o, WAKEUP_COMM, p->trace, k->name);
	pb_number(o, WAKEUP_PID, (uint64_t)tid);
	pb_number(o, WAKEUP_PRIO, PRIO_NORMAL);
	pb_number(o, WAKEUP_SUCCESS, 1);
	pb_number(o, WAKEUP_CPU, row->cpu);
	pb_close(o, at);
}

/*
 * A row says one side of a switch: the other thread of the CPU is the idle one, until its own row
 * comes.
 */
static bool sched_out(struct perfetto_lane *l, const struct spur_event *row, int64_t tid,
		      struct out *o)
{
	const uint64_t time = time_of(l->p, row->ts, row->kind);
	const size_t packet = packet_open(l, time, o), bundle = pb_open(o, PACKET_FTRACE_EVENTS);
	size_t event;

	pb_number(o, BUNDLE_CPU, row->cpu);
	event = pb_open(o, BUNDLE_EVENT);
	pb_number(o, FTRACE_TIMESTAMP, time);
	pb_number(o, FTRACE_PID,
		  row->kind == SPUR_SWITCH && (row->flags & SPUR_F_OUT) ? (uint64_t)tid : 0);
	if (row->kind == SPUR_WAKEUP)
		wakeup_fields(l->p, row, tid, o);
	else
		switch_fields(l->p, row, tid, o);
	pb_close(o, event);
	pb_close(o, bundle);
	return packet_close(l, packet, o);
}

/* Time off a CPU that is not known is a slice. */
static bool off_out(struct perfetto_lane *l, const struct spur_event *row, struct out *o)
{
	struct map64_slot *slot = map64_put(&l->off, row->track);
	struct spur_event slice = *row;

	if (!slot)
		return false;
	slot->value = 1;
	slice.name = l->p->off_cpu;
	slice.nargs = 0;
	return event_out(l, &slice, TYPE_SLICE_BEGIN, track_uuid(row->track), o);
}

static bool switch_out(struct perfetto_lane *l, const struct spur_event *row, struct out *o)
{
	const int64_t tid = sched_tid(l->p, row);

	if (tid >= 0)
		return sched_out(l, row, tid, o);
	return !(row->flags & SPUR_F_OUT) || off_out(l, row, o);
}

/* The text of a log's argument, or of its name. */
static bool log_out(struct perfetto_lane *l, const struct spur_event *row, struct out *o)
{
	const struct spur_trace *t = l->p->trace;
	const struct spur_track *k = write_track(l->p->write, trace_thread_of(t, row->track));
	const uint64_t time = time_of(l->p, row->ts, row->kind);
	const int64_t pid = write_pid_of(l->p->write, row->track);
	const char *text;
	size_t packet, log, event, len;

	text = trace_string(t, row->name, &len);
	if (row->nargs && l->p->write->args(l->p->write, row, &l->args) == SPUR_FAIL)
		return false;
	for (size_t i = 0; row->nargs && i < l->args.count; i++)
		if (l->args.items[i].type == SPUR_STRING) {
			text = l->args.items[i].text;
			len = l->args.items[i].count;
			break;
		}
	packet = packet_open(l, time, o);
	log = pb_open(o, PACKET_ANDROID_LOG);
	event = pb_open(o, LOG_EVENT);
	if (id_fits(pid))
		pb_number(o, LOG_PID, (uint64_t)pid);
	if (k && id_fits(k->tid))
		pb_number(o, LOG_TID, (uint64_t)k->tid);
	pb_number(o, LOG_TIMESTAMP, time);
	text_out(o, LOG_TAG, t, row->cat);
	pb_number(o, LOG_PRIO, LOG_PRIO_INFO);
	event_text_out(l, LOG_MESSAGE, text, len, row->kind, o);
	pb_close(o, event);
	pb_close(o, log);
	return packet_close(l, packet, o);
}

/* --- the writer --- */

static bool perfetto_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct perfetto_lane *l = lane;

	switch ((enum spur_kind)row->kind) {
	case SPUR_BEGIN:
		return event_out(l, row, TYPE_SLICE_BEGIN, track_uuid(row->track), o);
	case SPUR_SPAN:
		return span_out(l, row, o);
	case SPUR_COUNTER:
		return counter_out(l, row, o);
	case SPUR_ASYNC_BEGIN:
	case SPUR_ASYNC_INSTANT:
	case SPUR_ASYNC_END:
		return async_out(l, row, o);
	case SPUR_LOG:
		return log_out(l, row, o);
	case SPUR_SWITCH:
		return switch_out(l, row, o);
	case SPUR_WAKEUP:
		if (sched_tid(l->p, row) >= 0)
			return sched_out(l, row, sched_tid(l->p, row), o);
		break;
	default:
		break;
	}
	return event_out(l, row, TYPE_INSTANT, track_uuid(row->track), o);
}

static bool perfetto_end(void *lane, const struct spur_event *row, const struct write_end *end,
			 struct out *o)
{
	struct perfetto_lane *l = lane;

	if (end->off_cpu) {
		struct map64_slot *slot = map64_find(&l->off, row->track);
		const bool slice = slot && slot->value;

		if (slot)
			slot->value = 0;
		if (slice)
			return slice_end(l, row, row->ts, track_uuid(row->track), false, o);
		return row->kind != SPUR_SWITCH || switch_out(l, row, o);
	}
	return slice_end(l, row, row->ts, track_uuid(row->track),
			 !end->implied && row->kind == SPUR_END_SPAN, o);
}

static void *perfetto_lane(void *self, uint32_t track)
{
	struct perfetto_lane *l = mem_alloc(sizeof(*l));

	if (!l)
		return NULL;
	l->p = self;
	l->sequence = SEQUENCE_HEAD + 1 + (track == SPUR_NONE ? 0 : track + 1);
	common_make(l, SEQUENCE_NEEDS_STATE | SEQUENCE_CLEARED);
	out_to_memory(&l->interned);
	return l;
}

static void perfetto_lane_close(void *lane)
{
	struct perfetto_lane *l = lane;

	map64_free(&l->iids);
	map64_free(&l->hashes);
	map64_free(&l->counters);
	map64_free(&l->off);
	out_free(&l->interned);
	spur_args_free(&l->args);
	mem_free(l);
}

static void *perfetto_open(struct write *w)
{
	struct perfetto *p = mem_alloc(sizeof(*p));

	if (!p)
		return NULL;
	p->write = w;
	p->trace = w->trace;
	out_to_memory(&p->text);
	p->off_cpu = trace_intern(p->trace, "off CPU");
	if (p->off_cpu)
		return p;
	mem_free(p);
	return NULL;
}

/* Descriptors may stand anywhere. */
static bool perfetto_finish(void *self)
{
	snapshot_out(self);
	tracks_out(self);
	return true;
}

static void perfetto_close(void *self)
{
	struct perfetto *p = self;

	out_free(&p->text);
	mem_free(p);
}

static const char *const endings[] = { "perfetto-trace", "pftrace", "perfetto", NULL };

const struct spur_writer spur_writer_perfetto = {
	.name = "perfetto",
	.title = "Perfetto's trace format, which ui.perfetto.dev and trace_processor open",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_WAKEUP, WRITE_WHOLE),
		  WRITE_FITS(SPUR_SAMPLE, SPUR_NATIVE, WRITE_DEGRADED) },
	.degraded = "the format has no such kind: written as an instant event",
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	.piece = PIECE,
	.switches = WRITE_SWITCHES_LONE,
	.open = perfetto_open,
	.lane = perfetto_lane,
	.row = perfetto_row,
	.end = perfetto_end,
	.lane_close = perfetto_lane_close,
	.finish = perfetto_finish,
	.close = perfetto_close,
};
