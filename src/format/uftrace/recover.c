/*
 * SPEC uftrace/left-over: what a killed recorder left in shared memory. The program's threads store
 * their records in buffers there, files called uftrace-SESSION-TID-NUMBER, and the recorder adds
 * full ones to TID.dat and empties them; wire.h has their layout. If both are killed, the records
 * in the buffers are missing in the directory.
 *
 * Bytes are only added behind what is in TID.dat, in the order of the buffers, so a run that ends
 * early is continued by the next one.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/file.h"
#include "base/os.h"
#include "base/source.h"
#include "base/text.h"
#include "format/uftrace/reader.h"
#include "format/uftrace/wire.h"

enum {
	BUFFERS_MOST = 1 << 20,
	SESSIONS_MOST = 1 << 16,
	HEADS = SHARED_DATA + 2 * RECORD,
	MAPS_PIECE = 4096,
};

static const char shared_prefix[] = "uftrace-", map_prefix[] = "sid-", map_suffix[] = ".map";

/* A buffer with records. */
struct left_buffer {
	uint64_t session, tid, number;
	uint64_t time; /* of its first record that has one; UINT64_MAX: unknown, it is the newest */
	uint64_t size; /* bytes of records; 0: it was emptied */
	uint64_t lost; /* records that the program could not store before these */
	const char *path;
	struct source *src;
};

struct recovering {
	const char *dir, *memory;
	struct format_recovery *r;
	struct spur_error *err;
	struct arena a;
	uint64_t *sessions;
	size_t nsessions, sessions_cap;
	struct left_buffer *buffers;
	size_t nbuffers, buffers_cap;
};

static bool fail(const struct recovering *k, const char *path)
{
	err_set(k->err, SPUR_ERR_IO, "%s: %s", path, strerror(errno));
	return false;
}

static bool no_memory(const struct recovering *k)
{
	err_nomem(k->err);
	return false;
}

/* --- which buffers there are --- */

/* Calls `take` with the names in a directory until it returns false. */
static bool walk(struct recovering *k, const char *path,
		 bool (*take)(struct recovering *k, const char *name))
{
	DIR *const d = os_opendir(path);
	const struct dirent *e;
	bool good = true;

	if (!d)
		return fail(k, path);
	while (good && (e = os_readdir(d)))
		good = take(k, e->d_name);
	os_closedir(d);
	return good;
}

/* The map file of a session is written by the program itself, so it is there whoever was killed. */
static bool session_take(struct recovering *k, const char *name)
{
	struct text t = text_of(name);
	uint64_t session;

	if (!text_skip(&t, map_prefix) || !text_u64(&t, 16, &session) || !text_is(t, map_suffix))
		return true;
	if (!mem_grow((void **)&k->sessions, &k->sessions_cap, k->nsessions + 1,
		      sizeof(*k->sessions), SESSIONS_MOST))
		return no_memory(k);
	k->sessions[k->nsessions++] = session;
	return true;
}

static bool has_session(const struct recovering *k, uint64_t session)
{
	for (size_t i = 0; i < k->nsessions; i++)
		if (k->sessions[i] == session)
			return true;
	return false;
}

/* Reads SESSION-TID-NUMBER. Returns false if the name is another one. */
static bool name_read(struct text t, struct left_buffer *b)
{
	return text_skip(&t, shared_prefix) && text_u64(&t, 16, &b->session) &&
	       text_skip(&t, "-") && text_u64(&t, 10, &b->tid) && text_skip(&t, "-") &&
	       text_u64(&t, 10, &b->number) && !t.len;
}

/* Checks a buffer and reads its first records. Returns false if it is none that can be read. */
static bool head_read(struct left_buffer *b, const uint8_t *head, size_t len, uint64_t file_size)
{
	const uint8_t *record = head + SHARED_DATA;
	uint64_t word;

	if (len < SHARED_DATA)
		return false;
	b->size = load32(head + SHARED_AT_SIZE, false);
	if (b->size > file_size - SHARED_DATA || b->size % 8 ||
	    load32(head + SHARED_AT_FLAGS, false) & ~(uint32_t)SHARED_FLAGS)
		return false;
	if (!b->size)
		return true;
	if (b->size < RECORD || len < SHARED_DATA + RECORD)
		return false;
	word = load64(record + RECORD_AT_WORD, false);
	b->time = load64(record, false);
	if ((word & MAGIC_MASK) != MAGIC_BITS)
		return false;
	if ((word & 3) != RECORD_LOST)
		return true;
	b->lost = word >> 16;
	b->time = b->size < 2 * RECORD || len < HEADS ? UINT64_MAX
						      : load64(record + RECORD, false);
	return true;
}

