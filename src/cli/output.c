/* See output.h. */
#include "cli/output.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/libc.h"
#include "base/os.h"
#include "cli/signals.h"

static enum spur_status output_exists(const char *path, struct spur_error *err)
{
	return err_set(err, SPUR_ERR_USAGE, "%s: file exists; use --force to overwrite", path);
}

/* Creates the temporary file, with permissions `mode`, in the folder of the file to write. */
static enum spur_status output_temp(struct output *o, mode_t mode, struct spur_error *err)
{
	int fd;

	assert(o->path && !o->temp && o->out.fd < 0);
	o->temp = arena_printf(&o->arena, "%s.XXXXXX", o->path);
	if (!o->temp)
		return err_nomem(err);
	signals_hold();
	fd = os_mkostemp(o->temp, O_CLOEXEC);
	if (fd >= 0)
		signals_remove(o->temp);
	signals_release();
	if (fd < 0) {
		o->temp = NULL;
		return err_set(err, SPUR_ERR_IO, "%s: %s", o->path, strerror(errno));
	}
	out_to_fd(&o->out, fd);
	if (os_fchmod(fd, mode) != 0)
		return err_set(err, SPUR_ERR_IO, "%s: %s", o->path, strerror(errno));
	return SPUR_OK;
}

static mode_t usual_mode(void)
{
	const mode_t mask = os_umask(0);

	os_umask(mask);
	return 0666 & ~mask;
}

