/*
 * The reader of FXT files: its state while it goes over the records, twice.
 *
 * Pass 1 (in open) goes over headers and times: it builds the tables (providers, strings, threads,
 * objects), declares the tracks, and makes the rows of records that come too late for their window
 * (model/reorder.h). Pass 2 (in next) makes all other rows, a window at a time. Rows in stored
 * order are made in one pass, in next, which does both.
 *
 * The meaning of a reference depends on its offset, since strings and threads are registered
 * repeatedly. The tables hold the values at the reader's current offset, and a log of all
 * registrations, so that any thread can decode the arguments of any record later. After pass 1 the
 * log does not change; in a single pass `lock` guards it.
 */
#ifndef SPUR_FORMAT_FXT_READER_H
#define SPUR_FORMAT_FXT_READER_H

#include "base/key_index.h"
#include "base/map64.h"
#include "format/format.h"
#include "format/fxt/frame.h"
#include "format/fxt/shape.h"
#include "model/args.h"
#include "model/lane.h"
#include "model/reorder.h"

/* SPEC fxt/kind-mark: the flags that a mark may give to a row. */
enum {
	FXT_KIND_FLAGS = SPUR_F_OUT | SPUR_F_IN | SPUR_F_PREEMPTED | SPUR_F_ESTIMATED | SPUR_F_EXIT
};

enum {
	FXT_PROVIDERS = 512, /* beyond that the last one takes all records */
	FXT_WINDOW = 2 * REORDER_WINDOW, /* rows of a window: a record has at most two */
	FXT_BATCH = 2 * REORDER_WINDOW_LEAST, /* rows of a batch by time, at most */
	FXT_TRACKS = 1 << 20, /* beyond that one track takes all rows */
};

/* --- values and the offsets from which they hold (version.c) --- */

/* A value of an entry, from an offset in the file on. */
struct fxt_version {
	uint64_t off;
	uint32_t value;
	uint32_t prev; /* the previous version; 0: this is the first */
	uint32_t jump; /* an earlier one, so that any is found in logarithmic time */
	uint32_t depth;
};

/* All versions of all entries in the order of the file. In scratch memory. */
struct fxt_log {
	struct fxt_version *items; /* items[0] is unused */
	size_t count, cap;
};

/*
 * Adds a version to the entry whose newest one is `head`, and returns its number. Returns 0 if out
 * of memory.
 */
uint32_t fxt_log_add(struct fxt_log *l, uint32_t head, uint64_t off, uint32_t value);
/* Returns the version that holds at `off` of the entry with this head, or NULL. */
const struct fxt_version *fxt_log_find(const struct fxt_log *l, uint32_t head, uint64_t off);
/* Returns 1 + the value at `off` of the entry with this head, or 0 if it had no value yet. */
uint32_t fxt_log_at(const struct fxt_log *l, uint32_t head, uint64_t off);
void fxt_log_free(struct fxt_log *l);
/* Makes room for `need` items of `size` bytes in scratch memory. */
bool fxt_scratch_grow(void **p, size_t *cap, size_t need, size_t size);

/* --- providers and their tables (state.c) --- */

/* A thread index. */
struct fxt_slot {
	uint32_t now; /* 1 + track at the reader's offset; 0: not registered */
	uint32_t head; /* newest version */
};

/*
 * A string index. For names of events it also holds what rows of that name have in common
 * (model/event.h), so that no look-up is needed for an event.
 */
struct fxt_string {
	uint32_t now; /* 1 + string id at the reader's offset; 0: not registered */
	uint32_t cat; /* 1 + string id of the category that name_cls is for */
	uint64_t stream_cat;
	uint64_t name_cls[2]; /* of functions, of others; 0: not known */
};

struct fxt_clock {
	uint64_t hz, base;
	/* Ns = (ticks - base) * num / den + ahead; 2^64 / den; 2 den */
	uint64_t num, den, inverse, twice;
	int64_t ahead; /* ns from the time of day at the trace's zero to that at `base` */
	bool plain; /* ns are ticks */
};

struct fxt_provider {
	uint32_t id, number;
	uint32_t name; /* string id */
	bool announced;
	bool timed; /* its clock was set by a record */
	/* From its first initialization record; 0: no such record */
	uint64_t told_hz, told_base, told_time;
	bool told_others; /* a later record differs */
	uint32_t track; /* for rows that belong to no thread or process; SPUR_NONE until needed */
	struct fxt_clock clock;
	struct fxt_string *strings; /* FXT_STRINGS; untouched pages use no memory */
	uint32_t *heads; /* FXT_STRINGS: their newest versions */
	struct fxt_slot *threads; /* FXT_THREADS; values are tracks */
};

