/*
 * Makes an XRay flight data recorder log (version 5, little endian) of any size: the same bytes for
 * the same options, on every machine. Or, with -c, the C program whose functions the log is of, to
 * be compiled with -fxray-instrument.
 *
 *	gen-xray [-n RECORDS-PER-THREAD] [-t THREADS] [-b BUFFER-BYTES] [-s SEED] FILE
 *	gen-xray -c FILE.c
 *
 * It plays a program of 300 functions (a quarter with C++ names) whose calls are loops and
 * conditions, some taken always, some at random, a few of them tail calls. The threads take turns
 * on two CPUs in slices of 1 to 4 ms.
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
	FUNCS = 300,
	INNER = 170, /* the rest are leaves */
	FIRST = 2, /* 0 is main, 1 what the other threads begin with */
	LEVELS = 28, /* an inner function calls those of deeper levels */
	SITES = 4,
	DEPTH_MAX = 30,
	CPUS = 2,
	THREADS_MAX = 64,
	PID = 4000,
	PREAMBLE = 64, /* NewBuffer, WallTime, Pid, NewCPUId */
	BUFFER_MIN = 256,
	ALWAYS = 256,
};

enum { KIND_ENTER, KIND_EXIT, KIND_TAIL };
enum {
	META_BUFFER = 0,
	META_CPU = 2,
	META_WRAP = 3,
	META_TIME = 4,
	META_EXTENTS = 7,
	META_PID = 9
};

static const uint64_t hz = 2596142000, start_tsc = 1000000000000;

struct site {
	uint16_t callee;
	uint16_t chance; /* of ALWAYS */
	uint8_t times; /* most calls; exactly that number unless `varies` */
	bool varies;
};

struct func {
	struct site sites[SITES];
	uint8_t nsites;
	uint8_t cost; /* ticks, about, between two records */
	uint16_t tail; /* what it jumps to at its end; 0: it returns */
	char symbol[48];
};

struct frame {
	uint16_t func;
	uint8_t site, left; /* calls still to make at this site */
};

struct thread {
	int tid;
	uint64_t rng, left; /* records to write */
	uint64_t now, base; /* ticks; base: of the record before */
	unsigned cpu, written_cpu;
	uint32_t depth;
	struct frame stack[DEPTH_MAX + 2];
	uint8_t *buffer;
	size_t used;
};

struct gen {
	FILE *out;
	uint64_t records, seed;
	size_t buffer_size;
	unsigned nthreads;
	struct func funcs[FUNCS];
	struct thread threads[THREADS_MAX];
};

