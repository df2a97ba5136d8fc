/*
 * Packets of a file: hops from header to header, believes no size before it is compared with the
 * file, and says what is wrong. Where a header or a size cannot be, the index file beside the
 * stream tells where the next packet is, else the next magic number that a header goes with.
 */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/os.h"
#include "base/search.h"
#include "format/ctf/crash.h"
#include "format/ctf/hints.h"
#include "format/ctf/plan/bits.h"
#include "format/ctf/reader.h"
#include "format/ctf/wire.h"

enum {
	PACKETS_FIRST = 1, /* there may be very many files of one packet each */
	WHY_ROOM = 160,
	HEAD_ROOM = 128, /* of most packets' header and context */
	HEADS_FROM = 1 << 20, /* files of this size have many packets */
	/*
	 * In a file that grows, wait for a packet if at most LATE_MOST bytes of it are missing;
	 * bytes of its header and context.
	 */
	LATE_MOST = 1 << 30,
	HEADS_MOST = 1 << 16,
};

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
	uint64_t off; /* of the current packet, in `data` */
	uint64_t shown; /* its place in the stream as rows see it */
	int fd; /* the file, to copy heads from; -1: they are read where it is mapped */
	uint8_t head[HEAD_ROOM];
	struct ctf_class *class; /* of the current packet */
	bool piece; /* `data` is known to be of the stream */
	bool split; /* packets of several classes may stand in the file */
	uint32_t *by_class; /* index of the file for each class but the first one's; 0: none yet */
	struct ctf_hints hints;
	size_t stale; /* entries of the index file that are not as the packets */
	char why[WHY_ROOM];
};

/* What the first bytes of a packet are. */
enum heads {
	HEADS_GOOD,
	HEADS_NO_MAGIC, /* whole, but for the magic number */
	HEADS_BAD,
};

uint32_t ctf_slots(const struct ctf_trace *tr)
{
	return tr->nslots;
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

static struct ctf_class *class_of_id(const struct ctf_trace *tr, uint64_t id)
{
	size_t low;

	bisect(low, 0, tr->meta->nstreams, tr->meta->streams[low]->id < id);
	return low < tr->meta->nstreams && tr->meta->streams[low]->id == id ? &tr->classes[low]
									    : NULL;
}

static struct ctf_class *find_class(struct indexer *x)
{
	const bool has_id = x->cur.have[CTF_SLOT_STREAM_CLASS_ID];
	const uint64_t id = has_id ? x->cur.slots[CTF_SLOT_STREAM_CLASS_ID] : 0;
	const struct ctf_meta *m = x->tr->meta;
	struct ctf_class *k;

	if (m->generation == CTF_V11)
		return &x->tr->classes[x->f->class];
	/*
	 * SPEC ctf/one-stream-class: packets without an id are of the only class there is, else of
	 * class 0
	 */
	k = !has_id && m->nstreams == 1 ? &x->tr->classes[0] : class_of_id(x->tr, id);
	if (!k)
		snprintf(x->why, sizeof(x->why),
			 "packet: expected the id of a stream class, found %llu",
			 (unsigned long long)id);
	return k;
}

static bool check_magic(struct indexer *x)
{
	const uint64_t magic = x->cur.slots[CTF_SLOT_MAGIC];

	if (!x->cur.have[CTF_SLOT_MAGIC] || magic == CTF_WIRE_MAGIC)
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

static void read_values(struct indexer *x, struct ctf_packet *p)
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
			      (c->have[CTF_SLOT_SEQUENCE] ? PACKET_SEQUENCE : 0) |
			      (x->tr->loose_begin ? PACKET_LOOSE_BEGIN : 0) |
			      (x->tr->loose_end ? PACKET_LOOSE_END : 0));
}

/* Bits that the packet says it takes, and that hold events. False: it says nothing. */
static bool report_sizes(const struct indexer *x, uint64_t *total, uint64_t *content)
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

/* The cursor at x->off where the file is mapped. */
static void cursor_map(struct indexer *x)
{
	const uint64_t left = x->size - x->off;

	cursor_set(&x->cur, x->data + x->off, left > UINT64_MAX / 16 ? UINT64_MAX / 2 : 8 * left);
}

