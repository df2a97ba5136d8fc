/* Spur's recordings: what conversions write of other formats' traces, on the smallest files. */
#include "unit/spur_file.h"

#include "format/format.h"

/* A type of an argument with its name. */
static void type(unsigned number, const char *s)
{
	put(number, 1);
	text(s);
}

/* The descriptor of a site, up to its arguments. */
static void site_head(uint32_t id, unsigned kind, unsigned counts, unsigned has, const char *s)
{
	descriptor(SPB_SITE);
	put(id, 4);
	put(kind, 1);
	put(counts & 15, 1);
	put(counts >> 4, 1);
	put(has, 1);
	put(0, 4);
	text("");
	text(s);
	text("");
}

static void test_nested(void **state)
{
	(void)state;
	/* SPEC spur/nested */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	site_head(1, SPB_SITE_INSTANT, 8, 0, "all");
	type(SPB_LONG_TEXT, "long");
	type(SPB_NULL, "null");
	type(SPB_KOID, "koid");
	type(SPB_ENUM, "enum");
	type(SPB_STRUCT, "struct");
	put(2, 2);
	type(SPB_I64 | SPUR_SHOW_OCTAL << SPB_SHOW_SHIFT, "x");
	type(SPB_TEXT, "y");
	type(SPB_ARRAY, "array");
	type(SPB_U64, "");
	type(SPB_TUPLE, "tuple");
	put(2, 2);
	type(SPB_BOOL, "");
	type(SPB_F64, "");
	type(SPB_LABELLED, "label");
	type(SPB_ENUM, "");
	descriptor_ends();
	records(1, PAIR_MONO);
	word(SPB_EVENT, 14, 1, PAIR_MONO + 1);
	put(3, 8);
	out_str(&file, "abc");
	align();
	put(0, 8);
	put(7, 8);
	put((uint64_t)-2, 8);
	put(8, 8);
	text("in");
	align();
	put(2, 8);
	put(5, 8);
	put(6, 8);
	put(1, 8);
	put(0x3FF8000000000000, 8);
	put(1, 8);
	text("RED");
	align();
	/* A number of elements that the payload does not have. */
	word(SPB_EVENT, 9, 1, PAIR_MONO + 2);
	put(0, 8);
	put(0, 8);
	put(7, 8);
	put(0, 8);
	put(0, 8);
	text("");
	align();
	put(UINT64_MAX, 8);
	put(0, 8);
	put(0, 8);
	expect("1 INSTANT all @71 long=\"abc\", null=NULL, koid=7, enum=-2, struct={x=010, "
	       "y=\"in\"}, array=[5, 6], tuple=[true, 1.5], label=RED\n"
	       "2 INSTANT all @71 long=\"\", null=NULL, koid=7, enum=0, struct={x=0, y=\"\"}\n",
	       "");
}

static void test_heads(void **state)
{
	(void)state;
	/* SPEC spur/site-has, SPEC spur/class-of, SPEC spur/cpu */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	site_head(1, SPB_SITE_LOST, 0, SPB_HAS_ID | SPB_HAS_LENGTH, "gone");
	descriptor_ends();
	site_head(2, SPB_SITE_SWITCH, 1, SPB_HAS_MARKS, "switched");
	type(SPB_U64, "next");
	descriptor_ends();
	site_head(3, SPB_SITE_SPAN, 0, 0, "span");
	descriptor_ends();
	site_head(4, SPB_SITE_SPAN, 1 << 4, SPB_HAS_MORE, "span");
	type(SPB_U64, "result");
	put(3, 4);
	descriptor_ends();
	records(1, PAIR_MONO);
	word(SPB_EVENT, 2, 1, PAIR_MONO + 1);
	put(12, 8);
	put(100, 8);
	word(SPB_CPU, 0, 6, PAIR_MONO + 1);
	word(SPB_EVENT, 2, 2, PAIR_MONO + 2);
	put(SPB_MARK_OUT | SPB_MARK_EXIT, 8);
	put(9, 8);
	word(SPB_BEGIN, 0, 3, PAIR_MONO + 3);
	word(SPB_CPU, 0, 0, PAIR_MONO + 3);
	word(SPB_END, 1, 4, PAIR_MONO + 4);
	put(8, 8);
	expect("1 LOST gone 12 @71\n"
	       "2 SWITCH switched @71 next=9 cpu 5 out\n"
	       "3 BEGIN span @71\n"
	       "4 END span @71 result=8\n",
	       "");
	{
		const struct spur_options opt = SPUR_OPTIONS(.threads = 1);
		struct spur_trace *t = file_open(&opt);
		const struct spur_event *rows;
		size_t n;

		assert_non_null(t);
		assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
		assert_int_equal(n, 4);
		assert_int_equal(rows[0].cpu, SPUR_NO_CPU);
		assert_int_equal(rows[0].dur, 100);
		assert_int_equal(rows[1].flags, SPUR_F_OUT | SPUR_F_EXIT);
		assert_int_equal(rows[2].cpu, 5);
		assert_int_equal(rows[3].cpu, SPUR_NO_CPU);
		assert_int_equal(rows[3].cls, rows[2].cls);
		spur_close(t);
	}
}

