/*
 * Output files, temporary files and scratch memory on a disk that fills up, fails and crashes at
 * every step (tests/sim/os_sim.h). Law of output: after whatever happens, the name stands for the
 * old file or for all of the new one, and if the old one stays the program has said why.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/err.h"
#include "base/file.h"
#include "base/libc.h"
#include "base/mem.h"
#include "base/source.h"
#include "cli/output.h"
#include "pass/pass.h"
#include "sim/os_sim.h"
#include "unit/any_options.h"

#define PATH SIM_DIR "/out.json"
#define TEMP SIM_DIR "/tmp"

enum { OLD = 5000, NEW = 300000, SMALL = 3000, SEEDS = 60, MIB = 1 << 20 };

/* Bytes that tell where they belong: no two sectors are alike. */
static char *content(size_t size, unsigned salt)
{
	char *p = malloc(size + 1);

	assert_non_null(p);
	for (size_t i = 0; i < size; i++)
		p[i] = (char)('A' + (i / 7 + i / 512 * 11 + salt) % 57);
	p[size] = '\0';
	return p;
}

#define check(good) check_at(good, #good, __LINE__)
static void check_at(bool good, const char *what, int line)
{
	if (!good)
		fail_msg("line %d: %s: %s", line, what, sim_text());
}

static bool file_is(const char *path, const char *want, size_t want_size)
{
	size_t size;
	const char *p = sim_file(path, &size);

	return want ? p && size == want_size && memcmp(p, want, size) == 0 : !p;
}

/* --- output --- */

struct writing {
	char *old, *new; /* `old`: NULL if there is no such file */
	size_t size; /* of the new one */
	bool force;
	enum spur_status st;
	struct spur_error err;
};

/* Writes the new file as a command does, in pieces. */
static void write_file(struct writing *w)
{
	struct output o;

	w->err = (struct spur_error){ 0 };
	w->st = output_open(&o, PATH, w->force, &w->err);
	if (w->st == SPUR_FAIL) {
		output_close(&o, false, NULL);
		return;
	}
	for (size_t at = 0; at < w->size; at += 1000)
		out_bytes(&o.out, w->new + at, w->size - at < 1000 ? w->size - at : 1000);
	w->st = output_close(&o, true, &w->err);
}

static void disk_begin(const struct writing *w, const struct sim_options *opt)
{
	sim_begin(&(struct sim_options){ 0 });
	if (w->old)
		sim_add(PATH, w->old, OLD);
	sim_restart(opt);
}

static bool is_old(const struct writing *w)
{
	return file_is(PATH, w->old, OLD);
}

static bool is_new(const struct writing *w)
{
	return file_is(PATH, w->new, w->size);
}

/* What is left over beside the file cannot be mistaken for it. */
static bool leftovers_have_other_names(void)
{
	const char *other;
	const size_t names = sim_names(PATH, &other);

	return names <= 2 && (!other || (strlen(other) == strlen(PATH) + 7 &&
					 memcmp(other, PATH ".", strlen(PATH) + 1) == 0));
}

/* Nothing crashed: the program cleaned up, and it said what failed where. */
static void check_told(const struct writing *w, const char *why)
{
	const char *other;

	sim_names(PATH, &other);
	check(!other);
	if (w->st == SPUR_OK) {
		check(is_new(w));
		return;
	}
	check(is_old(w));
	check(w->err.code == SPUR_ERR_IO);
	check(strstr(w->err.message, PATH) && strstr(w->err.message, why));
}

/* Runs `each` with a new file that replaces an old one, and with one of a name that is free. */
static void both_ways(size_t size, void (*each)(struct writing *))
{
	struct writing w = { .old = content(OLD, 1), .new = content(size, 2), .size = size,
			     .force = true };

	each(&w);
	free(w.old);
	w.old = NULL;
	each(&w);
	w.force = false;
	each(&w);
	free(w.new);
}

static uint64_t steps_of(struct writing *w)
{
	uint64_t n;

	disk_begin(w, &(struct sim_options){ 0 });
	write_file(w);
	check(w->st == SPUR_OK && is_new(w));
	n = sim_steps();
	sim_end();
	return n;
}

