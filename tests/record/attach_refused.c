/*
 * A process that cannot be attached to, or ends: attach_refused MODE. Writes its number, or that of
 * the process meant, to standard output, and ends with its input.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(long pid)
{
	printf("%ld\n", pid);
	fclose(stdout);
}

static void wait_for_end(void)
{
	char c;

	while (read(0, &c, 1) > 0)
		;
}

/* Allows everything, but the recorder cannot know that. */
static void filter(void)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_fprog p = { 1, allow };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		_exit(77);
}

static void *thread(void *arg)
{
	say(syscall(SYS_gettid));
	pause();
	return arg;
}

/* The child's tracer is the parent. */
static void traced(int mode)
{
	int status;
	const pid_t child = fork();

	if (child == 0) {
		if (mode == 'z')
			_exit(0);
		pause();
	}
	if (mode == 'z') {
		siginfo_t info;

		waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	} else if (mode == 's') {
		kill(child, SIGSTOP);
		waitpid(child, &status, WUNTRACED);
	} else if (ptrace(PTRACE_SEIZE, child, 0, 0)) {
		_exit(77);
	}
	say(child);
	wait_for_end();
	kill(child, SIGKILL);
	kill(child, SIGCONT);
	waitpid(child, &status, 0);
}

int main(int argc, char **argv)
{
	const char *const mode = argc > 1 ? argv[1] : "";
	pthread_t t;

	if (strcmp(mode, "traced") == 0 || strcmp(mode, "zombie") == 0 ||
	    strcmp(mode, "stopped") == 0) {
		traced(*mode);
		return 0;
	}
	if (strcmp(mode, "filter") == 0)
		filter();
	if (strcmp(mode, "thread") == 0) {
		pthread_create(&t, NULL, thread, NULL);
		wait_for_end();
		return 0;
	}
	say(getpid());
	if (strcmp(mode, "short") == 0)
		sleep(1);
	else
		wait_for_end();
	return 0;
}
