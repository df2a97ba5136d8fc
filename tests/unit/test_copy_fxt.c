/* Copies of FXT: whole, chosen records, by time, several files as one, and of damaged files. */
#include "flow/cut.h"
#include "format/copy.h"
#include "format/fxt/frame.h"
#include "unit/fxt_file.h"

static struct out copied, notes;

static int copy_setup(void **state)
{
	out_to_memory(&copied);
	out_to_memory(&notes);
	return file_setup(state);
}

static int copy_teardown(void **state)
{
	out_free(&copied);
	out_free(&notes);
	return file_teardown(state);
}

static struct spur_trace *opened(void)
{
	struct spur_trace *t = open_file(&(struct spur_options)SPUR_OPTIONS(.threads = 1));

	assert_non_null(t);
	return t;
}

/* Runs the copy; what it wrote takes the place of the file. */
static struct copy run_copy(struct copy c)
{
	struct spur_error err = { 0 };

	out_clear(&copied);
	out_clear(&notes);
	c.out = &copied;
	c.notes = &notes;
	c.err = &err;
	assert_int_equal(spur_format_fxt.copy(&c), SPUR_OK);
	out_clear(&file);
	out_bytes(&file, copied.buf, copied.len);
	out_char(&notes, '\0');
	return c;
}

static struct copy_part part_of(struct spur_trace *t)
{
	return (struct copy_part){ .trace = t, .from = INT64_MIN, .until = INT64_MAX };
}

static struct copy copy_one(struct spur_trace *t, const struct kept *kept, bool sorted, bool repair)
{
	struct copy_part part = part_of(t);
	struct copy done_copy;

	part.kept = kept;
	done_copy = run_copy(
		(struct copy){ .parts = &part, .count = 1, .sorted = sorted, .repair = repair });
	spur_close(t);
	return done_copy;
}

/* The rows of `t` whose time is in [from, to]. */
static struct kept *rows_between(struct spur_trace *t, int64_t from, int64_t to)
{
	struct kept *k = kept_new();
	const struct spur_event *rows;
	size_t n;

	assert_non_null(k);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			if (rows[i].ts >= from && rows[i].ts <= to)
				assert_true(kept_add(k, rows[i].stream, rows[i].off));
	return k;
}

static void write_two_providers(void)
{
	basics();
	init(1000000); /* a tick is a microsecond */
	event(FXT_BEGIN, 10, 1, at(1), at(2), 0);
	done();
	provider(2, "q");
	string(1, "other");
	thread(1, 20, 21);
	event(FXT_INSTANT, 15000, 1, at(1), at(1), 1);
	arg(FXT_ARG_STRING, at(1), 0, at(1), NULL);
	done();
	head(FXT_KERNEL_OBJECT, (uint64_t)2 << 16 | in("worker").bits << 24);
	w(21);
	ref_text(in("worker"));
	done();
	section(1);
	event(FXT_END, 30, 1, at(1), at(2), 0);
	done();
	string(2, "renamed");
	event(FXT_INSTANT, 40, 1, at(1), at(2), 0);
	done();
}

/* An undamaged file gives the same bytes, what stands in it that is no row included. */
static void test_whole(void **state)
{
	char *before;
	size_t len;
	struct copy c;

	(void)state;
	write_two_providers();
	head(FXT_BLOB, (uint64_t)3 << 32 | (uint64_t)1 << 48);
	bytes("\0\0\0", 3);
	done();
	len = file.len;
	before = malloc(len);
	assert_non_null(before);
	memcpy(before, file.buf, len);
	c = copy_one(opened(), NULL, false, false);
	assert_int_equal(file.len, len);
	assert_memory_equal(file.buf, before, len);
	assert_int_equal(c.bytes_lost, 0);
	free(before);
}

