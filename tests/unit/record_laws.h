/*
 * What holds for the rows of every trace that is one file: places, raw times, schemas, bookkeeping
 * (docs/formats, format/format.h). The bytes are read from the file apart from the library.
 */
#ifndef TESTS_UNIT_RECORD_LAWS_H
#define TESTS_UNIT_RECORD_LAWS_H

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

#include "format/format.h"
#include "model/args.h"
#include "model/trace.h"

struct law_row {
	struct spur_event ev;
	uint64_t len; /* of its place */
};

struct law_rows {
	struct law_row *items;
	size_t count;
};

/* What differs between formats. */
struct laws {
	const char *format;
	/* Codes of damage inside records that are rows all the same; NULL-ended. */
	const char *const *inside;
	void (*begin)(const char *path, const uint8_t *data, size_t size); /* a file is next */
	bool zeros_end; /* zeros behind the last record are framing */
	/* The raw times of a record, read from its bytes by the test; false: it has none. */
	bool (*ticks)(const uint8_t *record, uint64_t len, const struct spur_event *ev,
		      uint64_t ticks[2]);
	/* The time that the bookkeeping row at items[i] has; rows are in order of their offsets. */
	int64_t (*book_time)(const struct law_rows *rows, size_t i);
};

static size_t laws_files; /* tried so far */

static inline uint8_t *law_bytes(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*len = (size_t)ftell(f);
	rewind(f);
	data = malloc(*len + 1);
	assert_int_equal(fread(data, 1, *len, f), *len);
	fclose(f);
	return data;
}

static inline bool law_field_holds(const struct spur_field *f, const struct spur_value *v)
{
	if (f->type != SPUR_NULL && f->type != v->type)
		return false;
	for (uint32_t i = 0; f->type == SPUR_ARRAY && i < v->count; i++)
		if (f->nitems != 1 || !law_field_holds(f->items, &v->items[i]))
			return false;
	return !f->bits || !v->size || f->bits == 8u * v->size;
}

/* Every value has a field of its own by name and type; fields that no value has are optional. */
static inline void law_schema(struct spur_trace *t, const struct spur_event *ev,
			      struct spur_args *args)
{
	const struct spur_schema *s = format_schema(t, ev->cls);
	const bool end = ev->kind == SPUR_END_SPAN;
	const struct spur_field *fields;
	uint32_t n;
	bool *used;

	assert_non_null(s);
	assert_ptr_equal(format_schema(t, ev->cls), s);
	fields = end ? s->end : s->begin;
	n = end ? s->nend : s->nbegin;
	used = calloc(n + 1, sizeof(*used));
	assert_int_not_equal(spur_args(t, ev, args), SPUR_FAIL);
	for (size_t i = 0; i < args->count; i++) {
		uint32_t k = 0;

		while (k < n && (used[k] || fields[k].name != args->items[i].name ||
				 !law_field_holds(&fields[k], &args->items[i])))
			k++;
		assert_true(k < n || n >= 1024);
		used[k] = true;
	}
	for (uint32_t k = 0; k < n; k++)
		assert_true(used[k] || fields[k].optional);
	free(used);
}

static inline void law_place(struct spur_trace *t, const struct laws *l, struct law_row *row,
			     const uint8_t *data, size_t size)
{
	const struct spur_place p = format_place(t, &row->ev);
	uint64_t want[2] = { 0, 0 }, got[2] = { 0, 0 };

	assert_int_equal(p.stream, row->ev.stream);
	assert_int_equal(p.off, row->ev.off);
	assert_true(p.off <= size && p.len <= size - p.off);
	assert_int_equal(p.bits, 8 * p.len);
	assert_int_equal(p.first_bit, 0);
	assert_true(p.origin < t->norigins);
	assert_true(p.len || !p.raw);
	if (p.len)
		assert_memory_equal(p.raw, data + p.off, p.len);
	row->len = p.len;
	assert_int_equal(t->format->ticks(t, &row->ev, got),
			 p.len && l->ticks(data + p.off, p.len, &row->ev, want));
	assert_int_equal(got[0], want[0]);
	assert_int_equal(got[1], want[1]);
}

static inline struct law_rows law_read(struct spur_trace *t, const struct laws *l,
				       const uint8_t *data, size_t size)
{
	struct law_rows rows = { 0 };
	struct spur_args args = { 0 };
	const struct spur_event *events;
	size_t n;

	while (spur_next(t, &events, &n) == SPUR_OK) {
		rows.items = realloc(rows.items, (rows.count + n) * sizeof(*rows.items));
		for (size_t i = 0; i < n; i++) {
			struct law_row *row = &rows.items[rows.count++];

			*row = (struct law_row){ .ev = events[i] };
			law_place(t, l, row, data, size);
			law_schema(t, &events[i], &args);
		}
	}
	spur_args_free(&args);
	return rows;
}

static inline bool law_tracks_equal(const struct spur_trace *t, uint32_t a,
				    const struct spur_trace *u, uint32_t b)
{
	const struct spur_track *k = spur_track(t, a), *m = spur_track(u, b);

	return k && m && k->kind == m->kind && k->pid == m->pid && k->tid == m->tid &&
	       strcmp(spur_string(t, k->name, NULL), spur_string(u, m->name, NULL)) == 0;
}

