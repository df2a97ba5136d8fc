/* See live_proto.h. All integers are big-endian. */
#include "format/ctf/live/proto.h"

#include <string.h>

#include "base/cursor.h"
#include "base/mem.h"

/* SPEC ctf-live/command: a header and what it says follows */
enum {
	REQUEST_MOST = 24, /* bytes of a command after its head */
	META_PIECE = 1 << 16,
};

/* A command being written. */
struct request {
	uint8_t bytes[CTF_WIRE_QUESTION + REQUEST_MOST];
	size_t len;
};

static void put_int(struct request *r, uint64_t v, unsigned size)
{
	for (unsigned i = size; i-- > 0;)
		r->bytes[r->len++] = (uint8_t)(v >> (8 * i));
}

/* `size` bytes will follow. */
static struct request request(uint32_t command, uint32_t size)
{
	struct request r = { .len = 0 };

	put_int(&r, size, 8);
	put_int(&r, command, 4);
	put_int(&r, 0, 4);
	return r;
}

static bool request_send(struct live_wire *w, const struct request *r)
{
	return wire_send(w, r->bytes, r->len);
}

static bool answer(struct live_wire *w, uint8_t *bytes, size_t size, struct cursor *c)
{
	*c = cursor_make(bytes, size, order_swaps(true));
	return wire_read(w, bytes, size);
}

/* A name in a field of fixed size. */
static void read_name(struct cursor *c, char *to, size_t size)
{
	const uint8_t *p = cursor_bytes(c, size);
	const size_t n = p ? strnlen((const char *)p, size) : 0;

	if (n)
		memcpy(to, p, n);
	to[n] = '\0';
}

bool live_hello(struct live_wire *w, uint32_t *minor)
{
	struct request r = request(CTF_WIRE_CONNECT, 20);
	uint8_t bytes[20];
	struct cursor c;
	uint32_t major;

	put_int(&r, UINT64_MAX, 8);
	put_int(&r, CTF_WIRE_MAJOR, 4);
	put_int(&r, CTF_WIRE_MINOR, 4);
	put_int(&r, CTF_WIRE_COMMANDS, 4);
	if (!request_send(w, &r) || !answer(w, bytes, sizeof(bytes), &c))
		return false;
	cursor_u64(&c);
	major = cursor_u32(&c);
	*minor = cursor_u32(&c);
	/*
	 * SPEC ctf-live/version: the major numbers must be the same; of the minor ones the lower is
	 * spoken
	 */
	if (major != CTF_WIRE_MAJOR)
		return wire_wrong(w, "expected the viewer protocol %d, found %u", CTF_WIRE_MAJOR,
				  major);
	return true;
}

bool live_create(struct live_wire *w)
{
	const struct request r = request(CTF_WIRE_CREATE, 0);
	uint8_t bytes[4];
	struct cursor c;
	uint32_t status;

	if (!request_send(w, &r) || !answer(w, bytes, sizeof(bytes), &c))
		return false;
	status = cursor_u32(&c);
	return status == 1 ||
	       wire_wrong(w, "viewer session: expected that it is made (1), found status %u",
			  status);
}

bool live_list(struct live_wire *w, bool (*each)(void *self, const struct live_session *s),
	       void *self)
{
	const struct request r = request(CTF_WIRE_LIST, 0);
	uint8_t bytes[CTF_WIRE_SESSION];
	struct live_session s;
	struct cursor c;
	uint32_t n;

	if (!request_send(w, &r) || !answer(w, bytes, 4, &c))
		return false;
	n = cursor_u32(&c);
	if (n > LIVE_LIST_MOST)
		return wire_wrong(w, "list of sessions: expected at most %d, found %u",
				  LIVE_LIST_MOST, n);
	for (uint32_t i = 0; i < n; i++) {
		if (!answer(w, bytes, CTF_WIRE_SESSION, &c))
			return false;
		s.id = cursor_u64(&c);
		s.timer_us = cursor_u32(&c);
		s.viewers = cursor_u32(&c);
		s.streams = cursor_u32(&c);
		read_name(&c, s.host, LIVE_HOST);
		read_name(&c, s.name, LIVE_NAME);
		if (!each(self, &s))
			return wire_wrong(w, "list of sessions: expected memory, found none");
	}
	return true;
}

static bool read_streams(struct live_wire *w, uint32_t n,
			 bool (*each)(void *self, const struct live_stream_info *s), void *self)
{
	uint8_t bytes[CTF_WIRE_STREAM];
	struct live_stream_info s;
	struct cursor c;

	if (n > LIVE_LIST_MOST)
		return wire_wrong(w, "list of streams: expected at most %d, found %u",
				  LIVE_LIST_MOST, n);
	for (uint32_t i = 0; i < n; i++) {
		if (!answer(w, bytes, CTF_WIRE_STREAM, &c))
			return false;
		s.id = cursor_u64(&c);
		s.trace = cursor_u64(&c);
		s.metadata = cursor_u32(&c) != 0;
		read_name(&c, s.path, LIVE_PATH);
		read_name(&c, s.channel, LIVE_NAME);
		if (!each(self, &s))
			return wire_wrong(w, "list of streams: expected memory, found none");
	}
	return true;
}

