/* Walks the records of the parts of a copy. See copying.h. */
#include "format/fxt/copying.h"

enum { STOP_RECORDS = 1 << 16, PROVIDER_IDS = 1 << 20 };

static bool stopped(const struct fxt_copying *k)
{
	return k->copy->stop && *k->copy->stop;
}

/* --- what is known once all rows were made: damage --- */

/*
 * Reads the rows that have not been read yet, so that all damage is known. Their order does not
 * matter, and as stored they cost less.
 */
static bool read_rest(struct fxt_copying *k)
{
	const bool ordered = k->x->ordered;
	struct batch b = { .rows = mem_array(FXT_BATCH, sizeof(*b.rows)), .cap = FXT_BATCH };
	enum spur_status st = b.rows ? SPUR_OK : SPUR_FAIL;

	k->x->ordered = false;
	while (st == SPUR_OK && !stopped(k)) {
		b.cap = FXT_BATCH;
		st = fxt_next(k->x->t, k->x->t->feeds[0], &b);
	}
	k->x->ordered = ordered;
	mem_free(b.rows);
	return st != SPUR_FAIL;
}

static uint64_t damage_of(const struct fxt_copying *k)
{
	const struct spur_trace *t = k->x->t;

	return diag_count(&t->diag, DIAG_DAMAGE) + diag_count(&t->feeds[0]->diag, DIAG_DAMAGE);
}

static uint64_t bytes_lost(const struct diag_log *log)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < diag_groups(log); i++)
		if (diag_at(log, i)->level == DIAG_DAMAGE)
			sum += diag_at(log, i)->bytes_lost;
	return sum;
}

/* --- records --- */

/* Whether records of the header make rows: others are written where they are needed. */
static bool makes_rows(const struct fxt_shape *s)
{
	switch (s->type) {
	case FXT_METADATA:
		return s->sub == FXT_PROVIDER_EVENT || !s->known;
	case FXT_INIT:
	case FXT_STRING:
	case FXT_THREAD:
		return false;
	case FXT_BLOB:
		return !fxt_blob_is_filler(s);
	case FXT_USER_OBJECT:
	case FXT_KERNEL_OBJECT:
	case FXT_PROFILER:
		return !fxt_shape_marked(s);
	default:
		return true;
	}
}

/* Where a record's time stands, if its header says that it has one; 0: elsewhere, or nowhere. */
static unsigned time_at(uint64_t head)
{
	switch (fxt_type(head)) {
	case FXT_EVENT:
	case FXT_LOG:
		return FXT_WORD;
	case FXT_SCHEDULING:
		return fxt_get(head, FXT_F_SCHED_TYPE) < FXT_SCHEDULING_TYPES ? FXT_WORD : 0;
	case FXT_PROFILER:
		return fxt_get(head, FXT_F_PROFILER_TYPE) < FXT_PROFILER_TYPES ? FXT_WORD : 0;
	default:
		return 0;
	}
}

/*
 * Goes to the next record. Returns false after the last one. The reader has seen all of them, but a
 * mapped file may have been written to since.
 */
static bool walk_next(const struct fxt_copying *k, struct fxt_walk *w)
{
	const struct fxt *x = k->x;
	uint64_t left;

	for (w->off += w->size; w->gap < x->nlost && x->lost[w->gap].off <= w->off; w->gap++)
		if (x->lost[w->gap].off == w->off)
			w->off += x->lost[w->gap].len;
	left = w->off < x->src->size ? x->src->size - w->off : 0;
	if (left < FXT_WORD)
		return false;
	w->head = load64(x->src->data + w->off, x->swap);
	w->size = fxt_words(w->head) * FXT_WORD;
	for (; w->section < x->nsections && x->sections[w->section].off <= w->off; w->section++)
		w->number = x->sections[w->section].provider;
	source_record_passed(x->src, w->off, w->size);
	return w->size && w->size <= left;
}

