/* Text that is made once per id: kept for the first ids, made again for those past them. */
#include "fake.h"

#include <stdio.h>

#include "render/frag.h"

enum { MANY = FRAG_KEPT + 500, ROUNDS = 3 };

static unsigned made; /* calls of the maker */

/* The text of an id is `id` times "x" (of ids below 100), and its number. */
static void maker(const void *self, const struct spur_event *row, struct frag *f, struct out *o)
{
	(void)self;
	made++;
	f->user = row->cls + 1;
	f->key = (uint64_t)row->cls << 32;
	for (uint32_t i = 0; i < row->cls && row->cls < 100; i++)
		out_char(o, 'x');
	out_printf(o, "%u", row->cls);
}

static void check(const struct frag *f, uint32_t id)
{
	char expected[128], piece[FRAG_PIECE * 8];
	int n = id < 100 ? (int)id : 0;

	assert_non_null(f);
	n = snprintf(expected, sizeof(expected), "%.*s%u", n,
		     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		     id);
	assert_int_equal(f->len, n);
	/* Whole pieces can be read. */
	assert_ptr_equal(put_frag(piece, f), piece + n);
	assert_memory_equal(piece, expected, (size_t)n);
	assert_int_equal(f->user, id + 1);
	assert_int_equal(f->key, (uint64_t)id << 32);
}

static void kept_and_not(void **state)
{
	struct frag_table *t = frag_new(maker, NULL);
	struct frag_user user = { 0 };

	(void)state;
	made = 0;
	for (int round = 0; round < ROUNDS; round++)
		for (uint32_t id = 0; id < MANY; id++) {
			const struct spur_event row = { .cls = id };

			check(frag_get(t, id, &row, &user), id);
			check(frag_get(t, id, &row, &user), id);
		}
	assert_int_equal(made, FRAG_KEPT + ROUNDS * (MANY - FRAG_KEPT));
	assert_null(user.home);
	/* Nothing past the kept ids is in the table. */
	assert_non_null(frag_seen(t, FRAG_KEPT - 1));
	assert_null(frag_seen(t, FRAG_KEPT));
	frag_user_free(&user);
	frag_free(t);
}

/* A user's first id is its own, whatever others ask for; texts of two users do not touch. */
static void home(void **state)
{
	static const uint32_t firsts[] = { 5, 5, MANY, 70 };
	struct frag_table *t = frag_new(maker, NULL);
	struct frag_user users[4] = { 0 };

	(void)state;
	made = 0;
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < 4; i++) {
			const uint32_t ids[] = { firsts[i], 6, MANY + 1 + (uint32_t)i, firsts[i] };
			const struct frag *own = NULL;

			for (size_t k = 0; k < 4; k++) {
				const struct spur_event row = { .cls = ids[k] };
				const struct frag *f = frag_of(t, ids[k], &row, &users[i]);

				check(f, ids[k]);
				own = own ? own : f;
			}
			check(own, firsts[i]);
			assert_ptr_equal(own, &users[i].home->frag);
		}
	/* Four homes, one text in the table, and a guest a user. */
	assert_int_equal(made, 4 + 1 + 4);
	assert_null(frag_seen(t, 5));
	for (size_t i = 0; i < 4; i++)
		frag_user_free(&users[i]);
	frag_free(t);
}

static void refused(void **state)
{
	(void)state;
	for (uint64_t n = 1;; n++) {
		struct frag_table *t = frag_new(maker, NULL);
		struct frag_user user = { 0 };
		const struct frag *own, *guest;

		mem_fail_at(n);
		own = frag_of(t, 7, &(struct spur_event){ .cls = 7 }, &user);
		guest = frag_of(t, MANY, &(struct spur_event){ .cls = MANY }, &user);
		if (mem_count() < n)
			n = 0;
		mem_fail_at(0);
		if (own)
			check(&user.home->frag, 7);
		if (guest)
			check(guest, MANY);
		frag_user_free(&user);
		frag_free(t);
		if (!n) {
			assert_true(own && guest);
			return;
		}
		assert_false(own && guest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_and_not),
		cmocka_unit_test(home),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
