/* What threads do at a time, for requests: states, who has a CPU, what they are in. */
#ifndef SPUR_VIEW_STATES_H
#define SPUR_VIEW_STATES_H

#include "view/view.h"

/*
 * Finds the innermost call of a track that goes on from `from` to `to`; false if no call does. Time
 * off the CPU is no call.
 */
bool view_innermost(const struct view *v, uint32_t track, int64_t from, int64_t to,
		    struct view_item *out);
/*
 * Finds the thread of the same trace that had the CPU for which a runnable thread waits, the one
 * that it runs on next, for the longest part of a time, and how many ns of it. `number` is the item
 * of the waiting thread's lane of states. Returns SPUR_NONE if that is not known. Takes time by the
 * number of threads.
 */
uint32_t view_holder(const struct view *v, uint32_t lane, uint64_t number, int64_t from, int64_t to,
		     int64_t *ns);

#endif
