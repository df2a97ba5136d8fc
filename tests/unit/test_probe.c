/*
 * What formats take for theirs: no file of the system this runs on, no random bytes, no text; and
 * traces of every format even if nothing but their bytes tells.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bits.h"
#include "base/source.h"
#include "format/format.h"

enum {
	HEAD = 65536,
	FILES = 4000, /* of the system */
	EVERY = 8, /* one file in EVERY, .. */
	VISITS = 400000, /* .. of VISITS at most */
	RANDOMS = 20000,
	LIMIT_MS = 50,
};

static uint8_t head[HEAD];
static uint64_t seed = 1;

static uint64_t next_random(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return seed >> 33;
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The name of the format that takes the bytes; "" if none does. Each must be quick about it. */
static const char *taken_by(const char *path, const uint8_t *data, size_t len)
{
	const struct probe p = { .path = path, .head = data, .len = len };
	const char *best = "";

	for (size_t i = 0; spur_formats[i]; i++) {
		const double from = cpu_ms();
		const int score = spur_formats[i]->probe(&p);

		if (cpu_ms() - from > LIMIT_MS)
			fail_msg("%s: the probe of %s takes %.1f ms", path, spur_formats[i]->name,
				 cpu_ms() - from);
		if (score)
			best = spur_formats[i]->name;
	}
	return best;
}

static void refuse(const char *path, const uint8_t *data, size_t len)
{
	const char *name = taken_by(path, data, len);

	if (*name)
		fail_msg("%s, %zu bytes: taken for %s", path, len, name);
}

/* Through a source, so that packed files are looked into as `spur` does. */
static void refuse_file(const char *path)
{
	const struct source_options so = { 0 };
	struct spur_error err = { 0 };
	struct source *s;

	if (source_open(&s, path, &so, &err) == SPUR_FAIL)
		return;
	while (s->size < HEAD && source_more(s))
		;
	refuse(path, s->data, s->size < HEAD ? s->size : HEAD);
	source_close(s);
}

static void files_of_the_system(void **state)
{
	char usr[] = "/usr", etc[] = "/etc";
	char *const paths[] = { usr, etc, NULL };
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	unsigned files = 0, visits = 0, regular = 0;
	FTSENT *e;

	(void)state;
	assert_non_null(walk);
	while (files < FILES && visits++ < VISITS && (e = fts_read(walk)) != NULL) {
		if (e->fts_info != FTS_F || regular++ % EVERY)
			continue;
		refuse_file(e->fts_accpath);
		files++;
	}
	fts_close(walk);
	assert_true(files > 0);
}

static void random_bytes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RANDOMS; i++) {
		const size_t len = i % 100 ? i % 500 : next_random() % HEAD;

		for (size_t k = 0; k < len; k++)
			head[k] = (uint8_t)next_random();
		refuse("random", head, len);
	}
}

