/* LTTng's index files, versions 1.0 and 1.1; wire.h has their layout. */
#include "format/ctf/hints.h"

#include "base/bits.h"
#include "base/search.h"
#include "format/ctf/wire.h"

static uint64_t word(const uint8_t *p)
{
	return load64(p, order_swaps(true));
}

static bool rises(const struct ctf_hints *h)
{
	for (size_t i = 1; i < h->count; i++)
		if (word(h->entries + i * h->size) <= word(h->entries + (i - 1) * h->size))
			return false;
	return true;
}

bool hints_open(struct ctf_hints *h, const uint8_t *data, uint64_t size, const char **why)
{
	uint32_t minor;

	*h = (struct ctf_hints){ 0 };
	*why = NULL;
	if (size < CTF_WIRE_INDEX || load32(data, order_swaps(true)) != CTF_WIRE_INDEX_MAGIC) {
		*why = "expected an index file with magic number C1F1DCC1, found another file";
		return false;
	}
	minor = load32(data + 8, order_swaps(true));
	h->size = load32(data + 12, order_swaps(true));
	h->has_instance = minor >= 1;
	if (load32(data + 4, order_swaps(true)) != 1 || h->size % 8 ||
	    h->size < (h->has_instance ? CTF_WIRE_INDEX_ENTRY_1 : CTF_WIRE_INDEX_ENTRY_0)) {
		*why = "expected an index file of version 1.0 or 1.1, found another version";
		return false;
	}
	h->entries = data + CTF_WIRE_INDEX;
	h->count = (size_t)((size - CTF_WIRE_INDEX) / h->size);
	if (rises(h))
		return true;
	*why = "expected packets in their order in the stream, found another order";
	return false;
}

void hints_get(const struct ctf_hints *h, size_t i, struct ctf_hint *out)
{
	const uint8_t *p = h->entries + i * h->size;

	*out = (struct ctf_hint){
		.off = word(p),
		.total = word(p + 8),
		.content = word(p + 16),
		.begin = word(p + 24),
		.end = word(p + 32),
		.discarded = word(p + 40),
		.class_id = word(p + 48),
		.has_instance = h->has_instance,
	};
	if (h->has_instance) {
		out->instance = word(p + 56);
		out->sequence = word(p + 64);
	}
}

size_t hints_find(const struct ctf_hints *h, uint64_t off)
{
	size_t low;

	bisect(low, 0, h->count, word(h->entries + low * h->size) < off);
	return low;
}
