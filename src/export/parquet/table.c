/* See table.h; the numbers are those of parquet.thrift in github.com/apache/parquet-format. */
#include "export/parquet/table.h"

#include <stdio.h>

#include "base/bits.h"
#include "base/text.h"
#include "export/parquet/thrift.h"

enum {
	GROUP_ROWS = 1 << 16,
	GROUP_BYTES = 4 << 20, /* of texts */
	NAMES = 1 << 28,
	STAT_BYTES = 64, /* longer texts are no statistics */

	TYPE_INT64 = 2,
	TYPE_DOUBLE = 5,
	TYPE_BYTE_ARRAY = 6,
	REQUIRED = 0,
	OPTIONAL = 1,
	CONVERTED_UTF8 = 0,
	CONVERTED_UINT_64 = 14,
	ENCODING_PLAIN = 0,
	ENCODING_RLE = 3,
	ENCODING_RLE_DICTIONARY = 8,
	PAGE_DATA = 0,
	PAGE_DICTIONARY = 2,
};

static const char magic[4] = { 'P', 'A', 'R', '1' };

/* --- rows --- */

static void present(struct table *t, size_t column, bool is)
{
	if (t->defs[column].optional)
		out_char(&t->columns[column].present, is);
	assert(is || t->defs[column].optional);
}

static void fixed_out(struct out *o, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		out_char(o, (char)(v >> (8 * i)));
}

static bool is_less(const struct table *t, size_t column, uint64_t a, uint64_t b)
{
	return t->defs[column].type == COLUMN_UINT ? a < b : (int64_t)a < (int64_t)b;
}

void table_number(struct table *t, size_t column, uint64_t v)
{
	struct column *c = &t->columns[column];

	present(t, column, true);
	fixed_out(&c->values, v, 8);
	if (!c->any || is_less(t, column, v, c->least))
		c->least = v;
	if (!c->any || is_less(t, column, c->most, v))
		c->most = v;
	c->any = true;
}

void table_double(struct table *t, size_t column, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	present(t, column, true);
	fixed_out(&t->columns[column].values, bits, 8);
}

/* Returns false if it was not UTF-8. */
static bool text_out(struct table *t, const char *s, size_t len, bool utf8, struct out *o)
{
	const bool good = !utf8 || utf8_all_valid(s, len);

	if (!good) {
		out_clear(&t->safe);
		out_safe(&t->safe, s, len);
		t->failed |= t->safe.error != 0;
		s = t->safe.buf;
		len = t->safe.len;
	}
	fixed_out(o, len, 4);
	out_bytes(o, s, len);
	t->bytes += len;
	return good;
}

void table_name(struct table *t, size_t column, uint32_t string)
{
	struct column *c = &t->columns[column];
	struct map64_slot *slot = map64_put(&c->places, string);
	size_t len;

	present(t, column, true);
	if (!slot || (!slot->value && !mem_grow((void **)&c->names, &c->names_cap, c->nnames + 1,
						sizeof(*c->names), NAMES))) {
		t->failed = true;
		return;
	}
	if (!slot->value) {
		const char *s = trace_string(t->trace, string, &len);

		c->names[c->nnames++] = string;
		slot->value = c->nnames;
		text_out(t, s, len, true, &c->dictionary);
	}
	fixed_out(&c->values, slot->value - 1, 4);
}

bool table_text(struct table *t, size_t column, const char *s, size_t len)
{
	present(t, column, true);
	return text_out(t, s, len, t->defs[column].type == COLUMN_TEXT, &t->columns[column].values);
}

void table_null(struct table *t, size_t column)
{
	present(t, column, false);
	t->columns[column].nulls++;
}

/* --- pages --- */

/* Bits of `n` values, of `width` bits each, the lowest first, as one bit-packed run. */
static void packed_out(struct out *o, const uint8_t *values, size_t n, size_t bytes,
		       unsigned width)
{
	uint64_t bits = 0;
	unsigned have = 0;

	thrift_varint(o, (n + 7) / 8 << 1 | 1);
	for (size_t i = 0; i < (n + 7) / 8 * 8; i++) {
		const uint64_t v = i >= n      ? 0
				   : bytes > 1 ? load32(values + i * bytes, false)
					       : values[i];

		bits |= v << have;
		for (have += width; have >= 8; have -= 8) {
			out_char(o, (char)bits);
			bits >>= 8;
		}
	}
}

