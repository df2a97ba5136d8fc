/*
 * Metadata of CTF 2: a JSON text sequence (RFC 7464), one object per fragment. This file: the sequence, errors with
 * their place, and how properties are got. Field classes: frag_field.c; fragments: frag_fragment.c.
 *
 * Not read: extensions (a declared one is refused, as the specification demands).
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/ctf/json_parts.h"

enum { RS = 0x1E, BIG_MARK = 1, BIG_DIGITS = 19 };

enum spur_status frag_fail(struct frag *j, const char *fmt, ...)
{
	char what[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(j->err, SPUR_ERR_FORMAT, "%s: fragment %zu (byte %llu)%s%.*s: %s",
		       j->m->path, j->fragment, (unsigned long long)j->at, j->path_len ? ", " : "",
		       (int)j->path_len, j->path, what);
}

const char *frag_found(const json_t *v)
{
	if (!v)
		return "no such property";
	if (frag_is_int(v))
		return "an integer";
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_REAL:
		return "a real number";
	case JSON_NULL:
		return "null";
	default:
		return "a boolean";
	}
}

static size_t path_add(struct frag *j, const char *text)
{
	const size_t before = j->path_len;
	const int n = snprintf(j->path + before, sizeof(j->path) - before, "%s", text);

	/* What does not fit is cut: the path is for people. */
	j->path_len =
		before + (size_t)n < sizeof(j->path) ? before + (size_t)n : sizeof(j->path) - 1;
	return before;
}

size_t frag_enter(struct frag *j, const char *name)
{
	const size_t before = j->path_len;

	if (before)
		path_add(j, ".");
	path_add(j, name);
	return before;
}

size_t frag_enter_item(struct frag *j, size_t index)
{
	char text[32];

	snprintf(text, sizeof(text), "[%zu]", index);
	return path_add(j, text);
}

void frag_leave(struct frag *j, size_t before)
{
	j->path_len = before;
	j->path[before] = '\0';
}

static bool is_big(const json_t *v)
{
	return json_is_string(v) && json_string_value(v)[0] == BIG_MARK;
}

bool frag_is_int(const json_t *v)
{
	return v && (json_is_integer(v) || is_big(v));
}

bool frag_u64(const json_t *v, uint64_t *out)
{
	struct text t;

	if (json_is_integer(v)) {
		*out = (uint64_t)json_integer_value(v);
		return json_integer_value(v) >= 0;
	}
	if (!is_big(v))
		return false;
	t = text_of(json_string_value(v) + 1);
	return text_u64(&t, 10, out) && !t.len;
}

bool frag_i64(const json_t *v, int64_t *out)
{
	struct text t;

	if (json_is_integer(v)) {
		*out = json_integer_value(v);
		return true;
	}
	if (!is_big(v))
		return false;
	t = text_of(json_string_value(v) + 1);
	return text_i64(&t, out) && !t.len;
}

static enum spur_status absent(struct frag *j, const char *key, bool must, const char *expected)
{
	return must ? frag_fail(j, "`%s`: expected %s, found no such property", key, expected)
		    : SPUR_END;
}

enum spur_status frag_get_u64(struct frag *j, const json_t *o, const char *key, bool must,
			      uint64_t *out)
{
	const json_t *v = json_object_get(o, key);

	if (!v)
		return absent(j, key, must, "an integer");
	if (!frag_u64(v, out))
		return frag_fail(j, "`%s`: expected an integer from 0 to 2^64-1, found %s", key,
				 frag_is_int(v) ? "one that is not" : frag_found(v));
	return SPUR_OK;
}

enum spur_status frag_get_text(struct frag *j, const json_t *o, const char *key, bool must,
			       const char **out)
{
	const json_t *v = json_object_get(o, key);

	if (!v)
		return absent(j, key, must, "a string");
	if (!json_is_string(v) || is_big(v))
		return frag_fail(j, "`%s`: expected a string, found %s", key, frag_found(v));
	*out = frag_copy(j, json_string_value(v), json_string_length(v));
	return *out ? SPUR_OK : err_nomem(j->err);
}

