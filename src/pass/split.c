/* split: the trace as several traces of the same format (flow/split.h). */
#include "pass/split.h"

#include "base/err.h"

/* A filter that selects nothing, a trace without an event, or one of which nothing can be read. */
static enum spur_status nothing_to_split(struct pass_env *env)
{
	trace_join_diag(env->trace);
	if (!env->filter && diag_totals(&env->trace->joined).damaged)
		return err_set(env->err, SPUR_ERR_FORMAT,
			       "nothing in the trace can be read: nothing was written");
	env->nothing = env->filter ? "no event passes the filter: nothing was written"
				   : "no event to split: nothing was written";
	return SPUR_WARN;
}

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
	env->lost = s.bytes_lost != 0;
	env->damaged = s.damaged;
	if (st == SPUR_FAIL)
		*env->err = s.error;
	if (st == SPUR_WARN && !(s.pipe.stop && *s.pipe.stop))
		return nothing_to_split(env);
	return st;
}

const struct spur_pass spur_pass_split = {
	.name = "split",
	.limits_rows = true,
	.tracks = true,
	.options_size = sizeof(struct split_options),
	.run = split_pass,
};