/* Only the second provider's records: its tables and clock, and the time of the object. */
static void test_cut(void **state)
{
	struct spur_trace *t;
	struct kept *k;
	struct copy c;

	(void)state;
	write_two_providers();
	t = opened();
	k = rows_between(t, 15000, 15000);
	c = copy_one(t, k, false, false);
	kept_free(k);
	assert_int_equal(c.records, 2);
	expect_rows("15000 INSTANT other:other 20/21 (other=\"other\")\n"
		    "15000 OBJECT thread:worker 20/21 #21 retimed (koid=21:worker)\n");
}

/*
 * SPEC fxt/time-mark: the object has the time of an event that is not chosen. SPEC fxt/name-mark:
 * a thread whose object is not chosen keeps its name.
 */
static void test_cut_object(void **state)
{
	const struct spur_event *rows;
	struct spur_trace *t;
	struct kept *k = kept_new();
	size_t n;

	(void)state;
	write_two_providers();
	t = opened();
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			if (rows[i].kind == SPUR_OBJECT || rows[i].kind == SPUR_BEGIN)
				assert_true(kept_add(k, rows[i].stream, rows[i].off));
	copy_one(t, k, false, false);
	kept_free(k);
	expect_rows("10000 BEGIN cat:name 10/11\n"
		    "15000 OBJECT thread:worker 20/21 #21 retimed (koid=21:worker)\n");
	out_clear(&file);
	write_two_providers();
	t = opened();
	k = kept_new();
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			if (rows[i].kind == SPUR_INSTANT)
				assert_true(kept_add(k, rows[i].stream, rows[i].off));
	copy_one(t, k, false, false);
	kept_free(k);
	expect_rows("15000 INSTANT other:other 20/21 (other=\"other\")\n"
		    "40000 INSTANT cat:renamed 10/11\n");
	t = opened();
	for (uint32_t i = 0; i < t->ntracks; i++)
		if (spur_track(t, i)->tid == 21)
			assert_string_equal(spur_string(t, spur_track(t, i)->name, NULL), "worker");
	spur_close(t);
}

/* SPEC fxt/unknown-thread: a thread that is not registered has no process in the copy either. */
static void test_unknown_thread(void **state)
{
	const struct spur_event *rows;
	struct spur_trace *t;
	size_t n;

	(void)state;
	basics();
	event(FXT_INSTANT, 10, 7, at(1), at(2), 0);
	done();
	event(FXT_INSTANT, 20, 8, at(1), at(2), 0);
	done();
	for (int copies = 0; copies < 2; copies++) {
		t = opened();
		assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
		assert_int_equal(n, 2);
		assert_int_not_equal(rows[0].track, rows[1].track);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(trace_pid_of(t, rows[i].track), -1);
			assert_int_equal(spur_track(t, rows[i].track)->tid, -1);
		}
		copy_one(t, NULL, false, false);
	}
}

/* An object of a thread whose process another record told has arguments, but not its process. */
static void test_cut_object_args(void **state)
{
	struct spur_trace *t;
	struct kept *k;

	(void)state;
	basics();
	plain(FXT_INSTANT, 10, "i", 0);
	plain(FXT_INSTANT, 20, "j", 0);
	head(FXT_KERNEL_OBJECT, (uint64_t)2 << 16 | (uint64_t)1 << 40 | in("t").bits << 24);
	w(11);
	ref_text(in("t"));
	arg_i32(in("a"), 1);
	done();
	t = opened();
	k = rows_between(t, 20, 20);
	copy_one(t, k, false, false);
	kept_free(k);
	expect_rows("20 INSTANT j 10/11\n"
		    "20 OBJECT thread:t 10/11 #11 retimed (koid=11:t, a=1)\n");
	out_clear(&file);
	basics();
	plain(FXT_INSTANT, 10, "i", 0);
	head(FXT_KERNEL_OBJECT, (uint64_t)2 << 16 | (uint64_t)1 << 40 | in("t").bits << 24);
	w(11);
	ref_text(in("t"));
	arg_i32(in("a"), 1);
	done();
	plain(FXT_INSTANT, 20, "j", 0);
	t = opened();
	k = rows_between(t, 10, 10);
	assert_true(kept_add(k, 0, 0));
	copy_one(t, k, false, false);
	kept_free(k);
	expect_rows("10 INSTANT i 10/11\n"
		    "10 OBJECT thread:t 10/11 #11 retimed (koid=11:t, a=1)\n");
}

