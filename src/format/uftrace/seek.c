/*
 * Finding a time in TID.dat without reading what comes before it.
 *
 * Records are in the order of time, but only those without payload have a known size, so that a
 * place in the middle of the file need not be the start of a record. A place is taken for one if a
 * chain of records begins there whose times ascend and whose payloads are what the argument specs
 * say; a chain that begins inside a payload breaks, or joins the true one, within the largest
 * payload, which is why its later records are used and not the first.
 *
 * Does not seek where a record's depth cannot be told from the record alone (see
 * uftrace_can_seek()).
 */
#include "base/bits.h"
#include "base/search.h"
#include "format/uftrace/dat.h"
#include "format/uftrace/wire.h"

enum {
	CHAIN = 16, /* records that a chain must have, or all up to the end of the file */
	SETTLED = 8, /* of these, as many may belong to a payload */
	NEAR = 1 << 16, /* bytes that are read rather than searched */
	/* Bytes that are searched for a chain: more than payloads of eight records */
	SCAN = 1 << 14,
};

/* A file that is searched. */
struct seek {
	struct uftrace *u;
	const struct uftrace_feed *uf;
	const uint8_t *data;
	uint64_t size;
};

/* A place where a record of a call begins. */
struct place {
	uint64_t off, time;
};

bool uftrace_can_seek(const struct uftrace *u)
{
	return u->shallow && !u->t->options.follow && !u->t->options.as_stored;
}

/* The length of a record with its payload; 0 if it is not known. */
static uint64_t record_length(const struct seek *k, const struct uftrace_session *s, uint64_t off,
			      uint64_t time, uint64_t w)
{
	const uint64_t left = k->size - off - RECORD;
	const uint8_t *p = k->data + off + RECORD;
	const struct event_class *c;
	const struct plan *plan;
	uint32_t cls;
	size_t used;

	if (!(w & RECORD_MORE))
		return RECORD;
	if ((w & 3) == RECORD_EVENT) {
		used = left < 2 ? SIZE_MAX : align_up(2 + (size_t)load16(p, k->u->swap), 8);
		return used <= left && used <= MAX_PAYLOAD ? RECORD + used : 0;
	}
	cls = uftrace_class(k->u, s, time, record_address(w));
	c = cls ? trace_class(k->u->t, cls) : NULL;
	plan = !c ? NULL : class_plan(c, (w & 3) == RECORD_EXIT);
	if (!plan ||
	    plan_run(plan, p, left < MAX_PAYLOAD ? left : MAX_PAYLOAD, NULL, &used) == SPUR_WARN ||
	    used > left)
		return 0;
	return RECORD + used;
}

/*
 * Steps over the record at *off, which must be one whose time is from *time to `until`. Returns its
 * type, or -1 if it is no such record.
 */
static int step(const struct seek *k, uint64_t *off, uint64_t *time, uint64_t until)
{
	uint64_t t, w, len, from, to;
	const struct uftrace_session *s;

	if (k->size - *off < RECORD)
		return -1;
	t = load64(k->data + *off, k->u->swap);
	w = load64(k->data + *off + 8, k->u->swap);
	if ((w & MAGIC_MASK) != MAGIC_BITS)
		return -1;
	if ((w & 3) == RECORD_LOST) {
		if (t || !(w >> 16))
			return -1;
		*off += RECORD;
		return RECORD_LOST;
	}
	if (t < *time || t > until)
		return -1;
	s = uftrace_session_span(&k->u->d, k->uf->tid, t, &from, &to);
	if (!s && k->u->d.nsessions == 1)
		s = &k->u->d.sessions[0];
	if ((w & 3) != RECORD_EVENT && !uftrace_addr_known(k->u, s, t, record_address(w)))
		return -1;
	len = record_length(k, s, *off, t, w);
	if (!len)
		return -1;
	*off += len;
	*time = t;
	return w & 3;
}

/* A chain begins at `off`. `found` gets a call of it that is no part of a payload. */
static bool is_chain(const struct seek *k, uint64_t off, uint64_t from, uint64_t until,
		     struct place *found)
{
	bool have = false;

	for (int i = 0; i < CHAIN && off < k->size; i++) {
		const uint64_t at = off;
		int type = step(k, &off, &from, until);

		if (type < 0)
			return false;
		if (!have && i >= SETTLED && type <= RECORD_EXIT) {
			*found = (struct place){ at, from };
			have = true;
		}
	}
	return have;
}

/* The first chain after `off` whose times are from `from` to `until`. */
static bool find_chain(const struct seek *k, uint64_t off, uint64_t from, uint64_t until,
		       struct place *found)
{
	const uint64_t end = k->size - off > SCAN ? off + SCAN : k->size;

	for (; off < end; off += 8)
		if (is_chain(k, off, from, until, found))
			return true;
	return false;
}

/*
 * A call at most NEAR bytes before the first record at `time` or later, or before the end; `from`
 * where the file cannot be searched. `from` is a record's place.
 */
