/*
 * What has to be done to the text of CTF 2 metadata before a JSON parser of 64-bit integers can
 * take it.
 */
#include <string.h>

#include "format/ctf/meta/json_parts.h"

enum { RS = 0x1E, BIG_MARK = 1, BIG_DIGITS = 19, MARK_LEN = 7 };

static const char mark[] = "\"\\u0001";

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Bytes of a number that the parser's 64-bit signed integers may not hold; 0: none begins here. */
static size_t big_number(const char *p, size_t left)
{
	size_t n = p[0] == '-', digits;

	digits = n;
	while (n < left && is_digit(p[n]))
		n++;
	digits = n - digits;
	if (digits < BIG_DIGITS || (n < left && (p[n] == '.' || p[n] == 'e' || p[n] == 'E')))
		return 0;
	return n;
}

/* Whether nothing but blanks stands between this comma and a closing bracket. */
static bool is_trailing(const char *p, size_t left)
{
	size_t n = 1;

	while (n < left && strchr(" \t\r\n", p[n]) && p[n])
		n++;
	return n < left && (p[n] == '}' || p[n] == ']');
}

static bool may_begin(char before)
{
	return !is_digit(before) && before != '-' && before != '.' && before != 'e' &&
	       before != 'E' && before != '+';
}

char *json_mark(const char *p, size_t len, size_t *out_len, size_t *commas)
{
	char *out = mem_array(len + 1, 2), *q = out;
	bool in_text = false;

	*commas = 0;
	for (size_t i = 0; out && i < len; i++) {
		size_t n = 0;

		if (in_text && p[i] == '\\' && i + 1 < len) {
			*q++ = p[i++];
			*q++ = p[i];
			continue;
		}
		in_text ^= p[i] == '"';
		if (!in_text && (!i || may_begin(p[i - 1])))
			n = big_number(p + i, len - i);
		if (n) {
			memcpy(q, mark, MARK_LEN);
			memcpy(q + MARK_LEN, p + i, n);
			q[MARK_LEN + n] = '"';
			q += n + MARK_LEN + 1;
			i += n - 1;
		} else if (!in_text && p[i] == ',' && is_trailing(p + i, len - i)) {
			++*commas;
			*q++ = ' ';
		} else {
			*q++ = p[i] == RS ? ' ' : p[i];
		}
	}
	if (out)
		*out_len = (size_t)(q - out);
	return out;
}

/* Length of the digits, with a sign, of a marked number in front of `end`; 0: it is a text. */
static size_t marked_length(const char *p, size_t left, char end)
{
	const size_t n = big_number(p, left);

	return n < left && p[n] == end ? n : 0;
}

size_t json_unmark(char *text, size_t len)
{
	char *q = text;

	for (size_t i = 0; i < len;) {
		const size_t n =
			len - i > MARK_LEN && memcmp(text + i, mark, MARK_LEN) == 0
				? marked_length(text + i + MARK_LEN, len - i - MARK_LEN, '"')
				: 0;

		if (n) {
			memmove(q, text + i + MARK_LEN, n);
			q += n;
			i += MARK_LEN + n + 1;
		} else {
			if (text[i] == '\\' && i + 1 < len)
				*q++ = text[i++];
			*q++ = text[i++];
		}
	}
	*q = '\0';
	return (size_t)(q - text);
}

const char *json_marked(const json_t *v)
{
	const char *text = json_string_value(v);

	return text && text[0] == BIG_MARK && marked_length(text + 1, json_string_length(v), '\0')
		       ? text + 1
		       : NULL;
}
