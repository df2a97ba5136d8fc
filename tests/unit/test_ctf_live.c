/*
 * Sessions of a relay daemon: names, commands, answers that lie, and what becomes of the streams.
 */
#include "unit/relay.h"

#include <sys/resource.h>
#include <time.h>

#include "format/ctf/live/live.h"
#include "format/ctf/live/proto.h"

/* --- names --- */

static void url_good(const char *url, const char *host, const char *port, const char *target,
		     const char *session)
{
	struct spur_error err = { 0 };
	struct live_url u;

	assert_int_equal(live_url_parse(url, &u, &err), SPUR_OK);
	assert_string_equal(u.host, host);
	assert_string_equal(u.port, port);
	assert_string_equal(u.target, target);
	assert_string_equal(u.session, session);
}

static void url_bad(const char *url, const char *found)
{
	struct spur_error err = { 0 };
	struct live_url u;

	assert_int_equal(live_url_parse(url, &u, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	assert_non_null(strstr(err.message, found));
}

/* SPEC ctf-live/url */
static void test_url(void **state)
{
	char longer[400] = "net://";

	(void)state;
	url_good("net://h", "h", "5344", "", "");
	url_good("net://h/", "h", "5344", "", "");
	url_good("net4://127.0.0.1:99", "127.0.0.1", "99", "", "");
	url_good("net6://[::1]:99/host/a/b", "::1", "99", "a", "b");
	url_good("net://h.example/host/a b/c-d/", "h.example", "5344", "a b", "c-d");
	url_bad("net5://h", "another beginning");
	url_bad("net://", "no host");
	url_bad("net://:99", "no host");
	url_bad("net://[::1", "no host");
	url_bad("net://h:", "a port that is no number");
	url_bad("net://h:0", "a port that is no number");
	url_bad("net://h:65536", "a port that is no number");
	url_bad("net://h:12x", "a port that is no number");
	url_bad("net://h/a/b/c", "something else behind the host");
	url_bad("net://h/host/a", "something else behind the host");
	url_bad("net://h/host/a/", "something else behind the host");
	url_bad("net://h/host/a/b/c", "more behind the session");
	memset(longer + 6, 'x', 300);
	url_bad(longer, "no host");
}

/* --- room --- */

static void test_store(void **state)
{
	struct live_store s = { 0 };
	const uint8_t *kept[400];
	uint8_t bytes[5000];

	(void)state;
	for (unsigned i = 0; i < 400; i++) {
		memset(bytes, (int)i, sizeof(bytes));
		kept[i] = store_keep(&s, bytes, 1 + i * 12);
		assert_non_null(kept[i]);
	}
	for (unsigned i = 0; i < 400; i++) {
		assert_int_equal(kept[i][0], (uint8_t)i);
		assert_int_equal(kept[i][i * 12], (uint8_t)i);
		assert_int_equal((uintptr_t)kept[i] % 8, 0);
	}
	assert_true(s.count < 6);
	store_free(&s);
}

/* --- commands, one by one, against answers that stand ready --- */

struct pair {
	struct live_wire wire;
	int peer;
	uint8_t said[8192];
	size_t len;
};

static void say(struct pair *p, uint64_t v, unsigned size)
{
	relay_put(p->said + p->len, v, size);
	p->len += size;
}

static void pair_open(struct pair *p)
{
	int fds[2];

	memset(p, 0, sizeof(*p));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	p->wire = (struct live_wire){ .fd = fds[0], .patience = 60 };
	p->peer = fds[1];
}

/* The answer goes out; `cut`: the connection ends behind it. */
static void pair_send(struct pair *p, bool cut)
{
	assert_int_equal(write(p->peer, p->said, p->len), p->len);
	if (cut)
		shutdown(p->peer, SHUT_WR);
}

static void pair_close(struct pair *p, const char *why)
{
	if (why)
		assert_non_null(strstr(p->wire.why, why));
	else
		assert_string_equal(p->wire.why, "");
	assert_int_equal(p->wire.broken, why != NULL);
	wire_close(&p->wire);
	close(p->peer);
}

/* SPEC ctf-live/version */
static void test_version(void **state)
{
	static const uint8_t asked[] = { 0, 0, 0, 0, 0,	   0,	 0,    20,   0,	   0,	 0,    1,
					 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
					 0, 0, 0, 2, 0,	   0,	 0,    4,    0,	   0,	 0,    1 };
	uint8_t got[64];
	uint32_t minor;
	struct pair p;

	(void)state;
	pair_open(&p);
	say(&p, 7, 8), say(&p, 2, 4), say(&p, 15, 4), say(&p, 0, 4);
	pair_send(&p, false);
	assert_true(live_hello(&p.wire, &minor));
	assert_int_equal(minor, 15);
	assert_int_equal(read(p.peer, got, sizeof(got)), sizeof(asked));
	assert_memory_equal(got, asked, sizeof(asked));
	pair_close(&p, NULL);
	pair_open(&p);
	say(&p, 7, 8), say(&p, 3, 4), say(&p, 0, 4), say(&p, 0, 4);
	pair_send(&p, false);
	assert_false(live_hello(&p.wire, &minor));
	pair_close(&p, "expected the viewer protocol 2, found 3");
}

/* An answer that is cut at any byte, or late, breaks the wire. */
static void test_cut(void **state)
{
	uint32_t minor;
	struct pair p;

	(void)state;
	for (unsigned n = 0; n < 20; n++) {
		pair_open(&p);
		say(&p, 7, 8), say(&p, 2, 4), say(&p, 15, 4), say(&p, 0, 4);
		p.len = n;
		pair_send(&p, true);
		assert_false(live_hello(&p.wire, &minor));
		assert_false(live_create(&p.wire));
		pair_close(&p,
			   "expected an answer of the relay daemon, found the connection closed");
	}
	pair_open(&p);
	say(&p, 7, 8);
	pair_send(&p, false);
	assert_false(live_hello(&p.wire, &minor));
	pair_close(&p, "expected an answer of the relay daemon, found nothing for too long");
}

/* Asked to stop it breaks silently. */
static void test_stop(void **state)
{
	volatile int stop = 1;
	struct pair p;

	(void)state;
	pair_open(&p);
	p.wire.stop = &stop;
	p.wire.patience = 100000;
	assert_false(live_create(&p.wire));
	assert_true(p.wire.broken);
	assert_string_equal(p.wire.why, "");
	wire_close(&p.wire);
	close(p.peer);
}

static bool count_session(void *self, const struct live_session *s)
{
	unsigned *n = self;

	++*n;
	assert_int_equal(strlen(s->host), 64);
	assert_int_equal(strlen(s->name), 255);
	assert_int_equal(s->timer_us, 9);
	return true;
}

static bool count_stream(void *self, const struct live_stream_info *s)
{
	unsigned *n = self;

	(void)s;
	++*n;
	return true;
}

/*
 * Counts and names are no longer than what they stand in. SPEC ctf-live/command
 * SPEC ctf-live/session
 */
static void test_lists(void **state)
{
	unsigned n = 0;
	uint32_t status;
	struct pair p;

	(void)state;
	pair_open(&p);
	say(&p, 1, 4), say(&p, 5, 8), say(&p, 9, 4), say(&p, 1, 4), say(&p, 2, 4);
	memset(p.said + p.len, 'x', 64 + 255); /* names without an end */
	p.len += 64 + 255;
	pair_send(&p, false);
	assert_true(live_list(&p.wire, count_session, &n));
	assert_int_equal(n, 1);
	pair_close(&p, NULL);

	pair_open(&p);
	say(&p, UINT32_MAX, 4);
	pair_send(&p, false);
	assert_false(live_list(&p.wire, count_session, &n));
	pair_close(&p, "list of sessions: expected at most 65536, found 4294967295");

	/* One of two comes. */
	n = 0;
	pair_open(&p);
	say(&p, 1, 4), say(&p, 2, 4);
	p.len += 4371;
	pair_send(&p, true);
	assert_false(live_new_streams(&p.wire, 1, &status, count_stream, &n));
	assert_int_equal(n, 1);
	pair_close(&p, "found the connection closed");

	pair_open(&p);
	say(&p, 1, 4), say(&p, 1 << 20, 4);
	pair_send(&p, false);
	assert_false(live_attach(&p.wire, 1, &status, count_stream, &n));
	pair_close(&p, "list of streams: expected at most 65536, found 1048576");

	/* SPEC ctf-live/streams: no streams behind another status, whatever it says */
	pair_open(&p);
	say(&p, 4, 4), say(&p, 1 << 20, 4);
	pair_send(&p, false);
	assert_true(live_new_streams(&p.wire, 1, &status, count_stream, &n));
	assert_int_equal(status, LIVE_SESSION_OVER);
	pair_close(&p, NULL);

	pair_open(&p);
	say(&p, 9, 4), say(&p, 0, 4);
	pair_send(&p, false);
	assert_false(live_new_streams(&p.wire, 1, &status, count_stream, &n));
	pair_close(&p, "list of streams: expected a status from 1 to 4, found 9");
}

static void test_index(void **state)
{
	struct live_index x;
	struct pair p;

	(void)state;
	pair_open(&p);
	for (unsigned i = 1; i <= 7; i++)
		say(&p, i, 8);
	say(&p, 5, 4), say(&p, 3, 4);
	pair_send(&p, false);
	assert_true(live_next_index(&p.wire, 1, &x));
	assert_int_equal(x.offset, 1);
	assert_int_equal(x.size, 2);
	assert_int_equal(x.end, 5);
	assert_int_equal(x.stream_class, 7);
	assert_int_equal(x.status, LIVE_INACTIVE);
	assert_int_equal(x.flags, LIVE_NEW_METADATA | LIVE_NEW_STREAM);
	pair_close(&p, NULL);
	pair_open(&p);
	p.len = 56;
	say(&p, 0, 4), say(&p, 0, 4);
	pair_send(&p, false);
	assert_false(live_next_index(&p.wire, 1, &x));
	pair_close(&p, "index: expected a status from 1 to 6, found 0");
}

/* SPEC ctf-live/packet */
static void test_packet(void **state)
{
	uint32_t got, status, flags;
	uint8_t to[16];
	struct pair p;

	(void)state;
	pair_open(&p);
	say(&p, 1, 4), say(&p, 3, 4), say(&p, 0, 4), say(&p, 0xAABBCC, 3);
	pair_send(&p, false);
	assert_true(live_packet(&p.wire, 1, 0, 16, to, &got, &status, &flags));
	assert_int_equal(got, 3);
	assert_int_equal(to[2], 0xCC);
	pair_close(&p, NULL);

	/* More than was asked for would run over. */
	pair_open(&p);
	say(&p, 1, 4), say(&p, 17, 4), say(&p, 0, 4);
	p.len += 17;
	pair_send(&p, false);
	assert_false(live_packet(&p.wire, 1, 0, 16, to, &got, &status, &flags));
	pair_close(&p, "packet: expected up to 16 bytes, found 17");

	pair_open(&p);
	say(&p, 1, 4), say(&p, 0, 4), say(&p, 0, 4);
	pair_send(&p, false);
	assert_false(live_packet(&p.wire, 1, 0, 16, to, &got, &status, &flags));
	pair_close(&p, "packet: expected up to 16 bytes, found 0");

	pair_open(&p);
	say(&p, 3, 4), say(&p, UINT32_MAX, 4), say(&p, 1, 4);
	pair_send(&p, false);
	assert_true(live_packet(&p.wire, 1, 0, 16, to, &got, &status, &flags));
	assert_int_equal(got, 0);
	assert_int_equal(status, LIVE_GET_ERROR);
	pair_close(&p, NULL);

	pair_open(&p);
	say(&p, 77, 4), say(&p, 0, 4), say(&p, 1, 4);
	pair_send(&p, false);
	assert_false(live_packet(&p.wire, 1, 0, 16, to, &got, &status, &flags));
	pair_close(&p, "packet: expected a status from 1 to 4, found 77");
}

static void test_metadata(void **state)
{
	struct live_bytes b = { 0 };
	uint32_t status;
	struct pair p;

	(void)state;
	pair_open(&p);
	say(&p, 3, 8), say(&p, 1, 4), say(&p, 0x616263, 3);
	say(&p, 2, 8), say(&p, 1, 4), say(&p, 0x6465, 2);
	pair_send(&p, false);
	assert_true(live_metadata(&p.wire, 1, &status, &b));
	assert_true(live_metadata(&p.wire, 1, &status, &b));
	assert_int_equal(b.len, 5);
	assert_memory_equal(b.p, "abcde", 5);
	pair_close(&p, NULL);

	/* A size beyond all limits; one within, of which little comes: no more memory than that. */
	pair_open(&p);
	say(&p, UINT64_MAX, 8), say(&p, 1, 4);
	pair_send(&p, false);
	assert_false(live_metadata(&p.wire, 1, &status, &b));
	pair_close(&p,
		   "metadata: expected at most 33554432 bytes, found 18446744073709551615 more");
	pair_open(&p);
	say(&p, 30 << 20, 8), say(&p, 1, 4);
	pair_send(&p, true);
	assert_false(live_metadata(&p.wire, 1, &status, &b));
	assert_true(b.cap < 1 << 18);
	pair_close(&p, "found the connection closed");

	pair_open(&p);
	say(&p, 0, 8), say(&p, 4, 4);
	pair_send(&p, false);
	assert_false(live_metadata(&p.wire, 1, &status, &b));
	pair_close(&p, "metadata: expected a status from 1 to 3, found 4");
	free(b.p);
}

/* --- whole sessions --- */

enum { EVENTS = 79 };

struct heard {
	size_t rows;
	int64_t last;
	bool back; /* time went back */
	char damage[2000]; /* code: first message, a line each */
	enum spur_status end;
	struct spur_error err;
};

static void hear_damage(struct spur_trace *t, struct heard *h)
{
	for (size_t i = 0; i < spur_damage_count(t); i++) {
		const size_t used = strlen(h->damage);
		struct spur_damage d;

		assert_true(spur_damage(t, i, &d));
		snprintf(h->damage + used, sizeof(h->damage) - used, "%s: %s\n", d.code, d.first);
	}
}

/* Reads a session to its end, arguments too. */
static struct heard hear(const char *url, const volatile int *stop)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .stop = stop);
	struct heard h = { .last = INT64_MIN };
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	struct spur_trace *t;
	size_t n;

	h.end = spur_open(&t, url, &opt, &h.err);
	if (h.end == SPUR_FAIL)
		return h;
	while ((h.end = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			h.back |= rows[i].ts < h.last;
			h.last = rows[i].ts;
			h.rows++;
			if (spur_args(t, &rows[i], &args) == SPUR_FAIL)
				h.end = SPUR_FAIL;
			assert_true(t->mem_failures || args.count == rows[i].nargs);
		}
	hear_damage(t, &h);
	spur_args_free(&args);
	spur_close(t);
	return h;
}

static void test_session(void **state)
{
	struct relay r = { 0 };
	struct heard h;

	(void)state;
	relay_start(&r);
	h = hear(relay_url(&r), NULL);
	assert_int_equal(h.end, SPUR_END);
	assert_int_equal(h.rows, EVENTS);
	assert_false(h.back);
	assert_string_equal(h.damage, "");
	relay_end(&r);
	assert_int_equal(r.calls[ASK_DETACH], 1);
}

static size_t two_sessions(struct relay *r, uint32_t command, const uint8_t *body, uint8_t *to)
{
	(void)r;
	(void)body;
	if (command != ASK_LIST)
		return 0;
	memset(to, 0, 4 + 2 * 339);
	relay_put(to, 2, 4);
	memcpy(to + 4 + 20, "a", 1), memcpy(to + 4 + 84, "x", 1);
	memcpy(to + 4 + 339 + 20, "b", 1), memcpy(to + 4 + 339 + 84, "y\033[1m", 5);
	return 4 + 2 * 339;
}

/* SPEC ctf-live/session */
static void test_no_session(void **state)
{
	const struct spur_options list = SPUR_OPTIONS(.sessions = true);
	struct relay r = { .change = two_sessions };
	struct spur_error err;
	struct spur_trace *t;
	char url[200];
	struct heard h;

	(void)state;
	relay_start(&r);
	h = hear(relay_url(&r), NULL);
	assert_int_equal(h.end, SPUR_FAIL);
	assert_int_equal(h.err.code, SPUR_ERR_IO);
	assert_non_null(strstr(h.err.message, "expected a session of that name, found net://"));
	assert_non_null(strstr(h.err.message, "/host/a/x, net://"));
	snprintf(url, sizeof(url), "net4://127.0.0.1:%d", r.port);
	h = hear(url, NULL);
	assert_int_equal(h.err.code, SPUR_ERR_USAGE);
	assert_non_null(strstr(h.err.message, "expected one of its sessions, found net4://"));
	assert_int_equal(spur_open(&t, url, &list, &err), SPUR_OK);
	assert_int_equal(t->ninfo, 3);
	assert_string_equal(t->info[0].key, "session 1");
	assert_non_null(strstr(t->info[0].value, "/host/a/x (timer 0 us, 0 streams, 0 viewers)"));
	assert_string_equal(t->info[2].value, "2.13");
	spur_close(t);
	relay_end(&r);
}

/* Answers that break the session at once; what is said of them. */
static struct {
	uint32_t command;
	unsigned nth; /* of its kind, from 1; 0: all */
	uint64_t stream; /* 0: of any */
	uint8_t bytes[64];
	size_t len; /* SIZE_MAX: the connection ends */
} lie;

static size_t lies(struct relay *r, uint32_t command, const uint8_t *body, uint8_t *to)
{
	if (command != lie.command || (lie.nth && r->calls[command] != lie.nth) ||
	    (lie.stream && relay_u64(body) != lie.stream))
		return 0;
	if (lie.len != SIZE_MAX)
		memcpy(to, lie.bytes, lie.len);
	return lie.len;
}

static struct heard hear_lie(uint32_t command, unsigned nth, size_t len)
{
	struct relay r = { .change = lies };
	struct heard h;

	lie.command = command;
	lie.nth = nth;
	lie.len = len;
	relay_start(&r);
	h = hear(relay_url(&r), NULL);
	relay_end(&r);
	memset(&lie, 0, sizeof(lie));
	return h;
}

static void expect_refused(struct heard h, const char *why)
{
	assert_int_equal(h.end, SPUR_FAIL);
	assert_int_equal(h.err.code, SPUR_ERR_IO);
	assert_non_null(strstr(h.err.message, why));
}

static void expect_heard(struct heard h, size_t rows, const char *damage)
{
	assert_int_equal(h.end, SPUR_END);
	assert_int_equal(h.rows, rows);
	if (!strstr(h.damage, damage) || (!damage[0] && h.damage[0]))
		assert_string_equal(h.damage, damage);
}

static void test_refusals(void **state)
{
	(void)state;
	expect_refused(hear("net://127.0.0.1:1/host/a/b", NULL), "expected a relay daemon, found");
	expect_refused(hear("net://no.such.host.invalid/host/a/b", NULL), "has none");
	expect_refused(hear_lie(ASK_CONNECT, 0, SIZE_MAX), "found the connection closed");
	expect_refused(hear_lie(ASK_CREATE, 0, 4), "expected that it is made (1), found status 0");
	for (uint8_t status = 2; status < 8; status++) {
		static const char *const whys[] = {
			"another viewer attached",	    "that it just ended",
			"a session that is not live",	    "that the relay daemon refuses it",
			"that the relay daemon refuses it", "that the relay daemon refuses it"
		};

		lie.bytes[3] = status;
		expect_refused(hear_lie(ASK_ATTACH, 0, 8), whys[status - 2]);
	}
	/* The session is over before it had a stream: nothing is there, and nothing is wrong. */
	lie.bytes[3] = LIVE_SESSION_OVER;
	expect_heard(hear_lie(ASK_STREAMS, 0, 8), 0, "ctf/no-packets");
}

/* The connection ends at any answer: what came before is kept. */
static void test_lost(void **state)
{
	(void)state;
	expect_refused(hear_lie(ASK_METADATA, 1, SIZE_MAX), "found the connection closed");
	expect_heard(hear_lie(ASK_PACKET, 1, SIZE_MAX), 0, "ctf/live-connection");
	/* The second packet has them all. */
	expect_heard(hear_lie(ASK_PACKET, 3, SIZE_MAX), EVENTS, "ctf/live-connection");
	expect_heard(hear_lie(ASK_INDEX, 5, SIZE_MAX), EVENTS, "ctf/live-connection");
}

/* SPEC ctf-live/index-error: that stream is lost, others are not */
static void test_lying_index(void **state)
{
	(void)state;
	/* The first index is of the stream without events. */
	lie.bytes[59] = LIVE_INDEX_ERROR;
	expect_heard(hear_lie(ASK_INDEX, 1, 64), EVENTS, "ctf/live-stream");
	lie.bytes[59] = LIVE_INDEX_ERROR;
	lie.stream = 1;
	expect_heard(hear_lie(ASK_INDEX, 0, 64), 0, "ctf/live-stream");
	lie.bytes[59] = LIVE_INDEX_END;
	expect_heard(hear_lie(ASK_INDEX, 1, 64), EVENTS, "");
	/*
	 * Sizes that cannot be: none, not whole bytes, more than any packet has, more than there
	 * is.
	 */
	lie.bytes[59] = LIVE_INDEX;
	expect_heard(hear_lie(ASK_INDEX, 1, 64), EVENTS, "ctf/live-packet");
	lie.bytes[59] = LIVE_INDEX;
	lie.bytes[15] = 9;
	expect_heard(hear_lie(ASK_INDEX, 1, 64), EVENTS, "ctf/live-packet");
	lie.bytes[59] = LIVE_INDEX;
	memset(lie.bytes + 8, 0xF8, 8);
	expect_heard(hear_lie(ASK_INDEX, 1, 64), EVENTS, "ctf/live-packet");
	lie.bytes[59] = 7;
	expect_heard(hear_lie(ASK_INDEX, 1, 64), 0, "expected a status from 1 to 6, found 7");
	/* A bound beyond all times: the other stream's rows come all the same. */
	lie.bytes[59] = LIVE_INACTIVE;
	memset(lie.bytes + 32, 0xFF, 8);
	expect_heard(hear_lie(ASK_INDEX, 1, 64), EVENTS, "");
}

/* Packets that the daemon cannot give, or gives with other bytes. */
static void test_lying_packet(void **state)
{
	(void)state;
	lie.bytes[3] = LIVE_GET_ERROR;
	expect_heard(hear_lie(ASK_PACKET, 1, 12), EVENTS, "ctf/live-packet");
	/* SPEC ctf-live/packet: with a flag it is asked for again */
	lie.bytes[3] = LIVE_GET_ERROR;
	lie.bytes[11] = LIVE_NEW_METADATA;
	expect_heard(hear_lie(ASK_PACKET, 1, 12), EVENTS, "");
	lie.bytes[3] = LIVE_GET_LATER;
	expect_heard(hear_lie(ASK_PACKET, 1, 12), EVENTS, "");
	/* 16 bytes that are no packet; the rest of it is asked for, and is none either */
	lie.bytes[3] = LIVE_GOT;
	lie.bytes[7] = 16;
	memset(lie.bytes + 12, 'x', 16);
	expect_heard(hear_lie(ASK_PACKET, 2, 28), 0, "ctf/");
}

/* Text that is no metadata, and no more. */
static size_t no_metadata(struct relay *r, uint32_t command, const uint8_t *body, uint8_t *to)
{
	static const char text[] = "/* CTF 1.8 */ trace { nothing";
	const size_t len = r->calls[ASK_METADATA] == 1 ? sizeof(text) - 1 : 0;

	(void)body;
	if (command != ASK_METADATA)
		return 0;
	relay_put(to, len, 8);
	relay_put(to + 8, len ? LIVE_METADATA : LIVE_NO_METADATA, 4);
	memcpy(to + 12, text, len);
	return 12 + len;
}

/* SPEC ctf-live/metadata-gone SPEC ctf-live/metadata-empty */
static void test_lying_metadata(void **state)
{
	struct relay r = { .change = no_metadata };
	struct heard h;

	(void)state;
	lie.bytes[11] = LIVE_METADATA;
	expect_heard(hear_lie(ASK_METADATA, 1, 12), EVENTS, "");
	/* After the first answer, which has it all. */
	lie.bytes[11] = LIVE_METADATA_ERROR;
	expect_heard(hear_lie(ASK_METADATA, 2, 12), EVENTS, "");
	/* More may come and mend it, but that is not waited for for ever. */
	relay_start(&r);
	h = hear(relay_url(&r), NULL);
	relay_end(&r);
	assert_int_equal(h.end, SPUR_FAIL);
	assert_int_equal(h.err.code, SPUR_ERR_FORMAT);
}

/* --- streams that hold each other back --- */

static size_t second_waits(struct relay *r, uint32_t command, const uint8_t *body, uint8_t *to)
{
	(void)r;
	if (command != ASK_INDEX || relay_u64(body) != 2)
		return 0;
	memset(to, 0, 64);
	relay_put(to + 56, LIVE_RETRY, 4);
	return 64;
}

static volatile int stop;

static void *stop_later(void *arg)
{
	(void)arg;
	nanosleep(&(struct timespec){ .tv_nsec = 400000000 }, NULL);
	stop = 1;
	return NULL;
}

static int64_t ms_now(void)
{
	return wire_now();
}

/*
 * SPEC ctf-live/retry: what a stream will have is unknown: rows of others wait; a stop ends that at
 * once
 */
static void test_retry_holds(void **state)
{
	struct relay r = { .change = second_waits };
	int64_t from = ms_now();
	pthread_t thread;
	struct heard h;

	(void)state;
	relay_start(&r);
	stop = 0;
	pthread_create(&thread, NULL, stop_later, NULL);
	h = hear(relay_url(&r), &stop);
	pthread_join(thread, NULL);
	assert_int_equal(h.rows, 0);
	assert_string_equal(h.damage, "");
	assert_true(ms_now() - from < 2000);
	/* A few questions, not a flood. */
	assert_true(r.calls[ASK_INDEX] > 2 && r.calls[ASK_INDEX] < 12);
	relay_end(&r);
}

/* Quiet up to a time between the first and the last event of the other stream, then gone. */
static size_t second_is_quiet(struct relay *r, uint32_t command, const uint8_t *body, uint8_t *to)
{
	static unsigned n;

	if (command != ASK_INDEX || relay_u64(body) != 2)
		return 0;
	if (r->calls[ASK_INDEX] < 3)
		n = 0;
	memset(to, 0, 64);
	relay_put(to + 32, n ? 4934693301000 : 4934693299000, 8);
	relay_put(to + 56, n > 1 ? LIVE_HANG_UP : LIVE_INACTIVE, 4);
	n++;
	return 64;
}

/* SPEC ctf-live/inactive */
static void test_inactive(void **state)
{
	struct relay r = { .change = second_is_quiet };
	const struct spur_event *rows;
	struct spur_error err;
	struct spur_trace *t;
	size_t n, all = 0, parts = 0;

	(void)state;
	relay_start(&r);
	assert_int_equal(spur_open(&t, relay_url(&r), NULL, &err), SPUR_OK);
	while (spur_next(t, &rows, &n) == SPUR_OK) {
		all += n;
		parts++;
	}
	assert_int_equal(all, EVENTS);
	/* What is sure goes out before more is asked for. */
	assert_true(parts >= 3);
	spur_close(t);
	relay_end(&r);
}

/* --- metadata that grows --- */

static char plain[8192]; /* the recorded metadata as text */
static size_t plain_len, plain_cut;

/* The text without its last event first, then that event. */
static size_t late_class(struct relay *r, uint32_t command, const uint8_t *body, uint8_t *to)
{
	const unsigned n = r->calls[ASK_METADATA];
	const char *p = n == 1 ? plain : plain + plain_cut;
	const size_t len = n == 1 ? plain_cut : plain_len - plain_cut;

	(void)body;
	if (command != ASK_METADATA)
		return 0;
	/*
	 * Question 1 and 2: the first version; from 4 on, when an event of no known class has come:
	 * the rest.
	 */
	relay_put(to, n == 1 || n == 4 ? len : 0, 8);
	relay_put(to + 8, n == 1 || n == 4 ? LIVE_METADATA : LIVE_NO_METADATA, 4);
	memcpy(to + 12, p, n == 1 || n == 4 ? len : 0);
	return n == 1 || n == 4 ? 12 + len : 12;
}

/* SPEC ctf-live/metadata SPEC ctf-live/late-metadata */
static void test_late_metadata(void **state)
{
	struct relay r = { .change = late_class };
	const struct spur_event *rows;
	struct spur_error err;
	struct spur_trace *t;
	uint32_t cls = 0;
	size_t n, all = 0;
	const char *last;

	(void)state;
	relay_start(&r);
	for (size_t i = 0; i < r.count; i++)
		if (r.answers[i].command == ASK_METADATA && r.answers[i].len > 100 && !plain_len) {
			plain_len = load32(r.answers[i].p + 12 + 24, order_swaps(false)) / 8 - 37;
			memcpy(plain, r.answers[i].p + 12 + 37, plain_len);
		}
	last = strstr(plain, "name = \"tt:two_ints\"");
	assert_non_null(last);
	while (strncmp(last, "event {", 7) != 0)
		last--;
	plain_cut = (size_t)(last - plain);
	assert_int_equal(spur_open(&t, relay_url(&r), NULL, &err), SPUR_OK);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			all++;
			if (strcmp(spur_string(t, rows[i].name, NULL), "tt:two_ints") != 0)
				continue;
			assert_true(!cls || rows[i].cls == cls);
			cls = rows[i].cls;
		}
	assert_int_equal(all, EVENTS);
	assert_int_equal(spur_damage_count(t), 0);
	assert_true(r.calls[ASK_METADATA] >= 4);
	spur_close(t);
	relay_end(&r);
}

