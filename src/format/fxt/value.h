/*
 * Values of a record for spur_args() and `spur dump`. References mean what they meant where the
 * record stands. What cannot be added for want of memory is missing; the caller of spur_args()
 * hears of that (mem_failures()).
 */
#ifndef SPUR_FORMAT_FXT_VALUE_H
#define SPUR_FORMAT_FXT_VALUE_H

#include "format/fxt/reader.h"

/* Where references of a record are looked up. */
struct fxt_place {
	struct fxt *x;
	const struct fxt_provider *provider;
	uint64_t off;
	uint64_t pid; /* of the row's track: whose pointers and mappings these are */
	struct fxt_shape shape;
};

/*
 * The record of a row. Takes the lock where the tables still grow; fxt_place_leave() gives it back.
 */
void fxt_place_enter(struct fxt *x, const struct spur_event *ev, struct fxt_place *p);
void fxt_place_leave(struct fxt *x);

/* A new last value without content. Returns NULL if out of memory. */
struct spur_value *fxt_add(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
			   enum spur_type type);
void fxt_add_u64(const struct fxt_place *p, struct spur_args *args, enum fxt_word name, uint64_t u);
void fxt_add_hex(const struct fxt_place *p, struct spur_args *args, enum fxt_word name, uint64_t u);
void fxt_add_koid(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		  uint64_t koid);
void fxt_add_string(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		    const struct fxt_string_ref *ref);
/* The record's data as BYTES or STRING. */
void fxt_add_data(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		  enum spur_type type);
void fxt_add_enum(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		  uint64_t value, const char *text);
/* The record's own arguments, at the top level. */
void fxt_add_args(const struct fxt_place *p, struct spur_args *args);
/* The same into `to`, which has room for FXT_ARGS; how many. */
uint32_t fxt_decode_args(const struct fxt_place *p, struct spur_args *args, struct spur_value *to);
/* Arguments of a row of the record; `out`: of the row of a switch whose thread leaves its CPU. */
void fxt_record_args(const struct fxt_place *p, bool out, struct spur_args *args);
/* What a reference means where the record stands: a string id. */
uint32_t fxt_place_string(const struct fxt_place *p, const struct fxt_string_ref *ref);
/* Those of a backtrace, with module and address inside it where that is known. */
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