struct fxt_section {
	uint64_t off;
	uint32_t provider;
};

/* Bytes that belong to no record. */
struct fxt_gap {
	uint64_t off, len;
};

/* --- names and tracks (names.c) --- */

struct fxt_koid {
	uint64_t koid;
	uint32_t name; /* 1 + string id of the newest kernel object record; 0: none */
	uint32_t process; /* track; SPUR_NONE: none */
	uint32_t thread; /* its first track as a thread */
};

struct fxt_mapping {
	uint64_t start, end; /* the last address */
	uint64_t vaddr, off;
	uint32_t process; /* number of its koid */
	uint32_t module;
};

struct fxt_names {
	struct key_index numbers; /* of koids */
	struct fxt_koid *koids; /* by number */
	size_t nkoids, koids_cap;
	/* Numbers of pid << 32 | tid -> 1 + track, of those that are not the first of their tid */
	struct map64 threads;
	struct fxt_log log; /* values are string ids */
	struct map64 kernel; /* 1 + provider << 32 | number -> head; 0 << 32: of all providers */
	struct map64 spaces; /* provider << 32 | number of the process -> 1 + space */
	struct map64 pointers; /* pointer -> 1 + number */
	struct map64 user; /* space << 32 | pointer's number -> head */
	uint32_t nspaces, npointers;
	struct map64 modules; /* number of the process << 16 | module -> head */
	/* Sorted runs, one for each bit of the count; long ones first. */
	struct fxt_mapping *maps;
	size_t nmaps, maps_cap;
};

/* --- built-in classes --- */

enum fxt_class {
	FXT_CLASS_NONE,
	FXT_CLASS_SWITCH,
	FXT_CLASS_WAKEUP,
	FXT_CLASS_LOG,
	FXT_CLASS_BACKTRACE,
	FXT_CLASS_LOST,
	FXT_CLASS_MAGIC,
	FXT_CLASS_PROVIDER_INFO,
	FXT_CLASS_PROVIDER_SECTION,
	FXT_CLASS_INIT,
	FXT_CLASS_STRING,
	FXT_CLASS_THREAD,
	FXT_CLASS_PLACEHOLDER,
	FXT_CLASS_METADATA,
	FXT_CLASS_PROVIDER_EVENT,
	FXT_CLASS_SCHEDULING,
	FXT_CLASS_PROFILER,
	FXT_CLASS_LARGE,
	FXT_CLASS_RECORD,
	FXT_CLASS_OTHERS, /* events beyond the limit of classes */
	FXT_BUILTIN_CLASSES
};

/* Names of arguments and fields (class.c). */
enum fxt_word {
	FXT_W_PROVIDER,
	FXT_W_TICKS,
	FXT_W_THREAD,
	FXT_W_PID,
	FXT_W_TID,
	FXT_W_CATEGORY,
	FXT_W_NAME,
	FXT_W_ARGS,
	FXT_W_ID,
	FXT_W_END_TICKS,
	FXT_W_EXTRA_WORDS,
	FXT_W_TYPE,
	FXT_W_SIZE,
	FXT_W_DATA,
	FXT_W_POINTER,
	FXT_W_KOID,
	FXT_W_CPU,
	FXT_W_STATE,
	FXT_W_PRIORITY,
	FXT_W_NEXT,
	FXT_W_PREV,
	FXT_W_MESSAGE,
	FXT_W_MODULE,
	FXT_W_BUILD_ID,
	FXT_W_START,
	FXT_W_RANGE,
	FXT_W_VADDR,
	FXT_W_FLAGS,
	FXT_W_FRAMES,
	FXT_W_INDEX,
	FXT_W_VALUE,
	FXT_W_TICKS_PER_SECOND,
	FXT_W_BASE_TICKS,
	FXT_W_BASE_TIME_NS,
	FXT_W_EVENT,
	FXT_W_FORMAT,
	FXT_W_HEADER,
	FXT_W_OUT_PRIORITY,
	FXT_W_IN_PRIORITY,
	FXT_W_OUT,
	FXT_W_IN,
	FXT_W_PROCESS,
	FXT_W_IDLE,
	FXT_W_INCOMING_WEIGHT,
	FXT_W_OUTGOING_WEIGHT,
	FXT_W_USERSPACE_OBJECT,
	FXT_W_MAPPING,
	FXT_WORDS
};

/*
 * --- cache of inline threads and texts, so that no event needs a look-up or a string hash
 * (inline.c) ---
 */

enum { FXT_SEEN = 1024 };

