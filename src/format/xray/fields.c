/* Arguments, fields as stored and bytes of the rows' records. */
#include <stdio.h>

#include "base/text.h"
#include "format/xray/reader.h"
#include "model/args.h"

enum { MAX_STACK = 1 << 16 }; /* functions of a stack that are shown, from the leaf on */

bool xray_fields_open(struct xray *x)
{
	static const char *const names[XRAY_NAMES] = {
		[NAME_CALLS] = "calls",
		[NAME_CONSTANT] = "constant_tsc",
		[NAME_CPU] = "cpu",
		[NAME_DATA] = "data",
		[NAME_DELTA] = "delta",
		[NAME_FLAGS] = "flags",
		[NAME_FREQUENCY] = "cycle_frequency",
		[NAME_FUNCTION] = "function",
		[NAME_KIND] = "kind",
		[NAME_MICROSECONDS] = "microseconds",
		[NAME_NONSTOP] = "nonstop_tsc",
		[NAME_NUMBER] = "number",
		[NAME_PID] = "pid",
		[NAME_RESERVED] = "reserved",
		[NAME_SECONDS] = "seconds",
		[NAME_SIZE] = "size",
		[NAME_BUFFER_SIZE] = "buffer_size",
		[NAME_STACK] = "stack",
		[NAME_TICKS] = "ticks",
		[NAME_TID] = "tid",
		[NAME_TIMESTAMP] = "timestamp",
		[NAME_TSC] = "tsc",
		[NAME_TYPE] = "type",
		[NAME_VALUE] = "value",
		[NAME_VERSION] = "version",
	};

	for (unsigned i = 0; i < XRAY_NAMES; i++) {
		char arg[16];

		snprintf(arg, sizeof(arg), "arg%u", i + 1);
		x->names[i] = trace_intern(x->t, i < NAME_ARGS ? arg : names[i]);
	}
	return true;
}

const uint8_t *xray_raw(const struct xray *x, const struct spur_event *ev)
{
	return ev->off <= x->src->size && ev->len <= x->src->size - ev->off ? xray_at(x, ev->off)
									    : NULL;
}

/* --- values --- */

static void put_u64(const struct xray *x, struct spur_args *args, enum xray_name name, uint64_t v)
{
	args_u64(args, x->names[name], v, SPUR_SHOW_PLAIN);
}

static void put_i64(const struct xray *x, struct spur_args *args, enum xray_name name, int64_t v)
{
	args_i64(args, x->names[name], v);
}

/* Text that a line can hold. */
static bool is_text(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((p[i] < ' ' && p[i] != '\t' && p[i] != '\n') || p[i] == 0x7f)
			return false;
	return utf8_all_valid((const char *)p, len);
}

/* SPEC xray/event-data: text where it is some, else bytes */
static void put_data(const struct xray *x, struct spur_args *args, enum xray_name name,
		     const uint8_t *p, size_t len, bool text)
{
	struct spur_value *v = args_add(args);

	if (!v)
		return;
	v->type = text && is_text(p, len) ? SPUR_STRING : SPUR_BYTES;
	v->name = x->names[name];
	v->count = (uint32_t)len;
	v->text = (const char *)p;
}

static void put_kind(const struct xray *x, struct spur_args *args, uint32_t kind)
{
	static const char *const kinds[CALL_KINDS] = { "enter", "exit", "tail-exit", "enter-arg" };
	struct spur_value *v = args_add(args);

	if (!v)
		return;
	v->type = SPUR_ENUM;
	v->name = x->names[NAME_KIND];
	v->i = kind;
	v->label = kind < CALL_KINDS ? kinds[kind] : NULL;
}

/* SPEC xray/call-argument: 64 bits each, named by their place */
static void put_argument(const struct xray *x, struct spur_args *args, uint32_t i, uint64_t value)
{
	char name[16];
	uint32_t id = i < NAME_ARGS ? x->names[NAME_ARG1 + i] : 0;

	if (!id) {
		snprintf(name, sizeof(name), "arg%u", i + 1);
		id = trace_intern(x->t, name);
	}
	args_u64(args, id, value, SPUR_SHOW_AUTO);
}

