/* Framing. See packet.h. */
#include "format/heph/packet.h"

enum {
	LAYOUT_EVENTS = 16, /* looked at to find the layout */
	LOOK_START = 1 << 20, /* bytes that may be looked at for cut packets, .. */
	LOOK_A_BYTE = 4, /* and more for each that is passed */
	SCORE_CHAIN = 100, /* two packets, or one and the end */
	SCORE_ONE = 70, /* a packet that reaches past what can be seen */
	SCORE_BEHIND = 25, /* two packets, with something else in front, .. */
	IN_FRONT = 4096, /* .. up to this many bytes of it */
	/* Consecutive packets inside the last one that prove it is not a packet */
	CHAIN_IN_CUT = 2,
	/* Packets in a row after one that is not complete that tell that it never will be */
	CHAIN = 3,
};

/* What is wrong with the packet at a place. */
enum fault {
	FAULT_NONE,
	FAULT_HEADER, /* the data ends within magic and size */
	FAULT_MAGIC,
	FAULT_SMALL, /* size below the smallest */
	FAULT_END, /* size past the end of the data */
	FAULT_NAME, /* option name or description past the packet */
	/* SPEC heph/huge-packet: no writer makes such packets, and no packet follows it */
	FAULT_HUGE,
};

void heph_walk_init(struct heph_walk *w, struct source *src)
{
	static const uint8_t nothing[1];
	const uint8_t *base;

	/* Where the data will be is known from the first byte on. */
	if (!src->size)
		source_more(src);
	base = src->size ? src->data : nothing;
	*w = (struct heph_walk){ .src = src,
				 .base = base,
				 .at = base,
				 .end = base + src->size,
				 .head = HEPH_EVENT_HEAD,
				 .eof = src->eof,
				 .wait = true };
}

/* Are there `n` bytes at p? Where it is not waited for them, `more` is set. */
static bool have(struct heph_walk *w, const uint8_t *p, uint64_t n)
{
	if ((uint64_t)(w->end - p) >= n)
		return true;
	if (w->eof)
		return false;
	if (!w->wait) {
		w->more = true;
		return false;
	}
	source_need(w->src, (uint64_t)(p - w->base) + n);
	w->end = w->src->data + w->src->size;
	w->eof = w->src->eof;
	return (uint64_t)(w->end - p) >= n;
}

static bool at_end(struct heph_walk *w, const uint8_t *p)
{
	return p == w->end && !have(w, p, 1) && !w->more;
}

/* A packet, or the end, stands at p. */
static bool next_is_good(struct heph_walk *w, const uint8_t *p)
{
	return have(w, p, 4) ? heph_is_magic(be32(p)) : at_end(w, p);
}

static uint32_t least_size(const struct heph_walk *w, uint32_t magic)
{
	return magic == heph_meta_magic ? HEPH_META_HEAD : w->head;
}

/* Does an event's inside come out even in this layout? */
static bool is_exact(const struct heph_walk *w, const uint8_t *p, uint32_t size)
{
	const uint8_t *q;
	uint32_t n;

	if (be32(p) != heph_event_magic || size < w->head ||
	    w->head + heph_name_len(p, w->head) > size)
		return false;
	q = p + w->head + heph_name_len(p, w->head);
	return heph_attrs_count(&q, p + size, &n) == HEPH_GOOD;
}

/*
 * Packets of the usual size, up to `n`, that stand in a row from p on and are all there; *p is
 * moved past them.
 */
static unsigned chain_length(const struct heph_walk *w, const uint8_t **p, unsigned n)
{
	unsigned found = 0;

	for (; found < n && (size_t)(w->end - *p) >= HEPH_FRAME; found++) {
		const uint32_t magic = be32(*p), size = heph_size(*p), head = least_size(w, magic);

		if (!heph_is_magic(magic) || size > HEPH_USUAL || size < head ||
		    (size_t)(w->end - *p) < size)
			break;
		if (magic == heph_meta_magic ? head + heph_name_len(*p, HEPH_META_HEAD) > size
					     : !is_exact(w, *p, size))
			break;
		*p += size;
	}
	return found;
}

/*
 * SPEC heph/follow-damage: whether good packets stand in a row after the header at `from`, whose
 * packet is not complete. Only what has come since the last time is looked at, and what could not
 * be judged then.
 */
static bool chain_stands_behind(struct heph_walk *w, const uint8_t *from)
{
	const uint8_t *p = w->looked > from ? w->looked : from + 1, *undecided = NULL;

	for (; w->end - p >= HEPH_FRAME; p++) {
		const uint8_t *end = p;

		if (!heph_is_magic(be32(p)))
			continue;
		if (chain_length(w, &end, CHAIN) == CHAIN)
			return true;
		/* One that is not all there yet, or the last one so far. */
		if (!undecided && heph_size(p) <= HEPH_USUAL)
			undecided = p;
	}
	w->looked = undecided ? undecided : p;
	return false;
}

