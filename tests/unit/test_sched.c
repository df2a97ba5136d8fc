/*
 * sched: states of threads and processors, what the data lacks, waits, forms; workers and batches
 * change nothing.
 */
#include "unit/pass_run.h"

#include <stdio.h>

#include "pass/sched/state.h"

enum {
	OUT = SPUR_F_OUT,
	PRE = SPUR_F_OUT | SPUR_F_PREEMPTED,
	IN = SPUR_F_IN,
	WAKE = 0,
	OTHER = -1
};

struct step {
	uint32_t feed;
	int64_t ts;
	int what;
	uint16_t cpu;
};

static struct spur_trace *trace_with(const char *const *names, size_t n)
{
	struct spur_trace *t = fake_trace_new();

	assert_non_null(t);
	fake_class(t, "switch", 0);
	for (size_t i = 0; i < n; i++)
		fake_feed_add(t, 10 + (int64_t)i, names[i]);
	return t;
}

static void play(struct spur_trace *t, const struct step *steps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct step *s = &steps[i];
		struct spur_event *row = fake_row(t, s->feed,
						  s->what == OTHER  ? SPUR_INSTANT
						  : s->what == WAKE ? SPUR_WAKEUP
								    : SPUR_SWITCH,
						  s->ts);

		row->flags = (uint16_t)(s->what == OTHER ? 0 : s->what);
		row->cpu = s->what == OTHER ? SPUR_NO_CPU : s->cpu;
	}
}

#define STEPS(...)                         \
	(const struct step[]) __VA_ARGS__, \
		sizeof((const struct step[])__VA_ARGS__) / sizeof(struct step)

static const char *const names[] = { "a", "b", "c" };
static const char data_head[] = "thread,tid,pid,running,runnable,blocked,unknown,switches,"
				"preemptions,wakeups,avg,max,p99,unfinished\n";

static struct pass_run csv(const char *by)
{
	return (struct pass_run){ .pass = "sched", .opt = { .form = FORM_CSV, .by = by } };
}

static void expect_threads(struct spur_trace *t, const char *lines)
{
	char want[2000];

	snprintf(want, sizeof(want), "%s%s", data_head, lines);
	pass_expect(t, csv(NULL), want);
}

static void states(void **state)
{
	struct spur_trace *t = trace_with(names, 2);

	(void)state;
	play(t, STEPS({
			{ 0, 100, IN, 0 },
			{ 0, 150, PRE, 0 }, /* 50 running */
			{ 0, 170, IN, 1 }, /* 20 preempted */
			{ 0, 200, OUT, 1 }, /* 30 running */
			{ 0, 260, WAKE, 1 }, /* 60 blocked */
			{ 0, 265, WAKE, 1 }, /* says nothing new */
			{ 0, 267, IN, 0 }, /* 7 woken */
			{ 0, 268, WAKE, 0 }, /* it runs */
			{ 0, 270, OUT, 0 }, /* 3 running */
			{ 0, 300, IN, 0 }, /* 30: its waker is unknown */
			{ 0, 310, OUT, 0 }, /* 10 running */
			{ 0, 400, WAKE, 0 }, /* 90 blocked */
			{ 0, 420, IN, 0 }, /* 20 woken */
			{ 0, 421, OUT, 0 },
			{ 1, 7, OTHER, 0 },
		}));
	expect_threads(t, "a,10,1,94,47,180,0,5,1,4,13,20,20,0\n");
	pass_expect(t, (struct pass_run){ .pass = "sched" },
		    "   running    runnable     blocked  switches         max  tid  thread\n"
		    "  0.094 us    0.047 us    0.180 us         5    0.020 us   10  a\n");
	pass_expect(t,
		    (struct pass_run){ .pass = "sched",
				       .opt = { .form = FORM_JSON, .fields = "thread,max,p99" } },
		    "{\"schema\":1,\"spur\":\"sched\",\"by\":\"thread\",\"rows\":[\n"
		    "{\"thread\":\"a\",\"max\":20,\"p99\":20}\n]}\n");
	pass_starve(t, csv(NULL));
	fake_trace_free(t);
}

