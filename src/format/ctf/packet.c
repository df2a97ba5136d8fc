/*
 * Packets of a file: hops from header to header, believes no size before it is compared with the file, and says what is
 * wrong. Where a header or a size cannot be, the index file beside the stream tells where the next packet is, else the
 * next magic number that a header goes with.
 */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "format/ctf/reader.h"

enum {
	WHY_ROOM = 160,
	/*
	 * Of a file that grows: a packet is waited for if so many bytes of it at most are missing; bytes of its
	 * heads.
	 */
	LATE_MOST = 1 << 30,
	HEADS_MOST = 1 << 16,
};

static const uint32_t packet_magic = 0xC1FC1FC1;

/* A file being indexed, or a piece of one. */
struct indexer {
	struct ctf *c;
	struct ctf_file *f;
	struct ctf_trace *tr;
	struct diag_log *diag;
	struct ctf_cursor cur;
	const uint8_t *data;
	uint64_t size;
	uint64_t base; /* bytes of the file before `data` */
	uint64_t off; /* of the packet at hand, in `data` */
	uint64_t shown; /* its place in the stream as rows see it */
	bool piece; /* `data` is known to be of the stream */
	char why[WHY_ROOM];
};

uint32_t ctf_slots(const struct ctf_trace *tr)
{
	uint64_t n = CTF_SLOTS_FIXED + tr->meta->nslots;

	for (size_t i = 0; i < tr->meta->nstreams; i++)
		n += 4 * (uint64_t)tr->meta->streams[i]->nevents;
	return n < PLAN_CURSOR_SLOTS ? (uint32_t)n : PLAN_CURSOR_SLOTS;
}

static bool all_zero(const uint8_t *p, uint64_t n)
{
	return !n || (!p[0] && (n == 1 || memcmp(p, p + 1, (size_t)(n - 1)) == 0));
}

static void cursor_set(struct ctf_cursor *c, const uint8_t *data, uint64_t bits)
{
	c->data = data;
	c->limit = bits;
	c->at = 0;
	c->clock = 0;
	c->order_known = false;
	memset(c->have, 0, CTF_SLOTS_FIXED);
}

static struct ctf_class *find_class(struct indexer *x)
{
	const uint64_t id =
		x->cur.have[CTF_SLOT_STREAM_CLASS_ID] ? x->cur.slots[CTF_SLOT_STREAM_CLASS_ID] : 0;
	const struct ctf_meta *m = x->tr->meta;

	if (m->generation == CTF_V11)
		return &x->tr->classes[x->f->class];
	/* SPEC ctf/one-stream-class: packets without an id are of the only class there is */
	if (!x->cur.have[CTF_SLOT_STREAM_CLASS_ID] && m->nstreams == 1)
		return &x->tr->classes[0];
	for (size_t i = 0; i < m->nstreams; i++)
		if (m->streams[i]->id == id)
			return &x->tr->classes[i];
	snprintf(x->why, sizeof(x->why), "packet: expected the id of a stream class, found %llu",
		 (unsigned long long)id);
	return NULL;
}

static bool check_magic(struct indexer *x)
{
	const uint64_t magic = x->cur.slots[CTF_SLOT_MAGIC];

	if (!x->cur.have[CTF_SLOT_MAGIC] || magic == packet_magic)
		return true;
	snprintf(x->why, sizeof(x->why), "packet: expected magic number C1FC1FC1, found %llX",
		 (unsigned long long)magic);
	return false;
}

static bool uuid_right(const struct indexer *x)
{
	const struct ctf_meta *m = x->tr->meta;

	return !x->cur.have[CTF_SLOT_UUID] || !m->has_uuid ||
	       memcmp(x->cur.data + x->cur.slots[CTF_SLOT_UUID], m->uuid, sizeof(m->uuid)) == 0;
}

