/* Tables and rare ways of plain events. See plain.h. */
#include "format/fxt/plain.h"

#include "base/text.h"

#define ALL UINT64_MAX
#define EVENT(row_kind)                                        \
	{                                                      \
		.known = true, .kind = row_kind, .other = true \
	}
/* SPEC fxt/event-id: as it is */
#define EVENT_WITH_ID(row_kind)                                                        \
	{                                                                              \
		.known = true, .kind = row_kind, .other = true, .tail = ALL, .id = ALL \
	}

const struct event_shape fxt_event_shapes[16] = {
	[FXT_INSTANT] = EVENT(SPUR_INSTANT),
	[FXT_COUNTER] = EVENT_WITH_ID(SPUR_COUNTER),
	[FXT_BEGIN] = { .known = true, .kind = SPUR_BEGIN },
	[FXT_END] = { .known = true, .kind = SPUR_END_SPAN },
	[FXT_COMPLETE] = { .known = true, .kind = SPUR_SPAN, .tail = ALL, .span = ALL },
	[FXT_ASYNC_BEGIN] = EVENT_WITH_ID(SPUR_ASYNC_BEGIN),
	[FXT_ASYNC_INSTANT] = EVENT_WITH_ID(SPUR_ASYNC_INSTANT),
	[FXT_ASYNC_END] = EVENT_WITH_ID(SPUR_ASYNC_END),
	[FXT_FLOW_BEGIN] = EVENT_WITH_ID(SPUR_FLOW_BEGIN),
	[FXT_FLOW_STEP] = EVENT_WITH_ID(SPUR_FLOW_STEP),
	[FXT_FLOW_END] = EVENT_WITH_ID(SPUR_FLOW_END),
};

const uint8_t fxt_arg_bytes[16] = {
	[FXT_ARG_NULL] = 8, [FXT_ARG_I32] = 8,	 [FXT_ARG_U32] = 8,
	[FXT_ARG_I64] = 16, [FXT_ARG_U64] = 16,	 [FXT_ARG_F64] = 16,
	[FXT_ARG_BOOL] = 8, [FXT_ARG_KOID] = 16, [FXT_ARG_POINTER] = 16,
};

bool fxt_arg_is_plain(const struct fxt *x, const uint8_t *p, uint64_t size)
{
	const struct fxt_string *const strings = x->provider->strings;
	struct cursor c = cursor_make(p, size, x->swap);
	struct fxt_arg a;

	fxt_arg_next(&c, &a);
	if (a.state != FXT_ARG_GOOD || a.padding || a.type >= FXT_ARG_TYPES)
		return false;
	if (a.name.text ? !utf8_all_valid(a.name.text, a.name.len) : !strings[a.name.ref].now)
		return false;
	return a.text.text ? utf8_all_valid(a.text.text, a.text.len) : strings[a.text.ref].now != 0;
}

bool fxt_know_class(struct fxt *x, struct fxt_string *name, uint32_t cat, bool other)
{
	uint32_t cls;

	if (!cat || name->now < 2)
		return false;
	if (name->cat != cat)
		name->name_cls[0] = name->name_cls[1] = 0;
	cls = fxt_class_of(x, cat - 1, name->now - 1, other);
	if (!cls)
		return false;
	name->cat = cat;
	name->stream_cat = row_pair(x->stream, cat - 1);
	name->name_cls[other] = row_pair(name->now - 1, cls);
	return true;
}
