/* Report in uftrace's own layout: functions or tasks. Not its HTML, nor its colours. */
#include "style/uftrace/report/report.h"

static enum spur_status report_run(struct pass_env *env)
{
	enum spur_status st = SPUR_FAIL;
	struct style s;

	if (env->opt->avg_total && env->opt->avg_self)
		return err_set(env->err, SPUR_ERR_USAGE,
			       "--avg-total and --avg-self exclude each other");
	if (!style_open(&s, env))
		err_nomem(env->err);
	else
		st = env->opt->task ? report_tasks(env, &s) : report_functions(env, &s);
	style_close(&s);
	return st;
}

const struct spur_pass spur_pass_uftrace_report = {
	.name = "report.uftrace",
	.analysis = true,
	.run = report_run,
};
