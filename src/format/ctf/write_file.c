/*
 * Files of a written trace: metadata, streams, index files. Streams are numbered in the order of
 * their tracks, which does not depend on the number of threads.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/err.h"
#include "format/ctf/wire.h"
#include "format/ctf/write.h"
#include "format/ctf/write_meta.h"

enum { NAME_ROOM = 128, METADATA_PACKET = 4096 };

/* Reads a sequence of a spool from its begin. */
struct reading {
	const struct spool_block *block;
	uint32_t at; /* bytes of it */
};

static void reading_copy(struct reading *r, uint64_t n, struct out *o)
{
	while (n) {
		uint64_t part;

		if (r->at == r->block->len) {
			r->block = r->block->next;
			r->at = 0;
			continue;
		}
		part = r->block->len - r->at;
		part = part < n ? part : n;
		out_bytes(o, (const char *)(r->block + 1) + r->at, (size_t)part);
		r->at += (uint32_t)part;
		n -= part;
	}
}

static void reading_get(struct reading *r, void *to, size_t n)
{
	char *p = to;

	while (n) {
		size_t part;

		if (r->at == r->block->len) {
			r->block = r->block->next;
			r->at = 0;
			continue;
		}
		part = r->block->len - r->at;
		part = part < n ? part : n;
		memcpy(p, (const char *)(r->block + 1) + r->at, part);
		r->at += (uint32_t)part;
		p += part;
		n -= part;
	}
}

/* --- order --- */

struct place {
	uint32_t number; /* of the stream */
	uint32_t rank;
	uint32_t id; /* of its class */
};