static void packet_set(const struct indexer *x, struct ctf_packet *p)
{
	assert(x->off < x->size);
	*p = (struct ctf_packet){ .data = x->data + x->off,
				  .file_off = x->base + x->off,
				  .off = x->shown };
}

static bool skip_head(struct indexer *x, const struct ctf_program *program, const char *what)
{
	if (plan_skip(program, &x->cur) == SPUR_OK)
		return true;
	snprintf(x->why, sizeof(x->why), "packet %s at bit %llu: expected %s", what,
		 (unsigned long long)x->cur.wrong_at, x->cur.why);
	return false;
}

/*
 * What the cursor stands at as the heads of the packet at x->off. Where they are not good, x->why
 * says why.
 */
static enum heads heads_here(struct indexer *x, struct ctf_packet *p)
{
	char no_magic[WHY_ROOM];
	bool has_magic;

	packet_set(x, p);
	if (!skip_head(x, x->tr->header, "header"))
		return HEADS_BAD;
	has_magic = check_magic(x);
	memcpy(no_magic, x->why, sizeof(no_magic));
	x->class = find_class(x);
	if (!x->class || !skip_head(x, x->class->context, "context")) {
		if (!has_magic)
			memcpy(x->why, no_magic, sizeof(x->why));
		return HEADS_BAD;
	}
	p->body = x->cur.at;
	read_values(x, p);
	if (!x->split && x->f->npackets && x->class != &x->tr->classes[x->f->class]) {
		snprintf(x->why, sizeof(x->why),
			 "packet: expected stream class %llu as before in this file, found %llu",
			 (unsigned long long)x->tr->classes[x->f->class].class->id,
			 (unsigned long long)x->class->class->id);
		return HEADS_BAD;
	}
	return has_magic ? HEADS_GOOD : HEADS_NO_MAGIC;
}

/*
 * Header and context of what begins at x->off. A copy of the first bytes is tried before the
 * mapping: it costs less than a fault of the page that they are in, and many packets are never
 * looked at again.
 */
static enum heads read_heads(struct indexer *x, struct ctf_packet *p)
{
	const uint64_t left = x->size - x->off;
	ssize_t n;

	if (x->fd >= 0) {
		n = os_pread(x->fd, x->head, left < HEAD_ROOM ? (size_t)left : HEAD_ROOM,
			  (off_t)x->off);
		cursor_set(&x->cur, x->head, n > 0 ? 8 * (uint64_t)n : 0);
		if (heads_here(x, p) == HEADS_GOOD)
			return HEADS_GOOD;
	}
	cursor_map(x);
	return heads_here(x, p);
}

/*
 * The next place from `from` on where a whole packet head stands, by its magic number; UINT64_MAX:
 * none.
 */
static uint64_t find_magic(struct indexer *x, uint64_t from)
{
	const bool big = x->tr->meta->packet_header && x->tr->meta->packet_header->nmembers &&
			 x->tr->meta->packet_header->members[0].field->big_endian;
	const uint8_t le[4] = { 0xC1, 0x1F, 0xFC, 0xC1 }, be[4] = { 0xC1, 0xFC, 0x1F, 0xC1 };
	const uint64_t off = x->off;
	uint64_t found = UINT64_MAX;
	struct ctf_packet p;

	while (from < x->size) {
		const uint8_t *q =
			memmem(x->data + from, (size_t)(x->size - from), big ? be : le, 4);
		uint64_t total, content;
		bool good;

		if (!q)
			break;
		x->off = (uint64_t)(q - x->data);
		good = read_heads(x, &p) == HEADS_GOOD && uuid_right(x) &&
		       report_sizes(x, &total, &content);
		from = x->off + 1;
		if (good && total >= p.body && content <= total) {
			found = x->off;
			break;
		}
	}
	/*
	 * What was read there goes again: heads, class and reason are those of the current packet.
	 */
	x->off = off;
	read_heads(x, &p);
	return found;
}

static bool has_magic(const struct indexer *x)
{
	const struct ctf_field *h = x->tr->meta->packet_header;

	return h && h->nmembers && (h->members[0].field->roles & CTF_ROLE_MAGIC);
}

