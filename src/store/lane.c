/* Lanes that grow: items become blocks, blocks become nodes. See grow.h. */
#include <assert.h>

#include "base/hash.h"
#include "base/pool.h"
#include "store/grow.h"

struct slab {
	struct slab *before;
	size_t size;
	uint64_t data[];
};

void *slabs_alloc(struct slabs *s, size_t size)
{
	enum { FIRST = 64 << 10, SMALL = 2 << 20, LARGE = 16 << 20 };
	struct slab *last = s->last;
	void *p;

	size = align_up(size, 8);
	if (!last || last->size - s->used < size) {
		size_t next = !last ? FIRST : last->size < SMALL ? last->size * 2 : LARGE;

		while (next - sizeof(*last) < size)
			next *= 2;
		last = scratch_alloc(next);
		if (!last)
			return NULL;
		last->before = s->last;
		last->size = next;
		s->last = last;
		s->used = sizeof(*last);
	}
	p = (char *)last + s->used;
	s->used += size;
	return p;
}

void slabs_free(struct slabs *s)
{
	while (s->last) {
		struct slab *before = s->last->before;

		scratch_free(s->last, s->last->size);
		s->last = before;
	}
}

/* --- nodes --- */

/* Takes one of the idle buffers. Requires that there is one. */
static struct slot *buffer_take(struct store_worker *k)
{
	struct idle_buffer *idle = k->idle_buffers;

	k->idle_buffers = idle->next;
	k->nidle--;
	return (struct slot *)(void *)idle;
}

/* SPEC store/nodes */
static struct store_node node_join(enum store_lane_kind kind, const struct store_node *of)
{
	struct store_node up = of[0];
	struct extremes x = { up.least, up.most };

	up.at = 0;
	up.n = up.units = 0;
	up.sum = 0;
	for (unsigned i = 1; i < STORE_FAN; i++) {
		const struct store_node *n = &of[i];

		up.end = n->end > up.end ? n->end : up.end;
		if (!kind_has_spans(kind)) {
			extremes_add(kind, &x, n->least, n->most);
			up.last = n->last;
			continue;
		}
		up.busy += n->busy;
		if (n->best_dur > up.best_dur) {
			up.best_dur = n->best_dur;
			up.best = n->best;
			up.best_off_cpu = n->best_off_cpu;
		}
	}
	if (!kind_has_spans(kind)) {
		up.least = x.least;
		up.most = x.most;
	}
	return up;
}

/* Returns the place of node `i`, whose page is made if needed; NULL if out of memory. */
static struct store_node *list_place(struct slabs *s, struct node_list *l, uint64_t i)
{
	const unsigned page = 63 - (unsigned)__builtin_clzll(i + 1);
	uint64_t run;

	if (page >= NODE_PAGES)
		return NULL;
	if (!l->pages[page]) {
		struct store_node *nodes = slabs_alloc(s, sizeof(*nodes) << page);

		__atomic_store_n(&l->pages[page], nodes, __ATOMIC_RELEASE);
	}
	return l->pages[page] ? node_list_at(l, i, &run) : NULL;
}

bool lane_tree_make(struct store_worker *k, struct growing_lane *l)
{
	if (!l->tree)
		__atomic_store_n(&l->tree, slabs_alloc(&k->slabs, sizeof(*l->tree)),
				 __ATOMIC_RELEASE);
	return l->tree;
}

static struct node_list *lane_level(struct store_worker *k, struct growing_lane *l, unsigned level)
{
	if (!lane_tree_make(k, l))
		return NULL;
	if (!l->tree->levels[level])
		__atomic_store_n(&l->tree->levels[level],
				 slabs_alloc(&k->slabs, sizeof(struct node_list)),
				 __ATOMIC_RELEASE);
	return l->tree->levels[level];
}

/* Returns the place of the node of the lane's next block; NULL if out of memory. */
static struct store_node *block_place(struct store_worker *k, struct growing_lane *l)
{
	struct node_list *list;

