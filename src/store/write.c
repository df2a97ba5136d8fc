/*
 * The file of a store that is written: blocks are appended by all workers, sections follow when all
 * feeds have ended. See grow.h.
 *
 * Blocks are read back through mappings of segments of the file, which are made when the first byte
 * of a segment is written and stay until the writer is freed.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"
#include "base/out.h"
#include "base/pool.h"
#include "format/format.h"
#include "store/grow.h"
#include "store/seal.h"

enum {
	SEGMENT = 64 << 20,
	SEGMENTS = 1 << 16, /* 4 TiB */
};

struct store_writer {
	struct spur_trace *trace;
	char *path, *temp; /* temp: NULL once it is renamed, or if the file has no name */
	int fd;
	uint64_t end; /* of the file so far; atomic */
	int error; /* errno of the first failure to write; atomic */
	bool done; /* atomic */
	struct store_worker *workers;
	unsigned nworkers;
	pthread_mutex_t lock; /* lanes and segments being added */
	struct growing_lane **lanes[LANE_PAGES]; /* page k has 1 << k of them */
	uint32_t nlanes; /* atomic */
	/* Numbers of span lanes, from 1 on, by track and depth (place_key()); under lock: */
	struct map64 places;
	struct slabs slabs; /* of places */
	const uint8_t **segments; /* atomic */
	struct store_lists lists; /* once it is done */
	struct store view;
};

struct spur_trace *writer_trace(const struct store_writer *w)
{
	return w->trace;
}

struct store_worker *store_writer_worker(struct store_writer *w, unsigned i)
{
	assert(i < w->nworkers);
	return &w->workers[i];
}

struct store *store_writer_view(struct store_writer *w)
{
	return &w->view;
}

int store_writer_file(const struct store_writer *w)
{
	return w->fd;
}

/* --- lanes --- */

/* Most tracks are shallow. From here on, the numbers of PLACE_GROUP depths stand together. */
enum { PLACE_SHALLOW = 16, PLACE_GROUP = 64 };

static uint64_t place_key(uint32_t track, uint32_t depth)
{
	return (uint64_t)track << 32 |
	       (depth < PLACE_SHALLOW ? depth : PLACE_SHALLOW + depth / PLACE_GROUP);
}

/* Returns the number of the lane at a place, from 1 on; 0: none is there. */
static uint32_t place_get(const struct store_writer *w, uint32_t track, uint32_t depth)
{
	const struct map64_slot *slot = map64_find(&w->places, place_key(track, depth));

	if (!slot || !slot->value)
		return 0;
	return depth < PLACE_SHALLOW
		       ? (uint32_t)slot->value
		       : ((const uint32_t *)(uintptr_t)slot->value)[depth % PLACE_GROUP];
}

/* Stores a number if none is there yet. Returns false if out of memory. */
static bool place_put(struct store_writer *w, uint32_t track, uint32_t depth, uint32_t number)
{
	struct map64_slot *slot = map64_put(&w->places, place_key(track, depth));
	uint32_t *group;

	if (!slot)
		return false;
	if (depth < PLACE_SHALLOW) {
		slot->value = slot->value ? slot->value : number;
		return true;
	}
	if (!slot->value)
		slot->value = (uintptr_t)slabs_alloc(&w->slabs, PLACE_GROUP * sizeof(*group));
	group = (uint32_t *)(uintptr_t)slot->value;
	if (!group)
		return false;
	if (!group[depth % PLACE_GROUP])
		group[depth % PLACE_GROUP] = number;
	return true;
}

uint32_t growing_lane_at(struct store_writer *w, uint32_t track, uint32_t depth)
{
	uint32_t number;

	pthread_mutex_lock(&w->lock);
	number = place_get(w, track, depth);
	pthread_mutex_unlock(&w->lock);
	return number ? number - 1 : SPUR_NONE;
}

