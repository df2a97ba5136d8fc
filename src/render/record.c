/* See record.h. */
#include "render/record.h"

#include <assert.h>

#include "base/bits.h"
#include "base/digits.h"
#include "model/trace.h"

static_assert((int)RECORD_LITERAL == (int)FRAG_PIECE, "literals are copied as pieces");

/* Returns true if the field is the same text in all records. */
static bool field_is_literal(const struct layout_field *f)
{
	return f->kind == LAYOUT_TEXT || f->kind == LAYOUT_FIXED;
}

/* Appends what stands before the field's number, or all of a text or fixed number. */
static void field_literal(const struct record_pen *pen, const struct layout_field *f, bool first,
			  struct out *o)
{
	size_t len;
	const char *name = trace_string(pen->values->trace, f->name, &len);
	const struct spur_value v = { .type = SPUR_STRING,
				      .text = f->text,
				      .count = f->text ? (uint32_t)strlen(f->text) : 0 };

	if (pen->form == VALUE_JSON) {
		out_str(o, first ? "{" : ",");
		out_json(o, name, len);
		out_char(o, ':');
		if (f->kind == LAYOUT_TEXT)
			value_json(pen->values, &v, o);
		else if (f->kind == LAYOUT_FIXED)
			out_str(o, f->text);
		return;
	}
	out_str(o, first ? "" : ", ");
	out_safe(o, name, len);
	out_char(o, '=');
	if (f->kind == LAYOUT_TEXT)
		value_text(pen->values, &v, o);
	else if (f->kind == LAYOUT_FIXED)
		out_str(o, f->text);
	else if (f->kind == LAYOUT_HEX)
		out_str(o, "0x");
}

/* Ends a step with the text that came together. Returns false if it is too long. */
static bool step_add(struct record_program *p, struct out *text, const struct layout_field *f,
		     bool json)
{
	struct record_step *s = &p->steps[p->nsteps];

	if (text->error || text->len > sizeof(s->literal))
		return false;
	assert(p->nsteps < LAYOUT_FIELDS + 1);
	s->kind = f ? f->kind : LAYOUT_TEXT;
	if (s->kind == LAYOUT_HEX && json)
		s->kind = LAYOUT_NUMBER;
	s->len = (uint8_t)text->len;
	if (text->len)
		memcpy(s->literal, text->buf, text->len);
	out_clear(text);
	if (f) {
		s->mask = f->mask;
		s->at = f->at;
		s->shift = f->shift;
	}
	p->nsteps++;
	return true;
}

static void program_make(const struct record_pen *pen, struct record_program *p,
			 const struct record_layout *l)
{
	const bool json = pen->form == VALUE_JSON;
	struct out text;
	bool good = true;

	assert(l->count && l->count <= LAYOUT_FIELDS);
	p->made = true;
	p->swap = l->swap;
	p->size = l->size;
	out_to_memory(&text);
	for (uint32_t i = 0; i < l->count && good; i++) {
		const struct layout_field *f = &l->fields[i];

		assert(field_is_literal(f) || f->at + sizeof(uint64_t) <= l->size);
		field_literal(pen, f, i == 0, &text);
		if (!field_is_literal(f))
			good = step_add(p, &text, f, json);
	}
	if (json)
		out_char(&text, '}');
	if (!good || !step_add(p, &text, NULL, json))
		p->nsteps = 0;
	out_free(&text);
}

const struct record_program *record_program_make(struct record_pen *pen,
						 const struct record_layout *l)
{
	struct record_program *p = &pen->programs[l->number];

	if (!p->made)
		program_make(pen, p, l);
	assert(p->swap == l->swap && p->size == l->size);
	return p->nsteps ? p : NULL;
}

/* Times are long numbers that share their first digits. */
static inline char *put_any(char *w, struct number *big, uint64_t v)
{
	if (v < 1000000000)
		return put_decimal(w, v);
	return v <= INT64_MAX ? put_number(w, big, (int64_t)v) : put_u64(w, v);
}

char *record_put(struct record_pen *pen, const struct record_program *program, const uint8_t *raw,
		 uint32_t len, char *w)
{
	for (const struct record_step *s = program->steps;; s++) {
		uint64_t v;

		memcpy(w, s->literal, sizeof(s->literal));
		w += s->len;
		if (s->kind == LAYOUT_TEXT)
			return w;
		v = load64(raw + s->at, program->swap) >> s->shift & s->mask;
		if (s->kind == LAYOUT_DIGIT)
			*w++ = (char)('0' + v);
		else if (s->kind == LAYOUT_HEX)
			w = put_hex_digits(w, v, false);
		else
			w = put_any(w, &pen->big, s->kind == LAYOUT_REST ? len - program->size : v);
	}
}
