/* See extract.h. */
#include "pass/blobs/extract.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/libc.h"
#include "base/os.h"
#include "base/text.h"

enum { FILES_MAX = 1 << 20, TRIES = 1000, DIGITS = 24 };

static const size_t no_file = SIZE_MAX;

static enum spur_status extract_fail(const struct extract *x, const char *name,
				     struct spur_error *err)
{
	return err_set(err, SPUR_ERR_IO, "%s/%s: %s", x->path, name, strerror(errno));
}

static enum spur_status extract_exists(const struct extract *x, const char *name,
				       struct spur_error *err)
{
	return err_set(err, SPUR_ERR_USAGE, "%s/%s: file exists; use --force to overwrite it",
		       x->path, name);
}

size_t extract_safe_name(const char *name, size_t len, char *out)
{
	size_t n = 0, step;

	for (size_t i = 0; i < len; i += step) {
		const size_t valid = utf8_valid(name + i, len - i);
		const bool good = valid && !utf8_is_control(name + i, valid) && name[i] != '/' &&
				  (i || (name[i] != '.' && name[i] != '-'));

		step = valid ? valid : 1;
		if (n + (good ? step : 1) > EXTRACT_NAME)
			break;
		if (good)
			memcpy(out + n, name + i, step);
		else
			out[n] = '_';
		n += good ? step : 1;
	}
	if (!n) {
		memcpy(out, "blob", 4);
		n = 4;
	}
	out[n] = '\0';
	return n;
}

enum spur_status extract_open(struct extract *x, const char *dir, bool force,
			      struct spur_error *err)
{
	*x = (struct extract){ .path = dir, .dir = -1, .fd = -1, .open = no_file, .force = force };
	arena_init(&x->arena);
	x->names = intern_new();
	if (!x->names)
		return err_nomem(err);
	if (os_mkdir(dir, 0777) != 0 && errno != EEXIST)
		return err_set(err, SPUR_ERR_IO, "%s: %s", dir, strerror(errno));
	x->dir = os_open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return x->dir < 0 ? err_set(err, SPUR_ERR_IO, "%s: %s", dir, strerror(errno)) : SPUR_OK;
}

/* Takes the name if it is free. Returns SPUR_WARN if it is taken. */
static enum spur_status name_take(struct extract *x, const char *name, uint32_t *id)
{
	const size_t len = strlen(name);

	*id = intern_find(x->names, name, len);
	if (*id != INTERN_NONE)
		return SPUR_WARN;
	*id = intern_put(x->names, name, len);
	return *id == INTERN_NONE ? SPUR_FAIL : SPUR_OK;
}

/* NAME, or NAME.2, NAME.3 and so on. A number that was tried once is not tried again. */
static const char *name_choose(struct extract *x, const char *name, size_t len)
{
	char text[EXTRACT_NAME + DIGITS];
	const size_t base = extract_safe_name(name, len, text);
	struct map64_slot *next;
	uint32_t id, other;
	enum spur_status st = name_take(x, text, &id);

	if (st == SPUR_WARN) {
		next = map64_put(&x->numbers, id);
		if (!next)
			return NULL;
		next->value = next->value ? next->value : 2;
		do
			snprintf(text + base, DIGITS, ".%llu", (unsigned long long)next->value++);
		while ((st = name_take(x, text, &other)) == SPUR_WARN);
	}
	return st == SPUR_OK ? arena_strdup(&x->arena, text, strlen(text)) : NULL;
}

/* What was written may turn out to be lost only here. */
static enum spur_status file_shut(struct extract *x, struct spur_error *err)
{
	const int fd = x->fd;
	const size_t open = x->open;

	x->fd = -1;
	x->open = no_file;
	if (fd >= 0 && os_close(fd) != 0)
		return extract_fail(x, x->files[open].name, err);
	return SPUR_OK;
}

/* An empty file with a free name. */
static enum spur_status file_make(struct extract *x, struct extract_file *f, struct spur_error *err)
{
	for (int i = 0; i < TRIES; i++) {
		f->temp = arena_printf(&x->arena, ".spur-%ld-%zu-%d", (long)os_getpid(), x->n, i);
		if (!f->temp)
			return err_nomem(err);
		x->fd = os_openat(x->dir, f->temp,
				  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (x->fd >= 0 || errno != EEXIST)
			break;
	}
	f->is_made = x->fd >= 0;
	return f->is_made ? SPUR_OK : extract_fail(x, f->name, err);
}

enum spur_status extract_add(struct extract *x, const char *name, size_t len, size_t *number,
			     struct spur_error *err)
{
	struct extract_file *f;
	struct stat st;
	enum spur_status made;

	if (!mem_grow((void **)&x->files, &x->cap, x->n + 1, sizeof(*x->files), FILES_MAX))
		return err_nomem(err);
	f = &x->files[x->n];
	f->name = name_choose(x, name, len);
	if (!f->name)
		return err_nomem(err);
	if (!x->force && os_fstatat(x->dir, f->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return extract_exists(x, f->name, err);
	made = file_shut(x, err);
	if (made == SPUR_OK)
		made = file_make(x, f, err);
	if (made != SPUR_OK)
		return made;
	x->open = *number = x->n++;
	return SPUR_OK;
}

enum spur_status extract_write(struct extract *x, size_t number, const void *p, size_t len,
			       struct spur_error *err)
{
	const struct extract_file *f = &x->files[number];
	size_t done = 0;

	if (x->open != number) {
		if (file_shut(x, err) != SPUR_OK)
			return SPUR_FAIL;
		x->fd = os_openat(x->dir, f->temp, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0);
		if (x->fd < 0)
			return extract_fail(x, f->name, err);
		x->open = number;
	}
	while (done < len) {
		const ssize_t n = os_write(x->fd, (const char *)p + done, len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			return extract_fail(x, f->name, err);
	}
	return SPUR_OK;
}

/* Without `force` only where nothing has taken the name meanwhile. */
static enum spur_status file_name(const struct extract *x, struct extract_file *f,
				  struct spur_error *err)
{
	int rc;

	if (x->force) {
		rc = os_renameat(x->dir, f->temp, x->dir, f->name);
	} else {
		rc = rename_new(x->dir, f->temp, f->name);
		if (rc != 0 && errno == EEXIST)
			return extract_exists(x, f->name, err);
	}
	if (rc != 0)
		return extract_fail(x, f->name, err);
	f->is_made = false;
	return SPUR_OK;
}

enum spur_status extract_finish(struct extract *x, struct spur_error *err)
{
	enum spur_status st = file_shut(x, err);

	for (size_t i = 0; i < x->n && st == SPUR_OK; i++)
		st = file_name(x, &x->files[i], err);
	return st;
}

void extract_close(struct extract *x)
{
	file_shut(x, NULL);
	for (size_t i = 0; i < x->n; i++)
		if (x->files[i].is_made)
			os_unlinkat(x->dir, x->files[i].temp, 0);
	if (x->dir >= 0)
		os_close(x->dir);
	mem_free(x->files);
	map64_free(&x->numbers);
	intern_free(x->names);
	arena_free(&x->arena);
}
