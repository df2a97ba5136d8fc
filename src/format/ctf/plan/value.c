/* Runs value programs: every field as a spur_value, with its place. See plan.h. */
#include <math.h>
#include <stdio.h>

#include "format/ctf/plan/parts.h"
#include "model/args.h"

enum { PATH_ROOM = 256, FIRST_ITEMS = 16, IDLE_ELEMENTS = 4096 };

/* An open structure or array. */
struct frame {
	struct spur_value *items; /* NULL: the top level of the args */
	uint64_t count, cap;
	uint64_t left; /* of an array: elements still to go, the current one included */
	uint64_t at; /* of an array: where the current element began */
	struct spur_value *owner; /* the STRUCT or ARRAY that the items are of; NULL at the top */
	uint32_t name; /* string id of the structure or array */
	bool is_array;
	bool is_variant; /* for styles: what was chosen is an item without a name */
};

struct value_run {
	const struct ctf_program *p;
	struct ctf_cursor *c;
	struct spur_args *args;
	bool flat;
	struct frame frames[PLAN_DEPTH + 2];
	unsigned depth; /* of the innermost frame */
	uint64_t values; /* so far */
	unsigned idle; /* elements without any bits so far */
	bool cut; /* there were too many of those */
	bool no_memory;
	/* plan_walk() */
	bool (*each)(void *self, const struct ctf_place *place);
	void *self;
	const struct spur_trace *t;
	bool stopped;
};

/* --- where values go --- */

static bool frame_grow(struct value_run *r, struct frame *f)
{
	const uint64_t cap = f->cap ? 2 * f->cap : FIRST_ITEMS;
	struct spur_value *items = args_alloc(r->args, cap * sizeof(*items));

	if (!items) {
		r->no_memory = true;
		return false;
	}
	if (f->count)
		memcpy(items, f->items, f->count * sizeof(*items));
	f->items = items;
	f->cap = cap;
	f->owner->items = items;
	return true;
}

/* A new value in the innermost frame; returns NULL if out of memory, or if there are too many. */
static struct spur_value *value_add(struct value_run *r, const struct step *s)
{
	struct frame *f = &r->frames[r->depth];
	struct spur_value *v;

	if (r->values++ >= PLAN_VALUES) {
		plan_wrong(r->c, s->field, "at most 4194304 values in one event, found more");
		return NULL;
	}
	if (!f->owner) {
		v = args_add(r->args);
		r->no_memory |= !v;
	} else {
		v = f->count < f->cap || frame_grow(r, f) ? &f->items[f->count] : NULL;
		if (v) {
			f->count++;
			f->owner->count = (uint32_t)f->count;
		}
	}
	if (!v)
		return NULL;
	v->name = f->is_array || f->is_variant ? 0 : s->name;
	v->show = s->show;
	return v;
}

/* --- plan_walk --- */

static size_t path_put(char *path, size_t at, const char *text)
{
	const size_t left = PATH_ROOM - 1 - at, len = strnlen(text, left);

	assert(at < PATH_ROOM);
	memcpy(path + at, text, len);
	path[at + len] = '\0';
	return at + len;
}

static void value_path(const struct value_run *r, const struct spur_value *v, char *path)
{
	size_t at = 0;
	char number[32];

	path[0] = '\0';
	for (unsigned i = 1; i <= r->depth; i++) {
		const struct frame *f = &r->frames[i];

		if (f->name)
			at = path_put(path, path_put(path, at, at ? "." : ""),
				      trace_string(r->t, f->name, NULL));
		if (f->is_array) {
			snprintf(number, sizeof(number), "[%llu]",
				 (unsigned long long)f->count - 1);
			at = path_put(path, at, number);
		}
	}
	if (v->name)
		path_put(path, path_put(path, at, at ? "." : ""),
			 trace_string(r->t, v->name, NULL));
}

