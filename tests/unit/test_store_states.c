/* What threads do, out of a store, against `spur sched` for every golden. */
#include "unit/subject.h"

#include "pass/sched/state.h"

/* The time of each state of a track's lane, but for the last one, whose end is not known. */
static void states_add(const struct store *s, uint32_t lane, uint64_t sums[3])
{
	struct store_doing d;
	int64_t last = INT64_MIN;

	for (uint64_t i = 0; store_doing(s, lane, i, &d); i++) {
		assert_true(d.start >= last && d.end >= d.start);
		last = d.end;
		if (!d.last)
			sums[d.state] += (uint64_t)(d.end - d.start);
	}
}

static size_t compared, woken;

/* SPEC store/states, SPEC store/waker: by the wake-ups of all goldens. */
static void states_compare(struct subject *s, const char *path)
{
	struct sched k = { 0 };

	if (store_facts(s->store).facts & STORE_BACK)
		return;
	sched_init(&k, s->trace);
	assert_true(sched_rows(&k, (struct marked_rows){ .rows = s->rows, .n = s->n }));
	for (uint32_t i = 0; i < store_facts(s->store).tracks; i++) {
		const struct sched_thread *t = i < k.nthreads ? k.threads[i].thread : NULL;
		const uint32_t lane = store_states(s->store, i);
		uint64_t sums[3] = { 0 };

		if (lane != SPUR_NONE)
			states_add(s->store, lane, sums);
		/* Those of all CPUs are one. */
		if (t && t->idle && lane == SPUR_NONE)
			continue;
		if (t && (sums[STORE_RUNNING] != t->running ||
			  sums[STORE_RUNNABLE] != t->runnable || sums[STORE_BLOCKED] != t->blocked))
			fail_msg("%s: track %u: expected %llu, %llu, %llu, found %llu, %llu, %llu",
				 path, i, (unsigned long long)t->running,
				 (unsigned long long)t->runnable, (unsigned long long)t->blocked,
				 (unsigned long long)sums[0], (unsigned long long)sums[1],
				 (unsigned long long)sums[2]);
		compared += t && t->running + t->runnable + t->blocked;
		woken += t && t->wakeups;
	}
	sched_free(&k);
}

static void test_sched(void **state)
{
	(void)state;
	assert_true(each_golden(states_compare) >= 150);
	assert_true(compared >= 30 && woken >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
