/*
 * Small uftrace directories written by a test, and what the library makes of them as text: a line
 * for each row, `TS KIND NAME DEPTH [flags] (arguments)`, then one for each damage (`!`) or note
 * (`~`).
 */
#ifndef TESTS_UNIT_UFTRACE_DIR_H
#define TESTS_UNIT_UFTRACE_DIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/out.h"

enum { ENTRY, EXIT, LOST, EVENT };

static char dir[128];
static char made[128]; /* the directory that dir_make() made: tests may read others meanwhile */
static struct out dat; /* records that wait for dat_write() */
static struct out seen; /* of the last read_dir() */
static bool big; /* byte order of what is written */

static inline int dir_make(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.90s/spur-test-XXXXXX", tmp ? tmp : "/tmp");
	big = false;
	out_to_memory(&dat);
	out_to_memory(&seen);
	if (!mkdtemp(dir))
		return -1;
	strcpy(made, dir);
	return 0;
}

static inline int dir_remove(void **state)
{
	DIR *d = opendir(made);
	const struct dirent *e;

	(void)state;
	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	out_free(&dat);
	out_free(&seen);
	return rmdir(made);
}

static inline void path_of(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", dir, name);
}

static inline void put_file(const char *name, const void *data, size_t len)
{
	char path[256];
	FILE *f;

	path_of(path, sizeof(path), name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static inline void put_text(const char *name, const char *text)
{
	put_file(name, text, strlen(text));
}

static inline void remove_file(const char *name)
{
	char path[256];

	path_of(path, sizeof(path), name);
	assert_int_equal(unlink(path), 0);
}

/* --- numbers in the data's byte order --- */

static inline void raw_uint(uint64_t v, size_t size)
{
	for (size_t i = 0; i < size; i++)
		out_char(&dat, (char)(v >> 8 * (big ? size - 1 - i : i)));
}

static inline void raw_text(const char *s)
{
	out_bytes(&dat, s, strlen(s));
}

static inline void raw_align(size_t to)
{
	while (dat.len % to)
		out_char(&dat, '\0');
}

/* u16 length, text, rounded up to 4: a string argument */
static inline void raw_string(const char *s)
{
	raw_uint(strlen(s), 2);
	raw_text(s);
	raw_align(4);
}

static inline void rec_word(uint64_t time, unsigned type, unsigned more, unsigned depth,
			    uint64_t addr)
{
	raw_uint(time, 8);
	raw_uint((uint64_t)type | (uint64_t)more << 2 | 5u << 3 | (uint64_t)(depth & 1023) << 6 |
			 addr << 16,
		 8);
}

static inline void rec(uint64_t time, unsigned type, unsigned depth, uint64_t addr)
{
	rec_word(time, type, 0, depth, addr);
}

/* The payload follows. */
static inline void rec_more(uint64_t time, unsigned type, unsigned depth, uint64_t addr)
{
	rec_word(time, type, 1, depth, addr);
}

static inline void dat_write(const char *name)
{
	put_file(name, dat.buf, dat.len);
	out_clear(&dat);
}

/*
 * `info` with the header as given and the text behind it. Of the bits that say which lines follow
 * only that of the first is told truly.
 */
static inline void put_info(unsigned version, unsigned class, uint64_t features, const char *text)
{
	struct out kept = dat;

	out_to_memory(&dat);
	out_bytes(&dat, "Ftrace!", 8);
	raw_uint(version, 4);
	raw_uint(40, 2);
	out_char(&dat, big ? 2 : 1);
	out_char(&dat, (char)class);
	raw_uint(features, 8);
	raw_uint(strstr(text, "exename:") != NULL, 8);
	raw_uint(1024, 2);
	raw_uint(0, 6);
	raw_text(text);
	put_file("info", dat.buf, dat.len);
	out_free(&dat);
	dat = kept;
}

/*
 * Module /bin/prog at 0x400000 with main 0x1000, work 0x1100, leaf 0x1200, free 0x1300 (P); session
 * and task 1.
 */
static inline void put_basics(const char *info_text)
{
	put_info(4, 2, 1 << 5, info_text);
	put_text("task.txt",
		 "SESS timestamp=0.000000001 pid=1 sid=0123456789abcdef exename=\"/bin/prog\"\n"
		 "TASK timestamp=0.000000001 tid=1 pid=1\n");
	put_text("sid-0123456789abcdef.map",
		 "00400000-00500000 r-xp 00000000 00:00 0 /bin/prog\n"
		 "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0 [stack]\n");
	put_text("prog.sym",
		 "# symbols: 4\n# path name: /bin/prog\n"
		 "0000000000001000 00000100 T main\n0000000000001100 00000100 T work\n"
		 "0000000000001200 00000100 T leaf\n0000000000001300 00000010 P free\n");
}

enum { MAIN = 0x401000, WORK = 0x401100, LEAF = 0x401200, FREE = 0x401300 };

/* main calls work, from 100 on */
static inline void put_calls(const char *name)
{
	rec(100, ENTRY, 0, MAIN + 4);
	rec(110, ENTRY, 1, WORK + 4);
	rec(130, EXIT, 1, WORK + 4);
	rec(150, EXIT, 0, MAIN + 4);
	dat_write(name);
}

/* --- what comes out --- */

static inline void see_value(struct spur_trace *t, const struct spur_value *v)
{
	if (v->name)
		out_printf(&seen, "%s=", spur_string(t, v->name, NULL));
	switch (v->type) {
	case SPUR_I64:
		out_i64(&seen, v->i);
		break;
	case SPUR_U64:
		out_u64(&seen, v->u);
		break;
	case SPUR_F64:
		out_double(&seen, v->f);
		break;
	case SPUR_STRING:
		out_json(&seen, v->text, v->count);
		break;
	case SPUR_POINTER:
		out_printf(&seen, "*%llx", (unsigned long long)v->u);
		break;
	case SPUR_ENUM:
		out_i64(&seen, v->i);
		break;
	case SPUR_BYTES:
		for (uint32_t i = 0; i < v->count; i++)
			out_printf(&seen, "%02x", (unsigned char)v->text[i]);
		break;
	default:
		out_str(&seen, v->type == SPUR_NULL ? "null" : "?");
	}
	if (v->label)
		out_printf(&seen, ":%s", v->label);
	if (v->unreliable)
		out_char(&seen, '?');
}

static inline void see_row(struct spur_trace *t, const struct spur_event *row,
			   struct spur_args *args)
{
	static const struct {
		unsigned flag;
		const char *name;
	} flags[] = { { SPUR_F_RETIMED, " retimed" },
		      { SPUR_F_BACK, " back" },
		      { SPUR_F_ESTIMATED, " estimated" },
		      { SPUR_F_OUT, " out" },
		      { SPUR_F_IN, " in" },
		      { SPUR_F_PREEMPTED, " preempted" } };

	out_printf(&seen, "%lld %s %s %u", (long long)row->ts, spur_kind_name(row->kind),
		   spur_string(t, row->name, NULL), row->depth);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (row->flags & flags[i].flag)
			out_str(&seen, flags[i].name);
	if (row->kind == SPUR_LOST)
		out_printf(&seen, " %llu", (unsigned long long)row->id);
	assert_int_not_equal(spur_args(t, row, args), SPUR_FAIL);
	for (size_t i = 0; i < args->count; i++) {
		out_str(&seen, i ? ", " : " (");
		see_value(t, &args->items[i]);
	}
	out_str(&seen, args->count ? ")\n" : "\n");
}

static inline void see_damage(struct spur_trace *t)
{
	struct spur_damage d;

	for (size_t i = 0; i < spur_damage_count(t); i++) {
		assert_true(spur_damage(t, i, &d));
		out_printf(&seen, "%c %s %s", d.is_damage ? '!' : '~', d.code, d.file);
		if (d.first_offset != UINT64_MAX)
			out_printf(&seen, " at %llu", (unsigned long long)d.first_offset);
		if (d.bytes_lost)
			out_printf(&seen, " lost %llu", (unsigned long long)d.bytes_lost);
		out_str(&seen, d.count > 1 ? " ..." : "");
		out_char(&seen, '\n');
	}
}

/* Text of the trace at `path`, below the directory ("" is the directory itself). */
static inline const char *read_path(const char *path, size_t read_size)
{
	const struct spur_options opt = SPUR_OPTIONS(.read_size = read_size,
					  .threads = 1,
					  .symbol_dirs = "/nonexistent");
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	struct spur_error err;
	struct spur_trace *t;
	char full[256];
	size_t n;

	out_clear(&seen);
	path_of(full, sizeof(full), path);
	if (spur_open(&t, full, &opt, &err) == SPUR_FAIL) {
		out_printf(&seen, "FAIL %d %s", err.code,
			   err.message[0] ? "" : "without a message");
		out_char(&seen, '\0');
		return seen.buf;
	}
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			see_row(t, &rows[i], &args);
	see_damage(t);
	spur_args_free(&args);
	spur_close(t);
	out_char(&seen, '\0');
	return seen.buf;
}

/* The same whatever the read size. */
#define expect_rows(text)                                       \
	do {                                                    \
		assert_string_equal(read_path("", 0), text);    \
		assert_string_equal(read_path("", 1), text);    \
		assert_string_equal(read_path("", 7), text);    \
		assert_string_equal(read_path("", 4096), text); \
	} while (0)

#endif
