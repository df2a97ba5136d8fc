/*
 * Sums of ranges by function against sums of the rows, call by call, for every golden and for lanes
 * that have sums of 256 blocks.
 */
#include "unit/subject.h"

#include "flow/ends.h"
#include "flow/walk.h"
#include "store/parts.h"

/* What is summed up call by call. */
struct adder {
	const struct spur_trace *trace;
	struct store_sum *sums; /* by head */
	bool ending;
};

static void adder_end(struct adder *a, struct pair_stack *s, const struct pair_frame *f,
		      struct walk_end e)
{
	const uint64_t dur = walk_length(f, e.ts);
	const uint32_t head = f->flags & PAIR_SCHED ? 0 : trace_class(a->trace, f->cls)->head;
	struct store_sum *sum = &a->sums[head];
	bool inner = false;

	walk_credit(s, f, e.ts);
	if (f->flags & PAIR_MISSING)
		return;
	sum->unfinished += e.unfinished;
	if (e.uncounted)
		return;
	for (uint32_t i = 0; head && i < s->n; i++)
		inner |= !(s->frames[i].flags & (PAIR_MISSING | PAIR_SCHED)) &&
			 trace_class(a->trace, s->frames[i].cls)->head == head;
	sum->calls++;
	sum->sum += dur;
	sum->total += inner ? 0 : dur;
	sum->self += walk_self(f, dur);
	if (e.unfinished && a->ending) {
		sum->open_least = !sum->open || dur < sum->open_least ? dur : sum->open_least;
		sum->open_most = dur > sum->open_most ? dur : sum->open_most;
		sum->open_sum += dur;
		sum->open++;
		return;
	}
	sum->least = dur < sum->least ? dur : sum->least;
	sum->most = dur > sum->most ? dur : sum->most;
}

static void adder_row(struct adder *a, struct pair *p, const struct spur_event *row)
{
	struct pair_stack *s = pair_stack(p, row->track);
	const struct pair_frame *f;
	struct walk_end e;

	while ((f = walk_due(s, row, &e)))
		adder_end(a, s, f, e);
	if (walk_opens(s, row)) {
		assert_non_null(walk_push(s, row));
		return;
	}
	f = walk_match(s, row);
	if (f)
		adder_end(a, s, f, (struct walk_end){ .ts = row->ts });
	else if (row->kind == SPUR_END_SPAN)
		a->sums[trace_class(a->trace, row->cls)->head].unfinished++;
}

/* Sums of the rows of a feed, or of all of them, in a range of time. */
static void adder_feed(struct adder *a, const struct spur_event *rows, size_t n, int64_t from,
		       int64_t to)
{
	struct pair p = { 0 };
	struct ends ends = { 0 };

	ends_begin(&ends, a->trace);
	for (size_t i = 0; i < n; i++) {
		if (rows[i].ts < from || rows[i].ts >= to)
			continue;
		assert_true(ends_rows(&ends, &rows[i], 1));
		if (walk_takes(&rows[i]))
			adder_row(a, &p, &rows[i]);
	}
	a->ending = true;
	for (struct pair_stack *s = p.used; s; s = s->next) {
		const struct pair_frame *f;
		struct walk_end e;

		while ((f = walk_rest(s, ends_of(&ends, s->track), &e)))
			adder_end(a, s, f, e);
	}
	a->ending = false;
	pair_free(&p);
	ends_free(&ends);
}

/* SPEC store/self, SPEC store/inner, SPEC store/ends: sums are those of the rows, call by call. */
static void sums_compare_in(struct subject *s, const char *path, int64_t from, int64_t to)
{
	const uint32_t n = store_facts(s->store).labels;
	struct store_sum *want = calloc(n, sizeof(*want)), *got = calloc(n, sizeof(*got));
	struct adder a = { .trace = s->trace, .sums = want };
	bool depths = false;
	size_t at = 0;

	for (uint32_t i = 0; i < n; i++)
		want[i].least = UINT64_MAX;
	for (size_t i = 0; i < s->nends; at = s->ends[i++])
		if (s->ends[i] > at)
			adder_feed(&a, s->rows + at, s->ends[i] - at, from, to);
	for (uint32_t i = 0; i < n; i++)
		if (want[i].open == want[i].calls) {
			want[i].least = want[i].open_least;
			want[i].most = want[i].open_most;
		}
	assert_true(store_sums(s->store, &(struct store_range){ .from = from, .to = to }, got, n));
	/* Recorded depths tell of calls that began before the range, but not when these end. */
	for (size_t i = 0; i < s->n; i++)
		depths |= s->rows[i].flags & SPUR_F_DEPTH;
	for (uint32_t i = from > INT64_MIN && depths; i < n; i++) {
		const struct store_sum *x = &want[i], *y = &got[i];
		struct store_label l;

		if (!memcmp(x, y, sizeof(*x)))
			continue;
		store_label(s->store, i, &l);
		fail_msg("%s from %lld to %lld, %s: %llu calls, sum %llu, total %llu, self %llu, "
			 "least %llu, most %llu, unfinished %llu, open %llu; found %llu, %llu, "
			 "%llu, "
			 "%llu, %llu, %llu, %llu, %llu",
			 path, (long long)from, (long long)to, i ? l.name.p : "(off CPU)",
			 (unsigned long long)x->calls, (unsigned long long)x->sum,
			 (unsigned long long)x->total, (unsigned long long)x->self,
			 (unsigned long long)x->least, (unsigned long long)x->most,
			 (unsigned long long)x->unfinished, (unsigned long long)x->open,
			 (unsigned long long)y->calls, (unsigned long long)y->sum,
			 (unsigned long long)y->total, (unsigned long long)y->self,
			 (unsigned long long)y->least, (unsigned long long)y->most,
			 (unsigned long long)y->unfinished, (unsigned long long)y->open);
	}
	free(want);
	free(got);
}

