/*
 * Arguments and return values as uftrace words them: from the payload's bytes by the class's plan.
 */
#include "style/uftrace/text/args.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "flow/args.h"
#include "model/enum.h"

enum { RECORD = 16 };

struct payload {
	const struct plan *plan; /* NULL: none */
	const uint8_t *p;
	size_t len;
};

/* One item of it. */
struct item {
	const struct plan_op *op;
	const uint8_t *p; /* strings: after the length */
	size_t size;
	size_t index;
};

bool style_get_args(struct spur_trace *t, struct out *o, const struct spur_event *row,
		    struct spur_args *args)
{
	if (trace_args(t, row, args) != SPUR_FAIL)
		return true;
	if (!o->error)
		o->error = ENOMEM;
	return false;
}

static struct payload payload_of(struct spur_trace *t, const struct spur_event *row)
{
	const struct event_class *c = row->cls ? trace_class(t, row->cls) : NULL;
	struct payload y = { 0 };

	if (!c || !row->nargs || row->len < RECORD)
		return y;
	y.plan = class_plan(c, row->kind == SPUR_END_SPAN);
	y.p = format_place(t, row).raw;
	if (!y.p)
		y.plan = NULL;
	else
		y.p += RECORD;
	y.len = row->len - RECORD;
	return y;
}

/* Takes the item at *pos; false: the last was taken, or it does not fit. */
static bool next_item(const struct payload *y, size_t *pos, struct item *it)
{
	const struct plan_op *op;
	size_t head = 0;

	if (it->index >= y->plan->count || *pos > y->len)
		return false;
	op = &y->plan->ops[it->index++];
	it->op = op;
	it->size = op->size;
	if (op->code == PLAN_STR16) {
		if (y->len - *pos < 2)
			return false;
		head = 2;
		it->size = load16(y->p + *pos, y->plan->swap);
	}
	if (y->len - *pos < head + it->size)
		return false;
	it->p = y->p + *pos + head;
	*pos += align_up(head + it->size, 4);
	return true;
}

size_t style_args_length(struct spur_trace *t, const struct spur_event *row)
{
	struct payload y = payload_of(t, row);
	struct item it = { 0 };
	size_t pos = 0;

	while (y.plan && next_item(&y, &pos, &it))
		;
	return pos;
}

static uint64_t load_item(const struct payload *y, const struct item *it)
{
	uint64_t v = 0;
	size_t n = it->size < 8 ? it->size : 8;

	for (size_t i = 0; i < n; i++) {
		bool big = order_swaps(true) == y->plan->swap;

		v |= (uint64_t)it->p[big ? it->size - 1 - i : i] << (8 * i);
	}
	return v;
}

static int64_t sign_of(uint64_t v, size_t size)
{
	unsigned shift = size >= 8 || !size ? 0 : 64 - 8 * (unsigned)size;

	return (int64_t)(v << shift) >> shift;
}

/* --- text --- */

void style_json_byte(struct out *o, char c)
{
	if (c == '\n')
		out_str(o, "\\\\n");
	else if (c == '\t')
		out_str(o, "\\\\t");
	else if (c == '\\')
		out_str(o, "\\\\");
	else if (c == '"')
		out_str(o, "\\\"");
	else if (c >= ' ' && c < 127)
		out_char(o, c);
	else
		out_printf(o, "\\\\x%02x", (unsigned char)c);
}

void style_string(struct out *o, const char *s, size_t len, unsigned mode)
{
	if (mode & ARGS_SAFE)
		out_safe(o, s, len);
	else
		out_bytes(o, s, len);
}

static void text_byte(struct out *o, char c, unsigned mode)
{
	if (mode & ARGS_JSON)
		style_json_byte(o, c);
	else if (c == '\0')
		out_str(o, "\\0");
	else if (c == '\b')
		out_str(o, "\\b");
	else if (c == '\n')
		out_str(o, "\\n");
	else
		style_string(o, &c, 1, mode);
}

/*
 * SPEC uftrace/string-text: the string ends at a NUL. One with a byte beyond ASCII that is not its
 * last is shown as it is; others have NUL, backspace and newline escaped.
 */
static void text_string(struct out *o, const struct item *it, unsigned mode)
{
	const char *s = (const char *)it->p;
	size_t len = strnlen(s, it->size), i = 0;

	if (it->size == 4 && load32(it->p, false) == UINT32_MAX) {
		out_str(o, "NULL");
		return;
	}
	out_str(o, mode & ARGS_JSON ? "\\\"" : "\"");
	while (i < len && !(s[i] & 0x80))
		i++;
	if (!(mode & ARGS_JSON) && i + 1 < len)
		style_string(o, s, len, mode);
	else
		for (i = 0; i < len; i++)
			text_byte(o, s[i], mode);
	out_str(o, mode & ARGS_JSON ? "\\\"" : "\"");
}

