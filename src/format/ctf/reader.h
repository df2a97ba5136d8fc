/*
 * The internals of the CTF reader: traces (a metadata file and the streams that it describes),
 * files, packets, feeds.
 *
 * A feed is one data stream: all files of one stream class and instance of a trace, packets in the
 * order of their begin. A row's `off` is the byte of its event in its file; if packets are
 * compressed or encrypted, the offset in the file with unpacked packets. If events do not begin at
 * bytes, it counts bits (struct ctf_file).
 */
#ifndef SPUR_FORMAT_CTF_READER_H
#define SPUR_FORMAT_CTF_READER_H

#include "base/key_index.h"
#include "base/map64.h"
#include "base/scale.h"
#include "base/source.h"
#include "format/ctf/hints.h"
#include "format/ctf/plan/plan.h"
#include "model/bytes.h"
#include "model/trace.h"

enum packet_flag {
	PACKET_BEGIN = 1, /* `begin` was in the packet */
	PACKET_END = 2,
	PACKET_DISCARDED = 4,
	PACKET_SEQUENCE = 8,
	PACKET_CUT = 16, /* its end is missing */
	PACKET_OWN = 32, /* `data` is unpacked, in scratch memory */
	PACKET_LOOSE_BEGIN = 64, /* events may precede its begin */
	PACKET_LOOSE_END = 128, /* events may follow its end */
	PACKET_GUESSED = 256, /* its content is unknown; it ends before events that come too late */
};

/* One packet; lists of them lie in scratch memory. */
struct ctf_packet {
	const uint8_t *data;
	uint64_t off; /* bytes before it in the stream as rows see it */
	uint64_t file_off; /* bytes before it in the file */
	uint64_t file_size; /* its size in the file */
	uint64_t content; /* bits of `data` up to the end of its last event */
	uint64_t body; /* bits up to its first event */
	uint64_t begin, end; /* clock, cycles */
	uint64_t discarded, sequence;
	size_t own; /* bytes of `data` where PACKET_OWN */
	uint16_t cpu;
	uint16_t flags; /* enum packet_flag */
	uint32_t lost; /* packets that are missing before it, by their sequence numbers */
};

/* An event class in use. */
enum event_rule {
	RULE_NONE,
	RULE_ENTRY, /* a span begins */
	RULE_EXIT,
	RULE_FUNCTION_ENTRY, /* of a function, by its address */
	RULE_FUNCTION_EXIT,
	RULE_SWITCH,
	RULE_WAKEUP,
	RULE_THREAD_EXIT, /* the current thread, or that of the field, ends */
	RULE_THREAD_FREE, /* the thread of the field has ended */
	RULE_SYSCALL_EXIT, /* ends the innermost span */
	RULE_LOG,
	RULE_OWN, /* as its URI says (own.h) */
};

enum { CTF_RULE_SLOTS = 5 };

/* Flag of an index in ctf_class.names: several events have the name. */
static const uint64_t CTF_NAME_TWICE = UINT64_C(1) << 63;

struct ctf_event {
	const struct ctf_event_class *class;
	struct ctf_class *stream; /* class that it is of */
	struct ctf_program *program; /* common context, own context, payload */
	uint64_t name_cls; /* row_pair() */
	uint64_t rest; /* the last word of a row: an instant with `nargs` arguments */
	uint32_t name; /* of the event, as the metadata has it; the class's may be that of a span */
	uint32_t cat; /* string id; 0: none */
	uint8_t rule;
	bool needs_packet; /* refers to fields of the packet's header or context */
	const struct ctf_own *own; /* of an event that Spur wrote; NULL: it did not */
	uint64_t sum; /* see ctf_class.sums */
	uint32_t dead; /* of switches: bits of prev_state that mean that the thread ends */
	/*
	 * Of rules: function: address; switch: prev_tid, next_tid, prev_state, next_comm,
	 * prev_comm; wakeup: tid, comm; thread exit, free: tid; own: id.
	 */
	uint32_t slot[CTF_RULE_SLOTS];
};

