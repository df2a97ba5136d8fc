/*
 * Copies packets as they are stored; consecutive ones in one piece. What changes in a packet:
 *
 *	counter		if packets are left out or change places, so that none seems to be lost but
 *			those that are missing in the source
 *	stream, times	if traces are joined: streams of several parts are kept apart, times count
 *			from the first part's epoch
 *	size		if the end of a packet is left out, because it is damaged
 *
 * SPEC heph/copied
 */
#include "format/heph/copy.h"

#include <stdio.h>

enum {
	STOP_EVERY = 4096,
	PARTS_MAX = 1 << 19,
	RUN_MOST = 1 << 18, /* bytes: a longer run leaves the caches before it is written */
};

static const bool swap = __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__;

/* Things that are told, by their numbers. */
struct counts {
	uint64_t damage, cut_attributes, salvaged, options, zeros, gaps, renumbered;
};

/* A stream that is written. */
struct target {
	uint32_t number, counter;
	uint64_t gap; /* missing counters in front of its next event */
};

/* One of the traces that are copied. */
struct part {
	const struct copy_part *part;
	const struct heph *h;
	uint32_t number; /* from 0 */
	struct heph_walk walk;
	const uint8_t *end; /* of the packet before */
	const struct heph_segment *segment;
	const struct heph_gaps *gaps; /* NULL: counters stay as they are */
	/* The packet that is to be written next, if there is one: */
	bool has;
	struct heph_packet packet;
	uint32_t size; /* bytes of it that are written */
	int64_t time; /* its end, on the first part's clock */
};

struct copier {
	struct copy *copy;
	struct part *parts;
	size_t nparts; /* opened */
	bool join; /* several parts */
	bool recount; /* counters are made anew */
	bool sorting; /* packets are collected, and written later */
	bool old; /* the layout that is written */
	int64_t base; /* subtracted from all times if parts are joined */
	struct map64 by_id; /* part, segment and stream to index + 1 */
	struct map64 numbers; /* of streams that are written */
	struct target *targets;
	size_t ntargets, targets_cap;
	uint32_t substitute; /* the next number for a stream whose own is taken */
	const uint8_t *run, *run_end; /* bytes that are written next, in one piece */
	struct counts counts;
	uint64_t packets;
};

/* --- output --- */

static void run_out(struct copier *c)
{
	if (c->run_end > c->run)
		out_bytes(c->copy->out, c->run, (size_t)(c->run_end - c->run));
	c->run = c->run_end = NULL;
}

static void bytes_as_stored(struct copier *c, const uint8_t *p, size_t len)
{
	if (p != c->run_end || c->run_end - c->run >= RUN_MOST) {
		run_out(c);
		c->run = p;
	}
	c->run_end = p + len;
}

/* A number for a stream of its own. Returns false if out of memory. */
static bool target_number(struct copier *c, uint32_t id, uint32_t *number)
{
	struct map64_slot *slot;

	*number = id;
	if (!c->join)
		return true;
	if (map64_find(&c->numbers, id)) {
		c->counts.renumbered++;
		do
			*number = c->substitute--;
		while (map64_find(&c->numbers, *number));
	}
	slot = map64_put(&c->numbers, *number);
	return slot;
}

/* The key of a part's stream in `by_id`. */
static uint64_t target_key(const struct part *p, uint64_t segment, uint32_t id)
{
	return ((uint64_t)p->number * HEPH_SEGMENTS + segment) << 32 | id;
}

/* Returns the stream that is written for a part's, or NULL if out of memory. */
static struct target *target_get(struct copier *c, const struct part *p, uint64_t segment,
				 uint32_t id)
{
	struct map64_slot *slot = map64_put(&c->by_id, target_key(p, segment, id));
	uint32_t number;

	if (slot && slot->value)
		return &c->targets[slot->value - 1];
	if (!slot || !target_number(c, id, &number) ||
	    !mem_grow((void **)&c->targets, &c->targets_cap, c->ntargets + 1, sizeof(*c->targets),
		      SIZE_MAX / 2))
		return NULL;
	c->targets[c->ntargets++] = (struct target){ .number = number };
	slot->value = c->ntargets;
	return &c->targets[c->ntargets - 1];
}

