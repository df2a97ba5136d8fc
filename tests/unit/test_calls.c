/*
 * What all passes that pair calls owe on rows whose ENDs name a class: that they agree, and that no
 * order of rows keeps them busy for long.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pass/pass.h"
#include "unit/any_options.h"

enum { MANY = 100000, RANDOM = 60000, NAMES = 6 };

static struct out run(struct spur_trace *t, const char *pass, struct any_options opt,
		      const struct filter_spec *spec)
{
	struct spur_error err = { 0 };
	struct out out;
	struct pass_env env = { .trace = t,
				.pipe = { .threads = 1 },
				ANY_OPTIONS(&opt, pass),
				.out = &out,
				.err = &err };

	if (spec)
		assert_int_equal(filter_new(&env.filter, t, spec, &err), SPUR_OK);
	env.pipe.filter = env.filter;
	out_to_memory(&out);
	fake_rewind(t);
	assert_int_equal(pass_find(pass, NULL)->run(&env), SPUR_OK);
	out_char(&out, '\0');
	filter_free(env.filter);
	return out;
}

/* Deep, then ENDs of what is not open, then those of what is open at the bottom. */
static void hostile(void **state)
{
	static const char *const passes[] = { "report", "graph", "flame", "replay", "convert" };
	const struct filter_item item = { FILTER_FUNC, "a" };
	const struct filter_spec specs[] = { { .items = &item, .nitems = 1 }, { .min_ns = 5 } };
	struct spur_trace *t = fake_trace();
	struct spur_event *rows = calloc(2 * MANY + 2, sizeof(*rows));
	uint32_t k = fake_track(t, "x", 1, 1), a = fake_class(t, "a", ""),
		 b = fake_class(t, "b", ""), c = fake_class(t, "c", "");
	const clock_t start = clock();
	struct fake_feed f;
	size_t n = 0;

	(void)state;
	rows[n++] = (struct spur_event)FAKE_B(0, a, k);
	for (int i = 1; i <= 2 * MANY; i++) {
		rows[n] = (struct spur_event)FAKE_B(i, b, k);
		if (i > MANY)
			rows[n] = (struct spur_event)FAKE_E(i, c, k);
		n++;
	}
	rows[n++] = (struct spur_event)FAKE_E(3 * MANY, a, k);
	fake_feed(t, &f, rows, n);
	for (size_t i = 0; i < sizeof(passes) / sizeof(*passes); i++)
		for (size_t s = 0; s < 3; s++) {
			struct out o = run(t, passes[i], (struct any_options){ 0 },
					   s ? &specs[s - 1] : NULL);

			assert_true(o.len > 20);
			out_free(&o);
		}
	assert_true(clock() - start < 60 * CLOCKS_PER_SEC);
	free(rows);
	spur_close(t);
}

/*
 * Calls that go deep and come back, some of their rows lost, some of a function that never began.
 */
static void random_rows(struct spur_event *rows, size_t n, const uint32_t *cls, unsigned seed)
{
	static uint32_t open[RANDOM];
	size_t depth = 0;

	for (size_t i = 0; i < n; i++) {
		const int begins = i / 4000 % 3 == 2 ? 4 : 10;
		const bool end = depth && rand_r(&seed) % 16 >= begins;

		rows[i] = (struct spur_event){ .kind = end ? SPUR_END_SPAN : SPUR_BEGIN,
					       .ts = (int64_t)i * 7,
					       .cls = cls[rand_r(&seed) % (NAMES - 1)] };
		if (end)
			rows[i].cls = rand_r(&seed) % 64 ? open[--depth] : cls[NAMES - 1];
		else
			open[depth++] = rows[i].cls;
		if (end && rand_r(&seed) % 512 == 0)
			rows[i].flags = SPUR_F_ANY;
		if (rand_r(&seed) % 128 == 0)
			rows[i].kind = SPUR_INSTANT;
		if (rand_r(&seed) % 1024 == 0)
			rows[i] = (struct spur_event)FAKE_SPAN((int64_t)i * 7, 100, cls[0], 0);
	}
}

typedef void make_rows(struct spur_event *rows, size_t n, const uint32_t *cls, unsigned seed);

static struct spur_trace *random_trace(struct spur_event *rows, struct fake_feed *f, unsigned seed,
				       make_rows *make)
{
	struct spur_trace *t = fake_trace();
	uint32_t cls[NAMES];

	fake_track(t, "x", 1, 1);
	for (int i = 0; i < NAMES; i++)
		cls[i] = fake_class(t, (const char *[]){ "a", "b", "c", "d", "e", "f" }[i], "");
	make(rows, RANDOM, cls, seed);
	fake_feed(t, f, rows, RANDOM);
	return t;
}

/*
 * Complete spans inside each other, beside and over each other's ends, of no length and of equal
 * times, with calls of two rows between them.
 */