static size_t summed;

static void sums_compare(struct subject *s, const char *path)
{
	const struct store_facts f = store_facts(s->store);
	const int64_t part = f.end / 5 - f.start / 5;

	if (f.facts & (STORE_LAPS | STORE_BACK | STORE_GAPS))
		return;
	summed++;
	sums_compare_in(s, path, INT64_MIN, INT64_MAX);
	for (int64_t i = 0; i < 4; i++)
		sums_compare_in(s, path, f.start + i * part, f.start + (i + 2) * part);
	/* At the times of rows, where begins and ends lie on the edge. */
	for (size_t i = 0; i + 1 < s->n; i += s->n / 9 + 1)
		sums_compare_in(s, path, s->rows[i].ts, s->rows[s->n - 1 - i / 2].ts);
}

static void test_sums(void **state)
{
	(void)state;
	assert_true(each_golden(sums_compare) >= 150);
	assert_true(summed >= 120);
}

/* --- sums of 256 blocks --- */

enum { MANY_CALLS = 150000, NAMES = 9 };

static void fxt_words(FILE *f, const uint64_t *words, size_t n)
{
	assert_int_equal(fwrite(words, sizeof(*words), n, f), n);
}

static void fxt_call(FILE *f, unsigned thread, bool end, unsigned name, uint64_t ts)
{
	const uint64_t kind = end ? 3 : 2;

	fxt_words(f,
		  (uint64_t[]){ 4 | 2 << 4 | kind << 16 | thread << 24 | (uint64_t)name << 48, ts },
		  2);
}

/* CPU 0 goes from a thread, which is blocked, to another one; 0: to none. */
static void fxt_switch(FILE *f, uint64_t ts, uint64_t from, uint64_t to)
{
	const uint64_t blocked = 3, context_switch = 1;

	fxt_words(f,
		  (uint64_t[]){ 8 | 4 << 4 | blocked << 36 | context_switch << 60, ts, from, to },
		  4);
}

/*
 * Three threads with more calls at a depth than 512 blocks have. Those of the first one are inside
 * a call of a function that they call again; those of the second one call themselves, and are off
 * the CPU meanwhile; between those of the third one, inside a call, it is off the CPU.
 */
static void many_calls(const char *path)
{
	FILE *f = fopen(path, "wb");
	uint64_t ts = 1000;

	assert_non_null(f);
	fxt_words(f, (uint64_t[]){ 0x0016547846040010, 1 | 2 << 4, 1000000000 }, 3);
	for (uint64_t i = 1; i <= NAMES; i++)
		fxt_words(f, (uint64_t[]){ 2 | 2 << 4 | i << 16 | (uint64_t)1 << 32, 'a' + i }, 2);
	for (uint64_t i = 1; i <= 3; i++)
		fxt_words(f, (uint64_t[]){ 3 | 3 << 4 | i << 16, 100, 100 + i }, 3);
	fxt_call(f, 1, false, 1, ts);
	fxt_call(f, 3, false, NAMES, ts);
	for (unsigned i = 0; i < MANY_CALLS; i++) {
		const unsigned name = 1 + i % (NAMES - 1), inner = 1 + i / 3 % (NAMES - 1);

		fxt_call(f, 1, false, name, ts += 10);
		fxt_call(f, 1, false, inner, ts += 1 + i % 5);
		fxt_call(f, 1, true, inner, ts += i % 97);
		fxt_call(f, 1, true, name, ts += i % 3);
		fxt_call(f, 2, false, name, ts += 2);
		fxt_call(f, 2, false, i % 4 ? NAMES : name, ts += 2);
		fxt_call(f, 2, true, i % 4 ? NAMES : name, ts += i % 31);
		if (i % 6 == 0) {
			fxt_switch(f, ts += 3, 102, 0);
			fxt_switch(f, ts += 5 + i % 11, 0, 102);
		}
		fxt_call(f, 2, true, name, ts += 2);
		fxt_call(f, 3, false, name, ts);
		fxt_call(f, 3, true, name, ts += 4);
		if (i % 6 == 3) {
			fxt_switch(f, ts += 2, 103, 0);
			fxt_switch(f, ts += 1 + i % 7, 0, 103);
		}
	}
	fxt_call(f, 1, true, 1, ts += 10);
	fxt_call(f, 3, true, NAMES, ts);
	assert_int_equal(fclose(f), 0);
}

