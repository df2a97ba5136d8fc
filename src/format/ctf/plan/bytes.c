/*
 * Makes byte programs from compiled programs, step by step; if a step has no counterpart, no byte
 * program is made.
 */
#include "format/ctf/plan/parts.h"

struct build {
	struct arena *arena;
	const struct keep *keeps;
	struct byte_skip *skip;
	struct byte_value *values;
	size_t n, cap;
	size_t run; /* values: the step of the run that is open, or NO_RUN */
	uint32_t run_size; /* its bytes; skipping: of the last run */
	uint32_t pending; /* skipping: bytes that the next step is to skip */
	struct {
		size_t step;
		uint32_t count;
	} open[BYTE_DEPTH + 1]; /* structures; [0]: the top level */
	unsigned depth;
	bool in_scope;
	uint32_t flat;
};

enum { NO_RUN = -1, BYTE_STEPS = 1 << 12 };

/* Bytes of a step's bits; 0: not whole ones that can be loaded. */
static uint32_t number_size(const struct step *s)
{
	const bool whole = s->size == 8 || s->size == 16 || s->size == 32 || s->size == 64;

	return whole && !(s->flags & STEP_REVERSED) ? s->size / 8 : 0;
}

static uint8_t number_load(const struct step *s, bool is_float)
{
	const bool swap = order_swaps(s->flags & STEP_BIG), is_signed = s->flags & STEP_SIGNED;

	if (is_float && s->size == 32)
		return swap ? BYTE_F32_SWAPPED : BYTE_F32;
	switch (s->size) {
	case 8:
		return is_signed ? BYTE_I8 : BYTE_U8;
	case 16:
		return (uint8_t)((swap ? BYTE_U16_SWAPPED : BYTE_U16) + is_signed);
	case 32:
		return (uint8_t)((swap ? BYTE_U32_SWAPPED : BYTE_U32) + is_signed);
	default:
		return swap ? BYTE_64_SWAPPED : BYTE_64;
	}
}

/* --- skip programs --- */

static struct byte_skip *skip_add(struct build *b, enum byte_code code, const struct step *s)
{
	struct byte_skip *to;

	if (b->n >= BYTE_STEPS ||
	    !mem_grow((void **)&b->skip, &b->cap, b->n + 1, sizeof(*b->skip), BYTE_STEPS))
		return NULL;
	to = &b->skip[b->n++];
	*to = (struct byte_skip){
		.code = (uint8_t)code, .run = b->pending, .slot = s->slot, .size = s->size / 8
	};
	b->pending = 0;
	return to;
}

/* A number of the run that is kept; all of it is inside the run. */
static bool skip_number(struct build *b, const struct step *s)
{
	const uint32_t size = number_size(s);

	if (!size || s->off % 8 || s->off / 8 > b->run_size || size > b->run_size - s->off / 8)
		return false;
	for (unsigned i = 0; i < s->nkeeps; i++) {
		const struct keep *k = &b->keeps[s->keeps + i];
		const bool is_clock = k->what == KEEP_CLOCK;
		struct byte_skip *to = skip_add(b, is_clock ? BYTE_CLOCK : BYTE_ROLE, s);

		if (!to)
			return false;
		to->back = b->run_size - s->off / 8;
		to->bits = (uint8_t)s->size;
		to->load = number_load(s, false);
		to->slot = k->slot;
		if (!is_clock && k->slot >= CTF_SLOTS_FIXED)
			to->code = to->load;
	}
	return true;
}

/* Where the length is the last thing that was kept it is one step. */
static bool skip_dynamic(struct build *b, const struct step *s)
{
	struct byte_skip *last = b->n && !b->pending ? &b->skip[b->n - 1] : NULL;

	if (s->size % 8)
		return false;
	if (!last || last->code > BYTE_64_SWAPPED || last->slot != s->slot)
		return skip_add(b, BYTE_DYNAMIC, s);
	last->code = BYTE_COUNTED;
	last->size = s->size / 8;
	return true;
}

