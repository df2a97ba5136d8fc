/* Runs a pass over a trace of fake_trace.h and compares what it writes. */
#ifndef SPUR_TESTS_UNIT_PASS_RUN_H
#define SPUR_TESTS_UNIT_PASS_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/any_options.h"
#include "unit/fake_trace.h"

struct pass_run {
	const char *pass;
	struct any_options opt;
	const struct filter_spec *filter; /* NULL: none */
	unsigned threads; /* 0: two */
	struct spur_error err; /* afterwards */
	enum spur_status st;
};

/* What it wrote, NUL-ended, to be freed; NULL: out of memory. */
static inline char *pass_text(struct spur_trace *t, struct pass_run *r)
{
	struct out out;
	struct pass_env env = { .trace = t,
				.pipe = { .threads = r->threads ? r->threads : 2 },
				ANY_OPTIONS(&r->opt, r->pass),
				.out = &out,
				.err = &r->err };

	fake_rewind(t);
	r->err = (struct spur_error){ 0 };
	r->st = SPUR_OK;
	out_to_memory(&out);
	if (r->filter) {
		env.given = r->filter;
		r->st = filter_new(&env.filter, t, r->filter, &r->err);
	}
	env.pipe.filter = env.filter;
	if (r->st == SPUR_OK)
		r->st = pass_run(pass_find(r->pass, NULL), &env);
	filter_free(env.filter);
	out_char(&out, '\0');
	if (!out.error)
		return out.buf;
	out_free(&out);
	return NULL;
}

static inline void pass_expect(struct spur_trace *t, struct pass_run r, const char *want)
{
	char *text = pass_text(t, &r);

	assert_int_equal(r.st, SPUR_OK);
	assert_string_equal(text, want);
	free(text);
}

static inline void pass_refused(struct spur_trace *t, struct pass_run r, const char *message)
{
	char *text = pass_text(t, &r);

	assert_int_equal(r.st, SPUR_FAIL);
	assert_int_equal(r.err.code, SPUR_ERR_USAGE);
	assert_string_equal(r.err.message, message);
	free(text);
}

/* Whichever allocation fails, and all after it: the pass fails, or writes what it should. */
static inline void pass_starve(struct spur_trace *t, struct pass_run r)
{
	char *want = pass_text(t, &r), *text;
	uint64_t n = 1;

	assert_non_null(want);
	for (enum spur_status st = SPUR_FAIL; st == SPUR_FAIL; n++) {
		fake_rewind(t);
		mem_fail_at(n);
		text = pass_text(t, &r);
		st = r.st;
		mem_fail_at(0);
		if (st == SPUR_FAIL)
			assert_int_equal(r.err.code, SPUR_ERR_MEMORY);
		else if (text)
			assert_string_equal(text, want);
		else
			st = SPUR_FAIL;
		free(text);
		assert_true(n < 10000);
	}
	assert_true(n > 2);
	free(want);
}

#endif