	if (l->made) {
		list = lane_level(k, l, 0);
		return list ? list_place(&k->slabs, list, l->made) : NULL;
	}
	/* Where a deep stack ends, each lane gives a buffer back and needs a node. */
	if (!l->first && k->nidle > IDLE_KEPT)
		l->first = (struct store_node *)(void *)buffer_take(k);
	if (!l->first)
		l->first = slabs_alloc(&k->slabs, sizeof(*l->first));
	return l->first;
}

/*
 * The block can be read now. Makes the nodes that are complete with it. `at`: where the worker's
 * buffer was written.
 */
static bool lane_publish(struct store_worker *k, const struct pending_block *p, uint64_t at)
{
	struct growing_lane *l = p->lane;

	uint32_t count = l->count + 1;

	__atomic_store_n(&l->count, count, __ATOMIC_RELEASE);
	for (unsigned level = 1; count % STORE_FAN == 0 && level < NODE_LEVELS; level++) {
		struct node_list *const list = lane_level(k, l, level);
		struct store_node of[STORE_FAN], *to;
		uint64_t run;

		to = list ? list_place(&k->slabs, list, list->count) : NULL;
		if (!to)
			return false;
		for (unsigned i = 0; i < STORE_FAN; i++)
			of[i] = *growing_node(l, level - 1, count - STORE_FAN + i, &run);
		*to = node_join(l->kind, of);
		if (level == STORE_SUMS_LEVEL && p->sums_units) {
			to->at = at + p->sums_at;
			to->units = p->sums_units;
			to->sum = p->sums_sum;
		}
		count = list->count + 1;
		__atomic_store_n(&list->count, count, __ATOMIC_RELEASE);
	}
	return true;
}

bool worker_write(struct store_worker *k)
{
	uint64_t at;

	if (!k->npending)
		return true;
	at = writer_append(k->writer, k->out, k->out_len);
	if (!at)
		return false;
	for (size_t i = 0; i < k->npending; i++) {
		k->pending[i].node->at += at;
		if (!lane_publish(k, &k->pending[i], at))
			return false;
	}
	k->npending = 0;
	k->out_len = 0;
	worker_tell(k);
	return true;
}

/* --- lanes --- */

/* Makes a lane. `series`: of a counter, else NULL. */
static struct growing_lane *lane_new(struct store_worker *k, struct growing_lane from,
				     const struct series *series)
{
	struct growing_lane *l = slabs_alloc(&k->slabs, sizeof(*l));

	if (!l)
		return NULL;
	*l = from;
	l->feed = k->feed;
	if (series && !lane_tree_make(k, l))
		return NULL;
	if (series)
		l->tree->series = *series;
	return writer_add_lane(k->writer, l) ? l : NULL;
}

struct growing_lane *lane_at(struct store_worker *k, uint32_t track, size_t depth)
{
	struct growing_track *t = k->tracks[track];

	/* Of very many tracks most are shallow. */
	if (depth >= t->nlanes && !pool_grow((void **)&t->lanes, &t->nlanes, depth + 1,
					     sizeof(struct growing_lane *), PAIR_DEPTH + 1))
		return NULL;
	if (!t->lanes[depth])
		t->lanes[depth] = lane_new(k,
					   (struct growing_lane){ .kind = STORE_SPANS,
								  .track = track,
								  .depth = depth & LANE_DEPTHS },
					   NULL);
	return t->lanes[depth];
}

struct growing_lane *lane_of_states(struct store_worker *k, uint32_t track)
{
	struct growing_track *t = k->tracks[track];

	if (!t->states)
		t->states = lane_new(
			k, (struct growing_lane){ .kind = STORE_STATES, .track = track }, NULL);
	return t->states;
}

static_assert((int)PAIR_DEPTH < (int)LANE_DEPTHS, "a depth has 29 bits");

static bool same_series(const struct series *a, const struct series *b)
{
	return a->kind == b->kind && a->track == b->track && a->label == b->label &&
	       a->arg == b->arg && a->id == b->id;
}

struct growing_lane *lane_of_series(struct store_worker *k, const struct series *key)
{
	uint64_t h = hash_mix(hash64((uint64_t)key->track << 32 | key->label) ^ key->id,
			      hash64((uint64_t)key->arg << 8 | key->kind));
	struct map64_slot *slot;
	struct growing_lane *l;

