/*
 * Profiles: for each thread its call paths, with the number of calls and the ticks that they took
 * together with what they called.
 *
 * The paths of all threads of a lane are one tree, in which each thread has a root: a trace may
 * have a million threads with a call each. When the lane ends, each thread's paths go to the spool.
 */
#include "format/xray/write.h"

#include "base/err.h"
#include "format/format.h"

enum { PATHS_MOST = 1 << 28, DEPTH_MOST = 1 << 20 };

/*
 * A call path: one function more than its parent. Numbered from 1; 0 is no path. The first path of
 * a thread is its root, that of no call, whose parent is 0.
 */
struct path {
	uint32_t parent, cls;
	uint32_t next; /* of the same thread, made after it; 0: none */
	uint64_t calls;
	int64_t ticks; /* of these calls with all that they called */
};

/* A path in the spool. The paths of a thread are numbered there from 1; 0 is the root. */
struct stored_path {
	uint32_t parent, cls;
	uint64_t calls;
	int64_t ticks;
};

struct xray_open_call {
	uint32_t path;
	uint64_t begin; /* ticks */
};

static struct path *path_at(const struct xray_paths *p, uint32_t number)
{
	return &((struct path *)p->list)[number];
}

/* Appends a path to those of the thread. Returns its number, or 0 if out of memory. */
static uint32_t path_add(struct xray_paths *p, struct xray_out_thread *th, uint32_t parent,
			 uint32_t cls)
{
	const uint32_t number = (uint32_t)p->count + 1;

	if (!mem_table_grow(&p->list, &p->cap, (size_t)number + 1, sizeof(struct path), PATHS_MOST))
		return 0;
	*path_at(p, number) = (struct path){ .parent = parent, .cls = cls };
	if (th->newest_path)
		path_at(p, th->newest_path)->next = number;
	else
		th->root = number;
	th->newest_path = number;
	p->count++;
	return number;
}

/* The path of a call inside another path, made if it is new. Returns 0 if out of memory. */
static uint32_t path_of(struct xray_paths *p, struct xray_out_thread *th, uint32_t parent,
			uint32_t cls)
{
	struct map64_slot *slot = map64_put(&p->numbers, (uint64_t)parent << 32 | cls);

	if (slot && !slot->value)
		slot->value = path_add(p, th, parent, cls);
	return slot ? (uint32_t)slot->value : 0;
}

static bool has_root(struct xray_paths *p, struct xray_out_thread *th)
{
	return th->root || path_add(p, th, 0, 0);
}

/* Makes room for one more open call. Returns false, with the error set, if there are too many. */
static bool open_grow(struct xray_lane *l, struct xray_out_thread *th)
{
	struct xray_write *x = l->x;

	if (!th->open)
		mem_spare_take(&l->paths.spare, (void **)&th->open, &th->open_cap);
	if (th->nopen < DEPTH_MOST)
		return mem_grow((void **)&th->open, &th->open_cap, th->nopen + 1, sizeof(*th->open),
				DEPTH_MOST);
	pthread_mutex_lock(&x->lock);
	err_set(&x->write->error, SPUR_ERR_LIMIT,
		"profile: expected at most %d nested calls of a thread, found more",
		(int)DEPTH_MOST);
	pthread_mutex_unlock(&x->lock);
	return false;
}

bool xray_profile_begin(struct xray_lane *l, struct xray_out_thread *th,
			const struct spur_event *row)
{
	struct xray_paths *p = &l->paths;
	const uint64_t ticks = xray_row_ticks(l, th, row);
	uint32_t path;

	if (!has_root(p, th) || !open_grow(l, th))
		return false;
	path = path_of(p, th, th->nopen ? th->open[th->nopen - 1].path : th->root, row->cls);
	if (!path)
		return false;
	th->open[th->nopen++] = (struct xray_open_call){ path, ticks };
	th->counts[row->kind]++;
	return true;
}

static void call_end(struct xray_paths *p, struct xray_out_thread *th, uint64_t ticks)
{
	const struct xray_open_call *call = &th->open[--th->nopen];
	struct path *path = path_at(p, call->path);

	path->calls++;
	path->ticks += (int64_t)(ticks - call->begin);
	if (!th->nopen)
		mem_spare_put(&p->spare, (void **)&th->open, &th->open_cap);
}

