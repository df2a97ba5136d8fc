/* See running.h. */
#include "recorder/running.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/os.h"
#include "format/spur/wire.h"
#include "recorder/board.h"

enum {
	PROGRAMS_MOST = 1 << 22,
	MAPS_BUFFER = 64 << 10,
	CATEGORIES_ROOM = 4096, /* of a list; what does not fit is left out */
	SITE_CATEGORY = SPB_DESCRIPTOR_HEAD + 12, /* where a site's descriptor has its category */
	SITE_NAME = SITE_CATEGORY + 2,
};

static const char ending[] = ".spb";

static uint64_t number_at(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = bytes; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

/* The mapping's path in place, with \012 for a line feed read as such. */
static void path_read(char *path)
{
	char *to = path;

	for (const char *p = path; *p; p++) {
		const bool escaped = strncmp(p, "\\012", 4) == 0;

		*to++ = escaped ? '\n' : *p;
		p += escaped ? 3 : 0;
	}
	*to = '\0';
}

/* Takes the file if it is the recording of that process, and not complete. */
static void file_read(struct running_list *l, struct running *r, const char *path)
{
	uint8_t head[SPB_HEADER];
	const char *const slash = strrchr(path, '/');

	if (file_head(path, FILE_REGULAR, head, sizeof(head)) != SPB_HEADER ||
	    number_at(head, 8) != SPB_MAGIC ||
	    number_at(head + SPB_PID_AT, 4) != (uint64_t)r->pid ||
	    number_at(head + SPB_END_AT, 8) || (r->only && strcmp(r->only, path) != 0))
		return;
	r->mode = (uint32_t)number_at(head + SPB_MODE_AT, 4);
	r->on = number_at(head + SPB_CONTROL_AT, 4) & SPB_CONTROL_ON;
	r->since = (int64_t)number_at(head + SPB_BEGIN_AT + 16, 8);
	r->file = arena_strdup(&l->arena, path, strlen(path));
	r->dir = arena_strdup(&l->arena, path, slash ? (size_t)(slash - path) : 0);
	l->failed |= !r->file || !r->dir;
}

/* Looks at one line of /proc/PID/maps: addresses, access, offset, device, inode, path. */
static void line_read(struct running_list *l, struct running *r, char *line)
{
	char *path = line, *offset = line, *access = line;
	size_t len;

	for (int field = 0; field < 5; field++) {
		path += strcspn(path, " ");
		path += strspn(path, " ");
		if (field == 0)
			access = path;
		if (field == 1)
			offset = path;
	}
	len = strlen(path);
	if (*path != '/' || len < sizeof(ending) || strspn(offset, "0") != strcspn(offset, " "))
		return;
	path_read(path);
	if (!r->file && strcmp(path + len - (sizeof(ending) - 1), ending) == 0)
		file_read(l, r, path);
	else if (len > sizeof(BOARD_NAME) && access[1] == '-' &&
		 strcmp(path + len - sizeof(BOARD_NAME), "/" BOARD_NAME) == 0)
		r->waits = true;
}

/* Reads the mappings of a process. Returns false if they cannot be read. */
static bool maps_read(struct running_list *l, struct running *r)
{
	char path[64], buf[MAPS_BUFFER + 1];
	size_t len = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)r->pid);
	fd = os_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	while ((got = os_read(fd, buf + len, MAPS_BUFFER - len)) > 0) {
		char *line = buf, *end;

		len += (size_t)got;
		buf[len] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			line_read(l, r, line);
		}
		len -= (size_t)(line - buf);
		/* A line that is longer than any path is not wanted. */
		if (len == MAPS_BUFFER)
			len = 0;
		memmove(buf, line, len);
	}
	os_close(fd);
	return got == 0;
}

/* Reads the path of the program that a process runs; "": unknown. */
static void program_read(pid_t pid, char program[PATH_MAX])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (!os_realpath(path, program))
		*program = '\0';
}

static enum spur_status program_add(struct running_list *l, pid_t pid, bool waiting,
				    struct spur_error *err)
{
	struct running r = { .pid = pid };
	char program[PATH_MAX];

	if (!maps_read(l, &r) || (!r.file && !(r.waits && waiting) && !l->failed))
		return SPUR_OK;
	program_read(pid, program);
	r.program = arena_strdup(&l->arena, program, strlen(program));
	if (!r.program || l->failed ||
	    !mem_grow((void **)&l->items, &l->cap, l->count + 1, sizeof(*l->items), PROGRAMS_MOST))
		return err_nomem(err);
	l->items[l->count++] = r;
	return SPUR_OK;
}

