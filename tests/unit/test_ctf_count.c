/*
 * Events counted without rows (format/ctf/count.c): whatever the stream holds, check, info and
 * stats write what they write where each event becomes a row and its arguments are decoded.
 */
#include "format/format.h"
#include "model/tally.h"
#include "unit/any_options.h"
#include "unit/ctf_small.h"

enum { MUTANTS = 480, EVENTS = 90, NO_LEAD = 4 };

enum id { TWO, TEXT, NONE, ENTRY, EXIT, SWITCH, BIG, BY_CPU, MIXED, CALL, LOG, HIGH = 5000 };

static const char types[] = "/* CTF 1.8 */ typealias integer { size = 8; align = 8; } := u8;\n"
			    "typealias integer { size = 16; align = 8; } := u16;\n"
			    "typealias integer { size = 32; align = 8; } := u32;\n"
			    "typealias integer { size = 64; align = 8; } := u64;\n"
			    "typealias integer { size = 8; align = 8; encoding = UTF8; } := ch;\n"
			    "typealias integer { size = 5; align = 1; } := u5;\n"
			    "trace { major = 1; minor = 8; byte_order = le; uuid = \"" UUID "\";\n"
			    "packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; u32 "
			    "stream_instance_id; }; };\n";

static const char times[] =
	"typealias integer { size = 27; align = 1; map = clock.c.value; } := time27;\n"
	"typealias integer { size = 32; align = 8; map = clock.c.value; } := time32;\n"
	"typealias integer { size = 64; align = 8; map = clock.c.value; } := time;\n";

static const char packet_context[] =
	"packet.context := struct { time timestamp_begin; time timestamp_end; u32 content_size; "
	"u32 packet_size; u8 events_discarded; u8 packet_seq_num; u16 cpu_id; };\n";

static const char large[] =
	"enum : u16 { compact = 0 ... 65534, extended = 65535 } id; variant <id> { "
	"struct { time32 t; } compact; struct { u32 id; time t; } extended; } v;";

static const char compact[] =
	"enum : u5 { compact = 0 ... 30, extended = 31 } id; variant <id> { "
	"struct { time27 t; } compact; struct { u32 id; time t; } extended; } v;";

static const struct {
	enum id id;
	const char *name, *fields;
} classes[] = {
	{ TWO, "two", "u32 a; u32 b;" },
	{ TEXT, "text", "string s; u8 n; u16 v[n];" },
	{ NONE, "none", "" },
	{ ENTRY, "f_entry", "u8 v;" },
	{ EXIT, "f_exit", "u8 v;" },
	{ SWITCH, "sched_switch",
	  "ch _prev_comm[16]; u32 _prev_tid; u64 _prev_state; ch _next_comm[16]; u32 _next_tid;" },
	{ BIG, "big", "u32 n; u8 v[n];" },
	{ BY_CPU, "by_cpu", "u8 v[stream.packet.context.cpu_id];" },
	{ MIXED, "mixed", "enum : u8 { A = 0, B = 1 ... 3 } e; u5 x; u8 z;" },
	{ CALL, "syscall_exit_read", "u64 ret;" },
	{ LOG, "lttng_ust_tracef:event", "string msg;" },
	{ HIGH, "high", "u16 v;" },
};

/* Headers and contexts: without a thread, with one that is read by bytes, with another one. */
struct layout {
	bool compact;
	const char *context;
};

static const struct layout layouts[] = {
	{ false, NULL },
	{ true, NULL },
	{ false, "u32 _vtid; ch _procname[17]; u32 _vpid;" },
	{ true, "u32 _vtid; string _procname;" },
	{ false, "u64 _vtid; u32 _vpid;" },
	{ true, "u32 _vtid; ch _procname[17]; u64 _vpid;" },
};

static uint64_t rng;
static bool mutated; /* the stream may be none */

static unsigned draw(unsigned n)
{
	rng = rng * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(rng >> 33) % n;
}

