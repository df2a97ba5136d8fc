/*
 * Options of the pass `view`: it hands an open trace to a server, which the library does not have.
 */
#ifndef SPUR_PASS_VIEW_H
#define SPUR_PASS_VIEW_H

#include "pass/pass.h"

struct view_options {
	/* Serves the trace until it is told to stop; as spur_pass.run. */
	enum spur_status (*serve)(struct pass_env *env, const struct view_options *o);
	const char *name, *path; /* of the trace: for people, and quoted for a shell */
	uint64_t port; /* 0: any that is free */
	bool no_open; /* do not open a browser */
	bool no_cache; /* neither use a store that is kept nor keep one */
	int64_t idle; /* ns after the last request until it ends; 0: never */
	const char *state; /* a file with a state of the page; NULL: none */
};

static inline const struct view_options *view_options(const struct pass_env *env)
{
	return env->options;
}

#endif
