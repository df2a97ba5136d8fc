/*
 * Streams and substreams of tracks. SPEC heph/written-streams: a process is a stream with its id, a
 * thread a substream with its id. Where these do not fit, are missing or have been used for
 * another, the highest free number stands for them.
 */
#include "format/heph/write.h"

enum { TRACKS_MAX = 1 << 26 };

/* The process id as a number of a stream. Returns false if it is none. */
static bool number_of(int64_t pid, uint32_t *number)
{
	*number = (uint32_t)pid;
	return pid >= 0 && pid <= UINT32_MAX;
}

/* A number that no stream has. Returns the slot of `by_number`, or NULL if out of memory. */
static struct map64_slot *number_free(struct heph_writer *w, uint32_t *number)
{
	do
		*number = w->substitute--;
	while (map64_find(&w->by_number, *number));
	return map64_put(&w->by_number, *number);
}

/* Adds the stream of a process. Returns its index + 1, or 0 if out of memory. */
static uint32_t target_add(struct heph_writer *w, uint32_t process)
{
	const bool loose = trace_track(w->trace, process)->kind != SPUR_TRACK_PROCESS;
	struct heph_target *t;
	struct map64_slot *slot = NULL;
	uint32_t number;
	bool exact = number_of(write_pid_of(w->write, process), &number);

	if (exact)
		slot = map64_find(&w->by_number, number);
	/* Threads that no process's track is above share the stream of their process id. */
	if (slot && loose && w->targets[slot->value - 1].loose)
		return (uint32_t)slot->value;
	exact &= !slot;
	if (!mem_grow((void **)&w->targets, &w->targets_cap, w->ntargets + 1, sizeof(*w->targets),
		      TRACKS_MAX))
		return 0;
	slot = exact ? map64_put(&w->by_number, number) : number_free(w, &number);
	if (!slot)
		return 0;
	t = &w->targets[w->ntargets++];
	*t = (struct heph_target){ .number = number,
				   .exact = exact,
				   .loose = loose,
				   .process = process,
				   .first = SPUR_NONE,
				   .substitute = UINT64_MAX };
	slot->value = w->ntargets;
	return (uint32_t)w->ntargets;
}

static uint32_t target_of(struct heph_writer *w, uint32_t process)
{
	struct map64_slot *slot = map64_put(&w->by_process, process);

	if (slot && !slot->value)
		slot->value = target_add(w, process);
	return slot ? (uint32_t)slot->value : 0;
}

/* The number that the thread brings along. Returns false if it brings none. */
static bool own_substream(const struct heph_writer *w, uint32_t owner, uint64_t *number)
{
	const struct spur_track *k = write_track(w->write, owner);
	/* In a Heph trace all bits of a substream's id may be set. */
	const bool has = k->tid != -1 || (w->source && k->kind == SPUR_TRACK_THREAD);

	*number = has					     ? (uint64_t)k->tid
		  : k->kind == SPUR_TRACK_CPU && k->cpu >= 0 ? (uint64_t)k->cpu
							     : 0;
	return has;
}

/* The track that the events of a track or one of its lanes belong to. */
static uint32_t owner_of(const struct heph_writer *w, uint32_t track)
{
	const struct spur_track *k = trace_track(w->trace, track);

	for (; k && k->kind == SPUR_TRACK_LANE; k = trace_track(w->trace, track))
		track = k->parent;
	return track;
}

/* Returns false if out of memory. */
static bool owner_add(struct heph_writer *w, uint32_t owner)
{
	if (!mem_grow((void **)&w->owners, &w->owners_cap, w->nowners + 1, sizeof(*w->owners),
		      TRACKS_MAX))
		return false;
	w->owners[w->nowners++] = owner;
	return true;
}

/* Returns false if out of memory. */
static bool ids_make(struct heph_writer *w, uint32_t track, struct heph_ids *ids)
{
	const uint32_t owner = owner_of(w, track), process = trace_process_of(w->trace, track);
	struct heph_target *t;
	struct map64_slot *slot;

	ids->target = target_of(w, process);
	if (!ids->target)
		return false;
	t = &w->targets[ids->target - 1];
	ids->exact = own_substream(w, owner, &ids->substream) && t->exact;
	slot = map64_find(&t->substreams, ids->substream);
	while (slot && slot->value && slot->value != (uint64_t)owner + 1) {
		ids->exact = false;
		ids->substream = t->substitute--;
		slot = map64_find(&t->substreams, ids->substream);
	}
	slot = map64_put(&t->substreams, ids->substream);
	if (!slot)
		return false;
	if (t->first == SPUR_NONE)
		t->first = track;
	if (!slot->value && !owner_add(w, owner))
		return false;
	slot->value = (uint64_t)owner + 1;
	return true;
}

const struct heph_ids *heph_ids_of(struct heph_writer *w, uint32_t track)
{
	if (!mem_table_grow((void **)&w->ids, &w->ids_cap, (size_t)track + 1, sizeof(*w->ids),
			    TRACKS_MAX))
		return NULL;
	return w->ids[track].target || ids_make(w, track, &w->ids[track]) ? &w->ids[track] : NULL;
}

void heph_ids_free(struct heph_writer *w)
{
	for (size_t i = 0; i < w->ntargets; i++)
		map64_free(&w->targets[i].substreams);
	mem_free(w->targets);
	mem_table_free(w->ids, w->ids_cap, sizeof(*w->ids));
	mem_free(w->owners);
	map64_free(&w->by_process);
	map64_free(&w->by_number);
}
