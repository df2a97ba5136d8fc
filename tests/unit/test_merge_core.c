/*
 * The merge core against a sorting model: windows and the tree, ties, times that go back, any
 * number of inputs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "flow/merge_core.h"

struct item {
	int64_t ts;
	uint32_t input, number;
};

enum { ITEMS = 12 };

struct model {
	struct item *items; /* of all inputs, ITEMS places each */
	size_t *counts, *given;
	struct item *want, *got;
	size_t n, ngot;
};

/*
 * The key of an item, as the core counts it in windows, is the latest time of its input up to it.
 */
static int by_key(const void *pa, const void *pb)
{
	const struct item *a = pa, *b = pb;

	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	if (a->input != b->input)
		return a->input < b->input ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void model_make(struct model *m, uint32_t inputs, unsigned span, unsigned *seed)
{
	m->items = calloc((size_t)inputs * ITEMS + 1, sizeof(*m->items));
	m->counts = calloc(inputs + 1, sizeof(*m->counts));
	m->given = calloc(inputs + 1, sizeof(*m->given));
	m->want = calloc((size_t)inputs * ITEMS + 1, sizeof(*m->want));
	m->got = calloc((size_t)inputs * ITEMS + 1, sizeof(*m->got));
	m->n = m->ngot = 0;
	for (uint32_t i = 0; i < inputs; i++) {
		int64_t ts = rand_r(seed) % 5;

		m->counts[i] = (size_t)rand_r(seed) % (ITEMS + 1);
		for (uint32_t k = 0; k < m->counts[i]; k++) {
			struct item *item = &m->items[(size_t)i * ITEMS + k];

			ts += span ? rand_r(seed) % (int)span : 0;
			*item = (struct item){ .ts = ts, .input = i, .number = k };
			m->want[m->n++] = *item;
		}
	}
	qsort(m->want, m->n, sizeof(*m->want), by_key);
}

static void model_free(struct model *m)
{
	free(m->items);
	free(m->counts);
	free(m->given);
	free(m->want);
	free(m->got);
}

/* Up to `step` more items of the input; none: it has ended. */
static void give(struct model *m, struct merge_core *c, uint32_t i, size_t step)
{
	const size_t left = m->counts[i] - m->given[i], n = left < step ? left : step;

	assert_true(merge_core_give(c, i, &m->items[(size_t)i * ITEMS + m->given[i]], n));
	m->given[i] += n;
}

static void take(struct model *m, struct merge_core *c, uint32_t i, size_t n)
{
	struct merge_input *in = &c->inputs[i];

	assert_true(n > 0 && in->pos + n <= in->n);
	memcpy(m->got + m->ngot, in->items + in->pos * sizeof(struct item),
	       n * sizeof(struct item));
	m->ngot += n;
	in->pos += (uint32_t)n;
}

static void run_windows(struct model *m, struct merge_core *c, size_t step)
{
	uint32_t active[ORDER_WINDOW], n;

	for (;;) {
		for (uint32_t i = 0; i < c->count; i++)
			if (c->inputs[i].pos == c->inputs[i].n)
				give(m, c, i, step);
		n = merge_core_window(c, active);
		if (!n)
			return;
		if (n == 1) {
			/* Handed out without an order, as times may be too far apart for one. */
			take(m, c, active[0],
			     c->windows[active[0]].safe - c->inputs[active[0]].pos);
			continue;
		}
		assert_true(merge_core_sort(c, active, n));
		for (size_t k = 0; k < c->order.n; k++)
			take(m, c, order_number(c->order.words[k]), 1);
		for (uint32_t k = 0; k < n; k++)
			assert_int_equal(c->inputs[active[k]].pos, c->windows[active[k]].safe);
	}
}

static void run_tree(struct model *m, struct merge_core *c, size_t step)
{
	for (uint32_t i = 0; i < c->count; i++)
		give(m, c, i, step);
	merge_core_build(c);
	while (!(merge_core_first(c) & MERGE_ENDED)) {
		const uint32_t i = merge_core_first(c);

		take(m, c, i, merge_core_run(c, i, sizeof(struct item)));
		if (c->inputs[i].pos == c->inputs[i].n)
			give(m, c, i, step);
		merge_core_replay(c, i, sizeof(struct item));
	}
}

static void expect_sorted(uint32_t inputs, unsigned span, size_t step, unsigned *seed)
{
	struct merge_core c;
	struct model m;

	model_make(&m, inputs, span, seed);
	assert_true(merge_core_init(&c, inputs, sizeof(struct item)));
	assert_int_equal(c.windows != NULL, inputs <= 64);
	if (c.windows)
		run_windows(&m, &c, step);
	else
		run_tree(&m, &c, step);
	assert_int_equal(m.ngot, m.n);
	assert_memory_equal(m.got, m.want, m.n * sizeof(*m.want));
	merge_core_free(&c);
	model_free(&m);
}

/* `span` 0: all times of an input are equal; 1: ties everywhere. */
static void test_sorted(void **state)
{
	static const uint32_t inputs[] = { 1, 2, 3, 63, 64, 65, 66, 127, 1000 };
	static const unsigned spans[] = { 0, 1, 2, 5, 1000 };
	unsigned seed = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs); i++)
		for (size_t k = 0; k < sizeof(spans) / sizeof(*spans); k++)
			for (size_t step = 1; step <= ITEMS; step += 3)
				expect_sorted(inputs[i], spans[k], step, &seed);
}

