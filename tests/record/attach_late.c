/*
 * A program of one thread that is left by its recorder at odd moments. Commands on standard input,
 * each answered by a line: "fork MS" starts a child whose own handler of fork() takes so long, before
 * the recorder's is called; "clone" one that no handler is called in; both answer its number and
 * go on until the program ends. "load PATH" opens a library.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long slow_ms;

__attribute__((noinline)) long marked(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t))
		;
}

static void in_child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sleep_ms(slow_ms);
}

static void go_on(void)
{
	for (;;) {
		marked(1);
		sleep_ms(1);
	}
}

int main(void)
{
	char line[4200];

	pthread_atfork(NULL, NULL, in_child);
	while (fgets(line, sizeof(line), stdin)) {
		long child = 0;

		line[strcspn(line, "\n")] = '\0';
		marked(1);
		if (strncmp(line, "fork ", 5) == 0) {
			slow_ms = atol(line + 5);
			child = fork();
			if (!child)
				go_on();
		} else if (strcmp(line, "clone") == 0) {
			child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
			if (!child) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				go_on();
			}
		} else if (strncmp(line, "load ", 5) == 0) {
			child = dlopen(line + 5, RTLD_NOW) != NULL;
		}
		printf("%ld\n", child);
		fflush(stdout);
	}
	return 0;
}
