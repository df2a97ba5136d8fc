/*
 * After an invalid event: reports its damage, and finds the next plausible event in its packet. If
 * there is no such event, the rest of the packet is lost.
 */
#include <stdio.h>

#include "base/bits.h"
#include "format/ctf/head.h"
#include "format/ctf/rows.h"

enum {
	RESYNC_CHAIN = 6, /* events in a row that make a place plausible */
	RESYNC_WINDOW = 1 << 19, /* bits that one of them may take */
	RESYNC_LOOKAHEAD = 15, /* bytes after a place where the event may begin as well */
	/*
	 * Bits that are searched for events: EFFORT_EACH for each bit of a packet, and a fixed
	 * number.
	 */
	EFFORT_EACH = 128,
	EFFORT_FREE = 1 << 26,
	FIELD_ROOM = 200,
	LATE_REACH = 1 << 16, /* bits after an event that is too late, where others show damage */
};

/*
 * SPEC ctf/unknown-between: whether so few events that can be are enough before one of an unknown
 * class: a packet that lasts a small part of what the time in a header can tell has hardly any by
 * chance
 */
static bool chain_is_significant(const struct ctf_feed *f, int events, uint64_t from,
				 uint64_t clock)
{
	const struct ctf_packet *p = f->packet;
	const bool large = f->class->usual == USUAL_LARGE;

	return f->class->usual != USUAL_NONE && events >= (large ? 1 : 2) && has_end(p) &&
	       clock >= from && clock <= p->end && p->end - from < (large ? 1u << 29 : 1u << 24);
}

/*
 * SPEC ctf/event-damage: whether events that lead to the packet's end are a proof. A single one
 * that ends there may be the tail of a string read as an event; two in a row are trusted, and one
 * whose time is exactly the packet's end.
 */
static bool end_is_proof(const struct ctf_feed *f, int events, uint64_t clock)
{
	const struct ctf_packet *p = f->packet;

	return events > 1 || (events == 1 && has_end(p) && clock == p->end);
}

/*
 * Whether events that can be follow each other from here to the packet's end, or a few of them.
 * `told`: something else says that an event begins here, so that one which ends with the packet is
 * enough.
 */
static bool plausible(struct ctf_feed *f, struct ctf_cursor c, bool told)
{
	const struct ctf_packet *p = f->packet;
	const uint64_t limit = c.limit, clock = c.clock;
	const char *why;

	for (int i = 0; i < RESYNC_CHAIN; i++) {
		const uint64_t from = c.at;

		if (is_over(f, c.at, limit))
			return (told && i) || end_is_proof(f, i, c.clock);
		c.limit = limit - c.at > RESYNC_WINDOW ? c.at + RESYNC_WINDOW : limit;
		if (!event_skip(f, &c, &why)) {
			f->effort += c.at - from;
			return !why && chain_is_significant(f, i, clock, c.clock);
		}
		f->effort += c.at - from;
		if (c.at == from || c.clock < clock ||
		    ((p->flags & (PACKET_END | PACKET_LOOSE_END)) == PACKET_END &&
		     c.clock > p->end))
			return false;
		c.limit = limit;
	}
	return true;
}

/*
 * The field of the event at the cursor that cannot be read, with its bit; "" where that cannot be
 * told.
 */
static void find_field(struct ctf_feed *f, struct ctf_cursor c, const char **why, char *text,
		       size_t size)
{
	const uint64_t id_of = CTF_SLOT_EVENT_ID;
	struct ctf_cursor again = c;
	struct ctf_event *e = NULL;
	char path[FIELD_ROOM];
	bool found;

	text[0] = '\0';
	c.have[id_of] = 0;
	if (plan_skip(f->class->header, &c) == SPUR_OK)
		e = event_find(f, c.have[id_of] ? c.slots[id_of] : 0);
	again = e ? c : again;
	found = plan_find_wrong(e ? e->program : f->class->header, &again, f->ctf->t, path,
				sizeof(path));
	if (!found)
		return;
	*why = again.why;
	snprintf(text, size, "%s at bit %llu: ", path, (unsigned long long)again.wrong_at);
}

/*
 * What is wrong with the event at bit `from`, which begins at the cursor. `why`: NULL where its id
 * is unknown.
 */
static void report_damage(struct ctf_feed *f, struct feed *feed, const char *why, uint64_t lost)
{
	const struct ctf_cursor *c = &f->cursor;
	const uint64_t off = f->packet->file_off + c->at / 8;
	const char *file = feed_file(f)->name;
	char field[FIELD_ROOM + 40];

	if (!why) {
		diag_add(&feed->diag, DIAG_DAMAGE, "ctf/unknown-event", file, off, lost,
			 "event at bit %llu of its packet: expected the id of an event class, "
			 "found %llu",
			 (unsigned long long)c->at,
			 (unsigned long long)c->slots[CTF_SLOT_EVENT_ID]);
		return;
	}
	find_field(f, *c, &why, field, sizeof(field));
	diag_add(&feed->diag, DIAG_DAMAGE, "ctf/bad-event", file, off, lost,
		 "event at bit %llu of its packet: %sexpected %s", (unsigned long long)c->at, field,
		 why);
}

/* Whether more may be looked at: events that nest much in every byte would take for ever. */
static bool has_effort(const struct ctf_feed *f)
{
	return f->effort < EFFORT_FREE || (f->effort - EFFORT_FREE) / EFFORT_EACH < f->cursor.limit;
}

static bool is_plausible_at(struct ctf_feed *f, uint64_t at, bool told)
{
	struct ctf_cursor test = f->cursor;

	test.at = at;
	return has_effort(f) && plausible(f, test, told);
}