/* What is missing is unknown, whatever would be plausible. */
static void missing(void **state)
{
	struct spur_trace *t = trace_with(names, 3);

	(void)state;
	play(t, STEPS({
			/* Begins on a processor, loses an OUT, then an IN, ends on a processor. */
			{ 0, 10, OTHER, 0 },
			{ 0, 30, OUT, 0 },
			{ 0, 40, IN, 0 },
			{ 0, 70, IN, 0 },
			{ 0, 100, OUT, 0 },
			{ 0, 200, PRE, 0 },
			{ 0, 300, IN, 0 },
			{ 0, 350, OTHER, 0 },
			/* Begins woken: before, nothing is known of it. */
			{ 1, 5, OTHER, 0 },
			{ 1, 10, WAKE, 0 },
			{ 1, 11, IN, 0 },
			{ 1, 14, OUT, 0 },
			/* Time runs backwards. */
			{ 2, 100, IN, 0 },
			{ 2, 90, OUT, 0 },
			{ 2, 120, IN, 0 },
		}));
	expect_threads(t, "a,10,1,30,100,10,200,3,1,0,,,,4\n"
			  "b,11,1,3,1,0,5,1,0,1,1,1,1,0\n"
			  "c,12,1,0,0,30,0,2,0,0,,,,1\n");
	pass_expect(t, (struct pass_run){ .pass = "sched", .opt = { .fields = "unknown,tid" } },
		    "   unknown  tid\n"
		    "  0.200 us   10\n"
		    "  0.005 us   11\n"
		    "  0.000 us   12\n"
		    "\nTimes on a processor whose begin or end the trace lacks: 5. They are in no\n"
		    "sum; --fields=unknown,unfinished,thread shows whose.\n");
	fake_trace_free(t);
}

static void processors(void **state)
{
	struct spur_trace *t = trace_with(names, 3);

	(void)state;
	play(t,
	     STEPS({
		     { 0, 0, IN, 0 },
		     /* At 100 c gets it, before a is said to have lost it; at 150 b. */
		     { 2, 100, IN, 0 },
		     { 0, 100, PRE, 0 },
		     { 2, 150, OUT, 0 },
		     { 1, 150, IN, 0 },
		     { 1, 160, OUT, 0 },
		     /* 40 of no thread. */
		     { 0, 200, IN, 0 },
		     /* a's end is missing, then b's begin. */
		     { 2, 230, IN, 0 },
		     { 2, 240, OUT, 0 },
		     { 1, 260, OUT, 0 },
		     /* Another one begins in the middle and ends so. */
		     { 0, 300, OUT, 2 },
		     { 0, 310, IN, 2 },
		     { 0, 400, OUT, SPUR_NO_CPU },
	     }));
	pass_expect(t, csv("cpu"),
		    "cpu,busy,idle,unknown,share,switches,unfinished\n"
		    "0,170,40,50,65.3,5,2\n"
		    "2,0,10,0,0.0,1,2\n");
	pass_expect(t, (struct pass_run){ .pass = "sched", .opt = { .by = "cpu", .limit = 1 } },
		    "cpu        busy        idle     unknown   share  switches\n"
		    "  0    0.170 us    0.040 us    0.050 us  65.3 %         5\n"
		    "\n1 more lines are not shown.\n"
		    "\nNo idle thread is in the trace: idle is the time in which no thread of it "
		    "had\nthe processor.\n"
		    "\n1 switches name no processor.\n");
	pass_starve(t, csv("cpu"));
	fake_trace_free(t);
}

