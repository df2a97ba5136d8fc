/* The options that commands share. */
#include <string.h>

#include "base/text.h"
#include "cli/opt.h"
#include "flow/align.h"
#include "format/format.h"

static const char *const demangle_words[] = { "name", "simple", "full", "no",
					      NULL }; /* as enum demangle_form */
static const char *const match_words[] = { "regex", "glob", "exact", "simple",
					   NULL }; /* enum choice_match */
static const char *const color_words[] = {
	"auto", "always", "never", "yes", "no", NULL
}; /* enum choice_color */
static const char *const style_words[] = { "uftrace", "llvm-xray", "babeltrace2", "spur", NULL };
static const char *const time_words[] = { "rel", "abs", "raw", NULL }; /* enum pass_time */

static const char *const trace_words[] = { "on", "off", NULL };

static const char *format_word(size_t i)
{
	return spur_formats[i] ? spur_formats[i]->name : NULL;
}

static const char *kind_word(size_t i)
{
	return i < SPUR_KINDS ? spur_kind_name((unsigned)i) : NULL;
}

static bool set_trace(struct values *v, const char *text)
{
	v->filter.trace_off = strcmp(text, "off") == 0;
	return v->filter.trace_off || strcmp(text, "on") == 0;
}

enum { LIST_MOST = 1 << 16 };

/* [N:]TIME, where TIME may have a sign. */
static bool add_offset(struct values *v, const char *text)
{
	struct spur_offset offset;
	const char *time = align_item(text, &offset.trace);
	const char *size = time + (*time == '-' || *time == '+');

	if (offset.trace == SIZE_MAX)
		offset.trace = 1;
	if (!text_duration(size, 0, &offset.ns) ||
	    !mem_grow((void **)&v->offsets, &v->offsets_cap, v->noffsets + 1, sizeof(*v->offsets),
		      LIST_MOST))
		return false;
	offset.ns = *time == '-' ? -offset.ns : offset.ns;
	v->offsets[v->noffsets++] = offset;
	return true;
}

static bool add_align(struct values *v, const char *text)
{
	size_t trace;
	const char *item = align_item(text, &trace);
	struct text a, b;

	if ((strcmp(item, "auto") != 0 && !align_split(item, &a, &b)) ||
	    !mem_grow((void **)&v->aligns, &v->aligns_cap, v->naligns + 2, sizeof(*v->aligns),
		      LIST_MOST))
		return false;
	v->aligns[v->naligns++] = text;
	return true;
}

static bool add_binary(struct values *v, const char *text)
{
	if (!text[0] || !mem_grow((void **)&v->binaries, &v->binaries_cap, v->nbinaries + 2,
				  sizeof(*v->binaries), LIST_MOST))
		return false;
	v->binaries[v->nbinaries++] = text;
	return true;
}

