/*
 * A signal on an alternate stack of 8 KiB, the size that many programs give it: says whether the
 * dump at the signal keeps to it. small_stack SIGNAL: what it does to the program beyond that.
 */
#define _GNU_SOURCE
#include <spur_trace.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STACK = 8192, BELOW = 65536, MARK = 0x5a };

int main(int argc, char **argv)
{
	char *const area = mmap(NULL, BELOW + STACK, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t stack = { .ss_sp = area + BELOW, .ss_size = STACK };
	unsigned beyond = 0;

	if (argc < 2 || area == MAP_FAILED || sigaltstack(&stack, NULL))
		return 2;
	memset(area, MARK, BELOW);
	SPUR_TRACE_INSTANT("app", "before");
	kill(getpid(), atoi(argv[1]));
	for (int i = 0; i < BELOW; i++)
		beyond += area[i] != MARK;
	SPUR_TRACE_INSTANT("app", "behind", (U64, "beyond", beyond));
	printf("%u bytes beyond the stack\n", beyond);
	return 0;
}
