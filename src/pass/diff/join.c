/* Pairing what two inputs have. See join.h. */
#include "pass/diff/join.h"

#include <stdlib.h>
#include <string.h>

#include "render/cell.h"

#define UNPAIRED UINT32_MAX

/* A line of one side, to be sorted. */
struct mate {
	const struct group *group;
	uint32_t line;
	int side;
	uint32_t func; /* UNPAIRED: not yet */
};

/* Functions of all lines of both sides. */
struct pairing {
	struct diff_join *join;
	struct mate *mates;
	size_t n;
	uint32_t *funcs[2]; /* by line */
	size_t lines[2];
};

static int bytes_order(const char *a, size_t na, const char *b, size_t nb)
{
	int c = memcmp(a, b, na < nb ? na : nb);

	return c ? c : (na > nb) - (na < nb);
}

static int name_order(const struct group *a, const struct group *b)
{
	return bytes_order(a->name, a->name_len, b->name, b->name_len);
}

/* By what tables show: the module without its directories. */
static int shown_order(const struct group *a, const struct group *b)
{
	const int c = strcmp(cell_basename(a->module), cell_basename(b->module));

	return c ? c : bytes_order(a->cat, a->cat_len, b->cat, b->cat_len);
}

static int mate_order(const void *x, const void *y)
{
	const struct mate *a = x, *b = y;
	int c = name_order(a->group, b->group);

	c = c ? c : shown_order(a->group, b->group);
	c = c ? c : a->side - b->side;
	c = c ? c : strcmp(a->group->module, b->group->module);
	return c ? c : (a->line > b->line) - (a->line < b->line);
}

/* A function of the pair; `b` NULL: it is in one input only. */
static void pair_add(struct pairing *p, struct mate *a, struct mate *b)
{
	struct groups *g = &p->join->groups;

	a->func = (uint32_t)g->n;
	if (b)
		b->func = (uint32_t)g->n;
	/* The module is shown as the second input has it, which is the newer one. */
	g->items[g->n++] = *(b && b->side == 1 ? b : a)->group;
}

/*
 * Pairs mates from..to, which have one name: first those that agree in module and category, then
 * what is left if that is one on each side, as a program may be built under another name.
 */
static void pair_name(struct pairing *p, size_t from, size_t to)
{
	struct mate *left[2] = { NULL, NULL };
	size_t lone[2] = { 0, 0 };

	for (size_t i = from, next; i < to; i = next) {
		size_t middle = i, a, b;

		for (next = i + 1;
		     next < to && !shown_order(p->mates[i].group, p->mates[next].group);)
			next++;
		while (middle < next && p->mates[middle].side == 0)
			middle++;
		for (a = i, b = middle; a < middle && b < next; a++, b++)
			pair_add(p, &p->mates[a], &p->mates[b]);
		for (; a < middle; a++, lone[0]++)
			left[0] = &p->mates[a];
		for (; b < next; b++, lone[1]++)
			left[1] = &p->mates[b];
	}
	if (lone[0] == 1 && lone[1] == 1)
		pair_add(p, left[0], left[1]);
	for (size_t i = from; i < to; i++)
		if (p->mates[i].func == UNPAIRED)
			pair_add(p, &p->mates[i], NULL);
}

/* Brackets show which of several functions of one name is meant. */
static void name_shared(struct groups *g, size_t from)
{
	for (size_t i = from; i < g->n; i++)
		g->items[i].shared_name = g->n - from > 1;
}

static void pair_all(struct pairing *p)
{
	for (size_t i = 0, next; i < p->n; i = next) {
		const size_t before = p->join->groups.n;

		for (next = i + 1;
		     next < p->n && !name_order(p->mates[i].group, p->mates[next].group);)
			next++;
		pair_name(p, i, next);
		name_shared(&p->join->groups, before);
	}
}

static void mates_free(struct pairing *p)
{
	mem_table_free(p->mates, p->lines[0] + p->lines[1], sizeof(*p->mates));
	p->mates = NULL;
}

static void pairing_free(struct pairing *p)
{
	mates_free(p);
	for (int side = 0; side < 2; side++)
		mem_table_free(p->funcs[side], p->lines[side], sizeof(*p->funcs[side]));
}

/* Pairs the lines of both sides. Returns false if out of memory. */
static bool pairing_run(struct pairing *p, struct diff_join *j, const struct diff_side *sides)
{
	const size_t n = sides[0].n + sides[1].n;

	p->join = j;
	for (int side = 0; side < 2; side++) {
		p->lines[side] = sides[side].n;
		p->funcs[side] = mem_table_alloc(sides[side].n, sizeof(*p->funcs[side]));
	}
	p->mates = mem_table_alloc(n, sizeof(*p->mates));
	j->groups.items = mem_array(n, sizeof(*j->groups.items));
	if (!p->mates || !j->groups.items || !p->funcs[0] || !p->funcs[1])
		return false;
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < sides[side].n; i++)
			p->mates[p->n++] = (struct mate){ .group = &sides[side].lines[i].group,
							  .line = (uint32_t)i,
							  .side = side,
							  .func = UNPAIRED };
	qsort(p->mates, p->n, sizeof(*p->mates), mate_order);
	pair_all(p);
	for (size_t i = 0; i < p->n; i++)
		p->funcs[p->mates[i].side][p->mates[i].line] = p->mates[i].func;
	/* Room for what comes next. */
	mates_free(p);
	return true;
}

