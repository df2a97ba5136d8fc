/*
 * uftrace's report by task (style/uftrace/report/by_task.c): random recordings of several tasks
 * give the sums that all rows in the order of time give, also where records are lost, out of order,
 * of wrong depths or too deep, where tasks are switched, begin within calls, fork, execute another
 * program or jump out of calls, and where functions share an address or have several.
 */
/* uftrace_dir.h has another function of this name than render/frag.h. */
#define put_text put_fragment
#include "style/uftrace/report/report.h"
#undef put_text

#include "model/sink.h"
#include "unit/any_options.h"
#include "unit/uftrace_random.h"

enum {
	RUNS = 100,
	TASKS = 3,
	DEEP = 14, /* levels of most calls */
	SPECIALS = 0x401400, /* fork, execl, leaf, _setjmp, longjmp */
	OTHERS = 5,
	MANY = 0x402000,
	FUNCTIONS = 100,
	SWITCH_OUT = 0x2000,
	PREEMPTED = 0x4000,
};

/* What a recording has besides ordinary calls. */
enum odd {
	ODD_RECORDS = 1 << 0, /* of put_random(), such as lost ones */
	ODD_DEEP = 1 << 1,
	ODD_SWITCHES = 1 << 2,
	ODD_JUMPS = 1 << 3, /* setjmp(), longjmp() */
	ODD_PROCESSES = 1 << 4, /* fork(), execl() */
	ODD_BEGIN = 1 << 5, /* calls are open when the task begins */
	ODD_ADDRESSES = 1 << 6, /* one function has several, one address several functions */
	ODD_BACK = 1 << 7, /* times go back, all of ODD_RECORDS otherwise */
	ODDS = 1 << 8,
	MERGED = ODD_JUMPS | ODD_PROCESSES | ODD_BACK,
};

/* Functions at SPECIALS + 16 * i, and many that are rarely called by themselves, at MANY. */
static void put_symbols(void)
{
	struct out o;

	out_to_memory(&o);
	out_str(&o, "# symbols: 109\n# path name: /bin/prog\n"
		    "0000000000001000 00000100 T main\n0000000000001100 00000100 T _Z4worki\n"
		    "0000000000001200 00000100 T _Z4workc\n0000000000001300 00000010 P free\n"
		    "0000000000001400 00000010 P fork\n0000000000001410 00000010 P execl\n"
		    "0000000000001420 00000010 P leaf\n0000000000001430 00000010 P _setjmp\n"
		    "0000000000001440 00000010 P longjmp\n");
	for (unsigned i = 0; i < FUNCTIONS; i++)
		out_printf(&o, "%016x 00000010 T f%u\n", MANY - 0x400000 + 16 * i, i);
	put_file("prog.sym", o.buf, o.len);
	out_free(&o);
}

static void put_program(unsigned odd)
{
	static const char tasks[] =
		"SESS timestamp=0.000000001 pid=1 sid=0123456789abcdef exename=\"/bin/prog\"\n"
		"TASK timestamp=0.000000001 tid=1 pid=1\n"
		"FORK timestamp=0.000000900 pid=2 ppid=1\n"
		"TASK timestamp=0.000000900 tid=3 pid=1\n";
	static const char other[] =
		"SESS timestamp=0.000040000 pid=1 sid=fedcba9876543210 exename=\"/bin/other\"\n"
		"TASK timestamp=0.000040000 tid=1 pid=1\n";
	char text[sizeof(tasks) + sizeof(other)];

	put_basics("exename:/bin/prog\n");
	snprintf(text, sizeof(text), "%s%s", tasks, odd & ODD_ADDRESSES ? other : "");
	put_text("task.txt", text);
	put_text("sid-fedcba9876543210.map",
		 "00400000-00500000 r-xp 00000000 00:00 0 /bin/other\n"
		 "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0 [stack]\n");
	put_text("other.sym",
		 "# symbols: 3\n# path name: /bin/other\n"
		 "0000000000001000 00000100 T main\n0000000000001100 00000100 T other\n"
		 "0000000000001200 00000300 T leaf\n");
	put_symbols();
}