struct fxt_thread_seen {
	uint64_t pid, tid;
	uint32_t now; /* 1 + track; 0: none */
};

struct fxt_text_seen {
	const char *text; /* of the trace; NULL: none */
	uint32_t len, id;
};

/*
 * The latest inline threads and texts, two for each hash value, the newer one first. Only the
 * reading thread uses it.
 */
struct fxt_seen {
	struct fxt_thread_seen threads[FXT_SEEN];
	struct fxt_text_seen texts[FXT_SEEN / 2][2];
	struct fxt_string names[FXT_SEEN / 2][2]; /* by name and category */
};

struct fxt_window; /* read.c */

struct fxt {
	/* The state of the reader. */
	struct source *src;
	uint64_t off;
	struct fxt_provider *provider; /* of the records at `off`; never NULL */
	bool swap;
	bool first; /* pass 1, or the only one: tables grow */
	bool ordered; /* rows by time */
	bool bookkeeping; /* bookkeeping records are rows too */
	bool told; /* pass 1: the record at `off` is known to be late */
	bool unreadable_told; /* the source's failure was reported */
	bool spans; /* there are complete events: lanes are needed */
	/* As stored: time of the last record that has one, before that of the first */
	int64_t last;
	int64_t start; /* by time: the earliest */
	/* SPEC fxt/time-mark: a record without a time that begins here has the time of the mark */
	uint64_t mark_end;
	int64_t mark_ts;
	uint64_t sure; /* SPEC fxt/next-mark: the record that begins here is one; 0: none is */

	struct spur_trace *t;
	const char *file;
	uint32_t stream;
	struct diag_log *log; /* of the feed; in pass 1, `mute` */
	struct diag_log mute;
	bool raw_time;

	struct reorder order;
	struct lanes *lanes; /* NULL: not needed */
	struct fxt_window *window;

	struct fxt_provider **providers;
	size_t nproviders, providers_cap;
	struct map64 by_id; /* provider id -> 1 + number */
	uint32_t other_track; /* of rows beyond FXT_TRACKS; SPUR_NONE: not needed */
	struct map64 unknown; /* provider's number << 8 | thread index -> 1 + track */
	struct fxt_section *sections; /* sections of the file by provider; scratch memory */
	size_t nsections, sections_cap;
	struct fxt_gap *lost; /* all skipped bytes, in the order of the file; scratch memory */
	size_t nlost, lost_cap;
	struct fxt_log tables; /* strings: string ids; threads: tracks */
	size_t replayed; /* pass 2: the next version to apply */
	struct fxt_string *no_strings; /* of providers that have registered none */
	uint32_t *no_heads;
	struct fxt_slot *no_threads;
	struct fxt_names names;
	struct fxt_seen *seen;

	struct fxt_resync resync;
	uint64_t lost_until; /* end of the last skipped bytes; 0: nothing was skipped */
	bool gaps; /* records are missing before x->off: ENDs have SPUR_F_GAP */
	bool had_gaps; /* pass 1 found that records are missing */

	/* Clock and base time from the records. */
	struct fxt_clock clock; /* the first provider's */
	uint64_t base_time; /* ns since 1970 of its base; 0: not told */
	uint32_t clock_number; /* of the provider that told `clock` */
	bool clock_told, clocks_differ;

	struct key_index classes[2]; /* by category and name: functions, others */
	uint32_t builtin_classes[FXT_BUILTIN_CLASSES];
	uint32_t words[FXT_WORDS]; /* string ids */
	struct fxt_schemas *schemas; /* NULL until one is requested */
	struct fxt_walked *walked; /* NULL until records are copied */
	pthread_mutex_t lock; /* tables and names, in a single pass */
};

/* One record being read. */
struct fxt_record {
	struct fxt_shape shape;
	uint64_t off;
	const struct fxt_provider *provider;
	int64_t ts; /* its time, or a neighbour's */
	bool placed; /* the time is its own, or that of a mark */
	bool clamped; /* it does not fit into 64 bits of ns */
};

/* state.c */
bool fxt_state_init(struct fxt *x);
/* Returns the provider of an id, adding it if it is new. Returns NULL if out of memory. */
struct fxt_provider *fxt_provider_put(struct fxt *x, uint32_t id);
void fxt_state_free(struct fxt *x);
/* copy_stops.c; `d` may be NULL */
void fxt_walked_free(struct fxt_walked *d);
/*
 * Goes back to the beginning of the file and clears the tables; the log and all names stay.
 * Returns false if out of memory.
 */
