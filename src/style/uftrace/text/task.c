/* The tasks' state: see task.h. */
#include "style/uftrace/text/task.h"
#include "flow/args.h"

enum { MAX_STACK = 65535, MAX_TASKS = 1 << 24, FRAMES_FIRST = 2, FRAMES_NEXT = 8 };

/* --- opening --- */

static enum style_source source_of_path(const char *path)
{
	if (strncmp(path, "kernel-cpu", 10) == 0)
		return FROM_KERNEL;
	if (strncmp(path, "perf-cpu", 8) == 0)
		return FROM_PERF;
	return strcmp(path, "extern.dat") == 0 ? FROM_EXTERN : FROM_USER;
}

static struct style_task *task_add(struct style *s, uint32_t track)
{
	const struct spur_track *k = trace_track(s->trace, track);
	const struct uftrace_task *u = s->data && k ? uftrace_task(s->data, k->tid) : NULL;
	struct style_task *t;

	/* Tracks may is found while rows are read. */
	if (!k ||
	    !mem_table_grow((void **)&s->index, &s->index_cap, (size_t)track + 1, sizeof(*s->index),
			    MAX_TASKS) ||
	    !mem_table_grow((void **)&s->tasks, &s->tasks_cap, s->ntasks + 1, sizeof(*t),
			    MAX_TASKS))
		return NULL;
	t = &s->tasks[s->ntasks++];
	*t = (struct style_task){
		.track = track,
		.tid = k->tid,
		.pid = k->pid,
		.ppid = u ? uftrace_task_ppid(u) : 0,
		.comm = k->name,
		.column = -1,
		.display_set = !s->from_set,
		.silent = s->data && !map64_find(&s->files, (uint64_t)k->tid),
	};
	s->index[track] = (uint32_t)s->ntasks;
	return t;
}

/* Thread ids to tracks, + 1. */
static bool map_tids(struct style *s)
{
	for (size_t i = 0; i < s->trace->nfeeds; i++) {
		uint32_t track = s->trace->feeds[i]->track;
		const struct spur_track *k = trace_track(s->trace, track);
		struct map64_slot *slot;

		if (!k || k->kind != SPUR_TRACK_THREAD)
			continue;
		slot = map64_put(&s->tids, (uint64_t)k->tid);
		if (!slot)
			return false;
		if (!slot->value)
			slot->value = (uint64_t)track + 1;
	}
	return true;
}

static uint32_t track_of_tid(const struct style *s, int64_t tid)
{
	const struct map64_slot *slot = map64_find(&s->tids, (uint64_t)tid);

	return slot ? (uint32_t)slot->value - 1 : SPUR_NONE;
}

/* Thread ids that have a TID.dat. */
static bool map_files(struct style *s)
{
	for (size_t i = 0; s->data && i < s->trace->nstreams; i++) {
		struct text name = text_of(s->trace->streams[i].path);
		struct map64_slot *slot;
		int64_t tid;

		if (!text_i64(&name, &tid) || !text_starts(name, ".dat"))
			continue;
		slot = map64_put(&s->files, (uint64_t)tid);
		if (!slot)
			return false;
		slot->value = 1;
	}
	return true;
}

/* Tasks that the info file lists come first, in its order; the others in the order of the feeds. */
static bool add_tasks(struct style *s)
{
	struct text tids = s->data ? s->data->info.tids : text_make("", 0), one;
	bool listed = false;

	while (text_split(&tids, ',', &one)) {
		uint32_t track;
		int64_t tid;

		one = text_trim(one);
		track = text_i64(&one, &tid) ? track_of_tid(s, tid) : SPUR_NONE;
		if (track == SPUR_NONE || s->index[track])
			continue;
		if (!task_add(s, track))
			return false;
		listed = true;
	}
	for (size_t i = 0; i < s->trace->nfeeds; i++) {
		uint32_t track = s->trace->feeds[i]->track;
		const struct spur_track *k = trace_track(s->trace, track);

		if (!k || k->kind != SPUR_TRACK_THREAD || s->index[track])
			continue;
		if (!task_add(s, track))
			return false;
		s->tasks[s->ntasks - 1].hidden = listed && s->tasks[s->ntasks - 1].silent;
	}
	return true;
}

