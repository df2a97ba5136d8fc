/* Report in uftrace's own layout: functions or tasks. Not its HTML, nor its colours. */
#include "style/uftrace/report/report.h"

static enum spur_status report_run(struct pass_env *env)
{
	enum spur_status st = SPUR_FAIL;
	struct style s;

	if (uftrace_options(env)->avg_total && uftrace_options(env)->avg_self)
		return err_set(env->err, SPUR_ERR_USAGE,
			       "--avg-total and --avg-self exclude each other");
	if (!style_open(&s, env))
		err_nomem(env->err);
	else
		st = report_options(env)->task ? report_tasks(env, &s) : report_functions(env, &s);
	style_close(&s);
	return st;
}

static void report_prepare(const struct pass_env *env, struct spur_options *open)
{
	open->source_lines |= uftrace_options(env)->srcline;
}

const struct spur_pass spur_pass_uftrace_report = {
	.name = "report.uftrace",
	.analysis = true,
	.options_size = sizeof(struct report_options),
	.style_options_size = sizeof(struct uftrace_options),
	.bare_times = true,
	.simple_names = true,
	.focus_hides_sched = true,
	.prepare = report_prepare,
	.run = report_run,
};
