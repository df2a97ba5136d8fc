/* Runs compiled print formats over records: C's arithmetic, and printk's conversions. */
#include "format/uftrace/printfmt.h"

#include <assert.h>

enum value_kind {
	VALUE_UNKNOWN,
	VALUE_INT,
	VALUE_BYTES, /* elements in the record */
	VALUE_TEXT, /* a string literal */
	VALUE_MADE, /* text that `node` makes */
};

struct value {
	uint8_t kind;
	uint8_t size; /* INT: 4 or 8, as C computes */
	bool is_unsigned; /* INT; BYTES: the elements */
	bool pointer; /* INT: an address */
	uint64_t u; /* INT: extended to 64 bits by its own sign */
	const uint8_t *p;
	uint32_t len;
	uint32_t elem; /* BYTES: of one element; 0: not known */
	const struct print_node *node;
};

struct run {
	const struct tracefmt *f;
	struct trace_abi abi;
	const uint8_t *rec;
	uint32_t len;
	const struct trace_names *names;
	struct out *out;
	size_t limit; /* of out->len */
};

static struct value eval(const struct run *r, const struct print_node *n);

/* ---- values */

static const struct value unknown = { .kind = VALUE_UNKNOWN };

/*
 * C's int or long long: what is smaller becomes int. `u` is extended by its own sign where it is
 * smaller.
 */
static struct value value_int(uint64_t u, unsigned size, bool is_unsigned)
{
	if (size == 4)
		u = is_unsigned ? (uint32_t)u : (uint64_t)(int32_t)u;
	return (struct value){ .kind = VALUE_INT,
			       .u = u,
			       .size = size > 4 ? 8 : 4,
			       .is_unsigned = size >= 4 && is_unsigned };
}

static struct value value_truth(bool b)
{
	return value_int(b, 4, false);
}

/* `u` cut to a type of `size` bytes. */
static uint64_t cut_int(uint64_t u, unsigned size, bool is_unsigned)
{
	switch (size) {
	case 1: return is_unsigned ? (uint8_t)u : (uint64_t)(int8_t)u;
	case 2: return is_unsigned ? (uint16_t)u : (uint64_t)(int16_t)u;
	case 4: return is_unsigned ? (uint32_t)u : (uint64_t)(int32_t)u;
	default: return u;
	}
}

/* Without the bits that only extend its sign. */
static uint64_t plain_bits(const struct value *v)
{
	return v->size == 4 ? (uint32_t)v->u : v->u;
}

static struct value value_bytes(const uint8_t *p, uint32_t len, const struct trace_field *field)
{
	if (!p)
		return unknown;
	return (struct value){
		.kind = VALUE_BYTES, .p = p, .len = len, .elem = field->elem,
		.is_unsigned = !(field->flags & FIELD_SIGNED) && !(field->flags & FIELD_STRING) };
}

static struct value eval_field(const struct run *r, const struct trace_field *field, bool address)
{
	struct value v;
	uint32_t len;

	if (!r->rec)
		return unknown;
	if (field->flags & (FIELD_ARRAY | FIELD_DYNAMIC)) {
		const uint8_t *p = field_bytes(field, r->f, r->rec, r->len, &len);

		return value_bytes(p, len, field);
	}
	if (field->off > r->len || r->len - field->off < field->size)
		return unknown;
	if (address ||
	    (field->size != 1 && field->size != 2 && field->size != 4 && field->size != 8)) {
		v = value_bytes(r->rec + field->off, field->size, field);
		if (address && !v.elem)
			v.elem = field->size;
		return v;
	}
	v = value_int(load_int(r->rec + field->off, field->size, field->flags & FIELD_SIGNED,
			       r->abi.swap),
		      field->size, !(field->flags & FIELD_SIGNED));
	v.pointer = field->flags & FIELD_POINTER;
	return v;
}

static struct value eval_dynamic_len(const struct run *r, const struct trace_field *field)
{
	if (field->off > r->len || r->len - field->off < 4)
		return unknown;
	return value_int(load32(r->rec + field->off, r->abi.swap) >> 16, 4, false);
}

