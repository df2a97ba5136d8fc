/*
 * Fields of events and packets, on request. The packet is found by the row's place; the spur_args
 * keeps the latest packets, since rows mostly come in order.
 */
#include <string.h>

#include "base/bits.h"
#include "format/ctf/head.h"
#include "format/ctf/lookup.h"
#include "format/ctf/own.h"
#include "format/ctf/reader.h"
#include "format/ctf/symbols.h"
#include "model/args.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum { ARGS_PLACES = 16 };

/* A packet, and which rows are of it. */
struct args_place {
	/*
	 * Where events are read by bytes: what LTTng's short headers take, and where their id is.
	 * Else size 0.
	 */
	uint32_t stream;
	uint32_t head, id_mask;
	uint32_t nknown;
	const struct ctf_known *known;
	uint64_t *id_slot;
	uint64_t low; /* bytes before the packet in the stream */
	uint64_t size; /* its whole bytes */
	struct byte_packet bytes;

	struct ctf_lookup in; /* its class is NULL as long as there is no packet */
	bool order_known, order_big; /* after the packet's context */
};

/* What stays with a spur_args. */
struct args_memo {
	struct args_place places[ARGS_PLACES]; /* by stream */
	const struct args_place
		*heads; /* whose packet's header and context the slots have; NULL: none */
	struct ctf_cursor cursor;
	uint8_t have[CTF_SLOTS_FIXED];
	uint64_t slots[];
};

/* What values_quick() needs, where it can do anything. */
static void place_ready(struct args_place *at, uint64_t *slots, bool grows)
{
	const struct ctf_class *k = at->in.class;

	at->size = k->usual && !k->needs_packet && !grows ? at->in.packet.content / 8 : 0;
	at->head = head_bytes(k->usual);
	at->id_mask = k->usual == USUAL_LARGE ? CTF_WIRE_LARGE_LONG : CTF_WIRE_COMPACT_LONG;
	at->known = k->known;
	at->nknown = k->nknown;
	at->id_slot = &slots[k->id_slot];
	at->bytes.data = at->in.packet.data;
	at->bytes.end = at->in.packet.data + at->in.packet.content / 8;
	at->bytes.slots = slots;
}

/* The row's packet. NULL: none. */
static inline struct args_place *place_of(const struct ctf *c, const struct spur_event *ev,
					  struct args_memo *m)
{
	struct args_place *at = &m->places[ev->stream % ARGS_PLACES];

	if (at->in.class && at->stream == ev->stream &&
	    (at->in.class->bits ? ev->off / 8 : ev->off) - at->low < at->in.room)
		return at;
	m->heads = m->heads == at ? NULL : m->heads;
	at->size = 0;
	if (!ctf_lookup(c, ev, &at->in))
		return NULL;
	at->stream = ev->stream;
	at->low = at->in.packet.off;
	assert((at->in.class->bits ? ev->off / 8 : ev->off) - at->low < at->in.room);
	place_ready(at, m->slots, c->grow);
	return at;
}

static inline struct args_memo *memo_of(const struct ctf *c, struct spur_args *args)
{
	struct args_memo *m =
		args_keep(args, c->serial, sizeof(struct args_memo) + c->nslots * sizeof(uint64_t));

	/* Packets and classes that were looked up before may have moved. */
	if (m && c->grow)
		memset(m, 0, sizeof(*m));
	return m;
}

static void cursor_set(struct args_memo *m, const struct args_place *at)
{
	m->cursor.slots = m->slots;
	m->cursor.have = m->have;
	m->cursor.data = at->in.packet.data;
	m->cursor.limit = at->in.packet.content;
	m->cursor.at = 0;
	m->cursor.order_known = false;
}

/* The slots get what the packet's header and context hold. */
static void heads_read(struct args_memo *m, struct args_place *at)
{
	struct ctf_cursor c = m->cursor;

	if (m->heads != at) {
		ctf_packet_begin(at->in.trace, at->in.class, &at->in.packet, &c);
		at->order_known = c.order_known;
		at->order_big = c.order_big;
		m->heads = at;
	}
	m->cursor.order_known = at->order_known;
	m->cursor.order_big = at->order_big;
}

/*
 * Moves the memo's cursor to the row's event and reads its header. Returns the event's class, or
 * NULL.
 */
static struct ctf_event *event_at(struct ctf *c, const struct spur_event *ev, struct args_memo *m,
				  struct args_place *at)
{
	struct ctf_cursor *cur = &m->cursor;
	struct ctf_class *k = at->in.class;
	struct ctf_event *e;

