/*
 * The tracing library: spur_trace.h says what it is for, docs/formats/spur.md what it writes.
 *
 * An event is stored into a page of a chunk that belongs to its thread, without a lock; only a
 * thread that needs another page or chunk comes here. What points name is described once, in a
 * catalog in memory; each file gets a copy, so that a point keeps its number over several
 * recordings and in forked processes, and may vanish with the library it is in.
 *
 * Does not use the heap or stdio: it may be linked into any program, and called in signal handlers.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <spur_trace.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../src/format/spur/wire.h"

enum {
	CATEGORIES = 256,
	CATEGORY_LEN = 64,
	NAME_LEN = 64,
	CATALOG = 16 << 20, /* addresses only; pages are used as descriptors come */
	SITES = 1 << 24,
	DESCRIPTOR_MOST = SPB_PAGE - SPB_CHUNK_HEAD,
	TEXT_MOST = 400, /* of names in descriptors */
	/* Chunks that stay mapped: a signal handler may have interrupted a record in one. */
	KEPT = 64,
	SYNC_TICKS_LOG = 31,
	RETRY = 1024, /* events that are lost before the disk is asked again */
	FILE_MODE = 0600,
	DIR_MODE = 0700,
};

struct category {
	char name[CATEGORY_LEN];
	bool wanted;
	uint32_t on; /* wanted, and a recording is under way */
};

/* What a thread has apart from its place. */
struct thread {
	struct thread *next, **before; /* in `threads` */
	struct spur_trace_place *here;
	char *chunk, *chunk_end; /* NULL: none */
	uint64_t session; /* whose chunk it is */
	uint32_t number; /* in that session's file */
	uint64_t lost; /* events since the chunk was taken, or before the first */
	uint64_t fiber;
	bool busy; /* in a slow path; a signal handler that comes now must not be */
	bool listed;
	char name[NAME_LEN];
	char *kept[KEPT]; /* chunks that are full, as a ring */
	unsigned nkept;
};

__thread struct spur_trace_place spur_trace_here __attribute__((tls_model("initial-exec")));
static __thread struct thread own __attribute__((tls_model("initial-exec")));

const uint32_t spur_trace_new = 1;
bool spur_trace_tsc;

static struct category categories[CATEGORIES];
static unsigned ncategories;
static bool all_wanted = true;

static char *catalog; /* descriptors in the form of the file */
static size_t catalog_len;
static uint32_t nsites;

static struct {
	uint64_t number; /* 0: no recording; else it differs from all before */
	int fd;
	uint8_t *head; /* the mapped header */
	uint32_t nthreads;
	char *page, *page_end; /* where descriptors go */
	char *chunk_end;
	uint64_t failures; /* of chunks, since the last one that was taken */
} session = { .fd = -1 };

static uint64_t sessions; /* so far */
static char directory[4096];
static struct thread *threads;
static uint32_t lock; /* of all above but `own` */
static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* --- small things --- */

static uint64_t load(const void *p)
{
	return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED);
}

static void store(void *p, uint64_t v)
{
	__atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE);
}

static void store32(void *p, uint32_t v)
{
	__atomic_store_n((uint32_t *)p, v, __ATOMIC_RELEASE);
}

/*
 * Takes the lock. Returns false if this thread has it: a signal handler came in between. Others
 * have it for a short time only.
 */
static bool enter(void)
{
	uint32_t free = 0;

	if (own.busy)
		return false;
	own.busy = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	while (!__atomic_compare_exchange_n(&lock, &free, 1, false, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		free = 0;
		syscall(SYS_sched_yield);
	}
	return true;
}

static void leave(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	own.busy = false;
}

static uint64_t clock_ns(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t spur_trace_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
	if (spur_trace_tsc)
		return __rdtsc();
#endif
	return clock_ns(CLOCK_MONOTONIC);
}

struct pair {
	uint64_t ticks, mono, real;
};

/* The ticks in the middle of the shortest of some readings. */
static struct pair clock_pair(void)
{
	struct pair best = { 0, 0, 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		const uint64_t before = clock_ticks(), mono = clock_ns(CLOCK_MONOTONIC),
			       after = clock_ticks();

		if (after - before < least) {
			least = after - before;
			best.ticks = before + (after - before) / 2;
			best.mono = mono;
		}
	}
	best.real = clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - best.mono);
	if (!spur_trace_tsc)
		best.ticks = best.mono;
	return best;
}