static struct value eval_cast(const struct run *r, const struct print_node *n)
{
	struct value v = eval(r, n->a);
	const struct c_type *t = &n->type;

	if (t->pointer) {
		if (v.kind == VALUE_BYTES && t->size) {
			v.elem = t->size;
			v.is_unsigned = t->is_unsigned;
		} else if (v.kind == VALUE_INT) {
			v = value_int(v.u, r->abi.long_size, true);
			v.pointer = true;
		}
		return v;
	}
	if (v.kind != VALUE_INT)
		return v.kind == VALUE_BYTES ? unknown : v;
	if (t->is_bool)
		return value_truth(v.u != 0);
	return value_int(cut_int(v.u, t->size, t->is_unsigned), t->size, t->is_unsigned);
}

static struct value eval_index(const struct run *r, const struct print_node *n)
{
	struct value v = eval(r, n->a), i = value_int(0, 4, false);

	if (n->b)
		i = eval(r, n->b);
	if (i.kind != VALUE_INT)
		return unknown;
	if (v.kind == VALUE_TEXT && i.u < v.len)
		return value_int((uint64_t)(int8_t)v.p[i.u], 1, false);
	if (v.kind != VALUE_BYTES || !v.elem || i.u >= v.len / v.elem)
		return unknown;
	if (v.elem != 1 && v.elem != 2 && v.elem != 4 && v.elem != 8)
		return unknown;
	return value_int(load_int(v.p + i.u * v.elem, v.elem, !v.is_unsigned, r->abi.swap), v.elem,
			 v.is_unsigned);
}

/* -1: not known. Strings and arrays are addresses, so true. */
static int truth(const struct value *v)
{
	if (v->kind == VALUE_UNKNOWN)
		return -1;
	return v->kind != VALUE_INT || v->u != 0;
}

static struct value eval_logic(const struct run *r, const struct print_node *n)
{
	struct value v = eval(r, n->a);
	int t = truth(&v);

	if (n->kind == NODE_NOT)
		return t < 0 ? unknown : value_truth(!t);
	if (n->kind == NODE_COND)
		return t < 0 ? unknown : eval(r, t ? n->b : n->c);
	if (t >= 0 && t == (n->kind == NODE_OROR))
		return value_truth(t);
	if (t >= 0) {
		v = eval(r, n->b);
		t = truth(&v);
	}
	return t < 0 ? unknown : value_truth(t);
}

static struct value eval_unary(const struct run *r, const struct print_node *n)
{
	struct value v = eval(r, n->a);

	if (v.kind != VALUE_INT)
		return unknown;
	if (n->kind == NODE_NEG)
		return value_int(0 - v.u, v.size, v.is_unsigned);
	if (n->kind == NODE_COMPL)
		return value_int(~v.u, v.size, v.is_unsigned);
	v.u = n->type.size == 2 ? __builtin_bswap16((uint16_t)v.u)
	      : n->type.size == 4 ? __builtin_bswap32((uint32_t)v.u)
				  : __builtin_bswap64(v.u);
	return value_int(v.u, n->type.size, true);
}

static bool compare(uint8_t kind, const struct value *a, const struct value *b, bool is_unsigned)
{
	const bool less = is_unsigned ? a->u < b->u : (int64_t)a->u < (int64_t)b->u;

	switch (kind) {
	case NODE_LT: return less;
	case NODE_GT: return !less && a->u != b->u;
	case NODE_LE: return less || a->u == b->u;
	case NODE_GE: return !less;
	case NODE_EQ: return a->u == b->u;
	default: return a->u != b->u;
	}
}

static struct value shift(uint8_t kind, const struct value *a, uint64_t by)
{
	uint64_t u;

	if (by >= 8u * a->size)
		u = kind == NODE_SHR && !a->is_unsigned && (int64_t)a->u < 0 ? UINT64_MAX : 0;
	else if (kind == NODE_SHL)
		u = a->u << by;
	else
		u = a->is_unsigned ? a->u >> by : (uint64_t)((int64_t)a->u >> by);
	return value_int(u, a->size, a->is_unsigned);
}

