/* See board.h. */
#include "recorder/board.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/os.h"

enum { DIR_MODE = 0700, FILE_MODE = 0600, BACKLOG = 16, TRIES = 50, TRY_MS = 10 };

static const char socket_name[] = "session";

/* --- the runtime directory --- */

/* Opens the directory if it is this user's alone. Returns -1 if not. */
static int dir_open(const char *path)
{
	struct stat st;
	int fd;

	if (os_mkdir(path, DIR_MODE) != 0 && errno != EEXIST)
		return -1;
	fd = os_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (os_fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 077))
		return fd;
	os_close(fd);
	return -1;
}

/* The first of the places that can be used, as programs look for it. */
static enum spur_status runtime_open(int *dir, struct spur_error *err)
{
	const char *const given = getenv("XDG_RUNTIME_DIR");
	char path[4096];

	*dir = -1;
	if (given && given[0] == '/' && strlen(given) <= sizeof(path) / 2) {
		snprintf(path, sizeof(path), "%s/spur", given);
		*dir = dir_open(path);
	}
	if (*dir < 0) {
		snprintf(path, sizeof(path), "/run/user/%u/spur", (unsigned)geteuid());
		*dir = dir_open(path);
	}
	if (*dir < 0) {
		snprintf(path, sizeof(path), "/tmp/spur-%u", (unsigned)geteuid());
		*dir = dir_open(path);
	}
	return *dir >= 0 ? SPUR_OK
			 : err_set(err, SPUR_ERR_IO,
				   "%s: expected a directory that only this user may enter", path);
}

/* The address of the socket, by the directory's descriptor, as its path may be too long. */
static struct sockaddr_un address_of(int dir)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir,
		 socket_name);
	return address;
}

/* --- taking the board --- */

static enum spur_status fail(const char *what, struct spur_error *err)
{
	return err_set(err, SPUR_ERR_IO, "%s: %s", what, strerror(errno));
}

static enum spur_status board_map(struct board_hold *b, struct spur_error *err)
{
	struct stat st;
	void *p;
	int why;

	b->fd = os_openat(b->dir, BOARD_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			  FILE_MODE);
	if (b->fd < 0 || os_fstat(b->fd, &st) != 0)
		return fail(BOARD_NAME, err);
	why = st.st_size == 0 ? os_posix_fallocate(b->fd, 0, BOARD_SIZE) : 0;
	errno = why;
	if (why || os_fstat(b->fd, &st) != 0)
		return fail(BOARD_NAME, err);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size < BOARD_SIZE ||
	    st.st_blocks * 512 < BOARD_SIZE)
		return err_set(err, SPUR_ERR_IO,
			       "%s: expected a file of this user with %d bytes, found another one",
			       BOARD_NAME, BOARD_SIZE);
	p = os_mmap(NULL, BOARD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	if (p == MAP_FAILED)
		return fail(BOARD_NAME, err);
	b->head = p;
	return SPUR_OK;
}

static void pause_ms(long ms)
{
	os_nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* Tries a few times, as programs that look whether a session is alive do so by its lock. */
static enum spur_status board_lock(struct board_hold *b, struct spur_error *err)
{
	for (int i = 0; i < TRIES; i++) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

		if (os_lock(b->fd, &lock) == 0)
			return SPUR_OK;
		if (errno != EAGAIN && errno != EACCES)
			return fail(BOARD_NAME, err);
		pause_ms(TRY_MS);
	}
	return err_set(err, SPUR_ERR_USAGE,
		       "a session is going on already: process %u records into %.*s; spur record "
		       "--stop ends it",
		       b->head->pid, BOARD_PATH_MOST, b->head->directory);
}

static enum spur_status socket_open(struct board_hold *b, struct spur_error *err)
{
	const struct sockaddr_un address = address_of(b->dir);
	mode_t mask;
	int bound;

	/* With the lock, one that is there is of a session that was killed. */
	os_unlinkat(b->dir, socket_name, 0);
	b->socket = os_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (b->socket < 0)
		return fail("socket", err);
	mask = os_umask(0777 & ~FILE_MODE);
	bound = os_bind(b->socket, (const struct sockaddr *)&address, sizeof(address));
	os_umask(mask);
	return bound == 0 && os_listen(b->socket, BACKLOG) == 0 ? SPUR_OK : fail("socket", err);
}

enum spur_status board_open(struct board_hold *b, struct spur_error *err)
{
	*b = (struct board_hold){ .dir = -1, .fd = -1, .socket = -1 };
	if (runtime_open(&b->dir, err) == SPUR_FAIL || board_map(b, err) == SPUR_FAIL ||
	    board_lock(b, err) == SPUR_FAIL)
		return SPUR_FAIL;
	b->killed = b->head->magic == BOARD_MAGIC && b->head->on;
	board_release(b);
	return socket_open(b, err);
}