/* SPEC uftrace/lone-dat: text fits one record or another by chance */
static void text(void **state)
{
	static const char *const texts[] = {
		"Call the office on Monday (the number is on the door).\nBring the keys.\n",
		"{\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\"}\n]}\n",
		"1234567\n(bcdefg\n1234567\n)bcdefg\n1234567\n(bcdefg\n1234567\n)bcdefg\n",
		"--------------------------------------------------------------------------------"
		"\n",
		"hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh"
		"hh",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (size_t from = 0; from < 16; from++)
			refuse("12345.txt", (const uint8_t *)texts[i] + from,
			       strlen(texts[i]) - from);
	for (unsigned i = 0; i < RANDOMS; i++) {
		const size_t len = 16 + next_random() % 500;

		for (size_t k = 0; k < len; k++)
			head[k] = (uint8_t) " \n\tabcehiklmnostu()*+,-./0123456789{}\":"
				[next_random() % 39];
		refuse("text", head, len);
		refuse("77.dat", head, len);
	}
}

/* --- what is taken --- */

static size_t put64(size_t at, uint64_t v, bool big)
{
	v = order_swaps(big) ? __builtin_bswap64(v) : v;
	memcpy(head + at, &v, 8);
	return at + 8;
}

/* An uftrace record: type, depth, address; `time` in ns. */
static size_t put_record(size_t at, uint64_t time, unsigned type, unsigned depth, bool big)
{
	const uint64_t addr = UINT64_C(0x55d0c0de1000) + depth * 0x40;

	at = put64(at, time, big);
	return put64(at, addr << 16 | (uint64_t)depth << 6 | 5 << 3 | type, big);
}

static void lone_dat(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		const uint64_t time = UINT64_C(86400) * 1000000000;
		size_t len = put_record(0, time, 0, 0, big);

		/* One record is enough only if the name says the same. */
		refuse("trace", head, len);
		assert_string_equal(taken_by("dir/4711.dat", head, len), "uftrace");
		assert_string_equal(taken_by("4711.dat.zst", head, len), "uftrace");
		refuse("4711.data", head, len);
		/* A call and its end, and nothing behind. */
		len = put_record(len, time + 5, 1, 0, big);
		assert_string_equal(taken_by("-", head, len), "uftrace");
		assert_string_equal(taken_by("-", head, len + 7), "uftrace");
		/* Calls that nest. */
		len = 0;
		for (unsigned i = 0; i < 8; i++)
			len = put_record(len, time + i, 0, i, big);
		assert_string_equal(taken_by("-", head, len), "uftrace");
		refuse("-", head, len - 16);
		/* The same, but time goes back, or depths do not fit. */
		put_record(16 * 3, time - 1, 0, 3, big);
		refuse("-", head, len);
		for (unsigned i = 0, at = 0; i < 8; i++)
			at = (unsigned)put_record(at, time + i, 0, 7, big);
		refuse("-", head, len);
	}
}

/* SPEC xray/probe: version 5, type 1, but the frequency is none and no record follows */
static void xray_header(void **state)
{
	uint8_t xray[64] = { 5, 0, 1, 0, 3 };

	(void)state;
	xray[9] = 0xCA;
	xray[10] = 0x9A;
	xray[11] = 0x3B; /* 999,999,488 a second */
	xray[17] = 0x40; /* buffers of 16 KiB */
	assert_string_equal(taken_by("log", xray, 32), "xray");
	assert_string_equal(taken_by("log", xray, 64), "xray");
	xray[14] = 1;
	refuse("log", xray, 64);
	xray[14] = 0;
	xray[25] = 1;
	refuse("log", xray, 64);
}

/* SPEC fxt/no-magic: records of 1 word, and a thread, have their shape from small numbers alone */
static void fxt_shape(void **state)
{
	size_t len = 0;

	(void)state;
	memset(head, 0, 256);
	for (unsigned i = 1; i < 9; i++) {
		len = put64(len, 0x33 | i << 16, false);
		len = put64(len, 1000 + i, false);
		len = put64(len, 2000 + i, false);
	}
	refuse("threads", head, len);
	len = put64(len, 0x21, false);
	len = put64(len, 1000000000, false);
	assert_string_equal(taken_by("threads", head + len - 40, 40), "fxt");
}

/* SPEC ctf/archive: of tar archives only those with a trace in them */
static void put_header(size_t at, const char *name, unsigned size)
{
	unsigned sum = 0;

	memset(head + at, 0, 512);
	snprintf((char *)head + at, 100, "%s", name);
	snprintf((char *)head + at + 124, 12, "%011o", size);
	memset(head + at + 148, ' ', 8);
	head[at + 156] = '0';
	for (size_t i = 0; i < 512; i++)
		sum += head[at + i];
	snprintf((char *)head + at + 148, 8, "%06o", sum);
}

static void archives(void **state)
{
	(void)state;
	memset(head, 0, 8192);
	put_header(0, "notes/a.txt", 700);
	memset(head + 512, 'x', 700);
	put_header(512 + 1024, "notes/b.txt", 10);
	refuse("notes.tar", head, 4096);
	put_header(512 + 1024, "trace/metadata", 10);
	assert_string_equal(taken_by("t.tar", head, 4096), "ctf");
	refuse("t.tar", head, 512 + 1024);
	memcpy(head + 512, "\xC1\x1F\xFC\xC1", 4);
	assert_string_equal(taken_by("t.tar", head, 512 + 1024), "ctf");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_the_system), cmocka_unit_test(random_bytes),
		cmocka_unit_test(text),		       cmocka_unit_test(lone_dat),
		cmocka_unit_test(xray_header),	       cmocka_unit_test(fxt_shape),
		cmocka_unit_test(archives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
