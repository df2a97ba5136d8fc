/*
 * Runs every analysis, in every form, with a filter or none, over a uftrace directory made of the
 * fuzzer's bytes. What is written goes nowhere: this finds crashes, leaks and what never ends.
 */
#include <spur.h>

#include "fuzz_dir.h"
#include "unit/any_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Names stand in the goldens that the fuzzer starts from. */
static const struct filter_item func[] = { { FILTER_FUNC, "a" } };
static const struct filter_item notrace[] = { { FILTER_NOTRACE, "^a" }, { FILTER_HIDE, "b" } };
static const struct filter_item caller[] = { { FILTER_CALLER, "b" }, { FILTER_FUNC, "main" } };
static const struct filter_item triggers[] = { { FILTER_TRIGGER, "a@depth=2" },
					       { FILTER_TRIGGER, "b@trace_off" },
					       { FILTER_TRIGGER, "c@trace_on,backtrace" },
					       { FILTER_TRIGGER, "main@time=1us" } };

static const struct filter_spec filters[] = {
	{ 0 },
	{ 0 },
	{ .items = func, .nitems = 1, .match = PATTERN_REGEX },
	{ .items = notrace, .nitems = 2, .match = PATTERN_REGEX },
	{ .items = caller, .nitems = 2, .match = PATTERN_GLOB },
	{ .items = triggers, .nitems = 4, .match = PATTERN_REGEX },
	{ .min_ns = 1000, .depth = 3 },
	{ .range = "1us~1ms", .no_sched = true },
	{ .from = "-1ms", .no_event = true, .no_args = true },
	{ .kinds = "begin,end,lost", .min_size = 16 },
	{ .tids = "1-99999", .cpus = "0-3", .threads = "a*", .no_sched_preempt = true },
};

static const char *const formats[] = { NULL,	      "chrome",	 "folded",
				       "flame-graph", "mermaid", "graphviz" };

/* Chooses by the bytes from the end on; the value is taken modulo `count`. */
struct chooser {
	const uint8_t *data;
	size_t size;
};

static size_t choose(struct chooser *c, size_t count)
{
	return c->size ? c->data[--c->size] % count : 0;
}

static struct any_options options_of(struct chooser *c)
{
	const size_t bits = choose(c, 256);

	return (struct any_options){
		.form = (enum output_form)choose(c, 4),
		.time = (enum time_form)choose(c, 3),
		.format = formats[choose(c, sizeof(formats) / sizeof(formats[0]))],
		.by = bits & 1 ? (bits & 2 ? "task" : "session") : NULL,
		.fields = bits & 4 ? "all" : NULL,
		.root = bits & 8 ? "main" : NULL,
		.flat = bits & 16,
		.task = bits & 32,
		.verbose = bits & 64,
		.event_full = bits & 128,
		.srcline = bits & 64,
		.libname = bits & 128,
		.no_merge = bits & 2,
		.color = bits & 1,
		.sample_ns = bits & 16 ? 1000 : 0,
		.width = 100,
	};
}

static const struct spur_pass *choose_pass(struct chooser *c)
{
	size_t passes = 0;

	while (spur_passes[passes])
		passes++;
	return spur_passes[choose(c, passes)];
}

/* Passes that write directories get one, which is removed again. */
static void run_pass(const struct spur_pass *pass, struct pass_env *env)
{
	struct outdir dir;
	char to[sizeof(fuzz_dir) + 2];

	snprintf(to, sizeof(to), "%s-o", fuzz_dir);
	if (outdir_open(&dir, to, false, NULL) != SPUR_FAIL) {
		env->dir = &dir;
		pass_run(pass, env);
	}
	outdir_close(&dir, false, NULL);
}

static void run(struct spur_trace *t, struct chooser *c, struct spur_error *err)
{
	const struct filter_spec *spec = &filters[choose(c, sizeof(filters) / sizeof(filters[0]))];
	const struct any_options opt = options_of(c);
	const struct spur_pass *pass = choose_pass(c);
	struct out out, notes;
	struct pass_env env = {
		.trace = t, ANY_OPTIONS(&opt, pass->name), .out = &out, .notes = &notes, .err = err
	};

	out_to_fd(&out, open("/dev/null", O_WRONLY | O_CLOEXEC));
	out_to_memory(&notes);
	env.given = spec;
	env.pipe.threads = (unsigned)choose(c, 2) + 1;
	if (filter_new(&env.filter, t, spec, err) != SPUR_FAIL) {
		env.pipe.filter = env.filter;
		run_pass(pass, &env);
	}
	if (pass->drop)
		pass->drop(env.kept);
	filter_free(env.filter);
	out_flush(&out);
	close(out.fd);
	out_free(&out);
	out_free(&notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct spur_options opt =
		SPUR_OPTIONS(.format = "uftrace", .threads = 1, .symbol_dirs = "/nonexistent");
	struct chooser c = { data, size };
	struct spur_error err = { 0 };
	struct spur_trace *t;

	if (spur_open(&t, fuzz_dir_make(data, size), &opt, &err) == SPUR_FAIL)
		return 0;
	run(t, &c, &err);
	spur_close(t);
	return 0;
}
