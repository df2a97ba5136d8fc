/* base/outdir.h: directories that get their name when they are complete. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/outdir.h"

static char top[64];

static int setup(void **state)
{
	(void)state;
	strcpy(top, "/tmp/spur-outdir.XXXXXX");
	return mkdtemp(top) && chdir(top) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return chdir("/") != 0 || system(command) != 0 ? -1 : 0;
}

/* Returns what a command prints, up to a line's end. */
static const char *shell(const char *command)
{
	static char line[4096];
	FILE *f = popen(command, "r");
	size_t n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;

	assert_non_null(f);
	pclose(f);
	line[n] = '\0';
	return line;
}

static void write_file(struct outdir *d, const char *name, const char *text)
{
	struct spur_error err;
	struct out o;

	assert_int_equal(outdir_create(d, name, &o, &err), SPUR_OK);
	out_str(&o, text);
	assert_int_equal(outdir_finish(d, name, &o, &err), SPUR_OK);
}

static void make_dir(const char *path, bool force, const char *text)
{
	struct spur_error err;
	struct outdir d;

	assert_int_equal(outdir_open(&d, path, force, &err), SPUR_OK);
	write_file(&d, "a", text);
	write_file(&d, "sub/deep/b", text);
	write_file(&d, "sub/c", "");
	assert_int_equal(outdir_close(&d, true, &err), SPUR_OK);
}

static void test_new(void **state)
{
	(void)state;
	make_dir("new//", false, "one");
	assert_string_equal(shell("find . -type f | sort; cat new/a new/sub/deep/b"),
			    "./new/a\n./new/sub/c\n./new/sub/deep/b\noneone");
	assert_string_equal(shell("stat -c %a new"), shell("mkdir x; stat -c %a x; rmdir x"));
}

static void test_existing(void **state)
{
	struct spur_error err;
	struct outdir d;

	(void)state;
	make_dir("d", false, "old");
	assert_int_equal(outdir_open(&d, "d", false, &err), SPUR_FAIL);
	assert_string_equal(err.message, "d: directory exists; use --force to replace it");
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	assert_int_equal(outdir_close(&d, false, &err), SPUR_OK);
	assert_string_equal(shell("touch d/left; echo f > f; ls"), "d\nf\n");
	make_dir("d", true, "new");
	assert_string_equal(shell("ls; ls d; cat d/a"), "d\nf\na\nsub\nnew");
	assert_int_equal(outdir_open(&d, "f", true, &err), SPUR_FAIL);
	assert_string_equal(err.message, "f: expected a directory or a new name, found a file");
	assert_int_equal(outdir_close(&d, false, &err), SPUR_OK);
	assert_int_equal(outdir_open(&d, "", false, &err), SPUR_FAIL);
	assert_int_equal(outdir_close(&d, false, &err), SPUR_OK);
	assert_int_equal(outdir_open(&d, "none/d", false, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_IO);
	assert_string_equal(err.message, "none/d: No such file or directory");
	assert_int_equal(outdir_close(&d, false, &err), SPUR_OK);
	shell("mkdir empty");
	make_dir("empty", false, "x");
	assert_string_equal(shell("cat empty/a; ls"), "xd\nempty\nf\n");
}

/* What is dropped leaves the old directory; so does one that another process made meanwhile. */
static void test_dropped(void **state)
{
	struct spur_error err;
	struct outdir d;

	(void)state;
	make_dir("d", false, "old");
	assert_int_equal(outdir_open(&d, "d", true, &err), SPUR_OK);
	write_file(&d, "sub/a", "new");
	assert_int_equal(outdir_close(&d, false, &err), SPUR_OK);
	assert_string_equal(shell("ls; cat d/a"), "d\nold");
	assert_int_equal(outdir_open(&d, "e", false, &err), SPUR_OK);
	write_file(&d, "a", "new");
	make_dir("e", false, "other");
	assert_int_equal(outdir_close(&d, true, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_IO);
	assert_string_equal(shell("ls; cat e/a"), "d\ne\nother");
}

static void test_full(void **state)
{
	struct rlimit old, small;
	struct spur_error err;
	struct outdir d;
	struct out o;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ .rlim_cur = 1 << 16, .rlim_max = old.rlim_max };
	assert_int_equal(outdir_open(&d, "d", false, &err), SPUR_OK);
	assert_int_equal(outdir_create(&d, "big", &o, &err), SPUR_OK);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	out_pad(&o, 'x', 1 << 17);
	assert_int_equal(outdir_finish(&d, "big", &o, &err), SPUR_FAIL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_string_equal(err.message, "d/big: File too large");
	assert_int_equal(outdir_close(&d, false, &err), SPUR_OK);
	assert_string_equal(shell("ls"), "");
}

static void test_spare(void **state)
{
	struct spur_error err;
	struct outdir d;

	(void)state;
	make_dir("in", false, "x");
	assert_int_equal(outdir_open(&d, "in", true, &err), SPUR_OK);
	assert_int_equal(outdir_spare(&d, "in", &err), SPUR_FAIL);
	assert_string_equal(err.message, "in: the directory has the input; write to another one");
	assert_int_equal(outdir_spare(&d, "in/sub/deep", &err), SPUR_FAIL);
	assert_int_equal(outdir_spare(&d, "-", &err), SPUR_OK);
	assert_int_equal(outdir_spare(&d, ".", &err), SPUR_OK);
	assert_int_equal(outdir_close(&d, false, &err), SPUR_OK);
	shell("cp -r in inner");
	assert_int_equal(outdir_open(&d, "in", true, &err), SPUR_OK);
	assert_int_equal(outdir_spare(&d, "inner", &err), SPUR_OK);
	assert_int_equal(outdir_close(&d, false, &err), SPUR_OK);
	assert_string_equal(shell("ls"), "in\ninner\n");
}

/* Every allocation that fails gives an error and leaves no directory. */
static void test_memory(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 20; n++) {
		struct spur_error err;
		struct outdir d;
		struct out o;
		enum spur_status st;

		mem_fail_at(n);
		st = outdir_open(&d, "m", false, &err);
		if (st == SPUR_OK) {
			st = outdir_create(&d, "a/b", &o, &err);
			if (st == SPUR_OK) {
				out_str(&o, "x");
				st = outdir_finish(&d, "a/b", &o, &err);
			}
		}
		mem_fail_at(0);
		if (st == SPUR_FAIL)
			assert_int_equal(err.code, SPUR_ERR_MEMORY);
		assert_int_equal(outdir_close(&d, false, &err), SPUR_OK);
		assert_string_equal(shell("ls"), "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_new, setup, teardown),
		cmocka_unit_test_setup_teardown(test_existing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spare, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