/* Data that is read for every event, kept together. */
struct ctf_known {
	struct ctf_event *event; /* atomic, stored after the others; NULL: not used yet */
	const struct byte_skip *skip; /* NULL: not by bytes */
	/*
	 * Atomic, stored after `event`. NULL: unknown, not decoded by bytes, or dependent on the
	 * packet's header and context.
	 */
	const struct byte_program *values;
};

/*
 * What is known of the size of a class's events, and of their number, in one word: flags, and
 * numbers that begin at these bits.
 */
enum ctf_sum {
	CTF_SUM_ROW = 1, /* the row says nothing but its kind, time and track */
	CTF_SUM_ARGS = 2, /* an event that can be skipped can be decoded */
	CTF_SUM_KIND = 8, /* enum spur_kind */
	CTF_SUM_NARGS = 32, /* arguments, up to CTF_SUM_ARGS_MOST */
	CTF_SUM_SIZE = 48, /* bytes after the header if all events have as many, else 0 */
	CTF_SUM_ARGS_MOST = 4095,
	CTF_SUM_BYTES = 65000,
};

static inline uint32_t ctf_sum_size(uint64_t sum)
{
	return (uint32_t)(sum >> CTF_SUM_SIZE);
}

/* Event headers that are read without their program. */
enum usual_header { USUAL_NONE, USUAL_COMPACT, USUAL_LARGE };

/*
 * Offsets of an event's thread ids after its header: four bytes each, before all fields of varying
 * size.
 */
struct ctf_lead {
	bool there;
	bool has_name;
	uint8_t pid_load, tid_load; /* enum byte_code */
	uint32_t pid, tid, name; /* bytes; without a pid that is the tid */
};

enum { CTF_LEADS = 64, CTF_COMM = 16 /* bytes of a thread's name */, CTF_HELD = 4 };

/* The track of a lead. */
struct ctf_lead_track {
	uint64_t lead;
	uint8_t text[CTF_COMM]; /* bytes where the name is, which are that name */
	uint32_t track; /* + 1; 0: none */
	uint32_t name; /* string id of the name that its events had last; 0: none */
};

/* The origin of a track's name. */
struct ctf_naming {
	int64_t ts;
	uint32_t feed; /* its number */
	bool any;
	bool main; /* of the thread that the process has its id from, or the thread's own */
	bool own; /* the track has rows of its own: not a process that its threads name */
};

/* A stream class in use. */
struct ctf_class {
	struct ctf_stream_class *class;
	struct ctf_program *context, *header;
	struct ctf_program *common; /* RFC v1.1 with event sizes: event contexts alone; else NULL */
	uint32_t size_slot; /* of the event size */
	struct map64 events; /* id -> struct ctf_event *, under the trace's lock */
	struct ctf_known *known; /* the same by id, of low ids */
	uint64_t *sums; /* of them: enum ctf_sum; atomic, stored after known[].skip */
	uint32_t nknown;
	/*
	 * Under the lock: string id of a name -> 1 + index of the first event of that name,
	 * CTF_NAME_TWICE.
	 */
	struct map64 names;
	struct map64 spans; /* string id of a span -> class; under the lock */
	uint32_t pid_slot, tid_slot,
		name_slot; /* captured from the common context; CTF_NO_SLOT: none */
	/*
	 * Places of an instruction pointer and a process id in the common context; UINT32_MAX:
	 * none, or no use.
	 */
	uint32_t ip_at, ip_pid_at;
	struct ctf_lead lead; /* if it is there, the slots are not filled */
	uint8_t usual; /* enum usual_header */
	uint16_t flags; /* of all rows: SPUR_F_RETIMED, or none */
	uint32_t origin; /* of the trace: whose records these are */
	uint32_t sequence_bits, discarded_bits; /* of these counters, which wrap */
	uint32_t time_bits; /* of the cycles that every event header has at least; 0: none */
	uint32_t id_slot; /* of such headers' ids, for fields that refer to them */
	bool bits; /* events may begin inside bytes */
	bool needs_packet; /* its events' headers refer to fields of the packet's */
	/* No context names the thread: it is the one that was last switched to on the CPU */
	bool by_switch;
	bool names_threads; /* it has events that tell threads, and their names, by fields */
	int64_t base; /* ns, added to the scaled clock */
	struct scale scale;
	uint64_t offset; /* cycles */
	bool plain; /* rows are cycles and plain_add: 1 GHz, nothing far off */
	int64_t plain_add;
};