static const struct opt input_options[] = {
	{ .name = "data",
	  .letter = 'd',
	  .type = OPT_STRING,
	  OPT_COMMON(data),
	  .arg = "TRACE",
	  .help = "Read this trace (default: ./uftrace.data, else standard input if it is a "
		  "file or pipe)" },
	{ .name = "input-format",
	  .type = OPT_STRING,
	  OPT_COMMON(open.format),
	  .arg = "NAME",
	  .choice = format_word,
	  .help = "Read it as this format (see spur formats), whatever its content" },
	{ .name = "symbols-dir",
	  .type = OPT_STRING,
	  OPT_COMMON(open.symbol_dirs),
	  .arg = "DIR[:DIR...]",
	  .help = "Search these directories for binaries and debug files" },
	{ .name = "binary",
	  .type = OPT_CALL,
	  .call = add_binary,
	  .arg = "[N=]FILE",
	  .help = "Take names of functions from this binary; N=: of object N (repeatable; "
		  "default: those next to the trace)" },
	{ .name = "key-file",
	  .type = OPT_STRING,
	  OPT_COMMON(open.key_file),
	  .arg = "FILE",
	  .help = "Decrypt packets (CTF) with the key in FILE: 16, 24 or 32 bytes, plain or "
		  "hexadecimal" },
	{ .name = "same-clock",
	  .type = OPT_FLAG,
	  OPT_COMMON(open.same_clock),
	  .help = "Treat the clocks of several traces as one, whatever their names and epochs" },
	{ .name = "offset",
	  .type = OPT_CALL,
	  .call = add_offset,
	  .arg = "[N:]TIME",
	  .help = "Add TIME (1.5s, -250us) to all times of trace N of several (default: the "
		  "second; repeatable)" },
	{ .name = "align",
	  .type = OPT_CALL,
	  .call = add_align,
	  .arg = "[N:]EVENT=EVENT|auto",
	  .help = "Relate clocks by events: the first EVENT of the first trace and the first "
		  "EVENT of trace N (default: the second) are one moment (several: least "
		  "squares); auto: match events that both have" },
	{ .name = "no-spans",
	  .type = OPT_FLAG,
	  OPT_COMMON(open.no_spans),
	  .help = "Treat events as instants, whatever their names (CTF: *_entry and *_exit, "
		  "sched_switch and others)" },
	{ .name = "with-syms",
	  .type = OPT_STRING,
	  OPT_COMMON(open.symbol_dirs),
	  .arg = "DIR",
	  .help = "Same as --symbols-dir",
	  .hidden = true },
	{ .name = "demangle",
	  .type = OPT_CHOICE,
	  OPT_COMMON(demangle),
	  .arg = "HOW",
	  .choices = demangle_words,
	  .help = "Show C++ and Rust names without parameters (name), without template "
		  "arguments too (simple), whole (full), or mangled (no) (default: name; simple "
		  "with --style=uftrace)" },
	{ .name = "follow",
	  .type = OPT_FLAG,
	  OPT_COMMON(open.follow),
	  .need = TAKES_FOLLOW,
	  .help = "Wait for more at the end of the input, until Ctrl-C; events come in the "
		  "order in which they are stored; a file that is replaced or truncated is "
		  "followed from its beginning, as by tail -F" },
	{ .name = "threads",
	  .type = OPT_INT,
	  OPT_COMMON(threads),
	  .arg = "N",
	  .least = 1,
	  .help = "Use at most N threads (default: all CPUs)" },
	{ .name = "max-unpacked",
	  .type = OPT_U64,
	  OPT_COMMON(open.max_unpacked),
	  .arg = "SIZE",
	  .help = "Unpack compressed input to at most SIZE bytes (default: 256m, or 256 times "
		  "the size of the file)" },
	{ .name = "read-size",
	  .type = OPT_U64,
	  OPT_COMMON(read_size),
	  .arg = "N",
	  .help = "Read in pieces of N bytes instead of mapping files",
	  .hidden = true },
	{ 0 }
};

