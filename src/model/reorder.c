/* Runs of stragglers and their merge. See reorder.h. */
#include "model/reorder.h"

#include "base/bits.h"
#include "base/mem.h"
#include "base/search.h"

enum {
	BLOCK_SIZE = 8192, /* bytes of items that a run gets at once */
	EXTENT_MIN = 8 * BLOCK_SIZE,
	EXTENTS_MAX = 1 << 16,
};

#define EXTENT_MAX ((size_t)1 << 30)

struct block {
	struct block *next;
	uint32_t count;
	_Alignas(16) uint8_t items[];
};

struct item {
	int64_t ts;
	uint64_t rank;
	uint8_t bytes[];
};

/*
 * INVARIANT while adding: keys in runs[0 .. REORDER_RUNS) do not descend (later_first: ascend
 * strictly), and the `last` of each run is not below that of the next one. So of equal keys in two
 * runs, the one in the earlier run was added first; and what fits none stays unfit for all, so the
 * unsorted run counts as the last.
 */
struct reorder_run {
	reorder_key last; /* of the newest item */
	struct block *first, *newest; /* newest: being read in the second pass */
	uint64_t at; /* second pass: the next item, in its block (unsorted run: in `sorted`) */
	uint64_t count;
	/* The heap of runs by their next item; element i has nothing else to do with this run. */
	reorder_key head;
	uint32_t run;
};

struct reorder_extent {
	uint8_t *p;
	size_t size, used;
};

static reorder_key lowest(void)
{
	return reorder_make_key(INT64_MIN, 0);
}

void reorder_init(struct reorder *r, size_t item_size, bool later_first)
{
	*r = (struct reorder){ .bar = lowest(),
			       .highest = INT64_MIN,
			       .later_first = later_first,
			       .item_size = (uint32_t)item_size,
			       .stride = (uint32_t)align_up(sizeof(struct item) + item_size, 8) };
	assert(r->stride <= BLOCK_SIZE - sizeof(struct block));
}

static size_t sorted_size(const struct reorder *r)
{
	return r->nruns > REORDER_RUNS ? r->runs[REORDER_RUNS].count * sizeof(*r->sorted) : 0;
}

void reorder_free(struct reorder *r)
{
	scratch_free(r->sorted, sorted_size(r));
	for (size_t i = 0; i < r->nextents; i++)
		scratch_free(r->extents[i].p, r->extents[i].size);
	mem_free(r->extents);
	mem_free(r->runs);
	*r = (struct reorder){ 0 };
}

static reorder_key key_of(const struct item *it)
{
	return reorder_make_key(it->ts, it->rank);
}

/* --- first pass --- */

static struct block *block_new(struct reorder *r)
{
	struct reorder_extent *e = r->nextents ? &r->extents[r->nextents - 1] : NULL;
	struct block *b;

	if (!e || e->size - e->used < BLOCK_SIZE) {
		const size_t size = !e ? EXTENT_MIN : e->size < EXTENT_MAX ? e->size * 2 : e->size;

		if (!mem_grow((void **)&r->extents, &r->extents_cap, r->nextents + 1, sizeof(*e),
			      EXTENTS_MAX))
			return NULL;
		e = &r->extents[r->nextents];
		*e = (struct reorder_extent){ .p = scratch_alloc(size), .size = size };
		if (!e->p)
			return NULL;
		r->nextents++;
	}
	b = (struct block *)(void *)(e->p + e->used);
	e->used += BLOCK_SIZE;
	return b;
}

static struct item *block_item(const struct reorder *r, const struct block *b, uint64_t i)
{
	return (struct item *)(void *)((uint8_t *)(uintptr_t)b->items + i * r->stride);
}

static bool run_append(struct reorder *r, struct reorder_run *run, reorder_key key,
		       const void *bytes)
{
	const uint32_t cap = (uint32_t)(BLOCK_SIZE - sizeof(struct block)) / r->stride;
	struct block *b = run->newest;
	struct item *it;

	if (!b || b->count == cap) {
		b = block_new(r);
		if (!b)
			return false;
		if (run->newest)
			run->newest->next = b;
		else
			run->first = b;
		run->newest = b;
	}
	it = block_item(r, b, b->count++);
	it->ts = (int64_t)(key >> 64);
	it->rank = (uint64_t)key;
	memcpy(it->bytes, bytes, r->item_size);
	run->last = key;
	run->count++;
	r->count++;
	return true;
}

/* Returns the first sorted run that the key can be appended to, or the number of sorted runs. */
static uint32_t run_for(const struct reorder *r, reorder_key key)
{
	const uint32_t high = r->nruns < REORDER_RUNS ? r->nruns : REORDER_RUNS;
	uint32_t low = 0;

	/* Most records are nested little. */
	for (; low < high && low < 4; low++)
		if (key >= r->runs[low].last + r->later_first)
			return low;
	bisect(low, low, high, key < r->runs[low].last + r->later_first);
	return low;
}

bool reorder_add(struct reorder *r, int64_t ts, uint64_t rank, const void *item)
{
	const reorder_key key = reorder_make_key(ts, rank);
	const uint32_t i = run_for(r, key);

	if (!mem_grow((void **)&r->runs, &r->runs_cap, (size_t)i + 1, sizeof(*r->runs),
		      REORDER_RUNS + 1))
		return false;
	if (!run_append(r, &r->runs[i], key, item))
		return false;
	if (i >= r->nruns)
		r->nruns = i + 1;
	return true;
}