/* One metadata file and what goes with it. */
struct ctf_trace {
	struct ctf_meta *meta;
	char *dir; /* below the trace's path; "" at the top */
	struct ctf_program *header;
	struct ctf_class *classes; /* by index of the stream class */
	uint32_t nslots; /* of cursors */
	bool *packet_slots; /* filled by headers and contexts of packets; by slot */
	uint32_t npacket_slots;
	bool scattered; /* its streams are in several directories */
	uint32_t track; /* the top of its tracks */
	int64_t pid; /* whose trace it is, where it is of one process; -1 */
	/*
	 * Under the lock: pid -> track + 1; pid and tid, numbered where one is longer than 32 bits,
	 * -> track + 1; these ids -> number.
	 */
	struct map64 processes, long_threads, ids;
	struct key_index threads; /* tracks by pid and tid of 32 bits */
	struct map64 spaces; /* pid -> number of its mappings (symbols.h); made by open() */
	/*
	 * Events of the scheduler and contexts use the same thread ids: tid -> pid + 1; made by
	 * open().
	 */
	bool global_tids;
	struct map64 pids;
	bool kernel;
	bool loose_begin, loose_end; /* see PACKET_LOOSE_BEGIN */
	const char *head; /* "HOST:PROGRAM:(PID) " from the environment; or "" */
	size_t head_len;
	/*
	 * Of metadata that grows: there is a newer one with this one's maps; names and ids of
	 * classes -> class.
	 */
	bool grows, old;
	struct map64 kept;
};

struct ctf_file {
	uint32_t trace, class;
	uint32_t stream; /* of the spur_trace */
	struct source *source;
	struct ctf_packet *packets; /* scratch memory */
	size_t npackets, packets_cap;
	/* Index of a file for packets of another class in the same stream; 0: none */
	uint32_t sibling;
	bool is_sibling;
	struct ctf_hints hints; /* of its index file */
	uint32_t sequence_bits; /* RFC v1.1: of the number of packets; 0: not stated */
	uint64_t instance;
	bool has_instance;
	bool unpacked; /* some packet is compressed or encrypted */
	bool single; /* without packet sizes: the file is one packet */
	const char *name;
	uint64_t indexed,
		/* Of a file that grows: its bytes, and those of rows, that `packets` cover */
		shown;
};

/* Where a packet of a feed is. */
struct ctf_turn {
	uint64_t key;
	uint32_t file, packet; /* index in the feed's files, in the file's packets */
};

/* Where a feed is divided (parts.c): before a packet whose first event is certain to be a row. */
struct ctf_cut {
	size_t file, packet; /* index in the feed's files, in the file's packets */
	int64_t first; /* time of that row */
};

