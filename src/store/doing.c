/* What threads do, read from their lanes of states. See store.h. */
#include "store/parts.h"

uint32_t store_states(const struct store *s, uint32_t track)
{
	uint32_t low = 0, high = store_lane_count(s);

	if (s->writer) {
		for (; low < high; low++) {
			const struct growing_lane *l = growing_lane(s->writer, low);

			if (l->kind == STORE_STATES && l->track == track)
				return low;
		}
		return SPUR_NONE;
	}
	/* Behind the spans of the track. */
	while (low < high) {
		const uint32_t m = low + (high - low) / 2;
		const struct store_lane_wire *l = &s->lanes[m];

		if (l->track < track || (l->track == track && l->kind == STORE_SPANS))
			low = m + 1;
		else
			high = m;
	}
	return low < s->nlanes && s->lanes[low].track == track && s->lanes[low].kind == STORE_STATES
		       ? low
		       : SPUR_NONE;
}

uint64_t store_doing_at(const struct store *s, uint32_t lane, int64_t t)
{
	const uint64_t n = store_seek(s, lane, t);
	struct store_item i;

	return store_item(s, lane, n, &i) && i.start <= t ? n : UINT64_MAX;
}

/*
 * The track of a thread id in the trace of a track. Of several, the one that runs at `t`; else the
 * first.
 */
static uint32_t track_of_tid(const struct store *s, uint32_t of, int64_t tid, int64_t t)
{
	const uint32_t n = store_facts(s).tracks;
	uint32_t found = SPUR_NONE;

	for (uint32_t i = 0; i < n; i++) {
		struct store_track track;
		struct store_item item;
		uint64_t at;
		uint32_t lane;

		if (!store_track(s, i, &track) || track.kind != SPUR_TRACK_THREAD ||
		    track.tid != tid || !store_same_trace(s, of, i))
			continue;
		if (found == SPUR_NONE)
			found = i;
		lane = store_states(s, i);
		at = lane == SPUR_NONE ? UINT64_MAX : store_doing_at(s, lane, t);
		if (at != UINT64_MAX && store_item(s, lane, at, &item) &&
		    item.label == STORE_RUNNING)
			return i;
	}
	return found;
}

/*
 * Returns the track of the thread that has a CPU at a time, in the trace of a track; SPUR_NONE if
 * that is not known. Takes time by the number of threads.
 */
static uint32_t on_cpu(const struct store *s, uint32_t of, uint16_t cpu, int64_t t)
{
	const uint32_t lanes = store_lane_count(s);

	for (uint32_t l = 0; l < lanes; l++) {
		struct store_lane info;
		struct store_item i;
		uint64_t at;

		if (store_kind(s, l) != STORE_STATES)
			continue;
		at = store_doing_at(s, l, t);
		if (at != UINT64_MAX && store_item(s, l, at, &i) && i.label == STORE_RUNNING &&
		    i.cpu == cpu && store_lane(s, l, &info) && store_same_trace(s, of, info.track))
			return info.track;
	}
	return SPUR_NONE;
}

bool store_doing(const struct store *s, uint32_t lane, uint64_t number, struct store_doing *out)
{
	struct store_lane of;
	struct store_item i;

	*out = (struct store_doing){ .waker = SPUR_NONE, .cpu = SPUR_NO_CPU };
	if (lane >= store_lane_count(s) || store_kind(s, lane) != STORE_STATES ||
	    !store_lane(s, lane, &of) || !store_item(s, lane, number, &i) ||
	    i.label > STORE_BLOCKED)
		return false;
	out->state = (enum store_thread_state)i.label;
	out->preempted = out->state == STORE_RUNNABLE && i.kind == SPUR_SWITCH;
	out->last = i.marks & STORE_LAST;
	out->start = i.start;
	out->end = i.start + i.dur;
	if (out->state != STORE_RUNNABLE || out->preempted)
		out->cpu = i.cpu;
	else if (i.id)
		out->waker = track_of_tid(s, of.track, (int64_t)(i.id - 1), i.start);
	else if (i.cpu != SPUR_NO_CPU)
		out->waker = on_cpu(s, of.track, i.cpu, i.start);
	return true;
}
