/*
 * Copies of packets. A packet that is kept in part is made of its header and context, whose sizes,
 * times and counters are set, and of the events that are kept, bit for bit.
 *
 * SPEC ctf/copy-clock: the times of event headers have few bits, and count from the event before or
 * from the packet's begin. The first event of a packet sets the packet's begin if events before it
 * are left out; where later ones leave a gap that the bits do not tell, or time goes back, a new
 * packet begins. No event of a packet is later than its end.
 */
#include <stdlib.h>

#include "base/err.h"
#include "format/ctf/copies.h"
#include "format/ctf/head.h"
#include "format/ctf/plan/bits.h"
#include "format/ctf/rows.h"
#include "format/ctf/wire.h"

/* --- bits --- */

static void bits_store(uint8_t *data, const struct copies_field *f, uint64_t v)
{
	if (f->reversed)
		v = bits_turn(v, f->size);
	for (uint32_t i = 0; i < f->size; i++) {
		const uint64_t at = f->at + i;
		const unsigned bit = f->big ? 7 - at % 8 : at % 8;
		const uint64_t from = f->big ? f->size - 1 - i : i;

		data[at / 8] =
			(uint8_t)((data[at / 8] & ~(1u << bit)) | (unsigned)(v >> from & 1) << bit);
	}
}

/* Copies bits to a place that lies in its byte as they do in theirs. */
static void bits_copy(uint8_t *to, uint64_t to_at, const uint8_t *from, uint64_t from_at,
		      uint64_t n, bool big)
{
	while (n && to_at % 8) {
		const unsigned bit = big ? 7 - to_at % 8 : to_at % 8;

		to[to_at / 8] =
			(uint8_t)((to[to_at / 8] & ~(1u << bit)) | (from[from_at / 8] & 1u << bit));
		to_at++;
		from_at++;
		n--;
	}
	/* The last byte's other bits are written over, or are padding. */
	memcpy(to + to_at / 8, from + from_at / 8, (size_t)((n + 7) / 8));
}

/* --- header and context --- */

struct finder {
	struct copies_field *fields;
};

static bool field_found(void *self, const struct ctf_place *place)
{
	static const uint32_t roles[] = {
		[COPIES_BEGIN] = CTF_ROLE_TIMESTAMP,
		[COPIES_END] = CTF_ROLE_END_TIMESTAMP,
		[COPIES_CONTENT] = CTF_ROLE_CONTENT_SIZE,
		[COPIES_PACKET] = CTF_ROLE_PACKET_SIZE,
		[COPIES_DISCARDED] = CTF_ROLE_DISCARDED,
		[COPIES_SEQUENCE] = CTF_ROLE_SEQUENCE,
		[COPIES_COMPRESSION] = CTF_ROLE_COMPRESSION,
		[COPIES_ENCRYPTION] = CTF_ROLE_ENCRYPTION,
		[COPIES_CHECKSUM_SCHEME] = CTF_ROLE_CHECKSUM_SCHEME,
		[COPIES_CHECKSUM] = CTF_ROLE_CHECKSUM,
		[COPIES_MAGIC] = CTF_ROLE_MAGIC,
		[COPIES_CLASS] = CTF_ROLE_STREAM_CLASS_ID,
		[COPIES_UUID] = CTF_ROLE_UUID,
	};
	const struct finder *x = self;

	for (unsigned i = 0; i < COPIES_VALUES; i++)
		if ((place->field->roles & roles[i]) &&
		    (i == COPIES_UUID ? place->size == 128 : place->size <= 64))
			x->fields[i] = (struct copies_field){ place->at, (uint32_t)place->size,
							      place->field->big_endian,
							      place->field->reversed };
	return true;
}

static void cursor_begin(struct copies *s, const struct ctf_packet *p)
{
	struct ctf_cursor *c = &s->cursor;

	c->have = s->have;
	memset(s->have, 0, sizeof(s->have));
	c->data = p->data;
	c->limit = p->content > p->body ? p->content : p->body;
	c->at = 0;
	c->clock = 0;
	c->order_known = false;
}

