/*
 * replay: nesting, leaves, what the data lacks, events, several threads, and that batches and
 * threads change nothing.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

#include "pass/pass.h"
#include "unit/any_options.h"

#define ROWS(a) (a), sizeof(a) / sizeof(*(a))

static char *replay(struct spur_trace *t, struct any_options opt, unsigned threads)
{
	struct out out;
	struct spur_error err = { 0 };
	struct pass_env env = {
		.trace = t, .pipe = { .threads = threads },
		ANY_OPTIONS(&opt, "replay"), .out = &out, .err = &err
	};

	out_to_memory(&out);
	fake_rewind(t);
	assert_int_equal(pass_find("replay", NULL)->run(&env), SPUR_OK);
	out_char(&out, '\0');
	return out.buf;
}

static void expect(struct spur_trace *t, struct any_options opt, const char *want)
{
	char *text = replay(t, opt, 2);

	assert_string_equal(text, want);
	free(text);
}

static void nesting(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "abc", 7, 123), a = fake_class(t, "main", "/bin/abc"),
		 b = fake_class(t, "work", "/bin/abc");
	uint32_t c = fake_class(t, "a_name_that_is_longer_than_what_is_copied_at_once",
				"/lib/libc.so.6");
	struct spur_event rows[] = {
		{ .kind = SPUR_BEGIN, .ts = 1000, .cls = a, .track = k, .nargs = 1, .id = 5 },
		{ .kind = SPUR_BEGIN, .ts = 1100, .cls = b, .track = k, .nargs = 1, .id = 6 },
		{ .kind = SPUR_END_SPAN, .ts = 1350, .cls = b, .track = k, .nargs = 1, .id = 7 },
		FAKE_B(1400, b, k),
		FAKE_B(1500, c, k),
		FAKE_E(1600, c, k),
		FAKE_E(2000000, b, k),
		{ .kind = SPUR_END_SPAN,
		  .ts = 12345679,
		  .cls = a,
		  .track = k,
		  .nargs = 1,
		  .id = 8 },
	};
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t, (struct any_options){ 0 },
	       "  duration tid │ call\n"
	       "           123 │ main(x=5) {\n"
	       "  0.250 us 123 │   work(x=6) = x=7;\n"
	       "           123 │   work() {\n"
	       "  0.100 us 123 │     a_name_that_is_longer_than_what_is_copied_at_once();\n"
	       "  1.998 ms 123 │   } /* work */\n"
	       " 12.344 ms 123 │ } = x=8; /* main */\n");
	expect(t,
	       (struct any_options){ .fields = "task,pid,module,addr",
				      .no_merge = true,
				      .no_comment = true,
				      .no_args = true,
				      .flat = true },
	       "task            pid module                       addr │ call\n"
	       "abc               7 abc                             5 │ main() {\n"
	       "abc               7 abc                             6 │ work() {\n"
	       "abc               7 abc                             7 │ }\n"
	       "abc               7 abc                             0 │ work() {\n"
	       "abc               7 libc.so.6                       0 │ "
	       "a_name_that_is_longer_than_what_is_copied_at_once() {\n"
	       "abc               7 libc.so.6                       0 │ }\n"
	       "abc               7 abc                             0 │ }\n"
	       "abc               7 abc                             8 │ }\n");
	expect(t, (struct any_options){ .fields = "none", .libname = true },
	       "main@abc(x=5) {\n"
	       "  work@abc(x=6) = x=7;\n"
	       "  work@abc() {\n"
	       "    a_name_that_is_longer_than_what_is_copied_at_once@libc.so.6();\n"
	       "  } /* work@abc */\n"
	       "} = x=8; /* main@abc */\n");
	spur_close(t);
}

