/* Text of Graphviz's language DOT. */
#ifndef SPUR_RENDER_DOT_H
#define SPUR_RENDER_DOT_H

#include "base/out.h"

/*
 * Appends a part of a quoted string; in the label of a record (`record`), brackets and bars are
 * escaped too. Control bytes and bytes that are not UTF-8 are written as out_safe() does.
 */
void out_dot(struct out *o, const char *s, size_t len, bool record);

#endif
