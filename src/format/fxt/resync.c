/*
 * The search for the next record after damage. Almost any word looks like the header of some
 * record, so a place counts only with a chain of records after it whose every part is where it
 * belongs, and whose references exist. See frame.h.
 */
#include "format/fxt/reader.h"

enum {
	/* Records of a chain that must carry something, where all references exist */
	SUBSTANTIAL = 2,
};

#define NOWHERE UINT64_MAX

enum verdict { NO, YES, MORE, CUT };

/* A chain being walked: the speaking provider, and what the chain registers itself. */
struct chain {
	const struct fxt *x;
	const struct fxt_provider *provider; /* NULL: one without tables */
	unsigned strings[FXT_CHAIN], threads[FXT_CHAIN];
	unsigned nstrings, nthreads;
	unsigned records, substantial;
	bool known; /* all references exist */
};

/* --- references --- */

static bool has(const unsigned *list, unsigned n, unsigned index)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i] == index)
			return true;
	return false;
}

static bool string_exists(const struct chain *c, const struct fxt_string_ref *ref)
{
	const unsigned index = ref->ref;

	if (!index || (index & FXT_INLINE))
		return true;
	return has(c->strings, c->nstrings, index) || c->x->providers[0]->strings[index].now ||
	       (c->provider && c->provider->strings[index].now);
}

static bool thread_exists(const struct chain *c, const struct fxt_thread_ref *ref)
{
	const unsigned index = ref->ref;

	return !index || has(c->threads, c->nthreads, index) ||
	       c->x->providers[0]->threads[index].now ||
	       (c->provider && c->provider->threads[index].now);
}

static bool references_exist(const struct chain *c, const struct fxt_shape *s)
{
	struct cursor in = cursor_make(s->args, (size_t)(s->args_end - s->args), c->x->swap);
	bool exist = string_exists(c, &s->cat) && string_exists(c, &s->name);

	for (unsigned i = 0; i < s->nthreads; i++)
		exist = exist && thread_exists(c, &s->threads[i]);
	for (unsigned i = 0; i < s->nargs && exist; i++) {
		struct fxt_arg a;

		fxt_arg_next(&in, &a);
		exist = string_exists(c, &a.name) && string_exists(c, &a.text);
	}
	return exist;
}

/* What the record changes for those after it. */
static void chain_enter(struct chain *c, const struct fxt_shape *s)
{
	const struct map64_slot *slot;

	if (s->type == FXT_STRING)
		c->strings[c->nstrings++] = (unsigned)fxt_get(s->head, FXT_F_STRING_INDEX);
	else if (s->type == FXT_THREAD)
		c->threads[c->nthreads++] = (unsigned)fxt_get(s->head, FXT_F_THREAD_INDEX);
	if (s->type != FXT_METADATA ||
	    (s->sub != FXT_PROVIDER_INFO && s->sub != FXT_PROVIDER_SECTION))
		return;
	slot = map64_find(&c->x->by_id, (uint32_t)s->value);
	c->provider = slot && slot->value ? c->x->providers[slot->value - 1] : NULL;
}

/* --- records --- */

static bool ref_says(const struct fxt_string_ref *ref)
{
	return ref->ref & (FXT_INLINE - 1);
}

/*
 * Whether the record carries something, as hardly any other bytes do. Headers of arguments and
 * small numbers make exact records too, but ones without name and content.
 */
static bool is_substantial(const struct fxt_shape *s)
{
	switch (s->type) {
	case FXT_METADATA:
		return s->sub == FXT_TRACE_INFO || (s->sub == FXT_PROVIDER_INFO && s->data_len);
	case FXT_STRING:
	case FXT_LOG:
		return s->data_len;
	case FXT_THREAD:
		return fxt_get(s->head, FXT_F_THREAD_INDEX);
	case FXT_EVENT:
		return ref_says(&s->name);
	case FXT_BLOB:
	case FXT_LARGE:
		return s->data_len && ref_says(&s->name);
	case FXT_USER_OBJECT:
	case FXT_KERNEL_OBJECT:
		return s->nargs && ref_says(&s->name);
	case FXT_SCHEDULING:
		return s->sub != FXT_LEGACY_SWITCH || (s->threads[0].ref && s->threads[1].ref);
	case FXT_PROFILER:
		return s->sub == FXT_BACKTRACE ? s->data_len : ref_says(&s->name);
	default:
		return false;
	}
}

