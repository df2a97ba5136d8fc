/* base/mem.h, base/err.h, base/intern.h, each with allocations that fail too. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/pool.h"

static bool all_zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i])
			return false;
	}
	return true;
}

static void test_alloc(void **state)
{
	char *p = mem_alloc(1000);

	(void)state;
	assert_non_null(p);
	assert_true(all_zero(p, 1000));
	mem_free(p);
	p = mem_alloc(0);
	assert_non_null(p);
	mem_free(p);
	mem_free(NULL);
	assert_null(mem_array(SIZE_MAX / 2, 3));
	assert_null(mem_alloc(SIZE_MAX));
}

static void test_grow(void **state)
{
	uint32_t *a = NULL;
	uint32_t *old;
	size_t cap = 0;

	(void)state;
	assert_true(mem_grow((void **)&a, &cap, 1, sizeof(*a), 1000));
	assert_true(cap >= 1 && cap <= 1000);
	for (size_t i = 0; i < 1000; i++) {
		assert_true(mem_grow((void **)&a, &cap, i + 1, sizeof(*a), 1000));
		assert_int_equal(a[i], 0);
		a[i] = (uint32_t)i + 1;
	}
	assert_int_equal(cap, 1000);
	old = a;
	assert_false(mem_grow((void **)&a, &cap, 1001, sizeof(*a), 1000));
	assert_ptr_equal(a, old);
	assert_int_equal(cap, 1000);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(a[i], i + 1);
	assert_false(mem_grow((void **)&a, &cap, SIZE_MAX / 2, sizeof(*a), SIZE_MAX));
	mem_fail_at(1);
	assert_false(mem_grow((void **)&a, &cap, 1001, sizeof(*a), 2000));
	mem_fail_at(0);
	assert_int_equal(a[999], 1000);
	mem_free(a);
}

static void test_fail_at(void **state)
{
	struct arena a;
	void *p;

	(void)state;
	mem_fail_at(3);
	p = mem_alloc(1);
	assert_non_null(p);
	mem_free(p);
	p = scratch_alloc(1);
	assert_non_null(p);
	scratch_free(p, 1);
	assert_null(mem_alloc(1));
	assert_null(mem_alloc(1));
	assert_null(scratch_alloc(1));
	arena_init(&a);
	assert_null(arena_alloc(&a, 1));
	assert_int_equal(mem_count(), 6);
	mem_fail_at(UINT64_MAX);
	assert_non_null(arena_alloc(&a, 1));
	assert_non_null(arena_alloc(&a, 1));
	assert_int_equal(mem_count(), 1);
	mem_fail_at(0);
	assert_non_null(arena_alloc(&a, 1));
	arena_free(&a);
}

/* Grows from the heap to a mapping to a file; what was stored stays, what is new is zero. */
static void test_scratch_reserve(void **state)
{
	uint64_t *p = NULL;
	size_t cap = 0;

	(void)state;
	for (size_t need = 1; need <= 4 << 20; need *= 4) {
		const size_t before = cap;

		assert_true(scratch_reserve((void **)&p, &cap, need, sizeof(*p)));
		assert_true(cap >= need && p[cap - 1] == 0);
		for (size_t i = 0; i < before; i++)
			assert_int_equal(p[i], i + 1);
		for (size_t i = before; i < cap; i++)
			p[i] = i + 1;
	}
	assert_false(scratch_reserve((void **)&p, &cap, SIZE_MAX / 4, sizeof(*p)));
	assert_true(p[cap - 1] == cap);
	scratch_free(p, cap * sizeof(*p));
}

/* Grows from the heap to a file, up to the limit; what was stored stays, what is new is zero. */
static void test_table(void **state)
{
	const size_t size = sizeof(uint32_t), limit = 1 << 20;
	uint32_t *p = NULL;
	size_t cap = 0;

	(void)state;
	for (size_t need = 1; need <= limit; need = need < 1000 ? need * 9 : need + need / 3) {
		const size_t before = cap;

		assert_true(mem_table_grow((void **)&p, &cap, need, size, limit));
		assert_true(cap >= need && cap <= limit);
		for (size_t i = 0; i < cap; i++)
			assert_int_equal(p[i], i < before ? i + 1 : 0);
		for (size_t i = before; i < cap; i++)
			p[i] = (uint32_t)i + 1;
	}
	assert_false(mem_table_grow((void **)&p, &cap, limit + 1, size, limit));
	assert_true(mem_table_grow((void **)&p, &cap, limit, size, limit));
	assert_true(cap == limit && p[0] == 1);
	mem_table_free(p, cap, size);
	assert_null(mem_table_alloc(SIZE_MAX, 2));
	mem_table_free(NULL, 1 << 20, 4);
}