static void put_arguments(const struct xray *x, const struct spur_event *ev, struct spur_args *args)
{
	uint64_t offs[UINT8_MAX], *at = offs;
	uint32_t max = UINT8_MAX, count;

	if (x->mode == XRAY_FDR) {
		for (uint32_t i = 0, off = XRAY_FUNCTION; off + XRAY_METADATA <= ev->len;
		     i++, off += XRAY_METADATA)
			put_argument(
				x, args, i,
				load64(xray_at(x, ev->off + off) + XRAY_META_AT_DATA, x->swap));
		return;
	}
	if (ev->nargs == UINT8_MAX) {
		max = XRAY_MAX_ARGS;
		at = args_alloc(args, max * sizeof(*at));
	}
	count = at ? xray_basic_arguments(x, ev->off, at, max) : 0;
	for (uint32_t i = 0; i < count; i++)
		put_argument(x, args, i, load64(xray_at(x, at[i]) + XRAY_BASIC_AT_VALUE, x->swap));
}

/* --- profiling mode --- */

static uint32_t stack_size(const struct spur_event *ev)
{
	return (ev->len - XRAY_STACK_TAIL) / 4;
}

/* The i-th function from the leaf on: its row's name and class. */
static struct spur_event stack_function(struct xray *x, const struct spur_event *ev, uint32_t i)
{
	const uint64_t words =
		xray_words_get(x, load32(xray_at(x, ev->off + (uint64_t)i * 4), x->swap));
	struct spur_event row = { 0 };

	memcpy(&row.name, &words, sizeof(words));
	return row;
}

size_t xray_stack(struct spur_trace *t, const struct spur_event *ev, uint32_t *cls, size_t cap)
{
	struct xray *x = t->state;
	const uint32_t count = stack_size(ev);

	for (uint32_t i = 0; i < count && i < cap; i++)
		cls[i] = stack_function(x, ev, count - 1 - i).cls;
	return count;
}

static void put_stack(struct xray *x, const struct spur_event *ev, struct spur_args *args)
{
	const uint32_t count = stack_size(ev) < MAX_STACK ? stack_size(ev) : MAX_STACK;
	struct spur_value *items = args_alloc(args, count * sizeof(*items)), *v;

	if (!items)
		return;
	for (uint32_t i = 0; i < count; i++) {
		const struct spur_event row = stack_function(x, ev, i);
		size_t len;

		v = &items[count - 1 - i];
		v->type = SPUR_STRING;
		v->text = trace_string(x->t, row.name, &len);
		v->count = (uint32_t)len;
	}
	v = args_add(args);
	if (!v)
		return;
	v->type = SPUR_ARRAY;
	v->name = x->names[NAME_STACK];
	v->count = count;
	v->items = items;
}

static void sample_args(struct xray *x, const struct spur_event *ev, struct spur_args *args)
{
	const uint8_t *p = xray_at(x, ev->off + ev->len - 16);

	put_u64(x, args, NAME_CALLS, load64(p, x->swap));
	put_i64(x, args, NAME_TICKS, (int64_t)load64(p + 8, x->swap));
	put_stack(x, ev, args);
}

/* --- events --- */

static void put_payload(const struct xray *x, const uint8_t *p, uint32_t len,
			struct spur_args *args)
{
	/* A size without bytes: they were overwritten. */
	if (len > XRAY_METADATA || !load32(p + XRAY_META_AT_DATA, x->swap))
		put_data(x, args, NAME_DATA, p + XRAY_METADATA, len - XRAY_METADATA, true);
}

static void event_args(const struct xray *x, const struct spur_event *ev, struct spur_args *args)
{
	const uint8_t *p = xray_at(x, ev->off);

	if (xray_meta(x, p) == META_TYPED)
		put_u64(x, args, NAME_TYPE, xray_event_type(x, p));
	put_payload(x, p, ev->len, args);
}