static size_t file_read(const char *path, char *buf, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	got = got < 0 ? 0 : got;
	buf[got] = '\0';
	return (size_t)got;
}

/* --- the clock --- */

/* SPEC spur/clock: the TSC only where the kernel itself trusts it. */
static void clock_find(void)
{
#if defined(__x86_64__)
	char name[16];

	file_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", name,
		  sizeof(name));
	spur_trace_tsc = strncmp(name, "tsc\n", 4) == 0 && prctl(PR_GET_TSC, &(int){ 0 }) == 0;
#endif
}

/* Ticks per second, as the kernel converts them for its own tracing; 0: unknown. */
static uint64_t clock_hz(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1 };
	const long page = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *p;
	uint64_t hz = 0;
	int fd;

	if (!spur_trace_tsc)
		return 1000000000;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return 0;
	p = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		if (p->cap_user_time && p->time_mult && p->time_shift < 64)
			hz = (uint64_t)(((unsigned __int128)1000000000 << p->time_shift) /
					p->time_mult);
		munmap(p, (size_t)page);
	}
	close(fd);
	return hz;
}

/* --- the file --- */

/*
 * Takes a chunk of the file. Returns NULL if the disk is full or memory cannot be mapped: then most
 * calls return at once, so that a program without room goes on fast. Called with the lock.
 */
static char *chunk_take(uint64_t *sequence)
{
	const uint64_t number = load(session.head + SPB_TAKEN_AT);
	const off_t off = (off_t)(SPB_HEADER + number * SPB_CHUNK_SIZE);
	void *p = MAP_FAILED;

	if (session.failures && session.failures++ % RETRY)
		return NULL;
	if (fallocate(session.fd, 0, off, SPB_CHUNK_SIZE) == 0)
		p = mmap(NULL, SPB_CHUNK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			 session.fd, off);
	if (p == MAP_FAILED) {
		session.failures += session.failures == 0;
		return NULL;
	}
	session.failures = 0;
	store(session.head + SPB_TAKEN_AT, number + 1);
	*sequence = number + 1;
	return p;
}

static void chunk_open(char *p, uint16_t kind, uint64_t sequence)
{
	const uint32_t magic = SPB_CHUNK_MAGIC;
	const uint16_t kinds[] = { kind, SPB_OPEN };
	const uint64_t clocks[] = { clock_ticks(), clock_ns(CLOCK_MONOTONIC) };

	memcpy(p, &magic, sizeof(magic));
	memcpy(p + SPB_KIND_AT, kinds, sizeof(kinds));
	memcpy(p + SPB_OPEN_AT, clocks, sizeof(clocks));
	if (kind == SPB_CHUNK_RECORDS) {
		const uint32_t ids[] = { (uint32_t)syscall(SYS_gettid), own.number };

		memcpy(p + SPB_TID_AT, ids, sizeof(ids));
		store(p + SPB_CHUNK_LOST_AT, __atomic_exchange_n(&own.lost, 0, __ATOMIC_RELAXED));
	}
	store(p + SPB_SEQUENCE_AT, sequence);
}

static void chunk_close(char *p)
{
	const uint16_t state = SPB_FULL;

	store(p + SPB_CLOSE_AT + 8, clock_ns(CLOCK_MONOTONIC));
	store(p + SPB_CLOSE_AT, clock_ticks());
	memcpy(p + SPB_STATE_AT, &state, sizeof(state));
}

