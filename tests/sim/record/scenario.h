/* What the simulated threads do with the tracing library. */
#ifndef SPUR_TESTS_SIM_RECORD_SCENARIO_H
#define SPUR_TESTS_SIM_RECORD_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"

/* Changes the scenario: how many events each thread records, and of which size. */
struct scenario {
	unsigned events;
	unsigned large; /* of 16 events, how many fill most of a page */
	unsigned mode; /* enum spur_trace_mode */
	bool ticks; /* the last event behind the gate is another point's, without arguments */
	bool strings; /* events have strings or names by ids */
	bool fibers; /* threads run fibers */
	/* Of scenario_gated(), for each thread: pages that it fills before the gate ... */
	unsigned pages[SIM_THREADS];
	bool begun[SIM_THREADS]; /* ... then an event in the next one; events behind the gate */
	unsigned behind[SIM_THREADS];
	/* Sessions, how long each is, and whether the first or the second one is killed (1, 0). */
	unsigned sessions, session_steps, kills_session;
	unsigned chunks; /* of a ring for each thread, or of a oneshot */
	bool no_helper; /* of a session, which threads then leave themselves */
	unsigned lists,
		list_steps; /* pairs of lists of categories, and how long each is waited for */
};
void scenario_set(const struct scenario *s);

/* Bodies of threads. The first one starts the recording. */
void scenario_first(void); /* starts, records */
void scenario_start(void); /* starts */
void scenario_one(void); /* records one event */
void scenario_writer(void);
void scenario_gated(void); /* records some events, waits at a gate, and records others */
void scenario_handler(void);
void scenario_gated_first(void); /* waits at a gate, then starts the recording */
void scenario_ender(void); /* ends the recording */
void scenario_gated_switcher(void);
void scenario_switcher(void); /* ends the recording, and starts another one */
void scenario_pauser(void); /* has the recording switched off and on */
void scenario_lister(void); /* a process that tells lists of categories */
void scenario_dump(void); /* dumps the recording; as a handler too */
void scenario_gated_dump(void);
void scenario_find(void); /* looks out for sessions */
void scenario_session(void); /* a process that begins and ends sessions */
void scenario_gated_session(void);
void scenario_gated_snapshot(void);
void scenario_snapshot(void); /* a process that takes a snapshot */
void scenario_forker(void); /* its child records too */
/* The same in a handler, once. */
void scenario_forking_handler(void);
/* After all threads have ended: ends the recording. */
void scenario_last(void);
/* Events that may be counted as lost in memory only. */
uint64_t scenario_lost(void);

#endif