static bool skip_step(struct build *b, const struct step *s)
{
	struct byte_skip *to;

	switch ((enum step_code)s->code) {
	case STEP_ALIGN:
		return s->size <= 8 || skip_add(b, BYTE_ALIGN, s);
	case STEP_ORDER:
		/* Whole bytes at whole bytes keep the rule whatever came before. */
		return true;
	case STEP_RUN:
		/* Two runs in a row: the first is too long to be joined with more. */
		if (s->size % 8 || b->pending)
			return false;
		b->run_size = b->pending = s->size / 8;
		return true;
	case STEP_GET:
		return skip_number(b, s);
	case STEP_STRING:
		return s->size == 8 && skip_add(b, BYTE_STRING, s);
	case STEP_SKIP_DYNAMIC:
		return skip_dynamic(b, s);
	case STEP_PLACE:
		to = s->off % 8 || s->off / 8 > b->run_size ? NULL : skip_add(b, BYTE_PLACE, s);
		if (to)
			to->back = b->run_size - s->off / 8;
		return to != NULL;
	case STEP_END:
		return skip_add(b, BYTE_END, s);
	default:
		return false;
	}
}

/* --- values --- */

static struct byte_value *value_add(struct build *b, enum byte_code code, const struct step *s)
{
	struct byte_value *v;

	if (b->n >= BYTE_STEPS ||
	    !mem_grow((void **)&b->values, &b->cap, b->n + 1, sizeof(*b->values), BYTE_STEPS))
		return NULL;
	v = &b->values[b->n++];
	*v = (struct byte_value){ .code = (uint8_t)code, .slot = s->slot };
	v->field = s->field;
	v->value.name = s->name;
	v->value.show = s->show;
	return v;
}

static void run_close(struct build *b)
{
	if (b->run != (size_t)NO_RUN)
		b->values[b->run].size = b->run_size;
	b->run = (size_t)NO_RUN;
}

static void value_count(struct build *b)
{
	b->open[b->depth].count++;
	b->flat += b->in_scope && b->depth == 1;
}

/* A step that takes `size` bytes of a run. */
static struct byte_value *value_in_run(struct build *b, enum byte_code code, const struct step *s,
				       uint64_t size)
{
	struct byte_value *v;

	if (b->run == (size_t)NO_RUN) {
		if (!value_add(b, BYTE_RUN, s))
			return NULL;
		b->run = b->n - 1;
		b->run_size = 0;
	}
	if (size > INT32_MAX || b->run_size + size > INT32_MAX || !(v = value_add(b, code, s)))
		return NULL;
	v->back = b->run_size; /* from the begin, until lists are made */
	b->run_size += (uint32_t)size;
	return v;
}

/* What needs nothing but to be loaded. */
static void number_narrow(struct byte_value *v)
{
	static const struct {
		uint8_t shift;
		uint64_t mask;
	} words[] = {
		[BYTE_U8] = { 56, UINT8_MAX },	 [BYTE_I8] = { 56, UINT64_MAX },
		[BYTE_U16] = { 48, UINT16_MAX }, [BYTE_I16] = { 48, UINT64_MAX },
		[BYTE_U32] = { 32, UINT32_MAX }, [BYTE_I32] = { 32, UINT64_MAX },
		[BYTE_64] = { 0, UINT64_MAX },
	};

	if (v->load <= BYTE_64) {
		v->code = BYTE_NUMBER;
		v->shift = words[v->load].shift;
		v->mask = words[v->load].mask;
		v->slot = v->what ? v->slot : CTF_SLOT_DISCARD;
	} else if (!v->what) {
		v->code = v->load;
	}
}

static bool value_number(struct build *b, const struct step *s)
{
	const bool is_float = s->code == STEP_FLOAT;
	const uint32_t size = number_size(s);
	const struct ctf_field *f = s->field;
	struct byte_value *v;

	if (!size || (is_float && size < 4) || f->unit || s->nkeeps > 1 ||
	    !(v = value_in_run(b, BYTE_INT, s, size)))
		return false;
	v->load = number_load(s, is_float);
	plan_number(f, &v->value);
	if (s->nkeeps) {
		if (b->keeps[s->keeps].what != KEEP_SLOT)
			return false;
		v->slot = b->keeps[s->keeps].slot;
		v->what |= BYTE_KEPT;
	}
	if (s->name == UINT32_MAX && !is_float)
		v->what |= BYTE_HIDDEN;
	if (v->value.type == SPUR_BOOL)
		v->what |= BYTE_BOOL;
	if (f->labels && !is_float)
		v->what |= BYTE_LABELS;
	if (!(v->what & ~(unsigned)BYTE_KEPT))
		number_narrow(v);
	if (!(v->what & BYTE_HIDDEN))
		value_count(b);
	return true;
}

