/*
 * Calls and returns as it is told: each line on standard input is "down", a call of level() from
 * level(), or "up", a return; it answers each with a line. Ends when the first call has returned.
 */
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) static void level(int n)
{
	char line[16];

	do {
		printf("%d\n", n);
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin) || strcmp(line, "up\n") == 0)
			return;
		level(n + 1);
		__asm__ volatile("" ::: "memory");
	} while (1);
}

int main(void)
{
	level(0);
	return 0;
}
