/*
 * Tracks of threads and processes, which come to light while events are read, and their names.
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
 * The thread that an event of the scheduler names by its id, called what stands in the slot
 * (CTF_NO_SLOT: nothing) at that time. See SPEC ctf/thread-process.
 */
uint32_t track_of_tid(struct ctf_feed *f, uint64_t tid, uint32_t name_slot, int64_t ts);
/*
 * The thread of the event's context, whose name stands at a byte of the packet (UINT64_MAX:
 * nowhere).
 */
uint32_t track_of(struct ctf_feed *f, uint64_t pid, uint64_t tid, uint64_t name_at, int64_t ts);
/* The same where its context is a ctf_lead; `body` is what stands behind the event's header. */
uint32_t track_of_lead(struct ctf_feed *f, const uint8_t *body, int64_t ts);
/*
 * Looks at the name of the thread at hand once more, in the last event of those in a row that are
 * its: `body` is that event's. To be called while its packet is still there.
 */
void track_rename(struct ctf_feed *f, const uint8_t *body, int64_t ts);

/* Where text of a slot is; UINT64_MAX: there is no such slot. */
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
 * The event's thread: by its common context, else the stream's own track. `body` is what stands
 * behind the header; all of the event is there. `before` is the body of the event before in this
 * packet, NULL if there was none, at time `before_ts`.
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
