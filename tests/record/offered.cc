// Functions with arguments and results of many types, for what `spur record` finds in a program.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#ifdef __clang__
#define KEEP __attribute__((noinline, used))
#else
#define KEEP __attribute__((noinline, noclone, used))
#endif

enum color { RED, GREEN };
enum class level : unsigned char { LOW, HIGH };
struct pair { long first, second; };
struct mixed { double a; int b; };
struct narrow { short a; short b; float c; };
struct large { long a; double b; const char *c; };
struct held { ~held(); int n; };
typedef unsigned int number;

held::~held() { n = 0; }

extern "C" {
KEEP int scalars(char a, short b, int c, long long d, unsigned char e, bool f, number g, unsigned long long h)
{
	return a + b + c + (int)d + e + f + (int)g + (int)h;
}
KEEP double floats(float a, double b, long double c, int d, float e)
{
	return a + b + (double)c + d + e;
}
KEEP const char *texts(const char *a, char *b, const void *c, const int *d)
{
	return b ? a : c ? (const char *)d : "";
}
KEEP enum color enums(enum color a, level b)
{
	return a == RED && b == level::LOW ? GREEN : RED;
}
KEEP struct pair pairs(struct pair a, int b)
{
	a.first += b;
	return a;
}
KEEP struct mixed mixeds(struct mixed a, struct narrow b, int c)
{
	a.b += b.a + c;
	return a;
}
KEEP struct large larges(int a, struct large b, int c)
{
	b.a += a + c;
	return b;
}
KEEP void many(int a, int b, int c, int d, int e, int f, int g, struct pair h, short i)
{
	printf("%ld\n", a + b + c + d + e + f + g + h.first + i);
}
KEEP int wide(__int128 a, int b)
{
	return (int)a + b;
}
KEEP void nothing(void)
{
	puts("");
}
KEEP int strings(const std::string &a, std::string b, std::string *c)
{
	return (int)(a.size() + b.size() + c->size());
}
KEEP int helds(held a, int b)
{
	return a.n + b;
}
}

struct object {
	int n;
	KEEP int method(int a) const { return n + a; }
	KEEP std::string text(int a) { return std::string((size_t)a, 'x'); }
};

int main(int argc, char **argv)
{
	object o = { argc };
	std::string s = argv[0];

	many(1, 2, 3, 4, 5, 6, 7, pairs({ 1, 2 }, 3), 8);
	nothing();
	return scalars('a', 1, 2, 3, 4, true, 5, 6) + (int)floats(1, 2, 3, 4, 5) + (int)strlen(texts("a", argv[0], argv, &argc)) +
	       enums(RED, level::HIGH) + mixeds({ 1, 2 }, { 1, 2, 3 }, 3).b + (int)larges(1, { 1, 2, "" }, 3).a + wide(1, 2) +
	       strings(s, s, &s) + helds({ 1 }, 2) + o.method(1) + (int)o.text(3).size() + atoi("1") == 0;
}