/* Puts a descriptor into the file. Returns false if it has no room. Called with the lock. */
static bool file_put(const char *d, uint32_t size)
{
	uint64_t sequence;
	char *p;

	while (!session.page || session.page + size > session.page_end) {
		if (session.page && session.page_end < session.chunk_end) {
			session.page = session.page_end;
			session.page_end += SPB_PAGE;
			continue;
		}
		if (session.chunk_end)
			chunk_close(session.chunk_end - SPB_CHUNK_SIZE);
		p = chunk_take(&sequence);
		if (!p)
			return false;
		chunk_open(p, SPB_CHUNK_DESCRIPTORS, sequence);
		session.page = p + SPB_CHUNK_HEAD;
		session.page_end = p + SPB_PAGE;
		session.chunk_end = p + SPB_CHUNK_SIZE;
	}
	memcpy(session.page + 4, d + 4, size - 4);
	store32(session.page, size);
	session.page += size;
	return true;
}

/* --- descriptors --- */

/* One that is being made. */
struct descriptor {
	char bytes[DESCRIPTOR_MOST];
	uint32_t len;
};

static void put(struct descriptor *d, const void *p, size_t len)
{
	if (len > sizeof(d->bytes) - d->len)
		len = sizeof(d->bytes) - d->len;
	memcpy(d->bytes + d->len, p, len);
	d->len += (uint32_t)len;
}

static void put_number(struct descriptor *d, uint64_t v, size_t size)
{
	put(d, &v, size);
}

static void put_text(struct descriptor *d, const char *s)
{
	size_t len = strnlen(s, TEXT_MOST);

	/* Whole characters only. */
	if (len == TEXT_MOST)
		while (len && (s[len] & 0xC0) == 0x80)
			len--;
	put_number(d, len, 2);
	put(d, s, len);
}

static void descriptor_begin(struct descriptor *d, uint32_t type)
{
	d->len = 4;
	put_number(d, type, 4);
}

static void descriptor_end(struct descriptor *d)
{
	static const char zeros[SPB_WORD];

	put(d, zeros, (SPB_WORD - d->len % SPB_WORD) % SPB_WORD);
	memcpy(d->bytes, &d->len, 4);
}

/* Adds a descriptor to the catalog, and to the file of the recording if there is one. */
static bool catalog_put(struct descriptor *d)
{
	descriptor_end(d);
	if (!catalog) {
		void *p = mmap(NULL, CATALOG, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED)
			return false;
		catalog = p;
	}
	if (d->len > CATALOG - catalog_len)
		return false;
	memcpy(catalog + catalog_len, d->bytes, d->len);
	catalog_len += d->len;
	return !session.number || file_put(d->bytes, d->len);
}

/* All that was described so far, for a new file. */
static bool catalog_copy(void)
{
	for (size_t at = 0; at < catalog_len;) {
		uint32_t size;

		memcpy(&size, catalog + at, sizeof(size));
		if (!file_put(catalog + at, size))
			return false;
		at += size;
	}
	return true;
}

static void describe_thread(void)
{
	struct descriptor d;

	descriptor_begin(&d, SPB_THREAD_NAME);
	put_number(&d, own.number, 8);
	put_text(&d, own.name);
	descriptor_end(&d);
	file_put(d.bytes, d.len);
}

/* --- categories and points --- */

/* The category of that name; the last one stands for all that have no place. */
static struct category *category_get(const char *name)
{
	struct category *c;
	unsigned i;

	for (i = 0; i < ncategories; i++)
		if (strncmp(categories[i].name, name, CATEGORY_LEN - 1) == 0)
			return &categories[i];
	c = &categories[i < CATEGORIES ? i : CATEGORIES - 1];
	if (i == CATEGORIES)
		return c;
	ncategories++;
	strncpy(c->name, name, CATEGORY_LEN - 1);
	c->wanted = all_wanted;
	c->on = c->wanted && session.number;
	return c;
}

