/* Tracks. */
#include "model/trace.h"

size_t spur_track_count(const struct spur_trace *t)
{
	return __atomic_load_n(&t->ntracks, __ATOMIC_ACQUIRE);
}

const struct spur_track *spur_track(const struct spur_trace *t, uint32_t id)
{
	return id < spur_track_count(t) ? &t->tracks[id / TRACE_TRACK_PAGE][id % TRACE_TRACK_PAGE]
					: NULL;
}
