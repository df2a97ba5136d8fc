/*
 * The CTF reader from the inside: traces (a metadata file and the streams that it describes), files, packets, feeds.
 *
 * A feed is one data stream: all files of one stream class and instance of a trace, packets in the order of their begin.
 * A row's `off` is the byte of its event in its file; where packets are unpacked (compressed, encrypted), in the file as
 * it is with its packets unpacked. Events that do not begin at bytes: bits (struct ctf_file).
 */
#ifndef SPUR_FORMAT_CTF_READER_H
#define SPUR_FORMAT_CTF_READER_H

#include "base/map64.h"
#include "base/scale.h"
#include "base/source.h"
#include "format/ctf/plan.h"
#include "model/trace.h"

enum packet_flag {
	PACKET_BEGIN = 1, /* `begin` was in the packet */
	PACKET_END = 2,
	PACKET_DISCARDED = 4,
	PACKET_SEQUENCE = 8,
	PACKET_CUT = 16, /* its end is not there */
	PACKET_OWN = 32, /* `data` is unpacked, in scratch memory */
};

/* One packet; lists of them lie in scratch memory. */
struct ctf_packet {
	const uint8_t *data;
	uint64_t off; /* bytes before it in the stream as rows see it */
	uint64_t file_off; /* bytes before it in the file */
	uint64_t file_size; /* bytes that it takes there */
	uint64_t content; /* bits of `data` up to the end of its last event */
	uint64_t body; /* bits up to its first event */
	uint64_t begin, end; /* clock, cycles */
	uint64_t discarded, sequence;
	size_t own; /* bytes of `data` where PACKET_OWN */
	uint16_t cpu;
	uint16_t flags; /* enum packet_flag */
	uint32_t file; /* index in struct ctf */
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
	RULE_LOG,
};

struct ctf_event {
	const struct ctf_event_class *class;
	struct ctf_program *program; /* common context, own context, payload */
	uint64_t name_cls; /* row_pair() */
	uint64_t rest; /* the last word of a row: an instant with `nargs` arguments */
	uint32_t name; /* of the event, as the metadata has it; the class's may be that of a span */
	uint8_t rule;
	bool needs_packet; /* refers to fields of the packet's header or context */
	uint32_t slot
		[4]; /* of rules: function address; switch: prev_tid, next_tid, prev_state, next_comm; wakeup: tid */
};

/* What is read for every event lies together. */
struct ctf_known {
	struct ctf_event *event; /* atomic, stored behind the others; NULL: not asked for yet */
	const struct byte_skip *skip; /* NULL: not by bytes */
	/* Atomic, stored behind `event`. NULL: not known, not by bytes, or not without the packet's heads. */
	const struct byte_program *values;
	uint32_t fixed; /* bytes behind the header, where all are passed over alike; else 0 */
};

/* Event headers that are read without their program. */
enum usual_header { USUAL_NONE, USUAL_COMPACT, USUAL_LARGE };

/* Where an event's thread stands behind its header: of four bytes each, before all that varies in size. */
struct ctf_lead {
	bool there;
	bool has_name;
	uint8_t pid_load, tid_load; /* enum byte_code */
	uint32_t pid, tid, name; /* bytes; without a pid that is the tid */
};

/* A stream class in use. */
struct ctf_class {
	struct ctf_stream_class *class;
	struct ctf_program *context, *header;
	struct map64 events; /* id -> struct ctf_event *, under the trace's lock */
	struct ctf_known *known; /* the same by id, of low ids */
	uint32_t nknown;
	struct map64 names,
		spans; /* string ids: of all events; of spans -> class. Under the lock */
	uint32_t pid_slot, tid_slot,
		name_slot; /* captured from the common context; CTF_NO_SLOT: none */
	struct ctf_lead lead; /* if it is there, the slots are not filled */
	uint8_t usual; /* enum usual_header */
	uint32_t id_slot; /* of such headers' ids, for fields that refer to them */
	bool bits; /* events may begin inside bytes */
	bool needs_packet; /* its events' headers refer to fields of the packet's */
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
	bool *packet_slots; /* filled by headers and contexts of packets; by slot */
	uint32_t npacket_slots;
	uint32_t track; /* the top of its tracks */
	/* Under the lock: pid -> track + 1; both, of 32 bits or numbered -> track + 1; long ids -> number. */
	struct map64 processes, threads, long_threads, ids;
	bool kernel;
};

struct ctf_file {
	uint32_t trace, class;
	uint32_t stream; /* of the spur_trace */
	struct source *source;
	struct ctf_packet *packets; /* scratch memory */
	size_t npackets, packets_cap;
	uint64_t instance;
	bool has_instance;
	bool unpacked; /* some packet is not as it stands in the file */
	const char *name;
};