/* Streams follow only where the status is `with`. */
static bool answer_streams(struct live_wire *w, const struct request *r, uint32_t *status,
			   bool (*each)(void *self, const struct live_stream_info *s), void *self)
{
	uint8_t bytes[8];
	struct cursor c;
	uint32_t n;

	if (!request_send(w, r) || !answer(w, bytes, sizeof(bytes), &c))
		return false;
	*status = cursor_u32(&c);
	n = cursor_u32(&c);
	/* SPEC ctf-live/streams: only an answer that says OK has streams */
	return *status != LIVE_STREAMS || read_streams(w, n, each, self);
}

bool live_attach(struct live_wire *w, uint64_t session, uint32_t *status,
		 bool (*each)(void *self, const struct live_stream_info *s), void *self)
{
	struct request r = request(CTF_WIRE_ATTACH, 20);

	put_int(&r, session, 8);
	put_int(&r, 0, 8);
	put_int(&r, CTF_WIRE_FROM_NOW, 4);
	return answer_streams(w, &r, status, each, self);
}

bool live_new_streams(struct live_wire *w, uint64_t session, uint32_t *status,
		      bool (*each)(void *self, const struct live_stream_info *s), void *self)
{
	struct request r = request(CTF_WIRE_STREAMS, 8);

	put_int(&r, session, 8);
	return answer_streams(w, &r, status, each, self) &&
	       ((*status >= LIVE_STREAMS && *status <= LIVE_SESSION_OVER) ||
		wire_wrong(w, "list of streams: expected a status from 1 to 4, found %u", *status));
}

bool live_next_index(struct live_wire *w, uint64_t stream, struct live_index *out)
{
	struct request r = request(CTF_WIRE_NEXT_INDEX, 8);
	uint8_t bytes[CTF_WIRE_LIVE_INDEX];
	struct cursor c;

	put_int(&r, stream, 8);
	if (!request_send(w, &r) || !answer(w, bytes, sizeof(bytes), &c))
		return false;
	out->offset = cursor_u64(&c);
	out->size = cursor_u64(&c);
	cursor_u64(&c); /* content size, begin: the packet has them */
	cursor_u64(&c);
	out->end = cursor_u64(&c);
	cursor_u64(&c); /* discarded events */
	out->stream_class = cursor_u64(&c);
	out->status = cursor_u32(&c);
	out->flags = cursor_u32(&c);
	return (out->status >= LIVE_INDEX && out->status <= LIVE_INDEX_END) ||
	       wire_wrong(w, "index: expected a status from 1 to 6, found %u", out->status);
}

bool live_packet(struct live_wire *w, uint64_t stream, uint64_t offset, uint32_t size, uint8_t *to,
		 uint32_t *got, uint32_t *status, uint32_t *flags)
{
	struct request r = request(CTF_WIRE_PACKET, 20);
	uint8_t bytes[12];
	struct cursor c;
	uint32_t len;

	*got = 0;
	put_int(&r, stream, 8);
	put_int(&r, offset, 8);
	put_int(&r, size, 4);
	if (!request_send(w, &r) || !answer(w, bytes, sizeof(bytes), &c))
		return false;
	*status = cursor_u32(&c);
	len = cursor_u32(&c);
	*flags = cursor_u32(&c);
	if (*status < LIVE_GOT || *status > LIVE_GET_END)
		return wire_wrong(w, "packet: expected a status from 1 to 4, found %u", *status);
	/* SPEC ctf-live/packet: data follows only where the status says OK */
	if (*status != LIVE_GOT)
		return true;
	if (!len || len > size)
		return wire_wrong(w, "packet: expected up to %u bytes, found %u", size, len);
	*got = len;
	return wire_read(w, to, len);
}

bool live_metadata(struct live_wire *w, uint64_t stream, uint32_t *status, struct live_bytes *to)
{
	struct request r = request(CTF_WIRE_METADATA, 8);
	uint8_t bytes[12];
	struct cursor c;
	uint64_t len;

	put_int(&r, stream, 8);
	if (!request_send(w, &r) || !answer(w, bytes, sizeof(bytes), &c))
		return false;
	len = cursor_u64(&c);
	*status = cursor_u32(&c);
	if (*status < LIVE_METADATA || *status > LIVE_METADATA_ERROR)
		return wire_wrong(w, "metadata: expected a status from 1 to 3, found %u", *status);
	if (*status != LIVE_METADATA)
		return true;
	if (len > LIVE_META_MOST - to->len)
		return wire_wrong(w, "metadata: expected at most %d bytes, found %llu more",
				  LIVE_META_MOST, (unsigned long long)len);
	while (len) {
		const size_t piece = len < META_PIECE ? (size_t)len : META_PIECE;

		if (!mem_grow((void **)&to->p, &to->cap, to->len + piece, 1, LIVE_META_MOST))
			return wire_wrong(w, "metadata: expected memory, found none");
		if (!wire_read(w, to->p + to->len, piece))
			return false;
		to->len += piece;
		len -= piece;
	}
	return true;
}

void live_detach(struct live_wire *w, uint64_t session)
{
	struct request r = request(CTF_WIRE_DETACH, 8);

	put_int(&r, session, 8);
	if (!w->broken)
		request_send(w, &r);
}
