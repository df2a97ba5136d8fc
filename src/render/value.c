/* See value.h. */
#include "render/value.h"

#include <assert.h>
#include <errno.h>
#include <math.h>

#include "base/map64.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/trace.h"
#include "render/frag.h"

enum {
	NESTING = 64, /* deeper items are shown as ... */
	AUTO_LIMIT = 100000, /* SPUR_SHOW_AUTO: hexadecimal from here on */
	HEX_BYTES = 64, /* of a BYTES value in text */
	FEW = 32, /* items whose names are compared in pairs */
	NAME_MOST = 1 << 16, /* longer names are written apart */
	NUMBER_ROOM = 24,
};

/* Keys of names that carry no information: at this place (from 1 on), or at any. */
static const uint64_t any_place = UINT64_MAX;

static void value_out(const struct value_writer *w, const struct spur_value *v, struct out *o,
		      unsigned depth);

/* --- names --- */

/* "retval", and "arg" with a number: the names that formats give to unnamed values. */
static uint64_t name_place(const char *name, size_t len)
{
	char digits[NUMBER_ROOM];
	struct text number;
	uint64_t place;

	if (len == 6 && memcmp(name, "retval", 6) == 0)
		return any_place;
	if (len < 4 || memcmp(name, "arg", 3) != 0)
		return 0;
	number = text_of(name + 3);
	if (!text_u64(&number, 10, &place))
		return 0;
	*put_u64(digits, place) = '\0';
	return strcmp(digits, name + 3) == 0 ? place : 0;
}

static void name_text(const void *self, const struct spur_event *row, struct frag *f, struct out *o)
{
	size_t len;
	const char *name = trace_string(self, row->name, &len);

	f->key = name_place(name, len);
	out_safe(o, name, len);
	if (len)
		out_char(o, '=');
}

static void name_json(const void *self, const struct spur_event *row, struct frag *f, struct out *o)
{
	size_t len;
	const char *name = trace_string(self, row->name, &len);

	(void)f;
	if (!len)
		return;
	out_json(o, name, len);
	out_char(o, ':');
}

bool value_writer_open(struct value_writer *w, const struct spur_trace *t, enum value_form form)
{
	w->trace = t;
	w->names = frag_new(form == VALUE_JSON ? name_json : name_text, t);
	return w->names;
}

void value_writer_close(struct value_writer *w)
{
	frag_free(w->names);
	w->names = NULL;
}

/* Returns NULL if the value has no name or if out of memory. */
static const struct frag *name_of(const struct value_writer *w, const struct spur_value *v,
				  struct out *o)
{
	const struct frag *f = v->name ? frag_seen(w->names, v->name) : NULL;

	if (!f && v->name) {
		f = frag_made(w->names, v->name, &(struct spur_event){ .name = v->name });
		if (!f && !o->error)
			o->error = ENOMEM;
	}
	return f && f->len ? f : NULL;
}

/*
 * Writes the text between items, and the name if `f` is not NULL. Returns where the value goes,
 * with room for a number; NULL if out of memory.
 */
static char *item_begin(const struct frag *f, const char *before, struct out *o)
{
	const bool large = f && f->len > NAME_MOST;
	char *p;

	if (large) {
		out_str(o, before);
		out_bytes(o, f->p, f->len);
	}
	p = out_room(o, (f && !large ? f->len : 0) + 2 * FRAG_PIECE + NUMBER_ROOM);
	if (!p || large)
		return p;
	while (*before)
		*p++ = *before++;
	return f ? put_frag(p, f) : p;
}

/* --- text --- */

/* Requires room for NUMBER_ROOM bytes. */
static char *put_0x(char *p, uint64_t v)
{
	*p++ = '0';
	*p++ = 'x';
	return put_hex(p, v);
}

static void out_text_hex(struct out *o, uint64_t v)
{
	char *p = out_room(o, NUMBER_ROOM);

	if (p)
		out_to(o, put_0x(p, v));
}

static void out_octal(struct out *o, uint64_t v)
{
	char buf[24];
	char *p = buf + sizeof(buf), *const end = p;

	do
		*--p = (char)('0' + (v & 7));
	while (v >>= 3);
	if (*p != '0')
		*--p = '0';
	out_bytes(o, p, (size_t)(end - p));
}

