/* See align.h. */
#include "flow/align.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "flow/align_fit.h"
#include "flow/open.h"
#include "flow/pipe.h"

enum { NAMES_MOST = 1 << 21 }; /* string ids above are not looked at */

/* Later events than this after the first one are not looked at: 36 years. */
static const int64_t span_most = (int64_t)1 << 60;

const char *align_item(const char *text, size_t *trace)
{
	struct text t = text_of(text);
	uint64_t n;

	*trace = SIZE_MAX;
	if (!text_u64(&t, 10, &n) || !text_skip(&t, ":") || !n || n > SIZE_MAX)
		return text;
	*trace = (size_t)n - 1;
	return t.p;
}

/* One part and the first, while they are aligned. */
struct align {
	struct spur_trace *t; /* the joined one: all names are in its strings */
	size_t part;
	struct spur_error *err;
};

/* Returns true if the row is an event of its own that another tracer can have recorded too. */
static bool counts(const struct spur_event *row)
{
	return row->name && row->kind != SPUR_END_SPAN && row->kind != SPUR_NATIVE &&
	       row->kind != SPUR_SAMPLE && row->kind != SPUR_LOST;
}

/*
 * Opens part `i` once more, and calls `each` with its rows by time until it returns false. Failures
 * to allocate while reading are the second trace's, and so are passed on.
 */
static enum spur_status read_again(struct align *a, size_t i,
				   bool (*each)(void *self, struct spur_event *rows, size_t n),
				   void *self)
{
	const struct spur_trace *part = a->t->parts[i].trace;
	struct spur_options opt = a->t->options;
	const struct pipe_options pipe = { .threads = opt.threads, .stop = opt.stop };
	struct spur_trace *again;
	enum spur_status st;
	uint64_t *charged;

	opt.as_stored = opt.bookkeeping = opt.all_tracks = false;
	if (!trace_can_reopen(part))
		return err_set(a->err, SPUR_ERR_USAGE,
			       "%s: --align: expected a trace that can be read twice, found a pipe",
			       part->path);
	if (trace_open(&again, part->path, &opt, a->t->strings, a->err) == SPUR_FAIL)
		return SPUR_FAIL;
	charged = mem_charge(&again->mem_failures);
	st = pipe_run_merged(again, &pipe, each, self);
	if (st == SPUR_FAIL || trace_short_of_memory(again))
		st = err_nomem(a->err);
	mem_charge(charged);
	trace_close(again);
	return st;
}

/* --- named events --- */

/* The first event of a name. */
struct search {
	uint32_t name;
	bool found;
	int64_t ts;
};

static bool search_rows(void *self, struct spur_event *rows, size_t n)
{
	struct search *s = self;

	for (size_t i = 0; i < n && !s->found; i++)
		if (rows[i].name == s->name && counts(&rows[i])) {
			s->found = true;
			s->ts = rows[i].ts;
		}
	return !s->found;
}

static enum spur_status find_event(struct align *a, size_t part, struct text name, int64_t *ts)
{
	struct search s = { .name = trace_intern_n(a->t, name.p, name.len) };

	if (!s.name)
		return err_nomem(a->err);
	if (read_again(a, part, search_rows, &s) == SPUR_FAIL)
		return SPUR_FAIL;
	*ts = s.ts;
	return s.found ? SPUR_OK
		       : err_set(a->err, SPUR_ERR_USAGE,
				 "%s: --align: expected an event named \"%.*s\", found none",
				 a->t->parts[part].trace->path, (int)name.len, name.p);
}

bool align_split(const char *text, struct text *a, struct text *b)
{
	const size_t len = strlen(text), half = len / 2;
	const char *at = strchr(text, '=');

	if (len % 2 && text[half] == '=' && memcmp(text, text + half + 1, half) == 0)
		at = text + half;
	if (!at || at == text || !at[1])
		return false;
	*a = text_make(text, (size_t)(at - text));
	*b = text_of(at + 1);
	return true;
}

static bool is_auto(const char *item)
{
	return strcmp(item, "auto") == 0;
}

/* Returns the next item that is about the part, without its number; NULL: there is no other. */
static const char *next_item(const struct align *a, size_t *at)
{
	const char *const *items = a->t->options.align;

	while (items && items[*at]) {
		size_t trace;
		const char *item = align_item(items[(*at)++], &trace);

		if (trace == a->part || (trace == SIZE_MAX && (a->part == 1 || is_auto(item))))
			return item;
	}
	return NULL;
}

static void relate(struct trace_part *p, const struct align_fit *fit, enum spur_related how)
{
	/* As many pairs as numbers that were fitted say nothing about the precision. */
	const uint64_t fitted = fit->map.drift ? 2 : 1;

	p->map = fit->map;
	p->relation = (struct clock_relation){ .how = how,
					       .error = fit->events > fitted ? fit->error : -1,
					       .events = fit->events,
					       .rejected = fit->rejected,
					       .residual = fit->residual };
}