static void categories_switch(void)
{
	for (unsigned i = 0; i < ncategories; i++)
		store32(&categories[i].on, categories[i].wanted && session.number);
}

static void categories_read(const char *list)
{
	char name[CATEGORY_LEN];

	all_wanted = !list;
	while (list && *list) {
		const size_t len = strcspn(list, ",");

		if (len && len < sizeof(name)) {
			memcpy(name, list, len);
			name[len] = '\0';
			category_get(name)->wanted = true;
		}
		list += len + (list[len] == ',');
	}
}

uint32_t spur_trace_register(struct spur_trace_site *site)
{
	uint32_t number = 0;
	struct descriptor d;
	const struct category *c;

	/* Of a span the end is lost too. */
	if (!enter()) {
		__atomic_fetch_add(&own.lost, site->kind == SPB_SITE_SPAN ? 2 : 1,
				   __ATOMIC_RELAXED);
		return 0;
	}
	c = category_get(site->category);
	if (!site->number && nsites + 1 < SITES) {
		descriptor_begin(&d, SPB_SITE);
		put_number(&d, nsites + 1, 4);
		put_number(&d, site->kind, 1);
		put_number(&d, site->nargs, 3);
		put_number(&d, site->line, 4);
		put_text(&d, site->category);
		put_text(&d, site->name);
		put_text(&d, site->file);
		for (unsigned i = 0; i < site->nargs; i++) {
			put_number(&d, site->arg_types[i], 1);
			put_text(&d, site->arg_names[i]);
		}
		if (catalog_put(&d))
			store32(&site->number, ++nsites);
	}
	if (site->number)
		__atomic_store_n(&site->on, &c->on, __ATOMIC_RELEASE);
	number = c->on ? site->number : 0;
	leave();
	return number;
}

/* --- threads --- */

static void thread_list(void)
{
	if (own.listed)
		return;
	own.here = &spur_trace_here;
	own.next = threads;
	own.before = &threads;
	if (threads)
		threads->before = &own.next;
	threads = &own;
	own.listed = true;
	pthread_setspecific(at_exit, &own);
}

/* The thread has no chunk from here on. */
static void thread_drop(void)
{
	spur_trace_here.end = NULL;
	spur_trace_here.at = NULL;
	own.chunk = own.chunk_end = NULL;
}

/* Keeps a full chunk for a while, and unmaps the one that has been kept longest. */
static void chunk_keep(char *chunk)
{
	char **slot = &own.kept[own.nkept++ % KEPT];

	if (*slot)
		munmap(*slot, SPB_CHUNK_SIZE);
	*slot = chunk;
}

/* Takes the thread's next chunk. Returns false if the file has no room. Called with the lock. */
static bool thread_chunk(void)
{
	uint64_t sequence;
	char *p;

	if (own.chunk) {
		chunk_close(own.chunk);
		chunk_keep(own.chunk);
		own.chunk = NULL;
	}
	if (!session.number)
		return false;
	thread_list();
	if (own.session != session.number) {
		own.session = session.number;
		own.number = ++session.nthreads;
		if (!*own.name)
			prctl(PR_GET_NAME, own.name);
		describe_thread();
	}
	p = chunk_take(&sequence);
	if (!p)
		return false;
	chunk_open(p, SPB_CHUNK_RECORDS, sequence);
	own.chunk = p;
	own.chunk_end = p + SPB_CHUNK_SIZE;
	return true;
}

/* The first page of a chunk, with the fiber that runs. */
static void chunk_enter(void)
{
	char *at = own.chunk + SPB_CHUNK_HEAD;

	if (own.fiber) {
		memcpy(at + SPB_WORD, &own.fiber, SPB_WORD);
		store(at, SPB_FIBER | 1 << 4 | clock_ticks() << 32);
		at += 2 * SPB_WORD;
	}
	spur_trace_here.sync = load(own.chunk + SPB_OPEN_AT) + ((uint64_t)1 << SYNC_TICKS_LOG);
	spur_trace_here.at = at;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	spur_trace_here.end = own.chunk + SPB_PAGE;
}

