/*
 * What holds of the rows of any trace, whatever its format: the place of each row's record has the
 * bytes of the file; its ticks have its time; its arguments are fields of its class's schema; and
 * with bookkeeping records the rows are those of a reading without them, in places that fill the
 * files.
 */
#ifndef TESTS_UNIT_STREAM_LAWS_H
#define TESTS_UNIT_STREAM_LAWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/format.h"

/* A row without what depends on which class or track came first. */
struct law_row {
	struct spur_event ev;
	int64_t pid, tid;
	char name[64];
};

/* Bytes of a stream that belong to a row. */
struct law_place {
	uint32_t stream;
	uint64_t off, end;
	bool frames; /* what follows may be framing: see struct laws */
};

struct law_rows {
	struct law_row *list;
	size_t count, cap;
};

struct laws {
	/*
	 * Bytes at `off` of a stream that a rule of the format describes, at most up to `end`,
	 * behind a row's record.
	 */
	uint64_t (*framing)(struct spur_trace *t, const struct law_place *before, uint64_t end);
	/* Bytes counted as lost by that damage are in the file, and in no row. */
	bool (*leaves_gap)(const struct spur_damage *d);
	/* The row's record has ticks. */
	bool (*has_ticks)(struct spur_trace *t, const struct spur_event *ev);
	bool (*begins_frame)(struct spur_trace *t, const struct spur_event *ev);
	/* The row's record is a part of another row's. NULL: never. */
	bool (*is_part)(struct spur_trace *t, const struct spur_event *ev);
};

static inline struct spur_trace *law_open(const char *name, bool bookkeeping)
{
	const struct spur_options opt = SPUR_OPTIONS(.bookkeeping = bookkeeping, .threads = 1);
	struct spur_error err;
	struct spur_trace *t;

	if (spur_open(&t, name, &opt, &err) == SPUR_FAIL)
		return NULL;
	return t;
}

