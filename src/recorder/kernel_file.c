/*
 * Files of what the kernel sees, one for each process, as docs/formats/spur.md specifies them. They
 * are mapped, and stored in the order of the tracing library, so that they are good whenever the
 * recorder ends. A chunk is a page.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/os.h"
#include "format/spur/wire.h"
#include "recorder/kernel.h"

enum {
	CHUNK = SPB_CHUNK_LEAST,
	PART_FIRST = 64 << 10,
	PART_MOST = 1 << 20,
	PARTS = 1 << 20,
	THREADS = 1 << 20,
	PATHS = 4096,
	BODY = 1024, /* bytes of a descriptor */
};

/* A record's time is the low half of one that is at most half as far from the one before. */
static const uint64_t TIME_REACH = UINT64_C(1) << 31;

static void store(void *to, uint64_t v)
{
	__atomic_store_n((uint64_t *)to, v, __ATOMIC_RELEASE);
}

uint64_t kernel_now(void)
{
	struct timespec t = { 0 };

	os_clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pair_store(uint8_t *to)
{
	struct timespec real = { 0 };
	const uint64_t mono = kernel_now();

	os_clock_gettime(CLOCK_REALTIME, &real);
	store(to + 8, mono);
	store(to + 16, (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec);
	store(to, mono);
}

/* --- room --- */

/* Maps more of the file. Returns NULL if the disk is full, or out of memory. */
static uint8_t *part_map(struct kernel_file *f, uint64_t off, size_t size)
{
	const int fd = os_open(f->path, O_RDWR | O_CLOEXEC, 0);
	void *p = MAP_FAILED;

	if (fd >= 0 && os_posix_fallocate(fd, (off_t)off, (off_t)size) == 0)
		p = os_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)off);
	if (fd >= 0)
		os_close(fd);
	if (p != MAP_FAILED &&
	    mem_grow((void **)&f->parts, &f->parts_cap, f->nparts + 1, sizeof(*f->parts), PARTS)) {
		f->parts[f->nparts++] = (struct kernel_part){ p, size };
		return p;
	}
	if (p != MAP_FAILED)
		os_munmap(p, size);
	return NULL;
}

/* Begins a chunk for a thread, or for descriptors with `th` NULL. Returns NULL if out of room. */
static uint8_t *chunk_new(struct kernel_file *f, const struct kernel_thread *th, uint64_t time)
{
	const uint16_t kinds[] = { th ? SPB_CHUNK_RECORDS : SPB_CHUNK_DESCRIPTORS, SPB_OPEN };
	const uint32_t magic = SPB_CHUNK_MAGIC;
	uint8_t *p;

	if (f->free == f->free_end) {
		const size_t size = f->size > PART_MOST ? PART_MOST : PART_FIRST;

		p = part_map(f, f->size, size);
		if (!p)
			return NULL;
		f->size += size;
		f->free = p;
		f->free_end = p + size;
	}
	p = f->free;
	f->free += CHUNK;
	memcpy(p, &magic, sizeof(magic));
	memcpy(p + SPB_KIND_AT, kinds, sizeof(kinds));
	if (th) {
		const uint32_t ids[] = { (uint32_t)th->tid, th->number };

		memcpy(p + SPB_TID_AT, ids, sizeof(ids));
	}
	store(p + SPB_OPEN_AT, time);
	store(p + SPB_OPEN_AT + 8, time);
	store(f->head + SPB_TAKEN_AT, ++f->sequence);
	store(p + SPB_SEQUENCE_AT, f->sequence);
	return p;
}

static void chunk_close(uint8_t *p, uint64_t time)
{
	const uint16_t state = SPB_FULL;

	store(p + SPB_CLOSE_AT + 8, time);
	store(p + SPB_CLOSE_AT, time);
	memcpy(p + SPB_STATE_AT, &state, sizeof(state));
}

/* --- descriptors --- */

struct body {
	uint8_t bytes[BODY];
	size_t len;
};

static void put(struct body *b, uint64_t v, size_t size)
{
	memcpy(b->bytes + b->len, &v, size);
	b->len += size;
}

static void put_text(struct body *b, const char *s)
{
	const size_t len = strnlen(s, 200);

	put(b, len, 2);
	memcpy(b->bytes + b->len, s, len);
	b->len += len;
}

