/*
 * Small XRay logs written by a test, and what the library makes of them as text: a line for each
 * row, `TS KIND NAME TID [flags] (arguments)`, then one for each damage (`!`) or warning (`~`).
 * Names of functions are fn#ID: there is no binary beside the file.
 */
#ifndef TESTS_UNIT_XRAY_FILE_H
#define TESTS_UNIT_XRAY_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/out.h"

enum { BASIC, FDR };
enum { ENTER, EXIT, TAIL, ENTER_ARG };
enum { NEW_BUFFER, END_OF_BUFFER, NEW_CPU, WRAP, WALL, CUSTOM, ARG, EXTENTS, TYPED, PID };

static char dir[128], path[160];
static struct out made; /* the file being made */
static struct out seen; /* of the last reading */
static bool big; /* byte order of what is written */
static size_t extents; /* where the open BufferExtents record stands; 0: none */

static inline int file_make(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.90s/spur-test-XXXXXX", tmp ? tmp : "/tmp");
	out_to_memory(&made);
	out_to_memory(&seen);
	big = false;
	extents = 0;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/t", dir);
	return 0;
}

static inline int file_remove(void **state)
{
	(void)state;
	unlink(path);
	out_free(&made);
	out_free(&seen);
	return rmdir(dir);
}

static inline void file_write(const void *data, size_t len)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* --- records --- */

static inline void put_uint(uint64_t v, size_t size)
{
	for (size_t i = 0; i < size; i++)
		out_char(&made, (char)(v >> 8 * (big ? size - 1 - i : i)));
}

static inline void put_text(const char *s)
{
	out_bytes(&made, s, strlen(s));
}

static inline void put_header(unsigned version, unsigned type, uint64_t hz, uint64_t buffer_size)
{
	out_clear(&made);
	put_uint(version, 2);
	put_uint(type, 2);
	put_uint(big ? 0xc0000000 : 3, 4);
	put_uint(hz, 8);
	put_uint(buffer_size, 8);
	put_uint(0, 8);
}

static inline void fn(unsigned kind, uint32_t id, uint32_t delta)
{
	put_uint(big ? kind << 28 | id : id << 4 | kind << 1, 4);
	put_uint(delta, 4);
}

/* Begins a metadata record; meta_end() fills it with what writers leave there. */
static inline size_t meta(unsigned kind)
{
	out_char(&made, (char)(big ? 0x80 | kind : kind << 1 | 1));
	return made.len - 1;
}

static inline void meta_end(size_t from)
{
	out_pad(&made, (char)0xaa, from + 16 - made.len);
}

static inline void meta_uint(unsigned kind, uint64_t v, size_t size)
{
	const size_t from = meta(kind);

	put_uint(v, size);
	meta_end(from);
}

static inline void wall(uint64_t seconds, uint32_t micro)
{
	const size_t from = meta(WALL);

	put_uint(seconds, 8);
	put_uint(micro, 4);
	meta_end(from);
}

static inline void cpu(uint16_t number, uint64_t tsc)
{
	const size_t from = meta(NEW_CPU);

	put_uint(number, 2);
	put_uint(tsc, 8);
	meta_end(from);
}

/*
 * An event of version 1 to 4 (`when` is absolute) or 5 (a delta); `more`: type, or the CPU of
 * version 4.
 */
static inline void event(unsigned kind, unsigned version, uint64_t when, int more,
			 const char *payload)
{
	const size_t from = meta(kind);

	put_uint(strlen(payload), 4);
	put_uint(when, version < 5 ? 8 : 4);
	if (more >= 0)
		put_uint((unsigned)more, 2);
	meta_end(from);
	put_text(payload);
}

/* BufferExtents (version 2 on) up to Pid (version 3 on) of process 1. */
static inline void buffer_begin(unsigned version, uint32_t tid, uint32_t micro)
{
	if (version > 1) {
		extents = made.len;
		meta_uint(EXTENTS, 0, 8);
	}
	meta_uint(NEW_BUFFER, tid, 4);
	wall(7, micro);
	if (version > 2)
		meta_uint(PID, 1, 4);
}

/* Writes what the buffer's extents are. */
static inline void buffer_end(void)
{
	const size_t len = made.len;
	const uint64_t size = len - extents - 16;

	made.len = extents + 1;
	put_uint(size, 8);
	made.len = len;
}

/* To the next multiple of `size` behind the header, as the writers of version 1 leave it. */
static inline void buffer_pad(size_t size)
{
	meta_uint(END_OF_BUFFER, 0, 0);
	while ((made.len - 32) % size)
		out_char(&made, 'Z');
}