/* A growth that fails leaves the table as it was, on the heap and in a file. */
static void test_table_fails(void **state)
{
	(void)state;
	for (size_t n = 1; n < 1 << 20; n *= 64) {
		uint64_t *p = NULL;
		size_t cap = 0;

		assert_true(mem_table_grow((void **)&p, &cap, n, sizeof(*p), SIZE_MAX));
		p[n - 1] = 5;
		mem_fail_at(1);
		assert_false(mem_table_grow((void **)&p, &cap, cap + 1, sizeof(*p), SIZE_MAX));
		mem_fail_at(0);
		assert_true(cap >= n && p[n - 1] == 5);
		mem_table_free(p, cap, sizeof(*p));
	}
}

static void test_arena_scratch(void **state)
{
	enum { N = 50000, SIZE = 100 };
	struct arena a;
	char **items = mem_array(N, sizeof(*items));

	(void)state;
	assert_non_null(items);
	arena_init_scratch(&a);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < N; i++) {
			items[i] = arena_alloc(&a, SIZE);
			assert_non_null(items[i]);
			for (size_t k = 0; k < SIZE; k++)
				assert_int_equal(items[i][k], 0);
			memset(items[i], (int)(i % 100) + 1, SIZE);
		}
		for (size_t i = 0; i < N; i++)
			assert_true(items[i][0] == (char)(i % 100 + 1) &&
				    items[i][SIZE - 1] == items[i][0]);
		arena_reset(&a);
	}
	arena_free(&a);
	assert_true(a.scratch && !a.blocks);
	mem_free(items);
}

/* Arrays come back with their capacity, the last one first. */
static void test_spare(void **state)
{
	struct mem_spare s = { 0 };
	uint64_t *a[3] = { NULL }, *p = NULL;
	size_t caps[3] = { 0 }, cap = 0;

	(void)state;
	mem_spare_take(&s, (void **)&p, &cap);
	assert_true(!p && !cap);
	mem_spare_put(&s, (void **)&p, &cap);
	assert_null(s.first);
	for (size_t i = 0; i < 3; i++) {
		assert_true(mem_grow((void **)&a[i], &caps[i], (size_t)10 << i, sizeof(**a), 1000));
		mem_spare_put(&s, (void **)&a[i], &caps[i]);
		assert_true(!a[i] && !caps[i]);
	}
	mem_spare_take(&s, (void **)&p, &cap);
	assert_true(p && cap >= 40);
	p[cap - 1] = 1;
	mem_free(p);
	p = NULL;
	mem_spare_take(&s, (void **)&p, &cap);
	assert_true(p && cap >= 20 && cap < 40);
	mem_free(p);
	mem_spare_free(&s);
	assert_null(s.first);
}

