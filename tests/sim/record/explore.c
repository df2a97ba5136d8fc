/* See explore.h. */
#include "explore.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "scenario.h"

enum {
	TABLE = 1 << 16,
	CHOICES = 2 * SIM_THREADS,
	TRAIL = 4096,
	WALKS = 300,
	CHECKED_OF = 500, /* states */
	WORD_STEP = 8,
	STACK_SAVED_MOST = SIM_THREADS * SIM_NESTED * SIM_STACK,
	SAVED_MOST = DISK_SAVED_MOST + LAW_SAVED_MOST + STACK_SAVED_MOST + (1 << 16),
};

static const struct exploration *plan;
static struct explored *found;

/* --- sets of hashes --- */

struct set {
	uint64_t *list; /* 0: an empty place */
	size_t count, cap;
};

static struct set states, images, ends;

static void set_grow(struct set *s)
{
	struct set bigger = { NULL, s->count, s->cap ? 2 * s->cap : TABLE };

	bigger.list = calloc(bigger.cap, sizeof(*bigger.list));
	if (!bigger.list)
		abort();
	for (size_t k = 0; k < s->cap; k++) {
		size_t i = s->list[k] % bigger.cap;

		while (s->list[k] && bigger.list[i])
			i = (i + 1) % bigger.cap;
		if (s->list[k])
			bigger.list[i] = s->list[k];
	}
	free(s->list);
	*s = bigger;
}

/* Returns false if the set has it. */
static bool set_add(struct set *s, uint64_t hash)
{
	size_t i;

	hash += !hash;
	if (2 * s->count >= s->cap)
		set_grow(s);
	for (i = hash % s->cap; s->list[i]; i = (i + 1) % s->cap)
		if (s->list[i] == hash)
			return false;
	s->list[i] = hash;
	s->count++;
	return true;
}

static void set_clear(struct set *s)
{
	free(s->list);
	*s = (struct set){ NULL, 0, 0 };
}

/* --- which memory threads and handlers race for --- */

/* A bit for each thread and each of its handlers that accessed the word. */
struct word {
	uint32_t read[2], written[2]; /* without the lock, with it */
	enum explore_sight sight;
};

static struct word words[SIM_WORDS];
static uint64_t arrivals;
static bool grew; /* more can see a word than was known */

/* The bits of the thread that has this one. */
static uint32_t thread_bits(unsigned bit)
{
	return ((1u << SIM_NESTED) - 1) << bit / SIM_NESTED * SIM_NESTED;
}

static enum explore_sight sight_of(const struct word *w)
{
	const uint32_t unlocked = w->read[0] | w->written[0];
	const uint32_t all = unlocked | w->read[1] | w->written[1];
	enum explore_sight sight = EXPLORE_NONE;

	for (unsigned i = 0; i < SIM_THREADS * SIM_NESTED; i++) {
		const uint32_t bit = (uint32_t)1 << i, own = thread_bits(i);

		if (((w->written[0] | w->written[1]) & bit && unlocked & ~own) ||
		    (w->written[0] & bit && all & ~own))
			return EXPLORE_ALL;
		if ((w->written[0] | w->written[1]) & bit && all & own & ~bit)
			sight = EXPLORE_OWN;
	}
	return sight;
}

void explore_note(const void *p, size_t size, bool write)
{
	const unsigned locked = sim.holder == sim.current;
	const uint32_t bit = (uint32_t)1 << (sim.current * SIM_NESTED + sim_depth());
	const char *const end = (const char *)p + size;

	for (const char *at = (const char *)((uintptr_t)p & ~(uintptr_t)(WORD_STEP - 1)); at < end;
	     at += WORD_STEP) {
		struct word *const w = &words[sim_word(at)];
		uint32_t *const list = write ? w->written : w->read;
		enum explore_sight sight;

		if (list[locked] & bit)
			continue;
		list[locked] |= bit;
		sight = sight_of(w);
		grew |= sight != w->sight;
		w->sight = sight;
	}
}

static bool can_interrupt(const struct thread *t)
{
	return t->exists && !t->ended && t->handler && t->depth + 1 < SIM_NESTED &&
	       t->handled < sim.options.handlers_most;
}

enum explore_sight explore_sight(const void *p, size_t size, bool write)
{
	enum explore_sight sight = EXPLORE_NONE;

	const bool stores = p && write && disk_is_shown(p);

