/*
 * A table that an analysis ends in: chosen columns, sorted rows, as text, JSON, JSON lines or CSV.
 * Who uses it says what the columns are and gives their values; the rows stay the caller's.
 */
#ifndef SPUR_RENDER_TABLE_H
#define SPUR_RENDER_TABLE_H

#include "render/options.h"
#include "render/when.h"

enum { TABLE_COLUMNS = 32 };

enum table_kind {
	TABLE_COUNT, /* a whole number; large ones first, as of all numbers */
	TABLE_TIME, /* a duration, ns */
	TABLE_SHARE, /* tenths of a per cent */
	TABLE_NUMBER, /* any number, exact */
	TABLE_MEAN, /* the same; text has three decimals of it, or all with --raw */
	TABLE_ID, /* small ones first; negative: no id */
	TABLE_WHEN, /* a ts; early ones first */
	TABLE_TEXT, /* alphabetical, bytewise */
};

enum table_type { TABLE_NONE, TABLE_U64, TABLE_I64, TABLE_F64 };

struct table_value {
	enum table_type type; /* TABLE_NONE: nothing is known; an empty cell, null */
	union {
		uint64_t u;
		int64_t i;
		double f;
	};
};

static inline struct table_value table_u64(uint64_t v)
{
	return (struct table_value){ .type = TABLE_U64, .u = v };
}

/* A process or thread id: unsigned, -1 if unknown. */
static inline struct table_value table_id(int64_t id)
{
	if (id == -1)
		return (struct table_value){ 0 };
	return table_u64((uint64_t)id);
}

static inline struct table_value table_i64(int64_t v)
{
	return (struct table_value){ .type = TABLE_I64, .i = v };
}

static inline struct table_value table_f64(double v)
{
	return (struct table_value){ .type = TABLE_F64, .f = v };
}

/* Exact, whatever the types. NaN comes before all numbers, and no value before NaN. */
int table_value_order(struct table_value a, struct table_value b);
/*
 * Decimal and exact; nothing for TABLE_NONE. JSON has words for what it has no numbers for: "nan",
 * "inf", "-inf".
 */
void table_value_out(struct out *o, struct table_value v, bool json);

struct table_column {
	const char *name; /* NULL: the end of the list */
	enum table_kind kind;
};

struct table {
	struct render_env env;
	const char *name; /* of the analysis: "spur" in JSON */
	const struct table_column *columns; /* TABLE_COLUMNS at most */
	/* The value of a column that is no text. */
	struct table_value (*value)(const void *self, const void *row, int column);
	/* The bytes of a text column, as they are. */
	void (*text)(const void *self, const void *row, int column, struct out *o);
	const void *self;
	const char *
		head; /* more members of the JSON object in front of "rows", each with a comma before it; NULL: none */
	struct when when; /* set where a column is a TABLE_WHEN */

	/* Set by table_options(). */
	int shown[TABLE_COLUMNS], sort[TABLE_COLUMNS]; /* sort: ~column where reversed */
	size_t nshown, nsort;
	/* Set by table_write(). */
	size_t hidden; /* rows that the limit left out */
};

/* Takes --fields and --sort, or what is given here where the command line does not say. */
enum spur_status table_options(struct table *t, const char *fields, const char *sort);
/* The column is shown. */
bool table_shows(const struct table *t, int column);
/*
 * Sorts `n` rows of `size` bytes from `rows` on (by --sort, then by all columns in their order,
 * then as they stand) and writes as many as --limit says. SPUR_FAIL: memory. In text form the
 * caller may write notes behind it.
 */
enum spur_status table_write(struct table *t, const void *rows, size_t n, size_t size);

#endif
