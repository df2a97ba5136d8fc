/* Answers what the library in recorded programs asks (record/wire.h). See recorder.h. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/map64.h"
#include "base/os.h"
#include "format/spur/wire.h"
#include "recorder/plan.h"
#include "recorder/recorder.h"

static_assert((int)RECORDER_STREAM == SPB_STREAM && (int)RECORDER_RING == SPB_RING &&
		      (int)RECORDER_ONESHOT == SPB_ONESHOT,
	      "the modes have the same numbers");

enum { CLIENTS_MOST = 1 << 16, PROCESSES_MOST = 1 << 22, PLANS_MOST = 1 << 16, PATH_MOST = 4096 };

/* The plan for a module, for all processes that load it. */
struct cached {
	char *path;
	uint8_t build_id[20];
	uint32_t build_id_size;
	bool is_main;
	int fd; /* -1: there is nothing to change */
};

struct server {
	const struct recorder_options *options;
	int fd;
	int *clients; /* descriptors */
	size_t nclients, clients_cap;
	struct pollfd *polled;
	size_t polled_cap;
	struct cached *plans;
	size_t nplans, plans_cap;
	struct arena arena;
	bool full; /* no more descriptors, until a client leaves */
	pid_t *processes; /* that said HELLO, each once, whatever connections it makes */
	size_t nprocesses, processes_cap;
	struct map64 known; /* their ids and start times, hashed -> index + 1 */
	uint64_t patched, refused;
	struct kernel *kernel; /* NULL: none */
};

struct server *server_new(const struct recorder_options *o, int fd)
{
	struct server *s = mem_alloc(sizeof(*s));

	if (!s)
		return NULL;
	s->options = o;
	s->fd = fd;
	arena_init(&s->arena);
	return s;
}

void server_observe(struct server *s, struct kernel *k)
{
	s->kernel = k;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nclients; i++)
		os_close(s->clients[i]);
	for (size_t i = 0; i < s->nplans; i++)
		if (s->plans[i].fd >= 0)
			os_close(s->plans[i].fd);
	mem_free(s->clients);
	mem_free(s->polled);
	mem_free(s->processes);
	map64_free(&s->known);
	mem_free(s->plans);
	arena_free(&s->arena);
	mem_free(s);
}

void server_sum(const struct server *s, struct recorder_result *result)
{
	result->patched = s->patched;
	result->refused = s->refused;
	result->left = 0;
	for (size_t i = 0; i < s->nprocesses; i++)
		result->left += os_kill(s->processes[i], 0) == 0;
}

/* --- plans --- */

static bool same_build(const struct binary *b, const struct record_module *m)
{
	return !m->build_id_size || !b->file.id_len ||
	       (b->file.id_len >= m->build_id_size &&
		memcmp(b->file.id, m->build_id, m->build_id_size) == 0);
}

/*
 * Returns the descriptor of a new plan, or -1 if there is nothing to change. A module whose code
 * calls hooks gets a plan even if no function was chosen, since without one all its calls are
 * recorded, as those of a module whose functions were not found.
 */
static int make_plan(struct server *s, const struct record_module *m, const char *path)
{
	const struct recorder_options *const o = s->options;
	struct spur_error err = { 0 };
	struct plan_builder p = { 0 };
	struct binary b;
	int fd = -1;

	if (binary_open(&b, path, o->symbol_dirs, &err) == SPUR_OK && same_build(&b, m)) {
		err.code = 0;
		if (plan_make(&p, &b, o->rules, m->is_main, o->symbol_dirs, &err) == SPUR_OK &&
		    (p.npoints || (b.nhooks && b.nfunctions)))
			fd = plan_write(&p, &err);
		/* A module that is no file, as the vdso, is no error; a plan that fails is. */
		if (err.code && !o->quiet)
			o->say("warning: %s: it is not recorded: %s", path, err.message);
		plan_free(&p);
	}
	binary_close(&b);
	return fd;
}

static int find_plan(struct server *s, const struct record_module *m, const char *path)
{
	struct cached *c;

	for (size_t i = 0; i < s->nplans; i++) {
		c = &s->plans[i];
		if (c->is_main == !!m->is_main && c->build_id_size == m->build_id_size &&
		    memcmp(c->build_id, m->build_id, m->build_id_size) == 0 &&
		    (m->build_id_size || strcmp(c->path, path) == 0))
			return c->fd;
	}
	if (!mem_grow((void **)&s->plans, &s->plans_cap, s->nplans + 1, sizeof(*s->plans),
		      PLANS_MOST))
		return -1;
	c = &s->plans[s->nplans];
	*c = (struct cached){ .path = arena_strdup(&s->arena, path, strlen(path)),
			      .build_id_size = m->build_id_size,
			      .is_main = m->is_main };
	if (!c->path)
		return -1;
	memcpy(c->build_id, m->build_id, sizeof(c->build_id));
	c->fd = make_plan(s, m, path);
	s->nplans++;
	return c->fd;
}

void server_prepare(struct server *s, const char *path, bool is_main)
{
	struct record_module m = { .is_main = is_main };
	struct elf_file f;

	if (elf_file_open(&f, path, NULL) == SPUR_FAIL)
		return;
	if (f.id_len && f.id_len <= sizeof(m.build_id)) {
		memcpy(m.build_id, f.id, f.id_len);
		m.build_id_size = (uint32_t)f.id_len;
		find_plan(s, &m, path);
	}
	elf_file_close(&f);
}