static enum spur_status fit_named(struct align *a, const int64_t *x, const int64_t *y, size_t n)
{
	const struct spur_trace *first = a->t->parts[0].trace;
	struct trace_part *p = &a->t->parts[a->part];
	struct align_fit fit;
	const enum align_verdict verdict = align_pairs(x, y, n, &fit);

	if (verdict == ALIGN_NO_MEMORY)
		return err_nomem(a->err);
	if (verdict != ALIGN_CERTAIN)
		return err_set(a->err, SPUR_ERR_USAGE,
			       "%s and %s: --align: expected clocks whose rates differ by at most "
			       "1 %%, found pairs of events that contradict that",
			       first->path, p->trace->path);
	relate(p, &fit, SPUR_RELATED_EVENTS);
	return SPUR_OK;
}

static enum spur_status align_named(struct align *a, size_t count)
{
	int64_t *x = mem_array(count, sizeof(*x)), *y = mem_array(count, sizeof(*y));
	enum spur_status st = x && y ? SPUR_OK : err_nomem(a->err);
	size_t at = 0, n = 0;
	const char *item;

	while (st == SPUR_OK && n < count && (item = next_item(a, &at))) {
		struct text one, two;

		if (!align_split(item, &one, &two))
			st = err_set(a->err, SPUR_ERR_USAGE,
				     "--align: expected auto or EVENT=EVENT, found \"%s\"", item);
		else
			st = find_event(a, 0, one, &x[n]);
		if (st == SPUR_OK)
			st = find_event(a, a->part, two, &y[n++]);
	}
	if (st == SPUR_OK)
		st = fit_named(a, x, y, n);
	mem_free(x);
	mem_free(y);
	return st;
}

/* --- events that both traces have --- */

/* How often each name occurs in the two traces, by string id. */
struct name {
	uint32_t id;
	uint32_t counts[2]; /* saturated */
	uint32_t number; /* 1 + that of struct align_event; 0: not used */
};

struct names {
	struct name *list;
	size_t count;
	unsigned side; /* which trace is read: 0 or 1 */
	struct align_event *events[2]; /* ALIGN_EVENTS each */
	size_t nevents[2];
	int64_t first[2]; /* ts of the first event; those of `events` count from it */
};

static bool count_rows(void *self, struct spur_event *rows, size_t n)
{
	struct names *s = self;

	for (size_t i = 0; i < n; i++) {
		uint32_t *count;

		if (!counts(&rows[i]) || rows[i].name >= NAMES_MOST)
			continue;
		if (rows[i].name >= s->count &&
		    !mem_grow((void **)&s->list, &s->count, (size_t)rows[i].name + 1,
			      sizeof(*s->list), NAMES_MOST))
			return false;
		count = &s->list[rows[i].name].counts[s->side];
		*count += *count < UINT32_MAX;
	}
	return true;
}

static bool collect_rows(void *self, struct spur_event *rows, size_t n)
{
	struct names *s = self;
	size_t *count = &s->nevents[s->side];

	for (size_t i = 0; i < n && *count < ALIGN_EVENTS; i++) {
		const struct name *name = rows[i].name < s->count ? &s->list[rows[i].name] : NULL;
		int64_t ts;

		if (!name || !name->number || !counts(&rows[i]))
			continue;
		if (!*count)
			s->first[s->side] = rows[i].ts;
		if (__builtin_sub_overflow(rows[i].ts, s->first[s->side], &ts) || ts > span_most)
			return false;
		s->events[s->side][(*count)++] =
			(struct align_event){ .ts = ts, .name = name->number - 1 };
	}
	return *count < ALIGN_EVENTS;
}

static int compare_names(const void *a, const void *b, void *trace)
{
	const struct name *x = *(const struct name *const *)a, *y = *(const struct name *const *)b;
	const uint64_t n = (uint64_t)x->counts[0] + x->counts[1];
	const uint64_t m = (uint64_t)y->counts[0] + y->counts[1];
	size_t len, other;
	const char *s, *u;
	int order;

	if (n != m)
		return n < m ? -1 : 1;
	/* Ids depend on what was read first. */
	s = trace_string(trace, x->id, &len);
	u = trace_string(trace, y->id, &other);
	order = memcmp(s, u, len < other ? len : other);
	return order ? order : (len > other) - (len < other);
}

/*
 * Numbers the names that both traces have, the rarest first, as long as their events fit: rare ones
 * say most of when they happened. Returns how many there are; SIZE_MAX if out of memory.
 */