static bool value_tell(struct value_run *r, const struct step *s, const struct spur_value *v,
		       uint64_t at, uint64_t size)
{
	char path[PATH_ROOM];
	struct ctf_place place = {
		.field = s->field, .path = path, .at = at, .size = size, .value = *v
	};

	value_path(r, v, path);
	if (r->each(r->self, &place))
		return true;
	r->stopped = true;
	return false;
}

/* A basic value is there: bits [at, at + size). */
static inline bool value_done(struct value_run *r, const struct step *s, const struct spur_value *v,
			      uint64_t at, uint64_t size)
{
	return !r->each || value_tell(r, s, v, at, size);
}

/* --- basic values --- */

static bool need(struct value_run *r, const struct step *s, uint64_t bits)
{
	if (bits <= r->c->limit - r->c->at)
		return true;
	plan_wrong(r->c, s->field, "a field, found the end of the packet");
	return false;
}

static const char *label_join(struct spur_args *args, bool flat, const char *const *names, size_t n)
{
	size_t len = 1;
	char *text, *p;

	for (size_t i = 0; i < n; i++)
		len += strlen(names[i]) + 1;
	p = text = args_alloc(args, len);
	for (size_t i = 0; p && i < n; i++) {
		const size_t l = strlen(names[i]);

		if (i)
			*p++ = flat ? '|' : CTF_LABELS_BETWEEN;
		memcpy(p, names[i], l);
		p += l;
	}
	return text;
}

/* SPEC ctf2/mappings: of an ordered list the one name */
static const char *label_ordered(const struct ctf_labels *l, uint64_t v, uint64_t flip)
{
	const struct ctf_label *m = l->items, *end = m + l->count;

	/* Up to the last range that begins at or before it. */
	for (uint32_t n = l->count; n > 1; n -= n / 2)
		m += (m[n / 2].low ^ flip) <= (v ^ flip) ? n / 2 : 0;
	return m < end && (m->low ^ flip) <= (v ^ flip) && (v ^ flip) <= (m->high ^ flip) ? m->name
											  : NULL;
}

/* SPEC ctf2/bit-map: all names that hold it, in the metadata's order */
static const char *label_all(struct spur_args *args, bool flat, const struct ctf_field *f,
			     uint64_t v, uint64_t flip, bool *good)
{
	const struct ctf_labels *l = f->labels;
	const char *names[64], *joined;
	size_t n = 0;

	for (uint32_t i = 0; i < l->count && n < 64; i++) {
		const struct ctf_label *m = &l->items[i];
		const bool in =
			f->kind == CTF_BITMAP
				? m->low < 64 &&
					  (v &
					   bits_mask((unsigned)(m->high < 63 ? m->high : 63) + 1) &
					   ~(m->low ? bits_mask((unsigned)m->low) : 0))
				: (m->low ^ flip) <= (v ^ flip) && (v ^ flip) <= (m->high ^ flip);

		if (in && (!n || names[n - 1] != m->name))
			names[n++] = m->name;
	}
	if (n < 2)
		return n ? names[0] : NULL;
	joined = label_join(args, flat, names, n);
	*good &= joined != NULL;
	return joined;
}

const char *plan_label(struct spur_args *args, bool flat, const struct ctf_field *f, uint64_t v,
		       bool *good)
{
	const uint64_t flip = f->is_signed ? (uint64_t)1 << 63 : 0;

	return f->labels->ordered ? label_ordered(f->labels, v, flip)
				  : label_all(args, flat, f, v, flip, good);
}

void plan_number(const struct ctf_field *f, struct spur_value *v)
{
	const bool odd = f->size % 8 && f->size < 64;

	v->size = f->size && f->size % 8 == 0 && f->size <= 64 ? (uint8_t)(f->size / 8) : 0;
	v->count = odd ? (uint32_t)f->size : 0;
	if (f->kind == CTF_FLOAT) {
		v->type = SPUR_F64;
		v->size = (uint8_t)(f->size / 8);
	} else if (f->labels || f->is_enum || f->kind == CTF_BITMAP) {
		v->type = SPUR_ENUM;
		v->count = v->count << CTF_ENUM_BITS_SHIFT | (f->kind == CTF_BITMAP ? CTF_ENUM_FLAGS
							      : f->is_signed ? CTF_ENUM_SIGNED
									     : CTF_ENUM_UNSIGNED);
	} else {
		v->type = f->kind == CTF_BOOL ? SPUR_BOOL : f->is_signed ? SPUR_I64 : SPUR_U64;
		v->count = f->kind == CTF_BOOL ? 0 : v->count;
	}
}

