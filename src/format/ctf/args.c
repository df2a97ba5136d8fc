/*
 * Fields of events and packets, when somebody asks. The packet is found by the row's place; the last packets asked for
 * stay with the spur_args, since rows mostly come in order.
 */
#include <string.h>

#include "base/bits.h"
#include "format/ctf/head.h"
#include "format/ctf/reader.h"
#include "model/args.h"

enum { ARGS_PLACES = 16 };

/* A packet, and which rows are of it. */
struct args_place {
	struct ctf_trace *trace;
	struct ctf_class *class; /* NULL: no packet yet */
	uint32_t stream;
	uint64_t low, size; /* rows of bytes [low, low + size) of the stream */
	bool order_known, order_big; /* behind the packet's context */
	struct ctf_packet packet;
};

/* What stays with a spur_args. */
struct args_memo {
	struct args_place places[ARGS_PLACES]; /* by stream */
	const struct args_place *heads; /* whose packet's header and context the slots have; NULL: none */
	struct ctf_cursor cursor;
	uint8_t have[CTF_SLOTS_FIXED];
	uint64_t slots[];
};

static const struct ctf_file *file_of(const struct ctf *c, uint32_t stream)
{
	/* Files are streams of the trace, in the same order, unless memory was short in between. */
	if (stream < c->nfiles && c->files[stream].stream == stream)
		return &c->files[stream];
	for (size_t i = 0; i < c->nfiles; i++)
		if (c->files[i].stream == stream)
			return &c->files[i];
	return NULL;
}

static bool place_find(const struct ctf *c, const struct spur_event *ev, struct args_place *at)
{
	const struct ctf_file *f = file_of(c, ev->stream);
	size_t low = 0, high;
	uint64_t off;

	at->class = NULL;
	if (!f || !f->npackets)
		return false;
	at->class = &c->traces[f->trace].classes[f->class];
	at->trace = &c->traces[f->trace];
	at->stream = ev->stream;
	off = at->class->bits ? ev->off / 8 : ev->off;
	high = f->npackets;
	while (high - low > 1) {
		const size_t mid = low + (high - low) / 2;

		if (f->packets[mid].off <= off)
			low = mid;
		else
			high = mid;
	}
	at->packet = f->packets[low];
	at->low = at->packet.off;
	at->size = (low + 1 < f->npackets ? f->packets[low + 1].off : UINT64_MAX) - at->low;
	return true;
}

/* The row's packet. NULL: none. */
static inline struct args_place *place_of(const struct ctf *c, const struct spur_event *ev,
					  struct args_memo *m)
{
	struct args_place *at = &m->places[ev->stream % ARGS_PLACES];

	if (at->class && at->stream == ev->stream &&
	    (at->class->bits ? ev->off / 8 : ev->off) - at->low < at->size)
		return at;
	m->heads = m->heads == at ? NULL : m->heads;
	return place_find(c, ev, at) ? at : NULL;
}

static struct args_memo *memo_of(const struct ctf *c, struct spur_args *args)
{
	struct args_memo *m = args_keep(args, c->serial,
					sizeof(*m) + c->nslots * sizeof(m->slots[0]));

	if (m) {
		m->cursor.slots = m->slots;
		m->cursor.have = m->have;
	}
	return m;
}

/* The row's first bit in its packet. */
static uint64_t event_bit(const struct args_place *at, const struct spur_event *ev)
{
	return at->class->bits ? ev->off - 8 * at->packet.off : 8 * (ev->off - at->packet.off);
}

/* The slots get what the packet's header and context hold. */
static void heads_read(struct args_memo *m, struct args_place *at)
{
	struct ctf_cursor c = m->cursor;

	if (m->heads != at) {
		ctf_packet_begin(at->trace, at->class, &at->packet, &c);
		at->order_known = c.order_known;
		at->order_big = c.order_big;
		m->heads = at;
	}
	m->cursor.order_known = at->order_known;
	m->cursor.order_big = at->order_big;
}

/* The memo's cursor at the row's event, its header read; the event's class. NULL: there is none. */
static inline struct ctf_event *event_at(struct ctf *c, const struct spur_event *ev,
					 struct args_memo *m, struct args_place *at)
{
	struct ctf_cursor *cur = &m->cursor;
	struct ctf_class *k = at->class;
	struct ctf_event *e;

	cur->data = at->packet.data;
	cur->limit = at->packet.content;
	cur->at = event_bit(at, ev);
	cur->order_known = false;
	if (k->needs_packet)
		heads_read(m, at);
	if (cur->at > cur->limit || head_skip(k, cur) == SPUR_FAIL)
		return NULL;
	e = event_known(k, cur->slots[CTF_SLOT_EVENT_ID]);
	if (!e)
		e = ctf_event(c, at->trace, k, cur->slots[CTF_SLOT_EVENT_ID]);
	if (e && e->needs_packet && !k->needs_packet)
		heads_read(m, at);
	return e;
}

enum spur_status ctf_args(struct spur_trace *t, const struct spur_event *ev, struct spur_args *args)
{
	struct ctf *c = t->state;
	struct args_memo *m;
	struct args_place *at;
	struct ctf_event *e;

