/* See run.h. */
#include "cli/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"
#include "base/source.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/progress.h"
#include "cli/report_diag.h"
#include "cli/signals.h"
#include "cli/watch.h"
#include "flow/open.h"
#include "format/format.h"
#include "model/symbol/demangle.h"

/* The data directory of uftrace where no trace is named: ./uftrace.data, or the current directory. */
static const char *default_trace(void)
{
	static const char name[] = "uftrace.data", magic[] = "Ftrace!";
	char head[sizeof(magic)] = "";

	if (os_access(name, F_OK) == 0)
		return name;
	if (file_head("info", FILE_REGULAR, head, sizeof(head)) == (ssize_t)sizeof(head) &&
	    memcmp(head, magic, sizeof(magic)) == 0)
		return ".";
	return NULL;
}

int run_error(const struct spur_error *err)
{
	say("%s", err->message);
	switch (err->code) {
	case SPUR_ERR_USAGE:
		return EXIT_USAGE;
	case SPUR_ERR_FORMAT:
	case SPUR_ERR_LIMIT:
		return EXIT_UNREADABLE;
	default:
		return EXIT_IO;
	}
}

/* The file's first bytes are those of a format, or it cannot be read: opening it tells why. */
static bool file_is_trace(const struct values *v, const char *path)
{
	const struct source_options so = { .max_unpacked = v->open.max_unpacked };
	struct source *s = NULL;
	struct probe p = { .path = path };
	struct spur_error err;
	bool known;

	if (source_open(&s, path, &so, &err) == SPUR_FAIL)
		return true;
	source_need(s, PROBE_BYTES);
	p.head = s->data;
	p.len = s->size < PROBE_BYTES ? s->size : PROBE_BYTES;
	known = format_probe(&p, &err) != NULL;
	source_close(s);
	return known;
}

bool run_is_trace(const struct values *v, const char *path)
{
	const struct probe dir = { .path = path, .is_dir = true };
	struct spur_error err;
	struct stat st;

	if (strcmp(path, "-") == 0 || format_of_url(path))
		return true;
	if (os_stat(path, &st) != 0)
		return false;
	if (v->open.format || strchr(path, '/'))
		return true;
	if (S_ISDIR(st.st_mode))
		return format_probe(&dir, &err) != NULL;
	return !S_ISREG(st.st_mode) || file_is_trace(v, path);
}

/* How many of the operands are traces: see run_take_traces(). */
static size_t count_traces(const struct values *v, size_t more, bool have_default)
{
	size_t n = 0;

	if (v->data || !v->noperands ||
	    (have_default && more >= v->noperands && !run_is_trace(v, v->operands[0])))
		return 0;
	do
		n++;
	while (n < v->noperands && (v->noperands - n > more || run_is_trace(v, v->operands[n])));
	return n;
}

