/*
 * FXT files made in memory by a test, and what the library makes of them as text. A line for each
 * row, `TS KIND [CATEGORY:]NAME PID/TID [@CPU] [+DURATION] [#ID] [flags] [(arguments)]`, then one
 * for each damage (`!`), warning or note (`~`).
 */
#ifndef TESTS_UNIT_FXT_FILE_H
#define TESTS_UNIT_FXT_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "format/format.h"
#include "base/bits.h"
#include "format/fxt/wire.h"
#include "model/args.h"
#include "model/trace.h"

extern const struct spur_format spur_format_fxt;

static struct out file; /* what is being written */
static struct out seen; /* of the last read_file() */
static bool big; /* byte order of what is written */
static size_t record_at; /* where the record that is being written begins */

static inline int file_setup(void **state)
{
	(void)state;
	big = false;
	out_to_memory(&file);
	out_to_memory(&seen);
	return 0;
}

static inline int file_teardown(void **state)
{
	(void)state;
	out_free(&file);
	out_free(&seen);
	return 0;
}

/* --- words --- */

static inline void w(uint64_t v)
{
	v = order_swaps(big) ? __builtin_bswap64(v) : v;
	out_bytes(&file, &v, sizeof(v));
}

static inline void bytes(const void *p, size_t len)
{
	out_bytes(&file, p, len);
	out_pad(&file, '\0', align_up(len, 8) - len);
}

/* A reference to a string. */
struct ref {
	uint64_t bits;
	const char *text;
};

static const struct ref none;

static inline struct ref at(unsigned index)
{
	return (struct ref){ index, NULL };
}

static inline struct ref in(const char *s)
{
	return (struct ref){ FXT_INLINE | strlen(s), s };
}

static inline void ref_text(struct ref r)
{
	if (r.text)
		bytes(r.text, strlen(r.text));
}

/* --- records: head(), words, done() --- */

static inline void head(unsigned type, uint64_t fields)
{
	record_at = file.len;
	w(type | fields);
}

/* Its size is written in words. */
static inline void done_as(uint64_t words)
{
	uint64_t h = load64((const uint8_t *)file.buf + record_at, order_swaps(big));

	h |= words << 4;
	h = order_swaps(big) ? __builtin_bswap64(h) : h;
	memcpy(file.buf + record_at, &h, sizeof(h));
}

static inline void done(void)
{
	done_as((file.len - record_at) / 8);
}

static inline void magic(void)
{
	w(FXT_MAGIC);
}

static inline void provider(unsigned id, const char *name)
{
	head(FXT_METADATA, 1 << 16 | (uint64_t)id << 20 | (uint64_t)strlen(name) << 52);
	bytes(name, strlen(name));
	done();
}

static inline void section(unsigned id)
{
	head(FXT_METADATA, 2 << 16 | (uint64_t)id << 20);
	done();
}

static inline void provider_event(unsigned id, unsigned event)
{
	head(FXT_METADATA, 3 << 16 | (uint64_t)id << 20 | (uint64_t)event << 52);
	done();
}

static inline void init(uint64_t hz)
{
	head(FXT_INIT, 0);
	w(hz);
	done();
}

static inline void string(unsigned index, const char *s)
{
	head(FXT_STRING, (uint64_t)index << 16 | (uint64_t)strlen(s) << 32);
	bytes(s, strlen(s));
	done();
}

static inline void thread(unsigned index, uint64_t pid, uint64_t tid)
{
	head(FXT_THREAD, (uint64_t)index << 16);
	w(pid);
	w(tid);
	done();
}

/* Up to the arguments. Thread 0: process 10, thread 11, inline. */
static inline void event(unsigned type, uint64_t ts, unsigned thread_ref, struct ref cat,
			 struct ref name, unsigned nargs)
{
	head(FXT_EVENT, (uint64_t)type << 16 | (uint64_t)nargs << 20 | (uint64_t)thread_ref << 24 |
				cat.bits << 32 | name.bits << 48);
	w(ts);
	if (!thread_ref) {
		w(10);
		w(11);
	}
	ref_text(cat);
	ref_text(name);
}

/* A whole event of thread 0 without arguments; `tail` where its type has one. */
static inline void plain(unsigned type, uint64_t ts, const char *name, uint64_t tail)
{
	event(type, ts, 0, none, *name ? in(name) : none, 0);
	if (fxt_has_tail(type))
		w(tail);
	done();
}

/* An argument; its size is what it takes. `value`: of types that have a word. */
static inline void arg(unsigned type, struct ref name, uint64_t high, struct ref text,
		       const uint64_t *value)
{
	uint64_t size = 1 + (value != NULL);

	size += name.text ? align_up(strlen(name.text), 8) / 8 : 0;
	size += text.text ? align_up(strlen(text.text), 8) / 8 : 0;
	w(type | size << 4 | name.bits << 16 | (high | text.bits) << 32);
	ref_text(name);
	ref_text(text);
	if (value)
		w(*value);
}

static inline void arg_i32(struct ref name, int32_t v)
{
	arg(FXT_ARG_I32, name, (uint32_t)v, none, NULL);
}

static inline void arg_word(unsigned type, struct ref name, uint64_t v)
{
	arg(type, name, 0, none, &v);
}

