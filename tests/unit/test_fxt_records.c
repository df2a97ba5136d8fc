/* What writers need of FXT records: places, origins, raw times, bookkeeping rows, schemas. */
#include "unit/fxt_file.h"
#include "unit/record_laws.h"

/* --- the laws over all goldens --- */

static bool file_is_big;

static void laws_begin(const char *path, const uint8_t *data, size_t size)
{
	(void)path;
	/* The first byte of the magic record is 0x10 in little-endian files. */
	file_is_big = size >= 8 && data[0] != 0x10 && data[7] == 0x10;
	if (size >= 8 && data[0] != 0x10 && !file_is_big)
		file_is_big = strstr(path, "-be") != NULL;
}

static uint64_t word_at(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v |= (uint64_t)p[i] << (file_is_big ? 56 - 8 * i : 8 * i);
	return v;
}

static uint64_t text_size(uint64_t ref)
{
	return ref & 0x8000 ? ((ref & 0x7fff) + 7) / 8 * 8 : 0;
}

static bool ticks_of(const uint8_t *r, uint64_t len, const struct spur_event *ev, uint64_t ticks[2])
{
	const uint64_t h = word_at(r), type = h & 15;
	uint64_t at = 8;

	if (type == 15) {
		if (h >> 36 & 0xff)
			return false;
		at = 16 + text_size(word_at(r + 8) & 0xffff) +
		     text_size(word_at(r + 8) >> 16 & 0xffff);
	} else if (!(type == 4 || type == 9 || (type == 8 && h >> 60 < 3) ||
		     (type == 10 && (h >> 16 & 15) < 3))) {
		return false;
	}
	ticks[0] = ticks[1] = word_at(r + at);
	if (ev->kind != SPUR_SPAN)
		return true;
	at = (h >> 24 & 0xff ? 16u : 32u) + text_size(h >> 32 & 0xffff) + text_size(h >> 48);
	for (uint64_t n = h >> 20 & 15; n; n--)
		at += (word_at(r + at) >> 4 & 0xfff) * 8;
	assert_true(at + 8 <= len);
	ticks[1] = word_at(r + at);
	return true;
}

/*
 * SPEC fxt/bookkeeping: the latest time of the records before it; in front of all, the earliest of
 * all
 */
static int64_t book_time(const struct law_rows *rows, size_t i)
{
	int64_t latest = INT64_MIN, earliest = INT64_MAX;

	for (size_t k = 0; k < rows->count; k++) {
		const struct spur_event *ev = &rows->items[k].ev;

		if (ev->flags & SPUR_F_RETIMED)
			continue;
		latest = k < i && ev->ts > latest ? ev->ts : latest;
		earliest = ev->ts < earliest ? ev->ts : earliest;
	}
	return latest != INT64_MIN ? latest : earliest == INT64_MAX ? 0 : earliest;
}

static void test_goldens(void **state)
{
	static const char *const inside[] = { "fxt/bad-argument", NULL };
	static const struct laws laws = { .format = "fxt",
					  .inside = inside,
					  .begin = laws_begin,
					  .ticks = ticks_of,
					  .book_time = book_time };
	const char *traces = getenv("SPUR_TRACES");
	char path[600];

	(void)state;
	laws_files = 0;
	assert_true(laws_hold_below("tests/golden/fxt", "/in", "", &laws));
	assert_true(laws_files > 20);
	assert_true(laws_hold_below("tests/bad/fxt", "/in", "", &laws));
	snprintf(path, sizeof(path), "%s/fxt/files", traces ? traces : "");
	if (!traces || !laws_hold_below(path, "", ".fxt", &laws))
		print_message("skipped: the recorded traces are not here\n");
}

/* --- by hand --- */

static const struct spur_options by_time = SPUR_OPTIONS(.threads = 1),
				 books = SPUR_OPTIONS(.threads = 1, .bookkeeping = true),
				 stored = SPUR_OPTIONS(.threads = 1, .as_stored = true);

static const struct spur_event *next_row(struct spur_trace *t)
{
	const struct spur_event *rows;
	static struct spur_event all[64];
	static size_t count, at;

	if (!t) {
		count = at = 0;
		return NULL;
	}
	if (at == count) {
		at = 0;
		if (spur_next(t, &rows, &count) != SPUR_OK)
			return NULL;
		assert_true(count <= 64);
		memcpy(all, rows, count * sizeof(*all));
	}
	return &all[at++];
}