/* Finds the initialization records. Returns false if out of memory. */
static bool find_inits(const struct fxt_copying *k)
{
	const struct fxt *x = k->x;
	struct fxt_walked *d = x->walked;
	struct fxt_walk w = { 0 };

	d->ninits = 0;
	while (walk_next(k, &w)) {
		const unsigned type = fxt_type(w.head);

		d->fallback |= (type == FXT_STRING || type == FXT_THREAD) && !w.number &&
			       x->nproviders > 1;
		if (type != FXT_INIT || w.size < 2 * FXT_WORD ||
		    !load64(x->src->data + w.off + FXT_WORD, x->swap))
			continue;
		if (!fxt_scratch_grow((void **)&d->inits, &d->inits_cap, d->ninits + 1,
				      sizeof(*d->inits)))
			return false;
		d->inits[d->ninits++] = (struct fxt_init){ .off = w.off, .number = w.number };
	}
	d->complete = true;
	return true;
}

/* Lists the initialization records of each provider. Returns false if out of memory. */
static bool list_inits(struct fxt_copying *k)
{
	struct fxt *x = k->x;

	if (!x->walked)
		x->walked = mem_alloc(sizeof(*x->walked));
	if (!x->walked || (!x->walked->complete && !find_inits(k)))
		return false;
	for (size_t i = 0; i < x->walked->ninits; i++) {
		const struct fxt_init *init = &x->walked->inits[i];
		struct fxt_copied *p = &k->providers[init->number];

		p->head = fxt_log_add(&k->inits, p->head, init->off, (uint32_t)i);
		if (!p->head)
			return false;
	}
	return true;
}

/* Sets the time of the record that the walk is at; its shape is set if it was needed. */
static void set_time(struct fxt_copying *k, struct fxt_walk *w, struct fxt_copy_record *r)
{
	const struct fxt *x = k->x;
	const uint8_t *p = x->src->data + w->off;
	const unsigned at = time_at(w->head);
	bool timed = at && w->size > at, clamped = false;
	uint64_t ticks = timed ? load64(p + at, x->swap) : 0;

	r->shape.p = NULL;
	if (fxt_type(w->head) == FXT_LARGE || fxt_type(w->head) == FXT_BLOB) {
		fxt_shape_of(&r->shape, p, w->size, x->swap);
		timed = r->shape.timed;
		ticks = r->shape.ticks;
	}
	if (timed) {
		r->ts = fxt_clock_ns(w->clock, ticks, &clamped);
		k->highest = r->ts > k->highest ? r->ts : k->highest;
	} else if (w->mark_end && w->mark_end == w->off) {
		r->ts = w->mark_ts;
		k->highest = r->ts > k->highest ? r->ts : k->highest;
	} else {
		r->ts = k->highest == INT64_MIN ? x->start : k->highest;
	}
	if (timed ? fxt_type(w->head) == FXT_BLOB : w->mark_end && w->mark_end == w->off) {
		w->mark_end = w->off + w->size;
		w->mark_ts = r->ts;
	}
}

/* The order of rows by time (SPEC fxt/order), so that a reader gives the same rows again. */
static bool add_item(struct fxt_copying *k, const struct fxt_copy_record *r)
{
	const struct fxt_shape *s = &r->shape;
	const struct fxt_clock *c = fxt_copy_clock(k, r->number, r->off);
	const bool span = s->type == FXT_EVENT && s->sub == FXT_COMPLETE && !s->tail_lost;
	bool clamped = false;
	int64_t end, dur = 0;

	if (span && s->value >= s->ticks) {
		end = fxt_clock_ns(c, s->value, &clamped);
		if (__builtin_sub_overflow(end, r->ts, &dur))
			dur = INT64_MAX;
	}
	if (!fxt_scratch_grow((void **)&k->items, &k->items_cap, k->nitems + 1, sizeof(*k->items)))
		return false;
	k->items[k->nitems++] = (struct fxt_item){ .ts = r->ts,
						   .rank = span ? REORDER_SPAN(dur) : r->off,
						   .off = r->off };
	return true;
}

/* A record that is chosen. */
static bool take(struct fxt_copying *k, struct fxt_copy_record *r)
{
	if (r->shape.type == FXT_METADATA && r->shape.sub == FXT_PROVIDER_EVENT) {
		const struct map64_slot *slot = map64_find(&k->x->by_id, r->shape.value);

		if (slot && slot->value)
			r->number = (uint32_t)slot->value - 1;
		k->gap_told |= !fxt_get(r->shape.head, FXT_F_METADATA_EVENT);
	}
	return k->sorted ? add_item(k, r) : fxt_copy_record(k, r);
}

