/*
 * Arguments: what descriptors say of them, as a list of types in which those of members follow that
 * of their structure; their values; and the payloads of records that are longer than a page.
 */
/*
 * SPEC spur/argument
 * SPEC spur/nested
 */
#include "format/spur/reader.h"

#include <stdio.h>

/* How a type is decoded by a plan. */
static const struct plan_op type_ops[] = {
	[SPB_I64] = { .code = PLAN_INT, .size = 8 },
	[SPB_U64] = { .code = PLAN_UINT, .size = 8 },
	[SPB_F64] = { .code = PLAN_FLOAT, .size = 8 },
	[SPB_BOOL] = { .code = PLAN_BOOL, .size = 8 },
	[SPB_POINTER] = { .code = PLAN_POINTER, .size = 8, .show = SPUR_SHOW_HEX },
	[SPB_TEXT] = { .code = PLAN_STR16 },
	[SPB_BYTES] = { .code = PLAN_BYTES16 },
	[SPB_STRING_ID] = { .code = PLAN_UINT, .size = 8, .show = SPB_SHOW_STRING },
	[SPB_CHAR] = { .code = PLAN_CHAR, .size = 1, .show = SPUR_SHOW_CHAR },
};

enum {
	PLAN_TYPES = sizeof(type_ops) / sizeof(*type_ops),
	NODES = 1 << 16,
	EMPTY = 64, /* structures without members of one descriptor */
	VALUES = 1 << 16, /* of one record, and twice as many as its payload has words */
};

/* A list of types that grows. */
struct node_list {
	struct spb_node *items;
	size_t count, cap;
	size_t empty; /* structures without members, which take no bytes */
	bool no_plan;
};

static bool node_take(struct spb *s, struct cursor *b, struct node_list *l, unsigned nest);

/* The types behind one: of members, of an element, of a value. */
static bool inner_take(struct spb *s, struct cursor *b, struct node_list *l, size_t at,
		       unsigned nest)
{
	const uint8_t type = l->items[at].type;
	uint32_t n = type == SPB_ARRAY || type == SPB_LABELLED, least = 0;

	if (type == SPB_STRUCT || type == SPB_TUPLE)
		n = l->items[at].count = cursor_u16(b);
	l->empty += !n;
	b->bad |= l->empty > EMPTY;
	for (uint32_t i = 0; i < n && !b->bad; i++) {
		const size_t member = l->count;

		if (!node_take(s, b, l, nest + 1))
			return false;
		least += b->bad ? 0 : l->items[member].least;
	}
	/* SPEC spur/nested: an element has a size, so that the payload bounds their number. */
	b->bad |= type == SPB_ARRAY && !least;
	if (type == SPB_ARRAY)
		least = SPB_WORD;
	else if (type == SPB_LABELLED)
		least += SPB_WORD;
	l->items[at].least = least;
	return true;
}

/* Takes a type and those that belong to it. Returns false if out of memory. */
static bool node_take(struct spb *s, struct cursor *b, struct node_list *l, unsigned nest)
{
	const uint8_t byte = cursor_u8(b), type = byte & SPB_TYPE_MASK;
	const uint32_t name = spb_take_string(s, b);
	const size_t at = l->count;

	b->bad |= !type || type >= SPB_TYPES || byte >> SPB_SHOW_SHIFT > SPUR_SHOW_BINARY ||
		  nest > SPB_NEST || at >= NODES;
	if (b->bad)
		return true;
	if (!mem_grow((void **)&l->items, &l->cap, at + 1, sizeof(*l->items), NODES))
		return false;
	l->items[at] = (struct spb_node){
		.type = type, .show = byte >> SPB_SHOW_SHIFT, .name = name, .least = SPB_WORD
	};
	if (type == SPB_POINTER && !l->items[at].show)
		l->items[at].show = SPUR_SHOW_HEX;
	l->count++;
	l->no_plan |= type >= PLAN_TYPES || byte >> SPB_SHOW_SHIFT;
	if (type >= SPB_STRUCT && type <= SPB_LABELLED && !inner_take(s, b, l, at, nest))
		return false;
	l->items[at].size = (uint32_t)(l->count - at);
	return true;
}

