/*
 * See switches.h. The list is stored in the directory first, for processes that begin later, and
 * then in the header of the file of each process: one that begins meanwhile either has a header, or
 * has not read the directory's list yet.
 */
#include "recorder/switches.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/err.h"
#include "base/file.h"
#include "base/os.h"
#include "format/format.h"
#include "format/spur/wire.h"
#include "recorder/running.h"

enum {
	NAME_MOST = 63, /* bytes of a category's name, as the library keeps them */
	TRIES = 500,
	TRY_MS = 10,
	LOOK_MS = 5, /* between looks for answers */
	WAKE_STEPS = 20, /* looks before a process is woken again */
	SESSION_MOST = 64 << 10,
	NAME_ROOM = 16, /* of a file in the directory */
};

static void pause_ms(long ms)
{
	os_nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static enum spur_status fail(const char *dir, const char *name, struct spur_error *err)
{
	return err_set(err, SPUR_ERR_IO, "%s/%s: %s", dir, name, strerror(errno));
}

/* --- the list --- */

enum spur_status switch_check(const char *list, struct spur_error *err)
{
	if (!*list)
		return err_set(err, SPUR_ERR_USAGE,
			       "--switch: expected categories with commas, all, none or default, "
			       "found nothing");
	if (strlen(list) > SPB_LIST_SIZE - 2)
		return err_set(err, SPUR_ERR_USAGE,
			       "--switch: expected a list of at most %d bytes, found %zu",
			       SPB_LIST_SIZE - 2, strlen(list));
	if (strchr(list, '\n'))
		return err_set(err, SPUR_ERR_USAGE,
			       "--switch: expected a list in one line, found several");
	for (const char *p = list; *p; p += *p == ',') {
		const size_t len = strcspn(p, ",");

		if (len > NAME_MOST)
			return err_set(err, SPUR_ERR_USAGE,
				       "--switch: expected names of at most %d bytes, found "
				       "\"%.*s\"",
				       NAME_MOST, (int)len, p);
		p += len;
	}
	return SPUR_OK;
}

/*
 * Opens and locks the directory's list, so that only one switches at a time. The lock ends with the
 * descriptor, also if the process is killed.
 */
static int list_lock(const char *dir, struct spur_error *err)
{
	char path[PATH_MAX + NAME_ROOM];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, SPB_LIST_NAME);
	fd = os_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (fd < 0) {
		fail(dir, SPB_LIST_NAME, err);
		return -1;
	}
	for (int i = 0; i < TRIES; i++) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

		if (os_lock(fd, &lock) == 0)
			return fd;
		if (errno != EAGAIN && errno != EACCES)
			break;
		pause_ms(TRY_MS);
	}
	fail(dir, SPB_LIST_NAME, err);
	os_close(fd);
	return -1;
}

/* One call stores all: a process that reads meanwhile has the old list or the new one. */
static enum spur_status list_store(int fd, const char *dir, const char *list,
				   struct spur_error *err)
{
	char line[SPB_LIST_SIZE + 1];
	const int len = snprintf(line, sizeof(line), "%s\n", list);

	assert(len > 0 && len < SPB_LIST_SIZE);
	if (os_pwrite(fd, line, (size_t)len, 0) != len || os_ftruncate(fd, len) != 0)
		return fail(dir, SPB_LIST_NAME, err);
	return SPUR_OK;
}

/* --- the processes --- */

static uint32_t word_load(const uint8_t *p)
{
	return __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_ACQUIRE);
}

static void word_store(uint8_t *p, uint32_t v)
{
	__atomic_store_n((uint32_t *)(void *)p, v, __ATOMIC_SEQ_CST);
}

/* Wakes the library's own thread, which waits while the control word does not change. */
static void process_wake(const struct switch_process *p)
{
	uint32_t *const control = (uint32_t *)(void *)(p->head + SPB_CONTROL_AT);

	__atomic_fetch_add(control, SPB_CONTROL_STEP, __ATOMIC_SEQ_CST);
	os_futex_wake(control);
}

/* An older library has arguments where the list is, and would not look for one. */
static bool is_older(const uint8_t *head)
{
	return !word_load(head + SPB_LIST_NUMBER_AT) && head[SPB_LIST_AT];
}

/*
 * SPEC spur/list: stores the list in the header. The number is odd meanwhile; where it was odd
 * before, who wrote it was killed.
 */
