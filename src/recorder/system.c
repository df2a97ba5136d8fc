/* See system.h. */
#include "recorder/system.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"
#include "format/format.h"
#include "format/spur/wire.h"
#include "recorder/board.h"
#include "recorder/recorder.h"
#include "recorder/running.h"

enum {
	STEP_MS = 200, /* between questions whether the session is over */
	PATIENCE_MS = 2000, /* that programs have to end their recordings */
	WAKE_MS = 20,
	NAMES = 1000,
};

struct system_session {
	const struct system_options *o;
	struct system_result *r;
	struct session s; /* the directory */
	struct board_hold board;
	struct running_list before; /* what recorded on its own when the session began */
	uint64_t begin; /* ns of CLOCK_MONOTONIC */
	bool running, stopped;
};

static uint64_t now_ns(clockid_t which)
{
	struct timespec t = { 0 };

	os_clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* --- what the file `session` says --- */

static void fact(struct out *o, const char *key, const char *value)
{
	if (!value)
		return;
	out_printf(o, "%s: ", key);
	out_json(o, value, strlen(value));
	out_char(o, '\n');
}

static enum spur_status describe(const struct system_session *s, bool end, struct spur_error *err)
{
	static const char *const modes[] = { "stream", "ring", "oneshot" };
	const uint64_t real = now_ns(CLOCK_REALTIME), mono = now_ns(CLOCK_MONOTONIC);
	char path[PATH_MAX];
	enum spur_status st;
	struct out o;
	int fd;

	snprintf(path, sizeof(path), "%s/session", s->s.path);
	fd = os_open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (end ? O_APPEND : O_TRUNC), 0600);
	if (fd < 0)
		return err_set(err, SPUR_ERR_IO, "%s: %s", path, strerror(errno));
	out_to_fd(&o, fd);
	if (!end) {
		out_printf(&o,
			   "spur-session: 1\nrecorder: spur %s, pid %d\nsystem: yes\nmode: %s\n",
			   spur_version(), (int)os_getpid(), modes[s->o->mode % 3]);
		if (s->o->size)
			out_printf(&o, "buffer: %llu\n", (unsigned long long)s->o->size);
		fact(&o, "categories", s->o->categories);
		fact(&o, "providers", s->o->providers);
	}
	out_printf(&o, "%s: ", end ? "end" : "begin");
	out_seconds(&o, (int64_t)real);
	out_str(&o, " real, ");
	out_seconds(&o, (int64_t)mono);
	out_str(&o, " monotonic\n");
	if (end)
		out_printf(&o, "recovered: %u\ncopied: %u\nstill-running: %u\n", s->r->recovered,
			   s->r->copied, s->r->late);
	st = out_flush(&o) ? SPUR_OK : err_set(err, SPUR_ERR_IO, "%s: %s", path, strerror(o.error));
	out_free(&o);
	os_close(fd);
	return st;
}

/* --- while it goes on --- */

/* Reads what a client asks. Returns false if it is not heard any longer. */
static bool client_read(struct system_session *s, int fd)
{
	uint32_t request;
	const ssize_t n = os_recv(fd, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n != sizeof(request) || request != BOARD_STOP)
		return false;
	s->stopped = true;
	return true;
}

/* Waits for requests. One client is heard at a time; one that says nothing gives way to another. */
static void wait_for_end(struct system_session *s)
{
	while (!s->stopped && !s->o->is_over()) {
		struct pollfd p[] = { { .fd = s->board.socket, .events = POLLIN },
				      { .fd = s->r->client, .events = POLLIN } };

		if (os_poll(p, 2, STEP_MS) <= 0)
			continue;
		if (p[1].revents && !client_read(s, s->r->client)) {
			os_close(s->r->client);
			s->r->client = -1;
		}
		if (p[0].revents && !s->stopped) {
			const int fd = os_accept4(s->board.socket, NULL, NULL,
						  SOCK_CLOEXEC | SOCK_NONBLOCK);

			if (fd >= 0 && s->r->client >= 0)
				os_close(s->r->client);
			if (fd >= 0)
				s->r->client = fd;
		}
	}
}

/* --- the end --- */

