/* See parts.h. */
#include "flow/parts.h"

#include "base/mem.h"
#include "base/work.h"
#include "format/format.h"

enum {
	PARTS_MAX = 1 << 24,
	PARTS_SHARE = 2, /* a feed is divided if it has more than a half of a thread's share */
	/* Parts a thread, at most, where they are kept until they are joined. */
	PARTS_KEPT = 16,
};

bool parts_apply(const struct spur_trace *t, const struct pipe_options *opt)
{
	return opt->parts != PIPE_WHOLE && t->format->divide && !opt->filter && !opt->limit &&
	       !pipe_is_live(t) && (opt->threads ? opt->threads : work_cpus()) > 1;
}

static bool parts_reserve(struct parts *l, size_t n)
{
	return mem_table_grow((void **)&l->items, &l->cap, n, sizeof(*l->items), PARTS_MAX);
}

static bool part_add(struct parts *l, struct feed *f, uint32_t number)
{
	if (!parts_reserve(l, l->n + 1))
		return false;
	l->items[l->n++] = (struct part){ .feed = f, .number = number };
	return true;
}

static enum parts_use use_of(enum pipe_parts parts)
{
	return parts == PIPE_PARTS_NAMED   ? PARTS_NAMED
	       : parts == PIPE_PARTS_CALLS ? PARTS_CALLS
					   : PARTS_ROWS;
}

bool parts_make(struct parts *l, struct spur_trace *t, const struct pipe_options *opt,
		struct feed *const *feeds, size_t n, uint64_t bytes)
{
	const bool apply = parts_apply(t, opt);
	const unsigned threads = opt->threads ? opt->threads : work_cpus();
	uint64_t all = 0;

	*l = (struct parts){ 0 };
	/* Most feeds are one part, and there may be a million: growing would take twice as much. */
	if (!parts_reserve(l, n))
		return false;
	for (size_t i = 0; i < n && apply; i++)
		all += feeds[i]->size;
	if (opt->parts == PIPE_PARTS_CALLS && bytes < all / threads / PARTS_KEPT)
		bytes = all / threads / PARTS_KEPT;
	bytes = t->options.read_size ? t->options.read_size : bytes;
	for (size_t i = 0; i < n; i++) {
		const uint64_t size = feeds[i]->size;
		uint32_t count = 1;

		if (apply && size / 2 >= bytes &&
		    size / threads >= all / threads / threads / PARTS_SHARE)
			count = t->format->divide(t, feeds[i], bytes, use_of(opt->parts));
		for (uint32_t k = 0; k < count; k++)
			if (!part_add(l, feeds[i], k))
				return false;
	}
	return true;
}

void parts_free(struct parts *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct part *p = &l->items[i];

		assert(!p->open);
		if (p->number && p->own) {
			diag_merge(&p->feed->diag, &p->own->diag);
			diag_free(&p->own->diag);
			mem_free(p->own);
		}
	}
	mem_table_free(l->items, l->cap, sizeof(*l->items));
	*l = (struct parts){ 0 };
}

struct feed *part_open(struct spur_trace *t, struct part *p, const struct part *before)
{
	const struct feed *b = !before ? NULL : before->number ? before->own : before->feed;

	assert(!p->open);
	if (!p->number)
		return p->feed;
	if (!p->own)
		p->own = mem_alloc(sizeof(*p->own));
	if (!p->own)
		return NULL;
	*p->own = (struct feed){ .id = p->feed->id,
				 .track = p->feed->track,
				 .stream = p->feed->stream };
	diag_init(&p->own->diag);
	diag_suppress(&p->own->diag, t->options.stop);
	p->open = t->format->part_open(t, p->feed, p->number, b, p->own);
	return p->open ? p->own : NULL;
}

void part_close(const struct spur_trace *t, struct part *p)
{
	if (p->open)
		t->format->part_close(p->own);
	p->open = false;
}

void part_forget(const struct spur_trace *t, struct part *p)
{
	part_close(t, p);
	diag_free(&p->own->diag);
}

bool part_follows(const struct spur_trace *t, const struct part *before, const struct part *p)
{
	assert(p->open && p->feed == before->feed && p->number == before->number + 1);
	return t->format->part_follows(before->number ? before->own : before->feed, p->own);
}