static const struct plan *plan_make(struct spb *s, const struct spb_shape *shape)
{
	struct plan_op *const ops = arena_alloc(&s->t->arena, shape->count * sizeof(*ops));
	struct plan *const plan = arena_alloc(&s->t->arena, sizeof(*plan));

	if (!ops || !plan)
		return NULL;
	for (uint32_t i = 0; i < shape->count; i++) {
		ops[i] = type_ops[shape->nodes[i].type];
		ops[i].name = shape->nodes[i].name;
		ops[i].align = SPB_WORD;
	}
	*plan = (struct plan){ .ops = ops,
			       .count = shape->count,
			       .swap = order_swaps(false),
			       .tail_align = SPB_WORD };
	return plan;
}

bool spb_take_shape(struct spb *s, struct cursor *b, uint8_t n, const struct spb_shape **out)
{
	struct node_list l = { 0 };
	struct spb_shape *shape = NULL;
	bool good = true;

	*out = NULL;
	for (uint8_t i = 0; i < n && good && !b->bad; i++)
		good = node_take(s, b, &l, 0);
	if (good && n && !b->bad) {
		shape = arena_alloc(&s->t->arena, sizeof(*shape) + l.count * sizeof(*l.items));
		good = shape != NULL;
	}
	if (shape) {
		shape->count = n;
		shape->size = (uint32_t)l.count;
		memcpy(shape->nodes, l.items, l.count * sizeof(*l.items));
		shape->plan = l.no_plan ? NULL : plan_make(s, shape);
		good = l.no_plan || shape->plan;
		*out = shape;
	}
	mem_free(l.items);
	return good;
}

/* --- payloads --- */

/* SPEC spur/more */
const uint8_t *spb_payload(const struct spb *s, const struct spb_record *r, struct spur_args *args,
			   size_t *len)
{
	const uint8_t *const end = r->p + r->len, *p = r->payload + r->words * (size_t)SPB_WORD;
	uint8_t *all;

	*len = r->words * (size_t)SPB_WORD;
	if (p == end)
		return r->payload;
	all = args_alloc(args, r->len);
	if (!all)
		return NULL;
	memcpy(all, r->payload, *len);
	while (end - p >= SPB_WORD) {
		size_t words = spb_64(p) >> 4 & 15;

		p += SPB_WORD;
		if (words == SPB_LENGTH_FAR && end - p >= SPB_WORD) {
			words = spb_32(p);
			p += SPB_WORD;
		}
		/* A file that is being written to may have changed. */
		if (words > (size_t)(end - p) / SPB_WORD)
			words = (size_t)(end - p) / SPB_WORD;
		memcpy(all + *len, p, words * SPB_WORD);
		*len += words * SPB_WORD;
		p += words * SPB_WORD;
	}
	(void)s;
	return all;
}

/* --- values --- */

/* What values are decoded with. */
struct decoder {
	struct spb *s;
	struct cursor c; /* over the payload */
	struct spur_args *args;
	uint64_t room; /* values that may still be made */
	bool failed; /* out of memory */
};

static void value_take(struct decoder *d, const struct spb_node *n, struct spur_value *v);

/* Texts and bytes; their padding too. */
static struct text bytes_take(struct decoder *d, bool is_long)
{
	const uint64_t len = is_long ? cursor_u64(&d->c) : cursor_u16(&d->c);
	const size_t pad = (size_t)(-(len + (is_long ? 0 : 2)) & (SPB_WORD - 1));
	const uint8_t *const p = cursor_bytes(&d->c, len > SIZE_MAX ? SIZE_MAX : (size_t)len);

	cursor_bytes(&d->c, pad);
	return text_make(p ? p : (const uint8_t *)"", p ? (size_t)len : 0);
}

static void text_take(struct decoder *d, const struct spb_node *n, struct spur_value *v)
{
	const bool is_long = n->type == SPB_LONG_TEXT || n->type == SPB_LONG_BYTES;
	const struct text t = bytes_take(d, is_long);

	v->type = n->type == SPB_TEXT || n->type == SPB_LONG_TEXT ? SPUR_STRING : SPUR_BYTES;
	v->text = t.p;
	v->count = t.len < UINT32_MAX ? (uint32_t)t.len : UINT32_MAX;
}

