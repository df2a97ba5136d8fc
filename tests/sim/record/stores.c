/* Stores of the simulated machine, the mutants of them, and what else the library asks for. */
#include "inside.h"

#include <assert.h>
#include <string.h>
#include <sys/prctl.h>

#include "../../../record/board.h"
#include "../../../src/format/spur/wire.h"

/* --- stores of the protocol --- */

/* What a store into the file is part of. */
enum part { PART_NONE, PART_HEADER, PART_CHUNK, PART_RECORD, PART_DESCRIPTOR };

static enum part part_of(const char *p, size_t *off)
{
	size_t at;

	if (!disk_has(p, &at))
		return PART_NONE;
	if (at < SPB_HEADER) {
		*off = at;
		return PART_HEADER;
	}
	*off = (at - SPB_HEADER) % SIM_CHUNK;
	if (*off < SPB_CHUNK_HEAD)
		return PART_CHUNK;
	p += SPB_KIND_AT - (ptrdiff_t)*off;
	return *p == SPB_CHUNK_DESCRIPTORS ? PART_DESCRIPTOR : PART_RECORD;
}

/* True once in `of` times; always while all orders are tried. */
static bool at_times(unsigned of)
{
	return sim.options.explores || !sim_random(of);
}

/* True if the mutant is that this store does not happen. */
static bool is_skipped(const char *p, uint64_t v)
{
	size_t off;
	const enum part part = part_of(p, &off);

	switch (sim.options.mutant) {
	case SIM_SEQUENCE_SKIPPED:
		return part == PART_CHUNK && off == SPB_SEQUENCE_AT;
	case SIM_WIPE_NUMBERED:
		return part == PART_CHUNK && off == SPB_SEQUENCE_AT && !v;
	case SIM_FILE_LOST_SKIPPED:
		return part == PART_HEADER && off == SPB_LOST_AT;
	case SIM_CHUNK_LOST_SKIPPED:
		return part == PART_CHUNK && off == SPB_CHUNK_LOST_AT;
	case SIM_RESERVED_SKIPPED:
		return part == PART_RECORD && (v & 15) == SPB_RESERVED;
	case SIM_COMMIT_SKIPPED:
		return part == PART_RECORD && (v & 15) == SPB_EVENT && at_times(4);
	case SIM_FIBER_SKIPPED:
		return part == PART_RECORD && (v & 15) == SPB_FIBER;
	case SIM_DESCRIPTOR_SKIPPED:
		return part == PART_DESCRIPTOR && at_times(2);
	default:
		return false;
	}
}

/* True if the mutant is that this copy comes after the store that should follow it. */
static bool is_late(const char *p)
{
	size_t off;
	const enum part part = part_of(p, &off);

	switch (sim.options.mutant) {
	case SIM_SEQUENCE_FIRST:
		return part == PART_CHUNK && off < SPB_CLOSE_AT && off != SPB_STATE_AT;
	case SIM_MAGIC_FIRST:
		return part == PART_HEADER && off < SPB_END_AT;
	case SIM_COMMIT_FIRST:
		return part == PART_RECORD;
	case SIM_DESCRIPTOR_FIRST:
		return part == PART_DESCRIPTOR;
	default:
		return false;
	}
}

/* Notes a copy that is to come later. Returns false if it cannot. */
static bool late_note(struct context *c, char *to, const void *from, size_t len)
{
	if (c->nlate == SIM_LATE || len > SIM_LATE_BYTES)
		return false;
	c->late[c->nlate].to = to;
	c->late[c->nlate].len = len;
	memcpy(c->late[c->nlate++].bytes, from, len);
	return true;
}

/* A string's descriptor without its size; or that size, once the descriptor is late. */
static bool is_late_string(const struct context *c, const char *p, const void *from, size_t len)
{
	size_t off;
	uint32_t type;

	if (sim.options.mutant != SIM_STRING_LATE || part_of(p, &off) != PART_DESCRIPTOR)
		return false;
	memcpy(&type, from, sizeof(type));
	return len > sizeof(type) ? type == SPB_STRING
				  : c->nlate && c->late[c->nlate - 1].to == p + sizeof(type);
}

static void store_now(char *p, const void *bytes, size_t size, enum sim_order order)
{
	char old[16];

	disk_check(p, size);
	memcpy(old, p, size);
	track_before(p, size);
	memcpy(p, bytes, size);
	track_after(p, size);
	if (disk_has(p, NULL))
		disk_note(sim.current, p, size, old, order);
}

