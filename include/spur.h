/*
 * Spur: read program traces of several formats as one stream of events.
 *
 *	struct spur_options opt = SPUR_OPTIONS(.threads = 4);
 *	const struct spur_event *rows;
 *	struct spur_trace *t;
 *	struct spur_error err;
 *	enum spur_status st;
 *	size_t n;
 *
 *	if (spur_open(&t, "uftrace.data", &opt, &err) == SPUR_FAIL)
 *		... err.message says file, expected, found
 *	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
 *		for (size_t i = 0; i < n; i++)
 *			... rows[i].ts, spur_string(t, rows[i].name, NULL)
 *	if (st == SPUR_FAIL && spur_last_error(t, &err))
 *			... out of memory: events are missing
 *	spur_close(t);
 *
 * The library never prints and never exits. Damage never ends reading: it is located, counted and
 * kept (spur_damage()), and the rest is read.
 *
 * Each declaration says in its comment what it returns, how long the result lives and what threads
 * may do:
 *
 *   "One thread at a time"	no other call on the same trace may run at the same time.
 *   "Any thread"		may be called while other threads read feeds of the trace
 *				(spur_feed_next()) or make such calls themselves.
 *
 * Different traces are independent of each other. A call whose arguments are invalid (NULL where an
 * object is needed, a feed that is closed, a row whose class, track or stream the trace does not
 * have) changes nothing and fails: it returns SPUR_FAIL with SPUR_ERR_USAGE, or what its comment
 * says for an unknown id. In a library that was built with SPUR_ABORT_ON_MISUSE and without NDEBUG,
 * as sanitizer builds are, it aborts with a message instead. A row must hold what the same trace
 * wrote into it: that its other members were not changed is not checked.
 */
#ifndef SPUR_H
#define SPUR_H

#define SPUR_VERSION "0.1.0"

#include <spur/error.h>
#include <spur/event.h>
#include <spur/options.h>
#include <spur/trace.h>
#include <spur/track.h>
#include <spur/class.h>
#include <spur/args.h>
#include <spur/place.h>
#include <spur/clock.h>
#include <spur/damage.h>
#include <spur/filter.h>
#include <spur/feed.h>
#include <spur/span.h>
#include <spur/statistics.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The version of the library at run time. SPUR_VERSION is the version of the header.
 * Returns: text such as "0.1.0".
 * Lifetime: static.
 * Threads: any thread.
 */
const char *spur_version(void);

#ifdef __cplusplus
}
#endif
#endif
