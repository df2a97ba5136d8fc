/* Many short calls from several threads. */
#include <pthread.h>
#include <stdlib.h>

static int turns;

__attribute__((noinline)) static int tick(int x)
{
	__asm__ volatile("");
	return x + 1;
}

__attribute__((noinline)) static int step(int x)
{
	return tick(x) + tick(x);
}

static void *spin(void *arg)
{
	for (int i = 0; i < turns; i++)
		step(i);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[3];

	turns = argc > 1 ? atoi(argv[1]) : 100;
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, spin, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
