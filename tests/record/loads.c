/*
 * Threads load one library at the same time, call a function of it and unload it: loads LIBRARY.
 * Prints how many calls there were.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 6, ROUNDS = 20, CALLS = 50 };

static pthread_barrier_t all;
static const char *library;

static void *load(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *module;
		long (*plug)(long);

		pthread_barrier_wait(&all);
		module = dlopen(library, RTLD_NOW);
		plug = module ? (long (*)(long))dlsym(module, "plug") : NULL;
		if (!plug)
			abort();
		for (long k = 0; k < CALLS; k++)
			plug(k);
		pthread_barrier_wait(&all);
		dlclose(module);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	(void)argc;
	library = argv[1];
	pthread_barrier_init(&all, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, load, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", THREADS * ROUNDS * CALLS);
	return 0;
}
