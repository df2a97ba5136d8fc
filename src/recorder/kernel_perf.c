/*
 * Buffers of the kernel's events, one for each CPU, as an event that is inherited by threads and
 * processes to come has one for each. See kernel.h and perf_event_open(2).
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "recorder/kernel.h"

enum {
	CPUS = 4096,
	EVENTS = 3, /* of a CPU: names, threads and switches; minor and major faults */
	PAGES = 128, /* of a buffer: as many as a user may have of each CPU by default */
	ITEMS = 1 << 24,
	FDS = 1 << 24,
	TRAILER = 32, /* bytes of what sample_id_all adds */
};

struct cpu {
	int fd; /* of the event that has the buffer; -1: none */
	struct perf_event_mmap_page *page;
	size_t size; /* of the buffer, without the page */
};

struct kernel_perf {
	struct cpu *cpus;
	size_t ncpus;
	int *fds; /* of all events */
	size_t nfds, fds_cap;
	struct map64 majors; /* ids of those that count major faults */
	struct map64 threads; /* that are observed themselves */
	struct pollfd *polled; /* `wake`, then the CPUs */
	struct kernel_item *items;
	size_t nitems, items_cap;
	uint64_t lost;
	uint8_t *record; /* 64 KiB: one that may go around the buffer's end */
	size_t page_size;
};

static struct perf_event_attr attr_of(unsigned event, bool switches, bool running)
{
	static const uint64_t configs[EVENTS] = { PERF_COUNT_SW_DUMMY,
						  PERF_COUNT_SW_PAGE_FAULTS_MIN,
						  PERF_COUNT_SW_PAGE_FAULTS_MAJ };
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(a) };

	a.config = configs[event];
	a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU;
	a.sample_period = 1;
	a.disabled = a.enable_on_exec = !running;
	a.inherit = 1;
	a.exclude_kernel = a.exclude_hv = 1;
	a.sample_id_all = 1;
	a.use_clockid = 1;
	a.clockid = CLOCK_MONOTONIC;
	a.comm = a.comm_exec = a.task = event == 0;
	a.context_switch = event == 0 && switches;
	a.watermark = 1;
	a.wakeup_watermark = (uint32_t)4096 * PAGES / 4;
	return a;
}

/* The memory that a user may lock is limited: smaller buffers are tried too. */
static bool buffer_map(struct kernel_perf *p, struct cpu *c)
{
	for (size_t pages = PAGES; pages; pages /= 2) {
		void *const map = os_mmap(NULL, (pages + 1) * p->page_size, PROT_READ | PROT_WRITE,
					  MAP_SHARED, c->fd, 0);

		if (map == MAP_FAILED)
			continue;
		c->page = map;
		c->size = pages * p->page_size;
		return true;
	}
	return false;
}

/* Adds an event of a thread to the CPU's buffer, or makes that. Returns 0 or an errno. */
static int event_add(struct kernel_perf *p, struct cpu *c, const struct perf_event_attr *a,
		     int32_t tid, int cpu)
{
	uint64_t id;
	int fd;

	if (!mem_grow((void **)&p->fds, &p->fds_cap, p->nfds + 1, sizeof(*p->fds), FDS))
		return ENOMEM;
	fd = os_perf_event_open(a, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno;
	p->fds[p->nfds++] = fd;
	if (c->fd < 0) {
		c->fd = fd;
		if (!buffer_map(p, c))
			return errno;
	} else if (os_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (void *)(intptr_t)c->fd)) {
		return errno;
	}
	if (a->config != PERF_COUNT_SW_PAGE_FAULTS_MAJ)
		return 0;
	if (os_ioctl(fd, PERF_EVENT_IOC_ID, &id))
		return errno;
	return map64_put(&p->majors, id) ? 0 : ENOMEM;
}

