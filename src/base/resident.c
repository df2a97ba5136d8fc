/* See resident.h. */
#include "base/resident.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/os.h"

enum {
	/* Linux maps pages around a fault up to this size and alignment, if they are cached. */
	WINDOW = 64 << 10,
	BLOCK = 2 << 20, /* the most that it maps at once, where its cache has large pages */
	MOST = 8 << 20, /* bytes of windows that are passed before they are given back */
	RANGES = MOST / WINDOW,
};

/* Windows of a mapping that have been read from, as addresses. */
struct range {
	const uint8_t *data;
	uintptr_t map_end;
	uintptr_t begin, end; /* multiples of WINDOW */
};

/*
 * INVARIANT: `bytes` is the sum of all ranges, which belong to mappings that exist, and `recent` is
 * at most `count`.
 */
static struct {
	pthread_mutex_t lock;
	struct range list[RANGES];
	uint32_t count, recent;
	uint64_t bytes;
} passed = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Number of times that all ranges were given back. */
static atomic_uint rounds;
/* The window that this thread passed last, and in which round; most calls are in the same one. */
static _Thread_local uintptr_t last_window;
static _Thread_local unsigned last_round;

/*
 * Whole blocks are given back: a fault may have mapped the bytes before and behind it. The block
 * before is one of them, since rows are often made text a little later.
 */
static void range_drop(const struct range *r)
{
	const uintptr_t first = (uintptr_t)r->data, mask = ~(uintptr_t)(BLOCK - 1);
	const uintptr_t begin = ((r->begin > first ? r->begin : first) - first) & mask;
	const uintptr_t end = ((r->end - first) + BLOCK - 1) & mask, size = r->map_end - first;
	const uintptr_t from = begin > BLOCK ? begin - BLOCK : 0, to = end < size ? end : size;

	assert(from < to);
	os_madvise((void *)(first + from), to - from, MADV_DONTNEED);
}

/* Called with passed.lock held. */
static void drop_all(void)
{
	for (uint32_t i = 0; i < passed.count; i++)
		range_drop(&passed.list[i]);
	passed.count = passed.recent = 0;
	passed.bytes = 0;
	atomic_fetch_add_explicit(&rounds, 1, memory_order_relaxed);
}

/*
 * Returns the range that [begin, end) extends. Feeds that are read in turn extend their ranges in
 * turn, so the search begins behind the range that was extended last. Called with passed.lock held.
 */
static struct range *range_find(const uint8_t *data, uintptr_t begin, uintptr_t end)
{
	assert(passed.recent <= passed.count);
	for (uint32_t i = 0, k = passed.recent; i < passed.count; i++, k++) {
		struct range *const r = &passed.list[k < passed.count ? k : k - passed.count];

		if (r->data == data && begin <= r->end && end >= r->begin)
			return r;
	}
	return NULL;
}

/* Called with passed.lock held. */
static void range_add(const uint8_t *data, uintptr_t map_end, uintptr_t begin, uintptr_t end)
{
	struct range *r = range_find(data, begin, end);

	if (!r) {
		/* Each range has a window at least, so more would have been given back. */
		assert(passed.count < RANGES);
		r = &passed.list[passed.count++];
		*r = (struct range){ data, map_end, begin, begin };
	}
	passed.bytes -= r->end - r->begin;
	r->begin = begin < r->begin ? begin : r->begin;
	r->end = end > r->end ? end : r->end;
	r->map_end = map_end;
	passed.bytes += r->end - r->begin;
	passed.recent = (uint32_t)(r - passed.list) + 1;
	if (passed.bytes >= MOST)
		drop_all();
}

void resident_passed(const uint8_t *data, uint64_t size, uint64_t from, uint64_t to)
{
	const uintptr_t base = (uintptr_t)data, mask = ~(uintptr_t)(WINDOW - 1);
	uintptr_t begin, end;

	to = to < size ? to : size;
	if (from >= to)
		return;
	begin = (base + (uintptr_t)from) & mask;
	end = (base + (uintptr_t)to - 1) & mask;
	if (begin == end && begin == last_window &&
	    last_round == atomic_load_explicit(&rounds, memory_order_relaxed))
		return;
	pthread_mutex_lock(&passed.lock);
	range_add(data, base + (uintptr_t)size, begin, end + WINDOW);
	last_window = end;
	last_round = atomic_load_explicit(&rounds, memory_order_relaxed);
	pthread_mutex_unlock(&passed.lock);
}

void resident_unmap(const uint8_t *data, size_t size)
{
	pthread_mutex_lock(&passed.lock);
	for (uint32_t i = 0; i < passed.count;) {
		struct range *const r = &passed.list[i];

		if (r->data != data) {
			i++;
			continue;
		}
		passed.bytes -= r->end - r->begin;
		*r = passed.list[--passed.count];
	}
	passed.recent = 0;
	assert(passed.count || !passed.bytes);
	/* The next mapping may have the same addresses. */
	atomic_fetch_add_explicit(&rounds, 1, memory_order_relaxed);
	pthread_mutex_unlock(&passed.lock);
	os_munmap((void *)(uintptr_t)data, size);
}