bool style_open(struct style *s, struct pass_env *env)
{
	const struct spur_trace *t = env->trace;
	const char *range = env->given->range;

	*s = (struct style){ .trace = env->trace,
			     .data = uftrace_data(t),
			     .opt = env->opt,
			     .own = uftrace_options(env),
			     .given = env->given,
			     .max_stack = MAX_STACK };
	if (env->filter)
		filter_keep_unseen(env->filter);
	s->from_set = (range && *range && *range != '~') || env->given->trace_off;
	s->time_filter = env->filter && filter_min_ns(env->filter) > 0;
	s->zero_known = env->filter && filter_zero(env->filter, &s->zero);
	if (s->data)
		s->max_stack = s->data->info.features >> UFTRACE_MAX_STACK & 1
				       ? s->data->info.max_stack
				       : 1024;
	arena_init_scratch(&s->frames);
	s->index_cap = t->ntracks + 1;
	s->index = mem_table_alloc(s->index_cap, sizeof(*s->index));
	s->nsources = t->nstreams;
	s->sources = mem_array(s->nsources + 1, 1);
	if (!s->index || !s->sources)
		return false;
	for (size_t i = 0; s->data && i < s->nsources; i++)
		s->sources[i] = (uint8_t)source_of_path(t->streams[i].path);
	s->name_comm = trace_intern(env->trace, "comm");
	return s->name_comm && map_tids(s) && map_files(s) && add_tasks(s);
}

void style_close(struct style *s)
{
	arena_free(&s->frames);
	mem_table_free(s->tasks, s->tasks_cap, sizeof(*s->tasks));
	mem_table_free(s->index, s->index_cap, sizeof(*s->index));
	mem_free(s->sources);
	mem_free(s->specials);
	map64_free(&s->tids);
	map64_free(&s->files);
	spur_args_free(&s->args);
}

/* --- finding --- */

struct style_task *style_task_make(struct style *s, const struct spur_event *row)
{
	uint32_t track = row->track;

	if (style_source_of(s, row) == FROM_EXTERN)
		return s->ntasks ? &s->tasks[s->last] : NULL;
	if (track < s->index_cap && s->index[track])
		return &s->tasks[s->index[track] - 1];
	return task_add(s, track);
}

struct style_task *style_task_by_tid(struct style *s, int64_t tid)
{
	uint32_t track = track_of_tid(s, tid);

	return track != SPUR_NONE && s->index[track] ? &s->tasks[s->index[track] - 1] : NULL;
}

/* Invariant: t->cap <= s->max_stack. */
struct style_frame *style_frame_make(struct style *s, struct style_task *t, int32_t i)
{
	const size_t need = (size_t)i + 1;
	struct style_frame *more;
	size_t cap;

	if (i < 0 || (uint32_t)i >= s->max_stack)
		return NULL;
	/* Few of very many tasks have more than the first ones. */
	cap = t->cap > FRAMES_FIRST ? 2 * t->cap : t->cap ? FRAMES_NEXT : FRAMES_FIRST;
	cap = cap < need ? need : cap > s->max_stack ? s->max_stack : cap;
	if (need <= t->cap)
		return &t->frames[i];
	more = arena_alloc(&s->frames, cap * sizeof(*more));
	if (!more) {
		s->failed = true;
		return NULL;
	}
	if (t->cap)
		memcpy(more, t->frames, t->cap * sizeof(*more));
	t->frames = more;
	t->cap = cap;
	return &t->frames[i];
}

static enum style_special special_by_name(const char *name)
{
	static const struct {
		const char *name;
		enum style_special special;
	} names[] = {
		{ "execl", SPECIAL_EXEC },	   { "execlp", SPECIAL_EXEC },
		{ "execle", SPECIAL_EXEC },	   { "execv", SPECIAL_EXEC },
		{ "execve", SPECIAL_EXEC },	   { "execvp", SPECIAL_EXEC },
		{ "execvpe", SPECIAL_EXEC },	   { "setjmp", SPECIAL_SETJMP },
		{ "_setjmp", SPECIAL_SETJMP },	   { "sigsetjmp", SPECIAL_SETJMP },
		{ "__sigsetjmp", SPECIAL_SETJMP }, { "longjmp", SPECIAL_LONGJMP },
		{ "siglongjmp", SPECIAL_LONGJMP }, { "__longjmp_chk", SPECIAL_LONGJMP },
		{ "fork", SPECIAL_FORK },	   { "vfork", SPECIAL_FORK },
		{ "daemon", SPECIAL_FORK },	   { "posix.fork", SPECIAL_FORK },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].special;
	return SPECIAL_NONE;
}

