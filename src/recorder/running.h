/*
 * Programs of this user that record, or that would if a session began. They are found by what they
 * have mapped (/proc/PID/maps), so that they need not announce themselves and nothing is left over
 * when one is killed.
 */
#ifndef SPUR_RECORDER_RUNNING_H
#define SPUR_RECORDER_RUNNING_H

#include <spur.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"

struct running {
	pid_t pid;
	char *program; /* path; "" if unknown */
	char *file; /* of its recording; NULL: it does not record */
	bool waits; /* it has the board mapped, and would join a session */
	char *dir; /* of the recording */
	uint32_t mode; /* enum spb_mode */
	bool on; /* events are recorded */
	int64_t since; /* ns since 1970 UTC: when the recording began */
	const char *only; /* the file to look for; NULL: the first that is not complete */
	char *categories; /* of its points so far, with commas; NULL: none known */
};

struct running_list {
	struct running *items; /* by pid */
	size_t count, cap;
	bool failed; /* out of memory */
	struct arena arena;
};

/*
 * Finds programs that record, with `waiting` also those that would join a session. `pid`: this one
 * only, whoever it belongs to; 0: all of this user. Returns SPUR_FAIL, with the error set, if out
 * of memory or if /proc cannot be read. Requires running_free() in any case.
 */
enum spur_status running_find(struct running_list *l, pid_t pid, bool waiting,
			      struct spur_error *err);
/*
 * Returns true if a process that has a recording or the board mapped does not have this recording
 * mapped: it has left it. A program that is leaving one session may have begun in the next already.
 */
bool running_left(pid_t pid, const char *path);
/*
 * Returns true if the process has this recording mapped, which is not complete. Its program is
 * taken into `program`, of `room` bytes; "": unknown.
 */
bool running_has(pid_t pid, const char *path, char *program, size_t room);
/* Reads the categories of a program that records. Returns false if out of memory. */
bool running_categories(struct running_list *l, struct running *r);
void running_free(struct running_list *l);

#endif