	cursor_set(m, at);
	cur->at = ctf_event_bit(&at->in, ev);
	if (k->needs_packet)
		heads_read(m, at);
	if (cur->at > cur->limit || head_skip(k, cur) == SPUR_FAIL)
		return NULL;
	e = event_known(k, cur->slots[CTF_SLOT_EVENT_ID]);
	if (!e)
		e = ctf_event(c, at->in.trace, k, cur->slots[CTF_SLOT_EVENT_ID]);
	if (e && e->needs_packet && !k->needs_packet)
		heads_read(m, at);
	return e;
}

/*
 * The event's values where nothing is odd; else NULL. What comes of it is what event_at() and
 * plan_values() would give.
 */
static inline __attribute__((always_inline)) const struct ctf_known *
values_quick(const struct args_place *at, const struct spur_event *ev, bool flat,
	     struct spur_args *args)
{
	const uint64_t off = ev->off - at->low;
	const struct byte_program *b;
	const uint8_t *p;
	struct spur_value *v;
	uint32_t id;

	if (unlikely(off >= at->size || at->size - off <= at->head || at->stream != ev->stream))
		return NULL;
	p = at->bytes.data + off;
	/* Both short forms begin with the id; the highest one says that it is a long one. */
	id = load16(p, order_swaps(false)) & at->id_mask;
	if (unlikely(id >= at->nknown || id == at->id_mask))
		return NULL;
	b = __atomic_load_n(&at->known[id].values, __ATOMIC_ACQUIRE);
	if (unlikely(!b))
		return NULL;
	*at->id_slot = id;
	p += at->head;
	if (!flat || !b->numbers || (size_t)(at->bytes.end - p) < b->numbers + BYTE_SLACK)
		return bytes_values(b, flat, &at->bytes, p, args) ? &at->known[id] : NULL;
	v = args_room(args, b->top[true]);
	if (unlikely(!v))
		return NULL;
	number_values(b->values[true], &v, p + b->numbers, at->bytes.slots);
	args->count += b->top[true];
	return &at->known[id];
}

/* How many events were discarded, or packets lost, before the packet at the row's place. */
static void lost_args(struct ctf *c, const struct spur_event *ev, struct spur_args *args)
{
	struct ctf_lookup at;

	if (ev->cls == c->lost_cls) {
		args_u64(args, c->s_count, ev->id, SPUR_SHOW_PLAIN);
		return;
	}
	files_hold(c);
	args_u64(args, c->s_packets, ctf_lookup(c, ev, &at) ? at.packet.lost : 0, SPUR_SHOW_PLAIN);
	files_release(c);
}

/*
 * SPEC ctf/instruction-pointers: what lies at the `ip` of the event's context, as one more argument
 * with the names that babeltrace2 gives it
 */
static __attribute__((noinline)) enum spur_status add_debug_info(struct ctf *c,
								  const struct args_place *at,
								  const struct spur_event *ev,
								  struct spur_args *args)
{
	const struct ctf_class *k = at->in.class;
	const uint32_t pid_at = k->ip_pid_at;
	struct spur_value *v, *items;
	struct ctf_address a = { 0 };
	uint32_t names[3], texts[3], n = 0;
	uint32_t space;

	if (k->ip_at >= args->count || (pid_at != UINT32_MAX && pid_at >= args->count))
		return SPUR_OK;
	space = ctf_symbols_space(
		c, at->in.trace, pid_at == UINT32_MAX ? at->in.trace->pid : args->items[pid_at].i);
	if (!space || !ctf_symbols_at(c, space, args->items[k->ip_at].u, ev->ts, &a))
		return SPUR_OK;
	names[n] = c->s_binary;
	texts[n++] = a.binary;
	if (a.function) {
		names[n] = c->s_function;
		texts[n++] = a.function;
	}
	if (a.source) {
		names[n] = c->s_source;
		texts[n++] = a.source;
	}
	v = args_room(args, 1);
	items = args_inner(args, n);
	if (!v || !items)
		return SPUR_FAIL;
	*v = (struct spur_value){
		.type = SPUR_STRUCT, .name = c->s_debug, .count = n, .items = items
	};
	for (uint32_t i = 0; i < n; i++) {
		size_t len;
		const char *text = trace_string(c->t, texts[i], &len);

		items[i] = (struct spur_value){
			.type = SPUR_STRING, .name = names[i], .count = (uint32_t)len, .text = text
		};
	}
	args->count++;
	return SPUR_OK;
}

static inline bool has_debug_info(const struct ctf *c, const struct args_place *at)
{
	return unlikely(c->symbols != NULL) && at->in.class->ip_at != UINT32_MAX;
}

