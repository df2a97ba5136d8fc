/*
 * A simulated file system below /sim/, for tests of code that calls the system through base/os.h.
 * Files are real descriptors (memfd), so that they can be mapped; names, sizes, failures and
 * crashes are the simulator's. Every call that passes through the seam and concerns /sim/ is a
 * step, numbered from 1. Other paths reach the system.
 *
 * A crash freezes the disk at one step: sim_file() and sim_names() show what is there after it,
 * while the code under test goes on with calls that fail, so that it frees what it has. Two kinds:
 *   SIM_KILL   the process dies: everything issued before survives, the step itself in part
 *              (whole pages of a write)
 *   SIM_POWER  the machine dies: a page that was not synced is old, new or torn between sectors; a
 *              size that was not synced is old or new; names appear as after some first part of
 *              the operations on directories
 * Which of these is a function of the seed. One thread only.
 */
#ifndef SPUR_TESTS_SIM_OS_SIM_H
#define SPUR_TESTS_SIM_OS_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os.h"

#define SIM_DIR "/sim"

enum sim_crash { SIM_NONE, SIM_KILL, SIM_POWER };

enum { SIM_SHORT = -1 }; /* as a fault: the read or write moves half of the bytes, one at least */

struct sim_options {
	uint64_t seed;
	uint64_t capacity; /* bytes that all files may have together; 0: no limit */
	uint64_t crash_at; /* step; 0: never */
	enum sim_crash crash;
	uint64_t fault_at; /* step; 0: none */
	int fault; /* errno, or SIM_SHORT; EINTR only in read, write, sync, allocate, close */
	bool no_unnamed_files; /* O_TMPFILE fails with EOPNOTSUPP */
};

/* An empty disk. sim_end() must have been called since the last one. */
void sim_begin(const struct sim_options *options);
/* Changes the options; steps are counted from 1 again. What is there now counts as synced. */
void sim_restart(const struct sim_options *options);
/* Frees all. Fails the test if the code under test left a descriptor open. */
void sim_end(void);

/* Steps so far. */
uint64_t sim_steps(void);
/* The fault of the options met a call that it applies to. */
bool sim_fault_happened(void);
/* Adds a synced file. */
void sim_add(const char *path, const void *data, size_t size);
/*
 * Returns what the file has now, or, after a crash, had then, or NULL if there is no such file;
 * *size gets its length. Valid until the next call of the simulator.
 */
const char *sim_file(const char *path, size_t *size);
/*
 * The number of names on the disk, now or after the crash; *first gets one that is not `except`
 * (NULL if none is).
 */
size_t sim_names(const char *except, const char **first);
/* The options and the step in one line, to be printed when a test fails. */
const char *sim_text(void);

#endif
