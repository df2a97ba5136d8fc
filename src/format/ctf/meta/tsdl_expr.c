/*
 * Expressions of TSDL: constants with a sign, strings, dotted names; and what they are taken for.
 */
#include <stdio.h>
#include <string.h>

#include "format/ctf/meta/tsdl.h"

/* ---- reading */

/* A name and its parts: a.b.c */
static bool read_path(struct tsdl *p, struct tsdl_value *v)
{
	v->kind = VALUE_NAME;
	v->keyword = p->tok.word != WORD_NONE;
	v->names = p->path;
	for (;;) {
		uint32_t id;

		if (!tsdl_is(p, TSDL_NAME))
			return tsdl_expected(p, "a name behind `.`");
		if (v->nnames == TSDL_PATH)
			return tsdl_error(p, p->tok.at,
					  "expected at most %d names with dots, found more",
					  TSDL_PATH);
		id = tsdl_name(p);
		if (id == INTERN_NONE)
			return false;
		p->path[v->nnames++] = intern_text(p->m->names, id, &v->len);
		v->end = p->tok.at + p->tok.len;
		tsdl_advance(p);
		if (!tsdl_accept(p, '.'))
			break;
		v->keyword = false;
	}
	v->text = v->names[0];
	return true;
}

/* Signs and opening parentheses in front; how many of the latter is in `open`. */
static bool read_signs(struct tsdl *p, struct tsdl_value *v, unsigned *open)
{
	bool is_signed = false;

	for (;; tsdl_advance(p)) {
		if (tsdl_is(p, '(')) {
			if (++*open > META_DEPTH)
				return tsdl_error(p, p->tok.at,
						  "expected at most %d parentheses inside each "
						  "other, found more",
						  META_DEPTH);
		} else if (tsdl_is(p, '-') || tsdl_is(p, '+')) {
			v->negative ^= tsdl_is(p, '-');
			is_signed = true;
		} else {
			break;
		}
	}
	return !is_signed || tsdl_is(p, TSDL_NUMBER) ||
	       tsdl_expected(p, "a number behind the sign");
}

bool tsdl_value(struct tsdl *p, struct tsdl_value *v, const char *what)
{
	unsigned open = 0;

	*v = (struct tsdl_value){ .at = p->tok.at };
	if (!read_signs(p, v, &open))
		return false;
	v->end = p->tok.at + p->tok.len;
	if (tsdl_is(p, TSDL_NUMBER)) {
		v->kind = VALUE_NUMBER;
		v->number = p->tok.number;
		v->negative &= v->number != 0;
		tsdl_advance(p);
	} else if (tsdl_is(p, TSDL_STRING)) {
		if (!tsdl_string(p, &p->tok))
			return false;
		v->kind = VALUE_STRING;
		v->text = arena_strdup(&p->m->arena, p->buf.buf ? p->buf.buf : "", p->buf.len);
		v->len = p->buf.len;
		if (!v->text)
			return tsdl_full(p);
		tsdl_advance(p);
	} else if (tsdl_is(p, TSDL_NAME)) {
		if (!read_path(p, v))
			return false;
	} else {
		return tsdl_expected(p, what);
	}
	for (; open; open--) {
		if (!tsdl_expect(p, ')', "`)`"))
			return false;
	}
	return !p->failed;
}

/* ---- taking */

static bool found_for(struct tsdl *p, const struct tsdl_value *v, const char *kind,
		      const char *what)
{
	char text[120];

	snprintf(text, sizeof(text), "%s for `%s`", kind, what);
	return tsdl_found(p, v, text);
}

bool tsdl_u64(struct tsdl *p, const struct tsdl_value *v, const char *what, uint64_t *out)
{
	if (v->kind != VALUE_NUMBER || v->negative)
		return found_for(p, v, "a number not below 0", what);
	*out = v->number;
	return true;
}

bool tsdl_i64(struct tsdl *p, const struct tsdl_value *v, const char *what, int64_t *out)
{
	const uint64_t most = (uint64_t)INT64_MAX + v->negative;

	if (v->kind != VALUE_NUMBER)
		return found_for(p, v, "a number", what);
	if (v->number > most)
		return found_for(p, v, "a signed number of 64 bits", what);
	*out = v->negative ? (int64_t)(0 - v->number) : (int64_t)v->number;
	return true;
}