/* A buffer of version 5 with one call. */
static inline void buffer_simple(uint32_t tid, uint32_t micro, uint64_t tsc, uint32_t id)
{
	buffer_begin(5, tid, micro);
	cpu(0, tsc);
	fn(ENTER, id, 0);
	fn(EXIT, id, 10);
	buffer_end();
}

static inline void basic(unsigned kind, uint32_t id, uint64_t tsc, uint32_t tid, uint32_t pid)
{
	put_uint(0, 2);
	out_char(&made, 3);
	out_char(&made, (char)kind);
	put_uint(id, 4);
	put_uint(tsc, 8);
	put_uint(tid, 4);
	put_uint(pid, 4);
	put_uint(0, 8);
}

static inline void basic_arg(uint32_t id, uint64_t value, uint32_t tid, uint32_t pid)
{
	put_uint(1, 2);
	put_uint(0, 2);
	put_uint(id, 4);
	put_uint(tid, 4);
	put_uint(pid, 4);
	put_uint(value, 8);
	put_uint(0, 8);
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
	case SPUR_STRING:
		out_json(&seen, v->text, v->count);
		break;
	case SPUR_BYTES:
		for (uint32_t i = 0; i < v->count; i++)
			out_printf(&seen, "%02x", (unsigned char)v->text[i]);
		break;
	case SPUR_ARRAY:
		for (uint32_t i = 0; i < v->count; i++)
			out_printf(&seen, "%s%.*s", i ? ">" : "", (int)v->items[i].count,
				   v->items[i].text);
		break;
	default:
		out_str(&seen, "?");
	}
}

static inline void see_row(struct spur_trace *t, const struct spur_event *row,
			   struct spur_args *args)
{
	static const struct {
		unsigned flag;
		const char *name;
	} flags[] = { { SPUR_F_RETIMED, " retimed" },
		      { SPUR_F_BACK, " back" },
		      { SPUR_F_TAIL, " tail" } };
	const struct spur_track *k = spur_track(t, row->track);

	out_printf(&seen, "%" PRId64 " %s %s %d", row->ts, spur_kind_name(row->kind),
		   spur_string(t, row->name, NULL), k ? (int)k->tid : -2);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (row->flags & flags[i].flag)
			out_str(&seen, flags[i].name);
	assert_int_not_equal(spur_args(t, row, args), SPUR_FAIL);
	assert_int_equal(args->count < 255 ? args->count : 255, row->nargs);
	assert_int_not_equal(row->cls, 0);
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
		if (strcmp(d.code, "xray/no-map") == 0)
			continue;
		out_printf(&seen, "%c %s at %llu", d.is_damage ? '!' : '~', d.code + 5,
			   (unsigned long long)d.first_offset);
		if (d.bytes_lost)
			out_printf(&seen, " lost %llu", (unsigned long long)d.bytes_lost);
		if (d.count > 1)
			out_printf(&seen, " x%llu", (unsigned long long)d.count);
		out_char(&seen, '\n');
	}
}

static inline const char *read_with(const struct spur_options *opt)
{
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	int64_t last = INT64_MIN;
	struct spur_error err;
	struct spur_trace *t;
	size_t n;

	out_clear(&seen);
	if (spur_open(&t, path, opt, &err) == SPUR_FAIL) {
		out_printf(&seen, "FAIL %s",
			   strncmp(err.message, "t: ", 3) == 0 ? err.message + 3 : err.message);
		out_char(&seen, '\0');
		return seen.buf;
	}
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			if (!opt->as_stored)
				assert_true(rows[i].ts >= last);
			last = rows[i].ts;
			see_row(t, &rows[i], &args);
		}
	see_damage(t);
	spur_args_free(&args);
	spur_close(t);
	out_char(&seen, '\0');
	return seen.buf;
}

/* Rows in ticks, in time order or as stored. */
static inline const char *read_log(size_t read_size, bool as_stored)
{
	const struct spur_options opt = SPUR_OPTIONS(.format = "xray",
					  .read_size = read_size,
					  .threads = 1,
					  .symbol_dirs = "/nonexistent",
					  .raw_time = true,
					  .as_stored = as_stored);

	return read_with(&opt);
}

/* The same whatever the read size. */
static inline void expect_read(const char *text, bool as_stored)
{
	static const size_t sizes[] = { 0, 1, 7, 4096 };

	file_write(made.buf, made.len);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_string_equal(read_log(sizes[i], as_stored), text);
}

static inline void expect_rows(const char *text)
{
	expect_read(text, false);
}

static inline void expect_stored(const char *text)
{
	expect_read(text, true);
}

#endif
