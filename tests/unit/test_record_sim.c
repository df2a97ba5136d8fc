/*
 * The tracing library on a simulated machine, whose threads, signal handlers and crashes come in
 * any order. tests/sim/record/law.h has the law.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/record/check.h"
#include "sim/record/law.h"
#include "sim/record/machine.h"
#include "sim/record/scenario.h"

enum { RUNS = 10000, RUNS_OF_MUTANTS = 4000, CALLS = 8, FULL_FOR = 2 };

/* --- runs --- */

static struct {
	uint64_t events, steps;
} done;

static unsigned one_of(const unsigned *list, size_t n)
{
	return list[sim_random(n)];
}

/* What a seed means. */
static struct sim_options options_of(uint64_t seed, enum sim_mutant mutant)
{
	static const unsigned often[] = { 8, 32, 128, 512 }, handlers[] = { 4, 16, 64 };
	struct sim_options o = { .seed = seed, .full_at = SIM_NEVER, .map_fails_at = SIM_NEVER };

	sim_begin(&o);
	o.mutant = mutant;
	o.switches = one_of(often, 4);
	o.handlers = one_of(handlers, 3);
	o.crashes = (unsigned)sim_random(8);
	o.handlers_most = (unsigned)sim_random(8);
	if (!sim_random(3)) {
		o.full_at = (int)sim_random(12);
		o.full_for = 1 + (int)sim_random(4);
	}
	if (!sim_random(4)) {
		o.map_fails_at = (int)sim_random(12);
		o.map_fails_for = 1 + (int)sim_random(4);
	}
	return o;
}

/* Returns NULL, or what is wrong. */
static const char *run_seed(uint64_t seed, enum sim_mutant mutant)
{
	const struct sim_options o = options_of(seed, mutant);
	struct scenario s = { 0 };
	unsigned others;
	unsigned dumps;
	bool forks, forking_handlers, sessions;

	sim_begin(&o);
	s.events = 1 + (unsigned)sim_random(12);
	s.large = (unsigned)sim_random(9);
	s.mode = sim_random(2) ? 0 : 1 + (unsigned)sim_random(2);
	s.chunks = 2 + (unsigned)sim_random(3);
	s.strings = sim_random(3) == 0;
	s.fibers = sim_random(3) == 0;
	law_begin(s.mode == 1);
	dumps = (unsigned)sim_random(4);
	forks = o.full_at == SIM_NEVER && o.map_fails_at == SIM_NEVER && !sim_random(3);
	forking_handlers = forks && sim_random(2);
	sessions =
		!forks && o.full_at == SIM_NEVER && o.map_fails_at == SIM_NEVER && !sim_random(2);
	s.sessions = sessions ? 1 + (unsigned)sim_random(2) : 0;
	s.session_steps = (unsigned)sim_random(400);
	s.kills_session = (unsigned)sim_random(3);
	s.lists = 1 + (unsigned)sim_random(2);
	s.list_steps = (unsigned)sim_random(800);
	scenario_set(&s);
	others = forks || sessions ? 0 : (unsigned)sim_random(5);
	sim_on_crash(check_crash);
	sim_on_dump(check_dump);
	if (sessions) {
		sim_thread_add(scenario_find, NULL);
		sim_run();
		sim_thread_add(scenario_session, NULL);
	}
	sim_thread_add(sessions ? scenario_writer : scenario_first, scenario_handler);
	sim_thread_add(scenario_writer, scenario_handler);
	if (dumps == 1)
		sim_thread_add(scenario_dump, NULL);
	if (dumps == 2)
		sim_thread_add(scenario_writer, scenario_dump);
	if (dumps == 3)
		sim_thread_add(scenario_snapshot, NULL);
	if (others == 1)
		sim_thread_add(scenario_switcher, NULL);
	if (others == 2)
		sim_thread_add(scenario_pauser, NULL);
	if (others == 4)
		sim_thread_add(scenario_lister, NULL);
	if (forks)
		sim_thread_add(forking_handlers ? scenario_writer : scenario_forker,
			       forking_handlers ? scenario_forking_handler : NULL);
	if (!sim_run()) {
		sim_thread_add(scenario_last, NULL);
		sim_run();
	}
	if (!sim_failure())
		check_reading(SIM_KILL, LAW_END);
	done.steps += sim_steps();
	done.events += law_started();
	return sim_failure();
}

/* A number from the environment. */
static uint64_t wanted(const char *name, uint64_t usual)
{
	const char *const s = getenv(name);

	return s ? strtoull(s, NULL, 10) : usual;
}

