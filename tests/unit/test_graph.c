/*
 * graph: the tree, callers of one function, forms, the bound on nodes, and that workers and batches
 * change nothing.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

#include "pass/fold/tree.h"
#include "unit/any_options.h"

#define ROWS(a) (a), sizeof(a) / sizeof(*(a))

static char *graph(struct spur_trace *t, struct any_options opt, unsigned threads,
		   enum spur_status want)
{
	struct out out;
	struct spur_error err = { 0 };
	struct pass_env env = {
		.trace = t, .pipe = { .threads = threads },
		ANY_OPTIONS(&opt, "graph"), .out = &out, .err = &err
	};

	out_to_memory(&out);
	fake_rewind(t);
	assert_int_equal(pass_find("graph", NULL)->run(&env), want);
	assert_int_equal(want == SPUR_FAIL, err.code != SPUR_ERR_NONE);
	out_char(&out, '\0');
	return out.buf;
}

static void expect(struct spur_trace *t, struct any_options opt, const char *want)
{
	char *text = graph(t, opt, 2, SPUR_OK);

	assert_string_equal(text, want);
	free(text);
}

/*
 * main calls a (which calls c twice and goes off the CPU), then b > a > c; another thread calls a >
 * c.
 */
static struct spur_trace *small(void)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), l = fake_track(t, "y", 1, 2);
	uint32_t m = fake_class(t, "main", ""), a = fake_class(t, "a", ""),
		 b = fake_class(t, "b", ""), c = fake_class(t, "c", "");
	uint32_t a2 = fake_class(t, "a", "");
	static struct spur_event rows[15], other[3];
	static struct fake_feed feeds[2];
	const struct spur_event first[] = {
		FAKE_B(0, m, k),      FAKE_B(1000, a, k),   FAKE_B(2000, c, k),
		FAKE_E(3000, c, k),   FAKE_B(4000, c, k),   FAKE_E(5000, c, k),
		FAKE_OUT(6000, b, k), FAKE_IN(8000, b, k),  FAKE_E(9000, a, k),
		FAKE_B(10000, b, k),  FAKE_B(11000, a2, k), FAKE_B(12000, c, k),
		FAKE_E(15000, c, k),  FAKE_E(16000, a2, k), FAKE_E(30000, b, k),
	};
	const struct spur_event second[] = { FAKE_B(0, a, l), FAKE_SPAN(10, 20, c, l),
					     FAKE_E(1000, a, l) };

	memcpy(rows, first, sizeof(first));
	memcpy(other, second, sizeof(second));
	fake_feed(t, &feeds[0], ROWS(rows));
	fake_feed(t, &feeds[1], ROWS(other));
	return t;
}

static void text(void **state)
{
	struct spur_trace *t = small();

	(void)state;
	expect(t, (struct any_options){ 0 },
	       "     total        self       calls  function\n"
	       " 30.000 us    2.000 us           1  main\n"
	       " 20.000 us   15.000 us           1  ├ b\n"
	       "  5.000 us    2.000 us           1  │ └ a\n"
	       "  3.000 us    3.000 us           1  │   └ c\n"
	       "  8.000 us    4.000 us           1  └ a\n"
	       "  2.000 us    2.000 us           1    ├ (off CPU)\n"
	       "  2.000 us    2.000 us           2    └ c\n"
	       "  1.000 us    0.980 us           1  a\n"
	       "  0.020 us    0.020 us           1  └ c\n"
	       "\nOf 1 calls the trace lacks the end (--fields=total,calls,unfinished shows "
	       "which).\n");
	expect(t,
	       (struct any_options){
		       .fields = "calls,avg,unfinished", .sort = "first", .raw = true, .limit = 3 },
	       "     calls         avg  unfinished  function\n"
	       "         1        1000           0  a\n"
	       "         1          20           0  └ c\n"
	       "         1       30000           1  main\n"
	       "\nMore than 3 lines: the rest is not shown.\n");
	spur_close(t);
}

