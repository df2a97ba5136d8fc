/*
 * Calls that end by a jump to another function, short and long ones in each order, for recordings
 * with a minimum duration. Exits with 1 if a call that is to be short took long, since the machine
 * had other work: the recording then says nothing.
 */
#include <setjmp.h>
#include <stdio.h>
#include <time.h>

#define FUNCTION __attribute__((noinline))

static const long LONG_MS = 60, SHORT_MS = 40;
static jmp_buf out;
static volatile int sink;
static long spent_ms;

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void spend(void)
{
	const long begin = now_ms();

	while (now_ms() < begin + LONG_MS)
		;
	spent_ms += now_ms() - begin;
}

FUNCTION int short_last(int x)
{
	sink = x;
	return x + 1;
}

FUNCTION int short_middle(int x)
{
	sink = x;
	return short_last(x + 1);
}

FUNCTION int short_first(int x)
{
	sink = x;
	return short_middle(x + 1);
}

FUNCTION int short_caller(int x)
{
	return short_first(x) * 3;
}

FUNCTION int long_last(int x)
{
	spend();
	return x;
}

FUNCTION int short_to_long(int x)
{
	sink = x;
	return long_last(x + 1);
}

FUNCTION int long_to_short(int x)
{
	spend();
	return short_last(x);
}

FUNCTION int long_to_chain(int x)
{
	spend();
	return short_first(x);
}

FUNCTION int long_short_long(int x)
{
	spend();
	return short_to_long(x);
}

FUNCTION int short_jumps(int x)
{
	sink = x;
	longjmp(out, 1);
}

FUNCTION int long_to_jump(int x)
{
	spend();
	return short_jumps(x);
}

int main(void)
{
	const long begin = now_ms();
	int sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += short_caller(i);
	sum += short_to_long(1);
	sum += long_to_short(2);
	sum += long_to_chain(3);
	sum += long_short_long(4);
	if (setjmp(out) == 0)
		sum += long_to_jump(5);
	printf("%d\n", sum);
	return now_ms() - begin - spent_ms > SHORT_MS;
}
