/*
 * Shared by the parts of the XRay writer: write.c takes the rows, write_log.c writes flight data
 * recorder and basic logs, write_yaml.c llvm-xray's YAML, write_profile.c profiles, write_names.c
 * numbers the functions and writes their names, write_text.c events as text.
 *
 * A thread's records are kept in a spool until the rows are used up, as function numbers, thread
 * numbers and the size of buffers are known only then. They are kept as they stand in the body of a
 * buffer of a flight data recorder, with the number of a class in place of that of a function; for
 * other targets as in version 5, in the byte order of the machine.
 */
#ifndef SPUR_FORMAT_XRAY_WRITE_H
#define SPUR_FORMAT_XRAY_WRITE_H

#include <pthread.h>

#include "base/bits.h"
#include "base/map64.h"
#include "base/mem.h"
#include "base/spool.h"
#include "format/writer.h"
#include "format/xray/reader.h"

enum { XRAY_TOLD_ARGS = 8 /* of a call, that are known by their names */ };

enum xray_target { XRAY_TO_FDR, XRAY_TO_BASIC, XRAY_TO_PROFILE, XRAY_TO_YAML };

enum xray_loss {
	LOST_IDS = LOSS_OWN,
	LOST_CATEGORY,
	LOST_ARGS,
	LOST_END_ARGS,
	LOST_EVENT,
	LOST_TEXT,
	LOST_TYPE,
	LOST_PAYLOAD,
	LOST_TIME,
	LOST_END,
	LOST_NAME,
};

enum {
	XRAY_HEAD_ROOM = 64, /* bytes of a buffer that its first records, or its last one, take */
	XRAY_BUFFER_LEAST = 1024,
	XRAY_BUFFER_USUAL = 16384, /* the runtime's default */
	XRAY_BUFFERS_MOST = 16, /* of a thread, unless the user chose their size */
	XRAY_NAMED = 1, /* values of xray_write.used: a function with a name, and without one */
	XRAY_NAMELESS,
	XRAY_USED_PAGES = 4096,
	XRAY_USED_PAGE = 4096, /* classes; both together are all that a trace has */
};

/* Part of a thread's records that is not divided between buffers. */
struct xray_piece {
	uint64_t len; /* bytes */
	uint64_t ticks; /* that its first record counts from */
	uint32_t cpu;
};

/* A track whose rows are written as those of a thread. */
struct xray_out_thread {
	struct xray_out_thread *next; /* the one that was met before it */
	uint32_t track;
	uint32_t depth; /* open calls */
	struct spool_seq body, pieces; /* pieces: struct xray_piece, all but the last */
	struct xray_piece piece; /* the last one */
	uint64_t npieces;
	uint64_t first, last; /* ticks of its first and its latest row */
	uint64_t base; /* ticks that the next record counts from */
	/*
	 * Of an XRay trace that is read: where the latest record ends whose ticks the next one
	 * counts from, and these
	 */
	uint64_t source_end, source_ticks;
	uint32_t cpu; /* as in struct spur_event */
	bool begun; /* it has a row */
	int32_t pid, tid; /* set by xray_threads_number() */
	/* Of a profile: the first and the latest of its paths in its lane, and its open calls */
	uint32_t root, newest_path;
	struct xray_open_call *open;
	size_t nopen, open_cap;
	uint64_t counts[SPUR_KINDS]; /* its rows */
};

/* A function to be named. */
struct xray_out_function {
	uint32_t cls, id;
};

/* One output. */
struct xray_write {
	struct write *write;
	struct spur_trace *trace;
	struct xray *source; /* the reader of the trace, if that is a log of XRay; else NULL */
	enum xray_target target;
	uint16_t version, body_version; /* of the target, and of records in the spool */
	bool big, swap; /* byte order of the target */
	bool body_big, body_swap; /* of records in the spool */
	bool own_ids; /* the trace is of XRay: its functions have numbers */
	bool failed; /* out of memory where a lane ended (atomic) */
	bool events; /* one was written whose extent others guess (atomic) */
	/* Strings by which traces that are no XRay log tell what was one (xray/told). */
	uint32_t custom_event, data, type, arg[XRAY_TOLD_ARGS];
	uint64_t hz;
	uint64_t zero; /* ticks to subtract from all times */
	uint64_t buffer_size; /* the user's; 0: none chosen */
	struct spool spool;
	pthread_mutex_t lock; /* of `threads` and of missing pages */
	struct xray_out_thread *threads; /* in the spool, as there may be very many */
	struct spool_seq thread_seq;
	size_t nthreads;
	/*
	 * By class: 0: not a function that is written; else, in an XRay trace, its number there;
	 * in others XRAY_NAMED or XRAY_NAMELESS.
	 * Pages are added under the lock and read without it.
	 */
	uint32_t *used[XRAY_USED_PAGES];
	/* Set by xray_functions_number(): */
	struct xray_out_function *functions; /* by id; of classes with one id, one */
	size_t nfunctions;
	uint32_t *ids; /* by class */
	size_t nids; /* classes in `ids` */
	const char **names; /* by id, from 1 on; NULL: a function without one */
	uint32_t nnames;
	struct xray_out_thread **order; /* the threads in the order in which they are written */
};

