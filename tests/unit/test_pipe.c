/* The loops: per feed, merged, rendered; threads, limits, stopping, broken output, failures. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "flow/pipe.h"
#include "unit/fake_trace.h"

static struct spur_trace *make_trace(uint32_t feeds, int rows)
{
	struct spur_trace *t = fake_trace_new();

	fake_class(t, "f", CLASS_FUNCTION);
	for (uint32_t f = 0; f < feeds; f++) {
		fake_feed_add(t, f, "x");
		for (int i = 0; i < rows; i++)
			fake_row(t, f, i % 2 ? SPUR_END_SPAN : SPUR_BEGIN, (int64_t)i * 100 + f)
				->id = (uint64_t)i * feeds + f;
	}
	return t;
}

struct sum {
	uint64_t rows, begins, ends;
	uint64_t ids;
	uint32_t feed;
	uint64_t fail_at;
	volatile int *stop;
};

static bool sum_begin(void *worker, const struct feed *f)
{
	struct sum *s = worker;

	s->begins++;
	s->feed = f ? f->id : UINT32_MAX;
	return true;
}

static bool sum_rows(void *worker, struct spur_event *rows, size_t n)
{
	struct sum *s = worker;

	assert_true(n > 0);
	for (size_t i = 0; i < n; i++) {
		if (s->feed != UINT32_MAX)
			assert_int_equal(rows[i].stream, s->feed);
		s->ids += rows[i].id;
	}
	s->rows += n;
	if (s->stop)
		*s->stop = 1;
	return !s->fail_at || s->rows < s->fail_at;
}

static bool sum_end(void *worker, const struct feed *f)
{
	struct sum *s = worker;

	assert_int_equal(s->feed, f ? f->id : UINT32_MAX);
	s->ends++;
	return true;
}

static const struct pipe_fold sum_fold = { .feed_begin = sum_begin,
					   .rows = sum_rows,
					   .feed_end = sum_end };

static enum spur_status run_sums(struct spur_trace *t, const struct pipe_options *opt,
				 const struct sum *init, struct sum *out)
{
	unsigned n = pipe_workers(t, opt);
	struct sum sums[64];
	void *states[64];
	enum spur_status st;

	assert_in_range(n, 1, 64);
	for (unsigned i = 0; i < n; i++) {
		sums[i] = *init;
		states[i] = &sums[i];
	}
	st = pipe_run_feeds(t, opt, &sum_fold, states);
	*out = (struct sum){ 0 };
	for (unsigned i = 0; i < n; i++) {
		out->rows += sums[i].rows;
		out->ids += sums[i].ids;
		out->begins += sums[i].begins;
		out->ends += sums[i].ends;
	}
	return st;
}

static void test_feeds(void **state)
{
	struct spur_trace *t = make_trace(10, 1001);
	const struct sum init = { 0 };
	struct sum got;

	(void)state;
	for (unsigned threads = 0; threads <= 5; threads++) {
		struct pipe_options opt = { .threads = threads };

		fake_rewind(t);
		assert_int_equal(run_sums(t, &opt, &init, &got), SPUR_OK);
		assert_int_equal(got.rows, 10010);
		assert_int_equal(got.ids, (uint64_t)10009 * 10010 / 2);
		assert_int_equal(got.begins, 10);
		assert_int_equal(got.ends, 10);
	}
	assert_int_equal(pipe_workers(t, &(struct pipe_options){ .threads = 40 }), 10);
	fake_trace_free(t);
}

static void test_feeds_limit_and_filter(void **state)
{
	struct spur_trace *t = make_trace(4, 1000);
	const struct sum init = { 0 };
	struct filter_item item = { FILTER_TRIGGER, "f@trace_off" };
	struct spur_error err;
	struct pipe_options opt = { .threads = 3, .limit = 1500 };
	struct sum got;

	(void)state;
	assert_int_equal(pipe_workers(t, &opt), 1);
	assert_int_equal(run_sums(t, &opt, &init, &got), SPUR_OK);
	assert_int_equal(got.rows, 1500);
	assert_int_equal(got.ids, (uint64_t)1499 * 1500 / 2);
	assert_int_equal(got.begins, 1);
	assert_int_equal(got.ends, 1);
	fake_rewind(t);
	opt.limit = 0;
	assert_int_equal(filter_new(&opt.filter, t, &(struct filter_spec){ .tids = "1,3" }, &err),
			 SPUR_OK);
	assert_int_equal(run_sums(t, &opt, &init, &got), SPUR_OK);
	assert_int_equal(got.rows, 2000);
	assert_int_equal(got.begins, 2);
	filter_free(opt.filter);
	fake_rewind(t);
	assert_int_equal(filter_new(&opt.filter, t,
				    &(struct filter_spec){ .items = &item, .nitems = 1 }, &err),
			 SPUR_OK);
	assert_int_equal(pipe_workers(t, &opt), 1);
	assert_int_equal(run_sums(t, &opt, &init, &got), SPUR_OK);
	assert_int_equal(got.rows, 0);
	assert_int_equal(got.begins, 1);
	filter_free(opt.filter);
	fake_trace_free(t);
}

static void test_feeds_failures(void **state)
{
	struct spur_trace *t = make_trace(6, 2000);
	volatile int stop = 0;
	const struct sum fails = { .fail_at = 700 }, stops = { .stop = &stop }, init = { 0 };
	struct sum got;

	(void)state;
	assert_int_equal(run_sums(t, &(struct pipe_options){ .threads = 2 }, &fails, &got),
			 SPUR_FAIL);
	fake_rewind(t);
	assert_int_equal(
		run_sums(t, &(struct pipe_options){ .threads = 2, .limit = 5000 }, &fails, &got),
		SPUR_FAIL);
	fake_rewind(t);
	assert_int_equal(
		run_sums(t, &(struct pipe_options){ .threads = 2, .stop = &stop }, &stops, &got),
		SPUR_OK);
	assert_in_range(got.rows, 1, 2 * BATCH_ROWS);
	fake_rewind(t);
	((struct fake_feed *)t->feeds[3]->state)->fails = true;
	assert_int_equal(run_sums(t, &(struct pipe_options){ .threads = 2 }, &init, &got),
			 SPUR_FAIL);
	((struct fake_feed *)t->feeds[3]->state)->fails = false;
	for (uint64_t at = 1;; at++) {
		enum spur_status st;

		fake_rewind(t);
		mem_fail_at(at);
		st = run_sums(t, &(struct pipe_options){ .threads = 1 }, &init, &got);
		mem_fail_at(0);
		if (st == SPUR_OK)
			break;
		assert_true(at < 1000);
	}
	assert_int_equal(got.rows, 12000);
	fake_trace_free(t);
}

/*
 * Shows each row as its id and its marks, of which the second line of a row has one; of every 10th
 * row two lines; at the end, how many rows there were.
 */
