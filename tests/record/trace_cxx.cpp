/* The classes of spur_trace.h: every type of argument, exceptions, spans that are moved. */
#include <spur_trace.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#if __cplusplus >= 201703L
#include <string_view>
#endif

namespace
{

enum class color : unsigned char { red, green = 200 };
enum direction { up = -1, down = 1 };

spur::span_point<> outer("app", "outer");
spur::span_point<int> inner("app", "inner", "depth");
spur::counter_point<std::uint64_t, double> queue("app", "queue", "length", "load");

void types()
{
	static spur::instant_point<bool, char, signed char, short, unsigned long, float,
				   const char *, std::string>
		some("app", "some", "bool", "char", "schar", "short", "ulong", "float", "text",
		     "string");
	static spur::instant_point<color, direction, const void *, char *, spur::interned> others(
		"app", "others", "color", "direction", "pointer", "text", "interned");
	const spur::interned name("interned text");
	char text[] = "array";

	some(true, 'x', -1, -300, ~0ul, 0.5f, "literal", std::string("a\0b", 3));
	some(false, '\xff', 1, 2, 3, -1.5f, nullptr, std::string(1000, 'y'));
	others(color::green, up, reinterpret_cast<const void *>(0x1234), text, name);
	others(color::red, down, nullptr, nullptr, spur::interned("interned text"));
	queue(7, 0.25);
#if __cplusplus >= 201703L
	static spur::instant_point<std::string_view> view("app", "view", "text");
	view(std::string_view("a view of a string").substr(2, 4));
	view(std::string_view());
#else
	static spur::instant_point<std::string> view("app", "view", "text");
	view("view");
	view("");
#endif
}

void thrower(int depth)
{
	const spur::span s = inner(depth);

	if (!depth)
		throw std::runtime_error("from the depth");
	thrower(depth - 1);
}

spur::span given(int depth)
{
	spur::span s = inner(depth);

	return s;
}

void moves()
{
	const spur::span whole = outer();
	spur::span a = given(10), b;

	b = std::move(a);
	a.end();
	b.end();
	b.end();
	b = given(11);
	b = spur::span();
	b = inner.named(spur::interned("named"), 12);
}

void ids()
{
	static spur::async_begin_point<int> begin("app", "async", "n");
	static spur::async_end_point<> end("app", "async");
	static spur::flow_begin_point<> from("app", "flow");
	static spur::flow_end_point<> to("app", "flow");

	begin(5, 1);
	from(6);
	std::thread([] {
		to(6);
		end(5);
	}).join();
}

} // namespace

int main()
{
	types();
	try {
		const spur::span s = outer();

		thrower(2);
	} catch (const std::exception &) {
		SPUR_TRACE_INSTANT("app", "caught");
	}
	moves();
	ids();
	spur_trace_enable("app", false);
	types();
	moves();
	return 0;
}