/* In any byte order. */
static bool is_magic_at(const struct indexer *x, uint64_t at)
{
	const uint8_t *p = x->data + at;

	return at <= x->size && x->size - at >= sizeof(uint32_t) &&
	       (load32(p, false) == CTF_WIRE_MAGIC || load32(p, true) == CTF_WIRE_MAGIC);
}

static bool packet_room(struct indexer *x, struct ctf_file *f)
{
	const size_t cap = f->packets_cap ? 2 * f->packets_cap : PACKETS_FIRST;
	struct ctf_packet *list;

	if (f->npackets < f->packets_cap)
		return true;
	if (f->npackets >= CTF_MAX_PACKETS) {
		diag_add(x->diag, DIAG_DAMAGE, "ctf/too-many-packets", f->name, x->base + x->off,
			 x->size - x->off,
			 "expected at most %d packets in a file, found more: the rest is not read",
			 CTF_MAX_PACKETS);
		x->off = x->size;
		return true;
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

/* --- the index file --- */

/* What the index file says of a packet at this place, if that can be. */
static bool hint_here(const struct indexer *x, struct ctf_hint *h)
{
	const size_t i = hints_find(&x->hints, x->off);

	if (i == x->hints.count)
		return false;
	hints_get(&x->hints, i, h);
	return h->off == x->off && h->total && h->total % 8 == 0 &&
	       h->total / 8 <= x->size - x->off && h->content <= h->total;
}

/*
 * The next place after this one where a packet begins, as the index file says; UINT64_MAX: it says
 * nothing.
 */
static uint64_t hint_next(const struct indexer *x)
{
	const size_t i = hints_find(&x->hints, x->off + 1);
	struct ctf_hint h;

	if (i == x->hints.count)
		return UINT64_MAX;
	hints_get(&x->hints, i, &h);
	return h.off < x->size ? h.off : UINT64_MAX;
}

/* SPEC ctf/index-used: a packet whose own heads are damaged is as the index file says */
static bool read_by_hint(struct indexer *x, struct ctf_packet *p)
{
	char why[WHY_ROOM];
	struct ctf_hint h;

	if (!hint_here(x, &h))
		return false;
	memcpy(why, x->why, sizeof(why));
	packet_set(x, p);
	cursor_map(x);
	x->class = x->tr->meta->nstreams == 1 ? &x->tr->classes[0] : class_of_id(x->tr, h.class_id);
	if (!x->class || !skip_head(x, x->tr->header, "header") ||
	    !skip_head(x, x->class->context, "context") || x->cur.at > h.content) {
		memcpy(x->why, why, sizeof(why));
		return false;
	}
	p->body = x->cur.at;
	read_values(x, p);
	p->begin = h.begin;
	p->end = h.end;
	p->discarded = h.discarded;
	p->sequence = h.sequence;
	x->cur.slots[CTF_SLOT_PACKET_SIZE] = h.total;
	x->cur.slots[CTF_SLOT_CONTENT_SIZE] = h.content;
	snprintf(x->why, sizeof(x->why), "%.110s: read as the index file says", why);
	damage(x, "ctf/bad-packet", 0, x->why);
	return true;
}

static void report_stale(struct indexer *x, uint64_t off, const char *what, uint64_t expected,
			 uint64_t found)
{
	if (x->stale++)
		return;
	diag_add(x->diag, DIAG_WARN, "ctf/stale-index", x->f->name, off, 0,
		 "index file: expected %s of %llu as in the packet, found %llu: not used", what,
		 (unsigned long long)expected, (unsigned long long)found);
}

/* SPEC ctf/index-checked: where packets and index file disagree, packets are right */
static void check_hint(struct indexer *x, const struct ctf_packet *p)
{
	const size_t i = hints_find(&x->hints, p->file_off);
	struct ctf_hint h = { .off = UINT64_MAX };

	if (!x->hints.count || (p->flags & PACKET_CUT))
		return;
	if (i < x->hints.count)
		hints_get(&x->hints, i, &h);
	if (i == x->hints.count && !x->stale++)
		diag_add(x->diag, DIAG_WARN, "ctf/stale-index", x->f->name, p->file_off, 0,
			 "index file: expected an entry for this packet, found none: not used");
	else if (h.off != p->file_off)
		report_stale(x, p->file_off, "a packet at the place", p->file_off, h.off);
	else if (h.total != 8 * p->file_size)
		report_stale(x, p->file_off, "a packet", 8 * p->file_size, h.total);
	else if (h.content != p->content && !(p->flags & PACKET_OWN))
		report_stale(x, p->file_off, "a content", p->content, h.content);
	else if ((p->flags & PACKET_BEGIN) && h.begin != p->begin)
		report_stale(x, p->file_off, "a begin", p->begin, h.begin);
	else if ((p->flags & PACKET_END) && h.end != p->end)
		report_stale(x, p->file_off, "an end", p->end, h.end);
}

/* Packets that the index file has and the stream has not. */
static void check_count(struct indexer *x)
{
	const size_t i = hints_find(&x->hints, x->size);

	if (i < x->hints.count && !x->stale)
		diag_add(x->diag, DIAG_WARN, "ctf/stale-index", x->f->name, x->size, 0,
			 "index file: expected %zu packets as in the file, found %zu: the file is "
			 "cut off, or the index is another's",
			 i, x->hints.count);
}

/* --- one packet --- */

static bool sizes_are_right(const struct indexer *x, const struct ctf_packet *p, uint64_t total,
			    uint64_t content)
{
	return total % 8 == 0 && total >= p->body && total / 8 <= x->size - x->off &&
	       content >= p->body && content <= total;
}

static void report_sizes_wrong(struct indexer *x, const struct ctf_packet *p, uint64_t total,
			       uint64_t content)
{
	if (content > total)
		snprintf(x->why, sizeof(x->why),
			 "packet: expected content within its size (%llu bits), found %llu bits",
			 (unsigned long long)total, (unsigned long long)content);
	else if (total % 8 || total < p->body || total / 8 > x->size - x->off)
		snprintf(x->why, sizeof(x->why),
			 "packet: expected a size of whole bytes, head included, within the file, "
			 "found %llu bits",
			 (unsigned long long)total);
	else
		snprintf(x->why, sizeof(x->why),
			 "packet: expected content behind its head (%llu bits), found %llu bits",
			 (unsigned long long)p->body, (unsigned long long)content);
	damage(x, "ctf/packet-size", 0, x->why);
}

/*
 * Sizes that cannot be: those of the index file, else up to the next packet, else all that is left.
 */
static uint64_t mend_sizes(struct indexer *x, struct ctf_packet *p, uint64_t total,
			   uint64_t content)
{
	const uint64_t left = x->size - x->off;
	uint64_t next = UINT64_MAX;
	struct ctf_hint h;

	if (hint_here(x, &h) && h.content >= p->body) {
		report_sizes_wrong(x, p, total, content);
		p->content = h.content;
		return h.total / 8;
	}
	if (total % 8 || total < p->body || total / 8 > left)
		next = has_magic(x) ? find_magic(x, x->off + (p->body + 7) / 8) : UINT64_MAX;
	if (total % 8 == 0 && total >= p->body && total / 8 > left && next == UINT64_MAX &&
	    content <= total) {
		snprintf(x->why, sizeof(x->why), "packet: expected %llu bytes, found %llu: cut off",
			 (unsigned long long)(total / 8), (unsigned long long)left);
		damage(x, "ctf/cut-packet", 0, x->why);
		p->flags |= PACKET_CUT;
	} else {
		report_sizes_wrong(x, p, total, content);
	}
	if (total % 8 || total < p->body || total / 8 > left)
		total = 8 * (next == UINT64_MAX ? left : next - x->off);
	p->content = content;
	if (content > total || content < p->body) {
		p->content = total;
		p->flags |= p->flags & PACKET_CUT ? 0 : PACKET_GUESSED;
	}
	return total / 8;
}

/*
 * How many bytes of the file the packet takes, and how many bits hold events; what it says is
 * compared with what is there.
 */
static uint64_t settle_sizes(struct indexer *x, struct ctf_packet *p)
{
	const uint64_t left = x->size - x->off;
	uint64_t total, content;

	if (!report_sizes(x, &total, &content)) {
		/* SPEC ctf/no-sizes: without them the file is one packet */
		x->f->single = true;
		p->content = 8 * left;
		return left;
	}
	if (!sizes_are_right(x, p, total, content))
		return mend_sizes(x, p, total, content);
	p->content = content;
	return total / 8;
}

static void report_padding(struct indexer *x)
{
	diag_add(x->diag, DIAG_NOTE, "ctf/padding", x->f->name, x->base + x->off, 0,
		 "expected a packet, found %llu bytes of zeros to the end of the file: padding",
		 (unsigned long long)(x->size - x->off));
}

/*
 * What stands where no packet begins: padding, or damage up to the next packet. False: nothing
 * comes any more.
 */
static bool pass_over(struct indexer *x)
{
	const uint64_t hint = hint_next(x);
	uint64_t next;
	char why[WHY_ROOM];

	if (all_zero(x->data + x->off, x->size - x->off)) {
		report_padding(x);
		x->off = x->size;
		return false;
	}
	memcpy(why, x->why, sizeof(why));
	next = has_magic(x) ? find_magic(x, x->off + 1) : UINT64_MAX;
	next = hint < next ? hint : next;
	/*
	 * SPEC ctf/stray-file: without any magic number where each packet has one it is no stream
	 */
	if (!x->piece && !x->off && next == UINT64_MAX && has_magic(x) && !is_magic_at(x, 0)) {
		diag_add(x->diag, DIAG_WARN, "ctf/stray-file", x->f->name, x->base + x->off, 0,
			 "expected a packet with magic number C1FC1FC1, found none in the whole "
			 "file: skipped");
		x->off = x->size;
		return false;
	}
	next = next == UINT64_MAX ? x->size : next;
	damage(x, "ctf/bad-packet", next - x->off, why);
	x->shown += next - x->off;
	x->off = next;
	return x->off < x->size;
}

/*
 * SPEC ctf/bad-magic: headers that are right but for the magic number are trusted if the UUID is
 * the trace's, the magic number has its bytes the other way around, or the sizes lead to the next
 * packet or the end
 */
static bool trust_heads(struct indexer *x, const struct ctf_packet *p)
{
	uint64_t total, content;
	const bool sized = report_sizes(x, &total, &content);
	bool good = sized && sizes_are_right(x, p, total, content);

	if (x->cur.have[CTF_SLOT_UUID] && x->tr->meta->has_uuid)
		good = uuid_right(x) && (good || !sized);
	else if (x->cur.slots[CTF_SLOT_MAGIC] == __builtin_bswap32(CTF_WIRE_MAGIC))
		good = good || !sized;
	else if (good && total / 8 != x->size - x->off)
		good = is_magic_at(x, x->off + total / 8);
	if (good)
		damage(x, "ctf/bad-magic", 0, x->why);
	return good;
}

/* Unpacks and checks. */
static void packet_content(struct indexer *x, struct ctf_file *f, struct ctf_packet *p)
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
			       p->flags & PACKET_OWN || p->content < p->body
				       ? 0
				       : (p->content - p->body) / 8,
			       why);
			if (!(p->flags & PACKET_OWN))
				p->content = p->body;
			p->flags |= PACKET_CUT;
		}
		f->unpacked = true;
	}
}

