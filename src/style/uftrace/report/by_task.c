/*
 * Sums of calls task by task. Rows are not merged, and the reader sums ordinary calls without
 * making rows of them (model/sink.h); all others go through the walk, as if all rows did. Whenever
 * rows come, the task's frames are put as the walk would have left them, those of calls that have
 * ended included, as uftrace looks at these after lost records.
 *
 * A task's calls depend on other tasks only by longjmp(), by kernel records, which may come before
 * the parent's fork(), by external data, and by perf records where times go back. Recordings
 * of several tasks in which any of these is found are read merged instead.
 */
#include <assert.h>

#include "model/sink.h"
#include "style/uftrace/report/report.h"

/* What each thread but the first one, which has what was given, has of its own. */
struct other {
	struct report_collector collector;
	struct report report;
	struct style style;
};

/* Of one thread. Each has its own nodes and its own style, of whose tasks it reads some. */
struct by_task {
	struct other *other; /* NULL: the first one */
	struct report_collector *c;
	struct style *s; /* of c->r */
	struct call_sink *sink;
	uint32_t track; /* of the feed */
	bool several; /* there are other tasks */
	bool depends; /* on other tasks */
	bool lent; /* the sink has the task's open calls */
	uint64_t perf_time; /* of the last perf record of the feeds before */
};

static struct style_task *task_of(const struct by_task *b)
{
	struct style *s = b->s;
	const uint32_t index = b->track < s->index_cap ? s->index[b->track] : 0;

	return index ? &s->tasks[index - 1] : NULL;
}

/* --- lending open calls --- */

/* INVARIANT: no call that begins while the calls are lent is too deep to be shown. */
static_assert(2 * SINK_DEPTH <= STYLE_LEVELS, "levels around open calls, and those of new ones");

/* Returns true if the task is in no state that ordinary calls change. */
static bool task_is_plain(const struct style_task *t)
{
	return t->started && !t->lost_seen && !t->hidden && t->context != CONTEXT_KERNEL &&
	       t->count >= 0 && t->count <= SINK_DEPTH && t->user_count >= 0 &&
	       (size_t)t->count <= t->cap && t->used <= SINK_DEPTH;
}

/* Returns true if the frame, whose begin is not before `begin`, is that of an ordinary call. */
static bool frame_is_plain(const struct style_task *t, const struct style_frame *f, uint64_t begin)
{
	return f->valid && !f->hidden && !f->deep && !style_id_is_sched(f->addr) &&
	       f->used <= SINK_DEPTH && f->total >= begin && f->total <= t->last_time &&
	       f->child <= t->last_time - f->total;
}

/* Opens the task's frames in the sink. Those of before the first record have no address. */
static bool frames_lend(struct by_task *b, const struct style_task *t)
{
	struct call_sink *const k = b->sink;
	uint64_t begin = 0;

	for (int32_t i = 0; i < t->count; i++) {
		const struct style_frame *f = &t->frames[i];
		const bool known = f->addr || f->cls;

		if (!frame_is_plain(t, f, begin) ||
		    !(known ? sink_takes(k, b->s->trace, f->cls, f->addr)
			    : sink_room(k, b->s->trace, 0))) {
			sink_clear(k);
			return false;
		}
		begin = f->total;
		sink_push(k, f->cls, (int64_t)f->total, (int64_t)f->child);
	}
	k->addrs->low = (uint32_t)t->count;
	k->addrs->high = 0;
	return true;
}

/* pipe_fold.sink */
static struct call_sink *calls_lend(void *self)
{
	struct by_task *b = self;
	const struct style_task *t = task_of(b);

	if (!b->lent)
		b->lent = t && task_is_plain(t) && frames_lend(b, t);
	return b->lent ? b->sink : NULL;
}

/* Levels shown around a call on level `i` that began when `low` was the lowest one. */
static int32_t levels_around(const struct style_task *t, uint32_t low, uint32_t i)
{
	const int32_t used = low < (uint32_t)t->count ? t->frames[low].used : t->used;

	return used + (int32_t)(i - low);
}

/*
 * The open frames as uftrace counts them, which after lost records are not those that are open: one
 * more for each begin, one less, but not below 0, for each end.
 */
static int32_t users_after(const struct style_task *t, uint32_t low, uint32_t depth)
{
	const int32_t sum = t->user_count + (int32_t)depth - t->count;
	const int32_t least = (int32_t)(depth - low);

	return sum > least ? sum : least;
}

