/*
 * A directory that `uftrace record` is writing. All rows are one feed. SPEC uftrace/follow: a look
 * finds tasks, lines of task.txt and records that have come; then the rows of all tasks come out,
 * merged by time; then nothing, until the next look. A task whose records come later holds none
 * back, so its rows stand late.
 *
 * The recorder writes `info` when the recording ends, so what only that file tells is unknown:
 * which arguments records have. What it writes for each CPU comes in pieces of its own, seconds
 * before or after the calls of the same time, and is not followed.
 */
#include <errno.h>
#include <stdio.h>

#include "base/os.h"
#include "format/uftrace/reader.h"

enum {
	REST_MS = 50,
	LOOK_EVERY = 4, /* looks between two looks for new files */
	TASKS = 1 << 16,
	ROWS = 64, /* of a task that are made at once */
};

/* Until a recording that has ended is taken to be complete, or a task to have no line. */
static const int64_t patience_ns = INT64_C(1000000000);

/* A task with a TID.dat. */
struct follow_task {
	struct uftrace_feed uf;
	struct feed feed; /* has its track, and what was found since the last rows */
	struct spur_event *rows;
	uint32_t pos, n; /* of the rows: those from `pos` on are not handed out */
	uint32_t place; /* among the tasks */
	bool fresh; /* bytes that were not read */
};

struct uftrace_follow {
	struct uftrace *u;
	struct feed *feed; /* NULL: opening */
	pthread_rwlock_t lock; /* what sessions and sources have */
	struct source *lines; /* task.txt; NULL: not there yet */
	off_t events_size; /* of events.txt at the last look */
	bool events_new; /* what it has now was not read */
	uint64_t lines_size; /* of the lines that were read */
	struct map64 seen; /* task id -> when its file was seen first; 1: it is followed */
	struct map64 by_pid; /* tracks of processes */
	struct follow_task **tasks;
	size_t ntasks, tasks_cap;
	struct follow_task **heap; /* those that have rows, the earliest first */
	size_t nheap, heap_cap;
	dev_t dev; /* of the directory */
	ino_t ino;
	int64_t changed; /* when something came last */
	unsigned looks;
	bool gone; /* the directory, or its name */
	bool full, told_cpus;
	bool last; /* what is there now is all: no line is waited for */
	bool over; /* all of it was found */
};

static int64_t now_ns(void)
{
	struct timespec t;

	os_clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_stopped(const struct uftrace_follow *f)
{
	const volatile int *stop = f->u->t->options.stop;

	return stop && *stop;
}

void uftrace_follow_lock(struct uftrace_follow *f)
{
	if (f)
		pthread_rwlock_rdlock(&f->lock);
}

void uftrace_follow_unlock(struct uftrace_follow *f)
{
	if (f)
		pthread_rwlock_unlock(&f->lock);
}

/* Opens a file to follow it. Returns NULL if it is not there, or cannot be followed. */
static struct source *file_open(struct uftrace_follow *f, const char *name)
{
	const struct source_options so = { .read_size = f->u->t->options.read_size,
					   .follow = true,
					   .stop = f->u->t->options.stop };
	struct spur_error err = { 0 };
	struct source *s = NULL;
	char path[4400];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", f->u->dir, name);
	if (os_stat(path, &st) != 0)
		return NULL;
	if (!S_ISREG(st.st_mode))
		err_set(&err, SPUR_ERR_IO, "expected a file to follow, found another thing");
	else if (source_open(&s, path, &so, &err) != SPUR_FAIL)
		return s;
	uftrace_say(f->u, DIAG_DAMAGE, "uftrace/unreadable", name, DIAG_NO_OFF, "%s", err.message);
	return NULL;
}

/* --- the merge: a heap of tasks by the time of their first row --- */

static bool comes_before(const struct follow_task *a, const struct follow_task *b)
{
	const int64_t x = a->rows[a->pos].ts, y = b->rows[b->pos].ts;

	return x != y ? x < y : a->place < b->place;
}

static void heap_sink(struct uftrace_follow *f)
{
	struct follow_task **const h = f->heap, *const k = h[0];
	size_t i = 0;

	assert(f->nheap);
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < f->nheap && comes_before(h[child + 1], h[child]))
			child++;
		if (child >= f->nheap || !comes_before(h[child], k))
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = k;
}

