/*
 * Makes an FXT file of any size: the same bytes for the same options, on every machine.
 *
 *	gen-fxt [-n EVENTS] [-t THREADS] [-p PROVIDERS] [-z HZ] [-s SEED] [-e] [-b] [-w] FILE
 *
 * It plays threads whose calls nest: begin and end events, and complete events for leaves, with
 * strings and threads by index; a third of the events has an i32 and a u64 argument. Events are in
 * order of time.
 *
 *	-e: calls are complete events that are written when they end, as most programs do
 *	-p: providers take turns in sections of 4,096 events
 *	-b: big-endian
 *	-w: context switches and wake-ups of two CPUs too
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
	NAMES = 256,
	CATEGORIES = 8,
	ARG_NAMES = 2,
	THREADS_MAX = 200,
	PROVIDERS_MAX = 16,
	DEPTH_MAX = 24,
	SECTION = 4096, /* events of a section */
	WORDS = 1 << 17, /* of the buffer */
	ROOM = 16, /* words of the largest record */
	PID = 1000,
};

enum { INSTANT, COUNTER, BEGIN, END, COMPLETE };

struct frame {
	uint64_t start;
	uint16_t name;
};

struct thread {
	struct frame frames[DEPTH_MAX];
	unsigned depth;
};

struct gen {
	FILE *out;
	bool big, at_end, switches;
	unsigned threads, providers;
	uint64_t hz, random, now, written, events;
	uint64_t words[WORDS];
	size_t n;
	struct thread thread[PROVIDERS_MAX][THREADS_MAX];
};

static uint64_t next_random(struct gen *g)
{
	g->random ^= g->random << 13;
	g->random ^= g->random >> 7;
	g->random ^= g->random << 17;
	return g->random;
}

static void flush(struct gen *g)
{
	if (fwrite(g->words, sizeof(uint64_t), g->n, g->out) != g->n) {
		perror("gen-fxt");
		exit(1);
	}
	g->written += g->n * sizeof(uint64_t);
	g->n = 0;
}

static void word(struct gen *g, uint64_t w)
{
	g->words[g->n++] = g->big ? __builtin_bswap64(w) : w;
}

static void text(struct gen *g, const char *s)
{
	const size_t len = strlen(s);

	memset(&g->words[g->n], 0, (len + 7) / 8 * 8);
	memcpy(&g->words[g->n], s, len);
	g->n += (len + 7) / 8;
}

static void string_record(struct gen *g, unsigned index, const char *s)
{
	const uint64_t len = strlen(s);

	word(g, 2 | (1 + (len + 7) / 8) << 4 | (uint64_t)index << 16 | len << 32);
	text(g, s);
}

/* Strings 1 .. CATEGORIES, then names, then names of arguments. */
static void provider(struct gen *g, unsigned p)
{
	char s[40];
	uint64_t len = (uint64_t)snprintf(s, sizeof(s), "provider-%u", p);

	word(g, (1 + (len + 7) / 8) << 4 | 1 << 16 | (uint64_t)p << 20 | len << 52);
	text(g, s);
	word(g, 1 | 2 << 4);
	word(g, g->hz);
	for (unsigned i = 1; i <= CATEGORIES; i++) {
		snprintf(s, sizeof(s), "category%u", i);
		string_record(g, i, s);
	}
	for (unsigned i = 0; i < NAMES; i++) {
		snprintf(s, sizeof(s), "component%u::Operation%u", i % 16, i);
		string_record(g, CATEGORIES + 1 + i, s);
	}
	string_record(g, CATEGORIES + 1 + NAMES, "count");
	string_record(g, CATEGORIES + 2 + NAMES, "size");
	for (unsigned t = 0; t < g->threads; t++) {
		word(g, 3 | 3 << 4 | (uint64_t)(t + 1) << 16);
		word(g, PID + p);
		word(g, PID * 10 + p * THREADS_MAX + t);
		flush(g);
	}
}

static void event(struct gen *g, unsigned type, unsigned thread, unsigned name, uint64_t ts,
		  uint64_t end)
{
	const uint64_t r = next_random(g);
	const uint64_t args = r % 3 ? 0 : 2, size = 2u + (args ? 3u : 0u) + (type == COMPLETE);

	word(g, 4 | size << 4 | (uint64_t)type << 16 | args << 20 | (uint64_t)(thread + 1) << 24 |
			(uint64_t)(1 + name % CATEGORIES) << 32 |
			(uint64_t)(CATEGORIES + 1 + name) << 48);
	word(g, ts);
	if (args) {
		word(g, 1 | 1 << 4 | (uint64_t)(CATEGORIES + 1 + NAMES) << 16 |
				(r >> 8 & 0xffff) << 32);
		word(g, 4 | 2 << 4 | (uint64_t)(CATEGORIES + 2 + NAMES) << 16);
		word(g, r >> 16);
	}
	if (type == COMPLETE)
		word(g, end);
	g->events++;
	if (g->n > WORDS - ROOM)
		flush(g);
}

