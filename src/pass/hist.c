/*
 * hist: how long the calls of a function, or the spans of a name, took: a histogram on a
 * logarithmic scale, and percentiles. Counts complete calls only: those whose BEGIN and END are
 * both in the data, and SPAN rows; says how many were not complete.
 *
 * Durations are counted by their two leading decimal digits. Bins of the output are unions of
 * these, so their bounds (1, 2, 5, 10 ...) are exact. Percentiles as spread.h says.
 */
#include <string.h>

#include "base/text.h"
#include "flow/spread.h"
#include "flow/walk.h"
#include "pass/hist.h"
#include "pass/pass.h"
#include "render/cell.h"

enum {
	STEPS = 90, /* bins a decade: 10 to 99 */
	DECADES = 19, /* of 64 bits, from 10 on */
	BINS = STEPS * DECADES + 10, /* 0 to 9 are the first ten */
	LINES = 16, /* of text and data at most, if a decade needs no more than one */
	COUNT_WIDTH = 10,
	BAR_LEAST = 10,
	SHARE_WIDTH = 8,
	WIDTH = 80, /* without a terminal */
};

/* Sums of one worker. */
struct hist_sums {
	uint64_t bins[BINS];
	struct spread spread;
	uint64_t least, most; /* ns; if there are calls */
	uint64_t incomplete;
	uint64_t rows;
};

struct hist {
	struct pass_env *env;
	struct pattern *pattern;
	struct hist_sums sums;
};

enum match { MATCH_OPEN, MATCH_NO, MATCH_YES };
enum { CLASSES = TRACE_CLASS_PAGE * TRACE_CLASS_PAGES };

struct worker {
	struct hist *hist;
	struct hist_sums sums;
	struct pair pair;
	uint8_t *classes; /* enum match, by class */
	size_t classes_cap;
	uint32_t low, high; /* tracks seen by the current feed */
	bool any;
};

/* --- bins --- */

static size_t bin_of(uint64_t ns)
{
	uint64_t scale = 1;
	size_t decade = 0;

	if (ns < 10)
		return (size_t)ns;
	while (ns / scale >= 100) {
		scale *= 10;
		decade++;
	}
	return 10 + decade * STEPS + (size_t)(ns / scale) - 10;
}

/* The least duration of a bin; UINT64_MAX behind the last one. */
static uint64_t bin_from(size_t bin)
{
	uint64_t v;

	if (bin < 10)
		return bin;
	if (bin >= BINS)
		return UINT64_MAX;
	v = 10 + (bin - 10) % STEPS;
	for (size_t i = (bin - 10) / STEPS; i; i--)
		if (__builtin_mul_overflow(v, (uint64_t)10, &v))
			return UINT64_MAX;
	return v;
}

/* --- collecting --- */

static bool name_matches(const struct hist *h, uint32_t id)
{
	return id && pattern_match(h->pattern, trace_string(h->env->trace, id, NULL));
}

/* MATCH_OPEN: out of memory. */
static enum match class_match(struct worker *w, uint32_t cls)
{
	const struct event_class *c;

	if (cls >= w->classes_cap &&
	    !mem_grow((void **)&w->classes, &w->classes_cap, (size_t)cls + 1, 1, CLASSES))
		return MATCH_OPEN;
	if (!w->classes[cls]) {
		c = trace_class(w->hist->env->trace, cls);
		w->classes[cls] = name_matches(w->hist, c->name) ||
						  name_matches(w->hist, c->simple) ||
						  name_matches(w->hist, c->raw)
					  ? MATCH_YES
					  : MATCH_NO;
	}
	return w->classes[cls];
}

static bool sums_add(struct hist_sums *s, uint64_t ns)
{
	s->least = !s->spread.count || ns < s->least ? ns : s->least;
	s->most = ns > s->most ? ns : s->most;
	s->bins[bin_of(ns)]++;
	return spread_add(&s->spread, ns);
}

/* A frame that ended; complete if its END was there. */
static bool frame_add(struct worker *w, const struct pair_frame *f, int64_t end, bool complete)
{
	enum match match;

	if (f->flags & (PAIR_SCHED | PAIR_MISSING))
		return true;
	match = class_match(w, f->cls);
	if (match != MATCH_YES)
		return match == MATCH_NO;
	if (!complete) {
		w->sums.incomplete++;
		return true;
	}
	return sums_add(&w->sums, walk_length(f, end));
}