enum spur_status frag_get_word(struct frag *j, const json_t *o, const char *key, bool must,
			       const char *const *words, unsigned *out)
{
	const json_t *v = json_object_get(o, key);
	char list[200] = "";
	size_t len = 0;

	for (unsigned i = 0; words[i]; i++) {
		if (v && json_is_string(v) && strcmp(json_string_value(v), words[i]) == 0) {
			*out = i;
			return SPUR_OK;
		}
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s\"%s\"", i ? ", " : "",
					words[i]);
		len = len < sizeof(list) ? len : sizeof(list) - 1;
	}
	if (!v)
		return absent(j, key, must, list);
	if (json_is_string(v) && !is_big(v))
		return frag_fail(j, "`%s`: expected one of %s, found \"%.60s\"", key, list,
				 json_string_value(v));
	return frag_fail(j, "`%s`: expected one of %s, found %s", key, list, frag_found(v));
}

enum spur_status frag_get_list(struct frag *j, const json_t *o, const char *key, bool must,
			       const json_t **out)
{
	const json_t *v = json_object_get(o, key);

	if (!v)
		return absent(j, key, must, "an array");
	if (!json_is_array(v))
		return frag_fail(j, "`%s`: expected an array, found %s", key, frag_found(v));
	if (json_array_size(v) > JSON_ITEMS)
		return frag_fail(j, "`%s`: expected at most %d elements, found %zu", key,
				 JSON_ITEMS, json_array_size(v));
	*out = v;
	return SPUR_OK;
}

enum spur_status frag_get_object(struct frag *j, const json_t *o, const char *key, bool must,
				 const json_t **out)
{
	const json_t *v = json_object_get(o, key);

	if (!v)
		return absent(j, key, must, "an object");
	if (!json_is_object(v))
		return frag_fail(j, "`%s`: expected an object, found %s", key, frag_found(v));
	if (json_object_size(v) > JSON_ITEMS)
		return frag_fail(j, "`%s`: expected at most %d properties, found %zu", key,
				 JSON_ITEMS, json_object_size(v));
	*out = v;
	return SPUR_OK;
}

const char *frag_copy(struct frag *j, const char *s, size_t len)
{
	return arena_strdup(&j->m->arena, s, len);
}

static bool is_known(const char *key, const char *const *known)
{
	for (size_t i = 0; known[i]; i++)
		if (strcmp(key, known[i]) == 0)
			return true;
	return strcmp(key, "attributes") == 0 || strcmp(key, "extensions") == 0;
}

static enum spur_status keep_attributes(struct frag *j, const json_t *attrs, const char **out)
{
	/* Written back for people and for rewriting; marked big numbers in them stay text. */
	char *text = json_dumps(attrs, JSON_COMPACT);

	if (!text)
		return err_nomem(j->err);
	*out = frag_copy(j, text, strlen(text));
	free(text);
	return *out ? SPUR_OK : err_nomem(j->err);
}

enum spur_status frag_common(struct frag *j, const json_t *o, const char *const *known,
			     const char **attributes)
{
	const json_t *attrs = NULL, *exts = NULL, *of_space;
	const char *key, *space;
	json_t *v;

	json_object_foreach((json_t *)o, key, v)
	{
		/* SPEC ctf2/unknown-property: kept out of the way, said once */
		if (!is_known(key, known))
			diag_add(j->diag, DIAG_WARN, "ctf/unknown-property", "metadata", j->at, 0,
				 "fragment %zu%s%s: expected a property of the specification, "
				 "found `%.60s`: ignored",
				 j->fragment, j->path_len ? ", " : "", j->path, key);
	}
	if (frag_get_object(j, o, "attributes", false, &attrs) == SPUR_FAIL ||
	    frag_get_object(j, o, "extensions", false, &exts) == SPUR_FAIL)
		return SPUR_FAIL;
	if (attrs && attributes && json_object_size(attrs))
		return keep_attributes(j, attrs, attributes);
	/* SPEC ctf2/extensions: what is declared or used is refused */
	json_object_foreach((json_t *)exts, space, v)
	{
		of_space = v;
		if (!json_is_object(of_space))
			return frag_fail(j, "`extensions`.`%.60s`: expected an object, found %s",
					 space, frag_found(of_space));
		key = json_object_iter_key(json_object_iter(v));
		if (key)
			return frag_fail(j,
					 "`extensions`: expected none, found `%.60s` of `%.60s`: "
					 "its traces cannot "
					 "be read without it",
					 key, space);
	}
	return SPUR_OK;
}

enum spur_status frag_alias_add(struct frag *j, const char *name, struct ctf_field *field)
{
	const uint32_t before = intern_count(j->alias_names);
	const uint32_t id = intern_put(j->alias_names, name, strlen(name));

