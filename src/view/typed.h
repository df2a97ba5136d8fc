/* Values of arguments as JSON that keeps their types, for a page that evaluates expressions. */
#ifndef SPUR_VIEW_TYPED_H
#define SPUR_VIEW_TYPED_H

#include <spur.h>

#include "base/out.h"

/* Returns true if the text of the value for people tells all of it: it is a decimal integer. */
bool typed_is_plain(const struct spur_value *v);
/*
 * Writes a value: null, a text, {"n":"12","l":"LABEL"} for a number and the label that it may have,
 * {"f":1.5,"s":4} for a float and its size, {"b":"0aff"} for bytes, {"m":[["name",VALUE]]} for
 * members, {"a":[VALUE]} for items.
 */
void typed_json(const struct spur_trace *t, const struct spur_value *v, struct out *o);

#endif
