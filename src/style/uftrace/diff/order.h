/*
 * The order in which uftrace's red-black tree holds what is inserted into it. Its comparison of
 * changes is not an order: of two with equal magnitudes and different signs the one that is
 * inserted later comes first. So the result depends on the shape of the tree, which this one has
 * too.
 */
#ifndef SPUR_STYLE_UFTRACE_DIFF_ORDER_H
#define SPUR_STYLE_UFTRACE_DIFF_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Inserts items 0 .. n - 1 in this order: before an item if compare(old, new) < 0, else behind it.
 * Writes the items in the tree's order to `order`, which has room for n. Returns false if out of
 * memory.
 */
bool order_by_tree(uint32_t *order, uint32_t n,
		   int (*compare)(const void *self, uint32_t old, uint32_t new), const void *self);

#endif
