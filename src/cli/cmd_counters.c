/* spur counters: shows series of numbers. */
#include "cli/run.h"
#include "pass/counters.h"

static const char *const by_words[] = { "process", "track", NULL };

static const struct opt options[] = {
	{ .name = "by",
	  .type = OPT_STRING,
	  OPT_OWN(struct counters_options, by),
	  .arg = "WHAT",
	  .choices = by_words,
	  .help = "Make one series of the counters of one name and id in a process (the "
		  "default) or in a track" },
	{ .name = "values",
	  .type = OPT_FLAG,
	  OPT_OWN(struct counters_options, values),
	  .help = "Show every sample instead of the table: time,series,value; with --jsonl one "
		  "object per sample" },
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
	  .help = "Show these columns: samples,nan,min,max,mean,last,start,end,pid,tid,process,"
		  "name,id,argument,series" },
	{ 0 }
};

static int counters_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct counters_options *own = v->own;

	return run_simple(cmd, v,
			  &(struct run_request){ .pass = "counters",
						 .options = { RUN_OPTIONS(NULL, own) } });
}

const struct spur_cmd spur_cmd_counters = {
	.name = "counters",
	.summary = "Show series of numbers: samples, minimum, maximum, mean and last value.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"Each number among the arguments of a counter is a series: NAME#ID.ARGUMENT. So "
		"is each number in the contexts of CTF events (perf and PAPI counters, nice, "
		"prio, ...), except ids and addresses. Integers are exact; the mean is exact if "
		"it is whole, else the nearest floating point number. NaN values are counted, and "
		"ignored by min, max and mean.",
	.examples = "spur counters trace.fxt\tall series\n"
		    "spur counters -s -max --limit=10 trace.fxt\tthose with the smallest maximum\n"
		    "spur counters --values --csv trace.fxt >samples.csv\tto plot them\n",
	.opts = options,
	.own_size = sizeof(struct counters_options),
	.takes = TAKES_TRACE | TAKES_FOLLOW | TAKES_FILTERS | TAKES_JSON | TAKES_JSONL |
		 TAKES_CSV | TAKES_TIME | TAKES_LIMIT | TAKES_FIELDS | TAKES_RAW | TAKES_COLOR,
	.run = counters_run,
};
