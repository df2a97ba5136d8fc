/*
 * CTF, RFC v1.1: heads of packets and events, packed and natural, checksums, compression,
 * encryption.
 */
#include "unit/ctf_dir.h"

#include <bzlib.h>
#include <openssl/evp.h>
#include <zlib.h>

#define TYPES(a16, a32, a64)                                                 \
	"trace { major = 1; minor = 1; };\n"                                 \
	"type uint8_t { parent = integer; size = 8; align = 8; };\n"         \
	"type uint16_t { parent = integer; size = 16; align = " a16 "; };\n" \
	"type uint32_t { parent = integer; size = 32; align = " a32 "; };\n" \
	"type uint64_t { parent = integer; size = 64; align = " a64 "; };\n"
#define EVENT(id, fields)                                                                       \
	"event { name = e" #id "; id = " #id "; section = s; fields = type { parent = struct; " \
	"fields = { " fields " }; }; };\n"
#define SECTION(type, context) \
	"section { name = s; event { header_type = " type "; " context " }; };\n"
#define PACKED TYPES("8", "8", "8")
#define NATURAL TYPES("16", "32", "64")
#define NATURAL_32 TYPES("16", "32", "32")
#define BYTE EVENT(1, "{ uint8_t, v }")

enum { AT_CONTENT = 8, AT_SIZE = 12, AT_SUM = 16, AT_SCHEMES = 45, BODY = 48 };
enum { NONE, BZIP2, GZIP, XZ };
enum { NO_SUM, MD5, SHA1, CRC32 };

static size_t packet_at;

static void packet(uint64_t begin, unsigned sequence)
{
	packet_at = bytes.len;
	u32(0xC1FC1FC1);
	u32(7);
	u32(0);
	u32(0);
	u32(0);
	u32(sequence);
	u64(begin);
	u64(begin + 999);
	u32(0);
	u8(8);
	zeros(3);
}

/* SPEC ctf-v11/packet-header: sizes count bytes, head and all */
static void packet_end(size_t padding)
{
	const size_t size = bytes.len - packet_at;

	set(packet_at + AT_CONTENT, size, 4);
	set(packet_at + AT_SIZE, size + padding, 4);
	zeros(padding);
}

/*
 * SPEC ctf-v11/header1: id in the low bits of a little-endian word, in the high ones of a
 * big-endian word
 */
static void head1(unsigned id, unsigned time)
{
	u32(big ? id << 27 | time : time << 5 | id);
}

static void head2(unsigned id, unsigned time)
{
	u32(time);
	u16(id);
}

/* --- layouts --- */

static void test_header1(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		big = i;
		put_text("metadata", PACKED SECTION("type1", "") BYTE EVENT(40, "{ uint16_t, w }"));
		packet(0x7FFFFFF, 0);
		head1(1, 5); /* 27 bits went around */
		u8(1);
		head1(31, 6); /* 96 bits more, without a gap */
		u32(40);
		u64(0x9000000);
		u16(0x1234);
		packet_end(3);
		put_bytes("s");
		expect("134217733 INSTANT e1 (v=1)\n150994944 INSTANT e40 (w=4660)\n"
		       "~ ctf/late-event s at 0\n");
	}
}

/*
 * SPEC ctf-v11/align, SPEC ctf-v11/packed, SPEC ctf-v11/header1: the end of the long form is where
 * a u64 may be
 */
static void test_header1_natural(void **state)
{
	(void)state;
	put_text("metadata", NATURAL SECTION("type1", "") BYTE);
	packet(0, 0);
	head1(1, 5);
	u8(1); /* 53; 3 bytes to the next header */
	zeros(3);
	head1(31, 0); /* 56 to 72 */
	u32(1);
	u64(6);
	u8(2);
	zeros(3);
	head1(31, 0); /* 76 to 92, and 4 bytes to 96 */
	u32(1);
	u64(7);
	zeros(4);
	u8(3);
	packet_end(0);
	put_bytes("s");
	expect("5 INSTANT e1 (v=1)\n6 INSTANT e1 (v=2)\n7 INSTANT e1 (v=3)\n");
	/* Where a u64 is aligned to 32 bits there is no gap. */
	put_text("metadata", NATURAL_32 SECTION("type1", "") BYTE);
	packet(0, 0);
	head1(31, 0);
	u32(1);
	u64(7);
	u8(3);
	zeros(3);
	head1(31, 0);
	u32(1);
	u64(8);
	u8(4);
	packet_end(0);
	put_bytes("s");
	expect("7 INSTANT e1 (v=3)\n8 INSTANT e1 (v=4)\n");
}

