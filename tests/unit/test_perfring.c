/* format/uftrace/perfring.h: records, sizes that lie, resync. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "base/mem.h"
#include "format/uftrace/perfring.h"

struct buf {
	uint8_t p[1024];
	unsigned len;
	bool big;
};

static const uint64_t start = 828000000000;

static void put(struct buf *b, uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		b->p[b->len + (b->big ? size - 1 - i : i)] = (uint8_t)(v >> 8 * i);
	b->len += size;
}

static void head(struct buf *b, uint32_t type, uint16_t misc, uint16_t size)
{
	put(b, type, 4);
	put(b, misc, 2);
	put(b, size, 2);
}

static void trailer(struct buf *b, uint32_t pid, uint32_t tid, uint64_t time)
{
	put(b, pid, 4);
	put(b, tid, 4);
	put(b, time, 8);
}

static void put_switch(struct buf *b, uint32_t tid, uint16_t misc, uint64_t time)
{
	head(b, PERF_SWITCH, misc, 24);
	trailer(b, 100, tid, time);
}

static void put_task(struct buf *b, uint32_t type, uint32_t tid, uint64_t time)
{
	head(b, type, 0, 48);
	put(b, 101, 4);
	put(b, 100, 4);
	put(b, tid, 4);
	put(b, 99, 4);
	put(b, time, 8);
	trailer(b, 100, 100, time - 200);
}

static void put_comm(struct buf *b, uint32_t tid, const char *name, uint64_t time)
{
	const unsigned room = (unsigned)align_up(strlen(name) + 1, 8);

	head(b, PERF_COMM, PERF_COMM_EXEC, (uint16_t)(32 + room));
	put(b, 100, 4);
	put(b, tid, 4);
	memcpy(b->p + b->len, name, strlen(name));
	b->len += room;
	trailer(b, 100, 100, time);
}

/* One record of each kind. SPEC uftrace/perf-record, SPEC uftrace/perf-task-time */
static void make(struct buf *b, bool big)
{
	memset(b, 0, sizeof(*b));
	b->big = big;
	put_comm(b, 100, "abc", start);
	put_switch(b, 100, PERF_SWITCH_OUT | PERF_SWITCH_PREEMPTED, start + 1000);
	put_task(b, PERF_FORK, 103, start + 2000);
	put_switch(b, 103, 0, start + 3000);
	put_comm(b, 103, "fifteen-letters", start + 4000);
	head(b, PERF_LOST, 0, 40);
	put(b, 5, 8);
	put(b, 17, 8);
	trailer(b, 100, 103, start + 5000);
	head(b, 5, 0, 48); /* THROTTLE: three numbers */
	b->len += 24;
	trailer(b, 100, 103, start + 6000);
	put_task(b, PERF_EXIT, 103, start + 7000);
	put_switch(b, 100, 0, start + 8000);
}

enum { RECORDS = 9 };

struct got {
	struct perf_record r[64];
	char comm[64][20];
	size_t count;
	uint64_t damage, notes, lost, first_off;
	char first[200];
};

static void read_all(const uint8_t *p, size_t size, bool big, size_t piece, struct got *got)
{
	const struct source_options opt = { .read_size = piece };
	struct perf_record rec;
	struct perfring ring;
	struct diag_log log;
	struct source *src;

	memset(got, 0, sizeof(*got));
	diag_init(&log);
	assert_int_equal(source_memory(&src, "p", p, size, &opt, NULL), SPUR_OK);
	perfring_init(&ring, src, order_swaps(big), "perf-cpu0.dat", &log);
	while (perfring_next(&ring, &rec)) {
		struct perf_record again;

		assert_true(rec.off + rec.len <= size && got->count < 64);
		assert_true(perf_decode(src->data + rec.off, rec.len, order_swaps(big), &again));
		assert_true(again.type == rec.type && again.tid == rec.tid &&
			    again.time == rec.time);
		snprintf(got->comm[got->count], 20, "%.*s", (int)rec.comm.len,
			 rec.comm.len ? rec.comm.p : "");
		got->r[got->count++] = rec;
	}
	assert_false(perfring_next(&ring, &rec));
	got->damage = diag_count(&log, DIAG_DAMAGE);
	got->notes = diag_count(&log, DIAG_NOTE);
	for (size_t i = 0; i < diag_groups(&log); i++) {
		got->lost += diag_at(&log, i)->bytes_lost;
		if (diag_at(&log, i)->level == DIAG_DAMAGE && !*got->first) {
			got->first_off = diag_at(&log, i)->first_off;
			snprintf(got->first, sizeof(got->first), "%s: %s", diag_at(&log, i)->code,
				 diag_at(&log, i)->kept[0].text);
		}
	}
	diag_free(&log);
	source_close(src);
}

