/* spur index: keeps the events of a trace in a store, from which ranges are read at once. */
#include "cli/run.h"

#include <string.h>

#include "cli/output.h"
#include "cli/report_diag.h"
#include "pass/index.h"
#include "store/cache.h"

/* Its own options. */
struct index_own {
	bool clear;
};

static const struct opt options[] = {
	{ .name = "clear",
	  .type = OPT_FLAG,
	  OPT_OWN(struct index_own, clear),
	  .help = "Remove all stores that were kept, and read no trace" },
	{ 0 }
};

static int index_clear(struct values *v)
{
	struct output o;
	struct arena a;
	const char *dir;
	uint64_t bytes;
	size_t n;

	if (v->noperands || v->output) {
		err_set(&v->err, SPUR_ERR_USAGE, "--clear: expected no trace and no -o");
		return run_error(&v->err);
	}
	if (output_open(&o, NULL, false, &v->err) == SPUR_FAIL) {
		output_close(&o, false, NULL);
		return run_error(&v->err);
	}
	arena_init(&a);
	dir = cache_dir(&a);
	if (dir) {
		n = cache_clear(dir, &bytes);
		out_safe(&o.out, dir, strlen(dir));
		out_printf(&o.out, ": %zu stores removed, %llu bytes\n", n,
			   (unsigned long long)bytes);
	}
	arena_free(&a);
	return output_close(&o, true, &v->err) == SPUR_FAIL ? run_error(&v->err) : EXIT_CLEAN;
}

/* Returns false, with v->err set, if -o names no file that a store may become. */
static bool index_may_write(struct values *v)
{
	bool good = !v->output || output_check(v->output, v->force, &v->err) != SPUR_FAIL;

	for (size_t i = 0; i < v->ntraces && v->output && good; i++)
		good = output_spare_file(v->output, v->traces[i], &v->err) != SPUR_FAIL;
	return good;
}

static int index_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct index_own *own = v->own;
	struct index_options index = { .path = v->output };

	if (own->clear)
		return index_clear(v);
	if (!run_take_traces(cmd, v, 0) || !index_may_write(v))
		return run_error(&v->err);
	/* The store is the pass's; what is written here says where it is. */
	v->output = NULL;
	return run_pass(v, &(struct run_request){ .pass = "index",
						  .options = { RUN_OPTIONS(NULL, &index) },
						  .writes_files = true });
}

const struct spur_cmd spur_cmd_index = {
	.name = "index",
	.summary = "Store a trace's events so that ranges of it are read at once.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"A store has the spans, events and counters of a trace in a form that is read at "
		"random, in about half its size. It is kept in $XDG_CACHE_HOME/spur, or "
		"~/.cache/spur, or written to the file that -o names. Spur uses a kept store where "
		"the trace, by its size, times and samples of its bytes, and the options are still "
		"those that the store was made of; else it reads the trace. Where the stores "
		"together exceed 10 GiB, or SPUR_CACHE_SIZE (bytes, with k, m or g), those that "
		"were not used for the longest time are removed.\n"
		"spur report, flame, graph and top take the file that -o names in place of the "
		"trace, which need not be there.",
	.examples = "spur index uftrace.data\tstore the trace's events\n"
		    "spur index -o prog.store uftrace.data\tin a file to keep or to send\n"
		    "spur index --clear\tremove all stores that were kept\n",
	.opts = options,
	.own_size = sizeof(struct index_own),
	.takes = TAKES_TRACE,
	.run = index_run,
};
