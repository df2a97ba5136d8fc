/* Arguments, raw bytes and record fields of uftrace rows. */
#include "model/args.h"
#include "base/bits.h"
#include "format/uftrace/reader.h"

/* Inlined where a row is a line. */
static inline const uint8_t *raw_of(const struct uftrace *u, const struct spur_event *ev)
{
	const struct uftrace_file *const f = ev->stream < u->nfiles ? &u->files[ev->stream] : NULL;
	const uint8_t *data;
	bool has_source;
	uint64_t size;

	if (!f || f->state < FILE_SOURCE)
		return NULL;
	has_source = f->state == FILE_SOURCE || f->state == FILE_GROWING;
	data = has_source ? f->source->data : f->bytes;
	size = has_source ? f->source->size : f->size;
	return ev->off <= size && ev->len <= size - ev->off ? data + ev->off : NULL;
}

const uint8_t *uftrace_raw(const struct uftrace *u, const struct spur_event *ev)
{
	const uint8_t *raw;

	uftrace_follow_lock(u->follow);
	raw = raw_of(u, ev);
	uftrace_follow_unlock(u->follow);
	return raw;
}

void uftrace_intern_names(struct uftrace *u)
{
	static const char *const names[] = {
		"time", "type",	   "more",  "magic", "depth",	    "addr", "payload",
		"misc", "size",	   "pid",   "ppid",  "tid",	    "comm", "msg",
		"data", "address", "value", "cpu",   "common_type", "from", "lost",
	};
	uint32_t *ids = &u->names.time;

	static_assert(sizeof(u->names) == sizeof(names) / sizeof(names[0]) * sizeof(*ids),
		      "one text for each field");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ids[i] = trace_intern(u->t, names[i]);
}

/* --- layouts --- */

static const char *const record_types[] = { "ENTRY", "EXIT", "LOST", "EVENT" };

/* The fields that uftrace_fields() gives to an ENTRY or EXIT. */
static struct record_layout layout_make(const struct uftrace *u, bool exit, bool payload)
{
	const struct uftrace_names *n = &u->names;

	return (struct record_layout){
		.number = (uint32_t)exit | (uint32_t)payload << 1,
		.size = RECORD,
		.count = payload ? 7 : 6,
		.swap = u->swap,
		.fields = {
			{ .name = n->time, .kind = LAYOUT_NUMBER, .mask = UINT64_MAX },
			{ .name = n->type, .kind = LAYOUT_TEXT, .text = record_types[exit] },
			{ .name = n->more, .kind = LAYOUT_NUMBER, .at = RECORD_AT_WORD, .shift = 2,
			  .mask = 1 },
			/* Records with another magic are no ENTRY or EXIT. */
			{ .name = n->magic, .kind = LAYOUT_FIXED, .text = "5" },
			{ .name = n->depth, .kind = LAYOUT_NUMBER, .at = RECORD_AT_WORD,
			  .shift = DEPTH_SHIFT, .mask = DEPTH_MASK },
			{ .name = n->addr, .kind = LAYOUT_HEX, .at = RECORD_AT_WORD,
			  .shift = ADDRESS_SHIFT, .mask = UINT64_MAX },
			{ .name = n->payload, .kind = LAYOUT_REST },
		},
	};
}

void uftrace_make_layouts(struct uftrace *u)
{
	for (unsigned i = 0; i < LAYOUTS; i++)
		u->layouts[i] = layout_make(u, i & 1, i >> 1);
}

/* The reader makes rows of these kinds, in a task's own file, of ENTRY and EXIT only. */
const struct record_layout *uftrace_layout(struct spur_trace *t, const struct spur_event *ev,
					   const uint8_t **raw)
{
	const struct uftrace *u = t->state;

	if (!kind_is_call(ev->kind) || ev->len < RECORD || uftrace_is_side(u, ev->stream))
		return NULL;
	*raw = u->follow ? uftrace_raw(u, ev) : raw_of(u, ev);
	if (!*raw)
		return NULL;
	return &u->layouts[(ev->kind == SPUR_END_SPAN) + 2 * (ev->len > RECORD)];
}

/* The bytes of an EVENT's payload, after its length; fewer where it was cut. */
static struct text event_payload(const struct uftrace *u, const struct spur_event *ev)
{
	const uint8_t *p = uftrace_raw(u, ev);
	size_t len;

	if (!p || ev->len < RECORD + EVENT_LENGTH)
		return text_make("", 0);
	len = load16(p + RECORD, u->swap);
	return text_make(p + RECORD + EVENT_LENGTH,
			 len < ev->len - RECORD - (size_t)EVENT_LENGTH
				 ? len
				 : ev->len - RECORD - (size_t)EVENT_LENGTH);
}

