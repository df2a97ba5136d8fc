/* Options of the replay of calls. */
#ifndef SPUR_PASS_REPLAY_H
#define SPUR_PASS_REPLAY_H

#include "pass/pass.h"

struct replay_options {
	struct calltext_options lines;
	bool no_merge; /* leaf calls on two lines */
	bool task_newline; /* an empty line between threads */
};

/* Requires the environment of a pass that declares them. */
static inline const struct replay_options *replay_options(const struct pass_env *env)
{
	return env->options;
}

#endif
