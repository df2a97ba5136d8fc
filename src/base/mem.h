/* Heap and arena. Every failure is returned (NULL), never fatal: callers pass it on. */
#ifndef SPUR_BASE_MEM_H
#define SPUR_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed memory, or NULL. A size of 0 gives a valid pointer. Free with mem_free(). */
void *mem_alloc(size_t size);
/* As mem_alloc() for `count` elements of `size`; NULL on overflow too. */
void *mem_array(size_t count, size_t size);
void mem_free(void *p);

/*
 * Grows the array `*p` (elements of `size` bytes) so that `need` elements fit; `*cap` is its capacity in
 * elements. Doubles, zeroes what is new, and refuses more than `limit` elements. On false nothing changed.
 */
bool mem_grow(void **p, size_t *cap, size_t need, size_t size, size_t limit);

/*
 * How often memory was refused so far, in the whole process. Where it is the same before and after, nothing that was
 * read in between lacks a part for want of memory; so whoever finds it changed fails, and no caller in between can
 * forget to.
 */
extern uint64_t mem_refusals; /* atomic; for mem_failures() */
static inline uint64_t mem_failures(void)
{
	return __atomic_load_n(&mem_refusals, __ATOMIC_RELAXED);
}

/*
 * Tests only: the n-th allocation from now on fails, and all after it (0: none fails). While n > 0 mem_count() is the
 * number of allocations since; mem_fail_at(UINT64_MAX) only counts.
 */
void mem_fail_at(uint64_t n);
uint64_t mem_count(void);

/*
 * Zeroed scratch memory that may be large: anonymous while small (< 16 MiB), else an unlinked temporary file,
 * mapped shared, so that it can be paged out. Free with scratch_free() and the same size.
 */
void *scratch_alloc(size_t size);
void scratch_free(void *p, size_t size);

/* A new file without a name in $TMPDIR, /var/tmp or /tmp, for reading and writing; -1 (errno) where none can be had. */
int temp_file_open(void);

/* Bump allocator: all of it is freed at once. Not thread-safe. */
struct arena {
	struct arena_block *blocks;
	size_t used; /* bytes handed out */
};

void arena_init(struct arena *a);
/* Zeroed, aligned to 16; NULL when memory is out. */
void *arena_alloc(struct arena *a, size_t size);
/* A copy of `len` bytes with a NUL behind. */
char *arena_strdup(struct arena *a, const char *s, size_t len);
/* printf into the arena; NULL when memory is out. */
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Keeps the largest block for reuse. */
void arena_reset(struct arena *a);
void arena_free(struct arena *a);

#endif
