/*
 * The file `metadata`: packets of all generations in both byte orders, damage in them, what
 * generation it is; recorded traces; memory that is out. The parsers of RFC v1.1 and CTF 2 are
 * stood in for: they note their text.
 */
#include <unistd.h>

#include "unit/ctf_text.h"

#include "base/bits.h"
#include "base/mem.h"
#include "base/source.h"

static char parsed[8192]; /* "v1.1 le: TEXT" or "2: TEXT" */

enum spur_status v11_parse(struct ctf_meta *m, struct text text, struct diag_log *diag,
			   struct spur_error *err)
{
	(void)diag;
	(void)err;
	snprintf(parsed, sizeof(parsed), "v1.1 %s: %.*s", m->big_endian ? "be" : "le",
		 (int)text.len, text.p);
	return SPUR_OK;
}

enum spur_status json_parse(struct ctf_meta *m, struct text text, struct diag_log *diag,
			    struct spur_error *err)
{
	(void)m;
	(void)diag;
	(void)err;
	snprintf(parsed, sizeof(parsed), "2: %.*s", (int)text.len, text.p);
	return SPUR_OK;
}

/* As read_text(), of the whole file. */
static const char *read_file(const void *data, size_t size)
{
	struct spur_error err = { 0 };
	struct ctf_meta *m;
	struct diag_log log;

	diag_init(&log);
	out_free(&seen);
	out_to_memory(&seen);
	parsed[0] = '\0';
	if (meta_read(&m, "metadata", data, size, &log, &err) == SPUR_FAIL) {
		assert_null(m);
		out_printf(&seen, "ERROR %s\n", err.message);
	} else {
		meta_print(m, &seen);
	}
	say_messages(&log);
	out_char(&seen, '\0');
	diag_free(&log);
	meta_free(m);
	return seen.buf;
}

static void file_has(const void *data, size_t size, const char *want)
{
	const char *got = read_file(data, size);

	if (strstr(got, want))
		return;
	print_error("expected to find\n%s\nin\n%s\n", want, got);
	fail();
}

/* ---- packets */

static struct out file;

static void put32(bool big, uint32_t v)
{
	v = order_swaps(big) ? __builtin_bswap32(v) : v;
	out_bytes(&file, &v, 4);
}

struct header {
	uint32_t magic;
	uint8_t uuid, packed, major;
	uint32_t content, size; /* bytes; 0: as they are */
	size_t padding;
	bool big;
};

/* Returns where it begins. */
static size_t put_packet(struct header h, const char *text, size_t len)
{
	const bool v11 = h.magic == 0xC1FC1FC1;
	const uint32_t header = v11 ? 48 : h.major == 2 ? 44 : 37;
	const uint32_t content = h.content ? h.content : header + (uint32_t)len;
	const uint32_t size = h.size ? h.size : content + (uint32_t)h.padding;
	const size_t start = file.len;

	put32(h.big, h.magic);
	if (v11) {
		put32(h.big, 0xcafe);
	} else {
		out_pad(&file, (char)h.uuid, 16);
		put32(h.big, 0);
	}
	put32(h.big, v11 ? content : content * 8);
	put32(h.big, v11 ? size : size * 8);
	out_pad(&file, 0, v11 ? 29 : 0);
	out_char(&file, (char)h.packed);
	out_pad(&file, 0, 2);
	if (!v11) {
		out_char(&file, (char)h.major);
		out_char(&file, 8);
	}
	if (h.major == 2) {
		out_pad(&file, 0, 3);
		put32(h.big, 44 * 8);
	}
	out_bytes(&file, text, len);
	out_pad(&file, 0, h.padding);
	return start;
}

static size_t put_text(struct header h, const char *text)
{
	return put_packet(h, text, strlen(text));
}

static int file_make(void **state)
{
	(void)state;
	out_to_memory(&file);
	return 0;
}

static int file_free(void **state)
{
	out_free(&file);
	return seen_free(state);
}

static const char two_events[] = "  event 0\n    fields: struct, align 8\n      a: string";

static void test_packets(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/packet-header: a word is cut between packets. */
	for (int big = 0; big < 2; big++) {
		const struct header h = {
			.magic = 0x75D11D57, .major = 1, .big = big, .padding = 9
		};

		out_clear(&file);
		put_text(h, HEAD "event{fields:=str");
		put_text(h, "");
		put_text(h, "uct{string a;};};");
		file_has(file.buf, file.len, two_events);
		assert_null(strpbrk(seen.buf, "!?~"));
	}
}

