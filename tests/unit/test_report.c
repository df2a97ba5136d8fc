/*
 * report: sums, recursion, what the data lacks, percentiles, forms, and a plain model to compare
 * random traces with.
 */
#include "fake.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pass/fold/calls.h"
#include "unit/any_options.h"

struct run {
	struct out out;
	enum spur_status st;
	struct spur_error err;
};

static struct run report(struct spur_trace *t, struct any_options opt, unsigned threads)
{
	struct run r = { 0 };
	struct pass_env env = { .trace = t,
				.pipe = { .threads = threads },
				ANY_OPTIONS(&opt, "report"),
				.out = &r.out,
				.err = &r.err };

	out_to_memory(&r.out);
	fake_rewind(t);
	r.st = pass_find("report", NULL)->run(&env);
	out_char(&r.out, '\0');
	return r;
}

static void expect(struct spur_trace *t, struct any_options opt, const char *text)
{
	struct run r = report(t, opt, 2);

	assert_int_equal(r.st, SPUR_OK);
	assert_string_equal(r.out.buf, text);
	out_free(&r.out);
}

#define ROWS(a) (a), sizeof(a) / sizeof(*(a))

static void text_table(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "abc", 1, 1), a = fake_class(t, "main", "/bin/abc"),
		 b = fake_class(t, "work", "/bin/abc");
	struct spur_event rows[] = {
		FAKE_B(1000, a, k), FAKE_B(2000, b, k), FAKE_E(5500, b, k),
		FAKE_B(6000, b, k), FAKE_E(6999, b, k), FAKE_E(1501000, a, k)
	};
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t, (struct any_options){ 0 },
	       "     total        self  calls         avg         max  function\n"
	       "  1.500 ms    1.495 ms      1    1.500 ms    1.500 ms  main\n"
	       "  4.499 us    4.499 us      2    2.249 us    3.500 us  work\n");
	expect(t,
	       (struct any_options){ .raw = true,
				      .fields = "function,min,p50,p99,stdev,share,size",
				      .sort = "calls" },
	       "function      min      p50      p99  stdev   share  size\n"
	       "work          999      999     3500   1251   0.2 %    16\n"
	       "main      1500000  1500000  1500000      0  99.7 %    16\n");
	expect(t, (struct any_options){ .form = FORM_JSON },
	       "{\"schema\":1,\"spur\":\"report\",\"by\":\"function\",\"rows\":[\n"
	       "{\"function\":\"main\",\"module\":\"/bin/"
	       "abc\",\"calls\":1,\"total\":1500000,\"self\":1495501,\"avg\":1500000,"
	       "\"min\":1500000,\"max\":1500000,\"unfinished\":0},\n"
	       "{\"function\":\"work\",\"module\":\"/bin/"
	       "abc\",\"calls\":2,\"total\":4499,\"self\":4499,\"avg\":2249,"
	       "\"min\":999,\"max\":3500,\"unfinished\":0}\n]}\n");
	expect(t,
	       (struct any_options){
		       .form = FORM_CSV, .fields = "function,total", .sort = "-total" },
	       "function,total\nwork,4499\nmain,1500000\n");
	expect(t,
	       (struct any_options){
		       .form = FORM_JSONL, .by = "task", .fields = "task,tid,calls,total,self" },
	       "{\"task\":\"abc\",\"tid\":1,\"calls\":3,\"total\":1500000,\"self\":1500000}\n");
	expect(t,
	       (struct any_options){
		       .form = FORM_CSV, .by = "session", .fields = "session,pid,calls" },
	       "session,pid,calls\nabc,1,3\n");
	spur_close(t);
}

static void names(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1);
	uint32_t a = fake_class(t, "f", "/a/liba.so"), b = fake_class(t, "f", "/b/libb.so"),
		 c = fake_class(t, "f", "/a/liba.so");
	uint32_t d = fake_class(t, "a\033[31mname that is far too long for a narrow terminal", "m");
	struct spur_event rows[] = { FAKE_SPAN(0, 1, a, k), FAKE_SPAN(1, 4, b, k),
				     FAKE_SPAN(5, 1, c, k), FAKE_SPAN(6, 9, d, k) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t, (struct any_options){ .fields = "calls,function", .width = 40 },
	       "calls  function\n"
	       "    1  a\\x1b[31mname that is far too l..\n"
	       "    1  f [libb.so]\n"
	       "    2  f [liba.so]\n");
	expect(t,
	       (struct any_options){ .fields = "function,module", .sort = "module", .limit = 3 },
	       "function                                                  module\n"
	       "f                                                         /a/liba.so\n"
	       "f                                                         /b/libb.so\n"
	       "a\\x1b[31mname that is far too long for a narrow terminal  m\n");
	spur_close(t);
}

