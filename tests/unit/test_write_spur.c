/*
 * Recordings that are written: their bytes, and large and odd traces read back. SPUR_LARGE=1 tries
 * ten times as many events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bits.h"
#include "flow/convert.h"
#include "format/spur/wire.h"
#include "unit/fake_trace.h"

static char top[64], dir_path[96];
static const char *text_of_args; /* what each row's argument is */
static size_t text_len;

static int setup(void **state)
{
	(void)state;
	strcpy(top, "/tmp/spur-write.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(dir_path, sizeof(dir_path), "%s/out.spur", top);
	text_of_args = NULL;
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command);
}

/* One argument: a text, or the row's number. */
static enum spur_status one_arg(struct spur_trace *t, const struct spur_event *ev,
				struct spur_args *args)
{
	args_reset(args);
	if (text_of_args)
		args_string(args, trace_intern(t, "text"), text_of_args, text_len - ev->off);
	else
		args_u64(args, trace_intern(t, "n"), ev->off, SPUR_SHOW_PLAIN);
	return SPUR_OK;
}

static const struct spur_format source_format = { .name = "source",
						  .next = fake_next,
						  .args = one_arg };

static struct spur_trace *source_new(void)
{
	struct spur_trace *t = fake_trace_new();

	assert_non_null(t);
	t->format = &source_format;
	return t;
}

static uint64_t write_it(struct spur_trace *t)
{
	struct convert c = { .pipe = { .threads = 1 } };
	struct outdir dir;
	struct out o;

	out_to_memory(&o);
	assert_int_equal(outdir_open(&dir, dir_path, true, NULL), SPUR_OK);
	c.dir = &dir;
	assert_int_equal(convert_run(&c, t, writer_find("spur"), &o), SPUR_OK);
	assert_int_equal(outdir_close(&dir, true, NULL), SPUR_OK);
	out_free(&o);
	return loss_sum(&c.loss);
}

static struct spur_trace *read_it(void)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .format = "spur");
	struct spur_trace *t = NULL;
	struct spur_error err;

	if (spur_open(&t, dir_path, &opt, &err) == SPUR_FAIL)
		fail_msg("%s", err.message);
	return t;
}

/* A process with a thread of its own feed. */
static uint32_t thread_add(struct spur_trace *t, uint32_t process, int64_t tid)
{
	struct fake_feed *k = calloc(1, sizeof(*k));
	const struct spur_track *above = spur_track(t, process);
	const struct spur_track track = { .parent = process,
					  .kind = SPUR_TRACK_THREAD,
					  .pid = above->pid,
					  .tid = tid,
					  .cpu = -1 };

	return trace_add_feed(t, trace_add_track(t, track), k)->id;
}

static uint32_t process_add(struct spur_trace *t, int64_t pid, const char *name)
{
	return trace_add_track(t, (struct spur_track){ .parent = SPUR_NONE,
						       .name = trace_intern(t, name),
						       .kind = SPUR_TRACK_PROCESS,
						       .pid = pid,
						       .tid = -1,
						       .cpu = -1 });
}

static struct spur_event *event(struct spur_trace *t, uint32_t feed, unsigned kind, int64_t ts,
				const char *name)
{
	struct spur_event *e = fake_row(t, feed, kind, ts);

	e->name = trace_intern(t, name);
	e->cls = fake_class(t, name, kind <= SPUR_END_SPAN ? CLASS_FUNCTION : CLASS_EVENT);
	return e;
}

