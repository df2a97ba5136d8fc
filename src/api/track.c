/* Tracks. */
#include "api/api.h"

size_t spur_track_count(const struct spur_trace *t)
{
	return api_given(NULL, "spur_track_count", t, "a trace")
		       ? __atomic_load_n(&t->ntracks, __ATOMIC_ACQUIRE)
		       : 0;
}

const struct spur_track *spur_track(const struct spur_trace *t, uint32_t id)
{
	if (!api_given(NULL, "spur_track", t, "a trace") || id >= spur_track_count(t))
		return NULL;
	return &t->tracks[id / TRACE_TRACK_PAGE][id % TRACE_TRACK_PAGE];
}
