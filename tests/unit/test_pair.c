/*
 * The call-stack machine: matching by depth and by class, implied and missing ends, spans, time off
 * the CPU, orphans, limits, and that no order of rows takes it long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "flow/fit.h"
#include "flow/walk.h"

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
#define ANY(c)                                                         \
	{                                                              \
		.kind = SPUR_END_SPAN, .cls = (c), .flags = SPUR_F_ANY \
	}
#define GAP(c)                                                         \
	{                                                              \
		.kind = SPUR_END_SPAN, .cls = (c), .flags = SPUR_F_GAP \
	}
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

/* An END without depth ends the innermost frame of its class, and what is inside that. */
static void test_by_class(void **state)
{
	(void)state;
	/* An exception goes through 3 and 2 to 1. */
	expect_rows(ROWS(B(1, -1), B(2, -1), B(3, -1), E(1, -1)), "(1 (2 (3 cut3 cut2 )1 ");
	/* Recursion: the inner one. */
	expect_rows(ROWS(B(1, -1), B(2, -1), B(1, -1), B(3, -1), E(1, -1), E(2, -1), E(1, -1)),
		    "(1 (2 (1 (3 cut3 )1 )2 )1 ");
	/* Off the CPU: ends by any call row. */
	expect_rows(ROWS(B(1, -1), B(2, -1), OUT, GAP(3), OUT, E(1, -1)),
		    "(1 (2 (9 cut-off9 orphan3 (9 cut-off9 cut2 )1 ");
	/* A class like that of the time off the CPU is no match. */
	expect_rows(ROWS(B(1, -1), OUT, GAP(9)), "(1 (9 cut-off9 orphan9 ");
	/* What stands for a missing frame is of no class. */
	expect_rows(ROWS(B(1, 2), GAP(5), E(1, -1), GAP(1)), "(1 orphan5 )1 orphan1 ");
}

/*
 * An END whose class is not open: its call began before the data, and everything open lies inside
 * it.
 */
static void test_outer(void **state)
{
	(void)state;
	expect_rows(ROWS(E(3, -1), B(1, -1), B(2, -1), E(3, -1), E(2, -1), E(2, -1), E(1, -1)),
		    "orphan3 (1 (2 cut2 cut1 orphan3 orphan2 orphan2 orphan1 ");
	/* 2 throws, 3 catches; 4 is called by the caller of 3. */
	expect_rows(ROWS(B(2, -1), E(3, -1), B(4, -1), E(4, -1), E(5, -1)),
		    "(2 cut2 orphan3 (4 )4 orphan5 ");
	expect_rows(ROWS(B(1, -1), OUT, E(9, -1)), "(1 (9 cut-off9 cut1 orphan9 ");
	expect_rows(ROWS(B(1, 2), E(5, -1)), "(1 cut1 missing0 missing0 orphan5 ");
	/* The END's BEGIN may be among lost records: the stack stays as it is. */
	expect_rows(ROWS(B(1, -1), B(2, -1), GAP(3), E(2, -1), GAP(2), E(1, -1)),
		    "(1 (2 orphan3 )2 orphan2 )1 ");
	/* A recorded depth and the innermost of any class are other rules. */
	expect_rows(ROWS(B(1, 0), E(2, 1), E(1, 0)), "(1 orphan2 )1 ");
}

static void test_any_class(void **state)
{
	(void)state;
	expect_rows(ROWS(B(1, -1), B(2, -1), ANY(7), ANY(1), ANY(1)), "(1 (2 )2 )1 orphan1 ");
	expect_rows(ROWS(B(1, -1), OUT, ANY(7)), "(1 (9 cut-off9 )1 ");
	/* A recorded depth says more. */
	expect_rows(ROWS(B(1, 0), B(2, 1),
			 { .kind = SPUR_END_SPAN, .cls = 1, .flags = SPUR_F_ANY | SPUR_F_DEPTH }),
		    "(1 (2 cut2 )1 ");
}

