/* What writers need of Heph packets: places, origins, raw times, bookkeeping rows, schemas. */
#include "unit/heph_file.h"
#include "unit/record_laws.h"

/* --- the laws over all goldens --- */

static bool layout_is_old;

static void laws_begin(const char *path, const uint8_t *data, size_t size)
{
	(void)data;
	(void)size;
	layout_is_old = strstr(path, "old-layout") || strstr(path, "old_layout") ||
			strstr(path, "old_no_substream");
}

static uint64_t be64_at(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

static bool ticks_of(const uint8_t *p, uint64_t len, const struct spur_event *ev, uint64_t ticks[2])
{
	const size_t at = layout_is_old ? 16 : 24;

	(void)ev;
	if (p[0] != 0xC1)
		return false;
	assert_true(len >= at + 16);
	ticks[0] = be64_at(p + at);
	ticks[1] = be64_at(p + at + 8);
	return true;
}

/* SPEC heph/bookkeeping: the time of the event before it; in front of all, the earliest of all */
static int64_t book_time(const struct law_rows *rows, size_t i)
{
	int64_t before = 0, earliest = INT64_MAX;
	bool any = false;

	for (size_t k = 0; k < rows->count; k++) {
		const struct spur_event *ev = &rows->items[k].ev;

		if (ev->kind != SPUR_SPAN)
			continue;
		before = k < i ? ev->ts : before;
		any |= k < i;
		earliest = ev->ts < earliest ? ev->ts : earliest;
	}
	return any ? before : earliest == INT64_MAX ? 0 : earliest;
}

static void test_goldens(void **state)
{
	static const char *const inside[] = { NULL };
	static const struct laws laws = { .format = "heph",
					  .inside = inside,
					  .begin = laws_begin,
					  .zeros_end = true,
					  .ticks = ticks_of,
					  .book_time = book_time };
	const char *traces = getenv("SPUR_TRACES");
	char path[600];

	(void)state;
	laws_files = 0;
	assert_true(laws_hold_below("tests/golden/heph", "/in", "", &laws));
	assert_true(laws_files > 20);
	assert_true(laws_hold_below("tests/bad/heph", "/in", "", &laws));
	snprintf(path, sizeof(path), "%s/heph", traces ? traces : "");
	if (!traces || !laws_hold_below(path, "", ".heph", &laws)) {
		print_message("skipped: the recorded traces are not here\n");
		return;
	}
	snprintf(path, sizeof(path), "%s/heph/hand", traces);
	assert_true(laws_hold_below(path, "", ".heph", &laws));
}

/* --- by hand --- */

static const struct spur_options by_time = SPUR_OPTIONS(.threads = 1),
				 books = SPUR_OPTIONS(.threads = 1, .bookkeeping = true),
				 stored = SPUR_OPTIONS(.threads = 1, .as_stored = true);

static struct spur_event rows_seen[64];

static size_t rows_read(struct spur_trace *t)
{
	const struct spur_event *rows;
	size_t n, count = 0;

	while (spur_next(t, &rows, &n) == SPUR_OK) {
		assert_true(count + n <= 64);
		memcpy(rows_seen + count, rows, n * sizeof(*rows));
		count += n;
	}
	return count;
}

/* An inner span, its outer one, and a second recording behind them. Bytes: 23, 43, 44, 23, 43. */
static void write_segments(void)
{
	memset(next_counter, 0, sizeof(next_counter));
	epoch(1000); /* 0 */
	event(3, 0, 200, 210, "i"); /* 23 */
	event(3, 0, 100, 300, "oo"); /* 66 */
	epoch(5000); /* 110 */
	next_counter[3] = 0;
	event(3, 0, 7, 9, "x"); /* 133, the end is at 176 */
}

/* SPEC heph/origin: another epoch, another clock */
static void test_origins(void **state)
{
	static const uint64_t offs[] = { 66, 23, 133 }, lens[] = { 44, 43, 43 };

	(void)state;
	write_segments();
	for (int i = 0; i < 2; i++) {
		struct spur_trace *t = file_open(i ? &stored : &by_time);
		size_t n = rows_read(t), seen_spans = 0;

		assert_int_equal(n, i ? 5 : 3);
		assert_int_equal(t->norigins, 2);
		assert_true(t->origins[0].clock_shared);
		assert_false(t->origins[1].clock_shared);
		for (size_t k = 0; k < 2; k++) {
			assert_int_equal(t->origins[k].byte_order, 'b');
			assert_int_equal(t->origins[k].hz, 1000000000);
			assert_int_equal(t->origins[k].provider, SPUR_NONE);
		}
		for (size_t k = 0; k < n; k++) {
			const struct spur_place p = format_place(t, &rows_seen[k]);

			assert_int_equal(p.origin, p.off >= 110);
			assert_memory_equal(p.raw, file.buf + p.off, p.len);
			if (i || rows_seen[k].kind != SPUR_SPAN)
				continue;
			assert_int_equal(p.off, offs[seen_spans]);
			assert_int_equal(p.len, lens[seen_spans]);
			assert_int_equal(p.bits, 8 * lens[seen_spans]);
			seen_spans++;
		}
		spur_close(t);
	}
}

/* SPEC heph/bookkeeping */
static void test_bookkeeping(void **state)
{
	static const struct {
		int64_t ts;
		uint64_t off;
		unsigned kind;
	} want[] = {
		{ 100, 0, SPUR_NATIVE }, /* before all events: the earliest time */
		{ 100, 66, SPUR_SPAN },	 { 100, 110, SPUR_NATIVE }, /* behind the event at 66 */
		{ 200, 23, SPUR_SPAN },	 { 4007, 133, SPUR_SPAN },
	};
	struct spur_trace *t;

	(void)state;
	write_segments();
	t = file_open(&books);
	assert_int_equal(rows_read(t), 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(rows_seen[i].ts, want[i].ts);
		assert_int_equal(rows_seen[i].off, want[i].off);
		assert_int_equal(rows_seen[i].kind, want[i].kind);
	}
	spur_close(t);
}

static void test_ticks(void **state)
{
	uint64_t ticks[2] = { 0, 0 };
	struct spur_trace *t;

	(void)state;
	for (int old = 0; old < 2; old++) {
		out_clear(&file);
		old_layout = old;
		next_counter[0] = 2;
		event(0, 0, 50, UINT64_C(1) << 63, "far");
		meta("what", "x", 1);
		t = file_open(&by_time);
		assert_int_equal(rows_read(t), 3);
		/* Two lost events, the event, the option. */
		assert_int_equal(rows_seen[0].kind, SPUR_LOST);
		assert_false(t->format->ticks(t, &rows_seen[0], ticks));
		assert_int_equal(format_place(t, &rows_seen[0]).len, 0);
		assert_null(format_place(t, &rows_seen[0]).raw);
		assert_true(t->format->ticks(t, &rows_seen[1], ticks));
		assert_int_equal(ticks[0], 50);
		assert_true(ticks[1] == UINT64_C(1) << 63);
		assert_false(t->format->ticks(t, &rows_seen[2], ticks));
		spur_close(t);
	}
	old_layout = false;
}

static void check_field(struct spur_trace *t, const struct spur_field *f, const char *name,
			enum spur_type type, uint32_t bits, bool optional)
{
	assert_string_equal(spur_string(t, f->name, NULL), name);
	assert_int_equal(f->type, type);
	assert_int_equal(f->bits, bits);
	assert_int_equal(f->optional, optional);
}

/* SPEC heph/schema */
static void test_schema(void **state)
{
	const struct spur_schema *s;
	struct spur_trace *t;

	(void)state;
	memset(next_counter, 0, sizeof(next_counter));
	event(0, 0, 1, 2, "f");
	attr_int("n", 1, 5);
	attr("list", 0x82);
	put(2, 2);
	put(1, 8);
	put(2, 8);
	packet_ends();
	attr_string("mixed", "text", 4);
	event(0, 0, 3, 4, "f");
	attr_int("n", 1, 6);
	attr("list", 0x82);
	put(0, 2);
	packet_ends();
	attr_int("mixed", 3, 0);
	attr_int("rare", 2, 1);
	event(0, 0, 5, 6, "g");
	meta("what", "x", 1);
	for (int i = 0; i < 2; i++) {
		t = file_open(i ? &stored : &by_time);
		assert_int_equal(rows_read(t), 4);
		s = format_schema(t, rows_seen[0].cls);
		assert_int_equal(s->open, i);
		assert_int_equal(s->nend, 0);
		assert_int_equal(s->nbegin, 4);
		check_field(t, &s->begin[0], "n", SPUR_U64, 64, false);
		check_field(t, &s->begin[1], "list", SPUR_ARRAY, 0, false);
		assert_int_equal(s->begin[1].nitems, 1);
		assert_int_equal(s->begin[1].items->type, SPUR_I64);
		assert_int_equal(s->begin[1].items->bits, 64);
		check_field(t, &s->begin[2], "mixed", SPUR_NULL, 0, false);
		check_field(t, &s->begin[3], "rare", SPUR_I64, 64, true);
		s = format_schema(t, rows_seen[2].cls);
		assert_int_equal(s->nbegin, 0);
		s = format_schema(t, rows_seen[3].cls);
		assert_int_equal(s->nbegin, 1);
		check_field(t, &s->begin[0], "value", SPUR_BYTES, 0, false);
		assert_false(s->open);
		spur_close(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_goldens, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_origins, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_bookkeeping, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_ticks, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_schema, file_begin, file_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