static void test_random(void **state)
{
	const uint64_t usual = getenv("SANITIZED") ? RUNS / 4 : RUNS;
	const uint64_t runs = wanted("SPUR_SIM_RUNS", usual), first = wanted("SPUR_SIM_FROM", 1);

	(void)state;
	check_library = true;
	for (uint64_t seed = first; seed < first + runs; seed++) {
		const char *const wrong = run_seed(seed, SIM_NONE);

		if (wrong)
			fail_msg("seed %llu, step %llu: %s", (unsigned long long)seed,
				 (unsigned long long)sim_steps(), wrong);
	}
	print_message(
		"%llu runs: %llu events in %llu steps, %llu crashes, %llu of them read by the "
		"library, %llu recovered twice, %llu dumps\n",
		(unsigned long long)runs, (unsigned long long)done.events,
		(unsigned long long)done.steps, (unsigned long long)check_counts.crashes,
		(unsigned long long)check_counts.library,
		(unsigned long long)check_counts.recoveries,
		(unsigned long long)check_counts.dumps);
}

/* Ends the recording with nothing between, and reads it. Returns NULL, or what is wrong. */
static const char *run_last(struct sim_options *o)
{
	o->crashes = 0;
	o->switch_at = o->handler_at = 0;
	sim_change(o);
	if (!sim_failure()) {
		sim_thread_add(scenario_last, NULL);
		sim_run();
	}
	if (!sim_failure())
		check_reading(SIM_KILL, LAW_END);
	return sim_failure();
}

/*
 * Two threads that record an event each, and a handler that records one, at exact steps. Returns
 * NULL, or what is wrong; *steps gets how many there were.
 */
static const char *run_exact(uint64_t switch_at, uint64_t handler_at, bool crashes, uint64_t *steps)
{
	const struct scenario s = { .events = 1, .chunks = 2 };
	struct sim_options o = { .full_at = SIM_NEVER, .map_fails_at = SIM_NEVER, .exact = true };

	sim_begin(&o);
	law_begin(false);
	scenario_set(&s);
	sim_thread_add(scenario_start, NULL);
	if (!sim_run()) {
		o.switch_at = switch_at;
		o.handler_at = handler_at;
		o.crashes = crashes;
		sim_change(&o);
		sim_on_crash(check_kill);
		sim_thread_add(scenario_one, scenario_one);
		sim_thread_add(scenario_one, scenario_one);
		sim_run();
		*steps = sim_steps();
	}
	return run_last(&o);
}

static void exact(uint64_t switch_at, uint64_t handler_at, bool crashes, uint64_t *steps)
{
	const char *const wrong = run_exact(switch_at, handler_at, crashes, steps);

	if (wrong)
		fail_msg("another thread at step %llu, a handler at step %llu: step %llu: %s",
			 (unsigned long long)switch_at, (unsigned long long)handler_at,
			 (unsigned long long)sim_steps(), wrong);
}

/*
 * Three events: every step at which the first thread may be interrupted by the other one, with
 * every step at which a handler may begin; and a kill at every step where one of the two happens.
 */
static void test_exact(void **state)
{
	uint64_t steps = 0, most, runs = 0;

	(void)state;
	check_library = true;
	exact(0, 0, true, &steps);
	for (uint64_t at = 1; at <= steps; at++) {
		most = steps;
		exact(at, 0, true, &most);
		exact(0, at, true, &most);
	}
	for (uint64_t at = 1; at <= steps; at++) {
		most = steps;
		for (uint64_t handler = 1; handler <= most; handler++, runs++)
			exact(at, handler, false, &most);
	}
	print_message("%llu steps, %llu pairs\n", (unsigned long long)steps,
		      (unsigned long long)runs);
}

/* --- forks --- */

/*
 * A thread that records an event, one that forks, and the child, which records one too; `inside`: a
 * handler of the first thread forks instead. Another thread goes on at one step, a
 * handler begins at another one. Returns NULL, or what is wrong.
 */
static const char *run_fork(bool inside, uint64_t switch_at, uint64_t handler_at, bool crashes,
			    uint64_t *steps)
{
	const struct scenario s = { .events = 1, .chunks = 2, .fibers = true };
	struct sim_options o = {
		.full_at = SIM_NEVER, .map_fails_at = SIM_NEVER, .handlers_most = 1, .exact = true
	};

	sim_begin(&o);
	law_begin(false);
	scenario_set(&s);
	sim_thread_add(scenario_start, NULL);
	if (!sim_run()) {
		o.switch_at = switch_at;
		o.handler_at = handler_at;
		o.crashes = crashes;
		sim_change(&o);
		sim_on_crash(check_kill);
		sim_thread_add(scenario_writer, inside ? scenario_forking_handler : scenario_one);
		sim_thread_add(inside ? scenario_one : scenario_forker, NULL);
		sim_run();
		*steps = sim_steps();
	}
	return run_last(&o);
}

static void fork_exact(bool inside, uint64_t switch_at, uint64_t handler_at, bool crashes,
		       uint64_t *steps)
{
	const char *const wrong = run_fork(inside, switch_at, handler_at, crashes, steps);

	if (wrong)
		fail_msg("%s, another thread at step %llu, a handler at step %llu: step %llu: %s",
			 inside ? "a handler forks" : "a thread forks",
			 (unsigned long long)switch_at, (unsigned long long)handler_at,
			 (unsigned long long)sim_steps(), wrong);
}