/* An event of thread and strings by index, with an argument whose name and value are string 2. */
static void twos(uint64_t ts)
{
	event(FXT_INSTANT, ts, 1, at(1), at(2), 1);
	arg(FXT_ARG_STRING, at(2), 0, at(2), NULL);
	done();
}

/*
 * Events that refer to the same indices, which stand for something else from some of them on; what
 * changes them is between events that are left out, too.
 */
static void test_cut_runs(void **state)
{
	struct spur_trace *t;
	struct kept *k;

	(void)state;
	basics();
	twos(10);
	twos(50);
	twos(51);
	string(2, "second");
	twos(52);
	twos(11);
	string(2, "third");
	thread(1, 10, 12);
	twos(12);
	twos(53);
	event(FXT_INSTANT, 54, 0, in("inline"), in("event"), 0);
	done();
	event(FXT_INSTANT, 55, 1, in("inline"), in("event"), 1);
	arg(FXT_ARG_STRING, in("a"), 0, in("b"), NULL);
	done();
	init(1000000);
	event(FXT_COMPLETE, 1, 1, at(1), at(2), 0);
	w(2);
	done();
	twos(2);
	thread(1, 10, 13);
	twos(3);
	twos(4);
	t = opened();
	k = rows_between(t, 50, 3000);
	copy_one(t, k, false, false);
	kept_free(k);
	expect_rows("50 INSTANT cat:name 10/11 (name=\"name\")\n"
		    "51 INSTANT cat:name 10/11 (name=\"name\")\n"
		    "52 INSTANT cat:second 10/11 (second=\"second\")\n"
		    "53 INSTANT cat:third 10/12 (third=\"third\")\n"
		    "54 INSTANT inline:event 10/11\n"
		    "55 INSTANT inline:event 10/12 (a=\"b\")\n"
		    "1000 SPAN cat:third 10/12 +1000\n"
		    "2000 INSTANT cat:third 10/12 (third=\"third\")\n"
		    "3000 INSTANT cat:third 10/13 (third=\"third\")\n");
}

/* Records by time: strings and threads that had an index by then come before them. */
static void test_sorted(void **state)
{
	uint64_t last = 0, head_word;
	char *want;

	(void)state;
	basics();
	plain(FXT_COMPLETE, 50, "inner", 60);
	plain(FXT_COMPLETE, 40, "outer", 90);
	event(FXT_INSTANT, 30, 1, at(1), at(2), 0);
	done();
	string(2, "later");
	event(FXT_INSTANT, 20, 1, at(1), at(2), 0);
	done();
	event(FXT_COMPLETE, 20, 1, at(1), at(2), 0);
	w(25);
	done();
	want = strdup(read_file(&(struct spur_options)SPUR_OPTIONS(.threads = 1)));
	copy_one(opened(), NULL, true, false);
	expect_rows(want);
	free(want);
	for (size_t off = 0; off < file.len; off += fxt_words(head_word) * FXT_WORD) {
		const uint8_t *p = (const uint8_t *)file.buf + off;

		head_word = load64(p, false);
		if (fxt_type(head_word) != FXT_EVENT)
			continue;
		assert_true(load64(p + FXT_WORD, false) >= last);
		last = load64(p + FXT_WORD, false);
	}
	assert_int_equal(last, 50);
}

