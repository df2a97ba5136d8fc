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
#include <sys/mman.h>
#include <unistd.h>

#include "sim/record/law.h"
#include "sim/record/machine.h"
#include "sim/record/scenario.h"
#include "spur.h"

enum { RUNS = 10000, READS_OF = 64, RUNS_OF_MUTANTS = 4000 };

static uint8_t image[SIM_FILE_MOST];
static int memory_file = -1;
static bool with_library;

/* --- reading with the library --- */

static bool is_whole(const char *name, uint64_t n, const struct spur_args *args)
{
	if (strcmp(name, "pair") == 0)
		return args->count == 2 && args->items[1].u == ~n;
	for (size_t i = 1; i < args->count; i++)
		for (size_t k = 0; k < args->items[i].count; k++)
			if (args->items[i].text[k] != law_text(n, k))
				return false;
	return true;
}

static void read_row(struct spur_trace *t, const struct spur_event *row)
{
	const char *const name = spur_string(t, row->name, NULL);
	struct spur_args args = { 0 };
	uint64_t n;

	if (row->kind == SPUR_LOST) {
		law_read_lost(row->id);
		return;
	}
	if (row->kind != SPUR_INSTANT) {
		law_read_damage();
		return;
	}
	if (strcmp(name, "tick") == 0) {
		law_read_tick();
		return;
	}
	if (spur_args(t, row, &args) != SPUR_OK || !args.count) {
		law_read_damage();
	} else {
		n = args.items[0].u;
		law_read_event(n, n && is_whole(name, n, &args));
	}
	spur_args_free(&args);
}

/* Reads what `image` has with the library. */
static void read_image(size_t size)
{
	static const struct spur_options options = SPUR_OPTIONS(.format = "spur");
	const struct spur_event *rows;
	struct spur_trace *t = NULL;
	struct spur_error err;
	char path[32];
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory_file);
	assert_int_equal(ftruncate(memory_file, 0), 0);
	assert_int_equal(pwrite(memory_file, image, size, 0), size);
	if (spur_open(&t, path, &options, &err) == SPUR_FAIL)
		return; /* A file whose header is not complete is no recording. */
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			read_row(t, &rows[i]);
	if (spur_damage_count(t))
		law_read_damage();
	spur_close(t);
}

/* --- the law --- */

static struct {
	uint64_t crashes, library, events, steps;
} done;

/* Reads all files as they are after a crash, or at the end, and checks the law. */
static void check_reading(enum sim_crash crash, enum law_moment moment)
{
	static uint8_t images[SIM_FILES][SIM_FILE_MOST];
	size_t sizes[SIM_FILES];
	const uint64_t lost = scenario_lost();
	const char *wrong;
	uint64_t sum;

	law_read_begin();
	for (unsigned i = 0; i < sim_files(); i++) {
		sizes[i] = sim_image(i, crash, images[i]);
		parse(images[i], sizes[i]);
	}
	wrong = law_check(moment, lost);
	if (wrong)
		sim_fail(wrong);
	done.crashes++;
	if (sim_random(READS_OF) || wrong || !with_library)
		return;
	sum = law_read_sum();
	law_read_begin();
	for (unsigned i = 0; i < sim_files(); i++) {
		memcpy(image, images[i], sizes[i]);
		read_image(sizes[i]);
	}
	wrong = law_check(moment, lost);
	if (wrong)
		sim_fail(wrong);
	else if (moment != LAW_POWER && law_read_sum() != sum)
		sim_fail("the library reads another thing than the specification says");
	done.library++;
}

static void crash(void)
{
	static const enum sim_crash crashes[] = { SIM_KILL, SIM_REORDER, SIM_POWER };
	const enum sim_crash how = crashes[sim_random(3)];

	check_reading(how, how == SIM_POWER ? LAW_POWER : LAW_CRASH);
}

static void killed(void)
{
	check_reading(SIM_KILL, LAW_CRASH);
}

/* --- runs --- */

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
	struct scenario s;
	unsigned others;
	bool forks;

	sim_begin(&o);
	s.events = 1 + (unsigned)sim_random(12);
	s.large = (unsigned)sim_random(9);
	s.mode = sim_random(2) ? 0 : 1 + (unsigned)sim_random(2);
	s.chunks = 2 + (unsigned)sim_random(3);
	law_begin(s.mode == 1);
	scenario_set(&s);
	forks = o.full_at == SIM_NEVER && o.map_fails_at == SIM_NEVER && !sim_random(3);
	others = forks ? 0 : (unsigned)sim_random(4);
	sim_on_crash(crash);
	sim_thread_add(scenario_first, scenario_handler);
	sim_thread_add(scenario_writer, scenario_handler);
	if (others == 1)
		sim_thread_add(scenario_switcher, NULL);
	if (others == 2)
		sim_thread_add(scenario_pauser, NULL);
	if (forks)
		sim_thread_add(scenario_forker, NULL);
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

static uint64_t runs_wanted(void)
{
	const char *const s = getenv("SPUR_SIM_RUNS");

	return s ? strtoull(s, NULL, 10) : RUNS;
}

static void test_random(void **state)
{
	const uint64_t runs = runs_wanted();

	(void)state;
	with_library = true;
	for (uint64_t seed = 1; seed <= runs; seed++) {
		const char *const wrong = run_seed(seed, SIM_NONE);

		if (wrong)
			fail_msg("seed %llu, step %llu: %s", (unsigned long long)seed,
				 (unsigned long long)sim_steps(), wrong);
	}
	print_message(
		"%llu runs: %llu events in %llu steps, %llu crashes, %llu of them read by the "
		"library\n",
		(unsigned long long)runs, (unsigned long long)done.events,
		(unsigned long long)done.steps, (unsigned long long)done.crashes,
		(unsigned long long)done.library);
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
		sim_on_crash(killed);
		sim_thread_add(scenario_one, scenario_one);
		sim_thread_add(scenario_one, scenario_one);
		sim_run();
		*steps = sim_steps();
	}
	o.crashes = 0;
	o.switch_at = o.handler_at = 0;
	sim_change(&o);
	if (!sim_failure()) {
		sim_thread_add(scenario_last, NULL);
		sim_run();
	}
	if (!sim_failure())
		check_reading(SIM_KILL, LAW_END);
	return sim_failure();
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
	with_library = true;
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

static void test_mutants(void **state)
{
	static const char *const texts[] = {
#define X(name, text) text,
		SIM_MUTANTS(X)
#undef X
	};

	(void)state;
	with_library = false;
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
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_mutants),
	};
	int failed;

	memory_file = memfd_create("recording", MFD_CLOEXEC);
	if (memory_file < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	fflush(NULL);
	/* The library's destructor would end a recording on a machine that has crashed. */
	_exit(failed);
}
