/*
 * Switches its recording off and on by signals, as another process would, and says which events
 * there must be. switched SIGNAL
 */
#define _GNU_SOURCE
#include <spur_trace.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void on_signal(int signo)
{
	(void)signo;
	handled++;
}

/* Runs before the library starts, so that its handler goes on with this one. */
static void early(void)
{
	signal(SIGUSR2, on_signal);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = early;

static void events(const char *part, int n)
{
	for (int i = 0; i < n; i++)
		SPUR_TRACE_INSTANT("app", "event", (TEXT, "part", part), (I64, "i", i));
}

int main(int argc, char **argv)
{
	const int signo = argc > 1 ? atoi(argv[1]) : SIGUSR2;

	events("first", 3);
	kill(getpid(), signo);
	events("off", 1000);
	kill(getpid(), signo);
	events("second", 2);
	kill(getpid(), signo);
	kill(getpid(), signo);
	events("third", 1);
	printf("handled %d\n", (int)handled);
	return 0;
}
