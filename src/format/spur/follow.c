/*
 * Recordings that are still being written: a directory, or the file of one process. All of their
 * rows are one feed, in the order of time. SPEC spur/follow: a look finds new files, chunks and
 * descriptors; then each thread's rows come out up to the time before which all is complete, which
 * grow.c knows; then nothing, until the next look.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/fnv.h"
#include "base/os.h"
#include "base/process.h"
#include "format/spur/grow.h"

enum {
	REST_MS = 50,
	FILES = 65536,
	MANY_FILES = 256,
};

/* Until a directory whose processes have all ended is taken to be complete. */
#define PATIENCE_NS INT64_C(1000000000)
/* Of addresses, for each of the first files, and for each of the others. */
#define RANGE_MOST (UINT64_C(64) << 30)
#define RANGE_LEAST (UINT64_C(1) << 30)

/* A track of a program's own file, in a list of those with the same ids. */
struct known_track {
	uint32_t track;
	uint32_t next; /* index + 1; 0: none */
	int64_t since;
};

struct spb_follow {
	struct spur_trace *t;
	struct spb *root; /* has the classes that all files share */
	struct feed *feed; /* NULL: opening */
	pthread_rwlock_t lock; /* what descriptors say */
	bool is_dir;
	struct map64 seen; /* hashes of the names of files that are open */
	struct grow_file **files; /* by stream */
	size_t nfiles; /* atomic */
	struct grow_thread **heap; /* those that have rows, the earliest first */
	size_t nheap, heap_cap;
	uint32_t nthreads; /* of all files */
	struct known_track *known;
	size_t nknown, known_cap;
	struct map64 by_ids; /* hash of kind, pid and tid to the index + 1 of a list of them */
	int64_t changed; /* when a file was found last */
	unsigned looks;
	bool complete;
	bool any_boot; /* no file is of this boot */
};

static struct diag_log *log_of(struct spb_follow *f)
{
	return f->feed ? &f->feed->diag : &f->t->diag;
}

void spb_follow_lock(struct spb_follow *f)
{
	if (f)
		pthread_rwlock_rdlock(&f->lock);
}

void spb_follow_wait(struct spb_follow *f)
{
	pthread_rwlock_wrlock(&f->lock);
}

void spb_follow_unlock(struct spb_follow *f)
{
	if (f)
		pthread_rwlock_unlock(&f->lock);
}

struct spb *spb_follow_file(struct spb_follow *f, uint32_t stream)
{
	assert(stream < __atomic_load_n(&f->nfiles, __ATOMIC_ACQUIRE));
	return &f->files[stream]->s;
}

static bool is_stopped(const struct spb_follow *f)
{
	const volatile int *stop = f->t->options.stop;

	return stop && *stop;
}

/* --- files --- */

/* The first file says what the trace's clock is. Returns false if out of memory. */
static bool clock_take(struct spb_follow *f, struct grow_file *g)
{
	bool good = true;

	if (f->nfiles > 1)
		return true;
	pthread_mutex_lock(&f->t->lock);
	good = spb_clock_open(&g->s);
	pthread_mutex_unlock(&f->t->lock);
	return good;
}

/* Times of another boot do not belong on the same line. */
static bool is_other_boot(const struct spb_follow *f, const struct grow_file *g)
{
	return f->nfiles &&
	       memcmp(f->files[0]->s.data + SPB_BOOT_AT, g->s.data + SPB_BOOT_AT, SPB_BOOT_SIZE);
}

/* A file that is open. Returns false if out of memory. */
static bool file_take(struct spb_follow *f, struct grow_file *g)
{
	const char *const slash = strrchr(g->path, '/');
	struct spb *const s = &g->s;
	uint32_t stream;

	pthread_mutex_lock(&f->t->lock);
	stream = trace_add_stream(f->t, slash ? slash + 1 : g->path, 0);
	pthread_mutex_unlock(&f->t->lock);
	if (stream == SPUR_NONE)
		return false;
	assert(stream == f->nfiles);
	s->stream = stream;
	s->file = f->t->streams[stream].path;
	memcpy(s->own, f->root->own, sizeof(s->own));
	memcpy(s->words, f->root->words, sizeof(s->words));
	f->files[stream] = g;
	__atomic_store_n(&f->nfiles, f->nfiles + 1, __ATOMIC_RELEASE);
	return clock_take(f, g);
}

static void file_refused(struct spb_follow *f, const struct grow_file *g, const char *why)
{
	diag_add(log_of(f), DIAG_DAMAGE, "spur/unreadable", f->t->path, DIAG_NO_OFF, 0,
		 "%s: expected a recording to follow, found %s: not read", g->path, why);
}

