/* flame: folded stacks, and an SVG that is well-formed whatever the names are. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

#include "pass/pass.h"
#include "unit/any_options.h"

#define ROWS(a) (a), sizeof(a) / sizeof(*(a))

static char *flame(struct spur_trace *t, struct any_options opt, enum spur_status want)
{
	struct out out;
	struct spur_error err = { 0 };
	struct pass_env env = { .trace = t,
				.pipe = { .threads = 2 },
				ANY_OPTIONS(&opt, "flame"),
				.out = &out,
				.err = &err };

	out_to_memory(&out);
	fake_rewind(t);
	assert_int_equal(pass_find("flame", NULL)->run(&env), want);
	out_char(&out, '\0');
	return out.buf;
}

static void expect(struct spur_trace *t, struct any_options opt, const char *want)
{
	char *text = flame(t, opt, SPUR_OK);

	assert_string_equal(text, want);
	free(text);
}

static void folded(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), m = fake_class(t, "main", ""),
		 a = fake_class(t, "a;b\n", ""), z = fake_class(t, "0", "");
	struct spur_event rows[] = { FAKE_B(0, m, k),	 FAKE_B(100, a, k), FAKE_B(200, z, k),
				     FAKE_E(250, z, k),	 FAKE_E(400, a, k), FAKE_B(400, z, k),
				     FAKE_E(1400, z, k), FAKE_E(2000, m, k) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t, (struct any_options){ 0 },
	       "main 700\nmain;0 1000\nmain;a,b\\n 250\nmain;a,b\\n;0 50\n");
	expect(t, (struct any_options){ .sample_ns = 100 },
	       "main 7\nmain;0 10\nmain;a,b\\n 3\nmain;a,b\\n;0 1\n");
	expect(t, (struct any_options){ .root = "a;b\n" }, "a,b\\n 250\na,b\\n;0 50\n");
	free(flame(t, (struct any_options){ .root = "nowhere" }, SPUR_WARN));
	free(flame(t, (struct any_options){ .format = "gif" }, SPUR_FAIL));
	spur_close(t);
}

static void samples(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), m = fake_class(t, "main", ""),
		 a = fake_class(t, "a", "");
	const uint32_t path[] = { m, a };
	struct spur_event rows[] = { FAKE_SAMPLE(0, m, k, 10, 1, 1), FAKE_SAMPLE(2, a, k, 5, 8, 2),
				     FAKE_SAMPLE(3, a, k, 6, 8, 2) };
	struct fake_feed f;

	(void)state;
	fake_stacks[0].cls = fake_stacks[1].cls = path;
	fake_stacks[0].n = 1;
	fake_stacks[1].n = 2;
	fake_feed(t, &f, ROWS(rows));
	expect(t, (struct any_options){ 0 }, "main 10\nmain;a 11\n");
	memset(fake_stacks, 0, sizeof(fake_stacks));
	spur_close(t);
}

/* Paths deeper than a line should be end in one frame; nothing is lost of the time. */
static void deep(void **state)
{
	enum { DEPTH = 5000 };
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), a = fake_class(t, "r", "");
	static struct spur_event rows[2 * DEPTH];
	struct fake_feed f;
	unsigned long long sum = 0;
	char *text;

	(void)state;
	for (int i = 0; i < 2 * DEPTH; i++)
		rows[i] = (struct spur_event){ .kind = i < DEPTH ? SPUR_BEGIN : SPUR_END_SPAN,
					       .ts = i * 10,
					       .cls = a,
					       .track = k };
	fake_feed(t, &f, ROWS(rows));
	text = flame(t, (struct any_options){ 0 }, SPUR_OK);
	for (char *p = text, *e; (e = strchr(p, '\n')); p = e + 1) {
		char *blank = e;

		while (blank[-1] != ' ')
			blank--;
		sum += strtoull(blank, NULL, 10);
	}
	assert_int_equal(sum, 10 * (2 * DEPTH - 1));
	assert_non_null(strstr(text, ";r;(deeper) "));
	free(text);
	text = flame(t, (struct any_options){ .format = "svg" }, SPUR_OK);
	assert_non_null(strstr(text, "512 levels are drawn"));
	assert_null(strstr(text, "y=\"18446744"));
	free(text);
	spur_close(t);
}