static uint64_t load_sized(const uint8_t *p, size_t size, bool swap)
{
	switch (size) {
	case 1:
		return p[0];
	case 2:
		return load16(p, swap);
	case 4:
		return load32(p, swap);
	case 8:
		return load64(p, swap);
	default:
		return 0;
	}
}

/* The session of the row's task at its time; NULL if it is in no session. */
static const struct uftrace_session *row_session(const struct uftrace *u,
						 const struct spur_event *ev)
{
	const struct spur_track *track = trace_track(u->t, ev->track);
	const struct uftrace_session *s =
		uftrace_session_at(&u->d, track ? track->tid : 0, (uint64_t)ev->ts);

	return !s && u->d.nsessions == 1 ? &u->d.sessions[0] : s;
}

/* Bytes of a watched variable's value; 0: the payload is none of a variable. */
static size_t watched_size(const struct uftrace *u, struct text p)
{
	const size_t word = u->d.info.is64 ? 8 : 4, size = p.len - word;

	return p.len < word + 1 || (size & (size - 1)) || size > 8 ? 0 : size;
}

/* The string id of the variable's name; 0: unknown. */
static uint32_t watched_name(struct uftrace *u, const struct spur_event *ev, struct text p)
{
	if (!watched_size(u, p))
		return 0;
	return uftrace_place_name(
		u, row_session(u, ev), (uint64_t)ev->ts,
		load_sized((const uint8_t *)p.p, u->d.info.is64 ? 8 : 4, u->swap));
}

uint8_t uftrace_event_args(struct uftrace *u, const struct spur_event *row)
{
	const struct event_class *c = trace_class(u->t, row->cls);

	if (class_plan(c, false))
		return (uint8_t)class_plan(c, false)->count;
	return row->id == UFTRACE_EV_WATCH_VAR && !watched_name(u, row, event_payload(u, row)) ? 2
											       : 1;
}

static void put_bytes(struct uftrace *u, struct spur_args *args, struct text p)
{
	struct spur_value *v = args_add(args);

	if (!v)
		return;
	v->type = SPUR_BYTES;
	v->name = u->names.data;
	v->text = p.p;
	v->count = (uint32_t)p.len;
}

/*
 * SPEC uftrace/watch-var: address (8 bytes, 4 in 32-bit data), then the value in 1 to 8; the
 * variable's name stands for both where it is known
 */
static void watch_var(struct uftrace *u, const struct spur_event *ev, struct spur_args *args,
		      struct text p)
{
	const size_t word = u->d.info.is64 ? 8 : 4, size = watched_size(u, p);
	const uint8_t *b = (const uint8_t *)p.p;
	const uint32_t name = watched_name(u, ev, p);

	if (!size) {
		put_bytes(u, args, p);
		return;
	}
	if (!name)
		args_u64(args, u->names.address, load_sized(b, word, u->swap), SPUR_SHOW_HEX);
	args_u64(args, name ? name : u->names.value, load_sized(b + word, size, u->swap),
		 SPUR_SHOW_PLAIN);
}

static void call_site(struct uftrace *u, const struct spur_event *ev, struct spur_args *args,
		      uint64_t addr)
{
	const uint32_t place = uftrace_call_place(u, row_session(u, ev), (uint64_t)ev->ts, addr);
	size_t len;
	const char *text = trace_string(u->t, place, &len);

	if (place)
		args_string(args, u->names.from, text, len);
	else
		args_u64(args, u->names.address, addr, SPUR_SHOW_HEX);
}

static enum spur_status event_args(struct uftrace *u, const struct spur_event *ev,
				   struct spur_args *args)
{
	const struct event_class *c = trace_class(u->t, ev->cls);
	struct text p = event_payload(u, ev);
	const uint8_t *b = (const uint8_t *)p.p;
	size_t used;

	if (class_plan(c, false))
		return plan_run(class_plan(c, false), b, p.len, args, &used);
	if (ev->id == UFTRACE_EV_WATCH_CPU && p.len >= 4)
		args_i64(args, u->names.cpu, (int32_t)load32(b, u->swap));
	else if (ev->id == UFTRACE_EV_WATCH_VAR)
		watch_var(u, ev, args, p);
	else if (ev->id == UFTRACE_EV_CALLSITE && p.len >= 8)
		call_site(u, ev, args, load64(b, u->swap));
	else if (p.len)
		put_bytes(u, args, p);
	return SPUR_OK;
}