/* Finds the packet's own values. Returns false if out of memory. */
static bool fields_find(struct copies *s, const struct ctf_trace *tr, const struct ctf_class *k,
			const struct ctf_packet *p)
{
	struct finder x = { s->fields };
	const uint64_t failures = mem_failures();

	memset(s->fields, 0, sizeof(s->fields));
	/* In TSDL, the UUID is an array, whose elements are told one by one. */
	cursor_begin(s, p);
	if (plan_skip(tr->header, &s->cursor) == SPUR_OK && s->have[CTF_SLOT_UUID])
		s->fields[COPIES_UUID] = (struct copies_field){ 8 * s->cursor.slots[CTF_SLOT_UUID],
								8 * CTF_WIRE_UUID, false, false };
	cursor_begin(s, p);
	if (plan_walk(tr->header, &s->cursor, s->c->t, &s->scratch, field_found, &x) == SPUR_OK)
		plan_walk(k->context, &s->cursor, s->c->t, &s->scratch, field_found, &x);
	return mem_failures() == failures;
}

static void field_set(struct copies *s, enum copies_value which, uint64_t v)
{
	if (s->fields[which].size)
		bits_store(s->packet, &s->fields[which], v);
}

/*
 * A packet with a size that is greater than its field can say could not be read again. Returns
 * false with the copy's error set.
 */
static bool size_fits(struct copies *s, const struct ctf_file *f, enum copies_value which,
		      uint64_t size)
{
	const uint32_t bits = s->fields[which].size;

	if (!bits || bits >= 64 || size >> bits == 0)
		return true;
	s->failed = true;
	err_set(s->copy->err, SPUR_ERR_USAGE,
		"%s: packet: expected a size below %llu, as its field has %u bits, found %llu: it "
		"cannot be made anew",
		f->name, 1ULL << bits, bits, (unsigned long long)size);
	return false;
}

static bool room_make(struct copies *s, uint64_t bytes)
{
	if (bytes <= s->packet_size)
		return true;
	scratch_free(s->packet, s->packet_size);
	s->packet_size = 0;
	s->packet = scratch_alloc(bytes);
	s->packet_size = s->packet ? bytes : 0;
	return s->packet != NULL;
}

/* --- counters --- */

static struct copies_stream *stream_of(const struct copies *s, const struct ctf_file *f)
{
	return &s->streams[s->feed_of[f - s->c->files]];
}

bool copies_losses(const struct copies *s, const struct ctf_file *f, const struct ctf_packet *p)
{
	const struct copies_stream *st = stream_of(s, f);
	const struct ctf_class *k = &s->c->traces[f->trace].classes[f->class];

	return !st->kept || kept_has(st->kept, f->stream, copies_place(k, p, 0));
}

/*
 * SPEC ctf/copy-counters: counters that the copy of a packet has. Of events and packets that were
 * lost, those count whose row is kept.
 */
static void counters_set(struct copies *s, const struct ctf_file *f, const struct ctf_packet *p,
			 const struct ctf_packet *before, struct copies_entry *e)
{
	struct copies_stream *st = stream_of(s, f);
	const struct ctf_class *k = &s->c->traces[f->trace].classes[f->class];
	const bool kept = copies_losses(s, f, p);

	e->discarded = p->discarded;
	e->sequence = p->sequence;
	if (!s->part->kept) {
		e->sequence = (p->sequence + st->extra) & bits_mask(ctf_sequence_bits(f, k));
		return;
	}
	if (before && !kept)
		st->hidden += ctf_counter_step(before->discarded, p->discarded, k->discarded_bits);
	e->discarded =
		(p->discarded - st->hidden) & bits_mask(k->discarded_bits ? k->discarded_bits : 64);
	if (st->numbered)
		e->sequence =
			(st->number + (kept ? p->lost : 0)) & bits_mask(ctf_sequence_bits(f, k));
	st->numbered = true;
	st->number = e->sequence + 1;
}

/* --- output --- */