static void out_binary(struct out *o, uint64_t v)
{
	out_str(o, "0b");
	for (int i = v ? 63 - __builtin_clzll(v) : 0; i >= 0; i--)
		out_char(o, v >> i & 1 ? '1' : '0');
}

/* Bits that the record has of a number. */
static unsigned number_bits(const struct spur_value *v)
{
	const unsigned bits = v->count ? v->count : 8u * v->size;

	return bits && bits < 64 ? bits : 64;
}

/* Returns these bits, without the sign extension. */
static uint64_t value_bits(const struct spur_value *v)
{
	const unsigned bits = number_bits(v);

	return bits < 64 ? v->u & (((uint64_t)1 << bits) - 1) : v->u;
}

static void char_out(struct out *o, uint64_t v)
{
	const char c = (char)v;

	out_char(o, '\'');
	if (v == 0)
		out_str(o, "\\0");
	else if (v == '\'' || v == '\\')
		out_bytes(o, (const char[]){ '\\', c }, 2);
	else
		out_safe(o, &c, 1);
	out_char(o, '\'');
}

/*
 * Writes a decimal or hexadecimal number. Returns NULL if the value is shown in another way.
 * Requires room for NUMBER_ROOM bytes.
 */
static char *put_integer(char *p, const struct spur_value *v)
{
	const bool is_signed = v->type == SPUR_I64;
	const bool large =
		is_signed ? v->i >= AUTO_LIMIT || v->i <= -AUTO_LIMIT : v->u >= AUTO_LIMIT;

	if (v->show == SPUR_SHOW_HEX || (v->show == SPUR_SHOW_AUTO && large))
		return put_0x(p, value_bits(v));
	if (v->show != SPUR_SHOW_PLAIN && v->show != SPUR_SHOW_AUTO)
		return NULL;
	return is_signed ? put_i64(p, v->i) : put_u64(p, v->u);
}

static void integer_out(const struct spur_value *v, struct out *o)
{
	char *p = out_room(o, NUMBER_ROOM), *end = p ? put_integer(p, v) : NULL;

	if (end)
		out_to(o, end);
	else if (v->show == SPUR_SHOW_OCTAL)
		out_octal(o, value_bits(v));
	else if (v->show == SPUR_SHOW_BINARY)
		out_binary(o, value_bits(v));
	else if (v->show == SPUR_SHOW_CHAR)
		char_out(o, value_bits(v) & 0xff);
}

/* Returns true if the value was recorded as a float, which needs fewer digits to be exact. */
static bool is_single(const struct spur_value *v)
{
	return v->size == 4 && isfinite(v->f) && (double)(float)v->f == v->f;
}

/* Writes the shortest text that reads back as the same number in its recorded size. */
static void float_out(const struct spur_value *v, struct out *o)
{
	if (v->label)
		out_str(o, v->label);
	else if (is_single(v))
		out_f32(o, (float)v->f);
	else
		out_double(o, v->f);
}

/* Escapes quotes and backslashes by a backslash, as out_safe() does other characters. */
static void string_out(const char *s, size_t len, struct out *o)
{
	if (out_json_plain(o, s, len))
		return;
	out_char(o, '"');
	while (len) {
		size_t run = 0;

		while (run < len && s[run] != '"' && s[run] != '\\')
			run++;
		out_safe(o, s, run);
		if (run < len) {
			out_bytes(o, (const char[]){ '\\', s[run] }, 2);
			run++;
		}
		s += run;
		len -= run;
	}
	out_char(o, '"');
}

static void hex_pairs(const char *s, size_t len, bool blanks, struct out *o)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)s[i];

		if (i && blanks)
			out_char(o, ' ');
		out_bytes(o, (const char[]){ digits[c >> 4], digits[c & 15] }, 2);
	}
}

static void bytes_out(const struct spur_value *v, struct out *o)
{
	const size_t n = v->count < HEX_BYTES ? v->count : HEX_BYTES;

	if (v->label)
		out_safe(o, v->label, strlen(v->label));
	out_char(o, '{');
	hex_pairs(v->text, n, true, o);
	if (n < v->count)
		out_printf(o, " .. %u bytes", v->count);
	out_char(o, '}');
}

