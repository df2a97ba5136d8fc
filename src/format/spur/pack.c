/* Packing records and descriptors into chunks. */
#include "format/spur/pack.h"

#include <assert.h>

#include "base/bits.h"
#include "base/mem.h"

/* A piece of what fills its page goes on behind it: SPEC spur/more */
enum { PIECE_LEAST = 3 * SPB_WORD };

/* Bytes for a record's head, and for the records of time, CPU and fiber before it. */
enum { SPB_RECORD_ROOM = 10 * SPB_WORD };

static bool swaps(void)
{
	return order_swaps(false);
}

bool spb_pack_open(struct spb_pack *p, struct out *out, uint32_t chunk_size)
{
	*p = (struct spb_pack){ .out = out, .chunk_size = chunk_size };
	p->chunk = mem_alloc(chunk_size);
	return p->chunk;
}

void spb_pack_free(struct spb_pack *p)
{
	mem_free(p->chunk);
}

/* SPEC spur/chunk: the clock counts ns, so both halves of a pair are the same. */
static void head_put(const struct spb_pack *p, uint64_t ticks)
{
	uint8_t *const c = p->chunk;

	store32(c, SPB_CHUNK_MAGIC, swaps());
	store16(c + SPB_KIND_AT, p->kind, swaps());
	store16(c + SPB_STATE_AT, SPB_FULL, swaps());
	store64(c + SPB_SEQUENCE_AT, p->sequence, swaps());
	store32(c + SPB_TID_AT, p->tid, swaps());
	store32(c + SPB_THREAD_AT, p->thread, swaps());
	store64(c + SPB_OPEN_AT, ticks, swaps());
	store64(c + SPB_OPEN_AT + 8, ticks, swaps());
}

static void chunk_begin(struct spb_pack *p, uint64_t ticks)
{
	memset(p->chunk, 0, p->chunk_size);
	p->sequence++;
	p->ticks = ticks;
	p->at = SPB_CHUNK_HEAD;
	if (!p->head) {
		head_put(p, ticks);
		return;
	}
	memcpy(p->chunk, p->head, SPB_CHUNK_HEAD);
	p->ticks = load64(p->head + SPB_OPEN_AT, swaps());
}

static void chunk_end(struct spb_pack *p)
{
	if (!p->at)
		return;
	if (!p->head) {
		store64(p->chunk + SPB_CLOSE_AT, p->ticks, swaps());
		store64(p->chunk + SPB_CLOSE_AT + 8, p->ticks, swaps());
	}
	if (p->out)
		out_bytes(p->out, p->chunk, p->chunk_size);
	p->nchunks++;
	p->at = 0;
}

void spb_pack_stream(struct spb_pack *p, uint32_t thread, uint32_t tid)
{
	chunk_end(p);
	p->kind = thread ? SPB_CHUNK_RECORDS : SPB_CHUNK_DESCRIPTORS;
	p->thread = thread;
	p->tid = tid;
	p->cpu = 0;
	p->fiber = 0;
}

static uint32_t page_left(uint32_t at)
{
	return SPB_PAGE - at % SPB_PAGE;
}

uint64_t spb_pack_room(uint64_t bytes)
{
	/* Each page has a head of 16 bytes at most. */
	const uint64_t pages = bytes / (SPB_PAGE - 2 * SPB_WORD) + 2;
	uint64_t size = SPB_CHUNK_LEAST;

	while (size < pages * SPB_PAGE)
		size *= 2;
	/* Most fit into a page. */
	return bytes + SPB_CHUNK_HEAD + SPB_RECORD_ROOM <= SPB_PAGE ? SPB_CHUNK_LEAST : size;
}

/* Moves on to a place for `bytes` in one page, or in several. Returns false: another chunk. */
static bool place_find(struct spb_pack *p, uint64_t bytes)
{
	const uint32_t left = page_left(p->at);
	uint64_t at = p->at, needed = bytes;

	if (bytes <= left && p->at < p->chunk_size)
		return true;
	if (bytes <= SPB_PAGE || left < PIECE_LEAST)
		at += left % SPB_PAGE;
	if (at >= p->chunk_size)
		return false;
	if (bytes > SPB_PAGE)
		needed += bytes / (SPB_PAGE - 2 * SPB_WORD) * 2 * SPB_WORD + 4 * SPB_WORD;
	if (at + needed > p->chunk_size)
		return false;
	p->at = (uint32_t)at;
	return true;
}

