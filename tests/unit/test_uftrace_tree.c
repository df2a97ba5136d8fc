/*
 * What the uftrace style makes of the call tree, from rows made by hand: graph, its backtraces and
 * tasks, after losses, and the forms of dump that are trees. Against uftrace's own outputs: the
 * style suite.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

#include "flow/pipe.h"
#include "pass/pass.h"
#include "unit/any_options.h"

#define ROWS(a) (a), sizeof(a) / sizeof(*(a))

static char *run(struct spur_trace *t, const char *name, struct any_options opt,
		 enum spur_status want)
{
	struct out out;
	struct spur_error err = { 0 };
	struct pass_env env = { .trace = t,
				.pipe = { .threads = 2 },
				ANY_OPTIONS(&opt, name),
				.out = &out,
				.err = &err };

	out_to_memory(&out);
	fake_rewind(t);
	assert_int_equal(pass_find(name, "uftrace")->run(&env), want);
	out_char(&out, '\0');
	assert_non_null(out.buf);
	return out.buf;
}

static void expect(struct spur_trace *t, const char *name, struct any_options opt,
		   const char *want)
{
	char *text = run(t, name, opt, SPUR_OK);

	assert_string_equal(text, want);
	mem_free(text);
}

/*
 * main calls a twice, in it b once and off the CPU once, then c, which does not end; another
 * thread calls a.
 */
static struct spur_trace *small(void)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), l = fake_track(t, "y", 1, 2);
	uint32_t m = fake_class(t, "main", ""), a = fake_class(t, "a", ""),
		 b = fake_class(t, "b<\"&#\">", ""), c = fake_class(t, "c", "");
	static struct spur_event rows[12], other[2];
	static struct fake_feed feeds[2];
	const struct spur_event first[] = {
		FAKE_B(1000, m, k),   FAKE_B(2000, a, k),   FAKE_E(5000, a, k),
		FAKE_B(6000, a, k),   FAKE_B(7000, b, k),   FAKE_E(8000, b, k),
		FAKE_OUT(9000, m, k), FAKE_IN(19000, m, k), FAKE_E(20000, a, k),
		FAKE_B(21000, c, k),  FAKE_B(22000, b, k),  FAKE_E(26000, b, k),
	};
	const struct spur_event second[] = { FAKE_B(1500, a, l), FAKE_E(2500, a, l) };

	memcpy(rows, first, sizeof(first));
	memcpy(other, second, sizeof(second));
	fake_feed(t, &feeds[0], ROWS(rows));
	fake_feed(t, &feeds[1], ROWS(other));
	return t;
}

static void calls(void **state)
{
	struct spur_trace *t = small();

	(void)state;
	expect(t, "graph", (struct any_options){ 0 },
	       "# Function Call Graph for 'fake' (session: )\n"
	       "========== FUNCTION CALL GRAPH ==========\n"
	       "# TOTAL TIME   FUNCTION\n"
	       "   26.000 us : (1) fake\n"
	       "   25.000 us :  +-(1) main\n"
	       "   17.000 us :  |  +-(2) a\n"
	       "    1.000 us :  |  |  +-(1) b<\"&#\">\n"
	       "             :  |  |  | \n"
	       "   10.000 us :  |  |  +-(1) linux:schedule\n"
	       "             :  |  | \n"
	       "    5.000 us :  |  +-(1) c\n"
	       "    4.000 us :  |    (1) b<\"&#\">\n"
	       "             :  | \n"
	       "    1.000 us :  +-(1) a\n"
	       "\n");
	expect(t, "graph",
	       (struct any_options){ .root = "a",
				      .fields = "total,self,total-avg,total-min,total-max" },
	       "# Function Call Graph for 'a' (session: )\n"
	       "=============== BACKTRACE ===============\n"
	       " backtrace #0: hit 2, time  17.000 us\n"
	       "   [0] main (0)\n"
	       "   [1] a (0)\n"
	       "\n"
	       " backtrace #1: hit 1, time   1.000 us\n"
	       "   [0] a (0)\n"
	       "\n"
	       "========== FUNCTION CALL GRAPH ==========\n"
	       "# TOTAL TIME   SELF TIME   TOTAL AVG   TOTAL MAX   TOTAL MIN   FUNCTION\n"
	       "   18.000 us    7.000 us    6.000 us   14.000 us    1.000 us : (3) a\n"
	       "    1.000 us    1.000 us    1.000 us    1.000 us    1.000 us :  +-(1) b<\"&#\">\n"
	       "                                                             :  | \n"
	       "   10.000 us   10.000 us   10.000 us   10.000 us   10.000 us :  +-(1) "
	       "linux:schedule\n"
	       "\n");
	spur_close(t);
}

static void nothing(void **state)
{
	struct spur_trace *t = small();
	char *text = run(t, "graph", (struct any_options){ .root = "nosuch" }, SPUR_WARN);

	(void)state;
	assert_string_equal(text, "uftrace: cannot find graph for 'nosuch'\n");
	mem_free(text);
	mem_free(run(t, "graph", (struct any_options){ .fields = "nosuch" }, SPUR_FAIL));
	spur_close(t);
}

static void tasks(void **state)
{
	struct spur_trace *t = small();

	(void)state;
	expect(t, "graph", (struct any_options){ .task = true },
	       "========== TASK GRAPH ==========\n"
	       "# TOTAL TIME   SELF TIME     TID      TASK NAME\n"
	       "   25.000 us   15.000 us  [      1] : x\n"
	       "    1.000 us    1.000 us  [      2] :  +-y\n"
	       "\n");
	spur_close(t);
}

