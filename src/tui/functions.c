/* The panels of a range: sums by function, and the longest calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "render/cell.h"
#include "tui/tui.h"

enum { TIME_WIDTH = 11, EXACT_WIDTH = 16, NAME_LEAST = 20, STEPS_MOST = 100000 };

static int compare_names(const struct tui *t, uint32_t a, uint32_t b)
{
	struct store_label x, y;
	size_t least;
	int order;

	view_label(t->view, a, &x);
	view_label(t->view, b, &y);
	least = x.name.len < y.name.len ? x.name.len : y.name.len;
	order = least ? memcmp(x.name.p, y.name.p, least) : 0;
	return order ? order : (x.name.len > y.name.len) - (x.name.len < y.name.len);
}

/* Returns what a function is sorted by: the larger comes first. */
static int64_t sort_value(const struct store_sum *s, enum tui_sort sort)
{
	switch (sort) {
	case SORT_SELF:
		return (int64_t)s->self;
	case SORT_CALLS:
		return (int64_t)s->calls;
	case SORT_AVERAGE:
		return (int64_t)view_sum_average(s);
	case SORT_LEAST:
		return (int64_t)s->least;
	case SORT_MOST:
		return (int64_t)s->most;
	default:
		return (int64_t)s->total;
	}
}

static int by_sort(const void *a, const void *b, void *self)
{
	const struct tui *const t = self;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct tui_functions *const f = &t->functions;
	const int64_t p = sort_value(&f->sums[x], f->sort), q = sort_value(&f->sums[y], f->sort);
	int order = f->sort == SORT_NAME ? 0 : (p < q) - (p > q);

	if (!order)
		order = compare_names(t, x, y);
	return f->turned ? -order : order;
}

void tui_functions_sort(struct tui *t)
{
	if (t->functions.n)
		qsort_r(t->functions.labels, t->functions.n, sizeof(*t->functions.labels), by_sort,
			t);
}

bool tui_functions_take(struct tui *t, struct store_sum *sums, uint32_t n)
{
	struct tui_functions *const f = &t->functions;

	mem_free(f->sums);
	mem_free(f->labels);
	f->n = 0;
	f->sums = sums;
	f->labels = mem_array(n ? n : 1, sizeof(*f->labels));
	for (uint32_t i = 0; f->labels && i < n; i++)
		if (sums[i].calls || sums[i].sum)
			f->labels[f->n++] = i;
	tui_functions_sort(t);
	return f->labels != NULL;
}

/* Writes a time, right-aligned. Returns the columns. */
static size_t put_ns(const struct tui *t, struct glyph *row, size_t room, int64_t ns)
{
	char text[16];

	if (t->exact)
		return glyphs_printf(t->screen, row, room, (struct glyph){ 0 }, "%*lld ",
				     EXACT_WIDTH - 1, (long long)ns);
	*put_time(text, ns < 0 ? 0 : (uint64_t)ns) = 0;
	return glyphs_printf(t->screen, row, room, (struct glyph){ 0 }, "%*s ", TIME_WIDTH - 1,
			     text);
}

/* Writes a time that may not be known. Returns the columns. */
static size_t put_known(const struct tui *t, struct glyph *row, size_t room, bool known,
			uint64_t ns)
{
	if (known)
		return put_ns(t, row, room, (int64_t)ns);
	return glyphs_printf(t->screen, row, room, (struct glyph){ 0 }, "%*s ",
			     (t->exact ? EXACT_WIDTH : TIME_WIDTH) - 1, "");
}

static void put_label(const struct tui *t, uint32_t label, struct glyph *row, size_t room)
{
	struct store_label l;

	if (room && view_label(t->view, label, &l) && l.name.p)
		glyphs_text(t->screen, row, room, l.name.p, l.name.len, (struct glyph){ 0 });
}

/* Whether average, minimum and maximum have room too. */
static bool is_wide(const struct tui *t)
{
	const size_t time = t->exact ? EXACT_WIDTH : TIME_WIDTH;

	return t->layout.width >= 5 * time + 10 + NAME_LEAST;
}

static void functions_head(const struct tui *t, struct glyph *row, size_t room)
{
	static const char *const names[SORTS] = { "TOTAL", "SELF", "CALLS",   "AVG",
						  "MIN",   "MAX",  "FUNCTION" };
	const struct glyph look = { .style = STYLE_BOLD };
	const int time = t->exact ? EXACT_WIDTH : TIME_WIDTH;
	const char *const arrow = t->functions.turned ? "^" : "v";
	size_t at = 0;

	for (enum tui_sort s = 0; s < SORTS && at < room; s++) {
		const int width = s == SORT_NAME ? 1 : s == SORT_CALLS ? 10 : time;
		char name[16];

		if (s > SORT_CALLS && s < SORT_NAME && !is_wide(t))
			continue;
		snprintf(name, sizeof(name), "%s%s", names[s], s == t->functions.sort ? arrow : "");
		at += glyphs_printf(t->screen, row + at, room - at, look, "%*s ", width - 1, name);
	}
}

