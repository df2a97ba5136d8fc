/* FXT: records, references, providers, time, events and arguments. */
#include "unit/fxt_file.h"

/* --- bytes --- */

/*
 * SPEC fxt/byte-order; SPEC fxt/string-ref; SPEC fxt/thread-ref; SPEC fxt/inline-strings;
 * SPEC fxt/stream
 */
static void write_refs(void)
{
	basics();
	event(FXT_INSTANT, 100, 1, at(1), at(2), 0);
	done();
	event(FXT_INSTANT, 110, 0, in("category inline"), in("8 bytes."), 0);
	done();
	event(FXT_INSTANT, 120, 1, none, (struct ref){ FXT_INLINE, "" }, 0);
	done();
}

static const char *const refs = "100 INSTANT cat:name 10/11\n"
				"110 INSTANT category inline:8 bytes. 10/11\n"
				"120 INSTANT  10/11\n";

static void test_refs(void **state)
{
	(void)state;
	write_refs();
	expect_rows(refs);
}

static void test_refs_big(void **state)
{
	(void)state;
	big = true;
	write_refs();
	expect_rows(refs);
}

/* SPEC fxt/no-magic: the order in which records are plausible */
static void test_no_magic(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		out_clear(&file);
		big = i;
		provider(1, "p");
		string(1, "cat");
		event(FXT_INSTANT, 5, 0, at(1), at(1), 0);
		done();
		expect_rows("5 INSTANT cat:cat 10/11\n~ fxt/no-magic at 0\n");
	}
}

static int probe_of(const void *p, size_t len)
{
	const struct probe probe = { .path = "x", .head = p, .len = len };

	return spur_format_fxt.probe(&probe);
}

static void test_probe(void **state)
{
	static const char text[] =
		"This is not a trace but a text of some length, which is no FXT at all.";

	(void)state;
	basics();
	assert_int_equal(probe_of(file.buf, file.len), 100);
	assert_int_equal(probe_of(file.buf, 8), 100);
	assert_int_equal(probe_of(file.buf, 7), 0);
	assert_true(probe_of(file.buf + 8, file.len - 8) > 0);
	assert_true(probe_of(file.buf + 8, file.len - 8) < 60);
	assert_int_equal(probe_of(text, sizeof(text)), 0);
	assert_int_equal(probe_of(file.buf + 9, file.len - 9), 0);
	out_clear(&file);
	big = true;
	basics();
	assert_int_equal(probe_of(file.buf, file.len), 100);
	assert_true(probe_of(file.buf + 8, file.len - 8) > 0);
}

/* SPEC fxt/magic */
static void test_magic_elsewhere(void **state)
{
	(void)state;
	magic();
	plain(FXT_INSTANT, 1, "a", 0);
	magic();
	plain(FXT_INSTANT, 2, "b", 0);
	expect_rows("1 INSTANT a 10/11\n2 INSTANT b 10/11\n~ fxt/magic-not-first at 48\n");
}

/* SPEC fxt/longer: legacy instants have a word of scope; any record may be longer */
static void test_longer(void **state)
{
	(void)state;
	basics();
	event(FXT_INSTANT, 100, 1, at(1), at(2), 0);
	w(1);
	done();
	event(FXT_COMPLETE, 110, 1, at(1), at(2), 0);
	w(115);
	w(7);
	w(8);
	done();
	expect_rows("100 INSTANT cat:name 10/11\n110 SPAN cat:name 10/11 +5\n");
	assert_non_null(strstr(read_file(&(struct spur_options)SPUR_OPTIONS(.as_stored = true)),
			       "end_ticks=115, extra_words=2"));
}

/* SPEC fxt/utf8; SPEC fxt/stream: padding does not matter */
static void test_odd_text(void **state)
{
	(void)state;
	magic();
	string(1, "\xc3(");
	event(FXT_INSTANT, 1, 0, at(1), in("\xff"), 0);
	done();
	file.buf[file.len - 1] = 'x';
	expect_rows("1 INSTANT \xc3(:\xff 10/11\n~ fxt/bad-utf8 at 8 x2\n~ fxt/padding at 24\n");
}