static uint64_t any_function(unsigned odd)
{
	static const uint64_t functions[] = { MAIN, WORK, LEAF, FREE };
	const unsigned first = odd & ODD_PROCESSES ? 0 : 2, end = odd & ODD_JUMPS ? OTHERS : 3;

	if (!below(20) && end > first)
		return SPECIALS + 16 * (first + below(end - first));
	if (below(2))
		return MANY + 16 * below(FUNCTIONS);
	return functions[below(4)] + (odd & ODD_ADDRESSES && !below(50) ? 8 : 4);
}

/* One record that is none of an ordinary call. */
static void put_odd(unsigned odd, uint64_t t, unsigned *depth, uint64_t *addrs)
{
	switch (below(4)) {
	case 0:
		if (odd & ODD_BACK)
			rec(t - below(t), ENTRY, *depth, LEAF + 4);
		break;
	case 1: /* an EXIT is missing */
		if (*depth < 2)
			break;
		*depth -= 2;
		rec(t, EXIT, *depth, addrs[*depth]);
		break;
	case 2: /* without its magic */
		raw_uint(t, 8);
		raw_uint(next_random() & ~(uint64_t)0x38, 8);
		break;
	default: /* with begins or ends of calls */
		rec(t, LOST, 0, 1 + below(9));
		for (uint64_t n = below(6); n; n--)
			addrs[(*depth)++] = any_function(odd);
		*depth -= (unsigned)below(*depth < 9 ? *depth + 1 : 9);
	}
}

/* Whether the next record begins a call. Deep calls begin in a row, and end in a row. */
static bool enters(unsigned odd, unsigned task, unsigned i, unsigned depth)
{
	const unsigned deep = 300 + 350 * task, from = RECORDS / 3;

	if (!depth)
		return true;
	if (odd & ODD_DEEP && i >= from && i < from + 2 * deep - 50)
		return i < from + deep;
	return depth < DEEP && below(2);
}

static void put_task(unsigned task, unsigned odd)
{
	static uint64_t addrs[2048];
	uint64_t t = 1000 * task;
	unsigned depth = odd & ODD_BEGIN ? (unsigned)below(9) : 0;
	char name[16];

	for (unsigned i = 0; i < depth; i++)
		addrs[i] = any_function(0);
	for (unsigned i = 0; i < RECORDS; i++) {
		t += below(200) ? below(20) : below(5000);
		if (odd & ODD_RECORDS && !below(300))
			put_odd(odd, t, &depth, addrs);
		if (enters(odd, task, i, depth)) {
			addrs[depth] = any_function(odd);
			rec(t, ENTRY, depth, addrs[depth] + (depth >> 10));
			depth++;
		} else {
			depth--;
			rec(t, EXIT, depth, addrs[depth] + (depth >> 10));
		}
	}
	/* Calls that have left their frames long before are open at the end. */
	if (odd & ODD_RECORDS && depth) {
		rec(t, LOST, 0, 1);
		rec(t + 10, ENTRY, depth + 9, any_function(0));
	}
	snprintf(name, sizeof(name), "%u.dat", task);
	dat_write(name);
}

static void put_switches(bool any)
{
	uint64_t t = 900;

	for (unsigned i = 0; any && i < 300; i++) {
		raw_uint(14, 4);
		raw_uint(i % 2 && below(50) ? 0
			 : below(3)	    ? SWITCH_OUT
					    : SWITCH_OUT | PREEMPTED,
			 2);
		raw_uint(24, 2);
		raw_uint(1, 4);
		/* The last of one task are long before its end, those of the others after it. */
		raw_uint(1 + i / 2 % (i < 100 ? TASKS : TASKS - 1), 4);
		raw_uint(t, 8);
		t += below(1000);
	}
	dat_write("perf-cpu0.dat");
}

