/* See watch.h. */
#include "cli/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/signals.h"

static void *watch_output(void *arg)
{
	struct pollfd p = { .fd = STDOUT_FILENO };
	int stop = 0;

	(void)arg;
	/* Without events only the end of the reader, or an error, is reported. */
	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	/* An interrupt that came first is what ended the program. */
	__atomic_compare_exchange_n(&signals_stop, &stop, SIGNALS_READER_LEFT, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return NULL;
}

void watch_begin(struct watch *w)
{
	sigset_t all, old;
	struct stat st;

	*w = (struct watch){ .runs = false };
	if (fstat(STDOUT_FILENO, &st) != 0 || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return;
	/* Signals are for the thread that waits for input. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	w->runs = pthread_create(&w->thread, NULL, watch_output, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void watch_end(struct watch *w)
{
	if (!w->runs)
		return;
	pthread_cancel(w->thread);
	pthread_join(w->thread, NULL);
	w->runs = false;
}