/* Whether events can be at this place, or the packet ends. */
static bool goes_on(struct ctf_feed *f, uint64_t at)
{
	const struct ctf_cursor *c = &f->cursor;

	return (at <= c->limit && is_over(f, at, c->limit)) ||
	       (at > c->at && at < c->limit && is_plausible_at(f, at, true));
}

/*
 * SPEC ctf-v11/event-size: where an event cannot be read, its size tells where the next one is;
 * else UINT64_MAX
 */
static uint64_t find_by_size(struct ctf_feed *f)
{
	const struct ctf_class *k = f->class;
	struct ctf_cursor c = f->cursor;
	uint64_t size;

	if (!k->common || plan_skip(k->header, &c) == SPUR_FAIL ||
	    plan_skip(k->common, &c) == SPUR_FAIL)
		return UINT64_MAX;
	size = 8 * (c.slots[k->size_slot] & UINT16_MAX);
	for (uint64_t align = 8; align <= 64; align *= 2)
		if (goes_on(f, align_up(c.at, align) + size))
			return align_up(c.at, align) + size;
	return UINT64_MAX;
}

/* The clock after the event that would be at this place. */
static uint64_t time_at(struct ctf_feed *f, uint64_t at)
{
	struct ctf_cursor c = f->cursor;
	const char *why;

	c.at = at;
	c.limit = c.limit - at > RESYNC_WINDOW ? at + RESYNC_WINDOW : c.limit;
	if (!event_skip(f, &c, &why))
		c.clock = UINT64_MAX;
	f->effort += c.at - at;
	return c.clock;
}

/*
 * SPEC ctf/event-place: places a few bytes beside an event may look like one, with zeros before it;
 * where time moves on least is the right one
 */
static uint64_t best_place(struct ctf_feed *f, uint64_t first)
{
	uint64_t best = first, least = time_at(f, first), time;

	for (uint64_t at = first + 8;
	     at < f->cursor.limit && at <= first + 8 * RESYNC_LOOKAHEAD && has_effort(f); at += 8) {
		time = time_at(f, at);
		if (time < least && is_plausible_at(f, at, false)) {
			least = time;
			best = at;
		}
	}
	return best;
}

/* The next place after the cursor where events can be; the packet's end where none is. */
static uint64_t find_event(struct ctf_feed *f)
{
	const struct ctf_cursor *c = &f->cursor;
	const uint64_t told = find_by_size(f);

	if (told != UINT64_MAX)
		return told;
	for (uint64_t at = align_up(c->at + 1, 8); at < c->limit; at += 8)
		if (is_plausible_at(f, at, false))
			return best_place(f, at);
	return c->limit;
}

/*
 * SPEC ctf/event-damage: on from the next place where events can be, else the packet's rest is lost
 */
void event_damage(struct ctf_feed *f, struct feed *feed, const char *why)
{
	struct ctf_cursor *c = &f->cursor;
	const uint64_t id = c->slots[CTF_SLOT_EVENT_ID], next = find_event(f);

	/* A cut packet ends inside an event: that is said of the packet already. */
	if (!why || !(f->packet->flags & PACKET_CUT) || next < c->limit) {
		c->slots[CTF_SLOT_EVENT_ID] = id;
		report_damage(f, feed, why, (next - c->at + 7) / 8);
	}
	c->at = next;
}

/* SPEC ctf/clock-back */
uint64_t clock_back(const struct ctf_class *k, const struct ctf_packet *p, const uint8_t *data,
		    uint64_t from, uint64_t now, uint64_t before)
{
	const unsigned bits = k->usual == USUAL_LARGE ? CTF_WIRE_LARGE_TIME : CTF_WIRE_COMPACT_TIME;
	const uint64_t wrap = UINT64_C(1) << bits;
	const bool fits = now >= wrap && now - wrap >= p->begin && now - wrap < before;

	/* The long form has the whole time, which did not wrap. */
	return k->usual && fits && !head_is_long(k, data, from) ? now - wrap : now;
}

/*
 * SPEC ctf/late-damage: an event that is later than its packet's end is none where others in good
 * time follow after it: bytes that were overwritten or left out look like one.
 */
static bool late_is_damage(struct ctf_feed *f, uint64_t from, uint64_t clock)
{
	struct ctf_cursor *c = &f->cursor;
	const uint64_t behind = c->at, now = c->clock;
	const uint64_t to = c->limit - from > LATE_REACH ? from + LATE_REACH : c->limit;
	const char *why;
	bool found = false;

	c->clock = clock;
	for (uint64_t at = align_up(from + 1, 8); !found && at < to; at += 8)
		found = is_plausible_at(f, at, false);
	/* The other places left their ids and their body. */
	c->at = from;
	event_skip(f, c, &why);
	c->at = behind;
	c->clock = now;
	return found;
}

bool event_late(struct ctf_feed *f, struct feed *feed, uint64_t from, uint64_t clock)
{
	struct ctf_cursor *c = &f->cursor;
	const uint64_t now = c->clock;

	c->clock = clock_back(f->class, f->packet, c->data, from, now, clock);
	if (c->clock < now) {
		diag_add(&feed->diag, DIAG_WARN, "ctf/late-event", feed_file(f)->name,
			 f->packet->file_off + from / 8, 0,
			 "event: expected clock value %llu or a later one, found %llu",
			 (unsigned long long)clock, (unsigned long long)c->clock);
		return true;
	}
	if (f->trace->meta->generation == CTF_V11 || !late_is_damage(f, from, clock)) {
		/* The packet's end is wrong. */
		f->due = UINT64_MAX;
		return true;
	}
	c->at = from;
	c->clock = clock;
	event_damage(f, feed, "a time up to the packet's end, found a later one");
	return false;
}
