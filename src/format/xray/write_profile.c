/*
 * Profiles: for each thread its call paths, with the number of calls and the ticks that they took
 * together with what they called.
 */
#include "format/xray/write.h"

#include "base/err.h"
#include "format/format.h"

enum { PATHS_MOST = 1 << 28, DEPTH_MOST = 1 << 20, PATHS_START = 64 };

/* A call path: one function more than its parent. Numbered from 1; 0 is the path of no call. */
struct path {
	uint32_t parent, cls;
	uint64_t calls;
	int64_t ticks; /* of these calls with all that they called */
};

struct open_call {
	uint32_t path;
	uint64_t begin; /* ticks */
};

struct xray_paths {
	struct map64 numbers; /* parent << 32 | class -> number */
	struct path *list; /* in scratch memory; number 0 is unused */
	size_t count, cap;
	struct open_call *open;
	size_t nopen, open_cap;
};

static struct xray_paths *paths_of(struct xray_out_thread *th)
{
	if (!th->paths)
		th->paths = mem_alloc(sizeof(*th->paths));
	return th->paths;
}

void xray_paths_free(struct xray_paths *p)
{
	if (!p)
		return;
	map64_free(&p->numbers);
	scratch_free(p->list, p->cap * sizeof(*p->list));
	mem_free(p->open);
	mem_free(p);
}

static bool list_grow(struct xray_paths *p)
{
	const size_t cap = p->cap ? p->cap * 2 : PATHS_START;
	struct path *list = cap <= PATHS_MOST ? scratch_alloc(cap * sizeof(*list)) : NULL;

	if (!list)
		return false;
	if (p->count)
		memcpy(list, p->list, p->count * sizeof(*list));
	scratch_free(p->list, p->cap * sizeof(*p->list));
	p->list = list;
	p->cap = cap;
	return true;
}

/* The path of a call inside another path, made if it is new. Returns 0 if out of memory. */
static uint32_t path_of(struct xray_paths *p, uint32_t parent, uint32_t cls)
{
	struct map64_slot *slot = map64_put(&p->numbers, (uint64_t)parent << 32 | cls);

	if (!slot)
		return 0;
	if (!slot->value) {
		if (p->count + 1 >= p->cap && !list_grow(p))
			return 0;
		slot->value = ++p->count;
		p->list[slot->value] = (struct path){ .parent = parent, .cls = cls };
	}
	return (uint32_t)slot->value;
}

bool xray_profile_begin(struct xray_lane *l, struct xray_out_thread *th,
			const struct spur_event *row)
{
	struct xray_paths *p = paths_of(th);
	const uint64_t ticks = xray_row_ticks(l, th, row);
	uint32_t path;

	if (!p ||
	    !mem_grow((void **)&p->open, &p->open_cap, p->nopen + 1, sizeof(*p->open), DEPTH_MOST))
		return false;
	path = path_of(p, p->nopen ? p->open[p->nopen - 1].path : 0, row->cls);
	if (!path)
		return false;
	p->open[p->nopen++] = (struct open_call){ path, ticks };
	th->counts[row->kind]++;
	return true;
}

static void call_end(struct xray_paths *p, uint64_t ticks)
{
	const struct open_call *call = &p->open[--p->nopen];

	p->list[call->path].calls++;
	p->list[call->path].ticks += (int64_t)(ticks - call->begin);
}

bool xray_profile_end(struct xray_lane *l, struct xray_out_thread *th, const struct spur_event *row)
{
	const uint64_t ticks = xray_row_ticks(l, th, row);

	assert(th->paths && th->paths->nopen);
	call_end(th->paths, ticks);
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
	uint32_t *cls, path = 0;
	struct xray_paths *p = paths_of(th);
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
	good = p && (!x->own_ids || source_sample(l, row, cls, n));
	for (size_t i = 0; good && i < n; i++) {
		path = path_of(p, path, cls[i]);
		good = path && (x->own_ids || xray_used_add(x, cls[i], XRAY_NAMED));
		if (good && !x->own_ids)
			p->list[path].ticks += row->dur;
	}
	if (!good)
		return false;
	p->list[path].calls += row->id ? row->id : 1;
	if (x->own_ids) {
		const struct xray *s = t->state;

		p->list[path].ticks += (int64_t)load64(xray_raw(s, row) + row->len - 8, s->swap);
	}
	return true;
}

/* The functions of a path. */
static uint64_t path_length(const struct xray_paths *p, uint32_t path)
{
	uint64_t n = 0;

	for (; path; path = p->list[path].parent)
		n++;
	return n;
}

static void put_path(const struct xray_write *x, const struct xray_paths *p, uint32_t path)
{
	struct out *o = x->write->out;
	char b[XRAY_STACK_TAIL];

	for (uint32_t at = path; at; at = p->list[at].parent) {
		store32(b, x->ids[p->list[at].cls], x->swap);
		out_bytes(o, b, 4);
	}
	store32(b, 0, x->swap);
	store64(b + 4, p->list[path].calls, x->swap);
	store64(b + 12, (uint64_t)p->list[path].ticks, x->swap);
	out_bytes(o, b, sizeof(b));
}

/*
 * SPEC xray/profile-block: one for each thread, as a function's own ticks are told by what is in
 * the same block. Returns false, with the error set, if it is too large.
 */
static bool put_block(struct xray_write *x, struct xray_out_thread *th, uint32_t number)
{
	struct xray_paths *p = th->paths;
	uint64_t size = XRAY_BLOCK;
	char b[XRAY_BLOCK];

	loss_add_n(&x->write->loss, LOSS_OPEN, SPUR_BEGIN, p->nopen);
	while (p->nopen)
		call_end(p, th->last);
	for (uint32_t i = 1; i <= p->count; i++)
		if (p->list[i].calls)
			size += 4 * path_length(p, i) + XRAY_STACK_TAIL;
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
	for (uint32_t i = 1; i <= p->count; i++)
		if (p->list[i].calls)
			put_path(x, p, i);
	return true;
}

bool xray_write_profile(struct xray_write *x)
{
	const struct clock_info *c = &x->trace->clock;
	uint64_t last = 0;
	uint32_t number = 0;
	char b[XRAY_PROFILE_HEADER];

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
	for (size_t i = 0; i < x->nthreads; i++)
		if (x->order[i]->paths && !put_block(x, x->order[i], number++))
			return false;
	return true;
}
