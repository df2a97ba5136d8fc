/*
 * base/source.h: files, pipes, memory, gzip, zstd, xz and bzip2, damage: the same bytes by every
 * way.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <bzlib.h>
#include <lzma.h>
#include <zstd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/source.h"

enum { DATA = 700001 };

static uint8_t data[DATA];
static char dir[] = "/tmp/spur-source-XXXXXX";
static char path[sizeof(dir) + 16];

struct blob {
	uint8_t *p;
	size_t len;
};

static int data_make(void **state)
{
	uint64_t x = 1;

	(void)state;
	for (size_t i = 0; i < DATA; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		/* Half of it packs well. */
		data[i] = i & 4096 ? (uint8_t)(x >> 56) : (uint8_t)(i >> 8);
	}
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/in", dir);
	return 0;
}

static int data_remove(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void file_make(const void *p, size_t len)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, len), len);
	close(fd);
}

static struct blob gz_make(const void *p, size_t len)
{
	z_stream z = { 0 };
	struct blob b = { malloc(len + len / 100 + 100), 0 };

	deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	z.next_in = (uint8_t *)(uintptr_t)p;
	z.avail_in = (unsigned)len;
	z.next_out = b.p;
	z.avail_out = (unsigned)(len + len / 100 + 100);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	b.len = z.total_out;
	deflateEnd(&z);
	return b;
}

static struct blob zst_make(const void *p, size_t len)
{
	struct blob b = { malloc(ZSTD_compressBound(len)), 0 };
	ZSTD_CCtx *c = ZSTD_createCCtx();

	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
	b.len = ZSTD_compress2(c, b.p, ZSTD_compressBound(len), p, len);
	assert_false(ZSTD_isError(b.len));
	ZSTD_freeCCtx(c);
	return b;
}

static struct blob xz_make(const void *p, size_t len)
{
	const size_t room = lzma_stream_buffer_bound(len);
	struct blob b = { malloc(room), 0 };

	assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, p, len, b.p, &b.len,
						 room),
			 LZMA_OK);
	return b;
}

static struct blob bz2_make(const void *p, size_t len)
{
	unsigned room = (unsigned)(len + len / 100 + 600);
	struct blob b = { malloc(room), 0 };

	assert_int_equal(BZ2_bzBuffToBuffCompress((char *)b.p, &room, (char *)(uintptr_t)p,
						  (unsigned)len, 1, 0, 0),
			 BZ_OK);
	b.len = room;
	return b;
}

/* The ways to pack, and a bit whose change the checksum or the end of a stream shows. */
static const struct packer {
	const char *name;
	struct blob (*make)(const void *p, size_t len);
	size_t from_end;
	uint8_t bit;
} packers[] = {
	{ "gzip", gz_make, 8, 1 },
	{ "zstd", zst_make, 1, 1 },
	{ "xz", xz_make, 1, 1 },
	{ "bzip2", bz2_make, 1, 0x80 },
};
enum { PACKERS = sizeof(packers) / sizeof(*packers) };

/* The halves of the data packed one by one, behind each other; an empty member between them. */
static struct blob two_make(struct blob (*make)(const void *p, size_t len))
{
	struct blob a = make(data, DATA / 2), none = make(data, 0),
		    b = make(data + DATA / 2, DATA - DATA / 2);

	a.p = realloc(a.p, a.len + none.len + b.len);
	memcpy(a.p + a.len, none.p, none.len);
	memcpy(a.p + a.len + none.len, b.p, b.len);
	a.len += none.len + b.len;
	free(none.p);
	free(b.p);
	return a;
}

/* Reads to the end and compares with the first `len` bytes of the data. `data` must not move. */
static void source_check(struct source *s, size_t len, size_t piece)
{
	const uint8_t *at = s->data;
	uint64_t had = s->size;

	while (source_more(s)) {
		assert_true(s->size > had);
		if (piece)
			assert_true(s->size - had <= piece);
		had = s->size;
	}
	assert_ptr_equal(s->data, at);
	assert_true(s->eof);
	assert_false(source_more(s));
	assert_int_equal(s->size, len);
	assert_memory_equal(s->data, data, len);
}

