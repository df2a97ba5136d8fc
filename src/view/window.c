/* See window.h. */
#include "view/window.h"

#include <string.h>

#include "base/mem.h"

/* Of rows at one time spans come last, the longest of them, which is the outermost one, first. */
static bool comes_before(const struct window_row *a, const struct window_row *b)
{
	const bool span = a->row.kind == SPUR_SPAN;

	if (a->row.ts != b->row.ts)
		return a->row.ts < b->row.ts;
	if (span != (b->row.kind == SPUR_SPAN))
		return !span;
	if (span && a->row.dur != b->row.dur)
		return a->row.dur > b->row.dur;
	/* Of equal spans the one that was stored later is the outer one. */
	return span ? a->place > b->place : a->place < b->place;
}

static bool is_number(const struct spur_value *v)
{
	return v->type == SPUR_I64 || v->type == SPUR_U64 || v->type == SPUR_F64 ||
	       v->type == SPUR_ENUM || v->type == SPUR_KOID;
}

/* Copies the numbers among the arguments: their texts are not the row's. */
static bool keep_values(struct window_row *r, const struct spur_args *args)
{
	if (!args || !args->count)
		return true;
	r->values = mem_array(args->count, sizeof(*r->values));
	for (size_t i = 0; r->values && i < args->count; i++)
		if (is_number(&args->items[i])) {
			r->values[r->nvalues] = args->items[i];
			r->values[r->nvalues++].label = NULL;
		}
	return r->values;
}

bool window_add(struct window *w, const struct spur_event *row, const struct spur_args *args,
		int64_t now)
{
	struct window_row made = { .row = *row, .place = w->places++, .came = now };
	size_t i = w->n;

	if (!mem_grow((void **)&w->heap, &w->cap, w->n + 1, sizeof(*w->heap), 2 * WINDOW_ROWS) ||
	    !keep_values(&made, args))
		return false;
	for (w->n++; i && comes_before(&made, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = made;
	return true;
}

bool window_take(struct window *w, int64_t now, struct window_row *out)
{
	size_t i = 0;
	struct window_row last;

	if (!w->n || (w->n <= WINDOW_ROWS && w->heap[0].came > now - WINDOW_MS))
		return false;
	*out = w->heap[0];
	last = w->heap[--w->n];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < w->n && comes_before(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (child >= w->n || !comes_before(&w->heap[child], &last))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = last;
	return true;
}

int64_t window_first(const struct window *w)
{
	return w->n ? w->heap[0].row.ts : INT64_MAX;
}

void window_free(struct window *w)
{
	for (size_t i = 0; i < w->n; i++)
		mem_free(w->heap[i].values);
	mem_free(w->heap);
	*w = (struct window){ 0 };
}