/* SPEC ctf-v11/header2 */
static void test_header2(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		big = i;
		put_text("metadata",
			 PACKED SECTION("type2", "") BYTE EVENT(70000, "{ uint8_t, v }"));
		packet(0, 0);
		head2(1, 5);
		u8(1);
		head2(65535, 6);
		u64(7);
		u32(70000);
		u8(2);
		packet_end(0);
		put_bytes("s");
		expect("5 INSTANT e1 (v=1)\n7 INSTANT e70000 (v=2)\n");
		put_text("metadata",
			 NATURAL SECTION("type2", "") BYTE EVENT(70000, "{ uint8_t, v }"));
		packet(0, 0);
		head2(1, 5); /* 48 to 54 */
		u8(1);
		u8(0);
		head2(65535, 6); /* 56 to 62 */
		u16(0);
		u64(7);
		u32(70000);
		u8(2);
		packet_end(0);
		put_bytes("s");
		expect("5 INSTANT e1 (v=1)\n7 INSTANT e70000 (v=2)\n");
	}
}

/*
 * SPEC ctf-v11/sequence: aligned as the larger of length and element; elements may have a gap
 * before the first, but none without an element
 */
static void test_sequence(void **state)
{
	(void)state;
	put_text("metadata", NATURAL SECTION("type1", "") EVENT(
				     1, "{ uint8_t, a }, { type { parent = sequence; length_type = "
					"uint8_t; elem_type = uint32_t; }, s }, { uint8_t, z }"));
	packet(0, 0);
	head1(1, 1); /* 48 */
	u8(1);
	zeros(3);
	u8(2); /* 56 */
	zeros(3);
	u32(11);
	u32(12);
	u8(3);
	zeros(3);
	head1(1, 2); /* 72 */
	u8(4);
	zeros(3);
	u8(0);
	u8(5);
	packet_end(0);
	put_bytes("s");
	expect("1 INSTANT e1 (a=1 s=[11 12] z=3)\n2 INSTANT e1 (a=4 s=[] z=5)\n");
}

/*
 * SPEC ctf-v11/struct-align: as the largest basic type inside; a bit field counts as its unit;
 * SPEC ctf-v11/slack
 */
static void test_struct_align(void **state)
{
	(void)state;
	put_text("metadata",
		 NATURAL SECTION("type1", "") EVENT(
			 1,
			 "{ uint8_t, a }, { type { parent = struct; fields = { { type { parent = "
			 "gcc_bitfield; unit_size = 16; size = 12; align = 1; }, x }, { type { "
			 "parent = gcc_bitfield; unit_size = 16; size = 5; align = 1; }, y } }; }, "
			 "b }"));
	packet(0, 0);
	head1(1, 1);
	u8(9);
	u8(0);
	u16(0x123);
	u8(0x1F); /* content counts bytes: what is left of the last one is no event */
	packet_end(0);
	put_bytes("s");
	expect("1 INSTANT e1 (a=9 b=[x=291 y=31])\n");
}

/*
 * A unit that is no power of two would make one of the structure's alignment.
 * SPEC ctf-v11/bit-field
 */
static void test_odd_unit(void **state)
{
	const struct spur_options plain = SPUR_OPTIONS();

	(void)state;
	put_text("metadata",
		 NATURAL SECTION("type1", "") EVENT(
			 1, "{ type { parent = struct; fields = { { type { parent = gcc_bitfield; "
			    "unit_size = 24; size = 12; align = 1; }, x } }; }, b }"));
	packet(0, 0);
	packet_end(0);
	put_bytes("s");
	assert_true(read_path(dir, &plain));
	assert_non_null(
		strstr(seen.buf,
		       "`unit_size`: expected a power of two, at least the size (12), found 24"));
}

/* SPEC ctf-v11/byte-order: of text metadata it is that of the streams; SPEC ctf-v11/clock */
static void test_byte_order(void **state)
{
	(void)state;
	big = true;
	put_text("metadata", PACKED SECTION("type2", "") EVENT(1, "{ uint32_t, v }"));
	packet(1000, 0);
	head2(1, 1001);
	u32(77);
	packet_end(0);
	put_bytes("s");
	expect("1001 INSTANT e1 (v=77)\n");
}

