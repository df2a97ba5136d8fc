/* Threads: the chunk that each has, and the page in it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

#include <sys/prctl.h>

#ifndef SPUR_RECORD_SIM
/* Aligned for seam_turn(). */
__thread struct spur_trace_place spur_trace_here
	__attribute__((tls_model("initial-exec"), aligned(16)));
CORE_HERE __thread struct core_thread core_own __attribute__((tls_model("initial-exec")));
#endif
CORE_HERE struct core_thread *core_threads;
CORE_HERE uint64_t core_unlisted_lost;
/* In mode ring, of threads that have ended: chunks that stay as they are, and that are known. */
enum { DEAD_KEPT = 64, DEAD_MOST = 1024 };
enum { OLD_AT_ONCE = 2 }; /* chunks of a kept ring that are unmapped when another is taken */

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

bool core_lock_try(void)
{
	return seam_cas32(&lock, LOCK_FREE, LOCK_TAKEN);
}

void core_unlock(void)
{
	if (seam_swap32(&lock, LOCK_FREE) == LOCK_AWAITED)
		seam_wake(&lock, 1);
}

/*
 * A thread that has the lock runs no signal handlers: one that left by siglongjmp(), or ended the
 * thread, would leave the lock taken.
 */
static void busy_begin(void)
{
	core_own.signals = seam_signals_block();
	core_own.busy = true;
	seam_fence();
}

static void busy_end(void)
{
	const uint64_t signals = core_own.signals;

	seam_fence();
	core_own.busy = false;
	seam_signals_restore(signals);
}

bool core_enter(void)
{
	core_look_orphan();
	if (core_own.busy)
		return false;
	busy_begin();
	core_lock();
	return true;
}

bool core_enter_try(void)
{
	if (core_own.busy)
		return false;
	busy_begin();
	if (core_lock_try())
		return true;
	busy_end();
	return false;
}

/* Moves `n` of a count to the header. Called with the lock. */
static void lost_move(uint64_t *lost, uint64_t n)
{
	if (!n)
		return;
	core_file_lost(n);
	/* In this order: a process that is killed in between has counted them. */
	seam_fence();
	seam_add(lost, 0 - n);
}

/*
 * The same of what handlers of a thread lose that is in no list. If no recording is under way, a
 * session has called their points: it is joined for the count. What is lost while this is tried in
 * vain may be that of a session which begins meanwhile, and stays. Called with the lock.
 */
static void unlisted_move(void)
{
	const uint64_t own = seam_load(&core_own.lost), rest = seam_load(&core_unlisted_lost);

	core_system_join();
	lost_move(&core_own.lost, own);
	lost_move(&core_unlisted_lost, rest);
}

void core_leave(void)
{
	core_unlock();
	busy_end();
	/* No chunk will say what handlers lost in here. */
	while (!core_own.listed && (seam_load(&core_own.lost) || seam_load(&core_unlisted_lost))) {
		busy_begin();
		core_lock();
		unlisted_move();
		core_unlock();
		busy_end();
	}
}

void core_thread_lost(struct core_thread *t)
{
	lost_move(&t->lost, seam_load(&t->lost));
}

void core_rest_lost(void)
{
	lost_move(&core_unlisted_lost, seam_load(&core_unlisted_lost));
}

/*
 * A thread that has ended once goes in no list: what destructors and signal handlers record
 * afterwards may be the last that is heard of it, and its memory may be another one's then. The end
 * of a recording does not find it, so it may store events until its page ends.
 */
static void thread_list(void)
{
	struct core_thread *const own = &core_own;

	if (own->listed)
		return;
	pthread_setspecific(at_exit, own);
	if (own->ended)
		return;
	own->here = &spur_trace_here;
	own->next = core_threads;
	own->before = &core_threads;
	if (core_threads)
		core_threads->before = &own->next;
	core_threads = own;
	own->listed = true;
}

/* Unmaps those that were kept and are complete now. */
static void kept_look(void)
{
	for (unsigned i = 0; i < CORE_KEPT; i++) {
		struct core_left *const l = &core_own.kept[i];

		if (!l->chunk || !core_chunk_complete(*l))
			continue;
		seam_unmap(l->chunk, SPB_CHUNK_SIZE);
		l->chunk = NULL;
	}
}