static void die(const char *what)
{
	fprintf(stderr, "gen-xray: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static uint32_t rnd_below(uint64_t *s, uint32_t n)
{
	return (uint32_t)((rnd(s) >> 32) * n >> 32);
}

/* Small numbers more often: a few functions are called most. */
static uint32_t rnd_skewed(uint64_t *s, uint32_t n)
{
	const uint32_t a = rnd_below(s, n), b = rnd_below(s, n), c = rnd_below(s, n);
	const uint32_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* --- the program */

static void name_func(struct func *f, unsigned i)
{
	static const char *const words[] = { "parse", "read",  "update", "lookup",
					     "merge", "flush", "visit",	 "emit" };
	const char *w = words[i % 8];

	if (i == 0)
		strcpy(f->symbol, "main");
	else if (i == 1)
		strcpy(f->symbol, "worker");
	else if (i % 4 == 3)
		snprintf(f->symbol, sizeof(f->symbol), "_ZN4work5Stage%zu%s_%uEiPKc",
			 strlen(w) + 1 +
				 (i < 10    ? 1
				  : i < 100 ? 2
					    : 3),
			 w, i);
	else
		snprintf(f->symbol, sizeof(f->symbol), "%s_%u", w, i);
}

static unsigned inner_of_level(uint64_t *s, unsigned level)
{
	const unsigned per = (INNER - FIRST) / LEVELS;

	return FIRST + level * per + rnd_below(s, per);
}

static uint16_t pick_callee(uint64_t *s, unsigned level)
{
	level += 1 + rnd_below(s, 2);
	return (uint16_t)(level < LEVELS ? inner_of_level(s, level)
					 : INNER + rnd_skewed(s, FUNCS - INNER));
}

/* One call down that always happens, one that may, and loops over leaves. */
static void make_inner(uint64_t *s, struct func *f, unsigned level)
{
	f->nsites = SITES;
	f->sites[0] = (struct site){ .callee = (uint16_t)(INNER + rnd_skewed(s, FUNCS - INNER)),
				     .chance = ALWAYS,
				     .times = (uint8_t)(1 + rnd_below(s, 6)) };
	f->sites[1] =
		(struct site){ .callee = pick_callee(s, level), .chance = ALWAYS, .times = 1 };
	f->sites[2] = (struct site){ .callee = pick_callee(s, level),
				     .chance = (uint16_t)(16 + rnd_below(s, 128)),
				     .times = 1 };
	f->sites[3] = (struct site){ .callee = (uint16_t)(INNER + rnd_skewed(s, FUNCS - INNER)),
				     .chance = (uint16_t)(rnd_below(s, 2) ? ALWAYS
									  : 32 + rnd_below(s, 192)),
				     .times = (uint8_t)(1 + rnd_below(s, 5)),
				     .varies = true };
}

static void make_program(struct gen *g)
{
	uint64_t s = 0x9E3779B97F4A7C15;

	for (unsigned i = 0; i < FUNCS; i++) {
		struct func *f = &g->funcs[i];
		const unsigned level = (i - FIRST) * LEVELS / (INNER - FIRST);

		name_func(f, i);
		f->cost = (uint8_t)(50 + rnd_below(&s, 150));
		if (i < FIRST || i >= INNER)
			continue;
		make_inner(&s, f, level);
		if (i % 40 == 37)
			f->sites[2].callee = (uint16_t)i;
		if (i % 16 == 5)
			f->tail = (uint16_t)(INNER + rnd_skewed(&s, FUNCS - INNER));
	}
}

/* Function ids count in the order of the source. */
static void write_program(const struct gen *g)
{
	fputs("/* The functions of the generated XRay log, in the order of their ids. */\n",
	      g->out);
	for (unsigned i = 0; i < FUNCS; i++) {
		const char *type = i ? "void" : "int", *name = i ? "f" : "main";

		if (i)
			fprintf(g->out, "void f%u(void) __asm__(\"%s\");\n", i, g->funcs[i].symbol);
		fprintf(g->out, "__attribute__((xray_always_instrument)) %s %s", type, name);
		if (i)
			fprintf(g->out, "%u", i);
		fprintf(g->out, "(void) { %s}\n", i ? "" : "return 0; ");
	}
}

/* --- records */

static void put_le(uint8_t *p, uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static void make_meta(uint8_t p[16], unsigned kind)
{
	memset(p, 0, 16);
	p[0] = (uint8_t)(kind << 1 | 1);
}

static uint8_t *put_meta(struct thread *t, unsigned kind)
{
	uint8_t *p = t->buffer + t->used;

	make_meta(p, kind);
	t->used += 16;
	return p + 1;
}

static void put_cpu(struct thread *t)
{
	uint8_t *p = put_meta(t, META_CPU);

	put_le(p, t->cpu, 2);
	put_le(p + 2, t->now, 8);
	t->written_cpu = t->cpu;
	t->base = t->now;
}

static void begin_buffer(struct thread *t)
{
	uint8_t *p;

	put_le(put_meta(t, META_BUFFER), (uint64_t)t->tid, 4);
	p = put_meta(t, META_TIME);
	put_le(p, t->now / hz, 8);
	put_le(p + 8, t->now % hz * 1000000 / hz, 4);
	put_le(put_meta(t, META_PID), PID, 4);
	put_cpu(t);
}

static void flush_buffer(struct gen *g, struct thread *t)
{
	uint8_t extents[16];

	make_meta(extents, META_EXTENTS);
	put_le(extents + 1, t->used, 8);
	if (fwrite(extents, sizeof(extents), 1, g->out) != 1 ||
	    fwrite(t->buffer, t->used, 1, g->out) != 1)
		die("write");
	t->used = 0;
}

static void put_record(struct gen *g, struct thread *t, unsigned kind, unsigned func)
{
	const uint64_t r = rnd(&t->rng);
	uint64_t w;

	t->now += g->funcs[func].cost + (r & 31);
	if ((r >> 8 & 255) == 0)
		t->now += r >> 16 & 4095;
	if (t->used + 24 > g->buffer_size)
		flush_buffer(g, t);
	if (!t->used) {
		begin_buffer(t);
	} else if (t->cpu != t->written_cpu) {
		put_cpu(t);
	} else if (t->now - t->base > INT32_MAX) {
		put_le(put_meta(t, META_WRAP), t->now, 8);
		t->base = t->now;
	}
	w = kind << 1 | (uint64_t)(func + 1) << 4 | (t->now - t->base) << 32;
	put_le(t->buffer + t->used, w, 8);
	t->used += 8;
	t->base = t->now;
	t->left--;
}

static void enter(struct gen *g, struct thread *t, unsigned func)
{
	put_record(g, t, KIND_ENTER, func);
	t->depth++;
	t->stack[t->depth] = (struct frame){ .func = (uint16_t)func, .site = UINT8_MAX };
}

static void leave(struct gen *g, struct thread *t)
{
	const unsigned func = t->stack[t->depth].func, tail = g->funcs[func].tail;
	const bool jumps = tail && t->left > t->depth + 3;

	t->depth--;
	put_record(g, t, jumps ? KIND_TAIL : KIND_EXIT, func);
	if (jumps)
		enter(g, t, tail);
}

/* Whether the function makes one more call, at top->site. */
static bool goes_on(struct thread *t, const struct func *f, struct frame *top)
{
	while (!top->left) {
		const struct site *s = &f->sites[++top->site];

		if (top->site >= f->nsites)
			return false;
		if (s->chance == ALWAYS || rnd_below(&t->rng, ALWAYS) < s->chance)
			top->left =
				s->varies ? (uint8_t)(1 + rnd_below(&t->rng, s->times)) : s->times;
	}
	top->left--;
	return true;
}

/*
 * Runs a thread until `until`, or to its end. The first function keeps calling until only the
 * returns are left.
 */
static void run_slice(struct gen *g, struct thread *t, uint64_t until)
{
	while (t->left && t->now < until) {
		struct frame *top = &t->stack[t->depth];
		const struct func *f = &g->funcs[top->func];

		if (t->depth == 0)
			enter(g, t, t == g->threads ? 0 : 1);
		else if (t->left <= t->depth + 1)
			put_record(g, t, KIND_EXIT, t->stack[t->depth--].func);
		else if (t->depth == 1)
			enter(g, t, inner_of_level(&t->rng, rnd_skewed(&t->rng, LEVELS)));
		else if (t->depth < DEPTH_MAX && goes_on(t, f, top))
			enter(g, t, f->sites[top->site].callee);
		else
			leave(g, t);
	}
}

/* The CPU that is behind in time takes the thread that waited longest. */
static void run(struct gen *g)
{
	struct thread *queue[THREADS_MAX];
	uint64_t cpu_time[CPUS] = { start_tsc, start_tsc + 1800 }, s = g->seed | 1;
	unsigned head = 0, ready = g->nthreads;

	for (unsigned i = 0; i < g->nthreads; i++)
		queue[i] = &g->threads[i];
	while (ready) {
		const unsigned cpu = cpu_time[0] <= cpu_time[1] ? 0 : 1;
		struct thread *t = queue[head];

		head = (head + 1) % g->nthreads;
		t->cpu = cpu;
		t->now = (t->now > cpu_time[cpu] ? t->now : cpu_time[cpu]) + 800;
		run_slice(g, t, t->now + hz / 1000 + rnd_below(&s, (uint32_t)(3 * hz / 1000)));
		cpu_time[cpu] = t->now + 3000;
		if (t->left)
			queue[(head + ready - 1) % g->nthreads] = t;
		else
			ready--;
	}
}

static void make_log(struct gen *g)
{
	uint8_t head[32] = { 5, 0, 1, 0, 3 };

	put_le(head + 8, hz, 8);
	put_le(head + 16, g->buffer_size, 8);
	if (fwrite(head, sizeof(head), 1, g->out) != 1)
		die("write");
	for (unsigned i = 0; i < g->nthreads; i++) {
		struct thread *t = &g->threads[i];

		t->tid = PID + (int)i;
		t->rng = (g->seed + i + 1) * 0x9E3779B97F4A7C15 | 1;
		t->left = g->records;
		t->buffer = malloc(g->buffer_size);
		if (!t->buffer)
			die("buffer");
	}
	run(g);
	for (unsigned i = 0; i < g->nthreads; i++) {
		if (g->threads[i].used)
			flush_buffer(g, &g->threads[i]);
		free(g->threads[i].buffer);
	}
}

int main(int argc, char **argv)
{
	static struct gen g = {
		.records = 17000000, .nthreads = 4, .seed = 1, .buffer_size = 16384
	};
	bool program = false;
	int c;

	while ((c = getopt(argc, argv, "n:t:b:s:c")) != -1) {
		if (c == 'n')
			g.records = strtoull(optarg, NULL, 10) & ~(uint64_t)1;
		else if (c == 't')
			g.nthreads = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'b')
			g.buffer_size = strtoull(optarg, NULL, 10);
		else if (c == 's')
			g.seed = strtoull(optarg, NULL, 10);
		else if (c == 'c')
			program = true;
		else
			return 2;
	}
	if (optind + 1 != argc || g.nthreads < 1 || g.nthreads > THREADS_MAX || g.records < 2 ||
	    g.buffer_size < BUFFER_MIN || g.buffer_size > INT32_MAX) {
		fputs("usage: gen-xray [-n RECORDS-PER-THREAD] [-t THREADS] [-b BUFFER-BYTES] [-s "
		      "SEED] FILE\n"
		      "       gen-xray -c FILE.c\n",
		      stderr);
		return 2;
	}
	g.out = fopen(argv[optind], "wb");
	if (!g.out)
		die(argv[optind]);
	setvbuf(g.out, NULL, _IOFBF, 1 << 20);
	make_program(&g);
	if (program)
		write_program(&g);
	else
		make_log(&g);
	if (ferror(g.out) || fclose(g.out))
		die("write");
	return 0;
}
