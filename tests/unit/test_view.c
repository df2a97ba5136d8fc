/*
 * The viewer's requests: which are let in, how parameters are read, which span one names, what is
 * found; over stores made of rows whose numbers are known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "fake_trace.h"
#include "flow/open.h"
#include "pass/index.h"
#include "view/find.h"
#include "view/gate.h"
#include "view/view.h"

/* --- which requests are let in --- */

#define TOKEN "0123456789abcdef0123456789abcdef"

/* Headers: pairs of a name and a value, ended by a NULL. */
static struct view_decision decide(const char *method, const char *path, const char *const *pairs)
{
	struct view_headers h = { 0 };
	struct view_gate g = { 0 };

	view_gate_init(&g, 8080, TOKEN);
	for (; *pairs; pairs += 2)
		view_gate_header(&g, pairs[0], pairs[1], &h);
	return view_gate_decide(method, path, &h);
}
#define DECIDE(method, path, ...) decide(method, path, (const char *const[]){ __VA_ARGS__, NULL })
#define HOST "Host", "127.0.0.1:8080"
#define GOOD HOST, "X-Spur-Token", TOKEN

static void assert_refused(struct view_decision d, unsigned status)
{
	assert_int_equal(d.way, VIEW_REFUSED);
	assert_int_equal(d.status, status);
	assert_non_null(d.path);
}

static void test_gate_hosts(void **state)
{
	(void)state;
	assert_int_equal(DECIDE("GET", "/api/meta", GOOD).way, VIEW_SEND_ANSWER);
	assert_string_equal(DECIDE("GET", "/api/meta", GOOD).path, "meta");
	assert_int_equal(
		DECIDE("GET", "/api/x", "HOST", "localhost:8080", "x-spur-token", TOKEN).way,
		VIEW_SEND_ANSWER);
	for (size_t i = 0; i < 8; i++) {
		static const char *const foreign[] = {
			"evil.example",	 "127.0.0.1",		"localhost", "127.0.0.1:80800",
			"127.0.0.1:808", "127.0.0.1:8080.evil", "",	     " 127.0.0.1:8080"
		};

		assert_refused(DECIDE("GET", "/", "Host", foreign[i]), 403);
		assert_refused(
			DECIDE("GET", "/api/meta", "Host", foreign[i], "X-Spur-Token", TOKEN), 403);
	}
	assert_refused(DECIDE("GET", "/api/meta", "X-Spur-Token", TOKEN), 403);
	assert_refused(DECIDE("GET", "/", "Host", NULL), 403);
	/* Two of them, although both are right: what stands between may have read the other one. */
	assert_refused(DECIDE("GET", "/", HOST, HOST), 403);
	assert_refused(DECIDE("GET", "/", HOST, "Host", "evil.example"), 403);
}

static void test_gate_origins(void **state)
{
	(void)state;
	assert_int_equal(DECIDE("GET", "/api/meta", GOOD, "Origin", "http://127.0.0.1:8080").way,
			 VIEW_SEND_ANSWER);
	assert_int_equal(DECIDE("GET", "/api/meta", GOOD, "Origin", "http://localhost:8080").way,
			 VIEW_SEND_ANSWER);
	for (size_t i = 0; i < 6; i++) {
		static const char *const foreign[] = {
			"http://evil.example", "https://127.0.0.1:8080", "null", "",
			"127.0.0.1:8080",      "http://127.0.0.1:8080/"
		};

		assert_refused(DECIDE("GET", "/api/meta", GOOD, "Origin", foreign[i]), 403);
		assert_refused(DECIDE("GET", "/api/meta", GOOD, "Origin", "http://127.0.0.1:8080",
				      "origin", foreign[i]),
			       403);
	}
	assert_refused(DECIDE("GET", "/api/meta", GOOD, "Origin", NULL), 403);
}

