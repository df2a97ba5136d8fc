/* See record_system.h. */
#include "cli/record_system.h"

#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/report_diag.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "recorder/board.h"
#include "recorder/running.h"
#include "recorder/summary.h"
#include "recorder/switches.h"
#include "recorder/system.h"
#include "render/table.h"

enum { ANSWER_MS = 60000, SWITCH_MS = 3000, TEXT = 8192 };

/* --- a session --- */

static bool is_over(void)
{
	return signals_stop != 0;
}

static const char *plural(uint64_t n, const char *many)
{
	return n == 1 ? "" : many;
}

/* What the session has recorded, in a line. */
static void summarize(const struct system_result *r, char *text, size_t room)
{
	struct spur_error err = { 0 };
	struct summary s;
	const enum spur_status st = summary_read(&s, r->path, &err);
	char lost[64] = "none lost";

	if (st != SPUR_OK) {
		snprintf(text, room, "%s: %s", r->path,
			 st == SPUR_WARN ? "nothing was recorded: no program joined the session"
					 : err.message);
		return;
	}
	if (s.lost)
		snprintf(lost, sizeof(lost), "%llu lost", (unsigned long long)s.lost);
	snprintf(text, room, "%s: %llu event%s, %s; %llu process%s, %llu thread%s; %.3f s", r->path,
		 (unsigned long long)s.events, plural(s.events, "s"), lost,
		 (unsigned long long)s.files, plural(s.files, "es"), (unsigned long long)s.threads,
		 plural(s.threads, "s"), (double)r->ns / 1e9);
}

static void say_notes(const struct system_result *r)
{
	if (r->recovered)
		say("note: %u process%s ended without completing a file, which was done now",
		    r->recovered, plural(r->recovered, "es"));
	if (r->copied)
		say("note: %u process%s recorded on %s own: copied from the session's begin on",
		    r->copied, plural(r->copied, "es"), r->copied == 1 ? "its" : "their");
	if (r->late)
		say("note: %u process%s did not end the recording in time, and may go on with it",
		    r->late, plural(r->late, "es"));
}

int record_system_run(struct values *v, const struct record_system *how)
{
	const struct system_options o = { .output = v->output,
					  .force = v->force,
					  .quiet = v->quiet,
					  .mode = how->mode,
					  .size = how->size,
					  .categories = how->categories,
					  .providers = how->providers,
					  .is_over = is_over,
					  .say = say };
	struct system_result r;
	char text[TEXT];
	enum spur_status st;

	signals_defer();
	st = system_run(&o, &r, &v->err);
	if (r.path) {
		summarize(&r, text, sizeof(text));
		if (!v->quiet) {
			say("%s", text);
			say_notes(&r);
		}
	}
	system_free(&r, st == SPUR_OK ? text : v->err.message);
	return st == SPUR_FAIL ? run_error(&v->err) : EXIT_CLEAN;
}

int record_system_stop(struct values *v)
{
	char text[TEXT];

	if (board_stop(text, sizeof(text), ANSWER_MS, &v->err) == SPUR_FAIL)
		return run_error(&v->err);
	if (!v->quiet)
		say("%s", text);
	return EXIT_CLEAN;
}

/* --- programs --- */

enum column { COLUMN_PID, COLUMN_PROGRAM, COLUMN_STATE, COLUMN_MODE, COLUMN_SINCE,
	      COLUMN_CATEGORIES, COLUMN_RECORDING };

static const struct table_column columns[] = {
	[COLUMN_PID] = { "pid", TABLE_ID },
	[COLUMN_PROGRAM] = { "program", TABLE_TEXT },
	[COLUMN_STATE] = { "state", TABLE_TEXT },
	[COLUMN_MODE] = { "mode", TABLE_TEXT },
	[COLUMN_SINCE] = { "since", TABLE_TEXT },
	[COLUMN_CATEGORIES] = { "categories", TABLE_TEXT },
	[COLUMN_RECORDING] = { "recording", TABLE_TEXT },
	{ 0 },
};

static struct table_value value(const void *self, const void *row, int column)
{
	const struct running *const r = row;

	(void)self;
	return column == COLUMN_PID ? table_id(r->pid) : (struct table_value){ 0 };
}

/* UTC, to the second: 2026-11-23T02:13:37Z. */
static void out_date(struct out *o, int64_t ns)
{
	const time_t seconds = (time_t)(ns / 1000000000);
	char text[64];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		out_str(o, text);
}

static void text(const void *self, const void *row, int column, struct out *o)
{
	static const char *const modes[] = { "stream", "ring", "oneshot" };
	const struct running *const r = row;

	(void)self;
	switch (column) {
	case COLUMN_PROGRAM:
		out_str(o, r->program);
		break;
	case COLUMN_STATE:
		out_str(o, !r->file ? "waits" : r->on ? "records" : "off");
		break;
	case COLUMN_MODE:
		out_str(o, r->file && r->mode < 3 ? modes[r->mode] : "");
		break;
	case COLUMN_SINCE:
		if (r->file)
			out_date(o, r->since);
		break;
	case COLUMN_CATEGORIES:
		out_str(o, r->categories ? r->categories : "");
		break;
	case COLUMN_RECORDING:
		out_str(o, r->dir ? r->dir : "");
		break;
	default:
		break;
	}
}

