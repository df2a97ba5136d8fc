/*
 * Time options. -r FROM~TO as uftrace takes it: a number with a unit counts from the first function
 * record of the trace, one without is a time stamp in seconds; both ends pass. --from and --to: the
 * same, and -1s counts from the end, @SECONDS is a time stamp, @YYYY-MM-
 * DD[THH:MM[:SS[.FRACTION]]][Z|+HH:MM] a date (UTC unless it says more).
 */
#include <string.h>

#include "base/source.h"
#include "flow/filter_parts.h"
#include "flow/pipe.h"
#include "flow/open.h"
#include "format/format.h"

enum { AHEAD_ROWS = 65536 };

static const int64_t second = 1000000000;

/* uftrace's longer names of units. */
static struct text short_unit(struct text t, char *buf, size_t size)
{
	static const char *const longer[] = { "nsec", "usec", "msec", "sec", "min" };
	static const char *const shorter[] = { "ns", "us", "ms", "s", "m" };
	size_t digits = t.len;

	if (t.len >= size)
		return (struct text){ NULL, 0 };
	memcpy(buf, t.p, t.len);
	buf[t.len] = '\0';
	while (digits && (buf[digits - 1] < '0' || buf[digits - 1] > '9') && buf[digits - 1] != '.')
		digits--;
	for (size_t i = 0; i < sizeof(longer) / sizeof(longer[0]); i++)
		if (strcmp(buf + digits, longer[i]) == 0)
			memcpy(buf + digits, shorter[i], strlen(shorter[i]) + 1);
	return text_of(buf);
}

bool duration_parse(struct text t, int64_t *ns)
{
	char buf[64];
	struct text s = short_unit(t, buf, sizeof(buf));

	return s.len && text_duration(s.p, 1, ns);
}

