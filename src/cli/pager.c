/* See pager.h. */
#include "cli/pager.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/os.h"
#include "cli/report_diag.h"
#include "cli/signals.h"

static const char less[] = "less";

/* Returns true if the program is in a directory of $PATH. */
static bool in_path(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];

	assert(*name && !strchr(name, '/'));
	while (path && *path) {
		const size_t n = strcspn(path, ":");

		if (n && n + strlen(name) + 2 < sizeof(file)) {
			memcpy(file, path, n);
			file[n] = '/';
			strcpy(file + n + 1, name);
			if (os_access(file, X_OK) == 0)
				return true;
		}
		path += n + (path[n] == ':');
	}
	return false;
}

/* Returns false if the command begins with the name of a program that is not in $PATH. */
static bool can_begin(const char *command)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
	const size_t n = strspn(command, plain);
	char name[256];

	/* The shell interprets all other commands. */
	if (!n || n >= sizeof(name) || (command[n] && command[n] != ' '))
		return true;
	memcpy(name, command, n);
	name[n] = '\0';
	return in_path(name);
}

/* Returns the command that pages, or NULL if output is not paged. */
static const char *pager_command(void)
{
	const char *command = getenv("SPUR_PAGER"), *term = getenv("TERM");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = !(term && strcmp(term, "dumb") == 0) && in_path(less) ? less : "";
	if (!*command || strcmp(command, "cat") == 0)
		return NULL;
	if (!can_begin(command)) {
		say("warning: pager \"%s\": not found: the output is not paged", command);
		return NULL;
	}
	return command;
}

/* Runs in the child process. The pager starts when there is output to show. */
static _Noreturn void pager_exec(const char *command, const int *ends)
{
	char *const args[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char *)(uintptr_t)command,
			       NULL };
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	assert(*command && ends[1] != STDIN_FILENO);
	/* The pipe took the place of standard input if that was closed. */
	if (ends[0] == STDIN_FILENO) {
		os_fcntl(STDIN_FILENO, F_SETFD, 0);
	} else {
		os_dup2(ends[0], STDIN_FILENO);
		os_close(ends[0]);
	}
	os_close(ends[1]);
	signal(SIGPIPE, SIG_DFL);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	while (os_poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	os_execv("/bin/sh", args);
	_exit(127);
}

void pager_begin(const struct values *v)
{
	const bool never = v->no_pager || v->output || v->open.follow || !os_isatty(STDOUT_FILENO);
	const char *command = never ? NULL : pager_command();
	int ends[2];
	pid_t pid;

	if (!command || os_pipe2(ends, O_CLOEXEC) != 0)
		return;
	pid = os_fork();
	if (pid == 0)
		pager_exec(command, ends);
	if (pid > 0) {
		os_dup2(ends[1], STDOUT_FILENO);
		if (os_isatty(STDERR_FILENO))
			os_dup2(ends[1], STDERR_FILENO);
		signals_pager(pid);
	}
	os_close(ends[0]);
	os_close(ends[1]);
}

void pager_end(void)
{
	signals_wait_pager();
}
