/*
 * The language of the RFC v1.1, as text: words, blocks, lists. SPEC ctf-v11/slips: takes every slip
 * of the RFC's own examples: a dot before a key, `[` for `{`, missing and trailing commas, `...` at
 * the end of a list, fields in the way of later versions.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/ctf/meta/v11.h"

enum {
	SYMBOL_END = 0,
	SYMBOL_WORD = 1,
	SYMBOL_NUMBER,
	SYMBOL_TEXT,
	SYMBOL_DOTS,
	MAX_TEXT = 1 << 16
};

/* the current symbol: one of the above, or a punctuation character. */
struct v11_reader {
	struct ctf_meta *m;
	struct spur_error *err;
	const char *begin, *p, *end;
	int symbol;
	uint64_t at; /* of the symbol */
	struct text word; /* WORD; TEXT with its escapes still in */
	int64_t number;
	unsigned depth;
	size_t nodes;
};

enum spur_status v11_fail(struct ctf_meta *m, uint64_t at, struct spur_error *err, const char *fmt,
			  ...)
{
	char what[300];
	unsigned line, column;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	m->failed_at = at;
	meta_place(m, at, &line, &column);
	return err_set(err, SPUR_ERR_FORMAT, "%s:%u:%u: %s", m->path, line, column, what);
}

const struct v11_node *v11_get(const struct v11_node *body, const char *key)
{
	const struct v11_node *found = NULL;

	for (const struct v11_node *n = body ? body->first : NULL; n; n = n->next)
		if (n->key && strcmp(n->key, key) == 0)
			found = n;
	return found;
}

/* --- symbols --- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* NULs are blanks: they end the strings that the metadata came in. False: a comment has no end. */
static bool skip_blanks(struct v11_reader *r)
{
	for (; r->p < r->end; r->p++) {
		if (r->end - r->p > 1 && r->p[0] == '/' && r->p[1] == '*') {
			const char *start = r->p;

			for (r->p += 2; r->end - r->p > 1 && !(r->p[0] == '*' && r->p[1] == '/');
			     r->p++)
				;
			if (r->end - r->p < 2) {
				v11_fail(r->m, (uint64_t)(start - r->begin), r->err,
					 "expected the end of a comment, found the end of the "
					 "metadata");
				return false;
			}
			r->p++;
		} else if (r->end - r->p > 1 && r->p[0] == '/' && r->p[1] == '/') {
			while (r->p < r->end && *r->p != '\n')
				r->p++;
			if (r->p == r->end)
				return true;
		} else if (*r->p && !strchr(" \t\r\n", *r->p)) {
			return true;
		}
	}
	return true;
}

static bool read_number(struct v11_reader *r)
{
	struct text t = text_make(r->p, (size_t)(r->end - r->p));
	const bool minus = text_skip(&t, "-");
	unsigned base = 10;
	uint64_t n;

	if (text_skip(&t, "0x") || text_skip(&t, "0X"))
		base = 16;
	else if (t.len > 1 && t.p[0] == '0' && is_digit(t.p[1]))
		base = 8;
	if (!text_u64(&t, base, &n)) {
		v11_fail(r->m, r->at, r->err, "expected a number of 64 bits, found \"%.*s\"",
			 t.len < 20 ? (int)t.len : 20, r->p);
		return false;
	}
	r->number = (int64_t)(minus ? 0 - n : n);
	r->p = t.p;
	r->symbol = SYMBOL_NUMBER;
	return true;
}

static bool parse_text(struct v11_reader *r)
{
	const char *start = ++r->p;

	while (r->p < r->end && *r->p != '"' && *r->p != '\n')
		r->p += *r->p == '\\' && r->end - r->p > 1 ? 2 : 1;
	if (r->p >= r->end || *r->p != '"') {
		v11_fail(r->m, r->at, r->err,
			 "expected the end of a string on its line, found none");
		return false;
	}
	r->word = text_make(start, (size_t)(r->p - start));
	r->p++;
	r->symbol = SYMBOL_TEXT;
	return true;
}

static bool next(struct v11_reader *r)
{
	const char *start;

	if (!skip_blanks(r))
		return false;
	r->at = (uint64_t)(r->p - r->begin);
	if (r->p == r->end) {
		r->symbol = SYMBOL_END;
		return true;
	}
	if (is_digit(*r->p) || (*r->p == '-' && r->end - r->p > 1 && is_digit(r->p[1])))
		return read_number(r);
	if (*r->p == '"')
		return parse_text(r);
	if (r->end - r->p > 2 && memcmp(r->p, "...", 3) == 0) {
		r->p += 3;
		r->symbol = SYMBOL_DOTS;
		return true;
	}
	if (!is_letter(*r->p)) {
		r->symbol = (unsigned char)*r->p++;
		return true;
	}
	for (start = r->p; r->p < r->end && (is_letter(*r->p) || is_digit(*r->p) || *r->p == '-');
	     r->p++)
		;
	r->word = text_make(start, (size_t)(r->p - start));
	r->symbol = SYMBOL_WORD;
	return true;
}

