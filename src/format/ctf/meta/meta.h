/*
 * What the metadata of a CTF trace says, the same for RFC v1.1, 1.8 and 2: clocks, stream classes,
 * event classes, and trees of field classes. Front ends (tsdl_*.c: 1.8 text; v11_*.c: the RFC's
 * language; json_*.c: CTF 2) build it; meta_resolve() finds what lengths and selectors refer to;
 * plans (plan.h) are compiled from it.
 *
 * Everything lives in the meta's arena until meta_free(). Names are bytes of the metadata,
 * NUL-ended copies.
 */
#ifndef SPUR_FORMAT_CTF_META_META_H
#define SPUR_FORMAT_CTF_META_META_H

#include <spur.h>

#include "base/err.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/out.h"
#include "base/text.h"

enum ctf_generation { CTF_V11, CTF_1, CTF_2 };

enum ctf_kind {
	CTF_BITS, /* fixed-length bit array: an unsigned integer shown as bits */
	CTF_BITMAP, /* bit array with named flags */
	CTF_BOOL, /* fixed-length boolean: zero or not */
	CTF_UINT,
	CTF_SINT,
	CTF_FLOAT, /* IEEE 754 binary16, 32, 64, 128, K*32 */
	CTF_VAR_UINT, /* LEB128 */
	CTF_VAR_SINT,
	CTF_STRING, /* to the NUL (code unit) */
	CTF_STRING_STATIC, /* `length` bytes */
	CTF_STRING_DYNAMIC, /* bytes as `ref` says */
	CTF_BLOB_STATIC,
	CTF_BLOB_DYNAMIC,
	CTF_STRUCT,
	CTF_ARRAY, /* `length` elements */
	CTF_SEQUENCE, /* elements as `ref` says, or by an inline length before them (v1.1) */
	CTF_OPTIONAL, /* there where `ref` lies in `ranges` */
	CTF_VARIANT, /* the option whose ranges hold `ref` */
	CTF_KINDS
};

enum ctf_encoding { CTF_UTF8, CTF_UTF16BE, CTF_UTF16LE, CTF_UTF32BE, CTF_UTF32LE, CTF_ASCII };

/* What a field means beside its value; a set of bits. CTF 1 gives them by reserved names. */
enum ctf_role {
	CTF_ROLE_MAGIC = 1,
	CTF_ROLE_UUID = 2, /* 16 bytes: blob, or array of 8-bit integers */
	CTF_ROLE_STREAM_CLASS_ID = 4,
	CTF_ROLE_STREAM_ID = 8, /* stream_instance_id */
	CTF_ROLE_TIMESTAMP = 16, /* packet context: begin; event header: the event's */
	CTF_ROLE_END_TIMESTAMP = 32,
	CTF_ROLE_CONTENT_SIZE = 64, /* bits */
	CTF_ROLE_PACKET_SIZE = 128, /* bits */
	CTF_ROLE_DISCARDED = 256, /* snapshot of the counter of discarded events */
	CTF_ROLE_SEQUENCE = 512, /* of the packet in its stream */
	CTF_ROLE_EVENT_CLASS_ID = 1024,
	CTF_ROLE_CPU = 2048, /* packet context cpu_id (not a role of CTF 2: by name) */
	CTF_ROLE_COMPRESSION = 4096, /* v1.1 and 1.8: schemes and the checksum of the packet */
	CTF_ROLE_ENCRYPTION = 8192,
	CTF_ROLE_CHECKSUM = 16384,
	CTF_ROLE_CHECKSUM_SCHEME = 32768,
	CTF_ROLE_SESSION =
		65536, /* v1.1: which metadata the packet goes with; bits of its sequence number */
	CTF_ROLE_SEQUENCE_BITS = 131072,
};

enum ctf_scope {
	CTF_SCOPE_PACKET_HEADER,
	CTF_SCOPE_PACKET_CONTEXT,
	CTF_SCOPE_EVENT_HEADER,
	CTF_SCOPE_EVENT_COMMON, /* stream.event.context */
	CTF_SCOPE_EVENT_SPECIFIC, /* event.context */
	CTF_SCOPE_PAYLOAD,
	CTF_SCOPES
};

/* Inclusive. Bounds are two's complement where `is_signed` of their owner says so. */
struct ctf_range {
	uint64_t low, high;
};

struct ctf_mapping {
	const char *name;
	const struct ctf_range *ranges; /* of a bit map: indexes of bits */
	uint32_t nranges;
};

