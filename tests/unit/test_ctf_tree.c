/*
 * CTF directories: what belongs to a trace, which directories are one, files and paths by
 * themselves.
 */
#include "unit/ctf_small.h"

static void stream(const char *name, unsigned begin, unsigned instance, unsigned v)
{
	packet(begin, begin + 9, begin / 10);
	head(AT_INSTANCE, instance, 4);
	event(begin + 1, v);
	packet_end(0);
	put_bytes(name);
}

static void show_tracks(void)
{
	struct spur_error err;
	struct spur_trace *t;

	out_clear(&seen);
	assert_int_equal(spur_open(&t, dir, NULL, &err), SPUR_OK);
	for (uint32_t i = 0; i < spur_track_count(t); i++)
		out_printf(&seen, "%s%s", i ? ", " : "",
			   spur_string(t, spur_track(t, i)->name, NULL));
	out_char(&seen, '\0');
	spur_close(t);
}

/*
 * SPEC ctf/identity: directories of one UUID are one trace; the longest metadata describes all of
 * it
 */
static void test_rotation(void **state)
{
	(void)state;
	put_text("1/metadata", PLAIN);
	put_text("2/metadata", SMALL("", "", "event { name = late; id = 2; stream_id = 3; };"));
	stream("1/s_0", 10, 5, 1);
	packet(0, 9, 0);
	head(AT_INSTANCE, 5, 4);
	event(1, 0);
	u8(2);
	u16(2);
	packet_end(0);
	put_bytes("2/s_0");
	expect("1 INSTANT e cpu 1 (v=0)\n2 INSTANT late cpu 1 ()\n11 INSTANT e cpu 1 (v=1)\n");
	show_tracks();
	assert_string_equal(seen.buf, "1, cpu 1"); /* one trace, one stream */
}

/* SPEC ctf/identity */
static void test_two_traces(void **state)
{
	(void)state;
	put_text("1/metadata", PLAIN);
	put_text("2/metadata",
		 SMALL_UUID("le", "00112233-4455-6677-8899-aabbccddeefe", "", "", ""));
	stream("1/s_0", 0, 5, 1);
	stream("2/s_0", 10, 5, 1);
	show_tracks();
	assert_string_equal(seen.buf, "1, 2, cpu 1, cpu 1");
}

#define CTF2(uid, name)                                                                           \
	"\x1e{\"type\":\"preamble\",\"version\":2%s}\n\x1e{\"type\":\"trace-class\"," uid "\"nam" \
	"e\":\"" name "\",\"namespace\":\"n\"}\n\x1e{\"type\":\"data-stream-class\"}\n\x1e{\"ty"  \
	"pe\":\"event-record-class\",\"name\":\"e\",\"payload-field-class\":{\"type\":\"structu"  \
	"re\",\"member-classes\":[{\"name\":\"v\",\"field-class\":{\"type\":\"fixed-length-unsi"  \
	"gned-integer\",\"length\":8,\"byte-order\":\"little-endian\"}}]}}\n"

static void put_ctf2(const char *name, const char *format, const char *preamble)
{
	char text[2000];

	snprintf(text, sizeof(text), format, preamble);
	put_text(name, text);
}

/*
 * SPEC ctf/identity: of CTF 2 by namespace, name and uid, where there is one; the preamble's UUID
 * says nothing
 */
static void test_identity_2(void **state)
{
	static const char uuid[] = ",\"uuid\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]";

	(void)state;
	put_text("1/s", "\1");
	put_text("2/s", "\2");
	put_ctf2("1/metadata", CTF2("\"uid\":\"u\",", "x"), uuid);
	put_ctf2("2/metadata", CTF2("\"uid\":\"u\",", "x"), "");
	show_tracks();
	assert_string_equal(seen.buf, "1, 1/s, 2/s");
	put_ctf2("2/metadata", CTF2("\"uid\":\"u\",", "y"), "");
	show_tracks();
	assert_string_equal(seen.buf, "1, 2, 1/s, 2/s");
	/* Without a uid they are not the same, whatever the UUIDs say. */
	put_ctf2("1/metadata", CTF2("", "x"), uuid);
	put_ctf2("2/metadata", CTF2("", "x"), uuid);
	show_tracks();
	assert_string_equal(seen.buf, "1, 2, 1/s, 2/s");
}

static void expect_path(const char *name, const char *want)
{
	char path[300];

	snprintf(path, sizeof(path), "%s%s%s", dir, *name ? "/" : "", name);
	assert_true(read_path(path, &(struct spur_options)SPUR_OPTIONS(.threads = 1)));
	assert_string_equal(seen.buf, want);
}

/* The directory, one above it, its metadata, one stream of it. */
static void test_paths(void **state)
{
	(void)state;
	put_text("a/b/metadata", PLAIN);
	stream("a/b/s_0", 0, 1, 7);
	stream("a/b/s_1", 10, 2, 8);
	put_text("a/b/index/other.idx", "no stream of its");
	put_text("a/b/.s_2", "hidden");
	expect_path("", "1 INSTANT e cpu 1 (v=7)\n11 INSTANT e cpu 1 (v=8)\n");
	expect_path("a", "1 INSTANT e cpu 1 (v=7)\n11 INSTANT e cpu 1 (v=8)\n");
	expect_path("a/b/", "1 INSTANT e cpu 1 (v=7)\n11 INSTANT e cpu 1 (v=8)\n");
	expect_path("a/b/metadata", "1 INSTANT e cpu 1 (v=7)\n11 INSTANT e cpu 1 (v=8)\n");
	expect_path("a/b/s_1", "11 INSTANT e cpu 1 (v=8)\n");
}

/* Metadata that cannot be read takes no other trace with it, but where it is the only one. */
static void test_bad_metadata(void **state)
{
	char path[300];

	(void)state;
	put_text("1/metadata", PLAIN);
	put_text("2/metadata", "/* CTF 1.8 */ trace {");
	stream("1/s_0", 0, 5, 1);
	stream("2/s_0", 0, 5, 1);
	expect("1 INSTANT e cpu 1 (v=1)\n! ctf/metadata 2\n");
	snprintf(path, sizeof(path), "%s/1/metadata", dir);
	assert_int_equal(remove(path), 0);
	assert_true(read_path(dir, NULL));
	assert_memory_equal(seen.buf, "FAIL 2/metadata:1:22: expected ", 31);
}

/* Files without a packet are streams without rows; a trace without streams is one. */
static void test_empty(void **state)
{
	(void)state;
	put_text("metadata", PLAIN);
	expect("~ ctf/no-packets metadata\n");
	put_text("s_0", "");
	expect("~ ctf/no-packets metadata\n");
	stream("s_1", 0, 1, 3);
	expect("1 INSTANT e cpu 1 (v=3)\n");
}

/* Whatever is in a directory's names. */
static void test_names(void **state)
{
	(void)state;
	put_text("a b\n\x1b[31m/metadata", PLAIN);
	stream("a b\n\x1b[31m/s\xff", 0, 1, 3);
	expect("1 INSTANT e cpu 1 (v=3)\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)
		TEST(test_rotation), TEST(test_two_traces),   TEST(test_identity_2),
		TEST(test_paths),    TEST(test_bad_metadata), TEST(test_empty),
		TEST(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
