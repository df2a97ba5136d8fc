/* What holds from where on: a log of versions, searched backwards by jumps. See reader.h. */
#include "format/fxt/reader.h"

enum { SCRATCH_LEAST = 1024 };

bool fxt_scratch_grow(void **p, size_t *cap, size_t need, size_t size)
{
	size_t more = *cap ? *cap : SCRATCH_LEAST;
	void *to;

	if (need <= *cap)
		return true;
	while (more < need)
		more *= 2;
	to = scratch_alloc(more * size);
	if (!to)
		return false;
	if (*cap) {
		memcpy(to, *p, *cap * size);
		scratch_free(*p, *cap * size);
	}
	*p = to;
	*cap = more;
	return true;
}

void fxt_log_free(struct fxt_log *l)
{
	scratch_free(l->items, l->cap * sizeof(*l->items));
	*l = (struct fxt_log){ 0 };
}

uint32_t fxt_log_add(struct fxt_log *l, uint32_t head, uint64_t off, uint32_t value)
{
	struct fxt_version *v, *prev, *far;

	if (!l->count)
		l->count = 1;
	if (l->count >= UINT32_MAX ||
	    !fxt_scratch_grow((void **)&l->items, &l->cap, l->count + 1, sizeof(*v)))
		return 0;
	v = &l->items[l->count];
	assert(head < l->count);
	prev = &l->items[head];
	assert(!head || prev->off <= off);
	far = &l->items[prev->jump];
	*v = (struct fxt_version){
		.off = off, .value = value, .prev = head, .depth = prev->depth + 1
	};
	/* Jumps of equal length are joined to one of double length: skew binary numbers. */
	v->jump = head && prev->depth - far->depth == far->depth - l->items[far->jump].depth
			  ? far->jump
			  : head;
	return (uint32_t)l->count++;
}

const struct fxt_version *fxt_log_find(const struct fxt_log *l, uint32_t head, uint64_t off)
{
	while (head && l->items[head].off > off) {
		const struct fxt_version *v = &l->items[head];

		head = v->jump && l->items[v->jump].off > off ? v->jump : v->prev;
	}
	return head ? &l->items[head] : NULL;
}

uint32_t fxt_log_at(const struct fxt_log *l, uint32_t head, uint64_t off)
{
	const struct fxt_version *v = fxt_log_find(l, head, off);

	return v ? v->value + 1 : 0;
}
