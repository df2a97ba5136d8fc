/*
 * A trace: streams (files), tracks (timelines), classes, strings, clock, damage, and the feeds that
 * are pulled.
 *
 * A stream is a file that rows' `stream`, `off` and `len` point into. A feed is a sequence of rows
 * in time order that is read as one, from one or more streams that belong together (a thread's own
 * file and the records of that thread in other files). INVARIANT: all rows of a track come from one
 * feed, unless tracks_shared is set. So call stacks, filters and sums run per feed, in parallel and
 * without locks; only a pass that needs one timeline of all feeds reads them merged.
 */
#ifndef SPUR_MODEL_TRACE_H
#define SPUR_MODEL_TRACE_H

#include <pthread.h>
#include <spur.h>

#include "base/err.h"
#include "base/intern.h"
#include "base/key_index.h"
#include "base/map64.h"
#include "base/mem.h"
#include "base/scale.h"
#include "model/class.h"
#include "model/event.h"
#include "model/relation.h"

struct spur_format; /* format/format.h */

enum {
	TRACE_CLASS_PAGE = 4096,
	TRACE_CLASS_PAGES = 4096,
	TRACE_TRACK_PAGE = 4096,
	TRACE_TRACK_PAGES = 4096,
	TRACE_FEED_BLOCK = 16, /* feeds that are allocated together */
};

struct feed {
	uint32_t id; /* index in the trace; rows of equal time come in the order of ids */
	uint32_t track; /* its main track */
	/* All rows of this stream are in this feed, in stored order; SPUR_NONE: no such stream */
	uint32_t stream;
	uint32_t nahead : 31; /* rows at `ahead` */
	uint32_t pulled : 1; /* rows of it were asked for */
	void *state; /* the format's; set by open() */
	struct diag_log diag;
	/* Approximate bytes of its data; 0: unknown. Large feeds are started first. */
	uint64_t size;
	struct spur_event *ahead; /* rows read in advance, to be returned first (flow/feed.c) */
};

/* What a feed is divided into parts for (spur_format.divide). */
enum parts_use {
	PARTS_ROWS, /* each row by itself; whether parts follow each other may be ignored */
	PARTS_NAMED, /* the same, and tracks get the names that they get if it is read in order */
	/*
	 * Calls of one thread: a part is read again if it does not follow, or if it has an END of a
	 * call that is open neither in it nor before it; so its ENDs may lack SPUR_F_GAP.
	 */
	PARTS_CALLS,
};

static_assert(sizeof(struct feed) <= 56, "there is one for each of a million threads");

/* What was read so far, of all feeds. */
struct read_counts {
	uint64_t passed; /* approximate bytes of the rows */
	uint64_t records; /* raw records */
	uint64_t discarded; /* events that the producer reports as lost */
	uint64_t lost_packets; /* lost packets, from gaps in packet numbers */
};

