/* A file of one process's recording being read. docs/formats/spur.md has the rules. */
#ifndef SPUR_FORMAT_SPUR_READER_H
#define SPUR_FORMAT_SPUR_READER_H

#include "base/bits.h"
#include "base/cursor.h"
#include "base/holes.h"
#include "base/map64.h"
#include "base/scale.h"
#include "format/format.h"
#include "format/spur/wire.h"
#include "model/args.h"
#include "model/reorder.h"
#include "model/symbol/symbol.h"

/* In a plan's `show`: the value is the number of a string. */
enum { SPB_SHOW_STRING = 64 };

enum {
	SPB_THREADS = 1 << 20,
	SPB_SITES = 1 << 24,
	SPB_NEAR = 1024, /* numbers of sites that are always in the array */
	SPB_MODULES = 1 << 16,
	SPB_FIBERS = 1 << 20,
	SPB_UNKNOWN = 1 << 20, /* functions without a symbol that have names of their own */
	SPB_NEST = 32, /* levels of structures and arrays */
	SPB_FIELDS = 1024, /* of a class's schema */
};

/* A chunk that is in use. */
struct spb_chunk {
	uint64_t sequence;
	uint32_t number; /* in the file */
	uint32_t thread; /* index in spb.threads; SPUR_NONE: it has descriptors */
};

/* A type of an argument; those of its members, of its element or its value follow. */
struct spb_node {
	uint8_t type; /* enum spb_type */
	uint8_t show; /* enum spur_show */
	uint16_t count; /* of a STRUCT or TUPLE: its members */
	uint32_t name; /* string id */
	uint32_t size; /* nodes, with all that belong to it */
	uint32_t least; /* bytes of the smallest value */
};

/* What the arguments of a record are. */
struct spb_shape {
	const struct plan *plan; /* NULL: some have types that a plan does not know */
	uint32_t count; /* arguments */
	uint32_t size; /* nodes */
	struct spb_node nodes[];
};

/* What sites or functions of one class have in common, for its schema. */
struct spb_family {
	const struct spb *of;
	uint32_t first; /* number of the first one */
	bool functions;
};

/* A place in the program that records, or a function that has a number. */
struct spb_site {
	/* 0: a function whose class is not made yet (atomic) */
	uint32_t cls;
	uint32_t module; /* of a function: index in spb.modules + 1; 0: none */
	uint64_t addr; /* of a function, in the process */
	uint32_t name; /* string id of a function's raw name; 0: by the symbols of its module */
	uint32_t of; /* number of the one whose class it has; 0: its own */
	uint32_t next; /* the next one of its class; 0: the last */
	uint8_t kind; /* enum spb_site_kind; of a function 0 */
	uint8_t has; /* enum spb_has; of a function enum spb_function_is */
	uint8_t before; /* of a site: bytes in front of the arguments */
	uint8_t nargs, nresults;
	bool known; /* there is a descriptor */
	const struct spb_shape *entry, *exit; /* NULL: no arguments */
	const struct spb_origin *origin; /* of a function; NULL: not described */
};

/* What a longer descriptor says of a function. */
struct spb_origin {
	uint32_t line, size;
	uint32_t cat, file, library; /* string ids */
};

/* Sites or functions by number: those with small numbers in an array, the others by a map. */
struct spb_table {
	struct spb_site *items;
	size_t cap;
	size_t known; /* descriptors */
	struct spb_site *far;
	size_t nfar, far_cap;
	struct map64 by_number; /* from a number to its index in `far` + 1 */
};

/* The symbols of a file, which several modules may have been loaded from. */
struct spb_image {
	struct spb_image *next;
	uint64_t device, inode;
	char build_id[41]; /* hexadecimal; "": none */
	uint64_t base; /* of the file: its symbols have addresses less this */
	bool identified, loaded; /* it was tried */
	bool good; /* it did not fail */
	struct symtab syms;
	struct dwarf_lines *lines;
};

/* A program or library as it was loaded into the process. */
struct spb_module {
	uint64_t begin, end; /* addresses that it covers */
	uint64_t shift; /* an address less this is the one in its file */
	uint64_t loaded, unloaded; /* ticks; UINT64_MAX: it was not */
	uint32_t number;
	uint32_t path; /* string id */
	uint32_t before; /* index + 1 of one of that number that was described before; 0: none */
	char build_id[41]; /* hexadecimal; "": unknown */
	bool tried;
	struct spb_image *image; /* NULL: no file was found */
};

