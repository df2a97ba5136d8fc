/*
 * How to unwind through thunks, which enter.S draws. Calls return to thunks, and a signal handler
 * may interrupt one anywhere; so each of their instructions has a rule. An area has one table for
 * each rule, in the form of .eh_frame, and the unwinder gets that of the address it asks for.
 *
 * S is where the caller's return address is when the thunk is entered:
 *
 *	thunk of a function	rsp	return address	rule
 *	push $word		S	at S		HOOK_AT_CALL
 *	call hook_enter		S - 8	at S		HOOK_AT_PUSHED
 *	jc 1f			?	?		HOOK_AT_DECISION
 *	call body		S + 8	in the mirror	HOOK_AT_RETURN
 *	push $0			S + 8	in the mirror	HOOK_AT_RETURN
 *	jmp hook_exit		S	in the mirror	HOOK_AT_EXIT
 *	1: jmp body		S	at S		HOOK_AT_CALL
 *
 * In a thunk for a call of mcount, S is rbp + 8, up to its `call 1f` and from 1: on
 * (HOOK_AT_FRAME). An island where a hook is called is as the hook is when it is entered
 * (HOOK_AT_CALL), or as the jump of a thunk to it (HOOK_AT_EXIT).
 */
#include "hook.h"

/* Operations of DWARF, as far as the rules need them. */
enum {
	CFA_AT = 0x0C,
	CFA_IS = 0x0F,
	SAVED_AT = 0x10,
	IS_VALUE = 0x16,
	SAVED_BELOW_CFA = 0x80,
	DEREF = 0x06,
	AND = 0x1A,
	MINUS = 0x1C,
	PLUS = 0x22,
	SHIFT = 0x24,
	BRANCH = 0x28,
	EQUAL = 0x29,
	UNEQUAL = 0x2E,
	NUMBER = 0x30,
	RSP_PLUS = 0x77,
	RBP = 6,
	RSP = 7,
	RET = 16,
};

#define SIGNED(offset) ((offset) & 0x7F)
/* From an address on the stack to its place in the mirror, as hook_mirror(): 13 bytes. */
#define TO_MIRROR 0x0E, 0, 0, 0, 0, 0, 0x40, 0, 0, 0x27, 0x23, 0xC0, 0x10
/*
 * At HOOK_AT_DECISION, hook_enter has returned, and left S or dropped it. What it dropped is below
 * rsp, where handlers do not write: at rsp - 16 is the word if S was dropped, whose low digit is 4,
 * else the address in the thunk, whose low digit is 10.
 */
#define LOW_DIGIT RSP_PLUS, SIGNED(-16), DEREF, NUMBER + 15, AND

#define RULE(...) { sizeof((uint8_t[]){ __VA_ARGS__ }), { __VA_ARGS__ } }

static const struct rule {
	uint8_t size;
	uint8_t bytes[HOOK_RULE_MOST];
} rules[HOOK_RULES] = {
	[HOOK_AT_CALL] = RULE(CFA_AT, RSP, 8, SAVED_BELOW_CFA | RET, 1),
	[HOOK_AT_PUSHED] = RULE(CFA_AT, RSP, 16, SAVED_BELOW_CFA | RET, 1),
	[HOOK_AT_FRAME] = RULE(CFA_AT, RBP, 16, SAVED_BELOW_CFA | RET, 1, SAVED_BELOW_CFA | RBP, 2),
	[HOOK_AT_DECISION] = RULE(CFA_IS, 12, RSP_PLUS, 8, LOW_DIGIT, NUMBER + 4, EQUAL,
				  NUMBER + 3, SHIFT, MINUS, SAVED_AT, RET, 25, NUMBER + 8, MINUS,
				  LOW_DIGIT, NUMBER + 4, UNEQUAL, BRANCH, 13, 0, TO_MIRROR),
	/* The frame is at rsp - 1, as hook_ret says in enter.S. */
	[HOOK_AT_RETURN] = RULE(CFA_IS, 2, RSP_PLUS, SIGNED(-1), SAVED_AT, RET, 15, NUMBER + 7,
				MINUS, TO_MIRROR, IS_VALUE, RSP, 2, NUMBER + 1, PLUS),
	[HOOK_AT_EXIT] = RULE(CFA_AT, RSP, 8, SAVED_AT, RET, 15, NUMBER + 8, MINUS, TO_MIRROR),
};

static uint8_t *put(uint8_t *at, const void *from, size_t size)
{
	memcpy(at, from, size);
	return at + size;
}

static uint8_t *put32(uint8_t *at, uint64_t v)
{
	const uint32_t low = (uint32_t)v;

	return put(at, &low, sizeof(low));
}

/*
 * One description for the whole area. Only where calls return to is the personality asked: there
 * the innermost call is the thunk's own.
 */
static void table_write(struct hook_table *t, enum hook_rule rule, const uint64_t range[2])
{
	/* Version 1, augmentation, alignments, return address, size of the augmentation's data. */
	static const uint8_t plain[] = { 1, 'z', 0, 1, 0x78, RET, 0 };
	/* 9 bytes: a pointer to the personality. */
	static const uint8_t asked[] = { 1, 'z', 'P', 0, 1, 0x78, RET, 9, 0 };
	const uint64_t personality = (uint64_t)hook_personality, frames = (uint64_t)t->frames;
	const struct rule *const r = &rules[rule];
	uint8_t *p = t->frames + 8;

	if (rule == HOOK_AT_RETURN) {
		p = put(p, asked, sizeof(asked));
		p = put(p, &personality, sizeof(personality));
	} else {
		p = put(p, plain, sizeof(plain));
	}
	memcpy(p, r->bytes, r->size);
	/* Bytes that a rule does not fill are nops. */
	p += HOOK_RULE_MOST;
	put32(put32(t->frames, (uint64_t)(p - t->frames) - 4), 0);
	p = put32(p, 4 + 2 * sizeof(*range) + 4);
	p = put32(p, (uint64_t)(p - t->frames));
	put(p, range, 2 * sizeof(*range));
	/* A head as that of .eh_frame_hdr without a table: version, encodings, address. */
	t->head[0] = 1;
	t->head[1] = 0;
	t->head[2] = t->head[3] = 0xFF;
	memcpy(t->head + 4, &frames, sizeof(frames));
}

void hook_frames_write(struct hook_area *a)
{
	const uint64_t range[] = { a->first, a->end - a->first };

	for (unsigned i = 0; i < HOOK_RULES; i++)
		table_write(&a->tables[i], i, range);
}

const uint8_t *hook_frames(const struct hook_area *a, uint64_t address)
{
	return a->tables[hook_thunk_rule(a, address)].head;
}
