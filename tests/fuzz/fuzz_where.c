/*
 * Reads the fuzzer's bytes as an expression of --where, and runs it over rows of every kind with
 * arguments of every type. An expression and its negation must select each event exactly once.
 */
#include "fuzz_row.h"

#include "flow/pipe.h"
#include "../unit/fake_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 40 };

static uint32_t names[8];

static struct spur_value *item(struct spur_args *args, unsigned type, uint32_t name)
{
	struct spur_value *v = args_add(args);

	if (!v)
		abort();
	v->type = (uint8_t)type;
	v->name = name;
	return v;
}

/* Values of all types by the row's number, some without names, some nested. */
static enum spur_status every_args(struct spur_trace *t, const struct spur_event *ev,
				   struct spur_args *args)
{
	struct spur_value *v, *inner;

	(void)t;
	args_reset(args);
	item(args, SPUR_I64, names[0])->i = (int64_t)ev->id - 3;
	item(args, SPUR_U64, 0)->u = ev->id;
	v = item(args, SPUR_F64, names[1]);
	v->f = (double)(unsigned)ev->id / 2;
	v->size = ev->id % 2 ? 4 : 8;
	v = item(args, SPUR_STRING, names[2]);
	v->text = &"text"[ev->id % 4];
	v->count = 4 - ev->id % 4;
	v = item(args, SPUR_BYTES, names[3]);
	v->text = "\x00\xff";
	v->count = 2;
	v = item(args, SPUR_ENUM, names[0]);
	v->i = 2;
	v->label = ev->id % 3 ? "two" : NULL;
	item(args, SPUR_NULL, names[3]);
	inner = args_inner(args, 3);
	if (!inner)
		abort();
	memset(inner, 0, 3 * sizeof(*inner));
	inner[0] = (struct spur_value){ .type = SPUR_I64, .name = names[0], .i = 7 };
	inner[1] = (struct spur_value){ .type = SPUR_BOOL, .name = names[1], .u = 1 };
	inner[2] = (struct spur_value){
		.type = SPUR_ARRAY, .name = names[2], .count = 2, .items = inner
	};
	v = item(args, SPUR_STRUCT, names[4]);
	v->items = inner;
	v->count = 3;
	return SPUR_OK;
}

static const struct spur_format every_format = { .name = "every",
						 .next = fake_next,
						 .args = every_args };

static struct spur_trace *every_trace(void)
{
	static const char *const words[] = { "a", "b", "text", "bytes", "s", "c", "arg1", "x y" };
	struct spur_trace *t = fake_trace_new();

	t->format = &every_format;
	for (size_t i = 0; i < 8; i++)
		names[i] = trace_intern(t, words[i]);
	fake_feed_add(t, 100, "main");
	for (uint32_t i = 0; i < ROWS; i++) {
		struct spur_event *e = fake_row(t, 0, i % SPUR_KINDS, 10 * (int64_t)i);

		/* Calls nest, cross, and lack their ends. */
		e->kind = i % 5 < 2   ? SPUR_BEGIN
			  : i % 5 < 4 ? SPUR_END_SPAN
				      : (uint8_t)(i % SPUR_KINDS);
		e->cls = fake_class(t, words[i % 3], CLASS_FUNCTION);
		e->name = i % 7 ? trace_class(t, e->cls)->name : names[5];
		e->dur = e->kind == SPUR_SPAN ? 25 : 0;
		e->nargs = i % 4 ? 8 : 0;
		e->id = i;
		e->cpu = i % 2 ? SPUR_NO_CPU : (uint16_t)(i % 3);
		e->flags = e->kind == SPUR_END_SPAN && i % 3 == 0 ? SPUR_F_ANY : 0;
	}
	return t;
}

static bool mark(void *self, struct spur_event *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((unsigned *)self)[rows[i].id]++;
	return true;
}

/* Adds one for each selected row; false: the expression is refused. */
static bool run(const char *where, unsigned *seen)
{
	const struct filter_item item = { FILTER_WHERE, where };
	const struct filter_spec spec = { .items = &item, .nitems = 1, .match = PATTERN_REGEX };
	struct spur_trace *t = every_trace();
	struct pipe_options opt = { .threads = 1 };
	struct spur_error err = { 0 };
	const bool good = filter_new(&opt.filter, t, &spec, &err) == SPUR_OK;
	struct out notes;

	require(good || (err.code != SPUR_ERR_NONE && err.message[0]));
	if (good) {
		require(pipe_run_merged(t, &opt, mark, seen) == SPUR_OK);
		out_to_memory(&notes);
		filter_where_notes(opt.filter, &notes);
		sink += notes.len;
		out_free(&notes);
	}
	filter_free(opt.filter);
	fake_trace_free(t);
	return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned seen[ROWS] = { 0 };
	char *where = malloc(size + 1), *not = malloc(size + 8);

	if (!where || !not)
		abort();
	memcpy(where, data, size);
	where[size] = '\0';
	snprintf(not, size + 8, "!(%s\n)", where);
	/* A negation may be one level too deep. */
	if (run(where, seen) && run(not, seen))
		for (size_t i = 0; i < ROWS; i++)
			require(seen[i] == 1);
	free(where);
	free(not);
	return 0;
}
