/* spur record: runs a program and records its functions, library calls and own events. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "cli/output.h"
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
	struct rule_given *rules;
	size_t nrules, rules_cap;
	uint64_t min_size, ring, oneshot;
	int64_t least;
	int depth, match, on_signal;
	bool starts_off, no_library_calls, arguments, list, keep, strict;
	const char *categories;
};

enum { RULES_MOST = 1 << 16 };

static const char *const match_words[] = { "regex", "glob", "exact",
					   NULL }; /* enum pattern_kind is in match_kinds */
static const enum pattern_kind match_kinds[] = { PATTERN_REGEX, PATTERN_GLOB, PATTERN_EXACT };

static bool add_rule(struct values *v, enum rule_what what, const char *text)
{
	struct record_own *own = v->own;

	if (!*text || !mem_grow((void **)&own->rules, &own->rules_cap, own->nrules + 1,
				sizeof(*own->rules), RULES_MOST))
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

static const struct {
	const char *name;
	int number;
} signal_names[] = {
	{ "USR1", SIGUSR1 },   { "USR2", SIGUSR2 }, { "HUP", SIGHUP },
	{ "WINCH", SIGWINCH }, { "URG", SIGURG },   { "CONT", SIGCONT },
};

static const char *signal_word(size_t i)
{
	return i < sizeof(signal_names) / sizeof(signal_names[0]) ? signal_names[i].name : NULL;
}

static bool take_signal(struct values *v, const char *text)
{
	struct record_own *own = v->own;

	if (strncmp(text, "SIG", 3) == 0)
		text += 3;
	for (size_t i = 0; signal_word(i); i++)
		if (strcmp(text, signal_word(i)) == 0) {
			own->on_signal = signal_names[i].number;
			own->starts_off = true;
			return true;
		}
	return false;
}

static const struct opt options[] = {
	{ .name = "function",
	  .letter = 'F',
	  .type = OPT_CALL,
	  .call = take_only,
	  .arg = "PATTERN",
	  .help = "Record only these functions, whatever they call; may be repeated" },
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
	  .help = "Of calls of functions of other libraries record only these" },
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
	{ .name = "categories",
	  .type = OPT_LIST,
	  OPT_OWN(struct record_own, categories),
	  .arg = "LIST",
	  .help = "Of the program's own events record those of these categories" },
	{ .name = "ring",
	  .type = OPT_U64,
	  OPT_OWN(struct record_own, ring),
	  .arg = "SIZE",
	  .help = "Keep only the last SIZE bytes of each thread" },
	{ .name = "oneshot",
	  .type = OPT_U64,
	  OPT_OWN(struct record_own, oneshot),
	  .arg = "SIZE",
	  .help = "Keep only the first SIZE bytes of each process" },
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
	  .help = "Show what would be recorded of the program, and do not run it" },
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

/* Says what was recorded. */
static void summarize(const struct recorder_result *r, const char *path, bool is_ring,
		      bool shows_command)
{
	struct spur_error err = { 0 };
	struct summary s;
	const enum spur_status st = summary_read(&s, r->path, &err);
	char size[32], lost[64] = "none lost", cost[64] = "";

	if (st == SPUR_WARN) {
		say("warning: %s: nothing was recorded: the program did not load the recorder",
		    path);
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
	if (!is_ring)
		snprintf(cost, sizeof(cost), "; about %.1f%% of %.3f s for recording",
			 r->ns ? 100 * (double)s.cost_ns / (double)r->ns : 0, (double)r->ns / 1e9);
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

/* Patterns that matched nothing are most likely mistyped. */
static void tell_unmatched(const struct rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		if (!rules->list[i].matched)
			say("note: \"%s\" matched no function, library call, file or module",
			    rules->list[i].text);
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
	return writer_check(writer_find(own->convert.to), own->convert.settings, err);
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
	if (recorder_run(&mine, &r, &err) == SPUR_FAIL) {
		recorder_free(&r);
		return run_error(&err);
	}
	path = mine.output ? mine.output : strrchr(r.path, '/') + 1;
	code = r.code;
	if (!v->quiet) {
		tell_unmatched(o->rules);
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
		tell_unmatched(o->rules);
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
			      .on_signal = (uint32_t)own->on_signal },
		.say = say,
		.restore_signals = signals_restore,
	};
	const char **argv = arena_alloc(&v->arena, (v->noperands + 1) * sizeof(*argv));

	if (!argv) {
		err_nomem(&v->err);
		return run_error(&v->err);
	}
	memcpy(argv, v->operands, v->noperands * sizeof(*argv));
	o.argv = argv;
	rules->min_size = own->min_size;
	rules->library_calls = !own->no_library_calls;
	rules->all_arguments = own->arguments;
	return own->list ? list(v, &o) : record(v, &o);
}

static int record_run(const struct spur_cmd *cmd, struct values *v)
{
	struct record_own *own = v->own;
	struct rules rules = { 0 };
	int code;

	if (!v->noperands)
		err_set(&v->err, SPUR_ERR_USAGE, "expected a program: spur %s %s", cmd->name,
			cmd->usage);
	else if (own->ring && own->oneshot)
		err_set(&v->err, SPUR_ERR_USAGE,
			"expected one of --ring and --oneshot, found both");
	else if (check_target(v, &v->err) == SPUR_OK &&
		 rules_add(&rules, own->rules, own->nrules, match_kinds[own->match], &v->err) ==
			 SPUR_OK)
		arguments_check(&rules, &v->err);
	code = v->err.code ? run_error(&v->err) : run_with(v, &rules);
	rules_free(&rules);
	mem_free(own->rules);
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
		"(docs/tracing.md).\n"
		"The recording is a directory that all commands read, also while the program runs, "
		"and whatever ends it. Signals that end the program end the recording; if the "
		"recorder is killed, the program goes on.\n"
		"The exit code is that of the program, 128 + N if signal N ended it. What the "
		"recorder itself could not do has the codes below. docs/recording.md has more.",
	.examples = "spur record ./prog --its-option\trecords into prog.spur\n"
		    "spur record -o slow.spur -t 10us ./prog\twithout short calls\n"
		    "spur record -F 'Parser::.*' -A 'parse@arg2/s' ./prog\tsome functions, with an "
		    "argument\n"
		    "spur record --to perfetto -o prog.pftrace ./prog\tconverts at once\n",
	.opts = options,
	.own_size = sizeof(struct record_own),
	.takes = TAKES_PROGRAM,
	.run = record_run,
};
