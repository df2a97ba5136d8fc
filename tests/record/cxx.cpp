/* C++ names of every shape that a demangler must cut, and ways out of a function other than returning. */
#include <csetjmp>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace shop {
namespace {
int hidden(int x)
{
	return x + 1;
}
} // namespace

template <typename T, int N> struct Stack {
	T items[N];
	int used = 0;
	Stack &operator<<(const T &x)
	{
		items[used++ % N] = x;
		return *this;
	}
	T operator()(int i) const { return items[i % N]; }
	explicit operator bool() const { return used > 0; }
	T &operator[](int i) { return items[i % N]; }
	~Stack() { used = 0; }
};

class Animal {
public:
	explicit Animal(std::string n) : name(std::move(n)) {}
	virtual ~Animal() = default;
	virtual int speak(int volume) const { return volume; }
	static Animal *make(const std::string &n);
	std::string name;
};

class Dog : public Animal {
public:
	using Animal::Animal;
	int speak(int volume) const override { return volume * 2 + hidden(volume); }
};

Animal *Animal::make(const std::string &n)
{
	return new Dog(n);
}

int overloaded(int x)
{
	return x;
}
int overloaded(double x)
{
	return static_cast<int>(x);
}
int overloaded(const char *x)
{
	return *x;
}
template <typename F> int apply(F f, int x)
{
	return f(x);
}
int variadic()
{
	return 0;
}
template <typename T, typename... Rest> int variadic(T first, Rest... rest)
{
	return static_cast<int>(first) + variadic(rest...);
}
} // namespace shop

static void thrower(int depth)
{
	if (depth == 0)
		throw std::runtime_error("out of stock");
	thrower(depth - 1);
}

static int catcher()
{
	try {
		thrower(3);
	} catch (const std::exception &e) {
		return static_cast<int>(std::string(e.what()).size());
	}
	return 0;
}

static jmp_buf back;

static void jumper(int depth)
{
	if (depth == 0)
		longjmp(back, 7);
	jumper(depth - 1);
}

static int jumped()
{
	int r = setjmp(back);

	if (r == 0)
		jumper(2);
	return r;
}

int operator""_km(unsigned long long x)
{
	return static_cast<int>(x) * 1000;
}

int main()
{
	shop::Stack<int, 4> s;
	s << 1 << 2;
	int sum = s(0) + s[1] + (s ? 1 : 0);
	shop::Animal *a = shop::Animal::make("rex");
	sum += a->speak(3);
	delete a;
	sum += shop::overloaded(1) + shop::overloaded(2.5) + shop::overloaded("x");
	sum += shop::apply([](int x) { return x * 3; }, 4);
	std::function<int(int)> f = [sum](int x) { return x + sum; };
	sum += f(1) + shop::variadic(1, 2.5f, 'c') + 3_km;
	std::map<std::string, std::vector<int>> m;
	m["a"].push_back(sum);
	sum += catcher() + jumped();
	return sum == 0;
}
