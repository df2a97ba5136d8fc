/*
 * sched: who had the processors, and who waited for them: a line per thread, per processor, or per
 * wait (the longest ones). Reads SWITCH and WAKEUP rows as src/pass/sched/state.h says; of other
 * rows only the times.
 */
#include "pass/sched.h"
#include "pass/sched/state.h"
#include "render/table.h"

enum sched_by { BY_THREAD, BY_CPU, BY_WAIT };
enum { WAITS_SHOWN = 20 };

struct report {
	struct pass_env *env;
	enum sched_by by;
	struct table table;
	struct sched *sched; /* of the first worker: all that the others found is joined here */
	void *rows; /* copies of what is shown */
	size_t n;
};

/* --- by thread --- */

enum thread_column {
	THREAD_RUNNING,
	THREAD_RUNNABLE,
	THREAD_BLOCKED,
	THREAD_UNKNOWN,
	THREAD_SWITCHES,
	THREAD_PREEMPTIONS,
	THREAD_WAKEUPS,
	THREAD_AVG,
	THREAD_MAX,
	THREAD_P99,
	THREAD_UNFINISHED,
	THREAD_TID,
	THREAD_PID,
	THREAD_NAME,
};

static const struct table_column thread_columns[] = {
	[THREAD_RUNNING] = { "running", TABLE_TIME },
	[THREAD_RUNNABLE] = { "runnable", TABLE_TIME },
	[THREAD_BLOCKED] = { "blocked", TABLE_TIME },
	[THREAD_UNKNOWN] = { "unknown", TABLE_TIME },
	[THREAD_SWITCHES] = { "switches", TABLE_COUNT },
	[THREAD_PREEMPTIONS] = { "preemptions", TABLE_COUNT },
	[THREAD_WAKEUPS] = { "wakeups", TABLE_COUNT },
	[THREAD_AVG] = { "avg", TABLE_TIME },
	[THREAD_MAX] = { "max", TABLE_TIME },
	[THREAD_P99] = { "p99", TABLE_TIME },
	[THREAD_UNFINISHED] = { "unfinished", TABLE_COUNT },
	[THREAD_TID] = { "tid", TABLE_ID },
	[THREAD_PID] = { "pid", TABLE_ID },
	[THREAD_NAME] = { "thread", TABLE_TEXT },
	{ 0 },
};

static struct table_value latency_value(const struct sched_thread *t,
					uint64_t (*value)(const struct sched_latency *l))
{
	return t->latency ? table_u64(value(t->latency)) : (struct table_value){ 0 };
}

/* The id that a track, or one that it is a part of, has. */
static struct table_value track_id(const struct spur_trace *t, uint32_t track, bool pid)
{
	const struct spur_track *k = trace_track(t, track);

	return k ? table_id(pid ? k->pid : k->tid) : (struct table_value){ 0 };
}

static struct table_value thread_value(const void *self, const void *row, int column)
{
	const struct report *r = self;
	const uint32_t track = *(const uint32_t *)row;
	const struct sched_thread *t = r->sched->threads[track].thread;

	switch ((enum thread_column)column) {
	case THREAD_RUNNING:
		return table_u64(t->running);
	case THREAD_RUNNABLE:
		return table_u64(t->runnable);
	case THREAD_BLOCKED:
		return table_u64(t->blocked);
	case THREAD_UNKNOWN:
		return table_u64(t->unknown);
	case THREAD_SWITCHES:
		return table_u64(t->switches);
	case THREAD_PREEMPTIONS:
		return table_u64(t->preemptions);
	case THREAD_WAKEUPS:
		return table_u64(t->wakeups);
	case THREAD_AVG:
		return latency_value(t, sched_latency_mean);
	case THREAD_MAX:
		return latency_value(t, sched_latency_most);
	case THREAD_P99:
		return latency_value(t, sched_latency_p99);
	case THREAD_UNFINISHED:
		return table_u64(t->unfinished);
	case THREAD_TID:
		return track_id(r->env->trace, track, false);
	case THREAD_PID:
		return track_id(r->env->trace, track, true);
	default:
		return (struct table_value){ 0 };
	}
}

