/* Arguments of the output. See write.h. */
#include <stdio.h>

#include "format/fxt/write.h"

enum {
	ARGS_WORDS = FXT_RECORD_MOST - 15, /* of a record, for its arguments */
	ARG_LEAST = 2, /* words of most arguments */
	NESTING = 32,
};

bool fxt_write_decode(struct fxt_write *l, const struct spur_event *row)
{
	const enum spur_status st = l->w->args(l->w, row, &l->values);

	if (st == SPUR_WARN)
		fxt_lose(l, FXT_LOST_PAYLOAD);
	return st != SPUR_FAIL;
}

/* Bytes that a text or blob may have, so that the arguments after it have room too. */
static uint64_t room(const struct fxt_write *l)
{
	const uint32_t others = (uint32_t)(FXT_ARGS - 1 - l->nargs) * ARG_LEAST + ARG_LEAST,
		       used = l->args.words + others;

	return used < ARGS_WORDS ? (uint64_t)(ARGS_WORDS - used) * FXT_WORD : 0;
}

static void lose_text(struct fxt_write *l)
{
	l->cut = true;
	fxt_lose(l, FXT_LOST_TEXT);
}

static void set_text(struct fxt_write *l, const char *text, uint64_t len, struct fxt_arg *a)
{
	const uint64_t left = room(l), most = len < FXT_INLINE ? FXT_INLINE - 1 : FXT_TEXT_MOST;
	const uint32_t n = fxt_text_cut(text, len, most < left ? most : left);

	if (n < len)
		lose_text(l);
	a->type = FXT_ARG_STRING;
	a->text = (struct fxt_string_ref){ .ref = (uint16_t)(n ? FXT_INLINE | n : 0),
					   .len = n,
					   .text = text };
}

/* Whether a number is in the argument's header. */
static inline bool integer_is_small(const struct spur_value *v)
{
	return v->size && v->size <= 4 &&
	       (v->type != SPUR_U64 ? v->i == (int32_t)v->i : v->u == (uint32_t)v->u);
}

static void set_integer(const struct spur_value *v, struct fxt_arg *a)
{
	const bool is_signed = v->type != SPUR_U64, small = integer_is_small(v);

	a->type = is_signed ? (small ? FXT_ARG_I32 : FXT_ARG_I64)
			    : (small ? FXT_ARG_U32 : FXT_ARG_U64);
	a->head = fxt_put(FXT_F_ARG_VALUE, v->u & UINT32_MAX);
	a->word = v->u;
}

static void set_bytes(struct fxt_write *l, const struct spur_value *v, struct fxt_arg *a)
{
	const uint64_t left = room(l);

	if (v->label)
		fxt_lose(l, FXT_LOST_TYPE);
	if (v->count > left)
		lose_text(l);
	a->type = FXT_ARG_BLOB;
	a->data = (const uint8_t *)v->text;
	a->len = v->count < left ? v->count : left;
}

/* The value of an argument that is not nested. */
static void set_value(struct fxt_write *l, const struct spur_value *v, struct fxt_arg *a)
{
	a->word = v->u;
	switch ((enum spur_type)v->type) {
	case SPUR_I64:
	case SPUR_U64:
		set_integer(v, a);
		break;
	case SPUR_ENUM:
		fxt_lose(l, FXT_LOST_TYPE);
		if (v->label)
			set_text(l, v->label, strlen(v->label), a);
		else
			set_integer(v, a);
		break;
	case SPUR_F64:
		if (v->size && v->size != FXT_WORD)
			fxt_lose(l, FXT_LOST_TYPE);
		a->type = FXT_ARG_F64;
		break;
	case SPUR_BOOL:
		a->type = FXT_ARG_BOOL;
		a->head = fxt_put(FXT_F_ARG_VALUE, v->u != 0);
		break;
	case SPUR_POINTER:
		a->type = FXT_ARG_POINTER;
		break;
	case SPUR_KOID:
		a->type = FXT_ARG_KOID;
		break;
	case SPUR_STRING:
		set_text(l, v->text, v->count, a);
		break;
	case SPUR_BYTES:
		set_bytes(l, v, a);
		break;
	case SPUR_NULL:
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		a->type = FXT_ARG_NULL;
		break;
	}
}

/*
 * The name of a part of an argument: NAME.PART of a structure, NAME[PART] of an array. Each is made
 * once. Returns 0 if out of memory.
 */
