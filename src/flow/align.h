/*
 * Clocks related by events that two traces have in common (spur_options.align). The traces are read
 * for this on their own, before the joined trace is.
 */
#ifndef SPUR_FLOW_ALIGN_H
#define SPUR_FLOW_ALIGN_H

#include "base/text.h"
#include "model/trace.h"

/*
 * Maps times of part `i` of the joined trace `t` to those of part 0 by what spur_options.align says
 * of it. Returns SPUR_WARN, with nothing changed, if that says nothing; SPUR_FAIL if the traces
 * cannot be read again, an event is missing, or no match is certain.
 */
enum spur_status align_part(struct spur_trace *t, size_t i, struct spur_error *err);

/*
 * Returns what follows "N:" in an item of spur_options.align; *trace gets N - 1, or SIZE_MAX if
 * there is no number.
 */
const char *align_item(const char *text, size_t *trace);

/*
 * Splits "A=B" at the first "=", or, if both halves are equal, in the middle. Returns false if
 * either is empty or there is no "=". The texts are those of the item.
 */
bool align_split(const char *text, struct text *a, struct text *b);

#endif
