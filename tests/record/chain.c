/* A parent, a child and its child; with an argument, a program that is executed. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

volatile int sink;

__attribute__((noinline)) int leaf(int n)
{
	sink += n;
	return n;
}

__attribute__((noinline)) int mid(int n)
{
	return leaf(n) + leaf(n + 1);
}

__attribute__((noinline)) void grandchild(int n)
{
	mid(n);
	usleep(300);
	mid(n);
}

__attribute__((noinline)) int child(int n)
{
	int status;

	mid(n);
	if (!fork()) {
		grandchild(n + 1);
		exit(3);
	}
	wait(&status);
	return mid(status);
}

__attribute__((noinline)) int parent(int n, char *program)
{
	int status;

	if (!fork()) {
		child(n);
		if (program)
			execl(program, program, "again", (char *)NULL);
		exit(1);
	}
	mid(n);
	wait(&status);
	return mid(n);
}

int main(int argc, char **argv)
{
	if (argc > 1 && argv[1][0] == 'a')
		return mid(9) > 100;
	parent(1, NULL);
	parent(2, argc > 1 ? argv[0] : NULL);
	mid(3);
	return 0;
}