/*
 * Is all of the packet at p there? Of an input that may grow for ever it is not waited for one that
 * never comes: where good packets follow its header, its size is wrong.
 */
static bool have_packet(struct heph_walk *w, const uint8_t *p, uint32_t size)
{
	while (w->eager && !w->eof && (uint64_t)(w->end - p) < size) {
		if (chain_stands_behind(w, p))
			return false;
		w->more |= !w->wait;
		if (!w->wait)
			return false;
		source_more(w->src);
		w->end = w->src->data + w->src->size;
		w->eof = w->src->eof;
	}
	return have(w, p, size);
}

static enum fault fault_at(struct heph_walk *w, const uint8_t *p)
{
	uint32_t magic, size, head, name;

	if (!have(w, p, HEPH_FRAME))
		return FAULT_HEADER;
	magic = be32(p);
	size = heph_size(p);
	if (!heph_is_magic(magic))
		return FAULT_MAGIC;
	if (size < least_size(w, magic))
		return FAULT_SMALL;
	if (!have_packet(w, p, size))
		return FAULT_END;
	head = least_size(w, magic);
	name = head + heph_name_len(p, head);
	if (name > size && !(w->loose && magic == heph_event_magic))
		return FAULT_NAME;
	return size > HEPH_USUAL && !next_is_good(w, p + size) ? FAULT_HUGE : FAULT_NONE;
}

/*
 * Returns true if the available part of the event at p, the last one of the data, is the beginning
 * of a whole one. Lengths of texts and attributes are trusted.
 */
static bool is_cut(const struct heph_walk *w, const uint8_t *p)
{
	const uint32_t size = heph_size(p);
	uint32_t name;
	const uint8_t *q;
	struct heph_attr a = { .name_len = 0 };
	enum heph_fault fault = HEPH_GOOD;

	/* SPEC heph/huge-packet: such a size is hardly one */
	if (size > HEPH_USUAL)
		return false;
	if (be32(p) != heph_event_magic || (uint64_t)(w->end - p) < w->head)
		return true;
	name = w->head + heph_name_len(p, w->head);
	if (name > (uint64_t)(w->end - p))
		return name <= size;
	q = p + name;
	while (q < w->end && fault == HEPH_GOOD)
		fault = heph_attr_next(&q, w->end, &a);
	/* A packet after the last attribute: the size is wrong. */
	if (w->end - q >= 4 && heph_is_magic(be32(q)))
		return false;
	return fault == HEPH_GOOD || fault == HEPH_TRAILING ||
	       (fault == HEPH_TORN && (uint64_t)(q - p) + 3 + a.name_len <= size);
}

/*
 * Whether packets go on at p. SPEC heph/cut-tail: where the end of the data cuts a packet, nothing
 * inside it is one, unless `least` good ones in a row stand there and the next, or the end, after
 * them.
 */
static bool goes_on(struct heph_walk *w, const uint8_t *p, unsigned least)
{
	const uint8_t *end = p;

	if (!heph_is_magic(be32(p)) || fault_at(w, p) != FAULT_NONE)
		return false;
	return !least || (chain_length(w, &end, least) == least && next_is_good(w, end));
}

/* SPEC heph/resync: returns the next place from p on where a packet may begin, or the end */
static const uint8_t *resync(struct heph_walk *w, const uint8_t *p, unsigned least)
{
	for (; have(w, p, HEPH_FRAME); p++)
		if (goes_on(w, p, least))
			return p;
	return w->end;
}

static bool all_zero(const uint8_t *p, const uint8_t *end)
{
	while (p < end && !*p)
		p++;
	return p == end;
}