static void crash_everywhere(struct writing *w)
{
	const uint64_t steps = steps_of(w);

	for (uint64_t at = 1; at <= steps; at++) {
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			for (enum sim_crash c = SIM_KILL; c <= SIM_POWER; c++) {
				disk_begin(w, &(struct sim_options){
						      .seed = seed, .crash = c, .crash_at = at });
				write_file(w);
				check(is_old(w) || is_new(w));
				check(leftovers_have_other_names());
				sim_end();
			}
		}
	}
}

static void output_survives_crashes(void **state)
{
	(void)state;
	both_ways(NEW, crash_everywhere);
}

static void power_lost_after_the_end(struct writing *w)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const uint64_t steps = steps_of(w);

		/* The step after the last is that of the stat() here. */
		disk_begin(w, &(struct sim_options){
				      .seed = seed, .crash = SIM_POWER, .crash_at = steps + 1 });
		write_file(w);
		check(w->st == SPUR_OK);
		os_stat(PATH, &(struct stat){ 0 });
		check(is_old(w) || is_new(w));
		sim_end();
	}
}

static void output_survives_later_crashes(void **state)
{
	(void)state;
	both_ways(NEW, power_lost_after_the_end);
}

static void fill_everywhere(struct writing *w)
{
	const size_t before = w->old ? OLD : 0;

	for (size_t k = 0; k <= w->size; k++) {
		disk_begin(w, &(struct sim_options){ .capacity = before + k + !before });
		write_file(w);
		check((w->st == SPUR_OK) == (k + !before >= w->size));
		check_told(w, "No space left on device");
		sim_end();
	}
}

static void output_of_full_disk(void **state)
{
	(void)state;
	both_ways(SMALL, fill_everywhere);
}

static void fault_everywhere(struct writing *w, int fault)
{
	const uint64_t steps = steps_of(w);

	for (uint64_t at = 1; at <= steps; at++) {
		const char *other;

		disk_begin(w, &(struct sim_options){ .fault_at = at, .fault = fault });
		write_file(w);
		check(fault != EIO || sim_fault_happened());
		if (fault != EIO) {
			check(w->st == SPUR_OK);
			check(is_new(w));
		} else {
			/*
			 * A failed unlink() or stat() may leave something, but never of that name.
			 */
			check(w->st == SPUR_OK ? is_new(w) : is_old(w));
			check(w->st == SPUR_OK || strstr(w->err.message, error_text(fault)));
			check(leftovers_have_other_names());
		}
		check(w->st == SPUR_OK ? sim_names(PATH, &other) == 1 : true);
		sim_end();
	}
}

static void interrupt_everywhere(struct writing *w)
{
	fault_everywhere(w, EINTR);
}

static void fail_everywhere(struct writing *w)
{
	fault_everywhere(w, EIO);
}

static void shorten_everywhere(struct writing *w)
{
	fault_everywhere(w, SIM_SHORT);
}

static void output_of_failing_disk(void **state)
{
	(void)state;
	both_ways(NEW, fail_everywhere);
	both_ways(NEW, interrupt_everywhere);
	both_ways(NEW, shorten_everywhere);
}

/* --- packed inputs, which are unpacked into a temporary file --- */

struct packed {
	char *plain;
	size_t plain_size;
	uint8_t *bytes;
	size_t size;
};

/* `plain` becomes part of the result. */
static struct packed pack_bytes(char *plain, size_t size)
{
	struct packed p = { .plain = plain, .plain_size = size };
	z_stream z = { 0 };

	p.size = size + 1000;
	p.bytes = malloc(p.size);
	assert_non_null(p.bytes);
	assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)p.plain;
	z.avail_in = (uInt)size;
	z.next_out = p.bytes;
	z.avail_out = (uInt)p.size;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	p.size -= z.avail_out;
	deflateEnd(&z);
	return p;
}

static struct packed pack(size_t size)
{
	return pack_bytes(content(size, 3), size);
}

static void packed_free(struct packed *p)
{
	free(p->plain);
	free(p->bytes);
}

