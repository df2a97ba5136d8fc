/*
 * The CTF writer, internally. Rows of all feeds come by time, in one lane. Each track is a data
 * stream; each row is encoded as an event whose class is found by the row's names and kind and by
 * the types of its arguments. Events stay in scratch memory; names, class descriptions, packet
 * headers and files are written when all is known.
 *
 * Events of a CTF trace whose fields are whole bytes keep their class, and their bytes are copied.
 */
#ifndef SPUR_FORMAT_CTF_WRITE_H
#define SPUR_FORMAT_CTF_WRITE_H

#include "base/map64.h"
#include "base/spool.h"
#include "format/ctf/reader.h"
#include "format/writer.h"

enum write_ctf_reason {
	CTF_LOST_LANE = LOSS_OWN,
	CTF_LOST_NAME,
	CTF_LOST_TEXT,
	CTF_LOST_PAYLOAD,
	CTF_LOST_NULL,
	CTF_LOST_DIGITS,
	CTF_LOST_DEPTH,
	CTF_LOST_LABEL,
	CTF_LOST_UTF8,
	CTF_LOST_LOST,
	CTF_LOST_CPU,
	CTF_LOST_COMM,
};

enum {
	CTF_WRITE_PACKET = 64 << 10, /* bytes of a packet's events before the next one begins */
	CTF_WRITE_DEPTH = 32, /* of arguments */
	CTF_WRITE_COMM = 16, /* bytes of a thread's name in the context */
	CTF_WRITE_LABELS = 1 << 16, /* of an enumeration */
	CTF_WRITE_FEW = 4096, /* entries of the cache of event classes; a power of two */
	CTF_WRITE_PAGE = 64, /* streams that are allocated together */
	CTF_WRITE_OWN = 192, /* threads with streams of their own, of one class */
	CTF_WRITE_SHARED = 64, /* streams of all the others */
};

/* Layouts of the streams that are written (cw_stream_class.layout). */
enum cw_layout { CW_CPU = 1, CW_THREAD = 2, CW_WIDE = 4, CW_LAYOUTS = 8 };

/* A data stream class of the output. */
struct cw_stream_class {
	uint32_t layout; /* enum cw_layout */
	const struct ctf_class *native; /* whose contexts it has; NULL: those of the layout */
	uint32_t id;
	uint32_t nevents; /* the next event class's id */
	uint32_t nthreads; /* that have streams of their own */
	uint32_t shared[CTF_WRITE_SHARED]; /* streams of the others; number + 1, 0: none yet */
	struct cw_stream_class *next;
};

/* The labels that values of an enumeration had. */
struct cw_leaf {
	struct map64 seen; /* value -> index + 1 */
	struct cw_label {
		int64_t value;
		const char *text;
	} * labels;
	size_t count, cap;
};

/* What rows of one event class have in common. */
struct cw_key {
	const struct cw_stream_class *of;
	uint32_t name, cat;
	uint16_t flags; /* those of CW_FLAGS */
	uint8_t kind;
	uint8_t has_id;
};

/* An event class of the output. */
struct cw_event {
	struct cw_key key;
	uint32_t id;
	uint64_t count; /* events */
	uint64_t *sig; /* types of the arguments; see write_class.c */
	size_t nsig;
	struct cw_leaf *leaves; /* of its enumerations, in the order of the signature */
	uint32_t nleaves;
	const struct ctf_event_class *native; /* NULL: described by key and sig */
	struct cw_event *same; /* of the same hash */
	struct cw_event *next; /* in the order in which they were made */
};

/*
 * A data stream of the output, or (`shares`) a thread whose events are in streams of several
 * threads; an array of zeros is a new one.
 */
struct cw_stream {
	bool shares;
	uint32_t slot; /* of the threads of its class */
	struct spool_seq events, packets;
	struct cw_stream_class *of;
	const struct ctf_class *native;
	uint32_t track; /* SPUR_NONE: not of one track */
	uint32_t source; /* with `native`: the source's stream */
	uint32_t name; /* string id of the thread's name in `context` */
	bool open; /* a packet is */
	bool begun; /* there is a packet */
	bool gap; /* packets are missing after the last one, up to `gap_end` */
	uint16_t cpu; /* of the packet */
	uint64_t begin, last; /* clock: first event of the packet, last one */
	uint64_t bytes; /* of its events */
	uint64_t discarded, sequence; /* counters up to the packet */
	uint64_t due; /* the packet has to end here, as losses before it do; UINT64_MAX: nowhere */
	uint64_t gap_end; /* clock */
	uint64_t npackets;
	uint64_t begins; /* spans that begin */
	uint64_t last_off; /* of the last event copied */
	bool name_cut; /* the thread's name in `context` is shorter than it was */
	uint8_t ncontext;
	uint8_t context[33];
};

/* A packet of a stream, in the stream's `packets`. */
struct cw_packet {
	uint64_t begin, end, bytes, discarded, sequence;
	uint32_t cpu;
};

/* A label that a value of the current event has. */
struct cw_seen {
	uint32_t leaf;
	int64_t value;
	const char *label;
};

/* Scratch memory that grows. */
struct cw_room {
	uint8_t *p;
	size_t size;
};

