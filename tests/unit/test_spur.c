/* Spur's recordings: each rule of docs/formats/spur.md on the smallest file that shows it. */
#include "unit/spur_file.h"

#include "format/format.h"

static void test_sites(void **state)
{
	(void)state;
	/* SPEC spur/byte-order, SPEC spur/site, SPEC spur/argument */
	/* SPEC spur/string, SPEC spur/descriptor */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	site(1, SPB_SITE_SPAN, "span", "164", 1);
	site(2, SPB_SITE_INSTANT, "values", "2345789", 0);
	site(3, SPB_SITE_ASYNC_BEGIN, "async", "1", 0);
	site(4, SPB_SITE_FLOW_END, "flow", "", 0);
	site(1, SPB_SITE_LOG, "not used", "", 0);
	name(SPB_STRING, 9, "interned");
	records(1, PAIR_MONO);
	word(SPB_BEGIN, 2, 1, PAIR_MONO + 1);
	put((uint64_t)-3, 8);
	text("abc");
	align();
	word(SPB_EVENT, 7, 2, PAIR_MONO + 2);
	put(UINT64_MAX, 8);
	put(0x3FF8000000000000, 8);
	put(2, 8);
	put(0xABC, 8);
	text("\x01\x02");
	align();
	put(9, 8);
	put('x', 8);
	word(SPB_EVENT, 2, 3, PAIR_MONO + 3);
	put(77, 8);
	put(5, 8);
	word(SPB_EVENT, 1, 4, PAIR_MONO + 4);
	put(78, 8);
	word(SPB_EVENT, 0, 2, PAIR_MONO + 5);
	word(SPB_END, 1, 1, PAIR_MONO + 6);
	put(0, 8);
	word(SPB_END, 0, 0, PAIR_MONO + 7);
	word(SPB_EVENT, 0, 8, PAIR_MONO + 8);
	expect("1 BEGIN span @71 a=-3, b=\"abc\"\n"
	       "2 INSTANT values @71 a=18446744073709551615, b=1.5, c=true, d=0xabc, e={01 02}, "
	       "f=\"interned\", g='x'\n"
	       "3 ASYNC_BEGIN async 77 @71 a=5\n"
	       "4 FLOW_END flow 78 @71\n"
	       "5 INSTANT values @71\n"
	       "6 END span @71 c=false\n"
	       "7 END return @71 any\n"
	       "8 NATIVE unknown record @71\n",
	       "spur/unknown-record 1 at 12512\n");
}

static void test_functions(void **state)
{
	(void)state;
	/* SPEC spur/function, SPEC spur/tail-call, SPEC spur/unwind, SPEC spur/switch */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	function(1, 0x100, "_Z1fi");
	records(1, PAIR_MONO);
	word(SPB_TAIL, 0, 1, PAIR_MONO);
	word(SPB_ENTER, 1, 0, PAIR_MONO + 1);
	put(0xABCD, 8);
	word(SPB_TAIL, 0, 1, PAIR_MONO + 2);
	word(SPB_EXIT, 0, 1, PAIR_MONO + 3);
	word(SPB_ENTER, 0, 1, PAIR_MONO + 4);
	word(SPB_UNWIND, 1, 0, PAIR_MONO + 5);
	put(UINT64_MAX, 8);
	word(SPB_UNWIND, 0, 0, PAIR_MONO + 6);
	word(SPB_SWITCH, 1, 3 << 1 | 1, PAIR_MONO + 7);
	put(1, 8);
	word(SPB_SWITCH, 0, 2 << 1, PAIR_MONO + 8);
	word(SPB_EXIT, 0, 0, PAIR_MONO + 9);
	expect("0 BEGIN f @71 tail\n"
	       "1 BEGIN <abcd> @71\n"
	       "2 END return @71 tail any\n"
	       "2 BEGIN f @71 tail\n"
	       "3 END f @71\n"
	       "4 BEGIN f @71\n"
	       "5 END return @71 any\n"
	       "5 END return @71 any\n"
	       "7 SWITCH switch @71 cpu 3 out preempted\n"
	       "8 SWITCH switch @71 cpu 2 in\n"
	       "9 END return @71 any\n",
	       "");
}

