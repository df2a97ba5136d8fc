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

/*
 * Opens the store that `spur index` keeps of the traces if the pass can read that instead: a range
 * of time is wanted, and nothing that needs what a store lacks. Returns SPUR_WARN, with nothing
 * opened, if the trace is to be read.
 */
enum spur_status kept_open(struct values *v, const struct spur_pass *pass,
			   const struct pass_env *env, struct spur_trace **out);

#endif
