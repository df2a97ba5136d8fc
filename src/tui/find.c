/* Searches, and what jobs answer. */
#include <string.h>

#include "base/text.h"
#include "tui/tui.h"

void tui_find(struct tui *t, bool back)
{
	struct job *job;

	if (!*t->query) {
		tui_say(t, false, "nothing to find: / asks for it");
		return;
	}
	job = job_new();
	if (!job) {
		tui_say(t, true, "out of memory");
		return;
	}
	memcpy(job->query, t->query, sizeof(job->query));
	job->back = back;
	job->has_after = t->picked;
	if (t->picked)
		job->after = (struct store_place){ .lane = t->pick.lane,
						   .number = t->pick.number,
						   .start = t->pick.item.start };
	jobs_ask(&t->jobs, JOB_FIND, job);
	tui_say(t, false, "finding %s ...", t->query);
}

static void take_found(struct tui *t, const struct job *job)
{
	if (job->failed) {
		tui_say(t, true, "%s", job->err.message);
		return;
	}
	if (job->found.found)
		tui_pick(t, job->found.place.lane, job->found.place.number);
	tui_say(t, !job->found.total, "%llu%s found: %s", (unsigned long long)job->found.total,
		job->found.partial ? " or more" : "", job->query);
}

/* Takes over details, with long values in several lines. */
static void take_details(struct tui *t, const struct out *text)
{
	const size_t room = t->layout.width - DETAILS_NAMES;
	size_t columns = 0;

	out_clear(&t->details);
	for (size_t i = 0; i < text->len;) {
		const char c = text->buf[i];
		const size_t len = utf8_valid(text->buf + i, text->len - i);

		columns = c == '\n' || c == '\t' ? 0 : columns + 1;
		if (columns > room) {
			out_str(&t->details, "\n\t");
			columns = 1;
		}
		out_bytes(&t->details, text->buf + i, len ? len : 1);
		i += len ? len : 1;
	}
}

/* Takes over an answer of the panel that is open. */
static void take_panel(struct tui *t, enum job_kind kind, struct job *job)
{
	t->waiting = false;
	if (job->failed) {
		tui_say(t, true, "%s", job->err.message);
	} else if (kind == JOB_DETAILS) {
		take_details(t, &job->text);
	} else if (kind == JOB_CALLS) {
		memcpy(t->calls, job->calls, sizeof(t->calls));
		t->ncalls = job->ncalls;
	} else {
		if (!tui_functions_take(t, job->sums, job->nsums))
			tui_say(t, true, "out of memory");
		job->sums = NULL;
	}
}

void tui_take_jobs(struct tui *t)
{
	for (unsigned k = 0; k < JOB_KINDS; k++) {
		struct job *const job = jobs_take(&t->jobs, (enum job_kind)k);

		if (!job)
			continue;
		t->dirty = true;
		if (k == JOB_FIND)
			take_found(t, job);
		else if (k == JOB_OVERVIEW && !job->failed)
			memcpy(t->overview, job->overview, sizeof(t->overview));
		else if (k != JOB_OVERVIEW)
			take_panel(t, (enum job_kind)k, job);
		job_free(job);
	}
}
