/*
 * The program behind tests/record/xray_prog, which is only looked at, never run:
 *
 *	clang-14 -O1 -g -fdebug-compilation-dir=. -fxray-instrument -fxray-instruction-threshold=1 -fnoxray-link-deps \
 *		-ffreestanding -nostdlib -fPIE -pie -Wl,-e,0,-z,noseparate-code,--build-id=sha1 -o xray_prog xray_prog.cpp
 */
#define STAYS __attribute__((noinline))

extern "C" void __xray_CustomEvent(const char *, unsigned long)
{
}
extern "C" void __xray_TypedEvent(unsigned short, const char *, unsigned long)
{
}

static int sum;

template <typename T>
STAYS T add(T a, T b)
{
	sum++;
	return a + b + sum;
}

namespace
{
struct counter {
	int n;
	STAYS int operator()(int by)
	{
		return n += by + sum;
	}
};
}

[[clang::xray_log_args(1)]] STAYS int logged(int x)
{
	return x * sum;
}

STAYS void events()
{
	static const char text[] = "abc";

	__xray_customevent(text, 3);
	__xray_typedevent(7, text, 3);
}

STAYS int inlined_first(int x)
{
	for (int i = 0; i < x; i++)
		sum += add(i, x);
	return sum;
}

int main()
{
	counter c = { sum };

	events();
	return c(2) + logged(3) + inlined_first(4) + (int)add(5L, 6L);
}
