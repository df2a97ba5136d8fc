/* Arguments as text for people, and as JSON. The style of uftrace shows them in its own way. */
#ifndef SPUR_RENDER_VALUE_H
#define SPUR_RENDER_VALUE_H

#include <spur.h>

#include "base/out.h"

/* How a pass writes values, either text or JSON: each name is made once. Shared by all threads. */
struct values {
	const struct spur_trace *trace;
	struct frag_table *names; /* by string id */
};

enum value_form { VALUE_TEXT, VALUE_JSON };
/* Returns false if out of memory. Requires values_close() in any case. */
bool values_open(struct values *w, const struct spur_trace *t, enum value_form form);
void values_close(struct values *w);

/*
 * One value: 42, 0x7ffd1000, 0644, 'c', 3.14, "text", NULL, RED|BLUE, &main, {x=1, y=2}, [1, 2],
 * point{0a 00 00 00}. Safe on a terminal and without line breaks. Unreliable values have a ? behind
 * them.
 */
void value_text(const struct values *w, const struct spur_value *v, struct out *o);
/*
 * The values with commas between them, `name=` in front of those with names that say more than
 * their place (`named`: all that have one): `1, "x", count=3`. Nothing if there are no arguments.
 */
void args_text_list(const struct values *w, const struct spur_args *args, bool named,
		    struct out *o);

/* One value as JSON: exact integers; floats that JSON has no number for as "nan", "inf", "-inf";
 * BYTES as lower-case hex text. */
void value_json(const struct values *w, const struct spur_value *v, struct out *o);
/*
 * All as an object in the given order, {} if empty; a name that comes again makes an
 * array of its values. Values without names are "arg1", "arg2" by their place; of an END "retval",
 * where it has but one.
 */
void args_json(const struct values *w, const struct spur_args *args, bool is_end, struct out *o);

#endif