static void test_gate_tokens(void **state)
{
	char wrong[VIEW_TOKEN + 2];
	struct view_gate none = { 0 };
	struct view_headers h = { 0 };

	(void)state;
	/* Each character counts, and so does the length. */
	for (size_t i = 0; i < VIEW_TOKEN; i++) {
		memcpy(wrong, TOKEN, sizeof(TOKEN));
		wrong[i] ^= 1;
		assert_refused(DECIDE("GET", "/api/meta", HOST, "X-Spur-Token", wrong), 403);
		memcpy(wrong, TOKEN, sizeof(TOKEN));
		wrong[i] = '\0';
		assert_refused(DECIDE("GET", "/api/meta", HOST, "X-Spur-Token", wrong), 403);
	}
	assert_refused(DECIDE("GET", "/api/meta", HOST, "X-Spur-Token", TOKEN "0"), 403);
	assert_refused(DECIDE("GET", "/api/meta", HOST, "X-Spur-Token", NULL), 403);
	assert_refused(DECIDE("GET", "/api/meta", HOST), 403);
	assert_refused(DECIDE("GET", "/api/meta", GOOD, "X-Spur-Token", TOKEN), 403);
	assert_refused(DECIDE("GET", "/api/meta", HOST, "Cookie", TOKEN), 403);
	/* Files of the page have no secrets. */
	assert_int_equal(DECIDE("GET", "/main.js", HOST).way, VIEW_SEND_FILE);
	/* A gate that was not initialised: an empty token is not right either. */
	view_gate_header(&none, "X-Spur-Token", "", &h);
	view_gate_header(&none, "Host", "", &h);
	assert_false(h.has_token);
	assert_true(h.foreign);
}

static void test_gate_paths(void **state)
{
	static const char *const methods[] = { "POST",	  "PUT", "DELETE", "OPTIONS",
					       "CONNECT", "get", "TRACE",  "" };

	(void)state;
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		assert_refused(DECIDE(methods[i], "/api/meta", GOOD), 405);
		assert_refused(DECIDE(methods[i], "/", GOOD), 405);
	}
	assert_int_equal(DECIDE("HEAD", "/api/meta", GOOD).way, VIEW_SEND_ANSWER);
	assert_string_equal(DECIDE("GET", "/", HOST).path, "index.html");
	assert_string_equal(DECIDE("GET", "/../Makefile", HOST).path, "../Makefile");
	assert_string_equal(DECIDE("GET", "//etc/passwd", HOST).path, "/etc/passwd");
	assert_string_equal(DECIDE("GET", "/api", HOST).path, "api");
	assert_refused(DECIDE("GET", "", GOOD), 404);
	assert_refused(DECIDE("GET", "*", GOOD), 404);
	assert_string_equal(DECIDE("GET", "/api/", GOOD).path, "");
	assert_string_equal(DECIDE("GET", "/api/../meta", GOOD).path, "../meta");
}

/* --- a trace whose answers are known --- */

struct fixture {
	struct view view;
	struct store_writer *writer;
	char path[64];
};

/*
 * One thread: outer (10 to 110) calls inner (20 to 30), inner (40 to 100), in which leaf begins at
 * 50 and ends at 50; then outer (200 to 300) without calls; a tick at 310.
 */
static struct spur_trace *small_trace(void)
{
	static const struct {
		const char *name;
		enum spur_kind kind;
		int64_t ts;
	} rows[] = {
		{ "outer", SPUR_BEGIN, 10 },
		{ "inner", SPUR_BEGIN, 20 },
		{ "inner", SPUR_END_SPAN, 30 },
		{ "inner", SPUR_BEGIN, 40 },
		{ "leaf", SPUR_BEGIN, 50 },
		{ "leaf", SPUR_END_SPAN, 50 },
		{ "inner", SPUR_END_SPAN, 100 },
		{ "outer", SPUR_END_SPAN, 110 },
		{ "outer", SPUR_BEGIN, 200 },
		{ "outer", SPUR_END_SPAN, 300 },
		{ "<b>tick</b>\"\x01\xff", SPUR_INSTANT, 310 },
	};
	struct spur_trace *const t = fake_trace_new();

	t->unnamed = true; /* it cannot be read twice */
	fake_feed_add(t, 7, "main");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct spur_event *const e = fake_row(t, 0, rows[i].kind, rows[i].ts);

		e->cls = fake_class(t, rows[i].name, CLASS_FUNCTION);
		e->off = 100 + i;
		e->len = 1;
	}
	return t;
}

