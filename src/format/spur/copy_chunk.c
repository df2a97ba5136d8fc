/* A chunk of a copy: as it is stored if all of it is kept, else with the records that are. */
#include <stdlib.h>

#include "base/bits.h"
#include "format/spur/copy.h"

/* A record in a chunk that is sorted. */
struct item {
	struct spb_record r;
	uint64_t fiber;
	uint32_t cpu;
	uint32_t number;
};

/* What a look at a chunk found. */
struct look {
	bool whole; /* all records can be read, and are kept as they are */
	bool any; /* there is a row */
	bool ascends;
	uint64_t lost; /* bytes that cannot be read */
};

static bool swaps(void)
{
	return order_swaps(false);
}

void spb_copy_shift(const struct spb_copying *c, uint8_t *pair)
{
	if (load64(pair, swaps()))
		store64(pair + 8, load64(pair + 8, swaps()) + (uint64_t)c->part->shift, swaps());
}

/* The head of a chunk with its times shifted, and losses that are not kept taken out. */
static void head_make(struct spb_copying *c, const uint8_t *p, uint8_t head[SPB_CHUNK_HEAD])
{
	memcpy(head, p, SPB_CHUNK_HEAD);
	spb_copy_close(c, p, head);
	spb_copy_shift(c, head + SPB_OPEN_AT);
	spb_copy_shift(c, head + SPB_CLOSE_AT);
	if (!spb_copy_has(c, spb_off(c->s, p)))
		store64(head + SPB_CHUNK_LOST_AT, 0, swaps());
}

void spb_copy_bytes(struct spb_copying *c, const uint8_t *p, uint64_t len)
{
	uint8_t head[SPB_CHUNK_HEAD];

	if ((!c->part->shift && !c->closes.count) || len < sizeof(head)) {
		out_bytes(c->out, p, len);
	} else {
		head_make(c, p, head);
		out_bytes(c->out, head, sizeof(head));
		out_bytes(c->out, p + sizeof(head), len - sizeof(head));
	}
	if (c->s->src)
		source_passed(c->s->src, spb_off(c->s, p), spb_off(c->s, p) + len);
}

/* The bytes of a chunk that the file has. */
static uint64_t chunk_len(const struct spb *s, uint32_t number)
{
	const uint64_t off = SPB_HEADER + (uint64_t)number * s->chunk_size;
	const uint64_t left = s->size - off;

	return left < s->chunk_size ? left : s->chunk_size;
}

static uint64_t bytes_lost(const struct diag_log *log)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < diag_groups(log); i++)
		lost += diag_at(log, i)->bytes_lost;
	return lost;
}

/* SPEC spur/site: what the reader would call damage. */
static bool record_is_known(const struct spb *s, const struct spb_record *r)
{
	switch ((enum spb_kind)r->kind) {
	case SPB_BEGIN:
	case SPB_EVENT:
		return spb_site_of(s, r);
	case SPB_END:
		return !r->id || spb_site_of(s, r);
	case SPB_MORE:
		return false;
	default:
		return true;
	}
}

/*
 * Returns true if a repaired copy is to have the record without its arguments, of which some cannot
 * be read; *before gets the bytes of the payload that it keeps. SPEC spur/copy
 */
static bool arguments_go(struct spb_copying *c, const struct spb_record *r, size_t *before)
{
	enum spur_status st;

	if (!c->copy->repair || !r->words)
		return false;
	st = spb_args_fit(c->s, r, before);
	c->failed |= st == SPUR_FAIL;
	return st == SPUR_WARN;
}

static struct look chunk_look(struct spb_copying *c, uint32_t number)
{
	struct look look = { .whole = true, .ascends = true };
	struct spb_cursor at;
	struct spb_record r;
	struct diag_log log;
	uint64_t last, lost, fewer;
	size_t before;

	diag_init(&log);
	spb_cursor_open(c->s, &at, number, 0);
	last = at.ticks;
	lost = spb_64(at.base + SPB_CHUNK_LOST_AT);
	if (lost) {
		look.any = spb_copy_has(c, spb_off(c->s, at.base));
		look.whole = look.any;
	}
	while (spb_record_next(c->s, &at, &log, &r)) {
		const enum spb_keep keep = spb_copy_keeps(c, &r, &fewer);

		look.whole &= keep == SPB_KEEP && record_is_known(c->s, &r) &&
			      !arguments_go(c, &r, &before);
		look.any |= keep != SPB_DROP && spb_copy_has_row(&r);
		look.ascends &= (int64_t)(r.ticks - last) >= 0 || r.kind == SPB_PAD;
		last = r.ticks;
	}
	look.lost = bytes_lost(&log);
	if (diag_count(&log, DIAG_DAMAGE)) {
		c->counts->damaged += diag_count(&log, DIAG_DAMAGE);
		look.whole = false;
	}
	diag_free(&log);
	return look;
}

