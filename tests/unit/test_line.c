/*
 * Line programs (render/line.h) write what decoded arguments make: of all recorded CTF traces, and
 * of copies with flipped bytes, whose events may be truncated, longer than their packet, or of
 * other classes. Arguments that need not be decoded to be known as good can be. And digits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/digits.h"
#include "flow/args.h"
#include "format/ctf/reader.h"
#include "format/format.h"
#include "render/value.h"
#include "style/babeltrace2/cat/value.h"

enum { FORMS = 3, COPIES = 60 };

/* One way to write arguments, by programs and otherwise. */
struct form {
	const struct line_words *words;
	struct value_writer values;
	struct pretty_values pretty;
	struct line_pen *pen;
	struct spur_args args;
	uint64_t rows, written;
};

static struct form forms[FORMS];
static struct out old, new, file;
static uint64_t proven; /* events whose arguments need not be decoded */
static char dir[128]; /* of damaged copies */

static void forms_open(struct spur_trace *t)
{
	memset(forms, 0, sizeof(forms));
	forms[0].words = &value_text_words;
	forms[1].words = &value_json_words;
	forms[2].words = &pretty_words;
	for (unsigned i = 0; i < FORMS; i++) {
		struct form *f = &forms[i];

		if (i < 2)
			assert_true(value_writer_open(&f->values, t, i ? VALUE_JSON : VALUE_TEXT));
		else
			assert_true(pretty_values_open(&f->pretty, t));
		f->pen = line_pen_new(t, f->words, i < 2 ? (void *)&f->values : &f->pretty);
		assert_non_null(f->pen);
	}
}

static void forms_close(void)
{
	for (unsigned i = 0; i < FORMS; i++) {
		line_pen_free(forms[i].pen);
		spur_args_free(&forms[i].args);
		if (i < 2)
			value_writer_close(&forms[i].values);
		else
			pretty_values_close(&forms[i].pretty);
	}
}

/* The arguments as they are written when they are decoded. */
static void write_decoded(struct spur_trace *t, const struct spur_event *row, unsigned form)
{
	struct form *f = &forms[form];
	struct ctf_place_of at;
	enum spur_status st = SPUR_OK;

	out_clear(&old);
	if (form == 2) {
		assert_true(ctf_event_values(t->state, row, &f->args, &at, &st));
		for (size_t i = 0; i < f->args.count; i++) {
			out_str(&old, i ? ", " : "");
			out_items(&f->pretty, &f->args.items[i], &old, 0, true);
		}
	} else {
		st = trace_args(t, row, &f->args);
		if (form == 1) {
			args_json(&f->values, &f->args, row->kind == SPUR_END_SPAN, &old);
			/* Programs leave the braces to their caller. */
			assert_true(old.len >= 2);
			old.len -= 2;
			memmove(old.buf, old.buf + 1, old.len);
		} else {
			args_text_list(&f->values, &f->args, false, &old);
		}
	}
	assert_int_equal(st, SPUR_OK);
}

static void same(const struct spur_event *row, const char *p, size_t len, const char *where)
{
	if (len != old.len || (len && memcmp(p, old.buf, len) != 0))
		fail_msg("%s, event at %" PRIu64 ": expected %.*s, found %.*s", where, row->off,
			 (int)old.len, old.buf, (int)len, p);
}

/* What is said to be proven is so. */
static void check_proven(struct spur_trace *t, const struct spur_event *row, struct form *f)
{
	uint32_t n;

	if (!t->format->args_proven(t, row, &f->args, &n))
		return;
	proven++;
	assert_int_equal(trace_args(t, row, &f->args), SPUR_OK);
	assert_int_equal(f->args.count, n);
}

/* Appends the arguments. Returns false with nothing appended if they have to be decoded. */
static bool line_write(struct line_pen *pen, const struct line_at *at, struct out *o)
{
	char *w = out_room(o, at->line->room);
	const size_t from = o->len;

	w = w ? line_put(pen, at, o, w) : NULL;
	if (w)
		out_to(o, w);
	else
		out_cut(o, from);
	return w;
}

static void check_row(struct spur_trace *t, const struct spur_event *row, unsigned form)
{
	struct form *f = &forms[form];
	struct line_at at;
	size_t from;

	f->rows++;
	check_proven(t, row, f);
	if (!line_find(f->pen, row, &at))
		return;
	out_clear(&new);
	out_str(&new, "before ");
	if (!line_write(f->pen, &at, &new)) {
		assert_int_equal(new.len, 7);
		assert_memory_equal(new.buf, "before ", 7);
		return;
	}
	f->written++;
	write_decoded(t, row, form);
	same(row, new.buf + 7, new.len - 7, "in memory");
	/* Into a file, where nothing may be flushed meanwhile. */
	assert_non_null(out_room(&file, at.line->room));
	from = file.len;
	if (line_write(f->pen, &at, &file))
		same(row, file.buf + from, file.len - from, "in a file's buffer");
	else
		assert_int_equal(file.len, from);
}

