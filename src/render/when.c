/* See when.h. */
#include "render/when.h"

#include "base/digits.h"
#include "flow/pipe.h"

enum { USUAL_WIDTH = 14 };
static const int64_t USUAL_MOST = INT64_C(10000) * 1000000000;

enum spur_status when_init(struct when *w, struct spur_trace *t, enum time_form how,
			   struct spur_error *err)
{
	*w = (struct when){ .how = how };
	if (how == TIME_REL && trace_start(t, &w->zero) == SPUR_FAIL)
		return err_nomem(err);
	w->dates = how == TIME_ABS && t->clock.epoch_known;
	if (w->dates && __builtin_sub_overflow((int64_t)0, t->clock.epoch_ns, &w->zero))
		w->dates = false;
	return SPUR_OK;
}

/* Year, month and day of days since 1970-01-01; years begin in March, so that the leap day is last.
 */
static char *put_date(char *p, int64_t days)
{
	const uint64_t z = (uint64_t)(days + 719468); /* since 0000-03-01 */
	const uint64_t era = z / 146097, day_of_era = z % 146097;
	const uint64_t year =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	const uint64_t day = day_of_era - (365 * year + year / 4 - year / 100);
	const uint64_t month = (5 * day + 2) / 153;

	p = put_u64_0(p, era * 400 + year + (month >= 10), 4);
	*p++ = '-';
	p = put_u64_0(p, month < 10 ? month + 3 : month - 9, 2);
	*p++ = '-';
	return put_u64_0(p, day - (153 * month + 2) / 5 + 1, 2);
}

static char *put_stamp(char *p, int64_t ns)
{
	const int64_t day_ns = 86400000000000;
	int64_t days = ns / day_ns, rest = ns % day_ns;
	uint64_t s;

	if (rest < 0) {
		rest += day_ns;
		days--;
	}
	s = (uint64_t)rest / 1000000000;
	p = put_date(p, days);
	*p++ = 'T';
	p = put_u64_0(p, s / 3600, 2);
	*p++ = ':';
	p = put_u64_0(p, s / 60 % 60, 2);
	*p++ = ':';
	p = put_u64_0(p, s % 60, 2);
	*p++ = '.';
	p = put_nine_digits(p, (uint32_t)((uint64_t)rest % 1000000000));
	*p++ = 'Z';
	return p;
}

static char *put_seconds(char *p, int64_t ns)
{
	const uint64_t n = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	if (ns < 0)
		*p++ = '-';
	p = put_u64(p, n / 1000000000);
	*p++ = '.';
	return put_nine_digits(p, (uint32_t)(n % 1000000000));
}

/* Seconds of at most four digits and of the usual width, as nearly all are. */
static inline char *put_usual(char *p, uint64_t ns)
{
	const uint32_t seconds = (uint32_t)(ns / 1000000000);
	uint32_t rest = seconds;
	char *digit = p + 4;

	memcpy(p, "    .", 5);
	do
		*--digit = (char)('0' + rest % 10);
	while (rest /= 10);
	return put_nine_digits(p + 5, (uint32_t)(ns - (uint64_t)seconds * 1000000000));
}

char *put_when(char *p, const struct when *w, int64_t ts, unsigned width)
{
	char *end;
	size_t len;
	int64_t v;

	if (__builtin_sub_overflow(ts, w->zero, &v))
		v = ts < 0 ? INT64_MIN : INT64_MAX;
	if (__builtin_expect(w->how != TIME_RAW && !w->dates && width == USUAL_WIDTH && v >= 0 &&
			     v < USUAL_MOST, 1))
		return put_usual(p, (uint64_t)v);
	end = w->how == TIME_RAW ? put_i64(p, ts) : w->dates ? put_stamp(p, v) : put_seconds(p, v);
	len = (size_t)(end - p);
	if (len >= width)
		return end;
	memmove(p + (width - len), p, len);
	memset(p, ' ', width - len);
	return p + width;
}

unsigned when_width(const struct when *w)
{
	return w->how == TIME_RAW ? 19 : w->dates ? 30 : w->how == TIME_ABS ? 17 : USUAL_WIDTH;
}