/* Reads all of the packed file. Returns false, with *err set, if that fails. */
static bool unpack_all(const struct packed *p, size_t read_size, struct spur_error *err)
{
	const struct source_options opt = { .read_size = read_size };
	struct source *s;
	bool good;

	*err = (struct spur_error){ 0 };
	sim_add(SIM_DIR "/in.gz", p->bytes, p->size);
	if (source_open(&s, SIM_DIR "/in.gz", &opt, err) != SPUR_OK)
		return false;
	while (source_more(s))
		;
	*err = *s->error;
	/* What was read before a failure is right as well. */
	check(s->size <= p->plain_size && memcmp(s->data, p->plain, s->size) == 0);
	good = s->size == p->plain_size && !err->code;
	source_close(s);
	return good;
}

static void sim_temp_begin(const struct sim_options *opt)
{
	sim_begin(opt);
	setenv("TMPDIR", TEMP, 1);
}

static void sim_temp_end(void)
{
	sim_end();
	unsetenv("TMPDIR");
}

static void unpacking_onto_full_disk(void **state)
{
	struct packed p = pack(SMALL);
	uint64_t counter = 0, *charged;

	(void)state;
	for (size_t k = 0; k <= SMALL; k++) {
		struct spur_error err, shown;

		counter = 0;
		charged = mem_charge(&counter);
		/* The input is on that disk too. */
		sim_temp_begin(&(struct sim_options){ .capacity = p.size + k });
		check(unpack_all(&p, 0, &err) == (k == SMALL));
		check(k == SMALL || strstr(err.message, "No space left on device"));
		check((mem_failures() > 0) == (k < SMALL));
		err_nomem(&shown);
		check(k == SMALL || strcmp(shown.message, "temporary file in " TEMP
							  ": No space left on device") == 0);
		mem_charge(charged);
		sim_temp_end();
	}
	packed_free(&p);
}

/* Short and interrupted calls are no failures; others are told. */
static void unpacking_with_faults(void **state)
{
	static const int faults[] = { SIM_SHORT, EINTR, EIO, ENOSPC };
	struct packed p = pack(50000);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		bool met = true;

		for (uint64_t at = 1; met; at++) {
			uint64_t counter = 0, *charged = mem_charge(&counter);
			struct spur_error err;
			bool good;

			sim_temp_begin(&(struct sim_options){ .fault_at = at,
							      .fault = faults[i],
							      .no_unnamed_files = at % 2 });
			good = unpack_all(&p, 4096, &err);
			met = sim_steps() >= at;
			check((faults[i] != SIM_SHORT && faults[i] != EINTR) || good);
			/* The first directory may fail, and /var/tmp be taken. */
			check(good || strstr(err.message, error_text(faults[i])));
			mem_charge(charged);
			sim_temp_end();
		}
	}
	packed_free(&p);
}

static void temporary_files_have_no_name(void **state)
{
	(void)state;
	for (int no_unnamed = 0; no_unnamed < 2; no_unnamed++) {
		const char *name;
		int fd;

		sim_temp_begin(&(struct sim_options){ .no_unnamed_files = no_unnamed });
		fd = temp_file_open();
		check(fd >= 0 && sim_names(NULL, &name) == 0);
		assert_string_equal(temp_file_dir(), TEMP);
		os_close(fd);
		sim_temp_end();
	}
	setenv("TMPDIR", "/nonexistent", 1);
	os_close(temp_file_open());
	assert_true(strcmp(temp_file_dir(), "/var/tmp") == 0 ||
		    strcmp(temp_file_dir(), "/tmp") == 0);
	unsetenv("TMPDIR");
}

/* --- a whole trace --- */

static struct packed pack_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *p = malloc(MIB);
	size_t size;

	assert_true(f && p);
	size = fread(p, 1, MIB, f);
	fclose(f);
	assert_in_range(size, 1, MIB - 1);
	return pack_bytes(p, size);
}