static void out_number(struct out *o, uint64_t v, size_t size, const struct plan_op *op)
{
	int64_t n = (int64_t)v;
	enum spur_show show = op->show;

	if (show == SPUR_SHOW_AUTO && (n > 100000 || n < -100000)) {
		/* SPEC uftrace/small-negative: an int that the register keeps without its sign */
		if (v > 0xffff0000 && v <= UINT32_MAX) {
			out_i64(o, (int32_t)v);
			return;
		}
		show = SPUR_SHOW_HEX;
	}
	if (op->code == PLAN_UINT && show == SPUR_SHOW_PLAIN && v > 100000)
		show = SPUR_SHOW_HEX;
	if (!v)
		out_char(o, '0');
	else if (show == SPUR_SHOW_HEX)
		out_printf(o, "0x%llx", (unsigned long long)v);
	else if (show == SPUR_SHOW_OCTAL)
		out_printf(o, "0%llo", (unsigned long long)v);
	else if (op->code == PLAN_UINT)
		out_u64(o, v);
	else
		out_i64(o, sign_of(v, size));
}

static void out_float(struct out *o, const struct payload *y, const struct item *it,
		      const struct spur_value *v)
{
	if (it->size != 4 && it->size != 8 && it->size != 10)
		return;
	if (v && v->label)
		out_printf(o, "%#Lf", strtold(v->label, NULL));
	else
		out_printf(o, "%#f", v ? v->f : (double)load_item(y, it));
}

/*
 * SPEC uftrace/enum-text: a value that has no name is taken apart by subtraction, the largest
 * first, names for 0 and less included. It does not always make sense.
 */
static void enum_text(struct out *o, const struct enum_table *table, int64_t value)
{
	bool any = false;

	for (size_t i = 0; i < table->count; i++)
		if (table->values[i].value == value) {
			out_str(o, table->values[i].name);
			return;
		}
	for (size_t i = table->count; value && i-- > 0;)
		if (table->values[i].value <= value) {
			if (any)
				out_char(o, '|');
			out_str(o, table->values[i].name);
			value -= table->values[i].value;
			any = true;
		}
	if (value || !any)
		out_printf(o, "%s0x%llx", any ? "+" : "", (unsigned long long)value);
}

static void out_enum(struct out *o, const struct item *it, uint64_t v)
{
	const int64_t value = enum_reduce(it->op->table, (int64_t)v);

	if (it->op->table)
		enum_text(o, it->op->table, value);
	else
		out_i64(o, value);
}

static void out_pointer(struct out *o, uint64_t u, const struct spur_value *v, unsigned mode)
{
	if (v && v->label) {
		out_char(o, '&');
		style_string(o, v->label, strlen(v->label), mode);
	} else if (u) {
		out_printf(o, "0x%llx", (unsigned long long)u);
	} else {
		out_char(o, '0');
	}
}

static void out_item(struct out *o, const struct payload *y, const struct item *it,
		     const struct spur_value *v, unsigned mode)
{
	const struct plan_op *op = it->op;

	switch ((enum plan_op_code)op->code) {
	case PLAN_STR16:
		text_string(o, it, mode);
		if (op->type_text)
			out_char(o, 's');
		break;
	case PLAN_CHAR:
		out_char(o, '\'');
		text_byte(o, (char)it->p[0], mode);
		out_char(o, '\'');
		break;
	case PLAN_FLOAT:
		out_float(o, y, it, v);
		break;
	case PLAN_POINTER:
		out_pointer(o, load_item(y, it), v, mode);
		break;
	case PLAN_ENUM:
		out_enum(o, it, load_item(y, it));
		break;
	case PLAN_STRUCT:
		/* gcc and clang name an anonymous lambda differently. */
		if (op->type_text && strcmp(op->type_text, "<lambda") != 0)
			style_string(o, op->type_text, strlen(op->type_text), mode);
		out_str(o, op->size ? "{...}" : "{}");
		break;
	default:
		out_number(o, load_item(y, it), it->size, op);
	}
}

/* Values of another format. */
static void out_value(struct out *o, const struct spur_value *v, unsigned mode)
{
	const struct plan_op op = { .code = v->type == SPUR_U64 ? PLAN_UINT : PLAN_INT,
				    .show = v->show };

	switch ((enum spur_type)v->type) {
	case SPUR_STRING:
	case SPUR_BYTES:
		text_string(o, &(struct item){ .p = (const uint8_t *)v->text, .size = v->count },
			    mode);
		break;
	case SPUR_F64:
		out_printf(o, "%f", v->f);
		break;
	case SPUR_NULL:
		out_str(o, "NULL");
		break;
	case SPUR_BOOL:
		out_str(o, v->u ? "true" : "false");
		break;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		out_str(o, "{...}");
		break;
	case SPUR_POINTER:
		out_pointer(o, v->u, v, mode);
		break;
	case SPUR_ENUM:
		if (v->label) {
			style_string(o, v->label, strlen(v->label), mode);
			break;
		}
		/* fall through */
	default:
		out_number(o, v->u, 8, &op);
	}
}