static void test_packets_2(void **state)
{
	struct header h = { .magic = 0x75D11D57, .major = 2, .padding = 5 };

	(void)state;
	/* SPEC ctf-tsdl/packet-header-2 */
	put_text(h, "\x1E{\"a\":");
	h.big = true;
	put_text(h, "1}\n");
	file_has(file.buf, file.len, "trace CTF 2");
	assert_string_equal(parsed, "2: \x1E{\"a\":1}\n");
}

static void test_packets_v11(void **state)
{
	static const char strings[] = "trace {}\0 ty\0pe";

	(void)state;
	for (int big = 0; big < 2; big++) {
		const struct header h = { .magic = 0xC1FC1FC1, .big = big, .padding = 7 };

		/* SPEC ctf-tsdl/packet-header-v11, SPEC ctf-tsdl/v11-strings */
		out_clear(&file);
		put_packet(h, strings, sizeof(strings));
		put_text(h, " x {}");
		file_has(file.buf, file.len, "trace RFC v1.1");
		assert_string_equal(parsed, big ? "v1.1 be: trace {} type x {}"
						: "v1.1 le: trace {} type x {}");
	}
}

static void test_packet_damage(void **state)
{
	struct header h = { .magic = 0x75D11D57, .major = 1 };
	size_t second;

	(void)state;
	/* SPEC ctf-tsdl/packet-damage: garbage between, a broken magic number, wrong sizes. */
	put_text(h, HEAD);
	out_str(&file, "garbage");
	second = put_text(h, "env{a=1;};");
	put_text(h, EVENT "string a;" END);
	file_has(file.buf, file.len,
		 "! ctf/metadata-packet packet of metadata: expected a header with its magic "
		 "number and sizes, found none\n");
	assert_non_null(strstr(seen.buf, "env a = 1\n"));
	assert_non_null(strstr(seen.buf, two_events));
	file.buf[second] ^= 1;
	file_has(file.buf, file.len, two_events);
	assert_null(strstr(seen.buf, "env a"));
	file.buf[second] ^= 1;
	memset(file.buf + second + 24, 0, 4); /* content smaller than the header */
	file_has(file.buf, file.len, two_events);
	assert_null(strstr(seen.buf, "env a"));
}

static void test_packet_end(void **state)
{
	const struct header h = { .magic = 0x75D11D57, .major = 1 };
	size_t whole;

	(void)state;
	put_text(h, HEAD "env{a=1;};");
	whole = file.len;
	/* A byte behind the last packet, as one recorder leaves it. */
	out_char(&file, '\0');
	file_has(file.buf, file.len,
		 "~ ctf/metadata-tail packet of metadata: expected the end, found 1 bytes more\n");
	out_pad(&file, '\0', 100);
	file_has(file.buf, file.len, "found 101 bytes more\n");
	assert_null(strchr(seen.buf, '!'));
	file.len = whole;
	put_text(h, "env2 = 3;");
	file_has(file.buf, file.len - 20,
		 "! ctf/metadata-packet packet of metadata: expected a header");
	/* Cut inside: what is there is read. */
	file_has(file.buf, whole - 1,
		 "! ctf/metadata-packet packet of metadata: expected as many bytes as its size "
		 "says, found the end\n! ctf/metadata-cut 1:39: ");
	file_has(file.buf, whole - 1, "env a = 1\n");
	/* Every cut gives a message or an error, none more. */
	for (size_t n = 1; n < whole; n++)
		assert_non_null(strpbrk(read_file(file.buf, n), "!E"));
}

static void test_packet_fields(void **state)
{
	struct header h = { .magic = 0x75D11D57, .major = 1, .uuid = 7 };

	(void)state;
	put_text(h, HEAD);
	h.uuid = 8;
	put_text(h, "env{a=1;};");
	file_has(file.buf, file.len,
		 "? ctf/metadata-uuid packet of metadata: expected the UUID of the first, found "
		 "another\n");
	assert_non_null(strstr(seen.buf, "env a = 1\n"));
	h.packed = 2;
	put_text(h, "env{b=1;};");
	file_has(file.buf, file.len,
		 "! ctf/metadata-packed packet of metadata: expected one without compression and "
		 "encryption, found one with\n");
	/* SPEC ctf-tsdl/packet-uuid */
	out_clear(&file);
	h.packed = 0;
	put_text(h, "trace{major=1;minor=8;byte_order=le;uuid=\"2a6422d0-6cee-11e0-8c08-"
		    "cb07d7b3a564\";};");
	file_has(file.buf, file.len,
		 "? ctf/metadata-uuid 1:1: expected the UUID of the packets around this text, "
		 "found another\n");
}

