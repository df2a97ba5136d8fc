/*
 * A table that is written as a Parquet file. Rows are collected by columns until a row group is
 * full, so that memory does not grow with their number, but for some hundred bytes a group.
 *
 * The caller gives one value, or null, to each column for each row, and ends the row by
 * table_row(). A failure is kept in the table's `failed`, or in its output.
 */
#ifndef SPUR_EXPORT_PARQUET_TABLE_H
#define SPUR_EXPORT_PARQUET_TABLE_H

#include "base/map64.h"
#include "base/out.h"
#include "model/trace.h"

enum column_type {
	COLUMN_INT, /* 64 bits, signed */
	COLUMN_UINT,
	COLUMN_TIME, /* ns */
	COLUMN_DOUBLE,
	COLUMN_NAME, /* string ids, through a dictionary */
	COLUMN_TEXT,
	COLUMN_BYTES,
};

struct column_def {
	const char *name;
	uint8_t type; /* enum column_type */
	bool optional; /* has nulls */
};

struct column {
	struct out values; /* those that are not null, as Parquet's PLAIN; NAME: u32 places */
	struct out present; /* OPTIONAL: a byte a row, 0 of null */
	uint64_t nulls;
	bool any; /* least and most are set */
	uint64_t least, most; /* of numbers */
	struct map64 places; /* NAME: string id to its place in the dictionary + 1 */
	struct out dictionary;
	uint32_t *names; /* string ids of the dictionary */
	size_t nnames, names_cap;
};

enum { TABLE_COLUMNS = 16 };

struct table {
	struct spur_trace *trace;
	const struct column_def *defs;
	size_t ncolumns;
	bool utc; /* times are those of UTC */
	struct out file;
	struct out page, groups; /* groups: the metadata of those that are written */
	struct out safe; /* a text that is made UTF-8 */
	struct column columns[TABLE_COLUMNS];
	size_t rows, ngroups; /* rows: of the group that is collected */
	uint64_t total; /* rows that are written */
	size_t bytes; /* of texts that are collected */
	bool failed; /* out of memory */
};

/* Requires a file that is open in t->file. table_free() is due in any case. */
void table_begin(struct table *t, struct spur_trace *trace, const struct column_def *defs,
		 size_t ncolumns);
void table_number(struct table *t, size_t column, uint64_t v);
void table_double(struct table *t, size_t column, double v);
void table_name(struct table *t, size_t column, uint32_t string);
/* A TEXT that is not UTF-8 is written as out_safe() does; returns false then. */
bool table_text(struct table *t, size_t column, const char *s, size_t len);
void table_null(struct table *t, size_t column);
void table_row(struct table *t);
/* Writes what is collected and the foot. Returns false if out of memory. */
bool table_end(struct table *t);
void table_free(struct table *t);

#endif
