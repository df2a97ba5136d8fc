/*
 * FXT: rows by time whatever the order of the records, in batches of any size; lanes; memory out
 * everywhere.
 */
#include "unit/fxt_file.h"

#include "base/mem.h"
#include "model/reorder.h"

/* --- order --- */

static uint64_t seed;

static unsigned any(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

/*
 * Records with times that mostly ascend, many of them equal; plain ones and such as need a closer
 * look.
 */
static void write_random(unsigned n, unsigned back)
{
	uint64_t now = 1000;

	magic();
	for (unsigned p = 1; p <= 2; p++) {
		provider(p, "p");
		init(p == 1 ? 1000000000 : 24000000);
		string(1, "cat");
		string(2, "name");
		thread(1, 10, 11);
		thread(2, 10, 12);
	}
	for (unsigned i = 0; i < n; i++) {
		const unsigned type = any(FXT_EVENT_TYPES), how = any(16);
		const uint64_t ts = any(4) ? now : now - any(back + 1);

		now += any(3) ? 0 : any(40);
		if (how == 0)
			section(1 + any(2));
		else if (how == 1)
			string(2, any(2) ? "name" : "other");
		if (how == 2) {
			head(FXT_SCHEDULING, (uint64_t)FXT_SWITCH << 60);
			w(ts);
			w(11);
			w(12);
		} else if (how == 3) {
			head(FXT_KERNEL_OBJECT, 1 << 16 | (uint64_t)at(1).bits << 24);
			w(any(5));
		} else {
			event(type, ts, any(8) ? 1 + any(2) : 0, at(1),
			      how == 4 ? in("inline") : at(2), how == 5);
			if (how == 5)
				arg(FXT_ARG_STRING, at(2), 0, at(2), NULL);
			if (fxt_has_tail(type))
				w(ts + any(3) * 10);
		}
		done();
	}
}

struct rows {
	struct spur_event *rows;
	size_t n, cap;
};

/* All rows, in batches of `cap`. */
static struct rows rows_of(struct spur_trace *t, uint32_t cap)
{
	struct rows all = { 0 };
	struct batch b = { .rows = calloc(cap, sizeof(*b.rows)), .cap = cap };

	while (spur_format_fxt.next(t, t->feeds[0], &b) == SPUR_OK) {
		assert_in_range(b.count, 1, cap);
		while (all.n + b.count > all.cap) {
			all.cap = all.cap ? 2 * all.cap : 1024;
			all.rows = realloc(all.rows, all.cap * sizeof(*all.rows));
			assert_non_null(all.rows);
		}
		memcpy(all.rows + all.n, b.rows, b.count * sizeof(*b.rows));
		all.n += b.count;
	}
	free(b.rows);
	return all;
}

static uint64_t rank_of(const struct spur_event *row)
{
	return row->kind == SPUR_SPAN ? REORDER_SPAN(row->dur)
				      : row->off + (row->flags & SPUR_F_IN ? 1 : 0);
}

/* SPEC fxt/order */
static int by_time(const void *a, const void *b)
{
	const struct spur_event *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (rank_of(x) != rank_of(y))
		return rank_of(x) < rank_of(y) ? -1 : 1;
	return x->off > y->off ? -1 : 1;
}

static void same_row(const struct spur_event *want, const struct spur_event *found)
{
	assert_int_equal(found->off, want->off);
	assert_int_equal(found->kind, want->kind);
	assert_int_equal(found->ts, want->ts);
	assert_int_equal(found->dur, want->dur);
	assert_int_equal(found->id, want->id);
	assert_int_equal(found->len, want->len);
	assert_int_equal(found->flags, want->flags);
	assert_int_equal(found->nargs, want->nargs);
}

static size_t only_timed(struct rows *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		if (!(r->rows[i].flags & SPUR_F_RETIMED))
			r->rows[n++] = r->rows[i];
	return n;
}

static void check_order(uint32_t cap)
{
	struct spur_trace *stored = open_file(&(struct spur_options)SPUR_OPTIONS(.follow = true)),
			  *timed = open_file(&(struct spur_options)SPUR_OPTIONS());
	struct rows want = rows_of(stored, 512), found = rows_of(timed, cap);
	uint64_t untimed = 0;
	size_t n;

	assert_int_equal(found.n, want.n);
	for (size_t i = 0; i < found.n; i++) {
		assert_true(!i || found.rows[i].ts >= found.rows[i - 1].ts);
		if (!(found.rows[i].flags & SPUR_F_RETIMED))
			continue;
		/* What has no time keeps its order. */
		assert_true(found.rows[i].off > untimed);
		untimed = found.rows[i].off;
	}
	n = only_timed(&want);
	assert_int_equal(only_timed(&found), n);
	qsort(want.rows, n, sizeof(*want.rows), by_time);
	for (size_t i = 0; i < n; i++)
		same_row(&want.rows[i], &found.rows[i]);
	assert_int_equal(timed->read.records, stored->read.records);
	free(want.rows);
	free(found.rows);
	spur_close(stored);
	spur_close(timed);
}

static void test_random_orders(void **state)
{
	static const uint32_t caps[] = { 1, 2, 3, 64, 512, 2000 };

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		seed = i;
		big = i % 7 == 0;
		out_clear(&file);
		write_random(i % 4 == 3 ? 3000 : 200, i % 3 == 0 ? 0 : i % 3 == 1 ? 30 : 100000);
		check_order(caps[i % 6]);
	}
}

