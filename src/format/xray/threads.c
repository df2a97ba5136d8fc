/*
 * Threads with their tracks and feeds, and the list of buffers, which may be long and lies in
 * scratch memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/search.h"
#include "format/xray/reader.h"

enum { MAX_THREADS = 1 << 24, LIST_START = 256 };

void *xray_list_add(struct xray_list *l)
{
	if (l->count == l->cap) {
		const size_t cap = l->cap ? l->cap * 2 : LIST_START;
		void *bigger = cap <= UINT32_MAX ? scratch_alloc(cap * l->size) : NULL;

		if (!bigger)
			return NULL;
		if (l->count)
			memcpy(bigger, l->items, l->count * l->size);
		scratch_free(l->items, l->cap * l->size);
		l->items = bigger;
		l->cap = cap;
	}
	return (char *)l->items + l->count++ * l->size;
}

static void xray_list_free(struct xray_list *l)
{
	scratch_free(l->items, l->cap * l->size);
	*l = (struct xray_list){ 0 };
}

/* Both have 32 bits in every record; a profile has 64 and one process. */
static uint64_t thread_key(const struct xray *x, int64_t pid, int64_t tid)
{
	return x->mode == XRAY_PROFILE ? (uint64_t)tid : (uint64_t)pid << 32 | (uint32_t)tid;
}

static uint64_t thread_key_of(const void *xray, uint32_t i)
{
	const struct xray *x = xray;

	const struct xray_thread *th = xray_thread_at(x, i);

	return thread_key(x, th->pid, th->tid);
}

struct xray_thread *xray_thread_find(const struct xray *x, int64_t pid, int64_t tid)
{
	const uint32_t i = key_index_find(&x->by_key, thread_key(x, pid, tid), thread_key_of, x);

	return i == KEY_INDEX_NONE ? NULL : xray_thread_at(x, i);
}

uint32_t xray_thread_get(struct xray *x, int64_t pid, int64_t tid)
{
	const uint32_t known =
		key_index_find(&x->by_key, thread_key(x, pid, tid), thread_key_of, x);
	const size_t page = x->nthreads / XRAY_THREAD_PAGE;
	struct xray_thread *th;

	if (known != KEY_INDEX_NONE)
		return known;
	if (x->nthreads >= MAX_THREADS ||
	    !mem_grow((void **)&x->threads, &x->threads_cap, page + 1, sizeof(th), MAX_THREADS))
		return SPUR_NONE;
	if (!x->threads[page])
		x->threads[page] = scratch_alloc(XRAY_THREAD_PAGE * sizeof(*th));
	if (!x->threads[page])
		return SPUR_NONE;
	th = xray_thread_at(x, x->nthreads);
	*th = (struct xray_thread){
		.pid = pid, .tid = tid, .track = SPUR_NONE, .cpu = SPUR_NO_CPU
	};
	if (!key_index_add(&x->by_key, (uint32_t)x->nthreads, thread_key_of, x))
		return SPUR_NONE;
	return (uint32_t)x->nthreads++;
}

static void threads_free(struct xray *x)
{
	for (size_t i = 0; i < x->threads_cap; i++)
		scratch_free(x->threads[i], XRAY_THREAD_PAGE * sizeof(**x->threads));
	mem_free(x->threads);
	x->threads = NULL;
	x->threads_cap = 0;
	key_index_free(&x->by_key);
}

static uint32_t process_track(struct xray *x, int64_t pid)
{
	struct map64_slot *slot = map64_put(&x->by_pid, (uint64_t)pid);
	char name[40] = "process";

	if (!slot)
		return SPUR_NONE;
	if (!slot->value) {
		if (pid >= 0)
			snprintf(name, sizeof(name), "process %" PRId64, pid);
		slot->value = 1 + (uint64_t)trace_add_track(
					  x->t, (struct spur_track){
							.parent = SPUR_NONE,
							.name = trace_intern(x->t, name),
							.kind = SPUR_TRACK_PROCESS,
							.pid = pid,
							.tid = -1,
							.cpu = -1,
						});
	}
	return (uint32_t)(slot->value - 1);
}

/* Adds a thread's track. Returns SPUR_NONE if out of memory. */
static uint32_t thread_track(struct xray *x, int64_t pid, int64_t tid)
{
	const uint32_t parent = process_track(x, pid);
	char name[40] = "unknown thread";

	if (parent == SPUR_NONE)
		return SPUR_NONE;
	if (tid >= 0)
		snprintf(name, sizeof(name), "thread %" PRId64, tid);
	return trace_add_track(x->t, (struct spur_track){
					     .parent = parent,
					     .name = trace_intern(x->t, name),
					     .kind = SPUR_TRACK_THREAD,
					     .pid = pid,
					     .tid = tid,
					     .cpu = -1,
				     });
}

