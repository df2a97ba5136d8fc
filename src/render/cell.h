/* Cells of text tables: times, counts, and lists of column names. */
#ifndef SPUR_RENDER_CELL_H
#define SPUR_RENDER_CELL_H

#include "base/err.h"
#include "base/out.h"

enum { CELL_TIME = 10 };

/* "000 " to "999 "; "  0." to "999.". */
extern const char cell_digits[1000][4], cell_wholes[1000][4];

/* Out of line half of put_time(), for durations of a second and longer. */
char *put_time_long(char *p, uint64_t ns);

/*
 * Writes a duration with its unit, cut to three decimals, in exactly CELL_TIME bytes: "  1.234 ms".
 * Returns the end. Requires room for 12 bytes.
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

/* Returns the last part of a path. */
const char *cell_basename(const char *path);

/*
 * Writes text that is safe on a terminal, in at most `width` columns (0: any), cut with ".." if it
 * is longer; padded with blanks to `pad` columns.
 */
void out_cell(struct out *o, const char *s, size_t len, size_t width, size_t pad);

/* Returns the columns of the text as out_cell() writes it. */
size_t cell_width(const char *s, size_t len);

/*
 * Splits a comma list into indexes of `names` (NULL-ended). Words may begin with '+', or with '-',
 * for which ids[i] is ~index. Returns SPUR_FAIL, with `err` set, if the list is empty, has more
 * than `cap` words, or has an unknown word; `err` then names the closest known one.
 */
enum spur_status cell_list(const char *text, const char *const *names, const char *what, int *ids,
			   size_t cap, size_t *n, struct spur_error *err);

#endif
