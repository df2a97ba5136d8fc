/* Graph in uftrace's own layout: of calls, from the program or from one function, and of tasks. */
#include "style/uftrace/graph/graph.h"

static enum spur_status graph_run(struct pass_env *env)
{
	enum spur_status st = SPUR_FAIL;
	struct style s;

	if (!style_open(&s, env))
		err_nomem(env->err);
	else
		st = env->opt->task ? graph_tasks(env, &s) : graph_calls(env, &s);
	style_close(&s);
	return st;
}

const struct spur_pass spur_pass_uftrace_graph = {
	.name = "graph.uftrace",
	.analysis = true,
	.run = graph_run,
};