/* Bytes that are no record are left out; it is told that an end after them may end nothing. */
static void test_damaged(void **state)
{
	struct copy c;

	(void)state;
	basics();
	plain(FXT_BEGIN, 10, "a", 0);
	w(0);
	w(0);
	plain(FXT_INSTANT, 20, "b", 0);
	plain(FXT_INSTANT, 21, "b", 0);
	plain(FXT_INSTANT, 22, "b", 0);
	event(FXT_INSTANT, 30, 1, at(1), at(99), 0);
	done();
	plain(FXT_END, 40, "z", 0);
	plain(FXT_END, 50, "a", 0);
	c = copy_one(opened(), NULL, false, false);
	assert_int_equal(c.bytes_lost, 16);
	assert_string_equal(notes.buf, "events added that say that records are missing: 1\n");
	expect_rows("10 BEGIN a 10/11\n"
		    "20 INSTANT b 10/11\n"
		    "21 INSTANT b 10/11\n"
		    "22 INSTANT b 10/11\n"
		    "30 INSTANT cat:<string 99> 10/11\n"
		    "30 LOST metadata:buffer filled p retimed\n"
		    "40 END z 10/11\n"
		    "50 END a 10/11\n"
		    "~ fxt/buffer-filled at 264\n");
}

/* Two files with the same provider, one of the other byte order, the second a second later. */
static void test_joined(void **state)
{
	struct copy_part parts[2];
	struct out first;
	struct spur_trace *a, *b;

	(void)state;
	basics();
	event(FXT_INSTANT, 100, 1, at(1), at(2), 0);
	done();
	a = opened();
	first = file;
	out_to_memory(&file);
	big = true;
	basics();
	event(FXT_COMPLETE, 7, 1, at(1), at(2), 1);
	arg_i32(at(1), -5);
	w(9);
	done();
	head(FXT_KERNEL_OBJECT, (uint64_t)4 << 16 | in("c").bits << 24);
	w(5);
	ref_text(in("c"));
	done();
	b = opened();
	parts[0] = part_of(a);
	parts[1] = part_of(b);
	parts[1].shift = -5;
	run_copy((struct copy){ .parts = parts, .count = 2 });
	spur_close(a);
	spur_close(b);
	out_free(&first);
	/* The object's time is before that of the first file's event. */
	expect_rows("2 OBJECT channel:c p #5 retimed (koid=5:c)\n"
		    "2 SPAN cat:name 10/11 +2 (cat=-5)\n"
		    "100 INSTANT cat:name 10/11\n");
	assert_int_equal(load64((const uint8_t *)file.buf, false), FXT_MAGIC);
}

/* What the producer wrote against the specification is mended if that is asked for. */
static void test_repair(void **state)
{
	(void)state;
	basics();
	event(FXT_INSTANT, 5, 1, at(1), at(2), 0);
	done();
	head(FXT_KERNEL_OBJECT, (uint64_t)4 << 16 | (uint64_t)1 << 50 | in("c").bits << 24);
	w(5);
	out_bytes(&file, "c\0\0x\0\0\0\0", 8);
	done();
	copy_one(opened(), NULL, false, true);
	assert_string_equal(notes.buf, "records written anew: 1\n");
	expect_rows("5 INSTANT cat:name 10/11\n"
		    "5 OBJECT channel:c p #5 retimed (koid=5:c)\n");
}

/* An unknown record whose words look like events that are not there. */
static void doubtful(unsigned type)
{
	head(type, 0);
	for (uint64_t i = 0; i < FXT_CHAIN; i++) {
		w(FXT_EVENT | 2 << 4 | 1 << 24 | (uint64_t)1 << 32 | (uint64_t)2 << 48);
		w(1000 + i);
	}
	done();
}

static void four_events(uint64_t ts)
{
	for (uint64_t i = 0; i < FXT_CHAIN; i++) {
		event(FXT_INSTANT, ts + i, 1, at(1), at(2), 0);
		done();
	}
}

/*
 * SPEC fxt/next-mark: where they are stored, good records follow both; by time one follows the
 * other, which does not show that it is none.
 */
