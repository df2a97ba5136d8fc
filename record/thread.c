/* Threads: the chunk that each has, and the page in it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

#include <sys/prctl.h>

#ifndef SPUR_RECORD_SIM
__thread struct spur_trace_place spur_trace_here __attribute__((tls_model("initial-exec")));
CORE_HERE __thread struct core_thread core_own __attribute__((tls_model("initial-exec")));
#endif
CORE_HERE struct core_thread *core_threads;
CORE_HERE uint64_t core_unlisted_lost;
/* In mode ring, of threads that have ended: chunks that stay as they are, and that are known. */
enum { DEAD_KEPT = 64, DEAD_MOST = 1024 };

enum { LOCK_FREE, LOCK_TAKEN, LOCK_AWAITED, LOCK_WAIT_MS = 100 };
static uint32_t lock; /* of all but what a thread has for itself */
static pthread_key_t at_exit;

void core_lock(void)
{
	if (seam_cas32(&lock, LOCK_FREE, LOCK_TAKEN))
		return;
	while (seam_swap32(&lock, LOCK_AWAITED) != LOCK_FREE)
		seam_wait(&lock, LOCK_AWAITED, LOCK_WAIT_MS);
}

void core_unlock(void)
{
	if (seam_swap32(&lock, LOCK_FREE) == LOCK_AWAITED)
		seam_wake(&lock, 1);
}

bool core_enter(void)
{
	if (core_own.busy)
		return false;
	core_own.busy = true;
	seam_fence();
	core_lock();
	return true;
}

void core_leave(void)
{
	core_unlock();
	seam_fence();
	core_own.busy = false;
	/* No chunk will say what handlers lost in here. */
	while (!core_own.listed && (seam_load(&core_own.lost) || seam_load(&core_unlisted_lost))) {
		core_own.busy = true;
		seam_fence();
		core_lock();
		core_thread_lost(&core_own);
		core_rest_lost();
		core_unlock();
		seam_fence();
		core_own.busy = false;
	}
}

void core_lost(uint64_t n)
{
	seam_add(core_own.listed ? &core_own.lost : &core_unlisted_lost, n);
}

/* Moves a count to the header. Called with the lock. */
static void lost_move(uint64_t *lost)
{
	const uint64_t n = seam_load(lost);

	if (!n)
		return;
	core_file_lost(n);
	/* In this order: a process that is killed in between has counted them. */
	seam_fence();
	seam_add(lost, 0 - n);
}

void core_thread_lost(struct core_thread *t)
{
	lost_move(&t->lost);
}

void core_rest_lost(void)
{
	lost_move(&core_unlisted_lost);
}

static void thread_list(void)
{
	struct core_thread *const own = &core_own;

	if (own->listed)
		return;
	own->here = &spur_trace_here;
	own->next = core_threads;
	own->before = &core_threads;
	if (core_threads)
		core_threads->before = &own->next;
	core_threads = own;
	own->listed = true;
	pthread_setspecific(at_exit, own);
}

/* The thread has no chunk from here on. */
static void thread_drop(void)
{
	spur_trace_here.end = NULL;
	spur_trace_here.at = NULL;
	core_own.chunk = core_own.chunk_end = NULL;
}

/* Keeps a full chunk for a while, and unmaps the one that has been kept longest. */
static void chunk_keep(char *chunk)
{
	char **slot = &core_own.kept[core_own.nkept++ % CORE_KEPT];

	if (*slot && !core_helper_unmap(*slot))
		seam_unmap(*slot, SPB_CHUNK_SIZE);
	*slot = chunk;
}

/* --- rings --- */

/* Chunks of threads that have ended, oldest first: in mode ring, later threads take them. */
static struct {
	uint32_t numbers[DEAD_MOST];
	uint32_t n;
	uint64_t session;
} dead;

/* Adds a chunk; if there is no place, the one of the oldest gives its room back. With the lock. */
static void dead_add(uint32_t number)
{
	uint32_t oldest;

	if (dead.session != core_session.number) {
		dead.session = core_session.number;
		dead.n = 0;
	}
	if (dead.n == DEAD_MOST) {
		oldest = dead.numbers[0];
		memmove(dead.numbers, dead.numbers + 1, --dead.n * sizeof(*dead.numbers));
		dead.numbers[dead.n++] = number;
		core_chunk_trim(oldest, 0);
	} else {
		dead.numbers[dead.n++] = number;
	}
}

/* The oldest chunk of the threads that have ended, if they have more than is to be kept. */
static struct core_chunk dead_take(void)
{
	struct core_chunk c = { NULL, 0 };