static void report_fault(const struct heph_walk *w, enum fault fault, const uint8_t *p,
			 uint64_t lost)
{
	const uint64_t off = (uint64_t)(p - w->base), left = (uint64_t)(w->end - p);
	const uint32_t magic = left >= 4 ? be32(p) : 0,
		       size = left >= HEPH_FRAME ? heph_size(p) : 0;
	struct diag_log *d = w->diag;

	if (!d)
		return;
	if (fault == FAULT_HEADER)
		diag_add(d, DIAG_DAMAGE, "heph/torn-header", w->file, off, lost,
			 "packet: expected 8 bytes of magic and size, found %llu up to the end",
			 (unsigned long long)left);
	else if (fault == FAULT_MAGIC)
		diag_add(d, DIAG_DAMAGE, "heph/bad-magic", w->file, off, lost,
			 "packet: expected magic 0xc1fc1fb7 or 0x75d11d4d, found 0x%08x", magic);
	else if (fault == FAULT_SMALL)
		diag_add(d, DIAG_DAMAGE, "heph/packet-size", w->file, off, lost,
			 "packet: expected at least %u bytes, found size %u", least_size(w, magic),
			 size);
	else if (fault == FAULT_END)
		diag_add(d, DIAG_DAMAGE, "heph/torn-packet", w->file, off, lost,
			 "packet: expected %u bytes, found %llu up to the end", size,
			 (unsigned long long)left);
	else if (fault == FAULT_NAME)
		diag_add(d, DIAG_DAMAGE, "heph/name-length", w->file, off, lost,
			 "packet: expected a name within its %u bytes, found one of %u", size,
			 heph_name_len(p, least_size(w, magic)));
	else
		diag_add(d, DIAG_DAMAGE, "heph/huge-packet", w->file, off, lost,
			 "packet: expected at most %u bytes, found size %u and no packet behind it",
			 (unsigned)HEPH_USUAL, size);
}

static void report_cut(const struct heph_walk *w, const uint8_t *p, uint64_t lost)
{
	if (w->diag)
		diag_add(w->diag, DIAG_DAMAGE, "heph/torn-packet", w->file, (uint64_t)(p - w->base),
			 lost, "packet: expected %u bytes, found the next packet after %llu",
			 heph_size(p), (unsigned long long)lost);
}

/*
 * Nothing is there after the packet yet, and its inside comes out even: not worth a wait to see
 * who follows.
 */
static bool is_last_for_now(const struct heph_walk *w, const uint8_t *p, uint32_t size)
{
	return w->eager && !w->eof && (uint64_t)(w->end - p) == size &&
	       (be32(p) == heph_meta_magic || is_exact(w, p, size));
}

/*
 * SPEC heph/cut-packet: a packet that no packet follows ends where inside it another begins (with a
 * good one, or the end, after that). Returns where, or NULL. What may be looked at is bounded by
 * what has been passed: hostile sizes would cost the square of the file.
 */
static const uint8_t *cut_at(struct heph_walk *w, const uint8_t *p, uint32_t size)
{
	const uint64_t most = LOOK_START + LOOK_A_BYTE * (uint64_t)(p - w->base);
	const uint8_t *cut = NULL;

	if (w->loose || is_last_for_now(w, p, size) || next_is_good(w, p + size) || w->more ||
	    w->spent + size > most)
		return NULL;
	for (const uint8_t *q = p + 1; q < p + size - 4 && !cut && !w->more; q++)
		if (heph_is_magic(be32(q)) && fault_at(w, q) == FAULT_NONE &&
		    next_is_good(w, q + heph_size(q)))
			cut = q;
	if (w->more)
		return NULL;
	w->spent += size;
	return cut;
}

/* Over what is wrong at w->at. False: more bytes must come first. */
static bool skip_fault(struct heph_walk *w, enum fault fault)
{
	const uint8_t *const p = w->at, *to;
	unsigned least = 0;

	if (fault == FAULT_END && w->eof && is_cut(w, p))
		least = CHAIN_IN_CUT;
	/* The framing holds where another packet follows. */
	if (fault == FAULT_NAME && next_is_good(w, p + heph_size(p)))
		to = p + heph_size(p);
	else
		to = resync(w, p + 1, least);
	if (w->more)
		return false;
	if (to == w->end && all_zero(p, to)) {
		/* SPEC heph/zero-padding */
		if (w->diag)
			diag_add(w->diag, DIAG_NOTE, "heph/zero-padding", w->file,
				 (uint64_t)(p - w->base), 0,
				 "end: expected a packet, found %llu zero bytes up to the end",
				 (unsigned long long)(to - p));
	} else {
		report_fault(w, fault, p, (uint64_t)(to - p));
	}
	w->at = to;
	return true;
}

/* A good packet at w->at. */
static void take(struct heph_walk *w, struct heph_packet *k)
{
	const uint8_t *const p = w->at;

	*k = (struct heph_packet){ .p = p,
				   .size = heph_size(p),
				   .meta = be32(p) == heph_meta_magic };
	if (k->size > HEPH_USUAL && w->diag)
		diag_add(w->diag, DIAG_WARN, "heph/huge-packet", w->file, (uint64_t)(p - w->base),
			 0, "packet: expected at most %u bytes, found %u", (unsigned)HEPH_USUAL,
			 k->size);
	w->at = p + k->size;
}