/* --- the session --- */

static void word_store(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}

/* Sets the words of all pages but the one that the session leaves out. */
static void words_set(struct board_hold *b, uint32_t value)
{
	const uint32_t out = b->head->number % BOARD_TURNS;

	for (uint32_t page = 0; page < BOARD_PAGES; page++) {
		uint32_t *const words = (uint32_t *)(void *)((char *)b->head +
							     (size_t)BOARD_PAGE * (1 + page));

		for (size_t i = 0; i < BOARD_PAGE / sizeof(*words); i++)
			if (!value || page != out)
				word_store(&words[i], value);
	}
}

static bool text_put(char *to, size_t room, const char *text)
{
	const size_t len = strlen(text);

	if (len >= room)
		return false;
	memcpy(to, text, len + 1);
	return true;
}

enum spur_status board_call(struct board_hold *b, const struct board_session *s,
			    struct spur_error *err)
{
	struct board *const h = b->head;
	bool fits;

	word_store(&h->change, h->change | 1);
	h->magic = BOARD_MAGIC;
	h->number = h->number == UINT32_MAX ? 1 : h->number + 1;
	h->pid = (uint32_t)os_getpid();
	h->mode = s->mode;
	h->size = s->size;
	fits = text_put(h->directory, sizeof(h->directory), s->directory) &&
	       text_put(h->categories, sizeof(h->categories), s->categories) &&
	       text_put(h->providers, sizeof(h->providers), s->providers);
	h->on = fits;
	word_store(&h->change, h->change + 1);
	if (!fits)
		return err_set(err, SPUR_ERR_LIMIT,
			       "expected a path of less than %d bytes, and lists of less than %d",
			       BOARD_PATH_MOST, BOARD_LIST_MOST);
	words_set(b, 1);
	return SPUR_OK;
}

void board_release(struct board_hold *b)
{
	words_set(b, 0);
	word_store(&b->head->on, 0);
}

void board_close(struct board_hold *b)
{
	if (b->socket >= 0) {
		os_unlinkat(b->dir, socket_name, 0);
		os_close(b->socket);
	}
	if (b->head)
		os_munmap(b->head, BOARD_SIZE);
	if (b->fd >= 0)
		os_close(b->fd);
	if (b->dir >= 0)
		os_close(b->dir);
}

/* --- asking it --- */

/* Waits until there is an answer. Returns its length, or -1. */
static ssize_t answer_read(int fd, char *text, size_t room, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (os_poll(&p, 1, ms) <= 0)
		return -1;
	return os_recv(fd, text, room - 1, MSG_DONTWAIT);
}

enum spur_status board_stop(char *text, size_t room, int ms, struct spur_error *err)
{
	const uint32_t request = BOARD_STOP;
	struct sockaddr_un address;
	ssize_t got = -1;
	int dir, fd;

	if (runtime_open(&dir, err) == SPUR_FAIL)
		return SPUR_FAIL;
	address = address_of(dir);
	fd = os_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || os_connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		err_set(err, SPUR_ERR_USAGE, "expected a session that is going on, found none");
	else if (os_send(fd, &request, sizeof(request), MSG_NOSIGNAL) < 0 ||
		 (got = answer_read(fd, text, room, ms)) <= 0)
		err_set(err, SPUR_ERR_IO, "expected an answer of the session, found none");
	else
		text[got] = '\0';
	if (fd >= 0)
		os_close(fd);
	os_close(dir);
	return got > 0 ? SPUR_OK : SPUR_FAIL;
}

enum spur_status board_directory(char *directory, struct spur_error *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	struct board b = { 0 };
	bool alive = false;
	int dir, fd;

	if (runtime_open(&dir, err) == SPUR_FAIL)
		return SPUR_FAIL;
	fd = os_openat(dir, BOARD_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0);
	/* A session that was killed has no lock any more. */
	if (fd >= 0 && os_lock(fd, &lock) != 0)
		alive = os_pread(fd, &b, sizeof(b), 0) == sizeof(b);
	if (fd >= 0)
		os_close(fd);
	os_close(dir);
	if (!alive || b.magic != BOARD_MAGIC || !b.on || b.change & 1)
		return SPUR_END;
	memcpy(directory, b.directory, BOARD_PATH_MOST);
	directory[BOARD_PATH_MOST - 1] = '\0';
	return SPUR_OK;
}
