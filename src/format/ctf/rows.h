/* Shared by rows.c and resync.c. */
#ifndef SPUR_FORMAT_CTF_ROWS_H
#define SPUR_FORMAT_CTF_ROWS_H

#include "format/ctf/head.h"

static inline struct ctf_file *feed_file(const struct ctf_feed *f)
{
	return &f->ctf->files[f->files[f->file]];
}

/* Returns true if the packet states the time of its last event. */
static inline bool has_end(const struct ctf_packet *p)
{
	return (p->flags & (PACKET_END | PACKET_LOOSE_END)) == PACKET_END && p->begin <= p->end;
}

/*
 * SPEC ctf-v11/slack: content counts bytes, and an event may end inside one: the remaining bits are
 * no event
 */
static inline bool is_over(const struct ctf_feed *f, uint64_t at, uint64_t limit)
{
	return at >= limit || (f->trace->meta->generation == CTF_V11 && limit - at < 8);
}

/* rows.c: the event class of an id; Returns NULL if it is unknown, or out of memory. */
struct ctf_event *event_find(struct ctf_feed *f, uint64_t id);
/*
 * Moves over the next event. Returns NULL if it is invalid, with the reason in *why, or NULL in
 * *why if its class is unknown.
 */
struct ctf_event *event_skip(struct ctf_feed *f, struct ctf_cursor *c, const char **why);

/*
 * resync.c: reports the damaged event at the cursor (`why` is NULL if its class is unknown) and
 * moves to the next plausible event, or the packet's end.
 */
void event_damage(struct ctf_feed *f, struct feed *feed, const char *why);
/*
 * resync.c: the time of the event from bit `from` on, which is later than expected (ctf_feed.due).
 * `now` is its time as its header says it, `before` that of the event before. SPEC ctf/clock-back:
 * where one wrap of the header's time earlier it lies between the packet's begin and the event
 * before, the clock went back and did not wrap. Returns that time, or `now`.
 */
uint64_t clock_back(const struct ctf_class *k, const struct ctf_packet *p, const uint8_t *data,
		    uint64_t from, uint64_t now, uint64_t before);

/*
 * resync.c: handles the event from bit `from` up to the cursor, which is later than expected
 * (ctf_feed.due). Returns false if it is damage, which is then skipped; else the event is accepted,
 * and its time may be corrected. `clock` is the clock before it.
 */
bool event_late(struct ctf_feed *f, struct feed *feed, uint64_t from, uint64_t clock);

#endif
