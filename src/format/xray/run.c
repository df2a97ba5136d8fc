/*
 * Several logs of one run: the files of a directory that are called as the runtime calls its logs.
 * Finds them, checks that they belong together, and leaves out what a forked process repeats of its
 * parent's. Each log is read as a separate trace; flow/join.h makes one of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/os.h"
#include "format/format.h"
#include "format/xray/reader.h"

enum {
	MAX_LOGS = 4096,
	HEAD_BYTES = 64, /* of a log that are looked at */
	LOG_SURE = 60, /* score of a file that is a log */
	RANDOM_BYTES = 7, /* ".XXXXXX" at the end of a name */
	FORK_HEAD = 3, /* records after NewBuffer that a buffer begins with */
};

static const char log_prefix[] = "xray-log.";

struct log {
	const char *name, *path;
	uint8_t head[HEAD_BYTES];
	size_t len; /* of the head */
};

struct logs {
	struct log *list;
	size_t count, cap;
};

/*
 * Reads the first bytes of a regular file. Returns false if it is none, is empty, or cannot be
 * read.
 */
static bool head_load(struct log *log)
{
	const ssize_t got = file_head(log->path, FILE_REGULAR, log->head, sizeof(log->head));

	log->len = got > 0 ? (size_t)got : 0;
	return got > 0;
}

static bool is_log(struct log *log)
{
	struct probe probe = { .path = log->path, .head = log->head };

	if (!head_load(log))
		return false;
	probe.len = log->len;
	return spur_format_xray.probe(&probe) >= LOG_SURE;
}

static int log_order(const void *a, const void *b)
{
	const struct log *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* The directory's logs by name, `most` at most. Returns false if out of memory. */
static bool logs_find(struct logs *l, const char *dir, struct arena *a, size_t most)
{
	DIR *d = os_opendir(dir);
	const struct dirent *e;
	bool good = true;

	while (d && good && l->count < most && (e = os_readdir(d)) != NULL) {
		struct log log = { .name = e->d_name };

		if (strncmp(e->d_name, log_prefix, sizeof(log_prefix) - 1) != 0)
			continue;
		log.path = arena_printf(a, "%s/%s", dir, e->d_name);
		good = log.path && mem_grow((void **)&l->list, &l->cap, l->count + 1,
					    sizeof(*l->list), MAX_LOGS);
		if (!good || !is_log(&log))
			continue;
		log.name = strrchr(log.path, '/') + 1;
		l->list[l->count++] = log;
	}
	if (d)
		os_closedir(d);
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), log_order);
	return good;
}

bool xray_run_in(const char *dir)
{
	struct logs l = { 0 };
	struct arena a;
	bool found;

	arena_init(&a);
	found = logs_find(&l, dir, &a, 1) && l.count;
	mem_free(l.list);
	arena_free(&a);
	return found;
}

/* Length of the program's name in xray-log.PROGRAM.XXXXXX. */
static size_t program_len(const char *name)
{
	const size_t len = strlen(name);

	return len > RANDOM_BYTES && name[len - RANDOM_BYTES] == '.' ? len - RANDOM_BYTES : len;
}

/*
 * SPEC xray/run: logs of one run are of one program and, by their headers, of one kind, byte order
 * and frequency. Returns what differs, or NULL.
 */
static const char *find_difference(const struct log *a, const struct log *b)
{
	const size_t len = program_len(a->name);

	if (program_len(b->name) != len || strncmp(a->name, b->name, len) != 0)
		return "programs";
	if (a->len < XRAY_HEADER || b->len < XRAY_HEADER || memcmp(a->head, b->head, 4) != 0)
		return "kinds of logs";
	/* The frequency; of a profile, its version. */
	return memcmp(a->head + 8, b->head + 8, 8) != 0 ? "clocks" : NULL;
}

static enum spur_status check_logs(const struct logs *l, const char *dir, struct spur_error *err)
{
	if (l->count == MAX_LOGS)
		return err_set(err, SPUR_ERR_FORMAT, "%s: expected fewer than %d logs, found more",
			       dir, MAX_LOGS);
	for (size_t i = 1; i < l->count; i++) {
		const char *what = find_difference(&l->list[0], &l->list[i]);

		if (what)
			return err_set(err, SPUR_ERR_FORMAT,
				       "%s: expected logs of one run, found different %s: %s and "
				       "%s; open the logs of each run by name",
				       dir, what, l->list[0].name, l->list[i].name);
	}
	return SPUR_OK;
}