static bool buffer_take(struct recovering *k, const char *name)
{
	struct left_buffer b = { .size = 0 };
	uint8_t head[HEADS];
	struct stat st;
	ssize_t got;

	if (!name_read(text_of(name), &b) || !has_session(k, b.session))
		return true;
	b.path = arena_printf(&k->a, "%s/%s", k->memory, name);
	if (!b.path || !mem_grow((void **)&k->buffers, &k->buffers_cap, k->nbuffers + 1,
				 sizeof(*k->buffers), BUFFERS_MOST))
		return no_memory(k);
	got = file_head(b.path, FILE_REGULAR, head, sizeof(head));
	if (got < 0 || os_stat(b.path, &st) != 0)
		return fail(k, b.path);
	if (!head_read(&b, head, (size_t)got, (uint64_t)st.st_size)) {
		k->r->bad++;
		k->r->bad_bytes += (uint64_t)st.st_size;
		return true;
	}
	k->buffers[k->nbuffers++] = b;
	return true;
}

/*
 * By thread, and in the order in which they were filled: a thread takes the first free buffer, so
 * their numbers do not say it.
 */
static int buffer_order(const void *a, const void *b)
{
	const struct left_buffer *const x = a, *const y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* --- whether the program runs --- */

/* Returns true if a thread has memory of the session mapped. */
static bool thread_runs(const struct recovering *k, const struct left_buffer *b)
{
	char path[64], name[64], piece[MAPS_PIECE + sizeof(name)];
	const int n = snprintf(name, sizeof(name), "/%s%016llx-", shared_prefix,
			       (unsigned long long)b->session);
	size_t kept = 0;
	bool found = false;
	ssize_t got;
	int fd;

	if (k->r->memory)
		return false;
	snprintf(path, sizeof(path), "/proc/%llu/maps", (unsigned long long)b->tid);
	fd = os_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	while (!found && (got = os_read(fd, piece + kept, MAPS_PIECE)) > 0) {
		const size_t len = kept + (size_t)got, rest = len < (size_t)n ? len : (size_t)n;

		found = memmem(piece, len, name, (size_t)n) != NULL;
		memmove(piece, piece + len - rest, rest);
		kept = rest;
	}
	os_close(fd);
	return found;
}

static bool any_runs(struct recovering *k)
{
	for (size_t i = 0; i < k->nbuffers; i++)
		if ((!i || k->buffers[i].tid != k->buffers[i - 1].tid) &&
		    thread_runs(k, &k->buffers[i])) {
			k->r->pid = (int64_t)k->buffers[i].tid;
			return true;
		}
	return false;
}

/* --- adding --- */

/* The buffers of a thread. */
struct left_thread {
	struct left_buffer *buffers;
	size_t n;
	uint64_t size; /* bytes of them */
	const uint8_t *data; /* TID.dat */
	uint64_t data_size;
	struct source *src; /* of TID.dat; NULL: it does not exist */
};

static const uint8_t *buffer_data(const struct left_buffer *b)
{
	return b->src->data + SHARED_DATA;
}

/* Returns true if the file's bytes from `at` on are the first of the buffers. */
static bool is_same(const struct left_thread *t, uint64_t at)
{
	uint64_t left = t->data_size - at;

	for (size_t i = 0; i < t->n && left; i++) {
		const uint64_t n = t->buffers[i].size < left ? t->buffers[i].size : left;

		if (memcmp(t->data + t->data_size - left, buffer_data(&t->buffers[i]), n) != 0)
			return false;
		left -= n;
	}
	return !left;
}

/*
 * Returns how many of the buffers' bytes are the end of the file: the recorder was killed between
 * writing a buffer, or a part of it, and saying so, or what is left was added before.
 */
static uint64_t bytes_there(const struct left_thread *t)
{
	const uint64_t first = t->data_size > t->size ? t->data_size - t->size : 0;

	for (uint64_t at = align_up(first, 8); at < t->data_size; at += 8)
		if (is_same(t, at))
			return t->data_size - at;
	return 0;
}

static bool write_at(const struct recovering *k, int fd, const char *path, const uint8_t *p,
		     uint64_t len, uint64_t at)
{
	while (len) {
		const size_t piece = len < 1 << 20 ? (size_t)len : 1 << 20;
		const ssize_t n = os_pwrite(fd, p, piece, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(k, path);
		p += n;
		at += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return true;
}

/* Adds the bytes of the buffers but for the first `skip` to a file that ends at `at`. */
static bool buffers_write(const struct recovering *k, const struct left_thread *t, int fd,
			  const char *path, uint64_t at, uint64_t skip)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct left_buffer *const b = &t->buffers[i];
		const uint64_t from = skip < b->size ? skip : b->size;

		skip -= from;
		if (from == b->size)
			continue;
		k->r->buffers++;
		k->r->lost += from ? 0 : b->lost;
		k->r->added += b->size - from;
		if (!write_at(k, fd, path, buffer_data(b) + from, b->size - from, at))
			return false;
		at += b->size - from;
	}
	return true;
}

/* Adds what is missing. */
static bool thread_write(const struct recovering *k, const struct left_thread *t, const char *path)
{
	const uint64_t there = bytes_there(t);
	/* A record that was cut would move those behind it from their places. */
	const uint64_t end = there ? t->data_size : t->data_size - t->data_size % 8;
	bool good;
	int fd;

	if (there == t->size)
		return true;
	fd = os_open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (k->r->to ? O_EXCL : 0), 0644);
	if (fd < 0)
		return fail(k, path);
	k->r->threads++;
	k->r->dropped += t->data_size - end;
	good = (!k->r->to || write_at(k, fd, path, t->data, end, 0)) &&
	       (end == t->data_size || os_ftruncate(fd, (off_t)end) == 0 || fail(k, path)) &&
	       buffers_write(k, t, fd, path, end, there) && (os_fsync(fd) == 0 || fail(k, path));
	os_close(fd);
	return good;
}

