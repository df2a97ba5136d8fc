/* The options that commands share. */
#include "cli/opt.h"

static const char *const demangle_words[] = { "simple", "full", "no", NULL }; /* as enum demangle_form */
static const char *const match_words[] = { "regex", "glob", "exact", "simple", NULL }; /* enum choice_match */
static const char *const color_words[] = { "auto", "always", "never", "yes", "no", NULL }; /* enum choice_color */
static const char *const time_words[] = { "rel", "abs", "raw", NULL }; /* enum pass_time */

static bool ignore(struct values *v, const char *text)
{
	(void)v;
	(void)text;
	return true;
}

static const struct opt input_options[] = {
	{ .name = "data", .letter = 'd', .type = OPT_STRING, .offset = offsetof(struct values, data), .arg = "TRACE",
	  .help = "the trace, instead of as an operand; ./uftrace.data where neither is given" },
	{ .name = "input-format", .type = OPT_STRING, .offset = offsetof(struct values, open.format), .arg = "NAME",
	  .help = "read it as this format (see spur formats) instead of judging by content" },
	{ .name = "symbols-dir", .type = OPT_STRING, .offset = offsetof(struct values, open.symbol_dirs), .arg = "DIR[:DIR...]",
	  .help = "look for binaries and separate debug files there" },
	{ .name = "with-syms", .type = OPT_STRING, .offset = offsetof(struct values, open.symbol_dirs), .arg = "DIR",
	  .help = "the same", .hidden = true },
	{ .name = "demangle", .type = OPT_CHOICE, .offset = offsetof(struct values, demangle), .arg = "HOW",
	  .choices = demangle_words, .help = "C++ and Rust names: simple (without parameters and template arguments), full, or no" },
	{ .name = "threads", .type = OPT_INT, .offset = offsetof(struct values, threads), .arg = "N",
	  .help = "use so many processors at most (default: all)" },
	{ .name = "read-size", .type = OPT_U64, .offset = offsetof(struct values, read_size), .arg = "N",
	  .help = "read in pieces of N bytes instead of mapping files", .hidden = true },
	{ 0 }
};

static const struct opt filter_options[] = {
	{ .name = "filter", .letter = 'F', .type = OPT_FILTER, .value = FILTER_FUNC, .arg = "FUNC",
	  .help = "only this function and what it calls; FUNC is a name or, with special characters, a pattern" },
	{ .name = "notrace", .letter = 'N', .type = OPT_FILTER, .value = FILTER_NOTRACE, .arg = "FUNC",
	  .help = "without this function and what it calls" },
	{ .name = "caller-filter", .letter = 'C', .type = OPT_FILTER, .value = FILTER_CALLER, .arg = "FUNC",
	  .help = "only calls that lead to this function" },
	{ .name = "hide", .letter = 'H', .type = OPT_FILTER, .value = FILTER_HIDE, .arg = "FUNC",
	  .help = "without this function itself; what it calls stays" },
	{ .name = "loc-filter", .letter = 'L', .type = OPT_FILTER, .value = FILTER_LOCATION, .arg = "FILE",
	  .help = "only functions of this source file; !FILE or FILE@hide: without them" },
	{ .name = "lib", .type = OPT_FILTER, .value = FILTER_LIBRARY, .arg = "NAME",
	  .help = "only functions of this program or library" },
	{ .name = "trigger", .letter = 'T', .type = OPT_FILTER, .value = FILTER_TRIGGER, .arg = "FUNC@ACT[,ACT...]",
	  .help = "do something at this function: depth=N, time=T, size=N, trace_on, trace_off, filter, notrace, caller, hide, "
		  "backtrace, color=NAME" },
	{ .name = "match", .type = OPT_CHOICE, .offset = offsetof(struct values, match), .arg = "HOW", .choices = match_words,
	  .help = "patterns are regular expressions (regex), globs (glob), or plain names (exact)" },
	{ .name = "depth", .letter = 'D', .type = OPT_INT, .offset = offsetof(struct values, filter.depth), .arg = "N",
	  .help = "only the outermost N levels of calls" },
	{ .name = "time-filter", .letter = 't', .type = OPT_DURATION, .offset = offsetof(struct values, filter.min_ns),
	  .arg = "TIME", .help = "only calls that took at least this long: 1.5s, 250ms, 10us, 100ns" },
	{ .name = "size-filter", .letter = 'Z', .type = OPT_U64, .offset = offsetof(struct values, filter.min_size), .arg = "BYTES",
	  .help = "only functions with at least so many bytes of code" },
	{ .name = "time-range", .letter = 'r', .type = OPT_STRING, .offset = offsetof(struct values, filter.range),
	  .arg = "FROM~TO", .help = "only this time: with a unit since the start, without one a time stamp in seconds" },
	{ .name = "from", .type = OPT_STRING, .offset = offsetof(struct values, filter.from), .arg = "TIME",
	  .help = "from here on: 1.5s (since the start), -1s (before the end), @2025-01-31T12:00:00 or @SECONDS" },
	{ .name = "to", .type = OPT_STRING, .offset = offsetof(struct values, filter.to), .arg = "TIME",
	  .help = "up to here; as --from" },
	{ .name = "tid", .type = OPT_LIST, .offset = offsetof(struct values, filter.tids), .arg = "LIST",
	  .help = "only these threads: 12,20-29" },
	{ .name = "pid", .type = OPT_LIST, .offset = offsetof(struct values, filter.pids), .arg = "LIST",
	  .help = "only these processes" },
	{ .name = "cpu", .type = OPT_LIST, .offset = offsetof(struct values, filter.cpus), .arg = "LIST",
	  .help = "only events of these processors" },
	{ .name = "thread", .type = OPT_LIST, .offset = offsetof(struct values, filter.threads), .arg = "NAME[,NAME...]",
	  .help = "only threads of these names (patterns)" },
	{ .name = "kind", .type = OPT_LIST, .offset = offsetof(struct values, filter.kinds), .arg = "LIST",
	  .help = "only these kinds of events: begin,end,span,instant,counter,log,switch,..." },
	{ .name = "no-event", .type = OPT_FLAG, .offset = offsetof(struct values, filter.no_event),
	  .help = "without events that are no calls" },
	{ .name = "no-sched", .type = OPT_FLAG, .offset = offsetof(struct values, filter.no_sched),
	  .help = "without time off the processor" },
	{ .name = "no-sched-preempt", .type = OPT_FLAG, .offset = offsetof(struct values, filter.no_sched_preempt),
	  .help = "without time off the processor against the thread's will" },
	{ .name = "no-args", .type = OPT_FLAG, .offset = offsetof(struct values, filter.no_args),
	  .help = "without arguments and return values" },
	{ 0 }
};

