/*
 * A trace directory from the bytes of a fuzzer: pieces that begin with a line `@@ NAME` become
 * files of a temporary directory, made anew for each input.
 */
#ifndef SPUR_TESTS_FUZZ_DIR_H
#define SPUR_TESTS_FUZZ_DIR_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char fuzz_dir[64];

static void fuzz_dir_empty(void)
{
	DIR *d = opendir(fuzz_dir);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

static void fuzz_dir_remove(void)
{
	fuzz_dir_empty();
	rmdir(fuzz_dir);
}

static void fuzz_dir_write(const char *name, size_t len, const uint8_t *data, size_t size)
{
	char path[sizeof(fuzz_dir) + 64];
	int fd;

	if (len == 0 || len > 60 || name[0] == '.' || memchr(name, '/', len) ||
	    memchr(name, 0, len))
		return;
	snprintf(path, sizeof(path), "%s/%.*s", fuzz_dir, (int)len, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

/* Fills the directory and returns its path. */
static const char *fuzz_dir_make(const uint8_t *data, size_t size)
{
	const uint8_t *const end = data + size;
	const uint8_t *at = memmem(data, size, "\n@@ ", 4);

	if (!fuzz_dir[0]) {
		snprintf(fuzz_dir, sizeof(fuzz_dir), "%s/spur-fuzz-XXXXXX",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		if (!mkdtemp(fuzz_dir))
			abort();
		atexit(fuzz_dir_remove);
	}
	fuzz_dir_empty();
	while (at) {
		const uint8_t *name = at + 4;
		const uint8_t *line = memchr(name, '\n', (size_t)(end - name));
		const uint8_t *next;

		if (!line)
			break;
		next = memmem(line + 1, (size_t)(end - line - 1), "\n@@ ", 4);
		fuzz_dir_write((const char *)name, (size_t)(line - name), line + 1,
			       (size_t)((next ? next : end) - line - 1));
		at = next;
	}
	return fuzz_dir;
}

#endif