int record_system_list(struct values *v)
{
	struct running_list l;
	struct output out;
	struct table t = { .name = "providers",
			   .columns = columns,
			   .value = value,
			   .text = text };
	enum spur_status st = running_find(&l, 0, true, &v->err);
	size_t count = l.count;

	for (size_t i = 0; i < l.count && st == SPUR_OK; i++)
		if (!running_categories(&l, &l.items[i]))
			st = err_nomem(&v->err);
	if (st == SPUR_OK)
		st = output_open(&out, NULL, false, &v->err);
	if (st == SPUR_OK) {
		t.env.out = &out.out;
		t.env.opt = &v->render;
		t.env.err = &v->err;
		v->render.form = v->json ? FORM_JSON : v->jsonl ? FORM_JSONL : FORM_TEXT;
		st = table_options(&t, "pid,program,state,mode,since,categories,recording", "pid");
		if (st == SPUR_OK &&
		    table_write(&t, l.items, l.count, sizeof(*l.items)) == SPUR_FAIL)
			st = SPUR_FAIL;
		if (output_close(&out, st == SPUR_OK, st == SPUR_OK ? &v->err : NULL) == SPUR_FAIL)
			st = SPUR_FAIL;
	}
	running_free(&l);
	if (st == SPUR_FAIL)
		return run_error(&v->err);
	return count ? EXIT_CLEAN : EXIT_DIFFERENT;
}

/* --- categories --- */

/* The directory of the session, or of the only recording that is going on; NULL: v->err is set. */
static const char *running_directory(struct values *v)
{
	char session[BOARD_PATH_MOST];
	const char *dir = NULL;
	struct running_list l;
	enum spur_status st = board_directory(session, &v->err);

	if (st == SPUR_FAIL)
		return NULL;
	if (st == SPUR_OK)
		dir = arena_strdup(&v->arena, session, strlen(session));
	else if (running_find(&l, 0, false, &v->err) == SPUR_OK) {
		bool several = false;

		for (size_t i = 1; i < l.count; i++)
			several |= strcmp(l.items[i].dir, l.items[0].dir) != 0;
		for (size_t i = 0; i < l.count && several; i++)
			say("%s: process %d, %s", l.items[i].dir, (int)l.items[i].pid,
			    l.items[i].program);
		if (several || !l.count)
			err_set(&v->err, SPUR_ERR_USAGE,
				"expected a session or one recording that is going on, found %s",
				several ? "several: name one of them" : "none");
		else
			dir = arena_strdup(&v->arena, l.items[0].dir, strlen(l.items[0].dir));
		running_free(&l);
	}
	if (!dir && !v->err.code)
		err_nomem(&v->err);
	return dir;
}

/* What was reached, and which processes it was not. */
static void say_told(const char *dir, const struct switch_result *r)
{
	char more[64] = "";

	if (r->follow)
		snprintf(more, sizeof(more), ", %zu will go by it from %s next event on", r->follow,
			 r->follow == 1 ? "its" : "their");
	say("%s: categories switched: %zu process%s told%s%s", dir, r->answered,
	    plural(r->answered, "es"), more, r->later ? "; programs may start later" : "");
	if (r->ended)
		say("note: %zu process%s ended meanwhile", r->ended, plural(r->ended, "es"));
	for (size_t i = 0; i < r->count; i++) {
		const struct switch_process *const p = &r->items[i];

		if (!p->answered && !p->ended && !p->follows)
			say("warning: process %d, %s: no answer: it %s", (int)p->pid, p->program,
			    p->listens	? "is stopped, or hangs"
			    : p->number ? "has no thread that listens, and goes by the list when "
					  "a point that is on comes"
					: "uses an older version of the library");
	}
}

int record_switch(struct values *v, const char *list)
{
	const char *dir = v->noperands ? v->operands[0] : NULL;
	struct switch_result r;
	enum spur_status st;
	bool all;

	if (switch_check(list, &v->err) == SPUR_FAIL)
		return run_error(&v->err);
	dir = dir ? dir : running_directory(v);
	if (!dir)
		return run_error(&v->err);
	st = switch_categories(dir, list, SWITCH_MS, &r, &v->err);
	if ((st == SPUR_OK && !v->quiet) || r.count)
		say_told(dir, &r);
	all = !r.silent;
	switch_free(&r);
	if (st == SPUR_FAIL)
		return run_error(&v->err);
	return all ? EXIT_CLEAN : EXIT_DIFFERENT;
}
