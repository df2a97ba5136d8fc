/* FXT written: records byte by byte, tables with eviction, marks, and the writer as a whole. */
#include <glob.h>

#include "flow/convert.h"
#include "format/fxt/write.h"
#include "unit/fxt_file.h"

extern const struct spur_writer spur_writer_fxt;

/* --- records --- */

static struct fxt_build build;
static uint8_t arg_bytes[FXT_RECORD_MOST * FXT_WORD];

static const struct fxt_string_ref cat7 = { .ref = 0x7777 }, name1 = { .ref = 0x1234 },
				   cat_c = { .ref = 0x7aaa }, name_c = { .ref = 0x7bbb },
				   s1 = { .ref = 1 }, s2 = { .ref = 2 }, s3 = { .ref = 3 };
static const uint64_t time_a = 0x1234567890abcdef, time_b = 0xaabbccddeeff0011,
		      tail = 0x1122334455667788;

static struct fxt_string_ref inline_ref(const char *s)
{
	return (struct fxt_string_ref){ .ref = (uint16_t)(FXT_INLINE | strlen(s)),
					.len = (uint32_t)strlen(s),
					.text = s };
}

static struct fxt_shape with_data(struct fxt_shape s, const void *p, size_t len)
{
	s.data = p;
	s.data_len = len;
	return s;
}

static struct fxt_shape with_args(struct fxt_shape s, const struct fxt_arg *args, uint8_t n)
{
	struct fxt_build *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->swap = order_swaps(false);
	for (uint8_t i = 0; i < n; i++)
		fxt_build_arg(b, &args[i]);
	assert_false(b->full);
	memcpy(arg_bytes, b->bytes, sizeof(arg_bytes));
	s.nargs = n;
	s.args = arg_bytes;
	s.args_end = arg_bytes + (size_t)b->words * FXT_WORD;
	free(b);
	return s;
}

static struct fxt_shape event_shape(unsigned type)
{
	return (struct fxt_shape){ .type = FXT_EVENT,
				   .sub = (uint8_t)type,
				   .ticks = time_a,
				   .threads = { { .ref = 1 } },
				   .cat = cat7,
				   .name = name1,
				   .value = tail };
}

/* The directory of the recorded vectors, or NULL. */
static const char *vectors(void)
{
	static char path[512];
	const char *traces = getenv("SPUR_TRACES");
	FILE *f;

	snprintf(path, sizeof(path), "%s/peer/fxt-goldens/ser_begin.rec",
		 traces ? traces : "../shared/traces");
	f = fopen(path, "rb");
	if (!f)
		return NULL;
	fclose(f);
	*strrchr(path, '/') = '\0';
	return path;
}

static unsigned checked;

static void expect_vector(const char *name, struct fxt_shape s)
{
	char path[640];
	uint8_t want[4096];
	struct out o;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.rec", vectors(), name);
	f = fopen(path, "rb");
	assert_non_null(f);
	n = fread(want, 1, sizeof(want), f);
	fclose(f);
	out_to_memory(&o);
	build.swap = order_swaps(false);
	assert_true(fxt_encode(&s, &build, &o));
	if (o.len != n || memcmp(o.buf, want, n) != 0)
		fail_msg("%s: other bytes", name);
	out_free(&o);
	checked++;
}

static void expect_events(void)
{
	static const char *const names[] = {
		"instant_indexed", NULL,	  "begin",	   "end",
		"complete",	   "async_begin", "async_instant", "async_end",
		"flow_begin",	   "flow_step",	  "flow_end"
	};
	const struct fxt_arg yes = { .type = FXT_ARG_BOOL,
				     .name = { .ref = 0x2345 },
				     .head = (uint64_t)1 << 32 },
			     named = { .type = FXT_ARG_NULL, .name = inline_ref("argname") };
	struct fxt_shape s;
	char path[64];

	for (unsigned i = 0; i < FXT_EVENT_TYPES; i++) {
		snprintf(path, sizeof(path), "ser_%s", names[i] ? names[i] : "");
		if (names[i])
			expect_vector(path, event_shape(i));
	}
	s = with_args(event_shape(FXT_COUNTER), &yes, 1);
	s.value = 0x334455667788;
	expect_vector("ser_counter", s);
	s = event_shape(FXT_INSTANT);
	s.cat = inline_ref("category");
	s.name = inline_ref("name longer than eight bytes");
	expect_vector("ser_instant_inline_strings", s);
	s = event_shape(FXT_INSTANT);
	s.threads[0] = (struct fxt_thread_ref){ .pid = 0xdeadbeef, .tid = 0xcafef00d };
	s.cat = s1;
	s.name = s2;
	expect_vector("ser_instant_inline_thread", s);
	s = event_shape(FXT_INSTANT);
	s.cat = s2;
	s.name = s3;
	expect_vector("ser_arg_name_inline", with_args(s, &named, 1));
}