/* The recorder kept twice as many levels as uftrace shows. */
static void put_levels(void)
{
	enum { AT_FEATURES = 16, AT_LEVELS = 32 };
	const uint8_t features = 1 << UFTRACE_SYM_REL_ADDR | 1 << UFTRACE_MAX_STACK;
	const uint8_t levels[2] = { 0, 8 };
	char path[256];
	FILE *f;

	path_of(path, sizeof(path), "info");
	f = fopen(path, "r+b");
	assert_non_null(f);
	assert_int_equal(fseek(f, AT_FEATURES, SEEK_SET), 0);
	assert_int_equal(fwrite(&features, 1, 1, f), 1);
	assert_int_equal(fseek(f, AT_LEVELS, SEEK_SET), 0);
	assert_int_equal(fwrite(levels, 1, sizeof(levels), f), sizeof(levels));
	assert_int_equal(fclose(f), 0);
}

static void put_recording(unsigned odd)
{
	put_program(odd);
	if (odd & ODD_DEEP)
		put_levels();
	for (unsigned task = 1; task <= TASKS; task++)
		put_task(task, odd);
	put_switches(odd & ODD_SWITCHES);
}

/* --- sums --- */

struct sums {
	struct spur_trace *trace;
	struct style style;
	struct report report;
};

static struct spur_trace *open_dir(uint64_t read_size)
{
	struct spur_options options = SPUR_OPTIONS(.symbol_dirs = "/nonexistent");
	struct spur_trace *t;
	struct spur_error err;

	options.read_size = read_size;
	if (spur_open(&t, dir, &options, &err) == SPUR_FAIL)
		fail_msg("%s", err.message);
	return t;
}

/* A limit, if only that of all numbers, has the rows merged. Returns false if out of memory. */
static bool sums_read(struct sums *s, uint64_t read_size, unsigned threads, uint64_t limit)
{
	static const struct any_options options;
	struct spur_error err = { 0 };
	struct pass_env env;

	*s = (struct sums){ .trace = open_dir(read_size) };
	env = (struct pass_env){ .trace = s->trace,
				 .pipe = { .threads = threads, .limit = limit },
				 .err = &err,
				 ANY_OPTIONS(&options, "report.uftrace") };
	s->report = (struct report){ .s = &s->style, .sums_only = true };
	return style_open(&s->style, &env) && report_collect(&s->report, &env);
}

static void sums_close(struct sums *s)
{
	report_close(&s->report);
	style_close(&s->style);
	spur_close(s->trace);
}

static const struct report_node *node_of(const struct sums *s, const char *name)
{
	for (size_t i = 0; i < s->report.n; i++)
		if (strcmp(spur_string(s->trace, s->report.nodes[i].name, NULL), name) == 0)
			return &s->report.nodes[i];
	return NULL;
}

static void assert_same(const struct sums *a, const struct sums *b)
{
	assert_int_equal(a->report.n, b->report.n);
	for (size_t i = 0; i < a->report.n; i++) {
		const struct report_node *x = &a->report.nodes[i];
		const struct report_node *y = node_of(b, spur_string(a->trace, x->name, NULL));

		assert_non_null(y);
		assert_int_equal(x->calls, y->calls);
		assert_int_equal(x->total.sum, y->total.sum);
		assert_int_equal(x->self.sum, y->self.sum);
	}
	assert_int_equal(a->trace->read.records, b->trace->read.records);
	assert_int_equal(a->trace->read.discarded, b->trace->read.discarded);
	assert_int_equal(spur_damage_count(a->trace), spur_damage_count(b->trace));
	for (size_t i = 0; i < a->trace->nfeeds; i++)
		for (int k = 0; k < DIAG_LEVELS; k++) {
			const enum diag_level level = (enum diag_level)k;

			assert_int_equal(diag_count(&a->trace->feeds[i]->diag, level),
					 diag_count(&b->trace->feeds[i]->diag, level));
		}
}