	for (;; h++) {
		slot = map64_put(&k->series, h);
		if (!slot)
			return NULL;
		l = (struct growing_lane *)(uintptr_t)slot->value;
		if (!l)
			break;
		if (same_series(&l->tree->series, key))
			return l;
	}
	l = lane_new(k, (struct growing_lane){ .kind = key->kind, .track = key->track }, key);
	slot->value = (uint64_t)(uintptr_t)l;
	return l;
}

/* Makes the sums that are complete with the block that was made last. */
static void sums_flush(struct store_worker *k, struct growing_lane *l)
{
	struct pending_block *p = &k->pending[k->npending - 1];
	uint8_t *to = k->out + k->out_len;
	const uint32_t size = l->made % STORE_SUMS_BLOCKS ? 0 : lane_sums_end(k, l, to);

	if (!size)
		return;
	p->sums_at = (uint32_t)k->out_len;
	p->sums_units = (uint16_t)(size / 8);
	p->sums_sum = store_sum_of(to, size);
	k->out_len += size;
}

bool lane_flush(struct store_worker *k, struct growing_lane *l)
{
	struct store_node *node;
	struct slot rest;
	uint64_t number;

	if (!l->n)
		return true;
	number = growing_items(l);
	if (OUT_BYTES - k->out_len < BLOCK_BYTES + SUMS_BYTES && !worker_write(k))
		return false;
	if (!k->out)
		k->out = mem_alloc(OUT_BYTES);
	node = block_place(k, l);
	if (!k->out || !node ||
	    !mem_grow((void **)&k->pending, &k->pending_cap, k->npending + 1, sizeof(*k->pending),
		      OUT_BYTES) ||
	    !lane_sums_add(k, l, l->buf, l->n))
		return false;
	k->pending[k->npending++] = (struct pending_block){ .lane = l, .node = node };
	rest = l->n < l->cap ? l->buf[l->n] : (struct slot){ 0 };
	k->out_len += block_make(k->out + k->out_len, writer_trace(k->writer), l->kind, l->buf,
				 l->n, node);
	node->at = k->out_len - 8u * node->units;
	node->number = number;
	l->made++;
	sums_flush(k, l);
	l->n = 0;
	l->buf[0] = rest;
	return true;
}

/* The smallest buffers are parts of the worker's scratch memory: each open call may need one. */
static struct slot *buffer_new(struct store_worker *k, uint32_t cap)
{
	if (cap > BUFFER_FIRST)
		return mem_array(cap, sizeof(struct slot));
	return k->nidle ? buffer_take(k) : slabs_alloc(&k->slabs, cap * sizeof(struct slot));
}

void lane_drop_buffer(struct store_worker *k, struct growing_lane *l)
{
	struct idle_buffer *idle = (struct idle_buffer *)(void *)l->buf;

	k->buffered -= l->cap * sizeof(*l->buf);
	buffer_free(l);
	if (l->cap == BUFFER_FIRST) {
		idle->next = k->idle_buffers;
		k->idle_buffers = idle;
		k->nidle++;
	}
	l->buf = NULL;
	l->cap = 0;
}

bool lane_room(struct store_worker *k, struct growing_lane *l)
{
	enum { GROWTH = 4 };
	const uint32_t cap = l->cap ? (uint32_t)l->cap * GROWTH : BUFFER_FIRST;
	struct slot *buf;

	if (l->n < l->cap)
		return true;
	if (l->n == STORE_BLOCK)
		return lane_flush(k, l);
	buf = buffer_new(k, cap < STORE_BLOCK ? cap : STORE_BLOCK);
	if (!buf)
		return false;
	if (l->n)
		memcpy(buf, l->buf, l->n * sizeof(*buf));
	lane_drop_buffer(k, l);
	l->buf = buf;
	l->cap = (uint16_t)(cap < STORE_BLOCK ? cap : STORE_BLOCK);
	k->buffered += l->cap * sizeof(*buf);
	return true;
}