/* Whole sections one after the other, as a manager writes them: the second is late as a whole. */
static void test_sections(void **state)
{
	(void)state;
	magic();
	for (unsigned p = 1; p <= 3; p++) {
		provider(p, "p");
		string(1, "a");
		thread(1, p, p);
		for (unsigned i = 0; i < 2000; i++) {
			event(i % 2 ? FXT_END : FXT_BEGIN, 100 + i * 10 + p * 3, 1, at(1), at(1),
			      0);
			done();
		}
	}
	check_order(512);
}

/* Many spans of one time in a large window: the later one comes first. */
static void test_equal_spans(void **state)
{
	enum { BEFORE = 2 * REORDER_WINDOW_LEAST, SPANS = REORDER_WINDOW };

	(void)state;
	magic();
	provider(1, "p");
	string(1, "a");
	thread(1, 1, 1);
	for (unsigned i = 0; i < BEFORE + SPANS; i++) {
		/* The last one before them is late, so the next window is a large one. */
		event(i < BEFORE ? FXT_INSTANT : FXT_COMPLETE,
		      i < BEFORE - 1 ? 10 + i
		      : i < BEFORE   ? 5
				     : 5000,
		      1, at(1), at(1), 0);
		if (i >= BEFORE)
			w(5000 + i % 3);
		done();
	}
	check_order(512);
}

/* Calls written when they end: equal starts, the outer one first. */
static void test_written_at_end(void **state)
{
	(void)state;
	magic();
	plain(FXT_COMPLETE, 100, "innermost", 110);
	plain(FXT_COMPLETE, 100, "twin", 150);
	plain(FXT_COMPLETE, 100, "outer twin", 150);
	plain(FXT_COMPLETE, 100, "outermost", 200);
	plain(FXT_INSTANT, 100, "moment", 0);
	expect_rows("100 INSTANT moment 10/11\n100 SPAN outermost 10/11 +100\n100 SPAN outer twin "
		    "10/11 +50\n"
		    "100 SPAN twin 10/11 +50\n100 SPAN innermost 10/11 +10\n");
}

/* --- lanes --- */

/*
 * SPEC fxt/order: complete events come last of equal times, wherever the reader's windows begin,
 * and a record without a time behind them has theirs.
 */
static void test_untimed_after_spans(void **state)
{
	(void)state;
	for (unsigned before = REORDER_WINDOW_LEAST - 4; before < REORDER_WINDOW_LEAST + 4;
	     before++) {
		const struct spur_event *rows;
		struct spur_trace *t;
		size_t n, total = 0;
		unsigned seen_kinds[2] = { SPUR_NATIVE, SPUR_NATIVE };

		out_clear(&file);
		basics();
		for (unsigned i = 0; i < before; i++)
			plain(FXT_INSTANT, 1 + i, "i", 0);
		plain(FXT_COMPLETE, before, "s", 1000);
		head(FXT_KERNEL_OBJECT, (uint64_t)4 << 16);
		w(5);
		done();
		t = open_file(&(struct spur_options)SPUR_OPTIONS());
		while (spur_next(t, &rows, &n) == SPUR_OK)
			for (size_t i = 0; i < n; i++, total++) {
				seen_kinds[0] = seen_kinds[1];
				seen_kinds[1] = rows[i].kind;
			}
		spur_close(t);
		assert_int_equal(total, before + 2);
		assert_int_equal(seen_kinds[0], SPUR_OBJECT);
		assert_int_equal(seen_kinds[1], SPUR_SPAN);
	}
}

