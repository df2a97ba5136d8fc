/* What is changed in a process, and back. See attach.h. */
#include <stdlib.h>
#include <string.h>

#include "recorder/attach.h"

enum { WINDOW = 64 << 10, PAGE = 4096, CHANGES_MOST = 1 << 24 };

static int by_address(const void *pa, const void *pb)
{
	const struct attach_change *const a = pa, *const b = pb;

	return a->address < b->address ? -1 : a->address > b->address;
}

void changes_free(struct changes *c)
{
	if (c->list)
		scratch_free(c->list, c->size);
	*c = (struct changes){ 0 };
}

bool changes_read(const struct target *t, const struct attach_state *s, struct changes *c)
{
	size_t kept = 0;

	*c = (struct changes){ 0 };
	if (!s->nchanges)
		return true;
	if (s->nchanges > CHANGES_MOST)
		return false;
	c->size = s->nchanges * sizeof(*c->list);
	c->list = scratch_alloc(c->size);
	if (!c->list || !target_read(t, s->changes, c->list, c->size)) {
		changes_free(c);
		return false;
	}
	for (size_t i = 0; i < s->nchanges; i++)
		if (c->list[i].size && c->list[i].size <= ATTACH_SIZE)
			c->list[kept++] = c->list[i];
	c->count = kept;
	qsort(c->list, kept, sizeof(*c->list), by_address);
	return true;
}

bool changes_step_out(struct tracees *s, const struct changes *c)
{
	struct attach_range *const ranges = mem_array(c->count + 1, sizeof(*ranges));
	size_t n = 0;
	bool good;

	if (!ranges)
		return false;
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].is_code)
			ranges[n++] = (struct attach_range){
				c->list[i].address, c->list[i].address + c->list[i].size
			};
	good = tracees_step_out(s, ranges, n) && tracees_saved_step_out(s, ranges, n);
	mem_free(ranges);
	return good;
}

/* Changes what is in `bytes`, which are those at `at`. Returns false if they differ. */
static bool change_one(const struct attach_change *c, bool back, uint8_t *bytes)
{
	if (memcmp(bytes, back ? c->after : c->before, c->size) != 0)
		return false;
	memcpy(bytes, back ? c->before : c->after, c->size);
	return true;
}

/* How many changes, from the i-th on, are of code so near that they are written at once. */
static size_t window(const struct changes *c, size_t i, uint64_t *size)
{
	const struct attach_change *const first = &c->list[i], *last = first;
	size_t n = 1;

	for (; first->is_code && i + n < c->count; n++) {
		const struct attach_change *const next = &c->list[i + n];

		if (!next->is_code || next->address / PAGE > last->address / PAGE + 1 ||
		    next->address + next->size - first->address > WINDOW)
			break;
		last = next;
	}
	*size = last->address + last->size - first->address;
	return n;
}

uint64_t changes_make(const struct target *t, const struct changes *c, bool back)
{
	uint8_t bytes[WINDOW];
	uint64_t made = 0, size;

	for (size_t i = 0, n; i < c->count; i += n) {
		const uint64_t at = c->list[i].address;
		uint64_t here = 0;

		n = window(c, i, &size);
		if (!target_read(t, at, bytes, size))
			continue;
		for (size_t k = i; k < i + n; k++)
			here += change_one(&c->list[k], back, bytes + (c->list[k].address - at));
		if (here && target_write(t, at, bytes, size))
			made += here;
	}
	return made;
}
