/* Building a spur_args. */
#ifndef SPUR_MODEL_ARGS_H
#define SPUR_MODEL_ARGS_H

#include <spur.h>

#include "base/mem.h"

enum { ARGS_INNER = 512 };

/* The contents of a spur_args. Only this header and args.c may use it. */
struct spur_args_store {
	struct spur_value *items;
	size_t cap;
	struct arena arena;
	/* A block for items of structures and arrays; when it is full, items go to the arena */
	struct spur_value *inner;
	size_t inner_used;
	void *kept; /* memory of args_keep() */
	size_t kept_size;
	uint64_t owner;
};

/* Removes all arguments and keeps the memory. */
static inline void args_reset(struct spur_args *args)
{
	args->count = 0;
	args->items = NULL;
	if (!args->store)
		return;
	args->store->inner_used = 0;
	if (args->store->arena.used)
		arena_reset(&args->store->arena);
}

/* The slow paths of args_room(), args_inner() and args_keep(). */
struct spur_value *args_more(struct spur_args *args, size_t n);
struct spur_value *args_inner_more(struct spur_args *args, size_t n);
void *args_keep_new(struct spur_args *args, uint64_t owner, size_t size);
/*
 * Appends a zeroed item at the top level. Returns NULL if out of memory. Pointers to earlier items
 * become invalid.
 */
struct spur_value *args_add(struct spur_args *args);
/*
 * Makes room for `n` more items after the last, not zeroed. The caller fills them and adds their
 * number to args->count. Returns NULL if out of memory. Pointers to earlier items become invalid.
 */
static inline struct spur_value *args_room(struct spur_args *args, size_t n)
{
	struct spur_args_store *s = args->store;

	if (__builtin_expect(!s || n >= s->cap - args->count, 0))
		return args_more(args, n);
	args->items = s->items;
	return s->items + args->count;
}

/*
 * Allocates items of a structure or an array, not zeroed, valid until the next args_reset().
 * Returns NULL if out of memory.
 */
static inline struct spur_value *args_inner(struct spur_args *args, size_t n)
{
	struct spur_args_store *s = args->store;

	if (__builtin_expect(!s || !s->inner || n > ARGS_INNER - s->inner_used, 0))
		return args_inner_more(args, n);
	s->inner_used += n;
	return s->inner + s->inner_used - n;
}

/*
 * Returns memory for a format's private use. It survives resets while the same `owner` (a unique
 * number other than 0) asks for no more bytes; it is zeroed for a new owner or a larger size.
 * Returns NULL if out of memory.
 */
static inline void *args_keep(struct spur_args *args, uint64_t owner, size_t size)
{
	const struct spur_args_store *s = args->store;

	return __builtin_expect(s && s->owner == owner && s->kept_size >= size, 1)
		       ? s->kept
		       : args_keep_new(args, owner, size);
}

/* Returns the memory that args_keep() gave to the owner, or NULL. */
static inline void *args_kept(const struct spur_args *args, uint64_t owner)
{
	return __builtin_expect(args->store && args->store->owner == owner, 1) ? args->store->kept
									       : NULL;
}

/* Allocates memory that lives until the next args_reset(). */
void *args_alloc(struct spur_args *args, size_t size);
/* Copies text into such memory. */
const char *args_text(struct spur_args *args, const char *s, size_t len);
/* Shorthands that append one argument; `name` is a string id. */
void args_u64(struct spur_args *args, uint32_t name, uint64_t v, enum spur_show show);
void args_i64(struct spur_args *args, uint32_t name, int64_t v);
/* Appends text without copying it. Requires that the text outlives the args. */
void args_literal(struct spur_args *args, uint32_t name, const char *s);
void args_string(struct spur_args *args, uint32_t name, const char *s, size_t len);

#endif