/* A thread seen in a feed. */
struct ctf_feed {
	struct ctf *ctf;
	struct ctf_trace *trace;
	struct ctf_class *class;
	uint32_t *files; /* in order */
	size_t nfiles, files_cap;
	size_t file, next; /* file at hand, packet of it to come */
	struct ctf_packet *packet; /* at hand, or NULL */
	struct ctf_cursor cursor;
	struct map64 rest; /* id -> struct ctf_event *, of high ids */
	struct map64 tracks; /* hash of pid and tid -> track */
	uint64_t last_pid, last_tid; /* whose track `track` is */
	uint64_t last_lead; /* the same as they stand in the event, where there is a lead */
	bool have_last;
	uint64_t body; /* bit of the packet behind the header of the last event */
	uint32_t track, own_track;
	struct map64 functions; /* address -> class */
	const struct ctf_packet *before; /* the packet before */
	int64_t last_ts;
	uint32_t file_stream; /* spur_stream of the file at hand */
	struct spur_event held[4]; /* rows made already, to come out next */
	unsigned nheld, held_at;
	bool started;
};

enum { CTF_KNOWN = 4096, CTF_MAX_FILES = 1 << 20, CTF_MAX_PACKETS = 1 << 23 };

struct ctf {
	struct spur_trace *t;
	struct ctf_trace *traces;
	size_t ntraces, traces_cap;
	struct ctf_file *files;
	size_t nfiles, files_cap;
	struct ctf_feed **feeds;
	size_t nfeeds, feeds_cap;
	struct source **sources; /* of metadata */
	size_t nsources, sources_cap;
	struct map64 functions; /* address -> class, under the trace's lock */
	uint32_t packet_cls, lost_cls, lost_packets_cls,
		native_cls; /* of rows that are no events */
	uint32_t s_tid, s_comm, s_count, s_packets, s_at, s_bits, s_value; /* names of arguments */
	bool spans; /* rules apply */
	uint64_t serial; /* no other trace of the process has it */
	uint32_t nslots; /* that a cursor needs, of any trace */
	uint8_t key[32]; /* of encrypted packets */
	size_t key_len; /* 16, 24, 32; 0: none */
	int64_t epoch_base; /* ns since 1970 of rows' zero */
	bool have_base;
};

/* tree.c: finds metadata and data files below `path`; a single metadata file is a directory of its own. */
enum spur_status ctf_find(struct ctf *c, const char *path, struct spur_error *err);

/* Whether a metadata file lies anywhere below, as far as a quick look goes. */
bool ctf_below(const char *path);

/* class.c: compiles what packets and events of a trace need. */
enum spur_status ctf_trace_open(struct ctf *c, struct ctf_trace *tr, struct spur_error *err);
/* The event class of an id, compiled at first use; NULL: unknown, or no memory. Takes the trace's lock. */
struct ctf_event *ctf_event(struct ctf *c, struct ctf_trace *tr, struct ctf_class *k, uint64_t id);
/* The class of a function's rows. Takes the lock. 0: no memory. */
uint32_t ctf_function(struct ctf *c, uint64_t address);

/* packet.c: the list of a file's packets; damage goes to `diag`. False: no memory. */
bool ctf_index(struct ctf *c, struct ctf_file *f, struct diag_log *diag);
/*
 * Readies the cursor (its slots are the caller's) at the first event of a packet that ctf_index() found: header and
 * context are in the slots.
 */
void ctf_packet_begin(const struct ctf_trace *tr, const struct ctf_class *k,
		      const struct ctf_packet *p, struct ctf_cursor *c);
/* Slots that a cursor of the trace needs, now and when more event classes are compiled. */
uint32_t ctf_slots(const struct ctf_trace *tr);

/* unpack.c: what compressed or encrypted packets hold. NULL: done, else why not. */
const char *ctf_unpack(struct ctf *c, struct ctf_packet *p, uint64_t compression,
		       uint64_t encryption);
/* Compares the checksum. NULL: right, or not known how; else what was found. */
const char *ctf_checksum(const struct ctf_packet *p, bool big_endian, uint64_t scheme,
			 uint64_t expected);

/* ctf.c */
void ctf_feed_free(struct ctf_feed *f);

/* rows.c */
enum spur_status ctf_next(struct spur_trace *t, struct feed *f, struct batch *b);
/* See struct spur_format, last. */
bool ctf_last(struct spur_trace *t, int64_t *ts);
/* ns (or ticks) of a clock value. */
int64_t ctf_time(const struct ctf *c, const struct ctf_class *k, uint64_t cycles);

/* args.c */
enum spur_status ctf_args(struct spur_trace *t, const struct spur_event *ev,
			  struct spur_args *args);
enum spur_status ctf_fields(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_args *args);
const uint8_t *ctf_raw(struct spur_trace *t, const struct spur_event *ev);
/*
 * For styles: values of each scope of the event, a STRUCT each; *st: SPUR_WARN where fields are missing. False: the
 * event cannot be read. And those of its packet's context, as one STRUCT.
 */
struct ctf_place_of {
	const struct ctf_class *class;
	const struct ctf_event *event;
	const struct ctf_trace *trace;
	uint64_t packet; /* bytes before its packet in the stream */
};
bool ctf_event_values(struct ctf *c, const struct spur_event *ev, struct spur_args *args,
		      struct ctf_place_of *of, enum spur_status *st);
enum spur_status ctf_packet_values(struct ctf *c, const struct spur_event *ev,
				   struct spur_args *args);

#endif
