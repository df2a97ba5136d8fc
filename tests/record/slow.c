/*
 * Calls of which some are slow: `slow ROUNDS EVERY` makes ROUNDS calls of `work` in each of two
 * threads; each EVERYth one of the first thread sleeps for 50 ms.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

static int every;

KEEP int leaf(int n)
{
	__asm__ volatile("");
	return n + 1;
}

KEEP int work(int n)
{
	int sum = 0;

	for (int i = 0; i < 10; i++)
		sum += leaf(n + i);
	if (every && n && n % every == 0)
		usleep(50000);
	return sum;
}

KEEP int other(int n)
{
	int sum = 0;

	for (int i = 0; i < 10; i++)
		sum += leaf(n + i);
	return sum;
}

static void *others(void *arg)
{
	const int n = *(const int *)arg;

	for (int i = 1; i <= n; i++)
		other(i);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	pthread_t thread;

	every = argc > 2 ? atoi(argv[2]) : 0;
	if (pthread_create(&thread, NULL, others, &n))
		return 1;
	for (int i = 1; i <= n; i++)
		work(i);
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
