/* Fields of events and packets, when somebody asks: the packet is found by the row's place and its heads are read again. */
#include <string.h>

#include "base/bits.h"
#include "format/ctf/reader.h"
#include "model/args.h"

/* A cursor with slots of its own, in the args' memory. */
static bool cursor_new(const struct ctf_trace *tr, struct spur_args *args, struct ctf_cursor *c)
{
	*c = (struct ctf_cursor){ 0 };
	c->slots = args_alloc(args, ctf_slots(tr) * sizeof(*c->slots));
	c->have = args_alloc(args, CTF_SLOTS_FIXED);
	return c->slots && c->have;
}

/* What a feed's reader adds to stays as it is meanwhile. */
static void files_hold(struct ctf *c)
{
	if (c->grow)
		pthread_rwlock_rdlock(&c->lock);
}

static void files_release(struct ctf *c)
{
	if (c->grow)
		pthread_rwlock_unlock(&c->lock);
}

/* The last packet at or before a place; NULL: none. */
static const struct ctf_packet *packet_before(const struct ctf_file *f, uint64_t off)
{
	size_t low = 0, high = f->npackets;

	if (!high || f->packets[0].off > off)
		return NULL;
	while (high - low > 1) {
		const size_t mid = low + (high - low) / 2;

		if (f->packets[mid].off <= off)
			low = mid;
		else
			high = mid;
	}
	return &f->packets[low];
}

/* The file and packet of a row; NULL: none. */
static const struct ctf_packet *packet_of(const struct ctf *c, const struct spur_event *ev,
					  const struct ctf_file **file)
{
	const struct ctf_packet *best = NULL;
	const struct ctf_file *f = NULL;
	uint64_t off;

	/* Files are streams of the trace, in the same order, unless memory was short in between. */
	if (ev->stream < c->nfiles && c->files[ev->stream].stream == ev->stream)
		f = &c->files[ev->stream];
	for (size_t i = 0; i < c->nfiles && !f; i++)
		if (c->files[i].stream == ev->stream)
			f = &c->files[i];
	if (!f)
		return NULL;
	off = c->traces[f->trace].classes[f->class].bits ? ev->off / 8 : ev->off;
	for (;; f = &c->files[f->sibling]) {
		const struct ctf_packet *p = packet_before(f, off);

		if (p && (!best || p->off > best->off)) {
			best = p;
			*file = f;
		}
		if (!f->sibling)
			return best;
	}
}

/* The cursor at the row's event, its header read; the event's class. NULL: there is none. */
static struct ctf_event *event_at(struct ctf *c, const struct spur_event *ev,
				  struct spur_args *args, struct ctf_cursor *cur)
{
	const struct ctf_file *f;
	const struct ctf_packet *p = packet_of(c, ev, &f);
	struct ctf_trace *tr;
	struct ctf_class *k;

	if (!p)
		return NULL;
	tr = &c->traces[f->trace];
	k = &tr->classes[f->class];
	if (!cursor_new(tr, args, cur))
		return NULL;
	ctf_packet_begin(tr, k, p, cur);
	cur->at = k->bits ? ev->off - 8 * p->off : 8 * (ev->off - p->off);
	/* Of what stands before in the same byte nothing is known here; it has been checked. */
	cur->order_known = false;
	if (cur->at > cur->limit || plan_skip(k->header, cur) == SPUR_FAIL)
		return NULL;
	return ctf_event(c, tr, k,
			 cur->have[CTF_SLOT_EVENT_ID] ? cur->slots[CTF_SLOT_EVENT_ID] : 0);
}

/* The last packet of the file that is read before this one of the same stream; NULL: there is none. */
static const struct ctf_packet *last_before(const struct ctf *c, const struct ctf_file *file)
{
	const struct ctf_file *before = NULL;

	for (size_t i = 0; i < c->nfeeds; i++, before = NULL)
		for (size_t k = 0; k < c->feeds[i]->nfiles; k++) {
			const struct ctf_file *f = &c->files[c->feeds[i]->files[k]];

			if (f == file)
				return before ? &before->packets[before->npackets - 1] : NULL;
			before = f;
		}
	return NULL;
}

/* How many packets a row of lost ones is about; 0: it cannot be told. */
static uint64_t packets_lost(struct ctf *c, const struct spur_event *ev)
{
	const struct ctf_file *file;
	const struct ctf_packet *p, *before;
	uint64_t n = 0;

	files_hold(c);
	p = packet_of(c, ev, &file);
	before = p && p > file->packets ? p - 1 : p ? last_before(c, file) : NULL;
	if (before)
		n = ctf_packets_lost(file, &c->traces[file->trace].classes[file->class], before, p);
	files_release(c);
	return n;
}

enum spur_status ctf_args(struct spur_trace *t, const struct spur_event *ev, struct spur_args *args)
{
	struct ctf *c = t->state;
	const uint64_t failures = mem_failures();
	struct ctf_cursor cur;
	struct ctf_event *e;
	enum spur_status st;

