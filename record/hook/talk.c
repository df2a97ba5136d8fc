/*
 * To `spur record`, as wire.h says. A connection is made when it is needed and closed then, so that
 * a program may close all its descriptors. What the user should know is told over it, or by a file
 * in the recording's directory if there is no connection.
 */
#include "hook.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

enum {
	PATIENCE = 20,
	STRING_MOST = 512,
	REASON_MOST = 100,
	NAME_MOST = 64,
	NOTE_MODE = 0600,
	LINKS_MOST = 9,
};

static const char note_ending[] = ".note";

const char *hook_socket;
static int connection = -1;

static bool send_message(uint32_t type, const void *body, size_t size, const char *text,
			 size_t text_size)
{
	struct record_message head = { .type = type, .size = (uint32_t)(size + text_size) };
	struct iovec parts[] = { { &head, sizeof(head) },
				 { (void *)(uintptr_t)body, size },
				 { (void *)(uintptr_t)text, text_size } };
	const struct msghdr m = { .msg_iov = parts, .msg_iovlen = 3 };

	return connection >= 0 && sendmsg(connection, &m, MSG_NOSIGNAL) >= 0;
}

/* Returns the size of the body, or -1. `fd`: a descriptor that came along, or -1. */
static ssize_t answer(uint32_t type, void *body, size_t size, int *fd)
{
	struct record_message head;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec parts[] = { { &head, sizeof(head) }, { body, size } };
	struct msghdr m = { .msg_iov = parts,
			    .msg_iovlen = 2,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	const struct cmsghdr *c;
	ssize_t got;

	*fd = -1;
	do
		got = recvmsg(connection, &m, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < (ssize_t)sizeof(head))
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len >= CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return head.type == type ? got - (ssize_t)sizeof(head) : -1;
}

void hook_hang_up(void)
{
	if (connection >= 0)
		close(connection);
	connection = -1;
}

/* Field 22 of the process's line: when it was started, in clock ticks since boot. */
static uint64_t start_time(void)
{
	char line[1024], *p;

	core_file_read("/proc/self/stat", line, sizeof(line));
	p = strrchr(line, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

/* Where the recorder is; NULL: nowhere. */
static const char *recorder_path(void)
{
	const char *const path = hook_socket ? hook_socket : getenv("SPUR_RECORD");

	return path && *path ? path : NULL;
}

/* Why the system refuses something, an errno. Returns the end. */
static char *reason_put(char *p, int why)
{
	struct rlimit limit;

	p = stpncpy(p, strerror(why), REASON_MOST);
	if (why != EMFILE || getrlimit(RLIMIT_NOFILE, &limit))
		return p;
	p = core_decimal(stpcpy(p, " with a limit of "), limit.rlim_cur);
	return stpcpy(p, " descriptors");
}

/* Tells what the system refuses, by errno, and what is missing then. */
static void refused(const char *call, const char *missing)
{
	static const char *told;
	const int why = errno;
	char text[STRING_MOST / 2], *p = stpcpy(text, "the system refuses ");

	if (told == call)
		return;
	told = call;
	p = reason_put(stpcpy(stpcpy(p, call), " ("), why);
	strcpy(p, "): ");
	hook_hang_up();
	hook_say(text, missing);
}

static const char no_plan[] = "no module gets a plan from then on: its functions are recorded only "
			      "if they call hooks, and without filters; its library calls are not";

static bool call_up(void)
{
	const char *const path = recorder_path();
	const struct timeval patience = { PATIENCE, 0 };
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (!path || strlen(path) >= sizeof(to.sun_path))
		return false;
	strcpy(to.sun_path, path);
	connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (connection < 0) {
		refused("socket()", no_plan);
		return false;
	}
	setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(connection, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return true;
	/* Else the recorder has ended. */
	if (errno != ENOENT && errno != ECONNREFUSED)
		refused("connect()", no_plan);
	hook_hang_up();
	return false;
}

bool hook_hello(struct record_settings *s)
{
	const struct record_hello h = { RECORD_VERSION, (uint32_t)getpid(), start_time() };
	int fd;

	if (connection >= 0)
		return true;
	if (!call_up())
		return false;
	errno = 0;
	if (send_message(RECORD_HELLO, &h, sizeof(h), NULL, 0) &&
	    answer(RECORD_HELLO, s, sizeof(*s), &fd) == (ssize_t)sizeof(*s) &&
	    s->version == RECORD_VERSION)
		return true;
	if (errno == EPERM || errno == EACCES || errno == ENOSYS)
		refused("messages over a socket", no_plan);
	hook_hang_up();
	return false;
}

/*
 * A process that may open no file makes a symbolic link, which says the text as what it leads to.
 * `end`: of the path without the ending.
 */
static void note_link(const char *path, char *end, const char *text)
{
	for (unsigned i = 1; i <= LINKS_MOST; i++) {
		strcpy(core_decimal(stpcpy(end, "-"), i), note_ending);
		if (symlink(text, path) == 0 || errno != EEXIST)
			return;
	}
}

/* SPEC spur/note: a file in the recording's directory, which the recorder reads at its end. */
static void note_write(const char *text, size_t len)
{
	char path[CORE_FILE_PATH], *p = stpcpy(path, core_directory);
	int fd;

	if (!recorder_path() || !*core_directory)
		return;
	*p++ = '/';
	p = core_decimal(p, (uint64_t)getpid());
	*p++ = '-';
	p = core_decimal(p, start_time());
	strcpy(p, note_ending);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, NOTE_MODE);
	if (fd < 0) {
		note_link(path, p, text);
		return;
	}
	(void)!write(fd, text, len);
	(void)!write(fd, "\n", 1);
	close(fd);
}

void hook_say(const char *a, const char *b)
{
	char text[STRING_MOST];
	size_t n = strnlen(a, sizeof(text) / 2), m = strnlen(b, sizeof(text) / 2 - 1);

	memcpy(text, a, n);
	memcpy(text + n, b, m);
	text[n + m] = '\0';
	if (!send_message(RECORD_SAY, text, n + m, NULL, 0))
		note_write(text, n + m);
}

void hook_unrecorded(int why)
{
	char path[CORE_PATH], text[STRING_MOST / 2];
	const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *name;
	char *p;

	path[n > 0 ? n : 0] = '\0';
	name = strrchr(path, '/');
	name = name ? name + 1 : "the program";
	*stpncpy(text, name, NAME_MOST) = '\0';
	p = stpcpy(text + strlen(text), " forked a process that is not recorded: ");
	*reason_put(p, why) = '\0';
	hook_say(text, "");
}

void hook_done(void)
{
	const struct record_done d = { hook_counts.patched, hook_counts.refused };

	send_message(RECORD_DONE, &d, sizeof(d), NULL, 0);
}

/* --- plans --- */

/* True if n items of a size fit at that offset. */
static bool fits(const struct plan_head *p, uint32_t off, uint32_t n, size_t size)
{
	return off % 8 == 0 && off <= p->size && n <= (p->size - off) / size;
}

static const void *part(const struct plan_head *p, uint32_t off)
{
	return (const char *)p + off;
}

static bool functions_good(const struct plan_head *p)
{
	const struct plan_function *const f = part(p, p->functions);
	const struct plan_arg *const a = part(p, p->args);
	const struct plan_condition *const c = part(p, p->conditions);

	for (uint32_t i = 0; i < p->nfunctions; i++)
		if ((f[i].name && f[i].name >= p->ntexts) || f[i].conditions > p->nconditions ||
		    f[i].nconditions > p->nconditions - f[i].conditions ||
		    f[i].nargs > HOOK_ARGS_MOST ||
		    f[i].nresults > HOOK_ARGS_MOST || f[i].args > p->nargs ||
		    (uint32_t)f[i].nargs + f[i].nresults > p->nargs - f[i].args)
			return false;
	for (uint32_t i = 0; i < p->nargs; i++)
		if (a[i].name >= p->ntexts)
			return false;
	for (uint32_t i = 0; i < p->nconditions; i++)
		if (c[i].text >= p->ntexts)
			return false;
	return true;
}

static bool plan_good(const struct plan_head *p, uint64_t size)
{
	const struct plan_point *q;

	if (size < sizeof(*p) || p->magic != PLAN_MAGIC || p->size != size ||
	    size > UINT32_MAX ||
	    !fits(p, p->functions, p->nfunctions, sizeof(struct plan_function)) ||
	    !fits(p, p->points, p->npoints, sizeof(struct plan_point)) ||
	    !fits(p, p->args, p->nargs, sizeof(struct plan_arg)) ||
	    !fits(p, p->conditions, p->nconditions, sizeof(struct plan_condition)) ||
	    p->texts > p->size || p->ntexts > p->size - p->texts)
		return false;
	if (p->ntexts && ((const char *)part(p, p->texts))[p->ntexts - 1])
		return false;
	q = part(p, p->points);
	for (uint32_t i = 0; i < p->npoints; i++)
		if (q[i].function >= p->nfunctions)
			return false;
	return functions_good(p);
}

const struct plan_head *hook_plan(const struct hook_module *m)
{
	struct record_module r = { .first = m->first,
				   .end = m->end,
				   .shift = m->shift,
				   .build_id_size = m->build_id_size,
				   .is_main = m->main };
	char nothing[8];
	const struct plan_head *p = MAP_FAILED;
	struct stat st;
	int fd;

	memcpy(r.build_id, m->build_id, sizeof(r.build_id));
	if (!send_message(RECORD_MODULE, &r, sizeof(r), m->path, strlen(m->path) + 1) ||
	    answer(RECORD_MODULE, nothing, sizeof(nothing), &fd) < 0) {
		hook_hang_up();
		return NULL;
	}
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) != 0) {
		refused("fstat()", no_plan);
		close(fd);
		return NULL;
	}
	if (st.st_size >= (off_t)sizeof(*p))
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return NULL;
	if (plan_good(p, (uint64_t)st.st_size))
		return p;
	munmap((void *)(uintptr_t)p, (size_t)st.st_size);
	hook_say("the plan is damaged: ", m->path);
	return NULL;
}

void hook_plan_free(const struct plan_head *p)
{
	munmap((void *)(uintptr_t)p, p->size);
}

void hook_refused(void)
{
	if (!core_refused)
		return;
	errno = (int)core_refused;
	core_refused = 0;
	refused("fstat()", "events are missing that did not fit into the memory which the program "
			   "had for them");
}