/* Moves on to the next page. Returns false if no more can be stored. Called with the lock. */
static bool page_next(void)
{
	char *const end = spur_trace_here.end;
	const bool good = own.session == session.number && own.chunk;

	/* Until `end` is set again, a signal handler finds no room, and counts what it loses. */
	spur_trace_here.end = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (good && end && end < own.chunk_end) {
		spur_trace_here.at = end;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		spur_trace_here.end = end + SPB_PAGE;
		return true;
	}
	if (!good && own.chunk) {
		chunk_keep(own.chunk);
		own.chunk = NULL;
	}
	if (!thread_chunk()) {
		thread_drop();
		return false;
	}
	chunk_enter();
	return true;
}

/* Counts events that no chunk will say were lost. Called with the lock. */
static void file_lost(uint64_t n)
{
	if (session.number)
		store(session.head + SPB_LOST_AT, load(session.head + SPB_LOST_AT) + n);
}

char *spur_trace_page(char *at, uint64_t size)
{
	bool good = true;

	/* In a slow path of this thread: takes back what it added. */
	if (!enter()) {
		__atomic_fetch_sub(&spur_trace_here.at, (int64_t)size, __ATOMIC_RELAXED);
		__atomic_fetch_add(&own.lost, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	/* Else a signal handler was faster, and there is a new page already. */
	if (spur_trace_here.at == at + size || !spur_trace_here.end)
		good = page_next();
	if (!good)
		file_lost(1);
	leave();
	return good ? spur_trace_reserve(size) : NULL;
}

void spur_trace_sync(uint64_t ticks)
{
	char *p;

	if (own.busy || !own.chunk)
		return;
	spur_trace_here.sync = ticks + ((uint64_t)1 << SYNC_TICKS_LOG);
	p = spur_trace_reserve(2 * SPB_WORD);
	if (!p)
		return;
	memcpy(p + SPB_WORD, &ticks, SPB_WORD);
	spur_trace_commit(p, SPB_TIME, 1, 0, ticks);
}

/* --- recordings --- */

/* The start of this process in clock ticks since boot: field 22 of its line. */
static uint64_t start_time(void)
{
	char line[1024], *p;
	uint64_t v = 0;

	file_read("/proc/self/stat", line, sizeof(line));
	p = strrchr(line, ')');
	for (int field = 2; p && field < 22; field++) {
		p = strchr(p + 1, ' ');
		if (!p)
			return 0;
	}
	for (p = p ? p + 1 : line; *p >= '0' && *p <= '9'; p++)
		v = 10 * v + (uint64_t)(*p - '0');
	return v;
}

static char *number_put(char *p, uint64_t v)
{
	char digits[20];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*p++ = digits[--n];
	return p;
}

/* SPEC spur/recording: opens PID-STARTTIME.spb, or PID-STARTTIME-N.spb if that exists. */
static int file_open(uint64_t start)
{
	char path[sizeof(directory) + 80], *p;
	int fd = -1;

	for (uint64_t n = 0; n < 1000; n++) {
		p = stpcpy(path, directory);
		*p++ = '/';
		p = number_put(p, (uint64_t)getpid());
		*p++ = '-';
		p = number_put(p, start);
		if (n) {
			*p++ = '-';
			p = number_put(p, n);
		}
		strcpy(p, ".spb");
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd;
}

static unsigned hex_digit(char c)
{
	return c >= 'a' ? (unsigned)(c - 'a') + 10 : (unsigned)(c - '0');
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

static void head_fill(uint8_t *h, uint64_t start)
{
	const struct pair begin = clock_pair();
	const uint64_t hz = clock_hz();
	const uint32_t words[] = { SPB_CHUNK_SIZE, SPB_STREAM, (uint32_t)getpid(),
				   (uint32_t)getppid() };
	const uint32_t clock[] = { spur_trace_tsc ? SPB_CLOCK_TSC : SPB_CLOCK_MONOTONIC, 1 };

	memcpy(h + SPB_CHUNK_SIZE_AT, words, sizeof(words));
	memcpy(h + SPB_START_TIME_AT, &start, sizeof(start));
	memcpy(h + SPB_CLOCK_AT, clock, sizeof(clock));
	memcpy(h + SPB_HZ_AT, &hz, sizeof(hz));
	memcpy(h + SPB_BEGIN_AT, &begin, sizeof(begin));
	boot_read(h + SPB_BOOT_AT);
	if (readlink("/proc/self/exe", (char *)h + SPB_PROGRAM_AT,
		     SPB_ARGUMENTS_AT - SPB_PROGRAM_AT - 1) < 0)
		h[SPB_PROGRAM_AT] = 0;
	file_read("/proc/self/cmdline", (char *)h + SPB_ARGUMENTS_AT,
		  SPB_HEADER - SPB_ARGUMENTS_AT);
	store(h, SPB_MAGIC);
}

/* Begins a file in `directory`. Returns 0 or an errno. Called with the lock. */
static int session_begin(void)
{
	const uint64_t start = start_time();
	const int fd = file_open(start);
	void *h = MAP_FAILED;
	int why;

	if (fd >= 0 && fallocate(fd, 0, 0, SPB_HEADER) == 0)
		h = mmap(NULL, SPB_HEADER, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED) {
		why = errno;
		if (fd >= 0)
			close(fd);
		return why ? why : EIO;
	}
	session.fd = fd;
	session.head = h;
	session.nthreads = 0;
	session.failures = 0;
	session.page = session.page_end = session.chunk_end = NULL;
	head_fill(h, start);
	__atomic_store_n(&session.number, ++sessions, __ATOMIC_RELEASE);
	if (!catalog_copy()) {
		session.number = 0;
		munmap(h, SPB_HEADER);
		close(fd);
		return ENOSPC;
	}
	categories_switch();
	return 0;
}

/*
 * The file ends here. What threads have mapped stays: they may be storing a record. Each comes to a
 * slow path with its next one. Called with the lock.
 */
static void session_end(void)
{
	const struct pair end = clock_pair();
	const uint64_t taken = load(session.head + SPB_TAKEN_AT);

	for (struct thread *t = threads; t; t = t->next)
		file_lost(__atomic_exchange_n(&t->lost, 0, __ATOMIC_RELAXED));
	__atomic_store_n(&session.number, 0, __ATOMIC_RELEASE);
	categories_switch();
	for (struct thread *t = threads; t; t = t->next)
		__atomic_store_n(&t->here->end, NULL, __ATOMIC_RELEASE);
	if (session.chunk_end) {
		chunk_close(session.chunk_end - SPB_CHUNK_SIZE);
		munmap(session.chunk_end - SPB_CHUNK_SIZE, SPB_CHUNK_SIZE);
	}
	memcpy(session.head + SPB_END_AT + 8, &end.mono, 16);
	store(session.head + SPB_END_AT, end.ticks);
	(void)!ftruncate(session.fd, (off_t)(SPB_HEADER + taken * SPB_CHUNK_SIZE));
	munmap(session.head, SPB_HEADER);
	close(session.fd);
	session.fd = -1;
	session.head = NULL;
}

/* A thread ends: its chunk has its last record. */
static void thread_end(void *p)
{
	(void)p;
	if (!enter())
		return;
	if (own.chunk) {
		chunk_close(own.chunk);
		munmap(own.chunk, SPB_CHUNK_SIZE);
	}
	file_lost(__atomic_exchange_n(&own.lost, 0, __ATOMIC_RELAXED));
	thread_drop();
	for (unsigned i = 0; i < KEPT; i++)
		if (own.kept[i])
			munmap(own.kept[i], SPB_CHUNK_SIZE);
	*own.before = own.next;
	if (own.next)
		own.next->before = own.before;
	own.listed = false;
	own.session = 0;
	memset(own.kept, 0, sizeof(own.kept));
	leave();
}

/* The parent's file is the parent's: the child has one of its own, with the same points. */
static void fork_child(void)
{
	const bool was_on = session.number;

	lock = 0;
	own.busy = false;
	threads = NULL;
	own.listed = false;
	own.session = 0;
	own.chunk = NULL;
	own.lost = 0;
	memset(own.kept, 0, sizeof(own.kept));
	thread_drop();
	if (!was_on)
		return;
	close(session.fd);
	munmap(session.head, SPB_HEADER);
	session.number = 0;
	categories_switch();
	enter();
	session_begin();
	leave();
}

static void fork_before(void)
{
	enter();
}

static void fork_parent(void)
{
	leave();
}

static void init(void)
{
	clock_find();
	pthread_key_create(&at_exit, thread_end);
	pthread_atfork(fork_before, fork_parent, fork_child);
}

int spur_trace_start(const char *path)
{
	int why = EALREADY;

	pthread_once(&once, init);
	if (strlen(path) >= sizeof(directory))
		return ENAMETOOLONG;
	if (mkdir(path, DIR_MODE) && errno != EEXIST)
		return errno;
	if (!enter())
		return EBUSY;
	if (!session.number) {
		strcpy(directory, path);
		why = session_begin();
	}
	leave();
	return why;
}

void spur_trace_stop(void)
{
	if (!enter())
		return;
	if (own.chunk && own.session == session.number) {
		chunk_close(own.chunk);
		chunk_keep(own.chunk);
		thread_drop();
	}
	if (session.number)
		session_end();
	leave();
}

bool spur_trace_is_on(void)
{
	return __atomic_load_n(&session.number, __ATOMIC_RELAXED);
}

int spur_trace_enable(const char *category, bool on)
{
	struct category *c;

	if (strlen(category) >= CATEGORY_LEN)
		return ENAMETOOLONG;
	if (!enter())
		return EBUSY;
	c = category_get(category);
	c->wanted = on;
	store32(&c->on, on && session.number);
	leave();
	return 0;
}

void spur_trace_thread_name(const char *name)
{
	if (!enter())
		return;
	strncpy(own.name, name, NAME_LEN - 1);
	if (own.session && own.session == session.number)
		describe_thread();
	leave();
}

/* A descriptor of a number and a name, for this and all later files. */
static void describe_name(uint32_t type, bool has_id, uint64_t id, const char *name)
{
	struct descriptor d;

	if (!enter())
		return;
	descriptor_begin(&d, type);
	if (has_id)
		put_number(&d, id, 8);
	put_text(&d, name);
	catalog_put(&d);
	leave();
}

void spur_trace_process_name(const char *name)
{
	describe_name(SPB_PROCESS_NAME, false, 0, name);
}

void spur_trace_fiber_name(uint64_t id, const char *name)
{
	describe_name(SPB_FIBER_NAME, true, id, name);
}

void spur_trace_fiber(uint64_t id)
{
	const struct spur_trace_value v = { id, NULL, 0 };

	own.fiber = id;
	if (spur_trace_is_on())
		spur_trace_emit(SPB_FIBER, 0, false, 0, &v, 1);
}

static void say(const char *s)
{
	(void)!write(STDERR_FILENO, s, strlen(s));
}

static void complain(const char *path, int why)
{
	say("spur: ");
	say(path);
	say(": cannot record: ");
	say(strerror(why));
	say("\n");
}

__attribute__((constructor)) static void start(void)
{
	const char *const path = getenv("SPUR_TRACE");

	pthread_once(&once, init);
	enter();
	categories_read(getenv("SPUR_TRACE_CATEGORIES"));
	leave();
	if (path && *path) {
		const int why = spur_trace_start(path);

		if (why)
			complain(path, why);
	}
}

__attribute__((destructor)) static void stop(void)
{
	if (spur_trace_is_on())
		spur_trace_stop();
}
