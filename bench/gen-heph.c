/*
 * Makes a Heph trace of any size: the same bytes for the same options, on every machine.
 *
 *	gen-heph [-n EVENTS] [-w WORKERS] [-s SEED] [-p] FILE
 *
 * It plays the runtime: each worker (a stream) runs actors (substreams) one after the other, which
 * receive a message, do some work in up to three levels of spans, send a message; then the worker
 * schedules (substream 0). The coordinator (stream 0) polls. A packet is written when its span
 * ends, so children precede their parents, and the streams take turns. 6,500,000 events are some
 * 535 MB. -p: plain messages without work, as in the runtime's own tests.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	WORKERS_MAX = 64,
	ACTORS = 96, /* of each worker */
	ROUND = 64, /* most packets of one scheduling round */
	PACKET = 256, /* most bytes of one */
	BUFFER = 1 << 20,
	WORK_NAMES = 24,
	ACTOR_NAMES = 6,
	LEVELS = 3,
	U64 = 1,
	F64 = 3,
	STRING = 4,
	ARRAY = 0x80,
};

static const uint64_t epoch = 1610113734118010000;
static const char *const actor_names[ACTOR_NAMES] = { "relay_actor",	"http::connection",
						      "http::listener", "store::cache_actor",
						      "timer",		"metrics::collector" };
static const char *const work_names[WORK_NAMES] = {
	"parse request",  "parse headers",   "read body",      "decode json",	 "check session",
	"query database", "build statement", "wait for reply", "decode rows",	 "render page",
	"render list",	  "render item",     "compress",       "write response", "update cache",
	"evict entry",	  "hash key",	     "lookup",	       "insert",	 "split node",
	"rebalance",	  "flush counters",  "rotate log",     "tick",
};

struct packet {
	uint64_t end;
	uint32_t size;
	uint8_t bytes[PACKET];
};

/* One stream: the packets of its current round, by end. */
struct worker {
	uint32_t stream, counter, first, count, actor;
	bool plain;
	uint64_t rng, now;
	struct packet *packets;
};

struct gen {
	FILE *out;
	uint64_t left, seed;
	unsigned nworkers;
	bool plain;
	struct worker workers[WORKERS_MAX + 1];
};

static uint32_t rnd(struct worker *w, uint32_t below)
{
	w->rng = w->rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((w->rng >> 33) % below);
}

static void put(struct packet *p, uint64_t v, unsigned size)
{
	for (unsigned i = size; i-- > 0;)
		p->bytes[p->size++] = (uint8_t)(v >> (8 * i));
}

static void put_text(struct packet *p, const char *s)
{
	const size_t len = strlen(s);

	put(p, len, 2);
	memcpy(p->bytes + p->size, s, len);
	p->size += (uint32_t)len;
}

static void put_int(struct packet *p, const char *name, uint64_t v)
{
	put_text(p, name);
	put(p, U64, 1);
	put(p, v, 8);
}

static void put_string(struct packet *p, const char *name, const char *s)
{
	put_text(p, name);
	put(p, STRING, 1);
	put_text(p, s);
}

/* A span that ends now; its attributes follow. */
static struct packet *span(struct worker *w, uint64_t substream, uint64_t start, const char *name)
{
	struct packet *p = &w->packets[w->count++];

	p->size = 0;
	p->end = w->now;
	put(p, 0xC1FC1FB7, 4);
	put(p, 0, 4); /* the size, when the packet is written */
	put(p, w->stream, 4);
	put(p, w->counter++, 4);
	put(p, substream, 8);
	put(p, start, 8);
	put(p, w->now, 8);
	put_text(p, name);
	return p;
}

static void pass_time(struct worker *w, uint32_t about)
{
	w->now += about / 2 + rnd(w, about);
}

/* A span with spans inside it. */
static void work(struct worker *w, uint64_t substream, unsigned level)
{
	const char *const name = work_names[rnd(w, WORK_NAMES / LEVELS) * LEVELS + level];
	const uint64_t start = w->now;
	struct packet *p;

	pass_time(w, 200);
	for (unsigned n = level + 1 < LEVELS ? rnd(w, 3) : 0; n > 0; n--)
		work(w, substream, level + 1);
	pass_time(w, 400);
	p = span(w, substream, start, name);
	if (!rnd(w, 3))
		put_int(p, "bytes", rnd(w, 100000));
	if (!rnd(w, 40)) {
		put_text(p, "times");
		put(p, F64 | ARRAY, 1);
		put(p, 2, 2);
		put(p, 0x3FF8000000000000u + rnd(w, 1000), 8);
		put(p, 0x4000000000000000u, 8);
	}
}

