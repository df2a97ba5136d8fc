/*
 * Makes a uftrace data directory of any size: the same bytes for the same options, on every
 * machine.
 *
 *	gen-uftrace [-n RECORDS-PER-THREAD] [-t THREADS] [-s SEED] [-a] DIR
 *
 * It plays a program of 320 functions in two modules (a quarter with C++ names) and 16 library
 * calls, on two CPUs that take turns with the threads in slices of 1 to 4 ms; the switches are in
 * perf-cpu0.dat and perf-cpu1.dat. -a gives every eighth function arguments and a return value, so
 * that records have payloads.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FUNCS = 320,
	APP_FUNCS = 200, /* the rest is in the library */
	LIBCALLS = 16,
	CALLEES = 4,
	/* a function calls those of deeper levels, so this bounds the depth (without recursion) */
	LEVELS = 16,
	DEPTH_MAX = 40,
	CPUS = 2,
	THREADS_MAX = 64,
	BUFFER = 1 << 20,
	ROOM = 64, /* the largest record with payload */
	PID = 4000,
	SWITCH_OUT = 0x2000,
	PREEMPTED = 0x4000,
	PERF_COMM = 3,
	PERF_EXIT = 4,
	PERF_FORK = 7,
	PERF_SWITCH = 14,
};

static const uint64_t app_base = 0x555555554000, lib_base = 0x7ffff7c00000,
		      stack_base = 0x7ffffffde000;
static const uint64_t start_time = 1000000000000;
static const char sid[] = "5eed5eed5eed5eed";
static const char *const app_path = "/opt/bench/app", *const lib_path =
							      "/opt/bench/lib/libwork.so.1";
static const char app_id[] = "0123456789abcdef0123456789abcdef01234567";
static const char lib_id[] = "89abcdef0123456789abcdef0123456789abcdef";
static const char *const libcalls[LIBCALLS] = {
	"malloc",
	"free",
	"memcpy",
	"memset",
	"strlen",
	"strcmp",
	"pthread_mutex_lock",
	"pthread_mutex_unlock",
	"read",
	"write",
	"clock_gettime",
	"qsort",
	"snprintf",
	"realloc",
	"memchr",
	"strtol",
};

struct func {
	uint64_t addr; /* in its module, as in the .sym file */
	uint64_t ip; /* as recorded */
	uint32_t size;
	uint16_t callees[CALLEES];
	uint8_t ncallees; /* 0: a leaf */
	uint8_t cost; /* ns, about, between two records */
	uint8_t calls; /* most calls of one invocation */
	bool args;
	char name[64];
};

struct frame {
	uint16_t func;
	uint16_t left; /* calls still to make */
};

struct thread {
	int tid;
	FILE *out;
	uint64_t rng;
	uint64_t left; /* records to write */
	uint64_t now;
	uint32_t depth;
	struct frame stack[DEPTH_MAX + 1];
};

struct gen {
	const char *dir;
	uint64_t records, seed;
	unsigned nthreads;
	bool args;
	struct func funcs[FUNCS + LIBCALLS];
	struct thread threads[THREADS_MAX];
	FILE *perf[CPUS];
};

