/* Shows an open trace: builds its store, starts the server, opens a browser. */
#ifndef SPUR_VIEW_SERVE_H
#define SPUR_VIEW_SERVE_H

#include "pass/view.h"
#include "view/view.h"

/* Shows the store of a trace until the user ends it. Returns SPUR_FAIL with env->err set. */
typedef enum spur_status (*view_run)(struct view *v, struct pass_env *env, void *self);
/*
 * Opens the store that is kept of an open trace, or begins to build one on another thread, and
 * calls `run`. Then ends the building, and removes a store that is not kept. Returns SPUR_FAIL,
 * with env->err set, if the store cannot be made or `run` fails.
 */
enum spur_status view_with_store(struct pass_env *env, const struct view_options *o, view_run run,
				 void *self);

/* The function for view_options.serve. */
enum spur_status view_serve(struct pass_env *env, const struct view_options *o);

#endif
