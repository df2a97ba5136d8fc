/* The directory of a recording and its socket. See recorder.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/bits.h"
#include "base/os.h"
#include "base/process.h"
#include "format/spur/wire.h"
#include "recorder/recorder.h"

enum {
	TRIES = 10000,
	DIR_MODE = 0700,
	SOCKET_MODE = 0600,
	BACKLOG = 1024,
	NOTES_MOST = 16,
	NOTE_BYTES = 4096,
};

static const char ending[] = ".spur", note_ending[] = ".note";

/* --- the directory --- */

static enum spur_status path_error(const char *path, struct spur_error *err)
{
	return err_set(err, SPUR_ERR_IO, "%s: %s", path, strerror(errno));
}

static bool ends_with(const char *name, const char *with)
{
	const size_t len = strlen(name), n = strlen(with);

	return len > n && strcmp(name + len - n, with) == 0;
}

/* True if a name begins as those that processes choose: PID-STARTTIME. */
static bool is_numbered(const char *name)
{
	const char *const digits = "0123456789";
	const size_t pid = strspn(name, digits);

	return pid && name[pid] == '-' && strspn(name + pid + 1, digits);
}

/*
 * Returns true if the file begins with that text; `unwritten`: or with a zero, or is empty, as that
 * of a process that was killed before it had a header. What is no regular file does not.
 */
static bool begins_with(int dir, const char *name, const char *with, bool unwritten)
{
	const int fd = os_openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0);
	const size_t len = strlen(with);
	char buf[16] = { 0 };
	struct stat st;
	ssize_t got;

	if (fd < 0)
		return false;
	got = os_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? os_read(fd, buf, len) : -1;
	os_close(fd);
	return (unwritten && (got == 0 || (got > 0 && !*buf))) ||
	       (got == (ssize_t)len && memcmp(buf, with, len) == 0);
}

enum part { PART_NONE, PART_LOOSE, PART_SURE };

/* Whether a file is one of a recording: by its name, and its first bytes if it is no plain text. */
static enum part part_of(int dir, const char *name)
{
	const bool numbered = is_numbered(name);

	if (strcmp(name, "session") == 0)
		return begins_with(dir, name, "spur-session", true) ? PART_SURE : PART_NONE;
	if (ends_with(name, ".spb"))
		return begins_with(dir, name, "SPURSPB1", numbered) ? PART_SURE : PART_NONE;
	return strcmp(name, SPB_LIST_NAME) == 0 || strcmp(name, SESSION_COPY) == 0 ||
			       (numbered && ends_with(name, note_ending))
		       ? PART_LOOSE
		       : PART_NONE;
}

/* Stores a name of the directory that is no part of a recording; "": there is no such name. */
static void stranger(DIR *dir, char name[NAME_MAX + 1])
{
	const struct dirent *e;
	bool sure = false;

	*name = '\0';
	while ((e = os_readdir(dir))) {
		enum part part;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		part = part_of(dirfd(dir), e->d_name);
		sure |= part == PART_SURE;
		if (part != PART_SURE)
			snprintf(name, NAME_MAX + 1, "%s", e->d_name);
		if (part == PART_NONE)
			return;
	}
	if (sure)
		*name = '\0';
}

/* Returns the process that still records into a file; 0: none does. */
static pid_t writer_of(int dir, const char *name)
{
	const int fd = os_openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0);
	uint8_t head[SPB_BOOT_AT + SPB_BOOT_SIZE];
	ssize_t got;
	pid_t pid;

	if (fd < 0)
		return 0;
	got = os_read(fd, head, sizeof(head));
	os_close(fd);
	if (got != (ssize_t)sizeof(head) || load64(head, false) != SPB_MAGIC ||
	    load64(head + SPB_END_AT, false))
		return 0;
	pid = (pid_t)load32(head + SPB_PID_AT, false);
	return process_boot_is_this(head + SPB_BOOT_AT) &&
			       process_runs((uint32_t)pid, load64(head + SPB_START_TIME_AT, false))
		       ? pid
		       : 0;
}

