/* See record.h. */
#include "render/record.h"

#include <assert.h>

#include "model/trace.h"

static_assert((int)RECORD_LITERAL == (int)FRAG_PIECE, "literals are copied as pieces");

enum { JOINT_BITS = 16 };

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

static enum record_step_kind step_kind(const struct layout_field *f, bool json)
{
	if (f->kind == LAYOUT_HEX && !json)
		return STEP_HEX;
	return f->kind == LAYOUT_REST ? STEP_REST : STEP_NUMBER;
}

/* Ends a step with the text that came together. Returns false if it is too long. */
static bool step_add(struct record_program *p, struct out *text, const struct layout_field *f,
		     bool json)
{
	struct record_step *s = &p->steps[p->nsteps];

	if (text->error || text->len > sizeof(s->literal))
		return false;
	assert(p->nsteps < LAYOUT_FIELDS + 1);
	s->kind = (uint8_t)(f ? step_kind(f, json) : STEP_END);
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

/* The bits of its word that a step's number is. */
static uint64_t step_bits(const struct record_step *s)
{
	return s->mask << s->shift;
}

/* How many steps from `s` on are small numbers of one word, all within JOINT_BITS of it. */
static uint32_t joint_length(const struct record_step *s, uint64_t *bits)
{
	uint32_t n = 0;

	*bits = 0;
	for (; s[n].kind == STEP_NUMBER; n++) {
		const uint64_t with = *bits | step_bits(&s[n]);

		if (s[n].at != s->at || with >> __builtin_ctzll(with) >> JOINT_BITS)
			break;
		*bits = with;
	}
	return n;
}

/* Returns true if the texts of `n` steps and the literal behind them always have room in one. */
static bool joint_fits(const struct record_step *s, uint32_t n)
{
	char number[RECORD_NUMBER];
	size_t room = s[n].len;

	for (uint32_t i = 0; i < n; i++)
		room += s[i].len + (size_t)(put_u64(number, s[i].mask) - number);
	return room <= RECORD_JOINT;
}

/* Makes one step of the first small numbers that stand side by side. */
static void program_join(struct record_program *p)
{
	struct record_joint *const j = &p->joint;

	for (struct record_step *s = p->steps; s->kind != STEP_END; s++) {
		uint64_t bits;
		const uint32_t n = joint_length(s, &bits);
		const uint32_t left = (uint32_t)(p->steps + p->nsteps - s) - n;

		if (n < 2 || !joint_fits(s, n))
			continue;
		assert(n <= LAYOUT_FIELDS && left > 0);
		j->nsteps = n;
		memcpy(j->steps, s, n * sizeof(*s));
		j->after_len = s[n].len;
		memcpy(j->after, s[n].literal, s[n].len);
		s[n].len = 0;
		j->at = s->at;
		j->shift = (uint8_t)__builtin_ctzll(bits);
		j->mask = bits >> j->shift;
		s->kind = STEP_JOINT;
		memmove(s + 1, s + n, left * sizeof(*s));
		p->nsteps -= n - 1;
		return;
	}
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
	out_str(&text, pen->before);
	for (uint32_t i = 0; i < l->count && good; i++) {
		const struct layout_field *f = &l->fields[i];

		assert(field_is_literal(f) || f->at + sizeof(uint64_t) <= l->size);
		field_literal(pen, f, i == 0, &text);
		if (!field_is_literal(f))
			good = step_add(p, &text, f, json);
	}
	if (json)
		out_char(&text, '}');
	out_str(&text, pen->after);
	if (good && step_add(p, &text, NULL, json))
		program_join(p);
	else
		p->nsteps = 0;
	out_free(&text);
}

struct record_program *record_program_make(struct record_pen *pen, const struct record_layout *l)
{
	struct record_program *p = &pen->programs[l->number];

	if (!p->made)
		program_make(pen, p, l);
	assert(p->swap == l->swap && p->size == l->size);
	return p->nsteps ? p : NULL;
}

void record_joint_make(const struct record_program *p, const uint8_t *raw, struct joint_text *t)
{
	const struct record_joint *const j = &p->joint;
	char text[RECORD_JOINT + RECORD_LITERAL];
	char *w = text;

	for (const struct record_step *s = j->steps; s < j->steps + j->nsteps; s++)
		w = put_u64(put_text(w, s->literal, s->len), record_number(s, raw, p->swap));
	w = put_text(w, j->after, j->after_len);
	assert(w - text <= RECORD_JOINT);
	t->len = (uint32_t)(w - text);
	memcpy(t->text, text, t->len);
	t->bits = record_joint_bits(p, raw) + 1;
}