static void take_values(struct indexer *x, struct ctf_packet *p)
{
	const struct ctf_cursor *c = &x->cur;

	p->begin = c->clock;
	p->end = c->slots[CTF_SLOT_END];
	p->discarded = c->slots[CTF_SLOT_DISCARDED];
	p->sequence = c->slots[CTF_SLOT_SEQUENCE];
	p->cpu = c->have[CTF_SLOT_CPU] && c->slots[CTF_SLOT_CPU] < SPUR_NO_CPU
			 ? (uint16_t)c->slots[CTF_SLOT_CPU]
			 : SPUR_NO_CPU;
	p->flags = (uint16_t)((c->have[CTF_SLOT_BEGIN] ? PACKET_BEGIN : 0) |
			      (c->have[CTF_SLOT_END] && p->end ? PACKET_END : 0) |
			      (c->have[CTF_SLOT_DISCARDED] ? PACKET_DISCARDED : 0) |
			      (c->have[CTF_SLOT_SEQUENCE] ? PACKET_SEQUENCE : 0));
	if (c->have[CTF_SLOT_STREAM_ID] && !x->f->npackets) {
		x->f->instance = c->slots[CTF_SLOT_STREAM_ID];
		x->f->has_instance = true;
	}
}

/* Bits that the packet says it takes, and that hold events. False: it says nothing. */
static bool say_sizes(const struct indexer *x, uint64_t *total, uint64_t *content)
{
	const struct ctf_cursor *c = &x->cur;
	const uint64_t unit = x->tr->meta->generation == CTF_V11 ? 8 : 1;
	const bool has_total = c->have[CTF_SLOT_PACKET_SIZE],
		   has_content = c->have[CTF_SLOT_CONTENT_SIZE];

	/* SPEC ctf/sizes: each of the two stands for the other where that is not there */
	*total = c->slots[has_total ? CTF_SLOT_PACKET_SIZE : CTF_SLOT_CONTENT_SIZE];
	*content = c->slots[has_content ? CTF_SLOT_CONTENT_SIZE : CTF_SLOT_PACKET_SIZE];
	*total = *total > UINT64_MAX / 8 ? UINT64_MAX : *total * unit;
	*content = *content > UINT64_MAX / 8 ? UINT64_MAX : *content * unit;
	return has_total || has_content;
}

/* Header and context of what begins at x->off. False: x->why says why it is no packet. */
static bool read_heads(struct indexer *x, struct ctf_packet *p)
{
	const uint64_t left = x->size - x->off;
	struct ctf_class *k;

	*p = (struct ctf_packet){ .data = x->data + x->off,
				  .file_off = x->base + x->off,
				  .off = x->shown };
	cursor_set(&x->cur, p->data, left > UINT64_MAX / 16 ? UINT64_MAX / 2 : 8 * left);
	if (plan_skip(x->tr->header, &x->cur) == SPUR_FAIL) {
		snprintf(x->why, sizeof(x->why), "packet header: expected %s", x->cur.why);
		return false;
	}
	if (!check_magic(x) || !(k = find_class(x)))
		return false;
	if (plan_skip(k->context, &x->cur) == SPUR_FAIL) {
		snprintf(x->why, sizeof(x->why), "packet context: expected %s", x->cur.why);
		return false;
	}
	p->body = x->cur.at;
	take_values(x, p);
	if (!x->f->npackets && x->tr->meta->generation != CTF_V11)
		x->f->class = (uint32_t)(k - x->tr->classes);
	if (k == &x->tr->classes[x->f->class])
		return true;
	snprintf(x->why, sizeof(x->why),
		 "packet: expected stream class %llu as before in this file, found %llu",
		 (unsigned long long)x->tr->classes[x->f->class].class->id,
		 (unsigned long long)k->class->id);
	return false;
}

