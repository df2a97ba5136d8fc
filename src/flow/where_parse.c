/*
 * The text of an expression to its tree: a recursive-descent parser over tokens that are cut off as
 * they are needed. Errors name the column, what was expected there, and what was found.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "flow/where.h"

enum token {
	TOKEN_END,
	TOKEN_WORD, /* a field, true, false, null */
	TOKEN_NUMBER,
	TOKEN_STRING,
	TOKEN_OP, /* a comparison */
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_NOT,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_OTHER,
};

enum { SHOWN = 40, PATH_STEPS = 16, TEXT_MAX = 1 << 16, NUMBER_MAX = 64 };

struct parser {
	struct where *where;
	struct spur_error *err;
	struct text all; /* the expression */
	size_t at; /* where the next token begins */
	size_t from; /* where the token at hand begins */
	size_t before; /* where the token before it ended */
	enum token token;
	enum where_op op; /* of TOKEN_OP */
	struct text text; /* of TOKEN_STRING: its value; of others as written */
	unsigned depth;
};

static const struct {
	const char *name;
	enum where_field field;
} fields[] = {
	{ "ts", WHERE_TS },	      { "dur", WHERE_DUR },   { "name", WHERE_NAME },
	{ "cat", WHERE_CAT },	      { "pid", WHERE_PID },   { "tid", WHERE_TID },
	{ "cpu", WHERE_CPU },	      { "kind", WHERE_KIND }, { "thread", WHERE_THREAD },
	{ "depth", WHERE_DEPTH_OF }, { "module", WHERE_MODULE }, { "arg", WHERE_ARG },
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static const char field_list[] =
	"ts, dur, name, cat, pid, tid, cpu, depth, kind, thread, module or arg.NAME";

/* --- errors --- */

/* The column of a byte, from 1, in characters. */
static size_t column_of(const struct parser *p, size_t at)
{
	size_t column = 1;

	for (size_t i = 0; i < at && i < p->all.len; i++)
		column += ((unsigned char)p->all.p[i] & 0xC0) != 0x80;
	return column;
}

static enum spur_status fail_at(struct parser *p, size_t at, const char *expected,
				struct text found)
{
	const size_t column = column_of(p, at);

	if (!found.len)
		err_set(p->err, SPUR_ERR_USAGE, "--where: column %zu: expected %s, found the end",
			column, expected);
	else
		err_set(p->err, SPUR_ERR_USAGE, "--where: column %zu: expected %s, found %.*s",
			column, expected, (int)(found.len < SHOWN ? found.len : SHOWN), found.p);
	return err_at(p->err, "where", column - 1);
}

/* The token at hand is not what is expected. */
static enum spur_status fail(struct parser *p, const char *expected)
{
	return fail_at(p, p->from, expected,
		       text_make(p->all.p + p->from, p->at > p->from ? p->at - p->from : 0));
}

/* --- tokens --- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

static char char_at(const struct parser *p, size_t i)
{
	return i < p->all.len ? p->all.p[i] : '\0';
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One escape behind a backslash; an unknown one keeps it, for regular expressions. */
static void take_escape(struct parser *p, char *buf, size_t *n)
{
	const char c = char_at(p, p->at++);
	const int high = hex_digit(char_at(p, p->at)), low = hex_digit(char_at(p, p->at + 1));

	if (c == 'n' || c == 't') {
		buf[(*n)++] = c == 'n' ? '\n' : '\t';
	} else if (c == 'x' && high >= 0 && low >= 0) {
		buf[(*n)++] = (char)(high << 4 | low);
		p->at += 2;
	} else if (c == '"' || c == '\'' || c == '\\') {
		buf[(*n)++] = c;
	} else {
		buf[(*n)++] = '\\';
		if (c)
			buf[(*n)++] = c;
	}
}

static enum spur_status take_string(struct parser *p)
{
	const char quote = p->all.p[p->at++];
	char *buf = arena_alloc(&p->where->arena, p->all.len + 1);
	size_t n = 0;

	if (!buf)
		return err_nomem(p->err);
	while (char_at(p, p->at) != quote) {
		if (p->at >= p->all.len) {
			p->at = p->all.len;
			return fail_at(p, p->at, quote == '"' ? "\" that ends the string"
							     : "' that ends the string",
				       text_make("", 0));
		}
		if (p->all.p[p->at] != '\\') {
			buf[n++] = p->all.p[p->at++];
			continue;
		}
		p->at++;
		take_escape(p, buf, &n);
	}
	p->at++;
	p->token = TOKEN_STRING;
	p->text = text_make(buf, n);
	return SPUR_OK;
}

/* Digits with a unit, 0x1f, 1.5e-3. */
static void take_number(struct parser *p)
{
	const bool hex = p->all.len - p->from > 1 && strncmp(p->all.p + p->from, "0x", 2) == 0;

	p->at += p->all.p[p->at] == '-';
	while (is_word(char_at(p, p->at)) || char_at(p, p->at) == '.' ||
	       (!hex && (char_at(p, p->at) == '-' || char_at(p, p->at) == '+') &&
		(char_at(p, p->at - 1) | 32) == 'e'))
		p->at++;
	p->token = TOKEN_NUMBER;
}

static bool take_op(struct parser *p)
{
	static const struct {
		const char *text;
		enum token token;
		enum where_op op;
	} ops[] = { { "==", TOKEN_OP, WHERE_EQ },   { "!=", TOKEN_OP, WHERE_NE },
		    { "<=", TOKEN_OP, WHERE_LE },   { ">=", TOKEN_OP, WHERE_GE },
		    { "=~", TOKEN_OP, WHERE_MATCH }, { "<", TOKEN_OP, WHERE_LT },
		    { ">", TOKEN_OP, WHERE_GT },    { "&&", TOKEN_AND, 0 },
		    { "||", TOKEN_OR, 0 },	    { "!", TOKEN_NOT, 0 },
		    { "(", TOKEN_OPEN, 0 },	    { ")", TOKEN_CLOSE, 0 } };
	const struct text rest = text_make(p->all.p + p->at, p->all.len - p->at);

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (text_starts(rest, ops[i].text)) {
			p->token = ops[i].token;
			p->op = ops[i].op;
			p->at += strlen(ops[i].text);
			return true;
		}
	return false;
}

static enum spur_status next(struct parser *p)
{
	char c;

	p->before = p->at;
	while (p->at < p->all.len && strchr(" \t\r\n", p->all.p[p->at]) && p->all.p[p->at])
		p->at++;
	p->from = p->at;
	c = char_at(p, p->at);
	if (p->at >= p->all.len) {
		p->token = TOKEN_END;
	} else if (c == '"' || c == '\'') {
		return take_string(p);
	} else if (is_digit(c) || (c == '-' && is_digit(char_at(p, p->at + 1)))) {
		take_number(p);
	} else if (is_word(c)) {
		while (is_word(char_at(p, p->at)))
			p->at++;
		p->token = TOKEN_WORD;
	} else if (!take_op(p)) {
		p->at++;
		p->token = TOKEN_OTHER;
	}
	p->text = text_make(p->all.p + p->from, p->at - p->from);
	return SPUR_OK;
}

/* --- constants --- */

/* A constant as written, kept until it is known what it is compared with. */
struct constant {
	enum token token; /* TOKEN_STRING, TOKEN_NUMBER, TOKEN_WORD */
	struct text text;
	struct text source; /* with its quotes */
	size_t from;
};

static enum spur_status bad_constant(struct parser *p, const struct constant *c,
				     const char *expected)
{
	return fail_at(p, c->from, expected, c->source);
}

/* Decimal or hexadecimal, from -2^63 to 2^64 - 1. */
static bool parse_integer(struct text t, __int128 *out)
{
	const bool minus = text_skip(&t, "-");
	const unsigned base = text_skip(&t, "0x") || text_skip(&t, "0X") ? 16 : 10;
	uint64_t v;

	if (!text_u64(&t, base, &v) || t.len || (minus && v > (uint64_t)1 << 63))
		return false;
	*out = minus ? -(__int128)v : (__int128)v;
	return true;
}

/* A number with a unit of time, as ns. */
static bool parse_time(struct text t, __int128 *out)
{
	const bool minus = text_skip(&t, "-");
	int64_t ns;

	if (!t.len || is_digit(t.p[t.len - 1]) || !moment_duration(t, 0, &ns))
		return false;
	*out = minus ? -(__int128)ns : ns;
	return true;
}

/* In the C locale, whatever the program's is. */
static bool parse_real(struct text t, double *out)
{
	char buf[NUMBER_MAX], *end;
	locale_t c;

	if (t.len >= sizeof(buf) || !is_digit(t.p[t.len - 1]))
		return false;
	memcpy(buf, t.p, t.len);
	buf[t.len] = '\0';
	c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c)
		return false;
	*out = strtod_l(buf, &end, c);
	freelocale(c);
	return end == buf + t.len;
}

