/* One span: its times, arguments, callers and callees; arrows; why it took so long. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "flow/open.h"
#include "render/value.h"
#include "view/args_log.h"
#include "view/view.h"

enum { PARENTS_MOST = 1000, CHILDREN_MOST = 100 };

/* --- arguments --- */

/* Who gets the arguments of a span. */
struct args_taker {
	view_arg_take take;
	void *self;
	bool end; /* the row ends the span */
};

/* Passes on the arguments of a row of the trace. */
static bool take_args(struct spur_trace *t, const struct spur_event *row,
		      const struct args_taker *to)
{
	struct spur_args args = { 0 };
	struct value_writer values;
	struct out text;
	bool good = value_writer_open(&values, t, VALUE_TEXT);

	out_to_memory(&text);
	if (good && spur_args(t, row, &args) != SPUR_FAIL)
		for (size_t i = 0; i < args.count; i++) {
			const struct spur_value *const a = &args.items[i];
			struct view_argument arg = {
				.value = a, .place = i, .count = args.count, .end = to->end
			};

			out_clear(&text);
			value_text(&values, a, &text);
			good &= !text.error;
			arg.name.p = spur_string(t, a->name, &arg.name.len);
			arg.text = (struct store_text){ text.buf ? text.buf : "", text.len };
			to->take(to->self, &arg);
		}
	spur_args_free(&args);
	value_writer_close(&values);
	out_free(&text);
	return good;
}

/*
 * The arguments of the record that begins the span, or of the one that ends it. In a kept store,
 * rows have numbers of another opening of the trace, so the row is looked up.
 */
static bool take_row_args(const struct view *v, const struct view_item *i, bool end,
			  const struct args_taker *to)
{
	struct spur_trace *again = NULL;
	struct spur_error err = { 0 };
	struct spur_event row;
	bool good = true;

	if (!v->kept) {
		if (store_row(v->store, i->lane, i->number, end, &row))
			good = take_args(v->trace, &row, to);
		return good;
	}
	if (trace_open_again(&again, v->trace, &err) == SPUR_OK &&
	    store_find_row(v->store, i->lane, i->number, end, again, &row) == SPUR_OK)
		good = take_args(again, &row, to);
	trace_close(again);
	return good;
}

/* The same of a trace that grows: those that were kept of it. */
static bool take_logged_args(const struct view *v, const struct view_item *i,
			     const struct args_taker *to)
{
	struct spur_event row;
	bool good = true;

	if (i->item.nargs && store_row(v->store, i->lane, i->number, false, &row))
		good = args_log_find(v->args, &row, false, to->take, to->self);
	if (good && i->item.end_nargs && store_row(v->store, i->lane, i->number, true, &row))
		good = args_log_find(v->args, &row, true, to->take, to->self);
	return good;
}

bool view_span_args(struct view *v, const struct view_item *i, view_arg_take take, void *self,
		    bool *changed)
{
	struct args_taker to = { .take = take, .self = self };
	bool good = true;

	*changed = view_trace_changed(v);
	if (*changed)
		return true;
	/* What was read of a pipe may be gone. */
	if (v->args || v->growing)
		return !v->args || take_logged_args(v, i, &to);
	pthread_mutex_lock(&v->reading);
	if (i->item.nargs)
		good = take_row_args(v, i, false, &to);
	to.end = true;
	if (good && i->item.end_nargs)
		good = take_row_args(v, i, true, &to);
	pthread_mutex_unlock(&v->reading);
	return good;
}

struct args_text {
	struct out *out;
	bool first;
};

/* Writes an argument as a pair of texts. */
static void put_arg(void *self, const struct view_argument *arg)
{
	struct args_text *const t = self;

	out_str(t->out, t->first ? "[" : ",[");
	view_text(t->out, arg->name);
	out_char(t->out, ',');
	view_text(t->out, arg->text);
	out_char(t->out, ']');
	t->first = false;
}