struct cw {
	struct write *write;
	struct spur_trace *trace;
	struct arena arena;
	struct spool spool;
	struct spool_seq streams; /* the pages of streams */
	bool json; /* CTF 2 */
	bool v11; /* the RFC v1.1 */
	bool big; /* byte order */
	bool swap; /* values have to be swapped */
	bool lttng; /* directories, names and environment as LTTng makes them */
	/* Streams, by number, in pages of scratch memory. */
	struct cw_stream **pages;
	size_t npages, pages_cap;
	uint32_t nstreams;
	struct cw_place {
		uint32_t stream[2]; /* by whether the CPU is known; number + 1, 0: none */
	} * by_track, *by_source;
	size_t by_track_cap, by_source_cap;
	struct cw_stream_class *classes, **classes_end;
	uint32_t nclasses;
	struct map64 events; /* hash -> struct cw_event * */
	struct cw_event *first, **end;
	struct cw_event *few[CTF_WRITE_FEW];
	struct cw_event *bare[CTF_WRITE_FEW]; /* as `few`, of events without arguments */
	struct map64 natives; /* event class of the source -> struct cw_event * */
	struct spur_args args;
	/* The current event. */
	struct out payload;
	uint64_t *sig;
	size_t nsig, sig_cap;
	struct cw_seen *seen;
	size_t nseen, seen_cap;
	uint32_t leaves;
	unsigned kind;
	/* The source, if it is a CTF trace; by stream: its events may be copied. */
	struct ctf *ctf;
	bool *copies;
	/* Metadata. */
	struct out text;
	bool no_memory;
	uint8_t uuid[16];
	const char *clock; /* its name */
	const char *dir; /* of all files, with its slash */
	/* The RFC v1.1: schemes of packets (0: none), the key of AES, and a packet being made. */
	uint8_t compression, checksum;
	uint8_t key[CTF_KEY];
	size_t key_len;
	struct cw_room raw, packed, sealed;
};

/* Flags of rows that a class of events has in common. */
enum {
	CW_FLAGS = SPUR_F_OUT | SPUR_F_IN | SPUR_F_PREEMPTED | SPUR_F_EXIT | SPUR_F_TAIL |
		   SPUR_F_ESTIMATED | SPUR_F_UNRELIABLE,
};

/* Puts a number of `bytes` (1, 2, 4, 8) bytes in the output's byte order. */
uint8_t *cw_put(const struct cw *w, uint8_t *p, uint64_t v, unsigned bytes);

/*
 * write_class.c: encodes the arguments in w->args to w->payload and w->sig. Returns false if out of
 * memory.
 */
bool cw_encode(struct cw *w, const struct spur_event *row);
/*
 * Returns the event class for the key and w->sig, and notes the labels that were seen. Returns NULL
 * if out of memory.
 */
struct cw_event *cw_event_of(struct cw *w, const struct cw_key *key);
/* Returns the fields of an event's arguments, made from its signature. NULL: out of memory. */
struct ctf_field *cw_fields(struct cw *w, const struct cw_event *e);
/* Returns a structure without members, with room for `n`, in the arena. NULL: out of memory. */
struct ctf_field *cw_struct(struct cw *w, uint32_t n);
/* Adds a member. */
void cw_member(struct cw *w, struct ctf_field *s, const char *name, struct ctf_field *f);
/* Returns an integer field; `base` as in struct ctf_field. NULL: out of memory. */
struct ctf_field *cw_int(struct cw *w, unsigned bits, bool is_signed, unsigned base);
/* Returns the event context of a stream class without a native one. NULL: out of memory. */
struct ctf_field *cw_context(struct cw *w, uint32_t layout);
/* The name and the URI of an event class with these fields, in the arena. NULL: out of memory. */
const char *cw_event_name(struct cw *w, const struct cw_event *e);
const char *cw_event_uri(struct cw *w, const struct cw_event *e, const struct ctf_field *fields);

/*
 * write_native.c: returns true if events of the source's class can be copied to this output: all
 * fields are whole bytes, and what they refer to is in the event.
 */
bool cw_is_native(const struct cw *w, const struct ctf_class *k, const struct ctf_event_class *e);
/* Finds the streams of the source whose events may be copied. Returns false if out of memory. */
bool cw_natives(struct cw *w);
/* The file whose stream has the row if its events may be copied, or NULL. */
const struct ctf_file *cw_native_file(const struct cw *w, const struct spur_event *row);
/*
 * The bytes of a row's event behind its header, in the source. Returns NULL if the event cannot be
 * copied; *class gets the event class.
 */
const uint8_t *cw_native_bytes(struct cw *w, const struct spur_event *row, uint64_t *len,
			       const struct ctf_class **of, const struct ctf_event_class **class);

/* write_tsdl.c, write_json.c: the metadata in w->text. */
void cw_tsdl(struct cw *w);
void cw_json(struct cw *w);

/* write_v11.c: values of the settings, each in the order of the schemes' numbers from 1 on. */
extern const char *const cw_compressions[], *const cw_checksums[];
/* Reads the settings of version 1.1. Returns false with w->write->error set. */
bool cw_v11_settings(struct cw *w);
/* The metadata in w->text, and the packets that it is stored in. */
void cw_v11(struct cw *w);
void cw_v11_metadata(struct cw *w, struct out *o);
/*
 * Returns the room for the bytes of a packet's events, which cw_v11_packet() takes from there.
 * Returns NULL if out of memory or with w->write->error set.
 */
uint8_t *cw_v11_events(struct cw *w, uint64_t bytes);
/* Writes a packet of the file `instance`. Returns false if out of memory. */
bool cw_v11_packet(struct cw *w, uint64_t instance, const struct cw_packet *packet, struct out *o);
void cw_v11_free(struct cw *w);

/* write_file.c: writes all files. Returns false if out of memory or with w->write->error set. */
bool cw_files(struct cw *w);
struct cw_stream *cw_stream_at(const struct cw *w, uint32_t number);
/* The clock of the output: its offset from 1970, if that is known. */
bool cw_clock_offset(const struct cw *w, int64_t *seconds, uint64_t *cycles);

#endif