static enum spur_status number_constant(struct parser *p, const struct constant *c,
					struct where_leaf *l)
{
	l->type = WHERE_INT;
	if (c->token == TOKEN_WORD && (text_is(c->text, "true") || text_is(c->text, "false"))) {
		l->number = text_is(c->text, "true");
		return SPUR_OK;
	}
	if (c->token != TOKEN_NUMBER)
		return bad_constant(p, c, "a number");
	if (parse_integer(c->text, &l->number) || parse_time(c->text, &l->number))
		return SPUR_OK;
	l->type = WHERE_FLOAT;
	return parse_real(c->text, &l->real)
		       ? SPUR_OK
		       : bad_constant(p, c, "a number (3, -3, 0x1f, 1.5, 10us)");
}

static enum spur_status text_constant(struct parser *p, const struct constant *c,
				      struct where_leaf *l)
{
	char expected[SHOWN + 32];

	if (c->token == TOKEN_WORD && c->text.len < SHOWN) {
		snprintf(expected, sizeof(expected), "text in quotes (\"%.*s\")", (int)c->text.len,
			 c->text.p);
		return bad_constant(p, c, expected);
	}
	if (c->token != TOKEN_STRING)
		return bad_constant(p, c, "text in quotes");
	l->type = WHERE_TEXT;
	l->text = c->text;
	l->id = trace_intern_n(p->where->trace, c->text.p, c->text.len);
	return SPUR_OK;
}