static void set_int(struct value_run *r, const struct ctf_field *f, struct spur_value *v,
		    uint64_t n)
{
	bool good = true;

	plan_number(f, v);
	v->u = f->kind == CTF_BOOL ? n != 0 : n;
	if (f->labels)
		v->label = plan_label(r->args, r->flat, f, n, &good);
	if (v->type == SPUR_ENUM && !v->label && r->flat)
		plan_unnamed(v);
	r->no_memory |= !good;
}

static bool value_int(struct value_run *r, const struct step *s)
{
	struct ctf_cursor *c = r->c;
	const struct ctf_field *f = s->field;
	struct spur_value *v;
	uint64_t n, at;

	if (f->unit && c->at % f->unit + s->size > f->unit)
		c->at = align_up(c->at, f->unit);
	if (c->at > c->limit || !need(r, s, s->size))
		return false;
	at = c->at;
	n = bits_load(c->data, at, s->size, s->flags & STEP_BIG);
	if (s->flags & STEP_REVERSED)
		n = bits_turn(n, s->size);
	if (s->flags & STEP_SIGNED)
		n = (uint64_t)bits_signed(n, s->size);
	keep_value(r->p, s, c, n, s->size);
	c->at += s->size;
	if (s->name == UINT32_MAX)
		return true;
	v = value_add(r, s);
	if (!v)
		return false;
	set_int(r, f, v, n);
	return value_done(r, s, v, at, s->size);
}

/* Bytes of a long bit array, the most significant first. */
static uint8_t *wide_bytes(struct value_run *r, const struct step *s, size_t n)
{
	uint8_t *p = args_alloc(r->args, n + 1);

	r->no_memory |= !p;
	for (size_t i = 0; p && i < n; i++)
		p[n - 1 - i] = wide_byte(s, r->c->data, r->c->at, (unsigned)i);
	return p;
}

static bool value_wide(struct value_run *r, const struct step *s)
{
	struct ctf_cursor *c = r->c;
	const size_t n = (s->size + 7) / 8;
	struct spur_value *v;
	uint64_t low = 0;
	uint8_t *p;

	if (!need(r, s, s->size))
		return false;
	p = wide_bytes(r, s, n);
	v = p ? value_add(r, s) : NULL;
	if (!v)
		return false;
	for (size_t i = 0; i < n; i++)
		low = i + 8 < n && p[i]		   ? UINT64_MAX
		      : i + 8 < n		   ? low
		      : low == UINT64_MAX && i < n ? low
						   : low << 8 | p[i];
	keep_value(r->p, s, c, low, s->size);
	v->type = SPUR_BYTES;
	v->text = (const char *)p;
	v->count = (uint32_t)n;
	if (s->field->kind == CTF_BOOL) {
		v->type = SPUR_BOOL;
		v->u = low != 0;
	}
	c->at += s->size;
	return value_done(r, s, v, c->at - s->size, s->size);
}

static double half_to_double(uint64_t h)
{
	const int exponent = h >> 10 & 31;
	const double fraction = (double)(h & 1023);
	double v;

	if (exponent == 31)
		v = h & 1023 ? NAN : INFINITY;
	else
		v = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
	return h & 0x8000 ? -v : v;
}

