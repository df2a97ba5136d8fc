/* A Heph file made packet by packet, and what the library says of it. */
#ifndef SPUR_TESTS_UNIT_HEPH_FILE_H
#define SPUR_TESTS_UNIT_HEPH_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/out.h"
#include "model/trace.h"
#include "render/value.h"

static struct out file; /* the bytes */
static size_t packet; /* where the packet that is being made begins */
static uint32_t next_counter[8]; /* of streams 0 to 7, where the test does not say */
static bool old_layout;
static char file_path[64];

static inline int file_begin(void **state)
{
	int fd;

	(void)state;
	out_to_memory(&file);
	memset(next_counter, 0, sizeof(next_counter));
	old_layout = false;
	strcpy(file_path, "/tmp/spur-heph-XXXXXX");
	fd = mkstemp(file_path);
	return fd < 0 || close(fd) != 0;
}

static inline int file_end(void **state)
{
	(void)state;
	out_free(&file);
	return unlink(file_path);
}

static inline void put(uint64_t v, unsigned size)
{
	for (unsigned i = size; i-- > 0;)
		out_char(&file, (char)(v >> (8 * i)));
}

static inline void put_text(const char *s, size_t len)
{
	put(len, 2);
	out_bytes(&file, s, len);
}

/* Gives the packet that was begun last its size. */
static inline void packet_ends(void)
{
	const size_t size = file.len - packet;

	for (unsigned i = 0; i < 4; i++)
		file.buf[packet + 4 + i] = (char)(size >> (24 - 8 * i));
}

static inline void meta(const char *name, const char *value, size_t len)
{
	packet = file.len;
	put(0x75D11D4D, 4);
	put(0, 4);
	put_text(name, strlen(name));
	out_bytes(&file, value, len);
	packet_ends();
}

static inline void epoch(uint64_t v)
{
	meta("epoch", "", 0);
	put(v, 8);
	packet_ends();
}

/* Attributes may follow. */
static inline void event_all(uint32_t stream, uint32_t counter, uint64_t substream, uint64_t start,
			     uint64_t end, const char *name)
{
	packet = file.len;
	put(0xC1FC1FB7, 4);
	put(0, 4);
	put(stream, 4);
	put(counter, 4);
	if (!old_layout)
		put(substream, 8);
	put(start, 8);
	put(end, 8);
	put_text(name, strlen(name));
	packet_ends();
}

static inline void event(uint32_t stream, uint64_t substream, uint64_t start, uint64_t end,
			 const char *name)
{
	event_all(stream, next_counter[stream]++, substream, start, end, name);
}

static inline void attr(const char *name, unsigned type)
{
	put_text(name, strlen(name));
	put(type, 1);
	packet_ends();
}

static inline void attr_int(const char *name, unsigned type, uint64_t v)
{
	attr(name, type);
	put(v, 8);
	packet_ends();
}

static inline void attr_string(const char *name, const char *s, size_t len)
{
	attr(name, 4);
	put_text(s, len);
	packet_ends();
}

/* SPEC heph/track-names: `what` is THREAD or PROCESS */
static inline void track_name(uint32_t stream, uint32_t counter, uint64_t substream, uint64_t time,
			      const char *name, const char *what)
{
	event_all(stream, counter, substream, time, time, name);
	attr_string("spur.kind", what, strlen(what));
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
	with.format = "heph";
	if (spur_open(&t, file_path, &with, &err) == SPUR_FAIL)
		return NULL;
	return t;
}

static inline void row_text(struct spur_trace *t, const struct spur_event *row, struct out *o)
{
	const struct spur_track *k = spur_track(t, row->track);
	struct spur_args args = { 0 };
	struct value_writer values;
	size_t len;
	const char *name = spur_string(t, row->name, &len);

	out_printf(o, "%lld ", (long long)row->ts);
	if (row->kind == SPUR_SPAN)
		out_printf(o, "+%lld ", (long long)row->dur);
	else
		out_printf(o, "%s ", spur_kind_name(row->kind));
	out_safe(o, name, len);
	if (row->kind == SPUR_LOST)
		out_printf(o, " %llu", (unsigned long long)row->id);
	assert_true(row->cls && trace_class(t, row->cls)->name == row->name);
	assert_non_null(k);
	out_printf(o, " @%s", spur_string(t, k->name, NULL));
	if (row->nargs) {
		assert_int_not_equal(spur_args(t, row, &args), SPUR_FAIL);
		assert_int_equal(args.count < 255 ? args.count : 255, row->nargs);
		out_str(o, " ");
		assert_true(value_writer_open(&values, t, VALUE_TEXT));
		args_text_list(&values, &args, false, o);
		value_writer_close(&values);
		spur_args_free(&args);
	}
	out_str(o, row->flags & SPUR_F_UNRELIABLE ? " ?\n" : "\n");
}

#include "expect_rows.h"

#endif