static void put_metadata(const struct layout *l, const char *clock)
{
	struct out o;

	out_to_memory(&o);
	out_printf(&o, "%sclock { name = c; %s };\n%sstream { id = 3; %s", types, clock, times,
		   packet_context);
	out_printf(&o, "event.header := struct { %s } align(8);", l->compact ? compact : large);
	if (l->context)
		out_printf(&o, " event.context := struct { %s };", l->context);
	out_str(&o, " };\n");
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		out_printf(
			&o,
			"event { name = \"%s\"; id = %d; stream_id = 3; fields := struct { %s }; "
			"};\n",
			classes[i].name, (int)classes[i].id, classes[i].fields);
	out_char(&o, '\0');
	put_text("metadata", o.buf);
	out_free(&o);
}

static void put_header(const struct layout *l, unsigned id, uint64_t now)
{
	if (id == HIGH || !draw(20)) {
		if (l->compact)
			u8(31);
		else
			u16(65535);
		u32(id);
		u64(now);
	} else if (l->compact) {
		u32((now << 5 | id) & UINT32_MAX);
	} else {
		u16(id);
		u32(now);
	}
}

/* A thread's name may change, and have anything behind its NUL. */
static void put_context(const struct layout *l)
{
	static const char *const names[] = { "", "main", "worker-1", "a name of 15 ch", "other" };
	const unsigned tid = draw(3) ? 7 : 7 + draw(3);
	const char *name = draw(9) ? names[tid % 3 + 1] : names[draw(5)];

	if (!l->context)
		return;
	if (l == &layouts[NO_LEAD])
		u64(tid);
	else
		u32(tid);
	if (strstr(l->context, "string")) {
		raw(name, strlen(name) + 1);
		return;
	}
	if (strstr(l->context, "_procname")) {
		raw(name, strlen(name) + 1);
		for (size_t i = strlen(name) + 1; i < 17; i++)
			u8(draw(50) ? 0 : draw(256));
	}
	if (strstr(l->context, "u64 _vpid"))
		u64(draw(30) ? 7 : 70);
	else
		u32(draw(30) ? 7 : 70);
}

static void put_fields(unsigned id)
{
	const unsigned n = draw(9), many = draw(60) ? n : 70000;

	switch (id) {
	case TWO:
	case CALL:
		u64(draw(UINT32_MAX));
		break;
	case TEXT:
		raw("some text", 9 - n);
		u8(0);
		u8(n);
		zeros(2 * n);
		break;
	case SWITCH:
		raw("left\0\0\0\0\0\0\0\0\0\0\0\0", 16);
		u32(7 + draw(3));
		u64(draw(3));
		raw("came\0\0\0\0\0\0\0\0\0\0\0\0", 16);
		u32(7 + draw(3));
		break;
	case BIG:
		u32(many);
		zeros(many);
		break;
	case BY_CPU:
		u8(n);
		break;
	case MIXED:
	case HIGH:
		u16(n);
		zeros(id == MIXED);
		break;
	case LOG:
		raw("a message", 10);
		break;
	case ENTRY:
	case EXIT:
		u8(n);
		break;
	default:
		break;
	}
}

/* A stream of a few packets; of some, the content ends inside an event, or time goes back. */
static void put_random(const struct layout *l)
{
	static const unsigned ids[] = { TWO, TWO,    TEXT, NONE,   ENTRY, EXIT, CALL,
					LOG, SWITCH, BIG,  BY_CPU, MIXED, HIGH };
	uint64_t now = 1000000;

	for (unsigned i = 0; i < 3; i++) {
		const unsigned odd = draw(8), choice = draw(4) ? 7 : sizeof(ids) / sizeof(ids[0]);
		const uint64_t begin = now;

		packet(begin, 0, i);
		for (unsigned k = draw(EVENTS); k--;) {
			const unsigned id = ids[draw(choice)];

			now += draw(draw(30) ? 100 : 1u << 28);
			put_header(l, id, now);
			put_context(l);
			put_fields(id);
		}
		packet_end(draw(3));
		head(AT_END, odd == 1 ? (begin + now) / 2 : now, 8);
		if (odd == 2)
			head(AT_CONTENT, 8 * (bytes.len - packet_at - draw(9)), 4);
		if (odd == 3)
			now -= (now - begin) / 2;
	}
}

