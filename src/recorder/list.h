/* What would be recorded of a program. */
#ifndef SPUR_RECORDER_LIST_H
#define SPUR_RECORDER_LIST_H

#include "base/out.h"
#include "recorder/recorder.h"

/*
 * Writes a line for each function and library call of the program that the rules choose: how it is
 * entered, bytes of its code, its name. Sets *count to their number. Returns SPUR_FAIL, with the
 * error set, if the program cannot be recorded.
 */
enum spur_status list_write(struct out *out, const struct recorder_options *o, uint64_t *count,
			    struct spur_error *err);

#endif
