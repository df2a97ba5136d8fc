#include "view/serve.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/os.h"
#include "pass/index.h"
#include "store/cache.h"
#include "view/live.h"
#include "view/view.h"

enum { LOOK_MS = 50, THREADS = 3, STATE_MOST = 48000 };

struct session {
	struct pass_env *env;
	struct view view;
	struct arena arena;
	struct out identity;
	const char *dir; /* of stores that are kept; NULL: none is known */
	const char *path; /* of the store; NULL: a temporary file without a name */
	bool kept; /* it stays */
	bool live; /* the trace is being written: what comes is shown at once */
	struct store *opened; /* one that was there, or NULL */
	struct store_writer *writer;
	struct view_server *server;
	pthread_t builder;
	bool building;
	bool built; /* atomic: the builder has ended */
	int ended; /* nothing is shown any more: the builder stops */
	struct pipe_options pipe; /* the builder's: of the environment, with `ended` as its stop */
	struct spur_error err; /* of the builder */
};

static bool stopped(const struct session *s)
{
	return s->env->pipe.stop && *s->env->pipe.stop;
}

static bool has_ended(const struct session *s)
{
	return __atomic_load_n(&s->ended, __ATOMIC_RELAXED) || stopped(s);
}

/* --- the store --- */

static void *build(void *arg)
{
	struct session *const s = arg;
	enum spur_status st =
		s->live ? live_build(s->env->trace, &s->pipe, s->writer, &s->view, &s->err)
			: index_build(s->env->trace, &s->pipe, s->writer, &s->err);

	if (st != SPUR_FAIL && !has_ended(s)) {
		st = store_writer_finish(s->writer, s->identity.buf, &s->err);
		if (st != SPUR_FAIL && s->path)
			cache_trim(s->dir, cache_limit(), s->path);
	}
	if (st == SPUR_FAIL)
		__atomic_store_n(&s->view.error, s->err.message, __ATOMIC_RELEASE);
	__atomic_add_fetch(&s->view.generation, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&s->built, true, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Sets where the store goes: among those that are kept, or, for a trace without an identity, into a
 * file without a name. Returns false if out of memory.
 */
static bool store_place(struct session *s, bool keep)
{
	s->dir = keep ? cache_dir(&s->arena) : NULL;
	out_to_memory(&s->identity);
	s->kept = store_identify_trace(&s->identity, s->env->trace);
	out_char(&s->identity, 0);
	s->view.identity = s->kept ? s->identity.buf : NULL;
	s->kept = s->kept && s->dir && cache_make_dir(s->dir);
	if (s->kept)
		s->path = cache_path(&s->arena, s->dir, s->identity.buf);
	return s->path || !s->kept;
}

/* Opens the store that is kept, or begins to build one. */
static enum spur_status store_begin(struct session *s, bool keep)
{
	struct pass_env *const env = s->env;
	unsigned workers;
	int error;

	if (!store_place(s, keep))
		return err_nomem(env->err);
	if (s->kept && cache_open_file(&s->opened, s->path, s->identity.buf) == SPUR_OK) {
		s->view.store = s->opened;
		s->view.kept = true;
		env->was_told = true;
		env->told = store_told(s->opened);
		s->built = true;
		return SPUR_OK;
	}
	workers = s->live ? 1 : pipe_workers(env->trace, &env->pipe);
	if (store_writer_new(&s->writer, env->trace, s->path, workers, env->err) == SPUR_FAIL)
		return SPUR_FAIL;
	s->view.store = store_writer_view(s->writer);
	if (s->live && args_log_new(&s->view.args, env->trace, env->err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!view_tell(&s->view))
		return err_nomem(env->err);
	s->pipe = env->pipe;
	s->pipe.stop = &s->ended;
	error = pthread_create(&s->builder, NULL, build, s);
	if (error)
		return err_set(env->err, SPUR_ERR_IO, "cannot start a thread: %s", strerror(error));
	s->building = true;
	return SPUR_OK;
}

/* --- the browser --- */

/* Opens the address as the user's desktop does, if there is one. */
static void open_browser(const char *url)
{
	static const char *const openers[] = { "/usr/bin/xdg-open", "/usr/local/bin/xdg-open" };
	pid_t pid;

	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
		return;
	for (size_t i = 0; i < sizeof(openers) / sizeof(*openers); i++) {
		char *args[] = { (char *)(uintptr_t)openers[i], (char *)(uintptr_t)url, NULL };

		if (os_access(openers[i], X_OK))
			continue;
		pid = os_fork();
		if (!pid) {
			/* What the browser's programs say would be mixed with what Spur says. */
			const int null = os_open("/dev/null", O_RDWR, 0);

			for (int fd = 0; null >= 0 && fd < 3; fd++)
				os_dup2(null, fd);
			os_execv(args[0], args);
			_exit(127);
		}
		if (pid > 0)
			os_waitpid(pid, NULL, 0);
		return;
	}
}

/* Reads at most STATE_MOST bytes. Returns SPUR_FAIL if the file cannot be read, or has more. */
static enum spur_status read_file(const char *path, struct out *to, struct spur_error *err)
{
	const int fd = os_open(path, O_RDONLY | O_CLOEXEC, 0);
	char buf[4096];
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0 && to->len <= STATE_MOST) {
		n = os_read(fd, buf, sizeof(buf));
		if (n > 0)
			out_bytes(to, buf, (size_t)n);
	}
	if (n < 0)
		err_set(err, SPUR_ERR_IO, "%s: %s", path, strerror(errno));
	else if (n > 0)
		err_set(err, SPUR_ERR_FORMAT, "%s: expected a state of at most %d bytes", path,
			STATE_MOST);
	else if (to->error)
		err_nomem(err);
	if (fd >= 0)
		os_close(fd);
	return n || to->error ? SPUR_FAIL : SPUR_OK;
}

/* Appends the state of the page that a file has, as part of an address. */
static enum spur_status add_state(const char *path, struct out *url, struct spur_error *err)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";
	struct out text;
	enum spur_status st;

	out_to_memory(&text);
	st = read_file(path, &text, err);
	if (st != SPUR_FAIL && (!text.len || text.buf[0] != '{'))
		st = err_set(err, SPUR_ERR_USAGE,
			     "--state: expected a file that the page saved, found %s", path);
	out_char(url, '&');
	for (size_t i = 0; st != SPUR_FAIL && i < text.len; i++) {
		const unsigned char c = (unsigned char)text.buf[i];

		if (c && strchr(plain, c))
			out_char(url, (char)c);
		else
			out_printf(url, "%%%02X", c);
	}
	out_free(&text);
	return st;
}

/* --- all of it --- */

static bool idle(const struct session *s, int64_t most)
{
	struct timespec now;

	os_clock_gettime(CLOCK_MONOTONIC, &now);
	return most && now.tv_sec - view_server_last(s->server) > most / 1000000000;
}

/* Writes the address at once and opens it. Returns false if it cannot be written. */
static bool tell_address(const struct session *s, const char *url, const struct view_options *o)
{
	struct out *const out = s->env->out;

	out_str(out, url);
	out_char(out, '\n');
	/* What failed is told when the output is closed. */
	if (!out_flush(out))
		return false;
	if (!o->no_open)
		open_browser(url);
	return true;
}

static enum spur_status session_run(struct session *s, const struct view_options *o)
{
	const struct view_server_options so = { .port = (uint16_t)o->port, .threads = THREADS };
	const struct timespec wait = { .tv_nsec = LOOK_MS * 1000000L };
	struct spur_error *const err = s->env->err;
	struct out url;
	enum spur_status st = view_server_start(&s->server, &s->view, &so, err);

	out_to_memory(&url);
	if (st != SPUR_FAIL) {
		out_str(&url, view_server_url(s->server));
		if (o->state)
			st = add_state(o->state, &url, err);
		out_char(&url, 0);
		if (url.error)
			st = err_nomem(err);
	}
	if (st != SPUR_FAIL && tell_address(s, url.buf, o))
		while (!stopped(s) && !idle(s, o->idle)) {
			os_nanosleep(&wait, NULL);
			if (!__atomic_load_n(&s->built, __ATOMIC_ACQUIRE))
				__atomic_add_fetch(&s->view.generation, 1, __ATOMIC_RELEASE);
		}
	out_free(&url);
	return st;
}

static enum spur_status serve(struct view *v, struct pass_env *env, void *self)
{
	struct session *const s = (struct session *)((char *)v - offsetof(struct session, view));
	const enum spur_status st = session_run(s, self);

	(void)env;
	view_server_stop(s->server);
	return st;
}

enum spur_status view_serve(struct pass_env *env, const struct view_options *o)
{
	return view_with_store(env, o, serve, (void *)(uintptr_t)o);
}

enum spur_status view_with_store(struct pass_env *env, const struct view_options *o, view_run run,
				 void *self)
{
	struct session *const s = mem_alloc(sizeof(*s));
	enum spur_status st = s ? SPUR_OK : err_nomem(env->err);

	if (!s)
		return st;
	s->env = env;
	arena_init(&s->arena);
	s->view.trace = env->trace;
	s->view.name = o->name;
	s->view.path = o->path;
	s->view.stop = env->pipe.stop;
	s->view.growing = pipe_is_live(env->trace);
	s->live = env->trace->live || env->trace->options.follow;
	pthread_mutex_init(&s->view.reading, NULL);
	pthread_mutex_init(&s->view.finding, NULL);
	if (trace_start(env->trace, &s->view.zero) == SPUR_FAIL)
		st = err_nomem(env->err);
	if (st != SPUR_FAIL)
		st = store_begin(s, !o->no_cache);
	if (st != SPUR_FAIL)
		st = run(&s->view, env, self);
	__atomic_store_n(&s->ended, 1, __ATOMIC_RELAXED);
	/* A reader that waits for more of the trace ends as by Ctrl-C. */
	if (s->building && s->view.growing && !stopped(s) &&
	    !__atomic_load_n(&s->built, __ATOMIC_ACQUIRE))
		os_kill(os_getpid(), SIGINT);
	if (s->building)
		pthread_join(s->builder, NULL);
	if (st != SPUR_FAIL && s->err.code) {
		*env->err = s->err;
		st = SPUR_FAIL;
	}
	args_log_free(s->view.args);
	view_told_free(&s->view);
	store_writer_free(s->writer);
	store_close(s->opened);
	out_free(&s->identity);
	arena_free(&s->arena);
	view_found_free(&s->view);
	pthread_mutex_destroy(&s->view.reading);
	pthread_mutex_destroy(&s->view.finding);
	mem_free(s);
	return st;
}