static enum spur_status regex_constant(struct parser *p, const struct constant *c,
				       struct where_leaf *l)
{
	struct spur_error why = { 0 };

	if (text_constant(p, c, l) == SPUR_FAIL)
		return SPUR_FAIL;
	if (memchr(c->text.p, '\0', c->text.len))
		return bad_constant(p, c, "a regular expression without \\x00");
	l->pattern = pattern_new(PATTERN_REGEX, l->text.p, NULL, &why);
	if (l->pattern)
		return SPUR_OK;
	if (why.code == SPUR_ERR_MEMORY)
		return err_nomem(p->err);
	err_set(p->err, SPUR_ERR_USAGE, "--where: column %zu: %s", column_of(p, c->from),
		why.message);
	return err_at(p->err, "where", column_of(p, c->from) - 1);
}

static enum spur_status dur_constant(struct parser *p, const struct constant *c,
				     struct where_leaf *l)
{
	static const char expected[] = "a time with its unit (5ns, 10us, 250ms, 1.5s, 2m, 1h)";
	const struct spur_trace *t = p->where->trace;

	l->type = WHERE_INT;
	if (c->token != TOKEN_NUMBER || !(parse_time(c->text, &l->number) ||
					  (parse_integer(c->text, &l->number) && !l->number)))
		return bad_constant(p, c, expected);
	l->number = l->number < 0 ? -(__int128)trace_from_ns(t, (int64_t)-l->number)
				  : trace_from_ns(t, (int64_t)l->number);
	return SPUR_OK;
}

static enum spur_status ts_constant(struct parser *p, const struct constant *c,
				    struct where_leaf *l)
{
	char name[48];
	const struct moment_option o = { .name = name };
	int64_t at;

