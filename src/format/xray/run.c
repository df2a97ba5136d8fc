/*
 * Several logs of one run: the files of a directory that are called as the runtime calls its logs. Finds them, checks
 * that they belong together, and leaves out what a forked process repeats of its parent's. Each log is read as a trace
 * of its own; flow/join.h makes one of them.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "format/format.h"
#include "format/xray/reader.h"

enum {
	MAX_LOGS = 4096,
	HEAD_BYTES = 64, /* of a log that are looked at */
	LOG_SURE = 60, /* score of a file that is a log */
	RANDOM_BYTES = 7, /* ".XXXXXX" at the end of a name */
	FORK_HEAD = 3, /* records behind NewBuffer that a buffer begins with */
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

/* Reads the first bytes of a regular file. Returns false if it is none, or cannot be read. */
static bool head_load(struct log *log)
{
	const int fd = open(log->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t got = -1;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		got = pread(fd, log->head, sizeof(log->head), 0);
	close(fd);
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
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool good = true;

	while (d && good && l->count < most && (e = readdir(d)) != NULL) {
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
		closedir(d);
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
 * SPEC xray/run: logs of one run are of one program and, by their headers, of one kind, byte order and frequency.
 * Returns what differs, or NULL.
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

/* Where a buffer is: the log's number and the buffer's, 1 + both as one. */
static uint64_t place_make(size_t log, size_t buffer)
{
	return ((uint64_t)log << 32 | (uint32_t)buffer) + 1;
}

static struct xray_buffer *place_buffer(struct spur_trace *const *logs, uint64_t place,
					struct xray **x)
{
	*x = logs[(place - 1) >> 32]->state;
	return (struct xray_buffer *)(*x)->list.items + (uint32_t)(place - 1);
}

/* Of a buffer's thread and first moments. */
static uint64_t buffer_key(const struct xray *x, const struct xray_buffer *b)
{
	const struct xray_thread *th = x->threads[b->thread];

	return hash64(hash64((uint64_t)th->pid << 32 | (uint32_t)th->tid) + b->tsc) ^
	       (uint64_t)b->wall;
}

/* How many records at the beginning of two buffers are equal, and where the first other one of `q` is. */
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
	const struct map64_slot *slot =
		map64_find(&x->by_pid, (uint64_t)x->threads[b->thread]->pid);
	struct spur_track *k;
	char name[320];

	if (!slot || !slot->value)
		return;
	k = &x->t->tracks[(slot->value - 1) / TRACE_TRACK_PAGE]
			 [(slot->value - 1) % TRACE_TRACK_PAGE];
	snprintf(name, sizeof(name), "process %lld (%.255s)", (long long)k->pid, x->file);
	k->name = trace_intern(x->t, name);
}

/*
 * SPEC xray/forked-log: a buffer that an earlier log has too, by thread and first moments, was copied by a fork: the
 * records that both have are left out of the later one.
 */
static void leave_out(struct spur_trace *const *logs, uint64_t from, uint64_t to)
{
	struct xray *x, *y;
	struct xray_buffer *p = place_buffer(logs, from, &x), *q = place_buffer(logs, to, &y);
	uint64_t end = 0;
	const uint64_t count = x == y ? 0 : count_equal(x, p, y, q, &end);

	/* WallTime, Pid and NewCPUId make no rows. */
	if (count <= FORK_HEAD)
		return;
	q->copied = end;
	diag_add(&y->t->diag, DIAG_NOTE, "xray/forked-copy", y->file, q->off, 0,
		 "buffer: expected records of its own, found %llu that %s has too, as behind a "
		 "fork: left out",
		 (unsigned long long)(count - FORK_HEAD), x->file);
	rename_process(x, p);
	rename_process(y, q);
}

/*
 * SPEC xray/run-clock: a log has one moment on two clocks, its ticks and the monotonic clock. In logs of one run they
 * differ by the same.
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

bool xray_run_relate(struct spur_trace *const *logs, size_t count)
{
	struct map64 seen = { 0 };
	bool good = true;

	for (size_t i = 1; i < count; i++)
		check_clock(logs[0]->state, logs[i]->state);
	for (size_t i = 0; good && i < count; i++) {
		struct xray *x = logs[i]->state;
		const struct xray_buffer *list = x->list.items;

		if (x->mode != XRAY_FDR || x->stored)
			continue;
		for (size_t k = 0; good && k < x->list.count; k++) {
			struct map64_slot *slot;

			if (list[k].flags & (BUFFER_NO_TSC | BUFFER_NO_WALL))
				continue;
			slot = map64_put(&seen, buffer_key(x, &list[k]));
			good = slot != NULL;
			if (good && !slot->value)
				slot->value = place_make(i, k);
			else if (good)
				leave_out(logs, slot->value, place_make(i, k));
		}
	}
	map64_free(&seen);
	return good;
}
