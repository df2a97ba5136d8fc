/* Errors and the log of diagnostics. See err.h. */
#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/libc.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/pool.h"

enum {
	SPARE_GROUPS = 256, /* the last groups are kept for the "..." file of each code */
	INDEX_SLOTS = 2 * DIAG_GROUPS,
	INDEX_FROM = 8, /* groups: most feeds have none or few, and there may be very many feeds */
	TEXT_MAX = 400,
};

static const char other_files[] = "...";

/* printf into `buf`, one line: names in messages may hold any bytes. */
__attribute__((format(printf, 3, 0))) static size_t line_print(char *buf, size_t size,
							       const char *fmt, va_list ap)
{
	const int n = vsnprintf(buf, size, fmt, ap);
	size_t len = n < 0 ? 0 : (size_t)n;

	if (len >= size)
		len = size - 1;
	buf[len] = '\0';
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)buf[i] < 0x20)
			buf[i] = '?';
	}
	return len;
}

enum spur_status err_set(struct spur_error *err, enum spur_error_code code, const char *fmt, ...)
{
	struct spur_error made = { .code = code, .offset = UINT64_MAX };
	va_list ap;

	if (!err)
		return SPUR_FAIL;
	/* Not straight into `err`: its old message may be one of the arguments. */
	va_start(ap, fmt);
	line_print(made.message, sizeof(made.message), fmt, ap);
	va_end(ap);
	*err = made;
	return SPUR_FAIL;
}

enum spur_status err_at(struct spur_error *err, const char *stream, uint64_t offset)
{
	const size_t len = strlen(stream), room = err ? sizeof(err->stream) - 1 : 0;

	if (!err)
		return SPUR_FAIL;
	memmove(err->stream, len > room ? stream + len - room : stream,
		len > room ? room + 1 : len + 1);
	err->offset = offset;
	return SPUR_FAIL;
}

enum spur_status err_nomem(struct spur_error *err)
{
	const int error = mem_error();

	if (!error || error == ENOMEM)
		return err_set(err, SPUR_ERR_MEMORY, "out of memory");
	return err_set(err, SPUR_ERR_IO, "temporary file in %s: %s", temp_file_dir(),
		       error_text(error));
}

struct diag_store {
	struct diag_group *groups; /* in the pool, as names and texts */
	uint32_t ngroups;
	size_t cap; /* of the groups */
	size_t last; /* group of the last diag_add(): damage comes in bursts */
	/*
	 * Hash table of INDEX_SLOTS: 1 + number of a group, or 0. NULL while there are few groups.
	 */
	uint16_t *index;
	uint64_t counts[DIAG_LEVELS];
	const volatile int *suppressed; /* see diag_suppress() */
};

void diag_init(struct diag_log *log)
{
	*log = (struct diag_log){ 0 };
}

void diag_suppress(struct diag_log *log, const volatile int *stop)
{
	assert(!log->stored);
	log->suppressed = stop;
}

/* The log's store, or NULL. */
static struct diag_store *store_of(const struct diag_log *log)
{
	return log->stored ? log->store : NULL;
}

void diag_free(struct diag_log *log)
{
	struct diag_store *store = store_of(log);

	for (uint32_t i = 0; store && i < store->ngroups; i++) {
		struct diag_group *g = &store->groups[i];

		pool_strfree(g->file);
		for (uint32_t k = 0; k < g->nkept; k++)
			pool_strfree(g->kept[k].text);
	}
	if (store) {
		mem_free(store->index);
		pool_free(store->groups, store->cap * sizeof(*store->groups));
	}
	pool_free(store, sizeof(*store));
	diag_init(log);
}

uint32_t diag_groups(const struct diag_log *log)
{
	return log->stored ? log->store->ngroups : 0;
}

const struct diag_group *diag_at(const struct diag_log *log, size_t i)
{
	assert(i < diag_groups(log));
	return &log->store->groups[i];
}

