/* format/uftrace/ring.h and kernhdr.h: pages, records, damage, kernel_header, kallsyms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/uftrace/kernhdr.h"

enum { PAGE = 256 };

/* A page under construction. */
struct page {
	uint8_t *p;
	struct ring_layout l;
	unsigned at; /* of the next record */
};

static void put(const struct page *g, unsigned at, uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		g->p[at + (g->l.big_endian ? size - 1 - i : i)] = (uint8_t)(v >> 8 * i);
}

static void word(struct page *g, unsigned type, uint32_t delta)
{
	put(g, g->at, g->l.big_endian ? type << 27 | delta : delta << 5 | type, 4);
	g->at += 4;
}

static void words(struct page *g, const char *text)
{
	memcpy(g->p + g->at, text, strlen(text));
	g->at += (unsigned)strlen(text);
}

/* The commit word; `flags` above bit 29. */
static void commit(struct page *g, uint64_t flags)
{
	put(g, g->l.commit_off, (g->at - g->l.data_off) | flags, g->l.commit_size);
}

static struct page page_start(uint8_t *p, unsigned long_size, bool big, uint64_t time)
{
	struct page g = { .p = p, .l = ring_layout_default(PAGE, long_size, big) };

	put(&g, 0, time, 8);
	g.at = g.l.data_off;
	return g;
}

/*
 * Two pages with every kind of record. SPEC uftrace/ring-record, SPEC uftrace/ring-stamp,
 * SPEC uftrace/ring-commit
 */
static size_t two_pages(uint8_t *buf, unsigned long_size, bool big)
{
	struct page g = page_start(buf, long_size, big, 1000);
	uint64_t flags = UINT64_C(1) << 31;

	word(&g, 1, 5);
	words(&g, "aaaa");
	word(&g, 30, 7); /* extend by 7 + 3 << 27 */
	put(&g, g.at, 3, 4);
	g.at += 4;
	word(&g, 0, 0);
	put(&g, g.at, 4 + 6, 4);
	g.at += 4;
	words(&g, "bbbbbb\xff\xff");
	word(&g, 29, 1); /* a discarded record */
	put(&g, g.at, 8, 4);
	g.at += 4;
	words(&g, "xxxx");
	word(&g, 2, 1);
	words(&g, "ccccdddd");
	commit(&g, 0);

	g = page_start(buf + PAGE, long_size, big, UINT64_C(0x1800000000000000) + 9);
	word(&g, 31, 2); /* stamp: the top five bits stay */
	put(&g, g.at, 1, 4);
	g.at += 4;
	word(&g, 1, 1);
	words(&g, "eeee");
	word(&g, 29, 0);
	words(&g, "never looked at!");
	commit(&g, long_size == 8 ? flags | flags >> 1 : flags);
	put(&g, g.at, 42, long_size);
	return 2 * PAGE;
}

struct got {
	struct ring_record r[64];
	char data[64][16];
	size_t count;
	uint64_t damage, lost;
	int64_t missed_after;
	char first[200];
};

static void read_all(const struct ring_layout *l, const uint8_t *p, size_t size, size_t piece,
		     struct got *got)
{
	const struct source_options opt = { .read_size = piece };
	struct source *src;
	struct diag_log log;
	struct ring ring;
	struct ring_record rec;

	memset(got, 0, sizeof(*got));
	diag_init(&log);
	assert_int_equal(source_memory(&src, "k", p, size, &opt, NULL), SPUR_OK);
	ring_init(&ring, l, src, "kernel-cpu0.dat", &log);
	while (ring_next(&ring, &rec)) {
		const uint8_t *data;
		uint32_t n;

		assert_true(rec.off + rec.len <= size);
		assert_true(ring_data(l, src->data + rec.off, rec.len, &data, &n));
		assert_ptr_equal(data, rec.data);
		assert_int_equal(n, rec.size);
		assert_true(got->count < 64);
		got->r[got->count] = rec;
		memcpy(got->data[got->count], rec.data, rec.size < 15 ? rec.size : 15);
		got->count++;
	}
	assert_false(ring_next(&ring, &rec));
	got->missed_after = ring.missed;
	got->damage = diag_count(&log, DIAG_DAMAGE);
	for (size_t i = 0; i < diag_groups(&log); i++)
		got->lost += diag_at(&log, i)->bytes_lost;
	if (diag_groups(&log))
		snprintf(got->first, sizeof(got->first), "%s 0x%llx: %s", diag_at(&log, 0)->code,
			 (unsigned long long)diag_at(&log, 0)->first_off,
			 diag_at(&log, 0)->kept[0].text);
	diag_free(&log);
	source_close(src);
}

