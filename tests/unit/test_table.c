/* The table writer: order, ties, units and unknown values in each form. */
#include "fake.h"

#include <strings.h>

#include "render/table.h"

struct line {
	const char *name;
	uint64_t ns, calls;
	int64_t tid; /* -1: unknown */
	bool known; /* ns is */
};

enum { COL_TIME, COL_CALLS, COL_SHARE, COL_TID, COL_NAME };

static const struct table_column columns[] = {
	[COL_TIME] = { "time", TABLE_TIME },	[COL_CALLS] = { "calls", TABLE_COUNT },
	[COL_SHARE] = { "share", TABLE_SHARE }, [COL_TID] = { "tid", TABLE_ID },
	[COL_NAME] = { "name", TABLE_TEXT },	{ 0 },
};

static const struct line lines[] = {
	{ "b, c", 1500, 2, 12, true },
	{ "a", 0, 2, -1, false },
	{ "A", 0, 7, 5, true },
};

static struct table_value line_value(const void *self, const void *row, int column)
{
	const struct line *l = row;

	(void)self;
	if (column == COL_TIME)
		return l->known ? table_u64(l->ns) : (struct table_value){ 0 };
	return column == COL_CALLS   ? table_u64(l->calls)
	       : column == COL_SHARE ? table_u64(l->calls * 10 + 5)
				     : table_id(l->tid);
}

static void line_text(const void *self, const void *row, int column, struct out *o)
{
	const struct line *l = row;

	(void)self;
	assert_int_equal(column, COL_NAME);
	out_str(o, l->name);
}

static int line_order(const void *self, const void *a, const void *b, int column)
{
	(void)self;
	assert_int_equal(column, COL_NAME);
	return strcasecmp(((const struct line *)a)->name, ((const struct line *)b)->name);
}

static struct table table_of(const struct render_options *opt, struct out *o,
			     struct spur_error *err)
{
	return (struct table){ .env = { .opt = opt, .out = o, .err = err },
			       .name = "test",
			       .columns = columns,
			       .value = line_value,
			       .text = line_text };
}

static void expect(struct table *t, const char *text)
{
	struct out *o = t->env.out;

	assert_int_equal(table_options(t, "time,calls,tid,name", "time"), SPUR_OK);
	out_clear(o);
	assert_int_equal(table_write(t, lines, 3, sizeof(lines[0])), SPUR_OK);
	out_char(o, '\0');
	assert_string_equal(o->buf, text);
}

/* An unknown time sorts behind 0, and is an empty cell or null. */
static void forms(void **state)
{
	struct render_options opt = { .form = FORM_TEXT };
	struct spur_error err;
	struct out o;
	struct table t = table_of(&opt, &o, &err);

	(void)state;
	out_to_memory(&o);
	expect(&t, "      time  calls  tid  name\n"
		   "  1.500 us      2   12  b, c\n"
		   "  0.000 us      7    5  A\n"
		   "                2       a\n");
	opt.raw = true;
	opt.limit = 1;
	expect(&t, "time  calls  tid  name\n"
		   "1500      2   12  b, c\n"
		   "\n2 more lines are not shown.\n");
	assert_int_equal(t.hidden, 2);
	opt.limit = 0;
	opt.form = FORM_CSV;
	expect(&t, "time,calls,tid,name\n1500,2,12,\"b, c\"\n0,7,5,A\n,2,,a\n");
	opt.form = FORM_JSONL;
	opt.fields = "name,time,share";
	expect(&t, "{\"name\":\"b, c\",\"time\":1500,\"share\":2.5}\n"
		   "{\"name\":\"A\",\"time\":0,\"share\":7.5}\n"
		   "{\"name\":\"a\",\"time\":null,\"share\":2.5}\n");
	opt.form = FORM_JSON;
	opt.fields = "tid";
	t.head = ",\"by\":\"x\"";
	expect(&t, "{\"schema\":1,\"spur\":\"test\",\"by\":\"x\",\"rows\":[\n"
		   "{\"tid\":12},\n{\"tid\":5},\n{\"tid\":null}\n]}\n");
	out_free(&o);
}