enum heph_step heph_walk_slow(struct heph_walk *w, struct heph_packet *k)
{
	w->more = false;
	while (!at_end(w, w->at)) {
		enum fault fault;
		const uint8_t *cut;

		if (w->more)
			return HEPH_MORE;
		fault = fault_at(w, w->at);
		if (w->more)
			return HEPH_MORE;
		if (fault != FAULT_NONE) {
			if (!skip_fault(w, fault))
				return HEPH_MORE;
			continue;
		}
		cut = cut_at(w, w->at, heph_size(w->at));
		if (w->more)
			return HEPH_MORE;
		if (!cut) {
			take(w, k);
			return HEPH_PACKET;
		}
		report_cut(w, w->at, (uint64_t)(cut - w->at));
		w->at = cut;
	}
	return HEPH_END;
}

bool heph_layout_is_old(const struct heph_walk *from)
{
	struct heph_walk now = *from, old;
	struct heph_packet k;

	now.diag = NULL;
	now.wait = true;
	now.loose = true;
	now.head = HEPH_OLD_HEAD;
	old = now;
	now.head = HEPH_EVENT_HEAD;
	for (unsigned n = 0; n < LAYOUT_EVENTS && heph_walk_next(&old, &k) == HEPH_PACKET;) {
		bool is_old, is_now;

		if (k.meta)
			continue;
		is_old = is_exact(&old, k.p, k.size);
		is_now = is_exact(&now, k.p, k.size);
		if (is_old != is_now)
			return is_old;
		n++;
	}
	return false;
}

/* Two packets at p, or one that is followed by the end (of what can be seen); 0: no packet. */
static int chain_score(const uint8_t *p, size_t len)
{
	uint32_t size;

	if (len < HEPH_FRAME || !heph_is_magic(be32(p)))
		return 0;
	size = heph_size(p);
	if (size < (be32(p) == heph_meta_magic ? HEPH_META_HEAD : HEPH_OLD_HEAD) ||
	    size > HEPH_USUAL)
		return 0;
	if (size > len)
		return SCORE_ONE;
	p += size;
	len -= size;
	return !len || (len >= 4 && heph_is_magic(be32(p))) ? SCORE_CHAIN : SCORE_ONE;
}

int heph_probe(const uint8_t *p, size_t len)
{
	const int score = chain_score(p, len);

	for (size_t i = 1; !score && i <= IN_FRONT && i + HEPH_FRAME <= len; i++)
		if (chain_score(p + i, len - i) == SCORE_CHAIN)
			return SCORE_BEHIND;
	return score;
}

/* --- attributes --- */

static enum heph_fault array_end(const uint8_t **q, const uint8_t *end, unsigned type,
				 unsigned count)
{
	const uint8_t *p = *q;

	if (type != HEPH_STRING) {
		if ((size_t)(end - p) < (size_t)HEPH_NUMBER * count)
			return HEPH_TORN;
		*q = p + (size_t)HEPH_NUMBER * count;
		return HEPH_GOOD;
	}
	for (; count; count--) {
		if (end - p < HEPH_ATTR_LEN || end - p < HEPH_ATTR_LEN + be16(p))
			return HEPH_TORN;
		p += HEPH_ATTR_LEN + be16(p);
	}
	*q = p;
	return HEPH_GOOD;
}

enum heph_fault heph_attr_next(const uint8_t **q, const uint8_t *end, struct heph_attr *a)
{
	const uint8_t *p = *q;
	const size_t left = (size_t)(end - p);
	unsigned base;

	if (left < HEPH_ATTR_HEAD)
		return HEPH_TRAILING;
	*a = (struct heph_attr){ .name = p + HEPH_ATTR_LEN, .name_len = be16(p), .count = 1 };
	if (left < (size_t)HEPH_ATTR_HEAD + a->name_len)
		return HEPH_TORN;
	a->type = p[HEPH_ATTR_LEN + a->name_len];
	base = a->type & ~(unsigned)HEPH_ARRAY;
	if (!base)
		return HEPH_INVALID;
	if (base > HEPH_STRING)
		return HEPH_UNKNOWN;
	p += HEPH_ATTR_HEAD + a->name_len;
	if (a->type & HEPH_ARRAY) {
		if (end - p < HEPH_ATTR_LEN)
			return HEPH_TORN;
		a->count = be16(p);
		p += HEPH_ATTR_LEN;
	}
	a->value = p;
	if (array_end(&p, end, base, a->count) != HEPH_GOOD)
		return HEPH_TORN;
	*q = p;
	return HEPH_GOOD;
}

enum heph_fault heph_attrs_rest(const uint8_t **q, const uint8_t *end, uint32_t *n)
{
	enum heph_fault fault = HEPH_GOOD;
	struct heph_attr a;

	while (*q < end && (fault = heph_attr_next(q, end, &a)) == HEPH_GOOD)
		++*n;
	return fault;
}
