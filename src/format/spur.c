/*
 * Spur's own recordings: a file for each process, of chunks with records of one thread each, or
 * with descriptors of what records name. Here files are read as they stand, also those of processes
 * that still run; spur/follow.c reads them while they grow.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"
#include "format/spur/reader.h"

enum { SCORE_SURE = 100, MAX_PROCESSES = 65536, HZ_TRUSTED_NS = 1000000000 };

static const char suffix[] = ".spb";

/* --- probe: SPEC spur/header --- */

static bool chunk_size_valid(uint32_t size)
{
	return size >= SPB_CHUNK_LEAST && size <= SPB_CHUNK_MOST && !(size & (size - 1));
}

bool spb_head_valid(const uint8_t *p, size_t len)
{
	return len >= SPB_HEADER && spb_64(p) == SPB_MAGIC &&
	       chunk_size_valid(spb_32(p + SPB_CHUNK_SIZE_AT));
}

static bool is_recording(const char *path)
{
	uint8_t head[SPB_HEADER];
	const ssize_t got = file_head(path, FILE_REGULAR, head, sizeof(head));

	return got > 0 && spb_head_valid(head, (size_t)got);
}

bool spb_is_named(const char *name)
{
	const size_t len = strlen(name), n = sizeof(suffix) - 1;

	return len > n && strcmp(name + len - n, suffix) == 0;
}

static int name_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct names {
	const char **list;
	size_t count, cap;
};

/* The recordings in a directory by name, at most `most`. Returns false if out of memory. */
static bool find_recordings(const char *dir, struct arena *a, size_t most, struct names *l)
{
	DIR *d = os_opendir(dir);
	const struct dirent *e;
	bool good = true;

	while (d && good && l->count < most && (e = os_readdir(d)) != NULL) {
		const char *path;

		if (!spb_is_named(e->d_name))
			continue;
		path = arena_printf(a, "%s/%s", dir, e->d_name);
		good = path && mem_grow((void **)&l->list, &l->cap, l->count + 1, sizeof(*l->list),
					MAX_PROCESSES);
		if (good && is_recording(path))
			l->list[l->count++] = path;
	}
	if (d)
		os_closedir(d);
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), name_order);
	return good;
}

static int probe(const struct probe *p)
{
	struct names l = { 0 };
	struct arena a;
	bool found;

	if (!p->is_dir)
		return spb_head_valid(p->head, p->len) ? SCORE_SURE : 0;
	arena_init(&a);
	found = find_recordings(p->path, &a, 1, &l) && l.count;
	mem_free(l.list);
	arena_free(&a);
	return found ? SCORE_SURE : 0;
}

/* SPEC spur/recording */
static enum spur_status members(const char *dir, struct arena *a, const char *const **paths,
				size_t *count, struct spur_error *err)
{
	struct names l = { 0 };
	const char **list;

	if (!find_recordings(dir, a, MAX_PROCESSES, &l)) {
		mem_free(l.list);
		return err_nomem(err);
	}
	list = arena_alloc(a, (l.count ? l.count : 1) * sizeof(*list));
	if (list && l.count)
		memcpy(list, l.list, l.count * sizeof(*list));
	mem_free(l.list);
	*paths = list;
	*count = l.count;
	return list ? SPUR_OK : err_nomem(err);
}

/* --- clock: SPEC spur/clock --- */

int64_t spb_ns(const struct spb *s, uint64_t ticks)
{
	const int64_t ns = scale_ns(&s->scale, (int64_t)(ticks - s->ticks));

	return ns > INT64_MAX - s->mono ? INT64_MAX : ns + s->mono;
}

uint64_t spb_ticks_near(const struct spb *s, int64_t ns)
{
	const struct scale back = { .num = s->scale.den, .den = s->scale.num };

	return s->ticks + (uint64_t)scale_ns(&back, ns - s->mono);
}

struct spb_pair spb_pair_at(const uint8_t *p)
{
	return (struct spb_pair){ spb_64(p), spb_64(p + 8) };
}

/* Takes a pair that is later than the latest so far. */
void spb_pair_take(struct spb_pair *last, struct spb_pair p)
{
	if (p.ticks && p.mono <= INT64_MAX && p.ticks > last->ticks && p.mono > last->mono)
		*last = p;
}

/*
 * The line through the first pair and the last one, which may be that of a chunk; but where they
 * are less than a second apart, with the kernel's own slope, or (SPEC spur/learned-clock) the one
 * that the recorder has learned.
 */