/* SPEC ctf-v11/event-size */
static void test_event_size(void **state)
{
	(void)state;
	put_text("metadata", PACKED SECTION("type2", "context { event_size = true; };") BYTE);
	packet(0, 0);
	head2(1, 1);
	u16(1);
	u8(1);
	head2(99, 2); /* unknown; its payload looks like an event */
	u16(9);
	head2(1, 3);
	u16(1);
	u8(66);
	head2(1, 4);
	u16(1);
	u8(2);
	packet_end(0);
	put_bytes("s");
	expect("1 INSTANT e1 (payload_size=1 v=1)\n4 INSTANT e1 (payload_size=1 v=2)\n"
	       "! ctf/unknown-event s at 57 lost 17\n");
}

/* --- packed packets --- */

static void schemes(unsigned compression, unsigned encryption, unsigned sum)
{
	set(packet_at + AT_SCHEMES, compression, 1);
	set(packet_at + AT_SCHEMES + 1, encryption, 1);
	set(packet_at + AT_SCHEMES + 2, sum, 1);
}

/* Packs the data after the header. */
static void pack(unsigned scheme)
{
	const size_t len = bytes.len - packet_at - BODY;
	static char out[1 << 16];
	unsigned size = sizeof(out);
	z_stream z = { .next_in = (uint8_t *)bytes.buf + packet_at + BODY,
		       .avail_in = (unsigned)len,
		       .next_out = (uint8_t *)out,
		       .avail_out = size };

	if (scheme == GZIP) {
		assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
		assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
		size -= z.avail_out;
		deflateEnd(&z);
	} else {
		assert_int_equal(BZ2_bzBuffToBuffCompress(out, &size, bytes.buf + packet_at + BODY,
							  (unsigned)len, 1, 0, 0),
				 BZ_OK);
	}
	bytes.len = packet_at + BODY;
	raw(out, size);
}

/* SPEC ctf-v11/aes: a counter block, then AES in counter mode */
static void encrypt(const uint8_t *key, size_t key_len)
{
	const EVP_CIPHER *c = key_len == 16 ? EVP_aes_128_ctr() : EVP_aes_256_ctr();
	const int len = (int)(bytes.len - packet_at - BODY);
	EVP_CIPHER_CTX *x = EVP_CIPHER_CTX_new();
	uint8_t out[1000], block[16];
	int n;

	for (unsigned i = 0; i < 16; i++)
		block[i] = (uint8_t)(200 + i);
	assert_int_equal(EVP_EncryptInit_ex(x, c, NULL, key, block), 1);
	assert_int_equal(
		EVP_EncryptUpdate(x, out, &n, (uint8_t *)bytes.buf + packet_at + BODY, len), 1);
	EVP_CIPHER_CTX_free(x);
	bytes.len = packet_at + BODY;
	raw(block, sizeof(block));
	raw(out, (size_t)n);
}

/* SPEC ctf-v11/digest */
static void checksum(unsigned scheme)
{
	const uint8_t *p = (uint8_t *)bytes.buf + packet_at + BODY;
	const size_t len = bytes.len - packet_at - BODY;
	uint8_t digest[EVP_MAX_MD_SIZE];

	if (scheme == CRC32) {
		set(packet_at + AT_SUM, crc32(0, p, (unsigned)len), 4);
		return;
	}
	assert_int_equal(
		EVP_Digest(p, len, digest, NULL, scheme == MD5 ? EVP_md5() : EVP_sha1(), NULL), 1);
	memcpy(bytes.buf + packet_at + AT_SUM, digest, 4);
}

static void events(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		head2(1, 1 + i);
		u8(i);
	}
}

static void metadata(void)
{
	put_text("metadata", PACKED SECTION("type2", "") BYTE);
}

#define TWO "1 INSTANT e1 (v=0)\n2 INSTANT e1 (v=1)\n"

static void test_packed(void **state)
{
	(void)state;
	metadata();
	for (unsigned i = 0; i < 2; i++)
		for (unsigned c = NONE; c <= GZIP; c++)
			for (unsigned s = NO_SUM; s <= CRC32; s++) {
				big = i;
				packet(0, 0);
				events(2);
				if (c)
					pack(c);
				schemes(c, 0, s);
				if (s)
					checksum(s);
				packet_end(5);
				put_bytes("s");
				expect(TWO);
			}
}

/* The checksum is wrong: the events are there all the same. */
static void test_wrong_checksum(void **state)
{
	(void)state;
	metadata();
	for (unsigned s = MD5; s <= CRC32 + 1; s++) {
		packet(0, 0);
		events(2);
		schemes(NONE, 0, s);
		packet_end(0);
		put_bytes("s");
		expect(TWO "! ctf/checksum s at 0\n");
	}
}