bool writer_add_lane(struct store_writer *w, struct growing_lane *l)
{
	uint32_t n;
	unsigned page;
	bool good;

	pthread_mutex_lock(&w->lock);
	n = w->nlanes;
	page = 31 - (unsigned)__builtin_clz(n + 1);
	if (!w->lanes[page])
		w->lanes[page] = mem_table_alloc((size_t)1 << page, sizeof(struct growing_lane *));
	good = w->lanes[page] && n < INT32_MAX;
	if (good && l->kind == STORE_SPANS)
		good = place_put(w, l->track, l->depth, n + 1);
	if (good) {
		w->lanes[page][n + 1 - (1u << page)] = l;
		__atomic_store_n(&w->nlanes, n + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&w->lock);
	return good;
}

uint32_t growing_lane_count(const struct store_writer *w)
{
	return __atomic_load_n(&w->nlanes, __ATOMIC_ACQUIRE);
}

const struct growing_lane *growing_lane(const struct store_writer *w, uint32_t lane)
{
	const unsigned page = 31 - (unsigned)__builtin_clz(lane + 1);

	return w->lanes[page][lane + 1 - (1u << page)];
}

struct spur_trace *growing_trace(const struct store_writer *w)
{
	return w->trace;
}

/* --- bytes --- */

static void write_failed(struct store_writer *w, int error)
{
	int none = 0;

	__atomic_compare_exchange_n(&w->error, &none, error ? error : EIO, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

/* Maps the segments of [at, at + size). */
static bool segments_map(struct store_writer *w, uint64_t at, size_t size)
{
	bool good = true;

	for (uint64_t i = at / SEGMENT; i <= (at + size - 1) / SEGMENT && good; i++) {
		void *p;

		if (i >= SEGMENTS)
			return false;
		if (__atomic_load_n(&w->segments[i], __ATOMIC_RELAXED))
			continue;
		pthread_mutex_lock(&w->lock);
		if (!w->segments[i]) {
			p = os_mmap(NULL, SEGMENT, PROT_READ, MAP_SHARED | MAP_NORESERVE, w->fd,
				    (off_t)(i * SEGMENT));
			good = p != MAP_FAILED;
			if (good)
				__atomic_store_n(&w->segments[i], p, __ATOMIC_RELEASE);
		}
		pthread_mutex_unlock(&w->lock);
	}
	return good;
}

const uint8_t *growing_bytes(const struct store_writer *w, uint64_t at, size_t size)
{
	const uint64_t i = at / SEGMENT;
	const uint8_t *p = __atomic_load_n(&w->segments[i], __ATOMIC_ACQUIRE);

	/* No block lies in two segments: see writer_append(). */
	return p && at % SEGMENT + size <= SEGMENT ? p + at % SEGMENT : NULL;
}

bool writer_put(struct store_writer *w, uint64_t at, const void *p, size_t size)
{
	const uint8_t *from = p;

	while (size) {
		const ssize_t n = os_pwrite(w->fd, from, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			write_failed(w, n < 0 ? errno : ENOSPC);
			return false;
		}
		from += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return true;
}

/* Returns the offset of `size` new bytes that lie in one segment. */
static uint64_t writer_take(struct store_writer *w, size_t size)
{
	uint64_t at = __atomic_load_n(&w->end, __ATOMIC_RELAXED), from;

	do
		from = at % SEGMENT + size <= SEGMENT ? at : align_up(at, SEGMENT);
	while (!__atomic_compare_exchange_n(&w->end, &at, from + size, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return from;
}

uint64_t writer_append(struct store_writer *w, const void *p, size_t size)
{
	uint64_t at;

	if (__atomic_load_n(&w->error, __ATOMIC_RELAXED))
		return 0;
	at = writer_take(w, size);
	if (!writer_put(w, at, p, size))
		return 0;
	if (segments_map(w, at, size))
		return at;
	write_failed(w, ENOMEM);
	return 0;
}

/* --- counts --- */

void worker_tell(struct store_worker *k)
{
	__atomic_store_n(&k->told.rows, k->rows, __ATOMIC_RELAXED);
	__atomic_store_n(&k->told.spans, k->spans, __ATOMIC_RELAXED);
	__atomic_store_n(&k->told.events, k->events, __ATOMIC_RELAXED);
	__atomic_store_n(&k->told.first, k->first, __ATOMIC_RELAXED);
	__atomic_store_n(&k->told.last, k->last, __ATOMIC_RELAXED);
}

struct store_facts growing_facts(const struct store_writer *w)
{
	struct store_facts f = {
		.done = __atomic_load_n(&w->done, __ATOMIC_ACQUIRE),
		.start = INT64_MAX,
		.end = INT64_MIN,
		.lanes = growing_lane_count(w),
		.labels = trace_class_count(w->trace),
		.tracks = (uint32_t)trace_track_count(w->trace),
	};

	for (unsigned i = 0; i < w->nworkers; i++) {
		const struct store_worker *k = &w->workers[i];
		const int64_t first = __atomic_load_n(&k->told.first, __ATOMIC_RELAXED);
		const int64_t last = __atomic_load_n(&k->told.last, __ATOMIC_RELAXED);

		f.rows += __atomic_load_n(&k->told.rows, __ATOMIC_RELAXED);
		f.spans += __atomic_load_n(&k->told.spans, __ATOMIC_RELAXED);
		f.events += __atomic_load_n(&k->told.events, __ATOMIC_RELAXED);
		f.start = first < f.start ? first : f.start;
		f.end = last > f.end ? last : f.end;
		if (f.done)
			f.facts |= k->facts;
	}
	/* The rest is known when all rows are. */
	if (w->trace->nparts || w->trace->tops_apart)
		f.facts |= STORE_APART;
	if (trace_tracks_end_apart(w->trace))
		f.facts |= STORE_TRACKS_APART;
	if (f.start > f.end)
		f.start = f.end = 0;
	return f;
}

const struct store_lists *growing_lists(const struct store_writer *w)
{
	return &w->lists;
}

int64_t growing_last_row(const struct store_writer *w)
{
	int64_t last = INT64_MIN;

	for (unsigned i = 0; i < w->nworkers; i++)
		last = w->workers[i].last_row > last ? w->workers[i].last_row : last;
	return last;
}

/* --- beginning and ending --- */

static bool trace_is_renamed(const struct spur_trace *t)
{
	bool renamed = t->tracks_renamed;

	for (size_t i = 0; i < t->nparts; i++)
		renamed |= trace_is_renamed(t->parts[i].trace);
	return renamed;
}

static enum spur_status file_error(struct spur_error *err, const char *path, int error)
{
	return err_set(err, SPUR_ERR_IO, "%s: %s", path, strerror(error));
}

static bool writer_workers(struct store_writer *w, unsigned workers)
{
	w->workers = mem_array(workers, sizeof(*w->workers));
	w->segments = scratch_alloc(SEGMENTS * sizeof(*w->segments));
	if (!w->workers || !w->segments)
		return false;
	w->nworkers = workers;
	for (unsigned i = 0; i < workers; i++) {
		w->workers[i].writer = w;
		w->workers[i].first = INT64_MAX;
		w->workers[i].last = w->workers[i].last_row = INT64_MIN;
		w->workers[i].name_waker = trace_intern(w->trace, "waker");
		w->workers[i].name_target = trace_intern(w->trace, "target_cpu");
		worker_tell(&w->workers[i]);
	}
	return true;
}

/*
 * Makes the file: one with a name for a while beside `path`, or one without (NULL). Returns
 * SPUR_FAIL if that fails, or out of memory.
 */
static enum spur_status writer_make_file(struct store_writer *w, const char *path,
					 struct spur_error *err)
{
	static const char nameless[] = "temporary file", unique[] = ".XXXXXX";
	const size_t len = strlen(path ? path : nameless);
	char *temp;

	w->path = mem_alloc(len + 1);
	if (!w->path)
		return err_nomem(err);
	memcpy(w->path, path ? path : nameless, len);
	if (!path) {
		w->fd = temp_file_open();
		return w->fd < 0 ? file_error(err, w->path, errno) : SPUR_OK;
	}
	temp = mem_alloc(len + sizeof(unique));
	if (!temp)
		return err_nomem(err);
	memcpy(temp, path, len);
	memcpy(temp + len, unique, sizeof(unique));
	w->fd = os_mkostemp(temp, O_CLOEXEC);
	if (w->fd >= 0) {
		w->temp = temp;
		return SPUR_OK;
	}
	file_error(err, path, errno);
	mem_free(temp);
	return SPUR_FAIL;
}

enum spur_status store_writer_new(struct store_writer **out, struct spur_trace *t, const char *path,
				  unsigned workers, struct spur_error *err)
{
	struct store_writer *w = mem_alloc(sizeof(*w));
	enum spur_status st;

	*out = NULL;
	if (!w)
		return err_nomem(err);
	w->trace = t;
	w->fd = -1;
	w->end = STORE_HEAD;
	w->view.writer = w;
	pthread_mutex_init(&w->lock, NULL);
	st = writer_workers(w, workers) ? writer_make_file(w, path, err) : err_nomem(err);
	if (st == SPUR_FAIL)
		store_writer_free(w);
	else
		*out = w;
	return st;
}

enum spur_status store_writer_failed(const struct store_writer *w, struct spur_error *err)
{
	const int error = __atomic_load_n(&w->error, __ATOMIC_RELAXED);

	return error ? file_error(err, w->path, error) : err_nomem(err);
}

enum spur_status store_writer_finish(struct store_writer *w, const char *identity,
				     struct spur_error *err)
{
	const mode_t mask = os_umask(0);

	os_umask(mask);
	if (w->error)
		return store_writer_failed(w, err);
	for (unsigned i = 0; i < w->nworkers; i++)
		worker_tell(&w->workers[i]);
	trace_join_diag(w->trace);
	if (diag_groups(&w->trace->joined) || w->trace->joined.overflow)
		w->workers[0].facts |= STORE_NOTED;
	if (trace_is_renamed(w->trace))
		w->workers[0].facts |= STORE_RENAMED;
	if (!writer_lists(w, w->nworkers, &w->lists))
		return store_writer_failed(w, err);
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	if (!store_seal(w, identity, &w->end))
		return store_writer_failed(w, err);
	if (!w->temp)
		return SPUR_OK;
	if (os_fchmod(w->fd, 0666 & ~mask) != 0 || os_rename(w->temp, w->path) != 0)
		return file_error(err, w->path, errno);
	mem_free(w->temp);
	w->temp = NULL;
	return SPUR_OK;
}

static void worker_free(struct store_worker *k)
{
	for (size_t i = 0; i < k->ntracks; i++) {
		struct growing_track *t = k->tracks[i];

		for (size_t d = 0; t && d < t->nlanes; d++)
			if (t->lanes[d]) {
				lane_sums_drop(k, t->lanes[d]);
				buffer_free(t->lanes[d]);
			}
		if (t && t->states)
			buffer_free(t->states);
		if (t)
			pool_array_free(t->lanes, t->nlanes, sizeof(struct growing_lane *));
	}
	for (size_t i = 0; i < k->ncounters; i++)
		buffer_free(k->counters[i]);
	mem_free(k->tracks);
	mem_free(k->touched);
	mem_free(k->counters);
	mem_free(k->pending);
	mem_free(k->out);
	lane_sums_free(k->idle_sums);
	map64_free(&k->series);
	map64_free(&k->parked);
	mem_free(k->calls);
	spur_args_free(&k->args);
	pair_free(&k->pair);
	ends_free(&k->ends);
	slabs_free(&k->slabs);
	worker_lists_free(&k->lists);
	sample_free(&k->sample);
}

void store_writer_free(struct store_writer *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < w->nworkers; i++)
		worker_free(&w->workers[i]);
	lists_free(&w->lists);
	for (size_t i = 0; w->segments && i < SEGMENTS && w->segments[i]; i++)
		os_munmap((void *)(uintptr_t)w->segments[i], SEGMENT);
	for (unsigned i = 0; i < LANE_PAGES; i++)
		mem_table_free(w->lanes[i], (size_t)1 << i, sizeof(struct growing_lane *));
	scratch_free(w->segments, SEGMENTS * sizeof(*w->segments));
	if (w->fd >= 0)
		os_close(w->fd);
	if (w->temp)
		os_unlink(w->temp);
	pthread_mutex_destroy(&w->lock);
	map64_free(&w->places);
	slabs_free(&w->slabs);
	mem_free(w->temp);
	mem_free(w->path);
	mem_free(w->workers);
	mem_free(w);
}
