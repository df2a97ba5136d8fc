#include "tui/jobs.h"

#include <string.h>

#include "base/mem.h"

struct job *job_new(void)
{
	struct job *const job = mem_alloc(sizeof(*job));

	if (job) {
		out_to_memory(&job->text);
		job->label = -1;
	}
	return job;
}

void job_free(struct job *job)
{
	if (!job)
		return;
	out_free(&job->text);
	mem_free(job->sums);
	mem_free(job);
}

/* --- answers --- */

static void put_line(struct out *o, const char *name)
{
	if (o->len)
		out_char(o, '\n');
	out_str(o, name);
	out_char(o, '\t');
}

/* Writes a line of an argument. */
static void put_arg(void *self, const struct view_argument *arg)
{
	struct out *const o = self;

	put_line(o, "");
	out_safe(o, arg->name.p ? arg->name.p : "", arg->name.len);
	out_str(o, " = ");
	out_safe(o, arg->text.p, arg->text.len);
}

/* Writes a line with text of the trace. */
static void put_text(struct out *o, const char *name, struct store_text text)
{
	if (!text.len)
		return;
	put_line(o, name);
	out_safe(o, text.p, text.len);
}

/* Writes a line with a text that was made of bytes of the trace, and empties the text. */
static void put_made(struct out *o, const char *name, struct out *text)
{
	put_text(o, name, (struct store_text){ text->buf, text->len });
	out_clear(text);
}

static void put_times(const struct view *v, const struct view_item *i, struct out *o)
{
	put_line(o, "begin");
	out_printf(o, "%lld ns (clock %lld ns)", (long long)(i->item.start - v->zero),
		   (long long)i->item.start);
	if (!(i->item.marks & STORE_SPAN))
		return;
	put_line(o, "duration");
	out_printf(o, "%lld ns%s", (long long)i->item.dur,
		   i->item.marks & STORE_OPEN ? ", unfinished" : "");
	put_line(o, "self");
	out_printf(o, "%lld ns", (long long)store_self(v->store, i->lane, i->number));
}

static void put_track(const struct view *v, const struct view_item *i, struct out *o)
{
	struct store_track t = { .tid = -1, .pid = -1 };

	store_track(v->store, i->info.track, &t);
	put_text(o, "trace", t.trace);
	put_text(o, "track", t.name);
	if (t.tid >= 0) {
		put_line(o, "thread");
		out_printf(o, "tid %lld", (long long)t.tid);
		if (t.pid >= 0)
			out_printf(o, ", pid %lld", (long long)t.pid);
	} else if (t.pid >= 0) {
		put_line(o, "process");
		out_printf(o, "pid %lld", (long long)t.pid);
	}
	put_line(o, "depth");
	out_printf(o, "%u", i->info.depth);
}

static void answer_details(struct view *v, struct job *job)
{
	const struct view_item *const i = &job->item;
	struct out *const o = &job->text;
	struct store_label l;
	struct out text;
	bool changed;

	out_to_memory(&text);
	view_label(v, i->item.label, &l);
	put_text(o, "name", l.name);
	put_times(v, i, o);
	put_track(v, i, o);
	put_text(o, "module", l.module);
	put_text(o, "category", l.cat);
	view_span_source(v, i, &text);
	put_made(o, "source", &text);
	view_span_place(v, i, &text);
	put_made(o, "record", &text);
	view_span_command(v, i, &text);
	put_made(o, "command", &text);
	if (i->item.nargs || i->item.end_nargs) {
		put_line(o, "arguments");
		job->failed = !view_span_args(v, i, put_arg, o, &changed);
		if (changed)
			out_str(o, "unknown: the trace has changed since it was opened");
	}
	job->failed |= text.error || o->error;
	out_free(&text);
}