/* The next place from `from` on where a whole packet head stands, by its magic number; UINT64_MAX: none. */
static uint64_t find_magic(struct indexer *x, uint64_t from)
{
	const bool big = x->tr->meta->packet_header && x->tr->meta->packet_header->nmembers &&
			 x->tr->meta->packet_header->members[0].field->big_endian;
	const uint8_t le[4] = { 0xC1, 0x1F, 0xFC, 0xC1 }, be[4] = { 0xC1, 0xFC, 0x1F, 0xC1 };
	const uint64_t off = x->off;
	struct ctf_packet p;

	while (from < x->size) {
		const uint8_t *q =
			memmem(x->data + from, (size_t)(x->size - from), big ? be : le, 4);
		uint64_t total, content;
		bool good;

		if (!q)
			break;
		x->off = (uint64_t)(q - x->data);
		good = read_heads(x, &p) && uuid_right(x) && say_sizes(x, &total, &content);
		from = x->off + 1;
		if (good && total >= p.body && content <= total) {
			from = x->off;
			x->off = off;
			return from;
		}
	}
	x->off = off;
	return UINT64_MAX;
}

static bool has_magic(const struct indexer *x)
{
	const struct ctf_field *h = x->tr->meta->packet_header;

	return h && h->nmembers && (h->members[0].field->roles & CTF_ROLE_MAGIC);
}

static bool packet_room(struct indexer *x)
{
	struct ctf_file *f = x->f;
	const size_t cap = f->packets_cap ? 2 * f->packets_cap : 64;
	struct ctf_packet *list;

	if (f->npackets < f->packets_cap)
		return true;
	if (f->npackets >= CTF_MAX_PACKETS) {
		diag_add(x->diag, DIAG_DAMAGE, "ctf/too-many-packets", f->name, x->base + x->off,
			 x->size - x->off,
			 "expected at most %d packets in a file, found more: the rest is not read",
			 CTF_MAX_PACKETS);
		return false;
	}
	list = scratch_alloc(cap * sizeof(*list));
	if (!list)
		return false;
	if (f->npackets)
		memcpy(list, f->packets, f->npackets * sizeof(*list));
	scratch_free(f->packets, f->packets_cap * sizeof(*list));
	f->packets = list;
	f->packets_cap = cap;
	return true;
}

static void damage(struct indexer *x, const char *code, uint64_t lost, const char *why)
{
	diag_add(x->diag, DIAG_DAMAGE, code, x->f->name, x->base + x->off, lost, "%s", why);
}

/*
 * How many bytes of the file the packet takes, and how many bits hold events; what it says is compared with what is
 * there.
 */
static uint64_t settle_sizes(struct indexer *x, struct ctf_packet *p)
{
	const uint64_t left = x->size - x->off;
	uint64_t total, content, next;

	if (!say_sizes(x, &total, &content)) {
		/* SPEC ctf/no-sizes: without them the file is one packet */
		x->f->single = true;
		p->content = 8 * left;
		return left;
	}
	if (content > total) {
		snprintf(x->why, sizeof(x->why),
			 "packet: expected content within its size (%llu bits), found %llu bits",
			 (unsigned long long)total, (unsigned long long)content);
		damage(x, "ctf/packet-size", 0, x->why);
		content = total;
	}
	if (total % 8 || total < p->body || total / 8 > left) {
		next = has_magic(x) ? find_magic(x, x->off + (p->body + 7) / 8) : UINT64_MAX;
		if (total % 8 || total < p->body || next != UINT64_MAX) {
			snprintf(x->why, sizeof(x->why),
				 "packet: expected a size of whole bytes, head included, within "
				 "the file, found %llu bits",
				 (unsigned long long)total);
			damage(x, "ctf/packet-size", 0, x->why);
		} else {
			snprintf(x->why, sizeof(x->why),
				 "packet: expected %llu bytes, found %llu: cut off",
				 (unsigned long long)(total / 8), (unsigned long long)left);
			damage(x, "ctf/cut-packet", 0, x->why);
			p->flags |= PACKET_CUT;
		}
		total = 8 * (next == UINT64_MAX ? left : next - x->off);
		if (content > total || content < p->body)
			content = total;
		p->content = content;
		return total / 8;
	}
	p->content = content < p->body ? p->body : content;
	return total / 8;
}