/* ---- generations */

static void check_parsed(const char *text, const char *want)
{
	read_file(text, strlen(text));
	assert_string_equal(parsed, want);
}

static void test_generations(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/signature, SPEC ctf-tsdl/generation */
	check_parsed("\x1E{}\n", "2: \x1E{}\n");
	check_parsed(" {}", "2:  {}");
	check_parsed("\xEF\xBB\xBF\x1E{}\n", "2: \x1E{}\n");
	check_parsed("trace{} // :=\n type u8 {}", "v1.1 le: trace{} // :=\n type u8 {}");
	check_parsed("/* x */ abstract_type \":=\" {}", "v1.1 le: /* x */ abstract_type \":=\" {}");
	check_parsed("trace{a=\"\\\":=\";} section { }",
		     "v1.1 le: trace{a=\"\\\":=\";} section { }");
	check_parsed("/* CTF 1.8 */ type", "");
	check_parsed("trace { type x; }", "");
	check_parsed("typealias integer{}:=type; section", "");
	check_parsed("\"", "");
	check_parsed("/* ", "");
	check_parsed("", "");
	file_has("\xEF\xBB\xBF" HEAD, sizeof(HEAD) + 2, "trace CTF 1.8");
	file_has("\r\n\r\n" HEAD "\r\n", sizeof(HEAD) + 5, "trace CTF 1.8");
	file_has("", 0, "ERROR metadata:1:1: expected a description of the trace, found nothing\n");
	file_has(" \n", 2,
		 "ERROR metadata:1:1: expected a description of the trace, found nothing\n");
	file_has("\x7F"
		 "ELF",
		 4,
		 "ERROR metadata:1:1: expected a word, a number, a string or punctuation, found");
	file_has("x\n  y", 5, "ERROR metadata:1:1: expected a block or a declaration, found `x`\n");
}

static void test_large(void **state)
{
	struct diag_log log;
	struct spur_error err;
	struct ctf_meta *m;

	(void)state;
	diag_init(&log);
	/* Refused before a byte is looked at. */
	assert_int_equal(
		meta_read(&m, "metadata", (const uint8_t *)"", (size_t)META_BYTES + 1, &log, &err),
		SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_LIMIT);
	assert_string_equal(err.message,
			    "metadata: expected at most 268435456 bytes, found 268435457");
	diag_free(&log);
}

/* ---- recorded traces */

static bool read_trace(const char *name)
{
	const char *traces = getenv("SPUR_TRACES");
	struct spur_error err;
	struct source *s;
	char path[1000];

	snprintf(path, sizeof(path), "%s/ctf/%s/metadata", traces ? traces : "../shared/traces",
		 name);
	if (access(path, R_OK) != 0)
		return false;
	assert_int_not_equal(source_open(&s, path, NULL, &err), SPUR_FAIL);
	read_file(s->data, s->size);
	source_close(s);
	return true;
}

static void test_recorded(void **state)
{
	(void)state;
	if (!read_trace("lttng-ust-small/ust/uid/0/64-bit"))
		skip();
	assert_null(strpbrk(seen.buf, "!?~"));
	assert_non_null(strstr(
		seen.buf, "  event 1 \"tt:str_seq\", log level 13\n"
			  "    fields: struct, align 8\n"
			  "      name: string, align 8, utf-8\n"
			  "      _vals_length: uint 64, le, align 8, base 10, saved in slot 1\n"
			  "      vals: sequence by slot 1, align 8\n"
			  "        element: uint 16, le, align 8, base 10\n"
			  "      d: float 64, le, align 8\n"
			  "      addr: uint 64, le, align 8, base 16\n"));
	assert_true(read_trace("lttng-ust-discarded/ust/uid/0/64-bit"));
	assert_null(strpbrk(seen.buf, "!?~"));
	assert_true(read_trace("zephyr-style/good"));
	assert_non_null(strstr(seen.buf, "stream 0, clock default\n"));
	assert_non_null(strstr(seen.buf, "      name: string of 20, align 8, ascii\n"));
	assert_true(read_trace("ctf2-small"));
	assert_memory_equal(parsed, "2: \x1E{", 5);
	assert_true(read_trace("v1.1-sample/le"));
	assert_memory_equal(parsed, "v1.1 le: trace {\n  major = 1;\n", 29);
	assert_true(read_trace("v1.1-sample/be"));
	assert_memory_equal(parsed, "v1.1 be: trace {\n  major = 1;\n", 29);
	assert_null(strchr(seen.buf, '!'));
}

