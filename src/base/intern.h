/*
 * String ids: equal strings have equal ids; ids are dense from 0 (0 is the empty string). Strings
 * never move and are NUL-ended, so intern_text() needs no lock while other threads add;
 * intern_put() takes a lock. Strings may hold any bytes (length is kept).
 */
#ifndef SPUR_BASE_INTERN_H
#define SPUR_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct intern;

#define INTERN_NONE UINT32_MAX

/* Returns NULL if out of memory. */
struct intern *intern_new(void);
void intern_free(struct intern *in);
/* Returns the id of the `len` bytes at `s`, or INTERN_NONE if out of memory or at 2^31 strings. */
uint32_t intern_put(struct intern *in, const char *s, size_t len);
/* Returns the id if the string is known, else INTERN_NONE. Adds nothing. */
uint32_t intern_find(struct intern *in, const char *s, size_t len);
/*
 * NUL-ended text of a known id ("" for unknown ones); lives until intern_free(). `len` may be NULL.
 */
const char *intern_text(const struct intern *in, uint32_t id, size_t *len);
/* Number of ids; all are below it. */
uint32_t intern_count(const struct intern *in);

#endif