/* LOOP, a number, NEXT: an array of plain numbers. How many steps it is; 0: something else. */
static uint32_t value_array(struct build *b, const struct step *s)
{
	const bool dynamic = s->code == STEP_LOOP_DYNAMIC;
	const struct step *e = s + 1;
	struct byte_value *v;
	uint32_t size;

	while ((e->code == STEP_ALIGN && e->size <= 8) || e->code == STEP_ORDER)
		e++;
	size = number_size(e);
	if ((e->code != STEP_INT && e->code != STEP_FLOAT) || !size || e->nkeeps ||
	    (e->code == STEP_FLOAT && size < 4) || e->field->unit || e->field->labels ||
	    e->field->kind == CTF_BOOL || e[1].code != STEP_NEXT || e->name == UINT32_MAX)
		return 0;
	if (dynamic)
		run_close(b);
	else if (s->count > BYTE_ELEMENTS)
		return 0;
	v = dynamic ? value_add(b, BYTE_SEQUENCE, s)
		    : value_in_run(b, BYTE_ARRAY, s, s->count * size);
	if (!v)
		return 0;
	v->load = number_load(e, e->code == STEP_FLOAT);
	v->size = size;
	v->count = (uint32_t)s->count;
	plan_number(e->field, &v->value);
	v->value.show = e->show;
	v->value.name = 0;
	v->name = s->name;
	value_count(b);
	return (uint32_t)(e + 2 - s);
}

static bool value_text(struct build *b, const struct step *s)
{
	const bool text =
		s->code == STEP_TEXT || s->code == STEP_TEXT_DYNAMIC || s->code == STEP_STRING;
	const bool fixed = s->code == STEP_TEXT || s->code == STEP_BLOB;
	struct byte_value *v;

	if (text && s->field->encoding != CTF_UTF8 && s->field->encoding != CTF_ASCII)
		return false;
	if (!fixed)
		run_close(b);
	v = fixed ? value_in_run(b, text ? BYTE_TEXT : BYTE_BLOB, s, s->count)
		  : value_add(b,
			      s->code == STEP_STRING ? BYTE_STRING
			      : text		     ? BYTE_TEXT_DYNAMIC
						     : BYTE_BLOB_DYNAMIC,
			      s);
	if (!v)
		return false;
	v->count = (uint32_t)s->count;
	v->size = 1;
	v->value.type = text ? SPUR_STRING : SPUR_BYTES;
	value_count(b);
	return true;
}

static bool value_open(struct build *b, const struct step *s)
{
	struct byte_value *v;

	if (b->depth == BYTE_DEPTH || !(v = value_add(b, BYTE_OPEN, s)))
		return false;
	v->value.type = SPUR_STRUCT;
	if (s->flags & STEP_SCOPE) {
		v->what = BYTE_SCOPE;
		b->in_scope = true;
	}
	value_count(b);
	b->open[++b->depth].step = b->n - 1;
	b->open[b->depth].count = 0;
	return true;
}

static bool value_close(struct build *b, const struct step *s)
{
	struct byte_value *v = b->depth ? value_add(b, BYTE_CLOSE, s) : NULL;
	struct byte_value *open = &b->values[b->open[b->depth].step];

	if (!v)
		return false;
	v->what = s->flags & STEP_SCOPE ? BYTE_SCOPE : 0;
	b->in_scope &= !v->what;
	open->count = open->value.count = b->open[b->depth--].count;
	return true;
}

/* One step or, of arrays, all of it; how many they are. 0: there is no byte program. */
static uint32_t value_step(struct build *b, const struct step *s)
{
	struct byte_value *v;

	switch ((enum step_code)s->code) {
	case STEP_ALIGN:
		if (s->size <= 8)
			return 1;
		run_close(b);
		v = value_add(b, BYTE_ALIGN, s);
		if (v)
			v->size = s->size / 8;
		return v != NULL;
	case STEP_ORDER:
	case STEP_MARK:
		return 1;
	case STEP_INT:
	case STEP_FLOAT:
		return value_number(b, s);
	case STEP_TEXT:
	case STEP_TEXT_DYNAMIC:
	case STEP_STRING:
	case STEP_BLOB:
	case STEP_BLOB_DYNAMIC:
		return value_text(b, s);
	case STEP_OPEN:
		return value_open(b, s);
	case STEP_CLOSE:
		return value_close(b, s);
	case STEP_LOOP:
	case STEP_LOOP_DYNAMIC:
		return value_array(b, s);
	default:
		return 0;
	}
}

/* --- programs --- */