/* Pieces of all sizes do not overlap, are zero when they are handed out again, and are aligned. */
static void test_pool(void **state)
{
	enum { N = 16000 };
	unsigned char **pieces = mem_array(N, sizeof(*pieces));

	(void)state;
	assert_non_null(pieces);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < N; i++) {
			const size_t size = 1 + i % 4200;

			pieces[i] = pool_alloc(size);
			assert_non_null(pieces[i]);
			assert_int_equal((uintptr_t)pieces[i] % 16, 0);
			assert_true(!pieces[i][0] && !pieces[i][size / 2] && !pieces[i][size - 1]);
			memset(pieces[i], (int)(i % 251) + 1, size);
		}
		/* Every other one first, so that pieces are given out again. */
		for (size_t from = 0; from < 2; from++)
			for (size_t i = from; i < N; i += 2) {
				const size_t size = 1 + i % 4200;

				assert_int_equal(pieces[i][0], i % 251 + 1);
				assert_int_equal(pieces[i][size - 1], i % 251 + 1);
				pool_free(pieces[i], size);
				if (from || i % 4)
					continue;
				pieces[i] = pool_alloc(size);
				assert_true(pieces[i] && !pieces[i][size - 1]);
				pool_free(pieces[i], size);
			}
	}
	mem_fail_at(1);
	assert_null(pool_alloc(5000));
	assert_null(pool_strdup("none", 4));
	mem_fail_at(0);
	pieces[0] = (unsigned char *)pool_strdup("text", 3);
	assert_string_equal((char *)pieces[0], "tex");
	pool_strfree((char *)pieces[0]);
	pool_strfree(NULL);
	pool_free(NULL, 10);
	mem_free(pieces);
}

/* An array of the pool keeps its elements while it grows, also into a table. */
static void test_pool_grow(void **state)
{
	enum { MOST = 100000 };
	uint64_t *p = NULL;
	size_t cap = 0, filled = 0;

	(void)state;
	for (size_t n = 1; n <= MOST; n = n * 3 / 2 + 1) {
		mem_fail_at(1);
		assert_false(pool_grow((void **)&p, &cap, cap + 1, sizeof(*p), MOST));
		mem_fail_at(0);
		assert_true(pool_grow((void **)&p, &cap, n, sizeof(*p), MOST));
		assert_true(cap >= n && cap <= MOST);
		for (size_t i = 0; i < cap; i++)
			assert_int_equal(p[i], i < filled ? i + 1 : 0);
		for (filled = 0; filled < n; filled++)
			p[filled] = filled + 1;
	}
	assert_false(pool_grow((void **)&p, &cap, MOST + 1, sizeof(*p), MOST));
	assert_true(pool_grow((void **)&p, &cap, MOST, sizeof(*p), MOST) && cap == MOST);
	for (size_t i = 0; i < MOST; i++)
		assert_int_equal(p[i], i < filled ? i + 1 : 0);
	pool_array_free(p, cap, sizeof(*p));
	pool_array_free(NULL, 0, sizeof(*p));
}

static void test_scratch(void **state)
{
	const size_t sizes[] = { 0, 1, 5000, (16 << 20) - 1, 16 << 20, (40 << 20) + 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *p = scratch_alloc(sizes[i]);

		assert_non_null(p);
		for (size_t at = 0; at < sizes[i]; at += 4096)
			assert_int_equal(p[at], 0);
		if (sizes[i]) {
			p[0] = 1;
			p[sizes[i] - 1] = 2;
		}
		scratch_free(p, sizes[i]);
	}
	assert_null(scratch_alloc(SIZE_MAX));
	scratch_free(NULL, 10);
}

static void test_temp_file(void **state)
{
	const int fd = temp_file_open();
	char buf[3];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "abc", 3, 5), 3);
	assert_int_equal(pread(fd, buf, 3, 5), 3);
	assert_memory_equal(buf, "abc", 3);
	close(fd);
}

static void test_arena(void **state)
{
	struct arena a;
	char *big, *s;

	(void)state;
	arena_init(&a);
	for (size_t round = 0; round < 3; round++) {
		for (size_t i = 1; i < 3000; i++) {
			char *p = arena_alloc(&a, i % 97);

			assert_non_null(arena_chars(&a, i % 5));
			assert_int_equal((uintptr_t)p % 16, 0);
			assert_true(all_zero(p, i % 97));
			memset(p, 0xEE, i % 97);
		}
		big = arena_alloc(&a, 3 << 20);
		assert_non_null(big);
		assert_true(all_zero(big, 3 << 20));
		memset(big, 1, 3 << 20);
		s = arena_strdup(&a, "a\0b", 3);
		assert_memory_equal(s, "a\0b", 4);
		s = arena_printf(&a, "%d-%s", 42, "x");
		assert_string_equal(s, "42-x");
		assert_true(a.used > 3 << 20);
		arena_reset(&a);
		assert_int_equal(a.used, 0);
	}
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_strdup(&a, "", SIZE_MAX));
	arena_free(&a);
	for (int filled = 0; filled < 4; filled++) {
		struct arena from;
		char *p = NULL;

		arena_init(&a);
		arena_init(&from);
		if (filled & 1)
			arena_strdup(&a, "into", 4);
		if (filled & 2)
			p = arena_strdup(&from, "from", 4);
		arena_join(&a, &from);
		arena_free(&from);
		assert_int_equal(a.used, filled & 1 ? filled & 2 ? 10 : 5 : filled & 2 ? 5 : 0);
		assert_non_null(arena_alloc(&a, 100));
		if (p)
			assert_string_equal(p, "from");
		arena_free(&a);
	}
}