static void switch_record(struct gen *g, unsigned p, unsigned from, unsigned to)
{
	const uint64_t base = PID * 10 + p * THREADS_MAX;

	word(g, 8 | 4 << 4 | (uint64_t)(p & 1) << 20 | UINT64_C(3) << 36 | UINT64_C(1) << 60);
	word(g, g->now);
	word(g, base + from);
	word(g, base + to);
	word(g, 8 | 3 << 4 | (uint64_t)(p & 1) << 20 | UINT64_C(2) << 60);
	word(g, g->now + 1);
	word(g, base + from);
	g->events += 2;
}

/* One thread does something. */
static void step(struct gen *g, unsigned p, unsigned t)
{
	struct thread *k = &g->thread[p][t];
	const uint64_t r = next_random(g), before = g->now;
	struct frame *f;

	g->now += 20 + r % 180;
	if (k->depth && (r >> 20) % 3 == 0) {
		f = &k->frames[--k->depth];
		event(g, g->at_end ? COMPLETE : END, t, f->name, g->at_end ? f->start : g->now,
		      g->now);
	} else if (k->depth == DEPTH_MAX || (r >> 24) % 3 == 0) {
		event(g, COMPLETE, t, (unsigned)(r >> 32) % NAMES, before + 1, g->now - 1);
	} else {
		f = &k->frames[k->depth++];
		*f = (struct frame){ .start = g->now, .name = (uint16_t)((r >> 40) % NAMES) };
		if (!g->at_end)
			event(g, BEGIN, t, f->name, g->now, 0);
	}
}

static void generate(struct gen *g, uint64_t events)
{
	unsigned thread = 0;

	word(g, UINT64_C(0x0016547846040010));
	for (unsigned p = 0; p < g->providers; p++)
		provider(g, p + 1);
	for (unsigned p = 0; g->events < events; p = (p + 1) % g->providers) {
		if (g->providers > 1)
			word(g, 1 << 4 | 2 << 16 | (uint64_t)(p + 1) << 20);
		for (uint64_t i = 0; i < SECTION && g->events < events; i++) {
			const unsigned from = thread;

			if (next_random(g) % 8 == 0)
				thread = (unsigned)(next_random(g) % g->threads);
			if (g->switches && from != thread)
				switch_record(g, p + 1, from, thread);
			step(g, p, thread);
		}
	}
	flush(g);
}

/* False: to be told how. */
static bool take_options(struct gen *g, int argc, char **argv, uint64_t *events)
{
	int c;

	while ((c = getopt(argc, argv, "n:t:p:z:s:ebw")) != -1) {
		switch (c) {
		case 'n':
			*events = strtoull(optarg, NULL, 10);
			break;
		case 't':
			g->threads = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'p':
			g->providers = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'z':
			g->hz = strtoull(optarg, NULL, 10);
			break;
		case 's':
			g->random ^= strtoull(optarg, NULL, 10) * UINT64_C(0x9E3779B97F4A7C15);
			break;
		case 'e':
			g->at_end = true;
			break;
		case 'b':
			g->big = true;
			break;
		case 'w':
			g->switches = true;
			break;
		default:
			return false;
		}
	}
	return optind + 1 == argc && g->threads && g->threads <= THREADS_MAX && g->providers &&
	       g->providers < PROVIDERS_MAX && g->hz && g->random;
}

int main(int argc, char **argv)
{
	struct gen *g = calloc(1, sizeof(*g));
	uint64_t events = 19000000;

	if (!g)
		return 1;
	g->threads = 8;
	g->providers = 1;
	g->hz = 1000000000;
	g->random = 88172645463325252;
	g->now = 1000000;
	if (!take_options(g, argc, argv, &events)) {
		fprintf(stderr,
			"usage: gen-fxt [-n EVENTS] [-t THREADS] [-p PROVIDERS] [-z HZ] [-s SEED] "
			"[-e] [-b] [-w] FILE\n");
		return 2;
	}
	g->out = fopen(argv[optind], "wb");
	if (!g->out) {
		fprintf(stderr, "gen-fxt: %s: %s\n", argv[optind], strerror(errno));
		return 1;
	}
	generate(g, events);
	if (fclose(g->out) != 0) {
		perror("gen-fxt");
		return 1;
	}
	printf("%" PRIu64 " events, %" PRIu64 " bytes\n", g->events, g->written);
	free(g);
	return 0;
}