/* Three providers take turns. Offsets: see the sizes of the records, in words. */
static void write_providers(void)
{
	magic(); /* 0: 1 word */
	provider(7, "seven"); /* 8: 2 words */
	init(1000000); /* 24: 2 */
	plain(FXT_INSTANT, 5, "a", 0); /* 40: header, time, pid, tid, name: 5 */
	provider(9, "nine"); /* 80: 2 */
	init(24000000); /* 96: 2 */
	plain(FXT_COMPLETE, 480, "b", 720); /* 112: 6 */
	section(7); /* 160: 1 */
	plain(FXT_INSTANT, 30, "c", 0); /* 168: 5 */
	provider_event(9, FXT_BUFFER_FILLED); /* 208: 1 */
	plain(FXT_INSTANT, 31, "d", 0); /* 216: 5; the end is at 256 */
}

static void check_origin(struct spur_trace *t, uint32_t id, const char *name, uint32_t provider_id,
			 uint64_t hz, bool shared)
{
	const struct spur_origin *o = &t->origins[id];

	assert_string_equal(spur_string(t, o->name, NULL), name);
	assert_int_equal(o->provider, provider_id);
	assert_int_equal(o->hz, hz);
	assert_int_equal(o->clock_shared, shared);
	assert_int_equal(o->byte_order, big ? 'b' : 'l');
}

static void check_place(struct spur_trace *t, const struct spur_event *row, uint64_t off,
			uint64_t len, uint32_t origin)
{
	const struct spur_place p = format_place(t, row);

	assert_int_equal(p.off, off);
	assert_int_equal(p.len, len);
	assert_int_equal(p.bits, 8 * len);
	assert_int_equal(p.origin, origin);
	assert_memory_equal(p.raw, file.buf + off, len);
}

/* SPEC fxt/origin */
static void test_origins(void **state)
{
	static const struct {
		uint64_t off, len;
		uint32_t origin;
		int64_t ts;
	} want[] = { { 40, 40, 1, 5000 },
		     { 112, 48, 2, 20000 },
		     { 168, 40, 1, 30000 },
		     { 208, 8, 2, 30000 },
		     { 216, 40, 1, 31000 } };

	(void)state;
	for (int i = 0; i < 4; i++) {
		const struct spur_event *row;
		struct spur_trace *t;
		size_t n = 0;

		out_clear(&file);
		big = i & 1;
		write_providers();
		t = open_file(i & 2 ? &stored : &by_time);
		next_row(NULL);
		while ((row = next_row(t)) != NULL) {
			if (row->kind == SPUR_NATIVE)
				continue;
			assert_int_equal(row->ts, want[n].ts);
			check_place(t, row, want[n].off, want[n].len, want[n].origin);
			n++;
		}
		assert_int_equal(n, 5);
		assert_int_equal(t->norigins, 3);
		check_origin(t, 0, "", SPUR_NONE, 0, false);
		check_origin(t, 1, "seven", 7, 1000000, true);
		check_origin(t, 2, "nine", 9, 24000000, false);
		assert_int_equal(t->origins[1].track, i & 2 ? t->origins[1].track : SPUR_NONE);
		assert_int_equal(spur_track(t, t->origins[2].track)->kind, SPUR_TRACK_PROVIDER);
		spur_close(t);
	}
}

/*
 * SPEC fxt/origin: a provider that tells another clock later has no clock in common with others,
 * but may tell its own one again.
 */
static void test_origin_again(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct spur_trace *t;

		magic();
		provider(7, "seven");
		init(1000000);
		plain(FXT_INSTANT, 5, "a", 0);
		provider(9, "nine");
		init(1000000);
		plain(FXT_INSTANT, 6, "b", 0);
		init(i ? 2000000 : 1000000);
		plain(FXT_INSTANT, 16, "c", 0);
		t = open_file(&by_time);
		check_origin(t, 1, "seven", 7, 1000000, true);
		check_origin(t, 2, "nine", 9, 1000000, !i);
		spur_close(t);
	}
}