struct ctf_feed {
	struct ctf *ctf;
	struct ctf_trace *trace;
	struct ctf_class *class;
	uint32_t *files; /* in order */
	size_t nfiles, files_cap;
	size_t file, next; /* file at hand, packet of it to come */
	/* Where files overlap: all packets in their order, in scratch memory; else NULL. */
	struct ctf_turn *order;
	size_t norder, order_at, order_size;
	struct ctf_cut *cuts; /* of a feed that was divided, in order; else NULL */
	size_t ncuts, cuts_cap;
	const struct ctf_cut *from, *until; /* of the part that is read; NULL: the feed's ends */
	struct ctf_packet *packet; /* at hand, or NULL: one of `copies` */
	const char *packet_name; /* of its file */
	uint64_t effort; /* bits of it searched for events after damage */
	uint64_t due; /* clock value by which its events are expected; UINT64_MAX: any time */
	struct ctf_packet copies[2];
	struct ctf_cursor cursor;
	struct map64 rest; /* id -> struct ctf_event *, of high ids */
	struct map64 tracks; /* hash of pid and tid -> track */
	uint64_t last_pid, last_tid; /* whose track `track` is */
	uint64_t last_lead; /* the same as they stand in the event, where there is a lead */
	/* CTF_LEADS of threads seen, by a hash; NULL unless rows of a class with a lead are made */
	struct ctf_lead_track *leads;
	char last_name[CTF_COMM]; /* of `track`, where there is no lead */
	size_t last_name_len;
	const uint8_t *last_body; /* of the last event of the current packet; NULL: none yet */
	bool have_last;
	uint64_t body; /* bit of the packet after the header of the last event */
	uint32_t track, own_track;
	/* Where class->by_switch: the track of the running thread; SPUR_NONE: unknown, or idle */
	uint32_t current;
	uint32_t number; /* among the trace's feeds */
	struct map64 functions; /* space (symbols.h) and address -> class */
	int64_t space_pid; /* whose space is `space` */
	uint32_t space;
	bool have_space;
	bool scanning; /* see ctf_feed_scan() */
	bool beside; /* read beside its feed: what is lost was counted, or will be */
	const struct ctf_packet *before; /* the packet before: the other of `copies` */
	int64_t last_ts; /* of the last event or loss; INT64_MIN: none yet */
	int64_t first_ts; /* of packets before that, if have_first */
	bool have_first;
	uint32_t file_stream; /* spur_stream of the current file */
	struct spur_event *held; /* CTF_HELD rows made already, to come out next; NULL as `leads` */
	unsigned nheld, held_at;
	bool started, ended;
	/*
	 * Of streams that grow: the current event is of a class that no metadata has yet; none is
	 * waited for any more.
	 */
	bool starved, hopeless;
};

enum { CTF_KNOWN = 4096, CTF_MAX_FILES = 1 << 20, CTF_MAX_PACKETS = 1 << 23 };

enum { CTF_KEY = 32 /* bytes of the longest key of AES */ };

struct ctf {
	struct spur_trace *t;
	struct ctf_trace *traces;
	size_t ntraces, traces_cap;
	struct ctf_file *files;
	size_t nfiles, files_cap;
	struct ctf_feed **feeds;
	size_t nfeeds, feeds_cap;
	struct ctf_archive *archive; /* which the trace is in; NULL: it is none */
	struct source **sources; /* of metadata */
	size_t nsources, sources_cap;
	struct ctf_naming *namings; /* by track, under the trace's lock */
	size_t namings_cap;
	struct map64 functions; /* address -> class, under the trace's lock */
	/*
	 * Under the trace's lock: field class -> its spur_field (schema.c); schema of functions,
	 * NULL: not made yet.
	 */
	struct map64 schema_fields;
	const struct spur_schema *function_schema;
	struct ctf_symbols *symbols; /* NULL: nothing is known */
	uint32_t packet_cls, lost_cls, lost_packets_cls,
		native_cls; /* of rows that are no events */
	uint32_t s_count, s_packets, s_at, s_bits, s_value, s_number; /* names of arguments */
	uint32_t s_debug, s_binary, s_function, s_source;
	bool spans; /* rules apply */
	bool has_own; /* some events are ones that Spur wrote */
	bool stored; /* rows are as stored, packets among them */
	bool bookkeeping; /* packets are rows, by time */
	/* Streams that are still being written (grow.h): the only feed; NULL: none. */
	struct ctf_grow *grow;
	/*
	 * Of files, packets and traces where `grow`: whoever reads a feed adds to them. Taken
	 * before the trace's.
	 */
	pthread_rwlock_t lock;
	uint64_t serial; /* unique in the process */
	uint32_t nslots; /* that a cursor needs, of any trace */
	uint64_t packed,
		unpacked; /* bytes of packed packets so far, as they are stored and when unpacked */
	uint8_t key[CTF_KEY]; /* of encrypted packets */
	size_t key_len; /* 16, 24, 32; 0: none */
	int64_t epoch_base; /* ns since 1970 of rows' zero */
	int64_t clock_start; /* the same without spur_options.clock_offset_ns */
	const struct ctf_clock *first_clock; /* whose zero is that of rows */
	const struct ctf_clock **origin_clocks; /* of each of the trace's origins; NULL: none */
	size_t origin_clocks_cap;
};

