/* The formats of the uftrace style of dump. */
#ifndef SPUR_STYLE_UFTRACE_DUMP_DUMP_H
#define SPUR_STYLE_UFTRACE_DUMP_DUMP_H

#include "pass/dump.h"
#include "style/uftrace/text/args.h"
#include "style/uftrace/text/walk.h"

enum spur_status dump_raw(struct pass_env *env, struct style *s);
enum spur_status dump_chrome(struct pass_env *env, struct style *s);
enum spur_status dump_flame(struct pass_env *env, struct style *s);
enum spur_status dump_graphviz(struct pass_env *env, struct style *s);
enum spur_status dump_mermaid(struct pass_env *env, struct style *s);

static inline unsigned dump_mode(const struct pass_env *env)
{
	return env->opt->width ? ARGS_SAFE : 0;
}

#endif
