/* Files of recordings that grow. See grow.h. */
#include "format/spur/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/process.h"

enum {
	NS_PER_MS = 1000000,
	FAR_MS = 2000,
	PAIRS_MS = 100, /* between two pairs of clocks, if nothing else says the frequency */
	AHEAD = 16 * SPB_PAGE, /* bytes that are read at once */
	WAITING_MOST = 4096, /* chunks that are not in use, before those behind are looked at */
};

int64_t grow_now(void)
{
	struct timespec t;

	os_clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- bytes --- */

static uint64_t slot_off(const struct grow_file *g, uint32_t slot)
{
	return SPB_HEADER + (uint64_t)slot * g->s.chunk_size;
}

/* The bytes that a chunk's copy has. */
static uint32_t slot_room(const struct grow_file *g, uint32_t slot)
{
	const uint64_t off = slot_off(g, slot), left = g->s.size > off ? g->s.size - off : 0;

	return (uint32_t)(left < g->s.chunk_size ? left / SPB_WORD * SPB_WORD : g->s.chunk_size);
}

static bool copy_grow(struct grow_file *g, uint64_t size)
{
	if (!mirror_grow(&g->mirror, size))
		return false;
	g->s.size = g->mirror.size;
	return true;
}

/* Reads a part of a chunk. Returns false (errno) if that fails. */
static bool chunk_load(struct grow_file *g, const struct grow_chunk *k, uint32_t from, uint32_t len)
{
	const uint32_t room = slot_room(g, k->slot);

	if (from >= room)
		return true;
	return mirror_load(&g->mirror, slot_off(g, k->number) + from, slot_off(g, k->slot) + from,
			   len < room - from ? len : room - from);
}

/* SPEC spur/follow-ring: a chunk may have been used again while it was read. */
static bool chunk_is_same(const struct grow_file *g, const struct grow_chunk *k)
{
	uint8_t sequence[8];

	return !g->ring || (mirror_peek(&g->mirror, slot_off(g, k->number) + SPB_SEQUENCE_AT,
					sequence, sizeof(sequence)) == sizeof(sequence) &&
			    spb_64(sequence) == k->sequence);
}

/* --- opening --- */

enum spur_status grow_open(struct grow_file *g, const char *path, uint64_t range)
{
	struct spb *const s = &g->s;

	g->lost = (struct grow_thread){ .file = g, .index = SPUR_NONE };
	if (!mirror_open(&g->mirror, path, range) || !copy_grow(g, SPB_HEADER) ||
	    !mirror_load(&g->mirror, 0, 0, SPB_HEADER))
		return errno == ENOMEM ? SPUR_FAIL : SPUR_WARN;
	s->data = g->mirror.data;
	if (!spb_head_valid(s->data, SPB_HEADER)) {
		errno = EINVAL;
		return SPUR_WARN;
	}
	spb_head_take(s);
	g->ring = spb_32(s->data + SPB_MODE_AT) == SPB_RING;
	g->observed = spb_32(s->data + SPB_MODE_AT) == SPB_OBSERVED;
	g->start_time = spb_64(s->data + SPB_START_TIME_AT);
	spb_pair_take(&g->last, spb_pair_at(s->data + SPB_BEGIN_AT));
	return SPUR_OK;
}

static void rows_end(struct grow_thread *th)
{
	mem_free(th->rows);
	th->rows = NULL;
	th->pos = th->n = 0;
}

void grow_close(struct grow_file *g)
{
	for (size_t i = 0; i < g->nthreads; i++) {
		rows_end(g->threads[i]);
		mem_free(g->threads[i]);
	}
	rows_end(&g->lost);
	spb_free(&g->s);
	mirror_close(&g->mirror);
	mem_free(g->threads);
	mem_free(g->waiting);
	mem_free(g->sequences);
	mem_free(g->chunks);
	mem_free(g->descriptors);
	mem_free(g->path);
}

/* --- chunks --- */

static bool chunk_wait(struct grow_file *g, uint32_t number)
{
	if (!mem_grow((void **)&g->waiting, &g->waiting_cap, g->nwaiting + 1, sizeof(*g->waiting),
		      WAITING_MOST))
		return false;
	g->waiting[g->nwaiting++] = number;
	return true;
}

/* A chunk that is in use and was not seen as that. Returns false if out of memory. */
static bool chunk_found(struct grow_file *g, uint32_t number, const uint8_t *head)
{
	struct spb *const s = &g->s;
	struct grow_chunk k = { .sequence = spb_64(head + SPB_SEQUENCE_AT),
				.number = number,
				.slot = g->ring ? (uint32_t)g->nchunks : number,
				.thread = SPUR_NONE };

	if (g->ring && !copy_grow(g, slot_off(g, k.slot) + s->chunk_size))
		return false;
	if (spb_32(head) != SPB_CHUNK_MAGIC) {
		spb_report_chunk(s, slot_off(g, number), s->chunk_size, "the magic SPBC",
				 spb_32(head));
		return true;
	}
	if (spb_16(head + SPB_KIND_AT) == SPB_CHUNK_RECORDS) {
		if (!spb_thread_fits(s, spb_32(head + SPB_THREAD_AT))) {
			spb_report_chunk(s, slot_off(g, number), s->chunk_size, SPB_THREADS_TEXT,
					 spb_32(head + SPB_THREAD_AT));
			return true;
		}
		k.thread =
			spb_thread_get(s, spb_32(head + SPB_THREAD_AT), spb_32(head + SPB_TID_AT));
		if (k.thread == SPUR_NONE)
			return false;
		if (!s->threads[k.thread].tid)
			s->threads[k.thread].tid = spb_32(head + SPB_TID_AT);
	} else if (spb_16(head + SPB_KIND_AT) != SPB_CHUNK_DESCRIPTORS) {
		spb_report_chunk(s, slot_off(g, number), s->chunk_size, "a kind of 1 or 2",
				 spb_16(head + SPB_KIND_AT));
		return true;
	}
	spb_pair_take(&g->last, spb_pair_at(head + SPB_OPEN_AT));
	spb_pair_take(&g->last, spb_pair_at(head + SPB_CLOSE_AT));
	if (!mem_grow((void **)&g->chunks, &g->chunks_cap, g->nchunks + 1, sizeof(*g->chunks),
		      UINT32_MAX))
		return false;
	g->chunks[g->nchunks++] = k;
	return true;
}

/* Looks at a chunk; *used: it is in use. Returns false if out of memory. */
static bool chunk_look(struct grow_file *g, uint32_t number, bool *used)
{
	uint8_t head[SPB_CHUNK_HEAD] = { 0 };
	uint64_t sequence;

	mirror_peek(&g->mirror, slot_off(g, number), head, sizeof(head));
	sequence = spb_64(head + SPB_SEQUENCE_AT);
	*used = sequence != 0;
	if (!sequence)
		return true;
	if (g->ring) {
		if (!mem_grow((void **)&g->sequences, &g->sequences_cap, (size_t)number + 1,
			      sizeof(*g->sequences), UINT32_MAX))
			return false;
		if (g->sequences[number] == sequence)
			return true;
		g->sequences[number] = sequence;
	}
	return chunk_found(g, number, head);
}

/* Chunks that were not in use at the last look. */
static bool waiting_look(struct grow_file *g)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->nwaiting; i++) {
		bool used;

		if (!chunk_look(g, g->waiting[i], &used))
			return false;
		if (!used)
			g->waiting[kept++] = g->waiting[i];
	}
	g->nwaiting = kept;
	return true;
}