static void copy_now(char *to, const char *from, size_t len)
{
	while (len) {
		const size_t room = SIM_WORD - (uintptr_t)to % SIM_WORD,
			     n = len < room ? len : room;

		if (disk_has(from, NULL))
			sim_step_at(from, n, false);
		sim_step_at(to, n, true);
		store_now(to, from, n, SIM_PLAIN);
		to += n;
		from += n;
		len -= n;
	}
}

void sim_copy(void *to, const void *from, size_t len)
{
	struct context *const c = sim_running();
	size_t off = 0;

	if (!sim.in_thread) {
		memcpy(to, from, len);
		return;
	}
	if (sim.options.mutant != SIM_NONE && is_skipped(to, 0))
		return;
	if (sim.options.mutant != SIM_NONE && (is_late(to) || is_late_string(c, to, from, len)) &&
	    late_note(c, to, from, len))
		return;
	copy_now(to, from, len);
	if (sim.options.mutant == SIM_UNMAPPED_AT_ONCE && part_of(to, &off) == PART_CHUNK &&
	    off == SPB_STATE_AT)
		sim_unmap((char *)to - off, SIM_CHUNK);
}

/* --- the board --- */

bool sim_is_mirrored(const void *p)
{
	return sim.mirrors[sim.process] && (const char *)p >= sim_point_words &&
	       (const char *)p < sim_point_words + BOARD_PAGE;
}

bool sim_mirror(const void *from)
{
	sim_step_seen();
	sim.mirrors[sim.process] = from;
	return true;
}

void sim_replace(void *p, size_t size, uint32_t value)
{
	sim_step_seen();
	if (sim.options.mutant == SIM_BOARD_KEPT)
		return;
	sim.mirrors[sim.process] = NULL;
	track_before(p, size);
	for (size_t at = 0; at < size; at += sizeof(value))
		memcpy((char *)p + at, &value, sizeof(value));
	track_after(p, size);
}

bool sim_session_alive(void)
{
	sim_step_seen();
	return sim.session;
}

bool sim_watches(void)
{
	return sim.mirrors[sim.process] && sim.holder == SIM_THREADS;
}

void sim_session_set(bool alive)
{
	sim_step_seen();
	sim.session = alive;
}

/* Where a word of the points is read: on the board while the process looks at that. */
static const void *mirrored(const void *p)
{
	return sim_is_mirrored(p) ? sim.mirrors[sim.process] + ((const char *)p - sim_point_words)
				  : p;
}

uint64_t sim_load(const void *p, size_t size)
{
	uint64_t v = 0;

	if ((const char *)p >= sim_point_words && (const char *)p < sim_point_words + BOARD_PAGE) {
		sim_step_at(p, size, false);
		if (sim_is_mirrored(p))
			sim_step_at(mirrored(p), size, false);
		memcpy(&v, mirrored(p), size);
		return v;
	}
	sim_access(p, size, false);
	memcpy(&v, p, size);
	return v;
}

/* The step of an instruction that loads and stores. */
static void change_step(const void *p, size_t size)
{
	if (!sim.in_thread)
		return;
	sim_step_at(p, size, true);
	disk_check(p, size);
}

static void change(void *p, uint64_t v, size_t size)
{
	track_before(p, size);
	memcpy(p, &v, size);
	track_after(p, size);
	if (sim.in_thread && disk_has(p, NULL))
		disk_note(sim.current, p, size, NULL, SIM_PLAIN);
}

/* A release store, or an exchange, that other threads may see. */
void sim_released(void)
{
	if (!sim.in_thread)
		return;
	if (sim.options.mutant != SIM_RELEASE_MISSING)
		disk_fence(sim.current);
	/* When all orders are tried, a wait ends when it is woken: any other time tells nothing. */
	for (unsigned i = 0; i < SIM_THREADS; i++)
		sim.threads[i].spins &= sim.options.explores && sim.threads[i].timed;
}