static void check_path(size_t read_size, size_t len)
{
	const struct source_options opt = { .read_size = read_size };
	struct source *s;
	struct spur_error err;

	assert_int_equal(source_open(&s, path, &opt, &err), SPUR_OK);
	source_check(s, len, read_size);
	assert_int_equal(s->error->code, 0);
	source_close(s);
}

static void test_file(void **state)
{
	struct source *s;

	(void)state;
	file_make(data, DATA);
	assert_int_equal(source_open(&s, path, NULL, NULL), SPUR_OK);
	assert_true(s->mapped);
	assert_string_equal(s->path, path);
	assert_int_equal(s->size, DATA);
	assert_true(source_need(s, DATA));
	assert_false(source_need(s, DATA + 1));
	source_close(s);
	check_path(0, DATA);
	check_path(4096, DATA);
	check_path(1 << 30, DATA);
	file_make(data, 5000);
	check_path(1, 5000);
	check_path(7, 5000);
	file_make(data, 0);
	check_path(0, 0);
	check_path(3, 0);
	source_close(NULL);
}

static void test_packed(void **state)
{
	(void)state;
	for (size_t i = 0; i < PACKERS; i++) {
		struct blob one = packers[i].make(data, DATA), two = two_make(packers[i].make);

		file_make(one.p, one.len);
		check_path(0, DATA);
		check_path(1000, DATA);
		file_make(two.p, two.len);
		check_path(0, DATA);
		check_path(4095, DATA);
		free(one.p);
		free(two.p);
		one = packers[i].make(data, 3000);
		file_make(one.p, one.len);
		check_path(1, 3000);
		check_path(7, 3000);
		free(one.p);
	}
}

/* A mapping outlives its source; nothing else does. A view is a source that needs no closing. */
static void test_kept_map(void **state)
{
	const struct source_options pieces = { .read_size = 100 };
	struct source *s, view;
	const uint8_t *map;

	(void)state;
	file_make(data, DATA);
	assert_int_equal(source_open(&s, path, NULL, NULL), SPUR_OK);
	map = s->data;
	assert_true(source_keep_map(s));
	view = source_view(map, DATA);
	assert_true(view.eof && view.mapped && !view.error->code);
	assert_true(source_need(&view, DATA));
	assert_false(source_need(&view, DATA + 1));
	assert_false(source_more(&view));
	assert_memory_equal(view.data, data, DATA);
	assert_int_equal(munmap((void *)(uintptr_t)map, DATA), 0);
	assert_int_equal(source_open(&s, path, &pieces, NULL), SPUR_OK);
	assert_false(source_keep_map(s));
	assert_true(source_need(s, DATA));
	source_close(s);
	file_make(data, 100);
	assert_int_equal(source_open(&s, path, NULL, NULL), SPUR_OK);
	assert_false(source_keep_map(s));
	assert_memory_equal(s->data, data, 100);
	source_close(s);
}

static void test_packed_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < PACKERS; i++) {
		struct blob whole = packers[i].make(data, DATA);
		uint64_t last = 0;

		for (size_t cut = 20; cut < whole.len; cut += cut / 2 + 1) {
			struct source *s;

			file_make(whole.p, cut);
			assert_int_equal(source_open(&s, path, NULL, NULL), SPUR_OK);
			while (source_more(s))
				;
			assert_int_equal(s->error->code, SPUR_ERR_FORMAT);
			assert_non_null(strstr(s->error->message, "found the end: it is cut off"));
			assert_true(s->size < DATA && s->size >= last);
			assert_memory_equal(s->data, data, s->size);
			last = s->size;
			source_close(s);
		}
		assert_true(last > DATA / 3);
		free(whole.p);
	}
}