	if (!core_session.ring || dead.session != core_session.number || dead.n <= DEAD_KEPT)
		return c;
	c.number = dead.numbers[0];
	c.p = core_chunk_again(c.number);
	if (c.p)
		memmove(dead.numbers, dead.numbers + 1, --dead.n * sizeof(*dead.numbers));
	return c;
}

/* The thread has no ring from here on. With `dying`, others may have its chunks. With the lock. */
static void ring_drop(bool dying)
{
	struct core_thread *const own = &core_own;
	const uint32_t n = own->nring;
	struct core_chunk c;

	for (uint32_t i = 0; i < n; i++) {
		c = own->ring[(own->ring_next + i) % n];
		if (dying) {
			seam_unmap(c.p, SPB_CHUNK_SIZE);
			if (own->session == core_session.number)
				dead_add(c.number);
		} else {
			chunk_keep(c.p);
		}
	}
	if (own->ring)
		seam_unmap(own->ring, own->ring_size * sizeof(*own->ring));
	own->ring = NULL;
	own->nring = own->ring_size = own->ring_next = 0;
}

/*
 * The next chunk in a ring: another one until the ring is full or no more are to be had, then the
 * thread's own that was filled longest ago. Called with the lock.
 */
static struct core_chunk ring_chunk(bool touch)
{
	struct core_thread *const own = &core_own;
	struct core_chunk c = { NULL, 0 };

	if (!own->ring) {
		own->ring = seam_reserve(core_session.ring * sizeof(*own->ring));
		if (!own->ring)
			return c;
		own->ring_size = core_session.ring;
	}
	if (own->nring < own->ring_size && !own->ring_next) {
		c = dead_take();
		if (!c.p)
			c = core_chunk_take(true, touch);
		if (c.p) {
			own->ring[own->nring++] = c;
			return c;
		}
	}
	/* A ring of one chunk would have nothing left when it begins anew. */
	if (own->nring < 2 || own->session != core_session.number)
		return c;
	c = own->ring[own->ring_next];
	own->ring_next = (own->ring_next + 1) % own->nring;
	core_chunk_wipe(c.p);
	return c;
}

/* --- chunks and pages --- */

/* The thread is done with its chunk, which stays mapped. */
static void chunk_leave(void)
{
	if (core_own.chunk && !core_own.ring)
		chunk_keep(core_own.chunk);
	core_own.chunk = NULL;
}

/* Takes the thread's next chunk. Returns false if the file has no room. Called with the lock. */
static bool thread_chunk(struct core_moment opened)
{
	struct core_thread *const own = &core_own;
	const bool first = own->session != core_session.number;
	struct core_chunk c;
	uint64_t lost;

	if (own->chunk) {
		core_chunk_close(own->chunk);
		chunk_leave();
		if (core_session.number)
			core_helper_start();
	}
	core_switch();
	if (!core_on)
		return false;
	thread_list();
	if (first) {
		ring_drop(false);
		own->session = core_session.number;
		own->number = ++core_session.nthreads;
		if (!*own->name)
			prctl(PR_GET_NAME, own->name);
		core_describe_thread();
	}
	/* Many threads never need most of their first chunk. */
	c = core_session.ring ? ring_chunk(!first) : core_chunk_take(true, !first);
	if (!c.p || own->session != core_session.number)
		return false;
	lost = seam_load(&own->lost);
	core_chunk_open(c.p, opened, own->number, lost);
	seam_fence();
	seam_add(&own->lost, 0 - lost);
	own->chunk = c.p;
	own->chunk_end = c.p + SPB_CHUNK_SIZE;
	own->chunk_number = c.number;
	return true;
}

/*
 * A record with a word of payload that is no event: until it is complete it is a PAD record, which
 * counts as nothing.
 */
static void bookkeeping(char *at, uint32_t kind, uint64_t ticks, uint64_t payload)
{
	spur_trace_commit(at, SPB_PAD, 1, 0, ticks);
	seam_fence();
	seam_copy(at + SPB_WORD, &payload, SPB_WORD);
	spur_trace_commit(at, kind, 1, 0, ticks);
}

