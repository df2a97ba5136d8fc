/* Graph in uftrace's own layout: of calls, from the program or from one function, and of tasks. */
#include "style/uftrace/graph/graph.h"

static enum spur_status graph_run(struct pass_env *env)
{
	enum spur_status st = SPUR_FAIL;
	struct style s;

	if (!style_open(&s, env))
		err_nomem(env->err);
	else
		st = uftrace_options(env)->task ? graph_tasks(env, &s) : graph_calls(env, &s);
	style_close(&s);
	return st;
}

static void graph_prepare(const struct pass_env *env, struct spur_options *open)
{
	open->source_lines |= uftrace_options(env)->srcline;
}

const struct spur_pass spur_pass_uftrace_graph = {
	.name = "graph.uftrace",
	.analysis = true,
	.options_size = sizeof(struct graph_options),
	.style_options_size = sizeof(struct uftrace_options),
	.bare_times = true,
	.simple_names = true,
	.focus_hides_sched = true,
	.prepare = graph_prepare,
	.run = graph_run,
};
