/*
 * A program that does unusual things while it is recorded: attach_odd MODE [later]. It calls a
 * function all the time, on one thread, until SIGTERM. What SIGUSR1 does depends on the mode.
 * `later`: nothing can be called in it at first, and it becomes another program after a second.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop, now;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void on_usr1(int sig)
{
	(void)sig;
	now = 1;
}

__attribute__((noinline)) long hot(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

/* A thread that waits for a child most of the time, and cannot be stopped meanwhile. */
static void *wait_often(void *arg)
{
	while (!stop) {
		if (vfork() == 0) {
			usleep(500000);
			_exit(0);
		}
		wait(NULL);
		usleep(2000);
	}
	return arg;
}

static void filter(void)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_fprog p = { 1, allow };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

/* No function can be called in a thread that blocks SIGTRAP, until it runs another program. */
static void become(const char *program, const char *mode)
{
	struct timespec t = { 1, 0 };
	sigset_t trap;

	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	sigprocmask(SIG_BLOCK, &trap, NULL);
	write(STDOUT_FILENO, "\n", 1);
	while (nanosleep(&t, &t) != 0)
		;
	execl(program, program, mode, (char *)NULL);
}

int main(int argc, char **argv)
{
	const char *const mode = argc > 1 ? argv[1] : "";
	pthread_t thread;
	sigset_t none;
	long sum = 0;

	if (argc > 2)
		become(argv[0], mode);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGTERM, on_term);
	signal(SIGUSR1, on_usr1);
	if (strcmp(mode, "waits") == 0) {
		pthread_create(&thread, NULL, wait_often, NULL);
		while (!stop)
			usleep(1000);
		pthread_join(thread, NULL);
		return 0;
	}
	while (!stop) {
		for (long i = 0; i < 1000; i++) {
			sum += hot(i) - i;
			if (strcmp(mode, "allocate") == 0)
				free(malloc((size_t)hot(i)));
		}
		if (!now)
			continue;
		now = 0;
		if (strcmp(mode, "filter") == 0)
			filter();
		else if (strcmp(mode, "exec") == 0)
			execlp("sleep", "sleep", "60", (char *)NULL);
		else if (strcmp(mode, "vfork") == 0 && vfork() == 0) {
			sleep(1);
			_exit(0);
		}
	}
	return sum % 1000 != 0;
}