/* SPEC spur/gap: what is open where a ring has overwritten chunks ends there, in rings only. */
static void test_gap(void **state)
{
	(void)state;
	set(SPB_MODE_AT, SPB_RING, 4);
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	site(1, SPB_SITE_SPAN, "s", "", 0);
	function(1, 0x100, "f");
	records(1, PAIR_MONO);
	word(SPB_ENTER, 0, 1, PAIR_MONO);
	word(SPB_BEGIN, 0, 1, PAIR_MONO + 1);
	set(chunk_at + SPB_CLOSE_AT, PAIR_MONO + 3, 8);
	/* Begun before the one before was closed: nothing was overwritten. */
	records(1, PAIR_MONO + 2);
	word(SPB_ENTER, 0, 1, PAIR_MONO + 4);
	set(chunk_at + SPB_CLOSE_AT, PAIR_MONO + 5, 8);
	records(1, PAIR_MONO + 9);
	word(SPB_EXIT, 0, 1, PAIR_MONO + 10);
	expect("0 BEGIN f @71\n"
	       "1 BEGIN s @71\n"
	       "4 BEGIN f @71\n"
	       "5 END return @71 any\n"
	       "5 END return @71 any\n"
	       "5 END return @71 any\n"
	       "10 END f @71\n",
	       "");
	set(SPB_MODE_AT, SPB_STREAM, 4);
	expect("0 BEGIN f @71\n"
	       "1 BEGIN s @71\n"
	       "4 BEGIN f @71\n"
	       "10 END f @71\n",
	       "");
}

static void test_commit(void **state)
{
	(void)state;
	/* SPEC spur/commit, SPEC spur/lost, SPEC spur/chunk-lost */
	set(SPB_LOST_AT, 6, 8);
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	site(1, SPB_SITE_INSTANT, "i", "", 0);
	records(1, PAIR_MONO + 5);
	set(chunk_at + SPB_CHUNK_LOST_AT, 4, 8);
	put(0, 8);
	put(0, 8);
	word(SPB_EVENT, 0, 1, PAIR_MONO + 6);
	word(SPB_RESERVED, 2, 0, 0);
	put(0, 8);
	put(12345, 8);
	word(SPB_EVENT, 0, 1, PAIR_MONO + 7);
	word(SPB_LOST, 1, 0, PAIR_MONO + 8);
	put(3, 8);
	put(0, 8);
	expect("5 LOST lost events 1 @71\n"
	       "5 LOST lost events 6 @-1prog\n"
	       "6 INSTANT i @71\n"
	       "6 LOST lost events 1 @71\n"
	       "7 INSTANT i @71\n"
	       "8 LOST lost events 3 @71\n"
	       "8 LOST lost events 4 @71\n",
	       "");
}

static void test_reserved(void **state)
{
	(void)state;
	/* SPEC spur/reserved: a long record whose length stands in its first word only */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	site(1, SPB_SITE_INSTANT, "i", "", 0);
	records(1, PAIR_MONO);
	word(SPB_RESERVED, 15, 0, 20);
	for (unsigned i = 0; i < 21; i++)
		put(i < 4 ? 0 : 0x1FE, 8);
	word(SPB_EVENT, 0, 1, PAIR_MONO + 7);
	word(SPB_RESERVED, 15, 0, 600);
	expect("0 LOST lost events 1 @71\n7 INSTANT i @71\n",
	       "spur/long-record 1 at 12536 lost 8\n");
}