struct shower {
	uint64_t rows;
	uint64_t stop_after;
	bool ended;
};

static bool show_stage(void *self, struct marked_rows in, struct render_rows *out)
{
	const struct spur_event *rows = in.rows;
	const size_t n = in.n;
	struct shower *s = self;
	struct shown_row *e;

	for (size_t i = 0; i < n; i++) {
		for (int k = 0; k < (rows[i].id % 10 ? 1 : 2); k++) {
			if (!(e = render_add(out)))
				return false;
			*e = (struct shown_row){ .row = rows[i], .marks = (uint32_t)k };
		}
		s->rows++;
	}
	if (!n) {
		assert_false(s->ended);
		s->ended = true;
		if (!(e = render_add(out)))
			return false;
		*e = (struct shown_row){ .row = { .kind = SPUR_LOST, .id = s->rows } };
	}
	return !s->stop_after || s->rows < s->stop_after;
}

static void show_render(const void *self, const struct shown_row *rows, size_t n, struct out *o,
			struct spur_args *scratch)
{
	(void)self;
	for (size_t i = 0; i < n; i++) {
		args_reset(scratch);
		if (rows[i].row.kind == SPUR_LOST)
			out_printf(o, "end %llu\n", (unsigned long long)rows[i].row.id);
		else
			out_printf(o, "row %llu %u\n", (unsigned long long)rows[i].row.id,
				   rows[i].marks);
	}
}

static const struct pipe_render shower = { .stage = show_stage, .render = show_render };

static void expect_text(const struct out *o, uint64_t rows, bool ended)
{
	struct out want;

	out_to_memory(&want);
	for (uint64_t i = 0; i < rows; i++)
		for (int k = 0; k < (i % 10 ? 1 : 2); k++)
			out_printf(&want, "row %llu %d\n", (unsigned long long)i, k);
	if (ended)
		out_printf(&want, "end %llu\n", (unsigned long long)rows);
	assert_int_equal(o->len, want.len);
	assert_memory_equal(o->buf, want.buf, want.len);
	out_free(&want);
}

static void test_render(void **state)
{
	struct spur_trace *t = make_trace(3, 30000);
	static const uint64_t limits[] = { 0, 1, 4096, 12345 };

	(void)state;
	for (unsigned threads = 1; threads <= 5; threads++)
		for (size_t i = 0; i < 4; i++) {
			struct pipe_options opt = { .threads = threads, .limit = limits[i] };
			struct shower s = { 0 };
			struct out o;

			fake_rewind(t);
			out_to_memory(&o);
			assert_int_equal(pipe_run_render(t, &opt, &shower, &s, &o), SPUR_OK);
			assert_true(s.ended);
			expect_text(&o, limits[i] ? limits[i] : 90000, true);
			out_free(&o);
		}
	fake_trace_free(t);
}

