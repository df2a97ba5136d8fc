/*
 * Copies the records of a TID.dat: runs of kept ones as they are stored. What the reader skips is
 * left out; a payload that it cannot read is left out of its record.
 */
#include <stdlib.h>

#include "base/bits.h"
#include "format/uftrace/copying.h"

/* Bytes that are written at once: they are still in the caches then. */
enum { RUN_MAX = 512 << 10 };

struct dat_copy {
	struct copying *k;
	struct uftrace_file *file;
	struct feed feed; /* private to the copy, for what the decoder reports */
	struct uftrace_feed state;
	struct source *src; /* of the file; NULL until the first records are decoded */
	struct source view; /* `src` of a file that has no source */
	uint64_t run, run_end; /* bytes that are to be written together */
	uint64_t next; /* where the record after the last one is due */
	struct spur_event rows[BATCH_ROWS];
};

static uint32_t dat_stream(const struct dat_copy *d)
{
	return uftrace_file_stream(d->k->u, d->file);
}

static void run_write(struct dat_copy *d)
{
	if (d->run_end > d->run) {
		out_bytes(d->k->o, d->src->data + d->run, d->run_end - d->run);
		source_passed(d->src, d->run, d->run_end);
	}
	d->run = d->run_end = 0;
}

/* Returns true if the record's payload ends before the length that it should have. */
static bool payload_is_torn(const struct dat_copy *d, const struct spur_event *row)
{
	const struct event_class *c = trace_class(d->k->u->t, row->cls);
	const struct plan *plan = class_plan(c, row->kind == SPUR_END_SPAN);
	const uint8_t *p = d->src->data + row->off + RECORD;
	const size_t len = row->len - RECORD;
	size_t used;

	if (kind_is_call(row->kind))
		return !plan || plan_run(plan, p, len, NULL, &used) == SPUR_WARN || used > len;
	return len < EVENT_LENGTH ||
	       len < align_up(EVENT_LENGTH + (uint64_t)load16(p, d->k->u->swap), 8);
}

/* Returns true if the payload of an event is shorter than the fields that its class has. */
static bool event_is_short(const struct dat_copy *d, const struct spur_event *row)
{
	const struct plan *plan = class_plan(trace_class(d->k->u->t, row->cls), false);
	const uint8_t *p = d->src->data + row->off + RECORD;
	const size_t room = row->len - RECORD - (size_t)EVENT_LENGTH;
	size_t len, used;

	if (!plan || kind_is_call(row->kind) || row->len < RECORD + EVENT_LENGTH)
		return false;
	len = load16(p, d->k->u->swap);
	return plan_run(plan, p + EVENT_LENGTH, len < room ? len : room, NULL, &used) == SPUR_WARN;
}

/* SPEC uftrace/copy-damage: returns true if the record is to be written without its payload */
static bool payload_goes(const struct dat_copy *d, const struct spur_event *row)
{
	const uint64_t word = load64(d->src->data + row->off + RECORD_AT_WORD, d->k->u->swap);

	if (!(word & RECORD_MORE))
		return false;
	if (d->k->bare && kind_is_call(row->kind))
		return true;
	if (row->len == RECORD)
		return !row->nargs;
	if (event_is_short(d, row))
		return true;
	/* Only the file's end can cut a payload. */
	return row->off + row->len == d->src->size && payload_is_torn(d, row);
}

/* Writes a record with its time moved, or without its payload (`bare`), or both. */
static void changed_write(struct dat_copy *d, const struct spur_event *row, bool bare)
{
	const bool big = d->k->u->d.info.big_endian;
	const uint8_t *const stored = d->src->data + row->off;
	uint8_t record[RECORD];

	memcpy(record, stored, RECORD);
	/* SPEC uftrace/lost: these have no time */
	if (d->k->shift && row->kind != SPUR_LOST)
		wire_store(record, (uint64_t)(row->ts + d->k->shift), 8, big);
	/* The word's lowest byte is its first or its last in the file. */
	if (bare)
		record[big ? RECORD - 1 : RECORD_AT_WORD] &= (uint8_t)~RECORD_MORE;
	run_write(d);
	out_bytes(d->k->o, record, RECORD);
	if (!bare) {
		out_bytes(d->k->o, stored + RECORD, row->len - RECORD);
	} else if (!d->k->bare) {
		d->k->notes[NOTE_PAYLOADS]++;
		d->k->copy->bytes_lost += row->len - RECORD;
	}
}