static bool row_add(struct worker *w, const struct spur_event *row)
{
	struct pair_stack *s = pair_stack(&w->pair, row->track);
	struct pair_frame *f;
	struct walk_end end;

	if (!s)
		return false;
	while ((f = walk_due(s, row, &end)))
		if (!frame_add(w, f, end.ts, !end.unfinished))
			return false;
	if (walk_opens(s, row)) {
		if (!walk_push(s, row))
			return false;
	} else if ((f = walk_match(s, row))) {
		return frame_add(w, f, row->ts, true);
	} else if (row->kind == SPUR_END_SPAN) {
		const enum match match = class_match(w, row->cls);

		w->sums.incomplete += match == MATCH_YES;
		return match != MATCH_OPEN;
	}
	return true;
}

static bool hist_rows(void *self, struct spur_event *rows, size_t n)
{
	struct worker *w = self;

	w->sums.rows += n;
	for (size_t i = 0; i < n; i++) {
		if (!walk_takes(&rows[i]))
			continue;
		if (!w->any || rows[i].track < w->low)
			w->low = rows[i].track;
		if (!w->any || rows[i].track > w->high)
			w->high = rows[i].track;
		w->any = true;
		if (!row_add(w, &rows[i]))
			return false;
	}
	return true;
}

/* Calls that are open when the data ends. */
static bool hist_feed_end(void *self, const struct feed *feed)
{
	struct worker *w = self;

	(void)feed;
	for (size_t i = w->low; w->any && i <= w->high; i++) {
		struct pair_stack *s = pair_at(&w->pair, i);
		struct walk_end end;
		struct pair_frame *f;

		while (s && (f = walk_rest(s, INT64_MAX, &end)))
			if (!frame_add(w, f, end.ts, !end.unfinished))
				return false;
	}
	pair_clear(&w->pair);
	w->any = false;
	return true;
}

static bool sums_join(struct hist_sums *to, const struct hist_sums *from)
{
	if (from->spread.count) {
		to->least = !to->spread.count || from->least < to->least ? from->least : to->least;
		to->most = from->most > to->most ? from->most : to->most;
	}
	for (size_t i = 0; i < BINS; i++)
		to->bins[i] += from->bins[i];
	to->incomplete += from->incomplete;
	to->rows += from->rows;
	return spread_join(&to->spread, &from->spread);
}

static enum spur_status hist_read(struct hist *h)
{
	static const struct pipe_fold fold = { .rows = hist_rows, .feed_end = hist_feed_end };
	struct pass_env *env = h->env;
	const unsigned n = pipe_workers(env->trace, &env->pipe);
	struct worker *workers = mem_array(n, sizeof(*workers));
	void **states = mem_array(n, sizeof(*states));
	bool good = workers && states;

	for (unsigned i = 0; good && i < n; i++) {
		workers[i].hist = h;
		workers[i].sums.spread.exact = true;
		pair_init(&workers[i].pair);
		states[i] = &workers[i];
	}
	good = good && pipe_run_feeds(env->trace, &env->pipe, &fold, states) == SPUR_OK;
	for (unsigned i = 0; workers && i < n; i++) {
		good = good && sums_join(&h->sums, &workers[i].sums);
		spread_free(&workers[i].sums.spread);
		pair_free(&workers[i].pair);
		mem_free(workers[i].classes);
	}
	mem_free(workers);
	mem_free(states);
	return good ? SPUR_OK : err_nomem(env->err);
}

/* --- output --- */

/*
 * Where bins of the output begin, within a decade; the finest that gives few enough lines is taken.
 */
static const struct bounds {
	uint8_t n, from[18];
} all_bounds[] = {
	{ 18, { 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95 } },
	{ 9, { 10, 20, 30, 40, 50, 60, 70, 80, 90 } },
	{ 6, { 10, 15, 20, 30, 50, 70 } },
	{ 3, { 10, 20, 50 } },
	{ 1, { 10 } },
};
enum { BOUNDS = sizeof(all_bounds) / sizeof(all_bounds[0]) };

static bool bin_begins(const struct bounds *s, size_t bin)
{
	const size_t step = 10 + (bin - 10) % STEPS;

	/* Below 10 ns a bin is 1 ns; so the all_bounds need not divide it. */
	if (bin < 10)
		return bin == 0 || s->n > 6 || bin == 1 || (s->n > 1 && (bin == 2 || bin == 5));
	for (size_t i = 0; i < s->n; i++)
		if (s->from[i] == step)
			return true;
	return false;
}