static void expect_arguments(void)
{
	static const uint8_t blob[] = { 1, 2, 3, 4, 5 };
	const struct fxt_string_ref n = { .ref = 0x7fff };
	const double number = 1234.5678;
	struct fxt_arg args[] = {
		{ .type = FXT_ARG_NULL, .name = n },
		{ .type = FXT_ARG_BOOL, .name = n, .head = (uint64_t)1 << 32 },
		{ .type = FXT_ARG_I32, .name = n, .head = (uint64_t)0x12345678 << 32 },
		{ .type = FXT_ARG_U32, .name = n, .head = (uint64_t)1450741931 << 32 },
		{ .type = FXT_ARG_I64, .name = n, .word = 1311768467294899695 },
		{ .type = FXT_ARG_U64, .name = n, .word = 18364757930599072545u },
		{ .type = FXT_ARG_F64, .name = n },
		{ .type = FXT_ARG_POINTER, .name = n, .word = 0xdeadbeef },
		{ .type = FXT_ARG_KOID, .name = n, .word = 0x12345678 },
		{ .type = FXT_ARG_STRING, .name = n, .text = { .ref = 11 } },
		{ .type = FXT_ARG_STRING, .name = n, .text = inline_ref("inline") },
		{ .type = FXT_ARG_STRING,
		  .name = inline_ref("inline"),
		  .text = inline_ref("inline") },
		{ .type = FXT_ARG_BLOB, .name = n, .data = blob, .len = sizeof(blob) },
	};
	struct fxt_shape s = event_shape(FXT_INSTANT);

	memcpy(&args[6].word, &number, sizeof(number));
	s.cat = s2;
	s.name = s3;
	expect_vector("ser_arguments_13", with_args(s, args, sizeof(args) / sizeof(args[0])));
}

static void expect_objects(void)
{
	static const char data[] = "This is some data that we are writing",
			  large[] = "Some data to write into the buffer";
	const struct fxt_arg no = { .type = FXT_ARG_BOOL, .name = { .ref = 0x4321 } },
			     plain_no = { .type = FXT_ARG_BOOL, .name = inline_ref("arg") },
			     yes = { .type = FXT_ARG_BOOL,
				     .name = name1,
				     .head = (uint64_t)1 << 32 },
			     flag = { .type = FXT_ARG_BOOL,
				      .name = { .ref = 0x2345 },
				      .head = (uint64_t)1 << 32 };
	struct fxt_shape s = { .type = FXT_KERNEL_OBJECT,
			       .head = fxt_put(FXT_F_OBJECT_TYPE, 4),
			       .value = 0xdeadbeef,
			       .name = cat7 };

	expect_vector("ser_kernel_object", with_args(s, &no, 1));
	s.name = inline_ref("name");
	expect_vector("ser_kernel_object_inline", with_args(s, &plain_no, 1));
	s = (struct fxt_shape){ .type = FXT_USER_OBJECT,
				.value = 0xdeadbeef,
				.threads = { { .ref = 0xaa } },
				.name = cat7 };
	expect_vector("ser_userspace_object", with_args(s, &yes, 1));
	s = (struct fxt_shape){ .type = FXT_BLOB,
				.head = fxt_put(FXT_F_BLOB_TYPE, FXT_BLOB_DATA),
				.name = cat7 };
	expect_vector("ser_blob", with_data(s, data, sizeof(data) - 1));
	s = (struct fxt_shape){
		.type = FXT_LARGE, .sub = FXT_LARGE_PLAIN, .cat = cat_c, .name = name_c
	};
	expect_vector("ser_large_blob", with_data(s, large, sizeof(large) - 1));
	s.sub = FXT_LARGE_WITH_META;
	s.ticks = time_b;
	s.threads[0].ref = 0xcc;
	expect_vector("ser_large_blob_meta",
		      with_args(with_data(s, large, sizeof(large) - 1), &flag, 1));
}

