/* Runs skip programs: from one field to the next, keeping what others need. See plan.h. */
#include "format/ctf/plan/parts.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct loop {
	uint64_t left; /* times still to go, this one included */
	uint64_t at; /* where it began */
};

uint64_t string_bits(const struct ctf_cursor *c, unsigned unit_bits)
{
	const uint8_t *p = c->data + c->at / 8, *end = c->data + c->limit / 8, *q;
	const size_t unit = unit_bits / 8;

	if (unit == 1) {
		q = end > p ? memchr(p, 0, (size_t)(end - p)) : NULL;
		return q ? 8 * (uint64_t)(q - p + 1) : 0;
	}
	for (q = p; (size_t)(end - q) >= unit; q += unit) {
		bool zero = true;

		for (size_t i = 0; i < unit; i++)
			zero &= !q[i];
		if (zero)
			return 8 * (uint64_t)(q - p + (ptrdiff_t)unit);
	}
	return 0;
}

/*
 * SPEC ctf2/text-units: text that ends inside a code unit is an error, unless a NUL ended it before
 */
const char *text_wrong(const struct ctf_cursor *c, const struct ctf_field *f, uint64_t bytes)
{
	const struct ctf_cursor in = { .data = c->data, .at = c->at, .limit = c->at + 8 * bytes };
	const unsigned unit = text_unit(f);

	return bytes % unit && !string_bits(&in, 8 * unit)
		       ? "text of whole code units, found a part of one at its end"
		       : NULL;
}

/* Integers of more than 64 bits: all ones where they do not fit. */
static uint64_t load_wide(const struct step *s, const uint8_t *data, uint64_t at)
{
	const unsigned n = (s->size + 7) / 8;
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++) {
		const uint64_t byte = wide_byte(s, data, at, i);

		if (i < 8)
			v |= byte << (8 * i);
		else if (byte)
			return UINT64_MAX;
	}
	return v;
}

static uint64_t load_value(const struct step *s, const uint8_t *data, uint64_t at)
{
	uint64_t v;

	if (unlikely(s->size > 64))
		return load_wide(s, data, at);
	v = bits_load(data, at, s->size, s->flags & STEP_BIG);
	if (unlikely(s->flags & STEP_REVERSED))
		v = bits_turn(v, s->size);
	return unlikely(s->flags & STEP_SIGNED) ? (uint64_t)bits_signed(v, s->size) : v;
}

static bool skip_many(struct ctf_cursor *c, const struct step *s, uint64_t count)
{
	if (s->size && count > (c->limit - c->at) / s->size) {
		plan_wrong(c, s->field,
			   "as many elements as its length says, found the end of the packet");
		return false;
	}
	c->at += count * s->size;
	return true;
}

static bool skip_text(struct ctf_cursor *c, const struct step *s)
{
	const uint64_t bytes = s->to ? s->count : c->slots[s->slot];
	const char *why = bytes <= (c->limit - c->at) / 8 ? text_wrong(c, s->field, bytes) : NULL;

	if (why) {
		plan_wrong(c, s->field, why);
		return false;
	}
	return skip_many(c, s, bytes);
}

/* RFC v1.1: a bit field begins in the next unit where it would cross one. */
static bool skip_int(const struct ctf_program *p, struct ctf_cursor *c, const struct step *s)
{
	const uint64_t unit = s->field->unit;

	if (unit && c->at % unit + s->size > unit)
		c->at = align_up(c->at, unit);
	if (c->at > c->limit || s->size > c->limit - c->at) {
		plan_wrong(c, s->field, "a bit field, found the end of the packet");
		return false;
	}
	keep_value(p, s, c, load_value(s, c->data, c->at), s->size);
	c->at += s->size;
	return true;
}

static bool skip_var(const struct ctf_program *p, struct ctf_cursor *c, const struct step *s)
{
	unsigned used = 0;
	uint64_t v = 0;
	const char *why = var_load(c, s->flags & STEP_SIGNED, &v, &used);

	if (why) {
		plan_wrong(c, s->field, why);
		return false;
	}
	c->at += 8 * used;
	keep_value(p, s, c, v, 7 * used);
	return true;
}

static bool skip_string(struct ctf_cursor *c, const struct step *s)
{
	const uint64_t bits = string_bits(c, s->size);

	if (!bits) {
		plan_wrong(c, s->field, "the NUL of a string, found the end of the packet");
		return false;
	}
	c->at += bits;
	return true;
}