static bool entry_add(struct copies *s, struct copies_entry *e)
{
	e->off = s->written;
	s->written += e->total / 8;
	s->nentries++;
	return spool_bytes(&s->spool, &s->entries, e, sizeof(*e));
}

static uint64_t field_get(const struct copies *s, const uint8_t *data, enum copies_value which,
			  uint64_t none)
{
	const struct copies_field *f = &s->fields[which];
	const uint64_t v = f->size ? bits_load_any(data, f->at, f->size, f->big) : none;

	return f->size && f->reversed ? bits_turn(v, f->size) : v;
}

/* Returns true if the packet is encrypted and the key is not known. */
static bool is_sealed(const struct copies *s, const struct ctf_packet *p)
{
	return !s->c->key_len && field_get(s, p->data, COPIES_ENCRYPTION, 0) == CTF_WIRE_AES;
}

/* Sets what identifies a packet in the header of s->packet. */
static void identity_set(struct copies *s, const struct ctf_file *f, uint64_t class)
{
	const struct copies_field *uuid = &s->fields[COPIES_UUID];

	field_set(s, COPIES_MAGIC, CTF_WIRE_MAGIC);
	field_set(s, COPIES_CLASS, class);
	if (uuid->size && uuid->at % 8 == 0)
		memcpy(s->packet + uuid->at / 8, s->c->traces[f->trace].meta->uuid, CTF_WIRE_UUID);
}

/*
 * The header of a sealed packet, whose content stays as it is: a checksum that does not fit the
 * content is left out.
 */
static void sealed_set(struct copies *s, const struct ctf_file *f, const struct ctf_packet *p,
		       const struct copies_entry *e)
{
	const struct ctf_meta *m = s->c->traces[f->trace].meta;
	const unsigned unit = m->generation == CTF_V11 ? 8 : 1;
	const uint64_t scheme = field_get(s, p->data, COPIES_CHECKSUM_SCHEME, 0),
		       sum = field_get(s, p->data, COPIES_CHECKSUM, 0),
		       content = field_get(s, p->data, COPIES_CONTENT, UINT64_MAX / unit) * unit;
	/* As nothing was unpacked, the packet's own content is empty. */
	struct ctf_packet stored = *p;

	stored.content =
		content < p->body || content > 8 * p->file_size ? 8 * p->file_size : content;
	identity_set(s, f, e->class);
	field_set(s, COPIES_CONTENT, stored.content / unit);
	field_set(s, COPIES_PACKET, 8 * p->file_size / unit);
	if (scheme && ctf_checksum(&stored, m->big_endian, scheme, sum)) {
		field_set(s, COPIES_CHECKSUM_SCHEME, 0);
		field_set(s, COPIES_CHECKSUM, 0);
	}
}

/*
 * The packet as it stands in the file, with other counters if they changed, and a right header if
 * its content cannot be read.
 */
static bool packet_whole(struct copies *s, const struct ctf_file *f, const struct ctf_packet *p,
			 const struct copies_entry *e)
{
	const uint8_t *raw = f->source->data + p->file_off;
	const bool sealed = s->mend && is_sealed(s, p);
	const uint64_t head = (p->body + 7) / 8;
	struct copies_entry own = *e;

	own.total = 8 * p->file_size;
	own.content = p->content;
	if (!sealed && e->discarded == p->discarded && e->sequence == p->sequence) {
		out_bytes(s->out, raw, (size_t)p->file_size);
		source_passed(f->source, p->file_off, p->file_off + p->file_size);
		return entry_add(s, &own);
	}
	if (!room_make(s, head))
		return false;
	memcpy(s->packet, raw, (size_t)head);
	field_set(s, COPIES_DISCARDED, e->discarded);
	field_set(s, COPIES_SEQUENCE, e->sequence);
	if (sealed)
		sealed_set(s, f, p, e);
	out_bytes(s->out, s->packet, (size_t)head);
	out_bytes(s->out, raw + head, (size_t)(p->file_size - head));
	source_passed(f->source, p->file_off, p->file_off + p->file_size);
	return entry_add(s, &own);
}

