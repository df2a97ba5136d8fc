/* The life of what observes a program: see kernel.h. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "format/spur/wire.h"
#include "recorder/kernel.h"

enum { PROCESSES = 1 << 20, LOOK_MS = 100, STATUS_MAX_RSS = 10 };

struct kernel {
	const struct kernel_options *options;
	const char *dir;
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	struct kernel_perf *perf; /* NULL: no buffers */
	struct kernel_count *count;
	pid_t first;
	pthread_mutex_t lock; /* of all below */
	struct kernel_file *files;
	struct map64 by_pid; /* to the address of a file */
	uint64_t next; /* when counters are to be read */
	uint64_t last; /* time of the latest reading */
	bool ended;
	int wake[2];
	pthread_t thread;
	bool runs;
};

/* The file of a process, made if it is new. Called with the lock. */
static struct kernel_file *file_of(struct kernel *k, pid_t pid)
{
	struct map64_slot *const slot = map64_put(&k->by_pid, (uint64_t)pid);
	struct kernel_file *f;

	if (!slot)
		return NULL;
	if (slot->value)
		return (struct kernel_file *)(uintptr_t)slot->value;
	f = kernel_file_new(k->dir, pid, k->options->counters);
	if (!f)
		return NULL;
	f->next = k->files;
	k->files = f;
	slot->value = (uint64_t)(uintptr_t)f;
	return f;
}

/* --- what buffers have --- */

static void switch_put(struct kernel_file *f, const struct kernel_item *it, bool out)
{
	struct kernel_thread *const th = kernel_file_thread(f, it->tid);
	const struct kernel_record r = { .time = it->time,
					 .kind = SPB_SWITCH,
					 .id = it->cpu << 1 | out,
					 .words = out && it->preempted,
					 .payload = { 1 } };

	if (!th)
		return;
	th->any = true;
	th->on_cpu = !out;
	kernel_file_put(f, it->tid, &r);
}

/* A thread that ends leaves its CPU, which the kernel does not tell any more. */
static void exit_put(const struct kernel *k, struct kernel_file *f, const struct kernel_item *it)
{
	const struct kernel_thread *const th = kernel_file_thread(f, it->tid);
	const struct kernel_record cpu = { .time = it->time, .kind = SPB_CPU, .id = it->cpu + 1 };
	const struct kernel_record end = { .time = it->time,
					   .kind = SPB_EVENT,
					   .id = KERNEL_EXIT,
					   .words = 1,
					   .payload = { SPB_MARK_OUT | SPB_MARK_EXIT } };

	if (k->options->switches && th && th->on_cpu) {
		kernel_file_put(f, it->tid, &cpu);
		kernel_file_put(f, it->tid, &end);
	}
	kernel_file_exit(f, it->tid);
	/* The last values of the first one are still to come. */
	if (!f->nalive && f->pid != k->first)
		kernel_file_end(f);
}

static void fault_put(struct kernel_file *f, const struct kernel_item *it)
{
	const struct kernel_record r = { .time = it->time,
					 .kind = SPB_EVENT,
					 .id = KERNEL_FAULT,
					 .words = 3,
					 .payload = { it->address, it->ip, it->major } };

	kernel_file_put(f, it->tid, &r);
}

static void comm_put(const struct kernel *k, struct kernel_file *f, const struct kernel_item *it)
{
	const struct kernel_thread *const th = kernel_file_thread(f, it->tid);

	kernel_file_name(f, it->tid, it->name);
	if (it->pid == it->tid)
		kernel_file_program(f, it->name, NULL);
	/* The first one has the CPU when it is seen for the first time. */
	if (k->options->switches && th && !th->any && it->exec)
		switch_put(f, it, false);
}

static void item_put(struct kernel *k, const struct kernel_item *it)
{
	struct kernel_file *const f = it->pid > 0 && it->tid > 0 ? file_of(k, it->pid) : NULL;

	if (!f)
		return;
	switch (it->type) {
	case ITEM_SWITCH:
		switch_put(f, it, it->out);
		break;
	case ITEM_FAULT:
		fault_put(f, it);
		break;
	case ITEM_COMM:
		comm_put(k, f, it);
		break;
	case ITEM_FORK:
		kernel_file_thread(f, it->tid);
		if (it->parent > 0 && it->parent != it->pid)
			kernel_file_program(f, NULL, file_of(k, it->parent));
		break;
	case ITEM_EXIT:
		exit_put(k, f, it);
		break;
	}
}

