/*
 * Bytes of one input: a mapped file, or a pipe, FIFO, compressed file or forced small reads.
 *
 * All of them look alike: `data[0 .. size)` holds the bytes read so far, at an address that does
 * not change until source_close(). Input that cannot be mapped is written to an unlinked temporary
 * file that is mapped into a reserved range of addresses, so private memory does not grow with the
 * input. `.gz` and `.zst` are recognised by content and unpacked transparently (several members or
 * frames in a row too); of a truncated or damaged compressed file, the data that could be unpacked
 * is available, and `error` is set.
 */
#ifndef SPUR_BASE_SOURCE_H
#define SPUR_BASE_SOURCE_H

#include <spur.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/resident.h"

struct source {
	const uint8_t *data;
	uint64_t size; /* bytes available now; grows only by source_more() and source_need() */
	bool eof; /* no more bytes will come */
	bool mapped; /* the whole file is mapped: eof from the start */
	const char *path; /* as given; "-" is standard input */
	/*
	 * Why the input ended early (I/O error, damaged compression); code 0: it did not. Allocated
	 * apart, since there may be a source for each of very many threads, and few fail.
	 */
	struct spur_error *error;
	/*
	 * A followed file ended because its name was removed or given to another file, or because
	 * it was truncated. All bytes up to there are available, and `error` has no code.
	 */
	bool replaced, cut;
	bool paged; /* `data` is a read-only mapping of a file: see source_passed() */
	size_t map_size; /* bytes to unmap: 0 unless a file is mapped */
	struct holes *holes; /* of the mapped file; NULL: none are known */
	uint8_t *copy; /* of a small file; NULL: it is mapped, or read in pieces */
	struct source_spill *spill; /* NULL when mapped */
};

enum { UNPACKED_FREE = 256 << 20, UNPACKED_RATIO = 256 };

struct source_options {
	/* 0: map where possible; else read in pieces of this many bytes (tests) */
	size_t read_size;
	uint64_t limit; /* most bytes to take (0: 1 TiB) */
	/*
	 * Most bytes that packed data may unpack to; 0: UNPACKED_FREE, or UNPACKED_RATIO times its
	 * size if that is more.
	 */
	uint64_t max_unpacked;
	bool *over; /* set if the data exceeds max_unpacked; NULL: not wanted */
	/*
	 * Read a regular file in pieces, and wait at its end for more until it is truncated or
	 * replaced. If its name disappears, wait a second for it to come back (log files are
	 * renamed, then made anew). Packed files are rejected (SPUR_ERR_USAGE). Pipes end as
	 * usual.
	 */
	bool follow;
	/*
	 * Once this is not 0, stop waiting: the input ends there, without an error. NULL: never.
	 */
	const volatile int *stop;
};

/*
 * Opens `path` ("-" is standard input). Directories are rejected. Close `*out` with
 * source_close().
 */
enum spur_status source_open(struct source **out, const char *path,
			     const struct source_options *opt, struct spur_error *err);
/* The same for a copy of a descriptor; `name` takes the place of the path. */
enum spur_status source_descriptor(struct source **out, const char *name, int fd,
				   const struct source_options *opt, struct spur_error *err);
/*
 * A source over bytes in memory, which the caller keeps alive (fuzzers, tests). With `read_size` >
 * 0 they arrive in pieces.
 */
enum spur_status source_memory(struct source **out, const char *name, const void *data, size_t size,
			       const struct source_options *opt, struct spur_error *err);
/*
 * Waits for more bytes and reads at most one piece. Returns false at the end of input or on error.
 */
bool source_more(struct source *s);
/*
 * Reads what has been added to a followed regular file, without waiting. Returns true if there was
 * anything. If the file was truncated, sets `error` and ends the input.
 */
bool source_poll(struct source *s);
/* Waits until `size >= end` or the input ends. Returns true if there are that many bytes. */
bool source_need(struct source *s, uint64_t end);
void source_close(struct source *s);

/*
 * Bytes [from, to) have been read, and reading goes on at `to`: the pages before it need not stay
 * resident. They can still be read. Called for each batch of rows or more seldom.
 */
static inline void source_passed(const struct source *s, uint64_t from, uint64_t to)
{
	if (s->paged)
		resident_passed(s->data, s->size, from, to);
}

/* The same for one record of many that are walked over: most are passed at no cost. */
static inline void source_record_passed(const struct source *s, uint64_t off, uint64_t len)
{
	enum { STEP = 14 }; /* bits: a record that begins a step is passed */

	if (__builtin_expect((off ^ (off + len)) >> STEP != 0, 0))
		source_passed(s, off, off + len);
}

/*
 * Fetches what is read soon into the caches, for loops over records from `p` on that are faster
 * than memory: processors stop fetching ahead at the end of each page. Has no effect where that
 * lies past the end of the data. A record that usually lies in several lines of the cache takes
 * several calls, with the offsets of its lines.
 */
static inline void source_ahead(const uint8_t *p, uintptr_t line)
{
	enum { AHEAD = 2048 };

	__builtin_prefetch((const void *)((uintptr_t)p + AHEAD + line));
}

/*
 * Returns a source that has all of its bytes, which the caller keeps alive. It is for functions
 * that take a source, and needs no source_close().
 */
struct source source_view(const uint8_t *data, uint64_t size);
/*
 * Closes a source that maps a whole file, but not the mapping, which is `data` and `size` until the
 * caller unmaps it with resident_unmap(). For very many files, as a source for each would be too
 * much. Returns false, with nothing changed, if the source is another one or has failed.
 */
bool source_keep_map(struct source *s);

#endif
