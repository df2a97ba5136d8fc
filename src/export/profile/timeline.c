/* See timeline.h. */
#include "export/profile/timeline.h"

#include "base/mem.h"

enum { TIMELINES_MAX = 1 << 26 };

void timelines_init(struct timelines *all)
{
	*all = (struct timelines){ .n = 0 };
	arena_init_scratch(&all->arena);
	spool_init(&all->spool);
	pthread_mutex_init(&all->lock, NULL);
}

void timelines_free(struct timelines *all)
{
	mem_table_free((void *)all->items, all->cap, sizeof(*all->items));
	arena_free(&all->arena);
	spool_free(&all->spool);
	pthread_mutex_destroy(&all->lock);
}

/* Returns NULL if out of memory. */
static struct timeline *timeline_new(struct timelines *all, uint32_t track)
{
	struct timeline *t = NULL;

	pthread_mutex_lock(&all->lock);
	if (mem_table_grow((void **)&all->items, &all->cap, all->n + 1, sizeof(t), TIMELINES_MAX))
		t = arena_alloc(&all->arena, sizeof(*t));
	if (t) {
		*t = (struct timeline){ .track = track, .first = INT64_MAX, .last = INT64_MIN };
		all->items[all->n++] = t;
	}
	pthread_mutex_unlock(&all->lock);
	return t;
}

struct timeline *timeline_find(struct timeline_lane *l, uint32_t track)
{
	struct map64_slot *slot = map64_put(&l->by_track, track);

	if (slot && !slot->value)
		slot->value = (uintptr_t)timeline_new(l->all, track);
	if (slot && slot->value)
		return l->latest = (struct timeline *)(uintptr_t)slot->value;
	return NULL;
}

void timeline_lane_free(struct timeline_lane *l)
{
	map64_free(&l->by_track);
}

bool timelines_sort(struct timelines *all, const struct spur_trace *t)
{
	size_t count, n = 0;
	uint32_t *order = trace_track_order(t, &count);
	struct timeline **by_track = mem_table_alloc(count, sizeof(*by_track));
	const bool good = order && by_track;

	for (size_t i = 0; good && i < all->n; i++)
		by_track[all->items[i]->track] = all->items[i];
	for (size_t i = 0; good && i < count; i++)
		if (by_track[order[i]])
			all->items[n++] = by_track[order[i]];
	mem_free(order);
	mem_table_free((void *)by_track, count, sizeof(*by_track));
	return good;
}

bool timeline_walk(const struct timeline *t, size_t size,
		   bool (*each)(void *self, const void *record), void *self)
{
	for (const struct spool_block *b = t->seq.first; b; b = b->next)
		for (size_t at = 0; at + size <= b->len; at += size)
			if (!each(self, (const char *)(b + 1) + at))
				return false;
	return true;
}

void timeline_name(const struct write *w, uint32_t track, struct out *o)
{
	const struct spur_track *k = write_track(w, track);
	size_t len;
	const char *name = trace_string(w->trace, k->name, &len);

	out_bytes(o, name, len);
	if (k->tid != -1)
		out_printf(o, "%s%llu%s", len ? " (" : "thread ", (unsigned long long)k->tid,
			   len ? ")" : "");
	else if (!len && k->pid != -1)
		out_printf(o, "process %llu", (unsigned long long)k->pid);
	else if (!len)
		out_str(o, "unknown");
}
