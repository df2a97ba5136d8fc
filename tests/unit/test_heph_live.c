/*
 * Heph under way: memory that runs out at every allocation, and a trace that is still being
 * written.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/stat.h>

#include "unit/heph_file.h"

#include "format/format.h"
#include "model/args.h"

/* Reads everything with all arguments and fields; false where a call said SPUR_FAIL. */
static bool read_all(const struct spur_options *opt, struct out *sum)
{
	struct spur_trace *t = file_open(opt);
	struct spur_args args = { 0 };
	const struct spur_event *rows;
	enum spur_status st, bad = SPUR_OK;
	struct spur_damage d;
	struct value_writer values;
	size_t n;

	if (!t)
		return false;
	if (!value_writer_open(&values, t, VALUE_JSON)) {
		spur_close(t);
		return false;
	}
	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			out_printf(sum, "%lld %u %s", (long long)rows[i].ts, rows[i].track,
				   spur_string(t, rows[i].name, NULL));
			if (spur_args(t, &rows[i], &args) == SPUR_FAIL)
				bad = SPUR_FAIL;
			else
				args_json(&values, &args, false, sum);
			args_reset(&args);
			if (t->format->fields(t, &rows[i], &args) == SPUR_FAIL)
				bad = SPUR_FAIL;
			else
				args_json(&values, &args, false, sum);
		}
	/* Of what is wrong, some may be missing then. */
	for (size_t i = 0; i < spur_damage_count(t); i++)
		spur_damage(t, i, &d);
	spur_args_free(&args);
	value_writer_close(&values);
	spur_close(t);
	return st == SPUR_END && bad == SPUR_OK && !sum->error;
}

static void try_all(const struct spur_options *opt)
{
	struct out want, got;
	uint64_t count, complete = 0;

	out_to_memory(&want);
	assert_true(read_all(opt, &want));
	/* The buffer of what came counts too; once it is large enough it allocates no more. */
	out_to_memory(&got);
	assert_non_null(out_room(&got, want.len + 4096));
	mem_fail_at(UINT64_MAX);
	assert_true(read_all(opt, &got));
	count = mem_count();
	assert_int_equal(got.len, want.len);
	assert_true(count > 20);
	for (uint64_t n = 1; n <= count; n++) {
		bool ok;

		out_clear(&got);
		mem_fail_at(n);
		ok = read_all(opt, &got);
		mem_fail_at(0);
		complete += ok;
		if (ok) {
			assert_int_equal(got.len, want.len);
			assert_memory_equal(got.buf, want.buf, want.len);
		}
	}
	/* A message of damage that finds no memory is counted, and no failure: the rest fails. */
	assert_true(count - complete > 60);
	out_free(&want);
	out_free(&got);
}

static void test_no_memory(void **state)
{
	(void)state;
	meta("unknown", "v", 1);
	epoch(5);
	event(0, 1, 10, 20, "a");
	attr_int("n", 1, 1);
	attr("list", 0x84);
	put(1, 2);
	put_text("x", 1);
	packet_ends();
	event_all(1, 3, 2, 15, 30, "b");
	event(0, 1, 5, 15, "overlaps");
	event(0, 1, 7, 18, "overlaps too");
	event_all(1, 2, 2, 14, 31, "late");
	attr_int("odd", 9, 1);
	out_str(&file, "garbage");
	/* A straggler, by more than a window. */
	for (uint64_t i = 0; i < 300; i++)
		event(2, i % 40, 100 + i, 101 + i, "many");
	event(2, 1, 1, 900, "outer");
	epoch(6);
	event(1, 1, 10, 20, "again");
	try_all(&(struct spur_options)SPUR_OPTIONS());
	try_all(&(struct spur_options)SPUR_OPTIONS(.as_stored = true));
}

/* --- a FIFO whose writer waits until what it has written so far has been seen --- */

static sem_t seen;
static size_t parts[4];

static void *write_parts(void *arg)
{
	FILE *f = fopen(file_path, "wb");
	size_t at = 0;

	(void)arg;
	if (!f)
		return NULL;
	for (size_t i = 0; i < 4; i++) {
		fwrite(file.buf + at, 1, parts[i] - at, f);
		fflush(f);
		at = parts[i];
		sem_wait(&seen);
	}
	fclose(f);
	return NULL;
}

/* SPEC heph/stored: rows come as soon as their packets do */
static void test_follow(void **state)
{
	static const struct spur_options follow = SPUR_OPTIONS(.format = "heph", .follow = true);
	struct spur_event rows[16];
	struct batch b = { .rows = rows, .cap = 16 };
	struct spur_error err;
	struct spur_trace *t;
	pthread_t writer;
	uint32_t want[4] = { 1, 1, 1, 2 }; /* an epoch is no row */

	(void)state;
	epoch(77);
	event(1, 1, 10, 20, "a");
	parts[0] = file.len;
	event(1, 1, 5, 30, "b");
	parts[1] = file.len;
	meta("o", "v", 1);
	parts[2] = file.len;
	event_all(1, 5, 1, 40, 50, "c");
	parts[3] = file.len;
	assert_int_equal(unlink(file_path), 0);
	assert_int_equal(mkfifo(file_path, 0600), 0);
	assert_int_equal(sem_init(&seen, 0, 0), 0);
	alarm(60);
	assert_int_equal(pthread_create(&writer, NULL, write_parts, NULL), 0);
	assert_int_equal(spur_open(&t, file_path, &follow, &err), SPUR_OK);
	assert_int_equal(t->clock.epoch_ns, 77);
	for (size_t i = 0; i < 4; i++) {
		for (uint32_t got = 0; got < want[i]; got += b.count) {
			if (i == 3)
				sem_post(&seen);
			assert_int_equal(t->format->next(t, t->feeds[0], &b), SPUR_OK);
			assert_true(b.count && got + b.count <= want[i]);
		}
		sem_post(&seen);
	}
	assert_int_equal(t->format->next(t, t->feeds[0], &b), SPUR_END);
	assert_int_equal(t->read.discarded, 3);
	assert_int_equal(spur_stream(t, 0)->size, file.len);
	spur_close(t);
	pthread_join(writer, NULL);
	sem_destroy(&seen);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_no_memory, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_follow, file_begin, file_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