static void check_two_pages(unsigned long_size, bool big, size_t piece)
{
	const struct ring_layout l = ring_layout_default(PAGE, long_size, big);
	uint8_t buf[2 * PAGE] = { 0 };
	struct got got;

	read_all(&l, buf, two_pages(buf, long_size, big), piece, &got);
	assert_int_equal(got.damage, 0);
	assert_int_equal(got.count, 4);
	assert_string_equal(got.data[0], "aaaa");
	assert_int_equal(got.r[0].time, 1005);
	assert_int_equal(got.r[0].off, l.data_off);
	assert_int_equal(got.r[0].len, 8);
	assert_int_equal(got.r[0].missed, 0);
	assert_string_equal(got.data[1], "bbbbbb");
	assert_int_equal(got.r[1].time, 1005 + 7 + (3ull << 27));
	assert_int_equal(got.r[1].len, 14);
	assert_string_equal(got.data[2], "ccccdddd");
	assert_int_equal(got.r[2].time, 1005 + 7 + (3ull << 27) + 2);
	assert_string_equal(got.data[3], "eeee");
	assert_int_equal(got.r[3].time, 0x1800000000000000 + (1ull << 27) + 3);
	assert_int_equal(got.r[3].missed, long_size == 8 ? 42 : -1);
	assert_int_equal(got.missed_after, 0);
}

/* SPEC uftrace/ring-record, SPEC uftrace/ring-stamp */
static void test_pages(void **state)
{
	static const size_t pieces[] = { 0, 1, 7, 4096 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		check_two_pages(8, false, pieces[i]);
		check_two_pages(8, true, pieces[i]);
		check_two_pages(4, false, pieces[i]);
		check_two_pages(4, true, pieces[i]);
	}
}

/* Losses before pages without records are told with the next one. SPEC uftrace/ring-commit */
static void test_missed(void **state)
{
	const struct ring_layout l = ring_layout_default(PAGE, 8, false);
	const uint64_t missed = UINT64_C(1) << 31, stored = UINT64_C(1) << 30;
	uint8_t buf[3 * PAGE] = { 0 };
	struct page g;
	struct got got;

	(void)state;
	g = page_start(buf, 8, false, 10);
	commit(&g, missed | stored);
	put(&g, g.at, 7, 8);
	g = page_start(buf + PAGE, 8, false, 20);
	word(&g, 1, 0);
	words(&g, "aaaa");
	commit(&g, missed | stored);
	put(&g, g.at, 5, 8);
	g = page_start(buf + PAGE * 2, 8, false, 30);
	commit(&g, missed);
	read_all(&l, buf, sizeof(buf), 0, &got);
	assert_int_equal(got.count, 1);
	assert_int_equal(got.r[0].missed, 12);
	assert_int_equal(got.missed_after, -1);
	assert_int_equal(got.damage, 0);
}

static void check_damage(const uint8_t *buf, size_t size, size_t count, uint64_t lost,
			 uint64_t damage, const char *first)
{
	const struct ring_layout l = ring_layout_default(PAGE, 8, false);
	struct got got;

	read_all(&l, buf, size, 0, &got);
	assert_int_equal(got.count, count);
	assert_int_equal(got.lost, lost);
	assert_int_equal(got.damage, damage);
	assert_string_equal(got.first, first);
}