/* --- between the passes --- */

/* Stable: of equal keys, that in `a`. */
static void merge_parts(const void **to, const void **a, const void **mid, const void **end)
{
	const void **b = mid;

	while (a < mid && b < end)
		*to++ = key_of(*b) < key_of(*a) ? *b++ : *a++;
	while (a < mid)
		*to++ = *a++;
	while (b < end)
		*to++ = *b++;
}

/* Bottom up; the result is in `p` or in `spare`: returns which. */
static const void **merge_sort(const void **p, const void **spare, size_t n)
{
	for (size_t width = 1; width < n; width *= 2) {
		const void **const from = p;

		for (size_t i = 0; i < n; i += 2 * width) {
			const size_t mid = n - i < width ? n : i + width,
				     end = n - i < 2 * width ? n : i + 2 * width;

			merge_parts(spare + i, from + i, from + mid, from + end);
		}
		p = spare;
		spare = from;
	}
	return p;
}

/* Makes `sorted` of the unsorted run: pointers to its items. */
static bool sort_rest(struct reorder *r)
{
	const struct reorder_run *run;
	const void **p, **spare, **sorted;
	size_t n, at = 0;

	if (r->nruns <= REORDER_RUNS)
		return true;
	run = &r->runs[REORDER_RUNS];
	n = run->count;
	p = scratch_alloc(n * sizeof(*p));
	spare = p ? scratch_alloc(n * sizeof(*p)) : NULL;
	if (!spare) {
		scratch_free(p, n * sizeof(*p));
		return false;
	}
	for (const struct block *b = run->first; b; b = b->next)
		for (uint32_t i = 0; i < b->count; i++, at++)
			p[r->later_first ? n - 1 - at : at] = block_item(r, b, i);
	sorted = merge_sort(p, spare, n);
	scratch_free(sorted == p ? spare : p, n * sizeof(*p));
	r->sorted = sorted;
	return true;
}

/* --- second pass: a heap of the runs --- */

/* The run's next item; NULL at its end. */
static const struct item *run_head(const struct reorder *r, uint32_t i)
{
	struct reorder_run *run = &r->runs[i];

	if (i == REORDER_RUNS)
		return run->at < run->count ? r->sorted[run->at] : NULL;
	if (run->newest && run->at == run->newest->count) {
		run->newest = run->newest->next;
		run->at = 0;
	}
	return run->newest ? block_item(r, run->newest, run->at) : NULL;
}

/*
 * Order of the heap's elements a and b. Of equal keys, the earlier run has what was added earlier.
 */
static bool head_before(const struct reorder *r, uint32_t a, uint32_t b)
{
	const struct reorder_run *x = &r->runs[a], *y = &r->runs[b];

	if (x->head != y->head)
		return x->head < y->head;
	return (x->run < y->run) != r->later_first;
}

static void heap_swap(struct reorder *r, uint32_t a, uint32_t b)
{
	const reorder_key head = r->runs[a].head;
	const uint32_t run = r->runs[a].run;

	r->runs[a].head = r->runs[b].head;
	r->runs[a].run = r->runs[b].run;
	r->runs[b].head = head;
	r->runs[b].run = run;
}

static void heap_sink(struct reorder *r, uint32_t i)
{
	for (;;) {
		uint32_t least = 2 * i + 1;

		if (least >= r->nheap)
			return;
		if (least + 1 < r->nheap && head_before(r, least + 1, least))
			least++;
		if (!head_before(r, least, i))
			return;
		heap_swap(r, least, i);
		i = least;
	}
}

static void set_due(struct reorder *r)
{
	if (r->nheap)
		r->due = r->runs[0].head;
	r->due_ts = r->nheap ? (int64_t)(r->due >> 64) : INT64_MAX;
}

bool reorder_sort(struct reorder *r)
{
	r->bar = lowest();
	r->highest = INT64_MIN;
	r->left = 0;
	r->late = false;
	if (r->nruns && !sort_rest(r))
		return false;
	for (uint32_t i = 0; i < r->nruns; i++) {
		struct reorder_run *run = &r->runs[i];

		run->newest = run->first;
		if (run->count) {
			r->runs[r->nheap].head = key_of(run_head(r, i));
			r->runs[r->nheap++].run = i;
		}
	}
	for (uint32_t i = r->nheap / 2; i-- > 0;)
		heap_sink(r, i);
	set_due(r);
	return true;
}

const void *reorder_take(struct reorder *r)
{
	struct reorder_run *top = &r->runs[0], *run = &r->runs[top->run];
	const struct item *it = run_head(r, top->run), *next;

	run->at++;
	next = run_head(r, top->run);
	if (next) {
		top->head = key_of(next);
	} else {
		r->nheap--;
		top->head = r->runs[r->nheap].head;
		top->run = r->runs[r->nheap].run;
	}
	heap_sink(r, 0);
	set_due(r);
	return it->bytes;
}

bool reorder_until(struct reorder *r, int64_t ts, uint64_t rank, struct batch *b)
{
	while (b->count < b->cap) {
		const void *row = reorder_next(r, ts, rank);

		if (!row)
			return true;
		memcpy(&b->rows[b->count++], row, sizeof(*b->rows));
	}
	return false;
}