static struct body body_begin(uint32_t type)
{
	struct body b = { .len = 4 };

	put(&b, type, 4);
	return b;
}

static void describe(struct kernel_file *f, struct body *b)
{
	const size_t size = align_up(b->len, SPB_WORD);

	memset(b->bytes + b->len, 0, size - b->len);
	if (!f->head)
		return;
	if ((size_t)(f->described_end - f->described) < size) {
		uint8_t *const p = chunk_new(f, NULL, kernel_now());

		if (!p)
			return;
		f->described = p + SPB_CHUNK_HEAD;
		f->described_end = p + CHUNK;
	}
	memcpy(f->described + 4, b->bytes + 4, size - 4);
	__atomic_store_n((uint32_t *)(void *)f->described, (uint32_t)size, __ATOMIC_RELEASE);
	f->described += size;
}

static void site_describe(struct kernel_file *f, uint32_t number, uint8_t kind, const char *name,
			  const char *args)
{
	/* Types, each with a letter that stands for the name. */
	static const char *const names[] = { ['a'] = "address", ['i'] = "ip", ['m'] = "major",
					     ['v'] = "value" };
	static const uint8_t types[] = { ['a'] = SPB_POINTER, ['i'] = SPB_POINTER,
					 ['m'] = SPB_BOOL, ['v'] = SPB_U64 };
	struct body b = body_begin(SPB_SITE);

	put(&b, number, 4);
	put(&b, kind, 1);
	put(&b, strlen(args), 1);
	put(&b, number == KERNEL_EXIT ? (uint64_t)SPB_HAS_MARKS << 8 : 0, 2);
	put(&b, 0, 4);
	put_text(&b, "kernel");
	put_text(&b, name);
	put_text(&b, "");
	for (; *args; args++) {
		put(&b, types[(unsigned char)*args], 1);
		put_text(&b, names[(unsigned char)*args]);
	}
	describe(f, &b);
}

void kernel_file_name(struct kernel_file *f, int64_t tid, const char *name)
{
	const struct kernel_thread *const th = kernel_file_thread(f, tid);
	struct body b = body_begin(SPB_THREAD_NAME);

	if (!th)
		return;
	put(&b, th->number, 8);
	put_text(&b, name);
	describe(f, &b);
}

/* --- the header --- */

static unsigned hex_digit(char c)
{
	return c >= 'a' ? (unsigned)(c - 'a') + 10 : (unsigned)(c - '0');
}

static ssize_t file_read(const char *path, char *to, size_t room)
{
	const int fd = os_open(path, O_RDONLY | O_CLOEXEC, 0);
	const ssize_t n = fd < 0 ? -1 : os_read(fd, to, room - 1);

	if (fd >= 0)
		os_close(fd);
	to[n > 0 ? n : 0] = '\0';
	return n;
}

static void boot_read(uint8_t *to)
{
	char id[64];
	unsigned n = 0;

	file_read("/proc/sys/kernel/random/boot_id", id, sizeof(id));
	for (const char *p = id; *p && *p != '\n' && n < 2 * SPB_BOOT_SIZE; p++)
		if (*p != '-') {
			to[n / 2] = (uint8_t)((unsigned)to[n / 2] << 4 | hex_digit(*p));
			n++;
		}
}