/* All chunks that are new, or used again. Returns false if out of memory. */
static bool chunks_look(struct grow_file *g)
{
	const uint64_t size =
		g->s.size > SPB_HEADER && !g->ring ? g->s.size : mirror_file_size(&g->mirror);
	const uint64_t room = size > SPB_HEADER ? size - SPB_HEADER : 0;
	const uint64_t n = room / g->s.chunk_size + (room % g->s.chunk_size >= SPB_CHUNK_HEAD);
	bool used;

	if (!waiting_look(g))
		return false;
	for (uint32_t i = 0; g->ring && i < g->scanned; i++)
		if (!chunk_look(g, i, &used))
			return false;
	for (; g->scanned < n && g->scanned < UINT32_MAX; g->scanned++) {
		/* Behind many that are not in use, the others come later, or never. */
		if (g->nwaiting == WAITING_MOST && !g->ended)
			break;
		if (!chunk_look(g, g->scanned, &used) ||
		    (!used && !g->ring && g->nwaiting < WAITING_MOST && !chunk_wait(g, g->scanned)))
			return false;
	}
	return true;
}

static int chunk_order(const void *a, const void *b)
{
	const struct grow_chunk *x = a, *y = b;

	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* --- descriptors --- */

/*
 * Where descriptors go on: what is there is read by now. Returns true if a descriptor stands at the
 * place.
 */
static bool descriptor_ready(struct grow_file *g)
{
	struct spb_cursor *const c = &g->describing;

	while (c->at < c->end) {
		const size_t in_page = (size_t)(c->at - c->base) % SPB_PAGE;
		const uint8_t *const next = c->at - in_page + SPB_PAGE;

		if (spb_32(c->at))
			return true;
		/* The rest of the page is empty for good if another one has been begun. */
		if (g->described + 1 == g->ndescriptors && !g->ended &&
		    (next >= c->end || !spb_32(next)))
			return false;
		c->at = next < c->end ? next : c->end;
	}
	return false;
}

static bool describe_chunk(struct grow_file *g)
{
	const struct grow_chunk *const k = &g->chunks[g->descriptors[g->described]];
	struct spb_cursor *const c = &g->describing;
	struct spb_described d;

	if (!c->base)
		c->at = g->s.data + slot_off(g, k->slot) + SPB_CHUNK_HEAD;
	c->base = g->s.data + slot_off(g, k->slot);
	c->end = c->base + slot_room(g, k->slot);
	if (!chunk_load(g, k, (uint32_t)(c->at - c->base) / SPB_PAGE * SPB_PAGE, UINT32_MAX))
		return false;
	if (!chunk_is_same(g, k))
		return true;
	c->ticks = spb_64(c->base + SPB_OPEN_AT);
	while (descriptor_ready(g) && spb_descriptor_next(&g->s, c, g->s.diag, &d))
		if (!spb_describe_one(&g->s, &d))
			return false;
	return true;
}

/* Under the trace's lock. */
static bool describe(struct grow_file *g)
{
	while (g->described < g->ndescriptors) {
		if (!describe_chunk(g))
			return false;
		if (g->described + 1 == g->ndescriptors)
			break;
		g->described++;
		g->describing.base = NULL;
	}
	return true;
}

/* --- threads --- */

static bool threads_grow(struct grow_file *g)
{
	struct spb *const s = &g->s;

	while (g->nthreads < s->nthreads) {
		struct grow_thread *th;

		if (!mem_grow((void **)&g->threads, &g->threads_cap, g->nthreads + 1,
			      sizeof(struct grow_thread *), SPB_THREADS + 1) ||
		    !(th = mem_alloc(sizeof(*th))))
			return false;
		th->file = g;
		th->index = (uint32_t)g->nthreads;
		g->threads[g->nthreads++] = th;
		s->threads[th->index].track = SPUR_NONE;
	}
	return true;
}

/* A thread gets its track with its first chunk: by then its name is known. */
static bool chunk_queue(struct grow_file *g, uint32_t index)
{
	const struct grow_chunk *const k = &g->chunks[index];
	struct grow_thread *th;

	if (k->thread == SPUR_NONE) {
		if (!mem_grow((void **)&g->descriptors, &g->descriptors_cap, g->ndescriptors + 1,
			      sizeof(*g->descriptors), UINT32_MAX))
			return false;
		g->descriptors[g->ndescriptors++] = index;
		return true;
	}
	th = g->threads[k->thread];
	if (th->tail)
		g->chunks[th->tail - 1].next = index + 1;
	if (!th->head)
		th->head = index + 1;
	th->tail = index + 1;
	return true;
}

static bool tracks_grow(struct grow_file *g, size_t from)
{
	struct spb *const s = &g->s;

	if (!s->named && !spb_tracks_open(s))
		return false;
	for (size_t i = from; i < g->nchunks; i++) {
		const uint32_t thread = g->chunks[i].thread;

		if (thread != SPUR_NONE && s->threads[thread].track == SPUR_NONE &&
		    !spb_thread_track(s, &s->threads[thread], 0))
			return false;
	}
	return true;
}

/* The clocks of this moment, which are those of a process of this machine that runs. */
static struct spb_pair pair_now(void)
{
	struct spb_pair p = { .mono = (uint64_t)grow_now() };
#if defined(__x86_64__)
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 10; i++) {
		const uint64_t before = (uint64_t)grow_now(), ticks = __builtin_ia32_rdtsc(),
			       took = (uint64_t)grow_now() - before;

		if (took >= least)
			continue;
		least = took;
		p = (struct spb_pair){ ticks, before + took / 2 };
	}
#endif
	return p;
}