static void items_out(const struct value_writer *w, const struct spur_value *items, size_t n,
		      bool named, struct out *o, unsigned depth)
{
	for (size_t i = 0; i < n; i++) {
		const struct spur_value *v = &items[i];
		const struct frag *f = name_of(w, v, o);
		char *p, *end = NULL;

		if (f && !named && (f->key == any_place || f->key == i + 1))
			f = NULL;
		p = item_begin(f, i ? ", " : "", o);
		if (!p)
			return;
		if ((v->type == SPUR_U64 || v->type == SPUR_I64) && !v->unreliable)
			end = put_integer(p, v);
		out_to(o, end ? end : p);
		if (!end)
			value_out(w, v, o, depth);
	}
}

static void nested_out(const struct value_writer *w, const struct spur_value *v, struct out *o,
		       unsigned depth)
{
	const bool is_struct = v->type == SPUR_STRUCT;

	assert(depth <= NESTING);
	out_char(o, is_struct ? '{' : '[');
	if (depth < NESTING)
		items_out(w, v->items, v->count, false, o, depth + 1);
	else
		out_str(o, "...");
	out_char(o, is_struct ? '}' : ']');
}

static void label_out(const struct spur_value *v, const char *before, struct out *o)
{
	out_str(o, before);
	out_safe(o, v->label, strlen(v->label));
}

static void value_out(const struct value_writer *w, const struct spur_value *v, struct out *o,
		      unsigned depth)
{
	switch ((enum spur_type)v->type) {
	case SPUR_NULL:
		out_str(o, "NULL");
		break;
	case SPUR_I64:
	case SPUR_U64:
		integer_out(v, o);
		break;
	case SPUR_F64:
		float_out(v, o);
		break;
	case SPUR_BOOL:
		out_str(o, v->u ? "true" : "false");
		break;
	case SPUR_STRING:
		string_out(v->text, v->count, o);
		break;
	case SPUR_BYTES:
		bytes_out(v, o);
		break;
	case SPUR_POINTER:
		if (v->label)
			label_out(v, "&", o);
		else
			out_text_hex(o, v->u);
		break;
	case SPUR_KOID:
		out_u64(o, v->u);
		if (v->label) {
			label_out(v, " (", o);
			out_char(o, ')');
		}
		break;
	case SPUR_ENUM:
		if (v->label)
			label_out(v, "", o);
		else
			out_i64(o, v->i);
		break;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		nested_out(w, v, o, depth);
		break;
	}
	if (v->unreliable)
		out_char(o, '?');
}

void value_text(const struct value_writer *w, const struct spur_value *v, struct out *o)
{
	value_out(w, v, o, 0);
}

void args_text_list(const struct value_writer *w, const struct spur_args *args, bool named,
		    struct out *o)
{
	items_out(w, args->items, args->count, named, o, 0);
}

/* --- JSON --- */

static void value_as_json(const struct value_writer *w, const struct spur_value *v, struct out *o,
			  unsigned depth);

static void float_json(const struct spur_value *v, struct out *o)
{
	if (v->label)
		out_json(o, v->label, strlen(v->label));
	else
		out_json_double(o, v->f, is_single(v));
}

/*
 * Writes the key of an item, and a comma before it. Returns where the value goes, with room for a
 * number; NULL if out of memory.
 */
static char *key_json(const struct value_writer *w, const struct spur_value *items, size_t i,
		      const char *lone, struct out *o)
{
	const struct frag *f = name_of(w, &items[i], o);
	char *p = item_begin(f, i ? "," : "", o);

	if (!p || f)
		return p;
	if (lone) {
		out_to(o, p);
		out_str(o, lone);
	} else {
		p = put_u64(put_literal(p, "\"arg"), i + 1);
		out_to(o, put_literal(p, "\""));
	}
	out_char(o, ':');
	return out_room(o, NUMBER_ROOM);
}

/* Returns true if no two items can have the same name. */
static bool names_differ(const struct spur_value *items, size_t n)
{
	uint64_t seen = 0, twice = 0;

	for (size_t i = 0; i < n; i++) {
		const uint64_t bit = items[i].name ? (uint64_t)1 << (items[i].name & 63) : 0;

		twice |= seen & bit;
		seen |= bit;
	}
	return !twice;
}

/* Returns NULL if JSON cannot represent the number. Requires room for NUMBER_ROOM bytes. */
static char *put_json(char *p, const struct spur_value *v)
{
	switch (v->type) {
	case SPUR_I64:
		return put_i64(p, v->i);
	case SPUR_U64:
	case SPUR_POINTER:
	case SPUR_KOID:
		return put_u64(p, v->u);
	default:
		return NULL;
	}
}

