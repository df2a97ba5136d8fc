/*
 * Frames of a stopped thread, by the tables that compilers make for exceptions (.eh_frame), read
 * from the memory of the process: the format is that of the LSB and of DWARF 4. Whatever is not
 * understood ends the walk with UNWIND_UNKNOWN.
 */
#include <string.h>

#include "recorder/attach.h"

enum {
	FRAME_MOST = 4096, /* bytes of an entry */
	STATES = 8, /* that are remembered */
	STACK = 16, /* of expressions */
	/* As record/hook/hook.h: where hooks keep return addresses. */
	MIRROR_BIT = 46,
	MIRROR_OFFSET = 0x840,
};

/* --- reading --- */

/* Bytes of an entry, copied. */
struct bytes {
	const uint8_t *p, *end;
	uint64_t at; /* the address of `p` in the process */
	bool bad; /* the end was passed */
};

static uint64_t number(struct bytes *b, unsigned size)
{
	uint64_t v = 0;

	if ((size_t)(b->end - b->p) < size) {
		b->bad = true;
		b->p = b->end;
		return 0;
	}
	memcpy(&v, b->p, size);
	b->p += size;
	b->at += size;
	return v;
}

static int64_t signed_number(struct bytes *b, unsigned size)
{
	const uint64_t v = number(b, size), sign = UINT64_C(1) << (8 * size - 1);

	return (int64_t)((v ^ sign) - sign);
}