/* Where the option's code is; NULL: none is for the selector's value. */
static const struct step *skip_select(const struct ctf_program *p, struct ctf_cursor *c,
				      const struct step *s)
{
	const struct option *o = table_find(&p->tables[s->to], c->slots[s->slot]);

	if (!o)
		plan_wrong(c, s->field,
			   "a selector that one of the options is for, found another value");
	return o ? &p->skip.steps[o->to] : NULL;
}

/* Back to the loop's begin, or after it. Elements of no size at all are done at once. */
static const struct step *skip_next(const struct ctf_program *p, const struct ctf_cursor *c,
				    const struct step *s, struct loop *l, unsigned *depth)
{
	if (--l->left && c->at != l->at) {
		l->at = c->at;
		return &p->skip.steps[s->to];
	}
	--*depth;
	return s + 1;
}

static const struct step *skip_loop(const struct ctf_program *p, const struct ctf_cursor *c,
				    const struct step *s, uint64_t count, struct loop *loops,
				    unsigned *depth)
{
	if (!count)
		return &p->skip.steps[s->to];
	loops[(*depth)++] = (struct loop){ count, c->at };
	return s + 1;
}

static bool option_holds(const struct ctf_program *p, const struct step *s,
			 const struct ctf_cursor *c)
{
	const uint64_t v = c->slots[s->slot];

	return s->size ? table_find(&p->tables[s->count], v) != NULL : v != 0;
}

/* A run's bounds, once for all its fields. */
static inline bool skip_run(struct ctf_cursor *c, const struct step *s, uint64_t *run)
{
	*run = c->at;
	if (unlikely(s->size > c->limit - c->at)) {
		plan_wrong(c, s->field, "a field, found the end of the packet");
		return false;
	}
	c->at += s->size;
	return true;
}

/* What does not end there, or needs no look at the steps around. */
static bool skip_plain(const struct ctf_program *p, struct ctf_cursor *c, const struct step *s)
{
	switch ((enum step_code)s->code) {
	case STEP_ALIGN:
		return step_align(c, s);
	case STEP_ORDER:
		return step_order(c, s);
	case STEP_STRING:
		return skip_string(c, s);
	case STEP_VAR:
		return skip_var(p, c, s);
	case STEP_INT:
		return skip_int(p, c, s);
	case STEP_SKIP_MANY:
		return skip_many(c, s, s->count);
	case STEP_SKIP_DYNAMIC:
		return skip_many(c, s, c->slots[s->slot]);
	case STEP_SKIP_TEXT:
		return skip_text(c, s);
	case STEP_MARK:
		keep_value(p, s, c, c->at / 8, 64);
		return true;
	default:
		plan_wrong(c, s->field, "a step of a skip program, found another");
		return false;
	}
}

/* Invariant: at <= limit; every step moves on or ends a loop, so it ends. */
static enum spur_status skip_bits(const struct ctf_program *p, struct ctf_cursor *c)
{
	const struct step *s = p->skip.steps;
	struct loop loops[PLAN_DEPTH];
	unsigned depth = 0;
	uint64_t run = 0;
	bool good = true;

	while (likely(good && s)) {
		switch ((enum step_code)s->code) {
		case STEP_END:
			return SPUR_OK;
		case STEP_RUN:
			good = skip_run(c, s++, &run);
			break;
		case STEP_GET:
			keep_value(p, s, c, load_value(s, c->data, run + s->off), s->size);
			s++;
			break;
		case STEP_PLACE:
			c->slots[s->slot] = (run + s->off) / 8;
			s++;
			break;
		case STEP_LOOP:
			s = skip_loop(p, c, s, s->count, loops, &depth);
			break;
		case STEP_LOOP_DYNAMIC:
			s = skip_loop(p, c, s, c->slots[s->slot], loops, &depth);
			break;
		case STEP_NEXT:
			s = skip_next(p, c, s, &loops[depth - 1], &depth);
			break;
		case STEP_SELECT:
			s = skip_select(p, c, s);
			break;
		case STEP_JUMP:
			s = &p->skip.steps[s->to];
			break;
		case STEP_OPTION:
			s = option_holds(p, s, c) ? s + 1 : &p->skip.steps[s->to];
			break;
		default:
			good = skip_plain(p, c, s++);
			break;
		}
	}
	return SPUR_FAIL;
}

enum spur_status plan_skip(const struct ctf_program *p, struct ctf_cursor *c)
{
	const uint8_t *end;

	if (p->bytes.skip && c->at % 8 == 0) {
		end = bytes_skip(p->bytes.skip, c, c->data + c->at / 8, c->data + c->limit / 8);
		if (end) {
			c->at = (uint64_t)(end - c->data) * 8;
			return SPUR_OK;
		}
	}
	plan_forget(p, c);
	return skip_bits(p, c);
}