/* --- messages --- */

/* Sends an answer, with a descriptor if `fd` is not -1. Returns false if the program has gone. */
static bool answer(int to, uint32_t type, const void *body, uint32_t size, int fd)
{
	struct record_message head = { .type = type, .size = size };
	struct iovec parts[] = { { &head, sizeof(head) }, { (void *)(uintptr_t)body, size } };
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = size ? 2 : 1 };

	if (fd >= 0) {
		struct cmsghdr *c;

		m.msg_control = control.room;
		m.msg_controllen = sizeof(control.room);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return os_sendmsg(to, &m, MSG_NOSIGNAL) >= 0;
}

/* Returns false if out of memory. */
static bool count_process(struct server *s, const struct record_hello *h)
{
	struct map64_slot *const slot = map64_put(&s->known, hash_bytes(h, sizeof(*h), 0) | 1);

	if (!slot || !mem_grow((void **)&s->processes, &s->processes_cap, s->nprocesses + 1,
			       sizeof(*s->processes), PROCESSES_MOST))
		return false;
	if (!slot->value) {
		s->processes[s->nprocesses++] = (pid_t)h->pid;
		slot->value = s->nprocesses;
	}
	return true;
}

static bool on_hello(struct server *s, int client, const char *body, size_t size)
{
	struct record_hello hello;

	if (size < sizeof(hello))
		return false;
	memcpy(&hello, body, sizeof(hello));
	if (hello.version != RECORD_VERSION) {
		s->options->say("warning: process %u: expected version %d of the tracing library, "
				"found %u: it is recorded without a plan",
				hello.pid, RECORD_VERSION, hello.version);
		return false;
	}
	if (s->kernel)
		kernel_process(s->kernel, (pid_t)hello.pid);
	return count_process(s, &hello) && answer(client, RECORD_HELLO, &s->options->settings,
						  sizeof(s->options->settings), -1);
}

static bool on_module(struct server *s, int client, const char *body, size_t size)
{
	struct record_module m;

	if (size <= sizeof(m) || body[size - 1])
		return false;
	memcpy(&m, body, sizeof(m));
	if (m.build_id_size > sizeof(m.build_id))
		return false;
	return answer(client, RECORD_MODULE, NULL, 0, find_plan(s, &m, body + sizeof(m)));
}

/* Returns false if the client is not heard any longer. */
static bool on_message(struct server *s, int client, const char *message, size_t len)
{
	const char *const body = message + sizeof(struct record_message);
	struct record_message head;
	struct record_done done;

	if (len < sizeof(head))
		return false;
	memcpy(&head, message, sizeof(head));
	if (head.size != len - sizeof(head))
		return false;
	switch (head.type) {
	case RECORD_HELLO:
		return on_hello(s, client, body, head.size);
	case RECORD_MODULE:
		return on_module(s, client, body, head.size);
	case RECORD_DONE:
		if (head.size < sizeof(done))
			return false;
		memcpy(&done, body, sizeof(done));
		s->patched += done.patched;
		s->refused += done.refused;
		return true;
	case RECORD_SAY:
		if (!s->options->quiet && head.size && body[0])
			s->options->say("%.*s", (int)strnlen(body, head.size), body);
		return true;
	default:
		return false;
	}
}

/* Reads one message. Returns false if the client has gone, or is not heard any longer. */
static bool serve(struct server *s, int client)
{
	char message[sizeof(struct record_message) + RECORD_MESSAGE_MOST];
	const ssize_t n = os_recv(client, message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	return n > 0 && (size_t)n <= sizeof(message) && on_message(s, client, message, (size_t)n);
}

/* --- waiting --- */

static void drop(struct server *s, size_t i)
{
	os_close(s->clients[i]);
	s->clients[i] = s->clients[--s->nclients];
	s->full = false;
}

static void take_clients(struct server *s)
{
	for (;;) {
		const int fd = os_accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0) {
			s->full = errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
				  errno == ENOBUFS;
			return;
		}
		if (!mem_grow((void **)&s->clients, &s->clients_cap, s->nclients + 1,
			      sizeof(*s->clients), CLIENTS_MOST)) {
			os_close(fd);
			return;
		}
		s->clients[s->nclients++] = fd;
	}
}

bool server_step(struct server *s, int wake, int ms)
{
	const size_t n = s->nclients;
	bool any = false;

	if (!mem_grow((void **)&s->polled, &s->polled_cap, n + 2, sizeof(*s->polled),
		      CLIENTS_MOST + 2))
		return os_poll(&(struct pollfd){ .fd = wake, .events = POLLIN }, 1, ms) < 0;
	s->polled[0] = (struct pollfd){ .fd = wake, .events = POLLIN };
	s->polled[1] = (struct pollfd){ .fd = s->full ? -1 : s->fd, .events = POLLIN };
	for (size_t i = 0; i < n; i++)
		s->polled[i + 2] = (struct pollfd){ .fd = s->clients[i], .events = POLLIN };
	if (os_poll(s->polled, n + 2, ms) <= 0)
		return false;
	/* From the last on, as the last one takes the place of one that is dropped. */
	for (size_t i = n; i-- > 0;)
		if (s->polled[i + 2].revents) {
			any = true;
			if (!serve(s, s->clients[i]))
				drop(s, i);
		}
	if (s->polled[1].revents) {
		any = true;
		take_clients(s);
	}
	return any;
}
