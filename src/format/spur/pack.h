/*
 * Packing: records and descriptors put into the chunks of a file, one thread after another. Used
 * by the writer and by copies. docs/formats/spur.md has the rules.
 */
#ifndef SPUR_FORMAT_SPUR_PACK_H
#define SPUR_FORMAT_SPUR_PACK_H

#include "base/out.h"
#include "format/spur/wire.h"

/* The chunk that is being filled, and what the next one begins with. */
struct spb_pack {
	struct out *out; /* NULL: chunks are only counted */
	uint8_t *chunk; /* `chunk_size` bytes, owned */
	uint32_t chunk_size;
	uint32_t at; /* bytes of the chunk; 0: none is open */
	uint64_t sequence; /* of the chunk */
	uint64_t nchunks; /* that were closed */
	uint64_t ticks; /* of the record before */
	uint32_t cpu; /* id of the last CPU record */
	uint64_t fiber; /* that of the last FIBER record */
	/* The head that each chunk gets, as it is stored; NULL: one is made */
	const uint8_t *head;
	uint16_t kind; /* enum spb_chunk_kind */
	uint32_t tid, thread;
};

/* A record to be packed. */
struct spb_pack_record {
	uint8_t kind; /* enum spb_kind */
	uint32_t id;
	uint64_t ticks;
	const void *payload;
	size_t words; /* of the payload */
};

/* Returns false if out of memory. Requires spb_pack_free() in any case. */
bool spb_pack_open(struct spb_pack *p, struct out *out, uint32_t chunk_size);
void spb_pack_free(struct spb_pack *p);
/* Ends the chunk that is open; the next ones are of a thread, or (number 0) have descriptors. */
void spb_pack_stream(struct spb_pack *p, uint32_t thread, uint32_t tid);
/*
 * Adds a record, with a TIME record before it where its time needs one. Requires that it fits into
 * a chunk: spb_pack_room().
 */
void spb_pack_record(struct spb_pack *p, const struct spb_pack_record *r);
/* Adds a descriptor. Requires that it fits into a chunk. */
void spb_pack_descriptor(struct spb_pack *p, uint32_t type, const void *body, size_t len,
			 uint64_t ticks);
/* Begins a chunk now. */
void spb_pack_begin(struct spb_pack *p);
/* The least size of chunks that can hold a record or descriptor with a payload of `bytes`. */
uint64_t spb_pack_room(uint64_t bytes);

#endif
