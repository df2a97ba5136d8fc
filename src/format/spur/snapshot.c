/*
 * A copy of a process's file as it is now, made by another process while the file is written:
 * SPEC spur/snapshot. Nothing is asked of the process, so that one that hangs is copied too.
 *
 * Chunks are found by their heads first, then copied, the newest ones first, as a ring uses the
 * oldest ones again. Those with descriptors are the last: every record that is copied was described
 * before. The file's header comes at the very end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map64.h"
#include "base/os.h"
#include "base/process.h"
#include "format/spur/reader.h"

/* A chunk that is in use. */
struct found {
	uint64_t sequence;
	uint32_t number; /* in the file */
	uint32_t thread; /* 0: descriptors */
};

/* What became of a thread's chunks: bits. */
enum {
	THREAD_DONE = 1, /* some were copied before this round */
	THREAD_COPIED = 2, /* in this round */
	THREAD_OVER = 4, /* one was used again meanwhile: those before it are left out */
	ROUNDS = 100,
};

struct snapshot {
	const char *path;
	int from, to;
	uint8_t head[SPB_HEADER];
	uint32_t chunk_size;
	uint8_t *chunk; /* chunk_size bytes */
	struct found *list; /* scratch memory for `room` items */
	size_t count, room;
	uint32_t written; /* chunks of the copy */
	struct map64 threads; /* number -> bits */
	struct format_snapshot *out;
	struct spur_error *err;
};

static bool fail(struct snapshot *s, const char *path)
{
	err_set(s->err, SPUR_ERR_IO, "%s: %s", path, strerror(errno));
	return false;
}

static bool fail_memory(struct snapshot *s)
{
	err_nomem(s->err);
	return false;
}