static void expect_scheduling(void)
{
	const struct fxt_arg weights[] = {
		{ .type = FXT_ARG_I32, .name = s1, .head = (uint64_t)3 << 32 },
		{ .type = FXT_ARG_I32, .name = s2, .head = (uint64_t)4 << 32 },
	};
	struct fxt_shape s = { .type = FXT_SCHEDULING,
			       .sub = FXT_LEGACY_SWITCH,
			       .head = fxt_put(FXT_F_LEGACY_CPU, 187) |
				       fxt_put(FXT_F_LEGACY_STATE, 2) |
				       fxt_put(FXT_F_LEGACY_OUT_PRIORITY, 3) |
				       fxt_put(FXT_F_LEGACY_IN_PRIORITY, 4),
			       .ticks = time_b,
			       .threads = { { .ref = 1 }, { .ref = 2 } } };

	expect_vector("ser_legacy_switch", s);
	s = (struct fxt_shape){ .type = FXT_SCHEDULING,
				.sub = FXT_SWITCH,
				.head = fxt_put(FXT_F_SCHED_CPU, 0xbbbb) |
					fxt_put(FXT_F_SCHED_STATE, 2),
				.ticks = time_b,
				.threads = { { .tid = 1 }, { .tid = 2 } } };
	expect_vector("ser_switch", with_args(s, weights, 2));
	s = (struct fxt_shape){ .type = FXT_SCHEDULING,
				.sub = FXT_WAKEUP,
				.head = fxt_put(FXT_F_SCHED_CPU, 0xbbbb),
				.ticks = time_b,
				.threads = { { .tid = 2 } } };
	expect_vector("ser_wakeup", with_args(s, &weights[1], 1));
}

static void expect_profiler(void)
{
	static const uint8_t id[] = { 0x33, 0x3e, 0x89, 0xf0, 0xc1, 0x75, 0x00, 0x0c, 0xee, 0x9b,
				      0x7e, 0x20, 0x1f, 0xed, 0xcd, 0x6f, 0x9b, 0x4b, 0xa8, 0xae };
	static const uint8_t frames[24] = { [0] = 1, [8] = 2, [16] = 3 };
	struct fxt_shape s = { .type = FXT_PROFILER,
			       .sub = FXT_MODULE,
			       .head = fxt_put(FXT_F_PROFILER_MODULE, 0xabcd),
			       .ticks = time_a,
			       .threads = { { .ref = 0xcc } },
			       .name = inline_ref("module_name") };

	expect_vector("ser_module", with_data(s, id, sizeof(id)));
	s.sub = FXT_MMAP;
	s.head |= fxt_put(FXT_F_PROFILER_FLAGS, 5);
	s.value = 0x1000;
	s.more[0] = 0x2000;
	s.more[1] = 0x3000;
	expect_vector("ser_mmap", s);
	s.sub = FXT_BACKTRACE;
	s.threads[0] = (struct fxt_thread_ref){ .pid = 0xdeadbeef, .tid = 0xcafef00d };
	expect_vector("ser_backtrace", with_data(s, frames, sizeof(frames)));
}

/*
 * SPEC fxt/byte-order, SPEC fxt/record-size: the bytes of other projects' writers for the same
 * content.
 */
static void test_vectors(void **state)
{
	static const char text[] = "This is a log message";
	struct fxt_shape s = { .type = FXT_METADATA, .sub = FXT_TRACE_INFO };

	(void)state;
	if (!vectors()) {
		print_message("no recorded vectors: set SPUR_TRACES\n");
		skip();
	}
	checked = 0;
	expect_vector("ser_magic", s);
	s.value = 2864434397;
	s.sub = FXT_PROVIDER_SECTION;
	expect_vector("ser_provider_section", s);
	s.sub = FXT_PROVIDER_EVENT;
	s.head = fxt_put(FXT_F_METADATA_EVENT, 7);
	expect_vector("ser_provider_event", s);
	s.sub = FXT_PROVIDER_INFO;
	expect_vector("ser_provider_info", with_data(s, "test_provider", 13));
	expect_vector("ser_init", (struct fxt_shape){ .type = FXT_INIT, .value = 0xabcd });
	s = (struct fxt_shape){ .type = FXT_THREAD, .head = fxt_put(FXT_F_THREAD_INDEX, 0xaa) };
	s.threads[0] =
		(struct fxt_thread_ref){ .pid = 0x123456789abcdef, .tid = 0xfecdba9876543210 };
	expect_vector("ser_thread", s);
	s = (struct fxt_shape){ .type = FXT_LOG, .ticks = time_b, .threads = { { .ref = 1 } } };
	expect_vector("ser_log", with_data(s, text, sizeof(text) - 1));
	expect_events();
	expect_arguments();
	expect_objects();
	expect_scheduling();
	expect_profiler();
	assert_int_equal(checked, 34);
}