void spb_scale_set(struct spb *s, struct spb_pair last)
{
	const uint8_t *const head = s->data;
	const struct spb_pair first = spb_pair_at(head + SPB_BEGIN_AT);
	const uint64_t hz = spb_64(head + SPB_HZ_AT);

	s->ticks = first.ticks;
	s->mono = first.mono <= INT64_MAX ? (int64_t)first.mono : 0;
	s->scale = (struct scale){ 1, 1 };
	if (spb_32(head + SPB_CLOCK_AT) == SPB_CLOCK_MONOTONIC ||
	    spb_32(head + SPB_CLOCK_AT) == SPB_CLOCK_NAMED)
		return;
	if (last.ticks > first.ticks && last.mono > first.mono &&
	    (!hz || last.mono - first.mono >= HZ_TRUSTED_NS))
		s->scale = (struct scale){ last.mono - first.mono, last.ticks - first.ticks };
	else if (!scale_from_hz(&s->scale, hz))
		diag_add(s->diag, DIAG_WARN, "spur/no-frequency", s->file, SPB_HZ_AT, 0,
			 "clock: expected a frequency or two pairs of clocks, found one pair: a "
			 "tick counts as a ns");
}

/* SPEC spur/named-clock. Returns false if out of memory. */
static bool name_clock(struct spb *s)
{
	const char *const name = (const char *)s->data + SPB_CLOCK_NAME_AT;
	const size_t len = strnlen(name, SPB_CLOCK_NAME_SIZE);
	struct clock_info *const c = &s->t->clock;

	c->name = "monotonic";
	c->derived = "the recorder relates its ticks to CLOCK_MONOTONIC";
	if (spb_32(s->data + SPB_CLOCK_AT) != SPB_CLOCK_NAMED)
		return true;
	c->own_zero = spb_32(s->data + SPB_ZERO_AT) & 1;
	c->name = len ? arena_strdup(&s->t->arena, name, len) : "unknown";
	c->derived = "the recording says so";
	return c->name;
}

bool spb_clock_open(struct spb *s)
{
	const uint8_t *const head = s->data, *const boot = head + SPB_BOOT_AT;
	struct clock_info *const c = &s->t->clock;
	const uint64_t real = spb_64(head + SPB_BEGIN_AT + 16);
	char id[2 * SPB_BOOT_SIZE + 1];
	bool known = false;

	for (size_t i = 0; i < SPB_BOOT_SIZE; i++) {
		snprintf(id + 2 * i, 3, "%02x", boot[i]);
		known |= boot[i] != 0;
	}
	c->hz = 1000000000;
	if (spb_32(head + SPB_CLOCK_AT) == SPB_CLOCK_TSC)
		c->hz = spb_64(head + SPB_HZ_AT);
	c->hz = c->hz ? c->hz : 1000000000;
	c->epoch_known = real && real <= INT64_MAX;
	c->epoch_ns = c->epoch_known ? (int64_t)real - s->mono : 0;
	c->identity = known ? arena_printf(&s->t->arena, "%s", id) : NULL;
	return name_clock(s) && (!known || c->identity);
}

/* --- chunks and threads --- */

void spb_head_take(struct spb *s)
{
	s->chunk_size = spb_32(s->data + SPB_CHUNK_SIZE_AT);
	s->pid = spb_32(s->data + SPB_PID_AT);
	s->lost = spb_64(s->data + SPB_LOST_AT);
}

static bool all_zero(const uint8_t *p, const uint8_t *end)
{
	while (p < end && !*p)
		p++;
	return p == end;
}

/* SPEC spur/thread */
uint32_t spb_thread_get(struct spb *s, uint32_t number, uint32_t tid)
{
	struct map64_slot *const slot = map64_put(&s->by_number, number);

	if (!slot)
		return SPUR_NONE;
	if (slot->value)
		return (uint32_t)slot->value - 1;
	if (!mem_grow((void **)&s->threads, &s->threads_cap, s->nthreads + 1, sizeof(*s->threads),
		      SPB_THREADS))
		return SPUR_NONE;
	s->threads[s->nthreads] = (struct spb_thread){ .number = number, .tid = tid };
	slot->value = ++s->nthreads;
	return (uint32_t)s->nthreads - 1;
}

bool spb_thread_fits(const struct spb *s, uint32_t number)
{
	return s->nthreads < SPB_THREADS || map64_find(&s->by_number, number);
}

