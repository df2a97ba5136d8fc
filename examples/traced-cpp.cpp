/*
 * A C++ program that traces itself: spans with typed arguments, which end with their blocks also
 * when an exception is thrown, and a counter. SPUR_TRACE=out.spur traced-cpp [WORDS]
 */
#include <spur_trace.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

/* A point is an object: its category, its name, and the names of its arguments. */
spur::span_point<std::string, std::size_t> parse_point("app", "parse", "word", "place");
spur::counter_point<std::size_t> words_point("app", "words", "count");

long parse(const std::string &word, std::size_t place)
{
	const spur::span s = parse_point(word, place);

	if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos)
		throw std::invalid_argument(word);
	return std::atol(word.c_str());
}

} // namespace

int main(int argc, char **argv)
{
	std::vector<std::string> words(argv + 1, argv + argc);
	long sum = 0;

	if (words.empty())
		words = { "12", "", "30", "x" };
	for (std::size_t i = 0; i < words.size(); i++) {
		/* A name that only the program knows. */
		static spur::span_point<> word_point("app", "word");
		const spur::span s = word_point.named(spur::interned(words[i].c_str()));

		try {
			sum += parse(words[i], i);
		} catch (const std::invalid_argument &) {
			SPUR_TRACE_INSTANT("app", "not a number", (TEXT, "word", words[i].c_str()));
		}
		words_point(i + 1);
	}
	std::printf("%ld\n", sum);
	return 0;
}
