/*
 * Types, template arguments and expressions of Itanium C++ names: the simple form shows nothing of
 * them, but has to find their ends. See demangle_simple.h for why it errs where it errs.
 */
#include "model/symbol/demangle_simple.h"

static bool expression(struct skim *s);

#define PAIR(a, b) ((unsigned)(unsigned char)(a) << 8 | (unsigned char)(b))
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void qualifier(struct skim *s)
{
	if (!skim_ended(s) && one_of("rVKRO", skim_at(s, 0)))
		skim_take(s, 1);
}

static bool function_param(struct skim *s)
{
	char first = skim_take(s, 1), second = skim_take(s, 1);

	if (skim_ended(s))
		return false;
	if (first != 'f' || !one_of("pL", second)) {
		s->noted = true;
		s->pos -= 2;
		return false;
	}
	if (is_digit(skim_at(s, 0))) {
		cpp_number(s);
		if (second == 'L' && !skim_need(s, 'p'))
			return false;
	}
	qualifier(s);
	if (is_digit(skim_at(s, 0)))
		cpp_number(s);
	return skim_need(s, '_');
}

bool cpp_template_param(struct skim *s)
{
	if (skim_ended(s) || !skim_need(s, 'T'))
		return false;
	cpp_number(s);
	return skim_need(s, '_');
}

/* L <type> <value> E, or L _Z <encoding> E. */
static bool literal(struct skim *s)
{
	if (skim_ended(s) || !skim_need(s, 'L'))
		return false;
	s->hidden++;
	s->open++;
	if (skim_at(s, 0) == '_' && skim_at(s, 1) == 'Z') {
		skim_take(s, 2);
		if (!cpp_encoding(s))
			return false;
	} else {
		cpp_type(s);
		cpp_number(s);
		if (skim_at(s, 0) == '_') {
			skim_take(s, 1);
			cpp_number(s);
		}
	}
	if (!skim_need(s, 'E'))
		return false;
	s->open--;
	s->hidden--;
	return true;
}

static bool template_arg(struct skim *s);

/* Arguments up to E, which is passed. */
static bool arg_group(struct skim *s)
{
	s->open++;
	while (skim_at(s, 0) != 'E')
		if (!template_arg(s))
			return false;
	if (!skim_need(s, 'E'))
		return false;
	s->open--;
	return true;
}

static bool template_arg(struct skim *s)
{
	bool ok;

	if (skim_ended(s))
		return false;
	switch (skim_at(s, 0)) {
	case 'X':
		skim_take(s, 1);
		s->open++;
		expression(s);
		if (!skim_need(s, 'E'))
			return false;
		s->open--;
		return true;
	case 'L':
		return literal(s);
	case 'J':
		skim_take(s, 1);
		ok = skim_down(s) && arg_group(s);
		return skim_up(s, ok);
	default:
		return cpp_type(s);
	}
}

bool cpp_template_args(struct skim *s)
{
	if (skim_ended(s) || !skim_need(s, 'I'))
		return false;
	s->targs++;
	if (!arg_group(s))
		return false;
	s->targs--;
	return true;
}

bool cpp_optional_args(struct skim *s)
{
	return skim_at(s, 0) != 'I' || cpp_template_args(s);
}

static bool simple_id(struct skim *s)
{
	if (skim_ended(s))
		return false;
	if (!is_digit(skim_at(s, 0))) {
		s->noted = true;
		s->pos--;
		return false;
	}
	return cpp_source_name(s) && cpp_optional_args(s);
}

static bool destructor_name(struct skim *s)
{
	if (skim_ended(s))
		return false;
	switch (skim_at(s, 0)) {
	case 'T':
		return cpp_template_param(s);
	case 'D':
		return cpp_decltype(s);
	case 'S':
		if (!cpp_substitution(s))
			return false;
		if (skim_at(s, 0) == 'I')
			return cpp_template_args(s);
		return !is_digit(skim_at(s, 0)) || cpp_unqualified_name(s);
	default:
		return is_digit(skim_at(s, 0)) && cpp_source_name(s);
	}
}

static bool base_unresolved_name(struct skim *s)
{
	if (skim_ended(s))
		return false;
	switch (PAIR(skim_at(s, 0), skim_at(s, 1))) {
	case PAIR('o', 'n'):
		skim_take(s, 2);
		return cpp_operator_name(s) && cpp_optional_args(s);
	case PAIR('d', 'n'):
		skim_take(s, 2);
		return destructor_name(s);
	default:
		return simple_id(s);
	}
}

static bool unresolved_name(struct skim *s)
{
	if (skim_ended(s))
		return false;
	if (skim_at(s, 0) == 'g' && skim_at(s, 1) == 's')
		skim_take(s, 2);
	if (skim_at(s, 0) != 's' || skim_at(s, 1) != 'r')
		return base_unresolved_name(s);
	skim_take(s, 2);
	if (one_of("TDS", skim_at(s, 0))) {
		if (!cpp_type(s) || !base_unresolved_name(s))
			return false;
		cpp_optional_args(s);
		return true;
	}
	if (skim_at(s, 0) == 'N') {
		skim_take(s, 1);
		if (!cpp_type(s))
			return false;
	}
	while (skim_at(s, 0) != 'E')
		if (!simple_id(s))
			return !s->stuck;
	return skim_need(s, 'E') && base_unresolved_name(s);
}