static bool chunk_add(struct spb *s, uint32_t number, uint32_t thread)
{
	const uint8_t *end;
	const uint64_t sequence = spb_64(spb_chunk(s, number, &end) + SPB_SEQUENCE_AT);

	if (!mem_grow((void **)&s->chunks, &s->chunks_cap, s->nchunks + 1, sizeof(*s->chunks),
		      SIZE_MAX / sizeof(*s->chunks)))
		return false;
	s->chunks[s->nchunks++] =
		(struct spb_chunk){ .sequence = sequence, .number = number, .thread = thread };
	return true;
}

void spb_report_chunk(struct spb *s, uint64_t off, uint64_t lost, const char *expected,
		      unsigned found)
{
	diag_add(s->diag, DIAG_DAMAGE, "spur/bad-chunk", s->file, off, lost,
		 "chunk: expected %s, found 0x%x: skipped", expected, found);
}

/* SPEC spur/chunk, SPEC spur/chunk-kind. Returns false if out of memory. */
static bool chunk_look(struct spb *s, uint32_t number, struct spb_pair *last)
{
	const uint8_t *end, *const p = spb_chunk(s, number, &end);
	const uint64_t off = spb_off(s, p), left = s->size - off;
	const uint64_t size = left < s->chunk_size ? left : s->chunk_size;
	uint32_t thread = SPUR_NONE;

	/* SPEC spur/tail */
	if (size < SPB_CHUNK_HEAD) {
		if (!all_zero(p, p + size))
			spb_report_chunk(s, off, size, "a head of 64 bytes", (unsigned)size);
		return true;
	}
	if (spb_32(p) != SPB_CHUNK_MAGIC) {
		/* The process may have ended while it wrote the head. */
		if (spb_32(p) || spb_64(p + SPB_SEQUENCE_AT) || !all_zero(p + SPB_CHUNK_HEAD, end))
			spb_report_chunk(s, off, size, "the magic SPBC", spb_32(p));
		return true;
	}
	if (!spb_64(p + SPB_SEQUENCE_AT))
		return true;
	spb_pair_take(last, spb_pair_at(p + SPB_OPEN_AT));
	spb_pair_take(last, spb_pair_at(p + SPB_CLOSE_AT));
	if (spb_16(p + SPB_KIND_AT) == SPB_CHUNK_RECORDS) {
		if (!spb_thread_fits(s, spb_32(p + SPB_THREAD_AT))) {
			spb_report_chunk(s, off, size, SPB_THREADS_TEXT, spb_32(p + SPB_THREAD_AT));
			return true;
		}
		thread = spb_thread_get(s, spb_32(p + SPB_THREAD_AT), spb_32(p + SPB_TID_AT));
		if (thread == SPUR_NONE)
			return false;
		s->threads[thread].count++;
	} else if (spb_16(p + SPB_KIND_AT) != SPB_CHUNK_DESCRIPTORS) {
		spb_report_chunk(s, off, size, "a kind of 1 or 2", spb_16(p + SPB_KIND_AT));
		return true;
	}
	return chunk_add(s, number, thread);
}