static void page_header(struct out *o, int type, size_t bytes, size_t values, int encoding)
{
	unsigned last = 0, inner = 0;

	thrift_i32(o, &last, 1, type);
	thrift_i32(o, &last, 2, (int64_t)bytes);
	thrift_i32(o, &last, 3, (int64_t)bytes);
	thrift_field(o, &last, type == PAGE_DATA ? 5 : 7, THRIFT_STRUCT);
	thrift_i32(o, &inner, 1, (int64_t)values);
	thrift_i32(o, &inner, 2, encoding);
	if (type == PAGE_DATA) {
		thrift_i32(o, &inner, 3, ENCODING_RLE);
		thrift_i32(o, &inner, 4, ENCODING_RLE);
	}
	thrift_stop(o);
	thrift_stop(o);
}

static unsigned width_of(size_t n)
{
	unsigned width = 1;

	while (width < 32 && n > (size_t)1 << width)
		width++;
	return width;
}

/* The values of a column's group, as a page in t->page. */
static void page_make(struct table *t, size_t column)
{
	const struct column *c = &t->columns[column];
	struct out *o = &t->page;

	out_clear(o);
	t->failed |= c->values.error || c->present.error || c->dictionary.error;
	if (t->failed)
		return; /* there are fewer values than rows */
	if (t->defs[column].optional) {
		fixed_out(o, 0, 4);
		packed_out(o, (const uint8_t *)c->present.buf, t->rows, 1, 1);
		if (!o->error)
			store32(o->buf, (uint32_t)(o->len - 4), false);
	}
	if (t->defs[column].type == COLUMN_NAME) {
		const unsigned width = width_of(c->nnames);

		out_char(o, (char)width);
		packed_out(o, (const uint8_t *)c->values.buf, c->values.len / 4, 4, width);
	} else {
		out_bytes(o, c->values.buf, c->values.len);
	}
	t->failed |= o->error != 0;
}

/* --- metadata --- */

static const char *least_name(const struct table *t, const struct column *c, bool most,
			      size_t *len)
{
	const char *best = NULL;

	*len = 0;
	for (size_t i = 0; i < c->nnames; i++) {
		size_t n;
		const char *s = trace_string(t->trace, c->names[i], &n);
		const size_t both = n < *len ? n : *len;
		int order = best ? memcmp(s, best, both) : 0;

		order = order ? order : (n > *len) - (n < *len);
		if (!best || (most ? order > 0 : order < 0)) {
			best = s;
			*len = n;
		}
	}
	return best;
}

static void statistics_out(const struct table *t, size_t column, struct out *o)
{
	const struct column *c = &t->columns[column];
	unsigned last = 0;

	thrift_i64(o, &last, 3, c->nulls);
	for (unsigned most = 1; most <= 1; most--) {
		if (c->any) {
			thrift_field(o, &last, most ? 5 : 6, THRIFT_BINARY);
			thrift_varint(o, 8);
			fixed_out(o, most ? c->most : c->least, 8);
		} else if (c->nnames) {
			size_t len, other_len;
			const char *s = least_name(t, c, most, &len);
			const char *other = least_name(t, c, !most, &other_len);

			if (len <= STAT_BYTES && other_len <= STAT_BYTES &&
			    utf8_all_valid(s, len) && utf8_all_valid(other, other_len))
				thrift_binary(o, &last, most ? 5 : 6, s, len);
		}
	}
	thrift_stop(o);
}

static int physical_type(const struct column_def *d)
{
	return d->type == COLUMN_DOUBLE ? TYPE_DOUBLE : d->type >= COLUMN_NAME ? TYPE_BYTE_ARRAY
									       : TYPE_INT64;
}

/* Where a column's group lies in the file. */
struct chunk {
	uint64_t dictionary, data, end; /* dictionary == data: no dictionary */
};

