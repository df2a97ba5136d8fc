/*
 * A signal comes while its thread is in the library, where it waits for the lock that another
 * thread has: includes the whole library, to keep the lock for that long. The handler runs when the
 * thread has got it and given it back, and forks; with the argument "refused" the system lets no
 * one block signals, so that it runs and forks at once, in the middle of the library. The child
 * goes on from there, and then starts a recording of its own if none is under way.
 */
#include "spur_trace.c"

#include <linux/filter.h>
#include <linux/seccomp.h>
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
		const bool is_on = spur_trace_is_on();

		SPUR_TRACE_INSTANT("app", "at once");
		if (spur_trace_start("child.spur") != (is_on ? EALREADY : 0))
			_exit(2);
		SPUR_TRACE_INSTANT("app", "again");
		spur_trace_stop();
		_exit(0);
	}
	SPUR_TRACE_INSTANT("app", "behind");
	return arg;
}

static void signals_refuse(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
}

int main(int argc, char **argv)
{
	int status = 0;
	pthread_t t;

	if (argc > 1 && strcmp(argv[1], "refused") == 0)
		signals_refuse();

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