static void track_name(const struct spur_trace *t, uint32_t track, struct out *o)
{
	const struct spur_track *k = trace_track(t, track);
	size_t len;
	const char *name = trace_string(t, k ? k->name : 0, &len);

	out_bytes(o, name, len);
}

static void thread_text(const void *self, const void *row, int column, struct out *o)
{
	const struct report *r = self;

	(void)column;
	track_name(r->env->trace, *(const uint32_t *)row, o);
}

/* A line is the number of the thread's track. */
static bool thread_lines(struct report *r)
{
	uint32_t *lines = mem_array(r->sched->nthreads, sizeof(*lines));

	r->rows = lines;
	for (size_t i = 0; lines && i < r->sched->nthreads; i++) {
		const struct sched_thread *t = r->sched->threads[i].thread;

		if (t && t->any && !t->idle)
			lines[r->n++] = (uint32_t)i;
	}
	return lines;
}

static void thread_notes(const struct report *r)
{
	uint64_t unfinished = 0;

	for (size_t i = 0; i < r->sched->nthreads; i++) {
		const struct sched_thread *t = r->sched->threads[i].thread;

		unfinished += t && t->any && !t->idle ? t->unfinished : 0;
	}
	if (unfinished && !table_shows(&r->table, THREAD_UNFINISHED))
		out_printf(r->env->out,
			   "\nTimes on a processor whose begin or end the trace lacks: %llu. They "
			   "are in "
			   "no\nsum; --fields=unknown,unfinished,thread shows whose.\n",
			   (unsigned long long)unfinished);
}

/* --- by processor --- */

enum cpu_column {
	CPU_NUMBER,
	CPU_BUSY,
	CPU_IDLE,
	CPU_UNKNOWN,
	CPU_SHARE,
	CPU_SWITCHES,
	CPU_UNFINISHED,
};

static const struct table_column cpu_columns[] = {
	[CPU_NUMBER] = { "cpu", TABLE_ID },
	[CPU_BUSY] = { "busy", TABLE_TIME },
	[CPU_IDLE] = { "idle", TABLE_TIME },
	[CPU_UNKNOWN] = { "unknown", TABLE_TIME },
	[CPU_SHARE] = { "share", TABLE_SHARE },
	[CPU_SWITCHES] = { "switches", TABLE_COUNT },
	[CPU_UNFINISHED] = { "unfinished", TABLE_COUNT },
	{ 0 },
};

struct cpu_line {
	int64_t number;
	uint64_t busy, idle, unknown, switches, unfinished;
};

/* Tenths of a per cent. */
static uint64_t cpu_share(const struct cpu_line *c)
{
	const unsigned __int128 all = (unsigned __int128)c->busy + c->idle + c->unknown;

	return all ? (uint64_t)((unsigned __int128)c->busy * 1000 / all) : 0;
}

static struct table_value cpu_value(const void *self, const void *row, int column)
{
	const struct cpu_line *c = row;

	(void)self;
	switch ((enum cpu_column)column) {
	case CPU_NUMBER:
		return table_i64(c->number);
	case CPU_BUSY:
		return table_u64(c->busy);
	case CPU_IDLE:
		return table_u64(c->idle);
	case CPU_UNKNOWN:
		return table_u64(c->unknown);
	case CPU_SHARE:
		return table_u64(cpu_share(c));
	case CPU_SWITCHES:
		return table_u64(c->switches);
	case CPU_UNFINISHED:
		return table_u64(c->unfinished);
	}
	return (struct table_value){ 0 };
}

/* If idle threads are known, a CPU without a thread means missing rows; else it is idle. */
static bool cpu_lines(struct report *r)
{
	const bool known = r->sched->idle_known;
	struct cpu_line *lines = mem_array(r->sched->ncpus, sizeof(*lines));

	r->rows = lines;
	for (size_t i = 0; lines && i < r->sched->ncpus; i++) {
		const struct sched_cpu *c = &r->sched->cpus[i];

		if (c->state == SCHED_UNKNOWN)
			continue;
		lines[r->n++] = (struct cpu_line){
			.number = (int64_t)i,
			.busy = c->busy,
			.idle = known ? c->idle : c->gaps,
			.unknown = known ? c->unknown + c->gaps : c->unknown,
			.switches = c->switches,
			.unfinished = c->unfinished,
		};
	}
	return lines;
}