static void test_doubtful(void **state)
{
	static const char rows[] = "20 INSTANT cat:name 10/11\n"
				   "21 INSTANT cat:name 10/11\n"
				   "22 INSTANT cat:name 10/11\n"
				   "23 INSTANT cat:name 10/11\n"
				   "40 INSTANT cat:name 10/11\n"
				   "41 INSTANT cat:name 10/11\n"
				   "42 INSTANT cat:name 10/11\n"
				   "43 INSTANT cat:name 10/11\n"
				   "100 INSTANT cat:name 10/11\n"
				   "100 NATIVE unknown record p retimed\n"
				   "100 NATIVE unknown record p retimed\n";
	char want[1000];
	uint64_t first;

	(void)state;
	basics();
	event(FXT_INSTANT, 100, 1, at(1), at(2), 0);
	done();
	first = file.len;
	doubtful(12);
	four_events(20);
	doubtful(13);
	four_events(40);
	snprintf(want, sizeof(want), "%s~ fxt/unknown-record at %llu x2\n", rows,
		 (unsigned long long)first);
	expect_rows(want);
	copy_one(opened(), NULL, true, false);
	/* Behind the eight events that come before it now, and its own mark. */
	snprintf(want, sizeof(want), "%s~ fxt/unknown-record at %llu x2\n", rows,
		 (unsigned long long)first + (uint64_t)2 * FXT_CHAIN * 2 * FXT_WORD + 2 * FXT_WORD);
	expect_rows(want);
}

/* Without the mark such a record is none, if what follows it is none either. */
static void test_contradicted(void **state)
{
	uint64_t off;
	char want[1000];

	(void)state;
	basics();
	off = file.len;
	doubtful(12);
	w(0);
	four_events(40);
	snprintf(want, sizeof(want),
		 "40 INSTANT cat:name 10/11\n"
		 "41 INSTANT cat:name 10/11\n"
		 "42 INSTANT cat:name 10/11\n"
		 "43 INSTANT cat:name 10/11\n"
		 "1000 INSTANT cat:name 10/11\n"
		 "1001 INSTANT cat:name 10/11\n"
		 "1002 INSTANT cat:name 10/11\n"
		 "1003 INSTANT cat:name 10/11\n"
		 "! fxt/size-past-end at %llu lost 8\n"
		 "! fxt/size-zero at %llu lost 8\n",
		 (unsigned long long)off,
		 (unsigned long long)off + FXT_WORD + FXT_CHAIN * 2 * FXT_WORD);
	expect_rows(want);
}

/* An event of unknown type keeps the arguments that can be read, and what is behind them. */
static void test_unknown_event(void **state)
{
	const struct spur_event *rows;
	struct spur_trace *t;
	size_t n;

	(void)state;
	basics();
	event(13, 50, 1, at(1), at(2), 2);
	arg_i32(in("a"), 7);
	w(FXT_ARG_I64 | 1 << 4 | (uint64_t)1 << 16); /* without a value */
	w(0x1122334455667788);
	done();
	head(FXT_KERNEL_OBJECT, (uint64_t)4 << 16 | in("c").bits << 24);
	w(5);
	ref_text(in("c"));
	done();
	plain(FXT_INSTANT, 40, "i", 0);
	copy_one(opened(), NULL, false, false);
	assert_string_equal(notes.buf, "records written anew: 1\n");
	t = opened();
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(n, 3);
	assert_int_equal(rows[1].kind, SPUR_NATIVE);
	assert_int_equal(rows[1].nargs, 1);
	assert_int_equal(
		load64((const uint8_t *)file.buf + rows[1].off + rows[1].len - FXT_WORD, false),
		0x1122334455667788);
	spur_close(t);
	expect_rows("40 INSTANT i 10/11\n"
		    "50 NATIVE cat:name 10/11 (a=7)\n"
		    "50 OBJECT channel:c p #5 retimed (koid=5:c)\n"
		    "~ fxt/unknown-event at 80\n");
}