struct ctf_member {
	const char *name; /* as in the metadata; NULL: none (options of a variant, padding) */
	/* Without the underscore that CTF 1 puts before names; the same in CTF 2. */
	const char *shown;
	struct ctf_field *field;
	/*
	 * Of a CTF 2 variant's option; of CTF 1: by name of the tag's mapping. None: never chosen.
	 */
	const struct ctf_range *ranges;
	uint32_t nranges;
};

/*
 * Where a length or selector is found, as written; meta_resolve() fills `slot`. CTF 1: names from a
 * dotted path, absolute where `scope` is one, else searched from the field outwards. CTF 2: origin
 * and names, or relative to the field's structure; a NULL name is the parent.
 */
struct ctf_ref {
	bool absolute;
	enum ctf_scope scope; /* where absolute */
	const char *const *names;
	uint32_t nnames;
	/* CTF 1, relative: `lex` of the structure with names[0]; 0: search outwards */
	uint32_t home;
	uint32_t slot; /* where the value of what is referred to is kept while decoding */
	bool is_signed; /* of what it refers to */
	bool is_bool;
	uint64_t at; /* offset in the metadata, for errors */
};

enum { CTF_NO_SLOT = UINT32_MAX };

struct ctf_labels; /* plan_parts.h */

struct ctf_field {
	uint8_t kind; /* enum ctf_kind */
	uint8_t encoding; /* enum ctf_encoding */
	uint8_t base; /* preferred, 2 8 10 16; 0: not said */
	bool big_endian;
	bool reversed; /* bit order is not that of the byte order */
	bool is_signed; /* of integers and of ranges */
	bool is_enum; /* of CTF 1 or with mappings: shown by its names */
	bool is_text; /* integer of CTF 1 with an encoding: a character */
	bool empty; /* never takes a bit: elements of this kind must not be looped over */
	bool selector_signed; /* OPTIONAL, VARIANT: `ranges` are signed; filled by meta_resolve() */
	uint32_t roles; /* enum ctf_role */
	/*
	 * Bits, of its first bit: 1, 2, 4, ... A front end gives structs and arrays the least that
	 * is declared (1); meta_resolve() makes it the largest of what is inside. Variants and
	 * optionals: 1.
	 */
	uint32_t align;
	uint32_t size; /* bits, of fixed-length kinds */
	uint32_t unit; /* bit field of C: bits of the unit that it may not cross; 0: none */
	/* What a field with a unit adds to the alignment of its struct; its own is 1 */
	uint32_t unit_align;
	uint32_t exp_dig, mant_dig; /* FLOAT of v1.1 and 1.8 */
	uint64_t length; /* ARRAY: elements; *_STATIC: bytes */
	struct ctf_ref ref; /* SEQUENCE, *_DYNAMIC, OPTIONAL, VARIANT */
	struct ctf_field *length_field; /* SEQUENCE of v1.1: the inline length's class; else NULL */
	struct ctf_field *element; /* ARRAY, SEQUENCE, OPTIONAL */
	struct ctf_member *members; /* STRUCT; options of a VARIANT */
	uint32_t nmembers;
	const struct ctf_range *ranges; /* OPTIONAL: integer selectors; none: a boolean one */
	uint32_t nranges;
	const struct ctf_mapping *mappings;
	uint32_t nmappings;
	struct ctf_clock *clock; /* integer of 1.8 with `map = clock.X.value` */
	uint32_t save; /* slot that gets its value when decoded; CTF_NO_SLOT: none */
	const char *media_type; /* BLOB */
	const char *attributes; /* CTF 2: JSON text; NULL */
	uint64_t at; /* offset in the metadata */
	/* The plans': names by value, NULL: none, or not made yet. */
	struct ctf_labels *labels;
	/* The plans': 0: not asked yet; 1: size varies or a value is kept; else 2 + bits. */
	uint64_t fixed;

	/* From the front end to meta_resolve(), 1.8 only. */
	bool native_order; /* `big_endian` is the trace's */
	const char *clock_name; /* of `map`; NULL: none */
	const char *env_key; /* `length` is the number of that name in `env`; NULL: no */
	uint32_t lex; /* mark of a structure's text, see ctf_ref.home; 0: none */

	/* Of meta_resolve() alone; a front end leaves them 0. */
	bool has_ref; /* here or below */
	uint8_t height; /* of the tree below; a leaf's is 1 */
	uint32_t uses; /* places that refer to it */
	uint32_t names_id; /* table of names of its members or mappings; 0: none yet */
	uint32_t total; /* field classes of the tree below, as often as they occur; capped */
};

