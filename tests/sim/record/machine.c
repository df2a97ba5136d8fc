/* Threads, handlers, processes and the scheduler of the simulated machine. */
#include "inside.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEY_SHIFT = 3, /* words have 8 bytes */
	STEPS_MOST = 400000,
	GLOBALS_MOST = 160 << 10,
	RESERVED_MOST = 128 << 10,
	CATALOG_MOST = 32 << 10,
	STACK_MOST = 1 << 10, /* no more of it is used here */
	LARGE = 1 << 20,
	NULL_PAGE = 65536,
};

/* The library's static data, as the build puts it together. */
extern char __start_sim_data[], __stop_sim_data[], __start_sim_bss[], __stop_sim_bss[];

/* Memory of a process. */
struct memory {
	char globals[GLOBALS_MOST];
	char tls[SIM_THREADS][SIM_TLS];
	char reserved[RESERVED_MOST];
	size_t nreserved;
};

struct machine sim;
static struct late late[SIM_THREADS][SIM_NESTED][SIM_LATE];
static char stacks[SIM_THREADS][SIM_NESTED][SIM_STACK] __attribute__((aligned(64)));

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

struct context *sim_running(void)
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
		coroutine_switch(&sim_running()->co, &sim.main);
	}
}

uint64_t sim_load_word(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

void sim_store_word(const char *p, uint64_t v)
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

/* How much of what the library reserves it uses here. */
static size_t reserved_size(size_t size)
{
	if (size > LARGE)
		return CATALOG_MOST;
	return size > SIM_CHUNK ? STACK_MOST : (size + SIM_WORD - 1) / SIM_WORD * SIM_WORD;
}

void sim_unreserve(void *p, size_t size)
{
	const size_t n = reserved_size(size);

	track_before(p, n);
	memset(p, 0, n);
	track_after(p, n);
	if ((char *)p + n == reserved + sim.nreserved)
		sim.nreserved -= n;
}

void *sim_reserve(size_t size)
{
	const size_t n = reserved_size(size);
	char *p;

	sim_step();
	assert(n <= RESERVED_MOST - sim.nreserved);
	p = reserved + sim.nreserved; /* now that the other contexts had their turn */
	sim.nreserved += n;
	return p;
}

bool sim_is_private(const char *p)
{
	return (p >= __start_sim_data && p < __stop_sim_data) ||
	       (p >= __start_sim_bss && p < __stop_sim_bss) ||
	       (p >= tls[0] && p < tls[0] + sizeof(tls)) ||
	       (p >= reserved && p < reserved + RESERVED_MOST);
}

size_t sim_word(const void *p)
{
	const char *const c = p;
	const size_t data = (size_t)(__stop_sim_data - __start_sim_data + SIM_WORD),
		     bss = (size_t)(__stop_sim_bss - __start_sim_bss + SIM_WORD);
	size_t at;

	if (disk_has(p, NULL))
		return SIM_PRIVATE_WORDS + ((size_t)(c - (const char *)disk_bytes()) >> KEY_SHIFT);
	if (c >= __start_sim_data && c < __stop_sim_data)
		at = (size_t)(c - __start_sim_data);
	else if (c >= __start_sim_bss && c < __stop_sim_bss)
		at = data + (size_t)(c - __start_sim_bss);
	else if (c >= tls[0] && c < tls[0] + sizeof(tls))
		at = data + bss + (size_t)(c - tls[0]);
	else
		at = data + bss + sizeof(tls) + (size_t)(c - reserved);
	assert(at >> KEY_SHIFT < SIM_PRIVATE_WORDS);
	return at >> KEY_SHIFT;
}

void sim_each_memory(void (*call)(const char *p, size_t size))
{
	call(__start_sim_data, (size_t)(__stop_sim_data - __start_sim_data));
	call(__start_sim_bss, (size_t)(__stop_sim_bss - __start_sim_bss));
	call(tls[0], sizeof(tls));
	call(reserved, sizeof(reserved));
	call((const char *)disk_bytes(), (size_t)SIM_FILES * SIM_FILE_MOST);
}

void sim_gate(void)
{
	sim.threads[sim.current].gated = true;
	sim_leave(WISH_SWITCH);
}

void sim_dumped(unsigned dump)
{
	sim_pending_end(sim_running());
	sim.dump = dump;
	sim_leave(WISH_DUMP);
}

void sim_open_gate(void)
{
	for (unsigned i = 0; i < SIM_THREADS; i++)
		sim.threads[i].gated = false;
}

/* --- steps --- */

/* The plain store that the library was about to do is done. */
void sim_pending_end(struct context *c)
{
	const char *const p = c->pending;

	if (!p)
		return;
	c->pending = NULL;
	if (disk_has(p, NULL)) {
		disk_note(sim.current, p, c->pending_size, c->old, SIM_PLAIN);
		track_after(p, c->pending_size);
		return;
	}
	if (sim.options.mutant == SIM_BUSY_MISSING && p == sim_tls + SIM_TLS_OWN + sim_busy_at)
		*(bool *)(uintptr_t)p = false;
	if (sim.options.mutant == SIM_PAGE_END_LATE && p == sim_tls + SIM_WORD && sim_load_word(p))
		sim_store_word(p, sim_load_word(p) + 2 * SIM_WORD);
	track_after(p, c->pending_size);
}

void sim_leave(enum wish wish)
{
	struct context *const c = sim_running();

	sim.wish = wish;
	sim.in_thread = false;
	coroutine_switch(&c->co, &sim.main);
}

static void step_exact(const struct thread *t)
{
	if (sim.options.crashes)
		sim_leave(WISH_CRASH);
	if (sim.steps == sim.options.handler_at && t->handler)
		sim_leave(WISH_HANDLER);
	if (sim.steps == sim.options.switch_at)
		sim_leave(WISH_SWITCH);
}

static void step_exploring(const void *p, size_t size, bool write, bool seen)
{
	sim.sight = explore_sight(p, size, write);
	if (seen)
		sim.sight = EXPLORE_ALL;
	if (sim.sight)
		sim_leave(WISH_CHOICE);
	if (p)
		explore_note(p, size, write);
}

static void step(const void *p, size_t size, bool write, bool seen)
{
	const struct thread *const t = &sim.threads[sim.current];
	uint64_t r;

	if (!sim.in_thread)
		return;
	sim_pending_end(sim_running());
	if (++sim.steps > STEPS_MOST)
		sim_fail("a thread never ends");
	if (sim.options.explores) {
		step_exploring(p, size, write, seen);
		return;
	}
	if (sim.options.exact) {
		step_exact(t);
		return;
	}
	r = sim_random(UINT64_MAX);
	if ((r & 1023) < sim.options.crashes)
		sim_leave(WISH_CRASH);
	if ((r >> 10 & 1023) < sim.options.handlers && t->handler && t->depth + 1 < SIM_NESTED &&
	    t->handled < sim.options.handlers_most)
		sim_leave(WISH_HANDLER);
	else if ((r >> 20 & 1023) < sim.options.switches)
		sim_leave(WISH_SWITCH);
}

void sim_step(void)
{
	step(NULL, 0, false, false);
}

void sim_step_at(const void *p, size_t size, bool write)
{
	step(p, size, write, false);
}

void sim_step_seen(void)
{
	step(NULL, 0, false, true);
}

void sim_access(const void *p, size_t size, bool write)
{
	struct context *c;

	if (!sim.in_thread ||
	    (!sim_is_private(p) && !disk_has(p, NULL) && (uintptr_t)p > NULL_PAGE))
		return;
	sim_step_at((uintptr_t)p <= NULL_PAGE ? NULL : p, size, write);
	if ((uintptr_t)p <= NULL_PAGE)
		sim_fail("an access to address 0");
	disk_check(p, size);
	if (sim_is_mirrored(p))
		sim_fail("a plain access to words that are the board's");
	if (!write)
		return;
	c = sim_running();
	if (size <= sizeof(c->old))
		memcpy(c->old, p, size);
	else
		assert(sim_is_private(p));
	c->pending = p;
	c->pending_size = size;
	track_before(p, size);
}

/* --- threads --- */

static void context_run(void)
{
	sim_running()->body();
	if (sim.threads[sim.current].id) {
		track_before(sim.threads[sim.current].id, sizeof(uint32_t));
		*sim.threads[sim.current].id = 0;
		track_after(sim.threads[sim.current].id, sizeof(uint32_t));
		sim_wake(sim.threads[sim.current].id);
	} else if (!sim_depth() && sim.threads[sim.current].specific) {
		sim.end(sim.threads[sim.current].specific);
	}
	sim_pending_end(sim_running());
	disk_fence(sim.current);
	sim_running()->ended = true;
	sim_leave(WISH_SWITCH);
	abort(); /* A context that has ended is never chosen again. */
}

static void context_make(struct context *c, void (*body)(void))
{
	c->body = body;
	c->ended = false;
	c->pending = NULL;
	c->took = false;
	c->wants = NULL;
	c->nlate = 0;
	c->dump = c->dumped = 0;
	c->read_to = NULL;
	coroutine_make(&c->co, c->stack, SIM_STACK, context_run);
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
	t->ended = t->spins = t->gated = false;
	for (unsigned i = 0; i < SIM_NESTED; i++) {
		t->contexts[i].late = late[n][i];
		t->contexts[i].stack = stacks[n][i];
	}
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
	track_before(id, sizeof(*id));
	*id = 100 + n;
	track_after(id, sizeof(*id));
	sim_step_seen();
}

static void (*child_body)(void);

static void child_run(void)
{
	if (sim.options.mutant != SIM_FORK_UNSEEN)
		sim.child();
	child_body();
}

bool sim_may_fork(void)
{
	const bool may = !sim.may_not_fork;

	sim.may_not_fork = true;
	return may;
}

void sim_fork(void (*body)(void))
{
	const unsigned child = sim.nprocesses++;
	unsigned t;

	assert(child < SIM_PROCESSES);
	sim.before();
	sim_pending_end(sim_running());
	disk_fence(sim.current);
	memory_save(child);
	disk_fork(sim.process, child);
	sim.mirrors[child] = sim.mirrors[sim.process];
	child_body = body;
	t = thread_new(child, child_run, NULL);
	memcpy(saved[child]->tls[t], tls[sim.current], SIM_TLS);
	sim.parent();
}

void sim_settle(void)
{
	for (unsigned i = 0; i < SIM_THREADS; i++)
		while (sim.threads[i].exists && sim.threads[i].id && !sim.threads[i].ended &&
		       !sim.threads[i].spins && !sim.failure)
			sim_go(i);
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
	sim.may_not_fork = false;
	sim.lock = NULL;
	sim.holder = SIM_THREADS;
	sim.failure = NULL;
	sim.look = NULL;
	sim.look_at_dump = NULL;
	sim.steps = sim.taken_again = 0;
	sim.state = options->seed;
	sim.now = 1000000;
	sim.nreserved = 0;
	memset(sim.mirrors, 0, sizeof(sim.mirrors));
	sim.session = false;
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

void sim_on_dump(void (*look)(unsigned dump))
{
	sim.look_at_dump = look;
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

			if (!t->exists || t->ended || t->gated)
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

/* The context of the thread that ran has ended: what it interrupted goes on. */
static void context_end(struct thread *t)
{
	if (t->depth)
		t->depth--;
	else
		t->ended = true;
}

void sim_go(unsigned thread)
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
	do {
		coroutine_switch(&sim.main, &sim_running()->co);
		sim.in_thread = false;
		if (sim.wish == WISH_DUMP)
			sim.look_at_dump(sim.dump);
		sim.in_thread = true;
	} while (sim.wish == WISH_DUMP && !sim.failure);
	sim.in_thread = false;
	sim_tls = first_tls;
	if (sim_running()->ended)
		context_end(t);
}

void sim_interrupt(unsigned thread)
{
	struct thread *const t = &sim.threads[thread];

	t->depth++;
	t->handled++;
	context_make(&t->contexts[t->depth], t->handler);
}

const char *sim_run(void)
{
	bool ended = false;
	unsigned next = choose(&ended);

	while (!ended && !sim.failure) {
		if (next == SIM_THREADS) {
			sim.failure = "every thread waits for the lock";
			break;
		}
		sim_go(next);
		if (sim.failure)
			break;
		if (sim.wish == WISH_CRASH) {
			sim.look();
		} else if (sim.wish == WISH_HANDLER) {
			sim_interrupt(next);
		} else {
			next = choose(&ended);
		}
	}
	return sim.failure;
}