enum spur_status xray_args(struct spur_trace *t, const struct spur_event *ev,
			   struct spur_args *args)
{
	struct xray *x = t->state;

	if (!ev->nargs || !xray_raw(x, ev))
		return SPUR_OK;
	if (ev->kind == SPUR_BEGIN)
		put_arguments(x, ev, args);
	else if (ev->kind == SPUR_SAMPLE)
		sample_args(x, ev, args);
	else if (ev->kind == SPUR_INSTANT)
		event_args(x, ev, args);
	return SPUR_OK;
}

/* --- fields as stored --- */

static void header_fields(const struct xray *x, struct spur_args *args)
{
	const uint8_t *p = xray_at(x, 0);

	if (x->mode == XRAY_PROFILE) {
		args_u64(args, x->names[NAME_VERSION], load64(p + XRAY_PROFILE_AT_VERSION, x->swap),
			 SPUR_SHOW_HEX);
		put_u64(x, args, NAME_TIMESTAMP, load64(p + XRAY_PROFILE_AT_TIME, x->swap));
		put_u64(x, args, NAME_PID, load64(p + XRAY_PROFILE_AT_PID, x->swap));
		return;
	}
	put_u64(x, args, NAME_VERSION, load16(p + XRAY_AT_VERSION, x->swap));
	put_u64(x, args, NAME_TYPE, load16(p + XRAY_AT_TYPE, x->swap));
	args_u64(args, x->names[NAME_FLAGS], x->flags, SPUR_SHOW_HEX);
	put_u64(x, args, NAME_FREQUENCY, x->hz);
	if (x->mode == XRAY_FDR)
		put_u64(x, args, NAME_BUFFER_SIZE, x->buffer_size);
	else
		put_data(x, args, NAME_RESERVED, p + XRAY_AT_BUFFER_SIZE, 8, false);
	put_data(x, args, NAME_RESERVED, p + XRAY_AT_RESERVED, 8, false);
}

static void call_fields(const struct xray *x, const struct spur_event *ev, const uint8_t *p,
			struct spur_args *args)
{
	put_kind(x, args, xray_call_kind(x, p));
	put_u64(x, args, NAME_FUNCTION, xray_call_id(x, p));
	put_u64(x, args, NAME_DELTA, load32(p + XRAY_FUNCTION_AT_DELTA, x->swap));
	put_arguments(x, ev, args);
}

static void event_fields(const struct xray *x, const uint8_t *p, uint32_t len,
			 struct spur_args *args)
{
	put_i64(x, args, NAME_SIZE, (int32_t)load32(p + XRAY_META_AT_DATA, x->swap));
	if (x->version > 4)
		put_i64(x, args, NAME_DELTA, (int32_t)load32(p + XRAY_EVENT_AT_TICKS, x->swap));
	else
		put_u64(x, args, NAME_TSC, load64(p + XRAY_EVENT_AT_TICKS, x->swap));
	if (xray_meta(x, p) == META_TYPED)
		put_u64(x, args, NAME_TYPE, xray_event_type(x, p));
	else if (x->version == 4)
		put_u64(x, args, NAME_CPU, load16(p + XRAY_CUSTOM_AT_CPU, x->swap));
	put_payload(x, p, len, args);
}