bool xray_profile_end(struct xray_lane *l, struct xray_out_thread *th, const struct spur_event *row)
{
	const uint64_t ticks = xray_row_ticks(l, th, row);

	assert(th->nopen);
	call_end(&l->paths, th, ticks);
	th->counts[row->kind]++;
	return true;
}

/* SPEC xray/profile-record: a stack of a profile keeps its numbers */
static bool source_sample(struct xray_lane *l, const struct spur_event *row, uint32_t *cls,
			  size_t n)
{
	const struct xray *s = l->x->trace->state;
	const uint8_t *p = xray_raw(s, row);

	for (size_t i = 0; i < n; i++)
		if (!xray_used_add(l->x, cls[i], load32(p + 4 * (n - 1 - i), s->swap)))
			return false;
	return true;
}

bool xray_profile_sample(struct xray_lane *l, struct xray_out_thread *th,
			 const struct spur_event *row)
{
	struct xray_write *x = l->x;
	struct spur_trace *t = x->trace;
	const struct write *w = x->write;
	const size_t n = w->stack(w, row, NULL, 0);
	struct xray_paths *p = &l->paths;
	uint32_t *cls, path;
	bool good;

	xray_row_ticks(l, th, row);
	th->counts[row->kind]++;
	if (!n) {
		loss_add(&x->write->loss, LOST_EVENT, row->kind);
		return true;
	}
	if (n > DEPTH_MOST ||
	    !mem_grow((void **)&l->values, &l->values_cap, n, sizeof(*l->values), DEPTH_MOST))
		return false;
	cls = (uint32_t *)l->values;
	w->stack(w, row, cls, n);
	good = has_root(p, th) && (!x->own_ids || source_sample(l, row, cls, n));
	path = th->root;
	for (size_t i = 0; good && i < n; i++) {
		path = path_of(p, th, path, cls[i]);
		good = path && (x->own_ids || xray_used_add(x, cls[i], XRAY_NAMED));
		if (good && !x->own_ids)
			path_at(p, path)->ticks += row->dur;
	}
	if (!good)
		return false;
	path_at(p, path)->calls += row->id ? row->id : 1;
	if (x->own_ids) {
		const struct xray *s = t->state;

		path_at(p, path)->ticks +=
			(int64_t)load64(xray_raw(s, row) + row->len - 8, s->swap);
	}
	return true;
}

/* --- when a lane ends --- */

/*
 * Stores the thread's paths in the order in which they were made, each behind its parent. Returns
 * false if out of memory.
 */
static bool paths_store(struct xray_lane *l, struct xray_out_thread *th)
{
	struct xray_paths *p = &l->paths;
	uint32_t number = 0, next;

	loss_add_n(&l->x->write->loss, LOSS_OPEN, SPUR_BEGIN, th->nopen);
	while (th->nopen)
		call_end(p, th, th->last);
	for (uint32_t at = th->root; at; at = next) {
		struct path *path = path_at(p, at);
		struct stored_path *to;

		next = path->next;
		path->next = number; /* its number in the spool */
		if (number++) {
			to = (struct stored_path *)spool_room(&l->x->spool, &th->body, sizeof(*to));
			if (!to)
				return false;
			*to = (struct stored_path){ .parent = path_at(p, path->parent)->next,
						    .cls = path->cls,
						    .calls = path->calls,
						    .ticks = path->ticks };
			spool_add(&th->body, sizeof(*to));
		}
	}
	return true;
}

void xray_profile_lane_end(struct xray_lane *l)
{
	struct xray_paths *p = &l->paths;
	struct map64_slot *slot;
	size_t i = 0;

	while (l->x->target == XRAY_TO_PROFILE && (slot = map64_next(&l->by_track, &i))) {
		struct xray_out_thread *th = (struct xray_out_thread *)(uintptr_t)slot->value;

		/* NULL: memory for the track's thread was refused. */
		if (!th || !paths_store(l, th))
			__atomic_store_n(&l->x->failed, true, __ATOMIC_RELAXED);
		/* What was made for a call that then had no path. */
		if (th)
			mem_free(th->open);
	}
	map64_free(&p->numbers);
	mem_table_free(p->list, p->cap, sizeof(struct path));
	mem_spare_free(&p->spare);
}

/* --- the output --- */

/* The paths of the thread that is being written. */
struct block {
	struct stored_path *paths; /* by number */
	size_t cap, count; /* count: with the root */
};

