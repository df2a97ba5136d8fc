/* cut: records of the trace as a trace of the same format (flow/cut.h). */
#include "pass/cut.h"

#include "base/err.h"
#include "flow/cut.h"

static enum spur_status cut_pass(struct pass_env *env)
{
	const struct cut_options *opt = cut_options(env);
	struct cut c = { .pipe = env->pipe,
			 .sorted = opt->sorted,
			 .repair = opt->repair,
			 .out = env->out,
			 .dir = env->dir,
			 .notes = env->notes };

	c.pipe.limit = env->opt->limit;
	if (cut_run(&c, env->trace) == SPUR_FAIL) {
		*env->err = c.error;
		return SPUR_FAIL;
	}
	env->lost = c.copy.bytes_lost != 0;
	env->damaged = c.copy.damaged;
	if (c.none && !(c.pipe.stop && *c.pipe.stop)) {
		env->nothing = "no event passes the filter: nothing was written";
		return SPUR_WARN;
	}
	/* A format without a header: the file would not be a trace. */
	if (!env->dir && !env->out->flushed && !env->out->len && !env->out->error &&
	    !(c.pipe.stop && *c.pipe.stop))
		return err_set(env->err, SPUR_ERR_FORMAT,
			       "nothing in the trace can be read: nothing was written");
	return SPUR_OK;
}

static void cut_prepare(const struct pass_env *env, struct spur_options *open)
{
	open->salvage = cut_options(env)->repair;
}

const struct spur_pass spur_pass_cut = {
	.name = "cut",
	.prepare = cut_prepare,
	.limits_rows = true,
	.options_size = sizeof(struct cut_options),
	.run = cut_pass,
};