static int by_rank(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Ranks of streams of the source: the order of its feeds. */
static uint32_t native_rank(const struct cw *w, uint32_t stream)
{
	for (size_t i = 0; i < w->ctf->nfeeds; i++)
		for (size_t k = 0; k < w->ctf->feeds[i]->nfiles; k++)
			if (w->ctf->files[w->ctf->feeds[i]->files[k]].stream == stream)
				return (uint32_t)i;
	return (uint32_t)w->ctf->nfeeds;
}

/* The streams that become files, with their ranks. Returns false if out of memory. */
static bool ranks_set(const struct cw *w, struct place *places, uint32_t *nplaces)
{
	size_t n;
	uint32_t *order = trace_track_order(w->trace, &n);
	uint32_t *rank = mem_array(n + 1, sizeof(*rank));

	if (order && rank) {
		for (size_t i = 0; i < n; i++)
			rank[order[i]] = (uint32_t)i;
		for (uint32_t i = 0; i < w->nstreams; i++) {
			const struct cw_stream *s = cw_stream_at(w, i);

			if (s->shares)
				continue;
			places[(*nplaces)++] = (struct place){
				.number = i,
				.id = s->of->id,
				.rank = s->native ? native_rank(w, s->source) : rank[s->track],
			};
		}
	}
	mem_free(order);
	mem_free(rank);
	return order && rank;
}

/* --- one stream --- */

/* SPEC ctf/write-packet: the layout that the metadata declares */
static void packet_head(const struct cw *w, const struct cw_stream *s, uint64_t instance,
			const struct cw_packet *p, uint64_t bits, uint64_t total, struct out *o)
{
	uint8_t head[128], *q = head;

	q = cw_put(w, q, CTF_WIRE_MAGIC, 4);
	memcpy(q, w->uuid, CTF_WIRE_UUID);
	q += CTF_WIRE_UUID;
	q = cw_put(w, q, s->of->id, 4);
	q = cw_put(w, q, instance, 8);
	q = cw_put(w, q, p->begin, 8);
	q = cw_put(w, q, p->end, 8);
	q = cw_put(w, q, bits, 8);
	q = cw_put(w, q, total, 8);
	q = cw_put(w, q, p->sequence, 8);
	q = cw_put(w, q, p->discarded, 8);
	if (s->of->layout & CW_CPU)
		q = cw_put(w, q, p->cpu, 4);
	out_bytes(o, head, (size_t)(q - head));
}

static uint32_t head_size(const struct cw_stream *s)
{
	return 4 + CTF_WIRE_UUID + 4 + 8 + 6 * 8 + (s->of->layout & CW_CPU ? 4 : 0);
}

/* Bytes of a packet; LTTng's are whole pages. */
static uint64_t packet_size(const struct cw *w, const struct cw_stream *s,
			    const struct cw_packet *p)
{
	const uint64_t bytes = head_size(s) + p->bytes;

	return w->lttng ? align_up(bytes, 4096) : bytes;
}

/* Packets of the RFC v1.1. Returns false if out of memory or with w->write->error set. */
static bool stream_v11(struct cw *w, const struct cw_stream *s, uint64_t instance, struct out *o)
{
	struct reading packets = { s->packets.first, 0 }, events = { s->events.first, 0 };

	for (uint64_t i = 0; i < s->npackets && !o->error; i++) {
		struct cw_packet p;
		uint8_t *to;

		reading_get(&packets, &p, sizeof(p));
		to = cw_v11_events(w, p.bytes);
		if (!to)
			return false;
		reading_get(&events, to, (size_t)p.bytes);
		if (!cw_v11_packet(w, instance, &p, o))
			return false;
	}
	return true;
}

static bool stream_out(struct cw *w, const struct cw_stream *s, uint64_t instance, struct out *o)
{
	struct reading packets = { s->packets.first, 0 }, events = { s->events.first, 0 };

	if (w->v11)
		return stream_v11(w, s, instance, o);
	for (uint64_t i = 0; i < s->npackets && !o->error; i++) {
		struct cw_packet p;
		uint64_t bytes, total;

		reading_get(&packets, &p, sizeof(p));
		bytes = head_size(s) + p.bytes;
		total = packet_size(w, s, &p);
		packet_head(w, s, instance, &p, 8 * bytes, 8 * total, o);
		reading_copy(&events, p.bytes, o);
		out_pad(o, '\0', (size_t)(total - bytes));
	}
	return true;
}

static void be_out(struct out *o, uint64_t v, unsigned bytes)
{
	while (bytes--)
		out_char(o, (char)(v >> 8 * bytes));
}

/* SPEC ctf/index-file: of minor 1, with an entry for each packet */
static void index_out(const struct cw *w, const struct cw_stream *s, uint64_t instance,
		      struct out *o)
{
	struct reading packets = { s->packets.first, 0 };
	uint64_t off = 0;

	be_out(o, CTF_WIRE_INDEX_MAGIC, 4);
	be_out(o, 1, 4);
	be_out(o, 1, 4);
	be_out(o, CTF_WIRE_INDEX_ENTRY_1, 4);
	for (uint64_t i = 0; i < s->npackets && !o->error; i++) {
		struct cw_packet p;
		uint64_t total;

		reading_get(&packets, &p, sizeof(p));
		total = packet_size(w, s, &p);
		be_out(o, off, 8);
		be_out(o, 8 * total, 8);
		be_out(o, 8 * (head_size(s) + p.bytes), 8);
		be_out(o, p.begin, 8);
		be_out(o, p.end, 8);
		be_out(o, p.discarded, 8);
		be_out(o, s->of->id, 8);
		be_out(o, instance, 8);
		be_out(o, p.sequence, 8);
		off += total;
	}
}

/* --- files --- */

/* Writes one file; `what` is which. */
enum file { FILE_STREAM, FILE_INDEX };

static bool file_out(struct cw *w, const struct cw_stream *s, uint64_t instance, enum file what)
{
	struct write *write = w->write;
	char name[NAME_ROOM];
	bool good = true;
	struct out o;

	/* SPEC ctf-v11/file-name: the section's name and a number */
	snprintf(name, sizeof(name),
		 what == FILE_INDEX ? "%sindex/channel%u_%llu.idx" : "%schannel%u_%llu", w->dir,
		 w->v11 ? s->of->id : 0, (unsigned long long)instance);
	if (outdir_create(write->dir, name, &o, &write->error) == SPUR_FAIL)
		return false;
	if (what == FILE_INDEX)
		index_out(w, s, instance, &o);
	else
		good = stream_out(w, s, instance, &o);
	if (!good) {
		out_free(&o);
		return false;
	}
	return outdir_finish(write->dir, name, &o, &write->error) != SPUR_FAIL;
}

/* SPEC ctf-tsdl/packet-header: LTTng's metadata are packets */
static void metadata_packets(const struct cw *w, struct out *o)
{
	enum { MOST = METADATA_PACKET - CTF_WIRE_METADATA_2 };
	const uint32_t head = w->json ? CTF_WIRE_METADATA_2 : CTF_WIRE_METADATA_1;
	size_t at = 0;

	while (at < w->text.len && !o->error) {
		const size_t n = w->text.len - at < MOST ? w->text.len - at : MOST;
		uint8_t p[CTF_WIRE_METADATA_2] = { 0 }, *q = p;

		q = cw_put(w, q, CTF_WIRE_METADATA_MAGIC, 4);
		memcpy(q, w->uuid, CTF_WIRE_UUID);
		q = cw_put(w, q + CTF_WIRE_UUID, 0, 4);
		q = cw_put(w, q, 8 * (head + n), 4);
		q = cw_put(w, q, 8 * METADATA_PACKET, 4);
		q += 3;
		*q++ = w->json ? 2 : 1;
		*q++ = w->json ? 0 : 8;
		if (w->json)
			cw_put(w, q + 3, 8 * head, 4);
		out_bytes(o, p, head);
		out_bytes(o, w->text.buf + at, n);
		out_pad(o, '\0', METADATA_PACKET - head - n);
		at += n;
	}
}

static bool metadata_out(struct cw *w)
{
	struct write *write = w->write;
	char name[NAME_ROOM];
	struct out o;

	if (w->v11)
		cw_v11(w);
	else if (w->json)
		cw_json(w);
	else
		cw_tsdl(w);
	if (w->no_memory || w->text.error)
		return false;
	snprintf(name, sizeof(name), "%smetadata", w->dir);
	if (outdir_create(write->dir, name, &o, &write->error) == SPUR_FAIL)
		return false;
	if (w->v11)
		cw_v11_metadata(w, &o);
	else if (w->lttng)
		metadata_packets(w, &o);
	else
		out_bytes(&o, w->text.buf, w->text.len);
	return outdir_finish(write->dir, name, &o, &write->error) != SPUR_FAIL;
}

static uint64_t mix(uint64_t h, uint64_t v, uint64_t prime)
{
	h = (h ^ v) * prime;
	return h ^ h >> 29;
}

/*
 * SPEC ctf/write-uuid: made of what is written, so that the same trace gives the same bytes, and
 * different traces are not taken for one
 */
static void uuid_make(struct cw *w, const struct place *places, uint32_t nplaces)
{
	uint64_t h[2] = { 0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu };

	for (uint32_t i = 0; i < nplaces; i++) {
		const struct cw_stream *s = cw_stream_at(w, places[i].number);
		struct reading r = { s->packets.first, 0 };

		for (uint64_t k = 0; k < s->npackets; k++) {
			struct cw_packet p;
			const uint64_t *words = (const uint64_t *)&p;

			reading_get(&r, &p, sizeof(p));
			for (size_t j = 0; j < offsetof(struct cw_packet, cpu) / 8; j++) {
				h[0] = mix(h[0], words[j], 0xE7037ED1A0B428DBu);
				h[1] = mix(h[1], words[j], 0x9FB21C651E98DF25u);
			}
		}
	}
	for (int i = 0; i < 2; i++)
		for (int b = 0; b < 8; b++)
			w->uuid[8 * i + b] = (uint8_t)(h[i] >> 8 * b);
	w->uuid[6] = (uint8_t)(0x40 | (w->uuid[6] & 0x0F));
	w->uuid[8] = (uint8_t)(0x80 | (w->uuid[8] & 0x3F));
}

bool cw_files(struct cw *w)
{
	struct place *places = mem_array(w->nstreams + 1, sizeof(*places));
	uint32_t n = 0;
	bool good = places && ranks_set(w, places, &n);

	if (good) {
		qsort(places, n, sizeof(*places), by_rank);
		uuid_make(w, places, n);
		good = metadata_out(w);
	}
	for (uint32_t i = 0; good && i < n; i++) {
		const struct cw_stream *s = cw_stream_at(w, places[i].number);

		good = file_out(w, s, i, FILE_STREAM) && (w->v11 || file_out(w, s, i, FILE_INDEX));
	}
	mem_free(places);
	return good;
}