/* Wakes those that wait at the control word of a file: its process's helper. */
static void file_wake(const char *path)
{
	const int fd = os_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	void *p;

	if (fd < 0)
		return;
	p = os_mmap(NULL, SPB_HEADER, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		/* The kernel reads no more than the address: a file that shrinks does no harm. */
		os_futex_wake((const uint32_t *)(void *)((char *)p + SPB_CONTROL_AT));
		os_munmap(p, SPB_HEADER);
	}
	os_close(fd);
}

static const struct spur_format *format_of(const char *path)
{
	static uint8_t head[PROBE_BYTES];
	struct probe p = { .path = path, .head = head };
	const ssize_t got = file_head(path, FILE_REGULAR, head, sizeof(head));
	const struct spur_format *f;

	if (got <= 0)
		return NULL;
	p.len = (size_t)got;
	f = format_probe(&p, NULL);
	return f && f->recover && f->snapshot ? f : NULL;
}

/*
 * Completes the files of a directory whose process was killed, which `*recovered` counts. Returns
 * how many processes have not ended their recording yet; `last`: they are not waited for any
 * longer.
 */
static unsigned files_complete(const char *directory, bool last, unsigned *recovered)
{
	DIR *const dir = os_opendir(directory);
	const struct dirent *e;
	unsigned late = 0;

	while (dir && (e = os_readdir(dir))) {
		const size_t len = strlen(e->d_name);
		struct format_recovery r = { .brief = true };
		const struct spur_format *f;
		char path[PATH_MAX];

		if (len < 5 || strcmp(e->d_name + len - 4, ".spb") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, e->d_name);
		f = format_of(path);
		if (!f || f->recover(path, &r, NULL) == SPUR_FAIL)
			continue;
		/* It has become another program by exec(), which does not write the file. */
		if (r.runs && !r.complete && running_left((pid_t)r.pid, path)) {
			r = (struct format_recovery){ .force = true };
			if (f->recover(path, &r, NULL) == SPUR_FAIL)
				continue;
			r.runs = false;
		}
		*recovered += !r.runs && !r.complete;
		late += r.runs && !r.complete;
		if (r.runs && !r.complete && !last)
			file_wake(path);
	}
	if (dir)
		os_closedir(dir);
	return late;
}

/*
 * Waits until all programs have left the session of a directory, or their time is over. Returns how
 * many have not.
 */
static unsigned programs_leave(const char *dir, unsigned *recovered)
{
	const uint64_t until = now_ns(CLOCK_MONOTONIC) + (uint64_t)PATIENCE_MS * 1000000;

	while (files_complete(dir, false, recovered) && now_ns(CLOCK_MONOTONIC) < until)
		os_nanosleep(&(struct timespec){ .tv_nsec = WAKE_MS * 1000000L }, NULL);
	return files_complete(dir, true, recovered);
}

/*
 * Programs look once a second whether their session was killed. Until then they go on recording
 * into its files, which this session may be about to replace, and do not join this one.
 */
static void killed_leave(const struct board *b)
{
	char dir[BOARD_PATH_MOST];
	unsigned recovered = 0;

	memcpy(dir, b->directory, sizeof(dir));
	dir[sizeof(dir) - 1] = '\0';
	programs_leave(dir, &recovered);
}

/* As programs match their names: see record/system.c. */
static bool is_wanted(const struct system_session *s, const char *program)
{
	const char *const slash = strrchr(program, '/'), *const name = slash ? slash + 1 : program;
	char pattern[BOARD_LIST_MOST];

	if (!s->o->providers)
		return true;
	for (const char *p = s->o->providers; *p; p += *p == ',') {
		const size_t n = strcspn(p, ",");

		snprintf(pattern, sizeof(pattern), "%.*s", (int)n, p);
		if (fnmatch(pattern, name, FNM_NOESCAPE) == 0)
			return true;
		p += n;
	}
	return false;
}

/* Copies the recording that a program made on its own, from the session's begin on. */
static enum spur_status file_copy(struct system_session *s, const char *from,
				  struct spur_error *err)
{
	const struct spur_format *const f = format_of(from);
	const char *const slash = strrchr(from, '/'), *const name = slash ? slash + 1 : from;
	const char *const point = strchr(name, '.') ? strrchr(name, '.') : name + strlen(name);
	struct format_snapshot r = { .since = s->begin };
	char temp[PATH_MAX], to[PATH_MAX];
	enum spur_status st;
	int fd;

