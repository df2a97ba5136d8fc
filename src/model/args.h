/* Building a spur_args. */
#ifndef SPUR_MODEL_ARGS_H
#define SPUR_MODEL_ARGS_H

#include <spur.h>

#include "base/mem.h"

enum { ARGS_INNER = 512 };

/* What is behind a spur_args; of this header and args.c alone. */
struct spur_args_store {
	struct spur_value *items;
	size_t cap;
	struct arena arena;
	/* A block of items of structures and arrays; what is behind goes to the arena */
	struct spur_value *inner;
	size_t inner_used;
	void *kept; /* of args_keep() */
	size_t kept_size;
	uint64_t owner;
};

/* Empties it, keeping the memory. */
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

/* Out of line halves of args_room(), args_inner() and args_keep(). */
struct spur_value *args_more(struct spur_args *args, size_t n);
struct spur_value *args_inner_more(struct spur_args *args, size_t n);
void *args_keep_new(struct spur_args *args, uint64_t owner, size_t size);
/*
 * A new last item at the top level, zeroed. Returns NULL if out of memory. Pointers to earlier
 * items become invalid.
 */
struct spur_value *args_add(struct spur_args *args);
/*
 * Room for `n` more items behind the last, not zeroed; who fills them adds to args->count. Returns
 * NULL if out of memory. Pointers to earlier items become invalid.
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
 * Items of a structure or an array, not zeroed, until the next args_reset(). Returns NULL if out of
 * memory.
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
 * Zeroed memory of a format's own, which stays with the args over resets as long as the same
 * `owner` (a number that nobody else has; not 0) asks for no more of it. Another owner, or more,
 * gets it zeroed again. Returns NULL if out of memory.
 */
static inline void *args_keep(struct spur_args *args, uint64_t owner, size_t size)
{
	const struct spur_args_store *s = args->store;

	return __builtin_expect(s && s->owner == owner && s->kept_size >= size, 1)
		       ? s->kept
		       : args_keep_new(args, owner, size);
}

/* What args_keep() gave to the owner, or NULL. */
static inline void *args_kept(const struct spur_args *args, uint64_t owner)
{
	return __builtin_expect(args->store && args->store->owner == owner, 1) ? args->store->kept
									       : NULL;
}

/* Memory that lives until the next args_reset(). */
void *args_alloc(struct spur_args *args, size_t size);
/* Text copied into it. */
const char *args_text(struct spur_args *args, const char *s, size_t len);
/* Shorthands; `name` is a string id. */
void args_u64(struct spur_args *args, uint32_t name, uint64_t v, enum spur_show show);
void args_i64(struct spur_args *args, uint32_t name, int64_t v);
/* Text that outlives the args: not copied. */
void args_literal(struct spur_args *args, uint32_t name, const char *s);
void args_string(struct spur_args *args, uint32_t name, const char *s, size_t len);

#endif