static void args_by_plan(struct out *o, const struct payload *y, const struct spur_args *values,
			 bool retval, unsigned mode)
{
	struct item it = { 0 };
	size_t pos = 0;

	while (next_item(y, &pos, &it)) {
		size_t k = it.index - 1;

		if (k)
			out_str(o, ", ");
		out_item(o, y, &it, k < values->count ? &values->items[k] : NULL, mode);
		if (retval)
			break;
	}
}

void style_args(struct spur_trace *t, struct out *o, const struct spur_event *row, unsigned mode,
		struct spur_args *scratch)
{
	struct payload y = payload_of(t, row);
	bool retval = row->kind == SPUR_END_SPAN;

	if (mode & ARGS_PAREN)
		out_char(o, '(');
	else if (mode & ARGS_ASSIGN)
		out_str(o, " = ");
	if (row->nargs && style_get_args(t, o, row, scratch)) {
		if (y.plan)
			args_by_plan(o, &y, scratch, retval, mode);
		for (size_t i = 0; !y.plan && i < scratch->count; i++) {
			if (i)
				out_str(o, ", ");
			out_value(o, &scratch->items[i], mode);
		}
	}
	if (mode & ARGS_PAREN)
		out_char(o, ')');
}

/* --- lines of a dump --- */

static char letter_of(const struct plan_op *op)
{
	switch ((enum plan_op_code)op->code) {
	case PLAN_INT:
		return op->show == SPUR_SHOW_AUTO ? 'd' : 'i';
	case PLAN_UINT:
		return op->show == SPUR_SHOW_HEX ? 'x' : op->show == SPUR_SHOW_OCTAL ? 'o' : 'u';
	case PLAN_CHAR:
		return 'c';
	case PLAN_FLOAT:
		return 'f';
	case PLAN_ENUM:
		return 'e';
	default:
		return 'p';
	}
}

static void dump_struct(struct out *o, const struct item *it)
{
	out_printf(o, " struct %s:", it->op->type_text ? it->op->type_text : "");
	for (size_t i = 0; i < it->size; i++) {
		if (i % 16 == 0)
			out_str(o, "\n\t");
		out_printf(o, "%02x ", it->p[i]);
		if (i % 8 == 7)
			out_char(o, ' ');
	}
}

static void dump_string(struct out *o, const struct item *it, unsigned mode)
{
	const char *s = (const char *)it->p;

	out_str(o, it->op->type_text ? " std::string: " : " str: ");
	if (it->size >= 4 && load32(it->p, false) == UINT32_MAX)
		out_str(o, "NULL");
	else
		style_string(o, s, strnlen(s, it->size), mode);
}

static void dump_pointer(struct out *o, uint64_t u, const struct spur_value *v, bool retval)
{
	if (v && v->label)
		out_printf(o, " p: %llx (&%s)", (unsigned long long)u, v->label);
	else if (u)
		out_printf(o, " p: 0x%llx", (unsigned long long)u);
	else
		out_str(o, retval ? " p: (nil)" : " p: 0");
}

static void dump_item(struct out *o, const struct payload *y, const struct item *it,
		      const struct spur_value *v, bool retval, unsigned mode)
{
	uint64_t u = load_item(y, it);

	switch ((enum plan_op_code)it->op->code) {
	case PLAN_STR16:
		dump_string(o, it, mode);
		return;
	case PLAN_POINTER:
		dump_pointer(o, u, v, retval);
		return;
	case PLAN_STRUCT:
		dump_struct(o, it);
		return;
	case PLAN_ENUM:
		if (it->op->table && !retval) {
			out_printf(o, " enum %s: ", it->op->type_text);
			u = (uint64_t)enum_reduce(it->op->table, (int64_t)u);
			enum_text(o, it->op->table, (int64_t)u);
			out_printf(o, " (%lld)", (long long)u);
			return;
		}
		break;
	default:
		break;
	}
	out_printf(o, " %c%zu: 0x%0*llx", letter_of(it->op), it->size * 8, (int)it->size * 2,
		   (unsigned long long)u);
}

void style_dump_args(struct spur_trace *t, struct out *o, const struct spur_event *row,
		     unsigned mode, struct spur_args *scratch)
{
	struct payload y = payload_of(t, row);
	bool retval = row->kind == SPUR_END_SPAN;
	struct item it = { 0 };
	size_t pos = 0;

	if (!y.plan || !style_get_args(t, o, row, scratch))
		return;
	while (next_item(&y, &pos, &it)) {
		size_t k = it.index - 1;

		if (retval)
			out_str(o, "  retval");
		else
			out_printf(o, "  args[%zu]", k);
		dump_item(o, &y, &it, k < scratch->count ? &scratch->items[k] : NULL, retval, mode);
		out_char(o, '\n');
	}
}