/* What `spur report` writes of the packed trace, with the status and the error; to be freed. */
static char *report(const char *path, enum spur_status *st, struct spur_error *err)
{
	const struct any_options opt = { 0 };
	struct spur_trace *t = NULL;
	struct out out;

	out_to_memory(&out);
	*err = (struct spur_error){ 0 };
	*st = spur_open(&t, path, NULL, err);
	if (*st != SPUR_FAIL) {
		struct pass_env env = {
			.trace = t, .pipe = { .threads = 1 }, ANY_OPTIONS(&opt, "report"),
			.out = &out, .err = err
		};

		*st = pass_run(pass_find("report", NULL), &env);
	}
	spur_close(t);
	out_char(&out, '\0');
	assert_false(out.error);
	return out.buf;
}

/* A full disk is no damage of the trace: the command fails, and says which directory is full. */
static void report_of(const char *file)
{
	struct packed p = pack_file(file);
	enum spur_status st;
	struct spur_error err;
	char *want = report(file, &st, &err), *text;

	assert_int_equal(st, SPUR_OK);
	for (size_t k = 0; k <= p.plain_size; k += k + 100 < p.plain_size ? 100 : 1) {
		sim_temp_begin(&(struct sim_options){ .capacity = p.size + k });
		sim_add(SIM_DIR "/trace.gz", p.bytes, p.size);
		text = report(SIM_DIR "/trace.gz", &st, &err);
		check((st == SPUR_OK) == (k == p.plain_size));
		check(st != SPUR_OK || strcmp(text, want) == 0);
		check(st == SPUR_OK || err.code == SPUR_ERR_IO);
		check(st == SPUR_OK || strcmp(err.message, "temporary file in " TEMP
							   ": No space left on device") == 0);
		free(text);
		sim_temp_end();
	}
	free(want);
	packed_free(&p);
}

static void report_with_full_disk(void **state)
{
	(void)state;
	report_of("tests/golden/xray/fdr-threads/in");
	report_of("tests/golden/heph/nesting/in");
}

/* --- heads of buffers that are not in memory --- */

enum { BUFFERS = 100, BUFFER_CALLS = 600, ASKED_MOST = 1000 };

/* What a reader asks the disk for, and what it waits for. */
static struct {
	off_t from[ASKED_MOST], to[ASKED_MOST];
	size_t n;
	size_t reads, asked; /* `asked`: of the reads, those of what was asked for before */
} disk;

static ssize_t nothing_cached(int fd, void *buf, size_t size, off_t at)
{
	(void)fd, (void)buf, (void)size, (void)at;
	errno = EAGAIN;
	return -1;
}

static int keep_advice(int fd, off_t at, off_t size, int advice)
{
	(void)fd;
	if (advice == POSIX_FADV_WILLNEED) {
		assert_true(disk.n < ASKED_MOST && at >= 0);
		disk.from[disk.n] = at;
		disk.to[disk.n++] = at + size;
	}
	return 0;
}

static ssize_t keep_read(int fd, void *buf, size_t size, off_t at)
{
	size_t i = 0;

	while (i < disk.n && (at < disk.from[i] || at + (off_t)size > disk.to[i]))
		i++;
	disk.reads++;
	disk.asked += i < disk.n;
	return pread(fd, buf, size, at);
}

static void xray_meta_put(FILE *f, unsigned kind, uint64_t a, uint32_t b)
{
	uint8_t record[16] = { (uint8_t)(kind << 1 | 1) };

	memcpy(record + 1, &a, sizeof(a));
	memcpy(record + 9, &b, sizeof(b));
	assert_int_equal(fwrite(record, sizeof(record), 1, f), 1);
}