/* Writes a piece of a record, as many words as the page has room for. Returns their number. */
static size_t piece_put(struct spb_pack *p, const struct spb_pack_record *r, uint8_t kind,
			size_t done)
{
	uint8_t *to = p->chunk + p->at;
	const size_t left = page_left(p->at) / SPB_WORD - 1, more = r->words - done;
	size_t words = more < left ? more : left;
	const bool far = words >= SPB_LENGTH_FAR;

	if (far && words == left)
		words--;
	store64(to,
		kind | (uint64_t)(far ? SPB_LENGTH_FAR : words) << 4 | (uint64_t)r->id << 8 |
			r->ticks << 32,
		swaps());
	to += SPB_WORD;
	if (far) {
		store64(to, words, swaps());
		to += SPB_WORD;
	}
	if (words)
		memcpy(to, (const uint8_t *)r->payload + done * SPB_WORD, words * SPB_WORD);
	p->at = (uint32_t)(to - p->chunk) + (uint32_t)(words * SPB_WORD);
	return words;
}

static void record_put(struct spb_pack *p, const struct spb_pack_record *r)
{
	size_t done = piece_put(p, r, r->kind, 0);

	while (done < r->words) {
		assert(p->at % SPB_PAGE == 0 && p->at < p->chunk_size);
		done += piece_put(p, r, SPB_MORE, done);
	}
	p->ticks = r->ticks;
}

static uint64_t record_size(size_t words)
{
	return (words + (words >= SPB_LENGTH_FAR ? 2 : 1)) * SPB_WORD;
}

/* SPEC spur/time: returns true if the low half of the ticks does not tell them. */
static bool is_far(const struct spb_pack *p, uint64_t ticks)
{
	const int64_t step = (int64_t)(ticks - p->ticks);

	return step > INT32_MAX || step < INT32_MIN;
}

/* Brings the time near. A chunk that has just begun has room for that. */
static void time_reach(struct spb_pack *p, uint64_t ticks)
{
	const uint64_t stored = load64((const uint8_t *)&ticks, swaps());

	if (is_far(p, ticks))
		record_put(p, &(struct spb_pack_record){ .kind = SPB_TIME,
							 .ticks = ticks,
							 .payload = &stored,
							 .words = 1 });
}

/* SPEC spur/cpu: each chunk says again on which CPU, and in which fiber, its thread runs. */
static void chunk_for(struct spb_pack *p, uint64_t ticks)
{
	const uint64_t fiber = load64((const uint8_t *)&p->fiber, swaps());

	chunk_end(p);
	chunk_begin(p, ticks);
	time_reach(p, ticks);
	if (p->cpu)
		record_put(p, &(struct spb_pack_record){
				      .kind = SPB_CPU, .id = p->cpu, .ticks = ticks });
	if (p->fiber)
		record_put(p, &(struct spb_pack_record){ .kind = SPB_FIBER,
							 .ticks = ticks,
							 .payload = &fiber,
							 .words = 1 });
}

void spb_pack_record(struct spb_pack *p, const struct spb_pack_record *r)
{
	const uint64_t size = record_size(r->words);

	if (!p->at || (is_far(p, r->ticks) && !place_find(p, record_size(1))))
		chunk_for(p, r->ticks);
	time_reach(p, r->ticks);
	if (!place_find(p, size)) {
		bool found;

		chunk_for(p, r->ticks);
		found = place_find(p, size);
		/* A chunk has room for each record. */
		assert(found);
		(void)found;
	}
	record_put(p, r);
	if (r->kind == SPB_CPU)
		p->cpu = r->id;
	else if (r->kind == SPB_FIBER)
		p->fiber = r->words ? load64(r->payload, swaps()) : 0;
}

void spb_pack_descriptor(struct spb_pack *p, uint32_t type, const void *body, size_t len,
			 uint64_t ticks)
{
	const uint8_t *from = body;

	if (!p->at)
		chunk_begin(p, ticks);
	if (!place_find(p, SPB_DESCRIPTOR_HEAD + align_up(len, SPB_WORD))) {
		chunk_end(p);
		chunk_begin(p, ticks);
		place_find(p, SPB_DESCRIPTOR_HEAD + align_up(len, SPB_WORD));
	}
	do {
		const size_t left = page_left(p->at) - SPB_DESCRIPTOR_HEAD;
		const size_t n = len < left ? len : left;
		const size_t size = SPB_DESCRIPTOR_HEAD + (size_t)align_up(n, SPB_WORD);

		assert(p->at + size <= p->chunk_size);
		store32(p->chunk + p->at, (uint32_t)size, swaps());
		store32(p->chunk + p->at + 4, type, swaps());
		memcpy(p->chunk + p->at + SPB_DESCRIPTOR_HEAD, from, n);
		p->at += (uint32_t)size;
		from += n;
		len -= n;
		type = SPB_MORE_DESCRIPTOR;
	} while (len);
}

void spb_pack_begin(struct spb_pack *p)
{
	chunk_end(p);
	chunk_begin(p, 0);
}