static void random_spans(struct spur_event *rows, size_t n, const uint32_t *cls, unsigned seed)
{
	static uint32_t open[RANDOM];
	size_t depth = 0;
	int64_t ts = 0;

	rows[0] = (struct spur_event)FAKE_E(0, cls[NAMES - 1], 0);
	for (size_t i = 1; i < n; i++) {
		const uint32_t c = cls[rand_r(&seed) % (NAMES - 1)];
		const int kind = rand_r(&seed) % 64;

		ts += rand_r(&seed) % 4 ? rand_r(&seed) % 8 : 0;
		if (kind == 0) {
			rows[i] = (struct spur_event)FAKE_B(ts, c, 0);
			open[depth++] = c;
		} else if (kind == 1 && depth) {
			rows[i] = (struct spur_event)FAKE_E(ts, open[--depth], 0);
		} else {
			rows[i] = (struct spur_event)FAKE_SPAN(
				ts, rand_r(&seed) % (1 << rand_r(&seed) % 8), c, 0);
		}
	}
}

/* Sums of the graph's nodes by function are the report's. */
static void sums_agree(struct spur_trace *t)
{
	struct out graph = run(t, "graph", (struct any_options){ .form = FORM_CSV }, NULL);
	struct out report = run(t, "report",
				(struct any_options){ .form = FORM_CSV,
						       .sort = "function",
						       .fields = "function,calls,self" },
				NULL);
	unsigned long long calls[NAMES] = { 0 }, self[NAMES] = { 0 }, n, ns;
	struct out sums;
	char name;

	for (char *p = graph.buf; (p = strchr(p, '\n')) && p[1]; p++)
		if (sscanf(p + 1, "%*u,%*[0-9],%c,,%llu,%*u,%llu", &name, &n, &ns) == 3 ||
		    sscanf(p + 1, "%*u,,%c,,%llu,%*u,%llu", &name, &n, &ns) == 3) {
			calls[name - 'a'] += n;
			self[name - 'a'] += ns;
		}
	out_to_memory(&sums);
	out_str(&sums, "function,calls,self\n");
	for (int i = 0; i < NAMES - 1; i++)
		out_printf(&sums, "%c,%llu,%llu\n", 'a' + i, calls[i], self[i]);
	out_str(&sums, "f,0,0\n");
	out_char(&sums, '\0');
	assert_string_equal(sums.buf, report.buf);
	out_free(&sums);
	out_free(&graph);
	out_free(&report);
}

static void graph_agrees_with_report(void **state)
{
	static struct spur_event rows[RANDOM];

	(void)state;
	for (unsigned seed = 1; seed < 4; seed++) {
		struct fake_feed f;
		struct spur_trace *t = random_trace(rows, &f, seed, random_rows);

		sums_agree(t);
		spur_close(t);
	}
}

static void spans_agree(void **state)
{
	static struct spur_event rows[RANDOM];

	(void)state;
	for (unsigned seed = 1; seed < 8; seed++) {
		struct fake_feed f;
		struct spur_trace *t = random_trace(rows, &f, seed, random_spans);

		sums_agree(t);
		spur_close(t);
	}
}

/* Chrome's JSON has an E for a B, the right one, and none without. */
static void chrome_is_nested(void **state)
{
	static struct spur_event rows[RANDOM];
	struct fake_feed f;
	struct spur_trace *t = random_trace(rows, &f, 9, random_rows);
	struct out chrome = run(t, "convert", (struct any_options){ .to = "chrome" }, NULL);
	long depth = 0, calls = 0;

	(void)state;
	for (char *p = chrome.buf; (p = strstr(p, "{\"ph\":\"")); p++) {
		calls += p[7] == 'B';
		depth += p[7] == 'B' ? 1 : p[7] == 'E' ? -1 : 0;
		assert_true(depth >= 0);
	}
	assert_true(calls > RANDOM / 4);
	out_free(&chrome);
	spur_close(t);
}

/* A deep stack, ENDs of nothing, a sample; enough for an index. */
static struct spur_trace *deep_trace(struct fake_feed *f)
{
	static struct spur_event rows[200];
	static uint32_t path[100];
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), cls[8];
	size_t n = 0;

	for (int i = 0; i < 8; i++)
		cls[i] = fake_class(
			t, (const char *[]){ "a", "b", "c", "d", "e", "f", "g", "h" }[i], "");
	for (int i = 0; i < 100; i++) {
		rows[n++] = (struct spur_event)FAKE_B(i, cls[i % 7], k);
		path[i] = cls[i % 7];
	}
	fake_stacks[0].cls = path;
	fake_stacks[0].n = 100;
	rows[n++] = (struct spur_event)FAKE_E(100, cls[7], k);
	rows[n++] = (struct spur_event)FAKE_SAMPLE(101, cls[0], k, 5, 2, 1);
	for (int i = 0; i < 90; i++)
		rows[n++] = (struct spur_event)FAKE_B(110 + i, cls[i % 7], k);
	rows[n++] = (struct spur_event)FAKE_E(300, cls[0], k);
	fake_feed(t, f, rows, n);
	return t;
}