/* SPEC fxt/record-size: 4,095 words, and 32 bits of them in large records; SPEC fxt/large-blob */
static void test_sizes(void **state)
{
	static uint8_t payload[40000];
	struct spur_trace *t;
	struct spur_args args = { 0 };
	const struct spur_event *rows;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)i;
	basics();
	head(FXT_BLOB, (uint64_t)2 << 16 | (uint64_t)32752 << 32 | (uint64_t)1 << 48);
	bytes(payload, 32752);
	done();
	head(FXT_LARGE, (uint64_t)1 << 40);
	w(1 | 2 << 16);
	w(sizeof(payload) - 3);
	bytes(payload, sizeof(payload) - 3);
	done();
	plain(FXT_INSTANT, 5, "after", 0);
	t = open_file(&(struct spur_options)SPUR_OPTIONS(.read_size = 4096));
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(n, 3);
	assert_int_equal(rows[0].len, 32760);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rows[i].kind, SPUR_BLOB);
		assert_int_equal(spur_args(t, &rows[i], &args), SPUR_OK);
		assert_string_equal(spur_string(t, args.items[0].name, NULL), "data");
		assert_int_equal(args.items[0].count, i ? sizeof(payload) - 3 : 32752);
		assert_memory_equal(args.items[0].text, payload, args.items[0].count);
	}
	assert_int_equal(rows[2].ts, 5);
	spur_args_free(&args);
	spur_close(t);
}

/* --- providers --- */

/*
 * SPEC fxt/provider-switch; SPEC fxt/string-record; SPEC fxt/thread-record: tables are each
 * provider's own
 */
static void test_providers(void **state)
{
	(void)state;
	basics();
	event(FXT_INSTANT, 1, 1, at(1), at(2), 0);
	done();
	provider(2, "q");
	string(1, "other");
	thread(1, 20, 21);
	event(FXT_INSTANT, 2, 1, at(1), at(1), 0);
	done();
	section(1);
	event(FXT_INSTANT, 3, 1, at(1), at(2), 0);
	done();
	provider_event(2, 7);
	string(1, "new");
	thread(1, 10, 12);
	event(FXT_INSTANT, 4, 1, at(1), at(2), 0);
	done();
	section(2);
	event(FXT_INSTANT, 5, 1, at(1), at(1), 0);
	done();
	expect_rows(
		"1 INSTANT cat:name 10/11\n2 INSTANT other:other 20/21\n3 INSTANT cat:name 10/11\n"
		"3 NATIVE metadata:provider event q retimed\n"
		"4 INSTANT new:name 10/12\n5 INSTANT other:other 20/21\n"
		"~ fxt/unknown-provider-event at 192\n");
}

/* SPEC fxt/no-provider; SPEC fxt/provider-fallback; SPEC fxt/index-zero */
static void test_before_providers(void **state)
{
	(void)state;
	magic();
	init(1000000);
	string(1, "early");
	string(0, "nothing");
	thread(3, 10, 11);
	thread(0, 1, 1);
	event(FXT_INSTANT, 1, 3, at(1), none, 0);
	done();
	provider(7, "late");
	event(FXT_INSTANT, 2, 3, at(1), at(1), 0);
	done();
	string(1, "own");
	init(1000);
	event(FXT_INSTANT, 3, 3, at(1), at(1), 0);
	done();
	expect_rows("1000 INSTANT early: 10/11\n2000 INSTANT early:early 10/11\n"
		    "3000000 INSTANT own:own 10/11\n~ fxt/index-zero at 40 x2\n");
}

/* SPEC fxt/section-unknown; SPEC fxt/info-repeated; SPEC fxt/buffer-filled */
static void test_announcements(void **state)
{
	(void)state;
	magic();
	section(9);
	string(1, "s");
	event(FXT_INSTANT, 10, 0, at(1), at(1), 0);
	done();
	provider(9, "nine");
	provider_event(9, FXT_BUFFER_FILLED);
	event(FXT_INSTANT, 20, 0, at(1), at(1), 0);
	done();
	expect_rows("10 INSTANT s:s 10/11\n10 LOST metadata:buffer filled nine retimed\n"
		    "20 INSTANT s:s 10/11\n~ fxt/buffer-filled at 80\n"
		    "~ fxt/provider-not-announced at 8\n~ fxt/provider-repeated at 64\n");
}

