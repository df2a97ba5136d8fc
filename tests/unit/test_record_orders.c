/*
 * The tracing library on a simulated machine (tests/sim/record): all orders of what two threads, a
 * handler and the helper do, with a kill after each step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/record/check.h"
#include "sim/record/explore.h"
#include "sim/record/machine.h"
#include "sim/record/scenario.h"
#include "spur_trace.h"

enum {
	WRITERS = 3,
	OTHERS_OF = 4,
	SESSION_STEPS = 2,
	STATES_MOST = 20000000,
	STATES_SOME = 2000,
	STATES_OF_EACH = 1000000,
	EACH_WAY = 20, /* mutants */
};

/* A writer: pages that it has filled, whether it has begun another one, and events to come. */
struct writer {
	unsigned pages;
	bool begun;
	unsigned events;
};

#define COLD                \
	{                   \
		0, false, 1 \
	}
#define WARM               \
	{                  \
		0, true, 1 \
	}
#define WARM_TWICE         \
	{                  \
		0, true, 2 \
	}
#define AT_PAGE_END         \
	{                   \
		1, false, 1 \
	}
#define AT_PAGE_END_TWICE   \
	{                   \
		1, false, 2 \
	}
#define AT_CHUNK_END        \
	{                   \
		2, false, 1 \
	} /* it starts the helper */
#define AT_RING_END         \
	{                   \
		4, false, 1 \
	} /* of two chunks: it uses the first one again */
#define WITH_HELPER         \
	{                   \
		4, false, 1 \
	} /* the same, and the helper has a chunk ready */

struct plan {
	const char *name;
	struct writer writers[WRITERS];
	unsigned handlers; /* of the first writer */
	bool ends; /* another thread ends the recording */
	bool again; /* and starts another one */
	bool apart, waits_at_once; /* see explore.h */
	bool starts; /* the first thread starts the recording, and is the only one */
	unsigned sessions; /* another process begins and ends these: they start the recording */
	bool no_helper; /* of a session */
	bool killed; /* the first one does not end, but is killed */
	bool dumps, handler_dumps; /* another thread dumps, or the handler does */
	bool snapshots; /* another process takes a snapshot */
	unsigned mode; /* enum spur_trace_mode */
	bool strings, ticks; /* events have strings by their ids; the last one has no arguments */
	int no_room; /* how many allocations fail */
};

