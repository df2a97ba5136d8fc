/* Text in. See text.h. */
#include "base/text.h"

#include <fnmatch.h>
#include <regex.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

enum { SUGGEST_MAX = 48 /* longer words are not compared */ };

struct text text_of(const char *s)
{
	return text_make(s, strlen(s));
}

bool text_is(struct text t, const char *s)
{
	return t.len == strlen(s) && (!t.len || !memcmp(t.p, s, t.len));
}

bool text_starts(struct text t, const char *prefix)
{
	const size_t n = strlen(prefix);

	return !n || (t.len >= n && !memcmp(t.p, prefix, n));
}

bool text_skip(struct text *t, const char *prefix)
{
	const size_t n = strlen(prefix);

	if (!text_starts(*t, prefix))
		return false;
	if (n) {
		t->p += n;
		t->len -= n;
	}
	return true;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct text text_trim(struct text t)
{
	while (t.len && blank(t.p[t.len - 1]))
		t.len--;
	while (t.len && blank(*t.p)) {
		t.p++;
		t.len--;
	}
	return t;
}

ptrdiff_t text_find(struct text t, char c)
{
	const char *p = t.len ? memchr(t.p, c, t.len) : NULL;

	return p ? p - t.p : -1;
}

ptrdiff_t text_rfind(struct text t, char c)
{
	const char *p = t.len ? memrchr(t.p, c, t.len) : NULL;

	return p ? p - t.p : -1;
}

ptrdiff_t text_search(struct text t, const char *needle)
{
	const size_t n = strlen(needle);
	const char *p;

	if (!n || !t.len)
		return n ? -1 : 0;
	p = memmem(t.p, t.len, needle, n);
	return p ? p - t.p : -1;
}

bool text_split(struct text *rest, char sep, struct text *piece)
{
	const ptrdiff_t at = text_find(*rest, sep);
	const size_t len = at < 0 ? rest->len : (size_t)at;
	const size_t over = at < 0 ? len : len + 1;

	if (!rest->len)
		return false;
	*piece = text_make(rest->p, len);
	rest->p += over;
	rest->len -= over;
	return true;
}

bool text_line(struct text *rest, struct text *line)
{
	return text_split(rest, '\n', line);
}

static unsigned digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 99;
}

bool text_u64(struct text *t, unsigned base, uint64_t *out)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < t->len; i++) {
		const unsigned d = digit_of(t->p[i]);

		if (d >= base)
			break;
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)d, &v))
			return false;
	}
	if (!i)
		return false;
	t->p += i;
	t->len -= i;
	*out = v;
	return true;
}

bool text_i64(struct text *t, int64_t *out)
{
	struct text rest = *t;
	const bool minus = text_skip(&rest, "-");
	uint64_t v;

	if (!minus)
		text_skip(&rest, "+");
	if (!text_u64(&rest, 10, &v) || v > (uint64_t)INT64_MAX + minus)
		return false;
	*out = minus ? (int64_t)(0 - v) : (int64_t)v;
	*t = rest;
	return true;
}

/* Takes digits as a fraction of `one` (10^9, 10^18); those beyond its precision are dropped. */
static bool text_fraction(struct text *t, uint64_t one, uint64_t *out)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < t->len && digit_of(t->p[i]) < 10; i++) {
		one /= 10;
		v += digit_of(t->p[i]) * one;
	}
	t->p += i;
	t->len -= i;
	*out = v;
	return i > 0;
}

bool text_seconds(struct text *t, uint64_t *ns)
{
	struct text rest = *t;
	uint64_t s, frac;

	if (!text_u64(&rest, 10, &s) || !text_skip(&rest, ".") ||
	    !text_fraction(&rest, 1000000000, &frac))
		return false;
	if (__builtin_mul_overflow(s, (uint64_t)1000000000, &s) ||
	    __builtin_add_overflow(s, frac, &s))
		return false;
	*ns = s;
	*t = rest;
	return true;
}

