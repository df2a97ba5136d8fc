/*
 * A relay daemon that says the fuzzer's bytes, whatever it is asked, then goes. Every row that is
 * made of them must keep what the headers promise. Seeds: the answers of a real daemon, in the
 * order in which they are asked for.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "format/format.h"
#include "model/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int listener = -1;
static char url[64];
static volatile size_t sink; /* so that nothing is optimised away */

#define require(what) ((what) ? (void)0 : abort())

static void begin(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	require(listener >= 0 && !bind(listener, (struct sockaddr *)&a, len) &&
		!listen(listener, 4));
	require(!getsockname(listener, (struct sockaddr *)&a, &len));
	snprintf(url, sizeof(url), "net4://127.0.0.1:%d/host/vm/livet3", ntohs(a.sin_port));
}

struct speech {
	const uint8_t *p;
	size_t left;
};

/* Says it all, then listens until no more requests come. */
static void *speak(void *arg)
{
	struct speech *s = arg;
	const int fd = accept(listener, NULL, NULL);
	char heard[256];

	while (s->left) {
		const ssize_t n = send(fd, s->p, s->left, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		s->p += n;
		s->left -= (size_t)n;
	}
	shutdown(fd, SHUT_WR);
	while (recv(fd, heard, sizeof(heard), 0) > 0)
		;
	close(fd);
	return NULL;
}

static void check_row(struct spur_trace *t, const struct spur_event *row, struct spur_args *args)
{
	const uint8_t *raw = format_place(t, row).raw;

	require(spur_stream(t, row->stream) && row->track < spur_track_count(t));
	require(row->kind < SPUR_KINDS && row->cls && row->cls < trace_class_count(t));
	require(raw || row->kind == SPUR_LOST || !row->len);
	for (size_t i = 0; raw && i < row->len; i++)
		sink += raw[i];
	if (spur_args(t, row, args) != SPUR_FAIL)
		sink += args->count;
	if (t->format->fields(t, row, args) != SPUR_FAIL)
		sink += args->count;
}

static void read_all(const struct spur_options *opt)
{
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	struct spur_error err;
	struct spur_trace *t;
	struct spur_damage d;
	enum spur_status st;
	size_t n;

	if (spur_open(&t, url, opt, &err) == SPUR_FAIL) {
		require(err.code && err.message[0]);
		return;
	}
	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			check_row(t, &rows[i], &args);
	require(st == SPUR_END);
	for (size_t i = 0; i < spur_damage_count(t); i++)
		require(spur_damage(t, i, &d) && d.code && d.file && d.first);
	spur_args_free(&args);
	spur_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t how = size ? data[size - 1] : 0;
	const struct spur_options opt =
		SPUR_OPTIONS(.as_stored = how & 1, .no_spans = (how & 2) != 0);
	struct speech s = { data, size };
	pthread_t thread;

	if (listener < 0)
		begin();
	require(!pthread_create(&thread, NULL, speak, &s));
	read_all(&opt);
	pthread_join(thread, NULL);
	return 0;
}