/* Called with the lock. */
static void buffers_read(struct kernel *k)
{
	const struct kernel_item *items;
	struct kernel_file *f;
	uint64_t lost;
	size_t n;

	if (!k->perf)
		return;
	items = kernel_perf_read(k->perf, &n, &lost);
	for (size_t i = 0; i < n; i++)
		item_put(k, &items[i]);
	f = lost ? file_of(k, k->first) : NULL;
	if (f)
		kernel_file_lost(f, lost);
}

/* --- counters --- */

static void counter_put(struct kernel_file *f, unsigned i, uint64_t value, uint64_t time)
{
	const struct kernel_record r = { .time = time,
					 .kind = SPB_EVENT,
					 .id = KERNEL_COUNTERS + i,
					 .words = 1,
					 .payload = { value } };

	kernel_file_put(f, 0, &r);
	if (i == STATUS_MAX_RSS)
		f->max_rss = value;
}

static void values_put(struct kernel_file *f, uint64_t read, const uint64_t *values, uint64_t time)
{
	for (unsigned i = 0; read >> i && i < 64; i++)
		if (read >> i & 1)
			counter_put(f, i, values[i], time);
}

/* The counters of a process. Called with the lock. */
static void process_read(const struct kernel *k, struct kernel_file *f, uint64_t now)
{
	uint64_t values[64];

	values_put(f, kernel_count_process(k->options->counters, f->pid, values), values, now);
}

/* Called with the lock. */
static void counters_read(struct kernel *k, uint64_t now)
{
	uint64_t values[64];
	struct kernel_file *f = file_of(k, k->first);

	if (!k->options->counters)
		return;
	if (f)
		values_put(f, kernel_count_read(k->count, values), values, now);
	for (f = k->files; f; f = f->next)
		if (f->head)
			process_read(k, f, now);
}

/* --- the thread --- */

static int until_next(const struct kernel *k)
{
	const uint64_t now = kernel_now();
	uint64_t ms = LOOK_MS;

	if (k->options->counters && k->next < now + ms * 1000000)
		ms = k->next > now ? (k->next - now + 999999) / 1000000 : 0;
	return (int)ms;
}

static void *kernel_run(void *arg)
{
	struct kernel *const k = arg;

	pthread_mutex_lock(&k->lock);
	while (!k->ended) {
		const int ms = until_next(k);
		uint64_t now;

		pthread_mutex_unlock(&k->lock);
		kernel_perf_wait(k->perf, k->wake[0], ms);
		pthread_mutex_lock(&k->lock);
		buffers_read(k);
		now = kernel_now();
		if (k->options->counters && now >= k->next) {
			counters_read(k, now);
			k->next += (uint64_t)k->options->every;
			/* A reading that is late is left out. */
			if (k->next < now)
				k->next = now + (uint64_t)k->options->every;
		}
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

static bool thread_start(struct kernel *k)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	k->runs = pthread_create(&k->thread, NULL, kernel_run, k) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return k->runs;
}

/* --- begin and end --- */

/* Names of counters, with commas. */
static void names_join(uint64_t which, char *to, size_t room)
{
	size_t len = 0;

	to[0] = '\0';
	for (unsigned i = 0; kernel_counter_name(i); i++) {
		const char *const name = kernel_counter_name(i);

		if (!(which >> i & 1) || len + strlen(name) + 3 > room)
			continue;
		strcpy(to + len, len ? ", " : "");
		len += strlen(to + len);
		strcpy(to + len, name);
		len += strlen(name);
	}
}

/* Names the threads of a process that is running. */
static void threads_name(struct kernel *k, pid_t pid)
{
	struct kernel_file *const f = file_of(k, pid);
	size_t n = 0;
	int32_t *const tids = f ? kernel_threads(pid, &n) : NULL;

	for (size_t i = 0; i < n; i++) {
		char path[64], name[16];

		snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tids[i]);
		if (kernel_line(path, name, sizeof(name)))
			kernel_file_name(f, tids[i], name);
	}
	mem_free(tids);
}

