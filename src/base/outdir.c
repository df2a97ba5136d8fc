/* See outdir.h. */
#include "base/outdir.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <string.h>

#include "base/err.h"
#include "base/os.h"

enum { TRIES = 100 };

static enum spur_status outdir_fail(const char *path, struct spur_error *err)
{
	return err_set(err, SPUR_ERR_IO, "%s: %s", path, strerror(errno));
}

/* Returns true if the path is a directory without entries. */
static bool is_empty(const char *path)
{
	DIR *dir = os_opendir(path);
	const struct dirent *e;
	bool empty = dir != NULL;

	while (dir && empty && (e = os_readdir(dir)))
		empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	if (dir)
		os_closedir(dir);
	return empty;
}

static enum spur_status outdir_check(const struct outdir *d, struct spur_error *err)
{
	struct stat st;

	if (!*d->path)
		return err_set(err, SPUR_ERR_USAGE,
			       "-o: expected a directory, found an empty name");
	if (os_fstatat(AT_FDCWD, d->path, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? SPUR_OK : outdir_fail(d->path, err);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected a directory or a new name, found a file", d->path);
	if (d->force || is_empty(d->path))
		return SPUR_OK;
	return err_set(err, SPUR_ERR_USAGE, "%s: directory exists; use --force to replace it",
		       d->path);
}

/* The path without slashes at its end. */
static char *bare_path(struct arena *a, const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return arena_strdup(a, path, len);
}

enum spur_status outdir_open(struct outdir *d, const char *path, bool force, struct spur_error *err)
{
	char *temp;

	*d = (struct outdir){ .force = force };
	arena_init_scratch(&d->arena);
	d->path = bare_path(&d->arena, path);
	if (!d->path)
		return err_nomem(err);
	if (outdir_check(d, err) == SPUR_FAIL)
		return SPUR_FAIL;
	for (int i = 0; i < TRIES; i++) {
		uint32_t number;

		if (os_getrandom(&number, sizeof(number), 0) != sizeof(number))
			return outdir_fail(d->path, err);
		temp = arena_printf(&d->arena, "%s.%08x", d->path, number);
		if (!temp)
			return err_nomem(err);
		if (os_mkdir(temp, 0777) == 0) {
			d->temp = temp;
			return SPUR_OK;
		}
		if (errno != EEXIST)
			break;
	}
	return outdir_fail(d->path, err);
}

enum spur_status outdir_below(struct outdir *d, const struct outdir *above, const char *name,
			      struct spur_error *err)
{
	*d = (struct outdir){ .force = false };
	arena_init_scratch(&d->arena);
	d->path = arena_printf(&d->arena, "%s/%s", above->path, name);
	d->temp = arena_printf(&d->arena, "%s/%s", above->temp, name);
	if (!d->path || !d->temp)
		return err_nomem(err);
	return os_mkdir(d->temp, 0777) == 0 ? SPUR_OK : outdir_fail(d->path, err);
}

void outdir_leave(struct outdir *d, struct outdir *above)
{
	above->nfiles += d->nfiles;
	arena_free(&d->arena);
}

/* Makes the directories in the path of a file, from `from` on. Returns false if that fails. */
static bool make_parents(char *path, size_t from)
{
	for (char *p = strchr(path + from, '/'); p; p = strchr(p + 1, '/')) {
		int rc;

		*p = '\0';
		rc = os_mkdir(path, 0777);
		*p = '/';
		if (rc != 0 && errno != EEXIST)
			return false;
	}
	return true;
}

/* The message names the file as the user will know it, not the temporary directory. */
static enum spur_status file_fail(const struct outdir *d, const char *name, int error,
				  struct spur_error *err)
{
	return err_set(err, SPUR_ERR_IO, "%s/%s: %s", d->path, name, strerror(error));
}

enum spur_status outdir_create(struct outdir *d, const char *name, struct out *o,
			       struct spur_error *err)
{
	char *path;
	int fd;

	assert(d->temp && *name && *name != '/');
	out_to_memory(o);
	path = arena_printf(&d->arena, "%s/%s", d->temp, name);
	if (!path)
		return err_nomem(err);
	if (!make_parents(path, strlen(d->temp) + 1))
		return file_fail(d, name, errno, err);
	fd = os_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return file_fail(d, name, errno, err);
	out_to_fd(o, fd);
	return SPUR_OK;
}

/* Returns 0, or the errno of a sync that failed. Not every file system can sync. */
static int sync_error(int rc)
{
	return rc == 0 || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP ? 0 : errno;
}

enum spur_status outdir_finish(struct outdir *d, const char *name, struct out *o,
			       struct spur_error *err)
{
	int error, rc;

	if (out_flush(o) && d->nfiles++ < OUTDIR_SYNCED) {
		do
			rc = os_fsync(o->fd);
		while (rc != 0 && errno == EINTR);
		o->error = sync_error(rc);
	}
	error = o->error;
	if (o->fd >= 0 && os_close(o->fd) != 0 && !error && errno != EINTR)
		error = errno;
	o->fd = -1;
	out_free(o);
	return error == ENOMEM ? err_nomem(err) : error ? file_fail(d, name, error, err) : SPUR_OK;
}

/* Syncs the files that outdir_finish() did not. */
static enum spur_status outdir_sync(const struct outdir *d, struct spur_error *err)
{
	int fd, rc;

	if (d->nfiles <= OUTDIR_SYNCED)
		return SPUR_OK;
	fd = os_open(d->temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return outdir_fail(d->path, err);
	rc = sync_error(os_syncfs(fd));
	os_close(fd);
	errno = rc;
	return rc == 0 ? SPUR_OK : outdir_fail(d->path, err);
}

/* Removes a directory and all below it. Returns false (errno) if anything is left. */
static bool remove_all(char *path)
{
	char *paths[] = { path, NULL };
	FTS *walk = os_fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *e;
	bool good = walk != NULL;

	while (walk && (e = os_fts_read(walk))) {
		if (e->fts_info == FTS_D)
			continue;
		if (os_unlinkat(AT_FDCWD, e->fts_accpath,
				e->fts_info == FTS_DP ? AT_REMOVEDIR : 0) != 0)
			good = false;
	}
	if (walk)
		os_fts_close(walk);
	return good;
}

/*
 * Gives the directory its name. An old directory of that name changes places with it in one step
 * and is removed then.
 */
static enum spur_status outdir_name(const struct outdir *d, struct spur_error *err)
{
	struct stat st;

	if (os_rename(d->temp, d->path) == 0)
		return SPUR_OK;
	if (!d->force || (errno != ENOTEMPTY && errno != EEXIST) ||
	    os_fstatat(AT_FDCWD, d->path, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
		return outdir_fail(d->path, err);
	if (os_renameat2(AT_FDCWD, d->temp, AT_FDCWD, d->path, RENAME_EXCHANGE) != 0)
		return outdir_fail(d->path, err);
	return remove_all(d->temp) ? SPUR_OK : outdir_fail(d->temp, err);
}

enum spur_status outdir_close(struct outdir *d, bool keep, struct spur_error *err)
{
	enum spur_status st = SPUR_OK;

	if (d->temp && keep)
		st = outdir_sync(d, err);
	if (d->temp && keep && st == SPUR_OK)
		st = outdir_name(d, err);
	if (d->temp && (!keep || st == SPUR_FAIL))
		remove_all(d->temp);
	d->temp = NULL;
	arena_free(&d->arena);
	return st;
}

enum spur_status outdir_spare(const struct outdir *d, const char *input, struct spur_error *err)
{
	char out[PATH_MAX], in[PATH_MAX];
	size_t len;

	if (!os_realpath(d->path, out) || !os_realpath(input, in))
		return SPUR_OK;
	len = strlen(out);
	if (strncmp(out, in, len) != 0 || (in[len] && in[len] != '/' && len > 1))
		return SPUR_OK;
	return err_set(err, SPUR_ERR_USAGE, "%s: the directory has the input; write to another one",
		       d->path);
}