static void check_records(bool big, size_t piece)
{
	struct got g;
	struct buf b;

	make(&b, big);
	read_all(b.p, b.len, big, piece, &g);
	assert_int_equal(g.count, RECORDS);
	assert_int_equal(g.damage, 0);
	assert_int_equal(g.notes, 1);
	assert_true(g.r[0].type == PERF_COMM && g.r[0].misc == PERF_COMM_EXEC &&
		    g.r[0].tid == 100 && g.r[0].time == start);
	assert_string_equal(g.comm[0], "abc");
	assert_true(g.r[1].type == PERF_SWITCH && g.r[1].misc == 0x6000 && g.r[1].tid == 100 &&
		    g.r[1].pid == 100);
	assert_true(g.r[1].off == 40 && g.r[1].len == 24 && g.r[1].time == start + 1000 &&
		    g.r[1].ppid == -1);
	assert_true(g.r[2].type == PERF_FORK && g.r[2].pid == 101 && g.r[2].ppid == 100 &&
		    g.r[2].tid == 103 && g.r[2].ptid == 99);
	assert_true(g.r[2].time == start + 2000);
	assert_string_equal(g.comm[4], "fifteen-letters");
	assert_true(g.r[5].type == PERF_LOST && g.r[5].lost == 17);
	assert_true(g.r[6].type == 5 && g.r[6].tid == 103 && g.r[6].time == start + 6000);
	assert_true(g.r[7].type == PERF_EXIT && g.r[7].tid == 103 && g.r[7].time == start + 7000);
	assert_true(g.r[8].off + g.r[8].len == b.len);
}

/* SPEC uftrace/perf-task-time */
static void test_records(void **state)
{
	static const size_t pieces[] = { 0, 1, 7, 4096 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		check_records(false, pieces[i]);
		check_records(true, pieces[i]);
	}
}

/* What is whole before the cut comes out, the rest is counted. */
static void test_every_truncation(void **state)
{
	struct got all, g;
	struct buf b;

	(void)state;
	make(&b, true);
	read_all(b.p, b.len, true, 0, &all);
	for (unsigned n = 0; n <= b.len; n++) {
		uint8_t *copy = mem_alloc(n);
		size_t whole = 0;
		uint64_t end = 0;

		while (whole < all.count && all.r[whole].off + all.r[whole].len <= n)
			end = all.r[whole].off + all.r[whole].len, whole++;
		memcpy(copy, b.p, n);
		read_all(copy, n, true, n % 3, &g);
		assert_int_equal(g.count, whole);
		assert_int_equal(g.damage, end < n);
		assert_int_equal(g.lost, n - end);
		mem_free(copy);
	}
}

/*
 * A size of the record at `off` set to what it is not: that record may go, never one behind the
 * next.
 */
static void check_size(unsigned off, unsigned size, size_t count, uint64_t lost, const char *first)
{
	static const size_t pieces[] = { 0, 1, 7, 4096 };
	struct got g;
	struct buf b;

	make(&b, false);
	b.p[off + 6] = (uint8_t)size;
	b.p[off + 7] = (uint8_t)(size >> 8);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		read_all(b.p, b.len, false, pieces[i], &g);
		assert_int_equal(g.count, count);
		assert_int_equal(g.lost, lost);
		assert_string_equal(g.first, first);
		assert_int_equal(g.r[g.count - 1].time, start + 8000);
	}
}

