/* Sessions of several programs: `spur record --system`. */
#ifndef SPUR_RECORDER_SYSTEM_H
#define SPUR_RECORDER_SYSTEM_H

#include <spur.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct system_options {
	const char *output; /* the directory of the recording; NULL: system.spur, or a new name */
	bool force, quiet;
	uint32_t mode; /* enum recorder_mode */
	uint64_t size; /* bytes for each thread of a ring, or each process of a oneshot; 0: usual */
	const char *categories; /* with commas; NULL: those that programs choose */
	const char *providers; /* patterns of programs' names, with commas; NULL: all */
	bool (*is_over)(void); /* asked several times a second */
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

struct system_result {
	char *path; /* of the recording; in the arena; NULL: no session began */
	unsigned recovered; /* processes that were killed, or ended by _exit() */
	unsigned copied; /* processes that recorded on their own meanwhile */
	unsigned late; /* processes that have not ended their recording in time */
	int client; /* waits for a text when all is done; -1: none does */
	int64_t ns; /* that the session took */
	struct arena arena;
};

/*
 * Runs a session until it is over or `spur record --stop` ends it. Returns SPUR_FAIL, with the
 * error set, if it could not begin or its recording could not be completed. Requires system_free()
 * in any case.
 */
enum spur_status system_run(const struct system_options *o, struct system_result *r,
			    struct spur_error *err);
/* `text`: what a client of --stop is told; NULL: nothing. */
void system_free(struct system_result *r, const char *text);

#endif