	args_reset(args);
	if (ev->kind == SPUR_LOST) {
		if (ev->cls == c->lost_cls)
			args_u64(args, c->s_count, ev->id, SPUR_SHOW_PLAIN);
		else
			args_u64(args, c->s_packets, packets_lost(c, ev), SPUR_SHOW_PLAIN);
		return mem_failures() == failures ? SPUR_OK : SPUR_FAIL;
	}
	if (ev->cls == c->packet_cls)
		return SPUR_OK;
	files_hold(c);
	e = event_at(c, ev, args, &cur);
	st = e ? plan_values(e->program, &cur, true, args) : SPUR_WARN;
	files_release(c);
	return mem_failures() == failures ? st : SPUR_FAIL;
}

static bool event_values(struct ctf *c, const struct spur_event *ev, struct spur_args *args,
			 struct ctf_place_of *at, enum spur_status *st)
{
	const struct ctf_file *f;
	const struct ctf_packet *p = packet_of(c, ev, &f);
	struct ctf_cursor cur, head;
	struct ctf_event *e;

	args_reset(args);
	e = p ? event_at(c, ev, args, &cur) : NULL;
	if (!e)
		return false;
	*at = (struct ctf_place_of){ &c->traces[f->trace].classes[f->class], e,
				     &c->traces[f->trace] };
	*st = SPUR_OK;
	if (at->class->class->packet_context) {
		head = cur;
		head.at = 0;
		head.limit = p->content;
		if (plan_skip(c->traces[f->trace].header, &head) == SPUR_OK)
			*st = plan_values(at->class->context, &head, false, args);
	}
	if (*st == SPUR_OK)
		*st = plan_values(e->program, &cur, false, args);
	return true;
}

bool ctf_event_values(struct ctf *c, const struct spur_event *ev, struct spur_args *args,
		      struct ctf_place_of *at, enum spur_status *st)
{
	bool good;

	files_hold(c);
	good = event_values(c, ev, args, at, st);
	files_release(c);
	return good;
}

/* --- for dump: every field with its bits --- */

struct field_list {
	struct ctf *c;
	struct spur_args *args;
};

/* What the walk made of its own (converted text, long numbers, joined names) goes to the args that stay. */
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
			.type = place->value.count == CTF_ENUM_SIGNED ? SPUR_I64 : SPUR_U64,
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
				      struct spur_args *scratch, struct spur_args *args)
{
	const struct ctf_file *f;
	const struct ctf_packet *p = packet_of(c, ev, &f);
	struct ctf_cursor cur;
	enum spur_status st;

	if (!p || !cursor_new(&c->traces[f->trace], args, &cur))
		return SPUR_WARN;
	cur.data = p->data;
	cur.limit = p->content;
	st = walk(c, c->traces[f->trace].header, &cur, scratch, args);
	return st == SPUR_OK
		       ? walk(c, c->traces[f->trace].classes[f->class].context, &cur, scratch, args)
		       : st;
}

static enum spur_status event_fields(struct ctf *c, const struct spur_event *ev,
				     struct spur_args *scratch, struct spur_args *args)
{
	const struct ctf_file *f;
	struct ctf_cursor cur, head;
	struct ctf_event *e = event_at(c, ev, args, &cur);
	const struct ctf_packet *p = packet_of(c, ev, &f);
	const struct ctf_class *k;
	enum spur_status st;

	if (!e || !p)
		return SPUR_WARN;
	k = &c->traces[f->trace].classes[f->class];
	head = cur;
	head.at = k->bits ? ev->off - 8 * p->off : 8 * (ev->off - p->off);
	st = walk(c, k->header, &head, scratch, args);
	return st == SPUR_OK ? walk(c, e->program, &cur, scratch, args) : st;
}

enum spur_status ctf_fields(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_args *args)
{
	struct ctf *c = t->state;
	const uint64_t failures = mem_failures();
	struct spur_args scratch = { 0 };
	enum spur_status st;

	args_reset(args);
	if (ev->kind == SPUR_LOST)
		return ctf_args(t, ev, args);
	files_hold(c);
	st = ev->cls == c->packet_cls ? packet_fields(c, ev, &scratch, args)
				      : event_fields(c, ev, &scratch, args);
	files_release(c);
	spur_args_free(&scratch);
	return mem_failures() == failures ? st : SPUR_FAIL;
}

static const uint8_t *raw_of(const struct ctf *c, const struct spur_event *ev)
{
	const struct ctf_file *f;
	const struct ctf_packet *p = packet_of(c, ev, &f);
	uint64_t at, len;

	if (!p || ev->kind == SPUR_LOST)
		return NULL;
	at = c->traces[f->trace].classes[f->class].bits ? ev->off / 8 - p->off : ev->off - p->off;
	len = p->flags & PACKET_OWN ? (p->content + 7) / 8 : p->file_size;
	return at <= len && ev->len <= len - at ? p->data + at : NULL;
}

const uint8_t *ctf_raw(struct spur_trace *t, const struct spur_event *ev)
{
	struct ctf *c = t->state;
	const uint8_t *p;

	files_hold(c);
	p = raw_of(c, ev);
	files_release(c);
	return p;
}
