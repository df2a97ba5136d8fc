/*
 * Arguments and results of all classes of the calling convention, each followed by a number whose
 * place depends on what the argument before it takes.
 */
#include <functional>
#include <string>
#include <type_traits>
#include <emmintrin.h>

/* What is weak may be another function when it is linked, so all arguments are passed. */
#define CALL __attribute__((noinline, weak))

struct empty {};
struct derived : empty { long a; };
struct __attribute__((packed)) packed { char c; int x; };
struct alignas(16) aligned { int a; };
struct extended { long double d; };
struct wide { __int128 v; };
union number { int i; float f; };
union real { float f; double d; };
struct tagged { int tag; union number u; };
struct bits { unsigned a : 3, b : 5, c : 24; int d; };
struct arrays { char t[8]; float n[2]; };
struct large { long double l; int x; long y[4]; };
struct vector { __m128d v; };
struct object { int m, n; int method(int x) { return x + m; } };

static volatile double used;

CALL int after_tag(std::true_type, int x) { used += x; return x; }
CALL int after_less(std::less<int> l, int x, int y) { return l(x, y); }
CALL int after_empty(empty, int x) { used += x; return x; }
CALL int after_packed(packed p, int x) { used += p.c; return p.x + x; }
CALL int after_aligned(int a, aligned l, int x) { return a + l.a + x; }
CALL int on_stack(int a, int b, int c, int d, int e, int f, int g, aligned l, int x)
{
	return a + b + c + d + e + f + g + l.a + x;
}
CALL int after_extended(extended l, int x) { return (int)l.d + x; }
CALL int after_wide(int a, wide l, int x) { return a + (int)l.v + x; }
CALL int after_union(number u, int x) { return u.i + x; }
CALL double after_real(real u, int x, double y) { return u.d + x + y; }
CALL int after_tagged(tagged u, int x) { return u.tag + u.u.i + x; }
CALL int after_bits(bits b, int x) { return (int)(b.a + b.b + b.c) + b.d + x; }
CALL float after_arrays(arrays b, int x, float y) { return b.t[0] + b.n[0] + x + y; }
CALL int after_large(int a, int b, int c, int d, int e, int f, int g, large s, int x)
{
	return a + b + c + d + e + f + g + (int)s.l + s.x + (int)s.y[3] + x;
}
CALL int after_derived(derived d, int x) { return (int)d.a + x; }
CALL double after_m128(__m128d v, double y, int x) { return v[0] + v[1] + y + x; }
CALL double after_vector(vector v, double y, int x) { return v.v[0] + v.v[1] + y + x; }
CALL int after_null(std::nullptr_t, int x) { used += x; return x; }
CALL int after_member(int object::*p, int x) { object c = { 3, 4 }; return c.*p + x; }
CALL double after_complex(_Complex double z, double y, int x)
{
	return __real__ z + __imag__ z + y + x;
}
CALL float after_complex_float(_Complex float z, float y) { return __real__ z + __imag__ z + y; }
CALL int after_string(std::string s, const std::string &r, int x)
{
	return (int)(s + r).size() + x;
}

CALL packed give_packed(int x) { return packed{ 'r', x }; }
CALL extended give_extended(int x) { return extended{ (long double)x }; }
CALL number give_union(int x) { number u; u.i = x; return u; }
CALL bits give_bits(int x) { return bits{ 1, 2, 3, x }; }
CALL _Complex double give_complex(double x)
{
	_Complex double z = x;

	__imag__ z = 2 * x;
	return z;
}
CALL std::string give_string(int x) { return std::string((size_t)x, 'z'); }

/* An optimizer may pass `x` alone, where the first argument would be. */
static __attribute__((noinline)) int maybe_moved(int, int x) { used += x; return x; }

int main()
{
	number u;
	real r;
	derived d;
	_Complex double z = 1.5;
	_Complex float zf = 2.5f;

	u.i = 42;
	r.d = 2.5;
	d.a = 29;
	__imag__ z = -1;
	__imag__ zf = -2;
	after_tag({}, 1);
	after_less({}, 2, 3);
	after_empty({}, 4);
	after_packed({ 'p', 5 }, 6);
	after_aligned(7, { 8 }, 9);
	on_stack(1, 2, 3, 4, 5, 6, 7, { 10 }, 11);
	after_extended({ 12.5L }, 13);
	after_wide(14, { 15 }, 16);
	after_union(u, 17);
	after_real(r, 18, 19.5);
	after_tagged({ 1, u }, 20);
	after_bits({ 5, 6, 7, 8 }, 21);
	after_arrays({ "abcdefg", { 1.5f, 2.5f } }, 22, 23.5f);
	after_large(1, 2, 3, 4, 5, 6, 7, { 24.5L, 25, { 1, 2, 3, 4 } }, 26);
	after_derived(d, 27);
	after_m128(_mm_set_pd(1, 28.5), 29.5, 30);
	after_vector({ _mm_set_pd(1, 31.5) }, 32.5, 33);
	after_null(nullptr, 34);
	after_member(&object::n, 35);
	after_complex(z, 36.5, 37);
	after_complex_float(zf, 38.5f);
	after_string("sss", std::string("rr"), 39);
	give_packed(40);
	give_extended(41);
	give_union(42);
	give_bits(43);
	give_complex(44.5);
	give_string(3);
	maybe_moved(45, 46);
	return 0;
}
