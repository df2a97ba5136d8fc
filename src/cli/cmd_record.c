/* spur record: runs a program and records its functions, library calls and own events. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "cli/output.h"
#include "cli/record_system.h"
#include "cli/report_diag.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "cli/target.h"
#include "pass/convert.h"
#include "recorder/list.h"
#include "recorder/plan.h"
#include "recorder/recorder.h"
#include "recorder/summary.h"

/* Its own options. */
struct record_own {
	struct convert_options convert; /* first: see target_take() */
	struct kernel_options kernel;
	struct rule_given *rules;
	size_t nrules, rules_cap;
	uint64_t min_size, ring, oneshot;
	int64_t least, after, duration;
	int depth, match, on_signal, keep_signal, snapshots, pid;
	bool starts_off, keeps, has_after, no_library_calls, arguments, list, keep, strict;
	const char *categories;
	bool system, stop;
	const char *providers, *switched;
};

enum {
	RULES_MOST = 1 << 16,
	RING_USUAL = 64 << 20, /* bytes of each thread, with --on */
	SNAPSHOTS = 10,
	SNAPSHOTS_MOST = 200,
	AFTER = 100000000, /* ns */
	EVERY_LEAST = 1000000, /* ns */
	SIZE_LEAST = 4096, /* bytes of a ring or a oneshot; less lacks its unit */
};

static const char *const match_words[] = { "regex", "glob", "exact",
					   NULL }; /* enum pattern_kind is in match_kinds */
static const enum pattern_kind match_kinds[] = { PATTERN_REGEX, PATTERN_GLOB, PATTERN_EXACT };

/* In the arena, which a line that is refused leaves behind too. */
static bool rules_grow(struct values *v)
{
	struct record_own *const own = v->own;
	const size_t cap = own->rules_cap ? 2 * own->rules_cap : 16;
	struct rule_given *rules;

	if (own->nrules < own->rules_cap)
		return true;
	rules = cap <= RULES_MOST ? arena_alloc(&v->arena, cap * sizeof(*rules)) : NULL;
	if (!rules)
		return false;
	if (own->nrules)
		memcpy(rules, own->rules, own->nrules * sizeof(*rules));
	own->rules = rules;
	own->rules_cap = cap;
	return true;
}

static bool add_rule(struct values *v, enum rule_what what, const char *text)
{
	struct record_own *own = v->own;

	if (!*text || !rules_grow(v))
		return false;
	own->rules[own->nrules++] = (struct rule_given){ what, text };
	return true;
}

static bool take_only(struct values *v, const char *text)
{
	return add_rule(v, RULE_ONLY, text);
}

static bool take_not(struct values *v, const char *text)
{
	return add_rule(v, RULE_NOT, text);
}

static bool take_module(struct values *v, const char *text)
{
	return add_rule(v, RULE_MODULE, text);
}

static bool take_file(struct values *v, const char *text)
{
	return add_rule(v, RULE_FILE, text);
}

static bool take_library(struct values *v, const char *text)
{
	return add_rule(v, RULE_LIBRARY, text);
}

static bool take_argument(struct values *v, const char *text)
{
	return add_rule(v, RULE_ARGUMENTS, text);
}

static bool take_result(struct values *v, const char *text)
{
	return add_rule(v, RULE_RESULTS, text);
}

static bool take_off(struct values *v, const char *text)
{
	return add_rule(v, RULE_OFF, text);
}

static bool take_on(struct values *v, const char *text)
{
	struct record_own *own = v->own;

	own->starts_off = true;
	return add_rule(v, RULE_ON, text);
}

static bool take_pid(struct values *v, const char *text)
{
	struct record_own *own = v->own;
	char *end;
	const long pid = strtol(text, &end, 10);

	own->pid = pid > 0 && pid <= INT_MAX && !*end ? (int)pid : 0;
	return own->pid;
}

static const struct {
	const char *name;
	int number;
} signal_names[] = {
	{ "USR1", SIGUSR1 },   { "USR2", SIGUSR2 }, { "HUP", SIGHUP },
	{ "WINCH", SIGWINCH }, { "URG", SIGURG },   { "CONT", SIGCONT },
};

