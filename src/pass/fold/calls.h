/*
 * Sums of calls per function, thread or session, collected per feed in parallel. Each worker has a
 * table indexed by a key; joining tables is the pass's work.
 *
 * SAMPLE rows with a stack (sample.h) are sums of calls that others made: they add to sum, inner,
 * self and calls, and say nothing of single calls.
 *
 * A call whose begin lies in the data counts, to its end or, where the data lacks that, to the next
 * sign that it is over (then it is `unfinished` too); of a call whose begin is lacking only
 * `unfinished` tells. Calls that are open when the data ends are in the sums, but not among the
 * single durations (least, most, spread): call_open has these. Time off the CPU counts only if the
 * thread is seen to run again, as `sched` counts it.
 */
#ifndef SPUR_PASS_FOLD_CALLS_H
#define SPUR_PASS_FOLD_CALLS_H

#include "flow/ends.h"
#include "flow/sample.h"
#include "flow/spread.h"
#include "pass/fold/gather.h"
#include "pass/fold/parked.h"
#include "pass/pass.h"

enum calls_by {
	CALLS_BY_FUNCTION, /* key: class id */
	CALLS_BY_TASK, /* key: track + 1 */
	CALLS_BY_SESSION, /* key: see calls_session() */
};

/* What is kept beside the sums. */
enum calls_want {
	CALLS_SPREAD = 1, /* single durations (spread.h) */
	CALLS_EXACT = 2, /* these as exactly as can be */
	CALLS_IDS = 4, /* rows' ids by class */
	CALLS_ENDED = 8, /* without calls that are open when the data ends */
	/* For tests: from the first row on, or never, as with calls.tables. */
	CALLS_TABLES = 16,
	CALLS_NO_TABLES = 32,
};

enum { CALLS_OFF_CPU = 0 }; /* key by function of time off the CPU: no class has the id 0 */

/* One cache line: the report's inner loop lives in these. */
struct call_stat {
	uint64_t sum; /* ns of all calls */
	uint64_t inner; /* of that, in calls inside another of the same head and track: recursion */
	uint64_t self;
	uint64_t calls;
	/* ~ns of the shortest, so that zeroed memory means that none is known. */
	uint64_t least;
	uint64_t most;
	uint32_t open; /* calls of the key's head open now, on the track below */
	uint32_t track; /* SPUR_NONE: the counter is elsewhere */
	uint32_t unfinished;
	uint32_t spread; /* index + 1 into spreads; 0: none */
};

/*
 * Of the calls in a call_stat those that are open when the data ends; how long they last is
 * unknown.
 */
struct call_open {
	uint64_t sum, calls;
	uint64_t least, most; /* as in call_stat; of what is known of them */
	uint32_t spread;
};

static_assert(sizeof(struct call_stat) == 64, "one cache line");

struct calls {
	struct spur_trace *trace;
	enum calls_by by;
	unsigned want; /* enum calls_want */
	struct call_stat *stats; /* by key */
	size_t nstats;
	struct call_open *opens; /* by key; keys from `nopens` on have none */
	size_t nopens;
	struct spread *spreads;
	size_t nspreads, spreads_cap;
	/*
	 * By class: ~ the lowest id of its BEGIN and SPAN rows, so that zeroed memory means none.
	 */
	uint64_t *ids;
	size_t nids;
	uint64_t rows; /* that passed the filter */
	struct sample sample; /* the one at hand */
	uint64_t *seen; /* by head: number of the last sample that had it on its stack */
	size_t nseen;
	uint64_t samples; /* with a stack */
	/* While a feed is read: */
	struct pair pair;
	struct gather gather;
	/*
	 * Classes that tables show as one function have a head (class.h), and a key that is no
	 * class is its own. A head has one counter of open calls per track. INVARIANT: one is in
	 * the stat of the key that `holders` names (key + 1, by head), all others are in `parked`,
	 * by track and head. With `tables` none is in a stat, and those in `parked` are in its
	 * tables: from where on the feed's tracks are seen to take turns until a table lacks room.
	 */
	bool tables;
	uint32_t *holders;
	size_t nholders;
	uint32_t *heads; /* by key, for the first PARKED_KEYS at most */
	size_t nheads, heads_cap;
	struct parked parked;
	uint32_t low, high; /* tracks seen */
	uint32_t feed_track; /* of the feed; SPUR_NONE if it has none, or several are mixed */
	/* Where the reader sums calls of that track (lend.h); NULL: no feed could be lent it yet */
	struct call_sink *sink;
	bool lent; /* it has the open calls */
	struct segment *segment; /* of a part that is folded before those before it; or NULL */
	bool ending; /* what is popped now was open when the feed ended */
	struct ends ends;
	uint32_t key_track; /* whose key_now and key_until are */
	uint32_t key_now;
	int64_t key_until;
};

/*
 * Reads all feeds. `*workers` (calls_free()) get `*n` tables; on SPUR_FAIL they are to be freed
 * too.
 */
enum spur_status calls_run(struct pass_env *env, enum calls_by by, unsigned want,
			   struct calls **workers, unsigned *n);
void calls_free(struct calls *workers, unsigned n);
/*
 * Adds the tables of all workers to those of the first, which then are of all feeds, and gives
 * back what was needed while feeds were read. By function, the sums of classes that tables show as
 * one are added to those of their head. Returns false if out of memory.
 */
bool calls_join(struct calls *workers, unsigned n);

/*
 * For parts of this fold: the sums of a key, or NULL if out of memory; a call of the key that is
 * open on the track from now on, or not any more. These return false if out of memory.
 */
struct call_stat *calls_stat(struct calls *w, uint32_t key);
bool calls_open(struct calls *w, uint32_t key, uint32_t track);
bool calls_close(struct calls *w, uint32_t key, uint32_t track);

/* What a session's key stands for: a program image where the format tells, else a process. */
struct calls_session {
	const char *name;
	size_t len;
	int64_t pid;
};
struct calls_session calls_session(const struct spur_trace *t, uint32_t key);

#endif