/* What has no begin or no end is shown as such; what is unknown below is not made up. */
static void unfinished(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 123), a = fake_class(t, "a", ""),
		 b = fake_class(t, "b", ""), c = fake_class(t, "c", "");
	struct spur_event rows[] = { FAKE_ED(1, c, k, 2),  FAKE_BD(10, a, k, 0),
				     FAKE_BD(20, b, k, 1), FAKE_ED(30, a, k, 0),
				     FAKE_BD(40, b, k, 3), FAKE_ED(50, b, k, 3),
				     FAKE_BD(60, a, k, 0), FAKE_BD(70, b, k, 1) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t, (struct any_options){ 0 },
	       "  duration tid │ call\n"
	       "           123 │ } /* c: no begin */\n"
	       "           123 │ a() {\n"
	       "           123 │   b() {\n"
	       "  0.010 us 123 │   } /* b: no end */\n"
	       "  0.020 us 123 │ } /* a */\n"
	       "  0.010 us 123 │       b();\n"
	       "           123 │ a() {\n"
	       "           123 │   b() {\n"
	       "  0.000 us 123 │   } /* b: still open */\n"
	       "  0.010 us 123 │ } /* a: still open */\n");
	spur_close(t);
}

/*
 * ENDs that name a function instead of a depth: an exception, ends of nothing, an end of whatever
 * is open.
 */
static void ends_by_class(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 123), a = fake_class(t, "a", ""),
		 b = fake_class(t, "b", ""), c = fake_class(t, "c", "");
	struct spur_event rows[] = { FAKE_E(5, c, k),
				     FAKE_B(10, a, k),
				     FAKE_B(20, b, k),
				     FAKE_B(30, c, k),
				     FAKE_E(50, a, k),
				     FAKE_B(60, a, k),
				     FAKE_E(70, b, k),
				     FAKE_B(80, b, k),
				     FAKE_E(90, c, k), /* everything lies inside it */
				     FAKE_E(95, b, k),
				     FAKE_ANY(99, c, k),
				     FAKE_B(100, a, k),
				     FAKE_ANY(110, c, k),
				     { .kind = SPUR_BEGIN, .ts = 120, .cls = a, .track = k },
				     { .kind = SPUR_INSTANT, .ts = 121, .cls = c, .track = k },
				     { .kind = SPUR_END_SPAN,
				       .ts = 122,
				       .cls = b,
				       .track = k,
				       .flags = SPUR_F_ANY,
				       .nargs = 1,
				       .id = 4 },
				     FAKE_ANY(130, c, k) };
	struct fake_feed f;

	(void)state;
	rows[6].flags = SPUR_F_GAP;
	fake_feed(t, &f, ROWS(rows));
	expect(t, (struct any_options){ 0 },
	       "  duration tid │ call\n"
	       "           123 │ } /* c: no begin */\n"
	       "           123 │ a() {\n"
	       "           123 │   b() {\n"
	       "           123 │     c() {\n"
	       "  0.020 us 123 │     } /* c: no end */\n"
	       "  0.030 us 123 │   } /* b: no end */\n"
	       "  0.040 us 123 │ } /* a */\n"
	       "           123 │ a() {\n"
	       "           123 │   } /* b: no begin */\n"
	       "           123 │   b() {\n"
	       "  0.010 us 123 │   } /* b: no end */\n"
	       "  0.030 us 123 │ } /* a: no end */\n"
	       "           123 │ } /* c: no begin */\n"
	       "           123 │ } /* b: no begin */\n"
	       "           123 │ } /* c: no begin */\n"
	       "  0.010 us 123 │ a();\n"
	       "           123 │ a() {\n"
	       "           123 │   /* c */\n"
	       "  0.002 us 123 │ } = x=4; /* a */\n"
	       "           123 │ } /* c: no begin */\n");
	spur_close(t);
}

/* main calls a, which jumps to b, which jumps to c: all of them are at main's next level. */
static struct spur_trace *tail_trace(struct fake_feed *f)
{
	enum { TAIL = SPUR_F_TAIL };
	static struct spur_event rows[14];
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 123), m = fake_class(t, "main", ""),
		 a = fake_class(t, "a", ""), b = fake_class(t, "b", ""), c = fake_class(t, "c", "");
	const struct spur_event calls[] = {
		FAKE_B(10, m, k), FAKE_B(20, a, k),  FAKE_B(30, c, k), FAKE_E(40, c, k),
		FAKE_E(50, a, k), FAKE_B(50, b, k),  FAKE_E(60, b, k), FAKE_B(60, c, k),
		FAKE_E(70, c, k), FAKE_B(70, a, k),  FAKE_B(75, b, k), FAKE_E(80, a, k),
		FAKE_E(90, c, k), FAKE_E(100, m, k),
	};

	memcpy(rows, calls, sizeof(calls));
	for (int i = 4; i < 10; i++)
		rows[i].flags = TAIL;
	rows[12].flags = TAIL | SPUR_F_GAP;
	rows[7].nargs = rows[8].nargs = 1;
	rows[8].id = 3;
	fake_feed(t, f, ROWS(rows));
	return t;
}