/* Goes over all records of the part. Returns false if out of memory. */
static bool walk_part(struct fxt_copying *k)
{
	const struct kept *kept = k->part->kept;
	struct fxt *x = k->x;
	struct fxt_walk w = { 0 };
	struct fxt_copy_record r;
	uint64_t next = kept ? kept_next(kept, x->stream, 0) : 0;

	k->highest = INT64_MIN;
	while (next != UINT64_MAX && !stopped(k)) {
		if (!fxt_copy_stop(k, &w))
			return false;
		if (kept)
			fxt_copy_skip(k, &w, next);
		if (!walk_next(k, &w))
			break;
		r.off = w.off;
		r.number = w.number;
		fxt_copy_changed(k, &w);
		set_time(k, &w, &r);
		k->gap |= k->damaged && w.gap;
		if (kept && w.off < next) {
			if (k->quick)
				fxt_copy_plain(k, &w, &next);
			continue;
		}
		if (!r.shape.p)
			fxt_shape_of(&r.shape, x->src->data + w.off, w.size, x->swap);
		if (kept)
			next = kept_next(kept, x->stream, w.off + 1);
		if (kept && !kept_has(kept, x->stream, w.off))
			continue;
		/* SPEC fxt/bad-record */
		if (r.shape.lacks) {
			k->damages++;
			continue;
		}
		if (makes_rows(&r.shape) && !take(k, &r))
			return false;
		if (k->quick)
			fxt_copy_plain(k, &w, &next);
	}
	return true;
}

/* --- order of time --- */

static bool item_before(const struct fxt_item *a, const struct fxt_item *b)
{
	if (a->ts != b->ts)
		return a->ts < b->ts;
	return a->rank != b->rank ? a->rank < b->rank : a->off < b->off;
}

static void merge_runs(const struct fxt_item *a, size_t na, const struct fxt_item *b, size_t nb,
		       struct fxt_item *to)
{
	while (na && nb) {
		const bool second = item_before(b, a);

		*to++ = second ? *b++ : *a++;
		na -= !second;
		nb -= second;
	}
	memcpy(to, a, na * sizeof(*to));
	memcpy(to + na, b, nb * sizeof(*to));
}

/* Sorts the items, using scratch memory alone. Returns false if out of memory. */
static bool sort_items(struct fxt_copying *k)
{
	const size_t n = k->nitems, bytes = k->items_cap * sizeof(*k->items);
	struct fxt_item *from = k->items, *to;
	size_t i = 1;

	while (i < n && !item_before(&from[i], &from[i - 1]))
		i++;
	if (i >= n)
		return true;
	to = scratch_alloc(bytes);
	if (!to)
		return false;
	for (size_t run = 1; run < n; run *= 2) {
		struct fxt_item *const done = to;

		for (i = 0; i < n; i += 2 * run) {
			const size_t half = n - i < run ? n - i : run, rest = n - i - half;

			merge_runs(from + i, half, from + i + half, rest < run ? rest : run,
				   to + i);
		}
		to = from;
		from = done;
	}
	k->items = from;
	scratch_free(to, bytes);
	return true;
}

static bool write_sorted(struct fxt_copying *k)
{
	const struct fxt *x = k->x;
	bool good = sort_items(k);

	for (size_t i = 0; good && i < k->nitems && (i % STOP_RECORDS || !stopped(k)); i++) {
		struct fxt_copy_record r = { .off = k->items[i].off, .ts = k->items[i].ts };
		const uint64_t head = load64(x->src->data + r.off, x->swap);
		const struct map64_slot *slot;

		fxt_shape_of(&r.shape, x->src->data + r.off, fxt_words(head) * FXT_WORD, x->swap);
		r.number = fxt_provider_at(x, r.off)->number;
		slot = map64_find(&x->by_id, r.shape.value);
		if (r.shape.type == FXT_METADATA && r.shape.sub == FXT_PROVIDER_EVENT && slot &&
		    slot->value)
			r.number = (uint32_t)slot->value - 1;
		good = fxt_copy_record(k, &r);
	}
	scratch_free(k->items, k->items_cap * sizeof(*k->items));
	k->items = NULL;
	k->nitems = k->items_cap = 0;
	return good;
}

