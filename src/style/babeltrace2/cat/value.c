/* See value.h. */
#include "style/babeltrace2/cat/value.h"

#include "format/ctf/reader.h"

enum {
	NESTING = 128,
	PIECE = 4096, /* bytes of text for which room is made at once */
};

/* As in a C string: quotes, backslash and question mark too. */
static void make_escapes(uint8_t *escapes)
{
	static const char from[] = "\a\b\f\n\r\t\v\033\\'\"?", to[] = "abfnrtve\\'\"?";

	memset(escapes, 'x', ' ');
	escapes[127] = 'x';
	escapes[0] = '0';
	for (size_t i = 0; from[i]; i++)
		escapes[(unsigned char)from[i]] = (uint8_t)to[i];
}

/* Room: four bytes each. */
static char *put_escaped(char *w, const uint8_t *escapes, const char *s, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)s[i];

		if (__builtin_expect(!escapes[c], 1)) {
			*w++ = s[i];
			continue;
		}
		*w++ = '\\';
		*w++ = (char)escapes[c];
		if (escapes[c] == 'x') {
			*w++ = digits[c >> 4];
			*w++ = digits[c & 15];
		}
	}
	return w;
}

static void out_escaped(const struct pretty_values *p, const char *s, size_t len, struct out *o)
{
	size_t n;
	char *w;

	out_literal(o, "\"");
	for (; len; s += n, len -= n) {
		n = len < PIECE ? len : PIECE;
		w = out_room(o, 4 * n);
		if (!w)
			return;
		out_to(o, put_escaped(w, p->escapes, s, n));
	}
	out_literal(o, "\"");
}

static char *put_upper(char *w, uint64_t v)
{
	static const char digits[] = "0123456789ABCDEF";

	w = put_literal(w, "0x");
	for (int shift = v ? (63 - __builtin_clzll(v)) / 4 * 4 : 0; shift >= 0; shift -= 4)
		*w++ = digits[v >> shift & 15];
	return w;
}

static char *put_octal(char *w, uint64_t v)
{
	*w++ = '0';
	for (int shift = v ? (63 - __builtin_clzll(v)) / 3 * 3 : 0; shift >= 0; shift -= 3)
		*w++ = (char)('0' + (v >> shift & 7));
	return w;
}

/* Of whole digits: of a negative number, sign bits fill the first one. */
static unsigned whole_bits(unsigned bits, unsigned digit)
{
	const unsigned whole = (bits + digit - 1) / digit * digit;

	return whole < 64 ? whole : 64;
}

static uint64_t digits_of(uint64_t u, unsigned bits, unsigned digit)
{
	const unsigned whole = whole_bits(bits, digit);

	return whole < 64 ? u & (((uint64_t)1 << whole) - 1) : u;
}

/* `odd`: the number's bits if they are no whole bytes, else 0. */
static unsigned number_bits(const struct spur_value *v, unsigned odd)
{
	return odd ? odd : v->size ? 8u * v->size : 64;
}

/* `odd`: see number_bits(). Room: VALUE_NUMBER. */
static char *put_int(char *w, const struct spur_value *v, bool is_signed, unsigned odd)
{
	const unsigned bits = number_bits(v, odd);

	switch (v->show) {
	case SPUR_SHOW_HEX:
		return put_upper(w, digits_of(v->u, bits, 4));
	case SPUR_SHOW_OCTAL:
		return put_octal(w, digits_of(v->u, bits, 3));
	case SPUR_SHOW_BINARY:
		w = put_literal(w, "0b");
		for (unsigned i = bits; i-- > 0;)
			*w++ = v->u >> i & 1 ? '1' : '0';
		return w;
	default:
		return is_signed ? put_i64(w, v->i) : put_u64(w, v->u);
	}
}