static void test_packed_damage(void **state)
{
	(void)state;
	for (size_t i = 0; i < PACKERS; i++) {
		struct blob b = packers[i].make(data, DATA);
		uint8_t *const last = &b.p[b.len - packers[i].from_end];
		char expected[40];
		struct source *s;

		/* The checksum at the end is wrong: all bytes are there, and so is the error. */
		*last ^= packers[i].bit;
		snprintf(expected, sizeof(expected), "m: expected %s data", packers[i].name);
		assert_int_equal(source_memory(&s, "m", b.p, b.len, NULL, NULL), SPUR_OK);
		source_check(s, DATA, 0);
		assert_int_equal(s->error->code, SPUR_ERR_FORMAT);
		assert_non_null(strstr(s->error->message, expected));
		source_close(s);
		*last ^= packers[i].bit;
		/* Other bytes behind the last member. */
		b.p = realloc(b.p, b.len + 5);
		memcpy(b.p + b.len, "other", 5);
		assert_int_equal(source_memory(&s, "m", b.p, b.len + 5, NULL, NULL), SPUR_OK);
		source_check(s, DATA, 0);
		assert_int_equal(s->error->code, SPUR_ERR_FORMAT);
		source_close(s);
		/* Each byte of the beginning in turn: what comes has an end. */
		for (size_t at = 4; at < 300; at++) {
			const struct source_options opt = { .limit = 2 * DATA };

			b.p[at] ^= 0x55;
			assert_int_equal(source_memory(&s, "m", b.p, b.len, &opt, NULL), SPUR_OK);
			while (source_more(s))
				;
			assert_true(s->size <= 2 * DATA);
			source_close(s);
			b.p[at] ^= 0x55;
		}
		free(b.p);
	}
}

static void test_limit(void **state)
{
	static const size_t read_sizes[] = { 0, 1000 };
	struct blob blobs[1 + PACKERS] = { { malloc(DATA), DATA } };

	(void)state;
	memcpy(blobs[0].p, data, DATA);
	for (size_t i = 0; i < PACKERS; i++)
		blobs[1 + i] = packers[i].make(data, DATA);
	for (size_t i = 0; i < 4 * (1 + PACKERS); i++) {
		const struct source_options under = { .read_size = read_sizes[i & 1],
						      .limit = 300000 };
		const struct source_options at = { .read_size = read_sizes[i & 1], .limit = DATA };
		const struct blob b = blobs[i / 4];
		struct source *s;

		if (i & 2)
			file_make(b.p, b.len);
		assert_int_equal(i & 2 ? source_open(&s, path, &under, NULL)
				       : source_memory(&s, "m", b.p, b.len, &under, NULL),
				 SPUR_OK);
		source_check(s, 300000, read_sizes[i & 1]);
		assert_int_equal(s->error->code, SPUR_ERR_LIMIT);
		source_close(s);
		assert_int_equal(i & 2 ? source_open(&s, path, &at, NULL)
				       : source_memory(&s, "m", b.p, b.len, &at, NULL),
				 SPUR_OK);
		source_check(s, DATA, read_sizes[i & 1]);
		assert_int_equal(s->error->code, 0);
		source_close(s);
	}
	for (size_t i = 0; i < 1 + PACKERS; i++)
		free(blobs[i].p);
}

static void test_memory(void **state)
{
	static const size_t read_sizes[] = { 1, 7, 4096, 1 << 20 };
	struct source *s;

	(void)state;
	assert_int_equal(source_memory(&s, "m", data, DATA, NULL, NULL), SPUR_OK);
	assert_true(s->mapped && s->eof);
	assert_ptr_equal(s->data, data);
	source_check(s, DATA, 0);
	source_close(s);
	for (size_t i = 0; i < 4; i++) {
		const struct source_options opt = { .read_size = read_sizes[i] };

		assert_int_equal(source_memory(&s, "m", data, 50000, &opt, NULL), SPUR_OK);
		assert_int_equal(s->size, 0);
		assert_true(source_need(s, 10));
		assert_false(s->eof);
		source_check(s, 50000, read_sizes[i]);
		source_close(s);
	}
	assert_int_equal(source_memory(&s, "m", NULL, 0, NULL, NULL), SPUR_OK);
	assert_non_null(s->data);
	assert_false(source_need(s, 1));
	source_close(s);
}

struct feed {
	struct blob b;
	int fd; /* -1: open `path` for writing, a FIFO */
};

/* Writes in odd pieces, slowly at first. */
static void *feed_run(void *arg)
{
	const struct feed *f = arg;
	const int fd = f->fd < 0 ? open(path, O_WRONLY) : f->fd;
	size_t step = 1;

	for (size_t at = 0; at < f->b.len;) {
		const size_t n = f->b.len - at < step ? f->b.len - at : step;
		const ssize_t done = write(fd, f->b.p + at, n);

		if (done < 0)
			break;
		at += (size_t)done;
		if (step < 64)
			usleep(200);
		step = step < 50000 ? step * 3 : 1000;
	}
	close(fd);
	return NULL;
}