/* What a program does with these is its own affair, or nothing can be done with them. */
static const char *const other_signals[] = {
	"ABRT", "ALRM", "BUS",	"CHLD", "FPE",	"ILL",	"INT",	  "IO",	  "KILL",
	"PIPE", "POLL", "PROF", "PWR",	"QUIT", "SEGV", "STKFLT", "STOP", "SYS",
	"TERM", "TRAP", "TSTP", "TTIN", "TTOU", "XCPU", "XFSZ",	  "VTALRM", NULL,
};

static const char *signal_word(size_t i)
{
	return i < sizeof(signal_names) / sizeof(signal_names[0]) ? signal_names[i].name : NULL;
}

static const char *signal_bare(const char *text)
{
	return strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
}

/* Returns 0 if it is not one of them. */
static int signal_number(const char *text)
{
	text = signal_bare(text);
	for (size_t i = 0; signal_word(i); i++)
		if (strcmp(text, signal_word(i)) == 0)
			return signal_names[i].number;
	return 0;
}

/* Returns true if no recording can be told anything by that signal. */
static bool signal_is_other(const char *text)
{
	text = signal_bare(text);
	for (size_t i = 0; other_signals[i]; i++)
		if (strcmp(text, other_signals[i]) == 0)
			return true;
	return false;
}

static bool take_signal(struct values *v, const char *text)
{
	struct record_own *own = v->own;

	own->on_signal = signal_number(text);
	own->starts_off = true;
	return own->on_signal;
}

static bool take_keep(struct values *v, const char *text)
{
	struct record_own *own = v->own;
	const int number = signal_number(text);

	own->keeps = true;
	own->keep_signal = number ? number : own->keep_signal;
	if (number)
		return true;
	if (!signal_is_other(text))
		return add_rule(v, RULE_KEEP, text);
	err_set(&v->err, SPUR_ERR_USAGE,
		"--on: expected USR1, USR2, HUP, WINCH, URG or CONT, found the signal %s, which "
		"%s; a function of that name is '^%s$'",
		text,
		strcmp(signal_bare(text), "KILL") == 0 || strcmp(signal_bare(text), "STOP") == 0
			? "no program can catch"
			: "is left to the program",
		text);
	return false;
}

static bool take_after(struct values *v, const char *text)
{
	struct record_own *own = v->own;

	own->has_after = true;
	if (text_duration(text, 0, &own->after))
		return true;
	err_set(&v->err, SPUR_ERR_USAGE, "--after: expected a time like 100ms, found \"%s\"", text);
	return false;
}

/* Names of counters, with commas. */
static bool take_counters(struct values *v, const char *text)
{
	struct record_own *own = v->own;

	for (;;) {
		const size_t len = strcspn(text, ",");
		const int number = kernel_counter(text, len);

		if (number < 0)
			return false;
		own->kernel.counters |= UINT64_C(1) << number;
		text += len;
		if (!*text++)
			return true;
	}
}

static const char *counter_word(size_t i)
{
	return kernel_counter_name((unsigned)i);
}