/* More providers than there are tables: the last one takes what comes. */
static void test_many_providers(void **state)
{
	const char *text;

	(void)state;
	magic();
	for (unsigned i = 1; i <= 600; i++) {
		section(i);
		string(1, "s");
		event(FXT_INSTANT, i, 0, at(1), at(1), 0);
		done();
	}
	text = read_file(&(struct spur_options)SPUR_OPTIONS());
	assert_non_null(strstr(text, "\n600 INSTANT s:s 10/11\n"));
	assert_non_null(strstr(text, "~ fxt/many-providers at 28624 x89\n"));
}

/* --- time --- */

/* SPEC fxt/time: exact after a month, clamped at 2^63 ns */
static void test_time(void **state)
{
	(void)state;
	magic();
	init(24000000);
	plain(FXT_INSTANT, 1, "a", 0);
	plain(FXT_COMPLETE, 30ull * 86400 * 24000000 + 1, "b", 30ull * 86400 * 24000000 + 25);
	plain(FXT_INSTANT, UINT64_MAX, "c", 0);
	expect_rows("41 INSTANT a 10/11\n2592000000000041 SPAN b 10/11 +1000\n"
		    "9223372036854775807 INSTANT c 10/11 unreliable\n~ fxt/time-overflow at 112\n");
}

static void test_time_raw(void **state)
{
	(void)state;
	magic();
	init(24000000);
	plain(FXT_INSTANT, 1, "a", 0);
	plain(FXT_COMPLETE, 100, "b", 124);
	expect_with((struct spur_options)SPUR_OPTIONS(.raw_time = true),
		    "1 INSTANT a 10/11\n100 SPAN b 10/11 +24\n");
}

/* Against division, for every remainder of awkward frequencies. */
static void test_scaling(void **state)
{
	static const uint64_t hz[] = { 3,	   7,	       19200000,    24000000,
				       1000000007, 3800000000, 999999999989 };
	char want[100];

	(void)state;
	for (size_t k = 0; k < sizeof(hz) / sizeof(hz[0]); k++)
		for (uint64_t i = 0; i < 200; i++) {
			const uint64_t ticks = i < 100 ? i : i * 912345678901 + i;
			const unsigned __int128 ns = (unsigned __int128)ticks * 1000000000 / hz[k];

			out_clear(&file);
			magic();
			init(hz[k]);
			thread(1, 10, 11);
			string(1, "a");
			/* The first goes the long way, the second the short one. */
			plain(FXT_INSTANT, 0, "first", 0);
			event(FXT_INSTANT, ticks, 1, at(1), at(1), 0);
			done();
			snprintf(want, sizeof(want),
				 "0 INSTANT first 10/11\n%llu INSTANT a:a 10/11\n",
				 (unsigned long long)ns);
			if (ns < INT64_MAX)
				assert_string_equal(read_file(&(struct spur_options)SPUR_OPTIONS()),
						    want);
		}
}

/* SPEC fxt/init-base; SPEC fxt/init-again; SPEC fxt/ticks-zero */
static void test_init(void **state)
{
	struct spur_trace *t;

	(void)state;
	basics();
	plain(FXT_INSTANT, 5, "plain", 0);
	head(FXT_INIT, 0);
	w(3000000000);
	w(9000000000);
	w(1700000000000000000);
	done();
	event(FXT_INSTANT, 9000003000, 1, at(1), at(2), 0);
	done();
	event(FXT_INSTANT, 8999999999, 1, at(1), at(2), 0);
	done();
	init(0);
	event(FXT_INSTANT, 9000006000, 1, at(1), at(2), 0);
	done();
	init(1000);
	event(FXT_INSTANT, 1, 1, at(1), at(2), 0);
	done();
	expect_rows(
		"-1 INSTANT cat:name 10/11\n5 INSTANT plain 10/11\n1000 INSTANT cat:name 10/11\n"
		"2000 INSTANT cat:name 10/11\n1000000 INSTANT cat:name 10/11\n"
		"! fxt/bad-record at 184 lost 16\n");
	t = open_file(&(struct spur_options)SPUR_OPTIONS());
	assert_int_equal(t->clock.hz, 3000000000);
	assert_true(t->clock.epoch_known);
	assert_int_equal(t->clock.epoch_ns, 1700000000000000000);
	assert_false(t->clock.ticks);
	spur_close(t);
	t = open_file(&(struct spur_options)SPUR_OPTIONS(.raw_time = true));
	assert_true(t->clock.ticks);
	assert_false(t->clock.epoch_known);
	spur_close(t);
	/* In a single pass the first records tell. */
	t = open_file(&(struct spur_options)SPUR_OPTIONS(.raw_time = true, .as_stored = true));
	assert_int_equal(t->clock.hz, 1000000000);
	spur_close(t);
}