static bool expected(struct v11_reader *r, const char *what)
{
	if (r->symbol == SYMBOL_END)
		v11_fail(r->m, r->at, r->err, "expected %s, found the end of the metadata", what);
	else if (r->symbol == SYMBOL_WORD || r->symbol == SYMBOL_TEXT)
		v11_fail(r->m, r->at, r->err, "expected %s, found \"%.*s\"", what,
			 r->word.len < 40 ? (int)r->word.len : 40, r->word.p);
	else if (r->symbol > ' ' && r->symbol < 127)
		v11_fail(r->m, r->at, r->err, "expected %s, found \"%c\"", what, r->symbol);
	else
		v11_fail(r->m, r->at, r->err, "expected %s, found %s", what,
			 r->symbol == SYMBOL_NUMBER ? "a number" : "something else");
	return false;
}

static bool take(struct v11_reader *r, int symbol, const char *what)
{
	return r->symbol == symbol ? next(r) : expected(r, what);
}

static bool is_word(const struct v11_reader *r, const char *word)
{
	return r->symbol == SYMBOL_WORD && text_is(r->word, word);
}

/* --- nodes --- */

static struct v11_node *node_new(struct v11_reader *r, enum v11_kind kind)
{
	struct v11_node *n = r->nodes < V11_NODES ? arena_alloc(&r->m->arena, sizeof(*n)) : NULL;

	if (!n) {
		err_set(r->err, r->nodes < V11_NODES ? SPUR_ERR_MEMORY : SPUR_ERR_LIMIT,
			"%s: expected at most %d values, found more, or out of memory", r->m->path,
			V11_NODES);
		return NULL;
	}
	r->nodes++;
	n->kind = kind;
	n->at = r->at;
	return n;
}

static void node_append(struct v11_node *into, struct v11_node *n)
{
	if (into->last)
		into->last->next = n;
	else
		into->first = n;
	into->last = n;
}

/* SPEC ctf-v11/text: \n, \t, \", \\ and such; before anything else a backslash means nothing. */
static char *unescape(struct v11_reader *r, struct text t)
{
	char *out = arena_alloc(&r->m->arena, t.len + 1), *q = out;

	for (size_t i = 0; out && i < t.len; i++) {
		static const char from[] = "ntrabfv0", to[] = "\n\t\r\a\b\f\v";
		const char *found;

		if (t.p[i] != '\\' || i + 1 == t.len) {
			*q++ = t.p[i];
			continue;
		}
		found = strchr(from, t.p[++i]);
		*q++ = found && *found ? to[found - from] : t.p[i];
	}
	if (!out)
		err_nomem(r->err);
	return out;
}

/* Identifiers in a row: "unsigned int". */
static struct v11_node *read_words(struct v11_reader *r)
{
	struct v11_node *n = node_new(r, V11_WORDS);
	char *text = NULL;

	while (n && r->symbol == SYMBOL_WORD) {
		text = text ? arena_printf(&r->m->arena, "%s %.*s", text, (int)r->word.len,
					   r->word.p)
			    : arena_strdup(&r->m->arena, r->word.p, r->word.len);
		if (!text) {
			err_nomem(r->err);
			return NULL;
		}
		if (strlen(text) > MAX_TEXT) {
			v11_fail(r->m, n->at, r->err,
				 "expected a name of at most %d bytes, found a longer one",
				 MAX_TEXT);
			return NULL;
		}
		if (!next(r))
			return NULL;
	}
	if (n)
		n->text = text ? text : "";
	return n;
}

static struct v11_node *read_body(struct v11_reader *r, int close);
static struct v11_node *read_value(struct v11_reader *r);

/* `uint32_t name;`, as later versions write fields: an item of two, like { uint32_t, name }. */
static struct v11_node *split_field(struct v11_reader *r, struct v11_node *words)
{
	struct v11_node *item = node_new(r, V11_LIST), *name = node_new(r, V11_WORDS);
	char *blank = strrchr((char *)words->text, ' ');

	if (!item || !name)
		return NULL;
	if (!blank)
		return words;
	name->text = blank + 1;
	*blank = '\0';
	node_append(item, words);
	node_append(item, name);
	return item;
}

static struct v11_node *read_item(struct v11_reader *r)
{
	struct v11_node *v = read_value(r), *item, *name;

