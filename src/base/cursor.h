/*
 * The bounded cursor: the only way untrusted bytes become values outside the measured hot loops. A
 * read past the end sets `bad`, returns 0 and moves nothing; callers may check once after several
 * reads.
 */
#ifndef SPUR_BASE_CURSOR_H
#define SPUR_BASE_CURSOR_H

#include "base/bits.h"

struct cursor {
	const uint8_t *p, *end;
	const uint8_t *start;
	bool swap; /* the data's byte order is not the machine's */
	bool bad; /* a read went past the end */
};

static inline struct cursor cursor_make(const void *data, size_t size, bool swap)
{
	const uint8_t *p = data;

	return (struct cursor){ .p = p, .end = p + size, .start = p, .swap = swap };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->p);
}

static inline size_t cursor_pos(const struct cursor *c)
{
	return (size_t)(c->p - c->start);
}

/* Returns the next `n` bytes and skips them, or NULL, and sets `bad`, if fewer are left. */
static inline const uint8_t *cursor_bytes(struct cursor *c, size_t n)
{
	const uint8_t *p = c->p;

	if (cursor_left(c) < n) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	return p;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 1);

	return p ? *p : 0;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 2);

	return p ? load16(p, c->swap) : 0;
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 4);

	return p ? load32(p, c->swap) : 0;
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 8);

	return p ? load64(p, c->swap) : 0;
}

#endif
