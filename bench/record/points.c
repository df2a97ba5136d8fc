/*
 * What points of the tracing library cost, in ns and as a ratio to two readings of the clock;
 * medians of 7. A point that is off is given without the loop and the call around it. Run it as
 * SPUR_TRACE=/dev/shm/out.spur points [EVENTS]; the recording grows by about 700 bytes an event.
 */
#include <spur_trace.h>

#include "measure.h"

#define NOINLINE __attribute__((noinline))

static NOINLINE void none(int i)
{
	__asm__ volatile("" : : "r"(i));
}

static NOINLINE void span(int i)
{
	SPUR_TRACE_SPAN("bench", "span");
	__asm__ volatile("" : : "r"(i));
}

static NOINLINE void span_number(int i)
{
	SPUR_TRACE_SPAN("bench", "number", (I64, "i", i));
	__asm__ volatile("");
}

static const char *volatile text = "twelve bytes";

static NOINLINE void span_text(int i)
{
	SPUR_TRACE_SPAN("bench", "text", (TEXT, "text", text));
	__asm__ volatile("" : : "r"(i));
}

static uint64_t id;

static NOINLINE void span_string(int i)
{
	SPUR_TRACE_SPAN("bench", "string", (STRING, "text", id));
	__asm__ volatile("" : : "r"(i));
}

static NOINLINE void span_searched(int i)
{
	SPUR_TRACE_SPAN("bench", "searched", (STRING, "text", spur_trace_string(text)));
	__asm__ volatile("" : : "r"(i));
}

static NOINLINE void span_named(int i)
{
	SPUR_TRACE_SPAN_NAMED("bench", id);
	__asm__ volatile("" : : "r"(i));
}

static NOINLINE void instant(int i)
{
	SPUR_TRACE_INSTANT("bench", "instant");
	__asm__ volatile("" : : "r"(i));
}

static NOINLINE void counter(int i)
{
	SPUR_TRACE_COUNTER("bench", "counter", (I64, "value", i));
	__asm__ volatile("");
}

static NOINLINE void off(int i)
{
	SPUR_TRACE_INSTANT("off", "instant");
	__asm__ volatile("" : : "r"(i));
}

static const struct {
	const char *name;
	void (*run)(int);
} points[] = {
	{ "nothing", none },
	{ "span", span },
	{ "span with a number", span_number },
	{ "span with 12 bytes of text", span_text },
	{ "span with a string by its id", span_string },
	{ "span with a string, searched", span_searched },
	{ "span, named by an id", span_named },
	{ "instant", instant },
	{ "counter", counter },
	{ "point that is off", off },
};

#define PREPARE() (spur_trace_enable("off", false), id = spur_trace_string(text))
#include "points.h"