/* SPEC fxt/bookkeeping */
static void test_bookkeeping(void **state)
{
	static const struct {
		const char *name;
		int64_t ts;
		uint64_t off;
		uint32_t origin;
	} want[] = {
		{ "magic", 5000, 0, 0 },
		{ "provider info", 5000, 8, 1 },
		{ "initialization", 5000, 24, 1 },
		{ "a", 5000, 40, 1 },
		{ "provider info", 5000, 80, 2 },
		{ "initialization", 5000, 96, 2 },
		/* SPEC fxt/order: of equal times complete events come last */
		{ "provider section", 20000, 160, 1 },
		{ "b", 20000, 112, 2 },
		{ "c", 30000, 168, 1 },
		{ "buffer filled", 30000, 208, 2 },
		{ "d", 31000, 216, 1 },
	};
	struct spur_args args = { 0 };
	const struct spur_event *row;
	struct spur_trace *t;
	size_t n = 0;

	(void)state;
	write_providers();
	t = open_file(&books);
	next_row(NULL);
	while ((row = next_row(t)) != NULL) {
		assert_string_equal(spur_string(t, row->name, NULL), want[n].name);
		assert_int_equal(row->ts, want[n].ts);
		assert_int_equal(row->off, want[n].off);
		assert_int_equal(format_place(t, row).origin, want[n].origin);
		if (n == 5) {
			/* Fields as those of a dump: provider, ticks per second. */
			assert_int_equal(t->format->fields(t, row, &args), SPUR_OK);
			assert_int_equal(args.count, 2);
			assert_int_equal(args.items[0].u, 9);
			assert_int_equal(args.items[1].u, 24000000);
		}
		n++;
	}
	assert_int_equal(n, 11);
	spur_args_free(&args);
	spur_close(t);
}

static void test_ticks(void **state)
{
	static const uint64_t want[][2] = {
		{ 5, 5 }, { 480, 720 }, { 30, 30 }, { 0, 0 }, { 31, 31 }
	};
	const struct spur_event *row;
	struct spur_trace *t;
	size_t n = 0;

	(void)state;
	write_providers();
	t = open_file(&by_time);
	next_row(NULL);
	while ((row = next_row(t)) != NULL) {
		uint64_t ticks[2] = { 0, 0 };

		/* The fourth is the provider event, which has no time. */
		assert_int_equal(t->format->ticks(t, row, ticks), n != 3);
		assert_memory_equal(ticks, want[n], sizeof(ticks));
		n++;
	}
	spur_close(t);
}

/* A large record's length is that of its 32 bits of words. */
static void test_large_place(void **state)
{
	static const char data[80000];
	const struct spur_event *row;
	struct spur_trace *t;

	(void)state;
	magic();
	head(FXT_LARGE, UINT64_C(1) << 40);
	w(0); /* no category, no name */
	w(sizeof(data));
	bytes(data, sizeof(data));
	done();
	t = open_file(&by_time);
	next_row(NULL);
	row = next_row(t);
	assert_non_null(row);
	check_place(t, row, 8, 24 + sizeof(data), 0);
	spur_close(t);
}

static void check_field(struct spur_trace *t, const struct spur_field *f, const char *name,
			enum spur_type type, uint32_t bits, bool optional)
{
	assert_string_equal(spur_string(t, f->name, NULL), name);
	assert_int_equal(f->type, type);
	assert_int_equal(f->bits, bits);
	assert_int_equal(f->optional, optional);
}

/* SPEC fxt/schema */
static void write_events(void)
{
	magic();
	event(FXT_BEGIN, 1, 0, none, in("f"), 3);
	arg_i32(in("same"), -1);
	arg_i32(in("wide"), 1);
	arg_word(FXT_ARG_F64, in("both"), 0);
	done();
	event(FXT_BEGIN, 2, 0, none, in("f"), 4);
	arg_i32(in("same"), 5);
	arg_word(FXT_ARG_I64, in("wide"), 1);
	arg(FXT_ARG_STRING, in("both"), 0, in("text"), NULL);
	arg_word(FXT_ARG_KOID, in("rare"), 77);
	done();
	event(FXT_END, 3, 0, none, in("f"), 2);
	arg_word(FXT_ARG_U64, in("twice"), 1);
	arg_word(FXT_ARG_POINTER, in("twice"), 2);
	done();
	event(FXT_INSTANT, 4, 0, none, in("f"), 1);
	arg(FXT_ARG_BOOL, in("other"), 1, none, NULL);
	done();
}