static int set_up(void **state)
{
	static const struct pipe_options pipe = { .threads = 1 };
	struct fixture *const f = calloc(1, sizeof(*f));
	struct view *const v = &f->view;
	struct spur_error err;
	int fd;

	memcpy(f->path, "/tmp/test_view.XXXXXX", sizeof("/tmp/test_view.XXXXXX"));
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	close(fd);
	v->trace = small_trace();
	assert_int_equal(store_writer_new(&f->writer, v->trace, f->path, 1, &err), SPUR_OK);
	assert_int_equal(index_build(v->trace, &pipe, f->writer, &err), SPUR_OK);
	assert_int_equal(store_writer_finish(f->writer, "test", &err), SPUR_OK);
	v->store = store_writer_view(f->writer);
	v->zero = 10;
	v->name = "a<i>\"name\"";
	v->path = "'a name'";
	pthread_mutex_init(&v->reading, NULL);
	pthread_mutex_init(&v->finding, NULL);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *const f = *state;

	view_found_free(&f->view);
	store_writer_free(f->writer);
	fake_trace_free(f->view.trace);
	unlink(f->path);
	free(f);
	return 0;
}

/* Asks `path?NAME=VALUE&...`, and compares the answer. */
static void ask(void **state, const char *query, unsigned status, const char *expected)
{
	struct fixture *const f = *state;
	char text[256], *at;
	struct view_request r = { .path = text };
	struct view_answer a = { 0 };

	snprintf(text, sizeof(text), "%s", query);
	for (at = strchr(text, '?'); at; at = strchr(at, '&')) {
		*at++ = '\0';
		r.names[r.nargs++] = at;
	}
	for (size_t i = 0; i < r.nargs; i++) {
		char *const equals = strchr(r.names[i], '=');

		if (equals)
			*equals = '\0';
		r.values[i] = equals ? equals + 1 : NULL;
	}
	out_to_memory(&a.out);
	view_answer(&f->view, &r, &a);
	out_char(&a.out, '\0');
	if (a.status != status || (expected && strcmp(a.out.buf, expected)))
		fail_msg("%s: expected %u %s, found %u %s", query, status, expected ? expected : "",
			 a.status, a.out.buf);
	out_free(&a.out);
}

static void test_numbers(void **state)
{
	struct view_request r = { .names = { "a", "b", "c", "d", "e", "f", "g", "a" },
				  .values = { "12", "-5", "", "1x", "99999999999999999999", NULL,
					      " 1", "13" },
				  .nargs = 8 };
	int64_t n;

	(void)state;
	assert_true(view_number(&r, "a", 0, 12, -1, &n));
	assert_int_equal(n, 12);
	assert_false(view_number(&r, "a", 0, 11, -1, &n));
	assert_false(view_number(&r, "a", 13, 20, -1, &n));
	assert_true(view_number(&r, "b", -5, 0, 0, &n));
	assert_int_equal(n, -5);
	assert_false(view_number(&r, "b", 0, 10, 0, &n));
	for (const char *name = "cdefg"; *name; name++) {
		const char text[] = { *name, 0 };

		assert_false(view_number(&r, text, INT64_MIN, INT64_MAX, 7, &n));
	}
	assert_true(view_number(&r, "none", 0, 1, 77, &n));
	assert_int_equal(n, 77);
	assert_null(view_arg(&r, "none"));
	assert_string_equal(view_arg(&r, "f"), "");
}

#define OUTER "{\"track\":0,\"depth\":0,\"ts\":0,\"dur\":100,\"label\":1,\"number\":0}"
#define INNER1 "{\"track\":0,\"depth\":1,\"ts\":10,\"dur\":10,\"label\":2,\"number\":0}"
#define INNER2 "{\"track\":0,\"depth\":1,\"ts\":30,\"dur\":60,\"label\":2,\"number\":1}"
#define LEAF "{\"track\":0,\"depth\":2,\"ts\":40,\"dur\":0,\"label\":3,\"number\":0}"
#define AGAIN "{\"track\":0,\"depth\":0,\"ts\":190,\"dur\":100,\"label\":1,\"number\":1}"
#define TICK "{\"track\":0,\"depth\":0,\"ts\":300,\"dur\":0,\"label\":4,\"number\":2}"