/* Opens the thread's file and its buffers. */
static bool thread_open(const struct recovering *k, struct left_thread *t, const char *path)
{
	struct stat st;

	if (os_stat(path, &st) == 0) {
		if (source_open(&t->src, path, NULL, k->err) == SPUR_FAIL)
			return false;
		source_need(t->src, UINT64_MAX);
		t->data = t->src->data;
		t->data_size = t->src->size;
	} else if (errno != ENOENT) {
		return fail(k, path);
	}
	for (size_t i = 0; i < t->n; i++) {
		struct left_buffer *const b = &t->buffers[i];

		if (source_open(&b->src, b->path, NULL, k->err) == SPUR_FAIL)
			return false;
		source_need(b->src, UINT64_MAX);
		if (b->src->size < SHARED_DATA + b->size) {
			err_set(k->err, SPUR_ERR_IO, "%s: became shorter", b->path);
			return false;
		}
		t->size += b->size;
	}
	return true;
}

static bool thread_recover(struct recovering *k, struct left_buffer *buffers, size_t n)
{
	struct left_thread t = { .buffers = buffers, .n = n };
	const unsigned long long tid = buffers->tid;
	const char *const from = arena_printf(&k->a, "%s/%llu.dat", k->dir, tid);
	const char *const to =
		k->r->to ? arena_printf(&k->a, "%s/%llu.dat", k->r->to, tid) : from;
	bool good;

	if (!from || !to)
		return no_memory(k);
	good = thread_open(k, &t, from) && thread_write(k, &t, to);
	if (t.src)
		source_close(t.src);
	for (size_t i = 0; i < n; i++) {
		if (buffers[i].src)
			source_close(buffers[i].src);
		buffers[i].src = NULL;
	}
	return good;
}

static bool threads_recover(struct recovering *k)
{
	size_t n;

	for (size_t i = 0; i < k->nbuffers; i += n) {
		n = 1;
		while (i + n < k->nbuffers && k->buffers[i + n].tid == k->buffers[i].tid)
			n++;
		if (!thread_recover(k, k->buffers + i, n))
			return false;
	}
	return true;
}

/* --- the directory --- */

/* Links a file that did not change. */
static bool link_take(struct recovering *k, const char *name)
{
	const char *const from = arena_printf(&k->a, "%s/%s", k->dir, name);
	const char *const to = arena_printf(&k->a, "%s/%s", k->r->to, name);
	char full[PATH_MAX];
	struct stat st;

	if (!from || !to)
		return no_memory(k);
	if (os_stat(from, &st) != 0 || !S_ISREG(st.st_mode))
		return true;
	if (!os_realpath(from, full))
		return fail(k, from);
	return os_symlink(full, to) == 0 || errno == EEXIST || fail(k, to);
}

static bool memory_remove(const struct recovering *k)
{
	for (size_t i = 0; i < k->nbuffers; i++)
		if (os_unlink(k->buffers[i].path) != 0)
			return fail(k, k->buffers[i].path);
	return true;
}

static bool recover(struct recovering *k)
{
	struct format_recovery *const r = k->r;

	if (!walk(k, k->dir, session_take) || !walk(k, k->memory, buffer_take))
		return false;
	if (k->nbuffers)
		qsort(k->buffers, k->nbuffers, sizeof(*k->buffers), buffer_order);
	r->runs = any_runs(k);
	if (r->runs && !r->force)
		return true;
	if (!threads_recover(k))
		return false;
	r->complete = !r->buffers;
	return (!r->to || walk(k, k->dir, link_take)) && (!r->remove || memory_remove(k));
}

enum spur_status uftrace_recover(const char *path, struct format_recovery *r,
				 struct spur_error *err)
{
	struct recovering k = { .dir = path,
				.memory = r->memory ? r->memory : "/dev/shm",
				.r = r,
				.err = err };
	bool good;

	arena_init(&k.a);
	good = recover(&k);
	mem_free(k.sessions);
	mem_free(k.buffers);
	arena_free(&k.a);
	return good ? SPUR_OK : SPUR_FAIL;
}
