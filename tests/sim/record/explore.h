/*
 * All orders in which a few threads, their handlers and the helper may take their steps, with a
 * crash after each.
 *
 * It goes from state to state: where several things may come next, the machine's state is kept, and
 * set back for each of them. What follows upon a state that was seen before is known. A state is
 * the memory, the files, and the stack of each thread; its hash stands for it.
 *
 * Another thread is let go on only before steps that it can see: accesses to words that threads
 * race for, which are those that one of them writes while another one accesses them without the
 * lock; stores into files, which a crash shows; and calls of the system. All other steps commute
 * with those of other threads, so that every order has the same outcome as one that is tried. In
 * the same way, a handler begins before the steps of its thread that it can see. Which words these
 * are is found on the way: if it turns out that there is one more, everything begins anew.
 */
#ifndef SPUR_TESTS_SIM_RECORD_EXPLORE_H
#define SPUR_TESTS_SIM_RECORD_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exploration {
	/* Makes the machine and runs it until all threads that are to be explored are at a gate. */
	void (*begin)(void);
	/* Checks the law for a crash now; called for each state of the files, events and counts. */
	void (*crash)(void);
	/* Adds what comes after all threads have ended, runs it, and checks the law. */
	void (*end)(void);
	bool every_step; /* others may go on before each step, whether or not they can see it */
	/*
	 * Stores into files are nothing that other threads can see: a crash comes after each, but
	 * not with every other place at which another thread may be.
	 */
	bool apart;
	/*
	 * A thread that needs the lock goes on when that is free, by one step: the steps of a wait,
	 * which change nothing but the lock, are left out.
	 */
	bool waits_at_once;
	uint64_t states_most; /* gives up there; 0: no limit */
};

struct explored {
	bool complete;
	uint64_t states, steps;
	uint64_t images; /* different crashes */
	uint64_t ends, ends_sum; /* different states in which all had ended, and a sum of these */
	uint64_t threads, handlers; /* words that threads race for, or handlers with their thread */
	uint64_t timeouts; /* how often nothing could go on before a wait was over by its time */
};

/* Returns what is wrong, or NULL. */
const char *explore(const struct exploration *x, struct explored *out);

/* How the last state was reached: which thread went on until which step. */
void explore_trail(char *to, size_t size);

/* --- the machine's side --- */

/* Who can see a step: no one, handlers of its thread, or all. */
enum explore_sight { EXPLORE_NONE, EXPLORE_OWN, EXPLORE_ALL };
enum explore_sight explore_sight(const void *p, size_t size, bool write);
/* Notes an access of the running thread. */
void explore_note(const void *p, size_t size, bool write);

#endif