void tui_functions_line(const struct tui *t, size_t line, struct glyph *row, size_t room)
{
	const struct tui_functions *const f = &t->functions;
	const struct store_sum *s;
	size_t at;

	if (line == SIZE_MAX) {
		functions_head(t, row, room);
		return;
	}
	s = &f->sums[f->labels[line]];
	at = put_ns(t, row, room, (int64_t)s->total);
	at += put_ns(t, row + at, room - at, (int64_t)s->self);
	at += glyphs_printf(t->screen, row + at, room - at, (struct glyph){ 0 }, "%9llu ",
			    (unsigned long long)s->calls);
	if (is_wide(t)) {
		const bool single = view_sum_has_single(s);

		at += put_known(t, row + at, room - at, s->calls, view_sum_average(s));
		at += put_known(t, row + at, room - at, single, s->least);
		at += put_known(t, row + at, room - at, single, s->most);
	}
	put_label(t, f->labels[line], row + at, room - at);
}

void tui_calls_line(const struct tui *t, size_t line, struct glyph *row, size_t room)
{
	const int time = t->exact ? EXACT_WIDTH : TIME_WIDTH;
	const struct view_item *i;
	struct out name;
	size_t at;

	if (line == SIZE_MAX) {
		glyphs_printf(t->screen, row, room, (struct glyph){ .style = STYLE_BOLD },
			      "%*s %*s %-20s %s", time - 1, "DURATION", EXACT_WIDTH + 2,
			      "BEGIN (ns)", "TRACK", "FUNCTION");
		return;
	}
	i = &t->calls[line];
	at = put_ns(t, row, room, i->item.dur);
	at += glyphs_printf(t->screen, row + at, room - at, (struct glyph){ 0 }, "%*lld ",
			    EXACT_WIDTH + 2, (long long)(i->item.start - t->view->zero));
	out_to_memory(&name);
	tracks_name(t->store, i->info.track, false, &name);
	if (name.len)
		glyphs_text(t->screen, row + at, room - at < 20 ? room - at : 20, name.buf,
			    name.len, (struct glyph){ 0 });
	out_free(&name);
	at += room - at < 21 ? room - at : 21;
	put_label(t, i->item.label, row + at, room - at);
}

/*
 * Marks the labels that are shown as one function; time off the CPU may have any. Returns NULL if
 * out of memory.
 */
static uint64_t *labels_of(const struct tui *t, uint32_t head, size_t *n)
{
	const uint32_t labels = store_facts(t->store).labels;
	uint64_t *const bits = mem_array(labels / 64 + 1, sizeof(*bits));
	struct store_label l;

	*n = labels;
	for (uint32_t i = 0; bits && i < labels; i++)
		if (!head || i == head || (store_label(t->store, i, &l) && l.head == head))
			bits[i / 64] |= UINT64_C(1) << i % 64;
	return bits;
}

/* Finds the next item of a function behind `after`. Returns false if there is no such item. */
static bool next_call(const struct tui *t, const struct store_query *q, uint32_t head,
		      const struct store_place *after, struct store_place *out)
{
	struct view_item i;

	for (unsigned steps = 0; steps < STEPS_MOST; steps++) {
		if (store_next(t->store, q, after, false, out) != SPUR_OK)
			return false;
		if (view_item(t->view, out->lane, out->number, &i) &&
		    !head == view_is_off_cpu(&i.item))
			return true;
		after = out;
	}
	return false;
}

void tui_functions_pick(struct tui *t)
{
	const struct tui_functions *const f = &t->functions;
	const struct store_place after = { .lane = t->pick.lane,
					   .number = t->pick.number,
					   .start = t->pick.item.start };
	struct store_query q = { .from = f->from, .to = f->to };
	struct store_place hit;
	uint64_t *bits;
	uint32_t head;
	bool found;

	if (t->line >= f->n)
		return;
	head = f->labels[t->line];
	bits = labels_of(t, head, &q.nlabels);
	q.labels = bits;
	found = bits && t->picked && after.start >= f->from && next_call(t, &q, head, &after, &hit);
	if (found || (bits && next_call(t, &q, head, NULL, &hit)))
		tui_pick(t, hit.lane, hit.number);
	mem_free(bits);
}