	if (ev->kind == SPUR_LOST) {
		args_u64(args, ev->cls == c->lost_cls ? c->s_count : c->s_packets, ev->id,
			 SPUR_SHOW_PLAIN);
		return SPUR_OK;
	}
	if (ev->cls == c->packet_cls)
		return SPUR_OK;
	m = memo_of(c, args);
	at = m ? place_of(c, ev, m) : NULL;
	e = at ? event_at(c, ev, m, at) : NULL;
	return e ? plan_values(e->program, &m->cursor, true, args) : SPUR_WARN;
}

bool ctf_event_values(struct ctf *c, const struct spur_event *ev, struct spur_args *args,
		      struct ctf_place_of *of, enum spur_status *st)
{
	struct args_memo *m = memo_of(c, args);
	struct args_place *at = m ? place_of(c, ev, m) : NULL;
	struct ctf_event *e = at ? event_at(c, ev, m, at) : NULL;

	args_reset(args);
	if (!e)
		return false;
	*of = (struct ctf_place_of){ at->class, e, at->trace, at->packet.off };
	*st = plan_values(e->program, &m->cursor, false, args);
	return true;
}

enum spur_status ctf_packet_values(struct ctf *c, const struct spur_event *ev,
				   struct spur_args *args)
{
	struct args_memo *m = memo_of(c, args);
	struct args_place *at = m ? place_of(c, ev, m) : NULL;

	args_reset(args);
	if (!at)
		return SPUR_WARN;
	m->heads = NULL;
	ctf_packet_begin(at->trace, at->class, &at->packet, &m->cursor);
	m->cursor.at = 0;
	m->cursor.order_known = false;
	return plan_skip(at->trace->header, &m->cursor) == SPUR_OK
		       ? plan_values(at->class->context, &m->cursor, false, args)
		       : SPUR_WARN;
}

/* --- for dump: every field with its bits --- */

struct field_list {
	struct ctf *c;
	struct spur_args *args;
};

static bool field_add(void *self, const struct ctf_place *place)
{
	struct field_list *l = self;
	struct spur_value *v = args_add(l->args), *items;

	if (!v)
		return false;
	v->name = trace_intern(l->c->t, place->path);
	v->type = SPUR_STRUCT;
	items = args_alloc(l->args, 3 * sizeof(*items));
	if (!items)
		return false;
	items[0] = (struct spur_value){ .type = SPUR_U64, .name = l->c->s_at, .u = place->at };
	items[1] = (struct spur_value){ .type = SPUR_U64, .name = l->c->s_bits, .u = place->size };
	items[2] = place->value;
	items[2].name = l->c->s_value;
	v->items = items;
	v->count = 3;
	return true;
}

static enum spur_status walk(struct ctf *c, const struct ctf_program *p, struct ctf_cursor *cur,
			     struct spur_args *scratch, struct spur_args *args)
{
	struct field_list l = { c, args };

	return plan_walk(p, cur, c->t, scratch, field_add, &l);
}

static enum spur_status packet_fields(struct ctf *c, const struct spur_event *ev,
				      struct args_memo *m, struct spur_args *scratch,
				      struct spur_args *args)
{
	struct args_place *at = place_of(c, ev, m);
	enum spur_status st;

	if (!at)
		return SPUR_WARN;
	m->heads = NULL;
	ctf_packet_begin(at->trace, at->class, &at->packet, &m->cursor);
	m->cursor.at = 0;
	m->cursor.order_known = false;
	st = walk(c, at->trace->header, &m->cursor, scratch, args);
	return st == SPUR_OK ? walk(c, at->class->context, &m->cursor, scratch, args) : st;
}

static enum spur_status event_fields(struct ctf *c, const struct spur_event *ev,
				     struct args_memo *m, struct spur_args *scratch,
				     struct spur_args *args)
{
	struct args_place *at = place_of(c, ev, m);
	struct ctf_event *e = at ? event_at(c, ev, m, at) : NULL;
	struct ctf_cursor head;
	enum spur_status st;

	if (!e)
		return SPUR_WARN;
	head = m->cursor;
	head.at = event_bit(at, ev);
	st = walk(c, at->class->header, &head, scratch, args);
	return st == SPUR_OK ? walk(c, e->program, &m->cursor, scratch, args) : st;
}

enum spur_status ctf_fields(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_args *args)
{
	struct ctf *c = t->state;
	const uint64_t failures = mem_failures();
	struct spur_args scratch = { 0 };
	struct args_memo *m;
	enum spur_status st;

	args_reset(args);
	if (ev->kind == SPUR_LOST)
		return ctf_args(t, ev, args);
	m = memo_of(c, args);
	if (!m)
		return SPUR_FAIL;
	st = ev->cls == c->packet_cls ? packet_fields(c, ev, m, &scratch, args)
				      : event_fields(c, ev, m, &scratch, args);
	spur_args_free(&scratch);
	return mem_failures() == failures ? st : SPUR_FAIL;
}

const uint8_t *ctf_raw(struct spur_trace *t, const struct spur_event *ev)
{
	const struct ctf *c = t->state;
	struct args_place at;
	uint64_t from, len;

	if (ev->kind == SPUR_LOST || !place_find(c, ev, &at))
		return NULL;
	from = event_bit(&at, ev) / 8;
	len = at.packet.flags & PACKET_OWN ? (at.packet.content + 7) / 8 : at.packet.file_size;
	return from <= len && ev->len <= len - from ? at.packet.data + from : NULL;
}