/* What stands where no packet begins: padding, or damage up to the next packet. False: nothing comes any more. */
static bool pass_over(struct indexer *x)
{
	const uint64_t left = x->size - x->off;
	char why[WHY_ROOM];
	uint64_t next;

	if (all_zero(x->data + x->off, left)) {
		diag_add(x->diag, DIAG_NOTE, "ctf/padding", x->f->name, x->base + x->off, 0,
			 "expected a packet, found %llu bytes of zeros to the end of the file: "
			 "padding",
			 (unsigned long long)left);
		return false;
	}
	memcpy(why, x->why, sizeof(why));
	next = has_magic(x) ? find_magic(x, x->off + 1) : UINT64_MAX;
	if (!x->f->npackets && next == UINT64_MAX && !x->piece) {
		diag_add(x->diag, DIAG_WARN, "ctf/stray-file", x->f->name, x->base + x->off, 0,
			 "%s: no packet in the whole file: skipped", why);
		x->off = x->size;
		return false;
	}
	next = next == UINT64_MAX ? x->size : next;
	damage(x, "ctf/bad-packet", next - x->off, why);
	x->shown += next - x->off;
	x->off = next;
	return x->off < x->size;
}

/* A header that is right but for its magic number, behind a packet that ended there: read, and said. */
static bool forgive_magic(struct indexer *x, struct ctf_packet *p)
{
	uint64_t total, content;

	if (!x->f->npackets || !x->cur.have[CTF_SLOT_MAGIC] || !x->cur.have[CTF_SLOT_UUID] ||
	    !uuid_right(x))
		return false;
	/* The header was decoded whole; only its first value is not what it should be. */
	x->cur.have[CTF_SLOT_MAGIC] = 0;
	if (plan_skip(x->tr->classes[x->f->class].context, &x->cur) == SPUR_FAIL)
		return false;
	p->body = x->cur.at;
	take_values(x, p);
	if (!say_sizes(x, &total, &content) || total % 8 || total < p->body ||
	    total / 8 > x->size - x->off)
		return false;
	damage(x, "ctf/bad-magic", 0, x->why);
	return true;
}

/* Unpacks and checks. */
static void packet_content(struct indexer *x, struct ctf_packet *p)
{
	const uint64_t *v = x->cur.slots;
	const uint8_t *have = x->cur.have;
	const char *why = NULL;

	if (have[CTF_SLOT_CHECKSUM_SCHEME] && v[CTF_SLOT_CHECKSUM_SCHEME] &&
	    have[CTF_SLOT_CHECKSUM])
		why = ctf_checksum(p, x->tr->meta->big_endian, v[CTF_SLOT_CHECKSUM_SCHEME],
				   v[CTF_SLOT_CHECKSUM]);
	if (why)
		damage(x, "ctf/checksum", 0, why);
	if ((have[CTF_SLOT_COMPRESSION] && v[CTF_SLOT_COMPRESSION]) ||
	    (have[CTF_SLOT_ENCRYPTION] && v[CTF_SLOT_ENCRYPTION])) {
		why = ctf_unpack(x->c, p, have[CTF_SLOT_COMPRESSION] ? v[CTF_SLOT_COMPRESSION] : 0,
				 have[CTF_SLOT_ENCRYPTION] ? v[CTF_SLOT_ENCRYPTION] : 0);
		if (why) {
			damage(x, "ctf/unpack",
			       p->content > p->body ? (p->content - p->body) / 8 : 0, why);
			if (!(p->flags & PACKET_OWN))
				p->content = p->body;
			p->flags |= PACKET_CUT;
		}
		x->f->unpacked = true;
	}
}