/* A small XML reader: every tag closed in order, no stray < or &, quotes in pairs. */
static void assert_well_formed(const char *p)
{
	char open[64][16];
	size_t depth = 0;

	for (; *p; p++) {
		if (*p == '&') {
			assert_true(!strncmp(p, "&amp;", 5) || !strncmp(p, "&lt;", 4) ||
				    !strncmp(p, "&gt;", 4) || !strncmp(p, "&quot;", 6));
		} else if (!strncmp(p, "<![CDATA[", 9)) {
			p = strstr(p, "]]>");
			assert_non_null(p);
			p += 2;
		} else if (!strncmp(p, "<!--", 4) || !strncmp(p, "<?", 2)) {
			p = strchr(p, '>');
		} else if (*p == '<') {
			bool close = p[1] == '/', self;
			const char *end = strchr(p, '>'), *name = p + 1 + close;
			size_t len = strcspn(name, " />");

			assert_true(end && len && len < sizeof(open[0]));
			self = end[-1] == '/';
			for (const char *q = p + 1; q < end; q++)
				assert_true(*q != '<');
			if (close) {
				assert_true(depth && strlen(open[depth - 1]) == len &&
					    !strncmp(open[depth - 1], name, len));
				depth--;
			} else if (!self) {
				assert_true(depth < 64);
				snprintf(open[depth++], sizeof(open[0]), "%.*s", (int)len, name);
			}
			p = end;
		} else {
			assert_true((unsigned char)*p >= 0x20 || *p == '\n' || *p == '\t');
		}
	}
	assert_int_equal(depth, 0);
}

static void svg(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), m = fake_class(t, "main", "/bin/x");
	uint32_t a = fake_class(t, "std::vector<int>::operator[] & \"more\" \001\xff", ""),
		 tiny = fake_class(t, "tiny", "");
	struct spur_event rows[] = { FAKE_B(0, m, k), FAKE_SPAN(100000, 400000, a, k),
				     FAKE_SPAN(600000, 50, tiny, k), FAKE_E(1000000, m, k) };
	struct fake_feed f;
	char *text;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	text = flame(t, (struct any_options){ .format = "svg" }, SPUR_OK);
	assert_well_formed(text);
	assert_non_null(strstr(text, "<title>main\n1.000 ms, 100 %, 1 calls</title>"));
	assert_non_null(strstr(text,
			       "<title>std::vector&lt;int&gt;::operator[] &amp; &quot;more&quot; "
			       "\\x01\\xff\n400.000 us, 40 %, 1 calls</title>"
			       "<rect x=\"10\" y=\"64\" width=\"472\""));
	assert_null(strstr(text, "<title>tiny"));
	assert_non_null(strstr(text, "<!-- 1 frames narrower"));
	assert_null(strstr(text, "http://www.w3.org/1999/xlink"));
	free(text);
	text = flame(t, (struct any_options){ .format = "svg", .root = "main" }, SPUR_OK);
	assert_non_null(strstr(text, ">fake: main</text>"));
	free(text);
	spur_close(t);
}

/* Nothing took any time: still a graph. */
static void empty(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), m = fake_class(t, "main", "");
	struct spur_event rows[] = { FAKE_B(5, m, k), FAKE_E(5, m, k) };
	struct fake_feed f;
	char *text;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	text = flame(t, (struct any_options){ .format = "svg" }, SPUR_OK);
	assert_well_formed(text);
	free(text);
	expect(t, (struct any_options){ 0 }, "");
	spur_close(t);
}

static void no_memory(void **state)
{
	struct spur_trace *t = fake_trace();
	uint32_t k = fake_track(t, "x", 1, 1), m = fake_class(t, "main", "");
	struct spur_event rows[] = { FAKE_B(0, m, k), FAKE_SPAN(100, 50, m, k), FAKE_E(500, m, k) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	for (int svg_too = 0; svg_too < 2; svg_too++) {
		bool done = false;

		for (uint64_t n = 1; !done; n++) {
			struct any_options opt = { .format = svg_too ? "svg" : "folded" };
			struct out out;
			struct spur_error err = { 0 };
			struct pass_env env = { .trace = t,
						.pipe = { .threads = 1 },
						ANY_OPTIONS(&opt, "flame"),
						.out = &out,
						.err = &err };
			enum spur_status st;

			out_to_memory(&out);
			fake_rewind(t);
			mem_fail_at(n);
			st = pass_find("flame", NULL)->run(&env);
			done = mem_count() < n;
			mem_fail_at(0);
			assert_true(n < 1000);
			assert_true(st == SPUR_OK ||
				    (st == SPUR_FAIL && err.code == SPUR_ERR_MEMORY));
			out_free(&out);
		}
	}
	spur_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(folded), cmocka_unit_test(samples),
					    cmocka_unit_test(deep),   cmocka_unit_test(svg),
					    cmocka_unit_test(empty),  cmocka_unit_test(no_memory) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