struct ctf_clock {
	bool implicit; /* no declaration of the metadata made it */
	const char *id; /* CTF 2: id; 1.8: name */
	const char *name, *description, *space, *uid; /* space: namespace; NULL: none */
	bool has_uuid;
	uint8_t uuid[16];
	uint64_t hz; /* default 10^9 */
	int64_t offset_seconds;
	uint64_t offset; /* cycles */
	uint64_t precision, accuracy; /* cycles; UINT64_MAX: unknown */
	bool unix_epoch; /* origin: 1.8: always; CTF 2: as it says */
	bool absolute;
	const char *origin_space, *origin_name, *origin_uid; /* of another origin; NULL */
};

struct ctf_event_class {
	const char *name; /* NULL: none */
	const char *space, *uid;
	uint64_t id, stream_id;
	struct ctf_field *specific; /* event.context; NULL: none */
	struct ctf_field *payload;
	int32_t log_level; /* LTTng's; -1: none */
	const char *emf_uri; /* model.emf.uri; NULL */
	uint64_t at;
};

struct ctf_stream_class {
	uint64_t id;
	const char *name, *space, *uid;
	struct ctf_clock *clock; /* of its time stamps; NULL: none is known */
	struct ctf_field *packet_context, *event_header, *event_common; /* NULL: none */
	struct ctf_event_class **events; /* ascending by id after meta_resolve() */
	size_t nevents, events_cap;
	/* RFC v1.1: 1 or 2: its event header types; 0: header is `event_header` */
	uint8_t v11_header;
	bool v11_event_size; /* RFC v1.1: context has a 16-bit payload_size */
	uint64_t at;
};

struct ctf_env {
	const char *key;
	bool is_text;
	const char *text;
	int64_t number;
};

struct ctf_meta {
	struct arena arena;
	enum ctf_generation generation;
	uint32_t major, minor;
	bool big_endian; /* default byte order (trace.byte_order; v1.1: of the packets) */
	bool has_uuid;
	uint8_t uuid[16];
	const char *name, *space, *uid; /* CTF 2 trace class */
	struct ctf_field *packet_header; /* NULL: none */
	struct ctf_env *env;
	size_t nenv, env_cap;
	struct ctf_clock **clocks;
	size_t nclocks, clocks_cap;
	struct ctf_stream_class **streams; /* ascending by id after meta_resolve() */
	size_t nstreams, streams_cap;
	uint32_t nslots; /* values kept while decoding */
	uint64_t nops; /* the plans': steps compiled so far */
	bool plain; /* the text came without packets: nothing said the byte order of v1.1 */
	bool has_session;
	uint32_t session; /* RFC v1.1: session_id of the first packet of metadata */
	uint32_t v11_u64_align; /* RFC v1.1: natural alignment of u64: 8 (packed), 32 or 64 */
	const char *attributes; /* CTF 2: of the trace class, JSON text */
	/* The plain metadata, whatever its packaging; in the arena or the source. */
	struct text text;
	const char *path; /* for messages; a copy */
	struct intern *names;
	size_t nfields; /* counted against META_FIELDS */
	struct {
		uint64_t at;
		unsigned line;
		uint64_t line_at;
		uint64_t seen; /* text up to here has no other line */
	} place; /* the last that meta_place() found */
	unsigned nturns; /* of the search for places */
	bool full; /* META_FIELDS was met */
	uint64_t failed_at; /* offset in the text of what cannot be read, if reading failed */
	bool parsed; /* the text was read to its end; what failed is what `failed_at` begins */
	bool strict; /* set before parsing: no cut end, no stream class that only events name */
	struct text
		salvaged; /* by meta_salvage(): the text without what cannot be read; else empty */
};

enum {
	META_DEPTH = 64, /* field classes inside each other */
	META_BYTES = 1 << 28, /* of metadata text */
	/*
	 * Field classes, members, mappings, ranges, event classes in all; and also field classes of
	 * all scopes with shared ones counted as often as they occur, so whoever walks every
	 * scope's tree need not fear its size.
	 */
	META_FIELDS = 1 << 22,
	META_SLOTS = 1 << 16,
};

/*
 * Errors have the place: "metadata:LINE:COLUMN: expected X, found Y" (text), or "metadata: fragment
 * F (byte N): ..." (CTF 2). Warnings go to `diag` (codes ctf/...). `text` must stay until
 * meta_free().
 */
struct ctf_meta *meta_new(const char *path); /* NULL if out of memory */
void meta_free(struct ctf_meta *m);

/*
 * A field class with align 1, no slot; the rest 0. NULL: META_FIELDS or memory (meta_full() tells
 * which).
 */
