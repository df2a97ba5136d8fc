/* Streams and their origins. */
#include "api/api.h"

size_t spur_stream_count(const struct spur_trace *t)
{
	return api_given(NULL, "spur_stream_count", t, "a trace") ? trace_stream_count(t) : 0;
}

const struct spur_stream *spur_stream(const struct spur_trace *t, uint32_t id)
{
	return api_given(NULL, "spur_stream", t, "a trace") ? trace_stream(t, id) : NULL;
}

size_t spur_origin_count(const struct spur_trace *t)
{
	return api_given(NULL, "spur_origin_count", t, "a trace") ? t->norigins : 0;
}

bool spur_origin(const struct spur_trace *t, uint32_t id, struct spur_origin *out)
{
	if (!api_given(NULL, "spur_origin", t, "a trace") ||
	    !api_given(t, "spur_origin", out, "a place for the origin"))
		return false;
	*out = (struct spur_origin){ 0 };
	if (id >= t->norigins)
		return false;
	*out = t->origins[id];
	return true;
}
