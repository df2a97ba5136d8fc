/*
 * The simple form of Itanium C++ names, and of Rust legacy names, which look the same. The grammar
 * is that of the Itanium ABI, section 5.1; names of scopes are shown as they come by, substitutions
 * and template parameters are skipped. See demangle_simple.h for why it errs where it errs.
 */
#include "model/symbol/demangle_simple.h"

static bool is_hex(char c)
{
	return digit_value(c) < 16;
}

int cpp_number(struct skim *s)
{
	uint64_t v = 0;
	unsigned base = 10;
	bool over = false;

	if (skim_ended(s))
		return -1;
	if (skim_at(s, 0) == 'n')
		s->pos++;
	if (!is_digit(skim_at(s, 0))) {
		s->noted = true;
		return -1;
	}
	if (skim_at(s, 0) == '0') {
		base = 8;
		if ((skim_at(s, 1) == 'x' || skim_at(s, 1) == 'X') && is_hex(skim_at(s, 2))) {
			base = 16;
			s->pos += 2;
		}
	}
	for (; digit_value(skim_at(s, 0)) < base; s->pos++) {
		over |= v > (UINT64_MAX - 15) / base;
		v = v * base + digit_value(skim_at(s, 0));
	}
	return over ? -1 : (int)(int32_t)(uint32_t)v;
}

static void seq_id(struct skim *s)
{
	while (is_digit(skim_at(s, 0)) || is_upper(skim_at(s, 0)))
		s->pos++;
}

static bool call_offset(struct skim *s)
{
	char kind = skim_at(s, 0);

	if (skim_ended(s) || !one_of("hv", kind))
		return false;
	skim_take(s, 1);
	if (cpp_number(s) < 0 || !skim_need(s, '_'))
		return false;
	return kind == 'h' || (cpp_number(s) >= 0 && skim_need(s, '_'));
}

static bool abi_tag(struct skim *s)
{
	return !skim_ended(s) && skim_need(s, 'B') && cpp_source_name(s);
}

static const char *std_name(char c)
{
	switch (c) {
	case 't':
		return "std";
	case 'a':
		return "std::allocator";
	case 'b':
		return "std::basic_string";
	case 's':
		return "std::basic_string<>";
	case 'i':
		return "std::basic_istream";
	case 'o':
		return "std::basic_ostream";
	case 'd':
		return "std::basic_iostream";
	default:
		return NULL;
	}
}

bool cpp_substitution(struct skim *s)
{
	const char *std;

	if (skim_ended(s) || !skim_need(s, 'S'))
		return false;
	std = std_name(skim_at(s, 0));
	if (std) {
		skim_take(s, 1);
		if (!s->hidden || s->types_shown) {
			skim_join(s);
			skim_text(s, std);
		}
		if (skim_at(s, 0) == 'B')
			abi_tag(s);
		return true;
	}
	if (!skim_ended(s))
		seq_id(s);
	return skim_need(s, '_');
}