/* Writes the packet that was made. */
static bool packet_made(struct copies *s, const struct ctf_file *f, struct copies_entry *e)
{
	const unsigned unit = s->c->traces[f->trace].meta->generation == CTF_V11 ? 8 : 1;
	const uint64_t bytes = (s->at + 7) / 8;

	e->content = s->at;
	e->total = 8 * bytes;
	if (!size_fits(s, f, COPIES_PACKET, e->total / unit) ||
	    !size_fits(s, f, COPIES_CONTENT, unit == 8 ? bytes : s->at))
		return false;
	field_set(s, COPIES_BEGIN, e->begin);
	field_set(s, COPIES_END, e->end);
	field_set(s, COPIES_CONTENT, unit == 8 ? bytes : s->at);
	field_set(s, COPIES_PACKET, e->total / unit);
	field_set(s, COPIES_DISCARDED, e->discarded);
	field_set(s, COPIES_SEQUENCE, e->sequence);
	field_set(s, COPIES_COMPRESSION, 0);
	field_set(s, COPIES_ENCRYPTION, 0);
	field_set(s, COPIES_CHECKSUM_SCHEME, 0);
	field_set(s, COPIES_CHECKSUM, 0);
	identity_set(s, f, e->class);
	s->made += !s->part->kept;
	out_bytes(s->out, s->packet, (size_t)bytes);
	return entry_add(s, e);
}

/* --- events --- */

/* A packet being read. */
struct walk {
	struct copies *s;
	struct ctf_file *f;
	const struct ctf_trace *tr;
	struct ctf_class *k;
	const struct ctf_packet *p;
	const struct kept *kept, *real;
	bool clean; /* every bit is read, and every event is kept */
	bool any; /* an event is kept */
	bool back; /* an event that is kept is earlier than one before it; found for repair only */
	size_t events; /* that are kept; with `back` */
	uint64_t due; /* as ctf_feed.due */
};

struct event {
	uint64_t from, to; /* bits */
	uint64_t clock;
	uint32_t align; /* bits; set for those that are written */
	bool kept;
	bool whole; /* its header has all bits of its time */
};

static struct ctf_event *event_of(const struct walk *w, struct ctf_cursor *c)
{
	struct ctf_event *e;

	if (head_skip(w->k, c) == SPUR_FAIL)
		return NULL;
	e = event_known(w->k, c->slots[CTF_SLOT_EVENT_ID]);
	if (!e)
		e = ctf_event(w->s->c, (struct ctf_trace *)w->tr, w->k,
			      c->slots[CTF_SLOT_EVENT_ID]);
	return e && plan_skip(e->program, c) == SPUR_OK ? e : NULL;
}

/* The next bit from `bit` on where a record of the set begins; UINT64_MAX: none in the packet. */
static uint64_t next_of(const struct walk *w, const struct kept *set, uint64_t bit)
{
	const uint64_t first = copies_place(w->k, w->p, bit);
	const uint64_t off = set ? kept_next(set, w->f->stream, first) : UINT64_MAX;
	const uint64_t base = copies_place(w->k, w->p, 0);

	if (off == UINT64_MAX || off < base)
		return UINT64_MAX;
	bit = w->k->bits ? off - base : 8 * (off - base);
	return bit < w->p->content ? bit : UINT64_MAX;
}

/*
 * SPEC ctf/clock-back: the time of the event from bit `from` on, which the cursor is behind, as the
 * reader has it. Once an event is later than the packet's end, that end is wrong, and later ones
 * wrap. What the reader took for damage is not among the events.
 */
static uint64_t clock_of(struct walk *w, uint64_t from, uint64_t before)
{
	const struct ctf_cursor *c = &w->s->cursor;
	uint64_t clock = c->clock;

	if (clock <= w->due)
		return clock;
	clock = clock_back(w->k, w->p, c->data, from, clock, before);
	if (clock == c->clock)
		w->due = UINT64_MAX;
	return clock;
}