static const struct opt filter_options[] = {
	{ .name = "filter",
	  .letter = 'F',
	  .type = OPT_FILTER,
	  .value = FILTER_FUNC,
	  .arg = "FUNC",
	  .help = "Show only this function and what it calls; FUNC is a name or, with special "
		  "characters, a pattern" },
	{ .name = "notrace",
	  .letter = 'N',
	  .type = OPT_FILTER,
	  .value = FILTER_NOTRACE,
	  .arg = "FUNC",
	  .help = "Leave out this function and what it calls" },
	{ .name = "caller-filter",
	  .letter = 'C',
	  .type = OPT_FILTER,
	  .value = FILTER_CALLER,
	  .arg = "FUNC",
	  .help = "Show only calls that lead to this function" },
	{ .name = "hide",
	  .letter = 'H',
	  .type = OPT_FILTER,
	  .value = FILTER_HIDE,
	  .arg = "FUNC",
	  .help = "Leave out this function, but keep what it calls" },
	{ .name = "loc-filter",
	  .letter = 'L',
	  .type = OPT_FILTER,
	  .value = FILTER_LOCATION,
	  .arg = "FILE",
	  .help = "Show only functions of this source file; !FILE or FILE@hide: leave them out" },
	{ .name = "lib",
	  .type = OPT_FILTER,
	  .value = FILTER_LIBRARY,
	  .arg = "NAME",
	  .help = "Show only functions of this program or library" },
	{ .name = "name",
	  .type = OPT_FILTER,
	  .value = FILTER_NAME,
	  .arg = "NAME",
	  .help = "Show only events of this name, a name or a pattern (repeatable)" },
	{ .name = "cat",
	  .type = OPT_FILTER,
	  .value = FILTER_CAT,
	  .arg = "CATEGORY[,CATEGORY...]",
	  .help = "Show only events of these categories, names or patterns (repeatable)" },
	{ .name = "where",
	  .type = OPT_FILTER,
	  .value = FILTER_WHERE,
	  .arg = "EXPR",
	  .help = "Show only events for which this is true: comparisons (== != < <= > >= =~) "
		  "of ts, dur, name, cat, pid, tid, cpu, depth, kind, thread, module and "
		  "arguments (arg.NAME, arg.a.b) with numbers (3, 0x1f, 1.5ms) and text in "
		  "quotes, && || ! and parentheses: 'arg.fd == 3 && dur > 1ms'" },
	{ .name = "trigger",
	  .letter = 'T',
	  .type = OPT_FILTER,
	  .value = FILTER_TRIGGER,
	  .arg = "FUNC@ACT[,ACT...]",
	  .help = "Act at this function: depth=N, time=T, size=N, trace_on, trace_off, filter, "
		  "notrace, caller, hide, backtrace, color=NAME" },
	{ .name = "match",
	  .type = OPT_CHOICE,
	  OPT_COMMON(match),
	  .arg = "HOW",
	  .choices = match_words,
	  .help = "Read patterns as regular expressions (regex), globs (glob) or plain names "
		  "(exact)" },
	{ .name = "depth",
	  .letter = 'D',
	  .type = OPT_INT,
	  OPT_COMMON(filter.depth),
	  .arg = "N",
	  .help = "Show only the N outermost levels of calls" },
	{ .name = "time-filter",
	  .letter = 't',
	  .type = OPT_DURATION,
	  OPT_COMMON(filter.min_ns),
	  .arg = "TIME",
	  .help = "Show only calls of at least this duration: 1.5s, 250ms, 10us, 100ns" },
	{ .name = "size-filter",
	  .letter = 'Z',
	  .type = OPT_U64,
	  OPT_COMMON(filter.min_size),
	  .arg = "BYTES",
	  .help = "Show only functions with at least BYTES bytes of code" },
	{ .name = "time-range",
	  .letter = 'r',
	  .type = OPT_STRING,
	  OPT_COMMON(filter.range),
	  .arg = "FROM~TO",
	  .help = "Show only this time, as uftrace reads it: with a unit after the first "
		  "function, without one in seconds of the trace's clock; else as --from" },
	{ .name = "from",
	  .type = OPT_STRING,
	  OPT_COMMON(filter.from),
	  .arg = "TIME",
	  .help = "Show only events from this time on: 1.5s (after the first event), -1s "
		  "(before the last), 50% (of the trace), 10:21:03.5, "
		  "2026-11-22T10:21:03.5+01:00 (without a zone: local time), a time as cat and "
		  "replay show it, a ts of JSON (@5ns: a small one), @828.215538 (seconds of "
		  "the trace's clock)" },
	{ .name = "until",
	  .type = OPT_STRING,
	  OPT_COMMON(filter.to),
	  .arg = "TIME",
	  .help = "Show only events before this time, given as for --from; +1ms: that much "
		  "after --from" },
	{ .name = "to",
	  .type = OPT_STRING,
	  OPT_COMMON(filter.to),
	  .arg = "TIME",
	  .help = "Same as --until",
	  .hidden = true },
	{ .name = "tid",
	  .type = OPT_LIST,
	  OPT_COMMON(filter.tids),
	  .arg = "LIST",
	  .help = "Show only these threads: 12,20-29" },
	{ .name = "pid",
	  .type = OPT_LIST,
	  OPT_COMMON(filter.pids),
	  .arg = "LIST",
	  .help = "Show only these processes: 12,20-29" },
	{ .name = "cpu",
	  .type = OPT_LIST,
	  OPT_COMMON(filter.cpus),
	  .arg = "LIST",
	  .help = "Show only events of these CPUs: 0,2-3" },
	{ .name = "thread",
	  .type = OPT_LIST,
	  OPT_COMMON(filter.threads),
	  .arg = "NAME[,NAME...]",
	  .help = "Show only threads of these names (patterns)" },
	{ .name = "kind",
	  .type = OPT_LIST,
	  OPT_COMMON(filter.kinds),
	  .arg = "LIST",
	  .choice = kind_word,
	  .help = "Show only these kinds of events: begin,end,span,instant,counter,log,switch,"
		  "..." },
	{ .name = "no-event",
	  .type = OPT_FLAG,
	  OPT_COMMON(filter.no_event),
	  .help = "Leave out events that are not calls" },
	{ .name = "no-sched",
	  .type = OPT_FLAG,
	  OPT_COMMON(filter.no_sched),
	  .help = "Leave out time off the CPU" },
	{ .name = "no-sched-preempt",
	  .type = OPT_FLAG,
	  OPT_COMMON(filter.no_sched_preempt),
	  .help = "Leave out time off the CPU while preempted" },
	{ .name = "no-libcall",
	  .type = OPT_FLAG,
	  OPT_COMMON(filter.no_libcall),
	  .help = "Leave out calls of library functions" },
	{ .name = "kernel-only",
	  .type = OPT_FLAG,
	  OPT_COMMON(filter.kernel_only),
	  .help = "Show only functions and events of the kernel" },
	{ .name = "trace",
	  .type = OPT_CALL,
	  .call = set_trace,
	  .arg = "on|off",
	  .choices = trace_words,
	  .help = "Start with tracing on or off; a trigger's trace_on turns it on" },
	{ .name = "no-args",
	  .type = OPT_FLAG,
	  OPT_COMMON(filter.no_args),
	  .help = "Leave out arguments and return values" },
	{ 0 }
};