static void test_functions(void **state)
{
	(void)state;
	/* SPEC spur/function-is, SPEC spur/frames */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	for (unsigned i = 1; i <= 2; i++) {
		descriptor(SPB_FUNCTION);
		put(i, 4);
		put(0, 4);
		put(0x100, 8);
		put(0, 2);
		put(SPB_FUNCTION_MORE | SPB_FUNCTION_KERNEL, 2);
		text("f");
		put(i == 2, 4);
		put(12, 4);
		put(99, 4);
		text("");
		text("f.c");
		text("");
		descriptor_ends();
	}
	site_head(1, SPB_SITE_SAMPLE, 1, SPB_HAS_ID | SPB_HAS_LENGTH, "sample");
	type(SPB_FRAMES, "stack");
	descriptor_ends();
	records(1, PAIR_MONO);
	word(SPB_ENTER, 0, 1, PAIR_MONO + 1);
	word(SPB_EXIT, 0, 2, PAIR_MONO + 2);
	word(SPB_EVENT, 5, 1, PAIR_MONO + 3);
	put(1, 8);
	put(50, 8);
	put(2, 8);
	put(1, 8);
	put(2, 8);
	expect("1 BEGIN f @71\n"
	       "2 END f @71\n"
	       "3 SAMPLE sample @71 stack=[\"f\", \"f\"]\n",
	       "");
	{
		const struct spur_options opt = SPUR_OPTIONS(.threads = 1);
		struct spur_trace *t = file_open(&opt);
		const struct spur_event *rows;
		uint32_t cls[4], f;
		struct spur_class c;
		size_t n;

		assert_non_null(t);
		assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
		assert_int_equal(n, 3);
		f = rows[0].cls;
		assert_int_equal(rows[1].cls, f);
		assert_int_equal(t->format->stack(t, &rows[2], cls, 4), 2);
		assert_int_equal(cls[0], f);
		assert_int_equal(cls[1], f);
		assert_int_equal(rows[2].dur, 50);
		assert_true(spur_class(t, f, &c));
		assert_true(c.flags & SPUR_CLASS_KERNEL);
		assert_int_equal(c.line, 12);
		assert_int_equal(c.size, 99);
		assert_string_equal(spur_string(t, c.file, NULL), "f.c");
		spur_close(t);
	}
}

static void track(uint32_t number, uint32_t parent, unsigned kind, int64_t tid, const char *s)
{
	descriptor(SPB_TRACK);
	put(number, 4);
	put(parent, 4);
	put(kind, 4);
	put(UINT32_MAX, 4);
	put(7, 8);
	put((uint64_t)tid, 8);
	text(s);
	descriptor_ends();
}