/* binary128 from its two halves: exact where a double holds it, else rounded toward zero. */
static double quad_to_double(uint64_t high, uint64_t low)
{
	const int exponent = (int)(high >> 48 & 0x7FFF);
	const uint64_t top = high & 0xFFFFFFFFFFFFu;
	double v;

	if (exponent == 0x7FFF)
		v = top || low ? NAN : INFINITY;
	else if (!exponent)
		v = 0;
	else
		v = ldexp((double)((uint64_t)1 << 52 | top << 4 | low >> 60),
			  exponent - 16383 - 52);
	return high >> 63 ? -v : v;
}

/* SPEC ctf2/floats */
static uint64_t load_turned(const struct step *s, const uint8_t *data, uint64_t at, unsigned size)
{
	uint64_t v = bits_load(data, at, size, s->flags & STEP_BIG);

	return s->flags & STEP_REVERSED ? bits_turn(v, size) : v;
}

static bool value_float(struct value_run *r, const struct step *s)
{
	struct ctf_cursor *c = r->c;
	struct spur_value *v;
	uint64_t at = c->at, n;
	float f32;

	if (s->size > 64 && s->size != 128)
		return value_wide(r, s);
	if (!need(r, s, s->size) || !(v = value_add(r, s)))
		return false;
	plan_number(s->field, v);
	if (s->size == 128) {
		const bool low_first = !(s->flags & STEP_BIG) != !(!(s->flags & STEP_REVERSED));
		const uint64_t a = load_turned(s, c->data, at, 64),
			       b = load_turned(s, c->data, at + 64, 64);

		v->f = low_first ? quad_to_double(b, a) : quad_to_double(a, b);
	} else {
		n = load_turned(s, c->data, at, s->size);
		memcpy(&f32, &n, sizeof(f32));
		if (s->size == 64)
			memcpy(&v->f, &n, sizeof(v->f));
		else
			v->f = s->size == 32 ? (double)f32 : half_to_double(n);
	}
	c->at += s->size;
	return value_done(r, s, v, at, s->size);
}

static bool value_var(struct value_run *r, const struct step *s)
{
	struct ctf_cursor *c = r->c;
	const uint64_t at = c->at;
	unsigned used = 0;
	uint64_t n = 0;
	const char *why = var_load(c, s->flags & STEP_SIGNED, &n, &used);
	struct spur_value *v;

	if (why)
		return plan_wrong(c, s->field, why) == SPUR_OK;
	c->at += 8 * used;
	keep_value(r->p, s, c, n, 7 * used);
	if (s->name == UINT32_MAX)
		return true;
	v = value_add(r, s);
	if (!v)
		return false;
	set_int(r, s->field, v, n);
	return value_done(r, s, v, at, 8 * used);
}

/* --- text and bytes --- */

static uint32_t unit_at(const uint8_t *p, enum ctf_encoding e)
{
	switch (e) {
	case CTF_UTF16BE:
		return load16(p, order_swaps(true));
	case CTF_UTF16LE:
		return load16(p, order_swaps(false));
	case CTF_UTF32BE:
		return load32(p, order_swaps(true));
	default:
		return load32(p, order_swaps(false));
	}
}

static char *utf8_put(char *p, uint32_t c)
{
	if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
		c = 0xFFFD;
	if (c < 0x80) {
		*p++ = (char)c;
	} else if (c < 0x800) {
		*p++ = (char)(0xC0 | c >> 6);
		*p++ = (char)(0x80 | (c & 63));
	} else if (c < 0x10000) {
		*p++ = (char)(0xE0 | c >> 12);
		*p++ = (char)(0x80 | (c >> 6 & 63));
		*p++ = (char)(0x80 | (c & 63));
	} else {
		*p++ = (char)(0xF0 | c >> 18);
		*p++ = (char)(0x80 | (c >> 12 & 63));
		*p++ = (char)(0x80 | (c >> 6 & 63));
		*p++ = (char)(0x80 | (c & 63));
	}
	return p;
}

/* UTF-16 or 32 up to a NUL as UTF-8; what is no character becomes U+FFFD. */
static bool text_convert(struct value_run *r, struct spur_value *v, const uint8_t *p, size_t len,
			 enum ctf_encoding e)
{
	const size_t unit = e == CTF_UTF16BE || e == CTF_UTF16LE ? 2 : 4;
	char *text = args_alloc(r->args, len / unit * (unit == 2 ? 3 : 4) + 1), *q = text;

