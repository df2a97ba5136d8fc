/*
 * Strings that events name by an id, and points whose name is such a string. Both are found in
 * tables without a lock, also in signal handlers; only what is met first takes the lock.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

enum {
	STRING_SLOTS = SEAM_STRINGS * 2,
	NAMED_MOST = SEAM_STRINGS / 2,
	NAMED_SLOTS = SEAM_STRINGS,
};

/* INVARIANT: slots are never changed once they are in use, and half of them stay empty. */
static struct string_slot {
	uint32_t hash;
	uint32_t id; /* stored last; 0: the slot is empty */
} string_slots[STRING_SLOTS];

static struct named_slot {
	uint64_t key; /* the point's own number, and the id of its name */
	uint32_t number; /* stored last; 0: the slot is empty */
} named_slots[NAMED_SLOTS];

/* Called with the lock. */
static uint32_t nstrings, nnamed;

/* The last bytes of a string, of which a word that may overlap others has up to eight. */
static uint64_t string_end(const char *s, size_t len)
{
	const uint8_t *const bytes = (const uint8_t *)s;
	uint64_t piece = 0;
	uint32_t first, last;

	if (len >= sizeof(piece)) {
		memcpy(&piece, s + len - sizeof(piece), sizeof(piece));
	} else if (len >= sizeof(first)) {
		memcpy(&first, s, sizeof(first));
		memcpy(&last, s + len - sizeof(last), sizeof(last));
		piece = first | (uint64_t)last << 32;
	} else if (len) {
		piece = bytes[0] | (uint64_t)bytes[len / 2] << 8 | (uint64_t)bytes[len - 1] << 16;
	}
	return piece;
}

static uint64_t string_mix(uint64_t h, uint64_t piece)
{
	h = (h ^ piece) * UINT64_C(0x9E3779B97F4A7C15);
	return h ^ h >> 32;
}

static uint32_t string_hash(const char *s, size_t len)
{
	uint64_t h = len, piece;

	for (size_t i = 0; i + sizeof(piece) < len; i += sizeof(piece)) {
		memcpy(&piece, s + i, sizeof(piece));
		h = string_mix(h, piece);
	}
	return (uint32_t)string_mix(h, string_end(s, len));
}

/* The string's slot, or the empty one that it would have. */
static struct string_slot *string_find(const char *s, size_t len, uint32_t hash, uint32_t *id)
{
	for (uint32_t i = hash;; i++) {
		struct string_slot *const slot = &string_slots[i % STRING_SLOTS];
		const char *there;
		size_t there_len;

		*id = seam_load32(&slot->id);
		if (!*id)
			return slot;
		if (slot->hash != hash)
			continue;
		there = core_described_string(*id, &there_len);
		if (there && there_len == len && memcmp(there, s, len) == 0)
			return slot;
	}
}

uint64_t spur_trace_string(const char *text)
{
	const char *const s = text ? text : "(null)";
	const size_t len = core_text_cut(s, strlen(s), SPUR_TRACE_TEXT_MAX);
	const uint32_t hash = string_hash(s, len);
	struct string_slot *slot;
	uint32_t id;

	string_find(s, len, hash, &id);
	if (id || !core_enter())
		return id;
	slot = string_find(s, len, hash, &id);
	if (!id && nstrings < SEAM_STRINGS)
		id = core_describe_string(s, len);
	if (id && !slot->id) {
		nstrings++;
		slot->hash = hash;
		seam_store32(&slot->id, id);
	}
	core_leave();
	return id;
}

/* The slot of a point with a name, or the empty one that it would have. */
static struct named_slot *named_find(uint64_t key, uint32_t *number)
{
	for (uint64_t i = (key * UINT64_C(0x9E3779B97F4A7C15)) >> 40;; i++) {
		struct named_slot *const slot = &named_slots[i % NAMED_SLOTS];

		*number = seam_load32(&slot->number);
		if (!*number || slot->key == key)
			return slot;
	}
}

uint32_t spur_trace_named(struct spur_trace_site *site, uint64_t name)
{
	const uint32_t own = spur_trace_look(site);
	const uint64_t key = (uint64_t)own << 32 | (uint32_t)name;
	struct named_slot *slot;
	uint32_t number;

	if (!own || !name)
		return own;
	named_find(key, &number);
	if (number)
		return number;
	/* Without another name there is the point's own. */
	if (!core_enter())
		return own;
	slot = named_find(key, &number);
	if (!number && nnamed < NAMED_MOST) {
		number = core_describe_named(site, name);
		if (number) {
			nnamed++;
			slot->key = key;
			seam_store32(&slot->number, number);
		}
	}
	core_leave();
	return number ? number : own;
}
