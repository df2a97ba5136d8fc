/* spur blobs: lists or extracts data blobs that a trace carries. */
#include "cli/run.h"
#include "pass/blobs.h"

static const struct opt options[] = {
	{ .name = "extract",
	  .letter = 'o',
	  .type = OPT_STRING,
	  OPT_OWN(struct blobs_options, extract),
	  .arg = "DIR",
	  .help = "Write each blob to a file in DIR, which is created if missing" },
	{ .name = "output",
	  .type = OPT_STRING,
	  OPT_OWN(struct blobs_options, extract),
	  .arg = "DIR",
	  .help = "Same as --extract",
	  .hidden = true },
	{ .name = "force",
	  .letter = 'y',
	  .type = OPT_FLAG,
	  OPT_OWN(struct blobs_options, force),
	  .help = "Let --extract overwrite files" },
	{ .name = "cat",
	  .type = OPT_STRING,
	  OPT_OWN(struct blobs_options, blob),
	  .arg = "NAME",
	  .help = "Write only this blob, to standard output" },
	{ .name = "name",
	  .type = OPT_STRING,
	  OPT_OWN(struct blobs_options, name),
	  .arg = "PATTERN",
	  .help = "Show only blobs of this name; with special characters it is a pattern" },
	{ .name = "sort",
	  .letter = 's',
	  .type = OPT_STRING,
	  OPT_COMMON(render.sort),
	  .arg = "LIST",
	  .help = "Sort by these columns; -NAME sorts in reverse" },
	{ .name = "fields",
	  .letter = 'f',
	  .type = OPT_STRING,
	  OPT_COMMON(render.fields),
	  .arg = "LIST",
	  .help = "Show these columns: file,name,category,type,size,pieces,pid,process" },
	{ 0 }
};

static int blobs_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct blobs_options *own = v->own;

	return run_simple(cmd, v,
			  &(struct run_request){ .pass = "blobs",
						 .options = { RUN_OPTIONS(NULL, own) },
						 .selective = own->blob || own->name,
						 .writes_files = own->extract != NULL });
}

const struct spur_cmd spur_cmd_blobs = {
	.name = "blobs",
	.summary = "List the data blobs that the trace carries, or write them to files.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"Pieces of the same name, category, type and process form one blob, in the order "
		"in which they are stored; a large blob (FXT) is complete by itself. --extract "
		"names each file after its blob, with '_' for slashes, control characters and a "
		"leading dot or dash; further blobs of the same name get a number. Existing files "
		"are overwritten only with --force. All files appear when all are written.",
	.examples =
		"spur blobs trace.fxt\tthe list\n"
		"spur blobs -o out --name='\\.pftrace$' trace.fxt\tthose with names that end so, "
		"to files in out/\n"
		"spur blobs --cat screenshot trace.fxt >s.png\tone blob, to standard output\n",
	.opts = options,
	.own_size = sizeof(struct blobs_options),
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_JSON | TAKES_JSONL | TAKES_CSV | TAKES_LIMIT |
		 TAKES_FIELDS | TAKES_COLOR,
	.run = blobs_run,
};