/* Puts the frames as the calls that were summed have left them. Returns false if out of memory. */
static bool frames_put(struct by_task *b, struct style_task *t)
{
	const struct call_sink *const k = b->sink;
	const struct sink_addrs *const a = k->addrs;
	const uint32_t top = a->high > k->depth ? a->high : k->depth;
	const int32_t used = levels_around(t, a->low, k->depth);

	assert(a->low <= k->depth);
	if (top && !style_frame_get(b->s, t, (int32_t)top - 1))
		return false;
	for (uint32_t i = a->high; i-- > k->depth;)
		t->frames[i] = (struct style_frame){
			.addr = a->of[a->left[i].cls],
			.total = a->left[i].length,
			.child = a->left[i].child,
			.cls = a->left[i].cls,
			.used = levels_around(t, a->left[i].low, i),
		};
	for (uint32_t i = k->depth; i-- > a->low;)
		t->frames[i] = (struct style_frame){
			.addr = a->of[k->cls[i]],
			.total = k->ts[i],
			.child = k->child[i + 1],
			.cls = k->cls[i],
			.valid = true,
			.used = levels_around(t, a->low, i),
		};
	for (uint32_t i = 0; i < a->low; i++)
		t->frames[i].child = k->child[i + 1];
	t->used = used;
	t->user_count = users_after(t, a->low, k->depth);
	t->count = (int32_t)k->depth;
	return true;
}

static bool calls_take_back(struct by_task *b)
{
	struct call_sink *const k = b->sink;
	struct style_task *t = task_of(b);
	bool good = true;

	if (!b->lent)
		return true;
	b->lent = false;
	if (k->rows) {
		good = frames_put(b, t);
		t->context = CONTEXT_USER;
		t->last_perf = false;
		t->last_time = (uint64_t)k->last;
		k->rows = 0;
	}
	sink_clear(k);
	return good;
}

/* --- rows --- */

/* Returns true if what the rows do depends on other tasks, or other tasks' rows on them. */
static bool rows_depend(struct by_task *b, const struct marked_rows *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct spur_event *row = &m->rows[i];

		if (row->flags & SPUR_F_BACK ||
		    (row->kind == SPUR_BEGIN &&
		     style_special_of(b->s, row->cls) == SPECIAL_LONGJMP))
			return true;
	}
	return false;
}

static bool take_rows(void *self, struct marked_rows rows)
{
	struct by_task *b = self;

	b->depends = b->several && rows_depend(b, &rows);
	return !b->depends && calls_take_back(b) && style_walk_rows(&b->c->walk, rows);
}

static bool feed_begin(void *self, const struct feed *f)
{
	struct by_task *b = self;

	b->track = f->track;
	b->perf_time = b->s->perf_time;
	return true;
}

static bool feed_end(void *self, const struct feed *f)
{
	struct by_task *b = self;
	struct style *s = b->s;

	(void)f;
	s->perf_time = b->perf_time > s->perf_time ? b->perf_time : s->perf_time;
	return calls_take_back(b);
}

/* --- all --- */

/* Calls that do nothing but begin and end. */
static bool is_ordinary(void *self, uint32_t cls)
{
	return style_special_of(self, cls) == SPECIAL_NONE;
}

/* Returns true if tasks may be read one by one, as far as that can be told before they are read. */
static bool tasks_are_apart(const struct report *r, const struct pass_env *env)
{
	const struct spur_trace *t = env->trace;

	if (!r->s->data || !r->sums_only || r->s->own->srcline || env->filter || env->pipe.limit ||
	    pipe_is_live(t) || t->tracks_shared || r->s->max_stack <= SINK_DEPTH)
		return false;
	for (size_t i = 0; i < t->nstreams; i++)
		if (r->s->sources[i] == FROM_KERNEL || r->s->sources[i] == FROM_EXTERN)
			return false;
	return t->format->sums_calls && t->format->rewind;
}

/* Adds what the reader has summed. Returns false if out of memory. */
static bool add_sums(struct by_task *b)
{
	const struct call_sink *const k = b->sink;

	for (uint32_t cls = 0; cls < k->nclasses; cls++) {
		const struct sink_sum *const sum = &k->sums[cls];
		struct report_node *n;

		if (!sum->calls)
			continue;
		n = report_named(b->c->r, trace_class(b->s->trace, cls)->name, cls);
		if (!n)
			return false;
		n->total.sum += sum->sum - sum->inner;
		n->self.sum += sum->self;
		n->calls += sum->calls;
	}
	return true;
}

/* Adds what a thread has found to the first one's nodes. Returns false if out of memory. */
static bool add_nodes(struct by_task *b, struct report *to)
{
	const struct report *from = b->c->r;

	if (!style_walk_end(&b->c->walk))
		return false;
	for (size_t i = 0; i < from->n; i++) {
		const struct report_node *add = &from->nodes[i];
		struct report_node *n = report_named(to, add->name, add->cls);

		if (!n)
			return false;
		n->total.sum += add->total.sum;
		n->self.sum += add->self.sum;
		n->calls += add->calls;
	}
	return true;
}