static void test_err_set(void **state)
{
	struct spur_error err = { 0 };
	char name[2000];

	(void)state;
	assert_int_equal(err_set(NULL, SPUR_ERR_IO, "x"), SPUR_FAIL);
	assert_int_equal(err_set(&err, SPUR_ERR_IO, "%s: expected %d", "f\nile", 7), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_IO);
	assert_string_equal(err.message, "f?ile: expected 7");
	err_set(&err, SPUR_ERR_FORMAT, "in %s", err.message);
	assert_string_equal(err.message, "in f?ile: expected 7");
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	err_set(&err, SPUR_ERR_FORMAT, "%s", name);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	assert_int_equal(err_nomem(&err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_MEMORY);
}

static void test_diag_groups(void **state)
{
	struct diag_log log;

	(void)state;
	diag_init(&log);
	for (unsigned i = 0; i < 10; i++)
		diag_add(&log, DIAG_DAMAGE, "t/torn", "a.dat", 100 + i, 8,
			 "record: expected %u, found 0", i);
	diag_add(&log, DIAG_NOTE, "t/none", "b.dat", DIAG_NO_OFF, 0,
		 "file: expected one, found none");
	diag_add(&log, DIAG_WARN, "t/torn", "b.dat", 5, UINT64_MAX, "x");
	diag_add(&log, DIAG_WARN, "t/torn", "b.dat", 6, 1, "x\ny");
	assert_int_equal(diag_groups(&log), 3);
	assert_int_equal(diag_count(&log, DIAG_DAMAGE), 10);
	assert_int_equal(diag_count(&log, DIAG_NOTE), 1);
	assert_int_equal(diag_count(&log, DIAG_WARN), 2);
	assert_string_equal(diag_at(&log, 0)->file, "a.dat");
	assert_int_equal(diag_at(&log, 0)->count, 10);
	assert_int_equal(diag_at(&log, 0)->bytes_lost, 80);
	assert_int_equal(diag_at(&log, 0)->first_off, 100);
	assert_int_equal(diag_at(&log, 0)->level, DIAG_DAMAGE);
	assert_int_equal(diag_at(&log, 0)->nkept, DIAG_KEEP);
	assert_string_equal(diag_at(&log, 0)->kept[3].text, "record: expected 3, found 0");
	assert_int_equal(diag_at(&log, 0)->kept[3].off, 103);
	assert_true(diag_at(&log, 1)->first_off == DIAG_NO_OFF);
	assert_true(diag_at(&log, 2)->bytes_lost == UINT64_MAX);
	assert_string_equal(diag_at(&log, 2)->kept[1].text, "x?y");
	assert_false(log.overflow);
	diag_free(&log);
	assert_int_equal(diag_groups(&log), 0);
	diag_free(&log);
}

static void test_diag_bound(void **state)
{
	struct diag_log log;
	const struct diag_group *rest = NULL;
	char file[32];

	(void)state;
	diag_init(&log);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 6000; i++) {
			snprintf(file, sizeof(file), "%u.dat", i);
			diag_add(&log, DIAG_DAMAGE, i % 2 ? "t/a" : "t/b", file, i, 1, "m%u", i);
		}
	}
	assert_true(diag_groups(&log) <= DIAG_GROUPS);
	assert_int_equal(diag_count(&log, DIAG_DAMAGE), 12000);
	assert_false(log.overflow);
	for (size_t i = 0; i < diag_groups(&log); i++) {
		if (!strcmp(diag_at(&log, i)->file, "...") &&
		    !strcmp(diag_at(&log, i)->code, "t/a"))
			rest = diag_at(&log, i);
	}
	assert_non_null(rest);
	/* 4096 - 256 groups came before: 1,920 of each code. */
	assert_int_equal(rest->count, 2 * (3000 - 1920));
	diag_free(&log);
}