static struct value divide(uint8_t kind, uint64_t a, uint64_t b, unsigned size, bool is_unsigned)
{
	uint64_t q;

	if (!b)
		return unknown;
	if (is_unsigned)
		q = a / b;
	else if (b == UINT64_MAX) /* the least number divided by -1 has no value in C */
		q = 0 - a;
	else
		q = (uint64_t)((int64_t)a / (int64_t)b);
	return value_int(kind == NODE_DIV ? q : a - q * b, size, is_unsigned);
}

static struct value eval_binary(const struct run *r, const struct print_node *n)
{
	struct value a = eval(r, n->a), b = eval(r, n->b);
	bool is_unsigned;
	unsigned size;

	if (a.kind != VALUE_INT || b.kind != VALUE_INT)
		return unknown;
	if (n->kind == NODE_SHL || n->kind == NODE_SHR)
		return shift(n->kind, &a, b.u);
	/* The usual conversions: the wider type wins, at equal width the unsigned one. */
	size = a.size > b.size ? a.size : b.size;
	is_unsigned = a.size == b.size	? a.is_unsigned || b.is_unsigned
		      : a.size > b.size ? a.is_unsigned
					: b.is_unsigned;
	a = value_int(a.u, size, is_unsigned);
	b = value_int(b.u, size, is_unsigned);
	switch (n->kind) {
	case NODE_MUL: return value_int(a.u * b.u, size, is_unsigned);
	case NODE_DIV:
	case NODE_MOD: return divide(n->kind, a.u, b.u, size, is_unsigned);
	case NODE_ADD: return value_int(a.u + b.u, size, is_unsigned);
	case NODE_SUB: return value_int(a.u - b.u, size, is_unsigned);
	case NODE_AND: return value_int(a.u & b.u, size, is_unsigned);
	case NODE_XOR: return value_int(a.u ^ b.u, size, is_unsigned);
	case NODE_OR: return value_int(a.u | b.u, size, is_unsigned);
	default: return value_truth(compare(n->kind, &a, &b, is_unsigned));
	}
}

static struct value eval(const struct run *r, const struct print_node *n)
{
	switch (n->kind) {
	case NODE_UNKNOWN: return unknown;
	case NODE_CONST: return value_int(n->value, n->type.size, n->type.is_unsigned);
	case NODE_STRING:
		return (struct value){ .kind = VALUE_TEXT,
				       .p = (const uint8_t *)n->str.p,
				       .len = (uint32_t)n->str.len };
	case NODE_FIELD:
	case NODE_DYNAMIC: return eval_field(r, n->field, false);
	case NODE_ADDRESS: return eval_field(r, n->field, true);
	case NODE_DYNAMIC_LEN: return eval_dynamic_len(r, n->field);
	case NODE_CAST: return eval_cast(r, n);
	case NODE_NEG:
	case NODE_COMPL:
	case NODE_SWAP: return eval_unary(r, n);
	case NODE_NOT:
	case NODE_ANDAND:
	case NODE_OROR:
	case NODE_COND: return eval_logic(r, n);
	case NODE_DEREF:
	case NODE_INDEX: return eval_index(r, n);
	case NODE_FLAGS:
	case NODE_SYMBOLIC:
	case NODE_HEX:
	case NODE_HEX_STR:
	case NODE_ARRAY:
	case NODE_BITMASK:
	case NODE_BITLIST: return (struct value){ .kind = VALUE_MADE, .node = n };
	default: return eval_binary(r, n);
	}
}

bool print_fold(const struct print_node *n, const struct trace_abi *abi, uint64_t *value,
		struct c_type *type)
{
	const struct run r = { .abi = *abi }; /* without a record no field has a value */
	const struct value v = eval(&r, n);

	if (v.kind != VALUE_INT || v.pointer)
		return false;
	*value = v.u;
	*type = (struct c_type){ .size = v.size, .is_unsigned = v.is_unsigned };
	return true;
}

/* ---- text made of values */

static bool is_full(const struct run *r)
{
	return r->out->len >= r->limit || r->out->error;
}

static void put_0x(struct out *o, uint64_t u)
{
	out_str(o, "0x");
	out_hex(o, u);
}