static void test_pages(void **state)
{
	(void)state;
	/*
	 * SPEC spur/page, SPEC spur/length: a long payload, then one that would cross the page; the
	 * zeros before it are a record that was not completed
	 */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	site(1, SPB_SITE_INSTANT, "i", "6", 0);
	records(1, PAIR_MONO);
	word(SPB_EVENT, SPB_LENGTH_FAR, 1, PAIR_MONO + 1);
	put(16, 8);
	text("0123456789");
	pad_to(chunk_at + SPB_CHUNK_HEAD + 8 + 8 + 16 * 8);
	word(SPB_EVENT, 2, 1, PAIR_MONO + 2);
	text("left out");
	pad_to(chunk_at + SPB_PAGE - 8);
	word(SPB_EVENT, 1, 1, PAIR_MONO + 3);
	word(SPB_EVENT, 0, 1, PAIR_MONO + 4);
	expect("1 INSTANT i @71 a=\"0123456789\"\n"
	       "2 INSTANT i @71 a=\"left out\"\n"
	       "2 LOST lost events 1 @71\n"
	       "4 INSTANT i @71\n",
	       "spur/long-record 1 at 16376 lost 8\n");
}

static void test_time(void **state)
{
	const uint64_t far = PAIR_MONO + 3 * ((uint64_t)1 << 32);

	(void)state;
	/* SPEC spur/time, SPEC spur/order, SPEC spur/stored, SPEC spur/chunk */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	site(1, SPB_SITE_INSTANT, "i", "", 0);
	site(2, SPB_SITE_INSTANT, "late", "", 0);
	records(1, far);
	word(SPB_EVENT, 0, 1, far + 2);
	set(chunk_at + SPB_SEQUENCE_AT, 9, 8);
	records(1, PAIR_MONO);
	word(SPB_EVENT, 0, 1, PAIR_MONO + 5);
	word(SPB_EVENT, 0, 2, PAIR_MONO + 3);
	word(SPB_EVENT, 0, 2, PAIR_MONO + 3);
	word(SPB_TIME, 1, 0, far);
	put(far, 8);
	word(SPB_PAD, 1, 0, 0);
	put(7, 8);
	word(SPB_EVENT, 0, 1, far - 1);
	expect("3 INSTANT late @71\n"
	       "3 INSTANT late @71\n"
	       "5 INSTANT i @71\n"
	       "12884901887 INSTANT i @71\n"
	       "12884901890 INSTANT i @71\n",
	       "");
	expect_stored("0 NATIVE descriptor @-1prog\n"
		      "0 NATIVE descriptor @-1prog\n"
		      "12884901890 INSTANT i @71\n"
		      "5 INSTANT i @71\n"
		      "3 INSTANT late @71\n"
		      "3 INSTANT late @71\n"
		      "12884901888 NATIVE time @71\n"
		      "12884901888 NATIVE pad @71\n"
		      "12884901887 INSTANT i @71\n",
		      "");
}

static void test_fibers(void **state)
{
	(void)state;
	/* SPEC spur/fiber, SPEC spur/thread */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	site(1, SPB_SITE_SPAN, "s", "", 0);
	name(SPB_FIBER_NAME, 500, "fiber");
	name(SPB_PROCESS_NAME, 0x6170000000000003, "");
	records(1, PAIR_MONO);
	word(SPB_FIBER, 1, 0, PAIR_MONO + 1);
	put(500, 8);
	word(SPB_BEGIN, 0, 1, PAIR_MONO + 2);
	records(1, PAIR_MONO + 3);
	word(SPB_BEGIN, 0, 1, PAIR_MONO + 3);
	word(SPB_FIBER, 1, 0, PAIR_MONO + 4);
	put(501, 8);
	word(SPB_END, 0, 1, PAIR_MONO + 4);
	records(2, PAIR_MONO + 5);
	word(SPB_FIBER, 1, 0, PAIR_MONO + 5);
	put(500, 8);
	word(SPB_END, 0, 1, PAIR_MONO + 6);
	word(SPB_FIBER, 0, 0, PAIR_MONO + 6);
	word(SPB_BEGIN, 0, 1, PAIR_MONO + 7);
	expect("2 BEGIN s @-1fiber\n"
	       "3 BEGIN s @71\n"
	       "4 END s @71\n"
	       "6 END s @-1fiber\n"
	       "7 BEGIN s @72\n",
	       "");
}

