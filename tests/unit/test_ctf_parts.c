/*
 * Parts of CTF streams: whatever packets are, and whichever thread reads them, passes write the
 * same.
 */
#include "unit/any_options.h"
#include "unit/ctf_small.h"
#include "unit/parts_count.h"

enum { PACKETS = 40, SEEDS = 60, CLEAN = 8 };

static uint64_t rng;

static unsigned draw(unsigned n)
{
	rng = rng * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(rng >> 33) % n;
}

/*
 * A stream of random packets: events and packets are lost, packets are empty, have damage at their
 * begin or inside, begin before the one before them ended, or have events behind their end. The
 * clock of events is that of the packet and 16 bits.
 */
static void put_random(uint64_t seed)
{
	uint64_t now = 100000;
	unsigned sequence = 0, discarded = 0;

	rng = seed;
	put_text("metadata", PLAIN);
	for (unsigned i = 0; i < PACKETS; i++) {
		const unsigned odd = draw(CLEAN), events = odd == 1 ? 0 : 1 + draw(5);
		const uint64_t begin = now;

		discarded += odd == 2 ? 1 + draw(3) : 0;
		sequence += odd == 3 ? 2 : 1;
		packet(begin, 0, sequence);
		head(AT_DISCARDED, discarded, 1);
		for (unsigned k = 0; k < events; k++) {
			now += draw(9);
			if (odd == 4 && !draw(3))
				u8(77);
			if (draw(4))
				event((unsigned)now & 0xFFFF, k);
			else
				text_event((unsigned)now & 0xFFFF, "some text");
		}
		packet_end(draw(3));
		head(AT_END, odd == 5 ? now - draw(9) : now + draw(9), 8);
		now = odd == 6 ? now - draw(30) : now + draw(20);
	}
	if (!draw(4))
		bytes.len -= draw(20);
	put_bytes("s");
}

/* What a pass writes of the directory. Frees nothing but the trace. */
static char *pass_out(const char *pass, enum output_form form, unsigned threads, size_t read_size)
{
	struct spur_options options = SPUR_OPTIONS();
	struct any_options opt = { .form = form };
	struct spur_error err = { 0 };
	struct spur_trace *t;
	struct out out;

	options.read_size = read_size;
	assert_int_equal(spur_open(&t, dir, &options, &err), SPUR_OK);
	out_to_memory(&out);
	{
		struct pass_env env = { .trace = t,
					.pipe = { .threads = threads },
					ANY_OPTIONS(&opt, pass),
					.out = &out,
					.err = &err };

		assert_int_not_equal(pass_run(pass_find(pass, NULL), &env), SPUR_FAIL);
	}
	trace_join_diag(t);
	for (size_t i = 0; i < diag_groups(&t->joined); i++) {
		const struct diag_group *g = diag_at(&t->joined, i);

		out_printf(&out, "%s %s %llu %llu\n", g->code, g->file,
			   (unsigned long long)g->count, (unsigned long long)g->first_off);
		for (uint32_t k = 0; k < g->nkept; k++)
			out_printf(&out, "%llu %s\n", (unsigned long long)g->kept[k].off,
				   g->kept[k].text);
	}
	spur_close(t);
	out_char(&out, '\0');
	assert_false(out.error);
	return out.buf;
}

static void compare(const char *pass, enum output_form form)
{
	static const unsigned threads[] = { 2, 5, 16 };
	char *want = pass_out(pass, form, 1, 1), *got;

	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		got = pass_out(pass, form, threads[i], 1 + i % 2 * 300);
		assert_string_equal(got, want);
		free(got);
	}
	free(want);
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		put_random(seed);
		compare("cat", FORM_TEXT);
		compare("cat", FORM_JSONL);
		compare("check", FORM_JSON);
		compare("info", FORM_JSON);
		compare("stats", FORM_JSON);
	}
}

/* Streams are divided before each packet that follows the one before it without a loss. */
static void test_cuts(void **state)
{
	(void)state;
	put_text("metadata", PLAIN);
	for (unsigned i = 0; i < 9; i++) {
		packet(10 * i, 10 * i + 9, i < 6 ? i : i + 1);
		head(AT_DISCARDED, i >= 3, 1);
		if (i != 4)
			event(10 * i + 1, i);
		packet_end(0);
	}
	put_bytes("s");
	assert_int_equal(parts_count(dir, PIPE_PARTS, 1), 9 - 3);
	assert_int_equal(parts_count(dir, PIPE_PARTS_NAMED, 1), 9 - 3);
	assert_int_equal(parts_count(dir, PIPE_WHOLE, 1), 1);
}

/* Whether the time goes back between two parts is known once the first was read. */
static void test_back(void **state)
{
	char *got;

	(void)state;
	put_text("metadata", PLAIN);
	for (unsigned i = 0; i < 4; i++) {
		packet(100 * i, 100 * i + 50, i);
		event(100 * i + 1, i);
		event(i == 1 ? 230 : 100 * i + 2, i);
		packet_end(0);
	}
	put_bytes("s");
	assert_int_equal(parts_count(dir, PIPE_PARTS, 1), 4);
	got = pass_out("cat", FORM_JSONL, 3, 1);
	assert_non_null(strstr(got, "{\"ts\":201,\"kind\":\"INSTANT\",\"name\":\"e\""));
	assert_non_null(strstr(strstr(got, "{\"ts\":201,"), "\"flags\":[\"back\"]"));
	free(got);
	compare("cat", FORM_JSONL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(test_cuts, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(test_back, dir_make, dir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
