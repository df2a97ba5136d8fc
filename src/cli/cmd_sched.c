/* spur sched: shows how long threads ran and waited for a CPU. */
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
	.summary = "Show how long threads ran, and how long they waited for a CPU.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"By thread: the time on a CPU (running), waiting for a CPU (runnable: preempted "
		"or woken), and waiting for something else (blocked). avg, max and p99 are of the "
		"times from being woken to running. If the trace has no wake-ups, all waiting "
		"counts as blocked. switches counts those to a CPU.\n"
		"By cpu: the time with a thread (busy) and without one (idle). Idle threads are "
		"those with id 0 or named idle or swapper; no other table includes them.\n"
		"By wait: the longest times off the CPU; the kind is preempted, woken (after the "
		"wake-up) or blocked (before it). cpu is the CPU on which the wait ends; for a "
		"blocked thread that is woken, the CPU that it left.\n"
		"Time for which the trace lacks a switch is unknown: before the first one, after "
		"the last, and wherever one is missing. -t TIME leaves out shorter waits; with "
		"filters of functions, only times that begin and end inside these functions "
		"count.",
	.examples =
		"spur sched uftrace.data\tthe threads that ran longest first\n"
		"spur sched -s max -f max,p99,wakeups,thread trace.fxt\tthe longest waits after a "
		"wake-up first\n"
		"spur sched --by=cpu --json trace.fxt\tCPUs, as JSON\n"
		"spur sched --by=wait --limit=50 --tid=1234 uftrace.data\twaits of one thread\n",
	.opts = options,
	.own_size = sizeof(struct sched_options),
	.takes = TAKES_TRACE | TAKES_FOLLOW | TAKES_FILTERS | TAKES_JSON | TAKES_JSONL |
		 TAKES_CSV | TAKES_TIME | TAKES_LIMIT | TAKES_FIELDS | TAKES_RAW | TAKES_COLOR,
	.run = sched_run,
};
