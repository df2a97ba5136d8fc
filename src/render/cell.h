/* Cells of text tables: times, counts, and lists of column names. */
#ifndef SPUR_RENDER_CELL_H
#define SPUR_RENDER_CELL_H

#include "base/err.h"
#include "base/out.h"

enum { CELL_TIME = 10 };

/* "000 " to "999 "; "  0." to "999.". */
extern const char cell_digits[1000][4], cell_wholes[1000][4];

/* What is rarer than microseconds and milliseconds; see put_time(). */
char *put_time_long(char *p, uint64_t ns);

/*
 * A duration with its unit, cut to three decimals, in exactly CELL_TIME bytes: "  1.234 ms".
 * Returns the end. Room: 12.
 */
static inline char *put_time(char *p, uint64_t ns)
{
	uint32_t thousandths, whole;

	if (__builtin_expect(ns >= 1000000000, 0))
		return put_time_long(p, ns);
	thousandths = ns < 1000000 ? (uint32_t)ns : (uint32_t)ns / 1000;
	whole = thousandths / 1000;
	memcpy(p, cell_wholes[whole], 4);
	memcpy(p + 4, cell_digits[thousandths - 1000 * whole], 4);
	memcpy(p + 8, ns < 1000000 ? "us" : "ms", 2);
	return p + CELL_TIME;
}

void out_time(struct out *o, uint64_t ns);

/* The last part of a path. */
const char *cell_basename(const char *path);

/*
 * Text that is safe on a terminal, in at most `width` columns (0: any), cut with ".." where it is
 * longer; padded with blanks to `pad` columns.
 */
void out_cell(struct out *o, const char *s, size_t len, size_t width, size_t pad);

/* Columns that the text takes as out_cell() writes it. */
size_t cell_width(const char *s, size_t len);

/*
 * Splits a comma list into indexes of `names` (NULL-ended); a leading '-' or '+' of a word is kept
 * in the sign bit's place: ids[i] = ~index for '-'. SPUR_FAIL: an empty list; an unknown word, named
 * in `err` with the closest known one; more than `cap`.
 */
enum spur_status cell_list(const char *text, const char *const *names, const char *what, int *ids,
			   size_t cap, size_t *n, struct spur_error *err);

#endif