/* Idle threads are known by id 0, by their name, or by the class of their switches. */
static void idle(void **state)
{
	static const char *const all[] = { "a", "swapper/1", "b" };
	struct spur_trace *t = trace_with(all, 3);
	struct fake_feed *by_class = t->feeds[2]->state;

	(void)state;
	play(t, STEPS({
			{ 0, 0, IN, 1 },
			{ 0, 10, OUT, 1 },
			{ 1, 10, IN, 1 },
			{ 1, 40, PRE, 1 },
			{ 0, 45, IN, 1 },
			{ 0, 50, PRE, 1 },
			{ 2, 50, IN, 1 },
			{ 2, 57, OUT, 1 },
			/* It runs on several processors at once. */
			{ 2, 60, IN, 2 },
			{ 2, 61, IN, 3 },
			{ 2, 70, OUT, 2 },
			{ 2, 72, OUT, 3 },
		}));
	for (size_t i = 0; i < by_class->count; i++)
		by_class->rows[i].cls = fake_class(t, "idle", 0);
	pass_expect(t, csv("cpu"),
		    "cpu,busy,idle,unknown,share,switches,unfinished\n"
		    "1,15,37,5,26.3,4,0\n2,0,10,0,0.0,1,0\n3,0,11,0,0.0,1,0\n");
	expect_threads(t, "a,10,1,15,0,35,0,2,1,0,,,,0\n");
	pass_expect(t, csv("wait"), "when,time,kind,cpu,thread,tid,pid\n10,35,blocked,1,a,10,1\n");
	pass_expect(
		t,
		(struct pass_run){ .pass = "sched",
				   .opt = { .form = FORM_JSON, .by = "cpu", .fields = "cpu" } },
		"{\"schema\":1,\"spur\":\"sched\",\"by\":\"cpu\",\"idle\":\"threads\",\"rows\":[\n"
		"{\"cpu\":1},\n{\"cpu\":2},\n{\"cpu\":3}\n]}\n");
	fake_trace_free(t);
}

static void waits(void **state)
{
	static const struct filter_spec long_ones = { .min_ns = 20 };
	struct spur_trace *t = trace_with(names, 2);
	struct pass_run by_thread = csv("wait"), two = csv("wait"), filtered = csv("wait");

	(void)state;
	play(t, STEPS({
			{ 0, 0, PRE, 0 },
			{ 0, 10, IN, 1 },
			{ 0, 20, OUT, 1 },
			{ 0, 40, WAKE, 9 },
			{ 0, 50, IN, 0 },
			{ 1, 20, OUT, 2 },
			{ 1, 40, IN, 3 },
			{ 1, 60, PRE, 3 },
			{ 1, 90, IN, SPUR_NO_CPU },
		}));
	pass_expect(t, csv("wait"),
		    "when,time,kind,cpu,thread,tid,pid\n"
		    "60,30,preempted,,b,11,1\n"
		    "20,20,blocked,1,a,10,1\n"
		    "20,20,blocked,3,b,11,1\n"
		    "0,10,preempted,1,a,10,1\n"
		    "40,10,woken,0,a,10,1\n");
	by_thread.opt.sort = "-tid,when";
	by_thread.opt.fields = "when,kind";
	pass_expect(t, by_thread,
		    "when,kind\n20,blocked\n60,preempted\n0,preempted\n20,blocked\n40,woken\n");
	two.opt.limit = 2;
	pass_expect(t, two,
		    "when,time,kind,cpu,thread,tid,pid\n"
		    "60,30,preempted,,b,11,1\n20,20,blocked,1,a,10,1\n");
	two.opt.form = FORM_TEXT;
	pass_expect(t, two,
		    "       when        time  kind       cpu  tid  thread\n"
		    "0.000000060    0.030 us  preempted        11  b\n"
		    "0.000000020    0.020 us  blocked      1   10  a\n"
		    "\n3 more waits are not shown.\n");
	/* Shorter ones are left out; what they are between stays whole. */
	filtered.filter = &long_ones;
	pass_expect(t, filtered,
		    "when,time,kind,cpu,thread,tid,pid\n60,30,preempted,,b,11,1\n"
		    "20,20,blocked,1,a,10,1\n20,20,blocked,3,b,11,1\n");
	pass_starve(t, csv("wait"));
	fake_trace_free(t);
}

