/*
 * Koids: the tracks of processes and threads, and the names of objects, modules and mappings, as of
 * any place in the file. Ids are 64 bits; tables are keyed by their numbers, counted from 0, so
 * that pairs of ids are one exact key.
 */
#include "base/search.h"
#include "format/fxt/reader.h"

enum { KOIDS = 1 << 28 };

#define NO_NUMBER KEY_INDEX_NONE

void fxt_names_free(struct fxt_names *n)
{
	struct map64 *const maps[] = { &n->threads,  &n->kernel, &n->spaces,
				       &n->pointers, &n->user,	 &n->modules };

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		map64_free(maps[i]);
	key_index_free(&n->numbers);
	mem_free(n->koids);
	fxt_log_free(&n->log);
	scratch_free(n->maps, n->maps_cap * sizeof(*n->maps));
}

static uint64_t koid_of(const void *koids, uint32_t number)
{
	return ((const struct fxt_koid *)koids)[number].koid;
}

static uint32_t number_of(const struct fxt *x, uint64_t koid)
{
	return key_index_find(&x->names.numbers, koid, koid_of, x->names.koids);
}

/* The number of a koid, which gets one if it has none. */
static uint32_t number_put(struct fxt *x, uint64_t koid)
{
	struct fxt_names *n = &x->names;
	const uint32_t number = number_of(x, koid);

	if (number != NO_NUMBER)
		return number;
	if (!mem_grow((void **)&n->koids, &n->koids_cap, n->nkoids + 1, sizeof(*n->koids), KOIDS))
		return NO_NUMBER;
	n->koids[n->nkoids] =
		(struct fxt_koid){ .koid = koid, .process = SPUR_NONE, .thread = SPUR_NONE };
	if (!key_index_add(&n->numbers, (uint32_t)n->nkoids, koid_of, n->koids))
		return NO_NUMBER;
	return (uint32_t)n->nkoids++;
}

/* --- tracks --- */

uint32_t fxt_add_track(struct fxt *x, struct spur_track track)
{
	uint32_t id;

	if (x->other_track != SPUR_NONE)
		return x->other_track;
	pthread_mutex_lock(&x->t->lock);
	id = trace_add_track(x->t, track);
	if (id == FXT_TRACKS) {
		fxt_track(x, id)->kind = SPUR_TRACK_OTHER;
		fxt_track(x, id)->name = trace_intern(x->t, "other threads");
		x->other_track = id;
	}
	pthread_mutex_unlock(&x->t->lock);
	if (id == x->other_track && id != SPUR_NONE)
		diag_add(&x->t->diag, DIAG_WARN, "fxt/many-threads", x->file, x->off, 0,
			 "thread: expected at most %u tracks, found one more: the rest are on one "
			 "track",
			 FXT_TRACKS);
	return id;
}

static uint32_t koid_name(const struct fxt *x, uint32_t number)
{
	const uint32_t name = x->names.koids[number].name;

	return name ? name - 1 : 0;
}

uint32_t fxt_process_track(struct fxt *x, uint64_t pid)
{
	const uint32_t number = number_put(x, pid);

	if (number == NO_NUMBER)
		return SPUR_NONE;
	if (x->names.koids[number].process == SPUR_NONE)
		x->names.koids[number].process =
			fxt_add_track(x, (struct spur_track){
						 .parent = SPUR_NONE,
						 .name = koid_name(x, number),
						 .kind = SPUR_TRACK_PROCESS,
						 .pid = fxt_shown_id(pid),
						 .tid = -1,
						 .cpu = -1,
					 });
	return x->names.koids[number].process;
}

static uint32_t new_thread(struct fxt *x, uint32_t parent, int64_t pid, uint64_t tid,
			   uint32_t number)
{
	const uint32_t track = fxt_add_track(x, (struct spur_track){
							.parent = parent,
							.name = koid_name(x, number),
							.kind = SPUR_TRACK_THREAD,
							.pid = pid,
							.tid = fxt_shown_id(tid),
							.cpu = -1,
						});

	if (x->names.koids[number].thread == SPUR_NONE)
		x->names.koids[number].thread = track;
	return track;
}

/*
 * SPEC fxt/thread-process: a thread known by its id alone gets the process that a later record
 * tells
 */
