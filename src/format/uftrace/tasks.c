/* Which tasks have files, and the tracks of tasks. */
#include <stdlib.h>

#include "base/os.h"
#include "format/uftrace/reader.h"

enum { MAX_TASKS = 1 << 22, COMM_LEN = 15 };

bool uftrace_add_tid(struct uftrace_tids *l, int64_t tid)
{
	if (!mem_table_grow((void **)&l->tids, &l->cap, l->count + 1, sizeof(*l->tids), MAX_TASKS))
		return false;
	l->tids[l->count++] = tid;
	return true;
}

/* NNN.dat, NNN.dat.gz, NNN.dat.zst */
bool uftrace_dat_tid(const char *name, int64_t *tid)
{
	struct text t = text_of(name);
	uint64_t n;

	if (!t.len || t.p[0] < '0' || t.p[0] > '9' || !text_u64(&t, 10, &n) || n > INT64_MAX)
		return false;
	*tid = (int64_t)n;
	return text_is(t, ".dat") || text_is(t, ".dat.gz") || text_is(t, ".dat.zst");
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void sort_unique(struct uftrace_tids *l)
{
	size_t n = 0;

	if (l->count)
		qsort(l->tids, l->count, sizeof(*l->tids), by_number);
	for (size_t i = 0; i < l->count; i++)
		if (!n || l->tids[n - 1] != l->tids[i])
			l->tids[n++] = l->tids[i];
	l->count = n;
}

bool uftrace_list_dats(const char *dir, struct uftrace_tids *l)
{
	DIR *d = os_opendir(dir);
	const struct dirent *e;
	int64_t tid;
	bool ok = true;

	while (d && ok && (e = os_readdir(d)) != NULL)
		if (uftrace_dat_tid(e->d_name, &tid))
			ok = uftrace_add_tid(l, tid);
	if (d)
		os_closedir(d);
	sort_unique(l);
	return ok;
}

void uftrace_name_missing(struct uftrace *u, const struct uftrace_tids *have)
{
	struct text list = u->d.info.tids, one;
	uint64_t n, missing = 0, first = 0;

	while (text_split(&list, ',', &one)) {
		int64_t tid;

		one = text_trim(one);
		if (!text_u64(&one, 10, &n))
			continue;
		tid = (int64_t)n;
		if (!have->count || !bsearch(&tid, have->tids, have->count, sizeof(tid), by_number))
			first = missing++ ? first : n;
	}
	if (missing)
		uftrace_say(u, DIAG_WARN, "uftrace/missing-dat", "info", DIAG_NO_OFF,
			    "task list: expected %llu.dat, found no such file (%llu in all): it "
			    "recorded nothing, or the file is lost",
			    (unsigned long long)first, (unsigned long long)missing);
}

/* --- tracks --- */

static struct text base_of(struct text path)
{
	ptrdiff_t slash = text_rfind(path, '/');

	return slash < 0 ? path : text_make(path.p + slash + 1, path.len - (size_t)(slash + 1));
}

static uint32_t process_add(struct uftrace *u, int64_t pid, struct text image)
{
	const struct text name = base_of(image);

	return trace_add_track(u->t, (struct spur_track){
					     .parent = SPUR_NONE,
					     .name = trace_intern_n(u->t, name.p, name.len),
					     .kind = SPUR_TRACK_PROCESS,
					     .pid = pid,
					     .tid = -1,
					     .cpu = -1,
				     });
}

static uint32_t process_track(struct uftrace *u, struct map64 *by_pid, int64_t pid,
			      struct text image)
{
	struct map64_slot *slot;
	uint32_t id;

	/* Without task.txt each task is a process, of which none comes again. */
	if (!u->d.ntasks)
		return process_add(u, pid, image);
	slot = map64_put(by_pid, (uint64_t)pid);
	if (slot && slot->value)
		return (uint32_t)slot->value - 1;
	id = slot ? process_add(u, pid, image) : SPUR_NONE;
	if (id != SPUR_NONE)
		slot->value = id + 1;
	return id;
}

uint32_t uftrace_thread_track(struct uftrace *u, struct map64 *by_pid, int64_t tid)
{
	const struct uftrace_task *k = uftrace_task(&u->d, tid);
	int64_t pid = k && uftrace_task_pid(k) ? uftrace_task_pid(k) : tid;
	const struct uftrace_session *s =
		k && k->nrefs ? uftrace_task_ref(k, k->nrefs - 1).session : NULL;
	struct text image, name;
	uint32_t parent;

	if (!s)
		s = uftrace_session_at(&u->d, tid, UINT64_MAX - 1);
	image = s ? s->exename : u->d.info.exename;
	parent = process_track(u, by_pid, pid, image);
	if (parent == SPUR_NONE)
		return SPUR_NONE;
	name = base_of(image);
	/* SPEC uftrace/task-name: as the kernel cuts it, until a perf COMM record says otherwise */
	if (name.len > COMM_LEN)
		name.len = COMM_LEN;
	return trace_add_track(u->t, (struct spur_track){
					     .parent = parent,
					     .name = trace_intern_n(u->t, name.p, name.len),
					     .kind = SPUR_TRACK_THREAD,
					     .pid = pid,
					     .tid = tid,
					     .cpu = -1,
				     });
}

uint32_t uftrace_other_track(struct uftrace *u, const char *name)
{
	return trace_add_track(u->t, (struct spur_track){
					     .parent = SPUR_NONE,
					     .name = trace_intern(u->t, name),
					     .kind = SPUR_TRACK_OTHER,
					     .pid = -1,
					     .tid = -1,
					     .cpu = -1,
				     });
}