/* What make check tries. */
static const struct plan plans[] = {
	{ .name = "cold", .writers = { COLD } },
	{ .name = "cold, handler", .writers = { COLD }, .handlers = 1 },
	{ .name = "cold, two handlers", .writers = { COLD }, .handlers = 2 },
	{ .name = "warm, handler", .writers = { WARM }, .handlers = 1 },
	{ .name = "warm, two handlers", .writers = { WARM }, .handlers = 2 },
	{ .name = "page end, handler", .writers = { AT_PAGE_END }, .handlers = 1 },
	{ .name = "chunk end", .writers = { AT_CHUNK_END } },
	{ .name = "helper", .writers = { WITH_HELPER } },
	{ .name = "helper, handler", .writers = { WITH_HELPER }, .handlers = 1 },
	{ .name = "warm, warm", .writers = { WARM, WARM } },
	{ .name = "warm, warm, handler", .writers = { WARM, WARM }, .handlers = 1 },
	{ .name = "warm twice, warm", .writers = { WARM_TWICE, WARM } },
	{ .name = "warm, warm, warm", .writers = { WARM, WARM, WARM }, .apart = true },
	{ .name = "warm, cold", .writers = { WARM, COLD } },
	{ .name = "warm, cold, handler", .writers = { WARM, COLD }, .handlers = 1, .apart = true },
	{ .name = "cold, cold", .writers = { COLD, COLD } },
	{ .name = "page end, page end", .writers = { AT_PAGE_END, AT_PAGE_END } },
	{ .name = "warm, end", .writers = { WARM }, .ends = true },
	{ .name = "cold, end", .writers = { COLD }, .ends = true },
	{ .name = "page end, end", .writers = { AT_PAGE_END }, .ends = true },
	{ .name = "warm, end and start", .writers = { WARM }, .ends = true, .again = true },
	{ .name = "page end, another point, end and start",
	  .writers = { AT_PAGE_END_TWICE },
	  .ticks = true,
	  .ends = true,
	  .again = true },
	{ .name = "start", .starts = true },
	{ .name = "start, handler", .starts = true, .handlers = 1 },
	{ .name = "cold, no room, handler", .writers = { COLD }, .no_room = 2, .handlers = 1 },
	{ .name = "page end, no room, handler",
	  .writers = { AT_PAGE_END },
	  .no_room = 2,
	  .handlers = 1 },
	{ .name = "chunk end, no room", .writers = { AT_CHUNK_END }, .no_room = 2 },
	{ .name = "warm, warm, strings", .writers = { WARM, WARM }, .strings = true },
	{ .name = "warm, ticks, handler", .writers = { WARM }, .ticks = true, .handlers = 1 },
	{ .name = "warm, strings, handler", .writers = { WARM }, .strings = true, .handlers = 1 },
	{ .name = "warm, dump", .writers = { WARM }, .dumps = true, .apart = true },
	{ .name = "warm, dump in the handler",
	  .writers = { WARM },
	  .handlers = 1,
	  .handler_dumps = true,
	  .apart = true },
	{ .name = "page end, dump", .writers = { AT_PAGE_END }, .dumps = true, .apart = true },
	{ .name = "end, dump", .ends = true, .dumps = true, .apart = true },
	{ .name = "cold, no room, dump",
	  .writers = { COLD },
	  .no_room = 2,
	  .dumps = true,
	  .apart = true },
	{ .name = "chunk end, oneshot, dump",
	  .writers = { AT_CHUNK_END },
	  .mode = SPUR_TRACE_ONESHOT,
	  .dumps = true,
	  .apart = true },
	{ .name = "ring", .writers = { AT_RING_END }, .mode = SPUR_TRACE_RING },
	{ .name = "ring, handler",
	  .writers = { AT_RING_END },
	  .handlers = 1,
	  .mode = SPUR_TRACE_RING,
	  .apart = true },
	{ .name = "ring, end",
	  .writers = { AT_RING_END },
	  .ends = true,
	  .mode = SPUR_TRACE_RING,
	  .apart = true },
	{ .name = "ring, dump",
	  .writers = { AT_RING_END },
	  .dumps = true,
	  .mode = SPUR_TRACE_RING,
	  .apart = true },
	{ .name = "page end, snapshot",
	  .writers = { AT_PAGE_END },
	  .snapshots = true,
	  .apart = true },
	{ .name = "session", .writers = { COLD }, .sessions = 1, .no_helper = true, .apart = true },
	{ .name = "session, killed",
	  .writers = { COLD },
	  .sessions = 1,
	  .killed = true,
	  .no_helper = true,
	  .apart = true },
	/* The last one, as mutants are looked for in all of it. */
	{ .name = "another point, end and start",
	  .writers = { WARM },
	  .ticks = true,
	  .ends = true,
	  .again = true },
};

/* What takes longer. */
static const struct plan long_plans[] = {
	{ .name = "helper, end", .writers = { WITH_HELPER }, .ends = true, .apart = true },
	{ .name = "cold, warm, handler", .writers = { COLD, WARM }, .handlers = 1, .apart = true },
	{ .name = "warm, handler, end",
	  .writers = { WARM },
	  .handlers = 1,
	  .ends = true,
	  .apart = true },
	{ .name = "warm, cold, handler, all kills", .writers = { WARM, COLD }, .handlers = 1 },
	{ .name = "warm, handler, end, all kills",
	  .writers = { WARM },
	  .handlers = 1,
	  .ends = true },
	{ .name = "page end, two handlers",
	  .writers = { AT_PAGE_END },
	  .handlers = 2,
	  .apart = true },
	{ .name = "chunk end, handler", .writers = { AT_CHUNK_END }, .handlers = 1, .apart = true },
	{ "page end, page end, handler",
	  { AT_PAGE_END, AT_PAGE_END },
	  .handlers = 1,
	  .apart = true },
	{ .name = "helper, helper", .writers = { WITH_HELPER, WITH_HELPER }, .apart = true },
	{ .name = "chunk end, warm", .writers = { AT_CHUNK_END, WARM }, .apart = true },
	{ .name = "warm, snapshot", .writers = { WARM }, .snapshots = true, .apart = true },
	{ .name = "ring, snapshot",
	  .writers = { AT_RING_END },
	  .snapshots = true,
	  .mode = SPUR_TRACE_RING,
	  .apart = true },
	{ .name = "cold, cold, handler",
	  .writers = { COLD, COLD },
	  .handlers = 1,
	  .apart = true,
	  .waits_at_once = true },
};