/* Opens a file. Returns false if out of memory. */
static bool file_open(struct spb_follow *f, const char *path)
{
	struct grow_file *const g = mem_alloc(sizeof(*g));
	const size_t len = strlen(path) + 1;
	enum spur_status st = SPUR_FAIL;

	if (!g)
		return false;
	g->s.t = f->t;
	g->s.follow = f;
	g->s.diag = log_of(f);
	g->mirror.fd = g->mirror.copy = -1;
	g->path = mem_alloc(len);
	if (g->path) {
		memcpy(g->path, path, len);
		st = grow_open(g, path, f->nfiles < MANY_FILES ? RANGE_MOST : RANGE_LEAST);
	}
	if (st == SPUR_OK && !is_other_boot(f, g))
		return file_take(f, g);
	if (st == SPUR_OK)
		file_refused(f, g, "one of another boot");
	else if (st == SPUR_WARN)
		file_refused(f, g, strerror(errno));
	grow_close(g);
	mem_free(g);
	return st != SPUR_FAIL;
}

/*
 * SPEC spur/follow-files: a file of the directory that was not seen. One without a header is looked
 * at again later.
 */
static bool file_look(struct spb_follow *f, const char *name)
{
	uint8_t head[SPB_HEADER];
	struct map64_slot *slot;
	char path[4096];

	if (!spb_is_named(name) || map64_find(&f->seen, hash_str(name, 0)) ||
	    snprintf(path, sizeof(path), "%s/%s", f->t->path, name) >= (int)sizeof(path) ||
	    f->nfiles == FILES)
		return true;
	if (file_head(path, FILE_REGULAR, head, sizeof(head)) != sizeof(head) ||
	    !spb_head_valid(head, sizeof(head)))
		return true;
	/* SPEC spur/follow-boot: a recording that is being written says which boot counts. */
	if (!f->nfiles && !f->any_boot && !process_boot_is_this(head + SPB_BOOT_AT))
		return true;
	slot = map64_put(&f->seen, hash_str(name, 0));
	if (!slot)
		return false;
	slot->value = 1;
	f->changed = grow_now();
	return file_open(f, path);
}

static bool directory_look(struct spb_follow *f)
{
	DIR *const d = os_opendir(f->t->path);
	const struct dirent *e;
	bool good = true;

	while (d && good && (e = os_readdir(d)) != NULL)
		good = file_look(f, e->d_name);
	if (d)
		os_closedir(d);
	return good;
}

/* --- the merge: a heap of threads by the time of their first row --- */

static bool comes_before(const struct grow_thread *a, const struct grow_thread *b)
{
	const int64_t x = a->rows[a->pos].ts, y = b->rows[b->pos].ts;

	return x != y ? x < y : a->order < b->order;
}

static void heap_sink(struct spb_follow *f)
{
	struct grow_thread **const h = f->heap, *const th = h[0];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < f->nheap && comes_before(h[child + 1], h[child]))
			child++;
		if (child >= f->nheap || !comes_before(h[child], th))
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = th;
}

static bool heap_put(struct spb_follow *f, struct grow_thread *th)
{
	size_t i = f->nheap;

	if (!mem_grow((void **)&f->heap, &f->heap_cap, i + 1, sizeof(struct grow_thread *),
		      SIZE_MAX / sizeof(struct grow_thread *)))
		return false;
	for (f->nheap++; i && comes_before(th, f->heap[(i - 1) / 2]); i = (i - 1) / 2)
		f->heap[i] = f->heap[(i - 1) / 2];
	f->heap[i] = th;
	return true;
}

/* --- tracks that the kernel saw: SPEC spur/observed --- */

static uint64_t track_ids(const struct spur_trace *t, uint32_t track)
{
	const struct spur_track *const k = trace_track(t, track);
	const int64_t ids[] = { trace_track_kind(t, track), k->pid, k->tid };

	return fnv_bytes(fnv_basis, ids, sizeof(ids));
}

static bool known_add(struct spb_follow *f, uint32_t track, int64_t since)
{
	struct map64_slot *const slot = map64_put(&f->by_ids, track_ids(f->t, track));

	if (!slot || !mem_grow((void **)&f->known, &f->known_cap, f->nknown + 1, sizeof(*f->known),
			       UINT32_MAX))
		return false;
	f->known[f->nknown] = (struct known_track){ .track = track,
						    .next = (uint32_t)slot->value,
						    .since = since };
	slot->value = ++f->nknown;
	return true;
}

/* Takes over the tracks of a file that were not known. Returns false if out of memory. */
static bool known_look(struct spb_follow *f, struct grow_file *g)
{
	bool good = true;

	if (g->observed || !g->s.named)
		return true;
	if (!g->process_known)
		good = known_add(f, g->s.process, g->s.mono);
	g->process_known = true;
	for (size_t i = 0; i < g->nthreads && good; i++) {
		struct grow_thread *const th = g->threads[i];
		const uint32_t track = g->s.threads[i].track;

		if (th->known || track == SPUR_NONE)
			continue;
		th->known = true;
		good = track == g->s.process || known_add(f, track, grow_begins(th));
	}
	return good;
}

