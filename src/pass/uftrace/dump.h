/* The formats of the uftrace style of dump. */
#ifndef SPUR_PASS_UFTRACE_DUMP_H
#define SPUR_PASS_UFTRACE_DUMP_H

#include "pass/uftrace/args.h"
#include "pass/uftrace/task.h"

enum spur_status dump_raw(struct pass_env *env, struct style *s);
enum spur_status dump_chrome(struct pass_env *env, struct style *s);
enum spur_status dump_flame(struct pass_env *env, struct style *s);
enum spur_status dump_graphviz(struct pass_env *env, struct style *s);
enum spur_status dump_mermaid(struct pass_env *env, struct style *s);

/*
 * Records in time order for the formats that are not raw: what is shown, with schedule events, and at the end of all an END
 * for what is still open. The row is in order and consumed.
 */
struct dump_walk {
	struct style *s;
	/* False: no memory. `addr` is that of the record. */
	bool (*record)(void *self, struct style_task *t, const struct spur_event *row, uint64_t addr);
	void *self;
	bool failed;
};
bool dump_walk_rows(struct dump_walk *w, const struct spur_event *rows, size_t n);
bool dump_walk_end(struct dump_walk *w);

static inline unsigned dump_mode(const struct pass_env *env)
{
	return env->opt->width ? ARGS_SAFE : 0;
}

#endif
