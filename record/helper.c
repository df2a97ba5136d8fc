/*
 * The helper: a thread that has chunks ready before threads need them, unmaps those that they are
 * done with, and watches what other processes switch in the header. It starts when a process has
 * filled a chunk, has recorded for a second or has something switched off, so that short processes
 * do without. Where it cannot run, or is late, threads do its work themselves.
 *
 * INVARIANT: the helper never waits for another thread, holds the lock without calling the system,
 * and uses no thread-local memory. A thread that ends the recording has the lock and waits for it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

enum {
	SLOTS = 32,
	READY_FIRST = 2, /* chunks that are kept ready at first */
	READY_OFTEN = 8, /* where many are used; more if one is missing */
	DROPS = 64,
	PENDING = 32, /* incomplete chunks that wait for their last record */
	WAIT_MS = 1000,
	RETRY_MS = 1,
	STOP_MS = 10,
	STOP_TRIES = 200,
	GUARD = 4096,
};

struct slot {
	uint32_t full; /* stored last by the helper, and by the thread that takes the chunk */
	uint32_t number;
	char *chunk;
};

CORE_HERE bool core_helper_unwanted;
CORE_HERE uint32_t core_recorder;

static struct {
	uint32_t id; /* 0: not running; the kernel stores that */
	uint32_t stop;
	uint32_t asleep;
	uint32_t want; /* chunks to have ready */
	bool tried; /* to start, in this recording */
	bool retired; /* it ended a recording itself: only its memory is left */
	uint32_t *control; /* in the header */
	char *memory; /* guard page, stack, and its thread-local memory */
	uint32_t head, tail; /* of slots that were taken, and filled */
	struct slot slots[SLOTS];
	uint32_t spare; /* the number of a chunk for which the disk had no room, + 1; 0: none */
	/* Chunks to unmap; threads add them with the lock. */
	uint32_t drop_head, drop_tail;
	struct core_left drops[DROPS];
} helper;

/*
 * Chunks with a record that may still be stored, a ring: the oldest one is unmapped if there are
 * more, as records that were left by a jump never are. They wait for the next helper if this one
 * ends.
 */
static struct core_left pending[PENDING];
static uint32_t npending;

static void control_poke(void)
{
	seam_add32(helper.control, SPB_CONTROL_STEP);
	seam_wake(helper.control, INT32_MAX);
}

/* Tells the helper that there is work. Called with the lock, which the session needs to end. */
static void helper_wake(void)
{
	if (seam_load32(&helper.asleep))
		control_poke();
}

/* Makes one chunk ready. Returns false if no more are wanted or there is no room. */
static bool slot_fill(void)
{
	struct slot *const s = &helper.slots[helper.tail % SLOTS];

	if (helper.tail - seam_load32(&helper.head) >= seam_load32(&helper.want) ||
	    seam_load32(&s->full))
		return false;
	if (!helper.spare && !core_chunk_number(&helper.spare))
		return false;
	s->chunk = core_chunk_map(helper.spare - 1, true);
	if (!s->chunk)
		return false;
	s->number = helper.spare - 1;
	helper.spare = 0;
	helper.tail++;
	seam_store32(&s->full, 1);
	return true;
}

static bool drop_one(void)
{
	const uint32_t tail = seam_load32(&helper.drop_tail);
	struct core_left l;

	if (helper.drop_head == tail)
		return false;
	l = helper.drops[helper.drop_head % DROPS];
	if (!core_chunk_complete(l)) {
		struct core_left *const slot = &pending[npending++ % PENDING];
		const struct core_left oldest = *slot;

		*slot = l;
		l = oldest;
	}
	if (l.chunk)
		seam_unmap(l.chunk, SPB_CHUNK_SIZE);
	seam_store32(&helper.drop_head, helper.drop_head + 1);
	return true;
}

/* Unmaps the chunks whose last record is there now. */
static void pending_look(void)
{
	for (uint32_t i = 0; i < PENDING; i++) {
		char **const chunk = &pending[i].chunk;

		if (!*chunk || !core_chunk_complete(pending[i]))
			continue;
		seam_unmap(*chunk, SPB_CHUNK_SIZE);
		*chunk = NULL;
	}
}

bool core_helper_step(void)
{
	const bool filled = slot_fill(), dropped = drop_one();

	if (!filled && !dropped)
		pending_look();
	return filled || dropped;
}

/*
 * Switches the recording as its control word says. Returns false if another thread has the lock: it
 * may be ending the recording, and wait for the helper.
 */
static bool control_follow(void)
{
	if (!core_lock_try())
		return false;
	core_switch();
	core_unlock();
	return true;
}

/* Ends the recording of a session that is over. Returns false as control_follow() does. */
static bool session_end(void)
{
	if (!core_lock_try())
		return false;
	if (!seam_load32(&helper.stop) && core_system_joined())
		core_session_end_by_helper();
	core_unlock();
	return true;
}