/*
 * The track of a program's own file on which a row of an observed track belongs: of those with its
 * ids the one that began last before it, else the first one; its own track if no file has such a
 * track.
 */
static uint32_t known_find(const struct spb_follow *f, const struct spur_event *row)
{
	const struct map64_slot *const slot = map64_find(&f->by_ids, track_ids(f->t, row->track));
	const struct known_track *best = slot ? &f->known[slot->value - 1] : NULL;

	for (const struct known_track *k = best; k && k->next;) {
		k = &f->known[k->next - 1];
		if (best->since > row->ts ? k->since < best->since
					  : k->since <= row->ts && k->since > best->since)
			best = k;
	}
	return best ? best->track : row->track;
}

/* --- rows --- */

/* The next row of a thread, or the process's own row. */
static enum spb_outcome row_take(struct spb_follow *f, struct grow_thread *th,
				 struct spur_event *row)
{
	struct spb *const s = &th->file->s;
	struct batch one = { .rows = row, .cap = 1 };
	struct spb_rows w = { .s = s, .diag = log_of(f), .stored = f->t->options.as_stored };
	enum spb_outcome made;

	if (th->index == SPUR_NONE)
		return grow_is_open(th) && spb_read_process(s, &one) == SPUR_OK ? ROW_MADE
										: ROW_NONE;
	w.th = &s->threads[th->index];
	w.c = &w.th->cursor;
	made = grow_row(th, &w, row);
	if (made == ROW_MADE && th->file->observed)
		row->track = known_find(f, row);
	return made;
}

/* SPEC spur/follow-order: rows of a thread are put in order as far as the window goes. */
static void window_put(struct grow_thread *th, const struct spur_event *row)
{
	uint32_t i = th->n++;

	for (; i > th->pos && th->rows[i - 1].ts > row->ts; i--)
		th->rows[i] = th->rows[i - 1];
	th->rows[i] = *row;
}

/* Fills a thread's window. Returns false if out of memory, or if the disk is full. */
static bool window_fill(struct spb_follow *f, struct grow_thread *th)
{
	struct spur_event row;

	memmove(th->rows, th->rows + th->pos, (th->n - th->pos) * sizeof(*th->rows));
	th->n -= th->pos;
	th->pos = 0;
	while (th->n < GROW_WINDOW && !th->dry) {
		const enum spb_outcome made = row_take(f, th, &row);

		if (made == ROW_FAILED)
			return false;
		th->dry = made == ROW_NONE;
		if (made == ROW_MADE)
			window_put(th, &row);
	}
	return true;
}

/* A thread that may have rows since the look. */
static bool thread_wake(struct spb_follow *f, struct grow_thread *th)
{
	if (!grow_is_open(th) || th->rows)
		return true;
	th->rows = mem_array(GROW_WINDOW, sizeof(*th->rows));
	th->pos = th->n = 0;
	th->dry = false;
	if (!th->rows || !window_fill(f, th))
		return false;
	if (th->n)
		return heap_put(f, th);
	mem_free(th->rows);
	th->rows = NULL;
	return true;
}

/* The first thread's next row. Returns false if out of memory, or if the disk is full. */
static bool row_emit(struct spb_follow *f, struct batch *b)
{
	struct grow_thread *const th = f->heap[0];

	b->rows[b->count++] = th->rows[th->pos++];
	if (!th->dry && th->n - th->pos <= GROW_WINDOW / 2 && !window_fill(f, th))
		return false;
	if (th->pos < th->n) {
		heap_sink(f);
		return true;
	}
	mem_free(th->rows);
	th->rows = NULL;
	f->heap[0] = f->heap[--f->nheap];
	if (f->nheap)
		heap_sink(f);
	return true;
}

/* --- looks --- */

/* SPEC spur/follow-end: all of a file whose process has ended was read. */
static void file_end(struct spb_follow *f, struct grow_file *g)
{
	bool open = grow_is_open(&g->lost);

	for (size_t i = 0; !open && i < g->nthreads; i++)
		open = grow_is_open(g->threads[i]);
	g->over = g->ended && !open;
	if (!g->over)
		return;
	mirror_end(&g->mirror);
	f->changed = grow_now();
}

static bool file_wake(struct spb_follow *f, struct grow_file *g)
{
	for (size_t i = 0; i < g->nthreads; i++) {
		if (!g->threads[i]->order)
			g->threads[i]->order = ++f->nthreads;
		if (!thread_wake(f, g->threads[i]))
			return false;
	}
	return thread_wake(f, &g->lost);
}