/* A FIFO with plain and packed data, then the same through standard input. */
static void test_pipes(void **state)
{
	enum { PLAIN = 3 };
	struct blob blobs[PLAIN + PACKERS] = {
		{ data, DATA }, { data, 3 }, { data, 0 }
	};

	(void)state;
	for (size_t i = 0; i < PACKERS; i++)
		blobs[PLAIN + i] = two_make(packers[i].make);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	for (size_t i = 0; i < 2 * (PLAIN + PACKERS); i++) {
		struct feed f = { blobs[i / 2], -1 };
		const size_t want = f.b.len > 3 ? DATA : f.b.len;
		struct source *s;
		pthread_t t;
		int ends[2], old = -1;

		if (i & 1) {
			assert_int_equal(pipe(ends), 0);
			old = dup(0);
			dup2(ends[0], 0);
			close(ends[0]);
			f.fd = ends[1];
		}
		assert_int_equal(pthread_create(&t, NULL, feed_run, &f), 0);
		assert_int_equal(source_open(&s, i & 1 ? "-" : path, NULL, NULL), SPUR_OK);
		assert_false(s->mapped);
		source_check(s, want, 0);
		assert_int_equal(s->error->code, 0);
		source_close(s);
		pthread_join(t, NULL);
		if (i & 1) {
			assert_true(fcntl(0, F_GETFD) >= 0);
			dup2(old, 0);
			close(old);
		}
	}
	unlink(path);
	for (size_t i = 0; i < PACKERS; i++)
		free(blobs[PLAIN + i].p);
}

/* Bytes are shown as soon as they are written, while the pipe is open. */
static void test_live(void **state)
{
	int ends[2], old = dup(0);
	struct source *s;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	dup2(ends[0], 0);
	close(ends[0]);
	fcntl(0, F_SETFL, O_NONBLOCK);
	assert_int_equal(source_open(&s, "-", NULL, NULL), SPUR_OK);
	assert_int_equal(write(ends[1], "abcdef", 6), 6);
	assert_true(source_more(s));
	assert_int_equal(s->size, 6);
	assert_int_equal(write(ends[1], "g", 1), 1);
	assert_true(source_more(s));
	assert_int_equal(s->size, 7);
	assert_memory_equal(s->data, "abcdefg", 7);
	assert_false(s->eof);
	close(ends[1]);
	assert_false(source_more(s));
	assert_true(s->eof);
	source_close(s);
	dup2(old, 0);
	close(old);
}

/* Writes the data into `path` by and by. */
static void *file_grow(void *arg)
{
	const size_t from = *(const size_t *)arg, steps = 7;
	const int fd = open(path, O_WRONLY | O_APPEND);

	for (size_t i = 0; i < steps; i++) {
		const size_t at = from + (DATA - from) * i / steps,
			     end = from + (DATA - from) * (i + 1) / steps;

		if (write(fd, data + at, end - at) < 0)
			break;
		poll(NULL, 0, 3);
	}
	close(fd);
	return NULL;
}

static void test_follow(void **state)
{
	static const size_t sizes[] = { 0, 4096 }, starts[] = { 0, 1, 5000 };
	volatile int stop = 0;

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		const struct source_options o = { .read_size = sizes[i % 2],
						  .follow = true,
						  .stop = &stop };
		size_t from = starts[i / 2];
		struct source *s;
		pthread_t writer;

		stop = 0;
		file_make(data, from);
		assert_int_equal(source_open(&s, path, &o, NULL), SPUR_OK);
		assert_false(s->mapped);
		assert_int_equal(pthread_create(&writer, NULL, file_grow, &from), 0);
		assert_true(source_need(s, DATA));
		pthread_join(writer, NULL);
		assert_memory_equal(s->data, data, DATA);
		assert_false(s->eof);
		stop = 1;
		assert_false(source_more(s));
		assert_true(s->eof && !s->error->code && !s->replaced);
		source_close(s);
	}
}

