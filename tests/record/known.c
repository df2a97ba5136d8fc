/*
 * Calls of a known number and nesting, for recordings of functions: `known N` makes N rounds in
 * each of two threads, `known fork` makes a round in a child process too.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

struct point {
	int x;
	double y;
};

KEEP int leaf(int n)
{
	__asm__ volatile("");
	return n + 1;
}

KEEP int twice(int n)
{
	const int first = leaf(n);

	return first + leaf(n + 1);
}

KEEP double scale(struct point p, const char *name, double by)
{
	__asm__ volatile("");
	return (p.x + p.y + (double)strlen(name)) * by;
}

KEEP void nap(void)
{
	usleep(20000);
}

KEEP int deep(int n)
{
	return n ? deep(n - 1) + leaf(n) : 0;
}

KEEP void round_of(int n)
{
	const struct point p = { n, 0.5 };

	if (twice(n) != 2 * n + 3 || (int)scale(p, "abc", 2) != 2 * n + 7 || deep(5) != 20)
		abort();
}

KEEP void *rounds(void *arg)
{
	const int n = *(const int *)arg;

	for (int i = 0; i < n; i++)
		round_of(i);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread;

	if (argc > 1 && strcmp(argv[1], "fork") == 0) {
		const pid_t child = fork();

		round_of(1);
		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
		return 0;
	}
	pthread_create(&thread, NULL, rounds, &n);
	rounds(&n);
	pthread_join(thread, NULL);
	nap();
	puts("done");
	return 4;
}