static bool heap_put(struct uftrace_follow *f, struct follow_task *k)
{
	size_t i = f->nheap;

	assert(k->pos < k->n);
	if (!mem_grow((void **)&f->heap, &f->heap_cap, i + 1, sizeof(struct follow_task *), TASKS))
		return false;
	for (f->nheap++; i && comes_before(k, f->heap[(i - 1) / 2]); i = (i - 1) / 2)
		f->heap[i] = f->heap[(i - 1) / 2];
	f->heap[i] = k;
	return true;
}

/* --- rows --- */

/* Makes rows of what is there. Returns false if out of memory. */
static bool task_rows(struct uftrace_follow *f, struct follow_task *k)
{
	struct batch b = { .rows = k->rows, .cap = ROWS };
	bool good;

	assert(k->pos == k->n);
	k->pos = k->n = 0;
	if (k->uf.ended)
		return true;
	good = uftrace_dat_next(f->u, &k->feed, &k->uf, &b, UINT64_MAX) != SPUR_FAIL;
	k->n = b.count;
	diag_merge(f->u->log, &k->feed.diag);
	diag_free(&k->feed.diag);
	diag_init(&k->feed.diag);
	return good;
}

/* A task that has bytes since the look. Returns false if out of memory. */
static bool task_wake(struct uftrace_follow *f, struct follow_task *k)
{
	if (!k->fresh)
		return true;
	k->fresh = false;
	return task_rows(f, k) && (k->pos == k->n || heap_put(f, k));
}

/* The first task's next row. Returns false if out of memory. */
static bool row_emit(struct uftrace_follow *f, struct batch *b)
{
	struct follow_task *const k = f->heap[0];

	b->rows[b->count++] = k->rows[k->pos++];
	if (k->pos == k->n && !task_rows(f, k))
		return false;
	if (k->pos == k->n)
		f->heap[0] = f->heap[--f->nheap];
	if (f->nheap)
		heap_sink(f);
	return true;
}

/* --- looks: each is made with the lock held for writing --- */

/* Reads the lines of task.txt that have come. Returns false if out of memory. */
static bool lines_look(struct uftrace_follow *f)
{
	struct text whole;
	ptrdiff_t end;

	if (!f->lines)
		f->lines = file_open(f, "task.txt");
	if (!f->lines)
		return !trace_short_of_memory(f->u->t);
	source_poll(f->lines);
	whole = text_make(f->lines->data, f->lines->size);
	end = text_rfind(whole, '\n');
	whole.len = f->last ? whole.len : (size_t)(end + 1);
	if (whole.len == f->lines_size)
		return true;
	f->lines_size = whole.len;
	f->changed = now_ns();
	for (size_t i = 0; i < f->ntasks; i++)
		if (f->tasks[i]->uf.cache)
			f->tasks[i]->uf.cache->window = (struct addr_window){ 0 };
	return uftrace_renew_tasks(f->u, whole);
}

/* Follows the file of a task. Returns false if out of memory. */
static bool task_open(struct uftrace_follow *f, int64_t tid, const char *name)
{
	struct source *const s = file_open(f, name);
	struct uftrace *const u = f->u;
	struct follow_task *k;

	if (!s)
		return !trace_short_of_memory(u->t);
	k = mem_alloc(sizeof(*k));
	if (!k || !mem_grow((void **)&f->tasks, &f->tasks_cap, f->ntasks + 1,
			    sizeof(struct follow_task *), TASKS)) {
		mem_free(k);
		source_close(s);
		return false;
	}
	f->tasks[f->ntasks] = k;
	*k = (struct follow_task){ .place = (uint32_t)f->ntasks++, .fresh = true };
	diag_init(&k->feed.diag);
	pthread_mutex_lock(&u->t->lock);
	k->feed.track = uftrace_thread_track(u, &f->by_pid, tid);
	k->uf.file = uftrace_add_file(u, name, SPUR_NO_CPU);
	pthread_mutex_unlock(&u->t->lock);
	if (!k->uf.file) {
		source_close(s);
		return false;
	}
	k->uf.file->source = s;
	k->uf.file->state = FILE_GROWING;
	k->uf.tid = tid;
	k->uf.grows = true;
	k->rows = mem_array(ROWS, sizeof(*k->rows));
	source_poll(s);
	return k->rows && k->feed.track != SPUR_NONE;
}

/*
 * SPEC uftrace/follow-tasks: a file that is new. The line of its task is there before, unless it
 * was lost. Returns false if out of memory.
 */
