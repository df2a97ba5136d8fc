/* fork, vfork and exec of itself: several tasks and sessions. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int leaf(int x)
{
	return x * 3;
}

static int work(int x)
{
	return leaf(x) + leaf(x + 1);
}

static void child(int x)
{
	work(x);
	_exit(0);
}

static void wait_all(void)
{
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	char *again[] = { argv[0], (char *)"again", NULL };

	if (argc > 1)
		return work(5) == 0;
	work(1);
	if (fork() == 0)
		child(2);
	wait_all();
	if (vfork() == 0)
		execv(argv[0], again);
	wait_all();
	if (fork() == 0) {
		work(3);
		execv(argv[0], again);
	}
	wait_all();
	return 0;
}