static const struct opt options[] = {
	{ .name = "function",
	  .letter = 'F',
	  .type = OPT_CALL,
	  .call = take_only,
	  .arg = "PATTERN",
	  .help = "Record only these functions and library calls, whatever they call; "
		  "may be repeated" },
	{ .name = "notrace",
	  .letter = 'N',
	  .type = OPT_CALL,
	  .call = take_not,
	  .arg = "PATTERN",
	  .help = "Leave out these functions and library calls; may be repeated" },
	{ .name = "module",
	  .type = OPT_CALL,
	  .call = take_module,
	  .arg = "PATTERN",
	  .help = "Record only these programs and libraries, and the library calls of each "
		  "(default: all, and the library calls of the program)" },
	{ .name = "file",
	  .type = OPT_CALL,
	  .call = take_file,
	  .arg = "PATTERN",
	  .help = "Record only functions of these source files, as debug information has them" },
	{ .name = "match",
	  .type = OPT_CHOICE,
	  OPT_OWN(struct record_own, match),
	  .arg = "HOW",
	  .choices = match_words,
	  .help = "Read patterns as regex, glob or exact (default: regex; without special "
		  "characters: exact)" },
	{ .name = "min-size",
	  .letter = 'Z',
	  .type = OPT_U64,
	  OPT_OWN(struct record_own, min_size),
	  .arg = "BYTES",
	  .help = "Record only functions with at least this much code" },
	{ .name = "depth",
	  .letter = 'D',
	  .type = OPT_INT,
	  OPT_OWN(struct record_own, depth),
	  .least = 1,
	  .arg = "N",
	  .help = "Record calls up to this depth" },
	{ .name = "min-duration",
	  .letter = 't',
	  .type = OPT_DURATION,
	  OPT_OWN(struct record_own, least),
	  .arg = "TIME",
	  .help = "Take back calls that were shorter and called nothing that is recorded" },
	{ .name = "library-calls",
	  .type = OPT_CALL,
	  .call = take_library,
	  .arg = "PATTERN",
	  .help = "Of calls of functions of other libraries record only these, and those that -F "
		  "names" },
	{ .name = "no-library-calls",
	  .type = OPT_FLAG,
	  OPT_OWN(struct record_own, no_library_calls),
	  .help = "Record no calls of functions of other libraries" },
	{ .name = "args",
	  .letter = 'a',
	  .type = OPT_FLAG,
	  OPT_OWN(struct record_own, arguments),
	  .help = "Record arguments and results that debug information describes" },
	{ .name = "argument",
	  .letter = 'A',
	  .type = OPT_CALL,
	  .call = take_argument,
	  .arg = "FUNC@SPEC,...",
	  .help = "Record arguments of a function: argN or fpargN, with /FORMAT (d u x s S c f "
		  "p, and bits) and %REGISTER or %stack+N" },
	{ .name = "retval",
	  .letter = 'R',
	  .type = OPT_CALL,
	  .call = take_result,
	  .arg = "FUNC@retval[/FORMAT]",
	  .help = "Record the result of a function" },
	{ .name = "trace-on",
	  .type = OPT_CALL,
	  .call = take_on,
	  .arg = "PATTERN",
	  .help = "Start without recording; calls of these functions switch it on" },
	{ .name = "trace-off",
	  .type = OPT_CALL,
	  .call = take_off,
	  .arg = "PATTERN",
	  .help = "Calls of these functions switch recording off" },
	{ .name = "on-signal",
	  .type = OPT_CALL,
	  .call = take_signal,
	  .arg = "SIGNAL",
	  .choice = signal_word,
	  .help = "Start without recording; the signal switches it on, and off again" },
	{ .name = "on",
	  .type = OPT_CALL,
	  .call = take_keep,
	  .arg = "WHEN",
	  .help = "Keep the rings of all threads as they are: FUNC>TIME (a call that took "
		  "longer), FUNC>=TIME, FUNC#N (its Nth call), FUNC (its first one), or a "
		  "SIGNAL; may be repeated" },
	{ .name = "after",
	  .type = OPT_CALL,
	  .call = take_after,
	  .arg = "TIME",
	  .help = "With --on: keep what follows for this long too (default: 100ms)" },
	{ .name = "snapshots",
	  .type = OPT_INT,
	  OPT_OWN(struct record_own, snapshots),
	  .least = 1,
	  .arg = "N",
	  .help = "With --on: keep at most N of each process (default: 10, at most 200)" },
	{ .name = "switches",
	  .type = OPT_FLAG,
	  OPT_OWN(struct record_own, kernel.switches),
	  .help = "Record when threads get and leave CPUs" },
	{ .name = "page-faults",
	  .type = OPT_FLAG,
	  OPT_OWN(struct record_own, kernel.page_faults),
	  .help = "Record page faults, with their addresses" },
	{ .name = "counters",
	  .type = OPT_CALL,
	  .call = take_counters,
	  .arg = "LIST",
	  .choice = counter_word,
	  .help = "Record these counters at intervals, of the program as a whole or of each "
		  "process (docs/recording.md)" },
	{ .name = "every",
	  .type = OPT_DURATION,
	  OPT_OWN(struct record_own, kernel.every),
	  .arg = "TIME",
	  .help = "With --counters: the interval (default: 10ms, at least 1ms)" },
	{ .name = "categories",
	  .type = OPT_LIST,
	  OPT_OWN(struct record_own, categories),
	  .arg = "LIST",
	  .help = "Of the program's own events record those of these categories" },
	{ .name = "ring",
	  .type = OPT_U64,
	  OPT_OWN(struct record_own, ring),
	  .least = SIZE_LEAST,
	  .arg = "SIZE",
	  .help = "Keep only the last SIZE bytes of each thread (default with --on: 64M)" },
	{ .name = "oneshot",
	  .type = OPT_U64,
	  OPT_OWN(struct record_own, oneshot),
	  .least = SIZE_LEAST,
	  .arg = "SIZE",
	  .help = "Keep only the first SIZE bytes of each process" },
	{ .name = "pid",
	  .letter = 'p',
	  .type = OPT_CALL,
	  .call = take_pid,
	  .arg = "PID",
	  .help = "Record this process, which runs already, until Ctrl-C; it goes on as it was "
		  "before" },
	{ .name = "for",
	  .type = OPT_DURATION,
	  OPT_OWN(struct record_own, duration),
	  .arg = "TIME",
	  .help = "With --pid: record for this long" },
	{ .name = "to",
	  .type = OPT_CALL,
	  .call = target_take,
	  .arg = "FORMAT",
	  .choice = target_word,
	  .help = "Convert the recording to this format when the program has ended; -o is the "
		  "converted trace" },
	TARGET_SET(struct record_own),
	{ .name = "strict",
	  .type = OPT_FLAG,
	  OPT_OWN(struct record_own, strict),
	  .help = "With --to: write nothing if anything would be lost" },
	{ .name = "keep",
	  .type = OPT_FLAG,
	  OPT_OWN(struct record_own, keep),
	  .help = "With --to: keep the recording too" },
	{ .name = "list",
	  .type = OPT_FLAG,
	  OPT_OWN(struct record_own, list),
	  .help = "Show what would be recorded of the program, and do not run it; without a "
		  "program: which programs have the tracing library, and what they record" },
	{ .name = "system",
	  .type = OPT_FLAG,
	  OPT_OWN(struct record_own, system),
	  .help = "Run no program, but record all programs of this user that have the tracing "
		  "library, until Ctrl-C or spur record --stop" },
	{ .name = "providers",
	  .type = OPT_LIST,
	  OPT_OWN(struct record_own, providers),
	  .arg = "PATTERN",
	  .help = "With --system: only programs of these names, as file names are matched (* and "
		  "?); may be repeated" },
	{ .name = "stop",
	  .type = OPT_FLAG,
	  OPT_OWN(struct record_own, stop),
	  .help = "End the session of --system that is going on" },
	{ .name = "switch",
	  .type = OPT_LIST,
	  OPT_OWN(struct record_own, switched),
	  .arg = "LIST",
	  .help = "Run no program, but have the recording that follows, or the one that is going "
		  "on, record the events of these categories alone from now on; all, none, or "
		  "default: what each program chooses" },
	{ .name = "symbols-dir",
	  .type = OPT_STRING,
	  OPT_COMMON(open.symbol_dirs),
	  .arg = "DIR[:DIR...]",
	  .help = "Search these directories for debug files" },
	{ .name = "output",
	  .letter = 'o',
	  .type = OPT_STRING,
	  OPT_COMMON(output),
	  .arg = "DIR",
	  .help = "Write the recording to this new directory (default: PROGRAM.spur, or a name "
		  "with the first number that is free)" },
	{ .name = "force",
	  .letter = 'y',
	  .type = OPT_FLAG,
	  OPT_COMMON(force),
	  .help = "Let -o replace a recording" },
	{ 0 }
};