/* SPEC spur/string */
static void string_take(struct decoder *d, struct spur_value *v)
{
	const uint64_t id = cursor_u64(&d->c);
	const struct map64_slot *slot;
	char number[32];
	size_t len;

	v->type = SPUR_STRING;
	spb_follow_lock(d->s->follow);
	slot = map64_find(&d->s->strings, id);
	spb_follow_unlock(d->s->follow);
	if (slot) {
		v->text = trace_string(d->s->t, (uint32_t)slot->value, &len);
	} else {
		len = (size_t)snprintf(number, sizeof(number), "#%llu", (unsigned long long)id);
		v->text = args_text(d->args, number, len);
		d->failed |= !v->text;
	}
	v->count = (uint32_t)len;
}

/* SPEC spur/frames */
static void frame_take(struct decoder *d, struct spur_value *v)
{
	const uint64_t number = cursor_u64(&d->c);
	const uint32_t cls =
		number && number < SPB_SITES ? spb_function(d->s, (uint32_t)number, 0, 0) : 0;
	size_t len = 0;

	v->type = SPUR_STRING;
	v->text = cls ? trace_string(d->s->t, trace_class(d->s->t, cls)->name, &len) : "";
	v->count = (uint32_t)len;
}

/*
 * Room for `count` values of a structure or an array, zeroed, that take `least` bytes of the
 * payload each; NULL if it has none. SPEC spur/values
 */
static struct spur_value *inner_room(struct decoder *d, struct spur_value *v, uint64_t count,
				     uint64_t least)
{
	struct spur_value *items;

	if (count > d->room || (least && count > cursor_left(&d->c) / least)) {
		d->c.bad = true;
		count = 0;
	}
	d->room -= count;
	items = count ? args_inner(d->args, (size_t)count) : NULL;
	d->failed |= count && !items;
	if (items)
		memset(items, 0, (size_t)count * sizeof(*items));
	v->items = items;
	v->count = items ? (uint32_t)count : 0;
	return items;
}

static void array_take(struct decoder *d, const struct spb_node *n, struct spur_value *v)
{
	const uint64_t count = cursor_u64(&d->c);
	const uint64_t least = n->type == SPB_ARRAY ? n[1].least : SPB_WORD;
	struct spur_value *items;

	v->type = SPUR_ARRAY;
	items = inner_room(d, v, count, least);
	for (uint64_t i = 0; items && i < count && !d->failed && !d->c.bad; i++) {
		if (n->type == SPB_FRAMES)
			frame_take(d, &items[i]);
		else
			value_take(d, n + 1, &items[i]);
	}
}

static void struct_take(struct decoder *d, const struct spb_node *n, struct spur_value *v)
{
	const struct spb_node *member = n + 1;
	struct spur_value *items;

	v->type = n->type == SPB_STRUCT ? SPUR_STRUCT : SPUR_ARRAY;
	d->c.bad |= n->least > cursor_left(&d->c);
	items = d->c.bad ? NULL : inner_room(d, v, n->count, 0);
	for (uint32_t i = 0; items && i < n->count && !d->failed && !d->c.bad; i++) {
		value_take(d, member, &items[i]);
		member += member->size;
	}
}

static void labelled_take(struct decoder *d, const struct spb_node *n, struct spur_value *v)
{
	struct text label;

	value_take(d, n + 1, v);
	v->name = n->name;
	label = bytes_take(d, false);
	v->label = args_text(d->args, label.p, label.len);
	d->failed |= !v->label;
}