/* The same of all files of a directory. */
static pid_t writer(DIR *dir)
{
	const struct dirent *e;
	pid_t pid = 0;

	rewinddir(dir);
	while (!pid && (e = os_readdir(dir)))
		if (ends_with(e->d_name, ".spb"))
			pid = writer_of(dirfd(dir), e->d_name);
	return pid;
}

/*
 * Empties the directory of an earlier recording. Returns SPUR_FAIL, with the error set and nothing
 * removed, if it has something else or is still written.
 */
static enum spur_status empty(const char *path, bool force, struct spur_error *err)
{
	DIR *const dir = os_opendir(path);
	enum spur_status st = SPUR_OK;
	const struct dirent *e;
	char other[NAME_MAX + 1];
	pid_t pid;

	if (!dir)
		return path_error(path, err);
	stranger(dir, other);
	pid = writer(dir);
	rewinddir(dir);
	while (st == SPUR_OK && (e = os_readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (!force)
			st = err_set(err, SPUR_ERR_USAGE,
				     "%s: directory exists; use --force to replace it", path);
		else if (*other)
			st = err_set(err, SPUR_ERR_USAGE,
				     "%s: expected a recording to replace, found \"%s\" in it",
				     path, other);
		else if (pid)
			st = err_set(err, SPUR_ERR_USAGE,
				     "%s: expected a recording that has ended to replace, found "
				     "process %d still recording",
				     path, (int)pid);
		else if (os_unlinkat(dirfd(dir), e->d_name, 0) != 0)
			st = path_error(path, err);
	}
	os_closedir(dir);
	return st;
}

/* PROGRAM.spur, PROGRAM-2.spur, ... in the working directory: the first one that is new. */
static enum spur_status make_new(struct session *s, const char *program, struct spur_error *err)
{
	const char *const slash = strrchr(program, '/');
	const char *const name = slash ? slash + 1 : program;

	for (unsigned i = 1; i < TRIES; i++) {
		s->path = i == 1 ? arena_printf(&s->arena, "%s%s", name, ending)
				 : arena_printf(&s->arena, "%s-%u%s", name, i, ending);
		if (!s->path)
			return err_nomem(err);
		s->made = os_mkdir(s->path, DIR_MODE) == 0;
		if (s->made)
			return SPUR_OK;
		if (errno != EEXIST)
			break;
	}
	return path_error(s->path, err);
}

enum spur_status session_make_dir(struct session *s, const char *output, bool force,
				  const char *program, struct spur_error *err)
{
	char real[PATH_MAX];

	if (!output) {
		if (make_new(s, program, err) == SPUR_FAIL)
			return SPUR_FAIL;
	} else {
		s->path = arena_strdup(&s->arena, output, strlen(output));
		if (!s->path)
			return err_nomem(err);
		if (os_mkdir(s->path, DIR_MODE) != 0 &&
		    (errno != EEXIST ? path_error(s->path, err) : empty(s->path, force, err)) ==
			    SPUR_FAIL)
			return SPUR_FAIL;
		s->made = true;
	}
	if (!os_realpath(s->path, real))
		return path_error(s->path, err);
	s->path = arena_strdup(&s->arena, real, strlen(real));
	return s->path ? SPUR_OK : err_nomem(err);
}

/* --- the socket --- */

/*
 * The address of a socket has room for 108 bytes only, so it is not in the recording's directory.
 * Only this user can enter the directory it is in.
 */
static enum spur_status make_socket_dir(struct session *s, struct spur_error *err)
{
	const char *const dirs[] = { getenv("XDG_RUNTIME_DIR"), "/tmp" };
	uint64_t random;

