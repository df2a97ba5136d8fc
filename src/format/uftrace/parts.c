/*
 * Parts of one TID.dat, which threads read at once. Records can be read by themselves; what those
 * before a record decide is whether its time goes back, where its depth is counted from, which
 * records of per-CPU files come before it, and, behind a payload, where it begins. A file is
 * divided where a chain of records seems to begin, and a part is read as if that were right;
 * uftrace_part_follows() tells whether it was. It does not ask which calls are open (PARTS_CALLS).
 *
 * Does not divide data of the kernel or of QEMU's plugin, whose depths are counted in other ways.
 */
#include "base/pool.h"
#include "format/uftrace/reader.h"

enum { CUTS_MAX = 1 << 20 };

/* Opens the file of a feed that can be divided, and returns its size; 0: it cannot. */
static uint64_t divisible_size(struct uftrace *u, struct feed *f, const struct uftrace_feed *uf)
{
	const struct spur_trace *t = u->t;
	struct source view, *s;

	if (!uftrace_has_dat(uf) || uf->ended || u->kernel || u->qemu || t->options.as_stored ||
	    t->want_from != INT64_MIN || t->want_to != INT64_MAX ||
	    !uftrace_open_dat(u, uf->file, &f->diag))
		return 0;
	s = uftrace_file_source(uf->file, &view);
	if (!s->mapped && !t->options.read_size)
		return 0;
	source_need(s, UINT64_MAX);
	return s->eof && !s->error->code ? s->size : 0;
}

uint32_t uftrace_divide(struct spur_trace *t, struct feed *f, uint64_t bytes, enum parts_use use)
{
	struct uftrace *u = t->state;
	struct uftrace_feed *uf = use == PARTS_CALLS ? uftrace_feed_state(u, f) : NULL;
	const uint64_t size = uf ? divisible_size(u, f, uf) : 0;
	struct uftrace_part *p = size ? mem_alloc(sizeof(*p)) : NULL;
	uint64_t off = p ? uf->off : 0;
	struct uftrace_cut cut;

	/* Out of memory: fewer parts are made. */
	while (p && size - off > bytes && size - off - bytes > bytes) {
		off += bytes;
		if (!uftrace_find_cut(u, uf, off, &cut))
			continue;
		if (!mem_grow((void **)&p->cuts, &p->cuts_cap, p->ncuts + 1, sizeof(*p->cuts),
			      CUTS_MAX))
			break;
		p->cuts[p->ncuts++] = cut;
		off = cut.off;
	}
	if (!p || !p->ncuts) {
		mem_free(p);
		return 1;
	}
	p->until = p->cuts;
	uf->part = p;
	return (uint32_t)p->ncuts + 1;
}

bool uftrace_part_open(struct spur_trace *t, const struct feed *f, uint32_t number,
		       const struct feed *before, struct feed *part)
{
	const struct uftrace_part *whole = ((const struct uftrace_feed *)f->state)->part;
	const struct uftrace_feed *b = before ? before->state : NULL;
	struct uftrace_part *p = mem_alloc(sizeof(*p));
	struct uftrace_feed *uf = pool_alloc(sizeof(*uf));

	assert(number && number <= whole->ncuts);
	if (!p || !uf) {
		mem_free(p);
		pool_free(uf, sizeof(*uf));
		return false;
	}
	p->from = &whole->cuts[number - 1];
	p->until = number < whole->ncuts ? p->from + 1 : NULL;
	*uf = uftrace_feed_at(t->state, f->id);
	uf->part = p;
	uf->off = b ? b->off : p->from->off;
	uf->side = b ? b->side : p->from->side;
	uf->depth = b ? b->depth : p->from->depth;
	uf->prev = b ? b->prev : 0;
	uf->started = b && b->started;
	part->state = uf;
	return true;
}

bool uftrace_part_follows(const struct feed *before, const struct feed *part)
{
	const struct uftrace_feed *b = before->state;
	const struct uftrace_cut *from = ((const struct uftrace_feed *)part->state)->part->from;

	assert(b->part->until == from);
	return b->off == from->off && b->depth == from->depth && b->prev <= from->time &&
	       b->side == from->side;
}

void uftrace_part_close(struct feed *part)
{
	struct uftrace_feed *uf = part->state;

	if (uf) {
		uftrace_dat_close(uf);
		if (uf->part)
			mem_free(uf->part->cuts);
		mem_free(uf->part);
		pool_free(uf, sizeof(*uf));
	}
	part->state = NULL;
}

bool uftrace_side_is_due(const struct uftrace_feed *uf)
{
	const struct uftrace_cut *until = uf->part ? uf->part->until : NULL;

	if (uf->side == uf->side_end)
		return false;
	if (!uf->ended)
		return uf->held;
	/* A record that does not certainly come before the next part's first one belongs there. */
	return !until || (uf->off == until->off && uf->side->time < until->time);
}