/* A TSC of 1 GHz + 10 %, so that the line through the pairs can be told from the frequency. */
static void set_tsc(uint64_t hz)
{
	set(SPB_CLOCK_AT, SPB_CLOCK_TSC, 4);
	set(SPB_HZ_AT, hz, 8);
	set(SPB_BEGIN_AT, PAIR_TICKS, 8);
}

static void test_clock(void **state)
{
	static const struct spur_options by_time = SPUR_OPTIONS();
	struct spur_trace *t;

	(void)state;
	/* SPEC spur/clock: one pair and no frequency */
	set_tsc(0);
	chunk(SPB_CHUNK_DESCRIPTORS, 0, 0);
	set(chunk_at + SPB_OPEN_AT, 0, 16);
	site(1, SPB_SITE_INSTANT, "i", "", 0);
	records(1, PAIR_TICKS);
	set(chunk_at + SPB_OPEN_AT + 8, 0, 8);
	word(SPB_EVENT, 0, 1, PAIR_TICKS + 100);
	expect("100 INSTANT i @71\n", "spur/no-frequency 1 at 40\n");
	/* a pair of a chunk */
	set(chunk_at + SPB_CLOSE_AT, PAIR_TICKS + 200, 8);
	set(chunk_at + SPB_CLOSE_AT + 8, PAIR_MONO + 400, 8);
	expect("200 INSTANT i @71\n", "");
	/* the frequency, where the pairs are near to each other */
	set(SPB_HZ_AT, 2000000000, 8);
	expect("50 INSTANT i @71\n", "");
	/* and the pairs where they are not */
	set(SPB_END_AT, PAIR_TICKS + 1000000000, 8);
	set(SPB_END_AT + 8, PAIR_MONO + (uint64_t)3000000000, 8);
	expect("300 INSTANT i @71\n", "");
	t = file_open(&by_time);
	assert_true(t->clock.epoch_known && t->clock.epoch_ns == PAIR_REAL - PAIR_MONO);
	assert_null(t->clock.identity);
	spur_close(t);
	memset(file.buf + SPB_BOOT_AT, 0xA5, SPB_BOOT_SIZE);
	t = file_open(&by_time);
	assert_string_equal(t->clock.identity, "a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5");
	spur_close(t);
}

static void module(uint32_t number, uint64_t begin, uint64_t loaded, const char *build_id,
		   const char *path)
{
	descriptor(SPB_MODULE);
	put(number, 8);
	put(begin, 8);
	put(begin + 0x1000, 8);
	put(begin, 8);
	put(loaded, 8);
	text(build_id);
	text(path);
	descriptor_ends();
}

/* The recording names this very program, which has symbols. */
static void test_modules(void **state)
{
	static const struct spur_options by_time = SPUR_OPTIONS();
	const struct spur_event *rows;
	struct spur_trace *t;
	const char *path;
	size_t n;

	(void)state;
	/* SPEC spur/module, SPEC spur/symbols, SPEC spur/build-id */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	module(1, 0x10000, PAIR_MONO, "", "/nowhere/first.so");
	module(2, 0x10000, PAIR_MONO + 10, "", "/nowhere/second.so");
	module(3, 0x90000, PAIR_MONO, "\x01\x02", "/proc/self/exe");
	descriptor(SPB_UNLOAD);
	put(1, 8);
	put(PAIR_MONO + 9, 8);
	descriptor_ends();
	records(1, PAIR_MONO);
	for (unsigned i = 0; i < 3; i++) {
		word(SPB_ENTER, 1, 0, PAIR_MONO + 1 + 10 * i);
		put(i < 2 ? 0x10010 : 0x90010, 8);
	}
	t = file_open(&by_time);
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(n, 3);
	assert_int_equal(rows[0].name, rows[1].name);
	assert_int_not_equal(rows[0].cls, rows[1].cls);
	path = spur_string(t, trace_class(t, rows[0].cls)->module, NULL);
	assert_string_equal(path, "/nowhere/first.so");
	path = spur_string(t, trace_class(t, rows[1].cls)->module, NULL);
	assert_string_equal(path, "/nowhere/second.so");
	spur_close(t);
}