/* Field 22 of /proc/PID/stat: when the process was started, in clock ticks since boot. */
static uint64_t kernel_start_time(pid_t pid)
{
	char path[64], line[1024], *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (file_read(path, line, sizeof(line)) <= 0)
		return 0;
	p = strrchr(line, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

bool kernel_line(const char *path, char *to, size_t room)
{
	const ssize_t n = file_read(path, to, room);

	to[strcspn(to, "\n")] = '\0';
	return n > 0;
}

int32_t *kernel_threads(pid_t pid, size_t *count)
{
	int32_t *tids = NULL;
	size_t cap = 0;
	char path[64];
	const struct dirent *e;
	DIR *dir;

	*count = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = os_opendir(path);
	while (dir && (e = os_readdir(dir))) {
		const long tid = strtol(e->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		if (!mem_grow((void **)&tids, &cap, *count + 1, sizeof(*tids), THREADS))
			break;
		tids[(*count)++] = (int32_t)tid;
	}
	if (dir)
		os_closedir(dir);
	return tids;
}

static void head_fill(const struct kernel_file *f, uint64_t start)
{
	const uint32_t words[] = { CHUNK, SPB_OBSERVED, (uint32_t)f->pid };
	const uint32_t clock = SPB_CLOCK_MONOTONIC, own = (uint32_t)os_getpid();
	uint8_t *const h = f->head;
	char path[64];

	memcpy(h + SPB_CHUNK_SIZE_AT, words, sizeof(words));
	memcpy(h + SPB_CLOCK_AT, &clock, sizeof(clock));
	memcpy(h + SPB_RECORDER_AT, &own, sizeof(own));
	store(h + SPB_START_TIME_AT, start);
	store(h + SPB_HZ_AT, 1000000000);
	pair_store(h + SPB_BEGIN_AT);
	boot_read(h + SPB_BOOT_AT);
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)f->pid);
	kernel_line(path, (char *)h + SPB_PROGRAM_AT, SPB_ARGUMENTS_AT - SPB_PROGRAM_AT);
	store(h, SPB_MAGIC);
}

void kernel_file_program(struct kernel_file *f, const char *name, const struct kernel_file *parent)
{
	char *const own = f->head ? (char *)f->head + SPB_PROGRAM_AT : NULL;

	if (!own || (!name && (*own || !parent || !parent->head)))
		return;
	if (!name)
		name = (const char *)parent->head + SPB_PROGRAM_AT;
	snprintf(own, SPB_ARGUMENTS_AT - SPB_PROGRAM_AT, "%s", name);
}

/* PID-STARTTIME.system.spb, with a number before .system if that exists: see SPEC spur/observed */
static bool file_make(struct kernel_file *f, const char *dir)
{
	const uint64_t start = kernel_start_time(f->pid);
	char path[PATHS];
	int fd = -1;

	for (unsigned i = 0; i < 1000 && fd < 0; i++) {
		char number[16] = "";

		if (i)
			snprintf(number, sizeof(number), "-%u", i);
		snprintf(path, sizeof(path), "%s/%d-%llu%s.system%s", dir, (int)f->pid,
			 (unsigned long long)start, number, ".spb");
		fd = os_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	f->path = fd < 0 ? NULL : mem_alloc(strlen(path) + 1);
	if (fd >= 0)
		os_close(fd);
	if (!f->path)
		return false;
	strcpy(f->path, path);
	f->head = part_map(f, 0, SPB_HEADER);
	f->size = SPB_HEADER;
	if (f->head)
		head_fill(f, start);
	return f->head;
}

struct kernel_file *kernel_file_new(const char *dir, pid_t pid, uint64_t counters)
{
	struct kernel_file *const f = mem_alloc(sizeof(*f));
	struct body b = body_begin(SPB_TRACK);

	if (!f)
		return NULL;
	f->pid = pid;
	if (!file_make(f, dir))
		return f;
	site_describe(f, KERNEL_EXIT, SPB_SITE_SWITCH, "thread exit", "");
	site_describe(f, KERNEL_FAULT, SPB_SITE_INSTANT, "page fault", "aim");
	for (unsigned i = 0; counters >> i && i < 64; i++)
		if (counters >> i & 1)
			site_describe(f, KERNEL_COUNTERS + i, SPB_SITE_COUNTER,
				      kernel_counter_name(i), "v");
	/* The process is thread 1: counters are its own. */
	if (!kernel_file_thread(f, 0))
		return f;
	put(&b, 1, 4);
	put(&b, 0, 8);
	put(&b, UINT32_MAX, 4);
	put(&b, (uint64_t)pid, 8);
	put(&b, UINT64_MAX, 8);
	put_text(&b, "");
	describe(f, &b);
	return f;
}

/* --- records --- */

struct kernel_thread *kernel_file_thread(struct kernel_file *f, int64_t tid)
{
	struct map64_slot *const slot = map64_put(&f->by_tid, (uint64_t)tid);

	if (!slot)
		return NULL;
	if (slot->value)
		return &f->threads[slot->value - 1];
	if (!mem_grow((void **)&f->threads, &f->threads_cap, f->nthreads + 1, sizeof(*f->threads),
		      THREADS))
		return NULL;
	f->threads[f->nthreads] =
		(struct kernel_thread){ .tid = tid, .number = (uint32_t)f->nthreads + 1 };
	slot->value = ++f->nthreads;
	f->nalive += tid != 0;
	return &f->threads[f->nthreads - 1];
}

void kernel_file_lost(struct kernel_file *f, uint64_t n)
{
	uint64_t lost;

	if (!f->head)
		return;
	memcpy(&lost, f->head + SPB_LOST_AT, sizeof(lost));
	store(f->head + SPB_LOST_AT, lost + n);
}

/* The record's place. Returns NULL if there is no room. */
static uint8_t *place_for(struct kernel_file *f, struct kernel_thread *th,
			  const struct kernel_record *r, size_t size)
{
	uint8_t *at;

	if (th->chunk && (size_t)(th->chunk + CHUNK - th->at) < size) {
		chunk_close(th->chunk, th->last > r->time ? th->last : r->time);
		th->chunk = NULL;
	}
	if (!th->chunk) {
		th->chunk = chunk_new(f, th, r->time);
		if (!th->chunk)
			return NULL;
		th->at = th->chunk + SPB_CHUNK_HEAD;
	}
	at = th->at;
	th->at += size;
	return at;
}

static void commit(uint8_t *at, const struct kernel_record *r)
{
	const uint64_t words = r->words;

	if (words) {
		store(at, SPB_RESERVED | words << 4 | words << 32);
		memcpy(at + SPB_WORD, r->payload, words * SPB_WORD);
	}
	store(at, r->kind | words << 4 | (uint64_t)r->id << 8 | r->time << 32);
}

void kernel_file_put(struct kernel_file *f, int64_t tid, const struct kernel_record *r)
{
	struct kernel_thread *const th = f->head ? kernel_file_thread(f, tid) : NULL;
	const struct kernel_record sync = {
		.time = r->time, .kind = SPB_TIME, .words = 1, .payload = { r->time }
	};
	uint64_t size = (1 + (uint64_t)r->words) * SPB_WORD;
	uint8_t *at;
	bool far;

	if (!f->head)
		return;
	far = th && th->chunk &&
	      (r->time - th->last >= TIME_REACH / 2 && th->last - r->time >= TIME_REACH / 2);
	size += far ? 2 * SPB_WORD : 0;
	at = th ? place_for(f, th, r, size) : NULL;
	if (!at) {
		kernel_file_lost(f, 1);
		return;
	}
	if (far) {
		commit(at, &sync);
		at += 2 * SPB_WORD;
	}
	commit(at, r);
	th->last = r->time;
}

/* --- the end --- */

void kernel_file_exit(struct kernel_file *f, int64_t tid)
{
	struct map64_slot *const slot = map64_find(&f->by_tid, (uint64_t)tid);
	struct kernel_thread *th;

	if (!slot || !slot->value)
		return;
	th = &f->threads[slot->value - 1];
	if (th->chunk)
		chunk_close(th->chunk, th->last);
	th->chunk = NULL;
	slot->value = 0;
	f->nalive--;
}

void kernel_file_end(struct kernel_file *f)
{
	int fd;

	if (!f->head)
		return;
	for (size_t i = 0; i < f->nthreads; i++)
		if (f->threads[i].chunk)
			chunk_close(f->threads[i].chunk, f->threads[i].last);
	pair_store(f->head + SPB_END_AT);
	fd = os_open(f->path, O_RDWR | O_CLOEXEC, 0);
	if (fd >= 0) {
		/* Room that no chunk took. */
		if (os_ftruncate(fd, (off_t)(f->size - (uint64_t)(f->free_end - f->free))) != 0)
			errno = 0;
		os_close(fd);
	}
	for (size_t i = 0; i < f->nparts; i++)
		os_munmap(f->parts[i].p, f->parts[i].size);
	f->nparts = 0;
	f->head = NULL;
}

void kernel_file_free(struct kernel_file *f)
{
	kernel_file_end(f);
	mem_free(f->parts);
	mem_free(f->threads);
	map64_free(&f->by_tid);
	mem_free(f->path);
	mem_free(f);
}
