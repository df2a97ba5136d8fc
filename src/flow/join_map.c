/* See join_map.h. */
#include "flow/join_map.h"

#include <string.h>

#include "flow/align.h"
#include "flow/align_fit.h"
#include "flow/join_clock.h"
#include "flow/pipe.h"
#include "format/format.h"

/* How far apart traces may begin whose clocks are assumed to be one: a day. */
static const int64_t assumed_gap = 86400000000000;

/* Called after trace_start(), which reads the first rows. */
static bool has_rows(const struct spur_trace *t)
{
	for (size_t i = 0; i < t->nfeeds; i++)
		if (t->feeds[i]->nahead)
			return true;
	return false;
}

static enum spur_status unrelated(const struct spur_trace *a, const struct spur_trace *b,
				  const char *why, struct spur_error *err)
{
	return err_set(
		err, SPUR_ERR_USAGE,
		"%s and %s: expected clocks that can be related, found \"%s\" %s a known epoch "
		"and \"%s\" %s one%s; use --same-clock to take them as one clock, --offset or "
		"--align to relate them",
		a->path, b->path, a->clock.name, a->clock.epoch_known ? "with" : "without",
		b->clock.name, b->clock.epoch_known ? "with" : "without", why);
}

/*
 * Clocks of one name, without epochs. If their times lie far apart, they are not the same clock:
 * returns SPUR_WARN.
 */
static enum spur_status relate_assumed(struct spur_trace *a, struct spur_trace *b)
{
	int64_t x, y, gap;

	if (trace_start(a, &x) == SPUR_FAIL || trace_start(b, &y) == SPUR_FAIL)
		return SPUR_FAIL;
	if (has_rows(a) && has_rows(b) &&
	    (__builtin_sub_overflow(x, y, &gap) || gap > assumed_gap || gap < -assumed_gap))
		return SPUR_WARN;
	return SPUR_OK;
}

static void note_assumed(struct spur_trace *t, const struct spur_trace *a,
			 const struct spur_trace *b)
{
	if (!t->one_run)
		diag_add(&t->diag, DIAG_NOTE, "joined/assumed-clock", b->path, DIAG_NO_OFF, 0,
			 "clock \"%s\" is taken to be that of %s: the names agree, and the traces "
			 "do not both know their epoch",
			 b->clock.name, a->path);
}

/*
 * Returns true if two files of a directory that is one recording count on one clock, though they
 * know no epoch: nothing says otherwise.
 */
static bool one_recording(const struct spur_trace *t, const struct spur_trace *b)
{
	const struct clock_info *x = &t->parts[0].trace->clock, *y = &b->clock;

	return t->one_run && b->format->copies_runs && !x->epoch_known && !y->epoch_known &&
	       !x->identity == !y->identity &&
	       (!x->identity || strcmp(x->identity, y->identity) == 0) &&
	       strcmp(x->name, y->name) == 0 && x->hz == y->hz && x->own_zero == y->own_zero;
}

/* By what the traces say. `offset`: spur_options.offsets has one for this part. */
static enum spur_status relate_stated(struct spur_trace *t, struct trace_part *p, bool offset,
				      struct spur_error *err)
{
	struct spur_trace *a = t->parts[0].trace, *b = p->trace;
	const char *why = t->options.raw_time ? ", both in ticks" : "";
	bool known = join_relate(a, b, &p->relation, &p->map.shift);

	if (one_recording(t, b)) {
		p->relation = (struct clock_relation){ .how = SPUR_RELATED_SAME };
		p->map.shift = 0;
		return SPUR_OK;
	}
	if (known && p->relation.how == SPUR_RELATED_ASSUMED) {
		const enum spur_status st = relate_assumed(a, b);

		if (st == SPUR_FAIL)
			return err_nomem(err);
		known = st == SPUR_OK && !offset;
		why = st == SPUR_OK ? why : ", beginning more than a day apart";
		if (known)
			note_assumed(t, a, b);
	}
	if (known)
		return SPUR_OK;
	if (!offset)
		return unrelated(a, b, why, err);
	p->map.shift = 0;
	p->relation = (struct clock_relation){ .how = SPUR_RELATED_OFFSET, .error = -1 };
	return SPUR_OK;
}

/* Sums up the offsets of part `i`. Returns SPUR_FAIL if a sum does not fit 64 bits. */
static enum spur_status add_offsets(const struct spur_trace *t, size_t i, struct trace_part *p,
				    struct spur_error *err)
{
	bool fits = true;

	for (size_t k = 0; k < t->options.noffsets; k++)
		if (t->options.offsets[k].trace == i)
			fits &= !__builtin_add_overflow(p->relation.added, t->options.offsets[k].ns,
							&p->relation.added);
	fits &= !__builtin_add_overflow(p->map.shift, trace_from_ns(p->trace, p->relation.added),
					&p->map.shift);
	return fits ? SPUR_OK
		    : err_set(err, SPUR_ERR_USAGE,
			      "%s: expected an offset of at most 292 years, found more",
			      p->trace->path);
}

static bool has_offset(const struct spur_trace *t, size_t i)
{
	for (size_t k = 0; k < t->options.noffsets && !t->one_run; k++)
		if (t->options.offsets[k].trace == i)
			return true;
	return false;
}

static enum spur_status relate_part(struct spur_trace *t, size_t i, struct spur_error *err)
{
	const struct spur_trace *a = t->parts[0].trace;
	struct trace_part *p = &t->parts[i];
	const bool offset = has_offset(t, i);
	enum spur_status st;