/* --- parts --- */

/* A number that no provider of the output has; its own if that is free. */
static bool id_of(struct fxt_copying *k, uint32_t wanted, uint32_t *id)
{
	struct map64_slot *slot;

	for (*id = wanted; (slot = map64_find(&k->ids, *id)) && slot->value;)
		*id = *id < PROVIDER_IDS ? *id + 1 : 0;
	slot = map64_put(&k->ids, *id);
	if (slot)
		slot->value = 1;
	return slot;
}

/*
 * How the part's times are moved by its shift. Readers relate clocks by the time of day themselves
 * (SPEC fxt/init-base), so that only the rest needs to be written.
 */
static void choose_times(struct fxt_copying *k, const struct fxt *first)
{
	const struct fxt *x = k->x;
	const bool related = first->base_time && x->base_time && first->base_time <= INT64_MAX &&
			     x->base_time <= INT64_MAX;
	const int64_t known = related ? (int64_t)x->base_time - (int64_t)first->base_time : 0;
	bool exact = !x->base_time;
	int64_t start;

	k->times = FXT_TIMES_KEPT;
	k->base = 0;
	if (__builtin_sub_overflow(k->part->shift, known, &k->shift) || !k->shift) {
		k->shift = k->part->shift;
		return;
	}
	for (size_t i = 0; i < x->nproviders; i++)
		exact &= !x->providers[i]->told_others &&
			 (__int128)k->shift * (__int128)x->providers[i]->clock.hz % 1000000000 == 0;
	k->shift = k->part->shift;
	if (__builtin_add_overflow(x->start, k->shift, &start))
		start = 0;
	k->times = exact && start >= 0 ? FXT_TIMES_MOVED : FXT_TIMES_NS;
	k->base = start < 0 ? -start : 0;
}

static bool part_open(struct fxt_copying *k, const struct copy_part *part, const struct fxt *first)
{
	struct fxt *x = part->trace->state;
	bool good;

	k->part = part;
	k->x = x;
	k->nproviders = x->nproviders;
	k->recode = x->swap != k->record.swap;
	k->damaged = damage_of(k) != 0;
	k->speaking = NULL;
	k->gap = false;
	k->providers = mem_array(k->nproviders, sizeof(*k->providers));
	good = k->providers && list_inits(k);
	choose_times(k, first);
	k->settled = 0;
	k->quick = !k->sorted && !k->recode && !k->damaged && !k->copy->repair &&
		   k->times == FXT_TIMES_KEPT;
	for (uint32_t i = 0; good && i < k->nproviders; i++) {
		/*
		 * What precedes all providers needs none, where it stays in front of them: the
		 * provider that tells the first clock may have to come before.
		 */
		k->providers[i].nameless =
			!i && !k->joined &&
			(k->nproviders == 1 || (!k->sorted && !(x->clock_told && x->clock_number)));
		if (!k->providers[i].nameless)
			good = id_of(k, x->providers[i]->id, &k->providers[i].id);
	}
	return good;
}

static void part_close(struct fxt_copying *k)
{
	for (size_t i = 0; k->providers && i < k->nproviders; i++) {
		mem_free(k->providers[i].strings);
		mem_free(k->providers[i].threads);
		mem_free(k->providers[i].string_told);
		mem_free(k->providers[i].thread_told);
	}
	mem_free(k->providers);
	k->providers = NULL;
	fxt_log_free(&k->inits);
	map64_free(&k->told);
	k->told = (struct map64){ 0 };
	map64_free(&k->modules);
	k->modules = (struct map64){ 0 };
	map64_free(&k->mappings);
	k->mappings = (struct map64){ 0 };
	map64_free(&k->pointers);
	k->pointers = (struct map64){ 0 };
}

static bool copy_part(struct fxt_copying *k, const struct copy_part *part, const struct fxt *first)
{
	const bool good = part_open(k, part, first) &&
			  (part != k->copy->parts || fxt_copy_first_clock(k)) && walk_part(k) &&
			  (!k->sorted || write_sorted(k));

	part_close(k);
	return good;
}

/* --- whole files --- */