bool tsdl_u32(struct tsdl *p, const struct tsdl_value *v, const char *what, uint32_t *out)
{
	uint64_t n = 0;

	if (!tsdl_u64(p, v, what, &n))
		return false;
	if (n > UINT32_MAX)
		return found_for(p, v, "a number below 2^32", what);
	*out = (uint32_t)n;
	return true;
}

/* SPEC ctf-tsdl/boolean */
bool tsdl_bool(struct tsdl *p, const struct tsdl_value *v, const char *what, bool *out)
{
	const bool name = v->kind == VALUE_NAME && v->nnames == 1;
	const bool number = v->kind == VALUE_NUMBER && !v->negative && v->number < 2;

	*out = number ? v->number == 1
		      : name && (!strcmp(v->text, "true") || !strcmp(v->text, "TRUE"));
	if (number || *out || (name && (!strcmp(v->text, "false") || !strcmp(v->text, "FALSE"))))
		return true;
	return found_for(p, v, "true, TRUE, 1, false, FALSE or 0", what);
}

/* SPEC ctf-tsdl/align */
bool tsdl_align(struct tsdl *p, const struct tsdl_value *v, uint32_t *out)
{
	uint64_t n = 0;

	if (!tsdl_u64(p, v, "align", &n))
		return false;
	if (!n || (n & (n - 1)) || n > UINT32_MAX)
		return found_for(p, v, "a power of two below 2^32", "align");
	*out = (uint32_t)n;
	return true;
}

bool tsdl_words(struct tsdl *p, const struct tsdl_value *v, const char *what, bool or_name,
		const char **out)
{
	const bool name = or_name && v->kind == VALUE_NAME && v->nnames == 1;

	if (v->kind != VALUE_STRING && !name)
		return found_for(p, v, or_name ? "a name or a string" : "a string", what);
	if (strlen(v->text) != v->len)
		tsdl_warn(p, "ctf/nul-in-string", v->at,
			  "expected a string without NUL, found one; the rest is cut");
	*out = v->text;
	return true;
}

/* SPEC ctf-tsdl/uuid: 8-4-4-4-12 hexadecimal digits. */
bool tsdl_uuid(struct tsdl *p, const struct tsdl_value *v, uint8_t uuid[16])
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	unsigned n = 0;

	if (v->kind != VALUE_STRING || v->len != sizeof(form) - 1)
		return found_for(p, v, "a string of 36 characters", "uuid");
	for (size_t i = 0; i < v->len; i++) {
		struct text digit = text_make(v->text + i, 1);
		uint64_t value = 0;

		if (form[i] == '-' ? v->text[i] != '-' : !text_u64(&digit, 16, &value))
			return found_for(p, v, "hexadecimal digits and `-`, 8-4-4-4-12,", "uuid");
		if (form[i] == '-')
			continue;
		uuid[n / 2] = (uint8_t)((uint64_t)uuid[n / 2] << 4 | value);
		n++;
	}
	return true;
}

const char *tsdl_join(struct tsdl *p, const struct tsdl_value *v)
{
	const char *name;

	if (v->kind != VALUE_NAME) {
		tsdl_found(p, v, "a name");
		return NULL;
	}
	if (v->nnames == 1)
		return v->names[0];
	out_clear(&p->buf);
	for (uint32_t i = 0; i < v->nnames; i++) {
		if (i)
			out_char(&p->buf, '.');
		out_str(&p->buf, v->names[i]);
	}
	name = p->buf.error ? NULL : meta_name(p->m, p->buf.buf, p->buf.len);
	if (!name)
		tsdl_full(p);
	return name;
}

bool tsdl_keep(struct tsdl *p, struct tsdl_value *v)
{
	const char **names;

	if (!v->nnames)
		return true;
	names = arena_alloc(&p->m->arena, v->nnames * sizeof(*names));
	if (!names)
		return tsdl_full(p);
	memcpy(names, v->names, v->nnames * sizeof(*names));
	v->names = names;
	return true;
}