/*
 * Gives a chunk to the helper, which unmaps it when it is complete; without a helper, or if that
 * has too many, the thread does that itself. A chunk that is not complete is kept for a while. One
 * that is not complete even when many others came stays mapped.
 */
static void chunk_keep(struct core_left l)
{
	struct core_left *slot;

	if (l.chunk == core_own.counts) {
		seam_set_pointer(&core_own.counts, NULL);
		seam_fence();
		if (core_own.counting)
			return;
	}
	if (core_helper_unmap(l))
		return;
	if (core_chunk_complete(l)) {
		seam_unmap(l.chunk, SPB_CHUNK_SIZE);
		return;
	}
	slot = &core_own.kept[core_own.nkept++ % CORE_KEPT];
	if (slot->chunk && core_chunk_complete(*slot))
		seam_unmap(slot->chunk, SPB_CHUNK_SIZE);
	*slot = l;
}

/* The same for one of a ring. All but the one that was left last are full. */
static void ring_chunk_keep(char *chunk)
{
	struct core_left l = { chunk, chunk + SPB_CHUNK_SIZE };

	if (core_own.last.chunk == chunk)
		l = core_own.last;
	chunk_keep(l);
}

/* --- rings --- */

/* Chunks of threads that have ended, oldest first: in mode ring, later threads take them. */
static struct {
	uint32_t numbers[DEAD_MOST];
	uint32_t n;
	uint32_t kept; /* snapshots */
	uint64_t session;
} dead;

/* A snapshot has the chunks of threads that ended before it. With the lock. */
static void dead_look(void)
{
	const uint32_t kept = core_keep_look(core_clock_ticks()).kept;

	if (dead.session == core_session.number && dead.kept == kept)
		return;
	dead.session = core_session.number;
	dead.kept = kept;
	dead.n = 0;
}

/* Adds a chunk; if there is no place, the one of the oldest gives its room back. With the lock. */
static void dead_add(uint32_t number)
{
	uint32_t oldest;

	dead_look();
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

	dead_look();
	if (!core_session.ring || dead.n <= DEAD_KEPT)
		return c;
	c.number = dead.numbers[0];
	c.p = core_chunk_again(c.number);
	if (c.p)
		memmove(dead.numbers, dead.numbers + 1, --dead.n * sizeof(*dead.numbers));
	return c;
}

/*
 * Unmaps some chunks of the ring before this one, the oldest first: all of them at once would take
 * long.
 */
static void old_unmap(uint32_t n)
{
	struct core_thread *const own = &core_own;

	for (; n && own->old_at < own->nold; n--, own->old_at++)
		ring_chunk_keep(own->old[(own->old_first + own->old_at) % own->nold].p);
	if (own->old && own->old_at == own->nold) {
		seam_unmap(own->old, own->old_size * sizeof(*own->old));
		own->old = NULL;
		own->old_size = own->nold = own->old_at = 0;
	}
}

/* The chunks that wait stay in the file as they are. */
static void pinned_drop(void)
{
	for (uint32_t i = 0; i < CORE_PINNED; i++) {
		if (core_own.pinned[i].p)
			ring_chunk_keep(core_own.pinned[i].p);
		core_own.pinned[i].p = NULL;
	}
	core_own.npinned = 0;
}

/* A snapshot has the chunks of the ring: they stay as they are. Called with the lock. */
static void ring_keep(uint32_t number)
{
	struct core_thread *const own = &core_own;

	old_unmap(UINT32_MAX);
	pinned_drop();
	own->old = own->ring;
	own->old_size = own->ring_size;
	own->nold = own->nring;
	own->old_first = own->ring_next;
	own->old_at = 0;
	own->ring = NULL;
	own->nring = own->ring_size = own->ring_next = 0;
	own->kept_last = number;
}

/*
 * Keeps the ring if a snapshot is due. What follows upon the event that had it asked for may fill
 * half of a ring: then the thread's part of the snapshot is complete before it is due.
 */
