/* FXT: damage, one kind a test, and how reading goes on behind it. */
#include "unit/fxt_file.h"

static void before(void)
{
	basics();
	event(FXT_INSTANT, 1, 1, at(1), in("before"), 0);
	done();
}

static void after(void)
{
	event(FXT_INSTANT, 8, 1, at(1), in("after"), 0);
	done();
	string(2, "late");
	event(FXT_INSTANT, 9, 1, at(1), at(2), 0);
	done();
}

enum { DAMAGE = 104 }; /* where before() ends */

#define BEFORE "1 INSTANT cat:before 10/11\n"
#define AFTER "8 INSTANT cat:after 10/11\n9 INSTANT cat:late 10/11\n"

/* --- framing: SPEC fxt/damage; SPEC fxt/resync --- */

static void test_size_zero(void **state)
{
	(void)state;
	before();
	w(FXT_EVENT);
	w(0);
	after();
	expect_rows(BEFORE AFTER "! fxt/size-zero at 104 lost 16\n");
}

static void test_size_past_end(void **state)
{
	(void)state;
	before();
	head(FXT_BLOB, 0);
	done_as(4095);
	after();
	expect_rows(BEFORE AFTER "! fxt/size-past-end at 104 lost 8\n");
}

/* SPEC fxt/contradicted: of an unknown type, up to the text of the event behind it */
static void test_size_over_records(void **state)
{
	(void)state;
	before();
	w(12 | 3 << 4);
	after();
	expect_rows(BEFORE AFTER "! fxt/size-past-end at 104 lost 8\n");
}

static void test_large_size_past_end(void **state)
{
	(void)state;
	before();
	head(FXT_LARGE, 0);
	done_as(UINT32_MAX);
	after();
	expect_rows(BEFORE AFTER "! fxt/size-past-end at 104 lost 8\n");
}

/* Fewer than four records to the end of the data will do, if they end there. */
static void test_resync_at_end(void **state)
{
	(void)state;
	before();
	w(0);
	event(FXT_INSTANT, 8, 1, at(1), in("after"), 0);
	done();
	expect_rows(BEFORE "8 INSTANT cat:after 10/11\n! fxt/size-zero at 104 lost 8\n");
}

/* Bytes were put in or are missing: the words are elsewhere from there on. */
static void test_other_alignment(void **state)
{
	(void)state;
	for (size_t n = 1; n < 8; n++) {
		char want[200];

		out_clear(&file);
		before();
		out_bytes(&file, "\0\0\0\0\0\0\0", n);
		after();
		/* With a byte less of zeros the header's first byte is part of the size. */
		snprintf(want, sizeof(want), BEFORE AFTER "! fxt/size-%s at 104 lost %zu\n",
			 n > 1 ? "zero" : "past-end", n);
		expect_rows(want);
	}
}

/* Records behind damage are found whatever their kind. */
static void test_resync_kinds(void **state)
{
	(void)state;
	for (int kind = 0; kind < 9; kind++) {
		out_clear(&file);
		before();
		w(0);
		switch (kind) {
		case 0:
			provider(1, "p");
			break;
		case 1:
			section(1);
			break;
		case 2:
			init(1000000000);
			break;
		case 3:
			string(9, "another");
			break;
		case 4:
			thread(9, 1, 1);
			break;
		case 5:
			head(FXT_BLOB, (uint64_t)1 << 16 | (uint64_t)3 << 32);
			bytes("abc", 3);
			done();
			break;
		case 6:
			head(FXT_KERNEL_OBJECT, (uint64_t)1 << 24);
			w(5);
			done();
			break;
		case 7:
			head(FXT_LOG, (uint64_t)1 << 32);
			w(5);
			done();
			break;
		default:
			head(FXT_LARGE, (uint64_t)1 << 40);
			w(1 | 1 << 16);
			w(0);
			done();
		}
		after();
		read_file(&(struct spur_options)SPUR_OPTIONS());
		assert_non_null(strstr(seen.buf, AFTER));
		assert_non_null(strstr(seen.buf, "! fxt/size-zero at 104 lost 8\n"));
	}
}

