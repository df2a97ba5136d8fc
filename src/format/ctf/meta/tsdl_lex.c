/* Tokens of TSDL, errors and warnings at them. Blank: white space, comments, stray NULs. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/ctf/meta/tsdl.h"

enum { QUOTE_MAX = 40 }; /* bytes of the text that a message shows */

static const char *const keywords[WORD_COUNT] = {
	[WORD_NONE] = "",
	[WORD_ALIGN] = "align",
	[WORD_CALLSITE] = "callsite",
	[WORD_CONST] = "const",
	[WORD_CHAR] = "char",
	[WORD_CLOCK] = "clock",
	[WORD_DOUBLE] = "double",
	[WORD_ENUM] = "enum",
	[WORD_ENV] = "env",
	[WORD_EVENT] = "event",
	[WORD_FLOATING_POINT] = "floating_point",
	[WORD_FLOAT] = "float",
	[WORD_INTEGER] = "integer",
	[WORD_INT] = "int",
	[WORD_LONG] = "long",
	[WORD_SHORT] = "short",
	[WORD_SIGNED] = "signed",
	[WORD_STREAM] = "stream",
	[WORD_STRING] = "string",
	[WORD_STRUCT] = "struct",
	[WORD_TRACE] = "trace",
	[WORD_TYPEALIAS] = "typealias",
	[WORD_TYPEDEF] = "typedef",
	[WORD_UNSIGNED] = "unsigned",
	[WORD_VARIANT] = "variant",
	[WORD_VOID] = "void",
	[WORD_BOOL] = "_Bool",
	[WORD_COMPLEX] = "_Complex",
	[WORD_IMAGINARY] = "_Imaginary",
};

/* ---- errors */

/* Up to QUOTE_MAX bytes of the text in backquotes. */
static void quote(const struct tsdl *p, uint64_t at, uint64_t len, char buf[QUOTE_MAX + 8])
{
	const uint64_t n = len > QUOTE_MAX ? QUOTE_MAX : len;

	snprintf(buf, QUOTE_MAX + 8, "`%.*s%s`", (int)n, p->text + at, n < len ? "..." : "");
}

bool tsdl_error(struct tsdl *p, uint64_t at, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	if (p->failed)
		return false;
	p->failed = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	meta_error(p->m, p->err, SPUR_ERR_FORMAT, at, "%s", text);
	return false;
}

bool tsdl_expected(struct tsdl *p, const char *what)
{
	char found[QUOTE_MAX + 8];

	if (p->failed)
		return false;
	if (p->tok.kind == TSDL_END) {
		p->cut = true;
		return tsdl_error(p, p->tok.at, "expected %s, found the end", what);
	}
	quote(p, p->tok.at, p->tok.len, found);
	return tsdl_error(p, p->tok.at, "expected %s, found %s", what, found);
}

bool tsdl_found(struct tsdl *p, const struct tsdl_value *v, const char *what)
{
	char found[QUOTE_MAX + 8];

	quote(p, v->at, v->end - v->at, found);
	return tsdl_error(p, v->at, "expected %s, found %s", what, found);
}

bool tsdl_full(struct tsdl *p)
{
	if (!p->failed)
		meta_full(p->m, p->err);
	p->failed = true;
	return false;
}

bool tsdl_deeper(struct tsdl *p)
{
	if (p->depth == META_DEPTH) {
		if (!p->failed)
			meta_error(p->m, p->err, SPUR_ERR_LIMIT, p->tok.at,
				   "expected at most %d types inside each other, found more",
				   META_DEPTH);
		p->failed = true;
		return false;
	}
	p->depth++;
	return true;
}

void tsdl_warn(struct tsdl *p, const char *code, uint64_t at, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	meta_say(p->m, p->diag, DIAG_WARN, code, at, "%s", text);
}

/* ---- characters */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A letter, or a byte of one beyond ASCII: the grammar leaves those to the implementation. */
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

static unsigned digit_of(char c)
{
	if (is_digit(c))
		return (unsigned)(c - '0');
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10 : 99;
}

static char char_at(const struct tsdl *p, uint64_t at)
{
	return at < p->size ? p->text[at] : '\0';
}

