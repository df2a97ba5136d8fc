/*
 * Where records stand and when they were written, exactly: places in bits with their bytes, and
 * times in cycles of the stream's clock. A row has both only as far as it has room for them (32
 * bits of length, ns of time).
 */
#include "base/bits.h"
#include "format/ctf/head.h"
#include "format/ctf/lookup.h"
#include "format/ctf/place.h"

/* --- events read again --- */

/*
 * A cursor of its own, for the few rows whose events have to be read again. Returns false if out of
 * memory.
 */
static bool cursor_open(const struct ctf *c, const struct ctf_lookup *in, struct ctf_cursor *cur)
{
	*cur = (struct ctf_cursor){ .have = mem_alloc(CTF_SLOTS_FIXED),
				    .slots = mem_array(c->nslots, sizeof(*cur->slots)) };
	if (!cur->have || !cur->slots)
		return false;
	ctf_packet_begin(in->trace, in->class, &in->packet, cur);
	return true;
}

static void cursor_close(struct ctf_cursor *cur)
{
	mem_free(cur->have);
	mem_free(cur->slots);
}

/* Moves over an event. Returns false if there is no event at the cursor. */
static bool event_pass(struct ctf *c, const struct ctf_lookup *in, struct ctf_cursor *cur)
{
	const struct ctf_event *e;

	if (cur->at >= cur->limit || head_skip(in->class, cur) == SPUR_FAIL)
		return false;
	e = ctf_event(c, in->trace, in->class, cur->slots[CTF_SLOT_EVENT_ID]);
	return e && plan_skip(e->program, cur) == SPUR_OK;
}

/* Bits of an event that a row's length has no room for; `len` if it cannot be read again. */
static uint64_t long_event(struct ctf *c, const struct ctf_lookup *in, const struct spur_event *ev)
{
	const uint64_t from = ctf_event_bit(in, ev);
	uint64_t bits = in->class->bits ? ev->len : 8 * (uint64_t)ev->len;
	struct ctf_cursor cur;

	if (cursor_open(c, in, &cur)) {
		cur.at = from;
		if (event_pass(c, in, &cur))
			bits = (in->class->bits ? cur.at : align_up(cur.at, 8)) - from;
	}
	cursor_close(&cur);
	return bits;
}

/*
 * The clock after an event whose time is beyond what rows hold: its packet is read from its begin.
 * Returns false if what precedes the event cannot be read.
 */
static bool far_ticks(struct ctf *c, const struct ctf_lookup *in, const struct spur_event *ev,
		      uint64_t *cycles)
{
	const uint64_t to = ctf_event_bit(in, ev);
	const bool bits = in->class->bits;
	struct ctf_cursor cur;
	uint64_t at = 0;
	bool good = cursor_open(c, in, &cur);

	/*
	 * Invariant: `at` is where the event ahead of the cursor begins, and grows with every turn.
	 */
	while (good) {
		at = bits ? cur.at : align_up(cur.at, 8);
		if (at > to)
			break;
		good = event_pass(c, in, &cur) && cur.at > at;
		if (at == to)
			break;
	}
	*cycles = cur.clock;
	cursor_close(&cur);
	return good && at == to;
}

/* --- places --- */

/*
 * SPEC ctf/record-place: the place of an event is from where the one before it ends to its own end,
 * alignment between them included; that of a packet is its header and context. Offsets are those of
 * rows, in bytes, with the first bit.
 */
static void place_fill(struct ctf *c, const struct ctf_lookup *in, const struct spur_event *ev,
		       struct spur_place *place)
{
	const uint64_t at = ctf_event_bit(in, ev);
	const uint64_t there = in->packet.flags & PACKET_OWN ? (in->packet.content + 7) / 8
							     : in->packet.file_size;

	place->origin = in->class->origin;
	place->off = in->packet.off + at / 8;
	place->first_bit = at % 8;
	place->bits = in->class->bits ? ev->len : 8 * (uint64_t)ev->len;
	if (ev->cls == c->packet_cls)
		place->bits = in->class->bits ? in->packet.body : align_up(in->packet.body, 8);
	else if (ev->len == UINT32_MAX)
		place->bits = long_event(c, in, ev);
	place->len = (place->first_bit + place->bits + 7) / 8;
	if (place->len && at / 8 <= there && place->len <= there - at / 8)
		place->raw = in->packet.data + at / 8;
}

