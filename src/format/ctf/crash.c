/* SPEC ctf/ring-buffer: shared memory of LTTng-UST's ring buffers; wire.h has its layout. */
#include "format/ctf/crash.h"

#include <string.h>

#include "base/bits.h"
#include "format/ctf/wire.h"

enum { MAX_SUBBUFS = 1 << 20 };

/* Of a sub-buffer's number in overwrite mode, above it are flags. */
static const uint64_t number_mask = 0x7FFFFFFF;

static const uint8_t magic[CTF_WIRE_RING_MAGIC] = { 0x17, 0x7B, 0xF1, 0x77, 0xBF, 0x17, 0x7B, 0xF1,
				 0x77, 0xBF, 0x17, 0x7B, 0xF1, 0x77, 0xBF, 0x17 };

bool crash_is(const uint8_t *data, uint64_t size)
{
	return size >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

/* A number of 4 or 8 bytes. False: it is not in the file. */
static bool number_at(const struct ctf_ring *r, uint64_t at, uint8_t bytes, uint64_t *out)
{
	if (at > r->size || r->size - at < bytes || (bytes != 4 && bytes != 8))
		return false;
	*out = bytes == 4 ? load32(r->data + at, r->swap) : load64(r->data + at, r->swap);
	return true;
}

bool crash_open(struct ctf_ring *r, const uint8_t *data, uint64_t size)
{
	uint64_t buffer, consumed;

	*r = (struct ctf_ring){ .data = data, .size = size };
	if (size < CTF_WIRE_RING || !crash_is(data, size))
		return false;
	r->swap = load16(data + CTF_WIRE_RING_ORDER, false) != CTF_WIRE_RING_IS_OWN;
	if (load16(data + CTF_WIRE_RING_ORDER, r->swap) != CTF_WIRE_RING_IS_OWN)
		return false;
	for (size_t i = 0; i < RING_ATS; i++)
		r->at[i] = load32(data + CTF_WIRE_RING_AT + 4 * i, r->swap);
	memcpy(r->bytes, data + CTF_WIRE_RING_BYTES, sizeof(r->bytes));
	for (size_t i = 0; i < RING_STRIDES; i++)
		r->stride[i] = load32(data + CTF_WIRE_RING_STRIDE + 4 * i, r->swap);
	buffer = load64(data + CTF_WIRE_RING_SIZE, r->swap);
	r->subbuf = load64(data + CTF_WIRE_RING_SUBBUF, r->swap);
	r->count = load64(data + CTF_WIRE_RING_COUNT, r->swap);
	if (!r->subbuf || buffer > size || !r->count || r->count > MAX_SUBBUFS ||
	    buffer / r->subbuf != r->count || buffer % r->subbuf ||
	    !number_at(r, r->at[RING_AT_PRODUCED], r->bytes[RING_BYTES_PRODUCED], &r->end) ||
	    !number_at(r, r->at[RING_AT_CONSUMED], r->bytes[RING_BYTES_CONSUMED], &consumed) ||
	    consumed > r->end || r->end > INT64_MAX)
		return false;
	/* What was produced a whole buffer ago is gone. */
	r->next = r->end > buffer ? (r->end - 1) / r->subbuf * r->subbuf + r->subbuf - buffer : 0;
	consumed -= consumed % r->subbuf;
	if (consumed > r->next)
		r->next = consumed;
	return true;
}

/*
 * Finds the sub-buffer that begins after `produced` bytes. Returns false if its numbers are
 * invalid.
 */
static bool subbuf_at(const struct ctf_ring *r, uint64_t produced, struct ctf_subbuf *out)
{
	const uint64_t index = produced / r->subbuf % r->count;
	const uint64_t before = produced / (r->subbuf * r->count) * r->subbuf;
	uint64_t commit, number, place;

	if (!number_at(r,
		       r->at[RING_AT_COMMITS] + index * r->stride[RING_STRIDE_COMMITS] +
			       r->at[RING_AT_COMMIT],
		       r->bytes[RING_BYTES_COMMIT], &commit) ||
	    !number_at(r,
		       r->at[RING_AT_NUMBERS] + index * r->stride[RING_STRIDE_NUMBERS] +
			       r->at[RING_AT_NUMBER],
		       r->bytes[RING_BYTES_NUMBER], &number) ||
	    !number_at(r,
		       r->at[RING_AT_SUBBUFS] +
			       (number & number_mask) * r->stride[RING_STRIDE_SUBBUFS] +
			       r->at[RING_AT_SUBBUF],
		       r->bytes[RING_BYTES_SUBBUF], &place) ||
	    place > r->size ||
	    !number_at(r, place + r->at[RING_AT_BYTES], r->bytes[RING_BYTES_BYTES], &out->off) ||
	    out->off > r->size || r->size - out->off < r->subbuf)
		return false;
	/*
	 * The counter adds up what was written in every round; of a round that is over it says
	 * nothing any more.
	 */
	out->bytes = commit - before;
	out->whole = out->bytes == r->subbuf;
	return out->bytes <= r->subbuf;
}

bool crash_next(struct ctf_ring *r, struct ctf_subbuf *out)
{
	/* Invariant: next grows with every turn, and by a buffer at most. */
	while (r->next < r->end) {
		const uint64_t at = r->next;

		if (r->subbuf > UINT64_MAX - at)
			break;
		r->next += r->subbuf;
		*out = (struct ctf_subbuf){ 0 };
		out->bad = !subbuf_at(r, at, out);
		if (out->bad || out->bytes)
			return true;
	}
	return false;
}