static void die(const char *what)
{
	fprintf(stderr, "gen-uftrace: %s: %s\n", what, strerror(errno));
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

static FILE *create(const struct gen *g, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", g->dir, name);
	f = fopen(path, "wb");
	if (!f)
		die(path);
	setvbuf(f, NULL, _IOFBF, BUFFER);
	return f;
}

static void finish(FILE *f)
{
	if (ferror(f) || fclose(f))
		die("write");
}

static void func_name(struct func *f, unsigned i)
{
	static const char *const words[] = { "parse", "read",  "update", "lookup",
					     "merge", "flush", "visit",	 "emit" };
	const char *w = words[i % 8];

	if (i == 0)
		strcpy(f->name, "main");
	else if (i == 1)
		strcpy(f->name, "worker");
	else if (i % 4 == 3)
		snprintf(f->name, sizeof(f->name), "_ZN4work5Stage%zu%s_%uEiPKc",
			 strlen(w) + 1 + (i < 10 ? 1 : i < 100 ? 2 : 3), w, i);
	else
		snprintf(f->name, sizeof(f->name), "%s_%u", w, i);
}

/*
 * Functions of level L call those of levels L+1 to L+3, and library calls; one in 40 may call
 * itself.
 */
static void make_program(struct gen *g)
{
	uint64_t s = g->seed * 0x9E3779B97F4A7C15 | 1, addr = 0x1200;

	for (unsigned i = 0; i < FUNCS; i++) {
		struct func *f = &g->funcs[i];
		const unsigned level = i * LEVELS / FUNCS, per = FUNCS / LEVELS;

		if (i == APP_FUNCS)
			addr = 0x2400;
		f->addr = addr;
		f->size = 24 + 8 * rnd_below(&s, 90);
		f->ip = (i < APP_FUNCS ? app_base : lib_base) + addr + 9;
		addr += (f->size + 15) & ~15u;
		f->cost = (uint8_t)(16 + rnd_below(&s, 64));
		f->calls = (uint8_t)(1 + rnd_below(&s, 4));
		f->args = g->args && i % 8 == 4;
		func_name(f, i);
		if (level == LEVELS - 1 || (level > 3 && rnd_below(&s, 4) == 0))
			continue;
		f->ncallees = CALLEES;
		for (unsigned k = 0; k < CALLEES; k++) {
			const unsigned up = level + 1 + rnd_below(&s, 3);
			const unsigned to =
				(up < LEVELS ? up : LEVELS - 1) * per + rnd_below(&s, per);

			f->callees[k] =
				(uint16_t)(k == CALLEES - 1 ? FUNCS + rnd_below(&s, LIBCALLS) : to);
		}
		if (i % 40 == 37)
			f->callees[0] = (uint16_t)i;
	}
	for (unsigned i = 0; i < LIBCALLS; i++) {
		struct func *f = &g->funcs[FUNCS + i];

		f->addr = 0x1020 + 16 * i;
		f->ip = app_base + f->addr;
		f->size = 16;
		f->cost = (uint8_t)(12 + rnd_below(&s, 100));
		strcpy(f->name, libcalls[i]);
	}
}

/* Without the size column, which Debian's uftrace 0.13 does not know yet. */
static void write_symbols(const struct gen *g)
{
	FILE *app = create(g, "app.sym"), *lib = create(g, "libwork.so.1.sym");

	fprintf(app, "# symbols: %d\n# path name: %s\n# build-id: %s\n", LIBCALLS + APP_FUNCS + 2,
		app_path, app_id);
	fprintf(lib, "# symbols: %d\n# path name: %s\n# build-id: %s\n", FUNCS - APP_FUNCS + 1,
		lib_path, lib_id);
	for (unsigned i = 0; i < LIBCALLS; i++)
		fprintf(app, "%016" PRIx64 " P %s\n", g->funcs[FUNCS + i].addr,
			g->funcs[FUNCS + i].name);
	fprintf(app, "%016" PRIx64 " ? __dynsym_end\n", g->funcs[FUNCS].addr + 16 * LIBCALLS);
	for (unsigned i = 0; i < FUNCS; i++) {
		const struct func *f = &g->funcs[i];

		fprintf(i < APP_FUNCS ? app : lib, "%016" PRIx64 " T %s\n", f->addr, f->name);
		if (i == APP_FUNCS - 1 || i == FUNCS - 1)
			fprintf(i < APP_FUNCS ? app : lib, "%016" PRIx64 " ? __func_end\n",
				f->addr + f->size);
	}
	finish(app);
	finish(lib);
}

static void write_map(const struct gen *g)
{
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "sid-%s.map", sid);
	f = create(g, name);
	fprintf(f,
		"%012" PRIx64 "-%012" PRIx64
		" r-xp 00000000 00:00 0                          %s build-id:%s\n",
		app_base, app_base + 0x20000, app_path, app_id);
	fprintf(f,
		"%012" PRIx64 "-%012" PRIx64
		" r-xp 00000000 00:00 0                          %s build-id:%s\n",
		lib_base, lib_base + 0x20000, lib_path, lib_id);
	fprintf(f,
		"%012" PRIx64 "-%012" PRIx64
		" rw-p 00000000 00:00 0                          [stack]\n",
		stack_base, stack_base + 0x21000);
	finish(f);
}

