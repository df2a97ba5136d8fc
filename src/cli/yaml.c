/* See yaml.h. */
#include "cli/yaml.h"

#include "base/text.h"

enum quotes { QUOTES_NONE, QUOTES_SINGLE, QUOTES_DOUBLE };

enum { ASCII_END = 0x7f, CONTROL_END = 0x20, C1_END = 0xa0 };

static size_t span(struct text t, size_t at, const char *set)
{
	size_t n = 0;

	while (at + n < t.len && strchr(set, t.p[at + n]) && t.p[at + n])
		n++;
	return n;
}

/* A decimal number: [-+] (DIGITS [. DIGITS] | . DIGITS) [e [-+] DIGITS] */
static bool is_decimal(struct text t)
{
	static const char digits[] = "0123456789";
	size_t at = t.len && strchr("-+", t.p[0]) ? 1 : 0, whole = span(t, at, digits), part = 0;

	at += whole;
	if (at < t.len && t.p[at] == '.') {
		part = span(t, at + 1, digits);
		at += part + 1;
	}
	if (!whole && !part)
		return false;
	if (at < t.len && (t.p[at] == 'e' || t.p[at] == 'E')) {
		at++;
		at += at < t.len && strchr("-+", t.p[at]) ? 1 : 0;
		part = span(t, at, digits);
		at += part;
		if (!part)
			return false;
	}
	return at == t.len;
}

static bool is_number(struct text t)
{
	const char *base = text_starts(t, "0x")	  ? "0123456789abcdefABCDEF"
			   : text_starts(t, "0o") ? "01234567"
						  : NULL;

	if (base)
		return t.len > 2 && span(t, 2, base) == t.len - 2;
	return is_decimal(t);
}

/* Returns true if a plain scalar would not be read as text. */
static bool is_word(struct text t)
{
	static const char *const words[] = { "null", "Null",  "NULL",  "~",	"true",
					     "True", "TRUE",  "false", "False", "FALSE",
					     ".nan", ".NaN",  ".NAN",  ".inf",	".Inf",
					     ".INF", "-.inf", "-.Inf", "-.INF" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (text_is(t, words[i]))
			return true;
	return is_number(t);
}

static bool is_plain(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("_-^., \t", c));
}

static enum quotes quotes_for(struct text t)
{
	enum quotes q = QUOTES_NONE;

	if (!t.len || strchr(" \t", t.p[0]) || strchr(" \t", t.p[t.len - 1]) || is_word(t) ||
	    strchr("-?:\\,[]{}#&*!|>'\"%@`", t.p[0]))
		q = QUOTES_SINGLE;
	for (size_t i = 0; i < t.len; i++) {
		const unsigned char c = (unsigned char)t.p[i];

		if (is_plain(c))
			continue;
		if (c < CONTROL_END || c >= ASCII_END)
			return QUOTES_DOUBLE;
		q = QUOTES_SINGLE;
	}
	return q;
}

/* Writes one character of a text in double quotes. Returns its length in bytes. */
static size_t put_escaped(struct out *o, const char *s, size_t left)
{
	const unsigned char c = (unsigned char)s[0];
	const size_t n = utf8_valid(s, left);

	if (c == '"' || c == '\\')
		out_printf(o, "\\%c", c);
	else if (c < CONTROL_END || c == ASCII_END)
		out_printf(o, "\\x%02X", c);
	else if (!n)
		out_str(o, "\\uFFFD");
	else if (n == 2 && c == 0xc2 && (unsigned char)s[1] < C1_END)
		out_printf(o, "\\x%02X", (unsigned char)s[1]);
	else
		out_bytes(o, s, n);
	return n ? n : 1;
}

void yaml_scalar(struct out *o, const char *s, size_t len)
{
	const enum quotes q = quotes_for(text_make(s, len));

	if (q == QUOTES_NONE) {
		out_bytes(o, s, len);
	} else if (q == QUOTES_SINGLE) {
		out_char(o, '\'');
		for (size_t i = 0; i < len; i++) {
			if (s[i] == '\'')
				out_char(o, '\'');
			out_char(o, s[i]);
		}
		out_char(o, '\'');
	} else {
		out_char(o, '"');
		for (size_t i = 0; i < len;)
			i += put_escaped(o, s + i, len - i);
		out_char(o, '"');
	}
}
