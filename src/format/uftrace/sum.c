/*
 * Calls of TID.dat summed straight from the mapped records (model/sink.h), without rows: what
 * take_run() in dat.c does for rows. Only ordinary records are: see ORDINARY_MASK.
 *
 * Whether a record is an EXIT is not predictable, so the loop over records has no branch on it. It
 * leaves calls that have ended in a short list, and a second loop adds these to the sums.
 */
#include "format/uftrace/dat.h"

enum {
	SUM_LEAST = 64, /* records that are worth it */
	SUM_MOST = 1 << 16, /* records until pages can be given back */
	ROWS_BETWEEN = 16, /* made of what is around a record that is not regular */
};

/* The loop's state, in registers. */
struct summing {
	struct uftrace *u;
	struct uftrace_feed *uf;
	struct call_sink *k;
	uint64_t stop; /* records from this time on are for others */
	uint64_t prev; /* time of the last record */
	uint32_t depth; /* after it */
	size_t ended; /* calls */
};

/* The slot of an address whose calls the sink takes; NULL if it does not. */
static __attribute__((noinline)) const struct addr_slot *sum_slot(const struct summing *s,
								  uint64_t time, uint64_t addr)
{
	const struct addr_slot *slot = uftrace_slot(s->u, s->uf, time, addr);

	return slot && sink_takes(s->k, s->u->t, slot_class(slot), addr) ? slot : NULL;
}

/*
 * Takes ordinary records that are regular, and returns the first that is not, or `end`. The sink's
 * calls are those in ended[] later. At most SINK_BLOCK records.
 * INVARIANT: cls[] and ts[] below `depth` are those of open calls; above, they are arbitrary.
 */
static inline __attribute__((always_inline)) const uint8_t *
sum_some(struct summing *s, const uint8_t *p, const uint8_t *end, bool by_addr)
{
	struct addr_cache *const cache = s->uf->cache;
	struct call_sink *const k = s->k;
	const struct addr_slot *slots = cache->slots, *slot;
	const uint64_t mult = cache->mult, stop = s->stop;
	struct sink_call *call = k->ended;
	uint16_t *open = k->open, *head = k->head;
	const uint64_t *addrs = by_addr ? k->addrs->of : NULL;
	size_t nclasses = k->nclasses;
	uint32_t shift = cache->shift, depth = s->depth;
	uint64_t prev = s->prev;

	assert(end - p <= SINK_BLOCK * RECORD && depth <= SINK_DEPTH);
	for (; p < end; p += RECORD) {
		const uint64_t t = load64(p, false), w = load64(p + RECORD_AT_WORD, false);
		const uint64_t addr = record_address(w);
		const uint32_t exit = w & 1, d = w >> DEPTH_SHIFT & DEPTH_MASK;
		uint32_t index = (uint32_t)(addr * mult >> shift), cls;

		source_ahead(p, 0);
		if (__builtin_expect((w & ORDINARY_MASK) != MAGIC_BITS, 0) ||
		    __builtin_expect(t - prev >= stop - prev, 0) ||
		    __builtin_expect(d + exit != depth, 0))
			break;
		index ^= (index ^ cache->recent[d % RECENT]) & (0 - exit);
		slot = &slots[index];
		cls = slot_class(slot);
		if (__builtin_expect(slot->key != addr, 0) ||
		    __builtin_expect(cls >= nclasses, 0) ||
		    (by_addr && __builtin_expect(addrs[cls] != addr, 0))) {
			if (!(slot = sum_slot(s, t, addr)))
				break;
			slots = cache->slots;
			shift = cache->shift;
			open = k->open;
			head = k->head;
			addrs = by_addr ? k->addrs->of : NULL;
			nclasses = k->nclasses;
			index = (uint32_t)(slot - slots);
			cls = slot_class(slot);
		}
		if (__builtin_expect(exit & (k->cls[d] != cls), 0))
			break;
		cache->recent[d % RECENT] = index;
		call->length = t - k->ts[d];
		call->cls = cls;
		call->depth = (uint16_t)d;
		call->nested = open[head[cls]] = (uint16_t)(open[head[cls]] + 1 - 2 * exit);
		call += exit;
		k->ts[d] = t;
		k->cls[d] = cls;
		depth = d + 1 - exit;
		prev = t;
	}
	s->depth = depth;
	s->prev = prev;
	s->ended = (size_t)(call - k->ended);
	return p;
}

static __attribute__((noinline)) const uint8_t *sum_block(struct summing *s, const uint8_t *p,
							  const uint8_t *end)
{
	return sum_some(s, p, end, false);
}

static __attribute__((noinline)) const uint8_t *
sum_block_by_addr(struct summing *s, const uint8_t *p, const uint8_t *end)
{
	return sum_some(s, p, end, true);
}

/* Sums up to `n` records at `p`. Returns how many. */
static uint64_t sum_records(struct summing *s, const uint8_t *const p, uint64_t n)
{
	const uint8_t *const end = p + n * RECORD;
	const uint8_t *at = p, *stop;

	do {
		stop = (uint64_t)(end - at) > SINK_BLOCK * RECORD ? at + SINK_BLOCK * RECORD : end;
		at = s->k->addrs ? sum_block_by_addr(s, at, stop) : sum_block(s, at, stop);
		sink_settle(s->k, s->ended);
	} while (at == stop && at < end);
	return (uint64_t)(at - p) / RECORD;
}

bool uftrace_sum(struct uftrace *u, struct uftrace_feed *uf, const struct source *src,
		 struct batch *b, uint64_t bound)
{
	struct call_sink *const k = b->sink;
	struct summing s = { .u = u, .uf = uf, .k = k, .prev = uf->prev, .depth = uf->depth };
	const uint64_t until = uftrace_part_end(uf), end = until < src->size ? until : src->size;
	const uint64_t left = end > uf->off ? (end - uf->off) / RECORD : 0;
	uint64_t n = left < SUM_MOST ? left : SUM_MOST;

	/* Calls that are open may have begun after the last record, where times went back. */
	if (!uf->started || uf->entry_bias || u->swap || left < SUM_LEAST ||
	    uf->depth != k->depth || (k->depth && k->ts[k->depth - 1] > uf->prev))
		return false;
	s.stop = window_stop(uf, bound);
	n = sum_records(&s, src->data + uf->off, n);
	k->depth = s.depth;
	if (!n)
		return false;
	k->rows += n;
	k->last = (int64_t)s.prev;
	uf->off += n * RECORD;
	uf->prev = s.prev;
	uf->depth = s.depth;
	b->summed += n;
	read_count(&u->t->read.records, n);
	read_count(&u->t->read.passed, n * RECORD);
	if (n >= SUM_LEAST + 2 * (uint64_t)s.depth && b->cap > ROWS_BETWEEN)
		b->cap = ROWS_BETWEEN;
	return n == SUM_MOST;
}
