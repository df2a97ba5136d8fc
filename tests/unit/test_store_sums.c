/* Sums of ranges by function against sums of the rows, call by call, for every golden. */
#include "unit/subject.h"

#include "flow/ends.h"
#include "flow/walk.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