static size_t choose_names(struct align *a, struct names *s)
{
	struct name **common = mem_array(s->count, sizeof(struct name *));
	uint64_t sums[2] = { 0, 0 };
	size_t n = 0, chosen = 0;

	for (size_t i = 0; common && i < s->count; i++) {
		s->list[i].id = (uint32_t)i;
		if (s->list[i].counts[0] && s->list[i].counts[1])
			common[n++] = &s->list[i];
	}
	if (!common)
		return SIZE_MAX;
	qsort_r(common, n, sizeof(struct name *), compare_names, a->t);
	for (size_t i = 0; i < n; i++) {
		sums[0] += common[i]->counts[0];
		sums[1] += common[i]->counts[1];
		/* Of the rarest name there may be too many: the first ones are taken. */
		if (i && (sums[0] > ALIGN_EVENTS || sums[1] > ALIGN_EVENTS))
			break;
		common[i]->number = (uint32_t)++chosen;
	}
	mem_free(common);
	return chosen;
}

static enum spur_status read_sides(struct align *a, struct names *s,
				   bool (*each)(void *self, struct spur_event *rows, size_t n))
{
	for (s->side = 0; s->side < 2; s->side++)
		if (read_again(a, s->side ? a->part : 0, each, s) == SPUR_FAIL)
			return SPUR_FAIL;
	return SPUR_OK;
}

static enum spur_status auto_failed(const struct align *a, const char *found)
{
	return err_set(a->err, SPUR_ERR_USAGE,
		       "%s and %s: --align auto: expected events of the same names at matching "
		       "times in both, found %s; use --align EVENT=EVENT or --offset",
		       a->t->parts[0].trace->path, a->t->parts[a->part].trace->path, found);
}

/* Undoes that times count from the first events. */
static bool map_absolute(struct align_fit *fit, const int64_t first[2])
{
	const __int128 shift = (__int128)fit->map.shift + first[0] - first[1];
	const __int128 pivot = (__int128)fit->map.pivot + first[1];

	fit->map.shift = (int64_t)shift;
	fit->map.pivot = (int64_t)pivot;
	return fit->map.shift == shift && fit->map.pivot == pivot;
}

static enum spur_status fit_common(struct align *a, const struct names *s, size_t nnames)
{
	const struct align_input in = { .a = s->events[0],
					.b = s->events[1],
					.na = s->nevents[0],
					.nb = s->nevents[1],
					.names = (uint32_t)nnames };
	struct align_fit fit;

	switch (align_find(&in, &fit)) {
	case ALIGN_NO_MEMORY:
		return err_nomem(a->err);
	case ALIGN_UNCERTAIN:
		return auto_failed(a, "no significant agreement");
	case ALIGN_AMBIGUOUS:
		return auto_failed(a, "several ways to match them that are about equally good");
	case ALIGN_CERTAIN:
		break;
	}
	if (!map_absolute(&fit, s->first))
		return auto_failed(a, "a distance of more than 292 years");
	relate(&a->t->parts[a->part], &fit, SPUR_RELATED_AUTO);
	return SPUR_OK;
}

static enum spur_status align_common(struct align *a, struct names *s)
{
	size_t nnames;

	if (read_sides(a, s, count_rows) == SPUR_FAIL)
		return SPUR_FAIL;
	nnames = choose_names(a, s);
	if (nnames == SIZE_MAX)
		return err_nomem(a->err);
	if (!nnames)
		return auto_failed(a, "no name that both have");
	s->events[0] = mem_array(ALIGN_EVENTS, sizeof(*s->events[0]));
	s->events[1] = mem_array(ALIGN_EVENTS, sizeof(*s->events[1]));
	if (!s->events[0] || !s->events[1])
		return err_nomem(a->err);
	if (read_sides(a, s, collect_rows) == SPUR_FAIL)
		return SPUR_FAIL;
	return fit_common(a, s, nnames);
}

static enum spur_status align_auto(struct align *a)
{
	struct names s = { 0 };
	const enum spur_status st = align_common(a, &s);

	mem_free(s.list);
	mem_free(s.events[0]);
	mem_free(s.events[1]);
	return st;
}

enum spur_status align_part(struct spur_trace *t, size_t i, struct spur_error *err)
{
	struct align a = { .t = t, .part = i, .err = err };
	size_t at = 0, named = 0, automatic = 0;
	const char *item;

	while ((item = next_item(&a, &at))) {
		named += !is_auto(item);
		automatic += is_auto(item);
	}
	if (!named && !automatic)
		return SPUR_WARN;
	if (named && automatic)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: --align: expected auto or pairs of events, found both",
			       t->parts[i].trace->path);
	if (t->parts[0].trace->clock.ticks || t->parts[i].trace->clock.ticks)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: --align: expected times in ns, found ticks",
			       t->parts[i].trace->path);
	return named ? align_named(&a, named) : align_auto(&a);
}
