/* Tracks. */
#include "api/api.h"

size_t spur_track_count(const struct spur_trace *t)
{
	return api_given(NULL, "spur_track_count", t, "a trace") ? trace_track_count(t) : 0;
}

const struct spur_track *spur_track(const struct spur_trace *t, uint32_t id)
{
	return api_given(NULL, "spur_track", t, "a trace") ? trace_track(t, id) : NULL;
}