static void test_bytes(void **state)
{
	struct spur_trace *t = source_new();
	const uint32_t process = process_add(t, 77, "prog");
	const uint32_t f = thread_add(t, process, 78);
	const int64_t far = 5000 + ((int64_t)1 << 33);
	uint8_t b[SPB_HEADER + 2 * SPB_CHUNK_LEAST + 8];
	char path[128];
	FILE *file;
	const uint8_t *c;

	(void)state;
	t->clock = (struct clock_info){ .name = "monotonic",
					.hz = 1000000000,
					.epoch_known = true,
					.epoch_ns = 1700000000000000000 };
	event(t, f, SPUR_BEGIN, 5000, "f");
	event(t, f, SPUR_INSTANT, 5001, "tick")->nargs = 1;
	event(t, f, SPUR_END_SPAN, far, "f");
	assert_int_equal(write_it(t), 0);
	snprintf(path, sizeof(path), "%s/77-0.spb", dir_path);
	file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fread(b, 1, sizeof(b), file), sizeof(b) - 8);
	fclose(file);
	/* SPEC spur/header */
	assert_memory_equal(b, "SPURSPB1", 8);
	assert_int_equal(load32(b + SPB_CHUNK_SIZE_AT, false), 4096);
	assert_int_equal(load32(b + SPB_PID_AT, false), 77);
	assert_int_equal(load32(b + SPB_CLOCK_AT, false), SPB_CLOCK_MONOTONIC);
	assert_int_equal(load64(b + SPB_BEGIN_AT, false), 5000);
	assert_int_equal(load64(b + SPB_BEGIN_AT + 8, false), 5000);
	assert_int_equal(load64(b + SPB_BEGIN_AT + 16, false), 1700000000000005000);
	assert_int_equal(load64(b + SPB_END_AT, false), far);
	assert_int_equal(load64(b + SPB_TAKEN_AT, false), 2);
	assert_string_equal((const char *)b + SPB_PROGRAM_AT, "prog");
	/* Descriptors, then the thread's records */
	c = b + SPB_HEADER;
	assert_memory_equal(c, "SPBC", 4);
	assert_int_equal(load16(c + SPB_KIND_AT, false), SPB_CHUNK_DESCRIPTORS);
	assert_int_equal(load64(c + SPB_SEQUENCE_AT, false), 1);
	c += SPB_CHUNK_LEAST;
	assert_int_equal(load16(c + SPB_KIND_AT, false), SPB_CHUNK_RECORDS);
	assert_int_equal(load64(c + SPB_SEQUENCE_AT, false), 2);
	assert_int_equal(load32(c + SPB_TID_AT, false), 78);
	assert_int_equal(load32(c + SPB_THREAD_AT, false), 1);
	assert_int_equal(load64(c + SPB_OPEN_AT, false), 5000);
	assert_int_equal(load64(c + SPB_CLOSE_AT, false), far);
	c += SPB_CHUNK_HEAD;
	assert_int_equal(load64(c, false), SPB_ENTER | 1 << 8 | (uint64_t)5000 << 32);
	assert_int_equal(load64(c + 8, false), SPB_EVENT | 1 << 4 | 1 << 8 | (uint64_t)5001 << 32);
	assert_int_equal(load64(c + 16, false), 1);
	/* SPEC spur/time: 2^33 ns later, whose low half is that of 5000 */
	assert_int_equal(load64(c + 24, false), SPB_TIME | 1 << 4 | (uint64_t)5000 << 32);
	assert_int_equal(load64(c + 32, false), far);
	assert_int_equal(load64(c + 40, false), SPB_EXIT | 1 << 8 | (uint64_t)5000 << 32);
	assert_int_equal(load64(c + 48, false), 0);
	fake_trace_free(t);
}

/* Times before the clock's zero, and far from each other. */
static void test_times(void **state)
{
	static const int64_t times[] = { INT64_MIN / 2, -3000000000, -1, 0, 1, INT64_MAX / 2 };
	struct spur_trace *t = source_new(), *u;
	const uint32_t f = thread_add(t, process_add(t, 1, "p"), 1);
	const struct spur_event *rows;
	size_t n;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		event(t, f, SPUR_INSTANT, times[i], "tick");
	assert_int_equal(write_it(t), 0);
	u = read_it();
	assert_int_equal(spur_next(u, &rows, &n), SPUR_OK);
	assert_int_equal(n, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(rows[i].ts, times[i]);
	assert_int_equal(spur_damage_count(u), 0);
	spur_close(u);
	fake_trace_free(t);
}

/* Texts around every size at which a record begins to need another page or chunk. */
static void test_texts(void **state)
{
	static const size_t sizes[] = { 130, 4100, 8200, 65600, 300000 };
	enum { STEPS = 64 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct spur_trace *t = source_new(), *u;
		const uint32_t f = thread_add(t, process_add(t, 1, "p"), 1);
		char *text = malloc(sizes[i]);
		const struct spur_event *rows;
		struct spur_args args = { 0 };
		size_t n, at = 0;

		for (size_t k = 0; k < sizes[i]; k++)
			text[k] = (char)('a' + k * 7 % 26);
		text_of_args = text;
		text_len = sizes[i];
		for (unsigned k = 0; k < STEPS; k++)
			event(t, f, k % 5 ? SPUR_INSTANT : SPUR_BEGIN, k, "f")->nargs = 1;
		assert_int_equal(write_it(t), 0);
		u = read_it();
		while (spur_next(u, &rows, &n) == SPUR_OK)
			for (size_t k = 0; k < n; k++, at++) {
				assert_int_equal(rows[k].ts, (int64_t)at);
				assert_int_equal(spur_args(u, &rows[k], &args), SPUR_OK);
				assert_int_equal(args.count, 1);
				assert_int_equal(args.items[0].count, sizes[i] - at);
				assert_memory_equal(args.items[0].text, text, sizes[i] - at);
			}
		assert_int_equal(at, STEPS);
		assert_int_equal(spur_damage_count(u), 0);
		spur_args_free(&args);
		spur_close(u);
		fake_trace_free(t);
		free(text);
		text_of_args = NULL;
	}
}

enum { PROCESSES = 30, THREADS = 10, DEEP = 20000, CLASSES = 3000 };

static uint32_t class_of_number(struct spur_trace *t, uint32_t i)
{
	char name[32];
	struct event_class c = { .flags = i % 2 ? CLASS_FUNCTION : CLASS_EVENT };

	snprintf(name, sizeof(name), "class %u", i);
	c.name = c.simple = c.raw = trace_intern(t, name);
	return trace_add_class(t, &c);
}

/* Events of a thread, each with its number in `off`. Returns the sum of what they are. */
static uint64_t thread_fill(struct spur_trace *t, uint32_t feed, const uint32_t *cls, uint32_t many)
{
	uint64_t sum = 0;

	for (uint32_t k = 0; k < many; k++) {
		struct spur_event *e = fake_row(t, feed, SPUR_INSTANT, (int64_t)k * 1000 + feed);

		e->cls = cls[(k * 7 + feed) % CLASSES];
		e->name = trace_class(t, e->cls)->name;
		e->nargs = 1;
		sum += hash64((uint64_t)e->ts * 31 + k);
	}
	return sum;
}

/* The sum of the events of a reading; *deepest gets the number of begins. */
static uint64_t reading_sum(struct spur_trace *t, uint64_t *count, uint64_t *begins)
{
	struct spur_args args = { 0 };
	const struct spur_event *rows;
	uint64_t sum = 0;
	size_t n;

	*count = *begins = 0;
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			*begins += rows[i].kind == SPUR_BEGIN;
			if (rows[i].kind == SPUR_BEGIN)
				continue;
			assert_int_equal(spur_args(t, &rows[i], &args), SPUR_OK);
			sum += hash64((uint64_t)rows[i].ts * 31 + args.items[0].u);
			++*count;
		}
	spur_args_free(&args);
	return sum;
}