static void test_tails(void **state)
{
	char want[200];
	size_t whole;

	(void)state;
	before();
	event(FXT_INSTANT, 2, 1, at(1), in("torn, and long"), 0);
	done();
	whole = file.len;
	for (size_t cut = DAMAGE + 1; cut < whole; cut++) {
		file.len = cut;
		snprintf(want, sizeof(want), BEFORE "! fxt/truncated-tail at 104 lost %zu\n",
			 cut - DAMAGE);
		assert_string_equal(read_file(&(struct spur_options)SPUR_OPTIONS()), want);
		assert_string_equal(read_file(&(struct spur_options)SPUR_OPTIONS(.read_size = 3)),
				    want);
	}
	file.len = whole;
}

/*
 * What an argument's header says as that of a record: an event, an object, a table record, a
 * provider's section.
 */
static void test_cut_arguments(void **state)
{
	static const unsigned types[] = { FXT_ARG_NULL,	   FXT_ARG_U32,	 FXT_ARG_I64, FXT_ARG_U64,
					  FXT_ARG_POINTER, FXT_ARG_KOID, FXT_ARG_BLOB };

	(void)state;
	for (unsigned index = 0x102; index < 0x120; index++) {
		size_t whole, size;

		out_clear(&file);
		before();
		string(index, "argument");
		thread(index >> 8, 10, 12);
		whole = file.len;
		event(FXT_COMPLETE, 2, 1, at(1), in("torn"), 14);
		for (unsigned i = 0; i < 14; i++) {
			const unsigned type = types[i % 7];
			const bool word = type >= FXT_ARG_I64;

			if (type == FXT_ARG_BLOB) {
				w(type | 5 << 4 | (uint64_t)index << 16 | UINT64_C(32) << 32);
				for (int k = 0; k < 4; k++)
					w(33);
			} else {
				arg(type, at(index), 0, none, word ? &(uint64_t){ 51 } : NULL);
			}
		}
		w(4);
		done();
		for (size = file.len; --size > whole;) {
			char want[100];

			file.len = size;
			snprintf(want, sizeof(want),
				 BEFORE "! fxt/truncated-tail at %zu lost %zu\n", whole,
				 size - whole);
			assert_string_equal(read_file(&(struct spur_options)SPUR_OPTIONS()), want);
		}
	}
}

/* The registration of all that follows is lost: reading goes on all the same. */
static void test_lost_registration(void **state)
{
	(void)state;
	before();
	w(0);
	w(0x656d616e);
	for (unsigned i = 0; i < 5; i++) {
		event(FXT_INSTANT, 8, 9, at(1), at(9), 0);
		done();
	}
	assert_non_null(strstr(read_file(&(struct spur_options)SPUR_OPTIONS()),
			       "! fxt/size-zero at 104 lost 16\n! fxt/unknown-string at 120 x5\n"));
}

/* Good records between damage and a record that is cut. */
static void test_cut_behind_damage(void **state)
{
	(void)state;
	before();
	w(0);
	event(FXT_INSTANT, 8, 1, at(1), in("after"), 0);
	done();
	event(FXT_INSTANT, 9, 1, at(1), in("torn, and long"), 0);
	done();
	file.len -= 9;
	expect_rows(BEFORE "8 INSTANT cat:after 10/11\n"
			   "! fxt/size-zero at 104 lost 8\n! fxt/truncated-tail at 136 lost 23\n");
}

static void test_zeros_at_end(void **state)
{
	(void)state;
	before();
	for (int i = 0; i < 100; i++)
		w(0);
	expect_rows(BEFORE "! fxt/size-zero at 104 lost 800\n");
}

