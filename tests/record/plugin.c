/* Built three times with different names. */
#define NAME2(a, b) a##b
#define NAME(a, b) NAME2(a, b)

__attribute__((noinline)) int NAME(WHICH, _inner)(int x)
{
	return x + 1;
}

int entry(int x)
{
	return NAME(WHICH, _inner)(x) * 2;
}