/* The same for an event. */
static struct target *target_of(struct copier *c, const struct part *p, const uint8_t *event)
{
	return target_get(c, p, (uint64_t)(p->segment - p->h->segments), heph_stream_id(event));
}

/* The shift from the raw times of an event to those that are written. */
static __int128 shift_of(const struct copier *c, const struct part *p)
{
	return c->join ? p->segment->shift + p->part->shift - c->base : 0;
}

static uint64_t shifted(uint64_t t, __int128 by)
{
	const __int128 v = (__int128)t + by;

	return v < 0 ? 0 : v > (__int128)UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

/* An event that changes. Returns false if out of memory. */
static bool event_changed(struct copier *c, const struct part *p)
{
	const uint8_t *const from = p->packet.p;
	const uint32_t head = p->walk.head, new_head = c->old ? HEPH_OLD_HEAD : HEPH_EVENT_HEAD;
	const struct heph_times t = heph_times(p->h, from);
	struct target *to = target_of(c, p, from);
	uint8_t *w;

	run_out(c);
	w = (uint8_t *)out_room(c->copy->out, HEPH_EVENT_HEAD);
	if (!to)
		return false;
	if (!w)
		return true; /* the output's error */
	memset(w, 0, HEPH_EVENT_HEAD);
	store32(w, heph_event_magic, swap);
	store32(w + HEPH_SIZE_AT, p->size - head + new_head, swap);
	store32(w + HEPH_STREAM_AT, to->number, swap);
	to->counter += (uint32_t)to->gap;
	to->gap = 0;
	store32(w + HEPH_COUNTER_AT, c->recount ? to->counter : heph_counter_of(from), swap);
	to->counter++;
	if (!c->old)
		store64(w + HEPH_SUBSTREAM_AT, heph_substream(p->h, from), swap);
	w += new_head;
	store64(w - HEPH_START_BACK, shifted(t.start, shift_of(c, p)), swap);
	store64(w - HEPH_END_BACK, shifted(t.end, shift_of(c, p)), swap);
	memcpy(w - HEPH_NAME_LEN_BACK, from + head - HEPH_NAME_LEN_BACK, HEPH_NAME_LEN_BACK);
	c->copy->out->len += new_head;
	out_bytes(c->copy->out, from + head, p->size - head);
	return true;
}

/* The current packet of a part. Returns false if out of memory. */
static bool packet_out(struct copier *c, const struct part *p)
{
	const uint8_t *const from = p->packet.p;

	c->copy->records += p->packet.meta ? !heph_is_epoch(&p->packet)
					   : !heph_event_naming(p->h, from, p->size);
	if (p->packet.meta || (!c->recount && !c->join && p->size == heph_size(from))) {
		bytes_as_stored(c, from, p->size);
		return true;
	}
	return event_changed(c, p);
}

/* --- packets that are copied --- */

/*
 * Bytes of the event without damage at its end. A value of an unassigned type is none, nor are a
 * few bytes too many.
 */
static uint32_t event_good(struct copier *c, const struct part *p, const struct heph_packet *k)
{
	const uint8_t *q = k->p + p->walk.head + heph_name_len(k->p, p->walk.head);
	const uint8_t *const end = k->p + k->size;
	uint32_t n;
	const enum heph_fault fault = heph_attrs_count(&q, end, &n);

	if (fault != HEPH_TORN && fault != HEPH_INVALID)
		return k->size;
	c->counts.cut_attributes++;
	c->copy->bytes_lost += (uint64_t)(end - q);
	return (uint32_t)(q - k->p);
}

/*
 * The whole attributes of an event whose end is missing, if its head and its description are there.
 * Returns the bytes of it, or 0.
 */
static uint32_t salvage(const struct part *p, const uint8_t *from, const uint8_t *to)
{
	const size_t left = (size_t)(to - from);
	const uint8_t *q;
	uint32_t n, size;

	if (left < p->walk.head || be32(from) != heph_event_magic)
		return 0;
	size = heph_size(from);
	if (size <= left || size > HEPH_USUAL ||
	    p->walk.head + heph_name_len(from, p->walk.head) > left)
		return 0;
	q = from + p->walk.head + heph_name_len(from, p->walk.head);
	heph_attrs_count(&q, to, &n);
	return (uint32_t)(q - from);
}

/* Bytes between two packets, or behind the last one, that are none. */
static bool between(struct copier *c, struct part *p, const uint8_t *to)
{
	const uint8_t *from = p->end, *q = from;
	uint32_t size;

	while (q < to && !*q)
		q++;
	if (q == to && to == p->walk.end) {
		/* Zeros at the end are no damage; they stay if nothing else changes. */
		if (!c->copy->repair && !c->recount && !c->join)
			bytes_as_stored(c, from, (size_t)(to - from));
		else
			c->counts.zeros++;
		return true;
	}
	c->counts.damage++;
	size = c->copy->repair && !p->part->kept ? salvage(p, from, to) : 0;
	c->copy->bytes_lost += (uint64_t)(to - from) - size;
	if (!size)
		return true;
	c->counts.salvaged++;
	p->packet = (struct heph_packet){ .p = from, .size = size };
	p->size = size;
	return packet_out(c, p);
}

/* An epoch, or an option that is not known. Returns true if it is copied. */
static bool option_kept(struct copier *c, struct part *p, const struct heph_packet *k)
{
	static const uint8_t epoch[] = { 0, 5, 'e', 'p', 'o', 'c', 'h' };

	p->segment = heph_segment_at(p->h, heph_off(p->h, k->p));
	if (heph_is_epoch(k))
		return !c->join;
	if (k->size >= HEPH_OPTION_LEN_AT + sizeof(epoch) &&
	    !memcmp(k->p + HEPH_OPTION_LEN_AT, epoch, sizeof(epoch))) {
		c->counts.options++;
		c->copy->bytes_lost += k->size;
		return false;
	}
	return !p->part->kept || kept_has(p->part->kept, 0, heph_off(p->h, k->p));
}

/* Missing counters in front of the event, if they lie in the time that is copied. */
static bool gap_note(struct copier *c, struct part *p, const uint8_t *event)
{
	const struct heph_missing *gap =
		p->gaps && p->gaps->n ? heph_gap_at(p->gaps, heph_off(p->h, event)) : NULL;
	struct target *to;

	if (!gap || gap->ts < p->part->from || gap->ts > p->part->until)
		return true;
	to = target_of(c, p, event);
	if (to)
		to->gap += gap->count;
	return to;
}

/* Names are kept with the events of their stream, which they follow. */
static bool name_kept(const struct copier *c, const struct part *p, const struct heph_packet *k)
{
	const uint64_t segment = (uint64_t)(p->segment - p->h->segments);

	return heph_event_naming(p->h, k->p, k->size) &&
	       (c->sorting || map64_find(&c->by_id, target_key(p, segment, heph_stream_id(k->p))));
}

static bool event_kept(const struct copier *c, const struct part *p, const struct heph_packet *k)
{
	return !p->part->kept || kept_has(p->part->kept, 0, heph_off(p->h, k->p)) ||
	       name_kept(c, p, k);
}

static bool stopped(struct copier *c)
{
	const volatile int *stop = c->copy->stop;

	return stop && ++c->packets % STOP_EVERY == 0 && *stop;
}

/*
 * Skips the packets, all of them undamaged, before the next one that is kept or that changes what
 * is written. Otherwise each part of a split would walk over all packets.
 */
static void part_skip(struct part *p)
{
	const uint64_t at = heph_off(p->h, p->end), kept = kept_next(p->part->kept, 0, at),
		       other = heph_gaps_next(p->gaps, at), next = kept < other ? kept : other;

	p->walk.at = next == UINT64_MAX ? p->walk.end : p->walk.base + next;
	p->end = p->walk.at;
}

/* Goes to the next packet of a part that is copied. Returns false if out of memory. */
static bool part_next(struct copier *c, struct part *p)
{
	const bool skips = p->part->kept && p->gaps->tiled;
	struct heph_packet k = { .meta = false };
	struct heph_span span;

	p->has = false;
	if (skips)
		part_skip(p);
	while (!stopped(c) && heph_walk_next(&p->walk, &k) == HEPH_PACKET) {
		if (k.p != p->end && !between(c, p, k.p))
			return false;
		p->end = k.p + k.size;
		p->packet = k;
		p->size = k.size;
		if (k.meta) {
			p->has = option_kept(c, p, &k);
		} else {
			if (c->recount && !c->sorting && !gap_note(c, p, k.p))
				return false;
			p->has = event_kept(c, p, &k);
			p->size = p->has ? event_good(c, p, &k) : 0;
		}
		if (p->has && !k.meta && c->join) {
			span = heph_span(p->segment, heph_times(p->h, k.p));
			p->time = span.ts + span.dur + p->part->shift;
		}
		if (p->has)
			return true;
		k.meta = false;
		if (skips)
			part_skip(p);
	}
	return p->end == p->walk.end || between(c, p, p->walk.end);
}

/* --- sorting --- */

/* A packet to be sorted. */
struct item {
	int64_t end; /* of options INT64_MIN: they are first in their segment */
	uint64_t off;
	uint32_t size, segment;
};

struct items {
	struct item *items, *other; /* in scratch memory */
	size_t n, cap;
};

static bool item_before(const struct item *a, const struct item *b)
{
	if (a->segment != b->segment)
		return a->segment < b->segment;
	return a->end != b->end ? a->end < b->end : a->off <= b->off;
}

static void items_free(struct items *s)
{
	scratch_free(s->items, s->cap * sizeof(*s->items));
	scratch_free(s->other, s->cap * sizeof(*s->items));
}

/* Returns false if out of memory. */
static bool items_add(struct items *s, struct item item)
{
	if (s->n == s->cap) {
		struct items more = { .n = s->n, .cap = s->cap ? 2 * s->cap : 1024 };

		more.items = scratch_alloc(more.cap * sizeof(item));
		more.other = scratch_alloc(more.cap * sizeof(item));
		if (!more.items || !more.other) {
			items_free(&more);
			return false;
		}
		if (s->n)
			memcpy(more.items, s->items, s->n * sizeof(item));
		items_free(s);
		*s = more;
	}
	s->items[s->n++] = item;
	return true;
}

static void items_merge(const struct item *from, struct item *to, size_t low, size_t mid,
			size_t high)
{
	size_t a = low, b = mid;

	for (size_t i = low; i < high; i++)
		to[i] = b == high || (a < mid && item_before(&from[a], &from[b])) ? from[a++]
										  : from[b++];
}

static void items_sort(struct items *s)
{
	for (size_t width = 1; width < s->n; width *= 2) {
		struct item *const from = s->items;

		for (size_t low = 0; low < s->n; low += 2 * width) {
			const size_t mid = low + width < s->n ? low + width : s->n,
				     high = mid + width < s->n ? mid + width : s->n;

			items_merge(from, s->other, low, mid, high);
		}
		s->items = s->other;
		s->other = from;
	}
}

static struct item item_of(const struct part *p)
{
	const struct heph_span span =
		p->packet.meta ? (struct heph_span){ INT64_MIN, 0 }
			       : heph_span(p->segment, heph_times(p->h, p->packet.p));

	return (struct item){ .end = span.ts + span.dur,
			      .off = heph_off(p->h, p->packet.p),
			      .size = p->size,
			      .segment = (uint32_t)(p->segment - p->h->segments) };
}

/* Returns true if the packets already stand in order. */
static bool is_sorted(const struct heph *h)
{
	struct part p = { .h = h, .walk = heph_walk_again(h), .segment = h->segments };
	struct item last = { .end = INT64_MIN };
	struct heph_packet k = { .meta = false };

	while (heph_walk_next(&p.walk, &k) == HEPH_PACKET) {
		struct item item;

		p.packet = k;
		if (k.meta)
			p.segment = heph_segment_at(h, heph_off(h, k.p));
		item = item_of(&p);
		if (!k.meta && item_before(&item, &last))
			return false;
		last = k.meta ? last : item;
		last.segment = item.segment;
		k.meta = false;
	}
	return true;
}

/* Returns false if out of memory. */
static bool sorted_out(struct copier *c, struct part *p, const struct items *s)
{
	for (size_t i = 0; i < s->n && !stopped(c); i++) {
		const struct item *item = &s->items[i];

		p->packet = (struct heph_packet){ .p = p->h->walk.base + item->off,
						  .size = item->size };
		p->packet.meta = be32(p->packet.p) == heph_meta_magic;
		p->size = item->size;
		p->segment = &p->h->segments[item->segment];
		if ((!p->packet.meta && !gap_note(c, p, p->packet.p)) || !packet_out(c, p))
			return false;
	}
	return true;
}

static bool copy_sorted(struct copier *c, struct part *p)
{
	struct items s = { .n = 0 };
	bool good;

	c->sorting = true;
	while ((good = part_next(c, p)) && p->has && good)
		if (!items_add(&s, item_of(p))) {
			good = false;
			break;
		}
	if (good) {
		items_sort(&s);
		good = sorted_out(c, p, &s);
	}
	items_free(&s);
	return good;
}

/* --- joining --- */

/* The time that the first part's epoch is moved by, so that no time is before it. */
static int64_t earliest(const struct copier *c)
{
	int64_t least = 0;

	for (size_t i = 0; i < c->nparts; i++) {
		int64_t first;

		if (c->parts[i].h->first != INT64_MAX &&
		    !__builtin_add_overflow(c->parts[i].h->first, c->parts[i].part->shift,
					    &first) &&
		    first < least)
			least = first;
	}
	return least;
}

/* One epoch for all parts, if the first has one. */
static void epoch_out(struct copier *c)
{
	static const char name[] = "epoch";
	const struct heph *h = c->parts[0].h;
	uint8_t packet[HEPH_META_HEAD + sizeof(name) - 1 + HEPH_NUMBER];

	c->base = earliest(c);
	if (!h->epoch_seen)
		return;
	store32(packet, heph_meta_magic, swap);
	store32(packet + HEPH_SIZE_AT, sizeof(packet), swap);
	store16(packet + HEPH_OPTION_LEN_AT, sizeof(name) - 1, swap);
	memcpy(packet + HEPH_META_HEAD, name, sizeof(name) - 1);
	store64(packet + sizeof(packet) - HEPH_NUMBER,
		shifted(h->segments[0].epoch, (__int128)c->base), swap);
	out_bytes(c->copy->out, packet, sizeof(packet));
}

/* Gives all streams of a part their numbers: those of earlier parts keep their own. */
static bool part_targets(struct copier *c, const struct part *p)
{
	const struct heph_tracks *k = &p->h->tracks;
	uint32_t *segments = mem_array(k->nstreams, sizeof(*segments));
	const struct map64_slot *slot;
	bool good = segments;
	size_t at = 0;

	while (good && (slot = map64_next(&k->by_id, &at)))
		segments[slot->value - 1] = (uint32_t)(slot->key >> 32);
	for (size_t i = 0; good && i < k->nstreams; i++)
		good = k->streams[i]->common || target_get(c, p, segments[i], k->streams[i]->id);
	mem_free(segments);
	return good;
}

/* The part whose next packet was written first; NULL: all are over. */
static struct part *part_first(const struct copier *c)
{
	struct part *first = NULL;

	for (size_t i = 0; i < c->nparts; i++)
		if (c->parts[i].has && (!first || c->parts[i].time < first->time))
			first = &c->parts[i];
	return first;
}

static bool copy_joined(struct copier *c)
{
	struct part *p;

	epoch_out(c);
	for (size_t i = 0; i < c->nparts; i++)
		if (!part_targets(c, &c->parts[i]) || !part_next(c, &c->parts[i]))
			return false;
	while ((p = part_first(c)))
		if (!packet_out(c, p) || !part_next(c, p))
			return false;
	return true;
}

/* --- the copy --- */

static bool copy_stored(struct copier *c, struct part *p)
{
	while (part_next(c, p)) {
		if (!p->has)
			return true;
		if (!packet_out(c, p))
			return false;
	}
	return false;
}

static bool part_open(struct copier *c, const struct copy_part *from)
{
	struct part *p = &c->parts[c->nparts];
	struct heph *h = from->trace->state;

	*p = (struct part){ .part = from,
			    .h = h,
			    .number = (uint32_t)c->nparts++,
			    .walk = heph_walk_again(h),
			    .segment = h->segments,
			    .time = INT64_MIN };
	p->end = p->walk.base;
	c->old &= p->walk.head == HEPH_OLD_HEAD;
	if (c->recount)
		p->gaps = heph_gaps_find(h);
	return !c->recount || p->gaps;
}

static void note(const struct copier *c, uint64_t n, const char *what)
{
	if (n)
		out_printf(c->copy->notes, "%s: %llu\n", what, (unsigned long long)n);
}

static void notes_out(struct copier *c)
{
	for (size_t i = 0; i < c->ntargets; i++)
		c->counts.gaps += c->targets[i].gap != 0;
	c->copy->damaged |= c->counts.damage || c->counts.cut_attributes || c->counts.options;
	note(c, c->counts.damage - c->counts.salvaged, "damaged places without a packet, left out");
	note(c, c->counts.salvaged, "events without their end, ended after an attribute");
	note(c, c->counts.cut_attributes, "events ended in front of a damaged attribute");
	note(c, c->counts.options, "epochs of less than 8 bytes, left out");
	note(c, c->counts.zeros, "runs of zeros at the end, left out");
	note(c, c->counts.renumbered, "streams that got another number");
	note(c, c->counts.gaps, "losses at the end of a stream, which its counters cannot show");
}

static void copier_free(struct copier *c)
{
	mem_free(c->parts);
	mem_free(c->targets);
	map64_free(&c->by_id);
	map64_free(&c->numbers);
}

bool heph_joins(const struct copy *copy)
{
	return copy->count <= PARTS_MAX;
}

enum spur_status heph_copy(struct copy *copy)
{
	struct copier c = {
		.copy = copy, .join = copy->count > 1, .old = true, .substitute = UINT32_MAX
	};
	bool sort = copy->sorted && !c.join && !is_sorted(copy->parts[0].trace->state), good = true;

	if (copy->count > PARTS_MAX)
		return err_set(copy->err, SPUR_ERR_USAGE, "at most %d traces can be joined",
			       PARTS_MAX);
	for (size_t i = 0; i < copy->count; i++)
		c.recount |= copy->parts[i].kept != NULL;
	c.recount |= sort;
	c.parts = mem_array(copy->count, sizeof(*c.parts));
	good = c.parts;
	for (size_t i = 0; good && i < copy->count; i++)
		good = part_open(&c, &copy->parts[i]);
	if (good)
		good = c.join ? copy_joined(&c)
		       : sort ? copy_sorted(&c, c.parts)
			      : copy_stored(&c, c.parts);
	run_out(&c);
	if (good)
		notes_out(&c);
	copier_free(&c);
	return good ? SPUR_OK : SPUR_FAIL;
}