/* Pointers to functions and data that have symbols get their names. */
static void label_pointers(struct uftrace *u, const struct spur_event *ev, struct spur_args *args)
{
	const struct uftrace_session *s = NULL;
	bool looked = false;

	for (size_t i = 0; i < args->count; i++) {
		/* The items are in args' own memory: this call is still building them. */
		struct spur_value *v = (struct spur_value *)(uintptr_t)&args->items[i];

		if (v->type != SPUR_POINTER)
			continue;
		if (!looked)
			s = row_session(u, ev);
		looked = true;
		v->label = uftrace_symbol_name(u, s, (uint64_t)ev->ts, v->u);
	}
}

/* A line of extern.dat: its time is cut off, the text is the message. */
static enum spur_status extern_args(struct uftrace *u, const struct spur_event *ev,
				    struct spur_args *args, bool with_time)
{
	const uint8_t *p = uftrace_raw(u, ev);
	struct text line = p ? text_trim(text_make(p, ev->len)) : text_of("");
	uint64_t time;

	if (!text_seconds(&line, &time))
		return SPUR_WARN;
	line = text_trim(line);
	if (with_time)
		args_u64(args, u->names.time, time, SPUR_SHOW_PLAIN);
	args_string(args, u->names.msg, line.p, line.len);
	return SPUR_OK;
}

static enum spur_status read_args(struct spur_trace *t, const struct spur_event *ev,
				  struct spur_args *args)
{
	struct uftrace *u = t->state;
	const struct event_class *c;
	const struct plan *plan;
	const uint8_t *p;
	enum spur_status st;
	size_t used;

	args_reset(args);
	if (!ev->nargs || !ev->cls)
		return SPUR_OK;
	if (uftrace_is_side(u, ev->stream))
		return uftrace_side_args(u, ev, args);
	if (ev->kind == SPUR_LOG)
		return extern_args(u, ev, args, false);
	if (!kind_is_call(ev->kind))
		return event_args(u, ev, args);
	c = trace_class(t, ev->cls);
	plan = class_plan(c, ev->kind == SPUR_END_SPAN);
	p = uftrace_raw(u, ev);
	if (!plan || !p || ev->len < RECORD)
		return SPUR_OK;
	st = plan_run(plan, p + RECORD, ev->len - RECORD, args, &used);
	label_pointers(u, ev, args);
	return st;
}

enum spur_status uftrace_args(struct spur_trace *t, const struct spur_event *ev,
			      struct spur_args *args)
{
	struct uftrace_follow *const f = ((const struct uftrace *)t->state)->follow;
	enum spur_status st;

	uftrace_follow_lock(f);
	st = read_args(t, ev, args);
	uftrace_follow_unlock(f);
	return st;
}

enum spur_status uftrace_fields(struct spur_trace *t, const struct spur_event *ev,
				struct spur_args *args)
{
	struct uftrace *u = t->state;
	const uint8_t *p = uftrace_raw(u, ev);
	uint64_t w;

	args_reset(args);
	if (!p)
		return SPUR_WARN;
	if (uftrace_is_side(u, ev->stream))
		return uftrace_side_fields(u, ev, args);
	if (ev->kind == SPUR_LOG)
		return extern_args(u, ev, args, true);
	if (ev->cls == uftrace_line_class(u)) {
		const struct text line = text_trim(text_make(p, ev->len));

		args_string(args, u->names.msg, line.p, line.len);
		return SPUR_OK;
	}
	if (ev->len < RECORD)
		return SPUR_WARN;
	w = load64(p + RECORD_AT_WORD, u->swap);
	args_u64(args, u->names.time, load64(p, u->swap), SPUR_SHOW_PLAIN);
	args_literal(args, u->names.type, record_types[w & RECORD_TYPE_MASK]);
	args_u64(args, u->names.more, w >> 2 & 1, SPUR_SHOW_PLAIN);
	args_u64(args, u->names.magic, w >> 3 & 7, SPUR_SHOW_PLAIN);
	args_u64(args, u->names.depth, w >> DEPTH_SHIFT & DEPTH_MASK, SPUR_SHOW_PLAIN);
	args_u64(args, u->names.addr, w >> ADDRESS_SHIFT,
		 (w & RECORD_TYPE_MASK) > RECORD_EXIT ? SPUR_SHOW_PLAIN : SPUR_SHOW_HEX);
	if (ev->len > RECORD)
		args_u64(args, u->names.payload, ev->len - RECORD, SPUR_SHOW_PLAIN);
	return SPUR_OK;
}
