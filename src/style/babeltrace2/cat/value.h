/* Values in the words of babeltrace2's text output. */
#ifndef SPUR_STYLE_BABELTRACE2_CAT_VALUE_H
#define SPUR_STYLE_BABELTRACE2_CAT_VALUE_H

#include "model/trace.h"
#include "render/frag.h"
#include "render/line.h"

enum {
	VALUE_NUMBER = LINE_NUMBER, /* room for any number */
	VALUE_INDEXES = 64, /* places in arrays whose text is ready */
};

/* What writing values needs. Shared by all threads. */
struct pretty_values {
	const struct spur_trace *trace;
	struct frag_table *names; /* ", name = " by string id */
	char indexes[VALUE_INDEXES][FRAG_PIECE]; /* ", [7] = " */
	/* Of bytes in text: 0: none; 'x': hexadecimal; else what follows the backslash */
	uint8_t escapes[256];
};

/* Returns false if out of memory. Requires pretty_values_close() in any case. */
bool pretty_values_open(struct pretty_values *p, const struct spur_trace *t);
void pretty_values_close(struct pretty_values *p);

/*
 * Appends a structure or an array. `names`: of the members, and of what is in them. `depth`:
 * structures and arrays around it.
 */
void out_items(const struct pretty_values *p, const struct spur_value *v, struct out *o,
	       unsigned depth, bool names);
/* The same for programs, with names; `self` is the pretty_values. */
extern const struct line_words pretty_words;

static inline void out_short(struct out *o, const char *s, size_t len)
{
	char *w = out_room(o, len);

	if (w)
		out_to(o, put_text(w, s, len));
}

#define out_literal(o, s) out_short((o), (s), sizeof(s) - 1)

#endif
