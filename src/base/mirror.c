/* Copies of files that change. See mirror.h. */
#include "base/mirror.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "base/os.h"

enum { PIECE = 16 << 10 };

static bool range_reserve(struct mirror *m, uint64_t most)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (most = most / page * page; most >= page; most = most / 2 / page * page) {
		void *const p = os_mmap(NULL, most, PROT_READ, MAP_SHARED | MAP_NORESERVE, m->copy,
					0);

		if (p == MAP_FAILED)
			continue;
		m->data = p;
		m->reserved = most;
		return true;
	}
	errno = ENOMEM;
	return false;
}

bool mirror_open(struct mirror *m, const char *path, uint64_t most)
{
	struct stat st;

	*m = (struct mirror){ .copy = -1 };
	m->fd = os_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (m->fd < 0)
		return false;
	if (os_fstat(m->fd, &st) != 0)
		return false;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return false;
	}
	m->copy = temp_file_open();
	return m->copy >= 0 && range_reserve(m, most);
}

uint64_t mirror_file_size(const struct mirror *m)
{
	struct stat st;

	return os_fstat(m->fd, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

bool mirror_grow(struct mirror *m, uint64_t size)
{
	if (size <= m->size)
		return true;
	if (size > m->reserved) {
		errno = ENOMEM;
		return false;
	}
	if (os_ftruncate(m->copy, (off_t)size) != 0)
		return false;
	m->size = size;
	return true;
}

size_t mirror_peek(const struct mirror *m, uint64_t off, void *to, size_t len)
{
	size_t n = 0;

	while (n < len) {
		const ssize_t got =
			os_pread(m->fd, (uint8_t *)to + n, len - n, (off_t)(off + n));

		if (got > 0)
			n += (size_t)got;
		else if (got == 0 || errno != EINTR)
			break;
	}
	return n;
}

/* Writes to the copy. A mapping would be faster, but a full disk would end the program. */
static bool copy_write(const struct mirror *m, uint64_t at, const uint8_t *from, size_t len)
{
	size_t n = 0;

	while (n < len) {
		const ssize_t put = os_pwrite(m->copy, from + n, len - n, (off_t)(at + n));

		if (put > 0) {
			n += (size_t)put;
		} else if (put == 0 || errno != EINTR) {
			errno = put == 0 ? EIO : errno;
			return false;
		}
	}
	return true;
}

bool mirror_load(struct mirror *m, uint64_t off, uint64_t at, size_t len)
{
	uint8_t piece[PIECE];

	while (len) {
		const size_t want = len < sizeof(piece) ? len : sizeof(piece);
		const size_t got = mirror_peek(m, off, piece, want);

		if (at > m->size || got > m->size - at) {
			errno = ENOMEM;
			return false;
		}
		if (!copy_write(m, at, piece, got))
			return false;
		if (got < want)
			return true;
		off += got;
		at += got;
		len -= got;
	}
	return true;
}

void mirror_end(struct mirror *m)
{
	if (m->fd >= 0)
		os_close(m->fd);
	if (m->copy >= 0)
		os_close(m->copy);
	m->fd = m->copy = -1;
}

void mirror_close(struct mirror *m)
{
	mirror_end(m);
	if (m->reserved)
		os_munmap((void *)(uintptr_t)m->data, m->reserved);
	m->reserved = 0;
}
