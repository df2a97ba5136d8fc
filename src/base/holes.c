/* See holes.h. */
#include "base/holes.h"

#include <stddef.h>

#include "base/mem.h"
#include "base/os.h"

enum {
	LEAST = 32 << 10, /* bytes of a hole that matters */
	MOST = 1 << 16, /* holes that are kept: of a larger number the first ones */
};

struct range {
	uint64_t begin, end;
};

struct holes {
	size_t count, cap;
	struct range *list; /* ascending */
};

/* Returns the place, or the size of the file if that comes first or the system does not say. */
static uint64_t seek(int fd, uint64_t from, int what, uint64_t size)
{
	const off_t at = os_lseek(fd, (off_t)from, what);

	return at < 0 || (uint64_t)at > size ? size : (uint64_t)at;
}

struct holes *holes_find(int fd, uint64_t size)
{
	uint64_t begin = size ? seek(fd, 0, SEEK_HOLE, size) : size, end;
	struct holes *h = NULL;

	while (begin < size && (!h || h->count < MOST)) {
		end = seek(fd, begin, SEEK_DATA, size);
		if (end - begin >= LEAST) {
			if (!h && !(h = mem_alloc(sizeof(*h))))
				break;
			if (!mem_grow((void **)&h->list, &h->cap, h->count + 1, sizeof(*h->list),
				      MOST))
				break;
			h->list[h->count++] = (struct range){ begin, end };
		}
		begin = end < size ? seek(fd, end, SEEK_HOLE, size) : size;
	}
	os_lseek(fd, 0, SEEK_SET);
	return h;
}

void holes_free(struct holes *h)
{
	if (h)
		mem_free(h->list);
	mem_free(h);
}

uint64_t holes_data_end(const struct holes *h, uint64_t begin, uint64_t end)
{
	size_t low = 0, high = h ? h->count : 0;

	/* The first hole that ends at `end` or behind. */
	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (h->list[mid].end < end)
			low = mid + 1;
		else
			high = mid;
	}
	if (!h || low == h->count || h->list[low].begin >= end)
		return end;
	return h->list[low].begin > begin ? h->list[low].begin : begin;
}

int holes_advice(const struct holes *h, uint64_t size)
{
	uint64_t sum = 0;

	for (size_t i = 0; h && i < h->count; i++)
		sum += h->list[i].end - h->list[i].begin;
	return sum > size / 2 ? MADV_RANDOM : MADV_SEQUENTIAL;
}