static void chunk_out(struct table *t, size_t column, const struct chunk *k)
{
	const struct column_def *d = &t->defs[column];
	const bool is_name = d->type == COLUMN_NAME;
	struct out *o = &t->groups;
	unsigned last = 0, meta = 0;

	thrift_i64(o, &last, 2, k->dictionary);
	thrift_field(o, &last, 3, THRIFT_STRUCT);
	thrift_i32(o, &meta, 1, physical_type(d));
	thrift_list(o, &meta, 2, THRIFT_I32, is_name ? 3 : 2);
	thrift_zigzag(o, ENCODING_PLAIN);
	thrift_zigzag(o, ENCODING_RLE);
	if (is_name)
		thrift_zigzag(o, ENCODING_RLE_DICTIONARY);
	thrift_list(o, &meta, 3, THRIFT_BINARY, 1);
	thrift_bytes(o, d->name, strlen(d->name));
	thrift_i32(o, &meta, 4, 0); /* not packed */
	thrift_i64(o, &meta, 5, t->rows);
	thrift_i64(o, &meta, 6, k->end - k->dictionary);
	thrift_i64(o, &meta, 7, k->end - k->dictionary);
	thrift_i64(o, &meta, 9, k->data);
	if (is_name)
		thrift_i64(o, &meta, 11, k->dictionary);
	thrift_field(o, &meta, 12, THRIFT_STRUCT);
	statistics_out(t, column, o);
	thrift_stop(o);
	thrift_stop(o);
}

static uint64_t file_at(const struct table *t)
{
	return t->file.flushed + t->file.len;
}

static void column_clear(struct column *c)
{
	out_clear(&c->values);
	out_clear(&c->present);
	out_clear(&c->dictionary);
	map64_free(&c->places);
	c->places = (struct map64){ .cap = 0 };
	c->nnames = 0;
	c->nulls = 0;
	c->any = false;
}

static struct chunk column_write(struct table *t, size_t column)
{
	struct column *c = &t->columns[column];
	const bool is_name = t->defs[column].type == COLUMN_NAME;
	struct chunk k = { .dictionary = file_at(t) };

	if (is_name) {
		page_header(&t->file, PAGE_DICTIONARY, c->dictionary.len, c->nnames,
			    ENCODING_PLAIN);
		out_bytes(&t->file, c->dictionary.buf, c->dictionary.len);
	}
	k.data = file_at(t);
	page_make(t, column);
	page_header(&t->file, PAGE_DATA, t->page.len, t->rows,
		    is_name ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN);
	out_bytes(&t->file, t->page.buf, t->page.len);
	k.end = file_at(t);
	return k;
}

static void group_write(struct table *t)
{
	const uint64_t begin = file_at(t);
	unsigned last = 0;

	thrift_list(&t->groups, &last, 1, THRIFT_STRUCT, t->ncolumns);
	for (size_t i = 0; i < t->ncolumns; i++) {
		const struct chunk k = column_write(t, i);

		chunk_out(t, i, &k);
		column_clear(&t->columns[i]);
	}
	thrift_i64(&t->groups, &last, 2, file_at(t) - begin);
	thrift_i64(&t->groups, &last, 3, t->rows);
	thrift_stop(&t->groups);
	t->failed |= t->groups.error != 0;
	t->total += t->rows;
	t->ngroups++;
	t->rows = 0;
	t->bytes = 0;
}

void table_row(struct table *t)
{
	t->rows++;
	if (t->rows == GROUP_ROWS || t->bytes >= GROUP_BYTES)
		group_write(t);
}

static void logical_out(const struct table *t, const struct column_def *d, unsigned *last,
			struct out *o)
{
	unsigned kind = 0, inner = 0, unit = 0;

