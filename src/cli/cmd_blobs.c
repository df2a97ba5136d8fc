/* spur blobs: data that a trace carries. */
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
	.summary = "Data that the trace carries: lists it, or writes it to files.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"Blobs of one name, category, type and process are one, put together from their "
		"pieces in the order in which these are stored; a large one (FXT) is one by "
		"itself. --extract writes each to a file of its name, in "
		"which slashes, control characters and a dot or dash at the front are '_'; further "
		"blobs of the same file name get a number. Files that are there stay as they are, "
		"without --force. All appear when all is written.",
	.examples = "spur blobs trace.fxt\ta list\n"
		    "spur blobs -o out --name='\\.pftrace$' trace.fxt\tsome of them, to files in "
		    "out/\n"
		    "spur blobs --cat screenshot trace.fxt >s.png\tone of them\n",
	.opts = options,
	.own_size = sizeof(struct blobs_options),
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_JSON | TAKES_JSONL | TAKES_CSV | TAKES_LIMIT |
		 TAKES_FIELDS | TAKES_COLOR,
	.run = blobs_run,
};