/* rec calls itself: only the outermost time is in the total, all of it in calls, self and max. */
static void recursion(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), a = fake_class(t, "rec", ""),
		 b = fake_class(t, "mid", "");
	struct spur_event rows[] = { FAKE_BD(0, a, k, 0),  FAKE_BD(10, b, k, 1),
				     FAKE_BD(20, a, k, 2), FAKE_BD(30, a, k, 3),
				     FAKE_ED(40, a, k, 3), FAKE_ED(60, a, k, 2),
				     FAKE_ED(80, b, k, 1), FAKE_ED(100, a, k, 0) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t,
	       (struct any_options){ .form = FORM_CSV,
				      .fields = "function,calls,total,self,min,max,avg" },
	       "function,calls,total,self,min,max,avg\nrec,3,100,70,10,100,50\nmid,1,70,30,70,70,"
	       "70\n");
	spur_close(t);
}

/* A function open on one thread says nothing of another, even where both come in one feed. */
static void recursion_is_per_track(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), l = fake_track(t, "y", 1, 2),
		 a = fake_class(t, "f", "");
	struct spur_event rows[] = { FAKE_B(0, a, k),  FAKE_B(1, a, l), FAKE_B(2, a, k),
				     FAKE_B(3, a, l),  FAKE_E(4, a, k), FAKE_E(5, a, l),
				     FAKE_E(10, a, k), FAKE_E(21, a, l) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t, (struct any_options){ .form = FORM_CSV, .fields = "calls,total,self" },
	       "calls,total,self\n4,30,30\n");
	expect(t,
	       (struct any_options){
		       .form = FORM_CSV, .by = "task", .fields = "task,tid,calls,total" },
	       "task,tid,calls,total\ny,2,2,20\nx,1,2,10\n");
	spur_close(t);
}

static void off_cpu_and_spans(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), a = fake_class(t, "f", ""),
		 s = fake_class(t, "switch", "");
	uint32_t b = fake_class(t, "outer", ""), c = fake_class(t, "inner", "");
	/*
	 * outer [100,200] holds inner [110,150] and [190,230], which outlasts it: only 10 of that
	 * is outer's.
	 */
	struct spur_event rows[] = { FAKE_B(0, a, k),		FAKE_OUT(10, s, k),
				     FAKE_IN(40, s, k),		FAKE_E(50, a, k),
				     FAKE_SPAN(100, 100, b, k), FAKE_SPAN(110, 40, c, k),
				     FAKE_SPAN(190, 40, c, k),	FAKE_SPAN(300, 5, c, k) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t,
	       (struct any_options){ .form = FORM_CSV,
				      .fields = "function,calls,total,self,unfinished" },
	       "function,calls,total,self,unfinished\nouter,1,100,50,0\ninner,3,85,85,0\nf,1,50,20,"
	       "0\n(off CPU),1,30,30,0\n");
	spur_close(t);
}

/*
 * Ends that the data lacks are implied by depth or by the end of the data; begins that it lacks
 * make no call.
 */
static void unfinished(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), a = fake_class(t, "a", ""),
		 b = fake_class(t, "b", ""), c = fake_class(t, "c", "");
	struct spur_event rows[] = {
		FAKE_ED(5, c, k, 1),
		FAKE_BD(10, a, k, 0),
		FAKE_BD(20, b, k, 1),
		FAKE_ED(30, a, k, 0),
		/* begins at depth 3: what is below is unknown; only c's time is known inside a */
		FAKE_BD(100, a, k, 0),
		FAKE_BD(110, c, k, 3),
		FAKE_ED(130, c, k, 3),
		FAKE_ED(200, a, k, 0),
		FAKE_BD(300, b, k, 0),
		FAKE_BD(310, c, k, 1),
		{ .kind = SPUR_INSTANT, .ts = 350, .cls = c, .track = k },
	};
	struct fake_feed f;
	struct run r;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t,
	       (struct any_options){ .form = FORM_CSV,
				      .fields = "function,calls,total,self,unfinished" },
	       "function,calls,total,self,unfinished\na,2,120,90,0\nb,2,60,20,2\nc,2,60,60,2\n");
	r = report(t, (struct any_options){ 0 }, 1);
	assert_non_null(strstr(r.out.buf, "\nOf 4 calls the trace lacks the begin or the end"));
	out_free(&r.out);
	spur_close(t);
}

