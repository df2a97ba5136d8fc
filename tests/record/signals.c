/*
 * A handler in the middle of nested calls, a thread that ends by pthread_exit, another that is
 * cancelled.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static volatile int seen;

static void handler_leaf(int s)
{
	seen += s;
}

static void handler(int s)
{
	handler_leaf(s);
}

static void inner(void)
{
	raise(SIGUSR1);
}

static void outer(void)
{
	inner();
	inner();
}

static void leave(void)
{
	pthread_exit(NULL);
}

static void *leaver(void *arg)
{
	leave();
	return arg;
}

static void *sleeper(void *arg)
{
	pause();
	return arg;
}

int main(void)
{
	pthread_t a, b;

	signal(SIGUSR1, handler);
	outer();
	pthread_create(&a, NULL, leaver, NULL);
	pthread_join(a, NULL);
	pthread_create(&b, NULL, sleeper, NULL);
	pthread_cancel(b);
	pthread_join(b, NULL);
	return 0;
}
