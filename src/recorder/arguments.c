/*
 * Arguments and results to record: by specifications that the user gives, in the words of
 * uftrace's -A and -R, and by debug information (described.h).
 */
#include <stdio.h>
#include <string.h>

#include "format/spur/wire.h"
#include "recorder/described.h"
#include "recorder/plan.h"

enum { MOST = 1 << 24, EACH_MOST = 32, INTEGERS = 6, VECTORS = 8, WORD = 8 };

static const char *const integer_names[INTEGERS] = { "rdi", "rsi", "rdx", "rcx", "r8", "r9" };

/* --- one specification --- */

struct spec {
	struct plan_arg arg;
	char name[24];
	bool is_result, is_float;
	uint64_t number; /* from 1 */
};

/* argN, fpargN, retval */
static bool read_target(struct text *t, struct spec *s)
{
	s->arg = (struct plan_arg){ .place = PLAN_IN_INTEGER, .type = SPB_I64, .size = WORD };
	s->is_result = text_skip(t, "retval");
	if (s->is_result) {
		strcpy(s->name, "retval");
		return true;
	}
	s->is_float = text_skip(t, "fparg");
	if ((!s->is_float && !text_skip(t, "arg")) || !text_u64(t, 10, &s->number) || !s->number ||
	    s->number > EACH_MOST)
		return false;
	snprintf(s->name, sizeof(s->name), "%s%u", s->is_float ? "fparg" : "arg",
		 (unsigned)s->number);
	if (s->is_float)
		s->arg.type = SPB_F64;
	return true;
}

static const struct {
	char letter;
	uint8_t type, read, size;
} letters[] = {
	{ 'd', SPB_I64, PLAN_VALUE, WORD },	{ 'i', SPB_I64, PLAN_VALUE, WORD },
	{ 'u', SPB_U64, PLAN_VALUE, WORD },	{ 'o', SPB_U64, PLAN_VALUE, WORD },
	{ 'x', SPB_POINTER, PLAN_VALUE, WORD }, { 'p', SPB_POINTER, PLAN_VALUE, WORD },
	{ 's', SPB_TEXT, PLAN_TEXT, WORD },	{ 'S', SPB_TEXT, PLAN_STD_STRING, WORD },
	{ 'c', SPB_CHAR, PLAN_VALUE, 1 },	{ 'f', SPB_F64, PLAN_VALUE, WORD },
};

/* BITS behind a letter, or directly behind the slash of a floating-point argument. */
static bool read_bits(struct text *t, struct spec *s)
{
	uint64_t bits;

	if (!t->len || t->p[0] == '%')
		return true;
	if (s->arg.read != PLAN_VALUE || !text_u64(t, 10, &bits))
		return false;
	if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
		return false;
	s->arg.size = (uint8_t)(bits / 8);
	return !s->is_float || bits >= 32;
}

/* /FMT[BITS] */
static bool read_format(struct text *t, struct spec *s)
{
	if (!text_skip(t, "/"))
		return true;
	if (!t->len)
		return false;
	if (s->is_float && t->p[0] != 'f')
		return read_bits(t, s);
	/* The name of an enumeration is for those who show it. */
	if (text_skip(t, "e:")) {
		const ptrdiff_t end = text_find(*t, '%');

		s->arg.size = 4;
		*t = end < 0 ? text_make("", 0) : text_make(t->p + end, t->len - (size_t)end);
		return true;
	}
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (letters[i].letter == t->p[0]) {
			s->arg.type = letters[i].type;
			s->arg.read = letters[i].read;
			s->arg.size = letters[i].size;
			s->is_float = t->p[0] == 'f';
			*t = text_make(t->p + 1, t->len - 1);
			return read_bits(t, s);
		}
	return false;
}

/* %REGISTER or %stack+WORDS, counted from the return address. */
static bool read_place(struct text t, struct spec *s)
{
	uint64_t n;

	if (text_skip(&t, "stack+")) {
		if (!text_u64(&t, 10, &n) || t.len || !n || n > 1 << 16)
			return false;
		s->arg.place = PLAN_ON_STACK;
		s->arg.offset = (uint32_t)(n - 1) * WORD;
		return true;
	}
	if (text_skip(&t, "xmm")) {
		s->arg.place = PLAN_IN_VECTOR;
		s->arg.offset = 0;
		if (!text_u64(&t, 10, &n) || t.len || n >= VECTORS)
			return false;
		s->arg.offset = (uint32_t)n;
		return true;
	}
	s->arg.place = PLAN_IN_INTEGER;
	for (uint32_t i = 0; i < INTEGERS; i++)
		if (text_is(t, integer_names[i])) {
			s->arg.offset = i;
			return true;
		}
	return false;
}

/* Where the calling convention has it. */
static void place_by_number(struct spec *s)
{
	const uint32_t index = s->is_result ? 0 : (uint32_t)s->number - 1;

	if (s->is_float && (s->is_result || strncmp(s->name, "fparg", 5) == 0)) {
		s->arg.place = index < VECTORS ? PLAN_IN_VECTOR : PLAN_ON_STACK;
		s->arg.offset = index < VECTORS ? index : (index - VECTORS) * WORD;
		return;
	}
	s->arg.place = index < INTEGERS ? PLAN_IN_INTEGER : PLAN_ON_STACK;
	s->arg.offset = index < INTEGERS ? index : (index - INTEGERS) * WORD;
	/* arg1/f is the first in a vector register, as fparg1 is. */
	if (s->is_float && index < VECTORS) {
		s->arg.place = PLAN_IN_VECTOR;
		s->arg.offset = index;
	}
}