static void check_events(const struct spur_options *opt)
{
	const struct spur_schema *begin = NULL, *instant = NULL;
	const struct spur_event *row;
	struct spur_trace *t = open_file(opt);

	next_row(NULL);
	while ((row = next_row(t)) != NULL) {
		if (row->kind == SPUR_BEGIN)
			begin = format_schema(t, row->cls);
		else if (row->kind == SPUR_INSTANT)
			instant = format_schema(t, row->cls);
	}
	assert_non_null(begin);
	assert_non_null(instant);
	assert_int_equal(begin->open, opt->as_stored);
	assert_int_equal(instant->open, opt->as_stored);
	assert_int_equal(begin->nbegin, 4);
	check_field(t, &begin->begin[0], "same", SPUR_I64, 32, false);
	check_field(t, &begin->begin[1], "wide", SPUR_I64, 0, false);
	check_field(t, &begin->begin[2], "both", SPUR_NULL, 0, false);
	check_field(t, &begin->begin[3], "rare", SPUR_KOID, 64, true);
	assert_true(begin->begin[0].is_signed);
	assert_int_equal(begin->nend, 2);
	check_field(t, &begin->end[0], "twice", SPUR_U64, 64, false);
	check_field(t, &begin->end[1], "twice", SPUR_POINTER, 64, false);
	assert_int_equal(instant->nbegin, 1);
	check_field(t, &instant->begin[0], "other", SPUR_BOOL, 0, false);
	spur_close(t);
}

static void test_schema(void **state)
{
	(void)state;
	write_events();
	check_events(&by_time);
	check_events(&stored);
}

/*
 * A call that fails because memory is exhausted counts nothing: the next one gives the same schema.
 */
static void test_schema_again(void **state)
{
	bool failed = true;

	(void)state;
	write_events();
	for (uint64_t n = 1; failed; n++) {
		struct spur_trace *t = open_file(&by_time);
		const struct spur_schema *s;
		const struct spur_event *row;
		uint32_t cls = 0;

		next_row(NULL);
		while ((row = next_row(t)) != NULL)
			cls = row->kind == SPUR_BEGIN ? row->cls : cls;
		mem_fail_at(n);
		failed = !spur_schema(t, cls);
		mem_fail_at(0);
		s = spur_schema(t, cls);
		assert_non_null(s);
		assert_int_equal(s->nbegin, 4);
		check_field(t, &s->begin[0], "same", SPUR_I64, 32, false);
		check_field(t, &s->begin[3], "rare", SPUR_KOID, 64, true);
		check_field(t, &s->end[1], "twice", SPUR_POINTER, 64, false);
		assert_true(n < 100);
		spur_close(t);
	}
}

/*
 * The first argument of a name is of the first field of that name, though the one before it stands
 * in front of the second.
 */
static void test_schema_twice(void **state)
{
	const struct spur_schema *s;
	const struct spur_event *row;
	struct spur_trace *t;

	(void)state;
	magic();
	event(FXT_INSTANT, 1, 0, none, in("f"), 3);
	arg_word(FXT_ARG_U64, in("twice"), 1);
	arg_word(FXT_ARG_U64, in("between"), 2);
	arg_word(FXT_ARG_U64, in("twice"), 3);
	done();
	event(FXT_INSTANT, 2, 0, none, in("f"), 2);
	arg_word(FXT_ARG_U64, in("between"), 4);
	arg_word(FXT_ARG_POINTER, in("twice"), 5);
	done();
	t = open_file(&by_time);
	next_row(NULL);
	row = next_row(t);
	assert_int_equal(row->kind, SPUR_INSTANT);
	s = format_schema(t, row->cls);
	assert_int_equal(s->nbegin, 3);
	check_field(t, &s->begin[0], "twice", SPUR_NULL, 0, false);
	check_field(t, &s->begin[1], "between", SPUR_U64, 64, false);
	check_field(t, &s->begin[2], "twice", SPUR_U64, 64, true);
	assert_false(s->open);
	spur_close(t);
}