/* Exact records of a file, encoded from what they were found to be. */
static unsigned encode_all(const uint8_t *data, size_t size)
{
	const bool swap = order_swaps(size >= 8 && data[0] == 0 && data[7] == 0x10);
	unsigned n = 0;
	uint64_t bytes;

	for (size_t off = 0; off + FXT_WORD <= size; off += bytes) {
		struct fxt_shape s;
		struct out o;

		bytes = fxt_words(load64(data + off, swap)) * FXT_WORD;
		if (!bytes || bytes > size - off)
			break;
		fxt_shape_of(&s, data + off, bytes, swap);
		if (!fxt_shape_exact(&s, swap) || s.extra)
			continue;
		out_to_memory(&o);
		build.swap = swap;
		assert_true(fxt_encode(&s, &build, &o));
		assert_int_equal(o.len, bytes);
		assert_memory_equal(o.buf, data + off, bytes);
		out_free(&o);
		n++;
	}
	return n;
}

static void test_goldens(void **state)
{
	glob_t found;
	unsigned n = 0;

	(void)state;
	assert_int_equal(glob("tests/golden/fxt/*/in", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct spur_error err;
		struct source *src;

		assert_true(source_open(&src, found.gl_pathv[i], &(struct source_options){ 0 },
					&err) != SPUR_FAIL);
		n += encode_all(src->data, src->size);
		source_close(src);
	}
	globfree(&found);
	assert_true(n > 300);
}

/* A record that would be longer than its size can say is not written. */
static void test_too_large(void **state)
{
	const size_t most = (FXT_RECORD_MOST - 1) * FXT_WORD;
	char *data = calloc(1, most + 1);
	struct fxt_shape s = { .type = FXT_BLOB, .head = fxt_put(FXT_F_BLOB_TYPE, 1), .name = s1 };
	struct out o;

	(void)state;
	assert_non_null(data);
	out_to_memory(&o);
	s = with_data(s, data, most);
	assert_true(fxt_encode(&s, &build, &o));
	assert_int_equal(o.len, FXT_RECORD_MOST * FXT_WORD);
	s.data_len++;
	assert_false(fxt_encode(&s, &build, &o));
	assert_int_equal(o.len, FXT_RECORD_MOST * FXT_WORD);
	out_free(&o);
	free(data);
}

static void test_text_cut(void **state)
{
	(void)state;
	assert_int_equal(fxt_text_cut("abc", 3, 5), 3);
	assert_int_equal(fxt_text_cut("abcdef", 6, 4), 4);
	/* e9 is two bytes, the euro sign three: neither is cut apart. */
	assert_int_equal(fxt_text_cut("a\xc3\xa9z", 4, 2), 1);
	assert_int_equal(fxt_text_cut("a\xc3\xa9z", 4, 3), 3);
	assert_int_equal(fxt_text_cut("\xe2\x82\xac!", 4, 2), 0);
	assert_int_equal(fxt_text_cut("\xe2\x82\xac!", 4, 3), 3);
	/* Bytes that are no UTF-8 anyway are cut where the room ends. */
	assert_int_equal(fxt_text_cut("\x80\x80\x80\x80\x80\x80\x80", 7, 5), 5);
}

/* --- tables --- */

static void test_table(void **state)
{
	struct fxt_table t;
	bool fresh;

	(void)state;
	fxt_table_init(&t, 4);
	for (uint32_t i = 1; i < 4; i++) {
		assert_int_equal(fxt_table_put(&t, 5000 * i, i, &fresh), i);
		assert_true(fresh);
	}
	assert_int_equal(fxt_table_put(&t, 5000, 4, &fresh), 1);
	assert_false(fresh);
	/* All were used: the hand goes once around, and the first one is replaced. */
	assert_int_equal(fxt_table_put(&t, 7, 5, &fresh), 1);
	assert_true(fresh);
	assert_int_equal(fxt_table_find(&t, 5000, 6), 0);
	/* The second was used since, the third was not. */
	assert_int_equal(fxt_table_find(&t, 10000, 6), 2);
	assert_int_equal(fxt_table_put(&t, 8, 7, &fresh), 3);
	/* What the record in progress uses stays, whatever the hand finds. */
	assert_int_equal(fxt_table_find(&t, 7, 8), 1);
	assert_int_equal(fxt_table_find(&t, 10000, 8), 2);
	assert_int_equal(fxt_table_put(&t, 9, 8, &fresh), 3);
	assert_int_equal(fxt_table_find(&t, 8, 9), 0);
	fxt_table_free(&t);
}

/* --- the writer --- */

/* What was written in place of the file that was read. */
static struct loss_table convert_file(const char *settings)
{
	struct spur_trace *t = open_file(&(struct spur_options)SPUR_OPTIONS(.threads = 1));
	struct convert c = { .pipe = { .threads = 1 }, .settings = settings };
	struct out o;

	assert_non_null(t);
	out_to_memory(&o);
	assert_int_equal(convert_run(&c, t, &spur_writer_fxt, &o), SPUR_OK);
	spur_close(t);
	out_clear(&file);
	out_bytes(&file, o.buf, o.len);
	out_free(&o);
	return c.loss;
}

static uint64_t count_records(unsigned type, bool swap)
{
	uint64_t n = 0, head;

	for (size_t off = 0; off < file.len; off += fxt_words(head) * FXT_WORD) {
		head = load64((const uint8_t *)file.buf + off, swap);
		assert_true(fxt_words(head));
		n += fxt_type(head) == type;
	}
	assert_int_equal(file.len % FXT_WORD, 0);
	return n;
}

/* SPEC fxt/string-record, SPEC fxt/thread-record: more than the tables hold, both ways round */
static void test_eviction(void **state)
{
	enum { NAMES = 33000, THREADS = 300 };
	char *first;

	(void)state;
	magic();
	provider(1, "p");
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < NAMES; i++) {
			char name[16];

			snprintf(name, sizeof(name), "n%u", i);
			head(FXT_EVENT, in(name).bits << 48);
			w((uint64_t)round * NAMES + i);
			w(10);
			w(1000 + i % THREADS);
			ref_text(in(name));
			done();
		}
	first = strdup(read_file(&(struct spur_options)SPUR_OPTIONS(.threads = 1)));
	for (unsigned i = 0; i < 2; i++) {
		const struct loss_table lost =
			convert_file(i ? "byte-order=big" : "byte-order=little");

		assert_int_equal(loss_sum(&lost), 0);
		assert_string_equal(read_file(&(struct spur_options)SPUR_OPTIONS(.threads = 1)),
				    first);
		assert_true(count_records(FXT_STRING, order_swaps(i)) > NAMES);
		assert_int_equal(count_records(FXT_EVENT, order_swaps(i)), 2 * NAMES);
		/* Each thread comes again only after all others, so none is in the table then. */
		assert_true(count_records(FXT_THREAD, order_swaps(i)) > THREADS);
	}
	free(first);
}

