/* spur anonymize: writes the trace without names, so that it can be shared. */
#include <string.h>

#include "cli/run.h"
#include "cli/target.h"
#include "format/format.h"
#include "pass/convert.h"

/* Its own options. */
struct anonymize_own {
	struct convert_options convert;
};

static const struct opt options[] = {
	{ .name = "to",
	  .type = OPT_CALL,
	  .call = target_take,
	  .arg = "FORMAT",
	  .choice = target_word,
	  .help = "Write this format (default: by the ending of -o FILE, else that of the "
		  "trace)" },
	TARGET_SET(struct anonymize_own),
	{ .name = "key",
	  .type = OPT_STRING,
	  OPT_OWN(struct anonymize_own, convert.mask.key),
	  .arg = "TEXT",
	  .help = "Give equal names in several traces equal tokens, if their key is this one "
		  "(default: a random key)" },
	{ .name = "words",
	  .type = OPT_FLAG,
	  OPT_OWN(struct anonymize_own, convert.mask.words),
	  .help = "Make tokens of words, such as calm-fox-9c1f03ab" },
	{ 0 }
};

/* Returns the writer of the command line, or NULL with v->err set. */
static const struct spur_writer *target_of(struct values *v, const char *name)
{
	const struct spur_format *format;
	const struct spur_writer *writer;

	if (name)
		return writer_find(name);
	writer = v->output ? writer_of_path(v->output) : NULL;
	if (writer)
		return writer;
	format = v->ntraces == 1 ? run_format(v, v->traces[0]) : NULL;
	writer = format ? writer_find(format->name) : NULL;
	if (!writer)
		err_set(&v->err, SPUR_ERR_USAGE,
			"expected --to FORMAT: the trace's own format is not known in advance or "
			"cannot be written");
	return writer;
}

static int anonymize_run(const struct spur_cmd *cmd, struct values *v)
{
	struct anonymize_own *own = v->own;
	const struct spur_writer *writer;

	if (!run_take_traces(cmd, v, 0))
		return run_error(&v->err);
	writer = target_of(v, own->convert.to);
	if (!writer || writer_check(writer, own->convert.settings, &v->err) == SPUR_FAIL)
		return run_error(&v->err);
	v->render.time = TIME_EXACT;
	own->convert.to = writer->name;
	own->convert.masked = true;
	return run_pass(v, &(struct run_request){ .pass = "convert",
						  .options = { RUN_OPTIONS(NULL, &own->convert) },
						  .is_dir = writer_to_dir(writer, v->output) });
}

const struct spur_cmd spur_cmd_anonymize = {
	.name = "anonymize",
	.summary = "Write the trace without names, so that it can be shared.",
	.usage = "[OPTION...] TRACE -o OUT",
	.description =
		"Names, categories, paths and texts are replaced by tokens of a keyed hash: equal "
		"ones stay equal, and the parts of a path are replaced one by one. Ids of "
		"processes, threads and objects of a kernel, addresses and other large ids are "
		"permuted, and facts about the machine and the command line are left out. Times, "
		"CPUs, other small ids of events and numbers in arguments stay as they are; how "
		"many is reported on standard error.",
	.examples = "spur anonymize --to=chrome -o shared.json uftrace.data\tfor viewers\n",
	.opts = options,
	.own_size = sizeof(struct anonymize_own),
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_LIMIT,
	.run = anonymize_run,
};
