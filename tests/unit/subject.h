/*
 * What tests of stores share: a trace, its rows and its store, for every golden of every format.
 * Include it first.
 */
#ifndef UNIT_SUBJECT_H
#define UNIT_SUBJECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flow/open.h"
#include "flow/pipe.h"
#include "store/store.h"

/* A trace, all its rows, and its store. */
struct subject {
	struct spur_trace *trace;
	struct spur_event *rows;
	size_t n, cap;
	size_t ends[64], nends; /* of the rows of each feed, or of all of them */
	struct store_writer *writer;
	struct store *store;
	char path[64];
};

static inline void file_name(char *path, size_t size)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(path, size, "%s/test_store.XXXXXX", dir && strlen(dir) < 32 ? dir : "/tmp");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
}

static inline void rows_keep(struct subject *s, const struct spur_event *rows, size_t n)
{
	assert_true(
		mem_grow((void **)&s->rows, &s->cap, s->n + n, sizeof(*s->rows), SIZE_MAX / 64));
	memcpy(s->rows + s->n, rows, n * sizeof(*rows));
	s->n += n;
}

/* Reads all feeds into the writer, as pass/index.c does, and keeps the rows. */
static inline void subject_read(struct subject *s)
{
	struct store_worker *k = store_writer_worker(s->writer, 0);
	struct spur_event *rows;
	size_t n;

	if (s->trace->tracks_shared) {
		struct merge *m = merge_new(s->trace, NULL);

		assert_true(store_worker_begin(k, NULL));
		while (merge_next(m, &rows, &n) == SPUR_OK) {
			rows_keep(s, rows, n);
			assert_true(store_worker_order(k, rows, n) &&
				    store_worker_rows(k, rows, n));
		}
		assert_true(store_worker_end(k));
		s->ends[s->nends++] = s->n;
		merge_free(m);
		return;
	}
	for (size_t i = 0; i < s->trace->nfeeds; i++) {
		struct feed_reader *r = feed_reader_new(s->trace, s->trace->feeds[i], NULL, 64);

		assert_true(store_worker_begin(k, s->trace->feeds[i]));
		while (feed_reader_next(r, &rows, &n) == SPUR_OK) {
			rows_keep(s, rows, n);
			assert_true(store_worker_order(k, rows, n) &&
				    store_worker_rows(k, rows, n));
		}
		assert_true(store_worker_end(k));
		assert_true(s->nends < 64);
		s->ends[s->nends++] = s->n;
		feed_reader_free(r);
	}
}

static inline bool subject_open(struct subject *s, const char *path)
{
	struct spur_error err;

	*s = (struct subject){ 0 };
	if (spur_open(&s->trace, path, NULL, &err) == SPUR_FAIL)
		return false;
	file_name(s->path, sizeof(s->path));
	assert_int_equal(store_writer_new(&s->writer, s->trace, s->path, 1, &err), SPUR_OK);
	subject_read(s);
	assert_int_equal(store_writer_finish(s->writer, "identity", &err), SPUR_OK);
	if (store_open(&s->store, s->path, &err) == SPUR_FAIL)
		fail_msg("%s", err.message);
	assert_string_equal(store_identity(s->store), "identity");
	return true;
}

static inline void subject_close(struct subject *s)
{
	store_close(s->store);
	store_writer_free(s->writer);
	spur_close(s->trace);
	mem_free(s->rows);
	unlink(s->path);
}

/* Calls `fn` for each golden. Returns how many there were. */
static inline size_t each_golden(void (*fn)(struct subject *s, const char *path))
{
	static const char *const formats[] = { "ctf", "fxt", "heph", "spur", "uftrace", "xray" };
	size_t count = 0;

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		char path[1024];
		struct dirent *e;
		DIR *dir;

		snprintf(path, sizeof(path), "tests/golden/%s", formats[i]);
		dir = opendir(path);
		assert_non_null(dir);
		while ((e = readdir(dir))) {
			struct subject s;
			struct dirent *f;
			struct stat st;
			DIR *in;

			snprintf(path, sizeof(path), "tests/golden/%s/%s/in", formats[i],
				 e->d_name);
			if (e->d_name[0] == '.' || stat(path, &st) != 0)
				continue;
			if (S_ISDIR(st.st_mode) && !subject_open(&s, path)) {
				/* A folder with the file. */
				in = opendir(path);
				while ((f = readdir(in)) && f->d_name[0] == '.')
					;
				if (f)
					snprintf(path, sizeof(path), "tests/golden/%s/%s/in/%s",
						 formats[i], e->d_name, f->d_name);
				closedir(in);
				if (!f || !subject_open(&s, path))
					continue;
			} else if (!S_ISDIR(st.st_mode) && !subject_open(&s, path)) {
				continue;
			}
			fn(&s, path);
			count++;
			subject_close(&s);
		}
		closedir(dir);
	}
	return count;
}

#endif