/*
 * SPEC ctf/several-classes: the packets of a file may be of several stream classes; for each there
 * is a ctf_file, of the same stream. Returns false if out of memory.
 */
static bool sibling_add(struct indexer *x, uint32_t class)
{
	struct ctf *c = x->c;
	const size_t at = (size_t)(x->f - c->files);
	struct ctf_file *f;

	if (!x->by_class)
		x->by_class = mem_array(x->tr->meta->nstreams, sizeof(*x->by_class));
	if (!x->by_class || !mem_grow((void **)&c->files, &c->files_cap, c->nfiles + 1,
				      sizeof(*c->files), CTF_MAX_FILES))
		return false;
	x->f = f = &c->files[at];
	c->files[c->nfiles] = (struct ctf_file){ .trace = f->trace,
						 .class = class,
						 .source = f->source,
						 .stream = f->stream,
						 .name = f->name,
						 .sibling = f->sibling,
						 .is_sibling = true };
	f->sibling = (uint32_t)c->nfiles;
	x->by_class[class] = (uint32_t)c->nfiles++;
	return true;
}

/* Where the current packet goes; returns NULL if out of memory. */
static struct ctf_file *file_of_class(struct indexer *x)
{
	const uint32_t class = (uint32_t)(x->class - x->tr->classes);