/* Damage again and again, at all alignments: each byte is looked at a few times, not each time. */
static void test_no_quadratic(void **state)
{
	(void)state;
	before();
	for (int i = 0; i < 20000; i++) {
		plain(FXT_INSTANT, 5, "x", 0);
		out_bytes(&file, "\0\0\0", 3);
	}
	assert_non_null(strstr(read_file(&(struct spur_options)SPUR_OPTIONS()), "! fxt/size-zero"));
}

static void test_nothing(void **state)
{
	(void)state;
	expect_rows("");
	out_bytes(&file, "\x10\0\4", 3);
	expect_rows("~ fxt/no-magic at 0\n! fxt/truncated-tail at 0 lost 3\n");
	out_clear(&file);
	magic();
	expect_rows("");
}

/* --- one record: SPEC fxt/bad-record --- */

static void expect_bad(uint64_t lost)
{
	char want[200];

	after();
	snprintf(want, sizeof(want), BEFORE AFTER "! fxt/bad-record at 104 lost %llu\n",
		 (unsigned long long)lost);
	expect_rows(want);
}

static void test_too_short(void **state)
{
	static const struct {
		uint64_t head;
		unsigned words;
	} cases[] = {
		{ FXT_EVENT, 1 },
		{ FXT_EVENT, 3 },
		{ FXT_EVENT | FXT_COUNTER << 16 | 1 << 24, 2 },
		{ FXT_EVENT | FXT_COMPLETE << 16 | 1 << 24, 2 },
		{ FXT_EVENT | FXT_ASYNC_END << 16 | 1 << 24, 2 },
		{ FXT_EVENT | 1 << 24 | UINT64_C(0x8fff) << 48, 3 },
		{ FXT_INIT, 1 },
		{ FXT_STRING | 5 << 16 | UINT64_C(9) << 32, 2 },
		{ FXT_THREAD | 5 << 16, 2 },
		{ FXT_BLOB | UINT64_C(9) << 32, 2 },
		{ FXT_USER_OBJECT, 1 },
		{ FXT_USER_OBJECT, 2 },
		{ FXT_KERNEL_OBJECT, 1 },
		{ FXT_SCHEDULING, 1 },
		{ FXT_SCHEDULING | UINT64_C(1) << 60, 3 },
		{ FXT_SCHEDULING | UINT64_C(2) << 60, 2 },
		{ FXT_LOG | 9 << 16 | UINT64_C(1) << 32, 3 },
		{ FXT_PROFILER | 1 << 20 | UINT64_C(9) << 44, 2 },
		{ FXT_PROFILER | FXT_MMAP << 16 | 1 << 20, 4 },
		{ FXT_PROFILER | FXT_BACKTRACE << 16 | 1 << 20 | UINT64_C(2) << 28, 3 },
		{ FXT_LARGE, 1 },
		{ FXT_LARGE, 2 },
		{ FXT_LARGE | UINT64_C(1) << 40, 2 },
		{ FXT_METADATA | 1 << 16 | UINT64_C(9) << 52, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		out_clear(&file);
		before();
		head(0, cases[i].head);
		for (unsigned k = 1; k < cases[i].words; k++)
			w(5);
		done();
		expect_bad(8 * cases[i].words);
	}
}

/* A time in a record that is left out does not count. */
static void test_bad_time(void **state)
{
	(void)state;
	before();
	head(FXT_EVENT, FXT_COMPLETE << 16 | 1 << 24);
	w(UINT64_MAX / 2);
	done();
	expect_bad(16);
}

/* --- arguments --- */

/* SPEC fxt/bad-argument */
static void test_bad_argument(void **state)
{
	(void)state;
	before();
	event(FXT_ASYNC_END, 5, 1, at(1), in("event"), 5);
	arg_i32(at(1), 1);
	w(FXT_ARG_I64 | 1 << 4 | 1 << 16); /* no room for the value */
	w(FXT_ARG_I32 | 1 << 4 | (uint64_t)(FXT_INLINE | 40) << 16); /* nor for the name */
	w(FXT_ARG_BLOB | 2 << 4 | 1 << 16 | UINT64_C(9) << 32); /* nor for the bytes */
	w(0);
	arg_i32(at(1), 2);
	w(42);
	done();
	after();
	expect_rows(BEFORE "5 ASYNC_END cat:event 10/11 #42 unreliable (cat=1, cat=2)\n" AFTER
			   "! fxt/bad-argument at 104 lost 32 x3\n");
}

/* SPEC fxt/arguments-lost */
static void test_lost_arguments(void **state)
{
	(void)state;
	for (int past = 0; past < 2; past++) {
		out_clear(&file);
		before();
		event(FXT_BEGIN, 5, 1, at(1), in("event"), 3);
		arg_i32(at(1), 1);
		w(FXT_ARG_I32 | (past ? 9 << 4 : 0) | 1 << 16);
		w(7);
		done();
		after();
		expect_rows(BEFORE "5 BEGIN cat:event 10/11 unreliable (cat=1)\n" AFTER
				   "! fxt/bad-argument at 104 lost 16\n");
	}
}

/* More than there are. */
static void test_too_many_arguments(void **state)
{
	(void)state;
	before();
	event(FXT_END, 5, 1, at(1), in("event"), 15);
	arg_i32(at(1), 1);
	done();
	after();
	expect_rows(BEFORE "5 END cat:event 10/11 unreliable (cat=1)\n" AFTER
			   "! fxt/bad-argument at 104\n");
}

/* SPEC fxt/tail-lost */
static void test_lost_tail(void **state)
{
	(void)state;
	before();
	event(FXT_COMPLETE, 5, 1, at(1), in("event"), 2);
	arg_i32(at(1), 1);
	w(FXT_ARG_I32 | 1 << 16);
	w(7);
	done();
	after();
	expect_rows(BEFORE "5 INSTANT cat:event 10/11 unreliable (cat=1)\n" AFTER
			   "! fxt/bad-argument at 104 lost 16\n");
}

/* --- references --- */

/* SPEC fxt/unknown-string; SPEC fxt/unknown-thread */
static void test_unknown_references(void **state)
{
	(void)state;
	before();
	event(FXT_INSTANT, 5, 200, at(999), at(998), 2);
	arg_i32(at(997), 1);
	arg(FXT_ARG_STRING, at(1), 0, at(996), NULL);
	done();
	after();
	expect_rows(BEFORE "5 INSTANT <string 999>:<string 998> <thread 200> "
			   "(<string 997>=1, cat=\"<string 996>\")\n" AFTER
			   "! fxt/unknown-string at 104 x4\n"
			   "! fxt/unknown-thread at 104\n");
}

/* What was lost may be why. */
static void test_consequence(void **state)
{
	struct spur_trace *t;
	struct spur_damage d;
	const struct spur_event *rows;
	size_t n;

	(void)state;
	before();
	w(0);
	after();
	event(FXT_INSTANT, 10, 1, at(50), at(1), 0);
	done();
	t = open_file(&(struct spur_options)SPUR_OPTIONS());
	while (spur_next(t, &rows, &n) == SPUR_OK)
		;
	assert_int_equal(spur_damage_count(t), 2);
	assert_true(spur_damage(t, 1, &d));
	assert_string_equal(d.code, "fxt/unknown-string");
	assert_non_null(strstr(d.first, "lost before"));
	spur_close(t);
}

/* --- what is not known: SPEC fxt/unknown-types --- */

static void test_unknown(void **state)
{
	(void)state;
	before();
	for (unsigned type = 11; type < 15; type++) {
		head(type, 0);
		w(1);
		done();
	}
	for (unsigned type = 11; type < 16; type++) {
		event(type, 5, 1, at(1), at(2), 1);
		arg_i32(at(1), 3);
		done();
	}
	head(FXT_METADATA, 0);
	done();
	head(FXT_METADATA, 4 << 16 | 3 << 20);
	done();
	head(FXT_SCHEDULING, UINT64_C(3) << 60);
	done();
	head(FXT_PROFILER, 3 << 16);
	done();
	head(FXT_LARGE, UINT64_C(5) << 36);
	done();
	head(FXT_LARGE, UINT64_C(2) << 40);
	done();
	after();
	expect_rows(BEFORE "1 NATIVE unknown record p retimed\n1 NATIVE unknown record p retimed\n"
			   "1 NATIVE unknown record p retimed\n1 NATIVE unknown record p retimed\n"
			   "5 NATIVE cat:name 10/11 (cat=3)\n5 NATIVE cat:name 10/11 (cat=3)\n"
			   "5 NATIVE cat:name 10/11 (cat=3)\n5 NATIVE cat:name 10/11 (cat=3)\n"
			   "5 NATIVE cat:name 10/11 (cat=3)\n"
			   "5 NATIVE metadata:unknown metadata p retimed\n"
			   "5 NATIVE metadata:unknown metadata p retimed\n"
			   "5 NATIVE scheduling:unknown scheduling record p retimed\n"
			   "5 NATIVE profiler:unknown profiler record p retimed\n"
			   "5 NATIVE unknown large record p retimed\n"
			   "5 NATIVE unknown large record p retimed\n" AFTER
			   "~ fxt/unknown-event at 168 x5\n~ fxt/unknown-large at 320 x2\n"
			   "~ fxt/unknown-metadata at 288 x2\n~ fxt/unknown-profiler at 312\n"
			   "~ fxt/unknown-record at 104 x4\n~ fxt/unknown-scheduling at 304\n");
}

/*
 * SPEC fxt/end: the only END of the file, in order or late, has SPUR_F_GAP if records are missing
 * before it.
 */
static void expect_gap(bool gap)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1);
	const struct spur_event *rows;
	struct spur_trace *t = open_file(&opt);
	size_t n, ends = 0;

	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			if (rows[i].kind == SPUR_END_SPAN) {
				assert_int_equal((rows[i].flags & SPUR_F_GAP) != 0, gap);
				ends++;
			}
	assert_int_equal(ends, 1);
	spur_close(t);
}

