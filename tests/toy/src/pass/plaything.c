/* plaything: how many events there are. */
#include "pass/pass.h"

static bool count_rows(void *self, struct spur_event *rows, size_t n)
{
	(void)rows;
	*(uint64_t *)self += n;
	return true;
}

static enum spur_status plaything_run(struct pass_env *env)
{
	uint64_t events = 0;
	const enum spur_status st = pipe_run_merged(env->trace, &env->pipe, count_rows, &events);

	if (st == SPUR_FAIL)
		return err_nomem(env->err);
	out_printf(env->out, "%llu toys\n", (unsigned long long)events);
	return events ? SPUR_OK : SPUR_WARN;
}

const struct spur_pass spur_pass_plaything = { .name = "plaything", .run = plaything_run };