/* Of more fields than are kept apart the schema is open. */
static void test_schema_many(void **state)
{
	(void)state;
	for (unsigned n = 1024; n <= 1025; n++) {
		const struct spur_schema *s;
		const struct spur_event *rows;
		struct spur_trace *t;
		char name[16];
		size_t count;

		magic();
		for (unsigned i = 0; i < n; i++) {
			snprintf(name, sizeof(name), "a%u", i);
			event(FXT_INSTANT, i, 0, none, in("f"), 1);
			arg_word(FXT_ARG_U64, in(name), i);
			done();
		}
		t = open_file(&by_time);
		assert_int_equal(spur_next(t, &rows, &count), SPUR_OK);
		s = format_schema(t, rows[0].cls);
		assert_int_equal(s->nbegin, 1024);
		assert_int_equal(s->open, n > 1024);
		check_field(t, &s->begin[1023], "a1023", SPUR_U64, 64, true);
		spur_close(t);
	}
}

/* A backtrace's frames are an array; a switch's state has names. */
static void test_schema_built_in(void **state)
{
	const struct spur_schema *s;
	const struct spur_event *row;
	struct spur_trace *t;

	(void)state;
	magic();
	head(FXT_SCHEDULING, UINT64_C(1) << 60 | UINT64_C(3) << 36);
	w(1);
	w(100);
	w(101);
	done();
	head(FXT_PROFILER, 2 << 16 | UINT64_C(2) << 28);
	w(2);
	w(10);
	w(11);
	w(0x1000);
	w(0x2000);
	done();
	t = open_file(&by_time);
	next_row(NULL);
	row = next_row(t);
	assert_int_equal(row->kind, SPUR_SWITCH);
	s = format_schema(t, row->cls);
	assert_int_equal(s->nbegin, 3);
	check_field(t, &s->begin[0], "state", SPUR_ENUM, 0, true);
	check_field(t, &s->begin[1], "next", SPUR_KOID, 64, true);
	check_field(t, &s->begin[2], "prev", SPUR_KOID, 64, true);
	assert_int_equal(s->begin[0].nlabels, 6);
	assert_int_equal(s->begin[0].labels[3].low, 3);
	assert_string_equal(s->begin[0].labels[3].name, "blocked");
	next_row(t);
	row = next_row(t);
	assert_int_equal(row->kind, SPUR_SAMPLE);
	s = format_schema(t, row->cls);
	assert_int_equal(s->nbegin, 1);
	check_field(t, &s->begin[0], "frames", SPUR_ARRAY, 0, false);
	assert_int_equal(s->begin[0].nitems, 1);
	assert_int_equal(s->begin[0].items->type, SPUR_POINTER);
	assert_int_equal(s->begin[0].items->bits, 64);
	spur_close(t);
}

/* Headers as the format's document gives them: fields in hexadecimal digits, from the highest. */
static void test_wire(void **state)
{
	const uint64_t string = FXT_STRING | fxt_put(FXT_F_SIZE, 2) |
				fxt_put(FXT_F_STRING_INDEX, 0x7abc) | fxt_put(FXT_F_STRING_LEN, 5);
	const uint64_t begin =
		FXT_EVENT | fxt_put(FXT_F_SIZE, 0xfff) | fxt_put(FXT_F_EVENT_TYPE, FXT_BEGIN) |
		fxt_put(FXT_F_EVENT_ARGS, 15) | fxt_put(FXT_F_EVENT_THREAD, 0xab) |
		fxt_put(FXT_F_EVENT_CATEGORY, 0x8003) | fxt_put(FXT_F_EVENT_NAME, 0x1234);

	(void)state;
	assert_int_equal(string, 0x000000057abc0022);
	assert_int_equal(begin, 0x12348003abf2fff4);
	assert_int_equal(fxt_words(begin), 0xfff);
	assert_int_equal(fxt_words(0x0000000a1234567f), 0xa1234567);
	/* What does not fit is cut, and touches no other field. */
	assert_int_equal(fxt_put(FXT_F_EVENT_ARGS, 0x1f), 0xf00000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_goldens, file_setup, file_teardown),
		cmocka_unit_test(test_wire),
		cmocka_unit_test_setup_teardown(test_origins, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_origin_again, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_bookkeeping, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_ticks, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_large_place, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_schema, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_schema_again, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_schema_twice, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_schema_many, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_schema_built_in, file_setup, file_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
