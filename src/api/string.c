/* Strings of a trace, and names of kinds. */
#include "api/api.h"

static const char *const kind_names[SPUR_KINDS] = {
	[SPUR_BEGIN] = "BEGIN",
	[SPUR_END_SPAN] = "END",
	[SPUR_SPAN] = "SPAN",
	[SPUR_INSTANT] = "INSTANT",
	[SPUR_COUNTER] = "COUNTER",
	[SPUR_ASYNC_BEGIN] = "ASYNC_BEGIN",
	[SPUR_ASYNC_INSTANT] = "ASYNC_INSTANT",
	[SPUR_ASYNC_END] = "ASYNC_END",
	[SPUR_FLOW_BEGIN] = "FLOW_BEGIN",
	[SPUR_FLOW_STEP] = "FLOW_STEP",
	[SPUR_FLOW_END] = "FLOW_END",
	[SPUR_LOG] = "LOG",
	[SPUR_SWITCH] = "SWITCH",
	[SPUR_WAKEUP] = "WAKEUP",
	[SPUR_SAMPLE] = "SAMPLE",
	[SPUR_OBJECT] = "OBJECT",
	[SPUR_BLOB] = "BLOB",
	[SPUR_LOST] = "LOST",
	[SPUR_NATIVE] = "NATIVE",
};

const char *spur_string(const struct spur_trace *t, uint32_t id, size_t *len)
{
	if (api_given(NULL, "spur_string", t, "a trace"))
		return trace_string(t, id, len);
	if (len)
		*len = 0;
	return "";
}

const char *spur_kind_name(unsigned kind)
{
	return kind < SPUR_KINDS ? kind_names[kind] : "";
}