/* Writes a record as it is kept. Returns false if out of memory. */
static bool record_out(struct spb_copying *c, struct spb_pack *p, const struct spb_record *r,
		       enum spb_keep keep, uint64_t fewer)
{
	const uint64_t one = load64((const uint8_t *)&(uint64_t){ 1 }, swaps());
	struct spb_pack_record out = { .kind = r->kind, .id = r->id, .ticks = r->ticks };
	struct spur_args args = { 0 };
	size_t len, before;

	fewer = load64((const uint8_t *)&fewer, swaps());
	if (r->kind == SPB_HOLE) {
		/* SPEC spur/lost: what was never completed */
		out.kind = SPB_LOST;
		out.id = 0;
		out.payload = &one;
		out.words = 1;
		c->counts->holes++;
	} else if (keep == SPB_KEEP_FEWER) {
		out.payload = &fewer;
		out.words = 1;
	} else {
		out.payload = spb_payload(c->s, r, &args, &len);
		if (!out.payload)
			return false;
		if (arguments_go(c, r, &before)) {
			c->counts->arguments++;
			c->copy->bytes_lost += len - (before < len ? before : len);
			c->copy->damaged = true;
			len = before < len ? before : 0;
		}
		out.words = len / SPB_WORD;
	}
	if (keep == SPB_KEEP_AS_ENTER)
		out.kind = SPB_ENTER;
	spb_pack_record(p, &out);
	c->copy->records += spb_copy_has_row(r);
	spur_args_free(&args);
	return true;
}

/* Records that the copy does not have, or that the packing makes anew. */
static bool is_left_out(struct spb_copying *c, const struct spb_record *r, enum spb_keep *keep,
			uint64_t *fewer)
{
	*keep = spb_copy_keeps(c, r, fewer);
	if (r->kind == SPB_TIME || r->kind == SPB_PAD || *keep == SPB_DROP)
		return true;
	if (record_is_known(c->s, r))
		return false;
	c->counts->unknown++;
	c->copy->bytes_lost += r->len;
	return true;
}

static int item_order(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	const int64_t step = (int64_t)(x->r.ticks - y->r.ticks);

	return step ? (step > 0 ? 1 : -1) : (x->number > y->number) - (x->number < y->number);
}

/*
 * SPEC spur/chunk-lost: what the head says was lost has its row behind the chunk's last record. A
 * copy that may lack that has a record of its own for it. Returns false if nothing was lost.
 */
static bool head_loss(const struct spb_cursor *at, struct item *item)
{
	*item = (struct item){ .r = { .p = at->base,
				      .len = SPB_CHUNK_HEAD,
				      .kind = SPB_LOST,
				      .ticks = at->ticks,
				      .payload = at->base + SPB_CHUNK_LOST_AT,
				      .words = 1 } };
	return spb_64(item->r.payload) != 0;
}

/* The CPU and fiber of a record, where they are others than those of the one before. */
static void state_out(struct spb_pack *p, const struct item *item)
{
	const uint64_t fiber = load64((const uint8_t *)&item->fiber, swaps());

	if (p->cpu != item->cpu)
		spb_pack_record(p, &(struct spb_pack_record){ .kind = SPB_CPU,
							      .id = item->cpu,
							      .ticks = item->r.ticks });
	if (p->fiber != item->fiber)
		spb_pack_record(p, &(struct spb_pack_record){ .kind = SPB_FIBER,
							      .ticks = item->r.ticks,
							      .payload = &fiber,
							      .words = 1 });
}

/* The records of a chunk in the order of time. Returns false if out of memory. */
static bool records_sorted(struct spb_copying *c, uint32_t number, struct spb_pack *p)
{
	struct item *items = NULL, now = { .cpu = 0 };
	size_t n = 0, cap = 0;
	enum spb_keep keep;
	struct spb_cursor at;
	uint64_t fewer = 0;
	bool good = true, more = true;

	spb_cursor_open(c->s, &at, number, 0);
	while (good && more) {
		more = spb_record_next(c->s, &at, NULL, &now.r);
		if (!more && !head_loss(&at, &now))
			break;
		if (now.r.kind == SPB_CPU)
			now.cpu = now.r.id;
		else if (now.r.kind == SPB_FIBER)
			now.fiber = now.r.words ? spb_64(now.r.payload) : 0;
		if (!spb_copy_has_row(&now.r))
			continue;
		good = mem_grow((void **)&items, &cap, n + 1, sizeof(*items),
				SIZE_MAX / sizeof(*items));
		now.number = (uint32_t)n;
		if (good)
			items[n++] = now;
	}
	if (good && n)
		qsort(items, n, sizeof(*items), item_order);
	for (size_t i = 0; good && i < n; i++) {
		if (is_left_out(c, &items[i].r, &keep, &fewer))
			continue;
		state_out(p, &items[i]);
		good = record_out(c, p, &items[i].r, keep, fewer);
	}
	mem_free(items);
	return good;
}