/* Length of \uXXXX or \UXXXXXXXX at `at`, or 0. */
static unsigned universal(const struct tsdl *p, uint64_t at, uint32_t *code)
{
	const char kind = char_at(p, at + 1);
	const unsigned digits = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;

	if (char_at(p, at) != '\\' || !digits)
		return 0;
	*code = 0;
	for (unsigned i = 0; i < digits; i++) {
		const unsigned d = digit_of(char_at(p, at + 2 + i));

		if (d > 15)
			return 0;
		*code = *code << 4 | d;
	}
	return *code <= 0x10FFFF ? 2 + digits : 0;
}

static void put_utf8(struct out *o, uint32_t c)
{
	if (c < 0x80) {
		out_char(o, (char)c);
	} else if (c < 0x800) {
		out_char(o, (char)(0xC0 | c >> 6));
		out_char(o, (char)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		out_char(o, (char)(0xE0 | c >> 12));
		out_char(o, (char)(0x80 | (c >> 6 & 63)));
		out_char(o, (char)(0x80 | (c & 63)));
	} else {
		out_char(o, (char)(0xF0 | c >> 18));
		out_char(o, (char)(0x80 | (c >> 12 & 63)));
		out_char(o, (char)(0x80 | (c >> 6 & 63)));
		out_char(o, (char)(0x80 | (c & 63)));
	}
}

/* ---- blanks */

static bool skip_comment(struct tsdl *p)
{
	const uint64_t start = p->pos;
	const char *end;

	if (char_at(p, p->pos + 1) == '/') {
		end = memchr(p->text + p->pos, '\n', p->size - p->pos);
		p->pos = end ? (uint64_t)(end - p->text) : p->size;
		return true;
	}
	end = memmem(p->text + p->pos + 2, p->size - p->pos - 2, "*/", 2);
	if (end) {
		p->pos = (uint64_t)(end - p->text) + 2;
		return true;
	}
	p->pos = p->size;
	p->cut = true;
	return tsdl_error(p, start, "expected `*/` behind this comment, found the end");
}

static bool skip_blanks(struct tsdl *p)
{
	while (p->pos < p->size) {
		const char c = p->text[p->pos], d = char_at(p, p->pos + 1);

		if (c == '/' && (d == '/' || d == '*')) {
			if (!skip_comment(p))
				return false;
		} else if (c == ' ' || (c >= '\t' && c <= '\r')) {
			p->pos++;
		} else if (!c) {
			if (!p->said_nul)
				tsdl_warn(p, "ctf/metadata-nul", p->pos,
					  "expected text, found NUL bytes; skipped");
			p->said_nul = true;
			p->pos++;
		} else {
			break;
		}
	}
	return true;
}

/* ---- tokens */

static enum tsdl_word word_of(const char *s, uint64_t len)
{
	for (unsigned i = 1; i < WORD_COUNT && len < 16; i++) {
		if (keywords[i][0] == s[0] && strlen(keywords[i]) == len &&
		    !memcmp(keywords[i], s, len))
			return (enum tsdl_word)i;
	}
	return WORD_NONE;
}

static void lex_name(struct tsdl *p, struct tsdl_token *t)
{
	uint32_t code;

	t->kind = TSDL_NAME;
	for (;;) {
		const char c = char_at(p, p->pos);
		const unsigned n = c == '\\' ? universal(p, p->pos, &code) : 0;

		if (!is_letter(c) && !is_digit(c) && !n)
			break;
		t->escaped |= n != 0;
		p->pos += n ? n : 1;
	}
	t->word = (uint8_t)word_of(p->text + t->at, p->pos - t->at);
}

/* u, l, ll in any order and case: they mean nothing here. */
static void skip_suffix(struct tsdl *p)
{
	const char c = (char)(char_at(p, p->pos) | 0x20);
	unsigned longs = 0;

	if (c == 'u')
		p->pos++;
	for (; longs < 2 && (char_at(p, p->pos) | 0x20) == 'l'; longs++)
		p->pos++;
	if (c != 'u' && (char_at(p, p->pos) | 0x20) == 'u')
		p->pos++;
}

/* SPEC ctf-tsdl/integer-constant */
static bool lex_number(struct tsdl *p, struct tsdl_token *t)
{
	const char second = (char)(char_at(p, p->pos + 1) | 0x20);
	unsigned base = 10;
	bool over = false;
	uint64_t first;

	t->kind = TSDL_NUMBER;
	if (p->text[p->pos] == '0') {
		base = second == 'x' ? 16 : second == 'b' ? 2 : 8;
		p->pos += base == 8 ? 0 : 2;
	}
	first = p->pos;
	for (; digit_of(char_at(p, p->pos)) < base; p->pos++) {
		const unsigned d = digit_of(p->text[p->pos]);

		over |= t->number > (UINT64_MAX - d) / base;
		t->number = t->number * base + d;
	}
	t->len = p->pos - t->at;
	if (p->pos > first && !over) {
		skip_suffix(p);
		t->len = p->pos - t->at;
		if (!is_letter(char_at(p, p->pos)) && !is_digit(char_at(p, p->pos)))
			return true;
	}
	while (is_letter(char_at(p, p->pos)) || is_digit(char_at(p, p->pos)))
		p->pos++;
	p->tok = *t;
	p->tok.len = p->pos - t->at;
	return tsdl_expected(p, over ? "a number of at most 64 bits" : "a number");
}

/*
 * The string or character constant after its opening quote. Escapes are looked at when the string
 * is used.
 */
static bool lex_quoted(struct tsdl *p, struct tsdl_token *t, char q)
{
	bool newline = false;

	for (p->pos++; p->pos < p->size && p->text[p->pos] != q; p->pos++) {
		const char c = p->text[p->pos];

		if (!c)
			return tsdl_error(p, p->pos, "expected a character, found a NUL byte");
		if (c == '\n' && q == '\'')
			return tsdl_error(p, p->pos, "expected `'`, found the end of the line");
		newline |= c == '\n';
		p->pos += c == '\\' && p->pos + 1 < p->size;
	}
	if (p->pos >= p->size) {
		p->cut = true;
		return tsdl_error(p, t->at, "expected `%c` behind this text, found the end", q);
	}
	p->pos++;
	if (newline)
		tsdl_warn(p, "ctf/line-in-string", t->at,
			  "expected a string on one line, found a line's end in it");
	t->kind = TSDL_STRING;
	t->len = p->pos - t->at;
	return true;
}

/* SPEC ctf-tsdl/char-constant */
static bool lex_char(struct tsdl *p, struct tsdl_token *t)
{
	if (!lex_quoted(p, t, '\'') || !tsdl_string(p, t))
		return false;
	if (!p->buf.len || p->buf.len > 8)
		return tsdl_error(p, t->at, "expected 1 to 8 bytes in '', found %zu", p->buf.len);
	for (size_t i = 0; i < p->buf.len; i++)
		t->number = t->number << 8 | (uint8_t)p->buf.buf[i];
	t->kind = TSDL_NUMBER;
	return true;
}

static bool lex_punctuator(struct tsdl *p, struct tsdl_token *t)
{
	const char c = p->text[p->pos], d = char_at(p, p->pos + 1);

	t->kind = (uint8_t)c;
	t->len = 1;
	if (c == ':' && d == '=') {
		t->kind = TSDL_ASSIGN;
		t->len = 2;
	} else if (c == '-' && d == '>') {
		t->kind = '.';
		t->len = 2;
	} else if (c == '.' && d == '.' && char_at(p, p->pos + 2) == '.') {
		t->kind = TSDL_DOTS;
		t->len = 3;
	} else if (!strchr("[](){}.*+-<>:;=,", c)) {
		p->tok = *t;
		return tsdl_expected(p, "a word, a number, a string or punctuation");
	}
	p->pos += t->len;
	return true;
}

static bool lex_any(struct tsdl *p, struct tsdl_token *t)
{
	const char c = char_at(p, p->pos), d = char_at(p, p->pos + 1);
	const bool wide = c == 'L' && (d == '"' || d == '\'');
	uint32_t code;

	if (p->pos >= p->size) {
		t->kind = TSDL_END;
		return true;
	}
	p->pos += wide;
	if (p->text[p->pos] == '"')
		return lex_quoted(p, t, '"');
	if (p->text[p->pos] == '\'')
		return lex_char(p, t);
	if (is_digit(c))
		return lex_number(p, t);
	if (!is_letter(c) && !universal(p, p->pos, &code))
		return lex_punctuator(p, t);
	lex_name(p, t);
	t->len = p->pos - t->at;
	return true;
}

static struct tsdl_token lex(struct tsdl *p)
{
	struct tsdl_token t = { .kind = TSDL_BAD };

	if (p->failed || !skip_blanks(p)) {
		t.at = p->size;
		return t;
	}
	t.at = p->pos;
	if (!lex_any(p, &t))
		t.kind = TSDL_BAD;
	return t;
}

/* ---- escapes */

static const char simple_escapes[] = "\'\'\"\"??\\\\a\ab\bf\fn\nr\rt\tv\v";

/* SPEC ctf-tsdl/escapes: the escape at `at`, appended to p->buf; its length. */
static uint64_t put_escape(struct tsdl *p, uint64_t at, uint64_t end)
{
	const char c = p->text[at + 1];
	uint32_t code = 0;
	unsigned n = universal(p, at, &code);
	uint64_t i = at + 1;

	if (n && at + n <= end) {
		put_utf8(&p->buf, code);
		return n;
	}
	for (const char *s = simple_escapes; *s; s += 2) {
		if (*s == c) {
			out_char(&p->buf, s[1]);
			return 2;
		}
	}
	if (c == 'x' && digit_of(char_at(p, at + 2)) < 16) {
		for (i = at + 2; i < end && digit_of(p->text[i]) < 16; i++)
			code = code << 4 | digit_of(p->text[i]);
		out_char(&p->buf, (char)code);
		return i - at;
	}
	for (; i < end && i < at + 4 && digit_of(p->text[i]) < 8; i++)
		code = code << 3 | digit_of(p->text[i]);
	if (i == at + 1) {
		/* None that is known: the character itself, as tracers' readers have it. */
		out_char(&p->buf, c);
		return 2;
	}
	out_char(&p->buf, (char)code);
	return i - at;
}

bool tsdl_string(struct tsdl *p, const struct tsdl_token *t)
{
	const uint64_t end = t->at + t->len - 1;
	uint64_t i = t->at + (p->text[t->at] == 'L') + 1;

	out_clear(&p->buf);
	while (i < end) {
		if (p->text[i] == '\\' && i + 1 < end) {
			i += put_escape(p, i, end);
		} else {
			out_char(&p->buf, p->text[i++]);
		}
	}
	return p->buf.error ? tsdl_full(p) : true;
}

/* ---- the cursor */

void tsdl_advance(struct tsdl *p)
{
	struct tsdl_token t = p->has_next ? p->next : lex(p);

	p->has_next = false;
	p->tok = t;
}

const struct tsdl_token *tsdl_peek(struct tsdl *p)
{
	const struct tsdl_token now = p->tok;

	if (!p->has_next) {
		p->next = lex(p);
		p->has_next = true;
		p->tok = now; /* an error shows what it found by way of p->tok */
	}
	return &p->next;
}

bool tsdl_is(const struct tsdl *p, int kind)
{
	return p->tok.kind == kind;
}

bool tsdl_is_word(const struct tsdl *p, enum tsdl_word word)
{
	return p->tok.kind == TSDL_NAME && p->tok.word == word;
}

bool tsdl_accept(struct tsdl *p, int kind)
{
	if (p->tok.kind != kind)
		return false;
	tsdl_advance(p);
	return true;
}

bool tsdl_accept_word(struct tsdl *p, enum tsdl_word word)
{
	if (!tsdl_is_word(p, word))
		return false;
	tsdl_advance(p);
	return true;
}

bool tsdl_expect(struct tsdl *p, int kind, const char *what)
{
	return tsdl_accept(p, kind) || tsdl_expected(p, what);
}

uint32_t tsdl_name(struct tsdl *p)
{
	const struct tsdl_token *t = &p->tok;
	const char *s = p->text + t->at;
	uint64_t len = t->len;
	uint32_t id, code;

	if (t->escaped) {
		out_clear(&p->buf);
		for (uint64_t i = t->at; i < t->at + t->len;) {
			const unsigned n = universal(p, i, &code);

			if (n)
				put_utf8(&p->buf, code);
			else
				out_char(&p->buf, p->text[i]);
			i += n ? n : 1;
		}
		s = p->buf.buf;
		len = p->buf.len;
	}
	id = p->buf.error ? INTERN_NONE : intern_put(p->m->names, s, len);
	if (id == INTERN_NONE)
		tsdl_full(p);
	return id;
}

const char *tsdl_text(const struct tsdl *p, uint32_t id)
{
	return intern_text(p->m->names, id, NULL);
}