bool fxt_state_rewind(struct fxt *x);
/* Reads a bookkeeping record. Returns false if out of memory. */
bool fxt_read_metadata(struct fxt *x, const struct fxt_shape *s);
bool fxt_read_init(struct fxt *x, const struct fxt_shape *s);
bool fxt_read_string(struct fxt *x, const struct fxt_shape *s);
bool fxt_read_thread(struct fxt *x, const struct fxt_shape *s);
const struct fxt_provider *fxt_provider_at(const struct fxt *x, uint64_t off);
/*
 * Return 1 + the string id of an index, and 1 + the track of a thread index, at offset `off`; 0:
 * not registered.
 */
uint32_t fxt_string_at(const struct fxt *x, const struct fxt_provider *p, unsigned index,
		       uint64_t off);
uint32_t fxt_thread_at(const struct fxt *x, const struct fxt_provider *p, unsigned index,
		       uint64_t off);
/* Returns the track for rows of the provider itself. Returns SPUR_NONE if out of memory. */
uint32_t fxt_provider_track(struct fxt *x, struct fxt_provider *p);
/* Returns SPUR_NONE if out of memory. */
uint32_t fxt_unknown_thread(struct fxt *x, const struct fxt_provider *p, unsigned index);
void fxt_clock_set(struct fxt_clock *c, uint64_t hz, uint64_t base, bool raw);
/* SPEC fxt/init-base: relates a clock to the first one by the time of day at its base. */
void fxt_clock_relate(const struct fxt *x, struct fxt_clock *c, uint64_t base_time);
/* Converts ticks to ns. Sets *clamped if they do not fit into 64 bits. */
int64_t fxt_clock_ns(const struct fxt_clock *c, uint64_t ticks, bool *clamped);

/* A fast path for the usual case. Returns false if fxt_clock_ns() must be called. */
static inline bool fxt_clock_fast(const struct fxt_clock *c, uint64_t ticks, int64_t *ns)
{
	uint64_t product, n, rest;

	if (c->plain) {
		*ns = (int64_t)ticks;
		return *ns >= 0;
	}
	if (ticks < c->base || __builtin_mul_overflow(ticks - c->base, c->num, &product))
		return false;
	/*
	 * At most 2 too small, since `inverse` is rounded down. Corrected without branches, as they
	 * could not be predicted.
	 */
	n = (uint64_t)((unsigned __int128)product * c->inverse >> 64);
	rest = product - n * c->den;
	n += (uint64_t)(rest >= c->den) + (uint64_t)(rest >= c->twice);
	*ns = (int64_t)(n + (uint64_t)c->ahead);
	return ((int64_t)n | *ns) >= 0;
}

/* names.c: tracks are SPUR_NONE, other results false, if out of memory */
uint32_t fxt_add_track(struct fxt *x, struct spur_track track);

static inline struct spur_track *fxt_track(const struct fxt *x, uint32_t id)
{
	return &x->t->tracks[id / TRACE_TRACK_PAGE][id % TRACE_TRACK_PAGE];
}

void fxt_names_free(struct fxt_names *n);
uint32_t fxt_process_track(struct fxt *x, uint64_t pid);
uint32_t fxt_thread_track(struct fxt *x, uint64_t pid, uint64_t tid);
/* The track of a thread whose process the record does not name. */
uint32_t fxt_tid_track(struct fxt *x, uint64_t tid);
/* The same if it exists, else SPUR_NONE. */
uint32_t fxt_koid_thread(const struct fxt *x, uint64_t tid);
/* Names the track if it has no name. */
void fxt_track_idle(struct fxt *x, uint32_t track);
bool fxt_name_kernel(struct fxt *x, uint64_t koid, uint32_t name, uint64_t off);
bool fxt_name_user(struct fxt *x, uint64_t pid, uint64_t pointer, uint32_t name, uint64_t off);
bool fxt_name_module(struct fxt *x, uint64_t pid, uint32_t module, uint32_t name, uint64_t off);
bool fxt_add_mapping(struct fxt *x, uint64_t pid, struct fxt_mapping map);
/* Return names at offset `off`, as string ids; 0: no name. */
uint32_t fxt_kernel_name(const struct fxt *x, const struct fxt_provider *p, uint64_t koid,
			 uint64_t off);
/* Returns a number for a pointer of a process; UINT64_MAX: it was never named. */
uint64_t fxt_user_key(const struct fxt *x, const struct fxt_provider *p, uint64_t pid,
		      uint64_t pointer);
uint32_t fxt_user_name(const struct fxt *x, const struct fxt_provider *p, uint64_t pid,
		       uint64_t pointer, uint64_t off);
