/*
 * The program behind tests/record/xray_lines: at the first address of a function the line table has several rows, the last
 * one of line 0 or of what was moved there. Line numbers do not count this comment. The log in tests/golden/xray/own-lines
 * is of the same object file linked with the runtime; xray_lines is linked without it:
 *
 *	clang++-14 -O1 -g1 -fdebug-compilation-dir=. -fxray-instrument -fxray-instruction-threshold=1 -c xray_lines.cpp
 *	ld -o xray_lines xray_lines.o START.o --unresolved-symbols=ignore-all
 */
#line 2 "w.cc"
struct S {
	int v;
	S(int x);
};
__attribute__((noinline)) S::S(int x) : v(x)
{
	asm volatile("");
}
S first(1);
template <class T> struct W {
	T t;
	__attribute__((noinline)) int get(int n)
	{
		asm volatile("");
		return n + 1;
	}
};
template <class A> __attribute__((noinline)) int use(A a)
{
	asm volatile("");
	return a.get(3);
}
#line 0
__attribute__((noinline)) int zero(int n)
{
	asm volatile("");
	return n;
}
#line 40 "w.cc"
int main()
{
	W<W<W<int>>> w;
	return use(w) + zero(2) - 6;
}