static __attribute__((noinline)) enum spur_status
args_slow(struct ctf *c, const struct spur_event *ev, struct spur_args *args)
{
	struct args_memo *m;
	struct args_place *at;
	struct ctf_event *e;
	enum spur_status st;

	if (ev->kind == SPUR_LOST && (ev->cls == c->lost_cls || ev->cls == c->lost_packets_cls)) {
		lost_args(c, ev, args);
		return SPUR_OK;
	}
	if (ev->cls == c->packet_cls)
		return SPUR_OK;
	files_hold(c);
	m = memo_of(c, args);
	at = m ? place_of(c, ev, m) : NULL;
	e = at ? event_at(c, ev, m, at) : NULL;
	st = e ? plan_values(e->program, &m->cursor, true, args) : SPUR_WARN;
	if (e && e->own)
		own_args(e->own, args);
	if (st == SPUR_OK && has_debug_info(c, at))
		st = add_debug_info(c, at, ev, args);
	files_release(c);
	return m ? st : SPUR_FAIL;
}

enum spur_status ctf_args(struct spur_trace *t, const struct spur_event *ev, struct spur_args *args)
{
	struct ctf *c = t->state;
	struct args_memo *m = args_kept(args, c->serial);
	const struct args_place *at = m ? &m->places[ev->stream % ARGS_PLACES] : NULL;
	const struct ctf_known *known;

	/* Events are neither LOST nor NATIVE, which come last. */
	known = likely(m && ev->kind < SPUR_LOST) ? values_quick(at, ev, true, args) : NULL;
	if (unlikely(!known))
		return args_slow(c, ev, args);
	if (unlikely(c->has_own) && known->event->own)
		own_args(known->event->own, args);
	return has_debug_info(c, at) ? add_debug_info(c, at, ev, args) : SPUR_OK;
}

/*
 * A byte program skips an event's fields by the same bounds by which another decodes them, so what
 * was skipped can be decoded. An event with more values than PLAN_VALUES is larger than this.
 */
bool ctf_args_proven(struct spur_trace *t, const struct spur_event *ev,
		     const struct spur_args *args, uint32_t *n)
{
	const struct ctf *c = t->state;
	const struct args_memo *m = args_kept(args, c->serial);
	const struct args_place *at = m ? &m->places[ev->stream % ARGS_PLACES] : NULL;
	const struct byte_program *b;
	uint64_t off;
	uint32_t id;

	if (unlikely(!m || ev->kind >= SPUR_LOST || ev->len > BYTE_ELEMENTS || c->grow ||
		     c->has_own))
		return false;
	off = ev->off - at->low;
	if (unlikely(off >= at->size || at->size - off <= at->head || at->stream != ev->stream ||
		     has_debug_info(c, at)))
		return false;
	id = load16(at->bytes.data + off, order_swaps(false)) & at->id_mask;
	if (unlikely(id >= at->nknown || id == at->id_mask))
		return false;
	b = __atomic_load_n(&at->known[id].values, __ATOMIC_ACQUIRE);
	if (unlikely(!b))
		return false;
	*n = b->top[true];
	return true;
}

static bool event_values(struct ctf *c, const struct spur_event *ev, struct spur_args *args,
			 struct ctf_place_of *of, enum spur_status *st)
{
	struct args_memo *m = memo_of(c, args);
	struct args_place *at = m ? place_of(c, ev, m) : NULL;
	const struct ctf_known *known;
	struct ctf_event *e;

	args_reset(args);
	if (!at)
		return false;
	known = values_quick(at, ev, false, args);
	e = known ? known->event : event_at(c, ev, m, at);
	if (!e)
		return false;
	*of = (struct ctf_place_of){ at->in.class, e, at->in.trace, at->in.packet.off };
	*st = known ? SPUR_OK : plan_values(e->program, &m->cursor, false, args);
	return true;
}

bool ctf_event_values(struct ctf *c, const struct spur_event *ev, struct spur_args *args,
		      struct ctf_place_of *of, enum spur_status *st)
{
	bool good;

	files_hold(c);
	good = event_values(c, ev, args, of, st);
	files_release(c);
	return good;
}

/* --- events as bytes (model/bytes.h) --- */

/*
 * Events that arguments are added to have to be decoded; of streams that grow, lists of steps may
 * move.
 */
static bool bytes_block(struct spur_trace *t, const struct spur_event *row, bool flat,
			struct byte_block *b)
{
	struct ctf *c = t->state;
	struct ctf_lookup in;
	const struct ctf_class *k;