	if (id == INTERN_NONE)
		return err_nomem(j->err);
	if (id < j->naliases && j->aliases[id].field)
		return frag_fail(j, "`name`: expected a new name, found \"%.60s\" again", name);
	if (!mem_grow((void **)&j->aliases, &j->aliases_cap,
		      (size_t)(id >= before ? id : before) + 1, sizeof(*j->aliases), META_FIELDS))
		return err_nomem(j->err);
	j->naliases = j->aliases_cap;
	j->aliases[id].field = field;
	return SPUR_OK;
}

/* Bytes of a number that the parser's 64-bit signed integers may not hold; 0: none begins here. */
static size_t big_number(const char *p, size_t left)
{
	size_t n = p[0] == '-', digits;

	digits = n;
	while (n < left && p[n] >= '0' && p[n] <= '9')
		n++;
	digits = n - digits;
	if (digits < BIG_DIGITS || (n < left && (p[n] == '.' || p[n] == 'e' || p[n] == 'E')))
		return 0;
	return n;
}

/*
 * The fragment's text with integers of 19 digits and more as strings that begin with U+0001. (A string that begins with
 * U+0001 itself is not told apart from them: it has no business in metadata.) NULL: no memory.
 */
static char *mark_big(const char *p, size_t len, size_t *out_len)
{
	char *out = mem_array(len + 1, 2), *q = out;
	bool in_text = false;

	for (size_t i = 0; out && i < len; i++) {
		const char before = i ? p[i - 1] : ' ';
		size_t n;

		if (in_text && p[i] == '\\' && i + 1 < len) {
			*q++ = p[i++];
			*q++ = p[i];
			continue;
		}
		in_text ^= p[i] == '"';
		n = in_text || (before >= '0' && before <= '9') || before == '-' || before == '.'
			    ? 0
			    : big_number(p + i, len - i);
		if (n) {
			memcpy(q, "\"\\u0001", 7);
			memcpy(q + 7, p + i, n);
			q[7 + n] = '"';
			q += n + 8;
			i += n - 1;
		} else {
			*q++ = p[i];
		}
	}
	if (out)
		*out_len = (size_t)(q - out);
	return out;
}

static enum spur_status parse_fragment(struct frag *j, struct text t)
{
	json_error_t e;
	size_t len = 0;
	char *marked;
	json_t *o;
	enum spur_status st;

	if (t.len > JSON_FRAGMENT)
		return frag_fail(j, "expected at most %d bytes, found %zu", JSON_FRAGMENT, t.len);
	marked = mark_big(t.p, t.len, &len);
	if (!marked)
		return err_nomem(j->err);
	o = json_loadb(marked, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e);
	mem_free(marked);
	if (!o && json_error_code(&e) == json_error_out_of_memory)
		return err_nomem(j->err);
	if (!o)
		return frag_fail(j, "line %d, column %d of it: expected JSON, found: %s", e.line,
				 e.column, e.text);
	st = json_is_object(o) ? frag_fragment(j, o)
			       : frag_fail(j, "expected an object, found %s", frag_found(o));
	json_decref(o);
	return st;
}

static enum spur_status parse_sequence(struct frag *j, struct text text)
{
	struct text rest = text, piece;

	if (text.len && text.p[0] != RS)
		return frag_fail(j, "expected a record separator (1E), found %02X",
				 (unsigned char)text.p[0]);
	while (text_split(&rest, RS, &piece)) {
		if (!text_trim(piece).len)
			continue;
		j->fragment++;
		j->at = (uint64_t)(piece.p - text.p);
		frag_leave(j, 0);
		if (parse_fragment(j, piece) == SPUR_FAIL)
			return SPUR_FAIL;
	}
	frag_leave(j, 0);
	if (!j->have_preamble)
		return frag_fail(j, "expected a preamble, found none");
	if (!j->m->nstreams)
		return frag_fail(j, "expected at least one `data-stream-class`, found none");
	return SPUR_OK;
}

enum spur_status json_parse(struct ctf_meta *m, struct text text, struct diag_log *diag,
			    struct spur_error *err)
{
	struct frag j = { .m = m, .diag = diag, .err = err };
	enum spur_status st;

	m->generation = CTF_2;
	m->major = 2;
	m->text = text;
	j.alias_names = intern_new();
	st = j.alias_names ? parse_sequence(&j, text) : err_nomem(err);
	intern_free(j.alias_names);
	mem_free(j.aliases);
	return st;
}
