/* Runs the program and waits for its end. See recorder.h. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/os.h"
#include "recorder/recorder.h"

/* --- signals --- */

/*
 * Signals that end a program unless it handles them. From a terminal they reach the recorded
 * program too, so the recorder waits for its end; those from another process are passed on to it.
 */
static const int passed[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

enum { PASSED = sizeof(passed) / sizeof(passed[0]), LATE = 1000 };

static volatile pid_t child; /* 0: not started */
static volatile sig_atomic_t held_back; /* the signal came before there was a child */
static int wake[2] = { -1, -1 }; /* a pipe: a byte for each SIGCHLD */

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const int error = errno;

	(void)context;
	if (child && (info->si_code <= 0 || held_back))
		os_kill(child, sig);
	errno = error;
}

static void on_child(int sig)
{
	const int error = errno;

	(void)sig;
	if (os_write(wake[1], "", 1) < 0)
		errno = error;
	errno = error;
}

struct dispositions {
	struct sigaction passed[PASSED], child;
	sigset_t mask;
};

/* What comes before the program has a process is held back: nothing could be passed on to it. */
static void signals_take(struct dispositions *before)
{
	struct sigaction pass = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction end = { .sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP };
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < PASSED; i++)
		sigaddset(&held, passed[i]);
	pthread_sigmask(SIG_BLOCK, &held, &before->mask);
	for (size_t i = 0; i < PASSED; i++)
		if (sigaction(passed[i], NULL, &before->passed[i]) == 0 &&
		    before->passed[i].sa_handler != SIG_IGN)
			sigaction(passed[i], &pass, NULL);
	sigaction(SIGCHLD, &end, &before->child);
}

static void signals_give_back(const struct dispositions *before)
{
	for (size_t i = 0; i < PASSED; i++)
		sigaction(passed[i], &before->passed[i], NULL);
	sigaction(SIGCHLD, &before->child, NULL);
	pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
}

/* --- the program --- */

/* How much is kept is decided when the library begins, before it can ask. */
static bool set_mode(const struct record_settings *s)
{
	char size[24];

	unsetenv("SPUR_TRACE_MODE");
	unsetenv("SPUR_TRACE_SIZE");
	if (s->mode == RECORDER_STREAM)
		return true;
	snprintf(size, sizeof(size), "%llu", (unsigned long long)s->ring);
	return setenv("SPUR_TRACE_MODE", s->mode == RECORDER_RING ? "ring" : "oneshot", 1) == 0 &&
	       setenv("SPUR_TRACE_SIZE", size, 1) == 0;
}

/* Sets the variables by which the library finds the recording, see record/wire.h. */
static bool set_variables(const struct recorder_options *o, const struct program *p,
			  const struct session *s, struct arena *a)
{
	const char *const others = getenv("LD_PRELOAD"), *const first = p->binary.runtime;
	const char *const libraries =
		!p->library ? NULL
			    : arena_printf(a, "%s%s%s%s%s", first ? first : "", first ? ":" : "",
					   p->library, others && *others ? ":" : "",
					   others ? others : "");

	if (p->library && (!libraries || setenv("LD_PRELOAD", libraries, 1) != 0))
		return false;
	/* The runtime of XRay would patch the same places. */
	unsetenv("XRAY_OPTIONS");
	return set_mode(&o->settings) && setenv("SPUR_TRACE", s->path, 1) == 0 &&
	       setenv("SPUR_RECORD", s->socket, 1) == 0 &&
	       (!o->categories || setenv("SPUR_TRACE_CATEGORIES", o->categories, 1) == 0);
}

