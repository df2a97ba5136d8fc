/* Kept stores in place of traces. */
#ifndef SPUR_CLI_KEPT_H
#define SPUR_CLI_KEPT_H

#include "cli/values.h"

/* The option of commands whose passes may read stores. */
#define KEPT_OPTION \
	{ .name = "no-cache", \
	  .type = OPT_FLAG, \
	  OPT_COMMON(no_cache), \
	  .help = "Read the trace even if spur index has stored its events" }

/* Returns true if the only trace that is named is a store, a file. */
bool kept_is_store(const struct values *v);
/* Fails if the path is that of a store; for where that cannot stand for its trace. */
enum spur_status kept_refuse(struct values *v, const char *path);
/*
 * Opens the store that is named in place of a trace (kept_is_store()); fails where that has no
 * answer. Else opens the store that `spur index` keeps of the traces if the pass can read that
 * instead: a range of time is wanted, and nothing that needs what a store lacks. Returns SPUR_WARN,
 * with nothing opened, if the trace is to be read.
 */
enum spur_status kept_open(struct values *v, const struct spur_pass *pass,
			   const struct pass_env *env, struct spur_trace **out);

#endif