/*
 * SPEC spur/follow-clock: rows that were given out keep their times, so the first look says what
 * they are. Where neither a frequency nor a later pair is stored, the clock is read here.
 */
static void scale_set(struct grow_file *g)
{
	struct spb *const s = &g->s;
	const uint64_t begin = spb_64(s->data + SPB_BEGIN_AT + 8);
	struct spb_pair last = g->last;

	if (!g->ended && spb_32(s->data + SPB_CLOCK_AT) == SPB_CLOCK_TSC &&
	    !spb_64(s->data + SPB_HZ_AT)) {
		while (grow_now() - (int64_t)begin < PAIRS_MS * (int64_t)NS_PER_MS &&
		       grow_now() >= (int64_t)begin)
			os_poll(NULL, 0, 1);
		spb_pair_take(&last, pair_now());
	}
	spb_scale_set(s, last);
}

static void horizon_set(struct grow_file *g, int64_t now)
{
	struct spb *const s = &g->s;
	const int64_t since = now - GROW_LAG_MS * (int64_t)NS_PER_MS - (int64_t)g->last.mono;
	const uint64_t zero = spb_ticks_near(s, 0);

	/* From the latest pair, as the two clocks may have drifted since the first. */
	g->horizon = g->last.ticks + (spb_ticks_near(s, since) - zero);
	g->far = spb_ticks_near(s, FAR_MS * (int64_t)NS_PER_MS) - zero;
}