static void cpu_notes(const struct report *r)
{
	struct out *o = r->env->out;

	if (!r->sched->idle_known)
		out_str(o, "\nNo idle thread is in the trace: idle is the time in which no thread "
			   "of it had\nthe processor.\n");
	if (r->sched->nowhere)
		out_printf(o, "\n%llu switches name no processor.\n",
			   (unsigned long long)r->sched->nowhere);
}

/* --- by wait --- */

enum wait_column {
	WAIT_WHEN,
	WAIT_TIME,
	WAIT_KIND,
	WAIT_CPU,
	WAIT_TID,
	WAIT_PID,
	WAIT_THREAD,
};

static const struct table_column wait_columns[] = {
	[WAIT_WHEN] = { "when", TABLE_WHEN },	  [WAIT_TIME] = { "time", TABLE_TIME },
	[WAIT_KIND] = { "kind", TABLE_TEXT },	  [WAIT_CPU] = { "cpu", TABLE_ID },
	[WAIT_TID] = { "tid", TABLE_ID },	  [WAIT_PID] = { "pid", TABLE_ID },
	[WAIT_THREAD] = { "thread", TABLE_TEXT }, { 0 },
};

static struct table_value wait_value(const void *self, const void *row, int column)
{
	const struct report *r = self;
	const struct sched_wait *w = row;

	switch ((enum wait_column)column) {
	case WAIT_WHEN:
		return table_i64(w->ts);
	case WAIT_TIME:
		return table_u64(w->length);
	case WAIT_CPU:
		return table_i64(w->cpu == SPUR_NO_CPU ? -1 : w->cpu);
	case WAIT_TID:
		return track_id(r->env->trace, w->track, false);
	case WAIT_PID:
		return track_id(r->env->trace, w->track, true);
	default:
		return (struct table_value){ 0 };
	}
}

static void wait_text(const void *self, const void *row, int column, struct out *o)
{
	static const char *const kinds[] = { [SCHED_PREEMPTED] = "preempted",
					     [SCHED_WOKEN] = "woken",
					     [SCHED_BLOCKED] = "blocked" };
	const struct report *r = self;
	const struct sched_wait *w = row;

	if (column == WAIT_KIND)
		out_str(o, kinds[w->state]);
	else
		track_name(r->env->trace, w->track, o);
}

static void wait_notes(const struct report *r)
{
	const uint64_t left = r->sched->waits_all - r->sched->nwaits;

	if (left)
		out_printf(r->env->out, "\n%llu more waits are not shown.\n",
			   (unsigned long long)left);
}

/* --- all --- */

static enum spur_status report_options(struct report *r)
{
	static const char *const bys[] = { "thread", "cpu", "wait", NULL };
	static const char *const heads[] = { ",\"by\":\"thread\"", ",\"by\":\"cpu\"",
					     ",\"by\":\"wait\"" };
	static const struct table_column *const columns[] = { thread_columns, cpu_columns,
							      wait_columns };
	static const char *const text[] = { "running,runnable,blocked,switches,max,tid,thread",
					    "cpu,busy,idle,unknown,share,switches",
					    "when,time,kind,cpu,tid,thread" };
	static const char *const data[] = {
		("thread,tid,pid,running,runnable,blocked,unknown,switches,preemptions,wakeups,"
		 "avg,max,p99,unfinished"),
		"cpu,busy,idle,unknown,share,switches,unfinished",
		"when,time,kind,cpu,thread,tid,pid",
	};
	static const char *const sort[] = { "running", "cpu", "time" };
	const struct render_options *opt = r->env->opt;
	const struct sched_options *own = sched_options(r->env);
	const char *by = own->by ? own->by : "thread";
	int i = 0;

	while (bys[i] && strcmp(by, bys[i]) != 0)
		i++;
	if (!bys[i])
		return err_set(r->env->err, SPUR_ERR_USAGE,
			       "--by: expected thread, cpu or wait, found \"%s\"", by);
	r->by = (enum sched_by)i;
	r->table = (struct table){ .env = pass_render(r->env),
				   .name = "sched",
				   .columns = columns[i],
				   .value = i == BY_THREAD ? thread_value
					    : i == BY_CPU  ? cpu_value
							   : wait_value,
				   .text = i == BY_WAIT ? wait_text : thread_text,
				   .self = r,
				   .head = heads[i] };
	return table_options(&r->table, opt->form == FORM_TEXT ? text[i] : data[i], sort[i]);
}