static void test_damage(void **state)
{
	uint8_t buf[2 * PAGE] = { 0 };
	struct page g = { .p = buf };

	(void)state;
	two_pages(buf, 8, false);
	put(&g, 8, 1000, 4);
	/* What was cleared behind the data ends the page at once: a length of 0. */
	check_damage(buf, PAGE, 3, PAGE - 72, 2,
		     "uftrace/bad-page 0x8: kernel page: expected at most 240 bytes of data, found "
		     "1000");
	two_pages(buf, 8, false);
	put(&g, 36, 2, 4);
	check_damage(buf, PAGE * 2, 2, 40, 1,
		     "uftrace/bad-kernel-record 0x20: kernel record: expected at least 4 bytes, "
		     "found 2");
	put(&g, 36, 0xffffffff, 4);
	check_damage(buf, PAGE * 2, 2, 40, 1,
		     "uftrace/bad-kernel-record 0x20: kernel record: expected at most 40 bytes, "
		     "found 4294967299");
	two_pages(buf, 8, false);
	put(&g, 8, 2, 4);
	check_damage(buf, PAGE, 0, 2, 1,
		     "uftrace/bad-kernel-record 0x10: kernel record: expected at least 4 bytes, "
		     "found 2");
	put(&g, 8, 7, 4);
	check_damage(
		buf, PAGE, 0, 7, 1,
		"uftrace/bad-kernel-record 0x10: kernel record: expected at most 7 bytes, found 8");
	two_pages(buf, 8, false);
	check_damage(buf, PAGE + 15, 3, 15, 1,
		     "uftrace/torn-page 0x100: kernel page: expected 256 bytes, found 15");
	check_damage(buf, 0, 0, 0, 0, "");
}

/* The bad page's message is the first of two: the rest of the page is then lost. */
static void test_bad_commit_reads_on(void **state)
{
	const struct ring_layout l = ring_layout_default(PAGE, 8, false);
	uint8_t buf[2 * PAGE] = { 0 };
	struct page g = { .p = buf };
	struct got got;

	(void)state;
	two_pages(buf, 8, false);
	put(&g, 8, 1000, 4);
	read_all(&l, buf, sizeof(buf), 0, &got);
	assert_int_equal(got.count, 4);
	assert_int_equal(got.damage, 2);
}

static void test_every_truncation(void **state)
{
	uint8_t buf[2 * PAGE] = { 0 };
	struct got got;

	(void)state;
	for (int big = 0; big < 2; big++) {
		const struct ring_layout l = ring_layout_default(PAGE, 8, big);
		size_t size = two_pages(buf, 8, big);

		for (size_t n = 0; n <= size; n++) {
			uint8_t *copy = mem_alloc(n); /* exact, for the sanitizer */

			if (n)
				memcpy(copy, buf, n);
			read_all(&l, copy, n, n % 3 * 5, &got);
			assert_int_equal(got.damage > 0, n % PAGE != 0);
			assert_true(got.count <= 4);
			mem_free(copy);
		}
	}
}

/* Every byte of the first page, every bit turned: no way out of the page, nothing lost silently. */
static void test_mutations(void **state)
{
	uint8_t buf[2 * PAGE] = { 0 };
	struct got got;

	(void)state;
	for (unsigned i = 0; i < PAGE * 8; i++) {
		const bool big = i & 1;
		const struct ring_layout l = ring_layout_default(PAGE, i & 2 ? 8 : 4, big);

		memset(buf, 0, sizeof(buf));
		two_pages(buf, l.commit_size, big);
		buf[i / 8] ^= (uint8_t)(1 << i % 8);
		read_all(&l, buf, sizeof(buf), 0, &got);
		assert_true(got.count >= 1);
		assert_string_equal(got.data[got.count - 1], "eeee");
	}
}

/* SPEC uftrace/header-page */
static void test_layout(void **state)
{
	struct ring_layout l = ring_layout_default(4096, 8, true);
	const uint8_t extend[8] = { 30 };
	const uint8_t *data;
	uint32_t size;

	(void)state;
	assert_true(ring_layout_valid(&l));
	l.data_off = 12;
	assert_false(ring_layout_valid(&l));
	l.commit_size = 4;
	assert_true(ring_layout_valid(&l));
	l.time_off = 5;
	assert_false(ring_layout_valid(&l));
	l.time_off = 0;
	l.data_off = 4096;
	assert_false(ring_layout_valid(&l));
	l = ring_layout_default(4096, 8, false);
	assert_false(ring_data(&l, extend, 8, &data, &size));
	assert_false(ring_data(&l, extend, 3, &data, &size));
}

/* ---- kernel_header */

#define EVENT(name, id)                                                        \
	"name: " name "\nID: " id "\nformat:\n"                                \
	"\tfield:unsigned short common_type;\toffset:2;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"x\"\n"

