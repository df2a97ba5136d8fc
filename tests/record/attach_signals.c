/*
 * A thread calls a function all the time, and gets signals from another process as fast as these
 * are sent. Says "ready", and after SIGTERM how many of each were sent and how many came.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KINDS = 4, AT_ONCE = 8, NAP_US = 400 };

static volatile sig_atomic_t came[KINDS], over;

__attribute__((noinline, patchable_function_entry(5))) static unsigned called(unsigned n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

static void handler(int sig)
{
	came[sig - SIGRTMIN]++;
}

static void end(int sig)
{
	(void)sig;
	over = 1;
}

/* Sends until told to end, and writes how many of each kind were sent. */
static int sender(pid_t to, int out)
{
	int sent[KINDS] = { 0 };

	signal(SIGTERM, end);
	while (!over) {
		for (int i = 0; i < AT_ONCE; i++)
			sent[i % KINDS] +=
				sigqueue(to, SIGRTMIN + i % KINDS, (union sigval){ 0 }) == 0;
		usleep(NAP_US);
	}
	return write(out, sent, sizeof(sent)) != (ssize_t)sizeof(sent);
}

int main(void)
{
	const pid_t self = getpid();
	int pipes[2], sent[KINDS];
	unsigned sum = 0;
	pid_t child;

	for (int i = 0; i < KINDS; i++)
		signal(SIGRTMIN + i, handler);
	if (pipe(pipes))
		return 1;
	child = fork();
	if (!child)
		return sender(self, pipes[1]);
	signal(SIGTERM, end);
	(void)!write(STDOUT_FILENO, "ready\n", 6);
	while (!over)
		sum = called(sum + 1);
	kill(child, SIGTERM);
	while (read(pipes[0], sent, sizeof(sent)) < 0 && errno == EINTR)
		;
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	for (int i = 0; i < KINDS; i++)
		printf("%s\n", sent[i] == came[i] ? "all came" : "some did not come");
	return sum == 0;
}