static void events_open(struct kernel *k, pid_t pid, bool running)
{
	int why = 0;

	k->perf = kernel_perf_new(k->options, pid, running, &why);
	if (k->perf && running)
		threads_name(k, pid);
	if (!k->perf && (k->options->switches || k->options->page_faults))
		k->say("note: no %s%s%s: the kernel refuses: %s",
		       k->options->switches ? "CPU switches" : "",
		       k->options->switches && k->options->page_faults ? " and " : "",
		       k->options->page_faults ? "page faults" : "", strerror(why));
}

static void counters_open(struct kernel *k, pid_t pid, bool running)
{
	uint64_t refused, user;
	char names[256];
	int why = 0;

	k->count = kernel_count_new(k->options->counters, pid, running, &refused, &why, &user);
	if (refused) {
		names_join(refused, names, sizeof(names));
		k->say("note: not counted: %s: %s", names,
		       why == ENOENT || why == ENODEV || why == EOPNOTSUPP
			       ? "this machine has no such counters"
			       : strerror(why));
	}
	if (user) {
		names_join(user, names, sizeof(names));
		k->say("note: counted outside the kernel only, as it demands: %s", names);
	}
}

struct kernel *kernel_new(const struct kernel_options *o, const char *dir, pid_t pid, bool running,
			  void (*say)(const char *fmt, ...))
{
	struct kernel *const k = mem_alloc(sizeof(*k));

	if (!k)
		return NULL;
	k->options = o;
	k->dir = dir;
	k->say = say;
	k->first = pid;
	k->wake[0] = k->wake[1] = -1;
	pthread_mutex_init(&k->lock, NULL);
	/* Names of threads are of use for counters too. */
	if (o->switches || o->page_faults)
		events_open(k, pid, running);
	if (o->counters)
		counters_open(k, pid, running);
	k->next = kernel_now() + (uint64_t)o->every;
	if (os_pipe2(k->wake, O_CLOEXEC | O_NONBLOCK) == 0 && file_of(k, pid) && thread_start(k))
		return k;
	kernel_end(k, 0);
	return NULL;
}

void kernel_process(struct kernel *k, pid_t pid)
{
	struct kernel_file *f;

	pthread_mutex_lock(&k->lock);
	f = file_of(k, pid);
	/* It may have ended before the next reading. */
	if (f && f->head && k->options->counters)
		process_read(k, f, kernel_now());
	pthread_mutex_unlock(&k->lock);
}

void kernel_look(struct kernel *k)
{
	pthread_mutex_lock(&k->lock);
	k->last = kernel_now();
	counters_read(k, k->last);
	pthread_mutex_unlock(&k->lock);
}

void kernel_end(struct kernel *k, uint64_t max_rss)
{
	struct kernel_file *f, *next;

	pthread_mutex_lock(&k->lock);
	k->ended = true;
	pthread_mutex_unlock(&k->lock);
	/* Without that it sees it a little later. */
	if (k->runs && os_write(k->wake[1], "", 1) < 0)
		errno = 0;
	if (k->runs)
		pthread_join(k->thread, NULL);
	buffers_read(k);
	f = k->options->counters >> STATUS_MAX_RSS & 1 ? file_of(k, k->first) : NULL;
	/* What was read may be more by what the CPUs had not added up then. */
	if (f && max_rss > f->max_rss)
		counter_put(f, STATUS_MAX_RSS, max_rss, k->last ? k->last : kernel_now());
	for (f = k->files; f; f = next) {
		next = f->next;
		kernel_file_free(f);
	}
	map64_free(&k->by_pid);
	kernel_perf_free(k->perf);
	kernel_count_free(k->count);
	for (unsigned i = 0; i < 2; i++)
		if (k->wake[i] >= 0)
			os_close(k->wake[i]);
	pthread_mutex_destroy(&k->lock);
	mem_free(k);
}