/* Opens the events of a thread on all CPUs. Returns 0 or an errno. */
static int thread_add(struct kernel_perf *p, const struct kernel_options *o, int32_t tid,
		      bool running)
{
	for (size_t cpu = 0; cpu < p->ncpus; cpu++)
		for (unsigned i = 0; i < (o->page_faults ? EVENTS : 1u); i++) {
			const struct perf_event_attr a = attr_of(i, o->switches, running);
			const int why = event_add(p, &p->cpus[cpu], &a, tid, (int)cpu);

			/* The CPU is offline. */
			if (why == ENODEV)
				break;
			if (why)
				return why;
		}
	return 0;
}

/* Threads that begin meanwhile may be of one that is observed, or be found with the next look. */
static int threads_add(struct kernel_perf *p, const struct kernel_options *o, pid_t pid)
{
	bool any = true;
	int why = 0;

	while (any && !why) {
		size_t n;
		int32_t *const tids = kernel_threads(pid, &n);

		any = false;
		for (size_t i = 0; tids && i < n && !why; i++) {
			struct map64_slot *const slot = map64_put(&p->threads, (uint64_t)tids[i]);

			if (!slot || slot->value) {
				why = slot ? 0 : ENOMEM;
				continue;
			}
			slot->value = 1;
			any = true;
			why = thread_add(p, o, tids[i], true);
			/* It has ended. */
			why = why == ESRCH ? 0 : why;
		}
		why = tids ? why : ESRCH;
		mem_free(tids);
	}
	return why;
}

void kernel_perf_free(struct kernel_perf *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->ncpus; i++)
		if (p->cpus[i].page)
			os_munmap(p->cpus[i].page, p->cpus[i].size + p->page_size);
	for (size_t i = 0; i < p->nfds; i++)
		os_close(p->fds[i]);
	mem_free(p->fds);
	mem_free(p->cpus);
	mem_free(p->polled);
	mem_free(p->items);
	mem_free(p->record);
	map64_free(&p->majors);
	map64_free(&p->threads);
	mem_free(p);
}

static bool memory_make(struct kernel_perf *p)
{
	const long ncpus = sysconf(_SC_NPROCESSORS_CONF);

	p->page_size = (size_t)sysconf(_SC_PAGESIZE);
	p->ncpus = ncpus < 1 ? 1 : ncpus > CPUS ? CPUS : (size_t)ncpus;
	p->record = mem_alloc(UINT16_MAX + 1);
	p->cpus = mem_array(p->ncpus, sizeof(*p->cpus));
	p->polled = mem_array(p->ncpus + 1, sizeof(*p->polled));
	for (size_t i = 0; p->cpus && i < p->ncpus; i++)
		p->cpus[i].fd = -1;
	if (p->record && p->cpus && p->polled)
		return true;
	p->ncpus = p->cpus ? p->ncpus : 0;
	return false;
}

struct kernel_perf *kernel_perf_new(const struct kernel_options *o, pid_t pid, bool running,
				    int *why)
{
	struct kernel_perf *p = mem_alloc(sizeof(*p));

	*why = ENOMEM;
	if (p && memory_make(p))
		*why = running ? threads_add(p, o, pid) : thread_add(p, o, pid, false);
	if (*why) {
		kernel_perf_free(p);
		return NULL;
	}
	for (size_t i = 0; i < p->ncpus; i++)
		p->polled[i + 1] = (struct pollfd){ .fd = p->cpus[i].fd, .events = POLLIN };
	return p;
}

void kernel_perf_wait(const struct kernel_perf *p, int wake, int ms)
{
	struct pollfd one = { .fd = wake, .events = POLLIN };
	size_t n = 1;

	if (!p) {
		os_poll(&one, 1, ms);
		return;
	}
	p->polled[0] = one;
	/* One whose threads have all ended can be read for ever. */
	for (size_t i = 0; i < p->ncpus; i++, n++)
		if (p->polled[i + 1].revents & (POLLHUP | POLLERR))
			p->polled[i + 1].fd = -1;
	os_poll(p->polled, n, ms);
}

