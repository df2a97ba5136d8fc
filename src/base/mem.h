/* Heap and arena. Failures are returned (NULL), never fatal; callers pass them on. */
#ifndef SPUR_BASE_MEM_H
#define SPUR_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns zeroed memory, or NULL. A size of 0 gives a valid pointer. Free with mem_free(). */
void *mem_alloc(size_t size);
/* As mem_alloc() for `count` elements of `size`; NULL on overflow too. */
void *mem_array(size_t count, size_t size);
void mem_free(void *p);

/*
 * Grows the array `*p` (elements of `size` bytes) so that `need` elements fit; `*cap` is its
 * capacity in elements. Doubles it, zeroes the new elements, and refuses more than `limit`. Returns
 * false, with nothing changed, if it fails.
 */
bool mem_grow(void **p, size_t *cap, size_t need, size_t size, size_t limit);
/*
 * Elements that an array has which there is one of for each of very many threads, before it grows
 * as others do: until then `need` is given as the limit.
 */
enum { MEM_FEW = 4 };

/* Frees the capacity beyond `count` elements, if possible. */
void mem_trim(void **p, size_t *cap, size_t count, size_t size);

/*
 * Failed allocations are counted, each in the counter that its thread is charged to: that of the
 * trace it works for, or else one of the process. If the count is the same before and after some
 * work, the result is complete; otherwise the work fails, so functions in between need not pass
 * the failure on.
 */
extern _Thread_local uint64_t *mem_charged __attribute__((tls_model("initial-exec")));

/* The lower bits of a counter are the count, the others the errno of the last failure. */
enum { MEM_COUNT_BITS = 48 };
#define MEM_COUNT (((uint64_t)1 << MEM_COUNT_BITS) - 1)

/* The count of the calling thread's counter. */
static inline uint64_t mem_failures(void)
{
	return __atomic_load_n(mem_charged, __ATOMIC_RELAXED) & MEM_COUNT;
}

/*
 * Counts a failure: ENOMEM, or the errno of a temporary file that takes the place of memory. The
 * message for both is that of err_nomem().
 */
void mem_failed(int error);
/*
 * The errno of the last failure that was counted in the calling thread's counter; 0 if nothing
 * failed.
 */
int mem_error(void);
/*
 * Returns how often mem_failed() was called with ENOMEM in the whole process, whichever counter was
 * charged.
 */
uint64_t mem_failures_all(void);

/*
 * Charges the calling thread's failures to `counter`, which must outlive the charge. Returns the
 * previous counter.
 */
static inline uint64_t *mem_charge(uint64_t *counter)
{
	uint64_t *before = mem_charged;

	mem_charged = counter;
	return before;
}

/*
 * Tests only: the n-th allocation from now on fails, and all after it (0: none fails). While n > 0
 * mem_count() is the number of allocations since; mem_fail_at(UINT64_MAX) only counts.
 */
void mem_fail_at(uint64_t n);
uint64_t mem_count(void);
/*
 * Counts an allocation that does not use the functions above, and returns true if a test wants it
 * to fail; the caller then calls mem_failed().
 */
bool mem_refused(void);

/*
 * Zeroed scratch memory that may be large: from the heap up to 1 KiB, anonymous while small
 * (< 16 MiB), else an unlinked temporary file, mapped shared, so that it can be paged out. Returns
 * NULL, with the errno counted (mem_failed()), if the memory or the disk is full. Free with
 * scratch_free() and the same size.
 */
void *scratch_alloc(size_t size);
void scratch_free(void *p, size_t size);
/*
 * Grows an array in scratch memory as mem_grow() does; free it with scratch_free(). Returns
 * false, with nothing changed, if it fails.
 */
bool scratch_reserve(void **p, size_t *cap, size_t need, size_t size);

/*
 * Zeroed memory for `count` elements of `size` of a table that may have an entry for each of many
 * threads or functions: from the heap while small (< 1 MiB), else scratch memory in a temporary
 * file, so that private memory does not grow with the table. Returns NULL, with the errno counted
 * (mem_failed()), if it fails. Free with mem_table_free() and the same numbers.
 */
void *mem_table_alloc(size_t count, size_t size);
void mem_table_free(void *p, size_t count, size_t size);
/* Grows a table as mem_grow() does an array; free it with mem_table_free() and its capacity. */
bool mem_table_grow(void **p, size_t *cap, size_t need, size_t size, size_t limit);

/*
 * Arrays that have become empty, for others to take: of a million threads only few may have open
 * spans at a time. Zero-initialise. All arrays have elements of the same type, and room for 16
 * bytes or more. Not thread-safe.
 */
struct mem_spare {
	void *first;
};

/* Moves the array into `s`: `*p` becomes NULL and `*cap` 0. */
void mem_spare_put(struct mem_spare *s, void **p, size_t *cap);
/* Sets `*p`, which is NULL, to an array of `s` and `*cap` to its capacity; none if `s` is empty. */
void mem_spare_take(struct mem_spare *s, void **p, size_t *cap);
void mem_spare_free(struct mem_spare *s);

/* Bump allocator: all of it is freed at once. Not thread-safe. */
struct arena {
	struct arena_block *blocks;
	size_t used; /* bytes handed out */
	bool scratch; /* see arena_init_scratch() */
};

void arena_init(struct arena *a);
/*
 * An arena whose blocks are tables (mem_table_alloc()), for what must be kept of each of many
 * threads. Not for arena_join().
 */
void arena_init_scratch(struct arena *a);
/* Returns zeroed memory, aligned to 16, or NULL if out of memory. */
void *arena_alloc(struct arena *a, size_t size);
/* The same without alignment, for text. */
char *arena_chars(struct arena *a, size_t size);
/* Returns a NUL-terminated copy of `len` bytes, or NULL if out of memory. */
char *arena_strdup(struct arena *a, const char *s, size_t len);
/* Prints into the arena. Returns NULL if out of memory. */
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Empties the arena, keeping its largest block for reuse. */
void arena_reset(struct arena *a);
void arena_free(struct arena *a);
/* Moves all that `from` has into `into`; addresses stay. */
void arena_join(struct arena *into, struct arena *from);

#endif
