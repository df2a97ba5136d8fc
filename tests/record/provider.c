/*
 * A program that does what its standard input says, one command a line, and answers each with a
 * line: the numbers of its events are consecutive, so that a test knows which of them are recorded.
 *
 *	run N		records N events
 *	other N		records N events of another category, which are numbered on their own
 *	span N		records N spans
 *	spin THREADS	threads record, all of them when it answers, until the next command;
 *			that says how many they were
 *	fork N		a child records N events and ends by _exit()
 *	exec		answers, becomes itself anew, and goes on with the next line
 *	own DIR		starts a recording of its own
 *	end		ends that
 *	on		says whether it records
 */
#include <spur_trace.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS_MOST = 64 };

static unsigned long number, other;
static volatile int spinning;
static volatile unsigned long counts[THREADS_MOST];

static void run(unsigned long n)
{
	while (n--) {
		number++;
		SPUR_TRACE_INSTANT("app", "number", (U64, "n", number));
	}
}

static void run_other(unsigned long n)
{
	while (n--) {
		other++;
		SPUR_TRACE_INSTANT("other", "other", (U64, "n", other));
	}
}

static void run_spans(unsigned long n)
{
	while (n--) {
		SPUR_TRACE_SPAN("app", "span");
	}
}

static void *spin(void *arg)
{
	volatile unsigned long *const count = arg;
	unsigned long n = 0;

	while (spinning) {
		n++;
		SPUR_TRACE_INSTANT("app", "number", (U64, "n", n));
		*count = n;
	}
	return NULL;
}

static pthread_t threads[THREADS_MOST];
static unsigned nthreads;

static void spin_end(void)
{
	unsigned long sum = 0;

	spinning = 0;
	for (unsigned i = 0; i < nthreads; i++) {
		pthread_join(threads[i], NULL);
		sum += counts[i];
	}
	if (nthreads)
		printf("spun %lu\n", sum);
	nthreads = 0;
}

static void spin_begin(unsigned long n)
{
	spinning = 1;
	for (nthreads = 0; nthreads < n && nthreads < THREADS_MOST; nthreads++) {
		counts[nthreads] = 0;
		pthread_create(&threads[nthreads], NULL, spin, (void *)(uintptr_t)&counts[nthreads]);
		while (!counts[nthreads])
			usleep(1000);
	}
}

static void fork_and_run(unsigned long n)
{
	const pid_t child = fork();

	if (child == 0) {
		run(n);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	char line[4200], word[64], text[4096];

	(void)argc;
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long n;

		*text = '\0';
		if (sscanf(line, "%63s %4095s", word, text) < 1)
			continue;
		n = strtoul(text, NULL, 10);
		spin_end();
		if (strcmp(word, "run") == 0)
			run(n);
		else if (strcmp(word, "other") == 0)
			run_other(n);
		else if (strcmp(word, "span") == 0)
			run_spans(n);
		else if (strcmp(word, "spin") == 0)
			spin_begin(n);
		else if (strcmp(word, "fork") == 0)
			fork_and_run(n);
		else if (strcmp(word, "exec") == 0 && printf("exec 0\n") > 0)
			execv("/proc/self/exe", argv);
		else if (strcmp(word, "own") == 0)
			n = (unsigned long)spur_trace_start(text);
		else if (strcmp(word, "end") == 0)
			spur_trace_stop();
		else if (strcmp(word, "on") == 0)
			n = spur_trace_is_on();
		printf("%s %lu\n", word, n);
	}
	spin_end();
	return 0;
}