static bool read_spec(struct text t, struct spec *s)
{
	if (!read_target(&t, s) || !read_format(&t, s))
		return false;
	if (text_skip(&t, "%"))
		return read_place(t, s);
	place_by_number(s);
	return t.len == 0;
}

/* --- those of a function --- */

/* What is being added to. */
struct adding {
	struct plan_builder *p;
	struct plan_function *f;
	bool results;
	unsigned without; /* enum values_without: why this side has no values; 0: it has */
};

static bool add_argument(void *self, const struct plan_arg *arg, const char *name)
{
	const struct adding *a = self;
	struct plan_builder *const p = a->p;

	if (a->f->nargs + a->f->nresults >= EACH_MOST)
		return true;
	if (!mem_grow((void **)&p->args, &p->args_cap, p->nargs + 1, sizeof(*p->args), MOST))
		return false;
	if (!a->f->nargs && !a->f->nresults)
		a->f->args = (uint32_t)p->nargs;
	p->args[p->nargs] = *arg;
	p->args[p->nargs++].name = plan_text(p, name, strlen(name));
	if (a->results)
		a->f->nresults++;
	else
		a->f->nargs++;
	return true;
}

static enum spur_status add_specs(struct adding *a, struct rule *rule, struct spur_error *err)
{
	struct text all = text_of(rule->specs), one;

	while (text_split(&all, ',', &one)) {
		struct spec s = { .is_result = false };

		/* INVARIANT: arguments_check() has read them all. */
		if (!read_spec(text_trim(one), &s) || s.is_result != a->results)
			continue;
		rule->without |= a->without;
		if (!a->without && !add_argument(a, &s.arg, s.name))
			return err_nomem(err);
	}
	return SPUR_OK;
}

/* Adds one side by specifications. Sets *any if there are some. */
static enum spur_status add_given(struct adding *a, const struct rule_name *name, bool *any,
				  struct spur_error *err)
{
	struct rules *const r = a->p->rules;
	const uint8_t *const count = a->results ? &a->f->nresults : &a->f->nargs;
	enum spur_status st = SPUR_OK;

	for (size_t i = 0; st == SPUR_OK && i < r->count; i++) {
		struct rule *const rule = &r->list[i];

		if (!rule->specs || !(pattern_match(rule->pattern, name->shown) ||
				      pattern_match(rule->pattern, name->simple) ||
				      pattern_match(rule->pattern, name->raw)))
			continue;
		rule->matched = true;
		st = add_specs(a, rule, err);
	}
	*any = *count != 0;
	return st;
}

/* Compilers give a function another name if it no longer has the arguments of its source. */
static bool has_own_arguments(const char *raw)
{
	return !strstr(raw, ".isra.") && !strstr(raw, ".constprop.") && !strstr(raw, ".part.") &&
	       !strstr(raw, ".cold");
}

static enum spur_status add_side(struct adding *a, const struct rule_name *name,
				 const struct binary_function *f, struct spur_error *err)
{
	struct plan_builder *const p = a->p;
	bool any = false;

	if (add_given(a, name, &any, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (any || !f || !p->rules->all_arguments || !has_own_arguments(name->raw))
		return SPUR_OK;
	p->rules->without |= a->without;
	if (a->without)
		return SPUR_OK;
	if (!p->described && !p->looked)
		p->described = described_open(p->binary, p->dirs);
	p->looked = true;
	if (!p->described)
		p->rules->without |= WITHOUT_INFORMATION;
	if (p->described &&
	    !described_arguments(p->described, f->address, a->results, add_argument, a))
		return err_nomem(err);
	return SPUR_OK;
}

enum spur_status plan_arguments(struct plan_builder *p, struct plan_function *made,
				const struct rule_name *name, const struct binary_function *f,
				struct spur_error *err)
{
	struct adding a = { .p = p, .f = made };

	/* A hook that the code itself calls has registers of its own. */
	if (f && f->way == ENTRY_CALLED)
		a.without = WITHOUT_CALLED;
	else if (f && f->way == ENTRY_MCOUNT)
		a.without = WITHOUT_MCOUNT;
	if (add_side(&a, name, f, err) == SPUR_FAIL)
		return SPUR_FAIL;
	a.results = true;
	a.without &= ~(unsigned)WITHOUT_MCOUNT;
	return add_side(&a, name, f, err);
}

enum spur_status arguments_check(const struct rules *r, struct spur_error *err)
{
	for (size_t i = 0; i < r->count; i++) {
		struct text all = text_of(r->list[i].specs ? r->list[i].specs : ""), one;
		const bool results = r->list[i].what == RULE_RESULTS;

		while (text_split(&all, ',', &one)) {
			struct spec s = { .is_result = false };

			if (read_spec(text_trim(one), &s) && (s.is_result || !results))
				continue;
			return err_set(err, SPUR_ERR_USAGE,
				       "-%c: expected %s with /FORMAT%s, found \"%.*s\"",
				       results ? 'R' : 'A',
				       results ? "retval" : "argN, fpargN or retval",
				       results ? "" : " and %REGISTER", (int)one.len, one.p);
		}
	}
	return SPUR_OK;
}