uint32_t fxt_thread_track(struct fxt *x, uint64_t pid, uint64_t tid)
{
	const uint32_t parent = fxt_process_track(x, pid);
	const uint32_t number = parent == SPUR_NONE ? NO_NUMBER : number_put(x, tid);
	struct map64_slot *slot;
	uint32_t track;

	if (number == NO_NUMBER)
		return SPUR_NONE;
	track = x->names.koids[number].thread;
	if (track == SPUR_NONE)
		return new_thread(x, parent, fxt_shown_id(pid), tid, number);
	if (track != x->other_track && fxt_track(x, track)->parent == SPUR_NONE) {
		fxt_track(x, track)->parent = parent;
		fxt_track(x, track)->pid = fxt_shown_id(pid);
	}
	if (track != x->other_track && fxt_track(x, track)->parent == parent)
		return track;
	/* Few processes have threads of the same id: the table is of these alone. */
	slot = map64_put(&x->names.threads, (uint64_t)number_of(x, pid) << 32 | number);
	if (!slot)
		return SPUR_NONE;
	if (slot->value)
		return (uint32_t)slot->value - 1;
	track = new_thread(x, parent, fxt_shown_id(pid), tid, number);
	slot->value = track == SPUR_NONE ? 0 : track + 1;
	return track;
}

uint32_t fxt_tid_track(struct fxt *x, uint64_t tid)
{
	const uint32_t number = number_put(x, tid);

	if (number == NO_NUMBER)
		return SPUR_NONE;
	if (x->names.koids[number].thread != SPUR_NONE)
		return x->names.koids[number].thread;
	return new_thread(x, SPUR_NONE, -1, tid, number);
}

uint32_t fxt_koid_thread(const struct fxt *x, uint64_t tid)
{
	const uint32_t number = number_of(x, tid);

	return number == NO_NUMBER ? SPUR_NONE : x->names.koids[number].thread;
}

void fxt_track_idle(struct fxt *x, uint32_t track)
{
	if (track != SPUR_NONE && !fxt_track(x, track)->name)
		fxt_track(x, track)->name = x->words[FXT_W_IDLE];
}

/* --- names of objects --- */

static bool name_add(struct fxt *x, struct map64 *map, uint64_t key, uint32_t name, uint64_t off)
{
	struct map64_slot *slot = map64_put(map, key);
	uint32_t head;

	if (!slot)
		return false;
	head = fxt_log_add(&x->names.log, (uint32_t)slot->value, off, name);
	if (head)
		slot->value = head;
	return head != 0;
}

static uint32_t name_at(const struct fxt *x, const struct map64 *map, uint64_t key, uint64_t off)
{
	const struct map64_slot *slot = map64_find(map, key);
	const uint32_t name = slot ? fxt_log_at(&x->names.log, (uint32_t)slot->value, off) : 0;

	return name ? name - 1 : 0;
}

static uint64_t kernel_key(uint32_t provider, uint32_t number)
{
	return (uint64_t)provider << 32 | number;
}

static void name_track(struct fxt *x, uint32_t track, uint32_t name)
{
	if (name && track != SPUR_NONE && track != x->other_track)
		fxt_track(x, track)->name = name;
}

/* SPEC fxt/kernel-object: names a koid, in the provider's table and in that of all */
bool fxt_name_kernel(struct fxt *x, uint64_t koid, uint32_t name, uint64_t off)
{
	const uint32_t number = number_put(x, koid);
	struct fxt_koid *k;

	if (number == NO_NUMBER)
		return false;
	k = &x->names.koids[number];
	k->name = name + 1;
	/* SPEC fxt/thread-name: koids of processes and threads name their tracks */
	name_track(x, k->process, name);
	name_track(x, k->thread, name);
	return name_add(x, &x->names.kernel, kernel_key(1 + x->provider->number, number), name,
			off) &&
	       name_add(x, &x->names.kernel, kernel_key(0, number), name, off);
}

/*
 * SPEC fxt/object-lookup: the provider's table first, then that of all; failing both, a name that
 * comes later
 */
uint32_t fxt_kernel_name(const struct fxt *x, const struct fxt_provider *p, uint64_t koid,
			 uint64_t off)
{
	const uint32_t number = number_of(x, koid);
	uint32_t name;

	if (number == NO_NUMBER)
		return 0;
	name = name_at(x, &x->names.kernel, kernel_key(1 + p->number, number), off);
	if (!name)
		name = name_at(x, &x->names.kernel, kernel_key(0, number), off);
	/* In a single pass what comes later is not known. */
	return name || !x->ordered ? name : koid_name(x, number);
}

/* SPEC fxt/user-object: a pointer is one of its process, as its provider knows it */
bool fxt_name_user(struct fxt *x, uint64_t pid, uint64_t pointer, uint32_t name, uint64_t off)
{
	struct fxt_names *n = &x->names;
	const uint32_t number = number_put(x, pid);
	struct map64_slot *space, *p;

	if (number == NO_NUMBER)
		return false;
	space = map64_put(&n->spaces, kernel_key(x->provider->number, number));
	p = map64_put(&n->pointers, pointer);
	if (!space || !p)
		return false;
	space->value = space->value ? space->value : ++n->nspaces;
	p->value = p->value ? p->value : ++n->npointers;
	return name_add(x, &n->user, space->value << 32 | p->value, name, off);
}