static char *header_text(const char *head, const char *first, const char *second)
{
	static const char page[] = "\tfield: u64 timestamp;\toffset:4;\tsize:8;\tsigned:0;\n"
				   "\tfield: local_t commit;\toffset:12;\tsize:4;\tsigned:1;\n"
				   "\tfield: char data;\toffset:20;\tsize:4076;\tsigned:1;\n";
	char *text = malloc(4096);

	snprintf(text, 4096,
		 "%sTRACEFS: events/header_page: %zu\n%s"
		 "TRACEFS: events/irq/one/format: %zu\n%sTRACEFS: events/sched/two/format: %zu\n%s",
		 head, strlen(page), page, strlen(first), first, strlen(second), second);
	return text;
}

struct header {
	struct kernhdr h;
	struct arena arena;
	struct diag_log log;
};

static bool header_parse(struct header *x, const char *text)
{
	arena_init(&x->arena);
	diag_init(&x->log);
	return kernhdr_parse(&x->h, &x->arena, text_of(text), "kernel_header", &x->log);
}

static void header_free(struct header *x)
{
	kernhdr_free(&x->h);
	diag_free(&x->log);
	arena_free(&x->arena);
}

/* SPEC uftrace/header-page */
static void test_header(void **state)
{
	char *text = header_text("PAGE_SIZE: 8192\nLONG_SIZE: 4\nENDIAN: BE\n", EVENT("one", "40"),
				 EVENT("two", "0"));
	struct header x;

	(void)state;
	assert_true(header_parse(&x, text));
	assert_int_equal(diag_count(&x.log, DIAG_DAMAGE), 0);
	assert_int_equal(x.h.layout.page_size, 8192);
	assert_int_equal(x.h.layout.time_off, 4);
	assert_int_equal(x.h.layout.commit_off, 12);
	assert_int_equal(x.h.layout.commit_size, 4);
	assert_int_equal(x.h.layout.data_off, 20);
	assert_true(x.h.layout.big_endian && x.h.abi.big_endian);
	assert_int_equal(x.h.abi.long_size, 4);
	assert_int_equal(x.h.nformats, 2);
	assert_string_equal(kernhdr_format(&x.h, 40)->system, "irq");
	assert_string_equal(kernhdr_format(&x.h, 0)->name, "two");
	assert_null(kernhdr_format(&x.h, 41));
	assert_int_equal(x.h.type.off, 2);
	assert_int_equal(x.h.pid.off, 8);
	header_free(&x);
	/* A wrong length is damage, and costs nothing. */
	*strstr(text, "page: 1") = 'P';
	memcpy(strstr(text, "one/format: ") + 12, "9", 1);
	assert_true(header_parse(&x, text));
	assert_int_equal(diag_count(&x.log, DIAG_DAMAGE), 1);
	assert_int_equal(x.h.nformats, 2);
	assert_int_equal(x.h.layout.data_off, 12);
	header_free(&x);
	free(text);
}

static void test_header_damage(void **state)
{
	static const char *const bad[] = { "", "PAGE_SIZE: 1\nLONG_SIZE: 8\nENDIAN: LE\n",
					   "TRACEFS: ", "TRACEFS: x: y\nTRACEFS: ",
					   "PAGE_SIZE: 4096\nLONG_SIZE: 8\nENDIAN: ME\n" };
	struct header x;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_true(header_parse(&x, bad[i]));
		assert_true(diag_count(&x.log, DIAG_DAMAGE) > 0);
		assert_int_equal(x.h.layout.page_size, 4096);
		assert_true(ring_layout_valid(&x.h.layout));
		assert_int_equal(x.h.nformats, 0);
		header_free(&x);
	}
	arena_init(&x.arena);
	diag_init(&x.log);
	assert_true(kernhdr_parse(&x.h, &x.arena, text_make(NULL, 0), "kernel_header", &x.log));
	assert_int_equal(diag_count(&x.log, DIAG_DAMAGE), 0);
	assert_true(x.h.layout.page_size == 4096 && x.h.layout.data_off == 16);
	header_free(&x);
	/* A broken format costs itself; a second one of the same id is not taken. */
	text = header_text("PAGE_SIZE: 4096\nLONG_SIZE: 8\nENDIAN: LE\n", "name: one\nID: 99999\n",
			   EVENT("two", "7"));
	assert_true(header_parse(&x, text));
	assert_int_equal(x.h.nformats, 1);
	assert_non_null(kernhdr_format(&x.h, 7));
	header_free(&x);
	free(text);
	text = header_text("PAGE_SIZE: 4096\nLONG_SIZE: 8\nENDIAN: LE\n", EVENT("one", "7"),
			   EVENT("two", "7"));
	assert_true(header_parse(&x, text));
	assert_int_equal(x.h.nformats, 1);
	assert_string_equal(kernhdr_format(&x.h, 7)->name, "one");
	assert_int_equal(diag_count(&x.log, DIAG_WARN), 1);
	header_free(&x);
	free(text);
}

