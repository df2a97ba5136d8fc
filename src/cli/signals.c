/* See signals.h. */
#include "cli/signals.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/os.h"
#include "cli/cmd.h"

volatile int signals_stop;
static volatile sig_atomic_t deferred, colored, ended;
static volatile pid_t pager; /* 0: none */
static int left_pipe = -1; /* a pipe without a reader */
static const char *volatile temp_paths[2]; /* NULL: a free place */

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

enum { ENDING = sizeof(ending) / sizeof(ending[0]) };
enum { REPEAT = 1 }; /* seconds in which signals after the first one count as that one */

/* Writes a message; errors cannot be handled here. */
static void write_text(int fd, const char *text)
{
	if (os_write(fd, text, strlen(text)) < 0)
		return;
}

/* Removes the files that are incomplete. Async-signal-safe. */
static void temp_remove(void)
{
	for (size_t i = 0; i < sizeof(temp_paths) / sizeof(temp_paths[0]); i++) {
		const char *path = temp_paths[i];

		if (path)
			os_unlink(path);
	}
}

/*
 * Ends the input of the pager; writes by other threads then fail with EPIPE, as they do if the user
 * leaves the pager. Async-signal-safe.
 */
static void pager_wait(void)
{
	assert(pager > 0);
	if (left_pipe >= 0) {
		os_dup2(left_pipe, STDOUT_FILENO);
		os_dup2(left_pipe, STDERR_FILENO);
	}
	while (os_waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Seconds since an unknown moment. Async-signal-safe. */
static double now_seconds(void)
{
	struct timespec now = { 0 };

	os_clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void on_interrupt(int sig)
{
	static volatile double first;

	(void)sig;
	if (deferred && !signals_stop) {
		first = now_seconds();
		signals_stop = SIGNALS_INTERRUPT;
		return;
	}
	/* timeout(1) sends each signal twice, to the process and to its group. */
	if (deferred && signals_stop == SIGNALS_INTERRUPT && now_seconds() - first < REPEAT)
		return;
	temp_remove();
	if (colored)
		write_text(STDOUT_FILENO, "\033[0m");
	write_text(STDERR_FILENO, "spur: interrupted\n");
	ended = 1;
	if (pager)
		pager_wait();
	_exit(EXIT_INTERRUPTED);
}

static void on_bus(int sig)
{
	static const char text[] =
		"spur: reading: expected the file to stay as it was, found that it shrank\n";

	(void)sig;
	temp_remove();
	write_text(STDERR_FILENO, text);
	_exit(EXIT_IO);
}

/* What signals_install() found. */
static struct sigaction pipe_before, size_before;

void signals_install(void)
{
	struct sigaction interrupt = { .sa_handler = on_interrupt };
	struct sigaction bus = { .sa_handler = on_bus };
	struct sigaction quiet = { .sa_handler = SIG_IGN };
	struct sigaction now;

	for (size_t i = 0; i < ENDING; i++)
		if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaction(ending[i], &interrupt, NULL);
	sigaction(SIGBUS, &bus, NULL);
	sigaction(SIGPIPE, &quiet, &pipe_before);
	/* A file that reaches the limit of ulimit -f is an error of writing like any other. */
	sigaction(SIGXFSZ, &quiet, &size_before);
}

void signals_restore(void)
{
	sigaction(SIGPIPE, &pipe_before, NULL);
	sigaction(SIGXFSZ, &size_before, NULL);
}

void signals_remove(const char *path)
{
	/* INVARIANT: at most two files are incomplete: an output and the file beside it. */
	assert(path && (!temp_paths[0] || !temp_paths[1]));
	temp_paths[temp_paths[0] ? 1 : 0] = path;
}

void signals_keep(const char *path)
{
	for (size_t i = 0; i < sizeof(temp_paths) / sizeof(temp_paths[0]); i++)
		if (temp_paths[i] == path)
			temp_paths[i] = NULL;
}

void signals_pager(pid_t pid)
{
	int ends[2];

	assert(!pager && pid > 0);
	if (os_pipe2(ends, O_CLOEXEC) == 0) {
		os_close(ends[0]);
		left_pipe = ends[1];
	}
	pager = pid;
}

void signals_wait_pager(void)
{
	if (!pager)
		return;
	pager_wait();
	while (ended)
		pause();
}

void signals_defer(void)
{
	deferred = 1;
}

void signals_reset_color(void)
{
	colored = 1;
}

static void mask_ending(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ENDING; i++)
		sigaddset(&set, ending[i]);
	pthread_sigmask(how, &set, NULL);
}

void signals_hold(void)
{
	mask_ending(SIG_BLOCK);
}

void signals_release(void)
{
	mask_ending(SIG_UNBLOCK);
}
