/* A child of clone() that no handler of fork() knows of: it leaves functions, and calls others. */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 60000 };

static volatile int calls;

static __attribute__((noinline)) void in_child(void)
{
	calls++;
}

static __attribute__((noinline)) void in_parent(void)
{
	calls++;
}

static __attribute__((noinline)) pid_t child_make(void)
{
	const pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	calls++;
	return pid;
}

int main(void)
{
	const pid_t pid = child_make();
	int status = 1;

	for (int i = 0; i < CALLS; i++)
		pid ? in_parent() : in_child();
	if (!pid)
		exit(0);
	return waitpid(pid, &status, 0) != pid || status;
}