	if (x->tr->meta->generation == CTF_V11)
		return x->f;
	if (!x->f->npackets)
		x->f->class = class;
	if (x->f->class == class)
		return x->f;
	if ((!x->by_class || !x->by_class[class]) && !sibling_add(x, class))
		return NULL;
	return &x->c->files[x->by_class[class]];
}

uint64_t ctf_counter_step(uint64_t from, uint64_t to, uint32_t bits)
{
	const uint64_t mask = bits_mask(bits ? bits : 64), n = (to - from) & mask;

	return n <= mask / 2 ? n : 0;
}

uint32_t ctf_lost_packets(const struct ctf_file *f, const struct ctf_class *k,
			  const struct ctf_packet *before, const struct ctf_packet *p)
{
	const uint64_t n = p->flags & before->flags & PACKET_SEQUENCE
				   ? ctf_counter_step(before->sequence + 1, p->sequence,
						      ctf_sequence_bits(f, k))
				   : 0;

	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static bool add_packet(struct indexer *x, struct ctf_packet *p)
{
	struct ctf_file *f = file_of_class(x);

	if (!f || !packet_room(x, f))
		return false;
	if (x->off == x->size)
		return true;
	/* SPEC ctf/uuid: CTF 2 forbids another UUID; tracers of 1.8 exist that mix them */
	if (!uuid_right(x))
		diag_add(x->diag, x->tr->meta->generation == CTF_2 ? DIAG_DAMAGE : DIAG_WARN,
			 "ctf/uuid", f->name, x->base + x->off, 0,
			 "packet: expected the UUID of the metadata, found another one");
	if (x->cur.have[CTF_SLOT_SESSION] && x->tr->meta->has_session &&
	    x->cur.slots[CTF_SLOT_SESSION] != x->tr->meta->session)
		diag_add(x->diag, DIAG_WARN, "ctf/session", f->name, x->base + x->off, 0,
			 "packet: expected session %u as in the metadata, found %u",
			 x->tr->meta->session, (unsigned)x->cur.slots[CTF_SLOT_SESSION]);
	if (x->cur.have[CTF_SLOT_SEQUENCE_BITS] && !f->npackets)
		f->sequence_bits = (uint32_t)x->cur.slots[CTF_SLOT_SEQUENCE_BITS];
	if (x->cur.have[CTF_SLOT_STREAM_ID] && !f->npackets) {
		f->instance = x->cur.slots[CTF_SLOT_STREAM_ID];
		f->has_instance = true;
	}
	p->file_size = settle_sizes(x, p);
	packet_content(x, f, p);
	check_hint(x, p);
	x->shown += p->flags & PACKET_OWN ? (p->content + 7) / 8 : p->file_size;
	x->off += p->file_size;
	assert(x->off <= x->size && f->npackets < f->packets_cap);
	p->lost = f->npackets ? ctf_lost_packets(f, x->class, &f->packets[f->npackets - 1], p) : 0;
	f->packets[f->npackets++] = *p;
	return true;
}

/* Whether zeros follow to the end that only look like heads: their sizes are 0. */
static bool is_padding(const struct indexer *x)
{
	uint64_t total, content;

	return report_sizes(x, &total, &content) && !total &&
	       all_zero(x->data + x->off, x->size - x->off);
}

/* A packet is there, or is not. Returns false if out of memory, or at the end of input. */
static bool read_here(struct indexer *x, enum heads heads, struct ctf_packet *p)
{
	if (heads == HEADS_GOOD && is_padding(x)) {
		report_padding(x);
		x->off = x->size;
		return false;
	}
	if (heads == HEADS_GOOD || (heads == HEADS_NO_MAGIC && trust_heads(x, p)) ||
	    read_by_hint(x, p))
		return add_packet(x, p);
	return pass_over(x);
}

/*
 * SPEC ctf-live/follow-packet: whether what stands here can be more when the file has grown: a
 * packet that is not whole, or room that was made for one. `found`: it has the heads of a packet.
 */
static bool may_grow(const struct indexer *x, const struct ctf_packet *p, bool found)
{
	const uint8_t *at = x->data + x->off;
	const uint64_t left = x->size - x->off;
	uint64_t total, content;

	if (found)
		return report_sizes(x, &total, &content) && total % 8 == 0 && total >= p->body &&
		       total / 8 > left && total / 8 - left <= LATE_MOST;
	if (left < sizeof(uint32_t) || all_zero(at, left))
		return true;
	if (has_magic(x) && load32(at, false) != CTF_WIRE_MAGIC &&
	    load32(at, true) != CTF_WIRE_MAGIC)
		return false;
	return left <= HEADS_MOST;
}

/*
 * Lists packets from x->off on. `more`: the file may grow, so its end decides nothing. Returns
 * false if out of memory.
 */
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
		const enum heads heads = read_heads(x, &p);

		if (more && may_grow(x, &p, heads == HEADS_GOOD))
			break;
		good = read_here(x, heads, &p);
	}
	mem_free(x->cur.slots);
	mem_free(x->by_class);
	return good || x->off == x->size;
}