/*
 * Two losses: the second function of main is its child again, the time that main had is kept,
 * nothing stands below a.
 */
static void lost(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), m = fake_class(t, "main", ""),
		 a = fake_class(t, "a", ""), b = fake_class(t, "b", "");
	static struct fake_feed feed;
	struct spur_event rows[] = {
		FAKE_BD(1000, m, k, 0),
		FAKE_BD(2000, a, k, 1),
		FAKE_BD(3000, b, k, 2),
		{ .kind = SPUR_LOST, .ts = 3000, .cls = b, .track = k },
		FAKE_BD(5000, b, k, 1),
		FAKE_ED(6000, b, k, 1),
		{ .kind = SPUR_LOST, .ts = 6000, .cls = b, .track = k },
		FAKE_ED(8000, a, k, 1),
		FAKE_ED(9000, m, k, 0),
	};

	(void)state;
	fake_feed(t, &feed, ROWS(rows));
	expect(t, "graph", (struct any_options){ 0 },
	       "# Function Call Graph for 'fake' (session: )\n"
	       "========== FUNCTION CALL GRAPH ==========\n"
	       "# TOTAL TIME   FUNCTION\n"
	       "    8.000 us : (1) fake\n"
	       "    8.000 us : (1) main\n"
	       "             :  +-(1) a\n"
	       "             :  | (1) b\n"
	       "             :  | \n"
	       "    1.000 us :  +-(1) b\n"
	       "\n");
	spur_close(t);
}

static void dumps(void **state)
{
	struct spur_trace *t = small();
	char *page;

	(void)state;
	expect(t, "dump", (struct any_options){ .format = "flame-graph" },
	       "main 1\n"
	       "main;a 2\n"
	       "main;a;b<\"&#\"> 1\n"
	       "main;a;linux:schedule 1\n"
	       "main;c 1\n"
	       "main;c;b<\"&#\"> 1\n"
	       "a 1\n");
	/* Of b below a nothing is left: less than a sample. It goes to a. */
	expect(t, "dump", (struct any_options){ .format = "flame-graph", .sample_ns = 2000 },
	       "main 2\n"
	       "main;a 3\n"
	       "main;a;linux:schedule 5\n"
	       "main;c;b<\"&#\"> 2\n");
	expect(t, "dump", (struct any_options){ .format = "graphviz" },
	       "\ndigraph \"fake\" { \n"
	       "    \"fake\" -> \"main\" [xlabel = \"1\"]\n"
	       "    \"main\" -> \"a\" [xlabel = \"2\"]\n"
	       "    \"a\" -> \"b<\\\"&#\\\">\" [xlabel = \"1\"]\n"
	       "    \"a\" -> \"linux:schedule\" [xlabel = \"1\"]\n"
	       "    \"main\" -> \"c\" [xlabel = \"1\"]\n"
	       "    \"c\" -> \"b<\\\"&#\\\">\" [xlabel = \"1\"]\n"
	       "    \"fake\" -> \"a\" [xlabel = \"1\"]\n"
	       "}\n");
	page = run(t, "dump", (struct any_options){ .format = "mermaid" }, SPUR_OK);
	assert_non_null(strstr(page, "  0_0[\"fake\"] -->|1| 1_1[\"main\"];\n"));
	assert_non_null(strstr(page, "  1_1[\"main\"] -->|2| 2_"));
	assert_non_null(strstr(page, "[\"b#lt;#quot;#amp;#35;#quot;#gt;\"];\n"));
	assert_null(strstr(page, "b<"));
	mem_free(page);
	spur_close(t);
}

/*
 * Memory out at every n-th allocation: no crash, no leak, and either all of the text or SPUR_FAIL.
 */
static void no_memory(void **state)
{
	static const struct {
		const char *pass;
		struct any_options opt;
	} cases[] = {
		{ "graph", { 0 } },
		{ "graph", { .root = "a" } },
		{ "graph", { .task = true } },
		{ "dump", { .format = "flame-graph" } },
		{ "dump", { .format = "graphviz" } },
		{ "dump", { .format = "mermaid" } },
	};
	struct spur_trace *t = small();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct any_options opt = cases[i].opt;
		char *want = run(t, cases[i].pass, opt, SPUR_OK);
		uint64_t n = 0;
		bool done = false;

		for (; !done; n++) {
			struct out out;
			struct spur_error err = { 0 };
			struct pass_env env = { .trace = t,
						.pipe = { .threads = 1 },
						ANY_OPTIONS(&opt, cases[i].pass),
						.out = &out,
						.err = &err };
			enum spur_status st;

			out_to_memory(&out);
			assert_non_null(out_room(&out, 65536));
			fake_rewind(t);
			mem_fail_at(n + 1);
			st = pass_find(cases[i].pass, "uftrace")->run(&env);
			done = mem_count() <= n;
			mem_fail_at(0);
			out_char(&out, '\0');
			if (st == SPUR_OK)
				assert_string_equal(out.buf, want);
			else
				assert_int_equal(err.code, SPUR_ERR_MEMORY);
			out_free(&out);
		}
		assert_true(n > 5);
		mem_free(want);
	}
	spur_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls), cmocka_unit_test(nothing), cmocka_unit_test(tasks),
		cmocka_unit_test(lost),	 cmocka_unit_test(dumps),   cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