static void test_gaps(void **state)
{
	(void)state;
	/*
	 * Whether records are missing, an event that makes the END late, and texts and threads in
	 * the events.
	 */
	for (int how = 0; how < 8; how++) {
		const bool lost = how & 1, late = how & 2, is_inline = how & 4;
		const struct ref cat = is_inline ? in("c") : at(1),
				 name = is_inline ? in("n") : at(2);
		const unsigned thread = is_inline ? 0 : 1;

		out_clear(&file);
		basics();
		event(FXT_BEGIN, 100, thread, cat, name, 0);
		done();
		if (lost)
			provider_event(1, FXT_BUFFER_FILLED);
		if (late) {
			event(FXT_INSTANT, 300, thread, cat, name, 0);
			done();
		}
		event(FXT_END, 200, thread, cat, name, 0);
		done();
		expect_gap(lost);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_size_zero, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_size_past_end, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_size_over_records, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_large_size_past_end, file_setup,
						file_teardown),
		cmocka_unit_test_setup_teardown(test_resync_at_end, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_other_alignment, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_resync_kinds, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_tails, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_cut_arguments, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_lost_registration, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_cut_behind_damage, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_zeros_at_end, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_no_quadratic, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_nothing, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_too_short, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_bad_time, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_bad_argument, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_lost_arguments, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_too_many_arguments, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_lost_tail, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_unknown_references, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_consequence, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_unknown, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_gaps, file_setup, file_teardown),
	};

	return cmocka_run_group_tests_name("fxt damage", tests, NULL, NULL);
}
