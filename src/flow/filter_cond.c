/* Conditions of filters: if:argN OP VALUE. A function without that argument meets none. */
#include <string.h>

#include "flow/args.h"
#include "flow/filter_parts.h"

enum { ARGS_MAX = 255 };

/* A word, or what stands between quotes. NULL: neither, or out of memory. */
static const char *parse_word(struct arena *a, struct text t)
{
	const char quote = t.len ? t.p[0] : '\0';

	if (quote == '"' || quote == '\'')
		return t.len >= 2 && t.p[t.len - 1] == quote ? arena_strdup(a, t.p + 1, t.len - 2)
							     : NULL;
	return t.len ? arena_strdup(a, t.p, t.len) : NULL;
}

static bool parse_number(struct text t, int64_t *out)
{
	uint64_t hex;

	if (text_skip(&t, "0x")) {
		if (!text_u64(&t, 16, &hex))
			return false;
		*out = (int64_t)hex;
		return !t.len;
	}
	return text_i64(&t, out) && !t.len;
}

bool cond_parse(struct arena *a, struct text t, struct rule_cond *out)
{
	static const struct {
		const char *text;
		enum cond_op op;
	} ops[] = { { "==", COND_EQ }, { "!=", COND_NE }, { ">=", COND_GE },
		    { "<=", COND_LE }, { ">", COND_GT },  { "<", COND_LT } };
	uint64_t arg;

	if (!text_skip(&t, "arg") || !text_u64(&t, 10, &arg) || !arg || arg > ARGS_MAX)
		return false;
	t = text_trim(t);
	*out = (struct rule_cond){ .op = COND_NONE, .arg = (uint32_t)arg };
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]) && !out->op; i++)
		if (text_skip(&t, ops[i].text))
			out->op = ops[i].op;
	t = text_trim(t);
	if (!out->op)
		return false;
	if (!parse_number(t, &out->value))
		out->text = parse_word(a, t);
	else
		return true;
	return out->text != NULL;
}

static bool compares(enum cond_op op, int order)
{
	switch (op) {
	case COND_EQ:
		return order == 0;
	case COND_NE:
		return order != 0;
	case COND_GT:
		return order > 0;
	case COND_GE:
		return order >= 0;
	case COND_LT:
		return order < 0;
	default:
		return order <= 0;
	}
}

/* Compares bytes as strcmp() does, where `p` has no NUL behind it. */
static int compare_text(const char *p, size_t len, const char *with)
{
	const size_t n = strlen(with);
	const size_t least = len < n ? len : n;
	const int order = least ? memcmp(p, with, least) : 0;

	return order ? order : (len > n) - (len < n);
}

static bool text_holds(const struct rule_cond *c, const struct spur_value *v)
{
	if (v->type == SPUR_STRING)
		return compares(c->op, compare_text(v->text, v->count, c->text));
	return v->type == SPUR_ENUM && v->label &&
	       compares(c->op, compare_text(v->label, strlen(v->label), c->text));
}

bool cond_holds(struct spur_trace *t, const struct rule_cond *c, const struct spur_event *row,
		struct spur_args *args)
{
	const struct spur_value *v;
	int64_t n = 0;

	if (!row->nargs || trace_args(t, row, args) == SPUR_FAIL || c->arg > args->count)
		return false;
	v = &args->items[c->arg - 1];
	if (c->text)
		return text_holds(c, v);
	switch (v->type) {
	case SPUR_NULL:
		break;
	case SPUR_I64:
	case SPUR_U64:
	case SPUR_BOOL:
	case SPUR_POINTER:
	case SPUR_KOID:
	case SPUR_ENUM:
		n = v->i;
		break;
	case SPUR_F64:
		if (v->f != v->f)
			return c->op == COND_NE;
		return compares(c->op, (v->f > (double)c->value) - (v->f < (double)c->value));
	default:
		return false;
	}
	return compares(c->op, (n > c->value) - (n < c->value));
}
