/*
 * Small CTF directories written by a test, and what the library makes of them as text: a line for
 * each row, `TS KIND NAME [cpu N] [PID/TID] [flags] (ARGUMENTS)`, then one for each damage (`!`) or
 * note and warning (`~`).
 */
#ifndef TESTS_UNIT_CTF_DIR_H
#define TESTS_UNIT_CTF_DIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fts.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/out.h"

static char dir[128];
static char made[128]; /* the directory that dir_make() made: tests may read others meanwhile */
static struct out bytes; /* that wait for put_bytes() */
static struct out seen; /* of the last read_dir() */
static bool big; /* byte order of what is written */

static inline int dir_make(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.90s/spur-test-XXXXXX", tmp ? tmp : "/tmp");
	big = false;
	out_to_memory(&bytes);
	out_to_memory(&seen);
	if (!mkdtemp(dir))
		return -1;
	strcpy(made, dir);
	return 0;
}

/* What is in the directory goes. */
static inline void dir_empty(void)
{
	char *paths[] = { dir, NULL };
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *e;

	while (walk && (e = fts_read(walk)) != NULL)
		if (e->fts_level && e->fts_info != FTS_D)
			remove(e->fts_path);
	if (walk)
		fts_close(walk);
}

static inline int dir_remove(void **state)
{
	(void)state;
	strcpy(dir, made);
	dir_empty();
	out_free(&bytes);
	out_free(&seen);
	return rmdir(dir);
}

static inline void put_file(const char *name, const void *data, size_t len)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
		*p = '\0';
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
	}
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static inline void put_text(const char *name, const char *text)
{
	put_file(name, text, strlen(text));
}

/* --- bytes, in the byte order `big` --- */

static inline void u8(uint64_t v)
{
	out_char(&bytes, (char)v);
}

static inline void number(uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		u8(v >> 8 * (big ? size - 1 - i : i));
}

static inline void u16(uint64_t v)
{
	number(v, 2);
}

static inline void u32(uint64_t v)
{
	number(v, 4);
}

static inline void u64(uint64_t v)
{
	number(v, 8);
}

static inline void raw(const void *data, size_t len)
{
	out_bytes(&bytes, data, len);
}

static inline void zeros(size_t n)
{
	while (n--)
		u8(0);
}

/* Replaces a number of `size` bytes that was written already. */
static inline void set(size_t at, uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		bytes.buf[at + i] = (char)(v >> 8 * (big ? size - 1 - i : i));
}

static inline void put_bytes(const char *name)
{
	put_file(name, bytes.len ? bytes.buf : "", bytes.len);
	out_clear(&bytes);
}

/* --- reading --- */

static inline void say_values(const struct spur_trace *t, const struct spur_value *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *name = spur_string(t, v[i].name, NULL);

		out_printf(&seen, "%s%s%s", i ? " " : "", name, *name ? "=" : "");
		switch ((enum spur_type)v[i].type) {
		case SPUR_I64:
			out_printf(&seen, "%lld", (long long)v[i].i);
			break;
		case SPUR_ENUM:
			out_printf(&seen, "%lld:%s", (long long)v[i].i,
				   v[i].label ? v[i].label : "");
			break;
		case SPUR_STRING:
		case SPUR_BYTES:
			out_printf(&seen, "\"%.*s\"", (int)v[i].count, v[i].text);
			break;
		case SPUR_STRUCT:
		case SPUR_ARRAY:
			out_char(&seen, '[');
			say_values(t, v[i].items, v[i].count);
			out_char(&seen, ']');
			break;
		case SPUR_NULL:
			out_str(&seen, "null");
			break;
		default:
			out_printf(&seen, "%llu", (unsigned long long)v[i].u);
		}
	}
}

static inline void say_row(struct spur_trace *t, const struct spur_event *row,
			   struct spur_args *args)
{
	static const struct {
		unsigned bit;
		const char *name;
	} flags[] = { { SPUR_F_OUT, "out" },	   { SPUR_F_IN, "in" },
		      { SPUR_F_BACK, "back" },	   { SPUR_F_RETIMED, "retimed" },
		      { SPUR_F_PREEMPTED, "pre" }, { SPUR_F_ANY, "any" } };
	const struct spur_track *track = spur_track(t, row->track);

	out_printf(&seen, "%lld %s %s", (long long)row->ts, spur_kind_name(row->kind),
		   spur_string(t, row->name, NULL));
	if (row->dur)
		out_printf(&seen, " for %lld", (long long)row->dur);
	if (row->cpu != SPUR_NO_CPU)
		out_printf(&seen, " cpu %u", row->cpu);
	if (track->tid >= 0)
		out_printf(&seen, " %lld/%lld", (long long)track->pid, (long long)track->tid);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (row->flags & flags[i].bit)
			out_printf(&seen, " %s", flags[i].name);
	out_str(&seen, " (");
	if (spur_args(t, row, args) != SPUR_FAIL)
		say_values(t, args->items, args->count);
	out_str(&seen, ")\n");
}

static inline void say_damage(struct spur_trace *t)
{
	struct spur_damage d;

	for (size_t i = 0; i < spur_damage_count(t); i++) {
		assert_true(spur_damage(t, i, &d));
		out_printf(&seen, "%s %s %s", d.is_damage ? "!" : "~", d.code, d.file);
		if (d.first_offset != UINT64_MAX)
			out_printf(&seen, " at %llu", (unsigned long long)d.first_offset);
		if (d.bytes_lost)
			out_printf(&seen, " lost %llu", (unsigned long long)d.bytes_lost);
		if (d.count > 1)
			out_printf(&seen, " x%llu", (unsigned long long)d.count);
		out_char(&seen, '\n');
	}
}

/* Returns false if out of memory (mem_fail_at()). */
static inline bool read_path(const char *path, const struct spur_options *opt)
{
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	struct spur_error err = { 0 };
	enum spur_status st;
	struct spur_trace *t;
	size_t n;

	out_clear(&seen);
	if (spur_open(&t, path, opt, &err) == SPUR_FAIL) {
		assert_int_not_equal(err.code, SPUR_ERR_NONE);
		out_printf(&seen, "FAIL %s\n", err.message);
		out_char(&seen, '\0');
		return err.code != SPUR_ERR_MEMORY;
	}
	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			say_row(t, &rows[i], &args);
	say_damage(t);
	out_char(&seen, '\0');
	spur_args_free(&args);
	spur_close(t);
	return st == SPUR_END;
}

/* Compares with what the directory gives, whatever the read size and the threads. */
static inline void expect_opt(struct spur_options opt, const char *want)
{
	static const struct {
		size_t read_size;
		unsigned threads;
	} ways[] = { { 0, 1 }, { 7, 2 }, { 1, 4 } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		opt.read_size = ways[i].read_size;
		opt.threads = ways[i].threads;
		assert_true(read_path(dir, &opt));
		assert_string_equal(seen.buf, want);
	}
}

static inline void expect(const char *want)
{
	expect_opt((struct spur_options)SPUR_OPTIONS(), want);
}

#endif
