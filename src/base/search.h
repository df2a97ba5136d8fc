/* The one binary search. */
#ifndef SPUR_BASE_SEARCH_H
#define SPUR_BASE_SEARCH_H

/*
 * Sets the variable `at` to the first index in [from, to) at which `is_before` is false, or to `to`
 * if there is no such index (to `from` if the range is empty). `is_before` is an expression that
 * names `at`; it is true for a first part of the range, and false for the rest:
 *
 *	bisect(i, 0, count, rows[i].time < time);   first row at `time` or later (lower bound)
 *	bisect(i, 0, count, rows[i].time <= time);  first row later than `time` (upper bound)
 *
 * This is a macro so that the comparison is inlined, whatever the elements are.
 */
#define bisect(at, from, to, is_before) \
	do { \
		__typeof__(at) bisect_low = (from), bisect_high = (to); \
		while (bisect_low < bisect_high) { \
			(at) = bisect_low + (bisect_high - bisect_low) / 2; \
			if (is_before) \
				bisect_low = (at) + 1; \
			else \
				bisect_high = (at); \
		} \
		(at) = bisect_low; \
	} while (0)

#endif
