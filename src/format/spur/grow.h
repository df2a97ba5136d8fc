/*
 * A recording's file that is still being written, read as far as it can be relied on. follow.c
 * merges the rows of all such files. SPEC spur/follow
 *
 * Records may be completed late: a thread stores them without a lock, and a signal handler may
 * come in between. So a record is taken when its time is older than GROW_LAG_MS: what stands before
 * it and is not complete by then counts as never completed.
 */
#ifndef SPUR_FORMAT_SPUR_GROW_H
#define SPUR_FORMAT_SPUR_GROW_H

#include "base/mirror.h"
#include "format/spur/reader.h"

enum {
	GROW_LAG_MS = 200,
	GROW_WINDOW = 32, /* rows of a thread that are put in order */
};

/* A chunk that was found. */
struct grow_chunk {
	uint64_t sequence;
	uint32_t number; /* in the file */
	uint32_t slot; /* in the copy, counted as chunks are */
	uint32_t thread; /* index; SPUR_NONE: descriptors */
	uint32_t next; /* index + 1 of the thread's next one; 0: none */
};

struct grow_file;

/* A thread, and the rows of it that were made. */
struct grow_thread {
	struct grow_file *file;
	uint32_t index; /* in spb.threads; SPUR_NONE: that of the process's own row */
	uint32_t order; /* among threads of all files, for rows of equal time */
	uint32_t head, tail; /* index + 1 of the next chunk, and of the last one; 0: none */
	uint32_t current; /* index of the chunk at the cursor */
	uint32_t loaded; /* bytes of it that were read */
	uint32_t checked; /* offset in it that was read again in look `checked_in` */
	uint64_t checked_in;
	struct spur_event *rows; /* GROW_WINDOW; NULL: not in the merge */
	uint32_t pos, n;
	bool dry; /* no more rows until the next look */
	bool known; /* follow.c knows its track */
	bool read; /* bytes were read since it was seen that the chunk is the same */
};

struct grow_file {
	struct spb s; /* first */
	struct mirror mirror;
	char *path;
	bool ring;
	bool observed; /* what the kernel saw of a program */
	bool process_known; /* follow.c knows its process's track */
	bool ended; /* nothing will be written any more */
	bool elsewhere; /* its times cannot be compared with the clock of this machine */
	bool over; /* all of it was read */
	uint64_t start_time;
	struct spb_pair last; /* of clocks, the latest */
	uint64_t horizon; /* ticks: what is not later can be relied on */
	uint64_t far; /* ticks behind the horizon, beyond which a time makes no sense */
	uint64_t looks;
	uint32_t scanned; /* chunks below this were looked at */
	uint32_t *waiting; /* numbers of those that are not in use yet */
	size_t nwaiting, waiting_cap;
	uint64_t *sequences; /* by number, of a ring's chunks */
	size_t sequences_cap;
	struct grow_chunk *chunks;
	size_t nchunks, chunks_cap;
	size_t queued; /* chunks that were given to their threads */
	uint32_t *descriptors; /* indices of chunks */
	size_t ndescriptors, descriptors_cap, described; /* all before this are read */
	struct spb_cursor describing; /* in that one; base NULL: not begun */
	struct grow_thread **threads; /* by index in spb.threads */
	size_t nthreads, threads_cap;
	struct grow_thread lost; /* the process's own row */
};

/* ns of CLOCK_MONOTONIC. */
int64_t grow_now(void);
/*
 * Opens a recording's file, which has a valid header. SPUR_WARN: it cannot be read (errno).
 * SPUR_FAIL: out of memory; grow_close() is required then, too.
 */
enum spur_status grow_open(struct grow_file *g, const char *path, uint64_t range);
/*
 * Finds what was added; `now` is the same for all files. Returns false if out of memory or if the
 * disk is full (`err`).
 */
bool grow_look(struct grow_file *g, int64_t now, struct spur_error *err);
/* The next row of a thread; ROW_NONE: none until the next look. */
enum spb_outcome grow_row(struct grow_thread *th, const struct spb_rows *w, struct spur_event *row);
/* Returns when the thread's first chunk was begun, which is the next one to be read. */
int64_t grow_begins(const struct grow_thread *th);
/* Whether the thread has, or may get, more rows. */
bool grow_is_open(const struct grow_thread *th);
void grow_close(struct grow_file *g);

#endif
