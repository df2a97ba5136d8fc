/*
 * The viewer protocol of LTTng's relay daemon, a command a function: sends it, reads the answer,
 * believes nothing that the answer says of sizes before the bytes are there. Rules:
 * docs/formats/ctf-live.md.
 *
 * All return false where the wire broke, also by an answer that cannot be.
 */
#ifndef SPUR_FORMAT_CTF_LIVE_PROTO_H
#define SPUR_FORMAT_CTF_LIVE_PROTO_H

#include "format/ctf/live/connection.h"
#include "format/ctf/wire.h"

enum {
	LIVE_HOST = CTF_WIRE_HOST, /* bytes of names, not always NUL-ended */
	LIVE_NAME = CTF_WIRE_NAME,
	LIVE_PATH = CTF_WIRE_PATH,
	LIVE_PIECE = 1 << 20, /* of a packet, in one answer */
	LIVE_LIST_MOST = 1 << 16, /* sessions or streams in one answer */
	LIVE_META_MOST = 1 << 25, /* of the metadata of one trace */
};

enum live_attached {
	LIVE_ATTACHED = 1,
	LIVE_HAS_VIEWER = 2,
	LIVE_UNKNOWN_SESSION = 3,
	LIVE_NOT_LIVE = 4,
};

enum live_streams {
	LIVE_STREAMS = 1,
	LIVE_NO_STREAMS = 2,
	LIVE_STREAMS_ERROR = 3,
	LIVE_SESSION_OVER = 4
};

enum live_found {
	LIVE_INDEX = 1,
	LIVE_RETRY = 2,
	LIVE_HANG_UP = 3,
	LIVE_INDEX_ERROR = 4,
	LIVE_INACTIVE = 5, /* no event up to `end` */
	LIVE_INDEX_END = 6,
};

enum live_got { LIVE_GOT = 1, LIVE_GET_LATER = 2, LIVE_GET_ERROR = 3, LIVE_GET_END = 4 };

enum live_metadata { LIVE_METADATA = 1, LIVE_NO_METADATA = 2, LIVE_METADATA_ERROR = 3 };

/* Come with an index or a packet. */
enum live_flag { LIVE_NEW_METADATA = 1, LIVE_NEW_STREAM = 2 };

struct live_session {
	uint64_t id;
	uint32_t timer_us, viewers, streams;
	char host[LIVE_HOST + 1], name[LIVE_NAME + 1];
};

struct live_stream_info {
	uint64_t id, trace;
	bool metadata;
	char path[LIVE_PATH + 1], channel[LIVE_NAME + 1];
};

struct live_index {
	uint64_t offset; /* bytes, in the stream's file */
	uint64_t size; /* bits */
	uint64_t end; /* clock, cycles */
	uint64_t stream_class;
	uint32_t status; /* enum live_found */
	uint32_t flags;
};

/* Bytes of metadata as they came, of one trace. */
struct live_bytes {
	uint8_t *p;
	size_t len, cap;
};

/* Greets; *minor is the relay daemon's protocol 2.x. */
bool live_hello(struct live_wire *w, uint32_t *minor);
bool live_create(struct live_wire *w);
/* `each` returns false if out of memory: then the rest is left unread, and the wire breaks. */
bool live_list(struct live_wire *w, bool (*each)(void *self, const struct live_session *s),
	       void *self);
bool live_attach(struct live_wire *w, uint64_t session, uint32_t *status,
		 bool (*each)(void *self, const struct live_stream_info *s), void *self);
bool live_new_streams(struct live_wire *w, uint64_t session, uint32_t *status,
		      bool (*each)(void *self, const struct live_stream_info *s), void *self);
bool live_next_index(struct live_wire *w, uint64_t stream, struct live_index *out);
/*
 * At most `size` (LIVE_PIECE) bytes into `to`; *got of them came, or none: then *status and *flags
 * say why.
 */
bool live_packet(struct live_wire *w, uint64_t stream, uint64_t offset, uint32_t size, uint8_t *to,
		 uint32_t *got, uint32_t *status, uint32_t *flags);
bool live_metadata(struct live_wire *w, uint64_t stream, uint32_t *status, struct live_bytes *to);
/* Detaches, without waiting for the answer. */
void live_detach(struct live_wire *w, uint64_t session);

#endif
