/*
 * Arguments of calls as payloads: each argument has a specification (`.dbg`) and its bytes. Types
 * that specifications lack are written as the nearest one, or as text.
 */
#include "base/bits.h"
#include "format/uftrace/writing.h"
#include "model/args.h"

enum { NESTING = 16, TEXT_LEAST = 8 /* bytes that a text takes, cut */ };

static const struct uft_arg text_arg = { .letter = 's' };

/* --- values as text --- */

static void hex_text(struct out *o, const struct spur_value *v)
{
	static const char digits[] = "0123456789abcdef";

	for (uint32_t i = 0; i < v->count && o->len < 2 * UFT_PAYLOAD; i++) {
		out_char(o, digits[(uint8_t)v->text[i] >> 4]);
		out_char(o, digits[v->text[i] & 15]);
	}
}

static void value_text(struct uft_lane *l, const struct spur_value *v, unsigned depth,
		       struct out *o);

/* {name=value, name=value} or [value, value] */
static void items_text(struct uft_lane *l, const struct spur_value *v, unsigned depth,
		       struct out *o)
{
	const bool is_struct = v->type == SPUR_STRUCT;

	out_char(o, is_struct ? '{' : '[');
	for (uint32_t i = 0; i < v->count && depth < NESTING && o->len < 2 * UFT_PAYLOAD; i++) {
		size_t len;
		const char *name = trace_string(l->self->trace, v->items[i].name, &len);

		if (i)
			out_str(o, ", ");
		if (is_struct) {
			out_bytes(o, name, len);
			out_char(o, '=');
		}
		value_text(l, &v->items[i], depth + 1, o);
	}
	out_char(o, is_struct ? '}' : ']');
}

static void value_text(struct uft_lane *l, const struct spur_value *v, unsigned depth,
		       struct out *o)
{
	switch ((enum spur_type)v->type) {
	case SPUR_NULL:
		out_str(o, "NULL");
		break;
	case SPUR_I64:
		out_i64(o, v->i);
		break;
	case SPUR_U64:
		out_u64(o, v->u);
		break;
	case SPUR_F64:
		if (v->label)
			out_str(o, v->label);
		else
			out_double(o, v->f);
		break;
	case SPUR_BOOL:
		out_str(o, v->u ? "true" : "false");
		break;
	case SPUR_STRING:
		out_bytes(o, v->text, v->count < 2 * UFT_PAYLOAD ? v->count : 2 * UFT_PAYLOAD);
		break;
	case SPUR_BYTES:
		hex_text(o, v);
		break;
	case SPUR_POINTER:
	case SPUR_KOID:
		out_str(o, "0x");
		out_hex(o, v->u);
		break;
	case SPUR_ENUM:
		if (v->label)
			out_str(o, v->label);
		else
			out_i64(o, v->i);
		break;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		items_text(l, v, depth, o);
		break;
	}
}

/* --- values as bytes --- */