static void test_header_truncated(void **state)
{
	char *text = header_text("PAGE_SIZE: 4096\nLONG_SIZE: 8\nENDIAN: LE\n", EVENT("one", "1"),
				 EVENT("two", "2"));
	const size_t page_end = (size_t)(strstr(text, "TRACEFS: events/irq") - text);
	const size_t one_end = (size_t)(strstr(text, "TRACEFS: events/sched") - text);
	struct header x;

	(void)state;
	for (size_t n = strlen(text); n-- > 0;) {
		text[n] = '\0';
		assert_true(header_parse(&x, text));
		assert_true(ring_layout_valid(&x.h.layout));
		/* Between blocks nothing tells that there were more. */
		assert_true(diag_count(&x.log, DIAG_DAMAGE) > 0 || n == page_end || n == one_end);
		header_free(&x);
	}
	free(text);
}

static void test_header_no_memory(void **state)
{
	char *text = header_text("PAGE_SIZE: 4096\nLONG_SIZE: 8\nENDIAN: LE\n", EVENT("one", "1"),
				 EVENT("two", "2"));
	struct header x;
	uint64_t n = 0, used;
	bool ok;

	(void)state;
	do {
		mem_fail_at(++n);
		ok = header_parse(&x, text);
		used = mem_count();
		mem_fail_at(0);
		/* All of it or a word that out of memory. */
		assert_true(ok == (used < n));
		if (ok)
			assert_true(x.h.nformats == 2 && x.h.layout.data_off == 20 &&
				    kernhdr_format(&x.h, 1)->plan);
		header_free(&x);
	} while (!ok);
	assert_true(n > 2);
	free(text);
}

/* ---- kallsyms */

/* SPEC uftrace/kallsyms-alias */
static void test_kallsyms(void **state)
{
	static const char text[] = "ffffffff81000000 T _stext\nffffffff81000000 T "
				   "_text\nffffffff81000100 t __ia32_sys_x\n"
				   "ffffffff81000100 t __x64_sys_x\nffffffff81000200 D "
				   "data\nffffffff81000300 T SyS_y\n"
				   "ffffffff81000300 T sys_y\nffffffffc0000000 t "
				   "mod_fn\t[mod]\nffffffffc0000010 T end\t[mod]\n";
	struct diag_log log;
	struct symtab t;

	(void)state;
	diag_init(&log);
	assert_true(kallsyms_parse(&t, text_of(text), "kallsyms", &log));
	assert_int_equal(diag_count(&log, DIAG_DAMAGE) + diag_count(&log, DIAG_NOTE), 0);
	assert_string_equal(symtab_find(&t, 0xffffffff81000000)->name, "_stext");
	assert_string_equal(symtab_find(&t, 0xffffffff81000104)->name, "__x64_sys_x");
	assert_string_equal(symtab_find(&t, 0xffffffff81000300)->name, "sys_y");
	assert_string_equal(symtab_find(&t, 0xffffffffc000000f)->name, "mod_fn");
	assert_null(symtab_find(&t, 0xffffffff80000000));
	symtab_free(&t);
	assert_true(kallsyms_parse(&t, text_of("0000000000000000 T a\n0000000000000000 T b\n"),
				   "kallsyms", &log));
	assert_int_equal(t.count, 0);
	assert_int_equal(diag_count(&log, DIAG_NOTE), 1);
	symtab_free(&t);
	assert_true(kallsyms_parse(&t, text_of("nonsense\n12 T\n12 T \n12T x\n\n12 T x"),
				   "kallsyms", &log));
	assert_int_equal(t.count, 1);
	assert_int_equal(diag_count(&log, DIAG_DAMAGE), 4);
	symtab_free(&t);
	diag_free(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_missed),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_bad_commit_reads_on),
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_header_damage),
		cmocka_unit_test(test_header_truncated),
		cmocka_unit_test(test_header_no_memory),
		cmocka_unit_test(test_kallsyms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