/* The call paths of a lane's threads, for a profile. */
struct xray_paths {
	struct map64 numbers; /* parent << 32 | class -> number */
	void *list; /* a table of paths; number 0 is unused */
	size_t count, cap;
	struct mem_spare spare; /* for open calls of threads */
};

/* The state of a lane. */
struct xray_lane {
	struct xray_write *x;
	struct map64 by_track; /* track -> struct xray_out_thread */
	struct xray_out_thread *at; /* the thread of the latest row; NULL: none yet */
	struct ticks ticks; /* of the XRay trace that is read */
	struct spur_args args;
	struct out text; /* of an event */
	uint64_t *values; /* arguments of a call */
	size_t values_cap;
	struct xray_paths paths;
};

/* SPEC xray/function-record: its first word */
static inline uint32_t xray_call_word(uint32_t kind, uint32_t id, bool big)
{
	return big ? kind << 28 | id : id << 4 | kind << 1;
}

/* Notes that the class is a function, with its number in the trace if that is of XRay. */
bool xray_used_add(struct xray_write *x, uint32_t cls, uint32_t id);

/*
 * Returns the ticks to write for a row: never before those of the thread's row before. Counts times
 * that the target cannot hold.
 */
uint64_t xray_row_ticks(struct xray_lane *l, struct xray_out_thread *th,
			const struct spur_event *row);

/* --- write_names.c --- */

/*
 * Gives each class that is used the number of a function, in an order that does not depend on the
 * numbers of classes. Returns false if out of memory.
 */
bool xray_functions_number(struct xray_write *x);
/*
 * Write the names of the functions to `o`; the ELF file is empty if no function has one. Return
 * false if out of memory.
 */
bool xray_names_elf(struct xray_write *x, struct out *o);
bool xray_names_yaml(struct xray_write *x, struct out *o);
/*
 * Returns the name of the function's class as the trace has it, or NULL if it has none. Sets `*len`
 * to its length, or to 0 if it has a NUL byte, where it is cut.
 */
const char *xray_name_of(const struct xray_write *x, uint32_t cls, size_t *len);

/* --- write_log.c --- */

/*
 * Orders the threads by their first rows and gives each its numbers: its own where the target can
 * hold them, else free ones; these are counted. Returns false if out of memory.
 */
bool xray_threads_number(struct xray_write *x);
/* Write the log. Return false if out of memory. */
bool xray_write_fdr(struct xray_write *x);
bool xray_write_basic(struct xray_write *x);

/* A record of a thread's body as xray_body_each() hands it out. */
struct xray_body_record {
	uint64_t ticks;
	uint32_t cpu;
	int kind; /* enum xray_meta, or -1 for a call */
	uint32_t call, id; /* of a call: enum xray_call, function */
	uint64_t value; /* of an argument */
	uint16_t type; /* of a typed event */
	const char *data; /* of an event */
	uint64_t len;
};

/*
 * Calls `each` for every call, argument and event of a body of version 5 in the machine's byte
 * order. Returns false if `each` did, or if out of memory.
 */
bool xray_body_each(struct xray_write *x, const struct xray_out_thread *th,
		    bool (*each)(void *self, const struct xray_body_record *r), void *self);

/* --- write_yaml.c --- */

bool xray_write_yaml(struct xray_write *x);
/* Appends text as a scalar of YAML. */
void xray_yaml_text(struct out *o, const char *s, size_t len);

/* --- write_profile.c --- */

/* Each returns false if out of memory. */
bool xray_profile_begin(struct xray_lane *l, struct xray_out_thread *th,
			const struct spur_event *row);
bool xray_profile_end(struct xray_lane *l, struct xray_out_thread *th,
		      const struct spur_event *row);
bool xray_profile_sample(struct xray_lane *l, struct xray_out_thread *th,
			 const struct spur_event *row);
/* Stores the call paths of the lane's threads, and frees what they took. */
void xray_profile_lane_end(struct xray_lane *l);
bool xray_write_profile(struct xray_write *x);

/* --- write_text.c --- */

/* Interns the strings that tell what was an XRay log. Returns false if out of memory. */
bool xray_told_open(struct xray_write *x);
/* SPEC xray/told: returns true if the arguments in l->args are those of a call of an XRay log. */
bool xray_args_told(const struct xray_lane *l);
/*
 * SPEC xray/told: returns the payload of a row, whose arguments are in l->args, that was an event
 * of an XRay log; NULL if it was none. Sets *type to that of a typed event, else to -1.
 */
const struct spur_value *xray_event_told(const struct xray_lane *l, const struct spur_event *row,
					 int *type);
/*
 * Writes an event that has no record of its own, with the arguments in l->args, as a JSON object
 * to l->text. Returns false if out of memory.
 */
bool xray_event_text(struct xray_lane *l, const struct spur_event *row);

#endif
