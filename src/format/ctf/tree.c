/*
 * Finds what belongs to a trace on disk: every directory with a file `metadata` is one, its other
 * files are streams. Directories whose metadata is of the same trace (session rotation) are put
 * together.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/libc.h"
#include "base/os.h"
#include "format/ctf/archive.h"
#include "format/ctf/reader.h"

enum {
	MAX_DIRS = 1 << 16,
	MAX_DEPTH = 16,
	LOOK_AT = 4096,
	MAX_NAMES = 1 << 20,
	PATH_ROOM = CTF_PATH_ROOM
};

static bool name_add(struct arena *a, struct ctf_names *l, const char *name)
{
	char *copy = arena_strdup(a, name, strlen(name));

	if (!copy ||
	    !mem_grow((void **)&l->items, &l->cap, l->count + 1, sizeof(*l->items), MAX_NAMES))
		return false;
	l->items[l->count++] = copy;
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void name_sort(struct ctf_names *l)
{
	if (l->count)
		qsort(l->items, l->count, sizeof(*l->items), by_name);
}

/*
 * Hidden files and directories are none of a trace's. `why` is set where the directory cannot be
 * read.
 */
static bool list_dir(struct arena *a, const char *path, struct ctf_names *files,
		     struct ctf_names *dirs, const char **why)
{
	DIR *d = os_opendir(path);
	const struct dirent *e;
	char full[PATH_ROOM];
	struct stat st;
	bool good = true;

	if (!d)
		*why = error_text(errno);
	while (d && good && (e = os_readdir(d)) != NULL) {
		if (e->d_name[0] == '.' ||
		    snprintf(full, sizeof(full), "%s/%s", path, e->d_name) >= PATH_ROOM ||
		    os_stat(full, &st) != 0)
			continue;
		if (S_ISDIR(st.st_mode))
			good = name_add(a, dirs, e->d_name);
		else if (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode))
			good = name_add(a, files, e->d_name);
	}
	if (d)
		os_closedir(d);
	name_sort(files);
	name_sort(dirs);
	return good;
}