static void test_orphans(void **state)
{
	(void)state;
	expect_rows(ROWS(E(1, 3)), "orphan1 ");
	expect_rows(ROWS(E(1, -1)), "orphan1 ");
	expect_rows(ROWS(B(1, 0), E(2, 1), E(1, 0)), "(1 orphan2 )1 ");
	/*
	 * A call two levels down: what is between is missing, and is over when its own END comes,
	 * which is an orphan.
	 */
	expect_rows(ROWS(B(1, 0), B(2, 3), E(2, 3), E(7, 2), E(1, 0)),
		    "(1 (2 )2 missing0 orphan7 missing0 )1 ");
	expect_rows(ROWS(B(2, 1), E(2, 1), E(1, 0), OUT, IN), "(2 )2 missing0 orphan1 (9 )9 ");
}

/* As walk.h says that a row is applied. */
static void walk(struct pair_stack *s, const struct spur_event *row, struct log *l)
{
	struct walk_end e;
	const struct pair_frame *f;

	while ((f = walk_due(s, row, &e))) {
		say(l, e.unfinished ? "cut" : "over", f->cls);
		l->len += (size_t)snprintf(l->text + l->len, sizeof(l->text) - l->len, "@%lld ",
					   (long long)e.ts);
		walk_credit(s, f, e.ts);
	}
	if (walk_opens(s, row)) {
		assert_non_null(walk_push(s, row));
		say(l, row->kind == SPUR_SPAN ? "[" : "(", row->cls);
	} else {
		f = walk_match(s, row);
		say(l, f ? ")" : "orphan", row->cls);
	}
}

static void expect_walk(const struct spur_event *rows, size_t n, const char *want)
{
	struct pair_stack s = { 0 };
	struct log l = { .len = 0 };

	for (size_t i = 0; i < n; i++) {
		struct spur_event row = rows[i];

		row.ts = (int64_t)i * 10;
		walk(&s, &row, &l);
	}
	assert_string_equal(l.text, want);
	pair_stack_free(&s);
}

#define SPAN(c, d)                                        \
	{                                                 \
		.kind = SPUR_SPAN, .cls = (c), .dur = (d) \
	}

/* Spans end by themselves, but not before what is inside them, and with what is around them. */
static void test_spans(void **state)
{
	(void)state;
	expect_walk(ROWS(B(1, -1), SPAN(2, 100), SPAN(3, 100), E(1, -1)),
		    "(1 [2 [3 over3 @120 over2 @110 )1 ");
	expect_walk(ROWS(B(1, -1), SPAN(2, 15), B(3, -1), E(3, -1), E(1, -1)),
		    "(1 [2 (3 )3 over2 @25 )1 ");
	expect_walk(ROWS(B(1, -1), SPAN(2, 100), B(3, -1), E(1, -1)),
		    "(1 [2 (3 cut3 @30 over2 @110 )1 ");
	/*
	 * An END of nothing leaves spans that go on alone, and what is around them; it is none of a
	 * span.
	 */
	expect_walk(ROWS(B(1, -1), SPAN(2, 100), E(3, -1), E(2, -1), E(1, -1)),
		    "(1 [2 orphan3 orphan2 over2 @110 )1 ");
	expect_walk(ROWS(B(1, -1), SPAN(2, 100), B(3, -1), E(4, -1), E(3, -1), E(1, -1)),
		    "(1 [2 (3 orphan4 )3 over2 @110 )1 ");
	expect_walk(ROWS(B(1, -1), SPAN(2, 5), GAP(3), E(1, -1)), "(1 [2 over2 @15 orphan3 )1 ");
	/* With a span that is over there is nothing left to tell when the END's call began. */
	expect_walk(ROWS(B(1, -1), SPAN(2, 5), E(3, -1), E(1, -1)),
		    "(1 [2 over2 @15 cut1 @20 orphan3 orphan1 ");
	expect_walk(ROWS(B(1, -1), SPAN(2, 100), ANY(7)), "(1 [2 over2 @110 )7 ");
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
	assert_int_equal(p.stacks[0]->calls, 70000);
	row.kind = SPUR_END_SPAN;
	for (uint32_t i = 70000; i-- > 0;) {
		l = (struct log){ .len = 0 };
		row.depth = (uint16_t)(i < UINT16_MAX ? i : UINT16_MAX);
		apply(&p, &row, &l);
		assert_string_equal(l.text, ")1 ");
	}
	assert_int_equal(p.stacks[0]->n, 0);
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
	row.ts = 77;
	f = pair_push(s, &row);
	assert_int_equal(f->ts, 77);
	assert_int_equal(f->child, 0);
	assert_int_equal(s->n, 3);
	assert_int_equal(s->frames[0].flags, PAIR_MISSING);
	assert_int_equal(s->frames[0].ts, 77);
	pair_free(&p);
}