/* One bin of the output; from `from` to before `to`. */
struct hist_bin {
	uint64_t from, to, calls;
};

struct hist_bins {
	const struct bounds *bounds;
	size_t next, last; /* bins of the sums */
};

/* The next one, between the first and the last that has calls. */
static bool bins_next(const struct hist *h, struct hist_bins *b, struct hist_bin *out)
{
	if (b->next > b->last)
		return false;
	*out = (struct hist_bin){ .from = bin_from(b->next) };
	do
		out->calls += h->sums.bins[b->next++];
	while (b->next < BINS && !bin_begins(b->bounds, b->next));
	out->to = bin_from(b->next);
	return true;
}

static struct hist_bins bins_on(const struct hist *h, const struct bounds *bounds)
{
	struct hist_bins b = { bounds, bin_of(h->sums.least), bin_of(h->sums.most) };

	while (!bin_begins(bounds, b.next))
		b.next--;
	return b;
}

static struct hist_bins bins_choose(const struct hist *h)
{
	struct hist_bins b = bins_on(h, &all_bounds[0]);

	for (size_t i = 0; i < BOUNDS; i++) {
		struct hist_bins count = b = bins_on(h, &all_bounds[i]);
		struct hist_bin bin;
		size_t n = 0;

		while (bins_next(h, &count, &bin))
			n++;
		if (n <= LINES)
			break;
	}
	return b;
}

/* Nearest rank of per mille. */
static uint64_t quantile(struct hist *h, uint64_t permille)
{
	const uint64_t n = h->sums.spread.count;
	const unsigned __int128 rank = ((unsigned __int128)n * permille + 999) / 1000;

	return n ? spread_at(&h->sums.spread, (uint64_t)(rank ? rank - 1 : 0)) : 0;
}

static const struct {
	const char *name;
	uint64_t permille;
} quantiles[] = { { "p50", 500 }, { "p90", 900 }, { "p99", 990 }, { "p99.9", 999 } };
enum { QUANTILES = sizeof(quantiles) / sizeof(quantiles[0]) };

/* A duration as --raw or units have it, without blanks in front. */
static void out_length(const struct hist *h, uint64_t ns)
{
	char buf[16], *p = buf, *end;

	if (h->env->opt->raw) {
		out_u64(h->env->out, ns);
		return;
	}
	end = put_time(buf, ns);
	while (p < end && *p == ' ')
		p++;
	out_bytes(h->env->out, p, (size_t)(end - p));
}

static void text_head(struct hist *h)
{
	const struct hist_sums *s = &h->sums;
	struct out *o = h->env->out;

	out_safe(o, hist_options(h->env)->root, strlen(hist_options(h->env)->root));
	out_printf(o, ": %llu complete call%s", (unsigned long long)s->spread.count,
		   s->spread.count == 1 ? "" : "s");
	if (s->incomplete)
		out_printf(o, ", %llu incomplete (not counted)",
			   (unsigned long long)s->incomplete);
	out_char(o, '\n');
	if (!s->spread.count)
		return;
	out_str(o, "min ");
	out_length(h, s->least);
	for (size_t i = 0; i < QUANTILES; i++) {
		out_printf(o, ", %s ", quantiles[i].name);
		out_length(h, quantile(h, quantiles[i].permille));
	}
	out_str(o, ", max ");
	out_length(h, s->most);
	out_str(o, ", avg ");
	out_length(h, s->spread.sum / s->spread.count);
	out_str(o, "\n\n");
}

static void text_bound(const struct hist *h, uint64_t ns)
{
	char buf[32];

	if (h->env->opt->raw)
		out_bytes(h->env->out, buf, (size_t)(put_u64_w(buf, ns, CELL_TIME) - buf));
	else
		out_bytes(h->env->out, buf, (size_t)(put_time(buf, ns) - buf));
}