	if (!f)
		return SPUR_OK;
	snprintf(temp, sizeof(temp), "%s/" SESSION_COPY, s->s.path);
	fd = os_open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, SPUR_ERR_IO, "%s: %s", temp, strerror(errno));
	st = f->snapshot(from, fd, &r, err);
	os_close(fd);
	snprintf(to, sizeof(to), "%s/%s", s->s.path, name);
	for (int i = 2; i < NAMES && os_access(to, F_OK) == 0; i++)
		snprintf(to, sizeof(to), "%s/%.*s-%d%s", s->s.path, (int)(point - name), name, i,
			 point);
	if (st == SPUR_OK && os_rename(temp, to) != 0)
		st = err_set(err, SPUR_ERR_IO, "%s: %s", to, strerror(errno));
	if (st == SPUR_FAIL)
		os_unlink(temp);
	else
		s->r->copied++;
	return st;
}

static bool is_known(const struct running_list *l, const struct running *item)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->items[i].file, item->file) == 0)
			return true;
	return false;
}

/* Adds what programs recorded on their own that did so at the session's begin or do at its end. */
static enum spur_status others_add(struct system_session *s, struct spur_error *err)
{
	struct running_list now;
	enum spur_status st = running_find(&now, 0, false, err);

	for (size_t i = 0; i < s->before.count && st == SPUR_OK; i++)
		if (is_wanted(s, s->before.items[i].program))
			st = file_copy(s, s->before.items[i].file, err);
	for (size_t i = 0; i < now.count && st == SPUR_OK; i++)
		if (strcmp(now.items[i].dir, s->s.path) != 0 &&
		    !is_known(&s->before, &now.items[i]) && is_wanted(s, now.items[i].program))
			st = file_copy(s, now.items[i].file, err);
	running_free(&now);
	return st;
}

static enum spur_status finish(struct system_session *s, struct spur_error *err)
{
	enum spur_status st, described;

	board_release(&s->board);
	s->r->ns = (int64_t)(now_ns(CLOCK_MONOTONIC) - s->begin);
	s->r->late = programs_leave(s->s.path, &s->r->recovered);
	st = others_add(s, err);
	described = describe(s, true, st == SPUR_OK ? err : NULL);
	return st == SPUR_FAIL ? st : described;
}

/* --- all of it --- */

static enum spur_status begin(struct system_session *s, struct spur_error *err)
{
	const struct system_options *const o = s->o;
	struct board_session b = { .mode = o->mode, .size = o->size };

	if (board_open(&s->board, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (s->board.killed)
		killed_leave(s->board.head);
	if (session_make_dir(&s->s, o->output, o->force, "system", err) == SPUR_FAIL)
		return SPUR_FAIL;
	s->r->path = arena_strdup(&s->r->arena, s->s.path, strlen(s->s.path));
	if (!s->r->path)
		return err_nomem(err);
	s->begin = now_ns(CLOCK_MONOTONIC);
	b.directory = s->s.path;
	b.categories = o->categories ? o->categories : "";
	b.providers = o->providers ? o->providers : "";
	if (describe(s, false, err) == SPUR_FAIL ||
	    running_find(&s->before, 0, false, err) == SPUR_FAIL ||
	    board_call(&s->board, &b, err) == SPUR_FAIL)
		return SPUR_FAIL;
	s->running = true;
	return SPUR_OK;
}

enum spur_status system_run(const struct system_options *o, struct system_result *r,
			    struct spur_error *err)
{
	struct system_session s = { .o = o, .r = r, .s = { .fd = -1 } };
	enum spur_status st;

	*r = (struct system_result){ .client = -1 };
	arena_init(&r->arena);
	arena_init(&s.s.arena);
	arena_init(&s.before.arena);
	st = begin(&s, err);
	if (st == SPUR_OK) {
		if (!o->quiet)
			o->say("%s: recording; Ctrl-C or spur record --stop ends it", s.s.path);
		wait_for_end(&s);
		st = finish(&s, err);
	}
	board_close(&s.board);
	running_free(&s.before);
	session_close(&s.s, s.running);
	if (!s.running)
		r->path = NULL;
	return st;
}

void system_free(struct system_result *r, const char *text)
{
	if (r->client >= 0 && text)
		os_send(r->client, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	if (r->client >= 0)
		os_close(r->client);
	arena_free(&r->arena);
}
