/* Threads, handlers, processes and the scheduler of the simulated machine. */
#include "machine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../src/format/spur/wire.h"
#include "coroutine.h"

enum {
	STACK = 64 << 10,
	STEPS_MOST = 400000,
	GLOBALS_MOST = 64 << 10,
	RESERVED_MOST = 64 << 10,
	CATALOG_MOST = 32 << 10,
	STACK_MOST = 1 << 10, /* no more of it is used here */
	LARGE = 1 << 20,
	NULL_PAGE = 65536,
	WORD = 8,
	LATE = 8,
	LATE_BYTES = 512,
};

/* Of struct core_thread; defined where that is known. */
extern const size_t sim_busy_at, sim_lost_at;

/* The library's static data, as the build puts it together. */
extern char __start_sim_data[], __stop_sim_data[], __start_sim_bss[], __stop_sim_bss[];

/* A thread or a handler, with the store that it does next. */
struct context {
	struct coroutine co;
	void (*body)(void);
	char *stack;
	bool ended;
	const char *pending; /* a plain store that the library does itself; NULL: none */
	size_t pending_size;
	bool took; /* room within a page, for the event that is being recorded */
	char old[16]; /* what was there */
	/* Of mutants: copies that wait for the store that should follow them. */
	struct {
		char *to;
		char bytes[LATE_BYTES];
		size_t len;
	} late[LATE];
	unsigned nlate;
};

/* Why a thread went back to the scheduler. */
enum wish { WISH_SWITCH, WISH_HANDLER, WISH_CRASH, WISH_FAILED };

struct thread {
	bool exists, ended;
	bool spins; /* waits until another thread has stored something */
	bool timed; /* or until the time is over */
	uint32_t *id; /* of a helper; else NULL */
	void *specific; /* what the library is called with at its end; NULL: it is not called */
	unsigned process, depth, handled;
	void (*body)(void), (*handler)(void);
	struct context contexts[SIM_NESTED];
};

/* Memory of a process. */
struct memory {
	char globals[GLOBALS_MOST];
	char tls[SIM_THREADS][SIM_TLS];
	char reserved[RESERVED_MOST];
	size_t nreserved;
};

static struct {
	struct sim_options options;
	struct thread threads[SIM_THREADS];
	unsigned current, process, nprocesses;
	bool in_thread;
	enum wish wish;
	const char *failure;
	uint64_t steps, state, now, taken_again;
	struct coroutine main;
	void (*look)(void);
	void (*end)(void *);
	void (*before)(void), (*parent)(void), (*child)(void);
	size_t nreserved;
} sim;

static char tls[SIM_THREADS][SIM_TLS] __attribute__((aligned(64)));
static char reserved[RESERVED_MOST] __attribute__((aligned(64)));
static char pristine[GLOBALS_MOST];
static bool has_pristine;
static struct memory *saved[SIM_PROCESSES];
static char first_tls[SIM_TLS] __attribute__((aligned(64)));

char *sim_tls = first_tls;

/* --- small things --- */