static void test_sizes(void **state)
{
	(void)state;
	check_size(40, 0, RECORDS - 1, 24,
		   "uftrace/bad-perf-record: perf record: expected for type 14 a size of 24 of the "
		   "304 bytes left, "
		   "found 0");
	check_size(40, 23, RECORDS - 1, 24,
		   "uftrace/bad-perf-record: perf record: expected for type 14 a size of 24 of the "
		   "304 bytes left, "
		   "found 23");
	check_size(40, 65528, RECORDS - 1, 24,
		   "uftrace/bad-perf-record: perf record: expected for type 14 a size of 24 of the "
		   "304 bytes left, "
		   "found 65528");
	/* It would swallow the FORK behind it. */
	check_size(40, 72, RECORDS - 1, 24,
		   "uftrace/bad-perf-record: perf record: expected for type 14 a size of 24 of the "
		   "304 bytes left, "
		   "found 72");
}

/* A SWITCH with more fields than are known is no damage if a record follows it. */
static void test_newer_form(void **state)
{
	static const size_t pieces[] = { 0, 1, 7, 4096 };
	struct got g;
	struct buf b;

	(void)state;
	make(&b, false);
	memmove(b.p + 88, b.p + 64, b.len - 64);
	memset(b.p + 64, 0, 24);
	b.len += 24;
	b.p[46] = 48;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		read_all(b.p, b.len, false, pieces[i], &g);
		assert_int_equal(g.damage, 0);
		assert_int_equal(g.count, RECORDS);
	}
}

static void test_lost_bytes(void **state)
{
	struct got g;
	struct buf b;

	(void)state;
	/* Bytes cut out of the middle: what follows stands at odd places. */
	make(&b, false);
	memmove(b.p + 50, b.p + 53, b.len - 53);
	read_all(b.p, b.len - 3, false, 0, &g);
	assert_true(g.count >= RECORDS - 2);
	assert_true(g.damage >= 1 && g.lost > 0);
	assert_int_equal(g.r[g.count - 1].time, start + 8000);
	/* Rubbish only. */
	memset(b.p, 0xa5, sizeof(b.p));
	read_all(b.p, 1000, false, 0, &g);
	assert_true(g.count == 0 && g.damage == 1 && g.lost == 1000);
	assert_string_equal(g.first, "uftrace/bad-perf-record: perf record: expected a type of 1 "
				     "to 63, found 2779096485");
	read_all(b.p, 3, false, 0, &g);
	assert_string_equal(
		g.first,
		"uftrace/bad-perf-record: perf record: expected a header of 8 bytes, found 3");
	/* A time that is far off must not hide all that follows a second damage. */
	make(&b, false);
	b.p[40 + 22] = 0xff;
	b.p[64] = 0;
	read_all(b.p, b.len, false, 0, &g);
	assert_int_equal(g.count, RECORDS - 1);
	assert_int_equal(g.lost, 48);
}

/* Every bit turned: framing comes back, and what is lost is told. */
static void test_mutations(void **state)
{
	struct got g;
	struct buf b;

	(void)state;
	for (int big = 0; big < 2; big++) {
		make(&b, big);
		for (unsigned i = 0; i < b.len * 8; i++) {
			b.p[i / 8] ^= (uint8_t)(1 << i % 8);
			read_all(b.p, b.len, big, 0, &g);
			assert_true(g.count >= RECORDS - 2);
			assert_true(g.count == RECORDS || g.damage > 0);
			b.p[i / 8] ^= (uint8_t)(1 << i % 8);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),	   cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_sizes),	   cmocka_unit_test(test_lost_bytes),
		cmocka_unit_test(test_newer_form), cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