static void mutate(void)
{
	for (unsigned n = 1 + draw(4); n--;) {
		/* Heads of packets are small, and an odd one ends the reading. */
		const size_t at = draw(4) ? BODY + draw((unsigned)bytes.len - BODY)
					  : draw((unsigned)bytes.len);
		const size_t len = bytes.len - at < 8 ? bytes.len - at : 1 + draw(8);

		switch (draw(4)) {
		case 0:
			bytes.buf[at] = (char)(bytes.buf[at] ^ 1 << draw(8));
			break;
		case 1:
			bytes.buf[at] = (char)(draw(2) ? 0xFF : draw(256));
			break;
		case 2:
			memmove(bytes.buf + at, bytes.buf + at + len, bytes.len - at - len);
			bytes.len -= len;
			break;
		default:
			if (!draw(5) && at > BODY)
				bytes.len = at;
			break;
		}
	}
}

struct way {
	size_t read_size;
	unsigned threads;
	bool by_rows; /* each event becomes a row, and all arguments are decoded */
};

/* What a pass writes of the directory, and what was found and counted. */
static char *pass_out(const char *pass, enum output_form form, struct way way)
{
	struct spur_options options = SPUR_OPTIONS();
	struct any_options opt = { .form = form };
	struct spur_error err = { 0 };
	struct spur_format format;
	struct spur_trace *t;
	struct out out;

	options.read_size = way.read_size;
	out_to_memory(&out);
	if (spur_open(&t, dir, &options, &err) == SPUR_FAIL) {
		assert_true(mutated);
		out_printf(&out, "%s", err.message);
		out_char(&out, '\0');
		return out.buf;
	}
	format = *t->format;
	assert_true(format.counts_rows);
	if (way.by_rows) {
		format.counts_rows = false;
		format.args_proven = NULL;
		t->format = &format;
	}
	{
		struct pass_env env = { .trace = t,
					.pipe = { .threads = way.threads },
					ANY_OPTIONS(&opt, pass),
					.out = &out,
					.err = &err };

		assert_int_not_equal(pass_run(pass_find(pass, NULL), &env), SPUR_FAIL);
	}
	assert_true(mutated || t->read.records > 0);
	out_printf(&out, "%llu %llu", (unsigned long long)t->read.records,
		   (unsigned long long)t->read.discarded);
	spur_close(t);
	out_char(&out, '\0');
	assert_false(out.error);
	return out.buf;
}

static void compare(const char *pass, enum output_form form, struct way way)
{
	char *want = pass_out(pass, form, (struct way){ .threads = 1, .by_rows = true });
	char *got = pass_out(pass, form, way);

	assert_string_equal(got, want);
	free(got);
	free(want);
}

static void same_as_by_rows(void **state)
{
	static const char *const clocks[] = { "freq = 1000000000;",
					      "freq = 1000000000; offset_s = 5;",
					      "freq = 24000001; offset = 77;" };
	static const struct way ways[] = { { 0, 1, false }, { 1, 2, false }, { 0, 5, false },
					   { 7, 1, false }, { 0, 2, false }, { 4096, 5, false } };
	const unsigned mutants = getenv("SANITIZED") ? MUTANTS / 8 : MUTANTS;

	(void)state;
	for (unsigned i = 0; i < mutants; i++) {
		const struct layout *l = &layouts[i % (sizeof(layouts) / sizeof(layouts[0]))];
		struct way way;

		rng = i + 1;
		way = ways[draw(sizeof(ways) / sizeof(ways[0]))];
		put_metadata(l, clocks[draw(3)]);
		put_random(l);
		mutated = draw(4);
		if (mutated)
			mutate();
		put_bytes("s");
		compare("check", FORM_TEXT, way);
		compare("check", FORM_JSON, way);
		compare("info", FORM_TEXT, way);
		compare("info", FORM_JSON, way);
		compare("stats", FORM_TEXT, way);
	}
}