static inline bool law_rows_equal(const struct spur_trace *t, const struct spur_event *a,
				  const struct spur_trace *u, const struct spur_event *b)
{
	return a->ts == b->ts && a->dur == b->dur && a->id == b->id && a->off == b->off &&
	       a->len == b->len && a->kind == b->kind && a->flags == b->flags &&
	       a->nargs == b->nargs && a->cpu == b->cpu && a->depth == b->depth &&
	       strcmp(spur_string(t, a->name, NULL), spur_string(u, b->name, NULL)) == 0 &&
	       strcmp(spur_string(t, a->cat, NULL), spur_string(u, b->cat, NULL)) == 0 &&
	       law_tracks_equal(t, a->track, u, b->track);
}

static inline int law_by_offset(const void *a, const void *b)
{
	const struct law_row *x = a, *y = b;

	if (x->ev.off != y->ev.off)
		return x->ev.off < y->ev.off ? -1 : 1;
	return (x->len > y->len) - (x->len < y->len);
}

static inline uint64_t law_lost(struct spur_trace *t, const struct laws *l)
{
	uint64_t lost = 0;
	struct spur_damage d;

	for (size_t i = 0; i < spur_damage_count(t); i++) {
		bool inside = false;

		assert_true(spur_damage(t, i, &d));
		for (const char *const *code = l->inside; *code; code++)
			inside |= strcmp(*code, d.code) == 0;
		lost += inside ? 0 : d.bytes_lost;
	}
	return lost;
}

/*
 * Places, in the order of their offsets, do not overlap; what lies between them was counted as
 * lost.
 */
static inline void law_tile(struct spur_trace *t, const struct laws *l, const struct law_rows *rows,
			    const uint8_t *data, size_t size)
{
	uint64_t at = 0, between = 0, last = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct law_row *row = &rows->items[i];

		if (!row->len)
			continue;
		/* Two rows of one record have one place. */
		if (row->ev.off == last && at == last + row->len && i)
			continue;
		assert_true(row->ev.off >= at);
		between += row->ev.off - at;
		last = row->ev.off;
		at = last + row->len;
	}
	if (l->zeros_end) {
		uint64_t end = size;

		while (end > at && !data[end - 1])
			end--;
		if (end == at)
			size = at;
	}
	assert_int_equal(between + size - at, law_lost(t, l));
}

/* The rows of `all` that are not those of `few` are bookkeeping rows. */
static inline void law_books(struct spur_trace *t, const struct law_rows *few, struct spur_trace *u,
			     const struct laws *l, struct law_rows *all)
{
	size_t next = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct spur_event *ev = &all->items[i].ev;

		assert_true(!i || ev->ts >= all->items[i - 1].ev.ts);
		if (next < few->count && law_rows_equal(t, &few->items[next].ev, u, ev)) {
			next++;
			continue;
		}
		assert_int_equal(ev->kind, SPUR_NATIVE);
		assert_true(all->items[i].len > 0);
		/* Told apart from others once they are sorted. */
		all->items[i].ev.depth = 1;
	}
	assert_int_equal(next, few->count);
	if (all->count)
		qsort(all->items, all->count, sizeof(*all->items), law_by_offset);
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].ev.depth)
			assert_int_equal(all->items[i].ev.ts, l->book_time(all, i));
}

static inline struct spur_trace *law_open(const char *path, const struct laws *l, bool books)
{
	const struct spur_options opt =
		SPUR_OPTIONS(.format = l->format, .threads = 1, .bookkeeping = books);
	struct spur_trace *t;
	struct spur_error err;

	return spur_open(&t, path, &opt, &err) == SPUR_FAIL ? NULL : t;
}

static inline void laws_hold(const char *path, const struct laws *l)
{
	struct spur_trace *t = law_open(path, l, false), *u = law_open(path, l, true);
	struct law_rows few, all;
	uint8_t *data;
	size_t size;

	assert_int_equal(!t, !u);
	if (!t)
		return;
	data = law_bytes(path, &size);
	l->begin(path, data, size);
	few = law_read(t, l, data, size);
	all = law_read(u, l, data, size);
	law_books(t, &few, u, l, &all);
	law_tile(u, l, &all, data, size);
	laws_files++;
	free(few.items);
	free(all.items);
	free(data);
	spur_close(t);
	spur_close(u);
}

/*
 * All files `DIR/NAME/REST`; those whose name begins with a point are none. Returns false if there
 * is no such folder.
 */
static inline bool laws_hold_below(const char *dir, const char *rest, const char *ending,
				   const struct laws *l)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	char path[600];

	if (!d)
		return false;
	while ((e = readdir(d)) != NULL) {
		const size_t len = strlen(e->d_name), end = strlen(ending);
		FILE *f;

		if (e->d_name[0] == '.' || len < end || strcmp(e->d_name + len - end, ending) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s%s", dir, e->d_name, rest);
		f = fopen(path, "rb");
		if (!f)
			continue;
		fclose(f);
		laws_hold(path, l);
	}
	closedir(d);
	return true;
}

#endif