/* Takes the chunks that were found. Returns false if out of memory. */
static bool chunks_take(struct grow_file *g)
{
	struct spb *const s = &g->s;
	const size_t from = g->queued;
	bool good = threads_grow(g);

	if (g->nchunks > from)
		qsort(g->chunks + from, g->nchunks - from, sizeof(*g->chunks), chunk_order);
	for (; good && g->queued < g->nchunks; g->queued++)
		good = chunk_queue(g, (uint32_t)g->queued);
	spb_follow_wait(s->follow);
	good = good && describe(g) && threads_grow(g) && tracks_grow(g, from);
	spb_follow_unlock(s->follow);
	return good;
}

bool grow_look(struct grow_file *g, int64_t now, struct spur_error *err)
{
	struct spb *const s = &g->s;
	bool good;

	if (g->over)
		return true;
	g->looks++;
	errno = ENOMEM;
	good = mirror_load(&g->mirror, 0, 0, SPB_HEADER);
	s->lost = spb_64(s->data + SPB_LOST_AT);
	/* SPEC spur/follow-end: looked at first, so that what was written before it is found. */
	g->elsewhere = spb_32(s->data + SPB_CLOCK_AT) == SPB_CLOCK_NAMED ||
		       !process_boot_is_this(s->data + SPB_BOOT_AT);
	g->ended = spb_64(s->data + SPB_END_AT) || g->elsewhere ||
		   !process_runs(spb_32(s->data + SPB_PID_AT), g->start_time);
	spb_pair_take(&g->last, spb_pair_at(s->data + SPB_END_AT));
	if (!g->ring)
		good = good && copy_grow(g, mirror_file_size(&g->mirror));
	pthread_mutex_lock(&s->t->lock);
	good = good && chunks_look(g);
	if (good && g->looks == 1)
		scale_set(g);
	good = good && chunks_take(g);
	pthread_mutex_unlock(&s->t->lock);
	s->last = g->last.ticks;
	s->last_mono = g->last.mono;
	if (good)
		horizon_set(g, now);
	else if (errno == ENOMEM)
		err_nomem(err);
	else
		err_set(err, SPUR_ERR_IO, "%s: %s", g->path, strerror(errno));
	return good;
}

/* --- records --- */

static bool is_due(const struct grow_file *g, uint64_t ticks)
{
	const uint64_t behind = ticks - g->horizon;

	/* A time that is much later than now says nothing. */
	return g->elsewhere || behind == 0 || behind >> 63 || behind > g->far;
}

/* The time of the record that begins with a word. */
static uint64_t ticks_at(const struct spb_cursor *c, const uint8_t *p)
{
	const uint64_t word = spb_64(p);

	if ((word & 15) == SPB_TIME && word >> 4 & 15 && c->end - p >= 2 * SPB_WORD)
		return spb_64(p + SPB_WORD);
	return c->ticks + (uint64_t)(int64_t)(int32_t)((uint32_t)(word >> 32) - (uint32_t)c->ticks);
}