/* SPEC uftrace/print-flags: the names of set bits, what is left in hexadecimal */
static bool made_flags(const struct run *r, const struct print_node *n)
{
	struct value v = eval(r, n->a);
	uint64_t left = plain_bits(&v);
	bool any = false;

	if (v.kind != VALUE_INT)
		return false;
	for (uint32_t i = 0; i < n->nitems && left && !is_full(r); i++) {
		const uint64_t bits = n->items[i].value;

		if (!bits || (left & bits) != bits)
			continue;
		if (any)
			out_bytes(r->out, n->str.p, n->str.len);
		out_bytes(r->out, n->items[i].name.p, n->items[i].name.len);
		any = true;
		left &= ~bits;
	}
	if (left) {
		if (any)
			out_bytes(r->out, n->str.p, n->str.len);
		put_0x(r->out, left);
	}
	return true;
}

static bool made_symbol(const struct run *r, const struct print_node *n)
{
	struct value v = eval(r, n->a);
	const uint64_t u = plain_bits(&v);

	if (v.kind != VALUE_INT)
		return false;
	for (uint32_t i = 0; i < n->nitems; i++) {
		/* -1 as an int is -1 as a long. */
		if (n->items[i].value == v.u ||
		    (v.size == 4 && (uint32_t)n->items[i].value == u &&
		     (int64_t)n->items[i].value == (int32_t)n->items[i].value)) {
			out_bytes(r->out, n->items[i].name.p, n->items[i].name.len);
			return true;
		}
	}
	put_0x(r->out, u);
	return true;
}

static void put_hex_bytes(const struct run *r, const uint8_t *p, uint64_t len, char between)
{
	static const char digits[] = "0123456789abcdef";

	for (uint64_t i = 0; i < len && !is_full(r); i++) {
		if (i && between)
			out_char(r->out, between);
		out_char(r->out, digits[p[i] >> 4]);
		out_char(r->out, digits[p[i] & 15]);
	}
}

static bool made_hex(const struct run *r, const struct print_node *n)
{
	struct value v = eval(r, n->a), len = eval(r, n->b);

	if (v.kind != VALUE_BYTES || len.kind != VALUE_INT)
		return false;
	put_hex_bytes(r, v.p, len.u < v.len ? len.u : v.len, n->kind == NODE_HEX ? ' ' : '\0');
	return true;
}

static bool made_array(const struct run *r, const struct print_node *n)
{
	struct value v = eval(r, n->a), elem = eval(r, n->c),
		     count = { .kind = VALUE_INT, .u = UINT64_MAX };

	if (n->b)
		count = eval(r, n->b);
	if (v.kind != VALUE_BYTES || count.kind != VALUE_INT || elem.kind != VALUE_INT)
		return false;
	if (elem.u != 1 && elem.u != 2 && elem.u != 4 && elem.u != 8)
		return false;
	if (count.u > v.len / elem.u)
		count.u = v.len / elem.u;
	for (uint64_t i = 0; i < count.u && !is_full(r); i++) {
		if (i)
			out_char(r->out, ' ');
		out_u64(r->out, load_int(v.p + i * elem.u, (uint32_t)elem.u, false, r->abi.swap));
	}
	return true;
}

/* Bit `i` of a mask, which the kernel keeps as an array of long. */
static bool mask_bit(const struct run *r, const uint8_t *p, uint64_t len, uint64_t i)
{
	const uint64_t bits = 8u * r->abi.long_size, word = i / bits * r->abi.long_size;
	uint64_t at = i % bits / 8;

	if (r->abi.big_endian)
		at = r->abi.long_size - 1 - at;
	return word + at < len && (p[word + at] >> (i % 8) & 1);
}

/* 00000000,0000000f: groups of 32 bits, the highest first. */
static void put_bitmask(const struct run *r, const uint8_t *p, uint64_t len, uint64_t nbits)
{
	for (uint64_t digit = (nbits + 3) / 4; digit > 0 && !is_full(r); digit--) {
		unsigned v = 0;

		for (unsigned b = 4; b-- > 0;)
			v = v << 1 | mask_bit(r, p, len, (digit - 1) * 4 + b);
		out_char(r->out, "0123456789abcdef"[v]);
		if (digit > 1 && (digit - 1) % 8 == 0)
			out_char(r->out, ',');
	}
}