static bool task_look(struct uftrace_follow *f, int64_t tid)
{
	struct map64_slot *const slot = map64_put(&f->seen, (uint64_t)tid);
	const int64_t now = now_ns();
	char name[40];

	if (!slot)
		return false;
	if (slot->value == 1)
		return true;
	if (!slot->value) {
		slot->value = (uint64_t)now;
		f->changed = now;
	}
	if (!f->last && !uftrace_task(&f->u->d, tid) && now - (int64_t)slot->value < patience_ns)
		return true;
	slot->value = 1;
	f->changed = now;
	if (f->ntasks == TASKS) {
		if (!f->full)
			uftrace_say(f->u, DIAG_DAMAGE, "uftrace/too-many-tasks", f->u->dir,
				    DIAG_NO_OFF,
				    "expected at most %d tasks to follow, found more: the others "
				    "are not read",
				    TASKS);
		f->full = true;
		return true;
	}
	snprintf(name, sizeof(name), "%lld.dat", (long long)tid);
	return task_open(f, tid, name);
}

/* SPEC uftrace/follow-cpus: says once that files are left out. */
static void cpus_look(struct uftrace_follow *f)
{
	struct uftrace *const u = f->u;

	if (f->told_cpus || !(uftrace_has_cpus(u, "perf-cpu") || uftrace_has_cpus(u, "kernel-cpu")))
		return;
	f->told_cpus = true;
	uftrace_say(u, DIAG_NOTE, "uftrace/follow-cpus", u->dir, DIAG_NO_OFF,
		    "records of CPUs (switches, kernel functions) are not followed: they are shown "
		    "when the recording is opened after its end");
}

/*
 * Reads names of events once they are there and the file does not change; programs of a session add
 * theirs when they begin. Returns false if out of memory.
 */
static bool events_look(struct uftrace_follow *f)
{
	char path[4400];
	struct stat st;
	bool good = true;

	snprintf(path, sizeof(path), "%s/events.txt", f->u->dir);
	if (os_stat(path, &st) != 0)
		return true;
	if (st.st_size != f->events_size) {
		f->events_size = st.st_size;
		f->events_new = true;
	} else if (f->events_new) {
		f->events_new = false;
		pthread_mutex_lock(&f->u->t->lock);
		good = uftrace_read_events(f->u);
		pthread_mutex_unlock(&f->u->t->lock);
	}
	return good;
}

static bool directory_look(struct uftrace_follow *f)
{
	struct uftrace_tids l = { 0 };
	bool good = uftrace_list_dats(f->u->dir, &l);

	for (size_t i = 0; i < l.count && good; i++)
		good = task_look(f, l.tids[i]);
	mem_table_free(l.tids, l.cap, sizeof(*l.tids));
	cpus_look(f);
	return good && events_look(f);
}

/* SPEC uftrace/follow-replaced: the recorder renames a directory that is there. */
static bool is_gone(const struct uftrace_follow *f)
{
	struct stat st;

	return os_stat(f->u->dir, &st) != 0 || st.st_dev != f->dev || st.st_ino != f->ino;
}

static void sources_look(struct uftrace_follow *f)
{
	for (size_t i = 0; i < f->ntasks; i++) {
		struct follow_task *const k = f->tasks[i];
		struct source *const s = k->uf.file->source;
		const bool more = source_poll(s);

		k->fresh |= more || (!k->uf.settled && s->size > k->uf.off);
		k->uf.settled = !more;
		f->changed = more ? now_ns() : f->changed;
		f->u->t->streams[uftrace_file_stream(f->u, k->uf.file)].size = s->size;
	}
}

/* One look at everything. Returns false if out of memory. */
static bool look(struct uftrace_follow *f)
{
	bool good = true;

	pthread_rwlock_wrlock(&f->lock);
	/* Under another name the directory may still grow, but nothing new is found in it. */
	f->gone = f->gone || is_gone(f);
	if (!f->gone) {
		good = lines_look(f);
		if (good && (f->looks++ % LOOK_EVERY == 0 || f->last))
			good = directory_look(f);
	}
	sources_look(f);
	pthread_rwlock_unlock(&f->lock);
	return good;
}

/* SPEC uftrace/follow-end */
static bool has_ended(const struct uftrace_follow *f)
{
	char path[4400];
	struct stat st;

	snprintf(path, sizeof(path), "%s/info", f->u->dir);
	return f->gone || (os_stat(path, &st) == 0 && now_ns() - f->changed > patience_ns);
}