/* Wherever packed data is cut, what comes out before is kept, and the next packet is read. */
static void test_cut(void **state)
{
	size_t before = 0;

	(void)state;
	metadata();
	for (size_t cut = 1; cut < 60; cut += 3) {
		size_t rows = 0;

		packet(0, 0);
		events(200);
		pack(GZIP);
		schemes(GZIP, 0, 0);
		assert_true(bytes.len > packet_at + BODY + 60);
		bytes.len -= cut;
		packet_end(0);
		packet(1000, 1);
		events(1);
		packet_end(0);
		put_bytes("s");
		assert_true(read_path(dir, NULL));
		assert_non_null(strstr(seen.buf, "! ctf/unpack s at 0"));
		for (const char *p = seen.buf; (p = strstr(p, "INSTANT")) != NULL; p++)
			rows++;
		assert_true(rows >= 1 && rows <= 201 && (!before || rows <= before));
		before = rows;
	}
	assert_true(before < 201);
}

static void test_bad_packed(void **state)
{
	(void)state;
	metadata();
	for (unsigned c = BZIP2; c <= XZ; c++) {
		packet(0, 0);
		raw("this is not it", 14);
		schemes(c, 0, 0);
		packet_end(0);
		packet(0, 1);
		events(2);
		packet_end(0);
		put_bytes("s");
		expect(TWO "! ctf/unpack s at 0 lost 14\n");
	}
}

/* SPEC ctf-v11/unpacked-size */
static void test_bombs(void **state)
{
	static uint8_t zero[1 << 16];
	uint8_t out[1 << 12];
	z_stream z = { .next_out = out, .avail_out = sizeof(out) };
	size_t len;

	(void)state;
	metadata();
	/* 2 MiB of zeros: unknown events, and more than 100 times the size. */
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
	for (unsigned i = 0; i < 32; i++) {
		z.next_in = zero;
		z.avail_in = sizeof(zero);
		assert_int_not_equal(deflate(&z, i == 31 ? Z_FINISH : Z_NO_FLUSH), Z_STREAM_ERROR);
	}
	len = sizeof(out) - z.avail_out;
	deflateEnd(&z);
	for (unsigned i = 0; i < 50; i++) {
		packet(0, i);
		raw(out, len);
		schemes(GZIP, 0, 0);
		packet_end(0);
	}
	put_bytes("s");
	assert_true(read_path(dir, NULL));
	assert_non_null(strstr(seen.buf, "! ctf/unpack s at"));
	assert_non_null(strstr(seen.buf, "! ctf/unknown-event s at 48"));
}

/* SPEC ctf-v11/aes */
static void test_encrypted(void **state)
{
	char path[200];
	struct spur_options opt = SPUR_OPTIONS(.key_file = path);
	uint8_t key[32];

	(void)state;
	snprintf(path, sizeof(path), "%s/.key", dir);
	for (unsigned i = 0; i < 32; i++)
		key[i] = (uint8_t)(i * 9 + 1);
	metadata();
	for (unsigned len = 16; len <= 32; len += 16) {
		char hex[80];

		packet(0, 0);
		events(2);
		pack(GZIP);
		encrypt(key, len);
		schemes(GZIP, 1, CRC32);
		checksum(CRC32);
		packet_end(0);
		put_bytes("s");
		put_file(".key", key, len);
		expect_opt(opt, TWO);
		for (unsigned i = 0; i < len; i++)
			snprintf(hex + 2 * i, 4, "%02x\n", key[i]);
		put_text(".key", hex);
		expect_opt(opt, TWO);
		/* Another key, and none. */
		key[0] ^= 1;
		put_file(".key", key, len);
		expect_opt(opt, "! ctf/unpack s at 0 lost 46\n");
		key[0] ^= 1;
		expect("! ctf/unpack s at 0 lost 46\n");
	}
	put_text(".key", "too short");
	assert_true(read_path(dir, &opt));
	assert_non_null(strstr(seen.buf, "expected a key of 16, 24 or 32 bytes"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)
		TEST(test_header1),	 TEST(test_header1_natural),
		TEST(test_header2),	 TEST(test_sequence),
		TEST(test_struct_align), TEST(test_odd_unit),
		TEST(test_byte_order),	 TEST(test_event_size),
		TEST(test_packed),	 TEST(test_wrong_checksum),
		TEST(test_cut),		 TEST(test_bad_packed),
		TEST(test_bombs),	 TEST(test_encrypted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