/* Adds the rows, in each form, and how many of them programs wrote. */
static void check_trace(const char *path, uint64_t *rows, uint64_t *written)
{
	const struct spur_event *batch;
	struct spur_trace *t;
	struct spur_error err;
	struct spur_event *all = NULL;
	size_t n = 0, cap = 0, more;

	if (spur_open(&t, path, NULL, &err) == SPUR_FAIL)
		return;
	if (strcmp(t->format->name, "ctf") != 0) {
		spur_close(t);
		return;
	}
	forms_open(t);
	while (spur_next(t, &batch, &more) == SPUR_OK) {
		assert_true(mem_grow((void **)&all, &cap, n + more, sizeof(*all), 1 << 20));
		memcpy(all + n, batch, more * sizeof(*all));
		n += more;
	}
	/* In order, and from the end, so that each packet is met again. */
	for (size_t i = 0; i < 2 * n; i++)
		for (unsigned k = 0; k < FORMS; k++)
			check_row(t, &all[i < n ? i : 2 * n - 1 - i], k);
	for (unsigned k = 0; k < FORMS; k++) {
		*rows += forms[k].rows;
		*written += forms[k].written;
	}
	mem_free(all);
	forms_close();
	spur_close(t);
}

static void goldens(void **state)
{
	static const char root[] = "tests/golden/ctf";
	uint64_t rows = 0, written = 0;
	unsigned tried = 0;
	struct dirent *d;
	DIR *folder = opendir(root);

	(void)state;
	assert_non_null(folder);
	while ((d = readdir(folder))) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s/in", root, d->d_name);
		if (d->d_name[0] == '.' || access(path, R_OK) != 0)
			continue;
		check_trace(path, &rows, &written);
		tried++;
	}
	closedir(folder);
	assert_true(tried > 20);
	/* Streams that LTTng wrote are nearly all; others have headers of their own. */
	assert_true(written > rows / 2);
	assert_true(proven > rows / 2);
}

static uint64_t seed = 88172645463325252;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static void dir_empty(void)
{
	struct dirent *d;
	DIR *folder = opendir(dir);

	assert_non_null(folder);
	while ((d = readdir(folder)))
		unlinkat(dirfd(folder), d->d_name, 0);
	closedir(folder);
}

/* Copies the files of a directory; bytes of all but the metadata are flipped. */
static void copy_damaged(const char *from)
{
	static uint8_t data[1 << 18];
	struct dirent *d;
	DIR *folder = opendir(from);

	assert_non_null(folder);
	while ((d = readdir(folder))) {
		char path[512];
		size_t n;
		FILE *f;

		if (d->d_name[0] == '.' || strcmp(d->d_name, "index") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", from, d->d_name);
		f = fopen(path, "rb");
		assert_non_null(f);
		n = fread(data, 1, sizeof(data), f);
		fclose(f);
		for (unsigned i = 0; n && strcmp(d->d_name, "metadata") != 0 && i < 20; i++) {
			const uint64_t r = next_random();

			/* Behind the packet's head mostly, so that events remain. */
			data[(i < 18 && n > 200 ? 100 + r % (n - 100) : r % n)] ^=
				(uint8_t)(1 << (r >> 40 & 7));
		}
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		f = fopen(path, "wb");
		assert_non_null(f);
		assert_int_equal(fwrite(data, 1, n, f), n);
		fclose(f);
	}
	closedir(folder);
}

static void damaged(void **state)
{
	static const char *const from[] = {
		"tests/golden/ctf/lttng-like/in",
		"tests/golden/ctf/several-classes/in",
		"tests/golden/ctf/lttng-ust-small/in/ust/uid/0/64-bit",
		"tests/golden/ctf/lttng213-contexts/in/ust/uid/0/64-bit",
		"tests/golden/ctf/lttng213-namespaces/in/ust/uid/0/64-bit",
	};
	const unsigned copies = getenv("SANITIZED") ? COPIES / 10 : COPIES;
	uint64_t rows = 0, written = 0;

	(void)state;
	proven = 0;
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++)
		for (unsigned k = 0; k < copies; k++) {
			dir_empty();
			copy_damaged(from[i]);
			check_trace(dir, &rows, &written);
		}
	assert_true(written > 1000);
	assert_true(proven > rows / 2);
}

static void digits_equal(uint64_t v)
{
	char expected[32], found[32];
	const size_t n = (size_t)(put_u64(expected, v) - expected);

	assert_int_equal(put_decimal(found, v) - found, n);
	assert_memory_equal(found, expected, n);
	if (v < 1000000000) {
		put_u64_0(expected, v, 9);
		assert_int_equal(put_nine_digits(found, (uint32_t)v) - found, 9);
		assert_memory_equal(found, expected, 9);
	}
}

static void digits(void **state)
{
	(void)state;
	for (uint64_t p = 1;; p *= 10) {
		for (uint64_t d = 1; d < 10 && p <= UINT64_MAX / d; d++) {
			digits_equal(p * d - 1);
			digits_equal(p * d);
			digits_equal(p * d + 1);
		}
		if (p > UINT64_MAX / 10)
			break;
	}
	for (uint32_t v = 0; v < 200000; v++)
		digits_equal(v);
	for (unsigned i = 0; i < 200000; i++)
		digits_equal(next_random() >> (i % 64));
	digits_equal(UINT64_MAX);
}

static int open_outs(void **state)
{
	const int fd = open("/dev/null", O_WRONLY);
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.90s/spur-test-XXXXXX", tmp ? tmp : "/tmp");
	out_to_memory(&old);
	out_to_memory(&new);
	out_to_fd(&file, fd);
	return fd < 0 || !mkdtemp(dir) ? -1 : 0;
}

static int close_outs(void **state)
{
	(void)state;
	out_free(&old);
	out_free(&new);
	close(file.fd);
	out_free(&file);
	dir_empty();
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits),
		cmocka_unit_test(goldens),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, open_outs, close_outs);
}