enum style_special style_special_of(struct style *s, uint32_t cls)
{
	if (cls >= s->specials_cap &&
	    !mem_grow((void **)&s->specials, &s->specials_cap, (size_t)cls + 1, 1, SIZE_MAX / 2)) {
		s->failed = true;
		return SPECIAL_NONE;
	}
	if (!s->specials[cls]) {
		const struct event_class *c = trace_class(s->trace, cls);

		s->specials[cls] =
			(uint8_t)special_by_name(trace_string(s->trace, c->simple, NULL));
	}
	return s->specials[cls];
}

bool style_is_outside(const struct style *s, const struct style_task *t,
		      const struct spur_event *row)
{
	enum style_source from = style_source_of(s, row);

	if (t->hidden ||
	    (s->own->no_callsite && row->kind == SPUR_INSTANT && row->id == UFTRACE_EV_CALLSITE))
		return true;
	if (t->user_count || !s->data)
		return false;
	return (from == FROM_KERNEL && !s->own->kernel_full) ||
	       (from != FROM_KERNEL && style_type_of(row) == TYPE_EVENT && !s->own->event_full);
}

/* --- accounting --- */

/* What accounting sees of a row; schedule events count as a function. */
struct style_record {
	uint64_t time, addr;
	uint32_t depth, cls;
	enum style_type type;
	enum style_source from;
	bool sched;
};

static uint32_t record_depth(const struct style *s, const struct style_task *t,
			     const struct spur_event *row)
{
	if (s->data || (row->flags & SPUR_F_DEPTH))
		return style_depth(row);
	return (uint32_t)(row->kind == SPUR_END_SPAN && t->count ? t->count - 1 : t->count);
}

static struct style_record record_of(const struct style *s, const struct style_task *t,
				     const struct spur_event *row)
{
	struct style_record r = {
		.time = (uint64_t)row->ts,
		.addr = style_addr(row),
		.depth = record_depth(s, t, row),
		.cls = row->cls,
		.type = style_type_of(row),
		.from = style_source_of(s, row),
	};

	if (style_is_sched(row)) {
		r.sched = true;
		r.depth = 0;
		r.type = row->flags & SPUR_F_OUT ? TYPE_ENTRY : TYPE_EXIT;
		r.addr = row->flags & SPUR_F_IN		 ? UFTRACE_EV_SCHED_IN
			 : row->flags & SPUR_F_PREEMPTED ? UFTRACE_EV_SCHED_OUT_PREEMPT
							 : UFTRACE_EV_SCHED_OUT;
	}
	return r;
}

/* A forked child shows its functions where its parent called fork(). */
static void inherit_display(struct style *s, struct style_task *t, bool kernel)
{
	const struct style_task *parent = t->ppid ? style_task_by_tid(s, t->ppid) : NULL;

	if (!t->fork_handled && parent && parent->fork_display) {
		t->display = parent->fork_display;
		t->display_set = true;
		if (kernel)
			t->count += t->display;
	}
	t->fork_handled = true;
}

/* The first record tells how many frames were open before. */
static void start_task(struct style *s, struct style_task *t, const struct style_record *r)
{
	bool kernel = r->from == FROM_KERNEL;

	t->started = true;
	t->used = 0;
	t->count = (int32_t)r->depth + (r->type == TYPE_EXIT);
	inherit_display(s, t, kernel);
	if (kernel)
		t->count += t->user_count;
	for (int32_t i = 0; i < t->count; i++) {
		struct style_frame *f = style_frame_get(s, t, i);

		if (f) {
			f->total = r->time;
			f->child = 0;
			f->valid = true;
		}
	}
}

