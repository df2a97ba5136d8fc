/* Arguments and fields of one packet. Any thread: reads only what does not change after open. */
#include "format/heph/marks.h"
#include "format/heph/reader.h"

enum { VALUES_MAX = 1000000 }; /* of one event, those in arrays too; the rest of it stays bytes */

static inline uint32_t name_id(struct heph_names *n, const uint8_t *p, size_t len)
{
	const struct heph_name *e = heph_name_get(n, p, len);

	return e ? e->id : 0;
}

/* Text and bytes lie in the trace's data. SPEC heph/any-bytes: as they are */
static void value_text(struct spur_value *v, enum spur_type type, const uint8_t *p, size_t len)
{
	v->type = (uint8_t)type;
	v->text = (const char *)p;
	v->count = (uint32_t)len;
}

/* A value that is no array at p; returns what is after it. */
static inline const uint8_t *scalar(struct spur_value *v, unsigned type, const uint8_t *p)
{
	uint64_t u;

	if (type == HEPH_STRING) {
		value_text(v, SPUR_STRING, p + HEPH_ATTR_LEN, be16(p));
		return p + HEPH_ATTR_LEN + be16(p);
	}
	u = be64(p);
	v->size = HEPH_NUMBER;
	v->type = type == HEPH_U64 ? SPUR_U64 : type == HEPH_I64 ? SPUR_I64 : SPUR_F64;
	/* The three share their bits. */
	memcpy(&v->u, &u, sizeof(u));
	return p + HEPH_NUMBER;
}

/* Returns false if out of memory. */
static bool attr_value(struct spur_args *args, const struct heph_attr *a, struct spur_value *v)
{
	const unsigned type = a->type & ~(unsigned)HEPH_ARRAY;
	const uint8_t *p = a->value;
	struct spur_value *items;

	if (!(a->type & HEPH_ARRAY)) {
		scalar(v, type, p);
		return true;
	}
	items = args_alloc(args, a->count * sizeof(*items));
	if (!items)
		return false;
	for (unsigned i = 0; i < a->count; i++)
		p = scalar(&items[i], type, p);
	v->type = SPUR_ARRAY;
	v->count = a->count;
	v->items = items;
	return true;
}

/* Attributes are added one by one to a list that may move. */
struct sink {
	struct heph *h;
	struct spur_args *args;
	struct spur_value *items; /* NULL: the top level of args */
	size_t count;
	size_t values; /* with those in arrays */
};

static struct spur_value *sink_add(struct sink *s)
{
	return s->items ? &s->items[s->count++] : args_add(s->args);
}

/*
 * Where the value of a whole attribute that is no array begins; NULL: something else stands at q.
 */
static inline const uint8_t *plain_value(const uint8_t *q, const uint8_t *end)
{
	const size_t left = (size_t)(end - q), name = left >= 5 ? be16(q) : left;
	const uint8_t *v;

	if (name + 5 > left)
		return NULL;
	v = q + HEPH_ATTR_HEAD + name;
	if (v[-1] == HEPH_STRING)
		return end - v >= HEPH_ATTR_LEN + be16(v) ? v : NULL;
	return v[-1] >= HEPH_U64 && v[-1] < HEPH_STRING && end - v >= HEPH_NUMBER ? v : NULL;
}

/*
 * An array; or, where none is whole or there are too many values (SPUR_WARN), SPEC heph/rest-kept:
 * the rest of the packet, which is moved over.
 */
static enum spur_status odd_value(struct sink *s, const uint8_t **q, const uint8_t *end,
				  struct spur_value *v)
{
	const uint8_t *behind = *q;
	struct heph_attr a;
	const bool good = s->values < VALUES_MAX && heph_attr_next(&behind, end, &a) == HEPH_GOOD;

	if (good && a.count <= VALUES_MAX - s->values) {
		*q = behind;
		s->values += a.count;
		v->name = name_id(&s->h->attributes, a.name, a.name_len);
		return attr_value(s->args, &a, v) ? SPUR_OK : SPUR_FAIL;
	}
	v->name = s->h->words[HEPH_W_UNDECODED];
	value_text(v, SPUR_BYTES, *q, (size_t)(end - *q));
	*q = end;
	return good || s->values >= VALUES_MAX ? SPUR_WARN : SPUR_OK;
}

/* SPEC heph/same-name: each is an argument. What is no attribute stands as bytes at the end. */
static enum spur_status attributes(struct sink *s, const uint8_t *q, const uint8_t *end)
{
	enum spur_status st = SPUR_OK;

	while (q < end && st == SPUR_OK) {
		const uint8_t *const p = s->values < VALUES_MAX ? plain_value(q, end) : NULL;
		struct spur_value *v = sink_add(s), odd = { 0 };

		if (__builtin_expect(!v, 0))
			return SPUR_FAIL;
		if (__builtin_expect(p != NULL, 1)) {
			v->name = name_id(&s->h->attributes, q + HEPH_ATTR_LEN, be16(q));
			q = scalar(v, p[-1], p);
			s->values++;
			continue;
		}
		/* The list does not grow meanwhile. */
		st = odd_value(s, &q, end, &odd);
		*v = odd;
	}
	return st;
}

static bool is_option(const uint8_t *p)
{
	return be32(p) == heph_meta_magic;
}

/* The length of the packet's name is looked at again: a mapped file may have been written to. */
static bool has_name(const struct heph *h, const uint8_t *p, uint32_t size, size_t *head,
		     size_t *len)
{
	*head = is_option(p) ? HEPH_META_HEAD : h->walk.head;
	*len = size >= *head ? heph_name_len(p, *head) : 0;
	return size >= *head + *len;
}

