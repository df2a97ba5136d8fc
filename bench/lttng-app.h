/* The tracepoints of lttng-app.c. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng-app.h"

/* clang-format off */
#if !defined(BENCH_LTTNG_APP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_APP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, request,
	LTTNG_UST_TP_ARGS(int, id, long, when, const char *, what),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, id, id)
		lttng_ust_field_integer(long, when, when)
		lttng_ust_field_string(what, what)))

LTTNG_UST_TRACEPOINT_EVENT(bench, step,
	LTTNG_UST_TP_ARGS(int, id, int, step),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, id, id)
		lttng_ust_field_integer(int, step, step)))

LTTNG_UST_TRACEPOINT_EVENT(bench, done,
	LTTNG_UST_TP_ARGS(int, id, double, took),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, id, id)
		lttng_ust_field_float(double, took, took)))

#endif

#include <lttng/tracepoint-event.h>