static struct place search(const struct seek *k, struct place from, uint64_t time)
{
	uint64_t high = k->size, until = INT64_MAX;

	/*
	 * INVARIANT: the record at `from` is older than `time`; one at `high` is not, or nothing is
	 * known of it.
	 */
	while (high - from.off > NEAR) {
		const uint64_t mid = align_up(from.off + (high - from.off) / 2, 8);
		struct place p;

		if (!find_chain(k, mid, from.time, until, &p) || p.off >= high) {
			high = mid;
		} else if (p.time < time) {
			from = p;
		} else {
			high = mid;
			until = p.time;
		}
	}
	return from;
}

/* Sees the whole file, and finds its next record. Returns false if no whole record follows. */
static bool seek_open(struct seek *k, struct uftrace *u, const struct uftrace_feed *uf,
		      struct diag_log *diag, struct place *next)
{
	uint64_t off = uf->off;
	struct source view, *s;

	if (!uf->file || uf->ended || !uftrace_open_dat(u, uf->file, diag))
		return false;
	s = uftrace_file_source(uf->file, &view);
	source_need(s, UINT64_MAX);
	*k = (struct seek){ u, uf, s->data, s->size };
	*next = (struct place){ off, uf->prev };
	while (off < k->size) {
		int type = step(k, &off, &next->time, INT64_MAX);

		if (type < 0)
			return false;
		if (type != RECORD_LOST)
			return true;
		next->off = off;
	}
	return false;
}

/* The first of the feed's records in per-CPU files that is not older than `time`. */
static const struct uftrace_side *side_at(const struct uftrace_feed *uf, uint64_t time)
{
	const size_t count = (size_t)(uf->side_end - uf->side);
	size_t i;

	if (!count)
		return uf->side;
	bisect(i, 0, count, uf->side[i].time < time);
	return uf->side + i;
}

bool uftrace_find_cut(struct uftrace *u, const struct uftrace_feed *uf, uint64_t off,
		      struct uftrace_cut *cut)
{
	struct source view, *s = uftrace_file_source(uf->file, &view);
	const struct seek k = { u, uf, s->data, s->size };
	struct place place;
	uint64_t w;

	off = align_up(off, 8);
	if (off >= s->size || !find_chain(&k, off, 0, INT64_MAX, &place))
		return false;
	w = load64(s->data + place.off + RECORD_AT_WORD, u->swap);
	*cut = (struct uftrace_cut){
		.off = place.off,
		.time = place.time,
		.depth = (uint32_t)(w >> DEPTH_SHIFT & DEPTH_MASK) + (w & 1),
		.side = side_at(uf, place.time),
	};
	return (w & ORDINARY_MASK) == MAGIC_BITS;
}

void uftrace_seek(struct uftrace *u, struct uftrace_feed *uf, struct diag_log *diag, int64_t time)
{
	struct place next, place;
	struct seek k;

	if (time <= 0)
		return;
	if (seek_open(&k, u, uf, diag, &next) && next.time < (uint64_t)time) {
		place = search(&k, next, (uint64_t)time);
		if (place.off != next.off) {
			uf->off = place.off;
			uf->prev = 0;
			uf->depth = 0;
			uf->started = false;
			if (uf->cache)
				uf->cache->window = (struct addr_window){ 0 };
		}
	}
	uf->side = side_at(uf, (uint64_t)time);
}

/* The latest time of what is left of the feed; false: it is not known without reading it. */
static bool feed_last(struct uftrace *u, const struct uftrace_feed *uf, struct diag_log *diag,
		      uint64_t *last)
{
	struct source view, *s;
	struct place place;
	struct seek k;

	if (uf->side < uf->side_end && uf->side_end[-1].time > *last)
		*last = uf->side_end[-1].time;
	if (uf->ended)
		return true;
	if (!seek_open(&k, u, uf, diag, &place)) {
		s = uftrace_file_source(uf->file, &view);
		return s && s->eof && uf->off == s->size;
	}
	place = search(&k, place, INT64_MAX);
	while (place.off < k.size)
		if (step(&k, &place.off, &place.time, INT64_MAX) < 0)
			return false;
	*last = place.time > *last ? place.time : *last;
	return true;
}

bool uftrace_last(struct spur_trace *t, int64_t *ts)
{
	struct uftrace *u = t->state;
	uint64_t last = 0;

	if (!uftrace_can_seek(u))
		return false;
	for (size_t i = 0; i < t->nfeeds; i++) {
		const struct feed *f = t->feeds[i];
		struct uftrace_feed uf;

		for (size_t k = 0; k < f->nahead; k++)
			if (f->ahead[k].ts > 0 && (uint64_t)f->ahead[k].ts > last)
				last = (uint64_t)f->ahead[k].ts;
		uf = f->state ? *(const struct uftrace_feed *)f->state : uftrace_feed_at(u, i);
		if (uf.is_extern || !feed_last(u, &uf, &t->diag, &last))
			return false;
	}
	*ts = (int64_t)last;
	return last != 0;
}