void ctf_record_place(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place)
{
	struct ctf *c = t->state;
	struct ctf_lookup in;

	files_hold(c);
	if (ctf_lookup(c, ev, &in))
		place_fill(c, &in, ev, place);
	files_release(c);
}

/* --- ticks --- */

/*
 * About how many cycles a time is, rounded up; exact if the clock does not tick faster than once a
 * ns.
 */
static uint64_t cycles_about(const struct ctf_class *k, int64_t ts)
{
	const unsigned __int128 ns = (unsigned __int128)((__int128)ts - k->base);
	const unsigned __int128 cycles = (ns * k->scale.den + k->scale.num - 1) / k->scale.num;

	return (__int128)ns < 0 ? 0 : (uint64_t)cycles - k->offset;
}

/* The low bits of the time that the event's own header has. Returns false if it cannot be read. */
static bool header_ticks(const struct ctf *c, const struct ctf_lookup *in,
			 const struct spur_event *ev, uint64_t *low)
{
	const uint64_t at = ctf_event_bit(in, ev);
	const uint8_t *p = in->packet.data + at / 8;
	const enum usual_header usual = in->class->usual;
	struct ctf_cursor cur;
	uint32_t id;
	bool good;

	if (usual && at <= in->packet.content &&
	    in->packet.content - at >= 8 * (uint64_t)head_bytes(usual) && head_id(usual, p, &id)) {
		*low = head_clock(usual, p, 0);
		return true;
	}
	good = cursor_open(c, in, &cur);
	if (good) {
		cur.at = at;
		cur.clock = 0;
		good = at < cur.limit && head_skip(in->class, &cur) == SPUR_OK;
		*low = cur.clock;
	}
	cursor_close(&cur);
	return good;
}

/*
 * Cycles of a row whose time was not cut off: those that its time is about, with the low bits from
 * the header where a ns has several cycles. Returns false if that header cannot be read; *cycles is
 * about right then.
 */
static bool near_ticks(const struct ctf *c, const struct ctf_lookup *in,
		       const struct spur_event *ev, uint64_t *cycles)
{
	const struct ctf_class *k = in->class;
	const uint64_t mask = bits_mask(k->time_bits);
	uint64_t low;

	if (c->t->clock.ticks) {
		*cycles = (uint64_t)ev->ts;
		return true;
	}
	*cycles = cycles_about(k, ev->ts);
	if (k->scale.num >= k->scale.den)
		return true;
	if (!header_ticks(c, in, ev, &low))
		return false;
	low = (low - *cycles) & mask;
	*cycles += low > mask / 2 ? low - mask - 1 : low;
	return true;
}

/* Whether the row's time is that of a clock value that rows have no room for. */
static bool is_far(const struct ctf *c, const struct ctf_class *k, int64_t ts)
{
	int64_t ns;

	if (ts == INT64_MAX || c->t->clock.ticks)
		return ts == INT64_MAX;
	return __builtin_sub_overflow(ts, k->base, &ns) || ns == INT64_MAX;
}

/*
 * SPEC ctf/ticks: of an event its own time in cycles, of a packet its begin, if they have such
 * times
 */
static bool find_ticks(struct ctf *c, const struct spur_event *ev, uint64_t *cycles)
{
	struct ctf_lookup in;

	if (!ctf_lookup(c, ev, &in) || !in.class->class->clock)
		return false;
	if (ev->cls == c->packet_cls) {
		*cycles = in.packet.begin;
		return in.packet.flags & PACKET_BEGIN;
	}
	if (in.class->flags & SPUR_F_RETIMED)
		return false;
	if (is_far(c, in.class, ev->ts))
		return far_ticks(c, &in, ev, cycles);
	return near_ticks(c, &in, ev, cycles);
}

uint64_t ctf_event_cycles(struct ctf *c, const struct spur_event *ev)
{
	struct ctf_lookup in;
	uint64_t cycles = 0;

	files_hold(c);
	if (ctf_lookup(c, ev, &in))
		near_ticks(c, &in, ev, &cycles);
	files_release(c);
	return cycles;
}

bool ctf_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2])
{
	struct ctf *c = t->state;
	bool good;

	if (ev->kind == SPUR_LOST)
		return false;
	files_hold(c);
	good = find_ticks(c, ev, &ticks[0]);
	files_release(c);
	ticks[1] = ticks[0];
	return good;
}