/*
 * Limits of files and traces of metadata that grows, and of the origins of their stream classes.
 */
enum { CTF_MAX_GROWING = 1 << 16, CTF_MAX_ORIGINS = 1 << 12 };

/*
 * tree.c: finds metadata and data files below `path`; a single metadata file is a directory of its
 * own.
 */
enum spur_status ctf_find(struct ctf *c, const char *path, struct spur_error *err);

/* The same of an archive (archive.h) that is the trace's input. */
enum spur_status ctf_find_archive(struct ctf *c, struct source *s, struct spur_error *err);

/* Names in a directory, in the order of their bytes. */
struct ctf_names {
	char **items;
	size_t count, cap;
};

/*
 * A directory with metadata: its path below the root, its files, the one that has the metadata; or
 * one that cannot be read: no files (NULL), and why. Returns false if out of memory.
 */
typedef bool ctf_visit(void *self, const char *dir, const struct ctf_names *files,
		       const char *metadata);
/* Visits those at and (`deep`) below the root. Returns false if out of memory. */
bool ctf_walk(const char *root, bool deep, ctf_visit *each, void *self);
/* The directory that a path means, and the only stream file of it that is meant, or NULL. */
enum { CTF_PATH_ROOM = 4400 };
const char *ctf_split_path(const char *path, char *dir, size_t size);
bool ctf_is_metadata(const char *name);
/* Returns true if two metadata files belong to one trace. */
bool ctf_same_trace(const struct ctf_meta *a, const struct ctf_meta *b);
/* RFC v1.1: index of the stream class that a file belongs to by its name; SPUR_NONE: to none. */
uint32_t ctf_section_of(const struct ctf_meta *m, const char *name);

/* Whether a metadata file lies anywhere below, as far as a quick look goes. */
bool ctf_below(const char *path);

/* class.c: compiles what packets and events of a trace need. */
enum spur_status ctf_trace_open(struct ctf *c, struct ctf_trace *tr, struct spur_error *err);
/*
 * SPEC ctf/one-process: the process that a trace is of, as one of LTTng's buffers by process is:
 * `vpid` of its environment; -1: none.
 */
int64_t ctf_trace_pid(const struct ctf_meta *m);
/* Returns true if the values of two clocks can be compared. */
bool ctf_same_origin(const struct ctf_clock *a, const struct ctf_clock *b);
/*
 * The event class of an id, compiled at first use; returns NULL if it is unknown, or out of memory.
 * Takes the trace's lock.
 */
struct ctf_event *ctf_event(struct ctf *c, struct ctf_trace *tr, struct ctf_class *k, uint64_t id);
/* The class of a function's rows: see symbols.h. Takes the lock. Returns 0 if out of memory. */
uint32_t ctf_function(struct ctf *c, uint32_t space, uint64_t address, int64_t ts, bool *lasts);
/*
 * The name of the span that an event begins or ends, and which of both, into a buffer of
 * CTF_NAME_ROOM; "" if it does neither by its name. Returns its rule. Called with the trace's lock
 * held.
 */
enum { CTF_NAME_ROOM = 512 };
enum event_rule ctf_rule(struct ctf *c, struct ctf_class *k, const char *name, char *span);
/*
 * Returns the entry of a name in k->names; 0: no event has it. Called with the trace's lock held.
 */
uint64_t ctf_name_index(struct ctf *c, struct ctf_class *k, const char *name);

/* schema.c: see struct spur_format. */
const struct spur_schema *ctf_schema(struct spur_trace *t, const struct event_class *cls);

/*
 * SPEC ctf/counter-wrap: returns by how much a counter of `bits` bits advanced, or 0 if it did not,
 * or went back.
 */
