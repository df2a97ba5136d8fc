/* Sorted sequences to one order. See order.h. */
#include "flow/order.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

enum {
	ORDER_LEAST = 1024,
	ORDER_ENDS = 2, /* words around a sequence */
};

bool order_begin(struct order *o, size_t members)
{
	const size_t words = members + ORDER_ENDS * ORDER_WINDOW;

	o->filled = o->n = o->next = 0;
	if (words <= o->cap)
		return true;
	order_free(o);
	o->cap = words > ORDER_LEAST ? 2 * words : ORDER_LEAST;
	for (int i = 0; i < 2; i++) {
		o->rooms[i] = mem_array(o->cap, sizeof(*o->rooms[i]));
		if (!o->rooms[i]) {
			order_free(o);
			return false;
		}
	}
	return true;
}

/* A sequence of `n` words at `room`, with the words around it. */
static struct order_list list_begin(uint64_t *room, size_t n)
{
	room[0] = 0;
	room[n + 1] = UINT64_MAX;
	return (struct order_list){ room + 1, n };
}

struct order_list order_add(struct order *o, const int64_t *times, size_t n, int64_t base,
			    uint32_t number)
{
	const struct order_list l = list_begin(o->rooms[0] + o->filled, n);

	assert(number < ORDER_WINDOW && n + ORDER_ENDS <= o->cap - o->filled);
	assert(!n || (uint64_t)times[n - 1] - (uint64_t)base < order_span);
	for (size_t i = 0; i < n; i++)
		l.words[i] = ((uint64_t)times[i] - (uint64_t)base + 1) << ORDER_SHIFT | number;
	o->filled += n + ORDER_ENDS;
	o->n += n;
	return l;
}

/*
 * Two sorted sequences to one, from both ends at once, as each step waits for the one before it.
 * INVARIANT: no sequence is left beyond the word before or behind it, as that is never taken while
 * words are left.
 */
static void order_pair(const struct order_list *a, const struct order_list *b, uint64_t *out)
{
	const uint64_t *fa = a->words, *fb = b->words; /* what is next from the front */
	const uint64_t *la = a->words + a->n - 1, *lb = b->words + b->n - 1; /* from the back */
	uint64_t *front = out, *back = out + a->n + b->n;

	for (size_t i = (a->n + b->n) / 2; i > 0; i--) {
		const size_t from_b = *fb < *fa, last_b = *lb > *la;

		*front++ = *fb < *fa ? *fb : *fa;
		fb += from_b;
		fa += 1 - from_b;
		*--back = *lb > *la ? *lb : *la;
		lb -= last_b;
		la -= 1 - last_b;
	}
	if (front != back)
		*front++ = *fb < *fa ? *fb : *fa;
	assert(front == back && fa <= a->words + a->n && fb <= b->words + b->n);
}

void order_sort(struct order *o, struct order_list *leaves, uint32_t n)
{
	for (int to = 1; n > 1; to = !to) {
		uint64_t *room = o->rooms[to];
		uint32_t pairs = 0;

		for (uint32_t k = 0; k < n; k += 2) {
			const struct order_list *a = &leaves[k], *b = a + 1;
			const struct order_list out =
				list_begin(room, a->n + (k + 1 < n ? b->n : 0));

			if (k + 1 < n)
				order_pair(a, b, out.words);
			else
				memcpy(out.words, a->words, a->n * sizeof(*a->words));
			leaves[pairs++] = out;
			room += out.n + ORDER_ENDS;
		}
		assert(room <= o->rooms[to] + o->cap);
		n = pairs;
	}
	o->words = leaves[0].words;
	assert(leaves[0].n == o->n);
}

void order_free(struct order *o)
{
	for (int i = 0; i < 2; i++)
		mem_free(o->rooms[i]);
	*o = (struct order){ 0 };
}
