/* Building a spur_args. */
#ifndef SPUR_MODEL_ARGS_H
#define SPUR_MODEL_ARGS_H

#include <spur.h>

/* Empties it, keeping the memory. */
void args_reset(struct spur_args *args);
/* A new last item at the top level, zeroed; NULL when memory is out. Pointers to earlier items become invalid. */
struct spur_value *args_add(struct spur_args *args);
/*
 * Room for `n` more items behind the last, not zeroed; who fills them adds to args->count. NULL when memory is out.
 * Pointers to earlier items become invalid.
 */
struct spur_value *args_room(struct spur_args *args, size_t n);
/*
 * Zeroed memory of a format's own, which stays with the args over resets as long as the same `owner` (a number that
 * nobody else has; not 0) asks for no more of it. Another owner, or more, gets it zeroed again. NULL when memory is out.
 */
void *args_keep(struct spur_args *args, uint64_t owner, size_t size);
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