	if (os_getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return path_error("getrandom", err);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (!dirs[i] || dirs[i][0] != '/' || strlen(dirs[i]) > 64)
			continue;
		s->socket_dir = arena_printf(&s->arena, "%s/spur-%016llx", dirs[i],
					     (unsigned long long)random);
		s->socket =
			s->socket_dir ? arena_printf(&s->arena, "%s/socket", s->socket_dir) : NULL;
		if (!s->socket)
			return err_nomem(err);
		if (os_mkdir(s->socket_dir, DIR_MODE) == 0)
			return SPUR_OK;
	}
	path_error(s->socket_dir ? s->socket_dir : "/tmp", err);
	s->socket_dir = NULL;
	return SPUR_FAIL;
}

static enum spur_status make_socket(struct session *s, struct spur_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t mask;
	int bound;

	if (make_socket_dir(s, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (strlen(s->socket) >= sizeof(address.sun_path))
		return err_set(err, SPUR_ERR_LIMIT, "%s: expected a shorter path of a socket",
			       s->socket);
	strcpy(address.sun_path, s->socket);
	s->fd = os_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return path_error(s->socket, err);
	mask = os_umask(0777 & ~SOCKET_MODE);
	bound = os_bind(s->fd, (const struct sockaddr *)&address, sizeof(address));
	os_umask(mask);
	return bound == 0 && os_listen(s->fd, BACKLOG) == 0 ? SPUR_OK : path_error(s->socket, err);
}

enum spur_status session_open(struct session *s, const struct recorder_options *o,
			      const struct program *p, struct spur_error *err)
{
	*s = (struct session){ .fd = -1 };
	arena_init(&s->arena);
	return session_make_dir(s, o->output, o->force, p->path, err) == SPUR_FAIL
		       ? SPUR_FAIL
		       : make_socket(s, err);
}

void session_close(struct session *s, bool keep)
{
	if (s->fd >= 0) {
		os_close(s->fd);
		os_unlink(s->socket);
	}
	if (s->socket_dir)
		os_unlinkat(AT_FDCWD, s->socket_dir, AT_REMOVEDIR);
	if (!keep && s->made)
		recorder_remove(s->path);
	arena_free(&s->arena);
}

void recorder_remove(const char *path)
{
	if (empty(path, true, NULL) == SPUR_OK)
		os_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

/* --- notes that recorded programs leave --- */

struct notes {
	const char *texts[NOTES_MOST]; /* that were told */
	unsigned n;
	struct arena arena;
};

static void note_tell(struct notes *t, const char *text, const struct recorder_options *o)
{
	for (unsigned i = 0; i < t->n; i++)
		if (strcmp(t->texts[i], text) == 0)
			return;
	if (t->n == NOTES_MOST || !(t->texts[t->n] = arena_strdup(&t->arena, text, strlen(text))))
		return;
	t->n++;
	if (!o->quiet)
		o->say("note: %s", text);
}

/* A note that is a link. Returns its length with an end of line, or -1. */
static ssize_t note_linked(int dir, const char *name, char text[NOTE_BYTES])
{
	const ssize_t n = os_readlinkat(dir, name, text, NOTE_BYTES - 1);

	if (n < 0)
		return -1;
	text[n] = '\n';
	return n + 1;
}

/* SPEC spur/note */
void session_notes(const struct session *s, const struct recorder_options *o)
{
	DIR *const dir = os_opendir(s->path);
	char text[NOTE_BYTES + 1], *line, *end;
	struct notes told = { .n = 0 };
	const struct dirent *e;
	ssize_t n;

	arena_init(&told.arena);
	while (dir && (e = os_readdir(dir))) {
		int fd;

		if (!ends_with(e->d_name, note_ending))
			continue;
		fd = os_openat(dirfd(dir), e->d_name,
			       O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
		n = fd < 0 ? note_linked(dirfd(dir), e->d_name, text)
			   : os_read(fd, text, NOTE_BYTES);
		text[n < 0 ? 0 : n] = '\0';
		for (line = text; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			note_tell(&told, line, o);
		}
		if (fd >= 0)
			os_close(fd);
		os_unlinkat(dirfd(dir), e->d_name, 0);
	}
	if (dir)
		os_closedir(dir);
	arena_free(&told.arena);
}

/* --- what the file says: the program, the clocks, the options --- */

static void fact_line(struct out *o, const char *key, const char *value)
{
	out_printf(o, "%s: ", key);
	out_json(o, value, strlen(value));
	out_char(o, '\n');
}

static void moment_line(struct out *o, const char *key)
{
	struct timespec real = { 0 }, mono = { 0 };

	os_clock_gettime(CLOCK_REALTIME, &real);
	os_clock_gettime(CLOCK_MONOTONIC, &mono);
	out_printf(o, "%s: %lld.%09ld real, %lld.%09ld monotonic\n", key, (long long)real.tv_sec,
		   real.tv_nsec, (long long)mono.tv_sec, mono.tv_nsec);
}

static const char *const rule_names[RULE_WHATS] = {
	[RULE_ONLY] = "only",	    [RULE_NOT] = "not",
	[RULE_MODULE] = "module",   [RULE_FILE] = "file",
	[RULE_LIBRARY] = "library", [RULE_ON] = "trace-on",
	[RULE_OFF] = "trace-off",   [RULE_ARGUMENTS] = "argument",
	[RULE_RESULTS] = "retval",  [RULE_KEEP] = "on",
};

static void describe(struct out *out, const struct recorder_options *o, const struct program *p)
{
	static const char *const modes[] = { "stream", "ring", "oneshot" };
	char cwd[PATH_MAX];

	out_printf(out, "spur-session: 1\nrecorder: spur %s, pid %d\n", spur_version(),
		   (int)os_getpid());
	fact_line(out, "program", p->path);
	out_str(out, "arguments: [");
	for (size_t i = 0; o->argv[i]; i++) {
		out_str(out, i ? ", " : "");
		out_json(out, o->argv[i], strlen(o->argv[i]));
	}
	out_str(out, "]\n");
	if (os_realpath(".", cwd))
		fact_line(out, "directory", cwd);
	out_printf(out, "mode: %s\n", modes[o->settings.mode % 3]);
	if (o->settings.mode)
		out_printf(out, "buffer: %llu\n", (unsigned long long)o->settings.ring);
	if (o->settings.keeps)
		out_printf(out, "snapshots: %u, %llu ns after each\n", o->settings.keeps,
			   (unsigned long long)o->settings.keep_after);
	if (o->settings.depth)
		out_printf(out, "depth: %u\n", o->settings.depth);
	if (o->settings.least)
		out_printf(out, "min-duration: %llu\n", (unsigned long long)o->settings.least);
	out_printf(out, "library-calls: %s\n", o->rules->library_calls ? "yes" : "no");
	for (size_t i = 0; i < o->rules->count; i++)
		fact_line(out, rule_names[o->rules->list[i].what], o->rules->list[i].text);
	if (o->categories)
		fact_line(out, "categories", o->categories);
}

enum spur_status session_describe(const struct session *s, const struct recorder_options *o,
				  const struct program *p, const struct recorder_result *r,
				  struct spur_error *err)
{
	char path[PATH_MAX];
	enum spur_status st;
	struct out out;
	int fd;

	snprintf(path, sizeof(path), "%s/session", s->path);
	fd = os_open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (r ? O_APPEND : O_TRUNC), 0600);
	if (fd < 0)
		return path_error(path, err);
	out_to_fd(&out, fd);
	if (r) {
		moment_line(&out, "end");
		if (r->signal)
			out_printf(&out, "signal: %d (%s)\n", r->signal, strsignal(r->signal));
		out_printf(&out, "exit: %d\nstill-running: %u\npatched: %llu\nrefused: %llu\n",
			   r->code, r->left, (unsigned long long)r->patched,
			   (unsigned long long)r->refused);
	} else {
		describe(&out, o, p);
		moment_line(&out, "begin");
	}
	st = out_flush(&out) ? SPUR_OK : path_error(path, err);
	out_free(&out);
	os_close(fd);
	return st;
}