/* Returns a number for a module of a process; UINT64_MAX: the process has no modules. */
uint64_t fxt_module_key(const struct fxt *x, uint64_t pid, uint32_t module);
uint32_t fxt_module_name(const struct fxt *x, uint64_t pid, uint32_t module, uint64_t off);
/* Returns the mapping that contains an address of the process, or NULL. */
const struct fxt_mapping *fxt_find_mapping(const struct fxt *x, uint64_t pid, uint64_t addr,
					   uint64_t off);

/* place.c */
/*
 * INVARIANT: the origin of a provider has the provider's number. By time the origins of all
 * providers are added once all are known, in a single pass each with its provider.
 */
bool fxt_origin_add(struct fxt *x, const struct fxt_provider *p);
/* Updates the origin after the name, clock or track of a provider has become known. */
void fxt_origin_update(struct fxt *x, const struct fxt_provider *p);
void fxt_record_place(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place);
bool fxt_record_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2]);

/* schema.c */
/*
 * Called with t->lock held, which is released temporarily if rows come as stored. Returns NULL if
 * out of memory.
 */
const struct spur_schema *fxt_schema(struct spur_trace *t, const struct event_class *cls);
void fxt_schemas_free(struct fxt_schemas *s);

/* class.c */
bool fxt_classes_init(struct fxt *x);
void fxt_classes_free(struct fxt *x);
/* Returns 0 if out of memory. */
uint32_t fxt_class_of(struct fxt *x, uint32_t cat, uint32_t name, bool other);

/* rows.c */
/*
 * Makes the rows of a record, at most two, and sets *n to their number. Reports its damage and
 * updates the tables. Returns false if out of memory.
 */
bool fxt_rows_of(struct fxt *x, struct fxt_record *r, struct spur_event *rows, uint32_t *n);
/* Returns the kind of an event's row. */
unsigned fxt_event_kind(const struct fxt_shape *s);
/* The category of a kernel object's row, by its type. */
uint32_t fxt_object_type(const struct fxt *x, uint64_t type);
/* The inverse: returns false if no kernel object has that category. */
bool fxt_object_of(const char *name, uint64_t *type);
/* Finds the process that the arguments of a thread's kernel object name. False: they name none. */
bool fxt_object_process(struct fxt *x, const struct fxt_record *r, uint64_t *koid);
/* Returns the track that a reference means. Returns SPUR_NONE if out of memory. */
uint32_t fxt_record_track(struct fxt *x, const struct fxt_record *r,
			  const struct fxt_thread_ref *t);

/* resync.c */
/*
 * SPEC fxt/contradicted: a record at `off` whose parts do not fit, or whose references do not
 * exist, is rejected if a chain of records begins inside it and no chain begins after it. Returns
 * the offset of that chain, or UINT64_MAX if the record is accepted. May move the data.
 */
uint64_t fxt_resync_within(struct fxt *x, uint64_t off, const struct fxt_shape *s);

/* scan.c */
/* Pass 1, from the beginning to the end. Returns false if out of memory. */
bool fxt_scan(struct fxt *x);
/* Begins pass 2. */
bool fxt_scan_end(struct fxt *x);
/*
 * Decodes the record at x->off. Returns false if it is rejected (fxt_resync_within()); `f` is then
 * damage.
 */
bool fxt_record_at(struct fxt *x, struct fxt_frame *f, struct fxt_record *r);
/* Reports the lost bytes and skips them. Returns false if out of memory. */
bool fxt_pass_damage(struct fxt *x, const struct fxt_frame *f);
/* Returns the rank that orders rows of equal time; see model/reorder.h. */
uint64_t fxt_row_rank(const struct spur_event *row);

/* inline.c */
/* Caches the track of an inline thread. */
void fxt_see_thread(struct fxt *x, uint64_t pid, uint64_t tid, uint32_t track);

/* read.c */
struct fxt_window *fxt_window_new(void);
enum spur_status fxt_next(struct spur_trace *t, struct feed *f, struct batch *b);

/* copy.c */
enum spur_status fxt_copy(struct copy *copy);
/* See spur_format.joins. */
bool fxt_joins(const struct copy *copy);

/* args.c, fields.c */
enum spur_status fxt_args(struct spur_trace *t, const struct spur_event *ev,
			  struct spur_args *args);
bool fxt_args_proven(struct spur_trace *t, const struct spur_event *ev,
		     const struct spur_args *args, uint32_t *n);
enum spur_status fxt_fields(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_args *args);

/* SPEC fxt/end: which spans an END may close after missing records */
static inline void fxt_mark_gap(const struct fxt *x, struct spur_event *row)
{
	if (x->gaps && row->kind == SPUR_END_SPAN)
		row->flags |= SPUR_F_GAP;
}

#endif