static uint32_t part_name(struct fxt_write *l, uint32_t name, uint32_t part, bool is_array)
{
	struct map64_slot *slot = map64_put(&l->joined[is_array], (uint64_t)name << 32 | part);
	struct out text;
	size_t len;
	const char *s;

	if (!slot)
		return 0;
	if (slot->value)
		return (uint32_t)slot->value;
	out_to_memory(&text);
	s = trace_string(l->t, name, &len);
	out_bytes(&text, s, len);
	if (is_array) {
		out_printf(&text, "[%u]", (unsigned)part);
	} else {
		out_char(&text, '.');
		s = trace_string(l->t, part, &len);
		out_bytes(&text, s, len);
	}
	slot->value = text.error ? 0 : trace_intern_n(l->t, text.buf, text.len);
	out_free(&text);
	return (uint32_t)slot->value;
}

/* One argument, or a part of one. Returns false if out of memory. */
static bool value_out(struct fxt_write *l, const struct spur_value *v, uint32_t name,
		      unsigned depth, struct out *o)
{
	const bool is_list = v->type == SPUR_STRUCT || v->type == SPUR_ARRAY;
	struct fxt_arg a = { 0 };

	if (is_list)
		fxt_lose(l, FXT_LOST_NESTED);
	if (is_list && v->count && depth < NESTING) {
		for (uint32_t i = 0; i < v->count; i++) {
			const bool is_array = v->type == SPUR_ARRAY;
			uint32_t part;

			if (l->nargs == FXT_ARGS) {
				fxt_lose(l, FXT_LOST_ARGS);
				return true;
			}
			part = part_name(l, name, is_array ? i : v->items[i].name, is_array);
			if (!part || !value_out(l, &v->items[i], part, depth + 1, o))
				return false;
		}
		return true;
	}
	if (l->nargs == FXT_ARGS) {
		fxt_lose(l, FXT_LOST_ARGS);
		return true;
	}
	if (!fxt_write_string(l, name, &a.name, o))
		return false;
	set_value(l, v, &a);
	fxt_build_arg(&l->args, &a);
	l->nargs++;
	return true;
}

/* Bytes of a text that is copied into the record at once. */
enum { QUICK_TEXT = 64, QUICK_WORDS = 2 + QUICK_TEXT / FXT_WORD };
/* Beyond these words the arguments that follow might lack room. */
enum { QUICK_MOST = ARGS_WORDS - QUICK_WORDS - FXT_ARGS * ARG_LEAST };

/*
 * Encodes what most arguments are: numbers, and short texts, whose name has an index. Returns false
 * if value_out() has to.
 */
static inline bool value_quick(struct fxt_write *l, const struct spur_value *v)
{
	uint8_t *const p = l->args.bytes + (size_t)l->args.words * FXT_WORD;
	const bool swap = l->args.swap;
	uint64_t type, high = 0;
	uint32_t words = 2;
	uint16_t name;

	if (l->nargs == FXT_ARGS || l->args.words > QUICK_MOST)
		return false;
	if (v->type == SPUR_I64 || v->type == SPUR_U64) {
		const bool is_signed = v->type == SPUR_I64;

		words = integer_is_small(v) ? 1 : 2;
		type = is_signed ? (words == 1 ? FXT_ARG_I32 : FXT_ARG_I64)
				 : (words == 1 ? FXT_ARG_U32 : FXT_ARG_U64);
		high = words == 1 ? v->u & UINT32_MAX : 0;
	} else if (v->type == SPUR_STRING && v->count && v->count <= QUICK_TEXT) {
		type = FXT_ARG_STRING;
		high = FXT_INLINE | v->count;
		words = 1 + (v->count + FXT_WORD - 1) / FXT_WORD;
	} else if (v->type == SPUR_POINTER || v->type == SPUR_KOID) {
		type = v->type == SPUR_POINTER ? FXT_ARG_POINTER : FXT_ARG_KOID;
	} else if (v->type == SPUR_F64 && v->size == FXT_WORD) {
		type = FXT_ARG_F64;
	} else if (v->type == SPUR_BOOL) {
		type = FXT_ARG_BOOL;
		high = v->u != 0;
		words = 1;
	} else {
		return false;
	}
	if (!fxt_string_known(l, v->name, &name))
		return false;
	store64(p, type | (uint64_t)words << 4 | (uint64_t)name << 16 | high << 32, swap);
	if (type == FXT_ARG_STRING) {
		memset(p + (size_t)(words - 1) * FXT_WORD, 0, FXT_WORD);
		memcpy(p + FXT_WORD, v->text, v->count);
	} else if (words == 2) {
		store64(p + FXT_WORD, v->u, swap);
	}
	l->args.words += words;
	l->nargs++;
	return true;
}

bool fxt_write_values(struct fxt_write *l, const struct spur_value *items, size_t count,
		      struct out *o)
{
	l->nargs = 0;
	l->args.words = 0;
	l->args.full = false;
	for (size_t i = 0; i < count; i++)
		if (!value_quick(l, &items[i]) && !value_out(l, &items[i], items[i].name, 0, o))
			return false;
	return true;
}