/* Bookkeeping records prove nothing unless other records follow. */
static bool stands_alone(const struct fxt_shape *s)
{
	return s->type >= FXT_EVENT;
}

/*
 * SPEC fxt/resync: what the records so far prove. Four in a row, of which two at least carry
 * something and refer to what exists, or all four carry something (what they refer to may have been
 * lost); at the end of the data fewer, where already the first carries something.
 */
static bool chain_proves(const struct chain *c, bool first_substantial, bool first_alone, bool end)
{
	if (c->substantial == FXT_CHAIN)
		return true;
	if (c->records == FXT_CHAIN)
		return c->known && c->substantial >= SUBSTANTIAL;
	return end && c->known && first_substantial && (c->records > 1 || first_alone);
}

bool fxt_record_is_cut(const struct source *src, uint64_t off, uint64_t size, bool swap,
		       const struct fxt_resync *r)
{
	const struct chain c = { .x = r->x, .provider = r->x ? r->x->provider : NULL };
	const uint64_t head = load64(src->data + off, swap);
	struct fxt_shape s;

	if (!fxt_head_plausible(head, size / FXT_WORD))
		return false;
	fxt_shape_of(&s, src->data + off, src->size - off, swap);
	return fxt_shape_cut(&s, size) && (!r->x || references_exist(&c, &s));
}

/* Are there bytes up to `end`? Waits for them unless only what is there is to be judged. */
static bool have(struct source *src, uint64_t end, bool eager)
{
	return end <= src->size || (!eager && source_need(src, end));
}

/* The record of `size` bytes at `off`, of which only the beginning is available so far. */
static enum verdict chain_begun(const struct source *src, uint64_t off, uint64_t size, bool swap)
{
	struct fxt_shape s;

	if (fxt_type(load64(src->data + off, swap)) == FXT_LARGE)
		return NO;
	fxt_shape_of(&s, src->data + off, src->size - off, swap);
	return fxt_shape_open(&s, size) ? MORE : NO;
}

/* The record at *off, which is moved past it. CUT: the data ends within it. */
static enum verdict chain_record(struct source *src, uint64_t *off, bool swap,
				 const struct fxt_resync *r, struct fxt_shape *s)
{
	const uint64_t head = load64(src->data + *off, swap), words = fxt_words(head);

	if (!words || !fxt_head_plausible(head, words))
		return NO;
	if (!have(src, *off + words * FXT_WORD, r->eager)) {
		if (!src->eof)
			return chain_begun(src, *off, words * FXT_WORD, swap);
		return fxt_record_is_cut(src, *off, words * FXT_WORD, swap, r) ? CUT : NO;
	}
	fxt_shape_of(s, src->data + *off, words * FXT_WORD, swap);
	*off += words * FXT_WORD;
	return fxt_shape_exact(s, swap) ? YES : NO;
}

static enum verdict chain_at(struct source *src, uint64_t off, bool swap,
			     const struct fxt_resync *r)
{
	struct chain c = { .x = r->x, .provider = r->x ? r->x->provider : NULL, .known = true };
	bool first_substantial = false, first_alone = false;
	enum verdict v = YES;

	while (c.records < FXT_CHAIN && have(src, off + FXT_WORD, r->eager)) {
		struct fxt_shape s;

		v = chain_record(src, &off, swap, r, &s);
		if (v == CUT)
			break;
		if (v != YES)
			return v;
		if (!c.records++) {
			first_substantial = is_substantial(&s);
			first_alone = stands_alone(&s);
		}
		c.substantial += is_substantial(&s);
		if (r->x) {
			c.known = c.known && references_exist(&c, &s);
			chain_enter(&c, &s);
		}
	}
	if (c.records < FXT_CHAIN && !src->eof)
		return MORE;
	return chain_proves(&c, first_substantial, first_alone,
			    v == CUT || src->size - off < FXT_WORD)
		       ? YES
		       : NO;
}