/*
 * ENDs without depth end the innermost call of their class: an exception through b, a lost end,
 * ends of nothing.
 */
static void ends_by_class(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), a = fake_class(t, "a", ""),
		 b = fake_class(t, "b", ""), c = fake_class(t, "c", ""), d = fake_class(t, "d", "");
	struct spur_event rows[] = { FAKE_E(1, d, k),	       FAKE_B(10, a, k), FAKE_B(20, b, k),
				     FAKE_B(30, c, k),	       FAKE_E(40, a, k), FAKE_B(50, a, k),
				     FAKE_SPAN(55, 500, c, k), FAKE_E(60, b, k), FAKE_E(70, a, k),
				     FAKE_B(80, a, k),	       FAKE_B(90, b, k), FAKE_ANY(95, d, k),
				     FAKE_ANY(99, d, k) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t,
	       (struct any_options){ .form = FORM_CSV,
				      .sort = "function",
				      .fields = "function,calls,total,unfinished" },
	       "function,calls,total,unfinished\na,3,69,0\nb,2,25,2\nc,2,510,1\nd,0,0,1\n");
	spur_close(t);
}

/* Rows of a profile: self time and calls of a leaf, and the functions that it was in. */
static void samples(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), l = fake_track(t, "y", 1, 2);
	uint32_t m = fake_class(t, "main", ""), a = fake_class(t, "a", ""),
		 b = fake_class(t, "b", "");
	const uint32_t path[] = { m, a, b, a, b };
	struct spur_event rows[] = {
		FAKE_SAMPLE(0, a, k, 100, 4, 1), FAKE_SAMPLE(0, b, k, 30, 10, 2),
		FAKE_SAMPLE(0, b, k, 7, 0, 3),	 FAKE_SAMPLE(0, m, k, 5, 1, 4),
		FAKE_SAMPLE(0, m, k, -5, 1, 4),	 FAKE_SAMPLE(0, m, l, 1000, 2, 5),
		FAKE_SAMPLE(0, m, l, 1000, 2, 9)
	};
	struct fake_feed f;

	(void)state;
	fake_stacks[0].cls = fake_stacks[1].cls = fake_stacks[2].cls = fake_stacks[4].cls = path;
	fake_stacks[3].cls = path + 1;
	fake_stacks[0].n = 2;
	fake_stacks[1].n = 3;
	fake_stacks[2].n = 5; /* a and b within a and b */
	fake_stacks[3].n = 1;
	fake_stacks[4].n = 1;
	fake_feed(t, &f, ROWS(rows));
	expect(t,
	       (struct any_options){
		       .form = FORM_CSV,
		       .fields = "function,calls,total,self,avg,min,max,p50,unfinished" },
	       "function,calls,total,self,avg,min,max,p50,unfinished\n"
	       "main,2,1137,1000,568,,,,0\na,6,142,105,24,,,,0\nb,11,37,37,4,,,,0\n");
	expect(t, (struct any_options){ .form = FORM_JSONL, .fields = "function,max", .limit = 1 },
	       "{\"function\":\"main\",\"max\":null}\n");
	expect(t, (struct any_options){ .raw = true, .limit = 1 },
	       "total  self  calls  avg  max  function\n"
	       " 1137  1000      2  568       main\n\n2 more lines are not shown.\n");
	expect(t,
	       (struct any_options){
		       .form = FORM_CSV, .by = "task", .fields = "task,calls,total,self,max" },
	       "task,calls,total,self,max\ny,2,1000,1000,\nx,17,142,142,\n");
	memset(fake_stacks, 0, sizeof(fake_stacks));
	spur_close(t);
}

/*
 * Stacks deeper than the first room for one, with a root that is never a leaf, beside calls of the
 * same track.
 */
