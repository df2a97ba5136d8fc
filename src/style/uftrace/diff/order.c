/* A red-black tree for its order only. See order.h. */
#include "style/uftrace/diff/order.h"

#include "base/mem.h"

/* Item + 1 everywhere; 0: none, which is black. */
struct knot {
	uint32_t up, child[2];
	bool red;
};

struct knots {
	struct knot *of; /* by item + 1 */
	uint32_t root;
};

static int side_of(const struct knots *t, uint32_t x)
{
	return t->of[t->of[x].up].child[1] == x;
}

/* Puts x where `old` is, below its parent. */
static void knot_replace(struct knots *t, uint32_t old, uint32_t x)
{
	const uint32_t up = t->of[old].up;

	if (!up)
		t->root = x;
	else
		t->of[up].child[side_of(t, old)] = x;
	if (x)
		t->of[x].up = up;
}

/* x goes down to `side`; its other child takes its place. */
static void rotate(struct knots *t, uint32_t x, int side)
{
	const uint32_t y = t->of[x].child[!side], middle = t->of[y].child[side];

	knot_replace(t, x, y);
	t->of[y].child[side] = x;
	t->of[x].up = y;
	t->of[x].child[!side] = middle;
	if (middle)
		t->of[middle].up = x;
}

/* After x was inserted red: no red knot has a red parent. */
static void balance(struct knots *t, uint32_t x)
{
	while (t->of[x].up && t->of[t->of[x].up].red) {
		uint32_t parent = t->of[x].up;
		const uint32_t above = t->of[parent].up;
		const int side = side_of(t, parent);
		const uint32_t uncle = t->of[above].child[!side];

		if (uncle && t->of[uncle].red) {
			t->of[uncle].red = t->of[parent].red = false;
			t->of[above].red = true;
			x = above;
			continue;
		}
		if (side_of(t, x) != side) {
			rotate(t, parent, side);
			parent = x;
		}
		t->of[parent].red = false;
		t->of[above].red = true;
		rotate(t, above, !side);
		break;
	}
	t->of[t->root].red = false;
}

static uint32_t leftmost(const struct knots *t, uint32_t x)
{
	while (x && t->of[x].child[0])
		x = t->of[x].child[0];
	return x;
}

static uint32_t next_of(const struct knots *t, uint32_t x)
{
	if (t->of[x].child[1])
		return leftmost(t, t->of[x].child[1]);
	while (t->of[x].up && side_of(t, x))
		x = t->of[x].up;
	return t->of[x].up;
}

bool order_by_tree(uint32_t *order, uint32_t n,
		   int (*compare)(const void *self, uint32_t old, uint32_t new), const void *self)
{
	struct knots t = { .of = mem_array((size_t)n + 1, sizeof(*t.of)) };
	size_t at = 0;

	if (!t.of)
		return false;
	for (uint32_t item = 0; item < n; item++) {
		uint32_t up = 0, x = t.root;
		int side = 0;

		for (; x; x = t.of[x].child[side]) {
			up = x;
			side = compare(self, x - 1, item) >= 0;
		}
		t.of[item + 1] = (struct knot){ .up = up, .red = true };
		if (up)
			t.of[up].child[side] = item + 1;
		else
			t.root = item + 1;
		balance(&t, item + 1);
	}
	for (uint32_t x = leftmost(&t, t.root); x; x = next_of(&t, x))
		order[at++] = x - 1;
	mem_free(t.of);
	return true;
}