/* --- places --- */

/*
 * The first place at or after `off`, at steps of 8, where records begin; NOWHERE: none below
 * `limit`.
 */
static uint64_t next_place(struct source *src, uint64_t off, bool swap, struct fxt_resync *r,
			   uint64_t limit)
{
	struct fxt_searched *const known = &r->searched[off % FXT_WORD];
	uint64_t at = off, more = NOWHERE;
	enum verdict v = NO;

	if (known->from <= off && off <= known->clear)
		at = known->clear;
	else
		known->from = off;
	for (; at < limit && have(src, at + FXT_WORD, r->eager); at += FXT_WORD) {
		v = chain_at(src, at, swap, r);
		if (v == YES)
			break;
		if (v == MORE && more == NOWHERE)
			more = at;
	}
	/* What could not be judged is looked at again. */
	known->clear = more < at ? more : at;
	r->undecided = more < r->undecided ? more : r->undecided;
	return v == YES ? at : NOWHERE;
}

/* Word by word; where bytes were lost or added, words begin elsewhere: then byte by byte. */
static uint64_t first_place(struct source *src, uint64_t off, bool swap, struct fxt_resync *r,
			    uint64_t limit)
{
	uint64_t best;

	r->undecided = NOWHERE;
	best = next_place(src, off + FXT_WORD, swap, r, limit);
	for (uint64_t at = off + 1; at < off + FXT_WORD; at++) {
		const uint64_t place = next_place(src, at, swap, r, best < limit ? best : limit);

		best = place < best ? place : best;
	}
	/* Before it records may begin at a place that more data decides. */
	return r->undecided < best ? NOWHERE : best;
}

uint64_t fxt_resync_behind(struct source *src, uint64_t off, bool swap, struct fxt_resync *r)
{
	return first_place(src, off, swap, r, NOWHERE);
}

/* Whether all that the record itself refers to is registered, not looking at its arguments. */
static bool own_references_exist(const struct fxt *x, const struct fxt_shape *s)
{
	const struct fxt_provider *p = x->provider, *q = x->providers[0];
	const unsigned cat = s->cat.ref, name = s->name.ref;
	bool exist = (!cat || (cat & FXT_INLINE) || p->strings[cat].now || q->strings[cat].now) &&
		     (!name || (name & FXT_INLINE) || p->strings[name].now || q->strings[name].now);

	for (unsigned i = 0; i < s->nthreads && exist; i++) {
		const unsigned thread = s->threads[i].ref;

		exist = !thread || p->threads[thread].now || q->threads[thread].now;
	}
	return exist;
}

/*
 * What is no header looks like an event less often than like a record of another type, so events
 * are not doubted.
 */
uint64_t fxt_resync_within(struct fxt *x, uint64_t off, const struct fxt_shape *s)
{
	const uint64_t end = off + s->size;
	const bool eager = x->resync.eager;
	uint64_t place = NOWHERE;

	if (!fxt_shape_doubtful(s) && (s->type == FXT_EVENT || own_references_exist(x, s)))
		return NOWHERE;
	if (x->sure && x->sure == off)
		return NOWHERE;
	/*
	 * What follows decides, also where the input still grows: a whole file gives the same rows.
	 */
	x->resync.eager = false;
	if (have(x->src, end + FXT_WORD, false) && chain_at(x->src, end, x->swap, &x->resync) == NO)
		place = first_place(x->src, off, x->swap, &x->resync, end);
	x->resync.eager = eager;
	return place;
}
