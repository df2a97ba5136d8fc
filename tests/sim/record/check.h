/* Reads what simulated recordings left, and checks the law. What is wrong ends the run. */
#ifndef SPUR_TESTS_SIM_RECORD_CHECK_H
#define SPUR_TESTS_SIM_RECORD_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "law.h"
#include "machine.h"

/* Some readings are also made by the library's reader and after `spur recover`. */
extern bool check_library;
extern struct check_counts {
	uint64_t crashes, library, recoveries, dumps;
} check_counts;

/* Reads all files as they are after a crash, or at the end. */
void check_reading(enum sim_crash crash, enum law_moment moment);
/* Reads the dump that the running thread has made. */
void check_dump(unsigned dump);
/* A crash of a kind that chance decides, of each kind, and a kill. */
void check_crash(void);
void check_each_crash(void);
void check_kill(void);

#endif
