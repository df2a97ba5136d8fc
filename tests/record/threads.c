/* Two threads that call, sleep and are preempted; arguments of some kinds. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum color { RED, GREEN = 5, BLUE = 9 };

volatile int sink;

__attribute__((noinline)) int leaf(int n)
{
	sink += n;
	return n;
}

__attribute__((noinline)) int fib(int n)
{
	return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) void nap(int us)
{
	struct timespec t = { 0, us * 1000 };

	nanosleep(&t, NULL);
}

__attribute__((noinline)) int spin(int n)
{
	for (volatile int i = 0; i < n * 1000; i++)
		;
	return leaf(n);
}

__attribute__((noinline)) int greet(const char *name, enum color c)
{
	char b[64];

	return snprintf(b, sizeof(b), "%s-%d", name, c);
}

__attribute__((noinline)) void *worker(void *arg)
{
	int n = (int)(long)arg;

	for (int i = 0; i < 2; i++) {
		spin(n * 10);
		nap(200 * n);
		fib(2);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[2];

	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, worker, (void *)(i + 1));
	greet("alice", RED);
	fib(3);
	greet("bob", BLUE);
	spin(2000);
	greet("alice", GREEN);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