static void test_damage(void **state)
{
	static const struct spur_options by_time = SPUR_OPTIONS();
	size_t first;

	(void)state;
	/* SPEC spur/chunk-kind, SPEC spur/tail */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	first = file.len;
	site(1, SPB_SITE_INSTANT, "i", "", 0);
	site(2, SPB_SITE_INSTANT, "k", "", 0);
	records(1, PAIR_MONO);
	word(SPB_EVENT, 0, 1, PAIR_MONO + 1);
	records(2, PAIR_MONO);
	set(chunk_at + SPB_KIND_AT, 9, 2);
	chunk(SPB_CHUNK_RECORDS, 3, PAIR_MONO);
	set(chunk_at + SPB_SEQUENCE_AT, 0, 8);
	word(SPB_EVENT, 0, 1, PAIR_MONO + 2);
	pad_to(chunk_at + CHUNK + 100);
	expect("1 INSTANT i @71\n", "spur/bad-chunk 1 at 20480 lost 8192\n");
	set(chunk_at + CHUNK, 1, 1);
	expect("1 INSTANT i @71\n", "spur/bad-chunk 2 at 20480 lost 8292\n");
	set(chunk_at + CHUNK, 0, 1);
	/* SPEC spur/chunk: a head that was not completed */
	set(chunk_at + CHUNK + SPB_KIND_AT, SPB_CHUNK_RECORDS, 2);
	expect("1 INSTANT i @71\n", "spur/bad-chunk 1 at 20480 lost 8192\n");
	/* The first site's kind; then its size. */
	set(first + SPB_DESCRIPTOR_HEAD + 4, 99, 1);
	expect("1 NATIVE unknown record @71\n", "spur/bad-chunk 1 at 20480 lost 8192\n"
						"spur/bad-descriptor 1 at 4160 lost 32\n"
						"spur/unknown-record 1 at 12352\n");
	set(first, 7, 4);
	expect("1 NATIVE unknown record @71\n", "spur/bad-chunk 1 at 20480 lost 8192\n"
						"spur/descriptor-size 1 at 4160 lost 4032\n"
						"spur/unknown-record 1 at 12352\n");
	/* SPEC spur/chunk-size, SPEC spur/header */
	set(SPB_CHUNK_SIZE_AT, 5000, 4);
	assert_null(file_open(&by_time));
	set(SPB_CHUNK_SIZE_AT, CHUNK, 4);
	set(0, 0, 8);
	assert_null(file_open(&by_time));
}

/* SPEC spur/recording: a directory of two processes, each with a file, and others. */
static void test_recording(void **state)
{
	static const struct spur_options by_time = SPUR_OPTIONS();
	char dir[] = "/tmp/spur-spb-XXXXXX", path[3][80];
	const struct spur_event *rows;
	struct spur_trace *t;
	struct spur_error err;
	uint64_t events = 0;
	FILE *f;
	size_t n;

	(void)state;
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	site(1, SPB_SITE_INSTANT, "i", "", 0);
	records(1, PAIR_MONO);
	word(SPB_EVENT, 0, 1, PAIR_MONO + 1);
	memset(file.buf + SPB_BOOT_AT, 1, SPB_BOOT_SIZE);
	assert_non_null(mkdtemp(dir));
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%u-1.%s", dir, i, i < 2 ? "spb" : "txt");
		set(SPB_PID_AT, 100 + i, 4);
		f = fopen(path[i], "wb");
		assert_non_null(f);
		assert_int_equal(fwrite(file.buf, 1, file.len, f), file.len);
		fclose(f);
	}
	assert_int_equal(spur_open(&t, dir, &by_time, &err), SPUR_OK);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			assert_int_equal(trace_pid_of(t, rows[i].track), 100 + events++);
	assert_int_equal(events, 2);
	spur_close(t);
	for (unsigned i = 0; i < 3; i++)
		unlink(path[i]);
	rmdir(dir);
}