struct spb_modules {
	struct spb_module *items; /* in the order of their descriptors */
	size_t count, cap;
	/* Index + 1 of a number's first module, and in the low half that of the last loaded one */
	struct map64 by_number;
	bool move; /* one was unloaded, so an address may be that of several functions */
	bool changed; /* there are modules that the tree does not have */
	uint32_t *order; /* indexes by the time of loading */
	uint64_t *bounds; /* addresses at which modules begin or end, each once */
	size_t nbounds;
	uint32_t *starts; /* of each node in `ranked` */
	uint32_t *ranked; /* modules of each node, as indexes in `order`, ascending */
	struct spb_image *images;
	struct map64 by_file; /* from a hash of device and inode to the image's address */
};

/* What a descriptor says of a thread's track. */
struct spb_track {
	uint8_t kind; /* enum spur_track_kind */
	int32_t cpu;
	uint32_t parent; /* number of another one; 0: the process */
	int64_t pid, tid;
};

/* Where the reading of a chunk of records stands. */
struct spb_cursor {
	const uint8_t *base; /* of the chunk; NULL: no chunk is being read */
	const uint8_t *at; /* the next word */
	const uint8_t *end; /* of the chunk */
	uint64_t ticks; /* of the record before */
	uint32_t track; /* of the fiber that runs */
	uint16_t cpu; /* that runs it; SPUR_NO_CPU: unknown */
	bool lost_told;
};

/* A record. */
struct spb_record {
	const uint8_t *p; /* its first word */
	const uint8_t *payload;
	uint32_t words; /* of the payload */
	uint32_t len; /* in bytes, all of it */
	uint32_t id;
	uint8_t kind; /* enum spb_kind; SPB_HOLE: one that was never completed */
	uint64_t ticks;
};

/* Of a thread whose records are not all stored by time. */
struct spb_merge {
	struct reorder order;
	struct spur_event held; /* the next row that is not late */
	bool holds;
};

/* A thread, and the state of its reading. */
struct spb_thread {
	uint32_t number; /* in the process, from 1 */
	uint32_t tid;
	uint32_t track;
	uint32_t name; /* string id; 0: none */
	uint32_t described; /* index in spb.tracks + 1; 0: it is just a thread */
	uint32_t first, count; /* of its chunks in spb.chunks */
	uint32_t next; /* the chunk to be read next, counted from `first` */
	uint32_t calls, spans; /* functions that are entered, spans that are open */
	struct spb_cursor cursor;
	struct spur_event pending; /* a row that follows from the record that was read last */
	uint64_t npending; /* how many of it are to come */
	struct spb_merge *merge; /* NULL: records are stored by time */
	bool begun;
};

/* Names of fields. */
enum spb_word {
	SPB_W_KIND,
	SPB_W_ID,
	SPB_W_TIME,
	SPB_W_PAYLOAD,
	SPB_W_SIZE,
	SPB_W_TYPE,
	SPB_WORDS,
};

/* Classes of rows that no site and no function describes. */
enum spb_class {
	SPB_CLASS_LOST,
	SPB_CLASS_SWITCH,
	SPB_CLASS_RETURN, /* of the innermost function, whatever it is */
	SPB_CLASS_UNKNOWN,
	SPB_CLASS_TIME,
	SPB_CLASS_FIBER,
	SPB_CLASS_CPU,
	SPB_CLASS_PAD,
	SPB_CLASS_DESCRIPTOR,
	SPB_CLASS_OTHERS, /* functions beyond SPB_UNKNOWN */
	SPB_CLASSES,
};