/* --- events --- */

/* SPEC fxt/event-id; SPEC fxt/end; SPEC fxt/class */
static void test_events(void **state)
{
	(void)state;
	basics();
	for (unsigned i = 0; i < FXT_EVENT_TYPES; i++) {
		event(i, 100 + i, 1, at(1), at(2), 0);
		if (fxt_has_tail(i))
			w(i == FXT_COMPLETE ? 110 : 1000 + i);
		done();
	}
	event(FXT_END, 200, 1, at(1), none, 0);
	done();
	expect_rows("100 INSTANT cat:name 10/11\n101 COUNTER cat:name 10/11 #1001\n"
		    "102 BEGIN cat:name 10/11\n103 END cat:name 10/11\n104 SPAN cat:name 10/11 +6\n"
		    "105 ASYNC_BEGIN cat:name 10/11 #1005\n106 ASYNC_INSTANT cat:name 10/11 #1006\n"
		    "107 ASYNC_END cat:name 10/11 #1007\n108 FLOW_BEGIN cat:name 10/11 #1008\n"
		    "109 FLOW_STEP cat:name 10/11 #1009\n110 FLOW_END cat:name 10/11 #1010\n"
		    "200 END cat: 10/11 any\n");
}

/* SPEC fxt/class: by category and name; what has a duration apart from what has none */
static void test_classes(void **state)
{
	const struct spur_event *rows;
	struct spur_trace *t;
	size_t n;

	(void)state;
	basics();
	string(3, "cat");
	for (int i = 0; i < 2; i++) {
		event(FXT_BEGIN, 1, 1, at(1), at(2), 0);
		done();
		event(FXT_END, 2, 1, at(3), at(2), 0);
		done();
		event(FXT_INSTANT, 3, 1, at(1), at(2), 0);
		done();
		event(FXT_BEGIN, 4, 1, at(2), at(2), 0);
		done();
		event(FXT_BEGIN, 5, 0, in("cat"), in("name"), 0);
		done();
	}
	t = open_file(&(struct spur_options)SPUR_OPTIONS(.follow = true));
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(n, 10);
	for (int i = 0; i < 10; i += 5) {
		assert_int_equal(rows[i].cls, rows[0].cls);
		assert_int_equal(rows[i + 1].cls, rows[0].cls);
		assert_int_not_equal(rows[i + 2].cls, rows[0].cls);
		assert_int_not_equal(rows[i + 3].cls, rows[0].cls);
		assert_int_equal(rows[i + 4].cls, rows[0].cls);
	}
	assert_int_equal(trace_class(t, rows[0].cls)->flags, CLASS_FUNCTION | CLASS_CATEGORY);
	assert_int_equal(trace_class(t, rows[2].cls)->flags, CLASS_EVENT | CLASS_CATEGORY);
	spur_close(t);
}

/*
 * SPEC fxt/inline-strings: more inline threads, categories, names than are kept at once, with
 * events by index, ends of spans, text that is no UTF-8 and padding between them.
 */
