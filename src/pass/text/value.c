/* See value.h. */
#include "pass/text/value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map64.h"
#include "base/mem.h"

enum {
	NESTING = 64, /* deeper items are shown as ... */
	AUTO_LIMIT = 100000, /* SPUR_SHOW_AUTO: hexadecimal from here on */
	HEX_BYTES = 64, /* of a BYTES value in text */
	FEW = 32, /* items whose names are compared in pairs */
};

static void value_out(const struct spur_trace *t, const struct spur_value *v, struct out *o,
		      unsigned depth);

static void out_text_hex(struct out *o, uint64_t v)
{
	out_str(o, "0x");
	out_hex(o, v);
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

/* Of a signed number the bits that the record has. */
static uint64_t value_bits(const struct spur_value *v)
{
	return v->size && v->size < 8 ? v->u & (((uint64_t)1 << (8 * v->size)) - 1) : v->u;
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

static void integer_out(const struct spur_value *v, struct out *o)
{
	const bool is_signed = v->type == SPUR_I64;
	const bool large =
		is_signed ? v->i >= AUTO_LIMIT || v->i <= -AUTO_LIMIT : v->u >= AUTO_LIMIT;

	if (v->show == SPUR_SHOW_HEX || (v->show == SPUR_SHOW_AUTO && large))
		out_text_hex(o, value_bits(v));
	else if (v->show == SPUR_SHOW_OCTAL)
		out_octal(o, value_bits(v));
	else if (v->show == SPUR_SHOW_BINARY)
		out_binary(o, value_bits(v));
	else if (v->show == SPUR_SHOW_CHAR)
		char_out(o, value_bits(v) & 0xff);
	else if (is_signed)
		out_i64(o, v->i);
	else
		out_u64(o, v->u);
}

/* The shortest text that reads back as the same number of the size it was recorded in. */
static void float_out(const struct spur_value *v, struct out *o)
{
	const float f = (float)v->f;
	char buf[40];
	int digits = 6;

	if (v->size != 4 || !isfinite(v->f) || (double)f != v->f) {
		out_double(o, v->f);
		return;
	}
	do {
		snprintf(buf, sizeof(buf), "%.*g", digits, v->f);
	} while (digits++ < 9 && strtof(buf, NULL) != f);
	out_str(o, buf);
}

/* Quotes and backslashes get a backslash in front; what out_safe() escapes starts with one too. */
static void string_out(const char *s, size_t len, struct out *o)
{
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

/* "retval", or "arg" with the item's own place: a name that formats give to what has none. */
static bool name_says_nothing(const char *name, size_t len, size_t place)
{
	char digits[24];
	size_t n = (size_t)(put_u64(digits, place + 1) - digits);

	if (len == 6 && memcmp(name, "retval", 6) == 0)
		return true;
	return len == 3 + n && memcmp(name, "arg", 3) == 0 && memcmp(name + 3, digits, n) == 0;
}

static void items_out(const struct spur_trace *t, const struct spur_value *items, size_t n,
		      struct out *o, unsigned depth)
{
	for (size_t i = 0; i < n; i++) {
		size_t len;
		const char *name = spur_string(t, items[i].name, &len);

		if (i)
			out_str(o, ", ");
		if (len && !name_says_nothing(name, len, i)) {
			out_safe(o, name, len);
			out_char(o, '=');
		}
		value_out(t, &items[i], o, depth);
	}
}

static void nested_out(const struct spur_trace *t, const struct spur_value *v, struct out *o,
		       unsigned depth)
{
	const bool is_struct = v->type == SPUR_STRUCT;

	out_char(o, is_struct ? '{' : '[');
	if (depth < NESTING)
		items_out(t, v->items, v->count, o, depth + 1);
	else
		out_str(o, "...");
	out_char(o, is_struct ? '}' : ']');
}

static void label_out(const struct spur_value *v, const char *before, struct out *o)
{
	out_str(o, before);
	out_safe(o, v->label, strlen(v->label));
}

static void value_out(const struct spur_trace *t, const struct spur_value *v, struct out *o,
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
		nested_out(t, v, o, depth);
		break;
	}
	if (v->unreliable)
		out_char(o, '?');
}

void value_text(const struct spur_trace *t, const struct spur_value *v, struct out *o)
{
	value_out(t, v, o, 0);
}

void args_text_list(const struct spur_trace *t, const struct spur_args *args, struct out *o)
{
	items_out(t, args->items, args->count, o, 0);
}

static void value_as_json(const struct spur_trace *t, const struct spur_value *v, struct out *o,
			  unsigned depth);

static void float_json(const struct spur_value *v, struct out *o)
{
	const char *quote = isfinite(v->f) ? "" : "\"";

	out_str(o, quote);
	float_out(v, o);
	out_str(o, quote);
}

static void key_json(const struct spur_trace *t, const struct spur_value *items, size_t i,
		     const char *lone, struct out *o)
{
	size_t len;
	const char *name = spur_string(t, items[i].name, &len);

	if (len) {
		out_json(o, name, len);
	} else if (lone) {
		out_str(o, lone);
	} else {
		out_str(o, "\"arg");
		out_u64(o, i + 1);
		out_char(o, '"');
	}
	out_char(o, ':');
}

/* Where the next item of the same name stands (0: nowhere) in next[i]; later[i] is set for all but
 * the first. */
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

static void object_json(const struct spur_trace *t, const struct spur_value *items, size_t n,
			const char *lone, struct out *o, unsigned depth)
{
	struct repeats r;

	if (!repeats_find(&r, items, n)) {
		repeats_free(&r);
		o->error = o->error ? o->error : ENOMEM;
		return;
	}
	out_char(o, '{');
	for (size_t i = 0; i < n; i++) {
		if (r.later[i])
			continue;
		if (i)
			out_char(o, ',');
		key_json(t, items, i, n == 1 ? lone : NULL, o);
		if (r.next[i])
			out_char(o, '[');
		value_as_json(t, &items[i], o, depth);
		for (size_t k = r.next[i]; k; k = r.next[k]) {
			out_char(o, ',');
			value_as_json(t, &items[k], o, depth);
		}
		if (r.next[i])
			out_char(o, ']');
	}
	out_char(o, '}');
	repeats_free(&r);
}

static void nested_json(const struct spur_trace *t, const struct spur_value *v, struct out *o,
			unsigned depth)
{
	if (depth >= NESTING) {
		out_str(o, "\"...\"");
		return;
	}
	if (v->type == SPUR_STRUCT) {
		object_json(t, v->items, v->count, NULL, o, depth + 1);
		return;
	}
	out_char(o, '[');
	for (size_t i = 0; i < v->count; i++) {
		if (i)
			out_char(o, ',');
		value_as_json(t, &v->items[i], o, depth + 1);
	}
	out_char(o, ']');
}

static void value_as_json(const struct spur_trace *t, const struct spur_value *v, struct out *o,
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
		nested_json(t, v, o, depth);
		break;
	}
}

void value_json(const struct spur_trace *t, const struct spur_value *v, struct out *o)
{
	value_as_json(t, v, o, 0);
}

void args_json(const struct spur_trace *t, const struct spur_args *args, bool is_end, struct out *o)
{
	object_json(t, args->items, args->count, is_end ? "\"retval\"" : NULL, o, 0);
}