static void tail_calls(void **state)
{
	struct fake_feed f;
	struct spur_trace *t = tail_trace(&f);

	(void)state;
	expect(t, (struct any_options){ 0 },
	       "  duration tid │ call\n"
	       "           123 │ main() {\n"
	       "           123 │   a() {\n"
	       "  0.010 us 123 │     c();\n"
	       "  0.030 us 123 │   } /* a: tail call */\n"
	       "  0.010 us 123 │   b(); /* tail call */\n"
	       "  0.010 us 123 │   c(x=0) = x=3; /* tail call */\n"
	       "           123 │   a() {\n"
	       "           123 │     b() {\n"
	       "  0.005 us 123 │     } /* b: no end */\n"
	       "  0.010 us 123 │   } /* a */\n"
	       "           123 │   } /* c: no begin, tail call */\n"
	       "  0.090 us 123 │ } /* main */\n");
	expect(t, (struct any_options){ .fields = "none", .no_comment = true, .color = true },
	       "main() {\n"
	       "  a() {\n"
	       "    c();\n"
	       "  }\033[90m /* a: tail call */\033[0m\n"
	       "  b();\033[90m /* tail call */\033[0m\n"
	       "  c(x=0) = x=3;\033[90m /* tail call */\033[0m\n"
	       "  a() {\n"
	       "    b() {\n"
	       "    }\033[90m /* b: no end */\033[0m\n"
	       "  }\n"
	       "  }\033[90m /* c: no begin, tail call */\033[0m\n"
	       "}\n");
	expect(t, (struct any_options){ .fields = "duration", .no_merge = true, .flat = true },
	       "  duration │ call\n"
	       "           │ main() {\n"
	       "           │ a() {\n"
	       "           │ c() {\n"
	       "  0.010 us │ } /* c */\n"
	       "  0.030 us │ } /* a: tail call */\n"
	       "           │ b() {\n"
	       "  0.010 us │ } /* b: tail call */\n"
	       "           │ c(x=0) {\n"
	       "  0.010 us │ } = x=3; /* c: tail call */\n"
	       "           │ a() {\n"
	       "           │ b() {\n"
	       "  0.005 us │ } /* b: no end */\n"
	       "  0.010 us │ } /* a */\n"
	       "           │ } /* c: no begin, tail call */\n"
	       "  0.090 us │ } /* main */\n");
	spur_close(t);
}

/*
 * What is shown in the quick way is what the slow way shows: rows that come one by one never take
 * the former. With and without depth; calls without an end, ends without a begin, tail calls,
 * arguments, deep stacks.
 */
enum { RANDOM_ROWS = 40000, RANDOM_NAMES = 40 };

static void random_rows(struct spur_event *rows, const uint32_t *cls, int turn, unsigned *seed)
{
	static uint32_t open[RANDOM_ROWS];
	const bool recorded = turn == 2;
	int depth = 0;

	for (int i = 0; i < RANDOM_ROWS; i++) {
		const bool deep = i / 5000 % 2 && !recorded;
		const bool end = depth && rand_r(seed) % 16 > (deep ? 5 : 7);
		struct spur_event *row = &rows[i];

		*row = (struct spur_event){ .kind = end ? SPUR_END_SPAN : SPUR_BEGIN,
					    .ts = i * 10,
					    .cls = cls[rand_r(seed) % RANDOM_NAMES] };
		depth -= end;
		row->flags = recorded ? SPUR_F_DEPTH : 0;
		row->depth = (uint16_t)depth;
		if (end && rand_r(seed) % 64)
			row->cls = open[depth];
		if (!end)
			open[depth++] = row->cls;
		if (rand_r(seed) % 64 == 0)
			row->flags |= turn ? SPUR_F_TAIL : SPUR_F_ANY;
		row->nargs = rand_r(seed) % 64 == 0;
		if (rand_r(seed) % 256 == 0)
			row->kind = SPUR_INSTANT;
		if (rand_r(seed) % 256 == 0)
			*row = (struct spur_event)FAKE_OUT(i * 10, cls[0], 0);
	}
}

