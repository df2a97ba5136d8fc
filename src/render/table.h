/*
 * A table that an analysis ends in: chosen columns, sorted rows, as text, JSON, JSON lines or CSV.
 * Its user declares the columns and gives their values; the rows stay the caller's.
 */
#ifndef SPUR_RENDER_TABLE_H
#define SPUR_RENDER_TABLE_H

#include "render/options.h"
#include "render/when.h"

enum { TABLE_COLUMNS = 64 };

enum table_kind {
	TABLE_COUNT, /* a whole number; sorted from large to small, like all numbers */
	TABLE_TIME, /* a duration, ns */
	TABLE_SHARE, /* tenths of a per cent */
	TABLE_NUMBER, /* any number, exact */
	TABLE_MEAN, /* any number; text shows three decimals, or all with --raw */
	TABLE_ID, /* sorted from small to large; negative: no id */
	TABLE_WHEN, /* a ts; sorted from early to late */
	TABLE_TEXT, /* sorted bytewise */
	/*
	 * Differences of a count, a duration and a share: signed, with + in text; sorted by
	 * magnitude, increases before decreases. TABLE_I64.
	 */
	TABLE_COUNT_CHANGE,
	TABLE_TIME_CHANGE,
	TABLE_SHARE_CHANGE,
};

enum table_type { TABLE_NONE, TABLE_U64, TABLE_I64, TABLE_F64 };

struct table_value {
	enum table_type type; /* TABLE_NONE: unknown; an empty cell in text and CSV, null in JSON */
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

/*
 * Compares exactly, whatever the types. NaN comes before all numbers, an unknown value before NaN.
 */
int table_value_order(struct table_value a, struct table_value b);
/*
 * Writes the value, decimal and exact; nothing for TABLE_NONE. In JSON, which lacks such numbers,
 * NaN and infinities are strings: "nan", "inf", "-inf".
 */
void table_value_out(struct out *o, struct table_value v, bool json);

struct table_column {
	const char *name; /* NULL: the end of the list */
	enum table_kind kind;
};

struct table {
	struct render_env env;
	const char *name; /* of the analysis: the "schema" of JSON */
	const struct table_column *columns; /* TABLE_COLUMNS at most */
	/* Returns the value of a column that is no text. */
	struct table_value (*value)(const void *self, const void *row, int column);
	/* Appends the bytes of a text column; the table escapes them. */
	void (*text)(const void *self, const void *row, int column, struct out *o);
	/* Compares two rows by a text column, as memcmp() does; NULL: by the bytes of `text`. */
	int (*text_order)(const void *self, const void *a, const void *b, int column);
	/*
	 * The columns, ended by -1, that order rows which are equal by --sort; NULL: all columns,
	 * in their order.
	 */
	const int *ties;
	const void *self;
	/*
	 * More members of the JSON object before "rows", each with a comma before it; NULL: no
	 * more.
	 */
	const char *head;
	struct when when; /* Required if a column is a TABLE_WHEN. */

	/* Set by table_options(). */
	int shown[TABLE_COLUMNS], sort[TABLE_COLUMNS]; /* sort: ~column if reversed */
	size_t nshown, nsort;
	/* Set by table_write(). */
	size_t hidden; /* rows that the limit left out */
};

/*
 * Reads --fields and --sort; the parameters are the lists for options that are not given. Returns
 * SPUR_FAIL, with the error set, if a list is empty or names no column. May be called again.
 */
enum spur_status table_options(struct table *t, const char *fields, const char *sort);
/* Returns true if the column is shown. */
bool table_shows(const struct table *t, int column);
/* Returns true if rows are sorted by the column, in either direction. */
bool table_sorts(const struct table *t, int column);
/*
 * Sorts `n` rows of `size` bytes from `rows` on (by --sort, then by `ties`, then as they stand) and
 * writes as many as --limit allows; text ends with the number of the others. Returns SPUR_FAIL if
 * out of memory.
 */
enum spur_status table_write(struct table *t, const void *rows, size_t n, size_t size);

#endif
