/* The process that a track belongs to. */
#ifndef SPUR_PASS_FOLD_PROCESS_H
#define SPUR_PASS_FOLD_PROCESS_H

#include "model/trace.h"

enum { PROCESS_PARENTS = 16 };

/* The nearest track above that is a process; without one, the one on top. */
static inline uint32_t process_of(const struct spur_trace *t, uint32_t track)
{
	for (int i = 0; i < PROCESS_PARENTS; i++) {
		const struct spur_track *k = spur_track(t, track);

		if (!k || trace_track_kind(t, track) == SPUR_TRACK_PROCESS ||
		    k->parent == SPUR_NONE)
			break;
		track = k->parent;
	}
	return track;
}

#endif