static bool records_stored(struct spb_copying *c, uint32_t number, struct spb_pack *p)
{
	struct spb_cursor at;
	struct spb_record r;
	struct item loss;
	enum spb_keep keep;
	uint64_t fewer = 0;

	spb_cursor_open(c->s, &at, number, 0);
	while (spb_record_next(c->s, &at, NULL, &r))
		if (!is_left_out(c, &r, &keep, &fewer) && !record_out(c, p, &r, keep, fewer))
			return false;
	if (!head_loss(&at, &loss) || is_left_out(c, &loss.r, &keep, &fewer))
		return true;
	state_out(p, &loss);
	return record_out(c, p, &loss.r, keep, fewer);
}

bool spb_copy_records(struct spb_copying *c, uint32_t number)
{
	const struct look look = chunk_look(c, number);
	const bool sort = c->copy->sorted && !look.ascends;
	const uint64_t len = chunk_len(c->s, number);
	const uint8_t *end, *const p = spb_chunk(c->s, number, &end);
	uint8_t head[SPB_CHUNK_HEAD];
	struct spb_pack pack;
	bool good;

	c->copy->bytes_lost += look.lost;
	if (c->part->kept && !look.any && !spb_copy_has_gap(c, number))
		return true;
	if (look.whole && !sort && len == c->s->chunk_size) {
		spb_copy_bytes(c, p, len);
		return true;
	}
	if (look.whole && !sort && !c->copy->sorted) {
		spb_copy_bytes(c, p, len);
		return true;
	}
	head_make(c, p, head);
	store64(head + SPB_CHUNK_LOST_AT, 0, swaps());
	good = spb_pack_open(&pack, c->out, c->s->chunk_size);
	if (good) {
		spb_pack_stream(&pack, 1, 0);
		pack.head = head;
		spb_pack_begin(&pack);
		good = sort ? records_sorted(c, number, &pack) : records_stored(c, number, &pack);
		spb_pack_stream(&pack, 1, 0);
	}
	spb_pack_free(&pack);
	return good && !c->failed;
}

/* --- descriptors --- */

/* Bodies that are not what their types say are left out. */
static bool descriptor_is_bad(const struct spb_copying *c, const struct spb_described *d)
{
	return map64_find(&c->s->bad_descriptors, spb_off(c->s, d->p));
}

static bool descriptors_good(struct spb_copying *c, uint32_t number)
{
	struct spb_described d;
	struct spb_cursor at;
	struct diag_log log;
	bool good = true;

	diag_init(&log);
	spb_cursor_open(c->s, &at, number, 0);
	while (spb_descriptor_next(c->s, &at, &log, &d))
		if (descriptor_is_bad(c, &d)) {
			good = false;
			c->counts->descriptors++;
			c->copy->bytes_lost += d.len;
		}
	if (diag_count(&log, DIAG_DAMAGE)) {
		c->counts->damaged += diag_count(&log, DIAG_DAMAGE);
		c->copy->bytes_lost += bytes_lost(&log);
		good = false;
	}
	diag_free(&log);
	return good;
}

/*
 * A chunk whose damaged descriptors have no type, so that they are skipped, and whose pages end in
 * front of what is no descriptor.
 */
static void descriptors_mend(struct spb_copying *c, uint32_t number, uint8_t *to)
{
	const uint8_t *end, *const p = spb_chunk(c->s, number, &end);
	struct spb_described d;
	struct spb_cursor at;

	head_make(c, p, to);
	spb_cursor_open(c->s, &at, number, 0);
	while (spb_descriptor_next(c->s, &at, NULL, &d)) {
		uint8_t *const here = to + (d.p - p);

		memcpy(here, d.p, d.len);
		if (descriptor_is_bad(c, &d))
			memset(here + 4, 0, spb_32(d.p) - 4);
	}
}

bool spb_copy_descriptors(struct spb_copying *c, uint32_t number)
{
	const uint64_t len = c->copy->sorted ? c->s->chunk_size : chunk_len(c->s, number);
	const uint8_t *end, *const p = spb_chunk(c->s, number, &end);
	uint8_t *mended;

	if (descriptors_good(c, number) && len == chunk_len(c->s, number)) {
		spb_copy_bytes(c, p, len);
		return true;
	}
	mended = mem_alloc(c->s->chunk_size);
	if (!mended)
		return false;
	descriptors_mend(c, number, mended);
	out_bytes(c->out, mended, len);
	mem_free(mended);
	return true;
}
