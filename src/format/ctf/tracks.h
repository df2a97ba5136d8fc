/*
 * Tracks of threads and processes, which are found while events are read, and their names.
 *
 * SPEC ctf/track-names: a thread or process has the latest name that any stream says, so that a
 * program which replaces another (exec) gives the thread its name.
 */
#ifndef SPUR_FORMAT_CTF_TRACKS_H
#define SPUR_FORMAT_CTF_TRACKS_H

#include "format/ctf/head.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * Returns the track of the thread that an event of the scheduler names by its id, and gives it the
 * name in the slot (CTF_NO_SLOT: no name) as of that time. See SPEC ctf/thread-process.
 */
uint32_t track_of_tid(struct ctf_feed *f, uint64_t tid, uint32_t name_slot, int64_t ts);
/*
 * Returns the track of the thread in the event's context, whose name is at a byte of the packet
 * (UINT64_MAX: no name).
 */
uint32_t track_of(struct ctf_feed *f, uint64_t pid, uint64_t tid, uint64_t name_at, int64_t ts);
/* The same if its context is a ctf_lead; `body` is the data after the event's header. */
uint32_t track_of_lead(struct ctf_feed *f, const uint8_t *body, int64_t ts);
/*
 * Updates the name of the current thread from its last consecutive event, whose data is `body`.
 * Requires that the event's packet is still available.
 */
void track_rename(struct ctf_feed *f, const uint8_t *body, int64_t ts);

/* Returns the place of a slot's text, or UINT64_MAX if there is no such slot. */
static inline uint64_t slot_place(const struct ctf_cursor *c, uint32_t slot)
{
	return slot == CTF_NO_SLOT ? UINT64_MAX : c->slots[slot];
}

/* The two ids of a ctf_lead as one number. */
static inline uint64_t lead_of(const struct ctf_lead *l, const uint8_t *body)
{
	return (uint64_t)load32(body + l->pid, false) << 32 | load32(body + l->tid, false);
}

/*
 * Returns the track of the event's thread, from its common context, or else the stream's track.
 * `body` is the data after the header; requires that all of the event is available. `before` is the
 * body of the previous event in this packet (NULL: no previous event), at time `before_ts`.
 */
static inline uint32_t event_track(struct ctf_feed *f, const struct ctf_class *k,
				   const uint8_t *body, int64_t ts, const uint8_t *before,
				   int64_t before_ts)
{
	const struct ctf_lead *l = &k->lead;
	const uint64_t *slots = f->cursor.slots;

	if (l->there) {
		if (likely(lead_of(l, body) == f->last_lead && f->have_last))
			return f->track;
		if (before)
			track_rename(f, before, before_ts);
		return track_of_lead(f, body, ts);
	}
	if (k->tid_slot == CTF_NO_SLOT)
		return f->current == SPUR_NONE ? f->own_track : f->current;
	return track_of(f,
			k->pid_slot == CTF_NO_SLOT ? (uint64_t)f->trace->pid : slots[k->pid_slot],
			slots[k->tid_slot], slot_place(&f->cursor, k->name_slot), ts);
}

#endif
