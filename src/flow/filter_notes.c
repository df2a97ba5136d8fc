/* What a filter asked for in vain, told once everything has been read. */
#include <string.h>

#include "flow/filter_parts.h"

/* The options that take names of functions. */
static const char *const options[] = {
	[FILTER_FUNC] = "-F",	  [FILTER_NOTRACE] = "-N",  [FILTER_CALLER] = "-C",
	[FILTER_HIDE] = "-H",	  [FILTER_LOCATION] = "-L", [FILTER_LIBRARY] = "--lib",
	[FILTER_TRIGGER] = "-T",
};

/*
 * Classes that no row asked a verdict for may match all the same: rows of a time range, other
 * tracks.
 */
static bool rule_is_used(const struct filter *f, const struct rule *r)
{
	const uint32_t n = trace_class_count(f->trace);

	if (r->matched)
		return true;
	for (uint32_t id = 1; id < n; id++)
		if (filter_rule_matches(f->trace, r, trace_class(f->trace, id)))
			return true;
	return false;
}

static void note_rule(const struct rule *r, struct out *o)
{
	const char *what = r->what == FILTER_LOCATION  ? "function of that source file"
			   : r->what == FILTER_LIBRARY ? "function of that program or library"
						       : "function of that name";

	out_printf(o, "spur: note: %s ", options[r->what]);
	out_safe(o, r->text, strlen(r->text));
	out_printf(o, ": no %s was read", what);
	if (strchr(r->name, ',') && r->what != FILTER_LOCATION)
		out_str(o, " (a semicolon separates names)");
	out_char(o, '\n');
}

static void note_range(const char *option, const struct number_range *r, const char *what,
		       struct out *o)
{
	out_printf(o, "spur: note: %s=", option);
	out_i64(o, r->first);
	if (r->last != r->first) {
		out_char(o, '-');
		out_i64(o, r->last);
	}
	out_printf(o, ": no %s\n", what);
}

static bool is_thread(const struct filter *f, uint32_t track)
{
	return trace_track_kind(f->trace, track) == SPUR_TRACK_THREAD;
}

static void note_threads(const struct filter *f, const struct number_range *r, struct out *o)
{
	const uint32_t n = (uint32_t)trace_track_count(f->trace);

	for (uint32_t i = 0; i < n; i++) {
		const struct spur_track *t = trace_track(f->trace, i);

		if (is_thread(f, i) && t->tid >= r->first && t->tid <= r->last)
			return;
	}
	note_range("--tid", r, "thread of that number was read", o);
}

static void note_processes(const struct filter *f, const struct number_range *r, struct out *o)
{
	const uint32_t n = (uint32_t)trace_track_count(f->trace);

	for (uint32_t i = 0; i < n; i++) {
		const int64_t pid = trace_pid_of(f->trace, i);

		if (pid >= r->first && pid <= r->last)
			return;
	}
	note_range("--pid", r, "process of that number was read", o);
}

static void note_thread_names(const struct filter *f, size_t index, struct out *o)
{
	const uint32_t n = (uint32_t)trace_track_count(f->trace);

	for (uint32_t i = 0; i < n; i++) {
		const struct spur_track *t = trace_track(f->trace, i);

		if (is_thread(f, i) &&
		    pattern_match(f->threads[index], trace_string(f->trace, t->name, NULL)))
			return;
	}
	out_str(o, "spur: note: --thread=");
	out_safe(o, f->thread_names[index], strlen(f->thread_names[index]));
	out_str(o, ": no thread of that name was read\n");
}

void filter_note_unmatched(const struct filter *f, struct out *notes)
{
	const uint32_t unseen = f->last && f->kinds != UINT32_MAX ? f->kinds & ~f->kinds_seen : 0;

	for (size_t i = 0; i < f->nrules; i++)
		if (!rule_is_used(f, &f->rules[i]))
			note_rule(&f->rules[i], notes);
	for (size_t i = 0; i < f->tids.count; i++)
		note_threads(f, &f->tids.ranges[i], notes);
	for (size_t i = 0; i < f->pids.count; i++)
		note_processes(f, &f->pids.ranges[i], notes);
	for (size_t i = 0; i < f->nthreads; i++)
		note_thread_names(f, i, notes);
	for (size_t i = 0; i < f->cpus.count; i++)
		if (!f->cpus.ranges[i].seen)
			note_range("--cpu", &f->cpus.ranges[i],
				   "event of that CPU is among those that pass otherwise", notes);
	for (unsigned k = 0; k < SPUR_KINDS; k++)
		if (unseen >> k & 1)
			out_printf(notes,
				   "spur: note: --kind=%s: no event of that kind is among those "
				   "that pass otherwise\n",
				   spur_kind_name(k));
}