static void process_tell(struct switch_process *p, const char *list)
{
	const uint32_t odd = word_load(p->head + SPB_LIST_NUMBER_AT) | 1;

	if (is_older(p->head))
		return;
	p->number = odd + 1 ? odd + 1 : 2;
	word_store(p->head + SPB_LIST_NUMBER_AT, odd);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memset(p->head + SPB_LIST_AT, 0, SPB_LIST_SIZE);
	memcpy(p->head + SPB_LIST_AT, list, strlen(list));
	word_store(p->head + SPB_LIST_NUMBER_AT, p->number);
	process_wake(p);
}

/* Maps the header of a file. Returns SPUR_END if no process records into it. */
static enum spur_status process_open(struct switch_process *p, struct switch_result *r,
				     struct spur_error *err)
{
	char program[PATH_MAX];
	struct stat st;
	void *head;

	p->fd = os_open(p->path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0);
	if (p->fd < 0)
		return err_set(err, SPUR_ERR_IO, "%s: %s", p->path, strerror(errno));
	if (os_fstat(p->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < SPB_HEADER)
		return SPUR_END;
	head = os_mmap(NULL, SPB_HEADER, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	if (head == MAP_FAILED)
		return err_set(err, SPUR_ERR_IO, "%s: %s", p->path, strerror(errno));
	p->head = head;
	p->pid = (pid_t)word_load(p->head + SPB_PID_AT);
	if (!running_has(p->pid, p->path, program, sizeof(program)))
		return SPUR_END;
	p->program = arena_strdup(&r->arena, program, strlen(program));
	return p->program ? SPUR_OK : err_nomem(err);
}

static void process_close(struct switch_process *p)
{
	if (p->head)
		os_munmap(p->head, SPB_HEADER);
	if (p->fd >= 0)
		os_close(p->fd);
	p->head = NULL;
	p->fd = -1;
}

/* Tells the processes that record into the directory. */
static enum spur_status processes_tell(const char *dir, const struct spur_format *f,
				       const char *list, struct switch_result *r,
				       struct spur_error *err)
{
	enum spur_status st;
	const char *const *paths;
	size_t n = 0;

	st = f->members(dir, &r->arena, &paths, &n, err);
	if (st != SPUR_OK)
		return st;
	r->items = arena_alloc(&r->arena, (n + 1) * sizeof(*r->items));
	if (!r->items)
		return err_nomem(err);
	for (size_t i = 0; i < n && st == SPUR_OK; i++) {
		struct switch_process p = { .path = paths[i], .fd = -1 };

		st = process_open(&p, r, err);
		if (st == SPUR_OK) {
			process_tell(&p, list);
			r->items[r->count++] = p;
		} else {
			process_close(&p);
			st = st == SPUR_END ? SPUR_OK : st;
		}
	}
	return st;
}

/* Looks whether a process has answered. Returns false if it is still to be waited for. */
static bool process_look(struct switch_process *p, bool thorough)
{
	const uint64_t *const end = (const uint64_t *)(const void *)(p->head + SPB_END_AT);
	char program[PATH_MAX];

	if (p->answered || p->ended)
		return true;
	p->answered =
		p->number && (int32_t)(word_load(p->head + SPB_LIST_TAKEN_AT) - p->number) >= 0;
	if (!p->answered)
		p->ended = __atomic_load_n(end, __ATOMIC_ACQUIRE) ||
			   (thorough && !running_has(p->pid, p->path, program, sizeof(program)));
	return p->answered || p->ended;
}

/*
 * One that did not answer and has no thread that listens looks for a list with its next event: each
 * of its threads has looked last before this waited, which is too long ago. What is off has no next
 * event.
 */
static bool is_following(const struct switch_process *p)
{
	return !p->answered && !p->ended && p->number && !word_load(p->head + SPB_LISTENING_AT);
}

/* Waits for answers. Each is woken again now and then, as its thread may have started meanwhile. */
static void answers_wait(struct switch_result *r, int ms)
{
	for (int step = 0; step * LOOK_MS <= ms; step++) {
		const bool thorough = step % WAKE_STEPS == WAKE_STEPS - 1;
		size_t left = 0;

		for (size_t i = 0; i < r->count; i++)
			if (!process_look(&r->items[i], thorough)) {
				left++;
				if (thorough)
					process_wake(&r->items[i]);
			}
		if (!left)
			break;
		pause_ms(LOOK_MS);
	}
	for (size_t i = 0; i < r->count; i++) {
		struct switch_process *const p = &r->items[i];

		p->listens = word_load(p->head + SPB_LISTENING_AT) & SPB_LISTENS;
		p->follows = is_following(p);
	}
}

/*
 * Counts processes. One that has the library twice, in itself and by the recorder, has two files,
 * which stand side by side.
 */
static void processes_count(struct switch_result *r)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct switch_process *const p = &r->items[i];
		const bool again = i && p[-1].pid == p->pid;

		r->answered += p->answered && !(again && p[-1].answered);
		r->follow += p->follows && !(again && p[-1].follows);
		r->ended += p->ended && !(again && p[-1].ended);
		r->silent += !p->answered && !p->follows && !p->ended;
	}
}