	snprintf(name, sizeof(name), "--where: column %zu", column_of(p, c->from));
	l->type = WHERE_INT;
	if (moment_parse(&p->where->base, &o, c->text, &at, p->err) == SPUR_FAIL)
		return SPUR_FAIL;
	l->number = at;
	return SPUR_OK;
}

static bool same_word(struct text t, const char *word)
{
	if (t.len != strlen(word))
		return false;
	for (size_t i = 0; i < t.len; i++)
		if ((t.p[i] >= 'a' && t.p[i] <= 'z' ? t.p[i] - 32 : t.p[i]) != word[i])
			return false;
	return true;
}

/* A kind's name in any case, with or without quotes, or a pattern of such: a bit per kind. */
static enum spur_status kind_constant(struct parser *p, const struct constant *c,
				      struct where_leaf *l)
{
	l->type = WHERE_INT;
	l->number = 0;
	if (c->token == TOKEN_NUMBER)
		return bad_constant(p, c, "a kind of event (BEGIN, END, SPAN, INSTANT ...)");
	if (l->op == WHERE_MATCH) {
		if (regex_constant(p, c, l) == SPUR_FAIL)
			return SPUR_FAIL;
		l->type = WHERE_INT;
	}
	for (unsigned k = 0; k < SPUR_KINDS; k++)
		if (l->op == WHERE_MATCH ? pattern_match(l->pattern, spur_kind_name(k))
					 : same_word(c->text, spur_kind_name(k)))
			l->number |= (__int128)1 << k;
	if (!l->number && l->op != WHERE_MATCH)
		return bad_constant(p, c, "a kind of event (BEGIN, END, SPAN, INSTANT ...)");
	return SPUR_OK;
}

static enum spur_status arg_constant(struct parser *p, const struct constant *c,
				     struct where_leaf *l)
{
	if (c->token == TOKEN_STRING)
		return text_constant(p, c, l);
	if (c->token == TOKEN_WORD && text_is(c->text, "null")) {
		l->type = WHERE_NULL;
		return l->op == WHERE_EQ || l->op == WHERE_NE
			       ? SPUR_OK
			       : bad_constant(p, c, "a number or text (null goes with == and !=)");
	}
	if (c->token == TOKEN_WORD && !text_is(c->text, "true") && !text_is(c->text, "false"))
		return bad_constant(p, c, "a number, text in quotes, true, false or null");
	return number_constant(p, c, l);
}

static enum spur_status set_constant(struct parser *p, const struct constant *c,
				     struct where_leaf *l)
{
	switch (l->field) {
	case WHERE_KIND:
		return l->op == WHERE_EQ || l->op == WHERE_NE || l->op == WHERE_MATCH
			       ? kind_constant(p, c, l)
			       : fail_at(p, c->from, "==, != or =~ before a kind", c->source);
	case WHERE_TS:
	case WHERE_DUR:
	case WHERE_PID:
	case WHERE_TID:
	case WHERE_CPU:
	case WHERE_DEPTH_OF:
		if (l->op == WHERE_MATCH)
			return fail_at(p, c->from, "text on the left of =~", c->source);
		return l->field == WHERE_TS    ? ts_constant(p, c, l)
		       : l->field == WHERE_DUR ? dur_constant(p, c, l)
					       : number_constant(p, c, l);
	default:
		break;
	}
	if (l->op == WHERE_MATCH)
		return regex_constant(p, c, l);
	return l->field == WHERE_ARG ? arg_constant(p, c, l) : text_constant(p, c, l);
}

/* --- operands --- */

/* The steps behind `arg`: .NAME, .3, ."any text". */
static enum spur_status parse_path(struct parser *p, struct where_leaf *l)
{
	struct where_step *steps = arena_alloc(&p->where->arena, PATH_STEPS * sizeof(*steps));
	size_t n = 0;