static void word_take(struct decoder *d, const struct spb_node *n, struct spur_value *v)
{
	static const uint8_t types[SPB_TYPES] = {
		[SPB_I64] = SPUR_I64,	      [SPB_U64] = SPUR_U64,   [SPB_F64] = SPUR_F64,
		[SPB_BOOL] = SPUR_BOOL,	      [SPB_CHAR] = SPUR_I64,  [SPB_NULL] = SPUR_NULL,
		[SPB_POINTER] = SPUR_POINTER, [SPB_KOID] = SPUR_KOID, [SPB_ENUM] = SPUR_ENUM,
		[SPB_F32] = SPUR_F64,
	};

	v->type = types[n->type];
	v->u = cursor_u64(&d->c);
	v->size = SPB_WORD;
	if (n->type == SPB_F32) {
		const uint32_t bits = (uint32_t)v->u;
		float f;

		memcpy(&f, &bits, sizeof(f));
		v->f = (double)f;
		v->size = sizeof(f);
	}
	if (n->type == SPB_BOOL)
		v->u = v->u != 0;
	if (n->type == SPB_CHAR) {
		v->i = (int8_t)v->u;
		v->show = SPUR_SHOW_CHAR;
		v->size = 1;
	}
	if (n->type == SPB_NULL) {
		v->u = 0;
		v->size = 0;
	}
}

static void value_take(struct decoder *d, const struct spb_node *n, struct spur_value *v)
{
	*v = (struct spur_value){ .name = n->name, .show = n->show };
	switch ((enum spb_type)n->type) {
	case SPB_TEXT:
	case SPB_BYTES:
	case SPB_LONG_TEXT:
	case SPB_LONG_BYTES:
		text_take(d, n, v);
		return;
	case SPB_STRING_ID:
		string_take(d, v);
		return;
	case SPB_STRUCT:
	case SPB_TUPLE:
		struct_take(d, n, v);
		return;
	case SPB_ARRAY:
	case SPB_FRAMES:
		array_take(d, n, v);
		return;
	case SPB_LABELLED:
		labelled_take(d, n, v);
		return;
	default:
		word_take(d, n, v);
	}
}

enum spur_status spb_values(struct spb *s, const struct spb_shape *shape, const uint8_t *p,
			    size_t len, struct spur_args *args)
{
	struct decoder d = { .s = s,
			     .c = cursor_make(p, len, order_swaps(false)),
			     .args = args,
			     .room = VALUES + 2 * (len / SPB_WORD) };
	const struct spb_node *n = shape->nodes;

	for (uint32_t i = 0; i < shape->count; i++, n += n->size) {
		struct spur_value v, *to;

		value_take(&d, n, &v);
		if (d.c.bad || d.failed)
			break;
		to = args_add(args);
		if (!to)
			return SPUR_FAIL;
		*to = v;
	}
	return d.failed ? SPUR_FAIL : d.c.bad ? SPUR_WARN : SPUR_OK;
}

/* --- stacks: SPEC spur/frames --- */

/* The payload of the first argument of frames, or NULL. Other arguments may be before it. */
static const uint8_t *frames_find(const struct spb_shape *shape, const uint8_t *p, size_t len,
				  uint64_t *count)
{
	if (!shape || shape->nodes[0].type != SPB_FRAMES || len < SPB_WORD)
		return NULL;
	*count = spb_64(p);
	return *count <= len / SPB_WORD - 1 ? p + SPB_WORD : NULL;
}

size_t spb_stack(struct spur_trace *t, const struct spur_event *ev, uint32_t *cls, size_t cap)
{
	struct spb *const s = spb_of(t, ev);
	const struct spb_shape *entry = NULL;
	struct spur_args args = { 0 };
	const struct spb_site *site;
	struct spb_record r;
	const uint8_t *p, *frames;
	size_t len, head;
	uint64_t count = 0;

	if (ev->kind != SPUR_SAMPLE || !spb_record_of(s, ev, &r))
		return 0;
	spb_follow_lock(s->follow);
	site = spb_site_of(s, &r);
	head = site ? site->before : 0;
	entry = site ? site->entry : NULL;
	spb_follow_unlock(s->follow);
	p = site ? spb_payload(s, &r, &args, &len) : NULL;
	frames = p && len >= head ? frames_find(entry, p + head, len - head, &count) : NULL;
	for (uint64_t i = 0; frames && i < count && i < cap; i++) {
		const uint64_t number = spb_64(frames + i * SPB_WORD);

		cls[i] = spb_function(s, number < SPB_SITES ? (uint32_t)number : 0, 0, 0);
	}
	spur_args_free(&args);
	return frames ? (size_t)count : 0;
}