static void resume_task(struct style *s, struct style_task *t, const struct style_record *r)
{
	t->count = (int32_t)r->depth + (r->type == TYPE_EXIT) +
		   (r->from == FROM_KERNEL ? t->user_count : 0);
	t->lost_seen = false;
	for (int32_t i = 0; i <= (int32_t)r->depth; i++) {
		struct style_frame *f = style_frame_get(s, t, i + t->user_count);

		if (f) {
			f->total = r->time - 1;
			f->child = 0;
		}
	}
}

static void account_entry(struct style *s, struct style_task *t, const struct style_record *r)
{
	struct style_frame *f = style_frame_get(s, t, t->count);

	if (!f)
		return;
	f->addr = r->addr;
	f->cls = r->cls;
	f->total = r->time;
	f->child = 0;
	f->valid = true;
}

static void account_exit(struct style *s, struct style_task *t, const struct style_record *r)
{
	struct style_frame *f = style_frame_get(s, t, t->count - 1);

	if (!f)
		return;
	f->total = f->valid ? r->time - f->total : 0;
	f->valid = false;
	if (f->child > f->total)
		f->child = f->total;
	if (t->count > 1)
		f[-1].child += f->total;
}

static void account_lost(struct style *s, struct style_task *t)
{
	uint64_t lost = 0;

	t->lost_seen = true;
	t->display_set = false;
	for (int32_t i = t->count; i >= t->user_count; i--) {
		struct style_frame *f = style_frame_get(s, t, i);

		if (!f)
			continue;
		if (!lost)
			lost = f->total + 1;
		f->total = lost - f->total;
		if (f->child > f->total)
			f->child = f->total;
		if (i > 0)
			f[-1].child += f->total;
	}
}

static void account(struct style *s, struct style_task *t, const struct style_record *r)
{
	if (__builtin_expect(!t->started, 0))
		start_task(s, t, r);
	if (__builtin_expect(t->lost_seen, 0)) {
		if (r->type == TYPE_LOST)
			return;
		resume_task(s, t, r);
	}
	/* Back from the kernel: what it left open is over. */
	if (t->context == CONTEXT_KERNEL && r->from != FROM_KERNEL && r->type != TYPE_LOST &&
	    !r->sched)
		t->count = t->used = t->user_count;
	if (r->type == TYPE_ENTRY)
		account_entry(s, t, r);
	else if (r->type == TYPE_EXIT)
		account_exit(s, t, r);
	else
		account_lost(s, t);
}

static void count_frames(struct style_task *t, const struct style_record *r)
{
	int32_t step = r->type == TYPE_ENTRY ? 1 : r->type == TYPE_EXIT ? -1 : 0;

	t->context = r->from == FROM_USER     ? CONTEXT_USER
		     : r->from == FROM_KERNEL ? CONTEXT_KERNEL
					      : CONTEXT_NONE;
	if (step > 0 || t->count > 0)
		t->count += step;
	if (t->context == CONTEXT_USER && (step > 0 || t->user_count > 0))
		t->user_count += step;
}

static void set_comm(struct style *s, struct style_task *t, const struct spur_event *row)
{
	if (trace_args(s->trace, row, &s->args) == SPUR_FAIL) {
		s->failed = true;
		return;
	}
	for (size_t i = 0; i < s->args.count; i++) {
		const struct spur_value *v = &s->args.items[i];

		if (v->name != s->name_comm || v->type != SPUR_STRING)
			continue;
		t->comm = trace_intern_n(s->trace, v->text, v->count);
		s->failed = s->failed || (v->count && !t->comm);
	}
}

static void set_start(struct style *s, const struct style_task *t, const struct spur_event *row)
{
	if (!t->count && s->data &&
	    (style_type_of(row) == TYPE_EVENT || style_source_of(s, row) == FROM_KERNEL))
		return;
	if (!s->started || (uint64_t)row->ts < s->start)
		s->start = (uint64_t)row->ts;
	s->started = true;
}

