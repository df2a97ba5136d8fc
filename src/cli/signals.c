/* See signals.h. */
#include "cli/signals.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"

volatile int signals_stop;
static const char *volatile temp_path;

static void on_interrupt(int sig)
{
	const char *path = temp_path;

	if (!signals_stop) {
		signals_stop = SIGNALS_INTERRUPT;
		return;
	}
	if (path)
		unlink(path);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void on_bus(int sig)
{
	static const char text[] =
		"spur: reading: expected the file to stay as it was, found that it shrank\n";
	const char *path = temp_path;

	(void)sig;
	if (path)
		unlink(path);
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(EXIT_IO);
	_exit(EXIT_IO);
}

void signals_install(void)
{
	struct sigaction interrupt = { .sa_handler = on_interrupt };
	struct sigaction bus = { .sa_handler = on_bus };
	struct sigaction quiet = { .sa_handler = SIG_IGN };
	struct sigaction now;

	/* A background job of a shell has SIGINT ignored: leave it so. */
	if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
		sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGBUS, &bus, NULL);
	sigaction(SIGPIPE, &quiet, NULL);
}

void signals_remove(const char *path)
{
	temp_path = path;
}
