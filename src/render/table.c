/* See table.h. */
#include "render/table.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "render/cell.h"

/* --- values --- */

/* Compares a whole number with a float that is not NaN. */
static int order_whole_float(__int128 a, double b)
{
	const double two_64 = 18446744073709551616.0;
	double whole = trunc(b);
	__int128 w;

	assert(!isnan(b));
	if (b >= two_64)
		return -1;
	if (b < -two_64)
		return 1;
	w = (__int128)whole;
	if (a != w)
		return a < w ? -1 : 1;
	return (whole > b) - (whole < b);
}

static __int128 value_whole(struct table_value v)
{
	assert(v.type == TABLE_U64 || v.type == TABLE_I64);
	return v.type == TABLE_U64 ? (__int128)v.u : (__int128)v.i;
}

/* Returns 0 if there is no value, 1 for NaN, 2 for a number. */
static int value_rank(struct table_value v)
{
	return v.type == TABLE_NONE ? 0 : v.type == TABLE_F64 && isnan(v.f) ? 1 : 2;
}

int table_value_order(struct table_value a, struct table_value b)
{
	const int ra = value_rank(a), rb = value_rank(b);

	if (ra != rb || ra < 2)
		return (ra > rb) - (ra < rb);
	if (a.type == TABLE_F64 && b.type == TABLE_F64)
		return (a.f > b.f) - (a.f < b.f);
	if (a.type == TABLE_F64)
		return -order_whole_float(value_whole(b), a.f);
	if (b.type == TABLE_F64)
		return order_whole_float(value_whole(a), b.f);
	return (value_whole(a) > value_whole(b)) - (value_whole(a) < value_whole(b));
}

void table_value_out(struct out *o, struct table_value v, bool json)
{
	switch (v.type) {
	case TABLE_U64:
		out_u64(o, v.u);
		break;
	case TABLE_I64:
		out_i64(o, v.i);
		break;
	case TABLE_F64:
		if (json)
			out_json_double(o, v.f, false);
		else
			out_double(o, v.f);
		break;
	default:
		break;
	}
}

/* --- columns and order --- */

static enum table_kind kind_of(const struct table *t, int column)
{
	assert(column >= 0 && column < TABLE_COLUMNS && t->columns[column].name);
	return t->columns[column].kind;
}

enum spur_status table_options(struct table *t, const char *fields, const char *sort)
{
	const struct render_options *opt = t->env.opt;
	const char *names[TABLE_COLUMNS + 1] = { NULL };
	enum spur_status st;

	for (size_t i = 0; t->columns[i].name; i++) {
		assert(i < TABLE_COLUMNS);
		names[i] = t->columns[i].name;
	}
	st = cell_list(opt->fields ? opt->fields : fields, names, "--fields", t->shown,
		       TABLE_COLUMNS, &t->nshown, t->env.err);
	if (st == SPUR_OK)
		st = cell_list(opt->sort ? opt->sort : sort, names, "--sort", t->sort,
			       TABLE_COLUMNS, &t->nsort, t->env.err);
	for (size_t i = 0; i < t->nshown; i++)
		t->shown[i] = t->shown[i] < 0 ? ~t->shown[i] : t->shown[i];
	return st;
}

bool table_shows(const struct table *t, int column)
{
	for (size_t i = 0; i < t->nshown; i++)
		if (t->shown[i] == column)
			return true;
	return false;
}

bool table_sorts(const struct table *t, int column)
{
	for (size_t i = 0; i < t->nsort; i++)
		if (t->sort[i] == column || t->sort[i] == ~column)
			return true;
	return false;
}

/* The rows in the order in which they are shown: numbers take half of what pointers do. */
struct listing {
	const char *rows;
	size_t size; /* of a row */
	uint32_t *order; /* numbers of rows */
};

static const void *listed(const struct listing *l, size_t i)
{
	return l->rows + l->order[i] * l->size;
}

/* A table that is sorted, and two buffers for texts. */
struct sorter {
	const struct table *table;
	const struct listing *list;
	struct out *a, *b;
};

