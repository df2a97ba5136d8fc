/*
 * Tells a TID.dat from other files. Its records have no magic number but three bits, so one record
 * that fits proves nothing: records count only as a chain, whose times ascend and whose depths
 * nest.
 */
#include "base/bits.h"
#include "format/uftrace/reader.h"

enum {
	CHAIN = 8, /* records that prove a file whatever its name */
	LOOK_AT = 64, /* records */
	TEXT_BYTES = 256, /* looked at for text */
	ENTRY = 0,
	EXIT = 1,
	LOST = 2,
	EVENT = 3,
	DEPTHS = 1024,
	SCORE_CHAIN = 60,
	SCORE_SHORT = 20, /* and one more for each record */
};

/* Times of records are ns of a clock: below 73 years, which text never is, and not a week apart. */
static const uint64_t time_end = UINT64_C(1) << 61;
static const uint64_t gap_max = UINT64_C(7) * 86400 * 1000000000;

struct record {
	uint64_t time, addr;
	unsigned type, depth;
	bool more;
};

struct chain {
	const uint8_t *data;
	size_t len;
	bool swap;
	uint64_t time; /* of the last record that has one; 0: none */
	struct record call; /* the last ENTRY or EXIT; type LOST: none */
	unsigned records;
	unsigned calls; /* pairs of calls that follow each other, .. */
	unsigned nested; /* .. whose depths fit, .. */
	unsigned closed; /* .. and of these an ENTRY and its EXIT */
};

/*
 * Reads the record at `off` of at least RECORD bytes; returns false if no recorder writes it after
 * the chain.
 */
static bool record_fits(const struct chain *c, size_t off, struct record *r)
{
	const uint64_t w = load64(c->data + off + 8, c->swap);

	*r = (struct record){ .time = load64(c->data + off, c->swap),
			      .addr = w >> 16,
			      .type = w & 3,
			      .depth = w >> 6 & (DEPTHS - 1),
			      .more = w >> 2 & 1 };
	if ((w >> 3 & 7) != 5)
		return false;
	if (r->type == LOST)
		return !r->time && r->addr && !r->more;
	if (r->time >= time_end || r->time < c->time ||
	    (c->time && r->time - c->time > gap_max))
		return false;
	return r->type == EVENT ? r->addr && r->addr <= UFTRACE_EV_EXTERN && !r->depth
				: r->addr != 0;
}

/*
 * Depths of two calls in a row: one deeper, the same function's end, its caller's end, a call
 * beside it. QEMU's plugin counts those of ENTRY from 1.
 */
static bool depths_nest(const struct record *a, const struct record *b)
{
	const unsigned up = (b->depth + DEPTHS - a->depth) % DEPTHS;

	if (b->type == a->type)
		return up == (b->type == ENTRY ? 1 : DEPTHS - 1);
	return up == 0 || up == (b->type == ENTRY ? 1 : DEPTHS - 1);
}

static void chain_add(struct chain *c, const struct record *r)
{
	c->records++;
	if (r->type == LOST) {
		c->call.type = LOST;
		return;
	}
	c->time = r->time;
	if (r->type == EVENT)
		return;
	if (c->call.type != LOST) {
		const bool nested = depths_nest(&c->call, r);

		c->calls++;
		c->nested += nested;
		c->closed += nested && c->call.type == ENTRY && r->type == EXIT &&
			     c->call.addr == r->addr;
	}
	c->call = *r;
}

/*
 * Returns where the record after the one at `off` begins, which has been added: after its
 * payload, whose length is not known here, at the first place where a record's depth fits, or else
 * where any record fits. Returns c->len if the payload may reach past what can be seen, 0 if no
 * record follows.
 */
static size_t next_record(const struct chain *c, size_t off, bool more)
{
	size_t at = off + RECORD, found = 0;
	struct record r;

	if (!more)
		return at;
	for (; at <= off + RECORD + MAX_PAYLOAD; at += 8) {
		if (at > c->len || c->len - at < RECORD)
			return found ? found : c->len;
		if (!record_fits(c, at, &r))
			continue;
		if (r.type <= EXIT && c->call.type != LOST && depths_nest(&c->call, &r))
			return at;
		found = found ? found : at;
	}
	return found;
}

/*
 * Follows the chain from the first byte on; returns whether it reaches the end of what can be seen.
 */
static bool chain_follow(struct chain *c)
{
	size_t off = 0;

	while (c->len - off >= RECORD && c->records < LOOK_AT) {
		struct record r;

		if (!record_fits(c, off, &r))
			return false;
		chain_add(c, &r);
		off = next_record(c, off, r.more);
		if (!off || off >= c->len)
			return off;
	}
	return true;
}

/* `named`: the file is called as a recorder calls it. */
static int chain_score(const struct chain *c, bool to_end, bool named)
{
	const bool nests = c->nested * 4 >= c->calls * 3;

	if (c->records >= CHAIN && nests && (c->nested || named))
		return SCORE_CHAIN;
	if (named && c->records)
		return SCORE_SHORT + (int)c->records;
	if (to_end && c->closed && c->nested == c->calls)
		return SCORE_SHORT + (int)c->records;
	return 0;
}

/*
 * Text has no control characters but those that move the cursor; records have others in their
 * times.
 */
static bool is_text(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len && i < TEXT_BYTES; i++)
		if (p[i] < ' ' && (p[i] < '\t' || p[i] > '\r'))
			return false;
	return true;
}

/* SPEC uftrace/lone-dat */
int uftrace_score_dat(bool named, const uint8_t *p, size_t len)
{
	int best = 0;

	for (int big = 0; big < 2 && !is_text(p, len); big++) {
		struct chain c = { .data = p,
				   .len = len,
				   .swap = order_swaps(big),
				   .call = { .type = LOST } };
		const bool to_end = chain_follow(&c);
		const int score = chain_score(&c, to_end, named);

		best = score > best ? score : best;
	}
	return best;
}