static void test_diag_merge(void **state)
{
	struct diag_log a, b;

	(void)state;
	diag_init(&a);
	diag_init(&b);
	for (unsigned i = 0; i < 3; i++) {
		diag_add(&a, DIAG_WARN, "t/x", "f", 10 + i, 1, "a%u", i);
		diag_add(&b, DIAG_DAMAGE, "t/x", "f", 20 + i, 2, "b%u", i);
	}
	diag_add(&b, DIAG_NOTE, "t/y", "g", 7, 0, "only b");
	diag_merge(&a, &b);
	diag_free(&b);
	assert_int_equal(diag_groups(&a), 2);
	assert_int_equal(diag_at(&a, 0)->count, 6);
	assert_int_equal(diag_at(&a, 0)->bytes_lost, 9);
	assert_int_equal(diag_at(&a, 0)->first_off, 10);
	assert_int_equal(diag_at(&a, 0)->level, DIAG_DAMAGE);
	assert_int_equal(diag_at(&a, 0)->nkept, 4);
	assert_string_equal(diag_at(&a, 0)->kept[3].text, "b0");
	assert_int_equal(diag_at(&a, 1)->first_off, 7);
	assert_string_equal(diag_at(&a, 1)->kept[0].text, "only b");
	assert_int_equal(diag_count(&a, DIAG_WARN), 3);
	assert_int_equal(diag_count(&a, DIAG_DAMAGE), 3);
	diag_free(&a);
}

static void test_diag_nomem(void **state)
{
	(void)state;
	/*
	 * Each log has a store, a list of groups that grows once, and two names and texts; all are
	 * in one page of the pool, if it has any.
	 */
	for (uint64_t n = 1; n < 18; n++) {
		struct diag_log log, into;

		diag_init(&log);
		diag_init(&into);
		mem_fail_at(n);
		diag_add(&log, DIAG_DAMAGE, "t/a", "f", 1, 1, "m");
		diag_add(&log, DIAG_DAMAGE, "t/a", "g", 2, 1, "m");
		diag_merge(&into, &log);
		mem_fail_at(0);
		assert_int_equal(diag_count(&log, DIAG_DAMAGE), 2);
		assert_int_equal(diag_count(&into, DIAG_DAMAGE), 2);
		assert_true(into.overflow == (n <= 2 * (1 + 2 + 2 + 2) + !POOL_IS_HEAP));
		diag_free(&log);
		diag_free(&into);
	}
}

static void test_intern(void **state)
{
	struct intern *in = intern_new();
	char buf[64];
	size_t len;

	(void)state;
	assert_non_null(in);
	assert_int_equal(intern_count(in), 1);
	assert_int_equal(intern_put(in, "", 0), 0);
	assert_int_equal(intern_put(in, NULL, 0), 0);
	for (uint32_t i = 0; i < 50000; i++) {
		len = (size_t)snprintf(buf, sizeof(buf), "%.*s%u", (int)(i % 40),
				       "namespace::klass<int>::method()_________", i);
		assert_int_equal(intern_find(in, buf, len), INTERN_NONE);
		assert_int_equal(intern_put(in, buf, len), i + 1);
		assert_int_equal(intern_put(in, buf, len), i + 1);
	}
	for (uint32_t i = 0; i < 50000; i++) {
		snprintf(buf, sizeof(buf), "%.*s%u", (int)(i % 40),
			 "namespace::klass<int>::method()_________", i);
		assert_string_equal(intern_text(in, i + 1, &len), buf);
		assert_int_equal(len, strlen(buf));
		assert_int_equal(intern_find(in, buf, len), i + 1);
	}
	assert_int_equal(intern_put(in, "a\0b", 3), 50001);
	assert_int_equal(intern_put(in, "a\0c", 3), 50002);
	assert_int_equal(intern_put(in, "a", 1), 50003);
	assert_memory_equal(intern_text(in, 50001, &len), "a\0b", 4);
	assert_int_equal(len, 3);
	assert_int_equal(intern_count(in), 50004);
	assert_string_equal(intern_text(in, 50004, &len), "");
	assert_int_equal(len, 0);
	assert_string_equal(intern_text(in, INTERN_NONE, NULL), "");
	intern_free(in);
	intern_free(NULL);
}

