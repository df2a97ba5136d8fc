/*
 * A trace: streams (files), tracks (timelines), classes, strings, clock, damage, and the feeds that
 * are pulled.
 *
 * A stream is a file that rows' `stream`, `off` and `len` point into. A feed is what is pulled: the
 * rows of one or more streams that belong together (a thread's own file with what other files say
 * of that thread), in time order. Invariant: a track's rows all come from one feed. So call stacks,
 * filters and sums run per feed, in parallel and without locks; only what needs one time line of
 * all is merged.
 */
#ifndef SPUR_MODEL_TRACE_H
#define SPUR_MODEL_TRACE_H

#include <pthread.h>
#include <spur.h>

#include "base/err.h"
#include "base/intern.h"
#include "base/map64.h"
#include "base/mem.h"
#include "base/scale.h"
#include "model/class.h"
#include "model/event.h"

struct spur_format; /* format/format.h */

enum {
	TRACE_CLASS_PAGE = 4096,
	TRACE_CLASS_PAGES = 4096,
	TRACE_TRACK_PAGE = 4096,
	TRACE_TRACK_PAGES = 4096,
};

struct feed {
	uint32_t id; /* index in the trace; ties in time go to the lower one */
	uint32_t track; /* its main track */
	/* All rows of this stream are in this feed, in stream order; SPUR_NONE: no such stream */
	uint32_t stream;
	void *state; /* the format's; set by open() */
	struct diag_log diag;
	uint64_t size; /* bytes of its data, about; 0: unknown. Large feeds are started first */
	uint64_t passed; /* bytes of the rows pulled so far, about (atomic) */
	uint64_t records; /* raw records read so far */
	uint64_t discarded; /* events that the producer says it lost */
	uint64_t lost_packets; /* as the numbers of packets say */
	struct spur_event *ahead; /* rows read before their time, to come out first (flow/feed.c) */
	uint32_t nahead;
};

struct clock_info {
	const char *name; /* "monotonic", ...; "unknown" */
	const char *derived; /* how that is known, a sentence */
	uint64_t hz; /* ticks per second in the records; 0: unknown, a tick counts as a ns */
	/* ts and dur are ticks (options.raw_time); set by open() where hz is not 10^9 */
	bool ticks;
	/* Times count from a zero of the trace's own, not from that of the clock `name` */
	bool own_zero;
	bool epoch_known;
	int64_t epoch_ns; /* add to ts for ns since 1970 UTC */
	int64_t epoch_error_ns; /* how far off that may be */
};

/* A fact of the format for `spur info`, shown in this order. */
struct info_item {
	const char *key; /* words with blanks, lower case */
	const char *value; /* any bytes */
	size_t len;
};

/* One of the traces that a joined trace is made of (flow/join.h). */
struct trace_part {
	struct spur_trace *trace; /* owned; its strings are the joined trace's */
	int64_t shift; /* ns (ticks with raw_time): added to its times */
};

struct spur_trace {
	const struct spur_format *format;
	void *state; /* the format's */
	char *path;
	struct spur_options options;
	struct arena arena; /* lives until close; only while opening, or under `lock` */
	struct intern *strings;
	bool strings_shared; /* they belong to a joined trace, which outlives this one */
	struct trace_part *parts; /* of a joined trace, else NULL; in the arena */
	size_t nparts;
	bool one_run; /* the parts are the files of the directory `path` */
	pthread_mutex_t lock; /* classes and arena after open */

	bool unnamed; /* opened from memory or a descriptor: no file at `path` is the input */
	/* Rows come as something else writes them; set by open() where that is not a `source` */
	bool live;
	/*
	 * Each top track is that of a recording of its own, which ends when its own rows end; false
	 * where all tracks are of one recording. Of a joined trace this holds for those parts that
	 * say so; each other one is a recording (join_recording()).
	 */
	bool tops_apart;
	bool has_samples; /* events carry numbers (struct spur_format, samples); set by open() */
	/* Rows of a track may come from several feeds: stacks need the merged order */
	bool tracks_shared;
	/*
	 * Only rows from here to before there will be looked at: what need not be read for them may
	 * be left out. The whole range where nobody says.
	 */
	int64_t want_from, want_to;
	bool start_known;
	int64_t start; /* trace_start(): the ts that shown times count from */
	/* Analyses leave out shorter calls unless told otherwise; 0: none */
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
	/* Those that were there when opening ended; the order of later ones is chance */
	size_t ntracks_open;
	struct feed **feeds;
	size_t nfeeds, feeds_cap;

	struct event_class **classes
		[TRACE_CLASS_PAGES]; /* pages of TRACE_CLASS_PAGE pointers; they never move */
	uint32_t nclasses; /* the next id (atomic); id 0 is never used */
	struct map64 class_heads; /* name << 32 | module -> head; under lock */

	struct diag_log diag; /* found while opening, or of no feed */
	struct diag_log joined; /* diag and all feeds': made by trace_join_diag() */