void diag_sort(struct diag_log *log, int (*compare)(const void *a, const void *b))
{
	if (diag_groups(log))
		qsort(log->store->groups, log->store->ngroups, sizeof(*log->store->groups),
		      compare);
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool group_is(const struct diag_group *g, const char *code, const char *file)
{
	return (g->code == code || !strcmp(g->code, code)) && !strcmp(g->file, file);
}

uint64_t diag_count(const struct diag_log *log, enum diag_level level)
{
	return add_capped(log->unstored[level], log->stored ? log->store->counts[level] : 0);
}

/* Counts entries without a message, which cannot fail. */
struct diag_totals diag_totals(const struct diag_log *log)
{
	struct diag_totals sum = { .damaged = diag_count(log, DIAG_DAMAGE),
				   .warnings = diag_count(log, DIAG_WARN) };

	for (uint32_t i = 0; i < diag_groups(log); i++)
		if (diag_at(log, i)->level == DIAG_DAMAGE)
			sum.bytes_lost += diag_at(log, i)->bytes_lost;
	return sum;
}

static void log_count(struct diag_log *log, enum diag_level level, uint64_t n)
{
	uint16_t *unstored = &log->unstored[level];

	if (log->stored)
		log->store->counts[level] = add_capped(log->store->counts[level], n);
	else
		*unstored = n < (uint64_t)(UINT16_MAX - *unstored) ? (uint16_t)(*unstored + n)
								   : UINT16_MAX;
}

/* The index slot of the group, or the free one where it belongs. Half of the slots stay free. */
static uint16_t *group_slot(const struct diag_store *store, const char *code, const char *file)
{
	uint64_t i = hash_str(file, hash_str(code, 0));

	for (;; i++) {
		uint16_t *slot = &store->index[i % INDEX_SLOTS];

		if (!*slot || group_is(&store->groups[*slot - 1], code, file))
			return slot;
	}
}

/* The number of the group, from 1 on; 0: it is not there. */
static uint32_t group_find(const struct diag_store *store, const char *code, const char *file)
{
	if (store->index)
		return *group_slot(store, code, file);
	for (uint32_t i = 0; i < store->ngroups; i++)
		if (group_is(&store->groups[i], code, file))
			return i + 1;
	return 0;
}

/* Makes the index of a log whose groups are too many to be searched one by one. */
static bool index_make(struct diag_store *store)
{
	const struct diag_group *groups = store->groups;

	if (store->index || store->ngroups < INDEX_FROM)
		return true;
	store->index = mem_array(INDEX_SLOTS, sizeof(*store->index));
	for (uint32_t i = 0; store->index && i < store->ngroups; i++)
		*group_slot(store, groups[i].code, groups[i].file) = (uint16_t)(i + 1);
	return store->index != NULL;
}

/* Makes room for one more group. Returns false if out of memory or if there are too many. */
static bool groups_grow(struct diag_store *store)
{
	const size_t cap = store->cap ? 2 * store->cap : 1, size = sizeof(*store->groups);
	struct diag_group *groups;

	if (store->ngroups < store->cap)
		return true;
	groups = cap <= DIAG_GROUPS ? pool_alloc(cap * size) : NULL;
	if (!groups)
		return false;
	if (store->cap)
		memcpy(groups, store->groups, store->cap * size);
	pool_free(store->groups, store->cap * size);
	store->groups = groups;
	store->cap = cap;
	return true;
}

/*
 * Adds a group that is not there; returns its number, or 0 if out of memory or if there are too
 * many.
 */
static uint32_t group_add(struct diag_store *store, const char *code, const char *file)
{
	char *name;

	if (!index_make(store) || !groups_grow(store))
		return 0;
	name = pool_strdup(file, strlen(file));
	if (!name)
		return 0;
	store->groups[store->ngroups] =
		(struct diag_group){ .code = code, .file = name, .first_off = DIAG_NO_OFF };
	/* INVARIANT: the index holds each group once, so at least half of its slots are free. */
	if (store->index)
		*group_slot(store, code, file) = (uint16_t)(store->ngroups + 1);
	return ++store->ngroups;
}

/* Returns the log's store, after making it if needed, or NULL if out of memory. */
static struct diag_store *store_make(struct diag_log *log)
{
	struct diag_store *store = store_of(log);

	if (store)
		return store;
	store = pool_alloc(sizeof(*store));
	if (!store)
		return NULL;
	store->suppressed = log->suppressed;
	log->store = store;
	log->stored = true;
	return store;
}

/*
 * Returns the group, which is added if it is new, or NULL if out of memory or if there are too
 * many.
 */
static struct diag_group *group_get(struct diag_log *log, const char *code, const char *file)
{
	struct diag_store *store = store_make(log);
	uint32_t number;

	if (!store)
		return NULL;
	assert(store->ngroups <= store->cap && store->ngroups <= DIAG_GROUPS);
	if (store->last < store->ngroups && group_is(&store->groups[store->last], code, file))
		return &store->groups[store->last];
	number = group_find(store, code, file);
	if (!number && store->ngroups >= DIAG_GROUPS - SPARE_GROUPS &&
	    strcmp(file, other_files) != 0) {
		file = other_files;
		number = group_find(store, code, file);
	}
	if (!number)
		number = group_add(store, code, file);
	if (!number)
		return NULL;
	assert(number <= store->ngroups && store->ngroups <= DIAG_GROUPS);
	store->last = number - 1u;
	return &store->groups[store->last];
}

static void group_keep(struct diag_log *log, struct diag_group *g, uint64_t off, const char *text,
		       size_t len)
{
	char *copy = pool_strdup(text, len);

	if (!copy) {
		log->overflow = true;
		return;
	}
	assert(g->nkept < DIAG_KEEP);
	g->kept[g->nkept].off = off;
	g->kept[g->nkept].text = copy;
	g->nkept++;
}

void diag_add(struct diag_log *log, enum diag_level level, const char *code, const char *file,
	      uint64_t off, uint64_t bytes_lost, const char *fmt, ...)
{
	const volatile int *stop = log->stored ? log->store->suppressed : log->suppressed;
	struct diag_group *g;
	char text[TEXT_MAX];
	va_list ap;
	size_t len;

	if (stop && *stop)
		return;
	g = group_get(log, code, file ? file : "");
	log_count(log, level, 1);
	if (!g) {
		log->overflow = true;
		return;
	}
	if (!g->count)
		g->first_off = off;
	g->count++;
	g->bytes_lost = add_capped(g->bytes_lost, bytes_lost);
	if (level > g->level)
		g->level = level;
	if (g->nkept == DIAG_KEEP)
		return;
	va_start(ap, fmt);
	len = line_print(text, sizeof(text), fmt, ap);
	va_end(ap);
	group_keep(log, g, off, text, len);
}

/* The name of `file`, of the trace at `path`, in a log of several traces. */
static const char *name_below(const char *path, const char *file, char *buf, size_t size)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	struct stat st;
	int dir = (int)(slash ? slash + 1 - path : 0);

	if (file[0] == '/' || strncmp(file, path, strlen(path)) == 0)
		return file;
	if (strcmp(file, base) == 0)
		return path;
	if (os_stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		snprintf(buf, size, "%s%s%s", path, slash && !slash[1] ? "" : "/", file);
	else
		snprintf(buf, size, "%.*s%s", dir, path, file);
	return buf;
}

static void diag_merge_named(struct diag_log *into, const struct diag_log *from, const char *path)
{
	char name[PATH_MAX];

	into->overflow |= from->overflow;
	for (size_t i = 0; i < diag_groups(from); i++) {
		const struct diag_group *f = diag_at(from, i);
		const char *file = path && f->file[0]
					   ? name_below(path, f->file, name, sizeof(name))
					   : f->file;
		struct diag_group *g = group_get(into, f->code, file);

		if (!g) {
			into->overflow = true;
			continue;
		}
		if (!g->count)
			g->first_off = f->first_off;
		g->count = add_capped(g->count, f->count);
		g->bytes_lost = add_capped(g->bytes_lost, f->bytes_lost);
		if (f->level > g->level)
			g->level = f->level;
		for (uint32_t k = 0; k < f->nkept && g->nkept < DIAG_KEEP; k++)
			group_keep(into, g, f->kept[k].off, f->kept[k].text,
				   strlen(f->kept[k].text));
	}
	for (int i = 0; i < DIAG_LEVELS; i++)
		log_count(into, (enum diag_level)i, diag_count(from, (enum diag_level)i));
}

void diag_merge(struct diag_log *into, const struct diag_log *from)
{
	diag_merge_named(into, from, NULL);
}

void diag_merge_below(struct diag_log *into, const struct diag_log *from, const char *path)
{
	diag_merge_named(into, from, path);
}