static const struct plan *now;
static enum sim_mutant mutant;

static void begin(void)
{
	struct scenario s = { .chunks = 2,
			      .mode = now->mode,
			      .strings = now->strings,
			      .ticks = now->ticks,
			      .no_helper = now->no_helper,
			      .sessions = now->sessions,
			      .session_steps = SESSION_STEPS,
			      .kills_session = now->killed };
	const struct sim_options o = { .mutant = mutant,
				       .full_at = SIM_NEVER,
				       .map_fails_at = SIM_NEVER,
				       .handlers_most = now->handlers,
				       .coarse = now->mode == SPUR_TRACE_RING,
				       .exact = true };
	unsigned n = 0;

	/* Thread 0 starts the recording. */
	for (n = 0; n < WRITERS && now->writers[n].events; n++) {
		s.pages[n + 1] = now->writers[n].pages;
		s.begun[n + 1] = now->writers[n].begun;
		s.behind[n + 1] = now->writers[n].events;
	}
	sim_begin(&o);
	law_begin(now->mode == SPUR_TRACE_RING);
	sim_on_dump(check_dump);
	scenario_set(&s);
	sim_thread_add(now->starts     ? scenario_gated_first
		       : now->sessions ? scenario_find
				       : scenario_start,
		       now->starts && now->handlers ? scenario_one : NULL);
	if (sim_run())
		return;
	for (unsigned i = 0; i < n; i++)
		sim_thread_add(scenario_gated, i || !now->handlers  ? NULL
					       : now->handler_dumps ? scenario_dump
								    : scenario_one);
	if (now->dumps)
		sim_thread_add(scenario_gated_dump, NULL);
	if (now->snapshots)
		sim_thread_add(scenario_gated_snapshot, NULL);
	if (now->sessions)
		sim_thread_add(scenario_gated_session, NULL);
	if (now->ends)
		sim_thread_add(now->again ? scenario_gated_switcher : scenario_ender, NULL);
	sim_run();
	sim_settle();
	if (now->no_room)
		sim_disk_full(now->no_room);
}

static void end(void)
{
	sim_thread_add(scenario_last, NULL);
	if (!sim_run())
		check_reading(SIM_KILL, LAW_END);
}

/* A kill, and in some places what else a crash may leave. */
static void crash(void)
{
	check_reading(SIM_KILL, LAW_CRASH);
	if (sim_random(OTHERS_OF))
		return;
	check_reading(SIM_REORDER, LAW_CRASH);
	check_reading(SIM_POWER, LAW_POWER);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *explore_plan(const struct plan *p, bool every_step, uint64_t most,
				struct explored *found)
{
	const struct exploration x = { .begin = begin,
				       .crash = crash,
				       .end = end,
				       .every_step = every_step,
				       .apart = p->apart,
				       .waits_at_once = p->waits_at_once,
				       .states_most = most };

	now = p;
	return explore(&x, found);
}

static void try(const struct plan *p, bool every_step, struct explored *found)
{
	static char trail[4096];
	const double begun = seconds();
	const char *const wrong = explore_plan(p, every_step, STATES_MOST, found);

	print_message("%-32s %8llu states, %4llu ends, %5llu crashes, %6.2f s\n", p->name,
		      (unsigned long long)found->states, (unsigned long long)found->ends,
		      (unsigned long long)found->images, seconds() - begun);
	if (wrong) {
		explore_trail(trail, sizeof(trail));
		fail_msg("%s: step %llu: %s (thread %s)", p->name, (unsigned long long)sim_steps(),
			 wrong, trail);
	}
	assert_true(found->complete);
	/* Who is woken in time needs no end of a wait by its time. */
	assert_int_equal(found->timeouts, 0);
}

/* With sanitizers, the beginning of each plan: the whole takes ten times as long there. */
static void try_some(const struct plan *p)
{
	struct explored found;
	const char *const wrong = explore_plan(p, false, STATES_SOME, &found);

	if (wrong)
		fail_msg("%s: %s", p->name, wrong);
	assert_true(found.states > 0);
}

static void test_some_orders(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++)
		try_some(&plans[i]);
}