/* Unlike out_clear(), keeps the error of a text that could not be made: the table fails. */
static void scratch_clear(struct out *scratch)
{
	scratch->len = 0;
}

static int text_order(const struct sorter *s, const void *x, const void *y, int column)
{
	const struct table *t = s->table;
	size_t n;
	int c;

	scratch_clear(s->a);
	scratch_clear(s->b);
	t->text(t->self, x, column, s->a);
	t->text(t->self, y, column, s->b);
	n = s->a->len < s->b->len ? s->a->len : s->b->len;
	c = n ? memcmp(s->a->buf, s->b->buf, n) : 0;
	return c ? c : (s->a->len > s->b->len) - (s->a->len < s->b->len);
}

static bool kind_is_change(enum table_kind kind)
{
	return kind == TABLE_COUNT_CHANGE || kind == TABLE_TIME_CHANGE ||
	       kind == TABLE_SHARE_CHANGE;
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

/* By magnitude, then increases after decreases. */
static int change_order(struct table_value a, struct table_value b)
{
	if (a.type == TABLE_NONE || b.type == TABLE_NONE)
		return (a.type != TABLE_NONE) - (b.type != TABLE_NONE);
	assert(a.type == TABLE_I64 && b.type == TABLE_I64);
	if (magnitude(a.i) != magnitude(b.i))
		return magnitude(a.i) > magnitude(b.i) ? 1 : -1;
	return (a.i > b.i) - (a.i < b.i);
}

static int column_order(const struct sorter *s, const void *x, const void *y, int column)
{
	const struct table *t = s->table;
	const enum table_kind kind = kind_of(t, column);
	int c;

	if (kind == TABLE_TEXT)
		return t->text_order ? t->text_order(t->self, x, y, column)
				     : text_order(s, x, y, column);
	if (kind_is_change(kind))
		return -change_order(t->value(t->self, x, column), t->value(t->self, y, column));
	c = table_value_order(t->value(t->self, x, column), t->value(t->self, y, column));
	return kind == TABLE_ID || kind == TABLE_WHEN ? c : -c;
}

static int row_order(const void *x, const void *y, void *self)
{
	const struct sorter *s = self;
	const struct table *t = s->table;
	const uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
	const char *a = s->list->rows + i * s->list->size, *b = s->list->rows + k * s->list->size;
	int c = 0;

	for (size_t n = 0; n < t->nsort && !c; n++) {
		const int column = t->sort[n];

		c = column < 0 ? -column_order(s, a, b, ~column) : column_order(s, a, b, column);
	}
	for (size_t n = 0; t->ties && t->ties[n] >= 0 && !c; n++)
		c = column_order(s, a, b, t->ties[n]);
	for (int n = 0; !t->ties && t->columns[n].name && !c; n++)
		c = column_order(s, a, b, n);
	return c ? c : (i > k) - (i < k);
}

/* --- text --- */

static bool value_is_shown(enum table_kind kind, struct table_value v)
{
	return v.type != TABLE_NONE && (kind != TABLE_ID || v.type != TABLE_I64 || v.i >= 0);
}

static void out_share(struct out *o, uint64_t tenths)
{
	out_u64(o, tenths / 10);
	out_char(o, '.');
	out_u64(o, tenths % 10);
}

static void out_share_signed(struct out *o, int64_t tenths)
{
	out_str(o, tenths < 0 ? "-" : "");
	out_share(o, magnitude(tenths));
}

/* As people read it: with its sign, a duration with its unit. */
static void out_change(struct out *o, enum table_kind kind, int64_t v, bool raw)
{
	char cell[CELL_TIME + 16], *p = cell, *end;

	out_str(o, v > 0 ? "+" : v < 0 ? "-" : "");
	if (kind == TABLE_SHARE_CHANGE) {
		out_share(o, magnitude(v));
		out_str(o, " %");
	} else if (kind == TABLE_TIME_CHANGE && !raw) {
		end = put_time(cell, magnitude(v));
		while (*p == ' ')
			p++;
		out_bytes(o, p, (size_t)(end - p));
	} else {
		out_u64(o, magnitude(v));
	}
}

/* Writes three decimals if these are exact enough. */
static void out_mean(struct out *o, struct table_value v)
{
	uint64_t n;

	if (v.type != TABLE_F64 || !(fabs(v.f) >= 0.1 && fabs(v.f) < 1e12)) {
		table_value_out(o, v, false);
		return;
	}
	n = (uint64_t)llround(fabs(v.f) * 1000);
	out_str(o, v.f < 0 ? "-" : "");
	out_u64(o, n / 1000);
	out_char(o, '.');
	for (uint64_t unit = 100; unit; unit /= 10)
		out_char(o, (char)('0' + n / unit % 10));
}

static void out_when(const struct table *t, int64_t ts, struct out *o)
{
	char buf[WHEN_ROOM];

	out_bytes(o, buf, (size_t)(put_when(buf, &t->when, ts, 0) - buf));
}

/* Writes the cell as text tables show it, without padding. */
static void cell_plain(const struct table *t, const void *row, int column, struct out *o)
{
	const enum table_kind kind = kind_of(t, column);
	struct table_value v;

	if (kind == TABLE_TEXT) {
		t->text(t->self, row, column, o);
		return;
	}
	v = t->value(t->self, row, column);
	if (!value_is_shown(kind, v))
		return;
	assert((kind != TABLE_TIME && kind != TABLE_SHARE) || v.type == TABLE_U64);
	assert((kind != TABLE_WHEN && !kind_is_change(kind)) || v.type == TABLE_I64);
	if (kind == TABLE_TIME && !t->env.opt->raw) {
		out_time(o, v.u);
	} else if (kind == TABLE_SHARE) {
		out_share(o, v.u);
		out_str(o, " %");
	} else if (kind_is_change(kind)) {
		out_change(o, kind, v.i, t->env.opt->raw);
	} else if (kind == TABLE_WHEN) {
		out_when(t, v.i, o);
	} else if (kind == TABLE_MEAN && !t->env.opt->raw) {
		out_mean(o, v);
	} else {
		table_value_out(o, v, false);
	}
}

/* Returns false if a cell could not be made: made later, it could be wider. */
static bool text_widths(const struct table *t, const struct listing *list, size_t n,
			struct out *scratch, size_t *widths)
{
	for (size_t c = 0; c < t->nshown; c++) {
		widths[c] = strlen(t->columns[t->shown[c]].name);
		for (size_t i = 0; i < n; i++) {
			size_t w;

			scratch_clear(scratch);
			cell_plain(t, listed(list, i), t->shown[c], scratch);
			if (scratch->error)
				return false;
			w = cell_width(scratch->buf, scratch->len);
			widths[c] = w > widths[c] ? w : widths[c];
		}
	}
	return true;
}

/*
 * Writes a cell: numbers right-aligned, text left-aligned; the last is cut at the terminal's edge.
 */
static void text_cell(const struct table *t, size_t c, const char *p, size_t len, size_t width,
		      size_t *at)
{
	struct out *o = t->env.out;
	const bool last = c + 1 == t->nshown, left = kind_of(t, t->shown[c]) == TABLE_TEXT;
	const size_t edge = t->env.opt->width, own = cell_width(p, len);

	assert(own <= width);
	if (c)
		out_str(o, "  ");
	*at += c ? 2 : 0;
	if (!left)
		out_pad(o, ' ', width > own ? width - own : 0);
	if (left && last)
		out_cell(o, p, len, edge > *at + 20 ? edge - *at : edge ? 20 : 0, 0);
	else
		out_cell(o, p, len, 0, left ? width : 0);
	*at += width;
}

static void table_text(const struct table *t, const struct listing *list, size_t n,
		       struct out *scratch)
{
	struct out *o = t->env.out;
	size_t widths[TABLE_COLUMNS], at = 0;

	if (!text_widths(t, list, n, scratch, widths))
		return;
	out_str(o, t->env.opt->color ? "\033[1m" : "");
	for (size_t c = 0; c < t->nshown; c++) {
		const char *name = t->columns[t->shown[c]].name;

		text_cell(t, c, name, strlen(name), widths[c], &at);
	}
	out_str(o, t->env.opt->color ? "\033[0m\n" : "\n");
	for (size_t i = 0; i < n; i++) {
		at = 0;
		for (size_t c = 0; c < t->nshown; c++) {
			scratch_clear(scratch);
			cell_plain(t, listed(list, i), t->shown[c], scratch);
			text_cell(t, c, scratch->buf, scratch->len, widths[c], &at);
		}
		out_char(o, '\n');
	}
	if (t->hidden)
		out_printf(o, "\n%zu more lines are not shown.\n", t->hidden);
}

/* --- for machines --- */

/* Writes the cell for programs: ns, counts, whole text. */
static void cell_data(const struct table *t, const void *row, int column, struct out *scratch,
		      bool json)
{
	struct out *o = t->env.out;
	const enum table_kind kind = kind_of(t, column);
	struct table_value v;

	if (kind == TABLE_TEXT) {
		scratch_clear(scratch);
		t->text(t->self, row, column, scratch);
		(json ? out_json : out_csv)(o, scratch->buf, scratch->len);
		return;
	}
	v = t->value(t->self, row, column);
	if (!value_is_shown(kind, v))
		out_str(o, json ? "null" : "");
	else if (kind == TABLE_SHARE)
		out_share(o, v.u);
	else if (kind == TABLE_SHARE_CHANGE)
		out_share_signed(o, v.i);
	else
		table_value_out(o, v, json);
}

static void table_json_head(const struct table *t)
{
	out_json_head(t->env.out, t->name);
	out_str(t->env.out, t->head ? t->head : "");
	out_str(t->env.out, ",\"rows\":[");
}

static void table_data(const struct table *t, const struct listing *list, size_t n,
		       struct out *scratch)
{
	const bool json = t->env.opt->form != FORM_CSV, lines = t->env.opt->form == FORM_JSONL;
	struct out *o = t->env.out;

	if (json && !lines)
		table_json_head(t);
	for (size_t c = 0; !json && c < t->nshown; c++)
		out_printf(o, "%s%s", c ? "," : "", t->columns[t->shown[c]].name);
	if (!json)
		out_char(o, '\n');
	for (size_t i = 0; i < n; i++) {
		if (json)
			out_str(o, lines ? "{" : i ? ",\n{" : "\n{");
		for (size_t c = 0; c < t->nshown; c++) {
			if (c)
				out_char(o, ',');
			if (json)
				out_printf(o, "\"%s\":", t->columns[t->shown[c]].name);
			cell_data(t, listed(list, i), t->shown[c], scratch, json);
		}
		out_str(o, !json ? "\n" : lines ? "}\n" : "}");
	}
	if (json && !lines)
		out_str(o, "\n]}\n");
}

enum spur_status table_write(struct table *t, const void *rows, size_t n, size_t size)
{
	const uint64_t limit = t->env.opt->limit;
	struct listing list = { rows, size, mem_array(n, sizeof(*list.order)) };
	struct out a, b;
	struct sorter s = { t, &list, &a, &b };
	bool good;

	assert(t->nshown && t->nsort);
	if (!list.order || n > UINT32_MAX) {
		mem_free(list.order);
		return err_nomem(t->env.err);
	}
	out_to_memory(&a);
	out_to_memory(&b);
	for (size_t i = 0; i < n; i++)
		list.order[i] = (uint32_t)i;
	qsort_r(list.order, n, sizeof(*list.order), row_order, &s);
	t->hidden = limit && limit < n ? n - (size_t)limit : 0;
	if (t->env.opt->form == FORM_TEXT)
		table_text(t, &list, n - t->hidden, &a);
	else
		table_data(t, &list, n - t->hidden, &a);
	good = !a.error && !b.error;
	out_free(&a);
	out_free(&b);
	mem_free(list.order);
	return good ? SPUR_OK : err_nomem(t->env.err);
}