static void test_follow_ends(void **state)
{
	const struct source_options o = { .follow = true };
	char other[sizeof(path) + 8];
	struct source *s;

	(void)state;
	file_make(data, 100);
	assert_int_equal(source_open(&s, path, &o, NULL), SPUR_OK);
	assert_true(source_need(s, 100));
	assert_int_equal(truncate(path, 50), 0);
	assert_false(source_more(s));
	assert_true(s->cut && !s->replaced && !s->error->code);
	assert_int_equal(s->size, 100);
	source_close(s);

	/* Another file of its name, or none: what was written before is read. */
	for (int removed = 0; removed < 2; removed++) {
		file_make(data, 100);
		assert_int_equal(source_open(&s, path, &o, NULL), SPUR_OK);
		file_make(data, 200);
		snprintf(other, sizeof(other), "%s.other", path);
		if (removed) {
			unlink(path);
		} else {
			assert_int_equal(rename(path, other), 0);
			file_make(data, 300);
			unlink(other);
		}
		assert_false(source_need(s, 201));
		assert_int_equal(s->size, 200);
		assert_true(s->replaced && !s->error->code);
		source_close(s);
	}
}

/* Polled, it waits for nothing. */
static void test_follow_polled(void **state)
{
	const struct source_options o = { .follow = true }, plain = { 0 };
	struct source *s;

	(void)state;
	file_make(data, 0);
	assert_int_equal(source_open(&s, path, &o, NULL), SPUR_OK);
	assert_false(source_poll(s));
	for (size_t n = 100; n < DATA; n = n * 5 + 1) {
		file_make(data, n);
		assert_true(source_poll(s));
		assert_int_equal(s->size, n);
		assert_memory_equal(s->data, data, n);
		assert_false(source_poll(s));
		assert_false(s->eof);
	}
	assert_int_equal(truncate(path, 50), 0);
	assert_false(source_poll(s));
	assert_true(s->eof && s->error->code == SPUR_ERR_IO);
	file_make(data, DATA);
	assert_false(source_poll(s));
	source_close(s);

	assert_int_equal(source_open(&s, path, &plain, NULL), SPUR_OK);
	assert_false(source_poll(s));
	source_close(s);
}

static void test_follow_refused(void **state)
{
	const struct source_options o = { .follow = true };
	struct spur_error err = { 0 };
	struct source *s = NULL;

	(void)state;
	for (size_t i = 0; i < PACKERS; i++) {
		struct blob packed = packers[i].make(data, 1000);

		file_make(packed.p, packed.len);
		assert_int_equal(source_open(&s, path, &o, &err), SPUR_FAIL);
		assert_int_equal(err.code, SPUR_ERR_USAGE);
		free(packed.p);
	}
}

/* A wait for a writer, or for its bytes, ends when it is told to. */
static void test_stop(void **state)
{
	volatile int stop = 0;
	const struct source_options o = { .stop = &stop };
	struct source *s;
	int writer;

	(void)state;
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	for (int i = 0; i < 2; i++) {
		stop = 0;
		assert_int_equal(source_open(&s, path, &o, NULL), SPUR_OK);
		writer = i ? open(path, O_WRONLY) : -1;
		if (i) {
			assert_int_equal(write(writer, "abcdef", 6), 6);
			assert_true(source_more(s));
		}
		stop = 1;
		assert_false(source_more(s));
		assert_true(s->eof && !s->error->code);
		assert_int_equal(s->size, i ? 6 : 0);
		source_close(s);
		if (i)
			close(writer);
	}
	unlink(path);
}

static void test_stdin_file(void **state)
{
	const int old = dup(0);
	struct source *s;
	int fd;

	(void)state;
	file_make(data, DATA);
	fd = open(path, O_RDONLY);
	dup2(fd, 0);
	close(fd);
	assert_int_equal(source_open(&s, "-", NULL, NULL), SPUR_OK);
	assert_true(s->mapped);
	source_check(s, DATA, 0);
	source_close(s);
	/* The first bytes were read already: the source begins after them. */
	lseek(0, 4096, SEEK_SET);
	assert_int_equal(source_open(&s, "-", NULL, NULL), SPUR_OK);
	assert_false(source_need(s, DATA));
	assert_int_equal(s->size, DATA - 4096);
	assert_memory_equal(s->data, data + 4096, DATA - 4096);
	source_close(s);
	dup2(old, 0);
	close(old);
}