static bool add_packet(struct indexer *x, struct ctf_packet *p)
{
	if (!packet_room(x))
		return false;
	if (!uuid_right(x))
		diag_add(x->diag, DIAG_WARN, "ctf/uuid", x->f->name, x->base + x->off, 0,
			 "packet: expected the UUID of the metadata, found another one");
	p->file_size = settle_sizes(x, p);
	packet_content(x, p);
	x->shown += p->flags & PACKET_OWN ? (p->content + 7) / 8 : p->file_size;
	x->off += p->file_size;
	x->f->packets[x->f->npackets++] = *p;
	return true;
}

/*
 * SPEC ctf-live/follow-packet: whether what stands here can be more when the file has grown: a packet that is not
 * whole, or room that was made for one. `found`: it has the heads of a packet.
 */
static bool may_grow(const struct indexer *x, const struct ctf_packet *p, bool found)
{
	const uint8_t *at = x->data + x->off;
	const uint64_t left = x->size - x->off;
	uint64_t total, content;

	if (found)
		return say_sizes(x, &total, &content) && total % 8 == 0 && total >= p->body &&
		       total / 8 > left && total / 8 - left <= LATE_MOST;
	if (left < sizeof(packet_magic) || all_zero(at, left))
		return true;
	if (has_magic(x) && load32(at, false) != packet_magic && load32(at, true) != packet_magic)
		return false;
	return left <= HEADS_MOST;
}

/* Lists packets from x->off on. `more`: the file may grow, so its end decides nothing. False: no memory. */
static bool index_run(struct indexer *x, bool more)
{
	uint8_t have[CTF_SLOTS_FIXED];
	struct ctf_packet p;
	bool good = true;

	x->cur.have = have;
	x->cur.slots = mem_array(ctf_slots(x->tr), sizeof(*x->cur.slots));
	if (!x->cur.slots)
		return false;
	/* Invariant: off grows with every turn. */
	while (good && x->off < x->size) {
		const bool found = read_heads(x, &p);

		if (more && may_grow(x, &p, found))
			break;
		if (found || forgive_magic(x, &p))
			good = add_packet(x, &p);
		else
			good = pass_over(x);
	}
	mem_free(x->cur.slots);
	return true;
}

bool ctf_index(struct ctf *c, struct ctf_file *f, struct diag_log *diag)
{
	struct indexer x = { .c = c,
			     .f = f,
			     .tr = &c->traces[f->trace],
			     .diag = diag,
			     .data = f->source->data,
			     .size = f->source->size };

	return index_run(&x, false);
}

bool ctf_index_more(struct ctf *c, struct ctf_file *f, struct diag_log *diag)
{
	const struct source *s = f->source;
	struct indexer x = { .c = c,
			     .f = f,
			     .tr = &c->traces[f->trace],
			     .diag = diag,
			     .data = s->data,
			     .size = s->size,
			     .off = f->indexed,
			     .shown = f->shown };
	bool good = true;

	if (!f->single)
		good = index_run(&x, !s->eof);
	else if (s->size > f->indexed)
		diag_add(diag, DIAG_WARN, "ctf/one-packet", f->name, f->indexed,
			 s->size - f->indexed,
			 "expected packets that say their size, found none: what the file gains "
			 "is not read");
	if (f->single)
		x.off = s->size;
	f->indexed = x.off;
	f->shown = x.shown;
	return good;
}

bool ctf_index_piece(struct ctf *c, struct ctf_file *f, const uint8_t *data, uint64_t size,
		     uint64_t base, struct diag_log *diag)
{
	struct indexer x = { .c = c,
			     .f = f,
			     .tr = &c->traces[f->trace],
			     .diag = diag,
			     .data = data,
			     .size = size,
			     .base = base,
			     .shown = f->shown,
			     .piece = true };
	const bool good = index_run(&x, false);

	f->shown = x.shown;
	return good;
}

void ctf_packet_begin(const struct ctf_trace *tr, const struct ctf_class *k,
		      const struct ctf_packet *p, struct ctf_cursor *c)
{
	cursor_set(c, p->data, p->content);
	plan_skip(tr->header, c);
	plan_skip(k->context, c);
	c->at = p->body;
	c->limit = p->content;
}