static void quick_and_slow(void **state)
{
	static struct spur_event rows[RANDOM_ROWS];
	unsigned seed = 5;

	(void)state;
	for (int turn = 0; turn < 3; turn++) {
		struct spur_trace *t = fake_trace();
		uint32_t cls[RANDOM_NAMES];
		struct fake_feed f;
		char name[16], *text, *again;

		fake_track(t, "x", 1, 1);
		for (int i = 0; i < RANDOM_NAMES; i++) {
			snprintf(name, sizeof(name), "f%d", i);
			cls[i] = fake_class(t, name, "");
		}
		random_rows(rows, cls, turn, &seed);
		fake_feed(t, &f, rows, RANDOM_ROWS);
		text = replay(t, (struct any_options){ 0 }, 1);
		f.batch = 1;
		again = replay(t, (struct any_options){ 0 }, 1);
		assert_string_equal(text, again);
		free(text);
		free(again);
		spur_close(t);
	}
}

static void events(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 123), a = fake_class(t, "a", ""),
		 e = fake_class(t, "probe\033[2J", ""), s = fake_class(t, "sched", "");
	struct spur_event rows[] = {
		FAKE_OUT(1, s, k),
		FAKE_IN(2, s, k), /* outside of calls: nothing to show */
		FAKE_B(10, a, k),
		FAKE_OUT(20, s, k),
		FAKE_IN(50, s, k),
		{ .kind = SPUR_INSTANT, .ts = 60, .cls = e, .track = k, .nargs = 1, .id = 3 },
		{ .kind = SPUR_LOST, .ts = 60, .cls = e, .track = k, .id = 12 },
		{ .kind = SPUR_SWITCH,
		  .flags = SPUR_F_OUT | SPUR_F_PREEMPTED,
		  .ts = 70,
		  .cls = s,
		  .track = k },
		{ .kind = SPUR_WAKEUP, .ts = 75, .cls = e, .track = k },
		FAKE_IN(90, s, k),
		FAKE_E(100, a, k),
		FAKE_SPAN(200, 50, a, k),
		FAKE_SPAN(210, 10, a, k),
		{ .kind = SPUR_ASYNC_BEGIN, .ts = 300, .cls = e, .track = k },
	};
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t, (struct any_options){ 0 },
	       "  duration tid │ call\n"
	       "           123 │ a() {\n"
	       "  0.030 us 123 │   /* off CPU */\n"
	       "           123 │   /* probe\\x1b[2J: x=3 */\n"
	       "           123 │   /* LOST 12 events */\n"
	       "           123 │   /* off CPU, preempted */\n"
	       "           123 │   /* wakes probe\\x1b[2J */\n"
	       "  0.020 us 123 │   /* back on CPU */\n"
	       "  0.090 us 123 │ } /* a */\n"
	       "  0.050 us 123 │ a();\n"
	       "  0.010 us 123 │   a();\n"
	       "           123 │ /* async begin probe\\x1b[2J */\n");
	spur_close(t);
}

/* Leaves are folded across other threads' rows. */
static void threads(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), l = fake_track(t, "y", 1, 22222),
		 a = fake_class(t, "a", ""), b = fake_class(t, "b", "");
	struct spur_event one[] = { FAKE_B(10, a, k), FAKE_E(100, a, k) };
	struct spur_event two[] = { FAKE_B(20, b, l), FAKE_B(30, a, l), FAKE_E(40, a, l),
				    FAKE_E(90, b, l) };
	struct fake_feed f[2];

	(void)state;
	fake_feed(t, &f[0], ROWS(one));
	fake_feed(t, &f[1], ROWS(two));
	expect(t, (struct any_options){ .task_newline = true, .raw = true },
	       "  duration   tid │ call\n"
	       "        90     1 │ a();\n"
	       "\n"
	       "           22222 │ b() {\n"
	       "        10 22222 │   a();\n"
	       "        70 22222 │ } /* b */\n");
	spur_close(t);
}