static void ring_look(void)
{
	struct core_thread *const own = &core_own;
	const struct core_keeping k = core_keep_look(core_clock_ticks());

	old_unmap(OLD_AT_ONCE);
	if (k.kept > own->kept_last)
		ring_keep(k.kept);
	if (k.asked <= own->kept_last)
		return;
	if (own->asked != k.asked) {
		own->asked = k.asked;
		own->asked_chunks = 0;
	}
	if (own->asked_chunks++ >= core_session.ring / 2)
		ring_keep(k.asked);
}

/* The thread has no ring from here on. With `dying`, others may have its chunks. With the lock. */
static void ring_drop(bool dying)
{
	struct core_thread *const own = &core_own;
	const uint32_t n = own->nring;
	const bool kept = core_keep_look(core_clock_ticks()).kept > own->kept_last;
	struct core_chunk c;

	old_unmap(UINT32_MAX);
	pinned_drop();
	for (uint32_t i = 0; i < n; i++) {
		c = own->ring[(own->ring_next + i) % n];
		if (dying) {
			seam_unmap(c.p, SPB_CHUNK_SIZE);
			if (own->session == core_session.number && !kept)
				dead_add(c.number);
		} else {
			ring_chunk_keep(c.p);
		}
	}
	if (own->ring)
		seam_unmap(own->ring, own->ring_size * sizeof(*own->ring));
	own->ring = NULL;
	own->nring = own->ring_size = own->ring_next = 0;
	own->kept_last = own->asked = 0;
}

/*
 * A chunk of the ring has a record that a signal handler has interrupted, so it must stay as it is:
 * another one takes its place, which is new or the one that has waited longest. A record that was
 * left by a jump is never complete, so few chunks wait. Returns false if no chunk is to be had.
 */
static bool ring_pin(struct core_chunk *c)
{
	struct core_thread *const own = &core_own;
	struct core_chunk *const slot = &own->pinned[own->npinned % CORE_PINNED];
	const struct core_chunk other = slot->p ? *slot : core_chunk_take(true, true);

	if (!other.p || own->session != core_session.number)
		return false;
	*slot = *c;
	*c = other;
	own->npinned++;
	return true;
}

/*
 * The next chunk in a ring: another one until the ring is full or no more are to be had, then the
 * thread's own that was filled longest ago. Called with the lock.
 */
static struct core_chunk ring_chunk(bool touch)
{
	struct core_thread *const own = &core_own;
	struct core_chunk c = { NULL, 0 };

	ring_look();
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
	if (!core_chunk_complete((struct core_left){ c.p, c.p + SPB_CHUNK_SIZE }) && !ring_pin(&c))
		return (struct core_chunk){ NULL, 0 };
	own->ring[own->ring_next] = c;
	own->ring_next = (own->ring_next + 1) % own->nring;
	core_chunk_wipe(c.p);
	return c;
}

/* --- chunks and pages --- */

/*
 * The thread is done with its chunk, in which it counts what it loses until it has another one.
 * `at`: the place of an event that finds no room in it. Records that a signal handler has
 * interrupted are before that, as they were reserved before.
 */
static void chunk_leave(const char *at)
{
	struct core_left l = { core_own.chunk, core_own.chunk + SPB_CHUNK_SIZE };

	if (!l.chunk)
		return;
	if (at >= l.chunk && at < l.end)
		l.end = at;
	core_own.chunk = NULL;
	if (core_own.ring)
		core_own.last = l;
	else
		core_own.left = l;
}

/* What the thread loses from here on is counted in that chunk; NULL: in none. */
static void counts_move(char *chunk)
{
	const struct core_left l = core_own.left;

	seam_set_pointer(&core_own.counts, chunk);
	seam_fence();
	core_own.left.chunk = NULL;
	/* What was interrupted, or left for good, may be about to count in it. */
	if (l.chunk && !core_own.counting)
		chunk_keep(l);
}

/* One that records behind its destructor has its number already. Called with the lock. */
static void thread_number(void)
{
	struct core_thread *const own = &core_own;

	if (own->numbered == core_session.number)
		return;
	own->numbered = core_session.number;
	own->number = ++core_session.nthreads;
	if (!*own->name)
		prctl(PR_GET_NAME, own->name);
	core_describe_thread();
}

/*
 * Takes the thread's next chunk, for an event at `at`. Returns false if the file has no room.
 * Called with the lock.
 */