static bool is_link(const char *path)
{
	struct stat st;

	return os_fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/*
 * A file that is there: its name, not a link to it, is given to the new one, which is as open to
 * others as the old one was.
 */
static enum spur_status output_replace(struct output *o, mode_t mode, struct spur_error *err)
{
	if (is_link(o->path)) {
		char *real = arena_alloc(&o->arena, PATH_MAX);

		if (!real)
			return err_nomem(err);
		if (!os_realpath(o->path, real))
			return err_set(err, SPUR_ERR_IO, "%s: %s", o->path, strerror(errno));
		o->path = real;
	}
	o->replaces = true;
	return output_temp(o, mode, err);
}

/* Another name of standard output, which may be a file that is not to be replaced. */
static bool is_standard_output(const char *path)
{
	static const char *const names[] = { "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(path, names[i]) == 0)
			return true;
	return false;
}

enum spur_status output_open(struct output *o, const char *path, bool force, struct spur_error *err)
{
	struct stat st;
	int fd;

	*o = (struct output){ .force = force };
	arena_init(&o->arena);
	out_to_fd(&o->out, STDOUT_FILENO);
	if (!path || is_standard_output(path))
		return SPUR_OK;
	o->path = path;
	o->out.fd = -1;
	if (!*path)
		return err_set(err, SPUR_ERR_USAGE, "-o: expected a file name, found an empty one");
	if (os_stat(path, &st) != 0)
		return !force && is_link(path) ? output_exists(path, err) :
						 output_temp(o, usual_mode(), err);
	if (S_ISREG(st.st_mode))
		return force ? output_replace(o, st.st_mode & 0777, err) : output_exists(path, err);
	fd = os_open(path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return err_set(err, SPUR_ERR_IO, "%s: %s", path, strerror(errno));
	out_to_fd(&o->out, fd);
	return SPUR_OK;
}

enum spur_status output_check(const char *path, bool force, struct spur_error *err)
{
	struct stat st;
	const bool there = os_stat(path, &st) == 0;

	if (!*path)
		return err_set(err, SPUR_ERR_USAGE, "-o: expected a file name, found an empty one");
	if (is_standard_output(path) || (there && !S_ISREG(st.st_mode)))
		return err_set(err, SPUR_ERR_USAGE,
			       "-o %s: expected a new file or one to overwrite, found %s", path,
			       there && S_ISDIR(st.st_mode) ? "a directory"
							    : "a pipe, a device or the like");
	return !force && (there || is_link(path)) ? output_exists(path, err) : SPUR_OK;
}

enum spur_status output_open_dir(struct output *o, const char *path, bool force,
				 struct spur_error *err)
{
	enum spur_status st;

	*o = (struct output){ .force = force, .is_dir = true };
	arena_init(&o->arena);
	out_to_memory(&o->out);
	signals_hold();
	st = outdir_open(&o->dir, path, force, err);
	signals_release();
	return st;
}

/* Whether a file lies in a directory, or in one below. */
static bool lies_below(const char *file, const char *dir)
{
	char real_file[PATH_MAX], real_dir[PATH_MAX];
	size_t len;

	if (!os_realpath(file, real_file) || !os_realpath(dir, real_dir))
		return false;
	len = strlen(real_dir);
	return strncmp(real_file, real_dir, len) == 0 && real_file[len] == '/';
}

enum spur_status output_spare(const struct output *o, const char *input, struct spur_error *err)
{
	if (o->is_dir)
		return outdir_spare(&o->dir, input, err);
	return o->replaces ? output_spare_file(o->path, input, err) : SPUR_OK;
}

enum spur_status output_spare_file(const char *path, const char *input, struct spur_error *err)
{
	struct stat in, out;

	if (os_stat(path, &out) != 0)
		return SPUR_OK;
	if ((strcmp(input, "-") == 0 ? os_fstat(STDIN_FILENO, &in) : os_stat(input, &in)) != 0)
		return SPUR_OK;
	if ((in.st_dev != out.st_dev || in.st_ino != out.st_ino) &&
	    !(S_ISDIR(in.st_mode) && lies_below(path, input)))
		return SPUR_OK;
	return err_set(err, SPUR_ERR_USAGE,
		       "%s: the file is part of the input; write to another one", path);
}

/*
 * Syncs the new file before it is renamed, so that after a crash the name stands for the old file
 * or for all of the new one. Not every file system can sync.
 */
static void output_sync(struct output *o)
{
	int rc;

	assert(o->temp && o->out.fd >= 0 && !o->out.len && !o->out.error);
	do
		rc = os_fsync(o->out.fd);
	while (rc != 0 && errno == EINTR);
	if (rc != 0 && errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
		o->out.error = errno;
}

/* Gives the file its name; without `force` only if no other file has taken it meanwhile. */
static enum spur_status output_name(const struct output *o, struct spur_error *err)
{
	int rc;

	/* INVARIANT: only a file that is complete, and closed without an error, gets its name. */
	assert(o->temp && !o->out.len && !o->out.error);
	if (o->force) {
		rc = os_rename(o->temp, o->path);
	} else {
		rc = rename_new(AT_FDCWD, o->temp, o->path);
		if (rc != 0 && errno == EEXIST)
			return output_exists(o->path, err);
	}
	return rc == 0 ? SPUR_OK : err_set(err, SPUR_ERR_IO, "%s: %s", o->path, strerror(errno));
}

enum spur_status output_close(struct output *o, bool keep, struct spur_error *err)
{
	const char *name = o->path ? o->path : "standard output";
	enum spur_status st = SPUR_OK;

	if (o->is_dir) {
		st = outdir_close(&o->dir, keep, err);
		out_free(&o->out);
		arena_free(&o->arena);
		return st;
	}
	if (out_flush(&o->out) && o->temp && keep)
		output_sync(o);
	/* close() closes the descriptor even if a signal interrupts it. */
	if (o->path && o->out.fd >= 0 && os_close(o->out.fd) != 0 && !o->out.error &&
	    errno != EINTR)
		o->out.error = errno;
	if (o->out.error == ENOMEM)
		st = err_nomem(err);
	else if (o->out.error && o->out.error != EPIPE)
		st = err_set(err, SPUR_ERR_IO, "%s: %s", name, strerror(o->out.error));
	if (o->temp && keep && st == SPUR_OK)
		st = output_name(o, err);
	if (o->temp && (!keep || st != SPUR_OK))
		os_unlink(o->temp);
	if (o->temp)
		signals_keep(o->temp);
	out_free(&o->out);
	arena_free(&o->arena);
	return st;
}