static bool compile_skip(struct build *b, struct byte_program *p, const struct code *code)
{
	struct byte_skip *own;

	for (uint32_t i = 0; i < code->count; i++)
		if (!skip_step(b, &code->steps[i]))
			return true;
	own = arena_alloc(b->arena, b->n * sizeof(*own));
	if (!own)
		return false;
	memcpy(own, b->skip, b->n * sizeof(*own));
	p->skip = own;
	p->fixed = own[0].code == BYTE_END ? own[0].run : 0;
	return true;
}

/*
 * The list that is run: runs become a part of the step after them, numbers that follow each other
 * know it, and the structures of scopes are left out where it is to be flat.
 */
static const struct byte_value *make_list(const struct build *b, bool flat)
{
	struct byte_value *list = arena_alloc(b->arena, b->n * sizeof(*list)), *to = list;
	uint32_t run = 0, pending = 0;

	for (const struct byte_value *s = b->values; list && s < b->values + b->n; s++) {
		if (s->code == BYTE_RUN) {
			run = pending = s->size;
			continue;
		}
		if (flat && (s->what & BYTE_SCOPE) &&
		    (s->code == BYTE_OPEN || s->code == BYTE_CLOSE))
			continue;
		*to = *s;
		to->run = pending;
		to->back = run - s->back;
		if (flat && to->value.type == SPUR_ENUM && !(to->what & BYTE_LABELS))
			plan_unnamed(&to->value);
		if (s->code == BYTE_NUMBER && to > list && !pending &&
		    (to[-1].code == BYTE_NUMBER || to[-1].code == BYTE_MORE))
			to->code = BYTE_MORE;
		pending = 0;
		to++;
	}
	return list;
}

/* Bytes of a list that is nothing but numbers of one run; else 0. */
static uint32_t list_numbers(const struct byte_value *list)
{
	const struct byte_value *s = list;

	while (s->code == (s == list ? BYTE_NUMBER : BYTE_MORE))
		s++;
	return s->code == BYTE_END ? list->run : 0;
}

static bool compile_values(struct build *b, struct byte_program *p, const struct code *code)
{
	uint32_t used;

	b->n = b->cap = 0;
	b->run = (size_t)NO_RUN;
	for (uint32_t i = 0; i + 1 < code->count; i += used)
		if (!(used = value_step(b, &code->steps[i])))
			return true;
	run_close(b);
	if (!value_add(b, BYTE_END, &code->steps[code->count - 1]))
		return true;
	p->top[true] = b->flat;
	p->top[false] = b->open[0].count;
	p->values[true] = make_list(b, true);
	p->values[false] = make_list(b, false);
	if (!p->values[true] || !p->values[false])
		return false;
	p->numbers = list_numbers(p->values[true]);
	return true;
}

bool bytes_compile(struct byte_program *p, struct arena *arena, const struct code *skip,
		   const struct code *values, const struct keep *keeps)
{
	struct build b = { .arena = arena, .keeps = keeps };
	const bool good = compile_skip(&b, p, skip) && (!p->skip || compile_values(&b, p, values));

	mem_free(b.skip);
	mem_free(b.values);
	return good;
}

bool bytes_find(const struct byte_program *p, uint32_t slot, uint32_t *off, uint8_t *load)
{
	const struct byte_skip *s = p->skip;
	const uint32_t run = s ? s->run : 0;

	for (; s && (s == p->skip || !s->run); s++) {
		if (s->code > BYTE_64_SWAPPED && s->code != BYTE_PLACE)
			return false;
		if (s->slot == slot) {
			*off = run - s->back;
			*load = s->code;
			return true;
		}
	}
	return false;
}

static bool is_among(uint32_t slot, const uint32_t *slots, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (slots[i] == slot)
			return true;
	return false;
}

void bytes_drop(struct byte_program *p, const uint32_t *slots, size_t n)
{
	struct byte_skip *to = (struct byte_skip *)p->skip;
	uint32_t run = 0;

	for (const struct byte_skip *s = p->skip; s; s = s->code == BYTE_END ? NULL : s + 1)
		if (s->code == BYTE_DYNAMIC && is_among(s->slot, slots, n))
			return;
	for (const struct byte_skip *s = p->skip; s; s++) {
		run += s->run;
		if ((s->code <= BYTE_64_SWAPPED || s->code == BYTE_PLACE) &&
		    is_among(s->slot, slots, n))
			continue;
		*to = *s;
		to->run = run;
		run = 0;
		if (to++->code == BYTE_END)
			break;
	}
	if (p->skip)
		p->fixed = p->skip->code == BYTE_END ? p->skip->run : 0;
}
