/* `spur record` without a program of its own: --system, --stop, --list and --switch. */
#ifndef SPUR_CLI_RECORD_SYSTEM_H
#define SPUR_CLI_RECORD_SYSTEM_H

#include "cli/values.h"

/* How programs are to record; see struct system_options. */
struct record_system {
	uint32_t mode; /* enum recorder_mode */
	uint64_t size;
	const char *categories, *providers;
};

/* Each returns the exit code. */
int record_system_run(struct values *v, const struct record_system *how);
int record_system_stop(struct values *v);
int record_system_list(struct values *v);
/* Switches the categories of the recording that is the operand, or of the one that is going on. */
int record_switch(struct values *v, const char *list);

#endif