	if (plan->every_step || (stores && !plan->apart))
		return EXPLORE_ALL;
	for (size_t i = 0; p && i < size; i += WORD_STEP) {
		const enum explore_sight s = words[sim_word((const char *)p + i)].sight;

		sight = s > sight ? s : sight;
	}
	if (sight == EXPLORE_OWN && !can_interrupt(&sim.threads[sim.current]))
		sight = EXPLORE_NONE;
	return stores && !sight ? EXPLORE_OWN : sight;
}

/* --- states --- */

/* What may come next: a step of a thread, or a handler in it. */
struct choice {
	unsigned thread;
	bool handler;
};

/* A state, with what was tried from there. */
struct node {
	size_t saved; /* where it begins in `kept` */
	unsigned ntrail;
	uint64_t steps; /* of the last part of the trail */
	struct track_point track;
	unsigned which;
};

static char *kept;
static size_t nkept, kept_cap;
static struct node *nodes;
static size_t nnodes, nodes_cap;

/* How the present state was reached: threads, one after the other. */
static struct part {
	struct choice choice;
	uint64_t steps; /* of the machine, when another one went on */
} trail[TRAIL];
static unsigned ntrail;

static bool is_live(const struct thread *t, unsigned depth)
{
	return t->exists && !t->ended && depth <= t->depth;
}

/* Calls the function with the part of each stack that is in use. */
static void each_stack(char **at, void (*call)(char **at, char *live, size_t size))
{
	for (unsigned i = 0; i < SIM_THREADS; i++)
		for (unsigned j = 0; j < SIM_NESTED; j++) {
			struct context *const c = &sim.threads[i].contexts[j];
			char *live;

			if (!is_live(&sim.threads[i], j))
				continue;
			live = coroutine_live(&c->co, c->stack);
			call(at, live, (size_t)(c->stack + SIM_STACK - live));
		}
}

static void stack_save(char **at, char *live, size_t size)
{
	memcpy(*at, live, size);
	*at += size;
}

static void stack_load(char **at, char *live, size_t size)
{
	memcpy(live, *at, size);
	*at += size;
}

/* Late copies of mutants, which are few. */
static void late_move(char **at, bool save)
{
	for (unsigned i = 0; i < SIM_THREADS * SIM_NESTED; i++) {
		struct context *const c = &sim.threads[i / SIM_NESTED].contexts[i % SIM_NESTED];
		const size_t size = c->nlate * sizeof(*c->late);

		if (!is_live(&sim.threads[i / SIM_NESTED], i % SIM_NESTED) || !size)
			continue;
		memcpy(save ? *at : (char *)c->late, save ? (char *)c->late : *at, size);
		*at += size;
	}
}

/* Makes a node of the present state. */
static struct node *node_push(void)
{
	struct node *n;
	char *at;

	if (kept_cap - nkept < SAVED_MOST) {
		kept_cap = 2 * kept_cap + SAVED_MOST;
		kept = realloc(kept, kept_cap);
	}
	if (nnodes == nodes_cap) {
		nodes_cap = 2 * nodes_cap + TABLE;
		nodes = realloc(nodes, nodes_cap * sizeof(*nodes));
	}
	if (!kept || !nodes)
		abort();
	n = &nodes[nnodes++];
	*n = (struct node){ .saved = nkept,
			    .track = track_now(),
			    .ntrail = ntrail,
			    .steps = ntrail ? trail[ntrail - 1].steps : 0 };
	at = kept + nkept;
	memcpy(at, &sim, sizeof(sim));
	at += sizeof(sim);
	each_stack(&at, stack_save);
	late_move(&at, true);
	at += disk_save(at);
	at += law_save(at);
	nkept = (size_t)(at - kept);
	return n;
}

static void node_restore(const struct node *n)
{
	char *at = kept + n->saved;

	memcpy(&sim, at, sizeof(sim));
	at += sizeof(sim);
	each_stack(&at, stack_load);
	late_move(&at, false);
	at += disk_load(at);
	law_load(at);
	track_back(&n->track);
	ntrail = n->ntrail;
	if (ntrail)
		trail[ntrail - 1].steps = n->steps;
}

static void node_pop(void)
{
	nkept = nodes[--nnodes].saved;
}