/* Standard input is a file, a pipe or a socket: something was put there to be read. */
static bool input_is_given(void)
{
	struct stat st;

	return os_fstat(STDIN_FILENO, &st) == 0 &&
	       (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

bool run_take_traces(const struct spur_cmd *cmd, struct values *v, size_t more)
{
	const char *standard = default_trace();
	const size_t n = count_traces(v, more, standard != NULL);
	const char **traces = arena_alloc(&v->arena, (n + 1) * sizeof(*traces));

	if (!traces) {
		err_nomem(&v->err);
		return false;
	}
	if (n) {
		memcpy(traces, v->operands, n * sizeof(*traces));
		v->noperands -= n;
		memmove(v->operands, v->operands + n, v->noperands * sizeof(*v->operands));
	} else {
		traces[0] = v->data		? v->data
			    : standard		? standard
			    : input_is_given() ? "-"
					       : NULL;
	}
	if (!traces[0]) {
		err_set(&v->err, SPUR_ERR_USAGE, "expected a trace: spur %s %s", cmd->name,
			cmd->usage);
		return false;
	}
	if (v->noperands > more) {
		err_set(&v->err, SPUR_ERR_USAGE, "unexpected operand \"%s\"", v->operands[more]);
		return false;
	}
	v->traces = traces;
	v->ntraces = n ? n : 1;
	return true;
}

static bool run_color(const struct values *v)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (v->color != COLOR_AUTO)
		return v->color == COLOR_ALWAYS || v->color == COLOR_YES;
	return !v->output && os_isatty(STDOUT_FILENO) && !(no && *no) &&
	       !(term && strcmp(term, "dumb") == 0);
}

/*
 * The terminal's locale has no UTF-8. Files and pipes get the same bytes in every locale: who reads them
 * later may have another one.
 */
static bool run_ascii(const struct values *v)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *locale = NULL;

	if (v->output || !os_isatty(STDOUT_FILENO))
		return false;
	for (size_t i = 0; i < 3 && !(locale && *locale); i++)
		locale = getenv(names[i]);
	return !locale || !(strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

static unsigned run_width(const struct values *v)
{
	struct winsize w;

	if (v->output || os_window_size(STDOUT_FILENO, &w) != 0)
		return 0;
	return w.ws_col;
}

/* What the parser stored in its own fields goes where passes and the filter look for it. */
static enum spur_status run_settle(struct values *v)
{
	static const enum pattern_kind kinds[] = { [MATCH_REGEX] = PATTERN_REGEX,
						   [MATCH_GLOB] = PATTERN_GLOB,
						   [MATCH_EXACT] = PATTERN_EXACT,
						   [MATCH_SIMPLE] = PATTERN_EXACT };
	struct pass_options *p = &v->pass;

	const bool uftrace = p->style && strcmp(p->style, "uftrace") == 0;

	if (v->bare_option && !uftrace)
		return err_set(&v->err, SPUR_ERR_USAGE,
			       "--%s: expected a unit behind \"%s\": ns, us, ms, s, m or h",
			       v->bare_option, v->bare_text);
	v->filter.bare_ns = uftrace ? 1 : 0;
	if (v->json + v->jsonl + v->csv > 1)
		return err_set(&v->err, SPUR_ERR_USAGE,
			       "expected one of --json, --jsonl, --csv, found several");
	p->form = v->json ? FORM_JSON : v->jsonl ? FORM_JSONL : v->csv ? FORM_CSV : p->form;
	if (v->time != NOT_GIVEN)
		p->time = (enum pass_time)v->time;
	v->filter.numbers = p->form != FORM_TEXT || v->time == TIME_RAW ? MOMENT_TS
			    : v->time == TIME_ABS			   ? MOMENT_CLOCK
									   : MOMENT_REL;
	/* SPEC uftrace/focus: -C and -L leave schedule events out in uftrace's style. */
	for (size_t i = 0; p->style && strcmp(p->style, "uftrace") == 0 && i < v->nitems; i++)
		v->filter.no_sched |= v->items[i].what == FILTER_CALLER ||
				      v->items[i].what == FILTER_LOCATION;
	v->filter.items = v->items;
	v->filter.nitems = v->nitems;
	v->filter.match = kinds[v->match];
	p->match = (int)kinds[v->match];
	p->force = v->force;
	p->range = v->filter.range;
	p->depth = v->filter.depth;
	p->no_args = v->filter.no_args;
	p->no_event = v->filter.no_event;
	p->no_sched = v->filter.no_sched;
	if (v->demangle == NOT_GIVEN)
		v->demangle = p->style && strcmp(p->style, "uftrace") == 0 ? DEMANGLE_SIMPLE
									   : DEMANGLE_NAME;
	p->no_libcall = v->filter.no_libcall;
	p->trace_off = v->filter.trace_off;
	p->demangle = v->demangle;
	p->color = run_color(v);
	p->ascii = run_ascii(v);
	p->width = run_width(v);
	v->open.demangle = v->demangle;
	v->open.call_libraries = p->libname;
	v->open.source_lines = p->srcline || (p->fields && strstr(p->fields, "location"));
	for (size_t i = 0; i < v->nitems; i++)
		v->open.source_lines |= v->items[i].what == FILTER_LOCATION;
	v->open.threads = (unsigned)v->threads;
	v->open.read_size = v->read_size;
	v->open.binaries = v->binaries;
	return SPUR_OK;
}

static const struct spur_pass *run_find(struct values *v, const char *name)
{
	const char *style = v->pass.style;
	const struct spur_pass *pass;

	if (style && strcmp(style, "spur") == 0)
		v->pass.style = style = NULL;
	pass = pass_find(name, style);
	if (!pass)
		err_set(&v->err, SPUR_ERR_USAGE,
			"--style: expected spur or a style that %s has, found \"%s\"", name,
			style ? style : "");
	return pass;
}

/* Filters and runs. With --strict the text is kept back until it is known that nothing is lost. */
static enum spur_status run_opened(struct pass_env *env, struct values *v,
				   const struct spur_pass *pass)
{
	enum spur_status st;

	if (pass->analysis && !v->filter.min_ns)
		v->filter.min_ns = env->trace->default_min_ns;
	st = filter_new(&env->filter, env->trace, &v->filter, env->err);
	if (st == SPUR_FAIL)
		return st;
	env->pipe.filter = env->filter;
	return pass_run(pass, env);
}

static bool copy_fd(int from, struct out *to)
{
	char buf[65536];
	ssize_t n;

	if (os_lseek(from, 0, SEEK_SET) != 0)
		return false;
	while ((n = os_read(from, buf, sizeof(buf))) != 0) {
		if (n > 0)
			out_bytes(to, buf, (size_t)n);
		else if (errno != EINTR)
			return false;
	}
	return true;
}

static enum spur_status run_strict(struct pass_env *env, struct values *v,
				   const struct spur_pass *pass)
{
	struct out held, *to = env->out;
	enum spur_status st;

	out_to_fd(&held, temp_file_open());
	if (held.fd < 0)
		return err_set(env->err, SPUR_ERR_IO, "temporary file: %s", strerror(errno));
	env->out = &held;
	st = run_opened(env, v, pass);
	env->out = to;
	if (!out_flush(&held))
		st = err_set(env->err, SPUR_ERR_IO, "temporary file: %s", strerror(held.error));
	if (st != SPUR_FAIL && !env->lost && !copy_fd(held.fd, to))
		st = err_set(env->err, SPUR_ERR_IO, "temporary file: %s", strerror(errno));
	os_close(held.fd);
	out_free(&held);
	return st;
}

/* The input grows while its rows are shown: then Ctrl-C is how that ends, and what was shown stands. */
static bool run_watches(const struct values *v)
{
	return v->open.follow || format_of_url(v->traces[0]);
}

/*
 * After the run: what is told, and the exit code. `damaged`: files that were read before env->trace were; that is NULL
 * if the last one could not be opened.
 */
static int run_tell(struct pass_env *env, const struct values *v, enum spur_status st,
		    bool reader_left, bool read_all, bool damaged)
{
	const bool filtered = env->filter || v->pass.root;

	filter_where_notes(env->filter, env->notes);
	if (env->filter && st != SPUR_FAIL && read_all && !signals_stop)
		filter_note_unmatched(env->filter, env->notes);
	if (env->notes->len && !v->quiet && !reader_left)
		say_text(env->notes->buf, env->notes->len);
	if (!reader_left && env->trace)
		damaged |= report_diag(env->trace, v->quiet, v->diag_shown);
	if (signals_stop == SIGNALS_INTERRUPT && !run_watches(v))
		say("interrupted");
	if (signals_stop == SIGNALS_INTERRUPT)
		return EXIT_INTERRUPTED;
	if (st == SPUR_FAIL)
		return run_error(env->err);
	if (env->trace && trace_over_limit(env->trace))
		return EXIT_UNREADABLE;
	if (signals_stop)
		return EXIT_CLEAN;
	if (damaged)
		return EXIT_DAMAGED;
	if (v->strict && env->lost) {
		say("--strict: %llu events do not fit: nothing is written",
		    (unsigned long long)env->lost);
		return EXIT_DAMAGED;
	}
	if (st == SPUR_WARN && filtered) {
		say("no event passes the filter");
		return EXIT_DIFFERENT;
	}
	if (st == SPUR_WARN && !v->quiet)
		say("note: there is nothing to show");
	return EXIT_CLEAN;
}

/* Ends the output: in its place where all went well. What fails here is worse than what the pass
 * said. */
static enum spur_status run_close(struct output *o, struct pass_env *env, const struct values *v,
				  enum spur_status st, bool *reader_left)
{
	bool keep = st != SPUR_FAIL && !(v->strict && env->lost) &&
		    !(env->trace && trace_over_limit(env->trace));

	out_flush(&o->out);
	*reader_left = o->out.error == EPIPE || signals_stop == SIGNALS_READER_LEFT;
	if (output_close(o, keep, st == SPUR_FAIL ? NULL : env->err) == SPUR_FAIL)
		st = SPUR_FAIL;
	return st;
}

static enum spur_status run_open(struct values *v, struct spur_trace **trace)
{
	if (v->ntraces == 1)
		return spur_open(trace, v->traces[0], &v->open, &v->err);
	if (v->pass.style)
		return err_set(&v->err, SPUR_ERR_USAGE,
			       "--style=%s: expected one trace, found %zu: the layout knows no more",
			       v->pass.style, v->ntraces);
	return spur_open_several(trace, v->traces, v->ntraces, &v->open, &v->err);
}

/* Input that is followed, a pipe or a relay daemon may be waited for without end. */
static bool input_may_wait(const struct values *v)
{
	bool may = v->open.follow;
	struct stat st;

	for (size_t i = 0; i < v->ntraces && !may; i++)
		may = os_stat(v->traces[i], &st) != 0 ||
		      !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
	return may;
}

/* Before the trace is opened, and again before it is analysed: what a signal does. */
static void run_mind_signals(const struct values *v, bool opened)
{
	if (run_watches(v) || (opened && v->pass.extract))
		signals_defer();
	if (v->pass.color && os_isatty(STDOUT_FILENO))
		signals_reset_color();
}

/*
 * After a file that is followed was replaced or cut: says so, tells the damage of what was read, and opens the file of
 * that name. Returns SPUR_WARN, with nothing changed, if there is no such file or nothing more to show.
 */
static enum spur_status run_renew(struct pass_env *env, struct values *v,
				  const struct spur_pass *pass, bool *damaged)
{
	const bool limited = pass->limits_rows && v->pass.limit;
	enum trace_renewal how;

	if (signals_stop || env->out->error || v->strict || (limited && env->shown == v->pass.limit))
		return SPUR_WARN;
	how = trace_take_renewal(env->trace);
	if (how == TRACE_SAME)
		return SPUR_WARN;
	out_flush(env->out);
	if (env->notes->len && !v->quiet)
		say_text(env->notes->buf, env->notes->len);
	out_clear(env->notes);
	*damaged |= report_diag(env->trace, v->quiet, v->diag_shown);
	if (!v->quiet)
		say(how == TRACE_CUT ? "%s: was truncated; following it from its beginning"
				     : "%s: was replaced; following the new file",
		    v->traces[0]);
	/* What is there yet of the new file may be too little to tell its format. */
	v->open.format = spur_format_name(env->trace);
	v->pass.limit -= limited ? env->shown : 0;
	v->pass.continued = true;
	filter_free(env->filter);
	env->filter = NULL;
	spur_close(env->trace);
	return run_open(v, &env->trace);
}

/* Runs the pass on the trace, and on each file that takes its place while it is followed. */
static enum spur_status run_all(struct pass_env *env, struct values *v,
				const struct spur_pass *pass, bool *damaged)
{
	enum spur_status st, again;

	do {
		st = v->strict ? run_strict(env, v, pass) : run_opened(env, v, pass);
		if (st == SPUR_FAIL)
			return st;
		again = run_renew(env, v, pass, damaged);
	} while (again == SPUR_OK);
	/* Ctrl-C while nothing of the new file is there ends it like any other. */
	return again == SPUR_FAIL && !signals_stop ? SPUR_FAIL : st;
}

int run_pass(struct values *v, const char *name)
{
	const struct spur_pass *pass;
	struct out notes;
	struct output o = { .force = false };
	struct progress progress;
	struct pass_env env = { .opt = &v->pass, .err = &v->err, .out = &o.out, .notes = &notes };
	enum spur_status st;
	struct watch watch = { .runs = false };
	bool reader_left, damaged = false;
	int code;

	if (run_settle(v) == SPUR_FAIL || !(pass = run_find(v, name)))
		return run_error(&v->err);
	v->open.as_stored = pass->as_stored;
	v->open.all_tracks = pass->tracks;
	v->open.no_spans |= pass->no_spans;
	v->open.sessions = pass->sessions;
	v->open.stop = &signals_stop;
	v->open.raw_time =
		pass->unit == UNIT_TICKS || (pass->unit == UNIT_CHOSEN && v->time == TIME_RAW);
	v->open.source_lines |= pass->source_lines;
	progress_begin(&progress, v, &o.out);
	pager_begin(v);
	run_mind_signals(v, false);
	st = output_open(&o, v->output, v->force, &v->err);
	if (st != SPUR_FAIL && !v->output && input_may_wait(v))
		watch_begin(&watch);
	if (st != SPUR_FAIL)
		st = run_open(v, &env.trace);
	if (st == SPUR_FAIL) {
		progress_end(&progress);
		watch_end(&watch);
		output_close(&o, false, NULL);
		return signals_stop == SIGNALS_READER_LEFT ? EXIT_CLEAN
		       : signals_stop			   ? EXIT_INTERRUPTED
							   : run_error(&v->err);
	}
	progress_trace(&progress, env.trace);
	out_to_memory(&notes);
	env.pipe = (struct pipe_options){ .threads = (unsigned)v->threads,
					  .stop = &signals_stop,
					  .limit = v->row_limit };
	run_mind_signals(v, true);
	st = run_all(&env, v, pass, &damaged);
	watch_end(&watch);
	progress_end(&progress);
	st = run_close(&o, &env, v, st, &reader_left);
	code = run_tell(&env, v, st, reader_left,
			!(pass->limits_rows && v->pass.limit), damaged);
	filter_free(env.filter);
	spur_close(env.trace);
	out_free(&notes);
	return code;
}

int run_simple(const struct spur_cmd *cmd, struct values *v, const char *pass)
{
	return run_take_traces(cmd, v, 0) ? run_pass(v, pass) : run_error(&v->err);
}
