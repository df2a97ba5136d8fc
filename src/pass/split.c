/* split: the trace as several traces of the same format (flow/split.h). */
#include "pass/split.h"

#include "base/err.h"

static enum spur_status split_pass(struct pass_env *env)
{
	const struct split_options *opt = split_options(env);
	struct split s = { .pipe = env->pipe,
			   .by = opt->by,
			   .each = opt->each,
			   .dir = env->dir,
			   .ending = opt->ending,
			   .notes = env->notes };
	enum spur_status st;

	s.pipe.limit = env->opt->limit;
	st = split_run(&s, env->trace);
	if (st == SPUR_FAIL)
		*env->err = s.error;
	else if (st == SPUR_WARN && !(s.pipe.stop && *s.pipe.stop))
		st = err_set(env->err, SPUR_ERR_USAGE, "no event to split: nothing was written");
	env->lost = s.bytes_lost != 0;
	return st;
}

const struct spur_pass spur_pass_split = {
	.name = "split",
	.limits_rows = true,
	.tracks = true,
	.options_size = sizeof(struct split_options),
	.run = split_pass,
};