/* Tries the plans, or only the one that the environment names. */
static void try_each(const struct plan *list, size_t n)
{
	const char *const only = getenv("SPUR_SIM_PLAN");
	struct explored found;

	for (size_t i = 0; i < n; i++)
		if (!only || strcmp(list[i].name, only) == 0)
			try(&list[i], false, &found);
}

static void test_orders(void **state)
{
	(void)state;
	try_each(plans, sizeof(plans) / sizeof(*plans));
}

static void test_long_orders(void **state)
{
	(void)state;
	try_each(long_plans, sizeof(long_plans) / sizeof(*long_plans));
}

/* Both ways through the same plan have the same ends, and the first one has fewer states. */
static void compare(const struct explored *fewer, const struct explored *all)
{
	assert_true(all->states > fewer->states);
	assert_int_equal(all->ends, fewer->ends);
	assert_true(all->ends_sum == fewer->ends_sum);
}

/* A wait for the lock changes nothing but the lock: without its steps all ends are the same. */
static void test_waits(void **state)
{
	static struct plan two[] = {
		{ .name = "warm, cold", .writers = { WARM, COLD } },
		{ .name = "warm, end", .writers = { WARM }, .ends = true },
	};
	struct explored fewer, all;

	(void)state;
	for (size_t i = 0; i < sizeof(two) / sizeof(*two); i++) {
		try(&two[i], false, &all);
		two[i].waits_at_once = true;
		try(&two[i], false, &fewer);
		compare(&fewer, &all);
	}
}

/* What no other thread can see needs no choice: with one before each step all ends are the same. */
static void test_every_step(void **state)
{
	static const struct plan two[] = {
		{ .name = "warm, handler", .writers = { WARM }, .handlers = 1 },
		{ .name = "warm, warm", .writers = { WARM, WARM } },
	};
	struct explored fewer, all;

	(void)state;
	for (size_t i = 0; i < sizeof(two) / sizeof(*two); i++) {
		try(&two[i], false, &fewer);
		try(&two[i], true, &all);
		compare(&fewer, &all);
	}
}

/* Mutants that the first plans do not show are looked for in these first. */
static const struct {
	enum sim_mutant mutant;
	const char *plan;
} hints[] = {
	{ SIM_MAGIC_FIRST, "warm, end and start" },
	{ SIM_COMMIT_SKIPPED, "warm, ticks, handler" },
	{ SIM_RELEASE_MISSING, "start, handler" },
	{ SIM_STRING_LATE, "warm, warm, strings" },
	{ SIM_ALLOCATE_IGNORED, "cold, no room, handler" },
	{ SIM_LOCK_MISSING, "cold, cold" },
	{ SIM_END_KEPT, "another point, end and start" },
	{ SIM_USERS_MISSING, "end, dump" },
	{ SIM_DUMP_OPEN_SKIPPED, "warm, dump" },
	{ SIM_DUMP_LOST_SKIPPED, "cold, no room, dump" },
	{ SIM_DUMP_READ_ONCE, "page end, dump" },
	{ SIM_WIPE_SKIPPED, "ring" },
	{ SIM_WIPE_NUMBERED, "ring" },
	{ SIM_DUMP_REUSE_IGNORED, "ring, dump" },
	{ SIM_DUMP_DESCRIPTORS_FIRST, "page end, dump" },
	{ SIM_BOARD_KEPT, "session" },
};

/* Returns the number of the mutant's first plan. */
static size_t mutant_hint(void)
{
	for (size_t h = 0; h < sizeof(hints) / sizeof(*hints); h++)
		for (size_t k = 0; hints[h].mutant == mutant && k < sizeof(plans) / sizeof(*plans);
		     k++)
			if (!strcmp(plans[k].name, hints[h].plan))
				return k;
	return 0;
}

