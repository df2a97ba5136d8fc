/* Files. See file.h. */
#include "base/file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"

/* Reads until `size` bytes or the end of the file. */
static ssize_t read_full(int fd, char *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		const ssize_t n = os_read(fd, buf + done, size - done);

		if (n == 0)
			break;
		if (n > 0)
			done += (size_t)n;
		else if (errno != EINTR)
			return -1;
	}
	return (ssize_t)done;
}

ssize_t file_head(const char *path, enum file_kind kind, void *buf, size_t size)
{
	const int plain = O_RDONLY | O_CLOEXEC | O_NOCTTY;
	const int fd = os_open(path, kind == FILE_ANY ? plain : plain | O_NONBLOCK, 0);
	struct stat st;
	ssize_t n = -1;
	int error;

	if (fd < 0)
		return -1;
	if (kind == FILE_REGULAR && os_fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		errno = EINVAL;
	else
		n = read_full(fd, buf, size);
	error = errno;
	os_close(fd);
	errno = error;
	return n;
}

static int temp_file_in(const char *dir)
{
	char path[4096];
	int fd = os_open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	/* Not every file system can make a file without a name. */
	if ((size_t)snprintf(path, sizeof(path), "%s/spur-XXXXXX", dir) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = os_mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		os_unlink(path);
	return fd;
}

enum { DIRS = 3 };

/* Which of temp_dir() had the last file. An index, as the text of $TMPDIR need not stay. */
static _Atomic unsigned dir_used;

static const char *temp_dir(unsigned i)
{
	static const char *const dirs[DIRS] = { NULL, "/var/tmp", "/tmp" };
	const char *dir = i == 0 ? getenv("TMPDIR") : dirs[i];

	return dir && *dir ? dir : NULL;
}

int temp_file_open(void)
{
	int fd = -1;

	for (unsigned i = 0; i < DIRS && fd < 0; i++) {
		const char *dir = temp_dir(i);

		if (dir)
			fd = temp_file_in(dir);
		if (fd >= 0)
			atomic_store(&dir_used, i);
	}
	return fd;
}

const char *temp_file_dir(void)
{
	const char *dir = temp_dir(atomic_load(&dir_used));

	return dir ? dir : "$TMPDIR";
}