bool xray_thread_track(struct xray *x, struct xray_thread *th)
{
	if (th->track == SPUR_NONE)
		th->track = thread_track(x, th->pid, th->tid);
	return th->track != SPUR_NONE;
}

uint32_t xray_range_find(const struct xray *x, int64_t pid, int64_t tid)
{
	const struct spur_track *k;
	size_t i;

	bisect(i, 0, x->nranges,
	       (k = trace_track(x->t, x->ranges[i].track))->pid < pid ||
		       (k->pid == pid && k->tid < tid));
	if (i == x->nranges)
		return SPUR_NONE;
	k = trace_track(x->t, x->ranges[i].track);
	return k->pid == pid && k->tid == tid ? (uint32_t)i : SPUR_NONE;
}

const struct xray_range *xray_range_of(const struct xray *x, uint32_t track)
{
	size_t i;

	bisect(i, 0, x->nranges, x->ranges[i].track < track);
	return i < x->nranges && x->ranges[i].track == track ? &x->ranges[i] : NULL;
}

struct xray_thread xray_range_thread(const struct xray *x, const struct xray_range *range)
{
	const struct spur_track *k = trace_track(x->t, range->track);

	return (struct xray_thread){
		.pid = k->pid, .tid = k->tid, .track = range->track, .cpu = SPUR_NO_CPU
	};
}

/* SPEC xray/buffer-order: the file is a ring, a thread's buffers are ordered by their times */
static int buffer_order(const void *a, const void *b)
{
	const struct xray_buffer *p = a, *q = b;

	if (p->thread != q->thread)
		return p->thread < q->thread ? -1 : 1;
	if (p->wall != q->wall)
		return p->wall < q->wall ? -1 : 1;
	if (p->tsc != q->tsc)
		return p->tsc < q->tsc ? -1 : 1;
	return p->off < q->off ? -1 : p->off > q->off;
}

/* One of the two, of one thread and time, has all that the other has. */
static bool is_repeated(const struct xray *x, const struct xray_buffer *p,
			const struct xray_buffer *q)
{
	const uint64_t a = p->end - p->off, b = q->end - q->off, least = a < b ? a : b;

	return p->thread == q->thread && p->wall == q->wall && p->tsc == q->tsc &&
	       !((p->flags | q->flags) & (BUFFER_NO_TSC | BUFFER_NO_WALL)) &&
	       memcmp(xray_at(x, p->off), xray_at(x, q->off), least) == 0;
}

static bool add_repeated(struct xray *x, const struct xray_buffer *b)
{
	const uint64_t head = b->flags & BUFFER_EXTENTS ? XRAY_METADATA : 0;

	return xray_span_add(x, b->off - head, b->end - b->off + head, XRAY_CLASS_REPEATED);
}

/*
 * SPEC xray/repeated-buffer: of sorted buffers that stand in the file twice the longer one is kept
 */
static bool drop_repeated(struct xray *x)
{
	struct xray_buffer *items = x->list.items;
	size_t n = 0;

	for (size_t i = 0; i < x->list.count; i++) {
		struct xray_buffer *last = n ? &items[n - 1] : NULL;

		if (!last || !is_repeated(x, last, &items[i])) {
			items[n++] = items[i];
			continue;
		}
		diag_add(&x->t->diag, DIAG_WARN, "xray/repeated-buffer", x->file, items[i].off, 0,
			 "buffer: expected one of its own, found that at 0x%llx again, as LLVM "
			 "writes it in place of one that a thread still uses: left out",
			 (unsigned long long)last->off);
		if (items[i].end - items[i].off > last->end - last->off) {
			const struct xray_buffer longer = items[i];

			items[i] = *last;
			*last = longer;
		}
		if (!add_repeated(x, &items[i]))
			return false;
	}
	x->list.count = n;
	return true;
}

bool xray_sort_buffers(struct xray *x)
{
	struct xray_buffer *items = x->list.items;

	if (x->list.count)
		qsort(items, x->list.count, sizeof(*items), buffer_order);
	if (x->mode == XRAY_FDR && !drop_repeated(x))
		return false;
	for (size_t i = 0; i < x->list.count; i++) {
		struct xray_thread *th = xray_thread_at(x, items[i].thread);

		/* SPEC xray/ring-wrapped: a thread gives its buffers back one after the other */
		if (th->last && items[i].off < items[i - 1].off && x->mode == XRAY_FDR)
			x->wrapped = true;
		if (!th->last)
			th->first = (uint32_t)i;
		th->last = (uint32_t)i + 1;
		th->bytes += items[i].end - items[i].off;
	}
	return true;
}