/* SPEC uftrace/shown-levels: no more than 1,024 nested functions are shown */
bool style_is_hidden(struct style *s, struct style_task *t, const struct spur_event *row)
{
	const struct style_frame *f;

	if (s->marks & ROW_UNSEEN)
		return true;
	if (row->kind != SPUR_END_SPAN)
		return row->kind != SPUR_LOST && t->used >= STYLE_LEVELS;
	f = t->count > 0 && (size_t)t->count <= t->cap ? style_frame_get(s, t, t->count - 1) : NULL;
	return f && f->deep;
}

static void open_level(struct style *s, struct style_task *t, bool hidden)
{
	struct style_frame *f = style_frame_get(s, t, t->count - 1);

	if (!f)
		return;
	f->used = t->used;
	f->deep = hidden && !(s->marks & ROW_UNSEEN);
	f->hidden = hidden && !(s->marks & ROW_MUTED);
	t->used += !hidden;
}

static void close_level(struct style *s, struct style_task *t)
{
	struct style_frame *f = style_frame_get(s, t, t->count);

	if (!f)
		return;
	t->used = f->used;
	f->hidden = f->deep = false;
}

/*
 * SPEC uftrace/hidden-fork: a call of fork() or setjmp() counts though it is hidden, but not inside
 * of what -N names
 */
static void note_hidden(struct style *s, struct style_task *t, const struct spur_event *row)
{
	enum style_special special;

	if (row->kind != SPUR_BEGIN ||
	    (s->marks & (ROW_UNSEEN | ROW_TRACE_OFF | ROW_MUTED)) == (ROW_UNSEEN | ROW_TRACE_OFF) ||
	    !(s->marks & ROW_UNSEEN))
		return;
	special = style_special_of(s, row->cls);
	if (special == SPECIAL_FORK) {
		t->fork_display = t->display + 1;
	} else if (special == SPECIAL_SETJMP) {
		s->setjmp_display = t->display + 1;
		s->setjmp_count = t->count;
	}
}

void style_consume(struct style *s, struct style_task *t, const struct spur_event *row)
{
	bool event = style_type_of(row) == TYPE_EVENT, hidden;
	struct style_record r;

	if (event && row->kind == SPUR_OBJECT && row->id == UFTRACE_EV_TASK_NAME)
		set_comm(s, t, row);
	set_start(s, t, row);
	if (event && !style_is_sched(row))
		return;
	hidden = style_is_hidden(s, t, row);
	r = record_of(s, t, row);
	account(s, t, &r);
	count_frames(t, &r);
	if (row->kind == SPUR_BEGIN) {
		note_hidden(s, t, row);
		open_level(s, t, hidden);
	} else if (row->kind == SPUR_END_SPAN)
		close_level(s, t);
}

/* --- what is shown --- */

void style_entry(struct style *s, struct style_task *t, struct style_frame *f,
		 const struct spur_event *row)
{
	enum style_special special = style_special_of(s, row->cls);

	f->special = 0;
	switch (special) {
	case SPECIAL_EXEC:
	case SPECIAL_LONGJMP:
		f->special = (uint8_t)special;
		break;
	case SPECIAL_SETJMP:
		s->setjmp_display = t->display + 1;
		s->setjmp_count = t->count;
		break;
	case SPECIAL_FORK:
		t->fork_display = t->display + 1;
		break;
	default:
		break;
	}
	if (!t->display_set) {
		t->display = t->count > 0 ? t->count - 1 : 0;
		t->display_set = true;
	}
}

int32_t style_show_entry(struct style *s, struct style_task *t, struct style_frame *f)
{
	if (f->special == SPECIAL_EXEC) {
		t->display = t->user_display = 0;
		t->count = t->user_count = 0;
	} else if (f->special == SPECIAL_LONGJMP) {
		t->display = t->user_display = s->setjmp_display;
		t->count = t->user_count = s->setjmp_count;
	} else {
		t->display++;
		t->user_display += t->context == CONTEXT_USER;
	}
	f->special = 0;
	return t->display;
}

int32_t style_show_exit(struct style_task *t)
{
	if (!t->display_set) {
		t->display = t->count + 1;
		t->display_set = true;
	}
	t->display -= t->display > 0;
	t->user_display -= t->context == CONTEXT_USER && t->user_display > 0;
	return t->display;
}