static void write_tasks(const struct gen *g)
{
	FILE *f = create(g, "task.txt");

	fprintf(f, "SESS timestamp=%" PRIu64 ".%09" PRIu64 " pid=%d sid=%s exename=\"%s\"\n",
		(start_time - 90000) / 1000000000, (start_time - 90000) % 1000000000, PID, sid,
		app_path);
	for (unsigned i = 0; i < g->nthreads; i++)
		fprintf(f, "TASK timestamp=%" PRIu64 ".%09" PRIu64 " tid=%d pid=%d\n",
			(start_time - 80000 + 1000 * i) / 1000000000,
			(start_time - 80000 + 1000 * i) % 1000000000, g->threads[i].tid, PID);
	finish(f);
}

static void put_specs(FILE *f, const struct gen *g)
{
	fputs("argspec:lines=2\nargspec:", f);
	for (unsigned i = 4, n = 0; i < FUNCS; i += 8)
		fprintf(f, "%s%s@arg1/i32,arg2/s", n++ ? ";" : "", g->funcs[i].name);
	fputs("\nretspec:", f);
	for (unsigned i = 4, n = 0; i < FUNCS; i += 8)
		fprintf(f, "%s%s@retval/x64", n++ ? ";" : "", g->funcs[i].name);
	fputs("\n", f);
}

static void write_info(const struct gen *g)
{
	struct {
		char magic[8];
		uint32_t version;
		uint16_t header_size;
		uint8_t endian, class;
		uint64_t features, infos;
		uint16_t max_stack, unused[3];
	} h = {
		.magic = "Ftrace!",
		.version = 4,
		.header_size = 40,
		.endian = 1,
		.class = 2,
		.max_stack = 1024,
		/* PLTHOOK TASK_SESSION SYM_REL_ADDR MAX_STACK PERF_EVENT, and ARGUMENT RETVAL */
		.features = 0x163 | (g->args ? 0x18 : 0),
		.infos = g->args ? 0x3fff : 0x3bff,
	};
	FILE *f = create(g, "info");

	fwrite(&h, sizeof(h), 1, f);
	fprintf(f, "exename:%s\nbuild_id:%s\nexit_status:0\ncmdline:uftrace record %s\n", app_path,
		app_id, app_path);
	fputs("cpuinfo:lines=2\ncpuinfo:nr_cpus=2 / 2 (online/possible)\ncpuinfo:desc=Made by "
	      "gen-uftrace\n"
	      "meminfo:7.0 / 8.0 GB (free / total)\nosinfo:lines=3\nosinfo:kernel=Linux 6.1.0\n"
	      "osinfo:hostname=bench\nosinfo:distro=\"Debian GNU/Linux 12 (bookworm)\"\n",
	      f);
	fprintf(f, "taskinfo:lines=2\ntaskinfo:nr_tid=%u\ntaskinfo:tids=", g->nthreads);
	for (unsigned i = 0; i < g->nthreads; i++)
		fprintf(f, "%s%d", i ? "," : "", g->threads[i].tid);
	fputs("\nusageinfo:lines=6\nusageinfo:systime=0.100000\nusageinfo:usrtime=2.000000\n"
	      "usageinfo:ctxsw=10 / 1000 (voluntary / involuntary)\nusageinfo:maxrss=4096\n"
	      "usageinfo:pagefault=0 / 200 (major / minor)\nusageinfo:iops=0 / 0 (read / write)\n"
	      "loadinfo:1.00 / 1.00 / 1.00\n", f);
	if (g->args)
		put_specs(f, g);
	fputs("record_date:Sat Jan  6 12:00:00 2024\nelapsed_time:2.0 sec\npattern_type:regex\n"
	      "uftrace_version:v0.13\n", f);
	finish(f);
}

