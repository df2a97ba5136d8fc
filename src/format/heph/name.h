/*
 * Names that records carry in full (descriptions, options, attributes) to string ids and classes:
 * usually by comparing a few bytes. Any thread may look up; entries do not change after they are
 * published.
 */
#ifndef SPUR_FORMAT_HEPH_NAME_H
#define SPUR_FORMAT_HEPH_NAME_H

#include "base/bits.h"
#include "base/key_index.h"
#include "model/trace.h"

enum {
	HEPH_NAME_SLOTS = 2048,
	/* SPEC heph/name-limit: distinct names that get an id; the others share heph_names.other */
	HEPH_NAMES = 1 << 20,
	HEPH_NAME_BYTES = 64 << 20, /* and all bytes of those */
};

struct heph_name {
	uint64_t first; /* as heph_name_words() has it */
	const char *text;
	uint32_t len;
	uint32_t id; /* string id */
	uint32_t cls; /* 0: these names have no classes */
};

static_assert(sizeof(struct heph_name) <= 32, "there may be a million names");

enum { HEPH_NAME_PAGE = 256 };

struct heph_names {
	struct spur_trace *trace;
	/* Of the classes made: all but the name; no flags: none are made. */
	struct event_class model;
	struct heph_name *slots[HEPH_NAME_SLOTS]; /* atomic; the latest look-up of each slot */
	const struct heph_name *other; /* the entry of all names beyond the limits */
	pthread_mutex_t lock; /* guards the members below */
	struct key_index by_id; /* entries by string id */
	struct heph_name **pages; /* of HEPH_NAME_PAGE entries, which never move */
	size_t count, pages_cap, bytes;
};

/*
 * `flags` and `cat` are those of the classes; flags 0: make no classes. Returns false if out of
 * memory; heph_names_free() must be called then too.
 */
bool heph_names_init(struct heph_names *n, struct spur_trace *t, uint32_t flags, const char *cat);
void heph_names_free(struct heph_names *n);
/* The slow path of the function below. */
const struct heph_name *heph_name_slow(struct heph_names *n, const uint8_t *p, size_t len,
				       size_t slot);

/*
 * The first and the last sixteen bytes, which may overlap; of less than eight, these and zeros.
 * Requires at least eight readable bytes before p, as before every name in a packet.
 */
static inline void heph_name_words(const uint8_t *p, size_t len, uint64_t words[4])
{
	if (__builtin_expect(len < 8, 0)) {
		const uint64_t last = load64(p + len - 8, false);

		/*
		 * Removes the bytes before the name, in two steps, as a shift by 64 bits is
		 * undefined.
		 */
		words[0] = order_swaps(true) ? last >> 1 >> (63 - 8 * len)
					     : last << 1 << (63 - 8 * len);
		words[1] = words[2] = words[3] = 0;
		return;
	}
	words[0] = load64(p, false);
	words[1] = load64(p + (len < 16 ? len - 8 : 8), false);
	words[2] = load64(p + (len < 16 ? 0 : len - 16), false);
	words[3] = load64(p + len - 8, false);
}

/* Returns true if the entry's name is the one of `len` bytes at `p`, whose words are `w`. */
static inline __attribute__((always_inline)) bool
heph_name_is(const struct heph_name *e, const uint8_t *p, size_t len, const uint64_t w[4])
{
	uint64_t words[4];

	if ((e->first ^ w[0]) | (e->len ^ len))
		return false;
	if (__builtin_expect(len < 8, 0))
		return true;
	heph_name_words((const uint8_t *)e->text, len, words);
	return !((words[1] ^ w[1]) | (words[2] ^ w[2]) | (words[3] ^ w[3])) &&
	       (len <= 32 || !memcmp(e->text + 16, p + 16, len - 32));
}

/* Returns NULL if out of memory. */
static inline __attribute__((always_inline)) const struct heph_name *
heph_name_get(struct heph_names *n, const uint8_t *p, size_t len)
{
	const struct heph_name *e;
	uint64_t w[4];
	size_t slot;

	heph_name_words(p, len, w);
	/* Top bits of a product: see heph_track_get(). */
	slot = (size_t)(((w[0] + w[3] * 0x9E3779B97F4A7C15u + len) * 0xD6E8FEB86659FD93u) >> 53);
	e = __atomic_load_n(&n->slots[slot], __ATOMIC_ACQUIRE);
	if (__builtin_expect(e && heph_name_is(e, p, len, w), 1))
		return e;
	return heph_name_slow(n, p, len, slot);
}

#endif