static inline void law_read(struct spur_trace *t, struct law_rows *rows)
{
	const struct spur_event *evs;
	enum spur_status st;
	size_t n;

	while ((st = spur_next(t, &evs, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			const struct spur_track *k = spur_track(t, evs[i].track);
			struct law_row *row;

			if (rows->count == rows->cap) {
				rows->cap = rows->cap ? 2 * rows->cap : 1024;
				rows->list = realloc(rows->list, rows->cap * sizeof(*rows->list));
				assert_non_null(rows->list);
			}
			row = &rows->list[rows->count++];
			*row = (struct law_row){ .ev = evs[i],
						 .pid = k ? k->pid : -1,
						 .tid = k ? k->tid : -1 };
			snprintf(row->name, sizeof(row->name), "%s",
				 spur_string(t, evs[i].name, NULL));
		}
	assert_int_equal(st, SPUR_END);
}

/* --- places --- */

/* The bytes of a stream's file; NULL if it is not one file of its own, or packed. */
static inline uint8_t *law_load(const char *trace, const char *stream, uint64_t size)
{
	struct stat st;
	char name[4400];
	uint8_t *data;
	FILE *f;

	if (stat(trace, &st) != 0)
		return NULL;
	if (S_ISDIR(st.st_mode))
		snprintf(name, sizeof(name), "%s/%s", trace, stream);
	else
		snprintf(name, sizeof(name), "%s", trace);
	f = fopen(name, "rb");
	if (!f)
		return NULL;
	data = malloc(size + 1);
	assert_non_null(data);
	if (fread(data, 1, size + 1, f) != size) {
		free(data);
		data = NULL;
	}
	assert_int_equal(fclose(f), 0);
	return data;
}

static inline void law_places(struct spur_trace *t, const char *name, const struct law_rows *rows)
{
	const size_t n = spur_stream_count(t);
	uint8_t **files = calloc(n + 1, sizeof(*files));

	assert_non_null(files);
	for (uint32_t i = 0; i < n; i++)
		files[i] = law_load(name, spur_stream(t, i)->path, spur_stream(t, i)->size);
	for (size_t i = 0; i < rows->count; i++) {
		const struct spur_event *ev = &rows->list[i].ev;
		const struct spur_place p = format_place(t, ev);

		if (ev->stream == SPUR_NONE)
			continue;
		assert_int_equal(p.stream, ev->stream);
		assert_true(p.origin < t->norigins);
		assert_int_equal(p.off, ev->off);
		assert_int_equal(p.bits, 8 * p.len);
		assert_true(p.off + p.len <= spur_stream(t, p.stream)->size);
		if (p.len && files[p.stream]) {
			assert_non_null(p.raw);
			assert_memory_equal(p.raw, files[p.stream] + p.off, p.len);
		}
	}
	for (uint32_t i = 0; i < n; i++)
		free(files[i]);
	free(files);
}

/* --- ticks --- */

static inline int64_t law_ns(uint64_t ticks, uint64_t hz)
{
	return hz ? (int64_t)((unsigned __int128)ticks * 1000000000 / hz) : (int64_t)ticks;
}

/* Those of a row come again in any order. */
static inline void law_ticks(struct spur_trace *t, const struct law_rows *rows,
			     const struct laws *laws)
{
	uint64_t *all = calloc(rows->count + 1, sizeof(*all));

	assert_non_null(all);
	for (size_t i = 0; i < rows->count; i++) {
		const struct spur_event *ev = &rows->list[i].ev;
		const struct spur_place p = format_place(t, ev);
		uint64_t ticks[2] = { 0 };
		const bool has = t->format->ticks && t->format->ticks(t, ev, ticks);

		if (has != laws->has_ticks(t, ev))
			fail_msg("0x%llx: ticks: expected %d, found %d",
				 (unsigned long long)ev->off, !has, has);
		if (!has || (ev->flags & SPUR_F_RETIMED))
			continue;
		all[i] = ticks[0];
		assert_int_equal(ev->ts, law_ns(ticks[0], t->origins[p.origin].hz));
		if (ev->kind == SPUR_SPAN)
			assert_int_equal(ev->ts + ev->dur,
					 law_ns(ticks[1], t->origins[p.origin].hz));
		else
			assert_int_equal(ticks[0], ticks[1]);
	}
	for (size_t i = rows->count; i-- > 0; i -= i < 97 ? i : 97) {
		uint64_t ticks[2];

		if (all[i] && t->format->ticks(t, &rows->list[i].ev, ticks))
			assert_int_equal(ticks[0], all[i]);
	}
	free(all);
}

/* --- schemas --- */

static inline void law_value(const struct spur_value *v, const struct spur_field *f)
{
	if (f->type == SPUR_NULL || v->type == SPUR_NULL)
		return;
	assert_int_equal(v->type, f->type);
	if (v->type == SPUR_STRUCT) {
		assert_int_equal(v->count, f->nitems);
		for (uint32_t i = 0; i < v->count; i++)
			law_value(&v->items[i], &f->items[i]);
	} else if (v->type == SPUR_ARRAY) {
		assert_int_equal(f->nitems, 1);
		for (uint32_t i = 0; i < v->count; i++)
			law_value(&v->items[i], f->items);
	} else if (f->count && (v->type == SPUR_STRING || v->type == SPUR_BYTES)) {
		assert_int_equal(v->count, f->count);
	} else if (f->bits && v->size) {
		assert_int_equal(8 * v->size, f->bits);
	}
}

/*
 * Values are fields in their order; what is left out is optional, or behind the last value if it is
 * damaged.
 */
static inline void law_args(const struct spur_args *args, const struct spur_field *f, uint32_t n,
			    bool open, bool damaged)
{
	uint32_t at = 0;

	for (size_t i = 0; i < args->count; i++) {
		while (at < n && f[at].name != args->items[i].name && f[at].optional)
			at++;
		if (at == n) {
			assert_true(open);
			return;
		}
		assert_int_equal(args->items[i].name, f[at].name);
		law_value(&args->items[i], &f[at++]);
	}
	for (; at < n && !damaged; at++)
		assert_true(f[at].optional);
}

static inline void law_schemas(struct spur_trace *t, const struct law_rows *rows)
{
	struct spur_args args = { 0 };

	for (size_t i = 0; i < rows->count; i++) {
		const struct spur_event *ev = &rows->list[i].ev;
		const struct spur_schema *s = format_schema(t, ev->cls);
		const enum spur_status st = spur_args(t, ev, &args);
		const bool end = ev->kind == SPUR_END_SPAN;

		assert_non_null(s);
		assert_ptr_equal(s, format_schema(t, ev->cls));
		assert_int_not_equal(st, SPUR_FAIL);
		if (args.count)
			law_args(&args, end ? s->end : s->begin, end ? s->nend : s->nbegin, s->open,
				 st != SPUR_OK);
	}
	spur_args_free(&args);
}

/* --- bookkeeping --- */

static inline bool law_equal(const struct law_row *a, const struct law_row *b)
{
	return a->ev.ts == b->ev.ts && a->ev.dur == b->ev.dur && a->ev.id == b->ev.id &&
	       a->ev.off == b->ev.off && a->ev.len == b->ev.len && a->ev.stream == b->ev.stream &&
	       a->ev.kind == b->ev.kind && a->ev.nargs == b->ev.nargs &&
	       a->ev.flags == b->ev.flags && a->ev.cpu == b->ev.cpu && a->pid == b->pid &&
	       a->tid == b->tid && strcmp(a->name, b->name) == 0;
}

/* `with` has the rows of `without` in their order, and NATIVE rows besides. */
static inline void law_same_rows(const struct law_rows *without, const struct law_rows *with)
{
	size_t at = 0;
	bool back = false;

	for (size_t i = 0; i < with->count; i++) {
		if (at < without->count && law_equal(&without->list[at], &with->list[i]))
			at++;
		else
			assert_int_equal(with->list[i].ev.kind, SPUR_NATIVE);
		back = back || (with->list[i].ev.flags & SPUR_F_BACK);
		if (i && !back)
			assert_true(with->list[i].ev.ts >= with->list[i - 1].ev.ts);
	}
	assert_int_equal(at, without->count);
}

static inline int law_order(const void *a, const void *b)
{
	const struct law_place *p = a, *q = b;

	if (p->stream != q->stream)
		return p->stream < q->stream ? -1 : 1;
	return p->off < q->off ? -1 : p->off > q->off;
}

static inline uint64_t law_lost(struct spur_trace *t, const struct laws *laws, bool *exact)
{
	struct spur_damage d;
	uint64_t lost = 0;

	*exact = true;
	for (size_t i = 0; i < spur_damage_count(t); i++)
		if (spur_damage(t, i, &d) && d.bytes_lost) {
			lost += d.bytes_lost;
			*exact = *exact && laws->leaves_gap(&d);
		}
	return lost;
}

/* The system could not read the stream's file. */
static inline bool law_unreadable(struct spur_trace *t, uint32_t stream)
{
	struct spur_damage d;

	for (size_t i = 0; i < spur_damage_count(t); i++)
		if (spur_damage(t, i, &d) && strstr(d.code, "/unreadable") &&
		    strcmp(d.file, spur_stream(t, stream)->path) == 0 && !d.bytes_lost)
			return true;
	return false;
}

/* Each byte is in one row at most; those in none are framing, or were counted as lost. */
static inline void law_tile(struct spur_trace *t, const struct law_rows *rows,
			    const struct laws *laws)
{
	struct law_place *list = calloc(rows->count + 1, sizeof(*list)), last = { .frames = false };
	uint64_t at = 0, gaps = 0, lost;
	size_t n = 0;
	bool exact;

	assert_non_null(list);
	for (size_t i = 0; i < rows->count; i++) {
		const struct spur_event *ev = &rows->list[i].ev;
		const struct spur_place p = format_place(t, ev);

		if (laws->is_part && laws->is_part(t, ev))
			continue;
		if (p.len && p.stream != SPUR_NONE)
			list[n++] = (struct law_place){ p.stream, p.off, p.off + p.len,
							laws->begins_frame &&
								laws->begins_frame(t, ev) };
	}
	qsort(list, n, sizeof(*list), law_order);
	for (uint32_t s = 0, i = 0; s < spur_stream_count(t); s++) {
		const uint64_t size = spur_stream(t, s)->size;

		last = (struct law_place){ .stream = s };
		if (law_unreadable(t, s)) {
			while (i < n && list[i].stream == s)
				i++;
			continue;
		}
		for (at = 0; at < size; i++) {
			const bool here = i < n && list[i].stream == s;
			const uint64_t next = here ? list[i].off : size;

			if (next < at)
				fail_msg("stream %u: 0x%llx: expected a record behind 0x%llx", s,
					 (unsigned long long)next, (unsigned long long)at);
			if (next > at && laws->framing)
				at += laws->framing(t, &last, next);
			assert_true(next >= at);
			gaps += next - at;
			if (!here)
				break;
			at = list[i].end;
			last = list[i];
		}
	}
	lost = law_lost(t, laws, &exact);
	if (exact)
		assert_int_equal(gaps, lost);
	else
		assert_true(gaps <= lost);
	free(list);
}

/*
 * All laws, of one trace; of a joined one, whose rows are of several formats, those of bookkeeping.
 * Returns false if it cannot be opened.
 */
static inline bool law_check(const char *name, const struct laws *laws)
{
	struct law_rows without = { 0 }, with = { 0 };
	struct spur_trace *plain = law_open(name, false), *books = law_open(name, true);

	assert_int_equal(plain != NULL, books != NULL);
	if (!plain)
		return false;
	law_read(plain, &without);
	law_read(books, &with);
	if (!plain->nparts) {
		law_places(plain, name, &without);
		law_places(books, name, &with);
		law_ticks(plain, &without, laws);
		law_ticks(books, &with, laws);
		law_schemas(plain, &without);
		law_schemas(books, &with);
	}
	law_same_rows(&without, &with);
	law_tile(books, &with, laws);
	spur_close(plain);
	spur_close(books);
	free(without.list);
	free(with.list);
	return true;
}

#endif