/* The quick path takes what is on the stack, and the ground is not. */
static void test_quick_path(void **state)
{
	struct spur_event row = B(7, -1), end = E(7, -1), none = E(0, -1), deep = B(7, 3);
	struct pair p;
	struct pair_stack *s;
	struct fit v;

	(void)state;
	pair_init(&p);
	s = pair_stack(&p, 0);
	assert_true(pair_grow_frames(s, 1));
	v = fit_load(s, &row);
	assert_true(fit_is_end(&v, fit_bits(&v, &none)) && !fit_matches(&v, &none));
	assert_true(fit_bits(&v, &row) == v.begin && fit_has_room(&v));
	row.ts = 5;
	fit_push(&v, &row, 9);
	fit_store(s, v.next);
	assert_true(s->n == 1 && s->calls == 1);
	assert_true(s->frames[0].cls == 7 && s->frames[0].ts == 5 && s->frames[0].user == 9);
	assert_true(fit_is_end(&v, fit_bits(&v, &end)) && fit_matches(&v, &end));
	assert_false(fit_matches(&v, &none));
	fit_pop(&v, 30);
	fit_store(s, v.next);
	assert_true(s->n == 0 && s->calls == 0 && s->frames[-1].child == 30);
	v = fit_load(s, &deep);
	assert_false(fit_bits(&v, &deep) == v.begin);
	deep.depth = 0;
	assert_true(fit_bits(&v, &deep) == v.begin);
	fit_close(&v);
	assert_false(fit_bits(&v, &deep) == v.begin || fit_is_end(&v, fit_bits(&v, &end)));
	pair_free(&p);
}

/* What the machine does, done by searching. */
struct plain {
	uint32_t cls[1 << 16];
	size_t n;
};

static bool plain_end(struct plain *p, const struct spur_event *row)
{
	for (size_t i = p->n; i-- > 0;)
		if (p->cls[i] == row->cls) {
			p->n = i;
			return true;
		}
	if (!(row->flags & SPUR_F_GAP))
		p->n = 0;
	return false;
}

/*
 * Random calls, ends and orphans; `bias` of 16 rows are calls. Through deep and shallow stacks and
 * back.
 */
static void random_rows(struct plain *model, uint32_t classes, unsigned seed)
{
	struct pair_stack s = { 0 };
	bool indexed = false;

	model->n = 0;
	for (unsigned i = 0; i < 200000; i++) {
		const unsigned bias = i / 5000 % 4 == 3 ? 5 : 9;
		struct spur_event row = { .cls = 1 + (uint32_t)rand_r(&seed) % classes };
		bool ended = false;

		row.kind = (unsigned)rand_r(&seed) % 16 < bias ? SPUR_BEGIN : SPUR_END_SPAN;
		if (row.kind == SPUR_END_SPAN && model->n && rand_r(&seed) % 8)
			row.cls = model->cls[model->n - 1];
		if (row.kind == SPUR_END_SPAN && rand_r(&seed) % 1024)
			row.flags = SPUR_F_GAP;
		if (rand_r(&seed) % 4096 == 0)
			row = (struct spur_event){ .kind = SPUR_SWITCH,
						   .cls = 1,
						   .flags = SPUR_F_OUT };
		while (pair_excess(&s, &row))
			pair_pop(&s);
		if (row.kind == SPUR_END_SPAN) {
			ended = pair_match(&s, &row);
			assert_int_equal(ended, plain_end(model, &row));
			if (ended)
				pair_pop(&s);
		} else {
			assert_non_null(pair_push(&s, &row));
		}
		if (row.kind == SPUR_BEGIN)
			model->cls[model->n++] = row.cls;
		indexed |= s.index != NULL;
		assert_int_equal(s.calls, model->n);
		assert_true(!s.calls || s.frames[s.calls - 1].cls == model->cls[model->n - 1]);
	}
	for (size_t i = 0; i < model->n; i++)
		assert_int_equal(s.frames[i].cls, model->cls[i]);
	assert_int_equal(indexed, classes > 3);
	pair_stack_free(&s);
}

