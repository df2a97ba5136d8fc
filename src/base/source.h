/*
 * Bytes of one input: a mapped file, or a pipe, FIFO, compressed file or forced small reads.
 *
 * All of them look alike: `data[0 .. size)` is what is there so far, at an address that never moves
 * until source_close(). What cannot be mapped is written to an unlinked temporary file that is
 * mapped into a reserved range of addresses, so private memory does not grow with the input. `.gz`
 * and `.zst` are recognised by content and unpacked transparently (several members or frames in a
 * row too); a cut or damaged compressed file gives what could be unpacked, then `error` is set.
 */
#ifndef SPUR_BASE_SOURCE_H
#define SPUR_BASE_SOURCE_H

#include <spur.h>
#include <stdbool.h>
#include <stdint.h>

struct source {
	const uint8_t *data;
	uint64_t size; /* bytes available now; grows only by source_more() and source_need() */
	bool eof; /* no more will come */
	bool mapped; /* the whole file is mapped: eof from the start */
	const char *path; /* as given; "-" is standard input */
	/*
	 * Why it ended early (I/O error, damaged compression): code 0 where all is well. Not part of
	 * the structure, since there may be a source for each of very many threads, and few fail.
	 */
	struct spur_error *error;
	/*
	 * A followed file ended because its name is another file's or was removed, or because it
	 * was cut: its bytes up to there are all there, and `error` has no code.
	 */
	bool replaced, cut;
	size_t map_size; /* bytes to unmap: 0 unless a file is mapped */
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
	bool *over; /* set if more bytes were there than max_unpacked allows; NULL: not wanted */
	/*
	 * A regular file is read in pieces, and its end is waited at until there is more, until it
	 * is cut or replaced. A name that is gone may come back at once (log files are renamed,
	 * then made anew): that is waited for, a second. Packed files are refused (SPUR_ERR_USAGE):
	 * behind their end nothing can be told. Pipes end as ever.
	 */
	bool follow;
	/*
	 * Where it becomes true nothing is waited for any more: the input ends there, without an
	 * error. NULL: never.
	 */
	const volatile int *stop;
};

/*
 * Opens `path` ("-" is standard input). Directories are refused. `*out` is to be closed by
 * source_close().
 */
enum spur_status source_open(struct source **out, const char *path,
			     const struct source_options *opt, struct spur_error *err);
/* The same for a descriptor, of which a copy is used; `name` stands for the path. */
enum spur_status source_descriptor(struct source **out, const char *name, int fd,
				   const struct source_options *opt, struct spur_error *err);
/*
 * A source over bytes in memory, which the caller keeps alive (fuzzers, tests). With `read_size` >
 * 0 they arrive in pieces.
 */
enum spur_status source_memory(struct source **out, const char *name, const void *data, size_t size,
			       const struct source_options *opt, struct spur_error *err);
/* Waits for more bytes; false at the end of input or on error. Reads at most one piece. */
bool source_more(struct source *s);
/*
 * Of a followed regular file: takes what has been added to it by now, without waiting for more;
 * true if there was any. If it was cut `error` says so, and nothing more comes.
 */
bool source_poll(struct source *s);
/* Waits until `size >= end` or the input ends; true if there are that many bytes. */
bool source_need(struct source *s, uint64_t end);
void source_close(struct source *s);

#endif