/* The document's own limit is 32,000 bytes; what is longer and fits into a record stays whole. */
static void test_long_text(void **state)
{
	char *text = malloc(32002);
	struct loss_table lost;
	const char *got;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', 32001);
	memcpy(text + 31999, "\xc3\xa9", 3);
	basics();
	event(FXT_INSTANT, 5, 1, at(1), at(2), 1);
	arg(FXT_ARG_STRING, at(2), 0, in(text), NULL);
	done();
	lost = convert_file(NULL);
	got = read_file(&(struct spur_options)SPUR_OPTIONS(.threads = 1));
	assert_int_equal(loss_sum(&lost), 0);
	assert_non_null(strstr(got, "\xc3\xa9"));
	free(text);
}

/*
 * SPEC fxt/payload-mark: what is longer than a record is whole in a large one: a log, a text or
 * blob beside other arguments, in both byte orders.
 */
static void test_payload(void **state)
{
	enum { LONG = 40000 };
	char *text = malloc(LONG + 1), *want;
	struct loss_table lost;
	uint64_t marked = 0;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', LONG);
	text[LONG] = '\0';
	/* The specification's own large records, with the marks that make events of them. */
	basics();
	for (int i = 0; i < 3; i++) {
		const bool log = i == 0;
		const size_t len = i == 2 ? LONG : 33000;

		record_at = file.len;
		w(15);
		if (log)
			w((uint64_t)in("log").bits << 16 | (uint64_t)1 << 32 | (uint64_t)1 << 36);
		else
			w(1 | (uint64_t)2 << 16 | (uint64_t)3 << 32 | (uint64_t)1 << 36);
		ref_text(log ? in("log") : none);
		w(100 + (uint64_t)i);
		if (!log)
			arg_i32(in("a"), -7);
		arg(FXT_ARG_NULL, log ? in("message") : in("long"), 0, none, NULL);
		if (!log)
			arg(FXT_ARG_BOOL, in("b"), 1, none, NULL);
		w(len);
		bytes(text, len);
		bytes("SpurData", 8);
		w((log ? SPUR_LOG : SPUR_INSTANT) | (uint64_t)UINT16_MAX << 24);
		w(0);
		w(0);
		w((uint64_t)!log | (uint64_t)(i < 2) << 8);
		marked = (file.len - record_at) / 8;
		memcpy(file.buf + record_at, &(uint64_t){ 15 | marked << 4 }, 8);
	}
	want = strdup(read_file(&(struct spur_options)SPUR_OPTIONS(.threads = 1)));
	assert_memory_equal(want, "100 LOG log 10/11 (message=\"xxxx", 32);
	assert_non_null(strstr(want, "\n101 INSTANT cat:name 10/11 (a=-7, long=\"xxxx"));
	assert_non_null(strstr(want, "\n102 INSTANT cat:name 10/11 (a=-7, long=7878"));
	assert_non_null(strstr(want, "xxxx\", b=1)\n"));
	for (int i = 0; i < 2; i++) {
		lost = convert_file(i ? "byte-order=big" : "byte-order=little");
		assert_int_equal(loss_sum(&lost), 3);
		assert_int_equal(lost.events[FXT_LOST_LARGE][SPUR_LOG], 1);
		assert_int_equal(lost.events[FXT_LOST_LARGE][SPUR_INSTANT], 2);
		assert_string_equal(read_file(&(struct spur_options)SPUR_OPTIONS(.threads = 1)),
				    want);
	}
	free(want);
	free(text);
}

