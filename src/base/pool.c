/* See pool.h. Pieces that were freed wait in a list for each size. */
#include "base/pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"
#include "base/mem.h"

enum {
	GRAIN = 16,
	LARGE = POOL_IS_HEAP ? 0 : 4096, /* bytes; larger pieces are the heap's */
	PAGE_LEAST = 4 << 10,
	PAGE_MOST = 1 << 20, /* large enough for a temporary file: see mem_table_alloc() */
};

struct pool_page {
	struct pool_page *next;
	size_t size, used; /* bytes, with this head */
	uint64_t unused; /* keeps pieces aligned */
};

static_assert(sizeof(struct pool_page) % GRAIN == 0, "pieces are aligned");

struct pool_piece {
	struct pool_piece *next;
};

static struct {
	pthread_mutex_t lock;
	struct pool_page *pages; /* the newest one first */
	struct pool_piece *freed[LARGE / GRAIN + 1]; /* by size / GRAIN */
	size_t live; /* pieces in use */
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Called with the lock held. Returns NULL if out of memory. */
static void *piece_new(size_t size)
{
	struct pool_page *page = pool.pages;

	if (!page || page->size - page->used < size) {
		const size_t want = !page			 ? PAGE_LEAST
				    : page->size < PAGE_MOST / 2 ? 2 * page->size
								 : PAGE_MOST;

		page = mem_table_alloc(1, want);
		if (!page)
			return NULL;
		*page = (struct pool_page){ .next = pool.pages, .size = want };
		page->used = sizeof(*page);
		pool.pages = page;
	}
	page->used += size;
	return (char *)page + page->used - size;
}

/* Called with the lock held, when no piece is in use. */
static void pages_free(void)
{
	while (pool.pages) {
		struct pool_page *page = pool.pages;

		pool.pages = page->next;
		mem_table_free(page, 1, page->size);
	}
	memset(pool.freed, 0, sizeof(pool.freed));
}

void *pool_alloc(size_t size)
{
	struct pool_piece **freed;
	void *p;

	if (POOL_IS_HEAP || size > LARGE)
		return mem_alloc(size);
	size = align_up(size ? size : 1, GRAIN);
	if (mem_refused()) {
		mem_failed(ENOMEM);
		return NULL;
	}
	freed = &pool.freed[size / GRAIN];
	pthread_mutex_lock(&pool.lock);
	p = *freed;
	if (p) {
		*freed = (*freed)->next;
		memset(p, 0, size);
	} else {
		p = piece_new(size);
	}
	pool.live += p != NULL;
	pthread_mutex_unlock(&pool.lock);
	return p;
}

void pool_free(void *p, size_t size)
{
	struct pool_piece *piece = p;

	if (POOL_IS_HEAP || size > LARGE) {
		mem_free(p);
		return;
	}
	if (!p)
		return;
	size = align_up(size ? size : 1, GRAIN);
	pthread_mutex_lock(&pool.lock);
	assert(pool.live);
	piece->next = pool.freed[size / GRAIN];
	pool.freed[size / GRAIN] = piece;
	if (!--pool.live)
		pages_free();
	pthread_mutex_unlock(&pool.lock);
}

void pool_array_free(void *p, size_t cap, size_t size)
{
	if (cap * size <= LARGE)
		pool_free(p, cap * size);
	else
		mem_table_free(p, cap, size);
}

bool pool_grow(void **p, size_t *cap, size_t need, size_t size, size_t limit)
{
	const size_t fits = LARGE / size;
	size_t want = *cap < limit / 2 ? *cap * 2 : limit;
	void *array, *bigger;

	if (need <= *cap)
		return true;
	if (need > limit)
		return false;
	want = want < need ? need : want;
	if (*cap > fits)
		return mem_table_grow(p, cap, need, size, limit);
	bigger = want <= fits ? pool_alloc(want * size) : mem_table_alloc(want, size);
	if (!bigger)
		return false;
	/* Copied as bytes: `p` points at a pointer to some other type. */
	memcpy(&array, p, sizeof(array));
	if (array)
		memcpy(bigger, array, *cap * size);
	pool_array_free(array, *cap, size);
	memcpy(p, &bigger, sizeof(bigger));
	*cap = want;
	return true;
}

char *pool_strdup(const char *s, size_t len)
{
	char *copy = pool_alloc(len + 1);

	return copy ? memcpy(copy, s, len) : NULL;
}

void pool_strfree(char *s)
{
	if (s)
		pool_free(s, strlen(s) + 1);
}