/* --- the end --- */

static void size_text(char *to, size_t room, uint64_t bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	double v = (double)bytes;
	size_t unit = 0;

	while (v >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		v /= 1000;
		unit++;
	}
	snprintf(to, room, v < 9.95 && unit ? "%.1f %s" : "%.0f %s", v, units[unit]);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/*
 * The share that recording had in the CPU time. Processes that were left behind, and children that
 * nothing waited for, recorded events in time that is not counted, so it has a bound.
 */
static double cost_percent(int64_t cost, int64_t cpu)
{
	return cost < cpu ? 100 * (double)cost / (double)cpu : 100;
}

/* Says what was recorded. */
static void summarize(const struct recorder_result *r, const char *path, bool is_ring,
		      bool shows_command)
{
	struct spur_error err = { 0 };
	struct summary s;
	const enum spur_status st = summary_read(&s, r->path, &err);
	char size[32], lost[64] = "none lost", cost[80] = "";

	if (st == SPUR_WARN) {
		say("warning: %s: nothing was recorded: the program %s", path,
		    s.without ? "ended before it could record, or found no room for a file here"
			      : "did not load the recorder");
		return;
	}
	if (st == SPUR_FAIL) {
		say("warning: %s: %s", path, err.message);
		return;
	}
	size_text(size, sizeof(size), s.bytes);
	if (s.lost)
		snprintf(lost, sizeof(lost), "%llu lost", (unsigned long long)s.lost);
	/* What a ring has overwritten cost time too. */
	if (!is_ring && r->cpu_ns > 0)
		snprintf(cost, sizeof(cost), "; about %.1f%% of %.3f s of CPU time for recording",
			 cost_percent(s.cost_ns, r->cpu_ns), (double)r->cpu_ns / 1e9);
	say("%s: %llu event%s, %s; %llu process%s, %llu thread%s; %s%s", path,
	    (unsigned long long)s.events, plural(s.events), lost, (unsigned long long)s.files,
	    s.files == 1 ? "" : "es", (unsigned long long)s.threads, plural(s.threads), size, cost);
	if (r->refused)
		say("note: %llu of %llu places in the code could not be changed",
		    (unsigned long long)r->refused, (unsigned long long)(r->refused + r->patched));
	if (r->left)
		say("note: %u process%s still running and being recorded", r->left,
		    r->left == 1 ? " is" : "es are");
	if (shows_command)
		say("to see it: spur report %s", path);
}

/* Patterns that matched nothing are most likely mistyped, unless no process could be recorded. */
static void tell_unmatched(const struct rules *rules)
{
	for (size_t i = 0; rules->asked && i < rules->count; i++)
		if (!rules->list[i].matched)
			say("note: \"%s\" matched no function, library call, file or module",
			    rules->list[i].text);
}

static void tell_without(const char *option, unsigned without)
{
	if (without & WITHOUT_CALLED)
		say("note: %s: functions built with -finstrument-functions have no arguments and "
		    "no results",
		    option);
	if (without & WITHOUT_MCOUNT)
		say("note: %s: functions built with -pg have results only; add -mfentry", option);
	if (without & WITHOUT_INFORMATION)
		say("note: %s: some functions have no debug information; build with -g", option);
}

/* What rules asked for in vain. */
static void tell_rules(const struct rules *rules)
{
	char option[128];

	tell_unmatched(rules);
	tell_without("-a", rules->without);
	for (size_t i = 0; i < rules->count; i++) {
		snprintf(option, sizeof(option), "\"%s\"", rules->list[i].text);
		tell_without(option, rules->list[i].without);
	}
}

/* --- converting --- */

static bool is_given(const char *path)
{
	return os_access(path, F_OK) == 0;
}

/* The name of the recording that is converted: beside the result, and new. */
static const char *intermediate(struct values *v)
{
	size_t len = strlen(v->output);

	while (len > 1 && v->output[len - 1] == '/')
		len--;
	for (unsigned i = 0; i < 1000; i++) {
		const char *const path =
			i ? arena_printf(&v->arena, "%.*s-%u.spur", (int)len, v->output, i)
			  : arena_printf(&v->arena, "%.*s.spur", (int)len, v->output);

		if (!path || !is_given(path))
			return path;
	}
	return NULL;
}

static int convert(struct values *v, const char *path)
{
	struct record_own *own = v->own;
	const struct spur_writer *writer = writer_find(own->convert.to);
	const char **traces = arena_alloc(&v->arena, sizeof(const char *));

	if (!traces) {
		err_nomem(&v->err);
		return run_error(&v->err);
	}
	traces[0] = path;
	v->traces = traces;
	v->ntraces = 1;
	v->render.time = TIME_EXACT;
	return run_pass(v,
			&(struct run_request){ .pass = "convert",
					       .options = { RUN_OPTIONS(NULL, &own->convert) },
					       .strict = own->strict,
					       .side = writer_side(writer, own->convert.settings),
					       .is_dir = writer->is_dir });
}

/*
 * Opens what is to be written after the run, and leaves it as it was: what would be refused then is
 * refused now. A pipe is left alone, as its reader would see it end.
 */
static enum spur_status try_output(struct values *v, bool is_dir, struct spur_error *err)
{
	struct output out = { .force = false };
	enum spur_status st;
	struct stat now;

	if (os_stat(v->output, &now) == 0 && !S_ISREG(now.st_mode) && !S_ISDIR(now.st_mode))
		return SPUR_OK;
	st = is_dir ? run_output_dir(v, &out) : output_open(&out, v->output, v->force, err);
	output_close(&out, false, NULL);
	return st;
}

static enum spur_status check_target(struct values *v, struct spur_error *err)
{
	const struct record_own *own = v->own;

	if (!own->convert.to)
		return own->keep || own->strict || own->convert.settings
			       ? err_set(err, SPUR_ERR_USAGE,
					 "--keep, --strict and --set: expected --to too, found "
					 "none")
			       : SPUR_OK;
	if (!v->output || strcmp(v->output, "-") == 0)
		return err_set(err, SPUR_ERR_USAGE,
			       "--to: expected -o and the name of a file or directory, found %s",
			       v->output ? "standard output, which the program may write to"
					 : "none");
	if (is_given(v->output) && !v->force)
		return err_set(err, SPUR_ERR_USAGE, "%s: file exists; use --force to overwrite",
			       v->output);
	if (writer_check(writer_find(own->convert.to), own->convert.settings, err) == SPUR_FAIL)
		return SPUR_FAIL;
	return try_output(v, writer_find(own->convert.to)->is_dir, err);
}

/* --- the run --- */

static int record(struct values *v, const struct recorder_options *o)
{
	struct record_own *own = v->own;
	struct recorder_options mine = *o;
	struct recorder_result r;
	struct spur_error err = { 0 };
	const char *path;
	int code;

	if (own->convert.to && !(mine.output = intermediate(v))) {
		err_nomem(&v->err);
		return run_error(&v->err);
	}
	if ((own->pid ? recorder_attach(&mine, own->pid, own->duration, &r, &err)
		      : recorder_run(&mine, &r, &err)) == SPUR_FAIL) {
		recorder_free(&r);
		return run_error(&err);
	}
	path = mine.output ? mine.output : strrchr(r.path, '/') + 1;
	code = r.code;
	if (!v->quiet) {
		tell_rules(o->rules);
		if (r.signal == SIGSYS)
			say("note: a filter of system calls ended the program, maybe at one of the "
			    "recorder's");
		summarize(&r, path, own->ring != 0, !own->convert.to);
	}
	if (own->convert.to) {
		const int converted = convert(v, path);

		code = code ? code : converted;
		if (!own->keep && converted == EXIT_CLEAN)
			recorder_remove(path);
		else if (!v->quiet)
			say("the recording is kept: %s", path);
	}
	recorder_free(&r);
	return code;
}

static int list(struct values *v, const struct recorder_options *o)
{
	struct spur_error err = { 0 };
	struct output out;
	uint64_t count = 0;
	enum spur_status st = output_open(&out, NULL, false, &err);

	if (st == SPUR_OK)
		st = list_write(&out.out, o, &count, &err);
	if (output_close(&out, st == SPUR_OK, st == SPUR_OK ? &err : NULL) == SPUR_FAIL)
		st = SPUR_FAIL;
	if (st == SPUR_FAIL)
		return run_error(&err);
	if (!v->quiet)
		tell_rules(o->rules);
	return count ? EXIT_CLEAN : EXIT_DIFFERENT;
}

static int run_with(struct values *v, struct rules *rules)
{
	const struct record_own *own = v->own;
	struct recorder_options o = {
		.output = v->output,
		.force = v->force,
		.quiet = v->quiet,
		.symbol_dirs = v->open.symbol_dirs,
		.rules = rules,
		.categories = own->categories,
		.settings = { .version = RECORD_VERSION,
			      .flags = RECORD_FUNCTIONS |
				       (own->no_library_calls ? 0 : RECORD_LIBRARY_CALLS) |
				       (own->starts_off ? RECORD_STARTS_OFF : 0),
			      .mode = own->ring	     ? RECORDER_RING
				      : own->oneshot ? RECORDER_ONESHOT
						     : RECORDER_STREAM,
			      .depth = (uint32_t)own->depth,
			      .ring = own->ring ? own->ring : own->oneshot,
			      .least = (uint64_t)own->least,
			      .on_signal = (uint32_t)own->on_signal,
			      .keep_after = (uint64_t)own->after,
			      .keeps = own->keeps ? (uint32_t)own->snapshots : 0,
			      .keep_signal = (uint32_t)own->keep_signal },
		.kernel = own->kernel,
		.say = say,
		.restore_signals = signals_restore,
	};
	const char **argv = arena_alloc(&v->arena, (v->noperands + 1) * sizeof(*argv));

	if (!argv) {
		err_nomem(&v->err);
		return run_error(&v->err);
	}
	if (v->noperands)
		memcpy(argv, v->operands, v->noperands * sizeof(*argv));
	o.argv = argv;
	rules->min_size = own->min_size;
	rules->library_calls = !own->no_library_calls;
	rules->all_arguments = own->arguments;
	return own->list ? list(v, &o) : record(v, &o);
}

/* Fills what the options about counters leave open. */
static enum spur_status check_counters(struct kernel_options *k, struct spur_error *err)
{
	if (k->every && !k->counters)
		return err_set(err, SPUR_ERR_USAGE,
			       "--every: expected --counters too, found none");
	if (k->every && k->every < EVERY_LEAST)
		return err_set(err, SPUR_ERR_USAGE, "--every: expected at least 1ms, found less");
	k->every = k->every ? k->every : KERNEL_EVERY;
	return SPUR_OK;
}

/* Fills what the options about snapshots leave open. */
static enum spur_status check_keeping(struct record_own *own, struct spur_error *err)
{
	if (!own->keeps)
		return own->has_after || own->snapshots
			       ? err_set(err, SPUR_ERR_USAGE,
					 "--after and --snapshots: expected --on too, found none")
			       : SPUR_OK;
	if (own->oneshot)
		return err_set(err, SPUR_ERR_USAGE,
			       "expected one of --on and --oneshot, found both");
	if (own->snapshots > SNAPSHOTS_MOST)
		return err_set(err, SPUR_ERR_USAGE, "--snapshots: expected 1 to %d, found %d",
			       SNAPSHOTS_MOST, own->snapshots);
	own->ring = own->ring ? own->ring : RING_USUAL;
	own->after = own->has_after ? own->after : AFTER;
	own->snapshots = own->snapshots ? own->snapshots : SNAPSHOTS;
	return SPUR_OK;
}

/* The forms without a program. */
static int run_without(struct values *v)
{
	struct record_own *own = v->own;
	const struct record_system how = { .mode = own->ring	  ? RECORDER_RING
						   : own->oneshot ? RECORDER_ONESHOT
								  : RECORDER_STREAM,
					   .size = own->ring ? own->ring : own->oneshot,
					   .categories = own->categories,
					   .providers = own->providers };
	const int forms = own->system + own->stop + own->list + (own->switched != NULL);

	if (forms > 1)
		err_set(&v->err, SPUR_ERR_USAGE,
			"expected one of --system, --stop, --list and --switch, found several");
	else if (v->noperands > 1 && own->switched)
		err_set(&v->err, SPUR_ERR_USAGE,
			"--switch: expected one recording, found \"%s\" too", v->operands[1]);
	else if (v->noperands && !own->switched)
		err_set(&v->err, SPUR_ERR_USAGE, "expected no program with --%s, found \"%s\"",
			own->system ? "system" : "stop", v->operands[0]);
	else if (own->switched && (own->pid || own->categories))
		err_set(&v->err, SPUR_ERR_USAGE, "--switch: expected no --%s too, found one",
			own->pid ? "pid" : "categories");
	else if (own->ring && own->oneshot)
		err_set(&v->err, SPUR_ERR_USAGE,
			"expected one of --ring and --oneshot, found both");
	else if (own->nrules || own->convert.to)
		err_set(&v->err, SPUR_ERR_USAGE,
			"functions and --to: expected a program with them, found none");
	else if (own->providers && strpbrk(own->providers, "[\\/"))
		err_set(&v->err, SPUR_ERR_USAGE,
			"--providers: expected the name of a file with * and ?, found \"%s\"",
			own->providers);
	if (v->err.code || run_check_units(v) == SPUR_FAIL)
		return run_error(&v->err);
	return own->switched ? record_switch(v, own->switched)
	       : own->system ? record_system_run(v, &how)
	       : own->stop   ? record_system_stop(v)
			     : record_system_list(v);
}

static int record_run(const struct spur_cmd *cmd, struct values *v)
{
	struct record_own *own = v->own;
	struct rules rules = { 0 };
	int code;

	if (own->system || own->stop || own->switched ||
	    (own->list && !v->noperands && !own->pid))
		return run_without(v);
	if (own->providers || v->json || v->jsonl)
		err_set(&v->err, SPUR_ERR_USAGE, "%s: expected it without a program",
			own->providers ? "--providers" : "--json and --jsonl");
	else if (own->pid && (v->noperands || own->list))
		err_set(&v->err, SPUR_ERR_USAGE, "--pid: expected no %s too, found %s",
			v->noperands ? "program" : "--list",
			v->noperands ? v->operands[0] : "one");
	else if (own->duration && !own->pid)
		err_set(&v->err, SPUR_ERR_USAGE, "--for: expected --pid too, found none");
	else if (!v->noperands && !own->pid)
		err_set(&v->err, SPUR_ERR_USAGE, "expected a program: spur %s %s", cmd->name,
			cmd->usage);
	else if (own->ring && own->oneshot)
		err_set(&v->err, SPUR_ERR_USAGE,
			"expected one of --ring and --oneshot, found both");
	else if (run_check_units(v) == SPUR_OK && check_keeping(own, &v->err) == SPUR_OK &&
		 check_counters(&own->kernel, &v->err) == SPUR_OK &&
		 check_target(v, &v->err) == SPUR_OK &&
		 rules_add(&rules, own->rules, own->nrules, match_kinds[own->match], &v->err) ==
			 SPUR_OK)
		arguments_check(&rules, &v->err);
	code = v->err.code ? run_error(&v->err) : run_with(v, &rules);
	rules_free(&rules);
	return code;
}

const struct spur_cmd spur_cmd_record = {
	.name = "record",
	.summary = "Run a program and record its functions, library calls and own events.",
	.usage = "[OPTION...] PROGRAM [ARGUMENT...]",
	.description =
		"Nothing needs root, and the program need not be built anew: its library calls are "
		"recorded in any case. Functions are recorded if the program was built with "
		"-fpatchable-function-entry=5, clang's -fxray-instrument, -pg, -mfentry or "
		"-finstrument-functions, and points that it marks itself if it uses Spur's library "
		"(libspur-trace, "
		"spur_trace(3)).\n"
		"The recording is a directory that all commands read, also while the program runs, "
		"and whatever ends it. Signals that end the program end the recording; if the "
		"recorder is killed, the program goes on.\n"
		"Without a program, --system records all programs of this user that have Spur's "
		"library until Ctrl-C or --stop, and --list shows them. --switch LIST NAME.spur "
		"switches categories of the programs' own events while they are recorded; without "
		"a name, those of the session, or of the only recording that is going on.\n"
		"The exit code is that of the program, 128 + N if signal N ended it. What the "
		"recorder itself could not do has the codes below. docs/recording.md has more.",
	.examples = "spur record ./prog --its-option\trecords into prog.spur\n"
		    "spur record -o slow.spur -t 10us ./prog\twithout short calls\n"
		    "spur record -F 'Parser::.*' -A 'parse@arg2/s' ./prog\tsome functions, with an "
		    "argument\n"
		    "spur record --to perfetto -o prog.pftrace ./prog\tconverts at once\n"
		    "spur record --system --ring 64M -o all.spur\tall programs that have the "
		    "library\n"
		    "spur record --switch net,disk prog.spur\tfrom now on only events of these "
		    "categories\n",
	.opts = options,
	.own_size = sizeof(struct record_own),
	.takes = TAKES_PROGRAM | TAKES_JSON | TAKES_JSONL,
	.run = record_run,
};
