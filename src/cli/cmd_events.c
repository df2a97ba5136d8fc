/* spur events: counts events by name. */
#include "cli/run.h"
#include "pass/events.h"

static const char *const by_words[] = { "name", "kind", "cat", "thread", "cpu", "stream", NULL };

static const struct opt options[] = {
	{ .name = "by",
	  .type = OPT_STRING,
	  OPT_OWN(struct events_options, by),
	  .arg = "LIST",
	  .choices = by_words,
	  .help = "Count each combination of these keys: name (the default), kind, cat, thread, "
		  "cpu, stream" },
	{ .name = "sort",
	  .letter = 's',
	  .type = OPT_STRING,
	  OPT_COMMON(render.sort),
	  .arg = "LIST",
	  .help = "Sort by these columns (default: events); -NAME sorts in reverse" },
	{ .name = "fields",
	  .letter = 'f',
	  .type = OPT_STRING,
	  OPT_COMMON(render.fields),
	  .arg = "LIST",
	  .help = "Show these columns: events,rate,first,last,name,kind,cat,pid,tid,thread,cpu,"
		  "stream" },
	{ 0 }
};

static int events_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct events_options *own = v->own;

	return run_simple(cmd, v,
			  &(struct run_request){ .pass = "events",
						 .options = { RUN_OPTIONS(NULL, own) } });
}

const struct spur_cmd spur_cmd_events = {
	.name = "events",
	.summary = "Count events by name, with their times and rate.",
	.usage = "[OPTION...] TRACE",
	.description =
		"Count the events that pass the filter by name, or by the keys that --by lists. "
		"Every event counts once, so that a call is two of them, its begin and its end "
		"(--by=name,kind separates them). first and last are the times of the first and "
		"the last event, rate is the number per second between the two.",
	.examples = "spur events trace\tnames, most frequent first\n"
		    "spur events --by=thread,name trace\tper thread\n"
		    "spur events --by=kind --where 'dur > 1ms' trace\tonly long ones\n"
		    "spur events --name 'irq.*' -s first trace\tin order of appearance\n",
	.opts = options,
	.own_size = sizeof(struct events_options),
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_JSON | TAKES_JSONL | TAKES_CSV | TAKES_TIME |
		 TAKES_LIMIT | TAKES_FIELDS | TAKES_RAW | TAKES_COLOR,
	.run = events_run,
};
