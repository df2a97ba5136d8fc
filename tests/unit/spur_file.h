/* A file of one of Spur's recordings made record by record, and what the library says of it. */
#ifndef SPUR_TESTS_UNIT_SPUR_FILE_H
#define SPUR_TESTS_UNIT_SPUR_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bits.h"
#include "base/mem.h"
#include "base/out.h"
#include "format/spur/wire.h"
#include "model/trace.h"
#include "render/value.h"

enum { CHUNK = 8192, PAIR_TICKS = 1000, PAIR_MONO = 5000, PAIR_REAL = 1000005000 };

static struct out file; /* the bytes */
static size_t chunk_at; /* where the chunk that is being made begins */
static uint64_t sequence;
static char file_path[64];

static inline void put(uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		out_char(&file, i < sizeof(v) ? (char)(v >> (8 * i)) : '\0');
}

static inline void set(size_t at, uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		file.buf[at + i] = i < sizeof(v) ? (char)(v >> (8 * i)) : '\0';
}

static inline void pad_to(size_t len)
{
	assert_true(len >= file.len);
	out_pad(&file, '\0', len - file.len);
}

/* A header of a clock that counts ns. */
static inline int file_begin(void **state)
{
	int fd;

	(void)state;
	sequence = 0;
	out_to_memory(&file);
	pad_to(SPB_HEADER);
	set(0, SPB_MAGIC, 8);
	set(SPB_CHUNK_SIZE_AT, CHUNK, 4);
	set(SPB_PID_AT, 7, 4);
	set(SPB_CLOCK_AT, SPB_CLOCK_MONOTONIC, 4);
	set(SPB_BEGIN_AT, PAIR_MONO, 8);
	set(SPB_BEGIN_AT + 8, PAIR_MONO, 8);
	set(SPB_BEGIN_AT + 16, PAIR_REAL, 8);
	strcpy(file.buf + SPB_PROGRAM_AT, "/bin/prog");
	strcpy(file_path, "/tmp/spur-spb-XXXXXX");
	fd = mkstemp(file_path);
	return fd < 0 || close(fd) != 0;
}

static inline int file_end(void **state)
{
	(void)state;
	out_free(&file);
	return unlink(file_path);
}

/* Ends the chunk before, and begins one. */
static inline void chunk(unsigned kind, uint32_t thread, uint64_t ticks)
{
	if (sequence)
		pad_to(chunk_at + CHUNK);
	chunk_at = file.len;
	put(SPB_CHUNK_MAGIC, 4);
	put(kind, 2);
	put(SPB_OPEN, 2);
	put(++sequence, 8);
	put(thread ? 70 + thread : 0, 4);
	put(thread, 4);
	put(ticks, 8);
	put(ticks, 8);
	pad_to(chunk_at + SPB_CHUNK_HEAD);
}

static inline void records(uint32_t thread, uint64_t ticks)
{
	chunk(SPB_CHUNK_RECORDS, thread, ticks);
}

static inline void word(unsigned kind, unsigned len, uint32_t id, uint64_t ticks)
{
	put(kind | len << 4 | (uint64_t)id << 8 | ticks << 32, 8);
}

static inline void text(const char *s)
{
	put(strlen(s), 2);
	out_str(&file, s);
}

static inline void align(void)
{
	pad_to((file.len + 7) / 8 * 8);
}

static size_t descriptor_at;

static inline void descriptor(unsigned type)
{
	descriptor_at = file.len;
	put(0, 4);
	put(type, 4);
}

static inline void descriptor_ends(void)
{
	align();
	set(descriptor_at, file.len - descriptor_at, 4);
}

/* `args` are types, each with a name of one letter from a on; `nresults` of them are results. */
static inline void site(uint32_t id, unsigned kind, const char *name, const char *args,
			unsigned nresults)
{
	const unsigned n = (unsigned)strlen(args);
	char letter[] = "a";

	descriptor(SPB_SITE);
	put(id, 4);
	put(kind, 1);
	put(n - nresults, 1);
	put(nresults, 2);
	put(id, 4);
	text("cat");
	text(name);
	text("f.c");
	for (unsigned i = 0; i < n; i++, letter[0]++) {
		put((uint64_t)(args[i] - '0'), 1);
		text(letter);
	}
	descriptor_ends();
}

static inline void function(uint32_t id, uint64_t addr, const char *name)
{
	descriptor(SPB_FUNCTION);
	put(id, 4);
	put(0, 4);
	put(addr, 8);
	put(0, 4);
	text(name);
	descriptor_ends();
}

/* A descriptor with a number of `size` bytes and a text. */
static inline void name(unsigned type, uint64_t number, const char *s)
{
	descriptor(type);
	put(number, 8);
	text(s);
	descriptor_ends();
}

static inline struct spur_trace *file_open(const struct spur_options *opt)
{
	struct spur_options with = *opt;
	struct spur_trace *t = NULL;
	struct spur_error err;
	FILE *f = fopen(file_path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(file.buf, 1, file.len, f), file.len);
	fclose(f);
	with.format = "spur";
	if (spur_open(&t, file_path, &with, &err) == SPUR_FAIL)
		return NULL;
	return t;
}

static inline void row_text(struct spur_trace *t, const struct spur_event *row, struct out *o)
{
	const struct spur_track *k = spur_track(t, row->track);
	struct spur_args args = { 0 };
	struct value_writer values;

	out_printf(o, "%lld %s ", (long long)row->ts - PAIR_MONO, spur_kind_name(row->kind));
	out_str(o, spur_string(t, row->name, NULL));
	if (row->kind == SPUR_LOST || (row->kind >= SPUR_ASYNC_BEGIN && row->kind <= SPUR_FLOW_END))
		out_printf(o, " %llu", (unsigned long long)row->id);
	assert_true(row->cls && trace_class(t, row->cls)->name == row->name);
	assert_non_null(k);
	out_printf(o, " @%lld", (long long)k->tid);
	if (k->tid < 0)
		out_str(o, spur_string(t, k->name, NULL));
	assert_int_not_equal(spur_args(t, row, &args), SPUR_FAIL);
	assert_true(args.count <= row->nargs);
	if (args.count) {
		out_str(o, " ");
		assert_true(value_writer_open(&values, t, VALUE_TEXT));
		args_text_list(&values, &args, false, o);
		value_writer_close(&values);
	}
	spur_args_free(&args);
	if (row->kind == SPUR_SWITCH)
		out_printf(o, " cpu %u%s%s", row->cpu, row->flags & SPUR_F_OUT ? " out" : " in",
			   row->flags & SPUR_F_PREEMPTED ? " preempted" : "");
	out_str(o, row->flags & SPUR_F_TAIL ? " tail" : "");
	out_str(o, row->flags & SPUR_F_ANY ? " any\n" : "\n");
}

#include "expect_rows.h"

#endif