/*
 * The next event of the packet. Where the stream is damaged, events are where the reader found
 * them. Returns false at the end.
 */
static bool event_next(struct walk *w, struct event *ev)
{
	struct ctf_cursor *c = &w->s->cursor;

	while (c->at < c->limit) {
		const uint64_t clock = c->clock, from = c->at;
		uint64_t begin = w->k->bits ? from : align_up(from, 8);

		if (w->tr->meta->generation == CTF_V11 && c->limit - from < 8)
			return false;
		if (w->real && next_of(w, w->real, begin) != begin) {
			w->clean = false;
			begin = next_of(w, w->real, begin);
			c->at = begin < c->limit ? begin : c->limit;
			continue;
		}
		if (event_of(w, c) && c->at > from) {
			c->clock = clock_of(w, begin, clock);
			*ev = (struct event){ .from = begin,
					      .to = c->at,
					      .clock = c->clock,
					      .whole = head_is_long(w->k, c->data, begin),
					      .kept = !w->kept ||
						      kept_has(w->kept, w->f->stream,
							       copies_place(w->k, w->p, begin)) };
			return true;
		}
		w->clean = false;
		c->at = c->limit;
		c->clock = clock;
	}
	return false;
}

static void walk_begin(struct walk *w)
{
	struct ctf_cursor *c = &w->s->cursor;

	cursor_begin(w->s, w->p);
	ctf_packet_begin(w->tr, w->k, w->p, c);
	w->due = has_end(w->p) ? w->p->end : UINT64_MAX;
}

/* Finds out whether all events are kept, or any. */
static void walk_all(struct walk *w)
{
	struct event ev;

	w->clean = true;
	walk_begin(w);
	while ((w->clean || !w->any) && event_next(w, &ev)) {
		w->any |= ev.kept;
		w->clean &= ev.kept;
		/* Past the first event that is left out, only the next one that is kept matters. */
		if (!ev.kept && !w->any)
			w->any = next_of(w, w->kept, ev.to) != UINT64_MAX;
	}
}

/*
 * SPEC ctf/copy-order: finds out whether the events of a packet that is repaired have to be sorted,
 * or are later than its end.
 */
static void walk_order(struct walk *w)
{
	uint64_t last = 0;
	struct event ev;

	walk_begin(w);
	while (event_next(w, &ev)) {
		w->events++;
		w->back |= ev.clock < last;
		last = ev.clock > last ? ev.clock : last;
	}
	w->clean &= !w->back && !(has_end(w->p) && last > w->p->end);
}

/* The largest alignment of what an event has. Depth is bounded by META_DEPTH. */
static uint32_t align_of(const struct ctf_field *f)
{
	uint32_t align = f ? f->align : 1, in;

	for (uint32_t i = 0; f && i < f->nmembers; i++) {
		in = align_of(f->members[i].field);
		align = in > align ? in : align;
	}
	in = f && f->element ? align_of(f->element) : 1;
	return in > align ? in : align;
}

static uint32_t align_of_event(const struct walk *w, const struct ctf_cursor *c)
{
	const struct ctf_event *e = event_known(w->k, c->slots[CTF_SLOT_EVENT_ID]);
	const struct ctf_field *all[] = { w->k->class->event_header, w->k->class->event_common,
					  e ? e->class->specific : NULL,
					  e ? e->class->payload : NULL };
	uint32_t align = 8;

	for (size_t i = 0; i < 4; i++) {
		const uint32_t a = align_of(all[i]);

		align = a > align ? a : align;
	}
	return align;
}

static bool align_fail(struct copies *s, const struct ctf_file *f)
{
	s->failed = true;
	err_set(s->copy->err, SPUR_ERR_USAGE,
		"%s: expected events that can be moved by whole bytes, found fields that are "
		"aligned to more: such packets can only be kept whole",
		f->name);
	return false;
}