static bool thread_chunk(struct core_moment opened, const char *at)
{
	struct core_thread *const own = &core_own;
	const bool first = own->session != core_session.number;
	struct core_chunk c;

	if (own->chunk) {
		core_chunk_close(own->chunk);
		chunk_leave(at);
		if (core_session.number)
			core_helper_start(true);
	}
	core_switch();
	if (!core_on)
		return false;
	thread_list();
	if (first) {
		counts_move(NULL);
		kept_look();
		ring_drop(false);
		own->session = core_session.number;
		thread_number();
	}
	/* Many threads never need most of their first chunk. */
	c = core_session.ring ? ring_chunk(!first) : core_chunk_take(true, !first);
	if (own->session != core_session.number)
		return false;
	if (!c.p) {
		own->refused = SEAM_LOOK_AGAIN;
		return false;
	}
	core_chunk_open(c.p, opened, own->number);
	seam_fence();
	counts_move(c.p);
	core_thread_lost(own);
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
	seam_set_pointer(&spur_trace_here.end, core_own.chunk + SPB_PAGE);
}

/*
 * Moves on to the next chunk, for a record at `at`, which stands for that number of events. Returns
 * false if no more can be stored. Requires that the thread is busy.
 */
static bool chunk_next(const char *at, uint64_t events, struct core_moment opened)
{
	bool good;

	core_lock();
	/* A session that is over is left by the helper, or here if it does not run. */
	if (core_system_over(false)) {
		if (!core_helper_is_on()) {
			core_thread_close();
			core_session_end();
		}
	} else if (core_watching) {
		core_system_join();
	}
	if (core_own.session != core_session.number) {
		chunk_leave(at);
		counts_move(NULL);
	}
	good = thread_chunk(opened, at);
	if (good) {
		chunk_enter();
	} else {
		core_page_drop();
		if (events && core_session.number)
			core_lost(events);
		core_thread_lost(&core_own);
	}
	core_unlock();
	return good;
}

/*
 * Takes another page for a record that has moved the place to `at + size`, and stands for that
 * number of events. Returns false if none is to be had.
 */
static bool page_take(char *at, uint64_t size, uint64_t events)
{
	struct core_moment opened;
	bool good;

	if (core_page_turn(at, size))
		return true;
	/* What follows may take long, and the record that waits has a time from before. */
	opened = core_clock_moment();
	busy_begin();
	/* Else a signal handler has taken a chunk. */
	good = core_page_turn(at, size) || chunk_next(at, events, opened);
	if (core_abandoned)
		core_page_drop();
	busy_end();
	return good && !core_abandoned;
}

char *spur_trace_page(char *at, uint64_t size)
{
	/*
	 * Takes nothing back: a handler may have set the place anew since this event moved it. It
	 * is not used before that happens again.
	 */
	if (core_refuses())
		return NULL;
	/* In a slow path of this thread: takes back what it added. */
	if (core_own.busy) {
		seam_add((uint64_t *)(void *)&spur_trace_here.at, 0 - size);
		core_lost(1);
		return NULL;
	}
	return page_take(at, size, 1) ? spur_trace_reserve(size) : NULL;
}

/*
 * Stores a record that is no event in the thread's chunk, or in the next one. Nothing is lost if
 * there is no room: the thread's next chunk says its time and its fiber at its begin.
 */
static void bookkeeping_add(uint32_t kind, uint64_t ticks, uint64_t payload)
{
	const uint64_t size = 2 * SPB_WORD;
	char *p, *end;

	do {
		/* The order of spur_trace_reserve(). */
		end = seam_load_pointer(&spur_trace_here.end);
		if (!end)
			return;
		p = spur_trace_add(size);
		if ((uint64_t)(end - p) - size <= SPB_PAGE - size) {
			bookkeeping(p, kind, ticks, payload);
			return;
		}
	} while (page_take(p, size, 0));
}

/*
 * What other processes switch is the helper's to see. One that runs for this long has it; where it
 * cannot run, threads look here. An event has its time already, so that it does not wait for the
 * lock: if that is taken, the next event looks.
 */
static void switches_look(void)
{
	if (core_own.session != seam_load(&core_session.number))
		return;
	if (!core_enter_try()) {
		spur_trace_here.sync = 0;
		return;
	}
	if (core_session.number && core_own.session == core_session.number) {
		core_switch();
		core_helper_start(false);
	}
	core_leave();
}