static void hist_text(struct hist *h)
{
	struct out *o = h->env->out;
	const unsigned width = h->env->opt->width ? h->env->opt->width : WIDTH;
	const unsigned used = 2 * CELL_TIME + COUNT_WIDTH + SHARE_WIDTH + 10;
	const unsigned room = width > used + BAR_LEAST ? width - used : BAR_LEAST;
	struct hist_bins b, all;
	struct hist_bin bin;
	uint64_t most = 1;

	text_head(h);
	if (!h->sums.spread.count)
		return;
	b = all = bins_choose(h);
	while (bins_next(h, &all, &bin))
		most = bin.calls > most ? bin.calls : most;
	out_printf(o, "%s%*s    %*s  %*s  %*s%s\n", h->env->opt->color ? "\033[1m" : "", CELL_TIME,
		   "from", CELL_TIME, "to", COUNT_WIDTH, "calls", SHARE_WIDTH, "share",
		   h->env->opt->color ? "\033[0m" : "");
	while (bins_next(h, &b, &bin)) {
		const uint64_t tenths = (uint64_t)((unsigned __int128)bin.calls * 1000 /
						   h->sums.spread.count);
		const size_t bar = (size_t)((unsigned __int128)bin.calls * room / most);
		char cell[32];

		text_bound(h, bin.from);
		out_str(o, " to ");
		text_bound(h, bin.to);
		out_str(o, "  ");
		out_bytes(o, cell, (size_t)(put_u64_w(cell, bin.calls, COUNT_WIDTH) - cell));
		out_str(o, "  ");
		out_bytes(o, cell,
			  (size_t)(put_u64_w(cell, tenths / 10, SHARE_WIDTH - 4) - cell));
		out_printf(o, ".%u %%", (unsigned)(tenths % 10));
		if (bin.calls)
			out_str(o, "  ");
		out_pad(o, '#', bin.calls && !bar ? 1 : bar);
		out_char(o, '\n');
	}
}

static void hist_json(struct hist *h)
{
	const struct hist_sums *s = &h->sums;
	struct out *o = h->env->out;
	struct hist_bins b;
	struct hist_bin bin;
	bool any = false;

	out_json_head(o, "hist");
	out_str(o, ",\"function\":");
	out_json(o, hist_options(h->env)->root, strlen(hist_options(h->env)->root));
	out_printf(o, ",\"calls\":%llu,\"incomplete\":%llu", (unsigned long long)s->spread.count,
		   (unsigned long long)s->incomplete);
	if (s->spread.count) {
		out_printf(o, ",\"min\":%llu,\"max\":%llu,\"avg\":%llu,\"stdev\":%llu",
			   (unsigned long long)s->least, (unsigned long long)s->most,
			   (unsigned long long)(s->spread.sum / s->spread.count),
			   (unsigned long long)spread_deviation(&s->spread));
		for (size_t i = 0; i < QUANTILES; i++)
			out_printf(o, ",\"%s\":%llu", quantiles[i].name,
				   (unsigned long long)quantile(h, quantiles[i].permille));
	}
	out_str(o, ",\"bins\":[");
	b = bins_choose(h);
	while (s->spread.count && bins_next(h, &b, &bin)) {
		out_printf(o, "%s\n{\"from\":%llu,\"to\":%llu,\"calls\":%llu}", any ? "," : "",
			   (unsigned long long)bin.from, (unsigned long long)bin.to,
			   (unsigned long long)bin.calls);
		any = true;
	}
	out_str(o, any ? "\n]}\n" : "]}\n");
}

static void hist_csv(struct hist *h)
{
	struct hist_bins b = bins_choose(h);
	struct hist_bin bin;

	out_str(h->env->out, "from,to,calls\n");
	while (h->sums.spread.count && bins_next(h, &b, &bin))
		out_printf(h->env->out, "%llu,%llu,%llu\n", (unsigned long long)bin.from,
			   (unsigned long long)bin.to, (unsigned long long)bin.calls);
}

static enum spur_status hist_run(struct pass_env *env)
{
	struct hist h = { .env = env, .sums = { .spread = { .exact = true } } };
	enum spur_status st = SPUR_OK;

	if (!hist_options(env)->root)
		return err_set(env->err, SPUR_ERR_USAGE, "hist: expected the name of a function");
	h.pattern = filter_name_pattern(text_of(hist_options(env)->root),
					env->given->match, "hist", env->err);
	if (!h.pattern)
		return SPUR_FAIL;
	st = hist_read(&h);
	if (st == SPUR_OK) {
		if (env->opt->form == FORM_JSON)
			hist_json(&h);
		else if (env->opt->form == FORM_CSV)
			hist_csv(&h);
		else
			hist_text(&h);
		if (!h.sums.spread.count && !h.sums.incomplete) {
			pass_note_unnamed(env, hist_options(env)->root, h.pattern);
			st = SPUR_WARN;
		}
	}
	pattern_free(h.pattern);
	spread_free(&h.sums.spread);
	return st;
}

const struct spur_pass spur_pass_hist = {
	.name = "hist",
	.options_size = sizeof(struct hist_options),
	.run = hist_run,
};