	if (!steps)
		return err_nomem(p->err);
	for (; char_at(p, p->at) == '.' && n < PATH_STEPS; n++) {
		struct text t, digits;
		uint64_t v;

		p->at++;
		p->from = p->at;
		if (char_at(p, p->at) == '"' || char_at(p, p->at) == '\'') {
			if (take_string(p) == SPUR_FAIL)
				return SPUR_FAIL;
			t = p->text;
		} else {
			while (is_word(char_at(p, p->at)))
				p->at++;
			t = text_make(p->all.p + p->from, p->at - p->from);
		}
		if (p->at == p->from)
			return fail_at(p, p->from, "the name of an argument, in quotes if it has "
						   "other characters than letters, digits and _",
				       text_make(p->all.p + p->from, p->at < p->all.len));
		steps[n] = (struct where_step){ .index = UINT32_MAX,
						.name = trace_intern_n(p->where->trace, t.p,
								       t.len) };
		digits = t;
		if (text_u64(&digits, 10, &v) && !digits.len && v < UINT32_MAX)
			steps[n].index = (uint32_t)v;
		digits = t;
		if (text_skip(&digits, "arg") && text_u64(&digits, 10, &v) && !digits.len &&
		    v < UINT32_MAX)
			steps[n].place = (uint32_t)v;
	}
	if (!n || char_at(p, p->at) == '.')
		return fail_at(p, p->at, n ? "at most 16 names" : "arg.NAME",
			       text_make(p->all.p + p->at, p->at < p->all.len));
	l->steps = steps;
	l->nsteps = n;
	return next(p);
}

/*
 * The field at hand, if the word is one: SPUR_OK, and the token behind it. SPUR_WARN: it is none.
 */
static enum spur_status parse_field(struct parser *p, struct where_leaf *l)
{
	for (size_t i = 0; i < FIELDS && p->token == TOKEN_WORD; i++)
		if (text_is(p->text, fields[i].name)) {
			l->field = fields[i].field;
			return l->field == WHERE_ARG ? parse_path(p, l) : next(p);
		}
	return SPUR_WARN;
}

static enum spur_status unknown_field(struct parser *p)
{
	const char *names[FIELDS + 1] = { NULL };
	char word[SHOWN], expected[192];
	const char *near = NULL;

	for (size_t i = 0; i < FIELDS; i++)
		names[i] = fields[i].name;
	if (p->token == TOKEN_WORD && p->text.len < sizeof(word)) {
		memcpy(word, p->text.p, p->text.len);
		word[p->text.len] = '\0';
		near = text_suggest(word, names);
	}
	snprintf(expected, sizeof(expected), near ? "%s, or another field" : "%s",
		 near ? near : field_list);
	return fail(p, expected);
}

static enum spur_status parse_constant(struct parser *p, struct constant *c, const char *expected)
{
	if (p->token != TOKEN_STRING && p->token != TOKEN_NUMBER && p->token != TOKEN_WORD)
		return fail(p, expected);
	*c = (struct constant){ .token = p->token,
				.text = p->text,
				.source = text_make(p->all.p + p->from, p->at - p->from),
				.from = p->from };
	return next(p);
}

static enum where_op op_turned(enum where_op op)
{
	static const enum where_op turned[] = {
		[WHERE_EQ] = WHERE_EQ, [WHERE_NE] = WHERE_NE, [WHERE_LT] = WHERE_GT,
		[WHERE_LE] = WHERE_GE, [WHERE_GT] = WHERE_LT, [WHERE_GE] = WHERE_LE,
		[WHERE_MATCH] = WHERE_MATCH,
	};

	return turned[op];
}

static enum spur_status parse_op(struct parser *p, struct where_leaf *l)
{
	if (p->token != TOKEN_OP)
		return fail(p, "a comparison (== != < <= > >= =~)");
	l->op = p->op;
	return next(p);
}

static bool is_constant(const struct parser *p)
{
	return p->token == TOKEN_STRING || p->token == TOKEN_NUMBER ||
	       (p->token == TOKEN_WORD && (text_is(p->text, "true") || text_is(p->text, "false") ||
					   text_is(p->text, "null")));
}

