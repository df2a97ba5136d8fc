/* spur sched: who had the processors, and who waited. */
#include "cli/run.h"
#include "pass/sched.h"

static const char *const by_words[] = { "thread", "cpu", "wait", NULL };

static const struct opt options[] = {
	{ .name = "by",
	  .type = OPT_STRING,
	  OPT_OWN(struct sched_options, by),
	  .arg = "WHAT",
	  .choices = by_words,
	  .help = "Show a line per thread, per cpu, or per wait (the longest 20, or --limit)" },
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
	  .help = "Show these columns, by thread: running,runnable,blocked,unknown,switches,"
		  "preemptions,wakeups,avg,max,p99,unfinished,tid,pid,thread; by cpu: cpu,busy,"
		  "idle,unknown,share,switches,unfinished; by wait: when,time,kind,cpu,tid,pid,"
		  "thread" },
	{ 0 }
};

static int sched_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct sched_options *own = v->own;

	return run_simple(cmd, v,
			  &(struct run_request){ .pass = "sched",
						 .options = { RUN_OPTIONS(NULL, own) } });
}

const struct spur_cmd spur_cmd_sched = {
	.name = "sched",
	.summary = "Who had the processors, and who waited for them how long.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"By thread: the time on a processor (running), waiting for one (runnable: switched "
		"out against its will, or woken), and waiting for something else (blocked). avg, "
		"max and p99 are of the times from a wake-up to the run. Where the trace has no "
		"wake-ups, all of a wait is blocked. switches are those to a processor.\n"
		"By cpu: the time with a thread (busy) and without one (idle). Idle threads are "
		"those with id 0 or named idle or swapper; they are in no other table.\n"
		"By wait: the longest times off the processor; the kind is preempted, woken (from "
		"the wake-up on) or blocked (up to the wake-up). cpu is the one that ends the "
		"wait, "
		"of blocked threads that are woken the one that they had left.\n"
		"What the trace does not tell is unknown: before the first switch, after the last, "
		"and where one is missing. -t TIME leaves out shorter waits; filters of functions "
		"count what begins and ends inside them.",
	.examples =
		"spur sched uftrace.data\tthe threads that ran longest first\n"
		"spur sched -s max -f max,p99,wakeups,thread trace.fxt\twho ran latest after "
		"being woken\n"
		"spur sched --by=cpu --json trace.fxt\tprocessors, for programs\n"
		"spur sched --by=wait --limit=50 --tid=1234 uftrace.data\twaits of one thread\n",
	.opts = options,
	.own_size = sizeof(struct sched_options),
	.takes = TAKES_TRACE | TAKES_FOLLOW | TAKES_FILTERS | TAKES_JSON | TAKES_JSONL |
		 TAKES_CSV | TAKES_TIME | TAKES_LIMIT | TAKES_FIELDS | TAKES_RAW | TAKES_COLOR,
	.run = sched_run,
};
