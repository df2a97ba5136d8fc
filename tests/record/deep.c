/* Recursion deeper than the 10 bits of a record's depth field; mutual recursion on the way back. */
#include <stdlib.h>

static int odd(int n);

static int even(int n)
{
	return n ? odd(n - 1) : 1;
}

static int odd(int n)
{
	return n ? even(n - 1) : 0;
}

static int down(int n)
{
	return n > 0 ? down(n - 1) + 1 : even(6);
}

int main(int argc, char **argv)
{
	return down(argc > 1 ? atoi(argv[1]) : 1040) & 1;
}