	r->no_memory |= !text;
	for (size_t i = 0; text && i + unit <= len; i += unit) {
		uint32_t c = unit_at(p + i, e);

		if (!c)
			break;
		if (unit == 2 && c >= 0xD800 && c < 0xDC00 && i + 4 <= len) {
			const uint32_t low = unit_at(p + i + 2, e);

			if (low >= 0xDC00 && low < 0xE000) {
				c = 0x10000 + ((c & 0x3FF) << 10 | (low & 0x3FF));
				i += 2;
			}
		}
		q = utf8_put(q, c);
	}
	v->text = text;
	v->count = (uint32_t)(q - text);
	return text != NULL;
}

static bool value_bytes(struct value_run *r, const struct step *s, uint64_t bits, bool blob)
{
	struct ctf_cursor *c = r->c;
	const uint8_t *p = c->data + c->at / 8, *nul;
	const uint64_t at = c->at;
	const size_t len = (size_t)(bits / 8);
	struct spur_value *v = len <= UINT32_MAX ? value_add(r, s) : NULL;

	if (len > UINT32_MAX)
		plan_wrong(c, s->field, "at most 4 GiB of text or bytes, found more");
	if (!v)
		return false;
	v->type = blob ? SPUR_BYTES : SPUR_STRING;
	v->text = (const char *)p;
	v->count = (uint32_t)len;
	c->at += bits;
	if (!blob && (s->field->encoding == CTF_UTF8 || s->field->encoding == CTF_ASCII)) {
		/* SPEC ctf2/string-padding: text ends at the first NUL; what follows is padding */
		nul = len ? memchr(p, 0, len) : NULL;
		v->count = nul ? (uint32_t)(nul - p) : v->count;
	} else if (!blob && !text_convert(r, v, p, len, s->field->encoding)) {
		return false;
	}
	return value_done(r, s, v, at, bits);
}

static bool value_string(struct value_run *r, const struct step *s)
{
	const uint64_t bits = string_bits(r->c, s->size);

	if (!bits)
		return plan_wrong(r->c, s->field,
				  "the NUL of a string, found the end of the packet") == SPUR_OK;
	return value_bytes(r, s, bits, false);
}

/* SPEC ctf2/strings SPEC ctf2/blobs: makes the value of `bytes` bytes */
static bool value_text(struct value_run *r, const struct step *s, uint64_t bytes, bool blob)
{
	const char *why;

	if (bytes > (r->c->limit - r->c->at) / 8)
		return plan_wrong(
			       r->c, s->field,
			       "as many bytes as its length says, found the end of the packet") ==
		       SPUR_OK;
	why = blob || text_unit(s->field) == 1 ? NULL : text_wrong(r->c, s->field, bytes);
	if (why)
		return plan_wrong(r->c, s->field, why) == SPUR_OK;
	return value_bytes(r, s, 8 * bytes, blob);
}

/* --- compounds --- */

static bool value_open(struct value_run *r, const struct step *s, bool is_array)
{
	struct spur_value *v;
	struct frame *f;

	if ((s->flags & STEP_SCOPE) && r->flat) {
		r->frames[++r->depth] = (struct frame){ .name = s->name };
		return true;
	}
	v = value_add(r, s);
	if (!v)
		return false;
	v->type = is_array ? SPUR_ARRAY : SPUR_STRUCT;
	v->items = NULL;
	f = &r->frames[++r->depth];
	*f = (struct frame){ .owner = v, .name = v->name, .is_array = is_array };
	/*
	 * The top level may move when it grows: its compounds keep their head in the args' own
	 * memory.
	 */
	if (!r->frames[r->depth - 1].owner)
		f->owner = args_alloc(r->args, sizeof(*v));
	r->no_memory |= !f->owner;
	if (!f->owner)
		return false;
	*f->owner = *v;
	return true;
}