static bool has_unit(struct text t)
{
	char c = t.len ? t.p[t.len - 1] : '0';

	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Seconds with or without a fraction. */
static bool take_seconds(struct text *t, uint64_t *ns)
{
	if (text_seconds(t, ns))
		return true;
	return text_u64(t, 10, ns) && !__builtin_mul_overflow(*ns, (uint64_t)second, ns);
}

static bool parse_stamp(struct text t, int64_t *ns)
{
	uint64_t v;

	if (!take_seconds(&t, &v) || t.len || v > INT64_MAX)
		return false;
	*ns = (int64_t)v;
	return true;
}

static bool two_digits(struct text *t, const char *before, int64_t max, int64_t *out)
{
	if (!text_skip(t, before) || t->len < 2 || t->p[0] < '0' || t->p[0] > '9' ||
	    t->p[1] < '0' || t->p[1] > '9')
		return false;
	*out = (t->p[0] - '0') * 10 + (t->p[1] - '0');
	*t = text_make(t->p + 2, t->len - 2);
	return *out <= max;
}

/*
 * Days from 1970-01-01 of a date in the Gregorian calendar; years begin in March, so that the leap
 * day is last.
 */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month <= 2 ? year - 1 : year, m = (month + 9) % 12;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static bool parse_zone(struct text t, int64_t *offset_ns)
{
	int64_t hours, minutes, sign = 1;

	*offset_ns = 0;
	if (!t.len || text_is(t, "Z"))
		return true;
	if (t.p[0] == '-')
		sign = -1;
	if (!two_digits(&t, sign < 0 ? "-" : "+", 23, &hours) ||
	    !two_digits(&t, text_starts(t, ":") ? ":" : "", 59, &minutes))
		return false;
	*offset_ns = sign * (hours * 60 + minutes) * 60 * second;
	return !t.len;
}

/* ns since 1970 UTC. */
static bool parse_date(struct text t, int64_t *ns)
{
	uint64_t year, frac = 0;
	int64_t month, day, hour = 0, minute = 0, offset;

	if (!text_u64(&t, 10, &year) || year < 1970 || year > 2261)
		return false;
	if (!two_digits(&t, "-", 12, &month) || !two_digits(&t, "-", 31, &day) || !month || !day)
		return false;
	if (text_starts(t, "T") || text_starts(t, " ")) {
		if (!two_digits(&t, text_starts(t, "T") ? "T" : " ", 23, &hour) ||
		    !two_digits(&t, ":", 59, &minute))
			return false;
		if (text_skip(&t, ":") &&
		    (!take_seconds(&t, &frac) || frac >= 61 * (uint64_t)second))
			return false;
	}
	if (!parse_zone(t, &offset))
		return false;
	*ns = (((days_of((int64_t)year, month, day) * 24 + hour) * 60 + minute) * 60) * second +
	      (int64_t)frac - offset;
	return true;
}

/* Where times count from, found when first asked for. */
struct time_base {
	struct spur_trace *trace;
	bool have_first, have_last;
	int64_t first, last;
};

/* Rows of the system around the program: uftrace does not count from them. */
static bool is_around(const struct spur_trace *t, const struct spur_event *row)
{
	return row->kind == SPUR_SWITCH || row->kind == SPUR_OBJECT || row->kind == SPUR_WAKEUP ||
	       (trace_class(t, row->cls)->flags & CLASS_KERNEL);
}

/*
 * The first row of the feed that is the program's own; else its first row. SPUR_END: it has none.
 */
static enum spur_status feed_start(struct spur_trace *t, struct feed *f, int64_t *ts, bool *own)
{
	uint32_t seen = 0;
	enum spur_status st;

	do {
		st = feed_read_ahead(t, f);
		if (st == SPUR_FAIL)
			return SPUR_FAIL;
		while (seen < f->nahead && is_around(t, &f->ahead[seen]))
			seen++;
	} while (st == SPUR_OK && seen == f->nahead && seen < AHEAD_ROWS);
	if (!f->nahead)
		return SPUR_END;
	*own = seen < f->nahead;
	*ts = f->ahead[*own ? seen : 0].ts;
	return SPUR_OK;
}

/*
 * SPEC uftrace/range-start: elapsed times count from the first function record of all tasks, read
 * or not
 */
static enum spur_status base_first(struct time_base *b, struct spur_error *err)
{
	bool any = false, any_own = false;

	for (size_t i = 0; i < b->trace->nfeeds; i++) {
		bool own;
		int64_t ts;
		enum spur_status st = feed_start(b->trace, b->trace->feeds[i], &ts, &own);

		if (st == SPUR_FAIL)
			return err_nomem(err);
		if (st == SPUR_END || (any_own && !own))
			continue;
		if (!any || own != any_own || ts < b->first)
			b->first = ts;
		any = true;
		any_own = own;
	}
	b->have_first = true;
	return SPUR_OK;
}

struct last_time {
	int64_t ts;
};

static bool last_rows(void *worker, struct spur_event *rows, size_t n)
{
	struct last_time *l = worker;

	for (size_t i = 0; i < n; i++)
		if (rows[i].ts > l->ts)
			l->ts = rows[i].ts;
	return true;
}

static enum spur_status scan_last(struct spur_trace *t, int64_t *last)
{
	static const struct pipe_fold fold = { .rows = last_rows };
	const struct pipe_options opt = { .threads = t->options.threads, .any_order = true };
	unsigned n = pipe_workers(t, &opt);
	struct last_time *all = mem_array(n, sizeof(*all));
	void **states = mem_array(n, sizeof(void *));
	enum spur_status st = SPUR_FAIL;

	for (unsigned i = 0; all && states && i < n; i++) {
		all[i].ts = INT64_MIN;
		states[i] = &all[i];
	}
	if (all && states)
		st = pipe_run_feeds(t, &opt, &fold, states);
	*last = INT64_MIN;
	for (unsigned i = 0; st == SPUR_OK && i < n; i++)
		*last = all[i].ts > *last ? all[i].ts : *last;
	mem_free(states);
	mem_free(all);
	return st;
}

/*
 * The latest row: the trace is opened once more and read to the end, which a pipe does not allow.
 */
static enum spur_status base_last(struct time_base *b, const char *option, struct spur_error *err)
{
	struct spur_trace *again;
	enum spur_status st;

	if (b->trace->format->last && b->trace->format->last(b->trace, &b->last)) {
		b->have_last = true;
		return SPUR_OK;
	}
	st = trace_open_again(&again, b->trace, err);
	if (st == SPUR_WARN)
		return err_set(
			err, SPUR_ERR_USAGE,
			"%s: a time from the end needs a file; this input can be read only once",
			option);
	if (st == SPUR_FAIL)
		return SPUR_FAIL;
	st = scan_last(again, &b->last);
	spur_close(again);
	b->have_last = true;
	return st == SPUR_FAIL ? err_nomem(err) : SPUR_OK;
}

/* Both are within int64; the sum is clamped. */
static int64_t add_clamped(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

static enum spur_status time_from_start(struct time_base *b, struct text t, int64_t *out,
					struct spur_error *err)
{
	int64_t ns;

	if (!duration_parse(t, &ns))
		return SPUR_WARN;
	if (!b->have_first && base_first(b, err) == SPUR_FAIL)
		return SPUR_FAIL;
	*out = add_clamped(b->first, trace_from_ns(b->trace, ns));
	return SPUR_OK;
}

static enum spur_status time_from_end(struct time_base *b, const char *option, struct text t,
				      int64_t *out, struct spur_error *err)
{
	int64_t ns;

	if (!duration_parse(t, &ns))
		return SPUR_WARN;
	if (!b->have_last && base_last(b, option, err) == SPUR_FAIL)
		return SPUR_FAIL;
	*out = add_clamped(b->last, -trace_from_ns(b->trace, ns));
	return SPUR_OK;
}

static enum spur_status time_of_date(struct time_base *b, const char *option, struct text t,
				     int64_t *out, struct spur_error *err)
{
	const struct clock_info *c = &b->trace->clock;
	int64_t ns;

	if (!parse_date(t, &ns))
		return SPUR_WARN;
	if (!c->epoch_known)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: the trace does not say when it was made; dates cannot be used",
			       option);
	*out = trace_from_ns(b->trace, add_clamped(ns, -c->epoch_ns));
	return SPUR_OK;
}

/* SPUR_WARN: it is no time at all. */
static enum spur_status parse_time(struct time_base *b, const char *option, struct text t,
				   int64_t *out, struct spur_error *err)
{
	bool at = text_skip(&t, "@");

	if (at && text_find(t, '-') > 0)
		return time_of_date(b, option, t, out, err);
	if (!at && text_skip(&t, "-"))
		return time_from_end(b, option, t, out, err);
	if (!at && has_unit(t))
		return time_from_start(b, t, out, err);
	if (!parse_stamp(t, out))
		return SPUR_WARN;
	*out = trace_from_ns(b->trace, *out);
	return SPUR_OK;
}

static enum spur_status parse_option(struct time_base *b, const char *option, struct text t,
				     int64_t *out, struct spur_error *err)
{
	enum spur_status st = parse_time(b, option, t, out, err);

	if (st == SPUR_WARN)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected a time (1.5s, 828.215538, -1s, @2024-01-31T12:00), "
			       "found \"%.*s\"",
			       option, (int)t.len, t.p);
	return st;
}

