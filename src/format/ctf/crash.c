/*
 * SPEC ctf/ring-buffer: shared memory of LTTng-UST's ring buffers. It begins with 16 bytes of magic number; u64
 * length; u16 byte order (1234), major, minor; u8 word size, kind of layout; u32 places of: bytes produced, bytes
 * consumed, array of commit counters, counter in it, array of sub-buffer numbers, number in it, array of
 * sub-buffers, place of one in it, place of its bytes in that, of content and packet size in a packet; u8 sizes of
 * these numbers; u32 strides of the three arrays; u64 size of the buffer, size and number of its sub-buffers; u32
 * mode.
 */
#include "format/ctf/crash.h"

#include <string.h>

#include "base/bits.h"

enum {
	HEADER = 124,
	MAX_SUBBUFS = 1 << 20,
	/* In `at`. */
	AT_PRODUCED = 0,
	AT_CONSUMED,
	AT_COMMITS,
	AT_COMMIT,
	AT_NUMBERS,
	AT_NUMBER,
	AT_SUBBUFS,
	AT_SUBBUF,
	AT_BYTES,
	/* In `bytes`. */
	SIZE_PRODUCED = 0,
	SIZE_CONSUMED,
	SIZE_COMMIT,
	SIZE_NUMBER,
	SIZE_SUBBUF,
	SIZE_BYTES,
	/* In `stride`. */
	STRIDE_COMMITS = 0,
	STRIDE_NUMBERS,
	STRIDE_SUBBUFS,
	ORDER = 0x1234,
};

/* Of a sub-buffer's number in overwrite mode, above it are flags. */
static const uint64_t number_mask = 0x7FFFFFFF;

static const uint8_t magic[] = { 0x17, 0x7B, 0xF1, 0x77, 0xBF, 0x17, 0x7B, 0xF1,
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
	if (size < HEADER || !crash_is(data, size))
		return false;
	r->swap = load16(data + 24, false) != ORDER;
	if (load16(data + 24, r->swap) != ORDER)
		return false;
	for (size_t i = 0; i < 11; i++)
		r->at[i] = load32(data + 32 + 4 * i, r->swap);
	memcpy(r->bytes, data + 76, sizeof(r->bytes));
	for (size_t i = 0; i < 3; i++)
		r->stride[i] = load32(data + 84 + 4 * i, r->swap);
	buffer = load64(data + 96, r->swap);
	r->subbuf = load64(data + 104, r->swap);
	r->count = load64(data + 112, r->swap);
	if (!r->subbuf || buffer > size || !r->count || r->count > MAX_SUBBUFS ||
	    buffer / r->subbuf != r->count || buffer % r->subbuf ||
	    !number_at(r, r->at[AT_PRODUCED], r->bytes[SIZE_PRODUCED], &r->end) ||
	    !number_at(r, r->at[AT_CONSUMED], r->bytes[SIZE_CONSUMED], &consumed) ||
	    consumed > r->end || r->end > INT64_MAX)
		return false;
	/* What was produced a whole buffer ago is gone. */
	r->next = r->end > buffer ? (r->end - 1) / r->subbuf * r->subbuf + r->subbuf - buffer : 0;
	consumed -= consumed % r->subbuf;
	if (consumed > r->next)
		r->next = consumed;
	return true;
}

/* The sub-buffer that begins after so many bytes produced. False: what is said of it cannot be. */
static bool subbuf_at(const struct ctf_ring *r, uint64_t produced, struct ctf_subbuf *out)
{
	const uint64_t index = produced / r->subbuf % r->count;
	const uint64_t before = produced / (r->subbuf * r->count) * r->subbuf;
	uint64_t commit, number, place;

	if (!number_at(r, r->at[AT_COMMITS] + index * r->stride[STRIDE_COMMITS] + r->at[AT_COMMIT],
		       r->bytes[SIZE_COMMIT], &commit) ||
	    !number_at(r, r->at[AT_NUMBERS] + index * r->stride[STRIDE_NUMBERS] + r->at[AT_NUMBER],
		       r->bytes[SIZE_NUMBER], &number) ||
	    !number_at(r,
		       r->at[AT_SUBBUFS] + (number & number_mask) * r->stride[STRIDE_SUBBUFS] +
			       r->at[AT_SUBBUF],
		       r->bytes[SIZE_SUBBUF], &place) ||
	    place > r->size ||
	    !number_at(r, place + r->at[AT_BYTES], r->bytes[SIZE_BYTES], &out->off) ||
	    out->off > r->size || r->size - out->off < r->subbuf)
		return false;
	/* The counter adds up what was written in every round; of a round that is over it says nothing any more. */
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