static const struct opt output_options[] = {
	{ .name = "output", .letter = 'o', .type = OPT_STRING, .offset = offsetof(struct values, output), .arg = "FILE",
	  .help = "write to FILE, which appears when all is written" },
	{ .name = "force", .letter = 'y', .type = OPT_FLAG, .offset = offsetof(struct values, force),
	  .help = "let -o overwrite a file" },
	{ .name = "json", .type = OPT_FLAG, .offset = offsetof(struct values, json), .need = TAKES_JSON,
	  .help = "write one JSON value" },
	{ .name = "jsonl", .type = OPT_FLAG, .offset = offsetof(struct values, jsonl), .need = TAKES_JSONL,
	  .help = "write one JSON object a line" },
	{ .name = "csv", .type = OPT_FLAG, .offset = offsetof(struct values, csv), .need = TAKES_CSV,
	  .help = "write comma-separated values with a heading" },
	{ .name = "time", .type = OPT_CHOICE, .offset = offsetof(struct values, time), .arg = "HOW", .choices = time_words,
	  .need = TAKES_TIME, .help = "times since the first event (rel), as dates where known (abs), or in ns of the trace's clock (raw)" },
	{ .name = "raw", .type = OPT_FLAG, .offset = offsetof(struct values, pass.raw), .need = TAKES_RAW,
	  .help = "exact numbers instead of units" },
	{ .name = "limit", .type = OPT_U64, .offset = offsetof(struct values, pass.limit), .arg = "N", .need = TAKES_LIMIT,
	  .help = "show N of them at most" },
	{ .name = "style", .type = OPT_STRING, .offset = offsetof(struct values, pass.style), .arg = "NAME", .need = TAKES_STYLE,
	  .help = "lay it out as another tool does: uftrace" },
	{ .name = "color", .type = OPT_CHOICE, .offset = offsetof(struct values, color), .arg = "WHEN", .choices = color_words,
	  .need = TAKES_COLOR, .help = "colors: auto (on a terminal, unless NO_COLOR is set), always, never" },
	{ .name = "no-pager", .type = OPT_CALL, .call = ignore, .help = "nothing: there is none", .hidden = true },
	{ .name = "quiet", .letter = 'q', .type = OPT_FLAG, .offset = offsetof(struct values, quiet),
	  .help = "no notes and warnings; damage is still told" },
	{ .letter = 'h', .name = "h", .type = OPT_FLAG, .offset = offsetof(struct values, help), .help = "short help", .hidden = true },
	{ .name = "help", .type = OPT_FLAG, .offset = offsetof(struct values, help_long), .help = "this text; -h: a short one" },
	{ 0 }
};

const struct opt_group opt_groups[] = {
	{ "Input", input_options, TAKES_TRACE },
	{ "Filters", filter_options, TAKES_FILTERS },
	{ "Output", output_options, 0 },
	{ 0 }
};
