/*
 * Stores that are kept: which one belongs to a trace, and the directory in which they are,
 * $XDG_CACHE_HOME/spur or else ~/.cache/spur, if the home directory exists.
 *
 * An identity is text that says all that the rows of a trace depend on: the version of the store
 * and of the program, the options that change rows, and of each file of the trace its path, size,
 * times of change and a hash of samples of its bytes. A store belongs to a trace if it was made
 * with the same identity.
 */
#ifndef SPUR_STORE_CACHE_H
#define SPUR_STORE_CACHE_H

#include "base/out.h"
#include "store/store.h"

/*
 * Appends the identity of an open trace. Returns false if it has none: a file that cannot be read
 * twice (a pipe, a file that is followed, a relay daemon).
 */
bool store_identify_trace(struct out *o, const struct spur_trace *t);

/* Returns the directory, in the arena; NULL if none is known, or out of memory. */
const char *cache_dir(struct arena *a);
/*
 * Returns the path of the store with an identity in the directory, in the arena; NULL if out of
 * memory.
 */
const char *cache_path(struct arena *a, const char *dir, const char *identity);
/*
 * Makes the directory, and what is above it, if they do not exist. Returns false, with errno set,
 * if that fails.
 */
bool cache_make_dir(const char *dir);
/*
 * Opens the kept store of traces that would be opened with these options, and notes that it was
 * used. Returns SPUR_WARN if no store can be trusted; one that is damaged is removed.
 */
enum spur_status cache_open(struct store **out, const char *const *paths, size_t n,
			    const struct spur_options *opt);
/* Returns true if a store was made with the options that change the rows of any trace. */
bool cache_fits_options(const struct store *s, const struct spur_options *opt);
/* Removes the kept store of these traces: it turned out to be damaged. */
void cache_drop(const char *const *paths, size_t n, const struct spur_options *opt);
/*
 * Opens the store at a path of cache_path(), as cache_open() does. Returns SPUR_WARN if there is no
 * store of that identity that can be trusted.
 */
enum spur_status cache_open_file(struct store **out, const char *path, const char *identity);
/*
 * Removes the stores that were not used for the longest time until the others have `limit` bytes
 * at most, and what an index that was killed left there more than a day ago. `keep` is the path of
 * one that stays; NULL: none does.
 */
void cache_trim(const char *dir, uint64_t limit, const char *keep);
/* What `spur index` keeps: SPUR_CACHE_SIZE bytes (with k, m, g), or else 10 GiB. */
uint64_t cache_limit(void);
/* Removes all stores. Returns their number, and in *bytes their size. */
size_t cache_clear(const char *dir, uint64_t *bytes);

#endif