/* A time that no clock has which can be used at that place. */
static void test_unmarked(void **state)
{
	(void)state;
	magic();
	init(1000000000);
	plain(FXT_INSTANT, 100, "i", 0);
	head(FXT_LOG, (uint64_t)500 << 16 | (uint64_t)1 << 32);
	w(200); /* no room for the message */
	done();
	provider(1, "p");
	init(3);
	head(FXT_KERNEL_OBJECT, (uint64_t)4 << 16 | in("c").bits << 24);
	w(5);
	ref_text(in("c"));
	done();
	copy_one(opened(), NULL, false, false);
	assert_string_equal(notes.buf,
			    "records without room for their parts, left out: 1\n"
			    "records without a time that have another event's time now: 1\n");
	expect_rows("100 INSTANT i 10/11\n"
		    "100 OBJECT channel:c p #5 retimed (koid=5:c)\n");
}

static void mapping_of(uint64_t ts, unsigned module)
{
	head(FXT_PROFILER, FXT_MMAP << 16 | 1 << 20 | (uint64_t)module << 28);
	w(ts);
	w(0x1000);
	w(0x2000);
	w(0);
	done();
}

/* SPEC fxt/name-mark: a mapping has the name of its module, which comes later by time. */
static void test_module(void **state)
{
	static const char mapping[] = "10 OBJECT mapping:lib 10/-1 #4096 (module=5, flags=0, "
				      "start=4096, range=8192, vaddr=0)\n";
	static const char module[] = "50 OBJECT module:lib 10/-1 #5 (module=5, build_id=)\n";
	char want[1000];
	struct spur_trace *t;
	struct kept *k;

	(void)state;
	basics();
	head(FXT_PROFILER, FXT_MODULE << 16 | 1 << 20 | (uint64_t)5 << 28 | (uint64_t)3 << 44);
	w(50);
	bytes("lib", 3);
	done();
	mapping_of(10, 5);
	mapping_of(20, 6);
	t = opened();
	snprintf(want, sizeof(want), "%s",
		 read_file(&(struct spur_options)SPUR_OPTIONS(.threads = 1)));
	assert_non_null(strstr(want, mapping));
	assert_non_null(strstr(want, module));
	k = rows_between(t, 10, 10);
	copy_one(t, k, false, false);
	kept_free(k);
	expect_rows(mapping);
	out_clear(&file);
	basics();
	head(FXT_PROFILER, FXT_MODULE << 16 | 1 << 20 | (uint64_t)5 << 28 | (uint64_t)3 << 44);
	w(50);
	bytes("lib", 3);
	done();
	mapping_of(10, 5);
	mapping_of(20, 6);
	copy_one(opened(), NULL, true, false);
	expect_rows(want);
}

/*
 * SPEC fxt/name-mark: frames keep their modules, and pointers their names, whose records are not
 * chosen.
 */
static void test_cut_labels(void **state)
{
	struct spur_trace *t;
	struct kept *k;

	(void)state;
	basics();
	head(FXT_PROFILER, FXT_MODULE << 16 | 1 << 20 | (uint64_t)5 << 28 | (uint64_t)3 << 44);
	w(10);
	bytes("lib", 3);
	done();
	mapping_of(10, 5);
	head(FXT_USER_OBJECT, 1 << 16 | in("obj").bits << 24);
	w(0x40);
	ref_text(in("obj"));
	done();
	event(FXT_INSTANT, 30, 1, at(1), at(2), 1);
	arg_word(FXT_ARG_POINTER, in("p"), 0x40);
	done();
	for (uint64_t ts = 40; ts < 42; ts++) {
		head(FXT_PROFILER, FXT_BACKTRACE << 16 | 1 << 20 | (uint64_t)2 << 28);
		w(ts);
		w(0x1010);
		w(0x9010);
		done();
	}
	event(FXT_INSTANT, 50, 1, at(1), at(2), 1);
	arg_word(FXT_ARG_POINTER, in("p"), 0x40);
	done();
	for (int from = 30; from <= 50; from += 20) {
		t = opened();
		k = rows_between(t, from, 60);
		copy_one(t, k, false, false);
		kept_free(k);
		assert_int_equal(notes.len, 1);
		expect_rows(from == 30 ? "30 INSTANT cat:name 10/11 (p=*40:obj)\n"
					 "40 SAMPLE profiler:backtrace 10/11 "
					 "(frames=[*1010:lib+0x10 *9010])\n"
					 "41 SAMPLE profiler:backtrace 10/11 "
					 "(frames=[*1010:lib+0x10 *9010])\n"
					 "50 INSTANT cat:name 10/11 (p=*40:obj)\n"
				       : "50 INSTANT cat:name 10/11 (p=*40:obj)\n");
	}
}

