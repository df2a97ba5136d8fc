/* Parameters of requests, and which function answers which. */
#include "view/view.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/cache.h"

const char *view_arg(const struct view_request *r, const char *name)
{
	for (size_t i = 0; i < r->nargs; i++)
		if (!strcmp(r->names[i], name))
			return r->values[i] ? r->values[i] : "";
	return NULL;
}

/* Reads a whole number that ends at *end. Returns false if it has no digit, or it is too large. */
static bool read_number(const char *s, int64_t *out, const char **end)
{
	char *stop;

	if (*s != '-' && (*s < '0' || *s > '9'))
		return false;
	errno = 0;
	*out = strtoll(s, &stop, 10);
	*end = stop;
	return stop != s && !errno;
}

bool view_number(const struct view_request *r, const char *name, int64_t least, int64_t most,
		 int64_t missing, int64_t *out)
{
	const char *const s = view_arg(r, name);
	const char *end;

	*out = missing;
	if (!s)
		return true;
	return read_number(s, out, &end) && !*end && *out >= least && *out <= most;
}

bool view_refuse(struct view_answer *a, unsigned status, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	out_clear(&a->out);
	out_str(&a->out, text);
	a->status = status;
	a->type = "text/plain; charset=utf-8";
	return false;
}

void view_text(struct out *o, struct store_text t)
{
	out_json(o, t.p ? t.p : "", t.len);
}

void view_command(const struct view *v, const char *before, const char *after, struct out *o)
{
	struct out text;

	out_to_memory(&text);
	out_str(&text, before);
	out_str(&text, v->path);
	out_str(&text, after);
	out_json(o, text.buf ? text.buf : "", text.len);
	out_free(&text);
}

bool view_trace_changed(const struct view *v)
{
	struct out now;
	bool changed;

	if (!v->identity)
		return false;
	out_to_memory(&now);
	changed = !store_identify_trace(&now, v->trace) || strcmp(now.buf, v->identity) != 0;
	out_free(&now);
	return changed;
}

void view_quote(struct out *o, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./-+,:@%=";

	if (path[0] != '-' && path[strspn(path, plain)] == '\0' && *path) {
		out_str(o, path);
		return;
	}
	if (path[0] == '-')
		out_str(o, "./");
	out_char(o, '\'');
	for (const char *p = path; *p; p++) {
		if (*p == '\'')
			out_str(o, "'\\''");
		else
			out_char(o, *p);
	}
	out_char(o, '\'');
}

/* --- ranges --- */

/* Adds the span lanes of a track. Returns false if out of memory. */
static bool add_lanes(const struct view *v, uint32_t track, struct view_range *out, size_t *cap)
{
	for (uint32_t depth = 0;; depth++) {
		const uint32_t lane = store_lane_at(v->store, track, depth);

		if (lane == SPUR_NONE)
			return true;
		if (!mem_grow((void **)&out->lanes, cap, out->nlanes + 1, sizeof(*out->lanes),
			      SIZE_MAX))
			return false;
		out->lanes[out->nlanes++] = lane;
	}
}

/* Reads track numbers with commas. Returns false, with the answer a refusal, if they are wrong. */
static bool read_tracks(const struct view *v, const char *s, struct view_range *out,
			struct view_answer *a)
{
	int64_t track;
	size_t cap = 0;

	while (*s) {
		if (!read_number(s, &track, &s) || track < 0 || track > UINT32_MAX ||
		    (*s && *s != ','))
			return view_refuse(a, 400, "expected tracks as numbers with commas");
		if (!add_lanes(v, (uint32_t)track, out, &cap))
			return view_refuse(a, 500, "out of memory");
		if (out->nlanes > store_facts(v->store).lanes)
			return view_refuse(a, 400, "expected each track once");
		s += *s == ',';
	}
	/* Tracks without spans are a range with nothing in it, not one of all tracks. */
	if (!out->lanes)
		out->lanes = mem_alloc(sizeof(*out->lanes));
	return out->lanes || view_refuse(a, 500, "out of memory");
}

bool view_range(const struct view *v, const struct view_request *r, struct view_range *out,
		struct view_answer *a)
{
	const char *const tracks = view_arg(r, "tracks");
	int64_t from, to;

	*out = (struct view_range){ 0 };
	if (!view_number(r, "from", 0, INT64_MAX, 0, &from) ||
	    !view_number(r, "to", 0, INT64_MAX, INT64_MAX, &to))
		return view_refuse(a, 400, "expected from and to in ns");
	out->from = view_zero(v) > INT64_MAX - from ? INT64_MAX : view_zero(v) + from;
	out->to = view_zero(v) > INT64_MAX - to ? INT64_MAX : view_zero(v) + to;
	if (!tracks || read_tracks(v, tracks, out, a))
		return true;
	view_range_free(out);
	return false;
}

void view_range_free(struct view_range *r)
{
	mem_free(r->lanes);
	r->lanes = NULL;
}

/* --- items --- */

bool view_label(const struct view *v, uint32_t label, struct store_label *out)
{
	const bool found = store_label(v->store, label, out);

	if (!label)
		out->name = (struct store_text){ "(off CPU)", strlen("(off CPU)") };
	return found || !label;
}

