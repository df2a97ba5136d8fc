/* See line.h. Finding and compiling programs. */
#include <assert.h>

#include "format/format.h"
#include "render/line_parts.h"

/* Of classes whose events have to be decoded. */
static const struct line_program line_none = { 0 };

/* --- compiling --- */

struct line_build {
	struct line_pen *pen;
	struct line_step steps[LINE_STEPS];
	uint32_t n;
	uint32_t pending; /* bytes that the next step skips */
	uint32_t items[LINE_DEPTH]; /* by depth: members so far; [0]: top level */
	uint32_t first[LINE_DEPTH]; /* by depth: where its names begin */
	uint32_t names[LINE_STEPS]; /* of members that are open, of all depths */
	uint32_t nnames;
	unsigned depth;
	bool bad;
};

/* Appends to the literal before the next step. */
static void part_add(struct line_build *b, enum line_part part, uint32_t i, uint32_t name)
{
	const struct line_pen *pen = b->pen;

	if (!pen->words->part(pen->self, part, i, name, &b->pen->scratch))
		b->bad = true;
}

/* A step with what is left of the literal; what is too long goes to steps before it. */
static struct line_step *step_add(struct line_build *b, enum line_code code)
{
	struct out *o = &b->pen->scratch;
	size_t at = 0;
	struct line_step *s;

	b->bad |= o->error != 0;
	for (;;) {
		const size_t left = o->len - at;
		const bool more = left > LINE_LITERAL_MOST;

		if (b->bad || b->n == LINE_STEPS) {
			b->bad = true;
			out_clear(o);
			b->n = 0; /* the program is not used, but its steps can be written to */
			at = 0;
			return &b->steps[0];
		}
		s = &b->steps[b->n++];
		*s = (struct line_step){ .code = (uint8_t)(more ? LINE_LITERAL : code) };
		s->literal_len = (uint8_t)(more ? LINE_LITERAL_MOST : left);
		if (s->literal_len)
			memcpy(s->literal, o->buf + at, s->literal_len);
		at += s->literal_len;
		if (!more)
			break;
	}
	out_clear(o);
	return s;
}

/* A member of the structure at hand. */
static void item_add(struct line_build *b, uint32_t name)
{
	if (b->nnames == LINE_STEPS) {
		b->bad = true;
		return;
	}
	for (uint32_t i = b->first[b->depth]; i < b->nnames; i++)
		b->bad |= b->pen->words->distinct && b->names[i] == name;
	b->bad |= b->pen->words->distinct && !name;
	b->names[b->nnames++] = name;
	part_add(b, LINE_ITEM, b->items[b->depth]++, name);
}

static void struct_open(struct line_build *b, const struct byte_value *s)
{
	if (s->what & BYTE_SCOPE)
		part_add(b, LINE_SCOPE, b->items[b->depth]++, 0);
	else
		item_add(b, s->value.name);
	if (b->depth + 1 == LINE_DEPTH) {
		b->bad = true;
		return;
	}
	b->depth++;
	b->items[b->depth] = 0;
	b->first[b->depth] = b->nnames;
	part_add(b, LINE_OPEN, 0, 0);
}

static void struct_close(struct line_build *b)
{
	part_add(b, LINE_CLOSE, b->items[b->depth], 0);
	b->nnames = b->first[b->depth];
	b->depth -= b->depth > 0;
}

/* How a number of this template is written; *bits: of LINE_HEX. */
static enum line_code number_code(const struct line_pen *pen, const struct spur_value *v,
				  unsigned *bits)
{
	const struct spur_value zero = { .type = v->type, .show = v->show, .size = v->size };
	char room[LINE_NUMBER];

	if (v->type != SPUR_U64 && v->type != SPUR_I64 && (v->type != SPUR_F64 || v->label))
		return LINE_VALUE;
	if (!pen->words->put(room, &zero))
		return LINE_VALUE;
	if (v->type == SPUR_F64)
		return LINE_FLOAT;
	switch (pen->words->digits(v, bits)) {
	case LINE_DIGITS_DECIMAL:
		return v->type == SPUR_I64 ? LINE_I64 : LINE_U64;
	case LINE_DIGITS_HEX:
		return LINE_HEX;
	default:
		return LINE_PUT;
	}
}

static enum line_code code_of(const struct line_pen *pen, const struct byte_value *s,
			      unsigned *bits)
{
	switch ((enum byte_code)s->code) {
	case BYTE_END:
		return LINE_END;
	case BYTE_ALIGN:
		return LINE_ALIGN;
	case BYTE_NUMBER:
	case BYTE_MORE:
		return number_code(pen, &s->value, bits);
	case BYTE_INT:
		return s->what & BYTE_HIDDEN ? LINE_KEEP : LINE_VALUE;
	case BYTE_STRING:
		return LINE_STRING;
	case BYTE_TEXT:
		return LINE_TEXT;
	case BYTE_TEXT_DYNAMIC:
		return LINE_TEXT_DYNAMIC;
	case BYTE_BLOB:
		return LINE_BLOB;
	case BYTE_BLOB_DYNAMIC:
		return LINE_BLOB_DYNAMIC;
	case BYTE_ARRAY:
		return LINE_ARRAY;
	case BYTE_SEQUENCE:
		return LINE_SEQUENCE;
	default: /* a number that is swapped, or a float */
		return s->value.type == SPUR_F64 ? number_code(pen, &s->value, bits) : LINE_VALUE;
	}
}