/* Expressions up to E or _, which is passed. */
static bool expr_list(struct skim *s)
{
	if (skim_ended(s))
		return false;
	s->open++;
	while (!one_of("E_", skim_at(s, 0)))
		if (!expression(s))
			return false;
	skim_take(s, 1);
	s->open--;
	return true;
}

/*
 * What follows each operator of an expression: e expression, t type, l list, n unresolved name, p
 * parameter, a template arguments, c operand or operands of a cast.
 */
struct shape {
	char op[3];
	char parts[4];
};

static const struct shape unary[] = {
	{ "ps", "e" }, { "ng", "e" }, { "ad", "e" }, { "de", "e" }, { "pp", "e" },
	{ "mm", "e" }, { "dl", "e" }, { "da", "e" }, { "te", "e" }, { "sz", "e" },
	{ "az", "e" }, { "nx", "e" }, { "sp", "e" }, { "tw", "e" }, { "nt", "e" },
};

static const struct shape other[] = {
	{ "qu", "eee" }, { "cl", "l" },	 { "cv", "tc" }, { "tl", "tl" }, { "il", "l" },
	{ "dc", "te" },	 { "sc", "te" }, { "cc", "te" }, { "rc", "te" }, { "ti", "t" },
	{ "st", "t" },	 { "at", "t" },	 { "dt", "en" }, { "ds", "ee" }, { "sZ", "p" },
	{ "sP", "a" },	 { "tr", "" },
};

static const char *shape_find(const struct shape *list, size_t n, char a, char b)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].op[0] == a && list[i].op[1] == b)
			return list[i].parts;
	return NULL;
}

/*
 * The parts after the operator a b. A global scope (gs) in front makes unary operators binary, or
 * unknown.
 */
static const char *shape_of(char a, char b, bool global)
{
	const char *parts = global ? NULL : shape_find(unary, COUNT(unary), a, b);

	if (parts)
		return parts;
	if (PAIR(a, b) != PAIR('q', 'u') && a != 'c' && b != 'v' && cpp_operator_text(a, b))
		return "ee";
	return shape_find(other, COUNT(other), a, b);
}

static bool expr_part(struct skim *s, char part)
{
	switch (part) {
	case 'e':
		return expression(s);
	case 't':
		return cpp_type(s);
	case 'l':
		return expr_list(s);
	case 'n':
		return unresolved_name(s);
	case 'p':
		return skim_at(s, 0) == 'T' ? cpp_template_param(s)
					    : skim_at(s, 0) == 'f' && function_param(s);
	case 'a':
		return arg_group(s);
	default:
		if (skim_at(s, 0) != '_')
			return expression(s);
		skim_take(s, 1);
		return expr_list(s);
	}
}

static bool expr_any(struct skim *s)
{
	bool global = skim_at(s, 0) == 'g' && skim_at(s, 1) == 's';
	const char *parts;
	char a, b;

	if (skim_ended(s))
		return false;
	if (global)
		skim_take(s, 2);
	a = skim_at(s, 0);
	b = skim_at(s, 1);
	if (a == 'L')
		return literal(s);
	parts = shape_of(a, b, global);
	if (parts) {
		skim_take(s, !global && (a == 'p' || a == 'm') && a == b && skim_at(s, 2) == '_'
				     ? 3
				     : 2);
		while (*parts)
			if (!expr_part(s, *parts++))
				return false;
		return true;
	}
	if (a == 'T' && (b == '_' || is_digit(b)))
		return cpp_template_param(s);
	if (a == 'f' && one_of("pL", b))
		return function_param(s);
	return unresolved_name(s);
}

static bool expression(struct skim *s)
{
	bool ok = skim_down(s) && expr_any(s);

	return skim_up(s, ok);
}

static bool function_type(struct skim *s)
{
	char c;

	if (skim_ended(s) || !skim_need(s, 'F'))
		return false;
	if (skim_at(s, 0) == 'Y')
		skim_take(s, 1);
	s->hidden++;
	s->open++;
	for (c = skim_at(s, 0); c != 'E'; c = skim_at(s, 0)) {
		size_t start = s->pos;

		if (!cpp_type(s)) {
			s->pos = start;
			break;
		}
	}
	if (c == 'R' || c == 'O')
		qualifier(s);
	if (!skim_need(s, 'E'))
		return false;
	s->open--;
	s->hidden--;
	return true;
}

static bool array_type(struct skim *s)
{
	if (skim_ended(s) || !skim_need(s, 'A'))
		return false;
	if (is_digit(skim_at(s, 0)))
		cpp_number(s);
	else if (skim_at(s, 0) != '_')
		expression(s);
	return skim_need(s, '_') && cpp_type(s);
}

