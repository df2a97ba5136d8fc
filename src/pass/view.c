/* view: a server shows the trace in a browser (src/view). */
#include "pass/view.h"

static enum spur_status view_run(struct pass_env *env)
{
	const struct view_options *const o = view_options(env);

	if (!o->serve)
		return err_set(env->err, SPUR_ERR_USAGE,
			       "the library has no server to view traces");
	return o->serve(env, o);
}

const struct spur_pass spur_pass_view = {
	.name = "view",
	.options_size = sizeof(struct view_options),
	.source_lines = true,
	.shows_damage = true,
	.run = view_run,
};