bool xray_feed_open(struct xray *x, struct feed *f)
{
	const struct xray_range *range = xray_range_of(x, f->track);
	struct xray_feed *xf;

	if (f->state)
		return true;
	xf = pool_alloc(sizeof(*xf));
	if (!xf)
		return false;
	ticks_init(&xf->ticks, x->hz, x->mode == XRAY_PROFILE || x->t->options.raw_time || !x->hz);
	if (range) {
		xf->own = xray_range_thread(x, range);
		xf->own.gap = range->gap;
		xf->thread = &xf->own;
		xf->next = range->first;
		xf->last = xf->stop = range->last;
	}
	f->state = xf;
	return true;
}

/* Returns true if the ticks of all buffers of the feed are known and ascending. */
static bool can_seek(const struct xray *x, const struct xray_feed *xf)
{
	const struct xray_buffer *list = x->list.items;

	/* In version 1 only a thread's first buffer has ticks. */
	if (x->version == 1 || x->bookkeeping)
		return false;
	for (size_t i = xf->next; i < xf->last; i++)
		if ((list[i].flags & (BUFFER_NO_TSC | BUFFER_NO_WALL)) || xray_copied_end(x, i) ||
		    (i > xf->next && list[i].tsc < list[i - 1].tsc))
			return false;
	return true;
}

/*
 * SPEC xray/seek: a buffer more is read on either side than the first ticks of buffers ask for, as
 * counters of CPUs may differ a little.
 */
void xray_feed_seek(const struct xray *x, struct xray_feed *xf)
{
	const struct xray_buffer *list = x->list.items;
	const int64_t from = x->t->want_from, to = x->t->want_to;
	size_t begin, end;

	/* The first rows may be read before the range is known. */
	if (xf->sought || !x->t->want_places || (from == INT64_MIN && to == INT64_MAX))
		return;
	xf->sought = true;
	if (!can_seek(x, xf))
		return;
	bisect(begin, xf->next, xf->last, ticks_ns(&xf->ticks, list[begin].tsc) <= from);
	bisect(end, begin, xf->last, ticks_ns(&xf->ticks, list[end].tsc) < to);
	xf->stop = end < xf->last ? end + 1 : end;
	xf->next = begin > xf->next + 2 ? begin - 2 : xf->next;
}

void xray_feed_free(struct xray_feed *xf)
{
	mem_free(xf->cuts);
	xray_held_free(xf->held);
	mem_free(xf->forked);
	xray_profile_close(xf);
	pool_free(xf, sizeof(*xf));
}

void xray_feed_end(struct xray *x, struct feed *f)
{
	xray_feed_free(f->state);
	f->state = x;
}

static int span_order(const void *a, const void *b)
{
	const struct xray_span *p = a, *q = b;

	return p->off < q->off ? -1 : p->off > q->off;
}

static bool add_file_feed(struct xray *x)
{
	if (x->spans.count)
		qsort(x->spans.items, x->spans.count, sizeof(struct xray_span), span_order);
	return trace_add_feed(x->t, x->file_track, NULL) != NULL;
}

bool xray_span_add(struct xray *x, uint64_t off, uint64_t len, enum xray_class what)
{
	struct xray_span *last =
		x->spans.count ? (struct xray_span *)x->spans.items + x->spans.count - 1 : NULL;

	assert(len);
	if (!x->bookkeeping || x->stored)
		return true;
	if (last && last->what == what && last->off + last->len == off) {
		last->len += len;
		return true;
	}
	x->spans.size = sizeof(*last);
	last = xray_list_add(&x->spans);
	if (!last)
		return false;
	*last = (struct xray_span){ .off = off, .len = len, .what = what };
	return true;
}

/* SPEC xray/book-time: the rows of the file itself come before all others. */
static int64_t file_time(struct xray *x, struct xray_feed *xf)
{
	const struct xray_buffer *buffers = x->list.items;
	const struct xray_run *runs = x->list.items;
	uint64_t least = UINT64_MAX;

	if (x->mode == XRAY_PROFILE)
		return (int64_t)x->timestamp;
	for (size_t i = 0; i < x->list.count; i++) {
		uint64_t tsc =
			x->mode == XRAY_FDR ? buffers[i].tsc
			: load16(xray_at(x, runs[i].off), x->swap)
				? 0
				: load64(xray_at(x, runs[i].off) + XRAY_BASIC_AT_TICKS, x->swap);

		if (x->mode == XRAY_FDR && (buffers[i].flags & BUFFER_NO_TSC))
			tsc = 0;
		least = tsc && tsc < least ? tsc : least;
	}
	return least == UINT64_MAX ? 0 : ticks_ns(&xf->ticks, least);
}