/* Rows that --sort leaves equal are ordered by all columns, by `ties`, or as they stand. */
static void orders(void **state)
{
	static const int by_name[] = { COL_NAME, -1 }, by_tid[] = { COL_TID, -1 }, none[] = { -1 };
	struct render_options opt = { .form = FORM_CSV, .fields = "name", .sort = "calls" };
	struct spur_error err;
	struct out o;
	struct table t = table_of(&opt, &o, &err);

	(void)state;
	out_to_memory(&o);
	expect(&t, "name\nA\n\"b, c\"\na\n");
	t.ties = by_name;
	expect(&t, "name\nA\na\n\"b, c\"\n");
	t.ties = by_tid;
	expect(&t, "name\nA\na\n\"b, c\"\n");
	t.ties = none;
	expect(&t, "name\nA\n\"b, c\"\na\n");
	opt.sort = "-calls";
	expect(&t, "name\n\"b, c\"\na\nA\n");
	opt.sort = "name";
	expect(&t, "name\nA\na\n\"b, c\"\n");
	opt.sort = "-name";
	expect(&t, "name\n\"b, c\"\na\nA\n");
	/* Equal but for case, so that they stay as they stand: a, then A. */
	t.text_order = line_order;
	opt.sort = "name";
	expect(&t, "name\na\nA\n\"b, c\"\n");
	out_free(&o);
}

static void options(void **state)
{
	struct render_options opt = { .fields = "-calls,name", .sort = "-tid,share" };
	struct spur_error err;
	struct out o;
	struct table t = table_of(&opt, &o, &err);

	(void)state;
	out_to_memory(&o);
	assert_int_equal(table_options(&t, "time", "time"), SPUR_OK);
	assert_true(table_shows(&t, COL_CALLS) && table_shows(&t, COL_NAME));
	assert_false(table_shows(&t, COL_TIME) || table_shows(&t, COL_TID));
	assert_true(table_sorts(&t, COL_TID) && table_sorts(&t, COL_SHARE));
	assert_false(table_sorts(&t, COL_TIME) || table_sorts(&t, COL_CALLS));
	opt.sort = "tim";
	assert_int_equal(table_options(&t, "time", "time"), SPUR_FAIL);
	assert_string_equal(err.message, "--sort: no column \"tim\"; did you mean \"time\"?");
	out_free(&o);
}

/* Changes are signed and sorted by magnitude, increases first; an unknown one is last. */
struct change {
	int64_t by;
	bool known;
};

static struct table_value change_value(const void *self, const void *row, int column)
{
	const struct change *c = row;

	(void)self;
	(void)column;
	return c->known ? table_i64(c->by) : (struct table_value){ 0 };
}

static void changes(void **state)
{
	static const struct table_column three[] = { { "time", TABLE_TIME_CHANGE },
						     { "calls", TABLE_COUNT_CHANGE },
						     { "share", TABLE_SHARE_CHANGE },
						     { 0 } };
	static const struct change rows[] = {
		{ 0, true },	{ -1500, true }, { 0, false },
		{ 1500, true }, { 15, true },	 { INT64_MIN, true },
	};
	struct render_options opt = { .form = FORM_TEXT };
	struct spur_error err;
	struct out o;
	struct table t = { .env = { .opt = &opt, .out = &o, .err = &err },
			   .name = "test",
			   .columns = three,
			   .value = change_value };

	(void)state;
	out_to_memory(&o);
	assert_int_equal(table_options(&t, "time,calls,share", "time"), SPUR_OK);
	assert_int_equal(table_write(&t, rows, 6, sizeof(rows[0])), SPUR_OK);
	out_char(&o, '\0');
	assert_string_equal(o.buf, "       time                 calls                    share\n"
				   "-2562047  h  -9223372036854775808  -922337203685477580.8 %\n"
				   "  +1.500 us                 +1500                 +150.0 %\n"
				   "  -1.500 us                 -1500                 -150.0 %\n"
				   "  +0.015 us                   +15                   +1.5 %\n"
				   "   0.000 us                     0                    0.0 %\n"
				   "                                                          \n");
	out_clear(&o);
	opt.form = FORM_CSV;
	opt.sort = "-share";
	opt.limit = 4;
	assert_int_equal(table_options(&t, "time,calls,share", "time"), SPUR_OK);
	assert_int_equal(table_write(&t, rows, 6, sizeof(rows[0])), SPUR_OK);
	out_char(&o, '\0');
	assert_string_equal(o.buf, "time,calls,share\n,,\n0,0,0.0\n15,15,1.5\n"
				   "-1500,-1500,-150.0\n");
	out_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(orders),
		cmocka_unit_test(options),
		cmocka_unit_test(changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