/* One sub-buffer; what is not closed yet ends where writing did. Returns false if out of memory. */
static bool read_subbuf(struct indexer *x, const struct ctf_subbuf *s)
{
	struct ctf_packet p;

	if (s->bad) {
		diag_add(x->diag, DIAG_DAMAGE, "ctf/bad-ring-buffer", x->f->name, DIAG_NO_OFF, 0,
			 "expected the place and the counter of a sub-buffer, found such that "
			 "cannot be");
		return true;
	}
	x->off = s->off;
	x->size = s->off + s->bytes;
	if (read_heads(x, &p) != HEADS_GOOD || 8 * s->bytes < p.body) {
		damage(x, "ctf/bad-packet", s->bytes, x->why);
		return true;
	}
	if (!s->whole) {
		x->cur.slots[CTF_SLOT_PACKET_SIZE] = 8 * s->bytes;
		x->cur.slots[CTF_SLOT_CONTENT_SIZE] = 8 * s->bytes;
	}
	return add_packet(x, &p);
}

/* Shared memory of a ring buffer. Returns false if out of memory. */
static bool index_ring(struct indexer *x)
{
	uint8_t have[CTF_SLOTS_FIXED];
	struct ctf_subbuf s;
	struct ctf_ring r;
	bool good = true;

	if (!crash_open(&r, x->data, x->size)) {
		diag_add(x->diag, DIAG_DAMAGE, "ctf/bad-ring-buffer", x->f->name, 0, x->size,
			 "expected the layout of a ring buffer, found numbers that cannot be");
		return true;
	}
	diag_add(x->diag, DIAG_NOTE, "ctf/ring-buffer", x->f->name, 0, 0,
		 "expected a stream, found shared memory with a ring buffer: read as it was left");
	x->cur.have = have;
	x->cur.slots = mem_array(ctf_slots(x->tr), sizeof(*x->cur.slots));
	good = x->cur.slots != NULL;
	while (good && crash_next(&r, &s))
		good = read_subbuf(x, &s);
	mem_free(x->cur.slots);
	mem_free(x->by_class);
	return good;
}

bool ctf_index(struct ctf *c, struct ctf_file *f, struct diag_log *diag)
{
	struct indexer x = { .c = c,
			     .f = f,
			     .tr = &c->traces[f->trace],
			     .diag = diag,
			     .data = f->source->data,
			     .size = f->source->size,
			     .fd = -1,
			     .split = true,
			     .hints = f->hints };
	bool good;

	if (f->is_sibling)
		return true;
	if (crash_is(x.data, x.size))
		return index_ring(&x);
	if (f->source->mapped && x.size >= HEADS_FROM)
		x.fd = os_open(f->source->path, O_RDONLY | O_CLOEXEC, 0);
	good = index_run(&x, false);
	if (x.fd >= 0)
		os_close(x.fd);
	check_count(&x);
	return good;
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
			     .fd = -1,
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
			     .fd = -1,
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
	c->clock = p->begin;
}