static void deep_samples(void **state)
{
	enum { DEPTH = 70000 };
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), m = fake_class(t, "main", ""),
		 a = fake_class(t, "rec", "");
	uint32_t *path = malloc(DEPTH * sizeof(*path));
	struct spur_event rows[] = { FAKE_B(0, a, k), FAKE_SAMPLE(5, a, k, 3, 1, 1),
				     FAKE_SAMPLE(6, a, k, 4, 1, 2), FAKE_E(10, a, k) };
	struct fake_feed f;

	(void)state;
	for (size_t i = 0; i < DEPTH; i++)
		path[i] = i ? a : m;
	fake_stacks[0].cls = fake_stacks[1].cls = path;
	fake_stacks[0].n = 1000;
	fake_stacks[1].n = DEPTH; /* more than is looked at */
	fake_feed(t, &f, ROWS(rows));
	expect(t,
	       (struct any_options){ .form = FORM_CSV,
				      .fields = "function,calls,total,self,avg,min,max" },
	       "function,calls,total,self,avg,min,max\nrec,3,17,17,88382,10,10\nmain,0,7,0,,,\n");
	memset(fake_stacks, 0, sizeof(fake_stacks));
	free(path);
	spur_close(t);
}

static void usage(void **state)
{
	struct spur_trace *t = fake_trace();
	struct run r = report(t, (struct any_options){ .fields = "total,slef" }, 1);

	(void)state;
	assert_int_equal(r.st, SPUR_FAIL);
	assert_int_equal(r.err.code, SPUR_ERR_USAGE);
	assert_string_equal(r.err.message, "--fields: no column \"slef\"; did you mean \"self\"?");
	out_free(&r.out);
	r = report(t, (struct any_options){ .by = "moon" }, 1);
	assert_int_equal(r.st, SPUR_FAIL);
	out_free(&r.out);
	r = report(t, (struct any_options){ 0 }, 1);
	assert_int_equal(r.st, SPUR_WARN);
	out_free(&r.out);
	spur_close(t);
}

static void percentiles(void **state)
{
	struct spread s = { 0 }, halves[2] = { { 0 }, { 0 } };
	double exact = 0;

	(void)state;
	for (uint64_t i = 1; i <= 100000; i++) {
		uint64_t v = i * i * 37 % 1000003 + 100;

		assert_true(spread_add(&s, v) && spread_add(&halves[i % 7 == 0], v));
		exact += ((double)v - 500000) * ((double)v - 500000);
	}
	assert_true(spread_join(&halves[0], &halves[1]));
	for (unsigned p = 0; p <= 100; p++)
		assert_int_equal(spread_percentile(&s, p), spread_percentile(&halves[0], p));
	assert_int_equal(spread_deviation(&s), spread_deviation(&halves[0]));
	exact = sqrt(exact / 100000 - pow((double)s.sum / 100000 - 500000, 2));
	assert_true(fabs((double)spread_deviation(&s) - exact) < 2);
	assert_true(fabs((double)spread_percentile(&s, 50) - 500000) < 500000 * 0.012);
	spread_free(&s);
	spread_free(&halves[0]);
	spread_free(&halves[1]);
	/* Few calls: exact, the nearest rank. */
	for (uint64_t i = 0; i < 10; i++)
		assert_true(spread_add(&s, 1000003 * (10 - i)));
	assert_int_equal(spread_percentile(&s, 50), 5000015);
	assert_int_equal(spread_percentile(&s, 99), 10000030);
	spread_free(&s);
	/* Steps are within 1/128 over the whole range. */
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t v = ((uint64_t)1 << bit) + ((uint64_t)1 << bit) / 3, p;

		for (unsigned i = 0; i < 70; i++)
			assert_true(spread_add(&s, v));
		p = spread_percentile(&s, 50);
		assert_true((p > v ? p - v : v - p) <= v / 128);
		spread_free(&s);
	}
}

/* The plain model: one track, BEGIN and END with or without depth, everything searched for. */
enum { MODEL_ROWS = 6000, MODEL_CLASSES = 6, MODEL_DEPTH = MODEL_ROWS + 64 };

struct model {
	uint64_t calls, total, self, unfinished;
};

struct model_stack {
	const struct spur_event *rows[MODEL_DEPTH]; /* NULL: a frame that the data lacks */
	uint64_t child[MODEL_DEPTH];
	size_t depth;
};