/* Only numbers that put() writes, as the texts of elements are not remembered. */
static bool is_array_good(const struct line_pen *pen, const struct byte_value *s)
{
	unsigned bits;

	return number_code(pen, &s->value, &bits) != LINE_VALUE;
}

static bool memo_add(struct line_build *b, struct line_step *step)
{
	const size_t size = LINE_MEMO * sizeof(*step->memo);

	if (b->bad)
		return true;
	b->pen->used += size;
	step->memo = arena_alloc(&b->pen->arena, size);
	if (step->memo)
		memset(step->memo, 0, size);
	return step->memo;
}

/* A step of the list that is no structure. Returns false if out of memory. */
static bool value_add(struct line_build *b, const struct byte_value *s)
{
	unsigned bits = 0;
	const enum line_code code = code_of(b->pen, s, &bits);
	const bool array = code == LINE_ARRAY || code == LINE_SEQUENCE;
	struct line_step *step;

	if (code != LINE_END && code != LINE_ALIGN && code != LINE_KEEP)
		item_add(b, array ? s->name : s->value.name);
	step = step_add(b, code);
	/* Literals that are steps of their own stand before the bytes of this one. */
	step->run = b->pending + s->run;
	b->pending = 0;
	step->back = s->back;
	step->size = s->size;
	step->slot = s->slot;
	step->count = code == LINE_HEX ? 64 - bits : s->count;
	step->what = s->what;
	step->shift = s->shift;
	step->from = s;
	/* Elsewhere the union with the mask holds a name or a field. */
	step->mask = s->code == BYTE_NUMBER || s->code == BYTE_MORE ? s->mask : 0;
	/* Floats and swapped numbers have no `load`: their code is it. */
	step->load = s->code <= BYTE_F32_SWAPPED ? s->code : s->load;
	step->decimal = array && number_code(b->pen, &s->value, &bits) == LINE_U64;
	b->bad |= s->value.unreliable || (array && !is_array_good(b->pen, s));
	return (code != LINE_VALUE && code != LINE_FLOAT) || memo_add(b, step);
}

/* Copies the program to where it stays. */
static const struct line_program *line_keep(struct line_build *b)
{
	struct line_pen *pen = b->pen;
	const size_t size = b->n * sizeof(b->steps[0]);
	struct line_step *steps;
	struct line_program *l;

	if (b->bad)
		return &line_none;
	pen->used += size + sizeof(*l);
	steps = arena_alloc(&pen->arena, size);
	l = arena_alloc(&pen->arena, sizeof(*l));
	if (!steps || !l)
		return NULL;
	memcpy(steps, b->steps, size);
	*l = (struct line_program){ .nsteps = b->n, .items = b->items[0], .steps = steps };
	l->room = b->n * LINE_STEP_ROOM + 2 * LINE_NUMBER;
	return l;
}

/* Compiles a class's program. Returns NULL if out of memory. */
static const struct line_program *line_compile(struct line_pen *pen, const struct byte_value *from)
{
	struct line_build *b;
	const struct line_program *l = NULL;
	bool good = true;

	if (pen->used > LINE_MEMORY)
		return &line_none;
	b = mem_alloc(sizeof(*b));
	if (!b)
		return NULL;
	b->pen = pen;
	out_clear(&pen->scratch);
	for (const struct byte_value *s = from; good && !b->bad; s++) {
		if (s->code == BYTE_OPEN || s->code == BYTE_CLOSE) {
			b->pending += s->run;
			if (s->code == BYTE_OPEN)
				struct_open(b, s);
			else
				struct_close(b);
			continue;
		}
		good = value_add(b, s);
		if (s->code == BYTE_END)
			break;
	}
	if (good)
		l = line_keep(b);
	out_clear(&pen->scratch);
	mem_free(b);
	return l;
}

/* --- finding --- */

/* The list of a class's programs. Returns NULL if out of memory, or there are too many. */
static const struct line_program **class_lines(struct line_pen *pen, const struct byte_block *b)
{
	for (unsigned i = 0; i < LINE_CLASSES; i++) {
		struct line_class *c = &pen->classes[i];

		if (!c->class) {
			c->lines = mem_array(b->nids, sizeof(c->lines[0]));
			c->class = c->lines ? b->class : NULL;
			c->nlines = b->nids;
		}
		if (!c->class)
			return NULL;
		if (c->class == b->class)
			return c->nlines == b->nids ? c->lines : NULL;
	}
	return NULL;
}