enum spur_status xray_run_members(const char *dir, struct arena *a, const char *const **paths,
				  size_t *count, struct spur_error *err)
{
	struct logs l = { 0 };
	const char **list = NULL;
	enum spur_status st = SPUR_FAIL;

	if (!logs_find(&l, dir, a, MAX_LOGS)) {
		err_nomem(err);
	} else if (!l.count) {
		err_set(err, SPUR_ERR_FORMAT, "%s: expected files %s*, found none", dir,
			log_prefix);
	} else if (check_logs(&l, dir, err) != SPUR_FAIL) {
		list = arena_alloc(a, l.count * sizeof(*list));
		st = list ? SPUR_OK : err_nomem(err);
	}
	for (size_t i = 0; list && i < l.count; i++)
		list[i] = l.list[i].path;
	*paths = list;
	*count = l.count;
	mem_free(l.list);
	return st;
}

/* --- what several logs have --- */

/* A thread of one of the logs. */
struct part {
	uint64_t key; /* of its ids */
	uint64_t bytes;
	struct xray *x;
	size_t log;
	const struct xray_range *thread;
};

/* A buffer that has records of its own. */
struct place {
	struct xray *x;
	const struct xray_buffer *b;
	uint32_t next; /* 1 + number of another one of the same key; 0: none */
};

struct places {
	struct map64 first; /* key to 1 + number of the last place with it */
	struct place *list;
	size_t count, cap;
};

/* Of a thread's ids. */
static uint64_t range_key(const struct xray *x, const struct xray_range *range)
{
	const struct spur_track *k = trace_track(x->t, range->track);

	return (uint64_t)k->pid << 32 | (uint32_t)k->tid;
}

/* Of a buffer's thread and first moments. */
static uint64_t buffer_key(const struct xray *x, const struct xray_buffer *b)
{
	return hash64(hash64(range_key(x, &x->ranges[b->thread])) + b->tsc) ^ (uint64_t)b->wall;
}

/*
 * How many records at the beginning of two buffers are equal, and where the first other one of `q`
 * is.
 */
static uint64_t count_equal(const struct xray *x, const struct xray_buffer *p, const struct xray *y,
			    const struct xray_buffer *q, uint64_t *end)
{
	uint64_t at = XRAY_METADATA, count = 0;

	if (q->end - q->off < at || p->end - p->off < at ||
	    memcmp(xray_at(x, p->off), xray_at(y, q->off), at) != 0)
		return 0;
	for (;;) {
		const uint64_t size =
			q->off + at < q->end
				? xray_record_size(y, q->off + at, q->end, UINT32_MAX, true)
				: 0;

		if (!size || p->end - p->off - at < size ||
		    memcmp(xray_at(x, p->off + at), xray_at(y, q->off + at), size) != 0)
			break;
		at += size;
		count++;
	}
	*end = q->off + at;
	return count;
}

/* Names the process after its file too, since other records of it are in another one. */
static void rename_process(struct xray *x, const struct xray_buffer *b)
{
	const uint32_t process = trace_track(x->t, x->ranges[b->thread].track)->parent;
	struct spur_track *k =
		&x->t->tracks[process / TRACE_TRACK_PAGE][process % TRACE_TRACK_PAGE];
	char name[320];

	snprintf(name, sizeof(name), "process %lld (%.255s)", (long long)k->pid, x->file);
	k->name = trace_intern(x->t, name);
}

/*
 * SPEC xray/forked-log: a buffer that an earlier log has too, by thread and first moments, was
 * copied by a fork: the records that both have are left out of the later one. Of several earlier
 * logs the one with most of them counts. Sets `*copied` to the end of these records, or 0. Returns
 * true if the buffer has records of its own.
 */
static bool leave_out(const struct places *places, uint32_t first, struct xray *y,
		      const struct xray_buffer *q, uint64_t *copied)
{
	const struct place *from = NULL;
	uint64_t most = FORK_HEAD; /* WallTime, Pid and NewCPUId make no rows */

	*copied = 0;
	for (uint32_t i = first; i && *copied != q->end; i = places->list[i - 1].next) {
		const struct place *p = &places->list[i - 1];
		uint64_t end = 0, count = p->x == y ? 0 : count_equal(p->x, p->b, y, q, &end);

		if (count <= most)
			continue;
		most = count;
		*copied = end;
		from = p;
	}
	if (!from)
		return true;
	if (!y->copied || q->off < y->copied_off)
		y->copied_off = q->off;
	y->copied += most - FORK_HEAD;
	y->copied_from = from->x->file;
	rename_process(from->x, from->b);
	rename_process(y, q);
	return *copied != q->end;
}

static void report_copied(struct xray *y)
{
	if (y->copied)
		diag_add(&y->t->diag, DIAG_NOTE, "xray/forked-copy", y->file, y->copied_off, 0,
			 "file: expected records of its own, found %llu that %s has too, as "
			 "behind a fork: left out",
			 (unsigned long long)y->copied, y->copied_from);
}