static void test_refused(void **state)
{
	ask(state, "nothing", 404, "no such request");
	ask(state, "", 404, NULL);
	ask(state, "../meta", 404, NULL);
	ask(state, "meta/", 404, NULL);
	ask(state, "span", 400, "expected track, depth and t");
	ask(state, "span?track=0&depth=0&t=-1", 400, NULL);
	ask(state, "span?track=0&depth=0&t=0&dur=x", 400, NULL);
	ask(state, "span?track=0&depth=0&t=0&number=-1", 400, NULL);
	ask(state, "span?track=0&depth=9&t=0", 404, "track 0 has no spans at depth 9");
	ask(state, "span?track=4294967295&depth=0&t=0", 400, NULL);
	ask(state, "tiles?z=0&i=0", 400, "expected lanes as TRACK:FROM-TO, at most 1024");
	for (size_t i = 0; i < 9; i++) {
		static const char *const lanes[] = { "",       "0",	   "0:1",
						     "0:2-1",  "0:0-1024", "0:0-0,",
						     "0:0-0;", "0:0-0,,",  "-1:0-0" };
		char query[64];

		snprintf(query, sizeof(query), "tiles?z=0&i=0&lanes=%s", lanes[i]);
		/* A comma at the end is no lane more. */
		ask(state, query, strcmp(lanes[i], "0:0-0,") ? 400 : 200, NULL);
	}
	ask(state, "tiles?z=51&i=0&lanes=0:0-0", 400, "expected z and i");
	ask(state, "tiles?z=50&i=8192&lanes=0:0-0", 400, "expected z and i");
	ask(state, "tiles?z=0&i=-1&lanes=0:0-0", 400, "expected z and i");
	ask(state, "counter?z=0&i=0&series=0", 400, "expected z, i and a series");
	ask(state, "sums?from=x", 400, "expected from and to in ns");
	ask(state, "sums?tracks=0,", 200, NULL);
	ask(state, "sums?tracks=0,1x", 400, "expected tracks as numbers with commas");
	ask(state, "sums?tracks=0,0", 400, "expected each track once");
	ask(state, "sums?tracks=0;1", 400, "expected tracks as numbers with commas");
	ask(state, "sums?tracks=99999999999", 400, NULL);
	ask(state, "calls?label=x", 400, "expected label as a number");
	ask(state, "labels?from=-1", 400, "expected from as a number");
}

static void test_ranges(void **state)
{
	/* By hand: two of outer, 100 each; inner 10 + 60; leaf 0. */
	ask(state, "sums", 200,
	    "[{\"label\":1,\"calls\":2,\"total\":200,\"self\":130,\"avg\":100,\"min\":100,"
	    "\"max\":100,\"unfinished\":0},"
	    "{\"label\":2,\"calls\":2,\"total\":70,\"self\":70,\"avg\":35,\"min\":10,"
	    "\"max\":60,\"unfinished\":0},"
	    "{\"label\":3,\"calls\":1,\"total\":0,\"self\":0,\"avg\":0,\"min\":0,"
	    "\"max\":0,\"unfinished\":0}]");
	ask(state, "sums?from=180", 200,
	    "[{\"label\":1,\"calls\":1,\"total\":100,\"self\":100,\"avg\":100,\"min\":100,"
	    "\"max\":100,\"unfinished\":0}]");
	ask(state, "sums?tracks=1", 200, "[]");
	ask(state, "sums?from=50&to=40", 200, "[]");
	ask(state, "sums?from=9223372036854775807&to=9223372036854775807", 200, "[]");
	/* As one function: the two of outer are the outermost calls. */
	ask(state, "sums?by=thread", 200,
	    "[{\"label\":-1,\"track\":0,\"calls\":5,\"total\":200,\"self\":200,\"avg\":54,\"min\":"
	    "0,"
	    "\"max\":100,\"unfinished\":0}]");
	ask(state, "sums?by=name", 400, "expected by=function, module, thread or process");
	ask(state, "begins?track=0&depth=1&from=10&to=31", 200,
	    "{\"count\":2,\"longest\":" INNER2 "}");
	ask(state, "begins?track=0&depth=1&from=11&to=30", 200, "{\"count\":0,\"longest\":null}");
	ask(state, "begins?track=0&depth=1&from=11&to=10", 400,
	    "expected track, depth, from and to");
	/* As `spur top` does, with the one of no length. */
	ask(state, "calls", 200, "[" OUTER "," AGAIN "," INNER2 "," INNER1 "," LEAF "]");
	ask(state, "calls?label=2", 200, "[" INNER2 "," INNER1 "]");
	ask(state, "calls?label=4294967295", 200, "[]");
	ask(state, "flame", 200,
	    "{\"label\":-1,\"calls\":0,\"total\":200,\"self\":0,\"children\":[{\"label\":1,"
	    "\"calls\":2,\"total\":200,\"self\":130,\"children\":[{\"label\":2,\"calls\":2,"
	    "\"total\":70,\"self\":70,\"children\":[{\"label\":3,\"calls\":1,\"total\":0,"
	    "\"self\":0,\"children\":[]}]}]}]}");
}

