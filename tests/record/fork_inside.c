/*
 * A signal comes while its thread is in the library, where it waits for the lock that another
 * thread has: includes the whole library, to keep the lock for that long. The handler runs when the
 * thread has got it and given it back, and forks in the middle of the point. The child goes on from
 * there, and starts a recording of its own.
 */
#include "spur_trace.c"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static volatile bool waits, is_child;
static volatile pid_t child;

static void handler(int signo)
{
	const pid_t pid = fork();

	(void)signo;
	if (pid)
		child = pid;
	else
		is_child = true;
}

static void *record(void *arg)
{
	waits = true;
	SPUR_TRACE_SPAN("app", "inside", (I64, "child", is_child));
	if (is_child) {
		SPUR_TRACE_INSTANT("app", "not recorded");
		if (spur_trace_start("child.spur"))
			_exit(2);
		SPUR_TRACE_INSTANT("app", "again");
		spur_trace_stop();
		_exit(0);
	}
	SPUR_TRACE_INSTANT("app", "behind");
	return arg;
}

int main(void)
{
	int status = 0;
	pthread_t t;

	signal(SIGUSR1, handler);
	record(NULL);
	waits = false;
	core_lock();
	if (pthread_create(&t, NULL, record, NULL))
		abort();
	while (!waits)
		usleep(1000);
	usleep(100000);
	pthread_kill(t, SIGUSR1);
	usleep(100000);
	printf("the handler %s\n", child ? "has run" : "waits");
	core_unlock();
	pthread_join(t, NULL);
	waitpid(child, &status, 0);
	printf("the child ends with %d\n", WEXITSTATUS(status));
	return 0;
}
