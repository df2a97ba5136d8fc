/*
 * Events to rows: header and fields are skipped over by programs, the clock moves, and what the
 * event's class means beside its fields (class.c) makes the row. Events that cannot be are
 * resync.c's.
 */
#include <stdio.h>

#include "base/bits.h"
#include "format/ctf/live/grow.h"
#include "format/ctf/head.h"
#include "format/ctf/own.h"
#include "format/ctf/rows.h"
#include "format/ctf/symbols.h"
#include "format/ctf/tracks.h"

enum { TASK_RUNNING_MASK = 0xFF };

__attribute__((noinline)) int64_t ctf_time(const struct ctf *c, const struct ctf_class *k,
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

/* --- one event --- */

struct ctf_event *event_find(struct ctf_feed *f, uint64_t id)
{
	struct ctf_event *e = event_known(f->class, id);
	struct map64_slot *slot = e ? NULL : map64_find(&f->rest, id);

	if (slot)
		e = (void *)(uintptr_t)slot->value;
	if (e)
		return e;
	/* Undeclared ids are not kept: there may be many. */
	e = ctf_event(f->ctf, f->trace, f->class, id);
	slot = e && id >= f->class->nknown ? map64_put(&f->rest, id) : NULL;
	if (slot)
		slot->value = (uintptr_t)e;
	return e;
}

struct ctf_event *event_skip(struct ctf_feed *f, struct ctf_cursor *c, const char **why)
{
	struct ctf_event *e;

	*why = NULL;
	if (unlikely(head_skip(f->class, c) == SPUR_FAIL)) {
		*why = c->why;
		return NULL;
	}
	f->body = align_up(c->at, 8);
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

	row->kind = SPUR_SWITCH;
	*in = *row;
	row->flags |= (uint16_t)(SPUR_F_OUT | (state & TASK_RUNNING_MASK ? 0 : SPUR_F_PREEMPTED) |
				 (state & e->dead ? SPUR_F_EXIT : 0));
	row->track = track_of_tid(f, c->slots[e->slot[0]], e->slot[4], row->ts);
	in->flags |= SPUR_F_IN;
	in->track = track_of_tid(f, c->slots[e->slot[1]], e->slot[3], row->ts);
	if (f->class->by_switch)
		f->current = c->slots[e->slot[1]] ? in->track : SPUR_NONE;
	f->nheld = 1;
	f->held_at = 0;
}

/* Of the current event. */
static uint32_t function_space(struct ctf_feed *f)
{
	const uint32_t slot = f->class->pid_slot;
	const int64_t pid = slot == CTF_NO_SLOT ? f->trace->pid : (int64_t)f->cursor.slots[slot];

	if (!f->have_space || f->space_pid != pid) {
		f->have_space = true;
		f->space_pid = pid;
		f->space = ctf_symbols_space(f->ctf, f->trace, pid);
	}
	return f->space;
}

static void function_row(struct ctf_feed *f, const struct ctf_event *e, struct spur_event *row)
{
	const uint64_t address = f->cursor.slots[e->slot[0]];
	const uint32_t space = f->ctf->symbols ? function_space(f) : 0;
	struct map64_slot *slot;
	bool lasts;
	uint32_t cls;

	row->id = address;
	if (f->scanning)
		return;
	/* Addresses have 48 bits, or what is in them is not known by any process' maps. */
	slot = map64_put(&f->functions, space ? (uint64_t)space << 48 | address : address);
	if (!slot)
		return;
	cls = (uint32_t)slot->value;
	if (!cls) {
		cls = ctf_function(f->ctf, space, address, row->ts, &lasts);
		slot->value = lasts ? cls : 0;
	}
	if (!cls)
		return;
	row->cls = cls;
	row->name = trace_class(f->ctf->t, row->cls)->name;
}

/*
 * What the event means beside its fields. ENDs have SPUR_F_GAP: a thread's events come from the
 * streams of all CPUs, which begin and lose events each at other times.
 */
static void rule_row(struct ctf_feed *f, const struct ctf_event *e, struct spur_event *row)
{
	switch ((enum event_rule)e->rule) {
	case RULE_ENTRY:
		row->kind = SPUR_BEGIN;
		break;
	case RULE_EXIT:
		row->kind = SPUR_END_SPAN;
		row->flags |= SPUR_F_GAP;
		break;
	case RULE_FUNCTION_ENTRY:
		row->kind = SPUR_BEGIN;
		function_row(f, e, row);
		break;
	case RULE_FUNCTION_EXIT:
		row->kind = SPUR_END_SPAN;
		row->flags |= SPUR_F_GAP;
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
		row->track = track_of_tid(f, f->cursor.slots[e->slot[0]], e->slot[1], row->ts);
		break;
	case RULE_THREAD_EXIT:
		row->flags |= SPUR_F_EXIT;
		if (f->class->tid_slot == CTF_NO_SLOT)
			row->track = track_of_tid(f, f->cursor.slots[e->slot[0]], CTF_NO_SLOT,
						  row->ts);
		break;
	case RULE_THREAD_FREE:
		row->flags |= SPUR_F_EXIT;
		row->track = track_of_tid(f, f->cursor.slots[e->slot[0]], CTF_NO_SLOT, row->ts);
		break;
	case RULE_SYSCALL_EXIT:
		row->kind = SPUR_END_SPAN;
		row->flags |= SPUR_F_ANY;
		break;
	case RULE_LOG:
		row->kind = SPUR_LOG;
		break;
	case RULE_OWN:
		row->kind = e->own->kind;
		row->flags |= e->own->flags;
		if (row->kind == SPUR_END_SPAN)
			row->flags |= SPUR_F_GAP;
		if (e->slot[0] != CTF_NO_SLOT)
			row->id = f->cursor.slots[e->slot[0]];
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
	/* Where the event before ended inside a byte, this one begins after it. */
	const uint64_t begin = bits ? from : align_up(from, 8);
	const uint64_t off = bits ? 8 * p->off + begin : p->off + begin / 8;
	const uint64_t len = bits ? c->at - begin : (c->at + 7) / 8 - begin / 8;
	const int64_t ts = class_time(f->ctf, f->class, c->clock);
	const uint8_t *body = c->data + f->body / 8;
	const uint32_t track =
		event_track(f, f->class, body, ts, f->last_body, f->last_ts);
	uint32_t flags = f->class->flags;

	f->last_body = body;
	if (unlikely(ts < f->last_ts))
		flags |= SPUR_F_BACK;
	row_store(row, (uint64_t)ts, 0, off,
		  (struct row_words){ row_pair((uint32_t)(len > UINT32_MAX ? UINT32_MAX : len),
					       track),
				      row_pair(f->file_stream, e->cat), e->name_cls,
				      e->rest | row_rest(0, flags, p->cpu, 0) });
	f->last_ts = ts;
	if (unlikely(e->rule))
		rule_row(f, e, row);
}

/* --- packets --- */

/*
 * SPEC ctf/discarded: between the ends of two packets; in the RFC v1.1, between their begins.
 * Packets are lost between an end and a begin.
 */
static bool loses_by_ends(const struct ctf_feed *f)
{
	return f->trace->meta->generation != CTF_V11;
}

/* When the time begins in which something was lost before the packet after `before`. */
static int64_t lost_from(const struct ctf_feed *f)
{
	const struct ctf_packet *b = f->before;

	return ctf_time(f->ctf, f->class,
			loses_by_ends(f) && (b->flags & PACKET_END) ? b->end : b->begin);
}

static void lost_row(struct ctf_feed *f, const struct ctf_packet *p, uint32_t cls, uint64_t count,
		     bool events)
{
	const struct ctf_class *k = f->class;
	const int64_t from = lost_from(f);
	const bool to_end = loses_by_ends(f) && events && (p->flags & PACKET_END);
	const int64_t to = ctf_time(f->ctf, k, to_end ? p->end : p->begin);
	struct spur_event *row = &f->held[f->nheld];

	assert(f->nheld < CTF_HELD);
	f->nheld++;
	*row = (struct spur_event){
		.ts = from > f->last_ts || f->last_ts == INT64_MIN ? from : f->last_ts,
		/* How many events were in lost packets is not known. */
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
	if (to <= row->ts)
		row->dur = 0;
	else if (__builtin_sub_overflow(to, row->ts, &row->dur))
		row->dur = INT64_MAX;
	f->last_ts = row->ts;
}

/* Events and packets that the producer lost before this packet. */
static void packet_losses(struct ctf_feed *f, struct feed *feed, const struct ctf_packet *p)
{
	const struct ctf_packet *b = f->before;
	const char *name = feed_file(f)->name;
	uint64_t n;

	f->nheld = f->held_at = 0;
	if (!b)
		return;
	n = ctf_counter_step(b->discarded, p->discarded, f->class->discarded_bits);
	if ((p->flags & b->flags & PACKET_DISCARDED) && n) {
		if (!f->beside)
			read_count(&f->ctf->t->read.discarded, n);
		diag_add(&feed->diag, DIAG_WARN, "ctf/discarded", name, p->file_off, 0,
			 "the tracer discarded %llu events between this packet and the one before",
			 (unsigned long long)n);
		lost_row(f, p, f->ctf->lost_cls, n, true);
	}
	n = p->lost;
	if (n) {
		if (!f->beside)
			read_count(&f->ctf->t->read.lost_packets, n);
		diag_add(&feed->diag, DIAG_WARN, "ctf/lost-packets", name, p->file_off, 0,
			 "expected packet %llu, found %llu: %llu packets are lost",
			 (unsigned long long)((b->sequence + 1) &
					      bits_mask(ctf_sequence_bits(feed_file(f), f->class))),
			 (unsigned long long)p->sequence, (unsigned long long)n);
		lost_row(f, p, f->ctf->lost_packets_cls, n, false);
	}
}

/*
 * The time of the first event of the current packet; its begin if there is no event at its begin.
 */
static int64_t first_time(struct ctf_feed *f)
{
	struct ctf_cursor c = f->cursor;
	const struct ctf_packet *p = f->packet;
	const char *why;

	if (c.at < c.limit && event_skip(f, &c, &why))
		return class_time(f->ctf, f->class, c.clock);
	return p->flags & PACKET_BEGIN ? ctf_time(f->ctf, f->class, p->begin) : 0;
}

/* As stored, a packet stands at its begin. */
static int64_t stored_time(const struct ctf_feed *f)
{
	const struct ctf_packet *p = f->packet;
	const int64_t ts =
		p->flags & PACKET_BEGIN ? ctf_time(f->ctf, f->class, p->begin) : f->last_ts;

	return ts == INT64_MIN ? 0 : ts;
}

/* The time of the row before the current packet in its stream. */
static int64_t time_before(struct ctf_feed *f)
{
	if (f->last_ts != INT64_MIN)
		return f->last_ts;
	if (!f->have_first) {
		f->have_first = true;
		f->first_ts = first_time(f);
	}
	return f->first_ts;
}

/*
 * SPEC ctf/bookkeeping: header and context of each packet are a row *packet*. By time it has the
 * time of the row before it in its stream, the first one that of the first event, so that no other
 * row moves.
 */
static void packet_row(struct ctf_feed *f)
{
	const struct ctf_packet *p = f->packet;
	struct spur_event *row = &f->held[f->nheld];
	const bool bits = f->class->bits;

	assert(f->nheld < CTF_HELD);
	f->nheld++;
	*row = (struct spur_event){
		.ts = f->ctf->stored ? stored_time(f) : time_before(f),
		.off = bits ? 8 * p->off : p->off,
		.len = (uint32_t)(bits ? p->body : p->body / 8),
		.track = f->own_track,
		.stream = f->file_stream,
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
	/* Who runs is told by switches before. */
	if (f->class->by_switch && ctf_time(f->ctf, f->class, p->begin) < t->want_to)
		return false;
	return (p->flags & PACKET_BEGIN) && (p->flags & PACKET_END) && p->begin <= p->end &&
	       (ctf_time(f->ctf, f->class, p->end) < t->want_from ||
		(t->want_to != INT64_MAX && ctf_time(f->ctf, f->class, p->begin) >= t->want_to));
}

static bool is_wanted(const struct ctf_feed *f, int64_t ts)
{
	const struct spur_trace *t = f->ctf->t;

	return ts >= t->want_from && ts < t->want_to;
}

static bool rest_is_zero(const struct ctf_cursor *c, uint64_t at)
{
	for (at = (at + 7) / 8; at < c->limit / 8; at++)
		if (c->data[at])
			return false;
	return true;
}

/*
 * SPEC ctf/guessed-content: if the content is unknown, it ends before the first event that is
 * too late, or before zeros that are none
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

/* SPEC ctf/late-event: events may be later than the packet's end, which is told */
static void packet_done(struct ctf_feed *f, struct feed *feed)
{
	const struct ctf_packet *p = f->packet;

	if (p && f->last_body)
		track_rename(f, f->last_body, f->last_ts);
	f->last_body = NULL;
	if (p && has_end(p) && f->cursor.clock > p->end)
		diag_add(&feed->diag, DIAG_WARN, "ctf/late-event", f->packet_name, p->file_off, 0,
			 "packet: expected events up to clock value %llu, its end, found one at "
			 "%llu",
			 (unsigned long long)p->end, (unsigned long long)f->cursor.clock);
	f->packet = NULL;
}

/* Moves to the next packet. Returns false at the end. */
static bool packet_step(struct ctf_feed *f)
{
	if (f->order) {
		if (f->order_at == f->norder)
			return false;
		f->file = f->order[f->order_at].file;
		f->next = f->order[f->order_at++].packet;
		return true;
	}
	while (f->file < f->nfiles && f->next >= feed_file(f)->npackets) {
		if (f->ctf->grow && f->file + 1 == f->nfiles)
			return false;
		f->file++;
		f->next = 0;
	}
	if (f->until && f->file == f->until->file && f->next == f->until->packet)
		return false;
	return f->file < f->nfiles;
}

/* False: there is no packet left. */
static bool packet_next(struct ctf_feed *f, struct feed *feed)
{
	struct ctf_file *file;
	struct ctf_packet *p;

	packet_done(f, feed);
	if (!packet_step(f))
		return false;
	file = feed_file(f);
	p = &f->copies[f->before == &f->copies[0]];
	*p = file->packets[f->next++];
	f->file_stream = file->stream;
	if (is_outside(f, p)) {
		/* What was lost before it may have been lost in the time that is wanted. */
		if (f->before && is_wanted(f, lost_from(f)))
			packet_losses(f, feed, p);
		f->before = p;
		f->packet = NULL;
		return true;
	}
	packet_losses(f, feed, p);
	if (f->nheld || (f->before && f->before->cpu != p->cpu))
		f->current = SPUR_NONE;
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
	f->due = has_end(p) ? p->end : UINT64_MAX;
	f->before = p;
	if ((p->flags & PACKET_GUESSED) && has_end(p))
		limit_content(f);
	if (f->ctf->stored || f->ctf->bookkeeping)
		packet_row(f);
	return true;
}

/* the current thread, kept where events of one thread in a row need no look at the feed. */
struct thread_run {
	uint64_t lead;
	uint32_t track; /* SPUR_NONE: none yet */
	const uint8_t *body; /* of the last event */
	bool has_lead;
};

static inline struct thread_run run_begin(const struct ctf_feed *f)
{
	return (struct thread_run){ f->last_lead, f->have_last ? f->track : SPUR_NONE, f->last_body,
				    f->class->lead.there };
}

/* The track of the event whose body this is; `before`: the time of the event before. */
static inline __attribute__((always_inline)) uint32_t run_track(struct ctf_feed *f,
								struct thread_run *r,
								const uint8_t *body, int64_t ts,
								int64_t before)
{
	const struct ctf_class *k = f->class;

	if (!r->has_lead ||
	    !likely(lead_of(&k->lead, body) == r->lead && r->track != SPUR_NONE)) {
		r->track = event_track(f, k, body, ts, r->body, before);
		r->lead = f->last_lead;
	}
	r->body = body;
	return r->track;
}

/* The end of an event's fields, which begin at `p`; NULL if they have to be read by the program. */
static inline __attribute__((always_inline)) const uint8_t *known_end(const struct ctf_known *known,
								      uint64_t sum,
								      struct ctf_cursor *c,
								      const uint8_t *p,
								      const uint8_t *end)
{
	const uint32_t fixed = ctf_sum_size(sum);

	return fixed && fixed <= (size_t)(end - p) ? p + fixed : bytes_skip(known->skip, c, p, end);
}

/*
 * Events with usual headers and fields of whole bytes: the same as event_skip() and event_row(),
 * but what is needed for each stays in registers. Stops at the first that is anything else, or odd.
 */
static inline void quick_rows(struct ctf_feed *f, struct batch *b, enum usual_header usual)
{
	struct ctf_cursor *const c = &f->cursor;
	const struct ctf_class *const k = f->class;
	const struct ctf_known *const known = k->known;
	/* A switch, which changes `current`, is the last row here. */
	const uint32_t nknown = k->nknown,
		       current = f->current == SPUR_NONE ? f->own_track : f->current;
	const bool has_tid = k->tid_slot != CTF_NO_SLOT, plain = k->plain;
	const int64_t add = k->plain_add;
	const uint8_t *const data = c->data, *const end = data + c->limit / 8;
	const uint8_t *p = data + c->at / 8;
	struct thread_run run = run_begin(f);
	uint64_t *const id_slot = &c->slots[k->id_slot];
	const uint64_t rest = row_rest(0, k->flags, f->packet->cpu, 0);
	const uint64_t off = f->packet->off, due = f->due;
	struct spur_event *row = b->rows + b->count, *const last = b->rows + b->cap;
	uint64_t clock = c->clock;
	int64_t before = f->last_ts;

	/* Invariant: p <= end; rows up to `row` are of the events up to `p`. */
	while (row < last && (size_t)(end - p) > head_bytes(usual) && !f->nheld) {
		const uint8_t *q = p + head_bytes(usual);
		const struct ctf_event *e;
		uint64_t now, flags;
		uint32_t id, track;
		int64_t ts;

		if (unlikely(!head_id(usual, p, &id) || id >= nknown))
			break;
		now = head_clock(usual, p, clock);
		e = __atomic_load_n(&known[id].event, __ATOMIC_ACQUIRE);
		/* What was stored before it is there only if it is. */
		if (unlikely(now > due || !e || !known[id].skip))
			break;
		*id_slot = id;
		q = known_end(&known[id], k->sums[id], c, q, end);
		if (unlikely(!q))
			break;
		ts = likely(plain && now <= INT64_MAX / 4) ? (int64_t)now + add
							   : ctf_time(f->ctf, k, now);
		flags = unlikely(ts < before) ? row_rest(0, SPUR_F_BACK, 0, 0) : 0;
		track = has_tid ? run_track(f, &run, p + head_bytes(usual), ts, before) : current;
		row_store(row, (uint64_t)ts, 0, off + (uint64_t)(p - data),
			  (struct row_words){ row_pair((uint32_t)(q - p), track),
					      row_pair(f->file_stream, e->cat), e->name_cls,
					      e->rest | rest | flags });
		if (unlikely(e->rule))
			rule_row(f, e, row);
		row++;
		clock = now;
		before = ts;
		p = q;
	}
	b->count = (uint32_t)(row - b->rows);
	c->at = (uint64_t)(p - c->data) * 8;
	c->clock = clock;
	f->last_ts = before;
	f->last_body = run.body;
}

/*
 * The same, after the events that can be counted. If these are many, only a few rows are made of
 * what follows before others are counted. Returns false if out of memory.
 */
static bool quick_run(struct ctf_feed *f, struct batch *b)
{
	enum { MANY_BYTES = 1024, ROWS_BETWEEN = 16 };
	const uint64_t counted = b->counted;
	const uint32_t cap = b->cap;

	if (b->tally && !ctf_count(f, b))
		return false;
	if (b->counted - counted >= MANY_BYTES && b->cap - b->count > ROWS_BETWEEN)
		b->cap = b->count + ROWS_BETWEEN;
	if (f->class->usual == USUAL_LARGE)
		quick_rows(f, b, USUAL_LARGE);
	else
		quick_rows(f, b, USUAL_COMPACT);
	b->cap = cap;
	return true;
}

/* Returns true if the batch may get more rows. */
static bool has_room(const struct batch *b)
{
	return b->count < b->cap && b->counted < CTF_COUNT_BYTES;
}

/* Events of the current packet. Returns false if out of memory. */
static bool packet_rows(struct ctf_feed *f, struct feed *feed, struct batch *b)
{
	struct ctf_cursor *c = &f->cursor;
	const struct source *const src = feed_file(f)->source;
	const uint64_t begin = c->at;
	const char *why;
	bool good = true;

	while (good && has_room(b) && c->at < c->limit && !f->nheld) {
		uint64_t from, clock;
		const struct ctf_event *e;

		if (f->class->usual && !f->class->bits && c->at % 8 == 0)
			good = quick_run(f, b);
		if (!good || c->at == c->limit || b->count == b->cap || f->nheld)
			break;
		from = c->at;
		clock = c->clock;
		e = event_skip(f, c, &why);

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
		if (unlikely(c->clock > f->due) && !event_late(f, feed, from, clock))
			continue;
		event_row(f, e, from, &b->rows[b->count++]);
	}
	/* Live packets come from no file. */
	if (src)
		source_passed(src, f->packet->off + begin / 8, f->packet->off + c->at / 8);
	return good;
}

/* Forgets all leads, where the class has any. Returns false if out of memory. */
static bool leads_clear(struct ctf_feed *f)
{
	mem_free(f->leads);
	f->leads = NULL;
	if (f->class->lead.there)
		f->leads = mem_array(CTF_LEADS, sizeof(*f->leads));
	return !f->class->lead.there || f->leads;
}

bool ctf_feed_start(struct ctf_feed *f)
{
	assert(!f->started && !f->packet && !f->nheld);
	f->started = true;
	f->current = SPUR_NONE;
	f->last_ts = INT64_MIN;
	f->cursor.have = mem_alloc(CTF_SLOTS_FIXED);
	f->cursor.slots = mem_array(ctf_slots(f->trace), sizeof(*f->cursor.slots));
	f->held = mem_array(CTF_HELD, sizeof(*f->held));
	return f->cursor.have && f->cursor.slots && f->held && leads_clear(f);
}

bool ctf_feed_renew(struct ctf_feed *f, struct ctf_trace *tr, struct ctf_class *k)
{
	struct ctf_cursor *c = &f->cursor;
	const uint64_t at = c->at, clock = c->clock;
	uint64_t *slots;

	assert(tr != f->trace && k >= tr->classes);
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
	map64_free(&f->rest);
	f->rest = (struct map64){ 0 };
	f->have_last = false;
	if (!leads_clear(f))
		return false;
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
	struct ctf_feed *f = feed->state;
	enum spur_status st;

	b->count = 0;
	if (c->grow)
		return grow_next(c->grow, b);
	if (f->ended)
		return SPUR_END;
	st = ctf_feed_rows(f, feed, b);
	if (st == SPUR_END)
		ctf_feed_end(f);
	return st;
}

enum spur_status ctf_feed_rows(struct ctf_feed *f, struct feed *feed, struct batch *b)
{
	b->count = 0;
	if (!f->started && !ctf_feed_start(f))
		return SPUR_FAIL;
	/* Invariant: held rows come out before anything else is read. */
	while (has_room(b)) {
		assert(f->held_at <= f->nheld && f->nheld <= CTF_HELD);
		if (f->held_at < f->nheld) {
			b->rows[b->count++] = f->held[f->held_at++];
			continue;
		}
		f->nheld = f->held_at = 0;
		if (f->starved)
			break;
		if (f->packet && f->cursor.at < f->cursor.limit) {
			const uint32_t before = b->count;

			if (!packet_rows(f, feed, b))
				return SPUR_FAIL;
			read_count(&f->ctf->t->read.records, b->count - before);
			continue;
		}
		if (!packet_next(f, feed))
			break;
	}
	return b->count || b->counted ? SPUR_OK : SPUR_END;
}

/* A stream read beside its feed, for something else than its rows. */
struct side_reader {
	struct ctf_feed *f;
	struct spur_event *rows;
	struct batch b;
	struct feed none; /* gets what is said */
};

static void side_close(struct side_reader *a)
{
	if (a->f) {
		a->f->files = NULL;
		ctf_feed_free(a->f);
	}
	mem_free(a->rows);
	diag_free(&a->none.diag);
}

/* Returns false if out of memory. side_close() in any case. */
static bool side_open(struct side_reader *a, const struct ctf_feed *of)
{
	enum { ROWS = 256 };

	*a = (struct side_reader){ .f = mem_alloc(sizeof(*a->f)),
			     .rows = mem_array(ROWS, sizeof(*a->rows)) };
	a->b = (struct batch){ .rows = a->rows, .cap = ROWS };
	diag_init(&a->none.diag);
	if (!a->f || !a->rows)
		return false;
	*a->f = (struct ctf_feed){ .ctf = of->ctf,
				   .trace = of->trace,
				   .class = of->class,
				   .number = of->number,
				   .beside = true,
				   .own_track = of->own_track,
				   .files = of->files,
				   .nfiles = of->nfiles };
	return ctf_feed_start(a->f);
}

/* Reads the current packet; `each` (or NULL) sees its rows. Returns false if the callback did. */
static bool side_packet(struct side_reader *a, ctf_visit_rows *each, void *self)
{
	struct ctf_feed *f = a->f;
	bool good = true;

	for (f->nheld = 0; good && f->packet && f->cursor.at < f->cursor.limit;
	     f->nheld = a->b.count = 0) {
		good = packet_rows(f, &a->none, &a->b) &&
		       (!each || each(self, a->rows, a->b.count));
	}
	return good;
}

/* The latest row of a stream's last packet that has any. Returns false if out of memory. */
static bool feed_last(const struct ctf_feed *of, int64_t *ts)
{
	struct side_reader a;
	const bool good = side_open(&a, of);
	bool found = false;

	/* Where files overlap, any may have the latest row. */
	for (size_t i = of->nfiles; good && (!found || of->order) && i-- > 0;) {
		found = false;
		a.f->file = i;
		for (size_t k = feed_file(a.f)->npackets; !found && k-- > 0;) {
			a.f->next = k;
			if (!packet_next(a.f, &a.none))
				break;
			side_packet(&a, NULL, NULL);
			found = a.f->last_ts != INT64_MIN;
			*ts = found && a.f->last_ts > *ts ? a.f->last_ts : *ts;
		}
	}
	side_close(&a);
	return good;
}

bool ctf_feed_scan(const struct ctf_feed *of, ctf_visit_rows *each, void *self)
{
	struct side_reader a;
	bool good = side_open(&a, of);

	if (good)
		a.f->scanning = true;
	while (good && packet_next(a.f, &a.none))
		good = side_packet(&a, each, self);
	side_close(&a);
	return good;
}

static bool rows_count(void *self, const struct spur_event *rows, size_t n)
{
	uint64_t *sum = self;

	(void)rows;
	*sum += n;
	return true;
}

bool ctf_feed_check(const struct ctf_feed *of, struct diag_log *log, uint64_t *events)
{
	struct side_reader a;
	bool good = side_open(&a, of);

	if (good)
		a.f->scanning = true;
	while (good && packet_next(a.f, &a.none))
		good = side_packet(&a, rows_count, events);
	diag_merge(log, &a.none.diag);
	side_close(&a);
	return good;
}

bool ctf_scan_tracks(struct ctf *c, bool all)
{
	for (size_t i = 0; i < c->nfeeds; i++)
		if ((all || c->feeds[i]->trace->global_tids) &&
		    !ctf_feed_scan(c->feeds[i], NULL, NULL))
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
