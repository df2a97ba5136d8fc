/*
 * The index of open operations against a plain list, with ids that collide in its tables; reports
 * of async spans and flows where memory runs out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/map64.h"
#include "pass/fold/opens.h"
#include "unit/try_pass.h"

enum { LIST = 4000, STEPS = 20000 };

static const uint8_t masks[OPENS_LEVELS] = { 1 << OPEN_PROCESS | 1 << OPEN_CAT | 1 << OPEN_NAME,
					     1 << OPEN_PROCESS, 0 };

/* The list: oldest first. */
static struct open_key list[LIST];
static uint32_t rows[LIST];
static size_t nlist;

static bool same(const struct open_key *a, const struct open_key *b, uint8_t mask)
{
	bool equal = a->id == b->id;

	for (unsigned p = 0; p < OPEN_PARTS; p++)
		equal &= !(mask >> p & 1) || a->parts[p] == b->parts[p];
	return equal;
}

/* The place in the list of what the index should find; SIZE_MAX: nothing. */
static size_t list_find(const struct open_key *key)
{
	for (size_t k = 0; k < OPENS_LEVELS; k++)
		for (size_t i = nlist; i; i--)
			if (same(&list[i - 1], key, masks[k]))
				return i - 1;
	return SIZE_MAX;
}

static void list_remove(size_t at)
{
	nlist--;
	memmove(&list[at], &list[at + 1], (nlist - at) * sizeof(*list));
	memmove(&rows[at], &rows[at + 1], (nlist - at) * sizeof(*rows));
}

/* Adds and removes at random; `ids` of them are given. */
static void play(const uint64_t *ids, size_t n, unsigned adds)
{
	struct opens o;

	nlist = 0;
	opens_init(&o, masks, OPENS_LEVELS);
	for (uint32_t i = 0; i < STEPS; i++) {
		struct open_key key = { .id = ids[(size_t)rand() % n] };
		struct open *found;

		for (size_t p = 0; p < OPEN_PARTS; p++)
			key.parts[p] = (uint32_t)rand() % 3;
		if ((unsigned)rand() % 100 < adds && nlist < LIST) {
			found = opens_add(&o, &key);
			assert_non_null(found);
			found->row = rows[nlist] = i;
			list[nlist++] = key;
			continue;
		}
		found = opens_find(&o, &key);
		if (list_find(&key) == SIZE_MAX) {
			assert_null(found);
			continue;
		}
		assert_non_null(found);
		assert_int_equal(found->row, rows[list_find(&key)]);
		opens_remove(&o, found);
		list_remove(list_find(&key));
	}
	opens_free(&o);
}

static void test_random(void **state)
{
	uint64_t ids[500];

	(void)state;
	srand(1);
	for (size_t i = 0; i < 500; i++)
		ids[i] = i * i * i;
	play(ids, 1, 50);
	play(ids, 4, 49);
	play(ids, 500, 55);
}

/*
 * On the level that compares ids alone, these all belong to one place until there is another seed.
 */
static void test_collisions(void **state)
{
	static uint64_t ids[600];
	size_t n = 0;

	(void)state;
	srand(2);
	for (uint64_t id = 1; n < 600; id++)
		if ((hash64(id) & 4095) == 7)
			ids[n++] = id;
	play(ids, n, 60);
}

static void test_memory(void **state)
{
	static const char *const kinds[] = { "async", "flow", "flow", "flow" };
	static const char *const bys[] = { NULL, NULL, "step", "path" };
	struct tried tried = { .path = "tests/golden/fxt/async-flows/in",
			       .opt = { .threads = 1, .symbol_dirs = "/nonexistent" } };

	(void)state;
	assert_int_equal(access(tried.path, R_OK), 0);
	for (size_t i = 0; i < 4; i++) {
		tried.kind = kinds[i];
		tried.by = bys[i];
		for (unsigned form = FORM_TEXT; form <= FORM_CSV; form++)
			try_pass(&tried, pass_find("async", NULL), (enum output_form)form, false);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_collisions),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