/*
 * Items of the same name: next[i] is the index of the next one (0: none), later[i] is true for all
 * but the first.
 */
struct repeats {
	uint32_t *next;
	bool *later;
	uint32_t few_next[FEW];
	bool few_later[FEW];
};

static bool repeats_many(struct repeats *r, const struct spur_value *items, size_t n)
{
	struct map64 last = { 0 };
	bool good = true;

	r->next = mem_array(n, sizeof(*r->next));
	r->later = mem_array(n, sizeof(*r->later));
	good = r->next && r->later;
	for (size_t i = 0; good && i < n; i++) {
		struct map64_slot *s = items[i].name ? map64_put(&last, items[i].name) : NULL;

		if (!items[i].name)
			continue;
		good = s;
		assert(!s || s->value <= i);
		if (s && s->value) {
			r->next[s->value - 1] = (uint32_t)i;
			r->later[i] = true;
		}
		if (s)
			s->value = i + 1;
	}
	map64_free(&last);
	return good;
}

static bool repeats_find(struct repeats *r, const struct spur_value *items, size_t n)
{
	r->next = r->few_next;
	r->later = r->few_later;
	if (n > FEW)
		return repeats_many(r, items, n);
	memset(r->few_next, 0, n * sizeof(r->few_next[0]));
	memset(r->few_later, 0, n * sizeof(r->few_later[0]));
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; items[i].name && k-- > 0;)
			if (items[k].name == items[i].name) {
				r->next[k] = (uint32_t)i;
				r->later[i] = true;
				break;
			}
	return true;
}

static void repeats_free(struct repeats *r)
{
	if (r->next != r->few_next) {
		mem_free(r->next);
		mem_free(r->later);
	}
}

static void object_plain(const struct value_writer *w, const struct spur_value *items, size_t n,
			 const char *lone, struct out *o, unsigned depth)
{
	for (size_t i = 0; i < n; i++) {
		char *p = key_json(w, items, i, n == 1 ? lone : NULL, o), *end;

		if (!p)
			return;
		end = put_json(p, &items[i]);
		out_to(o, end ? end : p);
		if (!end)
			value_as_json(w, &items[i], o, depth);
	}
}

static void object_repeats(const struct value_writer *w, const struct spur_value *items, size_t n,
			   struct out *o, unsigned depth)
{
	struct repeats r;
	bool good = repeats_find(&r, items, n);

	for (size_t i = 0; i < n && good; i++) {
		char *p = r.later[i] ? NULL : key_json(w, items, i, NULL, o);

		if (!p)
			continue;
		out_to(o, p);
		if (r.next[i])
			out_char(o, '[');
		value_as_json(w, &items[i], o, depth);
		for (size_t k = r.next[i]; k; k = r.next[k]) {
			assert(k < n && (!r.next[k] || r.next[k] > k));
			out_char(o, ',');
			value_as_json(w, &items[k], o, depth);
		}
		if (r.next[i])
			out_char(o, ']');
	}
	if (!good && !o->error)
		o->error = ENOMEM;
	repeats_free(&r);
}

static void object_json(const struct value_writer *w, const struct spur_value *items, size_t n,
			const char *lone, struct out *o, unsigned depth)
{
	out_char(o, '{');
	if (names_differ(items, n))
		object_plain(w, items, n, lone, o, depth);
	else
		object_repeats(w, items, n, o, depth);
	out_char(o, '}');
}

static void nested_json(const struct value_writer *w, const struct spur_value *v, struct out *o,
			unsigned depth)
{
	if (depth >= NESTING) {
		out_str(o, "\"...\"");
		return;
	}
	if (v->type == SPUR_STRUCT) {
		object_json(w, v->items, v->count, NULL, o, depth + 1);
		return;
	}
	out_char(o, '[');
	for (size_t i = 0; i < v->count; i++) {
		if (i)
			out_char(o, ',');
		value_as_json(w, &v->items[i], o, depth + 1);
	}
	out_char(o, ']');
}

