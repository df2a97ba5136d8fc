/*
 * The kernel's print formats: printk's conversions over C expressions. Compiled once to a tree in
 * an arena, run over many records. Private to printfmt*.c and tracefmt.c.
 */
#ifndef SPUR_FORMAT_UFTRACE_PRINTFMT_H
#define SPUR_FORMAT_UFTRACE_PRINTFMT_H

#include "format/uftrace/tracefmt.h"

/* The properties of a C type that values depend on. */
struct c_type {
	uint32_t size; /* bytes; 0: not known */
	bool is_unsigned;
	bool is_bool;
	bool pointer; /* then size and is_unsigned are those of the target */
};

enum print_node_kind {
	NODE_UNKNOWN, /* cannot be computed; shown as written */
	NODE_CONST,
	NODE_STRING,
	NODE_FIELD,
	NODE_ADDRESS, /* &REC->field */
	NODE_DYNAMIC, /* bytes of a __data_loc field */
	NODE_DYNAMIC_LEN,
	NODE_CAST,
	NODE_NEG,
	NODE_NOT,
	NODE_COMPL,
	NODE_DEREF,
	NODE_MUL,
	NODE_DIV,
	NODE_MOD,
	NODE_ADD,
	NODE_SUB,
	NODE_SHL,
	NODE_SHR,
	NODE_LT,
	NODE_GT,
	NODE_LE,
	NODE_GE,
	NODE_EQ,
	NODE_NE,
	NODE_AND,
	NODE_XOR,
	NODE_OR,
	NODE_ANDAND,
	NODE_OROR,
	NODE_COND, /* a ? b : c */
	NODE_INDEX, /* a[b] */
	NODE_SWAP, /* the value of type.size bytes with its bytes swapped */
	/* Strings made from values. */
	NODE_FLAGS, /* a: value, str: delimiter, items */
	NODE_SYMBOLIC, /* a: value, items */
	NODE_HEX,
	NODE_HEX_STR, /* a: bytes, b: length */
	NODE_ARRAY, /* a: bytes, b: count (NULL: all there are), c: size of an element */
	NODE_BITMASK,
	NODE_BITLIST, /* field */
};

struct print_item { /* of flags and symbols */
	uint64_t value;
	struct text name;
};

struct print_node {
	uint8_t kind; /* enum print_node_kind */
	uint16_t height; /* height of the tree; bounded, as evaluation recurses */
	struct c_type type; /* CONST, CAST, SWAP */
	const struct print_node *a, *b, *c;
	uint64_t value;
	struct text str; /* STRING; FLAGS: between names */
	const struct trace_field *field;
	const struct print_item *items;
	uint32_t nitems;
};

enum print_flag { PRINT_LEFT = 1, PRINT_ZERO = 2, PRINT_PLUS = 4, PRINT_BLANK = 8, PRINT_ALT = 16 };

enum print_length { LENGTH_INT, LENGTH_CHAR, LENGTH_SHORT, LENGTH_LONG, LENGTH_LLONG };

/* Literal text and the conversion that follows it. */
struct print_op {
	struct text literal;
	char conv; /* d u o x X c s p; 0: only the literal */
	uint8_t flags, length;
	int width, prec; /* -1: none */
	const struct print_node *width_arg, *prec_arg; /* `*` */
	const struct print_node *arg; /* NULL: the format has more conversions than arguments */
	struct text spec; /* the conversion as written */
	struct text ext; /* p: the letters that follow */
	struct text source; /* the argument as written, shown if it cannot be computed */
	/* A name in it that has no value, shown instead of a long source */
	struct text unknown;
};

struct print_plan {
	const struct print_op *ops;
	uint32_t nops;
};

enum {
	PRINT_NESTING = 200, /* of expressions */
	PRINT_SOURCE_SHOWN = 48, /* bytes of an argument that is shown as written */
	PRINT_WIDTH_MAX = 1024, /* of one conversion */
	PRINT_TEXT_MAX = 1 << 16, /* bytes of one record's text */
};

/* Returns SPUR_WARN if the text does not start with a string, SPUR_FAIL if out of memory. */
enum spur_status print_compile(struct arena *a, const struct tracefmt *f, struct text text,
			       const struct print_plan **plan);
void print_run(const struct print_plan *plan, const struct tracefmt *f, const uint8_t *rec,
	       uint32_t len, const struct trace_names *names, struct out *out);

/* Computes an expression without fields. Returns false if it has fields or is not an integer. */
bool print_fold(const struct print_node *n, const struct trace_abi *abi, uint64_t *value,
		struct c_type *type);

/*
 * Returns the type that the text names (no brackets), by the kernel's typedefs; size 0: unknown.
 */
struct c_type c_type_of(struct text text, unsigned long_size);

#endif