	bool over_limit; /* packed input was cut at spur_options.max_unpacked (atomic) */
	uint64_t mem_failures; /* allocations for this trace that failed (mem_charge()); atomic */
	struct merge *merge; /* of spur_next(); made at the first call */
	struct api_state *api; /* of the public calls (src/api/api.h); NULL: none needed one yet */
	struct source *source; /* the open file; NULL for a directory */
};

/*
 * What spur_string(), spur_track(), spur_stream() and their counts are to programs, for all floors below src/cli:
 * the same results, without the check of `t`.
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
 * Ids of all tracks so far, in an order that does not depend on who came first: those found while
 * opening, then others by their top, pid, tid, kind and name (where none was found while opening:
 * as they came). To be freed by mem_free(). Returns NULL if out of memory.
 */
uint32_t *trace_track_order(const struct spur_trace *t, size_t *count);

/* Input was not read because of spur_options.max_unpacked. */
bool trace_over_limit(const struct spur_trace *t);

/* An allocation for the trace failed: what was read since may lack a part. */
static inline bool trace_short_of_memory(const struct spur_trace *t)
{
	return __atomic_load_n(&t->mem_failures, __ATOMIC_RELAXED) != 0;
}

/* Made by spur_open(); tests make one by hand. Returns NULL if out of memory. */
struct spur_trace *trace_new(const char *path, const struct spur_options *opt);
void trace_free(struct spur_trace *t);

/* The thread that the track is, or is a part of; SPUR_NONE if it belongs to none. */
uint32_t trace_thread_of(const struct spur_trace *t, uint32_t track);
/*
 * The track of the process that the track is, or is a part of; if it belongs to none, the topmost
 * track above it.
 */
uint32_t trace_process_of(const struct spur_trace *t, uint32_t track);
/* The process id of the track, or of the nearest track above it that has one; -1 if none has. */
int64_t trace_pid_of(const struct spur_trace *t, uint32_t track);
/*
 * The kind that analyses and output go by: a lane has that of the track beside which it stands, a
 * provider's track is SPUR_TRACK_OTHER. Requires that the track exists.
 */
enum spur_track_kind trace_track_kind(const struct spur_trace *t, uint32_t track);

/*
 * From now on the strings of `t`, which has none yet, go to `strings`: a string has the same id in
 * all traces that share them. They must outlive the trace.
 */
void trace_share_strings(struct spur_trace *t, struct intern *strings);

/*
 * Says that only rows from `from` to before `to` will be looked at, which readers may use to leave
 * out what they need not read. Call before rows are read.
 */
void trace_want(struct spur_trace *t, int64_t from, int64_t to);

/*
 * Declarations by a format's open(); tracks also later, under t->lock. They return SPUR_NONE or
 * NULL if out of memory. Strings are copied.
 */
uint32_t trace_add_stream(struct spur_trace *t, const char *path, uint64_t size);
/*
 * Adds an origin for spur_stream.origin and spur_place.origin: while opening, or later under
 * t->lock if room was made for it. Returns SPUR_NONE if out of memory.
 */
uint32_t trace_add_origin(struct spur_trace *t, struct spur_origin origin);
/*
 * Makes room, so that origins added later, up to `n`, move no other. Returns false if out of
 * memory.
 */
bool trace_reserve_origins(struct spur_trace *t, size_t n);
uint32_t trace_add_track(struct spur_trace *t, struct spur_track track);
/* Makes room, so that streams added later, up to `n`, move no other. Before the first is added. */
bool trace_reserve_streams(struct spur_trace *t, size_t n);
struct feed *trace_add_feed(struct spur_trace *t, uint32_t track, void *state);
bool trace_add_info(struct spur_trace *t, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* String id of a NUL-ended string / of bytes (0 if out of memory). Thread-safe. */
uint32_t trace_intern(struct spur_trace *t, const char *s);
uint32_t trace_intern_n(struct spur_trace *t, const char *s, size_t len);

/*
 * Adds a class: a copy of *c, kept until close; returns its id, or 0 (no memory, or 2^24 classes).
 * Thread-safe.
 */
uint32_t trace_add_class(struct spur_trace *t, const struct event_class *c);
/* The same for callers that hold t->lock. */
uint32_t trace_add_class_locked(struct spur_trace *t, const struct event_class *c);
/* The class of an id that trace_add_class() gave. No lock. */
const struct event_class *trace_class(const struct spur_trace *t, uint32_t id);
/* Ids are below it. Grows while feeds are read. */
uint32_t trace_class_count(const struct spur_trace *t);

/* A duration as rows have it: the same, or in ticks where clock.ticks is set. */
int64_t trace_from_ns(const struct spur_trace *t, int64_t ns);
/* The ns of a row's ts: the same, or scaled where clock.ticks is set. */
int64_t trace_ticks_ns(const struct spur_trace *t, int64_t ts);
/* The inverse: the least ts whose ns are `ns` or more. */
int64_t trace_ticks_from(const struct spur_trace *t, int64_t ns);

/* Joins the diagnostics of all feeds, in feed order, into t->joined. */
void trace_join_diag(struct spur_trace *t);

#endif