static void value_as_json(const struct value_writer *w, const struct spur_value *v, struct out *o,
			  unsigned depth)
{
	switch ((enum spur_type)v->type) {
	case SPUR_NULL:
		out_str(o, "null");
		break;
	case SPUR_I64:
		out_i64(o, v->i);
		break;
	case SPUR_F64:
		float_json(v, o);
		break;
	case SPUR_BOOL:
		out_str(o, v->u ? "true" : "false");
		break;
	case SPUR_STRING:
		out_json(o, v->text, v->count);
		break;
	case SPUR_BYTES:
		out_char(o, '"');
		hex_pairs(v->text, v->count, false, o);
		out_char(o, '"');
		break;
	case SPUR_U64:
	case SPUR_POINTER:
	case SPUR_KOID:
		out_u64(o, v->u);
		break;
	case SPUR_ENUM:
		if (v->label)
			out_json(o, v->label, strlen(v->label));
		else
			out_i64(o, v->i);
		break;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		nested_json(w, v, o, depth);
		break;
	}
}

void value_json(const struct value_writer *w, const struct spur_value *v, struct out *o)
{
	value_as_json(w, v, o, 0);
}

void args_json(const struct value_writer *w, const struct spur_args *args, bool is_end,
	       struct out *o)
{
	object_json(w, args->items, args->count, is_end ? "\"retval\"" : NULL, o, 0);
}

/* --- words for programs --- */

static bool text_part(const void *self, enum line_part part, uint32_t i, uint32_t name,
		      struct out *o)
{
	const struct frag *f;

	if (part == LINE_OPEN || part == LINE_CLOSE) {
		out_char(o, part == LINE_OPEN ? '{' : '}');
		return true;
	}
	out_str(o, i ? ", " : "");
	f = name_of(self, &(struct spur_value){ .name = name }, o);
	if (f && f->key != any_place && f->key != i + 1)
		out_bytes(o, f->p, f->len);
	return part == LINE_ITEM;
}

static bool json_part(const void *self, enum line_part part, uint32_t i, uint32_t name,
		      struct out *o)
{
	const struct frag *f;

	if (part == LINE_OPEN || part == LINE_CLOSE) {
		out_char(o, part == LINE_OPEN ? '{' : '}');
		return true;
	}
	out_str(o, i ? "," : "");
	f = name_of(self, &(struct spur_value){ .name = name }, o);
	if (f)
		out_bytes(o, f->p, f->len);
	return f && part == LINE_ITEM;
}

static char *text_index(const void *self, char *w, uint32_t i, uint32_t n)
{
	(void)self;
	if (i == n)
		return n ? put_literal(w, "]") : put_literal(w, "[]");
	return i ? put_literal(w, ", ") : put_literal(w, "[");
}

static char *json_index(const void *self, char *w, uint32_t i, uint32_t n)
{
	(void)self;
	if (i == n)
		return n ? put_literal(w, "]") : put_literal(w, "[]");
	*w = i ? ',' : '[';
	return w + 1;
}

static enum line_digits text_digits(const struct spur_value *v, unsigned *bits)
{
	*bits = number_bits(v);
	return v->show == SPUR_SHOW_HEX	    ? LINE_DIGITS_HEX
	       : v->show == SPUR_SHOW_PLAIN ? LINE_DIGITS_DECIMAL
					    : LINE_DIGITS_OTHER;
}

static enum line_digits json_digits(const struct spur_value *v, unsigned *bits)
{
	(void)v;
	(void)bits;
	return LINE_DIGITS_DECIMAL;
}

static char *text_put(char *w, const struct spur_value *v)
{
	return v->type != SPUR_F64 ? put_integer(w, v)
	       : is_single(v)	   ? put_f32(w, (float)v->f)
				   : put_double(w, v->f);
}

static char *json_number_put(char *w, const struct spur_value *v)
{
	return v->type == SPUR_F64 ? put_json_double(w, v->f, is_single(v)) : put_json(w, v);
}

static void text_value(const void *self, const struct spur_value *v, struct out *o)
{
	value_text(self, v, o);
}

static void json_value(const void *self, const struct spur_value *v, struct out *o)
{
	value_json(self, v, o);
}

const struct line_words value_text_words = {
	.flat = true,
	.odd = { '"', '\\' },
	.part = text_part,
	.index = text_index,
	.put = text_put,
	.digits = text_digits,
	.value = text_value,
};

const struct line_words value_json_words = {
	.flat = true,
	.distinct = true,
	.odd = { '"', '\\' },
	.part = json_part,
	.index = json_index,
	.put = json_number_put,
	.digits = json_digits,
	.value = json_value,
};
