/* See connection.h. */
#include "format/ctf/live/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/libc.h"
#include "base/os.h"

enum { LOOK_MS = 50, CONNECT_MS = 10000 }; /* how often a stop is looked for; for a connection */

int64_t wire_now(void)
{
	struct timespec t;

	os_clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool wire_wrong(struct live_wire *w, const char *fmt, ...)
{
	va_list ap;

	if (w->broken)
		return false;
	va_start(ap, fmt);
	vsnprintf(w->why, sizeof(w->why), fmt, ap);
	va_end(ap);
	w->broken = true;
	return false;
}

static bool wire_failed(struct live_wire *w, const char *expected, int error)
{
	return wire_wrong(w, "expected %s, found %s", expected, error_text(error));
}

static bool is_stopped(const struct live_wire *w)
{
	return w->stop && *w->stop;
}

/* Until the socket is ready, at the latest `until`. */
static bool wire_ready(struct live_wire *w, short events, int64_t until, const char *expected)
{
	while (!w->broken && !is_stopped(w)) {
		struct pollfd p = { .fd = w->fd, .events = events };
		const int64_t left = until - wire_now();
		const int n = os_poll(&p, 1, left < LOOK_MS ? (int)(left > 0 ? left : 0) : LOOK_MS);

		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return wire_failed(w, expected, errno);
		if (left <= 0)
			return wire_wrong(w, "expected %s, found nothing for too long", expected);
	}
	w->broken = true;
	return false;
}

bool wire_send(struct live_wire *w, const void *p, size_t size)
{
	const int64_t until = wire_now() + w->patience;
	const char *from = p;

	while (size && !w->broken) {
		const ssize_t n = os_send(w->fd, from, size, MSG_NOSIGNAL);

		if (n >= 0) {
			from += n;
			size -= (size_t)n;
		} else if (errno != EAGAIN && errno != EINTR) {
			wire_failed(w, "the relay daemon to listen", errno);
		} else if (errno == EAGAIN) {
			wire_ready(w, POLLOUT, until, "the relay daemon to listen");
		}
	}
	return !w->broken;
}

bool wire_read(struct live_wire *w, void *p, size_t size)
{
	const int64_t until = wire_now() + w->patience;
	char *to = p;

	while (size && wire_ready(w, POLLIN, until, "an answer of the relay daemon")) {
		const ssize_t n = os_recv(w->fd, to, size, 0);

		if (n > 0) {
			to += n;
			size -= (size_t)n;
		} else if (!n) {
			wire_wrong(w, "expected an answer of the relay daemon, found the "
				      "connection closed");
		} else if (errno != EAGAIN && errno != EINTR) {
			wire_failed(w, "an answer of the relay daemon", errno);
		}
	}
	return !size && !w->broken;
}

void wire_rest(struct live_wire *w, int ms)
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };
	ssize_t n;
	char byte;

	if (w->broken || is_stopped(w) || os_poll(&p, 1, ms) <= 0)
		return;
	n = os_recv(w->fd, &byte, 1, MSG_PEEK);
	if (!n)
		wire_wrong(w, "expected the relay daemon to wait, found the connection closed");
	else if (n > 0)
		wire_wrong(w, "expected the relay daemon to wait, found bytes that were "
			      "not requested");
	else if (errno != EAGAIN && errno != EINTR)
		wire_failed(w, "the relay daemon to wait", errno);
}

static bool connect_one(struct live_wire *w, const struct addrinfo *a)
{
	const int one = 1;
	int error = 0;
	socklen_t len = sizeof(error);

	w->fd = os_socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (w->fd < 0)
		return wire_failed(w, "a socket", errno);
	if (os_connect(w->fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS)
		return wire_failed(w, "a relay daemon", errno);
	if (!wire_ready(w, POLLOUT, wire_now() + CONNECT_MS, "a relay daemon"))
		return false;
	if (os_getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error)
		return wire_failed(w, "a relay daemon", error ? error : errno);
	os_setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return true;
}

bool wire_connect(struct live_wire *w, int family, const char *host, const char *port)
{
	const struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM };
	struct addrinfo *all = NULL;
	const int rc = os_getaddrinfo(host, port, &hints, &all);
	bool good = false;

	if (rc)
		return wire_wrong(w, "expected the address of a host, found that %s has none (%s)",
				  host, gai_strerror(rc));
	for (const struct addrinfo *a = all; a && !good && !is_stopped(w); a = a->ai_next) {
		wire_close(w);
		w->broken = false;
		good = connect_one(w, a);
	}
	freeaddrinfo(all);
	return good;
}

void wire_close(struct live_wire *w)
{
	if (w->fd >= 0)
		os_close(w->fd);
	w->fd = -1;
	w->broken = true;
}