/* Labels of a value, which are joined by a unit separator: "A" or "A", "B". */
static void out_labels(const struct pretty_values *p, const char *label, struct out *o)
{
	struct text rest = text_of(label), one;
	bool first = true;

	while (text_split(&rest, CTF_LABELS_BETWEEN, &one)) {
		out_str(o, first ? "" : ", ");
		out_escaped(p, one.p, one.len, o);
		first = false;
	}
}

static void out_enum(const struct pretty_values *p, const struct spur_value *v, struct out *o)
{
	char *w;

	/* Of flags (bit maps) the number comes first. */
	if ((v->count & CTF_ENUM_KIND) == CTF_ENUM_FLAGS) {
		w = out_room(o, VALUE_NUMBER);
		if (w)
			out_to(o, put_upper(w, v->u));
		if (v->label) {
			out_literal(o, " { ");
			out_labels(p, v->label, o);
			out_literal(o, " }");
		}
		return;
	}
	out_literal(o, "( ");
	if (v->label)
		out_labels(p, v->label, o);
	else
		out_literal(o, "<unknown>");
	w = out_room(o, 2 * VALUE_NUMBER);
	if (!w)
		return;
	w = put_int(put_literal(w, " : container = "), v,
		    (v->count & CTF_ENUM_KIND) == CTF_ENUM_SIGNED, v->count >> CTF_ENUM_BITS_SHIFT);
	out_to(o, put_literal(w, " )"));
}

static void out_octets(const char *s, size_t len, struct out *o)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t n;
	char *w;

	out_literal(o, "0x");
	for (; len; s += n, len -= n) {
		n = len < PIECE ? len : PIECE;
		w = out_room(o, 2 * n);
		for (size_t i = 0; w && i < n; i++) {
			*w++ = digits[(unsigned char)s[i] >> 4];
			*w++ = digits[s[i] & 15];
		}
		if (!w)
			return;
		out_to(o, w);
	}
}

static void make_name(const void *self, const struct spur_event *row, struct frag *f, struct out *o)
{
	const struct pretty_values *p = self;

	(void)f;
	out_literal(o, ", ");
	out_str(o, trace_string(p->trace, row->name, NULL));
	out_literal(o, " = ");
}

/* ", name = ", of the first item "{ name = ". */
static void out_name(const struct pretty_values *p, uint32_t name, bool first, struct out *o)
{
	const struct frag *f = frag_seen(p->names, name);
	char *w;

	if (!f)
		f = frag_made(p->names, name, &(struct spur_event){ .name = name });
	if (!f) {
		out_str(o, first ? "{ " : ", ");
		out_str(o, trace_string(p->trace, name, NULL));
		out_literal(o, " = ");
		return;
	}
	w = out_room(o, f->len + FRAG_PIECE);
	if (!w)
		return;
	out_to(o, put_frag(w, f));
	if (first)
		*w = '{';
}

/* ", [7] = ", of the first item "[ [0] = ". */
static void out_index(const struct pretty_values *p, uint32_t i, struct out *o)
{
	char *w = out_room(o, VALUE_NUMBER);

	if (!w)
		return;
	if (i >= VALUE_INDEXES) {
		out_to(o, put_literal(put_u64(put_literal(w, ", ["), i), "] = "));
		return;
	}
	memcpy(w, p->indexes[i], FRAG_PIECE);
	out_to(o, w + (i < 10 ? 8 : 9));
	if (!i)
		*w = '[';
}

static void make_indexes(struct pretty_values *p)
{
	for (unsigned i = 0; i < VALUE_INDEXES; i++)
		put_literal(put_u64(put_literal(p->indexes[i], ", ["), i), "] = ");
}

static void out_value(const struct pretty_values *p, const struct spur_value *v, struct out *o,
		      unsigned depth, bool names);

