/* Arguments as text for people, and as JSON. The style of uftrace shows them in its own way. */
#ifndef SPUR_RENDER_VALUE_H
#define SPUR_RENDER_VALUE_H

#include <spur.h>

#include "base/out.h"
#include "render/line.h"

/* Writes values, either as text or as JSON. Each name is made once. Shared by all threads. */
struct value_writer {
	const struct spur_trace *trace;
	struct frag_table *names; /* by string id */
};

enum value_form { VALUE_TEXT, VALUE_JSON };
/* Returns false if out of memory. Requires value_writer_close() in any case. */
bool value_writer_open(struct value_writer *w, const struct spur_trace *t, enum value_form form);
void value_writer_close(struct value_writer *w);

/*
 * Writes one value: 42, 0x7ffd1000, 0644, 'c', 3.14, "text", NULL, RED|BLUE, &main, {x=1, y=2},
 * [1, 2], point{0a 00 00 00}. The text is safe on a terminal and has no line breaks; a ? follows
 * unreliable values.
 */
void value_text(const struct value_writer *w, const struct spur_value *v, struct out *o);
/*
 * Writes the values with commas between them, and `name=` before those with names that say more
 * than their place (`named`: before all with a name): `1, "x", count=3`. Writes nothing if there
 * are no arguments.
 */
void args_text_list(const struct value_writer *w, const struct spur_args *args, bool named,
		    struct out *o);

/*
 * Writes one value as JSON: exact integers; "nan", "inf", "-inf" for floats that JSON cannot
 * represent; BYTES as lower-case hexadecimal text.
 */
void value_json(const struct value_writer *w, const struct spur_value *v, struct out *o);
/*
 * Writes all values as an object in the given order, {} if empty; the values of a repeated name
 * form an array. Values without names are "arg1", "arg2" by their place, or "retval" if an END has
 * only one.
 */
void args_json(const struct value_writer *w, const struct spur_args *args, bool is_end,
	       struct out *o);

/*
 * The same for programs (render/line.h), of the arguments of a row: as args_text_list() without
 * `named`, and as args_json() without the braces. `self` is the value_writer.
 */
extern const struct line_words value_text_words, value_json_words;

#endif