	if (t->options.raw_time && p->trace->clock.hz != a->clock.hz)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s and %s: expected ticks of one rate, found %llu and %llu a "
			       "second: their times can be shown in ns only",
			       a->path, p->trace->path, (unsigned long long)a->clock.hz,
			       (unsigned long long)p->trace->clock.hz);
	st = t->one_run ? SPUR_WARN : align_part(t, i, err);
	if (st == SPUR_WARN && t->options.same_clock) {
		p->relation = (struct clock_relation){ .how = SPUR_RELATED_TOLD, .error = -1 };
		st = SPUR_OK;
	}
	if (st == SPUR_WARN)
		st = relate_stated(t, p, offset, err);
	return st == SPUR_OK && offset ? add_offsets(t, i, p, err) : st;
}

/* Returns SPUR_FAIL if an option names a trace that does not exist. */
static enum spur_status check_numbers(const struct spur_trace *t, size_t n, struct spur_error *err)
{
	const struct spur_options *o = &t->options;
	size_t trace;

	if (t->one_run)
		return SPUR_OK;
	for (size_t i = 0; i < o->noffsets; i++)
		if (!o->offsets[i].trace || o->offsets[i].trace >= n)
			return err_set(err, SPUR_ERR_USAGE,
				       "--offset: expected the number of a trace from 2 to %zu, "
				       "found %zu",
				       n, o->offsets[i].trace + 1);
	for (size_t i = 0; o->align && o->align[i]; i++) {
		align_item(o->align[i], &trace);
		if (trace != SIZE_MAX && (!trace || trace >= n))
			return err_set(err, SPUR_ERR_USAGE,
				       "--align: expected the number of a trace from 2 to %zu, "
				       "found %zu",
				       n, trace + 1);
	}
	return SPUR_OK;
}

enum spur_status join_clocks(struct spur_trace *t, size_t n, struct spur_error *err)
{
	if (n)
		t->parts[0].relation.how = SPUR_RELATED_FIRST;
	if (check_numbers(t, n, err) == SPUR_FAIL)
		return SPUR_FAIL;
	for (size_t i = 1; i < n; i++)
		if (relate_part(t, i, err) == SPUR_FAIL)
			return SPUR_FAIL;
	return SPUR_OK;
}

/* With six digits, whatever the locale. */
static void out_ppm(struct out *o, int64_t trillionths)
{
	const uint64_t size = trillionths < 0 ? 0 - (uint64_t)trillionths : (uint64_t)trillionths;

	out_printf(o, "%c%llu.%06llu", trillionths < 0 ? '-' : '+',
		   (unsigned long long)(size / 1000000), (unsigned long long)(size % 1000000));
}

void join_clock_text(const struct trace_part *part, struct out *o)
{
	const struct clock_relation *r = &part->relation;

	out_str(o, relation_text(r->how));
	if (r->added && r->how != SPUR_RELATED_OFFSET)
		out_printf(o, "; --offset adds %lld ns", (long long)r->added);
	if (r->events)
		out_printf(o, "; %llu pair%s of events", (unsigned long long)r->events,
			   r->events == 1 ? "" : "s");
	if (r->rejected)
		out_printf(o, ", %llu left out", (unsigned long long)r->rejected);
	if (r->error < 0)
		out_str(o, "; precision unknown");
	else if (r->events)
		out_printf(o, "; off by %lld ns (median), %lld ns at most", (long long)r->residual,
			   (long long)r->error);
	else if (r->error)
		out_printf(o, "; off by up to %lld ns", (long long)r->error);
	if (part->map.drift) {
		out_str(o, "; drift ");
		out_ppm(o, clock_drift_trillionths(part->map.drift));
		out_printf(o, " ppm around %lld ns", (long long)part->map.pivot);
	} else if (r->how == SPUR_RELATED_AUTO && r->events < ALIGN_DRIFT_PAIRS) {
		out_printf(o, "; drift unknown with fewer than %d pairs", ALIGN_DRIFT_PAIRS);
	}
}

static void json_string(struct out *o, const char *key, const char *s)
{
	out_printf(o, ",\"%s\":", key);
	out_json(o, s, strlen(s));
}

void join_clock_json(const struct spur_trace *t, struct out *o)
{
	out_char(o, '[');
	for (size_t i = 0; i < t->nparts; i++) {
		const struct trace_part *p = &t->parts[i];
		const struct clock_relation *r = &p->relation;

		out_printf(o, "%s{\"trace\":%zu", i ? "," : "", i + 1);
		json_string(o, "path", p->trace->path);
		json_string(o, "format", p->trace->format->name);
		json_string(o, "clock", p->trace->clock.name);
		json_string(o, "how", relation_word(r->how));
		json_string(o, "derived", relation_text(r->how));
		out_printf(o, ",\"offset_ns\":%lld,\"added_ns\":%lld,\"drift_ppm\":",
			   (long long)p->map.shift, (long long)r->added);
		out_double(o, (double)clock_drift_trillionths(p->map.drift) / 1e6);
		out_printf(o, ",\"at_ns\":%lld,\"error_ns\":", (long long)p->map.pivot);
		if (r->error < 0)
			out_str(o, "null");
		else
			out_i64(o, r->error);
		out_printf(o, ",\"events\":%llu,\"rejected\":%llu,\"residual_ns\":%lld}",
			   (unsigned long long)r->events, (unsigned long long)r->rejected,
			   (long long)r->residual);
	}
	out_char(o, ']');
}
