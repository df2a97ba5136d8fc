/* See watch.h. */
#include "cli/watch.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>

#include "base/os.h"
#include "cli/signals.h"

static void *watch_output(void *arg)
{
	const struct watch *w = arg;
	struct pollfd p[] = { { .fd = STDOUT_FILENO }, { .fd = w->wake[0], .events = POLLIN } };
	int stop = 0;

	/* With no events requested, poll() reports only that the reader has closed, or an error. */
	while (os_poll(p, 2, -1) < 0 && errno == EINTR)
		;
	assert(p[0].revents || p[1].revents);
	if (!p[0].revents)
		return NULL;
	/* An earlier interrupt remains the reason. */
	__atomic_compare_exchange_n(&signals_stop, &stop, SIGNALS_READER_LEFT, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return NULL;
}

static void watch_close(struct watch *w)
{
	assert(w->wake[0] != w->wake[1]);
	os_close(w->wake[0]);
	os_close(w->wake[1]);
}

void watch_begin(struct watch *w)
{
	sigset_t all, old;
	struct stat st;

	assert(!w->runs);
	*w = (struct watch){ .runs = false };
	if (os_fstat(STDOUT_FILENO, &st) != 0 || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return;
	if (os_pipe2(w->wake, O_CLOEXEC) != 0)
		return;
	/* The thread that waits for input must get the signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	w->runs = pthread_create(&w->thread, NULL, watch_output, w) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!w->runs)
		watch_close(w);
}

void watch_end(struct watch *w)
{
	if (!w->runs)
		return;
	/* One byte wakes the thread; the empty pipe has room for it. */
	while (os_write(w->wake[1], "", 1) < 0 && errno == EINTR)
		;
	pthread_join(w->thread, NULL);
	watch_close(w);
	w->runs = false;
}
