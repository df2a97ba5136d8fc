/* plaything --style=nursery: what the tool of that name would say. */
#include "pass/pass.h"

static enum spur_status plaything_run(struct pass_env *env)
{
	out_str(env->out, "Toys!\n");
	return SPUR_OK;
}

const struct spur_pass spur_pass_nursery_plaything = {
	.name = "plaything.nursery",
	.run = plaything_run,
};