/* SPEC fxt/time-mark */
static void test_time_mark(void **state)
{
	(void)state;
	basics();
	plain(FXT_INSTANT, 100, "i", 0);
	head(FXT_BLOB, (uint64_t)16 << 32 | (uint64_t)1 << 48);
	bytes("SpurTime", 8);
	w(70);
	done();
	head(FXT_KERNEL_OBJECT, (uint64_t)4 << 16 | in("c").bits << 24);
	w(5);
	ref_text(in("c"));
	done();
	provider_event(1, 0);
	plain(FXT_INSTANT, 200, "j", 0);
	provider_event(1, 0);
	expect_rows("70 OBJECT channel:c p #5 retimed (koid=5:c)\n"
		    "70 LOST metadata:buffer filled p retimed\n"
		    "100 INSTANT i 10/11\n"
		    "200 INSTANT j 10/11\n"
		    "200 LOST metadata:buffer filled p retimed\n"
		    "~ fxt/buffer-filled at 168 x2\n");
}

/* SPEC fxt/kind-mark, SPEC fxt/side-mark, SPEC fxt/name-mark, SPEC fxt/number-mark */
static void test_marks(void **state)
{
	(void)state;
	basics();
	event(FXT_INSTANT, 100, 1, at(1), at(2), 0);
	bytes("SpurKind", 8);
	w(SPUR_WAKEUP | (uint64_t)3 << 24);
	w(42);
	w(0);
	done();
	/* A span is no kind that a mark may give. */
	event(FXT_INSTANT, 110, 1, at(1), at(2), 0);
	bytes("SpurKind", 8);
	w(SPUR_SPAN);
	w(42);
	w(0);
	done();
	head(FXT_SCHEDULING, (uint64_t)2 << 20 | (uint64_t)3 << 36 | (uint64_t)FXT_SWITCH << 60);
	w(120);
	w(11);
	w(0);
	bytes("SpurSide", 8);
	w(SPUR_F_OUT);
	done();
	head(FXT_KERNEL_OBJECT, (uint64_t)2 << 16 | in("worker").bits << 24);
	w(11);
	ref_text(in("worker"));
	bytes("SpurName", 8);
	done();
	w(15 | (uint64_t)6 << 4 | (uint64_t)FXT_LARGE_PLAIN << 40);
	w(1 | 2 << 16);
	w(1);
	bytes("x", 1);
	bytes("SpurBlob", 8);
	w(77);
	expect_rows("100 WAKEUP cat:name 10/11 @3 #42\n"
		    "110 INSTANT cat:name 10/11\n"
		    "120 SWITCH scheduling:context switch 10/11 @2 out (state=3:blocked, next=0)\n"
		    "120 BLOB cat:name p #77 retimed (data=78)\n");
}

