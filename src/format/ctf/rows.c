/*
 * Events to rows: header and fields are skipped over by programs, the clock moves, and what the event's class means
 * beside its fields (class.c) makes the row. An event that cannot be ends its packet, unless the next plausible event
 * is found in it.
 */
#include <stdio.h>

#include "base/bits.h"
#include "format/ctf/grow.h"
#include "format/ctf/plan_parts.h"
#include "format/ctf/reader.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

enum {
	RESYNC_CHAIN = 6, /* events in a row that make a place plausible */
	RESYNC_WINDOW = 1 << 19, /* bits that one of them may take */
	NEAR = 15, /* bytes behind a place that may be better */
	/* Bits that are looked at in search of events: so many for each of a packet, and so many in any case. */
	EFFORT_EACH = 128,
	EFFORT_FREE = 1 << 26,
	COMM = 16,
	FIELD_ROOM = 200,
	TASK_RUNNING_MASK = 0xFF,
};

static __attribute__((noinline)) int64_t time_scaled(const struct ctf *c, const struct ctf_class *k,
						     uint64_t cycles)
{
	int64_t ns;

	if (c->t->clock.ticks)
		return cycles > INT64_MAX ? INT64_MAX : (int64_t)cycles;
	if (__builtin_add_overflow(cycles, k->offset, &cycles))
		return INT64_MAX;
	ns = scale_ns_u(&k->scale, cycles);
	return __builtin_add_overflow(ns, k->base, &ns) ? INT64_MAX : ns;
}

/* Clocks of 1 GHz need one addition. */
static inline int64_t event_time(const struct ctf_feed *f, uint64_t cycles)
{
	const struct ctf_class *k = f->class;

	if (!unlikely(!k->plain || cycles > INT64_MAX / 4))
		return (int64_t)cycles + k->plain_add;
	return time_scaled(f->ctf, k, cycles);
}

int64_t ctf_time(const struct ctf *c, const struct ctf_class *k, uint64_t cycles)
{
	return time_scaled(c, k, cycles);
}

/* --- tracks --- */

/* Number of a 64-bit id among those met, from 1; 0: no memory. */
static uint64_t dense(struct map64 *m, uint64_t id)
{
	const uint64_t n = m->count;
	struct map64_slot *slot = map64_put(m, id);

	if (slot && !slot->value)
		slot->value = n + 1;
	return slot ? slot->value : 0;
}

static bool is_short(int64_t id)
{
	return id >= -1 && id < UINT32_MAX;
}

/* One key for both; ids of more than 32 bits get numbers. Under the lock. */
static uint64_t thread_key(struct ctf_trace *tr, int64_t pid, int64_t tid, struct map64 **map)
{
	*map = &tr->threads;
	if (is_short(pid) && is_short(tid))
		return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
	*map = &tr->long_threads;
	return dense(&tr->ids, (uint64_t)pid) << 32 | dense(&tr->ids, (uint64_t)tid);
}

/* In maps of tracks: the track + 1, and above it the feed + 1 whose name it has; 0: it has no name. */
static uint64_t track_entry(uint32_t track, uint64_t namer)
{
	return namer << 32 | ((uint64_t)track + 1);
}

static uint32_t entry_track(uint64_t entry)
{
	return (uint32_t)entry - 1;
}

/*
 * SPEC ctf/track-names: a thread or process has the first name that the stream of the lowest number says. Which stream
 * comes first is chance, so a lower one may rename it. Under the lock.
 */
static void track_name(struct spur_trace *t, struct map64_slot *slot, uint32_t feed, uint32_t name)
{
	const uint32_t track = entry_track(slot->value);
	const uint64_t namer = slot->value >> 32;

	if (!name || (namer && namer <= (uint64_t)feed + 1))
		return;
	__atomic_store_n(&t->tracks[track / TRACE_TRACK_PAGE][track % TRACE_TRACK_PAGE].name, name,
			 __ATOMIC_RELAXED);
	slot->value = track_entry(track, (uint64_t)feed + 1);
}