/* Adds the event to the packet that is made. */
static bool event_add(struct walk *w, const struct event *ev)
{
	struct copies *s = w->s;
	const uint32_t align = ev->align;
	const uint32_t head = w->k->class->event_header ? w->k->class->event_header->align : 1;
	uint64_t to = w->k->bits ? s->at : align_up(s->at, 8);

	/* What aligns the header may stand in front of it. */
	while (to % align != ev->from % align && to - s->at < head)
		to += w->k->bits ? 1 : 8;
	if (to % align != ev->from % align)
		return align_fail(s, w->f);
	bits_copy(s->packet, to, w->p->data, ev->from, ev->to - ev->from, w->tr->meta->big_endian);
	s->at = to + (ev->to - ev->from);
	s->copy->records++;
	return true;
}

/* The header and context, to which events are added. */
static void head_put(struct walk *w)
{
	struct copies *s = w->s;

	memset(s->packet, 0, (size_t)s->packet_size);
	memcpy(s->packet, w->p->data, (size_t)((w->p->body + 7) / 8));
	s->at = w->p->body;
}

/* What is known of a packet of the output while its events are added. */
struct making {
	struct copies_entry e;
	uint64_t clock; /* of the last event */
	uint64_t latest; /* time of an event */
	bool any; /* an event was added */
	bool cut; /* events before the next one were left out */
};

/* Whether the bits of the event's time do not tell it if the clock before it is `from`. */
static bool is_far(const struct walk *w, uint64_t from, const struct event *ev)
{
	return w->k->time_bits && w->k->time_bits < 64 && !ev->whole &&
	       ev->clock - from > bits_mask(w->k->time_bits);
}

/* One event that is kept; begins another packet if its time needs that. */
static bool making_add(struct walk *w, struct making *m, const struct event *ev)
{
	struct copies *s = w->s;
	const bool has_begin = w->p->flags & PACKET_BEGIN;

	if (m->any && has_begin && is_far(w, m->clock, ev)) {
		m->e.end = m->latest > m->e.begin ? m->latest : m->e.begin;
		if (!packet_made(s, w->f, &m->e))
			return false;
		m->e.end = w->p->end;
		head_put(w);
		m->e.sequence++;
		stream_of(s, w->f)->number++;
		stream_of(s, w->f)->extra++;
		m->any = false;
		m->cut = true;
	}
	if (!m->any && m->cut && has_begin)
		m->e.begin = ev->clock;
	if (!m->any || ev->clock > m->latest)
		m->latest = ev->clock;
	m->any = true;
	m->clock = ev->clock;
	return event_add(w, ev);
}

/* Adds the events that are kept in their order. *last gets whether the last one was. */
static bool events_add(struct walk *w, struct making *m, bool *last)
{
	struct event ev = { 0 };

	walk_begin(w);
	while (event_next(w, &ev)) {
		ev.align = w->k->usual ? 8 : align_of_event(w, &w->s->cursor);
		*last = ev.kept;
		if (!ev.kept)
			m->cut = true;
		else if (!making_add(w, m, &ev))
			return false;
	}
	return true;
}

static int by_clock(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->clock != y->clock)
		return x->clock < y->clock ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Adds all events in the order of time. */
static bool events_sort(struct walk *w, struct making *m)
{
	const size_t bytes = w->events * sizeof(struct event);
	struct event *all = scratch_alloc(bytes);
	bool good = all != NULL;
	size_t n = 0;

	walk_begin(w);
	while (good && n < w->events && event_next(w, &all[n])) {
		all[n].align = w->k->usual ? 8 : align_of_event(w, &w->s->cursor);
		n++;
	}
	if (n) {
		qsort(all, n, sizeof(*all), by_clock);
		if (all[0].clock < m->e.begin || is_far(w, m->e.begin, &all[0]))
			m->e.begin = all[0].clock;
		if (all[n - 1].clock > m->e.end)
			m->e.end = all[n - 1].clock;
	}
	for (size_t i = 0; good && i < n; i++)
		good = making_add(w, m, &all[i]);
	scratch_free(all, bytes);
	w->s->sorted++;
	return good;
}