/*
 * Every step at which a fork, or a handler that forks, may interrupt a thread that records, for one
 * of `KILLS_OF` with a kill at each step; and one of `PAIRS_OF` pairs of both.
 */
static void test_forks(void **state)
{
	enum { PAIRS_OF = 101, KILLS_OF = 4 };
	uint64_t runs = 0;

	(void)state;
	/* Its reader is tried by the others: here it would take most of the time. */
	check_library = false;
	for (int inside = 0; inside < 2; inside++) {
		uint64_t steps = 0, most;

		fork_exact(inside, 0, 0, true, &steps);
		for (uint64_t at = 1; at <= steps; at++, runs++) {
			most = steps;
			fork_exact(inside, at, 0, at % KILLS_OF == 0, &most);
			fork_exact(inside, 0, at, at % KILLS_OF == 0, &most);
		}
		for (uint64_t at = 1; at <= steps; at++)
			for (uint64_t k = at % PAIRS_OF + 1; k <= steps; k += PAIRS_OF, runs++) {
				most = steps;
				fork_exact(inside, at, k, false, &most);
			}
		print_message("%llu steps, %llu runs\n", (unsigned long long)steps,
			      (unsigned long long)runs);
	}
}

/* --- no room --- */

/* As run_exact() without another thread, where allocations or mappings fail from `at` on. */
static const char *run_full(uint64_t handler_at, int full_at, int map_fails_at, uint64_t *steps)
{
	const struct scenario s = { .events = 1, .large = 16, .chunks = 2 };
	struct sim_options o = { .full_at = full_at,
				 .full_for = FULL_FOR,
				 .map_fails_at = map_fails_at,
				 .map_fails_for = FULL_FOR,
				 .exact = true };

	sim_begin(&o);
	law_begin(false);
	scenario_set(&s);
	o.handler_at = handler_at;
	o.crashes = !handler_at;
	sim_change(&o);
	sim_on_crash(check_each_crash);
	sim_thread_add(scenario_first, scenario_one);
	if (!sim_run()) {
		*steps = sim_steps();
		o.crashes = 0;
		o.handler_at = 0;
		sim_change(&o);
		sim_thread_add(scenario_last, NULL);
		sim_run();
	}
	if (!sim_failure())
		check_reading(SIM_KILL, LAW_END);
	return sim_failure();
}

/*
 * Each allocation and each mapping fails, and some after it: with a crash of each kind at every
 * step, and with a handler that begins at every step.
 */
static void test_no_room(void **state)
{
	uint64_t runs = 0;

	(void)state;
	check_library = true;
	for (int at = 0; at < 2 * CALLS; at++) {
		const int full_at = at < CALLS ? at : SIM_NEVER;
		const int map_fails_at = at < CALLS ? SIM_NEVER : at - CALLS;
		uint64_t steps = 1, most = 1;

		for (uint64_t handler = 0; handler <= most; handler++, runs++) {
			const char *const wrong = run_full(handler, full_at, map_fails_at, &steps);

			if (!handler)
				most = steps;
			if (wrong)
				fail_msg("no room from call %d on, a handler at step %llu: step "
					 "%llu: %s",
					 at, (unsigned long long)handler,
					 (unsigned long long)sim_steps(), wrong);
		}
	}
	print_message("%llu runs without room\n", (unsigned long long)runs);
}

static void test_mutants(void **state)
{
	static const char *const texts[] = {
#define X(name, text) text,
		SIM_MUTANTS(X)
#undef X
	};

	(void)state;
	check_library = false;
	for (unsigned m = SIM_NONE + 1; m < SIM_MUTANT_COUNT; m++) {
		const char *wrong = NULL;
		uint64_t seed = 0;

		while (!wrong && ++seed <= RUNS_OF_MUTANTS)
			wrong = run_seed(seed, m);
		if (!wrong)
			fail_msg("not found: %s", texts[m]);
		print_message("seed %4llu: %s: %s\n", (unsigned long long)seed, texts[m], wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),	cmocka_unit_test(test_forks),
		cmocka_unit_test(test_no_room), cmocka_unit_test(test_random),
		cmocka_unit_test(test_mutants),
	};
	const struct CMUnitTest seeds[] = { cmocka_unit_test(test_random) };
	int failed;

	/* With seeds of one's own, only these. */
	failed = getenv("SPUR_SIM_FROM") ? cmocka_run_group_tests_name("seeds", seeds, NULL, NULL)
					 : cmocka_run_group_tests(tests, NULL, NULL);
	fflush(NULL);
	/* The library's destructor would end a recording on a machine that has crashed. */
	_exit(failed);
}