/* Whichever allocation fails: an error, or all of the answer. */
static void no_memory(void **state)
{
	static const char *const passes[] = { "report", "graph", "flame", "replay", "convert" };
	const struct filter_item item = { FILTER_NOTRACE, "h" };
	const struct filter_spec spec = { .items = &item, .nitems = 1, .min_ns = 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(passes) / sizeof(*passes); i++) {
		struct out whole = { 0 };
		bool done = false;

		for (uint64_t fail = 0; !done; fail++) {
			const struct any_options opt = { .to = "chrome" };
			struct fake_feed f;
			struct spur_trace *t = deep_trace(&f);
			struct spur_error err = { 0 };
			struct out out;
			struct pass_env env = { .trace = t,
						ANY_OPTIONS(&opt, passes[i]),
						.out = &out,
						.err = &err };
			enum spur_status st;

			env.pipe.threads = 1;
			assert_int_equal(filter_new(&env.filter, t, &spec, &err), SPUR_OK);
			env.pipe.filter = env.filter;
			out_to_memory(&out);
			mem_fail_at(fail);
			st = pass_run(pass_find(passes[i], NULL), &env);
			done = fail && mem_count() < fail;
			mem_fail_at(0);
			out_char(&out, '\0');
			assert_true(fail < 2000);
			assert_int_equal(st, fail && !done ? SPUR_FAIL : SPUR_OK);
			if (st == SPUR_FAIL)
				assert_int_equal(err.code, SPUR_ERR_MEMORY);
			else if (fail)
				assert_string_equal(out.buf, whole.buf);
			filter_free(env.filter);
			if (fail)
				out_free(&out);
			else
				whole = out;
			spur_close(t);
		}
		out_free(&whole);
	}
	memset(fake_stacks, 0, sizeof(fake_stacks));
}

enum { OVERLOADS = 3, NESTED = 40000, NESTED_TRACKS = 2, NESTED_DEPTH = 30 };

/*
 * Calls of a and b on two tracks in turn. Those of a are of one class, or of OVERLOADS that differ
 * in nothing that is shown.
 */
static struct spur_trace *nested_trace(struct spur_event *rows, struct fake_feed *f, bool overloads)
{
	struct spur_trace *t = fake_trace();
	uint32_t open[NESTED_TRACKS][NESTED_DEPTH], cls[OVERLOADS + 1];
	unsigned seed = 7, depth[NESTED_TRACKS] = { 0 };
	uint32_t first = fake_track(t, "x", 1, 1), tracks[] = { first, fake_track(t, "y", 1, 2) };

	for (int i = 0; i < OVERLOADS; i++)
		cls[i] = i && !overloads ? cls[0] : fake_class(t, "a", "m");
	cls[OVERLOADS] = fake_class(t, "b", "m");
	for (int i = 0; i < NESTED; i++) {
		const unsigned k = (unsigned)rand_r(&seed) / 64 % NESTED_TRACKS;
		const unsigned dice = (unsigned)rand_r(&seed) / 64;
		const bool end = depth[k] == NESTED_DEPTH || (depth[k] && dice % 2);
		uint32_t *c = end ? &open[k][--depth[k]] : &open[k][depth[k]++];

		if (!end)
			*c = cls[dice / 2 % (OVERLOADS + 1)];
		rows[i] = (struct spur_event){ .kind = end ? SPUR_END_SPAN : SPUR_BEGIN,
					       .ts = (int64_t)i * 3 + dice % 3,
					       .cls = *c,
					       .track = tracks[k] };
	}
	fake_feed(t, f, rows, NESTED);
	return t;
}

/*
 * Overloads are one row of the report: one inside the other counts once, as if both were one class.
 */
static void overloads_count_once(void **state)
{
	static struct spur_event rows[NESTED];
	const struct any_options opt = { .form = FORM_CSV,
					  .fields = "function,calls,total,self,min,max,p50" };
	struct fake_feed f;
	struct out seen[2], small;
	struct spur_trace *t;
	uint32_t k, a, b;

	(void)state;
	for (int i = 0; i < 2; i++) {
		t = nested_trace(rows, &f, i);
		seen[i] = run(t, "report", opt, NULL);
		spur_close(t);
	}
	assert_string_equal(seen[0].buf, seen[1].buf);
	out_free(&seen[0]);
	out_free(&seen[1]);
	t = fake_trace();
	k = fake_track(t, "x", 1, 1);
	a = fake_class(t, "f", "m");
	b = fake_class(t, "f", "m");
	fake_feed(t, &f, (struct spur_event[]){ FAKE_B(0, a, k), FAKE_B(10, b, k), FAKE_B(20, a, k),
						FAKE_E(30, a, k), FAKE_E(60, b, k),
						FAKE_E(100, a, k), FAKE_B(100, b, k),
						FAKE_E(105, b, k) }, 8);
	small = run(t, "report", (struct any_options){ .form = FORM_CSV,
							.fields = "function,calls,total,self" },
		    NULL);
	assert_string_equal(small.buf, "function,calls,total,self\nf,4,105,105\n");
	out_free(&small);
	spur_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(hostile),
					    cmocka_unit_test(graph_agrees_with_report),
					    cmocka_unit_test(spans_agree),
					    cmocka_unit_test(chrome_is_nested),
					    cmocka_unit_test(overloads_count_once),
					    cmocka_unit_test(no_memory) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