/* Where the compound's head was kept apart it goes to its place. */
static void value_close(struct value_run *r)
{
	const struct frame *f = &r->frames[r->depth];
	struct spur_value *place;

	assert(r->depth > 0);
	r->depth--;
	if (!f->owner || r->frames[r->depth].owner)
		return;
	place = (struct spur_value *)&r->args->items[r->args->count - 1];
	*place = *f->owner;
}

/* SPEC ctf2/arrays */
static const struct step *value_loop(struct value_run *r, const struct step *s, uint64_t count)
{
	if (s->size && count > (r->c->limit - r->c->at) / s->size) {
		plan_wrong(r->c, s->field,
			   "as many elements as its length says, found the end of the packet");
		return NULL;
	}
	if (!value_open(r, s, true))
		return NULL;
	if (!count) {
		value_close(r);
		return &r->p->value.steps[s->to];
	}
	r->frames[r->depth].left = count;
	r->frames[r->depth].at = r->c->at;
	return s + 1;
}

/* SPEC ctf/idle-elements: those that take no bits are all alike; of many a part is shown */
static const struct step *value_next(struct value_run *r, const struct step *s)
{
	struct frame *f = &r->frames[r->depth];

	assert(f->is_array && f->left > 0);
	if (--f->left && r->c->at == f->at && r->idle++ >= IDLE_ELEMENTS)
		r->cut = true;
	if (f->left && !(r->cut && r->c->at == f->at)) {
		f->at = r->c->at;
		return &r->p->value.steps[s->to];
	}
	value_close(r);
	return s + 1;
}

/* SPEC ctf2/variant: where no option is for the value, it is an error */
static const struct step *value_select(struct value_run *r, const struct step *s)
{
	const struct option *o = table_find(&r->p->tables[s->to], r->c->slots[s->slot]);

	if (!o)
		plan_wrong(r->c, s->field,
			   "a selector that one of the options is for, found another value");
	if (!o || (!r->flat && !value_open(r, s, false)))
		return NULL;
	if (!r->flat)
		r->frames[r->depth].is_variant = true;
	return &r->p->value.steps[o->to];
}

/* After the option of a variant. */
static const struct step *value_chosen(struct value_run *r, const struct step *s)
{
	if (!r->flat)
		value_close(r);
	return &r->p->value.steps[s->to];
}

/* SPEC ctf2/optional */
static const struct step *value_option(struct value_run *r, const struct step *s)
{
	const uint64_t n = r->c->slots[s->slot];
	struct spur_value *v;

	if (s->size ? table_find(&r->p->tables[s->count], n) != NULL : n != 0)
		return s + 1;
	v = value_add(r, s);
	if (v)
		v->type = SPUR_NULL;
	return v ? &r->p->value.steps[s->to] : NULL;
}

/* One step; the next one, or NULL where it cannot go on. */
static const struct step *value_step(struct value_run *r, const struct step *s)
{
	struct ctf_cursor *c = r->c;

	switch ((enum step_code)s->code) {
	case STEP_ALIGN:
		return step_align(c, s) ? s + 1 : NULL;
	case STEP_ORDER:
		return step_order(c, s) ? s + 1 : NULL;
	case STEP_OPEN:
		return value_open(r, s, false) ? s + 1 : NULL;
	case STEP_CLOSE:
		value_close(r);
		return s + 1;
	case STEP_INT:
		return value_int(r, s) ? s + 1 : NULL;
	case STEP_WIDE:
		return value_wide(r, s) ? s + 1 : NULL;
	case STEP_FLOAT:
		return value_float(r, s) ? s + 1 : NULL;
	case STEP_VAR:
		return value_var(r, s) ? s + 1 : NULL;
	case STEP_STRING:
		return value_string(r, s) ? s + 1 : NULL;
	case STEP_TEXT:
		return value_text(r, s, s->count, false) ? s + 1 : NULL;
	case STEP_TEXT_DYNAMIC:
		return value_text(r, s, c->slots[s->slot], false) ? s + 1 : NULL;
	case STEP_BLOB:
		return value_text(r, s, s->count, true) ? s + 1 : NULL;
	case STEP_BLOB_DYNAMIC:
		return value_text(r, s, c->slots[s->slot], true) ? s + 1 : NULL;
	case STEP_MARK:
		keep_value(r->p, s, c, c->at / 8, 64);
		return s + 1;
	case STEP_LOOP:
		return value_loop(r, s, s->count);
	case STEP_LOOP_DYNAMIC:
		return value_loop(r, s, c->slots[s->slot]);
	case STEP_NEXT:
		return value_next(r, s);
	case STEP_SELECT:
		return value_select(r, s);
	case STEP_JUMP:
		return value_chosen(r, s);
	case STEP_OPTION:
		return value_option(r, s);
	default:
		return NULL;
	}
}