/* --- records --- */

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static int32_t get32(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* What stands at the end of records that are no samples: pid, tid, time, CPU, identifier. */
static void trailer_take(struct kernel_item *it, const uint8_t *p, size_t size)
{
	const uint8_t *const t = p + size - TRAILER;

	it->pid = get32(t);
	it->tid = get32(t + 4);
	it->time = get64(t + 8);
	it->cpu = (uint32_t)get32(t + 16);
}

/* Identifier, instruction, pid, tid, time, address, CPU. */
static bool sample_take(const struct kernel_perf *k, struct kernel_item *it, const uint8_t *p,
			size_t size)
{
	if (size < 8 + 48)
		return false;
	p += 8;
	it->type = ITEM_FAULT;
	it->major = map64_find(&k->majors, get64(p));
	it->ip = get64(p + 8);
	it->pid = get32(p + 16);
	it->tid = get32(p + 20);
	it->time = get64(p + 24);
	it->address = get64(p + 32);
	it->cpu = (uint32_t)get32(p + 40);
	return true;
}

/* Takes a record. Returns false if it means nothing here. */
static bool record_take(struct kernel_perf *p, const struct perf_event_header *h,
			struct kernel_item *it)
{
	const uint8_t *const r = p->record;
	const size_t size = h->size;

	*it = (struct kernel_item){ .order = p->nitems };
	if (h->type == PERF_RECORD_SAMPLE)
		return sample_take(p, it, r, size);
	if (size < 8 + TRAILER)
		return false;
	trailer_take(it, r, size);
	switch (h->type) {
	case PERF_RECORD_SWITCH:
		it->type = ITEM_SWITCH;
		it->out = h->misc & PERF_RECORD_MISC_SWITCH_OUT;
		it->preempted = h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
		return true;
	case PERF_RECORD_COMM:
		it->type = ITEM_COMM;
		it->exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
		it->pid = get32(r + 8);
		it->tid = get32(r + 12);
		for (size_t i = 16; i < size - TRAILER && i < 16 + sizeof(it->name) - 1; i++)
			it->name[i - 16] = (char)r[i];
		return size >= 16 + TRAILER;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		it->type = h->type == PERF_RECORD_FORK ? ITEM_FORK : ITEM_EXIT;
		it->pid = get32(r + 8);
		it->parent = get32(r + 12);
		it->tid = get32(r + 16);
		return size >= 32 + TRAILER;
	case PERF_RECORD_LOST:
		p->lost += get64(r + 16);
		return false;
	default:
		return false;
	}
}

static void buffer_copy(const struct kernel_perf *p, const struct cpu *c, uint64_t at, uint8_t *to,
			size_t n)
{
	const uint8_t *const data = (const uint8_t *)c->page + p->page_size;
	const size_t from = at % c->size, first = n < c->size - from ? n : c->size - from;

	memcpy(to, data + from, first);
	memcpy(to + first, data, n - first);
}

static void buffer_read(struct kernel_perf *p, const struct cpu *c)
{
	const uint64_t head = __atomic_load_n(&c->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = c->page->data_tail;

	while (head - at >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;

		buffer_copy(p, c, at, (uint8_t *)&h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - at)
			break;
		buffer_copy(p, c, at, p->record, h.size);
		at += h.size;
		if (!mem_grow((void **)&p->items, &p->items_cap, p->nitems + 1, sizeof(*p->items),
			      ITEMS)) {
			p->lost++;
			continue;
		}
		p->nitems += record_take(p, &h, &p->items[p->nitems]);
	}
	__atomic_store_n(&c->page->data_tail, head, __ATOMIC_RELEASE);
}

static int by_time(const void *a, const void *b)
{
	const struct kernel_item *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

const struct kernel_item *kernel_perf_read(struct kernel_perf *p, size_t *count, uint64_t *lost)
{
	p->nitems = 0;
	p->lost = 0;
	for (size_t i = 0; i < p->ncpus; i++)
		if (p->cpus[i].page)
			buffer_read(p, &p->cpus[i]);
	if (p->nitems)
		qsort(p->items, p->nitems, sizeof(*p->items), by_time);
	*count = p->nitems;
	*lost = p->lost;
	return p->items;
}