/* Many processes, threads and kinds of events; calls that are nested deeply. */
static void test_large(void **state)
{
	const uint32_t many = getenv("SPUR_LARGE") ? 3000 : 300;
	struct spur_trace *t = source_new(), *u;
	uint32_t *cls = calloc(CLASSES, sizeof(*cls));
	uint64_t want = 0, count, begins;

	(void)state;
	for (uint32_t i = 0; i < CLASSES; i++)
		cls[i] = class_of_number(t, i);
	for (uint32_t p = 0; p < PROCESSES; p++) {
		const uint32_t process = process_add(t, 1000 + p / 2, "p");

		for (uint32_t i = 0; i < THREADS; i++)
			want += thread_fill(t, thread_add(t, process, i), cls, many);
	}
	for (uint32_t k = 0; k < DEEP; k++) {
		struct spur_event *e = fake_row(t, 0, SPUR_BEGIN, 10000000 + k);

		e->cls = cls[1];
		e->name = trace_class(t, e->cls)->name;
	}
	assert_int_equal(write_it(t), 0);
	u = read_it();
	assert_int_equal(reading_sum(u, &count, &begins), want);
	assert_int_equal(count, (uint64_t)PROCESSES * THREADS * many);
	assert_int_equal(begins, DEEP);
	assert_int_equal(spur_damage_count(u), 0);
	spur_close(u);
	fake_trace_free(t);
	free(cls);
}

/* Converts a small trace while the n-th allocation fails. Returns the number of allocations. */
static uint64_t fail_at(uint64_t n, enum spur_status *st)
{
	struct convert c = { .pipe = { .threads = 1 } };
	struct spur_trace *t = source_new();
	const uint32_t f = thread_add(t, process_add(t, 1, "p"), 1);
	struct outdir dir;
	struct out o;
	uint64_t count;

	event(t, f, SPUR_BEGIN, 1, "f");
	event(t, f, SPUR_INSTANT, 2, "tick")->nargs = 1;
	event(t, f, SPUR_END_SPAN, 3, "f");
	out_to_memory(&o);
	assert_int_equal(outdir_open(&dir, dir_path, true, NULL), SPUR_OK);
	c.dir = &dir;
	mem_fail_at(n);
	*st = convert_run(&c, t, writer_find("spur"), &o);
	count = mem_count();
	mem_fail_at(0);
	assert_int_equal(outdir_close(&dir, false, NULL), SPUR_OK);
	out_free(&o);
	fake_trace_free(t);
	return count;
}

/* Whichever allocation fails, the conversion fails. */
static void test_memory(void **state)
{
	enum spur_status st;
	const uint64_t count = fail_at(UINT64_MAX, &st);

	(void)state;
	assert_int_equal(st, SPUR_OK);
	assert_true(count > 20);
	for (uint64_t n = 1; n <= count; n++) {
		fail_at(n, &st);
		assert_int_equal(st, SPUR_FAIL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_texts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