	if (!v || r->symbol == ',' || r->symbol == '}' || r->symbol == ']')
		return v;
	if (v->kind == V11_WORDS && r->symbol == ';')
		return next(r) ? split_field(r, v) : NULL;
	if (v->kind == V11_BODY && r->symbol == SYMBOL_WORD) {
		item = node_new(r, V11_LIST);
		name = read_words(r);
		if (!item || !name || !take(r, ';', "\";\""))
			return NULL;
		node_append(item, v);
		node_append(item, name);
		return item;
	}
	return v;
}

/* Opened by { or [, closed by } or ]; commas may lack or be too many. */
static struct v11_node *read_list(struct v11_reader *r)
{
	struct v11_node *list = node_new(r, V11_LIST), *item;

	if (!list || !next(r))
		return NULL;
	while (r->symbol != '}' && r->symbol != ']') {
		if (r->symbol == ',' || r->symbol == SYMBOL_DOTS) {
			if (!next(r))
				return NULL;
			continue;
		}
		item = read_item(r);
		if (!item)
			return NULL;
		node_append(list, item);
	}
	return next(r) ? list : NULL;
}

static struct v11_node *read_value_of(struct v11_reader *r)
{
	struct v11_node *n;

	switch (r->symbol) {
	case SYMBOL_NUMBER:
		n = node_new(r, V11_NUMBER);
		if (n)
			n->number = r->number;
		return n && next(r) ? n : NULL;
	case SYMBOL_TEXT:
		n = node_new(r, V11_TEXT);
		if (n)
			n->text = unescape(r, r->word);
		return n && n->text && next(r) ? n : NULL;
	case '{':
	case '[':
		return read_list(r);
	case SYMBOL_WORD:
		if (is_word(r, "type") && next(r)) {
			if (r->symbol == '{')
				return next(r) ? read_body(r, '}') : NULL;
			return read_words(r);
		}
		return is_word(r, "type") ? NULL : read_words(r);
	default:
		expected(r, "a value");
		return NULL;
	}
}

static struct v11_node *read_value(struct v11_reader *r)
{
	struct v11_node *n;

	if (r->depth == META_DEPTH) {
		v11_fail(r->m, r->at, r->err, "expected values at most %d deep, found more",
			 META_DEPTH);
		return NULL;
	}
	r->depth++;
	n = read_value_of(r);
	r->depth--;
	return n;
}

/* KEY = VALUE; or KEYWORD [NAME] { ... } [;] */
static struct v11_node *read_statement(struct v11_reader *r)
{
	struct v11_node *words, *v;
	const char *name;

	if (r->symbol == '.' && !next(r))
		return NULL;
	if (r->symbol != SYMBOL_WORD) {
		expected(r, "a name");
		return NULL;
	}
	words = read_words(r);
	if (!words)
		return NULL;
	if (r->symbol == '=') {
		if (!next(r) || !(v = read_value(r)) || !take(r, ';', "\";\""))
			return NULL;
		v->key = words->text;
		return v;
	}
	if (r->symbol != '{') {
		expected(r, "\"=\" or \"{\"");
		return NULL;
	}
	if (!next(r) || !(v = read_body(r, '}')))
		return NULL;
	name = strchr(words->text, ' ');
	v->name = name ? name + 1 : NULL;
	v->key = name ? arena_strdup(&r->m->arena, words->text, (size_t)(name - words->text))
		      : words->text;
	v->at = words->at;
	if (!v->key)
		err_nomem(r->err);
	return v->key ? v : NULL;
}

static struct v11_node *read_body(struct v11_reader *r, int close)
{
	struct v11_node *body = node_new(r, V11_BODY), *n;

	if (r->depth == META_DEPTH) {
		v11_fail(r->m, r->at, r->err, "expected blocks at most %d deep, found more",
			 META_DEPTH);
		return NULL;
	}
	r->depth++;
	while (body && r->symbol != close) {
		if (r->symbol == ';') {
			if (!next(r))
				return NULL;
			continue;
		}
		n = read_statement(r);
		if (!n)
			return NULL;
		node_append(body, n);
	}
	r->depth--;
	return body && (close == SYMBOL_END || next(r)) ? body : NULL;
}

enum spur_status v11_read(struct ctf_meta *m, struct text text, struct v11_node **out,
			  struct spur_error *err)
{
	struct v11_reader r = {
		.m = m, .err = err, .begin = text.p, .p = text.p, .end = text.p + text.len
	};

	*out = next(&r) ? read_body(&r, SYMBOL_END) : NULL;
	return *out ? SPUR_OK : SPUR_FAIL;
}
