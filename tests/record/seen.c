/*
 * A program that knows what the kernel sees of it: `seen naps` sleeps 40 times in `between` and
 * prints its own count of switches there; `seen touch` touches 1,000 new pages; `seen spin` takes
 * CPU time and memory. Each prints what it counted itself.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

enum { PAGE = 4096, PAGES = 1000, NAPS = 40, MEMORY = 48 << 20, CPU_MS = 150 };

static struct rusage usage(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return u;
}

KEEP void between(void)
{
	const struct timespec nap = { 0, 1000000 };

	for (int i = 0; i < NAPS; i++)
		nanosleep(&nap, NULL);
}

KEEP void touch(volatile char *p)
{
	for (int i = 0; i < PAGES; i++)
		p[(size_t)i * PAGE] = 1;
}

KEEP void spin(void)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < CPU_MS);
}

static void *napper(void *arg)
{
	const struct rusage before = usage(RUSAGE_THREAD);
	struct rusage after;

	between();
	after = usage(RUSAGE_THREAD);
	printf("%ld\n", after.ru_nvcsw - before.ru_nvcsw);
	return arg;
}

int main(int argc, char **argv)
{
	const char *const what = argc > 1 ? argv[1] : "";
	pthread_t thread;

	if (strcmp(what, "naps") == 0) {
		napper(NULL);
		fflush(stdout);
		pthread_create(&thread, NULL, napper, NULL);
		pthread_join(thread, NULL);
	} else if (strcmp(what, "touch") == 0) {
		char *const p = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		madvise(p, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
		touch(p);
		printf("%llu %llu\n", (unsigned long long)(size_t)p,
		       (unsigned long long)(size_t)p + (size_t)PAGES * PAGE);
	} else {
		char *const p = malloc(MEMORY);
		struct rusage u;

		memset(p, 1, MEMORY);
		spin();
		u = usage(RUSAGE_SELF);
		printf("%ld %ld %ld\n", u.ru_maxrss,
		       (long)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
			       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000,
		       u.ru_minflt);
		free(p);
	}
	return 0;
}
