/*
 * The flame graph as one SVG file with its own script: zoom by click, search, keys. Opens from disk
 * in any browser.
 */
#ifndef SPUR_PASS_FLAME_SVG_H
#define SPUR_PASS_FLAME_SVG_H

#include "pass/fold/tree.h"

struct flame_svg {
	const char *name; /* a path: the title, of a single graph its last part */
	const struct groups *groups;
	const struct tree *tree; /* sorted */
	const uint64_t *weights; /* by node, ns */
	const char *root; /* NULL: everything */
	/*
	 * What it is compared with: colors tell how the self time changed. The nodes have the
	 * places of those in `tree`; ns like `weights`. NULL: nothing.
	 */
	const char *name_before;
	const struct tree_node *before;
	const uint64_t *weights_before;
};

/* Returns false if out of memory. */
bool flame_svg_write(const struct flame_svg *f, struct out *o);

#endif
