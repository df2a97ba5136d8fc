/* Options of the dump of records. */
#ifndef SPUR_PASS_DUMP_H
#define SPUR_PASS_DUMP_H

#include "pass/pass.h"

struct dump_options {
	bool verbose; /* raw bytes too */
	/* uftrace's style: "chrome", "flame-graph", "graphviz", "mermaid"; NULL: raw. */
	const char *format;
	int64_t sample_ns; /* of uftrace's flame graph: one sample for each; 0: its default */
};

/* Requires the environment of a pass that declares them. */
static inline const struct dump_options *dump_options(const struct pass_env *env)
{
	return env->options;
}

#endif