/* --- by function */

static void row_compare(struct diff_row *row, const struct dist *const *dists)
{
	const struct dist *a = dists[0], *b = dists[1];

	if (!a || !b)
		return;
	row->compared = true;
	row->change = dist_compare(a, b);
}

bool diff_join_functions(struct diff_join *j, const struct diff_side *sides)
{
	struct pairing p = { 0 };
	const struct dist *(*dists)[2] = NULL;
	bool good = pairing_run(&p, j, sides);

	j->n = j->groups.n;
	if (good) {
		j->nrows = j->n;
		j->rows = mem_table_alloc(j->nrows, sizeof(*j->rows));
		dists = mem_table_alloc(j->n, sizeof(*dists));
		good = j->rows && dists;
	}
	for (int side = 0; good && side < 2; side++)
		for (size_t i = 0; i < sides[side].n; i++) {
			const uint32_t func = p.funcs[side][i];

			j->rows[func].func = func;
			j->rows[func].of[side] = &sides[side].lines[i].values;
			dists[func][side] = sides[side].lines[i].dist;
		}
	for (size_t i = 0; good && i < j->n; i++)
		row_compare(&j->rows[i], dists[i]);
	mem_table_free((void *)dists, j->n, sizeof(*dists));
	pairing_free(&p);
	return good;
}

/* --- by path */

/* Adds one side's tree to the joined one, and its values by node. */
static bool graft(struct diff_join *j, const struct diff_side *side, const uint32_t *funcs,
		  uint32_t **numbers)
{
	*numbers = mem_table_alloc(side->tree.n, sizeof(**numbers));
	return *numbers && tree_graft(&j->tree, &side->tree, funcs, *numbers);
}

static void take_values(struct diff_join *j, const struct diff_side *side, int which,
			const uint32_t *numbers)
{
	for (size_t i = 1; i < side->tree.n; i++) {
		const struct tree_node *from = &side->tree.nodes[i];
		struct diff_values *v = &j->values[which][numbers[i]];
		struct tree_node *to = which ? &j->tree.nodes[numbers[i]] : &j->before[numbers[i]];

		to->calls = from->calls;
		to->total = from->total;
		to->self = from->self;
		diff_value_set(v, DIFF_TOTAL, from->total);
		diff_value_set(v, DIFF_SELF, from->self);
		diff_value_set(v, DIFF_CALLS, from->calls);
		if (from->calls)
			diff_value_set(v, DIFF_AVG, from->total / from->calls);
		j->in[which][numbers[i]] = true;
	}
}

/* Numbers rows as their paths stand in the tree, siblings by name. */
static bool place_row(void *self, uint32_t node, size_t depth, bool last)
{
	struct diff_join *j = self;

	(void)depth;
	(void)last;
	j->rows[j->n] = (struct diff_row){ .func = j->tree.nodes[node].what,
					   .node = node,
					   .place = (uint32_t)j->n };
	for (int side = 0; side < 2; side++)
		j->rows[j->n].of[side] = j->in[side][node] ? &j->values[side][node] : NULL;
	j->n++;
	return true;
}

static bool path_rows(struct diff_join *j, const struct diff_side *sides, uint32_t *const *numbers)
{
	static const struct tree_visit visit = { place_row, NULL };
	const size_t n = j->tree.n;

	j->nrows = n;
	j->before = mem_table_alloc(n, sizeof(*j->before));
	j->rows = mem_table_alloc(n, sizeof(*j->rows));
	for (int side = 0; side < 2; side++) {
		j->values[side] = mem_table_alloc(n, sizeof(**j->values));
		j->in[side] = mem_table_alloc(n, sizeof(**j->in));
	}
	if (!j->before || !j->rows || !j->values[0] || !j->values[1] || !j->in[0] || !j->in[1])
		return false;
	for (size_t i = 1; i < n; i++)
		j->tree.nodes[i].calls = j->tree.nodes[i].total = j->tree.nodes[i].self = 0;
	take_values(j, &sides[0], 0, numbers[0]);
	take_values(j, &sides[1], 1, numbers[1]);
	return tree_sort(&j->tree, &j->groups, TREE_BY_NAME, false) &&
	       tree_walk(&j->tree, &visit, j);
}

bool diff_join_paths(struct diff_join *j, const struct diff_side *sides)
{
	struct pairing p = { 0 };
	uint32_t *numbers[2] = { NULL, NULL };
	const bool good =
		pairing_run(&p, j, sides) && graft(j, &sides[0], p.funcs[0], &numbers[0]) &&
		graft(j, &sides[1], p.funcs[1], &numbers[1]) && path_rows(j, sides, numbers);

	for (int side = 0; side < 2; side++)
		mem_table_free(numbers[side], sides[side].tree.n, sizeof(*numbers[side]));
	pairing_free(&p);
	return good;
}

void diff_join_free(struct diff_join *j)
{
	groups_free(&j->groups);
	tree_free(&j->tree);
	mem_table_free(j->rows, j->nrows, sizeof(*j->rows));
	mem_table_free(j->before, j->nrows, sizeof(*j->before));
	for (int side = 0; side < 2; side++) {
		mem_table_free(j->values[side], j->nrows, sizeof(**j->values));
		mem_table_free(j->in[side], j->nrows, sizeof(**j->in));
	}
}