static void test_many_inline(void **state)
{
	struct out want;
	unsigned bad = 0, padded = 0;

	(void)state;
	out_to_memory(&want);
	basics();
	for (unsigned i = 0; i < 6000; i++) {
		char cat[24], name[100], key[24];
		const unsigned tid = 20 + i * 7 % 2999;

		snprintf(cat, sizeof(cat), "c%u", i % 5);
		snprintf(name, sizeof(name), "a name of some length: %u%s", i * 13 % 3001,
			 i % 97 ? ""
				: ", and much more of it, behind which nothing differs at all");
		snprintf(key, sizeof(key), "key%u", i % 11);
		if (i % 50 == 1)
			name[3] = '\xff';
		head(FXT_EVENT, (uint64_t)(i % 3 ? FXT_INSTANT : FXT_COMPLETE) << 16 | 1 << 20 |
					(uint64_t)(i % 4 == 3) << 24 | in(cat).bits << 32 |
					(i % 6 == 5 ? 2 : in(name).bits) << 48);
		w(i);
		if (i % 4 != 3) {
			w(i % 2 ? 10 : 500);
			w(tid);
		}
		bytes(cat, strlen(cat));
		if (i % 40 == 2)
			file.buf[file.len - 1] = 'x';
		if (i % 6 != 5)
			bytes(name, strlen(name));
		arg_i32(in(key), (int32_t)i);
		if (i % 3 == 0)
			w(i + 5);
		done();
		out_printf(&want, "%u %s %s:%s ", i, i % 3 ? "INSTANT" : "SPAN", cat,
			   i % 6 == 5 ? "name" : name);
		if (i % 4 == 3)
			out_str(&want, "10/11");
		else
			out_printf(&want, "%u/%u", i % 2 ? 10 : 500, tid);
		out_printf(&want, "%s (%s=%u)\n", i % 3 ? "" : " +5", key, i);
		bad += i % 50 == 1 && i % 6 != 5;
		padded += i % 40 == 2;
	}
	read_file(&(struct spur_options)SPUR_OPTIONS());
	assert_memory_equal(seen.buf, want.buf, want.len);
	out_char(&seen, '\0');
	out_clear(&want);
	out_printf(&want, " x%u\n", bad);
	out_char(&want, '\0');
	assert_non_null(strstr(strstr(seen.buf, "~ fxt/bad-utf8"), want.buf));
	out_clear(&want);
	out_printf(&want, " x%u\n", padded);
	out_char(&want, '\0');
	assert_non_null(strstr(strstr(seen.buf, "~ fxt/padding"), want.buf));
	out_free(&want);
}

/* SPEC fxt/complete */
static void test_complete(void **state)
{
	(void)state;
	magic();
	plain(FXT_COMPLETE, 600, "backwards", 500);
	plain(FXT_COMPLETE, 700, "nothing", 700);
	expect_rows("600 SPAN backwards 10/11 +0 unreliable\n700 SPAN nothing 10/11 +0\n"
		    "~ fxt/negative-duration at 8\n");
}

/* SPEC fxt/argument-size; SPEC fxt/unknown-argument; SPEC fxt/unknown-types */
static void write_arguments(bool indexed)
{
	static const char *const names[] = { "null", "i32", "u32",  "i64",  "u64",  "f64", "str",
					     "idx",  "ptr", "koid", "bool", "blob", "odd" };
	struct ref name[13];
	const double pi = 3.5;
	uint64_t bits;

	memcpy(&bits, &pi, 8);
	for (unsigned i = 0; i < 13; i++) {
		name[i] = indexed ? at(10 + i) : in(names[i]);
		if (indexed)
			string(10 + i, names[i]);
	}
	event(FXT_INSTANT, 1, 1, at(1), at(2), 13);
	arg(FXT_ARG_NULL, name[0], 0, none, NULL);
	arg_i32(name[1], -7);
	arg(FXT_ARG_U32, name[2], 4000000000, none, NULL);
	arg_word(FXT_ARG_I64, name[3], (uint64_t)-5000000000);
	arg_word(FXT_ARG_U64, name[4], UINT64_MAX);
	arg_word(FXT_ARG_F64, name[5], bits);
	arg(FXT_ARG_STRING, name[6], 0, in("some text"), NULL);
	arg(FXT_ARG_STRING, name[7], 0, at(2), NULL);
	arg_word(FXT_ARG_POINTER, name[8], 0xabc);
	arg_word(FXT_ARG_KOID, name[9], 18);
	arg(FXT_ARG_BOOL, name[10], 1, none, NULL);
	arg(FXT_ARG_BLOB, name[11], 3, none,
	    &(uint64_t){ order_swaps(big) ? 0x0102030000000000 : 0x030201 });
	arg_word(13, name[12], order_swaps(big) ? 0x05 : 0x0500000000000000);
	done();
}