/* Only what begins and ends where the filter looks is counted; the rest still moves the states. */
static void filters(void **state)
{
	static const struct filter_item in_f[] = { { FILTER_FUNC, "f" } };
	static const struct filter_spec function = { .items = in_f, .nitems = 1 },
					cpu = { .cpus = "1" }, none = { .tids = "99" };
	struct spur_trace *t = trace_with(names, 1);
	struct pass_run r = csv(NULL);
	uint32_t f = fake_class(t, "f", CLASS_FUNCTION);

	(void)state;
	play(t, STEPS({ { 0, 0, IN, 0 }, { 0, 10, OUT, 0 }, { 0, 14, IN, 1 } }));
	*fake_row(t, 0, SPUR_BEGIN, 20) =
		(struct spur_event){ .ts = 20, .kind = SPUR_BEGIN, .cls = f, .cpu = SPUR_NO_CPU };
	play(t, STEPS({ { 0, 25, OUT, 1 }, { 0, 32, IN, 1 }, { 0, 40, OUT, 1 } }));
	*fake_row(t, 0, SPUR_END_SPAN, 50) = (struct spur_event){
		.ts = 50, .kind = SPUR_END_SPAN, .cls = f, .cpu = SPUR_NO_CPU
	};
	play(t, STEPS({ { 0, 90, IN, 0 }, { 0, 91, OUT, 0 } }));
	r.opt.fields = "running,blocked,switches";
	pass_expect(t, r, "running,blocked,switches\n30,61,4\n");
	r.filter = &function;
	pass_expect(t, r, "running,blocked,switches\n8,7,1\n");
	r.filter = &cpu;
	pass_expect(t, r, "running,blocked,switches\n19,7,2\n");
	r.filter = &none;
	free(pass_text(t, &r));
	assert_int_equal(r.st, SPUR_WARN);
	fake_trace_free(t);
}

static void refusals(void **state)
{
	struct spur_trace *t = trace_with(names, 1);
	struct pass_run r = csv("who");

	(void)state;
	pass_refused(t, r, "--by: expected thread, cpu or wait, found \"who\"");
	r = csv("cpu");
	r.opt.fields = "cpu,bussy";
	pass_refused(t, r, "--fields: no column \"bussy\"; did you mean \"busy\"?");
	r.opt.fields = NULL;
	r.opt.sort = "running";
	pass_refused(t, r, "--sort: no column \"running\"");
	free(pass_text(t, &(struct pass_run){ .pass = "sched" }));
	fake_trace_free(t);
}

/* The sums by state are the time from first to last. */
static void check_sums(struct spur_trace *t)
{
	struct sched s = { .want_cpus = true };
	struct spur_event *rows;
	struct merge *m;
	size_t n;

	fake_rewind(t);
	sched_init(&s, t);
	m = merge_new(t, NULL);
	while (merge_next(m, &rows, &n) == SPUR_OK)
		assert_true(sched_rows(&s, (struct marked_rows){ .rows = rows, .n = n }));
	merge_free(m);
	sched_end(&s);
	for (size_t i = 0; i < s.nthreads; i++) {
		const struct sched_thread *k = s.threads[i].thread;

		if (k && k->any)
			assert_int_equal(k->running + k->runnable + k->blocked + k->unknown,
					 k->last - s.threads[i].first);
	}
	for (size_t i = 0; i < s.ncpus; i++) {
		const struct sched_cpu *c = &s.cpus[i];

		if (c->any)
			assert_int_equal(c->busy + c->idle + c->gaps + c->unknown,
					 c->last - c->first);
	}
	sched_free(&s);
}

/* Threads on processors as a scheduler would put them, of whose records some are lost. */
static struct spur_trace *random_trace(uint64_t *seed, bool lossless, uint64_t *busy)
{
	static const char *const all[] = { "a", "b", "c", "d", "e", "f", "g" };
	struct spur_trace *t = trace_with(all, 7);
	int on[3] = { -1, -1, -1 };
	int64_t since[3] = { 0 };

	memset(busy, 0, 3 * sizeof(*busy));
	for (int64_t ts = 1000; ts < 3000; ts += 1 + (int64_t)(fake_random(seed) % 3)) {
		const uint16_t cpu = (uint16_t)(fake_random(seed) % 3);
		const uint32_t next = (uint32_t)(fake_random(seed) % 7);
		const bool free = (int)next != on[0] && (int)next != on[1] && (int)next != on[2];
		const int how = fake_random(seed) % 2 ? OUT : PRE;

		if (on[cpu] >= 0 && (lossless || fake_random(seed) % 8))
			play(t, &(struct step){ (uint32_t)on[cpu], ts, how, cpu }, 1);
		if (on[cpu] >= 0)
			busy[cpu] += (uint64_t)(ts - since[cpu]);
		on[cpu] = -1;
		if (!free) {
			play(t, &(struct step){ next, ts, WAKE, cpu }, 1);
			continue;
		}
		on[cpu] = (int)next;
		since[cpu] = ts;
		if (lossless || fake_random(seed) % 8)
			play(t, &(struct step){ next, ts, IN, cpu }, 1);
	}
	return t;
}