/* Adds to a member of struct read_counts, up to UINT64_MAX. Thread-safe. */
static inline void read_count(uint64_t *sum, uint64_t n)
{
	uint64_t old = __atomic_load_n(sum, __ATOMIC_RELAXED), next;

	do
		next = n > UINT64_MAX - old ? UINT64_MAX : old + n;
	while (!__atomic_compare_exchange_n(sum, &old, next, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
}

struct clock_info {
	const char *name; /* "monotonic", ...; "unknown" */
	const char *derived; /* how the name is known, as a sentence */
	uint64_t hz; /* ticks per second in the records; 0: unknown, a tick counts as a ns */
	/* ts and dur are ticks (options.raw_time); set by open() where hz is not 10^9 */
	bool ticks;
	/* Times count from a zero of the trace's own, not from that of clock `name` */
	bool own_zero;
	bool epoch_known;
	int64_t epoch_ns; /* add to ts for ns since 1970 UTC */
	int64_t epoch_error_ns; /* maximum error of epoch_ns */
	/*
	 * Identifies what the clock is a clock of: two clocks of one name with the same identity
	 * are one clock (LTTng: the boot). NULL: unknown
	 */
	const char *identity;
};

/* A fact of the format for `spur info`, shown in this order. */
struct info_item {
	const char *key; /* words with blanks, lower case */
	const char *value; /* any bytes */
	size_t len;
};

/* One of the traces that a joined trace is made of (flow/join.h). */
struct trace_part {
	struct spur_trace *trace; /* owned; shares the joined trace's strings */
	struct clock_map map; /* of its times to the joined trace's */
	struct clock_relation relation; /* how `map` is known */
	uint32_t name; /* string: what tells it from the other parts; 0: nothing has to */
};

struct spur_trace {
	const struct spur_format *format;
	void *state; /* the format's */
	char *path;
	struct spur_options options;
	struct arena arena; /* lives until close; only while opening, or under `lock` */
	struct arena parked; /* the same, in scratch memory: what each thread or stream has */
	struct intern *strings;
	bool strings_shared; /* they belong to a joined trace, which outlives this one */
	struct trace_part *parts; /* of a joined trace, else NULL; in the arena */
	size_t nparts;
	bool one_run; /* the parts are the files of the directory `path` */
	pthread_mutex_t lock; /* classes and arena after open */

	/*
	 * Set by open(), of a member of a run: rows of threads and processes that other members
	 * have too. In the joined trace they are on those members' tracks.
	 */
	bool observes;
	/* By track: the time from which on it has its ids. In the arena; NULL: unknown */
	const int64_t *track_since;

	bool unnamed; /* opened from memory or a descriptor: the input is not the file at `path` */
	/* The trace is still being written; set by open() if the trace has no `source` */
	bool live;
	/*
	 * Each top-level track is a separate recording, which ends with its last row; false if all
	 * tracks belong to one recording. In a joined trace this applies to the parts that set it;
	 * each other part is one recording (join_recording()).
	 */
	bool tops_apart;
	bool has_samples; /* events carry numbers (struct spur_format, samples); set by open() */
	/* Rows of a track may come from several feeds, so call stacks need the merged order */
	bool tracks_shared;
	/*
	 * A track has had several names while rows were read, so its name depends on which rows
	 * were: it is the last one of these. Atomic.
	 */
	bool tracks_renamed;
	/*
	 * Each track ends with its own last row, as each is stored apart, though one feed has the
	 * rows of all; not where tracks_shared is set, nor of a part of a joined trace.
	 */
	bool tracks_apart;
	/*
	 * Only rows from `want_from` to before `want_to` will be used; a reader may skip everything
	 * else. The whole range by default.
	 */
	int64_t want_from, want_to;
	/*
	 * Only the times and places of rows will be used, as for a copy of their records: flags may
	 * lack what records outside of the range would say.
	 */
	bool want_places;
	bool start_known;
	int64_t start; /* trace_start(): the ts that shown times count from */
	/* Analyses leave out shorter calls unless an option is given; 0: leave out none */
	int64_t default_min_ns;
	const char *version; /* of the format as found: "4", "2.0" */
	const char *byte_order; /* "little", "big", "mixed" */
	struct clock_info clock;
	struct info_item *info;
	size_t ninfo, info_cap;

	struct spur_origin *origins; /* index 0 is that of streams for which none is set */
	size_t norigins /* atomic */, origins_cap;
	struct spur_stream *streams;
	size_t nstreams /* atomic */, streams_cap;
	/*
	 * Pages of TRACE_TRACK_PAGE; they never move. Tracks may be added under `lock` while feeds
	 * are read.
	 */
	struct spur_track *tracks[TRACE_TRACK_PAGES];
	size_t ntracks; /* atomic */
	/*
	 * Number of tracks when opening ended; the order of later ones depends on thread
	 * scheduling
	 */
	size_t ntracks_open;
	struct feed **feeds;
	size_t nfeeds, feeds_cap;
	struct feed *feed_block; /* the last TRACE_FEED_BLOCK feeds, some not used yet */

	/* Pages of TRACE_CLASS_PAGE; they never move. */
	struct event_class *classes[TRACE_CLASS_PAGES];
	uint32_t nclasses; /* the next id (atomic); id 0 is never used */
	struct key_index class_heads; /* the heads by name and module; under lock */

	struct diag_log diag; /* found while opening, or not related to a feed */
	struct diag_log joined; /* diag and all feeds': made by trace_join_diag() */

	/*
	 * Of its own feeds (atomic); those of a joined trace are in its parts, but for `passed`.
	 */
	struct read_counts read;
	bool over_limit; /* packed input was cut at spur_options.max_unpacked (atomic) */
	uint64_t mem_failures; /* allocations for this trace that failed (mem_charge()); atomic */
	struct merge *merge; /* of spur_next(); made at the first call */
	/* State of the public functions (src/api/api.h); NULL: not needed yet */
	struct api_state *api;
	struct source *source; /* the open file; NULL for a directory */
};

/* True if each track ends with its own last row; see tracks_apart. */
static inline bool trace_tracks_end_apart(const struct spur_trace *t)
{
	return t->tracks_apart && !t->tracks_shared;
}

/*
 * spur_string(), spur_track(), spur_stream() and their counts without the check of `t`, for all
 * floors below src/cli.
 */
static inline const char *trace_string(const struct spur_trace *t, uint32_t id, size_t *len)
{
	return intern_text(t->strings, id, len);
}

static inline size_t trace_track_count(const struct spur_trace *t)
{
	return __atomic_load_n(&t->ntracks, __ATOMIC_ACQUIRE);
}

static inline const struct spur_track *trace_track(const struct spur_trace *t, uint32_t id)
{
	return id < trace_track_count(t) ? &t->tracks[id / TRACE_TRACK_PAGE][id % TRACE_TRACK_PAGE]
					 : NULL;
}

static inline size_t trace_stream_count(const struct spur_trace *t)
{
	return __atomic_load_n(&t->nstreams, __ATOMIC_ACQUIRE);
}

static inline const struct spur_stream *trace_stream(const struct spur_trace *t, uint32_t id)
{
	return id < trace_stream_count(t) ? &t->streams[id] : NULL;
}

/*
 * Returns the ids of all tracks so far in an order that does not depend on thread scheduling: those
 * found while opening, then others by top-level track, pid, tid, kind and name (if none was found
 * while opening: as they were added). Free with mem_free(). Returns NULL if out of memory.
 */
uint32_t *trace_track_order(const struct spur_trace *t, size_t *count);
/* Returns the place of each track in that order, likewise. */
uint32_t *trace_track_places(const struct spur_trace *t, size_t *count);

/* Returns true if input was not read because of spur_options.max_unpacked. */
bool trace_over_limit(const struct spur_trace *t);

/* Returns true if an allocation for the trace failed, so data read since may be incomplete. */
static inline bool trace_short_of_memory(const struct spur_trace *t)
{
	return __atomic_load_n(&t->mem_failures, __ATOMIC_RELAXED) != 0;
}

/* Makes a trace, for spur_open() and tests. Returns NULL if out of memory. */
struct spur_trace *trace_new(const char *path, const struct spur_options *opt);
void trace_free(struct spur_trace *t);

/*
 * Returns the track of the thread that the track is or belongs to; SPUR_NONE if it belongs to no
 * thread.
 */
uint32_t trace_thread_of(const struct spur_trace *t, uint32_t track);
/*
 * Returns the track of the process that the track is or belongs to; if it belongs to no process,
 * the top-level track above it.
 */
uint32_t trace_process_of(const struct spur_trace *t, uint32_t track);
/*
 * Returns the process id of the track, or of the nearest track above it that has one; -1 if none
 * has.
 */
int64_t trace_pid_of(const struct spur_trace *t, uint32_t track);
/*
 * Returns the kind that analyses and output use: a lane has that of its parent track, a provider's
 * track is SPUR_TRACK_OTHER. Requires that the track exists.
 */
enum spur_track_kind trace_track_kind(const struct spur_trace *t, uint32_t track);

/*
 * Makes `t` store its strings in `strings`, so that a string has the same id in all traces that
 * share them. Requires that `t` has no strings yet, and that `strings` outlives it.
 */
void trace_share_strings(struct spur_trace *t, struct intern *strings);

/*
 * Declares that only rows from `from` to before `to` will be used, so that readers may skip
 * everything else. Requires that no rows have been read.
 */
void trace_want(struct spur_trace *t, int64_t from, int64_t to);

/*
 * Declarations for a format's open(); tracks may also be added later, under t->lock. They return
 * SPUR_NONE or NULL if out of memory. Strings are copied.
 */
uint32_t trace_add_stream(struct spur_trace *t, const char *path, uint64_t size);
/*
 * Adds an origin for spur_stream.origin and spur_place.origin: while opening, or later under
 * t->lock if room was reserved. Returns SPUR_NONE if out of memory.
 */
uint32_t trace_add_origin(struct spur_trace *t, struct spur_origin origin);
/*
 * Reserves room for `n` origins, so that adding them moves none. Returns false if out of memory.
 */
bool trace_reserve_origins(struct spur_trace *t, size_t n);
uint32_t trace_add_track(struct spur_trace *t, struct spur_track track);
/*
 * Reserves room for `n` streams, so that adding them moves none. Requires that no stream was added.
 * Returns false if out of memory.
 */
bool trace_reserve_streams(struct spur_trace *t, size_t n);
/* Reserves room for `n` feeds, which growing would double. Returns false if out of memory. */
bool trace_reserve_feeds(struct spur_trace *t, size_t n);
struct feed *trace_add_feed(struct spur_trace *t, uint32_t track, void *state);
bool trace_add_info(struct spur_trace *t, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Returns the string id of a NUL-terminated string or of bytes, or 0 if out of memory.
 * Thread-safe.
 */
uint32_t trace_intern(struct spur_trace *t, const char *s);
uint32_t trace_intern_n(struct spur_trace *t, const char *s, size_t len);

/*
 * Adds a class, a copy of *c that is kept until close. Returns its id, or 0 if out of memory or at
 * 2^24 classes. Thread-safe.
 */
uint32_t trace_add_class(struct spur_trace *t, const struct event_class *c);
/* The same for callers that hold t->lock. */
uint32_t trace_add_class_locked(struct spur_trace *t, const struct event_class *c);
/* Returns the class of an id that trace_add_class() returned. Takes no lock. */
const struct event_class *trace_class(const struct spur_trace *t, uint32_t id);
/* Returns a number above all class ids. It grows while feeds are read. */
uint32_t trace_class_count(const struct spur_trace *t);

/* Converts ns to the unit of rows: ns, or ticks if clock.ticks is set. */
int64_t trace_from_ns(const struct spur_trace *t, int64_t ns);
/* Converts a row's ts to ns: scales it if clock.ticks is set. */
int64_t trace_ticks_ns(const struct spur_trace *t, int64_t ts);
/* The inverse: returns the least ts whose ns are `ns` or more. */
int64_t trace_ticks_from(const struct spur_trace *t, int64_t ns);

/* Joins the diagnostics of all feeds, in feed order, into t->joined. */
void trace_join_diag(struct spur_trace *t);

#endif