/* Reads a LEB128 number; a `sign` in its last byte fills the bits above. */
static uint64_t leb(struct bytes *b, bool sign)
{
	uint64_t v = 0, byte;
	unsigned shift = 0;

	do {
		byte = number(b, 1);
		if (shift < 64)
			v |= (byte & 0x7F) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (sign && shift < 64 && byte & 0x40)
		v |= ~UINT64_C(0) << shift;
	return v;
}

static uint64_t uleb(struct bytes *b)
{
	return leb(b, false);
}

static int64_t sleb(struct bytes *b)
{
	return (int64_t)leb(b, true);
}

/* A pointer in an encoding (DW_EH_PE_*). Indirect ones are read as they stand. */
static uint64_t pointer(struct bytes *b, uint8_t encoding)
{
	const uint64_t base = (encoding & 0x70) == 0x10 ? b->at : 0;

	if ((encoding & 0x70) != 0 && (encoding & 0x70) != 0x10)
		b->bad = true;
	switch (encoding & 0x0F) {
	case 0:
	case 4:
	case 12:
		return base + number(b, 8);
	case 1:
		return base + uleb(b);
	case 2:
		return base + number(b, 2);
	case 3:
		return base + number(b, 4);
	case 9:
		return base + (uint64_t)sleb(b);
	case 10:
		return base + (uint64_t)signed_number(b, 2);
	case 11:
		return base + (uint64_t)signed_number(b, 4);
	default:
		b->bad = true;
		return 0;
	}
}

/* --- entries --- */

struct entry {
	uint8_t data[FRAME_MOST];
	struct bytes body;
	uint64_t at; /* the address of its id */
	uint32_t id;
};

/* Reads an entry at an address. Returns false if it is missing. */
static bool entry_read(const struct target *t, uint64_t at, struct entry *e)
{
	uint32_t head[2];

	if (!target_read(t, at, head, sizeof(head)) || head[0] < 4 ||
	    head[0] - 4 > sizeof(e->data) ||
	    !target_read(t, at + sizeof(head), e->data, head[0] - 4))
		return false;
	e->at = at + 4;
	e->id = head[1];
	e->body = (struct bytes){ e->data, e->data + head[0] - 4, at + sizeof(head), false };
	return true;
}

/* What the CIE of a function says. */
struct common {
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t encoding;
	bool is_signal, is_augmented;
	struct bytes program;
};

static bool common_read(struct entry *e, struct common *c)
{
	struct bytes *const b = &e->body;
	const uint64_t version = number(b, 1);
	const char *augmentation = (const char *)b->p;
	uint64_t size;

	while (!b->bad && number(b, 1))
		;
	if (e->id || (version != 1 && version != 3) || b->bad)
		return false;
	*c = (struct common){ .code_factor = uleb(b), .encoding = 0 };
	c->data_factor = sleb(b);
	if (uleb(b) != UNWIND_PC)
		return false;
	if (*augmentation == 'z') {
		const uint8_t *end;

		c->is_augmented = true;
		size = uleb(b);
		if (b->bad || size > (size_t)(b->end - b->p))
			return false;
		end = b->p + size;
		while (*++augmentation && !b->bad)
			if (*augmentation == 'R')
				c->encoding = (uint8_t)number(b, 1);
			else if (*augmentation == 'P')
				pointer(b, (uint8_t)number(b, 1) & 0x1F);
			else if (*augmentation == 'L')
				number(b, 1);
			else if (*augmentation == 'S')
				c->is_signal = true;
			else
				break;
		b->at += (uint64_t)(end - b->p);
		b->p = end;
	} else if (*augmentation) {
		return false;
	}
	c->program = *b;
	return !b->bad;
}

/* The function's entry, by the sorted table of .eh_frame_hdr. Returns its address, or 0. */
static uint64_t table_find(const struct target *t, const struct target_module *m, uint64_t pc)
{
	uint8_t head[4];
	int32_t words[2];
	uint32_t n, low = 0, high;

	/* Version 1, a pointer of 4 bytes, a count of 4 bytes, entries of 2 × 4 from the head. */
	if (m->frames_size < 12 || !target_read(t, m->frames, head, sizeof(head)) || head[0] != 1 ||
	    (head[1] & 0x0F) != 0x0B || head[2] != 0x03 || head[3] != 0x3B ||
	    !target_read(t, m->frames + 8, &n, sizeof(n)) || n > (m->frames_size - 12) / 8)
		return 0;
	high = n;
	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;

		if (!target_read(t, m->frames + 12 + 8 * (uint64_t)mid, words, sizeof(words)))
			return 0;
		if (m->frames + (uint64_t)(int64_t)words[0] <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || !target_read(t, m->frames + 12 + 8 * (uint64_t)(low - 1), words, sizeof(words)))
		return 0;
	return m->frames + (uint64_t)(int64_t)words[1];
}

/* --- rules --- */

enum how { HOW_SAME, HOW_UNDEFINED, HOW_AT, HOW_IS, HOW_REGISTER, HOW_EXPRESSION, HOW_VALUE };

struct unwind_rule {
	enum how how;
	int64_t offset; /* from the frame, or a register's number */
	struct bytes expression;
};

struct rules_row {
	struct unwind_rule regs[UNWIND_REGS];
	struct unwind_rule frame; /* HOW_IS: a register and `offset`; HOW_VALUE */
	unsigned frame_register;
};

struct machine {
	const struct unwind *u;
	struct common common;
	struct rules_row row, first, saved[STATES];
	unsigned nsaved;
	bool bad;
};

static void set(struct machine *m, uint64_t reg, enum how how, int64_t offset)
{
	/* Others hold vectors, which no frame needs. */
	if (reg < UNWIND_REGS)
		m->row.regs[reg] = (struct unwind_rule){ .how = how, .offset = offset };
}

static struct bytes block(struct bytes *b)
{
	const uint64_t size = uleb(b);
	struct bytes found = *b;

	if (b->bad || size > (size_t)(b->end - b->p)) {
		b->bad = true;
		return found;
	}
	found.end = b->p + size;
	b->p += size;
	b->at += size;
	return found;
}

static void set_block(struct machine *m, uint64_t reg, enum how how, struct bytes expression)
{
	if (reg < UNWIND_REGS)
		m->row.regs[reg] = (struct unwind_rule){ .how = how, .expression = expression };
}

/* Instructions that define the frame. Returns false if it is another one. */
static bool run_frame(struct machine *m, struct bytes *b, uint8_t op)
{
	struct rules_row *const row = &m->row;

	switch (op) {
	case 0x0c: /* def_cfa */
	case 0x12: /* def_cfa_sf */
		row->frame.how = HOW_IS;
		row->frame_register = (unsigned)uleb(b);
		row->frame.offset = op == 0x0c ? (int64_t)uleb(b) : sleb(b) * m->common.data_factor;
		return true;
	case 0x0d: /* def_cfa_register */
		row->frame_register = (unsigned)uleb(b);
		return true;
	case 0x0e: /* def_cfa_offset */
		row->frame.offset = (int64_t)uleb(b);
		return true;
	case 0x13: /* def_cfa_offset_sf */
		row->frame.offset = sleb(b) * m->common.data_factor;
		return true;
	case 0x0f: /* def_cfa_expression */
		row->frame.how = HOW_VALUE;
		row->frame.expression = block(b);
		return true;
	default:
		return false;
	}
}

/* Instructions that say where a register is. Returns false if it is another one. */
static bool run_register(struct machine *m, struct bytes *b, uint8_t op)
{
	const int64_t factor = m->common.data_factor;
	uint64_t reg;

	if (op < 0x05 || op > 0x16 || op == 0x0a || op == 0x0b)
		return false;
	reg = uleb(b);
	switch (op) {
	case 0x05: /* offset_extended */
		set(m, reg, HOW_AT, (int64_t)uleb(b) * factor);
		return true;
	case 0x06: /* restore_extended */
		if (reg < UNWIND_REGS)
			m->row.regs[reg] = m->first.regs[reg];
		return true;
	case 0x07: /* undefined */
		set(m, reg, HOW_UNDEFINED, 0);
		return true;
	case 0x08: /* same_value */
		set(m, reg, HOW_SAME, 0);
		return true;
	case 0x09: /* register */
		set(m, reg, HOW_REGISTER, (int64_t)uleb(b));
		return true;
	case 0x10: /* expression */
		set_block(m, reg, HOW_EXPRESSION, block(b));
		return true;
	case 0x11: /* offset_extended_sf */
		set(m, reg, HOW_AT, sleb(b) * factor);
		return true;
	case 0x14: /* val_offset */
		set(m, reg, HOW_IS, (int64_t)uleb(b) * factor);
		return true;
	case 0x15: /* val_offset_sf */
		set(m, reg, HOW_IS, sleb(b) * factor);
		return true;
	case 0x16: /* val_expression */
		set_block(m, reg, HOW_VALUE, block(b));
		return true;
	default:
		return false;
	}
}

/* Returns by how much the place moves on. */
static uint64_t run_other(struct machine *m, struct bytes *b, uint8_t op)
{
	const uint64_t factor = m->common.code_factor;

	switch (op) {
	case 0x00: /* nop */
		return 0;
	case 0x02: /* advance_loc1 */
		return number(b, 1) * factor;
	case 0x03: /* advance_loc2 */
		return number(b, 2) * factor;
	case 0x04: /* advance_loc4 */
		return number(b, 4) * factor;
	case 0x0a: /* remember_state */
		if (m->nsaved < STATES)
			m->saved[m->nsaved++] = m->row;
		else
			m->bad = true;
		return 0;
	case 0x0b: /* restore_state */
		if (m->nsaved)
			m->row = m->saved[--m->nsaved];
		else
			m->bad = true;
		return 0;
	case 0x2e: /* GNU_args_size */
		uleb(b);
		return 0;
	default:
		m->bad = true;
		return 0;
	}
}

/* Runs the instructions that hold at `pc`; those of a function begin at `at`. */
static void run(struct machine *m, struct bytes b, uint64_t at, uint64_t pc)
{
	while (b.p < b.end && !b.bad && !m->bad) {
		const uint8_t op = (uint8_t)number(&b, 1), low = op & 0x3F;

		switch (op >> 6) {
		case 1: /* advance_loc */
			at += low * m->common.code_factor;
			break;
		case 2: /* offset */
			set(m, low, HOW_AT, (int64_t)uleb(&b) * m->common.data_factor);
			break;
		case 3: /* restore */
			if (low < UNWIND_REGS)
				m->row.regs[low] = m->first.regs[low];
			break;
		default:
			if (op == 0x01) /* set_loc */
				at = pointer(&b, m->common.encoding);
			else if (!run_frame(m, &b, op) && !run_register(m, &b, op))
				at += run_other(m, &b, op);
		}
		if (at > pc)
			break;
	}
	m->bad |= b.bad;
}

/* --- values --- */

struct stack {
	uint64_t v[STACK];
	unsigned n;
	bool bad;
};

static void push(struct stack *s, uint64_t v)
{
	if (s->n < STACK)
		s->v[s->n++] = v;
	else
		s->bad = true;
}

static uint64_t pop(struct stack *s)
{
	if (s->n)
		return s->v[--s->n];
	s->bad = true;
	return 0;
}

/* Operations of two values. Returns false if it is another one. */
static bool evaluate_two(struct stack *s, uint8_t op)
{
	uint64_t b, a;

	if (op != 0x1a && op != 0x1c && op != 0x1e && op != 0x21 && op != 0x22 && op != 0x24 &&
	    op != 0x25 && op != 0x27 && (op < 0x29 || op > 0x2e))
		return false;
	b = pop(s);
	a = pop(s);
	switch (op) {
	case 0x1a:
		push(s, a & b);
		break;
	case 0x1c:
		push(s, a - b);
		break;
	case 0x1e:
		push(s, a * b);
		break;
	case 0x21:
		push(s, a | b);
		break;
	case 0x22:
		push(s, a + b);
		break;
	case 0x24:
		push(s, b < 64 ? a << b : 0);
		break;
	case 0x25:
		push(s, b < 64 ? a >> b : 0);
		break;
	case 0x27:
		push(s, a ^ b);
		break;
	case 0x29:
		push(s, a == b);
		break;
	case 0x2a:
		push(s, (int64_t)a >= (int64_t)b);
		break;
	case 0x2b:
		push(s, (int64_t)a > (int64_t)b);
		break;
	case 0x2c:
		push(s, (int64_t)a <= (int64_t)b);
		break;
	case 0x2d:
		push(s, (int64_t)a < (int64_t)b);
		break;
	default:
		push(s, a != b);
	}
	return true;
}

static void evaluate_one(const struct unwind *u, struct stack *s, struct bytes *b, uint8_t op)
{
	uint64_t v;

	if (op >= 0x30 && op <= 0x4f) { /* lit */
		push(s, op - 0x30u);
	} else if (op >= 0x70 && op <= 0x8f) { /* breg */
		v = (uint64_t)sleb(b);
		push(s, op - 0x70u < UNWIND_REGS ? u->regs[op - 0x70u] + v : 0);
		s->bad |= op - 0x70u >= UNWIND_REGS;
	} else if (op >= 0x08 && op <= 0x0f) { /* const */
		const unsigned size = 1u << ((op - 0x08) / 2);

		push(s, op & 1 ? (uint64_t)signed_number(b, size) : number(b, size));
	} else if (op == 0x10) {
		push(s, uleb(b));
	} else if (op == 0x11) {
		push(s, (uint64_t)sleb(b));
	} else if (op == 0x12) { /* dup */
		v = pop(s);
		push(s, v);
		push(s, v);
	} else if (op == 0x06) { /* deref */
		if (target_read(u->target, pop(s), &v, sizeof(v)))
			push(s, v);
		else
			s->bad = true;
	} else if (op == 0x23) { /* plus_uconst */
		v = pop(s);
		push(s, v + uleb(b));
	} else if (!evaluate_two(s, op)) {
		s->bad = true;
	}
}

/* Returns false if the expression is not understood. `begin`: what is on the stack first. */
static bool evaluate(const struct unwind *u, struct bytes b, const uint64_t *begin, uint64_t *value)
{
	struct stack s = { 0 };

	if (begin)
		push(&s, *begin);
	while (b.p < b.end && !b.bad && !s.bad)
		evaluate_one(u, &s, &b, (uint8_t)number(&b, 1));
	*value = pop(&s);
	return !s.bad && !b.bad;
}

/* --- a step --- */

/* Returns false if a register's value cannot be found. */
static bool apply(const struct unwind *u, const struct unwind_rule *r, unsigned reg, uint64_t frame,
		  uint64_t *value)
{
	uint64_t at = frame + (uint64_t)r->offset;

	switch (r->how) {
	case HOW_SAME:
		*value = reg == UNWIND_SP ? frame : u->regs[reg];
		return true;
	case HOW_UNDEFINED:
		*value = 0;
		return true;
	case HOW_IS:
		*value = at;
		return true;
	case HOW_REGISTER:
		*value = (uint64_t)r->offset < UNWIND_REGS ? u->regs[r->offset] : 0;
		return (uint64_t)r->offset < UNWIND_REGS;
	case HOW_EXPRESSION:
		return evaluate(u, r->expression, &frame, &at) &&
		       target_read(u->target, at, value, sizeof(*value));
	case HOW_VALUE:
		return evaluate(u, r->expression, &frame, value);
	default:
		return target_read(u->target, at, value, sizeof(*value));
	}
}

static enum unwind_status rules_apply(struct unwind *u, const struct rules_row *row)
{
	uint64_t frame, regs[UNWIND_REGS];

	if (row->frame.how == HOW_VALUE) {
		if (!evaluate(u, row->frame.expression, NULL, &frame))
			return UNWIND_UNKNOWN;
	} else if (row->frame.how == HOW_IS && row->frame_register < UNWIND_REGS) {
		frame = u->regs[row->frame_register] + (uint64_t)row->frame.offset;
	} else {
		return UNWIND_UNKNOWN;
	}
	if (row->regs[UNWIND_PC].how == HOW_UNDEFINED)
		return UNWIND_END;
	/* Callers lie above, so the walk ends. */
	if (frame <= u->regs[UNWIND_SP] && !u->is_signal)
		return UNWIND_UNKNOWN;
	for (unsigned i = 0; i < UNWIND_REGS; i++)
		if (!apply(u, &row->regs[i], i, frame, &regs[i]))
			return UNWIND_UNKNOWN;
	memcpy(u->regs, regs, sizeof(regs));
	return regs[UNWIND_PC] ? UNWIND_FRAME : UNWIND_END;
}

/* The return address of a call that was hooked is in the mirror of the place where it was. */
static bool mirror_read(struct unwind *u)
{
	const uint64_t slot = u->regs[UNWIND_SP] - 8;
	const uint64_t at = (slot ^ UINT64_C(1) << MIRROR_BIT) + MIRROR_OFFSET;
	const struct target_map *const map = target_map_at(u->target, u->regs[UNWIND_PC]);
	struct target_module *m;

	if (!map || !map->executable)
		return false;
	m = target_module_at(u->target, u->regs[UNWIND_PC]);
	if (m && !m->is_recorder)
		return true;
	return target_read(u->target, at, &u->regs[UNWIND_PC], sizeof(uint64_t));
}

enum unwind_status unwind_step(struct unwind *u)
{
	const uint64_t pc = u->regs[UNWIND_PC] - u->is_call;
	const struct target_module *const mod = target_module_at(u->target, pc);
	struct entry e, c;
	struct machine m = { .u = u };
	uint64_t at, first, size;
	enum unwind_status st;

	if (!mod || !(at = table_find(u->target, mod, pc)) || !entry_read(u->target, at, &e) ||
	    !e.id || !entry_read(u->target, e.at - e.id, &c) || !common_read(&c, &m.common))
		return UNWIND_UNKNOWN;
	first = pointer(&e.body, m.common.encoding);
	size = pointer(&e.body, m.common.encoding & 0x0F);
	if (e.body.bad || pc - first >= size)
		return UNWIND_UNKNOWN;
	if (m.common.is_augmented)
		block(&e.body);
	run(&m, m.common.program, first, UINT64_MAX);
	m.first = m.row;
	run(&m, e.body, first, pc);
	if (m.bad)
		return UNWIND_UNKNOWN;
	u->is_signal |= m.common.is_signal;
	u->is_call = !m.common.is_signal;
	st = rules_apply(u, &m.row);
	return st == UNWIND_FRAME && !mirror_read(u) ? UNWIND_UNKNOWN : st;
}