uint64_t ctf_counter_step(uint64_t from, uint64_t to, uint32_t bits);
/* Bits of the sequence numbers of a file's packets. */
static inline uint32_t ctf_sequence_bits(const struct ctf_file *f, const struct ctf_class *k)
{
	const uint32_t bits = f->sequence_bits ? f->sequence_bits : k->sequence_bits;

	return bits ? bits : 64;
}
/* Packets that are missing between two of a stream; `f` has the second. */
uint32_t ctf_lost_packets(const struct ctf_file *f, const struct ctf_class *k,
			  const struct ctf_packet *before, const struct ctf_packet *p);

/* packet.c: the list of a file's packets; damage goes to `diag`. Returns false if out of memory. */
bool ctf_index(struct ctf *c, struct ctf_file *f, struct diag_log *diag);
/* Adds the packets that are complete by now, of a file that grows. */
bool ctf_index_more(struct ctf *c, struct ctf_file *f, struct diag_log *diag);
/*
 * Adds the packets in a piece of the file that begins at offset `base`. Requires that `data` stays
 * valid.
 */
bool ctf_index_piece(struct ctf *c, struct ctf_file *f, const uint8_t *data, uint64_t size,
		     uint64_t base, struct diag_log *diag);
/*
 * Sets the cursor (with the caller's slots) to the first event of a packet that ctf_index() found;
 * the slots hold its header and context.
 */
void ctf_packet_begin(const struct ctf_trace *tr, const struct ctf_class *k,
		      const struct ctf_packet *p, struct ctf_cursor *c);
/* Slots that a cursor of the trace needs, now and when more event classes are compiled. */
uint32_t ctf_slots(const struct ctf_trace *tr);

/*
 * unpack.c: reads the key of AES from a file (NULL: none): 16, 24 or 32 bytes, plain or
 * hexadecimal. Returns SPUR_FAIL with the error set if the file has no key.
 */
enum spur_status ctf_key_read(const char *path, uint8_t key[CTF_KEY], size_t *len,
			      struct spur_error *err);
/* Unpacks a compressed or encrypted packet. Returns NULL, or the reason of failure. */
const char *ctf_unpack(struct ctf *c, struct ctf_packet *p, uint64_t compression,
		       uint64_t encryption);
/*
 * Compares the checksum. Returns NULL if it is right or its scheme is unknown, else what was
 * found.
 */
const char *ctf_checksum(const struct ctf_packet *p, bool big_endian, uint64_t scheme,
			 uint64_t expected);

/*
 * samples.c: whether any event class has counters in its contexts, and those of an event: see
 * struct spur_format.
 */
typedef bool ctf_each_sample(void *self, const struct spur_value *value);
bool ctf_has_samples(const struct ctf *c);
bool ctf_samples(struct spur_trace *t, const struct spur_event *ev, struct spur_args *scratch,
		 ctf_each_sample *each, void *self);

/*
 * ctf.c: makes a feed for files like this one, without adding the file, with its own track.
 * Returns NULL if out of memory.
 */
struct ctf_feed *ctf_feed_new(struct ctf *c, const struct ctf_file *file);
/*
 * Names the feed after the file. Under the trace's lock, where others may add tracks. Returns false
 * if out of memory.
 */
bool ctf_feed_track(struct ctf *c, struct ctf_feed *f, const struct ctf_file *file);
bool ctf_feed_add_file(struct ctf_feed *f, uint32_t file);
void ctf_feed_free(struct ctf_feed *f);
/* Frees what only reading needs: many streams may have ended before others begin. */
void ctf_feed_end(struct ctf_feed *f);
/* The top of a trace's tracks. Returns false if out of memory. */
bool ctf_trace_track(struct ctf *c, struct ctf_trace *tr);

/*
 * order.c: SPEC ctf/overlap: packets of files whose times overlap are in the order of their begin,
 * and one that is in several of them is read once. Returns false if out of memory.
 */
bool ctf_feed_order(struct ctf_feed *f, struct diag_log *diag);
/* Counts the lost packets between the packets of a stream in several files, whose order is made. */
void ctf_feed_losses(struct ctf_feed *f);