/* Returns false if out of memory. */
static bool block_load(struct block *b, const struct xray_out_thread *th)
{
	const size_t n = (size_t)(spool_len(&th->body) / sizeof(*b->paths)) + 1;
	size_t part;

	if (!mem_table_grow((void **)&b->paths, &b->cap, n, sizeof(*b->paths), PATHS_MOST))
		return false;
	b->count = 1;
	for (const struct spool_block *s = th->body.first; s; s = s->next) {
		part = s->len / sizeof(*b->paths);
		memcpy(&b->paths[b->count], s + 1, part * sizeof(*b->paths));
		b->count += part;
	}
	assert(b->count == n);
	return true;
}

/* The functions of a path. */
static uint64_t path_length(const struct block *b, uint32_t path)
{
	uint64_t n = 0;

	for (; path; path = b->paths[path].parent)
		n++;
	return n;
}

static void put_path(const struct xray_write *x, const struct block *from, uint32_t path)
{
	struct out *o = x->write->out;
	char b[XRAY_STACK_TAIL];

	for (uint32_t at = path; at; at = from->paths[at].parent) {
		store32(b, x->ids[from->paths[at].cls], x->swap);
		out_bytes(o, b, 4);
	}
	store32(b, 0, x->swap);
	store64(b + 4, from->paths[path].calls, x->swap);
	store64(b + 12, (uint64_t)from->paths[path].ticks, x->swap);
	out_bytes(o, b, sizeof(b));
}

/*
 * SPEC xray/profile-block: one for each thread, as a function's own ticks are told by what is in
 * the same block. Returns false if out of memory, or, with the error set, if it is too large.
 */
static bool put_block(struct xray_write *x, struct block *from, const struct xray_out_thread *th,
		      uint32_t number)
{
	uint64_t size = XRAY_BLOCK;
	char b[XRAY_BLOCK];

	if (!block_load(from, th))
		return false;
	for (uint32_t i = 1; i < from->count; i++)
		if (from->paths[i].calls)
			size += 4 * path_length(from, i) + XRAY_STACK_TAIL;
	if (size > UINT32_MAX) {
		err_set(&x->write->error, SPUR_ERR_LIMIT,
			"profile: expected at most 4 GiB of call paths of a thread, found %llu "
			"bytes",
			(unsigned long long)size);
		return false;
	}
	store32(b + XRAY_BLOCK_AT_SIZE, (uint32_t)size, x->swap);
	store32(b + XRAY_BLOCK_AT_NUMBER, number, x->swap);
	store64(b + XRAY_BLOCK_AT_TID, (uint64_t)th->tid, x->swap);
	out_bytes(x->write->out, b, sizeof(b));
	for (uint32_t i = 1; i < from->count; i++)
		if (from->paths[i].calls)
			put_path(x, from, i);
	return true;
}

static bool put_blocks(struct xray_write *x)
{
	struct block block = { 0 };
	uint32_t number = 0;
	bool good = true;

	for (size_t i = 0; good && i < x->nthreads; i++)
		if (spool_len(&x->order[i]->body))
			good = put_block(x, &block, x->order[i], number++);
	mem_table_free(block.paths, block.cap, sizeof(*block.paths));
	return good;
}

bool xray_write_profile(struct xray_write *x)
{
	const struct clock_info *c = &x->trace->clock;
	uint64_t last = 0;
	char b[XRAY_PROFILE_HEADER];

	if (x->failed)
		return false;
	for (size_t i = 0; i < x->nthreads; i++)
		last = x->order[i]->last > last ? x->order[i]->last : last;
	/* A moment of the trace, in ns. */
	if (x->source && x->hz)
		last = (uint64_t)((unsigned __int128)last * 1000000000 / x->hz);
	store64(b, xray_profile_magic, x->swap);
	store64(b + XRAY_PROFILE_AT_VERSION, xray_profile_version, x->swap);
	store64(b + XRAY_PROFILE_AT_TIME, last + (c->epoch_known ? (uint64_t)c->epoch_ns : 0),
		x->swap);
	store64(b + XRAY_PROFILE_AT_PID, x->nthreads ? (uint64_t)(int64_t)x->order[0]->pid : 0,
		x->swap);
	out_bytes(x->write->out, b, sizeof(b));
	return put_blocks(x);
}