/* Makes a packet of the events that are kept. `ends`: its end stays, as losses tell by it. */
static bool packet_make(struct walk *w, const struct copies_entry *e, bool ends)
{
	struct copies *s = w->s;
	struct making m = { .e = *e, .clock = w->p->begin, .latest = w->p->begin };
	bool last = true;

	if (!room_make(s, (w->p->content + 7) / 8 + 2 * sizeof(uint64_t)))
		return false;
	head_put(w);
	if (!(w->back ? events_sort(w, &m) : events_add(w, &m, &last)))
		return false;
	if (!(w->p->flags & PACKET_END) || (!ends && !last) || m.latest > m.e.end)
		m.e.end = m.latest;
	return packet_made(s, w->f, &m.e);
}

/* Returns true if the packet's header in the file says what the packet is. */
static bool head_is_right(struct copies *s, const struct ctf_file *f, const struct ctf_packet *p)
{
	const struct ctf_meta *m = s->c->traces[f->trace].meta;
	const unsigned unit = m->generation == CTF_V11 ? 8 : 1;
	const bool own = p->flags & PACKET_OWN;
	const uint64_t total = field_get(s, p->data, COPIES_PACKET, 8 * p->file_size / unit),
		       content = field_get(s, p->data, COPIES_CONTENT, p->content / unit);
	const struct copies_field *uuid = &s->fields[COPIES_UUID];
	const uint64_t class = s->c->traces[f->trace].classes[f->class].class->id;

	return total == 8 * p->file_size / unit && (own || content == p->content / unit) &&
	       field_get(s, p->data, COPIES_MAGIC, CTF_WIRE_MAGIC) == CTF_WIRE_MAGIC &&
	       !field_get(s, p->data, COPIES_CHECKSUM_SCHEME, 0) &&
	       field_get(s, p->data, COPIES_CLASS, class) == class &&
	       (!uuid->size || uuid->at % 8 || !m->has_uuid ||
		memcmp(p->data + uuid->at / 8, m->uuid, CTF_WIRE_UUID) == 0);
}

/*
 * Returns true if the packet's sizes in its header are not those it has, or if not all its events
 * can be read.
 */
static bool needs_making(struct copies *s, const struct ctf_file *f, const struct ctf_packet *p)
{
	const uint8_t *raw = f->source->data + p->file_off;

	/* Its events can still be read with the key. */
	if (is_sealed(s, p))
		return false;
	return (p->flags & (PACKET_CUT | PACKET_GUESSED)) ||
	       (!(p->flags & PACKET_OWN) && p->data != raw) || (s->mend && !head_is_right(s, f, p));
}

bool copies_packet(struct copies *s, struct ctf_file *f, const struct ctf_packet *p,
		   const struct ctf_packet *before, bool next)
{
	struct copies_stream *st = stream_of(s, f);
	const struct ctf_trace *tr = &s->c->traces[f->trace];
	struct ctf_class *k = &tr->classes[f->class];
	struct copies_entry e = {
		.begin = p->begin, .end = p->end, .class = k->class->id, .instance = f->instance
	};
	struct walk w = {
		.s = s, .f = f, .tr = tr, .k = k, .p = p, .kept = st->kept, .real = st->real
	};
	const bool losses =
		s->part->kept && before && copies_losses(s, f, p) &&
		(p->lost || ctf_counter_step(before->discarded, p->discarded, k->discarded_bits));
	const bool ends = losses || next;
	bool making;

	/* Nothing of it is read if nothing of it is kept. */
	if (s->part->kept && !ends && next_of(&w, w.kept, p->body) == UINT64_MAX) {
		if (before)
			st->hidden += ctf_counter_step(before->discarded, p->discarded,
						       k->discarded_bits);
		return true;
	}
	if (!fields_find(s, tr, k, p))
		return false;
	making = needs_making(s, f, p);
	w.clean = true;
	if (st->kept || st->real)
		walk_all(&w);
	if (s->copy->repair && st->real)
		walk_order(&w);
	counters_set(s, f, p, before, &e);
	return w.clean && !making ? packet_whole(s, f, p, &e) : packet_make(&w, &e, ends);
}