	if (d->type == COLUMN_NAME || d->type == COLUMN_TEXT)
		thrift_i32(o, last, 6, CONVERTED_UTF8);
	else if (d->type == COLUMN_UINT)
		thrift_i32(o, last, 6, CONVERTED_UINT_64);
	else if (d->type != COLUMN_TIME)
		return;
	thrift_field(o, last, 10, THRIFT_STRUCT);
	if (d->type == COLUMN_TIME) {
		thrift_field(o, &kind, 8, THRIFT_STRUCT);
		thrift_field(o, &inner, 1, t->utc ? THRIFT_TRUE : THRIFT_FALSE);
		thrift_field(o, &inner, 2, THRIFT_STRUCT);
		thrift_field(o, &unit, 3, THRIFT_STRUCT); /* NANOS */
		thrift_stop(o);
		thrift_stop(o);
	} else if (d->type == COLUMN_UINT) {
		thrift_field(o, &kind, 10, THRIFT_STRUCT);
		thrift_field(o, &inner, 1, THRIFT_BYTE);
		out_char(o, 64);
		thrift_field(o, &inner, 2, THRIFT_FALSE);
	} else {
		thrift_field(o, &kind, 1, THRIFT_STRUCT);
	}
	thrift_stop(o);
	thrift_stop(o);
}

static void schema_out(const struct table *t, unsigned *last, struct out *o)
{
	unsigned root = 0;

	thrift_list(o, last, 2, THRIFT_STRUCT, t->ncolumns + 1);
	thrift_binary(o, &root, 4, "schema", 6);
	thrift_i32(o, &root, 5, (int64_t)t->ncolumns);
	thrift_stop(o);
	for (size_t i = 0; i < t->ncolumns; i++) {
		const struct column_def *d = &t->defs[i];
		unsigned field = 0;

		thrift_i32(o, &field, 1, physical_type(d));
		thrift_i32(o, &field, 3, d->optional ? OPTIONAL : REQUIRED);
		thrift_binary(o, &field, 4, d->name, strlen(d->name));
		logical_out(t, d, &field, o);
		thrift_stop(o);
	}
}

static void foot_out(struct table *t)
{
	struct out *o = &t->page;
	unsigned last = 0;
	char by[64];

	out_clear(o);
	thrift_i32(o, &last, 1, 1);
	schema_out(t, &last, o);
	thrift_i64(o, &last, 3, t->total);
	thrift_list(o, &last, 4, THRIFT_STRUCT, t->ngroups);
	out_bytes(o, t->groups.buf, t->groups.len);
	snprintf(by, sizeof(by), "spur version %s", spur_version());
	thrift_binary(o, &last, 6, by, strlen(by));
	/* Least and most values are by the order of the columns' types. */
	thrift_list(o, &last, 7, THRIFT_STRUCT, t->ncolumns);
	for (size_t i = 0; i < t->ncolumns; i++) {
		unsigned order = 0;

		thrift_field(o, &order, 1, THRIFT_STRUCT);
		thrift_stop(o);
		thrift_stop(o);
	}
	thrift_stop(o);
	t->failed |= o->error != 0;
	out_bytes(&t->file, o->buf, o->len);
	fixed_out(&t->file, o->len, 4);
	out_bytes(&t->file, magic, sizeof(magic));
}

bool table_end(struct table *t)
{
	if (t->rows)
		group_write(t);
	foot_out(t);
	return !t->failed;
}

void table_begin(struct table *t, struct spur_trace *trace, const struct column_def *defs,
		 size_t ncolumns)
{
	assert(ncolumns <= TABLE_COLUMNS);
	t->trace = trace;
	t->defs = defs;
	t->ncolumns = ncolumns;
	t->utc = trace->clock.epoch_known;
	out_to_memory(&t->page);
	out_to_memory(&t->groups);
	out_to_memory(&t->safe);
	for (size_t i = 0; i < ncolumns; i++) {
		out_to_memory(&t->columns[i].values);
		out_to_memory(&t->columns[i].present);
		out_to_memory(&t->columns[i].dictionary);
	}
	out_bytes(&t->file, magic, sizeof(magic));
}

void table_free(struct table *t)
{
	for (size_t i = 0; i < t->ncolumns; i++) {
		struct column *c = &t->columns[i];

		out_free(&c->values);
		out_free(&c->present);
		out_free(&c->dictionary);
		map64_free(&c->places);
		mem_free(c->names);
	}
	out_free(&t->page);
	out_free(&t->groups);
	out_free(&t->safe);
}
