/* Decode plans: a flat op list over payload bytes. */
#include "model/class.h"

#include "base/bits.h"
#include "base/out.h"
#include "model/args.h"
#include "model/enum.h"

enum { LABEL_MAX = 512 };

static uint64_t load_uint(const uint8_t *p, uint32_t size, bool swap)
{
	uint64_t v = 0;

	switch (size) {
	case 1: return p[0];
	case 2: return load16(p, swap);
	case 4: return load32(p, swap);
	case 8: return load64(p, swap);
	default: break;
	}
	for (uint32_t i = 0; i < size && i < 8; i++)
		v |= (uint64_t)p[order_swaps(true) == swap ? size - 1 - i : i] << (8 * i);
	return v;
}

static int64_t sign_extend(uint64_t v, uint32_t size)
{
	unsigned shift = size >= 8 ? 0 : 64 - 8 * size;

	return (int64_t)(v << shift) >> shift;
}

/*
 * x87 extended precision: 64 bits of mantissa with the leading one, 15 of exponent (0 as 1), a
 * sign. Exact where the machine's long double has 64 bits of mantissa and 15 of exponent or more.
 */
static long double load_x87(const uint8_t *p, bool swap)
{
	uint8_t b[10];
	uint64_t mant;
	int exp;

	for (int i = 0; i < 10; i++)
		b[i] = swap ? p[9 - i] : p[i];
	mant = load64(b, order_swaps(false));
	exp = (b[9] & 0x7f) << 8 | b[8];
	if (exp == 0x7fff)
		return (mant << 1 ? __builtin_nanl("") : __builtin_infl()) *
		       (b[9] & 0x80 ? -1 : 1);
	return __builtin_ldexpl((long double)mant, (exp ? exp : 1) - 16383 - 63) *
	       (b[9] & 0x80 ? -1 : 1);
}

/* A long double: the nearest double, and as the label the digits of what a double cannot hold. */
static void wide_value(const uint8_t *p, bool swap, struct spur_args *args, struct spur_value *v)
{
	const long double wide = load_x87(p, swap);
	char digits[PUT_LONG_DOUBLE];
	struct out narrow;
	size_t n;

	v->f = (double)wide;
	if (wide != wide || (long double)v->f == wide)
		return;
	n = (size_t)(put_long_double(digits, wide) - digits);
	out_to_memory(&narrow);
	out_double(&narrow, v->f);
	if (n != narrow.len || memcmp(digits, narrow.buf, n) != 0)
		v->label = args_text(args, digits, n);
	out_free(&narrow);
}

static double load_float(const uint8_t *p, uint32_t size, bool swap)
{
	uint64_t u;
	uint32_t w;
	float f;
	double d;

	if (size == 4) {
		w = load32(p, swap);
		memcpy(&f, &w, sizeof(f));
		return (double)f;
	}
	if (size == 8) {
		u = load64(p, swap);
		memcpy(&d, &u, sizeof(d));
		return d;
	}
	return 0;
}

static const char *label_of(const struct plan_op *op, int64_t value, struct spur_args *args)
{
	char buf[LABEL_MAX];
	size_t len = op->table ? enum_label(op->table, value, buf, sizeof(buf)) : 0;

	return len ? args_text(args, buf, len) : NULL;
}

static void fixed_value(const struct plan_op *op, const uint8_t *p, bool swap,
			struct spur_args *args, struct spur_value *v)
{
	switch ((enum plan_op_code)op->code) {
	case PLAN_INT:
		v->type = SPUR_I64;
		v->i = sign_extend(load_uint(p, op->size, swap), op->size);
		break;
	case PLAN_CHAR:
		v->type = SPUR_I64;
		v->i = (int8_t)p[0];
		break;
	case PLAN_FLOAT:
		v->type = SPUR_F64;
		if (op->size >= 10)
			wide_value(p, swap, args, v);
		else
			v->f = load_float(p, op->size, swap);
		break;
	case PLAN_ENUM:
		v->type = SPUR_ENUM;
		v->i = enum_reduce(op->table, sign_extend(load_uint(p, op->size, swap), op->size));
		v->label = label_of(op, v->i, args);
		break;
	case PLAN_BOOL:
		v->type = SPUR_BOOL;
		v->u = load_uint(p, op->size, swap) != 0;
		break;
	case PLAN_BYTES:
	case PLAN_STRUCT:
		v->type = SPUR_BYTES;
		v->text = (const char *)p;
		v->count = op->size;
		v->label = op->type_text;
		break;
	default:
		v->type = op->code == PLAN_POINTER ? SPUR_POINTER : SPUR_U64;
		v->u = load_uint(p, op->size, swap);
	}
}

static bool is_null_string(const struct plan *plan, const uint8_t *p, size_t len)
{
	return len == 4 && (((plan->null_string & 1) && load32(p, false) == UINT32_MAX) ||
			    ((plan->null_string & 2) && memcmp(p, "NULL", 4) == 0));
}

/* One op at `pos`; false where it does not fit into `len`. */
static bool run_op(const struct plan *plan, const struct plan_op *op, const uint8_t *p, size_t len,
		   size_t *pos, struct spur_args *args)
{
	size_t start = align_up(*pos, op->align), size = op->size, head = 0;
	struct spur_value *v;

	if (op->code == PLAN_STR16 || op->code == PLAN_BYTES16) {
		head = 2;
		if (start > len || len - start < 2)
			return false;
		size = load16(p + start, plan->swap);
	} else if (op->code == PLAN_STRZ) {
		const uint8_t *nul = start < len ? memchr(p + start, 0, len - start) : NULL;

		if (!nul)
			return false;
		size = (size_t)(nul - (p + start));
	}
	if (start > len || len - start < head + size)
		return false;
	*pos = start + head + size + (op->code == PLAN_STRZ);
	if (!args)
		return true;
	v = args_add(args);
	if (!v)
		return false;
	v->name = op->name;
	v->show = op->show;
	v->unreliable = op->unreliable;
	v->size = (uint8_t)(size < 255 ? size : 255);
	if (op->code == PLAN_STR16 || op->code == PLAN_STRZ) {
		v->text = (const char *)p + start + head;
		v->count = (uint32_t)size;
		v->type = is_null_string(plan, p + start + head, size) ? SPUR_NULL : SPUR_STRING;
	} else if (op->code == PLAN_BYTES16) {
		v->type = SPUR_BYTES;
		v->text = (const char *)p + start + head;
		v->count = (uint32_t)size;
	} else {
		fixed_value(op, p + start, plan->swap, args, v);
	}
	return true;
}

enum spur_status plan_run(const struct plan *plan, const uint8_t *p, size_t len,
			  struct spur_args *args, size_t *used)
{
	size_t pos = 0;

	for (uint32_t i = 0; i < plan->count; i++)
		if (!run_op(plan, &plan->ops[i], p, len, &pos, args)) {
			*used = pos;
			return SPUR_WARN;
		}
	*used = align_up(pos, plan->tail_align ? plan->tail_align : 1);
	return SPUR_OK;
}