/* What is there now is all. Returns false if out of memory. */
static bool end(struct uftrace_follow *f)
{
	f->last = true;
	if (!look(f))
		return false;
	f->over = true;
	for (size_t i = 0; i < f->ntasks; i++) {
		f->tasks[i]->uf.grows = false;
		f->tasks[i]->fresh = true;
	}
	if (f->gone)
		uftrace_say(f->u, DIAG_WARN, "follow/replaced", f->u->dir, DIAG_NO_OFF,
			    "expected the directory to grow, found that it is gone");
	return true;
}

/* Finds rows, or waits a moment. Returns false if out of memory. */
static bool rows_find(struct uftrace_follow *f)
{
	bool good = look(f);

	if (good && has_ended(f))
		good = end(f);
	for (size_t i = 0; i < f->ntasks && good; i++)
		good = task_wake(f, f->tasks[i]);
	if (good && !f->nheap && !f->over)
		os_poll(NULL, 0, REST_MS);
	return good;
}

enum spur_status uftrace_follow_next(struct uftrace_follow *f, struct batch *b)
{
	b->count = 0;
	while (!is_stopped(f)) {
		while (f->nheap && b->count < b->cap)
			if (!row_emit(f, b))
				return SPUR_FAIL;
		/* What is there goes out before anything is waited for. */
		if (b->count) {
			read_count(&f->u->t->read.records, b->count);
			return SPUR_OK;
		}
		if (f->over)
			break;
		if (!rows_find(f))
			return SPUR_FAIL;
	}
	return SPUR_END;
}

/* --- open and close --- */

/* Waits for the first task, or for the first file of a recording without a list of tasks. */
static enum spur_status await_task(struct uftrace_follow *f, struct spur_error *err)
{
	while (!is_stopped(f)) {
		if (!look(f))
			return err_nomem(err);
		if (f->u->d.ntasks || f->ntasks)
			return SPUR_OK;
		/* Files that no line names count then. */
		if (!f->last && has_ended(f))
			f->last = true;
		else if (f->last)
			return err_set(err, SPUR_ERR_FORMAT,
				       "%s: expected a recording to follow, found one without "
				       "tasks that has ended",
				       f->u->dir);
		else
			os_poll(NULL, 0, REST_MS);
	}
	return err_set(err, SPUR_ERR_IO, "%s: stopped", f->u->dir);
}

enum spur_status uftrace_follow_open(struct uftrace *u, struct spur_error *err)
{
	struct uftrace_follow *const f = mem_alloc(sizeof(*f));
	struct stat st;
	uint32_t track;

	if (!f)
		return err_nomem(err);
	u->follow = f;
	f->u = u;
	pthread_rwlock_init(&f->lock, NULL);
	u->t->live = true;
	u->t->tracks_apart = true;
	/* Pages that are never touched cost nothing, and nothing moves. */
	if (!mem_table_grow((void **)&u->files, &u->files_cap, TASKS, sizeof(*u->files), TASKS) ||
	    !trace_reserve_streams(u->t, TASKS))
		return err_nomem(err);
	if (os_stat(u->dir, &st) != 0)
		return err_set(err, SPUR_ERR_IO, "%s: %s", u->dir, strerror(errno));
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->changed = now_ns();
	if (await_task(f, err) == SPUR_FAIL)
		return SPUR_FAIL;
	track = f->ntasks ? f->tasks[0]->feed.track
			  : uftrace_thread_track(u, &f->by_pid, u->d.tasks[0].tid);
	if (track != SPUR_NONE)
		f->feed = trace_add_feed(u->t, track, NULL);
	if (!f->feed)
		return err_nomem(err);
	u->log = &f->feed->diag;
	return SPUR_OK;
}

void uftrace_follow_close(struct uftrace_follow *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->ntasks; i++) {
		uftrace_dat_close(&f->tasks[i]->uf);
		diag_free(&f->tasks[i]->feed.diag);
		mem_free(f->tasks[i]->rows);
		mem_free(f->tasks[i]);
	}
	source_close(f->lines);
	pthread_rwlock_destroy(&f->lock);
	map64_free(&f->seen);
	map64_free(&f->by_pid);
	mem_free(f->tasks);
	mem_free(f->heap);
	mem_free(f);
}