struct spb {
	struct spur_trace *t;
	const struct source *src; /* NULL: the file is still being written */
	const uint8_t *data; /* of the file */
	uint64_t size;
	const struct holes *holes; /* of the file; NULL: none are known */
	uint32_t stream;
	const char *file;
	struct diag_log *diag; /* of what descriptors have */
	struct spb_follow *follow; /* it is still being written; NULL: read as it stands */
	uint32_t chunk_size;
	int64_t pid;
	uint64_t lost; /* events for which no chunk was to be had */
	uint64_t last, last_mono; /* the latest pair of clocks that a head says */
	bool named; /* its tracks have been made */
	uint64_t ticks; /* of time `mono` */
	int64_t mono;
	struct scale scale; /* from ticks to ns */
	uint32_t process; /* track */
	/* By thread and sequence, descriptors first; rows as stored: by number */
	struct spb_chunk *chunks;
	size_t nchunks, chunks_cap;
	struct spb_thread *threads;
	size_t nthreads, threads_cap;
	struct spb_track *tracks; /* those that descriptors describe */
	size_t ntracks, tracks_cap;
	struct map64 by_number; /* from a thread's number to its index */
	struct spb_table sites, functions;
	struct spb_modules modules;
	struct map64 by_address; /* from an address that has no number to its class */
	uint32_t nunknown;
	uint32_t process_name; /* string id; 0: its program's */
	uint64_t nunknown_descriptors;
	struct map64 bad_descriptors; /* by offset */
	struct map64 fibers; /* from an id to its track + 1 */
	struct map64 strings; /* from an id to the string id + 1 */
	uint32_t own[SPB_CLASSES];
	uint32_t words[SPB_WORDS];
	/* Rows as stored: the one feed's place. */
	size_t stored_chunk;
	uint32_t stored_thread;
	struct spb_cursor stored;
	bool lost_told;
};