static void test_against_searching(void **state)
{
	struct plain *model = malloc(sizeof(*model));

	(void)state;
	random_rows(model, 3, 1);
	random_rows(model, 400, 2);
	random_rows(model, 100000, 3);
	free(model);
}

/* Cheap rows that would be dear by searching: a million deep, a million times. */
enum { MANY = 1000000 };

static double seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static void apply_many(struct pair_stack *s, struct spur_event row, uint32_t first, uint32_t step)
{
	row.cls = first;
	for (uint32_t i = 0; i < MANY; i++, row.cls += step) {
		while (pair_excess(s, &row))
			pair_pop(s);
		if (row.kind == SPUR_BEGIN)
			assert_non_null(pair_push(s, &row));
		else if (pair_match(s, &row))
			pair_pop(s);
	}
}

static void test_hostile(void **state)
{
	const struct spur_event begin = B(0, -1), end = GAP(0);
	struct pair_stack s = { 0 };
	const double start = seconds();

	(void)state;
	/* Orphans on a deep stack of one class, and of many. */
	apply_many(&s, begin, 1, 0);
	apply_many(&s, end, 2, 0);
	assert_int_equal(s.n, MANY);
	apply_many(&s, end, 2, 1);
	assert_int_equal(s.n, MANY);
	apply_many(&s, begin, 2, 1);
	apply_many(&s, end, 2 * MANY + 2, 1);
	assert_int_equal(s.n, 2 * MANY);
	/* The one far below, each time, with as many pushed anew. */
	for (uint32_t k = 0; k < 1000; k++) {
		struct spur_event row = end;

		row.cls = MANY + 2 - 1000 * (k + 1);
		while (pair_excess(&s, &row))
			pair_pop(&s);
		assert_non_null(pair_match(&s, &row));
		pair_pop(&s);
	}
	assert_int_equal(s.n, MANY);
	/* From a class that is everywhere, one by one. */
	apply_many(&s, end, 1, 0);
	assert_int_equal(s.n, 0);
	assert_null(s.index);
	/* Just deep enough to make the index anew again and again. */
	for (uint32_t k = 0; k < MANY / 100; k++) {
		struct spur_event row = begin;

		for (row.cls = 1; row.cls <= 70; row.cls++)
			assert_non_null(pair_push(&s, &row));
		row = end;
		row.cls = 100;
		assert_int_equal(pair_excess(&s, &row), 0);
		assert_null(pair_match(&s, &row));
		row.cls = 1;
		while (pair_excess(&s, &row))
			pair_pop(&s);
		assert_non_null(pair_match(&s, &row));
		pair_pop(&s);
	}
	pair_stack_free(&s);
	/* Searching would take hours. */
	assert_true(seconds() - start < 20);
}

/*
 * Without memory for the index it is found all the same; what the index needs when a frame comes
 * fails the push.
 */
static void test_index_memory(void **state)
{
	struct spur_event row = B(1, -1);

	(void)state;
	for (uint64_t fail = 1; fail < 12; fail++) {
		struct pair_stack s = { 0 };

		for (row.cls = 1; row.cls <= 200; row.cls++)
			assert_non_null(pair_push(&s, &row));
		row.kind = SPUR_END_SPAN;
		row.cls = 10;
		mem_fail_at(fail);
		assert_int_equal(pair_excess(&s, &row), 190);
		mem_fail_at(0);
		assert_int_equal(pair_excess(&s, &row), 190);
		assert_non_null(s.index);
		row.kind = SPUR_BEGIN;
		mem_fail_at(fail);
		for (row.cls = 1000; row.cls < 2000 && pair_push(&s, &row); row.cls++)
			;
		mem_fail_at(0);
		row.kind = SPUR_END_SPAN;
		row.cls = 150;
		while (pair_excess(&s, &row))
			pair_pop(&s);
		assert_ptr_equal(pair_match(&s, &row), &s.frames[149]);
		row.kind = SPUR_BEGIN;
		pair_stack_free(&s);
	}
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

static size_t stacks_of(const struct pair *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->cap; i++)
		n += p->stacks[i] != NULL;
	return n;
}

