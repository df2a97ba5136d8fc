/*
 * A pass is one analysis in one file that ends in one `const struct spur_pass` (src/pass/NAME.c defines
 * spur_pass_NAME); the Makefile makes the table. Passes get a trace, a filter and an output; they print nothing else.
 */
#ifndef SPUR_PASS_PASS_H
#define SPUR_PASS_PASS_H

#include <limits.h>

#include "flow/pair.h"
#include "flow/pipe.h"
#include "format/format.h"
#include "model/args.h"

enum pass_form { FORM_TEXT, FORM_JSON, FORM_JSONL, FORM_CSV };
/* TIME_EXACT: as TIME_RAW if viewers that keep times as doubles show them exactly, else as TIME_REL (convert). */
enum pass_time { TIME_REL, TIME_ABS, TIME_RAW, TIME_EXACT };

/* Options of babeltrace2's text output, for that style only. Lists are as given, with commas. */
struct babeltrace2_options {
	const char *names, *fields; /* NULL: not given */
	bool no_delta, cycles, date, seconds, gmt;
	bool intersection;
};

/* What the command line says beside the filter; zero is every option's default. Strings are as given. */
struct pass_options {
	enum pass_form form;
	enum pass_time time;
	const char *style; /* NULL: our own; "uftrace", "llvm-xray" */
	const char *format; /* dump, flame: output format */
	const char *to; /* convert: name of the writer */
	const char *fields, *sort; /* column lists */
	const char *by; /* report: "function" "task" "session"; sched, counters, async: see there */
	const char *kind; /* async: "async" or "flow" */
	const char *root; /* graph, flame: from this function */
	const char *range; /* -r as given: some styles show it */
	bool flat, task, no_merge, no_comment, no_args, no_event, no_sched, no_libcall, trace_off,
		event_full,
		kernel_full, symbols, no_callsite, libname, srcline, column_view, task_newline;
	bool avg_total, avg_self;
	bool verbose;
	bool continued; /* the output goes on after that of another file: CSV lines without a heading */
	bool values; /* counters: every sample */
	const char *extract; /* blobs: write them to files in this directory */
	const char *blob; /* blobs: only this one, as it is */
	const char *name; /* blobs: only those whose names match */
	int match; /* enum pattern_kind of `name` */
	bool force; /* overwrite files */
	bool raw; /* exact numbers instead of human units */
	bool color;
	int column_offset;
	int64_t sample_ns; /* flame: one sample each */
	uint64_t limit;
	unsigned width; /* terminal columns; 0: not a terminal */
	bool ascii; /* lines are drawn with ASCII: a terminal whose locale has no UTF-8 */
	int demangle; /* enum demangle_form */
	int depth; /* -D as given */
	int llvm; /* version of LLVM whose layout is meant; 0: the latest */
	const char *command_line; /* for headers that quote it */
	struct babeltrace2_options babeltrace2;
};

/* pass_options.llvm as a version. */
static inline unsigned llvm_version(int option)
{
	return option > 0 ? (unsigned)option : UINT_MAX;
}

struct pass_env {
	struct spur_trace *trace;
	struct pipe_options pipe;
	struct filter *filter; /* NULL: none; the same as pipe.filter */
	const struct pass_options *opt;
	struct out *out;
	struct out *
		notes; /* text for people beside the output: the losses of a conversion. NULL: nobody asks */
	uint64_t shown; /* set by passes with limits_rows: how many rows count towards opt->limit; 0 if it is not set */
	uint64_t lost; /* events that the output format cannot carry, or not whole */
	struct spur_error *err;
};

/* In which unit a pass wants ts and dur. */
enum pass_unit {
	UNIT_NS,
	UNIT_CHOSEN, /* ticks with --time=raw */
	UNIT_TICKS,
};

struct spur_pass {
	const char *name; /* "report"; "report.uftrace" for a style of it */
	bool analysis; /* what the recorder wants left out (trace.h) is */
	bool as_stored; /* wants rows as spur_options.as_stored gives them */
	bool limits_rows; /* --limit ends the reading; else only the table is cut */
	bool tracks; /* wants all tracks before the first row (spur_options.all_tracks) */
	bool source_lines; /* shows them: wants classes as spur_options.source_lines gives them */
	enum pass_unit unit;
	bool sessions; /* shows the sessions of a relay daemon where none is named (spur_options.sessions) */
	bool no_spans; /* wants events as they stand, not as spans (spur_options.no_spans) */
	/* SPUR_OK; SPUR_WARN: no row passed the filter ("no match", exit 1); SPUR_FAIL with env->err set. */
	enum spur_status (*run)(struct pass_env *env);
};

/*
 * For analyses of calls: notes that the trace's events are no calls, and which commands help. A
 * filter that left none has its own notes.
 */
void pass_note_no_calls(struct pass_env *env, uint64_t events);

/* NULL-ended; generated. */
extern const struct spur_pass *const spur_passes[];
const struct spur_pass *pass_find(const char *name, const char *style);
/* Runs it. SPUR_FAIL too where memory was refused anywhere on the way: no output is short without a word. */
enum spur_status pass_run(const struct spur_pass *pass, struct pass_env *env);

#endif
