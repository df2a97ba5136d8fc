/*
 * Line programs: the arguments of events as text, made of the events' bytes (model/bytes.h) without
 * decoding them to values first. A program is compiled once per class of events and per way of
 * writing values: literal, number, literal, text, and so on. What it writes equals what the same
 * words make of decoded arguments; events that it cannot write are left to those.
 */
#ifndef SPUR_RENDER_LINE_H
#define SPUR_RENDER_LINE_H

#include <pthread.h>

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

struct line_program;
/* What one thread needs: programs, slots, the latest blocks. */
struct line_pen;

/* An event that a program may write. */
struct line_at {
	const struct line_program *line;
	const struct byte_block *block;
	const uint8_t *p; /* its fields */
	uint64_t key; /* of its number and block, for texts that a caller keeps: never used again */
	uint32_t id; /* its number in the block */
	uint32_t room; /* that line_put() needs */
	uint32_t items; /* values (or scopes) at the top of what it writes */
};

/* Returns NULL if out of memory, or if the trace's format offers no bytes. */
struct line_pen *line_pen_new(struct spur_trace *t, const struct line_words *words,
			      const void *self);
/* NULL is ignored. */
void line_pen_free(struct line_pen *pen);
/*
 * Finds the program of the row's event. Returns false if its arguments have to be decoded. What
 * `at` points to is valid until the next call.
 */
bool line_find(struct line_pen *pen, const struct spur_event *row, struct line_at *at);
/*
 * Writes the event's arguments at `w`, which is in the room that `o` has; at->room bytes of it are
 * left. Returns their end, behind which LINE_NUMBER bytes of room are left. Returns NULL if they
 * have to be decoded instead, as where the event is damaged, or if out of memory: then out_cut()
 * takes back what was written, as nothing is flushed.
 */
char *line_put(struct line_pen *pen, const struct line_at *at, struct out *o, char *w);
/* The same to the end of `o`. Returns false with nothing appended if there is nothing. */
bool line_write(struct line_pen *pen, const struct line_at *at, struct out *o);

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
