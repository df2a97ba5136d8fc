/* A timer that interrupts the thread that asks for it, for programs whose handlers record. */
#ifndef SPUR_TESTS_RECORD_INTERRUPT_H
#define SPUR_TESTS_RECORD_INTERRUPT_H

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sends SIGUSR1 to the calling thread every `ns` nanoseconds, below 10^9. */
static void interrupt_every(long ns)
{
	const struct itimerspec every = { { 0, ns }, { 0, ns } };
	struct sigevent event;
	timer_t timer;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = SIGUSR1;
	event._sigev_un._tid = (int)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &every, NULL))
		abort();
}

#endif