static bool add_text(struct spur_args *args, uint32_t name, enum spur_type type, const uint8_t *p,
		     size_t len)
{
	struct spur_value *v = args_add(args);

	if (!v)
		return false;
	v->name = name;
	value_text(v, type, p, len);
	return true;
}

/* SPEC heph/marks: they are no arguments. Returns where those begin. */
static const uint8_t *past_marks(const struct heph *h, const uint8_t *p, const uint8_t *q,
				 const uint8_t *end)
{
	if (heph_is_mark(q, end)) {
		const struct heph_times t = heph_times(h, p);
		struct heph_marks m;

		heph_marks_read(&q, end, t.end > t.start, &m);
	}
	return q;
}

bool heph_event_args(struct heph *h, const struct heph_packet *k, bool described,
		     struct spur_args *args)
{
	struct sink s = { .h = h, .args = args };
	const size_t len = heph_name_len(k->p, h->walk.head);
	const uint8_t *const name = k->p + h->walk.head;

	args_reset(args);
	if (described && !add_text(args, h->words[HEPH_W_DESCRIPTION], SPUR_STRING, name, len))
		return false;
	return attributes(&s, past_marks(h, k->p, name + len, k->p + k->size), k->p + k->size) !=
	       SPUR_FAIL;
}

enum spur_status heph_args(struct spur_trace *t, const struct spur_event *ev,
			   struct spur_args *args)
{
	struct heph *h = t->state;
	struct sink s = { .h = h, .args = args };
	const uint8_t *const p = h->walk.base + ev->off;
	size_t head, len;

	args_reset(args);
	if (!ev->nargs || !has_name(h, p, ev->len, &head, &len))
		return SPUR_OK;
	if ((ev->cls == h->descriptions.other->cls || ev->cls == h->options.other->cls) &&
	    !add_text(args, h->words[HEPH_W_DESCRIPTION], SPUR_STRING, p + head, len))
		return SPUR_FAIL;
	if (!is_option(p))
		return attributes(&s, past_marks(h, p, p + head + len, p + ev->len), p + ev->len);
	return add_text(args, h->words[HEPH_W_VALUE], SPUR_BYTES, p + head + len,
			ev->len - head - len)
		       ? SPUR_OK
		       : SPUR_FAIL;
}

static void add_number(struct heph *h, struct spur_args *args, enum heph_word name, uint64_t v)
{
	args_u64(args, h->words[name], v, SPUR_SHOW_PLAIN);
}

static enum spur_status option_fields(struct heph *h, const struct spur_event *ev,
				      struct spur_args *args)
{
	const uint8_t *const p = h->walk.base + ev->off;
	const struct heph_packet k = { .p = p, .size = ev->len, .meta = true };
	size_t head, len;

	add_number(h, args, HEPH_W_SIZE, ev->len);
	if (!has_name(h, p, ev->len, &head, &len))
		return SPUR_OK;
	add_text(args, h->words[HEPH_W_OPTION], SPUR_STRING, p + head, len);
	if (heph_is_epoch(&k) && ev->len == head + len + 8)
		add_number(h, args, HEPH_W_VALUE, be64(p + head + len));
	else
		add_text(args, h->words[HEPH_W_VALUE], SPUR_BYTES, p + head + len,
			 ev->len - head - len);
	return SPUR_OK;
}

/* All in one struct: names of attributes may be those of fields. */
static enum spur_status attribute_fields(struct heph *h, struct spur_args *args, const uint8_t *q,
					 const uint8_t *end)
{
	struct sink s = { .h = h, .args = args };
	const uint8_t *rest = q;
	struct spur_value *v;
	enum spur_status st;
	uint32_t n;

	heph_attrs_count(&rest, end, &n);
	/* And the rest, as bytes. */
	s.items = args_alloc(args,
			     ((size_t)(n < VALUES_MAX ? n : VALUES_MAX) + 1) * sizeof(*s.items));
	if (!s.items)
		return SPUR_FAIL;
	st = attributes(&s, q, end);
	v = s.count && st != SPUR_FAIL ? args_add(args) : NULL;
	if (v)
		*v = (struct spur_value){ .type = SPUR_STRUCT,
					  .name = h->words[HEPH_W_ATTRIBUTES],
					  .count = (uint32_t)s.count,
					  .items = s.items };
	return st;
}

enum spur_status heph_fields(struct spur_trace *t, const struct spur_event *ev,
			     struct spur_args *args)
{
	struct heph *h = t->state;
	const uint8_t *const p = h->walk.base + ev->off;
	const uint64_t failures = mem_failures();
	enum spur_status st = SPUR_OK;
	size_t head, len;

	if (!ev->len)
		return SPUR_OK;
	if (is_option(p))
		return option_fields(h, ev, args);
	add_number(h, args, HEPH_W_SIZE, ev->len);
	add_number(h, args, HEPH_W_STREAM, heph_stream_id(p));
	add_number(h, args, HEPH_W_COUNTER, heph_counter_of(p));
	if (h->walk.head == HEPH_EVENT_HEAD)
		add_number(h, args, HEPH_W_SUBSTREAM, heph_substream(h, p));
	add_number(h, args, HEPH_W_START, heph_times(h, p).start);
	add_number(h, args, HEPH_W_END, heph_times(h, p).end);
	if (has_name(h, p, ev->len, &head, &len)) {
		add_text(args, h->words[HEPH_W_DESCRIPTION], SPUR_STRING, p + head, len);
		st = attribute_fields(h, args, p + head + len, p + ev->len);
	}
	return mem_failures() == failures ? st : SPUR_FAIL;
}