static int chunk_order(const void *a, const void *b)
{
	const struct spb_chunk *x = a, *y = b;

	/* SPUR_NONE, that of descriptors, becomes the first. */
	if (x->thread != y->thread)
		return x->thread + 1 < y->thread + 1 ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static bool chunks_open(struct spb *s, struct spb_pair *last)
{
	const uint64_t room = s->size - SPB_HEADER;
	const uint64_t n = room / s->chunk_size + (room % s->chunk_size != 0);
	uint32_t first = 0;

	for (uint64_t i = 0; i < n && i < UINT32_MAX; i++)
		if (!chunk_look(s, (uint32_t)i, last))
			return false;
	/* As stored, they are in the order of the file. */
	if (s->t->options.as_stored || !s->nchunks)
		return true;
	qsort(s->chunks, s->nchunks, sizeof(*s->chunks), chunk_order);
	while (first < s->nchunks && s->chunks[first].thread == SPUR_NONE)
		first++;
	for (size_t i = 0; i < s->nthreads; i++) {
		s->threads[i].first = first;
		first += s->threads[i].count;
	}
	assert(first == s->nchunks);
	return true;
}

/* --- tracks and feeds --- */

static uint32_t program_name(struct spb *s)
{
	const char *const path = (const char *)s->data + SPB_PROGRAM_AT;
	const size_t len = strnlen(path, SPB_ARGUMENTS_AT - SPB_PROGRAM_AT);
	const char *const slash = memrchr(path, '/', len);
	const size_t skip = slash ? (size_t)(slash - path) + 1 : 0;

	return s->process_name ? s->process_name : trace_intern_n(s->t, path + skip, len - skip);
}

uint32_t spb_track_new(struct spb *s, uint32_t name, enum spur_track_kind kind, int64_t tid)
{
	return trace_add_track(s->t, (struct spur_track){ .parent = s->process,
							  .name = name,
							  .kind = kind,
							  .pid = s->pid,
							  .tid = tid,
							  .cpu = -1 });
}

/*
 * SPEC spur/track: the track of a thread, and before it that of its parent; `nest` are the levels
 * below. Returns false if out of memory.
 */
bool spb_thread_track(struct spb *s, struct spb_thread *th, unsigned nest)
{
	const struct spb_track *const k = th->described ? &s->tracks[th->described - 1] : NULL;
	const struct map64_slot *slot = NULL;
	struct spur_track track = { .parent = s->process,
				    .name = th->name,
				    .kind = SPUR_TRACK_THREAD,
				    .pid = s->pid,
				    .tid = th->tid,
				    .cpu = -1 };

	if (th->begun)
		return true;
	th->begun = true;
	if (k && k->kind == SPUR_TRACK_PROCESS) {
		th->track = s->process;
		return true;
	}
	if (k) {
		track.kind = k->kind;
		track.pid = k->pid;
		track.tid = k->tid;
		track.cpu = k->cpu;
		slot = k->parent ? map64_find(&s->by_number, k->parent) : NULL;
	}
	if (slot && nest < SPB_NEST) {
		struct spb_thread *const above = &s->threads[slot->value - 1];

		if (!spb_thread_track(s, above, nest + 1))
			return false;
		/* One of a circle has no track yet. */
		track.parent = above->track == SPUR_NONE ? s->process : above->track;
	}
	th->track = trace_add_track(s->t, track);
	return th->track != SPUR_NONE;
}

/*
 * Of all threads. In a file that grows, one that only has a name gets its track with its first
 * chunk, which has its id.
 */
static bool thread_tracks(struct spb *s)
{
	bool good = true;

	for (size_t i = 0; i < s->nthreads; i++) {
		s->threads[i].track = SPUR_NONE;
		s->threads[i].begun = false;
	}
	for (size_t i = 0; good && i < s->nthreads; i++)
		if (!s->follow || s->threads[i].tid || s->threads[i].described)
			good = spb_thread_track(s, &s->threads[i], 0);
	/* Reading has not begun. */
	for (size_t i = 0; i < s->nthreads; i++)
		s->threads[i].begun = false;
	return good;
}

/* From when on tracks have their ids. Returns false if out of memory. */
static bool since_set(struct spb *s)
{
	const uint8_t *p, *end;
	int64_t *since;

	if (s->follow || s->t->options.as_stored)
		return true;
	/* SPEC spur/observed */
	s->t->observes = spb_32(s->data + SPB_MODE_AT) == SPB_OBSERVED;
	since = arena_alloc(&s->t->arena, (size_t)s->t->ntracks * sizeof(*since));
	if (!since)
		return false;
	for (uint32_t i = 0; i < s->t->ntracks; i++)
		since[i] = s->mono;
	for (size_t i = 0; i < s->nthreads; i++) {
		const struct spb_thread *const th = &s->threads[i];

		if (!th->count || th->track == s->process)
			continue;
		p = spb_chunk(s, s->chunks[th->first].number, &end);
		since[th->track] = spb_ns(s, spb_64(p + SPB_OPEN_AT));
	}
	s->t->track_since = since;
	return true;
}

bool spb_tracks_open(struct spb *s)
{
	size_t at = 0;
	struct map64_slot *slot;

	s->process = SPUR_NONE;
	s->process = spb_track_new(s, program_name(s), SPUR_TRACK_PROCESS, -1);
	if (s->process == SPUR_NONE)
		return false;
	if (!thread_tracks(s))
		return false;
	while ((slot = map64_next(&s->fibers, &at)) != NULL) {
		slot->value = spb_track_new(s, (uint32_t)slot->value, SPUR_TRACK_OTHER, -1);
		if (slot->value == SPUR_NONE)
			return false;
	}
	/* SPEC spur/fiber: it may run on several threads. */
	s->t->tracks_shared |= s->fibers.count != 0;
	s->named = true;
	return since_set(s);
}

static bool feeds_open(struct spb *s)
{
	struct feed *f;

	if (s->t->options.as_stored) {
		f = trace_add_feed(s->t, s->process, s);
		if (f)
			f->stream = 0;
		return f != NULL;
	}
	for (size_t i = 0; i < s->nthreads; i++) {
		if (!s->threads[i].count)
			continue;
		/* Several feeds may have rows of the process's own track. */
		s->t->tracks_shared |= s->threads[i].track == s->process;
		f = trace_add_feed(s->t, s->threads[i].track, &s->threads[i]);
		if (!f)
			return false;
		f->size = (uint64_t)s->threads[i].count * s->chunk_size;
	}
	return !s->lost || trace_add_feed(s->t, s->process, NULL);
}

/* A file as it stands. */
static enum spur_status open_file(struct spb *s, struct source *src, struct spur_error *err)
{
	struct spur_trace *const t = s->t;
	struct spb_pair last = { 0 };
	bool good;

	source_need(src, UINT64_MAX);
	s->src = src;
	s->data = src->data;
	s->size = src->size;
	s->holes = src->holes;
	if (!spb_head_valid(s->data, s->size))
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected a header of 4,096 bytes with a valid size of chunks, "
			       "found %llu bytes",
			       t->path, (unsigned long long)s->size);
	if (trace_add_stream(t, strrchr(t->path, '/') ? strrchr(t->path, '/') + 1 : t->path,
			     s->size) == SPUR_NONE)
		return err_nomem(err);
	s->file = t->streams[0].path;
	spb_head_take(s);
	spb_pair_take(&last, spb_pair_at(s->data + SPB_BEGIN_AT));
	spb_pair_take(&last, spb_pair_at(s->data + SPB_END_AT));
	if (!spb_names_open(s) || !chunks_open(s, &last))
		return err_nomem(err);
	spb_scale_set(s, last);
	pthread_mutex_lock(&t->lock);
	good = spb_clock_open(s) && spb_describe(s);
	pthread_mutex_unlock(&t->lock);
	if (!good || !spb_tracks_open(s) || !feeds_open(s) || !spb_info_open(s))
		return err_nomem(err);
	s->last = last.ticks;
	s->last_mono = last.mono;
	return SPUR_OK;
}

