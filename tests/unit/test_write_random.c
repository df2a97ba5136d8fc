/*
 * Random traces through every writer: rows of all kinds with arguments of all types, nested and
 * broken spans, times and names at the edges. Each output is the same with one and with two
 * threads; what a format both writes and reads comes back undamaged, and what it declares whole
 * comes back equal, but for what the loss table counts. SPUR_RANDOM_TRACES says how many traces.
 */
#include <dirent.h>
#include <fts.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/map64.h"
#include "flow/convert.h"
#include "render/value.h"
#include "unit/fake_trace.h"

enum { TRACES = 40, FEEDS = 4, ROWS = 60, NAMES = 12, ITEMS = 6, NEST = 3 };

static char top[64];

/* --- the trace --- */

static const char *const names[NAMES] = {
	"f",
	"main",
	"a very long name of a function that is longer than sixty-four bytes, really",
	"std::vector<int>::push_back",
	"\xc3\xa9t\xc3\xa9",
	"\xff\xfe",
	"",
	"tab\tnew\nline",
	"\"q\\\"",
	"x",
	"y",
	"operator<",
};

static _Thread_local uint64_t seed; /* arguments are decoded on several threads */

static uint64_t draw(uint64_t n)
{
	return fake_random(&seed) % n;
}

static uint64_t wide(void)
{
	static const uint64_t edges[] = { 0,	     1,		 127,
					  255,	     65535,	 UINT32_MAX,
					  INT64_MAX, UINT64_MAX, (uint64_t)1 << 63 };

	return draw(2) ? edges[draw(sizeof(edges) / sizeof(edges[0]))] : draw(1 << 20);
}

static const double floats[] = { 0, 1.5, -0.25, 1e300, -1e-300 };

static void random_value(struct spur_trace *t, struct spur_args *args, struct spur_value *v,
			 unsigned nest)
{
	static const char *const texts[] = { "", "text", "\xff", "\xe2\x82\xac", "a\nb" };

	*v = (struct spur_value){ .type = (uint8_t)draw(nest ? SPUR_ARRAY + 1 : SPUR_STRUCT),
				  .size = 8 };
	switch ((enum spur_type)v->type) {
	case SPUR_F64:
		v->f = floats[draw(5)];
		break;
	case SPUR_BOOL:
		v->u = draw(2);
		break;
	case SPUR_STRING:
	case SPUR_BYTES:
		v->text = texts[draw(5)];
		v->count = (uint32_t)strlen(v->text);
		break;
	case SPUR_ENUM:
		v->i = (int64_t)draw(100);
		v->label = draw(2) ? "RED|BLUE" : NULL;
		break;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		v->count = (uint32_t)draw(4);
		v->items = args_alloc(args, (v->count + 1) * sizeof(*v->items));
		for (uint32_t i = 0; i < v->count; i++) {
			struct spur_value item;

			random_value(t, args, &item, nest - 1);
			if (v->type == SPUR_STRUCT)
				item.name = trace_intern(t, names[9 + i % 3]);
			memcpy((void *)&v->items[i], &item, sizeof(item));
		}
		break;
	default:
		v->u = wide();
	}
}

/* The arguments of a row depend on where it stands alone. */
static enum spur_status random_args(struct spur_trace *t, const struct spur_event *ev,
				    struct spur_args *args)
{
	const uint64_t before = seed;

	args_reset(args);
	seed = hash64(ev->off + 1000 * ev->stream);
	for (unsigned i = 0; i < ev->nargs; i++) {
		struct spur_value v, *to;

		random_value(t, args, &v, NEST);
		v.name = trace_intern(t, names[(ev->off + i) % 2 + 9]);
		to = args_add(args);
		if (to)
			*to = v;
	}
	seed = before;
	return SPUR_OK;
}

static const struct spur_format random_format = { .name = "random",
						  .next = fake_next,
						  .args = random_args };

static void random_row(struct spur_trace *t, uint32_t feed, int64_t ts)
{
	static const uint16_t flags[] = { 0, 0, 0, SPUR_F_ANY, SPUR_F_GAP, SPUR_F_TAIL };
	const unsigned kinds[] = { SPUR_BEGIN, SPUR_END_SPAN, SPUR_SPAN };
	const char *name = names[draw(NAMES)];
	struct spur_event *e =
		fake_row(t, feed, (unsigned)(draw(2) ? kinds[draw(3)] : draw(SPUR_KINDS)), ts);

	e->cls = fake_class(t, name, CLASS_FUNCTION);
	e->name = trace_intern(t, name);
	e->cat = draw(2) ? trace_intern(t, names[draw(NAMES)]) : 0;
	e->nargs = draw(3) ? 0 : (uint8_t)(1 + draw(ITEMS));
	e->len = 8;
	e->id = draw(2) ? wide() : draw(4);
	e->cpu = draw(3) ? SPUR_NO_CPU : (uint16_t)draw(4);
	if (e->kind == SPUR_SPAN || e->kind == SPUR_SAMPLE)
		e->dur = (int64_t)draw(1000);
	if (e->kind == SPUR_END_SPAN)
		e->flags = flags[draw(6)];
	if (e->kind == SPUR_SWITCH)
		e->flags = draw(2) ? SPUR_F_OUT : SPUR_F_IN;
}

