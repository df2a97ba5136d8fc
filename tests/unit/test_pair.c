/* The call-stack machine: matching, implied and missing ends, time off the CPU, orphans, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "flow/pair.h"

struct log {
	char text[1024];
	size_t len;
};

static void say(struct log *l, const char *what, uint32_t cls)
{
	l->len += (size_t)snprintf(l->text + l->len, sizeof(l->text) - l->len, "%s%u ", what, cls);
}

/* As pair.h says that a row is applied. */
static void apply(struct pair *p, const struct spur_event *row, struct log *l)
{
	struct pair_stack *s = pair_stack(p, row->track);
	struct pair_frame *f;

	assert_non_null(s);
	while (pair_excess(s, row)) {
		f = pair_pop(s);
		say(l,
		    f->flags & PAIR_MISSING ? "missing"
		    : f->flags & PAIR_SCHED ? "cut-off"
					    : "cut",
		    f->cls);
	}
	if (row->kind == SPUR_BEGIN || (row->kind == SPUR_SWITCH && (row->flags & SPUR_F_OUT))) {
		assert_non_null(pair_push(s, row));
		say(l, "(", row->cls);
	} else if ((f = pair_match(s, row))) {
		assert_ptr_equal(pair_pop(s), f);
		say(l, ")", f->cls);
	} else {
		say(l, "orphan", row->cls);
	}
	assert_true(s->calls <= s->n && s->n <= s->calls + 1);
}

static struct spur_event call(unsigned kind, uint32_t cls, int depth)
{
	return (struct spur_event){ .kind = (uint8_t)kind,
				    .cls = cls,
				    .depth = (uint16_t)(depth < 0 ? 0 : depth),
				    .flags = depth < 0 ? 0 : SPUR_F_DEPTH };
}

static void expect_rows(const struct spur_event *rows, size_t n, const char *want)
{
	struct pair p;
	struct log l = { .len = 0 };

	pair_init(&p);
	for (size_t i = 0; i < n; i++)
		apply(&p, &rows[i], &l);
	assert_string_equal(l.text, want);
	pair_free(&p);
}

#define ROWS(...)                                   \
	(const struct spur_event[]){ __VA_ARGS__ }, \
		sizeof((const struct spur_event[]){ __VA_ARGS__ }) / sizeof(struct spur_event)
#define B(cls, depth) call(SPUR_BEGIN, cls, depth)
#define E(cls, depth) call(SPUR_END_SPAN, cls, depth)
#define OUT                                                        \
	{                                                          \
		.kind = SPUR_SWITCH, .cls = 9, .flags = SPUR_F_OUT \
	}
#define IN                                                        \
	{                                                         \
		.kind = SPUR_SWITCH, .cls = 9, .flags = SPUR_F_IN \
	}

static void test_matching(void **state)
{
	(void)state;
	expect_rows(ROWS(B(1, 0), B(2, 1), E(2, 1), B(3, 1), E(3, 1), E(1, 0)),
		    "(1 (2 )2 (3 )3 )1 ");
	expect_rows(ROWS(B(1, -1), B(2, -1), E(2, -1), E(1, -1)), "(1 (2 )2 )1 ");
}

static void test_implied_ends(void **state)
{
	(void)state;
	/* A longer jump out of 3 and 2 to 1, which calls 4. */
	expect_rows(ROWS(B(1, 0), B(2, 1), B(3, 2), B(4, 1), E(4, 1), E(1, 0)),
		    "(1 (2 (3 cut3 cut2 (4 )4 )1 ");
	expect_rows(ROWS(B(1, 0), B(2, 1), B(3, 2), E(1, 0)), "(1 (2 (3 cut3 cut2 )1 ");
	/* exec: the next call is at depth 0 again. */
	expect_rows(ROWS(B(1, 0), B(2, 1), B(5, 0), E(5, 0)), "(1 (2 cut2 cut1 (5 )5 ");
}

static void test_orphans(void **state)
{
	(void)state;
	expect_rows(ROWS(E(1, 3)), "orphan1 ");
	expect_rows(ROWS(E(1, -1)), "orphan1 ");
	expect_rows(ROWS(B(1, 0), E(2, 1), E(1, 0)), "(1 orphan2 )1 ");
	/*
	 * A call two levels down: what is between is missing, and ends with its own END as an
	 * orphan.
	 */
	expect_rows(ROWS(B(1, 0), B(2, 3), E(2, 3), E(7, 2), E(1, 0)),
		    "(1 (2 )2 orphan7 missing0 missing0 )1 ");
}