static const struct opt output_options[] = {
	{ .name = "output",
	  .letter = 'o',
	  .type = OPT_STRING,
	  OPT_COMMON(output),
	  .arg = "FILE",
	  .help = "Write to FILE, which appears when all is written" },
	{ .name = "force",
	  .letter = 'y',
	  .type = OPT_FLAG,
	  OPT_COMMON(force),
	  .help = "Let -o overwrite a file" },
	{ .name = "json",
	  .type = OPT_FLAG,
	  OPT_COMMON(json),
	  .need = TAKES_JSON,
	  .help = "Write one JSON value" },
	{ .name = "jsonl",
	  .type = OPT_FLAG,
	  OPT_COMMON(jsonl),
	  .need = TAKES_JSONL,
	  .help = "Write one JSON object per line" },
	{ .name = "csv",
	  .type = OPT_FLAG,
	  OPT_COMMON(csv),
	  .need = TAKES_CSV,
	  .help = "Write comma-separated values with a heading" },
	{ .name = "time",
	  .type = OPT_CHOICE,
	  OPT_COMMON(time),
	  .arg = "HOW",
	  .choices = time_words,
	  .need = TAKES_TIME,
	  .help = "Show times since the first event (rel), as dates if known (abs), or in "
		  "ticks of the trace's clock (raw)" },
	/* uftrace's long name of -f; the help of each command's -f lists the columns. */
	{ .name = "output-fields",
	  .type = OPT_STRING,
	  OPT_COMMON(render.fields),
	  .arg = "LIST",
	  .help = "Same as -f",
	  .need = TAKES_FIELDS,
	  .hidden = true },
	{ .name = "raw",
	  .type = OPT_FLAG,
	  OPT_COMMON(render.raw),
	  .need = TAKES_RAW,
	  .help = "Show exact numbers instead of units" },
	{ .name = "limit",
	  .letter = 'n',
	  .type = OPT_U64,
	  OPT_COMMON(render.limit),
	  .arg = "N",
	  .need = TAKES_LIMIT,
	  .help = "Show at most N events, or rows of a table" },
	{ .name = "style",
	  .type = OPT_STRING,
	  OPT_COMMON(style),
	  .arg = "NAME",
	  .choices = style_words,
	  .need = TAKES_STYLE,
	  .help = "Use the layout of another tool: uftrace, llvm-xray (report), "
		  "babeltrace2 (cat of CTF)" },
	{ .name = "color",
	  .type = OPT_CHOICE,
	  OPT_COMMON(color),
	  .arg = "WHEN",
	  .choices = color_words,
	  .need = TAKES_COLOR,
	  .help = "Use colors: auto (on a terminal, unless NO_COLOR is set), always, never" },
	{ .name = "no-pager",
	  .type = OPT_FLAG,
	  OPT_COMMON(no_pager),
	  .help = "Do not page output on a terminal (default: $SPUR_PAGER, $PAGER or less)" },
	{ .name = "progress",
	  .type = OPT_FLAG,
	  OPT_COMMON(progress),
	  .need = TAKES_TRACE,
	  .help = "Show progress even if standard error is not a terminal" },
	{ .name = "quiet",
	  .letter = 'q',
	  .type = OPT_FLAG,
	  OPT_COMMON(quiet),
	  .help = "Omit notes and warnings, but not damage" },
	{ .letter = 'h',
	  .name = "h",
	  .type = OPT_FLAG,
	  OPT_COMMON(help),
	  .help = "Show a short help",
	  .hidden = true },
	{ .name = "help",
	  .type = OPT_FLAG,
	  OPT_COMMON(help_long),
	  .help = "Show this text; -h: a short one" },
	{ 0 }
};

const struct opt_group opt_groups[] = { { "Input", input_options, TAKES_TRACE },
					{ "Filters", filter_options, TAKES_FILTERS },
					{ "Output", output_options, 0 },
					{ "uftrace", uftrace_option_table, TAKES_UFTRACE },
					{ 0 } };