static void test_proc(void **state)
{
	struct source *s;

	(void)state;
	assert_int_equal(source_open(&s, "/proc/self/status", NULL, NULL), SPUR_OK);
	assert_true(source_need(s, 5));
	assert_memory_equal(s->data, "Name:", 5);
	source_close(s);
}

static void test_refused(void **state)
{
	struct spur_error err = { 0 };
	struct source *s = NULL;

	(void)state;
	assert_int_equal(source_open(&s, dir, NULL, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_IO);
	assert_non_null(strstr(err.message, ": expected a file, found a directory"));
	assert_int_equal(source_open(&s, "/nowhere/at/all", NULL, &err), SPUR_FAIL);
	assert_string_equal(err.message,
			    "/nowhere/at/all: expected a file, found No such file or directory");
	assert_null(s);
}

static void test_nomem(void **state)
{
	struct blob blobs[1 + PACKERS] = { { data, 5000 } };

	(void)state;
	for (size_t i = 0; i < PACKERS; i++)
		blobs[1 + i] = packers[i].make(data, 5000);
	for (size_t i = 0; i < 1 + PACKERS; i++) {
		const struct source_options opt = { .read_size = 512 };
		unsigned good = 0;

		file_make(blobs[i].p, blobs[i].len);
		for (uint64_t n = 1; n < 20; n++) {
			struct spur_error err = { 0 };
			struct source *s;

			mem_fail_at(n);
			if (source_open(&s, path, &opt, &err) == SPUR_FAIL) {
				assert_int_equal(err.code, SPUR_ERR_MEMORY);
			} else {
				while (source_more(s))
					;
				if (!s->error->code)
					assert_int_equal(s->size, 5000);
				else
					assert_int_equal(s->error->code, SPUR_ERR_MEMORY);
				good += !s->error->code;
				source_close(s);
			}
			mem_fail_at(0);
		}
		assert_true(good > 0 && good < 19);
	}
	for (size_t i = 0; i < PACKERS; i++)
		free(blobs[1 + i].p);
}

/* No room for files: what went in is there, with the error; large scratch memory is refused. */
static void test_no_room(void **state)
{
	const struct rlimit small = { 300000, RLIM_INFINITY };
	struct rlimit old;
	struct blob b = zst_make(data, DATA);
	struct source *s;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	assert_null(scratch_alloc(32 << 20));
	assert_int_equal(source_memory(&s, "m", b.p, b.len, NULL, NULL), SPUR_OK);
	source_check(s, 300000, 0);
	assert_int_equal(s->error->code, SPUR_ERR_IO);
	assert_string_equal(s->error->message,
			    "m: expected room for a temporary file, found File too large");
	source_close(s);
	setrlimit(RLIMIT_FSIZE, &old);
	free(b.p);
}

/* More sources than there are addresses for as many ranges of the largest size. */
static void test_many(void **state)
{
	enum { MANY = 300 };
	static struct source *s[MANY];
	struct blob b = gz_make(data, 1000);

	(void)state;
	b.p = realloc(b.p, DATA);
	memset(b.p + b.len, 0, DATA - b.len);
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(source_memory(&s[i], "m", b.p, DATA, NULL, NULL), SPUR_OK);
		assert_true(source_need(s[i], 1000));
	}
	for (size_t i = 0; i < MANY; i++) {
		assert_memory_equal(s[i]->data, data, 1000);
		source_close(s[i]);
	}
	free(b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),	      cmocka_unit_test(test_packed),
		cmocka_unit_test(test_packed_cut),    cmocka_unit_test(test_packed_damage),
		cmocka_unit_test(test_limit),	      cmocka_unit_test(test_memory),
		cmocka_unit_test(test_pipes),	      cmocka_unit_test(test_live),
		cmocka_unit_test(test_follow),	      cmocka_unit_test(test_follow_ends),
		cmocka_unit_test(test_follow_polled), cmocka_unit_test(test_follow_refused),
		cmocka_unit_test(test_stop),	      cmocka_unit_test(test_stdin_file),
		cmocka_unit_test(test_proc),	      cmocka_unit_test(test_refused),
		cmocka_unit_test(test_nomem),	      cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_many),	      cmocka_unit_test(test_kept_map),
	};

	return cmocka_run_group_tests(tests, data_make, data_remove);
}
