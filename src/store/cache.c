/* See cache.h. */
#include "store/cache.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "base/os.h"
#include "base/text.h"
#include "format/format.h"
#include "store/wire.h"

/* --- identity --- */

/*
 * Appends size, times and a hash of samples of a file. Returns false if it is none. Whoever changes
 * bytes can put the time of that back, but not the time at which the file's status changed.
 */
static bool identify_file(struct out *o, const char *path, unsigned samples)
{
	enum { SAMPLE = 4096 };
	uint64_t hash = fnv_basis;
	uint8_t buf[SAMPLE];
	const int fd = os_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	struct stat st;

	if (fd < 0 || os_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			os_close(fd);
		return false;
	}
	for (unsigned i = 0; i < samples; i++) {
		const ssize_t n = os_pread(fd, buf, sizeof(buf), st.st_size / samples * i);

		hash = fnv_bytes(hash, buf, n > 0 ? (size_t)n : 0);
	}
	os_close(fd);
	out_printf(o, "file %lld %lld.%09ld %lld.%09ld %016llx ", (long long)st.st_size,
		   (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec,
		   st.st_ctim.tv_nsec, (unsigned long long)hash);
	out_str(o, path);
	out_char(o, '\n');
	return true;
}

/* A directory that is being looked through, and the one that it is in. */
struct folder {
	const struct folder *above; /* NULL: the trace */
	dev_t dev;
	ino_t ino;
	struct arena arena; /* of the names; there may be very many */
	const char **names; /* `n` of `cap` */
	size_t n, cap;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns false if out of memory. A directory that cannot be read has no names. */
static bool folder_read(struct folder *f, const char *path)
{
	DIR *const dir = os_opendir(path);
	const struct dirent *e;
	bool good = true;

	while (dir && good && (e = os_readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		good = mem_table_grow((void **)&f->names, &f->cap, f->n + 1, sizeof(*f->names),
				      SIZE_MAX / sizeof(*f->names)) &&
		       (f->names[f->n] = arena_strdup(&f->arena, e->d_name, strlen(e->d_name)));
		f->n += good;
	}
	if (dir)
		os_closedir(dir);
	if (f->n)
		qsort(f->names, f->n, sizeof(*f->names), by_name);
	return good;
}

/* Returns true if a directory is one of those that it is in, by a link. */
static bool folder_is_cycle(const struct folder *f, const struct stat *st)
{
	while (f && (f->dev != st->st_dev || f->ino != st->st_ino))
		f = f->above;
	return f != NULL;
}

/*
 * Appends the files below a directory, by name. `path` has room for PATH_MAX bytes, and is the same
 * afterwards. Returns false if out of memory.
 */
static bool identify_dir(struct out *o, char *path, const struct folder *above)
{
	const size_t len = strlen(path);
	struct folder f = { .above = above };
	struct stat st;
	bool good;

	if (os_stat(path, &st) != 0 || folder_is_cycle(above, &st))
		return true;
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	arena_init_scratch(&f.arena);
	good = folder_read(&f, path);
	for (size_t i = 0; good && i < f.n; i++) {
		const int n = snprintf(path + len, PATH_MAX - len, "/%s", f.names[i]);

		if (n < 0 || (size_t)n >= PATH_MAX - len || os_stat(path, &st) != 0)
			continue;
		good = S_ISDIR(st.st_mode) ? identify_dir(o, path, &f)
					   : !S_ISREG(st.st_mode) || identify_file(o, path, 2);
	}
	path[len] = '\0';
	mem_table_free(f.names, f.cap, sizeof(*f.names));
	arena_free(&f.arena);
	return good;
}

/*
 * Files beside a trace whose names are part of its name may be its program, which has the names of
 * its functions.
 */
static bool identify_neighbours(struct out *o, const char *path)
{
	enum { LEAST = 3 };
	char dir[PATH_MAX], *name;
	struct dirent *e;
	DIR *d;

	memcpy(dir, path, strlen(path) + 1);
	name = strrchr(dir, '/');
	if (!name)
		return true;
	*name = '\0';
	d = os_opendir(*dir ? dir : "/");
	if (!d)
		return true;
	while ((e = os_readdir(d))) {
		char file[2 * PATH_MAX];

		if (strlen(e->d_name) < LEAST || strcmp(e->d_name, name + 1) == 0 ||
		    !strstr(name + 1, e->d_name))
			continue;
		snprintf(file, sizeof(file), "%s/%s", dir, e->d_name);
		identify_file(o, file, 0);
	}
	os_closedir(d);
	return true;
}

/* SPEC store/identity */
static bool identify_path(struct out *o, const char *path)
{
	enum { SAMPLES = 16 };
	char real[PATH_MAX];
	struct stat st;

	if (format_of_url(path) || strcmp(path, "-") == 0 || !os_realpath(path, real) ||
	    os_stat(real, &st) != 0)
		return false;
	out_str(o, "trace ");
	out_str(o, real);
	out_char(o, '\n');
	if (S_ISDIR(st.st_mode))
		return identify_dir(o, real, NULL);
	return S_ISREG(st.st_mode) && identify_file(o, real, SAMPLES) &&
	       identify_neighbours(o, real);
}

static void identify_text(struct out *o, const char *name, const char *text)
{
	if (text && *text) {
		out_printf(o, "%s ", name);
		out_str(o, text);
		out_char(o, '\n');
	}
}

/* The versions, and the options that change the rows of any trace. */
static void identify_form(struct out *o, const struct spur_options *opt)
{
	out_printf(o, "store %d %s\n", STORE_VERSION, SPUR_VERSION);
	/* Every kept store has source lines, whether its reader wants them or not. */
	out_printf(o, "options %d %d%d%d%d%d%d %lld %llu\n", (int)opt->demangle,
		   opt->call_libraries, opt->bookkeeping, opt->no_spans, opt->same_clock,
		   opt->distinct_ids, opt->salvage, (long long)opt->clock_offset_ns,
		   (unsigned long long)opt->max_unpacked);
}

static void identify_options(struct out *o, const struct spur_options *opt)
{
	identify_form(o, opt);
	identify_text(o, "format", opt->format);
	identify_text(o, "symbols", opt->symbol_dirs);
	identify_text(o, "key", opt->key_file);
	for (size_t i = 0; opt->binaries && opt->binaries[i]; i++) {
		const char *path = strchr(opt->binaries[i], '=');

		identify_text(o, "binary", opt->binaries[i]);
		identify_file(o, path ? path + 1 : opt->binaries[i], 1);
	}
	for (size_t i = 0; i < opt->noffsets; i++)
		out_printf(o, "offset %zu %lld\n", opt->offsets[i].trace,
			   (long long)opt->offsets[i].ns);
	for (size_t i = 0; opt->align && opt->align[i]; i++)
		identify_text(o, "align", opt->align[i]);
}

/* Appends the identity of traces that are opened as one with these options. */
static bool store_identify(struct out *o, const char *const *paths, size_t n,
			   const struct spur_options *opt)
{
	bool good = !opt->follow && !opt->as_stored && !opt->raw_time;

	identify_options(o, opt);
	for (size_t i = 0; i < n && good; i++)
		good = identify_path(o, paths[i]);
	out_char(o, '\0');
	return good && !o->error;
}

bool store_identify_trace(struct out *o, const struct spur_trace *t)
{
	const char **paths;
	bool good;

	if (!t->nparts || t->one_run)
		return !t->unnamed && store_identify(o, &(const char *){ t->path }, 1, &t->options);
	paths = mem_array(t->nparts, sizeof(*paths));
	if (!paths)
		return false;
	for (size_t i = 0; i < t->nparts; i++)
		paths[i] = t->parts[i].trace->path;
	good = store_identify(o, paths, t->nparts, &t->options);
	mem_free(paths);
	return good;
}

/* --- the directory --- */

const char *cache_dir(struct arena *a)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	struct stat st;

	if (base && *base == '/')
		return arena_printf(a, "%s/spur", base);
	/* Some users have no home, and a path that must not exist in its place. */
	if (!home || *home != '/' || os_stat(home, &st) || !S_ISDIR(st.st_mode))
		return NULL;
	return arena_printf(a, "%s/.cache/spur", home);
}

const char *cache_path(struct arena *a, const char *dir, const char *identity)
{
	return arena_printf(a, "%s/%016llx.store", dir,
			    (unsigned long long)fnv_bytes(fnv_basis, identity, strlen(identity)));
}

bool cache_make_dir(const char *dir)
{
	char path[PATH_MAX];
	const size_t len = strlen(dir);

	if (len >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(path, dir, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (path[i] && path[i] != '/')
			continue;
		path[i] = '\0';
		if (os_mkdir(path, 0700) != 0 && errno != EEXIST)
			return false;
		path[i] = i < len ? '/' : '\0';
	}
	return true;
}

/* Returns true for the name of a store; `*left`: of one that is being written. */
static bool is_store_name(const char *name, bool *left)
{
	enum { DIGITS = 16 };
	const size_t hex = strspn(name, "0123456789abcdef");

	*left = strncmp(name + hex, ".store.", 7) == 0;
	return hex == DIGITS && (*left || strcmp(name + hex, ".store") == 0);
}

/* A file in the directory. */
struct cached {
	char name[32];
	int64_t used; /* ns; when it was used last: its status was changed then */
	uint64_t size;
};

struct cached_list {
	struct cached *files;
	size_t n, cap;
};

static int64_t time_ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_use(const void *a, const void *b)
{
	const struct cached *x = a, *y = b;

	if (x->used != y->used)
		return x->used < y->used ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Lists the stores. Removes what was being written `age` ns ago or longer. */
static void cache_list(const char *dir, int64_t age, struct cached_list *l)
{
	DIR *d = os_opendir(dir);
	struct timespec now;
	struct dirent *e;
	struct stat st;
	bool left;

	*l = (struct cached_list){ 0 };
	os_clock_gettime(CLOCK_REALTIME, &now);
	while (d && (e = os_readdir(d))) {
		if (!is_store_name(e->d_name, &left) ||
		    strlen(e->d_name) >= sizeof(l->files->name) ||
		    os_fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (left) {
			if (time_ns(now) - time_ns(st.st_mtim) >= age)
				os_unlinkat(dirfd(d), e->d_name, 0);
			continue;
		}
		if (!mem_grow((void **)&l->files, &l->cap, l->n + 1, sizeof(*l->files), 1 << 20))
			break;
		memcpy(l->files[l->n].name, e->d_name, strlen(e->d_name) + 1);
		l->files[l->n].used = time_ns(st.st_ctim);
		l->files[l->n++].size = (uint64_t)st.st_size;
	}
	if (d)
		os_closedir(d);
	if (l->n)
		qsort(l->files, l->n, sizeof(*l->files), by_use);
}

static bool cache_remove(const char *dir, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) &&
	       os_unlink(path) == 0;
}

void cache_trim(const char *dir, uint64_t limit, const char *keep)
{
	const char *name = keep ? strrchr(keep, '/') : NULL;
	const int64_t day = (int64_t)86400 * 1000000000;
	struct cached_list l;
	uint64_t total = 0;

	cache_list(dir, day, &l);
	for (size_t i = 0; i < l.n; i++)
		total += l.files[i].size;
	for (size_t i = 0; i < l.n && total > limit; i++)
		if (!(name && strcmp(name + 1, l.files[i].name) == 0) &&
		    cache_remove(dir, l.files[i].name))
			total -= l.files[i].size;
	mem_free(l.files);
}

size_t cache_clear(const char *dir, uint64_t *bytes)
{
	struct cached_list l;
	size_t removed = 0;

	*bytes = 0;
	cache_list(dir, 0, &l);
	for (size_t i = 0; i < l.n; i++)
		if (cache_remove(dir, l.files[i].name)) {
			*bytes += l.files[i].size;
			removed++;
		}
	mem_free(l.files);
	return removed;
}

uint64_t cache_limit(void)
{
	static const char units[] = "kmg";
	const uint64_t standard = (uint64_t)10 << 30;
	const char *given = getenv("SPUR_CACHE_SIZE"), *unit;
	struct text t = text_of(given ? given : "");
	unsigned shift = 0;
	uint64_t n;

	if (!text_u64(&t, 10, &n))
		return standard;
	unit = t.len == 1 ? strchr(units, *t.p | 32) : NULL;
	if (unit)
		shift = 10 * (unsigned)(unit - units + 1);
	else if (t.len)
		return standard;
	return n > UINT64_MAX >> shift ? UINT64_MAX : n << shift;
}

/* --- opening --- */

bool cache_fits_options(const struct store *s, const struct spur_options *opt)
{
	struct out form;
	bool fits;

	out_to_memory(&form);
	identify_form(&form, opt);
	fits = !form.error && strncmp(store_identity(s), form.buf, form.len) == 0;
	out_free(&form);
	return fits;
}

/* Notes that the store is used now: its status changes. */
static void cache_touch(const char *path)
{
	const int fd = os_open(path, O_RDONLY | O_CLOEXEC, 0);
	struct stat st;

	if (fd >= 0 && os_fstat(fd, &st) == 0)
		os_fchmod(fd, st.st_mode & 07777);
	if (fd >= 0)
		os_close(fd);
}

enum spur_status cache_open_file(struct store **out, const char *path, const char *identity)
{
	struct spur_error err = { 0 };

	*out = NULL;
	if (store_open(out, path, &err) == SPUR_FAIL) {
		if (err.code == SPUR_ERR_FORMAT)
			os_unlink(path);
		return SPUR_WARN;
	}
	if (strcmp(store_identity(*out), identity) != 0) {
		store_close(*out);
		*out = NULL;
		return SPUR_WARN;
	}
	cache_touch(path);
	return SPUR_OK;
}

/* Returns the path of the store of traces, in the arena, with its identity in `o`; NULL: none. */
static const char *cache_find(struct arena *a, struct out *o, const char *const *paths, size_t n,
			      const struct spur_options *opt)
{
	const char *dir = cache_dir(a);

	return dir && store_identify(o, paths, n, opt) ? cache_path(a, dir, o->buf) : NULL;
}

enum spur_status cache_open(struct store **out, const char *const *paths, size_t n,
			    const struct spur_options *opt)
{
	enum spur_status st = SPUR_WARN;
	const char *path;
	struct arena a;
	struct out o;

	*out = NULL;
	arena_init(&a);
	out_to_memory(&o);
	path = cache_find(&a, &o, paths, n, opt);
	if (path)
		st = cache_open_file(out, path, o.buf);
	out_free(&o);
	arena_free(&a);
	return st;
}

void cache_drop(const char *const *paths, size_t n, const struct spur_options *opt)
{
	const char *path;
	struct arena a;
	struct out o;

	arena_init(&a);
	out_to_memory(&o);
	path = cache_find(&a, &o, paths, n, opt);
	if (path)
		os_unlink(path);
	out_free(&o);
	arena_free(&a);
}
