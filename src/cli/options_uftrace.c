/*
 * Options of uftrace that mean nothing to an analysis, or only to its style. Scripts pass one set
 * of options to all of uftrace's commands, so each is accepted wherever uftrace's style is offered.
 */
#include <string.h>

#include "cli/opt.h"

static const char ignored_help[] = "Accepted for uftrace compatibility; ignored.";

static bool accept(struct values *v, const char *text)
{
	(void)v;
	(void)text;
	return true;
}

static bool trace_disable(struct values *v, const char *text)
{
	(void)text;
	v->filter.trace_off = true;
	return true;
}

#define IGNORED(NAME, LETTER, ARG)                                                      \
	{                                                                               \
		.name = NAME, .letter = LETTER, .type = OPT_CALL, .call = accept,       \
		.arg = ARG, .help = ignored_help, .hidden = true                        \
	}

const struct opt uftrace_option_table[] = {
	{ .name = "disable",
	  .type = OPT_CALL,
	  .call = trace_disable,
	  .help = "Same as --trace=off",
	  .hidden = true },
	{ .name = "kernel-full",
	  .type = OPT_FLAG,
	  OPT_COMMON(uftrace.kernel_full),
	  .help = "With --style=uftrace: show kernel functions outside of user functions too",
	  .hidden = true },
	{ .name = "event-full",
	  .type = OPT_FLAG,
	  OPT_COMMON(uftrace.event_full),
	  .help = "With --style=uftrace: show events outside of functions too",
	  .hidden = true },
	{ .name = "no-callsite",
	  .type = OPT_FLAG,
	  OPT_COMMON(uftrace.no_callsite),
	  .help = "With --style=uftrace: hide where functions are called from",
	  .hidden = true },
	{ .name = "opt-file",
	  .type = OPT_STRING,
	  OPT_COMMON(opt_file),
	  .arg = "FILE",
	  .help = "Read more options from FILE",
	  .hidden = true },
	/* Options for recording, whose effect is in the data. */
	IGNORED("auto-args", 'a', NULL),
	IGNORED("argument", 'A', "SPEC"),
	IGNORED("retval", 'R', "SPEC"),
	IGNORED("kernel", 'k', NULL),
	IGNORED("kernel-depth", 'K', "N"),
	IGNORED("kernel-buffer", 0, "SIZE"),
	IGNORED("kernel-skip-out", 0, NULL),
	IGNORED("Event", 'E', "EVENT"),
	IGNORED("watch", 'W', "POINT"),
	IGNORED("patch", 'P', "FUNC"),
	IGNORED("unpatch", 'U', "FUNC"),
	IGNORED("script", 'S', "FILE"),
	IGNORED("signal", 0, "TRIGGER"),
	IGNORED("estimate-return", 'e', NULL),
	IGNORED("nest-libcall", 'l', NULL),
	IGNORED("buffer", 'b', "SIZE"),
	IGNORED("max-stack", 0, "N"),
	IGNORED("clock", 0, "NAME"),
	IGNORED("num-thread", 0, "N"),
	IGNORED("rt-prio", 0, "N"),
	IGNORED("keep-pid", 0, NULL),
	IGNORED("no-randomize-addr", 0, NULL),
	IGNORED("no-pltbind", 0, NULL),
	IGNORED("libmcount-path", 0, "DIR"),
	IGNORED("libmcount-single", 0, NULL),
	IGNORED("nop", 0, NULL),
	IGNORED("record", 0, NULL),
	IGNORED("report", 0, NULL),
	IGNORED("agent", 'g', NULL),
	IGNORED("host", 0, "HOST"),
	IGNORED("port", 0, "PORT"),
	IGNORED("run-cmd", 0, "COMMAND"),
	/* Options about uftrace's own messages. */
	IGNORED("debug", 'v', NULL),
	IGNORED("verbose", 0, NULL),
	IGNORED("debug-domain", 0, "LIST"),
	IGNORED("logfile", 0, "FILE"),
	/* Options for the layout of one command, which uftrace accepts in all. */
	IGNORED("flat", 0, NULL),
	IGNORED("no-merge", 0, NULL),
	IGNORED("no-comment", 0, NULL),
	IGNORED("libname", 0, NULL),
	IGNORED("column-view", 0, NULL),
	IGNORED("column-offset", 0, "N"),
	IGNORED("task-newline", 0, NULL),
	IGNORED("avg-total", 0, NULL),
	IGNORED("avg-self", 0, NULL),
	IGNORED("sort-column", 0, "N"),
	IGNORED("diff-policy", 0, "LIST"),
	{ 0 }
};
