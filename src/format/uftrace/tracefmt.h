/*
 * The `format` text of a kernel tracepoint: its fields, and the text that its `print fmt` makes of
 * a record. Everything lives in the given arena; a format does not change after tracefmt_parse(),
 * so all other functions are thread-safe.
 */
#ifndef SPUR_FORMAT_UFTRACE_TRACEFMT_H
#define SPUR_FORMAT_UFTRACE_TRACEFMT_H

#include <spur.h>

#include "base/bits.h"
#include "base/mem.h"
#include "base/out.h"
#include "base/text.h"

enum trace_field_flag {
	FIELD_SIGNED = 1,
	FIELD_ARRAY = 2, /* size / elem elements; elem 0: not known */
	/* __data_loc: u32 of length << 16 | offset in the record; the elements stand there */
	FIELD_DYNAMIC = 4,
	/* __rel_loc: the same, the offset counts from the field's end. With FIELD_DYNAMIC. */
	FIELD_RELATIVE = 8,
	FIELD_STRING = 16, /* an array of char */
	FIELD_POINTER = 32,
	FIELD_LONG = 64,
	FIELD_BOOL = 128,
	FIELD_COMMON = 256, /* part of the header that all records share: common_* */
};

struct trace_field {
	const char *name, *type; /* "comm", "char[16]" */
	uint32_t off, size; /* in the record; an array of size 0 reaches to the record's end */
	uint32_t elem; /* bytes of an array's element */
	uint16_t flags;
	uint32_t id; /* string id of the name, set by the caller for tracefmt_args() */
};

struct trace_abi {
	uint8_t long_size; /* of the kernel: 4 or 8 */
	bool big_endian, swap;
};

struct print_plan; /* printfmt.h */

struct tracefmt {
	const char *system, *name; /* "sched", "sched_switch" */
	uint32_t id;
	struct trace_abi abi;
	struct trace_field *fields; /* in file order */
	uint32_t nfields;
	struct text print; /* the print fmt as it is written; in the caller's text */
	const struct print_plan *plan; /* NULL: no print fmt, or one that is not supported */
};

/*
 * Parses a format text, which must live as long as the format. `system` is the name of its folder.
 * Returns SPUR_WARN if parts of it are unusable, which `err` describes; SPUR_FAIL if the name or id
 * is missing, or if out of memory.
 */
enum spur_status tracefmt_parse(struct tracefmt *f, struct arena *a, struct text text,
				const char *system, struct trace_abi abi, struct spur_error *err);
/* Returns the field of that name, or NULL. */
const struct trace_field *tracefmt_field(const struct tracefmt *f, const char *name);

/* Names of code addresses for %pS and the like; NULL or false: an address is shown as a number. */
struct trace_names {
	bool (*find)(void *ctx, uint64_t addr, const char **name, uint64_t *delta);
	void *ctx;
};

/*
 * Appends the record's text to `out` (a memory buffer), formatted by the print fmt as uftrace shows
 * it; without a plan, the fields as name=value. The size is bounded for any record. Bytes of
 * strings are copied unchanged.
 */
void tracefmt_text(const struct tracefmt *f, const uint8_t *rec, uint32_t len,
		   const struct trace_names *names, struct out *out);
/*
 * Appends the fields as values, with those of the common header on request. Returns SPUR_WARN if
 * the record lacks some.
 */
enum spur_status tracefmt_args(const struct tracefmt *f, const uint8_t *rec, uint32_t len,
			       bool common, struct spur_args *args);

/*
 * Makes the fields that tracefmt_args() appends without the common header, in `a`. Returns false
 * if out of memory.
 */
bool tracefmt_schema(const struct tracefmt *f, struct arena *a, const struct spur_field **fields,
		     uint32_t *count);

/* The place of an integer field in records; size 0: no such field. */
struct field_ref {
	uint32_t off;
	uint8_t size;
	bool is_signed, swap;
};

/* Returns size 0 if the format has no such field or it is not an integer. */
struct field_ref tracefmt_ref(const struct tracefmt *f, const char *name);

static inline bool field_there(struct field_ref r, uint32_t len)
{
	return r.size && r.off <= len && len - r.off >= r.size;
}

/* 1, 2, 4 or 8 bytes; signed ones are extended. */
static inline uint64_t load_int(const uint8_t *p, uint32_t size, bool is_signed, bool swap)
{
	switch (size) {
	case 1: return is_signed ? (uint64_t)(int8_t)*p : *p;
	case 2: return is_signed ? (uint64_t)(int16_t)load16(p, swap) : load16(p, swap);
	case 4: return is_signed ? (uint64_t)(int32_t)load32(p, swap) : load32(p, swap);
	case 8: return load64(p, swap);
	default: return 0;
	}
}

/* Returns 0 if the record has no such field. */
static inline uint64_t field_u64(struct field_ref r, const uint8_t *rec, uint32_t len)
{
	return field_there(r, len) ? load_int(rec + r.off, r.size, r.is_signed, r.swap) : 0;
}

static inline int64_t field_i64(struct field_ref r, const uint8_t *rec, uint32_t len)
{
	return (int64_t)field_u64(r, rec, len);
}

/*
 * Returns the field's elements in the record and sets `size` to their bytes, truncated at the
 * record's end; NULL if nothing is there.
 */
const uint8_t *field_bytes(const struct trace_field *field, const struct tracefmt *f,
			   const uint8_t *rec, uint32_t len, uint32_t *size);

/*
 * The two kinds of function_graph records; the order of their fields varies, and some kernels lack
 * some.
 */
struct funcgraph {
	bool is_exit;
	struct field_ref func, depth, overrun, calltime, rettime, retval, retaddr;
	uint32_t args_off;
	uint8_t args_size; /* of an argument; 0: no arguments */
	bool swap;
};

struct funcgraph_record {
	uint64_t func;
	uint64_t depth;
	uint64_t overrun, calltime, rettime, retval, retaddr; /* 0 if the format lacks them */
	const uint8_t *args; /* entry: register arguments, each of args_size */
	uint32_t nargs;
};

/* Returns false if the format is neither of the two, or if it has no func. */
bool funcgraph_compile(struct funcgraph *g, const struct tracefmt *f);
/* Returns false if the record is too short for func and depth. */
bool funcgraph_read(const struct funcgraph *g, const uint8_t *rec, uint32_t len,
		    struct funcgraph_record *out);
/* Argument `i` of an entry. */
uint64_t funcgraph_arg(const struct funcgraph *g, const struct funcgraph_record *rec, uint32_t i);

#endif
