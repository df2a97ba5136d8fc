/*
 * A pass with memory that runs out at one allocation after the other: its output is whole, or it
 * says it is not.
 */
#ifndef TESTS_UNIT_TRY_PASS_H
#define TESTS_UNIT_TRY_PASS_H

#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/outdir.h"
#include "unit/any_options.h"

/* What is analysed, and how. */
struct tried {
	const char *path;
	struct spur_options opt;
	struct filter_spec spec;
	const char *kind, *by; /* as pass_options has them */
};

/* Opens the trace and runs the pass. */
static inline enum spur_status run_pass_input(const struct tried *t, const struct spur_pass *pass,
					      struct pass_env *env)
{
	struct spur_options opt = t->opt;
	struct out notes;
	enum spur_status st;

	opt.size = sizeof(opt);
	if (spur_open(&env->trace, t->path, &opt, env->err) == SPUR_FAIL)
		return SPUR_FAIL;
	out_to_memory(&notes);
	env->notes = &notes;
	st = filter_new(&env->filter, env->trace, &t->spec, env->err);
	env->pipe.filter = env->filter;
	if (st != SPUR_FAIL)
		st = pass_run(pass, env);
	filter_free(env->filter);
	spur_close(env->trace);
	out_free(&notes);
	env->filter = NULL;
	env->trace = NULL;
	return st;
}

/*
 * One analysis, of a pass that compares the trace with itself; false where it or the opening says
 * SPUR_FAIL, or the output has an error.
 */
static inline bool run_pass_once(const struct tried *t, const struct spur_pass *pass,
				 enum output_form form, struct out *out, struct outdir *to)
{
	const struct any_options options = {
		.form = form, .kind = t->kind, .by = t->by
	};
	struct spur_error err = { 0 };
	struct pass_env env = { ANY_OPTIONS(&options, pass->name), .out = out, .err = &err,
				.dir = to, .paths = { t->path, t->path } };
	enum spur_status st;

	env.given = &t->spec;
	env.pipe.threads = 1;
	st = run_pass_input(t, pass, &env);
	if (pass->show && st != SPUR_FAIL) {
		env.input = 1;
		st = run_pass_input(t, pass, &env);
	}
	if (pass->show && st != SPUR_FAIL)
		st = pass_show(pass, &env);
	if (pass->drop)
		pass->drop(env.kept);
	return st != SPUR_FAIL && !out->error;
}

/*
 * run_pass_once() with a directory for passes that write one, which is dropped; the n-th allocation
 * of the pass fails.
 */
static inline bool run_pass_failing(const struct tried *t, const struct spur_pass *pass,
				    enum output_form form, struct out *out, uint64_t n)
{
	struct outdir to;
	char path[64];
	bool good;

	snprintf(path, sizeof(path), "/tmp/spur-try-%ld", (long)getpid());
	if (outdir_open(&to, path, true, NULL) == SPUR_FAIL)
		fail_msg("no directory %s", path);
	mem_fail_at(n);
	good = run_pass_once(t, pass, form, out, &to);
	outdir_close(&to, false, NULL);
	return good;
}

/* `sparse`: of many allocations not each fails. */
static inline void try_pass(const struct tried *t, const struct spur_pass *pass,
			    enum output_form form, bool sparse)
{
	struct out want, got;
	uint64_t count = 0;

	out_to_memory(&want);
	if (run_pass_failing(t, pass, form, &want, 0)) {
		out_to_memory(&got);
		run_pass_failing(t, pass, form, &got, UINT64_MAX);
		count = mem_count();
		mem_fail_at(0);
		out_free(&got);
	}
	for (uint64_t n = 1; n <= count; n += 1 + (sparse ? n / 100 : 0)) {
		bool good;

		out_to_memory(&got);
		good = run_pass_failing(t, pass, form, &got, n);
		mem_fail_at(0);
		if (good && (got.len != want.len || memcmp(got.buf, want.buf, want.len) != 0))
			fail_msg("%s of %s: allocation %llu of %llu failed, the output is cut, and "
				 "nothing is said",
				 pass->name, t->path, (unsigned long long)n,
				 (unsigned long long)count);
		out_free(&got);
	}
	out_free(&want);
}

#endif