static enum spur_status value_run(struct value_run *r)
{
	const struct step *s = r->p->value.steps;

	plan_forget(r->p, r->c);
	r->frames[0] = (struct frame){ 0 };
	r->depth = 0;
	r->values = 0;
	r->idle = 0;
	r->cut = r->no_memory = r->stopped = false;

	while (s && s->code != STEP_END)
		s = value_step(r, s);
	/* What is open where it ends keeps what it has. */
	while (r->depth)
		value_close(r);
	if (r->no_memory)
		return SPUR_FAIL;
	return (s && !r->cut) || r->stopped ? SPUR_OK : SPUR_WARN;
}

enum spur_status plan_values(const struct ctf_program *p, struct ctf_cursor *c, bool flat,
			     struct spur_args *args)
{
	const struct byte_packet in = { c->data, c->data + c->limit / 8, c->slots };
	const uint8_t *end = NULL;
	struct value_run r;

	if (p->bytes.values[flat] && c->at % 8 == 0)
		end = bytes_values(&p->bytes, flat, &in, c->data + c->at / 8, args);
	if (end) {
		c->at = (uint64_t)(end - c->data) * 8;
		return SPUR_OK;
	}
	r.p = p;
	r.c = c;
	r.args = args;
	r.flat = flat;
	r.each = NULL;
	return value_run(&r);
}

enum spur_status plan_walk(const struct ctf_program *p, struct ctf_cursor *c,
			   const struct spur_trace *t, struct spur_args *scratch,
			   bool (*each)(void *self, const struct ctf_place *place), void *self)
{
	struct value_run r;

	r.p = p;
	r.c = c;
	r.args = scratch;
	r.flat = true;
	r.each = each;
	r.self = self;
	r.t = t;
	return value_run(&r);
}

/* --- where it goes wrong --- */

/* The step that reads what the steps before it prepare. */
static const struct step *step_meant(const struct step *s)
{
	while (s->code == STEP_ALIGN || s->code == STEP_ORDER || s->code == STEP_MARK)
		s++;
	return s;
}

bool plan_find_wrong(const struct ctf_program *p, struct ctf_cursor *c, const struct spur_trace *t,
		     char *path, size_t size)
{
	struct spur_args args = { 0 };
	struct value_run r = { .p = p, .c = c, .args = &args, .flat = true, .t = t };
	const struct step *s = p->value.steps, *last = s;
	struct spur_value v = { 0 };
	char text[PATH_ROOM];

	plan_forget(p, c);
	while (s && s->code != STEP_END) {
		last = s;
		s = value_step(&r, s);
	}
	if (!s && !r.no_memory) {
		struct frame *f = &r.frames[r.depth];

		/* An element that is not there yet has the number of those that are. */
		f->count += f->is_array;
		v.name = step_meant(last)->name == UINT32_MAX ? 0 : step_meant(last)->name;
		value_path(&r, &v, text);
		snprintf(path, size, "%s", text);
	}
	spur_args_free(&args);
	return !s && !r.no_memory;
}
