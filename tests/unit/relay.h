/*
 * A relay daemon in a thread: answers each question with the next recorded answer to it
 * (tests/cli/live/relay.py does the same), the last one again and again. Answers that only ask for
 * patience are left out, so nothing takes long. A test may change any answer.
 */
#ifndef SPUR_TESTS_RELAY_H
#define SPUR_TESTS_RELAY_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bits.h"
#include "unit/fake.h"

enum {
	ASK_CONNECT = 1,
	ASK_LIST,
	ASK_ATTACH,
	ASK_INDEX,
	ASK_PACKET,
	ASK_METADATA,
	ASK_STREAMS,
	ASK_CREATE,
	ASK_DETACH
};
enum { RELAY_ANSWERS = 512, RELAY_BODY = 24, RELAY_HEAD = 16 };

struct relay_answer {
	uint32_t command;
	uint8_t body[RELAY_BODY]; /* of the question */
	size_t body_len;
	const uint8_t *p;
	size_t len;
};

struct relay {
	int listener;
	int port;
	pthread_t thread;
	struct relay_answer answers[RELAY_ANSWERS];
	size_t count;
	size_t asked[RELAY_ANSWERS]; /* answers that were given to the question of this one */
	uint8_t *client, *server;
	/*
	 * The answer to give instead, in `to` (1 MiB); its length, 0: as recorded, SIZE_MAX: the
	 * connection ends.
	 */
	size_t (*change)(struct relay *r, uint32_t command, const uint8_t *body, uint8_t *to);
	uint8_t *changed;
	unsigned calls[16]; /* by command */
};

static inline uint32_t relay_u32(const uint8_t *p)
{
	return load32(p, order_swaps(true));
}

static inline uint64_t relay_u64(const uint8_t *p)
{
	return load64(p, order_swaps(true));
}

static inline void relay_put(uint8_t *to, uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		to[i] = (uint8_t)(v >> (8 * (size - 1 - i)));
}

static inline uint8_t *relay_file(const char *name, size_t *size)
{
	const char *tests = getenv("SPUR_TESTS");
	char path[4096];
	uint8_t *p;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cli/live/%s", tests ? tests : "tests", name);
	f = fopen(path, "rb");
	assert_non_null(f);
	p = malloc(1 << 20);
	assert_non_null(p);
	*size = fread(p, 1, 1 << 20, f);
	fclose(f);
	return p;
}

static inline size_t relay_answer_size(uint32_t command, const uint8_t *p)
{
	switch (command) {
	case ASK_CONNECT:
		return 20;
	case ASK_LIST:
		return 4 + 339 * (size_t)relay_u32(p);
	case ASK_ATTACH:
	case ASK_STREAMS:
		return 8 + 4371 * (size_t)relay_u32(p + 4);
	case ASK_INDEX:
		return 64;
	case ASK_PACKET:
		return 12 + relay_u32(p + 4);
	case ASK_METADATA:
		return 12 + (size_t)relay_u64(p);
	default:
		return 4;
	}
}

/* `last`: the answer before to the same question, or NULL. */
static inline bool relay_is_patience(const struct relay_answer *a, const struct relay_answer *last)
{
	if (a->command == ASK_INDEX)
		return relay_u32(a->p + 56) == 2 || (last && memcmp(last->p, a->p, a->len) == 0);
	if (a->command == ASK_STREAMS)
		return relay_u32(a->p) == 1 && !relay_u32(a->p + 4);
	return a->command == ASK_METADATA && relay_u32(a->p + 8) == 2 && !last;
}

static inline bool relay_same(const struct relay_answer *a, uint32_t command, const uint8_t *body,
			      size_t len)
{
	return a->command == command && a->body_len == len && memcmp(a->body, body, len) == 0;
}

static inline void relay_load(struct relay *r)
{
	size_t asked, said;
	const uint8_t *c = r->client = relay_file("client.bin", &asked),
		      *s = r->server = relay_file("server.bin", &said);
	const uint8_t *const end = c + asked;

	while (c < end) {
		struct relay_answer a = { .command = relay_u32(c + 8),
					  .body_len = (size_t)relay_u64(c),
					  .p = s };
		const struct relay_answer *last = NULL;

		memcpy(a.body, c + RELAY_HEAD, a.body_len);
		a.len = relay_answer_size(a.command, s);
		c += RELAY_HEAD + a.body_len;
		s += a.len;
		for (size_t i = 0; i < r->count; i++)
			if (relay_same(&r->answers[i], a.command, a.body, a.body_len))
				last = &r->answers[i];
		if (!relay_is_patience(&a, last))
			r->answers[r->count++] = a;
	}
}

static inline bool relay_take(int fd, uint8_t *to, size_t n)
{
	while (n) {
		const ssize_t got = recv(fd, to, n, 0);

		if (got <= 0)
			return false;
		to += got;
		n -= (size_t)got;
	}
	return true;
}

/* The next answer to that question, or NULL. */
static inline const struct relay_answer *relay_find(struct relay *r, uint32_t command,
						    const uint8_t *body, size_t len)
{
	const struct relay_answer *found = NULL;
	size_t first = 0, nth = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct relay_answer *a = &r->answers[i];

		if (!relay_same(a, command, body, len))
			continue;
		if (!found)
			first = i;
		found = a;
		if (nth++ == r->asked[first])
			break;
	}
	if (found)
		r->asked[first]++;
	return found;
}

static inline void relay_serve(struct relay *r, int fd)
{
	uint8_t head[RELAY_HEAD], body[RELAY_BODY];

	memset(r->asked, 0, sizeof(r->asked));
	while (relay_take(fd, head, sizeof(head))) {
		const size_t len = (size_t)relay_u64(head);
		const uint32_t command = relay_u32(head + 8);
		const struct relay_answer *a;
		size_t changed;

		assert_true(len <= RELAY_BODY && command < 16);
		if (!relay_take(fd, body, len))
			break;
		r->calls[command]++;
		changed = r->change ? r->change(r, command, body, r->changed) : 0;
		a = changed ? NULL : relay_find(r, command, body, len);
		if (changed == SIZE_MAX || (!changed && !a))
			break;
		if (send(fd, a ? a->p : r->changed, a ? a->len : changed, MSG_NOSIGNAL) < 0)
			break;
	}
}

static inline void *relay_run(void *arg)
{
	struct relay *r = arg;

	for (;;) {
		const int fd = accept(r->listener, NULL, NULL);

		if (fd < 0)
			return NULL;
		relay_serve(r, fd);
		close(fd);
	}
}

/* Begins to listen; relay_url() tells where. `r` is zeroed, but for what is wanted of it. */
static inline void relay_start(struct relay *r)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	relay_load(r);
	r->changed = malloc(1 << 20);
	r->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(r->listener >= 0);
	assert_int_equal(bind(r->listener, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(r->listener, 8), 0);
	assert_int_equal(getsockname(r->listener, (struct sockaddr *)&a, &len), 0);
	r->port = ntohs(a.sin_port);
	assert_int_equal(pthread_create(&r->thread, NULL, relay_run, r), 0);
}

static inline void relay_end(struct relay *r)
{
	shutdown(r->listener, SHUT_RDWR);
	pthread_join(r->thread, NULL);
	close(r->listener);
	free(r->client);
	free(r->server);
	free(r->changed);
}

static inline const char *relay_url(const struct relay *r)
{
	static char url[128];

	snprintf(url, sizeof(url), "net://127.0.0.1:%d/host/vm/livet3", r->port);
	return url;
}

#endif
