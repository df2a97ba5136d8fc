/* String ids. See intern.h. */
#include "base/intern.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/bits.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/os.h"

enum {
	SEG_BITS = 8, /* the first segment has 2^SEG_BITS entries, each next one twice as many */
	SEGS = 32 - SEG_BITS,
	TABLE_MIN = 512,
};

#define IDS_MAX ((uint32_t)1 << 31)

/*
 * Before a text stands its length: a byte, or LONG after four bytes that have it. So there are 8
 * bytes a string beside its text, and 8 to 16 of the table.
 */
enum { LONG = UINT8_MAX, LONG_HEAD = 5, SHORT_HEAD = 1 };

/*
 * Readers go by `count` and `segs` only: an entry is complete before the count that covers it is
 * published, and segments never move. The rest belongs to the holder of the lock.
 */
struct intern {
	_Atomic(const char **) segs[SEGS]; /* texts */
	_Atomic uint32_t count;
	uint64_t seed; /* drawn by chance, so that no input is made of colliding strings */
	pthread_mutex_t lock;
	uint32_t *table; /* id + 1, or 0 */
	size_t cap; /* of the table: a power of two */
	struct arena arena;
};

static uint32_t text_hash(const struct intern *in, const char *s, size_t len)
{
	const uint64_t h = hash_bytes(s, len, in->seed);

	return (uint32_t)(h ^ (h >> 32));
}

/* Segment and place of an id: segment k holds the ids from 2^SEG_BITS * (2^k - 1) on. */
static unsigned seg_of(uint32_t id, uint32_t *at)
{
	const uint32_t n = (id >> SEG_BITS) + 1;
	const unsigned k = 31 - (unsigned)__builtin_clz(n);

	*at = id - ((((uint32_t)1 << k) - 1) << SEG_BITS);
	return k;
}

static size_t seg_entries(unsigned k)
{
	return (size_t)1 << (k + SEG_BITS);
}

/* The text of a known id. */
static const char *text_of(const struct intern *in, uint32_t id)
{
	uint32_t at;
	const unsigned k = seg_of(id, &at);

	return atomic_load_explicit(&in->segs[k], memory_order_relaxed)[at];
}

static size_t text_len(const char *text)
{
	const uint8_t len = (uint8_t)text[-SHORT_HEAD];

	return len < LONG ? len : load32((const uint8_t *)text - LONG_HEAD, false);
}

/* Returns a copy with its length before it, or NULL if out of memory. */
static const char *text_copy(struct arena *a, const char *s, size_t len)
{
	const size_t head = len < LONG ? SHORT_HEAD : LONG_HEAD;
	const uint32_t n = (uint32_t)len;
	char *p = arena_chars(a, head + len + 1);

	if (!p)
		return NULL;
	if (head == LONG_HEAD)
		memcpy(p, &n, sizeof(n));
	p += head;
	p[-SHORT_HEAD] = (char)(len < LONG ? len : LONG);
	if (len)
		memcpy(p, s, len);
	return p;
}

struct intern *intern_new(void)
{
	struct intern *in = mem_alloc(sizeof(*in));

	if (!in)
		return NULL;
	if (os_getrandom(&in->seed, sizeof(in->seed), GRND_NONBLOCK) != sizeof(in->seed))
		in->seed = (uint64_t)(uintptr_t)in;
	arena_init_scratch(&in->arena);
	in->cap = TABLE_MIN;
	in->table = mem_table_alloc(in->cap, sizeof(*in->table));
	if (pthread_mutex_init(&in->lock, NULL)) {
		mem_table_free(in->table, in->cap, sizeof(*in->table));
		mem_free(in);
		return NULL;
	}
	if (!in->table || intern_put(in, "", 0) != 0) {
		intern_free(in);
		return NULL;
	}
	return in;
}