/*
 * SPEC fxt/order: spans of equal times, the inner one of which is written first; a wake-up before
 * the thread is registered, by time; a blob of another type than data needs no name.
 */
static void test_order_kept(void **state)
{
	static const char rows[] = "50 WAKEUP scheduling:wakeup 10/11 @1\n"
				   "100 BLOB  p retimed (data=78, type=2:last_branch)\n"
				   "100 SPAN outer 10/11 +5\n"
				   "100 SPAN middle 10/11 +5\n"
				   "100 SPAN inner 10/11 +5\n";

	(void)state;
	basics();
	plain(FXT_COMPLETE, 100, "inner", 105);
	plain(FXT_COMPLETE, 100, "middle", 105);
	plain(FXT_COMPLETE, 100, "outer", 105);
	head(FXT_BLOB, (uint64_t)1 << 32 | (uint64_t)2 << 48);
	bytes("x", 1);
	done();
	head(FXT_SCHEDULING, (uint64_t)1 << 20 | (uint64_t)FXT_WAKEUP << 60);
	w(50);
	w(11);
	done();
	expect_rows(rows);
	convert_file(NULL);
	expect_rows(rows);
}

/*
 * SPEC fxt/name-mark: a mapping whose module comes later by time. SPEC fxt/next-mark: two records
 * that could be others, by time without a record between them that shows that they are none.
 */
static void test_names_and_doubts(void **state)
{
	char *want;

	(void)state;
	basics();
	plain(FXT_INSTANT, 200, "i", 0);
	for (unsigned n = 0; n < 2; n++) {
		head(12 + n, 0);
		for (unsigned i = 0; i < FXT_CHAIN; i++) {
			w(FXT_EVENT | 2 << 4 | 1 << 24 | (uint64_t)1 << 32 | (uint64_t)2 << 48);
			w(1000 + i);
		}
		done();
		for (unsigned i = 0; i < FXT_CHAIN; i++)
			plain(FXT_INSTANT, 150 + i, "j", 0);
	}
	head(FXT_PROFILER, FXT_MODULE << 16 | 1 << 20 | (uint64_t)5 << 28 | (uint64_t)3 << 44);
	w(50);
	bytes("lib", 3);
	done();
	head(FXT_PROFILER, FXT_MMAP << 16 | 1 << 20 | (uint64_t)5 << 28);
	w(10);
	w(0x1000);
	w(0x2000);
	w(0);
	done();
	want = strdup(read_file(&(struct spur_options)SPUR_OPTIONS(.threads = 1)));
	assert_non_null(strstr(want, "10 OBJECT mapping:lib 10/-1 #4096"));
	assert_non_null(strstr(want, "200 NATIVE unknown record p retimed\n"
				     "200 NATIVE unknown record p retimed\n"));
	/* The notes have offsets. */
	*strchr(want, '~') = '\0';
	convert_file(NULL);
	assert_memory_equal(read_file(&(struct spur_options)SPUR_OPTIONS(.threads = 1)), want,
			    strlen(want));
	assert_string_equal(strchr(seen.buf, '~') + 1, strstr(seen.buf, " fxt/unknown-record at"));
	free(want);
}