/* Nothing or a zero at either end of -r is no limit. */
static bool is_open(struct text t)
{
	int64_t ns;

	if (!t.len)
		return true;
	return (has_unit(t) ? duration_parse(t, &ns) : parse_stamp(t, &ns)) && ns == 0;
}

static enum spur_status parse_range(struct filter *f, struct time_base *b, const char *s,
				    struct spur_error *err)
{
	struct text to = text_of(s), from;

	if (text_find(to, '~') < 0)
		return err_set(err, SPUR_ERR_USAGE, "-r: expected FROM~TO, found \"%s\"", s);
	text_split(&to, '~', &from);
	if (!is_open(from) && parse_option(b, "-r", from, &f->from, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (is_open(to))
		return SPUR_OK;
	if (parse_option(b, "-r", to, &f->to, err) == SPUR_FAIL)
		return SPUR_FAIL;
	f->to = add_clamped(f->to, 1);
	return SPUR_OK;
}

enum spur_status filter_parse_times(struct filter *f, const struct filter_spec *spec,
				    struct spur_error *err)
{
	struct time_base b = { .trace = f->trace };
	int64_t at = 0;

	f->from = INT64_MIN;
	f->to = INT64_MAX;
	if (spec->range && parse_range(f, &b, spec->range, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (spec->from) {
		if (parse_option(&b, "--from", text_of(spec->from), &at, err) == SPUR_FAIL)
			return SPUR_FAIL;
		f->from = at > f->from ? at : f->from;
	}
	if (spec->to) {
		if (parse_option(&b, "--to", text_of(spec->to), &at, err) == SPUR_FAIL)
			return SPUR_FAIL;
		f->to = at < f->to ? at : f->to;
	}
	return SPUR_OK;
}
