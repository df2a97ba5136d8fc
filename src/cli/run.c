/* See run.h. */
#include "cli/run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"
#include "base/source.h"
#include "base/text.h"
#include "cli/kept.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/progress.h"
#include "cli/report_diag.h"
#include "cli/signals.h"
#include "cli/watch.h"
#include "flow/cut.h"
#include "flow/open.h"
#include "format/format.h"
#include "model/symbol/demangle.h"
#include "store/cache.h"
#include "store/trace.h"

/* Returns the trace to read if no operand names one, or NULL if there is no such trace. */
static const char *default_trace(void)
{
	const char *path = NULL;

	for (size_t i = 0; spur_formats[i] && !path; i++)
		path = spur_formats[i]->default_path ? spur_formats[i]->default_path() : NULL;
	return path;
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

/* Gets the format of a file by its first bytes. Returns false if it cannot be read. */
static bool file_format(const struct values *v, const char *path, const struct spur_format **out)
{
	const struct source_options so = { .max_unpacked = v->open.max_unpacked };
	struct source *s = NULL;
	struct probe p = { .path = path };
	struct spur_error err;

	*out = NULL;
	if (source_open(&s, path, &so, &err) == SPUR_FAIL)
		return false;
	source_need(s, PROBE_BYTES);
	p.head = s->data;
	p.len = s->size < PROBE_BYTES ? s->size : PROBE_BYTES;
	*out = format_probe(&p, &err);
	source_close(s);
	return true;
}

/* Returns the format of a file or directory by its content, or NULL. */
static const struct spur_format *path_format(const struct values *v, const char *path)
{
	const struct probe dir = { .path = path, .is_dir = true };
	const struct spur_format *format = NULL;
	struct spur_error err;
	struct stat st;

	if (os_stat(path, &st) != 0)
		return NULL;
	if (S_ISDIR(st.st_mode))
		return format_probe(&dir, &err);
	if (S_ISREG(st.st_mode))
		file_format(v, path, &format);
	return format;
}

const struct spur_format *run_format(const struct values *v, const char *path)
{
	if (v->open.format)
		return format_find(v->open.format);
	if (format_of_url(path) || strcmp(path, "-") == 0)
		return format_of_url(path);
	return path_format(v, path);
}

bool run_is_trace(const struct values *v, const char *path)
{
	const struct probe dir = { .path = path, .is_dir = true };
	const struct spur_format *format;
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
	return !S_ISREG(st.st_mode) || !file_format(v, path, &format) || format;
}

/* Returns how many of the operands are traces; see run_take_traces(). */
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

/* Returns true if standard input is a file, a pipe or a socket, and so was redirected. */
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

	assert(n <= v->noperands);
	if (!traces) {
		err_nomem(&v->err);
		return false;
	}
	if (n) {
		memcpy(traces, v->operands, n * sizeof(*traces));
		v->noperands -= n;
		memmove(v->operands, v->operands + n, v->noperands * sizeof(*v->operands));
	} else {
		traces[0] = v->data ? v->data : standard ? standard : input_is_given() ? "-" : NULL;
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
 * Returns true if standard output is a terminal whose locale is not UTF-8. Files and pipes get the
 * same bytes in every locale, as they may be read in another one.
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

/*
 * Returns the pass of the request in the style of the command line; NULL, with v->err set, if it is
 * missing.
 */
static const struct spur_pass *run_find(struct values *v, const char *name)
{
	const struct spur_pass *pass;

	if (v->style && strcmp(v->style, "spur") == 0)
		v->style = NULL;
	pass = pass_find(name, v->style);
	if (!pass)
		err_set(&v->err, SPUR_ERR_USAGE,
			"--style: expected spur or a style that %s has, found \"%s\"", name,
			v->style ? v->style : "");
	return pass;
}

/* Completes the common options for the pass from what the parser stored. */
static enum spur_status settle_render(struct values *v, const struct spur_pass *pass)
{
	struct render_options *r = &v->render;

	if (v->json + v->jsonl + v->csv > 1)
		return err_set(&v->err, SPUR_ERR_USAGE,
			       "expected one of --json, --jsonl, --csv, found several");
	r->form = v->json ? FORM_JSON : v->jsonl ? FORM_JSONL : v->csv ? FORM_CSV : FORM_TEXT;
	if (v->time != NOT_GIVEN)
		r->time = (enum time_form)v->time;
	if (v->demangle == NOT_GIVEN)
		v->demangle = pass->simple_names ? DEMANGLE_SIMPLE : DEMANGLE_NAME;
	r->no_args = v->filter.no_args;
	r->demangle = v->demangle;
	r->color = run_color(v);
	r->ascii = run_ascii(v);
	r->width = run_width(v);
	return SPUR_OK;
}

enum spur_status run_check_units(struct values *v)
{
	if (!v->bare_option)
		return SPUR_OK;
	return err_set(&v->err, SPUR_ERR_USAGE,
		       "--%s: expected a unit behind \"%s\": ns, us, ms, s, m or h",
		       v->bare_option, v->bare_text);
}

static enum spur_status settle_filter(struct values *v, const struct spur_pass *pass)
{
	static const enum pattern_kind kinds[] = { [MATCH_REGEX] = PATTERN_REGEX,
						   [MATCH_GLOB] = PATTERN_GLOB,
						   [MATCH_EXACT] = PATTERN_EXACT,
						   [MATCH_SIMPLE] = PATTERN_EXACT };

	assert(v->match >= 0 && (size_t)v->match < sizeof(kinds) / sizeof(kinds[0]));
	if (!pass->bare_times && run_check_units(v) == SPUR_FAIL)
		return SPUR_FAIL;
	v->filter.bare_ns = pass->bare_times ? 1 : 0;
	v->filter.numbers = v->render.form != FORM_TEXT || v->time == TIME_RAW ? MOMENT_TS
			    : v->time == TIME_ABS			       ? MOMENT_CLOCK
									       : MOMENT_REL;
	/* SPEC uftrace/focus: -C and -L leave schedule events out in uftrace's style. */
	for (size_t i = 0; pass->focus_hides_sched && i < v->nitems; i++)
		v->filter.no_sched |=
			v->items[i].what == FILTER_CALLER || v->items[i].what == FILTER_LOCATION;
	v->filter.items = v->items;
	v->filter.nitems = v->nitems;
	v->filter.match = kinds[v->match];
	return SPUR_OK;
}

static void settle_open(struct values *v, const struct spur_pass *pass, const struct pass_env *env)
{
	struct spur_options *o = &v->open;

	o->as_stored = pass->as_stored;
	o->all_tracks = pass->tracks;
	o->no_spans |= pass->no_spans;
	o->sessions = pass->sessions;
	o->stop = &signals_stop;
	o->raw_time =
		pass->unit == UNIT_TICKS || (pass->unit == UNIT_CHOSEN && v->time == TIME_RAW);
	o->source_lines |= pass->source_lines;
	for (size_t i = 0; i < v->nitems; i++)
		o->source_lines |= v->items[i].what == FILTER_LOCATION;
	o->demangle = (enum spur_demangle)v->demangle;
	o->threads = (unsigned)v->threads;
	o->read_size = v->read_size;
	o->binaries = v->binaries;
	o->offsets = v->offsets;
	o->noffsets = v->noffsets;
	o->align = v->aligns;
	if (pass->prepare)
		pass->prepare(env, o);
}

/*
 * Returns the options of the request for the pass: those of the analysis or, with `style`, of its
 * layout. INVARIANT: they have the type that the pass declares.
 */
static const void *request_options(const struct run_request *request, const char *style,
				   size_t size)
{
	for (size_t i = 0; i < RUN_OPTIONS_MAX && request->options[i].data; i++) {
		const struct run_options *o = &request->options[i];

		if (!style == !o->style && (!style || strcmp(style, o->style) == 0)) {
			assert(!size || size == o->size);
			return o->data;
		}
	}
	assert(!size);
	return NULL;
}

/*
 * Finds the pass of the request and prepares its options. Returns NULL, with v->err set, if they do
 * not fit.
 */
static const struct spur_pass *run_settle(struct values *v, const struct run_request *request,
					  struct pass_env *env)
{
	const struct spur_pass *pass = run_find(v, request->pass);

	if (!pass || settle_render(v, pass) == SPUR_FAIL || settle_filter(v, pass) == SPUR_FAIL)
		return NULL;
	env->opt = &v->render;
	env->given = &v->filter;
	env->options = request_options(request, NULL, pass->options_size);
	if (v->style)
		env->style_options = request_options(request, v->style, pass->style_options_size);
	settle_open(v, pass, env);
	return pass;
}

/* One run of a pass. */
struct run {
	struct values *v;
	const struct run_request *request;
	const struct spur_pass *pass;
	struct pass_env env;
	struct output side; /* request->side; open if env.side is set */
	bool damaged; /* a followed file that was replaced, or a compared input, was damaged */
	bool filtered; /* a filter was applied to a compared input */
};

/* Compiles the filter and runs the pass. */
static enum spur_status run_opened(struct run *r)
{
	struct pass_env *env = &r->env;
	struct filter_spec *spec = &r->v->filter;

	assert(env->trace && !env->filter);
	if (r->pass->analysis && !spec->min_ns)
		spec->min_ns = env->trace->default_min_ns;
	if (filter_new(&env->filter, env->trace, spec, env->err) == SPUR_FAIL)
		return SPUR_FAIL;
	env->pipe.filter = env->filter;
	return pass_run(r->pass, env);
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

/* The same, but buffers the text until it is known that nothing is lost (--strict). */
static enum spur_status run_strict(struct run *r)
{
	struct pass_env *env = &r->env;
	struct out held, *to = env->out;
	enum spur_status st;

	out_to_fd(&held, temp_file_open());
	if (held.fd < 0)
		return err_set(env->err, SPUR_ERR_IO, "temporary file: %s", strerror(errno));
	env->out = &held;
	st = run_opened(r);
	env->out = to;
	if (!out_flush(&held))
		st = err_set(env->err, SPUR_ERR_IO, "temporary file: %s", strerror(held.error));
	if (st != SPUR_FAIL && !env->lost && !copy_fd(held.fd, to))
		st = err_set(env->err, SPUR_ERR_IO, "temporary file: %s", strerror(errno));
	os_close(held.fd);
	out_free(&held);
	return st;
}

/*
 * Returns true if the input grows while its rows are shown: then Ctrl-C is the normal end, and the
 * output is valid.
 */
static bool run_watches(const struct values *v)
{
	return v->open.follow || format_of_url(v->traces[0]);
}

/*
 * Prints the notes of the run, and the damage of the trace. Returns true if the trace is damaged.
 */
static bool run_messages(const struct run *r)
{
	const struct out *notes = r->env.notes;
	const struct spur_trace *const t = r->env.trace;
	const char *const path = r->v->shown ? r->v->shown : t ? t->path : NULL;

	if (notes->len && !r->v->quiet)
		say_text(notes->buf, notes->len);
	if (t && r->env.was_told)
		return report_totals(path, &r->env.told, r->v->quiet);
	return t && report_diag(r->env.trace, path, r->v->quiet, r->pass->shows_damage);
}

/* The exit code of a run without an error or a signal; prints why it is not EXIT_CLEAN. */
static int run_result(const struct run *r, enum spur_status st)
{
	const struct pass_env *env = &r->env;

	if (env->trace && trace_over_limit(env->trace))
		return EXIT_UNREADABLE;
	if (signals_stop)
		return EXIT_CLEAN;
	if (env->nothing) {
		say("%s", env->nothing);
		return EXIT_DIFFERENT;
	}
	if (r->damaged || env->damaged)
		return EXIT_DAMAGED;
	if (r->request->strict && env->lost) {
		say("--strict: %llu events do not fit: nothing is written",
		    (unsigned long long)env->lost);
		return EXIT_DAMAGED;
	}
	if (st == SPUR_WARN && (env->filter || r->request->selective)) {
		say("no event passes the filter");
		return EXIT_DIFFERENT;
	}
	if (st == SPUR_WARN && !r->v->quiet)
		say("note: there is nothing to show");
	return EXIT_CLEAN;
}

/* Prints the messages of the run. Returns the exit code. */
static int run_end(struct run *r, enum spur_status st, bool reader_left)
{
	struct pass_env *env = &r->env;
	const bool read_all = !(r->pass->limits_rows && r->v->render.limit);

	filter_where_notes(env->filter, env->notes);
	if (env->filter && st != SPUR_FAIL && read_all && !signals_stop)
		filter_note_unmatched(env->filter, env->notes);
	if (!reader_left)
		r->damaged |= run_messages(r);
	if (signals_stop == SIGNALS_INTERRUPT && !r->request->until_stopped && !env->done) {
		if (!run_watches(r->v))
			say("interrupted");
		return EXIT_INTERRUPTED;
	}
	return st == SPUR_FAIL ? run_error(env->err) : run_result(r, st);
}

/* Closes the file beside the output. Without a byte it is dropped, and one that it replaces too. */
static enum spur_status side_close(struct run *r, bool keep, struct spur_error *err)
{
	const bool empty = !r->side.out.len && !r->side.out.flushed;

	if (keep && empty && r->side.replaces)
		os_unlink(r->side.path);
	return output_close(&r->side, keep && !empty, err);
}

/*
 * Closes the output, which gets its name if the run succeeded. An error of this is reported instead
 * of what the pass returned.
 */
static enum spur_status run_close(struct run *r, struct output *o, enum spur_status st,
				  bool *reader_left)
{
	struct pass_env *env = &r->env;
	/* Where an allocation failed, an answer may lack names or rows. */
	bool keep = st != SPUR_FAIL && !env->nothing && !mem_failures_all() &&
		    !(r->request->strict && env->lost) &&
		    !(env->trace && trace_over_limit(env->trace)) &&
		    !((o->is_dir || r->request->is_copy) && signals_stop);

	/* INVARIANT: the pass leaves the output that it was given. */
	assert(env->out == &o->out);
	out_flush(&o->out);
	*reader_left = o->out.error == EPIPE || signals_stop == SIGNALS_READER_LEFT;
	/* The file beside the output comes first: where the output is, all of it is. */
	keep = keep && out_flush(&o->out);
	if (env->side && side_close(r, keep, st == SPUR_FAIL ? NULL : env->err) == SPUR_FAIL) {
		keep = false;
		st = SPUR_FAIL;
	}
	if (output_close(o, keep, st == SPUR_FAIL ? NULL : env->err) == SPUR_FAIL)
		st = SPUR_FAIL;
	return st;
}

static enum spur_status run_open(struct values *v, struct spur_trace **trace)
{
	*trace = NULL;
	assert(v->ntraces && v->traces[0]);
	if (v->ntraces == 1 && (v->noffsets || v->naligns))
		return err_set(&v->err, SPUR_ERR_USAGE,
			       "--%s: expected several traces, found one: %s",
			       v->noffsets ? "offset" : "align", v->traces[0]);
	for (size_t i = 0; i < v->ntraces; i++)
		if (kept_refuse(v, v->traces[i]) == SPUR_FAIL)
			return SPUR_FAIL;
	if (v->ntraces == 1)
		return spur_open(trace, v->traces[0], &v->open, &v->err);
	if (v->style)
		return err_set(&v->err, SPUR_ERR_USAGE, "--style=%s: expected one trace, found %zu",
			       v->style, v->ntraces);
	return spur_open_several(trace, v->traces, v->ntraces, &v->open, &v->err);
}

/* Returns true if the input is followed, a pipe or a relay daemon, so that a wait may never end. */
static bool input_may_wait(const struct values *v)
{
	bool may = v->open.follow;
	struct stat st;

	for (size_t i = 0; i < v->ntraces && !may; i++)
		may = os_stat(v->traces[i], &st) != 0 ||
		      !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
	return may;
}

/* Sets what signals do; called before the trace is opened, and again before it is analysed. */
static void run_mind_signals(const struct run *r, bool opened)
{
	if (run_watches(r->v) || r->request->is_dir || r->request->is_copy ||
	    (opened && r->request->writes_files))
		signals_defer();
	if (r->v->render.color && os_isatty(STDOUT_FILENO))
		signals_reset_color();
}

/*
 * After a followed file was replaced or truncated: reports that and the damage of what was read,
 * and opens the file of that name. Returns SPUR_WARN, with nothing changed, if the file is missing
 * or there is nothing more to show.
 */
static enum spur_status run_renew(struct run *r)
{
	struct pass_env *env = &r->env;
	struct values *v = r->v;
	const bool limited = r->pass->limits_rows && v->render.limit;
	enum trace_renewal how;

	assert(!limited || env->shown <= v->render.limit);
	if (signals_stop || env->out->error || r->request->strict ||
	    (limited && env->shown == v->render.limit))
		return SPUR_WARN;
	how = trace_take_renewal(env->trace);
	if (how == TRACE_SAME)
		return SPUR_WARN;
	out_flush(env->out);
	r->damaged |= run_messages(r);
	out_clear(env->notes);
	if (!v->quiet)
		say(how == TRACE_CUT ? "%s: was truncated; following it from its beginning"
				     : "%s: was replaced; following the new file",
		    v->traces[0]);
	/* The new file may still be too short to be recognized. */
	v->open.format = spur_format_name(env->trace);
	v->render.limit -= limited ? env->shown : 0;
	v->render.continued = true;
	filter_free(env->filter);
	env->filter = NULL;
	spur_close(env->trace);
	env->trace = NULL;
	return run_open(v, &env->trace);
}

/* Runs the pass on the trace, and on each file that takes its place while it is followed. */
static enum spur_status run_all(struct run *r)
{
	enum spur_status st, again;

	do {
		st = r->request->strict ? run_strict(r) : run_opened(r);
		if (st == SPUR_FAIL)
			return st;
		again = run_renew(r);
	} while (again == SPUR_OK);
	/* Ctrl-C while the new file has no data yet ends the run like any other. */
	return again == SPUR_FAIL && !signals_stop ? SPUR_FAIL : st;
}

/*
 * Returns true if --force may replace a directory: it is a trace, or has nothing but traces, as
 * spur split writes them. Anything else may be of value to the user.
 */
static bool run_may_replace(struct values *v, const char *path)
{
	DIR *dir = path_format(v, path) ? NULL : os_opendir(path);
	const struct dirent *e;
	bool good = true;

	while (dir && good && (e = os_readdir(dir))) {
		const char *entry;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		entry = arena_printf(&v->arena, "%s/%s", path, e->d_name);
		good = entry && path_format(v, entry);
	}
	if (dir)
		os_closedir(dir);
	return good;
}

enum spur_status run_output_dir(struct values *v, struct output *o)
{
	if (!v->output)
		return err_set(&v->err, SPUR_ERR_USAGE,
			       "the format is a directory: expected -o DIRECTORY");
	if (v->force && !run_may_replace(v, v->output))
		return err_set(&v->err, SPUR_ERR_USAGE,
			       "%s: expected a trace, or an empty directory, found other files; "
			       "write to another directory",
			       v->output);
	return output_open_dir(o, v->output, v->force, &v->err);
}

static enum spur_status run_output(struct run *r, struct output *o)
{
	struct values *v = r->v;

	if (!(r->request->is_copy ? cut_is_dir(r->env.trace) : r->request->is_dir))
		return output_open(o, v->output, v->force, &v->err);
	r->env.dir = &o->dir;
	return run_output_dir(v, o);
}

/* Opens the file beside an output that is a new file. */
static enum spur_status run_side(struct run *r, struct output *o)
{
	struct values *v = r->v;
	const char *path;

	if (!r->request->side || !o->temp)
		return SPUR_OK;
	path = arena_printf(&o->arena, "%s%s", o->path, r->request->side);
	if (!path)
		return err_nomem(&v->err);
	r->env.side = &r->side.out;
	return output_open(&r->side, path, v->force, &v->err);
}

/* Returns SPUR_FAIL, with the error set, if the run would replace a file that it reads. */
static enum spur_status run_spare(const struct run *r, const struct output *o)
{
	struct values *v = r->v;
	enum spur_status st = SPUR_OK;

	for (size_t i = 0; i < v->ntraces && st != SPUR_FAIL; i++) {
		st = output_spare(o, v->traces[i], &v->err);
		if (st != SPUR_FAIL && r->env.side)
			st = output_spare(&r->side, v->traces[i], &v->err);
	}
	return st;
}

/* Opens the output, then the trace. */
static enum spur_status run_begin(struct run *r, struct output *o, struct watch *watch)
{
	struct values *v = r->v;
	enum spur_status st = SPUR_OK;

	/* What a copy is, its trace decides. */
	if (r->request->is_copy && run_open(v, &r->env.trace) == SPUR_FAIL)
		return SPUR_FAIL;
	if (run_output(r, o) == SPUR_FAIL || run_side(r, o) == SPUR_FAIL ||
	    run_spare(r, o) == SPUR_FAIL)
		return SPUR_FAIL;
	/* Whoever has read the address of a server may close the pipe. */
	if (!v->output && !r->request->until_stopped && input_may_wait(v))
		watch_begin(watch);
	if (!r->env.trace)
		st = kept_open(v, r->pass, &r->env, &r->env.trace);
	return st == SPUR_WARN ? run_open(v, &r->env.trace) : st;
}

/* Runs the pass. If it read a store that turned out to be damaged, it reads the trace instead. */
static enum spur_status run_trusted(struct run *r)
{
	enum spur_status st = run_all(r);

	if (st != SPUR_FAIL || !store_trace_is_damaged(r->env.trace))
		return st;
	if (kept_is_store(r->v))
		return err_set(r->env.err, SPUR_ERR_FORMAT,
			       "%s: expected a store, found a damaged one", r->v->traces[0]);
	filter_free(r->env.filter);
	r->env.filter = NULL;
	spur_close(r->env.trace);
	out_clear(r->env.notes);
	cache_drop(r->v->traces, r->v->ntraces, &r->v->open);
	return run_open(r->v, &r->env.trace) == SPUR_FAIL ? SPUR_FAIL : run_all(r);
}

/* Runs the pass on the open trace and closes the output. Returns the exit code. */
static int run_analyse(struct run *r, struct output *o, struct watch *watch,
		       struct progress *progress)
{
	struct out notes;
	bool reader_left;
	enum spur_status st;
	int code;

	assert(r->env.trace);
	progress_trace(progress, r->env.trace);
	out_to_memory(&notes);
	r->env.notes = &notes;
	r->env.pipe =
		(struct pipe_options){ .threads = (unsigned)r->v->threads,
				       .stop = &signals_stop,
				       .limit = r->pass->limits_input ? r->v->render.limit : 0 };
	run_mind_signals(r, true);
	if (r->request->draws)
		progress_end(progress);
	st = run_trusted(r);
	watch_end(watch);
	progress_end(progress);
	st = run_close(r, o, st, &reader_left);
	code = run_end(r, st, reader_left);
	filter_free(r->env.filter);
	spur_close(r->env.trace);
	out_free(&notes);
	return code;
}

int run_pass(struct values *v, const struct run_request *request)
{
	struct output o = { .force = false };
	struct progress progress;
	struct watch watch = { .runs = false };
	struct run r = { .v = v, .request = request, .env = { .err = &v->err, .out = &o.out } };

	r.pass = run_settle(v, request, &r.env);
	if (!r.pass)
		return run_error(&v->err);
	progress_begin(&progress, v, &o.out);
	/* What serves until a signal comes has no end that a pager could show. */
	if (!request->draws && !request->until_stopped)
		pager_begin(v);
	run_mind_signals(&r, false);
	if (run_begin(&r, &o, &watch) != SPUR_FAIL)
		return run_analyse(&r, &o, &watch, &progress);
	progress_end(&progress);
	watch_end(&watch);
	if (r.env.side)
		output_close(&r.side, false, NULL);
	output_close(&o, false, NULL);
	spur_close(r.env.trace);
	return signals_stop == SIGNALS_READER_LEFT ? EXIT_CLEAN
	       : signals_stop			   ? EXIT_INTERRUPTED
						   : run_error(&v->err);
}

/* --- two inputs */

/* Runs the pass on the input if that is a saved result. Returns false if it may be a trace. */
static bool compare_saved(struct run *r, const char *path, enum spur_status *st)
{
	const struct source_options so = { .max_unpacked = r->v->open.max_unpacked };
	struct source *s = NULL;
	struct stat file;
	bool saved;

	if (!r->pass->is_saved || r->v->open.format || strcmp(path, "-") == 0 ||
	    os_stat(path, &file) != 0 || !S_ISREG(file.st_mode) ||
	    source_open(&s, path, &so, r->env.err) == SPUR_FAIL)
		return false;
	source_need(s, PROBE_BYTES);
	saved = r->pass->is_saved(s->data, s->size < PROBE_BYTES ? s->size : PROBE_BYTES);
	if (saved) {
		while (source_more(s))
			;
		*st = pass_run_saved(r->pass, &r->env, s);
	}
	source_close(s);
	return saved;
}

/* Writes the notes with the trace that they are about. */
static void compare_notes(const struct out *notes, const char *path)
{
	struct text rest = text_make(notes->buf, notes->len), line;

	while (text_line(&rest, &line)) {
		text_skip(&line, "spur: ");
		say("%s: %.*s", path, (int)line.len, line.p);
	}
}

/* Opens the trace and runs the pass on it, with the filter and the messages of this trace. */
static enum spur_status compare_trace(struct run *r, const char *path)
{
	struct pass_env *env = &r->env;
	struct values *v = r->v;
	const int64_t min_ns = v->filter.min_ns;
	struct progress progress;
	struct out notes;
	enum spur_status st;

	progress_begin(&progress, v, NULL);
	st = kept_refuse(v, path);
	if (st != SPUR_FAIL)
		st = spur_open(&env->trace, path, &v->open, env->err);
	if (st == SPUR_FAIL) {
		progress_end(&progress);
		return st;
	}
	out_to_memory(&notes);
	env->notes = &notes;
	env->pipe = (struct pipe_options){ .threads = (unsigned)v->threads, .stop = &signals_stop };
	progress_trace(&progress, env->trace);
	st = run_opened(r);
	progress_end(&progress);
	r->filtered |= env->filter != NULL;
	filter_where_notes(env->filter, &notes);
	if (env->filter && st != SPUR_FAIL)
		filter_note_unmatched(env->filter, &notes);
	if (st == SPUR_WARN && !v->quiet)
		say("%s: note: %s", path,
		    env->filter ? "no event passes the filter" : "there is nothing to compare");
	if (!v->quiet)
		compare_notes(&notes, path);
	out_clear(&notes);
	r->damaged |= run_messages(r);
	if (st != SPUR_FAIL && trace_over_limit(env->trace))
		st = err_set(env->err, SPUR_ERR_LIMIT, "%s: unpacks to more than --max-unpacked",
			     path);
	filter_free(env->filter);
	spur_close(env->trace);
	env->trace = NULL;
	env->filter = NULL;
	env->notes = NULL;
	v->filter.min_ns = min_ns;
	out_free(&notes);
	return st;
}

/* Runs the pass on both inputs. `*nothing` becomes true if neither has an event for it. */
static enum spur_status compare_inputs(struct run *r, bool *nothing)
{
	const char *saved = NULL;

	*nothing = true;
	for (unsigned i = 0; i < 2; i++) {
		const char *path = r->v->traces[i];
		enum spur_status st;

		r->env.input = i;
		if (compare_saved(r, path, &st))
			saved = path;
		else
			st = compare_trace(r, path);
		if (st == SPUR_FAIL)
			return st;
		*nothing &= st == SPUR_WARN;
	}
	if (saved && r->filtered && !r->v->quiet)
		say("note: %s: the filter does not apply to a saved report", saved);
	return SPUR_OK;
}

/* Opens the output, compares, and writes what the pass shows. Returns the exit code. */
static int compare_written(struct run *r, struct output *o)
{
	struct values *v = r->v;
	bool nothing = false, left;
	enum spur_status st = output_open(o, v->output, v->force, &v->err);

	for (size_t i = 0; i < 2 && st != SPUR_FAIL; i++)
		st = output_spare(o, v->traces[i], &v->err);
	if (st != SPUR_FAIL)
		st = compare_inputs(r, &nothing);
	if (st != SPUR_FAIL) {
		pager_begin(v);
		run_mind_signals(r, true);
		st = pass_show(r->pass, &r->env);
	}
	st = run_close(r, o, st, &left);
	if (st == SPUR_FAIL)
		return run_error(&v->err);
	if (r->damaged)
		return EXIT_DAMAGED;
	if (nothing && r->filtered)
		return EXIT_DIFFERENT;
	return r->env.differs ? EXIT_DIFFERENT : EXIT_CLEAN;
}

int run_compare(struct values *v, const struct run_request *request)
{
	struct output o = { .force = false };
	struct run r = { .v = v, .request = request, .env = { .err = &v->err, .out = &o.out } };
	int code;

	assert(v->ntraces == 2);
	r.pass = run_settle(v, request, &r.env);
	if (!r.pass)
		return run_error(&v->err);
	assert(r.pass->show && r.pass->drop);
	r.env.paths[0] = v->traces[0];
	r.env.paths[1] = v->traces[1];
	code = compare_written(&r, &o);
	r.pass->drop(r.env.kept);
	return code;
}

int run_simple(const struct spur_cmd *cmd, struct values *v, const struct run_request *request)
{
	return run_take_traces(cmd, v, 0) ? run_pass(v, request) : run_error(&v->err);
}