void sim_store(void *p, uint64_t v, size_t size, enum sim_order order)
{
	struct context *const c = sim_running();
	size_t off;

	if (!sim.in_thread) {
		memcpy(p, &v, size);
		return;
	}
	sim_step_at(p, size, true);
	if (sim_is_mirrored(p))
		sim_fail("a store to words that are the board's");
	if (sim.options.mutant == SIM_RELEASE_MISSING)
		order = SIM_PLAIN;
	if (sim.options.mutant == SIM_NUMBER_REUSED && p == sim_number && v)
		v = 1;
	if (sim.options.mutant != SIM_NONE && is_skipped(p, v))
		return;
	if (is_late_string(c, p, &v, size) && late_note(c, p, &v, size))
		return;
	store_now(p, &v, size, order);
	if (!disk_has(p, NULL))
		sim_released();
	while (c->nlate &&
	       part_of(p, &off) == (sim.options.mutant == SIM_STRING_LATE
					    ? PART_RECORD
					    : part_of(c->late[c->nlate - 1].to, &off))) {
		c->nlate--;
		copy_now(c->late[c->nlate].to, c->late[c->nlate].bytes, c->late[c->nlate].len);
	}
}

void sim_store_pointer(void *p, const void *v)
{
	if (sim.in_thread && sim.options.mutant == SIM_END_KEPT && !v)
		return;
	sim_store(p, (uint64_t)(uintptr_t)v, sizeof(v), SIM_RELEASE);
}

uint64_t sim_add(uint64_t *p, uint64_t v)
{
	const bool at = (char *)p == sim_tls,
		   lost = (char *)p == sim_tls + SIM_TLS_OWN + sim_lost_at;
	const bool less = (int64_t)v < 0;
	uint64_t old;

	if (!sim.in_thread)
		return (*p += v) - v;
	change_step(p, sizeof(*p));
	old = *p;
	if (sim.options.mutant != SIM_NONE && is_skipped((char *)p, old + v))
		return old;
	if (sim.options.mutant == SIM_LOST_TWICE && disk_has(p, NULL))
		v *= 2;
	if ((sim.options.mutant == SIM_LOST_NOT_RESET && lost && less) ||
	    (sim.options.mutant == SIM_LOST_NOT_COUNTED && sim_depth() && disk_has(p, NULL)) ||
	    (sim.options.mutant == SIM_TAKEN_BACK_SKIPPED && at && less))
		return old;
	if (sim.options.mutant == SIM_ADD_IN_TWO_STEPS)
		sim_step_at(p, sizeof(*p), true);
	change(p, old + v, sizeof(*p));
	if (at && !less) {
		sim.taken_again += sim_running()->took;
		sim_running()->took = old % SIM_PAGE && old % SIM_PAGE + v <= SIM_PAGE;
	}
	return old;
}

uint64_t sim_taken_again(void)
{
	return sim.taken_again;
}

bool sim_cas(uint32_t *p, uint32_t from, uint32_t to)
{
	const bool is_lock = from == 0 && to == 1;

	sim_running()->wants = is_lock ? p : NULL;
	change_step(p, sizeof(*p));
	sim_running()->wants = NULL;
	if (*p != from && !(is_lock && sim.in_thread && sim.options.mutant == SIM_LOCK_MISSING))
		return false;
	change(p, to, sizeof(*p));
	if (is_lock) {
		sim.lock = p;
		sim.holder = sim.current;
	}
	sim_released();
	return true;
}

bool sim_cas64(uint64_t *p, uint64_t from, uint64_t to)
{
	change_step(p, sizeof(*p));
	if (*p != from)
		return false;
	change(p, to, sizeof(*p));
	sim_released();
	return true;
}

void sim_turn(void *p, const void *from, const void *at, const void *end)
{
	const uint64_t to[] = { (uint64_t)(uintptr_t)at, (uint64_t)(uintptr_t)end };
	uint64_t *const place = p;

	change_step(&place[1], sizeof(place[1]));
	if (place[1] != (uint64_t)(uintptr_t)from)
		return;
	change(&place[0], to[0], sizeof(place[0]));
	change(&place[1], to[1], sizeof(place[1]));
}

uint32_t sim_swap32(uint32_t *p, uint32_t v, bool adds)
{
	uint32_t old;

	change_step(p, sizeof(*p));
	old = *p;
	if (sim.options.mutant == SIM_USERS_MISSING && p == sim_users)
		return old;
	change(p, adds ? old + v : v, sizeof(*p));
	if (p == sim.lock && !(v && old))
		sim.holder = v ? sim.current : SIM_THREADS;
	sim_released();
	return old;
}

void sim_set32(uint32_t *p, uint32_t bits, bool on)
{
	change_step(p, sizeof(*p));
	change(p, on ? *p | bits : *p & ~bits, sizeof(*p));
	sim_released();
}