static void put_record(struct thread *t, unsigned type, bool more, uint64_t ip)
{
	const uint64_t w[2] = { t->now, type | (more ? 4u : 0u) | 5u << 3 |
						(uint64_t)t->depth << 6 | ip << 16 };

	if (fwrite_unlocked(w, sizeof(w), 1, t->out) != 1)
		die("write");
	t->left--;
}

/* arg1/i32, arg2/s: 4 bytes, then length and text. */
static void put_args(struct thread *t)
{
	static const char text[] = "a realistic name";
	const uint32_t value = rnd_below(&t->rng, 1000);
	const uint16_t len = (uint16_t)(1 + rnd_below(&t->rng, sizeof(text) - 1));
	char b[ROOM] = { 0 };

	memcpy(b, &value, 4);
	memcpy(b + 4, &len, 2);
	memcpy(b + 6, text, len);
	if (fwrite_unlocked(b, (6u + len + 7u) & ~7u, 1, t->out) != 1)
		die("write");
}

static void put_retval(struct thread *t)
{
	const uint64_t v = rnd(&t->rng);

	if (fwrite_unlocked(&v, 8, 1, t->out) != 1)
		die("write");
}

static void put_time(struct thread *t, const struct func *f)
{
	const uint64_t r = rnd(&t->rng);

	t->now += f->cost + (r & 31);
	if ((r >> 8 & 255) == 0)
		t->now += r >> 16 & 4095;
}

static void call(struct gen *g, struct thread *t, unsigned func)
{
	const struct func *f = &g->funcs[func];

	put_time(t, f);
	put_record(t, 0, f->args, f->ip);
	if (f->args)
		put_args(t);
	t->depth++;
	t->stack[t->depth].func = (uint16_t)func;
	t->stack[t->depth].left = 0;
	if (f->ncallees && t->depth < DEPTH_MAX)
		t->stack[t->depth].left = (uint16_t)(1 + rnd_below(&t->rng, f->calls));
}

static void give_back(struct gen *g, struct thread *t)
{
	const struct func *f = &g->funcs[t->stack[t->depth].func];

	put_time(t, f);
	t->depth--;
	put_record(t, 1, f->args, f->ip);
	if (f->args)
		put_retval(t);
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

		if (t->depth == 0) {
			call(g, t, t == g->threads ? 0 : 1);
		} else if (t->left <= t->depth) {
			give_back(g, t);
		} else if (top->left || (t->depth == 1 && t->left >= 3)) {
			if (top->left)
				top->left--;
			call(g, t, f->callees[rnd_below(&t->rng, CALLEES)]);
		} else if (t->depth == 1) {
			t->left = 1;
			give_back(g, t);
		} else {
			give_back(g, t);
		}
	}
}

static void put_switch(FILE *f, unsigned misc, int tid, uint64_t time)
{
	const struct {
		uint32_t type;
		uint16_t misc, size;
		uint32_t pid, tid;
		uint64_t time;
	} r = { PERF_SWITCH, (uint16_t)misc, 24, PID, (uint32_t)tid, time };

	fwrite(&r, sizeof(r), 1, f);
}

static void put_task_event(FILE *f, unsigned type, int tid, uint64_t time)
{
	const struct {
		uint32_t type;
		uint16_t misc, size;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
		uint32_t by_pid, by_tid;
		uint64_t by_time;
	} r = { type,	       0,   48,	  PID, PID,
		(uint32_t)tid, PID, time, PID, (uint32_t)(type == PERF_FORK ? PID : tid),
		time };

	fwrite(&r, sizeof(r), 1, f);
}