static enum spur_status open_trace(struct spur_trace *t, struct source *src, struct spur_error *err)
{
	struct spb *s = mem_alloc(sizeof(*s));

	if (!s)
		return err_nomem(err);
	t->state = s;
	s->t = t;
	s->diag = &t->diag;
	t->version = "1";
	t->byte_order = "little";
	if (t->options.follow && strcmp(t->path, "-") == 0)
		return err_set(err, SPUR_ERR_USAGE,
			       "-: expected the path of a recording to follow, found a pipe: "
			       "a recording is not written from its beginning to its end");
	if (t->options.follow)
		return spb_follow_open(s, err);
	if (!src)
		return err_set(err, SPUR_ERR_FORMAT, "%s: expected a recording, found a directory",
			       t->path);
	return open_file(s, src, err);
}

static enum spur_status next_rows(struct spur_trace *t, struct feed *f, struct batch *b)
{
	struct spb *const s = t->state;

	b->count = 0;
	if (s->follow)
		return spb_follow_next(s->follow, b);
	if (f->state == s)
		return spb_read_stored(s, f, b);
	return f->state ? spb_read(s, f, b) : spb_read_process(s, b);
}

void spb_free(struct spb *s)
{
	for (size_t i = 0; i < s->nthreads; i++)
		spb_thread_end(&s->threads[i]);
	spb_names_close(s);
	map64_free(&s->by_number);
	mem_free(s->threads);
	mem_free(s->tracks);
	mem_free(s->chunks);
}

static void close_trace(struct spur_trace *t)
{
	struct spb *const s = t->state;

	spb_follow_close(s->follow);
	spb_free(s);
	mem_free(s);
}

const struct spur_format spur_format_spur = {
	.name = "spur",
	.title = "Spur's own recordings (functions, library calls, programs' own events)",
	.reads = "version 1; directories, and files of one process",
	.counts_discarded = true,
	.follows_dirs = true,
	.probe = probe,
	.members = members,
	.run_info = spb_run_info,
	.open = open_trace,
	.next = next_rows,
	.args = spb_args,
	.stack = spb_stack,
	.fields = spb_fields,
	.place = spb_place,
	.ticks = spb_ticks,
	.schema = spb_schema,
	.copy = spb_copy,
	.joins = spb_joins,
	.recover = spb_recover,
	.snapshot = spb_snapshot,
	.copies_runs = true,
	.close = close_trace,
};