/* The track of a map's slot, made where there is none. False: there is none. Under the lock. */
static bool track_get(struct ctf_feed *f, struct map64_slot *slot, struct spur_track track)
{
	uint32_t made;

	if (slot && !slot->value) {
		made = trace_add_track(f->ctf->t, track);
		slot->value = made == SPUR_NONE ? 0 : track_entry(made, 0);
	}
	if (!slot || !slot->value)
		return false;
	track_name(f->ctf->t, slot, f->number, track.name);
	return true;
}

static uint32_t track_make(struct ctf_feed *f, int64_t pid, int64_t tid, const char *name,
			   size_t len)
{
	struct ctf *c = f->ctf;
	struct ctf_trace *tr = f->trace;
	struct spur_track track = { .parent = tr->track,
				    .name = len ? trace_intern_n(c->t, name, len) : 0,
				    .kind = SPUR_TRACK_PROCESS,
				    .pid = pid,
				    .tid = -1,
				    .cpu = -1 };
	struct map64_slot *slot;
	struct map64 *threads;
	uint32_t made = SPUR_NONE;
	uint64_t key;

	pthread_mutex_lock(&c->t->lock);
	slot = pid >= 0 ? map64_put(&tr->processes, (uint64_t)pid) : NULL;
	if (slot && track_get(f, slot, track))
		track.parent = entry_track(slot->value);
	key = thread_key(tr, pid, tid, &threads);
	track.kind = SPUR_TRACK_THREAD;
	track.tid = tid;
	slot = map64_put(threads, key);
	if (track_get(f, slot, track))
		made = entry_track(slot->value);
	pthread_mutex_unlock(&c->t->lock);
	return made;
}

/* Text at a byte of the packet, up to a NUL. */
static const char *packet_text(const struct ctf_cursor *c, uint32_t slot, size_t *len)
{
	const uint64_t at = slot == CTF_NO_SLOT ? UINT64_MAX : c->slots[slot], end = c->limit / 8;
	const char *p;

	*len = 0;
	if (at >= end)
		return "";
	p = (const char *)c->data + at;
	*len = strnlen(p, end - at < COMM ? (size_t)(end - at) : COMM);
	return p;
}