void out_items(const struct pretty_values *p, const struct spur_value *v, struct out *o,
	       unsigned depth, bool names)
{
	const bool array = v->type == SPUR_ARRAY;

	if (!v->count || depth >= NESTING)
		out_short(o, array ? "[ " : "{ ", 2);
	for (uint32_t i = 0; i < v->count && depth < NESTING; i++) {
		if (!names)
			out_short(o, i ? ", " : array ? "[ " : "{ ", 2);
		else if (array)
			out_index(p, i, o);
		else if (v->items[i].name)
			out_name(p, v->items[i].name, !i, o);
		else
			out_literal(o, "{ ");
		out_value(p, &v->items[i], o, depth + 1, names);
	}
	out_short(o, (array ? " ]" : " }") + !v->count, v->count ? 2 : 1);
}

static void out_value(const struct pretty_values *p, const struct spur_value *v, struct out *o,
		      unsigned depth, bool names)
{
	char *w;

	switch ((enum spur_type)v->type) {
	case SPUR_NULL:
		out_literal(o, "<none>");
		break;
	case SPUR_BOOL:
		out_str(o, v->u ? "true" : "false");
		break;
	case SPUR_F64:
		w = out_room(o, VALUE_NUMBER);
		if (w)
			out_to(o, put_g(w, v->f));
		break;
	case SPUR_STRING:
		out_escaped(p, v->text, v->count, o);
		break;
	case SPUR_BYTES:
		out_octets(v->text, v->count, o);
		break;
	case SPUR_ENUM:
		out_enum(p, v, o);
		break;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		out_items(p, v, o, depth, names);
		break;
	default:
		w = out_room(o, VALUE_NUMBER);
		if (w)
			out_to(o, put_int(w, v, v->type == SPUR_I64, v->count));
		break;
	}
}

/* --- words for programs --- */

static bool values_part(const void *self, enum line_part part, uint32_t i, uint32_t name,
			struct out *o)
{
	switch (part) {
	case LINE_SCOPE:
		out_str(o, i ? ", " : "");
		return true;
	case LINE_OPEN:
		return true;
	case LINE_ITEM:
		if (name)
			out_name(self, name, !i, o);
		else
			out_literal(o, "{ ");
		return true;
	case LINE_CLOSE:
		out_str(o, i ? " }" : "{ }");
		return true;
	}
	return false;
}

static char *values_index(const void *self, char *w, uint32_t i, uint32_t n)
{
	const struct pretty_values *p = self;

	if (i == n)
		return n ? put_literal(w, " ]") : put_literal(w, "[ ]");
	memcpy(w, p->indexes[i], FRAG_PIECE);
	if (!i)
		*w = '[';
	return w + (i < 10 ? 8 : 9);
}

static char *values_put(char *w, const struct spur_value *v)
{
	return v->type == SPUR_F64 ? put_g(w, v->f) : put_int(w, v, v->type == SPUR_I64, v->count);
}

static enum line_digits values_digits(const struct spur_value *v, unsigned *bits)
{
	if (v->show == SPUR_SHOW_HEX) {
		*bits = whole_bits(number_bits(v, v->count), 4);
		return LINE_DIGITS_HEX;
	}
	return v->show == SPUR_SHOW_OCTAL || v->show == SPUR_SHOW_BINARY ? LINE_DIGITS_OTHER
									 : LINE_DIGITS_DECIMAL;
}

static void values_value(const void *self, const struct spur_value *v, struct out *o)
{
	out_value(self, v, o, 2, true);
}

const struct line_words pretty_words = {
	.high = true,
	.odd = { '?', '\'' },
	.part = values_part,
	.index = values_index,
	.put = values_put,
	.digits = values_digits,
	.upper = true,
	.value = values_value,
};

bool pretty_values_open(struct pretty_values *p, const struct spur_trace *t)
{
	struct number digits; /* for the table that they share */

	p->trace = t;
	p->names = frag_new(make_name, p);
	number_init(&digits);
	make_escapes(p->escapes);
	make_indexes(p);
	return p->names;
}

void pretty_values_close(struct pretty_values *p)
{
	frag_free(p->names);
}