bool text_duration(const char *s, int64_t unit_ns, int64_t *ns)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = { { "ns", 1 },	   { "us", 1000 },	 { "ms", 1000000 },
		      { "s", 1000000000 }, { "m", 60000000000 }, { "h", 3600000000000 } };
	const uint64_t one = 1000000000000000000;
	struct text t = text_of(s);
	uint64_t whole, frac = 0;
	__int128 sum;

	if (!text_u64(&t, 10, &whole))
		return false;
	if (text_skip(&t, ".") && !text_fraction(&t, one, &frac))
		return false;
	for (size_t i = 0; t.len && i < sizeof(units) / sizeof(units[0]); i++) {
		if (text_is(t, units[i].name)) {
			unit_ns = units[i].ns;
			t.len = 0;
		}
	}
	if (!unit_ns && (whole || frac))
		return false;
	sum = (__int128)whole * unit_ns + (__int128)frac * unit_ns / (int64_t)one;
	if (t.len || sum > INT64_MAX)
		return false;
	*ns = (int64_t)sum;
	return true;
}

struct pattern {
	enum pattern_kind kind;
	regex_t regex;
	char text[]; /* EXACT and GLOB */
};

bool pattern_is_special(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.p[i] && strchr(".?*+-^$|()[]{}", t.p[i]))
			return true;
	return false;
}

struct pattern *pattern_new(enum pattern_kind kind, const char *s, const char *option,
			    struct spur_error *err)
{
	const size_t len = strlen(s);
	struct pattern *p = mem_alloc(sizeof(*p) + len + 1);
	char why[128];
	int rc;

	if (!p) {
		err_nomem(err);
		return NULL;
	}
	p->kind = kind;
	memcpy(p->text, s, len);
	rc = kind == PATTERN_REGEX ? regcomp(&p->regex, s, REG_EXTENDED | REG_NOSUB) : 0;
	if (!rc)
		return p;
	regerror(rc, &p->regex, why, sizeof(why));
	if (rc == REG_ESPACE)
		err_nomem(err);
	else
		err_set(err, SPUR_ERR_USAGE,
			"%s%sexpected a regular expression, found \"%s\": %s",
			option ? option : "", option ? ": " : "", s, why);
	mem_free(p);
	return NULL;
}

bool pattern_match(const struct pattern *p, const char *s)
{
	if (p->kind == PATTERN_REGEX)
		return !regexec(&p->regex, s, 0, NULL, 0);
	if (p->kind == PATTERN_GLOB)
		return !fnmatch(p->text, s, 0);
	return !strcmp(p->text, s);
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	if (p->kind == PATTERN_REGEX)
		regfree(&p->regex);
	mem_free(p);
}

static unsigned min2(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap) between two words of at most SUGGEST_MAX bytes. */
static unsigned word_distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned rows[3][SUGGEST_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2];

	for (unsigned k = 0; k <= nb; k++)
		row[k] = k;
	for (size_t i = 1; i <= na; i++) {
		unsigned *const oldest = before;

		before = last;
		last = row;
		row = oldest;
		row[0] = (unsigned)i;
		for (size_t k = 1; k <= nb; k++) {
			row[k] = min2(min2(last[k], row[k - 1]) + 1,
				      last[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				row[k] = min2(row[k], before[k - 2] + 1);
		}
	}
	return row[nb];
}

const char *text_suggest(const char *s, const char *const *words)
{
	const size_t len = strlen(s);
	const char *best = NULL;
	unsigned least = UINT32_MAX;

	if (len > SUGGEST_MAX)
		return NULL;
	for (; *words; words++) {
		const size_t n = strlen(*words);
		const size_t longer = n > len ? n : len;
		unsigned d;

		if (n > SUGGEST_MAX)
			continue;
		d = word_distance(s, len, *words, n);
		/* Half a word may be missing when the rest is right; else a third may be wrong. */
		if (d < least &&
		    (3 * d <= longer || (len > 1 && 2 * len >= n && !strncmp(s, *words, len)))) {
			least = d;
			best = *words;
		}
	}
	return best;
}
