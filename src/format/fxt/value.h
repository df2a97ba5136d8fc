/*
 * Values of a record for spur_args() and `spur dump`. References are resolved as of the record's
 * offset. Values that cannot be added because memory is exhausted are missing; mem_failures() lets
 * spur_args() detect that.
 */
#ifndef SPUR_FORMAT_FXT_VALUE_H
#define SPUR_FORMAT_FXT_VALUE_H

#include "format/fxt/reader.h"

/* The context in which references of a record are resolved. */
struct fxt_place {
	struct fxt *x;
	const struct fxt_provider *provider;
	uint64_t off;
	uint64_t pid; /* process of the row's track, for pointers and mappings */
	struct fxt_shape shape;
};

/*
 * Finds the record of a row. Takes the lock if the tables still grow; fxt_place_leave() releases
 * it.
 */
void fxt_place_enter(struct fxt *x, const struct spur_event *ev, struct fxt_place *p);
void fxt_place_leave(struct fxt *x);

/* Appends a value without content. Returns NULL if out of memory. */
struct spur_value *fxt_add(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
			   enum spur_type type);
void fxt_add_u64(const struct fxt_place *p, struct spur_args *args, enum fxt_word name, uint64_t u);
void fxt_add_hex(const struct fxt_place *p, struct spur_args *args, enum fxt_word name, uint64_t u);
void fxt_add_koid(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		  uint64_t koid);
void fxt_add_string(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		    const struct fxt_string_ref *ref);
/* Makes a value the record's data, as BYTES or STRING. */
void fxt_set_data(const struct fxt_place *p, enum spur_type type, struct spur_value *v);
/* The record's data as BYTES or STRING. */
void fxt_add_data(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		  enum spur_type type);
void fxt_add_enum(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		  uint64_t value, const char *text);
/* The record's own arguments, at the top level. */
void fxt_add_args(const struct fxt_place *p, struct spur_args *args);
/* The same into `to`, which has room for FXT_ARGS values. Returns their number. */
uint32_t fxt_decode_args(const struct fxt_place *p, struct spur_args *args, struct spur_value *to);
/*
 * Adds the arguments of a row of the record. `out`: the row of a switch whose thread leaves its
 * CPU.
 */
void fxt_record_args(const struct fxt_place *p, bool out, struct spur_args *args);
/* Returns the string id of a reference at the record's offset. */
uint32_t fxt_place_string(const struct fxt_place *p, const struct fxt_string_ref *ref);
/* Adds the frames of a backtrace, with module and relative address if known. */
void fxt_add_frames(const struct fxt_place *p, struct spur_args *args);

/* Names of values, in the order of their numbers. */
struct fxt_enum {
	const struct spur_label *labels;
	uint32_t count;
};
extern const struct fxt_enum fxt_states, fxt_blob_types;
/* NULL: unknown. */
const char *fxt_state_name(uint64_t state);
const char *fxt_blob_type(uint64_t type);

#endif