static void answer(struct view *v, enum job_kind kind, struct job *job)
{
	struct view_answer a = { 0 };

	switch (kind) {
	case JOB_FIND:
		job->failed = !view_search(v, job->query, job->has_after ? &job->after : NULL,
					   job->back, &job->found, &job->err);
		return;
	case JOB_DETAILS:
		answer_details(v, job);
		break;
	case JOB_CALLS:
		job->failed =
			!view_calls_make(v, &job->range, job->label, job->calls, &job->ncalls);
		break;
	case JOB_FUNCTIONS:
		job->sums = view_sums_make(v, &job->range, &job->nsums);
		job->failed = !job->sums;
		break;
	default:
		out_to_memory(&a.out);
		job->failed = !view_overview(v, NULL, &a) || a.out.len != sizeof(job->overview);
		if (!job->failed)
			memcpy(job->overview, a.out.buf, sizeof(job->overview));
		out_free(&a.out);
	}
	if (job->failed)
		err_nomem(&job->err);
}

/* --- the thread --- */

/* Waits for a request. Called with j->lock held. Returns JOB_KINDS if the thread is to end. */
static enum job_kind next_kind(struct jobs *j)
{
	for (;;) {
		if (j->ended)
			return JOB_KINDS;
		for (unsigned k = 0; k < JOB_KINDS; k++)
			if (j->states[k] == JOB_ASKED)
				return (enum job_kind)k;
		pthread_cond_wait(&j->wake, &j->lock);
	}
}

static void *run(void *arg)
{
	struct jobs *const j = arg;
	enum job_kind kind;

	pthread_mutex_lock(&j->lock);
	while ((kind = next_kind(j)) != JOB_KINDS) {
		struct job *const job = j->asked[kind];

		j->states[kind] = JOB_RUNS;
		j->asked[kind] = NULL;
		j->cancel = 0;
		pthread_mutex_unlock(&j->lock);
		answer(j->view, kind, job);
		pthread_mutex_lock(&j->lock);
		if (j->states[kind] == JOB_RUNS) {
			j->asked[kind] = job;
			j->states[kind] = JOB_ANSWERED;
		} else {
			job_free(job); /* a newer request came */
		}
	}
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

enum spur_status jobs_begin(struct jobs *j, struct view *v, struct spur_error *err)
{
	int error;

	j->view = v;
	v->stop = &j->cancel;
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->wake, NULL);
	error = pthread_create(&j->thread, NULL, run, j);
	j->runs = !error;
	return error ? err_set(err, SPUR_ERR_IO, "cannot start a thread: %s", strerror(error))
		     : SPUR_OK;
}

void jobs_end(struct jobs *j)
{
	if (!j->view)
		return;
	pthread_mutex_lock(&j->lock);
	j->ended = true;
	j->cancel = 1;
	pthread_cond_signal(&j->wake);
	pthread_mutex_unlock(&j->lock);
	if (j->runs)
		pthread_join(j->thread, NULL);
	for (unsigned k = 0; k < JOB_KINDS; k++)
		job_free(j->asked[k]);
	pthread_mutex_destroy(&j->lock);
	pthread_cond_destroy(&j->wake);
}

void jobs_ask(struct jobs *j, enum job_kind kind, struct job *job)
{
	pthread_mutex_lock(&j->lock);
	job_free(j->asked[kind]);
	if (j->states[kind] == JOB_RUNS)
		j->cancel = 1;
	j->asked[kind] = job;
	j->states[kind] = JOB_ASKED;
	pthread_cond_signal(&j->wake);
	pthread_mutex_unlock(&j->lock);
}

struct job *jobs_take(struct jobs *j, enum job_kind kind)
{
	struct job *job = NULL;

	pthread_mutex_lock(&j->lock);
	if (j->states[kind] == JOB_ANSWERED) {
		job = j->asked[kind];
		j->asked[kind] = NULL;
		j->states[kind] = JOB_IDLE;
	}
	pthread_mutex_unlock(&j->lock);
	return job;
}

bool jobs_busy(struct jobs *j)
{
	bool busy = false;

	pthread_mutex_lock(&j->lock);
	for (unsigned k = 0; k < JOB_KINDS; k++)
		busy |= j->states[k] == JOB_ASKED || j->states[k] == JOB_RUNS;
	pthread_mutex_unlock(&j->lock);
	return busy;
}