static void test_tracks(void **state)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1);
	const struct spur_track *lane, *thread, *process;
	const struct spur_event *rows;
	struct spur_trace *t;
	size_t n;

	(void)state;
	/* SPEC spur/track, SPEC spur/named-clock */
	set(SPB_CLOCK_AT, SPB_CLOCK_NAMED, 4);
	set(SPB_ZERO_AT, 1, 4);
	strcpy(file.buf + SPB_CLOCK_NAME_AT, "boottime");
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	site(1, SPB_SITE_INSTANT, "tick", "", 0);
	track(0, 0, SPUR_TRACK_PROCESS, -1, "");
	track(1, 2, SPUR_TRACK_LANE, -1, "lane");
	track(2, 0, SPUR_TRACK_THREAD, (int64_t)1 << 40, "wide");
	/* Two that lie in each other. */
	track(3, 4, SPUR_TRACK_OTHER, -1, "a");
	track(4, 3, SPUR_TRACK_OTHER, -1, "b");
	records(1, PAIR_MONO);
	word(SPB_EVENT, 0, 1, PAIR_MONO + 1);
	t = file_open(&opt);
	assert_non_null(t);
	assert_string_equal(t->clock.name, "boottime");
	assert_true(t->clock.own_zero);
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(n, 1);
	assert_int_equal(spur_track_count(t), 5);
	lane = spur_track(t, rows[0].track);
	assert_int_equal(lane->kind, SPUR_TRACK_LANE);
	thread = spur_track(t, lane->parent);
	assert_int_equal(thread->tid, (int64_t)1 << 40);
	assert_string_equal(spur_string(t, thread->name, NULL), "wide");
	process = spur_track(t, thread->parent);
	assert_int_equal(process->kind, SPUR_TRACK_PROCESS);
	assert_int_equal(process->pid, 7);
	spur_close(t);
}

static void test_more(void **state)
{
	(void)state;
	/* SPEC spur/more */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	descriptor(SPB_STRING);
	put(1, 8);
	put(4500, 2);
	while (file.len < chunk_at + SPB_PAGE)
		out_char(&file, 'a');
	set(descriptor_at, file.len - descriptor_at, 4);
	descriptor(SPB_MORE_DESCRIPTOR);
	for (int i = 0; i < 4500 - (4096 - 64 - 18); i++)
		out_char(&file, 'b');
	descriptor_ends();
	site(1, SPB_SITE_INSTANT, "long", "8", 0);
	site(2, SPB_SITE_INSTANT, "bytes", "6", 0);
	records(1, PAIR_MONO);
	word(SPB_EVENT, 1, 1, PAIR_MONO + 1);
	put(1, 8);
	word(SPB_EVENT, 15, 2, PAIR_MONO + 2);
	put((SPB_PAGE - (file.len + 8 - chunk_at)) / 8, 8);
	put(4500, 2);
	while (file.len < chunk_at + SPB_PAGE)
		out_char(&file, 'c');
	word(SPB_MORE, 15, 0, 0);
	put(64, 8);
	for (int i = 0; i < 512; i++)
		out_char(&file, i < 4500 - (4096 - 64 - 16 - 16 - 2) ? 'd' : '\0');
	word(SPB_EVENT, 0, 1, PAIR_MONO + 3);
	/* Without a record before it */
	word(SPB_MORE, 0, 0, PAIR_MONO + 4);
	{
		const struct spur_options opt = SPUR_OPTIONS(.threads = 1);
		struct spur_trace *t = file_open(&opt);
		const struct spur_event *rows;
		struct spur_args args = { 0 };
		size_t n;

		assert_non_null(t);
		assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
		assert_int_equal(n, 4);
		assert_int_equal(spur_args(t, &rows[0], &args), SPUR_OK);
		assert_int_equal(args.items[0].count, 4500);
		assert_int_equal(args.items[0].text[4013], 'a');
		assert_int_equal(args.items[0].text[4014], 'b');
		assert_int_equal(args.items[0].text[4499], 'b');
		assert_int_equal(spur_args(t, &rows[1], &args), SPUR_OK);
		assert_int_equal(args.items[0].count, 4500);
		assert_int_equal(args.items[0].text[3997], 'c');
		assert_int_equal(args.items[0].text[3998], 'd');
		assert_int_equal(args.items[0].text[4499], 'd');
		assert_int_equal(rows[1].len, 4096 - 64 - 16 + 16 + 512);
		assert_int_equal(rows[2].ts, PAIR_MONO + 3);
		assert_int_equal(rows[3].kind, SPUR_NATIVE);
		spur_args_free(&args);
		spur_close(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nested, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_heads, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_functions, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_tracks, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_more, file_begin, file_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