/* 0-3,8 */
static void put_bitlist(const struct run *r, const uint8_t *p, uint64_t len, uint64_t nbits)
{
	bool any = false;

	for (uint64_t i = 0; i < nbits && !is_full(r); i++) {
		uint64_t last = i;

		if (!mask_bit(r, p, len, i))
			continue;
		while (last + 1 < nbits && mask_bit(r, p, len, last + 1))
			last++;
		if (any)
			out_char(r->out, ',');
		out_u64(r->out, i);
		if (last > i) {
			out_char(r->out, '-');
			out_u64(r->out, last);
		}
		any = true;
		i = last;
	}
}

static bool made_mask(const struct run *r, const struct print_node *n)
{
	uint32_t len;
	const uint8_t *p = field_bytes(n->field, r->f, r->rec, r->len, &len);

	if (!p)
		return false;
	if (n->kind == NODE_BITMASK)
		put_bitmask(r, p, len, 8ull * len);
	else
		put_bitlist(r, p, len, 8ull * len);
	return true;
}

static bool put_made(const struct run *r, const struct print_node *n)
{
	switch (n->kind) {
	case NODE_FLAGS: return made_flags(r, n);
	case NODE_SYMBOLIC: return made_symbol(r, n);
	case NODE_HEX:
	case NODE_HEX_STR: return made_hex(r, n);
	case NODE_ARRAY: return made_array(r, n);
	default: return made_mask(r, n);
	}
}

/* ---- conversions */

/* A conversion with its `*` replaced. */
struct conversion {
	const struct print_op *op;
	uint8_t flags;
	int width, prec;
};

/* Cuts and pads what was appended from `start` on. */
static void fit_text(const struct run *r, const struct conversion *c, size_t start)
{
	struct out *o = r->out;
	size_t len, pad;

	if (o->error)
		return;
	assert(o->len >= start);
	len = o->len - start;
	if (c->prec >= 0 && len > (size_t)c->prec) {
		o->len = start + (size_t)c->prec;
		len = (size_t)c->prec;
	}
	if (c->width < 0 || len >= (size_t)c->width)
		return;
	pad = (size_t)c->width - len;
	out_pad(o, ' ', pad);
	if (!(c->flags & PRINT_LEFT) && !o->error) {
		memmove(o->buf + start + pad, o->buf + start, len);
		memset(o->buf + start, ' ', pad);
	}
}

static void put_number(const struct run *r, const struct conversion *c, uint64_t u, bool negative,
		       unsigned base)
{
	char digits[24], sign = 0;
	size_t n = 0, zeros = 0, total;
	const char *const set = c->op->conv == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	const char *prefix = "";

	for (uint64_t v = u; v || !n; v /= base) {
		if (!v && c->prec == 0)
			break;
		digits[n++] = set[v % base];
	}
	if (c->flags & PRINT_ALT && base == 16 && u)
		prefix = c->op->conv == 'X' ? "0X" : "0x";
	if (c->prec > (int)n)
		zeros = (size_t)c->prec - n;
	if (c->flags & PRINT_ALT && base == 8 && !zeros && u)
		zeros = 1;
	if (negative)
		sign = '-';
	else if (c->op->conv == 'd')
		sign = c->flags & PRINT_PLUS ? '+' : c->flags & PRINT_BLANK ? ' ' : '\0';
	total = n + zeros + strlen(prefix) + (sign != 0);
	if (c->prec < 0 && c->flags & PRINT_ZERO && !(c->flags & PRINT_LEFT) &&
	    c->width > (int)total)
		zeros += (size_t)c->width - total;
	total = n + zeros + strlen(prefix) + (sign != 0);
	if (!(c->flags & PRINT_LEFT) && c->width > (int)total)
		out_pad(r->out, ' ', (size_t)c->width - total);
	if (sign)
		out_char(r->out, sign);
	out_str(r->out, prefix);
	out_pad(r->out, '0', zeros);
	while (n)
		out_char(r->out, digits[--n]);
	if (c->flags & PRINT_LEFT && c->width > (int)total)
		out_pad(r->out, ' ', (size_t)c->width - total);
}