/* Undoes all that was read. Returns false if out of memory. */
static bool begin_again(struct by_task *b, struct pass_env *env, const struct read_counts *read)
{
	struct report_collector *c = b->c;
	struct report *r = c->r;

	report_close(r);
	r->nodes = NULL;
	r->n = r->cap = 0;
	r->index = (struct map64){ 0 };
	mem_table_free(c->nodes, c->nodes_cap, sizeof(*c->nodes));
	c->nodes = NULL;
	c->nodes_cap = 0;
	feeds_rewind(env->trace, read);
	style_close(r->s);
	c->walk.failed = false;
	return style_open(r->s, env);
}

/* Makes the style and nodes of another thread than the first. Returns false if out of memory. */
static bool other_make(struct by_task *b, struct pass_env *env, const struct report_collector *c)
{
	struct other *o = mem_alloc(sizeof(*o));

	if (!o)
		return false;
	o->collector = *c;
	o->collector.r = &o->report;
	o->collector.walk.s = &o->style;
	o->collector.walk.self = &o->collector;
	o->report = (struct report){ .s = &o->style, .sums_only = true };
	b->other = o;
	b->c = &o->collector;
	return style_open(&o->style, env);
}

/* Makes the state of a thread. Returns false if out of memory; free with thread_free(). */
static bool thread_make(struct by_task *b, struct pass_env *env, const struct report_collector *c)
{
	if (!b->c && !other_make(b, env, c))
		return false;
	b->s = b->c->r->s;
	b->several = env->trace->nfeeds > 1;
	b->sink = mem_alloc(sizeof(*b->sink));
	if (b->sink)
		b->sink->addrs = mem_alloc(sizeof(*b->sink->addrs));
	if (!b->sink || !b->sink->addrs)
		return false;
	b->sink->addrs->admits = is_ordinary;
	b->sink->addrs->self = b->s;
	return true;
}

static void thread_free(struct by_task *b)
{
	struct other *const o = b->other;

	sink_free(b->sink);
	if (o) {
		mem_table_free(o->collector.nodes, o->collector.nodes_cap,
			       sizeof(*o->collector.nodes));
		report_close(&o->report);
		style_close(&o->style);
	}
	mem_free(o);
}

/* Joins what `n` threads have found. Returns false if out of memory. */
static bool threads_join(struct by_task *threads, unsigned n)
{
	uint64_t last = 0;
	bool good = true;

	for (unsigned i = 0; i < n; i++)
		last = threads[i].s->perf_time > last ? threads[i].s->perf_time : last;
	for (unsigned i = 0; i < n && good; i++) {
		threads[i].s->perf_time = last;
		good = !threads[i].s->failed && add_sums(&threads[i]) &&
		       (!i || add_nodes(&threads[i], threads[0].c->r));
	}
	return good;
}

/* As report_by_task(), on `n` threads with their states. */
static bool run_by_task(struct by_task *threads, void **states, unsigned n, struct pass_env *env,
			bool *done)
{
	static const struct pipe_fold fold = { .feed_begin = feed_begin,
					       .marked = take_rows,
					       .feed_end = feed_end,
					       .sink = calls_lend };
	const struct read_counts read = env->trace->read;
	struct pipe_options opt = env->pipe;
	bool good = true;

	opt.parts = PIPE_WHOLE;
	for (unsigned i = 0; i < n && good; i++) {
		good = thread_make(&threads[i], env, threads[0].c);
		states[i] = &threads[i];
	}
	good = good && pipe_run_feeds(env->trace, &opt, &fold, states) != SPUR_FAIL &&
	       threads_join(threads, n);
	for (unsigned i = 0; i < n; i++)
		*done = *done && !threads[i].depends;
	return *done ? good : begin_again(&threads[0], env, &read);
}

bool report_by_task(struct report_collector *c, struct pass_env *env, bool *done)
{
	struct pipe_options opt = env->pipe;
	struct by_task *threads;
	void **states;
	bool good = false;
	unsigned n;

	*done = tasks_are_apart(c->r, env);
	if (!*done)
		return true;
	opt.parts = PIPE_WHOLE;
	n = pipe_workers(env->trace, &opt);
	threads = mem_array(n, sizeof(*threads));
	states = mem_array(n, sizeof(*states));
	if (threads && states) {
		threads[0].c = c;
		good = run_by_task(threads, states, n, env, done);
	}
	for (unsigned i = 0; threads && i < n; i++)
		thread_free(&threads[i]);
	mem_free(threads);
	mem_free(states);
	return good;
}