/* One look at all files. Returns false if it fails. */
static bool look(struct spb_follow *f, struct spur_error *err)
{
	const int64_t now = grow_now();

	/*
	 * After the time was taken, so that no file is missed that has records from before the
	 * horizon.
	 */
	f->looks++;
	if (f->is_dir && !directory_look(f)) {
		err_nomem(err);
		return false;
	}
	for (size_t i = 0; i < f->nfiles; i++) {
		struct grow_file *const g = f->files[i];

		if (!g->over && !grow_look(g, now, err))
			return false;
		if (!known_look(f, g)) {
			err_nomem(err);
			return false;
		}
		f->t->streams[i].size = g->s.size;
	}
	return true;
}

/* Whether nothing more will come. */
static bool is_complete(struct spb_follow *f)
{
	bool over = true;

	for (size_t i = 0; i < f->nfiles; i++) {
		if (!f->files[i]->over)
			file_end(f, f->files[i]);
		over &= f->files[i]->over;
	}
	return over && (!f->is_dir || grow_now() - f->changed > PATIENCE_NS);
}

/* A directory that is gone has no new files. */
static bool is_gone(struct spb_follow *f)
{
	struct stat st;

	return os_stat(f->t->path, &st) != 0;
}

/* Looks, and makes the first rows of each thread that has some. */
static bool rows_find(struct spb_follow *f, struct spur_error *err)
{
	if (!look(f, err))
		return false;
	for (size_t i = 0; i < f->nfiles; i++)
		if (!f->files[i]->over && !file_wake(f, f->files[i]))
			return false;
	return true;
}

static enum spur_status failed(struct spb_follow *f, const struct spur_error *err)
{
	/* A shortage of memory is known to the trace. */
	if (err->code != SPUR_ERR_NONE && err->code != SPUR_ERR_MEMORY)
		diag_add(log_of(f), DIAG_DAMAGE, "spur/unreadable", f->t->path, DIAG_NO_OFF, 0,
			 "%s", err->message);
	f->complete = true;
	return trace_short_of_memory(f->t) ? SPUR_FAIL : SPUR_END;
}

enum spur_status spb_follow_next(struct spb_follow *f, struct batch *b)
{
	struct spur_error err = { 0 };

	b->count = 0;
	while (!f->complete && !is_stopped(f)) {
		while (f->nheap && b->count < b->cap)
			if (!row_emit(f, b))
				return b->count ? SPUR_OK : failed(f, &err);
		/* What is there goes out before anything is waited for. */
		if (b->count) {
			read_count(&f->t->read.records, b->count);
			return SPUR_OK;
		}
		if (f->looks && is_complete(f))
			f->complete = true;
		else if (!rows_find(f, &err))
			return failed(f, &err);
		if (!f->complete && !f->nheap)
			os_poll(NULL, 0, REST_MS);
		if (f->is_dir && !f->nheap && is_gone(f))
			f->changed = 0;
	}
	return SPUR_END;
}

/* --- open and close --- */

enum spur_status spb_follow_open(struct spb *root, struct spur_error *err)
{
	struct spur_trace *const t = root->t;
	struct spb_follow *const f = mem_alloc(sizeof(*f));

	if (!f)
		return err_nomem(err);
	root->follow = f;
	f->t = t;
	f->root = root;
	f->is_dir = !t->source;
	pthread_rwlock_init(&f->lock, NULL);
	/* Pages that are never touched cost nothing, and nothing moves. */
	f->files = mem_array(FILES, sizeof(struct grow_file *));
	t->live = true;
	t->tops_apart = f->is_dir;
	t->tracks_apart = true;
	if (!f->files || !trace_reserve_streams(t, FILES) || !spb_names_open(root))
		return err_nomem(err);
	if (!(f->is_dir ? directory_look(f) : file_open(f, t->path)))
		return err_nomem(err);
	f->any_boot = true;
	if (f->is_dir && !f->nfiles && !directory_look(f))
		return err_nomem(err);
	if (!f->nfiles)
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected a recording to follow, found none that can be read",
			       t->path);
	if (!look(f, err))
		return SPUR_FAIL;
	if (!spb_info_open(&f->files[0]->s))
		return err_nomem(err);
	f->feed = trace_add_feed(t, f->files[0]->s.process, f);
	if (!f->feed)
		return err_nomem(err);
	for (size_t i = 0; i < f->nfiles; i++)
		f->files[i]->s.diag = &f->feed->diag;
	return SPUR_OK;
}

void spb_follow_close(struct spb_follow *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nfiles; i++) {
		grow_close(f->files[i]);
		mem_free(f->files[i]);
	}
	pthread_rwlock_destroy(&f->lock);
	map64_free(&f->seen);
	map64_free(&f->by_ids);
	mem_free(f->known);
	mem_free(f->files);
	mem_free(f->heap);
	mem_free(f);
}
