/*
 * Decoding needed for each event by the readers of rows and fields: LTTng's headers, and classes by
 * id.
 */
#ifndef SPUR_FORMAT_CTF_HEAD_H
#define SPUR_FORMAT_CTF_HEAD_H

#include "format/ctf/plan/parts.h"
#include "format/ctf/reader.h"
#include "format/ctf/wire.h"

/*
 * Reads the id in the short form of a usual header at `p`. Returns false if it has the long form,
 * which the program must read. The result equals that of the program; this is faster. Requires the
 * whole header.
 */
static inline bool head_id(enum usual_header usual, const uint8_t *p, uint32_t *id)
{
	*id = usual == USUAL_LARGE ? load16(p, order_swaps(false)) : *p & CTF_WIRE_COMPACT_LONG;
	return *id != (usual == USUAL_LARGE ? CTF_WIRE_LARGE_LONG : CTF_WIRE_COMPACT_LONG);
}

/* Returns the clock after that header. */
static inline uint64_t head_clock(enum usual_header usual, const uint8_t *p, uint64_t clock)
{
	const bool swap = order_swaps(false);

	return usual == USUAL_LARGE
		       ? clock_update(clock, load32(p + 2, swap), CTF_WIRE_LARGE_TIME)
		       : clock_update(clock, load32(p, swap) >> 5, CTF_WIRE_COMPACT_TIME);
}

/*
 * Whether the event from bit `from` on has a usual header in the long form, which has all bits of
 * its time: no wrap is added to it. Requires that the header was read.
 */
static inline bool head_is_long(const struct ctf_class *k, const uint8_t *data, uint64_t from)
{
	uint32_t id;

	return k->usual && !head_id(k->usual, data + align_up(from, 8) / 8, &id);
}

/* As ctf_time(), but clocks of 1 GHz need one addition. */
static inline int64_t class_time(const struct ctf *c, const struct ctf_class *k, uint64_t cycles)
{
	return k->plain && cycles <= INT64_MAX / 4 ? (int64_t)cycles + k->plain_add
						   : ctf_time(c, k, cycles);
}

static inline uint32_t head_bytes(enum usual_header usual)
{
	return usual == USUAL_LARGE ? CTF_WIRE_LARGE : CTF_WIRE_COMPACT;
}

/*
 * Moves over an event's header and stores its id in its slot. On SPUR_FAIL the cursor has the
 * reason.
 */
static inline enum spur_status head_skip(const struct ctf_class *k, struct ctf_cursor *c)
{
	const uint64_t at = align_up(c->at, 8);
	const uint32_t bits = 8 * head_bytes(k->usual);
	uint32_t id;

	if (k->usual && c->limit - c->at >= bits + 8 && head_id(k->usual, c->data + at / 8, &id)) {
		c->clock = head_clock(k->usual, c->data + at / 8, c->clock);
		c->at = at + bits;
		c->slots[CTF_SLOT_EVENT_ID] = c->slots[k->id_slot] = id;
		return SPUR_OK;
	}
	c->have[CTF_SLOT_EVENT_ID] = 0;
	if (plan_skip(k->header, c) == SPUR_FAIL)
		return SPUR_FAIL;
	/* SPEC ctf/event-id: 0 where the header has none */
	if (!c->have[CTF_SLOT_EVENT_ID])
		c->slots[CTF_SLOT_EVENT_ID] = 0;
	return SPUR_OK;
}

/* Returns the event class of a low id that was used before, or NULL: ctf_event() finds it. */
static inline struct ctf_event *event_known(const struct ctf_class *k, uint64_t id)
{
	return id < k->nknown ? __atomic_load_n(&k->known[id].event, __ATOMIC_ACQUIRE) : NULL;
}

#endif