/* A thread whose name an argument needed before still gets its process. */
static void test_process_later(void **state)
{
	const struct spur_event *rows;
	struct spur_trace *t;
	struct kept *k = kept_new();
	size_t n;

	(void)state;
	basics();
	plain(FXT_INSTANT, 10, "i", 0);
	head(FXT_KERNEL_OBJECT, (uint64_t)2 << 16 | in("t").bits << 24);
	w(11);
	ref_text(in("t"));
	done();
	head(FXT_KERNEL_OBJECT, (uint64_t)4 << 16 | (uint64_t)1 << 40 | in("c").bits << 24);
	w(5);
	ref_text(in("c"));
	arg_word(FXT_ARG_KOID, in("k"), 11);
	done();
	head(FXT_KERNEL_OBJECT, (uint64_t)2 << 16 | in("t").bits << 24);
	w(11);
	ref_text(in("t"));
	done();
	t = opened();
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			if (rows[i].kind == SPUR_OBJECT && i > 1)
				assert_true(kept_add(k, rows[i].stream, rows[i].off));
	copy_one(t, k, false, false);
	kept_free(k);
	expect_rows("10 OBJECT channel:c p #5 retimed (koid=5:c, k=11:t)\n"
		    "10 OBJECT thread:t 10/11 #11 retimed (koid=11:t)\n");
}

/* Every allocation may fail: the copy fails, or its bytes are right. */
static void test_allocations(void **state)
{
	struct spur_error err;
	struct out want, got;
	bool failed = true;

	(void)state;
	write_two_providers();
	mapping_of(45, 6);
	event(FXT_INSTANT, 60, 1, at(1), at(99), 1);
	arg_word(FXT_ARG_KOID, at(2), 21);
	done();
	out_to_memory(&want);
	for (uint64_t n = 0; failed || n < 2; n++) {
		struct spur_trace *t = opened();
		struct copy_part parts[2] = { part_of(t), part_of(t) };
		struct copy c = { .parts = parts, .count = 2, .sorted = true, .out = &got };

		assert_true(n < 10000);
		err = (struct spur_error){ 0 };
		c.err = &err;
		parts[1].shift = 1000;
		out_to_memory(&got);
		mem_fail_at(n);
		failed = cut_copy(&spur_format_fxt, &c) == SPUR_FAIL || got.error;
		mem_fail_at(0);
		spur_close(t);
		assert_true(n || !failed);
		if (!n)
			out_bytes(&want, got.buf, got.len);
		if (!failed) {
			assert_int_equal(got.len, want.len);
			assert_memory_equal(got.buf, want.buf, want.len);
		}
		out_free(&got);
	}
	out_free(&want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_cut, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_cut_object, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_cut_object_args, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_unknown_thread, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_cut_runs, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_sorted, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_damaged, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_joined, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_repair, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_doubtful, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_contradicted, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_unknown_event, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_unmarked, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_module, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_cut_labels, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_process_later, copy_setup, copy_teardown),
		cmocka_unit_test_setup_teardown(test_allocations, copy_setup, copy_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