static void test_arguments(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		out_clear(&file);
		big = i & 1;
		basics();
		write_arguments(i & 2);
		assert_non_null(
			strstr(read_file(&(struct spur_options)SPUR_OPTIONS()),
			       "1 INSTANT cat:name 10/11 (null=null, i32=-7, u32=4000000000, "
			       "i64=-5000000000, "
			       "u64=18446744073709551615, f64=3.5, str=\"some text\", "
			       "idx=\"name\", ptr=*abc, "
			       "koid=18, bool=1, blob=010203, odd=0000000000000005:type 13)\n"));
		assert_non_null(strstr(seen.buf, "~ fxt/unknown-argument"));
	}
}

/* Arguments mean what they meant at their record, whenever they are asked for. */
static void test_arguments_later(void **state)
{
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	struct spur_event kept[64];
	struct spur_trace *t;
	char want[40];
	size_t n;

	(void)state;
	basics();
	for (unsigned i = 0; i < 64; i++) {
		snprintf(want, sizeof(want), "value %u", i / 3);
		string(3, want);
		event(FXT_INSTANT, i, 1, at(1), at(2), 1);
		arg(FXT_ARG_STRING, at(3), 0, at(3), NULL);
		done();
	}
	for (int stored = 0; stored < 2; stored++) {
		t = open_file(&(struct spur_options)SPUR_OPTIONS(.follow = stored));
		assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
		assert_int_equal(n, 64);
		memcpy(kept, rows, sizeof(kept));
		assert_int_equal(spur_next(t, &rows, &n), SPUR_END);
		for (unsigned i = 64; i-- > 0;) {
			snprintf(want, sizeof(want), "value %u", i / 3);
			assert_int_equal(spur_args(t, &kept[i], &args), SPUR_OK);
			assert_string_equal(spur_string(t, args.items[0].name, NULL), want);
			assert_string_equal(args.items[0].text, want);
		}
		spur_close(t);
	}
	spur_args_free(&args);
}

static void test_dump(void **state)
{
	(void)state;
	basics();
	init(1000000000);
	string(0, "");
	event(FXT_ASYNC_BEGIN, 7, 1, at(1), at(2), 1);
	arg_i32(at(1), 5);
	w(99);
	done();
	expect_dump("7 NATIVE metadata:magic provider 0 retimed (header=6285325035110416)\n"
		    "7 NATIVE metadata:provider info p retimed (id=1, name=\"p\")\n"
		    "7 NATIVE string p retimed (provider=1, index=1, value=\"cat\")\n"
		    "7 NATIVE string p retimed (provider=1, index=2, value=\"name\")\n"
		    "7 NATIVE thread p retimed (provider=1, index=1, pid=10, tid=11)\n"
		    "7 NATIVE initialization p retimed (provider=1, ticks_per_second=1000000000)\n"
		    "7 NATIVE string p retimed (provider=1, index=0, value=\"\")\n"
		    "7 ASYNC_BEGIN cat:name 10/11 #99 (provider=1, type=5, ticks=7, thread=1, "
		    "pid=10, tid=11, "
		    "category=\"cat\", name=\"name\", args=[cat=5], id=99)\n"
		    "~ fxt/index-zero at 96\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refs, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_refs_big, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_no_magic, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_probe, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_magic_elsewhere, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_longer, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_odd_text, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_sizes, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_providers, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_before_providers, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_announcements, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_many_providers, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_time, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_time_raw, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_scaling, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_init, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_events, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_classes, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_complete, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_many_inline, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_arguments, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_arguments_later, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_dump, file_setup, file_teardown),
	};

	return cmocka_run_group_tests_name("fxt", tests, NULL, NULL);
}