/* The topmost frame ends. */
static void model_end(struct model *m, struct model_stack *s, int64_t ts, bool cut)
{
	const size_t n = --s->depth;
	const struct spur_event *b = s->rows[n];
	uint64_t length = (uint64_t)(ts - (b ? b->ts : ts));
	bool outer = true;

	if (n)
		s->child[n - 1] += b ? length : s->child[n];
	if (!b)
		return;
	for (size_t i = 0; i < n; i++)
		outer &= !s->rows[i] || s->rows[i]->cls != b->cls;
	m[b->cls].calls++;
	m[b->cls].total += outer ? length : 0;
	m[b->cls].self += length - s->child[n];
	m[b->cls].unfinished += cut;
}

/*
 * How many frames stay when the row comes; of an END its own one is the last of them, if it is
 * open.
 */
static size_t model_keep(const struct model_stack *s, const struct spur_event *row, bool *open)
{
	const bool end = row->kind == SPUR_END_SPAN;
	size_t n = s->depth;

	*open = false;
	if (row->flags & SPUR_F_DEPTH) {
		n = row->depth + (size_t)end < n ? row->depth + (size_t)end : n;
		*open = end && n == row->depth + 1u && s->rows[n - 1];
	} else if (end && (row->flags & SPUR_F_ANY)) {
		*open = n;
	} else if (end) {
		while (n && s->rows[n - 1]->cls != row->cls)
			n--;
		*open = n;
		n = n || !(row->flags & SPUR_F_GAP) ? n : s->depth;
	}
	return n;
}

static void model_run(struct model *m, const struct spur_event *rows, size_t n, int64_t last)
{
	struct model_stack *s = calloc(1, sizeof(*s));

	for (size_t i = 0; i < n; i++) {
		const bool begin = rows[i].kind == SPUR_BEGIN;
		bool open;
		size_t keep = model_keep(s, &rows[i], &open), depth = s->depth;

		while (s->depth > keep)
			model_end(m, s, rows[i].ts, true);
		if (open)
			model_end(m, s, rows[i].ts, false);
		else if (!begin)
			m[rows[i].cls].unfinished++;
		depth = rows[i].flags & SPUR_F_DEPTH ? rows[i].depth : s->depth;
		for (; begin && s->depth <= depth; s->depth++) {
			s->rows[s->depth] = s->depth == depth ? &rows[i] : NULL;
			s->child[s->depth] = 0;
		}
	}
	while (s->depth)
		model_end(m, s, last, true);
	free(s);
}

/*
 * A thread that calls and returns at random, of whose rows some are lost. Without recorded depth it
 * goes deep and comes back, and some ENDs are of the wrong class or of any.
 */
static void random_walk(struct spur_event *rows, uint32_t track, bool recorded, unsigned *seed)
{
	static uint32_t open[MODEL_DEPTH];
	int depth = 0;
	int64_t ts = track;

	for (size_t n = 0; n < MODEL_ROWS;) {
		int calls = recorded ? 8 : n / 1000 % 3 == 2 ? 4 : 11;
		bool end = depth && (rand_r(seed) % 16 >= calls || depth == (recorded ? 60 : 4000));
		struct spur_event row =
			FAKE_BD(ts, 1 + (uint32_t)rand_r(seed) % (MODEL_CLASSES - 1), track,
				(uint16_t)(depth - end));

		row.kind = end ? SPUR_END_SPAN : SPUR_BEGIN;
		if (!recorded) {
			row.flags = !end		     ? 0
				    : rand_r(seed) % 64 == 0 ? SPUR_F_ANY
				    : rand_r(seed) % 8	     ? SPUR_F_GAP
							     : 0;
			row.cls = !end		      ? row.cls
				  : rand_r(seed) % 32 ? open[depth - 1]
						      : MODEL_CLASSES;
			row.cls = end && rand_r(seed) % 256 == 0 ? 1 : row.cls;
		}
		depth += end ? -1 : 1;
		if (!end)
			open[depth - 1] = row.cls;
		ts += rand_r(seed) % 100;
		if (rand_r(seed) % 50)
			rows[n++] = row;
	}
}

/* Both walks in time order. */
static size_t mix(struct spur_event *to, const struct spur_event *a, const struct spur_event *b)
{
	size_t i = 0, j = 0, n = 0;

	while (i < MODEL_ROWS || j < MODEL_ROWS)
		to[n++] =
			j == MODEL_ROWS || (i < MODEL_ROWS && a[i].ts <= b[j].ts) ? a[i++] : b[j++];
	return n;
}