static unsigned length_size(const struct run *r, uint8_t length)
{
	switch (length) {
	case LENGTH_CHAR: return 1;
	case LENGTH_SHORT: return 2;
	case LENGTH_LONG: return r->abi.long_size;
	case LENGTH_LLONG: return 8;
	default: return 4;
	}
}

/* Text of a value of any kind but INT; false: it has none. */
static bool put_text(const struct run *r, const struct value *v)
{
	if (v->kind == VALUE_TEXT)
		out_bytes(r->out, v->p, v->len);
	else if (v->kind == VALUE_BYTES)
		out_bytes(r->out, v->p, strnlen((const char *)v->p, v->len));
	else
		return v->kind == VALUE_MADE && put_made(r, v->node);
	return true;
}

static bool convert_string(const struct run *r, const struct conversion *c, const struct value *v)
{
	const size_t start = r->out->len;

	if (v->kind == VALUE_INT) /* an address whose text was not recorded */
		out_hex(r->out, plain_bits(v));
	else if (!put_text(r, v))
		return false;
	fit_text(r, c, start);
	return true;
}

static bool convert_number(const struct run *r, const struct conversion *c, const struct value *v)
{
	const char conv = c->op->conv;
	const size_t start = r->out->len;
	uint64_t u;

	if (v->kind == VALUE_MADE || v->kind == VALUE_TEXT)
		return convert_string(r, c, v);
	if (v->kind != VALUE_INT)
		return false;
	if (conv == 'c') {
		out_char(r->out, (char)v->u);
		fit_text(r, c, start);
		return true;
	}
	u = cut_int(v->u, length_size(r, c->op->length), conv != 'd');
	if (conv == 'd' && (int64_t)u < 0)
		put_number(r, c, 0 - u, true, 10);
	else
		put_number(r, c, u, false, conv == 'o' ? 8 : conv == 'x' || conv == 'X' ? 16 : 10);
	return true;
}

/* ---- pointers */

static bool ext_has(const struct conversion *c, char letter)
{
	return text_find(c->op->ext, letter) >= 0;
}

/* %pM 01:02:.. %pMR reversed %pMF with dashes %pm without */
static bool put_mac(const struct run *r, const struct conversion *c, const struct value *v)
{
	const char between = *c->op->ext.p == 'm' ? '\0' : ext_has(c, 'F') ? '-' : ':';
	uint8_t mac[6];

	if (v->kind != VALUE_BYTES || v->len < sizeof(mac))
		return false;
	for (size_t i = 0; i < sizeof(mac); i++)
		mac[i] = v->p[ext_has(c, 'R') ? sizeof(mac) - 1 - i : i];
	put_hex_bytes(r, mac, sizeof(mac), between);
	return true;
}

static void put_ip4(const struct run *r, const uint8_t *p, bool reversed, bool zeros)
{
	for (size_t i = 0; i < 4; i++) {
		const uint8_t b = p[reversed ? 3 - i : i];

		if (i)
			out_char(r->out, '.');
		out_printf(r->out, zeros ? "%03u" : "%u", b);
	}
}

/* The longest run of two and more zero groups, the first of equals. */
static void ip6_gap(const uint8_t *p, unsigned *from, unsigned *count)
{
	unsigned n = 0;

	*from = *count = 0;
	for (unsigned i = 0; i < 8; i++) {
		n = p[2 * i] || p[2 * i + 1] ? 0 : n + 1;
		if (n > *count) {
			*count = n;
			*from = i + 1 - n;
		}
	}
	if (*count < 2)
		*count = 0;
}