enum settled { SETTLED_RECORD, SETTLED_NOT, SETTLED_END, SETTLED_FAILED };

/* Makes sure that the bytes of the chunk up to `to` were read at least once. */
static bool pages_load(struct grow_thread *th, uint32_t to)
{
	struct grow_file *const g = th->file;

	while (th->loaded < to) {
		th->read = true;
		if (!chunk_load(g, &g->chunks[th->current], th->loaded, AHEAD))
			return false;
		th->loaded += AHEAD;
	}
	return true;
}

/* Reads the page at an offset again, and the next one. Returns false if that fails. */
static bool pages_check(struct grow_thread *th, uint32_t at)
{
	struct grow_file *const g = th->file;

	th->read = true;
	th->checked = at;
	th->checked_in = g->looks;
	return chunk_load(g, &g->chunks[th->current], at / SPB_PAGE * SPB_PAGE, 2 * SPB_PAGE);
}

/* The first word from `p` to `end` that is not zero; `end`: if no word is. */
static const uint8_t *word_find(const uint8_t *p, const uint8_t *end)
{
	while (p < end && !spb_64(p))
		p += SPB_WORD;
	return p;
}

int64_t grow_begins(const struct grow_thread *th)
{
	const struct grow_file *const g = th->file;
	uint8_t ticks[8];

	if (!th->head ||
	    mirror_peek(&g->mirror, slot_off(g, g->chunks[th->head - 1].number) + SPB_OPEN_AT,
			ticks, 8) != 8)
		return g->s.mono;
	return spb_ns(&g->s, spb_64(ticks));
}

/* Whether the thread will store nothing more in its chunk. */
static bool chunk_is_done(const struct grow_thread *th)
{
	const struct grow_file *const g = th->file;
	const struct grow_chunk *const k = &g->chunks[th->current];
	uint8_t ticks[8];

	if (g->ended)
		return true;
	if (th->head)
		return mirror_peek(&g->mirror,
				   slot_off(g, g->chunks[th->head - 1].number) + SPB_OPEN_AT, ticks,
				   8) == 8 &&
		       is_due(g, spb_64(ticks));
	return mirror_peek(&g->mirror, slot_off(g, k->number) + SPB_CLOSE_AT, ticks, 8) == 8 &&
	       spb_64(ticks) && is_due(g, spb_64(ticks));
}

/*
 * SPEC spur/follow-hole: what stands at the place is not complete. Whether something is behind it
 * that is old enough, so that it will not be completed. `from`: where the next record would be.
 */
static bool is_left(const struct grow_thread *th, const struct spb_cursor *c, const uint8_t *from)
{
	const uint8_t *const page = c->base + (size_t)(c->at - c->base) / SPB_PAGE * SPB_PAGE;
	const uint8_t *const end = c->end - page > 2 * SPB_PAGE ? page + 2 * SPB_PAGE : c->end;
	const uint8_t *const next = word_find(from < end ? from : end, end);

	if (next < end)
		return (spb_64(next) & 15) == SPB_RESERVED || is_due(th->file, ticks_at(c, next));
	return chunk_is_done(th);
}

/* At a place where no complete record stands. */
static enum settled gap_settle(struct grow_thread *th, struct spb_cursor *c)
{
	const uint8_t *const page = c->base + (size_t)(c->at - c->base) / SPB_PAGE * SPB_PAGE;
	const uint8_t *const end = c->end - page > SPB_PAGE ? page + SPB_PAGE : c->end;
	const uint64_t word = spb_64(c->at), words = word >> 4 & 15;
	/* SPEC spur/reserved */
	const uint64_t len = SPB_WORD * (words == SPB_LENGTH_FAR ? 2 + (word >> 32) : 1 + words);

	if (!is_left(th, c, word ? c->at + (len < (size_t)(end - c->at) ? len : SPB_WORD) : c->at))
		return SETTLED_NOT;
	if (!word && word_find(c->at, end) == end) {
		c->at = end;
		return SETTLED_END;
	}
	return SETTLED_RECORD;
}

/*
 * Whether the record at the cursor can be relied on. Moves the cursor over the unused rest of a
 * page.
 */
static enum settled settle(struct grow_thread *th, struct spb_cursor *c)
{
	struct grow_file *const g = th->file;