static struct spur_trace *random_trace(uint64_t number)
{
	static const int64_t starts[] = { 0, 1, 1000000000, 1700000000000000000 };
	struct spur_trace *t = fake_trace_new();
	uint32_t nfeeds;

	seed = number;
	assert_non_null(t);
	t->format = &random_format;
	nfeeds = 1 + (uint32_t)draw(FEEDS);
	for (uint32_t f = 0; f < nfeeds; f++) {
		int64_t ts = starts[draw(4)];

		fake_feed_add(t, (int64_t)(f + 10 + draw(2) * 70000), names[draw(NAMES)]);
		trace_add_stream(t, "random", ROWS * 8);
		for (uint64_t n = draw(ROWS); n; n--) {
			random_row(t, f, ts);
			ts += (int64_t)(draw(4) ? draw(1000) : draw(100000000));
		}
	}
	return t;
}

/* --- what a trace has --- */

/* For each kind how many events it has, and the sum of what they are. */
struct census {
	uint64_t count[SPUR_KINDS], sum[SPUR_KINDS];
	int64_t first;
	bool any;
};

static uint64_t text_hash(const struct spur_trace *t, uint32_t string)
{
	size_t len;
	const char *s = trace_string(t, string, &len);
	uint64_t h = len;

	for (size_t i = 0; i < len; i++)
		h = hash64(h ^ (uint8_t)s[i]);
	return h;
}

static void census_add(struct census *c, const struct spur_trace *t, unsigned kind, uint32_t track,
		       uint32_t name, const uint64_t times[2])
{
	const struct spur_track *k = trace_track(t, trace_thread_of(t, track));
	const uint64_t tid = k ? (uint64_t)k->tid : 0;

	c->count[kind]++;
	c->sum[kind] += hash64(hash64(text_hash(t, name) ^ times[0]) ^ hash64(times[1] ^ tid));
}

/* --- one conversion --- */

struct result {
	char path[160];
	struct loss_table loss;
	struct loss_reason reasons[LOSS_REASONS];
	enum spur_status st;
	struct spur_error error;
};

static void convert_to(struct result *r, struct spur_trace *t, const struct spur_writer *w,
		       unsigned threads)
{
	struct convert c = { .pipe = { .threads = threads }, .zero = ZERO_EXACT };
	struct outdir dir;
	struct out o;
	const char *name = strrchr(r->path, '/') + 1;

	fake_rewind(t);
	assert_int_equal(outdir_open(&dir, w->is_dir ? r->path : top, true, NULL), SPUR_OK);
	if (w->is_dir) {
		c.dir = &dir;
		out_to_memory(&o);
	} else {
		assert_int_equal(outdir_create(&dir, name, &o, NULL), SPUR_OK);
	}
	r->st = convert_run(&c, t, w, &o);
	r->loss = c.loss;
	memcpy(r->reasons, c.reasons, sizeof(c.reasons));
	r->loss.reasons = r->reasons;
	r->error = c.error;
	assert_int_equal(o.error, 0);
	if (w->is_dir) {
		out_free(&o);
		assert_int_equal(outdir_close(&dir, r->st != SPUR_FAIL, NULL), SPUR_OK);
		return;
	}
	assert_int_equal(outdir_finish(&dir, name, &o, NULL), SPUR_OK);
	{
		char from[200];

		snprintf(from, sizeof(from), "%s/%s", dir.temp, name);
		assert_int_equal(rename(from, r->path), 0);
	}
	assert_int_equal(outdir_close(&dir, false, NULL), SPUR_OK);
}

/* Returns true if two files or directories have the same bytes. */
static bool same(const char *a, const char *b)
{
	char command[400];

	snprintf(command, sizeof(command), "diff -r '%s' '%s' >/dev/null", a, b);
	return system(command) == 0;
}

static void remove_path(const char *path)
{
	char command[200];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	assert_int_equal(system(command), 0);
}