/*
 * Two threads in one feed: a call stays pending while at most the window's rows come in between;
 * then it is shown open.
 */
static void window(void **state)
{
	enum { PAIRS = 20000, SHORT = 1000 };
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), l = fake_track(t, "y", 1, 2),
		 a = fake_class(t, "slow", ""), b = fake_class(t, "b", "");
	static struct spur_event rows[2 * PAIRS + 2 * SHORT + 4];
	const struct spur_event mine[] = {
		FAKE_B(0, a, k),
		{ .kind = SPUR_END_SPAN,
		  .ts = 2 * PAIRS + 1,
		  .cls = a,
		  .track = k,
		  .nargs = 1,
		  .id = 4 },
		FAKE_B(2 * PAIRS + 2, a, k),
		{ .kind = SPUR_END_SPAN,
		  .ts = 2 * PAIRS + 2 * SHORT + 3,
		  .cls = a,
		  .track = k,
		  .nargs = 1,
		  .id = 5 },
	};
	struct fake_feed f;
	char *text, *again, *p;
	size_t n = 0;

	(void)state;
	rows[n++] = mine[0];
	for (int i = 0; i < 2 * (PAIRS + SHORT); i++) {
		if (i == 2 * PAIRS) {
			rows[n++] = mine[1];
			rows[n++] = mine[2];
		}
		rows[n] = (struct spur_event){ .kind = i % 2 ? SPUR_END_SPAN : SPUR_BEGIN,
					       .ts = (int64_t)n,
					       .cls = b,
					       .track = l };
		n++;
	}
	rows[n++] = mine[3];
	fake_feed(t, &f, rows, n);
	text = replay(t, (struct any_options){ 0 }, 1);
	assert_non_null(p = strstr(text, "│ slow() {\n"));
	assert_non_null(strstr(
		p, " 40.001 us   1 │ } = x=4; /* slow */\n  2.001 us   1 │ slow() = x=5;\n"));
	for (uint32_t batch = 1; batch < 9; batch += 6) {
		f.batch = batch;
		again = replay(t, (struct any_options){ 0 }, 3);
		assert_string_equal(text, again);
		free(again);
	}
	free(text);
	spur_close(t);
}

/* Many feeds, many lines, any number of threads: the same text, in time order. */
static void many(void **state)
{
	enum { FEEDS = 40, ROWS_EACH = 3000 };
	struct spur_trace *t = fake_trace();
	static struct spur_event rows[FEEDS][ROWS_EACH];
	static struct fake_feed f[FEEDS];
	uint32_t cls[3] = { fake_class(t, "a", ""), fake_class(t, "b", ""),
			    fake_class(t, "c", "") };
	unsigned seed = 3;
	int64_t last = -1;
	char *one, *other;

	(void)state;
	for (uint32_t i = 0; i < FEEDS; i++) {
		int depth = 0;
		int64_t ts = i;

		fake_track(t, "x", 1, i);
		for (int k = 0; k < ROWS_EACH; k++) {
			bool end = depth && rand_r(&seed) % 2;

			depth += end ? -1 : 1;
			ts += rand_r(&seed) % 50;
			rows[i][k] = (struct spur_event){ .kind = end ? SPUR_END_SPAN : SPUR_BEGIN,
							  .ts = ts,
							  .track = i,
							  .cls = cls[rand_r(&seed) % 3] };
		}
		fake_feed(t, &f[i], ROWS(rows[i]));
	}
	one = replay(t, (struct any_options){ .fields = "time,duration,tid" }, 1);
	for (char *p = strchr(one, '\n') + 1; *p; p = strchr(p, '\n') + 1) {
		int64_t ts = (int64_t)(strtod(p, NULL) * 1e9 + 0.5);

		assert_true(ts >= last);
		last = ts;
	}
	other = replay(t, (struct any_options){ .fields = "time,duration,tid" }, 4);
	assert_string_equal(one, other);
	free(one);
	free(other);
	spur_close(t);
}