/* A hash of what the thread that ran last will do next. */
static void context_hash(void)
{
	struct thread *const t = &sim.threads[sim.current];
	struct context *const c = &t->contexts[t->depth];
	const char *live;

	if (t->ended)
		return;
	live = coroutine_live(&c->co, c->stack);
	c->hash = track_hash((uint64_t)(live - c->stack), live,
			     (size_t)(c->stack + SIM_STACK - live));
	c->hash = track_hash(c->hash, &c->co, sizeof(c->co));
	c->hash = track_hash(c->hash + c->took, c->late, c->nlate * sizeof(*c->late));
}

/* All but what threads will do next. */
static uint64_t memory_hash(void)
{
	const struct track_point track = track_now();
	const uint64_t all[] = {
		track.memory,
		track.disk,
		disk_hash(),
		law_hash(),
		sim.taken_again,
		sim.state,
		(uint64_t)(uintptr_t)sim.mirrors[sim.process] + sim.session,
	};

	return track_hash(0, all, sizeof(all));
}

static uint64_t state_hash(void)
{
	/* Which thread ran last matters only before a step that none but its handlers can see. */
	uint64_t hash =
		memory_hash() + sim.sight + (sim.sight == EXPLORE_OWN ? sim.current * CHOICES : 0);

	for (unsigned i = 0; i < SIM_THREADS; i++) {
		const struct thread *const t = &sim.threads[i];
		const uint64_t place[] = { t->exists, t->ended,	  t->spins,	  t->timed,
					   t->depth,  t->handled, (t->id != NULL) };

		hash = track_hash(hash + i, place, t->exists ? sizeof(place) : 0);
		for (unsigned j = 0; j < SIM_NESTED; j++)
			if (is_live(t, j))
				hash = track_hash(hash, &t->contexts[j].hash, sizeof(uint64_t));
	}
	return hash;
}

/* --- what comes next --- */

/* The helper gives up where it finds the lock taken. */
static bool is_locked_out(const struct thread *t)
{
	const uint32_t *const lock = t->contexts[t->depth].wants;

	return plan->waits_at_once && lock && *lock && !t->id;
}

static unsigned choices_waiting(struct choice *list, unsigned n, bool timed)
{
	for (unsigned k = 0; k < SIM_THREADS; k++) {
		const unsigned i = (sim.current + k) % SIM_THREADS;
		const struct thread *const t = &sim.threads[i];

		if (t->exists && !t->ended && !is_locked_out(t) &&
		    (timed ? t->spins && t->timed : !t->spins))
			list[n++] = (struct choice){ i, false };
	}
	return n;
}

/*
 * Returns how many there are; 0: all have ended, or wait for each other. *late: no thread goes on
 * before its wait is over by its time.
 */
static unsigned choices(struct choice list[CHOICES], bool *late)
{
	unsigned n = 0;

	*late = false;
	if (sim.sight == EXPLORE_OWN) {
		list[n++] = (struct choice){ sim.current, false };
		if (can_interrupt(&sim.threads[sim.current]))
			list[n++] = (struct choice){ sim.current, true };
		return n;
	}
	n = choices_waiting(list, n, false);
	*late = !n;
	if (!n)
		n = choices_waiting(list, n, true);
	for (unsigned i = 0; i < SIM_THREADS; i++)
		if (can_interrupt(&sim.threads[i]))
			list[n++] = (struct choice){ i, true };
	return n;
}

static bool all_ended(void)
{
	for (unsigned i = 0; i < SIM_THREADS; i++) {
		const struct thread *const t = &sim.threads[i];

		if (t->exists && !t->ended && !t->id)
			return false;
	}
	return true;
}

static void go(const struct choice *c)
{
	if (c->handler)
		sim_interrupt(c->thread);
	sim.sight = EXPLORE_ALL;
	sim_go(c->thread);
	context_hash();
	if (!ntrail || trail[ntrail - 1].choice.thread != c->thread || c->handler) {
		assert(ntrail < TRAIL);
		trail[ntrail++].choice = *c;
	}
	trail[ntrail - 1].steps = sim_steps();
}

/* Checks the law for a crash, unless the same was checked before. */
static void crash_check(void)
{
	const uint64_t kept_state = sim.state;
	const uint64_t key[] = { track_now().disk, disk_sizes(), law_hash(), sim.taken_again,
				 scenario_lost() };
	const uint64_t hash = track_hash(1, key, sizeof(key));

	if (!plan->crash || !set_add(&images, hash))
		return;
	sim.state = hash;
	plan->crash();
	sim.state = kept_state;
}