/* No time is counted twice or left out; workers and batches change nothing. */
static void random_rows(void **state)
{
	static const char *const bys[] = { "thread", "cpu", "wait" };
	uint64_t seed = 7, busy[3];

	(void)state;
	for (int round = 0; round < 60; round++) {
		struct spur_trace *t = random_trace(&seed, false, busy);

		check_sums(t);
		for (size_t by = 0; by < 3; by++) {
			struct pass_run r = csv(bys[by]);
			char *want, *text;

			r.threads = 1;
			r.opt.limit = 30;
			want = pass_text(t, &r);
			r.threads = 4;
			for (size_t i = 0; i < t->nfeeds; i++)
				((struct fake_feed *)t->feeds[i]->state)->batch =
					1 + fake_random(&seed) % 9;
			text = pass_text(t, &r);
			assert_string_equal(text, want);
			free(text);
			free(want);
		}
		fake_trace_free(t);
	}
}

/* Where no record is lost all is known, though those of one time come in the order of the feeds. */
static void random_whole(void **state)
{
	uint64_t seed = 99, busy[3];

	(void)state;
	for (int round = 0; round < 60; round++) {
		struct spur_trace *t = random_trace(&seed, true, busy);
		struct sched s = { .want_cpus = true };
		struct spur_event *rows;
		struct merge *m = merge_new(t, NULL);
		size_t n;

		sched_init(&s, t);
		while (merge_next(m, &rows, &n) == SPUR_OK)
			assert_true(sched_rows(&s, (struct marked_rows){ .rows = rows, .n = n }));
		merge_free(m);
		for (size_t i = 0; i < 3; i++) {
			assert_int_equal(s.cpus[i].busy, busy[i]);
			assert_int_equal(s.cpus[i].unfinished, 0);
		}
		sched_free(&s);
		fake_trace_free(t);
	}
}

static int number_order(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* One by one or in a spread, which is exact below 128 ns: a sorted list says the same. */
static void latencies(void **state)
{
	uint64_t list[200], sum, seed = 7;

	(void)state;
	for (size_t n = 1; n <= 200; n++) {
		struct sched_latency *l = NULL;

		sum = 0;
		for (size_t i = 0; i < n; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			list[i] = seed >> 57;
			sum += list[i];
			assert_true(sched_latency_add(&l, list[i]));
		}
		sched_latency_end(l);
		qsort(list, n, sizeof(*list), number_order);
		assert_int_equal(sched_latency_mean(l), sum / n);
		assert_int_equal(sched_latency_most(l), list[n - 1]);
		/* The smallest of which 99 in 100 are no larger. */
		assert_int_equal(sched_latency_p99(l), list[n - 1 - n / 100]);
		sched_latency_free(l);
	}
	sched_latency_end(NULL);
	sched_latency_free(NULL);
}

/* Each failing allocation leaves what was added before. */
static void latency_memory(void **state)
{
	(void)state;
	for (uint64_t fail = 1; fail < 16; fail++) {
		struct sched_latency *l = NULL;
		uint64_t added = 0;

		mem_fail_at(fail);
		while (added < 100 && sched_latency_add(&l, added))
			added++;
		mem_fail_at(0);
		sched_latency_end(l);
		if (added)
			assert_int_equal(sched_latency_most(l), added - 1);
		sched_latency_free(l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states),	cmocka_unit_test(missing),
		cmocka_unit_test(processors),	cmocka_unit_test(idle),
		cmocka_unit_test(waits),	cmocka_unit_test(filters),
		cmocka_unit_test(refusals),	cmocka_unit_test(random_rows),
		cmocka_unit_test(random_whole), cmocka_unit_test(latencies),
		cmocka_unit_test(latency_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
