/* Damage, losses and notes. Included by <spur.h>. */
#ifndef SPUR_DAMAGE_H
#define SPUR_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spur_trace;

/* One kind of damage or loss, in one file. */
struct spur_damage {
	const char *code; /* e.g. "uftrace/torn-record" */
	const char *file;
	uint64_t count;
	uint64_t first_offset; /* UINT64_MAX: none applies */
	uint64_t bytes_lost;
	const char *first; /* "record: expected X, found Y" */
	bool is_damage; /* false: a note or warning; the file itself is not damaged */
};

/*
 * The number of kinds of damage, loss and notes so far; complete after SPUR_END. Each call makes
 * the list anew.
 * Returns: a number, 0 if t is NULL.
 * Lifetime: the list is valid until the next call of spur_damage_count() or spur_close().
 * Threads: one thread at a time.
 */
size_t spur_damage_count(struct spur_trace *t);
/*
 * Item `i` of the list that spur_damage_count() made.
 * Returns: true; false for numbers beyond the list.
 * Lifetime: texts live as long as the list.
 * Threads: one thread at a time.
 */
bool spur_damage(struct spur_trace *t, size_t i, struct spur_damage *out);

#ifdef __cplusplus
}
#endif
#endif