	c->end = c->base + slot_room(g, g->chunks[th->current].slot);
	while (c->at < c->end) {
		const uint32_t at = (uint32_t)(c->at - c->base);
		uint64_t word;

		if (!pages_load(th, (at / SPB_PAGE + 2) * SPB_PAGE))
			return SETTLED_FAILED;
		word = spb_64(c->at);
		if (word && (word & 15) != SPB_RESERVED)
			return is_due(g, ticks_at(c, c->at)) ? SETTLED_RECORD : SETTLED_NOT;
		if (th->checked != at || th->checked_in != g->looks) {
			if (!pages_check(th, at))
				return SETTLED_FAILED;
			continue;
		}
		switch (gap_settle(th, c)) {
		case SETTLED_RECORD:
			return SETTLED_RECORD;
		case SETTLED_END: /* of the page */
			continue;
		default:
			return SETTLED_NOT;
		}
	}
	/* The file may have only the beginning of the chunk so far. */
	return (uint32_t)(c->end - c->base) == g->s.chunk_size || chunk_is_done(th) ? SETTLED_END
										    : SETTLED_NOT;
}

/* Begins the thread's next chunk. Returns false if that fails. */
static bool chunk_begin(struct grow_thread *th, const struct spb_rows *w)
{
	struct grow_file *const g = th->file;
	const struct grow_chunk *const k = &g->chunks[th->head - 1];

	th->current = th->head - 1;
	th->head = k->next;
	th->tail = k->next ? th->tail : 0;
	th->loaded = th->checked = 0;
	if (!pages_load(th, SPB_PAGE))
		return false;
	spb_cursor_open(w->s, w->c, k->slot, w->th->track);
	return true;
}

/*
 * SPEC spur/chunk-lost: a thread counts in the head of its latest chunk until it has the next one,
 * also when it has filled that. Returns false while it may count more; *lost gets the count.
 */
static bool chunk_lost(struct grow_thread *th, uint64_t *lost)
{
	const struct grow_file *const g = th->file;
	const struct grow_chunk *const k = &g->chunks[th->current];
	uint8_t count[8] = { 0 };

	*lost = 0;
	if (!g->ended && !th->head)
		return false;
	th->read = true;
	if (mirror_peek(&g->mirror, slot_off(g, k->number) + SPB_CHUNK_LOST_AT, count, 8) == 8)
		*lost = spb_64(count);
	return true;
}

/* Whether what was read of the chunk is still of its records. */
static bool is_same(struct grow_thread *th)
{
	const bool read = th->read;

	th->read = false;
	return !read || chunk_is_same(th->file, &th->file->chunks[th->current]);
}

static bool has_chunk(const struct grow_thread *th, const struct spb_cursor *c)
{
	return c->base || th->head;
}

enum spb_outcome grow_row(struct grow_thread *th, const struct spb_rows *w, struct spur_event *row)
{
	struct spb_thread *const of = w->th;
	struct spb_cursor *const c = w->c;
	enum spb_outcome made = ROW_NONE;
	struct spb_record r;
	uint64_t lost;
	bool same;

	if (of->npending) {
		of->npending--;
		*row = of->pending;
		return ROW_MADE;
	}
	while (made == ROW_NONE && has_chunk(th, c)) {
		enum settled settled;

		if (!c->base) {
			if (!chunk_begin(th, w))
				return ROW_FAILED;
			continue;
		}
		settled = settle(th, c);
		if (settled == SETTLED_FAILED)
			return ROW_FAILED;
		if (settled == SETTLED_NOT)
			return ROW_NONE;
		if (settled == SETTLED_END && !chunk_lost(th, &lost))
			return ROW_NONE;
		same = is_same(th);
		if (same && settled == SETTLED_END)
			made = spb_chunk_end(w, lost, row);
		if (!same || settled == SETTLED_END) {
			c->base = NULL;
			continue;
		}
		if (spb_record_next(w->s, c, w->diag, &r))
			made = spb_row_of(w, &r, row);
	}
	return made;
}

bool grow_is_open(const struct grow_thread *th)
{
	const struct grow_file *const g = th->file;

	if (th->index == SPUR_NONE)
		return g->ended && !g->s.lost_told && g->s.lost;
	return has_chunk(th, &g->s.threads[th->index].cursor) || g->s.threads[th->index].npending;
}