bool cpp_decltype(struct skim *s)
{
	char first = skim_take(s, 1), second = skim_take(s, 1);

	if (skim_ended(s))
		return false;
	if (first != 'D' || !one_of("Tt", second)) {
		s->noted = true;
		s->pos -= 2;
		return false;
	}
	s->hidden++;
	s->open++;
	expression(s);
	if (!skim_need(s, 'E'))
		return false;
	s->open--;
	s->hidden--;
	return true;
}

/* Dv <size> _: the element type follows. */
static void vector_size(struct skim *s)
{
	skim_take(s, 2);
	if (skim_ended(s))
		return;
	s->hidden++;
	if (skim_at(s, 0) == '_') {
		skim_take(s, 1);
		expression(s);
	} else if (cpp_number(s) < 0) {
		return;
	}
	if (skim_need(s, '_'))
		s->hidden--;
}

/*
 * What a step inside a type came to. A vendor qualifier counts as a type, if nothing follows
 * it; where no type starts, the result is that of the steps before.
 */
enum step {
	STEP_ON, /* a prefix */
	STEP_MORE, /* a vendor qualifier */
	STEP_OK,
	STEP_NONE, /* no type starts here */
	STEP_BAD,
	STEP_BROKEN, /* bad, and the group stays open */
};

static enum step step_of(bool ok)
{
	return ok ? STEP_OK : STEP_BAD;
}

/* D <second>: built-in types, decltype, vectors, and what precedes function types. */
static enum step type_d(struct skim *s)
{
	char c = skim_at(s, 1);

	switch (c) {
	case 'p':
	case 'x':
	case 'o':
		skim_take(s, 2);
		return STEP_ON;
	case 'v':
		vector_size(s);
		return STEP_ON;
	case 't':
	case 'T':
		return step_of(cpp_decltype(s));
	case 'F':
	case 'B':
	case 'U':
		skim_take(s, 2);
		while (!skim_ended(s) && is_digit(skim_at(s, 0)))
			s->pos++;
		if (!one_of("_xb", skim_at(s, 0)))
			return STEP_BAD;
		skim_take(s, 1);
		return STEP_OK;
	case 'O':
		skim_take(s, 2);
		return expression(s) && skim_need(s, 'E') ? STEP_ON : STEP_BROKEN;
	case 'w':
		skim_take(s, 2);
		while (cpp_type(s))
			;
		return skim_need(s, 'E') ? STEP_ON : STEP_BROKEN;
	default:
		if (!one_of("defhisacnu", c))
			return STEP_NONE;
		skim_take(s, 2);
		return STEP_OK;
	}
}

static enum step type_t(struct skim *s)
{
	char c = skim_at(s, 1);
	bool ok;

	if (one_of("sue", c)) {
		skim_take(s, 2);
		return step_of(cpp_name(s));
	}
	if (c != '_' && !is_digit(c))
		return STEP_NONE;
	ok = cpp_template_param(s);
	if (skim_at(s, 0) == 'I')
		ok = cpp_template_args(s);
	return step_of(ok);
}

static enum step type_s(struct skim *s)
{
	bool in_std = skim_at(s, 1) == 't';
	bool ok = cpp_substitution(s);

	if (ok && in_std && is_digit(skim_at(s, 0)))
		ok = cpp_unqualified_name(s);
	if (skim_at(s, 0) == 'I')
		ok = cpp_template_args(s);
	return step_of(ok);
}

static enum step type_step(struct skim *s)
{
	char c = skim_at(s, 0);

	switch (c) {
	case 'r':
	case 'V':
	case 'K':
	case 'P':
	case 'R':
	case 'O':
	case 'C':
	case 'G':
		skim_take(s, 1);
		return STEP_ON;
	case 'F':
		return step_of(function_type(s));
	case 'T':
		return type_t(s);
	case 'A':
		return step_of(array_type(s));
	case 'M':
		skim_take(s, 1);
		return step_of(cpp_type(s) && cpp_type(s));
	case 'D':
		return type_d(s);
	case 'S':
		return type_s(s);
	case 'u':
		skim_take(s, 1);
		return step_of(cpp_source_name(s));
	case 'U':
		skim_take(s, 1);
		return cpp_source_name(s) && cpp_optional_args(s) ? STEP_MORE : STEP_BAD;
	case 'I':
		return step_of(cpp_template_args(s));
	case 'N':
	case 'Z':
		return step_of(cpp_name(s));
	default:
		if (is_digit(c))
			return step_of(cpp_name(s));
		if (!one_of("vwbcahstijlmxynofdegz", c))
			return STEP_NONE;
		skim_take(s, 1);
		return STEP_OK;
	}
}

bool cpp_type(struct skim *s)
{
	enum step step = STEP_BAD;
	bool ok = false;

	if (skim_ended(s))
		return false;
	s->hidden++;
	s->open++;
	if (skim_down(s)) {
		do {
			step = type_step(s);
			if (step == STEP_MORE || step == STEP_OK || step == STEP_BAD)
				ok = step != STEP_BAD;
		} while (step <= STEP_MORE && !skim_ended(s));
	}
	ok = skim_up(s, ok);
	if (step == STEP_BROKEN)
		return false;
	s->open--;
	s->hidden--;
	return ok;
}
