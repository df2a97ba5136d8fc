/*
 * Arguments of plain events are decoded without a look at the rest of the record: the same as
 * decoding it in full, of all recorded files and of copies with flipped bytes. And events have as
 * many as is said to be proven.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "flow/args.h"
#include "format/fxt/value.h"
#include "model/args.h"
#include "render/value.h"

enum { COPIES = 40, MOST = 1 << 19 };

static char path[160]; /* of the damaged copy */
static uint64_t compared, proven;

static void check_row(struct spur_trace *t, const struct spur_event *row, struct value_writer *w)
{
	struct spur_args quick = { 0 }, full = { 0 };
	struct fxt_place p;
	struct out a, b;
	uint32_t n;

	assert_int_equal(trace_args(t, row, &quick), SPUR_OK);
	args_reset(&full);
	fxt_place_enter(t->state, row, &p);
	fxt_record_args(&p, row->flags & SPUR_F_OUT, &full);
	fxt_place_leave(t->state);
	assert_int_equal(quick.count, full.count);
	if (t->format->args_proven(t, row, &quick, &n)) {
		assert_int_equal(full.count, n);
		proven++;
	}
	for (size_t i = 0; i < full.count; i++) {
		assert_int_equal(quick.items[i].type, full.items[i].type);
		assert_int_equal(quick.items[i].size, full.items[i].size);
		assert_int_equal(quick.items[i].name, full.items[i].name);
	}
	out_to_memory(&a);
	out_to_memory(&b);
	args_json(w, &quick, false, &a);
	args_json(w, &full, false, &b);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.buf, b.buf, a.len);
	out_free(&a);
	out_free(&b);
	spur_args_free(&quick);
	spur_args_free(&full);
	compared++;
}

static void check_file(const char *file)
{
	const struct spur_event *rows;
	struct value_writer w;
	struct spur_trace *t;
	struct spur_error err;
	size_t n;

	if (spur_open(&t, file, NULL, &err) == SPUR_FAIL)
		return;
	if (strcmp(t->format->name, "fxt") != 0) {
		spur_close(t);
		return;
	}
	assert_true(value_writer_open(&w, t, VALUE_JSON));
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			if (rows[i].nargs)
				check_row(t, &rows[i], &w);
	value_writer_close(&w);
	spur_close(t);
}

/* A copy with some bits flipped. */
static void check_damaged(const char *file, uint64_t *seed)
{
	static uint8_t data[MOST];
	FILE *f = fopen(file, "rb");
	size_t n;

	assert_non_null(f);
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	for (unsigned i = 0; n && i < 12; i++) {
		*seed ^= *seed << 13;
		*seed ^= *seed >> 7;
		*seed ^= *seed << 17;
		/* Behind the magic number, so that it is still such a file. */
		data[n > 16 ? 16 + *seed % (n - 16) : 0] ^= (uint8_t)(1 << (*seed >> 40 & 7));
	}
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	check_file(path);
}

static void files(void **state)
{
	static const char root[] = "tests/golden/fxt";
	const unsigned copies = getenv("SANITIZED") ? COPIES / 10 : COPIES;
	uint64_t seed = 88172645463325252;
	const char *tmp = getenv("TMPDIR");
	struct dirent *d;
	DIR *folder = opendir(root);
	int fd;

	(void)state;
	assert_non_null(folder);
	snprintf(path, sizeof(path), "%.90s/spur-test-XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	while ((d = readdir(folder))) {
		char file[512];

		snprintf(file, sizeof(file), "%s/%s/in", root, d->d_name);
		if (d->d_name[0] == '.' || access(file, R_OK) != 0)
			continue;
		check_file(file);
		for (unsigned i = 0; i < copies; i++)
			check_damaged(file, &seed);
	}
	closedir(folder);
	unlink(path);
	assert_true(compared > UINT64_C(25) * copies);
	assert_true(proven > UINT64_C(10) * copies);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(files) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
