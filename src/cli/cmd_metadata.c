/* spur metadata: prints the metadata of a CTF trace as plain text. */
#include "cli/run.h"
#include "pass/metadata.h"

static const struct opt options[] = {
	{ .name = "compiled",
	  .letter = 'v',
	  .type = OPT_FLAG,
	  OPT_OWN(struct metadata_options, compiled),
	  .help = "Show the compiled metadata: each field class with its bits, alignment and "
		  "meaning" },
	{ 0 }
};

static int metadata_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct metadata_options *own = v->own;

	if (!run_take_traces(cmd, v, 0))
		return run_error(&v->err);
	if (v->ntraces > 1) {
		err_set(&v->err, SPUR_ERR_USAGE, "unexpected operand \"%s\"", v->traces[1]);
		return run_error(&v->err);
	}
	return run_pass(v, &(struct run_request){ .pass = "metadata",
						  .options = { RUN_OPTIONS(NULL, own) } });
}

const struct spur_cmd spur_cmd_metadata = {
	.name = "metadata",
	.summary = "Print the metadata of a CTF trace.",
	.usage = "[OPTION...] TRACE",
	.description =
		"Print the metadata as plain text, whatever its packaging: packets of either byte "
		"order, a JSON sequence, or text. If the directory contains several traces, print "
		"one after the other.",
	.examples = "spur metadata trace/\tTSDL or JSON\n"
		    "spur metadata --compiled trace/\tfield classes as they are decoded\n",
	.opts = options,
	.own_size = sizeof(struct metadata_options),
	.takes = TAKES_TRACE,
	.run = metadata_run,
};