/* What a worker does between two looks at its queue. */
static void round_of_worker(struct worker *w)
{
	const uint32_t actor = w->plain ? w->actor++ % ACTORS : rnd(w, ACTORS);
	const uint64_t id = 4096 + (uint64_t)w->stream * 0x10000 + actor * 64;
	uint64_t start = w->now, inner;
	struct packet *p;

	pass_time(w, 60);
	inner = w->now;
	pass_time(w, 40);
	span(w, id, inner, "receiving message");
	pass_time(w, 30);
	if (!w->plain && !rnd(w, 3))
		work(w, id, 0);
	inner = w->now;
	pass_time(w, 60);
	p = span(w, id, inner, "sending message");
	put_string(p, "message", "Hello Mars!");
	pass_time(w, 50);
	p = span(w, 0, start, "Running thread-local process");
	put_int(p, "id", id);
	put_string(p, "name", actor_names[actor % ACTOR_NAMES]);
	pass_time(w, 80);
	start = w->now;
	pass_time(w, 60);
	p = span(w, 0, start, "Scheduling processes");
	put_int(p, "local amount", rnd(w, 8));
	put_int(p, "shared amount", rnd(w, 3));
	pass_time(w, 80);
}

static void round_of_coordinator(struct worker *w)
{
	const uint64_t start = w->now;
	struct packet *p;

	pass_time(w, 30000);
	p = span(w, 0, start, "Polling for OS events");
	put_int(p, "amount", rnd(w, 16));
	pass_time(w, 1000);
}

static void play(struct worker *w)
{
	w->first = w->count = 0;
	if (w->stream)
		round_of_worker(w);
	else
		round_of_coordinator(w);
}

/* The stream whose next span ends first. */
static struct worker *earliest(struct gen *g)
{
	struct worker *best = NULL;

	for (unsigned i = 0; i <= g->nworkers; i++) {
		struct worker *w = &g->workers[i];

		if (w->first == w->count)
			play(w);
		if (!best || w->packets[w->first].end < best->packets[best->first].end)
			best = w;
	}
	return best;
}

static void write_epoch(struct gen *g)
{
	struct packet p = { .size = 0 };

	put(&p, 0x75D11D4D, 4);
	put(&p, 23, 4);
	put_text(&p, "epoch");
	put(&p, epoch, 8);
	fwrite(p.bytes, 1, p.size, g->out);
}

static bool start(struct gen *g)
{
	for (unsigned i = 0; i <= g->nworkers; i++) {
		g->workers[i] = (struct worker){ .stream = i,
						 .rng = g->seed * 1000003 + i,
						 .now = 3000000 + i * 977,
						 .plain = g->plain,
						 .packets = calloc(ROUND, sizeof(struct packet)) };
		if (!g->workers[i].packets)
			return false;
	}
	return true;
}

static void run(struct gen *g)
{
	write_epoch(g);
	for (; g->left && !ferror(g->out); g->left--) {
		struct worker *w = earliest(g);
		struct packet *p = &w->packets[w->first++];

		for (unsigned i = 0; i < 4; i++)
			p->bytes[4 + i] = (uint8_t)(p->size >> (24 - 8 * i));
		fwrite(p->bytes, 1, p->size, g->out);
	}
}

static void usage(void)
{
	fprintf(stderr, "usage: gen-heph [-n EVENTS] [-w WORKERS] [-s SEED] [-p] FILE\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static struct gen g = { .left = 6500000, .nworkers = 3, .seed = 1 };
	int c;

	while ((c = getopt(argc, argv, "n:w:s:p")) != -1) {
		const uint64_t v = optarg ? strtoull(optarg, NULL, 10) : 0;

		if (c == 'n')
			g.left = v;
		else if (c == 'w' && v <= WORKERS_MAX)
			g.nworkers = (unsigned)v;
		else if (c == 's')
			g.seed = v;
		else if (c == 'p')
			g.plain = true;
		else
			usage();
	}
	if (optind + 1 != argc)
		usage();
	g.out = fopen(argv[optind], "wb");
	if (!g.out || setvbuf(g.out, NULL, _IOFBF, BUFFER) || !start(&g)) {
		fprintf(stderr, "gen-heph: %s: %s\n", argv[optind], strerror(errno));
		return 1;
	}
	run(&g);
	if (ferror(g.out) | fclose(g.out)) {
		fprintf(stderr, "gen-heph: %s: %s\n", argv[optind], strerror(errno));
		return 1;
	}
	for (unsigned i = 0; i <= g.nworkers; i++)
		free(g.workers[i].packets);
	return 0;
}
