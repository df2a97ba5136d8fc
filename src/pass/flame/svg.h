/*
 * The flame graph as one SVG file with its own script: zoom by click, search, keys. Opens from disk
 * in any browser.
 */
#ifndef SPUR_PASS_FLAME_SVG_H
#define SPUR_PASS_FLAME_SVG_H

#include "pass/fold/tree.h"

struct flame_svg {
	const struct spur_trace *trace;
	const struct groups *groups;
	const struct tree *tree; /* sorted */
	const uint64_t *weights; /* by node, ns */
	const char *root; /* NULL: everything */
};

/* Returns false if out of memory. */
bool flame_svg_write(const struct flame_svg *f, struct out *o);

#endif
