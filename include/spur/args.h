/* Arguments of events, decoded on demand. Included by <spur.h>. */
#ifndef SPUR_ARGS_H
#define SPUR_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include <spur/error.h>
#include <spur/event.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spur_trace;

enum spur_type {
	SPUR_NULL, /* a null string or pointer */
	SPUR_I64,
	SPUR_U64,
	SPUR_F64,
	SPUR_BOOL,
	SPUR_STRING, /* `count` bytes at text, of any values */
	SPUR_BYTES,
	SPUR_POINTER, /* u; label: the symbol's name if known */
	SPUR_KOID, /* u: kernel object id; label: the object's name if known */
	SPUR_ENUM, /* i; label: the value's names, joined by | */
	SPUR_STRUCT, /* items that have names */
	SPUR_ARRAY, /* items without names */
};

/* How text output shows a number; JSON always has the plain value. */
enum spur_show {
	SPUR_SHOW_PLAIN, /* decimal */
	SPUR_SHOW_AUTO, /* decimal when small, hexadecimal when large */
	SPUR_SHOW_HEX,
	SPUR_SHOW_OCTAL,
	SPUR_SHOW_CHAR,
	SPUR_SHOW_BINARY,
};

struct spur_value {
	uint8_t type; /* enum spur_type */
	uint8_t show; /* enum spur_show */
	uint8_t size; /* bytes in the record, 0 if not applicable, 255 if more */
	uint8_t unreliable; /* the producer is known to write wrong values here */
	uint32_t name; /* string id; 0: no name */
	/*
	 * STRUCT, ARRAY: number of items; STRING, BYTES: length in bytes; I64, U64: bits in the
	 * record if these are no whole bytes, else 0.
	 */
	uint32_t count;
	/*
	 * The label of an ENUM, POINTER, KOID or opaque BYTES; of an F64, the digits of a number
	 * that a double cannot hold exactly. NULL: no label.
	 */
	const char *label;
	union {
		int64_t i;
		uint64_t u; /* BOOL too */
		double f;
		const char *text; /* STRING, BYTES: owned by the trace or the spur_args */
		const struct spur_value *items; /* STRUCT, ARRAY: owned by the spur_args */
	};
};

/* Arguments of one event. Zero-initialise, reuse for many events, free with spur_args_free(). */
struct spur_args {
	const struct spur_value *items;
	size_t count;
	struct spur_args_store *store; /* internal */
};

/*
 * Decodes the arguments of an event of this trace. Replaces what `args` held before and reuses its
 * memory; `args` must be zero-initialised before its first use.
 * Returns: SPUR_OK; SPUR_WARN if damaged arguments are missing; SPUR_FAIL if out of memory.
 * Lifetime: the values are valid until `args` is filled again or freed, and not after spur_close().
 * Threads: any thread, each with its own `args`.
 */
enum spur_status spur_args(struct spur_trace *t, const struct spur_event *ev,
			   struct spur_args *args);
/*
 * Frees what spur_args() stored and empties `args`. NULL: does nothing.
 * Returns: nothing.
 * Lifetime: the values end here; `args` may be filled again.
 * Threads: any thread, each with its own `args`.
 */
void spur_args_free(struct spur_args *args);

#ifdef __cplusplus
}
#endif
#endif
