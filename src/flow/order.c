/* Sorted sequences to one order. See order.h. */
#include "flow/order.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

enum { ORDER_LEAST = 1024 };

bool order_begin(struct order *o, size_t members)
{
	o->filled = o->n = o->next = 0;
	if (members <= o->cap)
		return true;
	order_free(o);
	members = members > ORDER_LEAST ? 2 * members : ORDER_LEAST;
	for (int i = 0; i < 2; i++) {
		o->lists[i].keys = mem_array(members, sizeof(*o->lists[i].keys));
		o->lists[i].members = mem_array(members, sizeof(*o->lists[i].members));
		if (!o->lists[i].keys || !o->lists[i].members) {
			order_free(o);
			return false;
		}
	}
	o->cap = members;
	return true;
}

struct order_list order_add(struct order *o, const int64_t *keys, size_t n, uint32_t number,
			    size_t from)
{
	struct order_list l = { o->lists[0].keys + o->filled, o->lists[0].members + o->filled, n };

	assert(n <= o->cap - o->filled && from + n <= (size_t)ORDER_MASK + 1);
	memcpy(l.keys, keys, n * sizeof(*keys));
	for (size_t i = 0; i < n; i++)
		l.members[i] = number << ORDER_SHIFT | (uint32_t)(from + i);
	o->filled += n;
	return l;
}

/* Two sorted sequences to one; at equal keys `a` is first. */
static void order_pair(const struct order_list *a, const struct order_list *b,
		       struct order_list *out)
{
	const int64_t *ka = a->keys, *kb = b->keys, *const ea = ka + a->n, *const eb = kb + b->n;
	const uint32_t *ra = a->members, *rb = b->members;
	int64_t *ko = out->keys;
	uint32_t *ro = out->members;

	while (ka < ea && kb < eb) {
		const int64_t x = *ka, y = *kb;
		const size_t from_b = y < x;

		*ko++ = x ^ ((x ^ y) & -(int64_t)from_b);
		*ro++ = *ra ^ ((*ra ^ *rb) & -(uint32_t)from_b);
		kb += from_b;
		rb += from_b;
		ka += from_b ^ 1;
		ra += from_b ^ 1;
	}
	memcpy(ko, ka, (size_t)(ea - ka) * sizeof(*ko));
	memcpy(ro, ra, (size_t)(ea - ka) * sizeof(*ro));
	ko += ea - ka;
	ro += ea - ka;
	memcpy(ko, kb, (size_t)(eb - kb) * sizeof(*ko));
	memcpy(ro, rb, (size_t)(eb - kb) * sizeof(*ro));
	out->n = a->n + b->n;
}

void order_sort(struct order *o, struct order_list *leaves, uint32_t n)
{
	o->n = o->filled;
	for (int to = 1; n > 1; to = !to) {
		size_t at = 0;
		uint32_t pairs = 0;

		for (uint32_t k = 0; k < n; k += 2) {
			const struct order_list none = { leaves[k].keys, leaves[k].members, 0 };
			struct order_list out = { o->lists[to].keys + at, o->lists[to].members + at,
						  0 };

			order_pair(&leaves[k], k + 1 < n ? &leaves[k + 1] : &none, &out);
			leaves[pairs++] = out;
			at += out.n;
		}
		assert(at == o->n);
		n = pairs;
	}
	o->members = leaves[0].members;
}

void order_free(struct order *o)
{
	for (int i = 0; i < 2; i++) {
		mem_free(o->lists[i].keys);
		mem_free(o->lists[i].members);
	}
	*o = (struct order){ 0 };
}