static void meta_fields(const struct xray *x, const uint8_t *p, uint32_t len, int kind,
			struct spur_args *args)
{
	switch (kind) {
	case META_NEW_BUFFER:
		put_i64(x, args, NAME_TID, (int32_t)load32(p + XRAY_META_AT_DATA, x->swap));
		break;
	case META_END_OF_BUFFER:
		break;
	case META_NEW_CPU:
		put_u64(x, args, NAME_CPU, load16(p + XRAY_META_AT_DATA, x->swap));
		put_u64(x, args, NAME_TSC, load64(p + XRAY_CPU_AT_TICKS, x->swap));
		break;
	case META_TSC_WRAP:
		put_u64(x, args, NAME_TSC, load64(p + XRAY_META_AT_DATA, x->swap));
		break;
	case META_WALL_TIME:
		put_i64(x, args, NAME_SECONDS, (int64_t)load64(p + XRAY_META_AT_DATA, x->swap));
		put_i64(x, args, NAME_MICROSECONDS,
			(int32_t)load32(p + XRAY_WALL_AT_MICROSECONDS, x->swap));
		break;
	case META_ARGUMENT:
		args_u64(args, x->names[NAME_VALUE], load64(p + XRAY_META_AT_DATA, x->swap),
			 SPUR_SHOW_AUTO);
		break;
	case META_EXTENTS:
		put_u64(x, args, NAME_SIZE, load64(p + XRAY_META_AT_DATA, x->swap));
		break;
	case META_PID:
		put_i64(x, args, NAME_PID, (int32_t)load32(p + XRAY_META_AT_DATA, x->swap));
		break;
	default:
		put_u64(x, args, NAME_KIND, (uint64_t)kind);
		put_data(x, args, NAME_DATA, p + 1, len - 1, false);
	}
}

static void basic_fields(const struct xray *x, const struct spur_event *ev, const uint8_t *p,
			 struct spur_args *args)
{
	const bool argument = load16(p, x->swap) != XRAY_BASIC_CALL;
	const uint8_t *const thread =
		p + (argument ? XRAY_BASIC_AT_ARGUMENT_TID : XRAY_BASIC_AT_TID);

	if (!argument) {
		put_u64(x, args, NAME_CPU, p[XRAY_BASIC_AT_CPU]);
		put_kind(x, args, p[XRAY_BASIC_AT_KIND]);
	}
	put_i64(x, args, NAME_FUNCTION, (int32_t)load32(p + XRAY_BASIC_AT_FUNCTION, x->swap));
	if (argument)
		args_u64(args, x->names[NAME_VALUE], load64(p + XRAY_BASIC_AT_VALUE, x->swap),
			 SPUR_SHOW_AUTO);
	else
		put_u64(x, args, NAME_TSC, load64(p + XRAY_BASIC_AT_TICKS, x->swap));
	put_u64(x, args, NAME_TID, load32(thread, x->swap));
	if (x->version > 2)
		put_u64(x, args, NAME_PID, load32(thread + 4, x->swap));
	if (ev->nargs)
		put_arguments(x, ev, args);
}

static void fdr_fields(const struct xray *x, const struct spur_event *ev, const uint8_t *p,
		       struct spur_args *args)
{
	const int kind = xray_meta(x, p);

	if (kind < 0)
		call_fields(x, ev, p, args);
	else if (ev->kind == SPUR_INSTANT)
		event_fields(x, p, ev->len, args);
	else
		meta_fields(x, p, ev->len, kind, args);
}

static void block_fields(const struct xray *x, const uint8_t *p, struct spur_args *args)
{
	put_u64(x, args, NAME_SIZE, load32(p + XRAY_BLOCK_AT_SIZE, x->swap));
	put_u64(x, args, NAME_NUMBER, load32(p + XRAY_BLOCK_AT_NUMBER, x->swap));
	put_u64(x, args, NAME_TID, load64(p + XRAY_BLOCK_AT_TID, x->swap));
}

enum spur_status xray_fields(struct spur_trace *t, const struct spur_event *ev,
			     struct spur_args *args)
{
	struct xray *x = t->state;
	const uint8_t *p = xray_raw(x, ev);

	if (!p)
		return SPUR_OK;
	if (ev->cls == x->own[XRAY_CLASS_HEADER])
		header_fields(x, args);
	else if (ev->cls == x->own[XRAY_CLASS_REPEATED])
		return SPUR_OK;
	else if (x->mode == XRAY_FDR)
		fdr_fields(x, ev, p, args);
	else if (x->mode == XRAY_BASIC)
		basic_fields(x, ev, p, args);
	else if (ev->cls == x->own[XRAY_CLASS_BLOCK])
		block_fields(x, p, args);
	else
		sample_args(x, ev, args);
	return SPUR_OK;
}
