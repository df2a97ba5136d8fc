/*
 * Metadata of CTF 2: a JSON text sequence (RFC 7464), one object per fragment. This file: the
 * sequence, errors with their place, and how properties are got. Field classes: json_field.c;
 * fragments: json_fragment.c.
 *
 * Not read: extensions (a declared one is rejected, as the specification demands).
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/ctf/meta/json_parts.h"

enum { RS = 0x1E };

enum spur_status frag_fail(struct frag *j, const char *fmt, ...)
{
	char what[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	j->m->failed_at = j->at;
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

bool frag_is_int(const json_t *v)
{
	return v && (json_is_integer(v) || json_marked(v));
}

bool frag_u64(const json_t *v, uint64_t *out)
{
	return frag_clamp(v, false, out) == 0;
}

bool frag_i64(const json_t *v, int64_t *out)
{
	uint64_t u = 0;
	const int side = frag_clamp(v, true, &u);

	*out = (int64_t)u;
	return side == 0;
}

int frag_clamp(const json_t *v, bool is_signed, uint64_t *out)
{
	const char *digits = v ? json_marked(v) : NULL;
	struct text t;
	int64_t n;

	if (json_is_integer(v)) {
		*out = (uint64_t)json_integer_value(v);
		if (is_signed || json_integer_value(v) >= 0)
			return 0;
		*out = 0;
		return -1;
	}
	if (!digits)
		return 2;
	t = text_of(digits);
	if (is_signed && text_i64(&t, &n) && !t.len) {
		*out = (uint64_t)n;
		return 0;
	}
	t = text_of(digits);
	if (!is_signed && text_u64(&t, 10, out) && !t.len)
		return 0;
	if (digits[0] == '-') {
		*out = is_signed ? (uint64_t)INT64_MIN : 0;
		return -1;
	}
	*out = is_signed ? INT64_MAX : UINT64_MAX;
	return 1;
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
	if (!json_is_string(v) || json_marked(v))
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
	if (json_is_string(v) && !json_marked(v))
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
	/* For people, and for rewriting. */
	char *text = json_dumps(attrs, JSON_COMPACT);

	if (!text)
		return err_nomem(j->err);
	*out = frag_copy(j, text, json_unmark(text, strlen(text)));
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
	if (attrs && attributes && json_object_size(attrs) &&
	    keep_attributes(j, attrs, attributes) == SPUR_FAIL)
		return SPUR_FAIL;
	/* SPEC ctf2/extensions: what is declared or used is rejected */
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

static void report_commas(struct frag *j, size_t n)
{
	if (n)
		diag_add(j->diag, DIAG_WARN, "ctf/json-comma", "metadata", j->at, 0,
			 "fragment %zu: expected an element behind each comma, found a closing "
			 "bracket behind %zu: taken as not there",
			 j->fragment, n);
}

static enum spur_status read_fragment(struct frag *j, const json_t *o)
{
	frag_leave(j, 0);
	return json_is_object(o) ? frag_fragment(j, o)
				 : frag_fail(j, "expected an object, found %s", frag_found(o));
}

static enum spur_status fail_json(struct frag *j, const json_error_t *e)
{
	if (json_error_code(e) == json_error_out_of_memory)
		return err_nomem(j->err);
	return frag_fail(j, "line %d, column %d of it: expected JSON, found none: %s", e->line,
			 e->column, e->text);
}

/* `last`: nothing follows it, so it may be cut off. */
static enum spur_status parse_fragment(struct frag *j, struct text t, bool last)
{
	json_error_t e;
	size_t len = 0, commas;
	char *marked;
	json_t *o;
	enum spur_status st;

	if (t.len > JSON_FRAGMENT)
		return frag_fail(j, "expected at most %d bytes, found %zu", JSON_FRAGMENT, t.len);
	marked = json_mark(t.p, t.len, &len, &commas);
	if (!marked)
		return err_nomem(j->err);
	o = json_loadb(marked, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e);
	mem_free(marked);
	if (!o && last && j->have_preamble &&
	    json_error_code(&e) == json_error_premature_end_of_input) {
		/* SPEC ctf2/cut: a last fragment that is not whole is lost, those before hold */
		diag_add(j->diag, DIAG_DAMAGE, "ctf/metadata-cut", "metadata", j->at, t.len,
			 "fragment %zu: expected the whole of it, found the end; ignored",
			 j->fragment);
		return SPUR_OK;
	}
	if (!o)
		return fail_json(j, &e);
	report_commas(j, commas);
	st = read_fragment(j, o);
	json_decref(o);
	return st;
}

/* A fragment, or a list of such. */
static enum spur_status read_bare(struct frag *j, const json_t *v)
{
	if (!json_is_array(v)) {
		j->fragment++;
		return read_fragment(j, v);
	}
	for (size_t i = 0; i < json_array_size(v); i++) {
		j->fragment++;
		if (read_fragment(j, json_array_get(v, i)) == SPUR_FAIL)
			return SPUR_FAIL;
	}
	return SPUR_OK;
}

static enum spur_status parse_marked(struct frag *j, const char *p, size_t len)
{
	enum spur_status st = SPUR_OK;
	json_error_t e;

	for (size_t at = 0; st != SPUR_FAIL && text_trim(text_make(p + at, len - at)).len;) {
		json_t *v = json_loadb(
			p + at, len - at,
			JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK, &e);

		if (!v) {
			j->fragment++;
			return fail_json(j, &e);
		}
		at += e.position > 0 ? (size_t)e.position : len - at;
		st = read_bare(j, v);
		json_decref(v);
	}
	return st;
}

/* SPEC ctf2/separators: JSON texts one after the other, or in a list, are taken too */
static enum spur_status parse_bare(struct frag *j, struct text t)
{
	enum spur_status st;
	size_t len = 0, commas;
	char *marked;

	if (t.len > JSON_FRAGMENT)
		return frag_fail(j,
				 "expected at most %d bytes without a record separator, found %zu",
				 JSON_FRAGMENT, t.len);
	marked = json_mark(t.p, t.len, &len, &commas);
	if (!marked)
		return err_nomem(j->err);
	diag_add(j->diag, DIAG_WARN, "ctf/json-separator", "metadata", 0, 0,
		 "expected a record separator (1E) before each fragment, found %02X",
		 (unsigned char)t.p[0]);
	report_commas(j, commas);
	st = parse_marked(j, marked, len);
	mem_free(marked);
	return st;
}

static enum spur_status parse_texts(struct frag *j, struct text text)
{
	struct text rest = text_trim(text), piece;

	if (rest.len && (rest.p[0] == '{' || rest.p[0] == '['))
		return parse_bare(j, rest);
	if (rest.len && rest.p[0] != RS)
		return frag_fail(j, "expected a record separator (1E), found %02X",
				 (unsigned char)rest.p[0]);
	while (text_split(&rest, RS, &piece)) {
		if (!text_trim(piece).len)
			continue;
		j->fragment++;
		j->at = (uint64_t)(piece.p - text.p);
		frag_leave(j, 0);
		if (parse_fragment(j, piece, !rest.len) == SPUR_FAIL)
			return SPUR_FAIL;
	}
	return SPUR_OK;
}

static enum spur_status parse_sequence(struct frag *j, struct text text)
{
	if (parse_texts(j, text) == SPUR_FAIL)
		return SPUR_FAIL;
	frag_leave(j, 0);
	if (!j->have_preamble)
		return frag_fail(j, "expected a preamble, found none");
	/* SPEC ctf2/stream-class: there is at least one */
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
	map64_free(&j.streams);
	map64_free(&j.clocks);
	mem_free(j.aliases);
	return st;
}
