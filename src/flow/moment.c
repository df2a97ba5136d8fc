/* Points in time as people type them. See moment.h. */
#include "flow/moment.h"

#include <string.h>
#include <time.h>

#include "flow/open.h"
#include "flow/pipe.h"
#include "format/format.h"

enum { AHEAD_ROWS = 65536 };

static const int64_t second = 1000000000, half_day = 43200 * INT64_C(1000000000);

int64_t moment_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

/* --- parts of the text --- */

/* Replaces uftrace's longer names of units by the short ones. */
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

bool moment_duration(struct text t, int64_t bare_ns, int64_t *ns)
{
	char buf[64];
	struct text s = short_unit(t, buf, sizeof(buf));

	return s.len && text_duration(s.p, bare_ns, ns);
}

static bool has_unit(struct text t)
{
	char c = t.len ? t.p[t.len - 1] : '0';

	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits with at most one point among them. */
static bool is_number(struct text t)
{
	size_t points = 0;

	for (size_t i = 0; i < t.len; i++) {
		points += t.p[i] == '.';
		if (!is_digit(t.p[i]) && t.p[i] != '.')
			return false;
	}
	return t.len && is_digit(t.p[0]) && points <= 1;
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

static bool two_digits(struct text *t, const char *before, int max, int *out)
{
	if (!text_skip(t, before) || t->len < 2 || !is_digit(t->p[0]) || !is_digit(t->p[1]))
		return false;
	*out = (t->p[0] - '0') * 10 + (t->p[1] - '0');
	*t = text_make(t->p + 2, t->len - 2);
	return *out <= max;
}

/* HH:MM[:SS[.FRACTION]] */
static bool take_clock(struct text *t, int64_t *ns)
{
	int hour, minute;
	uint64_t rest = 0;

	if (!two_digits(t, "", 23, &hour) || !two_digits(t, ":", 59, &minute))
		return false;
	if (text_skip(t, ":") && (!take_seconds(t, &rest) || rest >= 61 * (uint64_t)second))
		return false;
	*ns = (hour * INT64_C(3600) + minute * INT64_C(60)) * second + (int64_t)rest;
	return true;
}

/* --- dates --- */

struct date {
	int year, month, day;
	int64_t clock; /* ns since midnight */
	bool zoned;
	int64_t offset; /* of the zone, ns east of UTC; if zoned */
};

/*
 * Days from 1970-01-01 of a date in the Gregorian calendar; years begin in March, so that the leap
 * day is last.
 */
static int64_t days_of(const struct date *d)
{
	int64_t y = d->month <= 2 ? d->year - 1 : d->year, m = (d->month + 9) % 12;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + d->day - 1 - 719468;
}

static int month_length(int year, int month)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

static bool parse_zone(struct text t, struct date *d)
{
	int hours, minutes = 0, sign = 1;

	d->zoned = t.len > 0;
	d->offset = 0;
	if (!t.len || text_is(t, "Z"))
		return true;
	if (t.p[0] == '-')
		sign = -1;
	if (!two_digits(&t, sign < 0 ? "-" : "+", 23, &hours))
		return false;
	if (t.len && !two_digits(&t, text_starts(t, ":") ? ":" : "", 59, &minutes))
		return false;
	d->offset = sign * (hours * INT64_C(60) + minutes) * 60 * second;
	return !t.len;
}

static bool parse_date(struct text t, struct date *d)
{
	uint64_t year;

	*d = (struct date){ 0 };
	if (!text_u64(&t, 10, &year) || year < 1970 || year > 2261)
		return false;
	d->year = (int)year;
	if (!two_digits(&t, "-", 12, &d->month) || !d->month ||
	    !two_digits(&t, "-", month_length(d->year, d->month), &d->day) || !d->day)
		return false;
	if ((text_skip(&t, "T") || text_skip(&t, " ")) && !take_clock(&t, &d->clock))
		return false;
	return parse_zone(t, d);
}

/* ns since 1970 UTC. Returns false if the local zone has no such time. */
static bool date_ns(const struct date *d, int64_t *ns)
{
	int64_t days = days_of(d), s = d->clock / second;
	struct tm tm = { .tm_year = d->year - 1900,
			 .tm_mon = d->month - 1,
			 .tm_mday = d->day,
			 .tm_hour = (int)(s / 3600),
			 .tm_min = (int)(s / 60 % 60),
			 .tm_sec = (int)(s % 60),
			 .tm_isdst = -1 };
	time_t at;

	if (d->zoned) {
		*ns = days * 86400 * second + d->clock - d->offset;
		return true;
	}
	at = mktime(&tm);
	if (at == (time_t)-1)
		return false;
	*ns = at * second + d->clock % second;
	return true;
}

/* --- the zeros --- */

/* Returns true for kernel and scheduler rows: uftrace does not count from them. */
static bool is_around(const struct spur_trace *t, const struct spur_event *row)
{
	return row->kind == SPUR_SWITCH || row->kind == SPUR_OBJECT || row->kind == SPUR_WAKEUP ||
	       (trace_class(t, row->cls)->flags & CLASS_KERNEL);
}

/*
 * The first row of the feed that is the program's own; else its first row. SPUR_END if it is empty.
 */
static enum spur_status feed_own(struct spur_trace *t, struct feed *f, int64_t *ts, bool *own)
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
static enum spur_status base_own(struct moment_base *b, struct spur_error *err)
{
	bool any = false, any_own = false;

	for (size_t i = 0; i < b->trace->nfeeds && !b->have_own; i++) {
		bool own;
		int64_t ts;
		enum spur_status st = feed_own(b->trace, b->trace->feeds[i], &ts, &own);

		if (st == SPUR_FAIL)
			return err_nomem(err);
		if (st == SPUR_END || (any_own && !own))
			continue;
		if (!any || own != any_own || ts < b->own)
			b->own = ts;
		any = true;
		any_own = own;
	}
	b->have_own = true;
	return SPUR_OK;
}

static enum spur_status base_start(struct moment_base *b, struct spur_error *err)
{
	if (!b->have_start && trace_start(b->trace, &b->start) == SPUR_FAIL)
		return err_nomem(err);
	b->have_start = true;
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
static enum spur_status base_last(struct moment_base *b, const char *option, struct spur_error *err)
{
	struct spur_trace *again;
	enum spur_status st;

	if (b->have_last)
		return SPUR_OK;
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
	trace_close(again);
	b->have_last = true;
	return st == SPUR_FAIL ? err_nomem(err) : SPUR_OK;
}

/* --- the forms; SPUR_WARN: it has another one --- */

/* The first ts that is `ns` later than the ts `base`, or more. */
static int64_t ts_after(const struct spur_trace *t, int64_t base, int64_t ns)
{
	if (!t->clock.ticks)
		return moment_add(base, ns);
	return trace_ticks_from(t, moment_add(trace_ticks_ns(t, base), ns));
}

static enum spur_status from_start(struct moment_base *b, const struct moment_option *o, int64_t ns,
				   bool plus, int64_t *out, struct spur_error *err)
{
	int64_t base;

	if ((o->uftrace ? base_own(b, err) : base_start(b, err)) == SPUR_FAIL)
		return SPUR_FAIL;
	base = o->uftrace ? b->own : b->start;
	if (plus && o->has_from)
		base = o->from;
	*out = ts_after(b->trace, base, ns);
	return SPUR_OK;
}

static enum spur_status from_end(struct moment_base *b, const struct moment_option *o,
				 struct text t, int64_t *out, struct spur_error *err)
{
	int64_t ns;

	if (!moment_duration(t, 0, &ns))
		return SPUR_WARN;
	if (base_last(b, o->name, err) == SPUR_FAIL)
		return SPUR_FAIL;
	*out = ts_after(b->trace, b->last, -ns);
	return SPUR_OK;
}

/* N% or N.F%, up to 100. */
static enum spur_status of_length(struct moment_base *b, const struct moment_option *o,
				  struct text t, int64_t *out, struct spur_error *err)
{
	int64_t part; /* 10^-9 of a per cent */
	__int128 length;

	if (!is_number(t) || !parse_stamp(t, &part) || part > 100 * second)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected 0%% to 100%% of the trace, found \"%.*s%%\"", o->name,
			       (int)t.len, t.p);
	if (base_start(b, err) == SPUR_FAIL || base_last(b, o->name, err) == SPUR_FAIL)
		return SPUR_FAIL;
	length = (__int128)b->last - b->start;
	*out = (int64_t)(b->start + (length > 0 ? length * part / (100 * second) : 0));
	return SPUR_OK;
}

static enum spur_status needs_epoch(const struct moment_base *b, const struct moment_option *o,
				    struct spur_error *err)
{
	if (b->trace->clock.epoch_known)
		return SPUR_OK;
	return err_set(err, SPUR_ERR_USAGE,
		       "%s: the trace does not say when it was made; dates cannot be used",
		       o->name);
}

/* From ns since 1970 UTC. */
static int64_t ts_of_wall(const struct spur_trace *t, int64_t ns)
{
	return trace_ticks_from(t, moment_add(ns, -t->clock.epoch_ns));
}

static enum spur_status of_date(struct moment_base *b, const struct moment_option *o, struct text t,
				int64_t *out, struct spur_error *err)
{
	struct date d;
	int64_t ns;

	if (!parse_date(t, &d) || !date_ns(&d, &ns))
		return SPUR_WARN;
	if (needs_epoch(b, o, err) == SPUR_FAIL)
		return SPUR_FAIL;
	*out = ts_of_wall(b->trace, ns);
	return SPUR_OK;
}

/*
 * Of the day on which the trace starts, or of the next one where that is more than 12 hours before
 * the start.
 */
static enum spur_status of_day(struct moment_base *b, const struct moment_option *o, struct text t,
			       int64_t *out, struct spur_error *err)
{
	struct date d = { 0 };
	int64_t ns, wall;
	struct tm tm;
	time_t s;

	if (!take_clock(&t, &d.clock) || !parse_zone(t, &d))
		return SPUR_WARN;
	if (needs_epoch(b, o, err) == SPUR_FAIL || base_start(b, err) == SPUR_FAIL)
		return SPUR_FAIL;
	wall = moment_add(trace_ticks_ns(b->trace, b->start), b->trace->clock.epoch_ns);
	s = (time_t)(moment_add(wall, d.offset) / second);
	tzset();
	if (!(d.zoned ? gmtime_r(&s, &tm) : localtime_r(&s, &tm)))
		return SPUR_WARN;
	d.year = tm.tm_year + 1900;
	d.month = tm.tm_mon + 1;
	d.day = tm.tm_mday;
	if (!date_ns(&d, &ns))
		return SPUR_WARN;
	if (wall - ns > half_day) {
		d.day++; /* that may be behind the month's last day */
		if (!date_ns(&d, &ns))
			return SPUR_WARN;
	}
	*out = ts_of_wall(b->trace, ns);
	return SPUR_OK;
}

/* On the trace's clock: seconds, or a number with a unit. */
static enum spur_status of_clock(const struct moment_base *b, struct text t, int64_t *out)
{
	int64_t ns;

	if (!(has_unit(t) ? moment_duration(t, 0, &ns) : parse_stamp(t, &ns)))
		return SPUR_WARN;
	*out = trace_ticks_from(b->trace, ns);
	return SPUR_OK;
}

static enum spur_status lacks_unit(const struct moment_option *o, struct text t,
				   struct spur_error *err)
{
	return err_set(err, SPUR_ERR_USAGE,
		       "%s: expected a unit behind \"%.*s\": ns, us, ms, s, m or h (of a ts of the "
		       "trace's clock: @%.*sns)",
		       o->name, (int)t.len, t.p, (int)t.len, t.p);
}

/*
 * Returns true if seconds with decimals can only be those of the clock, as --time=abs shows them
 * where no epoch is known: that long after its start the trace is over.
 */
static bool is_of_clock(struct moment_base *b, const struct moment_option *o, int64_t ns)
{
	const struct spur_trace *t = b->trace;
	struct spur_error ignored;

	if (t->clock.epoch_known || ns < trace_ticks_ns(t, b->start) ||
	    trace_ticks_ns(t, b->start) < second)
		return false;
	return base_last(b, o->name, &ignored) == SPUR_FAIL ||
	       ts_after(t, b->start, ns) > b->last;
}

/* A number without a unit, which output shows as a time, or people forget the unit of. */
static enum spur_status of_number(struct moment_base *b, const struct moment_option *o,
				  struct text t, int64_t *out, struct spur_error *err)
{
	const ptrdiff_t point = text_find(t, '.');
	struct text rest = t;
	uint64_t ts;
	int64_t ns;

	if (o->uftrace ||
	    (b->numbers == MOMENT_CLOCK && point >= 0 && !b->trace->clock.epoch_known))
		return of_clock(b, t, out);
	if (base_start(b, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (point >= 0) {
		if (t.len - (size_t)point != 10 || !parse_stamp(t, &ns))
			return lacks_unit(o, t, err);
		*out = is_of_clock(b, o, ns) ? trace_ticks_from(b->trace, ns)
					     : ts_after(b->trace, b->start, ns);
		return SPUR_OK;
	}
	if (!text_u64(&rest, 10, &ts) || rest.len || ts > INT64_MAX)
		return SPUR_WARN;
	if ((int64_t)ts < b->start ||
	    (b->numbers != MOMENT_TS && trace_ticks_ns(b->trace, b->start) < second))
		return ts ? lacks_unit(o, t, err) : from_start(b, o, 0, false, out, err);
	*out = (int64_t)ts;
	return SPUR_OK;
}

/* Of the text without the first sign. SPUR_WARN: it is no time at all. */
static enum spur_status parse_form(struct moment_base *b, const struct moment_option *o,
				   struct text t, int64_t *out, struct spur_error *err)
{
	const bool at = text_skip(&t, "@"), plus = !at && text_skip(&t, "+");
	int64_t ns;

	if (!at && !plus && text_skip(&t, "-"))
		return from_end(b, o, t, out, err);
	if (text_find(t, '-') > 0)
		return of_date(b, o, t, out, err);
	if (at)
		return of_clock(b, t, out);
	if (text_find(t, ':') > 0)
		return of_day(b, o, t, out, err);
	if (t.len && t.p[t.len - 1] == '%')
		return of_length(b, o, text_make(t.p, t.len - 1), out, err);
	if (is_number(t) && !plus)
		return of_number(b, o, t, out, err);
	if (!moment_duration(t, 0, &ns))
		return is_number(t) ? lacks_unit(o, t, err) : SPUR_WARN;
	return from_start(b, o, ns, plus, out, err);
}

enum spur_status moment_parse(struct moment_base *b, const struct moment_option *o, struct text t,
			      int64_t *out, struct spur_error *err)
{
	enum spur_status st = parse_form(b, o, t, out, err);

	if (st == SPUR_WARN)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected a time (1.5s, +1ms, -1s, 50%%, 10:21:03.5, "
			       "2026-11-22T10:21:03.5Z, @828.215538), found \"%.*s\"",
			       o->name, (int)t.len, t.p);
	return st;
}