/* Returns true if the moved time of the record is one that the format has. */
static bool time_fits(const struct dat_copy *d, const struct spur_event *row)
{
	int64_t moved;

	return row->kind == SPUR_LOST ||
	       (!__builtin_add_overflow(row->ts, d->k->shift, &moved) && moved >= 0);
}

/* SPEC uftrace/copy-cut: kept records as they are, in runs */
static void record_copy(struct dat_copy *d, const struct spur_event *row)
{
	if (row->off > d->next && !d->k->kept)
		copying_lose(d->k, row->off - d->next);
	d->next = row->off + row->len;
	if (!copying_has(d->k, dat_stream(d), row->off))
		return;
	if (!time_fits(d, row)) {
		copying_lose(d->k, row->len);
		return;
	}
	d->k->copy->records++;
	if (d->k->shift || payload_goes(d, row)) {
		changed_write(d, row, payload_goes(d, row));
		return;
	}
	if (row->off != d->run_end || d->run_end == d->run) {
		run_write(d);
		d->run = row->off;
	}
	d->run_end = d->next;
	if (d->run_end - d->run >= RUN_MAX)
		run_write(d);
}

/*
 * Moves to shortly before the first kept record, where the file can be entered there. Returns false
 * if no record of the file is kept.
 */
static bool dat_enter(struct dat_copy *d)
{
	const struct uftrace_feed start = d->state;
	uint64_t first;

	if (!d->k->kept)
		return true;
	first = kept_next(d->k->kept, dat_stream(d), 0);
	if (first == UINT64_MAX)
		return false;
	if (d->k->from > 0 && uftrace_can_seek(d->k->u))
		uftrace_seek(d->k->u, &d->state, &d->feed.diag, d->k->from);
	if (d->state.off > first)
		d->state = start;
	d->next = d->state.off;
	return true;
}

/* Returns true if no more records of the file are wanted. */
static bool dat_over(const struct dat_copy *d)
{
	return d->k->kept && kept_next(d->k->kept, dat_stream(d), d->next) == UINT64_MAX;
}

/* Calls `each` with all records that are wanted, as they are stored. Returns false if it fails. */
static bool dat_walk(struct dat_copy *d, bool (*each)(struct dat_copy *, const struct spur_event *))
{
	bool good = true;

	if (!dat_enter(d))
		return true;
	while (good && !dat_over(d) && !copying_stopped(d->k)) {
		struct batch b = { .rows = d->rows, .cap = BATCH_ROWS };

		good = uftrace_dat_next(d->k->u, &d->feed, &d->state, &b, UINT64_MAX) != SPUR_FAIL;
		d->src = uftrace_file_source(d->file, &d->view);
		if (good && !b.count && d->state.ended)
			break;
		for (uint32_t i = 0; good && i < b.count; i++)
			good = each(d, &b.rows[i]);
	}
	uftrace_dat_close(&d->state);
	if (!d->k->kept && d->src && d->src->size > d->next)
		copying_lose(d->k, d->src->size - d->next);
	return good;
}

static bool each_copied(struct dat_copy *d, const struct spur_event *row)
{
	record_copy(d, row);
	return true;
}

/* --- in the order of time --- */

struct placed {
	int64_t ts;
	uint64_t off;
	uint32_t len;
	uint32_t cls; /* of a record whose payload is to be checked */
	uint8_t kind, nargs;
};

struct placed_list {
	struct dat_copy d;
	struct placed *items; /* scratch memory */
	size_t count, bytes, written;
	int64_t last;
	uint64_t moved; /* records that are older than the one before */
};