/* SPEC fxt/placeholder: data whose name is empty, but has an index, is a blob. */
static void test_empty_name(void **state)
{
	struct loss_table lost;

	(void)state;
	basics();
	string(7, "");
	head(FXT_BLOB, (uint64_t)7 << 16 | (uint64_t)1 << 32 | (uint64_t)1 << 48);
	bytes("x", 1);
	done();
	plain(FXT_INSTANT, 100, "i", 0);
	for (int i = 0; i < 2; i++) {
		expect_rows("100 BLOB  p retimed (data=78, type=1:data)\n"
			    "100 INSTANT i 10/11\n");
		lost = convert_file(NULL);
		assert_int_equal(loss_sum(&lost), 0);
	}
}

/* Records of every kind, with arguments of every type. */
static void write_all_kinds(void)
{
	basics();
	init(1000000);
	for (unsigned type = 0; type < FXT_EVENT_TYPES; type++) {
		event(type, 10 + type, 1, at(1), at(2), 4);
		arg_i32(at(2), -1);
		arg(FXT_ARG_STRING, in("s"), 0, in("text"), NULL);
		arg_word(FXT_ARG_KOID, at(1), 10);
		arg(FXT_ARG_BOOL, in("b"), 1, none, NULL);
		if (fxt_has_tail(type))
			w(40);
		done();
	}
	provider(2, "q");
	thread(1, 20, 21);
	head(FXT_LOG, (uint64_t)3 << 16 | (uint64_t)1 << 32);
	w(50);
	bytes("log", 3);
	done();
	head(FXT_SCHEDULING, (uint64_t)FXT_SWITCH << 60 | (uint64_t)3 << 20);
	w(60);
	w(21);
	w(11);
	done();
	head(FXT_KERNEL_OBJECT, (uint64_t)2 << 16 | in("worker").bits << 24);
	w(21);
	ref_text(in("worker"));
	done();
	head(FXT_BLOB, in("blob").bits << 16 | (uint64_t)1 << 32 | (uint64_t)1 << 48);
	ref_text(in("blob"));
	bytes("x", 1);
	done();
	head(FXT_PROFILER, FXT_MMAP << 16 | 1 << 20 | (uint64_t)5 << 28);
	w(70);
	w(0x1000);
	w(0x2000);
	w(0);
	done();
}

/* Every allocation may fail: the conversion fails, or its bytes are right. */
static void test_allocations(void **state)
{
	struct out want, got;
	bool failed = true;

	(void)state;
	write_all_kinds();
	out_to_memory(&want);
	for (uint64_t n = 0; failed || n < 2; n++) {
		struct spur_trace *t = open_file(&(struct spur_options)SPUR_OPTIONS(.threads = 1));
		struct convert c = { .pipe = { .threads = 1 } };

		assert_non_null(t);
		assert_true(n < 10000);
		out_to_memory(&got);
		mem_fail_at(n);
		failed = convert_run(&c, t, &spur_writer_fxt, &got) == SPUR_FAIL || got.error;
		mem_fail_at(0);
		spur_close(t);
		assert_true(n || !failed);
		if (!n)
			out_bytes(&want, got.buf, got.len);
		if (!failed) {
			assert_int_equal(loss_sum(&c.loss), 0);
			assert_int_equal(got.len, want.len);
			assert_memory_equal(got.buf, want.buf, want.len);
		}
		out_free(&got);
	}
	out_free(&want);
}

/* SPEC fxt/made-id */
static void test_made_ids(void **state)
{
	const uint64_t idless = (uint64_t)0xF7 << 56 | (uint64_t)1 << 55 | 0x70000005,
		       twin = (uint64_t)0xF7 << 56 | (uint64_t)11 << 32 | 0x70000006;

	(void)state;
	assert_int_equal(fxt_shown_id(idless), -1);
	assert_int_equal(fxt_shown_id(twin), 11);
	assert_int_equal(fxt_shown_id(0xF700000000000001), (int64_t)0xF700000000000001);
	assert_int_equal(fxt_shown_id(11), 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_vectors, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_goldens, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_too_large, file_setup, file_teardown),
		cmocka_unit_test(test_text_cut),
		cmocka_unit_test(test_table),
		cmocka_unit_test_setup_teardown(test_eviction, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_long_text, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_payload, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_time_mark, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_marks, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_order_kept, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_names_and_doubts, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_empty_name, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_allocations, file_setup, file_teardown),
		cmocka_unit_test(test_made_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
