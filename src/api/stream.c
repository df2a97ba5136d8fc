/* Streams. */
#include "model/trace.h"

size_t spur_stream_count(const struct spur_trace *t)
{
	return __atomic_load_n(&t->nstreams, __ATOMIC_ACQUIRE);
}

const struct spur_stream *spur_stream(const struct spur_trace *t, uint32_t id)
{
	return id < spur_stream_count(t) ? &t->streams[id] : NULL;
}
