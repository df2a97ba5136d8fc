/* Rows that are gathered track by track: none is lost, and those of a track stay in their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "pass/fold/gather.h"

enum { ROWS = 40000, BATCH = 512 };

struct seen {
	uint64_t next[ROWS]; /* the lowest number that the next row of a track may have */
	const uint32_t *tracks; /* of the rows */
	uint64_t rows, groups;
	uint32_t last; /* track */
	bool full; /* there is no memory */
};

static bool take(void *self, const struct spur_event *rows, size_t n)
{
	struct seen *s = self;

	if (s->full)
		return false;
	assert_true(n > 0);
	for (size_t i = 0; i < n; i++) {
		const uint64_t number = rows[i].id;

		assert_int_equal(rows[i].track, s->tracks[number]);
		assert_true(number >= s->next[rows[i].cls]);
		s->next[rows[i].cls] = number + 1;
		s->groups += rows[i].track != s->last;
		s->last = rows[i].track;
	}
	s->rows += n;
	return true;
}

/* Rows of `ntracks` tracks at random, whose numbers are `step` apart; in how many groups. */
static uint64_t groups_of(uint32_t ntracks, uint32_t step)
{
	struct spur_event *const rows = calloc(ROWS, sizeof(*rows));
	uint32_t *const tracks = calloc(ROWS, sizeof(*tracks));
	struct seen *const s = calloc(1, sizeof(*s));
	struct gather g = { .take = take, .self = s };
	uint64_t random = 1, groups;

	s->tracks = tracks;
	s->last = UINT32_MAX;
	for (uint32_t i = 0; i < ROWS; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		/* The class is the track's number among those that there are. */
		rows[i] = (struct spur_event){ .id = i, .cls = (uint32_t)(random >> 33) % ntracks };
		rows[i].track = tracks[i] = rows[i].cls * step;
	}
	for (size_t i = 0; i < ROWS; i += BATCH)
		assert_true(gather_add(&g, rows + i, i + BATCH < ROWS ? BATCH : ROWS - i));
	assert_true(gather_flush(&g));
	assert_int_equal(g.n, 0);
	assert_int_equal(s->rows, ROWS);
	gather_free(&g);
	groups = s->groups;
	free(rows);
	free(tracks);
	free(s);
	return groups;
}

static void test_tracks(void **state)
{
	(void)state;
	assert_int_equal(groups_of(1, 1), 1);
	assert_true(groups_of(2, 1) <= 2 * (ROWS / GATHER_ROWS + 1));
	assert_true(groups_of(7, 1) <= 7 * (ROWS / GATHER_ROWS + 2));
	/* Tracks whose slots are the same. */
	assert_true(groups_of(7, GATHER_SLOTS) <= 7 * (ROWS / GATHER_ROWS + 2));
	groups_of(GATHER_CHUNKS, 1);
	groups_of(GATHER_CHUNKS + 1, 1);
	groups_of(GATHER_CHUNKS + 1, GATHER_SLOTS);
	groups_of(ROWS / 2, 1);
	groups_of(ROWS / 2, 100001);
}

static void test_no_memory(void **state)
{
	struct spur_event rows[BATCH] = { 0 };
	static const uint32_t tracks[BATCH];
	struct seen *const s = calloc(1, sizeof(*s));
	struct gather g = { .take = take, .self = s };

	(void)state;
	s->tracks = tracks;
	for (uint32_t i = 0; i < BATCH; i++)
		rows[i].track = i;
	for (uint64_t i = 1; i <= 2; i++) {
		mem_fail_at(i);
		assert_false(gather_add(&g, rows, BATCH));
	}
	mem_fail_at(0);
	s->full = true;
	/* More tracks than chunks: some are handed on at once. */
	assert_false(gather_add(&g, rows, BATCH));
	gather_free(&g);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tracks),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