/* Memory out at every n-th allocation: no crash, no leak, and it is said or nothing is missing. */
static void test_memory(void **state)
{
	struct relay r = { 0 };
	uint64_t count, complete = 0;

	(void)state;
	relay_start(&r);
	mem_fail_at(UINT64_MAX);
	assert_int_equal(hear(relay_url(&r), NULL).rows, EVENTS);
	count = mem_count();
	mem_fail_at(0);
	assert_true(count > 100);
	for (uint64_t n = 1; n <= count; n++) {
		struct heard h;

		mem_fail_at(n);
		h = hear(relay_url(&r), NULL);
		mem_fail_at(0);
		assert_true(h.end == SPUR_FAIL || h.rows == EVENTS);
		complete += h.end != SPUR_FAIL;
	}
	assert_true(complete < count / 2);
	relay_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_url),	      cmocka_unit_test(test_store),
		cmocka_unit_test(test_version),	      cmocka_unit_test(test_cut),
		cmocka_unit_test(test_stop),	      cmocka_unit_test(test_lists),
		cmocka_unit_test(test_index),	      cmocka_unit_test(test_packet),
		cmocka_unit_test(test_metadata),      cmocka_unit_test(test_session),
		cmocka_unit_test(test_no_session),    cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_lost),	      cmocka_unit_test(test_lying_index),
		cmocka_unit_test(test_lying_packet),  cmocka_unit_test(test_lying_metadata),
		cmocka_unit_test(test_retry_holds),   cmocka_unit_test(test_inactive),
		cmocka_unit_test(test_late_metadata), cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