static void test_render_nothing(void **state)
{
	struct spur_trace *t = make_trace(0, 0);

	(void)state;
	for (unsigned threads = 1; threads <= 3; threads++) {
		struct shower s = { 0 };
		struct out o;

		out_to_memory(&o);
		assert_int_equal(pipe_run_render(t, &(struct pipe_options){ .threads = threads },
						 &shower, &s, &o),
				 SPUR_OK);
		expect_text(&o, 0, true);
		out_free(&o);
	}
	fake_trace_free(t);
}

/* What was staged before the stage stops is shown, and nothing else. */
static void test_render_stops(void **state)
{
	struct spur_trace *t = make_trace(3, 30000);
	volatile int stop = 1;

	(void)state;
	for (unsigned threads = 1; threads <= 3; threads++) {
		struct shower s = { .stop_after = 20000 };
		struct out o;

		fake_rewind(t);
		out_to_memory(&o);
		assert_int_equal(pipe_run_render(t, &(struct pipe_options){ .threads = threads },
						 &shower, &s, &o),
				 SPUR_OK);
		assert_false(s.ended);
		assert_in_range(s.rows, 20000, 20000 + BATCH_ROWS);
		expect_text(&o, s.rows, false);
		out_clear(&o);
		/* A signal ends the input, so the text is whole. */
		s = (struct shower){ 0 };
		assert_int_equal(
			pipe_run_render(t,
					&(struct pipe_options){ .threads = threads, .stop = &stop },
					&shower, &s, &o),
			SPUR_OK);
		expect_text(&o, 0, true);
		out_free(&o);
	}
	fake_trace_free(t);
}

static void test_render_broken_pipe(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	for (unsigned threads = 1; threads <= 3; threads++) {
		struct spur_trace *t = make_trace(2, 400000);
		struct shower s = { 0 };
		struct out o;
		int fd[2];

		assert_int_equal(pipe(fd), 0);
		close(fd[0]);
		out_to_fd(&o, fd[1]);
		assert_int_equal(pipe_run_render(t, &(struct pipe_options){ .threads = threads },
						 &shower, &s, &o),
				 SPUR_OK);
		assert_int_equal(o.error, EPIPE);
		assert_true(s.rows < 800000);
		out_free(&o);
		close(fd[1]);
		fake_trace_free(t);
	}
}

static void test_render_memory_failures(void **state)
{
	struct spur_trace *t = make_trace(3, 9000);

	(void)state;
	for (unsigned threads = 1; threads <= 2; threads++)
		for (uint64_t at = 1;; at++) {
			struct shower s = { 0 };
			struct out o;
			enum spur_status st;

			fake_rewind(t);
			out_to_memory(&o);
			/* The output's own memory is not what fails here. */
			assert_non_null(out_room(&o, 1 << 20));
			mem_fail_at(at);
			st = pipe_run_render(t, &(struct pipe_options){ .threads = threads },
					     &shower, &s, &o);
			mem_fail_at(0);
			if (st == SPUR_OK && !o.error)
				expect_text(&o, 27000, true);
			out_free(&o);
			if (st == SPUR_OK)
				break;
			assert_true(at < 1000);
		}
	fake_trace_free(t);
}

static bool count_rows(void *self, struct spur_event *rows, size_t n)
{
	(void)rows;
	*(size_t *)self += n;
	return *(size_t *)self < 1000;
}

static void test_merged(void **state)
{
	struct spur_trace *t = make_trace(3, 2000);
	size_t rows = 0;

	(void)state;
	assert_int_equal(
		pipe_run_merged(t, &(struct pipe_options){ .limit = 700 }, count_rows, &rows),
		SPUR_OK);
	assert_int_equal(rows, 700);
	fake_rewind(t);
	rows = 0;
	assert_int_equal(pipe_run_merged(t, &(struct pipe_options){ 0 }, count_rows, &rows),
			 SPUR_OK);
	assert_in_range(rows, 1000, 1000 + BATCH_ROWS);
	fake_trace_free(t);
}

static void test_read_ahead(void **state)
{
	struct spur_trace *t = make_trace(2, 2000);
	const struct sum init = { 0 };
	struct sum got;

	(void)state;
	assert_int_equal(feed_read_ahead(t, t->feeds[0]), SPUR_OK);
	assert_in_range(t->feeds[0]->nahead, 1, 512);
	while (feed_read_ahead(t, t->feeds[1]) == SPUR_OK)
		;
	assert_int_equal(t->feeds[1]->nahead, 2000);
	assert_int_equal(run_sums(t, &(struct pipe_options){ .threads = 2 }, &init, &got), SPUR_OK);
	assert_int_equal(got.rows, 4000);
	assert_int_equal(got.ids, (uint64_t)3999 * 4000 / 2);
	fake_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_feeds),
		cmocka_unit_test(test_feeds_limit_and_filter),
		cmocka_unit_test(test_feeds_failures),
		cmocka_unit_test(test_render),
		cmocka_unit_test(test_render_nothing),
		cmocka_unit_test(test_render_stops),
		cmocka_unit_test(test_render_broken_pipe),
		cmocka_unit_test(test_render_memory_failures),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_read_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
