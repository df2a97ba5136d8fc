/* Calls of a known number: `many THREADS N` calls leaf() N times in each of the threads, which run at once. */
#include <pthread.h>
#include <stdlib.h>

enum { THREADS_MOST = 4096 };

static pthread_barrier_t together;
static long calls;

__attribute__((noinline)) static void leaf(long i)
{
	__asm__ volatile("" : : "r"(i));
}

static void *work(void *arg)
{
	pthread_barrier_wait(&together);
	for (long i = 0; i < calls; i++)
		leaf(i);
	pthread_barrier_wait(&together);
	return arg;
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS_MOST];
	const long n = argc > 1 ? atol(argv[1]) : 1;

	calls = argc > 2 ? atol(argv[2]) : 1;
	if (n < 1 || n > THREADS_MOST || pthread_barrier_init(&together, NULL, (unsigned)n))
		return 2;
	for (long i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