/* --limit is in lines: the same as the first lines of everything. */
static void limit(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), l = fake_track(t, "y", 1, 2),
		 a = fake_class(t, "a", ""), b = fake_class(t, "b", "");
	struct spur_event one[] = { FAKE_B(10, a, k), FAKE_B(30, b, k), FAKE_E(50, b, k),
				    FAKE_E(100, a, k) };
	struct spur_event two[] = { FAKE_B(20, b, l), FAKE_B(40, a, l), FAKE_E(60, a, l),
				    FAKE_E(90, b, l) };
	struct fake_feed f[2];
	char *all, *text;

	(void)state;
	fake_feed(t, &f[0], ROWS(one));
	fake_feed(t, &f[1], ROWS(two));
	all = replay(t, (struct any_options){ 0 }, 1);
	for (uint64_t n = 1; n < 8; n++) {
		struct out out;
		struct spur_error err = { 0 };
		const struct any_options opt = { 0 };
		struct pass_env env = { .trace = t,
					.pipe = { .threads = 2, .limit = n },
					ANY_OPTIONS(&opt, "replay"),
					.out = &out,
					.err = &err };
		size_t lines = 0;

		out_to_memory(&out);
		fake_rewind(t);
		assert_int_equal(pass_find("replay", NULL)->run(&env), SPUR_OK);
		out_char(&out, '\0');
		text = out.buf;
		assert_memory_equal(all, text, out.len - 1);
		for (char *p = text; (p = strchr(p, '\n')); p++)
			lines++;
		assert_int_equal(lines, 1 + (n < 6 ? n : 6));
		out_free(&out);
	}
	free(all);
	spur_close(t);
}

static void deep(void **state)
{
	enum { DEPTH = 70000 };
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), a = fake_class(t, "r", "");
	struct spur_event *rows = calloc(DEPTH, sizeof(*rows));
	struct fake_feed f;
	size_t longest = 0;
	char *text;

	(void)state;
	for (int i = 0; i < DEPTH; i++)
		rows[i] = (struct spur_event){ .kind = SPUR_BEGIN, .ts = i, .cls = a, .track = k };
	fake_feed(t, &f, rows, DEPTH);
	text = replay(t, (struct any_options){ 0 }, 2);
	for (char *p = text, *e; (e = strchr(p, '\n')); p = e + 1)
		longest = (size_t)(e - p) > longest ? (size_t)(e - p) : longest;
	assert_true(longest < 200);
	assert_non_null(strstr(text, "[1000] r() {\n"));
	free(text);
	free(rows);
	spur_close(t);
}

static void no_memory(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), a = fake_class(t, "a", ""),
		 b = fake_class(t, "b", "");
	struct spur_event rows[] = {
		FAKE_B(10, a, k),
		{ .kind = SPUR_BEGIN, .ts = 20, .cls = b, .track = k, .nargs = 1 },
		FAKE_E(40, b, k),
		FAKE_E(50, a, k)
	};
	struct fake_feed f;
	bool done = false;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	for (uint64_t n = 1; !done; n++) {
		struct any_options opt = { 0 };
		struct out out;
		struct spur_error err = { 0 };
		struct pass_env env = { .trace = t,
					.pipe = { .threads = 1 },
					ANY_OPTIONS(&opt, "replay"),
					.out = &out,
					.err = &err };
		enum spur_status st;

		out_to_memory(&out);
		fake_rewind(t);
		mem_fail_at(n);
		st = pass_find("replay", NULL)->run(&env);
		done = mem_count() < n;
		mem_fail_at(0);
		assert_true(n < 1000);
		assert_true(st == SPUR_OK || (st == SPUR_FAIL && err.code == SPUR_ERR_MEMORY));
		out_free(&out);
	}
	spur_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nesting),	  cmocka_unit_test(unfinished),
		cmocka_unit_test(ends_by_class),  cmocka_unit_test(tail_calls),
		cmocka_unit_test(quick_and_slow), cmocka_unit_test(events),
		cmocka_unit_test(threads),	  cmocka_unit_test(window),
		cmocka_unit_test(many),		  cmocka_unit_test(limit),
		cmocka_unit_test(deep),		  cmocka_unit_test(no_memory)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