static _Noreturn void become(const struct recorder_options *o, const struct program *p,
			     const struct session *s, int report)
{
	struct arena a;
	int error = ENOMEM;

	arena_init(&a);
	if (set_variables(o, p, s, &a)) {
		os_execv(p->path, (char *const *)(uintptr_t)o->argv);
		error = errno;
	}
	if (os_write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* Observes the process, then lets it become the program. */
static struct kernel *observe(const struct recorder_options *o, const struct session *s,
			      pid_t process, int go)
{
	struct kernel *k = NULL;

	if (kernel_wanted(&o->kernel)) {
		k = kernel_new(&o->kernel, s->path, process, false, o->say);
		if (!k)
			o->say("note: the kernel's events and counters are not recorded: %s",
			       strerror(errno));
	}
	os_close(go);
	return k;
}

/*
 * Starts the program. Returns SPUR_FAIL, with the error set, if that fails. *k: what observes it,
 * if that is wanted; requires kernel_end() in any case.
 */
static enum spur_status start(const struct recorder_options *o, const struct program *p,
			      const struct session *s, const struct dispositions *before,
			      struct kernel **k, struct spur_error *err)
{
	int report[2], go[2], error = 0;
	ssize_t n;

	if (os_pipe2(report, O_CLOEXEC) != 0)
		return err_set(err, SPUR_ERR_IO, "pipe: %s", strerror(errno));
	if (os_pipe2(go, O_CLOEXEC) != 0) {
		error = errno;
		os_close(report[0]);
		os_close(report[1]);
		return err_set(err, SPUR_ERR_IO, "pipe: %s", strerror(error));
	}
	child = os_fork();
	if (child == 0) {
		signals_give_back(before);
		o->restore_signals();
		os_close(go[1]);
		/* Until it is closed. */
		while (os_read(go[0], &error, sizeof(error)) < 0 && errno == EINTR)
			;
		become(o, p, s, report[1]);
	}
	error = errno;
	os_close(report[1]);
	os_close(go[0]);
	if (child < 0) {
		child = 0;
		os_close(report[0]);
		os_close(go[1]);
		return err_set(err, SPUR_ERR_IO, "fork: %s", strerror(error));
	}
	held_back = 1;
	pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
	held_back = 0;
	*k = observe(o, s, child, go[1]);
	/* The pipe is closed when the program begins. */
	while ((n = os_read(report[0], &error, sizeof(error))) < 0 && errno == EINTR)
		;
	os_close(report[0]);
	if (n <= 0)
		return SPUR_OK;
	os_waitpid(child, NULL, 0);
	return err_set(err, SPUR_ERR_IO, "%s: expected a program, found: %s", p->path,
		       strerror(error));
}

static int64_t now_ns(void)
{
	struct timespec t = { 0 };

	os_clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Reads counters for the last time, while the process that has ended still has some. */
static void observe_end(struct kernel *k)
{
	siginfo_t info = { 0 };

	if (k && os_waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_pid == child)
		kernel_look(k);
}

/* CPU time of the processes that have ended and were waited for. */
static int64_t cpu_of(const struct rusage *u)
{
	return ((int64_t)u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000 +
	       ((int64_t)u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

/* Answers until the program has ended, and then what was asked before that. */
static void serve_until_end(struct server *server, struct kernel *k, struct recorder_result *r)
{
	char bytes[64];
	int status = 0;
	pid_t ended;

	for (;;) {
		server_step(server, wake[0], -1);
		while (os_read(wake[0], bytes, sizeof(bytes)) > 0)
			;
		observe_end(k);
		ended = os_waitpid(child, &status, WNOHANG);
		if (ended == child || (ended < 0 && errno != EINTR))
			break;
	}
	r->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	r->code = r->signal ? 128 + r->signal : WEXITSTATUS(status);
	/* Processes that the program left behind may go on asking. */
	for (int i = 0; i < LATE && server_step(server, -1, 0); i++)
		;
}

static enum spur_status run(const struct recorder_options *o, const struct program *p,
			    struct session *s, struct recorder_result *r, struct spur_error *err)
{
	struct server *const server = server_new(o, s->fd);
	struct dispositions before;
	struct rusage usage = { 0 };
	struct kernel *k = NULL;
	enum spur_status st;
	int64_t begin;

	if (!server || os_pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) {
		server_free(server);
		return server ? err_set(err, SPUR_ERR_IO, "pipe: %s", strerror(errno))
			      : err_nomem(err);
	}
	signals_take(&before);
	begin = now_ns();
	st = start(o, p, s, &before, &k, err);
	if (st == SPUR_OK) {
		r->started = true;
		server_observe(server, k);
		serve_until_end(server, k, r);
		r->ns = now_ns() - begin;
		/* The program is the only child. */
		getrusage(RUSAGE_CHILDREN, &usage);
		r->cpu_ns = cpu_of(&usage);
		server_sum(server, r);
	}
	if (k) {
		/* In KiB. */
		server_observe(server, NULL);
		kernel_end(k, (uint64_t)usage.ru_maxrss * 1024);
	}
	child = 0;
	signals_give_back(&before);
	os_close(wake[0]);
	os_close(wake[1]);
	server_free(server);
	return st;
}

enum spur_status recorder_run(const struct recorder_options *o, struct recorder_result *result,
			      struct spur_error *err)
{
	struct session s = { .fd = -1 };
	struct program p;
	enum spur_status st;

	*result = (struct recorder_result){ 0 };
	arena_init(&result->arena);
	arena_init(&s.arena);
	st = program_open(&p, o->argv[0], o->symbol_dirs, err);
	if (st == SPUR_OK)
		st = program_find_library(&p, err);
	if (st == SPUR_OK)
		st = session_open(&s, o, &p, err);
	if (st == SPUR_OK)
		st = session_describe(&s, o, &p, NULL, err);
	if (st == SPUR_OK) {
		program_describe(&p, o);
		st = run(o, &p, &s, result, err);
	}
	if (result->started) {
		session_notes(&s, o);
		result->path = arena_strdup(&result->arena, s.path, strlen(s.path));
		session_describe(&s, o, &p, result, NULL);
	}
	session_close(&s, result->started);
	program_close(&p);
	return st;
}

void recorder_free(struct recorder_result *result)
{
	arena_free(&result->arena);
}