/* --- all of it --- */

/* Returns true if the recorder of the directory is there, as its file `session` says. */
static bool recorder_lives(const char *dir)
{
	static const char pid_word[] = ", pid ";
	char path[PATH_MAX + NAME_ROOM], *text = mem_alloc(SESSION_MOST + 1);
	const char *p = NULL;
	bool lives = false;
	ssize_t got;

	snprintf(path, sizeof(path), "%s/session", dir);
	got = text ? file_head(path, FILE_REGULAR, text, SESSION_MOST) : -1;
	if (got > 0) {
		text[got] = '\0';
		p = strstr(text, "\nrecorder: ");
		p = p ? strstr(p, pid_word) : NULL;
	}
	if (p && !strstr(text, "\nend: ")) {
		const long pid = strtol(p + sizeof(pid_word) - 1, NULL, 10);

		lives = pid > 0 && (os_kill((pid_t)pid, 0) == 0 || errno == EPERM);
	}
	mem_free(text);
	return lives;
}

/* The format of the directory, which may still be without files while its recorder is there. */
static const struct spur_format *format_of(const char *dir, bool lives, struct spur_error *err)
{
	struct probe p = { .path = dir, .is_dir = true, .head = (const uint8_t *)"" };
	const struct spur_format *f;

	f = format_probe(&p, lives ? NULL : err);
	if (!f && lives)
		f = format_find("spur");
	if (f && (!f->snapshot || !f->members)) {
		err_set(err, SPUR_ERR_USAGE, "%s: expected a recording of Spur, found format %s",
			dir, f->name);
		f = NULL;
	}
	return f;
}

/* Returns true if a process records into the directory. */
static bool is_going_on(const char *dir, const struct spur_format *f, struct switch_result *r)
{
	const char *const *paths;
	char program[PATH_MAX];
	uint8_t head[SPB_HEADER];
	size_t n = 0;

	if (f->members(dir, &r->arena, &paths, &n, NULL) != SPUR_OK)
		return false;
	for (size_t i = 0; i < n; i++)
		if (file_head(paths[i], FILE_REGULAR, head, sizeof(head)) == SPB_HEADER &&
		    running_has((pid_t)load32(head + SPB_PID_AT, false), paths[i], program,
				sizeof(program)))
			return true;
	return false;
}

enum spur_status switch_categories(const char *dir, const char *list, int ms,
				   struct switch_result *r, struct spur_error *err)
{
	const struct spur_format *f;
	char real[PATH_MAX];
	enum spur_status st;
	struct stat about;
	bool lives;
	int fd;

	*r = (struct switch_result){ 0 };
	arena_init(&r->arena);
	if (switch_check(list, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!os_realpath(dir, real) || os_stat(real, &about) != 0)
		return err_set(err, SPUR_ERR_IO, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(about.st_mode))
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected the directory of a recording, found a file", dir);
	lives = recorder_lives(real);
	f = format_of(real, lives, err);
	if (!f)
		return SPUR_FAIL;
	if (!lives && !is_going_on(real, f, r))
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected a recording that is going on, found one that no "
			       "process records into",
			       dir);
	fd = list_lock(real, err);
	if (fd < 0)
		return SPUR_FAIL;
	st = list_store(fd, real, list, err);
	if (st == SPUR_OK)
		st = processes_tell(real, f, list, r, err);
	os_close(fd);
	answers_wait(r, ms);
	processes_count(r);
	r->later = lives && !r->count;
	return st;
}

void switch_free(struct switch_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		process_close(&r->items[i]);
	arena_free(&r->arena);
}