/* Returns the number of bytes read, less than `size` only at the file's end; -1: errno. */
static ssize_t read_at(const struct snapshot *s, void *to, size_t size, uint64_t off)
{
	size_t got = 0;

	while (got < size) {
		const ssize_t n =
			os_pread(s->from, (char *)to + got, size - got, (off_t)(off + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

static bool write_at(struct snapshot *s, const void *from, size_t size, uint64_t off)
{
	size_t done = 0;

	while (done < size) {
		const ssize_t n = os_pwrite(s->to, (const char *)from + done, size - done,
					    (off_t)(off + done));

		if (n < 0 && errno != EINTR)
			return fail(s, "the copy");
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static uint64_t chunk_off(const struct snapshot *s, uint32_t number)
{
	return SPB_HEADER + (uint64_t)number * s->chunk_size;
}

/* --- finding chunks --- */

static int newest_first(const void *a, const void *b)
{
	const struct found *const f = a, *const g = b;

	return f->sequence > g->sequence ? -1 : f->sequence < g->sequence;
}

/* Returns true if the chunk was full before the time from which on chunks are wanted. */
static bool is_older(const struct snapshot *s, const uint8_t *head)
{
	return spb_64(head + SPB_CLOSE_AT) && spb_64(head + SPB_CLOSE_AT + 8) < s->out->since;
}

/* Finds the chunks of one kind that are in use now, the newest ones first. */
static bool chunks_find(struct snapshot *s, enum spb_chunk_kind kind)
{
	uint8_t head[SPB_CHUNK_HEAD];
	struct stat st;
	uint64_t n;

	scratch_free(s->list, s->room * sizeof(*s->list));
	s->list = NULL;
	s->count = s->room = 0;
	if (os_fstat(s->from, &st) != 0)
		return fail(s, s->path);
	n = st.st_size > SPB_HEADER ? ((uint64_t)st.st_size - SPB_HEADER) / s->chunk_size + 1 : 1;
	if (n > UINT32_MAX - 1)
		n = UINT32_MAX - 1;
	s->list = scratch_alloc(n * sizeof(*s->list));
	if (!s->list)
		return fail_memory(s);
	s->room = n;
	for (uint32_t i = 0; i < n; i++) {
		const ssize_t got = read_at(s, head, sizeof(head), chunk_off(s, i));

		if (got < 0)
			return fail(s, s->path);
		if (got < SPB_CHUNK_HEAD || spb_32(head) != SPB_CHUNK_MAGIC ||
		    !spb_64(head + SPB_SEQUENCE_AT) || spb_16(head + SPB_KIND_AT) != kind)
			continue;
		if (kind == SPB_CHUNK_RECORDS && is_older(s, head))
			continue;
		s->list[s->count++] = (struct found){
			.sequence = spb_64(head + SPB_SEQUENCE_AT),
			.number = i,
			.thread = kind == SPB_CHUNK_RECORDS ? spb_32(head + SPB_THREAD_AT) : 0,
		};
	}
	qsort(s->list, s->count, sizeof(*s->list), newest_first);
	return true;
}

/* --- copying one --- */

/* Bytes up to the last one that is not zero. */
static size_t used_size(const uint8_t *p, size_t size)
{
	while (size && !p[size - 1])
		size--;
	return size;
}

/* The place behind the record at `at`, at most `end`. */
static size_t record_end(const uint8_t *chunk, size_t at, size_t end)
{
	const uint64_t word = spb_64(chunk + at);
	uint64_t words = word >> 4 & 15, size = SPB_WORD;

	if (!word)
		return at + SPB_WORD;
	if ((word & 15) == SPB_RESERVED) {
		words = word >> 32;
		size += words >= SPB_LENGTH_FAR ? SPB_WORD : 0;
	} else if (words == SPB_LENGTH_FAR) {
		if (end - at < 2 * (size_t)SPB_WORD)
			return end;
		words = spb_32(chunk + at + SPB_WORD);
		size += SPB_WORD;
	}
	size += words * SPB_WORD;
	return size < end - at ? at + size : end;
}

/*
 * Ends a chunk that is being written behind the last record that it had when it was read first.
 * Its thread stores one record after the other, so all before that one are complete in the second
 * reading, except those that a signal handler interrupted. What is behind it may have holes where
 * the reading came too early; and a last record that is not complete is not a lost one.
 */
static void chunk_end(uint8_t *chunk, size_t used, size_t size)
{
	const size_t page = used ? (used - 1) / SPB_PAGE * SPB_PAGE : 0;
	const size_t end = page + SPB_PAGE < size ? page + SPB_PAGE : size;
	size_t at = page ? page : SPB_CHUNK_HEAD, last = at;

	while (at < used) {
		last = at;
		at = record_end(chunk, at, end);
	}
	if (last < at && (spb_64(chunk + last) & 15) == SPB_RESERVED)
		at = last;
	memset(chunk + at, 0, size - at);
}

/*
 * Reads a chunk into s->chunk. Returns its used size, 0 if the ring has used it again meanwhile
 * (SPEC spur/reuse), or -1 with the error set.
 */
static ssize_t chunk_read(struct snapshot *s, const struct found *f)
{
	const uint64_t off = chunk_off(s, f->number);
	uint8_t sequence[SPB_WORD];
	size_t used = 0;

	for (int pass = 0; pass < 2; pass++) {
		const ssize_t got = read_at(s, s->chunk, s->chunk_size, off);
		bool open;

		if (got < 0)
			return fail(s, s->path) - 1;
		memset(s->chunk + got, 0, s->chunk_size - (size_t)got);
		open = spb_16(s->chunk + SPB_STATE_AT) != SPB_FULL && f->thread;
		if (pass)
			chunk_end(s->chunk, used, s->chunk_size);
		used = used_size(s->chunk, s->chunk_size);
		used = used > SPB_CHUNK_HEAD ? used : SPB_CHUNK_HEAD;
		if (!open)
			break;
	}
	if (read_at(s, sequence, sizeof(sequence), off + SPB_SEQUENCE_AT) != sizeof(sequence) ||
	    spb_64(sequence) != f->sequence || spb_64(s->chunk + SPB_SEQUENCE_AT) != f->sequence)
		return 0;
	return (ssize_t)used;
}

/* Copies the chunks that were found, of threads that have no copies from an earlier round. */
static bool chunks_copy(struct snapshot *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct found *const f = &s->list[i];
		struct map64_slot *const thread = map64_put(&s->threads, f->thread);
		ssize_t used;

		if (!thread)
			return fail_memory(s);
		if (thread->value & (THREAD_DONE | THREAD_OVER))
			continue;
		used = chunk_read(s, f);
		thread->value |= used > 0 ? THREAD_COPIED : THREAD_OVER;
		if (used < 0 ||
		    (used && !write_at(s, s->chunk, (size_t)used, chunk_off(s, s->written))))
			return false;
		s->written += used > 0;
	}
	return true;
}

/* Ends a round. Returns true if a thread filled its whole ring before any of it was copied. */
static bool round_end(struct snapshot *s)
{
	struct map64_slot *thread;
	bool again = false;

	for (size_t i = 0; (thread = map64_next(&s->threads, &i));) {
		again |= thread->value == THREAD_OVER;
		thread->value = thread->value & (THREAD_DONE | THREAD_COPIED) ? THREAD_DONE : 0;
	}
	return again;
}

static bool records_copy(struct snapshot *s)
{
	for (int round = 0; round < ROUNDS; round++) {
		if (!chunks_find(s, SPB_CHUNK_RECORDS) || !chunks_copy(s))
			return false;
		if (!round_end(s))
			break;
	}
	return true;
}

/* --- the header --- */

static uint64_t clock_ns(clockid_t which)
{
	struct timespec t = { 0 };

	os_clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t clock_ticks(uint32_t clock)
{
#if defined(__x86_64__)
	if (clock == SPB_CLOCK_TSC)
		return __builtin_ia32_rdtsc();
#endif
	(void)clock;
	return clock_ns(CLOCK_MONOTONIC);
}

/* The present as the end of a recording that goes on: ticks, monotonic and real time. */
static void end_set(struct snapshot *s)
{
	const uint32_t clock = spb_32(s->head + SPB_CLOCK_AT);
	uint64_t words[3] = { 0 }, shortest = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		const uint64_t before = clock_ticks(clock), mono = clock_ns(CLOCK_MONOTONIC),
			       after = clock_ticks(clock);

		if (after - before >= shortest)
			continue;
		shortest = after - before;
		words[0] = clock == SPB_CLOCK_TSC ? before + shortest / 2 : mono;
		words[1] = mono;
	}
	words[2] = clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - words[1]);
	for (size_t i = 0; i < sizeof(words); i++)
		s->head[SPB_END_AT + i] = (uint8_t)(words[i / SPB_WORD] >> i % SPB_WORD * 8);
}

/* Writes the header, whose count of lost events is that of now. */
static bool head_copy(struct snapshot *s)
{
	const uint64_t end = chunk_off(s, s->written);

	if (read_at(s, s->head, SPB_HEADER, 0) != SPB_HEADER)
		return fail(s, s->path);
	if (s->out->runs && !spb_64(s->head + SPB_END_AT))
		end_set(s);
	for (size_t i = 0; i < SPB_WORD; i++)
		s->head[SPB_READY_AT + i] = (uint8_t)((uint64_t)s->written >> i * 8);
	if (os_ftruncate(s->to, (off_t)end) != 0)
		return fail(s, "the copy");
	s->out->bytes = end;
	return write_at(s, s->head, SPB_HEADER, 0);
}

static bool copy(struct snapshot *s)
{
	const ssize_t got = read_at(s, s->head, SPB_HEADER, 0);

	if (got < 0)
		return fail(s, s->path);
	if (!spb_head_valid(s->head, (size_t)got)) {
		err_set(s->err, SPUR_ERR_FORMAT, "%s: expected the file of a recording", s->path);
		return false;
	}
	s->chunk_size = spb_32(s->head + SPB_CHUNK_SIZE_AT);
	s->out->pid = spb_32(s->head + SPB_PID_AT);
	s->out->runs =
		!spb_64(s->head + SPB_END_AT) && process_boot_is_this(s->head + SPB_BOOT_AT) &&
		process_runs(spb_32(s->head + SPB_PID_AT), spb_64(s->head + SPB_START_TIME_AT));
	s->chunk = mem_alloc(s->chunk_size);
	if (!s->chunk)
		return fail_memory(s);
	return records_copy(s) && chunks_find(s, SPB_CHUNK_DESCRIPTORS) && chunks_copy(s) &&
	       head_copy(s);
}

enum spur_status spb_snapshot(const char *path, int fd, struct format_snapshot *out,
			      struct spur_error *err)
{
	struct snapshot s = { .path = path, .to = fd, .out = out, .err = err };
	bool good;

	s.from = os_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (s.from < 0)
		return err_set(err, SPUR_ERR_IO, "%s: %s", path, strerror(errno));
	good = copy(&s);
	os_close(s.from);
	mem_free(s.chunk);
	scratch_free(s.list, s.room * sizeof(*s.list));
	map64_free(&s.threads);
	return good ? SPUR_OK : SPUR_FAIL;
}