static bool slots_fit(struct line_pen *pen, uint32_t n)
{
	uint64_t *slots;

	if (n <= pen->nslots)
		return true;
	slots = mem_array(n, sizeof(*slots));
	if (!slots)
		return false;
	mem_free(pen->slots);
	pen->slots = slots;
	pen->nslots = n;
	return true;
}

/* Another block than the last one of the stream. */
static bool block_turn(struct line_pen *pen, const struct spur_event *row, struct line_block *b)
{
	b->of.size = b->bound = 0;
	if (!pen->source->block(pen->trace, row, pen->words->flat, &b->of)) {
		b->of.size = 0;
		return false;
	}
	b->key = ++pen->turns << LINE_ID_BITS;
	/* All bits of a number say that the event has another form. */
	b->nids = b->of.nids < b->of.id_mask ? b->of.nids : b->of.id_mask;
	b->lines = b->of.nids ? class_lines(pen, &b->of) : NULL;
	if (b->lines && slots_fit(pen, b->of.nslots) && b->of.size > b->of.head)
		b->bound = b->of.size - b->of.head;
	return b->bound;
}

/* The program of a class that has none yet; `line_none` too is kept. */
static const struct line_program *line_new(struct line_pen *pen, const struct line_block *b,
					   uint32_t id)
{
	const struct byte_value *steps = pen->source->steps(&b->of, id, pen->words->flat);

	if (steps)
		b->lines[id] = line_compile(pen, steps);
	return steps ? b->lines[id] : NULL;
}

bool line_find_slow(struct line_pen *pen, const struct spur_event *row, struct line_at *at)
{
	struct line_block *b = &pen->blocks[row->stream % LINE_BLOCKS];
	uint64_t off = row->off - b->of.low;
	const struct line_program *l;
	const uint8_t *p;
	uint32_t id;

	if (row->kind >= SPUR_LOST)
		return false;
	if (off >= b->bound || b->of.stream != row->stream) {
		/* Blocks whose events are all decoded are not asked for again. */
		if ((off < b->of.size && b->of.stream == row->stream) || !block_turn(pen, row, b))
			return false;
		off = row->off - b->of.low;
		if (off >= b->bound)
			return false;
	}
	p = b->of.data + off;
	id = load16(p, order_swaps(false)) & b->of.id_mask;
	if (id >= b->nids)
		return false;
	l = b->lines[id] ? b->lines[id] : line_new(pen, b, id);
	if (!l || !l->nsteps)
		return false;
	*at = (struct line_at){ l, b, p + b->of.head, id };
	return true;
}

static void index_make(const struct line_pen *pen, struct line_index *index, uint32_t i, uint32_t n)
{
	index->len = (uint8_t)(pen->words->index(pen->self, index->text, i, n) - index->text);
	assert(index->len <= LINE_INDEX_TEXT);
}

struct line_pen *line_pen_new(struct spur_trace *t, const struct line_words *words,
			      const void *self)
{
	struct line_pen *pen = t->format->bytes ? mem_alloc(sizeof(*pen)) : NULL;

	if (!pen)
		return NULL;
	pen->trace = t;
	pen->source = t->format->bytes;
	pen->words = words;
	pen->self = self;
	arena_init(&pen->arena);
	out_to_memory(&pen->scratch);
	for (uint32_t i = 0; i < LINE_ELEMENTS; i++)
		index_make(pen, &pen->before[i], i, i + 1);
	index_make(pen, &pen->behind[0], 0, 0);
	index_make(pen, &pen->behind[1], 1, 1);
	return pen;
}

void line_pen_free(struct line_pen *pen)
{
	if (!pen)
		return;
	for (unsigned i = 0; i < LINE_CLASSES; i++)
		mem_free(pen->classes[i].lines);
	mem_free(pen->slots);
	arena_free(&pen->arena);
	spur_args_free(&pen->args);
	out_free(&pen->scratch);
	mem_free(pen);
}

void line_pens_open(struct line_pens *pens, struct spur_trace *t, const struct line_words *words,
		    const void *self)
{
	*pens = (struct line_pens){ .trace = t, .words = words, .self = self };
	pthread_mutex_init(&pens->lock, NULL);
}

void line_pens_close(struct line_pens *pens)
{
	for (struct line_pen *pen = pens->first, *next; pen; pen = next) {
		next = pen->next;
		line_pen_free(pen);
	}
	pens->first = NULL;
	pthread_mutex_destroy(&pens->lock);
}

struct line_pen *line_pens_take(struct line_pens *pens)
{
	struct line_pen *pen;

	if (!pens->trace || !pens->trace->format->bytes)
		return NULL;
	pthread_mutex_lock(&pens->lock);
	pen = pens->first;
	if (pen)
		pens->first = pen->next;
	pthread_mutex_unlock(&pens->lock);
	return pen ? pen : line_pen_new(pens->trace, pens->words, pens->self);
}

void line_pens_give(struct line_pens *pens, struct line_pen *pen)
{
	if (!pen)
		return;
	pthread_mutex_lock(&pens->lock);
	pen->next = pens->first;
	pens->first = pen;
	pthread_mutex_unlock(&pens->lock);
}