/* A file of the directory with what was made so far. */
static void member_write(const char *dir, const char *name)
{
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(file.buf, 1, file.len, f), file.len);
	fclose(f);
}

/* Reads the recording of test_observed(): whether it may grow makes no difference. */
static void observed_rows(const char *dir, bool follow)
{
	const struct spur_options options = SPUR_OPTIONS(.follow = follow);
	const struct spur_event *rows;
	uint32_t track[6] = { 0 };
	struct spur_trace *t;
	struct spur_error err;
	size_t n, count = 0;
	struct out o;

	assert_int_equal(spur_open(&t, dir, &options, &err), SPUR_OK);
	out_to_memory(&o);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			assert_true(count < 6);
			track[count++] = rows[i].track;
			out_printf(&o, "%lld %lld\n", (long long)rows[i].ts - PAIR_MONO,
				   (long long)spur_track(t, rows[i].track)->tid);
		}
	out_char(&o, '\0');
	assert_string_equal(o.buf, "1 71\n2 71\n109 71\n111 71\n112 71\n120 72\n");
	/* Two programs have the thread one after the other. */
	assert_true(track[0] == track[1] && track[1] == track[2] && track[2] != track[3]);
	assert_true(track[3] == track[4] && track[4] != track[5]);
	/* Files come by name, so the second program is first. */
	if (!follow) {
		assert_int_equal(track[0], 3);
		assert_int_equal(track[3], 1);
		assert_int_equal(spur_track(t, track[5])->parent, 2);
	}
	out_free(&o);
	spur_close(t);
}

/*
 * SPEC spur/observed: rows of the recorder's own file are on the tracks of the process's files, of
 * two with the same ids on that which began last before the row.
 */
static void test_observed(void **state)
{
	static const char *const names[] = { "7-1.spb", "7-1-1.spb", "7-1.system.spb" };
	char dir[] = "/tmp/spur-spb-XXXXXX", path[80];

	assert_non_null(mkdtemp(dir));
	memset(file.buf + SPB_BOOT_AT, 1, SPB_BOOT_SIZE);
	/* A program, and what it becomes by exec(): thread 71 of process 7. */
	records(1, PAIR_MONO);
	word(SPB_EVENT, 0, 1, PAIR_MONO + 1);
	member_write(dir, names[0]);
	file.len = SPB_HEADER;
	sequence = 0;
	set(SPB_BEGIN_AT, PAIR_MONO + 100, 8);
	set(SPB_BEGIN_AT + 8, PAIR_MONO + 100, 8);
	records(1, PAIR_MONO + 110);
	word(SPB_EVENT, 0, 1, PAIR_MONO + 111);
	member_write(dir, names[1]);
	/* What the kernel saw of the two, and of thread 72, which has no events. */
	file.len = SPB_HEADER;
	sequence = 0;
	set(SPB_MODE_AT, SPB_OBSERVED, 4);
	set(SPB_BEGIN_AT, PAIR_MONO, 8);
	set(SPB_BEGIN_AT + 8, PAIR_MONO, 8);
	chunk(SPB_CHUNK_RECORDS, 1, PAIR_MONO + 2);
	word(SPB_SWITCH, 0, 1, PAIR_MONO + 2);
	word(SPB_SWITCH, 0, 0, PAIR_MONO + 109);
	word(SPB_SWITCH, 0, 1, PAIR_MONO + 112);
	chunk(SPB_CHUNK_RECORDS, 2, PAIR_MONO + 120);
	word(SPB_SWITCH, 0, 1, PAIR_MONO + 120);
	member_write(dir, names[2]);
	observed_rows(dir, false);
	observed_rows(dir, true);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
	(void)state;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, file_begin, file_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sites),    TEST(test_functions), TEST(test_commit),	 TEST(test_pages),
		TEST(test_reserved), TEST(test_time),	   TEST(test_fibers),	 TEST(test_clock),
		TEST(test_modules),  TEST(test_damage),	   TEST(test_recording), TEST(test_gap),
		TEST(test_observed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