/* Very many tracks, each with one call, and a few that stay open: memory is that of the few. */
static void test_stacks_again(void **state)
{
	enum { TRACKS = 20000, STEP = 1000 };
	struct pair p;

	(void)state;
	pair_init(&p);
	for (uint32_t i = 0; i < TRACKS; i++) {
		struct spur_event row = { .kind = SPUR_BEGIN, .cls = 1 + i, .track = i };
		struct pair_stack *s = pair_stack(&p, i);

		assert_non_null(s);
		assert_int_equal(s->track, i);
		assert_int_equal(s->n + s->calls, 0);
		assert_false(s->spans.any);
		assert_true(!s->cap || !s->frames[-1].child);
		assert_non_null(pair_push(s, &row));
		if (i % STEP == 0)
			continue;
		/* As the quick path leaves it. */
		s->frames[-1].child = 5;
		pair_pop(s);
	}
	assert_true(p.nused <= 2 * (TRACKS / STEP) + 1024 && p.nused >= TRACKS / STEP);
	assert_int_equal(stacks_of(&p), p.nused);
	for (uint32_t i = 0; i < TRACKS; i += STEP) {
		assert_non_null(pair_at(&p, i));
		assert_int_equal(pair_at(&p, i)->n, 1);
		assert_int_equal(pair_at(&p, i)->frames[0].cls, 1 + i);
	}
	assert_null(pair_at(&p, 1));
	assert_null(pair_at(&p, TRACKS + (1 << 20)));
	pair_clear(&p);
	assert_int_equal(stacks_of(&p), 0);
	assert_int_equal(pair_stack(&p, 0)->n, 0);
	pair_free(&p);
}

/* Stacks that know something stay: a SPAN that goes on, the caller's, an index. */
static void test_stacks_kept(void **state)
{
	struct spur_event span = { .kind = SPUR_SPAN, .cls = 1, .ts = 10, .dur = 20, .track = 1 };
	struct spur_event end = { .kind = SPUR_END_SPAN, .cls = 2, .ts = 15, .track = 1 };
	struct walk_end e;
	struct pair p;
	int own = 0;

	(void)state;
	pair_init(&p);
	pair_stack(&p, 2)->user = &own;
	assert_non_null(walk_push(pair_stack(&p, 1), &span));
	/* Ends the SPAN before its time. */
	end.flags = SPUR_F_ANY;
	assert_non_null(walk_due(pair_stack(&p, 1), &end, &e));
	assert_int_equal(e.ts, 30);
	for (uint32_t i = 3; i < 2000; i++)
		assert_non_null(pair_stack(&p, i));
	assert_non_null(pair_at(&p, 1));
	assert_true(pair_at(&p, 1)->spans.any);
	assert_ptr_equal(pair_at(&p, 2)->user, &own);
	/* It is over. */
	span.ts = 30;
	span.dur = 5;
	assert_non_null(walk_push(pair_stack(&p, 1), &span));
	end.ts = 40;
	assert_non_null(walk_due(pair_stack(&p, 1), &end, &e));
	assert_false(pair_at(&p, 1)->spans.any);
	for (uint32_t i = 3000; i < 4000; i++)
		assert_non_null(pair_stack(&p, i));
	assert_null(pair_at(&p, 1));
	assert_non_null(pair_at(&p, 2));
	pair_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks_again),
		cmocka_unit_test(test_stacks_kept),
		cmocka_unit_test(test_matching),
		cmocka_unit_test(test_implied_ends),
		cmocka_unit_test(test_by_class),
		cmocka_unit_test(test_outer),
		cmocka_unit_test(test_any_class),
		cmocka_unit_test(test_orphans),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_depth_past_the_field),
		cmocka_unit_test(test_off_the_cpu),
		cmocka_unit_test(test_off_the_cpu_twice),
		cmocka_unit_test(test_tracks),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_quick_path),
		cmocka_unit_test(test_against_searching),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_index_memory),
		cmocka_unit_test(test_memory_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