bool ctf_is_metadata(const char *name)
{
	return strcmp(name, "metadata") == 0 || strcmp(name, "metadata.gz") == 0 ||
	       strcmp(name, "metadata.zst") == 0;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* SPEC ctf/identity: 1.8: the UUID; 2: namespace, name and uid, where there is a uid */
bool ctf_same_trace(const struct ctf_meta *a, const struct ctf_meta *b)
{
	if (a->generation != b->generation)
		return false;
	if (a->generation == CTF_2)
		return a->uid && same_text(a->uid, b->uid) && same_text(a->name, b->name) &&
		       same_text(a->space, b->space);
	return a->generation == CTF_1 && a->has_uuid && b->has_uuid &&
	       memcmp(a->uuid, b->uuid, 16) == 0;
}

/*
 * The trace of this metadata: a new one, or one that is there; the longer metadata is kept.
 * Returns SPUR_NONE if out of memory.
 */
static uint32_t trace_of(struct ctf *c, struct ctf_meta *m, const char *dir)
{
	struct ctf_trace *tr;

	for (size_t i = 0; i < c->ntraces; i++) {
		struct ctf_meta *have = c->traces[i].meta;

		if (!ctf_same_trace(have, m))
			continue;
		if (m->text.len > have->text.len) {
			c->traces[i].meta = m;
			m = have;
		}
		meta_free(m);
		c->traces[i].scattered = true;
		return (uint32_t)i;
	}
	if (!mem_grow((void **)&c->traces, &c->traces_cap, c->ntraces + 1, sizeof(*c->traces),
		      MAX_DIRS)) {
		meta_free(m);
		return SPUR_NONE;
	}
	tr = &c->traces[c->ntraces];
	tr->meta = m;
	tr->dir = arena_strdup(&c->t->arena, dir, strlen(dir));
	return tr->dir ? (uint32_t)c->ntraces++ : SPUR_NONE;
}

/* Of the archive where the trace is one, else of the file system. */
static enum spur_status file_open(struct ctf *c, const char *path, struct source **out,
				  struct spur_error *err)
{
	const struct source_options o = { .read_size = c->t->options.read_size,
					  .max_unpacked = c->t->options.max_unpacked,
					  .over = &c->t->over_limit };
	const struct ctf_tar_file *m = c->archive ? archive_find(c->archive, path) : NULL;

	if (m)
		return source_memory(out, m->name, m->data, (size_t)m->size, NULL, err);
	return c->archive ? err_set(err, SPUR_ERR_IO, "%s: no such file in the archive", path)
			  : source_open(out, path, &o, err);
}

static bool file_is_there(const struct ctf *c, const char *path)
{
	struct stat st;

	return c->archive ? archive_find(c->archive, path) != NULL
			  : os_stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static enum spur_status source_keep(struct ctf *c, const char *path, struct source **out,
				    struct spur_error *err)
{
	if (!mem_grow((void **)&c->sources, &c->sources_cap, c->nsources + 1, sizeof(*c->sources),
		      3 * CTF_MAX_FILES))
		return err_nomem(err);
	if (file_open(c, path, out, err) == SPUR_FAIL)
		return SPUR_FAIL;
	c->sources[c->nsources++] = *out;
	source_need(*out, UINT64_MAX);
	return SPUR_OK;
}

/* Whether a stream file of the RFC v1.1 begins with the magic number in big-endian order. */
static bool is_big_endian(struct ctf *c, const char *full)
{
	static const uint8_t magic[] = { 0xC1, 0xFC, 0x1F, 0xC1 };
	struct source *s = NULL;
	struct spur_error err;
	bool big = false;

	if (!file_is_there(c, full) || file_open(c, full, &s, &err) == SPUR_FAIL)
		return false;
	if (source_need(s, sizeof(magic)))
		big = memcmp(s->data, magic, sizeof(magic)) == 0;
	source_close(s);
	return big;
}

/* Reads metadata, or, for a repair, those parts of it that can be read. */
static enum spur_status parse_metadata(struct ctf *c, const struct source *s, const char *shown,
				       bool big_endian, struct ctf_meta **out,
				       struct spur_error *err)
{
	struct spur_error failed = { 0 };
	struct ctf_meta *m = NULL;
	struct diag_log log;
	enum spur_status st;

	if (!c->t->options.salvage)
		return meta_read_as(out, shown, s->data, s->size, big_endian, &c->t->diag, err);
	diag_init(&log);
	st = meta_read_as(out, shown, s->data, s->size, big_endian, &log, &failed);
	if (st == SPUR_FAIL ? failed.code == SPUR_ERR_FORMAT : diag_count(&log, DIAG_DAMAGE) != 0) {
		struct spur_error why;

		meta_salvage(&m, shown, s->data, s->size, big_endian, &c->t->diag, &why);
		/* It is cut before its first stream class, so that no packet can be read. */
		if (!m && st != SPUR_FAIL && !(*out)->nstreams) {
			meta_free(*out);
			*out = NULL;
			failed = why;
			st = SPUR_FAIL;
		}
	}
	if (m) {
		meta_free(*out);
		*out = m;
		st = SPUR_OK;
	} else {
		diag_merge(&c->t->diag, &log);
	}
	if (st == SPUR_FAIL && err)
		*err = failed;
	diag_free(&log);
	return st;
}

/* `first`: a stream file beside it, or NULL. */
static enum spur_status read_metadata(struct ctf *c, const char *full, const char *shown,
				      const char *dir, const char *first, uint32_t *trace,
				      struct spur_error *err)
{
	struct ctf_meta *m = NULL;
	struct source *s = NULL;

	enum spur_status st;

	if (source_keep(c, full, &s, err) == SPUR_FAIL)
		return SPUR_FAIL;
	st = parse_metadata(c, s, shown, false, &m, err);
	/* SPEC ctf-v11/byte-order: plain text does not say it; the streams do */
	if (st != SPUR_FAIL && m->generation == CTF_V11 && m->plain && first &&
	    is_big_endian(c, first)) {
		meta_free(m);
		st = parse_metadata(c, s, shown, true, &m, err);
	}
	if (st == SPUR_FAIL) {
		/* SPEC ctf/copy-unreadable */
		source_close(c->sources[--c->nsources]);
		return SPUR_FAIL;
	}
	*trace = trace_of(c, m, dir);
	return *trace == SPUR_NONE ? err_nomem(err) : SPUR_OK;
}

/* SPEC ctf/packed-files: without the ending of a packed file, which says nothing of the stream */
static size_t plain_len(const char *name)
{
	const size_t len = strlen(name);

	if (len > 3 && strcmp(name + len - 3, ".gz") == 0)
		return len - 3;
	return len > 4 && strcmp(name + len - 4, ".zst") == 0 ? len - 4 : len;
}

/*
 * SPEC ctf-v11/file-name: longest section whose name the file's begins with, then nothing, or `_`
 * or `.` and digits.
 */
uint32_t ctf_section_of(const struct ctf_meta *m, const char *name)
{
	uint32_t best = m->nstreams == 1 ? 0 : SPUR_NONE;
	const size_t whole = plain_len(name);
	size_t best_len = 0;

	for (size_t i = 0; i < m->nstreams; i++) {
		const char *section = m->streams[i]->name;
		const size_t len = strlen(section);
		const char *rest = name + len;

		if (strncmp(name, section, len) != 0 || len <= best_len || len > whole)
			continue;
		if (len == whole || ((*rest == '_' || *rest == '.') && whole - len > 1 &&
				     strspn(rest + 1, "0123456789") >= whole - len - 1)) {
			best = (uint32_t)i;
			best_len = len;
		}
	}
	return best;
}

/* The index file of a stream, where there is one. Returns false if out of memory. */
static bool read_hints(struct ctf *c, struct ctf_file *f, const char *full)
{
	const char *name = strrchr(full, '/') + 1, *why;
	struct spur_error err = { 0 };
	struct source *s = NULL;
	char path[PATH_ROOM];

	if (snprintf(path, sizeof(path), "%.*sindex/%.*s.idx", (int)(name - full), full,
		     (int)plain_len(name), name) >= PATH_ROOM ||
	    !(c->archive ? file_is_there(c, path) : os_access(path, R_OK) == 0))
		return true;
	if (source_keep(c, path, &s, &err) == SPUR_FAIL)
		return err.code != SPUR_ERR_MEMORY;
	if (!hints_open(&f->hints, s->data, s->size, &why)) {
		diag_add(&c->t->diag, DIAG_WARN, "ctf/bad-index", f->name, DIAG_NO_OFF, 0,
			 "%s: not used", why);
		f->hints = (struct ctf_hints){ 0 };
	}
	return true;
}

/*
 * A stream file; what cannot be opened or belongs to no section is said and left out. Returns false
 * if out of memory.
 */
static bool add_file(struct ctf *c, uint32_t trace, const char *full, const char *shown,
		     const char *name)
{
	const struct ctf_meta *m = c->traces[trace].meta;
	struct spur_error err = { 0 };
	struct source *s = NULL;
	struct ctf_file *f;
	uint32_t class = 0;

	if (m->generation == CTF_V11 && (class = ctf_section_of(m, name)) == SPUR_NONE) {
		diag_add(&c->t->diag, DIAG_WARN, "ctf/stray-file", shown, DIAG_NO_OFF, 0,
			 "expected a file named after a section, found another one: skipped");
		return true;
	}
	if (source_keep(c, full, &s, &err) == SPUR_FAIL) {
		if (err.code != SPUR_ERR_MEMORY)
			diag_add(&c->t->diag, DIAG_DAMAGE, "ctf/unreadable", shown, DIAG_NO_OFF, 0,
				 "%s", err.message);
		return err.code != SPUR_ERR_MEMORY;
	}
	if (s->error->code)
		diag_add(&c->t->diag, DIAG_DAMAGE, "ctf/unreadable", shown, DIAG_NO_OFF, 0, "%s",
			 s->error->message);
	if (!s->size)
		return true;
	if (!mem_grow((void **)&c->files, &c->files_cap, c->nfiles + 1, sizeof(*c->files),
		      CTF_MAX_FILES))
		return false;
	f = &c->files[c->nfiles];
	*f = (struct ctf_file){ .trace = trace, .class = class, .source = s };
	f->stream = trace_add_stream(c->t, shown, s->size);
	if (f->stream == SPUR_NONE)
		return false;
	f->name = c->t->streams[f->stream].path;
	return read_hints(c, &c->files[c->nfiles++], full);
}

/* What find_below() takes from each directory. */
struct finder {
	struct ctf *c;
	const char *root;
	const char *only; /* the only stream file that is wanted; NULL: all */
	size_t failed;
	struct spur_error err; /* the last */
};

static enum spur_status read_files(struct finder *f, const char *dir, const struct ctf_names *files,
				   const char *metadata, struct spur_error *err)
{
	char full[PATH_ROOM], shown[PATH_ROOM], first[PATH_ROOM];
	const char *sep = dir[0] ? "/" : "";
	uint32_t trace = 0;

	snprintf(full, sizeof(full), "%s/%s%s%s", f->root, dir, sep, metadata);
	snprintf(shown, sizeof(shown), "%s%s%s", dir, sep, metadata);
	first[0] = '\0';
	for (size_t i = 0; i < files->count && !first[0]; i++)
		if (!ctf_is_metadata(files->items[i]))
			snprintf(first, sizeof(first), "%s/%s%s%s", f->root, dir, sep,
				 files->items[i]);
	if (read_metadata(f->c, full, shown, dir, first[0] ? first : NULL, &trace, err) ==
	    SPUR_FAIL)
		return SPUR_FAIL;
	for (size_t i = 0; i < files->count; i++) {
		const char *name = files->items[i];

		if (ctf_is_metadata(name) || (f->only && strcmp(name, f->only) != 0))
			continue;
		snprintf(full, sizeof(full), "%s/%s%s%s", f->root, dir, sep, name);
		snprintf(shown, sizeof(shown), "%s%s%s", dir, sep, name);
		if (!add_file(f->c, trace, full, shown, name))
			return err_nomem(err);
	}
	return SPUR_OK;
}

/* One bad metadata of several does not take the others with it. */
static bool read_dir(void *self, const char *dir, const struct ctf_names *files,
		     const char *metadata)
{
	struct finder *f = self;

	if (!files) {
		diag_add(&f->c->t->diag, DIAG_WARN, "ctf/unreadable", dir[0] ? dir : "metadata",
			 DIAG_NO_OFF, 0, "expected a directory, found one that cannot be read: %s",
			 metadata);
		return true;
	}
	if (read_files(f, dir, files, metadata, &f->err) != SPUR_FAIL)
		return true;
	if (f->err.code == SPUR_ERR_MEMORY)
		return false;
	f->failed++;
	diag_add(&f->c->t->diag, DIAG_DAMAGE, "ctf/metadata", dir[0] ? dir : "metadata",
		 DIAG_NO_OFF, 0, "%s", f->err.message);
	return true;
}

static const char *find_metadata(const struct ctf_names *files)
{
	for (size_t i = 0; i < files->count; i++)
		if (ctf_is_metadata(files->items[i]))
			return files->items[i];
	return NULL;
}

static unsigned dir_depth(const char *dir)
{
	unsigned n = 0;

	for (; *dir; dir++)
		n += *dir == '/';
	return n;
}

/* Puts `sub` of `dir` on the list of directories to look into. */
static bool push_dir(struct arena *a, struct ctf_names *todo, const char *dir, const char *sub)
{
	char path[PATH_ROOM];

	if (dir_depth(dir) >= MAX_DEPTH || todo->count >= MAX_DIRS ||
	    snprintf(path, sizeof(path), "%s%s%s", dir, dir[0] ? "/" : "", sub) >= PATH_ROOM)
		return true;
	return name_add(a, todo, path);
}

/*
 * SPEC ctf/links: links are followed, but a directory is visited once, by the first path that leads
 * to it
 */
static bool is_seen(struct map64 *seen, const char *full, bool *good)
{
	struct map64_slot *slot;
	struct stat st;

	if (os_stat(full, &st) != 0)
		return true;
	slot = map64_put(seen, (uint64_t)st.st_ino ^
				       ((uint64_t)st.st_dev << 48 | (uint64_t)st.st_dev >> 16));
	*good = slot != NULL;
	return slot && slot->value++;
}

static bool walk_dir(struct arena *a, const char *root, const char *dir, struct ctf_names *todo,
		     struct map64 *seen, bool deep, ctf_visit *each, void *self)
{
	struct ctf_names files = { 0 }, dirs = { 0 };
	char full[PATH_ROOM];
	const char *metadata, *why = NULL;
	bool good = true;

	snprintf(full, sizeof(full), "%s%s%s", root, dir[0] ? "/" : "", dir);
	if (is_seen(seen, full, &good))
		return good;
	good = good && list_dir(a, full, &files, &dirs, &why);
	if (good && why)
		good = each(self, dir, NULL, why);
	metadata = find_metadata(&files);
	if (good && metadata)
		good = each(self, dir, &files, metadata);
	for (size_t i = 0; i < dirs.count && good && deep; i++)
		good = push_dir(a, todo, dir, dirs.items[i]);
	mem_free(files.items);
	mem_free(dirs.items);
	return good;
}

bool ctf_walk(const char *root, bool deep, ctf_visit *each, void *self)
{
	struct ctf_names todo = { 0 };
	struct map64 seen = { 0 };
	struct arena a;
	bool good;

	arena_init(&a);
	good = name_add(&a, &todo, "");
	for (size_t i = 0; i < todo.count && good; i++)
		good = walk_dir(&a, root, todo.items[i], &todo, &seen, deep, each, self);
	map64_free(&seen);
	mem_free(todo.items);
	arena_free(&a);
	return good;
}

static enum spur_status find_end(const struct finder *f, const char *path, struct spur_error *err)
{
	if (f->c->ntraces)
		return SPUR_OK;
	if (!f->failed)
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected a file named metadata, found none", path);
	*err = f->err;
	return SPUR_FAIL;
}

static enum spur_status find_below(struct ctf *c, const char *root, const char *only,
				   struct spur_error *err)
{
	struct finder f = { .c = c, .root = root, .only = only };

	if (!ctf_walk(root, !only, read_dir, &f))
		return err_nomem(err);
	return find_end(&f, root, err);
}

/* --- archives --- */

static size_t dir_len(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? (size_t)(slash - name) : 0;
}

/*
 * Files of one directory do not stand together where it has others in it: their places, by
 * directory.
 */
static int by_dir(const void *a, const void *b)
{
	const struct ctf_tar_file *x = *(const struct ctf_tar_file *const *)a,
				  *y = *(const struct ctf_tar_file *const *)b;
	const size_t m = dir_len(x->name), n = dir_len(y->name);
	const int order = memcmp(x->name, y->name, m < n ? m : n);

	return order ? order : m != n ? m < n ? -1 : 1 : strcmp(x->name + m, y->name + n);
}

/*
 * The files from `list` on that are in one directory; `used` of them. Returns false if out of
 * memory.
 */
static bool visit_members(struct arena *a, const struct ctf_tar_file *const *list, size_t left,
			  struct finder *f, size_t *used)
{
	const size_t len = dir_len(list[0]->name);
	struct ctf_names files = { 0 };
	const char *metadata;
	char dir[PATH_ROOM];
	bool good = true;
	size_t n = 0;

	snprintf(dir, sizeof(dir), "%.*s", (int)(len < PATH_ROOM ? len : 0), list[0]->name);
	for (; good && n < left && dir_len(list[n]->name) == len &&
	       memcmp(list[n]->name, list[0]->name, len) == 0;
	     n++)
		good = name_add(a, &files, list[n]->name + len + (len > 0));
	metadata = find_metadata(&files);
	if (good && metadata)
		good = read_dir(f, dir, &files, metadata);
	mem_free(files.items);
	*used = n;
	return good;
}

enum spur_status ctf_find_archive(struct ctf *c, struct source *s, struct spur_error *err)
{
	const struct ctf_tar_file **list;
	struct finder f = { .c = c, .root = "" };
	bool good;
	struct arena a;
	size_t used;

	source_need(s, UINT64_MAX);
	if (s->error->code)
		diag_add(&c->t->diag, DIAG_DAMAGE, "ctf/unreadable", c->t->path, DIAG_NO_OFF, 0,
			 "%s", s->error->message);
	if (!archive_open(&c->archive, s->data, s->size, c->t->path, &c->t->diag))
		return err_nomem(err);
	list = mem_array(c->archive->count + 1, sizeof(*list));
	if (!list)
		return err_nomem(err);
	for (size_t i = 0; i < c->archive->count; i++)
		list[i] = &c->archive->members[i];
	if (c->archive->count)
		qsort(list, c->archive->count, sizeof(struct ctf_tar_file *), by_dir);
	arena_init(&a);
	good = true;
	for (size_t i = 0; good && i < c->archive->count; i += used)
		good = visit_members(&a, list + i, c->archive->count - i, &f, &used);
	arena_free(&a);
	mem_free(list);
	return good ? find_end(&f, c->t->path, err) : err_nomem(err);
}

const char *ctf_split_path(const char *path, char *dir, size_t size)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct stat st;

	if (os_stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		snprintf(dir, size, "%s", path);
		return NULL;
	}
	/* A file of a trace: with `metadata` the whole directory, with a stream only that one. */
	snprintf(dir, size, "%.*s", slash ? (int)(slash - path) + (slash == path) : 1,
		 slash ? path : ".");
	return ctf_is_metadata(name) ? NULL : name;
}

enum spur_status ctf_find(struct ctf *c, const char *path, struct spur_error *err)
{
	char dir[PATH_ROOM];
	const char *only = ctf_split_path(path, dir, sizeof(dir));

	return find_below(c, dir, only, err);
}

bool ctf_below(const char *path)
{
	char *paths[] = { (char *)(uintptr_t)path, NULL };
	FTS *walk = os_fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	unsigned left = LOOK_AT;
	bool found = false;
	FTSENT *e;

	while (walk && !found && left-- && (e = os_fts_read(walk)) != NULL) {
		if (e->fts_info == FTS_D && e->fts_level &&
		    (e->fts_level > MAX_DEPTH || e->fts_name[0] == '.'))
			fts_set(walk, e, FTS_SKIP);
		found = (e->fts_info == FTS_F || e->fts_info == FTS_NSOK) &&
			ctf_is_metadata(e->fts_name);
	}
	if (walk)
		os_fts_close(walk);
	return found;
}