/* The first page of a chunk, with the fiber that runs. */
static void chunk_enter(void)
{
	const uint64_t opened = seam_load(core_own.chunk + SPB_OPEN_AT);
	char *at = core_own.chunk + SPB_CHUNK_HEAD;

	if (core_own.fiber) {
		bookkeeping(at, SPB_FIBER, opened, core_own.fiber);
		at += 2 * SPB_WORD;
	}
	spur_trace_here.sync = opened + ((uint64_t)1 << CORE_SYNC_TICKS_LOG);
	spur_trace_here.at = at;
	seam_fence();
	spur_trace_here.end = core_own.chunk + SPB_PAGE;
}

/*
 * Moves on to the next page of the chunk. Returns false at the chunk's end. A recording that ends
 * meanwhile takes the page away, before or after it is here.
 */
static bool page_next(void)
{
	char *const end = spur_trace_here.end;

	/* Until `end` is set again, a signal handler finds no room, and counts what it loses. */
	spur_trace_here.end = NULL;
	seam_fence();
	if (!core_own.chunk || !end || end == core_own.chunk_end ||
	    core_own.session != seam_load(&core_session.number))
		return false;
	spur_trace_here.at = end;
	seam_fence();
	seam_store_pointer(&spur_trace_here.end, end + SPB_PAGE);
	seam_fence_threads();
	if (core_own.session == seam_load(&core_session.number))
		return true;
	spur_trace_here.end = NULL;
	return false;
}

/* Moves on to the next chunk. Returns false if no more can be stored. */
static bool chunk_next(void)
{
	/* What follows may take long, and the record that waits has a time from before. */
	const struct core_moment opened = core_clock_moment();
	bool good;

	core_lock();
	if (core_own.session != core_session.number)
		chunk_leave();
	good = thread_chunk(opened);
	if (good) {
		chunk_enter();
	} else {
		thread_drop();
		core_file_lost(1);
	}
	core_unlock();
	return good;
}

char *spur_trace_page(char *at, uint64_t size)
{
	bool good = true;

	/* In a slow path of this thread: takes back what it added. */
	if (core_own.busy) {
		seam_add((uint64_t *)(void *)&spur_trace_here.at, 0 - size);
		core_lost(1);
		return NULL;
	}
	core_own.busy = true;
	seam_fence();
	/* Else a signal handler was faster, and there is a new page already. */
	if (spur_trace_here.at == at + size || !spur_trace_here.end)
		good = page_next() || chunk_next();
	seam_fence();
	core_own.busy = false;
	return good ? spur_trace_reserve(size) : NULL;
}

void spur_trace_sync(uint64_t ticks)
{
	char *p;

	if (core_own.busy || !core_own.chunk)
		return;
	spur_trace_here.sync = ticks + ((uint64_t)1 << CORE_SYNC_TICKS_LOG);
	p = spur_trace_reserve(2 * SPB_WORD);
	if (!p)
		return;
	bookkeeping(p, SPB_TIME, ticks, ticks);
}

void core_thread_close(void)
{
	if (!core_own.chunk || core_own.session != core_session.number)
		return;
	core_chunk_close(core_own.chunk);
	chunk_leave();
	thread_drop();
}

/* A thread ends: its chunk has its last record, and no need of the pages behind. */
static void thread_end(void *p)
{
	struct core_thread *const own = &core_own;
	char *end, *chunk;

	(void)p;
	if (!core_enter())
		return;
	end = spur_trace_here.end;
	chunk = own->chunk;
	*own->before = own->next;
	if (own->next)
		own->next->before = own->before;
	/* From here on a signal handler finds no room, so that the chunk can be unmapped. */
	thread_drop();
	seam_fence();
	if (chunk)
		core_chunk_close(chunk);
	if (chunk && !own->ring)
		seam_unmap(chunk, SPB_CHUNK_SIZE);
	if (chunk && own->session == core_session.number && end)
		core_chunk_trim(own->chunk_number, (size_t)(end - chunk));
	ring_drop(true);
	for (unsigned i = 0; i < CORE_KEPT; i++)
		if (own->kept[i])
			seam_unmap(own->kept[i], SPB_CHUNK_SIZE);
	own->listed = false;
	own->session = 0;
	memset(own->kept, 0, sizeof(own->kept));
	core_leave();
}

void core_threads_forget(void)
{
	struct core_thread *const own = &core_own;

	lock = LOCK_FREE;
	own->busy = false;
	core_threads = NULL;
	own->listed = false;
	own->session = 0;
	own->lost = 0;
	core_unlisted_lost = 0;
	memset(own->kept, 0, sizeof(own->kept));
	own->ring = NULL;
	own->nring = own->ring_size = own->ring_next = 0;
	thread_drop();
}

void core_threads_init(void)
{
	pthread_key_create(&at_exit, thread_end);
}