static void same_as_merged(void **state)
{
	static const uint64_t sizes[] = { 0, 0, 1, 7, 4096 };
	static const unsigned threads[] = { 1, 2, 5 };
	const unsigned runs = getenv("SANITIZED") ? RUNS / 10 : RUNS;

	(void)state;
	for (unsigned i = 0; i < runs; i++) {
		struct sums by_task, merged;

		/* Every kind by itself, then any of them, or of those that need no merge. */
		put_recording(i < 9 ? 1u << i >> 1
				    : (unsigned)below(ODDS) & (i % 3 ? ~(unsigned)MERGED : ~0u));
		assert_true(sums_read(&by_task, sizes[i % 5], threads[i / 9 % 3], 0));
		assert_true(sums_read(&merged, 0, 1, UINT64_MAX));
		assert_same(&by_task, &merged);
		sums_close(&by_task);
		sums_close(&merged);
	}
}

/* --- rows that are left --- */

static unsigned nrows;

static bool count_row(void *self, struct style_task *t, const struct spur_event *row)
{
	(void)self;
	(void)t;
	(void)row;
	nrows++;
	return true;
}

/* Returns whether the tasks of the recording were read one by one; nrows gets the ENDs of rows. */
static bool reads_by_task(void)
{
	static const struct any_options options;
	struct spur_error err = { 0 };
	struct spur_trace *t = open_dir(0);
	struct pass_env env = { .trace = t,
				.pipe = { .threads = 1 },
				.err = &err,
				ANY_OPTIONS(&options, "report.uftrace") };
	struct style s;
	struct report r = { .s = &s, .sums_only = true };
	struct report_collector c = {
		.r = &r,
		.walk = { .s = &s, .record = count_row, .ends_only = true },
	};
	bool done;

	nrows = 0;
	assert_true(style_open(&s, &env));
	assert_true(report_by_task(&c, &env, &done));
	assert_true(done || !r.n);
	assert_int_equal(t->read.records > 0, done);
	report_close(&r);
	style_close(&s);
	spur_close(t);
	return done;
}

static void ordinary_calls_make_no_rows(void **state)
{
	(void)state;
	put_recording(0);
	assert_true(reads_by_task());
	/* The first rows of a task are read before its calls can be lent. */
	assert_true(nrows <= TASKS * BATCH_ROWS);
	put_recording(ODD_BEGIN);
	assert_true(reads_by_task());
	assert_true(nrows <= 2 * TASKS * BATCH_ROWS);
}

static void jumps_are_merged(void **state)
{
	(void)state;
	put_recording(ODD_JUMPS);
	assert_false(reads_by_task());
	/* A task that is alone depends on no other. */
	remove_file("2.dat");
	remove_file("3.dat");
	assert_true(reads_by_task());
}

/* Allocations that fail, and all after them: the sums are complete, or it is known. */
static void failures_of(unsigned odd, unsigned threads)
{
	struct sums want;
	bool good = false;

	put_recording(odd);
	assert_true(sums_read(&want, 0, 1, 0));
	for (uint64_t n = 1; !good && n < 1000; n++) {
		const uint64_t failures = mem_failures();
		struct spur_trace *t = open_dir(0);
		struct sums got = { .trace = t };
		static const struct any_options options;
		struct spur_error err = { 0 };
		struct pass_env env = { .trace = t,
					.pipe = { .threads = threads },
					.err = &err,
					ANY_OPTIONS(&options, "report.uftrace") };

		got.report = (struct report){ .s = &got.style, .sums_only = true };
		mem_fail_at(n);
		good = style_open(&got.style, &env) && report_collect(&got.report, &env) &&
		       mem_failures() == failures;
		mem_fail_at(0);
		if (good)
			assert_same(&got, &want);
		sums_close(&got);
	}
	assert_true(good);
	sums_close(&want);
}

static void failures_are_known(void **state)
{
	(void)state;
	failures_of(ODD_RECORDS | ODD_SWITCHES | ODD_JUMPS, 1);
	failures_of(ODD_RECORDS | ODD_SWITCHES, 2);
	failures_of(ODD_JUMPS, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(same_as_merged, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(ordinary_calls_make_no_rows, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(jumps_are_merged, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(failures_are_known, dir_make, dir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