/* FIELD OP CONSTANT, or CONSTANT OP FIELD. */
static enum spur_status parse_comparison(struct parser *p, uint32_t *out)
{
	struct where_leaf l = { 0 };
	struct constant c;
	const size_t from = p->from;
	enum spur_status st = parse_field(p, &l);

	if (st == SPUR_OK) {
		if (parse_op(p, &l) == SPUR_FAIL ||
		    parse_constant(p, &c, "a number or text in quotes") == SPUR_FAIL)
			return SPUR_FAIL;
	} else if (st == SPUR_WARN) {
		if (!is_constant(p))
			return unknown_field(p);
		if (parse_constant(p, &c, "") == SPUR_FAIL || parse_op(p, &l) == SPUR_FAIL)
			return SPUR_FAIL;
		if (l.op == WHERE_MATCH)
			return fail_at(p, c.from, "a field on the left of =~", c.source);
		l.op = op_turned(l.op);
		st = parse_field(p, &l);
		if (st == SPUR_WARN)
			return unknown_field(p);
	}
	if (st == SPUR_FAIL)
		return SPUR_FAIL;
	l.source = text_make(p->all.p + from, p->before - from);
	if (set_constant(p, &c, &l) == SPUR_FAIL) {
		pattern_free(l.pattern);
		return SPUR_FAIL;
	}
	return where_leaf(p->where, l, out, p->err);
}

/* --- operators --- */

static enum spur_status parse_or(struct parser *p, uint32_t *out);

static enum spur_status parse_not(struct parser *p, uint32_t *out)
{
	enum spur_status st;

	if (p->token != TOKEN_NOT && p->token != TOKEN_OPEN)
		return parse_comparison(p, out);
	if (++p->depth > WHERE_DEPTH)
		return fail(p, "at most 64 levels of ! and (");
	if (p->token == TOKEN_NOT) {
		st = next(p);
		if (st == SPUR_OK)
			st = parse_not(p, out);
		if (st == SPUR_OK)
			st = where_node(p->where, (struct where_node){ WHERE_NOT, *out, 0 }, out,
					p->err);
	} else {
		st = next(p);
		if (st == SPUR_OK)
			st = parse_or(p, out);
		if (st == SPUR_OK && p->token != TOKEN_CLOSE)
			st = fail(p, "&&, || or )");
		if (st == SPUR_OK)
			st = next(p);
	}
	p->depth--;
	return st;
}

static enum spur_status parse_chain(struct parser *p, enum token token, enum where_node_kind kind,
				    enum spur_status (*part)(struct parser *, uint32_t *),
				    uint32_t *out)
{
	enum spur_status st = part(p, out);

	while (st == SPUR_OK && p->token == token) {
		struct where_node n = { .kind = kind, .a = *out };

		st = next(p);
		if (st == SPUR_OK)
			st = part(p, &n.b);
		if (st == SPUR_OK)
			st = where_node(p->where, n, out, p->err);
	}
	return st;
}

static enum spur_status parse_and(struct parser *p, uint32_t *out)
{
	return parse_chain(p, TOKEN_AND, WHERE_AND, parse_not, out);
}

static enum spur_status parse_or(struct parser *p, uint32_t *out)
{
	return parse_chain(p, TOKEN_OR, WHERE_OR, parse_and, out);
}

enum spur_status where_add(struct where *w, const char *text, struct spur_error *err)
{
	struct parser p = { .where = w, .err = err, .all = text_of(text) };
	uint32_t root;

	if (p.all.len > TEXT_MAX)
		return err_set(err, SPUR_ERR_USAGE, "--where: expected at most %d bytes, found %zu",
			       TEXT_MAX, p.all.len);
	/* Notes quote comparisons as long as the filter lives. */
	p.all.p = arena_strdup(&w->arena, text, p.all.len);
	if (!p.all.p)
		return err_nomem(err);
	if (next(&p) == SPUR_FAIL || parse_or(&p, &root) == SPUR_FAIL)
		return SPUR_FAIL;
	if (p.token != TOKEN_END)
		return fail(&p, "&& or || or the end");
	return where_require(w, root, err);
}