static void put_comm(FILE *f, uint64_t time)
{
	const struct {
		uint32_t type;
		uint16_t misc, size;
		uint32_t pid, tid;
		char comm[8];
		uint32_t by_pid, by_tid;
		uint64_t time;
	} r = { PERF_COMM, SWITCH_OUT, 40, PID, PID, "app", PID, PID, time };

	fwrite(&r, sizeof(r), 1, f);
}

/* Two CPUs, one queue of ready threads; the CPU that is behind in time runs next. */
static void run(struct gen *g)
{
	struct thread *queue[THREADS_MAX];
	uint64_t cpu_time[CPUS] = { start_time, start_time + 700 }, s = g->seed | 1;
	unsigned head = 0, ready = g->nthreads;

	for (unsigned i = 0; i < g->nthreads; i++)
		queue[i] = &g->threads[i];
	put_comm(g->perf[0], start_time - 70000);
	for (unsigned i = 1; i < g->nthreads; i++)
		put_task_event(g->perf[0], PERF_FORK, g->threads[i].tid,
			       start_time - 60000 + 1000 * i);
	while (ready) {
		const unsigned cpu = cpu_time[0] <= cpu_time[1] ? 0 : 1;
		struct thread *t = queue[head];
		const uint64_t from = t->now > cpu_time[cpu] ? t->now : cpu_time[cpu];
		const uint64_t until = from + 1000000 + rnd_below(&s, 3000000);

		head = (head + 1) % g->nthreads;
		put_switch(g->perf[cpu], 0, t->tid, from);
		t->now = from + 300;
		run_slice(g, t, until);
		cpu_time[cpu] = t->now + 1200;
		if (t->left) {
			put_switch(g->perf[cpu], SWITCH_OUT | PREEMPTED, t->tid, t->now + 600);
			t->now += 600;
			queue[(head + ready - 1) % g->nthreads] = t;
		} else {
			put_task_event(g->perf[cpu], PERF_EXIT, t->tid, t->now + 500);
			put_switch(g->perf[cpu], SWITCH_OUT, t->tid, t->now + 600);
			ready--;
		}
	}
}

static void make(struct gen *g)
{
	char name[32];

	if (mkdir(g->dir, 0777) && errno != EEXIST)
		die(g->dir);
	make_program(g);
	for (unsigned i = 0; i < g->nthreads; i++) {
		struct thread *t = &g->threads[i];

		t->tid = PID + (int)i;
		snprintf(name, sizeof(name), "%d.dat", t->tid);
		t->out = create(g, name);
		t->rng = (g->seed + i + 1) * 0x9E3779B97F4A7C15 | 1;
		t->left = g->records;
	}
	for (int c = 0; c < CPUS; c++) {
		snprintf(name, sizeof(name), "perf-cpu%d.dat", c);
		g->perf[c] = create(g, name);
	}
	write_symbols(g);
	write_map(g);
	write_tasks(g);
	run(g);
	for (unsigned i = 0; i < g->nthreads; i++)
		finish(g->threads[i].out);
	for (int c = 0; c < CPUS; c++)
		finish(g->perf[c]);
	write_info(g);
}

int main(int argc, char **argv)
{
	static struct gen g = { .records = 16000000, .nthreads = 4, .seed = 1 };
	int c;

	while ((c = getopt(argc, argv, "n:t:s:a")) != -1) {
		if (c == 'n')
			g.records = strtoull(optarg, NULL, 10) & ~(uint64_t)1;
		else if (c == 't')
			g.nthreads = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 's')
			g.seed = strtoull(optarg, NULL, 10);
		else if (c == 'a')
			g.args = true;
		else
			return 2;
	}
	if (optind + 1 != argc || g.nthreads < 1 || g.nthreads > THREADS_MAX || g.records < 2) {
		fputs("usage: gen-uftrace [-n RECORDS-PER-THREAD] [-t THREADS] [-s SEED] [-a] "
		      "DIR\n",
		      stderr);
		return 2;
	}
	g.dir = argv[optind];
	make(&g);
	return 0;
}
