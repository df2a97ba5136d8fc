/*
 * What threads and processors do, by SWITCH and WAKEUP rows alone.
 *
 * A thread runs from a SWITCH in to the next SWITCH out; then it is runnable (switched out while
 * preempted) or blocked, until a WAKEUP makes it runnable or a SWITCH in ends the wait. Without
 * WAKEUP rows the time between being woken and running counts as blocked. What cannot be so is not
 * guessed: two SWITCH rows of the same direction in a row lack one between them, and the time from
 * one to the other is unknown; so is the time from a thread's first event of any kind to its first
 * SWITCH or WAKEUP, and from its last to its last event. Hence running + runnable + blocked +
 * unknown is the time from a thread's first event to its last.
 *
 * A thread that ends (SPUR_F_EXIT) neither waits nor runs from then on; where its id is used again,
 * the time between is unknown.
 *
 * A thread needs its own rows only, in order. Processors need the rows of all threads merged by
 * time. Rows that a filter marks as not to be shown (ROW_UNSEEN) move the states; what begins or
 * ends with them is not counted.
 */
#ifndef SPUR_PASS_SCHED_STATE_H
#define SPUR_PASS_SCHED_STATE_H

#include <assert.h>

#include "pass/pass.h"
#include "pass/sched/latency.h"

enum sched_state {
	SCHED_UNKNOWN,
	SCHED_RUNNING,
	SCHED_PREEMPTED, /* runnable since it lost the processor */
	SCHED_WOKEN, /* runnable since it was woken */
	SCHED_BLOCKED,
};

/* A thread with SWITCH or WAKEUP rows. */
struct sched_thread {
	bool idle; /* runs where no other thread does: neither a thread nor a wait of one */
	bool any; /* a SWITCH or WAKEUP is to be shown */
	uint8_t state; /* enum sched_state */
	bool seen; /* the row that began the state is to be shown */
	uint16_t cpu; /* of that row */
	int64_t since;
	int64_t last; /* of all its rows */
	uint64_t running, runnable, blocked, unknown; /* ns */
	uint64_t switches, preemptions, wakeups; /* switches: in */
	uint64_t unfinished; /* times on a processor whose begin or end is not in the data */
	struct sched_latency *latency; /* NULL: never woken and run then */
};

static_assert(sizeof(struct sched_thread) <= 96, "there may be a million threads");

/* A track: most of very many threads have no SWITCH, and need no more than this. */
struct sched_slot {
	struct sched_thread *thread; /* NULL: no row; &sched_quiet: no SWITCH or WAKEUP */
	int64_t first; /* of all its rows */
};

/* A thread that nothing is known of; never written to. */
extern struct sched_thread sched_quiet;

struct sched_cpu {
	bool any; /* an event was seen */
	/* SCHED_UNKNOWN: no SWITCH yet; SCHED_BLOCKED: no thread has it; SCHED_RUNNING */
	uint8_t state;
	bool seen;
	uint32_t track; /* who has it */
	int64_t since;
	int64_t first, last; /* of all rows on it */
	uint64_t busy, idle, gaps, unknown; /* ns; idle: of idle threads; gaps: of no thread */
	uint64_t switches, unfinished;
	/*
	 * Who had it until `lost_at`, when another got it: its SWITCH out may come still, of the
	 * same time.
	 */
	uint32_t lost;
	int64_t lost_at, lost_since;
};

struct sched_wait {
	int64_t ts;
	uint64_t length;
	uint32_t track;
	uint16_t cpu; /* that it ran on then; where it was woken only, that it ran on before */
	uint8_t state; /* enum sched_state */
};

struct sched {
	struct spur_trace *trace;
	bool want_cpus; /* the rows are merged */
	bool unseen; /* the current row is outside of the filter */
	size_t most_waits; /* the number of longest waits that are kept */
	uint64_t least; /* ns: shorter waits are not */
	struct arena arena; /* of the threads */
	struct sched_slot *threads; /* by track */
	size_t nthreads, threads_cap;
	struct sched_cpu *cpus; /* by number */
	size_t ncpus, cpus_cap;
	struct sched_wait *waits; /* a heap, the least on top; after sched_end() in any order */
	size_t nwaits, waits_cap;
	uint64_t waits_all; /* waits that were long enough */
	uint64_t rows; /* SWITCH and WAKEUP rows */
	uint64_t nowhere; /* SWITCH rows that name no processor */
	bool idle_known; /* there is an idle thread */
	uint32_t idle_name; /* string id */
};

/* `s` is zero but for what the caller chooses. */
void sched_init(struct sched *s, struct spur_trace *t);
/* A callback of pipe_fold.marked and pipe_run_marked(). Returns false if out of memory. */
bool sched_rows(void *sched, struct marked_rows in);
/* Moves all of `from` into `into`. No track may be in both. Returns false if out of memory. */
bool sched_join(struct sched *into, struct sched *from);
/* After the last row: what is open then is unknown. */
void sched_end(struct sched *s);
void sched_free(struct sched *s);

#endif