static void model_text(const struct spur_trace *t, const struct model *m, struct out *o)
{
	out_to_memory(o);
	out_str(o, "function,calls,total,self,unfinished\n");
	for (uint32_t c = 1; c <= MODEL_CLASSES; c++)
		if (m[c].calls || m[c].unfinished)
			out_printf(o, "%s,%llu,%llu,%llu,%llu\n",
				   spur_string(t, trace_class(t, c)->name, NULL),
				   (unsigned long long)m[c].calls, (unsigned long long)m[c].total,
				   (unsigned long long)m[c].self,
				   (unsigned long long)m[c].unfinished);
	out_char(o, '\0');
}

/* Four tracks in two feeds; pulled in batches of 1, 7 and 512; on 1 and 2 threads. */
static void against_model(bool recorded, unsigned seed)
{
	static struct spur_event walks[4][MODEL_ROWS], mixed[2][2 * MODEL_ROWS];
	static const uint32_t batches[] = { 0, 1, 7 };
	struct spur_trace *t = fake_trace();
	struct model m[MODEL_CLASSES + 1] = { { 0 } };
	struct fake_feed feeds[2];
	struct out want;

	for (uint32_t c = 0; c < MODEL_CLASSES; c++)
		fake_class(t, (const char *[]){ "a", "b", "c", "d", "e", "f" }[c], "");
	for (uint32_t k = 0; k < 4; k++) {
		fake_track(t, "t", 1, k);
		random_walk(walks[k], k, recorded, &seed);
	}
	for (uint32_t f = 0; f < 2; f++) {
		size_t n = mix(mixed[f], walks[2 * f], walks[2 * f + 1]);

		model_run(m, walks[2 * f], MODEL_ROWS, mixed[f][n - 1].ts);
		model_run(m, walks[2 * f + 1], MODEL_ROWS, mixed[f][n - 1].ts);
		fake_feed(t, &feeds[f], mixed[f], n);
	}
	model_text(t, m, &want);
	for (unsigned i = 0; i < 12; i++) {
		struct any_options opt = { .form = FORM_CSV,
					    .sort = i < 6 ? "function" : "function,p50",
					    .fields = "function,calls,total,self,unfinished" };
		struct run r;

		feeds[0].batch = feeds[1].batch = batches[i % 3];
		r = report(t, opt, 1 + i % 2);
		assert_string_equal(r.out.buf, want.buf);
		out_free(&r.out);
	}
	out_free(&want);
	spur_close(t);
}

static void random_against_model(void **state)
{
	(void)state;
	against_model(true, 7);
	against_model(false, 8);
	against_model(false, 9);
}

/* Whichever allocation fails: an error or the whole answer, and nothing leaks. */
static void no_memory(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), l = fake_track(t, "y", 1, 2),
		 a = fake_class(t, "f", ""), b = fake_class(t, "g", "");
	struct spur_event rows[] = { FAKE_B(0, a, k), FAKE_B(1, a, l), FAKE_SPAN(2, 1, b, k),
				     FAKE_E(5, a, l), FAKE_E(9, a, k) };
	struct fake_feed f;
	bool done = false;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	for (uint64_t n = 1; !done; n++) {
		struct run r;

		mem_fail_at(n);
		r = report(t, (struct any_options){ .fields = "function,p50,stdev", .raw = true },
			   1);
		done = mem_count() < n;
		mem_fail_at(0);
		assert_true(n < 1000);
		if (r.st == SPUR_FAIL)
			assert_int_equal(r.err.code, SPUR_ERR_MEMORY);
		if (r.st != SPUR_FAIL && !r.out.error)
			assert_string_equal(r.out.buf, "function  p50  stdev\nf           4      "
						       "3\ng           1      0\n");
		out_free(&r.out);
	}
	spur_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_table),	     cmocka_unit_test(names),
		cmocka_unit_test(recursion),	     cmocka_unit_test(recursion_is_per_track),
		cmocka_unit_test(off_cpu_and_spans), cmocka_unit_test(unfinished),
		cmocka_unit_test(ends_by_class),     cmocka_unit_test(samples),
		cmocka_unit_test(deep_samples),	     cmocka_unit_test(usage),
		cmocka_unit_test(percentiles),	     cmocka_unit_test(random_against_model),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