static void root(void **state)
{
	struct spur_trace *t = small();

	(void)state;
	expect(t, (struct any_options){ .root = "a" },
	       "     total       calls  called by (innermost first)\n"
	       "  8.000 us           1  main\n"
	       "  5.000 us           1  b < main\n"
	       "  1.000 us           1  (nobody)\n"
	       "\n"
	       "     total        self       calls  function\n"
	       " 14.000 us    6.980 us           3  a\n"
	       "  5.020 us    5.020 us           4  ├ c\n"
	       "  2.000 us    2.000 us           1  └ (off CPU)\n");
	expect(t, (struct any_options){ .root = "b", .form = FORM_JSON },
	       "{\"schema\":1,\"spur\":\"graph\",\"root\":\"b\",\"cut\":false,\n"
	       "\"callers\":[\n{\"calls\":1,\"total\":20000,\"path\":[\"main\"]}\n],\n"
	       "\"nodes\":[\n"
	       "{\"id\":1,\"parent\":null,\"function\":\"b\",\"module\":\"\",\"calls\":1,\"total\":"
	       "20000,\"self\":15000,\"unfinished\":0},\n"
	       "{\"id\":2,\"parent\":1,\"function\":\"a\",\"module\":\"\",\"calls\":1,\"total\":"
	       "5000,\"self\":2000,\"unfinished\":0},\n"
	       "{\"id\":3,\"parent\":2,\"function\":\"c\",\"module\":\"\",\"calls\":1,\"total\":"
	       "3000,\"self\":3000,\"unfinished\":0}\n]}\n");
	expect(t, (struct any_options){ .root = "b", .form = FORM_CSV },
	       "id,parent,function,module,calls,total,self,unfinished\n"
	       "1,,b,,1,20000,15000,0\n2,1,a,,1,5000,2000,0\n3,2,c,,1,3000,3000,0\n");
	expect(t, (struct any_options){ .root = "a", .form = FORM_CSV, .sort = "-total" },
	       "id,parent,function,module,calls,total,self,unfinished\n"
	       "1,,a,,3,14000,6980,0\n2,1,(off CPU),,1,2000,2000,0\n3,1,c,,4,5020,5020,0\n");
	free(graph(t, (struct any_options){ .root = "nowhere" }, 1, SPUR_WARN));
	free(graph(t, (struct any_options){ .sort = "colour" }, 1, SPUR_FAIL));
	spur_close(t);
}

/*
 * ENDs that name their function: an exception from c to main; a tail call, after which b is main's
 * child.
 */
static void ends_by_class(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), m = fake_class(t, "main", ""),
		 a = fake_class(t, "a", ""), b = fake_class(t, "b", ""), c = fake_class(t, "c", "");
	struct spur_event rows[] = {
		FAKE_E(5, c, k),
		FAKE_B(10, m, k),
		FAKE_B(20, a, k),
		FAKE_B(30, c, k),
		FAKE_E(50, m, k),
		FAKE_B(60, m, k),
		FAKE_B(70, a, k),
		{ .kind = SPUR_END_SPAN, .ts = 80, .cls = a, .track = k, .flags = SPUR_F_TAIL },
		{ .kind = SPUR_BEGIN, .ts = 80, .cls = b, .track = k, .flags = SPUR_F_TAIL },
		FAKE_SPAN(82, 100, c, k),
		FAKE_E(85, a, k),
		FAKE_E(90, b, k),
		FAKE_E(100, m, k)
	};
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t, (struct any_options){ .form = FORM_CSV, .sort = "first" },
	       "id,parent,function,module,calls,total,self,unfinished\n"
	       "1,,main,,2,80,30,0\n2,1,a,,2,40,20,1\n3,2,c,,1,20,20,1\n"
	       "4,1,b,,1,10,0,0\n5,4,c,,1,100,100,0\n");
	spur_close(t);
}

/* Sampled stacks, beside calls. */
static void samples(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), m = fake_class(t, "main", ""),
		 a = fake_class(t, "a", "");
	const uint32_t path[] = { m, a, a };
	struct spur_event rows[] = {
		FAKE_SAMPLE(0, m, k, 10, 1, 1), FAKE_B(1, m, k),
		FAKE_SAMPLE(2, a, k, 5, 8, 2),	FAKE_E(4, m, k),
		FAKE_SAMPLE(5, a, k, 3, 0, 3),	FAKE_SAMPLE(5, a, k, 3, 0, 4)
	};
	struct fake_feed f;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		fake_stacks[i].cls = path;
		fake_stacks[i].n = i + 1;
	}
	fake_feed(t, &f, ROWS(rows));
	expect(t, (struct any_options){ .form = FORM_CSV },
	       "id,parent,function,module,calls,total,self,unfinished\n"
	       "1,,main,,2,21,13,0\n2,1,a,,8,8,5,0\n3,2,a,,1,3,3,0\n");
	memset(fake_stacks, 0, sizeof(fake_stacks));
	spur_close(t);
}

