/*
 * Goldens of formats whose trace is one file, cut at every offset: the rows of what is left are
 * rows of the whole file, as stored the first ones. Nothing is made of the record that the cut goes
 * through.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONG = 4096, STEP = 61, ROWS = 1 << 16 }; /* longer files are cut at some offsets only */

/* What a row must have in common with that of the whole file. */
struct seen {
	uint64_t off, id;
	int64_t ts, dur;
	char name[64];
	uint32_t len;
	uint16_t flags;
	uint8_t kind, nargs;
};

struct rows {
	struct seen *rows;
	size_t n;
};

static char path[64], label[512];

static int make_file(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/spur-cuts-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 || close(fd) != 0;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void see(const struct spur_trace *t, const struct spur_event *row, struct seen *s)
{
	const unsigned flags = SPUR_F_IN | SPUR_F_OUT | SPUR_F_UNRELIABLE | SPUR_F_RETIMED;

	memset(s, 0, sizeof(*s));
	*s = (struct seen){ .off = row->off,
			    .id = row->id,
			    .dur = row->dur,
			    .len = row->len,
			    .flags = row->flags & flags,
			    .kind = row->kind,
			    .nargs = row->nargs };
	/* A record without a time has one of its neighbours'. */
	if (!(row->flags & SPUR_F_RETIMED))
		s->ts = row->ts;
	snprintf(s->name, sizeof(s->name), "%s", spur_string(t, row->name, NULL));
}

/* Losses that the reader concludes from what is missing are no records. */
static void read_rows(struct rows *to, const char *format, bool as_stored)
{
	const struct spur_options opt = SPUR_OPTIONS(.format = format, .as_stored = as_stored);
	const struct spur_event *rows;
	struct spur_trace *t;
	struct spur_error err;
	enum spur_status st;
	size_t n;

	to->n = 0;
	assert_int_equal(spur_open(&t, path, &opt, &err), SPUR_OK);
	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			assert_true(to->n < ROWS);
			if (!(rows[i].flags & SPUR_F_IMPLIED))
				see(t, &rows[i], &to->rows[to->n++]);
		}
	assert_int_equal(st, SPUR_END);
	spur_close(t);
}

static int by_place(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return memcmp(x, y, sizeof(*x));
}

static void expect_same(const struct seen *cut, const struct seen *whole, size_t len)
{
	if (whole && memcmp(cut, whole, sizeof(*cut)) == 0)
		return;
	fail_msg("%s cut to %zu bytes: row at %llu: %s %s at %lld + %lld, which the whole file %s",
		 label, len, (unsigned long long)cut->off, spur_kind_name(cut->kind), cut->name,
		 (long long)cut->ts, (long long)cut->dur, whole ? "has otherwise" : "has not");
}

static void cut_everywhere(const char *format, size_t size)
{
	struct rows stored = { .rows = calloc(ROWS, sizeof(struct seen)) },
		    timed = { .rows = calloc(ROWS, sizeof(struct seen)) },
		    cut = { .rows = calloc(ROWS, sizeof(struct seen)) };

	assert_true(stored.rows && timed.rows && cut.rows);
	read_rows(&stored, format, true);
	read_rows(&timed, format, false);
	qsort(timed.rows, timed.n, sizeof(*timed.rows), by_place);
	for (size_t len = size; len-- > 0; len -= len > STEP && size > LONG ? STEP - 1 : 0) {
		assert_int_equal(truncate(path, (off_t)len), 0);
		read_rows(&cut, format, true);
		for (size_t i = 0; i < cut.n; i++)
			expect_same(&cut.rows[i], i < stored.n ? &stored.rows[i] : NULL, len);
		read_rows(&cut, format, false);
		for (size_t i = 0; i < cut.n; i++)
			expect_same(&cut.rows[i],
				    bsearch(&cut.rows[i], timed.rows, timed.n, sizeof(*timed.rows),
					    by_place),
				    len);
	}
	free(stored.rows);
	free(timed.rows);
	free(cut.rows);
}

static size_t copy_file(const char *from)
{
	FILE *in = fopen(from, "rb"), *out = fopen(path, "wb");
	size_t size = 0;
	int c;

	assert_true(in && out);
	for (; (c = getc(in)) != EOF; size++)
		putc(c, out);
	fclose(in);
	assert_int_equal(fclose(out), 0);
	return size;
}

/* All goldens of the format. */
static void cut_goldens(const char *format)
{
	char dir[128];
	struct dirent *e;
	size_t files = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "tests/golden/%s", format);
	d = opendir(dir);
	if (!d)
		skip();
	while ((e = readdir(d))) {
		struct stat st;

		snprintf(label, sizeof(label), "%s/%s/in", dir, e->d_name);
		if (e->d_name[0] == '.' || stat(label, &st) != 0 || !S_ISREG(st.st_mode))
			continue;
		cut_everywhere(format, copy_file(label));
		files++;
	}
	closedir(d);
	assert_true(files > 10);
}

/* SPEC fxt/cut-tail */
static void test_fxt(void **state)
{
	(void)state;
	cut_goldens("fxt");
}

/* SPEC heph/cut-tail */
static void test_heph(void **state)
{
	(void)state;
	cut_goldens("heph");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fxt, make_file, remove_file),
		cmocka_unit_test_setup_teardown(test_heph, make_file, remove_file),
	};

	return cmocka_run_group_tests_name("cuts", tests, NULL, NULL);
}