/* Lengths of a byte, and longer ones. */
static void test_intern_lengths(void **state)
{
	static const size_t lengths[] = { 1, 253, 254, 255, 256, 257, 65535, 65536, 3000000 };
	enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
	struct intern *in = intern_new();
	char *text = mem_alloc(lengths[LENGTHS - 1]);

	(void)state;
	assert_non_null(in);
	assert_non_null(text);
	memset(text, 'x', lengths[LENGTHS - 1]);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < LENGTHS; i++)
			assert_int_equal(intern_put(in, text, lengths[i]), 1 + i);
	for (uint32_t i = 0; i < LENGTHS; i++) {
		size_t len;
		const char *s = intern_text(in, 1 + i, &len);

		assert_int_equal(len, lengths[i]);
		assert_int_equal(strlen(s), len);
		assert_memory_equal(s, text, len);
	}
	intern_free(in);
	mem_free(text);
}

static void test_intern_nomem(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 60; n++) {
		struct intern *in;
		uint32_t last = 0, id = 0;

		mem_fail_at(n);
		in = intern_new();
		for (uint32_t i = 0; in && i < 3000 && id != INTERN_NONE; i++) {
			id = intern_put(in, (const char *)&i, sizeof(i));
			if (id != INTERN_NONE)
				assert_int_equal(id, ++last);
		}
		mem_fail_at(0);
		if (in) {
			const uint32_t count = intern_count(in);

			assert_int_equal(count, last + 1);
			assert_int_equal(intern_put(in, "later", 5), count);
			assert_string_equal(intern_text(in, count, NULL), "later");
		}
		assert_true(n > 3 || !in);
		intern_free(in);
	}
}

struct adder {
	struct intern *in;
	uint32_t ids[20000];
	bool good;
};

static void *add_many(void *arg)
{
	struct adder *a = arg;
	char buf[32];

	a->good = true;
	for (uint32_t i = 0; i < 20000; i++) {
		const int len = snprintf(buf, sizeof(buf), "name%u", i);

		a->ids[i] = intern_put(a->in, buf, (size_t)len);
		a->good &= !strcmp(intern_text(a->in, a->ids[i], NULL), buf);
		a->good &= !strncmp(intern_text(a->in, intern_count(a->in) - 1, NULL), "name", 4);
	}
	return NULL;
}

static void test_intern_threads(void **state)
{
	static struct adder a, b;
	pthread_t t;

	(void)state;
	a.in = b.in = intern_new();
	assert_non_null(a.in);
	intern_put(a.in, "name", 4);
	assert_int_equal(pthread_create(&t, NULL, add_many, &a), 0);
	add_many(&b);
	pthread_join(t, NULL);
	assert_true(a.good && b.good);
	assert_memory_equal(a.ids, b.ids, sizeof(a.ids));
	assert_int_equal(intern_count(a.in), 20002);
	intern_free(a.in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc),		cmocka_unit_test(test_grow),
		cmocka_unit_test(test_fail_at),		cmocka_unit_test(test_scratch),
		cmocka_unit_test(test_scratch_reserve), cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_fails),	cmocka_unit_test(test_arena_scratch),
		cmocka_unit_test(test_spare),		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_pool_grow),	cmocka_unit_test(test_temp_file),
		cmocka_unit_test(test_arena),		cmocka_unit_test(test_err_set),
		cmocka_unit_test(test_diag_groups),	cmocka_unit_test(test_diag_bound),
		cmocka_unit_test(test_diag_merge),	cmocka_unit_test(test_diag_nomem),
		cmocka_unit_test(test_intern),		cmocka_unit_test(test_intern_nomem),
		cmocka_unit_test(test_intern_lengths),	cmocka_unit_test(test_intern_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
