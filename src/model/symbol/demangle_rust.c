/*
 * The simple form of Rust v0 names: paths with the types of impls and generic arguments, without
 * traits, hashes, lifetimes and return types. The grammar is that of RFC 2603; see
 * demangle_simple.h for why it errs where it errs.
 */
#include "model/symbol/demangle_simple.h"

static bool path(struct skim *s);
static bool type(struct skim *s);

static bool shows(const struct skim *s)
{
	return (!s->hidden || s->types_shown) && !s->quiet;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/*
 * As C's strtol() reads it: blanks, a sign and 0x may stand in front; without digits it is 0 and
 * nothing is passed.
 */
static int lax_number(struct skim *s, unsigned base)
{
	size_t at = s->pos;
	bool minus = false, any = false;
	int64_t v = 0;

	while (at < s->all && is_blank(s->in[at]))
		at++;
	if (at < s->all && (s->in[at] == '-' || s->in[at] == '+'))
		minus = s->in[at++] == '-';
	if (base == 16 && at + 2 < s->all && s->in[at] == '0' &&
	    (s->in[at + 1] == 'x' || s->in[at + 1] == 'X') && digit_value(s->in[at + 2]) < 16)
		at += 2;
	for (; at < s->all && digit_value(s->in[at]) < base; at++) {
		int digit = (int)digit_value(s->in[at]);

		any = true;
		v = v > (INT64_MAX - digit) / (int)base ? INT64_MAX : v * (int)base + digit;
	}
	if (any)
		s->pos = at;
	return (int32_t)(uint32_t)(minus ? -v : v);
}

/*
 * Digits of base 62 up to _, which is passed. None is 0, else it is one more than their value.
 * `value` may be NULL.
 */
static bool base62(struct skim *s, uint64_t *value)
{
	uint64_t v = 0;
	size_t start = s->pos;

	for (; !skim_ended(s) && skim_at(s, 0) != '_'; s->pos++) {
		char c = skim_at(s, 0);

		if (digit_value(c) == 36)
			return false;
		v = v * 62 + digit_value(c) + (is_upper(c) ? 26 : 0);
		if (v > UINT32_MAX)
			v = UINT32_MAX;
	}
	if (skim_ended(s))
		return false;
	if (value)
		*value = v + (s->pos > start);
	s->pos++;
	return true;
}

static bool disambiguator(struct skim *s)
{
	return skim_at(s, 0) != 's' || (skim_need(s, 's') && base62(s, NULL));
}

/*
 * [u] <length> [_] <bytes>. Punycode is shown as it is; a name that is cut short shows what is
 * there.
 */
static bool plain_ident(struct skim *s)
{
	size_t start, len, left;
	int n;

	if (skim_at(s, 0) == 'u')
		s->pos++;
	start = s->pos;
	n = lax_number(s, 10);
	if (n < 0 || s->pos > s->all) {
		s->pos = start;
		return false;
	}
	if (s->pos < s->all && s->in[s->pos] == '_')
		s->pos++;
	len = (size_t)n;
	left = s->all - s->pos;
	if (shows(s) && len) {
		skim_join(s);
		skim_show(s, s->in + s->pos, len < left ? len : left);
		s->cut |= len > left;
	}
	s->pos += len;
	return true;
}

static bool ident(struct skim *s)
{
	return disambiguator(s) && plain_ident(s);
}

static bool lifetime(struct skim *s)
{
	return !skim_ended(s) && skim_need(s, 'L') && base62(s, NULL);
}

/*
 * B <position after _R>: a path that was there before. Types are referred to like that too, and
 * fail.
 */
static bool backref(struct skim *s)
{
	uint64_t target;
	size_t back;
	bool ok;

	if (skim_ended(s) || !skim_need(s, 'B') || !base62(s, &target))
		return false;
	back = s->pos;
	s->pos = (size_t)target + 2;
	ok = path(s);
	s->pos = back;
	return ok;
}

/* p, a reference, or a type and a hexadecimal value: shown in decimal, without sign. */
static bool constant(struct skim *s)
{
	bool show = shows(s), was_quiet = s->quiet;
	char text[24];
	int n;

	if (skim_ended(s))
		return false;
	if (skim_at(s, 0) == 'p') {
		if (show)
			skim_text(s, "_");
		s->pos++;
		return true;
	}
	if (skim_at(s, 0) == 'B')
		return backref(s);
	s->quiet = true;
	if (!type(s))
		return false;
	s->quiet = was_quiet;
	if (skim_at(s, 0) == 'n')
		s->pos++;
	n = lax_number(s, 16);
	if (show)
		skim_show(s, text, (size_t)(put_i64(text, n) - text));
	return skim_need(s, '_');
}

/* Types up to E, which is not passed; each shows a comma after it. */
static bool type_list(struct skim *s, bool show, bool *any)
{
	*any = false;
	while (!skim_ended(s) && skim_at(s, 0) != 'E') {
		if (!type(s))
			return false;
		if (show)
			skim_text(s, ",");
		*any = true;
	}
	return true;
}

static bool tuple_type(struct skim *s, bool show)
{
	bool any;

	if (show)
		skim_text(s, "(");
	if (!type_list(s, show, &any) || !skim_need(s, 'E'))
		return false;
	if (show) {
		skim_chop(s);
		skim_text(s, ")");
	}
	return true;
}

static bool array_type(struct skim *s, bool show)
{
	if (show)
		skim_text(s, "[");
	if (!type(s))
		return false;
	if (show)
		skim_text(s, ";");
	if (!constant(s))
		return false;
	if (show)
		skim_text(s, "]");
	return true;
}

static bool slice_type(struct skim *s, bool show)
{
	if (show)
		skim_text(s, "[");
	if (!type(s))
		return false;
	if (show)
		skim_text(s, "]");
	return true;
}

static bool pointer_type(struct skim *s, bool show, const char *text)
{
	if (show)
		skim_text(s, text);
	return type(s);
}

static bool reference_type(struct skim *s, bool show, const char *text)
{
	if (show)
		skim_text(s, text);
	if (skim_at(s, 0) == 'L')
		lifetime(s);
	return type(s);
}

/* F [U] [K <abi>] <parameters> E <result> */
static bool fn_type(struct skim *s, bool show)
{
	bool was_quiet = s->quiet, any;

	if (skim_at(s, 0) == 'U')
		s->pos++;
	if (skim_at(s, 0) == 'K') {
		s->pos++;
		if (skim_at(s, 0) == 'C')
			s->pos++;
		else
			plain_ident(s);
	}
	if (show)
		skim_text(s, "fn(");
	if (!type_list(s, show, &any))
		return false;
	if (show && any)
		skim_chop(s);
	if (!skim_need(s, 'E'))
		return false;
	if (show)
		skim_text(s, ")");
	s->quiet = true;
	if (!type(s))
		return false;
	s->quiet = was_quiet;
	return true;
}

/*
 * D [G <binder>] (<trait> (p <name> <type>)*)* E <lifetime>; a binder is not understood and fails.
 */
static bool dyn_type(struct skim *s)
{
	if (skim_at(s, 0) == 'G')
		skim_need(s, 'R');
	while (!skim_ended(s) && skim_at(s, 0) != 'E') {
		if (!path(s))
			return false;
		while (!skim_ended(s) && skim_at(s, 0) == 'p') {
			s->pos++;
			if (!plain_ident(s) || !type(s))
				return false;
		}
	}
	return skim_need(s, 'E') && lifetime(s);
}

/* W <pattern>: what is no range is left to whatever comes next. */
static bool pattern_type(struct skim *s)
{
	char c = skim_at(s, 0);

	if (skim_ended(s) || c == 'O')
		return false;
	return c != 'R' || (constant(s) && constant(s));
}

static const char *builtin(char c)
{
	static const char *const names[26] = {
		"i8",	 "bool", "char", "f64", "str",	"f32",	NULL,  "u8", "isize",
		"usize", NULL,	 "i32",	 "u32", "i128", "u128", "_",   NULL, NULL,
		"i16",	 "u16",	 "()",	 "...", NULL,	"i64",	"u64", "!",
	};

	return names[c - 'a'];
}

static bool type_any(struct skim *s, char c)
{
	bool show = shows(s);

	if (!strchr("ADFOPQRSTW", c))
		return path(s);
	s->pos++;
	switch (c) {
	case 'A':
		return array_type(s, show);
	case 'D':
		return dyn_type(s);
	case 'F':
		return fn_type(s, show);
	case 'O':
		return pointer_type(s, show, "*mut_");
	case 'P':
		return pointer_type(s, show, "*const_");
	case 'Q':
		return reference_type(s, show, "&mut_");
	case 'R':
		return reference_type(s, show, "&");
	case 'S':
		return slice_type(s, show);
	case 'T':
		return tuple_type(s, show);
	default:
		return pattern_type(s);
	}
}

static bool type(struct skim *s)
{
	char c = skim_at(s, 0);
	bool ok;

	if (skim_ended(s))
		return false;
	if (is_lower(c)) {
		if (!builtin(c))
			return false;
		if (shows(s))
			skim_text(s, builtin(c));
		s->pos++;
		return true;
	}
	s->hidden++;
	ok = skim_down(s) && type_any(s, c);
	s->hidden--;
	return skim_up(s, ok);
}

/* N <namespace> <path> <name>; only the namespace of closures shows. */
static bool nested_path(struct skim *s)
{
	bool closure = skim_at(s, 1) == 'C';

	s->pos += 2;
	if (!path(s) || !ident(s))
		return false;
	if (closure && shows(s)) {
		skim_join(s);
		skim_text(s, "{closure}");
	}
	return true;
}

static bool quiet_path(struct skim *s)
{
	bool was_quiet = s->quiet;

	s->quiet = true;
	if (!path(s))
		return false;
	s->quiet = was_quiet;
	return true;
}

/*
 * The type that an impl is of, in angle brackets. A built-in type leaves it to the next name to do
 * without `::`.
 */
static bool impl_type(struct skim *s)
{
	bool were_shown = s->types_shown;

	s->joined = false;
	s->types_shown = true;
	if (!type(s))
		return false;
	s->types_shown = were_shown;
	return true;
}

/*
 * M <impl path> <type>, X <impl path> <type> <trait>, Y <type> <trait>: the impl path and the trait
 * are not shown.
 */
static bool impl(struct skim *s, char kind)
{
	bool show = !s->quiet || kind == 'Y';

	s->pos++;
	if (kind == 'M')
		skim_join(s);
	if (kind != 'Y') {
		bool was_quiet = s->quiet;

		s->quiet = true;
		disambiguator(s);
		if (!path(s))
			return false;
		s->quiet = was_quiet;
	}
	if (show)
		skim_text(s, "<");
	if (!impl_type(s) || (kind != 'M' && !quiet_path(s)))
		return false;
	if (show)
		skim_text(s, ">");
	return true;
}

static bool generic_arg(struct skim *s)
{
	if (skim_at(s, 0) == 'L')
		return lifetime(s);
	if (skim_at(s, 0) != 'K')
		return type(s);
	s->pos++;
	return constant(s);
}

/* I <path> <arguments> E */
static bool generic_args(struct skim *s)
{
	bool were_shown = s->types_shown;

	s->pos++;
	s->types_shown = true;
	if (!type(s))
		return false;
	if (!s->quiet)
		skim_text(s, "<");
	while (!skim_ended(s) && skim_at(s, 0) != 'E') {
		s->joined = false;
		if (!generic_arg(s))
			return false;
		if (!s->quiet)
			skim_text(s, ",");
	}
	if (!s->quiet) {
		skim_chop(s);
		skim_text(s, ">");
	}
	s->types_shown = were_shown;
	s->joined = true;
	return skim_need(s, 'E');
}

static bool path_any(struct skim *s)
{
	char c = skim_at(s, 0);

	switch (c) {
	case 'C':
		s->pos++;
		return ident(s);
	case 'N':
		return nested_path(s);
	case 'M':
	case 'X':
	case 'Y':
		return impl(s, c);
	case 'I':
		return generic_args(s);
	case 'B':
		return backref(s);
	default:
		return false;
	}
}

static bool path(struct skim *s)
{
	bool ok;

	if (skim_ended(s))
		return false;
	ok = skim_down(s) && path_any(s);
	return skim_up(s, ok);
}

bool skim_rust_v0(struct skim *s)
{
	s->end = s->all;
	s->pos = 2;
	if (is_digit(skim_at(s, 0)))
		s->pos++;
	if (!path(s))
		return false;
	/* The crate that the instance is made in says nothing about the function. */
	s->quiet = true;
	if (skim_at(s, 0) == 'C')
		path(s);
	if (skim_at(s, 0) == 'B')
		path(s);
	if (!skim_ended(s) && skim_at(s, 0) != '.' && skim_at(s, 0) != '$')
		return false;
	return !s->stuck && s->o->len > s->base;
}