/* A packet larger than what is counted at once, whose content ends inside each byte of an event. */
static void large_packets_end(void **state)
{
	enum { COUNTED = 1 << 21, EVENT_BYTES = 6 };

	(void)state;
	put_metadata(&layouts[0], "freq = 1000000000;");
	for (unsigned cut = 0; cut < 3 * EVENT_BYTES; cut++) {
		packet(0, 1u << 30, 0);
		for (unsigned i = 0; i < COUNTED / EVENT_BYTES + 20; i++) {
			u16(NONE);
			u32(i);
		}
		packet_end(0);
		head(AT_CONTENT, 8 * (uint64_t)(BODY + COUNTED + cut), 4);
		put_bytes("s");
		compare("check", FORM_TEXT, (struct way){ .threads = 1 });
	}
}

/* What counting has to say of a run of events. */
struct runs {
	unsigned n;
	bool fails;
};

static bool count_run(void *self, const struct tally_run *run)
{
	struct runs *r = self;

	assert_true(run->rows > 0);
	assert_true(run->first <= run->last);
	r->n++;
	return !r->fails;
}

/* Reads the stream with a tally. Returns how many events became rows; *st: why it ended. */
static unsigned rows_beside(struct tally *tally, enum spur_status *st)
{
	struct spur_options options = SPUR_OPTIONS();
	struct spur_event rows[BATCH_ROWS];
	struct spur_error err = { 0 };
	struct spur_trace *t;
	unsigned n = 0;

	assert_int_equal(spur_open(&t, dir, &options, &err), SPUR_OK);
	do {
		struct batch b = { .rows = rows, .cap = BATCH_ROWS, .tally = tally };

		*st = t->format->next(t, t->feeds[0], &b);
		n += b.count;
	} while (*st == SPUR_OK);
	spur_close(t);
	return n;
}

static void ordinary_events_make_no_rows(void **state)
{
	enum { ALL = 3000 };
	struct runs runs = { 0 };
	struct tally tally = { .args = true, .run = count_run, .self = &runs };
	enum spur_status st;
	unsigned rows;

	(void)state;
	put_metadata(&layouts[2], "freq = 1000000000;");
	packet(0, ALL, 0);
	for (unsigned i = 0; i < ALL; i++) {
		u16(i % 2 ? TWO : TEXT);
		u32(i);
		u32(7 + i / 100 % 2);
		raw("name\0\0\0\0\0\0\0\0\0\0\0\0", 17);
		u32(7);
		if (i % 2)
			u64(i);
		else
			raw("text\0\1\2\3", 8);
	}
	packet_end(0);
	put_bytes("s");
	rows = rows_beside(&tally, &st);
	assert_int_equal(st, SPUR_END);
	/* The first event of each class. */
	assert_int_equal(rows, 2);
	assert_int_equal(tally.kinds[SPUR_INSTANT], ALL - 2);
	assert_int_equal(tally.nargs, (3 + 2) * ALL / 2 + (3 + 3) * ALL / 2 - 11);
	assert_int_equal(runs.n, 1);
	/* A run for each change of the thread. */
	runs.n = 0;
	tally = (struct tally){ .tracks = true, .by_track = true, .run = count_run, .self = &runs };
	assert_int_equal(rows_beside(&tally, &st), 2);
	assert_int_equal(runs.n, ALL / 100);
	/* Memory that it has not got. */
	runs.fails = true;
	rows_beside(&tally, &st);
	assert_int_equal(st, SPUR_FAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(same_as_by_rows, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(large_packets_end, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(ordinary_events_make_no_rows, dir_make, dir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
