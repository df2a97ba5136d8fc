/*
 * Time options. --from and --until count from the zero that shown times count from, and take what
 * moment.h lists. -r FROM~TO follows uftrace: a number with a unit counts from the first function
 * record of the trace, one without is a time stamp in seconds, and both ends pass; what uftrace
 * does not know (a date, a per cent) means what it means for --from.
 */
#include "flow/filter_parts.h"
#include "flow/moment.h"
#include "flow/pipe.h"

/* Nothing or a zero at either end of -r is no limit. */
static bool is_open(struct text t)
{
	const int64_t second = 1000000000;
	int64_t ns;

	return !t.len || (moment_duration(t, second, &ns) && ns == 0);
}

static enum spur_status parse_range(struct filter *f, struct moment_base *b, const char *s,
				    struct spur_error *err)
{
	struct moment_option o = { .name = "-r", .uftrace = true };
	struct text to = text_of(s), from;

	if (text_find(to, '~') < 0)
		return err_set(err, SPUR_ERR_USAGE, "-r: expected FROM~TO, found \"%s\"", s);
	text_split(&to, '~', &from);
	if (!is_open(from)) {
		if (moment_parse(b, &o, from, &f->from, err) == SPUR_FAIL)
			return SPUR_FAIL;
		o.has_from = true;
		o.from = f->from;
	}
	if (is_open(to))
		return SPUR_OK;
	if (moment_parse(b, &o, to, &f->to, err) == SPUR_FAIL)
		return SPUR_FAIL;
	f->to = moment_add(f->to, 1);
	return SPUR_OK;
}

enum spur_status filter_parse_times(struct filter *f, const struct filter_spec *spec,
				    struct spur_error *err)
{
	struct moment_base b = { .trace = f->trace, .numbers = spec->numbers };
	struct moment_option o = { .name = "--from" };
	int64_t at = 0;

	f->from = spec->span ? spec->span[0] : INT64_MIN;
	f->to = spec->span ? spec->span[1] : INT64_MAX;
	/* The zero must be known before formats are told to leave out what lies before --from. */
	if ((spec->range || spec->from || spec->to) && trace_start(f->trace, &at) == SPUR_FAIL)
		return err_nomem(err);
	if (spec->range && parse_range(f, &b, spec->range, err) == SPUR_FAIL)
		return SPUR_FAIL;
	f->zero = b.own;
	f->zero_known = b.have_own;
	if (spec->from) {
		if (moment_parse(&b, &o, text_of(spec->from), &at, err) == SPUR_FAIL)
			return SPUR_FAIL;
		f->from = at > f->from ? at : f->from;
		o.has_from = true;
		o.from = at;
	}
	if (spec->to) {
		o.name = "--until";
		if (moment_parse(&b, &o, text_of(spec->to), &at, err) == SPUR_FAIL)
			return SPUR_FAIL;
		f->to = at < f->to ? at : f->to;
	}
	return SPUR_OK;
}
