/* What a recording has, counted after the program has ended. */
#ifndef SPUR_RECORDER_SUMMARY_H
#define SPUR_RECORDER_SUMMARY_H

#include <spur.h>

struct summary {
	uint64_t files; /* of processes */
	uint64_t without; /* files of processes that could not record */
	uint64_t bytes;
	uint64_t events, lost, threads;
	int64_t cost_ns; /* estimate of the time that the events took, in all threads */
};

/*
 * Reads the recording. Returns SPUR_WARN if no process recorded, SPUR_FAIL, with the error
 * set, if it cannot be read.
 */
enum spur_status summary_read(struct summary *s, const char *path, struct spur_error *err);

#endif