struct ctf_field *meta_field(struct ctf_meta *m, enum ctf_kind kind, uint64_t at);
/* A copy with members of its own; what is inside is shared. NULL as above. */
struct ctf_field *meta_field_copy(struct ctf_meta *m, const struct ctf_field *f);
/* Counts `n` members, mappings, ... ; false beyond META_FIELDS. */
bool meta_count(struct ctf_meta *m, size_t n);
/*
 * What a failed meta_field(), meta_count(), meta_add_...() means: the limit, or memory. Fills err.
 */
enum spur_status meta_full(const struct ctf_meta *m, struct spur_error *err);
/*
 * A copy that lives as long as the meta; equal names have equal addresses. Returns NULL if out of
 * memory.
 */
const char *meta_name(struct ctf_meta *m, const char *p, size_t len);
/* Appends; false: limit or memory. */
bool meta_add_stream(struct ctf_meta *m, struct ctf_stream_class *s);
bool meta_add_event(struct ctf_meta *m, struct ctf_stream_class *s, struct ctf_event_class *e);
bool meta_add_clock(struct ctf_meta *m, struct ctf_clock *c);
bool meta_add_env(struct ctf_meta *m, const struct ctf_env *e);

/* The front ends; each leaves a whole meta, unresolved. SPUR_FAIL with err set. */
enum spur_status tsdl_parse(struct ctf_meta *m, struct text text, struct diag_log *diag,
			    struct spur_error *err);
enum spur_status v11_parse(struct ctf_meta *m, struct text text, struct diag_log *diag,
			   struct spur_error *err);
enum spur_status json_parse(struct ctf_meta *m, struct text text, struct diag_log *diag,
			    struct spur_error *err);

/*
 * Checks and completes: references to slots, alignments of compounds, sorted ids, roles of CTF 1's
 * reserved names. Classes may be shared (named types): where two uses of one differ, it is copied.
 */
enum spur_status meta_resolve(struct ctf_meta *m, struct diag_log *diag, struct spur_error *err);

/*
 * Takes the file `metadata` as it is (plain text, packets of 1.8, 2 or v1.1 in either byte order,
 * JSON sequence), unpacks it, finds the generation, parses and resolves. `data` must stay until
 * meta_free(). NULL and SPUR_FAIL where nothing can be read.
 */
enum spur_status meta_read(struct ctf_meta **out, const char *path, const uint8_t *data,
			   size_t size, struct diag_log *diag, struct spur_error *err);
/* The same; the byte order of v1.1's streams where plain text does not say it. */
enum spur_status meta_read_as(struct ctf_meta **out, const char *path, const uint8_t *data,
			      size_t size, bool big_endian, struct diag_log *diag,
			      struct spur_error *err);

/*
 * salvage.c: as meta_read_as(), but leaves out what cannot be read, tells that as damage, and keeps
 * the rest in (*out)->salvaged. Returns SPUR_FAIL with the error of the whole if too little
 * remains.
 */
enum spur_status meta_salvage(struct ctf_meta **out, const char *path, const uint8_t *data,
			      size_t size, bool big_endian, struct diag_log *diag,
			      struct spur_error *err);
enum { META_HOLE = 1 /* byte of a text where damaged packets are missing */ };
/* The two halves of meta_read_as(): unpacks m->text, with META_HOLE in it; reads it. */
enum spur_status meta_text(struct ctf_meta *m, const uint8_t *data, size_t size,
			   struct diag_log *diag, enum ctf_generation *generation,
			   struct spur_error *err);
enum spur_status meta_parse(struct ctf_meta *m, enum ctf_generation generation,
			    struct diag_log *diag, struct spur_error *err);
/* Line and column (bytes), from 1, of a byte offset in m->text; for messages. */
void meta_place(struct ctf_meta *m, uint64_t at, unsigned *line, unsigned *column);
/* An error with the place in front; returns SPUR_FAIL. */
enum spur_status meta_error(struct ctf_meta *m, struct spur_error *err, enum spur_error_code code,
			    uint64_t at, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* A DIAG_WARN or other message with the place in front. `code` is a literal. */
void meta_say(struct ctf_meta *m, struct diag_log *diag, enum diag_level level, const char *code,
	      uint64_t at, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* "an unsigned integer", "a structure", ... for messages. */
const char *meta_kind_name(unsigned kind);
/*
 * What it compiles to: every clock, class and field, one a line, with sizes, alignments, roles,
 * slots.
 */
void meta_print(const struct ctf_meta *m, struct out *o);

#endif
