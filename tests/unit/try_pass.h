/*
 * A pass with memory that runs out at one allocation after the other: its output is whole, or it
 * says it is not.
 */
#ifndef TESTS_UNIT_TRY_PASS_H
#define TESTS_UNIT_TRY_PASS_H

#include "base/mem.h"
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
				 enum output_form form, struct out *out)
{
	const struct any_options options = {
		.form = form, .kind = t->kind, .by = t->by
	};
	struct spur_error err = { 0 };
	struct pass_env env = { ANY_OPTIONS(&options, pass->name), .out = out, .err = &err,
				.paths = { t->path, t->path } };
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

/* `sparse`: of many allocations not each fails. */
static inline void try_pass(const struct tried *t, const struct spur_pass *pass,
			    enum output_form form, bool sparse)
{
	struct out want, got;
	uint64_t count = 0;

	out_to_memory(&want);
	if (run_pass_once(t, pass, form, &want)) {
		out_to_memory(&got);
		mem_fail_at(UINT64_MAX);
		run_pass_once(t, pass, form, &got);
		count = mem_count();
		mem_fail_at(0);
		out_free(&got);
	}
	for (uint64_t n = 1; n <= count; n += 1 + (sparse ? n / 100 : 0)) {
		bool good;

		out_to_memory(&got);
		mem_fail_at(n);
		good = run_pass_once(t, pass, form, &got);
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