static void test_depth_past_the_field(void **state)
{
	struct pair p;
	struct log l;
	struct spur_event row = B(1, 0);

	(void)state;
	pair_init(&p);
	for (uint32_t i = 0; i < 70000; i++) {
		l = (struct log){ .len = 0 };
		row.depth = (uint16_t)(i < UINT16_MAX ? i : UINT16_MAX);
		apply(&p, &row, &l);
		assert_string_equal(l.text, "(1 ");
	}
	assert_int_equal(p.stacks[0].calls, 70000);
	row.kind = SPUR_END_SPAN;
	for (uint32_t i = 70000; i-- > 0;) {
		l = (struct log){ .len = 0 };
		row.depth = (uint16_t)(i < UINT16_MAX ? i : UINT16_MAX);
		apply(&p, &row, &l);
		assert_string_equal(l.text, ")1 ");
	}
	assert_int_equal(p.stacks[0].n, 0);
	pair_free(&p);
}

static void test_off_the_cpu(void **state)
{
	(void)state;
	expect_rows(ROWS(B(1, 0), OUT, IN, E(1, 0)), "(1 (9 )9 )1 ");
	expect_rows(ROWS(OUT, IN, B(1, 0)), "(9 )9 (1 ");
	expect_rows(ROWS(IN, B(1, 0), IN), "orphan9 (1 orphan9 ");
	/* The way back on the CPU is missing. */
	expect_rows(ROWS(B(1, 0), OUT, B(2, 1), E(2, 1)), "(1 (9 cut-off9 (2 )2 ");
	expect_rows(ROWS(B(1, 0), OUT, E(1, 0)), "(1 (9 cut-off9 )1 ");
	expect_rows(ROWS(B(1, -1), OUT, B(2, -1), E(2, -1), E(1, -1)), "(1 (9 cut-off9 (2 )2 )1 ");
}

/* Two ways off the CPU without one back: a PAIR_SCHED frame is only ever the topmost one. */
static void test_off_the_cpu_twice(void **state)
{
	(void)state;
	expect_rows(ROWS(B(1, 0), OUT, OUT, IN, E(1, 0)), "(1 (9 cut-off9 (9 )9 )1 ");
}

static void test_tracks(void **state)
{
	struct pair p;
	struct log l = { .len = 0 };
	struct spur_event a = B(1, 0), b = B(2, 0);

	(void)state;
	pair_init(&p);
	a.track = 5;
	b.track = 3000;
	apply(&p, &a, &l);
	apply(&p, &b, &l);
	a.kind = b.kind = SPUR_END_SPAN;
	apply(&p, &a, &l);
	apply(&p, &b, &l);
	assert_string_equal(l.text, "(1 (2 )1 )2 ");
	assert_null(pair_stack(&p, UINT32_MAX));
	pair_free(&p);
}

static void test_frames(void **state)
{
	struct pair p;
	struct pair_stack *s;
	struct pair_frame *f;
	struct spur_event row = B(4, 2);

	(void)state;
	pair_init(&p);
	s = pair_stack(&p, 0);
	assert_false(s->seen);
	row.ts = 77;
	f = pair_push(s, &row);
	assert_true(s->seen);
	assert_int_equal(f->ts, 77);
	assert_int_equal(f->child, 0);
	assert_int_equal(s->n, 3);
	assert_int_equal(s->frames[0].flags, PAIR_MISSING);
	assert_int_equal(s->frames[0].ts, 77);
	pair_free(&p);
}

static void test_memory_failures(void **state)
{
	struct pair p;
	struct pair_stack *s;
	struct spur_event row = B(1, 1000);

	(void)state;
	pair_init(&p);
	mem_fail_at(1);
	assert_null(pair_stack(&p, 3));
	mem_fail_at(0);
	s = pair_stack(&p, 3);
	assert_non_null(s);
	mem_fail_at(1);
	assert_null(pair_push(s, &row));
	row.depth = 0;
	assert_null(pair_push(s, &row));
	mem_fail_at(0);
	assert_int_equal(s->n, 0);
	assert_non_null(pair_push(s, &row));
	pair_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matching),	cmocka_unit_test(test_implied_ends),
		cmocka_unit_test(test_orphans),		cmocka_unit_test(test_depth_past_the_field),
		cmocka_unit_test(test_off_the_cpu),	cmocka_unit_test(test_off_the_cpu_twice),
		cmocka_unit_test(test_tracks),		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_memory_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
