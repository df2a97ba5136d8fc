/*
 * Children that no handler of fork() knows of, made by clone() and by the system's fork(), as
 * _Fork() does: each has a recording of its own, and stores nothing into that of its parent, which
 * goes on meanwhile. Children that share the parent's memory are threads to the library.
 *
 * orphans DIR WAY EVENTS: two threads and the child record as many each.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spur_trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long events;
static volatile int go, over;

static void record(const char *who)
{
	for (long i = 1; i <= events; i++)
		SPUR_TRACE_INSTANT("orphans", "event", (TEXT, "who", who), (I64, "i", i));
}

static void *beside(void *p)
{
	(void)p;
	for (long i = 1; i <= events; i++) {
		SPUR_TRACE_INSTANT("orphans", "event", (TEXT, "who", "beside"), (I64, "i", i));
		if (i == events / 2)
			for (go = 1; !over;)
				usleep(100);
	}
	return NULL;
}

static int body(void *who)
{
	record(who);
	_exit(0);
}

/* A child that does with the library what needs the lock, before and between its events. */
static void busy(void)
{
	spur_trace_thread_name("orphan");
	record("child");
	spur_trace_stop();
	SPUR_TRACE_INSTANT("orphans", "event", (TEXT, "who", "stopped"), (I64, "i", 1));
	_exit(0);
}

static pid_t child_make(const char *way)
{
	static char stack[1 << 16] __attribute__((aligned(16)));
	if (!strcmp(way, "fork"))
		return fork();
	if (!strcmp(way, "bare"))
		return (pid_t)syscall(SYS_fork);
	if (!strcmp(way, "shared"))
		return clone(body, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, "child");
	if (!strcmp(way, "own"))
		return clone(body, stack + sizeof(stack), SIGCHLD, "child");
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

int main(int argc, char **argv)
{
	int status = 1;
	pthread_t t;
	pid_t pid;

	if (argc != 4 || spur_trace_start(argv[1]))
		return 2;
	events = atol(argv[3]);
	if (pthread_create(&t, NULL, beside, NULL))
		return 2;
	while (!go)
		usleep(100);
	SPUR_TRACE_BEGIN("orphans", "parent");
	pid = child_make(argv[2]);
	if (!pid && !strcmp(argv[2], "busy"))
		busy();
	if (!pid && !strcmp(argv[2], "exits")) {
		record("child");
		exit(0);
	}
	if (!pid)
		body("child");
	over = 1;
	record("parent");
	SPUR_TRACE_END();
	pthread_join(t, NULL);
	return waitpid(pid, &status, 0) != pid || status;
}