void intern_free(struct intern *in)
{
	if (!in)
		return;
	for (unsigned i = 0; i < SEGS; i++)
		mem_table_free(atomic_load(&in->segs[i]), seg_entries(i), sizeof(*in->segs[i]));
	arena_free(&in->arena);
	mem_table_free(in->table, in->cap, sizeof(*in->table));
	pthread_mutex_destroy(&in->lock);
	mem_free(in);
}

/* The slot of the string, or the free one where it belongs. The table is never full. */
static uint32_t *slot_find(const struct intern *in, const char *s, size_t len, uint32_t hash)
{
	for (size_t i = hash & (in->cap - 1);; i = (i + 1) & (in->cap - 1)) {
		uint32_t *slot = &in->table[i];
		const char *text;

		if (!*slot)
			return slot;
		text = text_of(in, *slot - 1);
		if (text_len(text) == len && (!len || !memcmp(text, s, len)))
			return slot;
	}
}

static bool table_grow(struct intern *in)
{
	const size_t cap = in->cap * 2;
	uint32_t *table = mem_table_alloc(cap, sizeof(*table));

	if (!table)
		return false;
	for (size_t i = 0; i < in->cap; i++) {
		const char *text;
		size_t k;

		if (!in->table[i])
			continue;
		text = text_of(in, in->table[i] - 1);
		k = text_hash(in, text, text_len(text)) & (cap - 1);
		while (table[k])
			k = (k + 1) & (cap - 1);
		table[k] = in->table[i];
	}
	mem_table_free(in->table, in->cap, sizeof(*table));
	in->table = table;
	in->cap = cap;
	return true;
}

/* Adds a string that is not there. */
static uint32_t entry_add(struct intern *in, const char *s, size_t len, uint32_t hash)
{
	const uint32_t id = atomic_load_explicit(&in->count, memory_order_relaxed);
	uint32_t at;
	const unsigned k = seg_of(id, &at);
	const char **seg = atomic_load_explicit(&in->segs[k], memory_order_relaxed);
	const char *text;

	if (id >= IDS_MAX)
		return INTERN_NONE;
	if (2 * ((size_t)id + 1) > in->cap && !table_grow(in))
		return INTERN_NONE;
	if (!seg) {
		seg = mem_table_alloc(seg_entries(k), sizeof(*seg));
		if (!seg)
			return INTERN_NONE;
		atomic_store_explicit(&in->segs[k], seg, memory_order_release);
	}
	text = text_copy(&in->arena, s, len);
	if (!text)
		return INTERN_NONE;
	assert(at < seg_entries(k) && 2 * (size_t)(id + 1) <= in->cap);
	seg[at] = text;
	*slot_find(in, s, len, hash) = id + 1;
	atomic_store_explicit(&in->count, id + 1, memory_order_release);
	return id;
}

uint32_t intern_put(struct intern *in, const char *s, size_t len)
{
	uint32_t hash, id;

	if (len >= UINT32_MAX)
		return INTERN_NONE;
	hash = text_hash(in, s, len);
	pthread_mutex_lock(&in->lock);
	id = *slot_find(in, s, len, hash);
	id = id ? id - 1 : entry_add(in, s, len, hash);
	pthread_mutex_unlock(&in->lock);
	return id;
}

uint32_t intern_find(struct intern *in, const char *s, size_t len)
{
	uint32_t hash, id;

	if (len >= UINT32_MAX)
		return INTERN_NONE;
	hash = text_hash(in, s, len);
	pthread_mutex_lock(&in->lock);
	id = *slot_find(in, s, len, hash);
	pthread_mutex_unlock(&in->lock);
	return id ? id - 1 : INTERN_NONE;
}

const char *intern_text(const struct intern *in, uint32_t id, size_t *len)
{
	const char *text = NULL;

	if (id < atomic_load_explicit(&in->count, memory_order_acquire))
		text = text_of(in, id);
	if (len)
		*len = text ? text_len(text) : 0;
	return text ? text : "";
}

uint32_t intern_count(const struct intern *in)
{
	return atomic_load_explicit(&in->count, memory_order_acquire);
}