static bool put_span_args(struct view *v, const struct view_item *i, struct out *o)
{
	struct out pairs;
	struct args_text text = { .out = &pairs, .first = true };
	bool good, changed;

	out_to_memory(&pairs);
	good = view_span_args(v, i, put_arg, &text, &changed) && !pairs.error;
	out_printf(o, ",\"changed\":%s,\"args\":[", changed ? "true" : "false");
	out_part(o, &pairs, 0, pairs.len);
	out_char(o, ']');
	out_free(&pairs);
	return good && !o->error;
}

/* --- callers and callees --- */

/* From the outermost one to the caller; of very deep stacks those next to the span. */
static bool put_parents(const struct view *v, const struct view_item *of, struct out *o)
{
	struct view_item *const chain = mem_array(PARENTS_MOST, sizeof(*chain));
	struct view_item at = *of;
	size_t n = 0;

	if (!chain)
		return false;
	while (n < PARENTS_MOST && at.info.depth) {
		const uint64_t up = store_parent(v->store, at.lane, at.number);
		const uint32_t lane = store_lane_at(v->store, at.info.track, at.info.depth - 1);

		if (up == UINT64_MAX || lane == SPUR_NONE || !view_item(v, lane, up, &at))
			break;
		chain[n++] = at;
	}
	out_str(o, ",\"parents\":[");
	for (size_t i = n; i-- > 0;) {
		view_put_span(v, &chain[i], o);
		if (i)
			out_char(o, ',');
	}
	out_char(o, ']');
	mem_free(chain);
	return !o->error;
}