void spur_trace_sync(uint64_t ticks)
{
	uint64_t signals;

	if (core_own.busy)
		return;
	/* A handler that left from in here by siglongjmp() would be one of core_users for ever. */
	signals = seam_signals_block();
	spur_trace_here.sync = ticks + ((uint64_t)1 << CORE_SYNC_TICKS_LOG);
	bookkeeping_add(SPB_TIME, ticks, ticks);
	core_clock_learn();
	switches_look();
	seam_signals_restore(signals);
}

void core_thread_fiber(uint64_t id)
{
	core_own.fiber = id;
	if (!core_own.busy)
		bookkeeping_add(SPB_FIBER, spur_trace_clock(), id);
}

void core_thread_close(void)
{
	if (!core_own.chunk || core_own.session != core_session.number)
		return;
	/* From here on a signal handler finds no room, so that the chunk can be unmapped. */
	seam_set_pointer(&spur_trace_here.end, NULL);
	seam_fence();
	core_chunk_close(core_own.chunk);
	chunk_leave(spur_trace_here.at);
	counts_move(NULL);
	core_page_drop();
}

/* A thread ends: its chunk has its last record, and no need of the pages behind. */
static void thread_end(void *p)
{
	struct core_thread *const own = &core_own;
	char *end, *chunk;

	(void)p;
	if (!core_enter())
		return;
	end = seam_load_pointer(&spur_trace_here.end);
	chunk = own->chunk;
	/* From here on a signal handler finds no room, so that the chunk can be unmapped. */
	core_page_drop();
	seam_fence();
	counts_move(NULL);
	if (chunk)
		core_chunk_close(chunk);
	if (chunk && !own->ring)
		seam_unmap(chunk, SPB_CHUNK_SIZE);
	if (chunk && own->session == core_session.number && end)
		core_chunk_trim(own->chunk_number, (size_t)(end - chunk));
	ring_drop(true);
	for (unsigned i = 0; i < CORE_KEPT; i++)
		if (own->kept[i].chunk)
			seam_unmap(own->kept[i].chunk, SPB_CHUNK_SIZE);
	/* Not earlier: a recording that ends while the lock was given up has to find it. */
	if (own->listed) {
		*own->before = own->next;
		if (own->next)
			own->next->before = own->before;
	}
	own->listed = false;
	own->ended = true;
	/* The end of a recording does not find this thread any more; what comes is in no list. */
	seam_fence();
	core_thread_lost(own);
	own->session = 0;
	memset(own->kept, 0, sizeof(own->kept));
	core_leave();
}

void core_threads_forget(void)
{
	struct core_thread *const own = &core_own;

	own->busy = true;
	seam_fence();
	/* A handler forks in the middle of an event: the rest of that goes nowhere. */
	if (own->chunk)
		seam_detach(own->chunk, SPB_CHUNK_SIZE);
	seam_store32(&lock, LOCK_FREE);
	core_threads = NULL;
	own->listed = false;
	own->session = 0;
	own->refused = 0;
	own->counts = NULL;
	own->left.chunk = NULL;
	own->lost = 0;
	core_unlisted_lost = 0;
	memset(own->kept, 0, sizeof(own->kept));
	own->ring = NULL;
	own->nring = own->ring_size = own->ring_next = 0;
	memset(own->pinned, 0, sizeof(own->pinned));
	own->npinned = 0;
	own->old = NULL;
	own->nold = own->old_size = own->old_at = 0;
	own->kept_last = own->asked = 0;
	core_page_drop();
}

void core_thread_abandon(void)
{
	struct core_thread *const own = &core_own;

	own->forks = 0;
	core_threads = NULL;
	own->listed = false;
	if (own->chunk)
		seam_detach(own->chunk, SPB_CHUNK_SIZE);
	if (own->counts && own->counts != own->chunk)
		seam_detach(own->counts, SPB_CHUNK_SIZE);
	seam_set_pointer(&spur_trace_here.end, NULL);
	/* Whether the interrupted code has it or waits for it: no one else does. */
	seam_store32(&lock, LOCK_FREE);
}

void core_threads_init(void)
{
	pthread_key_create(&at_exit, thread_end);
}
