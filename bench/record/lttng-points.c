/*
 * What tracepoints of LTTng-UST cost, as points.c says it of Spur's: a span is a begin and an end.
 * Enable the events points:begin* and points:end, not points:off.
 *
 *	lttng-points [EVENTS]
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng-points.h"

#include "measure.h"

#define NOINLINE __attribute__((noinline))

static const char *volatile text = "twelve bytes";

static NOINLINE void none(int i)
{
	__asm__ volatile("" : : "r"(i));
}

static NOINLINE void span(int i)
{
	lttng_ust_tracepoint(points, begin);
	__asm__ volatile("" : : "r"(i));
	lttng_ust_tracepoint(points, end);
}

static NOINLINE void span_number(int i)
{
	lttng_ust_tracepoint(points, begin_number, i);
	lttng_ust_tracepoint(points, end);
}

static NOINLINE void span_text(int i)
{
	lttng_ust_tracepoint(points, begin_text, text);
	__asm__ volatile("" : : "r"(i));
	lttng_ust_tracepoint(points, end);
}

static NOINLINE void instant(int i)
{
	lttng_ust_tracepoint(points, begin);
	__asm__ volatile("" : : "r"(i));
}

static NOINLINE void off(int i)
{
	lttng_ust_tracepoint(points, off);
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
	{ "instant", instant },
	{ "point that is off", off },
};

#include "points.h"