static bool each_listed(struct dat_copy *d, const struct spur_event *row)
{
	struct placed_list *l = (struct placed_list *)d;

	if ((l->count + 1) * sizeof(*l->items) > l->bytes) {
		const size_t bytes = l->bytes ? 2 * l->bytes : 4096 * sizeof(*l->items);
		struct placed *items = scratch_alloc(bytes);

		if (!items)
			return false;
		if (l->count)
			memcpy(items, l->items, l->count * sizeof(*items));
		scratch_free(l->items, l->bytes);
		l->items = items;
		l->bytes = bytes;
	}
	if (row->ts < l->last) {
		l->moved++;
	}
	l->last = row->ts;
	l->items[l->count++] =
		(struct placed){ row->ts, row->off, row->len, row->cls, row->kind, row->nargs };
	if (row->off > d->next && !d->k->kept)
		copying_lose(d->k, row->off - d->next);
	d->next = row->off + row->len;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

static int64_t placed_ts(const struct placed_list *l)
{
	return l->items[l->written].ts;
}

/* Writes the next record of the list. */
static void placed_write(struct placed_list *l)
{
	const struct placed *p = &l->items[l->written++];
	const struct spur_event row = { .ts = p->ts,
					.off = p->off,
					.len = p->len,
					.cls = p->cls,
					.kind = p->kind,
					.nargs = p->nargs };

	/* What lies between two records has been counted. */
	l->d.next = p->off;
	record_copy(&l->d, &row);
}

/* SPEC uftrace/copy-sort: records of a task in the order of time */
static bool dat_sort(struct placed_list *l)
{
	bool good = dat_walk(&l->d, each_listed);

	if (good && l->moved)
		qsort(l->items, l->count, sizeof(*l->items), by_time);
	l->d.k->notes[NOTE_MOVED] += l->moved;
	while (good && l->written < l->count)
		placed_write(l);
	return good;
}

/* The copy of a file, or NULL if out of memory. Free with list_free(). */
static struct placed_list *list_new(struct copying *k, struct uftrace_file *file, int64_t tid)
{
	struct placed_list *l = mem_alloc(sizeof(*l));

	if (!l)
		return NULL;
	l->d.k = k;
	l->d.file = file;
	diag_init(&l->d.feed.diag);
	l->d.state = (struct uftrace_feed){ .file = file, .tid = tid };
	l->last = INT64_MIN;
	return l;
}

static void list_free(struct placed_list *l)
{
	if (!l)
		return;
	scratch_free(l->items, l->bytes);
	diag_free(&l->d.feed.diag);
	mem_free(l);
}

bool copying_dat(struct copying *k, struct uftrace_file *file, int64_t tid)
{
	struct placed_list *l = list_new(k, file, tid);
	bool good;

	if (!l)
		return false;
	good = k->copy->sorted || k->copy->repair ? dat_sort(l) : dat_walk(&l->d, each_copied);
	if (good)
		run_write(&l->d);
	list_free(l);
	return good;
}

/* The list whose next record is the earliest, the first of several; NULL: all are written. */
static struct placed_list *list_first(struct placed_list **lists, size_t count)
{
	struct placed_list *first = NULL;

	for (size_t i = 0; i < count; i++)
		if (lists[i]->written < lists[i]->count &&
		    (!first || placed_ts(lists[i]) < placed_ts(first)))
			first = lists[i];
	return first;
}

/*
 * INVARIANT: only the list that was written last has a run of bytes that is still to be written.
 */
static void lists_write(struct placed_list **lists, size_t count)
{
	struct placed_list *l, *last = NULL;

	while ((l = list_first(lists, count))) {
		if (last && l != last)
			run_write(&last->d);
		placed_write(l);
		last = l;
	}
	if (last)
		run_write(&last->d);
}

bool copying_dats(const struct copying_dat_part *parts, size_t count)
{
	struct placed_list **lists = mem_array(count, sizeof(*lists));
	bool good = lists;

	for (size_t i = 0; good && i < count; i++) {
		lists[i] = list_new(parts[i].k, parts[i].file, parts[i].tid);
		good = lists[i] && dat_walk(&lists[i]->d, each_listed);
	}
	if (good)
		lists_write(lists, count);
	for (size_t i = 0; lists && i < count; i++)
		list_free(lists[i]);
	mem_free(lists);
	return good;
}