static bool is_size(unsigned bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* The recorded size of a number, if it holds the value. */
static uint8_t bits_of(const struct spur_value *v)
{
	const unsigned bits = is_size(v->size) ? 8u * v->size : 64;

	if (bits == 64)
		return 64;
	if (v->type == SPUR_U64)
		return v->u >> bits ? 64 : (uint8_t)bits;
	return v->i >> (bits - 1) == 0 || v->i >> (bits - 1) == -1 ? (uint8_t)bits : 64;
}

/* Appends an item of a payload, from a multiple of 4 on. It has room. */
static void bytes_put(struct uft_lane *l, const void *p, size_t len)
{
	const size_t padded = align_up(len, 4);

	memset(l->payload + l->len, 0, padded);
	memcpy(l->payload + l->len, p, len);
	l->len += padded;
}

/* SPEC uftrace/string: a length of 2 bytes, then the bytes; cut between characters */
static bool text_put(struct uft_lane *l, const char *s, size_t len, size_t room)
{
	const size_t most = room - 2 < len ? room - 2 : len;
	const uint16_t n = (uint16_t)most;
	uint16_t cut = n;

	while (n < len && cut && n - cut < 4 && ((uint8_t)s[cut] & 0xc0) == 0x80)
		cut--;
	memset(l->payload + l->len, 0, align_up(2 + (size_t)cut, 4));
	l->payload[l->len] = (uint8_t)cut;
	l->payload[l->len + 1] = (uint8_t)(cut >> 8);
	if (cut)
		memcpy(l->payload + l->len + 2, s, cut);
	l->len += align_up(2 + (size_t)cut, 4);
	return cut == len;
}

/* The bytes of the machine are little endian, or the record says that they are not. */
static struct uft_arg number_put(struct uft_lane *l, const struct spur_value *v, char letter,
				 uint8_t bits)
{
	const uint64_t n = v->u;
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(n >> 8 * i);
	bytes_put(l, bytes, bits / 8);
	return (struct uft_arg){ .letter = letter, .bits = bits };
}

static struct uft_arg float_put(struct uft_lane *l, const struct spur_value *v, unsigned kind)
{
	struct spur_value number = { 0 };
	float f = (float)v->f;
	uint32_t bits;

	if (v->label)
		loss_add(&l->self->write->loss, LOST_TYPE, kind);
	if (v->size == 4 && (double)f == v->f) {
		memcpy(&bits, &f, sizeof(bits));
		number.u = bits;
		return number_put(l, &number, 'f', 32);
	}
	memcpy(&number.u, &v->f, sizeof(number.u));
	return number_put(l, &number, 'f', 64);
}

/* A value of a type that specifications lack. */
static struct uft_arg other_put(struct uft_lane *l, const struct spur_value *v, unsigned kind,
				size_t room)
{
	loss_add(&l->self->write->loss, LOST_TYPE, kind);
	out_clear(&l->text);
	value_text(l, v, 0, &l->text);
	if (!text_put(l, l->text.buf, l->text.len, room))
		loss_add(&l->self->write->loss, LOST_TEXT, kind);
	return text_arg;
}

static struct uft_arg value_put(struct uft_lane *l, const struct spur_value *v, unsigned kind,
				size_t room)
{
	switch ((enum spur_type)v->type) {
	case SPUR_I64:
		return v->show == SPUR_SHOW_CHAR && v->size == 1 && bits_of(v) == 8
			       ? (number_put(l, v, 'c', 8), (struct uft_arg){ .letter = 'c' })
			       : number_put(l, v, 'i', bits_of(v));
	case SPUR_U64:
		return number_put(l, v, v->show == SPUR_SHOW_HEX ? 'x' : 'u', bits_of(v));
	case SPUR_POINTER:
		number_put(l, v, 'p', 64);
		return (struct uft_arg){ .letter = 'p' };
	case SPUR_F64:
		return float_put(l, v, kind);
	case SPUR_NULL:
		/* SPEC uftrace/string: a length and the bytes FF FF FF FF */
		text_put(l, "\xff\xff\xff\xff", 4, room);
		return text_arg;
	case SPUR_STRING:
		if (!text_put(l, v->text, v->count, room))
			loss_add(&l->self->write->loss, LOST_TEXT, kind);
		return text_arg;
	default:
		return other_put(l, v, kind, room);
	}
}

/* --- rows --- */

/* Decodes them. Returns false if out of memory. */
static bool args_get(struct uft_lane *l, const struct spur_event *row)
{
	struct write *w = l->self->write;
	const enum spur_status st = w->args(w, row, &l->args);

	if (st == SPUR_WARN)
		loss_add(&w->loss, LOST_PAYLOAD, row->kind);
	return st != SPUR_FAIL;
}

bool uft_args(struct uft_lane *l, const struct spur_event *row, bool is_return)
{
	const size_t most = is_return ? 1 : UFT_ARGS;
	size_t n;

	l->len = l->nsig = 0;
	if (!row->nargs)
		return true;
	if (!args_get(l, row))
		return false;
	n = l->args.count < most ? l->args.count : most;
	if (n < l->args.count)
		loss_add(&l->self->write->loss, LOST_MANY, row->kind);
	for (size_t i = 0; i < n; i++) {
		/* Each of those that follow has room for a number or a short text. */
		const size_t room = UFT_PAYLOAD - l->len - TEXT_LEAST * (n - 1 - i);
		struct uft_arg arg = value_put(l, &l->args.items[i], row->kind, room);

		memset(&l->sig[i], 0, sizeof(l->sig[i]));
		l->sig[i].name = l->args.items[i].name;
		l->sig[i].letter = arg.letter;
		l->sig[i].bits = arg.bits;
		l->nsig++;
	}
	memset(l->payload + l->len, 0, align_up(l->len, 8) - l->len);
	l->len = align_up(l->len, 8);
	return !l->text.error;
}

bool uft_args_text(struct uft_lane *l, const struct spur_event *row, struct out *o)
{
	struct out text;

	if (!row->nargs)
		return !o->error;
	if (!args_get(l, row))
		return false;
	out_to_memory(&text);
	for (size_t i = 0; i < l->args.count; i++) {
		const struct spur_value *v = &l->args.items[i];
		size_t len;
		const char *name = trace_string(l->self->trace, v->name, &len);

		if (i)
			out_char(o, ' ');
		if (row->kind != SPUR_LOG || l->args.count > 1) {
			uft_text_out(o, name, len, false);
			out_char(o, '=');
		}
		out_clear(&text);
		value_text(l, v, 0, &text);
		uft_text_out(o, text.buf, text.len, false);
	}
	out_free(&text);
	return !o->error;
}