/* A recursive function: the subtree hangs below its outermost call, and deep trees stay narrow. */
static void deep(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), a = fake_class(t, "rec", "");
	enum { DEPTH = 3000 };
	static struct spur_event rows[2 * DEPTH];
	struct fake_feed f;
	char *text;
	size_t longest = 0;

	(void)state;
	for (int i = 0; i < 2 * DEPTH; i++)
		rows[i] = (struct spur_event){ .kind = i < DEPTH ? SPUR_BEGIN : SPUR_END_SPAN,
					       .ts = i,
					       .cls = a,
					       .track = k };
	fake_feed(t, &f, ROWS(rows));
	text = graph(t, (struct any_options){ .root = "rec" }, 1, SPUR_OK);
	for (char *p = text, *e; (e = strchr(p, '\n')); p = e + 1)
		longest = (size_t)(e - p) > longest ? (size_t)(e - p) : longest;
	assert_true(longest < 200);
	assert_non_null(strstr(text, "[3000] rec\n"));
	assert_non_null(strstr(text, "  (nobody)\n"));
	free(text);
	spur_close(t);
}

/*
 * More different paths than a feed may touch: sums stay right, and the answer is the same on any
 * number of workers.
 */
static void bounded(void **state)
{
	enum { FEEDS = 256, CLASSES = 160, PAIRS = CLASSES * CLASSES };
	struct spur_trace *t = fake_trace();
	static struct fake_feed feeds[FEEDS];
	struct spur_event *rows = calloc(4 * PAIRS, sizeof(*rows));
	uint32_t cls[CLASSES];
	char name[16], *one, *two;
	size_t n = 0;

	(void)state;
	for (int i = 0; i < CLASSES; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		cls[i] = fake_class(t, name, "");
	}
	fake_track(t, "x", 1, 1);
	for (int i = 0; i < PAIRS; i++) {
		const struct spur_event four[] = { FAKE_B(4 * i, cls[i / CLASSES], 0),
						   FAKE_B(4 * i + 1, cls[i % CLASSES], 0),
						   FAKE_E(4 * i + 2, cls[i % CLASSES], 0),
						   FAKE_E(4 * i + 3, cls[i / CLASSES], 0) };

		memcpy(rows + n, four, sizeof(four));
		n += 4;
	}
	fake_feed(t, &feeds[0], rows, n);
	for (int i = 1; i < FEEDS; i++)
		fake_feed(t, &feeds[i], rows, i % 2 ? n / 10 : 8);
	one = graph(t, (struct any_options){ .form = FORM_JSON }, 1, SPUR_OK);
	two = graph(t, (struct any_options){ .form = FORM_JSON }, 2, SPUR_OK);
	assert_string_equal(one, two);
	assert_non_null(strstr(one, "\"cut\":true"));
	assert_non_null(strstr(one, "\"function\":\"(other)\""));
	free(one);
	free(two);
	free(rows);
	spur_close(t);
}

static void no_memory(void **state)
{
	struct spur_trace *t = small();
	bool done = false;

	(void)state;
	for (uint64_t n = 1; !done; n++) {
		struct any_options opt = { .root = "a" };
		struct out out;
		struct spur_error err = { 0 };
		struct pass_env env = { .trace = t,
					.pipe = { .threads = 1 },
					ANY_OPTIONS(&opt, "graph"),
					.out = &out,
					.err = &err };
		enum spur_status st;

		out_to_memory(&out);
		fake_rewind(t);
		mem_fail_at(n);
		st = pass_find("graph", NULL)->run(&env);
		done = mem_count() < n;
		mem_fail_at(0);
		assert_true(n < 1000);
		assert_true(st == SPUR_OK || (st == SPUR_FAIL && err.code == SPUR_ERR_MEMORY));
		assert_true(!done || !out.error);
		out_free(&out);
	}
	spur_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text),	    cmocka_unit_test(root), cmocka_unit_test(ends_by_class),
		cmocka_unit_test(samples),  cmocka_unit_test(deep), cmocka_unit_test(bounded),
		cmocka_unit_test(no_memory)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
