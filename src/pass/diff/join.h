/*
 * Two inputs as one table: functions are paired by name, and by module and category where these
 * tell functions of one name apart; call paths by the functions on them.
 */
#ifndef SPUR_PASS_DIFF_JOIN_H
#define SPUR_PASS_DIFF_JOIN_H

#include "pass/diff/side.h"

struct diff_row {
	const struct diff_values *of[2]; /* NULL: not in this input */
	uint32_t func; /* into groups */
	uint32_t node; /* by path: in the tree */
	uint32_t place; /* by path: its place among all paths in alphabetical order */
	bool compared; /* `change` is known */
	struct dist_change change;
};

/* Zero-initialise. The sides outlive it. */
struct diff_join {
	struct groups groups; /* the functions of both; without classes and indexes */
	struct diff_row *rows;
	size_t n;
	size_t nrows; /* elements of `rows`, and by path of the other arrays */
	/* By path: */
	struct tree tree; /* with the values of the second input */
	struct tree_node *before; /* by node: the values of the first */
	struct diff_values *values[2]; /* by node */
	bool *in[2]; /* by node: the input has it */
};

/* Returns false if out of memory. */
bool diff_join_functions(struct diff_join *j, const struct diff_side *sides);
bool diff_join_paths(struct diff_join *j, const struct diff_side *sides);
void diff_join_free(struct diff_join *j);

#endif
