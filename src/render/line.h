/*
 * Line programs: the arguments of events as text, made of the events' bytes (model/bytes.h) without
 * decoding them to values first. A program is compiled once per class of events and per way of
 * writing values: literal, number, literal, text, and so on. What it writes equals what the same
 * words make of decoded arguments; events that it cannot write are left to those.
 */
#ifndef SPUR_RENDER_LINE_H
#define SPUR_RENDER_LINE_H

#include <pthread.h>

#include "base/mem.h"
#include "base/out.h"
#include "model/bytes.h"

/* What stands between values. */
enum line_part {
	LINE_SCOPE, /* before the i-th structure of a whole scope: what divides it from others */
	LINE_ITEM, /* before the i-th member: a comma, its name */
	LINE_OPEN, /* before the first member of a structure */
	LINE_CLOSE, /* behind the last one of i */
};

enum {
	LINE_INDEX = 32, /* room for what stands before an element of an array */
	LINE_NUMBER = 80, /* room for a number */
	LINE_ELEMENTS = 24, /* of an array; longer ones are decoded */
	LINE_BLOCKS = 16, /* latest blocks, by stream */
	LINE_CLASSES = 8, /* of streams; events of others are decoded */
};

/* How a number is written. */
enum line_digits {
	LINE_DIGITS_DECIMAL,
	LINE_DIGITS_HEX, /* 0x and digits, without leading zeros */
	LINE_DIGITS_OTHER,
};

/* How one kind of output writes values. Used by several threads at once. */
struct line_words {
	bool flat; /* values without the structures of scopes */
	bool distinct; /* only structures whose members all have names, and different ones */
	bool high; /* bytes from 0x80 on stand in quoted text as they are */
	char odd[2]; /* need an escape in it, as quote, backslash and control characters do */
	/*
	 * Appends what stands between values; `name` is the string id of a LINE_ITEM. Returns false
	 * if programs cannot write such an item.
	 */
	bool (*part)(const void *self, enum line_part part, uint32_t i, uint32_t name,
		     struct out *o);
	/*
	 * Before element `i` of `n` > i, which does not depend on n; behind the last one if i == n,
	 * which is the same for all n > 0. Room: LINE_INDEX.
	 */
	char *(*index)(const void *self, char *w, uint32_t i, uint32_t n);
	/*
	 * Writes a number or a float; NULL: value() does. Which of both depends only on the value's
	 * template. Room: LINE_NUMBER.
	 */
	char *(*put)(char *w, const struct spur_value *v);
	/*
	 * Returns how put() writes numbers of this template. Of hexadecimal ones, *bits gets the
	 * bits that are written.
	 */
	enum line_digits (*digits)(const struct spur_value *v, unsigned *bits);
	bool upper; /* hexadecimal digits */
	/* Appends any value. */
	void (*value)(const void *self, const struct spur_value *v, struct out *o);
};

struct line_program {
	uint32_t nsteps; /* 0: events of this class have to be decoded */
	uint32_t items; /* values (or scopes) at the top of what it writes */
	/*
	 * What all its steps take, but for text and arrays. INVARIANT: the steps that are left have
	 * their part of it: after text and arrays there is room for all of it again.
	 */
	uint32_t room;
	const struct line_step *steps;
};

/* The programs of a class of streams, by the number of the event. NULL: not made yet. */
struct line_class {
	const void *class;
	const struct line_program **lines;
	uint32_t nlines;
};

struct line_block {
	struct byte_block of;
	const struct line_program **lines;
	uint64_t bound; /* offsets below have room for an event's head; 0: events are decoded */
	uint64_t key; /* of the event with the number 0: no other block of the pen's has it */
	uint32_t nids; /* only lower numbers have programs */
};

/* What stands before an element of an array, or behind the last one. */
struct line_index {
	char text[LINE_INDEX];
	uint8_t len;
};

/* What one thread needs: programs, slots, the latest blocks. */
struct line_pen {
	struct line_pen *next; /* in the list of unused ones */
	struct spur_trace *trace;
	const struct byte_source *source;
	const struct line_words *words;
	const void *self;
	uint64_t *slots;
	struct line_block blocks[LINE_BLOCKS];
	uint64_t turns; /* of blocks */
	struct line_class classes[LINE_CLASSES];
	struct line_index before[LINE_ELEMENTS]; /* elements */
	struct line_index behind[2]; /* the last one; [0]: of no elements */
	uint32_t nslots;
	size_t used; /* of LINE_MEMORY */
	struct arena arena;
	struct spur_args args; /* what labels refer to */
	struct out scratch;
};

/* An event that a program may write. */
struct line_at {
	const struct line_program *line;
	const struct line_block *block;
	const uint8_t *p; /* its fields */
	uint32_t id; /* its number in the block */
};

/* Returns NULL if out of memory, or if the trace's format offers no bytes. */
struct line_pen *line_pen_new(struct spur_trace *t, const struct line_words *words,
			      const void *self);
/* NULL is ignored. */
void line_pen_free(struct line_pen *pen);
/* Out of line half of line_find(). */
bool line_find_slow(struct line_pen *pen, const struct spur_event *row, struct line_at *at);
/*
 * Finds the program of the row's event. Returns false if its arguments have to be decoded. What
 * `at` points to is valid until the next call.
 */
static inline bool line_find(struct line_pen *pen, const struct spur_event *row, struct line_at *at)
{
	const struct line_block *b = &pen->blocks[row->stream % LINE_BLOCKS];
	const uint64_t off = row->off - b->of.low;

	if (__builtin_expect(row->kind < SPUR_LOST && off < b->bound && b->of.stream == row->stream,
			     1)) {
		const uint8_t *p = b->of.data + off;
		const uint32_t id = load16(p, order_swaps(false)) & b->of.id_mask;
		const struct line_program *l = id < b->nids ? b->lines[id] : NULL;

		if (__builtin_expect(l && l->nsteps, 1)) {
			*at = (struct line_at){ l, b, p + b->of.head, id };
			return true;
		}
	}
	return line_find_slow(pen, row, at);
}
/* Of the event's number and block, for texts that a caller keeps: never used again; not 0. */
static inline uint64_t line_key(const struct line_at *at)
{
	return at->block->key | at->id;
}
/*
 * Writes the event's arguments at `w`, which is in the room that `o` has; at->line->room bytes of
 * it are left. Returns their end, behind which LINE_NUMBER bytes of room are left. Returns NULL if
 * they have to be decoded instead, as where the event is damaged, or if out of memory: then
 * out_cut() takes back what was written, as nothing is flushed.
 */
char *line_put(struct line_pen *pen, const struct line_at *at, struct out *o, char *w);

/* Pens for threads that take one for a while. */
struct line_pens {
	pthread_mutex_t lock;
	struct line_pen *first;
	struct spur_trace *trace; /* NULL: line_pens_take() returns NULL */
	const struct line_words *words;
	const void *self;
};

void line_pens_open(struct line_pens *pens, struct spur_trace *t, const struct line_words *words,
		    const void *self);
void line_pens_close(struct line_pens *pens);
/* Returns an unused pen or a new one; NULL as line_pen_new(). */
struct line_pen *line_pens_take(struct line_pens *pens);
void line_pens_give(struct line_pens *pens, struct line_pen *pen);

#endif