void core_helper_run(void)
{
	const uint8_t *const head = (const uint8_t *)helper.control - SPB_CONTROL_AT;

	for (;;) {
		/* In this order: what stops the helper changes both, so that no wait is late. */
		const uint32_t seen = seam_load32(helper.control);

		if (seam_load32(&helper.stop))
			return;
		/* SPEC spur/control, spur/list: another process switches something off or on. */
		if (((seen & SPB_CONTROL_ON) != seam_load32(&core_on) || core_is_told(head)) &&
		    !control_follow()) {
			seam_wait(helper.control, seen, RETRY_MS);
			continue;
		}
		if (seam_load32(&core_recorder) && seam_gone(core_recorder)) {
			seam_store32(&core_recorder, 0);
			seam_set32(helper.control, SPB_CONTROL_ON, false);
			continue;
		}
		if (core_system_over(true)) {
			if (session_end())
				return;
			seam_wait(helper.control, seen, RETRY_MS);
			continue;
		}
		if (core_helper_step())
			continue;
		seam_store32(&helper.asleep, 1);
		seam_fence_threads();
		if (!seam_load32(&helper.stop))
			seam_wait(helper.control, seen, WAIT_MS);
		seam_store32(&helper.asleep, 0);
	}
}

/* From here on the helper has chunks ready. */
static void helper_supply(void)
{
	if (helper.want || !seam_load32(&helper.id) || helper.stop)
		return;
	seam_store32(&helper.want, READY_FIRST);
	helper_wake();
}

void core_helper_start(bool supplies)
{
	/*
	 * The last chunk of a oneshot must not be on its way while a thread finds no room. A
	 * oneshot may have a helper that looks for the end of a session, and for what other
	 * processes switch.
	 */
	const bool makes_chunks = supplies && core_options.mode != SPUR_TRACE_ONESHOT;

	if (helper.tried && makes_chunks)
		helper_supply();
	if (helper.tried || core_helper_unwanted ||
	    (supplies && !makes_chunks && !core_system_joined()))
		return;
	if (helper.retired) {
		/* Else its thread is about to end: the next chunk starts another one. */
		if (seam_load32(&helper.id))
			return;
		core_helper_forget();
	}
	helper.tried = true;
	helper.memory = seam_reserve(GUARD + SEAM_THREAD_SIZE);
	if (!helper.memory)
		return;
	seam_protect(helper.memory, GUARD);
	helper.control = (uint32_t *)(void *)(core_session.head + SPB_CONTROL_AT);
	helper.want = makes_chunks ? READY_FIRST : 0;
	if (seam_thread(core_helper_run, helper.memory + GUARD, &helper.id)) {
		seam_set32(helper.control + (SPB_LISTENING_AT - SPB_CONTROL_AT) / 4, SPB_LISTENS,
			   true);
		return;
	}
	helper.id = 0;
	seam_unmap(helper.memory, GUARD + SEAM_THREAD_SIZE);
	helper.memory = NULL;
}

bool core_helper_is_on(void)
{
	return seam_load32(&helper.id) && !seam_load32(&helper.stop);
}

bool core_helper_stop(void)
{
	uint32_t id;

	seam_store32(&helper.stop, 1);
	for (int i = 0; (id = seam_load32(&helper.id)) != 0; i++) {
		if (i == STOP_TRIES)
			return false;
		if (!helper.retired)
			control_poke();
		seam_wait(&helper.id, id, STOP_MS);
	}
	while (drop_one())
		;
	core_helper_forget();
	return true;
}

static void slots_drop(void)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (helper.slots[i].full)
			seam_unmap(helper.slots[i].chunk, SPB_CHUNK_SIZE);
		helper.slots[i].full = 0;
	}
}

void core_helper_retire(void)
{
	while (drop_one())
		;
	slots_drop();
	seam_store32(&helper.asleep, 0);
	seam_store32(&helper.stop, 1);
	helper.tried = false;
	helper.retired = true;
}

void core_helper_forget(void)
{
	slots_drop();
	if (helper.memory)
		seam_unmap(helper.memory, GUARD + SEAM_THREAD_SIZE);
	memset(&helper, 0, sizeof(helper));
}

/*
 * Returns true if half of the wanted chunks are ready: then the helper is not woken, since that
 * takes a thread as long as a thousand events.
 */
static bool is_stocked(void)
{
	const uint32_t half = helper.want / 2;

	return half >= READY_FIRST && seam_load32(&helper.slots[(helper.head + half) % SLOTS].full);
}

char *core_helper_chunk(uint32_t *number)
{
	struct slot *const s = &helper.slots[helper.head % SLOTS];
	char *p;

	if (helper.stop)
		return NULL;
	if (!seam_load32(&s->full)) {
		if (helper.want && helper.want < SLOTS)
			seam_store32(&helper.want, 2 * helper.want);
		helper_wake();
		return NULL;
	}
	p = s->chunk;
	*number = s->number;
	seam_store32(&s->full, 0);
	seam_store32(&helper.head, helper.head + 1);
	/* A process has no more chunks made ahead than it has used. */
	if (helper.want < READY_OFTEN && helper.head >= 2 * helper.want)
		seam_store32(&helper.want, 2 * helper.want);
	if (!is_stocked())
		helper_wake();
	return p;
}

bool core_helper_unmap(struct core_left l)
{
	if (!seam_load32(&helper.id) || helper.stop ||
	    helper.drop_tail - seam_load32(&helper.drop_head) == DROPS)
		return false;
	helper.drops[helper.drop_tail % DROPS] = l;
	seam_store32(&helper.drop_tail, helper.drop_tail + 1);
	return true;
}