/* Returns a node of a lane of spans that has sums; `nth`: which one of all. */
static const struct store_node *node_with_sums(const struct store *s, unsigned nth)
{
	for (uint32_t lane = 0; lane < store_lane_count(s); lane++)
		for (uint64_t i = 0; i < store_nodes(s, lane, STORE_SUMS_LEVEL); i++) {
			uint64_t run;
			const struct store_node *n = store_run(s, lane, STORE_SUMS_LEVEL, i, &run);

			if (n->at && !nth--)
				return n;
		}
	return NULL;
}

/* SPEC store/lane-sums: sums that are stored are those of the rows; damaged ones are not used. */
static void test_lane_sums(void **state)
{
	char path[64];
	struct subject s;
	const struct store_node *n;
	uint8_t byte = 0;
	int fd;

	(void)state;
	file_name(path, sizeof(path));
	many_calls(path);
	assert_true(subject_open(&s, path));
	assert_int_equal(store_facts(s.store).facts & (STORE_LAPS | STORE_BACK | STORE_GAPS), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_non_null(node_with_sums(s.store, i));
	sums_compare(&s, path);
	assert_false(store_is_damaged(s.store));
	/* The writer's view has them too. */
	store_close(s.store);
	s.store = store_writer_view(s.writer);
	assert_non_null(node_with_sums(s.store, 3));
	sums_compare(&s, path);

	n = node_with_sums(s.store, 0);
	fd = open(s.path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && pread(fd, &byte, 1, (off_t)n->at + 9) == 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)n->at + 9), 1);
	close(fd);
	assert_int_equal(store_open(&s.store, s.path, NULL), SPUR_OK);
	assert_false(store_is_damaged(s.store));
	sums_compare_in(&s, path, INT64_MIN, INT64_MAX);
	assert_true(store_is_damaged(s.store));
	subject_close(&s);
	unlink(path);
}

/* --- spans that go on when the SPAN around them is over --- */

enum { CROSSING_EVENTS = 240 };

/* Ends the innermost call, not before the SPANs in it are over. */
static uint64_t crossing_end(FILE *f, const unsigned *open, uint64_t *over, unsigned nopen,
			     uint64_t ts)
{
	ts = ts > over[nopen] ? ts : over[nopen];
	fxt_call(f, 1, true, open[nopen], ts);
	if (nopen && over[nopen - 1] < ts)
		over[nopen - 1] = ts;
	return ts;
}

/* Calls and SPANs of one thread, each of its own name. Calls inside a SPAN may outlast it. */
static void crossing_calls(const char *path, uint32_t seed)
{
	unsigned open[CROSSING_EVENTS], nopen = 0;
	uint64_t over[CROSSING_EVENTS], ts = 1000;
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	fxt_words(f, (uint64_t[]){ 0x0016547846040010, 1 | 2 << 4, 1000000000 }, 3);
	for (uint64_t i = 0; i < CROSSING_EVENTS; i++)
		fxt_words(f,
			  (uint64_t[]){ 2 | 2 << 4 | (i + 1) << 16 | (uint64_t)2 << 32,
					('a' + i / 16) | ('a' + i % 16) << 8 },
			  2);
	fxt_words(f, (uint64_t[]){ 3 | 3 << 4 | 1 << 16, 100, 101 }, 3);
	for (unsigned i = 0; i < CROSSING_EVENTS; i++) {
		const uint32_t r = (seed = seed * 1664525 + 1013904223) >> 16;
		const unsigned name = i + 1, kind = r / 64 % 3;

		ts += r / 3 % 9;
		if (kind == 1 || (kind == 2 && !nopen)) {
			fxt_call(f, 1, false, name, ts);
			open[nopen] = name;
			over[nopen++] = ts;
		} else if (kind == 2) {
			nopen--;
			ts = crossing_end(f, open, over, nopen, ts);
		} else {
			const uint64_t end = ts + r / 192 % 60,
				       head = 4 | 3 << 4 | 4 << 16 | 1 << 24 | (uint64_t)name << 48;

			fxt_words(f, (uint64_t[]){ head, ts, end }, 3);
			if (nopen && over[nopen - 1] < end)
				over[nopen - 1] = end;
		}
	}
	while (nopen--)
		ts = crossing_end(f, open, over, nopen, ts + 1);
	assert_int_equal(fclose(f), 0);
}

static void test_crossing(void **state)
{
	char path[64];
	struct subject s;

	(void)state;
	file_name(path, sizeof(path));
	for (uint32_t seed = 1; seed <= 20; seed++) {
		crossing_calls(path, seed);
		assert_true(subject_open(&s, path));
		assert_int_equal(store_facts(s.store).facts & (STORE_BACK | STORE_GAPS), 0);
		for (size_t i = 0; i < s.n; i++)
			sums_compare_in(&s, path, s.rows[i].ts, INT64_MAX);
		subject_close(&s);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_lane_sums),
		cmocka_unit_test(test_crossing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
