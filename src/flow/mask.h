/*
 * Masks: what could identify a program or its user is replaced in a trace that is converted, so
 * that the trace can be shared. Names, categories, paths, texts of arguments and labels become
 * tokens of a keyed hash, so that equal texts stay equal; ids of processes, threads and objects of
 * a kernel, addresses and other large ids are permuted. Times, CPUs, other small ids and numbers in
 * arguments stay, except for bytes and arrays of bytes.
 */
#ifndef SPUR_FLOW_MASK_H
#define SPUR_FLOW_MASK_H

#include "base/out.h"
#include "model/args.h"
#include "model/trace.h"

enum { MASK_SMALL_ID = 65536 };

struct mask_options {
	const char *key; /* NULL: a random one, so that no other trace has the same tokens */
	bool words; /* tokens are two words and a number, not letters and digits */
};

/* What stays as it is, for the user. */
struct mask_kept {
	uint64_t numbers; /* in arguments */
	uint64_t small_ids; /* of events, below MASK_SMALL_ID */
};

struct mask;

/*
 * Makes the mask of a trace, replaces the names of its origins and of its clock, unless that is one
 * that systems have, and removes its facts (trace->info). Requires that no rows have been read.
 * Returns NULL, with the error set, if out of memory or if no random key is available. Free with
 * mask_free().
 */
struct mask *mask_new(struct spur_trace *t, const struct mask_options *opt, struct spur_error *err);
void mask_free(struct mask *m);
/*
 * Replaces names, classes and ids of rows. Returns false if out of memory. Thread-safe.
 */
bool mask_rows(struct mask *m, struct spur_event *rows, size_t n);
/*
 * Decodes the arguments of a row that mask_rows() has changed, and replaces them. Returns as
 * trace_args(). Thread-safe if `args` is the caller's own.
 */
enum spur_status mask_args(struct mask *m, const struct spur_event *row, struct spur_args *args);
/*
 * Writes the stack of a SAMPLE row that mask_rows() has changed, as spur_format.stack(), which the
 * format has. Returns 0 if out of memory. Thread-safe.
 */
size_t mask_stack(struct mask *m, const struct spur_event *row, uint32_t *cls, size_t cap);
/*
 * Returns what takes the place of a track, valid as long as the mask, or NULL if the track does not
 * exist; a track without a name or ids if out of memory. Thread-safe.
 */
const struct spur_track *mask_track(struct mask *m, uint32_t id);
/* Returns the class that a masked class stands for. Thread-safe. */
uint32_t mask_original(struct mask *m, uint32_t cls);
struct mask_kept mask_kept(const struct mask *m);
/* Writes the names that arguments had whose numbers stay, at most MASK_NAMES of them, in order. */
enum { MASK_NAMES = 16 };
void mask_kept_names(const struct mask *m, struct out *o);

#endif