/* SPEC fxt/lanes */
static void test_lanes(void **state)
{
	static const char *const names[] = { "", " (2)", "", " (3)" };
	const struct spur_event *rows;
	struct spur_trace *t;
	size_t n;

	(void)state;
	basics();
	plain(FXT_COMPLETE, 100, "a", 200);
	plain(FXT_COMPLETE, 150, "overlaps", 250);
	plain(FXT_COMPLETE, 160, "inside", 190);
	plain(FXT_COMPLETE, 240, "b", 300);
	plain(FXT_COMPLETE, 180, "overlaps both", 260);
	t = open_file(&(struct spur_options)SPUR_OPTIONS());
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(n, 5);
	assert_int_equal(rows[4].track, rows[0].track);
	for (int i = 0; i < 4; i++) {
		const struct spur_track *k = spur_track(t, rows[i].track);

		assert_string_equal(spur_string(t, k->name, NULL), names[i]);
		assert_int_equal(k->tid, 11);
	}
	spur_close(t);
	/* Not as stored. */
	t = open_file(&(struct spur_options)SPUR_OPTIONS(.follow = true));
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(rows[1].track, rows[0].track);
	spur_close(t);
}

/* --- memory --- */

static bool read_all(struct out *sum, bool stored)
{
	struct spur_trace *t =
		open_file(&(struct spur_options)SPUR_OPTIONS(.as_stored = stored, .threads = 1));
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	enum spur_status st, bad = SPUR_OK;
	struct spur_damage d;
	size_t n;

	if (!t)
		return false;
	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			out_printf(sum, "%lld %s", (long long)rows[i].ts,
				   spur_string(t, rows[i].name, NULL));
			if (spur_args(t, &rows[i], &args) == SPUR_FAIL)
				bad = SPUR_FAIL;
			out_printf(sum, " %zu\n", args.count);
		}
	for (size_t i = 0; i < spur_damage_count(t); i++)
		spur_damage(t, i, &d);
	spur_args_free(&args);
	spur_close(t);
	return st == SPUR_END && bad == SPUR_OK;
}

static void try_all(bool stored)
{
	struct out want, got;
	uint64_t count;

	out_to_memory(&want);
	assert_true(read_all(&want, stored));
	out_to_memory(&got);
	assert_non_null(out_room(&got, want.len + 4096));
	mem_fail_at(UINT64_MAX);
	assert_true(read_all(&got, stored));
	count = mem_count();
	for (uint64_t n = 1; n <= count; n++) {
		bool ok;

		out_clear(&got);
		mem_fail_at(n);
		ok = read_all(&got, stored);
		mem_fail_at(0);
		if (ok) {
			assert_int_equal(got.len, want.len);
			assert_memory_equal(got.buf, want.buf, want.len);
		}
	}
	out_free(&want);
	out_free(&got);
}

static void test_no_memory(void **state)
{
	(void)state;
	seed = 5;
	write_random(300, 500);
	head(FXT_PROFILER, (uint64_t)FXT_MMAP << 16 | (uint64_t)1 << 20);
	w(5);
	w(0x1000);
	w(0x1000);
	w(0);
	done();
	head(FXT_PROFILER, (uint64_t)FXT_BACKTRACE << 16 | (uint64_t)1 << 20 | (uint64_t)1 << 28);
	w(6);
	w(0x1000);
	done();
	head(FXT_USER_OBJECT, (uint64_t)1 << 16 | (uint64_t)1 << 24);
	w(0x1000);
	done();
	event(FXT_INSTANT, 7, 9, at(77), in("x"), 0);
	done();
	try_all(false);
	try_all(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random_orders, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_sections, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_equal_spans, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_written_at_end, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_untimed_after_spans, file_setup,
						file_teardown),
		cmocka_unit_test_setup_teardown(test_lanes, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, file_setup, file_teardown),
	};

	return cmocka_run_group_tests_name("fxt order", tests, NULL, NULL);
}
