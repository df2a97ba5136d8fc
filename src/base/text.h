/* Text input: lines, numbers, UTF-8, patterns. Independent of the locale. */
#ifndef SPUR_BASE_TEXT_H
#define SPUR_BASE_TEXT_H

#include <spur.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of text owned by another object; not NUL-terminated. */
struct text {
	const char *p;
	size_t len;
};

static inline struct text text_make(const void *p, size_t len)
{
	return (struct text){ p, len };
}
struct text text_of(const char *s); /* NUL-ended string */
bool text_is(struct text t, const char *s);
bool text_starts(struct text t, const char *prefix);
/* Removes `prefix` from the front. Returns false if the text does not begin with it. */
bool text_skip(struct text *t, const char *prefix);
struct text text_trim(struct text t); /* blanks, tabs, CR, LF at both ends */
/* Index of the byte, or -1. */
ptrdiff_t text_find(struct text t, char c);
ptrdiff_t text_rfind(struct text t, char c);
ptrdiff_t text_search(struct text t, const char *needle);
/*
 * Removes the next piece, with the `sep` that ends it, from the front of `rest`. Returns false if
 * `rest` is exhausted.
 */
bool text_split(struct text *rest, char sep, struct text *piece);
/* text_split() at '\n'; the last line may lack it. */
bool text_line(struct text *rest, struct text *line);

/*
 * Removes digits of the base (10, 16, 8) from the front. Returns false, with `t` unchanged, if
 * there is no digit or on overflow.
 */
bool text_u64(struct text *t, unsigned base, uint64_t *out);
bool text_i64(struct text *t, int64_t *out); /* optional sign, decimal */
/* SEC.FRACTION (1 to 9+ digits of fraction; beyond 9 are dropped) to ns. */
bool text_seconds(struct text *t, uint64_t *ns);
/*
 * A duration option: 1.5s 250ms 10us 3ns 2m 1h; whole text must match. A number without a unit is
 * `unit_ns` each; if that is 0, only 0 may lack one.
 */
bool text_duration(const char *s, int64_t unit_ns, int64_t *ns);

/*
 * Length of the valid UTF-8 sequence at p (1 to 4), or 0. Surrogates and overlong forms are
 * invalid.
 */
size_t utf8_valid(const char *p, size_t left);
bool utf8_all_valid(const char *p, size_t len);
/*
 * Returns true if the valid character of n bytes at p would do something to the text around it: a
 * control character (C0, DEL, C1), or one that changes the direction of writing (U+202A to U+202E,
 * U+2066 to U+2069), by which a name could look like another one.
 */
bool utf8_is_control(const char *p, size_t n);
/* Columns that the valid UTF-8 text takes on a terminal (East Asian wide = 2, combining = 0). */
size_t utf8_width(const char *p, size_t len);

/* Patterns for names. */
enum pattern_kind { PATTERN_EXACT, PATTERN_REGEX, PATTERN_GLOB };
struct pattern;
/*
 * Returns true if the text has characters with a meaning in patterns; other texts match exactly.
 */
bool pattern_is_special(struct text t);
/*
 * REGEX: POSIX extended, unanchored, in the C locale. Returns NULL on an error, whose message
 * begins with `option` unless that is NULL, or if out of memory.
 */
struct pattern *pattern_new(enum pattern_kind kind, const char *s, const char *option,
			    struct spur_error *err);
/* `s` is NUL-ended. Thread-safe. */
bool pattern_match(const struct pattern *p, const char *s);
void pattern_free(struct pattern *p);

/* Returns the closest of `words` (NULL-ended) to a mistyped `s`, or NULL if none is close. */
const char *text_suggest(const char *s, const char *const *words);

#endif