static void put_file_row(struct xray *x, struct xray_feed *xf, const struct xray_span *span,
			 struct spur_event *row)
{
	const struct row_words words = {
		.len_track = row_pair((uint32_t)span->len, x->file_track),
		.stream_cat = row_pair(x->stream, 0),
		.name_cls =
			row_pair(trace_class(x->t, x->own[span->what])->name, x->own[span->what]),
		.rest = row_rest(SPUR_NATIVE, SPUR_F_RETIMED, SPUR_NO_CPU, 0),
	};

	assert(span->len <= XRAY_SPAN_MAX);
	row_store(row, (uint64_t)xf->file_time, 0, span->off, words);
}

enum spur_status xray_file_next(struct xray *x, struct feed *f, struct batch *b)
{
	struct xray_feed *xf = f->state;
	struct xray_span *spans = x->spans.items;

	while (b->count < b->cap && !xf->ended) {
		struct xray_span span = { .len = XRAY_HEADER, .what = XRAY_CLASS_HEADER };

		if (!xf->open) {
			xf->open = true;
			xf->file_time = file_time(x, xf);
		} else if (xf->next < x->spans.count) {
			span = spans[xf->next];
			if (span.len > XRAY_SPAN_MAX) {
				span.len = XRAY_SPAN_MAX;
				spans[xf->next].off += span.len;
				spans[xf->next].len -= span.len;
			} else {
				xf->next++;
			}
		} else {
			xf->ended = true;
			break;
		}
		put_file_row(x, xf, &span, &b->rows[b->count++]);
	}
	read_count(&x->t->read.records, b->count);
	return b->count ? SPUR_OK : SPUR_END;
}

/* What the opened log keeps of a thread: ids for its track, its range, and the size of its feed. */
struct found {
	int64_t pid, tid;
	uint64_t bytes;
	uint32_t first, last;
};

static int found_order(const void *a, const void *b)
{
	const struct found *p = a, *q = b;

	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	return p->tid < q->tid ? -1 : p->tid > q->tid;
}

/*
 * Lists the threads by their ids, and frees what finding them took: there may be a million.
 * Returns NULL if out of memory; else the list, in scratch memory for x->nthreads + 1 of them.
 */
static struct found *list_found(struct xray *x, size_t *count)
{
	struct found *list = scratch_alloc((x->nthreads + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; list && i < x->nthreads; i++) {
		const struct xray_thread *th = xray_thread_at(x, i);

		if (!th->copied)
			list[n++] = (struct found){ .pid = th->pid,
						    .tid = th->tid,
						    .bytes = th->bytes,
						    .first = th->first,
						    .last = th->last };
	}
	threads_free(x);
	if (n)
		qsort(list, n, sizeof(*list), found_order);
	*count = n;
	return list;
}

/* Adds the next thread's range, track and feed. Returns false if out of memory. */
static bool add_range(struct xray *x, const struct found *found)
{
	const uint32_t track = thread_track(x, found->pid, found->tid);
	struct feed *f = track == SPUR_NONE ? NULL : trace_add_feed(x->t, track, NULL);
	struct xray_buffer *list = x->list.items;

	if (!f)
		return false;
	f->size = found->bytes;
	for (size_t i = found->first; x->mode != XRAY_BASIC && i < found->last; i++)
		list[i].thread = (uint32_t)x->nranges;
	x->ranges[x->nranges++] = (struct xray_range){
		.track = track,
		.first = found->first,
		.last = found->last,
		/* What is damaged before threads are read apart may be of any of them. */
		.gap = diag_count(&x->t->diag, DIAG_DAMAGE),
	};
	return true;
}

bool xray_add_feeds(struct xray *x)
{
	const size_t nfound = x->nthreads + 1;
	struct found *found;
	size_t count = 0;
	bool ok;

	if (x->stored) {
		struct feed *f = trace_add_feed(x->t, SPUR_NONE, NULL);

		if (f)
			f->stream = x->stream;
		return f != NULL;
	}
	if (x->bookkeeping && !add_file_feed(x))
		return false;
	found = list_found(x, &count);
	x->ranges_cap = count + 1;
	x->ranges = mem_table_alloc(x->ranges_cap, sizeof(*x->ranges));
	ok = found && x->ranges;
	for (size_t i = 0; ok && i < count; i++)
		ok = add_range(x, &found[i]);
	scratch_free(found, nfound * sizeof(*found));
	return ok;
}

void xray_threads_close(struct xray *x)
{
	for (size_t i = 0; i < x->t->nfeeds; i++) {
		struct xray_feed *xf = x->t->feeds[i]->state;

		if (xf && (void *)xf != x)
			xray_feed_free(xf);
	}
	threads_free(x);
	mem_table_free(x->ranges, x->ranges_cap, sizeof(*x->ranges));
	map64_free(&x->by_pid);
	scratch_free(x->copied_ends, x->list.count * sizeof(*x->copied_ends));
	xray_list_free(&x->list);
	mem_free(x->by_off);
	xray_list_free(&x->spans);
}