/* Per thread each feed tells all; per processor the feeds are merged. */
static enum spur_status report_read(struct report *r, struct sched *workers, void **states,
				    unsigned n, uint64_t least)
{
	static const struct pipe_fold fold = { .marked = sched_rows };
	struct pass_env *env = r->env;

	for (unsigned i = 0; i < n; i++) {
		states[i] = &workers[i];
		workers[i].want_cpus = r->by == BY_CPU;
		workers[i].least = least;
		if (r->by == BY_WAIT)
			workers[i].most_waits = env->opt->limit ? env->opt->limit : WAITS_SHOWN;
		sched_init(&workers[i], env->trace);
	}
	if (r->by != BY_CPU)
		return pipe_run_feeds(env->trace, &env->pipe, &fold, states);
	return pipe_run_marked(env->trace, &env->pipe, sched_rows, &workers[0]);
}

static enum spur_status report_show(struct report *r)
{
	bool good = true;
	size_t size = sizeof(struct sched_wait);
	const void *rows = r->sched->waits;
	enum spur_status st;

	if (r->by == BY_THREAD) {
		good = thread_lines(r);
		size = sizeof(uint32_t);
	} else if (r->by == BY_CPU) {
		good = cpu_lines(r);
		size = sizeof(struct cpu_line);
		if (r->env->opt->form == FORM_JSON)
			r->table.head = r->sched->idle_known
						? ",\"by\":\"cpu\",\"idle\":\"threads\""
						: ",\"by\":\"cpu\",\"idle\":\"gaps\"";
	} else {
		r->n = r->sched->nwaits;
	}
	if (!good)
		return err_nomem(r->env->err);
	st = table_write(&r->table, r->rows ? r->rows : rows, r->n, size);
	if (st != SPUR_OK || r->env->opt->form != FORM_TEXT || !r->sched->rows)
		return st;
	(r->by == BY_THREAD ? thread_notes : r->by == BY_CPU ? cpu_notes : wait_notes)(r);
	return SPUR_OK;
}

/*
 * What the filter does to calls only is left to the waits: a switch that were dropped would make
 * others wrong.
 */
static uint64_t report_filter(const struct pass_env *env)
{
	uint64_t least;

	if (!env->filter)
		return 0;
	least = (uint64_t)filter_keep_brief(env->filter);
	filter_keep_short(env->filter);
	filter_keep_unseen(env->filter);
	return least;
}

static enum spur_status sched_run(struct pass_env *env)
{
	struct report r = { .env = env };
	const uint64_t least = report_filter(env);
	const unsigned n = pipe_workers(env->trace, &env->pipe);
	struct sched *workers = mem_array(n, sizeof(*workers));
	void **states = mem_array(n, sizeof(*states));
	enum spur_status st = report_options(&r);

	if (st == SPUR_OK && (!workers || !states))
		st = err_nomem(env->err);
	if (st == SPUR_OK)
		st = when_init(&r.table.when, env->trace,
			       env->opt->form == FORM_TEXT ? env->opt->time : TIME_RAW, env->err);
	if (st == SPUR_OK) {
		r.sched = &workers[0];
		if (report_read(&r, workers, states, n, least) == SPUR_FAIL)
			st = err_nomem(env->err);
	}
	for (unsigned i = 1; st == SPUR_OK && i < n; i++)
		if (!sched_join(r.sched, &workers[i]))
			st = err_nomem(env->err);
	if (st == SPUR_OK) {
		sched_end(r.sched);
		st = report_show(&r);
	}
	if (st == SPUR_OK && !r.sched->rows && !(env->pipe.stop && *env->pipe.stop))
		st = SPUR_WARN;
	for (unsigned i = 0; workers && i < n; i++)
		sched_free(&workers[i]);
	mem_free(workers);
	mem_free(states);
	mem_free(r.rows);
	return st;
}

const struct spur_pass spur_pass_sched = {
	.name = "sched",
	.options_size = sizeof(struct sched_options),
	.run = sched_run,
};