/*
 * Returns what the law says of the mutant, or NULL; *where gets the plan. Most are found by a few
 * states of some plan.
 */
static const char *mutant_find(const struct plan **where)
{
	static const uint64_t most[] = { 500, 6000 }; /* of each plan but the last one at last */
	static const size_t n = sizeof(plans) / sizeof(*plans);
	const size_t hint = mutant_hint();
	const char *wrong = NULL;
	struct explored found;

	*where = &plans[hint];
	if (hint)
		wrong = explore_plan(*where, false, 0, &found);
	for (size_t k = 0; !wrong && k < 2 * n; k++) {
		*where = &plans[k % n];
		wrong = explore_plan(*where, false, k + 1 < 2 * n ? most[k / n] : 0, &found);
	}
	return wrong;
}

/*
 * Seeds find these: plans would need one more thread, an event behind the session's begin, a
 * handler while it is joined, fibers, or a child process.
 */
static bool is_for_seeds(void)
{
	return mutant == SIM_NUMBER_REUSED || mutant == SIM_BOARD_ON_FIRST ||
	       mutant == SIM_LOST_NOT_RESET || mutant == SIM_FIBER_SKIPPED ||
	       mutant == SIM_FORK_UNSEEN;
}

static void test_mutants(void **state)
{
	static const char *const texts[] = {
#define X(name, text) text,
		SIM_MUTANTS(X)
#undef X
	};

	(void)state;
	for (mutant = SIM_NONE + 1; mutant < SIM_MUTANT_COUNT; mutant++) {
		const struct plan *where;
		double begun;
		const char *wrong;

		if (is_for_seeds())
			continue;
		begun = seconds();
		wrong = mutant_find(&where);
		if (!wrong)
			fail_msg("not found: %s", texts[mutant]);
		print_message("%s: %s: %s, %.2f s\n", where->name, texts[mutant], wrong,
			      seconds() - begun);
	}
	mutant = SIM_NONE;
}

/*
 * Most mutants are also found where others go on before each step, and where they do so as seldom
 * as explore.h allows; dumps have too many steps for that.
 */
static void test_mutants_each_way(void **state)
{
	unsigned n = 0;

	(void)state;
	for (mutant = SIM_NONE + 1; mutant < SIM_MUTANT_COUNT; mutant++) {
		const struct plan *where;
		struct plan fewest;
		struct explored found;

		if (is_for_seeds())
			continue;
		assert_non_null(mutant_find(&where));
		fewest = *where;
		fewest.apart = true;
		/* All that is behind the lock relies on it. */
		fewest.waits_at_once = mutant != SIM_LOCK_MISSING;
		n += explore_plan(where, true, STATES_OF_EACH, &found) &&
		     explore_plan(&fewest, false, STATES_OF_EACH, &found);
	}
	mutant = SIM_NONE;
	print_message("%u mutants are found each way\n", n);
	assert_true(n >= EACH_WAY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_every_step),
		cmocka_unit_test(test_mutants),
	};
	const struct CMUnitTest long_tests[] = {
		cmocka_unit_test(test_long_orders),
		cmocka_unit_test(test_mutants_each_way),
	};
	const struct CMUnitTest named_tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_long_orders),
	};
	const struct CMUnitTest some_tests[] = { cmocka_unit_test(test_some_orders) };
	const char *const sanitized = getenv("SANITIZED");
	int failed;

	if (getenv("SPUR_SIM_PLAN"))
		failed = cmocka_run_group_tests(named_tests, NULL, NULL);
	else if (getenv("SPUR_SIM_ORDERS"))
		failed = cmocka_run_group_tests(long_tests, NULL, NULL);
	else if (sanitized && *sanitized)
		failed = cmocka_run_group_tests(some_tests, NULL, NULL);
	else
		failed = cmocka_run_group_tests(tests, NULL, NULL);

	fflush(NULL);
	/* The library's destructor would end a recording on a machine that has crashed. */
	_exit(failed);
}