/* The order does not depend on how much is given at once, though times of an input go back. */
static void test_back(void **state)
{
	static const uint32_t inputs[] = { 3, 64, 65 };
	unsigned seed = 11;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct item *first = NULL;
		struct model m;

		model_make(&m, inputs[i], 50, &seed);
		for (size_t k = 0; k < (size_t)inputs[i] * ITEMS; k++)
			m.items[k].ts ^= rand_r(&seed) % 4 ? 0 : 31;
		for (size_t step = 1; step <= ITEMS; step++) {
			struct merge_core c;

			m.ngot = 0;
			memset(m.given, 0, inputs[i] * sizeof(*m.given));
			assert_true(merge_core_init(&c, inputs[i], sizeof(struct item)));
			(c.windows ? run_windows : run_tree)(&m, &c, step);
			merge_core_free(&c);
			assert_int_equal(m.ngot, m.n);
			if (!first) {
				first = calloc(m.n + 1, sizeof(*first));
				memcpy(first, m.got, m.n * sizeof(*first));
			}
			assert_memory_equal(first, m.got, m.n * sizeof(*first));
		}
		free(first);
		model_free(&m);
	}
}

/* Times that are further apart than one order takes, up to all that there are. */
static void test_far(void **state)
{
	static const int64_t least[] = { INT64_MIN, -1, INT64_MAX - ITEMS };
	static const uint64_t steps[] = { 1, order_span - 1, order_span, order_span + 1,
					  UINT64_MAX / ITEMS };

	(void)state;
	for (size_t i = 0; i < 3 * 5; i++) {
		const int64_t from = least[i % 3];
		unsigned seed = 1;
		struct merge_core c;
		struct model m;

		model_make(&m, 5, 2, &seed);
		for (size_t k = 0; k < m.n; k++) {
			struct item *item =
				&m.items[(size_t)m.want[k].input * ITEMS + m.want[k].number];
			const uint64_t more = (uint64_t)item->ts * steps[i % 5];

			item->ts = more > (uint64_t)INT64_MAX - (uint64_t)from
					   ? INT64_MAX
					   : (int64_t)((uint64_t)from + more);
			m.want[k] = *item;
		}
		qsort(m.want, m.n, sizeof(*m.want), by_key);
		assert_true(merge_core_init(&c, 5, sizeof(struct item)));
		run_windows(&m, &c, 1 + i % ITEMS);
		assert_memory_equal(m.got, m.want, m.n * sizeof(*m.want));
		merge_core_free(&c);
		model_free(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorted),
		cmocka_unit_test(test_back),
		cmocka_unit_test(test_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
