/*
 * Where the arguments and the result of a function are, by its debug information and the calling
 * convention of x86-64.
 */
#ifndef SPUR_RECORDER_DESCRIBED_H
#define SPUR_RECORDER_DESCRIBED_H

#include "base/err.h"
#include "recorder/plan.h"

struct dwarf_arguments;

/* Opens the debug information of a file. Returns NULL if it has none, or if out of memory. */
struct dwarf_arguments *described_open(const struct binary *b, const char *dirs);
void described_close(struct dwarf_arguments *d); /* NULL: does nothing */
/*
 * Calls `add` for the arguments of the function at `address` that can be recorded, or with
 * `results` for its result. Stops if `add` returns false. The name is valid during the call.
 * Returns false if `add` did.
 */
bool described_arguments(struct dwarf_arguments *d, uint64_t address, bool results,
			 bool (*add)(void *self, const struct plan_arg *arg, const char *name),
			 void *self);

#endif