/* Which span a place is: the one around it, else the nearest; of two at one place the first. */
static void test_places(void **state)
{
	static const struct {
		unsigned depth;
		int64_t t;
		const char *span;
	} places[] = {
		{ 0, 0, OUTER },   { 0, 99, OUTER },	   { 0, 100, OUTER }, { 0, 101, OUTER },
		{ 0, 189, AGAIN }, { 0, 190, AGAIN },	   { 0, 290, AGAIN }, { 0, 300, TICK },
		{ 0, 5000, TICK }, { 0, INT64_MAX, TICK }, { 1, 0, INNER1 },  { 1, 21, INNER1 },
		{ 1, 29, INNER2 }, { 2, 1000, LEAF },
	};
	struct fixture *const f = *state;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char depth[8], t[24];
		const struct view_request r = { .names = { "track", "depth", "t" },
						.values = { "0", depth, t },
						.nargs = 3 };
		struct view_answer a = { .status = 200 };
		struct view_item item;
		struct out o;

		snprintf(depth, sizeof(depth), "%u", places[i].depth);
		snprintf(t, sizeof(t), "%lld", (long long)places[i].t);
		out_to_memory(&a.out);
		out_to_memory(&o);
		assert_true(view_item_of(&f->view, &r, &item, &a));
		assert_true(view_put_span(&f->view, &item, &o));
		out_char(&o, '\0');
		assert_string_equal(o.buf, places[i].span);
		out_free(&o);
		out_free(&a.out);
	}
}

static void test_find(void **state)
{
	ask(state, "find", 400, "expected something to find");
	ask(state, "find?q=", 400, "expected something to find");
	ask(state, "find?q=INNER", 200,
	    "{\"hit\":" INNER1 ",\"total\":2,\"partial\":false,\"marks\":[10,30]}");
	ask(state, "find?q=inner&track=0&depth=1&t=10&dur=10&number=0", 200,
	    "{\"hit\":" INNER2 ",\"total\":2,\"partial\":false,\"marks\":[10,30]}");
	/* A number that is of something else there, or of nothing, does not matter. */
	ask(state, "find?q=inner&track=0&depth=1&t=10&dur=10&number=1", 200,
	    "{\"hit\":" INNER2 ",\"total\":2,\"partial\":false,\"marks\":[10,30]}");
	ask(state, "find?q=inner&track=0&depth=1&t=10&dur=10&number=9223372036854775807", 200,
	    "{\"hit\":" INNER2 ",\"total\":2,\"partial\":false,\"marks\":[10,30]}");
	ask(state, "find?q=inner&track=0&depth=1&t=10", 200,
	    "{\"hit\":" INNER2 ",\"total\":2,\"partial\":false,\"marks\":[10,30]}");
	/* Behind the last one comes the first one, before it the last one. */
	ask(state, "find?q=inner&track=0&depth=1&t=30", 200,
	    "{\"hit\":" INNER1 ",\"total\":2,\"partial\":false,\"marks\":[10,30]}");
	ask(state, "find?q=inner&track=0&depth=1&t=10&back=1", 200,
	    "{\"hit\":" INNER2 ",\"total\":2,\"partial\":false,\"marks\":[10,30]}");
	ask(state, "find?q=/^(leaf|x)$/", 200,
	    "{\"hit\":" LEAF ",\"total\":1,\"partial\":false,\"marks\":[40]}");
	ask(state, "find?q=dur>10ns", 200,
	    "{\"hit\":" OUTER ",\"total\":3,\"partial\":false,\"marks\":[0,30,190]}");
	ask(state, "find?q=dur>=10ns", 200,
	    "{\"hit\":" OUTER ",\"total\":4,\"partial\":false,\"marks\":[0,10,30,190]}");
	ask(state, "find?q=no such name", 200,
	    "{\"hit\":null,\"total\":0,\"partial\":false,\"marks\":[]}");
	ask(state, "find?q=/(/", 400, NULL);
	ask(state, "find?q=/a{50}{50}/", 400, "expected at most 1000 repetitions in an expression");
	/* This trace cannot be read twice, as a pipe cannot. */
	ask(state, "find?q=dur == 3", 400,
	    "expressions need a trace that can be read twice; this one is a pipe or a "
	    "live session");
}