static inline uint16_t spb_16(const uint8_t *p)
{
	return load16(p, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static inline uint32_t spb_32(const uint8_t *p)
{
	return load32(p, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static inline uint64_t spb_64(const uint8_t *p)
{
	return load64(p, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* The site or function that a descriptor describes, or NULL. */
static inline struct spb_site *spb_table_find(const struct spb_table *t, uint32_t id)
{
	const struct map64_slot *slot;

	if (__builtin_expect(id < t->cap && t->items[id].known, 1))
		return &t->items[id];
	slot = map64_find(&t->by_number, id);
	return slot ? &t->far[slot->value - 1] : NULL;
}

/*
 * Reads the record at the cursor if it is an ordinary one: of a kind that stands for a row, shorter
 * than 15 words, and with something behind it in its page. Returns false, with nothing changed, if
 * it is another; spb_record_next() reads all.
 */
static inline bool spb_record_plain(struct spb_cursor *c, struct spb_record *r)
{
	const uint32_t plain = 1u << SPB_BEGIN | 1u << SPB_END | 1u << SPB_EVENT | 1u << SPB_ENTER |
			       1u << SPB_EXIT | 1u << SPB_TAIL | 1u << SPB_UNWIND;
	const uint8_t *const p = c->at;
	const size_t at = (size_t)(p - c->base);
	uint64_t word, words;
	size_t next;

	if (p >= c->end)
		return false;
	word = spb_64(p);
	words = word >> 4 & 15;
	next = at + SPB_WORD + words * SPB_WORD;
	if (!(plain >> (word & 15) & 1) || words == SPB_LENGTH_FAR || (at ^ next) >= SPB_PAGE ||
	    next >= (size_t)(c->end - c->base))
		return false;
	c->at = c->base + next;
	/* SPEC spur/time */
	c->ticks += (uint64_t)(int32_t)((uint32_t)(word >> 32) - (uint32_t)c->ticks);
	*r = (struct spb_record){ .p = p,
				  .payload = p + SPB_WORD,
				  .words = (uint32_t)words,
				  .len = (uint32_t)(next - at),
				  .id = (uint32_t)(word >> 8) & 0xFFFFFF,
				  .kind = word & 15,
				  .ticks = c->ticks };
	return true;
}

static inline uint64_t spb_off(const struct spb *s, const uint8_t *p)
{
	return (uint64_t)(p - s->data);
}

/* ns of CLOCK_MONOTONIC. */
int64_t spb_ns(const struct spb *s, uint64_t ticks);
/* Its inverse, nearly. */
uint64_t spb_ticks_near(const struct spb *s, int64_t ns);

/* A chunk's bytes; of the last one, those that the file has. */
const uint8_t *spb_chunk(const struct spb *s, uint32_t number, const uint8_t **end);

/* The index of a thread by its number, made if it is new; SPUR_NONE if out of memory. */
uint32_t spb_thread_get(struct spb *s, uint32_t number, uint32_t tid);
/* Returns false if it is new, and the file has as many threads as can be. SPEC spur/thread */
bool spb_thread_fits(const struct spb *s, uint32_t number);
#define SPB_THREADS_TEXT "one of at most 1,048,576 threads"

/* spur.c: parts of opening a file */
bool spb_head_valid(const uint8_t *p, size_t len);
/* What the header says; requires that it is there. */
void spb_head_take(struct spb *s);
/* Whether a directory's file has the name of a recording. */
bool spb_is_named(const char *name);
/* Ticks and ns of CLOCK_MONOTONIC that are of one moment. */
struct spb_pair {
	uint64_t ticks, mono;
};
/* A pair at a place of the file; takes it if it is valid and later than the latest so far. */
struct spb_pair spb_pair_at(const uint8_t *p);
void spb_pair_take(struct spb_pair *last, struct spb_pair p);
/* Of the file, and (spb_clock_open()) of the trace. The second returns false if out of memory. */
void spb_scale_set(struct spb *s, struct spb_pair last);
bool spb_clock_open(struct spb *s);
void spb_report_chunk(struct spb *s, uint64_t off, uint64_t lost, const char *expected,
		      unsigned found);
/* Tracks of a file's process, fibers and threads. Returns false if out of memory. */
bool spb_tracks_open(struct spb *s);
/* That of a thread, and before it that of its parent; `nest` are the levels below. */
bool spb_thread_track(struct spb *s, struct spb_thread *th, unsigned nest);
/* Another track of the process. Returns SPUR_NONE if out of memory. */
uint32_t spb_track_new(struct spb *s, uint32_t name, enum spur_track_kind kind, int64_t tid);
/* session.c */
/* What the header says. Returns false if out of memory. */
bool spb_info_open(struct spb *s);
/* What the file `session` of a recording says. Returns false if out of memory. */
bool spb_run_info(struct spur_trace *t, const char *dir);
/* Gives back what a file has, but not `s`. */
void spb_free(struct spb *s);

/* follow.c: SPEC spur/follow, recordings that are still being written */
/* Opens the trace's path, a file or a directory; `root` is the state of the trace. */
enum spur_status spb_follow_open(struct spb *root, struct spur_error *err);
enum spur_status spb_follow_next(struct spb_follow *f, struct batch *b);
void spb_follow_close(struct spb_follow *f);
/* The file of a stream. */
struct spb *spb_follow_file(struct spb_follow *f, uint32_t stream);
/* What descriptors say does not change in between; follow may be NULL. */
void spb_follow_lock(struct spb_follow *f);
/* The same for the thread that changes it, which has the trace's lock. */
void spb_follow_wait(struct spb_follow *f);
void spb_follow_unlock(struct spb_follow *f);

/* The file that a row is of. */
static inline struct spb *spb_of(const struct spur_trace *t, const struct spur_event *ev)
{
	struct spb *const s = t->state;

	return s->follow ? spb_follow_file(s->follow, ev->stream) : s;
}

/* record.c */
/*
 * Takes the next record of a chunk. Returns false at its end. Damage goes to `diag`, if it is not
 * NULL. Records that mean nothing (PAD, TIME) are returned too.
 */
bool spb_record_next(const struct spb *s, struct spb_cursor *c, struct diag_log *diag,
		     struct spb_record *r);
/* Begins to read a chunk of the thread. */
void spb_cursor_open(const struct spb *s, struct spb_cursor *c, uint32_t chunk, uint32_t track);
/* The chunk has been read: its pages need not stay resident. */
void spb_cursor_close(const struct spb *s, struct spb_cursor *c);

/* names.c: what descriptors say. Return false if out of memory. */
bool spb_names_open(struct spb *s);
/* All of a file's. Called with the trace's lock, as the next one. */
bool spb_describe(struct spb *s);
void spb_names_close(struct spb *s);
/* A descriptor. */
struct spb_described {
	const uint8_t *p; /* its size */
	uint64_t len; /* in the file */
	uint32_t type; /* enum spb_descriptor */
	struct cursor body;
};

/* One that spb_descriptor_next() took. */
bool spb_describe_one(struct spb *s, struct spb_described *d);
/* Takes the next descriptor of a chunk. Returns false at its end. */
bool spb_descriptor_next(const struct spb *s, struct spb_cursor *c, struct diag_log *diag,
			 struct spb_described *d);
/* A text with 2 bytes of length before it, and its string id. */
struct text spb_take_text(struct cursor *b);
uint32_t spb_take_string(struct spb *s, struct cursor *b);

/* recover.c: spur_format.recover */
enum spur_status spb_recover(const char *path, struct format_recovery *out, struct spur_error *err);

/* snapshot.c: spur_format.snapshot */
enum spur_status spb_snapshot(const char *path, int fd, struct format_snapshot *out,
			      struct spur_error *err);

/* copy.c */
bool spb_joins(const struct copy *copy);
enum spur_status spb_copy(struct copy *copy);

/* shape.c: arguments */
/*
 * Takes `n` arguments of a descriptor; *out is NULL if `n` is 0. Sets b->bad if they are not
 * what a descriptor has. Returns false if out of memory.
 */
bool spb_take_shape(struct spb *s, struct cursor *b, uint8_t n, const struct spb_shape **out);
/* Decodes arguments. Returns SPUR_WARN if they are longer than the payload. */
enum spur_status spb_values(struct spb *s, const struct spb_shape *shape, const uint8_t *p,
			    size_t len, struct spur_args *args);
/*
 * The payload of a record, with that of the records that continue it, in `args` if there are such.
 * Returns NULL if out of memory.
 */
const uint8_t *spb_payload(const struct spb *s, const struct spb_record *r, struct spur_args *args,
			   size_t *len);
/* The stack of a SAMPLE row (spur_format.stack). */
size_t spb_stack(struct spur_trace *t, const struct spur_event *ev, uint32_t *cls, size_t cap);
/* modules.c */
/* Take descriptors, as those of names.c do. The first returns false if out of memory. */
bool spb_describe_module(struct spb *s, struct cursor *b);
void spb_describe_unload(struct spb *s, struct cursor *b);
/*
 * SPEC spur/module: of the modules that cover the address the one that was loaded last before the
 * time; if all were loaded later, the first of them. NULL: no module covers it.
 */
struct spb_module *spb_module_at(struct spb_modules *ms, uint64_t addr, uint64_t ticks);
/* The first one that has the number, or NULL. */
struct spb_module *spb_module_get(struct spb_modules *ms, uint32_t number);
void spb_modules_free(struct spb_modules *ms);

/* symbol.c */
/*
 * Returns the class of a function by its number, or (number 0) by its address; 0 if out of memory.
 * Thread-safe.
 */
uint32_t spb_function(struct spb *s, uint32_t number, uint64_t addr, uint64_t ticks);

/* read.c */
/* What a pass over a thread's records, or over those of the file, works with. */
struct spb_rows {
	struct spb *s;
	struct spb_thread *th;
	struct spb_cursor *c;
	struct diag_log *diag; /* NULL: damage was reported by another pass */
	bool stored; /* bookkeeping records have rows */
};

enum spb_outcome { ROW_NONE, ROW_MADE, ROW_FAILED };

/* The first of the rows of a record; others are pending. */
enum spb_outcome spb_row_of(const struct spb_rows *w, const struct spb_record *r,
			    struct spur_event *row);
/*
 * SPEC spur/chunk-lost: the row of the events that a chunk says were lost, behind its last record.
 * ROW_NONE: it says none, or they were told.
 */
enum spb_outcome spb_chunk_end(const struct spb_rows *w, uint64_t lost, struct spur_event *row);
enum spur_status spb_read(struct spb *s, struct feed *f, struct batch *b);
enum spur_status spb_read_stored(struct spb *s, struct feed *f, struct batch *b);
void spb_thread_end(struct spb_thread *th);
/*
 * Returns the ticks at which chunk `before` of a ring, whose last record has the ticks `last`, was
 * closed if chunks between it and the thread's next one, `chunk`, were overwritten; else 0.
 */
uint64_t spb_gap_ticks(const struct spb *s, uint32_t before, uint32_t chunk, uint64_t last);

/* The process's own feed: what was lost outside all threads. */
enum spur_status spb_read_process(struct spb *s, struct batch *b);

/* fields.c */
/*
 * The record of a row. A file that is being written to may have changed since the row was made, so
 * sizes are compared with the row's. Returns false if the row has no such record.
 */
bool spb_record_of(const struct spb *s, const struct spur_event *ev, struct spb_record *r);
/* The site or function of a record, or NULL. */
const struct spb_site *spb_site_of(const struct spb *s, const struct spb_record *r);
/*
 * Returns SPUR_WARN if the arguments of a record are longer than its payload, SPUR_FAIL if out of
 * memory. *before gets the bytes of the payload that are no arguments.
 */
enum spur_status spb_args_fit(struct spb *s, const struct spb_record *r, size_t *before);
enum spur_status spb_args(struct spur_trace *t, const struct spur_event *ev,
			  struct spur_args *args);
enum spur_status spb_fields(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_args *args);
const struct spur_schema *spb_schema(struct spur_trace *t, const struct event_class *cls);
void spb_place(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place);
bool spb_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2]);

#endif
