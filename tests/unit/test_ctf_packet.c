/* CTF packets: found by hopping, by the index file, by the next magic number; index files alone. */
#include "format/ctf/hints.h"
#include "unit/ctf_small.h"

enum { FIRST = 67, SECOND = 68, THIRD = 69, ALL = FIRST + SECOND + THIRD };

#define ROWS_1 "1 INSTANT e cpu 1 (v=0)\n2 INSTANT f cpu 1 (s=\"x\")\n"
#define LOST "9 LOST lost packets for 11 cpu 1 (packets=1)\n"
#define ROWS_2 "11 INSTANT e cpu 1 (v=1)\n12 INSTANT f cpu 1 (s=\"x\")\n"
#define ROWS_3 "21 INSTANT e cpu 1 (v=2)\n22 INSTANT f cpu 1 (s=\"x\")\n"

static void one(unsigned i)
{
	packet(10 * i, 10 * i + 9, i);
	event(10 * i + 1, i);
	text_event(10 * i + 2, "x");
	packet_end(2 + i);
}

static void three(void)
{
	put_text("metadata", PLAIN);
	for (unsigned i = 0; i < 3; i++)
		one(i);
	assert_int_equal(bytes.len, ALL);
}

/* --- sizes --- */

static void test_hops(void **state)
{
	(void)state;
	three();
	put_bytes("s");
	expect(ROWS_1 ROWS_2 ROWS_3);
}

static void test_big_endian(void **state)
{
	(void)state;
	big = true;
	three();
	put_text("metadata", SMALL_UUID("be", UUID, "", "", ""));
	put_bytes("s");
	expect(ROWS_1 ROWS_2 ROWS_3);
}