static uint32_t track_find(struct ctf_feed *f, int64_t pid, int64_t tid, const char *name,
			   size_t len)
{
	struct map64_slot *slot = NULL;
	uint32_t track;

	if (!is_short(pid) || !is_short(tid)) {
		track = track_make(f, pid, tid, name, len);
		return track == SPUR_NONE ? f->own_track : track;
	}
	slot = map64_put(&f->tracks, (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid);
	if (!slot)
		return f->own_track;
	/* Once without a name, and once with one. */
	if (!slot->value || (len && !(slot->value >> 32))) {
		track = track_make(f, pid, tid, name, len);
		slot->value = track == SPUR_NONE ? 0 : track_entry(track, len > 0);
	}
	return slot->value ? entry_track(slot->value) : f->own_track;
}

/* The event's thread: by its common context, else the stream's own track. */
static uint32_t event_track(struct ctf_feed *f, const struct ctf_cursor *c)
{
	const struct ctf_class *k = f->class;
	uint64_t pid, tid;
	const char *name;
	size_t len;

	if (k->tid_slot == CTF_NO_SLOT)
		return f->own_track;
	tid = c->slots[k->tid_slot];
	pid = k->pid_slot == CTF_NO_SLOT ? UINT64_MAX : c->slots[k->pid_slot];
	if (f->have_last && f->last_tid == tid && f->last_pid == pid)
		return f->track;
	name = packet_text(c, k->name_slot, &len);
	f->have_last = true;
	f->last_tid = tid;
	f->last_pid = pid;
	f->track = track_find(f, (int64_t)pid, (int64_t)tid, name, len);
	return f->track;
}

/* --- one event --- */

static struct ctf_event *event_find(struct ctf_feed *f, uint64_t id)
{
	struct map64_slot *slot;

	if (id < CTF_KNOWN) {
		if (!f->known[id])
			f->known[id] = ctf_event(f->ctf, f->trace, f->class, id);
		return f->known[id];
	}
	slot = map64_find(&f->rest, id);
	if (slot)
		return (void *)(uintptr_t)slot->value;
	/* Ids that nobody declared are not kept: there may be many. */
	struct ctf_event *e = ctf_event(f->ctf, f->trace, f->class, id);

	slot = e ? map64_put(&f->rest, id) : NULL;
	if (slot)
		slot->value = (uintptr_t)e;
	return e;
}

/*
 * The two headers of LTTng, in little-endian order, where the short form is used. False: the program must read it. The
 * values are the same; this is quicker.
 */
static inline bool usual_header(const struct ctf_class *k, struct ctf_cursor *c)
{
	const uint64_t at = align_up(c->at, 8);
	uint32_t w;

	if (k->usual == USUAL_LARGE && c->limit - c->at >= 56) {
		w = load16(c->data + at / 8, order_swaps(false));
		if (w == UINT16_MAX)
			return false;
		c->clock = clock_update(c->clock, load32(c->data + at / 8 + 2, order_swaps(false)),
					32);
		c->at = at + 48;
		c->slots[CTF_SLOT_EVENT_ID] = w;
		return true;
	}
	if (k->usual == USUAL_COMPACT && c->limit - c->at >= 40) {
		w = load32(c->data + at / 8, order_swaps(false));
		if ((w & 31) == 31)
			return false;
		c->clock = clock_update(c->clock, w >> 5, 27);
		c->at = at + 32;
		c->slots[CTF_SLOT_EVENT_ID] = w & 31;
		return true;
	}
	return false;
}

/* Moves over the next event. NULL: it cannot be, and *why says so. */
static inline struct ctf_event *event_skip(struct ctf_feed *f, struct ctf_cursor *c,
					   const char **why)
{
	struct ctf_event *e;

	*why = NULL;
	if (!usual_header(f->class, c)) {
		c->have[CTF_SLOT_EVENT_ID] = 0;
		if (unlikely(plan_skip(f->class->header, c) == SPUR_FAIL)) {
			*why = c->why;
			return NULL;
		}
		/* SPEC ctf/event-id: 0 where the header has none */
		if (!c->have[CTF_SLOT_EVENT_ID])
			c->slots[CTF_SLOT_EVENT_ID] = 0;
	}
	e = event_find(f, c->slots[CTF_SLOT_EVENT_ID]);
	if (unlikely(!e))
		return NULL;
	if (unlikely(plan_skip(e->program, c) == SPUR_FAIL)) {
		*why = c->why;
		return NULL;
	}
	return e;
}

/* Rows of a switch: the thread that leaves and the one that comes. */
static void switch_rows(struct ctf_feed *f, const struct ctf_event *e, struct spur_event *row)
{
	const struct ctf_cursor *c = &f->cursor;
	const uint64_t state = e->slot[2] == CTF_NO_SLOT ? 1 : c->slots[e->slot[2]];
	struct spur_event *in = &f->held[0];
	const char *comm;
	size_t len;

	row->kind = SPUR_SWITCH;
	*in = *row;
	row->flags |= (uint16_t)(SPUR_F_OUT | (state & TASK_RUNNING_MASK ? 0 : SPUR_F_PREEMPTED));
	row->track = track_find(f, -1, (int64_t)c->slots[e->slot[0]], "", 0);
	in->flags |= SPUR_F_IN;
	comm = packet_text(c, e->slot[3], &len);
	in->track = track_find(f, -1, (int64_t)c->slots[e->slot[1]], comm, len);
	f->nheld = 1;
	f->held_at = 0;
}

static void function_row(struct ctf_feed *f, const struct ctf_event *e, struct spur_event *row)
{
	const uint64_t address = f->cursor.slots[e->slot[0]];
	struct map64_slot *slot = map64_put(&f->functions, address);

	if (!slot)
		return;
	if (!slot->value)
		slot->value = ctf_function(f->ctf, address);
	if (!slot->value)
		return;
	row->cls = (uint32_t)slot->value;
	row->name = trace_class(f->ctf->t, row->cls)->name;
	row->id = address;
}

/* What the event means beside its fields. */
static void rule_row(struct ctf_feed *f, const struct ctf_event *e, struct spur_event *row)
{
	switch ((enum event_rule)e->rule) {
	case RULE_ENTRY:
		row->kind = SPUR_BEGIN;
		break;
	case RULE_EXIT:
		row->kind = SPUR_END_SPAN;
		break;
	case RULE_FUNCTION_ENTRY:
		row->kind = SPUR_BEGIN;
		function_row(f, e, row);
		break;
	case RULE_FUNCTION_EXIT:
		row->kind = SPUR_END_SPAN;
		if (e->slot[0] == CTF_NO_SLOT)
			row->flags |= SPUR_F_ANY;
		else
			function_row(f, e, row);
		break;
	case RULE_SWITCH:
		switch_rows(f, e, row);
		break;
	case RULE_WAKEUP:
		row->kind = SPUR_WAKEUP;
		row->track = track_find(f, -1, (int64_t)f->cursor.slots[e->slot[0]], "", 0);
		break;
	case RULE_LOG:
		row->kind = SPUR_LOG;
		break;
	default:
		break;
	}
}

static inline void event_row(struct ctf_feed *f, const struct ctf_event *e, uint64_t from,
			     struct spur_event *row)
{
	const struct ctf_cursor *c = &f->cursor;
	const struct ctf_packet *p = f->packet;
	const bool bits = f->class->bits;
	const uint64_t off = bits ? 8 * p->off + from : p->off + from / 8;
	const uint64_t len = bits ? c->at - from : (c->at + 7) / 8 - from / 8;
	const int64_t ts = event_time(f, c->clock);
	uint32_t flags = f->class->flags;

	if (unlikely(ts < f->last_ts))
		flags |= SPUR_F_BACK;
	row_store(row, (uint64_t)ts, 0, off,
		  (struct row_words){ row_pair((uint32_t)(len > UINT32_MAX ? UINT32_MAX : len),
					       event_track(f, c)),
				      row_pair(f->file_stream, 0), e->name_cls,
				      row_rest(SPUR_INSTANT, flags, p->cpu, 0) });
	row->nargs = e->nargs;
	f->last_ts = ts;
	if (unlikely(e->rule))
		rule_row(f, e, row);
}

/* --- packets --- */

static struct ctf_file *feed_file(const struct ctf_feed *f)
{
	return &f->ctf->files[f->files[f->file]];
}

static void lost_row(struct ctf_feed *f, const struct ctf_packet *p, uint32_t cls, uint64_t count,
		     bool events)
{
	const struct ctf_packet *b = f->before;
	const struct ctf_class *k = f->class;
	/* SPEC ctf/discarded: between the ends of two packets; in the RFC v1.1, between their begins */
	const bool ends = f->trace->meta->generation != CTF_V11;
	const int64_t from =
		ctf_time(f->ctf, k, ends && (b->flags & PACKET_END) ? b->end : b->begin);
	const int64_t to = ctf_time(f->ctf, k, ends && (p->flags & PACKET_END) ? p->end : p->begin);
	struct spur_event *row = &f->held[f->nheld++];

	*row = (struct spur_event){
		.ts = from > f->last_ts || f->last_ts == INT64_MIN ? from : f->last_ts,
		.id = events ? count : 0,
		.off = f->class->bits ? 8 * p->off : p->off,
		.track = f->own_track,
		.stream = feed_file(f)->stream,
		.name = trace_class(f->ctf->t, cls)->name,
		.cls = cls,
		.kind = SPUR_LOST,
		.nargs = 1,
		.cpu = p->cpu,
	};
	row->dur = to > row->ts ? to - row->ts : 0;
	f->last_ts = row->ts;
}

/* SPEC ctf/counter-wrap: by how much a counter of so many bits went on; 0: not, or it went back */
static uint64_t counter_step(uint64_t from, uint64_t to, uint32_t bits)
{
	const uint64_t mask = bits_mask(bits ? bits : 64), n = (to - from) & mask;

	return n <= mask / 2 ? n : 0;
}

static uint32_t sequence_bits(const struct ctf_file *file, const struct ctf_class *k)
{
	return file->sequence_bits ? file->sequence_bits : k->sequence_bits;
}

uint64_t ctf_packets_lost(const struct ctf_file *file, const struct ctf_class *k,
			  const struct ctf_packet *before, const struct ctf_packet *p)
{
	return p->flags & before->flags & PACKET_SEQUENCE
		       ? counter_step(before->sequence + 1, p->sequence, sequence_bits(file, k))
		       : 0;
}

/* Events and packets that the producer lost before this packet. */
static void packet_losses(struct ctf_feed *f, struct feed *feed, const struct ctf_packet *p)
{
	const struct ctf_packet *b = f->before;
	const char *name = feed_file(f)->name;
	uint32_t bits;
	uint64_t n;

	f->nheld = f->held_at = 0;
	if (!b)
		return;
	n = counter_step(b->discarded, p->discarded, f->class->discarded_bits);
	if ((p->flags & b->flags & PACKET_DISCARDED) && n) {
		feed->discarded += n;
		diag_add(&feed->diag, DIAG_WARN, "ctf/discarded", name, p->file_off, 0,
			 "the tracer discarded %llu events between this packet and the one before",
			 (unsigned long long)n);
		lost_row(f, p, f->ctf->lost_cls, n, true);
	}
	n = ctf_packets_lost(feed_file(f), f->class, b, p);
	if (n) {
		bits = sequence_bits(feed_file(f), f->class);
		diag_add(&feed->diag, DIAG_WARN, "ctf/lost-packets", name, p->file_off, 0,
			 "expected packet %llu, found %llu: %llu packets are lost",
			 (unsigned long long)((b->sequence + 1) & bits_mask(bits ? bits : 64)),
			 (unsigned long long)p->sequence, (unsigned long long)n);
		lost_row(f, p, f->ctf->lost_packets_cls, n, false);
	}
}

static void packet_row(struct ctf_feed *f, const struct ctf_packet *p)
{
	struct spur_event *row = &f->held[f->nheld++];
	const int64_t ts =
		p->flags & PACKET_BEGIN ? ctf_time(f->ctf, f->class, p->begin) : f->last_ts;

	*row = (struct spur_event){
		.ts = ts == INT64_MIN ? 0 : ts,
		.off = f->class->bits ? 8 * p->off : p->off,
		.len = (uint32_t)(f->class->bits ? p->body : p->body / 8),
		.track = f->own_track,
		.stream = feed_file(f)->stream,
		.name = trace_class(f->ctf->t, f->ctf->packet_cls)->name,
		.cls = f->ctf->packet_cls,
		.kind = SPUR_NATIVE,
		.cpu = p->cpu,
	};
}

/* No event of the packet is wanted: its times say so. */
static bool is_outside(const struct ctf_feed *f, const struct ctf_packet *p)
{
	const struct spur_trace *t = f->ctf->t;

	if (p->flags & (PACKET_LOOSE_BEGIN | PACKET_LOOSE_END))
		return false;
	return (p->flags & PACKET_BEGIN) && (p->flags & PACKET_END) && p->begin <= p->end &&
	       (ctf_time(f->ctf, f->class, p->end) < t->want_from ||
		ctf_time(f->ctf, f->class, p->begin) >= t->want_to);
}

/* Whether the packet says when its last event was. */
static bool has_end(const struct ctf_packet *p)
{
	return (p->flags & (PACKET_END | PACKET_LOOSE_END)) == PACKET_END && p->begin <= p->end;
}

static bool rest_is_zero(const struct ctf_cursor *c, uint64_t at)
{
	for (at = (at + 7) / 8; at < c->limit / 8; at++)
		if (c->data[at])
			return false;
	return true;
}

/*
 * SPEC ctf/guessed-content: where nobody knows the content, it ends before the first event that is too late, or
 * before zeros that are none
 */
static void limit_content(struct ctf_feed *f)
{
	struct ctf_cursor c = f->cursor;
	const char *why;
	uint64_t from;

	do {
		from = c.at;
		if (from >= c.limit)
			return;
		if (!event_skip(f, &c, &why) || c.at == from) {
			if (rest_is_zero(&c, from))
				f->cursor.limit = from;
			return;
		}
	} while (c.clock <= f->packet->end);
	f->cursor.limit = from;
}

/* SPEC ctf/late-event: time that went back inside a packet looks like a clock that wrapped: its end gives it away */
static void packet_done(struct ctf_feed *f, struct feed *feed)
{
	const struct ctf_packet *p = f->packet;

	if (p && has_end(p) && f->cursor.clock > p->end)
		diag_add(&feed->diag, DIAG_WARN, "ctf/late-event", f->packet_name, p->file_off, 0,
			 "packet: expected events up to clock value %llu, its end, found one at "
			 "%llu",
			 (unsigned long long)p->end, (unsigned long long)f->cursor.clock);
	f->packet = NULL;
}

/* False: there is no packet left. */
static bool packet_next(struct ctf_feed *f, struct feed *feed)
{
	struct ctf_file *file;
	struct ctf_packet *p;

	packet_done(f, feed);
	while (f->file < f->nfiles && f->next >= feed_file(f)->npackets) {
		if (f->ctf->grow && f->file + 1 == f->nfiles)
			return false;
		f->file++;
		f->next = 0;
	}
	if (f->file == f->nfiles)
		return false;
	file = feed_file(f);
	p = &f->copies[f->before == &f->copies[0]];
	*p = file->packets[f->next++];
	f->file_stream = file->stream;
	if (is_outside(f, p)) {
		f->before = p;
		f->packet = NULL;
		return true;
	}
	packet_losses(f, feed, p);
	if (f->ctf->stored)
		packet_row(f, p);
	/* SPEC ctf/time-back: packets that begin before the one before them stay where they are */
	if (f->before && (p->flags & f->before->flags & PACKET_BEGIN) &&
	    p->begin < f->before->begin)
		diag_add(&feed->diag, DIAG_WARN, "ctf/time-back", file->name, p->file_off, 0,
			 "packet: expected a begin from %llu on, as of the packet before, found "
			 "%llu: kept in its place",
			 (unsigned long long)f->before->begin, (unsigned long long)p->begin);
	ctf_packet_begin(f->trace, f->class, p, &f->cursor);
	f->packet = p;
	f->packet_name = file->name;
	f->effort = 0;
	f->before = p;
	if ((p->flags & PACKET_GUESSED) && has_end(p))
		limit_content(f);
	return true;
}

/* --- damage inside a packet --- */

/* SPEC ctf-v11/slack: content counts bytes, and an event may end inside one: what is left of it is no event */
static bool is_over(const struct ctf_feed *f, uint64_t at, uint64_t limit)
{
	return at >= limit || (f->trace->meta->generation == CTF_V11 && limit - at < 8);
}

/*
 * SPEC ctf/unknown-between: whether so few events that can be are enough before one of an unknown class: a packet that
 * lasts a small part of what the time in a header can tell has hardly any by chance
 */
static bool is_telling(const struct ctf_feed *f, int events, uint64_t from, uint64_t clock)
{
	const struct ctf_packet *p = f->packet;
	const bool large = f->class->usual == USUAL_LARGE;

	return f->class->usual != USUAL_NONE && events >= (large ? 1 : 2) && has_end(p) &&
	       clock >= from && clock <= p->end && p->end - from < (large ? 1u << 29 : 1u << 24);
}

/* Whether events that can be follow each other from here to the packet's end, or a few of them. */
static bool plausible(struct ctf_feed *f, struct ctf_cursor c)
{
	const struct ctf_packet *p = f->packet;
	const uint64_t limit = c.limit, clock = c.clock;
	const char *why;

	for (int i = 0; i < RESYNC_CHAIN; i++) {
		const uint64_t from = c.at;

		if (is_over(f, c.at, limit))
			return i > 0;
		c.limit = limit - c.at > RESYNC_WINDOW ? c.at + RESYNC_WINDOW : limit;
		if (!event_skip(f, &c, &why)) {
			f->effort += c.at - from;
			return !why && is_telling(f, i, clock, c.clock);
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

/* The field of the event at the cursor that cannot be read, with its bit; "" where that cannot be told. */
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

/* What is wrong with the event at bit `from`, which begins at the cursor. `why`: NULL where its id is unknown. */
static void say_damage(struct ctf_feed *f, struct feed *feed, const char *why, uint64_t lost)
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

static bool is_plausible_at(struct ctf_feed *f, uint64_t at)
{
	struct ctf_cursor test = f->cursor;

	test.at = at;
	return has_effort(f) && plausible(f, test);
}

/* Whether events can be at this place, or the packet ends. */
static bool goes_on(struct ctf_feed *f, uint64_t at)
{
	const struct ctf_cursor *c = &f->cursor;

	return (at <= c->limit && is_over(f, at, c->limit)) ||
	       (at > c->at && at < c->limit && is_plausible_at(f, at));
}

/* SPEC ctf-v11/event-size: where an event cannot be read, its size tells where the next one is; else UINT64_MAX */
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
 * SPEC ctf/event-place: places a few bytes beside an event may look like one, with zeros before it; where time moves on
 * least is the right one
 */
static uint64_t best_place(struct ctf_feed *f, uint64_t first)
{
	uint64_t best = first, least = time_at(f, first), time;

	for (uint64_t at = first + 8;
	     at < f->cursor.limit && at <= first + 8 * NEAR && has_effort(f); at += 8) {
		time = time_at(f, at);
		if (time < least && is_plausible_at(f, at)) {
			least = time;
			best = at;
		}
	}
	return best;
}

/* The next place behind the cursor where events can be; the packet's end where none is. */
static uint64_t find_event(struct ctf_feed *f)
{
	const struct ctf_cursor *c = &f->cursor;
	const uint64_t told = find_by_size(f);

	if (told != UINT64_MAX)
		return told;
	for (uint64_t at = align_up(c->at + 1, 8); at < c->limit; at += 8)
		if (is_plausible_at(f, at))
			return best_place(f, at);
	return c->limit;
}

/* SPEC ctf/event-damage: on from the next place where events can be, else the packet's rest is lost */
static void event_damage(struct ctf_feed *f, struct feed *feed, const char *why)
{
	struct ctf_cursor *c = &f->cursor;
	const uint64_t id = c->slots[CTF_SLOT_EVENT_ID], next = find_event(f);

	/* A cut packet ends inside an event: that is said of the packet already. */
	if (!why || !(f->packet->flags & PACKET_CUT) || next < c->limit) {
		c->slots[CTF_SLOT_EVENT_ID] = id;
		say_damage(f, feed, why, (next - c->at + 7) / 8);
	}
	c->at = next;
}

/* Events of the packet at hand. */
static void packet_rows(struct ctf_feed *f, struct feed *feed, struct batch *b)
{
	struct ctf_cursor *c = &f->cursor;
	const char *why;

	while (c->at < c->limit && b->count < b->cap && !f->nheld) {
		const uint64_t from = c->at, clock = c->clock;
		const struct ctf_event *e = event_skip(f, c, &why);

		if (unlikely(!e || c->at == from)) {
			c->at = from;
			c->clock = clock;
			if (is_over(f, from, c->limit)) {
				c->at = c->limit;
				continue;
			}
			if (!e && !why && f->ctf->grow && !f->hopeless) {
				f->starved = true;
				break;
			}
			if (e)
				why = "at least one bit, found an event without any";
			event_damage(f, feed, why);
			continue;
		}
		event_row(f, e, from, &b->rows[b->count++]);
		feed->records++;
	}
}

static bool feed_start(struct ctf_feed *f)
{
	f->started = true;
	f->last_ts = INT64_MIN;
	f->cursor.have = mem_alloc(CTF_SLOTS_FIXED);
	f->cursor.slots = mem_array(ctf_slots(f->trace), sizeof(*f->cursor.slots));
	f->known = mem_array(CTF_KNOWN, sizeof(struct ctf_event *));
	return f->cursor.have && f->cursor.slots && f->known;
}

bool ctf_feed_renew(struct ctf_feed *f, struct ctf_trace *tr, struct ctf_class *k)
{
	struct ctf_cursor *c = &f->cursor;
	const uint64_t at = c->at, clock = c->clock;
	uint64_t *slots;

	f->trace = tr;
	f->class = k;
	f->starved = f->hopeless = false;
	if (!f->started)
		return true;
	slots = mem_array(ctf_slots(tr), sizeof(*slots));
	if (!slots)
		return false;
	mem_free(c->slots);
	c->slots = slots;
	memset(f->known, 0, CTF_KNOWN * sizeof(struct ctf_event *));
	map64_free(&f->rest);
	f->rest = (struct map64){ 0 };
	f->have_last = false;
	if (f->packet) {
		ctf_packet_begin(tr, k, f->packet, c);
		c->at = at;
		c->clock = clock;
	}
	return true;
}

enum spur_status ctf_next(struct spur_trace *t, struct feed *feed, struct batch *b)
{
	const struct ctf *c = t->state;

	return c->grow ? grow_next(c->grow, b) : ctf_feed_rows(feed->state, feed, b);
}

enum spur_status ctf_feed_rows(struct ctf_feed *f, struct feed *feed, struct batch *b)
{
	b->count = 0;
	if (!f->started && !feed_start(f))
		return SPUR_FAIL;
	while (b->count < b->cap) {
		if (f->held_at < f->nheld) {
			b->rows[b->count++] = f->held[f->held_at++];
			continue;
		}
		f->nheld = f->held_at = 0;
		if (f->starved)
			break;
		if (f->packet && f->cursor.at < f->cursor.limit) {
			packet_rows(f, feed, b);
			continue;
		}
		if (!packet_next(f, feed))
			break;
	}
	return b->count ? SPUR_OK : SPUR_END;
}

/* The latest row of a stream's last packet that has any. False: memory is out. */
static bool feed_last(const struct ctf_feed *of, int64_t *ts)
{
	enum { LAST_ROWS = 256 };
	struct ctf_feed *f = mem_alloc(sizeof(*f));
	struct spur_event *rows = mem_array(LAST_ROWS, sizeof(*rows));
	struct batch b = { .rows = rows, .cap = LAST_ROWS };
	struct feed none = { 0 };
	bool good = f && rows, found = false;

	diag_init(&none.diag);
	if (good) {
		*f = (struct ctf_feed){ .ctf = of->ctf,
					.trace = of->trace,
					.class = of->class,
					.own_track = of->own_track };
		good = feed_start(f);
	}
	for (size_t i = of->nfiles; good && !found && i-- > 0;) {
		const struct ctf_file *file = &of->ctf->files[of->files[i]];

		f->files = of->files;
		f->nfiles = of->nfiles;
		f->file = i;
		for (size_t k = file->npackets; !found && k-- > 0;) {
			f->next = k;
			if (!packet_next(f, &none))
				break;
			for (f->nheld = 0; f->packet && f->cursor.at < f->cursor.limit;
			     f->nheld = b.count = 0)
				packet_rows(f, &none, &b);
			found = f->last_ts != INT64_MIN;
			*ts = found && f->last_ts > *ts ? f->last_ts : *ts;
		}
	}
	if (f) {
		f->files = NULL;
		ctf_feed_free(f);
	}
	mem_free(rows);
	diag_free(&none.diag);
	return good;
}

/* Reads a whole stream for its tracks alone. False: memory is out. */
static bool feed_scan(const struct ctf_feed *of)
{
	enum { SCAN_ROWS = 256 };
	struct ctf_feed *f = mem_alloc(sizeof(*f));
	struct spur_event *rows = mem_array(SCAN_ROWS, sizeof(*rows));
	struct batch b = { .rows = rows, .cap = SCAN_ROWS };
	struct feed none = { 0 };
	bool good = f && rows;

	diag_init(&none.diag);
	if (good) {
		*f = (struct ctf_feed){ .ctf = of->ctf,
					.trace = of->trace,
					.class = of->class,
					.number = of->number,
					.own_track = of->own_track,
					.files = of->files,
					.nfiles = of->nfiles };
		good = feed_start(f);
	}
	while (good && packet_next(f, &none))
		for (f->nheld = 0; f->packet && f->cursor.at < f->cursor.limit;
		     f->nheld = b.count = 0)
			packet_rows(f, &none, &b);
	if (f) {
		f->files = NULL;
		ctf_feed_free(f);
	}
	mem_free(rows);
	diag_free(&none.diag);
	return good;
}

bool ctf_scan_tracks(struct ctf *c)
{
	for (size_t i = 0; i < c->nfeeds; i++)
		if (!feed_scan(c->feeds[i]))
			return false;
	return true;
}

bool ctf_last(struct spur_trace *t, int64_t *ts)
{
	struct ctf *c = t->state;
	int64_t last = INT64_MIN;

	for (size_t i = 0; i < c->nfeeds; i++)
		if (!feed_last(c->feeds[i], &last))
			return false;
	*ts = last;
	return last != INT64_MIN;
}
