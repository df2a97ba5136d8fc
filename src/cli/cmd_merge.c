/* spur merge: writes several traces as one. */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/out.h"
#include "cli/report_diag.h"
#include "cli/run.h"
#include "cli/target.h"
#include "format/format.h"
#include "pass/convert.h"

/* Its own options. */
struct merge_own {
	struct convert_options convert;
	bool strict;
};

static const struct opt options[] = {
	{ .name = "to",
	  .type = OPT_CALL,
	  .call = target_take,
	  .arg = "FORMAT",
	  .choice = target_word,
	  .help = "Write this format (default: by the ending of -o FILE, else the format that "
		  "all traces have)" },
	TARGET_SET(struct merge_own),
	{ .name = "strict",
	  .type = OPT_FLAG,
	  OPT_OWN(struct merge_own, strict),
	  .help = "Write nothing if anything would be lost" },
	{ 0 }
};

/* Sets the error that names what can be written. */
static enum spur_status no_target(struct values *v, const char *found)
{
	struct out list;

	out_to_memory(&list);
	for (size_t i = 0; spur_writers[i]; i++)
		out_printf(&list, "%s%s", i ? ", " : "", spur_writers[i]->name);
	err_set(&v->err, SPUR_ERR_USAGE, "merge: expected --to FORMAT (%.*s), as %s", (int)list.len,
		list.buf ? list.buf : "", found);
	out_free(&list);
	return SPUR_FAIL;
}

/* The format that all traces have. */
static enum spur_status target_of_inputs(struct values *v, const struct spur_writer **writer)
{
	const uint64_t failures = mem_failures();
	const struct spur_format *first = run_format(v, v->traces[0]);
	char found[512];

	for (size_t i = 0; i < v->ntraces; i++) {
		const struct spur_format *format = i ? run_format(v, v->traces[i]) : first;

		if (mem_failures() != failures)
			return err_nomem(&v->err);
		if (!first || !format)
			snprintf(found, sizeof(found), "the format of %s is not known in advance",
				 v->traces[i]);
		else if (first != format)
			snprintf(found, sizeof(found), "%s is %s and %s is %s", v->traces[0],
				 first->name, v->traces[i], format->name);
		if (!first || first != format)
			return no_target(v, found);
	}
	assert(first);
	*writer = writer_find(first->name);
	snprintf(found, sizeof(found), "%s cannot be written", first->name);
	return *writer ? SPUR_OK : no_target(v, found);
}

static enum spur_status choose_target(struct values *v, const struct spur_writer **writer)
{
	struct merge_own *own = v->own;
	enum spur_status st = SPUR_OK;

	if (v->ntraces < 2)
		return err_set(&v->err, SPUR_ERR_USAGE,
			       "merge: expected several traces, found one: %s", v->traces[0]);
	*writer = own->convert.to ? writer_find(own->convert.to)
		  : v->output	  ? writer_of_path(v->output)
				  : NULL;
	if (!*writer)
		st = target_of_inputs(v, writer);
	if (st == SPUR_OK)
		own->convert.to = (*writer)->name;
	return st == SPUR_OK ? writer_check(*writer, own->convert.settings, &v->err) : st;
}

static int merge_run(const struct spur_cmd *cmd, struct values *v)
{
	struct merge_own *own = v->own;
	const struct spur_writer *writer = NULL;

	v->render.time = TIME_EXACT;
	own->convert.clocks = true;
	if (!run_take_traces(cmd, v, 0) || choose_target(v, &writer) == SPUR_FAIL)
		return run_error(&v->err);
	return run_pass(v,
			&(struct run_request){ .pass = "convert",
					       .options = { RUN_OPTIONS(NULL, &own->convert) },
					       .strict = own->strict,
					       .side = writer_side(writer, own->convert.settings),
					       .is_dir = writer_to_dir(writer, v->output) });
}

const struct spur_cmd spur_cmd_merge = {
	.name = "merge",
	.summary = "Write several traces as one.",
	.usage = "[OPTION...] TRACE TRACE... -o OUT",
	.description =
		"Writes the events of traces of any formats on one timeline, that of the first "
		"trace. Clocks are related because they are one clock, by the time of day, or by "
		"--offset and --align; how, and how sure that is, is reported on standard error, "
		"with what the format cannot carry (--json: as JSON).\n"
		"Processes and threads whose ids an earlier trace has get others.",
	.examples = "spur merge A B -o both.pftrace\tfor ui.perfetto.dev\n"
		    "spur merge --align auto A B -o both.json\t"
		    "relate clocks by events that both have\n",
	.opts = options,
	.own_size = sizeof(struct merge_own),
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_JSON | TAKES_TIME | TAKES_LIMIT,
	.run = merge_run,
};
