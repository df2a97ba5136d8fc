/*
 * Records that have a layout (model/layout.h) are dumped without decoding their fields: this writes
 * the same bytes as decoded fields make, of all recorded uftrace data, undamaged, damaged, and with
 * flipped bytes, whatever the read size. And hexadecimal digits.
 */
#include "unit/pass_run.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/digits.h"
#include "format/format.h"

enum { COPIES = 20, FLIPS = 12, FIRST_ODD = 4096, DEPTHS = 1024 };

static char dir[128]; /* of damaged copies */
static size_t compared; /* bytes */

/* What dump writes, NUL-ended, to be freed; NULL: the data cannot be opened. */
static char *dump_text(const char *path, enum output_form form, size_t read_size, bool layouts)
{
	const struct spur_options options =
		SPUR_OPTIONS(.as_stored = true, .bookkeeping = true, .read_size = read_size);
	const struct any_options opt = { .form = form };
	struct spur_format format;
	struct spur_error err = { 0 };
	struct spur_trace *t;
	struct out out;

	if (spur_open(&t, path, &options, &err) == SPUR_FAIL)
		return NULL;
	format = *t->format;
	if (!layouts)
		format.layout = NULL;
	t->format = &format;
	out_to_memory(&out);
	{
		struct pass_env env = { .trace = t,
					.pipe = { .threads = 1 },
					ANY_OPTIONS(&opt, "dump"),
					.out = &out,
					.err = &err };

		assert_int_not_equal(pass_run(pass_find("dump", NULL), &env), SPUR_FAIL);
	}
	out_char(&out, '\0');
	assert_int_equal(out.error, 0);
	spur_close(t);
	return out.buf;
}

static void check_data(const char *path)
{
	static const enum output_form forms[] = { FORM_TEXT, FORM_JSONL };
	static const size_t sizes[] = { 0, 1, 7, 4096 };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char *const decoded = dump_text(path, forms[i], 0, false);

		for (size_t k = 0; decoded && k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			char *const text = dump_text(path, forms[i], sizes[k], true);

			assert_string_equal(text, decoded);
			compared += strlen(text);
			free(text);
		}
		free(decoded);
	}
}

static void check_all(const char *root)
{
	unsigned tried = 0;
	struct dirent *d;
	DIR *folder = opendir(root);

	assert_non_null(folder);
	while ((d = readdir(folder))) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s/in", root, d->d_name);
		if (d->d_name[0] == '.' || access(path, R_OK) != 0)
			continue;
		check_data(path);
		tried++;
	}
	closedir(folder);
	assert_true(tried > 20);
}

static void goldens(void **state)
{
	(void)state;
	check_all("tests/golden/uftrace");
	assert_true(compared > 100000);
}

static void bad(void **state)
{
	(void)state;
	check_all("tests/bad/uftrace");
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

/* Copies the files of a directory; bytes of records are flipped. */
static void copy_damaged(const char *from)
{
	static uint8_t data[1 << 18];
	struct dirent *d;
	DIR *folder = opendir(from);

	assert_non_null(folder);
	while ((d = readdir(folder))) {
		char path[512];
		const size_t name = strlen(d->d_name);
		size_t n;
		FILE *f;

		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", from, d->d_name);
		f = fopen(path, "rb");
		assert_non_null(f);
		n = fread(data, 1, sizeof(data), f);
		fclose(f);
		for (unsigned i = 0; n && name > 4 && i < FLIPS; i++)
			if (strcmp(d->d_name + name - 4, ".dat") == 0)
				data[next_random() % n] ^= (uint8_t)(1 << (next_random() & 7));
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
		"tests/golden/uftrace/threads/in",
		"tests/golden/uftrace/args-auto/in",
		"tests/golden/uftrace/lost/in",
	};
	const unsigned copies = getenv("SANITIZED") ? COPIES / 10 : COPIES;

	(void)state;
	compared = 0;
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++)
		for (unsigned k = 0; k < copies; k++) {
			dir_empty();
			copy_damaged(from[i]);
			check_data(dir);
		}
	assert_true(compared > 10000);
}

/* Writes the golden's task file anew: calls of all depths, down and up again, twice. */
static void write_depths(const char *path)
{
	FILE *f = fopen(path, "wb");
	uint64_t time = 1000000000;

	assert_non_null(f);
	for (unsigned i = 0; i < 4 * DEPTHS; i++) {
		const bool exit = i / DEPTHS % 2;
		const uint64_t depth = exit ? DEPTHS - 1 - i % DEPTHS : i % DEPTHS;
		/* Type, magic, depth, address: docs/formats/uftrace.md. */
		const uint64_t word =
			(uint64_t)exit | 5 << 3 | depth << 6 | (uint64_t)0x401000 << 16;
		const uint64_t record[] = { time += 7, word };

		assert_int_equal(fwrite(record, sizeof(record), 1, f), 1);
	}
	fclose(f);
}

/* Their texts do not share one place for their numbers. */
static void depths(void **state)
{
	struct dirent *d;
	DIR *folder;
	unsigned written = 0;

	(void)state;
	dir_empty();
	copy_damaged("tests/golden/uftrace/threads/in");
	folder = opendir(dir);
	assert_non_null(folder);
	while ((d = readdir(folder))) {
		char path[512];

		if (!strstr(d->d_name, ".dat") || strncmp(d->d_name, "perf", 4) == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		write_depths(path);
		written++;
	}
	closedir(folder);
	assert_true(written > 1);
	compared = 0;
	check_data(dir);
	assert_true(compared > (size_t)written * 4 * DEPTHS * 100);
}

static void hex_equal(uint64_t v)
{
	char expected[32], found[32];
	const size_t n = (size_t)(put_hex(expected, v) - expected);

	assert_int_equal(put_hex_digits(found, v, false) - found, n);
	assert_memory_equal(found, expected, n);
	snprintf(expected, sizeof(expected), "%" PRIX64, v);
	assert_int_equal(put_hex_digits(found, v, true) - found, n);
	assert_memory_equal(found, expected, n);
	snprintf(expected, sizeof(expected), "%08x", (unsigned)v);
	assert_int_equal(put_hex_eight(found, (uint32_t)v) - found, 8);
	assert_memory_equal(found, expected, 8);
}

static void decimal_equal(uint64_t v)
{
	char expected[32], found[32];
	const int n = snprintf(expected, sizeof(expected), "%" PRIu64, v);

	assert_int_equal(put_decimal(found, v) - found, n);
	assert_memory_equal(found, expected, (size_t)n);
}

static void digits(void **state)
{
	uint64_t tens = 1;

	(void)state;
	for (unsigned shift = 0; shift < 64; shift++)
		for (uint64_t d = 0; d < 16; d++) {
			hex_equal((d << shift) - 1);
			hex_equal(d << shift);
			hex_equal((d << shift) + 1);
		}
	for (uint64_t v = 0; v < FIRST_ODD; v++)
		hex_equal(v);
	for (unsigned i = 0; i < 200000; i++)
		hex_equal(next_random() >> (i % 64));
	for (uint64_t v = 0; v < 2000000; v++)
		decimal_equal(v);
	for (unsigned i = 0; i < 200000; i++)
		decimal_equal(next_random() >> (i % 64));
	for (unsigned i = 0; i < 20; i++, tens *= 10) {
		decimal_equal(tens - 1);
		decimal_equal(tens);
	}
	hex_equal(UINT64_MAX);
}

static int make_dir(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.90s/spur-test-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	dir_empty();
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits),  cmocka_unit_test(goldens), cmocka_unit_test(bad),
		cmocka_unit_test(damaged), cmocka_unit_test(depths),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
