/*
 * Writing any trace as a recording: a file for each process. Rows come by time; each becomes a
 * record of its track, which is kept in scratch memory until all are known, as the size of chunks
 * depends on that. docs/formats/spur.md has the format, docs/conversion.md the rules.
 */
#ifndef SPUR_FORMAT_SPUR_WRITE_H
#define SPUR_FORMAT_SPUR_WRITE_H

#include "base/map64.h"
#include "base/spool.h"
#include "format/spur/pack.h"
#include "format/writer.h"
#include "model/args.h"

enum {
	SW_ARGS = UINT8_MAX, /* of a record */
	SW_NEST = 30, /* levels of structures and arrays */
	SW_NODES = 60000, /* types of a record's arguments */
	SW_EMPTY = 64, /* structures without members among them: SPEC spur/values */
	SW_PAYLOAD = 8 << 20, /* bytes of a record's arguments */
	SW_TUPLE = 1024, /* elements of an array of several types */
	SW_SITES = (1 << 24) - 1, /* of a file */
	SW_FRAMES = 4096, /* of a call stack */
};

enum sw_loss {
	SW_LOST_TEXT = LOSS_OWN,
	SW_LOST_ARGS,
	SW_LOST_NESTED,
	SW_LOST_PAYLOAD,
	SW_LOST_STACK,
	SW_LOST_END,
};

/* A type of an argument, as in the reader's spb_node. */
struct sw_node {
	uint8_t type; /* with enum spur_show */
	uint8_t zero;
	uint16_t count;
	uint32_t name; /* string id */
};

/* What a site or function is found by. */
struct sw_key {
	uint32_t file;
	uint32_t cls, name, cat;
	uint32_t of; /* number of the one whose class it has; 0: it has its own */
	uint8_t kind; /* enum spb_site_kind; 0: a function */
	uint8_t has;
	uint8_t end; /* the types are those of an end */
	uint8_t first; /* stands for the first one, whatever its types are */
};

struct sw_site {
	struct sw_key key;
	uint32_t number; /* in its file */
	uint32_t next; /* index + 1 of another one with the same hash */
	uint32_t nnodes;
	uint16_t nargs;
	const struct sw_node *nodes; /* in the arena */
};

/* A process's file. */
struct sw_file {
	uint32_t process; /* track; of threads without a process the first one's */
	int64_t pid;
	bool loose; /* no track of a process is above its threads */
	uint32_t nthreads, nsites, nfunctions, nmodules;
	struct sw_thread *first; /* the newest one first, until all are known */
	struct spool_seq descriptors;
	uint64_t bytes, longest; /* of records and descriptors; payload of the longest one */
};

/* A track that has rows, or one above such a track. */
struct sw_thread {
	struct sw_thread *next; /* of its file */
	uint32_t file; /* index */
	uint32_t number; /* in the file, from 1 */
	uint32_t track;
	uint16_t cpu; /* of the row before */
	struct spool_seq records;
	uint32_t *open; /* numbers of the sites of open spans, functions with SW_FUNCTION */
	size_t nopen, open_cap;
	/* An end by a tail call, which waits for the call */
	bool tail;
	uint32_t tail_id;
	int64_t tail_ts;
};

#define SW_FUNCTION ((uint32_t)1 << 31)

/* A record as it waits: its payload follows, or, if it is longer than a block, a pointer to it. */
struct sw_staged {
	uint64_t ticks;
	uint32_t kind_id; /* kind, and id << 8 */
	uint32_t words;
};

/* A descriptor as it waits: its body follows, padded to words, or a pointer to it. */
struct sw_described {
	uint32_t type, len;
};

enum { SW_LONGEST = SPOOL_ROOM / 2 /* bytes that wait in a block */ };

/* A payload that does not wait in a block. */
struct sw_big {
	struct sw_big *next;
	size_t size;
};

struct sw {
	struct write *write;
	struct spur_trace *trace;
	struct arena arena; /* of threads and sites, in scratch memory */
	struct mem_spare spare; /* arrays `open` of threads without open spans */
	struct spool spool;
	struct sw_big *big;
	struct sw_file *files;
	size_t nfiles, files_cap;
	struct map64
		by_process; /* from a process's track, or a loose pid, to the file's index + 1 */
	struct sw_thread **by_track;
	size_t by_track_cap;
	struct map64 site_index; /* from the hash of a key to the index + 1 in `sites` */
	struct sw_site *sites;
	size_t nsites, sites_cap;
	struct map64 modules; /* from a file and a path to the module's number */
	uint8_t *functions; /* by class: what is_function() found */
	size_t functions_cap;
	struct spur_args args;
	struct out payload, body;
	struct sw_node *nodes; /* of the row */
	size_t nnodes, nodes_cap;
	size_t empty; /* structures without members among them */
	uint16_t nargs;
	unsigned kind; /* of the row, for the loss table */
	uint32_t losses; /* of the row, bits of enum sw_loss */
	int64_t first_ts, last_ts;
	bool any;
	bool is_source; /* the trace is a recording too */
};

/* write_args.c */
/*
 * Encodes the arguments of a row into w->payload, behind what is there, and their types into
 * w->nodes. Returns false if out of memory.
 */
bool sw_encode(struct sw *w, const struct spur_event *row, uint32_t file);
void sw_put_u64(struct sw *w, uint64_t v);

/* write_sites.c */
/*
 * The number of a site or function with the types in w->nodes; 0 if out of memory. With key->of 0,
 * *base gets the number of the first one that differs in its types only. SPEC spur/class-of
 */
uint32_t sw_site_of(struct sw *w, const struct sw_key *key, uint32_t *base);
/* The number of a function by its class. */
uint32_t sw_function_of(struct sw *w, uint32_t file, uint32_t cls);

/* write_file.c */
/* The thread of a track, and its file; NULL if out of memory. */
struct sw_thread *sw_thread_of(struct sw *w, uint32_t track);
bool sw_stage(struct sw *w, struct sw_thread *th, uint8_t kind, uint32_t id, int64_t ts);
/* Adds the descriptor whose body is in w->body. */
bool sw_describe(struct sw *w, struct sw_file *f, uint32_t type);
/* Writes all files. */
bool sw_files(struct sw *w);

static inline void sw_lose(struct sw *w, enum sw_loss why)
{
	w->losses |= (uint32_t)1 << why;
}

#endif