	if (c->grow || (flat && c->has_own) || !ctf_lookup(c, row, &in))
		return false;
	k = in.class;
	if (!k->usual || k->needs_packet || (flat && c->symbols && k->ip_at != UINT32_MAX)) {
		/* Rows' offsets may count bits. */
		const uint64_t unit = k->bits && in.room <= UINT64_MAX / 8 ? 8 : 1;

		*b = (struct byte_block){ .stream = row->stream,
					  .low = k->bits ? 8 * in.packet.off : in.packet.off,
					  .size = unit * in.room };
		return true;
	}
	*b = (struct byte_block){
		.stream = row->stream,
		.head = head_bytes(k->usual),
		.id_mask = k->usual == USUAL_LARGE ? CTF_WIRE_LARGE_LONG : CTF_WIRE_COMPACT_LONG,
		.nids = k->nknown,
		.id_slot = k->id_slot,
		.nslots = c->nslots,
		.low = in.packet.off,
		.size = in.packet.content / 8,
		.data = in.packet.data,
		.end = in.packet.data + in.packet.content / 8,
		.class = k,
		.trace = in.trace,
	};
	return true;
}

static const struct byte_value *bytes_steps(const struct byte_block *b, uint32_t id, bool flat)
{
	const struct ctf_class *k = b->class;
	const struct byte_program *p = __atomic_load_n(&k->known[id].values, __ATOMIC_ACQUIRE);

	return p ? p->values[flat] : NULL;
}

const struct byte_source ctf_bytes = { bytes_block, bytes_steps, bytes_value };

struct ctf_place_of ctf_block_place(const struct byte_block *b, uint32_t id)
{
	const struct ctf_class *k = b->class;

	return (struct ctf_place_of){ k, k->known[id].event, b->trace, b->low };
}

static enum spur_status packet_values(struct ctf *c, const struct spur_event *ev,
				      struct spur_args *args)
{
	struct args_memo *m = memo_of(c, args);
	struct args_place *at = m ? place_of(c, ev, m) : NULL;

	args_reset(args);
	if (!at)
		return SPUR_WARN;
	m->heads = NULL;
	cursor_set(m, at);
	return plan_skip(at->in.trace->header, &m->cursor) == SPUR_OK
		       ? plan_values(at->in.class->context, &m->cursor, false, args)
		       : SPUR_WARN;
}

enum spur_status ctf_packet_values(struct ctf *c, const struct spur_event *ev,
				   struct spur_args *args)
{
	enum spur_status st;

	files_hold(c);
	st = packet_values(c, ev, args);
	files_release(c);
	return st;
}

/* --- for dump: every field with its bits --- */

struct field_list {
	struct ctf *c;
	struct spur_args *args;
};

/*
 * What the walk made of its own (converted text, long numbers, joined names) goes to the args that
 * stay.
 */
static bool value_own(struct spur_args *args, const struct ctf_field *f, struct spur_value *v)
{
	const bool text =
		v->type == SPUR_STRING && f->encoding != CTF_UTF8 && f->encoding != CTF_ASCII;

	if ((text || (v->type == SPUR_BYTES && f->kind <= CTF_FLOAT)) &&
	    !(v->text = args_text(args, v->text, v->count)))
		return false;
	return !v->label || (v->label = args_text(args, v->label, strlen(v->label)));
}

static bool field_add(void *self, const struct ctf_place *place)
{
	struct field_list *l = self;
	struct spur_value *v = args_add(l->args), *items;

	if (!v)
		return false;
	v->name = trace_intern(l->c->t, place->path);
	v->type = SPUR_STRUCT;
	items = args_alloc(l->args, 4 * sizeof(*items));
	if (!items)
		return false;
	items[0] = (struct spur_value){ .type = SPUR_U64, .name = l->c->s_at, .u = place->at };
	items[1] = (struct spur_value){ .type = SPUR_U64, .name = l->c->s_bits, .u = place->size };
	items[2] = place->value;
	items[2].name = l->c->s_value;
	if (!value_own(l->args, place->field, &items[2]))
		return false;
	v->items = items;
	v->count = 3;
	/* Where a name is the value, the number too. */
	if (place->value.type == SPUR_ENUM && place->value.label)
		items[v->count++] = (struct spur_value){
			.type = (place->value.count & CTF_ENUM_KIND) == CTF_ENUM_SIGNED ?
					SPUR_I64 :
					SPUR_U64,
			.name = l->c->s_number,
			.u = place->value.u,
		};
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
	cursor_set(m, at);
	st = walk(c, at->in.trace->header, &m->cursor, scratch, args);
	return st == SPUR_OK ? walk(c, at->in.class->context, &m->cursor, scratch, args) : st;
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
	head.at = ctf_event_bit(&at->in, ev);
	st = walk(c, at->in.class->header, &head, scratch, args);
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
	files_hold(c);
	m = memo_of(c, args);
	if (!m)
		st = SPUR_FAIL;
	else if (ev->cls == c->packet_cls)
		st = packet_fields(c, ev, m, &scratch, args);
	else
		st = event_fields(c, ev, m, &scratch, args);
	files_release(c);
	spur_args_free(&scratch);
	return mem_failures() == failures ? st : SPUR_FAIL;
}