static void put_ip6(const struct run *r, const uint8_t *p, bool compressed, bool colons)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	unsigned from, count;

	if (!compressed) {
		for (unsigned i = 0; i < 8; i++) {
			if (i && colons)
				out_char(r->out, ':');
			put_hex_bytes(r, p + 2 * i, 2, '\0');
		}
		return;
	}
	if (memcmp(p, mapped, sizeof(mapped)) == 0) {
		out_str(r->out, "::ffff:");
		put_ip4(r, p + sizeof(mapped), false, false);
		return;
	}
	ip6_gap(p, &from, &count);
	for (unsigned i = 0; i < 8; i++) {
		if (count && i == from) {
			out_str(r->out, "::");
			i += count - 1;
			continue;
		}
		if (i && !(count && i == from + count))
			out_char(r->out, ':');
		out_hex(r->out, (uint64_t)p[2 * i] << 8 | p[2 * i + 1]);
	}
}

/* %pISpc: a sockaddr with its port */
static bool put_sockaddr(const struct run *r, const struct conversion *c, const struct value *v)
{
	enum { INET = 2, INET6 = 10 };
	const bool port = ext_has(c, 'p');
	unsigned family;

	if (v->kind != VALUE_BYTES || v->len < 4)
		return false;
	family = load16(v->p, r->abi.swap);
	if (family == INET && v->len >= 8) {
		put_ip4(r, v->p + 4, false, *c->op->ext.p == 'i');
	} else if (family == INET6 && v->len >= 24) {
		if (port)
			out_char(r->out, '[');
		put_ip6(r, v->p + 8, ext_has(c, 'c'), *c->op->ext.p == 'I');
		if (port)
			out_char(r->out, ']');
	} else {
		return false;
	}
	if (port) {
		out_char(r->out, ':');
		out_u64(r->out, (uint64_t)v->p[2] << 8 | v->p[3]);
	}
	return true;
}

/* %pI4 %pi4 %pI6 %pI6c %pi6 %pIS */
static bool put_ip(const struct run *r, const struct conversion *c, const struct value *v)
{
	const struct text ext = c->op->ext;
	const char kind = ext.len > 1 ? ext.p[1] : '\0';

	if (kind == 'S')
		return put_sockaddr(r, c, v);
	if (v->kind != VALUE_BYTES)
		return false;
	if (kind == '4' && v->len >= 4)
		put_ip4(r, v->p, ext_has(c, 'l') || (ext_has(c, 'h') && !r->abi.big_endian),
			*ext.p == 'i');
	else if (kind == '6' && v->len >= 16)
		put_ip6(r, v->p, ext_has(c, 'c') && *ext.p == 'I', *ext.p == 'I');
	else
		return false;
	return true;
}