void sim_wipe(void *p, size_t len)
{
	static const char zeros[SIM_CHUNK];
	/* Where all orders are tried, words would be too many steps. */
	const size_t piece = !sim.options.explores ? SIM_WORD
			     : sim.options.coarse  ? SIM_PAGE
						   : SIM_SECTOR;
	char *to = p;

	assert(len <= sizeof(zeros));
	if (sim.in_thread && sim.options.mutant == SIM_WIPE_SKIPPED)
		return;
	while (len) {
		const size_t room = piece - (uintptr_t)to % piece, n = len < room ? len : room;

		sim_step_at(to, n, true);
		for (size_t at = 0; at < n; at += SIM_WORD)
			store_now(to + at, zeros, SIM_WORD, SIM_PLAIN);
		to += n;
		len -= n;
	}
}

void sim_fence(void)
{
	sim_step();
	if (sim.in_thread && sim.options.mutant != SIM_FENCE_MISSING)
		disk_fence(sim.current);
}

void sim_acknowledge(void)
{
	sim_pending_end(sim_running());
	disk_fence(sim.current);
	sim_running()->took = false;
}

/* --- the rest of what the library asks for --- */

uint64_t sim_clock(clockid_t which)
{
	sim_step();
	/* When all orders are tried, it stands still: no order of reading it differs. */
	sim.now += !sim.options.explores;
	return sim.now + (which == CLOCK_REALTIME ? UINT64_C(1000000000000) : 0);
}

/* The thread waits for a lock: it need not run before another one has stored something. */
void sim_yield(void)
{
	sim.threads[sim.current].spins = true;
	sim.threads[sim.current].timed = false;
	sim_leave(WISH_SWITCH);
}

void sim_wait(uint32_t *p, uint32_t seen)
{
	sim_access(p, sizeof(*p), false);
	if (*p != seen)
		return;
	sim.threads[sim.current].spins = true;
	sim.threads[sim.current].timed = true;
	sim.threads[sim.current].waits_at = p;
	sim_leave(WISH_SWITCH);
}

void sim_wake(const uint32_t *p)
{
	sim_step_seen();
	sim_released();
	for (unsigned i = 0; i < SIM_THREADS; i++)
		if (sim.threads[i].waits_at == p)
			sim.threads[i].spins = false;
}

/* --- the C library's functions for memory and strings, which the compiler does not announce --- */

/* Each is one step. */
static void block_step(const void *to, const void *from, size_t size)
{
	if (from && size)
		sim_access(from, size, false);
	if (size)
		sim_access(to, size, true);
}

void *sim_memcpy(void *to, const void *from, size_t size)
{
	block_step(to, from, size);
	return memcpy(to, from, size);
}

void *sim_memmove(void *to, const void *from, size_t size)
{
	block_step(to, from, size);
	return memmove(to, from, size);
}

void *sim_memset(void *to, int byte, size_t size)
{
	block_step(to, NULL, size);
	return memset(to, byte, size);
}

char *sim_strcpy(char *to, const char *from)
{
	block_step(to, from, strlen(from) + 1);
	return strcpy(to, from);
}

char *sim_stpcpy(char *to, const char *from)
{
	block_step(to, from, strlen(from) + 1);
	return stpcpy(to, from);
}

char *sim_strncpy(char *to, const char *from, size_t size)
{
	block_step(to, NULL, size);
	return strncpy(to, from, size);
}

int sim_prctl(int option, void *to)
{
	if (option == PR_GET_NAME)
		sim_strcpy(to, "simulated");
	return 0;
}

uint32_t sim_tid(void)
{
	sim_step();
	return 100 + sim.current;
}

uint32_t sim_pid(void)
{
	sim_step();
	return 10 + sim.process;
}

/* Nothing is to be recorded by itself, or looked for, when the test begins. */
const char *sim_getenv(const char *name)
{
	return strcmp(name, "SPUR_TRACE") == 0 ? "" : NULL;
}

void sim_once(void (*init)(void))
{
	if (!sim.before)
		init();
}

int sim_key(void *key, void (*end)(void *))
{
	(void)key;
	sim.end = end;
	return 0;
}

int sim_set(void *value)
{
	sim.threads[sim.current].specific = value;
	return 0;
}

int sim_atfork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
	sim.before = before;
	sim.parent = parent;
	sim.child = child;
	return 0;
}