/* Events of the source by kind; spans are counted as SPAN. */
static void source_census(struct census *c, struct spur_trace *t)
{
	*c = (struct census){ 0 };
	for (size_t f = 0; f < t->nfeeds; f++) {
		const struct fake_feed *k = t->feeds[f]->state;

		for (size_t i = 0; i < k->count; i++) {
			const struct spur_event *e = &k->rows[i];
			const uint64_t times[] = { (uint64_t)e->ts, 0 };

			c->first = c->any && c->first < e->ts ? c->first : e->ts;
			c->any = true;
			if (e->kind > SPUR_SPAN)
				census_add(c, t, e->kind, e->track, e->name, times);
		}
	}
}

/* Events of kinds that the target holds as other kinds. */
static uint64_t degraded_count(const struct spur_writer *w, const struct census *want)
{
	uint64_t n = 0;

	for (unsigned k = SPUR_SPAN + 1; k < SPUR_KINDS; k++)
		n += w->fits[k] == WRITE_DEGRADED ? want->count[k] : 0;
	return n;
}

/* Reads the output back: clean, and each kind as often as it should be. */
static void read_back(const struct result *r, const struct spur_writer *w,
		      const struct census *want)
{
	struct spur_options opt = SPUR_OPTIONS(.format = w->name);
	struct spur_damage damage;
	struct spur_error err;
	struct spur_trace *t;
	const struct spur_event *rows;
	struct census got = { 0 };
	size_t n;

	if (spur_open(&t, r->path, &opt, &err) == SPUR_FAIL)
		fail_msg("%s: %s", w->name, err.message);
	while (spur_next(t, &rows, &n) == SPUR_OK) {
		for (size_t i = 0; i < n; i++) {
			const uint64_t times[] = { (uint64_t)rows[i].ts, 0 };

			if (rows[i].kind > SPUR_SPAN)
				census_add(&got, t, rows[i].kind, rows[i].track, rows[i].name,
					   times);
		}
	}
	for (size_t i = 0; i < spur_damage_count(t); i++)
		if (spur_damage(t, i, &damage) && damage.is_damage)
			fail_msg("%s: the output is damaged: %s", w->name, damage.first);
	for (unsigned k = SPUR_SPAN + 1; k < SPUR_KINDS; k++) {
		/* What the target holds degraded comes back as an INSTANT, or not at all. */
		const uint64_t others = k == SPUR_INSTANT ? degraded_count(w, want) : 0;
		uint64_t lost = 0;

		for (size_t i = 0; i < r->loss.count; i++)
			if (r->loss.reasons[i].what == LOSS_DROPPED)
				lost += r->loss.events[i][k];
		if (w->fits[k] == WRITE_WHOLE &&
		    (got.count[k] + lost < want->count[k] ||
		     got.count[k] + lost > want->count[k] + others))
			fail_msg("%s: %s: expected %llu, found %llu and %llu lost", w->name,
				 spur_kind_name(k), (unsigned long long)want->count[k],
				 (unsigned long long)got.count[k], (unsigned long long)lost);
	}
	spur_close(t);
}

static void one_writer(struct spur_trace *t, const struct spur_writer *w,
		       const struct census *census)
{
	struct result one = { .st = SPUR_OK }, two = { .st = SPUR_OK };

	snprintf(one.path, sizeof(one.path), "%s/one", top);
	snprintf(two.path, sizeof(two.path), "%s/two", top);
	convert_to(&one, t, w, 1);
	convert_to(&two, t, w, 2);
	assert_int_equal(one.st == SPUR_FAIL, two.st == SPUR_FAIL);
	if (one.st == SPUR_FAIL) {
		/* What the target cannot hold at all is an error with a text. */
		assert_true(one.error.code == SPUR_ERR_USAGE);
		assert_true(one.error.message[0]);
		return;
	}
	if (!same(one.path, two.path))
		fail_msg("%s: two threads write other bytes than one", w->name);
	assert_memory_equal(one.loss.events, two.loss.events, sizeof(one.loss.events));
	if (format_find(w->name) && census->any)
		read_back(&one, w, census);
	remove_path(one.path);
	remove_path(two.path);
}

static void test_random(void **state)
{
	const char *many = getenv("SPUR_RANDOM_TRACES");
	const uint64_t count = many ? strtoull(many, NULL, 10) : TRACES;

	(void)state;
	for (uint64_t i = 1; i <= count; i++) {
		struct spur_trace *t = random_trace(i);
		struct census census;

		source_census(&census, t);
		for (size_t w = 0; spur_writers[w]; w++) {
			print_message("trace %llu, %s\n", (unsigned long long)i,
				      spur_writers[w]->name);
			one_writer(t, spur_writers[w], &census);
		}
		fake_trace_free(t);
	}
}

static int setup(void **state)
{
	(void)state;
	strcpy(top, "/tmp/spur-random.XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	remove_path(top);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