/* %pU: big-endian as %pUb, little as %pUl; B and L in capitals */
static bool put_uuid(const struct run *r, const struct conversion *c, const struct value *v)
{
	static const uint8_t little[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	const bool swapped = ext_has(c, 'l') || ext_has(c, 'L');
	const bool capitals = ext_has(c, 'B') || ext_has(c, 'L');

	if (v->kind != VALUE_BYTES || v->len < 16)
		return false;
	for (unsigned i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out_char(r->out, '-');
		out_printf(r->out, capitals ? "%02X" : "%02x", v->p[swapped ? little[i] : i]);
	}
	return true;
}

/* %*ph: dumps as many bytes as the argument says */
static bool put_dump(const struct run *r, const struct conversion *c, const struct value *v)
{
	const uint32_t n = c->width < 0 ? 1 : (uint32_t)c->width;

	if (v->kind != VALUE_BYTES)
		return false;
	put_hex_bytes(r, v->p, n < v->len ? n : v->len,
		      ext_has(c, 'C') ? ':' : ext_has(c, 'D') ? '-' : ext_has(c, 'N') ? '\0' : ' ');
	return true;
}

/* %*pb, %*pbl: shows as many bits as the argument says */
static bool put_bits(const struct run *r, const struct conversion *c, const struct value *v)
{
	const uint64_t n = c->width < 0 ? 0 : (uint64_t)c->width;

	if (v->kind != VALUE_BYTES)
		return false;
	if (ext_has(c, 'l'))
		put_bitlist(r, v->p, v->len, n);
	else
		put_bitmask(r, v->p, v->len, n);
	return true;
}

/* An address: by name where the letter asks for one and it is known. */
static bool put_address(const struct run *r, const struct conversion *c, const struct value *v)
{
	const char letter = c->op->ext.len ? *c->op->ext.p : '\0';
	const size_t start = r->out->len;
	uint64_t u = v->u, delta = 0;
	const char *name = NULL;

	if (v->kind != VALUE_INT)
		return false;
	if (r->abi.long_size == 4)
		u = (uint32_t)u;
	if (letter && strchr("sSfFB", letter) && r->names &&
	    r->names->find(r->names->ctx, u, &name, &delta)) {
		out_str(r->out, name);
		if (letter == 'S' || letter == 'F' || letter == 'B') {
			out_char(r->out, '+');
			put_0x(r->out, delta);
		}
	} else if (!u && !letter) {
		out_str(r->out, "(nil)");
	} else {
		put_0x(r->out, u);
	}
	fit_text(r, c, start);
	return true;
}

static bool convert_pointer(const struct run *r, const struct conversion *c, const struct value *v)
{
	switch (c->op->ext.len ? *c->op->ext.p : '\0') {
	case 'M':
	case 'm': return put_mac(r, c, v);
	case 'I':
	case 'i': return put_ip(r, c, v);
	case 'U': return put_uuid(r, c, v);
	case 'h': return put_dump(r, c, v);
	case 'b': return put_bits(r, c, v);
	default: return put_address(r, c, v) || put_text(r, v);
	}
}

/* ---- the format */

/* The number of a `*`; a negative width means to the left. */
static void star(const struct run *r, const struct print_node *arg, int *n)
{
	struct value v;

	if (!arg)
		return;
	v = eval(r, arg);
	if (v.kind != VALUE_INT)
		return;
	if ((int64_t)v.u > PRINT_WIDTH_MAX)
		*n = PRINT_WIDTH_MAX;
	else
		*n = (int64_t)v.u < -PRINT_WIDTH_MAX ? -PRINT_WIDTH_MAX : (int)(int64_t)v.u;
}

/*
 * An argument that cannot be computed: as written, where that is short; else the name that has no
 * value.
 */
static void put_unknown(const struct run *r, const struct print_op *op)
{
	const bool is_long = op->source.len > PRINT_SOURCE_SHOWN;

	if (is_long && op->unknown.len) {
		out_char(r->out, '<');
		out_bytes(r->out, op->unknown.p, op->unknown.len);
		out_char(r->out, '>');
		return;
	}
	out_bytes(r->out, op->source.p, is_long ? PRINT_SOURCE_SHOWN : op->source.len);
	if (is_long)
		out_str(r->out, "...");
}

static void convert(const struct run *r, const struct print_op *op)
{
	struct conversion c = {
		.op = op, .flags = op->flags, .width = op->width, .prec = op->prec
	};
	const size_t start = r->out->len;
	struct value v;
	bool done;

	if (!op->arg) {
		out_bytes(r->out, op->spec.p, op->spec.len);
		return;
	}
	star(r, op->width_arg, &c.width);
	star(r, op->prec_arg, &c.prec);
	if (op->width_arg && c.width < 0) {
		c.flags |= PRINT_LEFT;
		c.width = -c.width;
	}
	v = eval(r, op->arg);
	done = op->conv == 'p' ? convert_pointer(r, &c, &v)
	       : op->conv == 's' ? convert_string(r, &c, &v)
				 : convert_number(r, &c, &v);
	if (!done) {
		out_cut(r->out, start);
		put_unknown(r, op);
	}
}

void print_run(const struct print_plan *plan, const struct tracefmt *f, const uint8_t *rec,
	       uint32_t len, const struct trace_names *names, struct out *out)
{
	const struct run r = {
		.f = f, .abi = f->abi, .rec = rec, .len = len, .names = names, .out = out,
		.limit = out->len + PRINT_TEXT_MAX };

	for (uint32_t i = 0; i < plan->nops; i++) {
		out_bytes(out, plan->ops[i].literal.p, plan->ops[i].literal.len);
		if (plan->ops[i].conv)
			convert(&r, &plan->ops[i]);
		if (is_full(&r)) {
			out_str(out, "...");
			return;
		}
	}
}