/* ---- memory that is out */

static const char rich[] =
	"/* CTF 1.8 */ typealias integer{size=8;encoding=UTF8;}:=const char *; typedef "
	"integer{size=8;} u8, v8[3];"
	"trace{major=1;minor=8;byte_order=le;uuid=\"2a6422d0-6cee-11e0-8c08-cb07d7b3a564\";"
	"packet.header:=struct{integer{size=32;}magic;u8 uuid[16];u8 stream_id;};};"
	"env{a=1;b=\"\\n\";c=d;}; clock{name=\"m\";description=\"d\";};"
	"struct h{enum:u8{a,b=2...3,\"c\",d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,a=99}id;variant<id>{u8 "
	"a;struct{u8 z;}b;}v;}align(8);"
	"stream{event.header:=struct "
	"h;packet.context:=struct{integer{size=8;map=clock.m.value;}timestamp_begin;};};"
	"stream{id=1;event.header:=struct h;};"
	"event{name=x;stream_id=0;loglevel=-1;context:=struct{struct h w;const char "
	"*y;};fields:=struct{u8 len;const char *t[len][env.a];"
	"u8 a,b,c,d,e,f,g,i,j,k,l,m,n,o,p,q[stream.event.header.id],r:3,caf\\u00e9;v8 s[l];};};"
	"event{id=1;stream_id=1;fields:=struct{enum{a}x;};}; foo{}; event{id=2;";

static bool read_once(const char *text, size_t len, bool *complete)
{
	struct spur_error err = { 0 };
	struct ctf_meta *m;
	struct diag_log log;
	bool ok;

	diag_init(&log);
	ok = meta_read(&m, "metadata", (const uint8_t *)text, len, &log, &err) != SPUR_FAIL;
	if (ok) {
		*complete = m->nstreams == 2 && m->streams[0]->nevents == 1;
	} else {
		assert_int_not_equal(err.code, SPUR_ERR_NONE);
		assert_true(err.message[0]);
	}
	meta_free(m);
	diag_free(&log);
	return ok;
}

/* The n-th allocation and all after it fail: an error, or the whole result. */
static void try_all(const char *text, size_t len)
{
	bool complete = false;
	uint64_t count;

	mem_fail_at(UINT64_MAX);
	assert_true(read_once(text, len, &complete));
	assert_true(complete);
	count = mem_count();
	assert_true(count > 20);
	for (uint64_t n = 1; n <= count; n++) {
		bool ok;

		mem_fail_at(n);
		ok = read_once(text, len, &complete);
		mem_fail_at(0);
		assert_true(!ok || complete);
	}
	mem_fail_at(0);
}

static void test_memory(void **state)
{
	static char text[4000];
	const struct header h = { .magic = 0x75D11D57, .major = 1 };

	(void)state;
	/* `int` for the last enumeration. */
	snprintf(text, sizeof(text), "typealias integer{size=8;}:=int;%s", rich);
	try_all(text, strlen(text));
	put_text(h, text);
	try_all(file.buf, file.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_packets, file_make, file_free),
		cmocka_unit_test_setup_teardown(test_packets_2, file_make, file_free),
		cmocka_unit_test_setup_teardown(test_packets_v11, file_make, file_free),
		cmocka_unit_test_setup_teardown(test_packet_damage, file_make, file_free),
		cmocka_unit_test_setup_teardown(test_packet_end, file_make, file_free),
		cmocka_unit_test_setup_teardown(test_packet_fields, file_make, file_free),
		cmocka_unit_test_setup_teardown(test_generations, file_make, file_free),
		cmocka_unit_test(test_large),
		cmocka_unit_test_setup_teardown(test_recorded, file_make, file_free),
		cmocka_unit_test_setup_teardown(test_memory, file_make, file_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
