/*
 * Small pieces of memory of which there may be many at once, such as the damage of each of a
 * million threads, or what reading each of them needs. They come from pages that all traces of the
 * process share; most pages are scratch memory (base/mem.h), so private memory does not grow with
 * them. When no piece is left, the pages are freed. Thread-safe; not for hot paths.
 */
#ifndef SPUR_BASE_POOL_H
#define SPUR_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>

/* An address sanitizer knows the heap's pieces only, so there each piece is one of these. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { POOL_IS_HEAP = true };
#else
enum { POOL_IS_HEAP = false };
#endif
#elif defined(__SANITIZE_ADDRESS__)
enum { POOL_IS_HEAP = true };
#else
enum { POOL_IS_HEAP = false };
#endif

/* Returns zeroed memory, aligned to 16, or NULL if out of memory. Free with the same size. */
void *pool_alloc(size_t size);
void pool_free(void *p, size_t size);
/*
 * Grows an array as mem_grow() does: from the pool while it is small, else a table (base/mem.h).
 * Free it with pool_array_free() and its capacity.
 */
bool pool_grow(void **p, size_t *cap, size_t need, size_t size, size_t limit);
void pool_array_free(void *p, size_t cap, size_t size);
/* Returns a NUL-terminated copy of `len` bytes, or NULL if out of memory. */
char *pool_strdup(const char *s, size_t len);
/* Frees a NUL-terminated string that has no other NUL. */
void pool_strfree(char *s);

#endif