uint64_t sim_random(uint64_t below)
{
	sim.state += UINT64_C(0x9E3779B97F4A7C15);
	uint64_t v = sim.state;

	v = (v ^ v >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	v = (v ^ v >> 27) * UINT64_C(0x94D049BB133111EB);
	return (v ^ v >> 31) % below;
}

enum sim_mutant sim_mutant(void)
{
	return sim.options.mutant;
}

const struct sim_options *sim_now(void)
{
	return &sim.options;
}

unsigned sim_process(void)
{
	return sim.process;
}

unsigned sim_current(void)
{
	return sim.current;
}

unsigned sim_depth(void)
{
	return sim.threads[sim.current].depth;
}

uint64_t sim_steps(void)
{
	return sim.steps;
}

const char *sim_failure(void)
{
	return sim.failure;
}

static struct context *running(void)
{
	struct thread *const t = &sim.threads[sim.current];

	return &t->contexts[t->depth];
}

void sim_fail(const char *what)
{
	if (!sim.failure)
		sim.failure = what;
	if (sim.in_thread) {
		sim.in_thread = false;
		sim.wish = WISH_FAILED;
		coroutine_switch(&running()->co, &sim.main);
	}
}

static uint64_t load_word(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void store_word(const char *p, uint64_t v)
{
	memcpy((char *)(uintptr_t)p, &v, sizeof(v));
}

/* --- memory of processes --- */

static size_t globals_copy(char *to)
{
	const size_t data = (size_t)(__stop_sim_data - __start_sim_data),
		     bss = (size_t)(__stop_sim_bss - __start_sim_bss);

	assert(data + bss <= GLOBALS_MOST);
	memcpy(to, __start_sim_data, data);
	memcpy(to + data, __start_sim_bss, bss);
	return data + bss;
}

static void globals_set(const char *from)
{
	const size_t data = (size_t)(__stop_sim_data - __start_sim_data),
		     bss = (size_t)(__stop_sim_bss - __start_sim_bss);

	memcpy(__start_sim_data, from, data);
	memcpy(__start_sim_bss, from + data, bss);
}

static void memory_save(unsigned process)
{
	struct memory *const m = saved[process];

	globals_copy(m->globals);
	memcpy(m->tls, tls, sizeof(tls));
	memcpy(m->reserved, reserved, sim.nreserved);
	m->nreserved = sim.nreserved;
}

static void memory_load(unsigned process)
{
	const struct memory *const m = saved[process];

	globals_set(m->globals);
	memcpy(tls, m->tls, sizeof(tls));
	memcpy(reserved, m->reserved, m->nreserved);
	sim.nreserved = m->nreserved;
}

const char *sim_thread_memory(unsigned thread)
{
	const struct thread *const t = &sim.threads[thread];

	if (!t->exists)
		return NULL;
	return t->process == sim.process ? tls[thread] : saved[t->process]->tls[thread];
}

uint64_t sim_sum(const uint64_t *variable)
{
	const char *const at = (const char *)variable;
	const size_t data = (size_t)(__stop_sim_data - __start_sim_data),
		     where = at >= __start_sim_data && at < __stop_sim_data
				     ? (size_t)(at - __start_sim_data)
				     : data + (size_t)(at - __start_sim_bss);
	uint64_t n = *variable, v;

	for (unsigned i = 0; i < sim.nprocesses; i++) {
		if (i == sim.process)
			continue;
		memcpy(&v, saved[i]->globals + where, sizeof(v));
		n += v;
	}
	return n;
}

void *sim_reserve(size_t size)
{
	const size_t n = size > LARGE ? CATALOG_MOST : STACK_MOST;
	char *const p = reserved + sim.nreserved;

	sim_step();
	assert(n <= RESERVED_MOST - sim.nreserved);
	sim.nreserved += n;
	return p;
}

static bool is_private(const char *p)
{
	return (p >= __start_sim_data && p < __stop_sim_data) ||
	       (p >= __start_sim_bss && p < __stop_sim_bss) ||
	       (p >= tls[0] && p < tls[0] + sizeof(tls)) ||
	       (p >= reserved && p < reserved + RESERVED_MOST);
}

/* --- steps --- */

/* The plain store that the library was about to do is done. */
static void pending_end(struct context *c)
{
	const char *const p = c->pending;

	if (!p)
		return;
	c->pending = NULL;
	if (disk_has(p, NULL)) {
		disk_note(sim.current, p, c->pending_size, c->old, SIM_PLAIN);
		return;
	}
	if (sim.options.mutant == SIM_BUSY_MISSING && p == sim_tls + SIM_TLS_OWN + sim_busy_at)
		*(bool *)(uintptr_t)p = false;
	if (sim.options.mutant == SIM_PAGE_END_LATE && p == sim_tls + WORD && load_word(p))
		store_word(p, load_word(p) + 2 * WORD);
}

static void leave(enum wish wish)
{
	struct context *const c = running();

	sim.wish = wish;
	sim.in_thread = false;
	coroutine_switch(&c->co, &sim.main);
}

static void step_exact(const struct thread *t)
{
	if (sim.options.crashes)
		leave(WISH_CRASH);
	if (sim.steps == sim.options.handler_at && t->handler)
		leave(WISH_HANDLER);
	if (sim.steps == sim.options.switch_at)
		leave(WISH_SWITCH);
}

void sim_step(void)
{
	const struct thread *const t = &sim.threads[sim.current];
	uint64_t r;

	if (!sim.in_thread)
		return;
	pending_end(running());
	if (++sim.steps > STEPS_MOST)
		sim_fail("a thread never ends");
	if (sim.options.exact) {
		step_exact(t);
		return;
	}
	r = sim_random(UINT64_MAX);
	if ((r & 1023) < sim.options.crashes)
		leave(WISH_CRASH);
	if ((r >> 10 & 1023) < sim.options.handlers && t->handler && t->depth + 1 < SIM_NESTED &&
	    t->handled < sim.options.handlers_most)
		leave(WISH_HANDLER);
	else if ((r >> 20 & 1023) < sim.options.switches)
		leave(WISH_SWITCH);
}

void sim_access(const void *p, size_t size, bool write)
{
	struct context *c;

	if (!sim.in_thread || (!is_private(p) && !disk_has(p, NULL) && (uintptr_t)p > NULL_PAGE))
		return;
	sim_step();
	if ((uintptr_t)p <= NULL_PAGE)
		sim_fail("an access to address 0");
	disk_check(p, size);
	if (!write)
		return;
	c = running();
	if (size <= sizeof(c->old))
		memcpy(c->old, p, size);
	else
		assert(is_private(p));
	c->pending = p;
	c->pending_size = size;
}

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

/* True if the mutant is that this store does not happen. */
static bool is_skipped(const char *p, uint64_t v)
{
	size_t off;
	const enum part part = part_of(p, &off);

	switch (sim.options.mutant) {
	case SIM_SEQUENCE_SKIPPED:
		return part == PART_CHUNK && off == SPB_SEQUENCE_AT;
	case SIM_FILE_LOST_SKIPPED:
		return part == PART_HEADER && off == SPB_LOST_AT;
	case SIM_CHUNK_LOST_SKIPPED:
		return part == PART_CHUNK && off == SPB_CHUNK_LOST_AT;
	case SIM_RESERVED_SKIPPED:
		return part == PART_RECORD && (v & 15) == SPB_RESERVED;
	case SIM_COMMIT_SKIPPED:
		return part == PART_RECORD && (v & 15) == SPB_EVENT && !sim_random(4);
	case SIM_DESCRIPTOR_SKIPPED:
		return part == PART_DESCRIPTOR && !sim_random(2);
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

static void store_now(char *p, const void *bytes, size_t size, enum sim_order order)
{
	char old[16];

	disk_check(p, size);
	memcpy(old, p, size);
	memcpy(p, bytes, size);
	if (disk_has(p, NULL))
		disk_note(sim.current, p, size, old, order);
}

static void copy_now(char *to, const char *from, size_t len)
{
	while (len) {
		const size_t room = WORD - (uintptr_t)to % WORD, n = len < room ? len : room;

		sim_step();
		store_now(to, from, n, SIM_PLAIN);
		to += n;
		from += n;
		len -= n;
	}
}

void sim_copy(void *to, const void *from, size_t len)
{
	struct context *const c = running();
	size_t off = 0;

	if (!sim.in_thread) {
		memcpy(to, from, len);
		return;
	}
	if (sim.options.mutant != SIM_NONE && is_skipped(to, 0))
		return;
	if (sim.options.mutant != SIM_NONE && is_late(to) && c->nlate < LATE && len <= LATE_BYTES) {
		c->late[c->nlate].to = to;
		c->late[c->nlate].len = len;
		memcpy(c->late[c->nlate++].bytes, from, len);
		return;
	}
	copy_now(to, from, len);
	if (sim.options.mutant == SIM_UNMAPPED_AT_ONCE && part_of(to, &off) == PART_CHUNK &&
	    off == SPB_STATE_AT)
		sim_unmap((char *)to - off, SIM_CHUNK);
}

uint64_t sim_load(const void *p, size_t size)
{
	uint64_t v = 0;

	sim_access(p, size, false);
	memcpy(&v, p, size);
	return v;
}

/* A release store, or an exchange, that other threads may see. */
static void released(void)
{
	if (!sim.in_thread)
		return;
	if (sim.options.mutant != SIM_RELEASE_MISSING)
		disk_fence(sim.current);
	for (unsigned i = 0; i < SIM_THREADS; i++)
		sim.threads[i].spins = false;
}

void sim_store(void *p, uint64_t v, size_t size, enum sim_order order)
{
	struct context *const c = running();
	size_t off;

	if (!sim.in_thread) {
		memcpy(p, &v, size);
		return;
	}
	sim_step();
	if (sim.options.mutant == SIM_RELEASE_MISSING)
		order = SIM_PLAIN;
	if (sim.options.mutant != SIM_NONE && is_skipped(p, v))
		return;
	store_now(p, &v, size, order);
	if (!disk_has(p, NULL))
		released();
	while (c->nlate && part_of(p, &off) == part_of(c->late[c->nlate - 1].to, &off)) {
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
	sim_access(p, sizeof(*p), false);
	old = *p;
	if ((sim.options.mutant == SIM_LOST_NOT_RESET && lost && less) ||
	    (sim.options.mutant == SIM_LOST_NOT_COUNTED && lost && !less) ||
	    (sim.options.mutant == SIM_TAKEN_BACK_SKIPPED && at && less))
		return old;
	if (sim.options.mutant == SIM_ADD_IN_TWO_STEPS)
		sim_step();
	*p = old + v;
	if (at && !less) {
		sim.taken_again += running()->took;
		running()->took = old % SIM_PAGE && old % SIM_PAGE + v <= SIM_PAGE;
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

	sim_access(p, sizeof(*p), false);
	if (*p != from && !(is_lock && sim.in_thread && sim.options.mutant == SIM_LOCK_MISSING))
		return false;
	*p = to;
	released();
	return true;
}

uint32_t sim_swap32(uint32_t *p, uint32_t v, bool adds)
{
	const uint32_t old = (uint32_t)sim_load(p, sizeof(*p));

	*p = adds ? old + v : v;
	released();
	return old;
}

void sim_set32(uint32_t *p, uint32_t bits, bool on)
{
	const uint32_t old = (uint32_t)sim_load(p, sizeof(*p));

	*p = on ? old | bits : old & ~bits;
	released();
}

void sim_wipe(void *p, size_t len)
{
	static const char zeros[SIM_CHUNK];

	assert(len <= sizeof(zeros));
	copy_now(p, zeros, len);
}

void sim_fence(void)
{
	sim_step();
	if (sim.in_thread && sim.options.mutant != SIM_FENCE_MISSING)
		disk_fence(sim.current);
}

void sim_acknowledge(void)
{
	pending_end(running());
	disk_fence(sim.current);
	running()->took = false;
}

/* --- the rest of what the library asks for --- */

uint64_t sim_clock(clockid_t which)
{
	sim_step();
	return ++sim.now + (which == CLOCK_REALTIME ? UINT64_C(1000000000000) : 0);
}

/* The thread waits for a lock: it need not run before another one has stored something. */
void sim_yield(void)
{
	sim.threads[sim.current].spins = true;
	sim.threads[sim.current].timed = false;
	leave(WISH_SWITCH);
}

void sim_wait(uint32_t *p, uint32_t seen)
{
	sim_access(p, sizeof(*p), false);
	if (*p != seen)
		return;
	sim.threads[sim.current].spins = true;
	sim.threads[sim.current].timed = true;
	leave(WISH_SWITCH);
}

void sim_wake(void)
{
	sim_step();
	released();
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

const char *sim_getenv(const char *name)
{
	(void)name;
	return NULL;
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

/* --- threads --- */

static void context_run(void)
{
	running()->body();
	if (sim.threads[sim.current].id) {
		*sim.threads[sim.current].id = 0;
		released();
	} else if (!sim_depth() && sim.threads[sim.current].specific) {
		sim.end(sim.threads[sim.current].specific);
	}
	pending_end(running());
	disk_fence(sim.current);
	running()->ended = true;
	leave(WISH_SWITCH);
	abort(); /* A context that has ended is never chosen again. */
}

static void context_make(struct context *c, void (*body)(void))
{
	if (!c->stack)
		c->stack = malloc(STACK);
	if (!c->stack)
		abort();
	c->body = body;
	c->ended = false;
	c->pending = NULL;
	c->took = false;
	c->nlate = 0;
	coroutine_make(&c->co, c->stack, STACK, context_run);
}

static unsigned thread_new(unsigned process, void (*body)(void), void (*handler)(void))
{
	unsigned n = 0;
	struct thread *t;

	while (n < SIM_THREADS && sim.threads[n].exists)
		n++;
	if (n == SIM_THREADS)
		abort();
	t = &sim.threads[n];
	t->exists = true;
	t->ended = t->spins = false;
	t->process = process;
	t->depth = t->handled = 0;
	t->handler = handler;
	t->id = NULL;
	t->specific = NULL;
	context_make(&t->contexts[0], body);
	return n;
}

void sim_thread_add(void (*body)(void), void (*handler)(void))
{
	thread_new(0, body, handler);
}

void sim_helper(void (*run)(void), uint32_t *id)
{
	const unsigned n = thread_new(sim.process, run, NULL);

	sim.threads[n].id = id;
	*id = 100 + n;
	sim_step();
}

static void (*child_body)(void);

static void child_run(void)
{
	sim.child();
	child_body();
}

void sim_fork(void (*body)(void))
{
	const unsigned child = sim.nprocesses++;
	unsigned t;

	assert(child < SIM_PROCESSES);
	sim.before();
	pending_end(running());
	disk_fence(sim.current);
	memory_save(child);
	disk_fork(sim.process, child);
	child_body = body;
	t = thread_new(child, child_run, NULL);
	memcpy(saved[child]->tls[t], tls[sim.current], SIM_TLS);
	sim.parent();
}

void sim_begin(const struct sim_options *options)
{
	if (!has_pristine) {
		globals_copy(pristine);
		has_pristine = true;
		for (unsigned i = 0; i < SIM_PROCESSES; i++)
			saved[i] = calloc(1, sizeof(*saved[i]));
	}
	globals_set(pristine);
	memset(tls, 0, sizeof(tls));
	memset(reserved, 0, sim.nreserved);
	for (unsigned i = 0; i < SIM_THREADS; i++)
		sim.threads[i].exists = false;
	sim.options = *options;
	sim.current = sim.process = 0;
	sim.nprocesses = 1;
	sim.failure = NULL;
	sim.look = NULL;
	sim.steps = sim.taken_again = 0;
	sim.state = options->seed;
	sim.now = 1000000;
	sim.nreserved = 0;
	disk_begin();
}

void sim_change(const struct sim_options *options)
{
	sim.options = *options;
	sim.steps = 0;
}

void sim_on_crash(void (*look)(void))
{
	sim.look = look;
}

/* Chooses a thread that can run; SIM_THREADS: none can. */
static unsigned choose(bool *all_ended)
{
	unsigned can[SIM_THREADS], n = 0;

	*all_ended = true;
	/* First those that wait for nothing, then those whose time may be over. */
	for (unsigned pass = 0; pass < 2 && !n; pass++)
		for (unsigned i = 0; i < SIM_THREADS; i++) {
			const struct thread *const t = &sim.threads[i];

			if (!t->exists || t->ended)
				continue;
			*all_ended &= t->id != NULL;
			if (!t->spins || (pass && t->timed))
				can[n++] = i;
		}
	if (!n)
		return SIM_THREADS;
	/* The next one after the one that ran. */
	for (unsigned i = 0; i < n && sim.options.exact; i++)
		if (can[i] > sim.current)
			return can[i];
	return can[sim.options.exact ? 0 : sim_random(n)];
}

static void run(unsigned thread)
{
	struct thread *const t = &sim.threads[thread];

	if (t->process != sim.process) {
		memory_save(sim.process);
		memory_load(t->process);
		sim.process = t->process;
	}
	sim.current = thread;
	t->spins = false;
	sim_tls = tls[thread];
	sim.in_thread = true;
	coroutine_switch(&sim.main, &running()->co);
	sim_tls = first_tls;
}

/* The context of the thread that ran has ended: what it interrupted goes on. */
static void context_end(struct thread *t)
{
	if (t->depth)
		t->depth--;
	else
		t->ended = true;
}

const char *sim_run(void)
{
	bool ended = false;
	unsigned next = choose(&ended);

	while (!ended && !sim.failure) {
		struct thread *const t = &sim.threads[next];

		if (next == SIM_THREADS) {
			sim.failure = "every thread waits for the lock";
			break;
		}
		run(next);
		if (running()->ended)
			context_end(t);
		if (sim.failure)
			break;
		if (sim.wish == WISH_CRASH) {
			sim.look();
		} else if (sim.wish == WISH_HANDLER) {
			t->depth++;
			t->handled++;
			context_make(running(), t->handler);
		} else {
			next = choose(&ended);
		}
	}
	return sim.failure;
}
