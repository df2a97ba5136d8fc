/* Arguments and return values of every kind that a specification can name. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum colour { RED, GREEN = 5, BLUE };
enum flags { F_A = 1, F_B = 2, F_C = 4 };
struct point {
	int x, y;
};
struct big {
	long a[4];
};

int ints(signed char a, short b, int c, long d)
{
	return a + b + c + (int)d;
}
unsigned long unsigneds(uint8_t a, uint16_t b, uint32_t c, uint64_t d)
{
	return a + b + c + d;
}
const char *text(const char *s, char c)
{
	return strchr(s ? s : "", c);
}
double floats(float a, double b)
{
	return (double)a * b;
}
long double wide(long double x)
{
	return x * 2;
}
enum colour paint(enum colour c, enum flags f)
{
	return f & F_B ? c : RED;
}
int *pointer(int *p, int (*f)(signed char, short, int, long))
{
	*p = f(1, 2, 3, 4);
	return p;
}
struct point swap(struct point p)
{
	struct point r = { p.y, p.x };

	return r;
}
long sum(struct big b)
{
	return b.a[0] + b.a[3];
}
int many(int a, int b, int c, int d, int e, int f, int g, int h)
{
	return a + b + c + d + e + f + g + h;
}
_Bool truth(_Bool x)
{
	return !x;
}

int main(void)
{
	int v = 0;
	struct big b = { { 1, 2, 3, 4 } };
	char longer[200];

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	ints(-1, -300, 70000, -5000000000);
	unsigneds(255, 65535, 4000000000u, 1ull << 63);
	text("hello", 'l');
	text("tab\there \"quoted\" \xc3\xa9 \x01", 'z');
	text(NULL, '\n');
	text(longer, 'y');
	text("", 0);
	floats(1.5f, -2.25);
	floats(1e30f, 1e-300);
	wide(3.5L);
	paint(BLUE, F_A | F_B);
	paint((enum colour)9, (enum flags)8);
	pointer(&v, ints);
	swap((struct point){ 3, -4 });
	sum(b);
	many(1, 2, 3, 4, 5, 6, 7, 8);
	truth(1);
	return 0;
}