/* Magic, provider 1 "p", strings 1 "cat" and 2 "name", thread 1 (10/11). */
static inline void basics(void)
{
	magic();
	provider(1, "p");
	string(1, "cat");
	string(2, "name");
	thread(1, 10, 11);
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
	case SPUR_BOOL:
	case SPUR_KOID:
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
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		out_char(&seen, '[');
		for (uint32_t i = 0; i < v->count; i++) {
			out_str(&seen, i ? " " : "");
			see_value(t, &v->items[i]);
		}
		out_char(&seen, ']');
		break;
	default:
		out_str(&seen, "null");
	}
	if (v->label)
		out_printf(&seen, ":%s", v->label);
}

static inline void see_args(struct spur_trace *t, const struct spur_args *args)
{
	for (size_t i = 0; i < args->count; i++) {
		out_str(&seen, i ? ", " : " (");
		see_value(t, &args->items[i]);
	}
	out_str(&seen, args->count ? ")\n" : "\n");
}

static inline void see_row(struct spur_trace *t, const struct spur_event *row,
			   struct spur_args *args, bool fields)
{
	static const struct {
		unsigned flag;
		const char *name;
	} flags[] = { { SPUR_F_RETIMED, " retimed" },
		      { SPUR_F_UNRELIABLE, " unreliable" },
		      { SPUR_F_OUT, " out" },
		      { SPUR_F_IN, " in" },
		      { SPUR_F_PREEMPTED, " preempted" },
		      { SPUR_F_ANY, " any" } };
	const struct spur_track *k = spur_track(t, row->track);

	out_printf(&seen, "%lld %s ", (long long)row->ts, spur_kind_name(row->kind));
	if (row->cat)
		out_printf(&seen, "%s:", spur_string(t, row->cat, NULL));
	out_printf(&seen, "%s ", spur_string(t, row->name, NULL));
	if (k->kind == SPUR_TRACK_OTHER || k->kind == SPUR_TRACK_PROVIDER ||
	    (k->pid == -1 && k->tid == -1))
		out_str(&seen, spur_string(t, k->name, NULL));
	else
		out_printf(&seen, "%lld/%lld", (long long)k->pid, (long long)k->tid);
	if (row->cpu != SPUR_NO_CPU)
		out_printf(&seen, " @%u", row->cpu);
	if (row->kind == SPUR_SPAN)
		out_printf(&seen, " +%lld", (long long)row->dur);
	if (row->id)
		out_printf(&seen, " #%llu", (unsigned long long)row->id);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (row->flags & flags[i].flag)
			out_str(&seen, flags[i].name);
	if (fields)
		assert_int_equal(spur_format_fxt.fields(t, row, args), SPUR_OK);
	else
		assert_int_equal(spur_args(t, row, args), SPUR_OK);
	if (!fields)
		assert_int_equal(args->count, row->nargs);
	see_args(t, args);
}

static inline void see_damage(struct spur_trace *t)
{
	struct spur_damage d;

	for (size_t i = 0; i < spur_damage_count(t); i++) {
		assert_true(spur_damage(t, i, &d));
		out_printf(&seen, "%c %s at %llu", d.is_damage ? '!' : '~', d.code,
			   (unsigned long long)d.first_offset);
		if (d.bytes_lost)
			out_printf(&seen, " lost %llu", (unsigned long long)d.bytes_lost);
		if (d.count > 1)
			out_printf(&seen, " x%llu", (unsigned long long)d.count);
		out_char(&seen, '\n');
	}
}

/* As spur_open(), of what has been written. NULL: it failed. */
static inline struct spur_trace *open_file(const struct spur_options *opt)
{
	const struct source_options so = { .read_size = opt->read_size };
	struct spur_trace *t = trace_new("file", opt);
	struct spur_error err = { 0 };

	if (!t)
		return NULL;
	t->format = &spur_format_fxt;
	if (source_memory(&t->source, "file", file.len ? file.buf : "", file.len, &so, &err) !=
		    SPUR_FAIL &&
	    spur_format_fxt.open(t, t->source, &err) != SPUR_FAIL)
		return t;
	assert_int_not_equal(err.code, SPUR_ERR_NONE);
	spur_close(t);
	return NULL;
}

/* The rows as text, then the damage. With as_stored the fields instead of the arguments. */
static inline const char *read_file(const struct spur_options *opt)
{
	struct spur_trace *t = open_file(opt);
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	size_t n;

	out_clear(&seen);
	assert_non_null(t);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			see_row(t, &rows[i], &args, opt->as_stored);
	see_damage(t);
	spur_args_free(&args);
	spur_close(t);
	out_char(&seen, '\0');
	return seen.buf;
}

/* The same whatever the read size. */
static inline void expect_with(struct spur_options opt, const char *text)
{
	static const size_t sizes[] = { 0, 1, 7, 13, 4096 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		opt.read_size = sizes[i];
		assert_string_equal(read_file(&opt), text);
	}
}

static inline void expect_rows(const char *text)
{
	expect_with((struct spur_options)SPUR_OPTIONS(.threads = 1), text);
}

static inline void expect_dump(const char *text)
{
	expect_with((struct spur_options)SPUR_OPTIONS(.threads = 1, .as_stored = true), text);
}

#endif