static int by_duration(const void *a, const void *b)
{
	const struct view_item *const x = a, *const y = b;

	if (x->item.dur != y->item.dur)
		return x->item.dur < y->item.dur ? 1 : -1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Keeps the longest of the children: the shortest one that is kept gives way. */
static void keep_child(struct view_item *kept, size_t *n, const struct view_item *c)
{
	size_t least = 0;

	if (*n < CHILDREN_MOST) {
		kept[(*n)++] = *c;
		return;
	}
	for (size_t i = 1; i < *n; i++)
		if (by_duration(&kept[i], &kept[least]) > 0)
			least = i;
	if (by_duration(c, &kept[least]) < 0)
		kept[least] = *c;
}

/* The longest callees, and how many there are. */
static bool put_children(const struct view *v, const struct view_item *of, struct out *o)
{
	const uint32_t lane = store_lane_at(v->store, of->info.track, of->info.depth + 1);
	const int64_t end = of->item.start + of->item.dur;
	struct view_item *const kept = mem_array(CHILDREN_MOST, sizeof(*kept));
	uint64_t calls = 0;
	struct view_item c;
	size_t n = 0;

	if (!kept)
		return false;
	for (uint64_t k = lane == SPUR_NONE ? UINT64_MAX
					    : store_seek(v->store, lane, of->item.start);
	     lane != SPUR_NONE && view_item(v, lane, k, &c) &&
	     (c.item.start < end || (c.item.start == end && !c.item.dur));
	     k++) {
		if (c.item.start < of->item.start || !(c.item.marks & STORE_SPAN))
			continue;
		calls++;
		keep_child(kept, &n, &c);
	}
	if (n)
		qsort(kept, n, sizeof(*kept), by_duration);
	out_printf(o, ",\"calls\":%llu,\"children\":[", (unsigned long long)calls);
	for (size_t i = 0; i < n; i++) {
		if (i)
			out_char(o, ',');
		view_put_span(v, &kept[i], o);
	}
	out_char(o, ']');
	mem_free(kept);
	return !o->error;
}

/* A neighbour in the lane, or null. */
static void put_neighbour(const struct view *v, const struct view_item *of, bool next,
			  struct out *o)
{
	struct view_item i;

	out_str(o, next ? ",\"next\":" : ",\"previous\":");
	if ((!next && !of->number) ||
	    !view_item(v, of->lane, next ? of->number + 1 : of->number - 1, &i))
		out_str(o, "null");
	else
		view_put_span(v, &i, o);
}

void view_span_source(const struct view *v, const struct view_item *i, struct out *o)
{
	struct store_label l;

	view_label(v, i->item.label, &l);
	out_bytes(o, l.file.p ? l.file.p : "", l.file.len);
	if (l.file.len && l.line)
		out_printf(o, ":%u", l.line);
}

/*
 * Finds the stream and the offset of the record that begins the item. A row of a kept store has
 * numbers of another opening of the trace, of which only these two are the same in each; of a trace
 * that grows or has changed, the bytes may be gone.
 */
static bool find_place(const struct view *v, const struct view_item *i, uint32_t *stream,
		       uint64_t *off)
{
	struct spur_place place;
	struct spur_event row;

	if (!store_row(v->store, i->lane, i->number, false, &row))
		return false;
	*stream = row.stream;
	*off = row.off;
	if (v->kept || v->growing || view_trace_changed(v))
		return true;
	if (spur_place(v->trace, &row, &place) == SPUR_FAIL)
		return false;
	*stream = place.stream;
	*off = place.off;
	return true;
}

void view_span_place(struct view *v, const struct view_item *i, struct out *o)
{
	const struct spur_stream *stream = NULL;
	uint64_t off = 0;
	uint32_t id = 0;

	pthread_mutex_lock(&v->reading);
	if (find_place(v, i, &id, &off))
		stream = spur_stream(v->trace, id);
	if (stream)
		out_printf(o, "%s:0x%llx", stream->path, (unsigned long long)off);
	pthread_mutex_unlock(&v->reading);
}

void view_span_command(const struct view *v, const struct view_item *i, struct out *o)
{
	struct store_track t = { .tid = -1 };
	const uint64_t from = (uint64_t)i->item.start - (uint64_t)view_zero(v);
	const uint64_t until = from + (uint64_t)i->item.dur + 1;

	store_track(v->store, i->info.track, &t);
	out_printf(o, "spur cat %s --from %lluns", v->path, (unsigned long long)from);
	/* Nothing comes after the latest of all times. */
	if (until <= INT64_MAX)
		out_printf(o, " --until %lluns", (unsigned long long)until);
	if (t.tid >= 0)
		out_printf(o, " --tid %lld", (long long)t.tid);
}

/* Writes a member of a text, which is emptied. */
static bool put_member(const char *name, struct out *text, struct out *o)
{
	out_printf(o, ",\"%s\":", name);
	out_json(o, text->buf ? text->buf : "", text->len);
	out_clear(text);
	return !o->error && !text->error;
}

bool view_span(struct view *v, const struct view_request *r, struct view_answer *a)
{
	struct out *const o = &a->out;
	struct out text;
	struct view_item i;
	bool good;

	if (!view_item_of(v, r, &i, a))
		return false;
	out_str(o, "{\"span\":");
	view_put_span(v, &i, o);
	out_printf(o, ",\"time\":\"%lld ns\",\"length\":\"%lld\",\"self\":%lld,\"unfinished\":%s",
		   (long long)i.item.start, (long long)i.item.dur,
		   (long long)store_self(v->store, i.lane, i.number),
		   i.item.marks & STORE_OPEN ? "true" : "false");
	out_to_memory(&text);
	view_span_source(v, &i, &text);
	good = put_member("source", &text, o);
	view_span_place(v, &i, &text);
	good &= put_member("place", &text, o) && put_span_args(v, &i, o) && put_parents(v, &i, o) &&
		put_children(v, &i, o);
	put_neighbour(v, &i, false, o);
	put_neighbour(v, &i, true, o);
	view_span_command(v, &i, &text);
	good &= put_member("command", &text, o);
	out_free(&text);
	out_char(o, '}');
	return good && !o->error;
}
