/*
 * Classes: what events of one name and origin share, and the schema of their arguments.
 * Included by <spur.h>.
 */
#ifndef SPUR_CLASS_H
#define SPUR_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spur_trace;

/* What a class is (spur_class.flags). */
enum spur_class_flag {
	SPUR_CLASS_FUNCTION = 1,
	SPUR_CLASS_KERNEL = 2, /* of the operating system's kernel */
	SPUR_CLASS_LIBRARY = 4, /* a call into a library */
	SPUR_CLASS_EVENT = 8, /* not a function */
	SPUR_CLASS_UNKNOWN = 16, /* an address without a symbol */
	SPUR_CLASS_SCHED = 32, /* time off the CPU */
};

/* The properties that events of one name and origin share. Texts are string ids; 0: unknown. */
struct spur_class {
	uint32_t name; /* as in rows, in the form of spur_options.demangle */
	uint32_t raw_name; /* as in the data */
	uint32_t cat;
	uint32_t module; /* path of the program or library */
	uint32_t library; /* of a library call: path of the library that defines the function */
	uint32_t file, line; /* source location; line is a number, 0: unknown */
	uint32_t flags; /* enum spur_class_flag */
	/*
	 * The class that represents all classes that look the same in a table, such as overloads
	 * shown without their parameters; of most classes the class's own id.
	 */
	uint32_t head;
	/* Address of the symbol in its module, or number of the function or event in the data */
	uint64_t addr;
	uint64_t size; /* bytes of code; 0: unknown */
};

/*
 * The name of an enumeration's values from `low` to `high`. If the enumeration is unsigned, these
 * are the bits of unsigned integers.
 */
struct spur_label {
	int64_t low, high;
	const char *name;
};

/* One argument, as far as all events of a class have it in common. */
struct spur_field {
	uint32_t name; /* string id; 0: no name */
	/*
	 * enum spur_type; SPUR_NULL: it differs from event to event. Values of an ENUM that have no
	 * name may come as I64 or U64, by its sign.
	 */
	uint8_t type;
	uint8_t show; /* enum spur_show */
	bool optional; /* some events lack it or have a NULL instead */
	bool is_signed; /* of an ENUM: its integer is signed */
	bool is_flags; /* of an ENUM: its labels name bits, from number `low` to number `high` */
	uint32_t bits; /* size of a number in the record; 0: varies or unknown */
	uint32_t count; /* Length of an ARRAY, size of a STRING or BYTES, if fixed; 0: varies */
	uint32_t nitems; /* number of `items` */
	const struct spur_field *items; /* STRUCT: the fields; ARRAY: the element */
	uint32_t nlabels;
	const struct spur_label *labels; /* ENUM */
};

/*
 * The arguments of a class's events. If `open` is set, the records describe themselves, and the
 * schema has the arguments of those read so far.
 */
struct spur_schema {
	const struct spur_field *begin; /* of rows of all kinds but END */
	const struct spur_field *end; /* of END rows */
	uint32_t nbegin, nend;
	bool open; /* events may have other arguments as well */
};

/*
 * One more than the largest class id so far; ids begin with 1. Grows while rows are read.
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_class_count(const struct spur_trace *t);
/*
 * Copies the properties of a class (spur_event.cls).
 * Returns: true; false, with *out zero, for unknown ids.
 * Lifetime: the copy is the caller's.
 * Threads: any thread.
 */
bool spur_class(const struct spur_trace *t, uint32_t id, struct spur_class *out);
/*
 * The names, types and sizes of the arguments that events of a class have. The first call makes the
 * schema; if the format's records describe themselves, it is complete after SPUR_END.
 * Returns: the schema; NULL for unknown ids, or if out of memory (spur_last_error()).
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const struct spur_schema *spur_schema(struct spur_trace *t, uint32_t id);

#ifdef __cplusplus
}
#endif
#endif