/* All threads have ended; the helper may run. */
static void end_reached(uint64_t hash)
{
	const struct node *n;

	if (!set_add(&ends, hash))
		return;
	found->ends_sum += hash;
	n = node_push();
	sim.options.explores = false;
	plan->end();
	if (!sim.failure)
		node_restore(n);
	node_pop();
}

/*
 * Looks at the present state. Returns how many things may come next; 0: none that is not known.
 */
static unsigned arrive(struct choice list[CHOICES], bool walks)
{
	uint64_t hash;
	unsigned n;
	bool late;

	if (++arrivals % CHECKED_OF == 0 && !track_is_right())
		sim_fail("memory has changed of which the machine does not know");

	if (!walks)
		crash_check();
	/* Where there is no choice, nothing is gained by knowing the state. */
	if (sim.sight == EXPLORE_OWN && !can_interrupt(&sim.threads[sim.current]))
		return sim.failure ? 0 : choices(list, &late);
	hash = state_hash();
	if (sim.failure || (!walks && !set_add(&states, hash)))
		return 0;
	if (all_ended()) {
		if (!walks)
			end_reached(memory_hash());
		return 0;
	}
	n = choices(list, &late);
	found->timeouts += late;
	if (!n)
		sim_fail("every thread waits for another one");
	return n;
}

/* --- trying --- */

/* One order at random, to find out what threads race for. */
static void walk(uint64_t seed)
{
	struct choice list[CHOICES];
	unsigned n;

	while ((n = arrive(list, true)) && !sim.failure) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		go(&list[(seed >> 33) % 4 ? 0 : (seed >> 35) % n]);
	}
}

/* Goes to the next state that was not tried. Returns false if all were. */
static bool back(struct choice *c)
{
	struct choice list[CHOICES];

	while (nnodes > 1) {
		struct node *const n = &nodes[nnodes - 1];
		unsigned count;
		bool late;

		node_restore(n);
		count = choices(list, &late);
		if (++n->which < count) {
			*c = list[n->which];
			return true;
		}
		node_pop();
	}
	return false;
}

static void search(void)
{
	struct choice list[CHOICES];
	unsigned n = arrive(list, false);

	while (!sim.failure) {
		struct choice c = list[0];

		if (n > 1)
			node_push();
		else if (!n && !back(&c))
			break;
		go(&c);
		found->steps++;
		if (plan->states_most && states.count >= plan->states_most)
			break;
		n = sim.failure ? 0 : arrive(list, false);
	}
	found->complete = n == 0 && !sim.failure;
}

/* One time all orders, with what is known of the words. */
static void pass(void)
{
	set_clear(&states);
	set_clear(&images);
	set_clear(&ends);
	found->ends_sum = found->steps = found->timeouts = 0;
	nnodes = nkept = ntrail = 0;
	plan->begin();
	if (sim.failure)
		return;
	sim.options.explores = true;
	sim.sight = EXPLORE_ALL;
	sim_open_gate();
	law_gate();
	track_begin();
	for (unsigned i = 0; i < SIM_THREADS; i++) {
		sim.current = i;
		if (sim.threads[i].exists)
			context_hash();
	}
	node_push();
	for (uint64_t i = 0; i < WALKS && !sim.failure; i++) {
		walk(i);
		if (!sim.failure)
			node_restore(&nodes[0]);
	}
	grew = false;
	if (!sim.failure)
		search();
	track_end();
}

void explore_trail(char *to, size_t size)
{
	size_t len = 0;

	*to = '\0';
	for (unsigned i = 0; i < ntrail && len < size; i++)
		len += (size_t)snprintf(to + len, size - len, "%s%s%u to %llu", i ? ", " : "",
					trail[i].choice.handler ? "handler of " : "",
					trail[i].choice.thread, (unsigned long long)trail[i].steps);
}

const char *explore(const struct exploration *x, struct explored *out)
{
	*out = (struct explored){ .complete = false };
	plan = x;
	found = out;
	memset(words, 0, sizeof(words));
	do
		pass();
	while (!sim.failure && grew && out->complete);
	out->complete &= !grew;
	out->states = states.count;
	out->images = images.count;
	out->ends = ends.count;
	for (size_t i = 0; i < SIM_WORDS; i++) {
		out->threads += words[i].sight == EXPLORE_ALL;
		out->handlers += words[i].sight == EXPLORE_OWN;
	}
	return sim.failure;
}
