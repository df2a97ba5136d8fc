/* Switching the categories of a recording that is going on: SPEC spur/list. */
#ifndef SPUR_RECORDER_SWITCHES_H
#define SPUR_RECORDER_SWITCHES_H

#include <spur.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"

/* A process that was told. */
struct switch_process {
	const char *path; /* of its file */
	char *program; /* path; "": unknown */
	pid_t pid;
	int fd; /* of its file; -1: closed */
	uint8_t *head; /* of its file, mapped; NULL: not */
	uint32_t number; /* of the list in its file */
	bool answered, ended;
	bool listens; /* did not answer, but has a thread for that */
	bool follows; /* did not answer, but will go by the list from its next event on */
};

struct switch_result {
	struct switch_process *items; /* in the order of their files */
	size_t count;
	/* Those that go by the list, that will from their next event on, and that ended instead. */
	size_t answered, follow, ended;
	size_t silent; /* files of those that neither answered nor will */
	bool later; /* no process records, but the recorder is there, and programs may come */
	struct arena arena;
};

/* Returns SPUR_FAIL, with the error set, if the list cannot be one of categories. */
enum spur_status switch_check(const char *list, struct spur_error *err);
/*
 * Has the processes of a recording, and those that begin in it later, record the categories of a
 * list alone, or "all", "none" or "default". Waits for their answers, `ms` at most. Returns
 * SPUR_FAIL, with the error set, if the directory is no recording that is going on or cannot be
 * written. Requires switch_free() in any case.
 */
enum spur_status switch_categories(const char *dir, const char *list, int ms,
				   struct switch_result *r, struct spur_error *err);
void switch_free(struct switch_result *r);

#endif