bool running_left(pid_t pid, const char *path)
{
	struct running_list l = { 0 };
	struct running r = { .pid = pid, .only = path };
	bool known;

	arena_init(&l.arena);
	known = maps_read(&l, &r) && !l.failed && (r.file || r.waits);
	arena_free(&l.arena);
	return known && !r.file;
}

bool running_has(pid_t pid, const char *path, char *program, size_t room)
{
	struct running_list l = { 0 };
	struct running r = { .pid = pid, .only = path };
	char whole[PATH_MAX];
	bool has;

	arena_init(&l.arena);
	has = maps_read(&l, &r) && r.file;
	arena_free(&l.arena);
	program_read(pid, whole);
	snprintf(program, room, "%s", whole);
	return has;
}

static int by_pid(const void *a, const void *b)
{
	const struct running *const p = a, *const q = b;

	return (p->pid > q->pid) - (p->pid < q->pid);
}

enum spur_status running_find(struct running_list *l, pid_t pid, bool waiting,
			      struct spur_error *err)
{
	enum spur_status st = SPUR_OK;
	const struct dirent *e;
	struct stat about;
	DIR *dir;

	*l = (struct running_list){ 0 };
	arena_init(&l->arena);
	if (pid)
		return program_add(l, pid, waiting, err);
	dir = os_opendir("/proc");
	if (!dir)
		return err_set(err, SPUR_ERR_IO, "/proc: %s", strerror(errno));
	while (st == SPUR_OK && (e = os_readdir(dir))) {
		const long n = strtol(e->d_name, NULL, 10);

		if (n > 0 && n != os_getpid() &&
		    os_fstatat(dirfd(dir), e->d_name, &about, 0) == 0 && about.st_uid == geteuid())
			st = program_add(l, (pid_t)n, waiting, err);
	}
	os_closedir(dir);
	if (l->count)
		qsort(l->items, l->count, sizeof(*l->items), by_pid);
	return st;
}

/* --- categories --- */

/* Adds a category to the list, if it is not there yet and fits. */
static void category_add(char *list, size_t room, const char *name, size_t len)
{
	const size_t used = strlen(list);

	for (const char *p = list; *p; p += *p == ',') {
		const size_t n = strcspn(p, ",");

		if (n == len && memcmp(p, name, n) == 0)
			return;
		p += n;
	}
	if (len && used + len + 2 <= room)
		snprintf(list + used, room - used, "%s%.*s", used ? "," : "", (int)len, name);
}

/* Adds the categories of the sites that a page of descriptors has. */
static void page_read(const uint8_t *p, const uint8_t *end, char *list, size_t room)
{
	while (end - p > SITE_NAME) {
		const uint64_t size = number_at(p, 4), len = number_at(p + SITE_CATEGORY, 2);

		if (size < SPB_DESCRIPTOR_HEAD || size > (uint64_t)(end - p))
			return;
		if (number_at(p + 4, 4) == SPB_SITE && SITE_NAME + len <= size)
			category_add(list, room, (const char *)p + SITE_NAME, len);
		p += size;
	}
}

/* Reads the descriptors of one chunk. */
static void chunk_read(int fd, uint64_t off, uint64_t size, char *list, size_t room)
{
	uint8_t page[SPB_PAGE];

	for (uint64_t at = 0; at < size; at += sizeof(page)) {
		const size_t head = at ? 0 : SPB_CHUNK_HEAD;

		if (os_pread(fd, page, sizeof(page), (off_t)(off + at)) != sizeof(page))
			return;
		page_read(page + head, page + sizeof(page), list, room);
	}
}

bool running_categories(struct running_list *l, struct running *r)
{
	char list[CATEGORIES_ROOM] = "";
	uint8_t head[SPB_CHUNK_HEAD];
	const int fd = r->file ? os_open(r->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0) : -1;
	uint64_t size = 0;

	if (fd < 0)
		return true;
	if (os_pread(fd, head, 8, SPB_CHUNK_SIZE_AT) == 8)
		size = number_at(head, 4);
	if (size >= SPB_CHUNK_LEAST && size <= SPB_CHUNK_MOST)
		for (uint64_t off = SPB_HEADER;
		     os_pread(fd, head, sizeof(head), (off_t)off) == sizeof(head); off += size)
			if (number_at(head, 4) == SPB_CHUNK_MAGIC &&
			    number_at(head + SPB_KIND_AT, 2) == SPB_CHUNK_DESCRIPTORS)
				chunk_read(fd, off, size, list, sizeof(list));
	os_close(fd);
	r->categories = arena_strdup(&l->arena, list, strlen(list));
	return r->categories;
}

void running_free(struct running_list *l)
{
	mem_free(l->items);
	arena_free(&l->arena);
}