/* SPEC ctf/sizes */
static void test_sizes(void **state)
{
	static const struct {
		uint32_t size, content;
		const char *want;
	} cases[] = {
		{ 8 * SECOND, 8 * (SECOND - 3), ROWS_1 ROWS_2 ROWS_3 },
		{ UINT32_MAX, 8 * (SECOND - 3),
		  ROWS_1 ROWS_2 ROWS_3 "! ctf/packet-size s at 67\n" },
		{ UINT32_MAX - 7, 8 * (SECOND - 3),
		  ROWS_1 ROWS_2 ROWS_3 "! ctf/packet-size s at 67\n" },
		{ 0, 8 * (SECOND - 3), ROWS_1 ROWS_2 ROWS_3 "! ctf/packet-size s at 67\n" },
		{ 8 * SECOND + 1, 8 * (SECOND - 3),
		  ROWS_1 ROWS_2 ROWS_3 "! ctf/packet-size s at 67\n" },
		{ 8 * (BODY - 1), 8 * (SECOND - 3),
		  ROWS_1 ROWS_2 ROWS_3 "! ctf/packet-size s at 67\n" },
		/* SPEC ctf/guessed-content */
		{ 8 * SECOND, UINT32_MAX, ROWS_1 ROWS_2 ROWS_3 "! ctf/packet-size s at 67\n" },
		{ 8 * SECOND, 8, ROWS_1 ROWS_2 ROWS_3 "! ctf/packet-size s at 67\n" },
		{ UINT32_MAX, UINT32_MAX, ROWS_1 ROWS_2 ROWS_3 "! ctf/packet-size s at 67\n" },
		{ 8 * SECOND, 8 * BODY, ROWS_1 ROWS_3 },
		{ 8 * SECOND, 8 * (BODY + 4), ROWS_1 "11 INSTANT e cpu 1 (v=1)\n" ROWS_3 },
		{ 8 * SECOND, 8 * (BODY + 6),
		  ROWS_1 "11 INSTANT e cpu 1 (v=1)\n" ROWS_3 "! ctf/bad-event s at 127 lost 2\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		three();
		set(FIRST + AT_SIZE, cases[i].size, 4);
		set(FIRST + AT_CONTENT, cases[i].content, 4);
		put_bytes("s");
		expect(cases[i].want);
	}
}

/* SPEC ctf/no-sizes */
static void test_no_sizes(void **state)
{
	(void)state;
	put_text("metadata", "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\n"
			     "event { name = e; fields := struct { integer { size = 8; } v; }; };");
	raw("\1\2\3", 3);
	put_bytes("s");
	expect("0 INSTANT e (v=1)\n0 INSTANT e (v=2)\n0 INSTANT e (v=3)\n");
}

/* Every whole event before the cut is kept. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < THIRD; cut++) {
		const size_t left = THIRD - cut;

		three();
		bytes.len -= cut;
		put_bytes("s");
		assert_true(read_path(dir, &(struct spur_options)SPUR_OPTIONS(.threads = 1)));
		assert_memory_equal(seen.buf, ROWS_1 ROWS_2, strlen(ROWS_1 ROWS_2));
		assert_int_equal(strstr(seen.buf, "21 INSTANT e") != NULL, left >= BODY + 4);
		assert_int_equal(strstr(seen.buf, "22 INSTANT f") != NULL, left >= BODY + 9);
		assert_non_null(strstr(seen.buf, left < BODY ? "! ctf/bad-packet s at 135"
							     : "! ctf/cut-packet s at 135"));
	}
}

/* --- magic numbers --- */

/* SPEC ctf/bad-magic */
static void test_bad_magic(void **state)
{
	(void)state;
	three();
	set(FIRST, 0x12345678, 4);
	put_bytes("s");
	expect(ROWS_1 ROWS_2 ROWS_3 "! ctf/bad-magic s at 67\n");
	/* Another trace's UUID as well: nothing speaks for a packet. */
	three();
	set(FIRST, 0x12345678, 4);
	set(FIRST + AT_UUID, 0, 4);
	put_bytes("s");
	expect(ROWS_1 LOST ROWS_3
	       "! ctf/bad-packet s at 67 lost 68\n~ ctf/lost-packets s at 135\n");
}

/* SPEC ctf/stray-file */
static void test_stray(void **state)
{
	(void)state;
	three();
	put_bytes("s");
	put_text("README", "no trace at all");
	put_text("empty", "");
	put_text(".hidden", "no trace");
	expect(ROWS_1 ROWS_2 ROWS_3 "~ ctf/stray-file README at 0\n");
}

static void test_padding(void **state)
{
	(void)state;
	for (size_t n = 1; n < 300; n += 37) {
		three();
		zeros(n);
		put_bytes("s");
		expect(ROWS_1 ROWS_2 ROWS_3 "~ ctf/padding s at 204\n");
	}
}

/* Bytes between packets: as many are lost as there are, whatever they look like. */
static void test_garbage(void **state)
{
	static const uint8_t magic[] = { 0xC1, 0x1F, 0xFC, 0xC1 };
	char want[300];

	(void)state;
	for (unsigned n = 1; n < 200; n += 11) {
		put_text("metadata", PLAIN);
		one(0);
		raw(magic, sizeof(magic));
		for (unsigned i = 0; i < n; i++)
			u8(i * 7 + 1);
		one(1);
		put_bytes("s");
		snprintf(want, sizeof(want), ROWS_1 ROWS_2 "! ctf/bad-packet s at 67 lost %u\n",
			 n + 4);
		assert_true(read_path(dir, &(struct spur_options)SPUR_OPTIONS(.threads = 1)));
		if (n < BODY) {
			/* The magic number alone has a head of other bytes. */
			assert_memory_equal(seen.buf, ROWS_1 ROWS_2, strlen(ROWS_1 ROWS_2));
		}
		assert_non_null(strstr(seen.buf, "! ctf/bad-packet s at 67 lost"));
	}
}

/* SPEC ctf/one-stream-class */
static void test_unknown_class(void **state)
{
	(void)state;
	three();
	set(FIRST + AT_CLASS, 4, 4);
	put_bytes("s");
	expect(ROWS_1 LOST ROWS_3
	       "! ctf/bad-packet s at 67 lost 68\n~ ctf/lost-packets s at 135\n");
}

static void test_uuid(void **state)
{
	(void)state;
	three();
	set(FIRST + AT_UUID, 1, 4);
	put_bytes("s");
	expect(ROWS_1 ROWS_2 ROWS_3 "~ ctf/uuid s at 67\n");
}

/* --- index files --- */

struct entry {
	uint64_t off, size, content, begin, end;
};

static const struct entry right[] = {
	{ 0, 8 * FIRST, 8 * (FIRST - 2), 0, 9 },
	{ FIRST, 8 * SECOND, 8 * (SECOND - 3), 10, 19 },
	{ FIRST + SECOND, 8 * THIRD, 8 * (THIRD - 4), 20, 29 },
};

static void index_head(unsigned minor, unsigned entry)
{
	u32(0xC1F1DCC1);
	u32(1);
	u32(minor);
	u32(entry);
}

static void index_entry(const struct entry *e, unsigned minor, unsigned sequence)
{
	u64(e->off);
	u64(e->size);
	u64(e->content);
	u64(e->begin);
	u64(e->end);
	u64(0);
	u64(3);
	if (minor) {
		u64(0);
		u64(sequence);
	}
}

static void put_index(unsigned minor, const struct entry *entries, unsigned n)
{
	const bool before = big;

	big = true;
	index_head(minor, minor ? 72 : 56);
	for (unsigned i = 0; i < n; i++)
		index_entry(&entries[i], minor, i);
	big = before;
	put_bytes("index/s.idx");
}

/* SPEC ctf/index-file: both versions; entries may be longer than they are known to be */
static void test_hints(void **state)
{
	struct ctf_hints h;
	struct ctf_hint e;
	const char *why;

	(void)state;
	big = true;
	for (unsigned minor = 0; minor < 2; minor++) {
		index_head(minor, minor ? 80 : 64);
		for (unsigned i = 0; i < 3; i++) {
			index_entry(&right[i], minor, 7 + i);
			u64(99);
		}
		u8(1); /* a cut entry */
		assert_true(hints_open(&h, (const uint8_t *)bytes.buf, bytes.len, &why));
		assert_int_equal(h.count, 3);
		hints_get(&h, 1, &e);
		assert_int_equal(e.off, FIRST);
		assert_int_equal(e.total, 8 * SECOND);
		assert_int_equal(e.content, 8 * (SECOND - 3));
		assert_int_equal(e.begin, 10);
		assert_int_equal(e.end, 19);
		assert_int_equal(e.class_id, 3);
		assert_int_equal(e.has_instance, minor);
		assert_int_equal(e.sequence, minor ? 8 : 0);
		assert_int_equal(hints_find(&h, 0), 0);
		assert_int_equal(hints_find(&h, 1), 1);
		assert_int_equal(hints_find(&h, FIRST), 1);
		assert_int_equal(hints_find(&h, FIRST + SECOND + 1), 3);
		assert_int_equal(hints_find(&h, UINT64_MAX), 3);
		out_clear(&bytes);
	}
}

static void hints_bad(const char *found)
{
	struct ctf_hints h;
	const char *why = NULL;

	assert_false(hints_open(&h, (const uint8_t *)bytes.buf, bytes.len, &why));
	assert_non_null(strstr(why, found));
	out_clear(&bytes);
}

static void test_bad_hints(void **state)
{
	(void)state;
	big = true;
	u32(0xC1F1DCC1);
	u32(1);
	hints_bad("another file");
	u32(0xC1FC1FC1);
	zeros(100);
	hints_bad("another file");
	index_head(0, 48);
	hints_bad("another version");
	index_head(1, 56);
	hints_bad("another version");
	index_head(0, 57);
	hints_bad("another version");
	index_head(0, 0);
	hints_bad("another version");
	index_head(0, 56);
	set(4, 2, 4);
	hints_bad("another version");
	index_head(0, 56);
	index_entry(&right[1], 0, 0);
	index_entry(&right[1], 0, 0);
	hints_bad("another order");
}

static void test_index_right(void **state)
{
	(void)state;
	for (unsigned minor = 0; minor < 2; minor++) {
		three();
		put_bytes("s");
		put_index(minor, right, 3);
		expect(ROWS_1 ROWS_2 ROWS_3);
	}
}

/* SPEC ctf/index-used */
static void test_index_used(void **state)
{
	(void)state;
	put_index(1, right, 3);
	/* An absurd size, and nothing of the next packet's head to be found. */
	three();
	set(FIRST + AT_SIZE, UINT32_MAX, 4);
	put_bytes("s");
	expect(ROWS_1 ROWS_2 ROWS_3 "! ctf/packet-size s at 67\n");
	/* No content: the index file's, so the padding makes no events. */
	three();
	set(FIRST + AT_CONTENT, 0, 4);
	put_bytes("s");
	expect(ROWS_1 ROWS_2 ROWS_3 "! ctf/packet-size s at 67\n");
	/* Magic number, UUID and class. */
	three();
	memset(bytes.buf + FIRST, 0xEE, AT_INSTANCE);
	put_bytes("s");
	expect(ROWS_1 ROWS_2 ROWS_3 "! ctf/bad-packet s at 67\n~ ctf/uuid s at 67\n");
	/* All of the head: the index file says where the next packet is. */
	three();
	memset(bytes.buf + FIRST, 0xEE, BODY);
	put_bytes("s");
	assert_true(read_path(dir, &(struct spur_options)SPUR_OPTIONS(.threads = 1)));
	assert_memory_equal(seen.buf, ROWS_1, strlen(ROWS_1));
	assert_non_null(strstr(seen.buf, ROWS_3));
}

/* SPEC ctf/index-checked */
static void test_index_wrong(void **state)
{
	struct entry e[3];

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		three();
		put_bytes("s");
		memcpy(e, right, sizeof(e));
		*(uint64_t *)((char *)&e[1] + 8 * i) += 1;
		put_index(i & 1, e, 3);
		expect(ROWS_1 ROWS_2 ROWS_3 "~ ctf/stale-index s at 67\n");
	}
	put_index(1, right, 1);
	expect(ROWS_1 ROWS_2 ROWS_3 "~ ctf/stale-index s at 67\n");
	three();
	bytes.len -= THIRD;
	put_bytes("s");
	put_index(1, right, 3);
	expect(ROWS_1 ROWS_2 "~ ctf/stale-index s at 135\n");
	put_text("index/s.idx", "nonsense");
	expect(ROWS_1 ROWS_2 "~ ctf/bad-index s\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)
		TEST(test_hops),	  TEST(test_big_endian),  TEST(test_sizes),
		TEST(test_no_sizes),	  TEST(test_cut),	  TEST(test_bad_magic),
		TEST(test_stray),	  TEST(test_padding),	  TEST(test_garbage),
		TEST(test_unknown_class), TEST(test_uuid),	  TEST(test_hints),
		TEST(test_bad_hints),	  TEST(test_index_right), TEST(test_index_used),
		TEST(test_index_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