/*
 * tracks.c: gives a track the name that is said `now`, unless it has a later one. Called with the
 * trace's lock held. Returns false if out of memory.
 */
bool ctf_track_name(struct ctf *c, uint32_t track, uint32_t name, struct ctf_naming now);

/* rows.c */
enum spur_status ctf_next(struct spur_trace *t, struct feed *f, struct batch *b);
/*
 * Reads streams whose threads must be known before: where events of the scheduler have no process;
 * `all`: so that the tracks of all threads are made (spur_options.all_tracks). Returns false if out
 * of memory.
 */
bool ctf_scan_tracks(struct ctf *c, bool all);
/*
 * Reads a whole stream and makes its tracks; `each` (or NULL) sees its rows, those of functions
 * with their address as `id` and without their class. Returns false if out of memory, or if `each`
 * returned false.
 */
typedef bool ctf_visit_rows(void *self, const struct spur_event *rows, size_t n);
bool ctf_feed_scan(const struct ctf_feed *of, ctf_visit_rows *each, void *self);
/*
 * Reads the next rows of one stream. SPUR_END of a stream that grows means no rows for now.
 * Messages and counts go to `feed`.
 */
enum spur_status ctf_feed_rows(struct ctf_feed *f, struct feed *feed, struct batch *b);
/* Makes what reading a feed needs. Returns false if out of memory. */
bool ctf_feed_start(struct ctf_feed *f);
/*
 * Reads a whole stream for what is wrong in it, which goes to `log`, and adds the number of its
 * events to *events. Returns false if out of memory.
 */
bool ctf_feed_check(const struct ctf_feed *of, struct diag_log *log, uint64_t *events);
/*
 * count.c: counts the next events of the current packet in the batch's tally, up to the first that
 * has to become a row. Requires that its events have a usual header and begin at bytes. Returns
 * false if out of memory.
 */
bool ctf_count(struct ctf_feed *f, struct batch *b);
enum { CTF_COUNT_BYTES = 1 << 21 /* of one call, and after which a batch is handed out */ };
/* Goes on with a newer trace of the same stream. Returns false if out of memory. */
bool ctf_feed_renew(struct ctf_feed *f, struct ctf_trace *tr, struct ctf_class *k);
/* See struct spur_format, last. */
bool ctf_last(struct spur_trace *t, int64_t *ts);
/* ns (or ticks) of a clock value. */
int64_t ctf_time(const struct ctf *c, const struct ctf_class *k, uint64_t cycles);

/* parts.c: see struct spur_format. */
uint32_t ctf_divide(struct spur_trace *t, struct feed *feed, uint64_t bytes, enum parts_use use);
bool ctf_part_open(struct spur_trace *t, const struct feed *feed, uint32_t number,
		   const struct feed *before, struct feed *part);
bool ctf_part_follows(const struct feed *before, const struct feed *part);
void ctf_part_close(struct feed *part);

/* args.c */
enum spur_status ctf_args(struct spur_trace *t, const struct spur_event *ev,
			  struct spur_args *args);
bool ctf_args_proven(struct spur_trace *t, const struct spur_event *ev,
		     const struct spur_args *args, uint32_t *n);
enum spur_status ctf_fields(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_args *args);
/*
 * For styles: values of each scope of the event, a STRUCT each; *st: SPUR_WARN where fields are
 * missing. False: the event cannot be read. And those of its packet's context, as one STRUCT.
 */
struct ctf_place_of {
	const struct ctf_class *class;
	const struct ctf_event *event;
	const struct ctf_trace *trace;
	uint64_t packet; /* bytes before its packet in the stream */
};
/* Of an event in a block of bytes whose class has a list of steps (model/bytes.h). */
extern const struct byte_source ctf_bytes;
struct ctf_place_of ctf_block_place(const struct byte_block *b, uint32_t id);
bool ctf_event_values(struct ctf *c, const struct spur_event *ev, struct spur_args *args,
		      struct ctf_place_of *of, enum spur_status *st);
enum spur_status ctf_packet_values(struct ctf *c, const struct spur_event *ev,
				   struct spur_args *args);

#endif
