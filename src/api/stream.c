/* Streams and their origins. */
#include "api/api.h"

size_t spur_stream_count(const struct spur_trace *t)
{
	return api_given(NULL, "spur_stream_count", t, "a trace")
		       ? __atomic_load_n(&t->nstreams, __ATOMIC_ACQUIRE)
		       : 0;
}

const struct spur_stream *spur_stream(const struct spur_trace *t, uint32_t id)
{
	if (!api_given(NULL, "spur_stream", t, "a trace") || id >= spur_stream_count(t))
		return NULL;
	return &t->streams[id];
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