/*
 * SPEC xray/run-clock: a log has one moment on two clocks, its ticks and the monotonic clock. In
 * logs of one run they differ by the same.
 */
static void check_clock(const struct xray *x, const struct xray *y)
{
	const uint64_t expected = xray_tsc_at(x, y->ref_wall), found = y->ref_tsc;
	const uint64_t apart = expected < found ? found - expected : expected - found;

	if (x->ref_known && y->ref_known && x->hz && apart > x->hz)
		diag_add(&y->t->diag, DIAG_WARN, "xray/other-run", y->file, XRAY_HEADER, 0,
			 "file: expected the clock of %s, about %llu ticks, found %llu: of another "
			 "run, or the system slept in between",
			 x->file, (unsigned long long)expected, (unsigned long long)found);
}

/* Sets xray_copied_end() of a buffer. Returns false if out of memory. */
static bool copied_end_set(struct xray *x, size_t i, uint64_t end)
{
	if (!x->copied_ends)
		x->copied_ends = scratch_alloc(x->list.count * sizeof(*x->copied_ends));
	if (x->copied_ends)
		x->copied_ends[i] = end;
	return x->copied_ends;
}

/* Leaves out of a thread's buffers what earlier logs have. Returns false if out of memory. */
static bool relate_thread(struct places *places, const struct part *part)
{
	const struct xray_buffer *list = part->x->list.items;

	for (size_t i = part->thread->first; i < part->thread->last; i++) {
		struct map64_slot *slot;
		uint64_t copied;
		bool own;

		if (list[i].flags & (BUFFER_NO_TSC | BUFFER_NO_WALL))
			continue;
		slot = map64_put(&places->first, buffer_key(part->x, &list[i]));
		if (!slot ||
		    !mem_table_grow((void **)&places->list, &places->cap, places->count + 1,
				    sizeof(*places->list), UINT32_MAX - 1))
			return false;
		own = leave_out(places, (uint32_t)slot->value, part->x, &list[i], &copied);
		if (copied && !copied_end_set(part->x, i, copied))
			return false;
		if (!own)
			continue;
		places->list[places->count++] = (struct place){ .x = part->x,
								.b = &list[i],
								.next = (uint32_t)slot->value };
		slot->value = places->count;
	}
	return true;
}

/*
 * The logs of a thread, the one with most of it first: a process has a copy of all threads of its
 * parent, but only the one that called fork() goes on in it.
 */
static int part_order(const void *a, const void *b)
{
	const struct part *p = a, *q = b;

	if (p->key != q->key)
		return p->key < q->key ? -1 : 1;
	if (p->bytes != q->bytes)
		return p->bytes > q->bytes ? -1 : 1;
	return p->log < q->log ? -1 : p->log > q->log;
}

/*
 * Returns a table of `*room` parts: all threads of the logs, `*found`, in that order. Returns NULL
 * if out of memory.
 */
static struct part *list_parts(struct spur_trace *const *logs, size_t count, size_t *found,
			       size_t *room)
{
	struct part *parts;
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += ((const struct xray *)logs[i]->state)->nranges;
	*room = n + 1;
	parts = mem_table_alloc(*room, sizeof(*parts));
	n = 0;
	for (size_t i = 0; parts && i < count; i++) {
		struct xray *x = logs[i]->state;

		for (size_t k = 0; x->mode == XRAY_FDR && k < logs[i]->nfeeds; k++) {
			const struct feed *f = logs[i]->feeds[k];
			const struct xray_range *range = xray_range_of(x, f->track);

			if (range)
				parts[n++] = (struct part){ .key = range_key(x, range),
							    .bytes = f->size,
							    .x = x,
							    .log = i,
							    .thread = range };
		}
	}
	if (n)
		qsort(parts, n, sizeof(*parts), part_order);
	*found = n;
	return parts;
}

bool xray_run_relate(struct spur_trace *const *logs, size_t count, bool run)
{
	struct places places = { 0 };
	size_t n, room;
	struct part *parts = list_parts(logs, count, &n, &room);
	bool good = parts != NULL;

	for (size_t i = 1; run && i < count; i++)
		check_clock(logs[0]->state, logs[i]->state);
	for (size_t i = 0; good && i < n; i++)
		good = relate_thread(&places, &parts[i]);
	for (size_t i = 0; i < count; i++)
		report_copied(logs[i]->state);
	map64_free(&places.first);
	mem_table_free(places.list, places.cap, sizeof(*places.list));
	mem_table_free(parts, room, sizeof(*parts));
	return good;
}
