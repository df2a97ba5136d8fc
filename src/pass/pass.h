/*
 * A pass is one analysis in one file that ends in one `const struct spur_pass` (src/pass/NAME.c
 * defines spur_pass_NAME); the Makefile makes the table. Passes get a trace, a filter and an
 * output; they print nothing else.
 */
#ifndef SPUR_PASS_PASS_H
#define SPUR_PASS_PASS_H

#include "base/outdir.h"
#include "base/source.h"
#include "flow/pair.h"
#include "flow/pipe.h"
#include "format/format.h"
#include "model/args.h"
#include "render/options.h"

struct pass_env {
	struct spur_trace *trace;
	struct pipe_options pipe;
	struct filter *filter; /* NULL: none; the same as pipe.filter */
	const struct filter_spec *given; /* the filter as given: some layouts show it */
	const struct render_options *opt;
	/*
	 * The options of the analysis, and those of the style. Each has the type that the header of
	 * the pass (src/pass/report.h) or of the style (src/style/uftrace/options.h) declares, with
	 * a function that returns it. NULL if the pass declares none.
	 */
	const void *options, *style_options;
	struct out *out;
	struct outdir *dir; /* the output, if it is a directory; else NULL */
	struct out *side; /* the file beside the output, or NULL */
	/* Messages about the run, such as losses of a conversion; NULL: dropped. */
	struct out *notes;
	/* Set by passes with limits_rows: rows that count towards opt->limit; 0 if not set. */
	uint64_t shown;
	uint64_t lost; /* events that the output format cannot carry, or not whole */
	bool damaged; /* the trace is, whatever its messages say */
	/* Set by a pass that returns SPUR_WARN: why there is no output; that is dropped then. */
	const char *nothing;
	bool done; /* a file has its name, so that an interrupt would come too late */
	/* Set by a pass that showed a store: what reading the trace told when that was made. */
	bool was_told;
	struct diag_totals told;
	/* Of passes that compare inputs: */
	unsigned input; /* which of them run() reads, from 0 */
	const char *paths[2]; /* of the inputs, as given */
	void *kept; /* what run() keeps of them for show(); NULL before the first */
	bool differs; /* set by show(): the inputs differ by more than was allowed (exit 1) */
	struct spur_error *err;
};

/* The part of it that src/render needs. */
static inline struct render_env pass_render(const struct pass_env *env)
{
	return (struct render_env){ .trace = env->trace,
				    .filter = env->filter,
				    .opt = env->opt,
				    .out = env->out,
				    .err = env->err };
}

/* In which unit a pass wants ts and dur. */
enum pass_unit {
	UNIT_NS,
	UNIT_CHOSEN, /* ticks with --time=raw */
	UNIT_TICKS,
};

enum pass_store {
	PASS_NO_STORE, /* needs arguments, or sessions */
	PASS_STORE,
	PASS_STORE_NAMES, /* and shows the names of threads */
};

/*
 * Everything that the program must know about a pass: it has no list of passes with special needs.
 */
struct spur_pass {
	const char *name; /* "report"; "report.uftrace" for a style of it */
	size_t options_size; /* of the struct in env->options; 0: none */
	size_t style_options_size; /* of the struct in env->style_options; 0: none */
	bool analysis; /* leaves out what the recorder wants left out (trace.h) */
	bool as_stored; /* wants rows as spur_options.as_stored gives them */
	bool limits_rows; /* --limit ends the reading; else only the table is cut */
	bool limits_input; /* --limit counts the rows that are read, after the filter */
	bool tracks; /* wants all tracks before the first row (spur_options.all_tracks) */
	bool source_lines; /* shows them: wants classes as spur_options.source_lines gives them */
	enum pass_unit unit;
	bool sessions; /* lists the sessions of a relay daemon if none is named (spur_options) */
	bool no_spans; /* wants events as they stand, not as spans (spur_options.no_spans) */
	bool shows_damage; /* its output has the damage, which is not repeated on standard error */
	/* Of styles, as their tools have it: */
	bool bare_times; /* durations without a unit are ns */
	bool simple_names; /* the default of --demangle is simple */
	bool focus_hides_sched; /* -C and -L leave schedule events out */
	/*
	 * Returns what it needs with the options in env. If that is no more of rows than a store
	 * has (see store/trace.h), it may get one in place of the trace. NULL: it does not.
	 */
	enum pass_store (*takes_store)(const struct pass_env *env);
	/*
	 * Sets in *open what the options in env ask for before the trace is opened; NULL: nothing.
	 */
	void (*prepare)(const struct pass_env *env, struct spur_options *open);
	/*
	 * SPUR_OK; SPUR_WARN: no row passed the filter ("no match", exit 1); SPUR_FAIL with
	 * env->err set.
	 */
	enum spur_status (*run)(struct pass_env *env);
	/*
	 * Of passes that compare two inputs, else NULL: run() is called for each of them and writes
	 * nothing; then show() once, without a trace; then drop(), in any case. env->kept belongs
	 * to the pass and outlives the traces.
	 */
	enum spur_status (*show)(struct pass_env *env);
	void (*drop)(void *kept);
	/*
	 * Instead of a trace, such a pass may take the saved result of another command, which it
	 * knows by the first PROBE_BYTES at most; called in place of run(). NULL: traces only.
	 */
	bool (*is_saved)(const uint8_t *head, size_t len);
	enum spur_status (*run_saved)(struct pass_env *env, const struct source *saved);
};

/*
 * For analyses of calls: notes that the trace's events are no calls, and which commands help. A
 * filter that left none has its own notes.
 */
void pass_note_no_calls(struct pass_env *env, uint64_t events);

/* NULL-ended; generated. */
extern const struct spur_pass *const spur_passes[];
const struct spur_pass *pass_find(const char *name, const char *style);
/*
 * Notes that no call or span of the name was read, and the most similar name of the trace. Does
 * nothing if one was read: a filter left that out. `pattern` is what the name stands for; NULL:
 * itself.
 */
void pass_note_unnamed(const struct pass_env *env, const char *name, const struct pattern *pattern);
/*
 * Runs it. SPUR_FAIL too where memory was refused anywhere on the way: output never lacks a part
 * silently.
 */
enum spur_status pass_run(const struct spur_pass *pass, struct pass_env *env);
/* The same for show() and, with the source, for run_saved(). Requires a pass that has them. */
enum spur_status pass_show(const struct spur_pass *pass, struct pass_env *env);
enum spur_status pass_run_saved(const struct spur_pass *pass, struct pass_env *env,
				const struct source *saved);

#endif