uint64_t fxt_user_key(const struct fxt *x, const struct fxt_provider *p, uint64_t pid,
		      uint64_t pointer)
{
	const uint32_t number = number_of(x, pid);
	const struct map64_slot *space =
		number == NO_NUMBER ? NULL
				    : map64_find(&x->names.spaces, kernel_key(p->number, number));
	const struct map64_slot *at = space ? map64_find(&x->names.pointers, pointer) : NULL;

	return at ? space->value << 32 | at->value : UINT64_MAX;
}

uint32_t fxt_user_name(const struct fxt *x, const struct fxt_provider *p, uint64_t pid,
		       uint64_t pointer, uint64_t off)
{
	const uint64_t key = fxt_user_key(x, p, pid, pointer);

	return key == UINT64_MAX ? 0 : name_at(x, &x->names.user, key, off);
}

bool fxt_name_module(struct fxt *x, uint64_t pid, uint32_t module, uint32_t name, uint64_t off)
{
	const uint32_t number = number_put(x, pid);

	return number != NO_NUMBER &&
	       name_add(x, &x->names.modules, (uint64_t)number << 16 | module, name, off);
}

uint64_t fxt_module_key(const struct fxt *x, uint64_t pid, uint32_t module)
{
	const uint32_t number = number_of(x, pid);

	return number == NO_NUMBER ? UINT64_MAX : (uint64_t)number << 16 | module;
}

uint32_t fxt_module_name(const struct fxt *x, uint64_t pid, uint32_t module, uint64_t off)
{
	const uint64_t key = fxt_module_key(x, pid, module);

	return key == UINT64_MAX ? 0 : name_at(x, &x->names.modules, key, off);
}

/* --- mappings --- */

static bool map_before(const struct fxt_mapping *a, const struct fxt_mapping *b)
{
	return a->process != b->process ? a->process < b->process : a->start < b->start;
}

/* Two neighbouring runs of `n` each to one. At equal starts the earlier mapping stays first. */
static bool join_runs(struct fxt_mapping *m, size_t n)
{
	struct fxt_mapping *low = mem_array(n, sizeof(*low));
	size_t i = 0, k = n, to = 0;

	if (!low)
		return false;
	memcpy(low, m, n * sizeof(*m));
	while (i < n)
		m[to++] = k < 2 * n && map_before(&m[k], &low[i]) ? m[k++] : low[i++];
	mem_free(low);
	return true;
}

/*
 * INVARIANT: the mappings are sorted runs whose lengths are the powers of two that the count is
 * made of, the longest first. So each is moved log n times, and a search looks into log n runs.
 */
bool fxt_add_mapping(struct fxt *x, uint64_t pid, struct fxt_mapping map)
{
	struct fxt_names *n = &x->names;

	map.process = number_put(x, pid);
	if (map.process == NO_NUMBER ||
	    !fxt_scratch_grow((void **)&n->maps, &n->maps_cap, n->nmaps + 1, sizeof(*n->maps)))
		return false;
	n->maps[n->nmaps++] = map;
	for (size_t len = 1; !(n->nmaps & len); len *= 2)
		if (!join_runs(&n->maps[n->nmaps - 2 * len], len))
			return false;
	return true;
}

/*
 * Of two that hold the address, which one holds at `off`: the newest that is not younger, else the
 * oldest.
 */
static const struct fxt_mapping *better(const struct fxt_mapping *a, const struct fxt_mapping *b,
					uint64_t off)
{
	if (!a || (a->off > off && b->off < a->off))
		return b;
	return b->off <= off && b->off > a->off ? b : a;
}

enum { LOOK_BACK = 64 }; /* mappings that begin below the address and may overlap others */

const struct fxt_mapping *fxt_find_mapping(const struct fxt *x, uint64_t pid, uint64_t addr,
					   uint64_t off)
{
	const struct fxt_names *n = &x->names;
	const struct fxt_mapping want = { .process = number_of(x, pid), .start = addr },
				 *best = NULL;
	size_t from = 0;

	for (size_t len = (size_t)1 << 63; len; len /= 2) {
		size_t low;

		if (!(n->nmaps & len))
			continue;
		bisect(low, from, from + len, !map_before(&want, &n->maps[low]));
		from += len;
		for (int i = 0; i < LOOK_BACK && low-- > from - len; i++) {
			const struct fxt_mapping *m = &n->maps[low];

			if (m->process != want.process)
				break;
			if (m->end >= addr)
				best = better(best, m, off);
		}
	}
	return best;
}