static const struct {
	char op[3];
	const char *text;
} operators[] = {
	{ "nw", " new" }, { "na", " new[]" }, { "dl", " delete" }, { "da", " delete[]" },
	{ "ps", "+" },	  { "ng", "-" },      { "ad", "&" },	   { "de", "*" },
	{ "co", "~" },	  { "pl", "+" },      { "mi", "-" },	   { "ml", "*" },
	{ "dv", "/" },	  { "rm", "%" },      { "an", "&" },	   { "or", "|" },
	{ "eo", "^" },	  { "aS", "=" },      { "pL", "+=" },	   { "mI", "-=" },
	{ "mL", "*=" },	  { "dV", "/=" },     { "rM", "%=" },	   { "aN", "&=" },
	{ "oR", "|=" },	  { "eO", "^=" },     { "ls", "<<" },	   { "rs", ">>" },
	{ "lS", "<<=" },  { "rS", ">>=" },    { "eq", "==" },	   { "ne", "!=" },
	{ "lt", "<" },	  { "gt", ">" },      { "le", "<=" },	   { "ge", ">=" },
	{ "nt", "!" },	  { "aa", "&&" },     { "oo", "||" },	   { "pp", "++" },
	{ "mm", "--" },	  { "cm", "," },      { "pm", "->*" },	   { "pt", "->" },
	{ "cl", "()" },	  { "ix", "[]" },     { "qu", "?" },	   { "cv", "(cast)" },
	{ "li", "\"\"" }, { "ss", "<=>" },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const char *cpp_operator_text(char a, char b)
{
	for (size_t i = 0; i < COUNT(operators); i++)
		if (operators[i].op[0] == a && operators[i].op[1] == b)
			return operators[i].text;
	return NULL;
}

static void discriminator(struct skim *s)
{
	if (skim_ended(s) || !skim_need(s, '_'))
		return;
	if (is_digit(skim_at(s, 0))) {
		cpp_number(s);
	} else if (skim_at(s, 0) == '_') {
		skim_take(s, 1);
		if (cpp_number(s) >= 0)
			skim_need(s, '_');
	}
}

/* TC <base type> <offset> _ <derived type>: only the base is shown. */
static bool construction_vtable(struct skim *s)
{
	skim_text(s, "__construction_vtable__");
	s->types_shown = true;
	if (!cpp_type(s) || cpp_number(s) < 0)
		return false;
	if (skim_ended(s))
		return true;
	if (!skim_need(s, '_'))
		return false;
	s->types_shown = false;
	return cpp_type(s);
}

static const char *type_fact(char c)
{
	switch (c) {
	case 'V':
		return "__vtable__";
	case 'T':
		return "__VTT__";
	case 'I':
		return "__typeinfo_name__";
	case 'S':
		return "__typeinfo__";
	case 'F':
		return "__typeinfo_fn__";
	case 'J':
		return "__java_class__";
	default:
		return NULL;
	}
}

static bool special_t(struct skim *s)
{
	char c = skim_at(s, 1);

	if (type_fact(c)) {
		skim_take(s, 2);
		s->types_shown = true;
		skim_text(s, type_fact(c));
		return cpp_type(s);
	}
	switch (c) {
	case 'h':
	case 'v':
		skim_take(s, 1);
		return call_offset(s) && cpp_encoding(s);
	case 'c':
		skim_take(s, 2);
		return call_offset(s) && call_offset(s) && cpp_encoding(s);
	case 'C':
		skim_take(s, 2);
		return construction_vtable(s);
	case 'H':
	case 'W':
		skim_take(s, 2);
		skim_join(s);
		skim_text(s, c == 'H' ? "TLS_init" : "TLS_wrap");
		return cpp_name(s);
	default:
		s->noted = true;
		return false;
	}
}

static bool special_g(struct skim *s)
{
	switch (skim_at(s, 1)) {
	case 'V':
		skim_take(s, 2);
		skim_text(s, "__guard_variable__");
		return cpp_name(s);
	case 'R':
		skim_take(s, 2);
		skim_text(s, "__ref_temp__");
		s->quiet = true;
		if (!cpp_name(s))
			return false;
		if (skim_at(s, 0) != '_' && !skim_ended(s))
			seq_id(s);
		return skim_need(s, '_');
	case 'A':
		skim_take(s, 2);
		return cpp_encoding(s);
	case 'T':
		skim_take(s, 2);
		if (!one_of("tn", skim_at(s, 0)))
			return false;
		skim_take(s, 1);
		return cpp_encoding(s);
	default:
		s->noted = true;
		return false;
	}
}

/* Shows the last component once more. */
static bool repeat_last(struct skim *s, const char *joint)
{
	size_t end = s->o->len, start = end, n;

	if (end == s->base)
		return false;
	while (start > s->base && s->o->buf[start - 1] != ':')
		start--;
	n = end - start;
	skim_text(s, joint);
	if (!out_room(s->o, n))
		return false;
	skim_show(s, s->o->buf + start, n);
	return true;
}

/* C or D, then a digit; CI <digit> <type> is an inherited constructor. */
static bool ctor_dtor_name(struct skim *s)
{
	char first = skim_take(s, 1), second = skim_take(s, 1);
	bool inherited = second == 'I', ok = true;

	if (skim_ended(s))
		return false;
	if (inherited)
		second = skim_take(s, 1);
	if (!is_digit(second)) {
		s->noted = true;
		s->pos -= inherited ? 3 : 2;
		return false;
	}
	if (inherited)
		ok = cpp_type(s);
	if (!s->hidden && !repeat_last(s, first == 'C' ? "::" : "::~"))
		s->stuck = true;
	return ok;
}

/* Conversion operators are followed by a type, literal operators by a name; neither is shown. */
static void operator_rest(struct skim *s, char first, char second)
{
	if (first == 'c' && second == 'v')
		cpp_type(s);
	if (first == 'l' && second == 'i')
		cpp_source_name(s);
}

bool cpp_operator_name(struct skim *s)
{
	char first = skim_take(s, 1), second = skim_take(s, 1);
	const char *text = cpp_operator_text(first, second);

	if (skim_ended(s))
		return false;
	if (s->hidden) {
		operator_rest(s, first, second);
		return true;
	}
	if (text) {
		skim_join(s);
		skim_text(s, "operator");
		skim_text(s, text);
		s->hidden++;
		operator_rest(s, first, second);
		s->hidden--;
		return true;
	}
	if (first == 'v' && is_digit(second)) {
		s->hidden++;
		cpp_source_name(s);
		s->hidden--;
	}
	s->noted = true;
	s->pos -= 2;
	return false;
}

/* The hash at the end of Rust legacy names: h and 16 hexadecimal digits. */
static bool is_rust_hash(const struct skim *s, int n)
{
	if (n != 17 || s->in[s->pos] != 'h')
		return false;
	for (size_t i = 1; i < 17; i++)
		if (!is_hex(s->in[s->pos + i]))
			return false;
	return true;
}

/* What stands for punctuation between $ and $ in Rust legacy names. */
static const struct escape {
	char code[4];
	char text;
} escapes[] = {
	{ "SP", '@' },	 { "BP", '*' },	 { "RF", '&' },	 { "LT", '<' },	 { "GT", '>' },
	{ "LP", '(' },	 { "RP", ')' },	 { "C", ',' },	 { "u20", ' ' }, { "u22", '"' },
	{ "u27", '\'' }, { "u2b", '+' }, { "u3b", ';' }, { "u3d", '=' }, { "u5b", '[' },
	{ "u5d", ']' },	 { "u7b", '{' }, { "u7d", '}' }, { "u7e", '~' },
};

static bool starts(const struct skim *s, size_t at, const char *text)
{
	size_t n = strlen(text);

	return s->all - at >= n && !memcmp(s->in + at, text, n);
}

static const struct escape *escape_at(const struct skim *s, size_t at)
{
	for (size_t i = 0; i < COUNT(escapes); i++)
		if (at <= s->all && starts(s, at, escapes[i].code))
			return &escapes[i];
	return NULL;
}

/* Shows [from, to) with `..` as `::`. */
static void show_path(struct skim *s, size_t from, size_t to)
{
	for (size_t i = from; i + 1 < to; i++) {
		if (s->in[i] != '.' || s->in[i + 1] != '.')
			continue;
		skim_show(s, s->in + from, i - from);
		skim_join(s);
		from = i + 2;
		i++;
	}
	if (from < to)
		skim_show(s, s->in + from, to - from);
}

/*
 * Shows the name [pos, end) with its escapes resolved and passes it. ` as TRAIT` to the end becomes
 * `>`. From an unknown escape on, the rest is shown as it is, with what stood before it once more.
 * An escape may lack its last $.
 */
static void show_escaped(struct skim *s, size_t end)
{
	size_t p = s->pos;

	while (p < end) {
		const char *dollar = memchr(s->in + p, '$', end - p);
		size_t at = dollar ? (size_t)(dollar - s->in) : end;
		const struct escape *e = dollar ? escape_at(s, at + 1) : NULL;
		size_t n;

		if (dollar)
			show_path(s, p, at);
		if (!e)
			break;
		if (starts(s, at, "$u20$as$u20$")) {
			skim_text(s, ">");
			n = end - p;
		} else {
			skim_show(s, &e->text, 1);
			n = at - p + strlen(e->code) + 2;
		}
		skim_take(s, n);
		p += n;
	}
	if (p <= end) {
		skim_show(s, s->in + p, end - p);
		skim_take(s, end - p);
	} else if (p == end + 1 && p <= s->end) {
		skim_chop(s);
		s->pos--;
	} else {
		s->stuck = true;
	}
}

bool cpp_source_name(struct skim *s)
{
	int n = cpp_number(s);
	size_t len;

	if (n < 0)
		return false;
	len = (size_t)n;
	if (skim_ended(s) || len > s->end - s->pos) {
		s->noted = true;
		return false;
	}
	if ((s->hidden && !s->types_shown) || s->targs || is_rust_hash(s, n)) {
		s->pos += len;
		return true;
	}
	skim_join(s);
	show_escaped(s, s->pos + len);
	return true;
}

/*
 * The explicit template parameters of a generic lambda. Non-type ones end it: what follows is taken
 * for parameters.
 */
static bool template_head(struct skim *s);

static bool template_parm(struct skim *s)
{
	bool ok = false;

	if (skim_at(s, 0) != 'T')
		return false;
	if (!skim_down(s))
		return skim_up(s, false);
	switch (skim_at(s, 1)) {
	case 'y':
		skim_take(s, 2);
		ok = true;
		break;
	case 'n':
		skim_take(s, 2);
		cpp_type(s);
		break;
	case 't':
		skim_take(s, 2);
		ok = template_head(s);
		if (!ok)
			s->noted = true;
		ok = ok && skim_need(s, 'E');
		break;
	case 'p':
		skim_take(s, 2);
		ok = template_parm(s);
		break;
	default:
		break;
	}
	return skim_up(s, ok);
}

static bool template_head(struct skim *s)
{
	if (skim_at(s, 0) != 'T')
		return false;
	while (template_parm(s))
		;
	return true;
}

/* Ul <parameters> E [<number>] _ */
static bool lambda(struct skim *s)
{
	char text[24] = "$_";
	int n = -1;

	skim_take(s, 2);
	template_head(s);
	s->open++;
	while (skim_at(s, 0) != 'E')
		if (!cpp_type(s))
			break;
	if (!skim_need(s, 'E'))
		return false;
	s->open--;
	if (skim_at(s, 0) != '_') {
		n = cpp_number(s);
		if (n < 0)
			return false;
	}
	if (!skim_need(s, '_'))
		return false;
	if (s->hidden)
		return true;
	skim_join(s);
	skim_show(s, text, (size_t)(put_i64(text + 2, (int64_t)n + 1) - text));
	return true;
}

/* Ut [<number>] _ */
static bool unnamed_type(struct skim *s)
{
	s->hidden++;
	skim_take(s, 2);
	cpp_number(s);
	if (!skim_need(s, '_'))
		return false;
	s->hidden--;
	return true;
}

bool cpp_unqualified_name(struct skim *s)
{
	char c = skim_at(s, 0), next = skim_at(s, 1);
	bool ok = false;

	if (skim_ended(s))
		return false;
	if (c == 'U' && next == 'l') {
		bool was_hidden = s->hidden > 0;

		ok = lambda(s);
		if (!ok || was_hidden)
			return ok;
	} else if (c == 'U' && next == 't') {
		ok = unnamed_type(s);
		if (!ok)
			return false;
	} else if (c == 'C' || c == 'D') {
		ok = ctor_dtor_name(s);
	} else if (is_lower(c)) {
		ok = cpp_operator_name(s);
	} else if (c != 'U') {
		if (c == 'L')
			skim_take(s, 1);
		ok = cpp_source_name(s);
	}
	return skim_at(s, 0) == 'B' ? abi_tag(s) : ok;
}

/* One piece between N and E; false where none starts here. */
static bool nested_part(struct skim *s, bool *ok)
{
	char c = skim_at(s, 0), next = skim_at(s, 1);

	if (c == 'D' && (next == 'T' || next == 't'))
		*ok = cpp_decltype(s);
	else if (c == 'C' || c == 'D')
		*ok = ctor_dtor_name(s);
	else if (c == 'U' || is_lower(c) || is_digit(c))
		*ok = cpp_unqualified_name(s);
	else if (c == 'T')
		*ok = cpp_template_param(s);
	else if (c == 'I')
		*ok = cpp_template_args(s);
	else if (c == 'S')
		*ok = cpp_substitution(s);
	else if (one_of("MLVKRO", c))
		skim_take(s, 1);
	else
		return false;
	return true;
}

static bool nested_name(struct skim *s)
{
	bool ok = true;

	if (skim_ended(s) || !skim_need(s, 'N'))
		return false;
	s->open++;
	while (ok && !skim_ended(s) && skim_at(s, 0) != 'E')
		if (!nested_part(s, &ok))
			break;
	if (!skim_need(s, 'E'))
		return false;
	s->open--;
	return ok;
}

/* Z <function> E <name>, Z <function> E s, Z <function> E d [<number>] _ <name> */
static bool local_name(struct skim *s)
{
	bool ok;

	if (skim_ended(s) || !skim_need(s, 'Z'))
		return false;
	s->open++;
	cpp_encoding(s);
	if (!skim_need(s, 'E'))
		return false;
	s->open--;
	switch (skim_at(s, 0)) {
	case 'd':
		skim_take(s, 1);
		if (skim_at(s, 0) != '_' && cpp_number(s) < 0)
			return false;
		if (!skim_need(s, '_'))
			return false;
		ok = skim_down(s) && cpp_name(s);
		return skim_up(s, ok);
	case 's':
		skim_take(s, 1);
		break;
	default:
		if (skim_down(s))
			cpp_name(s);
		skim_up(s, true);
	}
	if (skim_at(s, 0) == '_' && !s->quiet)
		discriminator(s);
	return true;
}

bool cpp_name(struct skim *s)
{
	if (skim_ended(s))
		return false;
	switch (skim_at(s, 0)) {
	case 'N':
		return nested_name(s);
	case 'Z':
		return local_name(s);
	case 'S':
		if (!cpp_substitution(s))
			return false;
		if (skim_at(s, 0) == 'I')
			return cpp_template_args(s);
		break;
	default:
		break;
	}
	return cpp_unqualified_name(s) && cpp_optional_args(s);
}

/*
 * The part after _Z: a name with parameters, or something about one. Ends at E or at a suffix,
 * which is cut off.
 */
static bool encoding_any(struct skim *s)
{
	s->open++;
	if (skim_at(s, 0) == 'T' || skim_at(s, 0) == 'G') {
		bool ok = skim_at(s, 0) == 'T' ? special_t(s) : special_g(s);

		s->open--;
		return ok;
	}
	if (!cpp_name(s))
		return false;
	while (!skim_ended(s) && !one_of("E.@", skim_at(s, 0)))
		if (!cpp_type(s))
			break;
	if (one_of(".@", skim_at(s, 0)))
		s->end = s->pos;
	s->open--;
	return true;
}

bool cpp_encoding(struct skim *s)
{
	bool ok;

	if (skim_ended(s))
		return false;
	ok = skim_down(s) && encoding_any(s);
	return skim_up(s, ok);
}

bool skim_cpp(struct skim *s)
{
	s->end = s->all;
	skim_take(s, 2);
	if (!cpp_encoding(s) || s->open)
		return false;
	if (!skim_ended(s) && !(s->types_shown && cpp_name(s)))
		return false;
	return !s->stuck && s->o->len > s->base;
}