/* Bytes are written while those of the walk are in the caches. */
static void copy_bytes(struct fxt_copying *k)
{
	const struct source *src = k->x->src;
	struct fxt_walk w = { 0 };
	uint64_t at = 0;

	while (walk_next(k, &w) && !stopped(k) && !k->o->error) {
		const unsigned type = fxt_type(w.head);

		k->copy->records += type > FXT_THREAD || type == FXT_METADATA;
		if (w.off - at >= FXT_RUN_MOST) {
			out_bytes(k->o, src->data + at, w.off - at);
			source_passed(src, at, w.off);
			at = w.off;
		}
	}
	if (!stopped(k))
		out_bytes(k->o, src->data + at, src->size - at);
}

static void add_note(const struct fxt_copying *k, uint64_t count, const char *what)
{
	if (count)
		out_printf(k->copy->notes, "%s: %llu\n", what, (unsigned long long)count);
}

static void write_notes(struct fxt_copying *k)
{
	if (!k->copy->notes)
		return;
	add_note(k, k->damages, "records without room for their parts, left out");
	add_note(k, k->gaps_told, "events added that say that records are missing");
	add_note(k, k->rewritten, "records written anew");
	add_note(k, k->dropped, "records of unknown type in another byte order, left out");
	add_note(k, k->unmarked, "records without a time that have another event's time now");
}

/* All parts, each with the records that are chosen. */
static bool copy_records(struct fxt_copying *k)
{
	const struct copy *c = k->copy;
	const struct fxt *first = c->parts[0].trace->state;
	bool good = true;

	store64(k->record.bytes, FXT_MAGIC, k->record.swap);
	out_bytes(k->o, k->record.bytes, FXT_WORD);
	for (size_t i = 0; good && i < c->count && !stopped(k); i++)
		good = copy_part(k, &c->parts[i], first);
	return good;
}

/* Adds the ids of processes, threads and named koids. Returns false if another part has one. */
static bool ids_apart(struct map64 *ids, const struct fxt *x, size_t part)
{
	for (size_t i = 0; i < x->names.nkoids; i++) {
		struct map64_slot *slot = map64_put(ids, x->names.koids[i].koid);

		if (!slot || (slot->value && slot->value != part + 1))
			return false;
		slot->value = part + 1;
	}
	return true;
}

/*
 * Koids are those of the whole output, and records that are missing are missing for all ends behind
 * them.
 */
bool fxt_joins(const struct copy *copy)
{
	const struct fxt *first = copy->parts[0].trace->state;
	struct map64 ids = { 0 };
	bool good = true;

	for (size_t i = 0; good && i < copy->count; i++) {
		const struct fxt *x = copy->parts[i].trace->state;

		good = x->ordered && !x->had_gaps && x->swap == first->swap &&
		       ids_apart(&ids, x, i);
	}
	map64_free(&ids);
	return good;
}

/* Reads what was not read yet of all parts, and counts what is damaged. */
static bool prepare(struct fxt_copying *k, bool *damaged)
{
	struct copy *c = k->copy;
	bool good = true;

	*damaged = false;
	for (size_t i = 0; good && i < c->count; i++) {
		k->x = c->parts[i].trace->state;
		good = read_rest(k);
		*damaged |= damage_of(k) != 0;
		c->bytes_lost += bytes_lost(&k->x->t->diag) + bytes_lost(&k->x->t->feeds[0]->diag);
	}
	return good;
}

enum spur_status fxt_copy(struct copy *copy)
{
	struct fxt_copying *k = mem_alloc(sizeof(*k));
	const struct fxt *first = copy->parts[0].trace->state;
	bool damaged, good;

	if (!k)
		return err_nomem(copy->err);
	k->copy = copy;
	k->o = copy->out;
	k->joined = copy->count > 1;
	k->sorted = copy->sorted;
	k->record.swap = k->args.swap = first->swap;
	k->written = INT64_MIN;
	good = prepare(k, &damaged);
	if (good && !damaged && !k->joined && !copy->parts[0].kept && !k->sorted && !copy->repair)
		copy_bytes(k);
	else if (good)
		good = copy_records(k);
	write_notes(k);
	map64_free(&k->ids);
	mem_free(k);
	/* Without an error of its own, a failure is that of the output or of memory. */
	return good ? SPUR_OK : SPUR_FAIL;
}
