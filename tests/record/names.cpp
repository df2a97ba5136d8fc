/* Names that differ in template arguments or parameters only: literals, templates, overloads that call each other. */
#include <cstdio>

#define NOINLINE __attribute__((noinline))

struct Time {
	long ns;
};

NOINLINE Time operator""_ms(unsigned long long n)
{
	return Time{ (long)n * 1000000 };
}

NOINLINE Time operator""_us(unsigned long long n)
{
	return Time{ (long)n * 1000 };
}

template <typename T, int N> NOINLINE T tmpl(T x)
{
	return (T)(x + N);
}

NOINLINE int walk(char c)
{
	return c + 1;
}

NOINLINE int walk(int n)
{
	return n > 0 ? walk((char)n) + walk(n - 1) : 0;
}

NOINLINE int walk(const char *s)
{
	return *s ? walk((int)(*s - '0')) + walk(s + 1) : 0;
}

template <typename T> struct Box {
	T item;
	template <typename U> NOINLINE Box &operator<<(const U &x)
	{
		item = (T)(item + x);
		return *this;
	}
	NOINLINE explicit operator bool() const { return item != 0; }
};

int main()
{
	Box<int> box{ 1 };
	auto twice = [](int x) NOINLINE { return 2 * x; };
	long sum = 5_ms .ns + 7_us .ns + tmpl<long, 7>(1) + tmpl<char, 34>('a') + walk("321") + twice(4);

	box << 2 << 'c' << 1.5;
	printf("%ld\n", box ? sum : 0);
	return 0;
}
