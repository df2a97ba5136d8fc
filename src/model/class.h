/*
 * Event classes, which hold what rows of one name and origin have in common, and decode plans, flat
 * lists of steps that turn payload bytes into values.
 */
#ifndef SPUR_MODEL_CLASS_H
#define SPUR_MODEL_CLASS_H

#include <assert.h>
#include <spur.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/text.h"

/*
 * One step of a plan. Fixed-size fields are read at the running position, which `align` rounds up
 * first.
 */
enum plan_op_code {
	PLAN_INT, /* `size` bytes, signed */
	PLAN_UINT,
	PLAN_FLOAT, /* 2, 4, 8, 10 (x87) or 16 bytes */
	PLAN_CHAR,
	PLAN_POINTER,
	PLAN_ENUM, /* signed integer; `table` names its values */
	PLAN_BOOL, /* `size` bytes, 0 or not */
	PLAN_STR16, /* u16 length, then that many bytes */
	PLAN_BYTES16, /* the same of raw bytes */
	PLAN_STRZ, /* to the NUL */
	PLAN_BYTES, /* `size` raw bytes */
	PLAN_STRUCT, /* `size` raw bytes of a by-value struct of type `type_text` */
};

struct enum_table; /* see model/enum.h */

struct plan_op {
	uint8_t code; /* enum plan_op_code */
	uint8_t show; /* enum spur_show */
	uint8_t align; /* alignment of the start, a power of two */
	uint8_t unreliable;
	uint32_t size; /* bytes */
	uint32_t name; /* string id; 0: none */
	const char *type_text; /* name of the enum or struct type; NULL: none */
	const struct enum_table *table;
};

struct plan {
	const struct plan_op *ops;
	uint32_t count;
	uint32_t fixed; /* bytes, if all ops are of fixed size; else 0 */
	bool swap; /* byte order of the payload is not the machine's */
	uint8_t null_string; /* STR16: bit 0: FF FF FF FF is NULL; bit 1: "NULL" is NULL */
	uint8_t tail_align; /* the payload's size is rounded up to a multiple of this */
};

enum class_flag {
	CLASS_FUNCTION = 1,
	CLASS_KERNEL = 2,
	CLASS_LIBRARY = 4, /* a call into a library, by its PLT slot */
	CLASS_EVENT = 8, /* not a function */
	CLASS_UNKNOWN = 16, /* an address without symbol */
	CLASS_SCHED = 32, /* time off the CPU */
	CLASS_MARKER = 64, /* an event that the user placed, shown as one */
	/* Events are identified by name and category, not by name alone */
	CLASS_CATEGORY = 256,
	CLASS_INSIDE = 128, /* an event that belongs to the function around it */
};

/* The line table's last row for an address; its line may be 0. */
struct line_row {
	uint32_t file, line, column;
};

/* What few classes have. */
struct class_more {
	/* Plans of the payload of END rows (exit) and all others (entry). NULL: no payload. */
	const struct plan *entry, *exit;
	const void *extra; /* private to the format */
	struct line_row row; /* for styles; file 0: not known */
	/* For a library call, path of the module that defines the function; 0: unknown */
	uint32_t library;
};

struct event_class {
	uint32_t name; /* as shown, in the chosen demangling: row.name; patterns match it */
	uint32_t simple; /* uftrace's simple form: patterns match it too */
	uint32_t raw; /* as in the data */
	uint32_t cat;
	uint32_t module; /* path; 0: none */
	uint32_t file, line; /* source location; 0: unknown */
	uint32_t flags;
	/*
	 * The first of the classes that tables show as one, such as overloads without their
	 * parameters: those of one name and module (library calls: of one name; with
	 * CLASS_CATEGORY: of one name and category). Set when the class is added.
	 */
	uint32_t head;
	uint32_t size; /* bytes of code, UINT32_MAX at most; 0: unknown */
	uint64_t addr; /* of the symbol, module relative; event id */
	const struct spur_schema *schema; /* NULL until format_schema() makes it (atomic) */
	/* NULL: all of it is 0. trace_add_class() keeps a copy. */
	const struct class_more *more;
};

static_assert(sizeof(struct event_class) <= 64, "there may be a million functions");

/* Returns what few classes have; all of it is 0 where the class has none of it. */
static inline struct class_more class_more(const struct event_class *c)
{
	return c->more ? *c->more : (struct class_more){ 0 };
}

/* Returns the plan of the payload of END rows (`end`) or of all others; NULL: no payload. */
static inline const struct plan *class_plan(const struct event_class *c, bool end)
{
	return !c->more ? NULL : end ? c->more->exit : c->more->entry;
}

/* Returns the path of the module that defines the function of a library call; 0: unknown. */
static inline uint32_t class_library(const struct event_class *c)
{
	return c->more ? c->more->library : 0;
}

static inline uint32_t class_size(uint64_t size)
{
	return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

/*
 * Runs the plan over `len` bytes at `p` and appends the values to `args`; if `args` is NULL it only
 * measures. Sets `*used` to the size of the payload with padding. Returns SPUR_WARN if the payload
 * does not fit, with the values that do fit appended.
 */
enum spur_status plan_run(const struct plan *plan, const uint8_t *p, size_t len,
			  struct spur_args *args, size_t *used);

#endif