/* A log of buffers that are full but for some bytes, as LLVM writes them. */
static void xray_log_put(const char *path)
{
	enum { NEW_BUFFER, NEW_CPU = 2, WALL = 4, EXTENTS = 7 };
	const struct {
		uint16_t version, type;
		uint32_t flags;
		uint64_t hz, buffer, zero;
	} head = { 3, 1, 3, 1000000000, 16384, 0 };
	FILE *f = fopen(path, "wb");

	assert_true(f && fwrite(&head, sizeof(head), 1, f) == 1);
	for (uint32_t i = 0; i < BUFFERS; i++) {
		const uint32_t calls = BUFFER_CALLS - i % 4;

		xray_meta_put(f, EXTENTS, 3 * 16 + calls * 16, 0);
		xray_meta_put(f, NEW_BUFFER, 100 + i % 2, 0);
		xray_meta_put(f, WALL, 1, i);
		xray_meta_put(f, NEW_CPU, (uint64_t)(i + 1) << 40, 0);
		for (uint32_t k = 0; k < calls; k++) {
			const uint32_t call[] = { (1 + k % 9) << 4, 10, (1 + k % 9) << 4 | 1 << 1,
						  5 };

			assert_int_equal(fwrite(call, sizeof(call), 1, f), 1);
		}
	}
	assert_int_equal(fclose(f), 0);
}

/*
 * Where a log is not in memory, most heads of its buffers are asked for before they are waited for,
 * and what is read is the same.
 */
static void xray_heads_ahead(void **state)
{
	const struct os_calls calls = os_calls;
	char path[] = "/tmp/test_base_sim.XXXXXX", *want, *text;
	const int fd = mkstemp(path);
	enum spur_status st;
	struct spur_error err;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	xray_log_put(path);
	want = report(path, &st, &err);
	assert_true(st == SPUR_OK && strlen(want) > 400);
	os_calls.os_pread_cached_direct = nothing_cached;
	os_calls.posix_fadvise = keep_advice;
	os_calls.pread = keep_read;
	text = report(path, &st, &err);
	os_calls = calls;
	assert_int_equal(st, SPUR_OK);
	assert_string_equal(text, want);
	assert_true(disk.reads >= BUFFERS && disk.asked > BUFFERS / 2);
	assert_true(disk.n < BUFFERS);
	free(text);
	free(want);
	unlink(path);
}

/* --- scratch memory --- */

static void scratch_on_full_disk(void **state)
{
	uint64_t counter = 0, *charged = mem_charge(&counter);
	struct spur_error err;
	void *p;

	(void)state;
	sim_temp_begin(&(struct sim_options){ .capacity = 40 * MIB });
	p = scratch_alloc(30 * MIB);
	assert_non_null(p);
	memset(p, 1, 30 * MIB);
	assert_int_equal(mem_failures(), 0);
	assert_null(scratch_alloc(20 * MIB));
	assert_int_equal(mem_failures(), 1);
	assert_int_equal(mem_error(), ENOSPC);
	assert_int_equal(err_nomem(&err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_IO);
	assert_string_equal(err.message, "temporary file in " TEMP ": No space left on device");
	/* What is small needs no file. */
	assert_null(mem_alloc(SIZE_MAX));
	assert_int_equal(mem_failures(), 2);
	err_nomem(&err);
	assert_int_equal(err.code, SPUR_ERR_MEMORY);
	scratch_free(p, 30 * MIB);
	mem_charge(charged);
	sim_temp_end();
}

static void scratch_with_faults(void **state)
{
	static const int faults[] = { EINTR, EIO, ENOSPC };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		for (uint64_t at = 1; at <= 4; at++) {
			uint64_t counter = 0, *charged = mem_charge(&counter);
			char *p;

			sim_temp_begin(&(struct sim_options){ .fault_at = at, .fault = faults[i] });
			p = scratch_alloc(16 * MIB);
			check(p ? !mem_failures() : mem_error() == faults[i]);
			check(!p || (!p[0] && !p[16 * MIB - 1]));
			check(p || faults[i] != EINTR);
			scratch_free(p, 16 * MIB);
			mem_charge(charged);
			sim_temp_end();
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_survives_crashes),
		cmocka_unit_test(output_survives_later_crashes),
		cmocka_unit_test(output_of_full_disk),
		cmocka_unit_test(output_of_failing_disk),
		cmocka_unit_test(unpacking_onto_full_disk),
		cmocka_unit_test(unpacking_with_faults),
		cmocka_unit_test(temporary_files_have_no_name),
		cmocka_unit_test(report_with_full_disk),
		cmocka_unit_test(xray_heads_ahead),
		cmocka_unit_test(scratch_on_full_disk),
		cmocka_unit_test(scratch_with_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
