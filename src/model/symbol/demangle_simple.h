/*
 * The two parsers of DEMANGLE_SIMPLE. Argument specifications in uftrace data match on names of
 * this form, so what they show, what they leave out and what they give up on is uftrace's, oddities
 * included: they skim a name rather than understand it. Private to the demangle*.c files.
 */
#ifndef SPUR_MODEL_SYMBOL_DEMANGLE_SIMPLE_H
#define SPUR_MODEL_SYMBOL_DEMANGLE_SIMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/out.h"

struct skim {
	const char *in;
	size_t all; /* bytes of the name */
	size_t end; /* bytes that count: less than all once a suffix is cut off */
	size_t pos;

	struct out *o;
	size_t base; /* length of `o` before the name */
	size_t limit; /* most bytes to write */

	unsigned hidden; /* > 0: inside a type, names are not shown */
	unsigned targs; /* > 0: inside template arguments */
	unsigned open; /* groups entered but not left: an error inside one fails the whole name */
	bool types_shown; /* names inside types are shown after all */
	bool joined; /* a name was shown: the next one needs `::` in front */
	bool quiet; /* C++: discriminators are left alone; Rust: nothing is shown */
	bool noted; /* a mismatch happened: see skim_need() */
	bool stuck; /* out of depth, steps or room: fail */
	bool cut; /* an identifier reached past the end: what follows cannot be seen */

	unsigned depth;
	size_t steps;
};

enum {
	SKIM_DEPTH = 1024, /* nested types, expressions and paths */
	SKIM_STEPS = 64, /* of these, per byte of the name */
	SKIM_GROWTH = 32, /* bytes out per byte of the name, .. */
	SKIM_ROOM = 4096, /* .. and above that */
	SKIM_INPUT = 1 << 18, /* longer names stay as they are */
};

static inline bool skim_ended(const struct skim *s)
{
	return s->pos >= s->end;
}

/*
 * The byte `ahead` of the position; the one at the end (0, or the start of a suffix) may be seen,
 * none after it.
 */
static inline char skim_at(const struct skim *s, size_t ahead)
{
	size_t i = s->pos + ahead;

	return i > s->end || i >= s->all ? 0 : s->in[i];
}

/* Passes `n` bytes and returns the first; where fewer are left nothing moves. */
static inline char skim_take(struct skim *s, size_t n)
{
	char c = skim_at(s, 0);

	if (s->pos + n > s->end)
		return 0;
	s->pos += n;
	return c;
}

/* Passes the byte `c`. The first mismatch of a name is put back, later ones stay passed. */
static inline bool skim_need(struct skim *s, char c)
{
	if (skim_take(s, 1) == c)
		return true;
	if (!s->noted) {
		s->noted = true;
		s->pos--;
	}
	return false;
}

/* Goes one level down; false where that is too deep or took too long. Undo with skim_up(). */
static inline bool skim_down(struct skim *s)
{
	if (++s->depth > SKIM_DEPTH || ++s->steps > SKIM_STEPS * (s->all + 16))
		s->stuck = true;
	return !s->stuck;
}

static inline bool skim_up(struct skim *s, bool result)
{
	s->depth--;
	return result && !s->stuck;
}

static inline void skim_show(struct skim *s, const char *p, size_t n)
{
	if (s->cut)
		return;
	if (s->o->len - s->base + n > s->limit)
		s->stuck = true;
	else
		out_bytes(s->o, p, n);
}

static inline void skim_text(struct skim *s, const char *text)
{
	skim_show(s, text, strlen(text));
}

static inline void skim_join(struct skim *s)
{
	if (s->joined)
		skim_text(s, "::");
	s->joined = true;
}

/* Takes back the last byte shown. */
static inline void skim_chop(struct skim *s)
{
	if (s->cut)
		return;
	if (s->o->len > s->base)
		s->o->len--;
	else
		s->stuck = true;
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static inline bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* Value of a digit up to 36, or 36. */
static inline unsigned digit_value(char c)
{
	return is_digit(c)   ? (unsigned)(c - '0')
	       : is_lower(c) ? (unsigned)(c - 'a') + 10
	       : is_upper(c) ? (unsigned)(c - 'A') + 10
			     : 36;
}

static inline bool one_of(const char *set, char c)
{
	return c && strchr(set, c);
}

/*
 * Both expect a fresh `s` with `in`, `all`, `o` set, and append to `o`. On false what was appended
 * is to be dropped.
 */
bool skim_cpp(struct skim *s);
bool skim_rust_v0(struct skim *s);

/*
 * Shared by the two halves of the C++ parser. Each passes one thing of the grammar and returns
 * false where it is not there; the position is then anywhere, and callers may go on from it.
 */
bool cpp_encoding(struct skim *s);
bool cpp_name(struct skim *s);
bool cpp_source_name(struct skim *s);
bool cpp_operator_name(struct skim *s);
bool cpp_unqualified_name(struct skim *s);
bool cpp_substitution(struct skim *s);
bool cpp_type(struct skim *s);
bool cpp_decltype(struct skim *s);
bool cpp_template_param(struct skim *s);
bool cpp_template_args(struct skim *s);
bool cpp_optional_args(struct skim *s); /* true where none are there */
/*
 * Negative where there is no number. 0 and 0x in front mean what they mean in C: uftrace reads
 * lengths like that.
 */
int cpp_number(struct skim *s);
/* What is shown behind `operator`, or NULL. */
const char *cpp_operator_text(char a, char b);

#endif
