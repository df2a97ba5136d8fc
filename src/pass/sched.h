/* Options of the tables of scheduling. */
#ifndef SPUR_PASS_SCHED_H
#define SPUR_PASS_SCHED_H

#include "pass/pass.h"

struct sched_options {
	const char *by; /* "thread", "cpu" or "wait"; NULL: thread */
};

/* Requires the environment of a pass that declares them. */
static inline const struct sched_options *sched_options(const struct pass_env *env)
{
	return env->options;
}

#endif