/* --- expressions --- */

/* Reads a golden into a store. */
static void open_golden(struct fixture *f, const char *name)
{
	static const struct pipe_options pipe = { .threads = 1 };
	struct view *const v = &f->view;
	struct spur_error err;

	*f = (struct fixture){ .path = "/tmp/test_view.XXXXXX" };
	close(mkstemp(f->path));
	assert_int_not_equal(spur_open(&v->trace, name, NULL, &err), SPUR_FAIL);
	assert_int_not_equal(trace_start(v->trace, &v->zero), SPUR_FAIL);
	assert_int_equal(store_writer_new(&f->writer, v->trace, f->path, 1, &err), SPUR_OK);
	assert_int_not_equal(index_build(v->trace, &pipe, f->writer, &err), SPUR_FAIL);
	assert_int_equal(store_writer_finish(f->writer, "test", &err), SPUR_OK);
	v->store = store_writer_view(f->writer);
	pthread_mutex_init(&v->reading, NULL);
	pthread_mutex_init(&v->finding, NULL);
}

/* Counts the rows with a name, ends left out. */
static size_t count_rows(const char *path, const char *name)
{
	const struct spur_event *rows;
	struct spur_trace *t;
	struct spur_error err;
	size_t n, count = 0;

	assert_int_not_equal(spur_open(&t, path, NULL, &err), SPUR_FAIL);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			count += rows[i].kind != SPUR_END_SPAN &&
				 !strcmp(spur_string(t, rows[i].name, NULL), name);
	spur_close(t);
	return count;
}

/* All that an expression finds, forwards and backwards. */
static void test_where(void **state)
{
	static const char trace[] = "tests/golden/uftrace/own-words/in";
	const size_t expected = count_rows(trace, "take_block");
	struct store_place places[64], p;
	struct view_hits hits;
	struct spur_error err = { 0 };
	struct fixture f;
	size_t n = 0;

	(void)state;
	assert_in_range(expected, 2, 64);
	open_golden(&f, trace);
	assert_true(view_where(&f.view, "name == \"take_block\"", &hits, &err));
	assert_int_equal(hits.n, expected);
	assert_int_equal(hits.total, expected);
	for (size_t i = 0; i < hits.n; i++)
		assert_true(!i || hits.hits[i].ts >= hits.hits[i - 1].ts);
	while (view_hit_next(&f.view, &hits, n ? &places[n - 1] : NULL, false, &p)) {
		assert_true(n < expected && p.start == hits.hits[n].ts);
		places[n++] = p;
	}
	assert_int_equal(n, expected);
	for (; view_hit_next(&f.view, &hits, n < expected ? &places[n] : NULL, true, &p); n--) {
		assert_true(n && p.start == places[n - 1].start);
		assert_int_equal(p.number, places[n - 1].number);
		assert_int_equal(p.lane, places[n - 1].lane);
	}
	assert_int_equal(n, 0);
	/* One that is wrong leaves nothing behind; the same one again is found again. */
	assert_false(view_where(&f.view, "dur >", &hits, &err));
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	assert_int_equal(hits.n, 0);
	assert_true(view_where(&f.view, "name == \"take_block\"", &hits, &err));
	assert_int_equal(hits.n, expected);
	view_found_free(&f.view);
	store_writer_free(f.writer);
	spur_close(f.view.trace);
	unlink(f.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gate_hosts),
		cmocka_unit_test(test_gate_origins),
		cmocka_unit_test(test_gate_tokens),
		cmocka_unit_test(test_gate_paths),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ranges, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_find, set_up, tear_down),
		cmocka_unit_test(test_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