bool view_item(const struct view *v, uint32_t lane, uint64_t number, struct view_item *out)
{
	*out = (struct view_item){ .lane = lane, .number = number };
	if (!store_lane(v->store, lane, &out->info) ||
	    !store_item(v->store, lane, number, &out->item))
		return false;
	if (view_is_off_cpu(&out->item))
		out->item.label = 0;
	return true;
}

bool view_put_span(const struct view *v, const struct view_item *i, struct out *o)
{
	out_printf(
		o,
		"{\"track\":%u,\"depth\":%u,\"ts\":%lld,\"dur\":%lld,\"label\":%u,\"number\":%llu}",
		i->info.track, i->info.depth, (long long)(i->item.start - view_zero(v)),
		(long long)i->item.dur, i->item.label, (unsigned long long)i->number);
	return !o->error;
}

/* How far a time is from an item. */
static uint64_t distance(const struct store_item *i, int64_t t)
{
	if (t < i->start)
		return (uint64_t)i->start - (uint64_t)t;
	return t - i->start <= i->dur ? 0 : (uint64_t)t - (uint64_t)i->start - (uint64_t)i->dur;
}

/*
 * Of items that begin where *out begins, takes the one that lasts `dur`, if there is one: an event
 * and a span may begin at once.
 */
static void item_of_length(const struct view *v, int64_t dur, struct view_item *out)
{
	enum { MOST = 1000 };
	const uint64_t at = out->number;
	struct view_item i = *out;

	for (uint64_t n = at > MOST ? at - MOST : 0; n < at; n++)
		if (view_item(v, out->lane, n, &i) && i.item.start == out->item.start &&
		    i.item.dur == dur) {
			*out = i;
			return;
		}
	for (uint64_t n = at;
	     n < at + MOST && view_item(v, out->lane, n, &i) && i.item.start == out->item.start;
	     n++)
		if (i.item.dur == dur) {
			*out = i;
			return;
		}
}

/* The item that view_item_of() finds by its time. */
static bool item_at(const struct view *v, uint32_t lane, int64_t t, struct view_item *out)
{
	const uint64_t number = store_seek(v->store, lane, t);
	struct view_item before;

	if (!view_item(v, lane, number, out))
		return number && view_item(v, lane, number - 1, out);
	/* Of items at one place the first one that begins exactly there is meant. */
	if (number && distance(&out->item, t) && view_item(v, lane, number - 1, &before) &&
	    distance(&before.item, t) < distance(&out->item, t))
		*out = before;
	return true;
}

/*
 * Returns true if the item of that number in its lane is there: many may begin and end at once. A
 * number of another store of the trace may be wrong.
 */
static bool item_of_number(const struct view *v, uint32_t lane, int64_t number, int64_t t,
			   int64_t dur, struct view_item *out)
{
	return number >= 0 && view_item(v, lane, (uint64_t)number, out) && out->item.start == t &&
	       (dur < 0 || out->item.dur == dur);
}

bool view_item_of(const struct view *v, const struct view_request *r, struct view_item *out,
		  struct view_answer *a)
{
	int64_t track, depth, t, dur, number;
	uint32_t lane;

	if (!view_number(r, "track", 0, UINT32_MAX - 1, -1, &track) || track < 0 ||
	    !view_number(r, "depth", 0, UINT32_MAX - 1, -1, &depth) || depth < 0 ||
	    !view_number(r, "t", 0, INT64_MAX, -1, &t) || t < 0 ||
	    !view_number(r, "dur", 0, INT64_MAX, -1, &dur) ||
	    !view_number(r, "number", 0, INT64_MAX, -1, &number))
		return view_refuse(a, 400, "expected track, depth and t");
	t = view_zero(v) > INT64_MAX - t ? INT64_MAX : view_zero(v) + t;
	lane = store_lane_at(v->store, (uint32_t)track, (uint32_t)depth);
	if (lane == SPUR_NONE)
		return view_refuse(a, 404, "track %lld has no spans at depth %lld",
				   (long long)track, (long long)depth);
	if (item_of_number(v, lane, number, t, dur, out))
		return true;
	if (!item_at(v, lane, t, out))
		return view_refuse(a, 404, "no span is there");
	if (dur >= 0 && out->item.start == t)
		item_of_length(v, dur, out);
	return true;
}

/* --- which function answers --- */

static const struct {
	const char *path;
	bool (*answer)(struct view *v, const struct view_request *r, struct view_answer *a);
} routes[] = {
	{ "meta", view_meta },	       { "labels", view_labels },     { "tiles", view_tiles },
	{ "counter", view_counter },   { "overview", view_overview }, { "span", view_span },
	{ "flows", view_flows },       { "why", view_why },	      { "sums", view_sums },
	{ "flame", view_flame },       { "calls", view_calls },	      { "find", view_find },
	{ "counters", view_counters }, { "state", view_state },	      { "critical", view_critical },
	{ "begins", view_begins },
};

void view_answer(struct view *v, const struct view_request *r, struct view_answer *a)
{
	const uint64_t failures = mem_failures_all();

	a->status = 200;
	a->type = "application/json";
	a->partial = false;
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++) {
		if (strcmp(routes[i].path, r->path))
			continue;
		/*
		 * An answer from which an allocation that failed left something out would look
		 * complete.
		 */
		if ((!routes[i].answer(v, r, a) || mem_failures_all() != failures) &&
		    a->status == 200)
			view_refuse(a, 500, "out of memory");
		return;
	}
	view_refuse(a, 404, "no such request");
}
